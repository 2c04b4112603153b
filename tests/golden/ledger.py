"""Check that LEDGER.md has a row for every public name, parameter, option and attribute, and no other rows.

``python -m tests.golden.ledger`` prints what is missing and what is stale, and exits with 1 if there is anything. The
names are read from the running package. Rows ``README: …`` are those of the README's table of 6936f05, which is no
longer in the README, and rows that begin with "gone" name what has been removed: neither can be checked here.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

import unrelu
from tests.golden.adapter import _today
from tests.golden.cases import all_cases

LEDGER = Path(__file__).with_name("LEDGER.md")
MODULES = ("datasets", "plots", "sampling")
ESTIMATORS = ("PSDCompleter", "TableCompleter", "DistanceCompleter")
# Public classes whose instances are answers, or parts of one: their attributes are listed, and not their constructors.
RESULTS = (
    "Completion",
    "RectangularCompletion",
    "TableCompletion",
    "DistanceCompletion",
    "Certificate",
    "TableCertificate",
    "Comparison",
    "Diagnosis",
    "ErrorBars",
    "Noise",
    "History",
    "Record",
    "Verdict",
    "Stop",
    "Rehearsal",
    "DetectionCurve",
    "Symmetric",
    "TwoSided",
)
# The same for classes without a public name, and the public class of which they are part: its module has them.
PARTS = {
    "Posterior": "Completion",
    "Attempt": "Completion",
    "Misfit": "Completion",
    "Distrusted": "Completion",
    "Trial": "Rehearsal",
    "RehearsedLevel": "Rehearsal",
    "TableRehearsal": "TableCompletion",
    "DimensionChoice": "DistanceCompletion",
    "Shortage": "Certificate",
    "TableShortage": "TableCertificate",
    "Row": "Comparison",
    "Counted": "Diagnosis",
    "Structure": "Diagnosis",
    "Contradicted": "Diagnosis",
    "Detection": "Diagnosis",
}


class Row(NamedTuple):
    """A row of the ledger: a name, what becomes of it, and what checks it."""

    name: str
    fate: str
    checks: str

    @property
    def cases(self) -> list[str]:
        """Golden instances that the row names."""
        return re.findall(r"`([a-z]+/[a-z0-9 %-]+)`", self.checks)

    @property
    def tests(self) -> list[str]:
        """Tests, or whole files of tests, that the row names."""
        return re.findall(r"`(test_\w+(?:\.py)?)`", self.checks)


def rows() -> list[Row]:
    """Return the rows of the ledger's tables."""
    lines = LEDGER.read_text(encoding="utf-8").splitlines()
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("| `")]
    return [Row(name.strip().strip("`").replace("\\|", "|"), *map(str.strip, others)) for name, *others in cells]


def parameters(function: Any) -> list[str]:
    """Return the names of the parameters of a function, method or class."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


def attributes(cls: type) -> Iterator[str]:
    """Yield the public attributes of a class, methods with their parameters, that this package defines."""
    if issubclass(cls, enum.Enum):
        yield from cls.__members__
        return
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == "unrelu":
            found |= dict.fromkeys(vars(base).get("__annotations__", ())) | vars(base)
    fitted = re.findall(r"^(\w+_(?:, \w+_)*) :", inspect.getdoc(cls) or "", re.MULTILINE)
    found |= dict.fromkeys(name for names in fitted for name in names.split(", "))
    for name, value in found.items():
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if name.startswith(("_", "set_")):  # set_… are added by scikit-learn
            continue
        if inspect.isfunction(function):
            given = [one for one in parameters(function) if one != "cls"]
            yield f"{name}({', '.join(given)})"
        else:
            yield name


def names_of_class(name: str, cls: type) -> Iterator[str]:
    """Yield the names that a public class stands for."""
    if name in RESULTS:
        inherited = {one for base in cls.__mro__[1:] if base.__name__ in RESULTS for one in attributes(base)}
        yield from (f"{name}.{one}" for one in attributes(cls) if one not in inherited)
        if dataclasses.is_dataclass(cls) or issubclass(cls, enum.Enum):
            return  # its fields are listed
    given = [] if issubclass(cls, Exception) or inspect.isabstract(cls) else parameters(cls)
    given = [one for one in given if one not in ("args", "kwargs")]
    yield from (f"{name}({one})" for one in given)
    if name in ESTIMATORS:
        yield from (f"{name}.{one}" for one in attributes(cls) if one not in given)


def names_of_module(module: str) -> Iterator[str]:
    """Yield the functions of a public module with their parameters, its classes with their fields, its constants."""
    home = getattr(unrelu, module)
    for name in home.__all__:
        value, full = getattr(home, name), f"{module}.{name}"
        yield full
        if callable(value):
            yield from (f"{full}({one})" for one in parameters(value))


def names_of_commands() -> Iterator[str]:
    """Yield the commands of the terminal with their arguments and options."""
    try:
        app = importlib.import_module("unrelu._old.cli").app
    except ModuleNotFoundError:
        app = importlib.import_module("unrelu.cli").app
    group: Any = typer.main.get_command(app)
    for command, options in (("unrelu", group.params), *((f"unrelu {k}", c.params) for k, c in group.commands.items())):
        yield command
        for option in options:
            yield f"{command} {option.opts[0] if option.param_type_name == 'option' else option.name.upper()}"


def names() -> Iterator[str]:
    """Yield everything that has to have a row."""
    for name in unrelu.__all__:
        value = getattr(unrelu, name)
        yield f"unrelu.{name}"
        if inspect.isclass(value):
            yield from names_of_class(name, value)
        elif callable(value):
            yield from (f"{name}({one})" for one in parameters(value))
    for name, owner in PARTS.items():
        cls = getattr(sys.modules[getattr(unrelu, owner).__module__], name)
        yield from (f"{name}.{one}" for one in attributes(cls))
    for module in MODULES:
        yield f"unrelu.{module}"
        yield from names_of_module(module)
    yield from names_of_commands()


def words(value: Any) -> Iterator[str]:
    """Yield the keys and the words of options or of given data, however nested."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from words(part)


def is_used(row: Row) -> bool:
    """Return whether an instance that a row names has its option or parameter, under the old name or the new one.

    Rows of attributes and rows with tests are not judged, nor what the adapter always passes or passes by position.
    """
    parameter = re.fullmatch(r"(?!EdgeList|ZarrSource|DaskSource|edges)\w+\((?!rng)(\w+)\)", row.name)
    option = re.fullmatch(r"unrelu \w+ (--[\w-]+)", row.name)
    if row.tests or not (parameter or option):
        return True
    kept_as = " ".join(re.findall("`(.*?)`", row.fate))
    wanted = {(parameter or option)[1], *re.findall(r"--[\w-]+" if option else r"\w+", kept_as)}
    for case in (case for case in all_cases() if case.name in row.cases):
        argv = case.options.get("argv", [])
        given = () if argv else case.data().given
        found = {*words(dict(case.options)), *words(given), *case.wants, *(_today(argv) if argv else ())}
        if wanted & {"--output" if word == "-o" else word.partition("=")[0] for word in found}:
            return True
    return False


def complaints() -> list[str]:
    """Return a sentence for everything that is wrong with the ledger."""
    ledger, there = rows(), list(names())
    listed = [row.name for row in ledger]
    found = [f"no row: {name}" for name in there if name not in listed]
    found += [f"two rows: {name}" for name in sorted({name for name in listed if listed.count(name) > 1})]
    for row in ledger:
        gone = row.fate.startswith("gone because ")
        if not gone and not row.name.startswith("README: ") and row.name not in there:
            found.append(f"names nothing: {row.name}")
        if not gone and not row.fate.startswith(("kept as ", "dropped because ")):
            found.append(f"neither kept nor dropped: {row.name}")
        if row.fate.startswith("kept as ") and not row.cases + row.tests:
            found.append(f"kept, but nothing checks it: {row.name}")
        elif row.fate.startswith("kept as ") and not is_used(row):
            found.append(f"named, but not used by {row.checks}: {row.name}")
    return found


if __name__ == "__main__":
    found = complaints()
    print("\n".join(found) or f"complete: {len(rows())} rows")
    sys.exit(bool(found))
