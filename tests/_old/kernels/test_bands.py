"""Bands of rows against a reference with one array per symbol: of symmetric matrices and of tables of any shape."""

import numpy as np
import pytest

import unrelu._old.kernels.bands as bands_module
from unrelu import Observed, OneSided
from unrelu._old.data.bipartite import Bipartite
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.kernels.bands import BandKernel
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.problems.rectangular import RectangularProblem

SHAPES = [(7, 5), (5, 7), (1, 6), (6, 1), (6, 6), (23, 4), (4, 23)]


def table(shape, seed=0):
    """Values, and which of the unseen ones are missing by chance."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal(shape)
    M[0, 0] = 5.0  # something is seen
    unknown = rng.random(shape) < 0.2
    return M, unknown


def limits_of(kind, shape, seed=1):
    rng = np.random.default_rng(seed)
    m, n = shape
    return {
        "none": None,
        "one": 0.1,
        "row": rng.uniform(-0.5, 0.5, (m, 1)),
        "column": rng.uniform(-0.5, 0.5, (1, n)),
        "entry": rng.uniform(-0.5, 0.5, shape),
    }[kind]


def residual_of(fit, M, seen, absent, tau, side):
    """How far a fit is from what is known, entry by entry."""
    hinge = np.maximum(fit - tau, 0) if side == "above" else np.minimum(fit - tau, 0)
    return np.where(seen, fit - M, 0.0) + np.where(absent, hinge, 0.0)


@pytest.mark.parametrize("height", [1, 3, 1000], ids=lambda height: f"bands of {height}")
@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("kind", ["none", "one", "row", "column", "entry"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_of_a_table_are_those_of_the_dense_residual(shape, kind, side, height, monkeypatch):
    monkeypatch.setattr(bands_module, "BAND_ENTRIES", height * shape[1])
    M, unknown = table(shape)
    tau = limits_of(kind, shape)
    level = -np.inf if tau is None and side == "above" else np.inf if tau is None else tau
    seen = (level <= M if side == "above" else level >= M) & ~unknown
    seen[0, 0] = seen[0, 0] | (tau is None)
    X = np.where(seen, M, np.nan)
    observations = table_observations(X, threshold=tau, seen=side, unknown=unknown)
    rng = np.random.default_rng(2)
    L, R = rng.standard_normal((shape[0], 2)), rng.standard_normal((shape[1], 2))
    right, left = rng.standard_normal((shape[1], 3)), rng.standard_normal((shape[0], 4))
    for loss in (Observed(), OneSided()):
        bands = BandKernel(observations, loss)
        assert bands.shape == shape
        assert bands.count == seen.sum()
        assert bands.norm * observations.unit == pytest.approx(np.linalg.norm(M[seen]))
        heard = loss.name == "one-sided" and tau is not None
        absent = ~seen & ~unknown & heard
        Z = residual_of(
            L @ R.T, M / observations.unit, seen, absent, (0 if tau is None else tau) / observations.unit, side
        )
        value, forward, backward = bands.products(L, R, right, left)
        assert value == pytest.approx(np.sum(Z**2) / 2, rel=1e-12)
        np.testing.assert_allclose(forward, Z @ right, atol=1e-12)
        np.testing.assert_allclose(backward, Z.T @ left, atol=1e-12)
        assert bands.squares(value) == pytest.approx(np.sum(Z**2), rel=1e-12)
        values, mask = bands.seen_values()
        np.testing.assert_array_equal(mask, seen)
        np.testing.assert_allclose(values, np.where(seen, M, 0) / observations.unit)


@pytest.mark.parametrize("loss", [Observed(), OneSided()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_value_and_gradient_are_those_of_the_problem(shape, loss):
    """The same factors have the same objective by one factor [L; R] and by two."""
    M, unknown = table(shape)
    X = np.where((M >= 0.1) & ~unknown, M, np.nan)
    problem = RectangularProblem(table_observations(X, threshold=0.1, unknown=unknown), 2, loss)
    U = np.random.default_rng(2).standard_normal((sum(shape), 2))
    L, R = problem.bands.apart(U, U)
    value, left, right = problem.bands.evaluate(L, R)
    point = problem.evaluate(U)
    assert value == pytest.approx(point.value, rel=1e-12)
    np.testing.assert_allclose(problem.bands.share * np.vstack([left, right]), point.gradient, atol=1e-12)
    assert np.sqrt(problem.bands.squares(value)) == pytest.approx(problem.over_entries(problem.misfit(value)))
    assert problem.scale == pytest.approx(np.linalg.norm(X[~np.isnan(X)]))


def test_of_a_symmetric_matrix_f_is_half_of_that():
    M, _ = table((6, 6))
    X = np.where(M + M.T >= 0, M + M.T, np.nan)
    problem = PSDProblem(Observations.of(X), 2, Observed())
    U = np.random.default_rng(2).standard_normal((6, 2))
    value, left, right = problem.bands.evaluate(U, U)
    Z = np.where(np.isnan(X), 0.0, U @ U.T - np.nan_to_num(X) / problem.unit)
    assert value == pytest.approx(np.sum(Z**2) / 4)
    assert value == pytest.approx(problem.evaluate(U).value)
    np.testing.assert_allclose(left + right, 2 * problem.evaluate(U).gradient, atol=1e-12)
    assert (problem.bands.norm, problem.bands.count) == (problem.norm, problem.observations.count)
    assert problem.bands.apart(U, U + 1)[1][0, 0] == U[0, 0] + 1
    assert problem.scale == problem.over_entries(problem.observations.norm) == problem.observations.norm


def test_both_parts_of_a_table_come_apart_and_together():
    bands = BandKernel(table_observations(np.ones((3, 2))), Observed())
    L, R = np.arange(3.0)[:, None], np.arange(10.0, 12.0)[:, None]
    both, again = bands.joined(L, R)
    assert both is again
    assert both.ravel().tolist() == [0.0, 1.0, 2.0, 10.0, 11.0]
    apart = bands.apart(both, again)
    assert [part.ravel().tolist() for part in apart] == [[0.0, 1.0, 2.0], [10.0, 11.0]]
    square = BandKernel(Observations.of(np.eye(3)), Observed())
    assert square.joined(L, 2 * L)[0] is L


def test_only_the_table_is_read_and_only_a_band_at_a_time(monkeypatch):
    """Nothing of the size of the symmetric matrix, nor of its two empty blocks."""
    asked = []
    block = Bipartite.block
    monkeypatch.setattr(
        Bipartite, "block", lambda self, rows, cols: asked.append((rows, cols)) or block(self, rows, cols)
    )
    monkeypatch.setattr(bands_module, "BAND_ENTRIES", 12)
    BandKernel(table_observations(np.ones((5, 4))), OneSided())
    assert sorted((rows.start, rows.stop) for rows, _ in asked) == [(0, 3), (3, 5)]
    assert {(cols.start, cols.stop) for _, cols in asked} == {(5, 9)}


@pytest.mark.parametrize("shape", [(7, 5), (5, 7)], ids=str)
def test_float32_stays_float32(shape):
    M, unknown = table(shape)
    X = np.where((M >= 0) & ~unknown, M, np.nan).astype(np.float32)
    bands = BandKernel(table_observations(X, unknown=unknown), OneSided())
    L, R = (np.ones((side, 2), np.float32) for side in shape)
    value, left, right = bands.evaluate(L, R)
    assert isinstance(value, float)
    assert (left.dtype, right.dtype) == (np.float32, np.float32)


def test_a_gap_is_for_absent_entries_only():
    X = np.array([[0.2, np.nan], [np.nan, 3.0]])
    kernel = BandKernel(Observations.of(X, threshold=(-1.0, 4.0), seen="between"), OneSided())
    (band,) = kernel.over(lambda chunk: chunk[0])
    unit = Observations.of(X, threshold=(-1.0, 4.0), seen="between").unit
    off = band.residual(np.array([[0.0, 0.0], [0.0, 0.0]])) * unit
    assert off[0, 0] == pytest.approx(-0.2)  # seen: its own value, wherever the gap is
    assert off[1, 1] == pytest.approx(-3.0)
    assert off[0, 1] == off[1, 0] == pytest.approx(1.0)  # the nearest place outside of the gap is −1
