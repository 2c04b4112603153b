"""The ``unrelu`` command: every subcommand is a file of ``shell/`` and a line here.

Exit codes, for every subcommand:

- 0: done. The result is written; the data are fitted, or this is the best fit found of a rank that they exceed.
- 1: finished, but this is not the answer; the result is written and says so. For ``certify``: not proved.
- 2: bad input or usage, or something that was asked for could not be written. Asked for are files, and what ``--json``,
  ``certify`` and ``compare`` print. A report in words, and anything on standard error, is not: if it cannot be printed,
  the exit code stays. A reader that leaves early (``| head``) is never a failure.
- 70: a defect of this library; the traceback says where.
- 130: interrupted; nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

import unrelu
from unrelu._old.shell.certify import certify_command
from unrelu._old.shell.common import DONE, guarded
from unrelu._old.shell.compare import compare_command
from unrelu._old.shell.complete import complete_command
from unrelu._old.shell.demo import demo_command
from unrelu._old.shell.help import Command, Group
from unrelu._old.shell.inspect import inspect_command
from unrelu._old.shell.locate import locate_command
from unrelu._old.shell.reproduce import reproduce_command
from unrelu._old.shell.streams import deliver
from unrelu._old.shell.table import table_command

__all__ = ["app"]

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Complete low-rank matrices whose entries are missing because of their values.\n\n"
    "Example:  unrelu complete observed.csv -o completed.csv",
    epilog="Exit codes: 0 done, 1 finished without an answer, 2 bad input or usage, or a result that cannot be "
    "written, 70 a defect of unrelu, 130 interrupted and nothing written.\n\n"
    "unrelu --install-completion lets the Tab key complete commands and options in your shell.",
)


@app.callback(invoke_without_command=True)
def _about(
    version: Annotated[
        bool, typer.Option("--version", metavar="", help="Print the version and leave.", is_eager=True)
    ] = False,
) -> None:
    if version:
        _version()


@guarded
def _version() -> int:
    deliver(f"unrelu {unrelu.__version__}")
    return DONE


# name, command, example
COMMANDS: list[tuple[str, Callable[..., Any], str]] = [
    ("complete", complete_command, "unrelu complete observed.csv --threshold 0.2 -o completed.csv"),
    ("table", table_command, "unrelu table levels.csv --limits lod.csv -o filled.csv --flags-out flags.csv"),
    ("inspect", inspect_command, "unrelu inspect observed.csv --plot inspected.png"),
    ("certify", certify_command, "unrelu certify observed.csv --rank 5"),
    ("compare", compare_command, "unrelu compare --planted 200,5,0.01 --trials 10 --plot compared.png"),
    ("locate", locate_command, "unrelu locate ranges.csv --dim 2 --cutoff 30 -o positions.csv --plot map.png"),
    ("demo", demo_command, "unrelu demo -o my-demo"),
    ("reproduce", reproduce_command, "unrelu reproduce all --quick"),
]
for _name, _command, _example in COMMANDS:
    app.command(_name, cls=Command, epilog=f"Example:  {_example}")(_command)
