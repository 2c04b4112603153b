"""Tables of samples by variables with limits of detection."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.golden.case import Case, Data

__all__ = ["cases"]

Array = np.ndarray

MODEL, ENDS = "table model", "table intervals"


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    for name, draw, options, wants, quick in (*_margins(), *_limits(), *_structures(), *_kinds_of_columns()):
        yield Case(f"tables/{name}", "impute", draw, options, wants, quick=quick, review=WRONG.get(name, ""))
    # The same with a draw for which the answer is 25 standard deviations off, far outside its intervals.
    yield Case(
        "tables/random-one-column-far-off",
        "impute",
        partial(drawn, censored=0.0, random_column=0.4, limits_as="none"),
        wants=(MODEL, ENDS),
        seed="tables/random-one-column",
        review="low rank chosen by a few held-out cells of one column; right is an error near 0.7",
    )
    yield Case(
        "newrows/tables",
        "impute",
        partial(drawn, new=30, names="abcdefgh"),
        wants=("table new rows",),
        quick=True,
    )
    yield Case("newrows/tables-log", "impute", partial(drawn, margin="log", new=30), LOG, ("table new rows",))
    draw = partial(drawn, n=14, own=0.0, censored=0.5, new=30)
    yield Case("newrows/tables-exact", "impute", draw, wants=("table new rows",))


LOG = {"scale": "log"}
WRONG = {
    "intervals": "valid intervals of single cells, below one limit or above another, are refused as swapped",
    "huber-named-rank": "factors far too large; right is an error below 1",
    "named-rank-above": "factors far too large; right is an error below 1",
}
# Name, draw, options, what is recorded besides, whether it is quick.
Line = tuple[str, Any, dict[str, Any], tuple[str, ...], bool]


def _margins() -> Iterator[Line]:
    yield "normal", drawn, {}, (MODEL, ENDS, "table middle"), True
    yield "log", partial(drawn, margin="log"), LOG, (MODEL, ENDS, "table middle"), True
    yield "log-identity", partial(drawn, margin="log"), {}, (MODEL, ENDS), False
    yield "log-per-column", partial(drawn, margin="log", m=60, n=14, spread=True), LOG, (ENDS,), False
    yield "skewed", partial(drawn, margin="skew"), {}, (MODEL, ENDS), False
    yield "no-skew", partial(drawn, margin="skew"), {"skew": False}, (MODEL, ENDS), False
    yield "uniform", partial(drawn, margin="uniform"), {}, (ENDS,), False
    yield "heavy-tails", partial(drawn, margin="heavy"), {}, (ENDS,), False
    yield "counts", partial(drawn, margin="counts", limits_as="number"), {}, (MODEL, ENDS, "table counts"), False
    draw = partial(drawn, margin="counts", limits_as="number")
    yield "counts-any-number", draw, {"bounds": (-np.inf, np.inf)}, (ENDS, "table counts"), False
    draw = partial(drawn, margin="counts", random_share=0.2, censored=0.0, limits_as="none")
    yield "counts-random", draw, {}, (ENDS, "table counts"), False


def _limits() -> Iterator[Line]:
    names = "abcdefgh"
    yield "limits-number", partial(drawn, limits_as="number", same_unit=True), {}, (MODEL, ENDS), False
    yield "limits-dict", partial(drawn, limits_as="dict", limited=5, names=names), {}, (ENDS,), True
    yield "limits-series", partial(drawn, limits_as="series", names=names), {}, (ENDS,), False
    yield "limits-per-cell", partial(drawn, limits_as="batches"), {}, (ENDS,), False
    yield "limits-per-cell-log", partial(drawn, limits_as="batches", margin="log"), LOG, (ENDS,), False
    yield "limits-some-columns", partial(drawn, limited=3), {}, (ENDS,), False
    yield "limits-differ", partial(drawn, censored=(0.05, 0.8)), {}, (ENDS,), False
    yield "below", partial(drawn, side="below"), {"observed": "below"}, (ENDS,), False
    yield "two-sided", partial(drawn, side="between"), {"observed": "between"}, (ENDS,), False
    yield "two-sided-log", partial(drawn, side="between", margin="log"), {"observed": "between"} | LOG, (ENDS,), False
    yield "outside", partial(drawn, side="outside"), {"observed": "outside"}, (ENDS,), False
    yield "intervals", partial(drawn, side="intervals"), {}, (ENDS,), False
    yield "intervals-log", partial(drawn, side="intervals", margin="log"), LOG, (ENDS,), False
    yield "intervals-below", partial(drawn, side="intervals below"), {}, (ENDS,), False
    yield "threshold-auto", partial(drawn, m=200), {"limits": "auto"}, (ENDS, "table limits"), False
    draw = partial(drawn, m=200, side="below")
    yield "threshold-auto-below", draw, {"limits": "auto", "observed": "below"}, (ENDS, "table limits"), False
    draw = partial(drawn, m=200, limited=4, random_share=0.1)
    yield "threshold-auto-mixed", draw, {"limits": "auto"}, (ENDS, "table limits"), False
    yield "random", partial(drawn, censored=0.0, random_share=0.2, limits_as="none"), {}, (MODEL, ENDS), False
    yield "random-log", partial(drawn, censored=0.0, random_share=0.2, limits_as="none", margin="log"), LOG, (), False
    yield (
        "random-one-column",
        partial(drawn, own=0.4, censored=0.0, random_column=0.4, limits_as="none"),
        {},
        (ENDS,),
        False,
    )
    yield "unknown", partial(drawn, unknown_share=0.1), {}, (ENDS,), True
    yield "unknown-log", partial(drawn, unknown_share=0.1, margin="log"), LOG, (ENDS,), False
    yield "entry-range", partial(drawn, margin="skew", positive=True), {"bounds": (0, np.inf)}, (ENDS,), False
    yield "entry-range-both", partial(drawn, margin="uniform", same_unit=True), {"bounds": (0, 1)}, (ENDS,), False
    yield "wrong-limit", partial(drawn, shifted=0.5), {}, (), False


def _structures() -> Iterator[Line]:
    yield "named-rank", drawn, {"rank": 2}, (ENDS, "table middle"), False
    yield "named-rank-one", partial(drawn, rank=1, own=0.3), {"rank": 1}, (ENDS,), False
    yield "named-rank-above", partial(drawn, own=0.3), {"rank": 3}, (ENDS,), False
    yield "named-rank-log", partial(drawn, margin="log"), {"rank": 1} | LOG, (MODEL, ENDS), False
    yield "no-structure", partial(drawn, rank=0), {}, (MODEL, ENDS), False
    yield "offsets", partial(drawn, offsets=True, rank=1), {}, (MODEL, ENDS), False
    yield "correlations", partial(drawn, m=150, n=10, rank=6, own=0.3), {}, (MODEL, ENDS), False
    yield "low-noise", partial(drawn, m=80, own=0.15), {}, (MODEL, ENDS), False
    yield "wide", partial(drawn, m=30, n=40, rank=3), {}, (MODEL,), False
    yield "few-rows", partial(drawn, m=20, n=5), {}, (MODEL, ENDS), True
    yield "long", partial(drawn, m=600, n=6), {}, (ENDS,), False
    yield "mostly-censored", partial(drawn, censored=0.8), {}, (ENDS,), False
    exact = partial(drawn, n=14, own=0.0, censored=0.5)
    yield "exact", exact, {}, ("table exact", "table middle"), True
    yield "exact-few-columns", partial(drawn, own=0.0, censored=0.5), {}, ("table exact",), False
    yield "exact-named-rank", exact, {"rank": 2}, ("table exact",), False
    yield (
        "exact-random",
        partial(drawn, own=0.0, censored=0.0, random_share=0.2, limits_as="none"),
        {},
        ("table exact",),
        False,
    )
    yield "float32", partial(drawn, dtype=np.float32), {}, ("table dtype",), False
    yield "likelihood", partial(drawn, new=30), {}, ("table likelihood",), False
    yield "likelihood-log", partial(drawn, new=30, margin="log"), LOG, ("table likelihood",), False
    yield "likelihood-skew", partial(drawn, new=30, margin="skew"), {}, ("table likelihood",), False


def _kinds_of_columns() -> Iterator[Line]:
    flagged = ("table outliers",)
    huber = {"loss": "huber"}
    yield "words", partial(drawn, names="abcdefgh", words=True), {}, (ENDS, "table labels"), True
    yield "integers", partial(drawn, margin="counts", limits_as="dict", limited=3, names="abcdefgh"), {}, (ENDS,), False
    yield "huber", partial(drawn, m=150, gross=0.02), huber, (MODEL, ENDS, *flagged), False
    yield "huber-log", partial(drawn, m=150, gross=0.02, margin="log"), huber | LOG, (ENDS, *flagged), False
    yield "huber-clean", partial(drawn, m=150), huber, flagged, False
    draw = partial(drawn, m=100, gross=0.02, own=0.3)
    yield "huber-named-rank", draw, huber | {"rank": 2}, flagged, False
    yield "huber-beyond-limit", partial(drawn, m=150, impossible=4), huber, flagged, False


def drawn(
    g: np.random.Generator,
    m: int = 120,
    n: int = 8,
    *,
    rank: int = 2,
    own: float = 0.5,
    offsets: bool = False,
    margin: str = "normal",
    same_unit: bool = False,
    positive: bool = False,
    spread: bool = False,
    side: str = "above",
    censored: float | tuple[float, float] = 0.3,
    limited: int | None = None,
    limits_as: str = "array",
    shifted: float = 0.0,
    random_share: float = 0.0,
    random_column: float = 0.0,
    unknown_share: float = 0.0,
    gross: float = 0.0,
    impossible: int = 0,
    names: str = "",
    words: bool = False,
    new: int = 0,
    dtype: Any = float,
) -> Data:
    """Draw a table of correlated columns and observe it.

    Parameters
    ----------
    rank, own, offsets
        Scores are ``rank`` common factors plus ``own`` times independent noise; with ``offsets`` all columns have the
        same loading.
    margin
        What the values are of the standardised scores; see :func:`_values`. Columns have units of their own unless
        ``same_unit``, over several decades if ``spread``.
    side, censored, limited, limits_as
        What is observed; a share ``censored`` of each of the first ``limited`` columns is not. ``limits_as``: in which
        form limits are passed. ``shifted``: by how many standard deviations these are too high, a mistake.
    random_share, random_column, unknown_share
        Cells that are missing at random besides: of all columns, of the first one, and such as are marked unknown.
    gross, impossible
        A share of wrong cells, eight standard deviations off, and a number of cells that lie beyond their limits.
    names, words
        Names of columns, so that the table is a frame; whether it has columns of text and of a constant too.
    new
        How many rows are kept for later.
    """
    total = m + new
    loading = np.ones((1, n)) if offsets else g.standard_normal((rank, n))
    scores = g.standard_normal((total, len(loading))) @ loading if rank else np.zeros((total, n))
    scores = scores + own * g.standard_normal((total, n))
    standard = scores / np.sqrt(np.sum(loading**2, axis=0) * (rank > 0) + own**2)
    values = _values(g, standard, margin, positive)
    if own == 0 and margin == "normal":
        values = scores  # of low rank
    if margin != "counts" and not same_unit:
        values = values * np.exp((3.0 if spread else 1.0) * g.standard_normal(n))
    measured = values.copy()
    wrong = g.random(values.shape) < gross
    if gross and margin == "log":
        measured[wrong] = values[wrong] * np.exp(8 * np.log(values).std(axis=0))[np.nonzero(wrong)[1]]
    elif gross:
        measured[wrong] = values[wrong] + 8 * values.std(axis=0)[np.nonzero(wrong)[1]]
    limits, kept = _observed(measured, side, censored, n if limited is None else limited, limits_as)
    lost = g.random(values.shape) < random_share
    lost[:, 0] |= g.random(total) < random_column
    unknown = g.random(values.shape) < unknown_share
    X = np.where(kept & ~lost & ~unknown, measured, np.nan)
    if impossible:
        places = np.argwhere(np.isnan(X))[g.permutation(np.isnan(X).sum())[:impossible]]
        X[tuple(places.T)] = values[tuple(places.T)]
        wrong[tuple(places.T)] = True
    given: dict[str, Any] = {
        "X": X[:m].astype(dtype),
        "limits": _form(limits, limits_as, names, shifted * values.std(0)),
    }
    if limits_as == "batches":
        given["limits"] = given["limits"][:m]
    if limits_as == "series":
        given["series"] = True
    if side.startswith("intervals"):
        given["intervals"] = {end: np.broadcast_to(bound, values.shape)[:m] for end, bound in limits.items()}
        del given["limits"]
    if unknown_share:
        given["unknown"] = unknown[:m]
    if new:
        given |= {"new": X[m:], "new truth": values[m:]}
    if names:
        given["names"] = list(names)
    if gross or impossible:
        given["wrong"] = wrong[:m] & ~np.isnan(X[:m])
    truth = values[:m]
    if words:
        given, truth = _with_words(g, given, truth)
    return Data(given, truth, own)


def _values(g: np.random.Generator, standard: Array, margin: str, positive: bool) -> Array:
    """Return the values whose standardised normal scores are given."""
    if margin == "normal":
        return 10 + standard
    if margin == "log":
        return np.exp(standard)
    if margin == "skew":
        return np.exp(0.5 * standard) + (0.0 if positive else -5.0)
    if margin == "uniform":
        return 1 / (1 + np.exp(-1.7 * standard))
    if margin == "heavy":
        return standard * (1 + standard**2 / 4)
    return np.floor(np.exp(1.5 + 0.8 * standard))


def _observed(values: Array, side: str, censored: Any, limited: int, limits_as: str) -> tuple[Any, Array]:
    """Return the limits and which cells they leave."""
    m, n = values.shape
    shares = np.linspace(*censored, n) if isinstance(censored, tuple) else np.full(n, censored)
    if limits_as == "none":
        return None, np.ones(values.shape, bool)
    if limits_as == "number":
        limit = float(np.quantile(values, shares[0]))
        return limit, values >= limit
    if limits_as == "batches":
        sharper = np.arange(m)[:, None] % 2 == 0
        low, high = (np.quantile(values, share * shares[0], axis=0) for share in (0.5, 1.5))
        limits = np.where(sharper, low, high)
        return limits, values >= limits
    quantile = partial(np.quantile, values, axis=0)
    if side == "intervals below":
        high = quantile(shares[0])
        return {"low": -np.inf, "high": np.broadcast_to(high, values.shape)}, values >= high
    if side in ("between", "intervals"):
        low, high = quantile(shares[0] / 2), quantile(1 - shares[0] / 2)
        kept = (values >= low) & (values <= high)
        if side == "between":
            return (low, high), kept
        below = values < low
        return {"low": np.where(below, -np.inf, high), "high": np.where(below, low, np.inf)}, kept
    if side == "outside":
        low, high = quantile(0.5 - shares[0] / 2), quantile(0.5 + shares[0] / 2)
        return (low, high), (values <= low) | (values >= high)
    has = np.arange(n) < limited
    if side == "below":
        limits = np.where(has, quantile(1 - shares[0]), np.inf)
        return limits, values <= limits
    limits = np.array([np.quantile(values[:, k], shares[k]) if has[k] else -np.inf for k in range(n)])
    return limits, values >= limits


def _form(limits: Any, limits_as: str, names: str, shift: Array) -> Any:
    """Return the limits as they are passed; "series" is left to the adapter."""
    if limits_as in ("dict", "series"):
        return {name: float(limit) for name, limit in zip(names, limits, strict=True) if np.isfinite(limit)}
    return limits + shift if isinstance(limits, np.ndarray) else limits


def _with_words(g: np.random.Generator, given: dict[str, Any], truth: Array) -> tuple[dict[str, Any], Array]:
    """Add a column of names before the numbers, and behind them a word and a constant."""
    m = len(truth)
    sites = [f"site {k}" for k in g.integers(0, 5, m)]
    given["text"] = {"sample": [f"S{k:03d}" for k in range(m)], "site": sites}
    given["constant"] = {"year": 2024.0}
    given["limits"] = dict(zip(given["names"], given["limits"].tolist(), strict=True))
    blank = np.full((m, 1), np.nan)
    given["X"] = np.hstack([blank, given["X"], blank, blank])
    given["names"] = ["sample", *given["names"], "site", "year"]
    return given, np.hstack([blank, truth, blank, blank])
