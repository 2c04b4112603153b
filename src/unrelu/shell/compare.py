"""``unrelu compare``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from unrelu.base.errors import InputError
from unrelu.base.interrupts import farewell
from unrelu.compare import PLANTED, compare
from unrelu.data.table import Table
from unrelu.io.disk import together
from unrelu.results.comparison import Comparison, Row
from unrelu.shell import options
from unrelu.shell.common import (
    DONE,
    check_output,
    dense_values,
    distinct,
    guarded,
    kept_warnings,
    mask_values,
    read_square,
    side_table,
    warn,
)
from unrelu.shell.streams import deliver, out, say

__all__ = ["compare_command"]


@guarded
def compare_command(
    file: Annotated[
        Path | None, typer.Argument(help="The matrix, as for complete; or give --planted.", show_default=False)
    ] = None,
    planted: Annotated[
        str | None, typer.Option(metavar="n,r,sigma", help="Fresh matrices of size n and rank r with noise sigma.")
    ] = None,
    rank: Annotated[
        int | None, typer.Option("--rank", "-r", help="Rank of the completed matrix.", show_default="the planted one")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="a,b,…", help="Which methods.", show_default="all of them")
    ] = None,
    trials: Annotated[int, typer.Option(help="How many matrices; of a given one, how many starts.")] = 1,
    truth: Annotated[Path | None, typer.Option(help="The true matrix of FILE, for reporting the error only.")] = None,
    threshold: options.Threshold = None,
    no_threshold: options.NoThreshold = False,
    seen: options.Seen = "above",
    unknown: options.Unknown = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    stopping: Annotated[str, typer.Option(help="Each method's rule: relative, or paper for its absolute one.")] = (
        "relative"
    ),
    budget: Annotated[float, typer.Option(help="Most seconds of one run.")] = 60.0,
    seed: options.FirstSeed = 0,
    csv: Annotated[Path | None, typer.Option(help="Where to write every run, as .csv.")] = None,
    json_: Annotated[Path | None, typer.Option("--json", help="Where to write runs and summary, as .json.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Where to draw box plots: .png, .svg or .pdf.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the table.")] = False,
) -> int:
    """Run several methods on the same matrix and print what each reached and what it cost."""
    if (file is None) == (planted is None):
        raise InputError("compare needs either a FILE or --planted n,r,sigma" + ("" if file is None else ", not both"))
    limit = options.checked_threshold(threshold, no_threshold)
    outputs = [(csv, (".csv",)), (json_, (".json",)), (plot, (".png", ".svg", ".pdf"))]
    inputs = [path for path in (file, truth, unknown) if path is not None]
    for path, kinds in outputs:
        if path is not None:
            check_output(path, kinds, inputs)
    distinct({"--csv": csv, "--json": json_, "--plot": plot})
    drawn = None if planted is None else _planted(planted)
    table, names = None, None
    if file is not None:
        table, names = read_square(file, header, labels, missing)
        if rank is None:
            raise InputError(f"compare needs the --rank of {file.name}")
    watched = _Watched(quiet, _about(table, rank, drawn, trials, stopping))
    farewell(show=watched.show)
    with kept_warnings() as notes:
        comparison = compare(
            None if table is None else table.values,
            rank,
            planted=drawn,
            methods=None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
            trials=trials,
            truth=None if truth is None else dense_values(side_table(truth, names, table, header, labels)),
            threshold=limit,
            seen=seen,
            unknown=None
            if unknown is None
            else mask_values(side_table(unknown, names, table, header, labels), unknown),
            stopping=stopping,
            budget=budget,
            rng=options.checked_seed(seed),
            progress=not quiet and sys.stderr.isatty(),
            callback=watched,
        )
    warn(notes)
    if comparison.interrupted:
        watched.show()
        raise KeyboardInterrupt
    _write_comparison(comparison, csv, json_, plot)
    deliver(str(comparison))
    for path in (csv, json_, plot):
        if path is not None and not quiet:
            say(f"wrote {path}")
    return DONE


class _Watched:
    """Keeps the rows as they come, for a comparison that is interrupted; says them where no bar does."""

    def __init__(self, quiet: bool, about: dict[str, Any]) -> None:
        self._rows: list[Row] = []
        self._about = about
        self._lines = not (quiet or sys.stderr.isatty())

    def __call__(self, row: Row) -> None:
        self._rows.append(row)
        if self._lines:
            say(f"trial {row.trial + 1}, {row}")

    def show(self) -> None:
        """The table of what had ended."""
        if self._rows:
            out(str(Comparison(tuple(self._rows), self._about, interrupted=True)))


def _about(table: Table | None, rank: Any, drawn: Any, trials: int, stopping: str) -> dict[str, Any]:
    """What the head of a table says."""
    about: dict[str, Any] = {"rank": rank, "sigma": None, "trials": trials, "stopping": stopping}
    if table is not None:
        return about | {"size": table.values.shape[0]}
    n, planted_rank, sigma = drawn
    return about | {"size": n, "rank": planted_rank if rank is None else rank, "sigma": sigma}


def _planted(text: str) -> tuple[int, int, float]:
    try:
        n, rank, sigma = text.split(",")
        return int(n), int(rank), float(sigma)
    except ValueError:
        raise InputError(f"--planted must be {PLANTED}; got {text!r}") from None


def _write_comparison(comparison: Comparison, csv: Path | None, json_: Path | None, plot: Path | None) -> None:
    with together(final=DONE):
        if csv is not None:
            comparison.to_csv(csv)
        if json_ is not None:
            comparison.to_json(json_)
        if plot is not None:
            from unrelu.show.plots import draw_comparison, save_figure

            save_figure(draw_comparison(comparison), plot)
