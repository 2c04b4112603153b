"""The model of a cluster's costs against graphs that are made, and what goes between workers."""

from dataclasses import replace

import numpy as np
import pytest

import unrelu
from unrelu.data import dask_source
from unrelu.data.dask_graph import needed
from unrelu.data.dask_source import DaskSource
from unrelu.scale.blocks import Asked, Data
from unrelu.scale.costs import Attachment, Pass, Rates, Run
from unrelu.scale.engines import dask as engine
from unrelu.scale.engines.dask import _Pass
from unrelu.scale.passes import attach, look
from unrelu.scale.rows import Placed, Reader
from unrelu.scale.seed import seed_rows

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

EVERYTHING = Asked(gradient=True, curvature=True, first=True)
# Where a rate is not what takes the time.
AT_ONCE = Rates(np.inf, np.inf, np.inf, np.inf, np.inf, np.inf)


def values(n, rank, alike, dtype):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n, rank)).astype(dtype)
    X = U @ U.T
    return (X if alike else X + rng.standard_normal((n, n)).astype(dtype)), U


def source_of(X, side, stored, path, monkeypatch):
    """A matrix that workers hold, or read from a store."""
    if not stored:
        return DaskSource(da.from_array(X, chunks=side).persist(scheduler="synchronous"))
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(store=path / "X.zarr", shape=X.shape, chunks=(side, side), dtype=X.dtype)
    array[:] = X
    monkeypatch.setattr(dask_source, "SIDE", side)  # else small chunks are read together
    return DaskSource(path / "X.zarr")


def size_of(value):
    """Bytes of the arrays in a result."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(size_of, value)) if isinstance(value, tuple | list) else 0


class Made:
    """A graph that was made, and what each of its tasks has found."""

    def __init__(self, graph, keys, lazy):
        self.graph, self.lazy = needed(graph, keys), lazy.name
        self.found = dict(zip(self.graph, dask.get(self.graph, list(self.graph)), strict=True))

    @property
    def tasks(self):
        """Of workers that hold the data: they are there before."""
        return [key for key in self.graph if key[0] != self.lazy]

    @property
    def read(self):
        """Bytes of chunks that are needed."""
        return sum(size_of(value) for key, value in self.found.items() if key[0] == self.lazy)

    def dependents(self, key):
        """Tasks that need a result, but those that only take totals out of it, which they do where it lies."""
        return [other for other, task in self.graph.items() if other[1] != "sums" and mentions(task, key)]

    def moved(self, workers, keys):
        """Bytes that change the worker if each task is on another one, as far as there are any."""
        return sum(size_of(self.found[key]) * min(workers - 1, len(self.dependents(key))) for key in keys)


def mentions(task, key):
    return isinstance(task, tuple) and any(isinstance(part, tuple) and part == key for part in task[1:])


def check(model, made):
    """Tasks, and what is read."""
    assert len(made.tasks if not model.stored else made.graph) == model.tasks
    assert made.read == model.bytes_looked_at
    assert model.bytes_read == (made.read if model.stored else 0)
    data = [key for key in made.graph if key[0] == made.lazy and isinstance(made.found[key], np.ndarray)]
    for workers in (1, 2, 3, 1000):
        assert made.moved(workers, data) == replace(model, workers=workers).chunks_between


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize(("bands", "curvature"), [(1, True), (3, True), (3, False), (9, False), (11, True)])
def test_tasks_and_bytes_are_those_of_a_pass(bands, curvature, alike, stored, tmp_path, monkeypatch):
    rank, side = 3, 10
    n = bands * side - 4
    dtype = np.float32 if curvature else np.float64
    X, U = values(n, rank, alike, dtype)
    source = source_of(X, side, stored, tmp_path, monkeypatch)
    data, asked = Data(source, 1.0, None, alike=alike), replace(EVERYTHING, curvature=curvature)
    model = Pass(n, rank, side, itemsize=U.itemsize, alike=alike, stored=stored, curvature=curvature)
    work = _Pass(data, (U, U), asked, source.lazy)
    keys = work.added_up(work.bands())
    made = Made(work.graph, [*work.entries, *keys], source.lazy)
    check(model, made)
    kinds = {kind: [key for key in made.tasks if key[1] == kind] for kind in ("part", "band", "factor")}
    assert (len(keys), len(kinds["part"])) == (model.bands, model.chunks)
    assert max(key[3] for key in kinds["band"]) + 1 == model.levels
    assert sum(size_of(made.found[key]) for key in kinds["factor"]) == model.bytes_out
    for workers in (1, 2, 3, 7, 1000):
        moved = made.moved(workers, [key for some in kinds.values() for key in some])
        assert moved == replace(model, workers=workers).bytes_between
    assert sum(size_of(made.found[key]) for key in keys) == model.bytes_back
    found = look(data, (U, U), asked)
    assert sum(part.nbytes for part in (found.seen, found.gradient, found.normal, found.squares)) == model.bytes_back


@pytest.fixture
def graphs(monkeypatch):
    """The graphs that are run from here on: each with the keys that were wanted of it."""
    made = []

    def heard(graph, wanted, told=lambda key: None):
        made.append((dict(graph), list(wanted)))
        return run(graph, wanted, told)

    run = engine.run
    monkeypatch.setattr(engine, "run", heard)
    with dask.config.set(scheduler="synchronous"):
        yield made


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("bands", [1, 3, 8, 12])
def test_tasks_and_bytes_are_those_of_attachment(bands, noise, alike, stored, tmp_path, monkeypatch, graphs):
    rank, side = 2, 30
    n = bands * side
    dtype = np.float32 if noise else np.float64
    X, U = values(n, rank, alike, dtype)
    source = source_of(X, side, stored, tmp_path, monkeypatch)
    model = Attachment(n, rank, side, itemsize=U.itemsize, alike=alike, stored=stored, noise=noise)
    drawn = seed_rows(source, n, max(150, 40 * rank), source.block_shape[0], np.random.default_rng(0))
    # Some that lie in all bands that were drawn.
    landmarks = drawn[np.linspace(0, len(drawn) - 1, model.landmarks).astype(int)]
    assert len(landmarks) == (min(150, n) if noise else min(40, n))
    into = Placed.nobody(n, rank)
    anchors = U[landmarks].astype(np.float64)
    attach(Reader(source, 1.0, "one" if alike else "both"), (landmarks, anchors), into, 0.01)
    ((graph, wanted),) = graphs
    made = Made(graph, wanted, source.lazy)
    check(model, made)
    taken = [key for key in made.tasks if len(key) == 4]
    ((terms),) = [value for key, value in made.found.items() if key[1:] == ("terms",)]
    told = sum(part.nbytes for part in (terms.positions, terms.frame.factor, terms.frame.Q, terms.frame.T))
    assert told == model.bytes_out
    for workers in (1, 2, 3, 1000):
        moved = made.moved(workers, taken) + told * min(workers - 1, bands)
        assert moved == replace(model, workers=workers).bytes_between
    back = sum(size_of(made.found[key]) for key in wanted)
    assert back == into.factor.nbytes + into.share.nbytes + into.misfit.nbytes == model.bytes_back
    assert sum(size_of(made.found[key]) for key in taken) == model.entries * model.itemsize


@pytest.mark.parametrize(("passes", "alike"), [(0, True), (1, True), (3, True), (2, False)])
def test_a_run_is_what_a_completion_does(passes, alike, graphs):
    rank, side, n = 2, 40, 400
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n, rank))
    noise = 0.2 * rng.standard_normal((n, n)) * (passes > 0)
    noise = noise + noise.T if alike else noise
    lazy = da.from_array(U @ U.T + noise, chunks=side).persist(scheduler="synchronous")
    # Passes end early where nothing is left to gain.
    unrelu.complete(DaskSource(lazy), rank, threshold=None, method=unrelu.Landmarks(passes=passes), rng=0)
    model = Run(n, rank, side, alike=alike, passes=min(passes, len(graphs) - 1))
    made = [Made(graph, wanted, lazy) for graph, wanted in graphs]
    assert len(made) == 1 + min(passes, 2)
    assert sum(len(one.tasks) for one in made) == model.tasks
    for step, one, (_, wanted) in zip(model.steps, made, graphs, strict=True):
        assert step.bytes_looked_at == one.read
        back = sum(size_of(one.found[key]) for key in wanted)
        assert back == step.bytes_back
    for what in ("tasks", "bytes_read", "bytes_out", "bytes_between", "chunks_between", "bytes_back"):
        stored = replace(model, stored=True)
        assert getattr(stored, what) == sum(getattr(step, what) for step in stored.steps) > 0
    assert model.steps[0].noise == (passes > 0)


STEPS = [Pass(1000, 3, 100, 4, stored=True), Attachment(1000, 3, 100, 4, stored=True)]


@pytest.mark.parametrize("step", STEPS)
def test_seconds_are_those_of_what_takes_longest(step):
    assert step.seconds(AT_ONCE) == 0
    assert step.seconds(replace(AT_ONCE, read=10.0)) == step.bytes_read / 4 / 10
    assert step.seconds(replace(AT_ONCE, tasks=10.0)) == step.tasks / 10
    through_the_client = step.bytes_out + step.bytes_back
    expected = (step.bytes_between / 4 + through_the_client) / 10
    assert step.seconds(replace(AT_ONCE, network=10.0)) == pytest.approx(expected)
    slow = Rates(1.0, 2.0, 4.0, 1.0, np.inf, np.inf)
    assert step.seconds(slow) == max(step.bytes_read, step.entries / (1 if isinstance(step, Pass) else 4)) / 4
    held = replace(step, stored=False)
    assert held.seconds(slow) == step.entries / (1 if isinstance(step, Pass) else 4) / 4


def test_every_step_of_a_run_has_its_own_rate():
    run = Run(1000, 3, 100, 4, passes=3)
    attached, first, *later = run.steps
    rates = replace(AT_ONCE, curvature=1.0, gradient=10.0, attached=100.0)
    expected = attached.entries / 400 + first.entries / 4 + sum(step.entries / 40 for step in later)
    assert len(later) == 2
    assert run.seconds(rates) == pytest.approx(expected)


def test_more_workers_take_less_until_the_scheduler_and_the_client_are_all():
    rates = Rates(1e8, 1e8, 1e8)
    steps = [Pass(10**6, 20, 4000, workers, 4) for workers in (10, 100, 10_000)]
    taken = [step.seconds(rates) for step in steps]
    assert taken[0] > taken[1] > taken[2]
    assert taken[2] == steps[2].tasks / rates.tasks + (steps[2].bytes_out + steps[2].bytes_back) / rates.network


def received(dask_worker):
    """What a worker got from others: bytes, by what it is."""
    found = {}
    for entry in dask_worker.transfer_incoming_log:
        for key, size in entry["keys"].items():
            found[key] = found.get(key, 0) + size
    dask_worker.transfer_incoming_log.clear()
    return found


def test_two_workers_move_no_more_than_the_model_says():
    distributed = pytest.importorskip("distributed")
    rank, side, n = 5, 100, 700
    X, U = values(n, rank, True, np.float64)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        lazy = da.from_array(X, chunks=side).persist()
        distributed.wait(lazy)
        source = DaskSource(lazy)
        landmarks = np.arange(0, n, 5)

        def moved():
            """Results, and data that dask moves to give work to a worker that has none."""
            every = [pair for found in client.run(received).values() for pair in found.items()]
            results = sum(size for key, size in every if "unrelu" in str(key))
            return results, sum(size for _, size in every) - results

        def bounds(model):
            results, chunks = moved()
            assert 0 < results <= model.bytes_between
            assert chunks <= model.chunks_between

        moved()
        look(Data(source, 1.0, None), (U, U), EVERYTHING)
        bounds(Pass(n, rank, side))
        attach(Reader(source, 1.0, "one"), (landmarks, U[landmarks]), Placed.nobody(n, rank), 0.01)
        bounds(Attachment(n, rank, side, noise=True))
