"""What the fit of a tile costs under squares or the censored likelihood with one threshold, in few steps per entry.

Whatever is done to all entries of a tile is one vectorised step on an array in cache, and NaN marks what was not seen:
fmax(NaN, x) is x. Only unseen entries near the threshold are picked one by one, for the tails of the normal
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Array, Bools, Floats, Indices
from unrelu.base.tolerances import BLOCK_COSTS_CERTAIN
from unrelu.data.observations import Observations
from unrelu.model.losses import Loss
from unrelu.model.losses.tails import beyond

__all__ = ["Costs", "Work", "products_summed", "tails"]

# Where the tails are tabled, and how many points to a unit: log Φ and φ/Φ between them to about 1e-12.
LEFT, RIGHT, PER, ORDER = -40, 9, 256, 3
# Entries that are looked up together: a few arrays of 64 kB.
AT_ONCE = 1 << 13


class Work:
    """Arrays that one thread writes to, made once and lent in the shape of any tile of at most so many entries."""

    # What a pass has in use at once at most: numbers of the data's precision, bytes, and what is picked.
    NUMBERS, BYTES, PICKED = 8, 6, 12

    def __init__(self, entries: int, dtype: np.dtype[Any]) -> None:
        self._entries, self._dtype = -(-entries // 8) * 8, dtype
        self._made: dict[str, NDArray[Any]] = {}
        self._rows: dict[float, Array] = {}

    @classmethod
    def size(cls, entries: int, dtype: np.dtype[Any]) -> int:
        """Bytes that it takes at most; the positions that are picked are integers of eight bytes."""
        return entries * (cls.NUMBERS * dtype.itemsize + cls.BYTES + 8) + cls.PICKED * 8 * min(entries, AT_ONCE)

    def lend(self, name: str, shape: tuple[int, int], dtype: Any = None) -> NDArray[Any]:
        """An array of this name and shape; what is in it may be anything."""
        if name not in self._made:
            self._made[name] = np.zeros(self._entries, self._dtype if dtype is None else dtype)
        return self._made[name][: shape[0] * shape[1]].reshape(shape)

    def picked(self, name: str, shape: tuple[int, int]) -> Indices:
        """Flat positions of what is true in the array of this name.

        NumPy is slow where one in ten to one in a hundred is, so eight are looked at together first.
        """
        flat, length = self._made[name], shape[0] * shape[1]
        count = int(np.count_nonzero(flat[:length]))
        if count * 10 > length or count * 100 < length:
            return np.flatnonzero(flat[:length])
        whole = -(-length // 8) * 8
        flat[length:whole] = False
        words = flat[:whole].view(np.uint64)
        some = np.flatnonzero(words != 0)
        inside = np.flatnonzero(words[some].view(bool))
        at = some[inside >> 3]
        at <<= 3
        inside &= 7
        at += inside
        return at

    def row(self, value: float, width: int) -> Array:
        """A row of one number, for steps that are several times faster with an array than with a number."""
        if value not in self._rows or self._rows[value].size < width:
            self._rows = {**dict(list(self._rows.items())[-3:]), value: np.full(width, value, self._dtype)}
        return self._rows[value][:width]


def products_summed(one: Array, other: Array) -> float:
    """Σ x y, in double precision beyond the length of a row."""
    if one.dtype == np.float64:
        return float(np.dot(one.reshape(-1), other.reshape(-1)))
    return float(np.sum(np.einsum("ij,ij->i", one, other), dtype=np.float64))


@cache
def _table() -> Floats:
    """Rows of log Φ and of the Taylor coefficients of h = φ/Φ at −40, −40 + 1/256, …, 9: from h′ = −h(z + h)."""
    z = LEFT + np.arange((RIGHT - LEFT) * PER + 1) / PER
    table = np.zeros((ORDER + 2, z.size))
    a = table[1:]
    beyond(z, table[0], a[0], np.empty_like(z))
    for j in range(ORDER):
        square = sum(a[i] * a[j - i] for i in range(j + 1))
        a[j + 1] = -(z * a[j] + (a[j - 1] if j else 0.0) + square) / (j + 1)
    return table


def tails(z: Floats, *, logarithm: bool = True) -> tuple[Floats, Floats, Floats]:
    """Of z below 9: log Φ(z) (unless it is not asked for), h = φ(z)/Φ(z) and h(h + z), from a table.

    Examples
    --------
    >>> [round(float(found[0]), 9) for found in tails(np.array([0.0]))]
    [-0.693147181, 0.797884561, 0.636619772]
    """
    far = z.size > 0 and float(z.min()) < LEFT
    table, step = _table(), z - LEFT
    if far:
        np.maximum(step, 0, out=step)
    step *= PER
    log = np.rint(step)
    at = log.astype(np.intp)
    step -= log
    step *= 1 / PER
    first, second, third, fourth = (row.take(at, mode="clip") for row in table[1:])
    if logarithm:  # the integral of h: what is left out is its third derivative times step⁴
        np.multiply(third, 1 / 3, out=log)
        for coefficient in (second * 0.5, first, table[0].take(at, mode="clip")):
            log *= step
            log += coefficient
    ratio = fourth
    for coefficient in (third, second, first):
        ratio *= step
        ratio += coefficient
    bend = np.add(ratio, z, out=third)
    bend *= ratio
    if far:
        where = z < LEFT
        found = np.empty((3, int(np.count_nonzero(where))))
        beyond(z[where], *found)
        log[where], ratio[where], bend[where] = found
    return log, ratio, bend


@dataclass(frozen=True, eq=False)
class Costs:
    """Cost, slopes and curvatures of a tile; slopes and curvatures are those over ``stiffness``.

    A seen entry costs stiffness/2 · (x − m)², and log σ besides under the likelihood, which is added elsewhere.

    Attributes
    ----------
    stiffness : float
        ½ for squares, 1/σ² for the likelihood.
    sigma : float or None
        The noise level; None for squares.
    threshold : float or None
        Beyond which all unseen entries lie; None: nothing is known of them.
    below : bool
        Whether they lie below it.
    quiet : ndarray of bool, or None
        Of which entries of the diagonal absence says nothing; None where it says something of all.
    inverse : float
        What values are multiplied by.
    """

    stiffness: float
    sigma: float | None
    threshold: float | None
    below: bool
    quiet: Bools | None
    inverse: Any

    @classmethod
    def of(cls, observations: Observations, loss: Loss, *, bounded: bool) -> Costs:
        """Those of a loss in the units of the data; what is known of unseen entries counts if it is ``bounded``."""
        scaled, dtype = loss.in_units(observations.unit), observations.dtype
        sigma = None if loss.squared else float(scaled.noise or 1.0)
        quiet = None
        if bounded:
            own = np.arange(observations.size)
            quiet = ~observations.told_at(own, own)
            quiet = quiet if quiet.any() else None
        threshold = observations.scaled_threshold if bounded else None
        inverse = dtype.type(1 / observations.unit)  # exact: the unit is a power of four
        stiffness = 0.5 if sigma is None else 1 / sigma**2
        return cls(stiffness, sigma, threshold, observations.absence_says != "above", quiet, inverse)

    @property
    def bounded(self) -> bool:
        """Whether unseen entries count."""
        return self.threshold is not None

    @cached_property
    def _reach(self) -> dict[str, float]:
        """Where unseen entries begin to count, by the precision of the fit."""
        assert self.threshold is not None
        away = {name: (self.sigma or 0.0) * certain for name, certain in BLOCK_COSTS_CERTAIN.items()}
        return {name: self.threshold + (-far if self.below else far) for name, far in away.items()}

    def slopes(
        self, fit: Array, ways: list[Array], quiet: Bools | None, work: Work, *, tidy: bool
    ) -> tuple[Floats, Array]:
        """Cost and sums, and the slopes of one or both ways round together.

        Parameters
        ----------
        fit : ndarray
        ways : list of ndarray
            Values one way or both ways round, as they come from the source.
        quiet : ndarray of bool, or None
            The part of ``quiet`` that belongs to the diagonal of this tile; None off the diagonal.
        work : Work
        tidy : bool
            Whether no seen value lies where an unseen one would.

        Returns
        -------
        sums : ndarray
            The cost; under the likelihood also Σ z h and Σ z²h(h + z) of the unseen entries with z = (τ − x)/σ, and
            Σ ((x − m)/σ)² of the seen ones.
        slopes : ndarray
            An array of ``work``.
        """
        slope, squares, unlikely = work.lend("slope", fit.shape), 0.0, self.sigma is not None and self.bounded
        hidden = work.lend("hidden", fit.shape, bool).view(np.uint8)
        for number, way in enumerate(ways):
            gap = slope if number == 0 else work.lend("more", fit.shape)
            self._gaps(fit, way, gap, work, tidy=tidy)
            if unlikely:
                mask = work.lend("mask" if number else "hidden", fit.shape, bool)
                np.isnan(way, out=mask)
                if number:
                    np.add(hidden, mask.view(np.uint8), out=hidden)
            elif quiet is not None:
                gap.reshape(-1)[:: fit.shape[1] + 1][quiet & np.isnan(way.diagonal())] = 0
            squares += products_summed(gap, gap)
            if number:
                slope += gap
        found = np.array([squares * self.stiffness / 2, 0.0, 0.0, squares * self.stiffness])
        if unlikely:
            if quiet is not None:
                hidden.reshape(-1)[:: fit.shape[1] + 1][quiet] = 0
            found[:3] += self._unlikely(fit, hidden, slope, work, once=len(ways) == 1)
        return found, slope

    def _gaps(self, fit: Array, way: Array, gap: Array, work: Work, *, tidy: bool) -> None:
        """Write how far the fit is from values that were seen, and from the threshold on its wrong side; else 0."""
        value = work.lend("value", fit.shape)
        np.multiply(way, self.inverse, out=value)
        if self.sigma is not None or self.threshold is None:
            nothing = work.row(0.0, fit.shape[1])
            np.subtract(fit, value, out=value)
            np.fmax(value, nothing, out=gap)  # NaN becomes 0 in both
            np.fmin(value, nothing, out=value)
            np.add(gap, value, out=gap)
            return
        limit = work.row(self.threshold, fit.shape[1])
        (np.minimum if self.below else np.maximum)(fit, limit, out=gap)
        if tidy:  # what was seen lies beyond the threshold: the further of the two, NaN apart
            (np.fmax if self.below else np.fmin)(value, gap, out=value)
        else:
            np.copyto(value, gap, where=np.isnan(value))
        np.subtract(fit, value, out=gap)

    def _near(self, fit: Array, work: Work) -> Bools:
        """Which fits are on the wrong side of the threshold; under the likelihood, not far on the right side."""
        mask = work.lend("mask", fit.shape, bool)
        reach = work.row(self._reach[fit.dtype.name], fit.shape[1])
        found: Bools = (np.greater if self.below else np.less)(fit, reach, out=mask)
        return found

    def _unlikely(self, fit: Array, hidden: NDArray[np.uint8], slope: Array, work: Work, *, once: bool) -> Floats:
        """Add the slopes of unseen entries to those of seen ones; their cost and sums. ``once``: none counts twice."""
        near = self._near(fit, work)
        np.logical_and(near, hidden.view(bool) if once else hidden, out=near)
        places, sums, side = work.picked("mask", fit.shape), np.zeros(3), 1.0 if self.below else -1.0
        for start in range(0, places.size, AT_ONCE):
            at = places[start : start + AT_ONCE]
            z = self._normal(fit.reshape(-1).take(at))
            log, ratio, bend = tails(z)
            if not once:
                for part in (log, ratio, bend):
                    part *= hidden.reshape(-1).take(at)
            sums[0] -= np.sum(log)
            sums[1] += np.dot(z, ratio)
            bend *= z
            sums[2] += np.dot(z, bend)
            ratio *= side * (self.sigma or 1.0)
            if once:  # nothing was seen there
                slope.reshape(-1)[at] = ratio
            else:
                slope.reshape(-1)[at] += ratio
        return sums

    def _normal(self, fit: Array) -> Floats:
        """How far the threshold is from the fit, in units of the noise: positive where the fit is on its right side."""
        z = np.subtract(fit, self.threshold or 0.0, dtype=np.float64)
        z *= (-1 if self.below else 1) / (self.sigma or 1.0)
        return z

    def weights(self, fit: Array, seen: NDArray[np.uint8], ways: int, quiet: Bools | None, work: Work) -> Any:
        """Under squares: how many ways round a pair counts, which was ``seen`` so many of the ``ways`` that it has."""
        return _counts(self._wrong(fit, quiet, work), seen, ways) if self.bounded else seen

    def unseen(
        self, fit: Array, seen: NDArray[np.uint8], ways: int, quiet: Bools | None, work: Work
    ) -> tuple[NDArray[Any], ...]:
        """What unseen entries add to the curvatures of a tile, for :meth:`bend`, small enough to be kept.

        Under squares a bit for each entry, under the likelihood positions of those near the threshold and their
        curvatures in single precision.
        """
        near = self._wrong(fit, quiet, work)
        if self.sigma is None:
            return (np.packbits(near),)
        near &= np.less(seen, np.uint8(ways), out=work.lend("fewer", fit.shape, bool))
        places = work.picked("mask", fit.shape)
        bends = np.empty(places.size, np.float32)
        for start in range(0, places.size, AT_ONCE):
            at = places[start : start + AT_ONCE]
            bend = tails(self._normal(fit.reshape(-1).take(at)), logarithm=False)[2]
            if ways > 1:
                bend *= np.uint8(ways) - seen.reshape(-1).take(at)
            bends[start : start + AT_ONCE] = bend
        return places.astype(np.uint32), bends

    def _wrong(self, fit: Array, quiet: Bools | None, work: Work) -> Bools:
        """Where an entry counts if it was not seen."""
        near = self._near(fit, work)
        if quiet is not None:
            near.reshape(-1)[:: fit.shape[1] + 1][quiet] = False
        return near

    @staticmethod
    def bend(along: Array, seen: NDArray[np.uint8], ways: int, unseen: tuple[NDArray[Any], ...]) -> None:
        """Multiply ``along`` by the curvatures of a tile over ``stiffness``; ``unseen`` is empty if none counts."""
        if not unseen:
            np.multiply(along, seen, out=along)
        elif len(unseen) == 1:
            near = np.unpackbits(unseen[0], count=along.size).reshape(along.shape)
            np.multiply(along, _counts(near, seen, ways), out=along)
        else:
            places, flat = unseen[0].astype(np.intp), along.reshape(-1)
            added = flat.take(places)
            added *= unseen[1]
            np.multiply(along, seen, out=along)
            if ways == 1:  # nothing was seen there
                flat[places] = added
            else:
                flat[places] += added


def _counts(near: NDArray[Any], seen: NDArray[np.uint8], ways: int) -> NDArray[np.uint8]:
    """How many ways round a pair counts; ``near`` is lost."""
    counts = near.view(np.uint8)
    if ways > 1:
        np.multiply(counts, np.uint8(ways), out=counts)
    return np.maximum(counts, seen, out=counts)
