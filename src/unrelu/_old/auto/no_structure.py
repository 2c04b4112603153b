"""No structure at all: one distribution for all entries, what anyone knows who knows nothing of rows and columns.

It is the end point of every choice: a model that does not forecast better is not believed, and where none is, this is
what is filled in. Where the diagonal says how large an entry can be, the scale on which entries look normal is told by
likelihood, entries as they are or Fisher's z; of kernels it is the logit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from unrelu._old.base.arrays import Floats
from unrelu._old.base.tolerances import NO_STRUCTURE_FISHER, NO_STRUCTURE_FITTED, NO_STRUCTURE_GAIN
from unrelu._old.data.limits import Ends
from unrelu._old.model.links import Linked, Scale
from unrelu._old.model.predictive import HALF_LOG_TWO_PI, Predictive

__all__ = ["NoStructure"]

PLAIN = Scale()


@dataclass(frozen=True, eq=False)
class NoStructure:
    """A normal distribution of all entries, on a scale of theirs.

    Attributes
    ----------
    mean, sigma : float
        On that scale.
    scale : Scale

    Examples
    --------
    >>> NoStructure(0.0, 1.0).given((-np.inf, np.zeros(1))).expectation().round(3).tolist()
    [-0.798]
    """

    mean: float
    sigma: float
    scale: Scale = field(default=PLAIN)

    @classmethod
    def of(cls, values: Floats, ends: tuple[Any, Any], hidden: int = 1, scale: Scale = PLAIN) -> NoStructure:
        """By likelihood, from seen values and the ends of unseen entries.

        ``ends`` are those of each of them, or of ``hidden`` entries alike.
        """
        return cls._with_likelihood(values, ends, hidden, scale)[0]

    @classmethod
    def likeliest(
        cls, values: Floats, ends: tuple[Any, Any], top: float | None, rows: int, *, positive: bool = False
    ) -> NoStructure:
        """On the scale that is clearly likelier than entries as they are, if their diagonal is ``top``.

        ``positive`` is known, not told by likelihood: a tail that looks like that of shares is no proof that nothing is
        negative. For the same reason Fisher's z must be likelier than the logit, too. Pairs of so many ``rows`` are not
        independent: all of them count as much as the rows.
        """
        plain, least = cls._with_likelihood(values, ends, 1, PLAIN)
        if top is None or not values.size:
            return plain
        found, gains = {}, {"fisher": 0.0, "logit": 0.0}
        for link in gains:
            scale = Scale(link, top)
            if scale.holds(values) and np.all(np.asarray(ends[1]) > scale.range[0]):
                found[link], likely = cls._with_likelihood(values, ends, 1, scale)
                gains[link] = (likely - least) * rows / values.size
        if positive and "logit" in found:
            return found["logit"] if gains["logit"] > 0 else replace(plain, scale=Scale(positive=True))
        clear = max(NO_STRUCTURE_GAIN, NO_STRUCTURE_FISHER * gains["logit"])
        return found["fisher"] if gains["fisher"] >= clear else plain

    @classmethod
    def _with_likelihood(
        cls, values: Floats, ends: tuple[Any, Any], hidden: int, scale: Scale
    ) -> tuple[NoStructure, float]:
        """The likeliest mean and spread on a scale, and the log-likelihood of all that is known."""
        z = scale.z_of_seen(values)
        centre, spread = float(np.mean(z)), max(float(np.std(z)), np.finfo(float).tiny)
        both = np.stack([np.atleast_1d(scale.z(end)) for end in np.broadcast_arrays(*ends)])
        both = both if both.size else np.array([[-np.inf], [np.inf]])
        (low, high), counts = np.unique((both - centre) / spread, axis=1, return_counts=True)
        counts, standard = counts * hidden, (z - centre) / spread

        def cost(at: Floats) -> float:
            mean, sigma = at[0], np.exp(at[1])
            one = Predictive(np.array([mean]), sigma, Ends((-np.inf, np.inf)))
            seen = standard.size * np.log(sigma) + np.sum((standard - mean) ** 2) / (2 * sigma**2)
            return float(seen - counts @ one.log_probability(Ends((low, high))))

        found = minimize(cost, np.zeros(2), method="Nelder-Mead", options=dict(xatol=NO_STRUCTURE_FITTED))
        made = cls(centre + spread * float(found.x[0]), spread * float(np.exp(found.x[1])), scale)
        likely = -found.fun - z.size * (np.log(spread) + HALF_LOG_TWO_PI) + float(scale.log_slope(values).sum())
        return made, float(likely)

    def given(self, ends: tuple[Any, Any]) -> Predictive | Linked:
        """What entries are likely to be that lie between these ends."""
        if self.scale.link == "plain":
            shape = np.broadcast_shapes(*(np.shape(end) for end in ends))
            return Predictive(np.full(shape, self.mean), self.sigma, Ends(self.scale.narrowed(ends)))
        return Linked(self.mean, self.sigma, self.scale, Ends(self.scale.narrowed(ends)))

    @property
    def centre(self) -> float:
        """The mean of an entry of which nothing is known."""
        return self.mean if self.scale == PLAIN else float(self._any().expectation()[0])

    @property
    def spread(self) -> float:
        """The standard deviation of an entry of which nothing is known."""
        return self.sigma if self.scale == PLAIN else float(self._any().spread()[0])

    def _any(self) -> Predictive | Linked:
        return self.given((np.full(1, -np.inf), np.full(1, np.inf)))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def read(cls, stored: dict[str, Any]) -> NoStructure:
        """Made again from :meth:`as_dict`."""
        scale = stored.get("scale")
        return cls(stored["mean"], stored["sigma"], PLAIN if scale is None else Scale(**scale))
