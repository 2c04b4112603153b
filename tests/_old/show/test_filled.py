from xml.etree import ElementTree

import numpy as np
import pytest

import unrelu
from helpers import relu_instance
from unrelu._old.show.filled import COLOURS, draw_filled
from unrelu._old.show.plots import save_figure


def test_a_table_stays_in_its_order_and_each_column_has_its_own_colours():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 2)) @ (rng.standard_normal((2, 8)) * 2.0 ** np.arange(8))  # units of their own
    limits = np.quantile(M, 0.2, axis=0)[None]
    X = np.where(limits <= M, M, np.nan)
    found = unrelu.complete_rectangular(X, 2, threshold=limits, rng=0)
    seen, filled, flags = (ax.images[0].get_array() for ax in draw_filled(found).axes[:3])
    np.testing.assert_array_equal(np.ma.getmaskarray(seen), np.isnan(X))
    assert not np.ma.getmaskarray(filled).any()
    np.testing.assert_array_equal(flags, np.isnan(X))  # 0 measured, 1 censored
    np.testing.assert_allclose(np.asarray(filled).mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.asarray(filled).std(axis=0), 1)


def test_a_symmetric_matrix_is_sorted_and_shows_what_was_left_empty():
    _, X = relu_instance(40, 3)
    X[5] = X[:, 5] = np.nan
    with pytest.warns(unrelu.CompletionWarning, match="nothing was seen of row 5"):
        found = unrelu.complete(X, 3, rng=0)
    figure = draw_filled(found)
    seen, filled, flags = (np.ma.filled(ax.images[0].get_array().astype(float), np.nan) for ax in figure.axes[:3])
    assert np.isnan(filled).sum() == 79  # a row and a column of 40
    counts = np.bincount(flags.astype(int).ravel(), minlength=4)
    assert counts.tolist() == [np.isfinite(X).sum(), np.isnan(X).sum() - 79, 0, 79]
    np.testing.assert_array_equal(np.sort(seen[~np.isnan(seen)]), np.sort(X[~np.isnan(X)]))
    np.testing.assert_array_equal(seen, seen.T)
    # What is handed over is drawn, in place of what the data determine.
    whole = draw_filled(found, filled=found.filled())
    assert not np.ma.getmaskarray(whole.axes[1].images[0].get_array()).any()


def test_names_are_drawn_where_there_is_room_and_never_as_formulas(tmp_path):
    pandas = pytest.importorskip("pandas")
    u = np.arange(1.0, 7)
    names = ["$x$", "a_rather_long_name_of_a_column", "\x1b[1m", "d", "e", "f"]
    figure = draw_filled(unrelu.complete(pandas.DataFrame(np.outer(u, u), columns=names, index=names), 1, rng=0))
    labels = figure.axes[0].get_xticklabels()
    drawn = {label.get_text() for label in labels}
    assert {"$x$", "a_rather_long_nam…", "d"} <= drawn
    assert not any("\x1b" in name for name in drawn)
    assert not any(label.get_parse_math() for label in labels)
    save_figure(figure, tmp_path / "a.svg")
    ElementTree.parse(tmp_path / "a.svg")
    _, X = relu_instance(60, 2)
    assert len(draw_filled(unrelu.complete(X, 2, rng=0)).axes[0].get_xticks()) == 0


def test_colours_are_four_greys_in_print():
    greys = [sum(int(colour[k : k + 2], 16) * w for k, w in ((1, 0.299), (3, 0.587), (5, 0.114))) for colour in COLOURS]
    assert np.diff(sorted(greys)).min() > 40
