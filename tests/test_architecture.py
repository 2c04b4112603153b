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
from reading import functions, imported, kinds_asked, lines_of, parameters_of, small_numbers
from unrelu.model.losses import LOSSES, Loss

SOURCE = Path(unrelu.__file__).parent

# The way through, in order: a room imports only from those before it.
ROOMS = [
    "base",
    "data",
    "model",
    "detection",
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
    "scale",
    "complete",
    "complete_distances",
    "complete_rectangular",
    "complete_table",
    "rehearse",
    "diagnose",
    "certify_rectangular",
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
MOST_AT_THE_TOP = 13
MOST_LINES = 400
# Of one function: lines, its docstring not counted, and parameters, self and cls not counted.
MOST_LINES_OF_A_FUNCTION, MOST_PARAMETERS = 60, 6
# Functions that may have more parameters: each is one thing that a caller may want to say, and has a default.
FRONT_DOOR = "a front door"
SKLEARN = "scikit-learn wants every option of an estimator to be a parameter"
COMMAND = "typer makes an option of every parameter"
PUBLIC = "public: an object for its options would break callers"
TRITON = "a Triton kernel takes each array and each number by itself"
MANY_PARAMETERS = {
    "unrelu.certify.certify": FRONT_DOOR,
    "unrelu.compare.compare": FRONT_DOOR,
    "unrelu.complete.complete": FRONT_DOOR,
    "unrelu.complete_distances.complete_distances": FRONT_DOOR,
    "unrelu.complete_rectangular.complete_rectangular": FRONT_DOOR,
    "unrelu.complete_table.complete_table": FRONT_DOOR,
    "unrelu.rehearse.rehearse": FRONT_DOOR,
    "unrelu.estimators.distances.DistanceCompleter.__init__": SKLEARN,
    "unrelu.estimators.psd.PSDCompleter.__init__": SKLEARN,
    "unrelu.estimators.table.TableCompleter.__init__": SKLEARN,
    "unrelu.experiments.reproduce.reproduce": PUBLIC,
    "unrelu.io.positions.write_positions": PUBLIC,
    "unrelu.kernels.device.fused_look._look_of": TRITON,
    "unrelu.kernels.device.fused_look.look_pass": TRITON,
    "unrelu.kernels.device.fused_parts.both_ways": TRITON,
    "unrelu.kernels.device.fused_parts.entries": TRITON,
    "unrelu.kernels.device.fused_passes._curvature_of": TRITON,
    "unrelu.kernels.device.fused_passes._quartic_of": TRITON,
    "unrelu.kernels.device.fused_passes._slopes_of": TRITON,
    "unrelu.kernels.device.fused_passes._steps_of": TRITON,
    "unrelu.kernels.device.fused_passes.curvature_pass": TRITON,
    "unrelu.kernels.device.fused_passes.quartic_pass": TRITON,
    "unrelu.kernels.device.fused_passes.slopes_pass": TRITON,
    "unrelu.kernels.device.fused_passes.steps_pass": TRITON,
    "unrelu.shell.certify.certify_command": COMMAND,
    "unrelu.shell.compare.compare_command": COMMAND,
    "unrelu.shell.complete.complete_command": COMMAND,
    "unrelu.shell.inspect.inspect_command": COMMAND,
    "unrelu.shell.locate.locate_command": COMMAND,
    "unrelu.shell.reproduce.reproduce_command": COMMAND,
    "unrelu.shell.table.table_command": COMMAND,
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


KNOWN = {name_of(path): path for path in modules()}


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_imports_only_from_rooms_before(name):
    room = name.split(".")[1]
    assert room in ROOMS, f"{name} has no room: give it a place in ROOMS"
    for other in imported(KNOWN[name].read_text(), name, KNOWN):
        assert not comes_later(other, room), f"{name} imports {other}, which comes later"


def comes_later(other, room):
    """Whether a module, or a name of the package, is of a later room; what is not known where might be."""
    leaf = other.partition(".")[2]
    if leaf in ("", "__version__"):
        return False
    there = (unrelu._HOME | unrelu._MODULES).get(leaf, leaf).split(".")[0]
    return there not in ROOMS or ROOMS.index(there) > ROOMS.index(room)


@pytest.mark.parametrize(
    "source",
    [
        "import unrelu; unrelu.complete",
        "import unrelu as u\ndef f(): return u.complete",
        "import unrelu.data.table; unrelu.complete(X, 2)",
        "import unrelu; unrelu.results.completion.Completion",
        "import unrelu; getattr(unrelu, 'complete')",
        "import unrelu; unrelu.plots",
        "from unrelu import *",
        "import importlib; importlib.import_module('unrelu.results.completion')",
        "from importlib import import_module; import_module('unrelu.' + name)",
        "from importlib import import_module; import_module('..results', __package__)",
        "__import__('unrelu.results.completion')",
        "import sys; sys.modules['unrelu.results.completion']",
    ],
)
def test_no_way_leads_to_a_later_room(source):
    assert any(comes_later(other, "data") for other in imported(source, "unrelu.data.limits", KNOWN))


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
        ("import unrelu; unrelu.loop.run.Outcome", ["unrelu", "unrelu.loop.run"]),
        ("import unrelu; unrelu.__version__", ["unrelu", "unrelu.__version__"]),
        ("import_module('scs')", []),
        ("files('unrelu.experiments').joinpath('printed.json')", []),
        ("import numpy", []),
    ],
)
def test_every_way_of_importing_is_seen(source, found):
    known = ("unrelu.loop.run", "unrelu.kernels.tiled")
    assert list(imported(source, "unrelu.kernels.bands", known)) == found


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_no_file_outgrows_a_room(name):
    assert len(KNOWN[name].read_text().splitlines()) <= MOST_LINES


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
        ("f = lambda a, b, c, d, e, g, *, h, i=1: a", 1, 8),
    ],
)
def test_functions_are_measured(source, lines, parameters):
    ((name, function),) = functions(ast.parse(source), "file")
    assert name in ("file.f", "file.<lambda>")
    assert (lines_of(function), parameters_of(function)) == (lines, parameters)


def test_functions_inside_others_are_seen():
    source = "class A:\n    def f(self):\n        def g(): ...\nif True:\n    def h(): ...\nk = map(lambda x: x, y)"
    assert [name for name, _ in functions(ast.parse(source), "m")] == ["m.A.f", "m.A.f.g", "m.h", "m.<lambda>"]


# Who may ask which loss, kernel or problem it has: where they are made. Everybody else asks what they can do.
DOORS = (
    "complete",
    "complete_distances",
    "complete_rectangular",
    "complete_table",
    "rehearse",
    "diagnose",
    "certify_rectangular",
    "certify",
    "compare",
)
FRONT_DOORS = tuple(f"unrelu.{name}" for name in DOORS)
MAY_ASK_FOR_KINDS = ("unrelu.model.losses", "unrelu.kernels", *FRONT_DOORS)
KINDS = {kind.__name__ for kind in (Loss, *LOSSES.values())} | {
    node.name
    for name, path in KNOWN.items()
    if name.startswith(("unrelu.kernels", "unrelu.problems"))
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.ClassDef) and node.name.endswith(("Kernel", "Problem"))
}


@pytest.mark.parametrize("name", sorted(name for name in KNOWN if not name.startswith(MAY_ASK_FOR_KINDS)))
def test_nobody_asks_of_which_kind_a_loss_a_kernel_or_a_problem_is(name):
    assert list(kinds_asked(KNOWN[name].read_text(), KINDS)) == []


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(problem.loss, Observed)",
        "isinstance(problem, PSDProblem)",
        "isinstance(kernel, (Source, kernels.TiledKernel))",
        "isinstance(loss, Observed | OneSided)",
        "from unrelu.model.losses import Observed as Plain\nisinstance(loss, Plain)",
        "issubclass(kind, Loss)",
        "type(loss) is OneSided",
        "type(loss) in (Observed, OneSided)",
        "match loss:\n    case Observed():\n        pass",
        "loss.name in ('one-sided',)",
        "problem.loss.name == 'one-sided'",
        "'one-sided' != self._loss.name",
        "match problem.loss.name:\n    case 'observed':\n        pass",
        "RULES[problem.loss.name]",
        "RULES.get(loss.name)",
        "loss.name.startswith('one')",
    ],
)
def test_every_way_of_asking_for_a_kind_is_seen(source):
    assert list(kinds_asked(source, KINDS))


@pytest.mark.parametrize("source", ["f'{problem.loss.name} loss'", "told(problem.loss.name)", "solver.name == 'pam'"])
def test_to_tell_a_name_is_no_question(source):
    assert list(kinds_asked(source, KINDS)) == []


# Numbers below the first are tolerances, or have a reason not to be; those below the second stand for zero where
# something is divided by it.
SMALL, STANDS_FOR_ZERO = 1e-2, 1e-99
TOLERANCES = (
    "unrelu.base.tolerances",
    "unrelu.base.tolerances.detection",
    "unrelu.base.tolerances.distances",
    "unrelu.base.tolerances.placing",
    "unrelu.base.tolerances.proofs",
    "unrelu.base.tolerances.robust",
    "unrelu.base.tolerances.sampling",
    "unrelu.base.tolerances.scale",
)
# Files with small numbers of their own, by the reason.
NO_TOLERANCES = {
    "damping of a step, which the next one corrects": (
        "distances.handedness distances.refine distances.second distances.swarm distances.trilateration "
        "distances.uncertainty placing.outside placing.turning problems.laplacian proofs.movable "
        "solvers.levenberg_marquardt solvers.side_by_side"
    ),
    "a ladder of how good a step must be, from good to hardly, which is tried in turn": (
        "distances.careful distances.trilateration placing.placement"
    ),
    "how far a method goes, as its paper or its docstring says": (
        "loop.stopping solvers.admm solvers.base solvers.direct solvers.function solvers.gauss_newton solvers.gnmr "
        "solvers.gradient_descent solvers.levenberg_marquardt solvers.momentum_pam solvers.pam solvers.scaled_gd "
        "solvers.sdp"
    ),
    "how far a fit on the way goes, beside how long": "auto.escalate judge.held_out judge.next_rank judge.verdicts",
    "part of one formula, which explains it": (
        "kernels.line model.losses.censored model.losses.tails problems.network problems.psd"
    ),
    "a bracket of a bisection": "starts.base",
    "a tolerance among them is still to be moved": "uncertainty.rivals",
    "a probability": "results.distances",
    "what an experiment varies, or calls recovered": (
        "experiments.basin experiments.distances experiments.distances_verdicts experiments.drawing "
        "experiments.families experiments.initialisation experiments.initialisation_figure experiments.landscape "
        "experiments.methods_figures experiments.methods_readings experiments.methods_verdicts experiments.noise "
        "experiments.open_rank experiments.open_sampling experiments.rank experiments.rank_verdicts "
        "experiments.scaling experiments.sensitivity_figure experiments.sensitivity_words experiments.solve "
        "experiments.theorems experiments.watch"
    ),
    "what a one-line counterexample is made of": "experiments.errata",
}
HOLDS_SMALL_NUMBERS = {f"unrelu.{name}" for names in NO_TOLERANCES.values() for name in names.split()}


def small_in(name):
    """Small numbers of a file, apart from those that stand for zero."""
    return [number for number in small_numbers(KNOWN[name].read_text(), SMALL) if abs(number) > STANDS_FOR_ZERO]


@pytest.mark.parametrize("name", sorted(KNOWN.keys() - set(TOLERANCES)))
def test_every_tolerance_stands_with_the_others(name):
    found = small_in(name)
    if name in HOLDS_SMALL_NUMBERS:
        assert found, "take it off the list"
    else:
        assert not found, f"tolerances belong into base/tolerances, with their reasons: {found}"


def test_no_file_is_excused_that_is_not_there():
    assert KNOWN.keys() >= HOLDS_SMALL_NUMBERS


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("if gap <= 1e-9 * size: pass", [1e-9]),
        ("def f(tol=1e-4): return -0.001", [1e-4, 0.001]),
        ("x = {'float64': 1e-13, 'float32': 1e-5}", [1e-13, 1e-5]),
        ("'Up to 1e-9.'\nx = 0.05 + 0.0 + 3", []),
    ],
)
def test_every_small_number_is_seen(source, found):
    assert sorted(small_numbers(source, SMALL)) == sorted(found)


def test_every_tolerance_is_used_and_carries_the_name_of_its_file():
    used = "".join(path.read_text() for name, path in KNOWN.items() if name not in TOLERANCES)
    for name in TOLERANCES:
        section = ""
        for line in KNOWN[name].read_text().splitlines():
            if line.startswith("# --- "):
                section = line.split()[2]
                assert f"unrelu.{section}" in KNOWN
            if " = " in line and not line.startswith("#"):
                for constant in line.split(" = ")[0].split(", "):
                    assert constant.startswith(section.split(".")[-1].upper() + "_")
                    assert re.search(rf"\b{constant}\b", used), constant


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
        "[getattr(unrelu, name) for name in unrelu.__all__ if not name.endswith('Completer')]; "
        "late = ('matplotlib', 'pandas', 'torch', 'triton', 'dask', 'distributed', 'zarr', 'sklearn', 'typer', 'rich', "
        "'numba', 'openpyxl', 'pyarrow', 'gemmi'); "
        "print([name for name in late if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


# Who may know on which machine values are: what reads them, passes over them, and the doors.
MACHINES = ("torch", "triton", "dask", "distributed")
HOW_TO_GET_THERE = ("unrelu.scale.engines", "unrelu.scale.devices", "unrelu.results.tensors")
MAY_KNOW_MACHINES = ("unrelu.data", "unrelu.kernels", "unrelu.shell", *HOW_TO_GET_THERE, *FRONT_DOORS)


def machines_named(source):
    """Machines that code names: in imports, names and attributes, and as words, but not in documents."""
    for node in ast.walk(ast.parse(source)):
        said = []
        if isinstance(node, ast.Import | ast.ImportFrom):
            said = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
        elif isinstance(node, ast.Name | ast.Attribute):
            said = [node.id if isinstance(node, ast.Name) else node.attr]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            said = [node.value]
        words = {part for text in said for part in re.split(r"[._]|(?<=[a-z])(?=[A-Z])", text)}
        yield from (word for word in words if word.lower() in MACHINES)


@pytest.mark.parametrize("name", sorted(name for name in KNOWN if not name.startswith(MAY_KNOW_MACHINES)))
def test_solvers_starts_strategies_and_judges_know_of_no_machine(name):
    assert list(machines_named(KNOWN[name].read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "import torch",
        "from dask import delayed",
        "from unrelu.kernels.dask import Kernel",
        "X.dask",
        "is_dask(X)",
        "DaskKernel(X)",
        "import_module('torch')",
        "def f():\n    import distributed",
    ],
)
def test_every_way_of_naming_a_machine_is_seen(source):
    assert list(machines_named(source))


def test_a_document_may_name_a_machine():
    assert list(machines_named("'''For torch and dask alike.'''\nsource.lazy is None")) == []


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
