"""Passes over blocks against ten lines of dense algebra."""

import numpy as np
import pytest
from scipy.stats import norm

from unrelu._old.data.source import ArraySource
from unrelu._old.scale.arithmetic import outer_products
from unrelu._old.scale.blocks import Asked, Data
from unrelu._old.scale.passes import look


def table(seed, shape, sigma=0.3, rank=3):
    rng = np.random.default_rng(seed)
    L, R = rng.standard_normal((shape[0], rank)), rng.standard_normal((shape[1], rank))
    X = L @ R.T + sigma * rng.standard_normal(shape)
    return L, R, np.where(X >= 0.2, X, np.nan)


def matrix(seed, n, sigma=0.3, rank=3, alike=True):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    noise = sigma * rng.standard_normal((n, n))
    X = U @ U.T + (np.triu(noise) + np.triu(noise, 1).T if alike else noise)
    return U, np.where(X >= 0.2, X, np.nan)


def reference(X, fit, tau, sign, sigma, symmetric):
    """Slopes and weights of all entries, as the module's docstring has them."""
    seen = ~np.isnan(X)
    slopes, weights = np.where(seen, fit - np.nan_to_num(X), 0), seen.astype(float)
    if tau is not None and sigma is not None:
        z = sign * (tau - fit) / sigma
        h = norm.pdf(z) / norm.cdf(z)
        absent = ~seen & ~(np.eye(len(X), dtype=bool) if symmetric else False)
        slopes, weights = np.where(absent, sign * sigma * h, slopes), np.where(absent, h * (h + z), weights)
    return slopes, weights


@pytest.mark.parametrize("side", [7, 32, 1024])
@pytest.mark.parametrize("sigma", [None, 0.3])
@pytest.mark.parametrize("tau", [None, 0.2])
def test_a_table_against_dense_algebra(tau, sigma, side):
    L, R, X = table(0, (40, 25))
    slopes, weights = reference(X, L @ R.T, tau, 1.0, sigma, symmetric=False)
    data = Data(ArraySource(X), 1.0, tau, 1.0, symmetric=False, alike=False)
    found = look(data, (L, R), Asked(sigma, True, True, True), side)
    np.testing.assert_allclose(found.gradient, np.vstack([slopes @ R, slopes.T @ L]), atol=1e-6)
    normal = np.vstack([weights @ outer_products(R), weights.T @ outer_products(L)])
    np.testing.assert_allclose(found.normal, normal, rtol=1e-5, atol=1e-5)
    seen = ~np.isnan(X)
    assert found.totals.count == seen.sum()
    assert (found.totals.low, found.totals.high) == (np.nanmin(X), np.nanmax(X))
    np.testing.assert_allclose(found.totals.squares, np.nansum((L @ R.T - X) ** 2))
    np.testing.assert_allclose(found.totals.norm, np.nansum(X**2))
    np.testing.assert_array_equal(found.seen, np.concatenate([seen.sum(axis=1), seen.sum(axis=0)]))


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_symmetric_matrix_is_read_by_halves_if_both_are_alike(sign, alike):
    U, X = matrix(1, 33, alike=alike)
    X, V = (X, U) if sign > 0 else (-X, U)
    fit, tau = V @ V.T, 0.2 * sign
    slopes, weights = reference(X, fit, tau, sign, 0.3, symmetric=True)
    data = Data(ArraySource(X), 1.0, tau, sign, symmetric=True, alike=alike)
    found = look(data, (V, V), Asked(0.3, True, True, True), 8)
    pairs = slopes if alike else slopes + slopes.T
    np.testing.assert_allclose(found.gradient, pairs @ V, atol=1e-6)
    heavy = weights if alike else weights + weights.T
    np.testing.assert_allclose(found.normal, heavy @ outer_products(V), rtol=1e-4, atol=1e-4)
    seen = ~np.isnan(X)
    assert found.totals.count == seen.sum()
    np.testing.assert_allclose(found.totals.squares, np.nansum((fit - X) ** 2))
    np.testing.assert_array_equal(found.seen, seen.sum(axis=1) if alike else seen.sum(axis=0) + seen.sum(axis=1))


@pytest.mark.parametrize("sigma", [None, 0.4])
def test_the_order_of_values_in_memory_changes_nothing(sigma):
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((60, 3)), rng.standard_normal((50, 3))
    X = left @ right.T + 0.4 * rng.standard_normal((60, 50))
    X[X < 0] = np.nan
    asked, found = Asked(sigma, gradient=True, curvature=True, first=True), []
    for values in (np.ascontiguousarray(X), np.asfortranarray(X)):
        data = Data(ArraySource(values), 1.0, 0.0, symmetric=False)
        found.append(look(data, (left, right), asked, 20))
    for name in ("seen", "gradient", "normal", "squares"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


@pytest.mark.parametrize("grid", [(5, 8), (8, 5), (7, 21), (1, 1)])
def test_any_grid_gives_the_same_sums(grid):
    U, X = matrix(4, 43)
    source = ArraySource(X)
    asked = Asked(0.3, True, True, True)
    plain = look(Data(source, 1.0, 0.2, alike=False), (U, U), asked)
    source.block_shape = grid
    found = look(Data(source, 1.0, 0.2), (U, U), asked, 16)
    np.testing.assert_allclose(found.gradient, plain.gradient / 2, atol=1e-5)
    np.testing.assert_allclose(found.normal, plain.normal / 2, rtol=1e-4, atol=1e-4)
    assert found.totals.count == plain.totals.count
    for name in ("squares", "beyond", "pulled", "norm", "low", "high"):
        assert getattr(found.totals, name) == pytest.approx(getattr(plain.totals, name), rel=1e-6)


def test_units_scale_everything_and_nothing_else():
    U, X = matrix(2, 30)
    plain = look(Data(ArraySource(X), 1.0, 0.2), (U, U), Asked(0.3, True, True))
    scaled = look(Data(ArraySource(16 * X), 16.0, 0.2), (U, U), Asked(0.3, True, True))
    np.testing.assert_array_equal(plain.gradient, scaled.gradient)
    assert plain.totals == scaled.totals


def test_a_pass_that_was_cut_short_goes_on_to_the_same_digits():
    U, X = matrix(3, 50)
    data, asked = Data(ArraySource(X), 1.0, 0.2), Asked(0.3, True, True)
    whole = look(data, (U, U), asked, 8)

    class Stopped(Exception):
        pass

    kept = []

    def stop(found, rows):
        if found.done == 11:
            kept.append(found)
            raise Stopped

    with pytest.raises(Stopped):
        look(data, (U, U), asked, 8, told=stop)
    rest = look(data, (U, U), asked, 8, kept[0])
    np.testing.assert_array_equal(whole.gradient, rest.gradient)
    assert whole.totals == rest.totals


def test_blocks_follow_the_grid_of_the_source():
    source = ArraySource(np.zeros((100, 100)))
    source.block_shape = (30, 30)
    blocks = Data(source, symmetric=True, alike=False).blocks(64)
    assert {rows.start for rows, _ in blocks} == {0, 60}
    assert len(blocks) == 4
