"""Compare whole calls of every method with other packages on planted matrices: error, time, status.

    python benchmarks/peers.py                                   all instances
    python benchmarks/peers.py --instances A --budget 20 --only auto gauss-newton KNN

A: n = 200, r = 5; B: n = 1000, r = 20; C: B with noise of 0.2 % of the rms entry; D, E: n = 200, r = 5, columns scaled
1…0.01, ten tight clusters; F: A of which the largest 30 % are observed (else those from 0 on). Every call runs in a
process of its own with one thread, after a small call that is not counted, and is ended after `--budget` seconds. The
error is ‖M̂ − M‖_F/‖M‖_F over the rows that `auto` calls determined, under each method's own stopping rule; pymanopt
starts from the tailored start, which is part of its time, and stops at a gradient norm of 1e-6. Packages:
pip install ".[bench]"; what is missing is named.
"""

import argparse
import multiprocessing
import resource
import traceback
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from common import censored, planted, relative_error, save, show, status, timed, versions

INSTANCES = {
    "A": (200, 5, "gaussian", 0.0, None),
    "B": (1000, 20, "gaussian", 0.0, None),
    "C": (1000, 20, "gaussian", 0.002, None),
    "D": (200, 5, "condition-100", 0.0, None),
    "E": (200, 5, "clusters", 0.0, None),
    "F": (200, 5, "gaussian", 0.0, 0.7),
}  # n, rank, family, noise over the rms entry, quantile of the threshold (None: it is 0)
METHODS = (
    "auto", "gauss-newton", "direct", "gradient-descent", "scaled-gd", "pam", "momentum-pam", "gnmr", "admm", "sdp",
)  # fmt: skip
PACKAGES = (
    "unrelu", "numpy", "scipy", "scikit-learn", "pymanopt", "cvxpy", "scs", "clarabel", "fancyimpute",
    "matrix-completion",
)  # fmt: skip
WARM_UP = 60.0  # seconds for imports and a first small call
MEMORY = 10 * 2**30  # bytes of a process: interior-point methods ask for more than a machine has


# Each returns the completed matrix, the number of iterations and what to say of it.


def ours(X, rank, threshold, method):
    import unrelu

    found = unrelu.complete(X, rank, threshold=threshold, method=method, rng=0)
    return found.matrix(), found.history[-1].iteration, (status(found), found.determined)


def riemannian(X, rank, threshold, name):
    """Minimise ¼‖(UUᵀ − M)_Ω‖² on pymanopt's fixed-rank manifold with exact derivatives, from our tailored start."""
    import pymanopt
    from pymanopt import optimizers
    from pymanopt.manifolds import PSDFixedRank

    import unrelu

    observed, M = ~np.isnan(X), np.nan_to_num(X)
    manifold = PSDFixedRank(len(X), rank)

    def residual(U):
        return np.where(observed, U @ U.T - M, 0.0)

    @pymanopt.function.numpy(manifold)
    def cost(U):
        return 0.25 * np.sum(residual(U) ** 2)

    @pymanopt.function.numpy(manifold)
    def gradient(U):
        return residual(U) @ U

    @pymanopt.function.numpy(manifold)
    def hessian(U, D):
        L = U @ D.T
        return np.where(observed, L + L.T, 0.0) @ U + residual(U) @ D

    start = unrelu.complete(X, rank, threshold=threshold, start="tailored", method="gauss-newton", max_iter=0).factor
    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    # The default least step of 1e-10 would end conjugate gradients early.
    optimizer = getattr(optimizers, name)(
        verbosity=0, min_gradient_norm=1e-6, max_iterations=5000, max_time=3600, min_step_size=1e-16
    )
    result = optimizer.run(problem, initial_point=start)
    return result.point @ result.point.T, result.iterations, f"gradient {result.gradient_norm:.0e}"


def semidefinite(X, rank, threshold, solver, **options):
    """Find X ⪰ 0 with the observed entries, and missing ones at most the threshold."""
    import cvxpy

    upper = np.triu(np.ones(X.shape, bool))
    observed, missing = np.argwhere(upper & ~np.isnan(X)).T, np.argwhere(upper & np.isnan(X)).T
    S = cvxpy.Variable(X.shape, PSD=True)
    constraints = [S[tuple(observed)] == X[tuple(observed)], S[tuple(missing)] <= threshold]
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(S)), constraints)
    program.solve(solver=solver, **options)
    return S.value, program.solver_stats.num_iters, program.status


def iterative_imputer(X, rank, threshold):
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(random_state=0)
    return imputer.fit_transform(X), imputer.n_iter_, "default parameters"


def knn_imputer(X, rank, threshold):
    from sklearn.impute import KNNImputer

    return KNNImputer().fit_transform(X), None, "default parameters"


def soft_impute(X, rank, threshold):
    from fancyimpute import SoftImpute

    return SoftImpute(verbose=False).fit_transform(X.copy()), None, "default parameters"


def iterative_svd(X, rank, threshold):
    from fancyimpute import IterativeSVD

    return IterativeSVD(rank=rank, verbose=False).fit_transform(X.copy()), None, "default parameters"


def singular_value_thresholding(X, rank, threshold):
    from matrix_completion import svt_solve

    return svt_solve(np.nan_to_num(X), ~np.isnan(X)), None, "default parameters"


def probabilistic_factorisation(X, rank, threshold):
    from matrix_completion import pmf_solve

    return pmf_solve(np.nan_to_num(X), (~np.isnan(X)).astype(float), rank, 1e-3), None, "mu=1e-3"


CALLS = {
    **{f"unrelu {method}": partial(ours, method=method) for method in METHODS},
    "pymanopt TrustRegions": partial(riemannian, name="TrustRegions"),
    "pymanopt ConjugateGradient": partial(riemannian, name="ConjugateGradient"),
    "cvxpy SCS": partial(semidefinite, solver="SCS", eps=1e-6, max_iters=10000),
    "cvxpy Clarabel": partial(semidefinite, solver="CLARABEL"),
    "scikit-learn IterativeImputer": iterative_imputer,
    "scikit-learn KNNImputer": knn_imputer,
    "fancyimpute SoftImpute": soft_impute,
    "fancyimpute IterativeSVD": iterative_svd,
    "matrix-completion svt_solve": singular_value_thresholding,
    "matrix-completion pmf_solve": probabilistic_factorisation,
}
ONLY_SMALL = ("cvxpy", "scikit-learn", "fancyimpute", "matrix-completion", "unrelu sdp")


def limited(function, X, rank, threshold, budget):
    """Call in a process of its own; return ("done", answer, CPU seconds, seconds), or why there is no answer."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=answer, args=(sending, function, X, rank, threshold))
    child.start()
    sending.close()
    try:
        if not receiving.poll(WARM_UP):
            return (f"did not finish a 12×12 matrix within {WARM_UP:g} s",)
        first = receiving.recv()
        if first[0] != "ready":
            return first
        return receiving.recv() if receiving.poll(budget) else (f"not within {budget:g} s",)
    except EOFError:
        child.join()
        return (f"ended with exit code {child.exitcode}; {MEMORY / 2**30:.0f} GiB of memory are allowed",)
    finally:
        child.kill()
        child.join()


def answer(sending, function, X, rank, threshold):
    """Run in the process: a small call, then the one that is timed."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    np.random.seed(0)  # noqa: NPY002 (some packages draw their start from there)
    try:
        with threadpool_limits(1):
            try:
                function(censored(planted(12, 2)[1]), 2, 0.0)
            except ImportError as error:
                sending.send((f"not installed ({error})",))
                return
            except Exception:  # some refuse so small a matrix
                pass
            sending.send(("ready",))
            sending.send(("done", *timed(lambda: function(X, rank, threshold))))
    except Exception as error:
        sending.send((f"fails: {traceback.format_exception_only(error)[-1].strip()[:110]}",))


def compare(instance, names, budget):
    """Return a row for each method; `auto` is the first and says which rows are determined."""
    n, rank, family, noise, quantile = INSTANCES[instance]
    M = planted(n, rank, family, noise)[1]
    threshold = 0.0 if quantile is None else float(np.quantile(M, quantile))
    X, determined, rows = censored(M, threshold), np.ones(n, bool), []
    for name in names:
        if n > 200 and name.startswith(ONLY_SMALL):
            continue
        outcome, *found = limited(CALLS[name], X, rank, threshold, budget)
        row = {"method": name, "status": outcome}
        if outcome == "done":
            (estimate, iterations, about), cpu, wall = found
            if name.startswith("unrelu"):
                about, rows_determined = about
                determined = rows_determined if name == "unrelu auto" else determined
            known = np.ix_(determined, determined)
            row |= {"status": about, "error": relative_error(estimate[known], M[known]), "iterations": iterations}
            row |= {"CPU s": cpu, "s": wall, "CPU s / auto": cpu / rows[0]["CPU s"] if rows else 1.0}
        rows.append(row)
        print(f"  {instance}: {name}: {row['status']}", flush=True)
        if "CPU s" not in rows[0]:
            raise SystemExit("auto gave no answer, so that there is nothing to compare with")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", default="".join(INSTANCES), help="some of ABCDEF")
    parser.add_argument("--budget", type=float, default=120.0, help="most seconds of one call")
    parser.add_argument("--only", nargs="+", default=[""], help="only methods whose names contain one of these")
    options = parser.parse_args()
    about = versions(*PACKAGES)
    print(about)
    first, *others = CALLS
    names = [first, *(name for name in others if any(part in name for part in options.only))]
    results = {instance: compare(instance, names, options.budget) for instance in options.instances}
    for instance, rows in results.items():
        show("{} = (n={}, r={}, {} factors, noise {:g})".format(instance, *INSTANCES[instance]), rows)
    save("peers", {"versions": about, "rows": results})


if __name__ == "__main__":
    main()
