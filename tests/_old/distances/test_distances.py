"""Points from short distances: exact where the data fix them, and never wrong where they say so."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2

import unrelu
from unrelu import EdgeList, Stop
from unrelu._old.distances.alignment import align, deviation
from unrelu.datasets import chain, points_in_cube, shortest, within

# Noiseless places come back to this share of the size of the set.
EXACT = 1e-8


def worst(result, truth, chosen):
    """Largest error on some points of the largest component, after aligning those."""
    chosen = chosen & (result.components == 0)
    return deviation(result.points[chosen], truth[chosen]).max()


@pytest.mark.parametrize(("dim", "fraction"), [(2, 0.1), (3, 0.2), (5, 0.2)])
@pytest.mark.parametrize("seed", range(3))
def test_cube_is_exact(dim, fraction, seed):
    truth = points_in_cube(200, dim, rng=[seed, dim])
    D, cutoff = shortest(truth, fraction)
    result = unrelu.complete_distances(D, dim, cutoff=cutoff, rng=seed)
    assert result.verdict.converged
    assert result.determined.mean() >= 0.98
    assert worst(result, truth, result.determined) < EXACT
    assert worst(result, truth, np.isfinite(D).sum(axis=1) > dim + 1) < EXACT


@pytest.mark.parametrize("seed", range(4))
def test_sparse_cube_is_never_wrong_where_it_says_determined(seed):
    truth = points_in_cube(200, 2, rng=[seed, 2])
    D, cutoff = shortest(truth, 0.05)
    result = unrelu.complete_distances(D, 2, cutoff=cutoff, rng=seed)
    assert result.determined.sum() > 100
    assert worst(result, truth, result.determined) < EXACT


@pytest.mark.parametrize("cutoff", [7.0, 8.0, 10.0])
def test_chain_is_exact(cutoff):
    truth = chain(300, rng=1)
    result = unrelu.complete_distances(within(truth, cutoff), 3, cutoff=cutoff, rng=0)
    assert result.determined.mean() > 0.95
    assert worst(result, truth, result.determined) < 1e-6


@pytest.mark.parametrize("seed", [1, 5])
def test_chain_at_a_cutoff_of_two_steps_is_exact_on_what_is_determined(seed):
    truth = chain(300, rng=seed)
    result = unrelu.complete_distances(within(truth, 6.0), 3, cutoff=6.0, rng=seed)
    assert result.determined.sum() > 200
    assert worst(result, truth, result.determined) < 1e-6


def neighbours(n, degree, seed):
    from scipy.spatial import cKDTree

    truth = np.random.default_rng(seed).random((n, 2))
    cutoff = float(np.sqrt(degree / (n * np.pi)))
    pairs = cKDTree(truth).query_pairs(cutoff, output_type="ndarray")
    d = np.linalg.norm(truth[pairs[:, 0]] - truth[pairs[:, 1]], axis=1)
    return truth, cutoff, sp.csr_array((d, (pairs[:, 0], pairs[:, 1])), shape=(n, n))


@pytest.mark.parametrize(("degree", "share"), [(20, 0.999), (12, 0.9)])
def test_large_and_sparse_is_exact_on_what_is_determined(degree, share):
    truth, cutoff, D = neighbours(3000, degree, seed=1)
    result = unrelu.complete_distances(D, 2, cutoff=cutoff, rng=0)
    assert result.determined.mean() >= share
    assert worst(result, truth, result.determined) < 1e-6 * cutoff


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_cube_is_exact_in_every_instance(seed):
    for dim, fraction in ((2, 0.1), (3, 0.2), (5, 0.2), (2, 0.05)):
        truth = points_in_cube(200, dim, rng=[seed, 7])
        D, cutoff = shortest(truth, fraction)
        result = unrelu.complete_distances(D, dim, cutoff=cutoff, rng=seed)
        assert worst(result, truth, result.determined) < EXACT
        assert result.determined.mean() >= (0.98 if fraction > 0.05 else 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("cutoff", [6.0, 7.0, 8.0, 10.0])
def test_chain_is_exact_in_every_instance(cutoff, seed):
    truth = chain(300, rng=seed)
    result = unrelu.complete_distances(within(truth, cutoff), 3, cutoff=cutoff, rng=seed)
    assert worst(result, truth, result.determined | (cutoff >= 8)) < 1e-6


def covered(result, truth):
    """Share of the determined points that lie within their 95 % ellipse."""
    fixed = result.determined
    motion = align(result.points[fixed], truth[fixed])
    error = motion(result.points[fixed]) - truth[fixed]
    cov = np.einsum("ia,nij,jb->nab", motion.turn, result.covariances[fixed], motion.turn)
    return np.mean(np.einsum("na,nab,nb->n", error, np.linalg.inv(cov), error) < chi2.ppf(0.95, truth.shape[1]))


@pytest.mark.slow
def test_noise_is_told_and_ellipses_cover():
    shares = []
    for seed in range(8):  # errors within one set hang together, so that its share alone says little
        truth = points_in_cube(80, 2, rng=seed)
        D = within(truth, 0.4, noise=0.02, rng=seed + 50)
        result = unrelu.complete_distances(D, 2, cutoff=0.4, rng=seed)
        assert result.loss == "censored"
        assert result.sigma == pytest.approx(0.02, rel=0.15)
        assert not (result.determinacy == "proved").any()
        from_truth = unrelu.complete_distances(D, 2, cutoff=0.4, start=truth, rng=seed)
        error, least = (np.sqrt(np.mean(deviation(r.points, truth) ** 2)) for r in (result, from_truth))
        assert error < 1.5 * least
        shares.append(covered(result, truth))
    assert 0.92 <= np.mean(shares) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.1])
@pytest.mark.parametrize(("dim", "fraction"), [(2, 0.1), (3, 0.2)])
def test_noise_in_every_instance(dim, fraction, noise):
    close, shares = 0, []
    for seed in range(20):
        truth = points_in_cube(200, dim, rng=seed)
        cutoff = shortest(truth, fraction)[1]
        D = within(truth, cutoff, noise=noise * cutoff, rng=seed + 100)
        result = unrelu.complete_distances(D, dim, cutoff=cutoff, rng=seed)
        from_truth = unrelu.complete_distances(D, dim, cutoff=cutoff, start=truth, rng=seed)
        error, least = (np.sqrt(np.mean(deviation(r.points, truth) ** 2)) for r in (result, from_truth))
        close += error < 1.5 * least
        shares.append(covered(result, truth))
    assert close >= 18
    assert 0.92 <= np.mean(shares) <= 0.98


def test_sampled_covariances_agree_with_inverted_ones(monkeypatch):
    from unrelu._old.distances import uncertainty

    truth = points_in_cube(80, 2, rng=0)
    D = within(truth, 0.3, noise=0.01, rng=1)
    exact = unrelu.complete_distances(D, 2, cutoff=0.3, rng=0).covariances
    monkeypatch.setattr(uncertainty, "INVERTED", 10)
    sampled = unrelu.complete_distances(D, 2, cutoff=0.3, rng=0).covariances
    ratio = np.trace(sampled, axis1=1, axis2=2) / np.trace(exact, axis1=1, axis2=2)
    assert np.median(ratio) == pytest.approx(1.0, abs=0.1)
    assert ratio.min() > 0.4
    assert ratio.max() < 2.0


def test_anchors_give_frame_and_mirror_image():
    truth = points_in_cube(100, 2, rng=5)
    D = within(truth, 0.25)
    result = unrelu.complete_distances(D, 2, cutoff=0.25, anchors={3: truth[3], 50: truth[50], 99: truth[99]}, rng=0)
    assert result.framed
    assert np.abs(result.points - truth)[result.determined].max() < EXACT
    np.testing.assert_array_equal(result.anchors, [3, 50, 99])
    np.testing.assert_allclose(result.points[[3, 50, 99]], truth[[3, 50, 99]], atol=1e-12)
    table = np.full((100, 2), np.nan)
    table[[3, 50, 99]] = truth[[3, 50, 99]]
    same = unrelu.complete_distances(D, 2, cutoff=0.25, anchors=table, rng=0)
    np.testing.assert_array_equal(same.points, result.points)


@pytest.mark.parametrize("which", [[7], [7, 20], "line"])
def test_too_few_anchors_are_said_and_touched(which):
    truth = points_in_cube(60, 2, rng=6)
    if which == "line":
        truth[:3] = [[0.2, 0.2], [0.4, 0.4], [0.7, 0.7]]
        which = [0, 1, 2]
    D = within(truth, 0.4)
    result = unrelu.complete_distances(D, 2, cutoff=0.4, anchors={k: truth[k] for k in which}, rng=0)
    assert not result.framed
    assert "anchors are too few, or lie in one plane or line" in result.explain()
    np.testing.assert_allclose(result.points[which], truth[which], atol=1e-8)
    assert worst(result, truth, result.determined) < EXACT


def test_noisy_distances_and_exact_anchors():
    truth = points_in_cube(80, 2, rng=8)
    D = within(truth, 0.3, noise=0.01, rng=0)
    corners = [int(np.argmin(np.linalg.norm(truth - corner, axis=1))) for corner in ([0, 0], [1, 0], [0, 1], [1, 1])]
    result = unrelu.complete_distances(D, 2, cutoff=0.3, sigma=0.01, anchors={k: truth[k] for k in corners}, rng=0)
    np.testing.assert_array_equal(result.points[corners], truth[corners])
    assert np.sqrt(np.mean((result.points - truth) ** 2)) < 0.01
    assert not result.covariances[corners].any()
    free = np.setdiff1d(np.arange(80), corners)
    assert (result.standard_errors[free] > 0).all()


def test_components_are_solved_each_in_its_own_frame():
    left, right = points_in_cube(40, 2, rng=1), points_in_cube(25, 2, rng=2)
    truth = np.vstack([right, left + 100])
    result = unrelu.complete_distances(within(truth, 0.6), 2, cutoff=0.6, rng=0)
    assert (result.components[25:] == 0).all()
    assert (result.components[:25] == 1).all()
    for members in (np.arange(25), np.arange(25, 65)):
        assert deviation(result.points[members], truth[members]).max() < EXACT
        np.testing.assert_allclose(result.points[members].mean(axis=0), 0, atol=1e-12)
    assert result.determined.all()
    assert "fall into 2 components" in result.explain()
    assert "To join the two largest components" in result.explain()


def test_limits_place_points_within_them():
    truth = points_in_cube(30, 2, rng=3)
    D = np.linalg.norm(truth[:, None] - truth, axis=2)
    lower, upper = 0.95 * D, 1.05 * D
    D = np.where(np.random.default_rng(0).random(D.shape) < 0.15, D, np.nan)
    D = np.fmin(D, D.T)
    result = unrelu.complete_distances(D, 2, lower=lower, upper=upper, rng=0)
    found = result.distances()
    off = ~np.eye(30, dtype=bool)
    assert (found >= lower - 1e-6)[off].all()
    assert (found <= upper + 1e-6)[off].all()


def test_limits_alone_hold_points_together():
    truth = points_in_cube(12, 2, rng=3)
    D = np.linalg.norm(truth[:, None] - truth, axis=2)
    upper = EdgeList(np.argwhere(np.triu(D < 0.5, 1)), 1.02 * D[np.triu(D < 0.5, 1)], size=12)
    lower = EdgeList(np.argwhere(np.triu(D < 0.5, 1)), 0.98 * D[np.triu(D < 0.5, 1)], size=12)
    result = unrelu.complete_distances(np.full((12, 12), np.nan), 2, lower=lower, upper=upper, rng=0)
    gap = result.entries(*upper.pairs.T)
    assert (gap <= upper.distances + 1e-6).all()
    assert (gap >= lower.distances - 1e-6).all()
    assert not result.determined.any()


def test_cutoff_settles_a_flip():
    # The last point sees two; its other place is on top of a point that it does not see.
    truth = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.8], [0.45, -0.9]])
    D = within(truth, 1.3)
    assert np.isnan(D[2, 3])
    settled = unrelu.complete_distances(D, 2, cutoff=1.3, rng=0)
    assert settled.determined.all()
    assert deviation(settled.points, truth).max() < EXACT
    open_ = unrelu.complete_distances(D, 2, rng=0)
    assert open_.determined.sum() == 3
    assert "may flip to another place" in open_.explain()


def test_one_wrong_distance_does_not_spoil_the_others():
    truth = points_in_cube(60, 2, rng=9)
    D = within(truth, 0.4)
    i, j = np.argwhere(np.triu(np.isfinite(D) & (D > 0.1) & (D < 0.2), 1))[0]
    D[i, j] = D[j, i] = D[i, j] + 0.03
    result = unrelu.complete_distances(D, 2, cutoff=0.4, rng=0)
    assert result.verdict.code is Stop.STATIONARY
    assert "1 of" in result.verdict.reason
    assert result.determined.sum() >= 55
    assert worst(result, truth, result.determined) < EXACT


def test_explain_names_who_hinges_and_what_would_help():
    truth = np.vstack([points_in_cube(30, 2, rng=0), [[3.0, 3.0]]])
    D = within(truth, 0.6)
    D[30, 0] = D[0, 30] = np.linalg.norm(truth[30] - truth[0])
    D[30, 1] = D[1, 30] = np.linalg.norm(truth[30] - truth[1])
    result = unrelu.complete_distances(D, 2, names=[f"p{k}" for k in range(31)], rng=0)
    text = result.explain()
    assert result.determinacy[30] == "local"
    assert "1 cannot move a little but may flip to another place: p30." in text
    assert "would fix most: 1 more point" in text
    assert "The distance from p30 to" in text


def test_summary_is_ready_for_json():
    truth = points_in_cube(30, 2, rng=0)
    result = unrelu.complete_distances(within(truth, 0.4), 2, cutoff=0.4, rng=0)
    about = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert about["size"] == 30
    assert sum(about["determinacy"].values()) == 30
    assert str(result).startswith("30 points in 2 dimensions from")
    np.testing.assert_allclose(result.entries([0, 1], [2, 3]), result.distances()[[0, 1], [2, 3]])
    assert result.dim == 2


def test_same_seed_same_answer_and_permuting_permutes():
    truth = points_in_cube(60, 3, rng=0)
    D = within(truth, 0.5)
    one, again = (unrelu.complete_distances(D, 3, cutoff=0.5, rng=3) for _ in range(2))
    np.testing.assert_array_equal(one.points, again.points)
    order = np.random.default_rng(0).permutation(60)
    other = unrelu.complete_distances(D[np.ix_(order, order)], 3, cutoff=0.5, rng=3)
    fixed = one.determined[order] & other.determined
    assert fixed.sum() > 50
    assert deviation(other.points[fixed], one.points[order][fixed]).max() < EXACT


def test_callback_sees_records_and_stops():
    truth = points_in_cube(60, 2, rng=0)
    D = within(truth, 0.3, noise=0.02, rng=0)
    seen = []
    result = unrelu.complete_distances(D, 2, cutoff=0.3, rng=0, callback=lambda r: seen.append(r) or len(seen) >= 3)
    assert result.verdict.code is Stop.CALLBACK
    assert len(seen) == len(result.history) == 3
    assert result.points.shape == (60, 2)


@pytest.mark.parametrize("start", ["paths", "trilateration"])
@pytest.mark.parametrize("loss", ["distances", "squared", "one-sided", "censored"])
def test_every_start_and_loss_is_exact_without_noise(start, loss):
    truth = points_in_cube(80, 2, rng=0)
    D = within(truth, 0.4)
    result = unrelu.complete_distances(D, 2, cutoff=0.4, start=start, loss=loss, rng=0)
    assert worst(result, truth, result.determined) < EXACT
    assert result.determined.mean() > 0.9


def test_progress_goes_to_the_error_output(capsys):
    unrelu.complete_distances(within(points_in_cube(20, 2, rng=0), 0.5), 2, progress=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_tiny_sets(dim):
    for n in (1, 2, 3):
        truth = points_in_cube(n, dim, rng=n)
        D = np.linalg.norm(truth[:, None] - truth, axis=2)
        result = unrelu.complete_distances(D, dim, rng=0)
        np.testing.assert_allclose(result.distances(), D, atol=1e-12)
        assert result.determined.all() == (n > 1)
        assert result.explain()
        assert result.covariances.shape == (n, dim, dim)


def test_nothing_seen():
    result = unrelu.complete_distances(np.full((4, 4), np.nan), 2, rng=0)
    assert not result.determined.any()
    assert np.isinf(result.standard_errors).all()
    assert "4 points float" in result.explain()


def test_sparse_neighbours_are_settled_in_groups():
    truth, cutoff, D = neighbours(800, 10, seed=3)
    result = unrelu.complete_distances(D, 2, cutoff=cutoff, rng=0)
    assert result.determined.mean() > 0.9
    assert worst(result, truth, result.determined) < 1e-6 * cutoff


def test_polishing_takes_back_the_word_for_what_rounding_moves():
    from unrelu._old.distances.polish import polished
    from unrelu._old.problems.network import Network

    truth = points_in_cube(30, 2, rng=0)
    # The last point hangs on two others almost in line with it: fixed on paper, soft in fact.
    truth[29] = truth[0] + 0.5 * (truth[1] - truth[0]) + 1e-7
    D = np.linalg.norm(truth[:, None] - truth, axis=2)
    first, second = np.nonzero(np.triu(np.ones((30, 30)), 1))
    kept = (second != 29) | (first < 2)
    first, second = first[kept], second[kept]
    network = Network(30, 2, first, second, D[first, second], np.ones(len(first)))
    start = truth.copy()
    start[:29] += 1e-10 * np.random.default_rng(0).standard_normal((29, 2))
    points, error = polished(network, start, np.random.default_rng(0))
    assert deviation(points[:29], truth[:29]).max() < 1e-14
    assert error[:29].max() < 1e-13
    assert error[29] > 1e-10
