"""Passes for the fit USUᵀ with S = diag(±1), beside the same written out with one n×n array per symbol."""

import numpy as np
import pytest
from scipy.stats import norm

from helpers import ROUNDING
from unrelu import Censored, Limits, Observed, OneSided
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource
from unrelu._old.kernels import GeneralKernel, TiledKernel, pairs

N, TAU, SIGMA = 30, 0.3, 0.7
SIGNS = np.array([1.0, 1.0, -1.0])
STEP = 1e-6

CASES = [
    pytest.param(TiledKernel, Observed(), False, id="tiled-observed"),
    pytest.param(TiledKernel, OneSided(), False, id="tiled-one-sided"),
    pytest.param(GeneralKernel, OneSided(), False, id="general-one-sided"),
    pytest.param(GeneralKernel, OneSided(), True, id="general-one-sided-weighted"),
    pytest.param(GeneralKernel, Censored(SIGMA), False, id="general-censored"),
    pytest.param(GeneralKernel, Censored(SIGMA), True, id="general-censored-weighted"),
]


@pytest.fixture(autouse=True, params=[7, 256], ids=["many tiles", "one tile"])
def tile(request, monkeypatch):
    monkeypatch.setattr(pairs.edges, "__defaults__", (request.param,))


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


class Dense:
    """Cost, slope and curvature of every entry of USUᵀ, and the passes made of them."""

    def __init__(self, loss, observations, unknown, weights):
        self.loss, self.unit, self.weights = loss, observations.unit, weights
        self.X = observations.source.values.astype(np.float64) / self.unit
        self.seen = ~np.isnan(self.X)
        self.absent = ~self.seen & ~unknown

    def entries(self, P):
        """Cost, slope and curvature; what is unknown has none."""
        tau, sigma = TAU / self.unit, SIGMA / self.unit
        off = np.where(self.seen, P - self.X, np.maximum(P - tau, 0))
        found = off**2 / 4, off / 2, (self.seen | (off > 0)) / 2
        told = self.seen | (self.absent & (self.loss.name != "observed"))
        if self.loss.name == "censored":
            z = (tau - P) / sigma
            h = np.exp(norm.logpdf(z) - norm.logcdf(z))
            rho = np.where(self.seen, P - self.X, 0) / sigma
            found = (
                np.where(self.seen, rho**2 / 2 + np.log(sigma), -norm.logcdf(z)),
                np.where(self.seen, rho, h) / sigma,
                np.where(self.seen, 1, h * (h + z)) / sigma**2,
            )
        return [np.where(told, self.weights * array, 0) for array in found]

    def value(self, U):
        return np.sum(self.entries(U * SIGNS @ U.T)[0])

    def slopes(self, U):
        slope = self.entries(U * SIGNS @ U.T)[1]
        return slope + slope.T

    def curvatures(self, U):
        curvature = self.entries(U * SIGNS @ U.T)[2]
        return curvature + curvature.T


def posed(kind, loss, weighted, dtype=np.float64):
    """A kernel, the dense one beside it, a point and a direction: pattern and values are not symmetric."""
    rng = np.random.default_rng(5)
    V = rng.standard_normal((N, 3))
    M = V * SIGNS @ V.T + 0.3 * rng.standard_normal((N, N))
    unknown = rng.random((N, N)) < 0.1
    X = np.where((M >= TAU) & ~unknown, M, np.nan).astype(dtype)
    weights = rng.uniform(0.3, 2, (N, N)) if weighted else None
    observations = Observations(ArraySource(X), Limits(high=TAU, unknown=unknown), weights=weights)
    U, D = (rng.standard_normal((2, N, 3)) / np.sqrt(observations.unit)).astype(dtype)
    dense = Dense(loss, observations, unknown, 1.0 if weights is None else weights)
    assert dense.absent.any()
    assert (dense.seen != dense.seen.T).any()
    return kind(observations, loss), dense, U, D


def near(found, expected, rounding):
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * np.abs(expected).max())


@pytest.mark.parametrize(("kind", "loss", "weighted"), CASES)
def test_every_pass_is_that_of_the_dense_matrix(kind, loss, weighted, dtype):
    kernel, dense, U, D = posed(kind, loss, weighted, dtype)
    kernel = kernel.signed(SIGNS)
    assert type(kernel) is kind
    # Under the likelihood curvatures are kept in single precision where all entries weigh the same.
    rounding = 1e-5 if dtype == np.float32 else 1e-11
    kept_rounding = rounding if loss.squared or weighted else 1e-5 if dtype == np.float32 else 1e-6
    value, gradient, kept, *_ = kernel.evaluate(U)
    u, d = U.astype(np.float64), D.astype(np.float64)
    V, Z, W = u * SIGNS, dense.slopes(u), dense.curvatures(u)
    assert value == pytest.approx(dense.value(u), rel=rounding)
    near(gradient, Z @ V, rounding)
    other = np.random.default_rng(6).standard_normal((N, 4)).astype(dtype)
    near(kernel.residual_times(U, other), Z @ other, rounding)
    expected = W * (u * SIGNS @ d.T + d * SIGNS @ u.T) @ V
    product = kernel.curvature(U, D, kept)
    near(product, expected, kept_rounding)
    assert {gradient.dtype, product.dtype, kernel.residual_times(U, other).dtype} == {np.dtype(dtype)}
    matrix = kernel.curvature_matrix(U, kept)
    near((matrix @ d.ravel()).reshape(N, 3), product, 1e-5 if dtype == np.float32 else ROUNDING)
    columns = [kernel.curvature(U, unit.reshape(N, 3), kept).ravel() for unit in np.eye(3 * N, dtype=dtype)]
    near(matrix, np.stack(columns, axis=1), 1e-5 if dtype == np.float32 else ROUNDING)


@pytest.mark.parametrize(("kind", "loss", "weighted"), CASES)
def test_the_line_is_that_of_the_dense_matrix(kind, loss, weighted, dtype):
    kernel, dense, U, D = posed(kind, loss, weighted, dtype)
    kernel = kernel.signed(SIGNS)
    value, gradient, kept, *_ = kernel.evaluate(U)
    u, d = U.astype(np.float64), D.astype(np.float64)
    line = kernel.line(U, D, value, float(np.vdot(gradient, D)), kept)
    steps = [0.25, 1.5]
    if loss.name == "one-sided":  # the quick kernel's line holds up to the first kink
        P, L, Q = u * SIGNS @ u.T - TAU / dense.unit, u * SIGNS @ d.T, d * SIGNS @ d.T
        t = 1.0
        while np.any((P > 0) != (P + t * (L + L.T) + t**2 * Q > 0)):
            t /= 2
        steps = [t / 2, t]
    rounding = 1e-5 if dtype == np.float32 else 1e-10
    values, slopes = line.at(steps)
    near(values, [dense.value(u + t * d) for t in steps], rounding)
    gradients = [dense.slopes(u + t * d) @ ((u + t * d) * SIGNS) for t in steps]
    near(slopes, [np.vdot(gradient, d) for gradient in gradients], rounding)


@pytest.mark.parametrize(("kind", "loss", "weighted"), CASES)
def test_gradient_and_curvature_are_differences(kind, loss, weighted):
    kernel, _, U, D = posed(kind, loss, weighted)
    kernel = kernel.signed(SIGNS)
    _, gradient, kept, *_ = kernel.evaluate(U)
    (up, higher, *_), (down, lower, *_) = (kernel.evaluate(U + t * D) for t in (STEP, -STEP))
    assert float(np.vdot(gradient, D)) == pytest.approx((up - down) / (2 * STEP), rel=1e-5)
    # The gradient is ZUS: its derivative has that of Z, and that of US.
    hessian = kernel.curvature(U, D, kept) + kernel.residual_times(U, D * SIGNS)
    near(hessian, (higher - lower) / (2 * STEP), 1e-5)


@pytest.mark.parametrize(("kind", "loss", "weighted"), CASES)
def test_without_signs_everything_is_as_before(kind, loss, weighted):
    kernel, _, U, D = posed(kind, loss, weighted)

    def passes(kernel):
        value, gradient, kept, *_ = kernel.evaluate(U)
        line = kernel.line(U, D, value, 1.0, kept)
        products = kernel.curvature(U, D, kept), kernel.curvature_matrix(U, kept), kernel.residual_times(U, D)
        return [value, gradient, *products, *line.at([0.5])]

    before = passes(kernel)
    signed = kernel.signed(SIGNS)
    assert not np.allclose(passes(signed)[1], before[1])
    for found, expected in zip(passes(kernel), before, strict=True):
        np.testing.assert_array_equal(found, expected)  # the signs are those of another one
    for found, expected in zip(passes(signed.signed(None)), before, strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(passes(kernel.signed(np.ones(3))), before, strict=True):
        near(found, expected, ROUNDING)  # BLAS multiplies a matrix with itself in another order
    if not loss.squared:  # an estimate changes, the signs stay
        again = signed.with_loss(loss)
        np.testing.assert_array_equal(again.evaluate(U)[1], signed.evaluate(U)[1])
