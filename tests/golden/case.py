"""An instance: a public call, the data it is given, and what is known of the right answer."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Case", "Data", "Intervals", "generator"]

Array = np.ndarray


@dataclass(frozen=True)
class Intervals:
    """What is known of the entries of a matrix, for the objective of `objective.py`.

    Attributes
    ----------
    values : ndarray
        NaN where an entry is missing.
    low, high : ndarray or float
        Between which values a missing entry lies; infinite where nothing is known.
    """

    values: Array
    low: Array | float = -np.inf
    high: Array | float = np.inf


@dataclass(frozen=True)
class Data:
    """Drawn data of an instance.

    Attributes
    ----------
    given : dict
        Positional data of the call by name: ``X``, ``limits``, ``D``, ``anchors``, ``files`` (name to text) and so on.
    truth : ndarray, optional
        The planted matrix or table, or for points their positions.
    noise : float
        Standard deviation of the planted noise; 0 for exact data.
    scale : float, optional
        The size of an entry that differences are divided by. Default: the rms of the truth.
    known : Intervals, optional
        If given, the objective of the fit is compared as well.
    """

    given: dict[str, Any]
    truth: Array | None = None
    noise: float = 0.0
    scale: float | None = None
    known: Intervals | None = None


@dataclass(frozen=True)
class Case:
    """One instance.

    Attributes
    ----------
    name : str
        ``family/case``. The data are drawn from a generator that is seeded by the name.
    call : str
        A key of ``adapter.CALLS``.
    draw : callable
        Makes the :class:`Data` from a generator, with NumPy alone.
    options : mapping
        Arguments of the call, as plain values in the words of ``interface.md``; the adapter makes objects of them.
    wants : tuple of str
        What is recorded beside status, rank and entries: keys of ``adapter.EXTRAS``.
    seed : str, optional
        The name that seeds the generator, for instances that share their data with another.
    review : str
        The line of the review that says that the stored answer is wrong; the instance is expected to change.
    right : str
        With ``review``: the right status, in the words of ``interface.md``.
    quick : bool
        Whether the instance belongs to the subset of the default tests.
    sampled : bool
        Whether the answer is a Monte-Carlo estimate; compared within the errors that come with it.
    """

    name: str
    call: str
    draw: Callable[[np.random.Generator], Data]
    options: Mapping[str, Any] = field(default_factory=dict)
    wants: tuple[str, ...] = ()
    seed: str = ""
    review: str = ""
    right: str = ""
    quick: bool = False
    sampled: bool = False

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    def data(self) -> Data:
        """Draw the data of the instance."""
        return self.draw(generator(self.seed or self.name))


def generator(name: str) -> np.random.Generator:
    """Return a random generator that is seeded by a name."""
    return np.random.default_rng([zlib.crc32(name.encode()), len(name)])
