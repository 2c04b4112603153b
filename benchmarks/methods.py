"""What one iteration costs against the parts it consists of: python benchmarks/methods.py

CPU time per iteration on B = (1000, 20, 0), one thread, over that of the truncated decomposition (`pam`) or the three
matrix products (`momentum-pam`) inside it, done by SciPy and NumPy. Asked: at most 1.5.
"""

import time

import numpy as np
from scipy.sparse.linalg import svds
from threadpoolctl import threadpool_limits

import unrelu
from common import save, show, versions
from unrelu.data.planted import planted
from unrelu.data.sampling import relu


def cpu(function, repeats=7):
    function()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def per_iteration(X, rank, method):
    """Smallest CPU time per iteration of three runs of 25 iterations."""
    found = []
    for _ in range(3):
        completion = unrelu.complete(X, rank, method=method, rng=1, tol=0, max_iter=25)
        spent = completion.history.column("cpu_seconds")
        found.append((spent[-1] - spent[1]) / (len(spent) - 2))
    return min(found)


def main(n=1000, rank=20):
    X = relu(planted(n, rank, rng=0).matrix)
    Z = np.nan_to_num(X)
    W, H = np.random.default_rng(0).standard_normal((2, n, rank))
    with threadpool_limits(1):
        decomposition = cpu(lambda: svds(Z, rank, v0=np.ones(n)), 3)
        products = cpu(lambda: W @ H.T) + cpu(lambda: Z @ H) + cpu(lambda: Z.T @ W)
        cases = [
            (unrelu.PAM(), "truncated decomposition (svds)", decomposition),
            (unrelu.MomentumPAM(), "W @ H.T, Z @ H, Z.T @ W", products),
            (unrelu.MomentumPAM("ebcd"), "W @ H.T, Z @ H, Z.T @ W", products),
            (unrelu.MomentumPAM("adaptive"), "truncated decomposition (svds)", decomposition),
        ]
        rows = []
        for method, parts, base in cases:
            seconds = per_iteration(X, rank, method)
            name = method.name + (f" {method.variant}" if hasattr(method, "variant") else "")
            asked = "≤ 1.5" if name in ("pam", "momentum-pam 3b") else None
            rows.append({"method": name, "CPU s": seconds, "parts": parts, "their CPU s": base,
                         "ratio": seconds / base, "asked": asked})  # fmt: skip
    about = versions("unrelu", "numpy", "scipy")
    print(about)
    show(f"CPU time of one iteration at n={n}, r={rank}", rows, list(rows[0]))
    save("methods", {"versions": about, "rows": rows})


if __name__ == "__main__":
    main()
