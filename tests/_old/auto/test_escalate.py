"""``auto``: the planted matrix wherever the data fix it, and plain words where they do not."""

import numpy as np
import pytest
import scipy.sparse as sp

import unrelu
from helpers import RECOVERED, error, relu_instance
from unrelu import OneSided
from unrelu._old.data import sampling
from unrelu._old.data.observations import Observations
from unrelu._old.data.pieces import pieces
from unrelu._old.judge.floor import Floor
from unrelu._old.placing.placement import best_placement, find_blocks, place, steadied
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.starts.continuation import lowest_residual_eigenpair, staircase
from unrelu.datasets import FAMILIES, family


@pytest.mark.parametrize("name", FAMILIES)
class TestPlacement:
    def test_one_block_places_every_row_to_rounding(self, name):
        for seed in range(3):
            planted = family(name, 200, 5, rng=[seed, 8])
            observations = Observations.of(sampling.relu(planted.matrix))
            found = best_placement(observations, 5, np.random.default_rng(seed))
            rows = np.flatnonzero(found.placed)
            assert len(rows) >= 190
            U = found.factor[rows] * np.sqrt(observations.unit)
            truth = planted.truth[np.ix_(rows, rows)]
            assert np.linalg.norm(U @ U.T - truth) / np.linalg.norm(truth) < 1e-10
            assert np.all(found.share[rows] > 0)
            assert np.all(found.wave[found.seed] == 0)

    def test_seed_blocks_were_seen_in_full(self, name):
        planted = family(name, 120, 4, rng=3)
        observations = Observations.of(sampling.relu(planted.matrix))
        blocks = find_blocks(observations, 4, np.random.default_rng(0))
        assert blocks
        for rows in blocks:
            assert len(set(rows.tolist())) == len(rows) >= 4
            assert not np.isnan(observations.block(rows, rows)).any()


@pytest.mark.parametrize("name", ["gaussian", "condition-100", "cauchy"])
def test_direct_needs_no_iterations(name):
    planted = family(name, 200, 5, rng=4)
    completion = unrelu.complete(sampling.relu(planted.matrix), 5, method="direct")
    assert completion.verdict.converged, completion.verdict
    assert completion.history[-1].iteration == 0
    assert error(completion, planted.truth) < 1e-12
    assert completion.history[-1].details["placed"] == 200


def test_direct_says_when_there_is_noise_or_no_block():
    _, X = relu_instance(sigma=0.05)
    noisy = unrelu.complete(X, 3, method="direct")
    assert noisy.verdict.code == "stalled"
    assert "use method='auto', which goes on from here" in noisy.verdict.reason
    _, X = relu_instance(200, 30)
    with pytest.raises(unrelu.InputError, match="needs a fully seen block of rank 30, and none was found"):
        unrelu.complete(X, 30, method="direct")
    with pytest.raises(unrelu.InputError, match="no fully seen block of rank 30 was found, which start 'clique' needs"):
        unrelu.complete(X, 30, start="clique", rng=0)
    with pytest.raises(unrelu.InputError, match="seed of direct must be an integer ≥ 0, got -1"):
        unrelu.Direct(seed=-1)


@pytest.mark.parametrize("loss", ["observed", "one-sided"])
def test_clique_start_under_both_losses(loss):
    M, X = relu_instance(120, 4)
    completion = unrelu.complete(X, 4, start="clique", loss=loss, rng=0)
    assert completion.start == "clique"
    assert error(completion, M) < 1e-12


def test_no_seed_block_at_high_rank():
    M, X = relu_instance(200, 30)
    assert best_placement(Observations.of(X), 30, np.random.default_rng(0)) is None
    completion = unrelu.complete(X, 30, rng=0)
    assert completion.verdict.converged
    assert completion.start == "tailored"
    assert error(completion, M) < RECOVERED


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_every_family_is_recovered(name):
    planted = family(name, 100, 4, rng=[0, 1])
    completion = unrelu.complete(sampling.relu(planted.matrix), 4, rng=0)
    assert completion.verdict.code == "fitted"
    rows = completion.determined
    assert rows.sum() >= 90
    gap = np.abs(completion.matrix() - planted.truth)[np.ix_(rows, rows)]
    assert gap.max() < 1e-8 * np.abs(planted.truth).max()


def test_past_the_counting_limit_no_success_is_claimed():
    M, X = relu_instance(80, 26)
    pairs = np.count_nonzero(np.triu(~np.isnan(X)))
    assert pairs < 80 * 26 - 26 * 25 // 2
    for how in ({}, {"method": "gauss-newton"}):
        completion = unrelu.complete(X, 26, rng=0, **how)
        assert error(completion, M) > 1e-3
        assert completion.verdict.code == "underdetermined"
        assert f"only {pairs} distinct entries were seen" in completion.verdict.reason


def test_a_fit_that_creeps_past_the_limit_is_not_told_to_go_on():
    _, X = relu_instance(40, 3)
    completion = unrelu.complete(X, 36, rng=0, tol=0)
    assert completion.history[-1].iteration <= 100
    assert completion.verdict.code == "underdetermined"
    assert "max_iter" not in completion.verdict.reason
    assert "lower the rank, or see more entries" in completion.verdict.reason


def test_a_wrong_stationary_point_is_called_that():
    M, X = relu_instance(200, 5)
    completion = unrelu.complete(X, 5, method="gradient-descent", start="random-spectral", rng=1, tol=1e-6)
    assert error(completion, M) > 0.1
    assert completion.verdict.code == "stationary"
    assert not completion.verdict.converged
    assert "try another start, a higher rank, or look for outliers" in completion.verdict.reason


def test_the_verdict_names_loss_and_starts():
    _, X = relu_instance(sigma=0.01)
    verdict = unrelu.complete(X, 3, rng=0).verdict
    assert verdict.converged
    assert "fitted to their noise" in verdict.reason
    assert "one-sided loss, tried clique" in verdict.reason


def test_the_verdict_says_why_a_loss_was_chosen():
    _, X = relu_instance(sigma=0.3)
    found = unrelu.complete(X, 3, rng=0)
    assert (found.loss, found.verdict.code.value) == ("censored", "fitted-to-noise")
    assert "chosen because the one-sided fit leaves noise of 0.1" in found.verdict.reason
    assert "censored loss, tried clique, one-sided, tailored)" in found.verdict.reason
    assert unrelu.complete(X, 3, rng=0, threshold=None).loss == "observed"
    assert unrelu.complete(np.where(np.isnan(X), 0.5, X), 3, rng=0).loss == "one-sided"  # nothing is absent


def test_noise_level_of_blocks():
    for sigma in (0.01, 0.3):
        M = family("gaussian", 200, 5, noise=sigma, rng=0)
        observations = Observations.of(sampling.relu(M.matrix))
        noise = Floor.of(observations, 5, np.random.default_rng(0)).noise * observations.unit
        assert noise == pytest.approx(np.std(M.matrix - M.truth), rel=0.2)


def test_rows_without_a_place_are_listed_with_a_warning():
    M, _ = relu_instance(120, 3, seed=2)
    X = sampling.relu(M)
    X[5, 3:], X[3:, 5] = np.nan, np.nan  # row 5 sees rows 0, 1, 2 at most
    unknown = np.isnan(X) & (M >= 0)
    with pytest.warns(unrelu.CompletionWarning) as caught:
        completion = unrelu.complete(X, 3, unknown=unknown, rng=0)
    said = "too little was seen to place row 5; completed as well as may be; see undetermined_rows"
    assert [str(warning.message) for warning in caught] == [said]
    assert caught[0].filename == __file__
    assert completion.undetermined_rows.tolist() == [5]
    assert "119 rows were placed from a fully seen block, the other one was fitted to them" in completion.verdict.reason
    assert "1 of 120 rows are not determined by the data" in completion.verdict.reason
    rest = np.delete(np.arange(120), 5)
    assert np.abs((completion.matrix() - M)[np.ix_(rest, rest)]).max() < 1e-8


def test_real_data_that_are_only_nearly_low_rank_end_in_words():
    from sklearn.datasets import load_wine

    Z = load_wine().data
    Z = (Z - Z.mean(0)) / Z.std(0)
    completion = unrelu.complete(sampling.relu(Z @ Z.T), 3, rng=0)
    assert completion.verdict.code == "best-of-rank"
    assert completion.verdict.answered
    assert not completion.verdict.converged
    assert "so the data are not of rank 3, as real data seldom are" in completion.verdict.reason
    best = np.linalg.svd(Z)[1][3:]
    hidden = Z @ Z.T < 0
    assert np.linalg.norm((completion.matrix() - Z @ Z.T)[hidden]) < 3 * np.linalg.norm(best**2)


@pytest.mark.parametrize("start", ["rank-increasing", "shrinking"])
def test_starts_that_follow_the_rank(start):
    M, X = relu_instance(120, 4)
    completion = unrelu.complete(X, 4, start=start, rng=0)
    assert completion.start == start
    assert error(completion, M) < RECOVERED


def test_rank_increasing_solves_the_ill_conditioned_family():
    good = 0
    for seed in range(4):
        planted = family("condition-100", 200, 5, rng=[seed, 1])
        completion = unrelu.complete(sampling.relu(planted.matrix), 5, start="rank-increasing", rng=seed)
        good += error(completion, planted.truth) < RECOVERED
    assert good >= 3


def test_staircase_leaves_a_wrong_stationary_point():
    left = 0
    for seed in range(8):
        planted = family("condition-10", 200, 5, rng=[seed, 1])
        X = sampling.relu(planted.matrix)
        stuck = unrelu.complete(X, 5, start="tailored", rng=seed)
        if error(stuck, planted.truth) < 1e-6:
            continue
        problem = PSDProblem(Observations.of(X), 5, OneSided())
        factor = staircase(problem, stuck.factor / np.sqrt(problem.unit)) * np.sqrt(problem.unit)
        left += error(unrelu.complete(X, 5, start=factor), planted.truth) < 1e-6
    assert left >= 1


def test_a_semidefinite_residual_is_recognised():
    _, X = relu_instance(60, 2)
    problem = PSDProblem(Observations.of(X), 2, OneSided())
    planted = unrelu.complete(X, 2, rng=0).factor / np.sqrt(problem.unit)
    assert lowest_residual_eigenpair(problem, planted)[0] > -1e-9
    value, _ = lowest_residual_eigenpair(problem, planted[:, :1])
    assert value < -0.1
    S = np.where(np.isnan(X), 0, (planted[:, :1] @ planted[:, :1].T) - X / problem.unit)
    S = S + np.where(np.isnan(X), np.maximum(planted[:, :1] @ planted[:, :1].T, 0), 0)
    assert value == pytest.approx(np.linalg.eigvalsh(S)[0], rel=1e-2)


def test_several_blocks_averaged_carry_less_noise():
    ratios = []
    for seed in range(5):
        planted = family("condition-10", 200, 5, noise=0.01, rng=[seed, 1])
        observations = Observations.of(sampling.relu(planted.matrix))
        rng = np.random.default_rng(seed)
        seed_block = find_blocks(observations, 5, rng)[0]
        one = place(observations, 5, seed_block, rng)
        several = steadied(observations, 5, one, rng)
        errors = [np.linalg.norm(p.factor @ p.factor.T - planted.truth / observations.unit) for p in (several, one)]
        ratios.append(errors[0] / errors[1])
    assert np.median(ratios) < 0.7  # five placements with independent noise: 0.45


def test_without_noise_one_block_is_kept():
    _, X = relu_instance(200, 5)
    observations = Observations.of(X)
    rng = np.random.default_rng(0)
    one = place(observations, 5, find_blocks(observations, 5, rng)[0], rng)
    assert steadied(observations, 5, one, rng) is one


def test_a_block_from_which_every_row_fits_is_start_enough():
    near = Observations.of(sampling.relu(family("gaussian", 200, 5, noise=0.01, rng=[0, 1]).matrix))
    far = Observations.of(sampling.relu(family("gaussian", 200, 5, noise=0.3, rng=[0, 1]).matrix))
    for observations, enough in ((near, True), (far, False)):
        rng = np.random.default_rng(0)
        one = place(observations, 5, find_blocks(observations, 5, rng)[0], rng)
        assert (steadied(observations, 5, one, rng, unless_near=True) is one) is enough
        assert steadied(observations, 5, one, rng) is not one


def test_the_noise_level_is_told_where_blocks_hardly_exceed_the_rank():
    for seed in range(4):
        planted = family("gaussian", 1000, 20, noise=0.01, rng=[seed, 1])
        observations = Observations.of(sampling.relu(planted.matrix))
        noise = Floor.of(observations, 20, np.random.default_rng(seed)).noise * observations.unit
        assert np.std(planted.matrix - planted.truth) / 1.5 < noise < 1.5 * np.std(planted.matrix - planted.truth)


def two_pieces(n=40, rank=3, seed=0):
    """Rows that all point one way, and as many that point the other: between them nothing is seen."""
    U = np.abs(np.random.default_rng(seed).standard_normal((2 * n, rank)))
    U[n:] *= -1
    M = U @ U.T
    return M, np.where(M >= 0, M, np.nan)


@pytest.mark.parametrize("threshold", [0.0, None])
@pytest.mark.filterwarnings("ignore:too little was seen")
def test_pieces_that_never_see_each_other_are_named_and_each_completed(threshold):
    M, X = two_pieces()
    completion = unrelu.complete(X, 3, threshold=threshold, rng=0)
    said = completion.verdict.reason
    assert "falls into 2 pieces that never see each other (40 rows (0, 1, 2, …), 40 rows (40, 41, 42, …))" in said
    assert "entries between them are not determined" in said
    for rows in (slice(0, 40), slice(40, 80)):
        assert np.abs(completion.matrix()[rows, rows] - M[rows, rows]).max() < 1e-9
    assert completion.undetermined_rows.tolist() in (list(range(40)), list(range(40, 80)))
    if threshold == 0.0:  # the frames are turned so that what absence says holds
        assert completion.matrix()[:40, 40:].max() < 1e-9


def test_pieces_of_sparse_and_dense_data_are_the_same():
    _, X = two_pieces(15)
    X[3, 4] = X[4, 3] = np.nan
    dense = [rows.tolist() for rows in pieces(Observations.of(X))]
    seen = ~np.isnan(X)
    sparse = sp.csr_array((X[seen], np.nonzero(seen)), shape=X.shape)
    assert (
        dense == [rows.tolist() for rows in pieces(Observations.of(sparse))] == [list(range(15)), list(range(15, 30))]
    )


ZERO_ROWS = relu_instance(40, 3)[0]
ZERO_ROWS[[4, 9]] = ZERO_ROWS[:, [4, 9]] = 0
NO_DIAGONAL = np.where(np.eye(60, dtype=bool), np.nan, relu_instance(60, 3)[1])


@pytest.mark.parametrize(
    ("X", "code", "sentence"),
    [
        (np.ones((30, 30)), "fitted", "all rows are alike; rank 1 is enough for the seen entries"),
        (np.where(ZERO_ROWS >= 0, ZERO_ROWS, np.nan), "fitted", "all that was seen of rows 4, 9 is zero"),
        (np.zeros((30, 30)), "fitted", "every seen entry is zero"),
        (NO_DIAGONAL, "fitted", "nothing of the diagonal was seen: it comes from the fit alone"),
        (
            np.random.default_rng(0).exponential(1, (30, 30)) ** 2,
            "stationary",
            "the seen entries contradict rank 3 by far",
        ),
        (np.where(np.eye(12, dtype=bool), 1.0, np.nan), "underdetermined", "falls into 12 pieces"),
    ],
    ids=["all alike", "zero rows", "all zero", "no diagonal", "contradicts the rank", "diagonal only"],
)
@pytest.mark.filterwarnings("ignore:too little was seen")
def test_odd_data_are_named_in_the_verdict(X, code, sentence):
    verdict = unrelu.complete(X, 3, rng=0).verdict
    assert verdict.code == code
    assert sentence in verdict.reason


def test_a_diagonal_none_of_which_was_seen_is_no_statement_about_it():
    M, _ = relu_instance(80, 3)
    X = np.where((M >= 0.5) & ~np.eye(80, dtype=bool), M, np.nan)
    completion = unrelu.complete(X, 3, threshold=0.5, rng=0)
    rows = np.setdiff1d(np.arange(80), completion.undetermined_rows)
    assert np.abs((completion.matrix() - M)[np.ix_(rows, rows)]).max() < 1e-8


@pytest.mark.parametrize(
    "X",
    [
        np.ones((30, 30)),
        np.zeros((30, 30)),
        np.eye(30),
        np.kron(np.eye(2), np.ones((10, 10))) + np.where(np.kron(np.eye(2), np.ones((10, 10))) > 0, 0, np.nan),
        np.random.default_rng(0).uniform(0, 1, (30, 30)),
    ],
    ids=["all alike", "all zero", "identity", "two pieces", "far from rank 2"],
)
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_degenerate_input_ends_in_a_verdict(X):
    completion = unrelu.complete(X, 2, rng=0, max_iter=100)
    assert np.isfinite(completion.factor).all()
    assert completion.verdict.reason
