"""Which way of going unseen the data speak for: models are compared by what they make likely."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.budget import checkpoint
from unrelu._old.base.errors import InputError
from unrelu._old.detection.evidence import Evidence
from unrelu._old.detection.models import MODELS, Fitted, Model, blur_of, fitted, log_likelihood, outliers_of
from unrelu._old.model.detection import DetectionCurve, GapKind

__all__ = ["KINDS", "Detection", "detected", "detection_of", "enough_to_tell"]

KINDS: tuple[GapKind, ...] = ("censored", "mixed", "curve", "random")
# A difference of scores from which on a model is called told from another: one is twenty times as likely.
TOLD = 3.0
# Entries of either sort that are needed to tell anything.
FEWEST = 10
# A curve that rises over less than this many times what blurs a level cannot be told from a wall.
NARROW = 0.2


@dataclass(frozen=True)
class Detection:
    """What was found out about how entries go unseen.

    Attributes
    ----------
    best : Fitted
        The model of the highest score.
    others : tuple of Fitted
        The rest, best first.
    random_share : float
        Of the unseen entries, how many are missing by chance, though their value would have been seen.
    random_interval : (float, float)
        Between which that lies with a probability of 95 %.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = rng.standard_normal(4000)
    >>> value = fit + 0.05 * rng.standard_normal(4000)
    >>> seen = np.where(value >= 0.2, value, np.nan)
    >>> found = detected(Evidence(fit, np.full(4000, 0.01), seen, 0.05, np.zeros(4000)))
    >>> found.best.curve.kind, bool(abs(found.best.curve.level - 0.2) < 0.01), found.told
    ('censored', True, True)
    """

    best: Fitted
    others: tuple[Fitted, ...]
    random_share: float
    random_interval: tuple[float, float]

    @classmethod
    def of_wall(cls, curve: DetectionCurve) -> Detection:
        """A wall that the seen values show by themselves, compared with nothing."""
        return cls(Fitted(Model(), curve, 0.0, 0), (), 0.0, (0.0, 0.0))

    @property
    def curve(self) -> DetectionCurve:
        """That of the best model."""
        return self.best.curve

    @property
    def kind(self) -> GapKind:
        """Of the gaps."""
        return self.curve.kind

    @property
    def margin(self) -> float:
        """By how much the score of the best is above that of the best of another kind; infinite without one."""
        rivals = [other.score for other in self.others if other.curve.kind != self.kind]
        return self.best.score - max(rivals) if rivals else np.inf

    @property
    def told(self) -> bool:
        """Whether the data tell the kind from all others."""
        return self.margin >= TOLD

    def scores(self) -> dict[str, float]:
        """The best score of each kind, less that of the best of all."""
        found: dict[str, float] = {}
        for one in (self.best, *self.others):
            found.setdefault(one.curve.kind, one.score - self.best.score)
        return found

    @property
    def mirrored(self) -> Detection:
        """The same for data with the other sign."""
        turned = [replace(one, curve=one.curve.mirrored) for one in (self.best, *self.others)]
        return replace(self, best=turned[0], others=tuple(turned[1:]))


def detected(
    evidence: Evidence,
    *,
    side: str = "above",
    kinds: Iterable[str] = KINDS,
    level: float | None = None,
    sharp: bool = False,
) -> Detection:
    """The likeliest way to go unseen, among some kinds.

    Parameters
    ----------
    evidence : Evidence
    side : {"above", "below"}
        Where entries are seen.
    kinds : names of :data:`KINDS`
    level : float, optional
        The level of a wall, where it is known.
    sharp : bool, default False
        Whether seen values begin at once: then none was seen on the wrong side of a wall.
    """
    if side == "below":
        turned = None if level is None else -level
        return detected(evidence.mirrored, kinds=kinds, level=turned, sharp=sharp).mirrored
    seen = evidence.seen
    if not enough_to_tell(evidence):
        few = min(int(seen.sum()), int((~seen).sum()))
        what = "unseen" if seen.sum() > few else "seen"
        raise InputError(
            f"how entries go unseen cannot be told from {few} {what} entries in rows that can be fitted, at least "
            f"{FEWEST} of them are needed; name threshold= and gaps='censored', or threshold=None"
        )
    allowed, tried = set(kinds), []
    for model in _worth_trying(evidence, allowed):
        checkpoint()
        if sharp and (model.stray or model.before_noise):
            continue
        tried.append(_at_level(evidence, fitted(evidence, model), level))
    if len(allowed) > 1:  # what rises over next to nothing is a wall
        tried = [one for one in tried if not one.model.width or one.curve.width > NARROW * blur_of(evidence)]
    tried.sort(key=lambda one: -one.score)
    return detection_of(tried, evidence)


def detection_of(tried: Sequence[Fitted], evidence: Evidence, side: str = "above") -> Detection:
    """What some models say, the best first; ``evidence`` is that of the best."""
    best = tried[0]
    turned = (evidence, best.curve) if side == "above" else (evidence.mirrored, best.curve.mirrored)
    share, ends = _by_chance(*turned)
    return Detection(best, tuple(tried[1:]), share, ends)


def enough_to_tell(evidence: Evidence) -> bool:
    """Whether there are seen and unseen entries enough to tell what makes the difference."""
    seen = int(np.sum(evidence.seen))
    return min(seen, evidence.fit.size - seen) >= FEWEST


def _worth_trying(evidence: Evidence, allowed: set[str]) -> list[Model]:
    """Models of the kinds that are asked for; those with a share that no entry speaks for are left out."""
    by_kind: dict[str, list[Model]] = {}
    for model in MODELS:
        by_kind.setdefault(model.kind, []).append(model)
    missing, strays = outliers_of(evidence)
    found: list[Model] = []
    for kind in KINDS:
        if kind in allowed:
            some = by_kind[kind]
            needed = [model for model in some if strays or not model.stray]
            only = len(allowed) == 1 or kind != "mixed" or missing
            found += needed if only else []
    return found


def _at_level(evidence: Evidence, one: Fitted, level: float | None) -> Fitted:
    """A wall at a level that is known."""
    if level is None or np.isinf(one.curve.level) or one.curve.width > 0:
        return one
    curve = replace(one.curve, level=level, level_interval=(level, level))
    return replace(one, curve=curve, log_likelihood=log_likelihood(evidence, curve))


def _by_chance(evidence: Evidence, curve: DetectionCurve) -> tuple[float, tuple[float, float]]:
    """The expected share of the unseen entries that would have been seen but for chance; and between what it lies."""
    if np.isinf(curve.level):
        return 1.0, (1.0, 1.0)
    hidden = ~evidence.seen
    wide = evidence.error[hidden] if curve.before_noise else np.hypot(evidence.error[hidden], evidence.sigma)
    found: list[float] = []
    for share in (curve.share, *curve.share_interval):
        there = replace(curve, share=float(min(share, 1 - curve.stray)))
        rise = replace(there, share=0.0, stray=0.0).seen_around(evidence.fit[hidden], wide)
        missed = np.maximum(1 - there.seen_around(evidence.fit[hidden], wide), np.finfo(float).tiny)
        found.append(float(np.mean(np.minimum(share * rise / missed, 1.0))))
    return found[0], (min(found), max(found))
