"""No rank is named: planted data give theirs, other data forecasts that were rehearsed."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import unrelu
from unrelu import MaxSeconds, Stop
from unrelu._old.base.budget import current
from unrelu.datasets import FAMILIES, family, planted


def kept(matrix, threshold=0.0):
    return np.where(matrix >= threshold, matrix, np.nan)


def real_like(p=24, seed=0):
    """Correlations of variables with much of their own, kept above their median."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((300, 3)) @ rng.standard_normal((3, p))
    matrix = np.corrcoef(scores + 1.5 * rng.standard_normal((300, p)), rowvar=False)
    cut = float(np.median(matrix[np.triu_indices(p, 1)]))
    X = kept(matrix, cut)
    np.fill_diagonal(X, 1.0)
    return matrix, X, cut


@pytest.mark.parametrize("name", FAMILIES)
def test_exact_data_give_their_rank_and_the_exact_answer(name):
    drawn = family(name, 80, 3, rng=0)
    found = unrelu.complete(kept(drawn.matrix), rng=0)
    assert found.verdict.code is Stop.FITTED
    assert found.rank == 3
    assert found.rehearsal is None
    some = np.ix_(found.determined, found.determined)
    assert np.linalg.norm((found.matrix() - drawn.matrix)[some]) <= 1e-8 * np.linalg.norm(drawn.matrix)


@pytest.mark.parametrize("symmetric", [True, False])
def test_noisy_data_give_their_rank_and_a_rehearsal(symmetric):
    drawn = planted(120, 4, sigma=0.3, symmetric_noise=symmetric, rng=1)
    found = unrelu.complete(kept(drawn.matrix), rng=0)
    assert found.verdict.code is Stop.FITTED_TO_NOISE
    assert found.rank == 4
    assert found.rehearsal.best.rank == 4
    np.testing.assert_allclose(found.rehearsal.best.sigmas[0], 0.3, rtol=0.2)
    assert np.isfinite(found.standard_errors(0, 1))


def test_other_data_give_forecasts_that_cover():
    matrix, X, cut = real_like()
    before = X.copy()
    found = unrelu.complete(X, threshold=cut, rng=0)
    np.testing.assert_array_equal(X, before)
    assert found.verdict.code is Stop.PREDICTS
    assert found.verdict.answered
    assert not found.verdict.converged
    assert not found.determined.any()
    i, j = np.nonzero(np.isnan(X))
    filled = found.filled()
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert (filled[i, j] <= cut).all()
    assert np.sqrt(np.mean((filled - matrix)[i, j] ** 2)) < 0.8 * matrix[i, j].std()
    low, high = found.predict(i, j)
    assert 0.85 < np.mean((low <= matrix[i, j]) & (matrix[i, j] <= high)) <= 1
    with pytest.raises(unrelu.InputError, match="ask predict"):
        found.standard_errors(0, 1)


def test_entries_that_exact_data_leave_open_are_filled_as_anyone_would(tmp_path):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 2))
    M = U @ U.T
    M[50:, :50] = -1.0 - rng.random((10, 50))
    M[:50, 50:] = M[50:, :50].T
    X = kept(M)  # two pieces that never see each other
    with pytest.warns(unrelu.CompletionWarning):
        found = unrelu.complete(X, rng=0)
    assert found.verdict.code is Stop.FITTED
    i, j = np.nonzero(~(found.determined[:, None] & found.determined) & np.isnan(X))
    across = (i < 50) != (j < 50)
    i, j = i[across], j[across]
    filled = found.filled()
    assert np.ptp(filled[i, j]) < 1e-12
    assert -3 < filled[i[0], j[0]] < 0
    low, high = found.predict(i, j)
    assert np.isfinite(low).all()
    assert (high <= 0).all()
    named = unrelu.complete(X, 2, rng=0)
    assert named.alone is None
    assert np.abs(named.filled()[i, j] - filled[i, j]).min() > 0.1
    found.save(tmp_path / "found.npz")
    again = unrelu.Completion.load(tmp_path / "found.npz")
    assert (again.alone.mean, again.alone.sigma) == (found.alone.mean, found.alone.sigma)


def test_forecasts_are_saved(tmp_path):
    _, X, cut = real_like()
    found = unrelu.complete(X, threshold=cut, rng=0)
    found.save(tmp_path / "found.npz")
    again = unrelu.Completion.load(tmp_path / "found.npz")
    assert again.forecasts
    assert again.rehearsal.as_dict() == found.rehearsal.as_dict()
    np.testing.assert_array_equal(again.filled(X), found.filled())
    np.testing.assert_array_equal(again.predict(0, np.arange(24), X=X), found.predict(0, np.arange(24)))
    with pytest.raises(unrelu.InputError, match="ask predict"):
        again.standard_errors(0, 1, X=X)


def test_forecasts_that_were_saved_need_the_mask_they_were_made_with(tmp_path):
    _, X, cut = real_like()
    unknown = np.zeros(X.shape, bool)
    i, j = np.argwhere(np.isnan(X))[0]
    unknown[i, j] = unknown[j, i] = True
    found = unrelu.complete(X, threshold=cut, unknown=unknown, rng=0)
    assert found.forecasts
    found.save(tmp_path / "found.npz")
    loaded = unrelu.Completion.load(tmp_path / "found.npz")
    for ask in (lambda: loaded.filled(X), lambda: loaded.predict(i, j, X=X)):
        with pytest.raises(unrelu.InputError, match="unknown"):
            ask()
    np.testing.assert_array_equal(loaded.with_data(X, unknown).filled(), found.filled())


def test_scaling_and_permuting_the_data_does_the_same_to_forecasts():
    _, X, cut = real_like()
    found = unrelu.complete(X, threshold=cut, rng=0).filled()
    np.testing.assert_allclose(unrelu.complete(4 * X, threshold=4 * cut, rng=0).filled(), 4 * found, rtol=1e-9)
    order = np.random.default_rng(0).permutation(24)
    turned = unrelu.complete(X[np.ix_(order, order)], threshold=cut, rng=0).filled()
    np.testing.assert_allclose(turned, found[np.ix_(order, order)], rtol=1e-9)
    again = unrelu.complete(X, threshold=cut, rng=0).filled()
    np.testing.assert_array_equal(again, found)


def test_single_precision_stays():
    _, X, cut = real_like()
    found = unrelu.complete(X.astype(np.float32), threshold=np.float32(cut), rng=0)
    assert found.verdict.code is Stop.PREDICTS
    assert found.filled().dtype == np.float32


@pytest.mark.parametrize("diagonal", ["limit", "unknown", "data"])
def test_the_diagonal_may_be_named(diagonal):
    _, X, cut = real_like()
    found = unrelu.complete(X, threshold=cut, diagonal=diagonal, rng=0)
    assert {trial.diagonal for trial in found.rehearsal.trials} == {diagonal}
    if diagonal == "limit":
        assert (np.sum(found.factor**2, axis=1) < 1 + 3 * found.sigma).all()
    at_two = unrelu.complete(X, 2, threshold=cut, diagonal=diagonal, rng=0)
    assert at_two.rank == 2
    assert at_two.forecasts == (diagonal != "data")


def test_a_rank_that_is_named_may_be_rehearsed():
    _, X, cut = real_like()
    plain = unrelu.complete(X, 3, threshold=cut, rng=0)
    assert plain.rehearsal is None
    told = unrelu.complete(X, 3, threshold=cut, rehearse=True, rng=0)
    assert told.rehearsal.trials[-1].rank == 3
    np.testing.assert_array_equal(told.matrix(), plain.matrix())
    assert not told.forecasts


def test_the_time_is_obeyed():
    _, X, cut = real_like(p=60)
    found = unrelu.complete(X, threshold=cut, tol=MaxSeconds(0.3), rng=0)
    assert found.verdict.code is Stop.MAX_SECONDS
    assert found.seconds < 3
    assert np.isfinite(found.filled()).all()


def test_the_time_leaves_the_best_model_that_was_rehearsed(monkeypatch):
    from unrelu._old.auto import menu

    tried = menu._Trying._tried

    def too_late(self, path, before):
        if len(self.tried) == 7:
            current().seconds = 0.0
        return tried(self, path, before)

    monkeypatch.setattr(menu._Trying, "_tried", too_late)
    _, X, cut = real_like()
    found = unrelu.complete(X, threshold=cut, tol=MaxSeconds(600), rng=0)
    assert found.verdict.code is Stop.MAX_SECONDS
    assert "the best so far of 7 models" in found.verdict.reason
    assert len(found.rehearsal.trials) == 7
    assert np.isfinite(found.filled()).all()


def test_the_time_leaves_the_last_rank_that_was_fitted(monkeypatch):
    from unrelu._old.auto import path

    def too_late(observations, rng):
        current().seconds = 0.0

    monkeypatch.setattr(path, "rank_of_blocks", too_late)
    _, X, cut = real_like()
    found = unrelu.complete(X, threshold=cut, tol=MaxSeconds(600), rng=0)
    assert found.verdict.code is Stop.MAX_SECONDS
    assert np.isfinite(found.objective)
    assert np.isfinite(found.filled()).all()


@pytest.mark.parametrize("rank", [None, 4])
@pytest.mark.parametrize("moment", [1, 2, 3])
def test_an_interrupt_of_the_rehearsal_is_not_swallowed(monkeypatch, rank, moment):
    drawn = planted(80, 4, sigma=0.3, symmetric_noise=True, rng=1)
    asked = []

    def stop(name):
        asked.append(name)
        if len(asked) == moment:
            raise KeyboardInterrupt

    monkeypatch.setattr("unrelu._old.auto.menu.phase", stop)
    found = unrelu.complete(kept(drawn.matrix), rank, rehearse=True, rng=0)
    assert found.verdict.code is Stop.INTERRUPTED
    assert found.rank == 4  # what was found before is not lost
    assert len(asked) == moment
    asked.clear()
    with pytest.raises(KeyboardInterrupt):
        unrelu.rehearse(kept(drawn.matrix), 4, rng=0)


def test_few_rows_and_empty_data_have_an_answer():
    assert unrelu.complete(np.zeros((4, 4))).rank == 1
    assert unrelu.complete(np.array([[2.0]])).rank == 1
    U = np.random.default_rng(0).standard_normal((5, 1))
    found = unrelu.complete(kept(U @ U.T), rng=0)
    assert found.rank == 1


def test_the_rank_of_blocks_is_taken_before_a_higher_one_that_fits_as_well():
    """A climb ends at rank 5 here, which leaves every row open."""
    rows = load_iris().data[::3]
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T
    with pytest.warns(unrelu.CompletionWarning):
        found = unrelu.complete(kept(cosines, 0.6), threshold=0.6, rng=0)
    assert found.rank == 4
    assert found.verdict.code is Stop.FITTED
    known = np.ix_(found.determined, found.determined)
    assert found.determined.mean() > 0.5
    np.testing.assert_allclose(found.matrix()[known], cosines[known], atol=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_forecasts_that_only_beat_a_distribution_that_has_collapsed_are_not_believed(seed):
    """Of series with a common trend the seen correlations lie next to 1, and say nothing of the others."""
    rng, time = np.random.default_rng(seed), np.linspace(0, 1, 200)
    trends = [time * rng.uniform(0.5, 2) + 0.01 * rng.standard_normal(200) for _ in range(9)]
    walks = [np.cumsum(rng.standard_normal(200)) for _ in range(6)]
    matrix = np.corrcoef([*trends, *walks])
    found = unrelu.complete(kept(matrix, 0.3), threshold=0.3, rng=0)
    assert max(found.rehearsal.gains) > 3  # however large they are
    assert found.verdict.code is Stop.DOES_NOT_EXTRAPOLATE


def test_values_that_are_all_alike_can_be_rehearsed():
    assert not unrelu.rehearse(np.ones((10, 10)), rng=0).extrapolates


def test_what_is_filled_in_lies_in_its_interval():
    for seed in range(3):
        _, X, cut = real_like(seed=seed)
        found = unrelu.complete(X, threshold=cut, rng=0)
        i, j = np.nonzero(np.isnan(X))
        filled = found.filled()[i, j]
        for level in (0.01, 0.95):
            low, high = found.predict(i, j, level)
            assert ((low <= filled + 1e-12) & (filled - 1e-12 <= high)).all()


def test_what_is_rehearsed_is_told_with_the_time_left():
    _, X, cut = real_like()

    class Told:
        def __init__(self):
            self.phases = []

        def __call__(self, record):
            pass

        def phase(self, name):
            self.phases.append(name)

    told = Told()
    unrelu.complete(X, threshold=cut, rng=0, callback=told)
    models = [name for name in told.phases if name.startswith("rehearsing")]
    assert models[0].startswith("rehearsing rank 1 (model 1 of ")
    assert all(" s left)" in name for name in models[5:])


def test_too_few_pairs_are_filled_as_anyone_would():
    """Eight variables, ten of their 28 correlations seen: no model can be rehearsed, and none is believed."""
    matrix, _, _ = real_like(p=8, seed=3)
    cut = float(np.quantile(matrix[np.triu_indices(8, 1)], 0.65))
    X = kept(matrix, cut)
    np.fill_diagonal(X, 1.0)
    found = unrelu.complete(X, threshold=cut, rng=0)
    assert found.verdict.code is Stop.DOES_NOT_EXTRAPOLATE
    assert "too few pairs were seen" in found.verdict.reason
    filled = found.filled()[np.isnan(X)]
    np.testing.assert_allclose(filled, filled[0])  # one value for all
    assert filled[0] < cut
    low, high = found.predict(*np.nonzero(np.isnan(X)))
    hidden = matrix[np.isnan(X)]
    assert np.mean((low <= hidden) & (hidden <= high)) >= 0.85


def test_forecasts_stay_near_what_one_distribution_says_of_the_hidden_on_the_whole():
    """Kernels of points in clusters: the pairs hidden on purpose do not show how far below zero a fit goes."""
    rng = np.random.default_rng(7)
    points = rng.standard_normal((3, 2))[rng.integers(0, 3, 24)] * 2 + 0.4 * rng.standard_normal((24, 2))
    squares = np.sum((points[:, None] - points) ** 2, axis=-1)
    matrix = np.exp(-squares / np.median(squares[np.triu_indices(24, 1)]))
    cut = float(np.quantile(matrix[np.triu_indices(24, 1)], 0.6))
    X = kept(matrix, cut)
    hidden = np.isnan(X)
    found = unrelu.complete(X, threshold=cut, rng=0)
    none = found.rehearsal.none
    plain = found.rehearsal.without_structure(found.matrix()[hidden], (-np.inf, cut))
    assert none.sigma > 0
    forecast = found.filled()[hidden]
    assert np.mean(plain.expectation() - forecast) <= 0.5 * plain.spread()[0] + 1e-12
    raw = np.minimum(found.matrix()[hidden], cut)
    assert np.mean(plain.expectation() - raw) > 0.5 * plain.spread()[0]  # the fit itself goes further
    errors = [np.sqrt(np.mean((one - matrix[hidden]) ** 2)) for one in (forecast, plain.expectation(), raw)]
    assert errors[0] <= 1.1 * errors[1]
    assert errors[0] < errors[2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "pam"}, "rank must be named unless method='auto'"),
        ({"start": "tailored"}, "rank must be named unless method='auto'"),
        ({"structure": "indefinite"}, "rank must be named unless structure='psd'"),
        ({"diagonal": "none"}, "diagonal"),
        ({"diagonal": "limit", "method": "pam", "rank": 2}, "drop method="),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(options, words):
    _, X, cut = real_like()
    with pytest.raises(unrelu.InputError, match=words):
        unrelu.complete(X, threshold=cut, **options)


def test_a_diagonal_that_is_no_data_needs_rows_to_rehearse_with():
    with pytest.raises(unrelu.InputError, match="needs a rehearsal"):
        unrelu.complete(np.eye(3), diagonal="limit")
    with pytest.raises(unrelu.InputError, match="hides some of what was seen"):
        unrelu.rehearse(np.eye(3))


def test_a_rehearsal_by_itself_says_what_a_completion_would():
    _, X, cut = real_like()
    found = unrelu.complete(X, threshold=cut, rng=0)
    shown = unrelu.rehearse(X, threshold=cut, rng=0)
    assert str(shown.best) == str(found.rehearsal.best)
    np.testing.assert_allclose(shown.sigma, found.rehearsal.sigma, rtol=1e-3)  # its rows are in another order
    one = unrelu.rehearse(X, 3, threshold=cut, diagonal="limit", rng=0)
    assert [trial.rank for trial in one.trials] == [1, 2, 3]
    assert one.best.rank == 3
    with pytest.raises(unrelu.InputError, match="diagonal"):
        unrelu.rehearse(X, threshold=cut, diagonal="none")
