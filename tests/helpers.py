"""Lists that tests share, reference kernels of a few lines, and tolerances with their reasons."""

import signal

import numpy as np

import unrelu
import unrelu.datasets
from unrelu import Observed, OneSided

# Every method the library offers; test_solvers.py fails if one is missing here.
SOLVERS = [
    unrelu.GaussNewton(),
    unrelu.GradientDescent(),
    unrelu.ScaledGD(),
    unrelu.ScaledGD(symmetric=True),
    unrelu.PAM(),
    unrelu.MomentumPAM(),
    unrelu.MomentumPAM(variant="adaptive"),
    unrelu.MomentumPAM(variant="ebcd"),
    unrelu.ADMM(),
    unrelu.GNMR(),
]
# Without iterations or a start: their own tests are in test_sdp.py and test_escalate.py.
ONE_SHOT = [unrelu.SDP(), unrelu.Direct()]
LOSSES = [Observed(), OneSided()]

# Two orders of summation of the same doubles.
ROUNDING = 1e-12
# A noiseless planted matrix counts as recovered below this completion error.
RECOVERED = 1e-6


def relu_instance(n=80, rank=3, seed=0, sigma=0.0, dtype=np.float64):
    """A planted matrix and what the ReLU shows of it."""
    instance = unrelu.datasets.planted(n, rank, sigma=sigma, rng=[seed, 99])
    M = instance.matrix.astype(dtype)
    return M, np.where(M >= 0, M, np.nan).astype(dtype)


def table_instance(m=60, n=40, rank=3, seed=0, sigma=0.0, dtype=np.float64):
    """A planted table and what the ReLU shows of it."""
    rng = np.random.default_rng([seed, 7])
    M = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)) + sigma * rng.standard_normal((m, n))
    return M.astype(dtype), np.where(M >= 0, M, np.nan).astype(dtype)


def asymmetric_instance(n=30, rank=3, seed=0):
    """Noise that makes pattern and values asymmetric, with a few entries missing for another reason."""
    rng = np.random.default_rng([seed, 5])
    U = rng.standard_normal((n, rank))
    M = U @ U.T + 0.5 * rng.standard_normal((n, n))
    X = np.where(M >= 0, M, np.nan)
    unknown = rng.random((n, n)) < 0.1
    X[unknown] = np.nan
    return X, unknown


def reference(X, U, *, one_sided=False, threshold=0.0, below=True, unknown=None):
    """F and its gradient written as the paper does, with one n×n array per symbol."""
    P = U @ U.T
    seen = ~np.isnan(X)
    Z = np.where(seen, P - X, 0.0)
    if one_sided:
        absent = ~seen if unknown is None else ~seen & ~unknown
        if below and threshold <= 0:
            absent &= ~np.eye(len(X), dtype=bool)
        hinge = np.maximum(P - threshold, 0) if below else np.minimum(P - threshold, 0)
        Z = Z + np.where(absent, hinge, 0.0)
    return 0.25 * np.sum(Z**2), 0.5 * (Z + Z.T) @ U


def error(completion, M):
    return np.linalg.norm(np.asarray(completion.matrix()) - M) / np.linalg.norm(M)


def remainder_order(function, derivative, steps=(1e-1, 1e-2, 1e-3)):
    """The order p of |f(t) − model(t)| = O(t^p), fitted on a log-log scale."""
    gaps = [abs(function(t) - derivative(t)) for t in steps]
    return np.polyfit(np.log(steps), np.log(gaps), 1)[0]


def error_reference(X, U, *, one):
    """Exact covariance of the fit, by the book: every seen pair a row of J, a pseudo-inverse, nothing clever.

    Returns the variance of every entry for unit noise, the blocks of JᵀWJ, the noise level and its degrees of freedom.
    """
    n, r = U.shape
    seen = ~np.isnan(X)
    rows, weights, own, gaps = [], [], [], []
    for i in range(n):
        for j in range(i, n):
            places = {(i, j), (j, i)}
            values = [X[place] for place in places if seen[place]]
            if values:
                derivative = np.zeros((n, r))
                derivative[i] += U[j]
                derivative[j] += U[i]
                rows.append(derivative.ravel())
                weights.append(len(values))
                own.append(1.0 if one else 1 / len(values))
                gaps.append([U[i] @ U[j] - value for value in values])
    J, W, own = np.array(rows), np.array(weights, float), np.array(own)
    A = (J.T * W) @ J
    spread = np.linalg.pinv(A, rcond=1e-10, hermitian=True) @ (J.T * W)
    C = (spread * own) @ spread.T
    derivatives = np.zeros((n, n, n, r))
    for i in range(n):
        for j in range(n):
            derivatives[i, j, i] += U[j]
            derivatives[i, j, j] += U[i]
    D = derivatives.reshape(n * n, n * r)
    variances = np.einsum("ek,kl,el->e", D, C, D).reshape(n, n)
    unknowns = n * r - r * (r - 1) // 2
    if one:
        squares, count = sum(np.mean(gap) ** 2 for gap in gaps), len(gaps)
    else:
        squares, count = sum(g * g for gap in gaps for g in gap), seen.sum()
    blocks = np.stack([A[k * r : (k + 1) * r, k * r : (k + 1) * r] for k in range(n)])
    return variances, blocks, np.sqrt(squares / (count - unknowns)), count - unknowns


def listening():
    """A process started in the background of a script ignores Ctrl-C, and so do its children: undo that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
