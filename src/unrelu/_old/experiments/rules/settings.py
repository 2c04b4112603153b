"""A claim judged at every plausible value of a setting that the paper does not state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from unrelu._old.experiments.base import Judgement
from unrelu._old.experiments.rules.common import BETTER, DEPENDS, NOT_REPRODUCED, NOT_TESTED, REPRODUCED, words

__all__ = ["across"]


def across(found: Mapping[str, Judgement], rests: Sequence[str], *, chosen: str | None = None) -> Judgement:
    """A claim judged at every plausible value of a setting that the paper does not state: the common verdict if there
    is one, depends on the setting if the verdicts differ. Values at which it could not be tested do not count, unless
    it could be tested at none.

    Parameters
    ----------
    found : dict
        The judgement at each value, by the value's name; all of the same key and case.
    rests : sequence of str
        The names of the settings.
    chosen : str, optional
        The value whose measurement is shown where all agree; default: the first.

    Examples
    --------
    >>> from unrelu._old.experiments.rules import ratio
    >>> fast, slow = (ratio("methods/pam", [r] * 5, 1, 2, "PAM") for r in (1.5, 3.0))
    >>> found = across({"step 1": fast, "step ½": slow}, ["step"])
    >>> found.verdict
    'depends on the setting'
    >>> found.measured
    'step 1: reproduced, PAM. ratio 1.5 (1.5 to 1.5); step ½: not reproduced, PAM. ratio 3 (3 to 3)'
    """
    told = {name: judgement for name, judgement in found.items() if judgement.verdict != NOT_TESTED}
    first = next(iter(told or found))
    name = first if chosen is None or chosen not in (told or found) else chosen
    shown = replace(found[name], rests=tuple(dict.fromkeys([*found[name].rests, *rests])))
    if not told:
        return shown
    verdicts = {REPRODUCED if j.verdict == BETTER else j.verdict for j in told.values()}
    if len(verdicts) == 1:
        left = [other for other in found if other not in told]
        also = f"The same at {', '.join(told)}" if len(told) > 1 else f"At {name}"
        also += f"; not tested at {', '.join(left)}" if left else ""
        better = [other for other, judgement in told.items() if judgement.verdict == BETTER]
        if 0 < len(better) < len(told):  # it holds everywhere, and at some values more than holds
            return replace(shown, verdict=REPRODUCED, why=words(also, f"Better at {', '.join(better)}"))
        return replace(shown, why=words(shown.why, also))
    measured = "; ".join(f"{other}: {judgement.verdict}, {judgement.measured}" for other, judgement in found.items())
    why = "; ".join(
        f"{other}: {j.why}" for other, j in told.items() if j.why and j.verdict in (NOT_REPRODUCED, DEPENDS)
    )
    return replace(shown, verdict=DEPENDS, measured=measured, why=why)
