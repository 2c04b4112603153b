"""The data flow is one line, and a file imports only from rooms before it."""

import ast
import dataclasses
import doctest
import inspect
import re
import subprocess
import sys
import textwrap
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import unrelu

SOURCE = Path(unrelu.__file__).parent

# The way through, in order: a room imports only from those before it.
ROOMS = [
    "base",
    "data",
    "model",
    "kernels",
    "problems",
    "loop",
    "placing",
    "solvers",
    "starts",
    "distances",
    "io",
    "proofs",
    "theory",
    "judge",
    "auto",
    "uncertainty",
    "results",
    "complete",
    "complete_distances",
    "certify",
    "compare",
    "estimators",
    "show",
    "experiments",
    "shell",
    "cli",
    "__main__",
]
# Front doors, the command, and what Python asks for: nothing else stands at the top level.
MOST_AT_THE_TOP = 12
MOST_LINES = 400
# Of one function: lines, its docstring not counted, and parameters, self and cls not counted.
MOST_LINES_OF_A_FUNCTION, MOST_PARAMETERS = 60, 6
# Functions that may have more parameters: each is one thing that a caller may want to say, and has a default.
FRONT_DOOR = "a front door"
SKLEARN = "scikit-learn wants every option of an estimator to be a parameter"
COMMAND = "typer makes an option of every parameter"
PUBLIC = "public: an object for its options would break callers"
MANY_PARAMETERS = {
    "unrelu.certify.certify": FRONT_DOOR,
    "unrelu.compare.compare": FRONT_DOOR,
    "unrelu.complete.complete": FRONT_DOOR,
    "unrelu.complete_distances.complete_distances": FRONT_DOOR,
    "unrelu.estimators.distances.DistanceCompleter.__init__": SKLEARN,
    "unrelu.estimators.psd.PSDCompleter.__init__": SKLEARN,
    "unrelu.experiments.reproduce.reproduce": PUBLIC,
    "unrelu.io.positions.write_positions": PUBLIC,
    "unrelu.shell.certify.certify_command": COMMAND,
    "unrelu.shell.compare.compare_command": COMMAND,
    "unrelu.shell.complete.complete_command": COMMAND,
    "unrelu.shell.locate.locate_command": COMMAND,
    "unrelu.shell.reproduce.reproduce_command": COMMAND,
    "unrelu.theory.cramer_rao.cramer_rao": PUBLIC,
}
# To be mended; nothing may be added.
STILL_TOO_LONG: set[str] = set()


def modules():
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def name_of(path):
    """As it is imported: ``unrelu.kernels.tiled``; a room's ``__init__`` is the room."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source, own="unrelu.somewhere", known=()):
    """Modules of this package that a source imports, wherever it stands, in full; names in them are left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "unrelu")
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(own.split(".")[: -node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            if module.split(".")[0] == "unrelu":
                for alias in node.names:
                    inside = f"{module}.{alias.name}"
                    yield inside if inside in known or module == "unrelu" else module


KNOWN = {name_of(path): path for path in modules()}


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_imports_only_from_rooms_before(name):
    room = name.split(".")[1]
    assert room in ROOMS, f"{name} has no room: give it a place in ROOMS"
    for other in imported(KNOWN[name].read_text(), name, KNOWN):
        leaf = other.partition(".")[2]
        there = unrelu._HOME.get(leaf, leaf).split(".")[0]
        if there in ROOMS:  # else the package itself, or its version
            assert ROOMS.index(there) <= ROOMS.index(room), f"{name} imports {other}, which comes later"


def test_inside_a_room_imports_go_one_way():
    """A file and those it imports from can be put in an order: no two files need each other."""
    needs = {name: set(imported(path.read_text(), name, KNOWN)) & KNOWN.keys() - {name} for name, path in KNOWN.items()}
    order = list(TopologicalSorter(needs).static_order())
    assert set(order) == set(KNOWN)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import unrelu.run", ["unrelu.run"]),
        ("import numpy, unrelu.a.b as c", ["unrelu.a.b"]),
        ("from unrelu import complete", ["unrelu.complete"]),
        ("from unrelu.loop import run", ["unrelu.loop.run"]),
        ("from unrelu.loop.run import Outcome", ["unrelu.loop.run"]),
        ("def f():\n    from unrelu.loop.run import run", ["unrelu.loop.run"]),
        ("from . import tiled", ["unrelu.kernels.tiled"]),
        ("from ..loop.run import run", ["unrelu.loop.run"]),
        ("import numpy", []),
    ],
)
def test_every_way_of_importing_is_seen(source, found):
    known = ("unrelu.loop.run", "unrelu.kernels.tiled")
    assert list(imported(source, "unrelu.kernels.bands", known)) == found


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_no_file_outgrows_a_room(name):
    assert len(KNOWN[name].read_text().splitlines()) <= MOST_LINES


def functions(node, name):
    """Every function below a node, those inside classes and other functions too, with its name in full."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{name}.{child.name}", child
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from functions(child, f"{name}.{child.name}" if named else name)


def lines_of(function):
    """From ``def`` to the end, without the docstring."""
    count = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        count -= function.body[0].end_lineno - function.body[0].lineno + 1
    return count


def parameters_of(function):
    """Positional and keyword-only ones together."""
    positional = [*function.args.posonlyargs, *function.args.args]
    own = bool(positional) and positional[0].arg in ("self", "cls")
    return len(positional) - own + len(function.args.kwonlyargs)


def outgrown(name):
    """What is too much about the functions of a file, by their names."""
    found = {}
    for full, function in functions(ast.parse(KNOWN[name].read_text()), name):
        if lines_of(function) > MOST_LINES_OF_A_FUNCTION:
            found.setdefault(full, []).append("lines")
        if parameters_of(function) > MOST_PARAMETERS:
            found.setdefault(full, []).append("parameters")
    return found


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_no_function_outgrows_a_screen_or_takes_more_than_a_reader_can_hold(name):
    for full, what in outgrown(name).items():
        excused = full in STILL_TOO_LONG or (what == ["parameters"] and full in MANY_PARAMETERS)
        assert excused, f"{full} has too many {' and '.join(what)}: find the part, or the object, that is missing"


def test_no_exception_outlives_its_reason():
    found = {full: what for name in KNOWN for full, what in outgrown(name).items()}
    assert {full for full in MANY_PARAMETERS if "parameters" not in found.get(full, [])} == set()
    excused = {full for full, what in found.items() if what == ["parameters"] and full in MANY_PARAMETERS}
    assert STILL_TOO_LONG - (found.keys() - excused) == set(), "mended: take them off the list"


@pytest.mark.parametrize(
    ("source", "lines", "parameters"),
    [
        ("def f(a, /, b, *rest, c=1, **options):\n    return a", 2, 3),
        ("def f(self, a):\n    '''One.\n\n    Two.\n    '''\n    return a", 2, 1),
        ("@staticmethod\nasync def f(\n    a,\n):\n    return 'no docstring'", 4, 1),
        ("def f():\n    'All of it.'", 1, 0),
    ],
)
def test_functions_are_measured(source, lines, parameters):
    ((name, function),) = functions(ast.parse(source), "file")
    assert (name, lines_of(function), parameters_of(function)) == ("file.f", lines, parameters)


def test_functions_inside_others_are_seen():
    source = "class A:\n    def f(self):\n        def g(): ...\nif True:\n    def h(): ..."
    assert [name for name, _ in functions(ast.parse(source), "m")] == ["m.A.f", "m.A.f.g", "m.h"]


def aliases(name):
    """Names that a file gives to kinds of arrays: ``Floats`` for ``NDArray[np.float64]``."""
    for node in ast.parse(KNOWN[name].read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("NDArray["):
            yield ast.unparse(node.targets[0]), ast.unparse(node.value)


@pytest.mark.parametrize("name", sorted(KNOWN.keys() - {"unrelu.base.arrays"}))
def test_kinds_of_arrays_are_named_once(name):
    known = dict(aliases("unrelu.base.arrays"))
    assert set(known) == {"Array", "Floats", "Indices", "Bools"}
    for alias, kind in aliases(name):
        assert alias not in known, "imported from base/arrays.py"
        assert kind not in known.values(), f"{alias} has a name in base/arrays.py"


def test_little_stands_at_the_top():
    assert len([path for path in SOURCE.iterdir() if path.is_file()]) <= MOST_AT_THE_TOP


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


def dotted_names():
    """Names with dots that documents and docstrings give, of things in files."""
    texts = [*SOURCE.rglob("*.py"), *SOURCE.parents[1].glob("docs/*.md"), SOURCE.parents[1] / "README.md"]
    return sorted(
        {
            name
            for path in texts
            for name in re.findall(r"[` ](unrelu(?:\.[a-z_]+)+\.\w+)(?=`| :|\()", path.read_text(encoding="utf-8"))
        }
    )


def test_names_with_dots_can_be_written_after_one_import():
    names = dotted_names()
    alone = {"unrelu.loop.stopping", "unrelu.show.maps.draw_map"}
    assert alone <= set(names)
    for lines in (*alone, "\n".join(names)):
        fresh(f"import unrelu\n{lines}")
    assert (
        fresh("import unrelu; print(hasattr(unrelu.loop, 'nonsense'), hasattr(unrelu.loop, '_odd'))") == "False False"
    )


@pytest.mark.parametrize("name", ["EdgeList", "Source", "Start"])
def test_examples_can_be_pasted_as_they_are(name):
    example = doctest.DocTestParser().get_doctest(getattr(unrelu, name).__doc__, {}, name, None, 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.DocTestRunner(optionflags=flags).run(example).failed == 0


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
