"""``unrelu table``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from unrelu._old.base.budget import budget, phase
from unrelu._old.base.errors import InputError
from unrelu._old.complete_table import complete_table
from unrelu._old.io.marked import WORDY
from unrelu._old.shell import options, outputs
from unrelu._old.shell.common import ended, guarded, kept_warnings, mask_beside, shown_table, watching
from unrelu._old.shell.doubts import told
from unrelu._old.shell.filled_tables import FilledTable
from unrelu._old.shell.help import values_of
from unrelu._old.shell.numbers import numbers_beside
from unrelu._old.shell.reading import Brought, HowToRead, named

__all__ = ["Asked", "table_command", "table_completed"]

# Options that no other command has, or that say something else here.
File = Annotated[
    Path,
    typer.Argument(
        metavar=options.FILE,
        help="The table, one line per sample: .csv, .tsv or .txt, also with .gz; .xlsx, .parquet, .npy, .npz or .mtx; "
        "or - for text on standard input. Empty, NA or ND where nothing was measured, <0.25 below a limit, >100 above "
        "one.",
    ),
]
Rank = Annotated[
    str,
    typer.Option(
        "--rank", "-r", metavar="N|auto", help="The only rank to try; auto: the model that is rehearsed best."
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|FILE|auto",
        help="Beyond which cells go unseen: one number, two with a comma for --seen between and outside; a file "
        "with one per row, per column or per cell; auto: one for each column that shows one.",
        show_default="absence says nothing",
    ),
]
Log = Annotated[
    bool,
    typer.Option("--log", metavar=options.FLAG, help="Take logarithms: for concentrations and the like, all above 0."),
]
Loss = Annotated[
    str,
    typer.Option(
        metavar=options.NAME,
        help="auto; or huber, if a few cells may be wrong: these are found, left out and named.",
        autocompletion=values_of("auto", "huber"),
    ),
]
Seed = Annotated[
    int, typer.Option(metavar=options.COUNT, help="Seed of what is hidden on purpose; the same seed, the same answer.")
]


@dataclass(frozen=True)
class Asked:
    """What was said of the cells of a table, and how it is to be completed."""

    rank: int | None
    threshold: Any
    seen: str
    unknown: Path | None
    entry_range: tuple[float, float] | None = None
    log: bool = False
    seed: int = 0
    seconds: float | None = None
    loss: str = "auto"


@guarded
def table_command(
    file: File,
    output: outputs.Output,
    limits: options.LimitsFile = None,
    threshold: Threshold = None,
    no_threshold: options.NoThreshold = False,
    seen: options.Seen = "above",
    missing: options.Missing = None,
    unknown: options.Unknown = None,
    log: Log = False,
    rank: Rank = options.AUTO,
    seed: Seed = 0,
    max_seconds: options.MaxSeconds = None,
    flags_out: outputs.FlagsOut = None,
    errors_out: outputs.ErrorsOut = None,
    long_out: outputs.LongOut = None,
    loss: Loss = "auto",
    outliers_out: outputs.OutliersOut = None,
    plot: outputs.Plot = None,
    layout: options.Layout = None,
    header: options.Header = None,
    labels: options.Labels = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Complete a table of samples by variables with limits of detection; no rank is needed, and words stay."""
    options.refuse_two_limits(limits, threshold, no_threshold=no_threshold, seen=seen)
    limit = None if threshold is None else options.checked_threshold(threshold, no_threshold)
    files = outputs.Outputs(output, errors_out, None, flags_out, long_out, plot, outliers_out)
    inputs = (file, unknown, limit, limits)
    files.check([path for path in inputs if isinstance(path, Path)], as_json, loss)
    how = HowToRead(header, labels, missing, layout, table=True, texts=True)
    brought = how.read(file).limited_by(limits, (threshold, seen))
    seconds = options.checked_seconds(max_seconds)
    rng = options.checked_seed(seed)
    asked = Asked(options.checked_rank(rank), limit, seen, unknown, log=log, seed=rng, seconds=seconds, loss=loss)
    return table_completed(brought, files, asked, quiet=quiet, as_json=as_json)


def table_completed(brought: Brought, files: outputs.Outputs, asked: Asked, *, quiet: bool, as_json: bool) -> int:
    """Complete a table, write it and say what came out; the exit code."""
    read, matrix = brought.read, brought.matrix()
    files.refuse_words(read.texts, named(brought.file))
    doubts = told(brought, asked.threshold, asked.seen, quiet=quiet, as_json=as_json)
    threshold = read.limits or numbers_beside(matrix, asked.threshold)
    if threshold is None and asked.seen != "above":
        raise InputError(f"--seen {asked.seen} needs a --threshold, and none was given; give one, or drop it")
    with kept_warnings() as notes, watching(quiet or as_json) as watched, budget(None, watched.phase):
        phase("rehearsing models")
        completion = complete_table(
            shown_table(read, as_json=as_json),
            asked.rank,
            threshold=threshold,
            seen=asked.seen,
            unknown=mask_beside(matrix, asked.unknown),
            entry_range=asked.entry_range,
            log=asked.log,
            loss=asked.loss,
            max_seconds=asked.seconds,
            rng=asked.seed,
        )
    text = files.standard is not None or files.output.suffix.lower() in WORDY
    answer = FilledTable(completion, read, text)
    notes += answer.notes() + _silence(brought, threshold, answer)
    files.write(answer, matrix, fit=False)
    files.tell(answer, read, doubts + notes, None, quiet=quiet, as_json=as_json)
    return ended(completion.verdict, quiet)


def _silence(brought: Brought, threshold: Any, answer: FilledTable) -> list[str]:
    """Say what is taken for granted where cells are missing and no limit was named."""
    count = answer.counts()["missing"]
    if threshold is not None or not count:
        return []
    return [
        f"no limit was named, so that the {count} missing cells of {named(brought.file).name} are taken to be missing "
        "whatever their value; if they lie beyond limits of detection, give these with --limits FILE or --threshold"
    ]
