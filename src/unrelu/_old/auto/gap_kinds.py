"""Which kind of gaps the data speak for, each kind with a matrix of its own.

A fit that takes nothing from absence is bent where noise decided what was seen: too high near a wall, so that entries
seem to be missing by chance. Where the noise is large, kinds are therefore compared by the likelihood of everything,
of the seen values and of which entries were seen, at the matrix, noise and curve that make each of them likeliest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.auto.detected import Together, evidence_at
from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.budget import phase
from unrelu._old.data.observations import Observations
from unrelu._old.detection.chosen import Detection, detected, detection_of, enough_to_tell
from unrelu._old.detection.evidence import Evidence
from unrelu._old.detection.models import Fitted, log_likelihood

__all__ = ["Rivals", "bent"]

# Rows, and columns of a table, that tell the kind: there are entries enough among them.
MOST_ROWS = 300
# Noise, in units of the rms fit, from which on it bends a fit that takes nothing from absence.
LARGE = 0.1


def bent(evidence: Evidence) -> bool:
    """Whether noise is so large that a fit which takes nothing from absence may mislead."""
    return evidence.sigma > LARGE * float(np.sqrt(np.mean(evidence.fit**2)))


@dataclass(frozen=True, eq=False)
class Rivals:
    """What the kinds are fitted to.

    Attributes
    ----------
    together : Together
    start : ndarray
        A fit that took nothing from absence, in the units of the data.
    sigma : float
        Its noise.
    side : {"above", "below"}
        Where entries are seen.
    sharp : bool
        Whether seen values begin at once: then none of them is on the wrong side of a wall.
    """

    together: Together
    start: Array
    sigma: float
    side: str
    sharp: bool

    def compared(self, kinds: Iterable[str]) -> Detection | None:
        """The likeliest of some kinds, and the others; None where too little is left to tell."""
        whole = self.together.observations
        rows = _some(whole)
        some = whole if len(rows) == whole.size else whole.restricted(rows)
        part = replace(self.together, observations=some)
        start = self.start[rows]
        plain = evidence_at(some, start, self.sigma)
        if not enough_to_tell(plain):
            return None
        tried: list[tuple[Fitted, Evidence]] = []
        for kind in kinds:
            phase(f"comparing gaps: {kind}")
            first = detected(plain, side=self.side, kinds=(kind,), level=part.known, sharp=self.sharp)
            factor, sigma, found = start, self.sigma, first
            if kind != "random":
                joint = part.fitted(start, self.sigma, first)
                factor, sigma, found = joint.factor(some), joint.sigma, joint.detection
            own = evidence_at(some, factor, sigma)
            tried.append((replace(found.best, log_likelihood=_of_everything(own, found)), own))
        tried.sort(key=lambda pair: -pair[0].score)
        return detection_of([one for one, _ in tried], tried[0][1], self.side)


def _some(observations: Observations) -> Indices:
    """Rows, and columns of a table, that are looked at: the same for the same data."""
    size, cut, rng = observations.size, observations.source.cut, np.random.default_rng(0)
    sides = [np.arange(size)] if cut is None else [np.arange(cut), np.arange(cut, size)]
    drawn = [side if len(side) <= MOST_ROWS else np.sort(rng.choice(side, MOST_ROWS, replace=False)) for side in sides]
    found: Indices = np.concatenate(drawn)
    return found


def _of_everything(evidence: Evidence, found: Detection) -> float:
    """The log-likelihood of seen values, with the noise that makes them likeliest, and of which were seen."""
    seen, curve = evidence.seen, found.curve
    off = evidence.value[seen] - evidence.fit[seen]
    sigma = evidence.sigma if curve.kind != "random" else float(np.sqrt(np.mean(off**2)))
    density = -0.5 * float(np.sum((off / sigma) ** 2)) - off.size * float(np.log(sigma))
    if not curve.before_noise:  # the matrix is the likeliest one, and has no error to be averaged over
        evidence = replace(evidence, error=np.zeros_like(evidence.error))
    turned = (evidence, curve) if curve.side == "above" else (evidence.mirrored, curve.mirrored)
    return density + log_likelihood(*turned)
