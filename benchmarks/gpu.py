"""Time passes and whole completions on a GPU, after the tests of the device kernels on it.

    python benchmarks/gpu.py                          on a machine with CUDA
    python benchmarks/gpu.py --no-tests --sizes 40000
    python benchmarks/gpu.py --device cpu --shrink 40 --no-tests       tries the script on any machine

Prints seconds of a pass for value and gradient over those of one read of the matrix at the speed of a copy, with
products in full single precision and to a thousandth, and the error of the gradient beside double precision; the same
of a curvature product; then seconds and errors of Gauss-Newton from the tailored start, of landmarks with a polishing
pass, and of a solve in double precision. Rank 20.
"""

import argparse
import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

import unrelu
from common import internal, relative_error, status

RANK = 20
TESTS = (
    "kernels/test_device.py", "kernels/test_device_tails.py", "kernels/test_fused.py", "scale/test_torch_engine.py",
)  # fmt: skip


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
    print(f"n = {n}: a read at the speed of a copy {1e3 * read:.2f} ms ({X.nbytes / read / 1e12:.2f} TB/s)", flush=True)
    observations_class, limits = internal("data.observations", "Observations"), internal("data.limits", "Limits")
    source, kernel_class = (
        internal("data.tensor_source", "TensorSource"),
        internal("kernels.device.kernel", "DeviceKernel"),
    )
    losses = internal("model.losses", "LOSSES")
    observations = observations_class(source(X), limits(high=0.0))
    # Kernels compute in units of the data's unit, and factors in those of its root.
    near = (U + 0.05 * torch.randn(U.shape, device=device)) / observations.unit**0.5
    direction = torch.randn(U.shape, device=device).cpu().numpy()
    for name in ("observed", "one-sided", "censored"):
        loss = losses[name](0.1) if name == "censored" else losses[name]()
        # The same pass over the same values with factors in double precision, tile by tile.
        exact = kernel_class(observations_class(source(X).in_dtype(np.float64), limits(high=0.0)), loss)
        truth = exact.evaluate(near.double().cpu().numpy())[1].tensor
        for precise in (True, False):
            kernel = kernel_class(observations, loss, precise=precise)
            factor = kernel.brought(near.cpu().numpy())
            gradient = kernel.evaluate(factor)[1].tensor.double()
            error = float((gradient - truth).norm() / truth.norm())
            taken = seconds(lambda kernel=kernel, factor=factor: kernel.evaluate(factor), device)
            how = "products in full" if precise else "products to 1e-3"
            print_pass(name, how, taken, read, f"   gradient error {error:.1e}")
        kept, along = kernel.evaluate(factor)[2], kernel.brought(direction)
        taken = seconds(lambda k=kernel, f=factor, d=along, w=kept: k.curvature_roughly(f, d, w), device)
        print_pass(name, "curvature product", taken, read)


def print_pass(loss, what, taken, read, more=""):
    print(f"  {loss:10s} {what:18s} {1e3 * taken:8.2f} ms   {taken / read:6.2f} reads{more}", flush=True)


def whole(name, n, device, dtype, sigma, **options):
    """Time a whole completion of data that are on the device; the error is that of some rows."""
    U, X = planted(n, device, dtype, sigma)
    found = unrelu.complete(X, RANK, rng=0, **options)
    taken = seconds(lambda: unrelu.complete(X, RANK, rng=0, **options), device, 3)
    some = slice(None, None, max(1, n // 2000))
    factor, truth = np.asarray(found.numpy().factor, float), U.double().cpu().numpy()
    error = relative_error(factor[some] @ factor.T, truth[some] @ truth.T)
    print(f"{name}, n = {n}: {taken:.3f} s, error {error:.1e}, {status(found)}", flush=True)


def run_tests(device):
    """Run the tests of the device kernels, which may be frozen under tests/_old, on the hardware."""
    root = Path(__file__).parent.parent
    folders = (root / "tests" / "_old", root / "tests")
    files = [next((folder / name for folder in folders if (folder / name).exists()), None) for name in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", *(str(file) for file in files if file)]
    done = subprocess.run(command, cwd=root, env=os.environ | {"UNRELU_DEVICE": device}, check=False)
    missing = ", ".join(name for name, file in zip(TESTS, files, strict=True) if file is None)
    print(
        f"tests on {device}: {'passed' if done.returncode == 0 else 'FAILED'}; missing: {missing or 'none'}", flush=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", nargs="+", type=int, default=[40_000, 100_000], help="of the passes")
    parser.add_argument("--shrink", type=int, default=1, help="divide all sizes by this")
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--no-calls", action="store_true", help="no whole completions")
    options = parser.parse_args()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "no GPU"
    print(f"{datetime.date.today()}, {name}, PyTorch {torch.__version__}, rank {RANK}", flush=True)
    if not options.no_tests:
        run_tests(options.device)
    for n in options.sizes:
        passes(n // options.shrink, device)
    if options.no_calls:
        return
    single, double = torch.float32, torch.float64
    for name, n, dtype, sigma, more in (
        ("Gauss-Newton from the tailored start", 50_000, single, 0.0, dict(method="gauss-newton", tol=1e-5)),
        ("landmarks and a polishing pass", 100_000, single, 0.1, dict(method=unrelu.Landmarks(passes=1))),
        ("double precision", 20_000, double, 0.0, dict(method="gauss-newton", tol=1e-10)),
    ):
        whole(name, n // options.shrink, device, dtype, sigma, **more)


if __name__ == "__main__":
    main()
