"""The cost model of a cluster (``unrelu.scale.costs``) against small runs, and drawn for a million rows and more.

``python benchmarks/cluster_cost.py -o docs/images/cluster-cost.png`` measures passes by two workers of this machine,
takes the workers' rate from the smallest, and prints what the model says of the others beside what they took.
"""

import argparse
import statistics
import time

import numpy as np

from cluster import persisted
from unrelu.data.dask_source import DaskSource
from unrelu.scale.blocks import Asked, Data
from unrelu.scale.costs import Attachment, Pass, Rates
from unrelu.scale.passes import look

RANK, SIDE = 20, 2000


def measured(n, repeats=3):
    """Seconds of a polishing pass with curvature, the data on the workers."""
    data = Data(DaskSource(persisted(n, RANK, 0.1, SIDE)), 1.0, 0.0)
    U = np.random.default_rng(1).standard_normal((n, RANK))
    asked, taken = Asked(0.1, gradient=True, curvature=True, first=True), []
    look(data, (U, U), asked)
    for _ in range(repeats):
        began = time.perf_counter()
        look(data, (U, U), asked)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def rate_of(n, seconds):
    """Entries a second of one worker that explain a pass, with the other rates as they are."""
    low, high = 1e5, 1e11
    for _ in range(100):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if Pass(n, RANK, SIDE, 2, 4).seconds(Rates(middle)) > seconds else (low, middle)
    return low


def drawn(rate, path):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    rows = np.logspace(6, 8, 25)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    rates = Rates(rate, read=1e9)
    for colour, workers in zip(("tab:blue", "tab:orange", "tab:green"), (10, 100, 1000), strict=True):
        for kind, style in ((Attachment, "-"), (Pass, "--")):
            if kind is Attachment and workers > 10:
                continue  # the scheduler is what they wait for, so that all are one line
            taken = [kind(int(n), RANK, 8000, workers, 4).seconds(rates) / 3600 for n in rows]
            what = "rows attached, 10 workers or more" if kind is Attachment else f"a pass over all, {workers} workers"
            axes[0].loglog(rows, taken, style, color="black" if kind is Attachment else colour, label=what)
    axes[0].axhline(24, color="grey", linewidth=0.8)
    axes[0].annotate("a day", (rows[0], 24), xytext=(2, 3), textcoords="offset points", color="grey")
    axes[0].set(xlabel="rows", ylabel="hours", title=f"Time, rank {RANK}, float32")
    one = [Pass(int(n), RANK, 8000, 100, 4) for n in rows]
    for name, numbers in {
        "a pass: read": [p.bytes_looked_at for p in one],
        "a pass: between workers": [p.bytes_between for p in one],
        "a pass: to the workers": [p.bytes_out for p in one],
        "a pass: to the client": [p.bytes_back for p in one],
        "attachment: read": [Attachment(int(n), RANK, 8000, 100, 4).bytes_looked_at for n in rows],
    }.items():
        axes[1].loglog(rows, np.array(numbers) / 1e12, label=name)
    axes[1].set(xlabel="rows", ylabel="terabytes", title="Bytes, 100 workers, chunks of 8,000")
    for each in axes:
        each.grid(alpha=0.3)
        each.legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", help="draw a picture")
    parser.add_argument("--sizes", type=int, nargs="+", default=[6000, 12_000, 20_000])
    asked = parser.parse_args()
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster),
    ):
        taken = {n: measured(n) for n in asked.sizes}
    first = asked.sizes[0]
    rate = rate_of(first, taken[first])
    print(f"rank {RANK}, float32, chunks of {SIDE}, two workers; {rate:.2e} entries a second and worker")
    for n, seconds in taken.items():
        one = Pass(n, RANK, SIDE, 2, 4)
        print(
            f"n = {n:6d}: measured {seconds:5.2f} s   model {one.seconds(Rates(rate)):5.2f} s   {one.tasks:4d} tasks   "
            f"read {one.bytes_looked_at / 1e6:7.1f} MB   between workers up to {one.bytes_between / 1e6:6.1f} MB   "
            f"back {one.bytes_back / 1e6:5.1f} MB"
        )
    for n in (10**6, 10**7, 10**8):
        for workers in (100, 1000):
            whole, rows = (
                kind(n, RANK, 8000, workers, 4).seconds(Rates(rate, read=1e9)) for kind in (Pass, Attachment)
            )
            print(f"n = {n:.0e}, {workers:4d} workers: attachment {rows / 3600:8.2f} h   a pass {whole / 3600:10.1f} h")
    if asked.output:
        drawn(rate, asked.output)


if __name__ == "__main__":
    main()
