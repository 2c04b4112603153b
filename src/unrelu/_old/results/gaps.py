"""A completion whose threshold, or whose way of going unseen, is found from the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from unrelu._old.auto.detected import Together
from unrelu._old.auto.gap_kinds import Rivals, bent
from unrelu._old.base.budget import Budget, OutOfTime, budget
from unrelu._old.base.errors import CompletionWarning, InputError, outside, warn
from unrelu._old.base.tolerances import GAPS_NO_TIME
from unrelu._old.data.observations import Observations
from unrelu._old.detection.chosen import KINDS, Detection, detected, enough_to_tell
from unrelu._old.detection.edge import Edge, edge_of
from unrelu._old.detection.evidence import Evidence, measured_once
from unrelu._old.loop.history import Stop, Verdict, in_units
from unrelu._old.loop.stopping import MaxSeconds, StoppingRule
from unrelu._old.model.detection import DetectionCurve
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.problems.rectangular import RectangularProblem, balanced
from unrelu._old.results.gap_options import GAPS, alone_with_a_wall, asks_for_gaps, is_auto, require_one_meaning

__all__ = [
    "GAPS",
    "Door",
    "Said",
    "evidence_of",
    "finding_gaps",
    "found_gaps",
    "is_auto",
    "limits_at",
    "wall_at",
    "with_gaps",
]

P = ParamSpec("P")
R = TypeVar("R")

# A fit that somebody did not wait for says nothing of gaps.
CUT_SHORT = (Stop.MAX_SECONDS, Stop.INTERRUPTED, Stop.CALLBACK, Stop.MAX_ITERATIONS)
# Why nothing can be told of how entries go unseen.
NOTHING_MISSING = "nothing is missing that could show a threshold"
TOO_LITTLE = "too little was seen to find a threshold"
ALL_EQUAL = "all seen values are equal and show no threshold"


@dataclass(frozen=True)
class Said:
    """On which side entries are seen, from which level on if that is known, and whether seen values begin at once."""

    side: str
    level: float | None
    sharp: bool


@dataclass(frozen=True)
class Door:
    """A front door: what completes, and what reads the caller's matrix."""

    complete: Callable[..., Any]
    read: Callable[..., Observations]


def finding_gaps(read: Callable[..., Observations]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A front door that also takes ``threshold="auto"`` and ``gaps``; ``read`` reads the caller's matrix."""

    def opened(complete: Callable[P, R]) -> Callable[P, R]:
        asked = signature(complete)

        @wraps(complete)
        def door(*args: P.args, **options: P.kwargs) -> R:
            threshold, gaps = options.get("threshold", 0.0), options.get("gaps", "censored")
            if not asks_for_gaps(threshold, gaps):
                return complete(*args, **options)
            said: dict[str, Any] = dict(asked.bind(*args, **options).arguments)
            X, given = said.pop("X"), {"seen": "above", "unknown": None, "rank": None, **said}
            found: R = with_gaps(Door(complete, read), X, {**given, "threshold": threshold, "gaps": gaps})
            return found

        return door

    return opened


def with_gaps(door: Door, X: Any, said: dict[str, Any]) -> Any:
    """What a front door returns for a threshold, or gaps, that are to be found; ``said`` are its options.

    The time that is allowed is that of everything; when it is over, the fit that takes nothing from absence is kept.
    """
    options = dict(said)
    threshold, gaps = options.pop("threshold"), options.pop("gaps")
    require_one_meaning(threshold, gaps, options)
    rule = options.get("tol")
    clock = Budget(rule.time_limit if isinstance(rule, StoppingRule) else None)
    found = _Asked(door, X, options, threshold, gaps, clock).completion()
    return replace(found, **clock.times)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A matrix of which something is to be found out about how entries go unseen."""

    door: Door
    X: Any
    options: dict[str, Any]
    threshold: Any
    gaps: str
    clock: Budget

    @property
    def _left(self) -> float | None:
        """Seconds that are left."""
        return None if self.clock.seconds is None else max(self.clock.seconds - self.clock.spent, 0.0)

    @property
    def _in_time(self) -> dict[str, Any]:
        """The options, with no more time than is left."""
        left = self._left
        return (
            self.options
            if left is None
            else {**self.options, "tol": self.options["tol"] | MaxSeconds(left or GAPS_NO_TIME)}
        )

    @property
    def _side(self) -> str:
        return str(self.options["seen"])

    @property
    def _kinds(self) -> tuple[str, ...]:
        """Between which it is to be told; some options go with a wall only."""
        if self.gaps not in ("censored", "auto"):
            return (self.gaps,)
        if alone_with_a_wall(self.options):
            return ("censored", "random")
        # A level that is to be found is that of a wall, if there is one; entries missing by chance must not move it.
        return KINDS if self.gaps == "auto" else ("censored", "mixed", "random")

    def completion(self) -> Any:
        """The answer, with the curve that was found."""
        door, X, options = self.door, self.X, self.options
        if self.gaps == "random" or (self.threshold is None and self.gaps == "censored"):
            return _random(door, X, options)
        seen = door.read(X, threshold=None, unknown=options["unknown"])
        missing = seen.count < seen.room // (1 if seen.source.cut is None else 2)
        edge = _edge(seen, self._side) if missing else None
        self._look_at_the_other_side(seen, edge)
        if missing and _constant(seen):
            _require_untold(ALL_EQUAL, self.gaps)
            return _untold(door.complete(X, threshold=None, **options), ALL_EQUAL)
        if self.gaps == "censored" and edge is not None and edge.sharp:
            return _walled(door, X, options, wall_at(edge, self._side), None)
        alone, warned = _overheard(door, X, options)
        if alone.verdict.code in CUT_SHORT:
            return _with_warnings(warned, alone)
        try:
            with budget(self._left):
                found = self._found(alone, missing, edge)
                if isinstance(found, Detection) and found.kind not in ("censored", "random"):
                    return _with_warnings(warned, self._joint(alone, found))
        except OutOfTime:
            words = "the time was over before it was found how entries go unseen"
            return _saying(_with_warnings(warned, alone), words, Stop.MAX_SECONDS)
        except KeyboardInterrupt:
            words = "interrupted before it was found how entries go unseen"
            return _saying(_with_warnings(warned, alone), words, Stop.INTERRUPTED)

        if isinstance(found, str):
            return _untold(_with_warnings(warned, alone), found)
        if found.kind == "random":
            return _told(_with_warnings(warned, alone), found, asked=self.gaps == "auto")
        return _walled(door, X, self._in_time, found.curve, found if self.gaps == "auto" else None)

    def _found(self, alone: Any, missing: bool, edge: Edge | None) -> Detection | str:
        """How entries go unseen, by a fit that takes nothing from absence; or why that cannot be told."""
        sharp = edge is not None and edge.sharp
        evidence = evidence_of(alone, self._trusted(alone))
        if self.gaps in ("censored", "auto") and not enough_to_tell(evidence):
            if sharp and edge is not None:  # the values say it by themselves
                return Detection.of_wall(wall_at(edge, self._side))
            return TOO_LITTLE if missing else NOTHING_MISSING
        return found_gaps(alone, self._trusted(alone), evidence, self._kinds, Said(self._side, self._known, sharp))

    @property
    def _known(self) -> float | None:
        """The level, if it is."""
        if self.threshold is None or is_auto(self.threshold) or self.gaps == "curve":
            return None
        return float(self.threshold)

    def _trusted(self, alone: Any) -> Observations:
        """What was seen, but for what the fit distrusts."""
        return self.door.read(self.X, threshold=None, unknown=self.options["unknown"], left_out=alone.left_out)

    def _joint(self, alone: Any, found: Detection) -> Any:
        """Matrix and curve together, where the matrix has a rank and noise."""
        exact = alone.verdict.code is Stop.FITTED or not evidence_of(alone, self._trusted(alone)).sigma > 0
        if alone.forecasts or exact:
            return _told(alone, found, asked=self.gaps == "auto")
        return _together(alone, self._trusted(alone), found, self._known, self.gaps)

    def _look_at_the_other_side(self, seen: Observations, edge: Edge | None) -> None:
        """Warn if values begin at once on the other side than was said, and not on this one."""
        if edge is None or edge.sharp or not is_auto(self.threshold):
            return
        other = "below" if self._side == "above" else "above"
        there = _edge(seen, other)
        if there is not None and there.sharp:
            at = there.level if other == "above" else -there.level
            ends = "begin" if other == "above" else "end"
            warn(f"seen values {ends} at once at {at:.6g}", f"seen={other!r} may be meant")


def found_gaps(alone: Any, seen: Observations, evidence: Evidence, kinds: Sequence[str], told: Said) -> Detection:
    """How entries go unseen, by a fit that took nothing from absence; by a fit for each kind, where noise bends that.

    ``evidence``: of the entries by which kinds are compared at first.
    """
    side, level, sharp = told.side, told.level, told.sharp
    if sharp and alone.forecasts:  # no fit that would tell more than the values, which begin at once
        kinds = tuple(kind for kind in kinds if kind in ("censored", "mixed")) or kinds
    found = detected(evidence, side=side, kinds=kinds, level=level)
    before = found.curve.before_noise and not sharp
    if len(kinds) == 1 or before or alone.forecasts or not bent(evidence) or getattr(alone, "signs", None) is not None:
        return found
    together = Together(_posed(seen), seen, level, plain=True)
    return Rivals(together, alone.factor, evidence.sigma, side, sharp).compared(kinds) or found


def _posed(seen: Observations) -> Any:
    return PSDProblem if seen.source.cut is None else RectangularProblem


def _edge(seen: Observations, side: str) -> Edge | None:
    """Where seen values begin, or end for ``below``."""
    values = measured_once(seen)
    return edge_of(values if side == "above" else -values)


def wall_at(edge: Edge, side: str) -> DetectionCurve:
    """The wall that seen values show by themselves."""
    curve = DetectionCurve(edge.level, level_interval=edge.interval)
    return curve if side == "above" else curve.mirrored


def evidence_of(completion: Any, seen: Observations) -> Evidence:
    """What a fit that took nothing from absence tells of how entries go unseen."""
    factors = completion.factors
    sigma = completion.error_bars().noise.sigma if completion.verdict.determines else completion.sigma
    count, norm = completion.seen
    rms = norm / np.sqrt(count)
    if sigma is None or not np.isfinite(sigma):
        sigma = completion.residual * rms
    evidence = Evidence.of(seen, factors.left, factors.right, float(sigma))
    if completion.forecasts:  # no low rank: fits are off by what a rehearsal says
        rehearsed = np.full(evidence.error.shape, float(completion.rehearsal.sigma))
        evidence = replace(evidence, error=rehearsed)
    return evidence


def _random(door: Door, X: Any, options: dict[str, Any]) -> Any:
    """With nothing taken from absence."""
    alone = door.complete(X, threshold=None, **options)
    m, n = alone.shape
    seen = door.read(X, threshold=None, unknown=options["unknown"])
    cut = seen.source.cut
    block = slice(0, cut or seen.size), slice(cut or 0, seen.size)
    unknown = seen.limits.unknown_in(*block)
    known = 0 if unknown is None else int(np.sum(unknown & np.isnan(seen.block(*block))))
    share = 1 - alone.seen[0] / max(m * n - known, 1)
    return replace(alone, detection=DetectionCurve(-np.inf, share=share, share_interval=(share, share)))


def limits_at(seen: Observations, level: float, side: str) -> Any:
    """A wall, but none for entries that were seen on the other side of it."""
    cut = seen.source.cut
    values = seen.block(slice(0, cut or seen.size), slice(cut or 0, seen.size))
    stray = values < level if side == "above" else values > level
    if not stray.any():
        return level
    nowhere = np.inf if side == "above" else -np.inf
    return np.where(stray | (stray.T if cut is None else False), nowhere, level)


def _walled(door: Door, X: Any, options: dict[str, Any], curve: DetectionCurve, found: Detection | None) -> Any:
    """With a wall at the level that was found; what was seen on the other side of it has no limit."""
    seen = door.read(X, threshold=None, unknown=options["unknown"])
    level = limits_at(seen, curve.level, curve.side)
    completion = door.complete(X, threshold=level, **options)
    words = _words(curve, found)
    return _saying(replace(completion, detection=curve), words)


def _overheard(door: Door, X: Any, options: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A fit that takes nothing from absence, and what it warns of, which matters only if the answer is made of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
        alone = door.complete(X, threshold=None, **options)
    return alone, [one.message for one in caught]


def _with_warnings(warned: list[Any], completion: Any) -> Any:
    for message in warned:
        warnings.warn(message, stacklevel=outside())
    return completion


def _constant(seen: Observations) -> bool:
    """Whether all seen values are one: then they show no level, in whatever way one looks at them."""
    values = measured_once(seen)
    return values.size > 1 and bool(values.min() == values.max())


def _require_untold(why: str, gaps: str) -> None:
    """Refuse gaps of a kind that is named, where nothing can be told of them."""
    if gaps not in ("censored", "auto"):
        raise InputError(f"gaps={gaps!r} asks how entries go unseen, but {why}; drop gaps=, or name threshold=")


def _untold(alone: Any, why: str) -> Any:
    """The fit that takes nothing from absence, because nothing can be told of that."""
    if why is NOTHING_MISSING:
        return _saying(alone, why)
    words = f"{why}, so that absence is taken to say nothing"
    warn(words, "name threshold= if it is known")
    return _saying(alone, words)


def _told(alone: Any, found: Detection, *, asked: bool) -> Any:
    """The fit that takes nothing from absence, with what was found out about it."""
    words = _words(found.curve, found if asked else None)
    if found.kind != "random" and not alone.verdict.determines:
        words += "; the data are of no low rank, so that a curve adds nothing to this fit: name rank= to fit both"
    return _saying(replace(alone, detection=found.curve), words)


def _together(alone: Any, seen: Observations, found: Detection, known: float | None, gaps: str) -> Any:
    """Matrix and curve fitted together."""
    table = seen.source.cut is not None
    sigma = evidence_of(alone, seen).sigma
    plain = alone.verdict.code is Stop.FITTED_TO_NOISE
    joint = Together(_posed(seen), seen, known, plain).fitted(alone.factor, sigma, found)
    problem, point = joint.problem, joint.outcome.point
    root = seen.dtype.type(np.sqrt(seen.unit))
    factor = (balanced(point.factor, seen.source.cut or 0) if table else point.factor) * root
    more = {"left": factor[: seen.source.cut], "right": factor[seen.source.cut :]} if table else {}
    completion = replace(
        alone,
        factor=factor,
        verdict=joint.outcome.verdict,
        objective=in_units(point.value, problem.unit, problem.value_power),
        residual=problem.misfit_at(point) / problem.norm,
        loss=problem.loss.name,
        sigma=joint.sigma,
        sigma_given=False,
        detection=joint.detection.curve,
        alone=None,
        rehearsal=None,
        **more,
    )
    return completion if gaps != "auto" else _saying(completion, _compared(found))


def _words(curve: DetectionCurve, found: Detection | None) -> str:
    said = str(curve)
    return said if found is None else f"{said}; {_compared(found)}"


def _compared(found: Detection) -> str:
    """How sure the kind of the gaps is."""
    if not np.isfinite(found.margin):
        return f"gaps are {found.kind}"
    times = f"e^{found.margin:.0f}" if found.margin > 7 else f"{np.exp(found.margin):.0f}"
    sure = "" if found.told else ", which is not sure"
    return f"gaps are {found.kind}: {times} times as likely as the next kind{sure}"


def _saying(completion: Any, words: str, code: Stop | None = None) -> Any:
    verdict = completion.verdict
    return replace(completion, verdict=Verdict(code or verdict.code, f"{verdict.reason}; {words}"))
