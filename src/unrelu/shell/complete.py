"""``unrelu complete``."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from unrelu.auto.choices import DEFAULT_METHOD, choose
from unrelu.base.errors import InputError, is_number
from unrelu.base.printable import printable
from unrelu.complete import complete
from unrelu.data.inputs import read_values
from unrelu.data.table import Table
from unrelu.io.disk import check_target, together
from unrelu.io.files import WRITABLE, write_matrix
from unrelu.loop.history import Stop
from unrelu.loop.stopping import MaxSeconds, StoppingRule
from unrelu.shell import options
from unrelu.shell.answer import Answer
from unrelu.shell.common import (
    dense_values,
    distinct,
    ended,
    exit_code,
    guarded,
    kept_warnings,
    mask_values,
    read_square,
    shown_names,
    shown_table,
    side_table,
    warn,
    watching,
)
from unrelu.shell.streams import deliver, out
from unrelu.solvers import METHODS, Solver
from unrelu.starts import STARTS

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
    max_seconds: options.MaxSeconds = None,
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
    seconds = options.checked_seconds(max_seconds)
    inputs = [path for path in (file, unknown, truth) if path is not None]
    for path in (output, errors_out, mask_out):
        if path is not None:
            check_target(path, inputs=inputs, accepted=WRITABLE)
    distinct({"--output": output, "--errors-out": errors_out, "--mask-out": mask_out})
    table, names = read_square(file, header, labels, missing)
    began = perf_counter()
    with kept_warnings(_advice(keep_undetermined, mask_out)) as notes, watching(quiet or as_json) as watched:
        completion = complete(
            shown_table(table),
            rank,
            threshold=limit,
            seen=seen,
            unknown=None
            if unknown is None
            else mask_values(side_table(unknown, names, table, header, labels), unknown),
            loss=loss,
            method=method,
            start=start,
            tol=tol if seconds is None else _rule(method, tol, table, seconds),
            max_iter=max_iter,
            truth=None if truth is None else dense_values(side_table(truth, names, table, header, labels)),
            pairs=pairs,
            rng=options.checked_seed(seed),
            **watched.options,
        )
        if completion.verdict.code is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        left = None if seconds is None else seconds - (perf_counter() - began)
        answer = Answer.of(completion, keep_undetermined, left, watched.phase)
    contents = {output: answer.values(fit)}
    contents |= {} if errors_out is None else {errors_out: answer.errors()}
    contents |= {} if mask_out is None else {mask_out: answer.mask()}
    with together(final=exit_code(completion.verdict)):
        for path, content in contents.items():
            write_matrix(path, content, rows=names if table.rows else None, columns=names)
    if as_json:
        about: dict[str, Any] = {
            key: str(path) for key, path in (("errors_output", errors_out), ("mask_output", mask_out)) if path
        }
        about |= {} if errors_out is None else {"noise": answer.noise()}
        about |= {"not_determined": np.flatnonzero(~answer.determined).tolist()}
        summary = {**completion.summary(), "output": str(output), **about, "warnings": notes}
        deliver(json.dumps(summary), f"{output} is written")
    else:
        warn(notes)
        if not quiet:
            told = [*answer.report(shown_names(names)), f"wrote {printable(output)}"]
            told += [] if errors_out is None else [answer.noise_words()]
            told += [f"wrote {printable(path)}" for path in contents if path != output]
            out("\n".join(told))
    return ended(completion.verdict, quiet)


def _rule(method: str, tol: float | None, table: Table, seconds: float) -> StoppingRule:
    """The method's own rule, with a time limit."""
    if tol is not None and not (is_number(tol) and tol >= 0):
        raise InputError(f"--tol must be a number ≥ 0, got {tol!r}")
    solver = choose("method", method, METHODS, Solver, DEFAULT_METHOD)
    return solver.rule(tol, read_values(table)[0].dtype) | MaxSeconds(seconds)


def _advice(keep_undetermined: bool, mask_out: Path | None) -> str:
    """What a person at a terminal can do about rows that could not be placed."""
    left = "is written all the same" if keep_undetermined else "is left empty (--keep-undetermined writes it)"
    where = "--mask-out FILE shows where" if mask_out is None else f"{mask_out} has 0 there"
    return f"what the data do not determine {left}; {where}"
