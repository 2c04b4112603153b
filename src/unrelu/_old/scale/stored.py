"""The parts of a long run as arrays and plain numbers, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.loop.history import Stop
from unrelu._old.scale.blocks import Found, Totals
from unrelu._old.scale.polish import Fit
from unrelu._old.scale.seed import Seed

__all__ = ["found_from", "found_in", "kept_seed", "seed_from"]

Arrays = dict[str, NDArray[Any]]
# Arrays of a solved block.
OF_SEED = ("rows", "cols", "left", "right", "level")
# Arrays of a fit that passes have made, if there were any.
OF_PART = ("seen", "gradient", "normal", "squares")
OF_FIT = ("share", "seen", "normal", "squares")


def kept_seed(seed: Seed) -> tuple[dict[str, Any], Arrays]:
    """A solved block."""
    state = {
        "unit": seed.unit,
        "alike": seed.alike,
        "code": seed.code.value,
        "reason": seed.reason,
        "sigma": seed.sigma,
    }
    return state, {f"seed_{name}": getattr(seed, name) for name in OF_SEED}


def seed_from(state: dict[str, Any], arrays: Arrays) -> Seed:
    """The same again."""
    return Seed(
        **{name: arrays[f"seed_{name}"] for name in OF_SEED},
        unit=state["unit"],
        alike=state["alike"],
        code=Stop(state["code"]),
        reason=state["reason"],
        sigma=state["sigma"],
    )


def found_in(fit: Fit | None, part: Found | None) -> tuple[dict[str, Any], Arrays]:
    """A fit on its way, and a pass that is not finished."""
    state: dict[str, Any] = {}
    arrays: Arrays = {}
    if fit is not None:
        state["fit"] = {"sigma": fit.sigma, "totals": _numbers(fit.totals), "gains": list(fit.gains)}
        arrays |= {"fit_left": fit.left, "fit_right": fit.right}
        arrays |= {
            f"fit_{name}": value for name in ("share", "seen", "normal") if (value := getattr(fit, name)) is not None
        }
        for k, (here, step) in enumerate(fit.before):
            arrays |= {f"before{k}_here": here, f"before{k}_step": step}
    if part is not None:
        state["part"] = {"totals": _numbers(part.totals), "done": part.done}
        arrays |= {"part_seen": part.seen, "part_gradient": part.gradient, "part_normal": part.normal}
        arrays["part_squares"] = part.squares
    return state, arrays


def found_from(state: dict[str, Any], arrays: Arrays) -> tuple[Fit | None, Found | None]:
    """The same again."""
    fit = part = None
    if "fit" in state:
        left = arrays["fit_left"]
        right = left if np.array_equal(left, arrays["fit_right"]) else arrays["fit_right"]
        count = sum(name.endswith("_here") for name in arrays)
        before = tuple((arrays[f"before{k}_here"], arrays[f"before{k}_step"]) for k in range(count))
        kept = state["fit"]
        known: dict[str, Any] = {name: arrays.get(f"fit_{name}") for name in OF_FIT}
        known |= dict(sigma=kept["sigma"], totals=_totals(kept["totals"]), gains=tuple(kept["gains"]))
        fit = Fit(left, right, before=before, **known)
    if "part" in state:
        kept = state["part"]
        seen, gradient, normal, squares = (arrays[f"part_{name}"] for name in OF_PART)
        part = Found(seen, gradient, normal, squares, _totals(kept["totals"]), kept["done"])
    return fit, part


def _numbers(totals: Totals) -> dict[str, Any]:
    """As JSON can hold them: there is no infinity."""
    return {name: value if np.isfinite(value) else None for name, value in asdict(totals).items()}


def _totals(kept: dict[str, Any]) -> Totals:
    least = {"low": np.inf, "high": -np.inf}
    numbers: dict[str, Any] = {name: least[name] if value is None else value for name, value in kept.items()}
    return Totals(**numbers)
