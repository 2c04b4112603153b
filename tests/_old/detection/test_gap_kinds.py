"""Which kind of gaps the data speak for where noise is large, and what may be asked beside gaps."""

import numpy as np
import pytest

import unrelu
import unrelu._old.solvers
from unrelu import InputError, MaxSeconds, Stop


def once(a):
    """One number for each pair."""
    return np.triu(a) + np.triu(a, 1).T


def planted(n, rank, sigma, seed):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    M = U @ U.T
    return M, M + sigma * once(rng.standard_normal((n, n))), once(rng.random((n, n)))


@pytest.mark.parametrize("kind", ["censored", "mixed", "random"])
def test_noise_does_not_make_a_wall_look_like_chance(kind):
    M, Y, chance = planted(80, 2, 1.0, 0)
    level = float(np.median(M))
    kept = {"censored": level <= Y, "mixed": (level <= Y) & (chance < 2 / 3), "random": chance < 0.5}[kind]
    found = unrelu.complete(np.where(kept, Y, np.nan), 2, threshold="auto", gaps="auto", rng=0)
    assert found.detection.kind == kind
    if kind == "mixed":
        assert found.detection.share == pytest.approx(1 / 3, abs=0.05)


@pytest.mark.slow
def test_small_values_seen_are_the_mirror_image_in_noise_too():
    M, Y, chance = planted(80, 2, 1.0, 0)
    kept = (float(np.median(M)) <= Y) & (chance < 2 / 3)
    table = np.where(kept, Y, np.nan)[:50]
    found = unrelu.complete_rectangular(table, 2, threshold="auto", gaps="auto", rng=0)
    turned = unrelu.complete_rectangular(-table, 2, threshold="auto", gaps="auto", seen="below", rng=0)
    assert found.detection.kind == turned.detection.kind == "mixed"
    assert turned.detection.level == pytest.approx(-found.detection.level)
    assert turned.detection.share == pytest.approx(found.detection.share, rel=0.01)


@pytest.fixture(scope="module")
def mixed():
    """A matrix of rank 2 with a wall and chance, and what it was."""
    M, Y, chance = planted(80, 2, 0.1, 0)
    return np.where((Y >= 0.2) & (chance < 0.7), Y, np.nan), M


def test_what_is_distrusted_stays_out_of_the_fit_with_a_curve(mixed):
    X, M = mixed
    i, j = (places[::20] for places in np.nonzero(np.triu(~np.isnan(X), 1)))
    wrong = X.copy()
    wrong[i, j] = wrong[j, i] = 15.0
    found = unrelu.complete(wrong, 2, threshold="auto", gaps="mixed", loss="huber", rng=0)
    assert len(found.distrusted) >= 0.9 * len(i)
    assert np.sqrt(np.mean((found.matrix() - M) ** 2)) < 0.1
    assert found.detection.share == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gaps": "mixed", "weights": np.ones((80, 80))}, "cannot heed weights="),
        ({"gaps": "curve", "sigma": 0.1}, "cannot heed sigma="),
        ({"gaps": "curve", "entry_range": (-9, 9)}, "cannot heed entry_range="),
        ({"gaps": "mixed", "loss": "observed"}, "cannot heed loss="),
        ({"gaps": "mixed", "structure": "indefinite"}, "cannot heed structure="),
        ({"gaps": "curve", "method": "gradient-descent"}, "by Gauss–Newton, got method='gradient-descent'"),
        ({"gaps": "mixed", "method": "gibbs"}, "method='gibbs' samples entries beyond one threshold"),
        (
            {"gaps": "mixed", "method": unrelu._old.solvers.Gibbs()},
            "method='gibbs' samples entries beyond one threshold",
        ),
        ({"gaps": "mixed", "threshold": None}, "threshold=None says that it says nothing"),
        ({"gaps": "auto", "threshold": None}, "threshold=None says that it says nothing"),
    ],
)
def test_what_a_curve_would_not_heed_is_refused(mixed, options, words):
    with pytest.raises(InputError, match=words):
        unrelu.complete(mixed[0], 2, **{"threshold": "auto", **options}, rng=0)


def test_weights_are_heeded_where_only_a_wall_goes_with_them(mixed):
    X, _ = mixed
    weights = np.ones(X.shape)
    weights[:20] = weights[:, :20] = 0.1
    found = unrelu.complete(X, 2, threshold="auto", gaps="auto", weights=weights, rng=0)
    assert found.detection.kind in ("censored", "random")
    assert found.loss != "detected"


def test_a_curve_needs_no_threshold_and_the_matrix_may_go_by_its_name(mixed):
    X, _ = mixed
    found = unrelu.complete(X=X, rank=2, threshold=None, gaps="curve", rng=0)
    same = unrelu.complete(X, 2, threshold="auto", gaps="curve", rng=0)
    assert found.detection == same.detection
    assert found.loss == "detected"


def test_the_time_is_that_of_everything(mixed):
    X, _ = mixed
    found = unrelu.complete(X, 2, threshold="auto", gaps="mixed", tol=MaxSeconds(1e-6), rng=0)
    assert found.verdict.code is Stop.MAX_SECONDS
    whole = unrelu.complete(X, 2, threshold="auto", gaps="mixed", rng=0)
    alone = unrelu.complete(X, 2, threshold=None, rng=0)
    assert whole.cpu_seconds > alone.cpu_seconds
    how = {"max_iter": 1, "method": "gauss-newton", "start": "gaussian"}
    one = unrelu.complete(X, 2, threshold="auto", gaps="mixed", rng=0, **how)
    assert one.verdict.code is Stop.MAX_ITERATIONS


def test_time_that_ends_during_the_curve_keeps_the_fit(mixed, monkeypatch):
    from unrelu._old.base.budget import OutOfTime
    from unrelu._old.results import gaps

    def late(*_, **__):
        raise OutOfTime

    monkeypatch.setattr(gaps, "found_gaps", late)
    found = unrelu.complete(mixed[0], 2, threshold="auto", gaps="mixed", rng=0)
    assert found.verdict.code is Stop.MAX_SECONDS
    assert "time was over before it was found how entries go unseen" in found.verdict.reason
    assert found.detection is None


def test_gaps_with_a_known_reason_are_not_called_chance(mixed):
    X, _ = mixed
    found = unrelu.complete(X, 2, gaps="random", threshold=None, unknown=np.isnan(X), rng=0)
    assert found.detection.share == 0
    half = np.isnan(X) & (np.arange(80) < 40)[:, None] & (np.arange(80) < 40)
    found = unrelu.complete(X, 2, gaps="random", threshold=None, unknown=half, rng=0)
    assert found.detection.share == pytest.approx((np.isnan(X) & ~half).sum() / (~half).sum())


def test_noise_after_the_cut_may_take_entries_beyond_it():
    M, Y, _ = planted(100, 3, 0.5, 0)
    seen = float(np.median(M)) <= M
    found = unrelu.complete(np.where(seen, Y, np.nan), 3, threshold="auto", rng=0)
    assert found.detection.before_noise
    i, j = np.nonzero(np.triu(~seen, 1) & (np.median(M) - 0.5 < M))
    low, high = found.predict(i, j)
    assert 0.92 < np.mean((low <= Y[i, j]) & (Y[i, j] <= high)) < 0.98


def test_error_bars_of_a_fit_with_a_curve_are_as_wide_as_its_errors():
    M, Y, _ = planted(100, 3, 0.5, 0)
    rms = float(np.sqrt(np.mean(M**2)))
    seen = np.median(M) <= Y + 0.5 * rms * once(np.random.default_rng(1).standard_normal(M.shape))
    found = unrelu.complete(np.where(seen, Y, np.nan), 3, threshold="auto", gaps="curve", rng=0)
    i, j = np.nonzero(np.triu(~seen, 1))
    low, high = found.interval(i, j)
    assert 0.92 < np.mean((low <= M[i, j]) & (M[i, j] <= high)) < 0.99
