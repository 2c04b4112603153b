"""Where a solver is: what the loop records of it, and the matrix it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from unrelu._old.base.arrays import Array
from unrelu._old.model.factors import Factors, TwoSided
from unrelu._old.problems.protocol import Point

__all__ = ["Iterate", "PointIterate", "TwoFactorIterate"]


class Iterate:
    """A state of a solver: a value, which no later step changes.

    ``details`` are what this method records of the step that led here; ``stuck`` says why no further step makes sense,
    and ``at_rounding`` whether that is so because of rounding. Stored and read again, it goes on as if nothing had
    been: whatever the next step depends on is in it, the state of a random generator included.
    """

    details: Mapping[str, float]
    stuck: str | None
    at_rounding: ClassVar[bool] = False
    # What a method that samples has drawn on its way; all others have nothing to tell but where they are.
    gathered: Any = None

    if TYPE_CHECKING:  # a subclass has them as fields or as properties

        @property
        def objective(self) -> float:
            """What the method reduces, at this state."""

        @property
        def gradient_norm(self) -> float | None:
            """The norm of the gradient, for methods that have one."""

        @property
        def point(self) -> Point | None:
            """The point that the problem has measured here; None for a method that works on factors of its own."""

        @property
        def factors(self) -> Factors:
            """The matrix that this state stands for."""


@dataclass(frozen=True, eq=False)
class PointIterate(Iterate):
    """An unknown with value and gradient measured there. Subclasses add what travels from step to step."""

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
    def factors(self) -> Factors:
        """What the problem makes of the unknown."""
        return self.point.factors


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
    def point(self) -> None:
        """None: the problem has measured neither factor."""
        return None

    @property
    def factors(self) -> Factors:
        """(L, R)."""
        return TwoSided(self.left, self.right)
