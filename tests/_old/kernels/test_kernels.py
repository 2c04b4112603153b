import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from helpers import LOSSES, ROUNDING, asymmetric_instance, reference, remainder_order
from unrelu import Limits, Observed, OneSided
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource
from unrelu._old.kernels import GeneralKernel, TiledKernel, bands, kernel_for, memory, pairs, threads
from unrelu._old.kernels.symmetric import SymmetricTiles, top_eigenpairs
from unrelu._old.kernels.threads import map_chunks, owning_the_cores
from unrelu._old.problems.psd import PSDProblem


@pytest.fixture(params=[7, 256], ids=["many tiles", "one tile"])
def tile(request, monkeypatch):
    monkeypatch.setattr(pairs.edges, "__defaults__", (request.param,))


@pytest.fixture(params=[TiledKernel, GeneralKernel], ids=["quick", "general"])
def kernel(request):
    return request.param


CASES = [
    (loss, threshold, seen) for loss in LOSSES for threshold in (0.0, 0.4, -0.3, None) for seen in ("above", "below")
]


def instance(threshold, seen, seed=1):
    X, unknown = asymmetric_instance(seed=seed)
    if threshold is not None:
        rng = np.random.default_rng(seed)
        U = rng.standard_normal((30, 3))
        M = U @ U.T + 0.5 * rng.standard_normal((30, 30))
        X = np.where((threshold <= M) if seen == "above" else (threshold >= M), M, np.nan)
        X[unknown] = np.nan
    return X, unknown, np.random.default_rng(seed + 10)


@pytest.mark.parametrize(("loss", "threshold", "seen"), CASES)
def test_value_and_gradient_are_those_of_the_paper(tile, kernel, loss, threshold, seen):
    X, unknown, rng = instance(threshold, seen)
    U = rng.standard_normal((30, 3))
    problem = PSDProblem(Observations.of(X, threshold=threshold, seen=seen, unknown=unknown), 3, loss, kernel)
    point = problem.evaluate(U)
    one_sided = loss.name == "one-sided" and threshold is not None
    value, gradient = reference(
        X, U, one_sided=one_sided, threshold=threshold or 0.0, below=seen == "above", unknown=unknown
    )
    assert point.value == pytest.approx(value, rel=ROUNDING)
    np.testing.assert_allclose(point.gradient, gradient, rtol=0, atol=ROUNDING * np.abs(gradient).max())


@pytest.mark.parametrize(("loss", "threshold", "seen"), CASES)
def test_gradient_and_hessian_have_the_right_taylor_remainder(tile, kernel, loss, threshold, seen):
    X, unknown, rng = instance(threshold, seen)
    U, D = rng.standard_normal((30, 3)), rng.standard_normal((30, 3))
    problem = PSDProblem(Observations.of(X, threshold=threshold, seen=seen, unknown=unknown), 3, loss, kernel)
    point = problem.evaluate(U)
    slope = np.vdot(point.gradient, D)
    # Steps so short that few absent entries cross the threshold: there F is only piecewise smooth.
    steps = (1e-3, 1e-4, 1e-5)

    def along(t):
        return problem.evaluate(U + t * D).value

    first = remainder_order(along, lambda t: point.value + t * slope, steps)
    assert first == pytest.approx(2, abs=0.1)
    if not problem.bounded:
        HD = problem.hessian(point, D)
        gaps = [np.linalg.norm(problem.evaluate(U + t * D).gradient - point.gradient - t * HD) for t in steps]
        assert np.polyfit(np.log(steps), np.log(gaps), 1)[0] == pytest.approx(2, abs=0.1)


def test_gradient_at_a_kink_is_continuous():
    X = np.array([[1.0, np.nan], [np.nan, 1.0]])
    problem = PSDProblem(Observations.of(X), 1, OneSided())
    for sign in (-1e-9, 1e-9):
        U = np.array([[1.0], [sign]])
        assert problem.evaluate(U).gradient[0, 0] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_curvature_is_half_the_squared_derivative(tile, kernel, loss):
    X, unknown, rng = instance(0.0, "above")
    U, D = rng.standard_normal((30, 3)), rng.standard_normal((30, 3))
    problem = PSDProblem(Observations.of(X, unknown=unknown), 3, loss, kernel)
    point = problem.evaluate(U)
    L = U @ D.T + D @ U.T
    weight = (~np.isnan(X)).astype(float)
    if loss.name == "one-sided":
        absent = np.isnan(X) & ~unknown & ~np.eye(30, dtype=bool)
        weight = weight + (absent & (U @ U.T > 0))
    expected = 0.5 * (weight * L + (weight * L).T) @ U
    product = problem.curvature(point, D)
    np.testing.assert_allclose(product, expected, atol=ROUNDING * np.abs(expected).max())
    matrix = problem.curvature_matrix(point)
    np.testing.assert_allclose((matrix @ D.ravel()).reshape(30, 3), expected, atol=ROUNDING * np.abs(expected).max())
    assert np.vdot(D, product) == pytest.approx(0.5 * np.sum(weight * L**2), rel=ROUNDING)


def test_the_line_is_exact_without_kinks(tile, kernel):
    X, unknown, rng = instance(0.0, "above")
    U, D = rng.standard_normal((30, 3)), rng.standard_normal((30, 3))
    problem = PSDProblem(Observations.of(X, unknown=unknown), 3, None, kernel)
    steps = (-1.5, 0.0, 0.3, 1.0, 4.0)
    values, slopes = problem.line(problem.evaluate(U), D).at(steps)
    for t, value, slope in zip(steps, values, slopes, strict=True):
        expected, gradient = reference(X, U + t * D)
        assert value == pytest.approx(expected, rel=ROUNDING)
        assert slope == pytest.approx(np.vdot(gradient, D), rel=1e-10)


def test_the_line_agrees_with_one_sided_before_the_first_kink(tile, kernel):
    X, unknown, rng = instance(0.2, "above")
    U, D = rng.standard_normal((30, 3)), rng.standard_normal((30, 3))
    problem = PSDProblem(Observations.of(X, threshold=0.2, unknown=unknown), 3, OneSided(), kernel)
    point = problem.evaluate(U)
    P, L, Q = U @ U.T - 0.2, U @ D.T + D @ U.T, D @ D.T
    t = 1.0
    while np.any((P > 0) != (P + t * L + t**2 * Q > 0)):
        t /= 2
    expected = reference(X, U + t * D, one_sided=True, threshold=0.2, unknown=unknown)[0]
    assert problem.line(point, D).at([t])[0][0] == pytest.approx(expected, rel=1e-13)
    assert expected != point.value


LIMITS = {
    "one": lambda rng, n: (-np.inf, 0.3),
    "per row": lambda rng, n: (-np.inf, rng.uniform(-0.5, 0.5, (n, 1))),
    "per column": lambda rng, n: (-np.inf, rng.uniform(-0.5, 0.5, (1, n))),
    "per entry": lambda rng, n: (-np.inf, rng.uniform(-0.5, 0.5, (n, n))),
    "lower, per row": lambda rng, n: (rng.uniform(-0.5, 0.5, (n, 1)), np.inf),
    "an interval": lambda rng, n: (rng.uniform(-0.6, -0.2, (n, n)), rng.uniform(0.2, 0.6, (1, n))),
}


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("one_way", [False, True])
def test_both_directions_of_a_pair_count_with_their_own_limits(tile, kind, one_way):
    """F as the full matrix has it, for limits per row, column and entry and for pairs seen one way round only."""
    n, rng = 30, np.random.default_rng(3)
    V = rng.standard_normal((n, 3))
    X = V @ V.T + 0.3 * rng.standard_normal((n, n))
    limits = LIMITS[kind](rng, n)
    low, high = (np.broadcast_to(limit, (n, n)) for limit in limits)
    hidden = rng.random((n, n)) < 0.5 if one_way else np.triu(rng.random((n, n)) < 0.5)
    hidden = hidden if one_way else hidden | hidden.T
    unknown = hidden & (rng.random((n, n)) < 0.2)
    X[hidden] = np.nan
    observations = Observations(ArraySource(X), Limits(*limits, unknown))
    U = rng.standard_normal((n, 3)) / np.sqrt(observations.unit)
    point = PSDProblem(observations, 3, OneSided()).evaluate(U)

    P = U @ U.T
    absent = hidden & ~unknown
    absent &= ~(np.eye(n, dtype=bool) & (high <= 0))  # which no positive semidefinite matrix has on its diagonal
    outside = P - np.clip(P, low / observations.unit, high / observations.unit)
    Z = np.where(hidden, np.where(absent, outside, 0), P - X / observations.unit)
    assert point.value == pytest.approx(np.sum(Z**2) / 4, rel=ROUNDING)
    expected = (Z + Z.T) @ U / 2
    np.testing.assert_allclose(point.gradient, expected, rtol=0, atol=ROUNDING * np.abs(expected).max())
    assert (np.abs(Z[absent]) > 0).any()


@pytest.mark.parametrize("kind", LIMITS)
def test_a_symmetric_matrix_may_have_limits_that_are_not(tile, kind):
    """Values and pattern are the same both ways round; what is known of (i, j) and of (j, i) is not."""
    n, rng = 30, np.random.default_rng(4)
    V = rng.standard_normal((n, 3))
    hidden = np.triu(rng.random((n, n)) < 0.5, 1)
    hidden |= hidden.T
    limits = LIMITS[kind](rng, n)
    observations = Observations(ArraySource(np.where(hidden, np.nan, V @ V.T)), Limits(*limits))
    U = rng.standard_normal((n, 3)) / np.sqrt(observations.unit)
    point = PSDProblem(observations, 3, OneSided(), GeneralKernel).evaluate(U)
    P, unit = U @ U.T, observations.unit
    low, high = (np.broadcast_to(limit, (n, n)) / unit for limit in limits)
    Z = np.where(hidden, P - np.clip(P, low, high), P - V @ V.T / unit)
    assert point.value == pytest.approx(np.sum(Z**2) / 4, rel=ROUNDING)
    np.testing.assert_allclose(point.gradient, (Z + Z.T) @ U / 2, rtol=0, atol=ROUNDING * np.abs(point.gradient).max())


def test_two_limits_are_not_one():
    """The quick kernels know of one side only."""
    X, _ = asymmetric_instance()
    both = Observations(ArraySource(X), Limits(low=-0.5, high=0.0))
    assert not both.limits.uniform
    assert both.limits.threshold is None
    assert isinstance(kernel_for(both, OneSided()), GeneralKernel)
    for limits in (Limits(high=0.0), Limits(low=0.5), Limits()):
        assert limits.uniform
        assert isinstance(kernel_for(Observations(ArraySource(X), limits), OneSided()), TiledKernel)


def test_seen_only_residual_times_is_minus_the_data(tile, kernel):
    X, _, rng = instance(0.0, "above")
    V = rng.standard_normal((30, 4))
    problem = PSDProblem(Observations.of(X, threshold=None), 3, None, kernel)
    S = np.where(np.isnan(X), 0, X)
    expected = -0.5 * (S + S.T) @ V
    np.testing.assert_allclose(problem.kernel.residual_times(np.zeros((30, 3)), V), expected, atol=1e-11)
    assert problem.spectral_norm == pytest.approx(np.linalg.norm(0.5 * (S + S.T), 2), rel=1e-2)


def test_one_answer_whatever_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(pairs.edges, "__defaults__", (16,))
    X, unknown = asymmetric_instance(n=90)
    U = np.random.default_rng(0).standard_normal((90, 3))
    problem = PSDProblem(Observations.of(X, unknown=unknown), 3, OneSided())
    results = []
    for count in (1, 2, 3):
        with threadpool_limits(count, user_api="blas"), owning_the_cores() as workers:
            assert workers == count or count > 2  # BLAS may have been built for fewer
            point = problem.evaluate(U)
            results.append((point.value, point.gradient.tobytes(), problem.curvature(point, U + 1).tobytes()))
    assert results[0] == results[1] == results[2]


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_a_pass_holds_blas_to_one_thread_wherever_it_is_asked_for(monkeypatch, kernel):
    """A solver written outside calls kernels without a front door."""
    monkeypatch.setattr(pairs.edges, "__defaults__", (16,))
    X, _ = asymmetric_instance(n=60)
    problem = PSDProblem(Observations.of(X), 3, OneSided(), kernel)
    found = []
    with threadpool_limits(2, user_api="blas"):
        outside = blas_threads()
        if outside == {1}:
            pytest.skip("BLAS was built for one thread")
        problem.kernel.gather(lambda pairs, total: found.append(blas_threads()), np.zeros(1))
        assert blas_threads() == outside
    assert found
    assert all(threads == {1} for threads in found)


def test_chunks_come_back_in_order():
    with threadpool_limits(2, user_api="blas"), owning_the_cores():
        assert map_chunks(lambda k: k * k, range(20)) == [k * k for k in range(20)]


def test_a_kernel_is_shared_between_ranks_and_never_between_data():
    X, unknown = asymmetric_instance()
    problem = PSDProblem(Observations.of(X, unknown=unknown), 3, OneSided())
    other = problem.at_rank(2)
    assert other.kernel is problem.kernel
    few = np.arange(10)
    assert other.among(problem.observations.restricted(few)).kernel.size == 10
    assert not other.seen_only.kernel.bounded


def test_float32_stays_float32_through_every_pass():
    X, unknown = asymmetric_instance()
    problem = PSDProblem(Observations.of(X.astype(np.float32), unknown=unknown), 3, OneSided())
    U = np.random.default_rng(0).standard_normal((30, 3)).astype(np.float32)
    point = problem.evaluate(U)
    assert point.gradient.dtype == problem.curvature(point, U).dtype == np.float32
    assert problem.kernel.residual_times(U, U).dtype == np.float32
    assert {tile.target.dtype for tile in problem.kernel.tiles} == {np.dtype(np.float32)}


@pytest.mark.parametrize(("n", "k"), [(60, 4), (450, 5), (450, 60)])
def test_top_eigenpairs_match_lapack(n, k):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n))
    # A few eigenvalues above the bulk, and larger ones below it, which must not be taken for the top.
    V = np.linalg.qr(rng.standard_normal((n, k + 2)))[0]
    A = 0.1 * (A + A.T) + 20 * V[:, :k] @ np.diag(np.linspace(2, 1, k)) @ V[:, :k].T - 90 * V[:, k:] @ V[:, k:].T
    tiles = SymmetricTiles(n, np.float64, lambda rows, cols: A[rows, cols])
    values, vectors = top_eigenpairs(tiles, k, rng)
    exact = np.linalg.eigvalsh(A)[::-1][:k]
    np.testing.assert_allclose(values, exact, rtol=1e-3)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=0.05)


@pytest.mark.parametrize("engine", ["kernel", "bands"])
def test_what_will_not_fit_is_said_before_allocating(monkeypatch, engine):
    monkeypatch.setattr(memory, "available_memory", lambda: 10)
    problem = PSDProblem(Observations.of(asymmetric_instance()[0]), 3, Observed())
    text = r"a 30×30 matrix needs about 0.0 GiB of memory and 0.0 GiB are available; pass fewer"
    with pytest.raises(ValueError, match=text):
        getattr(problem, engine)


def test_overlapping_solves_give_blas_its_threads_back():
    def blas():
        return [library["num_threads"] for library in threads._controller().info() if library["user_api"] == "blas"]

    with threads._controller().limit(limits=2, user_api="blas"):
        before = blas()
        assert 2 in before  # a library that a conic solver brings may know only one thread
        first, second = owning_the_cores(), owning_the_cores()
        first.__enter__()
        assert second.__enter__() == 2
        first.__exit__(None, None, None)
        assert set(blas()) == {1}
        second.__exit__(None, None, None)
        assert blas() == before


@pytest.mark.parametrize(("loss", "threshold", "seen"), CASES)
def test_bands_agree_with_the_paper_for_two_factors(loss, threshold, seen, monkeypatch):
    monkeypatch.setattr(bands, "BAND_ENTRIES", 100)
    X, unknown, rng = instance(threshold, seen)
    L, R = rng.standard_normal((2, 30, 3))
    observations = Observations.of(X, threshold=threshold, seen=seen, unknown=unknown)
    kernel = PSDProblem(observations, 3, loss).bands
    value, left, right = kernel.evaluate(L, R)
    known = X / observations.unit
    Z = np.where(np.isnan(X), 0, L @ R.T - known)
    projected = np.where(np.isnan(X), L @ R.T, known)
    if loss.name == "one-sided" and threshold is not None:
        whole = slice(0, 30)
        absent = observations.absent(whole, whole, X)
        tau = threshold / observations.unit
        beyond = np.maximum(L @ R.T - tau, 0) if seen == "above" else np.minimum(L @ R.T - tau, 0)
        Z = np.where(absent, beyond, Z)
        projected = np.where(absent, L @ R.T - beyond, projected)
    assert value == pytest.approx(np.sum(Z**2) / 4, rel=ROUNDING)
    np.testing.assert_allclose(left, Z @ R, atol=1e-11)
    np.testing.assert_allclose(right, Z.T @ L, atol=1e-11)
    for band in kernel._bands:
        values = (L @ R.T)[band.rows]
        band.clip(values)
        np.testing.assert_allclose(values, projected[band.rows], atol=1e-13)


def test_available_memory_is_known_here():
    assert memory.available_memory() > 2**20


FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore")  # newer versions of Python warn of forks in general
import numpy
from unrelu._old.kernels import threads

def blas():
    return max(library["num_threads"] for library in threads._controller().info() if library["user_api"] == "blas")

threads._controller().limit(limits=2, user_api="blas")
with threads.owning_the_cores():
    inside = blas()
    child = os.fork()
    if child == 0:
        found = blas(), threads._cores.owners
        with threads.owning_the_cores():
            found += (blas(),)
        found += (blas(),)
if child == 0:
    print(*found, blas(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(inside, blas())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_child_forked_during_a_solve_has_blas_with_its_threads():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["2", "0", "1", "2", "2", "1", "2"]
