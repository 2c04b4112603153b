"""Every method with two factors on tables: what it recovers, in which units it says so, and what must not matter."""

import numpy as np
import pytest

import unrelu
from helpers import RECOVERED, SOLVERS, error, table_instance
from unrelu import TwoSided
from unrelu._old.auto.rectangular import TABLE_METHODS
from unrelu._old.data.table_observations import table_observations
from unrelu._old.problems.rectangular import RectangularProblem
from unrelu._old.solvers import METHODS
from unrelu._old.starts import STARTS

LOSSES = ("observed", "one-sided")
ON_TABLES = [solver for solver in SOLVERS if solver.not_for_tables is None]
TAKING = [(s, loss) for s in ON_TABLES for loss in LOSSES if s.hears_limits or loss == "observed"]
SHAPES = [(60, 40), (40, 60)]


def named(value):
    return f"{value.name} {getattr(value, 'variant', '')}".strip() if hasattr(value, "name") else str(value)


def start_for(shape, rank=3, seed=1):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((side, rank)) for side in shape)


def squares(found, X, one_sided):
    """The squared misfit of a completion of what a threshold of 0 shows, written out."""
    fit, seen = found.matrix(), ~np.isnan(X)
    return np.sum((fit - X)[seen] ** 2) + one_sided * np.sum(np.maximum(fit, 0)[~seen] ** 2)


# --- what is recovered ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("solver", "loss"), [case for case in TAKING if case[0].name != "admm"], ids=named)
def test_a_planted_table_is_recovered(solver, loss, shape):
    """As accurately as symmetric matrices are from starts that are not symmetric: 6e-8 at worst, by eBCD and PAM."""
    M, X = table_instance(*shape)
    most = 8000 if solver.name == "gradient-descent" else None
    found = unrelu.complete_rectangular(X, 3, method=solver, loss=loss, start="tailored", max_iter=most, rng=0, truth=M)
    assert (found.method, found.loss, found.verdict.code.value) == (solver.name, loss, "fitted"), found.verdict
    assert error(found, M) < 1e-7
    np.testing.assert_allclose(found.left.T @ found.left, found.right.T @ found.right, rtol=1e-6, atol=1e-6)
    assert found.history[-1].error == pytest.approx(error(found, M), rel=1e-3, abs=1e-13)
    assert len(found.history.column("error")) == len(found.history)


@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (12, 150), (150, 12)], ids=str)
@pytest.mark.parametrize("name", [name for name in TABLE_METHODS if name not in ("admm", "gradient-descent")])
def test_wide_and_tall_tables_by_the_methods_own_starts(name, shape):
    M, X = table_instance(*shape, rank=2, seed=2)
    loss = "one-sided" if METHODS[name].hears_limits else "observed"
    found = unrelu.complete_rectangular(X, 2, method=name, loss=loss, max_iter=6000, rng=0)
    assert found.verdict.code.value == "fitted", found.verdict
    assert error(found, M) < RECOVERED


@pytest.mark.parametrize("kind", ["row", "column", "entry"])
@pytest.mark.parametrize("name", ["scaled-gd", "pam", "momentum-pam"])
def test_limits_of_their_own_and_entries_missing_by_chance(name, kind):
    M, _ = table_instance()
    rng = np.random.default_rng(3)
    tau = rng.uniform(-0.6, 0.3, {"row": (60, 1), "column": (1, 40), "entry": (60, 40)}[kind])
    unknown = rng.random(M.shape) < 0.05
    X = np.where((tau <= M) & ~unknown, M, np.nan)
    options = dict(threshold=tau, unknown=unknown, loss="one-sided", start="tailored", max_iter=6000, rng=0)
    found = unrelu.complete_rectangular(X, 3, method=name, **options)
    assert found.verdict.code.value == "fitted", found.verdict
    assert error(found, M) < RECOVERED


def test_the_convex_method_finds_the_least_nuclear_norm():
    M, X = table_instance()
    chance = np.where(np.random.default_rng(0).random(M.shape) < 0.6, M, np.nan)
    found = unrelu.complete_rectangular(chance, 3, method="admm", threshold=None, truth=M)
    assert found.verdict.code.value == "fitted", found.verdict
    assert error(found, M) < RECOVERED
    planted = np.linalg.svd(M, compute_uv=False).sum()
    assert found.history.column("nuclear_norm")[-1] == pytest.approx(planted, rel=1e-6)
    # Entries that are unseen because they are low are no random ones: a matrix of more rank has a smaller norm.
    found = unrelu.complete_rectangular(X, 3, method="admm", max_iter=4000)
    assert found.history.column("nuclear_norm")[-1] < planted
    assert found.history.column("rank")[-1] > 3
    assert not found.verdict.converged  # cut down to rank 3 it does not fit
    assert found.apart > 1e-3
    assert found.factor.shape == (100, 3)


def test_the_ball_of_the_convex_method_is_that_of_the_table():
    M, _ = table_instance()
    rng = np.random.default_rng(0)
    X = np.where(rng.random(M.shape) < 0.6, M + 0.05 * rng.standard_normal(M.shape), np.nan)
    found = unrelu.complete_rectangular(X, 3, method=unrelu.ADMM(sigma=0.05), threshold=None, tol=1e-6)
    delta = 0.05**2 * np.sum(~np.isnan(X))
    assert found.history[-1].objective == pytest.approx(delta / 2, rel=1e-3)


def test_what_has_more_rank_is_cut_down_to_the_nearest_of_the_rank_and_balanced():
    _, X = table_instance(8, 6)
    problem = RectangularProblem(table_observations(X), 3)
    rng = np.random.default_rng(0)
    L, R = 10 * rng.standard_normal((8, 5)), 0.1 * rng.standard_normal((6, 5))
    point, apart = problem.finished(TwoSided(L, R))
    left, values, right = np.linalg.svd(L @ R.T)
    expected = left[:, :3] * values[:3] @ right[:3]
    np.testing.assert_allclose(point.factors.dense(), expected, atol=1e-12)
    assert apart == pytest.approx(np.linalg.norm(values[3:]) / np.linalg.norm(values[:3]))
    grams = [side.T @ side for side in (point.factors.left, point.factors.right)]
    np.testing.assert_allclose(grams, [np.diag(values[:3])] * 2, atol=1e-12)
    point, apart = problem.finished(TwoSided(L[:, :2], R[:, :2]))
    np.testing.assert_allclose(point.factors.dense(), L[:, :2] @ R[:, :2].T, atol=1e-12)
    assert point.factor.shape == (14, 3)
    assert apart == 0
    assert problem.finished(TwoSided(0 * L, 0 * R))[1] == 0


# --- units ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", TAKING, ids=lambda case: f"{named(case[0])} {case[1]}")
def test_objective_and_residual_mean_the_same_for_all(case):
    """F = ½‖(LRᵀ − M)_Ω‖², with what the loss adds, whoever minimises it."""
    solver, loss = case
    M, X = table_instance(sigma=0.3)
    found = unrelu.complete_rectangular(
        X, 3, method=solver, loss=loss, start=start_for(X.shape), max_iter=6, truth=M, tol=0.0
    )
    off = squares(found, X, loss == "one-sided")
    assert found.objective == pytest.approx(off / 2, rel=1e-9)
    assert found.residual == pytest.approx(np.sqrt(off) / np.linalg.norm(X[~np.isnan(X)]), rel=1e-9)
    if solver.name != "admm":  # whose own estimate may have more rank
        record = found.history[found.iteration]
        assert record.objective == pytest.approx(off / 2, rel=1e-9)
        assert record.error == pytest.approx(error(found, M), rel=1e-9)
        for name in ("misfit", "residual"):
            assert record.details.get(name, np.sqrt(off)) == pytest.approx(np.sqrt(off), rel=1e-9)


@pytest.mark.parametrize("solver", [unrelu.ScaledGD(), unrelu.GNMR()], ids=named)
def test_the_gradient_is_that_of_f(solver):
    _, X = table_instance(sigma=0.3)
    start = start_for(X.shape)
    two, one = (
        unrelu.complete_rectangular(X, 3, method=method, loss="observed", start=start, max_iter=0)
        for method in (solver, "gauss-newton")
    )
    assert two.history[0].gradient_norm == pytest.approx(one.history[0].gradient_norm, rel=1e-9)
    assert two.history[0].relative_gradient_norm == pytest.approx(one.history[0].relative_gradient_norm, rel=1e-9)
    assert two.history[0].objective == pytest.approx(one.history[0].objective, rel=1e-9)


def test_rules_are_relative_to_the_table():
    _, X = table_instance(sigma=0.3)
    size = np.linalg.norm(X[~np.isnan(X)])
    found = unrelu.complete_rectangular(X, 3, method="pam", start="tailored", tol=1e-3)
    change = found.history.column("change")
    assert change[-1] <= 1e-3 * size < change[-2]
    assert RectangularProblem(table_observations(X), 3).scale == pytest.approx(size)


@pytest.mark.parametrize("solver", ON_TABLES, ids=named)
def test_scaling_the_table_scales_the_answer(solver):
    M, X = table_instance(sigma=0.1)
    one, two = (
        unrelu.complete_rectangular(factor * X, 3, method=solver, max_iter=8, rng=0, truth=factor * M)
        for factor in (1.0, 4.0**5)
    )
    np.testing.assert_array_equal(two.matrix(), 4.0**5 * one.matrix())
    np.testing.assert_array_equal(two.history.column("error"), one.history.column("error"))
    assert two.objective == 4.0**10 * one.objective


# --- what must not matter -------------------------------------------------------------------------------------------

# These update both factors alike; the others one after the other, and only their answers can be compared.
ALIKE = ("gauss-newton", "gradient-descent", "scaled-gd", "pam", "gnmr", "admm")


@pytest.mark.parametrize("solver", [solver for solver in ON_TABLES if solver.name in ALIKE], ids=named)
def test_transposing_transposes_every_iterate(solver):
    M, X = table_instance(sigma=0.3)
    L, R = start_for(X.shape)
    options = dict(method=solver, max_iter=10, tol=0.0)
    one = unrelu.complete_rectangular(X, 3, start=(L, R), truth=M, **options)
    two = unrelu.complete_rectangular(X.T.copy(), 3, start=(R, L), truth=M.T.copy(), **options)
    np.testing.assert_allclose(two.history.column("objective"), one.history.column("objective"), rtol=1e-6)
    np.testing.assert_allclose(two.history.column("error"), one.history.column("error"), rtol=1e-6)
    np.testing.assert_allclose(two.matrix(), one.matrix().T, atol=1e-6)


@pytest.mark.parametrize("variant", ["3b", "adaptive", "ebcd"])
def test_transposing_transposes_the_answer(variant):
    _, X = table_instance(sigma=0.1)
    options = dict(method=unrelu.MomentumPAM(variant), start="tailored", tol=1e-13, max_iter=5000, rng=0)
    one, two = (unrelu.complete_rectangular(table, 3, **options) for table in (X, X.T.copy()))
    assert two.objective == pytest.approx(one.objective, rel=1e-9)
    np.testing.assert_allclose(two.matrix(), one.matrix().T, atol=1e-4)


@pytest.mark.parametrize("solver", ON_TABLES, ids=named)
def test_permuting_rows_and_columns_permutes_the_answer(solver):
    _, X = table_instance(sigma=0.3)
    L, R = start_for(X.shape)
    rng = np.random.default_rng(5)
    rows, cols = rng.permutation(60), rng.permutation(40)
    options = dict(method=solver, max_iter=10, tol=0.0)
    one = unrelu.complete_rectangular(X, 3, start=(L, R), **options)
    two = unrelu.complete_rectangular(X[np.ix_(rows, cols)], 3, start=(L[rows], R[cols]), **options)
    np.testing.assert_allclose(two.history.column("objective"), one.history.column("objective"), rtol=1e-6)
    np.testing.assert_allclose(two.matrix(), one.matrix()[np.ix_(rows, cols)], atol=1e-6)


@pytest.mark.parametrize("solver", [*ON_TABLES, unrelu.Direct()], ids=named)
def test_float32_stays_float32(solver):
    M, X = table_instance(dtype=np.float32)
    start = {} if solver.name == "direct" else {"start": "tailored"}
    found = unrelu.complete_rectangular(X, 3, method=solver, max_iter=2000, rng=0, **start)
    assert found.matrix().dtype == found.left.dtype == np.float32
    assert solver.name == "admm" or error(found, M) < 1e-3


@pytest.mark.parametrize("solver", [*ON_TABLES, unrelu.Direct()], ids=named)
def test_the_same_seed_gives_the_same_answer_and_the_data_stay(solver):
    _, X = table_instance()
    before = X.copy()
    one, two = (unrelu.complete_rectangular(X, 3, method=solver, max_iter=5, rng=3) for _ in range(2))
    np.testing.assert_array_equal(one.factor, two.factor)
    np.testing.assert_array_equal(X, before)


# --- how a run ends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ON_TABLES, ids=named)
def test_a_run_may_be_ended(solver):
    M, X = table_instance(sigma=0.1)

    def interrupted(record):
        if record.iteration == 4:
            raise KeyboardInterrupt

    ends = {
        "max-iterations": dict(max_iter=4),
        "callback": dict(callback=lambda record: record.iteration == 4),
        "interrupted": dict(callback=interrupted),
    }
    for code, how in ends.items():
        found = unrelu.complete_rectangular(X, 3, method=solver, tol=0.0, rng=0, truth=M, **how)
        assert found.verdict.code.value == code
        assert len(found.history) == 5
        assert np.isfinite(found.history.column("error")).all()
        assert found.shape == (60, 40)


# --- what callers bring ---------------------------------------------------------------------------------------------


def test_a_pair_of_factors_or_an_earlier_completion_is_a_start():
    _, X = table_instance()
    L, R = start_for(X.shape)
    first = unrelu.complete_rectangular(X, 3, method="pam", start=(L, R), max_iter=3, tol=0.0)
    assert first.start == "a given factor"
    off = np.where(np.isnan(X), np.maximum(L @ R.T, 0), L @ R.T - np.nan_to_num(X))
    assert first.history[0].objective == pytest.approx(np.sum(off**2) / 2)
    later = unrelu.complete_rectangular(X, 3, method="gauss-newton", start=first, loss="one-sided")
    assert later.start == "an earlier completion"
    assert later.history[0].objective == pytest.approx(first.objective)


def test_a_function_returns_both_factors():
    M, X = table_instance(30, 20)

    def told(problem):
        left, values, right = np.linalg.svd(M / problem.unit, full_matrices=False)
        return TwoSided(left[:, :3] * values[:3], right[:3].T)

    def wrong(problem):
        return TwoSided(np.ones((30, 3)), np.ones((30, 3)))

    found = unrelu.complete_rectangular(X, 3, method=told)
    assert (found.method, found.verdict.code.value) == ("told", "fitted")
    np.testing.assert_allclose(found.matrix(), M, atol=1e-10)
    with pytest.raises(
        unrelu.InputError, match=r"method 'wrong' must return finite real factors of shape \(20, 3\), got"
    ):
        unrelu.complete_rectangular(X, 3, method=wrong)


def test_direct_completes_what_it_cannot_place():
    M, X = table_instance(20, 15, 2)
    X[0], X[:, 1] = np.nan, np.nan
    X[0, 3], M[0, 3] = 2.0, 2.0  # one entry is too few for two numbers
    with pytest.warns(unrelu.CompletionWarning, match="nothing was seen of column 1"):
        found = unrelu.complete_rectangular(X, 2, method="direct", loss="observed")
    assert found.history[0].details["placed"] == 33
    assert found.matrix()[0, 3] == pytest.approx(2.0)
    np.testing.assert_allclose(np.delete(found.matrix(), 1, 1)[1:], np.delete(M, 1, 1)[1:], atol=1e-8)
    np.testing.assert_array_equal(found.matrix()[:, 1], 0)  # nothing was seen of it


def test_direct_says_how_far_the_table_is_off():
    _, X = table_instance(sigma=0.01)
    found = unrelu.complete_rectangular(X, 3, method="direct", loss="observed")
    off, size = np.sqrt(squares(found, X, False)), np.linalg.norm(X[~np.isnan(X)])
    assert found.history[-1].details["residual"] == pytest.approx(off, rel=1e-9)
    assert f"leave a relative residual of {off / size:.2g}: noise" in found.verdict.reason
    for tol, code in ((1.01 * off / size, True), (0.99 * off / size, False)):
        again = unrelu.complete_rectangular(X, 3, method="direct", loss="observed", tol=tol)
        assert ("is at most" in again.verdict.reason) == code


def test_what_is_accepted_is_said():
    _, X = table_instance()
    assert set(TABLE_METHODS) == set(METHODS) - {"sdp"}
    others = "use auto, gauss-newton, direct, gradient-descent, scaled-gd, pam, momentum-pam, gnmr or admm"
    for method, text in (
        ("sdp", "method 'sdp' is not for tables: it looks for a positive semidefinite matrix, which a table is not"),
        (unrelu.Auto(solver=unrelu.SDP()), "method 'sdp' is not for tables"),
        (unrelu.ScaledGD(symmetric=True), "not for tables: with symmetric=True it has one factor, and a table has two"),
    ):
        with pytest.raises(unrelu.InputError) as caught:
            unrelu.complete_rectangular(X, 3, method=method)
        assert text in str(caught.value)
        assert str(caught.value).endswith(others)
    with pytest.raises(unrelu.InputError) as caught:
        unrelu.complete_rectangular(X, 3, method="pamm")
    assert "unknown method 'pamm'; did you mean 'pam'?" in str(caught.value)
    assert "sdp" not in str(caught.value)
    with pytest.raises(unrelu.InputError, match="method 'gnmr' minimises observed, not loss 'one-sided'"):
        unrelu.complete_rectangular(X, 3, method="gnmr", loss="one-sided")
    with pytest.raises(
        unrelu.InputError, match=r"pair \(L, R\) of arrays of shapes \(60, 3\) and \(40, 3\), got \(60, 2\)"
    ):
        unrelu.complete_rectangular(X, 3, method="pam", start=(np.ones((60, 2)), np.ones((40, 3))))


# --- starts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["random-fill", "gaussian", "spectral"])
def test_starts_have_the_size_of_the_table(name):
    """Where everything was seen the spectral start and the fill are the table itself."""
    M, _ = table_instance(200, 20)
    observations = table_observations(M, threshold=None)
    U = STARTS[name]()(observations, 3, np.random.default_rng(0))
    assert U.shape == (220, 3)
    if name == "gaussian":
        assert 0.7 < np.linalg.norm(U[:200] @ U[200:].T) / np.linalg.norm(M) < 1.4
    else:
        np.testing.assert_allclose(U[:200] @ U[200:].T, M, atol=1e-9 * np.abs(M).max())
