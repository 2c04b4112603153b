"""Gibbs sampling of the censored model: rows of U are normal given the others, hidden entries truncated normal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError, is_integer, is_number
from unrelu._old.base.tolerances import GIBBS_AGREE, GIBBS_COLUMN, GIBBS_EFFECTIVE, GIBBS_NOISE, SAMPLED_AGREE
from unrelu._old.loop.chains import Draws, effective_sample_size, r_hat
from unrelu._old.loop.history import History, Stop, Verdict
from unrelu._old.loop.states import Iterate
from unrelu._old.loop.stopping import Scaled, StoppingRule
from unrelu._old.model.factors import Symmetric
from unrelu._old.model.losses import Loss
from unrelu._old.model.truncated_normal import draw_within
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import Solver
from unrelu._old.solvers.gibbs_loop import available, rows_drawn
from unrelu._old.solvers.sampled_data import Told, told

__all__ = ["Chains", "ChainsAgree", "Gibbs", "agreement", "agreement_by_place", "watched_pairs"]

# Rows beyond which a sweep takes seconds, and nobody wants thousands of them.
MOST_ROWS = 2000
# After how many sweeps it is first asked whether the chains agree, and by how much longer each time after that.
FIRST_LOOK, NEXT_LOOK = 200, 1.25
# Entries of which it is asked.
WATCHED = 1000
# How far chains begin from their start, relative to the size of its rows: far enough to tell a chain that has not
# forgotten it. That reaches no other place of a row, such as its mirror image; chains see one only if they begin there.
APART = 0.3


@dataclass(frozen=True)
class ChainsAgree(StoppingRule):
    """Converged when R̂ of every entry looked at is at most 1 + ``tol``, and the draws are worth enough others.

    Or when that holds among the chains that began at the same fit, for each of several fits, and not of all chains:
    then they stay where they are, and the verdict says so.
    """

    tol: float
    effective: float = GIBBS_EFFECTIVE

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """Converged, if the chains were just compared and agree."""
        details, sweeps = history[-1].details, history[-1].iteration
        if details.get("r_hat", np.inf) <= 1 + self.tol and details.get("effective", 0.0) >= self.effective:
            return Verdict(Stop.CONVERGED, f"the chains agree after {sweeps} sweeps")
        stay = details.get("r_hat_by_place", np.inf) <= 1 + self.tol and details["r_hat"] >= SAMPLED_AGREE
        if stay and details["effective_by_place"] >= self.effective:
            return Verdict(Stop.CONVERGED, f"the chains agree at each of several fits after {sweeps} sweeps")
        return None


@dataclass(frozen=True, eq=False)
class Chains(Iterate):
    """Where the chains are; all that the next sweep depends on is in it.

    ``factor`` has the shape (chains, n, rank), ``variance`` (σ²) (chains,); ``means`` and ``precisions`` of the columns
    (chains, rank); ``gathered`` are the draws so far, and ``look`` is the sweep after which chains are compared next.
    They began at so many ``places`` in turn.
    """

    told: Told
    factor: Floats
    variance: Floats
    means: Floats
    precisions: Floats
    random: Mapping[str, Any]
    objective: float
    scale: float
    gathered: Draws = field(default_factory=Draws)
    look: int = FIRST_LOOK
    places: int = 1
    details: Mapping[str, float] = field(default_factory=dict)
    stuck: str | None = None

    @property
    def point(self) -> None:
        """None: a draw is not measured."""
        return None

    @property
    def gradient_norm(self) -> None:
        """None: nothing is minimised."""
        return None

    @property
    def factors(self) -> Symmetric:
        """What the first chain has drawn."""
        return Symmetric(self.factor[0])


@dataclass(frozen=True)
class Gibbs(Solver[Chains]):
    """Draws from the posterior of M = UUᵀ + σ·noise, given what was seen, and given what absence says.

    A sweep draws every entry that is hidden within its limits, the noise level, each row of U given the others, and
    mean and precision of each column, for all chains side by side. Priors are vague: of the noise a single value, a
    thousandth of a typical entry; rows are normal around a mean row, column k with the precision α_k; the mean has the
    weight of one row at zero, and α_k is Gamma(½, ½·scale/100), so that a column that is not needed vanishes (automatic
    relevance determination). An entry of the diagonal that is data, or a limit, bends the normal distribution of its
    row; that row is drawn by elliptical slice sampling.

    Parameters
    ----------
    chains : int, default 4
        How many, 2 at least: they are compared with each other.
    seed : int, default 0
        Of all random numbers; ``unrelu.complete(..., rng=...)`` sets it.
    pairs : {"auto", "one", "independent"}
        Whether (i, j) and (j, i) carry one noise or two; ``unrelu.complete(..., pairs=...)`` sets it.
    scale : float, optional
        The size of a typical entry, to which the priors are relative. Default: the root mean square of the seen ones.
    stopping : {"relative", "paper"}
        The same rule for both: R̂ of all entries looked at is at most 1 + tol, and 400 effective draws of each.

    References
    ----------
    Salakhutdinov and Mnih (2008), Bayesian probabilistic matrix factorization; Murray, Adams and MacKay (2010),
    elliptical slice sampling; Vehtari et al. (2021), rank-normalised R̂.

    Examples
    --------
    >>> import unrelu
    >>> u = np.array([1.0, 2.0, -1.0, 0.5, 1.5])
    >>> M = np.outer(u, u)
    >>> found = unrelu.complete(np.where(M >= 0, M, np.nan), 1, method=Gibbs(chains=2), sigma=0.1, max_iter=300, rng=0)
    >>> found.posterior.draws.shape[0], found.method
    (2, 'gibbs')
    """

    chains: int = 4
    seed: int = 0
    pairs: str = "auto"
    scale: float | None = None
    stopping: str = "relative"

    name = "gibbs"
    samples = True
    squared_only = False
    takes_start = False
    not_for_tables = "it samples symmetric matrices UUᵀ only"
    max_iter = 5000
    default_tol: ClassVar = {"float64": GIBBS_AGREE, "float32": GIBBS_AGREE}
    units: ClassVar = {"sigma": 1.0}

    def check(self) -> None:
        """At least two chains, and a seed."""
        self.need(is_integer(self.chains) and self.chains >= 2, "chains", "an integer ≥ 2")
        self.need(is_integer(self.seed) and self.seed >= 0, "seed", "an integer ≥ 0")
        self.need(self.pairs in ("auto", "one", "independent"), "pairs", "auto, one or independent")
        self.need(
            self.scale is None or (is_number(self.scale) and self.scale > 0), "scale", "a number above 0, or None"
        )

    def accepts(self, loss: Loss) -> bool:
        """A posterior is one of a likelihood."""
        return loss.likelihood

    def relative_rule(self, tol: float) -> StoppingRule:
        """The chains agree."""
        return ChainsAgree(tol)

    def paper_rule(self) -> StoppingRule:
        """The same: the paper has no such method."""
        return ChainsAgree(GIBBS_AGREE)

    def require_size(self, size: int) -> None:
        """Refuse a matrix that is too large to be swept thousands of times."""
        if size > MOST_ROWS:
            raise InputError(
                f"method 'gibbs' samples matrices of up to {MOST_ROWS} rows, and this one has {size}; complete some of "
                "the rows, or use method='auto', whose error bars need no sampling"
            )

    def start(self, problem: PSDProblem, left: Array, right: Array) -> Chains:
        """All chains around the start, each a little elsewhere; of several (k, n, rank), around each in turn."""
        known = told(problem.observations, self.pairs)
        rng = np.random.default_rng(self.seed)
        places = left.reshape(-1, *left.shape[-2:]).astype(np.float64)
        (n, r), first = left.shape[-2:], places[0]
        unit = problem.unit
        typical = problem.norm / np.sqrt(max(problem.observations.count, 1))
        scale = (typical if self.scale is None else self.scale / unit) or 1.0
        rough = float(np.sqrt(np.mean(first * first))) or float(np.sqrt(scale / r))
        begun = places[np.arange(self.chains) % len(places)]
        factor = begun + APART * rough * rng.standard_normal((self.chains, n, r))
        given = problem.loss.noise if problem.loss.noise_given else None
        misfit = known.values - np.einsum("kr,kr->k", first[known.rows], first[known.cols])
        level = float(np.sqrt(np.mean(misfit * misfit))) if misfit.size else scale
        sigma = max(level, GIBBS_NOISE * scale) if given is None else given / unit
        state = Chains(
            told=known,
            factor=factor,
            variance=np.full(self.chains, sigma**2),
            means=np.zeros((self.chains, r)),
            precisions=np.full((self.chains, r), 1 / rough**2),
            random=rng.bit_generator.state,
            objective=0.0,
            scale=scale,
            gathered=Draws(one=known.one),
            places=min(len(places), self.chains),
            details={"sigma": sigma},
        )
        return replace(state, objective=_minus_log_likelihood(state))

    def step(self, problem: PSDProblem, state: Chains) -> Chains:
        """One sweep of every chain."""
        rng = np.random.default_rng()
        rng.bit_generator.state = state.random
        hidden, own, squares = _entries_drawn(state, rng)
        variance = state.variance
        if not problem.loss.noise_given:
            count = len(state.told.values) + len(state.told.hidden_rows) + int(state.told.own_known.sum())
            prior = (GIBBS_NOISE * state.scale) ** 2
            variance = (prior + squares) / 2 / rng.gamma((1 + count) / 2, size=len(variance))
        factor = _rows_drawn(replace(state, variance=variance), hidden, own, rng)
        means, precisions = _columns_drawn(factor, GIBBS_COLUMN * state.scale, rng)
        sigma = np.sqrt(variance)
        gathered = state.gathered.then(factor.astype(problem.dtype), sigma)
        made = replace(
            state, factor=factor, variance=variance, means=means, precisions=precisions, gathered=gathered,
            random=rng.bit_generator.state, details={"sigma": float(sigma.mean())},
        )  # fmt: skip
        made = replace(made, objective=_minus_log_likelihood(made))
        if gathered.sweeps < state.look:
            return made
        worst, least = agreement(gathered)
        details = {**made.details, "r_hat": worst, "effective": least}
        if state.places > 1:
            worst, least = agreement_by_place(gathered, state.places)
            details |= {"r_hat_by_place": worst, "effective_by_place": least}
        return replace(made, details=details, look=int(gathered.sweeps * NEXT_LOOK))


def watched_pairs(size: int) -> tuple[Any, Any]:
    """Entries by which chains are compared: all of the upper triangle, or a thousand of them, always the same."""
    i, j = np.triu_indices(size)
    if len(i) > WATCHED:
        some = np.sort(np.random.default_rng(size).permutation(len(i))[:WATCHED])
        i, j = i[some], j[some]
    return i, j


def agreement(draws: Draws) -> tuple[float, float]:
    """The worst R̂ and the least effective sample size of the entries looked at, and of the noise level."""
    factors, sigmas = draws.stacked()
    i, j = watched_pairs(factors.shape[2])
    entries = np.einsum("cskr,cskr->csk", factors[:, :, i], factors[:, :, j], dtype=np.float64)
    found = np.concatenate([entries, sigmas[:, :, None]], axis=2)
    return float(r_hat(found).max()), float(effective_sample_size(found).min())


def agreement_by_place(draws: Draws, places: int) -> tuple[float, float]:
    """The same among the chains that began at the same of several places; the worst and the least of these."""
    each = [agreement(part) for part in draws.by_place(places)]
    return max(worst for worst, _ in each), min(least for _, least in each)


def _minus_log_likelihood(state: Chains) -> float:
    """Of what was seen, in the first chain."""
    known, factor, variance = state.told, state.factor[0], float(state.variance[0])
    gap = known.values - (factor @ factor.T)[known.rows, known.cols]
    weights = known.precision[known.rows, known.cols]
    return float(np.vdot(gap, gap * weights)) / (2 * variance) + len(gap) * float(np.log(variance)) / 2


def _entries_drawn(state: Chains, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Hidden entries within their limits, the diagonal likewise, and Σ precision·residual² of all that is known."""
    known, sigma = state.told, np.sqrt(state.variance)[:, None]
    fit = state.factor @ state.factor.transpose(0, 2, 1)
    around = fit[:, known.hidden_rows, known.hidden_cols]
    weights = known.precision[known.hidden_rows, known.hidden_cols]
    hidden = draw_within(around, sigma / np.sqrt(weights), known.ends, rng)
    squares = np.einsum("k,ck,ck->c", weights, hidden - around, hidden - around)
    gap = known.values - fit[:, known.rows, known.cols]
    squares += np.einsum("k,ck,ck->c", known.precision[known.rows, known.cols], gap, gap)
    own = np.broadcast_to(known.own, (len(fit), known.size))
    there = known.own_known
    if there.any():
        sizes, own_weights = np.einsum("cii->ci", fit), np.diag(known.precision)
        drawn = draw_within(sizes, sigma / np.sqrt(own_weights), known.own_ends, rng)
        own = np.where(np.isnan(known.own), drawn, known.own)
        left = np.where(there, own - sizes, 0.0)
        squares += np.einsum("k,ck,ck->c", own_weights, left, left)
    return hidden, own, squares


def _rows_drawn(state: Chains, hidden: Floats, own: Floats, rng: np.random.Generator) -> Floats:
    """Every row given the others and all entries, one after the other, in all chains."""
    known, U = state.told, state.factor.copy()
    chains, n, r = U.shape
    weighted = np.zeros((chains, n, n))
    weighted[:, known.rows, known.cols] = known.values * known.precision[known.rows, known.cols]
    weights = known.precision[known.hidden_rows, known.hidden_cols]
    weighted[:, known.hidden_rows, known.hidden_cols] = hidden * weights
    weighted += weighted.transpose(0, 2, 1).copy()
    precision = known.precision + known.precision.T
    np.fill_diagonal(precision, 0.0)
    numbers = 1 / state.variance, state.precisions, state.precisions * state.means
    normal = rng.standard_normal((n, chains, r))
    own_known = known.own_known
    if available() and not own_known.any():
        rows_drawn()(U, weighted, precision, numbers, normal)
        return U
    rate, precisions, pulled = numbers
    prior = np.zeros((chains, r, r))
    prior[:, np.arange(r), np.arange(r)] = precisions
    own_weights = np.diag(known.precision)
    for i in range(n):
        among = (U * precision[i][:, None]).transpose(0, 2, 1) @ U
        inverse = np.linalg.inv(np.linalg.cholesky(among * rate[:, None, None] + prior))
        across = inverse.transpose(0, 2, 1)
        toward = rate[:, None, None] * (weighted[:, i, None, :] @ U).transpose(0, 2, 1) + pulled[:, :, None]
        centre, turned = (across @ (inverse @ toward))[:, :, 0], (across @ normal[i][:, :, None])[:, :, 0]
        if own_known[i]:
            U[:, i] = _on_ellipse((U[:, i], centre, turned), own[:, i], rate * own_weights[i], rng)
        else:
            U[:, i] = centre + turned
    return U


def _on_ellipse(places: tuple[Floats, Floats, Floats], own: Floats, rate: Floats, rng: np.random.Generator) -> Floats:
    """Elliptical slice sampling of a row whose squared length is measured: it always moves, and rejects nothing."""
    old, centre, turned = places
    away = old - centre

    def log_likelihood(row: Floats) -> Floats:
        found: Floats = -0.5 * rate * (own - np.einsum("cr,cr->c", row, row)) ** 2
        return found

    level = log_likelihood(old) - rng.exponential(size=len(old))
    angle = rng.uniform(0, 2 * np.pi, len(old))
    least, most = angle - 2 * np.pi, angle.copy()
    while True:
        row = centre + away * np.cos(angle)[:, None] + turned * np.sin(angle)[:, None]
        outside = (log_likelihood(row) < level) & (most - least > np.finfo(np.float64).eps)
        if not outside.any():
            return row
        least, most = np.where(outside & (angle < 0), angle, least), np.where(outside & (angle >= 0), angle, most)
        angle = np.where(outside, rng.uniform(least, most), angle)


def _columns_drawn(factor: Floats, small: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Mean and precision of every column: the precision with the mean averaged over, then the mean given it."""
    chains, n, r = factor.shape
    total = factor.sum(axis=1)
    spread = np.einsum("cik,cik->ck", factor, factor) - total**2 / (n + 1)  # the prior's row at zero counts as one
    precisions = rng.gamma((1 + n) / 2, size=(chains, r)) / ((small + np.maximum(spread, 0.0)) / 2)
    means = total / (n + 1) + rng.standard_normal((chains, r)) / np.sqrt((n + 1) * precisions)
    return means, precisions
