"""What is written by blocks is what a completion fills in as a whole."""

from dataclasses import replace

import numpy as np
import pytest

import unrelu
import unrelu._old.results.written as written
from helpers import ROUNDING, asymmetric_instance, relu_instance, table_instance
from unrelu import InputError
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.data.source import ArraySource
from unrelu._old.io import zarr_out
from unrelu._old.io.opened import open_zarr
from unrelu._old.results.written import Filled, write_filled


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Several blocks, and several bands in each, of matrices that take no time."""
    monkeypatch.setattr(zarr_out, "CHUNK", 16)
    monkeypatch.setattr(zarr_out, "LEAST_CHUNK", 4)
    monkeypatch.setattr(written, "BAND", 5)


def symmetric(n=40, rank=2, seed=0, **options):
    _, X = relu_instance(n, rank, seed, sigma=options.pop("noise", 0.0), dtype=options.pop("dtype", np.float64))
    return unrelu.complete(X, rank=rank, rng=0, **options), X


def between():
    """With ends of rows that differ, so that those of (i, j) and of (j, i) do."""
    M, _ = relu_instance(40, 2, sigma=0.3)
    low, high = -0.5, np.where(np.arange(40) % 2, 0.7, 1.2)[:, None]
    X = np.where((low < M) & (high > M), M, np.nan)
    return unrelu.complete(X, rank=2, threshold=(low, high), seen="between", rng=0), X


def own_limits():
    """Within a range that the fit leaves."""
    M, X = relu_instance(40, 2, sigma=0.2)
    unknown = np.random.default_rng(0).random((40, 40)) < 0.05
    limit = np.where(np.arange(40) % 2, 0.0, 0.3)[:, None]
    X = np.where((limit <= M) & ~unknown, M, np.nan)
    return unrelu.complete(X, rank=2, threshold=limit, unknown=unknown, entry_range=(-1, 99), rng=0), X


def no_diagonal():
    """Hidden for another reason than its value, although the threshold is above 0."""
    M, _ = relu_instance(40, 2, sigma=0.2)
    X = np.where((M >= 0.3) & ~np.eye(40, dtype=bool), M, np.nan)
    return unrelu.complete(X, rank=2, threshold=0.3, rng=0), X


def asymmetric():
    X, unknown = asymmetric_instance()
    return unrelu.complete(X, rank=3, unknown=unknown, rng=0), X


def two_sided():
    X, unknown = asymmetric_instance()
    return unrelu.complete(X, rank=3, unknown=unknown, method="momentum-pam", rng=0, max_iter=20), X


def signed():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((40, 2))
    M = U * [1, -1] @ U.T + 0.3 * rng.standard_normal((40, 40))
    X = np.where(M >= 0, M, np.nan)
    return unrelu.complete(X, rank=2, structure="indefinite", rng=0), X


def curve():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 1))
    M = U @ U.T + 0.1 * rng.standard_normal((60, 60))
    M = (M + M.T) / 2
    seen = rng.random((60, 60)) < 1 / (1 + np.exp(-(M + 0.2) / 0.3))
    X = np.where(seen & seen.T, M, np.nan)
    return unrelu.complete(X, rank=1, gaps="curve", rng=0), X


def forecast():
    _, X = relu_instance(40, 8, sigma=1.0)
    return unrelu.complete(X, rng=0), X


def table(**options):
    _, X = table_instance(40, 25, sigma=0.1)
    return unrelu.complete_rectangular(X, 3, rng=0, **options), X


def table_with_limits():
    _, X = table_instance(40, 25, sigma=0.1)
    unknown = np.isnan(X) & (np.random.default_rng(1).random(X.shape) < 0.2)
    limit = np.where(np.arange(25) % 2, 0.0, np.inf)[None, :]
    return unrelu.complete_rectangular(X, 3, rng=0, threshold=limit, entry_range=(-20, 20), unknown=unknown), X


CASES = {
    "exact": symmetric,
    "noise": lambda: symmetric(noise=0.3, sigma=0.3),
    "single precision": lambda: symmetric(noise=0.1, dtype=np.float32),
    "no threshold": lambda: symmetric(threshold=None),
    "between": between,
    "own limits": own_limits,
    "no diagonal": no_diagonal,
    "asymmetric": asymmetric,
    "two factors": two_sided,
    "signed": signed,
    "curve": curve,
    "forecast": forecast,
    "table": table,
    "table with limits": table_with_limits,
}


@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
@pytest.mark.parametrize("case", CASES)
def test_blocks_are_what_the_whole_is(case, tmp_path):
    completion, X = CASES[case]()
    write_filled(completion, X, tmp_path / "out.zarr")
    stored = open_zarr(tmp_path / "out.zarr")
    whole = np.asarray(completion.filled())
    assert stored.dtype == X.dtype
    tol = 1e-5 if X.dtype == np.float32 else 1e3 * ROUNDING
    np.testing.assert_allclose(stored[...], whole, rtol=tol, atol=tol)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(stored[...][seen], X[seen])


def test_cases_are_of_the_kinds_that_they_are_called():
    assert CASES["curve"]()[0].detection.width > 0
    assert CASES["forecast"]()[0].forecasts
    assert CASES["signed"]()[0].signs == (1, -1)
    assert not CASES["two factors"]()[0].symmetric or CASES["two factors"]()[0].left is not None


def test_limits_decide_what_is_written_in_these_cases():
    for case, least in (("between", None), ("own limits", -1.0)):
        completion, X = CASES[case]()
        found, fit = Filled(completion, X).whole(), np.asarray(completion.matrix())
        assert (found != fit)[np.isnan(X)].any()
        assert least is None or (fit.min() < least <= found.min())


def test_the_fit_reads_nothing():
    for completion, X in (symmetric(noise=0.3), table()):
        filled = Filled(completion, object(), fit=True)
        np.testing.assert_allclose(filled.whole(), completion.matrix(), atol=1e-12)
        assert not np.array_equal(filled.whole(), X)


def test_rows_that_are_not_determined_are_left_out_where_nothing_was_seen():
    completion, X = symmetric()
    whole = Filled(completion, X, blank=np.array([7])).whole()
    left = np.zeros(X.shape, bool)
    left[7] = left[:, 7] = True
    np.testing.assert_array_equal(np.isnan(whole), left & np.isnan(X))
    fit = Filled(completion, X, fit=True, blank=np.array([7])).whole()
    np.testing.assert_array_equal(np.isnan(fit), left & np.isnan(X))


def test_columns_of_a_table_come_after_its_rows():
    completion, X = table()
    whole = Filled(completion, X, blank=np.array([40 + 3])).whole()
    left = np.zeros(X.shape, bool)
    left[:, 3] = True
    np.testing.assert_array_equal(np.isnan(whole), left & np.isnan(X))


class Watched(ArraySource):
    """Counts how often each entry is read."""

    block_shape = (6, 6)

    def __init__(self, values):
        super().__init__(values)
        self.times = np.zeros(values.shape, int)

    def block(self, rows, cols):
        self.times[rows, cols] += 1
        return super().block(rows, cols)


def test_each_entry_is_read_once_along_the_grid_of_the_source():
    completion, X = symmetric(threshold=None)
    source = Watched(X)
    filled = Filled(completion, source)
    assert [grid.tile for grid in filled.grids] == [18, 18]
    assert filled._observations.diagonal_seen
    source.times[:] = 0
    filled.whole()
    assert (source.times == 1).all()


def test_rows_and_bytes_are_told(tmp_path):
    completion, X = symmetric()
    heard = []

    class Listener:
        def begin(self, phase, rows):
            heard.append((phase, rows))

        def advance(self, rows, bytes_read):
            heard.append((rows, bytes_read))

    write_filled(completion, X, tmp_path / "out.zarr", rows=Listener())
    assert heard[0] == ("writing", 40)
    rows, read = np.sum(heard[1:], axis=0)
    assert (rows, read) == (40, X.nbytes)


def test_another_matrix_is_refused():
    completion, X = symmetric()
    with pytest.raises(InputError, match="X must be 40×40 like the completed matrix, got 39×39"):
        Filled(completion, X[:39, :39]).whole()


def test_a_completion_from_a_file_needs_its_data(tmp_path):
    completion, X = symmetric()
    completion.save(tmp_path / "factors.npz")
    again = unrelu.Completion.load(tmp_path / "factors.npz")
    with pytest.raises(InputError, match="pass the matrix that was completed"):
        Filled(again).whole()
    np.testing.assert_allclose(Filled(again, X).whole(), completion.filled(), atol=1e-12)


def test_a_mask_that_a_file_does_not_bring_back(tmp_path):
    """What absence says is not known without it; a forecast hangs on that, and another fit goes without."""
    _, X = relu_instance(40, 2, sigma=0.3)
    unknown = np.isnan(X) & (np.random.default_rng(0).random(X.shape) < 0.2)
    completion = unrelu.complete(X, rank=2, unknown=unknown, rng=0)
    completion.save(tmp_path / "factors.npz")
    again = unrelu.Completion.load(tmp_path / "factors.npz")
    np.testing.assert_allclose(Filled(again, X).whole(), again.filled(X), atol=1e-12)
    assert not np.allclose(again.filled(X), completion.filled())
    forecasts = replace(CASES["forecast"]()[0], source=None, unknown_count=3)
    with pytest.raises(InputError, match="made with 3 entries marked as unknown; give the same mask again"):
        Filled(forecasts, X).whole()


def test_what_the_data_leave_open_goes_no_further_out_than_entries_do():
    completion, X = symmetric(threshold=None)
    far = np.array(completion.factor)
    far[7] *= 100
    found = replace(completion, factor=far, undetermined_rows=np.array([7]), alone=NoStructure(0.0, 2.0))
    whole, unseen = Filled(found, X).whole(), np.isnan(X[7])
    assert np.abs(far[7] @ far.T)[unseen].max() > 20
    assert np.abs(whole[7, unseen]).max() < 20
    np.testing.assert_array_equal(whole[7], whole[:, 7])
