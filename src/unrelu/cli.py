"""The shell: ``unrelu complete``, ``unrelu compare`` and ``unrelu demo``.

Exit codes, for every subcommand: 0 done, 1 finished but not converged (the result is written and says so), 2 bad input
or usage, 130 interrupted (nothing written).
"""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import typer

import unrelu
from unrelu.compare import PLANTED, compare
from unrelu.comparison import Comparison, Row
from unrelu.complete import complete
from unrelu.completion import Completion
from unrelu.errors import CompletionWarning, InputError
from unrelu.files import Table, check_target, read_matrix, write_matrix
from unrelu.history import Record, Stop
from unrelu.initialise import STARTS
from unrelu.solvers import METHODS

__all__ = ["app"]

DONE, NOT_CONVERGED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Complete low-rank matrices whose entries are missing because of their values.\n\n"
    "Example:  unrelu complete observed.csv --rank 5 -o completed.csv",
    epilog="Exit codes: 0 done, 1 finished but not converged, 2 bad input or usage, 130 interrupted.",
)

Command = TypeVar("Command", bound=Callable[..., int])


def _guarded(command: Command) -> Command:
    """Turn what a command returns or raises into the exit codes above, and errors into one line."""

    @functools.wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            code = command(*args, **kwargs)
        except KeyboardInterrupt:
            _say("interrupted; nothing was written")
            code = INTERRUPTED
        except InputError as error:
            _say(f"error: {error}")
            code = BAD_INPUT
        except BrokenPipeError:
            # Whoever read our output has had enough; the result is where it was to be written.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            code = DONE
        except OSError as error:
            _say(f"error: {error.strerror or error}; the report could not be printed")
            code = BAD_INPUT
        except MemoryError:
            _say("error: the machine ran out of memory; pass fewer rows, or float32 values, which need half")
            code = BAD_INPUT
        raise typer.Exit(code)

    return guarded  # type: ignore[return-value]


def _say(text: str) -> None:
    """To the person, not into the pipe."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _out(text: str) -> None:
    print(text, flush=True)  # noqa: T201


@app.callback(invoke_without_command=True)
def _about(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)] = False,
) -> None:
    if version:
        _out(f"unrelu {unrelu.__version__}")
        raise typer.Exit(DONE)


@app.command("complete", epilog="Example:  unrelu complete observed.csv --rank 5 --threshold 0.2 -o completed.csv")
@_guarded
def complete_command(
    file: Annotated[
        Path,
        typer.Argument(help="The matrix: .csv, .tsv, .npy, .npz or .mtx; empty, NA or NaN where nothing was seen."),
    ],
    rank: Annotated[int, typer.Option("--rank", "-r", help="Rank of the completed matrix.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write it; the extension chooses the format.")
    ],
    threshold: Annotated[
        float | None, typer.Option(help="Every seen entry is on the seen side of this value.", show_default="0")
    ] = None,
    no_threshold: Annotated[bool, typer.Option("--no-threshold", help="Absence says nothing about the value.")] = False,
    seen: Annotated[
        str, typer.Option(help="On which side of the threshold entries were seen: above or below.")
    ] = "above",
    unknown: Annotated[
        Path | None,
        typer.Option(help="File of the same shape, 1 where an entry is missing for another reason, else 0."),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(help="A further mark for a missing entry, such as -999; may be repeated."),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first row holds labels (default: look)."),
    ] = None,
    labels: Annotated[
        bool | None,
        typer.Option("--labels/--no-labels", help="Whether the first column holds labels (default: look)."),
    ] = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print a machine-readable summary.")] = False,
) -> int:
    """Complete a symmetric positive semidefinite matrix of known rank from the entries beyond a threshold."""
    if no_threshold and threshold is not None:
        raise InputError("--threshold and --no-threshold contradict each other; give one of them")
    inputs = [path for path in (file, unknown, truth) if path is not None]
    check_target(output, inputs=inputs)
    table = read_matrix(file, header=header, labels=labels, missing=missing or ())
    _square(table, file)
    names = _labels(table, file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
        completion = complete(
            table.values,
            rank,
            threshold=None if no_threshold else threshold or 0.0,
            seen=seen,
            unknown=None if unknown is None else _mask(_side(unknown, names), unknown),
            loss=loss,
            method=method,
            start=start,
            tol=tol,
            max_iter=max_iter,
            truth=None if truth is None else _dense(_side(truth, names)),
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
        _out(json.dumps({**completion.summary(), "output": str(output), "warnings": notes}))
    else:
        for note in notes:
            _say(f"warning: {note}")
        if not quiet:
            _report(completion, output)
    if quiet and not completion.verdict.converged:
        _say(f"not converged: {completion.verdict.reason}")
    return DONE if completion.verdict.converged else NOT_CONVERGED


def _plain_line(record: Record) -> None:
    if record.iteration % 10 == 0:
        norm = "" if record.gradient_norm is None else f", gradient norm {record.gradient_norm:.3e}"
        _say(f"iteration {record.iteration}: objective {record.objective:.3e}{norm}")


def _report(completion: Completion, output: Path) -> None:
    about = completion.summary()
    n, rank, iterations, seconds = about["size"], about["rank"], about["iterations"], about["seconds"]
    _out(f"{n}×{n} matrix, rank {rank}, by {about['method']} from the {about['start']} start ({about['loss']} loss)")
    _out(f"{iterations} iterations, {seconds:.2f} s, relative residual {about['residual']:.2e}")
    if about["error"] is not None:
        _out(f"completion error against the truth {about['error']:.2e}")
    _out(str(completion.verdict))
    _out(f"wrote {output}")


def _square(table: Table, file: Path) -> None:
    rows, columns = table.values.shape
    if rows != columns:
        hint = "; if its first row holds names, say --header" if rows == columns + 1 else ""
        hint = "; if its first row holds entries, say --no-header" if table.columns and columns == rows + 1 else hint
        raise InputError(f"{file.name} must be square, got {rows} rows and {columns} columns{hint}")


def _side(file: Path, names: tuple[str, ...] | None) -> Table:
    """A second file, which must agree with the first where both have labels."""
    table = read_matrix(file)
    theirs = _labels(table, file)
    if names is not None and theirs is not None and theirs != names:
        k = next((k for k, (a, b) in enumerate(zip(theirs, names, strict=False)) if a != b), len(names))
        raise InputError(f"{file.name} must carry the same labels in the same order, but differs from label {k + 1} on")
    return table


def _labels(table: Table, file: Path) -> tuple[str, ...] | None:
    if table.rows is not None and table.columns is not None and table.rows != table.columns:
        if len(table.rows) != len(table.columns):
            raise InputError(f"{file.name} must be square, got {len(table.rows)} rows and {len(table.columns)} columns")
        k = next(k for k, (row, col) in enumerate(zip(table.rows, table.columns, strict=True)) if row != col)
        raise InputError(
            f"rows and columns of {file.name} must carry the same labels in the same order, but label {k + 1} is "
            f"{table.rows[k]!r} for the row and {table.columns[k]!r} for the column; sort one like the other"
        )
    return table.rows or table.columns


def _dense(table: Table) -> Any:
    return table.values if isinstance(table.values, np.ndarray) else table.values.toarray()


def _mask(table: Table, file: Path) -> Any:
    values = _dense(table)
    if not np.isin(values, (0, 1)).all():
        raise InputError(f"{file.name} must hold only 0 and 1 (1: missing for another reason)")
    return values == 1


@app.command("compare", epilog="Example:  unrelu compare --planted 200,5,0.01 --trials 10 --plot compared.png")
@_guarded
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
    threshold: Annotated[
        float | None, typer.Option(help="Every seen entry is on the seen side of this value.", show_default="0")
    ] = None,
    no_threshold: Annotated[bool, typer.Option("--no-threshold", help="Absence says nothing about the value.")] = False,
    seen: Annotated[
        str, typer.Option(help="On which side of the threshold entries were seen: above or below.")
    ] = "above",
    unknown: Annotated[
        Path | None,
        typer.Option(help="File of the same shape, 1 where an entry is missing for another reason, else 0."),
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="A further mark for a missing entry, such as -999; may be repeated.")
    ] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first row holds labels (default: look).")
    ] = None,
    labels: Annotated[
        bool | None, typer.Option("--labels/--no-labels", help="Whether the first column holds labels (default: look).")
    ] = None,
    stopping: Annotated[str, typer.Option(help="Each method's rule: relative, or paper for its absolute one.")] = (
        "relative"
    ),
    budget: Annotated[float, typer.Option(help="Most seconds of one run.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Seed of the first trial.")] = 0,
    csv: Annotated[Path | None, typer.Option(help="Where to write every run, as .csv.")] = None,
    json_: Annotated[Path | None, typer.Option("--json", help="Where to write runs and summary, as .json.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Where to draw box plots: .png, .svg or .pdf.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the table.")] = False,
) -> int:
    """Run several methods on the same matrix and print what each reached and what it cost."""
    if (file is None) == (planted is None):
        raise InputError("compare needs either a FILE or --planted n,r,sigma" + ("" if file is None else ", not both"))
    if no_threshold and threshold is not None:
        raise InputError("--threshold and --no-threshold contradict each other; give one of them")
    outputs = [(csv, (".csv",)), (json_, (".json",)), (plot, (".png", ".svg", ".pdf"))]
    inputs = [path for path in (file, truth, unknown) if path is not None]
    for path, kinds in outputs:
        if path is not None:
            _check_output(path, kinds, inputs)
    table = None if file is None else read_matrix(file, header=header, labels=labels, missing=missing or ())
    names = None
    if table is not None and file is not None:
        _square(table, file)
        names = _labels(table, file)
        if rank is None:
            raise InputError(f"compare needs the --rank of {file.name}")
    bar = not quiet and sys.stderr.isatty()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
        comparison = compare(
            None if table is None else table.values,
            rank,
            planted=None if planted is None else _planted(planted),
            methods=None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
            trials=trials,
            truth=None if truth is None else _dense(_side(truth, names)),
            threshold=None if no_threshold else threshold or 0.0,
            seen=seen,
            unknown=None if unknown is None else _mask(_side(unknown, names), unknown),
            stopping=stopping,
            budget=budget,
            rng=seed,
            progress=bar,
            callback=None if quiet or bar else _row_line,
        )
    for warning in caught:
        if issubclass(warning.category, CompletionWarning):
            _say(f"warning: {warning.message}")
    if comparison.rows:
        _out(str(comparison))
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
    _say(f"trial {row.trial + 1}, {row}")


def _check_output(path: Path, kinds: tuple[str, ...], inputs: list[Path]) -> None:
    """Refuse a file that could not be written in the end, before the work starts."""
    if path.suffix.lower() not in kinds:
        raise InputError(f"{path.name} must end in {' or '.join(kinds)}")
    if path.is_dir():
        raise InputError(f"{path} is a folder where a file was expected; name a file in it")
    folder = path.resolve().parent
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        raise InputError(f"{path} cannot be written, for {folder} is no folder you can write to; choose another")
    if any(path.resolve() == source.resolve() for source in inputs):
        raise InputError(f"{path} is an input and would be overwritten; choose another name for the output")


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
            _say(f"wrote {path}")


@app.command(epilog="Example:  unrelu demo -o my-demo")
@_guarded
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture and the files.")] = Path(
        "unrelu-demo"
    ),
    size: Annotated[int, typer.Option(help="Rows of the built-in instance.")] = 200,
    rank: Annotated[int, typer.Option(help="Its rank.")] = 5,
    seed: Annotated[int, typer.Option(help="Its seed.")] = 6,
) -> int:
    """Complete a built-in matrix of which only the non-negative entries are shown, and draw it."""
    from unrelu.demo import run_demo

    return run_demo(output, size, rank, seed, _out)
