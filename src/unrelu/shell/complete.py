"""``unrelu complete``."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from unrelu.auto.choices import DEFAULT_METHOD, STRUCTURES, choose
from unrelu.base.errors import InputError, is_number
from unrelu.complete import complete
from unrelu.complete_rectangular import complete_rectangular
from unrelu.data.inputs import read_values
from unrelu.data.table import Table
from unrelu.loop.history import Stop
from unrelu.loop.stopping import MaxSeconds, StoppingRule
from unrelu.model.losses import LOSSES
from unrelu.results.completion import Completion
from unrelu.shell import options, outputs
from unrelu.shell.answer import Answer
from unrelu.shell.common import (
    Square,
    ended,
    guarded,
    kept_warnings,
    mask_beside,
    shown_names,
    shown_table,
    values_beside,
    watching,
)
from unrelu.shell.doubts import told
from unrelu.shell.help import values_of
from unrelu.shell.numbers import numbers_beside
from unrelu.shell.reading import Brought, HowToRead
from unrelu.shell.tables import TableAnswer
from unrelu.solvers import METHODS, Solver
from unrelu.starts import STARTS
from unrelu.uncertainty.noise import PAIRS

__all__ = ["complete_command"]

# Options that no other command has.
Method = Annotated[
    str,
    typer.Option(
        metavar=options.NAME,
        help=f"What to solve by: auto, {', '.join(METHODS)}.",
        autocompletion=values_of("auto", *METHODS),
    ),
]
Start = Annotated[
    str,
    typer.Option(
        metavar=options.NAME,
        help=f"Where to begin: auto, {', '.join(STARTS)}.",
        autocompletion=values_of("auto", *STARTS),
    ),
]
Loss = Annotated[
    str,
    typer.Option(
        metavar=options.NAME,
        help=f"What a misfit costs: auto, {', '.join(LOSSES)}.",
        autocompletion=values_of("auto", *LOSSES),
    ),
]
Truth = Annotated[
    Path | None, typer.Option(metavar=options.FILE, help="The true matrix, for reporting the error only.")
]
Seed = Annotated[
    int, typer.Option(metavar=options.COUNT, help="Seed of the start; the same seed gives the same answer.")
]
Fit = Annotated[
    bool,
    typer.Option(
        "--fit", metavar=options.FLAG, help="Write the fit everywhere instead of keeping seen entries as given."
    ),
]
KeepUndetermined = Annotated[
    bool,
    typer.Option(
        "--keep-undetermined", metavar=options.FLAG, help="Write also entries that the data do not determine."
    ),
]
Pairs = Annotated[
    str,
    typer.Option(
        metavar=options.NAME,
        help="Whether (i, j) and (j, i) carry one noise or two: auto, one or independent.",
        autocompletion=values_of(*PAIRS),
    ),
]
Structure = Annotated[
    str,
    typer.Option(
        metavar=options.NAME,
        help="What a symmetric matrix is: psd (positive semidefinite) or indefinite.",
        autocompletion=values_of(*STRUCTURES),
    ),
]


@guarded
def complete_command(
    file: options.File,
    rank: options.Rank,
    output: outputs.Output,
    threshold: options.Threshold = None,
    limits: options.LimitsFile = None,
    no_threshold: options.NoThreshold = False,
    seen: options.Seen = "above",
    unknown: options.Unknown = None,
    entry_range: options.EntryRange = None,
    weights: options.Weights = None,
    sigma: options.Sigma = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    layout: options.Layout = None,
    method: Method = "auto",
    start: Start = "auto",
    loss: Loss = "auto",
    tol: options.Tol = None,
    max_iter: options.MaxIter = None,
    max_seconds: options.MaxSeconds = None,
    truth: Truth = None,
    seed: Seed = 0,
    fit: Fit = False,
    keep_undetermined: KeepUndetermined = False,
    mask_out: outputs.MaskOut = None,
    errors_out: outputs.ErrorsOut = None,
    flags_out: outputs.FlagsOut = None,
    long_out: outputs.LongOut = None,
    plot: outputs.Plot = None,
    pairs: Pairs = "auto",
    structure: Structure = "psd",
    table: options.AsTable = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Complete a matrix of known rank from the entries beyond a threshold: a symmetric one, or a table."""
    options.refuse_two_limits(limits, threshold, no_threshold, seen)
    limit, seconds = options.checked_threshold(threshold, no_threshold), options.checked_seconds(max_seconds)
    within, noise = options.checked_range(entry_range), options.checked_sigma(sigma)
    files = outputs.Outputs(output, errors_out, mask_out, flags_out, long_out, plot)
    inputs = (file, unknown, truth, limit, limits, weights, noise)
    files.check([path for path in inputs if isinstance(path, Path)], as_json)
    brought = HowToRead(header, labels, missing, layout, table).read(file).limited_by(limits, (threshold, seen))
    read, matrix = brought.read, brought.matrix()
    doubts = told(brought, None if unknown else limit, seen, quiet=quiet, as_json=as_json)
    began = perf_counter()
    asked: dict[str, Any] = dict(seen=seen, loss=loss, method=method, start=start, entry_range=within)
    asked |= dict(tol=_rule(method, tol, read, seconds), max_iter=max_iter, rng=options.checked_seed(seed))
    with kept_warnings(_advice(keep_undetermined, mask_out)) as notes, watching(quiet or as_json) as watched:
        asked |= dict(threshold=read.limits or numbers_beside(matrix, limit), **watched.options)
        asked |= _beside(matrix, weights, noise, unknown, truth)
        completion = _completed(brought, rank, asked, pairs, structure, as_json)
        left = None if seconds is None else seconds - (perf_counter() - began)
        kind = TableAnswer if brought.rectangular else Answer
        answer = kind.of(completion, keep_undetermined, left, watched.phase)
    files.write(answer, matrix, fit=fit)
    files.tell(answer, read, doubts + notes, shown_names(matrix.names), quiet=quiet, as_json=as_json)
    return ended(completion.verdict, quiet)


def _beside(
    matrix: Square, weights: Path | None, noise: float | Path | None, unknown: Path | None, truth: Path | None
) -> dict[str, Any]:
    """What other files say of the entries, or one number of their noise."""
    return dict(
        weights=numbers_beside(matrix, weights, "--weights", "weight"),
        sigma=numbers_beside(matrix, noise, "--sigma", "sigma"),
        unknown=mask_beside(matrix, unknown),
        truth=values_beside(matrix, truth),
    )


def _completed(
    brought: Brought, rank: int, asked: dict[str, Any], pairs: str, structure: str, as_json: bool
) -> Completion:
    """A symmetric matrix, whose ``pairs`` have one noise or two, or a table, which has none."""
    shown = shown_table(brought.read, as_json=as_json)
    if not brought.rectangular:
        completion = complete(shown, rank, pairs=pairs, structure=structure, **asked)
    elif structure != "psd":
        raise InputError(f"--structure {structure} is for symmetric matrices, and this is a table; drop it")
    else:
        completion = complete_rectangular(shown, rank, **asked)
    if completion.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return completion


def _rule(method: str, tol: float | None, table: Table, seconds: float | None) -> float | StoppingRule | None:
    """The method's own rule, with a time limit if there is one."""
    if seconds is None:
        return tol
    if tol is not None and not (is_number(tol) and tol >= 0):
        raise InputError(f"--tol must be a number ≥ 0, got {tol!r}")
    solver = choose("method", method, METHODS, Solver, DEFAULT_METHOD)
    return solver.rule(tol, read_values(table)[0].dtype) | MaxSeconds(seconds)


def _advice(keep_undetermined: bool, mask_out: Path | None) -> str:
    """What a person at a terminal can do about rows that could not be placed."""
    left = "is written all the same" if keep_undetermined else "is left empty (--keep-undetermined writes it)"
    where = "--mask-out FILE shows where" if mask_out is None else f"{mask_out} has 0 there"
    return f"what the data do not determine {left}; {where}"
