"""What ``auto`` does with tables and with indefinite matrices: pieces, interrupts, noise that was given, absence."""

from __future__ import annotations

import numpy as np
import pytest

import unrelu
from unrelu._old.kernels import kernel_for


def blocks(seed, m, rank, signs=None):
    """Two blocks that never see each other."""
    rng = np.random.default_rng(seed)
    if signs is None:
        M = rng.standard_normal((2 * m, rank)) @ rng.standard_normal((rank, 2 * m))
    else:
        U = rng.standard_normal((2 * m, len(signs)))
        M = (U * signs) @ U.T
    X = np.full(M.shape, np.nan)
    X[:m, :m], X[m:, m:] = M[:m, :m], M[m:, m:]
    return X


@pytest.mark.parametrize("m", [4, 12, 110])
@pytest.mark.parametrize("rank", [1, 2])
def test_pieces_of_a_table_are_each_fitted(m, rank):
    X = blocks(m, m, rank)
    completion = unrelu.complete_rectangular(X, rank, threshold=None, rng=0)
    assert completion.verdict.code.value == "fitted"
    assert completion.residual < 1e-12
    assert set(completion.components) == {0, 1}
    assert completion.entry_determinacy([0], [m]).tolist() == ["no"]


@pytest.mark.parametrize("m", [6, 110])
@pytest.mark.parametrize("signs", [(1,), (1, -1)])
def test_pieces_of_an_indefinite_matrix_are_each_fitted(m, signs):
    completion = unrelu.complete(blocks(1, m, None, signs), len(signs), threshold=None, structure="indefinite", rng=0)
    assert completion.verdict.code.value == "fitted"
    assert completion.signs == signs


def noisy_table():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((24, 2)) @ rng.standard_normal((2, 18)) + 0.3 * rng.standard_normal((24, 18))
    return np.where(Y >= 0, Y, np.nan)


def noisy_signed():
    rng = np.random.default_rng(0)
    U, E = rng.standard_normal((24, 2)), 0.3 * rng.standard_normal((24, 24))
    Y = (U * [1, -1]) @ U.T + (E + E.T) / 2
    return np.where(Y >= 0, Y, np.nan)


DOORS = {
    "table": lambda **options: unrelu.complete_rectangular(noisy_table(), 2, rng=0, **options),
    "indefinite": lambda **options: unrelu.complete(noisy_signed(), 2, structure="indefinite", rng=0, **options),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("loss", ["auto", "one-sided"])
def test_an_interrupt_at_any_iteration_ends_the_call(door, loss):
    told = []
    DOORS[door](loss=loss, callback=lambda record: told.append(record) and None)
    for moment in range(len(told)):
        left = [moment]

        def interrupt(record, left=left):
            left[0] -= 1
            if left[0] < 0:
                left[0] = 10_000
                raise KeyboardInterrupt

        completion = DOORS[door](loss=loss, callback=interrupt)
        assert completion.verdict.code.value == "interrupted", moment
        assert np.isfinite(completion.matrix()).all()
        assert completion.matrix().any()


@pytest.mark.parametrize("door", DOORS)
def test_who_has_no_time_for_the_likelihood_gets_the_squares(door, monkeypatch):
    """The time is over between the two."""
    from unrelu._old.auto import indefinite, table
    from unrelu._old.base.budget import OutOfTime

    def over(*_, **__):
        raise OutOfTime

    monkeypatch.setattr(table, "likelier", over)
    monkeypatch.setattr(indefinite, "begun_at", over)
    completion = DOORS[door](tol=unrelu.MaxSeconds(1000))
    assert completion.verdict.code.value == "max-seconds"
    assert completion.matrix().any()


def test_noise_that_was_given_is_there_however_well_the_squares_fit():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 12))
    X = np.where(M >= -1, M, np.nan)
    table = unrelu.complete_rectangular(X, 2, threshold=-1.0, sigma=0.5, rng=0)
    U = rng.standard_normal((30, 2))
    S = np.where(U @ U.T >= 0, U @ U.T, np.nan)
    for found in (table, unrelu.complete(S, 2, sigma=0.5, rng=0)):
        assert (found.loss, found.sigma, found.sigma_given) == ("censored", 0.5, True)
        low, high = found.interval(0, 1)
        assert high - low > 0.2


def test_absence_that_contradicts_what_was_seen_is_told():
    rng = np.random.default_rng(0)
    M = 5 + rng.standard_normal((60, 1)) @ rng.standard_normal((1, 5))
    X = np.where(np.quantile(M, 0.3, axis=0) <= M, M, np.nan)
    forgotten = unrelu.complete_rectangular(X, 2, rng=0)  # the threshold is not 0
    assert forgotten.verdict.code.value == "stationary"
    assert "what absence says contradicts them" in forgotten.verdict.reason
    right = unrelu.complete_rectangular(X, 2, threshold=np.quantile(M, 0.3, axis=0), rng=0)
    assert right.verdict.code.value == "fitted"


def test_the_search_uses_the_kernel_of_the_caller():
    calls = []

    class Counting:
        def __init__(self, observations, loss):
            self.inner = kernel_for(observations, loss)
            calls.append(observations.size)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    rng = np.random.default_rng(0)
    U = rng.standard_normal((20, 2))
    X = (U * [1, -1]) @ U.T
    unrelu.complete(X, 2, structure="indefinite", threshold=None, kernel=Counting, rng=0)
    assert 40 in calls  # as a table
    assert 20 in calls


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.5])
def test_entries_seen_between_two_limits_are_first_fitted_without_their_gap(noise):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40))
    Y = M + noise * rng.standard_normal(M.shape)
    X = np.where(np.abs(Y) <= 1.5, Y, np.nan)
    found = unrelu.complete_rectangular(X, 3, threshold=(-1.5, 1.5), seen="between", rng=0)
    assert found.verdict.converged
    assert np.linalg.norm(found.matrix() - M) <= (0.6 * noise + 1e-10) * np.linalg.norm(M)
    assert any(attempt.start.endswith("without gaps") for attempt in found.attempts)
