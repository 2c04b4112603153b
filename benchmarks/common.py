"""What the benchmarks share: planted data, censored normal distributions, timing, tables, names inside unrelu."""

import importlib
import json
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

RESULTS = Path(__file__).parent / "results"

FAMILIES = {
    "gaussian": lambda rng, n, r: rng.standard_normal((n, r)),
    "condition-10": lambda rng, n, r: rng.standard_normal((n, r)) * np.geomspace(1, 0.1, r),
    "condition-100": lambda rng, n, r: rng.standard_normal((n, r)) * np.geomspace(1, 0.01, r),
    "clusters": lambda rng, n, r: (
        rng.standard_normal((10, r))[rng.integers(0, 10, n)] + 0.1 * rng.standard_normal((n, r))
    ),
    "sparse": lambda rng, n, r: rng.standard_normal((n, r)) * (rng.random((n, r)) < 0.3),
    "uniform": lambda rng, n, r: rng.uniform(-0.3, 0.7, (n, r)),
    "student-t": lambda rng, n, r: rng.standard_t(3, (n, r)),
    "cauchy": lambda rng, n, r: rng.standard_cauchy((n, r)),
    "log-normal": lambda rng, n, r: rng.standard_normal((n, r)) * rng.lognormal(size=(n, 1)),
    "shifted": lambda rng, n, r: rng.standard_normal((n, r)) + 0.5,
    "sphere": lambda rng, n, r: normalised(rng.standard_normal((n, r))),
}


def normalised(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def planted(n, rank, family="gaussian", noise=0.0, seed=0):
    """Return U Uᵀ and the same with symmetric normal noise of so many times its rms entry; both of shape (n, n)."""
    rng = np.random.default_rng(seed)
    U = FAMILIES[family](rng, n, rank)
    truth = U @ U.T
    error = np.triu(noise * np.sqrt(np.mean(truth**2)) * rng.standard_normal((n, n)))
    return truth, truth + error + np.triu(error, 1).T


def censored(matrix, threshold=0.0):
    """Return the matrix with NaN below the threshold."""
    return np.where(matrix >= threshold, matrix, np.nan)


def relative_error(estimate, truth):
    return float(np.linalg.norm(estimate - truth) / np.linalg.norm(truth))


def aligned(points, truth):
    """Return points moved by the rigid motion or reflection that brings them nearest to the truth, and its matrix."""
    left, _, right = np.linalg.svd((points - points.mean(axis=0)).T @ (truth - truth.mean(axis=0)))
    turn = left @ right
    return (points - points.mean(axis=0)) @ turn + truth.mean(axis=0), turn


def censored_normal(values, count_below, limit):
    """Return mean and standard deviation of a normal distribution by maximum likelihood (Tobit).

    ``values`` were observed; ``count_below`` more are known to lie below ``limit``.
    """
    centre, scale = values.mean(), values.std()

    def cost(at):
        mean, sd = centre + scale * at[0], scale * np.exp(at[1])
        return -norm.logpdf(values, mean, sd).sum() - count_below * norm.logcdf(limit, mean, sd)

    at = minimize(cost, np.zeros(2), method="Nelder-Mead").x
    return centre + scale * at[0], scale * np.exp(at[1])


def mean_below(limit, mean, sd):
    """Return the mean of a normal distribution below a limit: mean − sd φ(z)/Φ(z)."""
    z = (limit - mean) / sd
    return np.minimum(mean - sd * np.exp(norm.logpdf(z) - norm.logcdf(z)), limit)


def status(answer):
    """Return the status of an answer as text."""
    return str(answer.verdict.code.value)


def best(function, repeats=5, clock=time.perf_counter):
    """Return the shortest time of several calls after one that is not counted."""
    function()
    times = []
    for _ in range(repeats):
        began = clock()
        function()
        times.append(clock() - began)
    return min(times)


def timed(function):
    """Return the result of one call, its seconds of CPU and its seconds by the clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = function()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def versions(*names):
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def show(title, rows):
    """Print rows (dictionaries) as a plain table."""
    if not rows:
        return
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [columns, *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    print(f"\n{title}")
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip(), flush=True)


def _cell(value):
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def save(name, content):
    """Write results to benchmarks/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n")
    print(f"\nwrote {path}")


def add_ratios(rows, path, key, columns):
    """Add to each row its columns over those of the row with the same key in an earlier file of `save`."""
    earlier = {row[key]: row for row in json.loads(Path(path).read_text())}
    for row in rows:
        for column in columns:
            before = earlier.get(row[key], {}).get(column)
            row[f"{column} / earlier"] = row[column] / before if before else None


def internal(module, name):
    """Return a name from inside the package, which may be frozen under ``unrelu._old`` or not."""
    for package in ("unrelu._old", "unrelu"):
        try:
            return getattr(importlib.import_module(f"{package}.{module}"), name)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("unrelu"):
                raise
    raise ImportError(f"no unrelu.{module} and no unrelu._old.{module}")


def passes(X, rank, loss):
    """Return the passes over a matrix for the given loss: a dictionary of calls without arguments."""
    observations_class = internal("data.observations", "Observations")
    problem_class = internal("problems.psd", "PSDProblem")
    one_thread_each = internal("kernels.threads", "owning_the_cores")
    losses = internal("model.losses", "LOSSES")
    U, D = np.random.default_rng(1).standard_normal((2, len(X), rank))

    def problem():
        made = losses[loss](0.1) if loss in ("censored", "huber") else losses[loss]()
        return problem_class(observations_class.of(X), rank, made)

    ready = problem()
    point = ready.evaluate(U)

    def set_up_and_20():
        fresh = problem()
        for _ in range(20):
            fresh.evaluate(U)

    calls = {
        "value and gradient": lambda: ready.evaluate(U),
        "curvature product": lambda: ready.curvature(point, D),
        "line": lambda: ready.line(point, D),
        "set-up and 20 gradients": set_up_and_20,
    }

    def within(call):
        def run():
            with one_thread_each():
                call()

        return run

    return {name: within(call) for name, call in calls.items()}
