"""One instance from its name to a record: drawn, solved, checked, compared with itself permuted or scaled."""

import zlib
from dataclasses import replace

import numpy as np

from soak.answer import Answer, solve
from soak.catalogue import drawn
from soak.checks import coverage, difference, failed_checks, planted_errors, right_rows
from soak.instance import Instance, Record
from soak.second import second_completion

# Processor seconds after which an answer counts as stuck.
HANG = 120


def trial(name: str) -> Record:
    """Return everything that was tried and found, ready for JSON."""
    instance = drawn(name)
    answer = solve(instance)
    findings = _companion(instance, answer) | failed_checks(instance, answer)
    second = second_completion(instance, answer)
    if second is not None:
        findings["second"] = second
    if answer.seconds > HANG:
        findings["hang"] = f"{answer.seconds:.0f} processor seconds"
    return facts(instance, answer) | {"findings": findings}


def facts(instance: Instance, answer: Answer) -> Record:
    """Return the facts about an answer that are counted."""
    rows = right_rows(instance, answer)
    determined = [] if answer.determined is None else np.flatnonzero(answer.determined).tolist()
    met = instance.noise > 0
    if answer.values is not None and not met:
        met = bool((np.abs(answer.values - instance.values())[instance.seen] <= instance.close).all())
    described = {key: getattr(instance, key) for key in ("name", "kind", "group", "about", "noise", "exact")}
    return described | {
        "observed": int(instance.seen.sum()),
        "code": answer.code,
        "converged": answer.converged,
        "right": answer.converged and met and rows == determined,
        "rows": determined,
        "right_rows": rows,
        "errors": planted_errors(instance, answer),
        "covered": coverage(instance, answer),
        "seconds": round(answer.seconds, 3),
    }


def _companion(instance: Instance, answer: Answer) -> dict[str, str]:
    """Solve the same problem in another order or in other units; return its faults and what differs."""
    if not instance.companion:
        return {}
    unit, permuted = instance.unit, instance.companion == "permuted"
    order = np.random.default_rng(zlib.crc32(instance.name.encode())).permutation(instance.size)
    twin = instance.permuted(order) if permuted else instance.scaled(unit)
    other = solve(twin, everything=not permuted)
    faults = {key: f"{instance.companion} ({unit:g}): {fault}" for key, fault in failed_checks(twin, other).items()}
    if other.values is None or other.determined is None or not (permuted or keeps_digits(unit)):
        return faults
    if permuted:
        back = np.argsort(order)
        values, determined = other.values[np.ix_(back, back)], other.determined[back]
        other = replace(other, values=values, determined=determined, components=other.components[back])
    else:
        other = replace(other, values=other.values / unit)
    changed = difference(instance, answer, other)
    if changed is not None:
        faults["permutation" if permuted else "scaling"] = changed if permuted else f"times {unit:g}: {changed}"
    return faults


def keeps_digits(unit: float) -> bool:
    """Return whether multiplication by the unit and its root is exact; otherwise the answer may change."""
    mantissa, power = np.frexp(unit)
    return bool(mantissa == 0.5 and power % 2)
