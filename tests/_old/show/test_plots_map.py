"""The map shows what it says: every point once, in the marker of its kind, ellipses of the right size, parts apart."""

import numpy as np
import pytest
from scipy.stats import chi2

import unrelu
from unrelu._old.show.maps import RADIUS_95, draw_map
from unrelu._old.show.plots import save_figure
from unrelu.datasets import points_in_cube, within


def located(dim=2, n=40, noise=0.0, seed=1, **options):
    points = points_in_cube(n, dim, rng=seed)
    D = within(points, 0.5, noise=noise, rng=seed)
    return points, unrelu.complete_distances(D, dim, rng=0, **options)


def shown(figure):
    """{label: offsets} of the dots in the legend."""
    ax = figure.axes[0]
    dots = [c for c in ax.collections if type(c).__name__.endswith("PathCollection") or "Path3D" in type(c).__name__]
    return {c.get_label(): np.asarray(c.get_offsets()) for c in dots}


def test_radii_hold_95_percent():
    for dim, radius in RADIUS_95.items():
        assert radius == pytest.approx(chi2.ppf(0.95, dim), abs=1e-3)


def test_every_point_is_drawn_once_in_its_kind():
    points = points_in_cube(40, 2, rng=1)
    D = within(points, 0.5)
    near = np.flatnonzero(~np.isnan(D[7]) & (np.arange(40) != 7))
    D[7, near[1:]] = D[near[1:], 7] = np.nan
    anchors = {k: points[k] for k in (0, 1, 2)}
    completion = unrelu.complete_distances(D, 2, anchors=anchors, rng=0)
    dots = shown(draw_map(completion))
    assert {label.split(" (")[0]: len(xy) for label, xy in dots.items()} == {
        "determined": 36,
        "not determined by the data": 1,
        "anchor": 3,
    }
    np.testing.assert_allclose(dots["anchor (3)"], points[:3], atol=1e-9)
    np.testing.assert_allclose(dots["not determined by the data (1)"], completion.points[7:8])


def test_seen_pairs_and_title():
    _, completion = located(cutoff=0.5)
    figure = draw_map(completion)
    ax = figure.axes[0]
    lines = next(c for c in ax.collections if type(c).__name__ == "LineCollection")
    assert len(lines.get_segments()) == len(completion.pairs)
    assert ax.get_title() == f"40 points from {len(completion.pairs)} distances; the data determine 40"
    assert ax.get_aspect() == 1.0
    assert draw_map(completion, title="Stations").axes[0].get_title() == "Stations"


def test_ellipses_have_the_size_of_their_covariance():
    _, completion = located(noise=0.03, sigma=0.03)
    figure = draw_map(completion)
    ellipses = next(c for c in figure.axes[0].collections if type(c).__name__ == "PolyCollection")
    outlines = [path.vertices for path in ellipses.get_paths()]
    assert len(outlines) > 30
    for outline in outlines:
        centre = (outline.min(axis=0) + outline.max(axis=0)) / 2
        k = int(np.argmin(np.linalg.norm(completion.points - centre, axis=1)))
        off = outline - completion.points[k]
        squares = np.einsum("mi,ij,mj->m", off, np.linalg.inv(completion.covariances[k]), off)
        np.testing.assert_allclose(squares, RADIUS_95[2], rtol=1e-6)


def test_errors_too_small_to_see_are_said_to_be_so():
    _, completion = located(cutoff=0.5)
    assert "smaller than the dots" in draw_map(completion).legends[0].get_title().get_text()


def test_parts_without_a_common_frame_do_not_lie_on_each_other():
    points = points_in_cube(30, 2, rng=2)
    D = within(points, 0.7)
    D[:15, 15:28] = D[15:28, :15] = np.nan
    D[28:], D[:, 28:] = np.nan, np.nan
    completion = unrelu.complete_distances(D, 2, rng=0)
    figure = draw_map(completion)
    assert "4 parts that no distance joins, drawn beside each other" in figure.axes[0].get_title()
    lines = next(c for c in figure.axes[0].collections if type(c).__name__ == "LineCollection").get_segments()
    first = np.concatenate([line for line, pair in zip(lines, completion.pairs, strict=True) if pair[0] < 15])
    second = np.concatenate([line for line, pair in zip(lines, completion.pairs, strict=True) if pair[0] >= 15])
    low, high = sorted([first, second], key=lambda part: part[:, 0].min())
    assert low[:, 0].max() < high[:, 0].min()


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_every_dimension_with_and_without_noise(tmp_path, dim, noise):
    _, completion = located(dim, n=30, noise=noise)
    save_figure(draw_map(completion), tmp_path / "map.png", dpi=50)
    assert (tmp_path / "map.png").stat().st_size > 3000


def test_names_are_written_while_they_can_be_read():
    points = points_in_cube(31, 2, rng=3)
    for n, written in ((30, True), (31, False)):
        names = [f"s{k}" for k in range(n)]
        completion = unrelu.complete_distances(within(points[:n], 0.6), 2, names=names, rng=0)
        assert any(text.get_text() == "s4" for text in draw_map(completion).axes[0].texts) is written


def test_four_dimensions_are_refused():
    _, completion = located(4, n=30)
    with pytest.raises(unrelu.InputError, match=r"a map shows up to three dimensions, got 4; draw some columns"):
        draw_map(completion)
