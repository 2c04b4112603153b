"""Passes over chunks by dask beside those of the kernels in memory: in threads, and on workers of which one dies."""

import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import unrelu
from helpers import ROUNDING
from unrelu import DaskSource, InputError, Tailored
from unrelu._old.base.engines import noting
from unrelu._old.data import (
    dask_graph,
    dask_source,
)
from unrelu._old.data.dask_graph import (
    failing,
    where,
)
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource
from unrelu._old.data.table_observations import table_observations
from unrelu._old.kernels import GeneralKernel, TiledKernel, kernel_for
from unrelu._old.kernels import dask as clusters
from unrelu._old.kernels.dask import DaskKernel
from unrelu._old.model.losses import Censored, Huber, Observed, OneSided

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N, RANK, CHUNK = 45, 3, 16
# GeneralKernel keeps curvatures in single precision.
KEPT, SINGLE = 1e-6, 4e-6
LOSSES = [Observed(), OneSided(), Censored(0.5), Huber(1.0)]
THRESHOLDS = [("above", 0.4), ("below", -0.3), None]
KINDS = ["alike", "not alike", "table"]


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


def values(kind, threshold, dtype=np.float64):
    rng = np.random.default_rng(0)
    height = 30 if kind == "table" else N
    L, R = rng.standard_normal((2, N, RANK))
    M = 4.4 * (L[:height] @ (R if kind == "table" else L).T + 0.3 * rng.standard_normal((height, N)))
    M = (M + M.T) / 2 if kind == "alike" else M
    if threshold is None:
        hidden = rng.random(M.shape) < 0.5
        hidden = hidden | hidden.T if kind == "alike" else hidden
    else:
        hidden = (threshold[1] > M) if threshold[0] == "above" else (threshold[1] < M)
    if kind != "table":
        hidden[::5, ::5] |= np.eye(9, dtype=bool)  # some of the diagonal
    return np.where(hidden, np.nan, M).astype(dtype)


def observed(X, kind, threshold):
    terms = {"threshold": None} if threshold is None else {"threshold": threshold[1], "seen": threshold[0]}
    return table_observations(X, **terms) if kind == "table" else Observations.of(X, **terms)


def lazily(X, chunks=CHUNK):
    return DaskSource(da.from_array(X, chunks=chunks))


def near(found, expected, rounding):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * max(np.abs(expected).max(), 1e-300))


@pytest.fixture(autouse=True)
def many_pairs(monkeypatch):
    """Chunks are not joined where that is not what a test is of."""
    monkeypatch.setattr(clusters, "LONGEST", 1)


def passes_agree(X, kind, threshold, loss):
    here, there = observed(X, kind, threshold), observed(lazily(X), kind, threshold)
    U, D = np.random.default_rng(7).standard_normal((2, here.size, RANK))
    kernel, other = DaskKernel(there, loss), GeneralKernel(here, loss)
    value, gradient, kept, *sums = kernel.evaluate(U)
    expected = other.evaluate(U)
    assert value == pytest.approx(expected[0], rel=1e-12)
    near(gradient, expected[1], ROUNDING)
    assert len(sums) == len(expected) - 3
    for found, wanted in zip(sums, expected[3:], strict=True):
        near(found, wanted, 1e-11)
    assert kernel.constant == pytest.approx(other.constant, rel=ROUNDING, abs=ROUNDING)
    rounding = KEPT if not loss.squared else ROUNDING
    near(kernel.curvature(U, D, kept), other.curvature(U, D, expected[2]), rounding)
    near(kernel.curvature_matrix(U, kept), other.curvature_matrix(U, expected[2]), rounding)
    near(kernel.residual_times(U, D), other.residual_times(U, D), ROUNDING)
    slope = float(np.vdot(expected[1], D))
    line, wanted = (one.line(U, D, value, slope, its) for one, its in ((kernel, kept), (other, expected[2])))
    if loss.squared:  # the weights are held at those of U, as the kernel of squares does
        tiled = TiledKernel(here, loss)
        wanted = tiled.line(U, D, value, slope, tiled.evaluate(U)[2])
        assert line.exact == wanted.exact
    steps = [0.01, 0.3, -0.2]
    near(line.at(steps)[0], wanted.at(steps)[0], 1e-11)
    near(line.at(steps)[1], wanted.at(steps)[1], 1e-11)
    assert line.lowest() == pytest.approx(wanted.lowest(), rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_every_pass_is_that_of_the_kernels_in_memory(loss, threshold, kind):
    with dask.config.set(scheduler="threads"):
        passes_agree(values(kind, threshold), kind, threshold, loss)


@pytest.mark.parametrize("loss", LOSSES[1:3], ids=lambda loss: loss.name)
@pytest.mark.parametrize("room", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_on_workers_too_with_room_for_kernels_and_without(loss, room, kind, client, monkeypatch):
    monkeypatch.setattr(clusters, "memory", lambda: None if room else 1)
    with client.as_current():
        passes_agree(values(kind, ("above", 0.4)), kind, ("above", 0.4), loss)


def test_a_chunk_of_which_nothing_is_asked():
    """One entry of the diagonal, unseen: its kernel has nothing to look at, and no sums to give."""
    X = values("alike", ("above", 0.4))[:31, :31]
    X[30, 30] = np.nan
    here, there = (observed(one, "alike", ("above", 0.4)) for one in (X, lazily(X, 10)))
    U = np.random.default_rng(7).standard_normal((31, RANK))
    with dask.config.set(scheduler="threads"):
        found = DaskKernel(there, Censored(0.5)).evaluate(U)
    expected = GeneralKernel(here, Censored(0.5)).evaluate(U)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    near(found[3], expected[3], 1e-11)


def test_chunks_of_complex_numbers_are_refused():
    lazy = da.from_array(np.eye(8), chunks=4).map_blocks(lambda block: block + 1j, dtype=float)
    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(InputError, match="a chunk of X holds complex numbers, and its array says real ones"),
    ):
        unrelu.complete(DaskSource(lazy), 1, method="gauss-newton")


def test_a_scheduler_that_dask_does_not_know():
    with (
        dask.config.set(scheduler="nope"),
        pytest.raises(
            InputError, match=r"a scheduler that it does not know .*; set it to 'threads', or connect a Client"
        ),
    ):
        unrelu.complete(lazily(values("alike", None)), 1, method="gauss-newton")


def test_kernels_are_made_once_if_there_is_room_for_them(monkeypatch):
    made = []
    real = clusters.parts.made
    monkeypatch.setattr(clusters.parts, "made", lambda *given: made.append(1) or real(*given))
    monkeypatch.setattr(clusters, "LONGEST", 2 * CHUNK)
    monkeypatch.setattr(clusters, "PAIRS", 1)
    there, U = observed(lazily(values("alike", None)), "alike", None), np.ones((N, RANK))
    size = N * N / 2 * (8 + 3) / clusters.SHARE
    # Those that are made anew have the chunks as they are: the next pass may need others.
    for room, times in ((None, 3), (1, 12), (0.99 * size, 12), (1.01 * size, 3)):
        made.clear()
        monkeypatch.setattr(clusters, "memory", lambda room=room: room)
        with dask.config.set(scheduler="synchronous"):
            kernel = DaskKernel(there, Observed())
            kernel.evaluate(U), kernel.residual_times(U, U)
        assert len(made) == times


def test_single_precision_stays_single_and_right():
    X = values("alike", ("above", 0.4), np.float32)
    here, there = (observed(one, "alike", ("above", 0.4)) for one in (X.astype(float), lazily(X)))
    U, D = np.random.default_rng(7).standard_normal((2, N, RANK))
    kernel, other = DaskKernel(there, OneSided()), GeneralKernel(here, OneSided())
    value, gradient, kept = kernel.evaluate(U.astype(np.float32))
    expected = other.evaluate(U)
    assert gradient.dtype == np.float32
    assert value == pytest.approx(expected[0], rel=SINGLE)
    near(gradient, expected[1], SINGLE)
    near(kernel.curvature(U.astype(np.float32), D.astype(np.float32), kept), other.curvature(U, D, expected[2]), SINGLE)


@pytest.mark.parametrize("kind", KINDS)
def test_signs_weights_and_visits_are_those_of_the_other_kernels(kind, client):
    X = values(kind, ("above", 0.0))
    here, there = (observed(one, kind, ("above", 0.0)) for one in (X, lazily(X)))
    size = here.size
    U, D = np.random.default_rng(7).standard_normal((2, size, RANK))

    def weigh(pairs):
        i, j = (np.arange(place.start, place.stop) for place in (pairs.rows, pairs.cols))
        return pairs.seen * (1.0 + np.add.outer(i, j))

    def visit(pairs, into):
        into[pairs.rows] += pairs.seen.sum(axis=1)[:, None] * U[pairs.rows]
        if not pairs.diagonal:
            into[pairs.cols] += pairs.seen.sum(axis=0)[:, None] * U[pairs.cols]

    def both(pairs):
        seen = np.triu(pairs.seen) if pairs.diagonal else pairs.seen
        return int(seen.sum()), float(pairs.target[seen > 0].sum())

    with client.as_current():
        kernel, other = DaskKernel(there, OneSided()), GeneralKernel(here, OneSided())
        one, two = kernel.signed([1, -1, 1]), other.signed([1, -1, 1])
        near(one.evaluate(U)[1], two.evaluate(U)[1], ROUNDING)
        near(one.curvature(U, D, one.evaluate(U)[2]), two.curvature(U, D, two.evaluate(U)[2]), ROUNDING)
        near(kernel.curvature(U, D, kernel.weighted(weigh)), other.curvature(U, D, other.weighted(weigh)), ROUNDING)
        weights = [its.weighted(weigh) for its in (kernel, other)]
        near(kernel.curvature_matrix(U, weights[0]), other.curvature_matrix(U, weights[1]), ROUNDING)
        near(kernel.gather(visit, np.zeros_like(U)), other.gather(visit, np.zeros_like(U)), ROUNDING)
        seen, total = kernel.total(both)
        assert seen == other.total(both)[0]
        assert total == pytest.approx(other.total(both)[1])


def test_blocks_have_numbers_of_their_own():
    numbers = []
    with dask.config.set(scheduler="synchronous"):
        DaskKernel(observed(lazily(values("alike", None)), "alike", None), Observed()).total(
            lambda pairs: numbers.append(pairs.index) or 0
        )
        assert len(set(numbers)) == len(numbers) == 6
        numbers.clear()  # several blocks in each of three kernels
        DaskKernel(observed(lazily(np.eye(2200), 1100), "alike", None), Observed()).total(
            lambda pairs: numbers.append(pairs.index) or 0
        )
    assert len(set(numbers)) == len(numbers) > 6


def test_a_kernel_is_chosen_by_where_the_values_are_and_by_what_chunks_can_be_told():
    X = values("alike", ("above", 0.0))
    there = observed(lazily(X), "alike", ("above", 0.0))
    with noting() as engines, dask.config.set(scheduler="threads"):
        assert isinstance(kernel_for(there, OneSided()), DaskKernel)
    assert engines == ["dask in threads in float64"]
    with noting() as engines:
        weighed = Observations.of(lazily(X), weights=np.ones((N, 1)) + np.arange(N)[:, None])
        assert isinstance(kernel_for(weighed, OneSided()), GeneralKernel)
    assert engines == ["NumPy in float64"]  # the blocks come here


def test_estimates_that_are_renewed_are_those_of_the_next_pass():
    X = values("alike", ("above", 0.4))
    here, there = (observed(one, "alike", ("above", 0.4)) for one in (X, lazily(X)))
    U = np.random.default_rng(7).standard_normal((N, RANK))
    with dask.config.set(scheduler="threads"):
        kernel = DaskKernel(there, Censored(0.5)).with_loss(Censored(0.1))
        near(kernel.evaluate(U)[1], GeneralKernel(here, Censored(0.1)).evaluate(U)[1], ROUNDING)


def test_kernels_and_weights_tell_a_scheduler_how_large_they_are():
    """Else it sends them from worker to worker."""
    X = values("alike", ("above", 0.4))
    told = clusters.parts.Told(observed(X, "alike", ("above", 0.4)), OneSided(), False)
    assert sys.getsizeof(clusters.parts.made(told, clusters.parts.Chunks(1, 1, False), X)) >= X.nbytes
    assert sys.getsizeof(clusters.parts.Kept([np.zeros(1000), (np.zeros(10),)])) >= 8080
    assert sys.getsizeof(clusters.parts.Factors((np.zeros((50, 4)),), [])) >= 1600


def test_a_table_has_kernels_of_all_its_entries(monkeypatch):
    """Of a symmetric matrix they hold one side of the diagonal."""
    room = 0.9 * 30 * N * 11 / clusters.SHARE
    monkeypatch.setattr(clusters, "memory", lambda: room)
    with dask.config.set(scheduler="threads"):
        table, square = (
            DaskKernel(observed(lazily(values(kind, None)), kind, None), Observed()) for kind in ("table", "alike")
        )
    assert table._making
    assert not square._making


def test_what_workers_are_sent_of_it_has_no_values():
    kernel = DaskKernel(observed(lazily(values("alike", None)), "alike", None), Observed())
    assert len(pickle.dumps(kernel)) < 2000


def test_chunks_of_any_size_and_empty_ones():
    X = values("alike", ("above", 0.0))
    here, U = observed(X, "alike", ("above", 0.0)), np.random.default_rng(7).standard_normal((N, RANK))
    sizes = (1, 0, 20, 24)
    lazy = da.concatenate([da.from_array(X[:1]), da.from_array(X[:0]), da.from_array(X[1:21]), da.from_array(X[21:])])
    lazy = lazy.rechunk((sizes, sizes))
    with dask.config.set(scheduler="threads"):
        kernel = DaskKernel(observed(DaskSource(lazy), "alike", ("above", 0.0)), OneSided())
        near(kernel.evaluate(U)[1], GeneralKernel(here, OneSided()).evaluate(U)[1], ROUNDING)


def again_and_again(source, start):
    for _ in range(100):
        unrelu.complete(source, 3, method="gauss-newton", start=start, rng=0)


def first_rows(block):
    return block[:5]


def counting(monkeypatch):
    """How many entries come here as blocks."""
    came = []
    real = DaskSource.block
    monkeypatch.setattr(
        DaskSource, "block", lambda self, rows, cols: came.append((found := real(self, rows, cols)).size) or found
    )
    return came


@pytest.mark.parametrize(
    ("table", "method", "where"),
    [
        (False, "gauss-newton", "on 2 workers"),
        (False, "gradient-descent", "in threads"),
        (True, "gauss-newton", "in threads"),
    ],
)
def test_a_whole_completion_is_that_in_memory_and_no_chunk_comes_here(table, method, where, client, monkeypatch):
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((2, 150, 3))
    M = U[:120] @ V.T if table else U @ U.T
    X = np.where(M >= 0, M, np.nan)
    door = unrelu.complete_rectangular if table else unrelu.complete
    options = dict(rank=3, method=method, start="tailored" if table else U + 0.1 * rng.standard_normal(U.shape))
    one = door(X, **options, rng=0)
    came = counting(monkeypatch)
    with client.as_current() if "workers" in where else dask.config.set(scheduler="threads"):
        other = door(DaskSource(da.from_array(X, chunks=60)), **options, rng=0)
    assert other.verdict.code == one.verdict.code
    assert np.abs(other.matrix() - M).max() < 1e-6
    assert other.verdict.reason.endswith(f"; by dask {where} in float64")
    assert sum(came) <= X.size  # only to see whether both triangles hold something


def test_chunks_are_joined_while_enough_pairs_are_left(monkeypatch):
    source = lazily(values("alike", None), 5)
    for longest, least, bands in ((1, 1, 9), (10, 1, 5), (14, 1, 5), (15, 1, 3), (15, 6, 3), (15, 7, 9)):
        grid = clusters._Grid.of(source, longest, least)
        assert len(grid.bands) == bands
        assert len(grid.pairs) == bands * (bands + 1) // 2
        assert sorted(place for _, places in grid.pairs.values() for place in places) == list(np.ndindex(9, 9))
    monkeypatch.setattr(clusters, "LONGEST", 15)
    monkeypatch.setattr(clusters, "PAIRS", 1)
    X, U = values("not alike", ("above", 0.4)), np.random.default_rng(7).standard_normal((N, RANK))
    with dask.config.set(scheduler="threads"):
        kernel = DaskKernel(observed(lazily(X, 5), "not alike", ("above", 0.4)), OneSided())
        assert len(kernel._kernels) == 6
        expected = GeneralKernel(observed(X, "not alike", ("above", 0.4)), OneSided()).evaluate(U)
        near(kernel.evaluate(U)[1], expected[1], ROUNDING)


def test_a_method_that_works_on_rows_has_the_matrix_here_and_says_so(monkeypatch):
    U = np.random.default_rng(1).standard_normal((150, 3))
    M = U @ U.T
    came = counting(monkeypatch)
    with dask.config.set(scheduler="threads"):
        found = unrelu.complete(lazily(np.where(M >= 0, M, np.nan), 60), 3, method="scaled-gd", rng=0)
    assert np.abs(found.matrix() - M).max() < 1e-6
    assert found.verdict.reason.endswith("; by dask in threads in float64 and NumPy in float64")
    assert sum(came) <= 2 * M.size  # once, and to see whether both triangles hold something


def test_a_worker_that_dies_between_passes_takes_nothing_along(client):
    X = values("alike", ("above", 0.4))
    U, D = np.random.default_rng(7).standard_normal((2, N, RANK))
    here = TiledKernel(observed(X, "alike", ("above", 0.4)), OneSided())
    kept_here = here.evaluate(U)[2]
    with client.as_current():
        kernel = DaskKernel(observed(lazily(X), "alike", ("above", 0.4)), OneSided())
        _, _, kept = kernel.evaluate(U)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        near(kernel.curvature(U, D, kept), here.curvature(U, D, kept_here), 1e-12)
        near(kernel.residual_times(U, D), here.residual_times(U, D), 1e-12)
        client.wait_for_workers(2, timeout=30)


def test_the_tailored_start_is_made_of_passes():
    U = np.random.default_rng(0).standard_normal((150, 3))
    X = np.where(U @ U.T >= 0, U @ U.T, np.nan)
    starts = []
    for one in (X, lazily(X, 60)):
        with dask.config.set(scheduler="threads"):
            start = Tailored()(Observations.of(one), 3, np.random.default_rng(3))
        starts.append(start @ start.T)
    assert np.linalg.norm(starts[0] - starts[1]) <= 1e-2 * np.linalg.norm(starts[0])


def test_data_that_went_with_a_client_are_said_to_be_gone():
    with (
        pytest.raises(InputError, match="persisted by a client which has been closed; connect one, persist them"),
        failing(),
    ):
        raise ValueError("Missing dependency ('array-838b', 1, 2) for dependents {'part'}")


@pytest.mark.parametrize("asked", ["workers", "memory"])
def test_a_scheduler_that_is_gone_when_it_is_asked_is_one_sentence(asked, monkeypatch):
    class Gone:
        def get(self, *_):
            raise AssertionError

        def nthreads(self):
            raise AttributeError("'NoneType' object has no attribute 'ncores'")

        def scheduler_info(self, n_workers):
            raise OSError("Timed out trying to connect to tcp://127.0.0.1:1 after 8 s")

    monkeypatch.setattr(dask_graph, "_scheduler", lambda: Gone().get)
    with pytest.raises(InputError, match=r"the cluster lost what it was computing \(.*\); see that its scheduler"):
        getattr(dask_graph, asked)()


def test_a_client_that_is_closed_on_the_way_is_one_sentence():
    U = np.random.default_rng(0).standard_normal((300, 3))
    X = np.where(U @ U.T + 0.1 >= 0, U @ U.T + 0.1, np.nan)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = da.from_array(X, chunks=50).persist()
        clock = threading.Timer(0.5, client.close)
        clock.start()
        with pytest.raises(InputError, match="the cluster lost what it was computing"):
            again_and_again(DaskSource(lazy), U + 0.5)


class TestSource:
    """What is known of a matrix without its blocks."""

    def test_masked_entries_were_not_seen(self):
        X = np.arange(16.0).reshape(4, 4)
        masked = da.ma.masked_array(da.from_array(X, chunks=2), da.from_array(X % 3 == 0, chunks=2))
        expected = np.where(X % 3 == 0, np.nan, X)
        np.testing.assert_array_equal(DaskSource(masked).block(slice(0, 4), slice(0, 4)), expected)
        assert DaskSource(masked).summary().count == 10

    def test_thin_chunks_do_not_make_thin_blocks(self, monkeypatch):
        monkeypatch.setattr(dask_source, "SIDE", 150)
        with pytest.warns(UserWarning, match="rechunked to 150 and 150"):
            assert DaskSource(da.zeros((400, 400), chunks=(1, 400))).lazy.chunks == ((150, 150, 100),) * 2

    def test_a_chunk_that_is_not_as_large_as_it_should_be(self):
        lazy = da.zeros((40, 40), chunks=20).map_blocks(first_rows, dtype=float)
        with pytest.raises(
            InputError, match=r"chunk \(0, 0\) of X has 5 rows and 20 columns, and its array says 20 and"
        ):
            DaskSource(lazy).summary()

    def test_processes_are_called_so(self):
        with dask.config.set(scheduler="processes"):
            assert where() == "in processes"

    def test_single_entries(self):
        X = values("table", None)
        rng = np.random.default_rng(0)
        rows, cols = rng.integers(0, X.shape[0], 100), rng.integers(0, X.shape[1], 100)
        np.testing.assert_array_equal(lazily(X, (7, 11)).at(rows, cols), ArraySource(X).at(rows, cols))
        assert lazily(X).at(rows[:0], cols[:0]).shape == (0,)

    def test_counts_norm_and_ends(self):
        X = values("table", None)
        told, seen = lazily(X, (7, 11)).summary(), ~np.isnan(X)
        np.testing.assert_array_equal(told.per_row, seen.sum(1))
        np.testing.assert_array_equal(told.per_column, seen.sum(0))
        assert told.norm == pytest.approx(np.sqrt(np.nansum(X**2)), rel=1e-14)
        assert (told.low, told.high) == (np.nanmin(X), np.nanmax(X))

    @pytest.mark.parametrize("alone", [(3, 40), (40, 3), (40, 41), None])
    def test_whether_a_pattern_is_symmetric(self, alone):
        X = values("alike", None)
        if alone is not None:
            X[alone] = np.nan if not np.isnan(X[alone]) else 1.0
        assert lazily(X).symmetric() == (alone is None)
