"""Where a solver is: what the loop records of it, and the matrix it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.problems.psd import Point

__all__ = ["Iterate", "PointIterate", "TwoFactorIterate"]

Array = NDArray[np.floating[Any]]


class Iterate:
    """Where a solver is: what the loop records of it, and the matrix it stands for.

    ``details`` are what this method records of the step that led here; ``stuck`` says why no further step makes sense.
    """

    details: Mapping[str, float]
    stuck: str | None

    @property
    def objective(self) -> float:
        """¼ of the squared misfit that the method reduces."""
        raise NotImplementedError

    @property
    def gradient_norm(self) -> float | None:
        """The norm of the gradient, for methods that have one."""
        raise NotImplementedError

    @property
    def factors(self) -> tuple[Array, Array | None]:
        """(U, None) for UUᵀ, (L, R) for LRᵀ."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PointIterate(Iterate):
    """A factor U with value and gradient measured there. Subclasses add what travels from step to step."""

    point: Point
    details: Mapping[str, float] = field(default_factory=dict)
    stuck: str | None = None

    @property
    def objective(self) -> float:
        """F(U)."""
        return self.point.value

    @property
    def gradient_norm(self) -> float | None:
        """‖∇F(U)‖_F."""
        return self.point.gradient_norm

    @property
    def factors(self) -> tuple[Array, Array | None]:
        """(U, None)."""
        return self.point.factor, None


@dataclass(frozen=True, eq=False)
class TwoFactorIterate(Iterate):
    """Two factors of LRᵀ, with what was measured of them."""

    left: Array
    right: Array
    objective: float = 0.0
    gradient_norm: float | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    stuck: str | None = None

    @property
    def factors(self) -> tuple[Array, Array | None]:
        """(L, R)."""
        return self.left, self.right
