"""What a start is: a factor, or two, for a solver to begin from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.data.limits import has_limit
from unrelu._old.data.observations import Observations

__all__ = ["Start", "scale_of"]


@dataclass(frozen=True)
class Start:
    """A frozen dataclass whose call returns a factor; ``name`` is what a caller may write instead of it.

    Examples
    --------
    A start of one's own, in ten lines:

    >>> from dataclasses import dataclass
    >>> import numpy as np, unrelu
    >>> @dataclass(frozen=True)
    ... class Flat(unrelu.Start):
    ...     level: float = 1.0
    ...     name = "flat"
    ...
    ...     def __call__(self, observations, rank, rng):
    ...         noise = 0.01 * rng.standard_normal((observations.size, rank))
    ...         return (self.level + noise).astype(observations.dtype)
    >>> X = np.outer([1.0, 2, 3], [1.0, 2, 3])
    >>> unrelu.complete(X, rank=1, start=Flat(), rng=0).start
    'flat'
    """

    name: ClassVar[str]

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """A factor of shape (n, rank), in the caller's units and the dtype of the data."""
        raise NotImplementedError

    def pair(self, observations: Observations, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Two factors for methods that have two: the same one twice, unless the start says otherwise."""
        factor = self(observations, rank, rng)
        return factor, factor


def _some_places(observations: Observations) -> tuple[Indices, Indices]:
    """Entries (i, i − 1); of a table whose entries have limits of their own, some of each row and column."""
    n, cut = observations.size, observations.source.cut
    if cut is None or observations.limits.uniform:
        i = np.arange(n)
        return i, np.roll(i, 1)
    i = np.arange(max(cut, n - cut))
    return i % cut, cut + i % (n - cut)


def _shown(observations: Observations) -> Callable[[Array], Array]:
    """What would be seen of these entries."""
    tau = observations.scaled_threshold
    if tau is not None:
        return lambda q: q[q >= tau] if observations.absence_says == "below" else q[q <= tau]
    limits, (i, j), shape = observations.limits, _some_places(observations), observations.source.shape
    ends = limits.at(i, j, shape).over(observations.unit)
    always = limits.chance_at(i, j, shape) | ~has_limit(ends)
    return lambda q: q[always | (ends.nearest(q) != q)]


def _mostly_gaps(observations: Observations) -> bool:
    gap = observations.limits.gap
    return gap is not None and float(np.mean(np.asarray(gap[0]) <= np.asarray(gap[1]))) > 0.5


def scale_of(observations: Observations, Y: Array) -> float:
    """The factor s by which s·YYᵀ, looked at through the same threshold, has the rms of the seen entries.

    At τ = 0 the threshold leaves the rms of a symmetric distribution alone and s is a plain ratio; otherwise
    mean{(sq)² : sq where it is seen} grows with s, and bisection finds it.
    """
    target = observations.scaled_norm**2 / observations.count
    i, j = _some_places(observations)
    q = np.einsum("ik,ik->i", Y[i], Y[j])
    plain = float(np.sqrt(target / np.mean(q**2))) if target > 0 else 1.0
    if observations.limits.nothing or observations.threshold == 0 or target == 0:
        return plain
    shown = _shown(observations)
    # What is seen between two limits is never large: then the share that is seen tells how large all of it is.
    by_share, share = _mostly_gaps(observations), observations.count / observations.room
    low, high = plain * 1e-3, plain * 1e3
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        visible = shown(middle * q)
        dim = visible.size == 0 or bool(np.mean(visible**2) < target)
        if visible.size > share * len(q) if by_share else dim:
            low = middle
        else:
            high = middle
    return float(np.sqrt(low * high))
