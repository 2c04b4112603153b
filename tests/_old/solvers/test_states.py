"""A state is a value: stored after any iteration and read again, a run goes on as if nothing had been."""

import copy
import dataclasses
import pickle
import weakref

import numpy as np
import pytest

from helpers import ONE_SHOT, SOLVERS, relu_instance, table_instance
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.problems.rectangular import RectangularProblem
from unrelu._old.problems.workspace import Workspace
from unrelu._old.starts import STARTS

STEPS = 12
SYMMETRIC = (40, 40)
CASES = [(solver, SYMMETRIC) for solver in SOLVERS]
CASES += [(solver, shape) for solver in SOLVERS if solver.not_for_tables is None for shape in ((44, 30), (30, 44))]


def named(value):
    return f"{value.name} {getattr(value, 'variant', '')}" if hasattr(value, "name") else f"{value[0]}×{value[1]}"


def instance(shape, noise=0.0):
    """What is seen of a symmetric matrix, or of a table."""
    if shape == SYMMETRIC:
        return relu_instance(40, 3, sigma=noise)[1]
    return table_instance(*shape, 3, sigma=noise)[1]


def problem_for(solver, X, rank=3):
    table = X.shape[0] != X.shape[1]
    observations = table_observations(X) if table else Observations.of(X)
    return (RectangularProblem if table else PSDProblem)(observations, rank, solver.default_loss(observations))


def first_state(solver, problem):
    name = solver.default_start or "tailored"
    root = np.sqrt(problem.unit)
    left, right = STARTS[name]().pair(problem.observations, problem.rank, np.random.default_rng(0))
    return solver.start(problem, *problem.begun(left / root, right / root))


def told(state):
    """Everything that a state holds, as bytes."""
    found = {}
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        if field.name == "point":
            value = value.factor, value.value, value.gradient
        found[field.name] = pickle.dumps(value)
    return found


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize(("solver", "shape"), CASES, ids=named)
def test_a_stored_state_goes_on_bit_for_bit(solver, shape, noise):
    X = instance(shape, noise)
    problem = problem_for(solver, X)
    states = [first_state(solver, problem)]
    stored = [pickle.dumps(states[0])]
    before = [told(states[0])]
    for _ in range(STEPS):
        states.append(solver.step(problem, states[-1]))
        stored.append(pickle.dumps(states[-1]))
        before.append(told(states[-1]))
    assert [told(state) for state in states] == before, "a later step has written into an older state"
    for k in (0, 1, 5, STEPS - 1):
        elsewhere = problem_for(solver, X)  # another process would build its own
        state = pickle.loads(stored[k])
        for later in range(k + 1, STEPS + 1):
            state = solver.step(elsewhere, state)
            assert told(state) == before[later], f"iteration {later} after resuming at {k}"


def parts(state):
    """What somebody may keep of a state: a copy, one with other details, its arrays, and rows of these."""
    arrays = {name: value for name, value in vars(state).items() if isinstance(value, np.ndarray)}
    rows = {name: array[:1][0] for name, array in arrays.items() if array.ndim == 2}
    replaced = dataclasses.replace(state, details={})
    return {"copy": copy.copy(state), "replaced": replaced, "arrays": arrays, "rows": rows}


@pytest.mark.parametrize("what", ["copy", "replaced", "arrays", "rows"])
@pytest.mark.parametrize(("solver", "shape"), CASES, ids=named)
def test_what_is_kept_of_a_forgotten_state_stays_as_it_is(solver, shape, what):
    problem = problem_for(solver, instance(shape))
    state = solver.step(problem, first_state(solver, problem))
    kept = parts(state)[what]
    before = pickle.dumps(kept) if isinstance(kept, dict) else told(kept)
    for _ in range(4):
        state = solver.step(problem, state)
    assert (pickle.dumps(kept) if isinstance(kept, dict) else told(kept)) == before


@pytest.mark.parametrize(("solver", "shape"), CASES, ids=named)
def test_what_nobody_keeps_is_lent_again(solver, shape):
    """Twenty steps take no more memory than four: the new arrays of a step, and those of the one before."""
    problem = problem_for(solver, instance(shape))
    state = first_state(solver, problem)
    seen = set()
    for _ in range(20):
        state = solver.step(problem, state)
        large = (value for value in vars(state).values() if isinstance(value, np.ndarray) and value.shape == shape)
        seen |= {array.ctypes.data for array in large}
    assert len(seen) <= 4
    assert len(problem.workspace._lent) <= 4


def test_nothing_runs_when_an_array_dies():
    """An interrupt in there would be printed as ignored, and lost."""
    workspace = Workspace()
    lent = workspace.empty((2, 2), np.float64)
    assert [weakref.getweakrefs(lent.base)[0].__callback__] == [None]
    assert not hasattr(type(lent.base), "__del__")


@pytest.mark.parametrize("solver", ONE_SHOT, ids=lambda solver: solver.name)
def test_methods_of_one_step_say_the_same_twice(solver):
    if solver.name == "sdp":
        pytest.importorskip("scs")
    _, X = relu_instance(30, 2)
    one, two = (first_state(solver, problem_for(solver, X, 2)) for _ in range(2))
    assert told(one) == told(two)


@pytest.mark.parametrize("shape", [(200, 200), (250, 160)])
@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_only_methods_on_a_dense_matrix_store_one(solver, shape):
    """And of a table nothing as large as the symmetric matrix that it is part of."""
    if solver.not_for_tables is not None and shape[0] != shape[1]:
        pytest.skip("not for tables")
    X = relu_instance(200, 2)[1] if shape[0] == shape[1] else table_instance(*shape, 2)[1]
    state = first_state(solver, problem := problem_for(solver, X, 2))
    size = len(pickle.dumps(solver.step(problem, state)))
    dense = solver.name in ("pam", "admm") or getattr(solver, "variant", "") in ("3b", "adaptive")
    assert (250 * 250 * 8 * 2 > size > 200 * 200 * 8) if dense else (size < 250 * 2 * 8 * 8)
