"""What few entries, repeated blocks and rounding may say of noise and rank: rules that could be loosened unseen."""

import numpy as np
import pytest

from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import Floor


def gram(n, rank, seed=0, sigma=0.0):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    noise = sigma * rng.standard_normal((n, n))
    return U @ U.T + (noise + noise.T) / np.sqrt(2)


def floor_of(X, rank):
    return Floor.of(Observations.of(X, threshold=None), rank, np.random.default_rng(0))


@pytest.mark.parametrize(("more", "told"), [(2, False), (3, False), (4, True)])
def test_three_or_six_entries_tell_no_noise_and_ten_do(more, told):
    """A block of r + k rows has k(k + 1)/2 entries beyond its rank."""
    for seed in range(5):
        assert (floor_of(gram(3 + more, 3, seed, 0.1), 3).noise is not None) is told


def test_a_few_entries_above_zero_are_no_rank_either():
    """Two eigenvalues of noise are both above zero once in seven times: a block of r + 2 rows does not show rank."""
    found = floor_of(gram(5, 5), 3)
    assert found.noise is None
    assert not found.shows_rank


def test_a_block_that_is_found_again_tells_nothing_new():
    """Two blocks of r + 2 rows, three entries each: six in all, however often each of them is met."""
    X = np.full((10, 10), np.nan)
    X[:5, :5], X[5:, 5:] = gram(5, 3, 0, 0.1), gram(5, 3, 1, 0.1)
    assert floor_of(X, 3).noise is None


def test_blocks_that_share_rows_know_no_more_than_one_block_of_all_their_rows():
    """Twelve rows of rank 3 have nine beyond it, 45 entries; eight blocks of nine rows would count 168."""
    X = gram(12, 3, 0, 0.1)
    for i in (0, 2, 4):
        X[i, i + 1] = X[i + 1, i] = np.nan
    assert floor_of(X, 3).entries == 45


@pytest.mark.parametrize(("beyond", "shown"), [(3.5, False), (4.5, True)])
def test_forty_entries_show_rank_by_sixteen_times_the_squares(beyond, shown):
    assert Floor(1.0, beyond, 40, 1e-9).shows_rank is shown


@pytest.mark.parametrize(
    ("dtype", "weak", "shown"),
    [(np.float64, 1e-11, False), (np.float64, 1e-7, True), (np.float32, 1e-5, False), (np.float32, 1e-2, True)],
)
def test_rank_as_weak_as_the_rounding_of_the_data_is_not_shown(dtype, weak, shown):
    """Both are above the rounding of one operation by far: what the data were made with may have lost more."""
    M = gram(20, 3)
    w = np.random.default_rng(1).standard_normal(20)
    X = (M + weak * np.sqrt(np.mean(M**2)) * np.outer(w, w)).astype(dtype)
    found = floor_of(X, 3)
    assert found.beyond > 10 * found.noise
    assert found.shows_rank is shown


def test_more_blocks_are_looked_for_in_a_large_matrix_while_few_entries_tell():
    """Beyond 400 rows a dozen tries come first: at rank 18 they find none, or hardly any, of more than 19 rows."""
    for seed in range(3):
        M = gram(450, 18, seed, 0.1)
        observations = Observations.of(np.where(M >= 0, M, np.nan))
        found = Floor.of(observations, 18, np.random.default_rng(0))
        assert found.entries >= 25
        assert 0.05 < found.noise * observations.unit < 0.2


def test_blocks_of_one_row_more_than_the_rank_tell_nothing_however_many():
    """Each has one eigenvalue beyond the rank, the least of its block, which is below zero more often than not."""
    X = np.full((48, 48), np.nan)
    for k in range(12):
        X[4 * k : 4 * k + 4, 4 * k : 4 * k + 4] = gram(4, 3, k, 0.1)
    assert floor_of(X, 3).noise is None


@pytest.mark.parametrize(
    ("noise", "beyond", "none"), [(1e-16, 1e-16, True), (1e-3, 1e-16, False), (1e-16, 1e-3, False), (None, 0.0, False)]
)
def test_blocks_show_no_noise_if_rounding_is_all_that_they_leave(noise, beyond, none):
    assert Floor(noise, beyond, 20, 1e-12).shows_no_noise is none
