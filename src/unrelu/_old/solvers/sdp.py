"""The semidefinite program without a rank, through the conic solver SCS: small matrices, no local minima."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError, is_integer, is_number, unknown_name
from unrelu._old.base.tolerances import SDP_INFEASIBLE
from unrelu._old.kernels.pairs import pair_block
from unrelu._old.loop.stopping import DetailBelow, StoppingRule
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import PointIterate, Solver

__all__ = ["OBJECTIVES", "SDP"]

OBJECTIVES = ("trace", "none")
# Status codes of SCS.
SOLVED, INFEASIBLE, INFEASIBLE_INACCURATE, INTERRUPTED = 1, -2, -7, -5


@dataclass(frozen=True)
class SDP(Solver[PointIterate]):
    """Find X ⪰ 0 with X_ij = m_ij where seen and X_ij ≤ τ where absent, of least trace, by one call of SCS.

    The rank enters only at the end: the result is the part of X of rank r nearest to it, and ``rank_gap`` records the
    relative distance ‖X − X_r‖_F / ‖X‖_F. A pair seen twice counts with its mean, a pair seen one way round as seen.
    Where absence says that entries lie above τ, X_ij ≥ τ; under loss "observed" absence is not used.

    With noise no such X need exist. Unless ``slack`` is given, what is solved if SCS finds none is the least-squares
    program

        min ½‖(X − M)_Ω‖_F²   over X ⪰ 0 with X_ij ≤ τ where absent,

    and ``least_squares`` records 1.

    Parameters
    ----------
    objective : {"trace", "none"}
        What to minimise among the feasible X. With "none" SCS stops at any of them, and is slower and less accurate.
    slack : float, optional
        ‖(X − M)_Ω‖_F ≤ slack instead of equality, in the units of the data; 0: equality or nothing. Default: equality
        if SCS can solve that, else least squares.
    eps : float, default 1e-7
        Relative and absolute accuracy that SCS is asked for.
    max_inner : int, default 3000
        Most iterations of SCS, per program.
    time_limit : float, optional
        Most seconds of SCS, per program.
    max_size : int, default 400
        A larger matrix is refused: each iteration of SCS decomposes an n×n matrix, and it takes hundreds.
    stopping : {"relative", "paper"}
        Both: converged when SCS's primal and dual residuals and its gap, relative as SCS measures them, are at most
        ``eps`` (or ``tol``, if given). The program is not among those the paper runs.

    Notes
    -----
    Takes no start, and one step is all there is. Needs the extra ``unrelu[sdp]``.

    References
    ----------
    Semidefinite completion by least trace: M. Fazel, "Matrix rank minimization with applications" (2002). SCS:
    B. O'Donoghue, "Operator splitting for a homogeneous embedding of the linear complementarity problem", SIAM J.
    Optim. 31 (2021).
    """

    objective: str = "trace"
    slack: float | None = None
    eps: float = 1e-7
    max_inner: int = 3000
    time_limit: float | None = None
    max_size: int = 400
    stopping: str = "relative"

    name = "sdp"
    not_for_tables = "it looks for a positive semidefinite matrix, which a table is not"
    weighs = False
    convex = True
    default_start = None
    takes_start = False
    max_iter = 2
    units: ClassVar = {"trace": 1.0}

    def check(self) -> None:
        """Positive sizes and limits, a slack that is not negative."""
        if self.objective not in OBJECTIVES:
            raise unknown_name("objective of sdp", self.objective, OBJECTIVES)
        self.need(self.slack is None or (is_number(self.slack) and self.slack >= 0), "slack", "a finite number ≥ 0")
        self.need(is_number(self.eps) and 0 < self.eps < 1, "eps", "a number > 0 and < 1")
        self.need(is_integer(self.max_inner) and self.max_inner >= 1, "max_inner", "an integer ≥ 1")
        positive = self.time_limit is None or (is_number(self.time_limit) and self.time_limit > 0)
        self.need(positive, "time_limit", "a finite positive number")
        self.need(is_integer(self.max_size) and self.max_size >= 1, "max_size", "an integer ≥ 1")

    def rule(self, tol: float | None, dtype: np.dtype[Any]) -> StoppingRule:
        """SCS has solved the program as accurately as it was asked to."""
        return self.relative_rule(self.eps if tol is None else tol)

    def relative_rule(self, tol: float) -> StoppingRule:
        """The largest of SCS's relative residuals and gap at most ``tol``."""
        return DetailBelow("accuracy", tol)

    def paper_rule(self) -> StoppingRule:
        """The same at ``eps``."""
        return self.relative_rule(self.eps)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> PointIterate:
        """Zero; and refuse what is too large, or cannot be solved here."""
        if problem.size > self.max_size:
            raise InputError(
                f"method 'sdp' takes matrices of at most max_size={self.max_size} rows, got {problem.size}; "
                "choose another method, or raise max_size of SDP and be patient"
            )
        _scs()
        return PointIterate(problem.evaluate(np.zeros((problem.size, problem.rank), problem.dtype)))

    def step(self, problem: PSDProblem, state: PointIterate) -> PointIterate:
        """Solve the program, and take the part of rank r."""
        program = _Program(problem)
        slack = None if self.slack is None else self.slack / problem.unit
        weight = 1.0 if self.objective == "trace" else 0.0
        solution = self._solve(program.within(weight, slack) if slack else program.exact(weight))
        inner, least_squares = solution.inner, False
        if self.slack is None and not solution.solved and not solution.late:
            other = self._solve(program.least_squares())
            inner += other.inner
            least_squares = solution.infeasible or other.solved
            solution = other if least_squares else solution
        if solution.infeasible or not np.isfinite(solution.x).all():
            return PointIterate(state.point, {"inner": float(inner)}, solution.words("; leave slack out, or raise it"))
        factor, trace, gap = program.factor(solution.x, problem.rank)
        whole, _, _ = program.factor(solution.x, problem.size)
        details = {
            "inner": float(inner),
            "primal_residual": solution.primal,
            "dual_residual": solution.dual,
            "accuracy": solution.accuracy,
            "trace": trace,
            "rank_gap": gap,
            "least_squares": float(least_squares),
            "uncut": problem.at_rank(problem.size).evaluate(whole.astype(problem.dtype)).value,
        }
        advice = "lower eps to go further" if solution.solved else "raise max_inner or time_limit, or eps"
        words = solution.words(f", with accuracy {solution.accuracy:.2g}; {advice}")
        return PointIterate(problem.evaluate(factor.astype(problem.dtype)), details, words)

    def _solve(self, program: tuple[dict[str, Any], dict[str, Any]]) -> _Solution:
        data, cone = program
        settings: dict[str, Any] = {
            "eps_abs": self.eps,
            "eps_rel": self.eps,
            "eps_infeas": SDP_INFEASIBLE,
            "max_iters": int(self.max_inner),
            "time_limit_secs": float(self.time_limit or 0.0),
            "verbose": False,
        }
        answer = _scs().SCS(data, cone, **settings).solve()
        if answer["info"]["status_val"] == INTERRUPTED:  # SCS catches Ctrl-C itself
            raise KeyboardInterrupt
        return _Solution.of(data, answer)


def _scs() -> Any:
    try:
        return import_module("scs")
    except ImportError:
        raise InputError("method 'sdp' needs the extra: pip install 'unrelu[sdp]'") from None


@dataclass(frozen=True, eq=False)
class _Solution:
    """What SCS answered; residuals and gap relative to the size of their terms, plus one, as in its own test."""

    x: Floats
    status: str
    code: int
    inner: int
    primal: float
    dual: float
    gap: float

    @classmethod
    def of(cls, data: dict[str, Any], answer: dict[str, Any]) -> _Solution:
        info, x, y, s = answer["info"], answer["x"], answer["y"], answer["s"]
        A, b, c, P = data["A"], data["b"], data["c"], data.get("P")
        Px = np.zeros_like(x) if P is None else P @ x
        Ax, Ay = A @ x, A.T @ y
        primal = _largest(Ax + s - b) / (1 + max(map(_largest, (Ax, s, b))))
        dual = _largest(Px + Ay + c) / (1 + max(map(_largest, (Px, Ay, c))))
        terms = float(x @ Px), float(c @ x), float(b @ y)
        gap = abs(sum(terms)) / (1 + max(map(abs, terms)))
        return cls(x, str(info["status"]), int(info["status_val"]), int(info["iter"]), primal, dual, gap)

    @property
    def infeasible(self) -> bool:
        return self.code in (INFEASIBLE, INFEASIBLE_INACCURATE)

    @property
    def solved(self) -> bool:
        return self.code == SOLVED

    @property
    def late(self) -> bool:
        return "time_limit" in self.status

    @property
    def accuracy(self) -> float:
        return max(self.primal, self.dual, self.gap)

    def words(self, advice: str) -> str:
        return f"SCS says {self.status!r} after {self.inner} iterations{advice}"


class _Program:
    """The lower triangle of X as SCS wants it: column by column, entries off the diagonal times √2 (norms agree).

    SCS minimises ½xᵀPx + cᵀx subject to Ax + s = b, with s in a product of cones: zero, nonnegative, second-order and
    semidefinite, in this order.
    """

    def __init__(self, problem: PSDProblem) -> None:
        n = self.n = problem.size
        whole = slice(0, n)
        pairs = pair_block(problem.observations, whole, whole)
        self.cols, self.rows = np.triu_indices(n)
        place = self.rows, self.cols
        self.root = np.where(self.rows == self.cols, 1.0, np.sqrt(2.0))
        self.size = len(self.root)
        seen = pairs.seen[place]
        self.seen = np.flatnonzero(seen)
        self.share = seen[self.seen] / 2.0  # of the two entries of a pair
        self.values = (self.root * pairs.mean[place])[self.seen]
        # Ax ≤ b for the absent ones: x ≤ high, and −x ≤ −low.
        self.sides, self.limits = self._pick(self.seen[:0]), np.zeros(0)
        if problem.bounded:
            everyone = np.arange(n)
            low, high = (end[place] for end in problem.observations.bounds(everyone, everyone, pairs.seen > 0))
            below, above = np.flatnonzero(np.isfinite(high)), np.flatnonzero(np.isfinite(low))
            self.sides = sp.vstack([self._pick(below), -self._pick(above)])
            self.limits = np.concatenate([(self.root * high)[below], -(self.root * low)[above]])

    def exact(self, weight: float) -> tuple[dict[str, Any], dict[str, Any]]:
        """Equality where seen; least ``weight`` · trace."""
        cone = {"z": len(self.seen), "l": len(self.limits)}
        return self._join([(self._pick(self.seen), self.values), (self.sides, self.limits)], cone, self._trace(weight))

    def within(self, weight: float, slack: float) -> tuple[dict[str, Any], dict[str, Any]]:
        """Seen entries within ``slack`` altogether; least ``weight`` · trace."""
        scale = np.sqrt(self.share)
        ball = sp.vstack([sp.csc_array((1, self.size)), -sp.diags_array(scale) @ self._pick(self.seen)])
        radius = np.concatenate([[slack], -scale * self.values])
        cone = {"l": len(self.limits), "q": [len(radius)]}
        return self._join([(self.sides, self.limits), (ball, radius)], cone, self._trace(weight))

    def least_squares(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """½‖(X − M)_Ω‖_F², up to a constant."""
        curvature, c = np.zeros(self.size), np.zeros(self.size)
        curvature[self.seen], c[self.seen] = self.share, -self.share * self.values
        data, cone = self._join([(self.sides, self.limits)], {"l": len(self.limits)}, c)
        return {**data, "P": sp.csc_matrix(sp.diags_array(curvature))}, cone

    def factor(self, x: Floats, rank: int) -> tuple[Floats, float, float]:
        """The top factor of X, the trace of X, and how far X is from rank ``rank``, relative to ‖X‖_F."""
        X = np.zeros((self.n, self.n))
        X[self.rows, self.cols] = X[self.cols, self.rows] = x / self.root
        values, vectors = np.linalg.eigh(X)
        kept = np.maximum(values[-rank:], 0.0)
        rest = np.concatenate([values[:-rank], values[-rank:] - kept])
        whole = float(np.linalg.norm(values))
        gap = float(np.linalg.norm(rest)) / whole if whole else 0.0
        return (vectors[:, -rank:] * np.sqrt(kept))[:, ::-1], float(values.sum()), gap

    def _trace(self, weight: float) -> Floats:
        return np.where(self.rows == self.cols, weight, 0.0)

    def _pick(self, places: NDArray[np.intp]) -> Any:
        ones, count = np.ones(len(places)), len(places)
        return sp.csc_array((ones, (np.arange(count), places)), shape=(count, self.size))

    def _join(
        self, rows: list[tuple[Any, Floats]], cone: dict[str, Any], c: Floats
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """These rows, and X ⪰ 0."""
        A = sp.vstack([*(part for part, _ in rows), -sp.eye_array(self.size)])
        b = np.concatenate([*(side for _, side in rows), np.zeros(self.size)])
        return {"A": sp.csc_matrix(A), "b": b.astype(np.float64), "c": c}, {**cone, "s": [self.n]}


def _largest(values: Floats) -> float:
    return float(np.abs(values).max(initial=0.0))
