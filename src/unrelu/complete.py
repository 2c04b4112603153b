"""The front door: names become objects here, and nothing unchecked gets past."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.auto.choices import (
    choose,
    kernel_of,
    loss_of_noise,
    problem_checked,
    problem_of,
    rank_checked,
    require_weighing,
    stopping_of,
    structure_checked,
    truth_checked,
)
from unrelu.auto.escalate import SMALL
from unrelu.auto.indefinite import indefinite_strategy
from unrelu.auto.solving import cut_short
from unrelu.auto.strategy import Once, Strategy, strategy_of
from unrelu.auto.task import Attempts, Over, Task
from unrelu.base.budget import OutOfTime, budget
from unrelu.base.errors import CompletionWarning, InputError
from unrelu.base.generators import generator_of
from unrelu.base.tolerances import FLOOR_NOISELESS
from unrelu.data.labels import Axes, listed_rows
from unrelu.data.limits import Limits
from unrelu.data.observations import Observations
from unrelu.data.terms import Terms, kept_terms
from unrelu.judge.definite import diagonal_hidden, not_definite
from unrelu.judge.likelihood import bent_by_selection
from unrelu.judge.remarks import remarks
from unrelu.kernels.memory import require_memory
from unrelu.kernels.threads import owning_the_cores
from unrelu.loop.history import Record, Stop, Verdict, in_units
from unrelu.loop.progress import Bar
from unrelu.loop.run import Outcome
from unrelu.loop.stopping import StoppingRule
from unrelu.model.losses import LOSSES, Loss
from unrelu.results.completion import Completion
from unrelu.results.witnesses import witnesses_for
from unrelu.solvers import Solver
from unrelu.starts import Given
from unrelu.uncertainty.noise import pairs_checked

__all__ = ["chosen_loss", "complete", "found_by"]


@owning_the_cores()
def complete(
    X: Any,
    rank: int,
    *,
    threshold: Any = 0.0,
    seen: str = "above",
    unknown: Any = None,
    entry_range: tuple[float, float] | None = None,
    weights: Any = None,
    sigma: Any = None,
    loss: str | Loss = "auto",
    method: str | Solver[Any] | Strategy | Callable[..., Any] = "auto",
    start: Any = "auto",
    tol: float | StoppingRule | None = None,
    max_iter: int | None = None,
    truth: Any = None,
    pairs: str = "auto",
    rng: Any = None,
    callback: Callable[[Record], object] | None = None,
    progress: bool = False,
    kernel: Any = "auto",
    problem: Any = "psd",
    structure: str = "psd",
) -> Completion:
    """Complete a symmetric positive semidefinite matrix of known rank from the entries beyond a threshold.

    Finds U of shape (n, rank) that minimises F(U) = ¼‖(UUᵀ − M)_Ω‖_F² (Problem (MC) of the paper), by default with
    what absence says: unseen entries on the wrong side of the threshold are penalised as well.

    Parameters
    ----------
    X : array, masked array, data frame or sparse matrix of shape (n, n)
        NaN where nothing was seen; for a masked array what is masked, for a sparse matrix everything that is not stored
        (stored zeros are seen). A data frame carries the same labels in index and columns. Neither pattern nor values
        need be symmetric. float32 stays float32. Never modified; :meth:`Completion.filled` reads it again.
    rank : int
        Rank of the completed matrix, 1…n.
    threshold : float, array, pair, Limits or None, default 0.0
        Every seen entry is on the side ``seen`` of it, or equal to it; every unseen one strictly on the other side.
        One number, one per row (shape (n, 1)), one per column ((1, n)) or one per entry, infinite where there is none.
        A pair (low, high) of these for ``between`` and ``outside``. :class:`Limits` mix all kinds. None: absence says
        nothing.
    seen : {"above", "below", "between", "outside"}, default "above"
        Where entries are seen: above the threshold, below it, between the two of a pair, or outside of them.
    unknown : boolean array of shape (n, n), optional
        Entries that are missing for another reason. A diagonal entry that is unseen although a positive semidefinite
        matrix cannot have it on the unseen side counts as unknown by itself.
    entry_range : (least, most), optional
        Between which numbers every entry lies, unknown ones too: (0, 1) for shares, say. One may be infinite.
    weights : array of shape (n, 1), (1, n) or (n, n), optional
        What the cost of each entry is multiplied by, above 0; only their ratios matter.
    sigma : float or array, optional
        The standard deviation of the noise: of all entries, or one per row, column or entry. It makes the loss
        ``censored``; default: estimated.
    loss : {"auto", "observed", "one-sided", "censored"} or Loss
        ``auto``: the method's own; with method ``auto`` by likelihood (``censored``) if there is noise that decides
        what is seen, else with what absence says (``one-sided``).
    method : str, Solver, Strategy or callable, default "auto"
        ``auto``, ``gauss-newton``, ``direct``, ``gradient-descent``, ``scaled-gd``, ``pam``, ``momentum-pam``,
        ``gnmr``, ``admm`` or ``sdp``: the names in :data:`unrelu.solvers.METHODS`. With ``auto`` and start ``auto`` one
        start after the other is tried; with a start that you name ``auto`` is ``gauss-newton``.
    start : str, Start, array of shape (n, rank) or Completion, default "auto"
        ``auto``, ``clique``, ``tailored``, ``random-imputation``, ``random-spectral``, ``spectral``, ``gaussian``,
        ``random-fill``, ``rank-increasing`` or ``shrinking``: the names in :data:`unrelu.starts.STARTS`. With a
        method that you name ``auto`` is its own start; ``direct`` and ``sdp`` take none. An earlier completion goes on
        from where it ended, when more entries have arrived.
    tol : float or StoppingRule, optional
        Stop when ‖∇F(U)‖_F ≤ tol · ‖M_Ω‖_F^{3/2}, so that scaling the data scales the answer and changes nothing else.
        Default: the method's own (gauss-newton: 1e-15, for float32 2e-7). Or any rule of :mod:`unrelu.loop.stopping`,
        such as the paper's absolute one, ``GradientNormBelow(1e-6)``.
    max_iter : int, optional
        Default: the method's own.
    truth : array of shape (n, n), optional
        For history and summaries only, never used in solving.
    pairs : {"auto", "one", "independent"}
        Whether (i, j) and (j, i) carry one noise or two, for :meth:`Completion.standard_errors`. ``auto``: one if
        they agree to rounding wherever both were seen.
    rng : int, Generator or None
        For the start; the same seed gives the same answer.
    callback : callable, optional
        Called with each :class:`~unrelu.loop.history.Record`; returning True stops.
    progress : bool, default False
        Show a progress bar on the terminal.
    kernel : callable, optional
        What makes the engine of all passes over the matrix from observations and loss, see
        :class:`unrelu.kernels.Kernel`. ``auto``: the quickest that there is for them.
    problem : callable, optional
        What makes the problem from observations, rank, loss and kernel, see :mod:`unrelu.problems`. ``psd``: symmetric
        positive semidefinite completion, the only one of which ``auto`` knows more than its value.
    structure : {"psd", "indefinite"}, default "psd"
        ``indefinite``: M = U D Uᵀ with D = diag(±1), for similarities that are not positive semidefinite; how many
        columns have which sign is found from the data (:attr:`Completion.signs`).

    Returns
    -------
    Completion

    Raises
    ------
    InputError
        If the input cannot be what was meant; the message says what to do.

    Warns
    -----
    CompletionWarning
        If there are rows of which nothing was seen: they are completed with the least norm. If there are rows of which
        too little was seen to place them: they are completed as well as may be, see ``undetermined_rows``.

    Examples
    --------
    >>> import numpy as np, unrelu
    >>> U = np.random.default_rng(0).standard_normal((60, 2))
    >>> M = U @ U.T
    >>> X = np.where(M >= 0, M, np.nan)          # only the non-negative entries were seen
    >>> completion = unrelu.complete(X, rank=2, rng=0)
    >>> completion.verdict.converged
    True
    >>> bool(np.abs(completion.matrix() - M).max() < 1e-8)
    True
    """
    loss, spread = loss_of_noise(loss, sigma)
    terms = Terms(threshold, seen, unknown, entry_range, weights, spread)
    observations = replace(Observations.of(X, terms), definite=structure_checked(structure) == "psd")
    n = observations.size
    rank = rank_checked(rank, n)
    strategy = strategy_of(method, _given(start))
    loss_chosen, either = chosen_loss(loss, strategy, observations)
    stopping = strategy.limited(stopping_of(tol, max_iter, strategy.solver, observations.dtype))
    truth = None if truth is None else truth_checked(truth, Axes.square(n, observations.labels))
    pairs = pairs_checked(pairs)
    generator = generator_of(rng)
    _require_callable(callback)
    posed = problem_of(problem, structure)(observations, rank, loss_chosen, kernel_of(kernel))
    posed = without_noise(problem_checked(posed, strategy.solver), either)
    strategy = _suited(strategy, posed)
    require_memory(2 * n * n * observations.dtype.itemsize, f"a {n}×{n} matrix")
    with Bar(posed, stopping) if progress else nullcontext() as bar:
        told = callback if bar is None else bar.also(callback)
        task = Task(posed, strategy.solver, stopping, generator, truth, told, either=either)
        phases = getattr(callback if bar is None else bar, "phase", None)
        with budget(stopping.time_limit, phases) as clock:
            # Where only zeros were seen there is nothing to search.
            found = strategy if posed.norm > 0 else Once(strategy.solver)
            attempts = found_by(found, task)
    completion = replace(
        _completion(task, attempts),
        method=strategy.method,
        source=X,
        pairs=pairs,
        **kept_terms(observations.said or terms),
        seconds=clock.spent,
        cpu_seconds=clock.cpu_spent,
    )
    completion = _looked_at(completion, stopping.time_limit, phases)
    _warn_of_rows(observations, completion.undetermined_rows)
    return completion


def without_noise(posed: Any, either: bool) -> Any:
    """The problem, in squares if one may choose and only zeros were seen: nothing shows any noise then."""
    return posed.simpler if either and posed.norm == 0 and posed.simpler is not None else posed


def _suited(strategy: Strategy, posed: Any) -> Strategy:
    """The strategy, or what does the same for a problem that is not positive semidefinite."""
    if getattr(posed, "signs", None) is not None:
        return indefinite_strategy(strategy)
    return strategy if posed.psd or not strategy.psd_only else Once(strategy.solver)


def _require_callable(callback: Any) -> None:
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable, got {type(callback).__name__}")


def found_by(strategy: Strategy, task: Task) -> Attempts:
    """What a strategy finds; or, if it did not end when somebody wanted the answer, its best attempt so far."""
    try:
        attempts = strategy.find(task)
    except (KeyboardInterrupt, OutOfTime, Over) as end:
        return cut_short(task, end)
    if not isinstance(attempts, Attempts):
        raise InputError(
            f"strategy {strategy.name!r} must return what task.answer(outcome) gives, got {type(attempts).__name__}"
        )
    return attempts


def chosen_loss(loss: Any, strategy: Strategy, observations: Observations) -> tuple[Loss, bool]:
    """The loss that is named, or the method's own, one that it can minimise; and whether squares may do instead."""
    solver = strategy.solver
    require_weighing(solver, observations)
    if isinstance(loss, str) and loss == "auto":
        return strategy.default_loss(observations)
    chosen = _loss_checked(choose("loss", loss, LOSSES, Loss, ""), observations)
    if not solver.accepts(chosen):
        able = ", ".join(name for name, known in LOSSES.items() if solver.accepts(known()))
        raise InputError(
            f"method {solver.name!r} minimises {able}, not loss {chosen.name!r}; drop loss=, or choose another method"
        )
    return chosen, False


def _loss_checked(loss: Loss, observations: Observations) -> Loss:
    """A loss of the caller's own, if it says what every loss says."""
    who = type(loss).__name__
    if not isinstance(getattr(loss, "name", None), str):
        raise InputError(f"{who} must have a name, a string by which results call it")
    for asked, came, wanted in (
        ("heard(limits)", loss.heard(observations.limits), Limits),
        ("in_units(unit)", loss.in_units(observations.unit), Loss),
    ):
        if not isinstance(came, wanted):
            raise InputError(f"{asked} of {who} must return {wanted.__name__}, got {type(came).__name__}")
    return loss


def _completion(task: Task, attempts: Attempts) -> Completion:
    """The answer to a task, in the caller's units."""
    problem, outcome, point = attempts.problem or task.problem, attempts.outcome, attempts.outcome.point
    observations, unit = problem.observations, problem.unit
    ours = problem.psd or getattr(problem, "signs", None) is not None
    misfit = problem.misfit_at(point) if ours else problem.misfit(point.value)
    root = observations.dtype.type(np.sqrt(unit))
    residual = misfit / problem.norm if problem.norm else (0.0 if misfit == 0 else float("inf"))
    odd = remarks(observations, point.factor, residual) if ours else []
    ended = _unless_bent(problem, outcome)
    if problem.psd and residual > FLOOR_NOISELESS[observations.dtype.name]:
        negative = not_definite(observations, problem.rank)
        negative = diagonal_hidden(observations) if negative is None and not ended.answered else negative
        odd += [] if negative is None else [negative]
        if negative is not None and ended.code is Stop.FITTED_TO_NOISE:  # what is left is not noise
            ended = Verdict(Stop.STATIONARY, f"{ended.reason}, but what was seen contradicts it")
    said = "; ".join([ended.reason, *odd])
    own = outcome.own if ours else point.factors
    likelihood = (point.loss or problem.loss) if problem.loss.likelihood else None
    return Completion(
        factor=(point.factor if ours else point.factors.left) * root,
        verdict=Verdict(ended.code, said),
        history=outcome.history,
        objective=in_units(point.value, unit, problem.value_power),
        residual=residual,
        method=task.solver.name,
        start=attempts.start,
        loss=problem.loss.name,
        seen=(observations.count, observations.norm),
        iteration=outcome.iteration,
        undetermined_rows=attempts.undetermined,
        labels=observations.labels,
        left=None if own is None else own.left * root,
        right=None if own is None else own.right * root,
        apart=outcome.apart,
        attempts=tuple(task.journal.attempts),
        symmetric=ours,
        signs=getattr(problem, "signs", None),
        sigma=None if likelihood is None else likelihood.noise,
        sigma_given=likelihood is not None and likelihood.noise_given,
        witnesses=witnesses_for(symmetric=ours, signed=ours and not problem.psd),
    )


def _unless_bent(problem: Any, outcome: Outcome) -> Verdict:
    """The verdict on an outcome; a fit of squares that the choice of what is seen has bent is no answer."""
    verdict = outcome.verdict
    own_way = outcome.own is not None  # a method with factors of its own does not minimise squares over UUᵀ
    if own_way or not (problem.psd and problem.simpler is None and verdict.answered):
        return verdict
    bent = bent_by_selection(problem, outcome.point)
    return verdict if bent is None else Verdict(Stop.STATIONARY, f"{verdict.reason}; but {bent}")


def _given(start: Any) -> Any:
    """A factor or an earlier completion as a start; a name or a start stays what it is."""
    if isinstance(start, Completion):
        what, name = "the completion given as start", "an earlier completion"
        return Given(start.factor, start.left, start.right, what, name=name, signs=start.signs)
    if isinstance(start, (np.ndarray, list)) or hasattr(start, "to_numpy"):
        return Given(start)
    return start


def _looked_at(completion: Completion, seconds: float | None, told: Callable[[str], object] | None) -> Completion:
    """What the rows say of the verdict: asked in the time that is left, and where it may change something."""
    began = perf_counter()
    try:
        with budget(None if seconds is None else max(seconds - completion.seconds, 0.0), told):
            if completion.verdict.code is Stop.UNDERDETERMINED and completion.at_floor and completion.size <= SMALL:
                completion = _settled_by_absence(completion)
            if completion.undetermined_rows.size and completion.verdict.answered:
                completion = _exactly(completion)
    except OutOfTime:
        pass  # the fit is there; which rows it fixes is found when asked for
    except KeyboardInterrupt:
        words = "interrupted while it was asked which rows the data determine"
        completion = replace(completion, verdict=Verdict(Stop.INTERRUPTED, f"{completion.verdict.reason}; {words}"))
    return replace(completion, seconds=completion.seconds + perf_counter() - began)


def _settled_by_absence(completion: Completion) -> Completion:
    """Counting what was seen is not all: what absence says may leave one matrix, and then that is proved."""
    if not (completion.determinacy == "proved").all() or not (completion.components == 0).all():
        return completion
    words = "what was not seen leaves one matrix, which is proved"
    verdict = Verdict(Stop.FITTED, f"{completion.verdict.reason}; but {words}")
    return completion.with_verdict(verdict, np.zeros(0, np.intp))


def _exactly(completion: Completion) -> Completion:
    """Some rows could not be placed: say which of them the data leave open, for others may be fixed by each other."""
    rows = np.flatnonzero(~completion.determined)
    by = "the data" if completion.verdict.converged else "the data and the rank"
    open_ = f"{rows.size} of {completion.size} rows are not"
    words = f"{open_ if rows.size else 'all rows are'} determined by {by}"
    verdict = Verdict(completion.verdict.code, f"{completion.verdict.reason}; {words}")
    return completion.with_verdict(verdict, rows)


def _warn_of_rows(observations: Observations, missing: NDArray[np.intp]) -> None:
    empty = observations.empty_rows
    if empty.size:
        fact = f"nothing was seen of {listed_rows(empty, observations.labels)}"
        how = "completed with the least norm, which the data do not determine"
        warnings.warn(CompletionWarning(f"{fact}; {how}"), stacklevel=4)
    others = np.setdiff1d(missing, empty)
    if others.size:
        fact = f"too little was seen to place {listed_rows(others, observations.labels)}"
        advice = "completed as well as may be; see undetermined_rows"
        warnings.warn(CompletionWarning(fact, advice), stacklevel=4)
