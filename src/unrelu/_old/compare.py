"""Methods side by side on the same data: what each reached, and what it cost."""

from __future__ import annotations

import dataclasses
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from math import inf
from operator import attrgetter
from typing import Any

import numpy as np

from unrelu._old.auto.choices import rank_checked, truth_checked
from unrelu._old.auto.named import strategy_of
from unrelu._old.auto.strategy import Once, Strategy
from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import CompletionWarning, InputError, is_integer, is_number, outside, unknown_name
from unrelu._old.complete import complete
from unrelu._old.data import planted as datasets
from unrelu._old.data.labels import Axes
from unrelu._old.data.observations import Observations
from unrelu._old.data.sampling import relu
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.history import Stop
from unrelu._old.loop.stopping import MaxSeconds
from unrelu._old.model.factors import relative_error
from unrelu._old.results.comparison import FAILED, NOT_INSTALLED, REFUSED, Comparison, Row
from unrelu._old.results.completion import Completion
from unrelu._old.results.gaps import is_auto
from unrelu._old.solvers import METHODS, SAMPLERS, Solver
from unrelu._old.solvers.base import STOPPING

__all__ = ["PLANTED", "compare"]

PLANTED = "n,r,sigma: the size, the rank ≤ n and the deviation ≥ 0 of the noise, such as 200,5,0.01"


def compare(
    X: Any = None,
    rank: int | None = None,
    *,
    planted: tuple[int, int, float] | None = None,
    methods: Any = None,
    trials: int = 1,
    truth: Any = None,
    threshold: Any = 0.0,
    seen: str = "above",
    unknown: Any = None,
    stopping: str = "relative",
    budget: float = 60.0,
    rng: Any = 0,
    progress: bool = False,
    callback: Callable[[Row], object] | None = None,
) -> Comparison:
    """Run several methods on the same data, each through :func:`unrelu.complete`, and say what each reached.

    A method that raises, cannot take the data, lacks its extra or exceeds its time is a row that says so. Ctrl-C ends
    the comparison and keeps the rows of the runs that had ended.

    Parameters
    ----------
    X : matrix of shape (n, n), optional
        As for :func:`unrelu.complete`. Either this or ``planted``.
    rank : int, optional
        Default: the planted one; of ``X`` the one that :func:`unrelu.complete` finds without a rank, once for all.
    planted : tuple (n, r, sigma), optional
        A fresh Gaussian matrix of rank r per trial, with independent noise, of which the ReLU shows the non-negative
        entries. The error is then measured against the noisy M, as in the paper, and against M* beside it.
    methods : names, Solver or Strategy objects, functions, optional
        A function takes a problem and returns factors. Default: ``auto``, then every method that has a name of its own.
    trials : int, default 1
        With ``X`` these differ only in the seed of the start.
    truth : matrix of shape (n, n), optional
        For measuring the error of ``X``, never used in solving.
    threshold, seen, unknown
        As for :func:`unrelu.complete`; a threshold ``"auto"`` is found once for all methods.
    stopping : {"relative", "paper"}
        Each method's rule: relative to the data, or the paper's absolute one.
    budget : float, default 60
        Most seconds of one run, looked at after each iteration.
    rng : int, Generator or None, default 0
        Trial k of an integer has the seed ``rng + k``.
    progress : bool, default False
        Show a progress bar on the terminal.
    callback : callable, optional
        Called with each :class:`Row`.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If the input cannot be what was meant.

    Examples
    --------
    >>> from unrelu._old.compare import compare
    >>> found = compare(planted=(40, 2, 0.0), methods=["gauss-newton", "gradient-descent"], trials=2)
    >>> [(line["method"], line["trials"], line["converged"]) for line in found.summary()]
    [('gauss-newton', 2, 2), ('gradient-descent', 2, 2)]
    >>> all(row.error < 1e-6 for row in found.rows)
    True
    """
    if (X is None) == (planted is None):
        raise InputError(f"compare needs either X or planted, got {'neither' if X is None else 'both'}")
    if not is_integer(trials) or trials < 1:
        raise InputError(f"trials must be an integer ≥ 1, got {trials!r}")
    if not is_number(budget) or not budget > 0:
        raise InputError(f"budget must be a number of seconds above 0, got {budget!r}")
    if not isinstance(stopping, str) or stopping not in STOPPING:
        raise unknown_name("stopping", stopping, STOPPING)
    strategies, seeds = _strategies(methods), _seeds(rng, int(trials))
    options = dict(threshold=threshold, seen=seen, unknown=unknown)
    about, instance_of = (
        _given(X, rank, truth, options, seeds[0]) if planted is None else _planted(planted, rank, truth, options)
    )
    about |= dict(trials=int(trials), stopping=stopping, budget=float(budget), methods=list(strategies), seeds=seeds)

    rows: list[Row] = []
    interrupted = False
    with _gathered_warnings(), _bar(len(seeds) * len(strategies)) if progress else nullcontext() as show:
        try:
            for trial, seed in enumerate(seeds):
                instance = instance_of(seed)
                for label, make in strategies.items():
                    if show is not None:
                        show(len(rows), label)
                    run = _Run(label, make, instance, stopping, float(budget), trial, seed)
                    if trial == 0:
                        run.warm_up()
                    rows.append(run.row())
                    in_time = rows[-1].code != Stop.MAX_SECONDS.value and (rows[-1].seconds or inf) < budget / 2
                    if trial == 0 and in_time:
                        rows[-1] = dataclasses.replace(rows[-1], peak_bytes=run.peak())
                    if callback is not None:
                        callback(rows[-1])
        except KeyboardInterrupt:
            interrupted = True
    return Comparison(tuple(rows), about, interrupted)


def _strategies(methods: Any) -> dict[str, Callable[[], Strategy]]:
    """What to run, by the name it goes under; made only when its turn comes, for that may fail."""
    if methods is None:
        methods = ["auto", *METHODS]
    if isinstance(methods, (str, Solver, Strategy)) or not isinstance(methods, Iterable):
        methods = [methods]
    found: dict[str, Callable[[], Strategy]] = {}
    for method in methods:
        if isinstance(method, str):
            if method not in ("auto", *METHODS, *SAMPLERS):
                raise unknown_name("method", method, ["auto", *METHODS, *SAMPLERS])
            found[method] = partial(strategy_of, method)
        else:
            label = _label(strategy_of(method))
            # Two that go by one name, as functions without one do, are both asked.
            others = sum(name == label or name.startswith(f"{label} #") for name in found)
            found[f"{label} #{others + 1}" if others else label] = partial(strategy_of, method)
    if not found:
        raise InputError(f"methods must name at least one of auto, {', '.join(METHODS)}; got none")
    return found


def _label(strategy: Strategy) -> str:
    """The name, with the parameters that are not their defaults."""
    asked: Any = strategy.solver if isinstance(strategy, Once) else strategy
    fields = dataclasses.fields(asked) if dataclasses.is_dataclass(asked) else ()
    fields = tuple(f for f in fields if f.init and f.name != "function")
    own = [f"{f.name}={value!r}" for f in fields if not _same(value := getattr(asked, f.name), _default(f))]
    return f"{strategy.name} ({', '.join(own)})" if own else strategy.name


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default; one that cannot be compared with it, as an array, has not."""
    try:
        return bool(value == default)
    except ValueError:
        return False


def _default(field: Any) -> Any:
    made = field.default_factory is not dataclasses.MISSING
    return field.default_factory() if made else field.default


def _seeds(rng: Any, trials: int) -> list[int]:
    if is_integer(rng) and rng >= 0:
        return [int(rng) + trial for trial in range(trials)]
    if rng is None or isinstance(rng, np.random.Generator):
        return [int(seed) for seed in np.random.default_rng(rng).integers(2**32, size=trials)]
    raise InputError(f"rng must be an integer ≥ 0, a numpy Generator or None, got {rng!r}")


@dataclass(frozen=True, eq=False)
class _Instance:
    """What one trial is about."""

    X: Any
    rank: int
    dtype: np.dtype[Any]
    options: Mapping[str, Any]
    truth: Array | None = None
    clean: Array | None = None


Source = tuple[dict[str, Any], Callable[[int], _Instance]]


def _given(X: Any, rank: Any, truth: Any, options: Mapping[str, Any], seed: int) -> Source:
    """The same matrix for every trial, checked once: what is wrong with it is no method's fault."""
    if is_auto(options["threshold"]):
        options = {**options, "threshold": _completed_once(X, rank, options, seed).threshold}
    observations = Observations.of(X, **options)
    n = observations.size
    truth = None if truth is None else truth_checked(truth, Axes.square(n, observations.labels))
    rank = _found_rank(X, options, seed) if rank is None else rank
    instance = _Instance(X, rank_checked(rank, n), observations.dtype, options, truth)
    return {"size": n, "rank": instance.rank, "sigma": None}, lambda seed: instance


def _found_rank(X: Any, options: Mapping[str, Any], seed: int) -> int:
    """The rank that the data ask for; refused where they ask for none."""
    found = _completed_once(X, None, options, seed)
    if not found.forecasts or found.rehearsal is None:
        return found.rank
    ranks = [trial for trial in found.rehearsal.trials if not trial.shrinkage]
    best = max(ranks, key=attrgetter("gain")).rank if ranks else found.rank
    raise InputError(
        f"no rank of X leaves only noise: {len(found.rehearsal.trials)} models were rehearsed, and "
        f"{found.rehearsal.best} forecasts best; methods can be compared at a rank only, so pass rank={best}, the one "
        "that forecasts best"
    )


def _completed_once(X: Any, rank: Any, options: Mapping[str, Any], seed: int) -> Completion:
    """What is to be found for all methods alike is found by one completion."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)  # the methods say it again
        found = complete(X, rank, rng=seed, **options)
    if found.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def _planted(planted: Any, rank: Any, truth: Any, options: Mapping[str, Any]) -> Source:
    """A fresh matrix for every trial."""
    if truth is not None or options["unknown"] is not None:
        raise InputError("truth and unknown belong to X; a planted matrix brings its own truth, seen through the ReLU")
    if options["seen"] != "above" or not (
        options["threshold"] is None or (is_number(options["threshold"]) and options["threshold"] == 0)
    ):
        raise InputError("a planted matrix is seen through the ReLU: drop seen, and threshold unless that is None")
    try:
        n, r, sigma = planted
        valid = is_integer(n) and is_integer(r) and 1 <= r <= n and is_number(sigma) and sigma >= 0
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise InputError(f"planted must be {PLANTED}; got {planted!r}")
    require_memory(4 * 8 * n * n, f"a planted {n}×{n} matrix")
    rank = rank_checked(r if rank is None else rank, n)

    def instance(seed: int) -> _Instance:
        made = datasets.planted(n, r, sigma=sigma, rng=seed)
        X = relu(made.matrix)
        return _Instance(X, rank, X.dtype, options, made.matrix, made.truth)

    return {"size": int(n), "rank": rank, "sigma": float(sigma), "planted_rank": int(r)}, instance


@dataclass(frozen=True, eq=False)
class _Run:
    """One method on one trial."""

    label: str
    make: Callable[[], Strategy]
    instance: _Instance
    stopping: str
    budget: float
    trial: int
    seed: int

    def warm_up(self) -> None:
        """A few steps on something tiny, so that imports and first calls are not counted."""
        X = relu(datasets.planted(12, 1, rng=0).matrix)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would be about rows that are not the caller's
            _attempt(lambda: complete(X, 1, method=self.make(), max_iter=2, tol=MaxSeconds(1.0), rng=0))

    def row(self) -> Row:
        """Run it, with nothing else going on."""
        about: dict[str, Any] = dict(method=self.label, trial=self.trial, seed=self.seed)
        completion, code, reason = _attempt(self._complete)
        if completion is None:
            return Row(**about, code=code, reason=reason)
        instance = self.instance
        if completion.verdict.converged and completion.history[-1].seconds > self.budget:
            reason += f"; its last iteration went over the budget of {self.budget:g} s"
        if completion.left is not None and not completion.verdict.converged:
            # What a reason says of the objective is of LRᵀ, which such a method lowers.
            reason += f"; its UUᵀ has the objective {completion.objective:.2e}"
        own = completion.factor if completion.left is None else completion.left
        if instance.truth is not None:
            about["error"] = relative_error(own, instance.truth, completion.right)
        if instance.clean is not None:
            about["clean_error"] = relative_error(completion.factor, instance.clean)
        about |= dict(objective=completion.objective, residual=completion.residual, loss=completion.loss)
        about |= dict(cpu_seconds=completion.cpu_seconds, seconds=completion.seconds)
        about |= dict(iterations=completion.history[-1].iteration)
        return Row(**about, code=code, reason=reason)

    def peak(self) -> int | None:
        """Run it again, counting what it allocates."""
        tracing = tracemalloc.is_tracing()
        tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            completion, *_ = _attempt(self._complete)
            return None if completion is None else tracemalloc.get_traced_memory()[1] - before
        finally:
            if not tracing:
                tracemalloc.stop()

    def _complete(self) -> Completion:
        strategy = self.make()
        if self.stopping == "paper":
            strategy = strategy.stopping_as("paper")
        instance = self.instance
        rule = strategy.solver.rule(None, instance.dtype) | MaxSeconds(self.budget)
        return complete(instance.X, instance.rank, method=strategy, tol=rule, rng=self.seed, **instance.options)


def _attempt(solve: Callable[[], Completion]) -> tuple[Completion | None, str, str]:
    """A completion or none, a code and a reason. Only Ctrl-C gets out of here."""
    try:
        completion = solve()
    except ImportError as error:
        return None, NOT_INSTALLED, str(error)
    except InputError as error:
        return None, REFUSED, str(error)
    except Exception as error:
        return None, FAILED, f"{type(error).__name__}: {error}"
    if completion.verdict.code is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return completion, completion.verdict.code.value, completion.verdict.reason


@contextmanager
def _gathered_warnings() -> Iterator[None]:
    """Each warning once, in the end, instead of once per run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
        yield
    for message in {(str(w.message), w.category): w.message for w in caught}.values():
        warnings.warn(message, stacklevel=outside())


@contextmanager
def _bar(runs: int) -> Iterator[Callable[[int, str], None]]:
    """How many runs have ended, and which is under way."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
    console = Console(stderr=True)  # standard output belongs to the result
    # Drawing takes processor time, too: not more often than people look.
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, refresh_per_second=2) as bar:
        task = bar.add_task("", total=runs)
        yield lambda done, method: bar.update(task, completed=done, description=method)
