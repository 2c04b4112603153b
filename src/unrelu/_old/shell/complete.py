"""``unrelu complete``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from unrelu._old.auto.choices import DEFAULT_METHOD, STRUCTURES, choose
from unrelu._old.base.errors import InputError, is_number
from unrelu._old.complete import complete
from unrelu._old.complete_rectangular import complete_rectangular
from unrelu._old.data.table import Table
from unrelu._old.loop.history import Stop
from unrelu._old.loop.stopping import MaxSeconds, StoppingRule
from unrelu._old.model.losses import LOSSES
from unrelu._old.results.completion import Completion
from unrelu._old.results.moved import moved_by_threshold
from unrelu._old.shell import options, outputs
from unrelu._old.shell.answer import Answer
from unrelu._old.shell.big import LANDMARKS, BigAnswer, Scale, watching_rows
from unrelu._old.shell.common import (
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
from unrelu._old.shell.doubts import told
from unrelu._old.shell.forecasts import ForecastAnswer
from unrelu._old.shell.help import values_of
from unrelu._old.shell.numbers import numbers_beside
from unrelu._old.shell.posteriors import PosteriorAnswer
from unrelu._old.shell.reading import Brought, HowToRead
from unrelu._old.shell.table import Asked, table_completed
from unrelu._old.shell.tables import TableAnswer
from unrelu._old.solvers import METHODS, SAMPLERS, Solver
from unrelu._old.starts import STARTS
from unrelu._old.uncertainty.noise import PAIRS

__all__ = ["complete_command"]

# Names of methods that read all of a matrix.
NAMES = [name for name in METHODS if name != LANDMARKS]

# Options that no other command has, or that say more here.
File = Annotated[
    Path,
    typer.Argument(
        metavar=options.FILE,
        help="The matrix: .csv, .tsv or .txt, also with .gz; .xlsx, .parquet, .npy, .npz, .mtx or .zarr; or - for text "
        "on standard input. Empty, NA or ND where nothing was seen, <0.25 below a limit, >100 above one. A .zarr or "
        ".npy larger than 1 GiB is read block by block.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar=options.NAME,
        help=f"What to solve by: auto, {', '.join(NAMES)}; landmarks, which reads a small part of a matrix that may be "
        f"larger than the memory; or {', '.join(SAMPLERS)}, which samples a posterior.",
        autocompletion=values_of("auto", *NAMES, LANDMARKS, *SAMPLERS),
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
        help=f"What a misfit costs: auto, {', '.join(LOSSES)}; with huber a few entries may be wrong, which are named.",
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
Sensitivity = Annotated[
    bool,
    typer.Option(
        "--sensitivity",
        metavar=options.FLAG,
        help="Also say how much completed entries move when the threshold moves within what the data allow.",
    ),
]
RECTANGULAR = "rectangular"
Structure = Annotated[
    str | None,
    typer.Option(
        metavar=options.NAME,
        help="What the matrix is: psd (positive semidefinite), indefinite, or rectangular, LRᵀ of the rank that is "
        "named. A file that is not square is completed as unrelu table does it if no rank is named.",
        autocompletion=values_of(*STRUCTURES, RECTANGULAR),
        show_default="look",
    ),
]


@guarded
def complete_command(
    file: File,
    output: outputs.OptionalOutput = None,
    rank: options.AutoRank = options.AUTO,
    threshold: options.Threshold = None,
    limits: options.LimitsFile = None,
    no_threshold: options.NoThreshold = False,
    seen: options.Seen = "above",
    unknown: options.Unknown = None,
    gaps: options.Gaps = "censored",
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
    outliers_out: outputs.OutliersOut = None,
    plot: outputs.Plot = None,
    factor_out: outputs.FactorOut = None,
    write_all: outputs.WriteAll = False,
    peak_memory: options.PeakMemory = None,
    checkpoint: options.Checkpoint = None,
    device: options.Device = None,
    pairs: Pairs = "auto",
    structure: Structure = None,
    table: options.AsTable = False,
    sensitivity: Sensitivity = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:  # fmt: skip
    """Complete a matrix from the entries beyond a threshold: a symmetric one, or a table; no rank is needed."""
    limit = options.threshold_beside(limits, threshold, no_threshold, seen)
    named, rng, within, noise, seconds = _checked(rank, seed, entry_range, sigma, max_seconds)
    files = outputs.Outputs(output, errors_out, mask_out, flags_out, long_out, plot, outliers_out, factor_out)
    scale = Scale.said(method, peak_memory, checkpoint, write_all, device)
    scale.check(files, _paths(file, unknown, truth, limit, limits, weights, noise), as_json, loss)
    how = HowToRead(header, labels, missing, layout, table or structure == RECTANGULAR, texts=named is None)
    brought = scale.read(how, file, files).limited_by(limits, (threshold, seen))
    wanted = _Wanted(scale, files, seconds, keep_undetermined, fit, pairs, structure, sensitivity, quiet, as_json)
    said: dict[str, Any] = dict(method=method, start=start, loss=loss, max_iter=max_iter, gaps=gaps) | scale.told
    if named is None and brought.rectangular and not wanted.streams(brought):
        terms = Asked(None, None if threshold is None else limit, seen, unknown, within, False, rng, seconds, loss)
        return _as_table(brought, terms, said | dict(weights=weights, sigma=sigma, truth=truth, tol=tol), wanted)
    asked = said | dict(tol=_rule(method, tol, brought.read, seconds), seen=seen, rng=rng, entry_range=within)
    asked |= _beside(matrix := brought.matrix(), brought.read.limits or limit, (weights, noise), unknown, truth)
    return _finished(brought, (matrix, _doubts(brought, (unknown, limit), seen, wanted)), named, asked, wanted)


@dataclass(frozen=True)
class _Wanted:
    """How a matrix is to be completed and where it goes, besides what the library is asked."""

    scale: Scale
    files: outputs.Outputs
    seconds: float | None
    keep: bool
    fit: bool
    pairs: str
    structure: str | None
    sensitivity: bool
    quiet: bool
    as_json: bool

    def streams(self, brought: Brought) -> bool:
        """Whether nothing is made that has as many numbers as the matrix has entries."""
        return self.scale.streams(brought, self.files)

    @property
    def silent(self) -> bool:
        """Whether nobody wants to see how far it has come."""
        return self.quiet or self.as_json


def _paths(*said: Any) -> list[Path]:
    """Files among what was said."""
    return [path for path in said if isinstance(path, Path)]


def _refuse_without_rank(said: dict[str, Any]) -> None:
    """Refuse what only a fit of a rank can obey."""
    for name, value in said.items():
        known = value == "auto" or (name, value) in (("loss", "huber"), ("gaps", "censored"))
        if value is not None and value is not False and not known:
            option = f"--{name.replace('_', '-')}"
            option += f" {value}" if name == "structure" else ""
            raise InputError(
                f"{option} is for a fit of a rank, and this file is completed as a table of samples and variables; "
                f"give --rank N, or drop {option}"
            )


def _as_table(brought: Brought, terms: Asked, said: dict[str, Any], wanted: _Wanted) -> int:
    """Complete a table of samples and variables; the exit code."""
    own = dict(structure=wanted.structure, fit=wanted.fit, pairs=wanted.pairs, sensitivity=wanted.sensitivity)
    _refuse_without_rank(own | said | dict(factor_out=wanted.files.factors))
    return table_completed(brought, wanted.files, terms, quiet=wanted.quiet, as_json=wanted.as_json)


def _doubts(brought: Brought, absence: tuple[Path | None, Any], seen: str, wanted: _Wanted) -> list[str]:
    """What is probably not meant; of a matrix that is read block by block nobody looks at all entries for that."""
    if wanted.streams(brought):
        if wanted.sensitivity:
            raise InputError("--sensitivity completes a matrix several times, and this one is very large; drop it")
        return []
    unknown, threshold = absence
    return told(brought, None if unknown else threshold, seen, quiet=wanted.quiet, as_json=wanted.as_json)


def _finished(
    brought: Brought, about: tuple[Square, list[str]], rank: int | None, asked: dict[str, Any], wanted: _Wanted
) -> int:
    """Complete the matrix, write it and say what came out; the exit code."""
    matrix, doubts = about
    files = wanted.files
    answer, notes = (_streamed if wanted.streams(brought) else _answered)(brought, rank, asked, wanted)
    files.write(answer, matrix, fit=wanted.fit)
    shown = shown_names(matrix.names)
    files.tell(answer, brought.read, doubts + notes, shown, quiet=wanted.quiet, as_json=wanted.as_json)
    return ended(answer.verdict, wanted.quiet)


def _answered(brought: Brought, rank: int | None, asked: dict[str, Any], wanted: _Wanted) -> tuple[Answer, list[str]]:
    """What came out, with what is known of its rows, and what there is to know about it."""
    began = perf_counter()
    with kept_warnings(_advice(wanted)) as notes, watching(wanted.silent) as watched:
        completion = _completed(
            brought, rank, asked | dict(watched.of_many if rank is None else watched.options), wanted
        )
        notes += _moved(brought, rank, asked, completion, wanted) if wanted.sensitivity else []
        if completion.posterior is not None:
            return PosteriorAnswer.of(completion, wanted.keep), notes
        if completion.forecasts:
            return ForecastAnswer.of(completion, wanted.keep, truth=asked["truth"]), notes
        left = None if wanted.seconds is None else wanted.seconds - (perf_counter() - began)
        kind = TableAnswer if brought.rectangular else Answer
        return replace(kind.of(completion, wanted.keep, left, watched.phase), found=rank is None), notes


def _streamed(brought: Brought, rank: int | None, asked: dict[str, Any], wanted: _Wanted) -> tuple[Answer, list[str]]:
    """The same of a matrix of which nothing is made that has as many numbers as it has entries."""
    with kept_warnings(_advice(wanted, masks=False)) as notes, watching_rows(wanted.silent) as watched:
        completion = _completed(brought, rank, asked | dict(watched.options), wanted)
    answer = BigAnswer.of(completion, wanted.keep)
    return replace(answer, found=rank is None, files=wanted.files, silent=wanted.silent), notes


def _beside(
    matrix: Square,
    limit: Any,
    numbers: tuple[Path | None, float | Path | None],
    unknown: Path | None,
    truth: Path | None,
) -> dict[str, Any]:
    """What files, or one number, say of the entries: where they go unseen, their weights and their noise."""
    weights, noise = numbers
    return dict(
        threshold=numbers_beside(matrix, limit),
        weights=numbers_beside(matrix, weights, "--weights", "weight"),
        sigma=numbers_beside(matrix, noise, "--sigma", "sigma"),
        unknown=mask_beside(matrix, unknown),
        truth=values_beside(matrix, truth),
    )


def _checked(rank: str, seed: int, entry_range: str | None, sigma: str | None, seconds: Any) -> tuple[Any, ...]:
    """Rank, seed, range, noise and seconds, as they are asked for."""
    within, noise = options.checked_range(entry_range), options.checked_sigma(sigma)
    return options.checked_rank(rank), options.checked_seed(seed), within, noise, options.checked_seconds(seconds)


def _completed(brought: Brought, rank: int | None, asked: dict[str, Any], wanted: _Wanted) -> Completion:
    """A symmetric matrix, whose ``pairs`` have one noise or two, or a table, which has none."""
    shown, structure = shown_table(brought.read, as_json=wanted.as_json), wanted.structure
    if not brought.rectangular:
        completion = complete(shown, rank, pairs=wanted.pairs, structure=structure or "psd", **asked)
    elif structure not in (None, RECTANGULAR):
        raise InputError(f"--structure {structure} is for symmetric matrices, and this is a table; drop it")
    else:
        completion = complete_rectangular(shown, rank, **asked)
    if completion.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return completion


def _moved(brought: Brought, rank: int | None, asked: dict[str, Any], found: Completion, wanted: _Wanted) -> list[str]:
    """How much the answer hangs on the threshold."""
    shown = shown_table(brought.read, as_json=wanted.as_json)
    door = complete_rectangular if brought.rectangular else complete
    options_of = {name: value for name, value in asked.items() if name not in ("threshold", "gaps", "truth")}
    with kept_warnings():
        return [str(moved_by_threshold(door, shown, found, {"rank": rank, **options_of}))]


def _rule(method: str, tol: float | None, table: Table, seconds: float | None) -> float | StoppingRule | None:
    """The method's own rule, with a time limit if there is one."""
    if seconds is None:
        return tol
    if tol is not None and not (is_number(tol) and tol >= 0):
        raise InputError(f"--tol must be a number ≥ 0, got {tol!r}")
    solver = choose("method", "auto" if method == LANDMARKS else method, METHODS | SAMPLERS, Solver, DEFAULT_METHOD)
    return solver.rule(tol, np.dtype(table.values.dtype)) | MaxSeconds(seconds)


def _advice(wanted: _Wanted, *, masks: bool = True) -> str:
    """What a person at a terminal can do about rows that could not be placed; ``masks``: whether one can be had."""
    files = wanted.files
    if files.target is None:
        return "--output FILE writes the entries that the data determine"
    left = "is written all the same" if wanted.keep else "is left empty (--keep-undetermined writes it)"
    where = "; --mask-out FILE shows where" if files.mask is None else f"; {files.mask} has 0 there"
    return f"what the data do not determine {left}{where if masks else ''}"
