"""What a kernel is: the few passes over the matrix that every method on M ≈ UUᵀ is made of.

A kernel holds the data in whatever form suits the machine it runs on, and gives it away in none. What one pass found
and the next one needs (weights, say) is handed to the caller as ``kept``, and nobody else looks into it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.model.losses import Loss

__all__ = ["Kernel", "Line", "PairsSeen"]


class Line(Protocol):
    """F along U + tD."""

    def at(self, steps: Sequence[float]) -> tuple[Floats, Floats]:
        """Values and slopes at these steps, in one pass."""

    def lowest(self) -> float:
        """The step t > 0 to try first: where F is smallest, as far as that is known without further passes."""

    @property
    def slope(self) -> float:
        """The slope at t = 0."""

    @property
    def exact(self) -> bool:
        """Whether F is known to be smallest at :meth:`lowest`, so that no search is needed."""


class PairsSeen(Protocol):
    """The pairs of one block: how often each was seen (0, 1, 2; a diagonal entry counts twice), and the mean."""

    @property
    def rows(self) -> slice:
        """Its rows."""

    @property
    def cols(self) -> slice:
        """Its columns."""

    @property
    def index(self) -> int:
        """Its number among the blocks, from 0."""

    @property
    def diagonal(self) -> bool:
        """Whether the block lies on the diagonal, and holds each of its pairs twice."""

    @property
    def target(self) -> Array:
        """Means of the seen values."""

    @property
    def seen(self) -> NDArray[np.uint8]:
        """How often."""

    @property
    def absent(self) -> NDArray[np.uint8] | None:
        """How often the pair is absent because of its value; None if that does not count."""


class Kernel(Protocol):
    """F, its gradient, its curvature and F along a line, each in one pass; everything in units of the data's unit.

    F(U) = Σ cost((UUᵀ)_ij) over all ordered pairs (i, j). A kernel of one's own has these methods, and enters by
    ``complete(…, kernel=Own)``, which calls ``Own(observations, loss)``.

    Two more are optional: ``curvature_roughly(U, D, kept)`` is :meth:`curvature` to as few digits as a direction needs,
    where that is quicker; and ``signed(signs)`` returns the same kernel for the fit USUᵀ with S = diag(signs), signs of
    ±1, in the place of UUᵀ, in every pass: F(U) = Σ cost((USUᵀ)_ij), its gradient is the matrix of slopes times US, the
    curvature product (W ∘ (USDᵀ + DSUᵀ)) US with the curvatures W, and the line that of (U + tD) S (U + tD)ᵀ;
    ``residual_times(U, V)`` is the matrix of slopes there times V as it is. Indefinite matrices need it; the kernels of
    this package have it.

    Examples
    --------
    The first pass of the slowest kernel there is, for a squared loss on what was seen; the others are written the same
    way (``tests/test_doors.py`` has a whole one):

    >>> class Plain:
    ...     def __init__(self, observations, loss):
    ...         everyone = np.arange(observations.size)
    ...         self.mean, seen = observations.pairs(everyone, everyone)
    ...         self.weight = seen * 1.0
    ...
    ...     def evaluate(self, U):
    ...         gap = self.weight * (U @ U.T - self.mean)
    ...         return float((gap * gap).sum()) / 4, gap @ U, None
    >>> from unrelu._old.data.observations import Observations
    >>> kernel = Plain(Observations.of(np.array([[1.0, 2.0], [2.0, 4.0]])), None)
    >>> kernel.evaluate(np.array([[0.5], [1.0]]))[0]
    0.0
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    @property
    def constant(self) -> float:
        """The part of F that no fit lowers: pairs seen twice with two values."""

    @property
    def bounded(self) -> bool:
        """Whether unseen entries count."""

    def evaluate(self, U: Array) -> tuple[Any, ...]:
        """F(U), ∇F(U), and what the other passes need to know of U; for a loss that gathers, its sums besides."""

    def with_loss(self, loss: Loss) -> Kernel:
        """The same data under the same loss with other estimates; asked only of losses that estimate something."""

    def curvature(self, U: Array, D: Array, kept: Any) -> Array:
        """The product of the curvature at U with a direction: (S ∘ (UDᵀ + DUᵀ)) U."""

    def curvature_matrix(self, U: Array, kept: Any) -> Floats:
        """The matrix of :meth:`curvature`, of shape (nr, nr): for small problems only."""

    def residual_times(self, U: Array, V: Array) -> Array:
        """The matrix of slopes, symmetrised, times V; ∇F is this with V = U."""

    def line(self, U: Array, D: Array, value: float, slope: float, kept: Any) -> Line:
        """F along U + tD, given value and slope at t = 0."""

    def weighted(self, weigh: Callable[[PairsSeen], NDArray[Any]]) -> Any:
        """What :meth:`curvature` takes as ``kept`` to count each pair with other weights, given twice as large."""

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: NDArray[Any]) -> Any:
        """The sum of what ``visit`` adds to its second argument for each block of pairs; it begins as ``zeros``."""

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """The sum of what ``visit`` returns for each block of pairs, in a fixed order: arrays, numbers or tuples."""
