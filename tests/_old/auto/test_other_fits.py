"""Other fits that are as good: mirror images are found at any size, and none where the data have one answer."""

import numpy as np
import pytest

import unrelu._old.auto.other_fits as module
from unrelu import Censored
from unrelu._old.auto.other_fits import other_fits
from unrelu._old.data.observations import Observations
from unrelu._old.problems.psd import PSDProblem
from unrelu.datasets import planted


def others(X, U, rank, threshold=None, **options):
    observations = Observations.of(X, threshold=threshold).with_diagonal("unknown")
    problem = PSDProblem(observations, rank, Censored(**options))
    first = U / np.sqrt(problem.unit)
    return [other * np.sqrt(problem.unit) for other in other_fits(problem, first, np.random.default_rng(0))]


def hinged(size, noise, lean=0.0):
    """The last rows see the middle ones only by the first, which are on a line; ``lean``: or beside it."""
    rng = np.random.default_rng(1)
    U = rng.standard_normal((9 * size, 2))
    U[: 3 * size, 1] = lean
    wrong = rng.standard_normal((len(U), len(U)))
    X = U @ U.T + noise * (np.triu(wrong) + np.triu(wrong, 1).T)
    X[7 * size :, 3 * size : 7 * size] = X[3 * size : 7 * size, 7 * size :] = np.nan
    return X, U


@pytest.mark.parametrize("size", [4, 16])  # few unknowns, and more than are tried side by side
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_mirror_image_is_found(size, noise):
    X, U = hinged(size, noise)
    (other,) = others(X, U, 2)
    mirrored = U.copy()
    mirrored[7 * size :, 1] *= -1
    off = np.linalg.norm(other @ other.T - mirrored @ mirrored.T) / np.linalg.norm(U @ U.T)
    assert off < 0.2


def test_a_hinge_that_is_no_line_has_no_mirror_image():
    assert others(*hinged(16, 0.1, lean=1.0), 2) == []


@pytest.mark.parametrize("size", [30, 150])
def test_where_there_is_one_answer_nothing_else_is_found(size):
    instance = planted(size, 2, sigma=0.3, symmetric_noise=True, rng=0)
    U, M = instance.factor, instance.matrix
    assert others(np.where(M >= 0, M, np.nan), U, 2, threshold=0.0) == []


def test_noise_that_is_given_says_what_is_as_good():
    # A hinge that leans by little is a hinge if the noise is large.
    X, U = hinged(16, 0.01, lean=0.03)
    assert others(X, U, 2, sigma=0.01) == []
    assert len(others(X, U, 2, sigma=1.0)) == 1


def test_pieces_that_never_see_each_other_have_two_signs():
    u = np.array([1.0, 2.0, 1.5, 0.5, 1.0, 0.7])
    X = np.outer(u, u)
    X[:3, 3:] = X[3:, :3] = np.nan
    (other,) = others(X, u[:, None], 1)
    np.testing.assert_allclose((other @ other.T)[:3, 3:], -np.outer(u[:3], u[3:]), atol=1e-6)


def test_the_prior_of_the_rows_is_that_of_the_sampler():
    u = np.array([[1.0], [2.0], [-0.5]])
    problem = PSDProblem(Observations.of(np.ones((3, 3))), 1)  # a typical entry is 1
    spread = 5.25 - 2.5**2 / 4  # Σu² less (Σu)²/(n + 1): the mean has the weight of one row at zero
    assert module._unlikely(problem, u) == pytest.approx(4 * np.log(0.01 + spread))


@pytest.mark.parametrize(("more", "count"), [(18.0, 1), (30.0, 0)])
def test_a_fit_that_its_prior_rules_out_is_none(monkeypatch, more, count):
    X, U = hinged(4, 0.0)
    fit = U @ U.T / np.linalg.norm(U @ U.T)

    def elsewhere(_, V):
        return 0.0 if np.linalg.norm(V @ V.T / np.linalg.norm(V @ V.T) - fit) < 0.1 else more

    monkeypatch.setattr(module, "_unlikely", elsewhere)
    assert len(others(X, U, 2)) == count
