"""One contract for every method, and what each must do beyond it."""

import dataclasses

import numpy as np
import pytest

import unrelu
import unrelu._old.data.sampling
from helpers import ONE_SHOT, RECOVERED, SOLVERS, error, relu_instance
from unrelu import Stop
from unrelu._old.kernels.line import minimise_quartic
from unrelu._old.model.losses import LOSSES, Huber
from unrelu._old.solvers import METHODS


def label(solver):
    extra = getattr(solver, "variant", "") or ("symmetric" if getattr(solver, "symmetric", False) else "")
    return f"{solver.name} {extra}".strip()


every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=label)


def test_every_public_method_is_in_the_contract():
    assert {solver.name for solver in SOLVERS + ONE_SHOT} == set(METHODS)


@every_solver
class TestContract:
    def test_is_a_frozen_value_with_its_source_in_the_docstring(self, solver):
        assert dataclasses.replace(solver) == solver
        with pytest.raises(dataclasses.FrozenInstanceError):
            solver.anything = 1
        for name in (f.name for f in dataclasses.fields(solver)):
            assert name in type(solver).__doc__, name

    @pytest.mark.parametrize("loss", ["observed", "one-sided"])
    def test_recovers_an_easy_instance_under_each_loss_it_claims(self, solver, loss):
        M, X = relu_instance(120, 3)
        if not solver.accepts(LOSSES[loss]()):
            with pytest.raises(unrelu.InputError, match="not loss"):
                unrelu.complete(X, 3, method=solver, loss=loss)
            return
        # Where absence says nothing a random start is not enough.
        start = "tailored" if loss == "observed" else "auto"
        completion = unrelu.complete(X, 3, method=solver, loss=loss, rng=1, truth=M, start=start)
        assert completion.verdict.converged, completion.verdict
        assert error(completion, M) < RECOVERED
        assert completion.history[-1].error < RECOVERED
        assert completion.loss == loss

    def test_gross_errors_do_not_lead_it_astray_if_it_claims_so(self, solver):
        M, X = relu_instance(80, 2)
        X = X + 0.05 * np.random.default_rng(0).standard_normal(X.shape)
        X[X < 0] = 0.0
        X[4, 9] = X[9, 4] = X[20, 20] = 60.0
        if not solver.accepts(Huber()):
            with pytest.raises(unrelu.InputError, match="not loss"):
                unrelu.complete(X, 2, method=solver, loss="huber")
            return
        completion = unrelu.complete(X, 2, method=solver, loss="huber", rng=1, tol=1e-6)
        assert error(completion, M) < 0.03
        assert completion.loss == "huber"

    def test_auto_needs_nothing_else(self, solver):
        M, X = relu_instance(120, 3)
        completion = unrelu.complete(X, 3, method=solver, rng=1)
        assert completion.verdict.converged, completion.verdict
        assert error(completion, M) < RECOVERED

    def test_history_measures_the_points_it_passed(self, solver):
        _, X = relu_instance()
        completion = unrelu.complete(X, 3, method=solver, rng=1, max_iter=3, tol=0)
        assert [record.iteration for record in completion.history] == [0, 1, 2, 3]
        assert completion.verdict.code is Stop.MAX_ITERATIONS
        assert not completion.verdict.converged
        assert np.all(np.diff(completion.history.column("seconds")) >= 0)
        assert np.all(np.diff(completion.history.column("cpu_seconds")) >= 0)
        estimate = completion.factor if completion.left is None else completion.left
        other = completion.factor if completion.right is None else completion.right
        Z = np.where(np.isnan(X), 0, estimate @ other.T - X)
        if completion.loss == "one-sided":
            off = np.isnan(X)
            Z[off] = np.maximum(estimate @ other.T, 0)[off]
        assert completion.history[completion.iteration].objective == pytest.approx(0.25 * np.sum(Z**2))

    def test_same_seed_same_answer_bit_for_bit(self, solver):
        _, X = relu_instance()
        first, second = (unrelu.complete(X, 3, method=solver, rng=4, max_iter=20).factor for _ in range(2))
        assert first.tobytes() == second.tobytes()

    def test_scaling_the_data_scales_the_answer(self, solver):
        _, X = relu_instance(sigma=0.05)
        c = 4.0**31
        here = unrelu.complete(X, 3, method=solver, rng=4, max_iter=30)
        there = unrelu.complete(c * X, 3, method=solver, rng=4, max_iter=30)
        np.testing.assert_array_equal(there.factor, np.sqrt(c) * here.factor)
        assert there.verdict.code is here.verdict.code

    def test_float32_stays_float32(self, solver):
        M, X = relu_instance(120, 3, dtype=np.float32)
        completion = unrelu.complete(X, 3, method=solver, rng=1)
        assert completion.verdict.converged, completion.verdict
        assert completion.factor.dtype == completion.matrix().dtype == completion.filled().dtype == np.float32
        assert error(completion, M) < 1e-3

    def test_asymmetric_noise(self, solver):
        M, X = relu_instance(120, 3, sigma=0.01)
        assert not np.array_equal(np.isnan(X), np.isnan(X).T)
        completion = unrelu.complete(X, 3, method=solver, rng=1)
        assert completion.verdict.converged, completion.verdict
        assert error(completion, M) < 0.02

    @pytest.mark.parametrize(("threshold", "seen"), [(0.1, "above"), (0.6, "below")])
    def test_other_thresholds_sides_and_unknown_entries(self, solver, threshold, seen):
        M, _ = relu_instance(120, 3, seed=3)
        X = unrelu._old.data.sampling.thresholded(M, threshold, seen)
        unknown = np.random.default_rng(0).random(X.shape) < 0.05
        X[unknown] = np.nan
        completion = unrelu.complete(
            X, 3, method=solver, threshold=threshold, seen=seen, unknown=unknown, start="tailored", rng=1
        )
        if solver.name == "admm":  # nuclear-norm minimisation knows nothing of the threshold and is only near
            assert error(completion, M) < 0.2
        else:
            assert completion.verdict.converged, completion.verdict
            assert error(completion, M) < 1e-5

    def test_both_stopping_rules_and_no_third(self, solver):
        _, X = relu_instance()
        paper = dataclasses.replace(solver, stopping="paper")
        assert unrelu.complete(X, 3, method=paper, start="tailored", rng=1).verdict.converged
        with pytest.raises(unrelu.InputError, match="unknown stopping of"):
            dataclasses.replace(solver, stopping="never")

    def test_two_factors_come_with_the_nearest_psd_matrix(self, solver):
        _, X = relu_instance(sigma=0.05)
        completion = unrelu.complete(X, 3, method=solver, rng=1, max_iter=100)
        if completion.left is None:
            assert completion.apart == 0
            return
        own, psd = completion.left @ completion.right.T, completion.matrix()
        assert completion.apart == pytest.approx(np.linalg.norm(own - psd) / np.linalg.norm(psd), rel=1e-6, abs=1e-12)
        values, vectors = np.linalg.eigh((own + own.T) / 2)
        nearest = vectors[:, -3:] * np.maximum(values[-3:], 0) @ vectors[:, -3:].T
        np.testing.assert_allclose(psd, nearest, atol=1e-8 * np.abs(psd).max())

    def test_ctrl_c_returns_the_best_point_so_far(self, solver):
        _, X = relu_instance()

        def interrupt(record):
            if record.iteration == 2:
                raise KeyboardInterrupt

        completion = unrelu.complete(X, 3, method=solver, rng=1, callback=interrupt, tol=0)
        assert completion.verdict.code is Stop.INTERRUPTED
        assert completion.history[completion.iteration].objective == min(r.objective for r in completion.history)
        assert "best point so far" in completion.verdict.reason

    def test_callback_stops_on_true_only(self, solver):
        _, X = relu_instance()
        seen = []
        completion = unrelu.complete(
            X, 3, method=solver, rng=1, tol=0, callback=lambda r: seen.append(r) or np.bool_(r.iteration == 1)
        )
        assert completion.verdict.code is Stop.CALLBACK
        assert [record.iteration for record in seen] == [0, 1]


@pytest.mark.parametrize("solver", [unrelu.GaussNewton(), unrelu.GradientDescent()], ids=label)
def test_a_fixed_point_is_left_alone(solver):
    _, X = relu_instance()
    completion = unrelu.complete(X, 3, method=solver, rng=1)
    again = unrelu.complete(X, 3, method=solver, start=completion)
    assert again.history[-1].iteration == 0
    assert again.factor.tobytes() == completion.factor.tobytes()


@pytest.mark.parametrize("loss", ["observed", "one-sided"])
@pytest.mark.parametrize("seed", range(5))
def test_gauss_newton_never_lets_the_objective_rise(loss, seed):
    _, X = relu_instance(n=60, rank=6, seed=seed, sigma=0.3)
    completion = unrelu.complete(X, 6, loss=loss, start="random-spectral", rng=seed, max_iter=200)
    values = completion.history.column("objective")
    assert len(values) > 5
    # Beyond rounding of the sum itself.
    assert np.all(np.diff(values) <= 1e-13 * values[:-1])


def test_gradient_descent_takes_the_step_it_is_told():
    _, X = relu_instance()
    start = np.random.default_rng(0).standard_normal((80, 3))
    first = unrelu.complete(X, 3, method=unrelu.GradientDescent(step_size=1e-3), start=start, max_iter=1, tol=0)
    Z = np.where(np.isnan(X), 0, start @ start.T - X)
    np.testing.assert_allclose(first.factor, start - 1e-3 * 0.5 * (Z + Z.T) @ start, rtol=1e-12, atol=1e-12)


def test_gradient_descent_that_diverges_says_so_and_returns_the_best_point():
    _, X = relu_instance()
    completion = unrelu.complete(X, 3, method=unrelu.GradientDescent(step_size=1.0), rng=1)
    assert completion.verdict.code is Stop.DIVERGED
    assert "shorter step" in completion.verdict.reason
    assert np.isfinite(completion.factor).all()
    assert completion.objective == completion.history.column("objective").min()


def test_default_step_is_one_over_the_larger_spectral_norm():
    _, X = relu_instance()
    completion = unrelu.complete(X, 3, method="gradient-descent", rng=1, max_iter=1)
    norm = np.linalg.norm(np.where(np.isnan(X), 0, X), 2)
    start = np.linalg.norm(unrelu.complete(X, 3, rng=1, max_iter=0, start="tailored").factor, 2) ** 2
    assert completion.history[0].details["step"] == pytest.approx(1 / max(norm, start), rel=1e-2)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: unrelu.GradientDescent(step_size=0),
            "step_size of gradient-descent must be a finite positive number, got 0",
        ),
        (lambda: unrelu.GaussNewton(forcing=1.0), "must satisfy 0 < tightest ≤ forcing < 1, got forcing=1.0"),
        (lambda: unrelu.GaussNewton(max_inner=0), "max_inner of gauss-newton must be an integer ≥ 1, got 0"),
    ],
)
def test_parameters_out_of_range_name_the_range(make, text):
    with pytest.raises(unrelu.InputError, match=text):
        make()


@pytest.mark.parametrize(("tilt", "lower"), [(-0.5, 3), (0.5, 1)])
def test_quartic_takes_the_lower_of_two_minima(tilt, lower):
    """(t − 1)²(t − 3)² + tilt·t has minima near 1 and 3, and the tilt decides which is lower."""
    coefficients = np.polynomial.polynomial.polyfromroots([1, 1, 3, 3]) + np.array([0, tilt, 0, 0, 0])
    grid = np.linspace(0, 6, 100_001)
    values = np.polyval(coefficients[::-1], grid)
    minima = grid[1:-1][(values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])]
    assert len(minima) == 2
    assert minimise_quartic(coefficients) == pytest.approx(grid[np.argmin(values)], abs=1e-4)
    assert minimise_quartic(coefficients) == pytest.approx(lower, abs=0.1)


def reached_by_gradient_descent(seeds, starts):
    """How many of the planted matrices of the paper's table gradient descent reaches from each start."""
    reached = dict.fromkeys(starts, 0)
    for seed in seeds:
        M, X = relu_instance(200, 5, seed)
        for start in starts:
            tol, most = (1e-13, 5000) if start == "tailored" else (1e-9, 1500)
            completion = unrelu.complete(X, 5, method="gradient-descent", start=start, rng=seed, tol=tol, max_iter=most)
            reached[start] += error(completion, M) < 1e-9 if start == "tailored" else error(completion, M) < 1e-6
    return reached


def test_paper_gradient_descent_from_the_tailored_start_recovers_a_few_seeds():
    assert reached_by_gradient_descent(range(4), ["tailored"]) == {"tailored": 4}


@pytest.mark.slow
def test_paper_gradient_descent_from_the_tailored_start_recovers_every_seed():
    """n=200, r=5, σ=0: the table of the paper, 20 seeds."""
    reached = reached_by_gradient_descent(range(20), ["tailored", "random-imputation", "random-spectral"])
    assert reached["tailored"] == 20
    assert reached["random-imputation"] <= 8
    assert reached["random-spectral"] <= 8


@pytest.mark.parametrize(("rank", "seeds"), [(5, 3), (45, 3), (57, 1)])
def test_auto_recovers_far_past_the_ranks_of_the_paper(rank, seeds):
    for seed in range(seeds):
        M, X = relu_instance(200, rank, seed)
        assert error(unrelu.complete(X, rank, rng=seed), M) < RECOVERED


def test_high_ranks_do_not_need_absence():
    """The paper's own loss recovers them as well: it is the solver that makes high ranks work."""
    M, X = relu_instance(200, 55)
    completion = unrelu.complete(X, 55, method="gauss-newton", start="tailored", loss="observed", rng=0)
    assert error(completion, M) < RECOVERED


@pytest.mark.slow
@pytest.mark.parametrize("rank", [5, 15, 25, 35, 45, 50, 55, 57])
def test_auto_recovers_in_19_of_20_at_every_rank(rank):
    good = 0
    for seed in range(20):
        M, X = relu_instance(200, rank, seed)
        good += error(unrelu.complete(X, rank, rng=seed), M) < RECOVERED
    assert good >= 19


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"direct"}))  # which needs a block of full rank
def test_zeros_are_fitted_by_every_method(method):
    if method == "sdp":
        pytest.importorskip("scs")
    completion = unrelu.complete(np.zeros((5, 5)), 1, method=method)
    assert completion.verdict.code is Stop.FITTED
    assert np.abs(completion.matrix()).max() < 1e-6
