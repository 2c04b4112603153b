"""What an entry is likely to be that a detection curve hid: a normal number, weighed by its chance to go unseen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri_exp

from unrelu._old.base.arrays import Floats
from unrelu._old.model.detection import DetectionCurve
from unrelu._old.model.losses.tails import beyond

__all__ = ["Hidden"]

# Standard deviations to either side of the expectation that are looked at, steps in between, entries at once.
REACH, STEPS, TOGETHER = 9.0, 361, 4096
# A curve that rises over less than this share of how far entries lie from their mean is a wall to them.
WALL = 0.02
ROOT_TWO_PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Hidden:
    """x = mean + sigma·ε, given that it was not seen, where P(seen | x) is a detection curve.

    Attributes
    ----------
    mean, sigma : ndarray
        Around which it lies, and how far.
    curve : DetectionCurve

    Examples
    --------
    A wall at 0 says where an unseen entry is; a curve says less, and chance alone nothing:

    >>> mean, sigma = np.zeros(1), np.ones(1)
    >>> walls = DetectionCurve(0.0), DetectionCurve(0.0, width=2.0), DetectionCurve(-np.inf, share=0.5)
    >>> [round(float(Hidden(mean, sigma, curve).expectation()[0]), 3) + 0.0 for curve in walls]
    [-0.798, -0.357, 0.0]
    >>> low, high = Hidden(mean, sigma, walls[0]).interval(0.95)
    >>> round(float(low[0]), 2), round(float(high[0]), 2)
    (-2.24, -0.03)
    """

    mean: Floats
    sigma: Floats
    curve: DetectionCurve

    def expectation(self) -> Floats:
        """μ − s²·cφ(z)/(P√(w² + s²)) with z = (μ − t)/√(w² + s²) and P the probability to go unseen (Stein)."""
        curve, mean, sigma = self.curve, np.asarray(self.mean, np.float64), np.asarray(self.sigma, np.float64)
        if np.isinf(curve.level):
            return np.array(mean)
        wide = np.maximum(np.hypot(curve.width, sigma), np.finfo(float).tiny)
        z = curve.sign * (mean - curve.level) / wide
        found: Floats = mean - curve.sign * sigma**2 * _pull(curve, z) / wide
        return found

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """(low, high) with equal probabilities beyond them."""
        mean = np.asarray(self.mean, np.float64)
        sigma = np.broadcast_to(np.asarray(self.sigma, np.float64), mean.shape)
        if np.all(self.curve.width <= WALL * sigma):
            return self._beside_a_wall((1 - level) / 2), self._beside_a_wall((1 + level) / 2)
        around = self.expectation()
        low, high = np.empty_like(mean), np.empty_like(mean)
        u = np.linspace(-REACH, REACH, STEPS)
        for start in range(0, mean.size, TOGETHER):
            some = slice(start, start + TOGETHER)
            x = around[some, None] + sigma[some, None] * u
            off = (x - mean[some, None]) / sigma[some, None]
            with np.errstate(under="ignore"):
                log = -0.5 * off**2 + np.log(np.maximum(1 - self.curve.probability(x), np.finfo(float).tiny))
                weight = np.exp(log - log.max(axis=1, keepdims=True))
            steps = np.cumsum((weight[:, 1:] + weight[:, :-1]) / 2, axis=1)
            steps = np.hstack([np.zeros((len(steps), 1)), steps])
            for share, into in (((1 - level) / 2, low), ((1 + level) / 2, high)):
                into[some] = _where(x, steps, share * steps[:, -1])
        return low, high

    def _beside_a_wall(self, share: float) -> Floats:
        """Below which x lies with a probability: two truncated normal distributions, on either side of the wall."""
        curve, mean = self.curve, np.asarray(self.mean, np.float64)
        sign = curve.sign
        share = share if sign > 0 else 1 - share
        with np.errstate(divide="ignore", invalid="ignore"):
            wall = np.full(mean.shape, -np.inf) if np.isinf(curve.level) else sign * (curve.level - mean) / self.sigma
            below = np.log1p(-curve.stray) + log_ndtr(wall)
            above = np.log(curve.share if np.isfinite(curve.level) else 1.0) + log_ndtr(-wall)
            inside = np.exp(below - np.logaddexp(below, above))
            first = ndtri_exp(np.log(np.minimum(share / inside, 1.0)) + log_ndtr(wall))
            rest = np.clip((1 - share) / (1 - inside), 0.0, 1.0)
            second = -ndtri_exp(np.log(rest) + log_ndtr(-wall))
        found: Floats = mean + sign * self.sigma * np.where(share <= inside, first, second)
        return found


def _pull(curve: DetectionCurve, z: Floats) -> Floats:
    """cφ(z)/P(unseen), with z the distance beyond the level in units of what blurs it."""
    c = 1 - curve.share - curve.stray
    if curve.share > 0:
        with np.errstate(under="ignore"):
            return c * np.exp(-0.5 * z * z) / ROOT_TWO_PI / (curve.share + c * ndtr(-z))
    pull = np.empty_like(z)
    beyond(-z, np.empty_like(z), pull, np.empty_like(z))
    return pull


def _where(x: Floats, steps: Floats, wanted: Floats) -> Floats:
    """Where sums along rows reach a number, between two places."""
    k = np.clip(np.sum(steps < wanted[:, None], axis=1), 1, x.shape[1] - 1)
    rows = np.arange(len(x))
    before, after = steps[rows, k - 1], steps[rows, k]
    part = np.divide(wanted - before, after - before, out=np.zeros_like(wanted), where=after > before)
    found: Floats = x[rows, k - 1] + part * (x[rows, k] - x[rows, k - 1])
    return found
