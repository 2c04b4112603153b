"""``unrelu compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unrelu.compare import PLANTED, compare
from unrelu.comparison import Comparison, Row
from unrelu.errors import InputError
from unrelu.shell import options
from unrelu.shell.common import (
    DONE,
    check_output,
    dense_values,
    guarded,
    kept_warnings,
    mask_values,
    out,
    read_square,
    say,
    side_table,
    warn,
    watching,
)

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
    table, names = None, None
    if file is not None:
        table, names = read_square(file, header, labels, missing)
        if rank is None:
            raise InputError(f"compare needs the --rank of {file.name}")
    with kept_warnings() as notes:
        comparison = compare(
            None if table is None else table.values,
            rank,
            planted=None if planted is None else _planted(planted),
            methods=None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
            trials=trials,
            truth=None if truth is None else dense_values(side_table(truth, names)),
            threshold=limit,
            seen=seen,
            unknown=None if unknown is None else mask_values(side_table(unknown, names), unknown),
            stopping=stopping,
            budget=budget,
            rng=seed,
            **watching(quiet, _row_line),
        )
    warn(notes)
    if comparison.rows:
        out(str(comparison))
    if comparison.interrupted:
        raise KeyboardInterrupt
    _write_comparison(comparison, csv, json_, plot, quiet)
    return DONE


def _planted(text: str) -> tuple[int, int, float]:
    try:
        n, rank, sigma = text.split(",")
        return int(n), int(rank), float(sigma)
    except ValueError:
        raise InputError(f"--planted must be {PLANTED}; got {text!r}") from None


def _row_line(row: Row) -> None:
    say(f"trial {row.trial + 1}, {row}")


def _write_comparison(
    comparison: Comparison, csv: Path | None, json_: Path | None, plot: Path | None, quiet: bool
) -> None:
    if csv is not None:
        comparison.to_csv(csv)
    if json_ is not None:
        comparison.to_json(json_)
    if plot is not None:
        from unrelu.plots import draw_comparison, save_figure

        save_figure(draw_comparison(comparison), plot)
    for path in (csv, json_, plot):
        if path is not None and not quiet:
            say(f"wrote {path}")
