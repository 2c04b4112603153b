"""How likely an entry is to be seen, by its value: a wall, a curve, chance, or some of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from unrelu._old.base.arrays import Floats

__all__ = ["DetectionCurve", "GapKind"]

GapKind = Literal["censored", "mixed", "curve", "random"]


@dataclass(frozen=True)
class DetectionCurve:
    """P(seen | value) = b + (1 − a − b)·Φ((value − t)/w): level t, width w, and two shares that chance takes.

    With w = 0 it is a wall: everything from t on is seen, and nothing below it. Where small values are seen and large
    ones are not (``side="below"``), value − t has the other sign.

    Attributes
    ----------
    level : float
        t, at which half of all entries are seen that chance leaves; −∞ (∞ for ``below``) if there is no such level.
    width : float
        w, over which the chance to be seen rises from 16 % to 84 %, halved; 0 for a wall.
    share : float
        a, of entries beyond the level that are missing by chance.
    stray : float
        b, of entries on the other side of the level that were seen all the same.
    side : {"above", "below"}
        On which side of the level entries are seen.
    level_interval : (float, float)
        Between which t lies with a probability of 95 %.
    width_interval, share_interval : (float, float)
        The same of w and a.
    before_noise : bool
        Whether the value without its noise decides what is seen: then noise came after the cut.

    Examples
    --------
    >>> curve = DetectionCurve(level=1.0, width=0.5, share=0.1)
    >>> curve.probability([0.0, 1.0, 2.0]).round(3).tolist()
    [0.02, 0.45, 0.88]
    >>> curve.kind
    'curve'
    >>> print(DetectionCurve(level=0.3, level_interval=(0.299, 0.3)))
    entries from 0.3 on are seen (95 %: 0.299 to 0.3)
    """

    level: float
    width: float = 0.0
    share: float = 0.0
    stray: float = 0.0
    side: Literal["above", "below"] = "above"
    level_interval: tuple[float, float] = (float("nan"), float("nan"))
    width_interval: tuple[float, float] = (0.0, 0.0)
    share_interval: tuple[float, float] = (0.0, 0.0)
    before_noise: bool = False

    @property
    def kind(self) -> GapKind:
        """``censored`` for a wall, ``random`` where there is no level, ``mixed`` for both, ``curve`` with a width."""
        if np.isinf(self.level):
            return "random"
        if self.width > 0:
            return "curve"
        return "mixed" if self.share > 0 else "censored"

    @property
    def certain(self) -> bool:
        """Whether an unseen entry is sure to lie on the unseen side."""
        return self.kind == "censored"

    @property
    def sign(self) -> float:
        """1 where large values are seen, −1 where small ones are."""
        return 1.0 if self.side == "above" else -1.0

    def _up(self, values: Any) -> Floats:
        """How far values are on the seen side of the level."""
        found: Floats = self.sign * (np.asarray(values, np.float64) - self.level)
        return found

    def probability(self, values: Any) -> Floats:
        """To be seen, of entries with these values."""
        return self.seen_around(values, 0.0)

    def seen_around(self, mean: Any, sigma: Any) -> Floats:
        """The same of entries that lie around a mean with a standard deviation."""
        if np.isinf(self.level):
            return np.full(np.shape(mean), 1 - self.share)
        wide = np.hypot(self.width, sigma)
        up = self._up(mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.where(wide > 0, ndtr(up / np.where(wide > 0, wide, 1.0)), up >= 0)
        found: Floats = self.stray + (1 - self.share - self.stray) * rise
        return found

    @property
    def blurred(self) -> DetectionCurve:
        """The same with what is not known of its level taken for width: for intervals of entries."""
        low, high = self.level_interval
        spread = (high - low) / (2 * 1.96) if np.isfinite(high - low) else 0.0
        return self if spread == 0 else replace(self, width=float(np.hypot(self.width, spread)))

    def scaled(self, factor: float) -> DetectionCurve:
        """The same for data that are multiplied by a positive number."""
        ends = (tuple(end * factor for end in pair) for pair in (self.level_interval, self.width_interval))
        level, width = ends
        return replace(
            self,
            level=self.level * factor,
            width=self.width * factor,
            level_interval=(level[0], level[1]),
            width_interval=(width[0], width[1]),
        )

    @property
    def mirrored(self) -> DetectionCurve:
        """The same for data with the other sign."""
        low, high = self.level_interval
        side: Literal["above", "below"] = "below" if self.side == "above" else "above"
        return replace(self, level=-self.level, level_interval=(-high, -low), side=side)

    def as_dict(self) -> dict[str, Any]:
        """Everything that is known of it, ready for JSON: no number is infinite, None stands for no level."""
        level = None if np.isinf(self.level) else self.level
        return {**asdict(self), "kind": self.kind, "level": level}

    @classmethod
    def read(cls, said: dict[str, Any]) -> DetectionCurve:
        """What :meth:`as_dict` wrote."""
        nan = float("nan")
        known = {name: value for name, value in said.items() if name != "kind"}
        for name in ("level_interval", "width_interval", "share_interval"):
            known[name] = tuple(nan if end is None else end for end in known[name] or (nan, nan))
        nowhere = -np.inf if known["side"] == "above" else np.inf
        known["level"] = nowhere if known["level"] is None else known["level"]
        return cls(**known)

    def __str__(self) -> str:
        if self.kind == "random":
            return f"{self.share:.1%} of the entries are missing by chance, whatever their value"
        low, high = self.level_interval
        told = "" if np.isnan(low) else f" (95 %: {low:.6g} to {high:.6g})"
        way = "on" if self.side == "above" else "down"
        said = f"entries from {self.level:.6g} {way} are seen{told}"
        if self.width > 0:
            said = f"the chance to be seen rises around {self.level:.4g}{told} over a width of {self.width:.3g}"
            said += f" (95 %: {self.width_interval[0]:.3g} to {self.width_interval[1]:.3g})"
        if self.share > 0:
            low, high = self.share_interval
            said += f", and of those {self.share:.1%} are missing by chance (95 %: {low:.1%} to {high:.1%})"
        if self.stray > 0:
            said += f"; {self.stray:.2%} of the others were seen all the same"
        return said
