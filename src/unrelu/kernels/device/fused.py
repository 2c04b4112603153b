"""Passes over a region in one kernel each: the matrix is read once, and nothing of its size is written.

Products of single-precision numbers are made of three products of their 11-bit parts where a fit is made, so that it is
right to single precision. Unless a pass is to be ``precise``, those of slopes with factors are made of one: right to a
thousandth of themselves, which shrinks with the slopes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import triton

from unrelu.kernels.device.fused_passes import curvature_pass, quartic_pass, slopes_pass, steps_pass

if TYPE_CHECKING:
    from unrelu.kernels.device.region import Cost, Region

__all__ = ["TUNING", "Tuning", "can_fuse", "curvature", "quartic", "slopes", "steps"]

# Matrix units take no product narrower than this.
NARROWEST = 16
STEPS_AT_ONCE = 4
Pair = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Tuning:
    """How a pass is laid out: rows and columns of a tile, programs to a block of rows, warps, loads on the way."""

    tile: int = 64
    shares: int = 4
    warps: int = 4
    stages: int = 2


# By the name of the pass.
TUNING = {"slopes": Tuning(), "curvature": Tuning(), "quartic": Tuning(), "steps": Tuning(warps=8)}


def can_fuse(dtype: torch.dtype) -> bool:
    """Whether there are fused passes with factors of this precision; in double precision they are not fast."""
    return dtype in (torch.float32, torch.float64)


def slopes(
    region: Region, cost: Cost, fit: Pair, times: Pair, *, precise: bool = True
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sums of a fit, and its slopes times the factors ``times``.

    Returns
    -------
    sums : Tensor
        Σ z² of seen entries (and of unseen ones under squares), Σ −log Φ, Σ t h and Σ t²h(h + t) of unseen ones under
        the likelihood, and how many were seen: in double precision, each entry as often as it counts.
    rows, cols : Tensor
        Z · times[1] and Zᵀ · times[0].
    """
    tuning, programs = _laid_out("slopes", region)
    sums, found = _sums(region, programs, 5), _like(times)
    _launch(
        slopes_pass, region, cost, tuning,
        {**_named("left right", fit), **_named("left_times right_times", times), **_named("to_rows to_cols", found),
         "sums": sums, **_widths(RANK=fit, TIMES=times), **_precisions(fit[0].dtype, precise)},
    )  # fmt: skip
    return sums.sum(0), *found


def curvature(region: Region, cost: Cost, fit: Pair | None, along: Pair, times: Pair, *, precise: bool = True) -> Pair:
    """(C∘L) · times[1] and (C∘L)ᵀ · times[0], with curvatures C at ``fit`` and L of the factors ``along``.

    Of values only is asked whether they are there, so that they may have another precision than the factors. ``fit``
    is not needed where unseen entries say nothing.
    """
    tuning, _ = _laid_out("curvature", region)
    found = _like(times)
    silent = cost.threshold is None
    _launch(
        curvature_pass, region, cost, tuning,
        {**_named("left right", (None, None) if silent else fit), **_named("left_along right_along", along),
         **_named("left_times right_times", times), **_named("to_rows to_cols", found),
         **_widths(RANK=along if silent else fit, ALONG=along, TIMES=times), **_precisions(along[0].dtype, precise)},
    )  # fmt: skip
    return found


def quartic(region: Region, cost: Cost, fit: Pair, along: Pair, beyond: Pair, *, precise: bool = True) -> torch.Tensor:
    """Σ (c L² + 2 z Q), Σ c L Q and Σ c Q² with slopes z and curvatures c of squares at ``fit``."""
    tuning, programs = _laid_out("quartic", region)
    sums = _sums(region, programs, 3)
    _launch(
        quartic_pass, region, cost, tuning,
        {**_line(fit, along, beyond), "sums": sums, **_precisions(fit[0].dtype, precise)},
    )  # fmt: skip
    return sums.sum(0)


def steps(region: Region, cost: Cost, fit: Pair, along: Pair, beyond: Pair, lengths: list[float]) -> torch.Tensor:
    """Sums after steps along a line: the five of :func:`slopes` at fit + t L + t² Q, and Σ z (L + 2 t Q).

    Returns
    -------
    Tensor
        Six rows, in double precision; a column for each length.
    """
    tuning, programs = _laid_out("steps", region)
    parts = []
    for start in range(0, len(lengths), STEPS_AT_ONCE):
        some = lengths[start : start + STEPS_AT_ONCE]
        sums = _sums(region, programs, 8 * STEPS_AT_ONCE)
        padded = [*some, *[0.0] * (STEPS_AT_ONCE - len(some))]
        _launch(
            steps_pass, region, cost, tuning,
            {**_line(fit, along, beyond), "sums": sums, "STEPS": len(some), **_precisions(fit[0].dtype, True),
             **{f"step_{j}": float(step) for j, step in enumerate(padded)}},
        )  # fmt: skip
        parts.append(sums.sum(0).reshape(STEPS_AT_ONCE, 8)[: len(some), :6].T)
    return torch.cat(parts, 1) if parts else torch.zeros((6, 0), dtype=torch.float64, device=region.values.device)


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
            TRIANGLE=region.triangle, SAYS=says, BELOW=cost.below, TILE=tuning.tile, SHARES=tuning.shares,
            num_warps=tuning.warps, num_stages=tuning.stages, enable_fp_fusion=True, **arguments,
        )  # fmt: skip


def _sums(region: Region, programs: int, places: int) -> torch.Tensor:
    """Places for the sums of each program."""
    return torch.zeros((programs, places), dtype=torch.float64, device=region.values.device)


def _like(times: Pair) -> Pair:
    """Where products with factors are added up."""
    return torch.zeros_like(times[0]), torch.zeros_like(times[1])


def _named(names: str, pair: Any) -> dict[str, Any]:
    return dict(zip(names.split(), pair, strict=True))


def _line(fit: Pair, along: Pair, beyond: Pair) -> dict[str, Any]:
    """The factors of a line as a kernel wants them."""
    return {
        **_named("left right", fit), **_named("left_along right_along", along),
        **_named("left_beyond right_beyond", beyond), **_widths(RANK=fit, ALONG=along, BEYOND=beyond),
    }  # fmt: skip


def _widths(**factors: Any) -> dict[str, int]:
    """Ranks, and the powers of two that they are padded to."""
    found = {}
    for name, pair in factors.items():
        rank = pair[0].shape[1]
        found[name] = rank
        found["WIDE" if name == "RANK" else f"{name}_WIDE"] = max(NARROWEST, triton.next_power_of_2(rank))
    return found


def _precisions(dtype: torch.dtype, precise: bool) -> dict[str, str]:
    """How the products of a pass are made."""
    if dtype == torch.float64:
        return {"FIT": "ieee", "PRODUCTS": "ieee"}
    return {"FIT": "tf32x3", "PRODUCTS": "tf32x3" if precise else "tf32"}
