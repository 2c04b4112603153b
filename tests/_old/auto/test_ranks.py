"""The rank that exact data have, and the one that leaves only noise."""

import numpy as np
import pytest

from unrelu._old.auto.ranks import Climb, climbed, rank_of_blocks
from unrelu._old.data.observations import Observations
from unrelu.datasets import FAMILIES, family, planted


def seen_of(drawn, threshold=0.0):
    return Observations.of(np.where(drawn.matrix >= threshold, drawn.matrix, np.nan), threshold=threshold)


@pytest.mark.parametrize("name", FAMILIES)
def test_blocks_tell_the_rank_of_exact_data(name):
    assert rank_of_blocks(seen_of(family(name, 100, 4, rng=1)), np.random.default_rng(0)) == 4


def test_blocks_tell_nothing_of_noisy_data_or_where_they_are_too_small():
    assert rank_of_blocks(seen_of(planted(100, 4, sigma=0.01, rng=0)), np.random.default_rng(0)) is None
    assert rank_of_blocks(seen_of(planted(60, 20, rng=0)), np.random.default_rng(0)) is None


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("rank", "sigma", "leaves"), [(5, 0.0, "rounding"), (5, 0.3, "noise"), (3, 2.0, "noise")])
def test_the_smallest_rank_that_is_enough_is_found(rank, sigma, leaves, symmetric):
    ladder = climbed(seen_of(planted(120, rank, sigma=sigma, symmetric_noise=symmetric, rng=2)))
    assert (ladder.rank, ladder.leaves) == (rank, leaves)
    assert {rung.leaves for rung in ladder.rungs if rung.rank < rank} == {"more"}


def test_no_rank_is_enough_for_a_kernel():
    points = np.random.default_rng(0).standard_normal((60, 4))
    squares = np.sum((points[:, None] - points) ** 2, axis=-1)
    kernel = np.exp(-squares / 2)
    X = np.where(kernel >= 0.1, kernel, np.nan)
    assert climbed(Observations.of(X, threshold=0.1)).rank is None


def test_a_matrix_of_few_rows_shows_no_noise():
    drawn = planted(20, 2, sigma=0.3, symmetric_noise=True, rng=0)
    assert climbed(seen_of(drawn)).leaves == "more"


def test_ranks_end_where_there_are_as_many_unknowns_as_equations():
    climb = Climb(seen_of(planted(30, 3, rng=0)))
    ranks = list(climb.ranks())
    assert ranks == [2**k for k in range(len(ranks))]
    pairs = np.count_nonzero(np.triu(planted(30, 3, rng=0).matrix >= 0))
    r = ranks[-1]
    assert 30 * r - r * (r - 1) / 2 < pairs <= 60 * r - 2 * r * (2 * r - 1) / 2
