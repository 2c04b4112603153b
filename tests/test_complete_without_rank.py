"""No rank is named: planted data give theirs, other data forecasts that were rehearsed."""

import numpy as np
import pytest

import unrelu
from unrelu.data.planted import FAMILIES, family, planted
from unrelu.loop.history import Stop
from unrelu.loop.stopping import MaxSeconds


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


@pytest.mark.parametrize("rank", [None, 4])
@pytest.mark.parametrize("moment", [1, 2, 3])
def test_an_interrupt_of_the_rehearsal_is_not_swallowed(monkeypatch, rank, moment):
    drawn = planted(80, 4, sigma=0.3, symmetric_noise=True, rng=1)
    asked = []

    def stop(name):
        asked.append(name)
        if len(asked) == moment:
            raise KeyboardInterrupt

    monkeypatch.setattr("unrelu.auto.menu.phase", stop)
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
