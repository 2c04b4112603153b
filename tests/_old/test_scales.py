"""Data of any size that numbers can hold: every public path answers, and answers the same."""

import warnings

import numpy as np
import pytest

import unrelu
from unrelu._old.loop.history import in_units
from unrelu._old.model.factors import relative_error
from unrelu._old.solvers import METHODS

# About 1e-300, 1e-155, 1e103 (where the square is too large soon), 1e154, 1e205 and 1e300: powers of four, so that
# scaling is exact.
SCALES = [4.0**power for power in (-498, -258, 171, 256, 341, 498)]


def instance(noise=0.01):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((14, 2))
    M = U @ U.T
    E = noise * rng.standard_normal((14, 14))
    Y = M + E + E.T
    return M, np.where(Y >= 0, Y, np.nan)


def quietly(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unrelu.CompletionWarning)
        return call(*arguments, **options)


@pytest.fixture(scope="module")
def plain():
    M, X = instance()
    return M, X, quietly(unrelu.complete, X, 2, loss="one-sided", rng=0, truth=M)


@pytest.fixture(params=SCALES, ids=lambda scale: f"{scale:.0e}", scope="module")
def scaled(request, plain):
    M, X, _ = plain
    scale = request.param
    return scale, M * scale, X * scale, quietly(unrelu.complete, X * scale, 2, loss="one-sided", rng=0, truth=M * scale)


EVERYONE = np.arange(14)[:, None], np.arange(14)


def test_the_answer_scales(plain, scaled):
    _, _, one = plain
    scale, _, _, other = scaled
    np.testing.assert_array_equal(other.factor, one.factor * np.sqrt(scale))
    assert other.verdict.code is one.verdict.code
    assert other.residual == one.residual
    assert other.history[-1].error == one.history[-1].error
    assert np.array_equal(other.determinacy, one.determinacy)
    np.testing.assert_array_equal(other.matrix(), one.matrix() * scale)
    np.testing.assert_array_equal(other.filled(), one.filled() * scale)
    assert other.objective == in_units(one.objective, scale, 2)


def test_errors_and_bounds_scale(plain, scaled):
    _, _, one = plain
    scale, _, _, other = scaled
    np.testing.assert_array_equal(np.array(other.interval(*EVERYONE)), np.array(one.interval(*EVERYONE)) * scale)
    np.testing.assert_array_equal(np.array(other.bounds(*EVERYONE)), np.array(one.bounds(*EVERYONE)) * scale)
    assert other.noise.sigma == one.noise.sigma * scale
    assert other.noise.degrees_of_freedom == one.noise.degrees_of_freedom
    assert other.error_bars().caution == one.error_bars().caution


def test_words_and_files_hold_it(scaled, tmp_path):
    scale, _, X, completion = scaled
    # What numbers cannot hold is null in JSON, and infinite or zero everywhere else.
    if scale > 1e200:
        assert completion.objective == np.inf
        assert completion.summary()["objective"] is None
    else:
        assert completion.objective == 0 if scale < 1e-200 else 0 < completion.objective < np.inf
        assert completion.summary()["objective"] == completion.objective
    assert "completed at rank 2" in str(completion)
    completion.save(tmp_path / "saved.npz")
    back = unrelu.Completion.load(tmp_path / "saved.npz")
    assert back.objective == completion.objective
    assert [record.objective for record in back.history] == [record.objective for record in completion.history]
    np.testing.assert_array_equal(back.filled(X), completion.filled())
    np.testing.assert_array_equal(back.interval(*EVERYONE, X=X), completion.interval(*EVERYONE))


def test_certificates_do_not_see_the_scale(scaled):
    scale, *_ = scaled
    _, X = instance(noise=0.0)
    one, other = (quietly(unrelu.certify, data, 2) for data in (X, X * scale))
    assert other.unique == one.unique
    assert str(other) == str(one)


@pytest.mark.parametrize("scale", [SCALES[0], SCALES[-1]])
def test_comparisons_do_not_see_the_scale(plain, scale):
    M, X, _ = plain
    found = [
        quietly(unrelu.compare, X * by, 2, methods=["gauss-newton", "scaled-gd"], truth=M * by, rng=0).rows
        for by in (1.0, scale)
    ]
    assert [row.error for row in found[1]] == [row.error for row in found[0]]


@pytest.mark.parametrize("scale", [SCALES[0], SCALES[-1]])
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"direct"}))
def test_every_method_takes_it(method, scale):
    X = instance()[1] * scale
    completion = quietly(unrelu.complete, X, 2, method=method, rng=0, max_iter=5)
    assert np.isfinite(completion.factor).all()


def test_units_saturate():
    assert in_units(3.0, 16.0, 1.5) == 192.0
    assert in_units(3.0, 4.0**341, 1.5) == np.inf
    assert in_units(1e-9, 4.0**-500, 2) == 0.0
    assert in_units(0.0, 4.0**-500, -2) == 0.0


def test_an_error_of_any_size_is_measured():
    u = np.array([[3.0], [4.0]])
    for scale in (1e-150, 1.0, 1e150):
        assert relative_error(u * scale, (u * scale) @ (u * scale).T) == 0
        assert relative_error(0 * u, (u * scale) @ (u * scale).T) == 1
        assert relative_error(2 * u * scale, (u * scale) @ (u * scale).T) == pytest.approx(3)
    assert relative_error(1e150 * u, 1e-150 * u @ u.T) == np.inf
