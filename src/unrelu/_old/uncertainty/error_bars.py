"""How far off a fit may be: the noise level, and a standard error for every entry anyone asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.errors import InputError, unknown_name
from unrelu._old.base.tolerances import ERROR_BARS_ACCURATE, ERROR_BARS_PROBED
from unrelu._old.data.observations import Observations
from unrelu._old.data.pieces import pieces
from unrelu._old.kernels import Kernel
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.model.factors import Factors, Signed, Symmetric, positions_checked
from unrelu._old.model.losses import Loss
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.uncertainty import selection
from unrelu._old.uncertainty.beyond_linear import BeyondLinear
from unrelu._old.uncertainty.covariance import MOST_UNKNOWNS, Covariance
from unrelu._old.uncertainty.information import Information, InformationKernel
from unrelu._old.uncertainty.noise import Noise, level_checked, noise_of_residuals, pairs_checked
from unrelu._old.uncertainty.passes import seen_alike
from unrelu._old.uncertainty.sensitivity import RowFormula, Samples, System, spanning
from unrelu._old.uncertainty.walks import Fit, Walked, in_words, tells, walked

__all__ = ["EXACT", "ROWS", "SAMPLED", "ErrorBars"]

ROWS, EXACT, SAMPLED = METHODS = ("row formula", "exact solves", "perturb-and-solve")
# The row formula counts as accurate while it makes standard errors too small by no more than this share, on average
# over random unseen entries. Each probe is one solve, to this tolerance, for a random combination of n of them; so many
# entries are enough, and two probes at least wherever those are cheap.
ENOUGH = 1000
# Samples of perturb-and-solve; up to as many entries are solved for one by one.
SAMPLES = 64
# Entries looked at together.
CHUNK = 1 << 17
# Unseen entries at which the shift by selection is looked at.
LOOKED_AT = 1000
# The shift is about √n σ/rms standard errors or less: below this it need not be worked out.
NEGLIGIBLE = 0.02


@dataclass(frozen=True, eq=False)
class _Fit:
    """What is worked out once: nothing n×n."""

    place: Indices  # of each row among those kept, −1 for the others
    piece: Indices  # of each row: rows of two pieces never see each other, not even through others
    kept: Indices
    rows: RowFormula | None
    noise: Noise
    accurate: bool
    unit: float = 1.0  # of the observations among those kept
    beyond: BeyondLinear | None = None

    @property
    def small(self) -> bool:
        """Whether all of its covariance is worked out at once."""
        return self.rows is not None and self.rows.basis.size <= MOST_UNKNOWNS


class ErrorBars:
    """Standard errors of the entries of UUᵀ as a fit to noisy seen entries, by linearising it at U.

    Three ways, in the order of their cost (see :mod:`unrelu._old.uncertainty.sensitivity`):

    - ``row formula``: row covariances C_i = σ̂²(Σ_{j seen} u_j u_jᵀ)⁻¹ (the diagonal enters with 4u_iu_iᵀ), and
      Var(m_ij) = s_i + s_j with s_i = u_jᵀC_iu_j, for a seen pair less 2 s_i s_j over the variance of its mean. It
      ignores how rows depend on each other, which matters when r/n is not small.
    - ``exact solves``: one preconditioned conjugate-gradient solve per entry.
    - ``perturb-and-solve``: draws of noise z, d = (JᵀWJ)⁺JᵀWz, and the row formula as control.

    The first is used where a few solves show that it is accurate; else the second for few entries, the third for many.

    Parameters
    ----------
    factor : ndarray of shape (n, r), or Factors
        U, a minimum of F; or with its signs, if the matrix is U D Uᵀ.
    observations : Observations
        What it was fitted to; what absence says is not used.
    pairs : {"auto", "one", "independent"}
        Whether (i, j) and (j, i) carry one noise or two. ``auto``: one if they agree to rounding wherever both were
        seen.
    determined : boolean ndarray of shape (n,), optional
        Rows that the data determine. Entries in others have an infinite error, and what was seen of them is left out.
    doubt : str, optional
        Why the model itself is in doubt, in a sentence: then :attr:`caution` says that first.
    loss : Loss, optional
        That of the fit, squares or a likelihood. With it, small fits are walked away from, and where that shows
        larger errors than linearising does, these count: :mod:`unrelu._old.uncertainty.walks`.

    Examples
    --------
    >>> from unrelu._old.data.planted import planted
    >>> instance = planted(100, 2, sigma=0.1, symmetric_noise=True, rng=0)
    >>> X = np.where(instance.matrix >= 0, instance.matrix, np.nan)
    >>> import unrelu
    >>> bars = ErrorBars(unrelu.complete(X, rank=2, rng=0).factor, Observations.of(X))
    >>> round(bars.noise.sigma, 2), bars.noise.pairs
    (0.1, 'one')
    >>> everywhere = np.arange(100)
    >>> low, high = bars.interval(everywhere[:, None], everywhere)
    >>> bool(0.93 < np.mean((low < instance.truth) & (instance.truth < high)) < 0.97)
    True
    """

    def __init__(
        self,
        factor: Array | Factors,
        observations: Observations,
        *,
        pairs: str = "auto",
        determined: NDArray[np.bool_] | None = None,
        doubt: str | None = None,
        loss: Loss | None = None,
    ) -> None:
        # A step d of U changes U D Uᵀ by uᵢ·d'ⱼ + uⱼ·d'ᵢ with d' = dD: to first order all is as for UUᵀ.
        self.signs = getattr(factor, "signs", 1.0)
        factor = np.asarray(factor.left if isinstance(factor, Factors) else factor)
        n = observations.size
        if factor.ndim != 2 or len(factor) != n:
            raise InputError(f"factor must have one row for each of the {n} of the data, got shape {factor.shape}")
        if determined is not None and np.shape(determined) != (n,):
            raise InputError(f"determined must have shape ({n},), got {np.shape(determined)}")
        self.factor = factor.astype(observations.dtype, copy=False)
        self.observations = observations
        self.pairs = pairs_checked(pairs)
        self.determined = np.ones(n, bool) if determined is None else np.asarray(determined, bool)
        self.doubt = doubt
        self.loss = loss
        self._seed = int(np.random.default_rng(0).integers(1 << 62))  # the same question, the same answer
        self._used: str | None = None

    def _as_factors(self, U: Array) -> Factors:
        """The fit, or some of its rows."""
        return Symmetric(U) if np.ndim(self.signs) == 0 else Signed(U, np.asarray(self.signs))

    @property
    def noise(self) -> Noise:
        """The noise level, with its degrees of freedom."""
        return self._fit.noise

    @property
    def method(self) -> str | None:
        """How the latest standard errors were found: one of the three names above; None before the first."""
        return self._used

    @cached_property
    def caution(self) -> str | None:
        """Why these intervals should not be trusted, in a sentence; None where nothing speaks against them.

        Noise near the threshold decides what is seen, so that what is seen is too high (or too low), and the fit bends:
        :mod:`unrelu._old.uncertainty.selection`. Standard errors speak of the noise's variance alone. And where walks show
        many errors to be larger than linearising has them, others that no walk went by may be as well.
        """
        walked = None if self._walked is None else in_words(self._walked)
        return "; ".join(filter(None, (self.doubt, selection.in_words(self._shift()), walked))) or None

    def _shift(self) -> float:
        """Median over random unseen entries of the expected shift by selection, in standard errors."""
        fit, whole = self._fit, self.observations
        if whole.threshold is None or fit.rows is None or fit.beyond is None:
            return 0.0
        m, sigma = len(fit.kept), fit.beyond.sigma
        rms = whole.norm / np.sqrt(whole.count) / fit.unit
        if sigma * np.sqrt(m) <= NEGLIGIBLE * rms:
            return 0.0
        i, j = np.random.default_rng([self._seed, 2]).integers(0, m, (2, 6 * m))
        a, b = fit.kept[i], fit.kept[j]
        unseen = (whole.times_seen(a, b) == 0) & (i != j) & (fit.piece[a] == fit.piece[b])
        exact = fit.small or not fit.accurate
        some = np.flatnonzero(unseen)[: SAMPLES if exact and not fit.small else LOOKED_AT]
        among = self._among(fit.kept)
        if some.size == 0 or among is None:
            return 0.0
        listening = among.with_limits(whole.limits.part(fit.kept, fit.kept))
        U = self.factor[fit.kept] / self.factor.dtype.type(np.sqrt(fit.unit))
        with owning_the_cores():
            moved = np.abs(selection.shifts(self._system(), listening, self._as_factors(U), sigma, i[some], j[some]))
            errors = np.sqrt(self._variances(a[some], b[some], EXACT if exact else ROWS))
        return float(np.median(moved / np.maximum(errors, np.finfo(float).tiny)))

    def standard_errors(self, rows: ArrayLike, cols: ArrayLike, *, method: str = "auto") -> Any:
        """Standard errors of the fit at integer positions that broadcast against each other.

        Parameters
        ----------
        rows, cols : array of int
        method : {"auto", "row formula", "exact solves", "perturb-and-solve"}
        """
        if method not in ("auto", *METHODS):
            raise unknown_name("method of error bars", method, ["auto", *METHODS])
        n = self.observations.size
        i, j = np.broadcast_arrays(*(positions_checked(index, n) % n for index in (rows, cols)))
        errors = self._errors(i.ravel(), j.ravel(), method).astype(self.factor.dtype)
        return errors.reshape(i.shape)[()]

    def fit(self, rows: ArrayLike, cols: ArrayLike) -> Any:
        """The entries themselves."""
        return self._as_factors(self.factor).entries(rows, cols)

    def interval(self, rows: ArrayLike, cols: ArrayLike, level: float = 0.95, *, method: str = "auto") -> Any:
        """(low, high) between which the noiseless entry lies with this probability, by Student's t.

        Parameters
        ----------
        rows, cols : array of int
            Positions that broadcast against each other.
        level : float, default 0.95
            Between 0 and 1.
        """
        level = level_checked(level)
        from scipy.special import stdtrit  # takes a while to import

        centre = self.fit(rows, cols)
        errors = self.standard_errors(rows, cols, method=method)
        freedom = self.noise.degrees_of_freedom
        half = errors * errors.dtype.type(stdtrit(freedom, (1 + level) / 2) if freedom > 0 else 1.0)
        return centre - half, centre + half

    def _errors(self, i: Indices, j: Indices, method: str) -> Floats:
        fit = self._fit
        variances = np.full(len(i), np.inf)
        if fit.rows is None or not np.isfinite(fit.noise.sigma):
            self._used = ROWS if method == "auto" else method
            return variances
        a, b = fit.place[i], fit.place[j]
        known = np.flatnonzero((a >= 0) & (b >= 0) & (fit.piece[i] == fit.piece[j]))
        asked = method
        if method == "auto":
            method = EXACT if fit.small else ROWS if fit.accurate else EXACT if len(known) <= SAMPLES else SAMPLED
        self._used = method
        for start in range(0, len(known), CHUNK):
            part = known[start : start + CHUNK]
            variances[part] = self._variances(i[part], j[part], method)
            if asked == "auto" and self._walked is not None:
                variances[part] = np.maximum(variances[part], self._walked.errors[a[part], b[part]] ** 2)
        length = np.linalg.norm(self.factor.astype(np.float64) / np.sqrt(fit.unit), axis=1)
        # Of r products of rounded numbers, which is all there is without noise.
        rounding = float(np.finfo(self.factor.dtype).eps) * np.sqrt(self.factor.shape[1]) * length[i] * length[j]
        return np.hypot(np.sqrt(variances), rounding) * fit.unit

    def _variances(self, i: Indices, j: Indices, method: str) -> Floats:
        """Of entries among the rows that are kept, in units of ``fit.unit`` squared."""
        fit = self._fit
        assert fit.rows is not None
        assert fit.beyond is not None
        a, b, whole = fit.place[i], fit.place[j], None
        if method == EXACT and fit.small:
            whole = self._covariance
            linear = whole.variances(a, b)
        elif method == EXACT:
            linear = self._exact(a, b)
        else:
            source: RowFormula | Samples = fit.rows if method == ROWS else self._samples
            linear = source.variances(a, b, self._times(i, j))
        return np.maximum(linear, 0) * fit.beyond.sigma**2 + fit.beyond.variances(a, b, whole)

    @owning_the_cores()
    def _exact(self, a: Indices, b: Indices) -> Floats:
        system = self._system()
        return np.array([system.variance(*pair) for pair in zip(a.tolist(), b.tolist(), strict=True)])

    @cached_property
    def _covariance(self) -> Covariance:
        fit, everyone = self._fit, self._fit.kept
        assert fit.rows is not None
        assert fit.beyond is not None
        times = self._times(*(np.ravel(index) for index in np.meshgrid(everyone, everyone)))
        with owning_the_cores():
            return Covariance.of(fit.rows.basis, times.reshape(len(everyone), -1), fit.beyond.scales, one=fit.rows.one)

    @cached_property
    def _walked(self) -> Walked | None:
        """Errors that walks show, of the rows that are kept; None where there are none, or too many rows for them."""
        fit, observations = self._fit, self._among(self._fit.kept)
        if self.loss is None or fit.beyond is None or not fit.small or observations is None:
            return None
        if not tells(observations, fit.beyond.sigma):
            return None
        everyone = fit.kept
        rows, cols = (np.ravel(index) for index in np.meshgrid(everyone, everyone, indexing="ij"))
        errors = np.sqrt(self._variances(rows, cols, EXACT)).reshape(len(everyone), -1)
        piece = fit.piece[everyone]
        open_to = (self.observations.times_seen(rows, cols) == 0).reshape(errors.shape) & (piece[:, None] == piece)
        if observations.source.cut is not None:
            above = np.arange(len(everyone)) < observations.source.cut
            open_to &= above[:, None] != above
        np.fill_diagonal(open_to, False)
        U = self.factor[everyone].astype(np.float64) / np.sqrt(fit.unit)
        # A noise that was estimated with the fit is too small, by its degrees of freedom.
        loss = self.loss.begun(fit.noise.sigma) if self.loss.likelihood else self.loss
        here = Fit(observations, loss, U, self.signs, fit.beyond.sigma, self._one)
        with owning_the_cores():
            return walked(here, self._covariance, errors, open_to)

    @cached_property
    def _samples(self) -> Samples:
        with owning_the_cores():
            return self._system().samples(SAMPLES, self._seed)

    def _system(self) -> System:
        """Built anew when it is needed: it holds the packed matrix, which this object must not."""
        fit, observations = self._fit, self._among(self._fit.kept)
        assert fit.rows is not None
        assert observations is not None
        U = self.factor[fit.kept] / self.factor.dtype.type(np.sqrt(observations.unit))
        return System(self._kernel(observations, U)[0], fit.rows)

    def _kernel(self, observations: Observations, U: Array) -> tuple[Kernel, bool]:
        """Passes over what tells of the fit; and whether a pair that counts twice there has one noise."""
        kernel: Any = PSDProblem(observations, self.factor.shape[1]).kernel
        self._one = seen_alike(kernel, observations) if self.pairs == "auto" else self.pairs == "one"
        if observations.plain:
            return kernel, self._one
        # A weight says how often an entry counts, and a pair of one measurement counts once.
        weighed: Any = InformationKernel(kernel, Information(observations.seen_only, U, 1.0, self._one, self.signs))
        return weighed, False

    def _times(self, i: Indices, j: Indices) -> Any:
        """How often some pairs count."""
        if self.observations.plain:
            return self.observations.times_seen(i, j)
        return Information(self.observations.seen_only, self.factor, 1.0, self._one, self.signs).at(i, j)

    def _noise(self, kernel: Kernel, observations: Observations, fit: Factors, rows: RowFormula, frames: int) -> Noise:
        return noise_of_residuals(kernel, observations, fit, rows, frames, self._one)

    def _among(self, kept: Indices) -> Observations | None:
        """What was seen among some of the rows; None if that is nothing."""
        if len(kept) == self.observations.size:
            return self.observations
        part = self.observations.restricted(kept)
        return part if part.count else None

    @cached_property
    def _fit(self) -> _Fit:
        with owning_the_cores():
            return self._fitted()

    def _fitted(self) -> _Fit:
        n, rank = self.factor.shape
        kept = np.flatnonzero(self.determined)
        while self.factor[kept].any() and (observations := self._among(kept)) is not None:
            U = self.factor[kept] / self.factor.dtype.type(np.sqrt(observations.unit))
            kernel, one = self._kernel(observations, U)
            rows = RowFormula.of(kernel, spanning(U), one=one)
            if not rows.weak.any():
                parts = pieces(observations)
                place, piece = np.full((2, n), -1, np.intp)
                place[kept] = np.arange(len(kept))
                for number, part in enumerate(parts):
                    piece[kept[part]] = number
                noise = self._noise(kernel, observations, self._as_factors(U), rows, len(parts))
                fit = _Fit(place, piece, kept, rows, noise, accurate=False, unit=observations.unit)
                if noise.degrees_of_freedom <= 0:
                    return fit
                accurate = not fit.small and self._accurate(System(kernel, rows), observations, (kept, piece[kept]))
                beyond = BeyondLinear.of(observations, U, rows, noise.sigma / observations.unit)
                return replace(fit, accurate=accurate, beyond=beyond)
            kept = kept[~rows.weak]
        words = (
            f"no row sees {rank} independent others, so that nothing tells noise from signal: every error is infinite"
        )
        nowhere = np.full(n, -1, np.intp)
        return _Fit(nowhere, nowhere, kept[:0], None, Noise(float("inf"), 0, self.pairs, words), False)

    def _accurate(self, system: System, observations: Observations, places: tuple[Indices, Indices]) -> bool:
        """Whether random unseen entries have nearly the exact error; where there are none, random others.

        ``places`` are the rows in the whole, and their pieces.
        """
        kept, piece = places
        m = observations.size
        rng = np.random.default_rng(self._seed)
        found = []
        for _ in range(1 if m >= ENOUGH else 2):
            i, j = rng.integers(0, m, (2, 6 * m))
            times = observations.times_seen(i, j)
            unseen = np.flatnonzero((times == 0) & (i != j) & (piece[i] == piece[j]))[:m]
            if unseen.size == 0:
                return (
                    len(system.basis) > len(system.basis[0]) / ERROR_BARS_ACCURATE
                )  # all seen: the share that is off is r/n
            i, j = i[unseen], j[unseen]
            variances = system.rows.variances(i, j, self._times(kept[i], kept[j]))
            good = variances > 0
            if not good.any():
                continue
            signs = rng.choice([-1.0, 1.0], int(good.sum()))
            excess = system.excess(i[good], j[good], variances[good], signs, share=ERROR_BARS_PROBED)
            found += [] if excess is None else [excess]
        return not found or float(np.sqrt(np.mean(found))) <= 1 + ERROR_BARS_ACCURATE
