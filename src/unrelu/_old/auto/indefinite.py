"""How a symmetric matrix that need not be positive semidefinite is solved: U D Uᵀ, with signs D that the data tell.

Its signs are not known beforehand, and no small step changes one. As a table, LRᵀ, the matrix needs none: there are as
many equations for each unknown as there are for U. So the search is that of a table; from the best fit of it the
eigenvalues that are largest in size give U and D, and the rest is done among symmetric matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.auto.likelier import begun_at, or_squares, rule_of_noise, worth_it
from unrelu._old.auto.solving import cut_short, in_an_order_of_its_own, run_once
from unrelu._old.auto.strategy import Auto, Once, Strategy
from unrelu._old.auto.table import searched
from unrelu._old.auto.task import CUT_SHORT, Attempts, Journal, Over, Plan, Task
from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.budget import OutOfTime, phase
from unrelu._old.base.errors import InputError
from unrelu._old.data.mirrored import as_table
from unrelu._old.data.observations import Observations
from unrelu._old.data.pieces import pieces
from unrelu._old.judge.floor import noiseless
from unrelu._old.judge.likelihood import Fits, on_likelihood
from unrelu._old.kernels.symmetric import SymmetricTiles, top_eigenpairs
from unrelu._old.model.factors import nearest_signed
from unrelu._old.problems.indefinite import IndefiniteProblem
from unrelu._old.problems.rectangular import RectangularProblem
from unrelu._old.starts import Given
from unrelu._old.starts.base import scale_of
from unrelu._old.starts.spectral import Tailored

__all__ = ["AutoIndefinite", "OnceIndefinite", "indefinite_strategy"]

# What its starts are called: that of the symmetric fit, and those of the search.
TABLE, AS_A_TABLE = "table", "as a table"


@dataclass(frozen=True)
class AutoIndefinite(Auto):
    """What ``method="auto"`` does with ``structure="indefinite"``."""

    psd_only = False

    def find(self, task: Task) -> Attempts:
        """The search of a table, its signs, and the fit with these."""
        task = replace(task, plan=Plan(self.starts, self.passes))
        return in_an_order_of_its_own(task, self._found)

    def _found(self, task: Task) -> Attempts:
        search, end = _AsTable(task), None
        try:
            search.run()
        except (KeyboardInterrupt, OutOfTime, Over) as early:
            end = early
        factor, signs = search.best()
        task = replace(task, problem=_signed(task.problem).with_signs(signs))
        try:
            if end is not None:  # who does not wait gets the best so far as a symmetric matrix
                task.keep(TABLE, factor)
                raise end
            found = _among_symmetric(task, factor, search.tried, search.agreed)
        except (KeyboardInterrupt, OutOfTime, Over) as late:
            found = cut_short(task, late)
        return found if found.problem is not None else replace(found, problem=task.problem)


@dataclass(frozen=True)
class OnceIndefinite(Once):
    """One method from one start, with ``structure="indefinite"``."""

    def find(self, task: Task) -> Attempts:
        """One run with the signs of the start."""
        given = _start(task, self.start)
        assert given.signs is not None
        posed = _signed(task.problem).with_signs(given.signs)
        found = run_once(replace(task, problem=posed), given)
        return found if found.problem is not None else replace(found, problem=posed)


def indefinite_strategy(strategy: Strategy) -> Strategy:
    """The strategy for an indefinite matrix in place of one for positive semidefinite ones."""
    if isinstance(strategy, Auto):
        return AutoIndefinite(strategy.starts, strategy.passes, strategy.seconds, strategy.solver)
    if isinstance(strategy, Once):
        if strategy.solver.convex or not strategy.solver.takes_start:
            raise InputError(
                f"method {strategy.solver.name!r} is for positive semidefinite matrices; with structure='indefinite' "
                "use auto, gauss-newton, gradient-descent or a method with two factors"
            )
        return OnceIndefinite(strategy.solver, strategy.start)
    return strategy


def _signed(problem: Any) -> IndefiniteProblem:
    found: IndefiniteProblem = problem
    return found


class _AsTable:
    """The search among tables, for each piece of the pattern that sees no other: what was tried, and what was found."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.tried: tuple[str, ...] = ()
        self.agreed = True
        # Of each piece: its rows, and [L; R] in units of the whole.
        self._found: list[tuple[Indices, Array]] = []

    def run(self) -> None:
        """Piece after piece, one start after the other."""
        problem = self.task.problem
        parts = pieces(problem.observations)
        for rows in parts:
            posed = self.task if len(parts) == 1 else self.task.within(rows, None, min(problem.rank, len(rows)))
            if posed.problem.norm > 0:
                self._piece(rows if len(parts) > 1 else np.arange(problem.size), posed)

    def _piece(self, rows: Indices, posed: Task) -> None:
        plain = posed.problem.simpler or posed.problem
        data = as_table(posed.problem.observations)
        table = RectangularProblem(data, posed.problem.rank, plain.loss, posed.problem.kernel_maker)
        inner = replace(posed, problem=table, journal=Journal(), truth=None, embed=None, whole=None, rows=None)
        ratio = np.sqrt(table.unit / self.task.problem.unit)
        try:
            _, best, tried, agreed = searched(inner)
        finally:
            attempts = inner.journal.attempts
            self.task.journal.attempts += [replace(one, start=f"{one.start}, {AS_A_TABLE}") for one in attempts]
            if inner.journal.factor is not None:
                self._found.append((rows, inner.journal.factor * ratio))
        self.tried, self.agreed = self.tried + tried, self.agreed and agreed
        if best.verdict.code in CUT_SHORT:
            raise Over(best.verdict)

    def best(self) -> tuple[Array, tuple[int, ...]]:
        """U and its signs, from what was found so far: those of the largest piece, which the others are given too."""
        problem = self.task.problem
        factor, signs = np.zeros((problem.size, problem.rank)), problem.rank * (1,)
        for number, (rows, unknown) in enumerate(self._found):
            L, R = unknown[: len(rows)], unknown[len(rows) :]
            if number == 0:
                own, signs, _ = nearest_signed(L, R, problem.rank)
            else:
                own, _, _ = nearest_signed(L, R, problem.rank, signs)
            factor[rows] = own
        return factor.astype(problem.dtype), signs


def _among_symmetric(task: Task, factor: Array, tried: tuple[str, ...], agreed: bool) -> Attempts:
    """In squares from the table's fit, and from there by likelihood where noise decides what is seen."""
    problem = task.problem
    plain = problem.simpler or problem
    phase(f"fitting (from the fit {AS_A_TABLE})")
    inner = task if plain is problem else replace(task, problem=plain, journal=Journal())
    best = inner.attempt(TABLE, factor)
    if inner is not task:
        task.journal.attempts += inner.journal.attempts
    nobody = np.zeros(0, np.intp)
    evidence = Fits(agreed, False, tried)
    words = f"{plain.loss.name} loss, {_signature(problem)}, tried {', '.join(dict.fromkeys(tried))} {AS_A_TABLE}"
    cut = best.verdict.code in CUT_SHORT
    verdict = best.verdict if cut else on_likelihood(plain, best, evidence, words)
    squares = Attempts(replace(best, history=inner.history, verdict=verdict), TABLE, tried, nobody, plain)
    exact, worth = noiseless(plain, best.point.value), worth_it(plain, best.point.value)
    settled = (exact and not problem.loss.noise_given) or (task.either and not worth)
    if plain is problem or cut or settled:
        return squares
    task.keep(TABLE, best.point.factor)
    phase("fitting by likelihood")
    name = f"{TABLE}, {plain.loss.name}"
    posed = replace(task, problem=begun_at(problem, plain.misfit(best.point.value), plain))
    found = posed.attempt(name, best.point.factor, rule_of_noise(task))
    return or_squares(task, squares, name, found, evidence, _signature(problem))


def _signature(problem: Any) -> str:
    up = sum(sign > 0 for sign in problem.signs)
    return f"{up} columns with + and {problem.rank - up} with −"


def _start(task: Task, start: Any) -> Given:
    """A factor in the caller's units with its signs."""
    problem = task.problem
    if isinstance(start, Given):
        if start.signs is None:
            raise InputError(
                "a start for structure='indefinite' must say its signs; pass a completion with that structure, or "
                "start='tailored'"
            )
        return start
    if not isinstance(start, str) or start not in ("auto", "tailored"):
        raise InputError(
            f"structure='indefinite' begins from start 'tailored' or from an earlier completion, got {start!r}; "
            "drop start="
        )
    factor, signs = signed_eigenvectors(problem.observations, problem.rank, task.rng)
    return Given(factor, factor, factor * np.array(signs, factor.dtype), name="tailored", signs=signs)


def signed_eigenvectors(
    observations: Observations, rank: int, rng: np.random.Generator
) -> tuple[Array, tuple[int, ...]]:
    """The paper's tailored start with the eigenvalues that are largest in size, whatever their sign."""
    n, fill = observations.size, Tailored().fill
    Y = rng.standard_normal((n, rank))
    small = (Y * np.sqrt(scale_of(observations, Y))).astype(observations.dtype)

    def filled(sign: int) -> SymmetricTiles:
        return SymmetricTiles(n, observations.dtype, lambda rows, cols: sign * fill(observations, small, rows, cols))

    ends = []
    for sign in (1, -1):
        values, vectors = top_eigenpairs(filled(sign), rank, rng)
        ends += [(float(value), sign, vectors[:, k]) for k, value in enumerate(values)]
    top = sorted(sorted(ends, key=_size)[:rank], key=_side)
    factor = np.column_stack([np.sqrt(max(value, 0.0)) * vector for value, _, vector in top])
    factor = (factor * np.sqrt(observations.unit)).astype(observations.dtype)
    factor[observations.empty_rows] = 0
    return factor, tuple(sign for _, sign, _ in top)


def _size(end: tuple[float, int, Array]) -> float:
    return -end[0]


def _side(end: tuple[float, int, Array]) -> int:
    return -end[1]
