"""All kinds of instances by name, and the endless schedule of instances."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np

from soak import kinds, kinds_distances, kinds_edge, kinds_tables, reported  # noqa: F401
from soak.instance import KINDS, Instance

ALL = tuple(KINDS)
# How many of a kind are drawn in each round; others once. These take little time, and their faults are rare.
OFTEN = dict.fromkeys(
    ("small", "repeated-rows", "nearly-repeated-rows", "distances-few", "distances-grid", "distances-repeated"), 2
) | {"reported-a2": 3, "reported-a3": 3}


def drawn(name: str) -> Instance:
    """Return the instance of this name, ``kind:seed:number``."""
    parts = re.fullmatch(r"([a-z0-9-]+):(\d+):(\d+)", name)
    if not parts or parts[1] not in ALL:
        raise SystemExit(f"an instance is named kind:seed:number with one of the kinds {', '.join(ALL)}; got {name!r}")
    kind, seed, number = parts[1], int(parts[2]), int(parts[3])
    if kind.startswith("reported-"):
        instance = KINDS[kind](np.random.default_rng([number, seed] if seed else number), number)
    else:
        # The random numbers of an instance do not depend on other kinds.
        instance = KINDS[kind](np.random.default_rng([seed, number, zlib.crc32(kind.encode())]))
    return replace(instance, kind=kind, name=name)


def schedule(seed: int, only: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield names without end: the reported faults first, then round after round of every kind."""
    if not only:
        yield from reported.KNOWN
    for turn in count():
        for kind in only or ALL:
            times = OFTEN.get(kind, 1)
            yield from (f"{kind}:{seed}:{turn * times + number}" for number in range(times))
