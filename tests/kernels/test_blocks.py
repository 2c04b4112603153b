"""Passes in blocks beside those of the kernels that hold the matrix; what is read, by whom, and in how much room."""

import re
import threading
import tracemalloc
from importlib import import_module

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import unrelu
from helpers import ROUNDING
from unrelu.base.errors import InputError
from unrelu.data.limits import Limits
from unrelu.data.observations import Observations
from unrelu.data.source import ArraySource, Source
from unrelu.kernels import GeneralKernel, TiledKernel, pairs
from unrelu.kernels.blocks import BlocksKernel
from unrelu.kernels.threads import owning_the_cores
from unrelu.model.losses import Censored, Huber, Observed, OneSided
from unrelu.model.losses.tails import beyond
from unrelu.problems.psd import PSDProblem

readahead = import_module("unrelu.kernels.readahead")
block_costs = import_module("unrelu.kernels.block_costs")

N, RANK = 45, 3
# Two orders of summation of the same singles.
SINGLE = 2e-6
LOSSES = [Observed(), OneSided(), Censored(0.5), Censored(level=0.7), Censored(0.02)]
THRESHOLDS = [("above", 0.0), ("above", 0.4), ("below", -0.3), ("below", 0.4), None]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of 16 rows, and tiles of 5 rows and 7 columns."""
    monkeypatch.setattr(pairs.edges, "__defaults__", (7,))
    monkeypatch.setattr(readahead, "TALL", 5)
    monkeypatch.setattr(readahead, "WIDE", 7)
    monkeypatch.setattr(readahead, "EDGES", (16, 8))


class Recorded(Source):
    """A source that copies, and writes down what it is asked for, and by which thread."""

    def __init__(self, values, thread_safe=True):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.thread_safe, self.asked, self.threads = thread_safe, [], set()

    def block(self, rows, cols):
        self.asked.append((rows, cols))
        self.threads.add(threading.current_thread().name)
        return ArraySource(self.values).block(rows, cols).copy()

    @property
    def entries(self):
        """How many entries were asked for since it was last asked."""
        asked, self.asked = self.asked, []
        return sum((rows.stop - rows.start) * (cols.stop - cols.start) for rows, cols in asked)


def seen_part(symmetric, threshold, *, diagonal=True, dtype=np.float64, n=N, seed=0):
    """A matrix with noise, and the side of its threshold; without one, half of it."""
    rng = np.random.default_rng(seed)
    V, noise = rng.standard_normal((n, RANK)), 0.3 * rng.standard_normal((n, n))
    M = 4.4 * (V @ V.T + (noise + noise.T if symmetric == "symmetric" else noise))
    if threshold is None:
        hidden = rng.random((n, n)) < 0.5
        hidden = hidden | hidden.T if symmetric != "asymmetric" else hidden
    else:
        side, limit = threshold
        hidden = (limit > M) if side == "above" else (limit < M)
    X = np.where(hidden, np.nan, M)
    if not diagonal:
        own = np.arange(n)
        X[own, own] = np.where(rng.random(n) < 0.5, np.nan, X.diagonal())
    return X.astype(dtype)


def observed(X, threshold):
    terms = {"threshold": None} if threshold is None else {"threshold": threshold[1], "seen": threshold[0]}
    return Observations.of(X, **terms)


def factors(dtype=np.float64, count=2, n=N):
    return np.random.default_rng(7).standard_normal((count, n, RANK)).astype(dtype)


def held(observations, loss):
    """The kernel that holds the matrix."""
    return (TiledKernel if loss.squared else GeneralKernel)(observations, loss)


def near(found, expected, rounding):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * max(np.abs(expected).max(), 1e-300))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name} {loss.noise or ''}")
@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
@pytest.mark.parametrize("symmetric", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("diagonal", [True, False], ids=["diagonal", "half a diagonal"])
def test_every_pass_is_that_of_the_kernels_that_hold_the_matrix(loss, threshold, symmetric, diagonal):
    observations = observed(seen_part(symmetric, threshold, diagonal=diagonal), threshold)
    U, D = factors()
    kernel, other = BlocksKernel(observations, loss), held(observations, loss)
    value, gradient, kept, *sums = kernel.evaluate(U)
    there = other.evaluate(U)
    assert value == pytest.approx(there[0], rel=ROUNDING)
    near(gradient, there[1], ROUNDING)
    assert len(sums) == len(there) - 3
    for mine, theirs in zip(sums, there[3:], strict=True):
        near(mine, theirs, 1e-11)  # what is far beyond the threshold loses digits
    single = ROUNDING if loss.squared else 1e-7  # in which curvatures are kept
    product = kernel.curvature(U, D, kept)
    near(product, other.curvature(U, D, there[2]), single)
    assert np.array_equal(product, kernel.curvature(U, D, kept))  # as it was kept
    near(kernel.curvature_matrix(U, kept), other.curvature_matrix(U, there[2]), single)
    near(kernel.residual_times(U, D), other.residual_times(U, D), ROUNDING)
    slope = float(np.vdot(gradient, D))
    mine, theirs = kernel.line(U, D, value, slope, kept), other.line(U, D, value, slope, there[2])
    assert mine.exact == theirs.exact
    assert mine.lowest() == pytest.approx(theirs.lowest(), rel=1e-6)
    for one, two in zip(mine.at([0.2, 1.0]), theirs.at([0.2, 1.0]), strict=True):
        near(one, two, ROUNDING)
    assert kernel.constant == pytest.approx(other.constant, rel=1e-10)
    assert (kernel.bounded, kernel.dtype) == (other.bounded, other.dtype)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name} {loss.noise or ''}")
@pytest.mark.parametrize("threshold", [("above", 0.4), ("below", 0.4), None], ids=str)
@pytest.mark.parametrize("symmetric", ["symmetric", "asymmetric"])
def test_single_precision_loses_only_its_own_digits(loss, threshold, symmetric):
    """Beside the same values in double precision: tails are found in that, and so are sums."""
    single = observed(seen_part(symmetric, threshold, dtype=np.float32), threshold)
    U, D = factors(np.float32)
    kernel, other = BlocksKernel(single, loss), held(single.in_doubles, loss)
    value, gradient, kept, *_ = kernel.evaluate(U)
    there = other.evaluate(U.astype(np.float64))
    assert gradient.dtype == np.float32
    assert value == pytest.approx(there[0], rel=SINGLE)
    near(gradient, there[1], SINGLE)
    product = kernel.curvature(U, D, kept)
    assert product.dtype == kernel.residual_times(U, D).dtype == np.float32
    near(product, other.curvature(U.astype(np.float64), D.astype(np.float64), there[2]), 1e-5)


@pytest.mark.parametrize("loss", [OneSided(), Censored(0.5)])
def test_values_that_differ_in_one_pattern(loss):
    """Both ways round were seen, with two values."""
    X = seen_part("asymmetric", None)
    X = np.where(np.isnan(X) | np.isnan(X.T), np.nan, X)
    observations, (U, D) = observed(X, None), factors()
    kernel, other = BlocksKernel(observations, loss), held(observations, loss)
    (value, gradient, kept, *_), there = kernel.evaluate(U), other.evaluate(U)
    assert value == pytest.approx(there[0], rel=ROUNDING)
    near(gradient, there[1], ROUNDING)
    near(kernel.curvature(U, D, kept), other.curvature(U, D, there[2]), 1e-7)
    assert kernel.constant == pytest.approx(other.constant, rel=1e-10)


@pytest.mark.parametrize("loss", [OneSided(), Censored(0.5)])
@pytest.mark.parametrize("side", ["above", "below"])
def test_a_value_seen_on_the_wrong_side_counts_as_seen(loss, side):
    X = seen_part("symmetric", (side, 0.4))
    X[3, 30] = X[30, 3] = -2.0 if side == "above" else 2.0
    observations = Observations(ArraySource(X), Limits.beyond(0.4, side))
    U, _ = factors()
    value, gradient, *_ = BlocksKernel(observations, loss).evaluate(U)
    there = GeneralKernel(observations, loss).evaluate(U)
    assert value == pytest.approx(there[0], rel=ROUNDING)
    near(gradient, there[1], ROUNDING)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_data_of_any_size(size):
    observations = observed(seen_part("asymmetric", ("above", 0.4)) * size, ("above", 0.4 * size))
    U, _ = factors()
    value, gradient, _ = BlocksKernel(observations, OneSided()).evaluate(U)
    there = TiledKernel(observations, OneSided()).evaluate(U)
    assert np.isfinite(value)
    assert value == pytest.approx(there[0], rel=ROUNDING)
    near(gradient, there[1], ROUNDING)


@pytest.mark.parametrize("loss", [Observed(), OneSided(), Censored(0.5)])
def test_fits_with_signs(loss):
    threshold, signs = ("above", 0.4), np.array([1.0, -1.0, 1.0])
    observations, (U, D) = observed(seen_part("asymmetric", threshold), threshold), factors()
    kernel, other = BlocksKernel(observations, loss).signed(signs), held(observations, loss).signed(signs)
    (value, gradient, kept, *_), there = kernel.evaluate(U), other.evaluate(U)
    assert value == pytest.approx(there[0], rel=ROUNDING)
    near(gradient, there[1], ROUNDING)
    near(kernel.curvature(U, D, kept), other.curvature(U, D, there[2]), 1e-7)
    near(kernel.residual_times(U, D), other.residual_times(U, D), ROUNDING)
    mine, theirs = kernel.line(U, D, value, 1.0, kept), other.line(U, D, value, 1.0, there[2])
    near(mine.at([0.3])[0], theirs.at([0.3])[0], ROUNDING)
    assert kernel.signed(None).evaluate(U)[0] != value


@pytest.mark.parametrize("loss", [Observed(), OneSided(), Censored(0.5)])
@pytest.mark.parametrize("symmetric", ["symmetric", "asymmetric"])
def test_pairs_are_told_of_as_by_the_general_kernel(loss, symmetric):
    observations = observed(seen_part(symmetric, ("above", 0.0), diagonal=False), ("above", 0.0))
    U, D = factors()
    kernel, other = BlocksKernel(observations, loss), GeneralKernel(observations, loss)

    def look(block, into):
        absent = np.zeros(block.seen.shape) if block.absent is None else block.absent
        for k, part in enumerate((block.target, block.seen, absent)):
            into[k, block.rows, block.cols] = part
            into[k, block.cols, block.rows] = part.T

    nothing = np.zeros((3, N, N))
    near(kernel.gather(look, nothing), other.gather(look, nothing), ROUNDING)
    assert not nothing.any()

    def count(block):
        once = np.triu(np.ones(block.seen.shape)) if block.diagonal else np.ones(block.seen.shape)
        return int((block.seen * once).sum()), float((block.target * once).sum())

    assert kernel.total(count) == pytest.approx(other.total(count))

    def weigh(block):
        return block.seen * (1.0 + np.abs(block.target))

    near(kernel.curvature(U, D, kernel.weighted(weigh)), other.curvature(U, D, other.weighted(weigh)), 1e-7)
    mine, theirs = (k.curvature_matrix(U, k.weighted(weigh)) for k in (kernel, other))
    near(mine, theirs, 1e-7)


def test_the_noise_is_estimated_as_by_the_general_kernel():
    threshold = ("above", 0.0)
    observations = observed(seen_part("asymmetric", threshold), threshold)
    (U,) = factors(count=1)
    found = []
    for kind in (BlocksKernel, GeneralKernel):
        problem = PSDProblem(observations, RANK, Censored(), kind)
        point = problem.evaluate(U)
        for _ in range(3):
            problem, point = problem.renewed(point)
        found.append((problem.loss.noise, point.value))
    assert found[0] == pytest.approx(found[1], rel=1e-10)
    assert problem.loss.noise != PSDProblem(observations, RANK, Censored()).loss.noise


def test_the_curvature_is_that_of_the_point_and_of_its_noise():
    """Though the kernel has gone on to another point, or to other estimates, since."""
    threshold = ("above", 0.0)
    observations, (U, D, V) = observed(seen_part("symmetric", threshold), threshold), factors(count=3)
    kernel = BlocksKernel(observations, Censored(level=0.5))
    kept, elsewhere = kernel.evaluate(U)[2], kernel.evaluate(V)[2]
    expected = kernel.curvature(U, D, kept)
    fresh = BlocksKernel(observations, Censored(level=0.5))
    assert np.array_equal(kernel.curvature(V, D, elsewhere), fresh.curvature(V, D, fresh.evaluate(V)[2]))
    later = kernel.with_loss(Censored(level=2.0))
    assert np.array_equal(later.curvature(U, D, kept), expected)
    assert not np.allclose(later.curvature(U, D, later.evaluate(U)[2]), expected)
    assert np.array_equal(kernel.curvature(U, D, kept), expected)


def test_what_was_found_at_a_point_is_kept_as_far_as_there_is_room():
    one, two = (readahead.Piece(slice(0, 1), slice(0, 1), (slice(0, 1), slice(0, 1)), k, k) for k in range(2))
    part = np.zeros(100, np.uint8)
    recall = readahead.Recall(2 * part.nbytes + readahead.OVERHEAD)
    recall.keep(one, (part,))
    recall.keep(two, (part,))
    assert recall.get(one) == (part,)
    assert recall.get(two) is None


def test_one_answer_whatever_the_number_of_threads():
    threshold = ("above", 0.0)
    X = seen_part("asymmetric", threshold)
    U, D = factors()
    for loss in (OneSided(), Censored(0.5)):
        results = []
        for count in (1, 2, 3):
            for source in (ArraySource(X), Recorded(X), Recorded(X, thread_safe=False)):
                observations = Observations(source, Limits(high=0.0))
                with threadpool_limits(count, user_api="blas"), owning_the_cores():
                    kernel = BlocksKernel(observations, loss)
                    value, gradient, kept, *_ = kernel.evaluate(U)
                    product = kernel.curvature(U, D, kept)
                    results.append((value, gradient.tobytes(), product.tobytes()))
        assert len(set(results)) == 1


def kernel_of(X, loss=None, memory=None, **kind):
    """A kernel, and its source, of which nothing has been asked yet."""
    source = Recorded(X, **kind)
    observations = Observations(source, Limits(high=0.0))
    assert observations.unit
    source.asked, source.threads = [], set()
    return BlocksKernel(observations, loss or OneSided(), memory), source


@pytest.mark.parametrize("loss", LOSSES[:3], ids=lambda loss: loss.name)
def test_a_symmetric_matrix_is_read_once_and_then_half(loss):
    kernel, source = kernel_of(seen_part("symmetric", ("above", 0.0)), loss)
    assert not source.asked
    U, D = factors()
    kept = kernel.evaluate(U)[2]
    assert source.entries == N * N
    again = kernel.evaluate(U)
    half = source.entries
    assert half == sum(15 * 15 * (3 - k) for k in range(3))
    assert again[0] == kernel.evaluate(U)[0]
    kernel.curvature(U, D, kept)
    assert source.entries == half  # of the evaluation; the pattern is enough for curvatures
    kernel.with_loss(loss).evaluate(U)
    assert source.entries == half  # what was learned is shared


def test_what_is_symmetric_but_for_one_value_is_read_twice_there():
    X = seen_part("symmetric", ("above", 0.0))
    i, j = next((i, j) for i, j in np.argwhere(~np.isnan(X)) if i < 10 and j > 40)
    X[i, j] += 1.0
    kernel, source = kernel_of(X)
    U, _ = factors()
    first = kernel.evaluate(U)[0]
    assert source.entries == N * N
    assert kernel.evaluate(U)[0] == first
    assert source.entries == 6 * 15 * 15 + 15 * 15
    assert first == pytest.approx(held(observed(X, ("above", 0.0)), OneSided()).evaluate(U)[0], rel=ROUNDING)


def test_what_is_not_symmetric_is_read_as_a_whole():
    kernel, source = kernel_of(seen_part("asymmetric", ("above", 0.0)))
    U, D = factors()
    for _ in range(2):
        kept = kernel.evaluate(U)[2]
        assert source.entries == N * N
    kernel.curvature(U, D, kept)
    assert source.entries == 0


@pytest.mark.parametrize("symmetric", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("loss", LOSSES[:3], ids=lambda loss: loss.name)
def test_without_room_for_the_pattern_it_is_read_again(symmetric, loss):
    X = seen_part(symmetric, ("above", 0.0))
    least = least_memory(X)
    tight, source = kernel_of(X, loss, least)
    roomy, _ = kernel_of(X, loss)
    U, D = factors()
    roomy._reader.planned(RANK)
    tight._reader._cuts = roomy._reader._cuts  # the same blocks, so that sums have the same order
    tight._reader._width = RANK
    tight._reader._room = 0
    kept = tight.evaluate(U)[2]
    first = source.entries
    assert first == N * N
    product = tight.curvature(U, D, kept)
    assert source.entries == (N * N if symmetric == "asymmetric" else 6 * 15 * 15)
    assert np.array_equal(product, roomy.curvature(U, D, roomy.evaluate(U)[2]))


def least_memory(X):
    with pytest.raises(InputError) as told:
        kernel_of(X, memory=1000)
    (least,) = re.findall(r"needs ([\d,]+) bytes", str(told.value))
    return int(least.replace(",", ""))


def test_too_little_memory_is_refused_with_what_is_enough():
    X = seen_part("symmetric", ("above", 0.0))
    least = least_memory(X)
    kernel_of(X, memory=least)
    with pytest.raises(InputError, match=r"too small for a pass over a 45×45 matrix in blocks of 8 rows"):
        kernel_of(X, memory=least - 1)
    kernel, _ = kernel_of(X, memory=least)
    with pytest.raises(InputError, match="allow that, or more"):
        kernel.evaluate(np.ones((N, 40)))


@pytest.mark.parametrize("symmetric", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("loss", LOSSES[1:3], ids=lambda loss: loss.name)
@pytest.mark.parametrize(("n", "edges"), [(1100, (512, 256, 128)), (1600, (800,))], ids=["small blocks", "large ones"])
def test_passes_stay_within_the_memory_that_they_were_given(monkeypatch, symmetric, loss, n, edges):
    monkeypatch.setattr(readahead, "TALL", 256)
    monkeypatch.setattr(readahead, "WIDE", 256)  # so that blocks are most of it
    monkeypatch.setattr(readahead, "EDGES", edges)
    X = seen_part(symmetric, ("above", 0.0), n=n)
    U, D = factors(n=n)
    at_all = least_memory(X)
    for memory in (at_all + 400_000, at_all + 3_000_000):
        kernel, source = kernel_of(X, loss, memory)
        block_costs._table()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        value, _, kept, *_ = kernel.evaluate(U)
        for _ in range(2):
            kernel.curvature(U, D, kept)
        kernel.line(U, D, value, -1.0, kept).at([0.5])
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        assert peak <= memory
        assert peak >= memory / 5  # it is no empty promise
        assert source.entries >= n * n


def test_more_memory_is_used_for_the_pattern():
    X = seen_part("symmetric", ("above", 0.0))
    kernel, source = kernel_of(X, memory=least_memory(X) + 1_000_000)
    U, D = factors()
    kept = kernel.evaluate(U)[2]
    assert source.entries
    kernel.curvature(U, D, kept)
    assert source.entries == 0


@pytest.mark.parametrize("grid", [(5, 5), (4, 8), (7, 5)])
def test_blocks_follow_the_grid_of_the_source(grid):
    X = seen_part("symmetric", ("above", 0.0))
    source = Recorded(X)
    source.block_shape = grid
    observations = Observations(source, Limits(high=0.0))
    assert observations.unit
    source.asked = []
    (U,) = factors(count=1)
    value = BlocksKernel(observations, OneSided()).evaluate(U)[0]
    assert value == pytest.approx(held(observed(X, ("above", 0.0)), OneSided()).evaluate(U)[0], rel=ROUNDING)
    for rows, cols in source.asked:
        for place, step in zip((rows, cols), grid, strict=True):
            assert place.start % step == 0
            assert place.stop % step == 0 or place.stop == N


@pytest.mark.parametrize(("grid", "grain"), [((1000, 1000), 1000), ((938, 1875), 1875), ((100, 30000), None)])
def test_grids_that_are_not_square_are_met_as_far_as_that_can_be(grid, grain):
    source = Recorded(np.zeros((2, 2)))
    source.block_shape = grid
    assert readahead._grain(source) == grain


def test_one_thread_reads_ahead_and_an_oracle_is_asked_by_the_caller_alone():
    X = seen_part("asymmetric", ("above", 0.0))
    (U,) = factors(count=1)
    for safe in (True, False):
        kernel, source = kernel_of(X, thread_safe=safe)
        with threadpool_limits(2, user_api="blas"):
            kernel.evaluate(U)
        (name,) = source.threads
        assert (name != threading.current_thread().name) == safe
    assert not any("reader" in thread.name for thread in threading.enumerate())


def test_the_next_block_is_read_while_one_is_in_use_and_no_other():
    begun, used = [], []

    def task(number):
        def read():
            begun.append(number)
            waiting[number].set()
            return readahead.Block(slice(0, 1), slice(0, 1), np.zeros((1, 1)), None)

        return read

    waiting = [threading.Event() for _ in range(4)]
    for number, block in enumerate(readahead._in_turn([task(k) for k in range(4)], ahead=True)):
        assert block.here is not None
        if number < 3:
            assert waiting[number + 1].wait(10)  # begun, though this one is still in use
        assert begun == list(range(min(number + 2, 4)))
        used.append(block)
    assert all(block.here is None for block in used)


@pytest.mark.parametrize("safe", [True, False])
def test_a_source_that_fails_is_heard_and_the_reader_goes_home(safe):
    class Broken(Recorded):
        def block(self, rows, cols):
            if len(self.asked) > 3:
                raise OSError("the disk is gone")
            return super().block(rows, cols)

    source = Broken(seen_part("symmetric", ("above", 0.0)), thread_safe=safe)
    observations = Observations(source, Limits(high=0.0))
    assert observations.unit
    source.asked = []
    kernel = BlocksKernel(observations, OneSided())
    (U,) = factors(count=1)
    with pytest.raises(OSError, match="the disk is gone"):
        kernel.evaluate(U)
    assert not any("reader" in thread.name for thread in threading.enumerate())


def test_a_mapped_file(tmp_path):
    X = seen_part("asymmetric", ("above", 0.0))
    np.save(tmp_path / "X.npy", X)

    class Mapped(Recorded):
        def block(self, rows, cols):
            return self.values[rows, cols]

    source = Mapped(np.load(tmp_path / "X.npy", mmap_mode="r"))
    (U,) = factors(count=1)
    value = BlocksKernel(Observations(source, Limits(high=0.0)), OneSided()).evaluate(U)[0]
    assert value == pytest.approx(held(observed(X, ("above", 0.0)), OneSided()).evaluate(U)[0], rel=ROUNDING)


@pytest.mark.parametrize("loss", ["one-sided", "censored"])
def test_a_solver_does_not_notice(loss):
    rng = np.random.default_rng(0)
    V = rng.standard_normal((N, RANK))
    noise = 0.01 * rng.standard_normal((N, N))
    M = V @ V.T + noise + noise.T
    X = np.where(M >= 0, M, np.nan)
    mine, theirs = (
        unrelu.complete(X, rank=RANK, loss=loss, method="gauss-newton", rng=0, **kernel)
        for kernel in ({"kernel": BlocksKernel}, {})
    )
    assert mine.verdict.code == theirs.verdict.code
    near(mine.matrix(), theirs.matrix(), 1e-6)


@pytest.mark.parametrize(
    ("given", "loss", "said"),
    [
        ({"weights": np.linspace(1, 2, N)[None, :]}, OneSided(), "weights, or noise,"),
        ({"spread": np.linspace(1, 2, N)[None, :]}, Censored(0.5), "weights, or noise,"),
        ({"limits": Limits(high=np.linspace(0, 1, N)[None, :])}, OneSided(), "limits that differ"),
        ({"limits": Limits(low=-1.0, high=1.0)}, OneSided(), "limits that differ"),
        ({"limits": Limits(high=0.0, unknown=np.eye(N, dtype=bool))}, OneSided(), "entries that are unknown"),
        ({}, Huber(sigma=0.4), "the loss 'huber'"),
    ],
)
def test_what_other_kernels_are_for_is_refused(given, loss, said):
    observations = Observations(ArraySource(seen_part("symmetric", None)), **given)
    with pytest.raises(InputError, match=f"one threshold or none.*{said}"):
        BlocksKernel(observations, loss)


def test_limits_that_are_not_heard_are_not_asked_for():
    """What is observed counts alone, whatever is known of the rest."""
    observations = Observations(ArraySource(seen_part("symmetric", None)), Limits(low=-1.0, high=1.0))
    (U,) = factors(count=1)
    kernel = BlocksKernel(observations, Observed())
    assert kernel.evaluate(U)[0] == pytest.approx(TiledKernel(observations, Observed()).evaluate(U)[0], rel=ROUNDING)


def test_tails_from_the_table():
    z = np.concatenate([np.linspace(-41, 8.5, 100_001), [-1e3, -1e140, -39.999, -40.0]])
    log, ratio, bend = np.empty((3, z.size))
    beyond(z, log, ratio, bend)
    mine = block_costs.tails(z)
    np.testing.assert_allclose(mine[0], log, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mine[1], ratio, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mine[2], bend, atol=1e-11)
    np.testing.assert_array_equal(block_costs.tails(z, logarithm=False)[2], mine[2])


@pytest.mark.parametrize("share", [0.0, 0.005, 0.05, 0.5, 1.0])
def test_what_is_picked_is_what_is_true(share):
    shape = 25, 27
    work = block_costs.Work(26 * 26, np.dtype(np.float64))
    mask = work.lend("mask", shape, bool)
    mask[:] = np.random.default_rng(0).random(shape) < share
    work._made["mask"][mask.size :] = True  # of an earlier, larger tile
    np.testing.assert_array_equal(work.picked("mask", shape), np.flatnonzero(mask))
