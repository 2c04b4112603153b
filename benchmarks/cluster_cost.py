"""The cost model of a cluster (``unrelu.scale.costs``) against small runs, and drawn for a million rows and more.

``python benchmarks/cluster_cost.py -o docs/images/cluster-cost.png`` measures attachment and passes by two workers of
this machine, takes the workers' rates from the smallest, and prints what the model says of the others beside what they
took: the least of three repeats. What goes between workers is what they have logged: the most of them.
"""

import argparse
import time

import numpy as np

from cluster import persisted
from unrelu.data.dask_source import DaskSource
from unrelu.scale.blocks import Asked, Data
from unrelu.scale.costs import Attachment, Pass, Rates, Run
from unrelu.scale.passes import attach, look
from unrelu.scale.rows import Placed, Reader
from unrelu.scale.seed import seed_rows

RANK, SIDE = 20, 2000
# Of a large run: rows and columns of a chunk of the store, and passes where there is noise.
LARGE, PASSES = 8000, 2
STEPS = ("attachment", "pass, with curvature", "pass, without")
# The logs of workers hold so many transfers.
LOGGED = 100_000


def step_of(name, n):
    """The model of what is measured."""
    if name == STEPS[0]:
        return Attachment(n, RANK, SIDE, 2, 4, noise=True)
    return Pass(n, RANK, SIDE, 2, 4, curvature=name == STEPS[1])


def heard(dask_worker):
    """Bytes that a worker got from others since it was last asked: of results, and of chunks of the data."""
    log = dask_worker.transfer_incoming_log
    assert len(log) < LOGGED, "the log is too short for all transfers"
    every = [pair for entry in log for pair in entry["keys"].items()]
    log.clear()
    results = sum(size for key, size in every if "unrelu" in str(key))
    return results, sum(size for _, size in every) - results


def measured(client, n, repeats=3):
    """Of each step: the least seconds, and the most that went between workers. The data are on the workers."""
    from distributed import wait

    lazy = persisted(n, RANK, 0.1, SIDE)
    wait(lazy)
    source = DaskSource(lazy)
    data, U = Data(source, 1.0, 0.0), np.random.default_rng(1).standard_normal((n, RANK))
    landmarks = seed_rows(source, n, step_of(STEPS[0], n).landmarks, SIDE, np.random.default_rng(2))
    reader = Reader(source, 1.0, "one")
    asked = [Asked(0.1, gradient=True, curvature=curvature, first=curvature) for curvature in (True, False)]
    does = (
        lambda: attach(reader, (landmarks, U[landmarks]), Placed.nobody(n, RANK), 0.01),
        *(lambda one=one: look(data, (U, U), one) for one in asked),
    )
    found = {}
    for name, do in zip(STEPS, does, strict=True):
        do()
        client.run(heard)
        taken, moved = [], []
        for _ in range(repeats):
            began = time.perf_counter()
            do()
            taken.append(time.perf_counter() - began)
            moved.append(np.sum(list(client.run(heard).values()), axis=0))
        found[name] = (min(taken), *np.max(moved, axis=0))
    return found


def rates_with(name, rate, rates):
    """Rates of which one is another."""
    every = dict(zip(STEPS, (rates.attached, rates.curvature, rates.gradient), strict=True)) | {name: rate}
    attached, curvature, gradient = every.values()
    return Rates(curvature, gradient, attached)


def rates_of(n, taken):
    """Entries a second of one worker that explain the steps of one size, with the other rates as they are."""
    rates = Rates(1.0, 1.0, 1.0)
    for name, (seconds, *_) in taken.items():
        low, high = 1e4, 1e11
        for _ in range(100):
            middle = (low * high) ** 0.5
            slow = step_of(name, n).seconds(rates_with(name, middle, rates)) > seconds
            low, high = (middle, high) if slow else (low, middle)
        rates = rates_with(name, low, rates)
    return rates


def millions(size):
    return f"{size / 1e6:6.1f} MB"


def short(number):
    """Three digits that count."""
    return f"{float(f'{number:.3g}'):,g}"


def large(n, workers, passes):
    return Run(int(n), RANK, LARGE, workers, 4, stored=True, passes=passes)


def drawn(rates, path):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    rows = np.logspace(6, 8, 25)
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
    kinds = ((PASSES, "-", f"with {PASSES} passes"), (0, "--", "without passes"))
    for passes, style, what in kinds:
        for workers, colour in ((10, "tab:blue"), (100, "tab:orange"), (1000, "tab:green")):
            taken = [large(n, workers, passes).seconds(rates) / 3600 for n in rows]
            axes[0].loglog(rows, taken, style, color=colour, label=f"{what}, {workers} workers")
    for hours, name, at, side in ((1, "an hour", rows[-1], "right"), (24, "a day", rows[0], "left")):
        axes[0].axhline(hours, color="grey", linewidth=0.8)
        axes[0].annotate(name, (at, hours), xytext=(0, 3), textcoords="offset points", color="grey", ha=side)
    axes[0].set(xlabel="rows", ylabel="hours", title=f"Time of a run, rank {RANK}, float32")
    for passes, style, what in kinds:
        runs = [large(n, 100, passes) for n in rows]
        for name, numbers, colour in (
            ("read", [run.bytes_read for run in runs], "tab:blue"),
            ("between workers, at most", [run.bytes_between for run in runs], "tab:orange"),
            ("to the client", [run.bytes_back for run in runs], "tab:green"),
        ):
            axes[1].loglog(rows, np.array(numbers) / 1e12, style, color=colour, label=f"{name}, {what}")
    axes[1].set(xlabel="rows", ylabel="terabytes", title=f"Bytes of a run, 100 workers, chunks of {LARGE:,}")
    for each in axes:
        each.grid(alpha=0.3)
        each.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", help="draw a picture")
    parser.add_argument("--sizes", type=int, nargs="+", default=[6000, 12_000, 20_000])
    asked = parser.parse_args()
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.admin.low-level-log-length": LOGGED}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster) as client,
    ):
        taken = {n: measured(client, n) for n in asked.sizes}
    rates = rates_of(asked.sizes[0], taken[asked.sizes[0]])
    print(f"rank {RANK}, float32, chunks of {SIDE}, two workers that hold the data; entries a second and worker:")
    print(f"attachment {rates.attached:.2e}, pass with curvature {rates.curvature:.2e}, without {rates.gradient:.2e}")
    for name in STEPS:
        for n in asked.sizes:
            (seconds, results, chunks), step = taken[n][name], step_of(name, n)
            print(
                f"{name:20s}  n = {n:6d}: measured {seconds:5.2f} s   model {step.seconds(rates):5.2f} s   "
                f"{step.tasks:4d} tasks   looks at {millions(step.bytes_looked_at)}   "
                f"results between workers {millions(results)}, at most {millions(step.bytes_between)}   "
                f"chunks moved {millions(chunks)}   back {millions(step.bytes_back)}"
            )
    print(f"\na run that reads a store in chunks of {LARGE}; results between workers at most")
    for n in (10**6, 10**7, 10**8):
        for passes in (0, PASSES):
            for workers in (10, 100, 1000):
                run = large(n, workers, passes)
                print(
                    f"n = {n:11,d}, {passes} passes, {workers:4d} workers: {short(run.seconds(rates) / 3600):>7s} h   "
                    f"{run.tasks:11,d} tasks   read {short(run.bytes_read / 1e12):>6s} TB   "
                    f"between workers {short(run.bytes_between / 1e12):>7s} TB   "
                    f"back {short(run.bytes_back / 1e12):>8s} TB"
                )
    if asked.output:
        drawn(rates, asked.output)


if __name__ == "__main__":
    main()
