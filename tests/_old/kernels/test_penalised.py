"""A price on size: its derivatives, and that factors find what shrunk eigenvalues are."""

import numpy as np
import pytest

from helpers import asymmetric_instance, table_instance
from unrelu import GaussNewton, MaxIterations, RelativeGradientNormBelow
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.data.terms import Terms
from unrelu._old.kernels import kernel_for
from unrelu._old.kernels.penalised import Penalised
from unrelu._old.loop.run import run
from unrelu._old.model.losses import Censored, Huber, Observed, OneSided
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.problems.rectangular import RectangularProblem

LOSSES = [Observed(), OneSided(), Censored(sigma=0.5), Censored(), Huber(sigma=0.5), Huber()]


def problem_of(loss, shrinkage=0.7, rank=2):
    X, unknown = asymmetric_instance(12, 2)
    return PSDProblem(Observations.of(X, threshold=0.0, unknown=unknown), rank, loss, Penalised(shrinkage))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_price_is_that_of_the_trace(loss):
    problem, rng = problem_of(loss), np.random.default_rng(0)
    plain = PSDProblem(problem.observations, 2, loss, kernel_for)
    U, V = rng.standard_normal((2, 12, 2))
    ridge = 2 * 0.7 / problem.unit * problem.stiffness
    here, free = problem.evaluate(U), plain.evaluate(U)
    np.testing.assert_allclose(here.value - free.value, ridge / 2 * np.sum(U * U), rtol=1e-12)
    np.testing.assert_allclose(here.gradient - free.gradient, ridge * U, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(problem.curvature(here, V) - plain.curvature(free, V), ridge * V, atol=1e-12)
    np.testing.assert_allclose(problem.hessian(here, V) - plain.hessian(free, V), ridge * V, atol=1e-12)
    for whole, product in ((False, problem.curvature), (True, problem.hessian)):
        matrix = problem.curvature_matrix(here, whole=whole)
        np.testing.assert_allclose(matrix @ V.ravel(), product(here, V).ravel(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_remainder_of_the_gradient_is_of_second_order(loss):
    problem, rng = problem_of(loss), np.random.default_rng(1)
    U, D = rng.standard_normal((2, 12, 2))
    here = problem.evaluate(U)
    steps = np.array([1e-2, 1e-3])
    left = [problem.evaluate(U + t * D).value - here.value - t * np.vdot(here.gradient, D) for t in steps]
    assert abs(np.log(left[0] / left[1]) / np.log(10) - 2) < 0.1


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_line_is_that_of_the_whole(loss):
    problem, rng = problem_of(loss), np.random.default_rng(2)
    U, D = rng.standard_normal((12, 2)), 1e-3 * rng.standard_normal((12, 2))  # so short that no kink lies between
    here = problem.evaluate(U)
    line = problem.line(here, D)
    values, slopes = line.at([0.0, 0.4])
    there = problem.evaluate(U + 0.4 * D)
    np.testing.assert_allclose(values, [here.value, there.value], rtol=1e-11)
    np.testing.assert_allclose(slopes, [np.vdot(here.gradient, D), np.vdot(there.gradient, D)], rtol=1e-5)


def test_the_noise_is_estimated_with_the_price():
    problem = problem_of(Censored())
    U = np.random.default_rng(3).standard_normal((12, 2))

    def at(step):
        return problem.with_loss(Censored(level=problem.loss.noise * np.exp(step))).evaluate(U).value

    sums = problem.evaluate(U).sums
    np.testing.assert_allclose(sums[0], (at(1e-4) - at(-1e-4)) / 2e-4, rtol=1e-6)
    np.testing.assert_allclose(sums[1], (at(1e-3) - 2 * at(0) + at(-1e-3)) / 1e-6, rtol=1e-4)


@pytest.mark.parametrize("shrinkage", [0.5, 3.0])
def test_where_all_was_seen_eigenvalues_are_shrunk(shrinkage):
    A = np.random.default_rng(4).standard_normal((10, 10))
    M = (A + A.T) / 2 + 2 * np.eye(10)
    problem = PSDProblem(Observations.of(M, threshold=None), 10, Observed(), Penalised(shrinkage))
    start = np.random.default_rng(5).standard_normal((10, 10))
    found = run(problem, GaussNewton(), (start, start), RelativeGradientNormBelow(1e-14) | MaxIterations(300)).point
    values, vectors = np.linalg.eigh(M)
    expected = (vectors * np.maximum(values - shrinkage, 0)) @ vectors.T
    np.testing.assert_allclose(found.factor @ found.factor.T * problem.unit, expected, atol=1e-6)


def test_singular_values_of_a_table_are_shrunk():
    M, _ = table_instance(8, 6, 6)
    problem = RectangularProblem(table_observations(M, Terms(threshold=None)), 6, Observed(), Penalised(1.5))
    start = np.random.default_rng(5).standard_normal((14, 6))
    found = run(problem, GaussNewton(), (start, start), RelativeGradientNormBelow(1e-14) | MaxIterations(300)).point
    left, values, right = np.linalg.svd(M, full_matrices=False)
    expected = (left * np.maximum(values - 1.5, 0)) @ right
    np.testing.assert_allclose(found.factors.dense() * problem.unit, expected, atol=1e-6)
