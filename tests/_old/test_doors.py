"""What the next features come in by: a loss, a kernel, a problem with two factors, a source, a solver, from outside."""

import pickle
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import unrelu
import unrelu._old.data.observations
import unrelu._old.problems.psd
from unrelu import MaxIterations, RelativeGradientNormBelow
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.line import Quartic
from unrelu._old.loop.run import renewed, run
from unrelu._old.loop.states import PointIterate
from unrelu._old.problems.protocol import Point
from unrelu._old.problems.psd import PSDProblem


def planted(n=30, rank=2, seed=0):
    U = np.random.default_rng(seed).standard_normal((n, rank))
    return U, U @ U.T


# --- a loss ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogCosh(unrelu.Loss):
    """½ s² log cosh((x − m)/s), and ½ s² log(1 + e^{(x − τ)/s}) where the entry lies below τ."""

    scale: float = 0.1
    name = "log-cosh"

    def in_units(self, unit):
        return LogCosh(self.scale / unit)

    def seen(self, fit, value, cost, slope, curvature):
        gap = (fit - value) / self.scale
        cost[:] = self.scale**2 / 2 * (np.logaddexp(gap, -gap) - np.log(2))
        slope[:] = self.scale / 2 * np.tanh(gap)
        curvature[:] = (1 - np.tanh(gap) ** 2) / 2

    def unseen(self, fit, limits, cost, slope, curvature):
        gap = (fit - limits[1]) / self.scale
        share = 1 / (1 + np.exp(-gap))
        cost[:] = self.scale**2 / 2 * np.logaddexp(0, gap)
        slope[:] = self.scale / 2 * share
        curvature[:] = share * (1 - share) / 2


@pytest.mark.parametrize("method", ["gauss-newton", "gradient-descent"])
def test_a_loss_from_outside(method):
    _, M = planted()
    X = np.where(M >= -0.5, M, np.nan)
    X[3, 7] = X[7, 3] = 20.0  # a gross error
    options = dict(threshold=-0.5, method=method, rng=0, max_iter=3000)
    found = unrelu.complete(X, 2, loss=LogCosh(), **options)
    squares = unrelu.complete(X, 2, **options)
    assert found.loss == "log-cosh"
    assert np.median(np.abs(found.matrix() - M)) < np.median(np.abs(squares.matrix() - M)) / 2
    values = found.history.column("objective")
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    options["threshold"] = -32.0
    scaled = unrelu.complete(64 * X, 2, loss=LogCosh(6.4), **options)
    np.testing.assert_allclose(scaled.matrix(), 64 * found.matrix(), rtol=1e-6, atol=1e-4)


def test_a_loss_that_is_no_square_is_refused_by_methods_for_squares():
    with pytest.raises(unrelu.InputError, match="method 'pam' minimises observed, one-sided, not loss 'log-cosh'"):
        unrelu.complete(planted()[1], 2, threshold=None, loss=LogCosh(), method="pam")


def test_the_derivatives_of_a_loss_are_those_of_its_cost():
    rng = np.random.default_rng(0)
    _, M = planted(12)
    observations = unrelu._old.data.observations.Observations.of(np.where(M >= 0, M, np.nan))
    problem = unrelu._old.problems.psd.PSDProblem(observations, 2, LogCosh())
    U, D = rng.standard_normal((2, 12, 2))
    point = problem.evaluate(U)
    steps = np.array([1e-2, 1e-3, 1e-4])
    gaps = [abs(problem.evaluate(U + t * D).value - point.value - t * np.vdot(point.gradient, D)) for t in steps]
    assert np.polyfit(np.log(steps), np.log(gaps), 1)[0] == pytest.approx(2, abs=0.1)


@dataclass(frozen=True)
class Insensitive(unrelu.Loss):
    """½ max(|x − m| − ε, 0)²: nothing within ε costs anything."""

    width: float = 0.1
    name = "insensitive"

    def in_units(self, unit):
        return Insensitive(self.width / unit)

    def heard(self, limits):
        return unrelu.Limits()

    def seen(self, fit, value, cost, slope, curvature):
        gap = fit - value
        slope[:] = np.sign(gap) * np.maximum(np.abs(gap) - self.width, 0)
        cost[:] = slope**2 / 2
        curvature[:] = slope != 0


@pytest.mark.parametrize("method", ["auto", "gauss-newton"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_what_another_loss_calls_nothing_is_not_called_fitted(method, noise):
    _, M = planted(20)
    X = np.where(M >= 0, M + noise * np.random.default_rng(1).standard_normal(M.shape), np.nan)
    found = unrelu.complete(np.abs(X), 2, loss=Insensitive(), method=method, rng=0)
    seen = ~np.isnan(X)
    right = np.linalg.norm((found.matrix() - np.abs(X))[seen]) / np.linalg.norm(X[seen])
    assert found.residual == pytest.approx(right, rel=1e-6, abs=1e-12)
    if found.verdict.code.value == "fitted":
        np.testing.assert_allclose(found.matrix()[seen], np.abs(X)[seen], atol=1e-4)
    if method == "gauss-newton" and not noise:
        assert not found.verdict.converged
        assert not found.determined.any()


@pytest.mark.parametrize("factor", [1e-14, 0.01, 100.0, 1e8])
def test_a_verdict_does_not_hang_on_the_size_of_the_cost(factor):
    @dataclass(frozen=True)
    class Times(unrelu.Observed):
        name = "times"
        squared = False
        stiffness = factor / 2

        def seen(self, fit, value, cost, slope, curvature):
            super().seen(fit, value, cost, slope, curvature)
            for array in (cost, slope, curvature):
                array *= factor

    _, M = planted(30)
    E = 0.1 * np.random.default_rng(0).standard_normal(M.shape)
    X = np.where(M >= 0, M + E + E.T, np.nan)
    options = dict(threshold=None, method="gauss-newton", rng=0)
    found, plain = (unrelu.complete(X, 2, loss=loss, **options) for loss in (Times(), "observed"))
    assert found.residual > 0.05
    assert found.verdict.code == plain.verdict.code


class Nameless(unrelu.Loss):
    pass


class Deaf(unrelu.Loss):
    name = "deaf"

    def heard(self, limits):
        return None


class Unseeing(unrelu.Observed):
    name = "unseeing"
    squared = False
    heard = unrelu.Loss.heard
    unseen = unrelu.Loss.unseen


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (Nameless(), "Nameless must have a name"),
        (Deaf(), r"heard\(limits\) of Deaf must return Limits, got NoneType"),
        (
            Unseeing(),
            r"Unseeing must have unseen\(fit, limits, cost, slope, curvature\), or heard\(limits\) that returns",
        ),
    ],
)
def test_a_loss_that_does_not_keep_its_word_is_told_so(loss, sentence):
    with pytest.raises(unrelu.InputError, match=sentence):
        unrelu.complete(seen_part(), 2, loss=loss, method="gauss-newton")


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (dict(low=1.0, high=0.0), "low of Limits must not be above high"),
        (dict(high=np.zeros(3)), r"high of Limits must be a number, or numbers of shape .*; got shape \(3,\)"),
        (dict(high="x"), r"high of Limits must be a number.*; got 'x'"),
        (dict(low=np.nan), r"low of Limits must be a number.*; got nan"),
    ],
)
def test_limits_that_are_none_are_refused(limits, sentence):
    with pytest.raises(unrelu.InputError, match=sentence):
        unrelu.Limits(**limits)


# --- a loss that estimates something along the way ------------------------------------------------------------------


@dataclass(frozen=True)
class Gaussian(unrelu.Loss):
    """½ ((x − m)/σ)² + log σ, with σ estimated; unseen entries cost nothing."""

    sigma: float | None = None
    name = "gaussian"
    gathers = True
    power = 0.0

    def heard(self, limits):
        return unrelu.Limits()

    def in_units(self, unit):
        return Gaussian(self.sigma / unit)

    def begun(self, size):
        return Gaussian(size) if self.sigma is None else self

    def renewed(self, sums):
        squares, count = sums
        return Gaussian(self.sigma * float(np.sqrt(squares / count)))

    def seen_sums(self, fit, value, slope, curvature):
        return np.array([np.sum(slope * (fit - value)), np.sum(curvature) * self.sigma**2])

    def seen(self, fit, value, cost, slope, curvature):
        slope[:] = (fit - value) / self.sigma**2
        cost[:] = slope**2 * self.sigma**2 / 2 + np.log(self.sigma)
        curvature[:] = 1 / self.sigma**2


def estimating(noise=0.1, seed=3):
    _, M = planted(30, 2, seed)
    E = noise * np.random.default_rng(seed).standard_normal(M.shape)
    return M + (E + E.T) / np.sqrt(2)


@pytest.mark.parametrize("solver", [unrelu.GaussNewton(), unrelu.GradientDescent(step_size=1e-6)])
def test_a_loss_that_estimates_is_brought_up_to_date_by_the_problem(solver):
    X = 64 * estimating()
    problem = PSDProblem(Observations.of(X, threshold=None), 2, Gaussian())
    first = np.random.default_rng(0).standard_normal((30, 2))
    outcome = run(problem, solver, (first, first), RelativeGradientNormBelow(1e-10) | MaxIterations(60))
    U, sigma = outcome.point.factor * np.sqrt(problem.unit), outcome.point.loss.sigma
    values = outcome.history.column("objective")
    assert np.all(np.diff(values) <= 1e-9 * abs(values[0])), "neither a step nor an estimate raises F"
    if isinstance(solver, unrelu.GaussNewton):
        assert outcome.verdict.converged
        assert sigma == pytest.approx(np.sqrt(np.mean((U @ U.T - X) ** 2)), rel=1e-9)
        plain = unrelu.complete(X, 2, threshold=None, loss="observed", rng=0)
        np.testing.assert_allclose(U @ U.T, plain.matrix(), atol=1e-6)


def test_an_estimate_is_part_of_the_state():
    solver, first = unrelu.GaussNewton(), np.random.default_rng(0).standard_normal((30, 2))

    def posed():
        return PSDProblem(Observations.of(estimating(), threshold=None), 2, Gaussian())

    def stepped(problem, state):
        return renewed(problem, solver.step(problem, state))

    problem, state = renewed(begun := posed(), solver.start(begun, first, first))
    stored, sigmas = [], []
    for _ in range(6):
        stored.append(pickle.dumps(state))
        sigmas.append(state.point.loss.sigma)
        problem, state = stepped(problem, state)
    assert len(set(sigmas)) > 3, "it moved"
    for k in (0, 2, 5):
        again = pickle.loads(stored[k])
        elsewhere = posed().at(again.point)
        for _ in range(k, 6):
            elsewhere, again = stepped(elsewhere, again)
        assert again.point.loss == state.point.loss
        assert np.array_equal(again.point.factor, state.point.factor)


def test_an_estimate_that_would_raise_f_is_not_taken():
    @dataclass(frozen=True)
    class Rash(Gaussian):
        def renewed(self, sums):
            return Rash(1e6)

        def begun(self, size):
            return Rash(size)

    problem = PSDProblem(Observations.of(estimating(), threshold=None), 2, Rash())
    point = problem.evaluate(np.random.default_rng(0).standard_normal((30, 2)))
    assert problem.renewed(point) == (problem, point)


# --- a kernel -------------------------------------------------------------------------------------------------------


class PlainKernel:
    """One n×n array per symbol, for squared losses on what was seen."""

    constant, bounded = 0.0, False
    made = 0

    def __init__(self, observations, loss):
        everyone = np.arange(observations.size)
        self.mean, seen = observations.pairs(everyone, everyone)
        self.weight, self.dtype = seen * 1.0, observations.dtype
        PlainKernel.made += 1

    def evaluate(self, U):
        gap = self.weight * (U @ U.T - self.mean)
        return float((gap * gap).sum()) / 4, gap @ U, None

    def curvature(self, U, D, kept):
        return (self.weight * (U @ D.T + D @ U.T)) @ U

    def curvature_matrix(self, U, kept):
        basis = np.eye(U.size).reshape(-1, *U.shape)
        return np.array([self.curvature(U, D, kept).ravel() for D in basis]).T

    def residual_times(self, U, V):
        return (self.weight * (U @ U.T - self.mean)) @ V

    def line(self, U, D, value, slope, kept):
        T, L, Q = U @ U.T - self.mean, U @ D.T + D @ U.T, D @ D.T
        products = (L * L + 2 * T * Q, 2 * L * Q, Q * Q)
        return Quartic(np.array([value, slope, *(float((self.weight * p).sum()) / 4 for p in products)]), exact=True)

    def total(self, visit):
        whole = slice(0, len(self.mean))
        return visit(Whole(whole, whole, self.mean, (2 * self.weight).astype(np.uint8)))


@dataclass
class Whole:
    rows: slice
    cols: slice
    target: np.ndarray
    seen: np.ndarray
    absent: None = None
    index: int = 0
    diagonal: bool = True


def test_a_kernel_from_outside():
    _, M = planted()
    X = np.where(M >= 0, M, np.nan)
    before = PlainKernel.made
    found = unrelu.complete(X, 2, threshold=None, kernel=PlainKernel, rng=0)
    plain = unrelu.complete(X, 2, threshold=None, rng=0)
    assert PlainKernel.made > before
    np.testing.assert_allclose(found.matrix(), plain.matrix(), atol=1e-9)
    with pytest.raises(unrelu.InputError, match="kernel must be 'auto', or a class or function that makes a kernel"):
        unrelu.complete(X, 2, kernel=3)


# --- a problem with two factors ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TwoPoint(Point):
    """Its unknown is L above R."""

    @property
    def factors(self):
        n = len(self.factor) // 2
        return unrelu.TwoSided(self.factor[:n], self.factor[n:])


class TwoFactors:
    """¼‖(LRᵀ − M)_Ω‖² over both factors, for a square matrix that is not symmetric."""

    psd = False
    value_power, gradient_power = 2.0, 1.5

    def __init__(self, observations, rank, loss, kernel):
        everyone = np.arange(observations.size)
        values = observations.entries(everyone, everyone)
        self.seen, self.target = ~np.isnan(values), np.nan_to_num(values)
        self.observations, self.rank, self.loss = observations, rank, loss
        self.size, self.dtype, self.unit = 2 * observations.size, observations.dtype, observations.unit
        self.norm, self.scale = observations.scaled_norm, observations.norm
        self.spectral_norm = float(np.linalg.norm(self.target, 2))

    def begun(self, left, right):
        unknown = np.vstack([left, right])
        return unknown, unknown

    def relative(self, gradient_norm):
        return gradient_norm / self.norm**1.5

    def misfit(self, value):
        return float(np.sqrt(4 * value))

    def evaluate(self, W):
        L, R = np.split(W, 2)
        Z = np.where(self.seen, L @ R.T - self.target, 0) / 2
        return TwoPoint(W, float((Z * Z).sum()), np.vstack([Z @ R, Z.T @ L]))


def test_a_problem_with_two_factors_from_outside():
    rng = np.random.default_rng(1)
    L, R = rng.standard_normal((2, 40, 2))
    M = L @ R.T
    X = np.where(rng.random((40, 40)) < 0.7, M, np.nan)
    options = dict(threshold=None, problem=TwoFactors, method="gradient-descent", start="gaussian", rng=0)
    found = unrelu.complete(X, 2, truth=M, max_iter=20_000, **options)
    assert found.verdict.code.value == "fitted", found.verdict
    np.testing.assert_allclose(found.matrix(), M, atol=1e-6)
    assert not np.allclose(found.matrix(), found.matrix().T, atol=0.1)
    assert found.factors.left.shape == found.factors.right.shape == (40, 2)
    assert found.history[-1].error < 1e-6
    seen = ~np.isnan(X)
    assert np.array_equal(found.filled()[seen], X[seen])
    assert not found.determined.any()  # nobody has said what determines such a matrix
    with pytest.raises(unrelu.InputError, match="has two factors"):
        found.standard_errors(0, 1)


def test_a_problem_that_lacks_something_is_told_so():
    X = seen_part()
    with pytest.raises(
        unrelu.InputError, match=r"method 'pam' asks a problem for bands, workspace, and TwoFactors has no"
    ):
        unrelu.complete(X, 2, threshold=None, problem=TwoFactors, method="pam")
    with pytest.raises(unrelu.InputError, match=r"the front door asks .*, and dict has no psd, observations"):
        unrelu.complete(X, 2, threshold=None, problem=lambda *args: dict())


def test_another_problem_ends_when_the_time_is_over():
    options = dict(threshold=None, problem=TwoFactors, method="gradient-descent", start="gaussian", rng=0)
    found = unrelu.complete(seen_part(), 2, tol=unrelu.MaxSeconds(1e-9), **options)
    assert found.verdict.code.value == "max-seconds"
    assert found.matrix().shape == (30, 30)


# --- a source -------------------------------------------------------------------------------------------------------


class Formula(unrelu.Source):
    """u_i·u_j, of which only the non-negative ones can be seen; nothing is stored but U."""

    def __init__(self, U):
        self.U, self.shape, self.dtype = U, (len(U), len(U)), np.dtype(np.float64)

    def block(self, rows, cols):
        product = self.U[rows] @ self.U[cols].T
        return np.where(product >= 0, product, np.nan)


@pytest.mark.parametrize("method", ["auto", "gauss-newton", "pam", "direct"])
def test_a_source_from_outside(method):
    U, M = planted(40, 2)
    found = unrelu.complete(Formula(U), 2, method=method, rng=0)
    array = unrelu.complete(np.where(M >= 0, M, np.nan), 2, method=method, rng=0)
    assert found.verdict.code == array.verdict.code
    np.testing.assert_array_equal(found.matrix(), array.matrix())
    np.testing.assert_array_equal(found.determinacy, array.determinacy)


class OwnThread(Formula):
    """It may be asked by the thread that made it alone, as a database connection may."""

    def __init__(self, U):
        super().__init__(U)
        self.thread = threading.get_ident()

    def block(self, rows, cols):
        assert threading.get_ident() == self.thread
        return super().block(rows, cols)


@pytest.mark.parametrize("loss", ["observed", "censored"])
def test_a_source_is_asked_by_one_thread(loss):
    U = np.random.default_rng(0).standard_normal((600, 2))
    with threadpool_limits(limits=2, user_api="blas"):
        found = unrelu.complete(OwnThread(U), 2, loss=loss, method="gauss-newton", max_iter=2, rng=0)
        pam = unrelu.complete(OwnThread(U), 2, method="pam", max_iter=1, rng=0)
    assert found.size == pam.size == 600


def test_a_source_may_have_labels():
    U, _ = planted(4, 1)
    source = Formula(np.abs(U))
    source.labels = ("a", "b", "c", "d")
    found = unrelu.complete(source, 1, rng=0)
    assert found.entries("a", "d") == pytest.approx(abs(float(U[0, 0] * U[3, 0])))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (dict(shape=3), r"shape of Formula must be a tuple of integers such as \(200, 200\), got 3"),
        (dict(dtype=np.dtype(int)), r"dtype of Formula must be np.dtype\('float64'\) or .*, got dtype\('int64'\)"),
        (dict(dtype=np.dtype(np.float32)), r"block\(slice\(0, 2\), slice\(0, 2\)\) of Formula must be .*dtype float64"),
        (dict(block=lambda rows, cols: [[1.0]]), r"must be an array of shape \(2, 2\) and dtype float64, got list"),
        (dict(shape=(50, 50)), r"Formula gave a block of shape \(30, 30\) for the rows from 0 on of a matrix of shape"),
    ],
)
def test_a_source_that_does_not_keep_its_word_is_told_so(changes, sentence):
    source = Formula(planted()[0])
    for name, value in changes.items():
        setattr(source, name, value)
    with pytest.raises(unrelu.InputError, match=sentence):
        unrelu.complete(source, 2)


def test_a_source_is_checked_like_any_other_matrix():
    class Wrong(Formula):
        def block(self, rows, cols):
            return self.U[rows] @ self.U[cols].T

    with pytest.raises(unrelu.InputError, match=r"every seen entry must be ≥ threshold=0"):
        unrelu.complete(Wrong(planted()[0]), 2)


# --- a solver -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeavyBall(unrelu.Solver):
    """Gradient steps with momentum; a state holds the last step."""

    momentum: float = 0.8
    stopping: str = "relative"

    name = "heavy-ball"
    max_iter = 3000
    default_tol = {"float64": 1e-10, "float32": 1e-6}  # noqa: RUF012

    def start(self, problem, left, right):
        return Rolling(problem.evaluate(left), {}, None, np.zeros_like(left))

    def step(self, problem, state):
        point = state.point
        move = self.momentum * state.moved - 0.2 / problem.spectral_norm * point.gradient
        return Rolling(problem.evaluate(point.factor + move), {"moved": float(np.linalg.norm(move))}, None, move)


@dataclass(frozen=True, eq=False)
class Rolling(PointIterate):
    moved: np.ndarray = None


def test_a_solver_from_outside():
    _, M = planted()
    X = np.where(M >= 0, M, np.nan)
    found = unrelu.complete(X, 2, method=HeavyBall(), rng=0, truth=M)
    assert (found.method, found.verdict.code.value) == ("heavy-ball", "fitted")
    assert found.history[-1].details["moved"] < found.history[1].details["moved"]
    rows = unrelu.compare(X, 2, methods=["gauss-newton", HeavyBall(momentum=0.5)]).rows
    assert [row.method for row in rows] == ["gauss-newton", "heavy-ball (momentum=0.5)"]


# --- a strategy -------------------------------------------------------------------------------------------------------


class Patient(unrelu.Strategy):
    """Two thousand random starts, the best of which is returned; it looks neither at a clock nor at a verdict."""

    name = "patient"
    outcomes = 0

    def find(self, task):
        shape = task.problem.size, task.problem.rank
        tried = []
        for _ in range(2000):
            tried.append(task.attempt("random", task.rng.standard_normal(shape)))
            self.outcomes += 1
        return task.answer(min(tried, key=lambda outcome: outcome.point.value))


def seen_part():
    _, M = planted()
    return np.where(M >= 0, M, np.nan)


def test_a_strategy_that_looks_at_no_clock_ends_when_the_time_is_over():
    found = unrelu.complete(seen_part(), 2, method=Patient(), tol=unrelu.MaxSeconds(0.2), rng=0)
    assert found.verdict.code.value == "max-seconds"
    assert found.residual < 1
    assert found.seconds < 5


def test_a_strategy_that_looks_at_no_verdict_ends_when_the_callback_asks():
    told, strategy = [], Patient()
    found = unrelu.complete(
        seen_part(), 2, method=strategy, callback=lambda record: told.append(record) or len(told) == 5, rng=0
    )
    assert found.verdict.code.value == "callback"
    assert len(told) == 5
    assert strategy.outcomes == 1


def test_a_strategy_that_is_interrupted_keeps_its_best():
    class Stopped(Patient):
        def find(self, task):
            task.attempt("random", task.rng.standard_normal((task.problem.size, task.problem.rank)))
            raise KeyboardInterrupt

    found = unrelu.complete(seen_part(), 2, method=Stopped(), rng=0)
    assert found.verdict.code.value == "interrupted"
    assert found.residual < 1


def test_a_start_of_another_rank_is_refused():
    class Wide(Patient):
        def find(self, task):
            return task.answer(task.attempt("wide", np.ones((task.problem.size, task.problem.rank + 1))))

    @dataclass(frozen=True)
    class Wider(unrelu.Start):
        name = "wider"

        def __call__(self, observations, rank, rng):
            return np.ones((observations.size, rank + 1))

    with pytest.raises(
        unrelu.InputError, match=r"the start 'wide' must give .* \(n, rank\) = \(30, 2\), got shape \(30, 3\)"
    ):
        unrelu.complete(seen_part(), 2, method=Wide(), rng=0)
    with pytest.raises(
        unrelu.InputError, match=r"start 'wider' must give .* \(n, rank\) = \(30, 2\), got shape \(30, 3\)"
    ):
        unrelu.complete(seen_part(), 2, start=Wider(), rng=0)


def test_a_strategy_must_return_an_answer():
    class Mute(Patient):
        def find(self, task):
            return None

    with pytest.raises(unrelu.InputError, match=r"must return what task.answer\(outcome\) gives, got NoneType"):
        unrelu.complete(seen_part(), 2, method=Mute(), rng=0)


@pytest.mark.parametrize("solver", ["gauss-newton", None, unrelu.GaussNewton])
def test_auto_takes_solvers_not_names(solver):
    with pytest.raises(unrelu.InputError, match=r"solver of auto must be a Solver such as GaussNewton\(\)"):
        unrelu.Auto(solver=solver)


def test_auto_tries_the_starts_it_is_given_and_no_others():
    _, M = planted(120, 6)  # of more rank than it is completed at: more than one start is worth trying
    X = np.where(M >= 0, M, np.nan)
    options = dict(loss="one-sided", rng=0)
    found = unrelu.complete(X, 3, method=unrelu.Auto(starts=("shrinking", "tailored")), **options)
    assert {attempt.start for attempt in found.attempts} <= {"tailored", "shrinking"}
    assert unrelu.Auto(starts=("shrinking", "tailored")) == unrelu.Auto(starts=["tailored", "shrinking"])
    few = unrelu.complete(X, 3, method=unrelu.Auto(passes=1), **options)
    many = unrelu.complete(X, 3, method=unrelu.Auto(), **options)
    assert len(few.attempts) < len(many.attempts)


def test_auto_takes_no_longer_than_it_may():
    _, M = planted(60, 5)
    X = np.where(M >= 0, M + 0.5 * np.random.default_rng(0).standard_normal(M.shape), np.nan)
    found = unrelu.complete(np.abs(X), 4, method=unrelu.Auto(seconds=0.02), rng=0)
    assert found.verdict.code.value == "max-seconds"


# --- nobody outside asks a loss or a kernel what it is ----------------------------------------------------------------
