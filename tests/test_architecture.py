"""The data flow is one line, and a file imports only from rooms before it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import unrelu

SOURCE = Path(unrelu.__file__).parent

# The way through, in order; files of one room share a line.
ROOMS = [
    ["errors", "budget", "interrupts", "printable"],
    ["disk"],
    ["delimited"],
    ["files"],
    ["inputs"],
    ["observations"],
    ["pieces", "remarks", "canonical"],
    ["sampling", "datasets"],
    ["factors"],
    ["losses"],
    ["kernels"],
    ["problems"],
    ["attach"],
    ["placement", "outside"],
    ["initialise"],
    ["history", "stopping"],
    ["solvers"],
    ["run", "progress"],
    ["distances"],
    ["task"],
    ["continuation", "floor", "turning"],
    ["restarts", "held_out"],
    ["certificates"],
    ["verdicts"],
    ["escalate"],
    ["by_piece"],
    ["sensitivity", "covariance"],
    ["beyond_linear", "selection"],
    ["uncertainty"],
    ["completion"],
    ["complete"],
    ["certify"],
    ["comparison"],
    ["compare"],
    ["measurements", "restraints", "positions"],
    ["estimators_base"],
    ["estimators", "estimators_distances"],
    ["plots", "plots_map"],
    ["experiments"],
    ["demo"],
    ["shell"],
    ["cli", "__main__"],
]
PLACE = {name: place for place, names in enumerate(ROOMS) for name in names}


def modules():
    return sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            base = path.parent.relative_to(SOURCE).parts
            yield ((*base, (node.module or "").split(".")[0]))[0]
        elif isinstance(node, ast.ImportFrom) and node.module == "unrelu":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unrelu."):
            yield node.module.split(".")[1]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_from_rooms_before(path):
    assert room(path) in PLACE, f"{path.name} has no room: give it a place in ROOMS"
    for name in imported(path):
        assert PLACE[name] <= PLACE[room(path)], f"{path.name} imports {name}, which comes later"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_outgrows_a_room(path):
    assert len(path.read_text().splitlines()) <= 410


def test_import_loads_neither_extras_nor_plotting():
    code = (
        "import sys, unrelu; "
        "late = ('matplotlib', 'pandas', 'torch', 'dask', 'sklearn', 'typer', 'rich', 'numba'); "
        "print([name for name in late if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_every_public_name_exists_and_is_documented():
    for name in unrelu.__all__:
        assert getattr(unrelu, name).__doc__, name
