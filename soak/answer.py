"""The package's answer to an instance as plain arrays; a stage that fails does not hide the others."""

import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soak.instance import DISTANCES, TABLES, Bools, Floats, Instance
from soak.kinds_tables import symmetric

# Missing entries whose bounds are computed: each may cost a few linear programs.
BOUNDED = 24
# Degrees of freedom where the noise level is passed and not estimated.
MANY = 1_000_000


@dataclass
class Answer:
    """Everything that is checked.

    Attributes
    ----------
    code, reason : str
        The verdict.
    converged : bool
    seconds : float
        Processor time.
    values, filled : ndarray of shape (n, n)
        The fit, and the same with observed entries as given.
    determined : boolean ndarray of shape (n,)
    levels : ndarray of str, shape (n,)
        ``proved``, ``generic``, ``local`` or ``no`` per row.
    components : int ndarray of shape (n,)
    entry_levels : ndarray of str, shape (n, n)
    bounds : tuple of rows, cols, low, high
    errors, low, high : ndarray of shape (n, n)
        Standard errors and 95 % intervals; for distances (n, dim) standard errors of the points only.
    points : ndarray of shape (n, dim)
        For distances.
    freedom : int
        Degrees of freedom of the noise.
    cautious : bool
        Whether the answer warns that its standard errors are too small.
    unique : bool
        Whether ``certify`` proves the whole matrix.
    certified, certified_components : ndarray of shape (n,)
        The certificate's level per row, and its components.
    failures : dict
        The first exception and the first warning, each with a description.
    """

    code: str = "none"
    reason: str = ""
    converged: bool = False
    seconds: float = 0.0
    values: Floats | None = None
    filled: Floats | None = None
    determined: Bools | None = None
    levels: NDArray[np.str_] | None = None
    components: NDArray[np.int64] | None = None
    entry_levels: NDArray[np.str_] | None = None
    bounds: tuple[Any, ...] | None = None
    errors: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    points: Floats | None = None
    freedom: int = 0
    cautious: bool = False
    unique: bool = False
    certified: NDArray[np.str_] | None = None
    certified_components: NDArray[np.int64] | None = None
    failures: dict[str, str] = field(default_factory=dict)


def solve(instance: Instance, *, everything: bool = True) -> Answer:
    """Solve an instance by public calls; ``everything=False`` leaves out bounds and certificates."""
    answer = Answer()
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (_solve_distances if instance.group == DISTANCES else _solve_matrix)(instance, answer, everything)
    for warning in caught:
        # The package's own are meant for the caller.
        if warning.category.__name__ != "CompletionWarning":
            where = f"{warning.filename.rpartition('/')[2]}:{warning.lineno}"
            answer.failures.setdefault("warning", f"{warning.category.__name__}: {warning.message} ({where})")
    answer.seconds = time.process_time() - started
    return answer


def _completed(answer: Answer, stage: Callable[..., None], *arguments: Any) -> bool:
    """Run a stage and return whether it raised nothing."""
    try:
        stage(answer, *arguments)
    except Exception as error:  # any exception is a finding
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{stage.__name__.strip('_')}: {type(error).__name__}: {error}"
        answer.failures.setdefault("exception", f"{where} ({frame.filename.rpartition('/')[2]}:{frame.lineno})")
        return False
    return True


def _solve_matrix(instance: Any, answer: Answer, everything: bool) -> None:
    """Complete a symmetric matrix, or a table as part of the symmetric matrix [[·, M], [Mᵀ, ·]]."""
    import unrelu

    table = instance.group == TABLES
    cut = instance.cut if table else 0
    whole: Any = symmetric if table else lambda part, elsewhere: np.asarray(part)
    rows, cols = np.arange(cut or instance.size)[:, None], np.arange(instance.size - cut)
    fit: Any = None

    def complete(answer: Answer) -> None:
        nonlocal fit
        function = unrelu.complete_rectangular if table else unrelu.complete
        fit = function(instance.data, rng=0, **instance.arguments())
        answer.code, answer.reason = str(fit.verdict.code), fit.verdict.reason
        answer.converged = bool(fit.verdict.converged)
        answer.values = np.asarray(whole(fit.matrix(), 0.0), float)
        answer.filled = np.asarray(whole(fit.filled(), 0.0), float)

    def determinacy(answer: Answer) -> None:
        levels = [fit.determinacy, fit.column_determinacy] if table else [fit.determinacy]
        answer.determined = np.concatenate([fit.determined, fit.columns_determined] if table else [fit.determined])
        answer.levels = np.concatenate(levels)
        answer.components = np.asarray((fit.table_determinacy if table else fit).components)
        answer.entry_levels = whole(fit.entry_determinacy(rows, cols), "no")

    def standard_errors(answer: Answer) -> None:
        answer.errors = whole(np.asarray(fit.standard_errors(rows, cols), float), np.inf)
        answer.cautious = getattr(fit.error_bars(), "caution", None) is not None
        low, high = (np.asarray(end, float) for end in fit.interval(rows, cols))
        answer.low, answer.high = whole(low, -np.inf), whole(high, np.inf)
        answer.freedom = int(fit.noise.degrees_of_freedom)

    def bounds(answer: Answer) -> None:
        missing = np.argwhere(~instance.seen[: cut or None, cut:])
        i, j = np.random.default_rng([instance.size, 1]).permutation(missing)[:BOUNDED].T
        answer.bounds = i, cut + j, *(np.asarray(end, float) for end in fit.bounds(i, j))

    def certify(answer: Answer) -> None:
        if getattr(fit, "signs", None) is not None:  # no certificates of indefinite matrices
            return
        certificate = (unrelu.certify_rectangular if table else unrelu.certify)(fit)
        certificate.explain()
        answer.unique = bool(certificate.unique)
        answer.certified = np.asarray(certificate.determinacy.level)
        answer.certified_components = np.asarray(certificate.determinacy.components)

    if _completed(answer, complete) and _completed(answer, determinacy):
        for stage in (standard_errors, bounds, certify):
            if everything or (instance.noise and stage is standard_errors):
                _completed(answer, stage)


def _solve_distances(instance: Instance, answer: Answer, everything: bool) -> None:
    import unrelu

    fit: Any = None

    def complete_distances(answer: Answer) -> None:
        nonlocal fit
        fit = unrelu.complete_distances(instance.data, rng=0, **instance.arguments())
        answer.code, answer.reason = str(fit.verdict.code), fit.verdict.reason
        answer.converged = bool(fit.verdict.converged)
        answer.points = np.asarray(fit.points, float)
        answer.values = np.asarray(fit.distances(), float)
        answer.filled = np.where(instance.seen, instance.values(), answer.values)
        answer.components = np.asarray(fit.components)
        answer.determined = np.asarray(fit.determined, bool)
        answer.levels = np.asarray(fit.determinacy)
        estimated = len(fit.pairs) - answer.points.size + fit.dim * (fit.dim + 1) // 2
        answer.freedom = estimated if instance.options.get("sigma") is None else MANY

    def standard_errors(answer: Answer) -> None:
        answer.errors = np.asarray(fit.standard_errors, float)

    def explain(answer: Answer) -> None:
        fit.explain()

    if _completed(answer, complete_distances):
        _completed(answer, standard_errors)
        _completed(answer, explain)
