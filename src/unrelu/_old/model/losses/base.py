"""What a loss is: what a fit costs, entry by entry, against a seen value or against an interval."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError
from unrelu._old.data.limits import Limits

__all__ = ["Loss"]


class Loss:
    """The cost of a fit x: of a seen entry with value m, and of an unseen one that lies between two limits.

    A kernel hands over whole tiles and the arrays to write to, one call for what was seen and one for what was not; a
    loss never sees a single entry, and allocates as little as it can. ``cost``, ``slope`` and ``curvature`` are the
    function, its derivative and what stands for the second one; the curvature must not be negative. Where the true one
    is, the loss chooses what stands for it (Fisher's information, say).

    A loss may have something in it that is estimated along the way, such as a noise level: then ``gathers`` is True,
    each pass gathers the sums it asks for, and after each step of a method the problem goes on with :meth:`renewed`.
    No method knows of it.

    Limits may have a gap in them: an entry that was seen only between −1 and 1 lies below or above, if it was not seen.
    A loss with ``hears_gaps`` finds it as ``limits.gap``, a pair (from, to) as the limits are, or None; (+∞, −∞) where
    an entry has none. Any other loss is not told of gaps.

    Examples
    --------
    A loss of one's own, in ten lines: √(1 + (x − m)²) − 1, which large errors pull at less than squares do.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class SoftAbsolute(Loss):
    ...     name = "soft-absolute"
    ...
    ...     def heard(self, limits):
    ...         return Limits()
    ...
    ...     def seen(self, fit, value, cost, slope, curvature):
    ...         np.subtract(fit, value, out=slope)
    ...         np.hypot(1.0, slope, out=cost)
    ...         np.divide(slope, cost, out=slope)
    ...         np.divide(1.0, cost**3, out=curvature)
    ...         np.subtract(cost, 1.0, out=cost)
    >>> import numpy as np, unrelu
    >>> U = np.random.default_rng(0).standard_normal((30, 2))
    >>> X = U @ U.T
    >>> X[2, 5] = X[5, 2] = 40.0  # a gross error
    >>> found = unrelu.complete(X, rank=2, threshold=None, loss=SoftAbsolute(), method="gauss-newton", rng=0)
    >>> bool(abs(found.entries(2, 5) - U[2] @ U[5]) < 0.5)
    True
    """

    name: ClassVar[str]
    # Whether the cost is ¼ w (x − t)² with one target t and one weight w, 0 or 1, per entry: for the quickest kernels.
    squared: ClassVar[bool] = False
    # Whether it is −log of a likelihood: then noise is part of it, and a fit is judged by what noise would leave.
    likelihood: ClassVar[bool] = False
    # Whether it looks at ``limits.gap``.
    hears_gaps: ClassVar[bool] = False
    # Whether an unseen entry is sure to lie within its limits.
    sure: ClassVar[bool] = True
    # Whether a gross error pulls no harder than a small one: then the entries that the others contradict are listed.
    distrusts: ClassVar[bool] = False
    # The power of the data's unit in the cost.
    power: ClassVar[float] = 2.0

    @property
    def gathers(self) -> bool:
        """Whether each pass gathers sums: for what is estimated along the way, or for the misfit."""
        return False

    @property
    def noise(self) -> float | None:
        """The noise level that it knows of, given or estimated so far, in the units of the data; None: none."""
        return None

    @property
    def noise_given(self) -> bool:
        """Whether that was given, and not estimated."""
        return False

    @property
    def stiffness(self) -> float:
        """The curvature of a seen entry that is met, ½ for squares: what gradients are measured by."""
        return 0.5

    @property
    def offset(self) -> float:
        """The size of what a seen entry costs that is met, such as |log σ|: rounding of F is relative to it."""
        return 0.0

    def in_units(self, unit: float) -> Loss:
        """The same loss for data divided by ``unit``: a loss with a scale of its own divides that as well."""
        return self

    def heard(self, limits: Limits) -> Limits:
        """What this loss makes of what is known of unseen entries: all of it, unless it says otherwise."""
        return limits

    def misfit(self, value: float, sums: Floats | None) -> float:
        """The norm of the residual that a value of F, or the sums of a pass, stand for; of F = ¼ of its square here."""
        return float(np.sqrt(max(4 * value, 0.0)))

    def begun(self, size: float) -> Loss:
        """The loss to begin with, for what is estimated later: all noise might be as large as ``size``."""
        return self

    def renewed(self, sums: Floats) -> Loss:
        """The loss with its estimates brought up to date by the sums of a pass; itself where that changes nothing."""
        return self

    def seen_sums(self, fit: Array, value: Array, slope: Array, curvature: Array) -> Floats:
        """What :meth:`renewed` needs of the seen entries of a tile, where slope and curvature are zero elsewhere."""
        raise NotImplementedError

    def unseen_sums(self, fit: Array, limits: tuple[Any, Any], slope: Array, curvature: Array) -> Floats:
        """The same of the entries that lie between the limits."""
        raise NotImplementedError

    def seen(self, fit: Array, value: Array, cost: Array, slope: Array, curvature: Array) -> None:
        """Write cost, slope and curvature of fits whose values were seen."""
        raise InputError(f"{type(self).__name__} must have seen(fit, value, cost, slope, curvature)")

    def unseen(self, fit: Array, limits: tuple[Any, Any], cost: Array, slope: Array, curvature: Array) -> None:
        """Write the same for fits of which it is known that they lie between the limits (low, high)."""
        raise InputError(
            f"{type(self).__name__} must have unseen(fit, limits, cost, slope, curvature), or heard(limits) that "
            "returns Limits(), if it makes nothing of them"
        )
