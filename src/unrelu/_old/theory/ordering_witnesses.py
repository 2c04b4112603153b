"""Factors that tell the paper's assumptions and the condition of Bishop and Yu apart, all with ReLU sampling.

Each is made for a seed, so that there are as many as one likes. That they are what they are made for is not taken for
granted: :func:`conditions` decides every condition by looking at all maximal cliques.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.theory.assumptions import check_assumption_1, check_assumption_2
from unrelu._old.theory.ordering import groups_exist, order_exists
from unrelu._old.theory.partition import orthant_partition

__all__ = ["WITNESSES", "conditions"]

# Pairs of rows across the plane that separates two caps, and how often they are drawn again.
PAIRS, DRAWS = 12, 20
# Rows around the circle, in degrees: any three neighbours see each other, but none of them sees the row at 0°, which
# sees only the rows at ±45°.
STRIP = (45.0, 91.0, 134.0, 157.0, 180.0, 203.0, 226.0, 269.0, 315.0)


def conditions(U: Floats) -> dict[str, bool]:
    """Whether Assumptions 1 and 2, Assumption 3 for some groups, and an order of Bishop and Yu are there.

    Examples
    --------
    >>> conditions(np.random.default_rng(0).standard_normal((30, 2)))
    {'one and two': True, 'three': True, 'order': True}
    """
    seen = U @ U.T >= 0
    orthants = orthant_partition(U)
    both = check_assumption_1(orthants).holds and check_assumption_2(orthants, seen).holds
    return {"one and two": both, "three": groups_exist(U, seen), "order": order_exists(U, seen)}


def caps(rng: np.random.Generator) -> Floats:
    """Rank 3: Assumptions 1 and 2 hold, and there is no order.

    The rows lie in two caps around the first axis and its opposite, each a clique. In Gray code the first sign changes
    once, so that Assumption 2 asks for entries between the caps in one pair of octants only. There twelve rows of one
    cap see one row of the other each, which is too few to share rows of rank 3, but the twelve products span the 3×3
    matrices.
    """
    for _ in range(DRAWS):
        U = _caps(rng)
        orthants = orthant_partition(U)
        if check_assumption_1(orthants).holds and check_assumption_2(orthants, U @ U.T >= 0).holds:
            break
    return U


def _caps(rng: np.random.Generator) -> Floats:
    rows = []
    for side in (1.0, -1.0):
        for signs in ((1, 1), (1, -1), (-1, -1)):  # the octants other than those of the pairs
            radius, angle = rng.uniform(0.1, 0.5, 3), rng.uniform(0.1, np.pi / 2 - 0.1, 3)
            rows += [
                (side, signs[0] * s * np.cos(a), signs[1] * s * np.sin(a)) for s, a in zip(radius, angle, strict=True)
            ]
    angles = np.linspace(0.06, np.pi / 2 - 0.06, PAIRS)
    gap = angles[1] - angles[0]
    angles = angles + rng.uniform(-0.1, 0.1, PAIRS) * gap
    # Two rows of different caps see each other if the cosine of the angle between their shadows is at least this.
    least = (1 + np.cos(gap)) / 2
    heights = np.exp(0.3 * (1 - least) * rng.uniform(-1, 1, PAIRS))
    others = angles + 0.35 * gap * rng.choice([-1, 1], PAIRS) * rng.uniform(0.3, 1, PAIRS)
    upper = np.column_stack([heights, -np.cos(angles), np.sin(angles)])
    lower = np.column_stack([-least / heights, -np.cos(others), np.sin(others)])
    return np.asarray(rng.permutation(np.vstack([rows, upper, lower])))


def half_plane(rng: np.random.Generator) -> Floats:
    """Rank 2: there is an order, and Assumption 1 fails however the axes are turned: one quadrant has no rows.

    All rows lie within 150°.
    """
    angles = rng.uniform(0, np.radians(150), 20)
    return rng.uniform(0.5, 2, (20, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])


def strip(rng: np.random.Generator) -> Floats:
    """Rank 2: there is an order, and no groups satisfy Assumption 3.

    The last row sees two rows only, at both ends of a strip of triangles that goes around the circle. They see each
    other, but no third row sees them both: their overlap with the union has rank 2, with any earlier set rank 1.
    """
    turned = rng.uniform(0, 2 * np.pi)
    angles = np.radians([0.0, *(np.array(STRIP) + rng.uniform(-0.3, 0.3, len(STRIP)))])
    angles[1], angles[-1] = np.radians(45 - rng.uniform(0.1, 0.4)), np.radians(315 + rng.uniform(0.1, 0.4))
    lengths = rng.uniform(0.5, 2, (len(angles), 1))
    return lengths * np.column_stack([np.cos(angles + turned), np.sin(angles + turned)])


def gaussian(rng: np.random.Generator) -> Floats:
    """Rank 2, forty Gaussian rows: all conditions hold."""
    return rng.standard_normal((40, 2))


def bundles(rng: np.random.Generator) -> Floats:
    """Rank 2: two opposite bundles see nothing of each other, and no condition holds."""
    angles = np.concatenate([rng.uniform(-0.5, 0.5, 10), np.pi + rng.uniform(-0.5, 0.5, 10)])
    return rng.uniform(0.5, 2, (20, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])


# By name: how a factor is made, and the conditions it is made for.
WITNESSES: dict[str, tuple[Callable[[np.random.Generator], Floats], dict[str, bool]]] = {
    "two caps": (caps, {"one and two": True, "three": False, "order": False}),
    "half a plane": (half_plane, {"one and two": False, "three": True, "order": True}),
    "strip": (strip, {"three": False, "order": True}),
    "gaussian": (gaussian, {"one and two": True, "three": True, "order": True}),
    "two bundles": (bundles, {"one and two": False, "three": False, "order": False}),
}
