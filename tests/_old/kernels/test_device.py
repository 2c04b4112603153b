"""Passes on a device beside those of the kernels in memory; on the CPU, or where UNRELU_DEVICE says."""

import os
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import unrelu
from helpers import ROUNDING
from unrelu import Tailored
from unrelu._old.base.engines import noting
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource
from unrelu._old.data.table_observations import table_observations
from unrelu._old.data.tensor_source import ByBlocks, TensorSource
from unrelu._old.kernels import GeneralKernel, TiledKernel, kernel_for
from unrelu._old.kernels.device import feed, plain
from unrelu._old.kernels.device.arrays import DeviceArray
from unrelu._old.kernels.device.kernel import DeviceKernel
from unrelu._old.model.losses import Censored, Huber, Observed, OneSided
from unrelu._old.problems.psd import PSDProblem

# "cuda" where there is one: benchmarks/gpu.py runs these tests so.
DEVICE = torch.device(os.environ.get("UNRELU_DEVICE", "cpu"))
N, RANK = 45, 3
# Two orders of summation of the same singles; and curvatures, which GeneralKernel keeps in single precision.
SINGLE, KEPT = 4e-6, 1e-6
# Where products are short; nowhere on the CPU.
ROUGH = KEPT if DEVICE.type == "cpu" else 2e-3
# The tails of the normal distribution on a device are right to about 1e-12.
TAILS = 2e-11
LOSSES = [Observed(), OneSided(), Censored(0.5), Censored(0.02)]
THRESHOLDS = [("above", 0.0), ("above", 0.4), ("below", -0.3), ("below", 0.4), None]
KINDS = ["alike", "not alike", "table"]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Tiles of 8 rows, and blocks of 16, so that there are many."""
    monkeypatch.setitem(plain.SIDES, "cpu", 8)
    monkeypatch.setattr(plain, "SIDE", 8)
    monkeypatch.setattr(feed, "BLOCK", 16)
    monkeypatch.setattr(feed, "BAND", 7)


def values(kind, threshold, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    height = 30 if kind == "table" else N
    L, R = rng.standard_normal((2, N, RANK))
    noise = 0.3 * rng.standard_normal((height, N))
    M = 4.4 * ((L[:height] @ R.T + noise) if kind == "table" else L @ L.T + noise)
    M = (M + M.T) / 2 if kind == "alike" else M
    if threshold is None:
        hidden = rng.random(M.shape) < 0.5
        hidden = hidden | hidden.T if kind == "alike" else hidden
    else:
        hidden = (threshold[1] > M) if threshold[0] == "above" else (threshold[1] < M)
    if kind != "table":
        hidden[::5, ::5] |= np.eye(9, dtype=bool)  # some of the diagonal
    return np.where(hidden, np.nan, M).astype(dtype)


def sources(X):
    """The same values on a device, and in memory with blocks that go there."""
    return {"there": TensorSource(torch.as_tensor(X).to(DEVICE)), "by blocks": ByBlocks(ArraySource(X), DEVICE)}


def observed(X, kind, threshold):
    terms = {"threshold": None} if threshold is None else {"threshold": threshold[1], "seen": threshold[0]}
    return table_observations(X, **terms) if kind == "table" else Observations.of(X, **terms)


def near(found, expected, rounding):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * max(np.abs(expected).max(), 1e-300))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name} {loss.noise or ''}")
@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["there", "by blocks"])
def test_every_pass_is_that_of_the_kernels_in_memory(loss, threshold, kind, where):
    X = values(kind, threshold)
    here, there = observed(X, kind, threshold), observed(sources(X)[where], kind, threshold)
    U, D = np.random.default_rng(7).standard_normal((2, here.size, RANK))
    kernel, other = DeviceKernel(there, loss), GeneralKernel(here, loss)
    value, gradient, kept, *sums = kernel.evaluate(U)
    expected, exact = other.evaluate(U), ROUNDING if loss.squared else TAILS
    assert value == pytest.approx(expected[0], rel=exact)
    near(gradient, expected[1], exact)
    assert len(sums) == len(expected) - 3
    for found, wanted in zip(sums, expected[3:], strict=True):
        near(found, wanted, exact)
    assert kernel.constant == pytest.approx(other.constant, rel=ROUNDING, abs=ROUNDING)
    bent = SINGLE if kernel.single else KEPT if not loss.squared else ROUNDING
    near(kernel.curvature(U, D, kept), other.curvature(U, D, expected[2]), bent)
    near(kernel.curvature_roughly(U, D, kept), other.curvature(U, D, expected[2]), ROUGH)
    near(kernel.residual_times(U, D), other.residual_times(U, D), exact)
    slope = float(np.vdot(expected[1], D))
    line, wanted = (one.line(U, D, value, slope, its) for one, its in ((kernel, kept), (other, expected[2])))
    steps = [0.01, 0.3, -0.2]
    if loss.squared:  # the weights are held at those of U, as the kernel of squares does
        tiled = TiledKernel(here, loss)
        wanted = tiled.line(U, D, value, slope, tiled.evaluate(U)[2])
        assert line.exact == wanted.exact
    near(line.at(steps)[0], wanted.at(steps)[0], exact)
    near(line.at(steps)[1], wanted.at(steps)[1], exact)


@pytest.mark.parametrize("loss", LOSSES[:3], ids=lambda loss: loss.name)
@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_stays_single_and_right(loss, kind):
    X = values(kind, ("above", 0.4), np.float32)
    here, there = (observed(one, kind, ("above", 0.4)) for one in (X.astype(float), sources(X)["there"]))
    U, D = np.random.default_rng(7).standard_normal((2, here.size, RANK))
    kernel, other = DeviceKernel(there, loss), GeneralKernel(here, loss)
    value, gradient, kept, *_ = kernel.evaluate(U.astype(np.float32))
    expected = other.evaluate(U)
    assert gradient.dtype == np.float32
    assert value == pytest.approx(expected[0], rel=SINGLE)
    near(gradient, expected[1], SINGLE)
    near(kernel.curvature(U, D, kept), other.curvature(U, D, expected[2]), SINGLE)
    near(kernel.curvature_roughly(U, D, kept), other.curvature(U, D, expected[2]), max(ROUGH, SINGLE))


def test_directions_are_made_of_rough_products():
    """Where a kernel has them: each is quicker, and a direction needs few digits."""
    X = values("alike", ("above", 0.0))
    problem = PSDProblem(observed(sources(X)["there"], "alike", ("above", 0.0)), RANK)
    point = problem.evaluate(np.ones((N, RANK)))
    problem.kernel.curvature_roughly = lambda U, D, kept: "rough"
    assert problem.curvature(point, np.ones((N, RANK))) == "rough"


def test_without_weights_a_curvature_is_that_of_what_was_seen():
    X = values("alike", ("above", 0.4))
    U, D = np.random.default_rng(7).standard_normal((2, N, RANK))
    kernel = DeviceKernel(observed(sources(X)["there"], "alike", ("above", 0.4)), OneSided())
    other = GeneralKernel(observed(X, "alike", None), Observed())
    near(kernel.curvature(U, D, None), other.curvature(U, D, other.evaluate(U)[2]), ROUNDING)


def test_half_of_a_matrix_that_is_alike_is_looked_at_and_all_of_another(monkeypatch):
    looked = []
    entries = plain._entries
    monkeypatch.setattr(
        plain, "_entries", lambda tile, *rest, **how: looked.append(tile) or entries(tile, *rest, **how)
    )
    for kind, tiles in (("alike", 6 * 7 // 2), ("not alike", 6 * 6)):
        looked.clear()
        kernel = DeviceKernel(observed(sources(values(kind, None))["there"], kind, None), Observed())
        kernel.evaluate(np.ones((N, RANK)))
        assert len(looked) == tiles


def test_signs_weights_and_visits_are_those_of_the_other_kernels():
    X = values("not alike", ("above", 0.0))
    here, there = (observed(one, "not alike", ("above", 0.0)) for one in (X, sources(X)["there"]))
    U, D = np.random.default_rng(7).standard_normal((2, N, RANK))
    kernel, other = DeviceKernel(there, OneSided()), GeneralKernel(here, OneSided())
    signs = [1, -1, 1]
    one, two = kernel.signed(signs), other.signed(signs)
    near(one.evaluate(U)[1], two.evaluate(U)[1], ROUNDING)
    near(one.curvature(U, D, one.evaluate(U)[2]), two.curvature(U, D, two.evaluate(U)[2]), ROUNDING)
    near(kernel.curvature_matrix(U, kernel.evaluate(U)[2]), other.curvature_matrix(U, other.evaluate(U)[2]), ROUNDING)

    def twice(pairs):
        return 2 * pairs.seen

    near(kernel.curvature(U, D, kernel.weighted(twice)), other.curvature(U, D, other.weighted(twice)), ROUNDING)
    assert kernel.total(lambda pairs: int(pairs.seen.sum())) == other.total(lambda pairs: int(pairs.seen.sum()))


@pytest.mark.parametrize("kind", KINDS)
def test_distinct_pairs_are_counted_without_a_visit(kind):
    X = values(kind, None)
    kernel = DeviceKernel(observed(sources(X)["there"], kind, None), Observed())
    seen = ~np.isnan(X)
    if kind == "not alike":
        seen = seen | seen.T
    assert kernel.distinct_pairs == (seen if kind == "table" else np.triu(seen)).sum()


def test_a_kernel_is_chosen_by_where_the_values_are_and_by_what_passes_there_know():
    X = values("alike", ("above", 0.0))
    there = observed(sources(X)["there"], "alike", ("above", 0.0))
    with noting() as engines:
        assert isinstance(kernel_for(there, OneSided()), DeviceKernel)
    assert engines == [f"PyTorch on {sources(X)['there'].tensor.device} in float64"]
    with noting() as engines:
        assert isinstance(kernel_for(observed(X, "alike", ("above", 0.0)), OneSided()), TiledKernel)
    assert engines == ["NumPy in float64"]
    with noting() as engines:  # the blocks come here
        assert isinstance(kernel_for(there, Huber(1.0)), GeneralKernel)
        weighed = Observations.of(sources(X)["there"], weights=np.ones((N, 1)) + np.arange(N)[:, None])
        assert isinstance(kernel_for(weighed, OneSided()), GeneralKernel)
    assert engines == ["NumPy in float64"]


def test_what_was_made_of_one_loss_does_not_serve_another():
    X = values("alike", ("above", 0.0))
    here, there = (observed(one, "alike", ("above", 0.0)) for one in (X, sources(X)["there"]))
    U = np.random.default_rng(7).standard_normal((N, RANK))
    kernel = DeviceKernel(there, Censored(0.5))
    kernel.total(lambda pairs: 0)
    other, wanted = kernel.with_loss(Censored(0.1)), GeneralKernel(here, Censored(0.1))
    near(other.curvature_matrix(U, other.evaluate(U)[2]), wanted.curvature_matrix(U, wanted.evaluate(U)[2]), KEPT)
    signed, wanted = kernel.signed([1, -1, 1]), GeneralKernel(here, Censored(0.5)).signed([1, -1, 1])
    near(signed.curvature_matrix(U, signed.evaluate(U)[2]), wanted.curvature_matrix(U, wanted.evaluate(U)[2]), KEPT)


def test_points_live_there_and_what_a_problem_says_of_them_is_the_same():
    X = values("alike", ("above", 0.0))
    U = np.random.default_rng(7).standard_normal((N, RANK))
    here, there = (PSDProblem(observed(one, "alike", ("above", 0.0)), RANK) for one in (X, sources(X)["there"]))
    point, other = there.evaluate(U), here.evaluate(U)
    assert isinstance(point.factor, DeviceArray)
    assert point.gradient_norm == pytest.approx(other.gradient_norm, rel=ROUNDING)
    near(there.hessian(point, U), here.hessian(other, U), ROUNDING)
    assert there.spectral_norm == pytest.approx(here.spectral_norm, rel=1e-2)


class TestArrays:
    """What methods do with factors."""

    def there(self, dtype=np.float64, shape=(6, 3)):
        here = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        return here, DeviceArray(torch.as_tensor(here).to(DEVICE))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(
        "done",
        [
            lambda A: A + A,
            lambda A: 2.5 * A - A / 3,
            lambda A: A.dtype.type(0.5) * A,
            lambda A: -A,
            lambda A: A @ np.eye(3, dtype=A.dtype),
            lambda A: A.T @ A,
            lambda A: np.hstack([A, A]),
            lambda A: np.zeros_like(A),
            lambda A: A.astype(np.float64),
            lambda A: A[1:4],
        ],
        ids=range(10),
    )
    def test_what_is_done_in_every_step_stays_there_and_in_its_precision(self, done, dtype):
        here, there = self.there(dtype)
        found, wanted = done(there), done(here)
        assert isinstance(found, DeviceArray)
        assert found.dtype == wanted.dtype
        near(found, wanted, 1e-6)

    @pytest.mark.parametrize(
        "done",
        [
            lambda A: np.vdot(A, A),
            lambda A: np.linalg.norm(A),
            lambda A: np.linalg.norm(A, 2),
            lambda A: np.linalg.eigh(A.T @ A)[0],
            lambda A: np.einsum("ik,ik->i", A, A),
            lambda A: np.isfinite(A).all(),
            lambda A: A[[0, 2]].sum(),
            lambda A: A.reshape(-1) + A.ravel(),
            lambda A: np.maximum(A, 0),
            lambda A: np.concatenate([A, A]),
            lambda A: float(A.any()),
            lambda A: np.add.reduce(A, axis=0),
        ],
        ids=range(12),
    )
    def test_everything_else_is_what_numpy_does(self, done):
        here, there = self.there()
        found = done(there)
        assert not isinstance(found, DeviceArray)
        near(found, done(here), 1e-12)

    def test_it_is_a_copy_in_memory_and_has_a_shape(self):
        here, there = self.there()
        copied = np.asarray(there)
        copied[:] = 0
        near(there, here, 0)
        assert (there.shape, there.ndim, there.size, len(there), np.shape(there)) == ((6, 3), 2, 18, 6, (6, 3))
        assert "DeviceArray" in repr(there)


def test_the_tailored_start_is_made_of_passes():
    """Subspace iteration instead of Lanczos: the same start to a few thousandths, and no block comes into memory."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((300, 4))
    M = U @ U.T
    for threshold, side in ((0.0, "above"), (0.5, "above"), (-0.3, "below")):
        X = np.where(threshold <= M if side == "above" else threshold >= M, M, np.nan)
        starts = []
        for one in (X, TensorSource(torch.as_tensor(X).to(DEVICE))):
            start = Tailored()(Observations.of(one, threshold=threshold, seen=side), 4, np.random.default_rng(3))
            starts.append(start @ start.T)
        assert np.linalg.norm(starts[0] - starts[1]) <= 1e-2 * np.linalg.norm(starts[0])


def test_the_tailored_start_of_a_table_is_made_of_passes():
    """Rows are drawn against columns, and neither against each other."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 260))
    for threshold in (0.0, 0.5):
        X, starts = np.where(threshold <= M, M, np.nan), []
        for one in (X, TensorSource(torch.as_tensor(X).to(DEVICE))):
            start = Tailored()(table_observations(one, threshold=threshold), 3, np.random.default_rng(3))
            starts.append(start @ start.T)
        assert np.linalg.norm(starts[0] - starts[1]) <= 2e-2 * np.linalg.norm(starts[0])


@pytest.mark.parametrize("unit", [1e-150, 1e-60, 1e60, 1e150])
def test_values_of_any_size_have_room_in_the_precision_of_a_pass(unit):
    """The start computes in single precision, of values that may be far outside of it."""
    U = np.random.default_rng(0).standard_normal((60, 3))
    M = U @ U.T
    X = torch.as_tensor(np.where(M >= 0, M, np.nan) * unit).to(DEVICE)
    found = unrelu.complete(TensorSource(X), 3, method="gradient-descent", rng=0)
    assert found.verdict.code == "fitted"
    assert np.abs(found.matrix() / unit - M).max() < 1e-5


@pytest.mark.parametrize("unit", [1e-155, 1e155])
def test_the_norm_of_values_whose_squares_are_no_numbers(unit):
    X = values("alike", None)
    told = TensorSource(torch.as_tensor(X * unit).to(DEVICE)).summary()
    assert told.norm / unit == pytest.approx(np.sqrt(np.nansum(X**2)), rel=1e-12)


def test_passes_are_fused_where_triton_is_new_enough_and_finds_a_compiler(monkeypatch):
    pytest.importorskip("triton")
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    new, old = (8, 0), (7, 5)
    cases = (("3.4.0", "/usr/bin/cc", new, True), ("3.3.1", "/usr/bin/cc", new, False),
             ("4.0", "/usr/bin/cc", (9, 0), True), ("3.9.0", None, new, False), ("odd", "/usr/bin/cc", new, False),
             ("3.9.0", "/usr/bin/cc", old, False))  # fmt: skip
    for release, compiler, capability, fused in cases:
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, capability=capability: capability)
        monkeypatch.setattr(feed, "version", lambda name, release=release: release)
        monkeypatch.setattr(feed.shutil, "which", lambda name, compiler=compiler: compiler)
        feed._can_fuse.cache_clear()
        assert (feed.has_fused(cuda), feed.has_fused(cpu)) == (fused, False)
    feed._can_fuse.cache_clear()


def test_both_sides_are_compared_once_for_all_precisions(monkeypatch):
    looked = []
    real = feed.is_alike
    monkeypatch.setattr(feed, "is_alike", lambda values: looked.append(1) or real(values))
    source = sources(values("alike", None))["there"]
    for one in (source, source.in_dtype(np.float32), source):
        assert DeviceKernel(observed(one, "alike", None), Observed())._feed.alike
    assert len(looked) == 1


def test_a_source_can_be_stored():
    source = pickle.loads(pickle.dumps(TensorSource(torch.eye(3))))
    assert source.block(slice(0, 1), slice(0, 3)).tolist() == [[1.0, 0.0, 0.0]]
