"""dim="auto": the dimension that was planted is found, and close calls are called so."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import unrelu
from unrelu import InputError
from unrelu._old.base.generators import generator_of
from unrelu._old.distances.dimension import Gain, Ladder
from unrelu._old.distances.ranges import Ranges


def planted(n, dim, neighbours, noise=0.0, seed=0, thickness=1.0):
    """Points, their distances up to a cut-off, measured before they were cut off, and the cut-off."""
    rng = np.random.default_rng([seed, n, dim])
    points = rng.random((n, dim))
    points[:, -1] *= thickness
    apart = pdist(points)
    cutoff = float(np.sort(apart)[n * neighbours // 2 - 1])
    measured = apart + noise * cutoff * rng.standard_normal(len(apart))
    return points, squareform(np.where((measured <= cutoff) & (measured > 0), measured, np.nan)), cutoff


@pytest.mark.parametrize(("dim", "neighbours"), [(1, 15), (2, 15), (3, 25), (5, 40)])
def test_exact_distances_tell_their_dimension(dim, neighbours):
    points, D, cutoff = planted(70, dim, neighbours)
    result = unrelu.complete_distances(D, "auto", cutoff=cutoff, rng=0)
    assert result.dim == result.dimension.dim == dim
    assert result.verdict.code.value == "fitted"
    assert result.determined.all()
    assert result.dimension.rival is None
    np.testing.assert_allclose(pdist(result.points), pdist(points), rtol=0, atol=1e-8)
    again = unrelu.complete_distances(D, dim, cutoff=cutoff, rng=0)
    np.testing.assert_array_equal(again.points, result.points)
    assert again.dimension is None
    if dim > 1:
        assert f"the best of {dim - 1} dimension" in result.explain()


def climbed(D, cutoff, sigma=None):
    """The quick part alone: dimension by dimension, while one more gains what noise does not."""
    ladder = Ladder(Ranges.of(D, cutoff=cutoff, sigma=sigma), generator_of(0))
    dim, exact = ladder.lowest()
    below, gains = ladder.fresh(dim), []
    while not below.exact:
        above = ladder.above(below)
        below = min(below, ladder.under(above), key=lambda one: one.squares)
        gains.append(ladder.gain(below, above))
        if not gains[-1].needed:
            break
        below = above
    return below.dim, gains, exact


@pytest.mark.parametrize(("dim", "neighbours"), [(1, 15), (2, 15), (3, 25)])
@pytest.mark.parametrize("sigma", [None, 0.05])
def test_noise_makes_no_dimension(dim, neighbours, sigma):
    for seed in range(1 if dim == 3 else 2):
        _, D, cutoff = planted(60, dim, neighbours, noise=0.05, seed=seed)
        found, gains, exact = climbed(D, cutoff, None if sigma is None else sigma * cutoff)
        assert found == dim
        assert not exact
        assert gains[-1].gain < gains[-1].limit / 1.5


def test_a_slab_is_no_plane_unless_the_noise_hides_it():
    _, D, cutoff = planted(70, 3, 35, noise=0.02, thickness=0.15)
    found, gains, _ = climbed(D, cutoff)
    assert (found, gains[-2].needed if len(gains) > 1 else True) == (3, True)
    _, D, cutoff = planted(70, 3, 35, noise=0.1, thickness=0.02)
    assert climbed(D, cutoff)[0] == 2
    _, D, cutoff = planted(70, 3, 35, thickness=0.02)
    assert unrelu.complete_distances(D, "auto", cutoff=cutoff, rng=0).dim == 3


def test_a_plane_with_noise_from_end_to_end():
    _, D, cutoff = planted(30, 2, 15, noise=0.03)
    result = unrelu.complete_distances(D, "auto", cutoff=cutoff, rng=0)
    assert (result.dim, result.verdict.code.value) == (2, "fitted-to-noise")
    assert "2 dimensions explain the distances up to noise" in result.explain()
    own = next(one for one in result.dimension.tried if one.dim == 2)
    assert own.gain < own.limit
    # The misfit per spare distance is the noise.
    assert own.misfit == pytest.approx(0.03 * cutoff, rel=0.3)
    told = result.summary()["dimension"]
    assert (told["chosen"], told["rival"]) == (2, None)


def test_what_the_data_cannot_tell_is_said():
    chain = np.full((4, 4), np.nan)  # three distances in a row fit a line, and anything else
    for k in range(3):
        chain[k, k + 1] = 1.0 + k
    result = unrelu.complete_distances(chain, "auto", rng=0)
    assert (result.dim, result.dimension.rival) == (1, 2)
    assert "the data cannot tell" in result.dimension.why
    square = squareform(pdist(np.array([[0, 0], [1, 0], [1, 1.0], [0, 1]]) + 0.01 * np.eye(4, 2)))
    noisy = square + 0.05 * np.array([[0, 1, -1, 1], [1, 0, 1, 1], [-1, 1, 0, -1], [1, 1, -1, 0]])
    few = unrelu.complete_distances(noisy, "auto", rng=0)  # six distances for four points: none to spare in space
    assert (few.dim, few.dimension.rival) == (2, 3)
    assert "2 and 3 dimensions fit alike: too few distances are to spare" in few.dimension.why


def test_the_order_of_the_points_and_the_unit_make_no_difference():
    _, D, cutoff = planted(40, 2, 14)
    order = np.random.default_rng(1).permutation(40)
    one = unrelu.complete_distances(D, "auto", cutoff=cutoff, rng=3)
    other = unrelu.complete_distances(4 * D[np.ix_(order, order)], "auto", cutoff=4 * cutoff, rng=3)
    assert other.dim == one.dim
    np.testing.assert_allclose(pdist(other.points), 4 * pdist(one.points[order]), rtol=1e-9, atol=1e-9)


def test_components_have_one_dimension_together():
    _, D, _ = planted(40, 2, 15)
    _, E, _ = planted(40, 1, 15)
    both = np.full((80, 80), np.nan)
    both[:40, :40], both[40:, 40:] = D, E
    result = unrelu.complete_distances(both, "auto", rng=0)
    assert result.dim == 2


def test_gains_beyond_the_limit_are_needed():
    assert Gain(3.1, 3.0).needed
    assert not Gain(2.9, 3.0).needed


def test_a_cut_short_search_says_so():
    _, D, cutoff = planted(100, 3, 30, noise=0.05)
    result = unrelu.complete_distances(D, "auto", cutoff=cutoff, rng=0, max_seconds=0.05)
    assert result.verdict.code.value == "max-seconds"
    assert not result.determined.any()
    assert "cut short" in result.dimension.why


def test_places_that_were_found_are_kept_when_the_search_is_cut_short(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    _, D, cutoff = planted(40, 2, 15)
    monkeypatch.setattr(Ladder, "found", interrupted)
    result = unrelu.complete_distances(D, "auto", cutoff=cutoff, rng=0)
    assert result.verdict.code.value == "interrupted"
    assert result.residual < 1e-9
    assert not result.determined.any()


def test_the_estimator_finds_it_too():
    _, D, cutoff = planted(40, 3, 20)
    completer = unrelu.DistanceCompleter(dim="auto", cutoff=cutoff, random_state=0).fit(D)
    assert completer.embedding_.shape == (40, 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"anchors": {0: [0.0, 0.0]}}, "anchors have coordinates; say how many as dim="),
        ({"start": np.zeros((3, 2))}, "cannot begin at given points"),
    ],
)
def test_what_has_a_dimension_is_refused(options, said):
    D = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    with pytest.raises(InputError, match=said):
        unrelu.complete_distances(D, "auto", **options)
    with pytest.raises(InputError, match="finds the dimension from distances, and none was seen"):
        unrelu.complete_distances(np.full((3, 3), np.nan), "auto")


@pytest.mark.parametrize(("longest", "dim"), [(1.0, 2), (1.98, 1)])
def test_a_misfit_larger_than_people_measure_is_a_missing_dimension(longest, dim):
    """A triangle has nothing to spare in the plane: only the size of its misfit on a line can tell."""
    edges = unrelu.EdgeList([[0, 1], [1, 2], [0, 2]], [1.0, 1.0, longest])
    assert unrelu.complete_distances(edges, "auto", rng=0).dim == dim


# --- wrong distances ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_wrong_distances_neither_make_nor_hide_a_dimension(dim):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((15, dim))
    apart = squareform(pdist(points))
    pairs = np.argwhere(np.triu((apart > 0) & (apart <= np.quantile(apart, 0.7)), 1))
    d = apart[tuple(pairs.T)]
    wrong = rng.permutation(len(d))[:5]
    d[wrong] += rng.uniform(1, 3, 5)
    result = unrelu.complete_distances(unrelu.EdgeList(pairs, d, size=15), "auto", loss="huber", rng=0)
    assert (result.dim, result.verdict.code.value) == (dim, "fitted")
    assert {(one.row, one.column) for one in result.distrusted} == set(map(tuple, pairs[wrong].tolist()))
    assert f"5 of all {len(d)} distances contradict this and are left out" in result.dimension.why
    # What is told of the fit is told of the distances that it trusts.
    assert next(one for one in result.dimension.tried if one.dim == dim).misfit < 1e-8


def test_a_wrong_distance_beyond_the_cutoff_is_not_refused():
    _, D, cutoff = planted(20, 2, 15)
    i, j = np.argwhere(np.triu(D) > 0)[30]
    D[i, j] = D[j, i] = cutoff * 1.5
    result = unrelu.complete_distances(D, "auto", cutoff=cutoff, loss="huber", rng=0)
    assert result.dim == 2
    assert [(one.row, one.column) for one in result.distrusted] == [(i, j)]
