"""The front door of the certificates: what the data prove."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.errors import CompletionWarning, InputError, is_integer, is_number
from unrelu._old.base.tolerances import CERTIFY_BEYOND, CERTIFY_SPANNED, ROWS_OUTSIDE_DEFICIENT
from unrelu._old.complete import complete
from unrelu._old.data.observations import Observations
from unrelu._old.data.pieces import named_rows
from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.model.losses import squared_loss
from unrelu._old.placing.attach import Frame
from unrelu._old.placing.placement import find_blocks
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.proofs.agreement import cleared
from unrelu._old.proofs.determinacy import NO, PROVED, Determinacy
from unrelu._old.proofs.determine import determine, prove_by_stress
from unrelu._old.proofs.direct import DataError, bounds_of_zeros
from unrelu._old.results.certificate import Certificate, Shortage
from unrelu._old.results.completion import Completion
from unrelu._old.results.tensors import in_memory
from unrelu._old.theory.pattern import as_factor

__all__ = ["certify"]

# What the strongest means of a proof makes it.
KINDS = {"stress": "stress", "reflection": "reflection", "polar": "gluing", "direct": "direct", "zero": "direct"}
# Absent entries may be on the wrong side by this many times the rounding of the data.
ROUNDING = 1e3


@owning_the_cores()
def certify(
    X: Any,
    rank: int | None = None,
    *,
    threshold: Any = 0.0,
    seen: str = "above",
    unknown: Any = None,
    entry_range: tuple[float, float] | None = None,
    data_error: float | None = None,
    planted: Any = None,
    stress: bool = True,
    rng: Any = 0,
) -> Certificate:
    """Say what the seen entries of a matrix prove about the rest.

    The matrix is completed first; then every row is followed from a fully seen block by linear steps with error bounds,
    groups are glued by the polar condition, and where no block starts a positive semidefinite stress is looked for.
    ``unique`` is true only if that is a proof. With noise there is none: the certificate then speaks of stability.

    Parameters
    ----------
    X : matrix as for :func:`unrelu.complete`, or a Completion
    rank : int
        Not needed with a Completion.
    threshold, seen, unknown, entry_range
        What absence says, and between which numbers every entry lies; as for :func:`unrelu.complete`. Not needed with
        a Completion.
    data_error : float, optional
        By how much a seen entry may be off. Default: rounding of the data.
    planted : array of shape (n, rank), optional
        The true factor, for checking the paper's Assumptions 1 to 3 with it.
    stress : bool, default True
        Whether to look for a stress where linear steps do not prove everything; it takes longer.
    rng : int, Generator or None
        For searches; the same seed gives the same certificate.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import numpy as np, unrelu
    >>> U = np.random.default_rng(0).standard_normal((60, 2))
    >>> M = U @ U.T
    >>> certificate = unrelu.certify(np.where(M >= 0, M, np.nan), rank=2)
    >>> certificate.unique, certificate.kind
    (True, 'direct')
    >>> print(certificate.explain().splitlines()[0])
    Proved: exactly one matrix of rank at most 2 agrees with the seen entries, and it is the only positive
    semidefinite matrix of any rank that does.
    """
    if data_error is not None and not (is_number(data_error) and data_error >= 0):
        raise InputError(f"data_error must be a number ≥ 0, or None for the rounding of the data; got {data_error!r}")
    said = dict(threshold=threshold, seen=seen, unknown=unknown, entry_range=entry_range)
    completion = _completed(in_memory(X), rank, said, rng)
    observations = completion.observed()
    known = None if planted is None else as_factor(planted, "planted", observations.size)
    # Two streams: the same seed must not bring back the start of the completion.
    generator = np.random.default_rng(rng if isinstance(rng, np.random.Generator) else [0 if rng is None else rng, 7])
    factor = completion.factor.astype(np.float64) / np.sqrt(observations.unit)
    error = DataError.of(observations, completion.rank, data_error)
    problem = PSDProblem(observations.unweighted, completion.rank)
    misfit = problem.misfit(problem.evaluate(factor.astype(observations.dtype)).value)
    found = determine(observations, factor, error, misfit, generator)
    if not found.agrees and not _at_floor(completion.verdict):
        found = found.at_most_local(np.ones(completion.size, dtype=bool))
    if stress:
        found = prove_by_stress(observations, factor, error, found, generator)
    found, loose, further = _with_errors_of_zeros(observations, factor, error, found)
    found = _with_all_seen(observations, factor, found)
    failures = dict(_failures(observations, problem, factor, found, error, generator))
    loose = np.setdiff1d(loose, np.flatnonzero(found.rank_of == PROVED))
    if loose.size:
        failures["zeros"] = _loose_zeros(loose, observations, data_error)
    everything = bool((found.rank_of == PROVED).all() and (found.components == 0).all())
    unique = everything and not failures
    symmetric = observations.source.symmetric()
    sizes = np.linalg.norm(factor, axis=1)
    bounded = [group.bound[group.inside].max() / sizes.max() for group in found.groups if sizes.max() > 0]
    bounded += [further / sizes.max()] if bounded else []
    return Certificate(
        unique=unique,
        kind=_kind(found, unique),
        any_rank=unique and "reflection" not in found.proofs and _norms_known(observations, factor, found),
        groups=tuple(np.flatnonzero((found.components == c) & (found.rank_of == PROVED)) for c in _numbers(found)),
        failed=tuple(failures),
        reasons=tuple(failures.values()),
        bound=float(max(bounded)) if bounded and "stress" not in found.proofs else float("inf"),
        data_error=data_error,
        determinacy=found,
        shortages=tuple(_shortages(observations, factor, found)),
        rank=completion.rank,
        symmetric=symmetric,
        observations=observations,
        factor=completion.factor.astype(np.float64),
        planted=known,
        seed=int(generator.integers(2**31)),
    )


def _loose_zeros(rows: NDArray[np.intp], observations: Observations, data_error: float | None) -> str:
    have = "has" if rows.size == 1 else "have"
    return (
        f"{named_rows(rows, observations.labels)} {have} zero on the diagonal, which may be as much as "
        f"{data_error or 0.0:g}: that proves nothing of the other entries there"
    )


def _with_errors_of_zeros(
    observations: Observations, factor: Floats, error: DataError, found: Determinacy
) -> tuple[Determinacy, NDArray[np.intp], float]:
    """Rows taken for zero because of their diagonal, where a seen entry may be off by more than rounding.

    A zero that may be e leaves its row free in a ball of radius √e. Such a row is proved only by steps from the others.

    Returns
    -------
    found : Determinacy
    loose : int ndarray
        Rows that are not proved.
    bound : float
        How far those may be from zero that are.
    """
    if error.absolute == 0 or not found.agrees:
        return found, np.zeros(0, np.intp), 0.0
    factor, zero = cleared(observations, factor)
    for group in found.groups[:1]:
        zero &= ~group.inside
    rows = np.flatnonzero(zero & (found.rank_of == PROVED))
    bound = bounds_of_zeros(observations, factor, error, found.groups[0], rows) if found.groups else rows + np.inf
    loose = rows[np.isinf(bound)]
    rank_of, components = found.rank_of.copy(), found.components.copy()
    rank_of[loose], components[loose] = NO, -1
    return replace(found, rank_of=rank_of, components=components), loose, float(bound[bound < np.inf].max(initial=0.0))


def _with_all_seen(observations: Observations, factor: Floats, found: Determinacy) -> Determinacy:
    """Where every entry was seen nothing is left to prove, however coarse the data are.

    That a lower rank would have done is the better answer where it would.
    """
    n = observations.size
    if not found.agrees or observations.count < n * n or ((found.rank_of == PROVED) & (found.components == 0)).all():
        return found
    if 0 < _spanned(factor) < factor.shape[1]:
        return found
    return replace(
        found, rank_of=np.full(n, PROVED), components=np.zeros(n, np.int64), groups=[], proofs=("direct",), stress=None
    )


def _completed(X: Any, rank: Any, said: dict[str, Any], rng: Any) -> Completion:
    if isinstance(X, Completion):
        if not X.symmetric or X.signs is not None:
            what = "two factors" if X.signs is None else "signs"
            raise InputError(
                f"certify needs a matrix or a positive semidefinite completion, and this one has {what}; its "
                "determinacy says what is proved of it, and certify_rectangular is for tables"
            )
        if X.forecasts:
            raise InputError(
                f"certify needs a fit of a rank, and this completion forecasts by a model that was rehearsed "
                f"({X.verdict.code.value}): it determines no row; complete the matrix with rank=, "
                "or call certify(X, rank=)"
            )
        if rank is not None and not is_integer(rank):
            raise InputError(
                f"rank must be that of the completion, {X.rank}, or left out; got {type(rank).__name__}; to give the "
                "matrix back that was completed, write certify(completion.with_data(X))"
            )
        if rank is not None and rank != X.rank:
            raise InputError(f"rank must be that of the completion, {X.rank}, or left out; got {rank}")
        return X
    if rank is None:
        raise InputError("certify needs the rank of the matrix; pass rank=")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)  # the certificate says it better
        return complete(X, rank, rng=rng, **said)


def _at_floor(verdict: Verdict) -> bool:
    """Whether the fit is what the data say; that of a run cut short is not. A proof needs no verdict."""
    return verdict.determines or verdict.code is Stop.UNDERDETERMINED


def _numbers(found: Determinacy) -> list[int]:
    proved = found.components[found.rank_of == PROVED]
    return sorted({int(c) for c in proved if c >= 0})


def _kind(found: Determinacy, unique: bool) -> str:
    if not found.agrees:
        return "stability" if found.groups or (found.rank_of > 0).any() else "none"
    if not unique and not (found.rank_of == PROVED).any():
        return "none"
    return next((kind for name, kind in KINDS.items() if name in found.proofs), "none")


def _norms_known(observations: Observations, factor: Floats, found: Determinacy) -> bool:
    """Whether no row can reach into further dimensions: its diagonal entry was seen, or a stress holds it."""
    rows = np.arange(observations.size)
    if "stress" in found.proofs:  # it says nothing of rows that are zero
        rows = np.flatnonzero(cleared(observations, factor)[1])
    return bool((observations.times_seen(rows, rows) > 0).all())


def _failures(
    observations: Observations,
    problem: PSDProblem,
    factor: Floats,
    found: Determinacy,
    error: DataError,
    rng: np.random.Generator,
) -> list[tuple[str, str]]:
    """Conditions that do not hold, by name, each with a sentence."""
    rank, labels = factor.shape[1], observations.labels
    said: list[tuple[str, str]] = []
    empty = observations.empty_rows
    if empty.size:
        said.append(("empty rows", f"nothing was seen of {named_rows(empty, labels)}"))
    everything = bool((found.determined & (found.rank_of == PROVED)).all())
    unknowns, pairs = unknowns_and_pairs(problem)
    if unknowns > pairs and not everything:
        said.append(("counting", f"rank {rank} leaves {unknowns} numbers free and {pairs} distinct entries were seen"))
    if not found.agrees:
        said.append(("agreement", "the fit does not agree with every seen entry to the error of the data: they have "
                     "noise, or a higher rank, or the fit is not the best"))  # fmt: skip
        beyond = _beyond(observations, rank, rng)
        if beyond is not None:
            said.append(("rank", beyond))
    elif not observations.limits.nothing and _contradicts_absence(observations, factor, found, error):
        said.append(("absence", "entries of the fit that were not seen lie on the side where they would have been"))
    spanned = _spanned(factor)
    if found.agrees and 0 < spanned < rank and not everything:
        said.append(("rank", f"the fit has rank {spanned} to rounding; a proof at rank {rank} is out of reach, ask for "
                     f"rank={spanned}"))  # fmt: skip
    if everything:
        return said
    blocks, groups = "direct" in found.proofs, _numbers(found)
    if not blocks:
        said.append(("block", f"no fully seen block of rank {rank} was found, nor a positive semidefinite stress"))
    left = np.setdiff1d(np.flatnonzero(~found.determined & (found.rank_of < PROVED)), empty)
    if blocks and left.size:
        said.append(("attachment", f"{named_rows(left, labels)} could not be attached to the others"))
    if len(groups) > 1:
        said.append(("gluing", f"{len(groups)} groups have no common frame that is proved; {rank**2} entries between "
                     "two groups, of rows in general position, would give them one"))  # fmt: skip
    open_rows = found.determined & (found.rank_of < PROVED)
    if blocks and not left.size and len(groups) < 2 and open_rows.any():
        said.append(("attachment", f"{named_rows(np.flatnonzero(open_rows), labels)} are not attached by steps with "
                     "bounds, nor held by a positive semidefinite stress"))  # fmt: skip
    return said


def _spanned(factor: Floats) -> int:
    """The rank of the fit, to rounding."""
    return int(np.sum(np.linalg.svd(factor, compute_uv=False) > ROWS_OUTSIDE_DEFICIENT * np.linalg.norm(factor, 2)))


def _beyond(observations: Observations, rank: int, rng: np.random.Generator) -> str | None:
    """A seen block that rank r cannot have made."""
    for rows in find_blocks(observations, rank, rng):
        checkpoint()
        if len(rows) <= rank:
            continue
        block, _ = observations.pairs(rows, rows)
        values = np.linalg.eigvalsh(block)
        worst = max(abs(float(values[0])), float(values[-rank - 1])) / max(float(values[-1]), 1e-300)
        if worst > CERTIFY_BEYOND:
            names = named_rows(rows, observations.labels)
            return f"the fully seen block of {names} has an eigenvalue beyond the {rank} largest at {worst:.1g} of them"
    return None


def _contradicts_absence(observations: Observations, factor: Floats, found: Determinacy, error: DataError) -> bool:
    observations = observations.unweighted
    problem = PSDProblem(observations, factor.shape[1], squared_loss(observations.limits))
    rows = np.flatnonzero(found.determined)
    if len(rows) < observations.size:
        if len(rows) == 0:
            return False
        inner = observations.restricted(rows)
        problem = problem.among(inner)
        factor = factor[rows] * np.sqrt(observations.unit / inner.unit)
    misfit = float(np.sqrt(4 * problem.evaluate(factor.astype(problem.dtype)).value))
    allowed = ROUNDING * error.relative * float(np.sum(factor**2)) + error.absolute * np.sqrt(observations.count)
    return misfit > allowed


def _shortages(observations: Observations, factor: Floats, found: Determinacy) -> list[Shortage]:
    """What each row that is not determined lacks, and which determined rows would supply it."""
    rank = factor.shape[1]
    body = np.flatnonzero(found.determined)
    short: list[Shortage] = []
    if body.size < rank:
        return short
    frame = Frame.of(factor[body], CERTIFY_SPANNED)
    for row in np.flatnonzero(~found.determined & (found.rank_of < PROVED)):
        checkpoint()
        values, seen = observations.pairs(np.array([row]), body)
        _, independent = frame.solve_one(seen[0], values[0])
        asked = _asked(factor, body, seen[0], max(rank - independent, 0))
        gap = np.abs(factor[body] @ factor[row] - values[0])[seen[0]].max(initial=0.0)
        agrees = bool(gap <= CERTIFY_BEYOND * np.abs(values[seen]).max(initial=0.0))
        short.append(Shortage(int(row), int(seen.sum()), independent, rank, asked, agrees))
    return sorted(short, key=lambda shortage: (shortage.needed - shortage.independent, shortage.row))


def _asked(factor: Floats, body: NDArray[np.intp], seen: NDArray[np.bool_], missing: int) -> tuple[int, ...]:
    """Determined rows that point most away from those seen already."""
    rows = factor[body] / np.maximum(np.linalg.norm(factor[body], axis=1, keepdims=True), 1e-300)
    left = rows.copy()
    if seen.any():
        _, values, axes = np.linalg.svd(rows[seen], full_matrices=False)
        axes = axes[values > CERTIFY_SPANNED * values[0]]
        left = left - left @ axes.T @ axes
    chosen = []
    for _ in range(missing):
        sizes = np.linalg.norm(left, axis=1)
        k = int(np.argmax(sizes))
        if sizes[k] < CERTIFY_SPANNED:
            break
        chosen.append(int(body[k]))
        left = left - np.outer(left @ (left[k] / sizes[k]), left[k] / sizes[k])
    return tuple(chosen)
