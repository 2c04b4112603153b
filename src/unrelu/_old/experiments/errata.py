"""``table-errata``: what is printed wrong, each with a counterexample of one line that is computed here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from unrelu._old.experiments.base import Cell, Experiment, Judgement, Result, Row, Sizes, Table, Task, numbers
from unrelu._old.experiments.judging import printed
from unrelu._old.experiments.rules import refuted

__all__ = ["PREAMBLE", "Erratum", "TableErrata", "evaluate"]

# What each line needs. It is shown on the page as it is run here.
PREAMBLE = """\
from math import *
import numpy as np
from numpy.linalg import eigvalsh, matrix_rank, norm
from scipy.integrate import quad
from scipy.stats import binom
from unrelu._old.theory.bounds import *
from unrelu._old.theory.geometry import *
from unrelu._old.theory.partition import in_cones
from unrelu._old.theory.propositions import *
"""
# Sides that differ by less than this share of the larger one are equal.
EQUAL = 1e-6


@dataclass(frozen=True)
class Erratum:
    """A statement of the paper, what is right, and a line of Python whose value is the statement's two sides.

    ``relation`` is the one in which the sides stand according to the paper. ``where`` and ``printed`` of what is wrong
    are those of the claim ``key``; what is only imprecise says them here, is not judged, and ``relation`` is the true
    one.
    """

    key: str
    right: str
    code: str
    relation: str
    where: str = ""
    printed: str = ""

    @property
    def judged(self) -> bool:
        """Whether the statement is false, and not only imprecise."""
        return not self.printed

    def words(self) -> tuple[str, str]:
        """Where it stands, and what is printed there."""
        if not self.judged:
            return self.where, self.printed
        claim = printed()["claims"][self.key]
        return claim["where"], claim["claim"]


WRONG = (
    Erratum(
        "errata/manifold",
        "on the factors of full rank; from rank r − 2 down the horizontal space has another dimension, at rank r − 1 "
        "the quotient has a boundary (n = r = 2: at U = 0, at U = I)",
        "tuple(4 - matrix_rank((U @ [[0, 1], [-1, 0]]).reshape(1, 4)) for U in (np.zeros((2, 2)), np.eye(2)))",
        "=",
    ),
    Erratum(
        "errata/example",
        "m_ij ≥ (√3/2)‖u_i‖‖u_j‖: two rows of one sector may be parallel",
        "np.dot([1, 0], [1, 0]), sqrt(3) / 2",
        "=",
    ),
    Erratum(
        "errata/rank-one",
        "for r ≥ 2: at r = 1 positive and negative rows see nothing of each other, whatever the factor",
        "np.sum(np.outer([1.0, 2.0], [-1.0, -3.0]) >= 0), 1",
        "≥",
    ),
    Erratum(
        "errata/gradient",
        "½(Z + Zᵀ)U; the appendix has ZU, which is right where M and Ω are symmetric (n = r = 1, U = 2, M = 1)",
        "2 * (2**2 - 1) * 2, (((2 + 1e-20j)**2 - 1)**2 / 4).imag / 1e-20",
        "=",
    ),
    Erratum(
        "errata/table-1",
        "γ_T is at least 8.0e-10 if β is F, and 2.8e-10 if β is ½‖Z + Zᵀ‖² (E‖M‖_F² = n(n − 1)r + nr(r + 2))",
        "7.6e-11 * sqrt(200 * 199 * 5 + 200 * 5 * 7), sqrt(3.3e-14 / 2)",
        "≥",
    ),
    Erratum(
        "errata/lemma-2-proof",
        "σ_min(U) + ‖V‖ and no square, after a further rotation (n = r = 1, U = ½, V = ¼)",
        "0.5 - 0.25, (0.5**2 + 0.25) / 0.5**2 * (0.5**2 - 0.25**2)**2",
        "≤",
    ),
    Erratum(
        "errata/lemma-2-rest",
        "1/σ²_min(V) (U = (1, 0)ᵀ, V = (0, ½)ᵀ)",
        "0.5**2, 1 / 0.5 * (0.5**2)**2",
        "≤",
    ),
    Erratum(
        "errata/c",
        "c = c₀(2‖U*‖ + (c₀/λ)‖Δ‖_F), the last line of the proof; as printed the bound is quadratic in the noise, "
        "which the error is not (n = r = K = 1, U* = 1, M = 1.001)",
        "1.001 - 1, (c0 := factor_constant(1, 1, 1, 1e-3)) * (2 + c0 * 1e-3) * 1e-3**2",
        "≤",
    ),
    Erratum(
        "errata/moments",
        "(1 − 2/π)I + (2/π)ssᵀ with the signs s of the orthant (E[u₁u₂] where u₁ > 0 > u₂)",
        "-(sqrt(2 / pi) * quad(lambda x: x * exp(-x * x / 2), 0, inf)[0])**2, 2 / pi",
        "=",
    ),
    Erratum(
        "errata/gamma-square",
        "min ‖φ(D)‖_F², as Theorems 2 and 4 have it (n = r = 1, U* = 2)",
        "curvature([[True]], [[2.0]]).gamma, norm(2.0 * 1 + 1 * 2.0)",
        "=",
    ),
    Erratum(
        "errata/kernel",
        "S is; on S⊥ the map φ is injective, which is what γ > 0 says (n = r = 1: ‖φ(1)‖_F at U* = 1)",
        "norm(2 * horizontal_part([[1.0]], [[1.0]])), 0",
        "=",
    ),
    Erratum(
        "errata/noise-level",
        "the limit holds K^(3/2) as well, and K is up to 9^r = √n there: of the order n^(−1/2); at fixed r all of λ, γ "
        "and the limit grow like n (limit/n^(1/4) at n = 81⁴ over that at 81²)",
        "(lambda f: f(81**4) / f(81**2))(lambda n: sqrt(n) / (sqrt(8) * n**0.25 * (2 * n**0.25 + sqrt(n) + n * 3.25)"
        " * (1 + (n**0.25 + 2 * sqrt(n)) / sqrt(4 * n)))), 1",
        "=",
    ),
    Erratum(
        "errata/bernstein",
        "P(n_k − n/2^r ≤ −t) (n = 16, r = 2, t = 2)",
        "binom.cdf(4 + 2, 16, 1 / 4), exp(-(2**2) / 2 / (4 + 2 / 3))",
        "≤",
    ),
    Erratum(
        "errata/union",
        "≥ in both places (n = 16, r = 2: the probability, and 1 − √n exp(−√n/16))",
        "all_orthants_probability(16, 2), 1 - 4 * exp(-4 / 16)",
        "≤",
    ),
    Erratum(
        "errata/gamma-function",
        "Γ((r+1)/2) ≤ (r/2)Γ(r/2), for r ≥ 2; the end of the chain, sin^r(π/12)/(√π r), stands (r = 1)",
        "gamma(1), 1 / 2 * gamma(1)",
        "≤",
    ),
    Erratum(
        "errata/cone-chance",
        "sin^r(π/12)/(√π r), the line above it; this one is false for r = 2 and 3 (r = 2: one of twelve sectors)",
        "cone_probability(2), sin(pi / 12) / sqrt(pi)",
        "≥",
    ),
    Erratum(
        "errata/admm",
        "t = ‖W_Ω − M_Ω‖_F/√δ − 1; as printed the point lies inside the ball (n = 1, W = 2, M = 0, δ = 1)",
        "2 / (1 + (2**2 / 1 - 1)), np.clip(2, -1, 1)",
        "=",
    ),
)

IMPRECISE = (
    Erratum(
        "errata/growth",
        "right for the γ of the discussion, without a square; Theorem 4 needs its square, of order n: with every row "
        "16 times it is 16 times as large, not 4 times",
        "(lambda U: (curvature(np.tile(U @ U.T >= 0, (16, 16)), np.tile(U, (16, 1))).gamma / "
        "curvature(U @ U.T >= 0, U).gamma, 4))(np.random.default_rng(0).standard_normal((40, 2)))",
        ">",
        "Discussion of γ and λ (appendix A.2)",
        "γ = O(√n), put into Theorem 4",
    ),
    Erratum(
        "errata/cones-meet",
        "cones that share a vector other than 0, which lies in all of them (u = (1, 0) and −u, each in its own cone)",
        "in_cones([[0, 0]], [[1, 0], [-1, 0]]).all() * np.dot([1, 0], [-1, 0]), 0",
        "<",
        "Proof of the second Proposition (appendix A.3)",
        "for C_k ∩ C_l ≠ ∅ all entries between their rows are seen",
    ),
    Erratum(
        "kappa",
        "κ = (2(σ_r² + σ_{r−1}²))^(−½), and 0 for r = 1; it is attained (U* = diag(3, 1))",
        "(lambda U, E: (norm(vertical_part(U, U @ E)) / norm(U.T @ U @ E - E.T @ U.T @ U), hoffman_constant(U)))"
        "(np.diag([3.0, 1.0]), np.array([[0, 1], [-1, 0]]))",
        "=",
        "Theorem 4",
        "κ > 0 only depends on U*",
    ),
    Erratum(
        "depends",
        "on the number K of groups too: c₀ at K = 1 and at K = 12, all else equal",
        "factor_constant(1, 1, 1, 0), factor_constant(1, 12, 1, 0)",
        "<",
        "Theorem 3",
        "c depends on λ, ‖U*‖_F and ‖Δ‖_F",
    ),
    Erratum(
        "lemma-2-zero",
        "not defined for U = 0 or V = 0; without the missing term it is false there (U = ½, V = 0). Where neither is "
        "zero it is true, though not by its proof: table-theorems",
        "quotient_distance([[0.5]], [[0.0]]), lemma_2([[0.5]], [[0.0]], printed=True)",
        ">",
        "Lemma 2",
        "for arbitrary U and V, with their smallest non-zero singular values",
    ),
    Erratum(
        "vacuous",
        "negative below n = 4538, and says nothing there: its value at n = 4537",
        "1 - sqrt(4537) * exp(-sqrt(4537) / 16), 0",
        "<",
        "Section 3.3, first Proposition",
        "with probability at least 1 − √n exp(−√n/16)",
    ),
    Erratum(
        "span",
        "the proof counts seen entries, and many entries need not span the r×r matrices (one row that sees 9: "
        "dimension of the span, and r² = 4)",
        "matrix_rank([np.outer([1, 2], [cos(k), sin(k)]).ravel() for k in range(9)]), 4",
        "<",
        "Proof of the first Proposition (appendix A.3)",
        "|Ω_{k+1,k}| ≥ n/16, from which Assumption 2 is said to follow",
    ),
    Erratum(
        "range",
        "that is n ≥ 81^r: 6,561 for r = 2, 531,441 for r = 3; at the paper's n = 1000 no rank above 1",
        "log(1000) / (4 * log(3)), 2",
        "<",
        "Section 3.3, second Proposition",
        "r ≤ log n / (4 log 3)",
    ),
    Erratum(
        "net",
        "𝒩_{1/4}: the angle of a chord of ½ is larger than π/12, and the cones would not cover",
        "2 * asin(1 / 4), pi / 12",
        ">",
        "Proof of the second Proposition (appendix A.3)",
        "a_k ∈ 𝒩_{1/2}",
    ),
    Erratum(
        "start",
        "the top r algebraic eigenvalues: M* has no negative one. The same for Gaussian factors, but not if columns "
        "are scaled (1 … 0.1, n = 200, r = 5: the smallest eigenvalue among the five of largest modulus)",
        "(lambda w: (min(w[np.argsort(-abs(w))][:5]), 0))((lambda U, Y: eigvalsh(np.where(U @ U.T >= 0, U @ U.T, "
        "-abs(Y @ Y.T))))(*np.random.default_rng(0).standard_normal((2, 200, 5)) * [[np.linspace(1, 0.1, 5)], "
        "[np.ones(5)]]))",
        "<",
        "Section 4.1, eq. (init)",
        "the right singular vectors of the top r singular values",
    ),
    Erratum(
        "half",
        "half of it, 3.8, is the bound r ≤ ½ log₂ n of the first Proposition",
        "log2(200) / 2, log2(200)",
        "<",
        "Section 4.4",
        "the assumed bound r ≤ ½ log n; log₂ 200 ≈ 7.6",
    ),
)


@cache
def _names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(PREAMBLE, found)
    return found


def evaluate(code: str) -> tuple[float, float]:
    """The two sides that a line computes.

    Examples
    --------
    >>> evaluate("1 / 2 * gamma(1), gamma(1)")
    (0.5, 1.0)
    """
    left, right = eval(code, dict(_names()))
    return float(left), float(right)


def _holds(left: float, relation: str, right: float) -> bool:
    """Whether two sides stand in a relation; sides that are equal to rounding are equal."""
    same = math.isclose(left, right, rel_tol=EQUAL, abs_tol=EQUAL**2)
    strict = {"=": False, "≤": left < right, "<": left < right, "≥": left > right, ">": left > right}[relation]
    return (same and relation in "=≤≥") or (strict and not same)


class TableErrata(Experiment):
    """Every error that was found in the print, with a line of code that shows it.

    Examples
    --------
    >>> from unrelu._old.experiments import table_errata
    >>> row = table_errata.trial({"erratum": "errata/gradient"})
    >>> row["left"], row["right"]  # the gradient as printed, and the derivative of F
    (12.0, 6.0)
    """

    name = "table-errata"
    title = "Errors in the print"
    where = "throughout"
    full: ClassVar[Sizes] = {"trials": 1}
    quick: ClassVar[Sizes] = {}

    def setting(self, sizes: Sizes) -> str:
        """The same in every run: nothing is drawn at random."""
        return f"{len(WRONG)} statements that are false, {len(IMPRECISE)} that are imprecise; a line of code each"

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per statement."""
        return [{"erratum": erratum.key} for erratum in (*WRONG, *IMPRECISE)]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return 0.02

    def trial(self, task: Task) -> Row:
        """The two sides of the statement."""
        erratum = next(e for e in (*WRONG, *IMPRECISE) if e.key == task["erratum"])
        left, right = evaluate(erratum.code)
        return {"left": left, "right": right}

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """A statement is not reproduced if the line contradicts it."""
        found = []
        for erratum in WRONG:
            sides = _sides(rows, erratum)
            words = "nothing" if sides is None else f"{_said(erratum, sides)} is false"
            refutes = None if sides is None else not _holds(sides[0], erratum.relation, sides[1])
            if refutes is False:
                words = f"{_said(erratum, sides)} holds"
            found.append(refuted(erratum.key, refutes, words, why=f"Right: {erratum.right}"))
        return found

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Two tables: what is false, and what is imprecise."""
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(
                    self.name,
                    "Statements that are false as printed. The line of code computes both sides on an instance; the "
                    "paper says that they stand in the relation shown.",
                    _lines(rows, WRONG),
                ),
                Table.of(
                    f"{self.name}-imprecise",
                    "Statements that are incomplete, undefined somewhere, or say less than they seem to. They are not "
                    "judged.",
                    _lines(rows, IMPRECISE),
                ),
            ),
            judgements=self.judged(sizes, rows),
            notes=(
                "Each line of code runs by itself after: " + "; ".join(PREAMBLE.strip().splitlines()),
                "None of these errors touches Theorems 1 and 2, and none a theorem's substance: with the right "
                "constants they hold wherever they were tried (table-theorems, table-noise).",
            ),
        )


def _sides(rows: Sequence[Row], erratum: Erratum) -> tuple[float, float] | None:
    """What was computed, if it is two numbers."""
    for row in rows:
        sides = numbers([row], "left") + numbers([row], "right")
        if row.get("erratum") == erratum.key and len(sides) == 2:
            return sides[0], sides[1]
    return None


def _said(erratum: Erratum, sides: tuple[float, float] | None) -> str:
    return "nothing" if sides is None else f"{sides[0]:.4g} {erratum.relation} {sides[1]:.4g}"


def _lines(rows: Sequence[Row], errata: Sequence[Erratum]) -> list[dict[str, Cell]]:
    lines: list[dict[str, Cell]] = []
    for erratum in errata:
        where, claim = erratum.words()
        said = _said(erratum, _sides(rows, erratum))
        lines.append(
            {
                "where": where,
                "printed": claim,
                "right": erratum.right,
                "line of code": erratum.code,
                "outcome": f"{said}: false" if erratum.judged and said != "nothing" else said,
            }
        )
    return lines
