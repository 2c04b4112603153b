"""Tables with a known answer, as the symmetric matrix they are part of: rows, then columns, and nothing of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soak.instance import TABLES, Bools, Draw, Floats, Instance
from soak.kinds import FAMILIES, size

__all__ = ["KINDS", "TableInstance"]

KINDS: dict[str, Draw] = {}


def kind(draw: Draw) -> Draw:
    """List a kind under its name."""
    KINDS[draw.__name__.replace("_", "-")] = draw
    return draw


@dataclass(frozen=True, eq=False)
class TableInstance(Instance):
    """``data`` is the table, of ``cut`` rows; truth and pattern are those of the symmetric matrix."""

    cut: int = 0

    def values(self) -> Floats:
        """The table twice, NaN where nothing was seen."""
        return _whole(np.asarray(self.data, float), np.nan)

    @property
    def exists(self) -> Any:
        """Those of the table."""
        row = np.arange(self.size) < self.cut
        return row[:, None] != row

    def asked_with(self) -> dict[str, Any]:
        """Arguments of the front door."""
        unknown = self.options["unknown"]
        options = {key: self.options[key] for key in ("rank", "threshold", "seen")}
        if np.ndim(options["threshold"]):
            options["threshold"] = options["threshold"][: self.cut, self.cut :]
        own = unknown[: self.cut, self.cut :]
        return options | ({"unknown": own} if own.any() else {})


def _whole(table: Floats, elsewhere: float) -> Floats:
    m, n = table.shape
    whole = np.full((m + n, m + n), elsewhere, dtype=table.dtype)
    whole[:m, m:], whole[m:, :m] = table, table.T
    return whole


def table(rng: np.random.Generator, L: Floats, R: Floats, noise: float, **about: Any) -> Instance:
    """A table seen beyond a threshold, on either side, or at random; some of it unknown."""
    M = L @ R.T
    Y = M + noise * float(np.sqrt(np.mean(M**2))) * rng.standard_normal(M.shape)
    way = str(rng.choice(["sign", "quantile", "below", "random"]))
    tau: float | None = 0.0 if way == "sign" else float(np.quantile(Y, rng.uniform(0.2, 0.7)))
    seen: Bools = tau >= Y if way == "below" else tau <= Y
    dark = np.zeros(M.shape, bool)
    if way == "random":
        tau, seen = None, rng.random(M.shape) < rng.uniform(0.3, 0.9)
    elif rng.random() < 0.3:
        dark = rng.random(M.shape) < 0.1
        seen = seen & ~dark
    if not seen.any():
        return table(rng, L, R, noise, **about)
    side = "below" if way == "below" else "above"
    said = {"threshold": tau, "seen": side, "unknown": dark & ~seen}
    return made(L, R, np.where(seen, Y, np.nan), said, noise, pattern=way, **about)


def made(L: Floats, R: Floats, data: Floats, said: dict[str, Any], noise: float, **about: Any) -> Instance:
    """The instance of a table, with what is said of its absent entries."""
    M, seen, (m, n) = L @ R.T, ~np.isnan(data), data.shape
    dark = said.get("unknown", np.zeros(data.shape, bool))
    unknown = np.ones((m + n, m + n), bool)
    unknown[:m, m:], unknown[m:, :m] = dark, dark.T
    tau = said["threshold"]
    options = {
        "rank": L.shape[1],
        "threshold": _whole(tau, 0.0) if np.ndim(tau) else tau,
        "seen": said.get("seen", "above"),
        "unknown": unknown,
    }
    told = {
        "n": m + n,
        "rows": m,
        "columns": n,
        "rank": L.shape[1],
        "seen": round(float(seen.mean()), 3),
        **about,
    }
    truth, pattern = _whole(M, 0.0), _whole(seen, False)  # type: ignore[arg-type]
    planted = np.vstack([L, R])
    return TableInstance(TABLES, data, truth, pattern.astype(bool), options, planted, noise=noise, about=told, cut=m)


def factors(rng: np.random.Generator, low: int, high: int) -> tuple[str, Floats, Floats]:
    """Rows of any family, columns in general position."""
    while True:
        name, m, n = str(rng.choice(list(FAMILIES))), size(rng, low, high), size(rng, low, high)
        r = int(min(1 + rng.geometric(0.4), 5, max(1, min(m, n) // 2)))
        L = FAMILIES[name](rng, m, r)
        if L.any():
            return name, L, rng.standard_normal((n, r))


@kind
def tables(rng: np.random.Generator) -> Instance:
    """Any family, without noise."""
    name, L, R = factors(rng, 2, 40)
    return table(rng, L, R, 0.0, family=name)


@kind
def tables_small(rng: np.random.Generator) -> Instance:
    """A few rows and columns, whole numbers, repeats."""
    name, L, R = factors(rng, 2, 8)
    if rng.random() < 0.5:
        L, R = np.round(2 * L), np.round(2 * R)
    if rng.random() < 0.3:
        L = L[rng.integers(0, len(L), len(L))]
    return table(rng, L, R, 0.0, family=name) if L.any() and R.any() else tables_small(rng)


@kind
def tables_limits(rng: np.random.Generator) -> Instance:
    """Limits of each row, of each column or of each entry, at quantiles between 20 and 80 %; with noise or without."""
    _, L, R = factors(rng, 6, 40)
    noise = float(rng.choice([0.0, 0.0, 0.03, 0.1]))
    M = L @ R.T
    Y = M + noise * float(np.sqrt(np.mean(M**2))) * rng.standard_normal(M.shape)
    way = str(rng.choice(["rows", "columns", "entries"]))
    levels = rng.uniform(0.2, 0.8, M.shape)
    if way == "rows":
        tau = np.array([np.full(M.shape[1], np.quantile(row, level[0])) for row, level in zip(Y, levels, strict=True)])
    elif way == "columns":
        tau = np.array([np.full(len(M), np.quantile(col, lev[0])) for col, lev in zip(Y.T, levels.T, strict=True)]).T
    else:
        tau = np.quantile(Y, levels)
    return made(L, R, np.where(tau <= Y, Y, np.nan), {"threshold": tau}, noise, pattern=way)


@kind
def tables_noisy(rng: np.random.Generator) -> Instance:
    """With noise from little to a third."""
    name, L, R = factors(rng, 12, 60)
    return table(rng, L, R, float(rng.choice([0.003, 0.03, 0.1, 0.3])), family=name)
