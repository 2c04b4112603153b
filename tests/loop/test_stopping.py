import numpy as np
import pytest

from unrelu import (
    GradientNormBelow,
    History,
    InputError,
    MaxIterations,
    MaxSeconds,
    ObjectiveBelow,
    Record,
    RelativeGradientNormBelow,
    Stagnation,
    Stop,
)


class Unit:
    scale = 4.0


def history(*objectives, gradient=1.0, seconds=1.0):
    return History([Record(k, value, gradient, seconds, 0.0, gradient / 8) for k, value in enumerate(objectives)])


@pytest.mark.parametrize(
    ("rule", "stops", "goes_on", "code"),
    [
        (GradientNormBelow(1e-3), history(1, gradient=1e-3), history(1, gradient=2e-3), Stop.CONVERGED),
        (RelativeGradientNormBelow(0.5), history(1, gradient=4.0), history(1, gradient=4.1), Stop.CONVERGED),
        (ObjectiveBelow(0.1), history(1, 0.1), history(1, 0.2), Stop.CONVERGED),
        (MaxIterations(2), history(3, 2, 1), history(3, 2), Stop.MAX_ITERATIONS),
        (MaxSeconds(2), history(1, seconds=2.0), history(1, seconds=1.9), Stop.MAX_SECONDS),
        (Stagnation(0.1, window=2), history(1, 0.95, 0.94), history(1, 0.95, 0.8), Stop.STALLED),
        (Stagnation(0.1, window=2), history(0, 0, 0), history(0, 0), Stop.STALLED),
    ],
)
def test_each_rule_stops_where_it_says(rule, stops, goes_on, code):
    assert rule.check(goes_on, Unit()) is None
    verdict = rule.check(stops, Unit())
    assert verdict.code is code
    assert verdict.converged == (code is Stop.CONVERGED)


def test_rules_join_and_the_first_gives_the_verdict():
    rule = GradientNormBelow(1e-6) | (MaxIterations(1) | MaxSeconds(0.5))
    assert repr(rule) == "GradientNormBelow(1e-06) | MaxIterations(1) | MaxSeconds(0.5)"
    assert rule.check(history(1, 1), Unit()).code is Stop.MAX_ITERATIONS
    assert rule.check(history(1, gradient=1e-7), Unit()).code is Stop.CONVERGED


def test_reasons_read_aloud():
    verdict = RelativeGradientNormBelow(0.5).check(history(1, 1, gradient=4.0), Unit())
    assert str(verdict) == "converged: relative gradient norm 0.5 is at most 0.5 after 1 iteration"
    verdict = MaxIterations(2).check(history(1, 1, 1), Unit())
    assert verdict.reason == "not converged after 2 iterations: gradient norm is still 1; raise max_iter, or tol"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: GradientNormBelow(-1), "bound of GradientNormBelow must be a finite number ≥ 0, got -1"),
        (
            lambda: RelativeGradientNormBelow(float("nan")),
            "tol of RelativeGradientNormBelow must be a finite number ≥ 0",
        ),
        (lambda: MaxSeconds(0), "seconds of MaxSeconds must be a finite positive number, got 0"),
        (lambda: MaxIterations(1.5), "max_iter must be an integer ≥ 0, got 1.5"),
        (lambda: Stagnation(window=0), "window of Stagnation must be an integer ≥ 1, got 0"),
    ],
)
def test_bad_rules(make, text):
    with pytest.raises(InputError, match=text):
        make()


def test_history_is_a_sequence_with_columns():
    records = history(3, 2, 1)
    assert len(records) == 3
    assert records[-1].objective == 1
    assert len(records[1:]) == 2
    assert np.isnan(records.column("error")).all()
    assert np.isnan(records.column("step")).all()
    assert records.as_rows()[0]["objective"] == 3


@pytest.mark.parametrize(
    ("join", "words"),
    [
        (lambda: MaxSeconds(1) | 3, r"joined with \| to other rules, .*; got 3 beside MaxSeconds\(1\)"),
        (lambda: 1e-6 | MaxSeconds(1), r"got 1e-06 beside MaxSeconds\(1\)"),
        (lambda: MaxSeconds(1) | MaxIterations, r"got <class .*MaxIterations'> beside MaxSeconds\(1\)"),
        (lambda: MaxSeconds(1) & MaxIterations(3), r"joined with \|, .* got MaxSeconds\(1\) & MaxIterations\(3\)"),
        (lambda: 3 & MaxSeconds(1), r"joined with \|"),
    ],
)
def test_rules_joined_with_what_is_none(join, words):
    with pytest.raises(InputError, match=words):
        join()
