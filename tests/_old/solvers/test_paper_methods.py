"""The methods the paper compares, against the figures measured from their authors' code.

A = (n=200, r=5, σ=0), B = (1000, 20, 0): unit Gaussian factors, ReLU sampling, the paper's stopping rules.
"""

import numpy as np
import pytest

import unrelu
from helpers import error
from unrelu._old.data.sampling import relu
from unrelu._old.kernels.truncated import truncated_svd
from unrelu.datasets import planted


def instance(n, rank, sigma=0.0, seed=0):
    M = planted(n, rank, sigma=sigma, rng=[seed, 17]).matrix
    return M, relu(M)


def test_admm_on_a():
    M, X = instance(200, 5)
    completion = unrelu.complete(X, 5, method=unrelu.ADMM(stopping="paper"), rng=1, truth=M)
    assert completion.verdict.converged
    assert completion.history[-1].error <= 2e-6
    gap, nuclear = completion.history.column("gap"), completion.history.column("nuclear_norm")
    assert gap[-1] <= 1e-4 < gap[-2]
    # Every X is feasible, so none has a smaller nuclear norm than the answer, that of the planted matrix.
    assert np.nanmin(nuclear[1:]) >= np.trace(M) * (1 - 1e-6)
    assert nuclear[-1] == pytest.approx(np.trace(M), rel=1e-5)


def test_admm_keeps_within_the_ball():
    M, X = instance(100, 3, sigma=0.05)
    seen = ~np.isnan(X)
    delta = 0.05**2 * seen.sum()
    for how in (unrelu.ADMM(sigma=0.05), unrelu.ADMM(delta=delta), unrelu.ADMM(sigma=0.05, adaptive=False, rho=1.0)):
        completion = unrelu.complete(X, 3, method=how, rng=1, tol=1e-6)
        assert completion.verdict.converged, completion.verdict
        own = completion.left @ completion.right.T
        assert np.sum((own - M)[seen] ** 2) == pytest.approx(delta, rel=1e-3)


@pytest.mark.slow
def test_admm_with_the_step_as_printed_solves_another_problem():
    made = planted(200, 5, sigma=1e-2, rng=[0, 17])
    X, delta = relu(made.matrix), float(np.sum((made.matrix - made.truth) ** 2))
    errors = {}
    for projection in ("ball", "printed"):
        how = unrelu.ADMM(delta=delta, projection=projection, stopping="paper")
        completion = unrelu.complete(X, 5, method=how, rng=1)
        assert completion.verdict.converged
        own = completion.left @ completion.right.T
        errors[projection] = np.linalg.norm(own - made.matrix) / np.linalg.norm(made.matrix)
    assert errors["ball"] == pytest.approx(1.1e-2, rel=0.05)  # both measured with another implementation
    assert errors["printed"] == pytest.approx(6.0e-3, rel=0.05)


def test_scaled_gd_on_b():
    M, X = instance(1000, 20)
    completion = unrelu.complete(X, 20, method=unrelu.ScaledGD(stopping="paper"), rng=1)
    assert 85 <= completion.history[-1].iteration <= 125  # 104 with the authors' code
    assert error(completion, M) < 1e-7


def test_pam_on_a():
    iterations = []
    for seed in range(3):
        M, X = instance(200, 5, seed=seed)
        completion = unrelu.complete(X, 5, method=unrelu.PAM(stopping="paper"), rng=1)
        assert error(completion, M) < 1e-5
        iterations.append(completion.history[-1].iteration)
    assert 150 <= np.median(iterations) <= 240  # 193


def test_pam_slows_down_with_its_proximal_terms():
    _, X = instance(200, 5)
    counts = [
        unrelu.complete(X, 5, method=unrelu.PAM(a, a, stopping="paper"), rng=1).history[-1].iteration for a in (0, 1)
    ]
    assert counts[1] > 1.3 * counts[0]  # 193 and 308


@pytest.mark.parametrize(
    ("variant", "most", "accuracy"),
    [("3b", 36, 3e-4), ("adaptive", 36, 6e-4), ("ebcd", 60, 6e-4)],  # 29, 26 and 45
)
def test_momentum_pam_on_b(variant, most, accuracy):
    M, X = instance(1000, 20)
    completion = unrelu.complete(X, 20, method=unrelu.MomentumPAM(variant, stopping="paper"), rng=1, truth=M)
    assert completion.verdict.converged
    assert 15 <= completion.history[-1].iteration <= most
    assert completion.history[-1].error < accuracy


def test_adaptive_momentum_undoes_what_does_not_help():
    _, X = instance(200, 5)
    completion = unrelu.complete(X, 5, method=unrelu.MomentumPAM("adaptive", momentum=0.99), rng=1)
    misfit = completion.history.column("misfit")
    assert np.all(misfit[3:] <= misfit[2:-1] * (1 + 1e-9))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: unrelu.ADMM(rho=0), "rho of admm must be a finite positive number, got 0"),
        (lambda: unrelu.ADMM(projection="cone"), "projection of admm must be ball or printed, got 'cone'"),
        (lambda: unrelu.ADMM(delta=-1), "delta of admm must be a finite number ≥ 0, got -1"),
        (lambda: unrelu.ADMM(delta=1, sigma=1), "admm takes delta or sigma, from which delta follows, not both"),
        (lambda: unrelu.ScaledGD(step_size=-0.5), "step_size of scaled-gd must be a finite positive number, got -0.5"),
        (lambda: unrelu.PAM(alpha=-1), "alpha of pam must be a finite number ≥ 0, got -1"),
        (lambda: unrelu.MomentumPAM(momentum=1.0), "momentum of momentum-pam must be at least 0 and below 1, got 1.0"),
        (lambda: unrelu.MomentumPAM("4b"), "unknown variant of momentum-pam '4b'; did you mean '3b'?"),
    ],
)
def test_parameters_out_of_range_name_the_range(make, text):
    with pytest.raises(unrelu.InputError) as caught:
        make()
    assert text in str(caught.value)


def test_a_step_too_long_diverges_in_words():
    _, X = instance(200, 5)
    completion = unrelu.complete(X, 5, method=unrelu.ScaledGD(step_size=3.0), rng=1)
    assert completion.verdict.code == "diverged"
    assert np.isfinite(completion.factor).all()


class TestTruncatedDecomposition:
    def matrix(self, n=300, k=4, gap=True):
        rng = np.random.default_rng(0)
        left, right = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
        values = np.full(n, 1.0)
        values[:k] = np.linspace(20, 10, k)
        values[k:] = np.linspace(1, 0, n - k) if gap else np.linspace(9.9999, 9.9, n - k)
        return left * values @ right.T

    def test_agrees_with_lapack_from_nothing_and_from_a_guess(self):
        A = self.matrix()
        first = truncated_svd(A, 4)
        again = truncated_svd(A + 1e-6, 4, first.basis)
        for found, B in ((first, A), (again, A + 1e-6)):
            U, s, Vt = np.linalg.svd(B)
            assert found.how == "subspace"
            np.testing.assert_allclose(found.values, s[:4], rtol=1e-9)
            expected = U[:, :4] * s[:4] @ Vt[:4]
            np.testing.assert_allclose(found.left * found.values @ found.right.T, expected, atol=1e-7)

    def test_falls_back_where_there_is_no_gap_and_says_so(self):
        A = self.matrix(gap=False)
        found = truncated_svd(A, 8)
        assert found.how == "full"
        np.testing.assert_allclose(found.values, np.linalg.svd(A, compute_uv=False)[:8], rtol=1e-9)

    def test_lanczos_at_large_n(self, monkeypatch):
        monkeypatch.setattr("unrelu._old.kernels.truncated.FULL", 10)
        A = self.matrix(gap=False)
        found = truncated_svd(A, 8)
        assert found.how == "lanczos"
        np.testing.assert_allclose(found.values, np.linalg.svd(A, compute_uv=False)[:8], rtol=1e-6)

    def test_small_matrices_are_decomposed_in_full(self):
        assert truncated_svd(self.matrix(20, 2), 5).how == "full"

    @pytest.mark.parametrize("turned", [False, True])
    def test_a_matrix_with_few_rows_or_columns_is_small(self, turned):
        rng = np.random.default_rng(0)
        A = rng.standard_normal((20, 5)) @ rng.standard_normal((5, 300))
        found = truncated_svd(A.T if turned else A, 5)
        assert found.how == "full"
        np.testing.assert_allclose(found.values, np.linalg.svd(A, compute_uv=False)[:5], rtol=1e-12)
