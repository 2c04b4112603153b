"""A verdict means one thing: every rule behind a code, on small problems and made-up evidence."""

from dataclasses import replace

import numpy as np
import pytest

import unrelu
from unrelu import MaxIterations, Observed, OneSided, RelativeGradientNormBelow, Stop, Verdict
from unrelu._old.auto import escalate
from unrelu._old.auto.task import Task
from unrelu._old.data import sampling
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import Floor
from unrelu._old.judge.held_out import HeldOut
from unrelu._old.judge.verdicts import Evidence, judged, verdict_on_best
from unrelu._old.loop.run import run
from unrelu._old.problems.psd import PSDProblem

pytestmark = pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")

RULE = RelativeGradientNormBelow(1e-12) | MaxIterations(300)
NOISE = Floor(1.0, 1.0, 10_000, 1e-9)  # in units, large enough for any fit here
NO_NOISE = Floor(1e-12, 1e-12, 10_000, 1e-9)
RANK = Floor(1e-12, 0.5, 10_000, 1e-9)
SILENT = Floor(None)


def gram(n, rank, seed=0, sigma=0.0):
    rng = np.random.default_rng([seed, 3])
    U = rng.standard_normal((n, rank))
    noise = sigma * rng.standard_normal((n, n))
    return U @ U.T + (noise + noise.T) / np.sqrt(2)


def fitted(M, rank, loss=None, start=None, threshold=0.0):
    """A problem, and a run that met its rule there."""
    observations = Observations.of(np.where(threshold <= M, M, np.nan), threshold=threshold)
    problem = PSDProblem(observations, rank, loss or OneSided())
    if start is None:
        start = np.linalg.eigh(M)[1][:, -rank:] * np.sqrt(np.maximum(np.linalg.eigh(M)[0][-rank:], 0.1))
    first = start / np.sqrt(problem.unit)
    outcome = run(problem, unrelu.GaussNewton(), (first, first), RULE)
    assert outcome.verdict.converged
    return problem, outcome


EXACT = fitted(gram(12, 2), 2)
ROUGH = fitted(gram(12, 2, 0, 0.1), 2)  # relative residual of some percent
FAR = fitted(np.random.default_rng(0).exponential(1, (12, 12)) ** 3, 1)


def code(case, **evidence):
    problem, outcome = case
    return verdict_on_best(problem, outcome, Evidence(("clique",), **evidence)).code


def test_fitted_to_rounding_needs_no_evidence():
    assert code(EXACT) is Stop.FITTED
    assert code(EXACT, floor=RANK, enough=True) is Stop.FITTED


def test_fitted_to_noise_needs_a_floor_that_is_reached():
    assert code(ROUGH, floor=NOISE) is Stop.FITTED_TO_NOISE
    assert code(ROUGH, floor=NO_NOISE, enough=True, agreed=True) is Stop.STATIONARY


def test_two_starts_that_agree_are_a_remark():
    problem, outcome = ROUGH
    verdict = verdict_on_best(problem, outcome, Evidence(("clique", "tailored"), NO_NOISE, agreed=True))
    assert verdict.code is Stop.STATIONARY
    assert "two starts ended at this point" in verdict.reason
    alone = verdict_on_best(problem, outcome, Evidence(("clique",), NO_NOISE))
    assert "two starts" not in alone.reason


def test_the_best_of_a_rank_needs_rank_in_the_data_and_ten_times_the_work():
    assert code(ROUGH, floor=RANK, enough=True) is Stop.BEST_OF_RANK
    assert code(ROUGH, floor=RANK, enough=False) is Stop.STATIONARY
    assert code(ROUGH, floor=NO_NOISE, enough=True) is Stop.STATIONARY
    by_pairs = HeldOut(error=1.0, next_error=0.1, noise=1.0)
    assert code(ROUGH, floor=SILENT, held_out=by_pairs, enough=True) is Stop.BEST_OF_RANK
    assert code(ROUGH, floor=SILENT, held_out=by_pairs) is Stop.STATIONARY


@pytest.mark.parametrize(
    ("held_out", "rank", "noise"),
    [
        (HeldOut(1.0, 0.8, 1.0), True, False),  # as of real matrices, whose spectrum goes on
        (HeldOut(1.0, 0.93, 1.0), False, False),
        (HeldOut(1.0, 0.99, 1.0), False, True),
        (HeldOut(2.5, 2.5, 1.0), False, True),
        (HeldOut(4.0, 4.0, 1.0), False, False),
    ],
)
def test_what_pairs_held_out_say(held_out, rank, noise):
    assert held_out.shows_rank is rank
    assert held_out.shows_noise is noise
    expected = Stop.BEST_OF_RANK if rank else Stop.FITTED_TO_NOISE if noise else Stop.STATIONARY
    assert code(ROUGH, floor=SILENT, held_out=held_out, enough=True) is expected
    assert code(ROUGH, floor=SILENT, held_out=held_out) is Stop.STATIONARY


@pytest.mark.parametrize(("n", "asked"), [(8, False), (30, True)])
def test_pairs_are_held_out_only_where_there_are_some_to_spare(n, asked):
    problem, outcome = fitted(gram(n, 2, 0, 0.1), 2)
    told = HeldOut.of(problem, outcome.point.factor, unrelu.GaussNewton(), np.random.default_rng(0))
    assert (told is not None) is asked
    assert told is None or told.shows_noise


def test_hundreds_of_starts_speak_only_where_nothing_else_does():
    assert code(ROUGH, floor=SILENT, starts=200, agreed=True) is Stop.FITTED_TO_NOISE
    assert code(ROUGH, floor=SILENT, starts=100, agreed=True) is Stop.STATIONARY
    assert code(ROUGH, floor=SILENT, starts=200) is Stop.STATIONARY  # no two of them ended alike
    assert code(ROUGH, floor=NO_NOISE, starts=200, agreed=True) is Stop.STATIONARY
    assert code(ROUGH, floor=None, starts=200, agreed=True) is Stop.STATIONARY
    strong = fitted(gram(12, 2, 0, 0.9), 2, Observed(), None, -99.0)
    assert 0.25 < np.sqrt(4 * strong[1].point.value) / strong[0].norm < 0.5
    assert code(strong, floor=SILENT, starts=200, agreed=True) is Stop.STATIONARY


def test_absence_that_was_claimed_of_entries_at_random_is_not_called_noise():
    rng = np.random.default_rng(2)
    M = np.abs(gram(8, 1))
    hidden = np.triu(rng.random((8, 8)) < 0.25, 1)
    X = np.where(hidden | hidden.T, np.nan, M)  # "below 0", which they are not
    completion = unrelu.complete(X, 1, rng=0)
    assert completion.residual < 0.5
    assert not completion.verdict.converged
    assert not completion.determined.any()


def test_a_residual_that_is_most_of_the_data_is_no_noise():
    assert code(FAR, floor=Floor(100.0, 100.0, 10_000), starts=200, agreed=True, enough=True) is Stop.STATIONARY
    assert code(FAR, floor=RANK, enough=True) is Stop.BEST_OF_RANK


def test_a_semidefinite_residual_proves_the_best_fit_and_an_indefinite_one_does_not():
    """Of uuᵀ − P with P semidefinite and Pu = 0 the best fit is uuᵀ; rank 2 of a matrix of rank 3 is not the best."""
    u, v = np.array([[1.0], [1.0], [0.0]]), np.array([[0.4], [-0.4], [0.2]])
    best = fitted(u @ u.T - v @ v.T, 1, Observed(), u, -5.0)
    assert np.sqrt(4 * best[1].point.value) / best[0].norm > 0.1
    assert code(best, floor=NO_NOISE) is Stop.FITTED_TO_NOISE
    short = fitted(gram(12, 3), 2)
    assert code(short, floor=NO_NOISE) is Stop.STATIONARY


def test_counting_comes_before_a_perfect_fit_unless_rows_were_placed():
    M = gram(6, 3)
    X = np.where(np.abs(np.subtract.outer(np.arange(6), np.arange(6))) <= 1, M, np.nan)  # 11 pairs, 15 unknowns
    problem = PSDProblem(Observations.of(X, threshold=None), 3, Observed())
    start = np.random.default_rng(0).standard_normal((6, 3))
    outcome = run(problem, unrelu.GaussNewton(), (start, start), RULE)
    assert 4 * outcome.point.value < 1e-20
    assert verdict_on_best(problem, outcome, Evidence(("tailored",))).code is Stop.UNDERDETERMINED
    assert verdict_on_best(problem, outcome, Evidence(("clique",), body=True)).code is Stop.FITTED


@pytest.mark.parametrize("end", [Stop.MAX_ITERATIONS, Stop.DIVERGED])
def test_what_cut_a_run_short_stays_its_verdict(end):
    problem, outcome = ROUGH
    cut = replace(outcome, verdict=Verdict(end, "cut"))
    assert verdict_on_best(problem, cut, Evidence(("clique",), NOISE)).code is end


def test_a_stalled_run_is_judged_by_its_fit():
    for (problem, outcome), expected in ((EXACT, Stop.FITTED), (ROUGH, Stop.STATIONARY)):
        stalled = replace(outcome, verdict=Verdict(Stop.STALLED, "no step helps"))
        assert verdict_on_best(problem, stalled, Evidence(("clique",), NO_NOISE)).code is expected


def test_a_named_method_with_a_loose_tolerance_must_be_near_an_exact_fit():
    M, solver, rng = gram(30, 2), unrelu.GradientDescent(), np.random.default_rng(0)
    problem, exact = fitted(M, 2)
    nudged = exact.point.factor * (1 + 3e-5 * np.random.default_rng(1).standard_normal(exact.point.factor.shape))
    near = replace(exact, point=problem.evaluate(nudged))
    near = replace(near, objective=near.point.value)
    said = judged(problem, near, solver, rng).verdict
    assert said.code is Stop.FITTED
    assert "to the method's tolerance" in said.reason
    # As small a misfit of data that no matrix of the rank fits.
    weak = np.random.default_rng(2).standard_normal((30, 2))
    problem, off = fitted(
        M + 2e-4 * (weak[:, :1] @ weak[:, 1:].T + weak[:, 1:] @ weak[:, :1].T), 2, Observed(), None, -99.0
    )
    assert 1e-6 < np.sqrt(4 * off.point.value) / problem.norm < 1e-3
    assert judged(problem, off, solver, rng).verdict.code is not Stop.FITTED


def test_agreement_is_within_a_thousandth():
    search = escalate._Search(None, None, past_the_limit=False)
    for values, agree in (([1.0], False), ([1.0, 1.0005], True), ([1.0, 1.01], False), ([2.0, 1.0, 1.3], False)):
        search.values = values
        assert search._agree() is agree


def test_the_lowest_of_all_attempts_is_kept(monkeypatch):
    problem, low = ROUGH
    high = replace(low, point=problem.evaluate(1.1 * low.point.factor))
    assert high.point.value > 2 * low.point.value
    monkeypatch.setattr(escalate._Search, "_at_floor", lambda self: False)
    for order in ((low, high), (high, low)):
        starts = [(str(k), lambda _, outcome=outcome: outcome) for k, outcome in enumerate(order)]
        monkeypatch.setattr(escalate._Search, "_starts", lambda self, starts=starts: iter(starts))
        task = Task(problem, unrelu.GaussNewton(), RULE, np.random.default_rng(0))
        found = escalate._Search(task, None, past_the_limit=False).found()
        assert found.outcome.point.value == low.point.value
        assert found.tried == ("0", "1")


def test_permuting_the_rows_of_a_small_matrix_changes_no_bit():
    X = sampling.relu(gram(30, 3, 2, 0.05))
    order = np.random.default_rng(0).permutation(30)
    here, there = unrelu.complete(X, 3, rng=0), unrelu.complete(X[np.ix_(order, order)], 3, rng=0)
    np.testing.assert_array_equal(here.factor[order], there.factor)


# --- the whole way ------------------------------------------------------------------------------------------------


def test_no_front_door_returns_the_code_of_a_loop():
    M = gram(40, 2)
    X = sampling.relu(M)
    for method in ("auto", "gauss-newton", "gradient-descent", "direct", "pam"):
        completion = unrelu.complete(X, 2, method=method, rng=0)
        assert completion.verdict.code is not Stop.CONVERGED, method
    assert unrelu.complete(np.zeros((5, 5)), 2).verdict.code is Stop.FITTED


def test_only_fits_are_converged_and_only_answers_are_answered():
    converged = {stop for stop in Stop if Verdict(stop, "").converged} - {Stop.CONVERGED}
    assert converged == {Stop.FITTED, Stop.FITTED_TO_NOISE, Stop.SAMPLED}
    determines = {stop for stop in Stop if Verdict(stop, "").determines} - {Stop.CONVERGED}
    assert determines == {Stop.FITTED, Stop.FITTED_TO_NOISE, Stop.BEST_OF_RANK}
    answered = {stop for stop in Stop if Verdict(stop, "").answered} - {Stop.CONVERGED}
    assert answered == determines | {Stop.PREDICTS, Stop.SAMPLED}


def correlations():
    """30 variables that follow three factors loosely: a correlation matrix of full rank, kept above 0.3."""
    rng = np.random.default_rng(5)
    Z = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 18)) + 0.8 * rng.standard_normal((60, 18))
    C = np.corrcoef(Z.T).round(3)
    return np.where(C >= 0.3, C, np.nan)


@pytest.mark.parametrize("rank", [1, 2])
def test_real_correlations_get_the_best_fit_of_their_rank_and_never_a_worse_one_than_a_part_finds(rank):
    X = correlations()
    completion = unrelu.complete(X, rank, threshold=0.3, rng=0)
    assert completion.verdict.code is Stop.BEST_OF_RANK
    assert f"the data are not of rank {rank}" in completion.verdict.reason
    lowest = min(attempt.objective for attempt in completion.attempts if attempt.start != "clique")
    assert completion.objective <= lowest * (1 + 1e-9)
    for start in ("tailored", "rank-increasing", "shrinking", "gaussian"):
        for seed in range(3):
            part = unrelu.complete(X, rank, threshold=0.3, method="gauss-newton", start=start, rng=seed)
            assert completion.objective <= part.objective * (1 + 1e-6)


def test_every_attempt_is_in_the_history():
    completion = unrelu.complete(correlations(), 2, threshold=0.3, rng=0)
    numbers = completion.history.column("attempt")
    assert set(numbers) == set(range(len(completion.attempts)))
    assert (np.diff(completion.history.column("iteration")) == 1).all()
    assert completion.history[completion.iteration].objective == pytest.approx(completion.objective, rel=1e-6)
    assert completion.summary()["tried"] == [attempt.start for attempt in completion.attempts]


def test_a_fit_above_its_floor_is_worth_dozens_of_starts():
    small = unrelu.complete(sampling.relu(gram(20, 9)), 3, rng=0)
    assert not small.verdict.converged
    assert "many at once ×2" in small.verdict.reason
    larger = unrelu.complete(sampling.relu(gram(60, 20)), 3, rng=0)
    assert not larger.verdict.converged
    assert len(larger.attempts) >= 40


def test_a_local_minimum_of_exact_data_is_left():
    """One of thirty random starts finds the exact fit; seven of the first release's did not, and it said converged."""
    rng = np.random.default_rng(1329)
    n = 8 + 1329 % 8
    U = rng.standard_normal((n, 3))
    hidden = np.triu(rng.random((n, n)) < 0.35)
    M = U @ U.T
    completion = unrelu.complete(np.where(hidden | hidden.T, np.nan, M), 3, threshold=None, rng=0)
    assert completion.verdict.code is Stop.FITTED
    rows = completion.determined
    assert rows.sum() >= 5
    assert np.abs(completion.matrix() - M)[np.ix_(rows, rows)].max() < 1e-8


def test_a_fit_above_its_floor_determines_no_row():
    M = gram(30, 3)
    stuck = unrelu.complete(sampling.relu(M), 3, method="gradient-descent", max_iter=5, rng=0)
    assert not stuck.verdict.converged
    assert not stuck.determined.any()
    assert set(stuck.determinacy) <= {"local", "no"}
    assert stuck.summary()["determined_share"] == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_permuting_the_rows_permutes_the_answer(seed):
    rng = np.random.default_rng([seed, 7])
    U = rng.standard_normal((14, 2))[rng.integers(0, 14, 14)]
    M = U @ U.T + (0.05 if seed % 2 else 0.0) * np.add(*[z := rng.standard_normal((14, 14)), z.T])
    tau = float(np.quantile(M, 0.4))
    order = rng.permutation(14)
    here = unrelu.complete(np.where(tau <= M, M, np.nan), 2, threshold=tau, rng=0)
    there = unrelu.complete(np.where(tau <= M, M, np.nan)[np.ix_(order, order)], 2, threshold=tau, rng=0)
    assert here.verdict.code == there.verdict.code
    assert here.determinacy[order].tolist() == there.determinacy.tolist()
    assert np.abs(here.matrix()[np.ix_(order, order)] - there.matrix()).max() < 1e-6


@pytest.mark.parametrize(
    ("other", "code"),
    [(gram(9, 2, 1), Stop.FITTED), (gram(9, 2, 1, 0.1), Stop.FITTED_TO_NOISE), (gram(9, 7, 1), Stop.BEST_OF_RANK)],
)
def test_a_whole_is_as_good_as_its_worst_piece(other, code):
    X = np.full((21, 21), np.nan)
    X[:12, :12], X[12:, 12:] = gram(12, 2), other
    completion = unrelu.complete(X, 2, threshold=None, rng=0)
    assert completion.verdict.code is code
    assert "falls into 2 pieces" in completion.verdict.reason


def test_absence_may_leave_one_matrix_where_counting_leaves_many():
    completion = unrelu.complete(np.array([[2.0, np.nan], [np.nan, 4.0]]), 1)
    assert completion.verdict.code is Stop.FITTED
    assert completion.matrix()[0, 1] == pytest.approx(-np.sqrt(8))
    open_ = unrelu.complete(np.array([[2.0, np.nan], [np.nan, 4.0]]), 1, threshold=None)
    assert open_.verdict.code is Stop.UNDERDETERMINED


def test_the_largest_misfit_is_named():
    M = gram(40, 2)
    X = sampling.relu(M)
    i, j = np.argwhere(~np.isnan(X) & ~np.eye(40, dtype=bool))[7]
    X[i, j] += 0.5
    completion = unrelu.complete(X, 2, method="gauss-newton", start="clique", rng=0)
    worst = completion.largest_misfit
    gap = np.abs(X - completion.matrix())
    assert worst.size == pytest.approx(np.nanmax(gap))
    assert gap[worst.row, worst.column] == pytest.approx(worst.size)
    assert completion.summary()["largest_misfit"] == {"size": worst.size, "row": worst.row, "column": worst.column}
