"""The main job on a built-in instance, told step by step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.base.printable import printable
from unrelu._old.complete import complete
from unrelu._old.data.planted import family
from unrelu._old.data.sampling import relu
from unrelu._old.io.disk import together
from unrelu._old.io.files import write_matrix
from unrelu._old.loop.history import Stop
from unrelu._old.results.completion import Completion
from unrelu._old.show.plots import draw_beside, save_figure

__all__ = ["run_demo"]

CORNER = 8


def run_demo(folder: Path, n: int, rank: int, seed: int, say: Callable[[str], None]) -> int:
    """Plant a matrix, hide its negative entries, complete it, compare, and write picture and files into ``folder``.

    Returns
    -------
    int
        0 if the completion is an answer, else 1.
    """
    _check_folder(folder)
    instance = family("condition-10", n, rank, rng=seed)
    M = instance.matrix
    X = relu(M)
    seen = int((~np.isnan(X)).sum())
    say(f"A {n}×{n} positive semidefinite matrix of rank {rank}, of which only the non-negative entries were seen:")
    say(f"{seen} of {X.size} entries ({seen / X.size:.0%}). Its upper left corner, · where nothing was seen:\n")
    say(_corner(X))
    paper = _finished(complete(X, rank, method="gradient-descent", start="tailored", truth=M, rng=seed))
    completion = _finished(complete(X, rank, truth=M, rng=seed))
    last, fit, hidden = completion.history[-1], completion.matrix(), np.isnan(X)
    worst = float(np.abs(fit - M)[hidden].max()) if hidden.any() else 0.0
    say("\nThe same corner, completed:\n")
    say(_corner(fit))
    say(f"\nrank        {completion.rank}")
    say(f"iterations  {last.iteration} of {completion.method} from the {completion.start} start ({last.seconds:.2f} s)")
    say(f"errors      {last.error:.1e} relative over the whole matrix, {worst:.1e} at worst on a hidden entry")
    say(f"verdict     {completion.verdict}")
    other, count = paper.history[paper.iteration], paper.history[-1].iteration
    say(
        "\nThe columns of its factor differ tenfold in size, which the paper's start does not like. From there gradient"
    )
    say(f"descent has an error of {other.error:.1e} on the same data after {count} iterations.")
    figure = draw_beside(X, {"the paper's start": paper, "unrelu": completion}, truth=M)
    observed, completed, picture = folder / "observed.csv", folder / "completed.csv", folder / "completed.png"
    with _made(folder), together():
        write_matrix(observed, X)
        write_matrix(completed, completion.filled())
        save_figure(figure, picture)
    again = f"unrelu complete {printable(observed)} --rank {rank} -o again.csv"
    say(f"\npicture     {printable(picture)}")
    say(f"completed   {printable(completed)}")
    say(f"seen        {printable(observed)}    try: {again}")
    return 0 if completion.verdict.answered else 1


def _check_folder(folder: Path) -> None:
    """Refuse a folder that could not be written into in the end, before the work starts."""
    there = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not there.is_dir():
        raise InputError(f"cannot make the folder {folder}: {there} is a file; choose another with -o")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into the folder {there}: it is closed to you; choose another with -o")


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder, and take it away again if nothing could be written into it."""
    new = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]

    def take_away() -> None:
        with suppress(OSError):  # it is not empty
            for path in new:
                path.rmdir()

    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        take_away()
        raise InputError(f"cannot make the folder {folder}: {error.strerror}; choose another with -o") from None
    except BaseException:
        take_away()
        raise


def _finished(completion: Completion) -> Completion:
    """An interrupted run ends the demo at once."""
    if completion.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return completion


def _corner(values: NDArray[np.floating[Any]]) -> str:
    k = min(CORNER, len(values))
    lines = []
    for row in values[:k, :k]:
        lines.append("  " + " ".join("    ·" if np.isnan(x) else f"{x:5.1f}" for x in row))
    return "\n".join(lines)
