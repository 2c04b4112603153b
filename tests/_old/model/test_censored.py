"""The censored likelihood: its numbers far into the tails, its derivatives, its fits."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import unrelu
import unrelu._old.loop.run
import unrelu._old.loop.stopping
from unrelu import Censored, Limits
from unrelu._old.data.observations import Observations
from unrelu._old.model.losses.tails import beyond, inside
from unrelu._old.problems.psd import PSDProblem

# From 60 digits of mpmath: log Φ(z), φ(z)/Φ(z), and h(h + z).
TAIL = {
    -200.0: (-20006.21728089819, 200.00499975003124, 0.99997500374921895),
    -40.0: (-804.60844201375379, 40.024968847207264, 0.99937733162140861),
    -10.0: (-53.231285150512471, 10.098093233962512, 0.99055462217434374),
    -1.0: (-1.8410216450092635, 1.5251352761609812, 0.80090233442965121),
    0.0: (-0.69314718055994531, 0.79788456080286536, 0.63661977236758134),
    3.0: (-0.0013508099647481938, 0.0044378390421256638, 0.013333211541740806),
    8.0: (-6.2209605742717861e-16, 5.0522710835368954e-15, 4.0418168668295189e-14),
}


def of(z):
    z = np.atleast_1d(np.asarray(z, float))
    log, ratio, bend = np.empty((3, *z.shape))
    with np.errstate(all="ignore"):
        beyond(z, log, ratio, bend)
    return log, ratio, bend


@pytest.mark.parametrize("z", TAIL)
def test_one_limit_has_all_its_digits(z):
    for came, right in zip(of(z), TAIL[z], strict=True):
        assert came[0] == pytest.approx(right, rel=1e-11)


def test_one_limit_holds_at_any_distance():
    z = np.array([-1e200, -1e8, -1e5, 39.0, 1e3, 1e200])
    log, ratio, bend = of(z)
    assert np.isfinite(log).all()
    assert np.isfinite(ratio).all()
    assert ((bend >= 0) & (bend <= 1)).all()
    assert (log[3:] == 0).all()
    assert (ratio[3:] < 1e-300).all()
    np.testing.assert_allclose(log[1:3], -(z[1:3] ** 2) / 2 - np.log(-z[1:3] * np.sqrt(2 * np.pi)), rtol=1e-12)
    np.testing.assert_allclose(ratio[1:3], -z[1:3], rtol=1e-9)
    assert bend[2] == pytest.approx(1 - 1e-10, rel=1e-14)


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (0.0, 1.0), (-3.0, -2.5), (4.0, 6.0), (-0.2, 5.0)])
def test_an_interval_is_its_integral(ends):
    low, high = ends
    log, pull, bend, first, second = (float(value[0]) for value in inside(np.array([low]), np.array([high])))
    assert np.exp(log) == pytest.approx(quad(norm.pdf, low, high, epsabs=1e-14)[0], rel=1e-8)

    def cost(move=0.0, width=0.0):
        scale = np.exp(width)
        return -np.log(norm.sf((low - move) / scale) - norm.sf((high - move) / scale))

    step = 1e-4
    assert pull == pytest.approx((cost(step) - cost(-step)) / (2 * step), abs=1e-5)
    assert bend == pytest.approx((cost(step) - 2 * cost() + cost(-step)) / step**2, abs=1e-5)
    assert first == pytest.approx((cost(0, step) - cost(0, -step)) / (2 * step), abs=1e-5)
    assert second == pytest.approx((cost(0, step) - 2 * cost() + cost(0, -step)) / step**2, abs=1e-5)


def test_intervals_far_out_are_mirrored_and_narrow_ones_are_densities():
    left, right = inside(np.array([-40.0]), np.array([-38.0])), inside(np.array([38.0]), np.array([40.0]))
    assert left[0] == right[0]
    assert left[1] == -right[1]
    np.testing.assert_array_equal(left[2:], right[2:])
    assert float(left[1][0]) == pytest.approx(38.0, rel=1e-2)
    for width in (1e-3, 1e-5, 1e-9):  # on both sides of where the formula changes
        log, pull, bend, first, _ = (float(v[0]) for v in inside(np.array([2.0]), np.array([2.0 + width])))
        assert log == pytest.approx(norm.logpdf(2.0 + width / 2) + np.log(width), abs=1e-6)
        assert pull == pytest.approx(-2.0 - width / 2, rel=1e-5)
        assert bend == pytest.approx(1.0, abs=1e-4)
        assert first == pytest.approx(1 - 4.0, abs=1e-2)


def test_no_ends_and_one_end_are_intervals_too():
    log, pull, bend, first, second = inside(np.array([-np.inf, -np.inf, 1.0]), np.array([np.inf, 0.5, np.inf]))
    assert log[0] == pull[0] == bend[0] == first[0] == second[0] == 0
    one, ratio, curve = of([0.5, -1.0])
    np.testing.assert_allclose(log[1:], one, rtol=1e-12)
    np.testing.assert_allclose(np.abs(pull[1:]), ratio, rtol=1e-12)
    assert pull[1] > 0 > pull[2]
    np.testing.assert_allclose(bend[1:], curve, rtol=1e-10)


# --- in a problem -----------------------------------------------------------------------------------------------------


def posed(limits, sigma=None, n=14, rank=2, seed=0):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    M = U @ U.T + 0.3 * rng.standard_normal((n, n))
    low, high = (np.broadcast_to(limit, (n, n)) for limit in (limits.low, limits.high))
    X = np.where((low < M) & (high > M), np.nan, M)
    observations = Observations.of(X, threshold=None).with_limits(limits)
    return PSDProblem(observations, rank, Censored(sigma)), U / np.sqrt(observations.unit), X


SOME = np.random.default_rng(5)
LIMITS = {
    "below": Limits(high=0.0),
    "above": Limits(low=0.2),
    "per column": Limits(high=SOME.uniform(-0.5, 0.5, (1, 14))),
    "per row": Limits(low=SOME.uniform(-0.5, 0.5, (14, 1))),
    "per entry": Limits(high=SOME.uniform(-0.5, 0.5, (14, 14))),
    "between": Limits(low=-0.5, high=0.6),
    "mixed": Limits(
        low=np.where(SOME.random((14, 14)) < 0.3, 0.1, -np.inf), high=np.where(SOME.random((14, 14)) < 0.3, 0.5, np.inf)
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_f_is_minus_the_log_of_the_likelihood_entry_by_entry(name):
    problem, U, X = posed(LIMITS[name], sigma=0.4)
    unit, sigma = problem.unit, 0.4 / problem.unit
    fit = U @ U.T
    low, high = (np.broadcast_to(limit, fit.shape) / unit for limit in (LIMITS[name].low, LIMITS[name].high))
    absent = np.isnan(X)
    absent &= ~(np.eye(len(X), dtype=bool) & (high <= 0))  # a diagonal entry of a PSD matrix is not below zero
    P = norm.cdf((high - fit) / sigma) - norm.cdf((low - fit) / sigma)
    seen = ~np.isnan(X)
    right = -norm.logpdf(X[seen] / unit, fit[seen], sigma).sum() - seen.sum() * np.log(2 * np.pi) / 2
    right += -np.log(P[absent]).sum()
    assert problem.evaluate(U).value == pytest.approx(right, rel=1e-10)


@pytest.mark.parametrize("name", LIMITS)
def test_the_gradient_and_the_sums_are_derivatives(name):
    problem, U, _ = posed(LIMITS[name])
    D = np.random.default_rng(1).standard_normal(U.shape)
    point = problem.evaluate(U)
    steps = np.array([1e-2, 1e-3, 1e-4])
    slope = np.vdot(point.gradient, D)
    gaps = [abs(problem.evaluate(U + t * D).value - point.value - t * slope) for t in steps]
    assert np.polyfit(np.log(steps), np.log(gaps), 1)[0] == pytest.approx(2, abs=0.1)

    def at(log_change):
        loss = problem.loss.begun(problem.loss.noise * np.exp(log_change))
        return problem.with_loss(loss).evaluate(U).value

    h = 1e-3
    first, second, _ = point.sums
    assert first == pytest.approx((at(h) - at(-h)) / (2 * h), rel=1e-4, abs=1e-4 * abs(point.value))
    assert second == pytest.approx((at(h) - 2 * at(0) + at(-h)) / h**2, rel=1e-3, abs=1e-4 * abs(point.value))


@pytest.mark.parametrize("name", LIMITS)
def test_no_curvature_is_negative(name):
    problem, U, _ = posed(LIMITS[name])
    matrix = problem.curvature_matrix(problem.evaluate(U))
    assert np.linalg.eigvalsh(matrix).min() >= -1e-9 * np.linalg.norm(matrix)


def test_sigma_must_be_a_positive_number():
    for wrong in (0, -1.0, np.nan, np.inf, "0.1"):
        with pytest.raises(unrelu.InputError, match="sigma must be a finite number above 0, or None to estimate it"):
            Censored(wrong)


# --- fits -------------------------------------------------------------------------------------------------------------


def noisy(sigma, seed=0, n=120, rank=3):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    M = U @ U.T
    Y = M + sigma * rng.standard_normal((n, n))
    return M, np.where(Y >= 0, Y, np.nan)


def off(completion, M):
    return np.linalg.norm(completion.matrix() - M) / np.linalg.norm(M)


@pytest.fixture(scope="module", params=[0.3, 1.0, 2.0])
def fits(request):
    M, X = noisy(request.param)
    return request.param, M, X, unrelu.complete(X, 3, loss="censored", rng=0)


def test_a_fit_by_likelihood_is_better_the_larger_the_noise(fits):
    sigma, M, X, found = fits
    assert found.loss == "censored"
    assert found.verdict.code.value == "fitted-to-noise", found.verdict
    plain = unrelu.complete(X, 3, loss="one-sided", rng=0)
    assert off(found, M) < {0.3: 1.0, 1.0: 0.95, 2.0: 0.4}[sigma] * off(plain, M)


def test_the_residual_is_that_of_the_seen_entries(fits):
    _, _, X, found = fits
    seen = ~np.isnan(X)
    right = np.linalg.norm(found.matrix()[seen] - X[seen]) / np.linalg.norm(X[seen])
    assert found.residual == pytest.approx(right, rel=1e-9)


def test_the_noise_level_is_estimated(fits):
    sigma, _, X, _ = fits
    problem = PSDProblem(Observations.of(X), 3, Censored())
    start = unrelu.complete(X, 3, loss="censored", rng=0).factor / np.sqrt(problem.unit)
    point = unrelu._old.loop.run.run(
        problem, unrelu.GaussNewton(), (start, start), unrelu._old.loop.stopping.MaxIterations(20)
    ).point
    assert point.loss.noise == pytest.approx(sigma, rel=0.06)


def test_a_named_start_leads_to_the_same_fit(fits):
    _, _, X, found = fits
    one = unrelu.complete(X, 3, loss="censored", method="gauss-newton", rng=3)
    np.testing.assert_allclose(one.matrix(), found.matrix(), atol=1e-6)


def test_gradient_descent_minimises_it_too():
    M, X = noisy(1.0, n=60)
    found = unrelu.complete(X, 3, loss=Censored(1.0), method="gradient-descent", max_iter=4000, tol=1e-7, rng=0)
    newton = unrelu.complete(X, 3, loss=Censored(1.0), method="gauss-newton", rng=0)
    np.testing.assert_allclose(found.matrix(), newton.matrix(), atol=1e-3)
    assert off(found, M) < 0.25


def test_without_noise_it_is_exact():
    M, X = noisy(0.0)
    found = unrelu.complete(X, 3, loss="censored", rng=0)
    assert found.verdict.code.value == "fitted"
    assert "no noise is left to estimate" in found.verdict.reason
    np.testing.assert_allclose(found.matrix(), M, atol=1e-10)
    alone = unrelu.complete(X, 3, loss="censored", method="gauss-newton", rng=0)
    assert alone.verdict.code.value == "fitted", alone.verdict
    np.testing.assert_allclose(alone.matrix(), M, atol=1e-5)


def test_a_rank_too_low_is_told_from_noise():
    _, X = noisy(0.5)
    found = unrelu.complete(X, 2, loss="censored", rng=0)
    assert found.verdict.code.value == "best-of-rank", found.verdict
    assert "times what noise leaves, so the data are not of rank 2" in found.verdict.reason


def test_scaling_scales_and_permuting_permutes():
    _, X = noisy(1.0, n=40)
    found = unrelu.complete(X, 3, loss="censored", rng=0)
    big = unrelu.complete(1024 * X, 3, loss="censored", rng=0)
    np.testing.assert_allclose(big.matrix(), 1024 * found.matrix(), rtol=1e-9)
    assert big.verdict.code == found.verdict.code
    order = np.random.default_rng(0).permutation(40)
    turned = unrelu.complete(X[np.ix_(order, order)], 3, loss="censored", rng=0)
    np.testing.assert_allclose(turned.matrix(), found.matrix()[np.ix_(order, order)], atol=1e-7)


def test_what_was_tried_is_told_under_both_losses():
    _, X = noisy(1.0, n=40)
    found = unrelu.complete(X, 3, loss="censored", rng=0)
    losses = [attempt.loss for attempt in found.attempts]
    assert losses[0] == "one-sided"
    assert losses[-2:] == ["censored", "censored"]
    values = found.history.column("objective")
    assert np.isfinite(values).all()


def test_float32_stays_float32():
    _, X = noisy(1.0, n=60)
    found = unrelu.complete(X.astype(np.float32), 3, loss="censored", rng=0)
    assert found.matrix().dtype == np.float32
    double = unrelu.complete(X, 3, loss="censored", rng=0)
    np.testing.assert_allclose(found.matrix(), double.matrix(), atol=5e-3)


@pytest.mark.parametrize("loss", ["observed", "one-sided"])
def test_squares_say_when_the_choice_of_what_is_seen_bends_them(loss):
    M, X = noisy(2.0, n=100, rank=3)
    bent = unrelu.complete(X, 3, loss=loss, rng=0)
    assert off(bent, M) > 2 * off(unrelu.complete(X, 3, rng=0), M)
    assert bent.verdict.code.value == "stationary"
    assert not bent.determined.any()
    if "decided which" in bent.verdict.reason:  # else it was stationary for another reason
        assert "bends this fit" in bent.verdict.reason
        assert "use loss='censored'" in bent.verdict.reason
    M, X = noisy(0.1, n=100, rank=3)
    straight = unrelu.complete(X, 3, loss=loss, rng=0)
    assert straight.verdict.code.value == "fitted-to-noise", straight.verdict


def test_the_papers_loss_is_told_of_its_bend():
    """The instance of which the paper's loss made something that was off by two thirds, and called it converged."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((200, 5))
    Y = U @ U.T + rng.standard_normal((200, 200))
    found = unrelu.complete(np.where(Y >= 0, Y, np.nan), 5, loss="observed", rng=0)
    assert off(found, U @ U.T) > 0.5
    assert not found.verdict.answered
    assert "bends this fit" in found.verdict.reason
