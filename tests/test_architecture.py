"""The data flow is one line, and a file imports only from rooms before it."""

import ast
import dataclasses
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import unrelu

SOURCE = Path(unrelu.__file__).parent

# The way through, in order; files of one room share a line.
ROOMS = [
    ["errors", "budget", "interrupts", "printable", "units", "alike"],
    ["disk"],
    ["delimited", "digits"],
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
    ["restarts", "held_out", "side_by_side"],
    ["next_rank"],
    ["certificates"],
    ["verdicts"],
    ["escalate"],
    ["by_piece"],
    ["sensitivity", "covariance"],
    ["beyond_linear", "selection"],
    ["uncertainty"],
    ["rivals"],
    ["saving"],
    ["choices"],
    ["completion"],
    ["solving"],
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
        "[getattr(unrelu, name) for name in unrelu.__all__ if name not in ('PSDCompleter', 'DistanceCompleter')]; "
        "late = ('matplotlib', 'pandas', 'torch', 'dask', 'sklearn', 'typer', 'rich', 'numba'); "
        "print([name for name in late if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def fresh(code):
    """What an interpreter prints that has loaded nothing of this yet."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_alone_loads_nothing():
    """So that the command can obey Ctrl-C while NumPy is loaded."""
    assert fresh("import sys, unrelu; print([n for n in sys.modules if n.startswith(('unrelu.', 'numpy'))])") == "[]"


def test_type_checkers_see_the_names_that_are_loaded_late():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module.removeprefix("unrelu.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module.startswith("unrelu.")
        for alias in node.names
    }
    assert seen == unrelu._HOME
    assert sorted(seen) == sorted(unrelu.__all__)


@pytest.mark.parametrize(
    "code",
    [
        "import unrelu.compare; print(callable(unrelu.compare), callable(unrelu.complete), callable(unrelu.certify))",
        "from unrelu.certify import certify; import unrelu; print(unrelu.certify is certify, True, True)",
        "from unrelu.complete import complete; import unrelu; print(unrelu.complete is complete, True, True)",
        "from unrelu import *; print(callable(complete), callable(PSDCompleter), callable(compare))",
        "import unrelu as u; print(*map(callable, (u.datasets.planted, u.sampling.relu, u.plots.draw_beside)))",
        "import unrelu; d = dir(unrelu); print('complete' in d, 'PSDCompleter' in d, '__version__' in d)",
        "import unrelu; print(not hasattr(unrelu, 'nonsense'), not hasattr(unrelu, '_nonsense'), True)",
        "import pickle, unrelu; print(pickle.loads(pickle.dumps(unrelu.complete)) is unrelu.complete, True, True)",
    ],
)
def test_names_are_what_they_were_whatever_is_loaded_first(code):
    assert fresh(code) == "True True True"


def documented(thing):
    """Whether a class or function has words of its own in the source; a dataclass without gets its signature."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    return bool(ast.get_docstring(definition))


@pytest.mark.parametrize("name", sorted(set(unrelu.__all__) - {"__version__"}))
def test_every_public_name_exists_and_is_documented(name):
    assert documented(getattr(unrelu, name)), f"{name} has no docstring"


def test_the_signature_of_a_dataclass_is_no_docstring():
    @dataclasses.dataclass
    class Silent:
        number: int

    @dataclasses.dataclass
    class Spoken:
        """A number."""

        number: int

    assert Silent.__doc__
    assert not documented(Silent)
    assert documented(Spoken)
