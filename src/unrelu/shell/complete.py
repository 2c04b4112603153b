"""``unrelu complete``."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unrelu.complete import complete
from unrelu.completion import Completion
from unrelu.disk import check_target
from unrelu.errors import InputError
from unrelu.files import WRITABLE, write_matrix
from unrelu.history import Stop, finite
from unrelu.initialise import STARTS
from unrelu.kernels.memory import require_memory
from unrelu.shell import options
from unrelu.shell.common import (
    dense_values,
    ended,
    guarded,
    kept_warnings,
    mask_values,
    out,
    read_square,
    record_line,
    side_table,
    warn,
    watching,
)
from unrelu.solvers import METHODS

__all__ = ["complete_command"]


@guarded
def complete_command(
    file: options.File,
    rank: options.Rank,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write it; the extension chooses the format.")
    ],
    threshold: options.Threshold = None,
    no_threshold: options.NoThreshold = False,
    seen: options.Seen = "above",
    unknown: options.Unknown = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    method: Annotated[str, typer.Option(help=f"auto, {', '.join(METHODS)}.")] = "auto",
    start: Annotated[str, typer.Option(help=f"auto, {', '.join(STARTS)}.")] = "auto",
    loss: Annotated[str, typer.Option(help="auto, observed or one-sided.")] = "auto",
    tol: options.Tol = None,
    max_iter: options.MaxIter = None,
    truth: Annotated[Path | None, typer.Option(help="The true matrix, for reporting the error only.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the start; the same seed gives the same answer.")] = 0,
    fit: Annotated[
        bool, typer.Option("--fit", help="Write the fit everywhere instead of keeping seen entries as given.")
    ] = False,
    keep_undetermined: Annotated[
        bool, typer.Option("--keep-undetermined", help="Write also entries that the data do not determine.")
    ] = False,
    mask_out: Annotated[
        Path | None, typer.Option(help="Also write 1 where an entry was seen or is determined, else 0, to this file.")
    ] = None,
    errors_out: Annotated[
        Path | None, typer.Option(help="Also write the standard error of every entry of the fit to this file.")
    ] = None,
    pairs: Annotated[
        str, typer.Option(help="Whether (i, j) and (j, i) carry one noise or two: auto, one or independent.")
    ] = "auto",
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Complete a symmetric positive semidefinite matrix of known rank from the entries beyond a threshold."""
    limit = options.checked_threshold(threshold, no_threshold)
    inputs = [path for path in (file, unknown, truth) if path is not None]
    check_target(output, inputs=inputs, accepted=WRITABLE)
    written = {"--output": output, "--errors-out": errors_out, "--mask-out": mask_out}
    _distinct(written, inputs)
    table, names = read_square(file, header, labels, missing)
    with kept_warnings(_advice(keep_undetermined, mask_out)) as notes:
        completion = complete(
            table,
            rank,
            threshold=limit,
            seen=seen,
            unknown=None if unknown is None else mask_values(side_table(unknown, names), unknown),
            loss=loss,
            method=method,
            start=start,
            tol=tol,
            max_iter=max_iter,
            truth=None if truth is None else dense_values(side_table(truth, names)),
            pairs=pairs,
            rng=seed,
            **watching(quiet or as_json, record_line),
        )
    if completion.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    row_names = names if table.rows else None
    undetermined = "keep" if keep_undetermined else "nan"
    values = completion.matrix(undetermined) if fit else completion.filled(undetermined=undetermined)
    extra: dict[Path, Any] = {} if errors_out is None else {errors_out: _errors(completion)}
    extra |= {} if mask_out is None else {mask_out: _mask(completion)}
    write_matrix(output, values, rows=row_names, columns=names)
    for path, content in extra.items():
        write_matrix(path, content, rows=row_names, columns=names)
    if as_json:
        about: dict[str, Any] = {
            key: str(path) for key, path in (("errors_output", errors_out), ("mask_output", mask_out)) if path
        }
        about |= {} if errors_out is None else {"noise": _noise(completion)}
        about |= {"not_determined": np.flatnonzero(~completion.determined).tolist()}
        out(json.dumps({**completion.summary(), "output": str(output), **about, "warnings": notes}))
    else:
        warn(notes)
        if not quiet:
            _report(completion, names, keep_undetermined)
            out(f"wrote {output}")
            if errors_out is not None:
                out(f"{completion.noise}; errors by {completion.error_bars().method}")
            for path in extra:
                out(f"wrote {path}")
    return ended(completion.verdict, quiet)


def _distinct(written: dict[str, Path | None], inputs: list[Path]) -> None:
    """Refuse outputs that would overwrite an input or each other."""
    found: dict[str, str] = {}
    for name, path in written.items():
        if path is None:
            continue
        check_target(path, inputs=inputs, accepted=WRITABLE)
        real = os.path.realpath(path)
        if real in found:
            raise InputError(f"{found[real]} and {name} must be two files, got {path} for both")
        found[real] = name


def _advice(keep_undetermined: bool, mask_out: Path | None) -> str:
    """What a person at a terminal can do about rows that could not be placed."""
    left = "is written all the same" if keep_undetermined else "is left empty (--keep-undetermined writes it)"
    where = "--mask-out FILE shows where" if mask_out is None else f"{mask_out} has 0 there"
    return f"what the data do not determine {left}; {where}"


def _mask(completion: Completion) -> Any:
    """1 where an entry was seen or is determined."""
    return (~np.isnan(np.asarray(completion.filled(undetermined="nan")))).astype(float)


def _errors(completion: Completion) -> Any:
    """The standard error of every entry; n×n, as the file will be."""
    places = np.arange(completion.size)
    require_memory(completion.size**2 * 40, f"the standard errors of a {completion.size}×{completion.size} matrix")
    return completion.standard_errors(places[:, None], places)


def _noise(completion: Completion) -> dict[str, Any]:
    noise = completion.noise
    return finite({**asdict(noise), "method": completion.error_bars().method})


def _report(completion: Completion, names: tuple[str, ...] | None, keep_undetermined: bool) -> None:
    about = completion.summary()
    n, rank, iterations, seconds = about["size"], about["rank"], about["iterations"], about["seconds"]
    out(f"{n}×{n} matrix, rank {rank}, by {about['method']} from the {about['start']} start ({about['loss']} loss)")
    out(f"{iterations} iterations, {seconds:.2f} s, relative residual {about['residual']:.2e}")
    if about["error"] is not None:
        out(f"completion error against the truth {about['error']:.2e}")
    out(str(completion.verdict))
    rows = np.flatnonzero(~completion.determined)
    if rows.size:
        left = "kept" if keep_undetermined else "left empty (--keep-undetermined writes them)"
        out(f"not determined by the data: {_listed(rows, names)}; their unseen entries are {left}")


def _listed(rows: Any, names: tuple[str, ...] | None) -> str:
    """Every row by name: whoever reads this will look them up."""
    return f"row{'s' if rows.size > 1 else ''} " + ", ".join(names[i] if names else str(i) for i in rows)
