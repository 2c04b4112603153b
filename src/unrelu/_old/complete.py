"""The front door: names become objects here, and nothing unchecked gets past."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from unrelu._old.auto.choices import (
    choose,
    diagonal_named,
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
from unrelu._old.auto.indefinite import indefinite_strategy
from unrelu._old.auto.named import strategy_of
from unrelu._old.auto.path import Search, Searched
from unrelu._old.auto.solving import cut_short
from unrelu._old.auto.strategy import Once, Strategy
from unrelu._old.auto.task import Attempts, Journal, Over, Task
from unrelu._old.base.budget import OutOfTime, budget
from unrelu._old.base.errors import InputError
from unrelu._old.base.generators import generator_of
from unrelu._old.data.labels import Axes
from unrelu._old.data.limits import Limits
from unrelu._old.data.observations import Observations
from unrelu._old.data.terms import Terms, kept_terms
from unrelu._old.kernels.memory import require_memory
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.loop.history import Record
from unrelu._old.loop.progress import Bar
from unrelu._old.loop.stopping import StoppingRule
from unrelu._old.model.losses import LOSSES, Loss
from unrelu._old.results.completion import Completion
from unrelu._old.results.doubting import Doubting
from unrelu._old.results.gaps import finding_gaps
from unrelu._old.results.made import completion_of_search, looked_at, warn_of_rows
from unrelu._old.scale.devices import where_the_data_are
from unrelu._old.scale.door import by_blocks_if_large
from unrelu._old.solvers import Solver
from unrelu._old.starts import Given
from unrelu._old.uncertainty.noise import pairs_checked

__all__ = ["as_callable", "chosen_loss", "complete", "found_by"]


@where_the_data_are()
@finding_gaps(Observations.of)
@by_blocks_if_large()
@owning_the_cores()
def complete(
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
    pairs: str = "auto",
    rng: Any = None,
    callback: Callable[[Record], object] | None = None,
    progress: bool = False,
    kernel: Any = "auto",
    problem: Any = "psd",
    structure: str = "psd",
    diagonal: str = "auto",
    rehearse: bool = False,
    peak_memory: Any = None,
    checkpoint: Any = None,
    device: Any = None,
) -> Completion:
    """Complete a symmetric positive semidefinite matrix from the entries beyond a threshold.

    Finds U of shape (n, rank) that minimises F(U) = ¼‖(UUᵀ − M)_Ω‖_F² (Problem (MC) of the paper), by default with
    what absence says: unseen entries on the wrong side of the threshold are penalised as well.

    Parameters
    ----------
    X : array, masked array, data frame or sparse matrix of shape (n, n)
        NaN where nothing was seen; for a masked array what is masked, for a sparse matrix everything that is not stored
        (stored zeros are seen). A data frame carries the same labels in index and columns. Neither pattern nor values
        need be symmetric. float32 stays float32. Never modified; :meth:`Completion.filled` reads it again.
    rank : int, optional
        Rank of the completed matrix, 1…n. Default: as low as the data ask for. If a rank fits the seen entries to
        rounding, or to their noise, that is it; else models are rehearsed with a raised threshold, the one that
        forecasts best is fitted, and :attr:`Completion.rehearsal` says how well it forecasts.
    threshold : float, array, pair, Limits or None, default 0.0
        Every seen entry is on the side ``seen`` of it, or equal to it; every unseen one strictly on the other side.
        One number, one per row (shape (n, 1)), one per column ((1, n)) or one per entry, infinite where there is none.
        A pair (low, high) of these for ``between`` and ``outside``. :class:`Limits` mix all kinds. None: absence says
        nothing. ``"auto"``: one number, found from the data, with its interval in :attr:`Completion.detection`.
    seen : {"above", "below", "between", "outside"}, default "above"
        Where entries are seen: above the threshold, below it, between the two of a pair, or outside of them.
    unknown : boolean array of shape (n, n), optional
        Entries that are missing for another reason. A diagonal entry that is unseen although a positive semidefinite
        matrix cannot have it on the unseen side counts as unknown by itself.
    gaps : {"censored", "mixed", "curve", "random", "auto"}, default "censored"
        Why entries are missing: ``censored``, because they lie beyond the threshold; ``random``, by chance; ``mixed``,
        some for either reason; ``curve``, because the chance to be seen rises with the value, around a level that is
        found, with its width (``threshold`` is not used then). ``auto``: whichever is likeliest; the verdict says
        which. All but ``censored`` are found together with the matrix, see :attr:`Completion.detection`.
    entry_range : (least, most), optional
        Between which numbers every entry lies, unknown ones too: (0, 1) for shares, say. One may be infinite.
    weights : array of shape (n, 1), (1, n) or (n, n), optional
        What the cost of each entry is multiplied by, above 0; only their ratios matter.
    sigma : float or array, optional
        The standard deviation of the noise: of all entries, or one per row, column or entry. It makes the loss
        ``censored``; default: estimated.
    loss : {"auto", "observed", "one-sided", "censored", "huber"} or Loss
        ``auto``: the method's own; with method ``auto`` by likelihood (``censored``) if there is noise that decides
        what is seen, else with what absence says (``one-sided``). ``huber``: a few per cent of the entries may be
        wrong, also by lying on the wrong side; they are found, left out and named, see :attr:`Completion.distrusted`.
    method : str, Solver, Strategy or callable, default "auto"
        ``auto``, ``gauss-newton``, ``direct``, ``gradient-descent``, ``scaled-gd``, ``pam``, ``momentum-pam``,
        ``gnmr``, ``admm`` or ``sdp``: the names in :data:`unrelu._old.solvers.METHODS`. With ``auto`` and start ``auto`` one
        start after the other is tried; with a start that you name ``auto`` is ``gauss-newton``. ``gibbs`` samples the
        posterior of the censored model: :attr:`Completion.posterior`. ``landmarks`` solves a block and attaches all
        other rows to it, for matrices of any size; ``auto`` begins with it from 4000 rows on.
    start : str, Start, array of shape (n, rank) or Completion, default "auto"
        ``auto``, ``clique``, ``tailored``, ``random-imputation``, ``random-spectral``, ``spectral``, ``gaussian``,
        ``random-fill``, ``rank-increasing`` or ``shrinking``: the names in :data:`unrelu._old.starts.STARTS`. With a
        method that you name ``auto`` is its own start; ``direct`` and ``sdp`` take none. An earlier completion goes on
        from where it ended, when more entries have arrived.
    tol : float or StoppingRule, optional
        Stop when ‖∇F(U)‖_F ≤ tol · ‖M_Ω‖_F^{3/2}, so that scaling the data scales the answer and changes nothing else.
        Default: the method's own (gauss-newton: 1e-15, for float32 2e-7). Or any rule of :mod:`unrelu._old.loop.stopping`,
        such as the paper's absolute one, ``GradientNormBelow(1e-6)``. For ``gibbs``: R̂ of entries is at most 1 + tol.
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
        Called with each :class:`~unrelu._old.loop.history.Record`; returning True stops.
    progress : bool, default False
        Show a progress bar on the terminal.
    kernel : callable, optional
        What makes the engine of all passes over the matrix from observations and loss, see
        :class:`unrelu._old.kernels.Kernel`. ``auto``: the quickest that there is for them.
    problem : callable, optional
        What makes the problem from observations, rank, loss and kernel, see :mod:`unrelu._old.problems`. ``psd``: symmetric
        positive semidefinite completion, the only one of which ``auto`` knows more than its value.
    structure : {"psd", "indefinite"}, default "psd"
        ``indefinite``: M = U D Uᵀ with D = diag(±1), for similarities that are not positive semidefinite; how many
        columns have which sign is found from the data (:attr:`Completion.signs`).

    diagonal : {"auto", "data", "limit", "unknown"}, default "auto"
        What the diagonal is: entries like the others; an upper limit of ‖u_i‖², as in factor analysis, for correlations
        and kernels, whose diagonal also holds what an item shares with no other; or nothing. ``auto``: data, or a limit
        if the rehearsal says that it forecasts better so. With ``limit`` and ``unknown`` the answer is rehearsed.
    rehearse : bool, default False
        Whether a completion whose rank is named is rehearsed too; without a rank it always is, unless it is exact.
    peak_memory : int or str, optional
        Bytes, or a text such as ``"800MB"``, that a matrix read in blocks may take at most.
    checkpoint : path, optional
        A file in which a long run keeps what it has found: called again, it goes on from there to the same answer.
    device : {"cpu", "cuda"}, torch.device or None
        Where passes run (``pip install 'unrelu[torch]'``). None: where the matrix is: a tensor of PyTorch's on its
        device, anything else in memory by NumPy. ``cuda`` moves it there, by blocks if it does not fit. Tensors
        give tensors: :class:`unrelu._old.results.tensors.TensorCompletion`.

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
    doubting = Doubting(X, terms, loss)
    definite = structure_checked(structure) == "psd"
    observations = replace(Observations.of(X, terms, doubting.impossible), definite=definite)
    n, strategy = observations.size, strategy_of(method, _given(start))
    rank, rng = _rank_asked(rank, n, strategy, structure, problem), generator_of(rng)
    stopping = strategy.limited(stopping_of(tol, max_iter, strategy.solver, observations.dtype))
    if strategy.name == "auto" and isinstance(problem, str):
        observations, loss = doubting.trusted(observations, loss, rank, rng, stopping.time_limit)
    loss_chosen, either = chosen_loss(loss, strategy, observations)
    truth = None if truth is None else truth_checked(truth, Axes.square(n, observations.labels))
    pairs, callback = pairs_checked(pairs), as_callable(callback)
    strategy, diagonal = _diagonal_asked(diagonal, strategy, pairs)
    posed = problem_of(problem, structure)(observations, rank or 1, loss_chosen, kernel_of(kernel))
    posed, strategy = _suited(without_noise(problem_checked(posed, strategy.solver), either), strategy)
    require_memory(observations.source.elsewhere or 2 * n * n * observations.dtype.itemsize, f"a {n}×{n} matrix")
    with Bar(posed, stopping) if progress else nullcontext() as bar:
        told = callback if bar is None else bar.also(callback)
        task = Task(posed, strategy.solver, stopping, rng, truth, told, either=either)
        phases = getattr(callback if bar is None else bar, "phase", None)
        with budget(doubting.left(stopping.time_limit), phases) as clock:
            answer = _answer(strategy, task, rank, diagonal, rehearse)
    about = dict(method=strategy.method, source=X, pairs=pairs, entries_read=n * n) | clock.times
    completion = completion_of_search(answer, observations, stopping.time_limit)
    completion = replace(completion, **about, **kept_terms(observations.said or terms))
    completion = looked_at(doubting.told(completion, observations), stopping.time_limit, phases)
    warn_of_rows(observations, completion.undetermined_rows)
    return completion


def _answer(strategy: Strategy, task: Task, rank: int | None, diagonal: str, rehearse: bool) -> Searched:
    """What is found at the rank that is named, or at one that is looked for."""
    # Where only zeros were seen there is nothing to search.
    strategy = strategy if task.problem.norm > 0 or strategy.samples else Once(strategy.solver)

    def started(rank: int) -> Task:
        return replace(task, problem=task.problem.at_rank(rank), journal=Journal())

    def at_rank(rank: int) -> tuple[Task, Attempts]:
        inner = task if rank == task.problem.rank else started(rank)
        return inner, found_by(strategy, inner)

    search = Search(task.problem.observations, at_rank, started, task.rng, diagonal)
    return search.found() if rank is None else search.given(rank, rehearse=rehearse)


def _rank_asked(rank: Any, size: int, strategy: Strategy, structure: str, problem: Any) -> int | None:
    """The rank that is named; None is refused where nobody knows how to look for one."""
    if rank is not None:
        return rank_checked(rank, size)
    asked = {"method='auto' and no start": strategy.name == "auto"}
    asked |= {"structure='psd'": structure == "psd", "problem='psd'": isinstance(problem, str)}
    for what, there in asked.items():
        if not there:
            raise InputError(f"rank must be named unless {what} is asked for, got rank=None; pass rank=")
    return None


def _diagonal_asked(diagonal: Any, strategy: Strategy, pairs: str) -> tuple[Strategy, str]:
    """One of the four words; those that need a rehearsal only where one may be held. A sampler is told instead."""
    diagonal = diagonal_named(diagonal)
    if diagonal in ("limit", "unknown") and not (strategy.name == "auto" or strategy.samples):
        raise InputError(
            f"diagonal={diagonal!r} is for method='gibbs', and for method='auto' without a start; drop method= and "
            "start="
        )
    return strategy.told(diagonal, pairs), "data" if strategy.samples else diagonal


def without_noise(posed: Any, either: bool) -> Any:
    """The problem, in squares if one may choose and only zeros were seen: nothing shows any noise then."""
    return posed.simpler if either and posed.norm == 0 and posed.simpler is not None else posed


def _suited(posed: Any, strategy: Strategy) -> tuple[Any, Strategy]:
    """A problem with the strategy, or with what does the same for one that is not positive semidefinite."""
    if getattr(posed, "signs", None) is not None and not strategy.samples:
        return posed, indefinite_strategy(strategy)
    if strategy.samples and not posed.psd:
        raise InputError(
            f"method {strategy.name!r} samples positive semidefinite matrices; drop structure= and problem="
        )
    return posed, strategy if posed.psd or not strategy.psd_only else Once(strategy.solver)


def as_callable(callback: Any) -> Callable[[Record], object] | None:
    """The same, or an error."""
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable, got {type(callback).__name__}")
    return callback


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


def _given(start: Any) -> Any:
    """A factor or an earlier completion as a start; a name or a start stays what it is."""
    if isinstance(start, Completion):
        what, name = "the completion given as start", "an earlier completion"
        return Given(start.factor, start.left, start.right, what, name=name, signs=start.signs)
    if isinstance(start, (np.ndarray, list)) or hasattr(start, "to_numpy"):
        return Given(start)
    return start
