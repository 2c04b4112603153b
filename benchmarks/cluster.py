"""What a pass by dask costs beside one by threads of the same machine: two workers, the data on them.

``python benchmarks/cluster.py`` prints, for n = 20,000 and rank 20 in float32:

- seconds of a pass by two worker processes over those of a pass by two threads, taken in turn, and the median of the
  ratios: for polishing passes with and without curvature, for a look at every entry, and for the passes that a method
  by name makes: F with its gradient, and a curvature product, of the one-sided loss;
- the largest difference of what they find;
- how many bytes the client has received.
"""

import argparse
import os
import statistics
import time

import numpy as np

from unrelu.data.dask_source import DaskSource
from unrelu.data.limits import Limits
from unrelu.data.observations import Observations
from unrelu.data.source import ArraySource
from unrelu.kernels import kernel_for
from unrelu.model.losses import OneSided
from unrelu.scale.blocks import Asked, Data
from unrelu.scale.passes import look


def planted(n, rank, sigma, rows, cols):
    """A block of a noisy matrix, the same on both sides of the diagonal, of which what is below zero is not seen."""
    U = np.random.default_rng(0).standard_normal((n, rank)).astype(np.float32)
    i, j = np.arange(rows.start, rows.stop), np.arange(cols.start, cols.stop)
    phase = np.sin(np.minimum.outer(i, j) * 12.9898 + np.maximum.outer(i, j) * 78.233) * 43758.5453
    noise = (phase - np.floor(phase) - 0.5).astype(np.float32) * np.float32(sigma * np.sqrt(12))
    block = U[rows] @ U[cols].T + noise
    block[block < 0] = np.nan
    return block


def persisted(n, rank, sigma, side):
    """The matrix on the workers, made there."""
    import dask.array as da
    from dask import delayed

    places = [slice(start, min(start + side, n)) for start in range(0, n, side)]
    rows = [
        [
            da.from_delayed(
                delayed(planted)(n, rank, sigma, one, other),
                (one.stop - one.start, other.stop - other.start),
                dtype=np.float32,
            )
            for other in places
        ]
        for one in places
    ]
    return da.block(rows).persist()


def numbers(found):
    """Bytes of what a pass brings back."""
    return sum(part.nbytes for part in (found.seen, found.gradient, found.normal, found.squares))


def compared(name, here, there, repeats, difference):
    ratios, own, other = [], [], []
    for _ in range(repeats):
        began = time.perf_counter()
        one = here()
        own.append(time.perf_counter() - began)
        began = time.perf_counter()
        two = there()
        other.append(time.perf_counter() - began)
        ratios.append(other[-1] / own[-1])
    print(
        f"{name:34s} threads {statistics.median(own):6.2f} s   dask {statistics.median(other):6.2f} s   "
        f"overhead {100 * (statistics.median(ratios) - 1):5.0f} %   largest difference {difference(one, two):.1e}",
        flush=True,
    )
    return two


def relative(one, two):
    return float(np.abs(one - two).max() / np.abs(one).max())


def passes(X, lazy, U, repeats):
    here, there = (Data(source, 1.0, 0.0) for source in (ArraySource(X), DaskSource(lazy)))
    for name, asked in (
        ("polishing pass, with curvature", Asked(0.1, gradient=True, curvature=True, first=True)),
        ("polishing pass", Asked(0.1, gradient=True)),
        ("every entry looked at", Asked(first=True)),
    ):
        look(here, (U, U), asked), look(there, (U, U), asked)

        def difference(one, two):
            return relative(one.gradient, two.gradient) if one.gradient.size else relative(one.seen, two.seen)

        found = compared(
            name, lambda a=asked: look(here, (U, U), a), lambda a=asked: look(there, (U, U), a), repeats, difference
        )
        print(f"{'':34s} the client received {numbers(found) / 1e6:.1f} MB", flush=True)


def named(X, lazy, U, repeats):
    """The passes of Gauss-Newton; F differs by its rounding."""
    here, there = (
        kernel_for(Observations(source, Limits(high=0.0)), OneSided()) for source in (ArraySource(X), DaskSource(lazy))
    )
    U = U.astype(np.float32)
    D = np.random.default_rng(2).standard_normal(U.shape).astype(np.float32)
    kept = [kernel.evaluate(U)[2] for kernel in (here, there)]
    print(f"{'':34s} the client receives {8 * U.size / 1e6:.1f} MB of products in each of these:")
    compared("F and its gradient", lambda: here.evaluate(U)[1], lambda: there.evaluate(U)[1], repeats, relative)
    compared(
        "a curvature product",
        lambda: here.curvature(U, D, kept[0]), lambda: there.curvature(U, D, kept[1]), repeats, relative,
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=20_000)
    parser.add_argument("--rank", type=int, default=20)
    parser.add_argument("--side", type=int, default=2000, help="rows and columns of a chunk")
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster),
    ):
        lazy = persisted(asked.n, asked.rank, 0.1, asked.side)
        X = np.concatenate([lazy[k : k + asked.side].compute() for k in range(0, asked.n, asked.side)])
        rng = np.random.default_rng(1)
        U = np.random.default_rng(0).standard_normal((asked.n, asked.rank)) + 0.05 * rng.standard_normal(
            (asked.n, asked.rank)
        )
        print(f"n = {asked.n}, rank {asked.rank}, float32, chunks of {asked.side}; {os.cpu_count()} cores", flush=True)
        passes(X, lazy, U, asked.repeats)
        named(X, lazy, U, asked.repeats)


if __name__ == "__main__":
    main()
