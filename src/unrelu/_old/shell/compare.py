"""``unrelu compare``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from unrelu._old.base.errors import InputError
from unrelu._old.compare import PLANTED, compare
from unrelu._old.data.limits import Limits
from unrelu._old.io.disk import together
from unrelu._old.results.comparison import Comparison, Row
from unrelu._old.shell import options
from unrelu._old.shell.common import (
    DONE,
    Square,
    check_output,
    distinct,
    guarded,
    kept_warnings,
    mask_beside,
    shown_table,
    values_beside,
    warn,
)
from unrelu._old.shell.doubts import told
from unrelu._old.shell.help import values_of
from unrelu._old.shell.numbers import numbers_beside
from unrelu._old.shell.reading import HowToRead
from unrelu._old.shell.streams import deliver, out, say
from unrelu._old.shell.wording import for_shells
from unrelu._old.solvers import METHODS, SAMPLERS

__all__ = ["compare_command"]


# Options that no other command has.
File = Annotated[
    Path | None,
    typer.Argument(metavar=options.FILE, help="The matrix, as for complete; or give --planted.", show_default=False),
]
Drawn = Annotated[
    str | None, typer.Option(metavar="n,r,sigma", help="Fresh matrices of size n and rank r with noise sigma.")
]
Rank = Annotated[
    str | None,
    typer.Option(
        "--rank",
        "-r",
        metavar="N|auto",
        help="Rank of the completed matrix; auto: the one that complete finds in FILE, once for all methods.",
        show_default="the planted one",
        autocompletion=values_of(options.AUTO),
    ),
]
Methods = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help=f"Which, with commas between: auto, {', '.join(METHODS)}; {', '.join(SAMPLERS)} only if it is named.",
        show_default="all",
    ),
]
Trials = Annotated[int, typer.Option(metavar=options.COUNT, help="How many matrices; of a given one, how many starts.")]
Truth = Annotated[
    Path | None,
    typer.Option(metavar=options.FILE, help="The true matrix of FILE, for reporting the error only."),
]
Stopping = Annotated[
    str,
    typer.Option(
        metavar=options.NAME,
        help="Each method's rule: relative, or paper for its absolute one.",
        autocompletion=values_of("relative", "paper"),
    ),
]
Budget = Annotated[float, typer.Option(metavar=options.SECONDS, help="Most seconds of one run.")]
Csv = Annotated[Path | None, typer.Option(metavar=options.FILE, help="Where to write every run, as .csv.")]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar=options.FILE,
        help="Where to write every run and the summary: a .json file, nothing on the terminal.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(metavar=options.FILE, help="Where to draw box plots: .png, .svg or .pdf."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=options.FLAG, help="No progress, only the table.")]


@partial(guarded, at_once=False)
def compare_command(
    file: File = None,
    planted: Drawn = None,
    rank: Rank = None,
    methods: Methods = None,
    trials: Trials = 1,
    truth: Truth = None,
    threshold: options.Threshold = None,
    no_threshold: options.NoThreshold = False,
    seen: options.Seen = "above",
    unknown: options.Unknown = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    layout: options.Layout = None,
    stopping: Stopping = "relative",
    budget: Budget = 60.0,
    seed: options.FirstSeed = 0,
    csv: Csv = None,
    json_: Json = None,
    plot: Plot = None,
    quiet: Quiet = False,
) -> int:
    """Run several methods on the same matrix and print what each reached and what it cost."""
    _require_one(file, planted)
    limit = options.checked_threshold(threshold, no_threshold)
    files = _Files(csv, json_, plot)
    files.check([path for path in (file, truth, unknown) if path is not None])
    drawn = None if planted is None else _planted(planted)
    said = threshold, seen, None if unknown else limit
    matrix, limits = _read(file, HowToRead(header, labels, missing, layout), said, quiet)
    named = _rank_of(file, rank)
    with kept_warnings() as notes:
        comparison = compare(
            None if matrix is None else shown_table(matrix.table, as_json=False),
            named,
            planted=drawn,
            methods=None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
            trials=trials,
            truth=values_beside(matrix, truth),
            threshold=limits or numbers_beside(matrix, limit),
            seen=seen,
            unknown=mask_beside(matrix, unknown),
            stopping=stopping,
            budget=budget,
            rng=options.checked_seed(seed),
            progress=not quiet and sys.stderr.isatty(),
            callback=None if quiet or sys.stderr.isatty() else _say_row,
        )
    warn(notes)
    if comparison.interrupted:
        if comparison.rows:
            out(for_shells(str(comparison)))
        raise KeyboardInterrupt
    files.write(comparison)
    deliver(for_shells(str(comparison)))
    if not quiet:
        files.announce()
    return DONE


@dataclass(frozen=True)
class _Files:
    """Where a comparison goes, besides the terminal: every run, the summary, a picture."""

    csv: Path | None
    json: Path | None
    plot: Path | None

    def check(self, inputs: list[Path]) -> None:
        """Refuse files that could not be written in the end, before the work starts."""
        for path, kinds in ((self.csv, (".csv",)), (self.json, (".json",)), (self.plot, (".png", ".svg", ".pdf"))):
            if path is not None:
                check_output(path, kinds, inputs)
        distinct({"--csv": self.csv, "--json": self.json, "--plot": self.plot})

    def write(self, comparison: Comparison) -> None:
        """All of them or none."""
        with together():
            if self.csv is not None:
                comparison.to_csv(self.csv)
            if self.json is not None:
                comparison.to_json(self.json)
            if self.plot is not None:
                from unrelu._old.show.plots import draw_comparison, save_figure

                save_figure(draw_comparison(comparison), self.plot)

    def announce(self) -> None:
        """Say which of them are written."""
        for path in (self.csv, self.json, self.plot):
            if path is not None:
                say(f"wrote {path}")


def _say_row(row: Row) -> None:
    """A line for each run that has ended, where no bar shows them."""
    say(f"trial {row.trial + 1}, {for_shells(str(row))}")


def _rank_of(file: Path | None, rank: str | None) -> int | None:
    """The rank; None for the planted one, and where it is to be found."""
    if file is not None and rank is None:
        raise InputError(f"compare needs the --rank of {file.name}; give a number, or auto to have it found")
    return None if rank is None else options.checked_rank(rank)


def _require_one(file: Path | None, planted: str | None) -> None:
    """Refuse two sources of matrices, and none."""
    if (file is None) == (planted is None):
        raise InputError("compare needs either a FILE or --planted n,r,sigma" + ("" if file is None else ", not both"))


def _read(
    file: Path | None, how: HowToRead, said: tuple[str | None, str, Any], quiet: bool
) -> tuple[Square | None, Limits | None]:
    """The matrix, with a word about how it was read, and the limits that its cells name; no file, no matrix.

    ``said``: the threshold as it was typed, the side, and the number that both come to.
    """
    if file is None:
        return None, None
    brought = how.read(file)
    matrix = brought.square("; this command takes symmetric matrices only")
    threshold, seen, limit = said
    brought.refuse_another_threshold(threshold, seen)
    told(brought, limit, seen, quiet=quiet, as_json=False)
    return matrix, brought.read.limits


def _about(matrix: Square | None, rank: Any, drawn: Any, trials: int, stopping: str) -> dict[str, Any]:
    """What the head of a table says."""
    about: dict[str, Any] = {"rank": rank, "sigma": None, "trials": trials, "stopping": stopping}
    if matrix is not None:
        return about | {"size": matrix.table.values.shape[0]}
    n, planted_rank, sigma = drawn
    return about | {"size": n, "rank": planted_rank if rank in (None, options.AUTO) else rank, "sigma": sigma}


def _planted(text: str) -> tuple[int, int, float]:
    try:
        n, rank, sigma = text.split(",")
        return int(n), int(rank), float(sigma)
    except ValueError:
        raise InputError(f"--planted must be {PLANTED}; got {text!r}") from None
