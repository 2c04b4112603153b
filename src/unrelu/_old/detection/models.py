"""How likely the pattern of what was seen is under each way to go unseen, and the curve that makes it likeliest.

With the fit μ of an entry, its standard error s and noise σ, and P(seen | v) = b + (1 − a − b)·Φ((v − t)/w): a seen
entry of value v costs −log P(seen | v), and an unseen one −log(a + (1 − a − b)·Φ((t − μ)/√(w² + σ² + s²))), the same
averaged over where its value may be. If noise came after the cut, μ decides instead of v, for both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtr

from unrelu._old.base.arrays import Floats
from unrelu._old.base.tolerances import (
    MODELS_BEGIN,
    MODELS_BEND,
    MODELS_BLUR,
    MODELS_CURVE,
    MODELS_FOUND,
    MODELS_LEAST,
    MODELS_NEAREST,
)
from unrelu._old.detection.evidence import Evidence
from unrelu._old.model.detection import DetectionCurve, GapKind

__all__ = ["MODELS", "Fitted", "Model", "blur_of", "fitted", "log_likelihood", "outliers_of"]

# The difference of two log-likelihoods that a 95 % interval of an edge allows: there the likelihood ends abruptly, and
# the difference is exponential, not χ².
EDGE = 3.0
# Steps at which an edge is looked for on either side of the best, and how far, in units of what blurs it.
STEPS, FURTHEST = 40, 30.0
# Levels that are tried at once, and how often again around the best.
LEVELS, ROUNDS = 24, 5
# Times what blurs a level, at which an entry is sure to be on its side of it.
SURE = 4.0


@dataclass(frozen=True)
class Model:
    """Which numbers of a curve are free.

    Attributes
    ----------
    width, share, stray : bool
    before_noise : bool
        Whether the value without its noise decides.
    level : bool
        Whether there is one.
    """

    width: bool = False
    share: bool = False
    stray: bool = False
    before_noise: bool = False
    level: bool = True

    @property
    def kind(self) -> GapKind:
        """Of the gaps that it stands for."""
        if not self.level:
            return "random"
        return "curve" if self.width else "mixed" if self.share else "censored"

    @property
    def count(self) -> int:
        """Numbers that are estimated."""
        return int(self.level) + int(self.width) + int(self.share) + int(self.stray)


MODELS: tuple[Model, ...] = (
    Model(level=False, share=True),
    *(
        Model(share=share, stray=stray, before_noise=before)
        for before in (False, True)
        for share in (False, True)
        for stray in (False, True)
    ),
    Model(width=True),
    Model(width=True, share=True),
)


@dataclass(frozen=True)
class Fitted:
    """A curve, and how likely it makes what was seen.

    Attributes
    ----------
    model : Model
    curve : DetectionCurve
    log_likelihood : float
    entries : int
        By which it was told.
    """

    model: Model
    curve: DetectionCurve
    log_likelihood: float
    entries: int

    @property
    def score(self) -> float:
        """The log-likelihood, less half of log(entries) for every number that was estimated (Schwarz)."""
        return self.log_likelihood - 0.5 * self.model.count * float(np.log(max(self.entries, 2)))


def log_likelihood(evidence: Evidence, curve: DetectionCurve) -> float:
    """Of which entries were seen, under a curve for what lies above."""
    seen = evidence.seen
    if np.isinf(curve.level):
        a = float(np.clip(curve.share, MODELS_LEAST, 1 - MODELS_LEAST))
        return float(np.sum(seen) * np.log1p(-a) + np.sum(~seen) * np.log(a))
    if curve.before_noise:
        p = curve.seen_around(evidence.fit, evidence.error)
        with np.errstate(divide="ignore"):
            return float(np.sum(np.log(p[seen])) + np.sum(np.log(_missed(evidence, curve, evidence.error)[~seen])))
    with np.errstate(divide="ignore"):
        found = float(np.sum(np.log(curve.probability(evidence.value[seen]))))
        if not np.isfinite(found):
            return -np.inf
        wide = np.hypot(evidence.error, evidence.sigma)
        return found + float(np.sum(np.log(_missed(evidence, curve, wide)[~seen])))


def _missed(evidence: Evidence, curve: DetectionCurve, around: Floats) -> Floats:
    """The probability to go unseen, without a difference that would lose its digits."""
    wide = np.hypot(curve.width, around)
    wide = np.maximum(wide, np.finfo(float).tiny)
    found: Floats = curve.share + (1 - curve.share - curve.stray) * ndtr((curve.level - evidence.fit) / wide)
    return np.maximum(found, np.finfo(float).tiny)


def fitted(evidence: Evidence, model: Model) -> Fitted:
    """The likeliest curve of a model."""
    if not model.level:
        share = float(np.mean(~evidence.seen))
        half = 1.96 * float(np.sqrt(share * (1 - share) / evidence.fit.size))
        ends = max(share - half, 0.0), min(share + half, 1.0)
        curve = DetectionCurve(-np.inf, share=share, share_interval=ends)
    elif model.width or model.before_noise:
        curve = _smooth(evidence, model, _first(evidence, model))
    else:
        curve = _wall(evidence, model, _first(evidence, model))
    return Fitted(model, curve, log_likelihood(evidence, curve), evidence.fit.size)


def outliers_of(evidence: Evidence) -> tuple[int, int]:
    """How many entries are unseen though surely beyond a level, and how many seen though surely not."""
    level = _crossing(evidence)
    up = (evidence.fit - level) / (SURE * np.hypot(evidence.error, evidence.sigma) + np.finfo(float).tiny)
    return int(np.sum(~evidence.seen & (up > 1))), int(np.sum(evidence.seen & (up < -1)))


def _crossing(evidence: Evidence) -> float:
    """The level that takes fewest entries for what they are not."""
    order = np.argsort(evidence.fit)
    seen = evidence.seen[order]
    # Seen below, and unseen above, a level between entry k − 1 and entry k.
    wrong = np.concatenate([[0], np.cumsum(seen)]) + np.concatenate([np.cumsum(~seen[::-1])[::-1], [0]])
    k, sorted_ = int(np.argmin(wrong)), evidence.fit[order]
    return float(sorted_[min(k, len(sorted_) - 1)] + sorted_[max(k - 1, 0)]) / 2


def _first(evidence: Evidence, model: Model) -> DetectionCurve:
    """Where to begin: the shares are those of entries that are surely on their side."""
    level, seen = _crossing(evidence), evidence.seen
    wide = SURE * float(np.hypot(np.median(evidence.error), evidence.sigma))
    above, below = evidence.fit > level + wide, evidence.fit < level - wide
    share = float(np.mean(~seen[above])) if above.any() else 0.0
    stray = float(np.mean(seen[below])) if below.any() else 0.0
    return DetectionCurve(
        level,
        share=float(np.clip(share, MODELS_LEAST, 0.9)) if model.share else 0.0,
        stray=float(np.clip(stray, MODELS_LEAST, 0.4)) if model.stray else 0.0,
        before_noise=model.before_noise,
    )


def _size(evidence: Evidence) -> float:
    """The rms entry."""
    most = float(np.max(np.abs(evidence.fit), initial=0.0))
    return most * float(np.sqrt(np.mean((evidence.fit / most) ** 2))) if most > 0 else 1.0


def blur_of(evidence: Evidence) -> float:
    """How far noise and the errors of the fit blur a level."""
    size = float(np.hypot(evidence.sigma, np.median(evidence.error)))
    return max(size, MODELS_BLUR * _size(evidence))


def _smooth(evidence: Evidence, model: Model, first: DetectionCurve) -> DetectionCurve:
    """By minimising over all numbers at once."""
    size = _size(evidence)
    # What a level is known to: where nothing blurs it, a curve still does.
    unit = max(blur_of(evidence), MODELS_CURVE * size if model.width else 0.0)

    def made(x: Floats) -> DetectionCurve:
        rest = list(x[1:])
        width = size * float(np.exp(np.clip(rest.pop(0), -12, 5))) if model.width else 0.0
        share = float(np.clip(expit(rest.pop(0)), MODELS_LEAST, 1 - MODELS_LEAST)) if model.share else 0.0
        stray = float(np.clip(expit(rest.pop(0)), MODELS_LEAST, 0.5)) if model.stray else 0.0
        return replace(first, level=first.level + unit * float(x[0]), width=width, share=share, stray=stray)

    def cost(x: Floats) -> float:
        found = -log_likelihood(evidence, made(x))
        return found if np.isfinite(found) else 1e300

    def start(width: float) -> Floats:
        x = [0.0]
        x += [float(np.log(width))] if model.width else []
        x += [float(logit(max(first.share, MODELS_BEGIN)))] if model.share else []
        x += [float(logit(max(first.stray, MODELS_BEGIN)))] if model.stray else []
        return np.array(x)

    starts = [start(width) for width in ((1.0, 0.3, 0.1, 0.02) if model.width else (1.0,))]
    best = min(starts, key=cost)
    steps = np.diag([max(1.0, 0.2 * size / unit) if model.width else 1.0, *[0.5] * (len(best) - 1)])
    simplex = np.vstack([best, best + steps])
    options = {"initial_simplex": simplex, "xatol": MODELS_FOUND, "fatol": MODELS_FOUND, "maxiter": 400}
    x = minimize(cost, best, method="Nelder-Mead", options=options).x
    return _with_intervals(made(x), x, cost, unit, size, model)


def _with_intervals(
    curve: DetectionCurve, x: Floats, cost: object, unit: float, size: float, model: Model
) -> DetectionCurve:
    """The same with what the bend of the likelihood says of each number."""
    errors = _errors(x, cost)
    reach = 1.96 * unit * errors[0]
    level = curve.level - reach, curve.level + reach
    rest = list(1.96 * errors[1:])
    width = share = (0.0, 0.0)
    if model.width:
        grown = float(np.exp(min(rest.pop(0), 20.0)))
        width = curve.width / grown, curve.width * grown
    if model.share:
        half, at = rest.pop(0), float(logit(curve.share))
        share = float(expit(at - half)), float(expit(at + half))
    return replace(curve, level_interval=level, width_interval=width, share_interval=share)


def _errors(x: Floats, cost: object) -> Floats:
    """Standard errors from second differences of the cost, over steps that raise it by about a half."""
    assert callable(cost)
    here, k = cost(x), len(x)
    steps = np.ones(k)
    for i in range(k):
        step = MODELS_BEND
        while step < 50 and cost(x + step * np.eye(k)[i]) - here < 0.5:
            step *= 1.6
        steps[i] = step
    bend = np.empty((k, k))
    for i in range(k):
        for j in range(i + 1):
            a, b = steps[i] * np.eye(k)[i], steps[j] * np.eye(k)[j]
            second = cost(x + a + b) - cost(x + a - b) - cost(x - a + b) + cost(x - a - b)
            bend[i, j] = bend[j, i] = second / (4 * steps[i] * steps[j])
    values, vectors = np.linalg.eigh(bend * steps[:, None] * steps[None, :])
    inverse = (vectors / np.maximum(values, MODELS_BEND)) @ vectors.T
    found: Floats = steps * np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return found


def _wall(evidence: Evidence, model: Model, first: DetectionCurve) -> DetectionCurve:
    """By trying seen values as the level: with each that it passes the likelihood drops, and rises in between."""
    values = np.sort(evidence.value[evidence.seen])
    if not values.size:
        return replace(first, level_interval=(first.level, np.inf))
    curve = first
    if not model.stray:
        curve = replace(curve, level=float(values[0]))
        curve = _shares(evidence, model, curve)
    else:
        for _ in range(2):
            curve = _shares(evidence, model, _best_level(evidence, curve, values))
    return _edges(evidence, curve)


def _best_level(evidence: Evidence, curve: DetectionCurve, values: Floats) -> DetectionCurve:
    """The seen value that is the likeliest level."""
    reach = 8 * blur_of(evidence)
    low, high = np.searchsorted(values, [curve.level - reach, curve.level + reach])
    low, high = max(int(low) - 1, 0), min(int(high), len(values) - 1)
    best = curve
    for _ in range(ROUNDS):
        places = np.unique(np.linspace(low, high, LEVELS).astype(int))
        costs = [log_likelihood(evidence, replace(curve, level=float(values[k]))) for k in places]
        at = int(np.argmax(costs))
        best = replace(curve, level=float(values[places[at]]))
        if high - low < LEVELS:
            break
        low, high = int(places[max(at - 1, 0)]), int(places[min(at + 1, len(places) - 1)])
    return best


def _shares(evidence: Evidence, model: Model, curve: DetectionCurve) -> DetectionCurve:
    """The likeliest shares of chance at a level, with what they are known to."""
    free = [name for name, there in (("share", model.share), ("stray", model.stray)) if there]
    if not free:
        return curve

    def made(x: Floats) -> DetectionCurve:
        found = {k: float(np.clip(expit(v), MODELS_LEAST, 0.95)) for k, v in zip(free, x, strict=True)}
        return replace(curve, share=found.get("share", curve.share), stray=found.get("stray", curve.stray))

    def cost(x: Floats) -> float:
        found = -log_likelihood(evidence, made(x))
        return found if np.isfinite(found) else 1e300

    x = np.array([float(logit(np.clip(getattr(curve, name), MODELS_BEGIN, 0.9))) for name in free])
    x = minimize(
        cost, x, method="Nelder-Mead", options={"xatol": MODELS_FOUND, "fatol": MODELS_FOUND, "maxiter": 200}
    ).x
    found = made(x)
    if not model.share:
        return found
    half = 1.96 * float(_errors(x, cost)[0])
    at = float(logit(found.share))
    return replace(found, share_interval=(float(expit(at - half)), float(expit(at + half))))


def _edges(evidence: Evidence, curve: DetectionCurve) -> DetectionCurve:
    """How far the level may be from the best, on either side, as the likelihood has it."""
    best, unit = log_likelihood(evidence, curve), blur_of(evidence)
    away = np.geomspace(MODELS_NEAREST * unit, max(FURTHEST * unit, _size(evidence) / 2), STEPS)
    ends = []
    for sign in (-1, 1):
        inside = [log_likelihood(evidence, replace(curve, level=curve.level + sign * d)) >= best - EDGE for d in away]
        last = max((k for k, there in enumerate(inside) if there), default=-1)
        ends.append(curve.level + sign * (away[min(last + 1, STEPS - 1)] if last >= 0 or sign < 0 else 0.0))
    return replace(curve, level_interval=(float(ends[0]), float(ends[1])))
