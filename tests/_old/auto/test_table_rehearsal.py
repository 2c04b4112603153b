"""Limits that are raised column by column."""

import numpy as np
import pytest

from unrelu import Limits
from unrelu._old.auto.table_candidates import Alone, LowRank, Shrunk, Together, placed
from unrelu._old.auto.table_choice import TableRehearsal, choose
from unrelu._old.auto.table_rehearsal import Shape, best_widths, raised_cells, table_levels
from unrelu._old.data.measured import measured
from unrelu._old.data.table_observations import table_observations
from unrelu._old.model.margins import Margins

nan, inf = np.nan, np.inf
COUNT = np.arange(1.0, 13.0)[:, None]


def cells_of(X, **said):
    return measured(table_observations(X, **said))


def rng():
    return np.random.default_rng(0)


def test_values_next_to_the_limit_are_hidden_on_either_side():
    X = np.vstack([COUNT, [[nan]]])
    low = raised_cells(cells_of(X, threshold=0.5), 0.25, rng())
    assert np.array_equal(np.isnan(low.values[:, 0]), [True] * 3 + [False] * 9 + [True])
    assert (low.ends[1] == 3.75).all()
    high = raised_cells(cells_of(X, threshold=20.0, seen="below"), 0.25, rng())
    assert np.array_equal(np.isnan(high.values[:, 0]), [False] * 9 + [True] * 4)
    assert (high.ends[0] == 9.25).all()
    both = raised_cells(cells_of(X, threshold=(0.5, 20.0), seen="between"), 0.5, rng())
    assert np.array_equal(np.flatnonzero(np.isnan(both.values[:, 0])), [0, 1, 2, 9, 10, 11, 12])
    assert (both.ends.gap[0] == 3.75).all()
    assert (both.ends.gap[1] == 9.25).all()


def test_what_is_missing_for_another_reason_stays_so():
    X = np.vstack([COUNT, [[nan], [nan]]])
    unknown = np.zeros(X.shape, bool)
    unknown[-1] = True
    raised = raised_cells(cells_of(X, threshold=0.5, unknown=unknown), 0.25, rng())
    assert raised.limited[:, 0].tolist() == [True] * 3 + [False] * 9 + [True, False]
    assert raised.ends[1][-1, 0] == inf
    assert raised.ends[1][-2, 0] == 3.75


def test_without_a_limit_cells_are_hidden_at_random():
    X = np.random.default_rng(1).standard_normal((400, 2))
    X[:40, 0] = nan
    raised = raised_cells(cells_of(X, threshold=None), 0.25, rng())
    assert 0.2 < np.mean(~raised.seen[40:, 0]) < 0.3
    assert raised.seen[:, 1].all()  # nothing is missing there
    assert not raised.limited.any()
    assert np.isinf(raised.ends[1]).all()


def test_limits_of_cells_are_raised_not_lowered():
    X = np.vstack([COUNT, [[nan], [nan]]])
    high = np.full(X.shape, 0.5)
    high[-1] = 6.0
    raised = raised_cells(cells_of(X, threshold=Limits(high=high)), 0.25, rng())
    assert raised.ends[1][-1, 0] == 6.0
    assert raised.ends[1][-2, 0] == 3.75


def test_a_column_of_few_values_is_left_as_it_is():
    X = np.vstack([np.repeat([[1.0], [2.0], [3.0], [4.0], [5.0]], 3, axis=0), [[nan]]])
    cells = cells_of(X, threshold=0.5)
    assert np.array_equal(raised_cells(cells, 0.5, rng()).values, cells.values, equal_nan=True)
    assert table_levels(cells, Shape(), rng())[1] == []


def planted(m=120, n=8, noise=0.4, seed=0):
    draw = np.random.default_rng(seed)
    M = draw.standard_normal((m, 1)) @ draw.uniform(0.5, 1.5, (1, n)) + noise * draw.standard_normal((m, n))
    limits = np.quantile(M, 0.3, axis=0)
    return M, cells_of(np.where(limits <= M, M, nan), threshold=limits[None])


def test_scores_prefer_what_is_true():
    M, cells = planted()
    world, levels = table_levels(cells, Shape(), rng())
    scores = {m: sum(best_widths(level.scores(m))[1].sum() for level in levels) for m in (Alone(), Together(3.0))}
    assert scores[Together(3.0)] > scores[Alone()] + 20
    hidden = ~cells.seen
    errors = [np.std((world.fit(m).forecast.expectation(cells.ends) - M)[hidden]) for m in (Alone(), Together(3.0))]
    assert errors[1] < 0.85 * errors[0]


def test_a_width_is_that_of_the_errors():
    """Forecasts that claim half of the error they have are widened to about twice."""
    _, cells = planted()
    _, levels = table_levels(cells, Shape(), rng())
    level = levels[0]
    fit = level.world.fit(Together(3.0))

    class Sure:
        name = "too sure of itself"

        def fit(self, world):
            class Found:
                forecast = fit.forecast.widened(np.array(0.5))
                rank = None

            return Found()

    honest, sure = (np.median(best_widths(level.scores(m))[0]) for m in (Together(3.0), Sure()))
    assert honest < 1.3
    assert sure == pytest.approx(2 * honest, rel=0.25)


@pytest.mark.parametrize("model", [LowRank(1), Shrunk(0.25)])
def test_rows_of_a_fit_are_placed_where_they_are(model):
    _, cells = planted(60, 12, 0.3)
    world, _ = table_levels(cells, Shape(), rng())
    fit = world.fit(model)
    some = np.flatnonzero(cells.seen.sum(axis=1) >= 4)[:20]
    again = fit.of_rows(cells.part(some))
    np.testing.assert_allclose(again.mean, fit.forecast.mean[some], atol=0.02)
    assert placed(fit.right, fit.forecast.margins.standard(cells), fit.sigma, fit.shrinkage).shape == fit.left.shape


def test_columns_that_have_nothing_in_common_are_taken_one_by_one():
    M = np.random.default_rng(3).standard_normal((150, 6))
    limits = np.quantile(M, 0.4, axis=0)
    chosen = choose(cells_of(np.where(limits <= M, M, nan), threshold=limits[None]), Shape(), rng())
    assert chosen.model == Alone()
    assert chosen.rehearsal.verdict.code.value == "does-not-extrapolate"
    assert not chosen.rehearsal.verdict.converged


def test_heavy_tails_are_not_taken_for_skewness():
    """What was seen of them has a long tail; raised limits show that there is one on the other side too."""
    M = np.random.default_rng(9).standard_t(4, (400, 6))
    limits = np.quantile(M, 0.2, axis=0)
    cells = cells_of(np.where(limits <= M, M, nan), threshold=limits[None])
    world, _ = table_levels(cells, Shape(), rng())
    assert np.sum(world.margins.skew > 0) <= 2
    assert np.sum(Margins.of(cells).skew > 0) == 6


def test_skew_columns_stay_skew():
    M = np.random.default_rng(9).gamma(3, 1, (400, 6))
    limits = np.quantile(M, 0.2, axis=0)
    world, _ = table_levels(cells_of(np.where(limits <= M, M, nan), threshold=limits[None]), Shape(), rng())
    assert np.sum(world.margins.skew > 0) >= 5


def test_a_small_gain_is_none():
    """It must be four in sum, and a hundredth a cell."""
    cells = 1000
    just, not_quite = (TableRehearsal((0.25,), cells, (), "rank 1", gain) for gain in (10.5, 9.5))
    assert just.verdict.code.value == "predicts"
    assert not_quite.verdict.code.value == "does-not-extrapolate"
    few = TableRehearsal((0.25,), 20, (), "rank 1", 3.5)
    assert few.verdict.code.value == "does-not-extrapolate"
    assert "too little was seen" in TableRehearsal().verdict.reason
