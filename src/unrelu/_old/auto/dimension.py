"""Which dimension points are given in when the caller does not know: the smallest that explains the distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import OutOfTime, budget
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import SOLVE_LOWER
from unrelu._old.distances.dimension import Gain, Ladder, Trial
from unrelu._old.distances.distrust import too_many
from unrelu._old.distances.ranges import Ranges
from unrelu._old.loop.history import Stop

__all__ = ["DimensionChoice", "DimensionFit", "in_found_dimension"]

Located = Any  # a DistanceCompletion, of a later room
Fit = Callable[[int, Floats | None], Located]

# How a run ends that has looked at everything: others were cut short, and say nothing about the dimension.
LOOKED = (Stop.FITTED_TO_NOISE, Stop.BEST_OF_RANK, Stop.STATIONARY, Stop.MAX_ITERATIONS)
# A gain this near to its limit, from either side, is a close call.
CLOSE = 1.5
# Noise beyond this share of a typical distance is rare.
GROSS = 0.1
# Where more than this share of the distances would be wrong, one more dimension is asked whether it does with less.
FEW = 0.1
# Of more points, one dimension less is not tried only to be told how much worse it is.
MANY = 2000
# Once the time is over: enough to be told that nothing was found.
NO_TIME = 1e-99


@dataclass(frozen=True)
class DimensionFit:
    """How well so many dimensions fit.

    Attributes
    ----------
    dim : int
    misfit : float
        Root-mean-square misfit of a distance, per distance to spare, in the units of the data.
    spare : int
        How many distances there are beyond those that the places need.
    gain : float or None
        What one more dimension gains per additional unknown, in units of the noise; None if it was not tried.
    limit : float or None
        Beyond this the gain is not noise; infinite where no distance is to spare that could tell.
    """

    dim: int
    misfit: float
    spare: int
    gain: float | None = None
    limit: float | None = None


@dataclass(frozen=True)
class DimensionChoice:
    """The dimension that was found, and why.

    Attributes
    ----------
    dim : int
    why : str
        A sentence.
    rival : int or None
        Another dimension that the data hardly speak against; None if there is none.
    tried : tuple of DimensionFit
        In increasing dimension.
    """

    dim: int
    why: str
    rival: int | None
    tried: tuple[DimensionFit, ...] = ()

    def summary(self) -> dict[str, Any]:
        """Ready for JSON."""
        tried = [{key: _plain(value) for key, value in vars(one).items()} for one in self.tried]
        return {"chosen": self.dim, "why": self.why, "rival": self.rival, "tried": tried}


def in_found_dimension(
    fit: Fit, ranges: Ranges, rng: np.random.Generator, *, robust: bool = False
) -> tuple[Located, DimensionChoice]:
    """Points in the smallest dimension that explains the distances, and why it is that one.

    Small groups of points give the fewest dimensions that can be. From there, quick fits in one dimension after the
    other are compared until one more gains no more than noise; only there ``fit`` is asked. Where some of the distances
    may be wrong, a group that holds one says nothing: ``fit`` itself is asked in one dimension after the other.

    Parameters
    ----------
    fit : callable
        Of a dimension, and of places to start from or None; returns a completion.
    ranges : Ranges
    rng : Generator
    robust : bool
        Whether ``fit`` leaves out distances that contradict the others.

    Returns
    -------
    completion, DimensionChoice
    """
    if not len(ranges.first):
        raise InputError("dim='auto' finds the dimension from distances, and none was seen; say dim=3, for instance")
    climb = _Trusting(fit, ranges, rng) if robust else _Climb(fit, Ladder(ranges, rng), ranges.size)
    try:
        located = climb.located()
        if located.verdict.code in (*LOOKED, Stop.FITTED):
            return located, climb.choice(located)
    except (OutOfTime, KeyboardInterrupt) as cut:
        located = climb.so_far(Stop.INTERRUPTED if isinstance(cut, KeyboardInterrupt) else Stop.MAX_SECONDS)
    why = f"{_dims(climb.dim)} so far: the search for the dimension was cut short"
    return located, DimensionChoice(climb.dim, why, None)


class _Climb:
    """One search under way: the dimension it has come to, and the fits so far."""

    def __init__(self, fit: Fit, ladder: Ladder, size: int) -> None:
        self._fit, self.ladder, self.size = fit, ladder, size
        self.dim = 1
        self.last: Located = None
        self.trials: dict[int, Trial] = {}
        self.gains: dict[int, Gain] = {}

    def fit(self, dim: int, places: Floats | None) -> Located:
        """Points in so many dimensions; the last are kept for those who cannot wait."""
        self.last = self._fit(dim, places)
        return self.last

    def so_far(self, code: Stop) -> Located:
        """What there is when the time, or the patience, is over."""
        if self.last is None or self.last.dim != self.dim:
            with budget(NO_TIME):
                self.fit(self.dim, None)
        return self.last.ended_as(code)

    def located(self) -> Located:
        """Points in the dimension at which the climb ends."""
        self.dim, exact = self.ladder.lowest()
        if exact:  # no quick fit can say more than the real one
            located = self.fit(self.dim, None)
            if located.verdict.code not in LOOKED:
                return located
            self._lower(self.ladder.found(located.points))
        while True:
            self._up()
            located = self.fit(self.dim, None)
            if located.verdict.code not in LOOKED:
                break
            before = self.trials.get(self.dim)
            best = self._lower(self.ladder.found(located.points))
            if best is before and located.verdict.code is not Stop.FITTED_TO_NOISE:
                located = min(located, self.fit(self.dim, self.ladder.points(best, self.size)), key=_residual)
            if before is not None and best.squares >= before.squares * (1 - SOLVE_LOWER):
                break  # what was compared is what was found
            self.gains.pop(self.dim, None)
        return self._down(located)

    def _lower(self, trial: Trial) -> Trial:
        """Keep a trial if it is the best in its dimension; returns that."""
        kept = self.trials.get(trial.dim)
        if kept is None or trial.squares < kept.squares:
            self.trials[trial.dim] = trial
        return self.trials[trial.dim]

    def _up(self) -> None:
        """Climb until one more dimension is not needed."""
        if self.dim not in self.trials:
            self._lower(self.ladder.fresh(self.dim))
        while self._one_more():
            self.dim += 1

    def _one_more(self) -> bool:
        """Whether one more dimension is needed."""
        below = self.trials[self.dim]
        if below.exact or self.dim >= self.ladder.highest:
            return False
        above = self._lower(self.ladder.above(below))
        below = self._lower(self.ladder.under(above))  # a fold may open in one more dimension
        self.gains[self.dim] = gain = self.ladder.gain(below, above)
        return not below.exact and (gain.needed or (above.exact and self._gross(below)))

    def _gross(self, trial: Trial) -> bool:
        """Whether a misfit is larger than people measure: where nothing else tells, that is a missing dimension."""
        return trial.squares > GROSS**2 * max(trial.freedom, 1)  # in units of the typical distance

    def _down(self, located: Located) -> Located:
        """Exact distances that fit after a climb may fit below as well, once that is known where to look."""
        while located.verdict.code is Stop.FITTED and self.dim > 1:
            flat = self._lower(self.ladder.under(self.ladder.found(located.points)))
            if not flat.exact:
                break
            lower = self.fit(self.dim - 1, self.ladder.points(flat, self.size))
            if lower.verdict.code is not Stop.FITTED:
                break
            located, self.dim = lower, self.dim - 1
        return located

    def choice(self, located: Located) -> DimensionChoice:
        """What was chosen, why, and how close the next candidates came."""
        dim, ladder = self.dim, self.ladder
        here = self._lower(ladder.found(located.points))
        below = self._lower(ladder.under(here)) if dim > 1 and ladder.size <= MANY else None
        if below is not None and dim - 1 not in self.gains:
            self.gains[dim - 1] = Gain(np.inf, 1.0) if here.exact else ladder.gain(below, here)
        rival = None
        if located.verdict.code is Stop.FITTED:
            why = f"{_verb(dim, 'meet')} all distances to rounding"
            if here.freedom < 1:
                rival = dim + 1
                why += f", but none is to spare: any more than {_dims(dim)} would do as well, and the data cannot tell"
            else:
                why += f", {here.freedom} of them more than the places need"
        else:
            why, rival = self._with_noise()
        if below is not None:
            words, near = self._below(below, here)
            why, rival = why + words, rival or near
        return DimensionChoice(dim, why, rival, self._tried())

    def _with_noise(self) -> tuple[str, int | None]:
        dim, gain = self.dim, self.gains.get(self.dim)
        if gain is None:
            return f"{_dims(dim)} are all that the points can span", None
        if not gain.told:
            return (
                f"{dim} and {dim + 1} dimensions fit alike: too few distances are to spare to tell them apart, and the "
                "smaller is taken"
            ), dim + 1
        many = f"{gain.gain:.2g} times noise's share per unknown, where up to {gain.limit:.2g} may be noise"
        if gain.needed:
            return f"{_dims(dim)} fit better than fewer, but one more would lower the misfit further: {many}", dim + 1
        if gain.gain * CLOSE > gain.limit:
            return (
                f"{dim} and {dim + 1} dimensions fit nearly alike: one more lowers the misfit by {many}, and the "
                "smaller is taken"
            ), dim + 1
        above = self.trials[dim + 1]
        thick = max(_thickness(X) for X in above.places) * self.ladder.unit
        return (
            f"{_verb(dim, 'explain')} the distances up to noise: one more lowers the misfit by {many}; points that "
            f"leave it by {thick:.2g} or less (root mean square, about) would not show"
        ), None

    def _below(self, below: Trial, here: Trial) -> tuple[str, int | None]:
        gain = self.gains[self.dim - 1]
        misfits = [np.sqrt(one.squares / max(one.freedom, 1)) * self.ladder.unit for one in (below, here)]
        words = f"; the best of {_dims(below.dim)} misses {_them(misfits)}"
        close = not here.exact and (not gain.told or gain.gain < CLOSE * gain.limit)
        return (words + ", which is a close call" if close else words), below.dim if close else None

    def _tried(self) -> tuple[DimensionFit, ...]:
        found = []
        for dim, trial in sorted(self.trials.items()):
            gain = self.gains.get(dim)
            misfit = float(np.sqrt(trial.squares / max(trial.freedom, 1))) * self.ladder.unit
            told = (None, None) if gain is None else (gain.gain, gain.limit)
            found.append(DimensionFit(dim, misfit, trial.freedom, *told))
        return tuple(found)


class _Trusting(_Climb):
    """The same where distances may be wrong: fits are compared by the distances that both of them trust."""

    def __init__(self, fit: Fit, ranges: Ranges, rng: np.random.Generator) -> None:
        super().__init__(fit, Ladder(ranges, rng), ranges.size)
        self.ranges, self.rng, self.highest = ranges, rng, self.ladder.highest
        self.fits: dict[int, Located] = {}
        self.refused: dict[int, int] = {}  # how many distances fits contradict that are no answer

    def located(self) -> Located:
        """Points in the smallest dimension that contradicts few distances and explains the others."""
        here = self.fit(self.dim, None)
        while here.verdict.code in (*LOOKED, Stop.FITTED):
            self._compare(here)
            exact = here.verdict.code is Stop.FITTED and _clear(here)
            if exact or self.dim >= self.highest or not self._needs(here, above := self.fit(self.dim + 1, None)):
                if _contradicts(here):
                    self.refused[self.dim] = _left(here)
                break
            if not _clear(here):
                self.refused[self.dim] = _left(here)
            here, self.dim = above, self.dim + 1
        self.last = here
        return here

    def _needs(self, here: Located, above: Located) -> bool:
        """Whether one more dimension is needed: to contradict fewer distances, or to explain the others."""
        if above.verdict.code not in (*LOOKED, Stop.FITTED) or _contradicts(here):
            return True
        if _contradicts(above):
            return False
        if here.verdict.code is Stop.FITTED:
            return _clear(above)
        if self._farther(here):
            return True
        self._compare(here, above)
        return self._one_more()

    def _farther(self, here: Located) -> bool:
        """Whether two more dimensions are needed: two short of the right one, a wrong distance is like any other."""
        if self.dim + 2 > self.highest or not self._gross(self.trials[self.dim]):
            return False
        far = self.fit(self.dim + 2, None)
        if far.verdict.code not in (*LOOKED, Stop.FITTED) or _contradicts(far):
            return False
        self._compare(here, far)
        gain = self.ladder.gain(self.trials[self.dim], self.trials[self.dim + 2])
        return gain.told and gain.needed

    def fit(self, dim: int, places: Floats | None) -> Located:
        """Points in so many dimensions, asked for once."""
        if dim not in self.fits:
            self.fits[dim] = super().fit(dim, places)
        return self.fits[dim]

    def _compare(self, *fits: Located) -> None:
        """From here on only the distances are looked at that some fits trust."""
        ranges, trusted = self.ranges, np.logical_and.reduce([one.fitted for one in fits])
        kept = {key: getattr(ranges, key)[trusted] for key in ("first", "second", "distance")}
        sigma = None if ranges.sigma is None else ranges.sigma[trusted]
        self.ladder = Ladder(replace(ranges, **kept, sigma=sigma), self.rng)
        self.trials, self.gains = {}, {}
        for one in fits:
            self._lower(self.ladder.found(one.points))

    def choice(self, located: Located) -> DimensionChoice:
        """The same, and how many distances contradict it."""
        choice, left, count = super().choice(located), _left(located), len(located.fitted)
        if self.dim in self.refused:
            why = f"no dimension explains the distances: {_verb(self.dim, 'contradict')} {left} of {count}"
            return replace(choice, why=why + ", more than may be wrong", rival=None)
        why = choice.why + (f"; {left} of all {count} distances contradict this and are left out" if left else "")
        if self.refused:
            fewer, out = max(self.refused.items())
            why += f"; {_verb(fewer, 'contradict')} {out}, more than may be wrong"
        return replace(choice, why=why)


def _left(located: Located) -> int:
    """How many distances were left out."""
    return int((~located.fitted).sum())


def _clear(located: Located) -> bool:
    return _left(located) <= FEW * len(located.fitted)


def _contradicts(located: Located) -> bool:
    """Whether more distances of a component are left out than may be wrong."""
    component = located.components[located.pairs[:, 0]]
    return any(too_many(located.fitted[component == label]) for label in np.unique(component))


def _residual(located: Located) -> float:
    return float(located.residual)


def _thickness(X: Floats) -> float:
    """Root-mean-square extent in the direction in which it is least."""
    return float(np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[-1]) / np.sqrt(len(X))


def _dims(dim: int) -> str:
    return "1 dimension" if dim == 1 else f"{dim} dimensions"


def _verb(dim: int, verb: str) -> str:
    return f"{_dims(dim)} {verb}{'s' if dim == 1 else ''}"


def _them(misfits: list[Any]) -> str:
    fewer, here = map(float, misfits)
    return f"them by {fewer:.2g} (root mean square), these by {here:.2g}"


def _plain(value: Any) -> Any:
    """Numbers that JSON knows: an infinite limit is none."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
