"""One instance from its name to a record: drawn, asked, checked, compared with itself permuted or scaled."""

from __future__ import annotations

import signal
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soak.answer import Answer, asked
from soak.catalogue import drawn
from soak.checks import compared, coverage, failures, found, right_rows
from soak.instance import Instance
from soak.kinds import changes_digits
from soak.second import second_completion

__all__ = ["HANG", "facts", "trial"]

# Seconds of the processor after which an instance of at most sixty rows counts as stuck. A busy machine may be slow.
HANG = 120


class Hang(BaseException):
    """Not an Exception: nothing on the way may take it for one and go on."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def trial(name: str, *, hang: float = HANG) -> dict[str, Any]:
    """Everything that is tried and found, ready for JSON."""
    instance = drawn(name)
    record: dict[str, Any] = {"name": name, "kind": instance.kind, "group": instance.group, "about": instance.about}
    findings: dict[str, str] = {}
    remarks: dict[str, str] = {}
    answer = Answer()
    try:
        with _alarm(hang):
            answer = asked(instance)
            findings = found(instance, answer)
            second = second_completion(instance, answer)
            if second is not None:
                findings["second"] = second
            findings |= _companion(instance, answer) | findings
            remarks = {name: findings.pop(name) for name in ("last-digit",) if name in findings}
    except Hang:
        findings["hang"] = f"no answer after {hang:g} s of the processor"
    return (
        record
        | facts(instance, answer)
        | {
            "findings": findings,
            "remarks": remarks,
            "companion": instance.companion,
        }
    )


def facts(instance: Instance, answer: Answer) -> dict[str, Any]:
    """What is counted of an answer."""
    inside, of = coverage(instance, answer)
    rows = right_rows(instance, answer)
    fitted = answer.values is not None and (
        instance.noise > 0 or bool((np.abs(answer.values - instance.values())[instance.seen] <= instance.close).all())
    )
    determined = [] if answer.determined is None else np.flatnonzero(answer.determined).tolist()
    return {
        "code": answer.code,
        "converged": answer.converged,
        "right": answer.converged and fitted and rows == determined,
        "rows": determined,
        "right_rows": rows,
        "noise": instance.noise,
        "covered": [inside, of],
        "seconds": round(answer.seconds, 3),
    }


def _companion(instance: Instance, answer: Answer) -> dict[str, str]:
    """The same question in another order or in other units: what is wrong there, and what differs."""
    if not instance.companion:
        return {}
    if instance.companion == "permuted":
        order = np.random.default_rng(zlib.crc32(instance.name.encode())).permutation(instance.size)
        twin, name = instance.permuted(order), "permutation"
        other = asked(twin, everything=False)
        back = _reordered(other, np.argsort(order))
    else:
        twin = instance.scaled(instance.unit)
        name = "last-digit" if changes_digits(instance.unit) else "scaling"
        other = asked(twin)
        back = _rescaled(other, instance.unit)
    said = found(twin, other) if other.values is not None else failures(other)
    said = {key: f"{instance.companion} ({instance.unit:g}): {words}" for key, words in said.items()}
    changed = compared(instance, answer, back)
    if changed is not None:
        said[name] = changed if name == "permutation" else f"times {instance.unit:g}: {changed}"
    return said


def _reordered(answer: Answer, order: NDArray[np.intp]) -> Answer:
    """Put back into the first order, as far as it is compared."""
    if answer.values is None or answer.determined is None or answer.components is None:
        return answer
    return replace(
        answer,
        values=answer.values[np.ix_(order, order)],
        determined=answer.determined[order],
        components=answer.components[order],
    )


def _rescaled(answer: Answer, unit: float) -> Answer:
    return answer if answer.values is None else replace(answer, values=answer.values / unit)
