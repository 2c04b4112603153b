"""Rules on the way to an answer that could be loosened unseen: order, starts, what is kept."""

from dataclasses import replace

import numpy as np
import pytest

import unrelu
from unrelu.budget import OutOfTime, budget, checkpoint, phase
from unrelu.canonical import canonical_order
from unrelu.history import Stop, Verdict
from unrelu.observations import Observations

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


@pytest.mark.parametrize(("residual", "at_floor"), [(1e-8, True), (1e-3, False)])
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
