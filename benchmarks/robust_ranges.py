"""Stations from ranges some of which are wrong: python benchmarks/robust_ranges.py [trials]

60 stations uniform in a square of 500 m hear each other up to 150 m, with noise of 0.3 m; a tenth of the ranges is too
long by 5 to 50 m. Beside the robust fit of those ranges stands the usual fit of the right ones. That one is told the
noise, which takes some ranges beyond the cut-off: the usual loss allows that only if it knows how large noise is. The
robust fit is not told. Asked: a median error of at most 1.5 times the clean one, 90 % of the wrong ranges named, and at
most 5 % of the others.

"error" and "clean error" are medians over the points that both fits call determined, laid upon the truth by those.
"error of all" and "clean of all" are medians over all points that the clean fit determines, whatever the robust one
says of them. "off" counts points that the robust fit calls determined and that are off by more than six standard
errors.
"""

import sys
import time

import numpy as np

import unrelu
from common import save, show, versions
from unrelu.distances.alignment import deviation

STATIONS, SIDE, REACH, SIGMA = 60, 500.0, 150.0, 0.3
WRONG, SHORTEST, LONGEST = 0.1, 5.0, 50.0
FAR = 6.0


def stations(seed):
    """Places, pairs that hear each other, their ranges, the same with some wrong, and which are."""
    rng = np.random.default_rng(seed)
    truth = SIDE * rng.random((STATIONS, 2))
    pairs = np.column_stack(np.triu_indices(STATIONS, 1))
    d = np.linalg.norm(truth[pairs[:, 0]] - truth[pairs[:, 1]], axis=1)
    pairs, d = pairs[d <= REACH], d[d <= REACH]
    clean = np.abs(d + SIGMA * rng.standard_normal(len(d)))
    wrong = rng.random(len(d)) < WRONG
    ranges = clean + np.where(wrong, rng.uniform(SHORTEST, LONGEST, len(d)), 0.0)
    return truth, pairs, clean, ranges, wrong


def trial(seed, told):
    truth, pairs, clean, ranges, wrong = stations(seed)
    options = {"cutoff": REACH} if told else {}
    began = time.perf_counter()
    robust = unrelu.complete_distances(unrelu.EdgeList(pairs, ranges), 2, loss="huber", rng=seed, **options)
    seconds = time.perf_counter() - began
    usual = unrelu.complete_distances(unrelu.EdgeList(pairs, clean), 2, sigma=SIGMA, rng=seed, **options)
    named = {(one.row, one.column) for one in robust.distrusted}
    named = np.array([tuple(pair) in named for pair in pairs.tolist()])
    both = robust.determined & usual.determined
    errors = [float(np.median(deviation(one.points[both], truth[both]))) for one in (robust, usual)]
    sure = usual.determined
    of_all = [float(np.median(deviation(one.points[sure], truth[sure]))) for one in (robust, usual)]
    fixed = robust.determined & (robust.components == 0)
    size = np.linalg.norm(robust.standard_errors[fixed], axis=1)
    off = int((deviation(robust.points[fixed], truth[fixed]) > FAR * size).sum())
    return {
        "seed": seed, "ranges": len(ranges), "wrong": int(wrong.sum()), "named": int((named & wrong).sum()),
        "others named": int((named & ~wrong).sum()), "not judged": len(robust.unchecked),
        "determined": int(robust.determined.sum()), "clean determined": int(usual.determined.sum()),
        "error": errors[0], "clean error": errors[1], "error of all": of_all[0],
        "clean of all": of_all[1], "off": off, "s": seconds,
    }  # fmt: skip


def main():
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    about = versions("unrelu", "numpy", "scipy")
    print(about)
    found = {}
    for told in (True, False):
        rows = [trial(seed, told) for seed in range(trials)]
        show(f"Cut-off {'told' if told else 'not told'}", rows, list(rows[0]))
        total = {key: sum(row[key] for row in rows) for key in ("ranges", "wrong", "named", "others named", "off")}
        ratio = [row["error"] / row["clean error"] for row in rows]
        of_all = [row["error of all"] / row["clean of all"] for row in rows]
        print(
            f"{total['named']} of {total['wrong']} wrong ranges named ({total['named'] / total['wrong']:.1%}), "
            f"{total['others named']} of {total['ranges'] - total['wrong']} others; median error over the clean one: "
            f"median {np.median(ratio):.2f}, largest {max(ratio):.2f}; over all points that the "
            f"clean fit determines: median {np.median(of_all):.2f}, largest {max(of_all):.2f}; "
            f"determined and off: {total['off']}"
        )
        found["told" if told else "not told"] = rows
    save("robust_ranges", {"versions": about, **found})


if __name__ == "__main__":
    main()
