"""Standard errors where linearising is not enough: walks away from the fit, and what they must not change."""

import numpy as np
import pytest

import unrelu
from helpers import asymmetric_instance, table_instance
from soak.catalogue import drawn
from unrelu import Censored, Observed, OneSided
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.data.terms import Terms
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.uncertainty.walks import Fit, Walked, _as_in_their_rows, _Pinned, _products, _Terms, in_words
from unrelu.datasets import planted

LINEAR = "exact solves"


def everywhere(shape):
    return np.arange(shape[0])[:, None], np.arange(shape[1])


def off_by(found, truth, **options):
    """How many standard errors the worst entry of determined rows is off."""
    i, j = found._places_of_errors(*everywhere(found.shape))
    errors = found.error_bars().standard_errors(i, j, **options)
    gaps = np.abs(found.matrix() - truth)
    return float(np.max(gaps[np.isfinite(errors)] / errors[np.isfinite(errors)]))


# Drawn by the soak, which found them: rows that lie at the edge of a limit, or in a long curved valley.
@pytest.mark.parametrize(
    "name", ["noise-special-rows:8000:9", "noise-special-rows:9000:28", "noise-special-rows:13000:19"]
)
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_errors_of_rows_at_the_edge_of_a_limit(name):
    instance = drawn(name)
    found = unrelu.complete(instance.data, rng=0, **instance.options)
    assert off_by(found, instance.truth, method=LINEAR) > 6.5
    assert off_by(found, instance.truth) < 4


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("tables-limits:9000:12", 5),
        ("tables-limits:9000:48", 5),
        ("tables-noisy:7000:8", 5),
        ("tables-noisy:12000:132", 9),
    ],
)
def test_errors_of_tables_that_noise_moves_far(name, most):
    instance = drawn(name)
    found = unrelu.complete_rectangular(instance.data, rng=0, **instance.arguments())
    truth = instance.truth[: instance.cut, instance.cut :]
    assert off_by(found, truth, method=LINEAR) > 9
    assert found.error_bars().caution is not None
    assert off_by(found, truth) < most


@pytest.mark.parametrize("loss", ["observed", "censored"])
def test_where_linearising_is_enough_walks_change_nothing(loss):
    instance = planted(60, 2, sigma=0.005, symmetric_noise=True, rng=1)
    X = np.where(instance.matrix >= 0, instance.matrix, np.nan)
    bars = unrelu.complete(X, 2, loss=loss, rng=0).error_bars()
    linear = bars.standard_errors(*everywhere(X.shape), method=LINEAR)
    walked = bars.standard_errors(*everywhere(X.shape))
    np.testing.assert_array_equal(walked, linear)


def test_entries_that_no_walk_went_by_are_as_uncertain_as_their_rows():
    errors, open_to = np.ones((4, 4)), ~np.eye(4, dtype=bool)
    found = np.zeros((4, 4))
    found[0, 1] = found[1, 0] = 5.0
    larger = _as_in_their_rows(found, errors, open_to)
    row = np.sqrt((25 + 1 + 1) / 3)  # of the first two; the others are as they were
    np.testing.assert_allclose(larger, np.where(np.add.outer(np.arange(4) < 2, np.arange(4) < 2), row, 1.0))
    errors[3, 2] = np.inf
    assert _as_in_their_rows(found, errors, open_to)[3, 2] == 0


def test_errors_that_noise_does_not_scale_are_said_to_be_in_doubt():
    instance = drawn("tables-noisy:10000:71")
    bars = unrelu.complete_rectangular(instance.data, rng=0, **instance.arguments()).error_bars()
    assert "not proportional" in bars.caution
    assert 0.5 < bars._walked.share < 1
    assert in_words(Walked(np.zeros((2, 2)), share=0.04, times=9.0)) is None


def test_errors_are_known_of_a_loss_of_the_callers_own_and_of_exact_data():
    instance = planted(30, 2, rng=0)
    X = np.where(instance.matrix >= 0, instance.matrix, np.nan)
    bars = unrelu.complete(X, 2, rng=0).error_bars()
    assert bars._walked is None  # rounding is no noise
    np.testing.assert_array_equal(
        bars.standard_errors(*everywhere(X.shape)), bars.standard_errors(*everywhere(X.shape), method=LINEAR)
    )


@pytest.mark.parametrize("loss", [Observed(), OneSided(), Censored(sigma=0.4)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("kind", ["symmetric", "weighted", "table"])
def test_terms_are_the_objective_and_its_slopes(loss, kind):
    rng = np.random.default_rng(3)
    if kind == "table":
        _, X = table_instance(9, 7, 2, sigma=0.3)
        observations = table_observations(X, Terms(0.0))
    else:
        X, unknown = asymmetric_instance(14, 2)
        more = {} if kind == "symmetric" else {key: rng.uniform(0.5, 2, X.shape) for key in ("weights", "spread")}
        observations = Observations.of(X, threshold=0.0, unknown=unknown, **more)
    U = rng.standard_normal((observations.size, 2))
    problem = PSDProblem(observations, 2, loss)
    terms = _Terms.of(Fit(observations, loss, U, 1.0, 0.4, True))
    pull, _, cost = terms.off(_products(U[None], 1.0))
    here = problem.evaluate(U)
    np.testing.assert_allclose(cost[0], here.value, rtol=1e-10)
    np.testing.assert_allclose(pull[0] @ U, here.gradient, rtol=1e-9, atol=1e-11)


def test_a_pin_pulls_its_entry_and_no_other():
    X, unknown = asymmetric_instance(8, 2)
    observations = Observations.of(X, threshold=0.0, unknown=unknown)
    U = np.random.default_rng(4).standard_normal((1, 8, 2))
    terms = _Terms.of(Fit(observations, OneSided(), U[0], 1.0, 0.4, True))
    pinned = _Pinned(terms, np.array([2]), np.array([5]), np.array([3.0]), np.array([10.0]))
    (pull, active, cost), (free, bent, least) = pinned.off(U, np.zeros(1, np.intp)), terms.off(_products(U, 1.0))
    gap = float(U[0, 2] @ U[0, 5]) - 3.0
    expected = np.zeros((8, 8))
    expected[2, 5] = expected[5, 2] = 10.0
    np.testing.assert_allclose((active - bent)[0], expected)
    np.testing.assert_allclose((pull - free)[0], gap * expected, atol=1e-12)
    np.testing.assert_allclose(cost - least, 5 * gap**2)


@pytest.mark.parametrize("name", ["tables-limits:8000:3", "tables-noisy:9000:0", "tables-noisy:10000:57"])
def test_squares_that_stand_for_a_likelihood_without_an_answer_are_not_trusted(name):
    instance = drawn(name)
    found = unrelu.complete_rectangular(instance.data, rng=0, **instance.arguments())
    assert found.loss == "one-sided"
    assert found.verdict.code is unrelu.Stop.STATIONARY
    assert "which selection bends" in found.verdict.reason
    assert not found.determined.any()
