"""A few wrong entries: they are found, left out and named, and the rest is completed as if they were not there."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unrelu
import unrelu._old.loop.stopping
from unrelu import Completion, InputError, RectangularCompletion
from unrelu._old.results.distrusted import Distrusted


def spoilt(n=80, r=2, sigma=0.1, share=0.02, seed=0, signs=(1,), size=10.0):
    """A matrix, what was seen of it above its median, the same with gross errors, their places, and the threshold."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, r))
    M = U @ U.T
    noise = np.triu(rng.standard_normal((n, n)))
    Y = M + sigma * (noise + np.triu(noise, 1).T)
    threshold = float(np.median(Y))
    X = np.where(threshold <= Y, Y, np.nan)
    rows, cols = np.nonzero(np.triu(~np.isnan(X)))
    some = rng.choice(len(rows), int(share * len(rows)), replace=False)
    dirty = X.copy()
    wrong = size * np.sqrt(np.mean(M**2)) * rng.choice(signs, len(some))
    dirty[rows[some], cols[some]] = dirty[cols[some], rows[some]] = wrong
    return M, X, dirty, set(zip(rows[some].tolist(), cols[some].tolist(), strict=True)), threshold


def off(found, M):
    return np.linalg.norm(np.asarray(found.matrix()) - M) / np.linalg.norm(M)


def places(found):
    return {(one.row, one.column) for one in found.distrusted}


@pytest.mark.parametrize("signs", [(1,), (1, -1)])
def test_gross_errors_are_named_and_do_no_harm(signs):
    M, X, dirty, wrong, threshold = spoilt(signs=signs)
    before = dirty.copy()
    clean = unrelu.complete(X, 2, threshold=threshold, rng=0)
    found = unrelu.complete(dirty, 2, threshold=threshold, loss="huber", rng=0)
    assert places(found) == wrong
    assert off(found, M) < 1.2 * off(clean, M)
    assert found.verdict.code is clean.verdict.code
    assert f"{len(wrong)} entries are distrusted and left out" in found.verdict.reason
    np.testing.assert_array_equal(dirty, before)


def test_squares_are_led_astray_by_them():
    M, _, dirty, _, threshold = spoilt()
    found = unrelu.complete(dirty, 2, threshold=threshold, rng=0)
    assert off(found, M) > 0.1
    assert found.distrusted == ()


def test_what_is_named_is_in_order_and_says_how_far_off_it_is():
    M, _, dirty, _, threshold = spoilt()
    found = unrelu.complete(dirty, 2, threshold=threshold, loss="huber", rng=0)
    first = found.distrusted[0]
    assert isinstance(first, Distrusted)
    assert [field.name for field in dataclasses.fields(first)] == ["row", "column", "value", "expected", "deviations"]
    sizes = [one.deviations for one in found.distrusted]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) > 20
    for one in found.distrusted:
        assert one.value == dirty[one.row, one.column]
        assert abs(one.expected - M[one.row, one.column]) < 0.5
        noise = abs(one.value - one.expected) / one.deviations
        assert 0.08 < noise < 0.2  # what noise of 0.1 and errors of the fit leave


def test_the_rest_is_completed_as_if_they_had_never_been_there():
    _, _, dirty, _, threshold = spoilt()
    found = unrelu.complete(dirty, 2, threshold=threshold, loss="huber", rng=0)
    unknown = np.zeros(dirty.shape, bool)
    unknown[found.left_out] = True
    plain = unrelu.complete(np.where(unknown, np.nan, dirty), 2, threshold=threshold, unknown=unknown, rng=0)
    np.testing.assert_allclose(found.matrix(), plain.matrix(), atol=1e-6)
    assert found.loss == plain.loss == "censored"
    assert found.sigma == pytest.approx(plain.sigma, rel=1e-6)
    np.testing.assert_allclose(found.standard_errors(0, 1), plain.standard_errors(0, 1), rtol=1e-4)


def test_the_rank_need_not_be_named():
    M, _, dirty, wrong, threshold = spoilt(n=60)
    found = unrelu.complete(dirty, threshold=threshold, loss="huber", rng=0)
    assert found.rank == 2
    assert places(found) == wrong
    assert off(found, M) < 0.1


def test_exact_data_stay_exact():
    M, _, dirty, wrong, _ = spoilt(n=50, sigma=0.0)
    found = unrelu.complete(dirty, 2, threshold=float(np.nanmin(dirty)), loss="huber", rng=0)
    assert found.verdict.code.value == "fitted"
    assert places(found) == wrong
    assert np.abs(found.matrix() - M).max() < 1e-8


def test_clean_data_are_hardly_ever_distrusted():
    named = 0
    for seed in range(10):
        _, X, _, _, threshold = spoilt(n=40, seed=seed)
        named += len(unrelu.complete(X, 2, threshold=threshold, loss="huber", rng=0).distrusted)
    assert named <= 3  # of 8000 entries


def test_an_entry_that_should_have_been_seen_is_distrusted_too():
    M, X, _, _, threshold = spoilt(n=80)
    row, col = np.argwhere(np.triu(X, 1) > 3)[0]
    X[row, col] = X[col, row] = np.nan
    found = unrelu.complete(X, 2, threshold=threshold, loss="huber", rng=0)
    (one,) = [one for one in found.distrusted if (one.row, one.column) == (row, col)]
    assert np.isnan(one.value)
    assert one.expected == pytest.approx(M[row, col], abs=0.3)
    assert found.summary()["distrusted"][0]["value"] is None


def test_half_of_a_pair_may_be_wrong_alone():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((40, 2))
    X = U @ U.T + 0.1 * rng.standard_normal((40, 40))
    X[7, 3] = 30.0
    found = unrelu.complete(X, 2, threshold=None, loss="huber", rng=0)
    assert places(found) == {(7, 3)}
    assert [place.tolist() for place in found.left_out] == [[7], [3]]


def test_labels_name_them_also_where_they_are_integers():
    _, _, dirty, wrong, threshold = spoilt(n=60)
    frame = pd.DataFrame(dirty, index=[f"s{k}" for k in range(60)], columns=[f"s{k}" for k in range(60)])
    found = unrelu.complete(frame, 2, threshold=threshold, loss="huber", rng=0)
    assert places(found) == {(f"s{i}", f"s{j}") for i, j in wrong}
    numbered = pd.DataFrame(dirty, index=range(100, 160), columns=range(100, 160))
    found = unrelu.complete(numbered, 2, threshold=threshold, loss="huber", rng=0)
    assert places(found) == {(100 + i, 100 + j) for i, j in wrong}
    i, j = sorted(wrong)[0]
    assert abs(found.filled().iloc[i, j] - dirty[i, j]) > 5  # what is not believed is filled in


def test_scaling_the_data_scales_the_answer_and_permuting_permutes_it():
    _, _, dirty, wrong, threshold = spoilt(n=60)
    found = unrelu.complete(dirty, 2, threshold=threshold, loss="huber", rng=0)
    scaled = unrelu.complete(4096 * dirty, 2, threshold=4096 * threshold, loss="huber", rng=0)
    assert places(scaled) == wrong
    np.testing.assert_allclose(scaled.matrix(), 4096 * found.matrix(), rtol=1e-7, atol=1e-4)
    assert scaled.distrusted[0].deviations == pytest.approx(found.distrusted[0].deviations, rel=1e-6)
    order = np.random.default_rng(1).permutation(60)
    turned = unrelu.complete(dirty[np.ix_(order, order)], 2, threshold=threshold, loss="huber", rng=0)
    assert {tuple(sorted((order[i], order[j]))) for i, j in places(turned)} == wrong
    np.testing.assert_allclose(turned.matrix(), found.matrix()[np.ix_(order, order)], atol=1e-8)


def test_single_precision_stays():
    _, _, dirty, wrong, threshold = spoilt(n=60)
    found = unrelu.complete(dirty.astype(np.float32), 2, threshold=np.float32(threshold), loss="huber", rng=0)
    assert found.matrix().dtype == np.float32
    assert places(found) == wrong


def test_sparse_matrices_stay_sparse():
    _, _, dirty, wrong, threshold = spoilt(n=60)
    rows, cols = np.nonzero(~np.isnan(dirty))
    stored = sp.csr_array((dirty[rows, cols], (rows, cols)), shape=dirty.shape)
    found = unrelu.complete(stored, 2, threshold=threshold, loss="huber", rng=0)
    assert places(found) == wrong
    assert sp.issparse(found.observed().source.stored)


def test_a_file_keeps_them(tmp_path):
    _, _, dirty, _, threshold = spoilt(n=60, signs=(1, -1))
    found = unrelu.complete(dirty, 2, threshold=threshold, loss="huber", rng=0)
    found.save(tmp_path / "found.npz")
    again = Completion.load(tmp_path / "found.npz")
    assert again.distrusted == found.distrusted
    np.testing.assert_allclose(again.filled(dirty), found.filled())
    with pytest.raises(InputError, match="changed since"):
        again.filled(np.where(np.arange(60) == 3, np.nan, dirty))


def test_the_wrong_side_is_refused_otherwise_and_where_it_is_more_than_a_few():
    _, X, dirty, _, threshold = spoilt(n=60, signs=(-1,))
    with pytest.raises(InputError, match="every seen entry must be"):
        unrelu.complete(dirty, 2, threshold=threshold, rng=0)
    with pytest.raises(InputError, match="every seen entry must be"):
        unrelu.complete(X, 2, threshold=float(np.nanmedian(X)), loss="huber", rng=0)


def test_an_indefinite_matrix():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 3))
    M = U @ np.diag([1, 1, -1]) @ U.T
    X = np.where(M >= 0, M, np.nan)
    X[3, 7] = X[7, 3] = 60.0
    found = unrelu.complete(X, 3, structure="indefinite", loss="huber", rng=0)
    assert (3, 7) in places(found)
    assert len(found.distrusted) < 0.01 * found.seen[0]
    assert np.abs(found.matrix() - M).max() < 1e-6


def test_the_noise_may_be_given():
    M, _, dirty, wrong, threshold = spoilt(n=60)
    found = unrelu.complete(dirty, 2, threshold=threshold, loss="huber", sigma=0.1, rng=0)
    assert places(found) == wrong
    assert found.sigma == 0.1
    assert off(found, M) < 0.1


def test_time_that_is_over_is_said():
    _, _, dirty, _, threshold = spoilt(n=60)
    rule = unrelu._old.loop.stopping.MaxSeconds(1e-9)
    found = unrelu.complete(dirty, 2, threshold=threshold, loss="huber", tol=rule, rng=0)
    assert found.verdict.code.value == "max-seconds"


def rectangle(seed=0):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 40))
    Y = M + 0.1 * rng.standard_normal(M.shape)
    X = np.where(Y >= 0, Y, np.nan)
    rows, cols = np.nonzero(~np.isnan(X))
    some = rng.choice(len(rows), 24, replace=False)
    dirty = X.copy()
    dirty[rows[some], cols[some]] = 14.0 * rng.choice([-1, 1], 24)
    return M, X, dirty, set(zip(rows[some].tolist(), cols[some].tolist(), strict=True))


@pytest.mark.parametrize("rank", [2, None])
def test_rectangular_matrices(rank, tmp_path):
    M, X, dirty, wrong = rectangle()
    clean = unrelu.complete_rectangular(X, rank, rng=0)
    frame = pd.DataFrame(dirty, index=[f"r{k}" for k in range(60)], columns=[f"c{k}" for k in range(40)])
    found = unrelu.complete_rectangular(frame, rank, loss="huber", rng=0)
    assert places(found) == {(f"r{i}", f"c{j}") for i, j in wrong}
    assert off(found, M) < 1.5 * off(clean, M)
    assert "24 entries are distrusted and left out" in found.verdict.reason
    found.save(tmp_path / "found.npz")
    again = RectangularCompletion.load(tmp_path / "found.npz").with_data(frame)
    assert again.distrusted == found.distrusted
    np.testing.assert_allclose(again.filled(), found.filled())


def samples(seed=0):
    rng = np.random.default_rng(seed)
    scale = np.array([1.0, 10.0, 0.1, 5.0])
    M = (6 + rng.standard_normal((60, 1)) + 0.3 * rng.standard_normal((60, 4))) * scale
    limits = np.quantile(M, 0.2, axis=0)
    frame = pd.DataFrame(np.where(limits <= M, M, np.nan), columns=list("abcd"))
    frame.insert(0, "site", [f"s{k}" for k in range(60)])
    return M, frame, dict(zip("abcd", limits.tolist(), strict=True)), scale


def test_a_wrong_cell_of_a_table_is_named_by_row_and_column():
    M, frame, limits, scale = samples()
    cells = [(int(np.flatnonzero(frame["b"].notna())[4]), "b"), (int(np.flatnonzero(frame["c"].notna())[9]), "c")]
    dirty = frame.copy()
    dirty.loc[cells[0][0], "b"] = 200.0
    dirty.loc[cells[1][0], "c"] = -1.0  # on the wrong side of its limit
    with pytest.warns(unrelu.CompletionWarning, match="'site' holds no numbers"):
        found = unrelu.complete_table(dirty, threshold=limits, loss="huber", rng=0)
    assert set(cells) <= places(found)
    assert len(found.distrusted) <= 5
    assert "distrusted and left out" in found.verdict.reason
    filled, status = found.filled(), found.status()
    for row, column in cells:
        k = "abcd".index(column)
        assert abs(filled.loc[row, column] - M[row, k]) < 2 * scale[k]
        assert status[row, k + 1] == "missing"
    (one,) = [one for one in found.distrusted if (one.row, one.column) == cells[0]]
    assert one.value == 200.0
    assert abs(one.expected - M[cells[0][0], 1]) < 20
    assert list(filled["site"]) == list(frame["site"])


def test_tables_take_no_other_loss():
    _, frame, limits, _ = samples()
    with pytest.raises(InputError, match="loss must be 'auto', or 'huber'"):
        unrelu.complete_table(frame, threshold=limits, loss="censored")
    with pytest.raises(InputError, match="every seen entry must"):
        unrelu.complete_table(frame.replace(frame["b"].max(), -1.0), threshold=limits, rng=0)


def test_estimators_take_it():
    _, _, dirty, wrong, _ = spoilt(n=50)
    dirty = dirty - min(0.0, np.nanmin(dirty))
    completer = unrelu.PSDCompleter(2, threshold=0.0, loss="huber", random_state=0).fit(dirty)
    assert wrong <= places(completer.completion_)
    _, frame, limits, _ = samples()
    dirty_table = frame.drop(columns="site")
    row = int(np.flatnonzero(dirty_table["b"].notna())[0])
    dirty_table.loc[row, "b"] = 500.0
    table = unrelu.TableCompleter(threshold=limits, loss="huber", random_state=0).fit(dirty_table)
    assert (row, "b") in places(table.completion_)
