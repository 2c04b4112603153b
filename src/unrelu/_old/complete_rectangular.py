"""The front door for tables: rows and columns of different things."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from unrelu._old.auto.choices import kernel_of, loss_of_noise, stopping_of, truth_checked
from unrelu._old.auto.ranks import CLIMBING, Climb
from unrelu._old.auto.rectangular import AutoTable, table_strategy
from unrelu._old.auto.solving import CANONICAL, cut_short
from unrelu._old.auto.strategy import Once, Strategy
from unrelu._old.auto.task import Attempts, Journal, Task
from unrelu._old.base.budget import OutOfTime, budget
from unrelu._old.base.errors import InputError, is_integer, warn
from unrelu._old.base.generators import generator_of
from unrelu._old.complete import as_callable, chosen_loss, found_by, without_noise
from unrelu._old.data.inputs import read_table
from unrelu._old.data.labels import listed_rows
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.data.terms import Terms, kept_terms
from unrelu._old.kernels.memory import require_memory
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.loop.history import Record, Stop, in_units
from unrelu._old.loop.progress import Bar
from unrelu._old.loop.stopping import StoppingRule
from unrelu._old.model.losses import Loss
from unrelu._old.problems.rectangular import RectangularProblem, balanced
from unrelu._old.results.doubting import Doubting
from unrelu._old.results.gaps import finding_gaps
from unrelu._old.results.rectangular import RectangularCompletion
from unrelu._old.scale.devices import where_the_data_are
from unrelu._old.scale.door import by_blocks_if_large
from unrelu._old.solvers import Solver
from unrelu._old.starts import Given

__all__ = ["complete_rectangular", "smallest_exact"]


@where_the_data_are(table=True)
@finding_gaps(table_observations)
@by_blocks_if_large(table=True)
@owning_the_cores()
def complete_rectangular(
    X: Any,
    rank: int | None = None,
    *,
    threshold: Any = 0.0,
    seen: str = "above",
    unknown: Any = None,
    gaps: str = "censored",
    entry_range: tuple[float, float] | None = None,
    weights: Any = None,
    sigma: Any = None,
    loss: str | Loss = "auto",
    method: str | Solver[Any] | Strategy | Callable[..., Any] = "auto",
    start: Any = "auto",
    tol: float | StoppingRule | None = None,
    max_iter: int | None = None,
    truth: Any = None,
    rng: Any = None,
    callback: Callable[[Record], object] | None = None,
    progress: bool = False,
    kernel: Any = "auto",
    peak_memory: Any = None,
    checkpoint: Any = None,
    device: Any = None,
) -> RectangularCompletion:
    """Complete a table of low rank from the entries beyond a threshold: M ≈ LRᵀ, rows and columns of any number.

    Parameters
    ----------
    X : array, masked array, data frame, sparse matrix or source of shape (m, n)
        NaN where nothing was seen; a data frame brings labels of rows and of columns. Never modified.
    rank : int, optional
        Rank of the completed matrix, from 1 to the smaller side. Default: the smallest that leaves nothing of the data
        but rounding, or nothing but noise; where there is none, :func:`unrelu.complete_table` is for such data.
    threshold, weights, sigma : float, array or None; threshold also a pair or Limits
        As in :func:`unrelu.complete`, of shape (m, 1) for one per row, (1, n) for one per column, or (m, n). A vector
        of n numbers is one per column if m ≠ n; a series goes by its labels, those of the rows or of the columns.
    seen, unknown, gaps, entry_range, loss, tol, max_iter, rng, callback, progress, kernel, peak_memory, checkpoint
        As in :func:`unrelu.complete`.
    method : str, Solver, Strategy or callable, default "auto"
        ``auto``, ``landmarks``, ``gauss-newton``, ``direct``, ``gradient-descent``, ``scaled-gd``, ``pam``,
        ``momentum-pam``, ``gnmr`` or ``admm``, each with the losses that it takes in :func:`unrelu.complete`. ``sdp``
        is not for tables, which are not positive semidefinite.
    start : {"auto", "tailored", …}, Start, pair of arrays (L, R) or RectangularCompletion
        Where a named method begins.
    truth : array of shape (m, n), optional
        For the errors in history and summaries, iteration by iteration; never used in solving.
    device
        As for :func:`unrelu.complete`.

    Returns
    -------
    RectangularCompletion

    Raises
    ------
    InputError
        If the input cannot be what was meant; the message says what to do.

    Warns
    -----
    CompletionWarning
        If there are rows or columns of which nothing was seen, which the data do not determine.

    Examples
    --------
    >>> import numpy as np, unrelu
    >>> rng = np.random.default_rng(0)
    >>> M = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 25))
    >>> found = unrelu.complete_rectangular(np.where(M >= 0, M, np.nan), rank=2, rng=0)
    >>> found.shape, found.verdict.code.value, bool(np.abs(found.matrix() - M).max() < 1e-8)
    ((40, 25), 'fitted', True)
    >>> found.left.shape, found.right.shape
    ((40, 2), (25, 2))
    """
    loss, spread = loss_of_noise(loss, sigma)
    terms = Terms(threshold, seen, unknown, entry_range, weights, spread)
    doubting = Doubting(X, terms, loss, table=True)
    observations = table_observations(X, terms, doubting.impossible)
    m, n = _shape(observations)
    if not (rank is None or (is_integer(rank) and 1 <= rank <= min(m, n))):
        raise InputError(f"rank must be between 1 and {min(m, n)}, the smaller side of the table; got {rank!r}")
    if rank is None and not (isinstance(start, str) and start == "auto"):
        raise InputError("rank must be named where start is; name a number, or drop start=")
    strategy = table_strategy(method, _given(start, (m, n), int(rank or 1)))
    if rank is None and not isinstance(strategy, AutoTable):
        raise InputError("rank must be named unless method='auto'; name a number, or drop method=")
    stopping, rng = strategy.limited(stopping_of(tol, max_iter, strategy.solver, observations.dtype)), generator_of(rng)
    if isinstance(strategy, AutoTable):
        observations, loss = doubting.trusted(observations, loss, rank, rng, stopping.time_limit)
    loss_chosen, either = chosen_loss(loss, strategy, observations)
    callback = as_callable(callback)
    truth = None if truth is None else truth_checked(truth, read_table(X)[1])
    require_memory(observations.source.elsewhere or 2 * m * n * observations.dtype.itemsize, f"a {m}×{n} matrix")
    posed = without_noise(RectangularProblem(observations, int(rank or 1), loss_chosen, kernel_of(kernel)), either)
    with Bar(posed, stopping) if progress else nullcontext() as bar:
        told = callback if bar is None else bar.also(callback)
        task = Task(posed, strategy.solver, stopping, rng, truth, told, either=either)
        about = dict(method=strategy.method, source=X, entries_read=m * n, **kept_terms(observations.said or terms))
        phases = getattr(callback if bar is None else bar, "phase", None)
        with budget(doubting.left(stopping.time_limit), phases) as clock:
            # Where only zeros were seen there is nothing to search.
            if rank is None and posed.norm > 0:
                completion = _at_rank_found(task, strategy, about)
            else:
                attempts = found_by(strategy if posed.norm > 0 else Once(strategy.solver), task)
                completion = replace(_completion(task, attempts), **about)
    _warn_of_empty(observations)
    return doubting.told(replace(completion, **clock.times), observations)


def smallest_exact(
    found: RectangularCompletion, at_rank: Callable[[int], RectangularCompletion]
) -> RectangularCompletion:
    """Of an exact fit that leaves rows open, one of the smallest rank that is exact; else the fit itself.

    Where the data determine all rows no smaller rank can be exact: it would be another matrix that meets them.
    """
    small = sum(found.shape) <= CANONICAL
    if found.verdict.code is Stop.FITTED and small and not found.determined.all():
        for rank in range(1, found.rank):
            lower = at_rank(rank)
            if lower.verdict.code is Stop.FITTED:
                return lower
    return found


def _at_rank_found(task: Task, strategy: Strategy, about: dict[str, Any]) -> RectangularCompletion:
    """The answer at the smallest rank that is enough, with what is known ``about`` it."""
    climb = Climb(task.problem.observations, RectangularProblem)
    try:
        ladder = climb.ladder()
    except (OutOfTime, KeyboardInterrupt) as end:
        task = replace(task, problem=task.problem.at_rank(climb.factor.shape[1]))
        task.journal.factor, task.journal.start = climb.factor, CLIMBING
        return replace(_completion(task, cut_short(task, end)), **about)
    if not ladder.rungs:
        raise InputError("rank must be named: too little was seen to look for one; name it, or call complete_table")
    if ladder.rank is None:
        tried = ", ".join(str(rung.rank) for rung in ladder.rungs)
        raise InputError(
            f"rank must be named: of those that were tried ({tried}) none leaves only noise of the data, as real data "
            "seldom do; name one, or call complete_table, which needs none"
        )

    def at_rank(rank: int) -> RectangularCompletion:
        inner = replace(task, problem=task.problem.at_rank(rank), journal=Journal())
        return replace(_completion(inner, found_by(strategy, inner)), **about)

    return smallest_exact(at_rank(ladder.rank), at_rank)


def _shape(observations: Observations) -> tuple[int, int]:
    cut = observations.source.cut
    assert cut is not None
    return cut, observations.size - cut


def _given(start: Any, shape: tuple[int, int], rank: int) -> Any:
    """A pair of factors, or an earlier completion, as a start; a name or a start stays what it is."""
    name = "a given factor"
    if isinstance(start, RectangularCompletion):
        start, name = (start.left, start.right), "an earlier completion"
    if not isinstance(start, (tuple, list)):
        return start
    wanted, came = [(side, rank) for side in shape], [np.shape(factor) for factor in start]
    if came != wanted:
        shapes = f"{wanted[0]} and {wanted[1]}"
        raise InputError(
            f"start must be a pair (L, R) of arrays of shapes {shapes}, got {' and '.join(map(str, came))}"
        )
    return Given(np.vstack(start), name=name)


def _warn_of_empty(observations: Observations) -> None:
    m, _ = _shape(observations)
    empty, labels = observations.empty_rows, observations.labels
    rows, columns = empty[empty < m], empty[empty >= m]
    named = [listed_rows(rows, labels)] if rows.size else []
    if columns.size:
        of_columns = columns if labels is not None else columns - m
        named.append(listed_rows(of_columns, labels, what="column"))
    if named:
        fact = f"nothing was seen of {' and '.join(named)}"
        how = "completed as well as may be, which the data do not determine"
        warn(f"{fact}; {how}")


def _completion(task: Task, attempts: Attempts) -> RectangularCompletion:
    """The answer to a task, in the caller's units."""
    problem, outcome = attempts.problem or task.problem, attempts.outcome
    observations, point = problem.observations, outcome.point
    m, _ = _shape(observations)
    factor = balanced(point.factor, m) * observations.dtype.type(np.sqrt(problem.unit))
    likelihood = (point.loss or problem.loss) if problem.loss.likelihood else None
    labels = observations.labels
    return RectangularCompletion(
        factor=factor,
        verdict=outcome.verdict,
        history=outcome.history,
        objective=in_units(point.value, problem.unit, problem.value_power),
        residual=problem.misfit_at(point) / problem.norm if problem.norm else 0.0,
        method=task.solver.name,
        start=attempts.start,
        loss=problem.loss.name,
        seen=(observations.count, observations.norm),
        iteration=outcome.iteration,
        labels=None if labels is None else labels[:m],
        column_labels=None if labels is None else labels[m:],
        left=factor[:m],
        right=factor[m:],
        pairs="one",
        apart=outcome.apart,
        attempts=tuple(task.journal.attempts),
        symmetric=False,
        sigma=None if likelihood is None else likelihood.noise,
        sigma_given=likelihood is not None and likelihood.noise_given,
    )
