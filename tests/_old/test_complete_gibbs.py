"""``method="gibbs"`` at the front doors: what it covers, what it refuses, and what an end in the middle leaves."""

import warnings

import numpy as np
import pandas as pd
import pytest

import unrelu
from unrelu import MaxSeconds, PSDCompleter, Stop, Verdict
from unrelu._old.results.sampled import _verdict
from unrelu._old.solvers import SAMPLERS, Gibbs
from unrelu.datasets import planted

FEW = dict(method="gibbs", max_iter=60, rng=0)


def instance(n=20, rank=2, sigma=0.3, seed=0):
    M = planted(n, rank, sigma=sigma, symmetric_noise=True, rng=seed)
    return M, np.where(M.matrix >= 0, M.matrix, np.nan)


def test_intervals_cover_and_the_chains_agree():
    M, X = instance(40, 2, 0.5, seed=3)
    found = unrelu.complete(X, 2, method="gibbs", rng=0, max_iter=1000)
    assert found.verdict.code is Stop.SAMPLED
    assert found.verdict.converged
    assert not found.verdict.determines
    assert "R̂ of entries is at most 1.0" in found.verdict.reason
    assert "independent ones" in found.verdict.reason
    i, j = np.nonzero(np.triu(np.isnan(X), 1))
    low, high = found.predict(i, j)
    assert 0.91 < np.mean((low <= M.matrix[i, j]) & (M.matrix[i, j] <= high)) < 0.99
    low, high = found.interval(i, j)
    assert 0.88 < np.mean((low <= M.truth[i, j]) & (M.truth[i, j] <= high)) <= 0.99
    assert abs(found.sigma - 0.5) < 0.05
    assert found.method == "gibbs"
    assert (found.loss, found.sigma_given) == ("censored", False)


def test_chains_that_do_not_agree_are_not_converged():
    found = unrelu.complete(instance()[1], 2, method=Gibbs(chains=2), max_iter=12, rng=0)
    assert found.verdict.code is Stop.MAX_ITERATIONS
    assert not found.verdict.converged
    assert "the chains do not agree yet (R̂ must be below 1.05)" in found.verdict.reason


@pytest.mark.parametrize(("worst", "code"), [(1.049, Stop.SAMPLED), (1.05, Stop.MAX_ITERATIONS)])
def test_the_verdict_hangs_on_r_hat(monkeypatch, worst, code):
    drawn = unrelu.complete(instance()[1], 2, **FEW).drawn
    monkeypatch.setattr("unrelu._old.results.sampled.agreement", lambda draws: (worst, 500.0))
    assert _verdict(Verdict(Stop.MAX_ITERATIONS, ""), drawn).code is code
    assert _verdict(Verdict(Stop.CONVERGED, ""), drawn).code is code
    assert _verdict(Verdict(Stop.MAX_SECONDS, "the time was over"), drawn).code is Stop.MAX_SECONDS


@pytest.mark.parametrize(("least", "code"), [(100.0, Stop.SAMPLED), (99.9, Stop.MAX_ITERATIONS)])
def test_the_verdict_hangs_on_the_effective_sample_size(monkeypatch, least, code):
    drawn = unrelu.complete(instance()[1], 2, **FEW).drawn
    monkeypatch.setattr("unrelu._old.results.sampled.agreement", lambda draws: (1.01, least))
    verdict = _verdict(Verdict(Stop.MAX_ITERATIONS, ""), drawn)
    assert verdict.code is code
    assert ("must be worth 100 independent ones" in verdict.reason) is (code is Stop.MAX_ITERATIONS)


def mirrored(seed=4):
    """Rows 28 to 35 see the others by rows on a line alone, so that their mirror images fit as well."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((36, 2))
    U[:12, 1] = 0
    noise = rng.standard_normal((36, 36))
    Y = U @ U.T + 0.1 * (np.triu(noise) + np.triu(noise, 1).T)
    X = Y.copy()
    X[28:, 12:28] = X[12:28, 28:] = np.nan
    return Y, X


def test_rows_with_two_places_are_named_and_intervals_cover_both():
    Y, X = mirrored()
    with pytest.warns(unrelu.CompletionWarning, match="too little was seen to place rows 28, 29"):
        found = unrelu.complete(X, 2, threshold=None, method="gibbs", rng=4, max_iter=600)
    assert found.verdict.code is Stop.UNDERDETERMINED
    assert not found.verdict.converged
    assert "began at 2 fits that the data do not tell apart, which differ most in rows 28, 29" in found.verdict.reason
    assert set(found.undetermined_rows) <= set(range(28, 36))
    i, j = np.nonzero(np.isnan(X))
    low, high = found.predict(i, j)
    assert np.mean((low <= Y[i, j]) & (Y[i, j] <= high)) > 0.88


def test_few_sweeps_from_two_places_say_so_too():
    _, X = mirrored()
    with pytest.warns(unrelu.CompletionWarning, match="too little was seen to place rows"):
        found = unrelu.complete(X, 2, threshold=None, method="gibbs", rng=4, max_iter=10)
    assert found.verdict.code in (Stop.MAX_ITERATIONS, Stop.UNDERDETERMINED)
    assert "began at 2 fits that the data do not tell apart" in found.verdict.reason


def test_an_interrupt_while_other_fits_are_looked_for_leaves_the_fit(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("unrelu._old.auto.sampled.other_fits", interrupted)
    found = unrelu.complete(instance()[1], 2, **FEW)
    assert found.verdict.code is Stop.INTERRUPTED
    assert found.posterior is None
    assert found.residual < 0.5


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_squares_of_large_and_small_data_leak_no_warning(unit):
    _, X = instance()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = unrelu.complete(unit * X, 2, **FEW)
    assert 0.1 * unit < found.sigma < unit
    assert found.noise.sigma == pytest.approx(found.sigma)


def test_the_same_seed_gives_the_same_draws():
    _, X = instance()
    kept = X.copy()
    one, two, other = (unrelu.complete(X, 2, **(FEW | dict(rng=seed))) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.posterior.draws, two.posterior.draws)
    assert not np.array_equal(one.posterior.draws, other.posterior.draws)
    np.testing.assert_array_equal(X, kept)


def test_scaling_the_data_scales_the_draws():
    _, X = instance()
    one, four = (unrelu.complete(scale * X, 2, **FEW) for scale in (1.0, 16.0))
    np.testing.assert_array_equal(4 * one.posterior.draws, four.posterior.draws)
    np.testing.assert_array_equal(16 * one.posterior.sigma, four.posterior.sigma)


def test_permuting_the_rows_permutes_the_draws():
    _, X = instance()
    order = np.random.default_rng(1).permutation(len(X))
    one, other = unrelu.complete(X, 2, **FEW), unrelu.complete(X[np.ix_(order, order)], 2, **FEW)
    everyone = np.arange(len(X))
    np.testing.assert_allclose(
        one.posterior.mean(order[:, None], order), other.posterior.mean(everyone[:, None], everyone), rtol=1e-6
    )


def test_single_precision_stays_single():
    found = unrelu.complete(instance()[1].astype(np.float32), 2, **FEW)
    assert found.factor.dtype == found.posterior.draws.dtype == found.filled().dtype == np.float32


def test_the_diagonal_is_left_out_unless_it_is_asked_for():
    _, X = instance()
    far = X.copy()
    np.fill_diagonal(far, 50.0)
    # A diagonal that is no low-rank entry: data bend the fit, a limit far away and nothing at all do not.
    sizes = {
        use: np.trace(unrelu.complete(far, 2, **FEW, diagonal=use).matrix())
        for use in ("auto", "unknown", "limit", "data")
    }
    assert sizes["auto"] == sizes["unknown"]
    assert sizes["limit"] < 2 * sizes["auto"]
    assert sizes["data"] > 3 * sizes["auto"]


def test_a_given_noise_is_kept_and_labels_are_known():
    _, X = instance()
    names = [f"s{k}" for k in range(len(X))]
    frame = pd.DataFrame(X, index=names, columns=names)
    found = unrelu.complete(frame, 2, sigma=0.4, **FEW)
    assert (found.posterior.sigma == 0.4).all()
    assert found.sigma_given
    assert found.posterior.mean("s3", "s4") == found.posterior.mean(3, 4)
    assert list(found.filled().index) == names


@pytest.mark.parametrize("pairs", ["one", "independent"])
def test_pairs_are_handed_to_the_sampler(pairs, monkeypatch):
    told = []
    before = Gibbs.start
    monkeypatch.setattr(Gibbs, "start", lambda self, *rest: told.append(self.pairs) or before(self, *rest))
    found = unrelu.complete(instance()[1], 2, pairs=pairs, **FEW)
    assert told == [pairs]
    assert found.noise.pairs == pairs


def test_a_rehearsal_beside_it_does_not_take_over():
    found = unrelu.complete(instance()[1], 2, rehearse=True, **FEW)
    assert found.rehearsal is not None
    assert not found.forecasts
    assert found.posterior is not None


def test_limits_of_all_kinds_hold():
    M, _ = instance()
    X = np.where(np.abs(M.matrix) <= 0.8, M.matrix, np.nan)
    found = unrelu.complete(X, 2, threshold=(-0.8, 0.8), seen="between", **FEW)
    i, j = np.nonzero(np.triu(np.isnan(X), 1))
    drawn = found.posterior.interval(i, j)
    assert (found.posterior.probability_above(-0.8, i, j) == found.posterior.probability_above(0.8, i, j)).all()
    assert (np.abs(drawn[0]) >= 0.8 - 1e-9).all()


def stops_after(count):
    def callback(record):
        if record.iteration == count:
            raise KeyboardInterrupt

    return callback


def test_an_interrupt_keeps_the_draws_so_far():
    found = unrelu.complete(instance()[1], 2, method="gibbs", rng=0, callback=stops_after(41))
    assert found.verdict.code is Stop.INTERRUPTED
    assert found.drawn.sweeps == 41
    assert found.posterior.draws.shape[:2] == (4, 21)
    assert "interrupted after iteration 41; 4 chains of 41 sweeps" in found.verdict.reason


def test_a_callback_may_stop_it():
    found = unrelu.complete(instance()[1], 2, method="gibbs", rng=0, callback=lambda record: record.iteration == 30)
    assert found.verdict.code is Stop.CALLBACK
    assert found.drawn.sweeps == 30


def test_before_the_first_draw_there_is_no_posterior():
    _, X = instance()
    early = unrelu.complete(X, 2, method="gibbs", rng=0, callback=stops_after(2))
    late = unrelu.complete(X, 2, method="gibbs", rng=0, tol=MaxSeconds(1e-6))
    for found, code in ((early, Stop.INTERRUPTED), (late, Stop.MAX_SECONDS)):
        assert found.verdict.code is code
        assert found.posterior is None
        assert "there is no posterior" in found.verdict.reason
        assert np.isfinite(found.matrix()).all()


def test_the_end_of_the_time_keeps_the_draws_so_far(monkeypatch):
    _, X = instance()

    def slowly(record):
        if record.iteration == 50:
            monkeypatch.setattr("unrelu._old.base.budget.perf_counter", lambda: 1e12)

    found = unrelu.complete(X, 2, method="gibbs", rng=0, tol=MaxSeconds(1e6), callback=slowly)
    assert found.verdict.code is Stop.MAX_SECONDS
    assert found.drawn.sweeps == 50


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(rank=None), "rank must be named"),
        (dict(start="tailored"), "method 'gibbs' begins at the fit of method 'auto'; drop start="),
        (dict(loss="observed"), "method 'gibbs' minimises censored, not loss 'observed'"),
        (dict(structure="indefinite"), "method 'gibbs' samples positive semidefinite matrices; drop structure="),
    ],
)
def test_what_it_cannot_do_is_refused_in_a_sentence(options, words):
    with pytest.raises(unrelu.InputError, match=words):
        unrelu.complete(instance()[1], **(dict(rank=2, method="gibbs") | options))


def test_too_many_rows_and_only_zeros_are_refused():
    with pytest.raises(unrelu.InputError, match="samples matrices of up to 2000 rows, and this one has 2001"):
        Gibbs().require_size(2001)
    with pytest.raises(unrelu.InputError, match="needs seen entries other than zero, and got none"):
        unrelu.complete(np.zeros((4, 4)), 1, method="gibbs")
    with pytest.raises(unrelu.InputError, match="not for tables: it samples symmetric matrices"):
        unrelu.complete_rectangular(np.ones((4, 3)), 1, method="gibbs")
    with pytest.raises(unrelu.InputError, match="gibbs"):
        unrelu.complete(np.ones((4, 4)), 1, method="gibs")


def test_it_goes_through_the_other_doors():
    _, X = instance()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        completer = PSDCompleter(2, method="gibbs", max_iter=60, random_state=0)
        filled = completer.fit_transform(X)
        assert np.isfinite(completer.transform(X[:3])).all()
        assert np.isfinite(completer.score(X[:3]))
    assert completer.completion_.posterior is not None
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    compared = unrelu.compare(X, 2, methods=["gibbs"], trials=1, budget=5)
    assert compared.rows[0].method == "gibbs"
    assert all(row.code in ("sampled", "max-iterations", "max-seconds") for row in compared.rows)
    assert set(SAMPLERS) == {"gibbs"}
