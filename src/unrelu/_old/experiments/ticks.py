"""Tick labels that can be read on a phone: powers of ten on one line, not with a small raised exponent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plain_powers"]


def plain_powers(drawn: Figure) -> None:
    """Label the logarithmic axes of a figure by "1e-3" instead of a raised exponent, which is too small to read.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> drawn = Figure()
    >>> ax = drawn.subplots()
    >>> _ = ax.semilogy([1, 2], [1e-3, 1e3])
    >>> plain_powers(drawn)
    >>> ax.yaxis.get_major_formatter().format_ticks([1e-3, 1, 100])
    ['1e-3', '1', '100']
    """
    from matplotlib.ticker import LogFormatterMathtext

    for ax in drawn.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
                axis.set_major_formatter(_plain(axis.get_major_formatter()))
            if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
                axis.set_minor_formatter(_plain(axis.get_minor_formatter()))


def _plain(inner: Any) -> Any:
    """A formatter that labels what another one would label, in other words."""
    from matplotlib.ticker import FuncFormatter

    outer: Any = FuncFormatter(lambda value, place: _words(value) if inner(value, place) else "")
    # Which ticks get a label is decided by all of them together.
    outer.set_locs = inner.set_locs
    return outer


def _words(value: float) -> str:
    if value == 0 or 1e-2 < abs(value) < 1e4:
        return f"{value:g}"
    digits, power = f"{value:.3e}".split("e")
    return f"{float(digits):g}e{int(power)}"
