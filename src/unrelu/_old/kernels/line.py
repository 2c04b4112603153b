"""F along a line: a quartic where the loss is squared, values on request where it is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Floats

__all__ = ["Quartic", "Sampled", "minimise_quartic"]


@dataclass(frozen=True, eq=False)
class Quartic:
    """c₀ + c₁t + … + c₄t⁴; ``exact`` if F has no kinks, else it holds up to the first."""

    coefficients: Floats
    exact: bool

    @property
    def slope(self) -> float:
        """c₁."""
        return float(self.coefficients[1])

    def at(self, steps: Sequence[float]) -> tuple[Floats, Floats]:
        """Of the polynomial."""
        falling = self.coefficients[::-1]
        values, slopes = np.polyval(falling, steps), np.polyval(np.polyder(falling), steps)
        return np.asarray(values, np.float64), np.asarray(slopes, np.float64)

    def lowest(self) -> float:
        """The global minimum over t > 0; NaN if a coefficient is not finite."""
        return minimise_quartic(self.coefficients) if np.all(np.isfinite(self.coefficients)) else np.nan


@dataclass(frozen=True, eq=False)
class Sampled:
    """Values and slopes from one pass over the matrix for all steps asked for; ``bend`` is what stands for F″(0)."""

    value: float
    slope: float
    bend: float
    look: Callable[[Sequence[float]], tuple[Floats, Floats]]
    exact: bool = False

    def at(self, steps: Sequence[float]) -> tuple[Floats, Floats]:
        """By a pass."""
        return self.look(steps)

    def lowest(self) -> float:
        """Where the parabola through F(0) is lowest; 1 if there is none."""
        return -self.slope / self.bend if self.bend > 0 else 1.0


def minimise_quartic(coefficients: Floats) -> float:
    """The t > 0 at which c₀ + c₁t + … + c₄t⁴ (c₁ < 0) is smallest; 1 if it falls for ever.

    Examples
    --------
    >>> round(minimise_quartic(np.array([0.0, -4.0, 0.0, 0.0, 1.0])), 12)
    1.0
    """
    c = coefficients
    derivative = np.array([4 * c[4], 3 * c[3], 2 * c[2], c[1]])
    roots = np.roots(np.trim_zeros(derivative, "f"))
    real = roots.real[np.abs(roots.imag) <= 1e-8 * (1 + np.abs(roots.real))]
    positive = real[real > 0]
    if positive.size == 0:
        return 1.0
    return float(min(positive, key=lambda t: np.polyval(c[::-1], t)))
