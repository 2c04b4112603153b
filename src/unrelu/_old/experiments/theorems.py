"""``table-theorems``: the paper's theorems and lemmas, each tried on many instances and on some that mean it ill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.certify import certify
from unrelu._old.complete import complete
from unrelu._old.data.planted import FAMILIES
from unrelu._old.experiments.base import Cell, Experiment, Judgement, Result, Row, Setting, Sizes, Table, Task, numbers
from unrelu._old.experiments.groups import COLLECTION, best_bounds
from unrelu._old.experiments.judging import printed
from unrelu._old.experiments.rules import always
from unrelu._old.model.factors import distance
from unrelu._old.theory.assumptions import check_assumption_1, check_assumption_2
from unrelu._old.theory.bounds import lemma_1, lemma_2, root_lemma, tu_lemma
from unrelu._old.theory.geometry import aligned_direction, curvature, quotient_distance, vertical_basis
from unrelu._old.theory.partition import orthant_partition

__all__ = ["TableTheorems", "hessian_on_quotient", "worst_pair"]

Bound = Callable[[Floats, Floats], float]

# Left sides of inequalities, over their right sides, may exceed 1 by rounding.
SLACK = 1e-6
# A start fits if ‖(UUᵀ − M)_Ω‖_F is below this share of ‖M_Ω‖_F, and is the planted matrix if all of it is below that.
FITS, SAME = 1e-9, 1e-5
# Draws until Assumptions 1 and 2 hold; with three rows an orthant it takes about thirty.
MOST_DRAWS = 1000
# Beside Gaussian factors: columns and rows of very different length.
DRAWN = ("gaussian", "condition-10", "log-normal")
# How large the noise is, over the largest of which Theorem 4 speaks.
NOISE_SHARE = 0.9
# Rows, columns, and the ranks of U and V, for the lemmas.
SHAPES = (
    (1, 1, 1, 1),
    (2, 1, 1, 1),
    (2, 2, 2, 2),
    (3, 2, 2, 1),
    (4, 2, 2, 2),
    (3, 2, 1, 2),
    (4, 3, 1, 2),
    (4, 3, 2, 3),
)
PAIRS = 60
LEMMAS: dict[str, Bound] = {
    "theorems/lemma-1": lemma_1,
    "theorems/lemma-2": lambda U, V: lemma_2(U, V, printed=True),
    "theorems/lemma-2-corrected": lemma_2,
    "theorems/tu": tu_lemma,
    "theorems/root": root_lemma,
}
FULL_RANK_ONLY = ("theorems/lemma-1", "theorems/tu")
STATEMENTS = ("theorems/1", "theorems/2", "theorems/euclidean", "theorems/4", *LEMMAS)
# Which trials speak of a statement.
TRIED = {"theorems/euclidean": "theorems/2"}


class TableTheorems(Experiment):
    """Theorems 1, 2 and 4, the Euclidean convexity, and the lemmas; Theorem 3 has a table of its own (table-noise).

    Examples
    --------
    >>> from unrelu._old.experiments import table_theorems
    >>> result = table_theorems(trials=1, rng=0, sizes=[[16, 2]], noisy=[[50, 2]], starts=2, search=50)
    >>> [(row[0], row[3]) for row in result.tables[0].rows][:2]  # statement and violations
    [('Theorem 1', 0), ('Theorem 2', 0)]
    """

    name = "table-theorems"
    title = "Theorems and lemmas"
    where = "Sections 3.1 and 3.2, appendix A"
    full: ClassVar[Sizes] = {
        "trials": 40,
        "sizes": [[12, 2], [16, 2], [40, 2], [60, 3]],
        "noisy": [[50, 2], [100, 2], [100, 3]],
        "starts": 20,
        "search": 1500,
    }
    quick: ClassVar[Sizes] = {"trials": 2, "sizes": [[16, 2], [40, 2]], "noisy": [[50, 2]], "starts": 6, "search": 300}

    def setting(self, sizes: Sizes) -> str:
        """Sizes and numbers of this run."""
        shapes = ", ".join(f"{n}×{r}" for n, r in sizes["sizes"])
        noisy = ", ".join(f"{n}×{r}" for n, r in sizes["noisy"])
        return (
            f"{sizes['trials']} factors each of {shapes} for which Assumptions 1 and 2 hold; Theorem 4 on {noisy} with "
            f"noise of {NOISE_SHARE:g} of its limit; lemmas on {PAIRS} random pairs each and a search for the worst"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """What the tests of theorems ran with."""
        return (
            Setting("factors", "family", ", ".join(DRAWN), "ours", "the theorems speak of any; |entries| of these"),
            Setting(
                "Theorem 1", "starts", f"{sizes['starts']} per factor", "ours", "half Gaussian, half blocks turned"
            ),
            Setting(
                "Theorem 1", "fits", f"misfit below {FITS:g}", "ours", "far above rounding, far below a local minimum"
            ),
            Setting(
                "Theorem 4", "noise", f"{NOISE_SHARE:g} of its limit", "ours", "Gaussian, and the least curved DDᵀ"
            ),
            Setting("Theorem 4", "solution", "from the planted factor", "ours", "the minimum of F that belongs to it"),
            Setting(
                "Theorem 4", "collection", COLLECTION, "ours", "the theorem holds for any that satisfies Assumption 3"
            ),
            Setting(
                "lemmas", "search", f"Nelder–Mead, {sizes['search']} steps", "ours", "for the worst pair of factors"
            ),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per statement, size and factor; one per lemma and seed."""
        seeds = [sizes["rng"] + trial for trial in range(sizes["trials"])]
        return [
            *(
                {"of": of, "n": n, "r": r, "starts": sizes["starts"], "seed": seed}
                for of in ("theorems/1", "theorems/2")
                for n, r in sizes["sizes"]
                for seed in seeds
            ),
            *({"of": "theorems/4", "n": n, "r": r, "seed": seed} for n, r in sizes["noisy"] for seed in seeds),
            *({"of": of, "search": sizes["search"], "seed": seed} for of in LEMMAS for seed in seeds),
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return 0.2 if task["of"] in ("theorems/1", "theorems/4") else 0.1

    def trial(self, task: Task) -> Row:
        """One factor, or one pair of factors that was looked for."""
        of = task["of"]
        if of in LEMMAS:
            return _lemma(of, task["seed"], task["search"])
        if of == "theorems/4":
            return _noisy(task)
        rng = np.random.default_rng([task["seed"], task["n"], task["r"], of == "theorems/1"])
        U = _drawn(rng, task["n"], task["r"], DRAWN[task["seed"] % len(DRAWN)])
        if U is None:
            return {"holds": False}
        return {"holds": True, **(_unique(U, rng, task["starts"]) if of == "theorems/1" else _curved(U, rng))}

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """A theorem speaks of every instance: one exception is one too many."""
        return [_judged(key, rows) for key in STATEMENTS]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """One line per statement."""
        lines = [_line(key, rows) for key in STATEMENTS]
        fits = [row for row in rows if row.get("of") == "theorems/1"]
        certified = sum(bool(row.get("unique")) for row in fits)
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(
                    self.name,
                    "Each statement on every instance. Tightness is the largest ratio of the side that must be smaller "
                    "to the other one, over all instances: 1 says that the bound is attained.",
                    lines,
                ),
            ),
            judgements=self.judged(sizes, rows),
            notes=(
                "Hessians are dense and made by complex steps of the gradient, γ by an iteration on the operator: the "
                "two share no code.",
                "An instance of Theorem 1 counts if a start fits the seen entries, or if uniqueness was proved: "
                f"{certified} of {len(fits)} were.",
                "With 12 rows and r = 2 Assumptions 1 and 2 hold barely; a third of the factors have columns "
                "scaled 1 to 0.1, a third rows of very different length.",
                "In Theorem 4 half of the noise is Gaussian, and half is made to bend F down as much as it can.",
            ),
            says=_says(rows),
        )


def _drawn(rng: np.random.Generator, n: int, r: int, family: str) -> Floats | None:
    """A factor with as many rows in each orthant as in the next, for which Assumptions 1 and 2 hold."""
    signs = np.array(list(product((1.0, -1.0), repeat=r)))[np.arange(n) % 2**r]
    for _ in range(MOST_DRAWS):
        U = np.abs(FAMILIES[family](rng, n, r)) * signs
        groups = orthant_partition(U)
        if check_assumption_1(groups).holds and check_assumption_2(groups, U @ U.T >= 0).holds:
            return U
    return None


def _unique(U: Floats, rng: np.random.Generator, starts: int) -> Row:
    """Theorem 1: whatever fits the seen entries is the planted matrix."""
    M, groups = U @ U.T, orthant_partition(U).groups
    seen = M >= 0
    X = np.where(seen, M, np.nan)
    fits, same, farthest = 0, 0, 0.0
    for k in range(starts):
        start = float(np.sqrt(np.mean(U**2))) * rng.standard_normal(U.shape)
        if k % 2:
            # Each orthant turned by itself: its own block is fitted, and only the others can tell.
            start = U.copy()
            for group in groups:
                start[group] = U[group] @ np.linalg.qr(rng.standard_normal((U.shape[1],) * 2))[0]
        found = complete(X, U.shape[1], threshold=None, loss="observed", method="gauss-newton", start=start).factor
        if np.linalg.norm((found @ found.T - M)[seen]) > FITS * np.linalg.norm(M[seen]):
            continue
        away = distance(found, U) / float(np.linalg.norm(M))
        fits, same, farthest = fits + 1, same + (away < SAME), max(farthest, away)
    unique = certify(X, U.shape[1], threshold=None).unique
    return {"fits": fits, "same": same, "farthest": farthest, "unique": unique}


def hessian_on_quotient(U: Floats, M: Floats, seen: Bools) -> tuple[Floats, Floats]:
    """∇²F(U) as a matrix, by complex steps of the gradient; and the same on a basis of the horizontal space.

    Examples
    --------
    >>> U = np.array([[1.0], [2.0]])
    >>> hessian_on_quotient(U, U @ U.T, np.ones((2, 2), bool))[0].round(6)
    array([[6., 2.],
           [2., 9.]])
    """
    n, r = U.shape

    def gradient(V: Any) -> Any:
        Z = np.where(seen, V @ V.T - M, 0)
        return (Z + Z.T) @ V / 2

    units = np.eye(n * r).reshape(-1, n, r)
    whole = np.array([gradient(U + 1e-20j * D).imag.ravel() / 1e-20 for D in units])
    whole = (whole + whole.T) / 2
    vertical = vertical_basis(U).reshape(-1, n * r)
    across = np.linalg.svd(vertical, full_matrices=True)[2][len(vertical) :] if len(vertical) else np.eye(n * r)
    return whole, across @ whole @ across.T


def _curved(U: Floats, rng: np.random.Generator) -> Row:
    """Theorem 2, and the Euclidean convexity that follows from it."""
    M = U @ U.T
    found = curvature(M >= 0, U)
    whole, across = hessian_on_quotient(U, M, M >= 0)
    half = found.gamma / 2
    others = [10.0**power * rng.standard_normal(U.shape) for power in (-3, -1, 0, 1, 3) for _ in range(10)]
    others += [U + 10.0**power * V for power, V in zip((-6, -3, -1), rng.standard_normal((3, *U.shape)), strict=True)]
    others += [V * (np.arange(U.shape[1]) > 0) for V in others[:5]]  # of lower rank
    others += [np.zeros_like(U), -U, *(U + t * found.direction for t in (1e-3, 0.1, 1.0))]
    directions = [aligned_direction(U, V).ravel() for V in others]
    steepness = [float(D @ whole @ D / (D @ D)) for D in directions if np.linalg.norm(D) > 1e-9 * np.linalg.norm(U)]
    return {
        "gamma": found.gamma,
        "positive": found.positive,
        "ratio": half / float(np.linalg.eigvalsh(across)[0]),
        "euclidean": half / min(steepness),
    }


def _noisy(task: Task) -> Row:
    """Theorem 4: the Hessian at the global solution, with noise just below the theorem's limit."""
    n, r, seed = task["n"], task["r"], task["seed"]
    rng = np.random.default_rng([seed, n, r, 4])
    U = rng.standard_normal((n, r))
    truth = U @ U.T
    still = curvature(truth >= 0, U)
    least = still.direction @ still.direction.T  # UUᵀ − M is about minus the noise, and DDᵀ the direction it bends most
    noise = least if seed % 2 else rng.standard_normal((n, n))
    before = best_bounds(U, truth >= 0, still.gamma, 0.0, seed)
    if before is None:
        return {"holds": False}
    M = truth + noise * (NOISE_SHARE * before[0].noise_limit / np.linalg.norm(noise))
    seen, size = M >= 0, float(np.linalg.norm(M - truth))
    gamma = curvature(seen, U).gamma
    after = best_bounds(U, seen, gamma, size, seed)
    if after is None or not after[0].applies:
        return {"holds": False}
    found = complete(np.where(seen, M, np.nan), r, loss="observed", method="gauss-newton", start=U).factor
    _, across = hessian_on_quotient(found.astype(np.float64), M, seen)
    smallest = float(np.linalg.eigvalsh(across)[0])
    return {"holds": True, "limit": after[0].noise_limit, "gamma": gamma, "ratio": (gamma / 8 - size) / smallest}


def _lemma(of: str, seed: int, steps: int) -> Row:
    """The largest ratio of the left side of a lemma to its right side, of random pairs and of pairs looked for."""
    rng = np.random.default_rng([seed, 5])
    shapes = [shape for shape in SHAPES if shape[1] == shape[2] or of not in FULL_RANK_ONLY]
    shape = shapes[seed % len(shapes)]
    worst = max(_ratio(LEMMAS[of], *_pair(shape, _parameters(shape, rng))) for _ in range(PAIRS))
    return {"ratio": max(worst, worst_pair(LEMMAS[of], shape, rng, steps))}


def worst_pair(bound: Bound, shape: tuple[int, int, int, int], rng: np.random.Generator, steps: int) -> float:
    """The largest ratio of min_Q ‖U − VQ‖_F to a bound that a search finds; ``shape`` is n, r and the ranks of U and V.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> round(worst_pair(tu_lemma, (2, 1, 1, 1), rng, 400), 4)  # orthogonal vectors, the second 0.64 times as long
    1.0
    """
    from scipy.optimize import minimize

    start = _parameters(shape, rng)
    asked = {"maxiter": steps, "xatol": 1e-10, "fatol": 1e-12, "adaptive": True}
    found = minimize(lambda x: -_ratio(bound, *_pair(shape, x)), start, method="Nelder-Mead", options=asked)
    return float(-found.fun)


def _parameters(shape: tuple[int, int, int, int], rng: np.random.Generator) -> Floats:
    """Entries of both factors, of one scale or of two."""
    n, r, _, _ = shape
    scales = 10.0 ** rng.uniform(-2, 1, 2)
    scales[1] = scales[0] if rng.random() < 0.5 else scales[1]
    return np.concatenate([scale * rng.standard_normal(n * r) for scale in scales])


def _pair(shape: tuple[int, int, int, int], x: Floats) -> tuple[Floats, Floats]:
    """Two factors of the ranks asked for: the nearest of that rank to any entries."""
    n, r, *ranks = shape
    found = []
    for entries, rank in zip(x.reshape(2, n, r), ranks, strict=True):
        left, values, right = np.linalg.svd(entries, full_matrices=False)
        found.append((left[:, :rank] * values[:rank]) @ right[:rank])
    return found[0], found[1]


def _ratio(bound: Bound, U: Floats, V: Floats) -> float:
    """The left side of a lemma over its right side; 0 where a factor is zero, of which Lemma 2 does not speak."""
    if not (np.linalg.norm(U) > 0 and np.linalg.norm(V) > 0):
        return 0.0
    right = bound(U, V)
    return quotient_distance(U, V) / right if right > 0 else 0.0


def _counted(key: str, rows: Sequence[Row]) -> tuple[list[Row], list[Row], list[float]]:
    """The trials that speak of a statement, those that contradict it, and how tight it is in each."""
    own = [row for row in rows if row.get("of") == TRIED.get(key, key) and row.get("holds", True)]
    if key == "theorems/1":
        told = [row for row in own if row.get("fits") or row.get("unique")]
        return told, [row for row in told if row.get("same") != row.get("fits")], []
    name = "euclidean" if key == "theorems/euclidean" else "ratio"
    told = [row for row in own if row.get(name) is not None]
    ratios = numbers(told, name)
    against = [row for row in told if not (0 < row[name] <= 1 + SLACK) or row.get("positive") is False]
    return told, against, ratios


def _judged(key: str, rows: Sequence[Row]) -> Judgement:
    told, against, ratios = _counted(key, rows)
    good = len(told) - len(against)
    words = f"{good} of {len(told)} instances"
    if key == "theorems/1":
        fits = sum(row.get("fits") or 0 for row in told)
        words += f": {fits} fits, {sum(row.get('same') or 0 for row in told)} of them the planted matrix"
    elif ratios:
        words += f"; tightest {max(ratios):.4g}"
    why = ""
    if key == "theorems/lemma-2":
        why = "The right side is never below ‖UUᵀ − VVᵀ‖_F / min{σ_min(U), σ_min(V)}; the printed proof is not one"
    if key == "theorems/4":
        why = "The noise of which it speaks is so small that F is bent as without it; K is read as the longest path"
    rests = ("solution", "collection") if key == "theorems/4" else ()
    return always(key, good, len(told), words, otherwise="an instance contradicts it", why=why, rests=rests)


def _line(key: str, rows: Sequence[Row]) -> dict[str, Cell]:
    told, against, ratios = _counted(key, rows)
    claim = printed()["claims"][key]
    return {
        "statement": claim["where"].split(":")[0].split(",")[0],
        "says": claim["claim"],
        "instances": len(told),
        "violations": len(against),
        "tightness": max(ratios) if ratios else None,
        "median": float(np.median(ratios)) if ratios else None,
    }


def _says(rows: Sequence[Row]) -> tuple[str, ...]:
    told, _, ratios = _counted("theorems/4", rows)
    limits = numbers(told, "limit")
    if not limits:
        return ()
    return (
        f"Theorem 4 leaves much room: with noise of {NOISE_SHARE:g} of its limit the least curvature is "
        f"{1 / max(ratios):.3g} times its bound or more. Its limit is small: ‖Δ‖_F of {min(limits):.2g} to "
        f"{max(limits):.2g}.",
        "Lemma 2 is true as printed wherever neither factor is zero, though its proof is not one: with A = UUᵀ and "
        "B = VVᵀ, min_Q ‖U − VQ‖_F ≤ ‖A^½ − B^½‖_F ≤ ‖A − B‖_F / min{σ_min(U), σ_min(V)}, which is no more than the "
        "right side that is printed.",
    )
