"""How unit noise in the seen entries spreads over a fit: in closed form row by row, and exactly by solving.

Near its minimum F is least squares in the seen pairs, with derivative J and weights W as in
:mod:`unrelu._old.uncertainty.passes`. Noise z moves the factor by d = (JᵀWJ)⁺JᵀWz and the entry (i, j) by u_i·d_j + u_j·d_i.
Only the span of U matters, so everything here is done with an orthonormal basis of it (times √n): the conditioning of U
drops out, and so does a column that is zero.

With P the inverse of the diagonal blocks of A = JᵀWJ, and an entry's derivative a, its exact variance is aᵀA⁺a and, for
the same noise, that of the difference between d and the rows' own answer PJᵀWz is aᵀ(A⁺ − 2P + PAP)a. Hence

    exact variance = aᵀ(2P − PAP)a + variance of the difference,

where the first term is the row formula, for seen pairs and unseen ones: it never exceeds the exact variance, and
samples of the difference alone correct it. (Where a pair has one noise, this holds up to the weight of the diagonal.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.tolerances import SENSITIVITY_OPEN, SENSITIVITY_SOLVED, SENSITIVITY_SPAN
from unrelu._old.kernels import Kernel
from unrelu._old.kernels.memory import require_memory
from unrelu._old.uncertainty.passes import noise_products, row_blocks, seen_evenly, squared_weights

__all__ = ["RowFormula", "Samples", "System", "spanning"]

Counts = NDArray[np.uint8]

# A row whose block is worse conditioned than this sees fewer than r independent others.
WORST_BLOCK = {"float64": 1e13, "float32": 1e6}
# Preconditioned residual at which a solve ends, as a share of the first, and the most steps it may take.
MOST_STEPS = 2000
# A table of all columns is made for the rows asked for if at least one in so many of its entries is wanted.
SPARSEST = 4


def spanning(U: Array) -> Array:
    """An orthonormal basis of the span of the columns, times √n.

    Examples
    --------
    >>> spanning(np.array([[3.0, 0.0], [4.0, 0.0]])).shape
    (2, 1)
    """
    left, values, _ = np.linalg.svd(U.astype(np.float64), full_matrices=False)
    rank = int(np.count_nonzero(values > SENSITIVITY_SPAN[U.dtype.name] * values[0]))
    basis: Array = (left[:, :rank] * np.sqrt(len(U))).astype(U.dtype)
    return basis


@dataclass(frozen=True, eq=False)
class RowFormula:
    """Each row against the others held fixed: δu_i = A_i⁻¹ Σ_j w_ij z_ij u_j with A_i the row's block of JᵀWJ.

    Attributes
    ----------
    basis : ndarray of shape (m, r)
        Spans the columns of U.
    inverse : ndarray of shape (m, r, r)
        A_i⁻¹.
    covariance : ndarray of shape (m, r, r)
        C_i = A_i⁻¹ B_i A_i⁻¹ of δu_i for unit noise. B_i is A_i if every entry has its own noise, and the row's block
        of JᵀW²J if a pair has one (F counts such a pair twice and the diagonal once).
    one : bool
        One noise per pair.
    even : bool
        Whether W is the best weighting up to the diagonal: each entry has its own noise, or all pairs were seen equally
        often.
    weak : boolean ndarray of shape (m,)
        Rows that see fewer than r independent others: their block has no inverse.
    """

    basis: Floats
    inverse: Floats
    covariance: Floats
    one: bool
    even: bool
    weak: NDArray[np.bool_]

    @classmethod
    def of(cls, kernel: Kernel, basis: Array, *, one: bool) -> RowFormula:
        """From one pass over the pattern, two under one noise per pair."""
        blocks = row_blocks(kernel, basis)
        size = np.linalg.norm(blocks, axis=(1, 2))
        ridge = np.where(size > 0, np.finfo(kernel.dtype).eps * size / 8, 1.0)
        across = np.arange(basis.shape[1])
        blocks[:, across, across] += ridge[:, None]
        inverse = _inverses(blocks)
        weak = (size == 0) | ~(size * np.linalg.norm(inverse, axis=(1, 2)) < WORST_BLOCK[kernel.dtype.name])
        covariance: Any = inverse
        if one:
            covariance = inverse @ row_blocks(kernel, basis, squared=True) @ inverse
        even = not one or seen_evenly(kernel)
        return cls(basis.astype(np.float64, copy=False), np.asarray(inverse, float), covariance, one, even, weak)

    def variances(self, i: Indices, j: Indices, times: Counts) -> Floats:
        """Variance of some entries for unit noise, where pair k was seen ``times[k]`` times.

        s_i + s_j with s_i = u_jᵀC_iu_j for an unseen pair; s_i + s_j − 2 s_i s_j/v for a seen one, whose own noise of
        variance v both rows follow; 4 u_iᵀC_iu_i on the diagonal.
        """
        first, second = (_forms(self.covariance, self.basis, *place) for place in ((i, j), (j, i)))
        both = 2 * first * second * ((times > 0) if self.one else times)
        return np.where(i == j, 4 * first, first + second - both)

    def moved(self, i: Indices, j: Indices, times: Counts) -> Floats:
        """Variance of u_i·δu_j + u_j·δu_i: on seen pairs more than :meth:`variances`, as both rows follow the pair."""
        first, second = (_forms(self.covariance, self.basis, *place) for place in ((i, j), (j, i)))
        alone, other = (_forms(self.inverse, self.basis, *place) for place in ((i, j), (j, i)))
        weights = times.astype(np.float64)
        both = 2 * alone * other * (weights**2 if self.one else weights)
        return np.where(i == j, 4 * first, first + second + both)


@dataclass(frozen=True, eq=False)
class System:
    """The normal equations JᵀWJ d = b, solved by conjugate gradients preconditioned with the blocks of the rows."""

    kernel: Kernel
    rows: RowFormula

    @cached_property
    def basis(self) -> Array:
        """That of the rows, in the precision of the data."""
        return self.rows.basis.astype(self.kernel.dtype)

    @cached_property
    def _inverse(self) -> Array:
        return self.rows.inverse.astype(self.kernel.dtype)

    @cached_property
    def _squares(self) -> list[Counts]:
        return squared_weights(self.kernel)

    def alone(self, b: Array) -> Array:
        """A_i⁻¹ b_i for every row: the answer with the others held fixed, and the preconditioner."""
        return np.matmul(self._inverse, b[..., None])[..., 0]

    def solve(
        self, b: Array, *, share: float = SENSITIVITY_SOLVED, most: int = MOST_STEPS, weights: Any = None
    ) -> tuple[Array, bool]:
        """Solve JᵀWJ d = b for the d without rotations, and say whether its residual has fallen to ``share``.

        ``weights`` stand in for W, in the packing of the kernel's tiles.
        """
        d, residual = np.zeros_like(b), b
        P = Y = self.alone(b)
        Q = b  # the preconditioner's matrix times P
        first = now = float(np.vdot(b, Y))
        tiny = 4 * float(np.finfo(b.dtype).eps)
        share = max(share, 4 * tiny)
        for _ in range(most if first > 0 else 0):
            HP = 2 * self.kernel.curvature(self.basis, P, weights)
            bend = float(np.vdot(P, HP))
            # In the preconditioner's metric the eigenvalues lie between 0 and 2: a direction at 0 is one nobody saw.
            if not bend > tiny * float(np.vdot(P, Q)):
                return d, False
            length = b.dtype.type(now / bend)
            d = d + length * P
            residual = residual - length * HP
            Y = self.alone(residual)
            new = float(np.vdot(residual, Y))
            if not new > share**2 * first:
                return d, True
            turn = b.dtype.type(new / now)
            P, Q, now = Y + turn * P, residual + turn * Q, new
        return d, not first > 0

    def variance(self, i: int, j: int) -> float:
        """Exact variance of one entry for unit noise, infinite if the seen entries leave it open."""
        b = np.zeros_like(self.basis)
        b[i] += self.basis[j]
        b[j] += self.basis[i]
        d, solved = self.solve(b)
        if not solved:
            return float("inf")
        if self.rows.one:
            return 2 * float(np.vdot(d, self.kernel.curvature(self.basis, d, self._squares)))
        return float(np.vdot(b, d))

    def excess(self, i: Indices, j: Indices, variances: Floats, signs: Floats, *, share: float) -> float | None:
        """By what factor the exact variance of these unseen pairs exceeds that of the rows alone, on average.

        One solve for b = Σ ± a_k/√v_k with random signs, whose bᵀA⁺b is the sum of all a_kᵀA⁺a_k/v_k but for mixed
        terms; those go away in the ratio to bᵀPb. Unlike noise, b does not overlook directions that are hardly seen.
        None if the pairs cancel each other, as the same pair drawn twice may: b = 0 says nothing.
        """
        scaled = (signs / np.sqrt(variances)).astype(self.kernel.dtype)[:, None]
        b = np.zeros_like(self.basis)
        np.add.at(b, i, scaled * self.basis[j])
        np.add.at(b, j, scaled * self.basis[i])
        alone = float(np.vdot(b, self.alone(b)))
        if not alone > 0:
            return None
        d, solved = self.solve(b, share=share)
        return float(np.vdot(b, d)) / alone if solved else float("inf")

    def samples(self, count: int, seed: int) -> Samples:
        """Draw noise and solve for where it moves the factor."""
        m, r = self.basis.shape
        require_memory(3 * count * m * r * self.kernel.dtype.itemsize, f"{count} samples of the error of {m} rows")
        noise = noise_products(self.kernel, self.basis, self.rows.one, seed, count)
        exact = np.stack([self.solve(b)[0] for b in noise])
        alone = np.stack([self.alone(b) for b in noise])
        return Samples(self.rows, exact, alone, self._unseen_direction(seed))

    def _unseen_direction(self, seed: int) -> Array:
        """The part of a random direction that no seen entry notices: it moves exactly the entries they leave open."""
        direction = np.random.default_rng([seed, 1]).standard_normal(self.basis.shape).astype(self.kernel.dtype)
        noticed, _ = self.solve(2 * self.kernel.curvature(self.basis, direction, None))
        return direction - noticed


@dataclass(frozen=True, eq=False)
class Samples:
    """Where draws of unit noise move the factor, exactly and with every row alone: arrays of shape (count, m, r).

    ``unseen`` is a direction of shape (m, r) in which the seen entries do not change.
    """

    rows: RowFormula
    exact: Array
    alone: Array
    unseen: Array

    def variances(self, i: Indices, j: Indices, times: Counts) -> Floats:
        """Variance of some entries: the row formula plus the mean square by which samples differ from it.

        The two add up only as far as W is the best weighting. Under one noise per pair it is not on the diagonal, nor
        anywhere if pairs were seen unequally often; there the known variance of the rows alone is scaled by the ratio
        of the mean squares.
        """
        variances = self.rows.variances(i, j, times)
        added = np.full(len(i), self.rows.even) & ~(self.rows.one & (i == j))
        if added.any():
            variances[added] += self._mean_square(self.exact - self.alone, i[added], j[added])
        if not added.all():
            scaled = np.flatnonzero(~added)
            a, b, seen = i[scaled], j[scaled], times[scaled]
            ratio = self._mean_square(self.exact, a, b) / np.maximum(self._mean_square(self.alone, a, b), 1e-300)
            variances[scaled] = self.rows.moved(a, b, seen) * ratio
        moved = np.sqrt(self._mean_square(self.unseen[None], i, j))
        length = np.linalg.norm(self.rows.basis, axis=1)
        return np.where(moved > SENSITIVITY_OPEN * (length[i] + length[j]), np.inf, variances)

    def _mean_square(self, moves: Array, i: Indices, j: Indices) -> Floats:
        """Mean over the samples of (u_i·d_j + u_j·d_i)²."""
        V = self.rows.basis
        few, at = _distinct(i, len(V))
        if len(few) * len(V) <= SPARSEST * len(i):
            table = np.zeros((len(few), len(V)))
            for move in moves:
                table += (V[few] @ move.T + move[few] @ V.T) ** 2
            return table[at, j] / len(moves)
        total = np.zeros(len(i))
        for move in moves:
            total += (np.einsum("ek,ek->e", V[i], move[j]) + np.einsum("ek,ek->e", V[j], move[i])) ** 2
        return total / len(moves)


def _inverses(blocks: Floats) -> Floats:
    """The inverses; of a block that is singular to rounding one that is huge, so that it is known for what it is."""
    try:
        return np.asarray(np.linalg.inv(blocks), np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(blocks)
        least = np.finfo(float).eps / 8 * values[:, -1:]
        return np.asarray(
            np.matmul(vectors / np.maximum(values, least)[:, None, :], vectors.swapaxes(1, 2)), np.float64
        )


def _distinct(index: Indices, size: int) -> tuple[Indices, Indices]:
    """Which numbers below ``size`` there are, and the place of each among them; `np.unique` would sort."""
    present = np.zeros(size, bool)
    present[index] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[index]


def _forms(matrices: Floats, V: Floats, i: Indices, j: Indices) -> Floats:
    """v_jᵀ C_i v_j for every pair; as one product with all v vᵀ where whole rows are asked for."""
    for index, by_matrix in ((i, True), (j, False)):
        few, at = _distinct(index, len(V))
        if len(few) * len(V) <= SPARSEST * len(i):
            upper = np.triu_indices(V.shape[1])
            packed = matrices[:, upper[0], upper[1]] * np.where(upper[0] == upper[1], 1.0, 2.0)
            squares = V[:, upper[0]] * V[:, upper[1]]
            table = packed[few] @ squares.T if by_matrix else squares[few] @ packed.T
            picked: Floats = table[at, j if by_matrix else i]
            return picked
    result: Floats = np.einsum("ek,ek->e", np.matmul(matrices[i], V[j][..., None])[..., 0], V[j])
    return result
