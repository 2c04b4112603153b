"""Three sentences from the verdicts of the main claims: what holds, what does not, what hangs on a setting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unrelu._old.experiments.judging import printed
from unrelu._old.experiments.rules import BETTER, DEPENDS, NOT_REPRODUCED, NOT_TESTED, REPRODUCED

__all__ = ["Phrase", "Sentence", "anchor", "main_claims", "summary"]

HOLDS, FAILS = REPRODUCED, NOT_REPRODUCED
# Of claims that were not tested so many are named; a quick run tests few, and its summary would be a list of them.
NAMED = 4


@dataclass(frozen=True)
class Phrase:
    """A main claim in a few words, and the place of its verdict on the page."""

    text: str
    anchor: str
    rests: bool = False  # on a setting that the paper does not state


@dataclass(frozen=True)
class Sentence:
    """How the sentence begins, the claims that it names, and what follows them; ``verdict`` is for its mark."""

    verdict: str
    lead: str
    phrases: tuple[Phrase, ...]
    tail: str = ""
    untested: tuple[Phrase, ...] = ()


def main_claims() -> dict[str, str]:
    """The paper's main claims and numbers in a few words each, by key, as the data file has them."""
    entries = {**printed()["claims"], **printed()["numbers"]}
    return {
        key: entry.get("short") or entry.get("claim", entry["where"])
        for key, entry in entries.items()
        if entry.get("main") and not entry.get("ours")
    }


def anchor(section: str, judgement: Mapping[str, Any]) -> str:
    """Where on the page a verdict stands.

    Examples
    --------
    >>> anchor("table-noise", {"key": "noise/slope", "case": "σ = 1e-2"})
    'table-noise--noise/slope--σ-=-1e-2'
    """
    # All but what would have to be written otherwise in a link; "r ≤ 5" and "r > 5" are two places.
    parts = [section, judgement["key"], judgement["case"]]
    return "--".join(re.sub(r"[\s%#\"'&]+", "-", part) for part in parts if part)


def summary(sections: Sequence[Mapping[str, Any]], main: Mapping[str, str]) -> tuple[Sentence, Sentence, Sentence]:
    """What holds, what does not, and what depends on a setting or was not tested.

    Parameters
    ----------
    sections : list of dict
        As the page gets them.
    main : dict
        The main claims in a few words, by key (:func:`main_claims`).

    Examples
    --------
    >>> judgements = [
    ...     {"key": "a", "case": "", "verdict": "reproduced", "rests": ["step"]},
    ...     {"key": "b", "case": "r = 2", "verdict": "better", "rests": []},
    ...     {"key": "b", "case": "r = 9", "verdict": "not reproduced", "rests": []},
    ...     {"key": "c", "case": "", "verdict": "depends on the setting", "rests": ["step"]},
    ... ]
    >>> short = {"a": "a linear rate", "b": "all ranks", "c": "speed"}
    >>> for sentence in summary([{"name": "figure", "judgements": judgements}], short):
    ...     print(sentence.lead, "; ".join(phrase.text for phrase in sentence.phrases), sentence.tail)
    What holds: a linear rate; all ranks (r = 2) (1 of these 2 rests on settings that the paper does not state)
    What does not: all ranks (r = 9)
    What depends on a setting that the paper does not state: speed
    """
    found: dict[str, list[Phrase]] = {HOLDS: [], FAILS: [], DEPENDS: [], NOT_TESTED: []}
    for key, short in main.items():
        for verdict, phrase in _told(short, _of_key(sections, key)):
            found[verdict].append(phrase)
    holds, fails, depends, untested = (tuple(found[kind]) for kind in (HOLDS, FAILS, DEPENDS, NOT_TESTED))
    leads = ["What holds:", "What does not:", "What depends on a setting that the paper does not state:"]
    if untested and not depends:
        leads[2] = "What could not be tested in this run:"
    return (
        Sentence(HOLDS, leads[0], holds, _resting(holds)),
        Sentence(FAILS, leads[1], fails),
        Sentence(DEPENDS if depends or not untested else NOT_TESTED, leads[2], depends, untested=untested),
    )


def _of_key(sections: Sequence[Mapping[str, Any]], key: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [(s["name"], j) for s in sections for j in s["judgements"] if j["key"] == key]


def _told(short: str, judged: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, Phrase]]:
    """A claim once if its cases agree, else each case with its verdict; untested cases count only if all are."""
    kinds = {BETTER: HOLDS}
    told = [pair for pair in judged if pair[1]["verdict"] != NOT_TESTED] or list(judged)
    kinds_told = {kinds.get(j["verdict"], j["verdict"]) for _, j in told}
    for verdict in [v for v in (HOLDS, FAILS, DEPENDS, NOT_TESTED) if v in kinds_told]:
        own = [(name, j) for name, j in told if kinds.get(j["verdict"], j["verdict"]) == verdict]
        # Where only some cases came to this verdict the sentence says which, once.
        some = len(own) < len(judged)
        cases = ", ".join(dict.fromkeys(j["case"] or name for name, j in own))
        name, first = own[0]
        yield verdict, Phrase(f"{short} ({cases})" if some else short, anchor(name, first), _rests(own))


def _rests(judged: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    return any(bool(j["rests"]) for _, j in judged)


def _resting(phrases: Sequence[Phrase]) -> str:
    count, total = sum(phrase.rests for phrase in phrases), len(phrases)
    if not count:
        return ""
    which = "this rests" if total == 1 else f"{count} of these {total} {'rests' if count == 1 else 'rest'}"
    return f"({which} on settings that the paper does not state)"
