"""How entries go unseen, found from the data: levels, curves, chance, and the completions that rest on them."""

import numpy as np
import pytest

import unrelu
from unrelu import Censored, Detected, DetectionCurve, InputError
from unrelu._old.detection.chosen import detected
from unrelu._old.detection.edge import edge_of
from unrelu._old.detection.evidence import Evidence
from unrelu._old.model.hidden import Hidden

N, R, SIGMA = 100, 3, 0.1


def both(a):
    return np.triu(a) + np.triu(a, 1).T


def planted(kind, seed=0, n=N):
    """A noisy matrix of low rank, which entries of it are seen, the level and the rms entry."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, R))
    M = U @ U.T
    Y = M + SIGMA * both(rng.standard_normal((n, n)))
    level, rms = float(np.median(M)), float(np.sqrt(np.mean(M**2)))
    chance = both(rng.random((n, n)))
    seen = {
        "cut": level <= Y,
        "cut before noise": level <= M,
        "chance": chance < 0.5,
        "both": (np.quantile(M, 0.25) <= Y) & (chance < 2 / 3),
        "curve": Y + 0.5 * rms * both(rng.standard_normal((n, n))) >= level,
        "strays": (level <= Y) ^ (chance < 0.01),
    }[kind]
    level = float(np.quantile(M, 0.25)) if kind == "both" else level
    return M, Y, seen, level, rms


def completed(kind, **options):
    M, Y, seen, level, rms = planted(kind)
    return unrelu.complete(np.where(seen, Y, np.nan), R, threshold="auto", rng=0, **options), M, Y, seen, level, rms


@pytest.mark.parametrize("kind", ["cut", "cut before noise", "strays"])
def test_a_level_is_found_with_an_interval_that_holds_it(kind):
    found, _, _, _, level, rms = completed(kind)
    low, high = found.detection.level_interval
    assert abs(found.detection.level - level) < 0.01 * rms
    assert low <= level <= high
    assert high - low < 0.03 * rms


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cut", "censored"),
        ("cut before noise", "censored"),
        ("chance", "random"),
        ("both", "mixed"),
        ("curve", "curve"),
    ],
)
def test_the_likeliest_kind_of_gaps_is_the_planted_one(kind, said):
    found, M, _, _, _, _ = completed(kind, gaps="auto")
    assert found.detection.kind == said
    assert f"gaps are {said}" in found.verdict.reason
    assert np.linalg.norm(found.matrix() - M) < 0.05 * np.linalg.norm(M)


def test_mixed_gaps_are_almost_as_good_as_knowing_which_is_which():
    M, Y, seen, level, _ = planted("both")
    X = np.where(seen, Y, np.nan)
    found = unrelu.complete(X, R, gaps="mixed", threshold="auto", rng=0)
    knowing = unrelu.complete(X, R, threshold=level, unknown=~seen & (level <= Y), rng=0)
    walled = unrelu.complete(X, R, threshold=float(np.nanmin(X)), rng=0)
    errors = [np.linalg.norm(one.matrix() - M) for one in (found, knowing, walled)]
    assert errors[0] < 1.2 * errors[1]
    assert not walled.verdict.answered or errors[2] > 2 * errors[0]  # what is left out here matters
    assert abs(found.detection.share - 1 / 3) < 0.05
    assert found.detection.share_interval[0] < 1 / 3 < found.detection.share_interval[1]


def test_a_curve_has_its_level_and_width_and_its_intervals_cover():
    found, _, Y, seen, level, rms = completed("curve", gaps="curve")
    curve = found.detection
    assert abs(curve.level - level) < 0.1 * rms
    assert abs(curve.width - 0.5 * rms) < 0.05 * rms
    assert curve.width_interval[0] < 0.5 * rms < curve.width_interval[1]
    i, j = np.nonzero(np.triu(~seen, 1))
    low, high = found.predict(i, j)
    assert 0.92 < np.mean((low <= Y[i, j]) & (Y[i, j] <= high)) < 0.98


def test_entries_hidden_by_a_curve_are_filled_below_their_fit():
    found, _, Y, seen, _, _ = completed("curve", gaps="curve")
    fit, filled = found.matrix(), found.filled()
    hidden = ~seen & ~np.eye(N, dtype=bool)
    assert (filled[hidden] <= fit[hidden]).all()
    assert np.array_equal(filled[seen], Y[seen])


def test_small_values_seen_are_the_mirror_image():
    _, _, _, level, rms = planted("cut")
    U = np.random.default_rng(5).standard_normal((N, R))
    M = U @ U.T
    X = np.where(level + rms >= M, M + 1e-3 * both(np.random.default_rng(0).standard_normal((N, N))), np.nan)
    found = unrelu.complete(X, R, threshold="auto", seen="below", rng=0)
    assert found.detection.side == "below"
    assert abs(found.detection.level - (level + rms)) < 0.01 * rms


def test_scaling_the_data_scales_the_curve_and_the_answer():
    M, Y, seen, _, _ = planted("curve")
    X = np.where(seen, Y, np.nan)
    one, other = (unrelu.complete(k * X, R, gaps="curve", rng=0) for k in (1.0, 16.0))
    assert other.detection.level == pytest.approx(16 * one.detection.level, rel=1e-3, abs=1e-2)
    assert other.detection.width == pytest.approx(16 * one.detection.width, rel=1e-3)
    assert np.linalg.norm(other.matrix() - 16 * one.matrix()) < 1e-3 * np.linalg.norm(16 * M)


def test_single_precision_stays_so():
    _, Y, seen, _, _ = planted("curve")
    found = unrelu.complete(np.where(seen, Y, np.nan).astype(np.float32), R, gaps="curve", rng=0)
    assert found.factor.dtype == np.float32
    assert found.detection.kind == "curve"


def test_exact_data_need_no_curve_and_their_level_lies_between_the_last_unseen_and_the_first_seen():
    rng = np.random.default_rng(2)
    U = rng.standard_normal((60, 2))
    M = U @ U.T
    found = unrelu.complete(np.where(M >= 0.3, M, np.nan), 2, threshold="auto", gaps="auto", rng=0)
    assert found.verdict.code.value == "fitted"
    low, high = found.detection.level_interval
    assert low <= 0.3 <= high
    assert high <= M[M >= 0.3].min() + 1e-6
    assert low >= M[M < 0.3].max() - 0.2


def test_a_table_is_completed_with_a_curve_of_its_own():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((120, 3)) @ rng.standard_normal((3, 60))
    Y = M + SIGMA * rng.standard_normal(M.shape)
    seen = Y + 0.8 * rng.standard_normal(M.shape) >= 0.2
    found = unrelu.complete_rectangular(np.where(seen, Y, np.nan), 3, gaps="auto", threshold="auto", rng=0)
    assert found.detection.kind == "curve"
    assert abs(found.detection.width - 0.8) < 0.12
    assert found.shape == (120, 60)
    assert np.linalg.norm(found.matrix() - M) < 0.05 * np.linalg.norm(M)


def test_a_curve_comes_back_from_a_file(tmp_path):
    found, *_ = completed("curve", gaps="curve")
    found.save(tmp_path / "found.npz")
    again = unrelu.Completion.load(tmp_path / "found.npz")
    assert again.detection == found.detection


def test_without_a_level_there_is_nothing_to_take_from_absence():
    _, Y, seen, _, _ = planted("chance")
    X = np.where(seen, Y, np.nan)
    random = unrelu.complete(X, R, gaps="random", rng=0)
    assert np.array_equal(random.factor, unrelu.complete(X, R, threshold=None, rng=0).factor)
    assert random.detection.kind == "random"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gaps": "holes"}, "gaps"),
        ({"gaps": "curve", "seen": "between", "threshold": (0, 1)}, "'above' or 'below' one level"),
        ({"gaps": "mixed", "threshold": np.zeros((1, 20))}, "one threshold for all entries"),
        ({"threshold": "automatic"}, "threshold must be a finite number"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, words):
    X = np.where(np.random.default_rng(0).random((20, 20)) < 0.5, np.nan, 1.0)
    with pytest.raises(InputError, match=words):
        unrelu.complete(X, 1, **options)


def test_everything_seen_leaves_nothing_to_tell_a_level_by():
    U = np.random.default_rng(0).standard_normal((30, 2))
    found = unrelu.complete(U @ U.T, 2, gaps="auto", threshold="auto", rng=0)
    assert "nothing is missing that could show a threshold" in found.verdict.reason
    with pytest.raises(InputError, match="0 unseen entries"):
        unrelu.complete(U @ U.T, 2, gaps="curve", rng=0)


def test_too_little_to_tell_a_level_by_is_a_warning_and_a_sentence():
    X = np.array([[1.0, 2.0, np.nan], [2.0, 4.0, 6.0], [np.nan, 6.0, 9.0]])
    with pytest.warns(unrelu.CompletionWarning, match="too little was seen to find a threshold"):
        found = unrelu.complete(X, 1, threshold="auto", rng=0)
    assert found.threshold is None
    assert "too little was seen to find a threshold" in found.verdict.reason


def test_equal_values_show_no_level():
    X = np.where(np.random.default_rng(0).random((12, 12)) < 0.4, np.nan, 3.0)
    X = np.where(np.isnan(X) | np.isnan(X.T), np.nan, 3.0)
    with pytest.warns(unrelu.CompletionWarning, match="all seen values are equal and show no threshold") as caught:
        found = unrelu.complete(X, 1, threshold="auto", rng=0)
    assert found.threshold is None
    assert found.detection is None
    assert {one.filename for one in caught} == {__file__}
    with pytest.raises(InputError, match="gaps='curve' asks how entries go unseen, but all seen values are equal"):
        unrelu.complete(X, 1, gaps="curve", rng=0)


# --- the pieces ------------------------------------------------------------------------------------------------------


def test_the_interval_of_an_edge_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        values = rng.standard_normal(1000)
        low, high = edge_of(values[values >= 0.2]).interval
        held += low <= 0.2 <= high
    assert 0.92 < held / 400 < 0.98


def test_a_tail_is_no_edge_and_rounded_values_may_have_one():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(20000)
    assert not edge_of(values).sharp
    rounded = np.round(values, 2)
    wall = edge_of(rounded[rounded >= 0.3])
    assert wall.sharp
    assert wall.level == pytest.approx(0.3)
    assert not edge_of(rounded).sharp
    assert edge_of(values[:20]) is None


def test_the_slope_of_an_unseen_entry_is_that_of_its_cost():
    fit = np.linspace(-6, 6, 101)
    for curve in (DetectionCurve(0.3, width=0.7, share=0.2), DetectionCurve(0.3, share=0.1, stray=0.05)):
        for side in (curve, curve.mirrored):
            loss = Detected(sigma=0.5, curve=side)
            costs = []
            for step in (-1e-4, 0.0, 1e-4):
                cost, slope, curvature = np.empty((3, fit.size))
                loss.unseen(fit + step, (-np.inf, 0.3), cost, slope, curvature)
                costs.append(cost)
            loss.unseen(fit, (-np.inf, 0.3), np.empty_like(fit), slope, curvature)
            assert np.allclose((costs[2] - costs[0]) / 2e-4, slope, atol=1e-6)
            assert (curvature >= 0).all()


def test_a_wall_costs_what_the_censored_loss_says():
    fit = np.linspace(-3, 3, 61)
    costs = np.empty((2, 3, fit.size))
    for into, loss in zip(costs, (Censored(sigma=0.5), Detected(sigma=0.5, curve=DetectionCurve(0.2))), strict=True):
        loss.unseen(fit, (-np.inf, 0.2), *into)
    assert np.allclose(*costs)


def test_what_a_curve_hides_is_distributed_as_drawn():
    rng = np.random.default_rng(0)
    curve = DetectionCurve(0.5, width=0.8, share=0.1)
    x = 0.7 + 1.3 * rng.standard_normal(400_000)
    hidden = x[rng.random(x.size) > curve.probability(x)]
    told = Hidden(np.array([0.7]), np.array([1.3]), curve)
    assert told.expectation()[0] == pytest.approx(hidden.mean(), abs=0.01)
    low, high = told.interval(0.9)
    assert np.allclose([low[0], high[0]], np.quantile(hidden, [0.05, 0.95]), atol=0.02)


def test_evidence_of_too_little_is_refused():
    few = Evidence(np.zeros(20), np.ones(20), np.full(20, np.nan), 1.0, np.zeros(20, int))
    with pytest.raises(InputError, match="0 seen entries"):
        detected(few)


def test_limits_of_columns_are_found_where_values_begin_at_once():
    rng = np.random.default_rng(3)
    common = rng.standard_normal((300, 1))
    M = 5 + common + 0.5 * rng.standard_normal((300, 5))
    limits = np.quantile(M, 0.4, axis=0)
    X = np.where(limits <= M, M, np.nan)
    X[:, 4] = np.where(rng.random(300) < 0.3, np.nan, M[:, 4])  # lost, whatever they were
    found = unrelu.complete_table(X, threshold="auto", rng=0)
    assert "limits found from the data" in found.verdict.reason
    assert np.allclose(found.terms.threshold[0, :4], limits[:4], atol=0.05)
    assert np.isinf(found.terms.threshold[0, 4])
    hidden = np.isnan(X[:, :4])
    assert (found.filled()[:, :4][hidden] < np.broadcast_to(found.terms.threshold[:, :4], hidden.shape)[hidden]).all()
