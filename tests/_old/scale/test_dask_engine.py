"""Passes by dask are those of threads: on any scheduler, and with a worker that dies."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import unrelu
from unrelu import DaskSource, InputError
from unrelu._old.base.engines import noting
from unrelu._old.data.counted import Counted
from unrelu._old.data.source import ArraySource
from unrelu._old.scale.blocks import Asked, Data
from unrelu._old.scale.passes import attach, look
from unrelu._old.scale.rows import Placed, Reader

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

SIZE, RANK = 300, 4
EVERYTHING = Asked(0.3, gradient=True, curvature=True, first=True)


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process with one thread."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["synchronous", "threads", "cluster"])
def scheduler(request):
    if request.param == "cluster":
        with request.getfixturevalue("client").as_current():
            yield
    else:
        with dask.config.set(scheduler=request.param):
            yield


def instance(kind, dtype=np.float64, size=SIZE):
    rng = np.random.default_rng(0)
    left = rng.standard_normal((size, RANK))
    right = rng.standard_normal((200, RANK)) if kind == "table" else left
    noise = 0.3 * rng.standard_normal((len(left), len(right)))
    noise = (noise + noise.T) / 2**0.5 if kind == "alike" else noise
    X = left @ right.T + noise
    X[X < 0] = np.nan
    near = left + 0.05 * rng.standard_normal(left.shape)
    return X.astype(dtype), (left, right), (near, near if right is left else right)


def lazily(X, chunks=70):
    return DaskSource(da.from_array(X, chunks=chunks))


@pytest.mark.parametrize("kind", ["alike", "different", "table"])
@pytest.mark.parametrize("threshold", [0.0, None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_pass_and_attached_rows_are_those_of_threads(kind, threshold, dtype, scheduler):
    X, factors, near = instance(kind, dtype)
    positions = np.arange(3, 190, 5)
    side = {"alike": "one", "different": "both", "table": "rows"}[kind]
    found, placed, heard = [], [], []
    for source in (ArraySource(X), Counted(lazily(X))):
        heard.clear()
        data = Data(source, 4.0, threshold, 1.0, kind != "table", kind == "alike")
        found.append(look(data, near, EVERYTHING, 70, told=lambda found, rows: heard.append(rows)))
        into = Placed.nobody(SIZE, RANK)
        attach(Reader(source, 4.0, side), (positions, factors[1][positions]), into, 0.01)
        placed.append(into)
    one, other = found
    tol = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_array_equal(one.seen, other.seen)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=tol, atol=tol * np.abs(one.gradient).max())
    np.testing.assert_allclose(other.squares, one.squares, rtol=tol)
    np.testing.assert_allclose(other.normal, one.normal, rtol=1e-5, atol=1e-4)
    assert (one.totals.count, one.totals.low, one.totals.high) == (
        other.totals.count,
        other.totals.low,
        other.totals.high,
    )
    np.testing.assert_allclose(other.totals.squares, one.totals.squares, rtol=tol)
    np.testing.assert_allclose(placed[1].factor, placed[0].factor, rtol=0, atol=1e-10)
    np.testing.assert_allclose(placed[1].misfit, placed[0].misfit, rtol=0, atol=1e-10)
    assert sum(heard) == sum(rows.stop - rows.start for rows, _ in data.blocks(70))
    entries = SIZE**2 if kind != "table" else SIZE * 200
    looked = sum(
        70 * 70 if max(i, j) < 4 else (70 * 20 if min(i, j) < 4 else 400) for i in range(5) for j in range(i + 1)
    )
    looked = looked if kind == "alike" else entries
    assert source.entries_read == looked + SIZE * len(positions) * (2 if kind == "different" else 1)


class Gridded(ArraySource):
    """In memory, with the grid of chunks from which rows of the block are drawn."""

    block_shape = (150, 150)


@pytest.mark.parametrize("sigma", [0.0, 0.2])
def test_a_whole_completion_is_that_in_memory_and_says_who_did_it(sigma, client):
    rng = np.random.default_rng(1)
    U = rng.standard_normal((600, 3))
    noise = rng.standard_normal((600, 600)) * sigma / 2**0.5
    X = U @ U.T + noise + noise.T
    X[X < 0] = np.nan
    one = unrelu.complete(Gridded(X), 3, method="landmarks", rng=0)
    with client.as_current():
        lazy = da.from_array(X, chunks=150).persist()
        other = unrelu.complete(DaskSource(lazy), 3, method="landmarks", rng=0)
    gap = np.linalg.norm(one.matrix() - other.matrix()) / np.linalg.norm(one.matrix())
    assert gap < 1e-10
    assert other.verdict.code == one.verdict.code
    assert other.verdict.reason.endswith("; by dask on 2 workers in float64")
    assert "dask" not in one.verdict.reason


def test_a_table_is_completed_on_the_workers(client):
    rng = np.random.default_rng(1)
    M = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 400))
    with client.as_current():
        lazy = da.from_array(np.where(M >= 0, M, np.nan), chunks=(200, 150))
        found = unrelu.complete_rectangular(DaskSource(lazy), 3, method="landmarks", rng=0)
    assert found.verdict.code.value == "fitted"
    assert np.abs(found.matrix() - M).max() < 1e-9


def test_small_dask_arrays_are_solved_here():
    U = np.random.default_rng(0).standard_normal((60, 2))
    M = U @ U.T
    found = unrelu.complete(da.from_array(np.where(M >= 0, M, np.nan), chunks=(20, 30)), 2, rng=0)
    assert found.verdict.code.value == "fitted"
    assert "dask" not in found.verdict.reason
    assert np.abs(found.matrix() - M).max() < 1e-8


def slowly(values, seconds):
    time.sleep(seconds)
    return values


def test_a_worker_that_is_killed_in_a_pass_changes_nothing(client):
    X, _, near = instance("alike")
    data = Data(lazily(X), 1.0, 0.0)
    with dask.config.set(scheduler="synchronous"):
        whole = look(data, near, EVERYTHING, 70)
    with client.as_current():
        lazy = da.from_array(X, chunks=70).map_blocks(slowly, 0.15, dtype=X.dtype)
        data = Data(DaskSource(lazy), 1.0, 0.0)
        before = client.run(os.getpid)
        killed = []

        def told(found, rows):
            if not killed:
                killed.append(next(iter(before.values())))
                os.kill(killed[0], signal.SIGKILL)

        found = look(data, near, EVERYTHING, 70, told=told)
        client.wait_for_workers(2, timeout=30)
        assert killed[0] not in client.run(os.getpid).values()
    for name in ("seen", "gradient", "normal", "squares"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-12, atol=1e-12)
    assert found.totals == whole.totals


def once_in_vain(values, flag):
    if not os.path.exists(flag):
        open(flag, "w").close()
        raise OSError("try again")
    return values


def test_a_task_that_fails_once_is_tried_again(client, tmp_path):
    X, _, near = instance("alike")
    with client.as_current():
        lazy = da.from_array(X, chunks=150).map_blocks(once_in_vain, str(tmp_path / "tried"), dtype=X.dtype, meta=X[:0])
        found = look(Data(DaskSource(lazy), 1.0, 0.0), near, Asked(first=True), 70)
    assert (tmp_path / "tried").exists()
    assert found.totals.count == int((~np.isnan(X)).sum())


def left_over(client):
    return client.run_on_scheduler(
        lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks if "look" in str(key)]
    )


def test_ctrl_c_cancels_what_was_submitted(client):
    X, _, near = instance("alike")
    with client.as_current():
        lazy = da.from_array(X, chunks=70).map_blocks(slowly, 0.3, dtype=X.dtype)
        data = Data(DaskSource(lazy), 1.0, 0.0)
        clock = threading.Timer(0.6, lambda: os.kill(os.getpid(), signal.SIGINT))
        clock.start()
        with pytest.raises(KeyboardInterrupt):
            look(data, near, EVERYTHING, 70)
        began = time.monotonic()
        while left_over(client) and time.monotonic() - began < 10:
            time.sleep(0.1)
        assert left_over(client) == []


def broken(values):
    raise ZeroDivisionError("nothing there")


def test_a_chunk_that_cannot_be_computed_is_one_sentence(scheduler):
    X, _, near = instance("alike")
    lazy = da.from_array(X, chunks=70).map_blocks(broken, dtype=X.dtype, meta=X[:0, :0])
    with pytest.raises(InputError, match=r"^dask failed to compute a block \(ZeroDivisionError: nothing there\); see"):
        look(Data(DaskSource(lazy), 1.0, 0.0), near, EVERYTHING, 70)


def test_a_value_that_cannot_have_been_seen_is_named_by_its_place(scheduler):
    X, (left, _), _ = instance("alike")
    X[8, 123] = X[123, 8] = -2.0
    into = Placed.nobody(SIZE, RANK)
    with pytest.raises(InputError, match=r"≥ threshold=0, but that at \(8, 123\) is -2"):
        attach(Reader(lazily(X), 1.0, "one", (0.0, np.inf)), (np.arange(8, 40), left[8:40]), into, 0.01)


def test_passes_say_who_does_them_and_in_which_precision():
    X, _, factors = instance("alike", np.float32)
    with noting() as engines, dask.config.set(scheduler="threads"):
        look(Data(lazily(X), 1.0, 0.0), factors, EVERYTHING)
    assert engines == ["dask in threads in float32"]
