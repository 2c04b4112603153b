"""A diagonal as an upper limit: its derivatives, and that it is what limits of single entries say."""

import numpy as np
import pytest

from helpers import asymmetric_instance
from unrelu import Limits
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.capped import CappedKernel
from unrelu._old.kernels.penalised import Penalised
from unrelu._old.model.losses import Censored, Huber, Observed, OneSided
from unrelu._old.problems.psd import PSDProblem

SINGLE = 1e-6  # curvatures are kept in single precision
LOSSES = [OneSided(), Censored(sigma=0.5), Censored(), Huber(sigma=2.0), Huber()]


def instance():
    X, unknown = asymmetric_instance(12, 2)
    np.fill_diagonal(X, np.linspace(0.2, 3.0, 12))
    X[3, 3] = np.nan
    return X, unknown & ~np.eye(12, dtype=bool)


def capped(loss, **kernel):
    X, unknown = instance()
    seen = Observations.of(X, threshold=0.0, unknown=unknown).with_diagonal("limit")
    return PSDProblem(seen, 2, loss, **kernel)


def entry_by_entry(loss):
    """The same said by a limit for each entry: that of the diagonal, 0 elsewhere."""
    X, unknown = instance()
    most = np.zeros((12, 12))
    np.fill_diagonal(most, np.where(np.isnan(np.diag(X)), np.inf, np.diag(X)))
    np.fill_diagonal(X, np.nan)
    seen = Observations.of(X, threshold=Limits(high=most), unknown=unknown)
    seen.__dict__["_diagonal_unknown"] = np.zeros(12, dtype=bool)
    return PSDProblem(seen, 2, loss)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_is_what_a_limit_of_each_entry_says(loss):
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((2, 12, 2))
    mine, other = capped(loss), entry_by_entry(loss)
    assert isinstance(mine.kernel, CappedKernel)
    here, there = mine.evaluate(U), other.evaluate(U)
    np.testing.assert_allclose(here.value, there.value, rtol=1e-12)
    np.testing.assert_allclose(here.gradient, there.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mine.curvature(here, V), other.curvature(there, V), rtol=SINGLE, atol=1e-9)
    np.testing.assert_allclose(mine.hessian(here, V), other.hessian(there, V), rtol=SINGLE, atol=1e-9)
    np.testing.assert_allclose(mine.curvature_matrix(here), other.curvature_matrix(there), rtol=SINGLE, atol=1e-9)
    if here.sums is not None:
        np.testing.assert_allclose(here.sums, there.sums, rtol=1e-9)
    D = 1e-3 * V
    for one, two in zip(mine.line(here, D).at([0.0, 0.5]), other.line(there, D).at([0.0, 0.5]), strict=True):
        if loss.likelihood:
            np.testing.assert_allclose(one, two, rtol=1e-9)


def test_a_loss_that_hears_nothing_of_absence_hears_no_cap():
    assert not isinstance(capped(Observed()).kernel, CappedKernel)


def test_it_goes_with_a_price_on_size():
    problem = capped(Censored(), kernel=Penalised(0.5))
    U, D = np.random.default_rng(1).standard_normal((2, 12, 2))
    here = problem.evaluate(U)
    left = [problem.evaluate(U + t * D).value - here.value - t * np.vdot(here.gradient, D) for t in (1e-2, 1e-3)]
    assert abs(np.log10(left[0] / left[1]) - 2) < 0.1


def test_the_diagonal_leaves_the_data_and_the_callers_matrix_stays():
    X, unknown = instance()
    before = X.copy()
    seen = Observations.of(X, threshold=0.0, unknown=unknown)
    for use in ("limit", "unknown"):
        other = seen.with_diagonal(use)
        assert np.isnan(np.diag(other.block(slice(0, 12), slice(0, 12)))).all()
        assert other.count == seen.count - 11
        assert not other.told_at(np.arange(12), np.arange(12)).any()
        some = other.restricted(np.array([5, 2, 3]))
        expected = [X[5, 5], X[2, 2], np.inf] if use == "limit" else [np.inf] * 3
        np.testing.assert_array_equal(some.caps, expected)
        assert np.isnan(np.diag(some.block(slice(0, 3), slice(0, 3)))).all()
    assert seen.with_diagonal("data") is seen
    np.testing.assert_array_equal(X, before)
