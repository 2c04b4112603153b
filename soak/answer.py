"""What the package says of an instance, as plain arrays; every stage may fail without hiding the others."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soak.instance import DISTANCES, TABLES, Instance

__all__ = ["Answer", "asked"]

Floats = NDArray[np.float64]

# Unseen entries whose bounds are asked for: each may cost a few linear programs.
BOUNDED = 24
# Degrees of freedom where the noise is told and not estimated.
MANY = 1_000_000


@dataclass
class Answer:
    """All that is checked.

    Attributes
    ----------
    code, reason : str
        The verdict.
    converged : bool
    values, filled : ndarray of shape (n, n)
        The fit, and the same with seen entries as they were given.
    determined : boolean ndarray of shape (n,)
    levels : ndarray of str, shape (n,)
        ``proved``, ``generic``, ``local`` or ``no`` per row.
    components : int ndarray of shape (n,)
    entry_levels : ndarray of str, shape (n, n)
    bounds : tuple of rows, cols, low, high
    errors, low, high : ndarray of shape (n, n)
        Standard errors and 95 % intervals; for distances (n, dim) standard errors of the places only.
    points : ndarray of shape (n, dim)
        For distances.
    freedom : int
        Degrees of freedom of the noise.
    cautious : bool
        Whether it says itself that its standard errors are too small.
    unique : bool
        Whether ``certify`` proves the whole matrix.
    certified : ndarray of str, shape (n,)
        ``certify``'s word per row.
    certified_components : ndarray of int, shape (n,)
        Its groups of rows: what is proved of two rows is proved within a group.
    failures : list of (stage, kind, words)
        Exceptions and warnings.
    """

    code: str = "none"
    reason: str = ""
    converged: bool = False
    seconds: float = 0.0
    values: Floats | None = None
    filled: Floats | None = None
    determined: NDArray[np.bool_] | None = None
    levels: NDArray[np.str_] | None = None
    components: NDArray[np.int64] | None = None
    entry_levels: NDArray[np.str_] | None = None
    bounds: tuple[NDArray[np.intp], NDArray[np.intp], Floats, Floats] | None = None
    errors: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    points: Floats | None = None
    freedom: int = 0
    cautious: bool = False
    unique: bool = False
    certified: NDArray[np.str_] | None = None
    certified_components: NDArray[np.int64] | None = None
    failures: list[tuple[str, str, str]] = field(default_factory=list)


def asked(instance: Instance, *, everything: bool = True) -> Answer:
    """Ask the package; ``everything=False`` leaves out bounds, error bars and proofs."""
    answer = Answer()
    started = time.process_time()
    stages = {DISTANCES: _distances, TABLES: _table}.get(instance.group, _matrix)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stages(instance, answer, everything)
    for warning in said:
        # The package's own are sentences for the caller, not accidents.
        if warning.category.__name__ != "CompletionWarning":
            where = f"{warning.filename.rpartition('/')[2]}:{warning.lineno}"
            answer.failures.append(("warning", "warning", f"{warning.category.__name__}: {warning.message} ({where})"))
    answer.seconds = time.process_time() - started
    return answer


def _tried(answer: Answer, stage: str, work: Callable[[], None]) -> bool:
    try:
        work()
    except Exception as error:  # whatever it is, it is a finding
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
        answer.failures.append((stage, "exception", f"{stage}: {type(error).__name__}: {error} ({where})"))
        return False
    return True


def _matrix(instance: Instance, answer: Answer, everything: bool) -> None:
    import unrelu

    n, everyone = instance.size, np.arange(instance.size)
    found: dict[str, Any] = {}

    def complete() -> None:
        completion = unrelu.complete(instance.data, rng=0, **instance.options)
        found["completion"] = completion
        answer.code, answer.reason = str(completion.verdict.code), completion.verdict.reason
        answer.converged = bool(completion.verdict.converged)
        answer.values = _dense(completion.matrix())
        answer.filled = _dense(completion.filled())

    def judge() -> None:
        completion = found["completion"]
        answer.determined = np.asarray(completion.determined, bool)
        answer.levels = np.asarray(completion.determinacy)
        answer.components = np.asarray(completion.components)
        answer.entry_levels = np.asarray(completion.entry_determinacy(everyone[:, None], everyone))

    def bound() -> None:
        rows, cols = np.nonzero(~instance.seen)
        keep = np.random.default_rng([n, 1]).permutation(len(rows))[:BOUNDED]
        rows, cols = rows[keep], cols[keep]
        low, high = found["completion"].bounds(rows, cols)
        answer.bounds = rows, cols, np.asarray(low, float), np.asarray(high, float)

    def errors() -> None:
        completion = found["completion"]
        answer.errors = np.asarray(completion.standard_errors(everyone[:, None], everyone), float)
        answer.cautious = getattr(completion.error_bars(), "caution", None) is not None
        low, high = completion.interval(everyone[:, None], everyone)
        answer.low, answer.high = np.asarray(low, float), np.asarray(high, float)
        answer.freedom = int(completion.noise.degrees_of_freedom)

    def prove() -> None:
        if found["completion"].signs is not None:  # of these nobody asks for a certificate
            return
        certificate = unrelu.certify(found["completion"])
        answer.unique = bool(certificate.unique)
        answer.certified = np.asarray(certificate.determinacy.level)
        answer.certified_components = np.asarray(certificate.determinacy.components)

    if not _tried(answer, "complete", complete) or not _tried(answer, "determinacy", judge):
        return
    if everything or instance.noise:
        _tried(answer, "standard_errors", errors)
    if everything:
        _tried(answer, "bounds", bound)
        _tried(answer, "certify", prove)


def _table(instance: Any, answer: Answer, everything: bool) -> None:
    """The same of a table, as part of the symmetric matrix [[·, M], [Mᵀ, ·]]."""
    import unrelu

    m, size = instance.cut, instance.size
    found: dict[str, Any] = {}
    rows, cols = np.arange(m)[:, None], np.arange(size - m)

    def whole(part: Any, elsewhere: Any) -> Any:
        full = np.full((size, size), elsewhere, dtype=np.asarray(part).dtype)
        full[:m, m:], full[m:, :m] = part, np.asarray(part).T
        return full

    def complete() -> None:
        completion = unrelu.complete_rectangular(instance.data, rng=0, **instance.asked_with())
        found["completion"] = completion
        answer.code, answer.reason = str(completion.verdict.code), completion.verdict.reason
        answer.converged = bool(completion.verdict.converged)
        answer.values = whole(_dense(completion.matrix()), 0.0)
        answer.filled = whole(_dense(completion.filled()), 0.0)

    def judge() -> None:
        completion = found["completion"]
        answer.determined = np.concatenate([completion.determined, completion.columns_determined])
        answer.levels = np.concatenate([completion.determinacy, completion.column_determinacy])
        answer.components = np.asarray(completion.table_determinacy.components)
        answer.entry_levels = whole(completion.entry_determinacy(rows, cols), "no")

    def errors() -> None:
        completion = found["completion"]
        answer.errors = whole(np.asarray(completion.standard_errors(rows, cols), float), np.inf)
        answer.cautious = completion.error_bars().caution is not None
        low, high = completion.interval(rows, cols)
        answer.low, answer.high = whole(np.asarray(low, float), -np.inf), whole(np.asarray(high, float), np.inf)
        answer.freedom = int(completion.noise.degrees_of_freedom)

    def bound() -> None:
        i, j = np.nonzero(~instance.seen[:m, m:])
        low, high = found["completion"].bounds(i, j)
        answer.bounds = i, m + j, np.asarray(low, float), np.asarray(high, float)

    def prove() -> None:
        certificate = unrelu.certify_rectangular(found["completion"])
        certificate.explain()
        answer.unique = bool(certificate.unique)
        answer.certified = np.asarray(certificate.determinacy.level)
        answer.certified_components = np.asarray(certificate.determinacy.components)

    if not _tried(answer, "complete_rectangular", complete) or not _tried(answer, "determinacy", judge):
        return
    if everything or instance.noise:
        _tried(answer, "standard_errors", errors)
    if everything:
        _tried(answer, "bounds", bound)
        _tried(answer, "certify", prove)


def _distances(instance: Instance, answer: Answer, everything: bool) -> None:
    import unrelu

    found: dict[str, Any] = {}

    def complete() -> None:
        result = unrelu.complete_distances(instance.data, rng=0, **instance.options)
        found["result"] = result
        answer.code, answer.reason = str(result.verdict.code), result.verdict.reason
        answer.converged = bool(result.verdict.converged)
        answer.points = np.asarray(result.points, float)
        answer.values = np.asarray(result.distances(), float)
        answer.filled = np.where(instance.seen, instance.values(), answer.values)
        answer.components = np.asarray(result.components)
        answer.determined = np.asarray(result.determined, bool)
        answer.levels = np.asarray(result.determinacy)
        told = instance.options.get("sigma") is not None
        answer.freedom = MANY if told else len(result.pairs) - answer.points.size + result.dim * (result.dim + 1) // 2

    def errors() -> None:
        answer.errors = np.asarray(found["result"].standard_errors, float)

    def explain() -> None:
        found["result"].explain()

    if _tried(answer, "complete_distances", complete):
        _tried(answer, "standard_errors", errors)
        _tried(answer, "explain", explain)


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix, float)
