"""Fused passes beside a dense reference; run by test_fused.py in a process of its own.

In Triton's interpreter, or compiled where UNRELU_DEVICE says so. Prints a line of JSON for each case: its name, and the
largest error, relative to what is added up: a sum of products is off by roundings of its terms. ``fused_cases.py 2 8``
is the third of eight parts, for compiling takes most of the time.
"""

import itertools
import json
import os
import sys
from dataclasses import replace

DEVICE = os.environ.get("UNRELU_DEVICE", "cpu")
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
from scipy.special import log_ndtr
from triton.runtime.errors import OutOfResources

from unrelu._old.kernels.device import fused, fused_parts
from unrelu._old.kernels.device.region import Cost, Region
from unrelu._old.kernels.device.tails import excess

SIZE = 330  # of the whole matrix, of which a region is a part


def reference(region, cost, x):
    """Weights, slopes, curvatures and the four sums of a fit x, in double precision."""
    m = region.values.numpy().astype(np.float64) * cost.inverse
    i, j = np.ogrid[: m.shape[0], : m.shape[1]]
    i, j, seen = i + region.first_row, j + region.first_col, ~np.isnan(m)
    w = np.where(i < j, 2.0, np.where(i == j, 1.0, 0.0)) if region.triangle else np.ones(m.shape)
    if region.quiet is not None and region.symmetric:
        w = np.where(~seen & (i == j) & region.quiet.numpy()[np.minimum(i, SIZE - 1)], 0.0, w)
    z, c, log, once, twice = np.where(seen, x - np.where(seen, m, 0), 0), 1.0 * seen, 0 * x, 0 * x, 0 * x
    square = z**2
    if cost.threshold is not None:
        side = 1 if cost.below else -1
        t = side * (cost.threshold - x)
        if cost.sigma is None:
            z, c = np.where(seen, z, side * np.maximum(-t, 0)), np.where(seen, 1, t < 0)
            square = z**2
        else:
            t = np.where(seen, 0, t / cost.sigma)
            h = np.exp(-(t**2) / 2 - 0.5 * np.log(2 * np.pi) - log_ndtr(t))
            h = np.where(t < -5, excess(np.maximum(-t, 0)) - t, h)
            z = np.where(seen, z, side * cost.sigma * h)
            c = np.where(seen, 1, np.clip(h * (h + t), 0, 1))
            log, once, twice = np.where(seen, 0, -log_ndtr(t)), t * h * ~seen, t**2 * h * (h + t) * ~seen
    return w, z, c, np.array([np.sum(w * part) for part in (square, log, once, twice)])


def difference(found, exact, sizes=None):
    """The largest error relative to the largest number, or to the largest of some sizes; sums each by itself."""
    worst = 0.0
    for one, other, size in zip(found, exact, exact if sizes is None else sizes, strict=True):
        one = one.double().cpu().numpy()
        assert one.shape == other.shape
        size = np.max(np.abs(size))
        worst = max(worst, float(np.max(np.abs(one - other)) / max(size, 1e-9)) if np.isfinite(one).all() else np.inf)
    return worst


def there(region, *pairs):
    """Where the passes run."""
    quiet = None if region.quiet is None else region.quiet.to(DEVICE)
    moved = replace(region, values=region.values.to(DEVICE), quiet=quiet)
    return moved, *(tuple(one.to(DEVICE) for one in pair) for pair in pairs)


def drawn(name, says, below, rank, dtypes, seed=0):
    """A region of a kind, a cost, and a fit near the values."""
    rng, (values, factors) = np.random.default_rng(seed), dtypes
    shape, first, triangle, symmetric = {
        "triangle": ((150, 150), (0, 0), True, True),
        "above": ((70, 100), (20, 130), True, True),
        "offset": ((100, 170), (90, 30), True, True),
        "below": ((70, 65), (200, 3), True, True),
        "whole": ((130, 130), (0, 0), False, True),
        "rectangle": ((65, 200), (7, 11), False, False),
        "transposed": ((140, 75), (0, 0), False, True),
        "narrow": ((3, 129), (0, 0), True, True),
    }[name]
    left, right = (rng.normal(size=(n, rank)).astype(factors) / rank**0.25 for n in shape)
    if symmetric:
        both = rng.normal(size=(SIZE, rank)) / rank**0.25
        left, right = (both[f : f + n].astype(factors) for f, n in zip(first, shape, strict=True))
    m = left.astype(float) @ right.T + 0.1 * rng.normal(size=shape)
    unseen = m < 0.125 if below else m > 0.125
    unseen |= np.equal.outer(np.arange(shape[0]) + first[0], np.arange(shape[1]) + first[1]) & (rng.random(shape) < 0.6)
    m = np.where(unseen, np.nan, m * 4).astype(values)
    kept = torch.from_numpy(m) if name != "transposed" else torch.from_numpy(np.ascontiguousarray(m.T)).T
    quiet = torch.from_numpy(rng.random(SIZE) < 0.5)
    cost = {"observed": (None, None), "one-sided": (0.125, None), "censored": (0.125, 0.1)}[says]
    fit = tuple(torch.from_numpy(f + 0.05 * rng.normal(size=f.shape).astype(factors)) for f in (left, right))
    return Region(kept, *first, triangle, symmetric, quiet), Cost(0.25, cost[0], below, cost[1]), fit, rng


def pair(rng, region, rank, dtype):
    return tuple(torch.from_numpy(rng.normal(size=(n, rank)).astype(dtype)) for n in region.values.shape)


def dense(factors):
    return factors[0].double().numpy() @ factors[1].double().numpy().T


def compared(drawing, width, precise):
    """Errors of the four passes of one drawing."""
    region, cost, fit, rng = drawing
    rank, dtype = fit[0].shape[1], fit[0].numpy().dtype
    along, times, beyond = (pair(rng, region, n, dtype) for n in (2 * rank, width, rank))
    x, change, curve = dense(fit), dense(along), dense(beyond)
    w, z, c, sums = reference(region, cost, x)
    one, other = (part.double().numpy() for part in times)
    moved, fit_there, along_there, times_there, beyond_there = there(region, fit, along, times, beyond)
    found = fused.slopes(moved, cost, fit_there, times_there, precise=precise)
    yield "sums", difference(found[0], sums)
    # Slopes are differences of fits and values, each with a rounding of its own.
    known = np.abs(np.nan_to_num(region.values.double().numpy())) * cost.inverse
    terms = w * (absolute(fit) + known) if precise else w * np.abs(z)
    sizes = terms @ np.abs(other), terms.T @ np.abs(one)
    yield "slopes", difference(found[1:], [(w * z) @ other, (w * z).T @ one], sizes)
    kept = None if cost.threshold is None else fit_there
    found = fused.curvature(moved, cost, kept, along_there, times_there, precise=precise)
    terms = w * absolute(along)
    sizes = terms @ np.abs(other), terms.T @ np.abs(one)
    yield "curvature", difference(found, [(w * c * change) @ other, (w * c * change).T @ one], sizes)
    if cost.sigma is None:
        found = fused.quartic(moved, cost, fit_there, along_there, beyond_there)
        exact = np.array([(c * change**2 + 2 * z * curve), c * change * curve, c * curve**2])
        scale = np.sum(w * np.abs(exact), axis=(1, 2)) + 1e-9
        yield "quartic", float(np.max(np.abs(found.cpu().numpy() - np.sum(w * exact, axis=(1, 2))) / scale))
    yield from looked_at(region, moved, cost, fit, fit_there)
    lengths = [0.0, 0.01, 0.3, 1.0, -0.1]
    found, worst = fused.steps(moved, cost, fit_there, along_there, beyond_there, lengths).cpu(), 0.0
    assert found.shape == (5, 5)
    for number, t in enumerate(lengths):
        w, z, _, sums = reference(region, cost, x + t * change + t * t * curve)
        direct = w * z * (change + 2 * t * curve)
        worst = max(worst, difference(found[:4, number], sums))
        worst = max(worst, abs(float(found[4, number]) - direct.sum()) / (np.abs(direct).sum() + 1e-9))
    yield "steps", worst


def looked_at(region, moved, cost, fit, fit_there):
    """Errors of a look: sums, what is counted and left of each row and column, and what each asks for."""
    rng, rank = np.random.default_rng(0), fit[0].shape[1]
    bare = fused.look(moved, cost, fit_there)
    assert bare.gradient is bare.normal is bare.seen is None
    outer = tuple(torch.from_numpy(rng.normal(size=(len(side), 70)).astype(np.float32)) for side in fit)
    found = fused.look(
        moved, cost, fit_there, gradient=True, outer=tuple(side.to(DEVICE) for side in outer), first=True
    )
    x = dense(fit)
    w, z, c, sums = reference(region, cost, x)
    m = region.values.double().numpy() * cost.inverse
    seen = ~np.isnan(m)
    if cost.sigma is None:  # unseen entries ask for nothing
        z, c = np.where(seen, z, 0), np.where(seen, c, 0)
    once, left, m = w / (2 if region.triangle else 1), np.where(seen, z, 0) ** 2, np.where(seen, m, 0)
    over = 0 * x if cost.threshold is None else (x - cost.threshold) * (1 if cost.below else -1)
    beyond = np.where(seen, 0, np.maximum(over, 0)) ** 2
    totals = [
        np.sum(w * seen),
        np.sum(w * left),
        np.sum(w * beyond),
        sums[2] if cost.sigma is not None else 0.0,
        np.sum(w * m**2),
    ]
    worst = max(
        abs(float(one) - other) / max(abs(other), 1e-9) for one, other in zip(found.totals[:5], totals, strict=True)
    )
    assert difference(bare.squares, [side.cpu().numpy() for side in found.squares]) < 1e-6
    assert float((bare.totals[:4] - found.totals[:4]).abs().max()) <= 1e-6 * float(found.totals[:4].abs().max())
    yield "look-sums", worst if any(totals) else float(found.totals[:5].abs().max())
    # A triangle has one side of its diagonal alone, and a tile on the diagonal looks at both.
    known = region.values.double().numpy() * cost.inverse
    within = known[seen & (w > 0)] if region.triangle else known[seen]
    if within.size:
        low, high = found.totals[5:].tolist()
        least, most = within.min(), within.max()
        if not region.triangle:
            np.testing.assert_allclose((low, high), (least, most), rtol=1e-7)
        assert low <= least + 1e-6
        assert high >= most - 1e-6
    counts = [(once * seen).sum(axis) for axis in (1, 0)]
    for one, other in zip(found.seen, counts, strict=True):
        np.testing.assert_array_equal(one.cpu().numpy(), other)
    yield "look-squares", difference(found.squares, [(once * left).sum(axis) for axis in (1, 0)])
    one, other = (side.double().numpy() for side in fit)
    terms = once * (absolute(fit) + np.abs(m))
    sizes = terms @ np.abs(other), terms.T @ np.abs(one)
    assert found.gradient[0].shape[1] == rank
    yield "look-slopes", difference(found.gradient, [(once * z) @ other, (once * z).T @ one], sizes)
    one, other = (side.double().numpy() for side in outer)
    sizes = once @ np.abs(other), once.T @ np.abs(one)
    yield "look-curvature", difference(found.normal, [(once * c) @ other, (once * c).T @ one], sizes)


def absolute(factors):
    """Σ |u||v|: what the terms of a product add up to."""
    return np.abs(factors[0].double().numpy()) @ np.abs(factors[1].double().numpy()).T


def cases():
    single, double, mixed = ("f4", "f4"), ("f8", "f8"), ("f8", "f4")
    yield from itertools.product(["triangle"], ["observed", "one-sided", "censored"], [True, False], [3], [single])
    for name in ("above", "offset", "below", "whole", "rectangle", "transposed", "narrow"):
        yield name, "censored", True, 3, single
    for name in ("rectangle", "transposed", "offset"):
        yield name, "one-sided", False, 1, single
    yield "offset", "censored", False, 20, single
    yield "rectangle", "one-sided", True, 50, single  # wider than parts may be
    yield "narrow", "censored", False, 70, single  # wider than tiles may be
    yield "transposed", "one-sided", True, 20, mixed
    yield "rectangle", "observed", True, 1, mixed
    if DEVICE == "cpu":  # nowhere are fused passes asked for factors in double precision
        yield "triangle", "censored", True, 3, double


def tails_alone():
    """The tails as the passes have them, from −40 to 13."""
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(t, log, ratio, bend, SIZE: tl.constexpr):
        at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        found = fused_parts.tails(tl.load(t + at))
        tl.store(log + at, found[0])
        tl.store(ratio + at, found[1])
        tl.store(bend + at, found[2])

    for dtype in (torch.float32, torch.float64) if DEVICE == "cpu" else (torch.float32,):
        t = torch.linspace(-40, 13, 8192, dtype=dtype, device=DEVICE)
        found = [torch.zeros_like(t) for _ in range(3)]
        kernel[(4,)](t, *found, SIZE=2048)
        z = t.double().cpu().numpy()
        log = log_ndtr(z)
        h = np.where(z < 0, excess(np.maximum(-z, 0)) - z, np.exp(-(z**2) / 2 - 0.5 * np.log(2 * np.pi) - log))
        bend = h * np.where(z < 0, excess(np.maximum(-z, 0)), h + z)
        yield (
            str(dtype),
            max(
                float(np.max(np.abs(f.double().cpu().numpy() / e - 1)))
                for f, e in zip(found, (-log, h, bend), strict=True)
            ),
        )


def unusual():
    """Fits that are NaN show where they are; what a device has no room for is done tile by tile."""
    for says in ("one-sided", "censored"):
        region, cost, fit, _ = drawn("triangle", says, True, 3, ("f4", "f4"))
        region.values[5, :] = region.values[:, 5] = torch.nan
        fit[0][5] = fit[1][5] = torch.nan
        moved, there_fit = there(region, fit)
        found = fused.slopes(moved, cost, there_fit, there_fit)
        where = 1 if says == "censored" else 0
        yield f"nan {says} sums", 0.0 if torch.isnan(found[0][where]) else 1.0
        yield f"nan {says} row", 0.0 if torch.isnan(found[1][5]).all() else 1.0
        beyond = fused.look(moved, cost, there_fit, gradient=True)
        yield f"nan {says} look", 0.0 if torch.isnan(beyond.totals[2]) else 1.0
    region, cost, fit, rng = drawn("triangle", "censored", True, 3, ("f4", "f4"))
    along, beyond = pair(rng, region, 6, np.float32), pair(rng, region, 3, np.float32)
    moved, fit, along, beyond = there(region, fit, along, beyond)
    outer = tuple(torch.ones((len(side), 4), device=DEVICE) for side in fit)

    def everything():
        looked = fused.look(moved, cost, fit, gradient=True, outer=outer, first=True)
        yield from (looked.totals, *looked.squares, *looked.seen, *looked.gradient, *looked.normal)
        yield from fused.slopes(moved, cost, fit, fit)
        yield from fused.curvature(moved, cost, fit, along, fit)
        yield fused.steps(moved, cost, fit, along, beyond, [0.5])
        yield fused.quartic(moved, replace(cost, sigma=None), fit, along, beyond)

    def no_room(*_):
        raise OutOfResources(2, 1, "shared memory")

    usual, before = list(everything()), fused._launch
    fused._launch = no_room
    by_tiles = list(everything())
    fused._launch = before
    for number, (one, other) in enumerate(zip(usual, by_tiles, strict=True)):
        yield f"no-room {number}", float((one - other).abs().max() / one.abs().max())


def signed_curvatures():
    """Of doubles with signs: curvatures are halved in precision, and signs with them."""
    from unrelu import Censored, Limits, OneSided
    from unrelu._old.data.observations import Observations
    from unrelu._old.data.source import ArraySource
    from unrelu._old.data.tensor_source import TensorSource
    from unrelu._old.kernels.device import feed
    from unrelu._old.kernels.device.kernel import DeviceKernel
    from unrelu._old.kernels.general import GeneralKernel

    if DEVICE == "cpu":
        feed.has_fused = lambda device: True
    rng, device = np.random.default_rng(0), torch.device(DEVICE)
    U, D = rng.standard_normal((2, 70, 2))
    M = U @ np.diag([1.0, -1.0]) @ U.T + 0.1
    X = np.where(M >= 0, M, np.nan)
    for loss in (OneSided(), Censored(0.3)):
        found = []
        for source, kind in (
            (ArraySource(X), GeneralKernel),
            (TensorSource(torch.as_tensor(X).to(device)), DeviceKernel),
        ):
            kernel = kind(Observations(source, Limits(high=0.0)), loss).signed([1, -1])
            assert not isinstance(kernel, DeviceKernel) or kernel.single
            found.append(np.asarray(kernel.curvature(U, D, kernel.evaluate(U)[2])))
        yield f"signed {loss.name}", float(np.abs(found[0] - found[1]).max() / np.abs(found[0]).max())


def looks_of_the_engine():
    """A look at a whole matrix where passes are fused, beside that of threads."""
    from unrelu._old.data.source import ArraySource
    from unrelu._old.data.tensor_source import ByBlocks, TensorSource
    from unrelu._old.scale.blocks import Asked, Data
    from unrelu._old.scale.engines import torch as engine
    from unrelu._old.scale.engines.threads import Threads

    if DEVICE == "cpu":
        engine.passes_for = lambda device, dtype: fused
    engine.SIDES["cpu"] = engine.SIDE = engine.BLOCK = 70
    rng, device = np.random.default_rng(0), torch.device(DEVICE)
    for kind in ("alike", "different", "table"):
        left = rng.standard_normal((130, 4))
        right = rng.standard_normal((90, 4)) if kind == "table" else left
        noise = 0.3 * rng.standard_normal((len(left), len(right)))
        X = left @ right.T + ((noise + noise.T) / 2**0.5 if kind == "alike" else noise)
        X = np.where(X < 0, np.nan, X).astype(np.float32)
        near = left + 0.05 * rng.standard_normal(left.shape)
        factors = (near, near if right is left else right)
        for there in (TensorSource(torch.as_tensor(X).to(device)), ByBlocks(ArraySource(X), device)):
            found = [
                one.look(
                    Data(source, 4.0, 0.0, 1.0, kind != "table", kind == "alike"), factors,
                    Asked(0.3, gradient=True, curvature=True, first=True), 70, None, lambda found, rows: None,
                )
                for one, source in ((Threads(), ArraySource(X)), (engine.OnDevice(), there))
            ]  # fmt: skip
            np.testing.assert_array_equal(found[1].seen, found[0].seen)
            for name in ("gradient", "normal", "squares"):
                one, other = (getattr(each, name) for each in found)
                yield f"{name} {kind}", float(np.max(np.abs(one - other)) / np.max(np.abs(one)))
            for name in ("count", "squares", "beyond", "pulled", "norm", "low", "high"):
                one, other = (getattr(each.totals, name) for each in found)
                yield f"{name} {kind}", abs(one - other) / abs(one)


if __name__ == "__main__":
    part, parts = (int(word) for word in sys.argv[1:] or ("0", "1"))
    for number, case in list(enumerate(cases()))[part::parts]:
        for what, error in compared(drawn(*case, seed=number), width=(5, 3, 17)[number % 3], precise=number % 2 == 0):
            name, says, below, rank, dtypes = case
            how = "precise" if number % 2 == 0 else "short"
            words = [what, name, says, "below" if below else "above", f"rank {rank}", "/".join(dtypes), how]
            print(json.dumps([" ".join(words), error]), flush=True)  # noqa: T201
    for dtype, error in tails_alone() if part == parts - 1 else ():
        print(json.dumps([f"tails {dtype}", error]))  # noqa: T201
    for words, error in [*unusual(), *signed_curvatures(), *looks_of_the_engine()] if part == 0 else ():
        name = "" if words.startswith(("nan", "no-room")) else "engine "
        print(json.dumps([f"{name}{words}", error]))  # noqa: T201
