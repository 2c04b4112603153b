"""What a caller names becomes an object, or one sentence that says what was expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError, is_integer, is_number, unknown_name
from unrelu._old.data.inputs import same_axes
from unrelu._old.data.labels import MOST_NAMED, Axes
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import Kernel, kernel_for
from unrelu._old.loop.stopping import MaxIterations, StoppingRule
from unrelu._old.model.losses import Censored, Huber, Loss
from unrelu._old.problems.indefinite import IndefiniteProblem
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import Solver

__all__ = [
    "DEFAULT_METHOD",
    "STRUCTURES",
    "choose",
    "kernel_of",
    "loss_of_noise",
    "problem_of",
    "rank_checked",
    "require_weighing",
    "stopping_of",
    "structure_checked",
    "truth_checked",
]

Named = TypeVar("Named")

DEFAULT_METHOD = "gauss-newton"
# Losses that may be told how large the noise is.
KNOWING_NOISE: dict[str, type[Censored | Huber]] = {"auto": Censored, "censored": Censored, "huber": Huber}


def rank_checked(rank: Any, n: int) -> int:
    """The rank, if it is an integer between 1 and n."""
    if not is_integer(rank):
        raise InputError(f"rank must be an integer between 1 and {n}, the size of the matrix; got {rank!r}")
    if not 1 <= rank <= n:
        raise InputError(f"rank must be between 1 and {n}, the size of the matrix; got {rank}")
    return int(rank)


def loss_of_noise(loss: Any, sigma: Any) -> tuple[Any, Any]:
    """The loss where the noise was given, and how large that of each entry is relative to a typical one.

    Examples
    --------
    >>> loss_of_noise("auto", 0.5)[0].sigma
    0.5
    >>> loss, spread = loss_of_noise("censored", [[3.0, 4.0]])
    >>> round(loss.sigma, 4), spread.round(4).tolist()
    (3.5355, [[0.8485, 1.1314]])
    """
    if sigma is None:
        return loss, None
    if not (isinstance(loss, str) and loss in KNOWING_NOISE):
        raise InputError(
            f"sigma is the noise of loss='censored', got loss={loss!r} besides; drop one of them, or write "
            "loss=Censored(sigma)"
        )
    likely = KNOWING_NOISE[loss]
    try:
        values = np.asarray(sigma, np.float64)
    except (TypeError, ValueError):
        values = np.zeros(1)
    if not (np.isfinite(values).all() and (values > 0).all() and values.size):
        came = f"{sigma!r}" if np.ndim(sigma) == 0 else _first_bad(sigma, values)
        raise InputError(f"sigma must be finite numbers above 0, or None to estimate the noise; got {came}")
    if values.ndim == 0:
        return likely(sigma=float(values)), None
    typical = float(np.sqrt(np.mean(values**2)))
    return likely(sigma=typical), sigma / typical if hasattr(sigma, "to_numpy") else values / typical


def _first_bad(sigma: Any, values: Floats) -> str:
    """The first number that is no noise level, and where it is: by the label of a series, else by its position."""
    bad = np.argwhere(~(np.isfinite(values) & (values > 0)))
    if not len(bad):
        return "none"
    place = tuple(int(index) for index in bad[0])
    alone = place[0] if len(place) == 1 else place
    labelled = len(place) == 1 and hasattr(sigma, "index") and not callable(sigma.index)
    return f"{values[place]:g} at {sigma.index[alone] if labelled else alone}"


def require_weighing(solver: Solver[Any], observations: Observations) -> None:
    """Refuse weights, and noise that differs, for a method that knows of neither."""
    if observations.plain or solver.weighs:
        return
    what = "weights" if observations.weights is not None else "a sigma for each entry"
    raise InputError(
        f"{what} can be used by gauss-newton and gradient-descent, not by method {solver.name!r}; choose one of them, "
        "or method='auto'"
    )


def choose(
    what: str, value: Any, table: Mapping[str, type[Named]], kind: type[Named], default: str, others: str = ""
) -> Named:
    """The object that a name, or a configured object, stands for; ``others`` says what else could have been given."""
    if isinstance(value, kind):
        return value
    accepted = [*(["auto"] if default or what != "method" else []), *table]
    if isinstance(value, str):
        name = default if value == "auto" and default else value
        if name not in table:
            raise unknown_name(what, value, accepted)
        return table[name]()
    if isinstance(value, type) and issubclass(value, kind):
        raise InputError(f"{what} must be a name or a configured object; write {value.__name__}() instead of the class")
    raise InputError(
        f"{what} must be one of {', '.join(accepted)}{others}, or a {kind.__name__}; got {type(value).__name__}"
    )


def kernel_of(kernel: Any) -> Callable[[Observations, Loss], Kernel]:
    """What makes a kernel: the caller's own, or the quickest that there is."""
    if isinstance(kernel, str) and kernel == "auto":
        return kernel_for
    if not callable(kernel):
        raise InputError(
            "kernel must be 'auto', or a class or function that makes a kernel from observations and loss; "
            f"got {kernel!r}"
        )
    return kernel


STRUCTURES = {"psd": PSDProblem, "indefinite": IndefiniteProblem}


def structure_checked(structure: Any) -> str:
    """One of the names of :data:`STRUCTURES`."""
    if not isinstance(structure, str) or structure not in STRUCTURES:
        raise unknown_name("structure", structure, list(STRUCTURES))
    return structure


def diagonal_named(diagonal: Any) -> str:
    """What the diagonal is to models that are rehearsed, if it is one of the four words."""
    uses = ("auto", "data", "limit", "unknown")
    if not isinstance(diagonal, str) or diagonal not in uses:
        raise unknown_name("diagonal", diagonal, uses)
    return diagonal


def problem_of(problem: Any, structure: str = "psd") -> Callable[..., Any]:
    """What makes the problem: the caller's own, or symmetric completion with the structure that is named."""
    if isinstance(problem, str) and problem == "psd":
        return STRUCTURES[structure]
    if structure != "psd":
        raise InputError(f"structure={structure!r} is a problem itself; drop structure=, or problem=")
    if not callable(problem):
        raise InputError(
            "problem must be 'psd', or a class or function that makes a problem from observations, rank, loss and "
            f"kernel; got {problem!r}"
        )
    return problem


# What the front door asks of a problem, beside what the loop asks.
ASKED = (
    "psd",
    "observations",
    "loss",
    "begun",
    "evaluate",
    "misfit",
    "relative",
    "unit",
    "scale",
    "norm",
    "size",
    "rank",
)


def problem_checked(posed: Any, solver: Solver[Any]) -> Any:
    """A problem of the caller's own, if it has what it is asked for."""
    who = type(posed).__name__
    for asker, asked in (("the front door", ASKED), (f"method {solver.name!r}", solver.needs)):
        missing = [name for name in asked if not (hasattr(type(posed), name) or name in getattr(posed, "__dict__", ()))]
        if missing:
            raise InputError(
                f"{asker} asks a problem for {', '.join(asked)}, and {who} has no {', '.join(missing)}; "
                f"{'add them' if asker == 'the front door' else 'choose another method, or add them'}"
            )
    return posed


def stopping_of(tol: Any, max_iter: Any, solver: Solver[Any], dtype: np.dtype[Any]) -> StoppingRule:
    """When to stop: a relative tolerance or a rule, and the most iterations."""
    limit = MaxIterations(solver.max_iter if max_iter is None else max_iter)
    if isinstance(tol, StoppingRule):
        return tol | limit
    if tol is not None and not (is_number(tol) and tol >= 0):
        raise InputError(f"tol must be a number ≥ 0, or a stopping rule such as GradientNormBelow(1e-6); got {tol!r}")
    return solver.rule(tol, dtype) | limit


def truth_checked(truth: Any, axes: Axes) -> Array:
    """The truth of a matrix with these axes as an array, if it is one and complete.

    Examples
    --------
    >>> truth_checked([[1.0, 2.0]], Axes((1, 2)))
    array([[1., 2.]])
    """
    same_axes(truth, axes, "truth")
    try:
        values = truth.toarray() if sp.issparse(truth) else np.asarray(truth)
    except ValueError:
        raise InputError("truth must be a matrix of numbers, got rows of different lengths") from None
    if values.dtype.kind not in "fiu":
        raise InputError(f"truth must hold real numbers, got dtype {values.dtype}")
    if values.shape != axes.shape:
        raise InputError(f"truth must have the shape of X, {axes.shape}, got {values.shape}")
    gaps = ~np.isfinite(values) | np.ma.getmaskarray(truth) if np.ma.is_masked(truth) else ~np.isfinite(values)
    if gaps.any():
        first = np.argwhere(gaps)[:MOST_NAMED].tolist()
        raise InputError(f"truth must be complete and finite, got gaps at {axes.placed(first, int(gaps.sum()))}")
    return values
