"""The compiled pass beside the NumPy one, which is its reference."""

import numpy as np
import pytest

import unrelu
from unrelu.data.limits import Limits
from unrelu.data.observations import Observations
from unrelu.kernels import CompiledKernel, GeneralKernel, kernel_for
from unrelu.kernels import bands as bands_module
from unrelu.kernels.bands import BandKernel
from unrelu.model.losses import Censored
from unrelu.model.losses.tails import beyond, ratio_table

pytest.importorskip("numba")


def seen(tau, side, seed=0, n=300, symmetric=True, unknown=None, dtype=np.float64):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, 3))
    E = rng.standard_normal((n, n))
    Y = U @ U.T + ((E + E.T) / np.sqrt(2) if symmetric else E)
    X = np.where(tau <= Y if side == "above" else tau >= Y, Y, np.nan)
    if unknown is not None:
        X[unknown] = np.nan
    return Observations.of(X.astype(dtype), threshold=tau, seen=side, unknown=unknown), U


@pytest.mark.parametrize("sigma", [1e-3, 0.05, 1.0, 30.0])
@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_it_is_the_numpy_pass(sigma, side, symmetric):
    unknown = np.random.default_rng(9).random((300, 300)) < 0.1
    for observations, U in (seen(0.3, side, symmetric=symmetric), seen(0.3, side, 1, unknown=unknown)):
        point = U / np.sqrt(observations.unit)
        quick, plain = (kind(observations, Censored(sigma)) for kind in (CompiledKernel, GeneralKernel))
        one, other = quick.evaluate(point), plain.evaluate(point)
        assert one[0] == pytest.approx(other[0], rel=1e-11)
        np.testing.assert_allclose(one[1], other[1], rtol=1e-8, atol=1e-9 * np.abs(other[1]).max())
        np.testing.assert_allclose(one[3], other[3], rtol=1e-9, atol=1e-9 * np.abs(other[3]).max())
        for mine, theirs in zip(one[2], other[2], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6 / sigma**2)
        D = np.random.default_rng(2).standard_normal(point.shape)
        products = [kernel.residual_times(point, D) for kernel in (quick, plain)]
        np.testing.assert_allclose(*products, rtol=1e-8, atol=1e-9 * np.abs(products[1]).max())


def test_far_into_the_tail():
    X = np.array([[1.0, np.nan], [np.nan, 1.0]])
    observations = Observations.of(X)
    for length in (1.0, 10.0, 39.0, 41.0, 1e3, 1e6):
        U = np.sqrt(length) * np.array([[1.0], [1.0]])
        quick, plain = (kind(observations, Censored(1.0)).evaluate(U) for kind in (CompiledKernel, GeneralKernel))
        assert quick[0] == pytest.approx(plain[0], rel=1e-12)
        np.testing.assert_allclose(quick[1], plain[1], rtol=1e-11)


def test_the_table_is_the_function_between_its_points():
    z = np.random.default_rng(0).uniform(-40, 9, 5000)
    log, ratio, bend = np.empty((3, z.size))
    beyond(z, log, ratio, bend)
    k = np.rint((z + 40) * 32).astype(int)
    d = z + 40 - k / 32
    quick = sum(ratio_table()[k, order] * d**order for order in range(7))
    np.testing.assert_allclose(quick, ratio, rtol=1e-11, atol=1e-20)


def test_it_serves_where_it_can_and_nowhere_else():
    observations, _ = seen(0.3, "above", n=40)
    assert isinstance(kernel_for(observations, Censored()), CompiledKernel)
    between = observations.with_limits(Limits(low=-1.0, high=0.3))
    assert type(kernel_for(between, Censored())) is GeneralKernel
    assert not isinstance(kernel_for(observations, unrelu.OneSided()), GeneralKernel)


def test_float32_stays_float32():
    observations, U = seen(0.3, "above", n=40, dtype=np.float32)
    point = (U / np.sqrt(observations.unit)).astype(np.float32)
    quick, plain = (kind(observations, Censored(1.0)).evaluate(point) for kind in (CompiledKernel, GeneralKernel))
    assert quick[1].dtype == np.float32
    np.testing.assert_allclose(quick[1], plain[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("momenta", [(0.0, 0.0), (0.7, 0.0), (0.7, 0.7)])
@pytest.mark.parametrize("loss", [unrelu.Observed(), unrelu.OneSided()], ids=lambda loss: loss.name)
def test_a_step_of_3b_nmd_is_that_of_numpy(side, momenta, loss, monkeypatch):
    unknown = np.random.default_rng(9).random((40, 40)) < 0.1
    observations, U = seen(0.3, side, n=40, unknown=unknown)
    bands = BandKernel(observations, loss)
    rng = np.random.default_rng(1)

    def stepped():
        found = []
        for chunk in bands.over(lambda chunk: chunk):
            for band in chunk:
                T = U[band.rows] @ U.T / observations.unit
                theta, Z = rng.standard_normal((2, *T.shape))
                if not any(momenta):
                    theta[:], Z[:] = np.nan, np.nan  # what was before may be anything
                after = np.empty((2, *T.shape))
                misfit = band.extrapolated(T, (theta, Z), momenta, (after[0], after[1]))
                found.append((misfit, after))
        return found

    quick = stepped()
    rng = np.random.default_rng(1)
    monkeypatch.setattr(bands_module.compiled, "available", lambda: False)
    for (one, mine), (other, theirs) in zip(quick, stepped(), strict=True):
        assert one == pytest.approx(other, rel=1e-12)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
