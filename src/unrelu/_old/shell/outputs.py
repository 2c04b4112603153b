"""Where ``unrelu complete`` writes its answer: the matrix, and beside it what is known of every entry."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import typer
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.base.printable import printable
from unrelu._old.data.table import Labels
from unrelu._old.io.delimited import write_delimited
from unrelu._old.io.disk import check_target, together
from unrelu._old.io.files import WRITABLE, write_matrix
from unrelu._old.io.marked import WORDY, write_long, write_mixed, write_words
from unrelu._old.io.reading import Reading, TextColumn
from unrelu._old.io.zarr_out import EXTENSION, check_zarr, write_zarr
from unrelu._old.loop.history import Verdict
from unrelu._old.results.distrusted import Distrusted
from unrelu._old.results.flags import FLAGS
from unrelu._old.shell import options
from unrelu._old.shell.common import Square, check_output, distinct, ignore_interrupts, warn
from unrelu._old.shell.outliers import write_distrusted
from unrelu._old.shell.reading import STANDARD
from unrelu._old.shell.streams import deliver, out, pour, say

__all__ = [
    "ErrorsOut",
    "FactorOut",
    "FlagsOut",
    "LongOut",
    "MaskOut",
    "OptionalOutput",
    "OutliersOut",
    "Output",
    "Outputs",
    "Plot",
    "WriteAll",
]

PICTURES = (".png", ".svg", ".pdf")
FACTORS = (".npz",)

Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar=options.FILE,
        help="Where to write it; the extension chooses the format, and - writes csv to standard output.",
    ),
]
# Where factors may be all that is wanted.
OptionalOutput = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar=options.FILE,
        help="Where to write it; the extension chooses the format, .zarr is written block by block, and - writes csv "
        "to standard output. Not needed beside --factor-out.",
        show_default=False,
    ),
]
FactorOut = Annotated[
    Path | None,
    typer.Option(
        metavar=options.FILE,
        help="Write the factors, with all that is known of the fit, to this .npz file; Completion.load reads it.",
    ),
]
WriteAll = Annotated[
    bool,
    typer.Option(
        "--write-all",
        metavar=options.FLAG,
        help="Write every entry also where that takes more than 2 GiB.",
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
FlagsOut = Annotated[
    Path | None,
    typer.Option(
        metavar=options.FILE,
        help="Also write where each entry comes from to this file, .csv or .tsv: measured, censored, missing or "
        "undetermined.",
    ),
]
LongOut = Annotated[
    Path | None,
    typer.Option(
        metavar=options.FILE,
        help="Also write a line per entry to this file, .csv or .tsv: row, column, value, flag, low and high of its "
        "95 % prediction interval, and its standard error; that of a forecast is its spread.",
    ),
]
OutliersOut = Annotated[
    Path | None,
    typer.Option(
        metavar=options.FILE,
        help="With --loss huber, also write the entries that are distrusted to this file, .csv or .tsv, the worst "
        "first: row, column, value, what is expected there, and how many standard deviations the two are apart.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar=options.FILE, help="Where to draw what was seen, what was filled in and why: .png, .svg or .pdf."
    ),
]


class _Answer(Protocol):
    """What comes out, whatever it is of."""

    @property
    def completion(self) -> Any: ...

    @property
    def verdict(self) -> Verdict: ...

    @property
    def axes(self) -> tuple[Labels, Labels] | None: ...

    @property
    def called(self) -> str: ...

    @property
    def flags(self) -> NDArray[np.uint8]: ...

    @property
    def distrusted(self) -> tuple[Distrusted, ...]: ...

    def values(self, fit: bool) -> Any: ...

    def errors(self) -> Any: ...

    def mask(self) -> Any: ...

    def counts(self) -> dict[str, int]: ...

    def entries(self, values: Any) -> dict[str, NDArray[Any]]: ...

    def picture(self, values: Any) -> Any: ...

    def summary(self) -> dict[str, Any]: ...

    def noise(self) -> dict[str, Any] | None: ...

    def noise_words(self) -> str: ...

    def not_determined(self) -> dict[str, list[str | int]]: ...

    def report(self, names: tuple[str, ...] | None) -> list[str]: ...


@dataclass(frozen=True)
class Outputs:
    """Where an answer goes: the matrix, and if wanted what is known of its entries, one by one or in a picture."""

    # The matrix; None where its factors are all that is wanted.
    target: Path | None
    errors: Path | None = None
    mask: Path | None = None
    flags: Path | None = None
    long: Path | None = None
    plot: Path | None = None
    outliers: Path | None = None
    factors: Path | None = None

    @property
    def output(self) -> Path:
        """The file of the matrix, for those who know that there is one."""
        assert self.target is not None
        return self.target

    @property
    def standard(self) -> Path | None:
        """The output, if that is standard output; of several files it is the only one that may be."""
        return self.target if self.target == STANDARD else None

    def check(self, inputs: list[Path], as_json: bool, loss: str = "auto") -> None:
        """Refuse files that could not be written in the end, before the work starts."""
        if self.outliers is not None and loss != "huber":
            raise InputError("--outliers-out is for entries that are distrusted, and only --loss huber does; give both")
        if self.target == STANDARD and as_json:
            raise InputError("--json and --output - both write to standard output; name a file with --output")
        if self.target is None and self.factors is None:
            raise InputError(
                "nothing says where to write the result; name a file for the matrix with --output, or one for its "
                "factors with --factor-out"
            )
        for path in (self.target, self.errors, self.mask):
            if path is not None and path is self.target and path.suffix.lower() == EXTENSION:
                check_zarr(path, inputs=inputs)
            elif path is not None and path is not self.standard:
                check_target(path, inputs=inputs, accepted=WRITABLE)
        for path, kinds in self._of_words:
            if path is not None:
                check_output(path, kinds, inputs)
        distinct({"--output": self.target, **self._beside})

    @property
    def _of_words(self) -> tuple[tuple[Path | None, tuple[str, ...]], ...]:
        """Files that hold something else than numbers, and how they may end."""
        words = (self.flags, WORDY), (self.long, WORDY), (self.outliers, WORDY)
        return *words, (self.plot, PICTURES), (self.factors, FACTORS)

    @property
    def _beside(self) -> dict[str, Path | None]:
        """The other files, by the options that name them."""
        return {
            "--errors-out": self.errors,
            "--mask-out": self.mask,
            "--flags-out": self.flags,
            "--long-out": self.long,
            "--outliers-out": self.outliers,
            "--plot": self.plot,
            "--factor-out": self.factors,
        }

    @property
    def of_every_entry(self) -> dict[str, Path]:
        """What is made of as many numbers as the matrix has entries, by the options that name it."""
        others = {"--factor-out", "--outliers-out"}
        named = {"--output": self.target, **{key: path for key, path in self._beside.items() if key not in others}}
        return {option: path for option, path in named.items() if path is not None}

    @property
    def speaks_of_noise(self) -> bool:
        """Whether any of the files rests on the noise of the data."""
        return self.errors is not None or self.long is not None

    def write(self, answer: _Answer, matrix: Square, *, fit: bool) -> None:
        """All of them or none, with the labels that the matrix came with."""
        wanted = self.target or self.long or self.plot
        values: Any = None if wanted is None else answer.values(fit)
        contents: dict[Path, Any] = {} if self.target is None else {self.target: values}
        contents |= {} if self.errors is None else {self.errors: answer.errors()}
        contents |= {} if self.mask is None else {self.mask: answer.mask()}
        rows, columns = answer.axes or matrix.axes
        if matrix.names is not None and matrix.table.rows is None:
            rows = None
        with together(ignore_interrupts):
            for path, content in contents.items():
                if path is not self.standard:
                    self._write(path, content, rows, columns)
            if self.flags is not None:
                write_words(self.flags, answer.flags, FLAGS, rows, columns)
            if self.long is not None:
                write_long(self.long, answer.entries(values), *(answer.axes or matrix.axes))
            if self.outliers is not None:
                write_distrusted(self.outliers, answer.distrusted)
            if self.factors is not None:
                answer.completion.save(self.factors)
            if self.plot is not None:
                from unrelu._old.show.plots import save_figure

                save_figure(answer.picture(values), self.plot)
            if self.standard is not None:
                text = io.StringIO()
                write_delimited(text, ",", values.whole() if hasattr(values, "whole") else values, rows, columns)
                pour(text.getvalue())

    @staticmethod
    def _write(path: Path, content: Any, rows: Labels, columns: Labels) -> None:
        if hasattr(content, "write_to"):  # what is nowhere as a whole
            content.write_to(path, rows, columns)
        elif path.suffix.lower() == EXTENSION:
            write_zarr(path, np.asarray(content))
        elif getattr(content, "dtype", np.dtype(float)).kind == "O":  # words among the numbers
            write_mixed(path, content, rows, columns)
        else:
            write_matrix(path, content, rows=rows, columns=columns)

    def refuse_words(self, texts: Sequence[TextColumn], file: Path) -> None:
        """Refuse columns of words where the output can hold nothing but numbers."""
        if texts and self.standard is None and self.output.suffix.lower() not in WORDY:
            name = texts[0].name or str(texts[0].place + 1)
            raise InputError(
                f"{file.name} has words in the column {printable(name)!r}, and {self.output.name} can hold numbers "
                f"only; write to {' or '.join(WORDY)}"
            )

    def tell(
        self,
        answer: _Answer,
        read: Reading,
        notes: list[str],
        names: tuple[str, ...] | None,
        quiet: bool,
        as_json: bool,
    ) -> None:
        """What came out and where it is, for programs or for people."""
        if as_json:
            self._tell_programs(answer, read, notes)
        else:
            self._tell_people(answer, notes, names, quiet=quiet)

    def _tell_programs(self, answer: _Answer, read: Reading, notes: list[str]) -> None:
        """What came out and where it is, as JSON."""
        written = {"errors_output": self.errors, "mask_output": self.mask, "flags_output": self.flags}
        written |= {"long_output": self.long, "outliers_output": self.outliers, "plot": self.plot}
        written |= {"factor_output": self.factors}
        about: dict[str, Any] = {key: str(path) for key, path in written.items() if path}
        about |= {"noise": answer.noise()} if self.speaks_of_noise else {}
        about |= {} if self.flags is None else {"flags": answer.counts()}
        about |= answer.not_determined()
        about |= {"read": list(read.words), "cells": read.counts} if read.words else {}
        output = None if self.target is None else str(self.target)
        summary = {**answer.summary(), "output": output, **about, "warnings": notes}
        deliver(json.dumps(summary), f"{output or self.factors} is written")

    def _tell_people(self, answer: _Answer, notes: list[str], names: tuple[str, ...] | None, *, quiet: bool) -> None:
        """What came out and where it is, in words; if ``quiet``, only what is wrong with it."""
        warn(notes)
        if quiet:
            return
        told = answer.report(names)
        if self.flags is not None or self.long is not None:
            counts = [f"{count} {flag}" for flag, count in answer.counts().items() if count]
            told.append(f"{answer.called}: {', '.join(counts)}")
        told += [] if self.target in (None, STANDARD) else [f"wrote {printable(self.target)}"]
        told += [answer.noise_words()] if self.speaks_of_noise else []
        told += [f"wrote {printable(path)}" for path in self._beside.values() if path is not None]
        if self.standard is None:
            out("\n".join(told))
            return
        for line in told:  # standard output holds the matrix, and nothing else
            say(line)
