"""Rules on the way to an answer that could be loosened unseen: order, starts, what is kept."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import unrelu
from soak.catalogue import drawn
from unrelu import MaxIterations, Observed, Stop, Verdict
from unrelu._old.auto import escalate
from unrelu._old.auto.task import Attempt, Plan, Task
from unrelu._old.base.budget import OutOfTime, budget, checkpoint, phase
from unrelu._old.data.canonical import canonical_order
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import Floor
from unrelu._old.judge.held_out import HeldOut
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.results.made import _settled_by_absence

pytestmark = pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")


@pytest.mark.parametrize("diagonal", [5.0, np.nan])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]])
def test_rows_alike_in_their_least_values_are_told_apart_by_the_others(order, diagonal):
    """Every row has this diagonal, a 1 and a 2; rows 0 and 2 see a 7, rows 1 and 3 an 8."""
    X = np.array([[0.0, 1, 7, 2], [1, 0, 2, 8], [7, 2, 0, 1], [2, 8, 1, 0]])
    np.fill_diagonal(X, diagonal)
    found = canonical_order(Observations.of(X[np.ix_(order, order)], threshold=None))
    assert {order[k] for k in found[:2]} == {0, 2}


# --- one clock -----------------------------------------------------------------------------------------------------


def test_a_budget_within_a_budget_may_end_earlier():
    with budget(seconds=3600), budget(seconds=0.0) as inner:
        assert inner.over
        with pytest.raises(OutOfTime):
            checkpoint()


def test_who_listens_to_a_call_hears_of_the_calls_within_it():
    heard = []
    with budget(told=heard.append):
        with budget(seconds=3600):
            phase("inside")
        with budget(told=lambda _: None):
            phase("told somebody else")
    assert heard == ["inside"]


# --- what a completion says of itself --------------------------------------------------------------------------------


@pytest.mark.parametrize(("residual", "at_floor"), [(1e-10, True), (1e-8, False)])
def test_one_of_many_fits_is_at_its_floor_only_if_it_is_exact(residual, at_floor):
    open_ = unrelu.complete(np.array([[2.0, np.nan], [np.nan, 4.0]]), 1, threshold=None)
    assert open_.verdict.code is Stop.UNDERDETERMINED
    assert replace(open_, residual=residual).at_floor is at_floor


def test_what_was_found_of_the_rows_is_not_kept_if_the_fit_is_no_longer_the_answer():
    U = np.random.default_rng(0).standard_normal((8, 2))
    completion = unrelu.complete(U @ U.T, 2, threshold=None, rng=0)
    assert completion.determined.all()
    above = completion.with_verdict(Verdict(Stop.STATIONARY, "no answer"), np.arange(0))
    assert not above.determined.any()
    assert completion.with_verdict(completion.verdict, np.arange(0)).determined.all()


def test_data_that_changed_are_refused_though_as_many_were_seen():
    X = np.array([[1.0, 2, np.nan], [2, 4, 6], [np.nan, 6, 9]])
    completion = unrelu.complete(X, 1, threshold=None, rng=0)
    X[0, 1] = X[1, 0] = 2.5
    with pytest.raises(unrelu.InputError, match="has changed since it was completed"):
        completion.filled()


def test_above_its_floor_no_share_is_determined_even_without_the_data():
    U = np.random.default_rng(0).standard_normal((8, 2))
    loaded = replace(unrelu.complete(U @ U.T, 2, threshold=None, rng=0), source=None)
    assert loaded.determined_share is None
    assert replace(loaded, verdict=Verdict(Stop.STATIONARY, "no answer")).determined_share == 0.0


# --- pieces ----------------------------------------------------------------------------------------------------------


def test_pieces_that_nearly_fit_together_are_turned_in_another_order():
    """In the first order they leave 8e-7 on entries that each piece alone meets. Drawn by the soak, which found it."""
    instance = drawn("nearly-repeated-rows:11000:20")
    assert unrelu.complete(instance.data, rng=0, **instance.options).residual < 1e-12


def test_that_the_largest_piece_is_open_is_news():
    """Six rows in a chain at rank 3, 11 pairs for 15 numbers, beside four rows that were seen in full."""
    U = np.random.default_rng(0).standard_normal((10, 3))
    near = np.abs(np.subtract.outer(np.arange(10), np.arange(10))) <= 1
    near[:6, 6:] = near[6:, :6] = False
    near[6:, 6:] = True
    completion = unrelu.complete(np.where(near, U @ U.T, np.nan), 3, threshold=None, rng=0)
    assert completion.verdict.code is Stop.UNDERDETERMINED


# --- what an interrupt would leave -----------------------------------------------------------------------------------


def test_a_part_that_fits_is_judged_by_the_whole():
    """Rows 0 and 1 fit exactly with the others at zero: that is no better than all rows nearly right."""
    U = np.ones((4, 1))
    problem = PSDProblem(Observations.of(U @ U.T, threshold=None), 1, Observed())
    task = Task(problem, unrelu.GaussNewton(), MaxIterations(1), np.random.default_rng(0))
    task.offer("whole", problem.evaluate(1.01 * U))
    part = task.within(np.array([0, 1]))
    part.offer("part", part.problem.evaluate(U[:2]))
    assert task.journal.start == "whole"
    assert task.journal.value == pytest.approx(16 * (1.01**2 - 1) ** 2 / 4)


def test_a_caller_who_stops_one_start_wants_no_other():
    """Entries at random, half of them seen: every start would have to walk."""
    some = np.triu(np.random.default_rng(0).uniform(-1, 1, (16, 16)))
    X = some + np.triu(some, 1).T
    calls = []
    completion = unrelu.complete(np.where(X > 0, X, np.nan), 2, rng=0, callback=lambda _: calls.append(1) or True)
    assert completion.verdict.code is Stop.CALLBACK
    assert len(calls) == 1


def test_an_objective_that_json_cannot_say_was_infinite():
    assert Attempt.read({"start": "random", "objective": None, "code": Stop.DIVERGED.value}).objective == np.inf


# --- what the rows say of the verdict --------------------------------------------------------------------------------


def test_two_bodies_that_are_proved_apart_do_not_make_one_matrix():
    """Two blocks of three rows at rank 3 with one entry between them, which leaves most turns: 13 pairs, 15 numbers."""
    U = np.random.default_rng(0).standard_normal((6, 3))
    X = U @ U.T
    X[:3, 3:] = X[3:, :3] = np.nan
    X[0, 3] = X[3, 0] = U[0] @ U[3]
    completion = unrelu.complete(X, 3, threshold=None, rng=0)
    assert set(completion.determinacy) == {"proved"}
    assert set(completion.components) == {0, 1}
    counted = replace(completion, verdict=Verdict(Stop.UNDERDETERMINED, "13 pairs for 15 numbers"))
    assert _settled_by_absence(counted).verdict.code is Stop.UNDERDETERMINED


def test_the_residual_of_two_factors_is_not_that_of_the_matrix():
    """L and R fit exactly; U, which is that of the nearest semidefinite matrix, is off by a millionth."""
    U = np.random.default_rng(0).standard_normal((8, 2))
    one = unrelu.complete(U @ U.T, 2, threshold=None, rng=0)
    assert set(one.determinacy) == {"proved"}
    two = replace(one, factor=one.factor * (1 + 1e-6), left=one.factor, right=one.factor)
    assert set(two.determinacy) == {"generic"}


# --- how much is tried before a fit above its floor is called anything -----------------------------------------------


def search(size, passes, tried=(), **known):
    """What would have been tried on a problem of this size, and how many passes over the matrix each start took."""
    task = SimpleNamespace(problem=SimpleNamespace(size=size, rank=1), solver=None, rng=None, plan=Plan())
    names = list(tried) or ["random"] * len(passes)
    return escalate._Search(task, None, tried=names, passes=list(passes), **{"past_the_limit": False, **known})


@pytest.mark.parametrize(("size", "passes", "enough"), [(200, [10, 99], False), (200, [10, 100], True)])
def test_further_starts_are_worth_ten_times_the_first(size, passes, enough):
    assert search(size, passes)._ten_times() is enough
    assert search(size, passes)._tried_enough() is enough


@pytest.mark.parametrize(("starts", "enough"), [(39, False), (40, True)])
def test_of_a_small_matrix_forty_starts_are_tried_whatever_they_cost(starts, enough):
    assert search(100, [1e4] * starts)._ten_times() is enough
    assert search(100, [1e4] * starts)._tried_enough() is enough
    assert search(101, [1e4] * starts)._tried_enough()


@pytest.mark.parametrize(("passes", "enough"), [([1e4, 9e3], False), ([1e4, 1.1e4], True)])
def test_a_large_matrix_is_passed_over_twenty_thousand_times_at_most(passes, enough):
    assert search(200, passes)._tried_enough() is enough
    assert not search(200, passes)._ten_times()


@pytest.mark.parametrize(("times", "enough"), [(1, False), (2, True)])
def test_many_starts_at_once_are_tried_twice(times, enough):
    tried = ["tailored", *[escalate.MANY] * times]
    assert search(12, [10] + [5] * times, tried)._ten_times() is enough


@pytest.mark.parametrize(
    ("floor", "passes", "past", "asked"),
    [
        (Floor(None), [10, 100], False, True),
        (Floor(0.1, 0.1, 100), [10, 100], False, False),  # blocks have said it
        (Floor(None), [10, 99], False, False),  # the fit may not be the best yet
        (Floor(None), [10, 100], True, False),  # any pair can be fitted
        (None, [10, 100], False, False),  # blocks were not asked, for the fit is exact
    ],
)
def test_pairs_are_held_out_only_where_blocks_say_nothing_and_enough_was_tried(monkeypatch, floor, passes, past, asked):
    monkeypatch.setattr(HeldOut, "of", lambda *_: "asked")
    best = SimpleNamespace(point=SimpleNamespace(factor=None))
    found = search(200, passes, floor=floor, best=best, past_the_limit=past)._held_out()
    assert (found == "asked") is asked


@pytest.mark.parametrize(("size", "residual", "ended"), [(6, 1e-11, True), (6, 1e-8, False), (101, 1e-8, True)])
def test_of_a_small_matrix_a_few_digits_are_not_all(size, residual, ended):
    """Blocks say nothing here; other starts of a small matrix are cheaper than a wrong answer."""
    U = np.ones((size, 1))
    problem = PSDProblem(Observations.of(U @ U.T, threshold=None), 1, Observed())
    best = SimpleNamespace(point=problem.evaluate(np.sqrt(1 + residual) * U))
    task = Task(problem, unrelu.GaussNewton(), MaxIterations(1), np.random.default_rng(0))
    found = escalate._Search(task, None, past_the_limit=False, best=best, floor=Floor(None))
    assert found._at_floor() is ended
