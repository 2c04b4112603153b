"""What passes and whole completions take on a GPU: the tests first, then the table.

``python benchmarks/gpu.py`` on a machine with CUDA runs the tests of the device kernels on the hardware, and prints

- seconds of a residual-and-gradient pass over those of one read of the matrix at the speed of a copy, with products in
  full single precision and with products to a thousandth, and how far the gradients are from double precision;
- the same of a curvature product as directions ask for it;
- seconds of Gauss–Newton from the tailored start, of landmarks with a polishing pass, and of a solve in double
  precision.

``--tune`` tries layouts of the fused passes instead, and prints how long each takes: the best of them belongs into
``TUNING`` of ``fused.py``.

``--host`` needs no GPU: it prints what of landmarks with a polishing pass is not done there, but by the processor.

``--device cpu --small`` tries the script on any machine, by PyTorch's tiles, and says nothing about speed.
"""

import argparse
import datetime
import os
import subprocess
import sys
import time
from itertools import product

import numpy as np
import torch

import unrelu
from unrelu.data.limits import Limits
from unrelu.data.observations import Observations
from unrelu.data.tensor_source import TensorSource
from unrelu.kernels.device.kernel import DeviceKernel
from unrelu.model.losses import Censored, Observed, OneSided
from unrelu.scale.polish import _asked_for

RANK = 20
TESTS = (
    *(f"tests/kernels/test_{name}.py" for name in ("device", "device_tails", "fused")),
    "tests/scale/test_torch_engine.py",
)


def planted(n, device, dtype=torch.float32, sigma=0.0):
    """A matrix of rank 20 on the device, NaN below zero, made by bands: nothing else of its size is there."""
    generator = torch.Generator(device=device).manual_seed(0)
    U = torch.randn((n, RANK), generator=generator, device=device, dtype=dtype)
    X = torch.empty((n, n), device=device, dtype=dtype)
    for top in range(0, n, 4096):
        band = slice(top, min(top + 4096, n))
        X[band] = U[band] @ U.T
        if sigma:
            X[band] += sigma * torch.randn((X[band].shape), generator=generator, device=device, dtype=dtype)
    for top in range(0, n, 4096):  # the same on both sides of the diagonal, to the last digit
        for left in range(0, top + 1, 4096):
            rows, cols = slice(top, min(top + 4096, n)), slice(left, min(left + 4096, n))
            if left < top:
                X[rows, cols] = X[cols, rows].T
            else:
                corner = X[rows, cols].triu()
                X[rows, cols] = corner + corner.triu(1).T
    X[X < 0] = torch.nan
    return U, X


def seconds(work, device, repeats=7):
    """The median, after a first time that compiles."""
    work()
    taken = []
    for _ in range(repeats):
        _wait(device)
        began = time.perf_counter()
        work()
        _wait(device)
        taken.append(time.perf_counter() - began)
    return sorted(taken)[repeats // 2]


def _wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def passes(n, device):
    U, X = planted(n, device, sigma=0.1)
    part = X[: max(1, n // 4)]  # a copy of all would not have room beside it everywhere
    read = seconds(part.clone, device) / 2 * (n / len(part))
    print(
        f"n = {n}: one read at the speed of a copy {1e3 * read:.2f} ms ({X.nbytes / read / 1e12:.2f} TB/s)", flush=True
    )
    observations = Observations(TensorSource(X), Limits(high=0.0))
    # Kernels compute in units of the data's unit, and factors in those of its root.
    near = (U + 0.05 * torch.randn(U.shape, device=device)) / observations.unit**0.5
    for name, loss in (("observed", Observed()), ("one-sided", OneSided()), ("censored", Censored(0.1))):
        # The same pass over the same values with factors in double precision, tile by tile.
        exact = DeviceKernel(Observations(TensorSource(X).in_dtype(np.float64), Limits(high=0.0)), loss)
        truth = exact.evaluate(near.double().cpu().numpy())[1].tensor
        for precise in (True, False):
            kernel = DeviceKernel(observations, loss, precise=precise)
            factor = kernel.brought(near.cpu().numpy())
            gradient = kernel.evaluate(factor)[1].tensor.double()
            error = float((gradient - truth).norm() / truth.norm())
            taken = seconds(lambda kernel=kernel, factor=factor: kernel.evaluate(factor), device)
            how = "products in full" if precise else "products to 1e-3"
            asked = (2.7 if precise else 1.8) * (2 if name == "censored" else 1)
            print(
                f"  {name:10s} {how:18s} {1e3 * taken:8.2f} ms   {taken / read:6.2f} reads (asked {asked})   "
                f"gradient {error:.1e}",
                flush=True,
            )
        kept, along = kernel.evaluate(factor)[2], kernel.brought(torch.randn(U.shape, device=device).cpu().numpy())
        taken = seconds(lambda k=kernel, f=factor, d=along, w=kept: k.curvature_roughly(f, d, w), device)
        print(f"  {name:10s} curvature product  {1e3 * taken:8.2f} ms   {taken / read:6.2f} reads", flush=True)


def tuned(n, device):
    """Every layout that may be worth it, for the passes that take the time."""
    from unrelu.kernels.device import fused

    U, X = planted(n, device, sigma=0.1)
    read = seconds(X.clone, device) / 2
    print(f"n = {n}: one read at the speed of a copy {1e3 * read:.2f} ms", flush=True)
    observations, usual = Observations(TensorSource(X), Limits(high=0.0)), dict(fused.TUNING)
    for name, loss in (("one-sided", OneSided()), ("censored", Censored(0.1))):
        for precise in (True, False):
            kernel = DeviceKernel(observations, loss, precise=precise)
            factor = kernel.brought((U / observations.unit**0.5).cpu().numpy())
            kept = kernel.evaluate(factor)[2]
            for stages, shares, registers in product((1, 2), (1, 2, 4, 8), (None, 168, 128)):
                layout = fused.Tuning(shares=shares, stages=stages, registers=registers)
                fused.TUNING |= {"slopes": layout, "curvature": layout}
                for what, work in {
                    "gradient": lambda k=kernel, f=factor: k.evaluate(f),
                    "curvature": lambda k=kernel, f=factor, w=kept: k.curvature(f, f, w),
                }.items():
                    try:
                        taken = f"{seconds(work, device, 3) / read:6.2f} reads"
                    except Exception as error:
                        taken = type(error).__name__
                    how = "full" if precise else "short"
                    print(f"  {what:9s} {name:10s} {how:5s} {layout}: {taken}", flush=True)
    fused.TUNING |= usual


def whole(name, n, device, dtype, most, sigma=0.0, **options):
    """A whole completion of what is on the device already, and how far the fit is from the truth on some rows."""
    U, X = planted(n, device, dtype, sigma)
    found = unrelu.complete(X, RANK, rng=0, **options)
    taken = seconds(lambda: unrelu.complete(X, RANK, rng=0, **options), device, 3)
    some = torch.arange(0, n, max(1, n // 2000), device=device)
    left, truth = torch.as_tensor(np.asarray(found.numpy().factor)).to(device, torch.float64), U.double()
    error = float((left[some] @ left.T - truth[some] @ truth.T).norm() / (truth[some] @ truth.T).norm())
    print(f"{name}, n = {n}: {taken:.3f} s (asked {most} s), error {error:.1e}", flush=True)
    print(f"  {found.verdict.reason}", flush=True)


def host(n):
    """What of landmarks and a pass over n rows the processor does: the block, and the steps that rows ask for."""
    rng = np.random.default_rng(0)
    U, noise = rng.standard_normal((40 * RANK, RANK)), 0.1 * rng.standard_normal((40 * RANK, 40 * RANK))
    X = U @ U.T + np.triu(noise) + np.triu(noise, 1).T
    X = np.where(X >= 0, X, np.nan).astype(np.float32)

    def block():
        found = unrelu.complete(X, RANK, rng=0)
        return found.determined

    pairs = RANK * (RANK + 1) // 2
    normal = np.zeros((n, pairs), np.float32)
    normal[:, [j * (j + 3) // 2 for j in range(RANK)]] = n
    normal += rng.standard_normal((n, pairs), np.float32)
    gradient, factor = rng.standard_normal((2, n, RANK))
    cpu = torch.device("cpu")
    print(f"{os.cpu_count()} cores: a block of {len(X)} rows {seconds(block, cpu, 3):.2f} s, ", end="")
    print(f"steps of {n} rows {seconds(lambda: _asked_for(gradient, normal, factor), cpu, 3):.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes that any machine can do")
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--host", action="store_true", help="what the processor does of landmarks and a pass")
    parser.add_argument("--tune", action="store_true", help="try layouts of the fused passes")
    asked = parser.parse_args()
    if asked.host:
        host(100_000)
        return
    device = torch.device(asked.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "no GPU"
    print(f"{datetime.date.today()}, {name}, PyTorch {torch.__version__}, rank {RANK}", flush=True)
    if asked.tune:
        tuned(40_000 // (40 if asked.small else 1), device)
        return
    if not asked.no_tests:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *TESTS],
            env=os.environ | {"UNRELU_DEVICE": asked.device},
            check=False,
        )
        print(f"tests on {asked.device}: {'passed' if done.returncode == 0 else 'FAILED'}", flush=True)
    shrunk = 40 if asked.small else 1
    for n in (40_000, 100_000):
        passes(n // shrunk, device)
    whole("Gauss-Newton from the tailored start", 50_000 // shrunk, device, torch.float32, 0.25, method="gauss-newton",
          tol=1e-5)  # fmt: skip
    whole(
        "landmarks and a polishing pass",
        100_000 // shrunk,
        device,
        torch.float32,
        0.3,
        sigma=0.1,
        method=unrelu.Landmarks(passes=1),
    )
    whole("double precision", 20_000 // shrunk, device, torch.float64, 0.2, method="gauss-newton", tol=1e-10)


if __name__ == "__main__":
    main()
