"""Two sets of the same points laid upon each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError

__all__ = ["Rigid", "align", "deviation"]


@dataclass(frozen=True, eq=False)
class Rigid:
    """x ↦ (x − origin) turn + target."""

    origin: Floats
    turn: Floats
    target: Floats

    def __call__(self, points: Floats) -> Floats:
        """The points, moved."""
        return (points - self.origin) @ self.turn + self.target


def align(points: Any, onto: Any, *, mirror: bool = True) -> Rigid:
    """The rigid motion that brings points nearest to others in least squares; with a mirror image if that is nearer.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> turned = square @ np.array([[0.0, 1], [-1, 0]]) + 5
    >>> bool(np.allclose(align(turned, square)(turned), square))
    True
    """
    here, there = np.asarray(points, np.float64), np.asarray(onto, np.float64)
    if here.shape != there.shape or here.ndim != 2:
        raise InputError(f"both sets must have the same shape (n, dim), got {here.shape} and {there.shape}")
    origin, target = here.mean(axis=0), there.mean(axis=0)
    left, _, right = np.linalg.svd((here - origin).T @ (there - target))
    turn = left @ right
    if not mirror and np.linalg.det(turn) < 0:
        left[:, -1] *= -1
        turn = left @ right
    return Rigid(origin, turn, target)


def deviation(points: Any, truth: Any) -> Floats:
    """Each point's distance from the truth after the best alignment, mirror images allowed.

    Examples
    --------
    >>> import numpy as np
    >>> bool(deviation(np.array([[0.0], [1], [3]]), np.array([[3.0], [2], [0]])).max() < 1e-12)
    True
    """
    here, there = np.asarray(points, np.float64), np.asarray(truth, np.float64)
    gap: Floats = np.linalg.norm(align(here, there)(here) - there, axis=1)
    return gap
