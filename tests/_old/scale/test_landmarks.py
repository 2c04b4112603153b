"""Matrices by landmarks: exact where the data are, as good as a fit to everything where they are not."""

import threading
import warnings

import numpy as np
import pytest

import unrelu
from unrelu import CompletionWarning, InputError
from unrelu._old.scale.options import Landmarks, bytes_of


class Oracle:
    """Entries that are computed when asked for; it counts who asks, and for how much."""

    def __init__(self, n, rank, sigma=0.0, seed=0, thread_safe=False):
        self.U = np.random.default_rng(seed).standard_normal((n, rank))
        self.shape, self.sigma, self.asked = (n, n), sigma, 0
        self.lock, self.threads = threading.Lock(), set()
        self.thread_safe = thread_safe

    def block(self, rows, cols):
        i, j = (np.arange(self.shape[0])[place] for place in (rows, cols))
        with self.lock:
            self.asked += len(i) * len(j)
            self.threads.add(threading.get_ident())
        product = self.U[i] @ self.U[j].T
        if self.sigma:  # the same noise whoever asks
            low, high = np.minimum(i[:, None], j), np.maximum(i[:, None], j)
            bits = np.sin(12.9898 * low + 78.233 * high) * 43758.5453
            product = product + self.sigma * np.sqrt(12) * (bits - np.floor(bits) - 0.5)
        return np.where(product >= 0, product, np.nan)


def error(found, U):
    left, _, right = np.linalg.svd(found.T.astype(float) @ U)
    return np.linalg.norm(found @ (left @ right) - U) / np.linalg.norm(U)


def dense(n, rank, sigma, seed=0):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    noise = sigma * rng.standard_normal((n, n))
    X = U @ U.T + np.triu(noise) + np.triu(noise, 1).T
    return U, np.where(X >= 0, X, np.nan)


@pytest.mark.parametrize("thread_safe", [False, True])
def test_an_oracle_without_noise_is_exact_and_hardly_read(thread_safe):
    oracle = Oracle(20_000, 5, thread_safe=thread_safe)
    found = unrelu.complete(oracle, 5, method="landmarks", rng=0)
    assert error(found.factor, oracle.U) < 1e-12
    assert found.verdict.code == "fitted"
    assert found.entries_read == oracle.asked < 0.01 * 20_000**2
    assert thread_safe or oracle.threads == {threading.get_ident()}
    assert set(found.determinacy) == {"proved"}
    assert found.conditioning.min() > 1e-3
    assert found.entries(3, 19_999) == pytest.approx(oracle.U[3] @ oracle.U[19_999], abs=1e-11)


def test_auto_takes_large_matrices_this_way_and_small_ones_not():
    U, X = dense(4200, 4, 0.0)
    found = unrelu.complete(X, 4, rng=0)
    assert (found.method, found.verdict.code) == ("landmarks", "fitted")
    assert error(found.factor, U) < 1e-12
    assert unrelu.complete(X[:300, :300], 4, rng=0).method == "gauss-newton"


def test_the_rank_comes_from_the_block():
    oracle = Oracle(5000, 6)
    found = unrelu.complete(oracle, method="landmarks", rng=0)
    assert found.rank == 6
    assert error(found.factor, oracle.U) < 1e-12


@pytest.mark.parametrize("sigma", [0.05, 0.5])
def test_with_noise_it_is_as_good_as_a_fit_to_everything(sigma):
    U, X = dense(1500, 4, sigma)
    full = unrelu.complete(X, 4, rng=0)
    found = unrelu.complete(X, 4, method="landmarks", rng=0)
    assert found.verdict.code == "fitted-to-noise"
    assert full.method == "gauss-newton"
    assert error(found.factor, U) < 1.02 * error(full.factor, U)
    assert found.sigma == pytest.approx(sigma, rel=0.02)
    assert error(unrelu.complete(X, 4, method=Landmarks(passes=0), rng=0).factor, U) > 1.5 * error(full.factor, U)


def test_passes_that_have_not_settled_are_said_to_be_cut_short():
    _, X = dense(1500, 4, 0.3)
    found = unrelu.complete(X, 4, method=Landmarks(passes=1), rng=0)
    assert found.verdict.code == "max-iterations"
    assert set(found.determinacy) == {"no"}


def test_further_columns_do_better_than_landmarks_alone():
    oracle = Oracle(6000, 3, sigma=0.2)
    alone = unrelu.complete(oracle, 3, method=Landmarks(passes=0), rng=0)
    more = unrelu.complete(oracle, 3, method=Landmarks(columns=2500), rng=0)
    assert error(more.factor, oracle.U) < 0.5 * error(alone.factor, oracle.U)
    assert alone.entries_read < more.entries_read < 6000**2


def test_values_and_patterns_need_not_be_symmetric():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((1200, 3))
    X = U @ U.T + 0.1 * rng.standard_normal((1200, 1200))
    X[X < 0] = np.nan
    found = unrelu.complete(X, 3, method="landmarks", rng=0)
    full = unrelu.complete(X, 3, rng=0)
    assert error(found.factor, U) < 1.02 * error(full.factor, U)


def test_below_a_threshold_and_in_single_precision():
    U, X = dense(1000, 3, 0.1)
    single = unrelu.complete(X.astype(np.float32), 3, method="landmarks", rng=0)
    assert single.factor.dtype == np.float32
    M = 2.0 - U @ U.T
    Y = U @ U.T
    Y[Y > 1] = np.nan
    found = unrelu.complete(Y, 3, threshold=1.0, seen="below", method="landmarks", rng=0)
    assert error(found.factor, U) < 1e-10
    assert M.shape == Y.shape


def test_scaling_scales_and_the_seed_decides():
    _, X = dense(900, 3, 0.1)
    one = unrelu.complete(X, 3, method="landmarks", rng=5)
    again = unrelu.complete(X, 3, method="landmarks", rng=5)
    large = unrelu.complete(2.0**40 * X, 3, method="landmarks", rng=5)
    np.testing.assert_array_equal(one.factor, again.factor)
    np.testing.assert_array_equal(one.factor * 2.0**20, large.factor)
    assert large.sigma == one.sigma * 2.0**40


def test_rows_that_see_too_few_landmarks_get_more_of_their_own_or_are_named():
    U, X = dense(3000, 3, 0.0)
    rng = np.random.default_rng(1)
    for row, seen in ((7, 40), (8, 2)):
        kept = rng.permutation(np.flatnonzero(~np.isnan(X[row])))[:seen]
        kept = kept[kept != row]
        values = X[row, kept].copy()
        X[row] = X[:, row] = np.nan
        X[row, kept] = X[kept, row] = values
    with pytest.warns(CompletionWarning, match="too little was seen to place row 8"):
        found = unrelu.complete(X, 3, threshold=None, method="landmarks", rng=0)
    assert found.undetermined_rows.tolist() == [8]
    assert found.determinacy[8] == "no"
    assert found.conditioning[8] == 0
    others = np.delete(np.arange(3000), 8)
    assert error(found.factor[others], U[others]) < 1e-10
    assert np.isinf(found.standard_errors(8, 3))


def test_rows_without_a_place_do_not_spoil_the_verdict_on_the_others():
    U, X = dense(1500, 3, 0.0)
    X = np.where(X >= 2.0, X, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        found = unrelu.complete(X, 3, threshold=2.0, method="landmarks", rng=0)
    inside = found.determined
    assert 0 < found.undetermined_rows.size == (~inside).sum() < 600
    assert found.verdict.code == "fitted"
    assert "of rows that have a place" in found.verdict.reason
    assert error(found.factor[inside], U[inside]) < 1e-10


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_values_of_any_size(scale):
    U, X = dense(700, 3, 0.0)
    found = unrelu.complete(X * scale, 3, method="landmarks", rng=0)
    assert found.verdict.code == "fitted"
    assert error(found.factor / np.sqrt(scale), U) < 1e-10


def test_a_matrix_that_does_not_follow_its_block_is_not_called_fitted():
    _, X = dense(2000, 3, 0.0)
    X[5, 1900] = X[1900, 5] = 20.0
    found = unrelu.complete(X, 3, method="landmarks", rng=0)
    assert found.verdict.code == "stationary"
    assert set(found.determinacy) == {"no"}


def test_rows_of_another_rank_are_named_although_the_rest_is_fine():
    rng = np.random.default_rng(0)
    U = np.column_stack([rng.standard_normal((2000, 3)), np.zeros(2000)])
    rare = np.array([11, 700, 1999])
    U[rare, 3] = 4.0
    noise = 0.2 * rng.standard_normal((2000, 2000))
    X = U @ U.T + np.triu(noise) + np.triu(noise, 1).T
    others = np.setdiff1d(np.arange(2000), rare)
    X[np.ix_(rare, others)] += 1.0 * rng.standard_normal((3, len(others)))  # these rows have noise of their own
    X[np.ix_(others, rare)] = X[np.ix_(rare, others)].T
    X[X < 0] = np.nan
    found = unrelu.complete(X, 3, method="landmarks", rng=0)
    assert "rows 11, 700, 1999 fit worse than noise explains" in found.verdict.reason
    assert set(found.determinacy[rare]) == {"local"}
    assert set(found.determinacy[others]) == {"generic"}


def test_error_bars_cover_as_often_as_they_say():
    U, X = dense(1500, 3, 0.3)
    found = unrelu.complete(X, 3, method="landmarks", rng=0)
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 1500, (2, 2000))
    low, high = found.interval(i, j)
    truth = np.einsum("ka,ka->k", U[i], U[j])
    assert 0.93 < np.mean((low < truth) & (truth < high)) < 0.97
    low, high = found.predict(i, j)
    unseen = np.isnan(X[i, j])
    assert high[unseen].max() <= 0
    alone = unrelu.complete(X, 3, method=Landmarks(passes=0), rng=0)
    low, high = alone.interval(i, j)
    assert 0.9 < np.mean((low < truth) & (truth < high)) < 0.99


def test_what_was_filled_is_what_was_seen_and_the_fit():
    U, X = dense(700, 3, 0.0)
    found = unrelu.complete(X, 3, method="landmarks", rng=0)
    np.testing.assert_allclose(found.filled(), U @ U.T, atol=1e-9)
    low, high = found.bounds([0, 1], [2, 3])
    truth = [U[0] @ U[2], U[1] @ U[3]]
    assert np.all((low <= truth) & (truth <= high))
    assert np.all(high - low < 1e-6)


def test_a_saved_completion_comes_back(tmp_path):
    _, X = dense(600, 3, 0.1)
    found = unrelu.complete(X, 3, method="landmarks", rng=0)
    found.save(tmp_path / "found.npz")
    again = unrelu.Completion.load(tmp_path / "found.npz")
    np.testing.assert_array_equal(again.factor, found.factor)
    assert again.entries_read == found.entries_read
    np.testing.assert_array_equal(again.conditioning, found.conditioning)


# --- tables ---


def both_sides(shape, rank, sigma, seed=0):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    X = M + sigma * rng.standard_normal(shape)
    return M, np.where(X >= 0, X, np.nan)


def test_a_table_without_noise_is_exact():
    M, X = both_sides((3000, 900), 4, 0.0)
    found = unrelu.complete_rectangular(X, 4, method="landmarks", rng=0)
    assert found.verdict.code == "fitted"
    np.testing.assert_allclose(found.left @ found.right.T, M, atol=1e-10)
    assert set(found.determinacy) == set(found.column_determinacy) == {"proved"}


def test_a_table_with_noise_is_as_good_as_a_fit_to_everything():
    M, X = both_sides((900, 600), 3, 0.2)
    found = unrelu.complete_rectangular(X, 3, method="landmarks", rng=0)
    full = unrelu.complete_rectangular(X, 3, rng=0)
    assert full.method == "gauss-newton"
    assert np.linalg.norm(found.matrix() - M) < 1.03 * np.linalg.norm(full.matrix() - M)
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 900, 1000), rng.integers(0, 600, 1000)
    low, high = found.interval(i, j)
    assert 0.92 < np.mean((low < M[i, j]) & (M[i, j] < high)) < 0.98


@pytest.mark.parametrize(("shape", "rank"), [((726, 811), 1), ((600, 500), 2)])
def test_pieces_of_a_table_that_hang_together_weakly_are_waited_for(shape, rank):
    """Signs split a table of rank 1 in two, tied by what noise let be seen and by what absence says."""
    rng = np.random.default_rng(0)
    L, R = rng.standard_normal((shape[0], rank)), rng.standard_normal((shape[1], rank))
    M = L @ R.T
    Y = M + 0.1 * rng.standard_normal(shape)
    X = np.where(Y >= 0, Y, np.nan)
    found = unrelu.complete_rectangular(X, rank, method="landmarks", rng=3)
    full = unrelu.complete_rectangular(X, rank, method="gauss-newton", loss=unrelu.Censored(0.1), start=(L, R))
    assert np.linalg.norm(found.matrix() - M) < 1.05 * np.linalg.norm(full.matrix() - M)
    i, j = np.argwhere(np.isnan(X))[:: M.size // 20000].T
    low, high = found.interval(i, j)
    assert 0.93 < np.mean((low <= M[i, j]) & (M[i, j] <= high)) < 0.97


class Table:
    """A table that is computed when asked for."""

    def __init__(self, X):
        self.X, self.shape = X, X.shape

    def block(self, rows, cols):
        both = not isinstance(rows, slice) and not isinstance(cols, slice)
        return self.X[np.ix_(rows, cols)] if both else self.X[rows, cols]


def test_further_rows_and_columns_of_a_table_do_better_than_landmarks_alone():
    M, X = both_sides((3000, 2500), 3, 0.3)
    errors = []
    for method in (Landmarks(passes=0), Landmarks(columns=1200)):
        found = unrelu.complete_rectangular(Table(X), 3, method=method, rng=0)
        errors.append(np.linalg.norm(found.left @ found.right.T - M))
        assert found.verdict.code == "fitted-to-noise"
    assert errors[1] < 0.6 * errors[0]


def test_every_completion_says_how_much_was_read():
    _, X = dense(60, 2, 0.0)
    assert unrelu.complete(X, 2, rng=0).entries_read == 3600
    assert unrelu.complete_rectangular(X[:40], 2, rng=0).entries_read == 2400


# --- what is refused ---


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(method="landmarks", weights=np.ones((1, 200))), "landmarks know nothing of weights=ndarray; drop it"),
        (dict(method="landmarks", threshold=np.zeros((200, 1))), "landmarks know nothing of threshold=ndarray"),
        (dict(method="landmarks", loss="huber"), "landmarks know nothing of loss='huber'"),
        (dict(method="gauss-newton", peak_memory="1GB"), "peak_memory and checkpoint are for method='landmarks'"),
        (dict(method=Landmarks(count=3)), "rank must be smaller than the block of 3 rows that is solved first"),
        (dict(method="landmarks", peak_memory="little"), "peak_memory must be a number of bytes above 0"),
        (dict(method="landmarks", peak_memory=1000), "peak_memory must be at least .* for one block of 128 rows"),
        (dict(method="landmarks", checkpoint="nowhere/at/all.npz"), "there is no folder"),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(options, words):
    _, X = dense(200, 3, 0.1)
    with pytest.raises(InputError, match=words):
        unrelu.complete(X, 3, **options)


@pytest.mark.parametrize(("name", "value"), [("count", 0), ("columns", -1), ("passes", 1.5), ("count", "many")])
def test_options_of_landmarks_are_checked(name, value):
    with pytest.raises(InputError, match=f"{name} of landmarks must be an integer"):
        Landmarks(**{name: value})


@pytest.mark.parametrize(
    ("value", "words"), [(np.inf, "must be finite"), (-1.0, "every seen entry must be ≥ threshold=0")]
)
def test_an_entry_that_cannot_be_is_named_wherever_it_is(value, words):
    _, X = dense(4100, 2, 0.0)
    X[4000, 17] = X[17, 4000] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InputError, match=rf"{words}.*\(17, 4000\)"):
            unrelu.complete(X, 2, rng=0)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.inf, r"must be finite where it was seen, got inf at \(\d+, 77\)"),
        (-1.0, r"≥ threshold=0, but that at \(\d+, 77\)"),
    ],
)
def test_a_service_that_gives_what_cannot_be_is_told_where(value, words):
    class Wrong(Oracle):
        def block(self, rows, cols):
            found = super().block(rows, cols)
            i, j = (np.arange(self.shape[0])[place] == 77 for place in (rows, cols))
            found[i], found[:, j] = value, value
            return found

    with pytest.raises(InputError, match=words):
        unrelu.complete(Wrong(5000, 2), 2, method="landmarks", rng=0)


def test_sizes_in_words():
    assert bytes_of("800MB") == 800_000_000
    assert bytes_of("1 GiB") == 2**30
    for wrong in ("", "MB", "-3GB", 0, "3 furlongs", True):
        with pytest.raises(InputError, match="peak_memory must be a number of bytes"):
            bytes_of(wrong)
