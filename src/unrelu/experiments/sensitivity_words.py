"""What ``figure-sensitivity`` says, in sentences computed from its trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from unrelu.experiments.sensitivity_groups import Group, Groups

__all__ = ["AS_LIMITS", "sentences"]

AS_LIMITS = "what is drawn there is the same statement made of the unseen entries alone"
# Without noise a fit is as good as another if both are below this.
RECOVERED = 1e-6
# A median error is worse than another if it is more than so many times as large.
WORSE = 2.0


def sentences(groups: Groups) -> tuple[str, ...]:
    """One thought each, for every noise level; those of which nothing was run are left out."""
    found: list[str] = []
    for sigma in groups.sizes["sigmas"]:
        of_level = [
            _truth(groups, sigma),
            _too_low(groups, sigma),
            _too_high(groups, sigma),
            _side(groups, sigma),
            _by_start(groups, sigma),
            _gaps_as_censored(groups, sigma),
            _gaps_as_unknown(groups, sigma),
        ]
        found += [f"σ = {sigma:g}. {sentence}" for sentence in of_level if sentence]
    return (*found, *_noticed(groups))


def _truth(groups: Groups, sigma: float) -> str:
    """From which starts the truth is enough."""
    words = []
    for loss in groups.sizes["losses"]:
        at_truth = _measured(groups.some("threshold", 0.0, sigma, loss))
        if at_truth:
            least = min(group.median for group in at_truth)
            astray = [group for group in at_truth if _worse(group.median, least)]
            words.append(f"{loss} {_span(_without(at_truth, astray))}{_but(astray)}")
    return f"Told the truth: {'; '.join(words)}." if words else ""


def _too_low(groups: Groups, sigma: float) -> str:
    """By how much the nearest and the farthest threshold below the true one cost, and whether starts differ."""
    below = [at for at in groups.places("threshold") if at < 0]
    return " ".join(
        f"Threshold too low by {-at:g} rms entries: {_by_loss(groups, 'threshold', at, sigma)}."
        for at in dict.fromkeys([*below[-1:], *below[:1]])
    )


def _too_high(groups: Groups, sigma: float) -> str:
    above = [at for at in groups.places("threshold") if at > 0]
    if not above:
        return ""
    some = [group for at in above for group in groups.some("threshold", at, sigma)]
    words = "; ".join(f"by {at:g}: {_by_loss(groups, 'threshold', at, sigma)}" for at in above)
    return f"Threshold too high: {_refusals(some)}. Said of the unseen entries alone, {words}."


def _side(groups: Groups, sigma: float) -> str:
    some = groups.some("side", sigma=sigma)
    if not some:
        return ""
    return f"Wrong side: {_refusals(some)}. Said of the unseen alone: {_by_loss(groups, 'side', 0.0, sigma)}."


def _by_start(groups: Groups, sigma: float) -> str:
    """With the loss that does not listen, what is said enters by the start alone."""
    wrong = [g for told in ("threshold", "side", "censored") for g in groups.some(told, sigma=sigma, loss="observed")]
    moved: dict[str, bool] = {}
    for group in _measured(wrong):
        base = groups.truth(group)
        if base is not None and base.errors and group != base:
            moved[group.start] = moved.get(group.start, False) or _apart(group.median, base.median)
    if not moved:
        return ""
    hang = [start for start, moves in moved.items() if moves]
    free = [start for start, moves in moved.items() if not moves]
    return (
        "The loss observed does not listen to what is said, so that only the start can carry it into the answer. "
        + (f"Some wrong statement moves the error from {_and(hang)}" if hang else "No wrong statement moves the error")
        + (f"; none does from {_and(free)}." if hang and free else ".")
    )


def _gaps_as_censored(groups: Groups, sigma: float) -> str:
    shares = [at for at in groups.places("censored") if at > 0]
    return " ".join(
        f"{at:.0%} of the gaps random, all told as censored: {_by_loss(groups, 'censored', at, sigma)}"
        f"{_yardstick(groups, at, sigma)}."
        for at in dict.fromkeys([*shares[:1], *(at for at in shares if at == 0.5)])
    )


def _yardstick(groups: Groups, at: float, sigma: float) -> str:
    marked = _measured(groups.some("marked", at, sigma))
    return f"; with the random ones marked {_span(marked)}" if marked else ""


def _gaps_as_unknown(groups: Groups, sigma: float) -> str:
    """The reverse: up to which share each start goes astray when nothing is said."""
    words = []
    for start in groups.sizes["starts"]:
        some = _measured(groups.some("unknown", sigma=sigma, start=start))
        if some:
            least = min(group.median for group in some)
            astray = [f"{group.at:.0%}" for group in some if _worse(group.median, least)]
            words.append(f"{start} {'astray at ' + _and(astray) if astray else 'never'}")
    if not words:
        return ""
    return (
        "All gaps told as unknown, which is true but says less than is known; the starts go astray at these shares of "
        f"random gaps: {'; '.join(words)}."
    )


def _noticed(groups: Groups) -> list[str]:
    """Whether the verdict notices: of what is worse than with the truth, how much was called an answer."""
    wrong = []
    for group in groups.every:
        base = groups.truth(group)
        if group.told != "marked" and base is not None and base.errors and group.errors and group != base:
            wrong += [row for row in group.rows if row["error"] is not None and _worse(row["error"], base.median)]
    if not wrong:
        return []
    called = sum(row["answered"] for row in wrong)
    return [
        f"Of {len(wrong)} fits with more than {WORSE:g} times the error that the same loss and start have with the "
        f"truth, {called} ({called / len(wrong):.0%}) were called an answer by their verdict."
    ]


def _by_loss(groups: Groups, told: str, at: float, sigma: float) -> str:
    """Each loss with its errors over the starts, those that stand out by name."""
    words = []
    for loss in groups.sizes["losses"]:
        some = _measured(groups.some(told, at, sigma, loss))
        if some:
            least = min(group.median for group in some)
            apart = [group for group in some if _worse(group.median, least)]
            words.append(f"{loss} {_span(_without(some, apart))}{_but(apart)}")
    return "; ".join(words)


def _but(astray: Sequence[Group]) -> str:
    return f", but {_span(astray)} from {_and([group.start for group in astray])}" if astray else ""


def _without(some: Iterable[Group], others: Sequence[Group]) -> list[Group]:
    return [group for group in some if group not in others]


def _measured(some: Iterable[Group]) -> list[Group]:
    return [group for group in some if group.errors and isfinite(group.median)]


def _span(some: Sequence[Group]) -> str:
    """The medians from the least to the largest, or one where they are nearly the same."""
    least, most = min(group.median for group in some), max(group.median for group in some)
    if most < RECOVERED:
        return "exact"
    return f"{least:.2g}" if f"{least:.2g}" == f"{most:.2g}" else f"{least:.2g} to {most:.2g}"


def _worse(error: float, than: float) -> bool:
    return error > WORSE * max(than, RECOVERED)


def _apart(one: float, other: float) -> bool:
    return _worse(one, other) or _worse(other, one)


def _refusals(some: Sequence[Group]) -> str:
    refused, trials = sum(group.refused for group in some), sum(len(group.rows) for group in some)
    return f"{refused} of {trials} calls as stated are refused"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
