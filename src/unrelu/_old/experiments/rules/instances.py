"""Claims that one instance settles: a counterexample, a witness; and those of which there is no evidence at all."""

from __future__ import annotations

from collections.abc import Sequence

from unrelu._old.experiments.base import Judgement
from unrelu._old.experiments.rules.common import NOT_REPRODUCED, NOT_TESTED, REPRODUCED, about, words

__all__ = ["no_evidence", "refuted", "witness"]


def refuted(
    key: str, refutes: bool | None, measured: str, *, why: str, case: str = "", rests: Sequence[str] = ()
) -> Judgement:
    """A counterexample or a construction: a statement is not reproduced if an instance that was computed contradicts
    it, or if what it denies was constructed and checked. Where neither was found it is not tested.

    Examples
    --------
    >>> refuted("assumptions/rank-one", True, "uuᵀ and |u||u|ᵀ agree", why="one of them").verdict
    'not reproduced'
    >>> refuted("assumptions/rank-one", None, "nothing", why="one of them").verdict
    'not tested'
    """
    known = {**about(key, "counterexample", {"case": case, "rests": rests}), "measured": measured}
    if refutes:
        return Judgement(**known, verdict=NOT_REPRODUCED, why=why)
    return Judgement(**known, verdict=NOT_TESTED, why="no instance that was computed contradicts it")


def witness(
    key: str, found: bool | None, measured: str, *, why: str = "", case: str = "", rests: Sequence[str] = ()
) -> Judgement:
    """A witness: that something exists or is possible is reproduced by one instance that was computed and checked.
    Without one it is not tested, for a search that finds nothing proves nothing.

    Examples
    --------
    >>> witness("distances/exact", True, "40 %").verdict, witness("distances/exact", None, "none").verdict
    ('reproduced', 'not tested')
    """
    known = {**about(key, "witness", {"case": case, "rests": rests}), "measured": measured}
    if found:
        return Judgement(**known, verdict=REPRODUCED, why=why)
    return Judgement(**known, verdict=NOT_TESTED, why=words("no instance was found", why))


def no_evidence(
    key: str, why: str, *, measured: str = "nothing", case: str = "", rests: Sequence[str] = ()
) -> Judgement:
    """Not tested: nothing was measured from which the claim could be judged, or only what it was fitted to.

    Examples
    --------
    >>> no_evidence("methods/admm", "ADMM was not run").verdict
    'not tested'
    """
    known = about(key, "no evidence", {"case": case, "rests": rests})
    return Judgement(**known, measured=measured, verdict=NOT_TESTED, why=why)
