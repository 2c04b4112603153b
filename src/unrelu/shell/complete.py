"""``unrelu complete``."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from unrelu.auto.choices import DEFAULT_METHOD, STRUCTURES, choose
from unrelu.base.errors import InputError, is_number
from unrelu.base.printable import printable
from unrelu.complete import complete
from unrelu.complete_rectangular import complete_rectangular
from unrelu.data.inputs import read_values
from unrelu.data.table import Table
from unrelu.io.delimited import write_delimited
from unrelu.io.disk import check_target, together
from unrelu.io.files import WRITABLE, write_matrix
from unrelu.io.reading import Reading
from unrelu.loop.history import Stop
from unrelu.loop.stopping import MaxSeconds, StoppingRule
from unrelu.model.losses import LOSSES
from unrelu.results.completion import Completion
from unrelu.shell import options
from unrelu.shell.answer import Answer
from unrelu.shell.common import (
    Square,
    distinct,
    ended,
    exit_code,
    guarded,
    kept_warnings,
    mask_beside,
    shown_names,
    shown_table,
    values_beside,
    warn,
    watching,
)
from unrelu.shell.help import values_of
from unrelu.shell.numbers import numbers_beside
from unrelu.shell.reading import STANDARD, HowToRead
from unrelu.shell.streams import deliver, out, pour, say
from unrelu.shell.tables import TableAnswer
from unrelu.solvers import METHODS, Solver
from unrelu.starts import STARTS
from unrelu.uncertainty.noise import PAIRS

__all__ = ["complete_command"]

# Options that no other command has.
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar=options.FILE,
        help="Where to write it; the extension chooses the format, and - writes csv to standard output.",
    ),
]
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
MaskOut = Annotated[
    Path | None,
    typer.Option(
        metavar=options.FILE, help="Also write 1 where an entry was seen or is determined, else 0, to this file."
    ),
]
ErrorsOut = Annotated[
    Path | None,
    typer.Option(metavar=options.FILE, help="Also write the standard error of every entry of the fit to this file."),
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
    output: Output,
    threshold: options.Threshold = None,
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
    mask_out: MaskOut = None,
    errors_out: ErrorsOut = None,
    pairs: Pairs = "auto",
    structure: Structure = "psd",
    table: options.AsTable = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Complete a matrix of known rank from the entries beyond a threshold: a symmetric one, or a table."""
    limit = options.checked_threshold(threshold, no_threshold)
    within, noise = options.checked_range(entry_range), options.checked_sigma(sigma)
    seconds = options.checked_seconds(max_seconds)
    files = _Files(output, errors_out, mask_out)
    files.check([path for path in (file, unknown, truth, limit, weights, noise) if isinstance(path, Path)], as_json)
    brought = HowToRead(header, labels, missing, layout, table).read(file)
    read, rectangular, matrix = brought.read, brought.rectangular, brought.matrix()
    brought.refuse_another_threshold(threshold, seen)
    brought.tell(silent=quiet or as_json)
    began = perf_counter()
    rule = tol if seconds is None else _rule(method, tol, matrix.table, seconds)
    asked: dict[str, Any] = dict(seen=seen, loss=loss, method=method, start=start, entry_range=within)
    asked |= dict(tol=rule, max_iter=max_iter, rng=options.checked_seed(seed))
    with kept_warnings(_advice(keep_undetermined, mask_out)) as notes, watching(quiet or as_json) as watched:
        asked |= dict(threshold=read.limits or numbers_beside(matrix, limit), **watched.options)
        asked |= dict(weights=numbers_beside(matrix, weights, "--weights", "weight"))
        asked |= dict(sigma=numbers_beside(matrix, noise, "--sigma", "sigma"))
        asked |= dict(unknown=mask_beside(matrix, unknown), truth=values_beside(matrix, truth))
        shown = shown_table(read, as_json=as_json)
        completion = _completed(shown, rank, asked, None if rectangular else pairs, structure)
        if completion.verdict.code is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        left = None if seconds is None else seconds - (perf_counter() - began)
        answer = (TableAnswer if rectangular else Answer).of(completion, keep_undetermined, left, watched.phase)
    files.write(answer, matrix, fit=fit)
    files.tell(answer, read, notes, shown_names(matrix.names), quiet=quiet, as_json=as_json)
    return ended(completion.verdict, quiet)


@dataclass(frozen=True)
class _Files:
    """Where an answer goes: the matrix, and if wanted the errors of its entries and which of them are determined."""

    output: Path
    errors: Path | None
    mask: Path | None

    @property
    def standard(self) -> Path | None:
        """The output, if that is standard output; of several files it is the only one that may be."""
        return self.output if self.output == STANDARD else None

    def check(self, inputs: list[Path], as_json: bool) -> None:
        """Refuse files that could not be written in the end, before the work starts."""
        if self.output == STANDARD and as_json:
            raise InputError("--json and --output - both write to standard output; name a file with --output")
        for path in (self.output, self.errors, self.mask):
            if path is not None and path is not self.standard:
                check_target(path, inputs=inputs, accepted=WRITABLE)
        distinct({"--output": self.output, "--errors-out": self.errors, "--mask-out": self.mask})

    def write(self, answer: Answer, matrix: Square, *, fit: bool) -> None:
        """All of them or none, with the labels that the matrix came with."""
        contents = {self.output: answer.values(fit)}
        contents |= {} if self.errors is None else {self.errors: answer.errors()}
        contents |= {} if self.mask is None else {self.mask: answer.mask()}
        rows, columns = matrix.names if matrix.table.rows else None, matrix.names
        if isinstance(answer, TableAnswer):
            rows, columns = matrix.table.rows, matrix.table.columns
        with together(final=exit_code(answer.completion.verdict)):
            for path, content in contents.items():
                if path is not self.standard:
                    write_matrix(path, content, rows=rows, columns=columns)
            if self.standard is not None:
                text = io.StringIO()
                write_delimited(text, ",", contents[self.output], rows, columns)
                pour(text.getvalue())

    def tell(
        self, answer: Answer, read: Reading, notes: list[str], names: tuple[str, ...] | None, quiet: bool, as_json: bool
    ) -> None:
        """What came out and where it is, for programs or for people."""
        if as_json:
            self.tell_programs(answer, read, notes)
        else:
            self.tell_people(answer, notes, names, quiet=quiet)

    def tell_programs(self, answer: Answer, read: Reading, notes: list[str]) -> None:
        """What came out and where it is, as JSON."""
        about: dict[str, Any] = {
            key: str(path) for key, path in (("errors_output", self.errors), ("mask_output", self.mask)) if path
        }
        about |= {} if self.errors is None else {"noise": answer.noise()}
        about |= answer.not_determined()
        about |= {"read": list(read.words), "cells": read.counts} if read.words else {}
        summary = {**answer.completion.summary(), "output": str(self.output), **about, "warnings": notes}
        deliver(json.dumps(summary), f"{self.output} is written")

    def tell_people(self, answer: Answer, notes: list[str], names: tuple[str, ...] | None, *, quiet: bool) -> None:
        """What came out and where it is, in words; if ``quiet``, only what is wrong with it."""
        warn(notes)
        if quiet:
            return
        told = answer.report(names)
        told += [] if self.standard is not None else [f"wrote {printable(self.output)}"]
        told += [] if self.errors is None else [answer.noise_words()]
        told += [f"wrote {printable(path)}" for path in (self.errors, self.mask) if path is not None]
        if self.standard is None:
            out("\n".join(told))
            return
        for line in told:  # standard output holds the matrix, and nothing else
            say(line)


def _completed(shown: Any, rank: int, asked: dict[str, Any], pairs: str | None, structure: str) -> Completion:
    """A symmetric matrix, whose ``pairs`` have one noise or two, or a table, which has none."""
    if pairs is not None:
        return complete(shown, rank, pairs=pairs, structure=structure, **asked)
    if structure != "psd":
        raise InputError(f"--structure {structure} is for symmetric matrices, and this is a table; drop it")
    return complete_rectangular(shown, rank, **asked)


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
