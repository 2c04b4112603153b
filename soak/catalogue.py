"""All kinds by name, and the endless list of what to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np

from soak import kinds, kinds_distances, kinds_edge, kinds_indefinite, kinds_limits, kinds_tables, reported
from soak.instance import Instance, name_of, stream

__all__ = ["ALL", "drawn", "schedule"]

DRAWS = {
    **kinds.KINDS,
    **kinds_limits.KINDS,
    **kinds_distances.KINDS,
    **kinds_edge.KINDS,
    **kinds_tables.KINDS,
    **kinds_indefinite.KINDS,
}
ALL = (*DRAWS, *reported.KINDS)
# Drawn so often in each round, others once: these are quickly tried and their faults are rare.
OFTEN = {
    "small": 2,
    "repeated-rows": 2,
    "nearly-repeated-rows": 2,
    "distances-few": 2,
    "distances-grid": 2,
    "distances-repeated": 2,
    "reported-a2": 3,
    "reported-a3": 3,
}


def drawn(name: str) -> Instance:
    """The instance of this name, ``kind:seed:number``."""
    kind, seed, number = _parts(name)
    if kind in reported.KINDS:
        rng = np.random.default_rng(number if seed == 0 else [number, seed])
        instance = reported.KINDS[kind](rng, number)
    else:
        instance = DRAWS[kind](stream(kind, seed, number))
    return replace(instance, kind=kind, name=name)


def schedule(seed: int, only: tuple[str, ...] = ()) -> Iterator[str]:
    """Names without end: first the known ones, then round after round of every kind."""
    if not only:
        yield from reported.KNOWN
    for turn in count():
        for kind in only or ALL:
            times = OFTEN.get(kind, 1)
            yield from (name_of(kind, seed, turn * times + number) for number in range(times))


def _parts(name: str) -> tuple[str, int, int]:
    kind, _, rest = name.partition(":")
    seed, _, number = rest.partition(":")
    if kind not in ALL:
        raise SystemExit(f"an instance is named kind:seed:number with one of the kinds {', '.join(ALL)}; got {name!r}")
    if not (seed.isdigit() and number.isdigit()):
        raise SystemExit(f"an instance is named kind:seed:number, such as families:0:17; got {name!r}")
    return kind, int(seed), int(number)
