"""What else a user would pick, beside ours: python benchmarks/peers.py [--quick] [--budget SECONDS]

A = (n=200, r=5, σ=0), B = (1000, 20, 0), C = (1000, 20, 1e-2 independent noise): unit Gaussian factors seen through the
ReLU. D and E at n=200, r=5: columns scaled 1…0.01, ten tight clusters; F: Gaussian factors of which only the largest
30 % of the entries are seen. Rows that `auto` calls undetermined are left out of every method's error.

Every row is from this run on this machine with one thread each. CPU and wall-clock time are those of the solve, without
imports and, but for `auto`, without the start; where a method takes one, ours and pymanopt's are the same tailored one.
`auto` is `unrelu.complete(X, rank)` as a user calls it: its times are those of the whole call.

The error is ‖M̂ − M‖_F / ‖M‖_F of what a method returns, under its own default rule (of pymanopt: a gradient norm of
1e-6 at n=200 and of 1e-4 at n=1000, where the paper stops). "CPU to target" is the time to an error of 1e-6 without
noise, and to 1.01 times the error of `auto` with noise: ours from the history, pymanopt's from a run that stops at the
largest gradient norm 1, 0.1, 0.01 … that gets there. Ratios are to `auto`, above 1 where `auto` is faster.

What is not installed is skipped by name (pip install '.[bench]'). What lacks a function or does not run says why.
"""

import argparse
import multiprocessing
import resource
import time
import traceback
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

import unrelu
from common import save, show, versions
from unrelu.data.observations import Observations
from unrelu.data.planted import family, planted
from unrelu.data.sampling import thresholded
from unrelu.solvers import METHODS

INSTANCES = {
    "A": (200, 5, 0.0, "gaussian", None),
    "B": (1000, 20, 0.0, "gaussian", None),
    "C": (1000, 20, 1e-2, "gaussian", None),
    "D": (200, 5, 0.0, "condition-100", None),
    "E": (200, 5, 0.0, "clusters", None),
    "F": (200, 5, 0.0, "gaussian", 0.7),
}  # n, r, σ, family of factors, quantile of the threshold (None: it is 0)
TARGET = 1e-6
ROUNDING = 1e-13
NEAR = 1.01
GRADIENTS = 10.0 ** -np.arange(0, 11)
REPEATS, QUICK = 3, 3.0  # runs below so many seconds are repeated, and the fastest counts
WARM_UP = 60.0  # seconds for imports and a first small call, which does not count
MEMORY = 10 * 2**30  # of a child process: an interior-point method asks for more than it can use
PACKAGES = (
    "unrelu", "numpy", "scipy", "scikit-learn", "pymanopt", "cvxpy", "scs", "clarabel", "fancyimpute",
    "matrix-completion",
)  # fmt: skip
# Asked for on PyPI by name, 2026-11: there is no such distribution.
ABSENT = {"softImpute": "an R package; PyPI has no distribution of that name"}


class Instance:
    def __init__(self, name):
        n, self.rank, sigma, kind, quantile = INSTANCES[name]
        self.name = name
        made = planted(n, self.rank, sigma=sigma, rng=0) if kind == "gaussian" else family(kind, n, self.rank, rng=0)
        self.threshold = 0.0 if quantile is None else float(np.quantile(made.matrix, quantile))
        self.M, self.clean, self.X = made.matrix, made.truth, thresholded(made.matrix, self.threshold)
        self.noisy = sigma > 0
        self.rows = np.arange(n)
        self.gradient_norm = 1e-6 if n <= 200 else 1e-4
        seen = Observations.of(self.X, threshold=self.threshold)
        self.start = unrelu.Tailored()(seen, self.rank, np.random.default_rng(1))
        self.target = TARGET

    def error(self, estimate, truth=None):
        truth = self.M if truth is None else truth
        here = np.ix_(self.rows, self.rows)
        return float(np.linalg.norm((estimate - truth)[here]) / np.linalg.norm(truth[here]))

    def clean_error(self, estimate):
        return self.error(estimate, self.clean)


def ours(instance, budget):
    """Every registered method, with its own loss, rule and start; `auto` first."""
    for name in ["auto", *METHODS]:
        row = {"instance": instance.name, "method": f"unrelu {name}"}
        try:
            runs = []
            while not runs or (len(runs) < REPEATS and runs[0].history[-1].seconds < QUICK):
                runs.append(_complete(instance, name, budget))
            best = min(runs, key=lambda c: c.history[-1].cpu_seconds)
        except (unrelu.InputError, ImportError) as error:
            yield {**row, "verdict": f"skipped: {error}"}
            continue
        except Exception as error:  # a row that says so, not the end of the benchmark
            yield {**row, "verdict": f"failed: {type(error).__name__}: {error}"}
            continue
        last = best.history[-1]
        own = best.factor @ best.factor.T if best.left is None else best.left @ best.right.T
        if name == "auto":
            instance.rows = np.setdiff1d(instance.rows, best.undetermined_rows)
            instance.target = NEAR * instance.error(own) if instance.noisy else TARGET
        row["error"] = instance.error(own)
        row["UUᵀ to M*"] = instance.clean_error(best.factor @ best.factor.T)
        row |= {"CPU s": last.cpu_seconds, "wall s": last.seconds, "iterations": last.iteration}
        if name == "auto":
            whole = min((_whole_call(instance) for _ in range(REPEATS)), key=lambda pair: pair[0])
            row |= {"CPU s": whole[0], "wall s": whole[1], "CPU to target": whole[0]}
            yield {**row, "verdict": best.verdict.code.value}
            continue
        reached = [[r.cpu_seconds for r in c.history if r.error <= instance.target] for c in runs]
        row["CPU to target"] = min((times[0] for times in reached if times), default=None)
        yield {**row, "verdict": best.verdict.code.value}


def _whole_call(instance):
    began, cpu = time.perf_counter(), time.process_time()
    unrelu.complete(instance.X, instance.rank, threshold=instance.threshold, rng=0)
    return time.process_time() - cpu, time.perf_counter() - began


def _complete(instance, name, budget):
    if name == "auto":
        return unrelu.complete(instance.X, instance.rank, threshold=instance.threshold, rng=0)
    solver = METHODS[name]()
    rule = solver.rule(None, np.dtype("float64")) | unrelu.MaxSeconds(budget)
    start = instance.start if solver.takes_start and solver.default_start == "tailored" else "auto"
    return unrelu.complete(
        instance.X, instance.rank, threshold=instance.threshold, method=solver, tol=rule, start=start,
        truth=instance.M, rng=0
    )  # fmt: skip


def riemannian(instance, budget):
    """pymanopt on the fixed-rank manifold: the same F, exact derivatives in plain NumPy, the same start."""
    try:
        from pymanopt.optimizers import ConjugateGradient, TrustRegions
    except ImportError:
        for name in ("trust regions", "conjugate gradients"):
            yield {"instance": instance.name, "method": f"pymanopt {name}", "verdict": "skipped: not installed"}
        return
    problem = _pymanopt_problem(instance.X, instance.rank)
    for name, optimizer in (("trust regions", TrustRegions), ("conjugate gradients", ConjugateGradient)):
        solve = partial(_pymanopt_run, problem, optimizer, instance.start, budget)
        cpu, wall, result = min((solve(instance.gradient_norm) for _ in range(REPEATS)), key=lambda run: run[0])
        estimate = result.point @ result.point.T
        row = {"instance": instance.name, "method": f"pymanopt {name}", "error": instance.error(estimate)}
        row |= {"UUᵀ to M*": instance.clean_error(estimate), "CPU s": cpu, "wall s": wall}
        row |= {"iterations": result.iterations, "CPU to target": None}
        row["verdict"] = f"gradient {result.gradient_norm:.0e}"
        for bound in GRADIENTS:
            point = (tried := solve(bound))[2].point
            if instance.error(point @ point.T) <= instance.target:
                row["CPU to target"] = min(tried[0], *(solve(bound)[0] for _ in range(REPEATS - 1)))
                break
        yield row


def _pymanopt_problem(X, rank):
    import pymanopt
    from pymanopt.manifolds import PSDFixedRank

    seen, M = ~np.isnan(X), np.nan_to_num(X)
    manifold = PSDFixedRank(len(X), rank)

    def residual(U):
        return np.where(seen, U @ U.T - M, 0.0)

    def symmetric(Z):
        return 0.5 * (Z + Z.T)  # with independent noise neither the pattern nor the values are

    @pymanopt.function.numpy(manifold)
    def cost(U):
        return 0.25 * np.sum(residual(U) ** 2)

    @pymanopt.function.numpy(manifold)
    def gradient(U):
        return symmetric(residual(U)) @ U

    @pymanopt.function.numpy(manifold)
    def hessian(U, D):
        L = U @ D.T
        return symmetric(np.where(seen, L + L.T, 0.0)) @ U + symmetric(residual(U)) @ D

    return pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)


def _pymanopt_run(problem, optimizer, start, budget, bound):
    # Only the gradient is to stop it: its default least step of 1e-10 would end conjugate gradients early.
    solver = optimizer(
        verbosity=0, min_gradient_norm=bound, max_iterations=5000, max_time=budget, min_step_size=1e-16
    )  # fmt: skip
    began, cpu = time.perf_counter(), time.process_time()
    result = solver.run(problem, initial_point=start)
    return time.process_time() - cpu, time.perf_counter() - began, result


# What follows runs in a process of its own, for some of it cannot be told to stop.


def semidefinite(X, rank, solver, threshold=0.0, **options):
    """Find X ⪰ 0 with the seen entries, and nothing above the threshold where nothing was seen.

    The trace is that of the seen diagonal, so minimising it asks for no more than feasibility; but it takes SCS from no
    end after 2000 iterations to an end after some 400.
    """
    import cvxpy

    n = len(X)
    upper = np.triu(np.ones((n, n), bool))
    seen, absent = np.argwhere(upper & ~np.isnan(X)).T, np.argwhere(upper & np.isnan(X)).T
    S = cvxpy.Variable((n, n), PSD=True)
    constraints = [S[seen[0], seen[1]] == X[seen[0], seen[1]], S[absent[0], absent[1]] <= threshold]
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(S)), constraints)
    program.solve(solver=solver, **options)
    return S.value, program.solver_stats.num_iters, program.status


def iterative_imputer(X, rank):
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(random_state=0)
    return imputer.fit_transform(X), imputer.n_iter_, "default parameters"


def knn_imputer(X, rank):
    from sklearn.impute import KNNImputer

    return KNNImputer().fit_transform(X), None, "default parameters"


def soft_impute(X, rank):
    from fancyimpute import SoftImpute

    return SoftImpute(verbose=False).fit_transform(X.copy()), None, "default parameters"


def iterative_svd(X, rank):
    from fancyimpute import IterativeSVD

    return IterativeSVD(rank=rank, verbose=False).fit_transform(X.copy()), None, "default parameters"


def singular_value_thresholding(X, rank):
    from matrix_completion import svt_solve

    return svt_solve(np.nan_to_num(X), ~np.isnan(X)), None, "default parameters"


def probabilistic_factorisation(X, rank):
    from matrix_completion import pmf_solve

    return pmf_solve(np.nan_to_num(X), (~np.isnan(X)).astype(float), rank, 1e-3), None, "mu=1e-3"


CHILDREN = {
    "cvxpy, SCS": partial(semidefinite, solver="SCS", eps=1e-6, max_iters=10000),
    "cvxpy, Clarabel": partial(semidefinite, solver="CLARABEL"),
    "scikit-learn IterativeImputer": iterative_imputer,
    "scikit-learn KNNImputer": knn_imputer,
    "fancyimpute SoftImpute": soft_impute,
    "fancyimpute IterativeSVD": iterative_svd,
    "matrix-completion svt_solve": singular_value_thresholding,
    "matrix-completion pmf_solve": probabilistic_factorisation,
}


def general(instance, budget):
    """What a user finds who looks for imputation or for a conic solver."""
    for name, function in CHILDREN.items():
        row = {"instance": instance.name, "method": name}
        function = partial(function, threshold=instance.threshold) if "cvxpy" in name else function
        status, *answer = _limited(function, instance, budget)
        if status != "done":
            yield {**row, "verdict": status}
            continue
        estimate, iterations, verdict, cpu, wall = answer
        row |= {"error": instance.error(estimate), "UUᵀ to M*": instance.clean_error(_psd(estimate, instance.rank))}
        row |= {"CPU s": cpu, "wall s": wall, "iterations": iterations, "verdict": verdict}
        row["CPU to target"] = cpu if row["error"] <= instance.target else None
        yield row


def _psd(estimate, rank):
    values, vectors = np.linalg.eigh((estimate + estimate.T) / 2)
    kept = vectors[:, -rank:] * np.sqrt(np.maximum(values[-rank:], 0))
    return kept @ kept.T


def _limited(function, instance, budget):
    """Its answer with CPU and wall-clock time; or why there is none."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(sending, function, instance.X, instance.rank))
    child.start()
    sending.close()
    try:
        if not receiving.poll(WARM_UP):
            return (f"did not finish a 12×12 matrix within {WARM_UP:g} s",)
        first = receiving.recv()  # after its imports
        if first[0] != "ready":
            return first
        if not receiving.poll(budget):
            return (f"not within {budget:g} s",)
        return receiving.recv()
    except EOFError:
        child.join()
        return (f"died with exit code {child.exitcode}, allowed {MEMORY / 2**30:.0f} GiB of memory",)
    finally:
        child.kill()
        child.join()


def _child(sending, function, X, rank):
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    np.random.seed(0)  # noqa: NPY002 (some draw their start from there)
    small = X[:12, :12].copy()
    np.fill_diagonal(small, 1.0)
    try:
        with threadpool_limits(1):
            try:
                function(small, 2)  # imports and first calls do not count
            except ImportError as error:
                sending.send((f"skipped: not installed ({error})",))
                return
            except Exception:  # it may dislike so small a matrix
                pass
            sending.send(("ready",))
            began, cpu = time.perf_counter(), time.process_time()
            estimate, iterations, verdict = function(X, rank)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - began
        sending.send(("done", np.asarray(estimate), iterations, str(verdict), cpu, wall))
    except BaseException as error:
        last = traceback.format_exception_only(error)[-1].strip()
        sending.send((f"fails: {last[:110]}",))


def compare(instance, budget):
    rows = []
    groups = [ours, riemannian, general] if len(instance.X) <= 200 else [ours, riemannian]
    for group in groups:
        for row in group(instance, budget):
            print(f"  {instance.name}: {row['method']}: {row['verdict']}", flush=True)
            rows.append(row)
    auto = rows[0]
    for row in rows:
        for name, ratio in (("CPU s", "ratio"), ("CPU to target", "ratio to target")):
            both = row.get(name) is not None and auto.get(name)
            row[ratio] = row[name] / auto[name] if both else None
    return rows


def verdicts(rows):
    """What was asked for: twice as fast as the fastest peer on B, within 2 % of the most accurate on A and C, the most
    accurate on D, E and F."""
    for name in dict.fromkeys(row["instance"] for row in rows):
        here = [row for row in rows if row["instance"] == name]
        peers = [row for row in here if not row["method"].startswith("unrelu")]
        timed = [[r for r in group if r.get("CPU to target")] for group in ([r for r in here if r not in peers], peers)]
        if all(timed):
            mine, theirs = (min(group, key=lambda row: row["CPU to target"]) for group in timed)
            ratio = theirs["CPU to target"] / mine["CPU to target"]
            yield {"instance": name, "fastest of ours": mine["method"], "fastest peer": theirs["method"],
                   "peer / ours": ratio, "asked": "≥ 2" if name == "B" else None}  # fmt: skip
        # Below rounding there is nothing to win: errors are compared as if none were smaller.
        least = min((r for r in here if r.get("error") is not None), key=lambda row: max(row["error"], ROUNDING))
        yield {"instance": name, "most accurate": least["method"], "its error": least["error"],
               "error of auto": here[0]["error"], "verdict of auto": here[0]["verdict"],
               "asked": "auto" if name in "DEF" else "within 2 %" if name != "B" else None}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="A only")
    parser.add_argument("--instances", default="".join(INSTANCES), help="some of ABCDEF")
    parser.add_argument("--budget", type=float, default=120.0, help="most seconds of one run")
    arguments = parser.parse_args()
    about = versions(*PACKAGES)
    print(about)
    print("no such package:", ", ".join(f"{name} ({why})" for name, why in ABSENT.items()))
    rows = []
    with threadpool_limits(1):
        for name in "A" if arguments.quick else arguments.instances:
            rows += compare(Instance(name), arguments.budget)
    columns = ["method", "error", "UUᵀ to M*", "CPU s", "ratio", "CPU to target", "ratio to target", "wall s",
               "iterations", "verdict"]  # fmt: skip
    for name, parameters in INSTANCES.items():
        here = [row for row in rows if row["instance"] == name]
        if here:
            show("{} = (n={}, r={}, σ={:g}, {} factors)".format(name, *parameters), here, columns)
    asked = list(verdicts(rows))
    show("What was asked for", asked, ["instance", "fastest of ours", "fastest peer", "peer / ours", "most accurate",
                                       "its error", "error of auto", "verdict of auto", "asked"])  # fmt: skip
    content = {"versions": about, "absent": ABSENT, "threads": 1, "rows": rows, "asked": asked}
    save("peers-quick" if arguments.quick else "peers", content)


if __name__ == "__main__":
    main()
