"""The rules of verdicts: each on samples whose answer is known, and on samples from which nothing follows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, t, ttest_ind_from_stats

from unrelu._old.experiments import rules
from unrelu._old.experiments.judging import printed
from unrelu._old.experiments.rules import (
    BETTER,
    DEPENDS,
    NOT_REPRODUCED,
    NOT_TESTED,
    REPRODUCED,
    across,
    always,
    bounded,
    common,
    fitted,
    generally,
    no_evidence,
    number,
    rate_interval,
    ratio,
    refuted,
    stalled,
    with_probability,
    witness,
)

CLAIM, NUMBER, SLOPE = "init/ours-global", "init/0.0001/tailored/gamma", "noise/slope"
STALLED = "init/0/random-imputation/alpha"
anything = st.floats(allow_nan=True, allow_infinity=True)
# Every rule that takes a sample of values, as a function of it alone.
OF_VALUES = {
    "number": lambda values: number(NUMBER, values),
    "stalled": lambda values: stalled(STALLED, values),
    "fitted": lambda values: fitted(SLOPE, values),
    "ratio": lambda values: ratio(CLAIM, values, 1.0, 2.0),
    "bounded": lambda values: bounded(CLAIM, values, 0.0, 1.0),
}
OF_COUNTS = {
    "always": lambda good, total: always(CLAIM, good, total, otherwise=""),
    "generally": lambda good, total: generally(CLAIM, good, total, otherwise=""),
    "with probability": lambda good, total: with_probability(CLAIM, good, total, 0.9),
}


@pytest.mark.parametrize("rule", OF_VALUES)
@given(st.lists(anything, max_size=4))
def test_no_verdict_from_few_values_whatever_they_are(rule, values):
    assert OF_VALUES[rule](values).verdict == NOT_TESTED


@pytest.mark.parametrize("rule", OF_VALUES)
@given(st.lists(anything, min_size=5, max_size=30))
def test_a_value_that_is_not_finite_is_never_passed_over(rule, values):
    judgement = OF_VALUES[rule](values)
    if not all(map(math.isfinite, values)):
        assert judgement.verdict == NOT_REPRODUCED
    assert judgement.verdict in rules.VERDICTS
    assert judgement.rule == rule


@pytest.mark.parametrize("rule", OF_COUNTS)
@given(st.integers(0, 9), st.integers(0, 9))
def test_few_trials_confirm_nothing(rule, good, others):
    total = min(9, good + others)
    verdict = OF_COUNTS[rule](min(good, total), total).verdict
    assert verdict == NOT_TESTED or (rule == "always" and verdict == NOT_REPRODUCED and good < total)


def test_every_rule_is_tested_here_and_described_once():
    judged = {*OF_VALUES, *OF_COUNTS, "counterexample", "witness", "no evidence", "several settings"}
    assert judged == set(rules.RULES)
    assert len(set(rules.RULES.values())) == len(rules.RULES)
    assert all(words.endswith(".") and len(words) > 60 for words in rules.RULES.values())


def test_numbers_named_in_the_descriptions_are_those_of_the_rules():
    described = rules.RULES
    assert f"at least {common.LEAST_ALWAYS} trials" in described["always"]
    for rule in ("generally", "with probability"):
        assert f"fewer than {common.LEAST_GENERALLY} trials" in described[rule]
    for rule in ("number", "stalled", "fitted", "ratio", "bounded"):
        assert f"fewer than {common.LEAST_VALUES} " in described[rule]
    assert f"at most {common.SHARE:.0%}".replace("%", " %") in described["number"]
    assert f"than {common.POWER:g}" in described["with probability"]
    assert common.WIDE == 0.5, "half the printed mean"
    assert common.STALLED == 10, "ten times the printed mean"
    assert "half the printed mean" in described["number"]
    assert "within ten times" in described["stalled"]


@given(st.integers(0, 40), st.integers(1, 40))
def test_the_interval_of_a_rate_is_that_of_clopper_and_pearson(good, more):
    total = good + more
    theirs = binomtest(good, total).proportion_ci(0.95, method="exact")
    assert rate_interval(good, total) == pytest.approx((theirs.low, theirs.high))


def test_always_needs_twenty_and_falls_by_one():
    assert always(CLAIM, 19, 19, otherwise="").verdict == NOT_TESTED
    assert "19 trials where 20 are needed" in always(CLAIM, 19, 19, otherwise="").why
    assert always(CLAIM, 20, 20, otherwise="").verdict == REPRODUCED
    assert always(CLAIM, 199, 200, otherwise="a reason", why="and a remark").why == "a reason. and a remark"
    assert always(CLAIM, 199, 200, otherwise="").verdict == NOT_REPRODUCED
    assert always(CLAIM, 20, 20, otherwise="", better=True).verdict == BETTER


def test_more_often_than_not_is_told_from_a_coin():
    assert generally(CLAIM, 15, 20, otherwise="").verdict == REPRODUCED  # 0.509 at least
    assert generally(CLAIM, 14, 20, otherwise="").verdict == NOT_TESTED
    assert generally(CLAIM, 5, 20, otherwise="why not").why == "why not"
    assert generally(CLAIM, 9, 9, otherwise="").verdict == NOT_TESTED


def test_a_stated_probability_needs_power():
    assert with_probability(CLAIM, 3, 3, 0.15).verdict == NOT_TESTED
    assert with_probability(CLAIM, 10, 10, 0.55).verdict == REPRODUCED
    assert with_probability(CLAIM, 20, 20, 0.999).verdict == NOT_TESTED  # 0.83 at least
    assert with_probability(CLAIM, 36, 36, 0.999).verdict == REPRODUCED
    assert with_probability(CLAIM, 36, 40, 0.999).verdict == NOT_REPRODUCED


def test_a_mean_is_compared_by_welch():
    entry = printed()["numbers"][NUMBER]
    rng = np.random.default_rng(0)
    for shift in (1.0, 1.04, 1.06, 1.1, 1.3):
        values = shift * entry["value"] * (1 + 0.05 * rng.standard_normal(8))
        mean, deviation = values.mean(), values.std(ddof=1)
        differs = ttest_ind_from_stats(
            mean, deviation, len(values), entry["value"], entry["spread"], entry["trials"], equal_var=False
        ).pvalue
        apart = abs(mean / entry["value"] - 1)
        expected = NOT_REPRODUCED if differs < 0.05 and apart > 0.05 else REPRODUCED
        assert number(NUMBER, list(values)).verdict == expected


def test_a_mean_that_hardly_anything_would_contradict_is_not_tested():
    value = printed()["numbers"][NUMBER]["value"]
    judgement = number(NUMBER, [value, 0.1 * value, 3 * value, 0.2 * value, value])
    assert judgement.verdict == NOT_TESTED
    assert "known to ±" in judgement.why
    assert number(NUMBER, [2 * value] * 5).verdict == NOT_REPRODUCED
    assert "2 times the printed one" in number(NUMBER, [2 * value] * 5).why


def test_a_gradient_norm_of_runs_cut_off_has_ten_times_of_room():
    value = printed()["numbers"][STALLED]["value"]
    verdicts = [stalled(STALLED, [factor * value] * 5).verdict for factor in (0.09, 0.2, 9.0, 11.0)]
    assert verdicts == [BETTER, REPRODUCED, REPRODUCED, NOT_REPRODUCED]


def test_a_slope_is_held_to_its_tolerance():
    entry = printed()["numbers"][SLOPE]
    inside = entry["value"] + 0.9 * entry["tolerance"]
    assert fitted(SLOPE, [inside] * 5).verdict == REPRODUCED
    assert fitted(SLOPE, [entry["value"] + 1.1 * entry["tolerance"]] * 5).verdict == NOT_REPRODUCED
    wide = fitted(SLOPE, [inside - 0.2, inside + 0.2, inside, inside, inside])
    assert (wide.verdict, wide.why) == (NOT_TESTED, "the interval for the slope reaches over 0.95")


def test_ratios_are_judged_by_their_geometric_mean():
    ratios = [1.2, 1.5, 1.4, 1.3, 1.6]
    logs = np.log(ratios)
    margin = t.ppf(0.975, 4) * logs.std(ddof=1) / np.sqrt(5)
    low, high = np.exp(logs.mean() - margin), np.exp(logs.mean() + margin)
    assert f"({low:.2g} to {high:.2g})" in ratio(CLAIM, ratios, 1.0, 2.0).measured
    assert ratio(CLAIM, ratios, 1.0, 2.0).verdict == REPRODUCED
    assert ratio(CLAIM, ratios, 1.4, 2.0).verdict == NOT_TESTED
    assert ratio(CLAIM, ratios, 2.0, 5.0).verdict == NOT_REPRODUCED
    assert ratio(CLAIM, [12.0, 14.0, 13.0, 12.0, 14.0], 1.0, 2.0).verdict == NOT_REPRODUCED  # more than slightly
    assert ratio(CLAIM, [1.5, 1.5, 1.5, 1.5, 0.0], 1.0, 2.0).verdict == NOT_REPRODUCED


def test_means_are_held_between_bounds():
    assert bounded(CLAIM, [0.5] * 5, 0.4, 0.6).verdict == REPRODUCED
    assert bounded(CLAIM, [0.5] * 5, 0.4, 0.6, better=True).verdict == BETTER
    assert bounded(CLAIM, [0.2, 0.8, 0.5, 0.5, 0.5], 0.4, 0.6).verdict == NOT_TESTED
    assert bounded(CLAIM, [0.7] * 5, 0.4, 0.6, otherwise="too much").why == "too much"


def test_one_instance_refutes_or_bears_witness_and_none_does_neither():
    assert refuted(CLAIM, True, "it", why="there").verdict == NOT_REPRODUCED
    assert witness(CLAIM, True, "it").verdict == REPRODUCED
    for nothing in (False, None):
        assert refuted(CLAIM, nothing, "nothing", why="there").verdict == NOT_TESTED
        assert witness(CLAIM, nothing, "nothing").verdict == NOT_TESTED
    assert no_evidence(CLAIM, "nothing ran").verdict == NOT_TESTED


def at(verdict):
    good, total = {REPRODUCED: (20, 20), NOT_REPRODUCED: (1, 20), NOT_TESTED: (2, 2)}[verdict]
    return always(CLAIM, good, total, otherwise="a reason")


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([REPRODUCED, REPRODUCED], REPRODUCED),
        ([REPRODUCED, NOT_REPRODUCED], DEPENDS),
        ([NOT_REPRODUCED, NOT_TESTED], NOT_REPRODUCED),
        ([NOT_TESTED, NOT_TESTED], NOT_TESTED),
        ([NOT_TESTED, REPRODUCED, NOT_REPRODUCED], DEPENDS),
    ],
)
def test_a_verdict_that_flips_with_a_setting_says_so(verdicts, expected):
    found = across({f"step {k}": at(verdict) for k, verdict in enumerate(verdicts)}, ["step"])
    assert found.verdict == expected
    assert found.rests == ("step",)
    if expected == DEPENDS:
        assert all(f"step {k}: {verdict}" in found.measured for k, verdict in enumerate(verdicts))


def test_better_and_reproduced_both_hold():
    values = printed()["numbers"][STALLED]["value"]
    found = across({"short": stalled(STALLED, [values] * 5), "long": stalled(STALLED, [values / 50] * 5)}, ["step"])
    assert found.verdict == REPRODUCED
    assert found.why == "The same at short, long. Better at long"
    assert stalled(STALLED, [-values] * 5).verdict == NOT_REPRODUCED


def test_reasons_of_all_settings_are_kept_and_the_chosen_one_is_shown():
    both = across({"a": at(REPRODUCED), "b": at(NOT_REPRODUCED)}, ["step"])
    nested = across({"ball": both, "square": at(REPRODUCED)}, ["X-update"])
    assert (nested.verdict, nested.rests) == (DEPENDS, ("step", "X-update"))
    assert nested.why == "ball: b: a reason"
    wide = always(CLAIM, 30, 30, "thirty", otherwise="")
    assert across({"a": at(REPRODUCED), "b": wide}, [], chosen="b").measured.startswith("thirty")


def test_what_is_told_to_a_rule_is_heeded():
    assert always(CLAIM, 30, 30, least=40).verdict == NOT_TESTED
    assert ratio(CLAIM, [1.5] * 8, 1.0, 2.0, least=9).verdict == NOT_TESTED
    assert generally(CLAIM, 12, 20, share=0.9).verdict == NOT_REPRODUCED
    assert with_probability(CLAIM, 40, 40, 0.9, better=True).verdict == BETTER
    assert bounded(CLAIM, [0.4] * 5, 0.4, 0.6).verdict == REPRODUCED  # an interval may end at its bound
    assert bounded(CLAIM, [0.7] * 5, 0.4, 0.6).why == "the mean should be 0.6 at most"
    assert always(CLAIM, 3, 4).why == "1 of 4 are exceptions"
    spread = printed()["numbers"]["init/0/random-spectral/alpha"]["spread"]
    assert stalled("init/0/random-spectral/alpha", [5 * spread] * 5).verdict == REPRODUCED


def test_a_mean_that_is_clearly_another_is_told_however_wide_the_interval():
    value = printed()["numbers"][NUMBER]["value"]
    judgement = number(NUMBER, [10 * value, 12 * value, 14 * value, 11 * value, 13 * value])
    assert judgement.verdict == NOT_REPRODUCED


def test_claims_carry_their_place_in_the_paper_and_whose_they_are():
    judgement = always("methods/default", 20, 20, otherwise="", case="σ = 0", rests=("ρ",))
    assert (judgement.ours, judgement.prose, judgement.case, judgement.rests) == (True, True, "σ = 0", ("ρ",))
    assert not always(CLAIM, 20, 20, otherwise="").ours
    assert not number(NUMBER, []).prose
