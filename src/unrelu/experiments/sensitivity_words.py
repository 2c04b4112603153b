"""What ``figure-sensitivity`` says, in sentences computed from its trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from unrelu.experiments.sensitivity_groups import Group, Groups
from unrelu.loop.history import Stop

__all__ = ["AS_LIMITS", "sentences"]

AS_LIMITS = "what is drawn there is the same statement made of the unseen entries alone"
# Without noise a fit is as good as another if both are below this.
RECOVERED = 1e-6
# An error is worse than another if it is more than so many times as large.
WORSE = 2.0


def sentences(groups: Groups) -> tuple[str, ...]:
    """What follows, a paragraph for each statement; those of which nothing was run are left out.

    Examples
    --------
    >>> row = {"told": "threshold", "at": 0.0, "sigma": 0.0, "loss": "observed", "error": 0.0, "answered": True}
    >>> rows = [{**row, "start": "clique"}, {**row, "start": "tailored", "error": 0.5}]
    >>> sizes = {"sigmas": [0.0], "losses": ["observed"], "starts": ["tailored", "clique"]}
    >>> sentences(Groups.of(sizes, rows))
    ('Told the truth (...). At σ = 0: observed exact, but 0.5 from tailored.',)
    """
    below = [at for at in groups.places("threshold") if at < 0]
    above = [at for at in groups.places("threshold") if at > 0]
    shares = [at for at in groups.places("censored") if at > 0]
    last = groups.sizes["starts"][-1]
    words = "Told the truth (median errors of each loss, from every start unless a start is named)."
    found = [_levels(groups, words, "threshold", 0.0)]
    for at in _ends(below[::-1]):
        found.append(_levels(groups, f"Threshold too low by {-at:g} rms entries.", "threshold", at))
    for at in _ends(above):
        words = f"Threshold too high by {at:g} rms entries: {_refusals(groups.some('threshold', at))}."
        found.append(_levels(groups, words, "threshold", at))
    found += [
        _levels(groups, f"Wrong side: {_refusals(groups.some('side'))}.", "side", 0.0),
        _by_start(groups),
        *(_levels(groups, f"{at:.0%} of the gaps random, all told as censored.", "censored", at) for at in shares[:1]),
        *(_levels(groups, f"The same with the random ones marked, from {last}.", "marked", at) for at in shares[:1]),
        *_as_unknown(groups),
        _noticed(groups),
    ]
    return tuple(sentence for sentence in found if sentence)


def _ends(places: Sequence[float]) -> list[float]:
    """The first and the last, if they are two."""
    return list(dict.fromkeys([*places[:1], *places[-1:]]))


def _levels(groups: Groups, words: str, told: str, at: float) -> str:
    """At every noise level each loss with its errors over the starts, those that stand out by name."""
    parts = []
    for sigma in groups.sizes["sigmas"]:
        by_loss = [(loss, _measured(groups.some(told, at, sigma, loss))) for loss in groups.sizes["losses"]]
        told_of = "; ".join(f"{loss} {_spread(some)}" for loss, some in by_loss if some)
        if told_of:
            parts.append(f"At σ = {sigma:g}: {told_of}.")
    return " ".join([words, *parts]) if parts else ""


def _by_start(groups: Groups) -> str:
    """With the loss that does not listen, what is said enters by the start alone."""
    moved: dict[str, bool] = {}
    for told in ("threshold", "side"):
        for group in _measured(groups.some(told, loss="observed")):
            base = groups.truth(group)
            if base is not None and base.errors and group != base:
                moves = _worse(group.median, base.median) or _worse(base.median, group.median)
                moved[group.start] = moved.get(group.start, False) or moves
    if not moved:
        return ""
    hang, free = [s for s in moved if moved[s]], [s for s in moved if not moved[s]]
    return (
        "The loss observed does not listen to what is said, so that only the start can carry it into the answer. "
        + (f"Some wrong threshold or side changes the error from {_and(hang)}" if hang else "No start does")
        + (f", none that from {_and(free)}." if hang and free else ".")
    )


def _as_unknown(groups: Groups) -> list[str]:
    """The reverse, at the share where it says least of what is known and at the one where it is the whole truth."""
    parts = []
    for at in _ends(groups.places("unknown")):
        for sigma in groups.sizes["sigmas"]:
            some = _measured(groups.some("unknown", at, sigma))
            if some:
                parts.append(f"At σ = {sigma:g}, {at:.0%} of the gaps random: {_spread(some)}.")
    return [" ".join(["All gaps told as unknown.", *parts])] if parts else []


def _noticed(groups: Groups) -> str:
    """Whether the verdict notices: of what is worse than with the truth, how much was called an answer."""
    wrong = []
    for group in groups.every:
        base = groups.truth(group)
        if group.told != "marked" and base is not None and base.errors and group != base:
            wrong += [row for row in group.rows if row["error"] is not None and _worse(row["error"], base.median)]
    if not wrong:
        return ""
    called = sum(row["answered"] for row in wrong)
    cut = sum(row["code"] == Stop.MAX_ITERATIONS.value for row in wrong)
    return (
        f"Of {len(wrong)} fits with more than {WORSE:g} times the error that the same loss and start have with the "
        f"truth, {called} ({called / len(wrong):.0%}) were called an answer by their verdict; {cut} were cut off, of "
        "which that says nothing."
    )


def _spread(some: Sequence[Group]) -> str:
    """The errors of starts that do as well as the best of them, then those of the others by name."""
    least = min(group.median for group in some)
    astray = [group for group in some if _worse(group.median, least)]
    good = [group for group in some if group not in astray]
    return _span(good) + (f", but {_span(astray)} from {_and([group.start for group in astray])}" if astray else "")


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


def _refusals(some: Sequence[Group]) -> str:
    refused, trials = sum(group.refused for group in some), sum(len(group.rows) for group in some)
    return f"{refused} of {trials} calls are refused as stated, and go through as limits of the unseen entries alone"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
