"""The semidefinite program: what it recovers, what it says when SCS does not, and what it refuses."""

import sys

import numpy as np
import pytest

import unrelu
from helpers import error, relu_instance
from unrelu import SDP, Stop

try:
    import scs
except ImportError:
    scs = None

needs_scs = pytest.mark.skipif(scs is None, reason="needs the extra sdp")


def solve(X, rank, solver=None, **options):
    return unrelu.complete(X, rank, method=SDP() if solver is None else solver, **options)


@needs_scs
def test_recovers_the_planted_matrix():
    M, X = relu_instance(200, 5)
    completion = solve(X, 5, truth=M)
    assert completion.verdict.converged, completion.verdict
    assert completion.history[-1].iteration == 1
    assert error(completion, M) < 1e-6
    details = completion.history[-1].details
    assert details["trace"] == pytest.approx(np.trace(M), rel=1e-6)
    assert details["rank_gap"] < 1e-6
    assert details["least_squares"] == 0
    assert max(details["primal_residual"], details["dual_residual"]) <= details["accuracy"] <= 1e-7


@needs_scs
def test_trace_is_the_better_default():
    M, X = relu_instance(40, 2)
    trace, none = (solve(X, 2, SDP(objective=objective)) for objective in ("trace", "none"))
    assert error(trace, M) < 1e-6
    assert error(trace, M) < error(none, M)
    assert trace.history[-1].details["inner"] < none.history[-1].details["inner"]


@needs_scs
@pytest.mark.parametrize("threshold", [-0.5, None])
def test_recovers_from_other_thresholds(threshold):
    M, _ = relu_instance(40, 2)
    X = np.where((0.0 if threshold is None else threshold) <= M, M, np.nan)
    completion = solve(X, 2, threshold=threshold)
    assert completion.verdict.converged, completion.verdict
    assert error(completion, M) < 1e-5


@needs_scs
@pytest.mark.parametrize(("seen", "tau"), [("above", 0.3), ("below", 0.3)])
@pytest.mark.parametrize("loss", ["one-sided", "observed"])
def test_constraints_hold(seen, tau, loss):
    # At full rank the result is X itself.
    M, _ = relu_instance(20, 2)
    M = M + 0.1 * np.eye(20)
    shown = tau <= M if seen == "above" else tau >= M
    unknown = ~shown & (np.random.default_rng(0).random(M.shape) < 0.2)
    completion = solve(np.where(shown, M, np.nan), 20, threshold=tau, seen=seen, unknown=unknown, loss=loss)
    assert completion.verdict.converged, completion.verdict
    X = completion.matrix()
    np.testing.assert_allclose(X[shown], M[shown], atol=1e-5)
    absent = ~shown & ~unknown & ~unknown.T
    beyond = (X - tau if seen == "above" else tau - X)[absent]
    assert (beyond.max() < 1e-5) == (loss == "one-sided")


@needs_scs
def test_noise_makes_it_least_squares():
    M, X = relu_instance(60, 3, sigma=0.01)
    completion = solve(X, 3)
    assert completion.verdict.converged, completion.verdict
    assert completion.history[-1].details["least_squares"] == 1
    assert error(completion, M) < 0.02


@needs_scs
def test_least_squares_is_optimal_for_asymmetric_values_and_pattern():
    _, X = relu_instance(20, 2, sigma=0.3)
    X[np.diag_indices(20)] = np.nan_to_num(np.diag(X))
    assert not np.array_equal(np.isnan(X), np.isnan(X).T)
    completion = solve(X, 20, loss="observed")
    assert completion.verdict.converged, completion.verdict
    assert completion.history[-1].details["least_squares"] == 1
    # Stationary on the cone: the gradient is positive semidefinite and orthogonal to X.
    P = completion.matrix()
    Z = np.where(np.isnan(X), 0, P - X)
    G = (Z + Z.T) / 2
    assert np.linalg.norm(G) > 1e-2
    assert np.linalg.eigvalsh(G)[0] > -1e-5
    assert abs(np.vdot(G, P)) < 1e-4


@needs_scs
def test_slack_is_a_bound_on_the_misfit():
    _, X = relu_instance(40, 2)
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal(X.shape)
    X = np.maximum(X + noise + noise.T, 0)
    slack = 0.5
    completion = solve(X, 40, SDP(slack=slack))
    assert completion.verdict.converged, completion.verdict
    seen = ~np.isnan(X)
    assert np.linalg.norm((completion.matrix() - X)[seen]) == pytest.approx(slack, rel=1e-3)
    tight = solve(X, 2, SDP(slack=0.0))
    assert tight.verdict.code is Stop.STALLED
    assert "SCS says 'infeasible'" in tight.verdict.reason
    assert "slack" in tight.verdict.reason
    assert not tight.factor.any()


@needs_scs
def test_unsolved_says_so_in_the_words_of_scs():
    _, X = relu_instance(30, 2)
    completion = solve(X, 2, SDP(max_inner=20))
    assert completion.verdict.code is Stop.STALLED
    assert "SCS says 'solved (inaccurate - reached max_iters)' after 20 iterations" in completion.verdict.reason
    late = solve(X, 2, SDP(time_limit=1e-6))
    assert "time_limit" in late.verdict.reason
    further = solve(X, 2, tol=1e-15)
    assert "lower eps" in further.verdict.reason
    none = solve(X, 2, max_iter=0)
    assert none.verdict.code is Stop.MAX_ITERATIONS
    assert not none.factor.any()


@needs_scs
def test_float32_and_scale():
    M, X = relu_instance(40, 2, dtype=np.float32)
    completion = solve(X, 2)
    assert completion.factor.dtype == np.float32
    assert error(completion, M) < 1e-5
    big = solve(X * np.float32(4.0**6), 2)
    assert big.history[-1].details["trace"] == pytest.approx(4.0**6 * completion.history[-1].details["trace"])
    assert big.factor.tobytes() == (completion.factor * np.float32(2.0**6)).tobytes()


def test_missing_extra_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scs", None)
    _, X = relu_instance(20, 2)
    with pytest.raises(unrelu.InputError, match=r"method 'sdp' needs the extra: pip install 'unrelu\[sdp\]'"):
        solve(X, 2)


def test_refuses_large_matrices_and_a_start():
    _, X = relu_instance(30, 2)
    with pytest.raises(unrelu.InputError, match="at most max_size=20 rows, got 30"):
        solve(X, 2, SDP(max_size=20))
    with pytest.raises(unrelu.InputError, match="takes no start"):
        solve(X, 2, start="tailored")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: SDP(objective="rank"), "unknown objective of sdp 'rank'"),
        (lambda: SDP(slack=-1.0), "slack of sdp must be a finite number ≥ 0, got -1.0"),
        (lambda: SDP(eps=0.0), "eps of sdp must be a number > 0 and < 1, got 0.0"),
        (lambda: SDP(max_inner=0), "max_inner of sdp must be an integer ≥ 1, got 0"),
        (lambda: SDP(time_limit=0), "time_limit of sdp must be a finite positive number, got 0"),
        (lambda: SDP(max_size=0), "max_size of sdp must be an integer ≥ 1, got 0"),
    ],
)
def test_parameters_out_of_range_name_the_range(make, text):
    with pytest.raises(unrelu.InputError, match=text):
        make()
