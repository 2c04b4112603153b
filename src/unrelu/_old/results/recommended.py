"""The call that a diagnosis leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Bools
from unrelu._old.data.sheet import Sheet
from unrelu._old.detection.chosen import Detection
from unrelu._old.results.diagnosis import Counted, Structure
from unrelu._old.results.inspected import cutoff_of, roundest

__all__ = ["Recommending", "level_to_paste"]

NOTHING: dict[str, Any] = {"function": None, "options": {}}


@dataclass(frozen=True, eq=False)
class Recommending:
    """What was asked and counted, by which a call is chosen.

    Attributes
    ----------
    sheet : Sheet
    square : bool
    counted : Counted
    named : int or None
        The rank that was named.
    threshold : float, "auto" or None
        As it was named, or "auto" where the data contradict what was named.
    seen : str
    unknown : bool ndarray or None
    """

    sheet: Sheet
    square: bool
    counted: Counted
    named: int | None
    threshold: Any
    seen: str
    unknown: Bools | None

    def call(
        self, completion: Any, detection: Detection | None, structures: tuple[Structure, ...], rank: int | None
    ) -> dict[str, Any]:
        """Function and options; no function where there is nothing to complete, or nothing to complete it by."""
        if not self.counted.unseen + self.counted.unknown or min(self.sheet.axes.shape) == 1:
            return NOTHING
        if structures[0].name == "distances":
            return {"function": "complete_distances", "options": {"dim": "auto", **cutoff_of(self.sheet.values)}}
        masked: dict[str, Any] = {} if self.unknown is None else {"unknown": self.unknown}
        side = {} if self.seen == "above" else {"seen": self.seen}
        kind = None if detection is None else detection.kind
        if not self.square and rank is None:
            told = {"threshold": self.threshold, **side} if kind not in (None, "random") else {}
            return {"function": "complete_table", "options": {**told, **masked}}
        if kind in ("mixed", "curve"):
            options: dict[str, Any] = {"threshold": "auto", "gaps": kind}
        elif kind == "censored" and detection is not None:
            options = {"threshold": level_to_paste(detection, self.sheet, self.threshold, self.seen)}
        else:
            options = {"threshold": None}
        options |= side if options["threshold"] is not None else {}
        options |= {"structure": "indefinite"} if any(o.name == "indefinite" and o.fits for o in structures) else {}
        options |= {"loss": "huber"} if completion is not None and completion.distrusted else {}
        by_itself = completion is not None and (completion.threshold is not None or kind in ("random", None))
        known = self.named is not None or not self.square or not by_itself or "structure" in options
        options = {"rank": rank, **options} if rank is not None and known else options
        return {"function": "complete" if self.square else "complete_rectangular", "options": {**options, **masked}}


def level_to_paste(detection: Detection, sheet: Sheet, threshold: Any, seen: str) -> Any:
    """The threshold that was named, or the roundest that the data allow; ``auto`` where seen entries lie beyond it."""
    curve = detection.curve
    if not (isinstance(threshold, str) and threshold == "auto"):
        return threshold
    if curve.stray > 0 or curve.before_noise:
        return "auto"
    values = sheet.values[~np.isnan(sheet.values)]
    low, high = curve.level_interval
    nearest = float(values.min() if seen == "above" else values.max())
    ends = (low, min(high, nearest)) if seen == "above" else (max(low, nearest), high)
    return roundest(min(ends), max(ends))
