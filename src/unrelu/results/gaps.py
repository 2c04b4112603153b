"""A completion whose threshold, or whose way of going unseen, is found from the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from unrelu.auto.detected import Together
from unrelu.base.errors import CompletionWarning, InputError, outside, unknown_name, warn
from unrelu.data.observations import Observations
from unrelu.data.terms import PAIRED, SIDES
from unrelu.detection.chosen import KINDS, Detection, detected, enough_to_tell
from unrelu.detection.edge import Edge, edge_of
from unrelu.detection.evidence import Evidence, measured_once
from unrelu.loop.history import Stop, Verdict, in_units
from unrelu.model.detection import DetectionCurve
from unrelu.problems.psd import PSDProblem
from unrelu.problems.rectangular import RectangularProblem, balanced

__all__ = ["GAPS", "Door", "asks_for_gaps", "evidence_of", "finding_gaps", "is_auto", "with_gaps"]

P = ParamSpec("P")
R = TypeVar("R")

GAPS = (*KINDS, "auto")
# Why nothing can be told of how entries go unseen.
NOTHING_MISSING = "nothing is missing that could show a threshold"
TOO_LITTLE = "too little was seen to find a threshold"
ALL_EQUAL = "all seen values are equal and show no threshold"


@dataclass(frozen=True)
class Door:
    """A front door: what completes, and what reads the caller's matrix."""

    complete: Callable[..., Any]
    read: Callable[..., Observations]


def asks_for_gaps(threshold: Any, gaps: Any) -> bool:
    """Whether something is to be found out about how entries go unseen."""
    if not isinstance(gaps, str) or gaps not in GAPS:
        raise unknown_name("gaps", gaps, GAPS)
    return gaps != "censored" or is_auto(threshold)


def is_auto(threshold: Any) -> bool:
    """Whether a threshold is to be found."""
    return isinstance(threshold, str) and threshold == "auto"


def finding_gaps(read: Callable[..., Observations]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A front door that also takes ``threshold="auto"`` and ``gaps``; ``read`` reads the caller's matrix."""

    def opened(complete: Callable[P, R]) -> Callable[P, R]:
        @wraps(complete)
        def door(*args: P.args, **options: P.kwargs) -> R:
            threshold, gaps = options.get("threshold", 0.0), options.get("gaps", "censored")
            if not asks_for_gaps(threshold, gaps):
                return complete(*args, **options)
            X, rank, *_ = (*args, options.pop("rank", None)) if len(args) < 2 else args
            said: dict[str, Any] = {"seen": "above", "unknown": None, "rank": rank, **options}
            found: R = with_gaps(Door(door, read), X, {**said, "threshold": threshold, "gaps": gaps})
            return found

        return door

    return opened


def with_gaps(door: Door, X: Any, said: dict[str, Any]) -> Any:
    """What a front door returns for a threshold, or gaps, that are to be found; ``said`` are its options."""
    options = dict(said)
    threshold, gaps, side = options.pop("threshold"), options.pop("gaps"), options["seen"]
    _require_one_level(threshold, gaps, side)
    if gaps != "censored" and options.get("method") == "gibbs":
        raise InputError(
            f"method='gibbs' samples entries beyond one threshold, got gaps={gaps!r}; drop one of them, or mark "
            "random gaps as unknown="
        )
    if gaps == "random" or threshold is None:
        return _random(door, X, options)
    seen = door.read(X, threshold=None, unknown=options["unknown"])
    missing = seen.count < seen.room // (1 if seen.source.cut is None else 2)
    if missing and _constant(seen):
        _require_untold(ALL_EQUAL, gaps)
        return _untold(door.complete(X, threshold=None, gaps="censored", **options), ALL_EQUAL)
    if gaps == "censored" and missing:
        edge = _edge(seen, side)
        if edge is not None and edge.sharp:
            return _walled(door, X, options, _curve_of(edge, side), None)
    alone, warned = _overheard(door, X, options)
    if alone.verdict.code in (Stop.MAX_SECONDS, Stop.INTERRUPTED, Stop.CALLBACK):
        return _with_warnings(warned, alone)
    evidence = evidence_of(alone, seen)
    known = None if is_auto(threshold) or gaps == "curve" else float(threshold)
    # A level that is to be found is that of a wall, if there is one; entries missing by chance must not move it.
    kinds = KINDS if gaps == "auto" else ("censored", "mixed", "random") if gaps == "censored" else (gaps,)
    if gaps in ("censored", "auto") and not enough_to_tell(evidence):
        return _untold(_with_warnings(warned, alone), NOTHING_MISSING if evidence.seen.all() else TOO_LITTLE)
    found = detected(evidence, side=side, kinds=kinds, level=known)
    if found.kind == "censored":
        return _walled(door, X, options, found.curve, found if gaps == "auto" else None)
    _with_warnings(warned, alone)
    if found.kind == "random" or not alone.verdict.determines or alone.verdict.code is Stop.FITTED:
        return _told(alone, found, asked=gaps == "auto")
    return _together(alone, seen, found, known, gaps)


def _require_one_level(threshold: Any, gaps: str, side: Any) -> None:
    """Refuse what a curve with one level cannot say."""
    if not isinstance(side, str) or side not in SIDES + PAIRED:
        raise unknown_name("side seen", side, SIDES + PAIRED)
    if side in PAIRED:
        raise InputError(
            f"threshold='auto' and gaps={gaps!r} are for entries seen 'above' or 'below' one level, got "
            f"seen={side!r}; name both thresholds and drop gaps="
        )
    if not (threshold is None or is_auto(threshold) or np.ndim(threshold) == 0):
        raise InputError(
            f"gaps={gaps!r} goes with one threshold for all entries, 'auto' or None, got shape {np.shape(threshold)}; "
            "pass one of them, or drop gaps="
        )


def _edge(seen: Observations, side: str) -> Edge | None:
    """Where seen values begin, or end for ``below``."""
    values = measured_once(seen)
    return edge_of(values if side == "above" else -values)


def _curve_of(edge: Edge, side: str) -> DetectionCurve:
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
    alone = door.complete(X, threshold=None, gaps="censored", **options)
    m, n = alone.shape
    share = 1 - alone.seen[0] / (m * n)
    return replace(alone, detection=DetectionCurve(-np.inf, share=share, share_interval=(share, share)))


def _walled(door: Door, X: Any, options: dict[str, Any], curve: DetectionCurve, found: Detection | None) -> Any:
    """With a wall at the level that was found; what was seen on the other side of it has no limit."""
    level: Any = curve.level
    seen = door.read(X, threshold=None, unknown=options["unknown"])
    cut = seen.source.cut
    values = seen.block(slice(0, cut or seen.size), slice(cut or 0, seen.size))
    stray = values < level if curve.side == "above" else values > level
    if stray.any():
        nowhere = np.inf if curve.side == "above" else -np.inf
        level = np.where(stray | (stray.T if cut is None else False), nowhere, level)
    completion = door.complete(X, threshold=level, gaps="censored", **options)
    words = _words(curve, found)
    return _saying(replace(completion, detection=curve), words)


def _overheard(door: Door, X: Any, options: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A fit that takes nothing from absence, and what it warns of, which matters only if the answer is made of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
        alone = door.complete(X, threshold=None, gaps="censored", **options)
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
    sigma = float(alone.error_bars().noise.sigma)
    plain = alone.verdict.code is Stop.FITTED_TO_NOISE
    posed = RectangularProblem if table else PSDProblem
    joint = Together(posed, seen, known, plain).fitted(alone.factor, sigma, found)
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


def _saying(completion: Any, words: str) -> Any:
    verdict = completion.verdict
    return replace(completion, verdict=Verdict(verdict.code, f"{verdict.reason}; {words}"))
