"""A picture of a diagnosis: how many were seen, the spectrum, the chance to be seen, and how likely each kind is."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.results.diagnosis import Diagnosis

__all__ = ["drawn", "plot_detection"]

# Log-likelihoods that are drawn, at most.
WORST = 50.0
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#888888"


def plot_detection(curve: Any, ax: Any) -> None:
    """Draw the chance to be seen against the value, with the interval of its level.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from unrelu._old.model.detection import DetectionCurve
    >>> ax = Figure().subplots()
    >>> plot_detection(DetectionCurve(0.5, width=0.2, level_interval=(0.4, 0.6)), ax)
    >>> ax.get_ylabel()
    'chance to be seen'
    """
    if np.isinf(curve.level):
        ax.axhline(1 - curve.share, color=BLUE)
    else:
        reach = 4 * curve.width or max(abs(curve.level), 1.0)
        values = np.linspace(curve.level - reach, curve.level + reach, 801)
        ax.plot(values, curve.probability(values), color=BLUE)
        low, high = curve.level_interval
        if np.isfinite([low, high]).all():
            ax.axvspan(low, high, color=ORANGE, alpha=0.3, label="level, 95 %")
        ax.axvline(curve.level, color=ORANGE, linewidth=1)
        ax.legend(loc="lower right" if curve.side == "above" else "lower left", frameon=False)
    ax.set_ylim(-0.05, 1.05)
    ax.set_xlabel("value")
    ax.set_ylabel("chance to be seen")


def drawn(found: Diagnosis) -> Any:
    """The figure of a diagnosis, four panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    (counts, spectrum), (detection, kinds) = figure.subplots(2, 2)
    counts.hist(found.counted.per_row, bins=30, color=BLUE)
    counts.set_xlabel("seen entries in a row")
    counts.set_ylabel("rows")
    values = found.spectrum[found.spectrum > 0]
    spectrum.semilogy(np.arange(1, len(values) + 1), values, "o-", color=BLUE)
    spectrum.set_xlabel("eigenvalue of the fit" if found.shape[0] == found.shape[1] else "singular value of the fit")
    spectrum.set_ylabel("size")
    spectrum.xaxis.get_major_locator().set_params(integer=True)
    if found.detection is None:
        for ax in (detection, kinds):
            ax.set_axis_off()
        detection.text(0, 0.5, found.untold, wrap=True)
        return figure
    plot_detection(found.detection.curve, detection)
    scores = found.detection.scores()
    names = sorted(scores, key=lambda name: scores[name])
    for height, name in enumerate(names):
        worse = -scores[name]
        kinds.barh([height], [min(worse, WORST)], color=GREY)
        told = "likeliest" if worse == 0 else f"e^{worse:.0f} times less likely"
        kinds.text(min(worse, WORST) + 1, height, told, va="center", color=ORANGE if worse == 0 else "black")
    kinds.set_yticks(range(len(names)), names)
    kinds.set_xlim(0, 2 * WORST)
    kinds.set_xticks([])
    kinds.set_title("why entries are missing")
    return figure
