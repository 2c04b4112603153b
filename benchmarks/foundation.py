"""How fast one pass and one solve are, as ratios within one run: python benchmarks/foundation.py

Passes are compared with the two NumPy products inside them, solves with gradient descent at the best of ten fixed steps
and with pymanopt's trust regions from the same start, memory with the size of the input. All float64, symmetric, ReLU.
"""

import time
import tracemalloc
from functools import partial

import numpy as np

import unrelu
from common import best, save, show, versions
from unrelu.data.observations import Observations
from unrelu.data.planted import planted
from unrelu.data.sampling import relu
from unrelu.kernels.threads import owning_the_cores
from unrelu.model.factors import relative_error
from unrelu.model.losses import Observed, OneSided
from unrelu.problems.psd import PSDProblem

TARGET = 1e-4  # the gradient norm at which the paper stops at n=1000


def passes(n=4000, rank=20):
    """One pass of each kind against U @ U.T and Z @ U done by NumPy."""
    instance = planted(n, rank, rng=0)
    X = relu(instance.matrix)
    Z = np.nan_to_num(X)
    rng = np.random.default_rng(1)
    U, D = rng.standard_normal((2, n, rank))
    products = best(lambda: U @ U.T) + best(lambda: Z @ U)
    rows = [{"pass": "U @ U.T and Z @ U (NumPy)", "seconds": products, "ratio": 1.0, "asked": None}]
    for loss in (Observed(), OneSided()):
        with owning_the_cores():
            problem = PSDProblem(Observations.of(X), rank, loss)
            point = problem.evaluate(U)
            for name, function, asked in (
                ("value and gradient", partial(problem.evaluate, U), "≤ 1"),
                ("curvature product", partial(problem.curvature, point, D), "≤ 1.5"),
                ("line polynomial", partial(problem.line, point, D), None),
            ):
                seconds = best(function)
                rows.append(
                    {"pass": f"{name}, {loss.name}", "seconds": seconds, "ratio": seconds / products, "asked": asked}
                )
    return rows


def memory(n=4000, rank=20):
    """Peak of what a solve allocates, against the size of X."""
    rows = []
    X = relu(planted(n, rank, rng=0).matrix)
    for loss in ("observed", "one-sided"):
        tracemalloc.start()
        unrelu.complete(X, rank, loss=loss, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append({"solve": f"n={n} r={rank}, {loss}", "peak / size of X": peak / X.nbytes, "asked": "≤ 1"})
    return rows


def solves(n=1000, rank=20, seed=0):
    """Seconds to ‖∇F‖ < 1e-4 from the same tailored start."""
    rows = []
    for family, scales in (("unit columns", None), ("columns 1…0.1", np.linspace(1, 0.1, rank))):
        instance = planted(n, rank, scales=scales, rng=seed)
        M, X = instance.matrix, relu(instance.matrix)
        observations = Observations.of(X)
        start = unrelu.Tailored()(observations, rank, np.random.default_rng(seed + 1))
        rule = unrelu.GradientNormBelow(TARGET)

        def timed(method, most=None, *, X=X, start=start, rule=rule):
            results = [
                unrelu.complete(X, rank, method=method, loss="observed", start=start, tol=rule, max_iter=most)
                for _ in range(3)
            ]
            return min(results, key=lambda c: c.history[-1].seconds)

        newton = timed("gauss-newton")
        base = newton.history[-1].seconds

        def row(name, seconds, iterations, factor, verdict, asked=None, *, base=base, family=family, M=M):
            error = None if factor is None else relative_error(factor, M)
            rows.append(
                {
                    "family": family,
                    "method": name,
                    "seconds": seconds,
                    "ratio to gauss-newton": None if seconds is None else seconds / base,
                    "asked": asked,
                    "iterations": iterations,
                    "error": error,
                    "verdict": verdict,
                }
            )

        row("gauss-newton", base, newton.history[-1].iteration, newton.factor, newton.verdict.code.value)
        one_sided = unrelu.complete(X, rank, start=start, tol=rule)
        row("gauss-newton, one-sided", one_sided.history[-1].seconds, one_sided.history[-1].iteration,
            one_sided.factor, one_sided.verdict.code.value)  # fmt: skip

        norm = PSDProblem(observations, rank).spectral_norm * observations.unit
        # A budget of forty times our own: past that the ratio asked for is settled.
        limit = rule | unrelu.MaxSeconds(40 * base)
        runs = []
        for step in np.geomspace(0.25, 4.0, 10) / norm:
            runs.append((step, timed(unrelu.GradientDescent(step_size=step), 10**6, rule=limit)))
        done = [(step, run) for step, run in runs if run.verdict.converged]
        step, run = min(done or runs, key=lambda pair: pair[1].history[-1].seconds if done else pair[1].objective)
        row(f"gradient-descent, best of ten steps ({step * norm:.2g}/‖M_Ω‖₂)", run.history[-1].seconds,
            run.history[-1].iteration, run.factor, run.verdict.code.value,
            "≥ 1" if scales is None else "≥ 10")  # fmt: skip

        peer = trust_regions(X, rank, start)
        if peer is None:
            row("pymanopt trust regions: not installed (pip install '.[bench]')", None, None, None, "skipped", "≥ 3")
        else:
            seconds, iterations, factor, norm_reached = peer
            row("pymanopt trust regions", seconds, iterations, factor, f"gradient {norm_reached:.1e}", "≥ 3")
    return rows


def whole_calls(n=1000, rank=20, seed=0):
    """Seconds of a whole call, start and checks included, to an error of 1e-8: `auto` against a start and a step."""
    rows = []
    families = [("unit columns", None, "≥ 3"), ("columns 1…0.1", np.linspace(1, 0.1, rank), "≥ 10")]
    for family, scales, asked in families:
        M = planted(n, rank, scales=scales, rng=seed).matrix
        X = relu(M)
        done = []
        base = best(lambda X=X, done=done: done.append(unrelu.complete(X, rank, rng=1)), 3)
        rows.append({"family": family, "method": "auto", "seconds": base, "ratio to auto": 1.0, "asked": None,
                     "error": relative_error(done[-1].factor, M), "verdict": done[-1].verdict.code.value})  # fmt: skip
        plain = best(lambda X=X, done=done: done.append(unrelu.complete(X, rank, start="tailored", rng=1)), 3)
        rows.append({"family": family, "method": "tailored start, gauss-newton, no escalation", "seconds": plain,
                     "ratio to auto": plain / base, "asked": "≥ 0.83" if scales is None else None,
                     "error": relative_error(done[-1].factor, M), "verdict": done[-1].verdict.code.value})  # fmt: skip
        norm = float(np.linalg.norm(np.nan_to_num(X), 2))
        rule = unrelu.GradientNormBelow(TARGET) | unrelu.MaxSeconds(40 * base)
        found = []
        for step in np.geomspace(0.5, 3.0, 10) / norm:
            began = time.perf_counter()
            run = unrelu.complete(X, rank, method=unrelu.GradientDescent(step_size=step), start="tailored", tol=rule,
                                  max_iter=10**6, rng=1)  # fmt: skip
            found.append((time.perf_counter() - began, relative_error(run.factor, M), run.verdict.code.value))
        good = [entry for entry in found if entry[1] < 1e-7]
        seconds, error, verdict = min(good or found)
        rows.append({"family": family, "method": "tailored start, gradient-descent, best of ten steps",
                     "seconds": seconds, "ratio to auto": seconds / base, "asked": asked, "error": error,
                     "verdict": verdict})  # fmt: skip
        began = time.perf_counter()
        start = unrelu.Tailored()(Observations.of(X), rank, np.random.default_rng(1))
        begun = time.perf_counter() - began
        peer = trust_regions(X, rank, start)
        if peer is not None:
            rows.append({"family": family, "method": "tailored start, pymanopt trust regions",
                         "seconds": begun + peer[0], "ratio to auto": (begun + peer[0]) / base, "asked": asked,
                         "error": relative_error(peer[2], M), "verdict": f"gradient {peer[3]:.1e}"})  # fmt: skip
    return rows


def trust_regions(X, rank, start):
    """pymanopt on the same F with the same exact gradient and Hessian, in plain NumPy."""
    try:
        import pymanopt
        from pymanopt.manifolds import PSDFixedRank
        from pymanopt.optimizers import TrustRegions
    except ImportError:
        return None
    mask = ~np.isnan(X)
    M = np.nan_to_num(X)
    manifold = PSDFixedRank(len(X), rank)

    def residual(U):
        return np.where(mask, U @ U.T - M, 0.0)

    @pymanopt.function.numpy(manifold)
    def cost(U):
        return 0.25 * np.sum(residual(U) ** 2)

    @pymanopt.function.numpy(manifold)
    def euclidean_gradient(U):
        return residual(U) @ U

    @pymanopt.function.numpy(manifold)
    def euclidean_hessian(U, D):
        L = U @ D.T
        return np.where(mask, L + L.T, 0.0) @ U + residual(U) @ D

    problem = pymanopt.Problem(
        manifold, cost, euclidean_gradient=euclidean_gradient, euclidean_hessian=euclidean_hessian
    )
    times = []
    for _ in range(2):
        optimizer = TrustRegions(verbosity=0, min_gradient_norm=TARGET, max_iterations=500, max_time=120)
        began = time.perf_counter()
        result = optimizer.run(problem, initial_point=start)
        times.append(time.perf_counter() - began)
    return min(times), result.iterations, result.point, result.gradient_norm


def main():
    about = versions("unrelu", "numpy", "scipy", "pymanopt")
    print(about)
    results = {
        "versions": about,
        "passes": passes(),
        "memory": memory(),
        "solves": solves(),
        "whole calls": whole_calls(),
    }
    show("One pass at n=4000, r=20", results["passes"], ["pass", "seconds", "ratio", "asked"])
    show("Memory", results["memory"], ["solve", "peak / size of X", "asked"])
    columns = ["family", "method", "seconds", "ratio to gauss-newton", "asked", "iterations", "error", "verdict"]
    show("To a gradient norm of 1e-4 at n=1000, r=20, the same start", results["solves"], columns)
    columns = ["family", "method", "seconds", "ratio to auto", "asked", "error", "verdict"]
    show("A whole call to an error of about 1e-8 at n=1000, r=20", results["whole calls"], columns)
    save("foundation", results)


if __name__ == "__main__":
    main()
