"""The censored likelihood against the Cramér–Rao bound, against squares, and what it costs.

    python benchmarks/likelihood.py                 20 seeds, n = 200, rank 5; then passes, whole calls and memory
    python benchmarks/likelihood.py --seeds 4 --only bound

Errors are root mean squares over the seeds of ‖UUᵀ − M*‖/‖M*‖, from ``auto`` with no start given.
"""

import argparse
import tracemalloc
import warnings

import numpy as np

import unrelu
from common import quickest
from unrelu.data.observations import Observations
from unrelu.model.losses import Censored, Observed
from unrelu.model.losses.tails import inside
from unrelu.problems.psd import PSDProblem

SIGMAS = (0.0, 0.01, 0.1, 0.5, 1.0, 2.0)


def instance(sigma, seed, one, n=200, rank=5):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    E = sigma * rng.standard_normal((n, n))
    if one:
        E = np.triu(E) + np.triu(E, 1).T
    Y = U @ U.T + E
    return U, np.where(Y >= 0, Y, np.nan)


def bound(U, sigma, one):
    """√tr(I⁺ΦᵀΦ)/‖M*‖ with Fisher's information of seen and unseen entries at the truth."""
    n, r = U.shape
    fit = U @ U.T
    log, _, bend, _, _ = inside(np.full(fit.shape, -np.inf), -fit / sigma)
    told = 1 - np.exp(log) * (1 - bend)
    np.fill_diagonal(told, 1.0)
    weights = told.copy() if one else 2 * told
    np.fill_diagonal(weights, 2 * np.diag(told))  # the derivative of a diagonal entry is 2u
    A = np.einsum("ij,ja,ib->iajb", weights, U, U, optimize=True)
    A[np.arange(n), :, np.arange(n), :] += np.einsum("ij,ja,jb->iab", weights, U, U, optimize=True)
    values, vectors = np.linalg.eigh(A.reshape(n * r, n * r) / sigma**2)
    D = vectors[:, r * (r - 1) // 2 :].T.reshape(-1, n, r)
    G = U.T @ U
    inner = np.einsum("na,knb->kab", U, D, optimize=True)
    images = 2 * np.einsum("kna,knb,ab->k", D, D, G, optimize=True) + 2 * np.einsum("kab,kba->k", inner, inner)
    return float(np.sqrt(np.sum(images / values[r * (r - 1) // 2 :]))) / np.linalg.norm(G)


def off(found, U):
    return float(np.linalg.norm(found.matrix() - U @ U.T) / np.linalg.norm(U.T @ U))


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def against_the_bound(seeds):
    print("noise         sigma   bound    censored  ratio  observed  sigma^/sigma  cover  verdicts")
    for one in (False, True):
        for sigma in SIGMAS:
            errors, plain, bounds, levels, cover, codes = [], [], [], [], [], {}
            for seed in range(seeds):
                U, X = instance(sigma, seed, one)
                found = unrelu.complete(X, 5, loss="censored", rng=0)
                errors.append(off(found, U))
                plain.append(off(unrelu.complete(X, 5, loss="observed", rng=0), U))
                codes[found.verdict.code.value] = codes.get(found.verdict.code.value, 0) + 1
                if sigma:
                    bounds.append(bound(U, sigma, one))
                    levels.append(found.noise.sigma / sigma)
                    every = np.arange(200)
                    low, high = found.interval(every[:, None], every)
                    cover.append(np.mean((low <= U @ U.T) & (high >= U @ U.T)))
            at = rms(bounds) if bounds else 0.0
            ratio = f"{rms(errors) / at:5.3f}" if at else "    –"
            level = f"{np.mean(levels):12.3f}  {np.mean(cover):5.3f}" if levels else f"{'–':>12}  {'–':>5}"
            kind = "one per pair" if one else "independent "
            print(f"{kind}  {sigma:5.2f}  {at:.5f}  {rms(errors):.2e}  {ratio}  {rms(plain):.2e}  {level}  {codes}")


def costs():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((2000, 20))
    E = rng.standard_normal((2000, 2000))
    Y = U @ U.T + (E + E.T) / np.sqrt(2)
    observations = Observations.of(np.where(Y >= 0, Y, np.nan))
    seconds = {}
    for loss in (Observed(), Censored(1.0)):
        problem = PSDProblem(observations, 20, loss)
        factor = U / np.sqrt(problem.unit)
        seconds[loss.name] = quickest(lambda problem=problem, factor=factor: problem.evaluate(factor))
    print(f"a pass at n = 2000, rank 20: censored / observed = {seconds['censored'] / seconds['observed']:.2f}")
    ratios = []
    for sigma in (0.5, 1.0, 2.0):
        _, X = instance(sigma, 0, False)
        spent = [
            quickest(lambda loss=loss, X=X: unrelu.complete(X, 5, loss=loss, rng=0), 3)
            for loss in ("observed", "censored")
        ]
        ratios.append(spent[1] / spent[0])
    print("a whole call at n = 200: censored / observed =", ", ".join(f"{ratio:.1f}" for ratio in ratios))
    X = np.where(Y >= 0, Y, np.nan)
    tracemalloc.start()
    unrelu.complete(X, 20, loss="censored", method="gauss-newton", max_iter=5, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"peak of a solve at n = 2000: {peak / X.nbytes:.2f} times the size of X")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=["bound", "costs"])
    asked = parser.parse_args()
    warnings.simplefilter("ignore", unrelu.CompletionWarning)
    if asked.only != "costs":
        against_the_bound(asked.seeds)
    if asked.only != "bound":
        costs()
