"""``unrelu complete``."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from unrelu.complete import complete
from unrelu.completion import Completion
from unrelu.errors import CompletionWarning
from unrelu.files import check_target, read_matrix, write_matrix
from unrelu.history import Record, Stop
from unrelu.initialise import STARTS
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.")] = False,
    as_json: AsJson = False,
) -> int:
    """Complete a symmetric positive semidefinite matrix of known rank from the entries beyond a threshold."""
    limit = checked_threshold(threshold, no_threshold)
    inputs = [path for path in (file, unknown, truth) if path is not None]
    check_target(output, inputs=inputs)
    table = read_matrix(file, header=header, labels=labels, missing=missing or ())
    require_square(table, file)
    names = labels_of(table, file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
        completion = complete(
            table.values,
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
            rng=seed,
            progress=not quiet and not as_json and sys.stderr.isatty(),
            callback=None if quiet or as_json or sys.stderr.isatty() else _plain_line,
        )
    notes = [str(w.message) for w in caught if issubclass(w.category, CompletionWarning)]
    if completion.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    write_matrix(
        output,
        completion.matrix() if fit else completion.filled(),
        rows=names if table.rows else None,
        columns=names,
    )
    if as_json:
        out(json.dumps({**completion.summary(), "output": str(output), "warnings": notes}))
    else:
        for note in notes:
            say(f"warning: {note}")
        if not quiet:
            _report(completion, output)
    if quiet and not completion.verdict.converged:
        say(f"not converged: {completion.verdict.reason}")
    return DONE if completion.verdict.converged else NOT_CONVERGED


def _plain_line(record: Record) -> None:
    if record.iteration % 10 == 0:
        norm = "" if record.gradient_norm is None else f", gradient norm {record.gradient_norm:.3e}"
        say(f"iteration {record.iteration}: objective {record.objective:.3e}{norm}")


def _report(completion: Completion, output: Path) -> None:
    about = completion.summary()
    n, rank, iterations, seconds = about["size"], about["rank"], about["iterations"], about["seconds"]
    out(f"{n}×{n} matrix, rank {rank}, by {about['method']} from the {about['start']} start ({about['loss']} loss)")
    out(f"{iterations} iterations, {seconds:.2f} s, relative residual {about['residual']:.2e}")
    if about["error"] is not None:
        out(f"completion error against the truth {about['error']:.2e}")
    out(str(completion.verdict))
    out(f"wrote {output}")
