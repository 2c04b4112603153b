"""Another matrix of the same rank that agrees with everything seen: sought with a plain solver of its own.

Levenberg–Marquardt on the seen entries, with a hinge for what absence says. The truth is one completion. Another one
that differs in an entry which was called determined refutes the claim.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soak.answer import Answer
from soak.checks import SURE, together
from soak.instance import DISTANCES, Instance

__all__ = ["second_completion"]

Floats = NDArray[np.float64]

# Unknowns up to which it is worth its time, starts, and steps of each.
UNKNOWNS, STARTS, STEPS = 90, 18, 60
# Agreement with what was seen, as a share of the two rows' sizes, and a difference that no rounding makes of it, as one
# of the largest entry.
AGREES, DIFFERS = 1e-13, 1e-4


@dataclass(frozen=True, eq=False)
class Seen:
    """Equations and one-sided ones over pairs i ≤ j, in units of the largest entry.

    ``size`` is what rounding is measured against: that of the two rows, as the package does, not that of the largest.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    value: Floats
    kind: NDArray[np.int8]  # 0 seen, −1 at most the value, 1 at least the value
    distances: bool
    size: Floats
    signs: Any = 1.0

    @classmethod
    def of(cls, instance: Instance) -> Seen:
        """What the data say of an instance."""
        values, seen, n = instance.values() / instance.scale, instance.seen, instance.size
        i, j = np.triu_indices(n, 1 if instance.group == DISTANCES else 0)
        either = seen[i, j] | seen[j, i]
        known = np.where(seen[i, j], values[i, j], values[j, i])
        parts = [(i[either], j[either], known[either], np.zeros(int(either.sum()), np.int8))]
        if instance.group == DISTANCES:
            if instance.options["cutoff"] is not None:
                parts.append(_absent(i, j, ~either, instance.options["cutoff"] / instance.scale, 1))
        elif instance.options["threshold"] is not None:
            unknown = instance.options["unknown"]
            dark = np.zeros((n, n), bool) if unknown is None else unknown
            # One of the two directions is enough: what is absent there is on the other side.
            absent = ~either & ~(dark[i, j] & dark[j, i])
            side = -1 if instance.options["seen"] == "above" else 1
            edge = np.broadcast_to(instance.options["threshold"], (n, n)) / instance.scale
            # Of limits that differ between the two ways round, the narrower; an unknown way says nothing.
            nowhere = -side * np.inf
            forward, backward = (np.where(dark[a, b], nowhere, edge[a, b]) for a, b in ((i, j), (j, i)))
            tight = (np.minimum if side < 0 else np.maximum)(forward, backward)
            parts.append(_absent(i, j, absent, tight, side))
        first, second, value, kind = (np.concatenate(column) for column in zip(*parts, strict=True))
        rows = np.linalg.norm(instance.planted, axis=1) / np.sqrt(instance.scale)
        size = np.ones(len(first)) if instance.group == DISTANCES else rows[first] * rows[second]
        return cls(
            first, second, value, kind, instance.group == DISTANCES, np.where(size > 0, size, 1.0), instance.signs
        )

    def gaps(self, V: Floats) -> tuple[Floats, Floats]:
        """Residuals over their size, and the derivative of each by every unknown."""
        n, r = V.shape
        a, b = V[self.first], V[self.second]
        count = np.arange(len(self.first))
        J = np.zeros((len(count), n, r))
        if self.distances:
            apart = a - b
            length = np.linalg.norm(apart, axis=1)
            gap = length - self.value
            way = apart / np.maximum(length, 1e-12)[:, None]
            J[count, self.first] = way
            J[count, self.second] = -way
        else:
            gap = np.einsum("ij,ij->i", a * self.signs, b) - self.value
            J[count, self.first] += b * self.signs
            J[count, self.second] += a * self.signs
        met = (self.kind < 0) & (gap < 0) | (self.kind > 0) & (gap > 0)
        gap[met] = 0.0
        J[met] = 0.0
        return gap / self.size, J.reshape(len(count), n * r) / self.size[:, None]


def _absent(i: Any, j: Any, where: Any, value: Any, side: int) -> tuple[Any, ...]:
    count = int(where.sum())
    return i[where], j[where], np.broadcast_to(value, where.shape)[where], np.full(count, side, np.int8)


def second_completion(instance: Instance, answer: Answer) -> str | None:
    """A sentence about another completion that differs where the answer is called determined, or None."""
    if not instance.exact or instance.single or instance.planted.size > UNKNOWNS or answer.determined is None:
        return None
    claimed = together(answer) & ~(instance.seen | instance.seen.T)
    if answer.entry_levels is not None:
        claimed |= np.isin(answer.entry_levels, SURE) & ~(instance.seen | instance.seen.T)
    return differing(instance, claimed)


def differing(instance: Instance, claimed: NDArray[np.bool_]) -> str | None:
    """A sentence about another completion that differs from the truth in a claimed entry, or None."""
    claimed = claimed & instance.exists
    if not claimed.any():
        return None
    seen, truth = Seen.of(instance), instance.truth / instance.scale
    for start in _starts(instance):
        V = _solved(seen, start)
        gap, _ = seen.gaps(V)
        if not np.abs(gap).max(initial=0.0) < AGREES:
            continue
        other = _lengths(V) if seen.distances else V * seen.signs @ V.T
        apart = np.where(claimed, np.abs(other - truth), 0.0)
        i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
        if apart[i, j] > DIFFERS:
            return (
                f"entry ({i}, {j}) is {instance.truth[i, j]:.6g}, but {other[i, j] * instance.scale:.6g} in another "
                f"completion that meets every seen entry to {np.abs(gap).max():.0e}"
            )
    return None


def _starts(instance: Instance) -> Iterator[Floats]:
    """Random ones, and the truth with some rows drawn anew or mirrored."""
    root = instance.scale if instance.group == DISTANCES else np.sqrt(instance.scale)
    U = instance.planted / root
    n, r = U.shape
    rng = np.random.default_rng([n, r, zlib.crc32(instance.name.encode())])
    size = float(np.sqrt(np.mean(U**2))) or 1.0
    for number in range(STARTS):
        V = U.copy()
        some = np.less(rng.random(n), rng.uniform(0.1, 0.6) if number % 3 else 1.0)
        if number % 3 == 2:
            axis = rng.standard_normal(r) if number % 2 else U[rng.integers(n)] + 1e-3 * rng.standard_normal(r)
            axis /= np.linalg.norm(axis)
            V[some] -= 2 * np.outer(V[some] @ axis, axis)
            V += 1e-3 * size * rng.standard_normal(V.shape)
        else:
            V[some] = size * rng.standard_normal((int(some.sum()), r))
        yield V


def _solved(seen: Seen, V: Floats) -> Floats:
    """Levenberg–Marquardt to rounding."""
    damping, (gap, J) = 1e-2, seen.gaps(V)
    cost = float(gap @ gap)
    for _ in range(STEPS):
        if cost < AGREES**2 / 1e6 or damping > 1e8:
            break
        normal, slope = J.T @ J, J.T @ gap
        spread = float(np.trace(normal)) / len(normal) or 1.0
        normal[np.diag_indices_from(normal)] += damping * spread
        try:
            step = np.linalg.solve(normal, slope)
        except np.linalg.LinAlgError:
            break
        W = V - step.reshape(V.shape)
        new_gap, new_J = seen.gaps(W)
        new_cost = float(new_gap @ new_gap)
        if new_cost < cost:
            V, gap, J, cost, damping = W, new_gap, new_J, new_cost, max(damping / 5, 1e-13)
        else:
            damping *= 4
    return V


def _lengths(V: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(V[:, None] - V, axis=2)
    return lengths
