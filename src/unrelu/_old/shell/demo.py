"""``unrelu demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unrelu._old.shell import options
from unrelu._old.shell.common import guarded
from unrelu._old.shell.streams import out

__all__ = ["demo_command"]


@guarded
def demo_command(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar=options.FOLDER, help="Folder for the picture and the files.")
    ] = Path("unrelu-demo"),
    size: Annotated[int, typer.Option(metavar=options.COUNT, help="Rows of the built-in instance.")] = 200,
    rank: Annotated[int, typer.Option(metavar=options.COUNT, help="Its rank.")] = 5,
    seed: Annotated[int, typer.Option(metavar=options.COUNT, help="Its seed.")] = 6,
) -> int:
    """Complete a built-in matrix of which only the non-negative entries are shown, and draw it."""
    from unrelu._old.show.demo import run_demo

    return run_demo(output, size, rank, options.checked_seed(seed), out)
