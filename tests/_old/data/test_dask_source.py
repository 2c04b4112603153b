"""Dask arrays as sources: what they give, and what is refused."""

import numpy as np
import pytest

from unrelu import CompletionWarning, InputError
from unrelu._old.data.dask_source import DaskSource, is_dask
from unrelu._old.data.inputs import read_table, read_values

da = pytest.importorskip("dask.array")

X = np.random.default_rng(0).standard_normal((50, 50))


@pytest.mark.parametrize("rows", [slice(3, 40), np.array([7, 3, 49, 7]), slice(5, 5)])
@pytest.mark.parametrize("cols", [slice(0, 50), np.array([20, 0])])
def test_blocks_are_those_of_the_array(rows, cols):
    source = DaskSource(da.from_array(X, chunks=(16, 16)))
    np.testing.assert_array_equal(source.block(rows, cols), X[rows][:, cols])
    assert source.block_shape == (16, 16)


def test_chunks_of_several_sizes_and_of_none():
    source = DaskSource(da.from_array(X, chunks=((0, 20, 5, 25, 0), (0, 20, 5, 25, 0))))
    some = np.array([49, 0, 24, 25])
    np.testing.assert_array_equal(source.block(some, some), X[np.ix_(some, some)])


@pytest.mark.parametrize(("given", "kept"), [("float16", "float32"), ("float32", "float32"), ("int32", "float64")])
def test_precision(given, kept):
    source = DaskSource(da.ones((4, 4), chunks=2, dtype=given))
    assert source.dtype == source.block(slice(0, 2), slice(0, 2)).dtype == kept
    assert source.in_dtype(np.float32).dtype == np.float32


def test_a_large_part_stays_where_it_is(monkeypatch):
    monkeypatch.setattr("unrelu._old.data.dask_source.FEW", 100)
    source, some = DaskSource(da.from_array(X, chunks=16)), np.arange(0, 50, 2)
    assert source.part(some[:5], some[:5]).lazy is None
    part = source.part(some, some)
    assert part.lazy is not None
    np.testing.assert_array_equal(part.block(slice(0, 25), slice(0, 25)), X[::2, ::2])


def test_chunks_that_differ_are_made_alike_and_that_is_said():
    with pytest.warns(CompletionWarning, match=r"up to 10 rows and 25 columns, .* it is rechunked to 10 and 10"):
        source = DaskSource(da.from_array(X, chunks=(10, 25)))
    assert source.lazy.chunks[0] == source.lazy.chunks[1]
    np.testing.assert_array_equal(source.block(slice(0, 50), slice(0, 50)), X)
    assert DaskSource(da.from_array(X[:40], chunks=(10, 25))).block_shape == (10, 25)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (lambda: da.ones(4), r"^X must be a matrix \(2-D\), got 1-D data of shape \(4,\)$"),
        (lambda: da.ones((4, 4), dtype="complex64"), "got a dask array of dtype complex64; use X.astype"),
        (lambda: da.from_array(X)[da.from_array(X[:, 0] > 0)], r"chunks of X must have known sizes, .*compute_chunk_s"),
        (lambda: X, "^DaskSource takes a dask array, a zarr array or a path, got ndarray$"),
    ],
)
def test_what_is_no_matrix_is_refused(array, words):
    with pytest.raises(InputError, match=words):
        DaskSource(array())


def test_small_arrays_are_read_here_and_large_ones_are_not(monkeypatch):
    lazy = da.from_array(X, chunks=16)
    assert is_dask(lazy)
    assert not is_dask(X)
    assert isinstance(read_values(lazy)[0], np.ndarray)
    monkeypatch.setattr("unrelu._old.data.inputs.FEW", 100)
    assert isinstance(read_values(lazy)[0], DaskSource)
    assert isinstance(read_table(lazy)[0], DaskSource)


def stored(path, chunks=(16, 16)):
    zarr = pytest.importorskip("zarr", minversion="3")
    array = zarr.create_array(str(path), shape=X.shape, chunks=chunks, dtype="float64", fill_value=0.0)
    array[:] = X
    return array


def test_a_zarr_array_is_read_by_the_workers(tmp_path):
    stored(tmp_path / "x.zarr")
    source = DaskSource(tmp_path / "x.zarr")
    np.testing.assert_array_equal(source.block(slice(0, 50), slice(0, 50)), X)


def test_workers_need_not_stand_where_the_caller_stands(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr", minversion="3")
    stored(tmp_path / "x.zarr")
    monkeypatch.chdir(tmp_path)
    sources = DaskSource("x.zarr"), DaskSource(zarr.open_array("x.zarr", mode="r"))
    monkeypatch.chdir("/")
    for source in sources:
        np.testing.assert_array_equal(source.block(slice(0, 5), slice(0, 5)), X[:5, :5])


def test_a_chunk_that_a_worker_does_not_see_is_named(tmp_path):
    source = DaskSource(stored(tmp_path / "x.zarr"))
    (tmp_path / "x.zarr" / "c" / "1" / "2").unlink()
    with pytest.raises(InputError, match=r"lacks the chunk c/1/2 of rows 0–49, columns 0–49 on this machine; see that"):
        source.block(slice(0, 5), slice(0, 5))
    with pytest.raises(InputError, match="lacks 1 of its 16 chunks"):
        DaskSource(tmp_path / "x.zarr")
    unseen = DaskSource(tmp_path / "x.zarr", missing="unseen").block(slice(0, 50), slice(0, 50))
    assert np.isnan(unseen[16:32, 32:48]).all()
    assert np.isnan(unseen).sum() == 256


def test_chunks_of_a_store_that_do_not_fit_together(tmp_path, monkeypatch):
    monkeypatch.setattr("unrelu._old.data.dask_source.LONGEST", 20)
    with pytest.warns(CompletionWarning, match="chunks of 16 rows and 7 columns, .* some chunks are read twice"):
        source = DaskSource(stored(tmp_path / "x.zarr", (16, 7)))
    np.testing.assert_array_equal(source.block(slice(0, 50), slice(0, 50)), X)
