"""The posterior of method="gibbs": how often its intervals cover, how far its chains agree, and what it costs.

python benchmarks/gibbs.py                              everything
python benchmarks/gibbs.py --only planted --seeds 5     n=150, r=2…5, unit Gaussian factors, σ=0.5, median threshold
python benchmarks/gibbs.py --only real --ranks 2        the twelve real matrices of benchmarks/real.py
python benchmarks/gibbs.py --diagonal limit             what the diagonal is
python benchmarks/gibbs.py --max-iter 2000              at most so many sweeps, 5000 by default

``covers`` is the share of hidden entries off the diagonal inside their 95 % prediction interval, ``of the mean`` that
of noiseless entries, hidden or seen, inside theirs. R̂ is the largest of all entries, not only of those that the
verdict looks at. Seconds are those of the processor and of the clock, of the whole call.
"""

import argparse
import time
import warnings

import numpy as np

import unrelu
from common import show
from real import Hidden, similarities
from unrelu.data.planted import planted

LEVEL = 0.95
FEW = 20_000


def sampled(X, rank, args, **options):
    began, cpu = time.perf_counter(), time.process_time()
    found = unrelu.complete(X, rank, method="gibbs", rng=0, diagonal=args.diagonal, max_iter=args.max_iter, **options)
    return found, time.perf_counter() - began, time.process_time() - cpu


def convergence(found):
    """The worst R̂ and effective sample size of all entries; of many, of so many that are drawn at random."""
    i, j = np.triu_indices(found.size)
    some = np.random.default_rng(0).permutation(len(i))[:FEW]
    chains = found.posterior
    return float(chains.r_hat(i[some], j[some]).max()), float(chains.effective_sample_size(i[some], j[some]).min())


def inside(ends, truth):
    return float(np.mean((ends[0] <= truth) & (truth <= ends[1])))


def one_planted(rank, seed, args):
    instance = planted(args.size, rank, sigma=0.5, symmetric_noise=True, rng=[seed, rank])
    M = instance.matrix
    cut = float(np.median(M))
    found, seconds, cpu = sampled(np.where(cut <= M, M, np.nan), rank, args, threshold=cut)
    i, j = np.nonzero(np.triu(cut > M, 1))
    a, b = np.triu_indices(args.size, 1)
    worst, least = convergence(found)
    return {
        "rank": rank,
        "seed": seed,
        "verdict": found.verdict.code.value,
        "sweeps": found.drawn.sweeps,
        "covers": inside(found.predict(i, j, LEVEL), M[i, j]),
        "of the mean": inside(found.interval(a, b, LEVEL), instance.truth[a, b]),
        "sigma": found.sigma,
        "R̂": worst,
        "effective": least,
        "cpu s": cpu,
        "s": seconds,
    }


def run_planted(args):
    rows = []
    for rank in range(2, 6):
        for seed in range(args.seeds):
            rows.append(one_planted(rank, seed, args))
            print(rows[-1], flush=True)
    show(f"Planted, n={args.size}, σ=0.5, median threshold", rows, list(rows[0]))
    for rank in range(2, 6):
        mine = [row for row in rows if row["rank"] == rank]
        covers, means = (np.mean([row[name] for row in mine]) for name in ("covers", "of the mean"))
        print(f"rank {rank}: covers {covers:.3f}, of the mean {means:.3f}, R̂ at most {max(r['R̂'] for r in mine):.3f}")
    print(f"R̂ below 1.05 in {sum(row['R̂'] < 1.05 for row in rows)} of {len(rows)}")
    print(f"at most {max(row['cpu s'] for row in rows):.1f} s of the processor")


def one_real(name, matrix, share, rank, args):
    case = Hidden(matrix, share)
    found, seconds, cpu = sampled(case.seen, rank, args, threshold=case.cut)
    worst, least = convergence(found)
    low, high = found.predict(case.i, case.j, LEVEL)
    plain = case.one_normal()
    return {
        "case": f"{name} {share}",
        "rank": rank,
        "verdict": found.verdict.code.value,
        "sweeps": found.drawn.sweeps,
        "covers": case.covered(low, high),
        "error": case.error(found.filled()[case.i, case.j]),
        "one distribution": case.error(plain.expectation()),
        "width, over that of one distribution": float(
            np.mean(high - low) / np.mean(np.subtract(*plain.interval(LEVEL)[::-1]))
        ),
        "R̂": worst,
        "effective": least,
        "cpu s": cpu,
        "s": seconds,
    }


def run_real(args):
    for rank in args.ranks:
        rows = []
        for name, matrix in similarities().items():
            if args.cases and name not in args.cases:
                continue
            for share in (0.5, 0.75):
                rows.append(one_real(name, matrix, share, rank, args))
                print(rows[-1], flush=True)
        show(f"Similarities above a cut-off, rank {rank}, diagonal {args.diagonal}", rows, list(rows[0]))
        fair = sum(0.85 <= row["covers"] <= 0.99 for row in rows)
        print(f"rank {rank}: coverage from 85 % to 99 % in {fair} of {len(rows)}")


PARTS = {"planted": run_planted, "real": run_real}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--size", type=int, default=150)
    parser.add_argument("--ranks", type=lambda text: [int(rank) for rank in text.split(",")], default=[2, 3])
    parser.add_argument("--cases", type=lambda text: text.split(","), default=[])
    parser.add_argument("--max-iter", type=int)
    parser.add_argument("--diagonal", default="auto")
    args = parser.parse_args()
    warnings.simplefilter("ignore", unrelu.CompletionWarning)
    for name, part in PARTS.items():
        if args.only in (None, name):
            part(args)


if __name__ == "__main__":
    main()
