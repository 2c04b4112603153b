"""The picture of a rehearsal: what was forecast against what was hidden, and the curve."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import unrelu
from helpers import relu_instance
from unrelu import Stop, Verdict
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsed import Rehearsal, RehearsedLevel, Trial
from unrelu._old.show.filled import draw_filled
from unrelu._old.show.rehearsal import plot_rehearsal, plot_tried

RANKS = [(1, 0.1), (2, 0.4), (4, -30.0)]
PENALTIES = [(0.01, 0.5), (0.1, 0.3), (1.0, float("-inf"))]


def rehearsal(extrapolates=True):
    trials = [Trial(rank, 0.0, "data", (gain,), (0.1,)) for rank, gain in RANKS]
    trials += [Trial(10, penalty, "limit", (gain,), (0.1,)) for penalty, gain in PENALTIES]
    levels = RehearsedLevel(0.25, 0.5, (0.2, 0.4), (0.3, 0.45)), RehearsedLevel(0.5, 0.7, (0.1,), (0.6,))
    return Rehearsal(tuple(trials), 3, levels, 0.1, 0.1, 1.0, 0.5, NoStructure(0.0, 1.0), "below", extrapolates)


def drawn(lines):
    return [[tuple(point) for point in line.get_xydata().tolist()] for line in lines]


def test_every_pair_and_every_model_is_drawn():
    figure = Figure()
    forecasts, curve = figure.subplots(1, 2)
    plot_rehearsal(rehearsal(), (forecasts, curve))
    assert drawn(forecasts.lines)[:2] == [[(0.3, 0.2), (0.45, 0.4)], [(0.6, 0.1)]]
    assert drawn(forecasts.lines)[2] == [(0.1, 0.1), (0.6, 0.6)]  # forecast = hidden
    (across,) = set(figure.axes) - {forecasts, curve}
    assert drawn(curve.lines)[0] == PENALTIES
    assert drawn(across.lines)[0] == [(float(rank), gain) for rank, gain in RANKS]
    assert (0.01, 0.5) in drawn(curve.lines)[1]  # the best is marked
    assert across.get_xlabel() == "rank"
    assert curve.get_xlabel() == "trace penalty"
    low, high = curve.get_ylim()
    assert -2 < low < 0 < 0.5 < high  # a model that is far off does not flatten the others


def test_the_title_says_where_simple_filling_does_as_well():
    axes = Figure().subplots(1, 2)
    plot_rehearsal(rehearsal(extrapolates=False), axes)
    assert "not better than simple filling" in axes[0].get_title()


def test_a_picture_of_a_forecast_has_the_rehearsal_below_and_leaves_nothing_empty():
    _, X = relu_instance(24, 2)
    found = unrelu.complete(X, 2, rng=0)
    plain = draw_filled(found)
    forecast = replace(
        found, verdict=Verdict(Stop.PREDICTS, "to its error"), rehearsal=rehearsal(), sigma=0.1, loss="censored"
    )
    figure = draw_filled(forecast)
    labels = [ax.get_xlabel() for ax in figure.axes]
    assert "hidden on purpose" in labels
    assert "trace penalty" in labels
    assert "hidden on purpose" not in [ax.get_xlabel() for ax in plain.axes]
    assert not np.ma.getmaskarray(figure.axes[1].images[0].get_array()).any()
    assert set(np.unique(figure.axes[2].images[0].get_array())) == {0, 1}


def test_models_of_a_table_are_bars_and_one_that_is_far_off_is_cut():
    rng = np.random.default_rng(0)
    M = 5 + rng.standard_normal((80, 1)) + 0.5 * rng.standard_normal((80, 4))
    limits = np.quantile(M, 0.3, axis=0)
    found = unrelu.complete_table(np.where(limits <= M, M, np.nan), threshold=limits, rng=0)
    ax = Figure().subplots()
    plot_tried(found.rehearsal, ax)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([one.score for one in found.rehearsal.tried])
    best = max(one.score for one in found.rehearsal.tried)
    assert ax.get_xlim()[0] >= -2.1 * best
    taken = [bar.get_facecolor() for bar in ax.patches]
    assert sum(colour != taken[0] for colour in taken) == 1  # the first is each column by itself
    figure = draw_filled(found, np.isnan(np.asarray(found.sheet.values)).astype(np.uint8), found.filled())
    assert any("log score per cell" in ax.get_xlabel() for ax in figure.axes)
