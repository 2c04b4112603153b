"""``unrelu complete``."""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unrelu.complete import complete
from unrelu.completion import Completion
from unrelu.disk import check_target
from unrelu.errors import CompletionWarning, InputError
from unrelu.files import WRITABLE, read_matrix, write_matrix
from unrelu.history import Record, Stop, finite
from unrelu.initialise import STARTS
from unrelu.kernels.memory import require_memory
from unrelu.shell.common import (
    DONE,
    NOT_CONVERGED,
    AsJson,
    File,
    Header,
    Labels,
    Missing,
    NoThreshold,
    Rank,
    Seen,
    Threshold,
    Unknown,
    checked_threshold,
    dense_values,
    guarded,
    labels_of,
    mask_values,
    out,
    require_square,
    say,
    side_table,
)
from unrelu.solvers import METHODS

__all__ = ["complete_command"]


@guarded
def complete_command(
    file: File,
    rank: Rank,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write it; the extension chooses the format.")
    ],
    threshold: Threshold = None,
    no_threshold: NoThreshold = False,
    seen: Seen = "above",
    unknown: Unknown = None,
    missing: Missing = None,
    header: Header = None,
    labels: Labels = None,
    method: Annotated[str, typer.Option(help=f"auto, {', '.join(METHODS)}.")] = "auto",
    start: Annotated[str, typer.Option(help=f"auto, {', '.join(STARTS)}.")] = "auto",
    loss: Annotated[str, typer.Option(help="auto, observed or one-sided.")] = "auto",
    tol: Annotated[float | None, typer.Option(help="Relative gradient norm at which to stop.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Most iterations.")] = None,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.")] = False,
    as_json: AsJson = False,
) -> int:
    """Complete a symmetric positive semidefinite matrix of known rank from the entries beyond a threshold."""
    limit = checked_threshold(threshold, no_threshold)
    inputs = [path for path in (file, unknown, truth) if path is not None]
    check_target(output, inputs=inputs, accepted=WRITABLE)
    written = {"--output": output, "--errors-out": errors_out, "--mask-out": mask_out}
    _distinct(written, inputs)
    table = read_matrix(file, header=header, labels=labels, missing=missing or ())
    require_square(table, file)
    names = labels_of(table, file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
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
            progress=not quiet and not as_json and sys.stderr.isatty(),
            callback=None if quiet or as_json or sys.stderr.isatty() else _plain_line,
        )
    notes = [str(w.message) for w in caught if issubclass(w.category, CompletionWarning)]
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
        for note in notes:
            say(f"warning: {note}")
        if not quiet:
            _report(completion, names, keep_undetermined)
            out(f"wrote {output}")
            if errors_out is not None:
                out(f"{completion.noise}; errors by {completion.error_bars().method}")
            for path in extra:
                out(f"wrote {path}")
    if quiet and not completion.verdict.converged:
        say(f"not converged: {completion.verdict.reason}")
    return DONE if completion.verdict.converged else NOT_CONVERGED


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


def _plain_line(record: Record) -> None:
    if record.iteration % 10 == 0:
        norm = "" if record.gradient_norm is None else f", gradient norm {record.gradient_norm:.3e}"
        say(f"iteration {record.iteration}: objective {record.objective:.3e}{norm}")


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
