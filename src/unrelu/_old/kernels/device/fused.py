"""Passes over a region in one kernel each: the matrix is read once, and nothing of its size is written.

The product of a fit is right to single precision, by parts of its factors. Unless a pass is to be ``precise``, those of
slopes with factors are right to a thousandth of what is added up, which shrinks with the slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import triton
from triton.runtime.errors import OutOfResources

from unrelu._old.kernels.device import plain
from unrelu._old.kernels.device.fused_look import look_pass
from unrelu._old.kernels.device.fused_passes import curvature_pass, quartic_pass, slopes_pass, steps_pass
from unrelu._old.kernels.device.operands import Pair, padded, parts, sides, width_of
from unrelu._old.kernels.device.region import Looked

if TYPE_CHECKING:
    from unrelu._old.kernels.device.region import Cost, Region

__all__ = ["TUNING", "Tuning", "curvature", "look", "quartic", "slopes", "steps"]

STEPS_AT_ONCE = 4
# There is room for tiles of factors with so many columns and of products with so many. Others are not fused.
WIDEST_FACTOR, WIDEST_PRODUCT = 128, 64


@dataclass(frozen=True)
class Tuning:
    """How a pass is laid out: rows and columns of a tile, programs to a block of rows, warps, loads on the way.

    And how many registers a thread may have; None: as many as it wants.
    """

    tile: int = 64
    shares: int = 4
    warps: int = 4
    stages: int = 1
    registers: int | None = None


# By the name of the pass.
TUNING = {
    "slopes": Tuning(), "curvature": Tuning(), "quartic": Tuning(), "steps": Tuning(warps=8), "look": Tuning(),
}  # fmt: skip
# How products with factors are made: by the first eleven bits, by all in three products, or by the unit itself.
SHORT, IN_THREE, ITSELF = 1, 3, 0


R = TypeVar("R")


def _or_by_tiles(fused: Callable[..., R]) -> Callable[..., R]:
    """The same in PyTorch's tiles on a device whose multiprocessors have too little memory for so high a rank."""

    @wraps(fused)
    def tried(*given: Any, **options: Any) -> R:
        try:
            return fused(*given, **options)
        except OutOfResources:  # before anything was done
            return getattr(plain, fused.__name__)(*given, **options)

    return tried


@_or_by_tiles
def slopes(
    region: Region, cost: Cost, fit: Pair, times: Pair, *, precise: bool = True
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sums of a fit, and its slopes times the factors ``times``.

    Returns
    -------
    sums : Tensor
        Σ z² of seen entries (and of unseen ones under squares), and Σ −log Φ, Σ t h and Σ t²h(h + t) of unseen ones
        under the likelihood: in double precision, each entry as often as it counts.
    rows, cols : Tensor
        Z · times[1] and Zᵀ · times[0].
    """
    if _too_wide((fit,), times):
        return plain.slopes(region, cost, fit, times)
    tuning, programs = _laid_out("slopes", region)
    sums, found = _sums(region, programs, 4), _like(times)
    left, right, how = sides(fit, True)
    _launch(
        slopes_pass, region, cost, tuning,
        {**_named("left right", (left, right)), **_times(times, precise), **_named("to_rows to_cols", found),
         "sums": sums, "WIDE": left.shape[1], "FIT": how},
    )  # fmt: skip
    return _counted(region, sums.sum(0)), *_cut(region, found, times)


@_or_by_tiles
def curvature(region: Region, cost: Cost, fit: Pair | None, along: Pair, times: Pair, *, precise: bool = True) -> Pair:
    """(C∘L) · times[1] and (C∘L)ᵀ · times[0], with curvatures C at ``fit`` and L of the factors ``along``.

    Of values only is asked whether they are there, so that they may have another precision than the factors. ``fit``
    is not needed where unseen entries say nothing.
    """
    if _too_wide((along,) if fit is None else (fit, along), times):
        return plain.curvature(region, cost, fit, along, times)
    return _bent(region, cost, fit, along, times, precise)


def _bent(region: Region, cost: Cost, fit: Pair | None, along: Pair | None, times: Pair, precise: bool) -> Pair:
    """The same, and without ``along`` of C alone."""
    tuning, _ = _laid_out("curvature", region)
    found = _like(times)
    left, right, how = (None, None, "tf32") if along is None else sides(along, precise)
    # The fit is precise in any case: by it an unseen entry counts or does not.
    mine, theirs, fit_how = (None, None, how) if cost.threshold is None or fit is None else sides(fit, True)
    _launch(
        curvature_pass, region, cost, tuning,
        {**_named("left right", (mine, theirs)), **_named("left_along right_along", (left, right)),
         **_times(times, precise), **_named("to_rows to_cols", found),
         "WIDE": 0 if mine is None else mine.shape[1], "ALONG_WIDE": 0 if left is None else left.shape[1],
         "FIT": fit_how, "ALONG_FIT": how},
    )  # fmt: skip
    return _cut(region, found, times)


@_or_by_tiles
def quartic(region: Region, cost: Cost, fit: Pair, along: Pair, beyond: Pair) -> torch.Tensor:
    """Σ (c L² + 2 z Q), Σ c L Q and Σ c Q² with slopes z and curvatures c of squares at ``fit``."""
    if _too_wide((fit, along, beyond)):
        return plain.quartic(region, cost, fit, along, beyond)
    tuning, programs = _laid_out("quartic", region)
    sums = _sums(region, programs, 3)
    _launch(quartic_pass, region, cost, tuning, {**_line(fit, along, beyond), "sums": sums})
    return _counted(region, sums.sum(0))


@_or_by_tiles
def steps(region: Region, cost: Cost, fit: Pair, along: Pair, beyond: Pair, lengths: list[float]) -> torch.Tensor:
    """Sums after steps along a line: the four of :func:`slopes` at fit + t L + t² Q, and Σ z (L + 2 t Q).

    Returns
    -------
    Tensor
        Five rows, in double precision; a column for each length.
    """
    if _too_wide((fit, along, beyond)):
        return plain.steps(region, cost, fit, along, beyond, lengths)
    tuning, programs = _laid_out("steps", region)
    found, line = [], _line(fit, along, beyond)
    for start in range(0, len(lengths), STEPS_AT_ONCE):
        some = lengths[start : start + STEPS_AT_ONCE]
        sums = _sums(region, programs, 8 * STEPS_AT_ONCE)
        padded_steps = [*some, *[0.0] * (STEPS_AT_ONCE - len(some))]
        _launch(
            steps_pass, region, cost, tuning,
            {**line, "sums": sums, "STEPS": len(some),
             **{f"step_{j}": float(step) for j, step in enumerate(padded_steps)}},
        )  # fmt: skip
        found.append(sums.sum(0).reshape(STEPS_AT_ONCE, 8)[: len(some), :5].T)
    if not found:
        return torch.zeros((5, 0), dtype=torch.float64, device=region.values.device)
    return _counted(region, torch.cat(found, 1))


@_or_by_tiles
def look(
    region: Region, cost: Cost, fit: Pair, *, gradient: bool = False, outer: Pair | None = None, first: bool = False
) -> Looked:
    """As :func:`plain.look`: one pass, and one for each 64 columns of ``outer``, right to a thousandth."""
    if _too_wide((fit,), fit) or fit[0].dtype != torch.float32:  # normal matrices are in single precision
        return plain.look(region, cost, fit, gradient=gradient, outer=outer, first=first)
    tuning, programs = _laid_out("look", region)
    device, (height, width) = region.values.device, region.shape
    sums = torch.tensor([[0.0] * 5 + [torch.inf, -torch.inf, 0.0]], dtype=torch.float64, device=device)
    sums = sums.repeat(programs, 1)
    of_rows, of_cols = (torch.zeros((length, 2), dtype=torch.float64, device=device) for length in (height, width))
    found = _like(fit) if gradient else (None, None)
    left, right, how = sides(fit, True)
    times = _times(fit, True)
    if not gradient:
        times |= dict.fromkeys(("left_high", "left_low", "right_high", "right_low"))
    _launch(
        look_pass, region, cost, tuning,
        {**_named("left right", (left, right)), **times, **_named("to_rows to_cols", found),
         "of_rows": of_rows, "of_cols": of_cols, "sums": sums, "WIDE": left.shape[1], "FIT": how,
         "FIRST": first},
    )  # fmt: skip
    totals = torch.cat([_counted(region, sums[:, :5].sum(0)), sums[:, 5].amin()[None], sums[:, 6].amax()[None]])
    squares, seen = ((of_rows[:, place], of_cols[:, place]) for place in (0, 1))
    slopes = _uncounted(found, fit) if gradient else None
    return Looked(totals, seen if first else None, squares, slopes, _normal(region, cost, fit, outer))


def _normal(region: Region, cost: Cost, fit: Pair, outer: Pair | None) -> Pair | None:
    """The curvatures times products of columns, as many of these at once as there is room for."""
    if outer is None:
        return None
    cost = replace(cost, threshold=None) if cost.sigma is None else cost
    rows, cols = (torch.empty_like(one) for one in outer)
    for start in range(0, outer[0].shape[1], WIDEST_PRODUCT):
        some = slice(start, start + WIDEST_PRODUCT)
        found = _bent(region, cost, fit, None, (outer[0][:, some], outer[1][:, some]), precise=False)
        rows[:, some], cols[:, some] = found
    often = 0.5 if region.triangle else 1.0
    return rows.mul_(often), cols.mul_(often)


def _uncounted(found: Any, like: Pair) -> Pair:
    """Without padding, each entry of a triangle once."""
    rows, cols = (one[: len(its), : its.shape[1]] for one, its in zip(found, like, strict=True))
    return rows, cols


def _too_wide(factors: tuple[Pair, ...], times: Pair | None = None) -> bool:
    """Whether tiles of these would not fit into a multiprocessor."""
    products = 0 if times is None else times[0].shape[1]
    return products > WIDEST_PRODUCT or max(pair[0].shape[1] for pair in factors) > WIDEST_FACTOR


def _laid_out(name: str, region: Region) -> tuple[Tuning, int]:
    """How a pass is laid out, and in how many programs."""
    tuning = TUNING[name]
    return tuning, triton.cdiv(region.values.shape[0], tuning.tile) * tuning.shares


def _launch(kernel: Any, region: Region, cost: Cost, tuning: Tuning, arguments: dict[str, Any]) -> None:
    """Run a kernel on a region; nothing is done where it is empty."""
    values, quiet = region.values, region.quiet
    height, width = values.shape
    if not (height and width):
        return
    if cost.threshold is None or not region.symmetric:  # then there is nothing that a diagonal entry could say
        quiet = None
    says = 0 if cost.threshold is None else 1 if cost.sigma is None else 2
    with torch.cuda.device_of(values):
        kernel[(triton.cdiv(height, tuning.tile) * tuning.shares,)](
            values=values, quiet=quiet, height=height, width=width,
            row_stride=values.stride(0), col_stride=values.stride(1),
            first_row=region.first_row, first_col=region.first_col,
            inverse=float(cost.inverse), threshold=float(cost.threshold or 0.0), sigma=float(cost.sigma or 1.0),
            TRIANGLE=region.triangle, INSIDE=region.triangle or quiet is None, SAYS=says, BELOW=cost.below,
            TILE=tuning.tile, SHARES=tuning.shares,
            num_warps=tuning.warps, num_stages=tuning.stages, maxnreg=tuning.registers, enable_fp_fusion=True,
            **arguments,
        )  # fmt: skip


def _counted(region: Region, found: torch.Tensor) -> torch.Tensor:
    """Above a diagonal each entry stands for two: passes have counted it once."""
    return found * 2 if region.triangle else found


def _sums(region: Region, programs: int, places: int) -> torch.Tensor:
    """Places for the sums of each program."""
    return torch.zeros((programs, places), dtype=torch.float64, device=region.values.device)


def _like(times: Pair) -> Pair:
    """Where products with factors are added up: as wide and long as these are padded to."""
    left, right = (torch.zeros_like(padded(one)) for one in times)
    return left, right


def _cut(region: Region, found: Pair, like: Pair) -> Pair:
    """What was added up, without what it was padded with."""
    rows, cols = (_counted(region, one) for one in _uncounted(found, like))
    return rows, cols


def _named(names: str, pair: Any) -> dict[str, Any]:
    return dict(zip(names.split(), pair, strict=True))


def _times(times: Pair, precise: bool) -> dict[str, Any]:
    """Factors that slopes are multiplied with: what matrix units read of them, and the rest if that is asked for."""
    how = ITSELF if times[0].dtype != torch.float32 else IN_THREE if precise else SHORT
    found: dict[str, Any] = {"TIMES": times[0].shape[1], "TIMES_WIDE": width_of(times[0].shape[1]), "PRODUCTS": how}
    for side, factor in zip(("left", "right"), times, strict=True):
        high, low = (factor, None) if how == ITSELF else parts(factor)
        found[f"{side}_high"] = padded(high).T.contiguous()
        found[f"{side}_low"] = padded(low).T.contiguous() if how == IN_THREE and low is not None else None
    return found


def _line(fit: Pair, along: Pair, beyond: Pair) -> dict[str, Any]:
    """The factors of a line as a kernel wants them."""
    found: dict[str, Any] = {}
    for name, suffix, pair in (("", "", fit), ("ALONG_", "_along", along), ("BEYOND_", "_beyond", beyond)):
        left, right, found[f"{name}FIT"] = sides(pair, True)
        found |= {f"left{suffix}": left, f"right{suffix}": right, f"{name}WIDE": left.shape[1]}
    return found
