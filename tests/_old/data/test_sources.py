"""Sources: sparse arrays, oracles, memory maps, zarr arrays, and what counts what was read of them."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import unrelu
import unrelu._old.data.inputs
from helpers import relu_instance, table_instance
from unrelu import InputError, ZarrSource
from unrelu._old.data import counted as counting
from unrelu._old.data import gather
from unrelu._old.data.counted import RETRIES, Counted, block_named
from unrelu._old.data.far import Lacking, Recast
from unrelu._old.data.inputs import read_table, read_values
from unrelu._old.data.mapped import MappedSource, is_mapped
from unrelu._old.data.oracle import OracleSource
from unrelu._old.data.source import ArraySource, Source, SparseSource, WithoutDiagonal

zarr = pytest.importorskip("zarr")

N = 23
# Each kind of place, and each that is easily got wrong: nothing, once, unsorted, twice, from the end.
PLACES = [
    slice(0, N), slice(3, 11), slice(20, 40), slice(5, 5), slice(22, 23),
    np.array([], np.intp), np.array([7]), np.arange(4, 9), np.array([20, 3, 11]), np.array([5, 5, 1, 5]),
    np.array([5, 9, 3, 8]), np.array([-1, 0, -N]),
]  # fmt: skip


def some_values(dtype=np.float64, shape=(N, N), seen=0.3):
    rng = np.random.default_rng(4)
    values = rng.standard_normal(shape).astype(dtype)
    values[rng.random(shape) > seen] = np.nan
    values[0, :3] = 0.0  # which were seen
    return values


def stored(values):
    rows, cols = np.nonzero(~np.isnan(values))
    return sp.csr_array((values[rows, cols], (rows, cols)), shape=values.shape)


def cut(values, rows, cols):
    return values[rows][:, cols]


def same_everywhere(source, values):
    for rows in PLACES:
        for cols in PLACES:
            found = source.block(rows, cols)
            assert found.dtype == values.dtype
            np.testing.assert_array_equal(found, cut(values, rows, cols))
    i, j = np.random.default_rng(0).integers(0, N, (2, 200))
    np.testing.assert_array_equal(source.at(i, j), values[i, j])
    np.testing.assert_array_equal(source.seen_at(i, j), ~np.isnan(values[i, j]))
    assert source.at(i[:0], j[:0]).shape == (0,)
    np.testing.assert_array_equal(np.concatenate([band for _, band in source.bands()]), values)


@pytest.fixture
def waits(monkeypatch):
    """How long each wait was; nobody waits."""
    found = []
    monkeypatch.setattr(counting, "sleep", found.append)
    return found


# --- sparse ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [0, 8, np.inf])
@pytest.mark.parametrize("seen", [0.02, 0.3, 0.9])
def test_blocks_of_a_sparse_array(monkeypatch, seen, copies):
    monkeypatch.setattr(gather, "WORTH_A_COPY", copies)
    values = some_values(seen=seen)
    same_everywhere(SparseSource(stored(values)), values)


def test_a_copy_by_columns_is_made_only_once_it_pays():
    values = stored(some_values(shape=(2000, 2000), seen=0.01))
    source, few = SparseSource(values), np.array([7, 1400])
    for _ in range(50):
        source.block(slice(0, 20), slice(0, 2000))
        source.block(np.array([3, 5]), few)
    assert source._gather._turned is None
    source.block(slice(0, 2000), few)
    assert source._gather._turned is None
    for _ in range(50):
        found = source.block(slice(0, 2000), few)
    assert source._gather._turned is not None
    np.testing.assert_array_equal(np.nan_to_num(found), values.toarray()[:, few])


def test_indices_that_are_not_sorted():
    values = some_values()
    mixed = stored(values)
    for start, stop in zip(mixed.indptr[:-1], mixed.indptr[1:], strict=True):
        mixed.indices[start:stop], mixed.data[start:stop] = (
            mixed.indices[start:stop][::-1].copy(),
            mixed.data[start:stop][::-1].copy(),
        )
    mixed.has_sorted_indices = False
    before = mixed.indices.copy()
    same_everywhere(SparseSource(mixed), values)
    np.testing.assert_array_equal(mixed.indices, before)  # the caller's stay as they are


def test_a_place_that_is_not_there():
    with pytest.raises(IndexError, match="index 23 is out of bounds"):
        SparseSource(stored(some_values())).block(np.array([2, 23]), slice(0, 3))


def test_no_sparse_array_is_made_dense():
    n = 1_000_000
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, (2, 5000))
    source = SparseSource(sp.csr_array((np.ones(5000), (i, j)), shape=(n, n)))
    tracemalloc.start()
    assert source.block(np.unique(i)[:50], slice(0, n // 100)).shape == (50, n // 100)
    assert source.block(slice(0, n), j[:3]).shape == (n, 3)
    assert np.isnan(source.block(i[:40], j[:40]).diagonal()).sum() == 0
    assert (source.at(i, j) >= 1).all()
    assert source.without(i[:1], j[:1]).stored.nnz == 4999
    assert source.part(np.unique(i), np.unique(j)).stored.nnz == 5000
    assert not source.symmetric()
    assert source.pieces().shape == (n,)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300e6  # n² doubles are 8e12 bytes


def test_only_the_entries_named_are_left_out_of_a_large_array():
    """Row times width does not fit into the 32 bits that the positions have."""
    source = SparseSource(sp.csr_array(([1.0, 2.0], ([0, 65536], [5, 5])), shape=(70000, 65536)))
    left = source.without(np.array([0]), np.array([5]))
    assert left.at(np.array([0, 65536]), np.array([5, 5])).tolist()[1] == 2.0
    assert left.stored.nnz == 1


def test_single_entries_are_asked_for_row_by_row():
    class Rows(Source):
        shape, dtype, asked = (9, 9), np.dtype(np.float64), 0

        def block(self, rows, cols):
            self.asked += 1
            return np.add.outer(10.0 * rows, cols)

    source = Rows()
    assert source.at(np.array([4, 1, 4, 4]), np.array([0, 8, 2, 0])).tolist() == [40, 18, 42, 40]
    assert source.asked == 2


# --- changed as it is read ------------------------------------------------------------------------------------------


def test_another_precision_block_by_block():
    values = some_values()
    source = Recast(ArraySource(values), np.float32)
    same_everywhere(source, values.astype(np.float32))
    assert source.in_dtype(np.float32) is source
    np.testing.assert_array_equal(
        source.part(np.array([3, 1]), np.array([2, 0])).block(slice(0, 2), slice(0, 2)),
        values.astype(np.float32)[np.ix_([3, 1], [2, 0])],
    )
    assert Recast(ArraySource(values), np.float32).coordinates() is None
    rows, cols, found = Recast(SparseSource(stored(values)), np.float32).coordinates()
    np.testing.assert_array_equal(found, values[rows, cols].astype(np.float32))


def test_entries_left_out_block_by_block():
    values = some_values(seen=1.0)
    i, j = np.array([0, 5, 5, 22]), np.array([3, 5, 1, 0])
    expected = values.copy()
    expected[i, j] = np.nan
    before = values.copy()
    same_everywhere(Lacking(ArraySource(values), i, j), expected)
    np.testing.assert_array_equal(values, before)
    order = np.array([5, 1, 3, 0])
    for source in (ArraySource(values), SparseSource(stored(values))):
        part = Lacking(source, i, j).part(order, order)
        np.testing.assert_array_equal(part.block(slice(0, 4), slice(0, 4)), expected[np.ix_(order, order)])
    rows, cols, _ = Lacking(SparseSource(stored(values)), i, j).coordinates()
    assert len(rows) == N * N - 4
    assert not {*zip(rows.tolist(), cols.tolist(), strict=True)} & {*zip(i.tolist(), j.tolist(), strict=True)}


# --- counted --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ArraySource, lambda values: SparseSource(stored(values))])
def test_what_is_counted_is_the_same_source(kind):
    values = some_values(np.float32)
    source = kind(values)
    source.labels = tuple(range(N))
    source.block_shape = (4, 5)
    found = Counted(source)
    same_everywhere(found, values)
    names = ("shape", "dtype", "labels", "thread_safe", "at_hand", "block_shape", "cut")
    assert [getattr(found, name) for name in names] == [getattr(source, name) for name in names]
    assert found.symmetric() == source.symmetric()
    np.testing.assert_array_equal(found.pieces(), source.pieces())


def test_what_was_read_is_counted():
    source = Counted(ArraySource(some_values(np.float32)))
    source.block(slice(0, 3), np.array([1, 2]))
    assert (source.entries_read, source.bytes_read) == (6, 24)
    source.at(np.array([1, 2]), np.array([3, 3]))
    assert source.entries_read == 8
    source.seen_at(np.array([1]), np.array([3]))
    assert source.entries_read == 9
    list(source.bands())
    assert source.entries_read == 9 + N * N
    source.part(np.arange(4), np.arange(5)).block(slice(0, 4), slice(0, 5))
    assert source.entries_read == 29 + N * N
    source.in_dtype(np.float64).block(slice(0, 2), slice(0, 2))
    source.without(np.array([0]), np.array([0])).block(slice(0, 2), slice(0, 2))
    WithoutDiagonal(source).block(slice(0, 2), slice(0, 2))
    assert source.entries_read == 41 + N * N


def test_what_was_read_of_a_sparse_array_is_counted_and_stays_sparse():
    values = stored(some_values())
    source = Counted(SparseSource(values))
    assert isinstance(source.part(np.arange(4), np.arange(5)), SparseSource)
    assert source.entries_read == 20
    source.coordinates()
    assert source.entries_read == 20 + values.nnz
    source.seen_at(np.array([1]), np.array([3]))
    assert source.entries_read == 21 + values.nnz


def test_threads_lose_no_count():
    class Slow(int):
        """An int that gives other threads time to come between reading and writing."""

        def __add__(self, other):
            total = int(self) + int(other)
            threading.Event().wait(0.001)
            return Slow(total)

    source = Counted(ArraySource(np.zeros((50, 50))))
    source.entries_read = Slow(0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: source.block(slice(k, k + 1), slice(0, 50)), range(50)))
    assert source.entries_read == 2500


def test_a_counted_source_is_pickled():
    source = Counted(ArraySource(np.eye(3)))
    source.block(slice(0, 1), slice(0, 3))
    again = pickle.loads(pickle.dumps(source))
    again.block(slice(0, 1), slice(0, 3))
    assert (again.entries_read, source.entries_read) == (6, 3)


class Faulty(Source):
    """A source that gives whatever it is told to, or raises it."""

    shape, dtype = (8, 8), np.dtype(np.float64)

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def block(self, rows, cols):
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Passing(Exception):
    transient = True


class Lasting(OSError):
    transient = False


def test_a_wrong_shape_is_named():
    with pytest.raises(InputError) as raised:
        Counted(Faulty(np.zeros((3, 4)))).block(slice(0, 5), np.array([1, 3, 6, 7]))
    assert str(raised.value) == (
        "Faulty gave a block of shape (3, 4) for rows 0–4, columns 1, 3, 6 and 1 more, expected (5, 4); give a number "
        "for every row and column asked for, and NaN where nothing was seen"
    )


@pytest.mark.parametrize(("answer", "came"), [(np.zeros((1, 1), np.float32), "dtype float32"), ([[1.0]], "list")])
def test_another_dtype_is_named(answer, came):
    with pytest.raises(InputError, match=f"Faulty gave {came} for row 2, column 3, expected an array of dtype float64"):
        Counted(Faulty(answer)).block(slice(2, 3), slice(3, 4))


def test_what_is_raised_comes_with_the_block(waits):
    source = Counted(Faulty(KeyError("no such table")))
    with pytest.raises(InputError) as raised:
        source.block(slice(2, 4), slice(3, 4))
    assert str(raised.value) == (
        "Faulty failed to give the block of rows 2–3, column 3 (KeyError: 'no such table'); see that it can be read "
        "there, and call again"
    )
    assert isinstance(raised.value.__cause__, KeyError)
    assert (source.source.asked, waits, source.entries_read) == (1, [], 0)


@pytest.mark.parametrize(
    "error", [OSError("disk"), TimeoutError("late"), ConnectionResetError("gone"), Passing("busy")]
)
def test_what_may_pass_is_tried_again(waits, error):
    source = Counted(Faulty(error, error, error, np.ones((1, 1))))
    assert source.block(slice(2, 3), slice(3, 4)) == [[1.0]]
    assert source.source.asked == 1 + RETRIES == 4
    assert len(waits) == 3
    assert 0 < waits[0] < waits[1] < waits[2] < 5
    assert source.entries_read == 1


@pytest.mark.parametrize("error", [OSError("disk"), Passing("busy")])
def test_what_does_not_pass_is_told_with_how_often(waits, error):
    source = Counted(Faulty(error))
    with pytest.raises(InputError, match=r"row 2, column 3, 4 times \((OSError: disk|Passing: busy)\); see"):
        source.block(slice(2, 3), slice(3, 4))
    assert source.source.asked == 4


@pytest.mark.parametrize("error", [Lasting("says so"), InputError("of its own"), MemoryError("too large")])
def test_what_will_not_pass_is_not_tried_again(waits, error):
    source = Counted(Faulty(error))
    with pytest.raises(InputError if isinstance(error, OSError) else type(error), match=str(error)):
        source.block(slice(2, 3), slice(3, 4))
    assert (source.source.asked, waits) == (1, [])


def test_an_error_of_many_lines_is_one_sentence(waits):
    with pytest.raises(InputError) as raised:
        Counted(Faulty(ValueError("first\nsecond\n" + "x" * 5000))).block(slice(0, 1), slice(0, 1))
    assert "(ValueError: first);" in str(raised.value)
    with pytest.raises(InputError) as raised:
        Counted(Faulty(ValueError("x" * 5000))).block(slice(0, 1), slice(0, 1))
    assert len(str(raised.value)) < 500


def test_single_entries_that_cannot_be_read_are_named_too(waits):
    class Alone(Faulty):
        def at(self, rows, cols):
            raise TimeoutError("late")

    with pytest.raises(InputError, match=r"Alone failed to give the block of rows 1, 7, columns 2–3, 4 times"):
        Counted(Alone(None)).at(np.array([1, 7]), np.array([2, 3]))


def test_a_source_that_changes_its_shape():
    source = Faulty(np.zeros((1, 1)))
    counted = Counted(source)
    counted.block(slice(0, 1), slice(0, 1))
    source.shape = (9, 8)
    with pytest.raises(
        InputError, match=r"^Faulty had the shape \(8, 8\) when it was handed over and has \(9, 8\) now"
    ):
        counted.block(slice(0, 1), slice(0, 1))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (slice(0, 100), "rows 0–99"),
        (slice(None, 3), "rows 0–2"),
        (slice(4, None), "the rows from 4 on"),
        (slice(4, 4), "no rows"),
        (np.arange(5, 9), "rows 5–8"),
        (np.array([5, 7, 6]), "rows 5, 7, 6"),
        (np.array([], int), "no rows"),
    ],
)
def test_blocks_have_names(rows, said):
    assert block_named(rows, slice(7, 8)) == f"{said}, column 7"


# --- oracles --------------------------------------------------------------------------------------------------------


class Oracle:
    """No subclass of anything."""

    def __init__(self, values, **others):
        self.values, self.shape, self.asked = values, values.shape, 0
        self.__dict__.update(others)

    def block(self, rows, cols):
        self.asked += 1
        return cut(self.values, rows, cols)


def test_an_oracle_is_a_source():
    same_everywhere(OracleSource(Oracle(some_values())), some_values())


def test_an_oracle_is_not_asked_before_a_block_is_needed():
    oracle = Oracle(some_values(), labels=[f"r{k}" for k in range(N)], column_labels=range(N))
    source, labels = read_values(oracle)
    data, axes = read_table(oracle)
    assert isinstance(source, OracleSource)
    assert isinstance(data, OracleSource)
    assert labels == axes.rows == tuple(f"r{k}" for k in range(N))
    assert axes.columns == tuple(range(N))
    assert read_values(source)[0] is source
    assert isinstance(read_values(Counted(source))[0], Counted)
    assert oracle.asked == 0
    source.in_dtype(np.float32)
    source.without(np.array([0]), np.array([1]))
    assert oracle.asked == 0
    source.block(slice(0, 2), slice(0, 2))
    assert oracle.asked == 1


@pytest.mark.parametrize(
    ("others", "dtype", "threads"),
    [
        ({}, np.float64, False),
        ({"dtype": np.float32, "thread_safe": True}, np.float32, True),
        ({"dtype": "float16", "thread_safe": 1}, np.float32, False),
        ({"dtype": np.dtype(int), "thread_safe": "yes"}, np.float64, False),
    ],
)
def test_what_an_oracle_says_of_itself(others, dtype, threads):
    source = OracleSource(Oracle(np.ones((4, 4)), **others))
    assert (source.dtype, source.thread_safe, source.at_hand) == (dtype, threads, False)
    assert source.block(slice(0, 2), slice(0, 3)).dtype == dtype


def test_the_grid_of_an_oracle():
    assert OracleSource(Oracle(np.ones((4, 4)), block_shape=[2, 4])).block_shape == (2, 4)
    assert OracleSource(Oracle(np.ones((4, 4)))).block_shape is None


def test_an_oracle_may_answer_with_lists_and_integers():
    oracle = Oracle(np.arange(16).reshape(4, 4))
    assert OracleSource(oracle).block(slice(0, 1), slice(0, 2)).dtype == np.float64
    oracle.block = lambda rows, cols: [[1, 2.5]]
    assert OracleSource(oracle).block(slice(0, 1), slice(0, 2)).tolist() == [[1.0, 2.5]]


@pytest.mark.parametrize("answer", [None, "none", [[1, 2], [3]], np.ones((2, 2), complex), np.ones((2, 2), bool)])
def test_an_oracle_must_answer_with_numbers(answer):
    oracle = Oracle(np.ones((4, 4)))
    oracle.block = lambda rows, cols: answer
    with pytest.raises(
        InputError, match=r"^Oracle gave \S+ of dtype \S+ for rows 0–1, columns 0–1, expected a matrix of"
    ):
        OracleSource(oracle).block(slice(0, 2), slice(0, 2))


def test_an_oracle_must_answer_what_it_was_asked(waits):
    oracle = Oracle(np.ones((4, 4)))
    oracle.block = lambda rows, cols: np.ones((4, 4))
    with pytest.raises(InputError, match=r"^Oracle gave a block of shape \(4, 4\) for rows 0–1, columns 0–2, expected"):
        OracleSource(oracle).block(slice(0, 2), slice(0, 3))
    oracle.block = lambda rows, cols: 1 / 0
    with pytest.raises(InputError, match=r"^Oracle failed to give the block of rows 0–1, column 0 \(ZeroDivisionError"):
        OracleSource(oracle).block(slice(0, 2), slice(0, 1))


def test_an_oracle_that_changes_its_shape():
    source = OracleSource(Oracle(np.ones((4, 4))))
    source.oracle.shape = (5, 4)
    with pytest.raises(
        InputError, match=r"^Oracle had the shape \(4, 4\) when it was handed over and has \(5, 4\) now"
    ):
        source.block(slice(0, 2), slice(0, 1))


def test_failures_are_not_tried_again_by_everybody_in_turn(waits):
    oracle = Oracle(np.ones((4, 4)))
    asked = []

    def fail(rows, cols):
        asked.append(rows)
        raise TimeoutError

    oracle.block = fail
    with pytest.raises(InputError, match=r"Oracle failed .*4 times \(TimeoutError\)"):
        Counted(OracleSource(oracle)).block(slice(0, 1), slice(0, 1))
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"shape": (4,)}, r"^shape of Oracle must be two integers such as \(200, 200\), got \(4,\)"),
        ({"shape": 4}, r"^shape of Oracle must be two integers such as \(200, 200\), got 4"),
        ({"shape": (4.0, 4)}, r"^shape of Oracle must be two integers"),
        ({"shape": (4, -1)}, r"^shape of Oracle must be two integers"),
        ({"dtype": "text"}, r"^dtype of Oracle must be np.dtype\('float64'\) or np.dtype\('float32'\), got 'text'"),
        ({"dtype": np.complex128}, r"^dtype of Oracle must be"),
        ({"labels": "abc"}, r"^labels of Oracle must be 4, one for each, got 3"),
        ({"column_labels": range(5)}, r"^column_labels of Oracle must be 4, one for each, got 5"),
        ({"block_shape": 3}, r"^block_shape of Oracle must be two integers"),
    ],
)
def test_what_an_oracle_may_not_say(others, said):
    with pytest.raises(InputError, match=said):
        read_values(Oracle(np.ones((4, 4)), **others))


def test_what_has_no_block_is_no_oracle():
    class Shape:
        shape, block = (2, 2), "a block"

    with pytest.raises(InputError, match="dtype object"):
        read_values(Shape())


def test_oracles_are_completed():
    M, X = relu_instance(40, 2)
    found = unrelu.complete(Oracle(X), 2, rng=0)
    np.testing.assert_allclose(found.matrix(), M, atol=1e-6)
    np.testing.assert_array_equal(found.matrix(), unrelu.complete(X, 2, rng=0).matrix())
    T, Y = table_instance(30, 20, 2)
    table = unrelu.complete_rectangular(Oracle(Y, labels=range(30), column_labels="abcdefghijklmnopqrst"), 2, rng=0)
    np.testing.assert_allclose(table.matrix(), T, atol=1e-6)
    assert table.column_labels[3] == "d"


def test_an_oracle_that_fails_ends_a_completion_with_a_sentence(waits):
    oracle = Oracle(relu_instance(40, 2)[1])
    oracle.block = lambda rows, cols: np.ones((1, 1))
    with pytest.raises(InputError, match=r"^Oracle gave a block of shape \(1, 1\) for"):
        unrelu.complete(oracle, 2)
    oracle.shape = (40, 39)
    with pytest.raises(InputError, match="X must be square, got 40 rows and 39 columns"):
        unrelu.complete(oracle, 2)


# --- memory maps ----------------------------------------------------------------------------------------------------


@pytest.fixture
def mapped(tmp_path):
    """The path of a .npy file, and what is in it."""
    values = some_values()
    np.save(tmp_path / "x.npy", values)
    return tmp_path / "x.npy", values


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_memory_map_is_a_source(mapped, mode):
    path, values = mapped
    source, labels = read_values(np.load(path, mmap_mode=mode))
    assert isinstance(source, MappedSource)
    assert isinstance(read_table(np.load(path, mmap_mode=mode))[0], MappedSource)
    assert labels is None
    assert (source.thread_safe, source.at_hand, source.dtype) == (True, False, np.float64)
    same_everywhere(source, values)
    same_everywhere(MappedSource(path), values)


def test_blocks_of_a_map_are_no_copies_and_no_maps(mapped):
    found = MappedSource(mapped[0]).block(slice(2, 4), slice(0, 5))
    assert type(found) is np.ndarray
    assert found.base is not None


def test_views_of_maps_and_what_is_computed_from_them(mapped):
    path, values = mapped
    whole = np.load(path, mmap_mode="r")
    view = read_values(whole[3:9, ::2].T)[0]
    assert isinstance(view, MappedSource)
    np.testing.assert_array_equal(view.block(slice(0, 4), slice(0, 6)), values[3:9, ::2].T[:4])
    assert not is_mapped(whole + 1)
    assert not is_mapped(np.array(whole, subok=True))
    assert isinstance(read_values(whole + 1)[0], np.ndarray)


@pytest.mark.parametrize(
    ("dtype", "found"), [(">f4", np.float32), ("f2", np.float32), (">f8", np.float64), ("i2", np.float64)]
)
def test_other_numbers_are_cast_block_by_block(tmp_path, dtype, found):
    values = np.arange(N * N).reshape(N, N) % 7
    np.save(tmp_path / "x.npy", values.astype(dtype))
    same_everywhere(read_values(np.load(tmp_path / "x.npy", mmap_mode="r"))[0], values.astype(found))


def test_a_map_with_an_offset(tmp_path):
    path = tmp_path / "raw"
    path.write_bytes(b"h" * 5000 + np.arange(12.0).tobytes())
    source = read_values(np.memmap(path, float, "r", offset=5000, shape=(3, 4)))[0]
    assert source.block(slice(1, 2), slice(0, 4)).tolist() == [[4, 5, 6, 7]]
    with path.open("r+b") as file:
        file.truncate(5000 + 95)
    with pytest.raises(InputError, match="raw is 5095 bytes long where its memory map needs 5096"):
        source.block(slice(1, 2), slice(0, 4))


@pytest.mark.parametrize("what", ["block", "at", "making", "a view"])
def test_a_file_cut_short_after_it_was_mapped(mapped, what):
    """To read beyond its end would end the process."""
    path, _ = mapped
    whole = np.load(path, mmap_mode="r")
    source, size = MappedSource(whole), path.stat().st_size
    os.truncate(path, size - 4096)
    ask = {
        "block": lambda: source.block(slice(N - 1, N), slice(0, N)),
        "at": lambda: source.at(np.array([N - 1]), np.array([N - 1])),
        "making": lambda: read_values(whole),
        "a view": lambda: read_values(whole[-3:]),
    }[what]
    with pytest.raises(InputError) as raised:
        ask()
    assert str(raised.value) == (
        f"{path} is {size - 4096} bytes long where its memory map needs {size}; it was cut short, so write it again or "
        "fetch a fresh copy"
    )


def test_a_file_that_is_replaced_or_gone_stays_mapped(mapped):
    path, values = mapped
    source = MappedSource(path)
    Path(path.parent, "short").write_bytes(b"short")
    os.replace(path.parent / "short", path)
    np.testing.assert_array_equal(source.block(slice(0, N), slice(0, N)), values)
    path.unlink()
    np.testing.assert_array_equal(source.block(slice(0, N), slice(0, N)), values)


def test_files_that_cannot_be_mapped(mapped, tmp_path):
    path, _ = mapped
    with pytest.raises(InputError, match=r"nowhere.npy does not exist; check the name"):
        MappedSource(tmp_path / "nowhere.npy")
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(InputError, match=r"x.npy is no .npy file of numbers, or is shorter than its header says \("):
        MappedSource(path)
    os.truncate(path, 40)
    with pytest.raises(InputError, match=r"x.npy is no .npy file of numbers, or is shorter than its header says \("):
        MappedSource(path)
    np.savez(tmp_path / "x.npz", np.ones(3))
    with pytest.raises(InputError, match=r"x.npz is no .npy file, which alone can be mapped"):
        MappedSource(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.ones(4), r"^X must be a matrix \(2-D\), got 1-D data of shape \(4,\)"),
        (np.ones((2, 2), complex), r"^X must hold numbers, got a memory map of dtype complex128"),
        (np.ones((2, 2), bool), r"^X must hold numbers, got a memory map of dtype bool"),
    ],
)
def test_maps_of_something_else(tmp_path, values, said):
    np.save(tmp_path / "x.npy", values)
    with pytest.raises(InputError, match=said):
        read_values(np.load(tmp_path / "x.npy", mmap_mode="r"))


def test_maps_are_completed(tmp_path):
    M, X = relu_instance(40, 2)
    np.save(tmp_path / "x.npy", X)
    found = unrelu.complete(np.load(tmp_path / "x.npy", mmap_mode="r"), 2, rng=0)
    np.testing.assert_allclose(found.matrix(), M, atol=1e-6)


# --- zarr -----------------------------------------------------------------------------------------------------------

FORMATS = [{}, {"zarr_format": 2}, {"shards": (8, 10)}, {"compressors": None}]


def store(path, values, **options):
    array = zarr.create_array(path, shape=values.shape, chunks=(4, 5), dtype=values.dtype, **options)
    array[:] = values
    return array


def chunks_of(path):
    """The files that hold the values, the first rows first."""
    return sorted(file for file in Path(path).rglob("*") if file.is_file() and not file.name.startswith(("zarr", ".z")))


@pytest.mark.parametrize("options", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_zarr_array_is_a_source(tmp_path, dtype, options):
    values = some_values(dtype)
    array = store(tmp_path / "x.zarr", values, **options)
    for source in (read_values(array)[0], read_table(array)[0], ZarrSource(tmp_path / "x.zarr")):
        assert isinstance(source, ZarrSource)
        assert (source.thread_safe, source.at_hand, source.block_shape) == (True, False, (4, 5))
    same_everywhere(source, values)


@pytest.mark.parametrize(("dtype", "found"), [("float16", np.float32), (">f8", np.float64)])
def test_other_floats_of_zarr_are_cast(tmp_path, dtype, found):
    values = np.arange(N * N).reshape(N, N) % 7
    same_everywhere(ZarrSource(store(tmp_path / "x.zarr", values.astype(dtype))), values.astype(found))


def reads(monkeypatch):
    """Which keys were read from a store of zarr, one after the other."""
    found = []
    original = zarr.storage.LocalStore.get

    async def get(self, key, *args, **options):
        found.append(key)
        return await original(self, key, *args, **options)

    monkeypatch.setattr(zarr.storage.LocalStore, "get", get)
    return found


def test_no_chunk_is_read_before_it_is_needed_and_none_twice(tmp_path, monkeypatch):
    values = some_values(seen=1.0)
    array = store(tmp_path / "x.zarr", values)
    asked = reads(monkeypatch)
    source = read_values(array)[0]
    read_table(array)
    source.in_dtype(np.float32)
    source.without(np.array([0]), np.array([1]))
    assert asked == []
    source.block(np.array([20, 0, 1, 21, 2]), slice(0, 5))
    assert sorted(asked) == ["c/0/0", "c/5/0"]
    asked.clear()
    source.at(np.array([0, 9, 1, 0]), np.array([0, 0, 1, 22]))
    assert sorted(asked) == ["c/0/0", "c/0/4", "c/2/0"]
    asked.clear()
    list(source.bands())
    assert len(asked) == len(set(asked)) == 30
    asked.clear()
    source.block(np.array([], int), slice(0, 5))
    assert asked == []


def test_rows_that_follow_one_another_are_read_as_a_slice(tmp_path):
    source = ZarrSource(store(tmp_path / "x.zarr", some_values()))

    class Spy:
        shape, asked = (N, N), None

        def __getitem__(self, place):
            self.asked = place
            return np.ones((3, 2))

    source._array = Spy()
    source.block(np.array([4, 5, 6]), slice(2, 4))
    assert source._array.asked == (slice(4, 7), slice(2, 4))


@pytest.mark.parametrize("options", FORMATS)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_damaged_chunk_is_named(tmp_path, waits, options, share):
    values = some_values(seen=1.0)
    source = ZarrSource(store(tmp_path / "x.zarr", values, **options))
    chunk = chunks_of(tmp_path / "x.zarr")[0]
    os.truncate(chunk, int(share * chunk.stat().st_size))
    with pytest.raises(InputError) as raised:
        source.block(slice(0, 3), slice(1, 3))
    said = str(raised.value)
    assert said.startswith(
        f"the zarr array file://{tmp_path}/x.zarr failed to give the block of rows 0–2, columns 1–2 ("
    )
    assert said.endswith("a chunk there is damaged or was half written, so write the store again or fetch a fresh copy")
    assert "\n" not in said
    with pytest.raises(InputError, match="damaged or was half written"):
        source.at(np.array([0]), np.array([0]))
    np.testing.assert_array_equal(source.block(slice(20, 23), slice(20, 23)), values[20:, 20:])


@pytest.mark.parametrize(("options", "of"), list(zip(FORMATS, (30, 30, 9, 30), strict=True)))
@pytest.mark.parametrize("fill", [0.0, np.nan, 7.0])
def test_chunks_that_are_not_there(tmp_path, fill, options, of):
    values = some_values(seen=1.0)
    array = store(tmp_path / "x.zarr", values, fill_value=fill, **options)
    for chunk in chunks_of(tmp_path / "x.zarr")[:2]:
        chunk.unlink()
    with pytest.raises(InputError) as raised:
        read_values(array)
    assert str(raised.value) == (
        f"the zarr array file://{tmp_path}/x.zarr lacks 2 of its {of} chunks, which hold nothing but the fill value "
        f'{fill} or were never written; write it again with config={{"write_empty_chunks": True}}, or pass '
        'missing="unseen" to ZarrSource, or to DaskSource, if nothing was seen there'
    )
    height, width = options.get("shards", (4, 5))
    values[:height, : 2 * width] = np.nan
    same_everywhere(ZarrSource(array, missing="unseen"), values)
    assert np.isnan(ZarrSource(array, missing="unseen")._array.fill_value)
    assert np.array_equal(array.fill_value, fill, equal_nan=True)  # the caller's stays as it is


def test_what_zarr_did_not_write_because_it_is_the_fill_value(tmp_path):
    values = np.zeros((8, 10))
    with pytest.raises(InputError, match="lacks 4 of its 4 chunks"):
        ZarrSource(store(tmp_path / "x.zarr", values))
    array = store(tmp_path / "y.zarr", values, config={"write_empty_chunks": True})
    np.testing.assert_array_equal(ZarrSource(array).block(slice(0, 8), slice(0, 10)), values)


def test_fill_values_that_were_written_stay(tmp_path):
    values = np.full((8, 10), 7.0)
    values[0, 0] = 1.0
    array = store(tmp_path / "x.zarr", values, fill_value=7.0)
    values[4:] = values[:, 5:] = np.nan
    np.testing.assert_array_equal(ZarrSource(array, missing="unseen").block(slice(0, 8), slice(0, 10)), values)


@pytest.mark.parametrize(("options", "name"), [({}, "zarr.json"), ({"zarr_format": 2}, ".zarray")])
def test_a_description_half_written(tmp_path, options, name):
    store(tmp_path / "x.zarr", some_values(), **options)
    description = tmp_path / "x.zarr" / name
    os.truncate(description, description.stat().st_size // 2)
    with pytest.raises(InputError) as raised:
        ZarrSource(tmp_path / "x.zarr")
    said = str(raised.value)
    assert said.startswith(f"{tmp_path}/x.zarr cannot be opened as a zarr array (")
    assert said.endswith("it is something else, or was half written, so write it again or fetch a fresh copy")
    description.unlink()
    with pytest.raises(InputError, match=r"x.zarr cannot be opened as a zarr array \("):
        ZarrSource(str(tmp_path / "x.zarr"))


def test_a_description_that_lies(tmp_path):
    """The chunks are there, and not what is said of them."""
    store(tmp_path / "x.zarr", some_values(), compressors=None)
    description = tmp_path / "x.zarr" / "zarr.json"
    said = json.loads(description.read_text())
    said["data_type"] = "float32"
    description.write_text(json.dumps(said))
    with pytest.raises(InputError, match="damaged or was half written"):
        ZarrSource(tmp_path / "x.zarr").block(slice(0, 3), slice(0, 3))


def test_a_zarr_array_that_changes_its_shape(tmp_path):
    array = store(tmp_path / "x.zarr", some_values())
    source = ZarrSource(array)
    array.resize((N, N + 1))
    with pytest.raises(InputError, match=r"had the shape \(23, 23\) when it was handed over and has \(23, 24\) now"):
        source.block(slice(0, 1), slice(0, 1))


def test_what_is_no_matrix_of_zarr(tmp_path):
    with pytest.raises(InputError, match=r"must hold float32 or float64, got int64, which has no NaN .* as float32"):
        read_values(store(tmp_path / "i.zarr", np.ones((8, 8), int)))
    with pytest.raises(InputError, match=r"must hold float32 or float64, got bool"):
        read_values(store(tmp_path / "b.zarr", np.ones((8, 8), bool)))
    with pytest.raises(InputError, match=r"X must be a matrix \(2-D\), got 1-D data of shape \(9,\)"):
        read_values(zarr.create_array({}, shape=(9,), dtype="f8"))
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    with pytest.raises(InputError, match=r"^X must be a zarr array, got a Group of zarr; pass an array"):
        read_values(group)
    for name in ("one", "two"):
        group.create_array(name, shape=(2, 2), dtype="f8")
    with pytest.raises(InputError, match=r"got a Group of zarr that holds the arrays one, two; pass one of them"):
        ZarrSource(tmp_path / "g.zarr")
    with pytest.raises(InputError, match="unknown missing 'nan'; accepted: refuse, unseen"):
        ZarrSource(group["one"], missing="nan")
    with pytest.raises(InputError, match=r"nowhere.zarr does not exist; check the name"):
        ZarrSource(tmp_path / "nowhere.zarr")
    (tmp_path / "text.zarr").write_text("no store")
    with pytest.raises(InputError, match=r"text.zarr cannot be opened as a zarr array"):
        ZarrSource(tmp_path / "text.zarr")


def test_an_old_zarr_is_refused():
    class Array:
        shape, dtype, chunks, oindex = (2, 2), np.dtype(float), (1, 1), None

    Array.__module__ = "zarr.core"
    with pytest.raises(InputError, match="comes from an old zarr; expected one of zarr 3 or later"):
        read_values(Array())


def test_paths_of_stores_are_told_apart(tmp_path):
    with pytest.raises(InputError, match=r"read it first, as with unrelu.ZarrSource\(path\), or run"):
        unrelu.complete(tmp_path / "x.zarr", 2)
    with pytest.raises(InputError, match=r"read it first, as with pandas.read_csv"):
        unrelu.complete(tmp_path / "x.csv", 2)


def test_a_disk_that_fails_is_tried_again(tmp_path, waits, monkeypatch):
    values = some_values()
    source = ZarrSource(store(tmp_path / "x.zarr", values))
    original, fails = zarr.storage.LocalStore.get, [OSError("gone"), OSError("gone")]

    async def get(self, key, *args, **options):
        if fails:
            raise fails.pop()
        return await original(self, key, *args, **options)

    monkeypatch.setattr(zarr.storage.LocalStore, "get", get)
    np.testing.assert_array_equal(source.block(slice(0, 3), slice(0, 3)), values[:3, :3])
    assert len(waits) == 2


def test_several_threads_may_read_a_zarr_array(tmp_path):
    values = some_values()
    source = Counted(ZarrSource(store(tmp_path / "x.zarr", values)))
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda k: source.block(slice(k % N, k % N + 1), slice(0, N)), range(4 * N)))
    np.testing.assert_array_equal(np.concatenate(rows), np.concatenate(4 * [values]))
    assert source.entries_read == 4 * N * N
    assert len(list(source.bands())) > 1
    assert source.entries_read == 5 * N * N


def test_zarr_arrays_are_completed(tmp_path):
    M, X = relu_instance(40, 2)
    found = unrelu.complete(store(tmp_path / "x.zarr", X), 2, rng=0)
    np.testing.assert_allclose(found.matrix(), M, atol=1e-6)
    shutil.rmtree(tmp_path / "x.zarr")  # which has all been read
    np.testing.assert_allclose(found.matrix(), M, atol=1e-6)


def test_zarr_is_loaded_by_who_uses_it():
    code = (
        "import sys, numpy as np, unrelu; from unrelu._old.data.inputs import read_values; unrelu.ZarrSource, unrelu.edges; "
        "read_values(np.eye(3)); print([name for name in ('zarr', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_zarr_may_not_be_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(InputError, match=r"needs the package zarr, which is not installed; .* 'unrelu\[zarr\]'"):
        ZarrSource(tmp_path / "x.zarr")
