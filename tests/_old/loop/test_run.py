"""What the loop makes of the states of a method: which one it returns, and what it calls the end."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from unrelu import MaxIterations, Stop
from unrelu._old.loop.run import run
from unrelu._old.loop.states import PointIterate
from unrelu._old.problems.protocol import Point


@dataclass(frozen=True, eq=False)
class AtRounding(PointIterate):
    """Of a method that is stuck only where rounding leaves nothing better."""

    at_rounding = True


@dataclass
class Told:
    """A method whose states have the objectives and gradients that a test tells, and end stuck if it says so."""

    objectives: tuple
    gradient: float = 1.0
    stuck: str | None = None
    state: type = PointIterate
    units: dict = field(default_factory=dict)

    def start(self, problem, left, right):
        return self._at(0)

    def step(self, problem, state):
        return self._at(int(state.point.factor[0, 0]) + 1)

    def diagnostics(self, problem, state):
        return {}

    def _at(self, k):
        last = k == len(self.objectives) - 1
        point = Point(np.full((1, 1), float(k)), self.objectives[k], np.full((1, 1), self.gradient))
        return self.state(point, {}, self.stuck if last else None)


def ended(method, dtype=np.float64):
    problem = SimpleNamespace(
        value_power=2.0, gradient_power=1.5, dtype=np.dtype(dtype), unit=1.0, norm=1.0, relative=lambda norm: norm
    )
    first, last = np.zeros((1, 1)), len(method.objectives) - 1
    return run(problem, method, (first, first), MaxIterations(last if method.stuck is None else last + 1))


def test_without_convergence_the_lowest_is_returned():
    assert ended(Told((3.0, 1.0, 2.0))).iteration == 1


def test_of_equals_the_last_is_returned():
    """At rounding level objectives stay the same while gradients still fall."""
    assert ended(Told((3.0, 1.0, 1.0, 1.0, 2.0))).iteration == 3


@pytest.mark.parametrize(("times", "code"), [(900.0, Stop.MAX_ITERATIONS), (1100.0, Stop.DIVERGED)])
def test_a_thousand_times_the_start_is_not_coming_back(times, code):
    found = ended(Told((1.0, times, 1.0)))
    assert found.verdict.code is code
    assert found.iteration == (0 if code is Stop.DIVERGED else 2)


@pytest.mark.parametrize(("times", "code"), [(900.0, Stop.MAX_ITERATIONS), (1100.0, Stop.DIVERGED)])
def test_a_start_that_is_nearly_perfect_is_compared_with_the_zero_matrix(times, code):
    assert ended(Told((1e-20, times / 4, 1e-20))).verdict.code is code


@pytest.mark.parametrize(
    ("dtype", "gradient", "code"),
    [
        (np.float64, 0.9e-13, Stop.CONVERGED),
        (np.float64, 1.1e-13, Stop.STALLED),
        (np.float32, 0.9e-5, Stop.CONVERGED),
        (np.float32, 1.1e-5, Stop.STALLED),
    ],
)
def test_a_method_at_rounding_has_arrived_only_if_its_gradient_has_vanished(dtype, gradient, code):
    assert ended(Told((2.0, 1.0), gradient, "no step helps", AtRounding), dtype).verdict.code is code


def test_a_method_that_is_stuck_for_another_reason_has_not_arrived():
    found = ended(Told((2.0, 1.0), 1e-15, "ten trials were not worth it", PointIterate))
    assert found.verdict.code is Stop.STALLED
    assert found.verdict.reason == "ten trials were not worth it (gradient norm 1e-15)"
