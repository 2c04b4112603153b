import numpy as np
import pytest

import unrelu
from helpers import relu_instance
from unrelu._old.show.plots import draw_completion, save_figure


@pytest.mark.parametrize("rank", [1, 3])
def test_panels_show_what_they_say(rank):
    M, X = relu_instance(40, rank)
    completion = unrelu.complete(X, rank, rng=0, truth=M)
    figure = draw_completion(completion, truth=M)
    titles = [ax.get_title() for ax in figure.axes]
    assert [title.split(" (")[0] for title in titles[:3]] == ["seen", "completed", "planted"]
    shown = figure.axes[0].images[0].get_array()
    assert np.ma.getmaskarray(shown).sum() == np.isnan(X).sum()


def test_without_truth_and_after_load(tmp_path):
    _, X = relu_instance(40, 2)
    unrelu.complete(X, 2, rng=0).save(tmp_path / "c.npz")
    loaded = unrelu.Completion.load(tmp_path / "c.npz")
    assert len(draw_completion(loaded, X).axes) == 4  # two matrices, the curve, the colour bar
    with pytest.raises(unrelu.InputError, match="pass the matrix that was completed as X"):
        draw_completion(loaded)


@pytest.mark.parametrize("extension", ["png", "svg", "pdf"])
def test_saved_whole_or_not_at_all(tmp_path, extension):
    figure = draw_completion(unrelu.complete(relu_instance(20, 2)[1], 2, rng=0))
    save_figure(figure, tmp_path / f"a.{extension}")
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{extension}"]
    with pytest.raises(unrelu.InputError, match=r"written as .png, .svg or .pdf, got 'a.jpg'"):
        save_figure(figure, tmp_path / "a.jpg")
