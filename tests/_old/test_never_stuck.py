"""A call ends when its time is over and when somebody interrupts it, in every room, with the best it has."""

import numpy as np
import pytest

import unrelu
from unrelu import MaxIterations, MaxSeconds, RelativeGradientNormBelow, Stop
from unrelu._old.base.budget import OutOfTime, budget, checkpoint, current, phase, unlimited
from unrelu._old.data import sampling

pytestmark = pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")


def instance(kind):
    """One matrix for each way through ``auto``."""
    rng = np.random.default_rng(4)
    U = rng.standard_normal((60, 3))
    M = U @ U.T
    if kind == "outside":  # rows that linear steps do not place
        tau = float(np.quantile(M, 0.85))
        return np.where(tau <= M, M, np.nan), 3, tau
    if kind == "pieces":
        U = np.abs(U)
        U[30:] *= -1
        M = U @ U.T
        return sampling.relu(M), 3, 0.0
    if kind == "rank":  # the best of its rank, after many starts
        Z = rng.standard_normal((24, 12))
        return sampling.relu(Z @ Z.T), 3, 0.0
    if kind == "silent":  # noise, and no block to tell it by
        hidden = np.triu(rng.random((40, 40)) < 0.5, 0)
        noise = 0.05 * rng.standard_normal((40, 40))
        return np.where(hidden | hidden.T, np.nan, M[:40, :40] + noise + noise.T), 3, None
    return sampling.relu(M), 3, 0.0


KINDS = ["plain", "outside", "pieces", "rank", "silent"]


class Watcher:
    """A callback that hears of phases and iterations, and may do something at one of them."""

    def __init__(self, at=None, act=None):
        self.heard, self.at, self.act = [], at, act

    def _step(self, what):
        self.heard.append(what)
        if len(self.heard) - 1 == self.at:
            self.act()

    def phase(self, name):
        self._step(name)

    def __call__(self, record):
        self._step(record.iteration)


def interrupt():
    raise KeyboardInterrupt


def moments(kind):
    X, rank, tau = instance(kind)
    watcher = Watcher()
    unrelu.complete(X, rank, threshold=tau, rng=0, callback=watcher)
    return watcher.heard


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_at_any_moment_returns_the_best_so_far(kind):
    X, rank, tau = instance(kind)
    heard = moments(kind)
    for at in sorted({*range(min(len(heard), 8)), *range(0, len(heard), max(1, len(heard) // 12)), len(heard) - 1}):
        completion = unrelu.complete(X, rank, threshold=tau, rng=0, callback=Watcher(at, interrupt))
        assert completion.verdict.code is Stop.INTERRUPTED, (at, heard[at], completion.verdict)
        assert "interrupted" in completion.verdict.reason
        assert np.isfinite(completion.factor).all()
        assert not completion.determined.any()
        assert completion.seconds > 0


def test_the_best_so_far_is_the_lowest_of_all_attempts():
    X, rank, tau = instance("rank")
    heard = moments("rank")
    late = unrelu.complete(X, rank, threshold=tau, rng=0, callback=Watcher(len(heard) - 3, interrupt))
    assert len(late.attempts) > 3
    assert late.objective <= min(attempt.objective for attempt in late.attempts) * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_when_the_time_is_over_the_best_so_far_comes_back(kind, monkeypatch):
    """A clock that stands still until a chosen moment: no second is waited for."""
    X, rank, tau = instance(kind)
    heard = moments(kind)
    rule = RelativeGradientNormBelow(1e-15) | MaxIterations(500) | MaxSeconds(1e6)
    for at in range(0, len(heard), max(1, len(heard) // 8)):
        watcher = Watcher(at, lambda: setattr(current(), "seconds", 0.0))
        completion = unrelu.complete(X, rank, threshold=tau, rng=0, tol=rule, callback=watcher)
        last = heard[at] == heard[-1]
        assert completion.verdict.code is Stop.MAX_SECONDS or last, (at, heard[at], completion.verdict)
        assert np.isfinite(completion.factor).all()


def test_a_named_method_obeys_too():
    X, rank, tau = instance("plain")
    for method in ("gauss-newton", "gradient-descent", "scaled-gd", "pam", "momentum-pam", "gnmr", "admm"):
        for at in (0, 1, 3):
            watcher = Watcher(at, interrupt)
            completion = unrelu.complete(X, rank, threshold=tau, method=method, rng=0, tol=1e-14, callback=watcher)
            if len(watcher.heard) > at:
                assert completion.verdict.code is Stop.INTERRUPTED, (method, at)


def test_before_anything_was_found_the_answer_is_zero_and_says_so():
    X, rank, tau = instance("plain")
    completion = unrelu.complete(X, rank, threshold=tau, rng=0, callback=Watcher(0, interrupt))
    assert not completion.factor.any()
    assert "nothing was found before that, and the matrix is zero" in completion.verdict.reason
    assert completion.residual == pytest.approx(1.0)


def test_places_found_before_the_first_fit_are_kept():
    X, rank, tau = instance("plain")
    at = next(k for k, what in enumerate(moments("plain")) if str(what).startswith("starting"))
    completion = unrelu.complete(X, rank, threshold=tau, rng=0, callback=Watcher(at, interrupt))
    assert completion.factor.any()
    assert "only places of some rows" in completion.verdict.reason
    assert completion.residual < 0.1


def test_an_interrupt_while_rows_are_judged_leaves_the_fit():
    X, rank, tau = instance("outside")
    heard = moments("outside")
    at = max(k for k, what in enumerate(heard) if what == "which rows are determined")
    completion = unrelu.complete(X, rank, threshold=tau, rng=0, callback=Watcher(at, interrupt))
    assert completion.verdict.code is Stop.INTERRUPTED
    assert "interrupted while it was asked which rows the data determine" in completion.verdict.reason
    assert completion.residual < 1e-9


def test_phases_are_named_as_they_begin():
    heard = [what for what in moments("outside") if isinstance(what, str)]
    assert heard[:3] == ["finding fully seen blocks", "joining bodies of rows", "fitting the rows that have a place"]
    assert "fitting the other rows" in heard


def test_a_limit_is_that_of_the_whole_call():
    assert (RelativeGradientNormBelow(1e-6) | MaxSeconds(3) | MaxSeconds(2)).time_limit == 2
    assert (RelativeGradientNormBelow(1e-6) | MaxIterations(3)).time_limit is None
    X, rank, tau = instance("plain")
    late = unrelu.complete(X, rank, threshold=tau, tol=RelativeGradientNormBelow(1e-15) | MaxSeconds(1e-9), rng=0)
    assert late.verdict.code is Stop.MAX_SECONDS
    assert late.seconds >= 1e-9


def test_the_time_reported_is_the_time_spent():
    from time import perf_counter

    X, rank, tau = instance("rank")
    began = perf_counter()
    completion = unrelu.complete(X, rank, threshold=tau, rng=0)
    spent = perf_counter() - began
    assert 0.5 * spent <= completion.seconds <= spent
    assert completion.summary()["seconds"] == completion.seconds
    assert completion.seconds >= completion.history[-1].seconds


def test_a_budget_within_a_budget_ends_no_later():
    with budget(1e6) as outer, budget(2e6) as inner:
        assert inner.seconds <= outer.seconds
    with budget(1e-9), pytest.raises(OutOfTime):
        phase("anything")
    with budget(1e-9), unlimited():
        checkpoint()
    assert current() is None
    checkpoint()
