"""The tails of the normal distribution on a device, against SciPy in double precision."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import log_ndtr

from unrelu._old.kernels.device.tails import excess, polynomial, tails

torch = pytest.importorskip("torch", reason="the device passes need PyTorch")

# log Φ, h and h(h + t) from −40 to 13.
ALLOWED = {"float32": (5e-6, 5e-6, 5e-6), "float64": (1e-13, 1e-12, 1e-12)}


def exact(t):
    """log Φ, h and h(h + t); on the left h + t by the continued fraction, which loses nothing."""
    log = log_ndtr(t)
    h = np.exp(-(t**2) / 2 - 0.5 * np.log(2 * np.pi) - log)
    more = excess(np.maximum(-t, 0))
    h = np.where(t < 0, more - t, h)
    return log, h, h * np.where(t < 0, more, h + t)


def worst(found, t):
    t = t.astype(np.float64)
    return [float(np.max(np.abs(f.double().numpy() / e - 1))) for f, e in zip(found, exact(t), strict=True)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_digit_is_right_from_minus_forty_to_thirteen(dtype):
    t = np.linspace(-40, 13, 200_001).astype(dtype)
    errors = worst(tails(torch.from_numpy(t)), t)
    assert all(error < most for error, most in zip(errors, ALLOWED[dtype], strict=True)), errors


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_to_the_left_the_asymptotic_series_holds(dtype):
    t = -np.geomspace(1e3, 1e19 if dtype == "float32" else 1e150, 401).astype(dtype)
    log, h, bend = (part.double().numpy() for part in tails(torch.from_numpy(t)))
    t = t.astype(np.float64)
    assert np.allclose(h, -t + -1 / t, rtol=1e-6)
    assert np.allclose(bend, 1 - 1 / t**2, rtol=1e-6)
    assert np.allclose(log, -(t**2) / 2 - 0.5 * np.log(2 * np.pi) - np.log(-t), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_overflows_and_what_is_certain_costs_nothing(dtype):
    t = torch.tensor([-np.inf, -1e30, 60.0, 1e30, np.inf], dtype=getattr(torch, dtype))
    found = torch.stack(tails(t))
    assert torch.isfinite(found).all()
    assert found[:, 2:].abs().max() == 0
    assert abs(found[1, 1] / 1e30 - 1) < 1e-6
    assert (found[2, :2] - 1).abs().max() < 1e-6
    assert torch.isnan(torch.stack(tails(t * torch.nan))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_slope_is_never_more_than_one(dtype):
    """Curvatures of a likelihood lie between 0 and 1, to the last digit."""
    t = torch.linspace(-1e4, 10, 1_000_001, dtype=getattr(torch, dtype))
    bend = tails(t)[2]
    assert bend.min() >= 0
    assert 0.9999 < bend.max() <= 1


def test_the_continued_fraction_is_what_is_left_of_the_ratio():
    a = np.linspace(0, 6, 601)
    h = np.exp(-(a**2) / 2 - 0.5 * np.log(2 * np.pi) - log_ndtr(-a))
    assert np.allclose(excess(a), h - a, rtol=1e-12, atol=1e-13)


def test_a_higher_degree_is_better():
    y = np.linspace(-1, 0.999, 1001)
    a = 4 * (1 + y) / (1 - y)
    errors = [np.max(np.abs(np.polyval(polynomial(d), y) / (a + 4) / excess(a) - 1)) for d in (6, 8, 11, 28)]
    assert all(one > 5 * other for one, other in pairwise(errors))
    assert errors[2] < 3e-7
    assert errors[3] < 1e-13
