"""Search for a second completion: another matrix of the same rank that meets all data, by a solver of its own.

Levenberg–Marquardt on the observed entries, with a hinge for the censoring constraint. The truth is one completion.
Another one that differs in an entry that was called determined refutes the claim.
"""

import zlib
from collections.abc import Callable, Iterator

import numpy as np

from soak.answer import Answer
from soak.checks import CERTAIN, determined_pairs
from soak.instance import DISTANCES, Bools, Floats, Instance

# The largest number of unknowns, the number of starts, and steps of each.
UNKNOWNS, STARTS, STEPS = 90, 18, 60
# Agreement with the data, as a share of the product of the lengths of the two rows, and a difference that rounding does
# not explain, as a share of the largest entry.
AGREES, DIFFERS = 1e-13, 1e-4


def residuals_of(instance: Instance) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Return a function from a factor to the residuals of the constraints over pairs i ≤ j and their derivatives.

    Residuals are in units of what rounding is measured against: the product of the lengths of the two rows.
    """
    distances, options = instance.group == DISTANCES, instance.options
    i, j = np.triu_indices(instance.size, 1 if distances else 0)
    values, observed = instance.values() / instance.scale, instance.observed_either_way[i, j]
    value, kind = np.where(instance.seen[i, j], values[i, j], values[j, i]), np.zeros(len(i))
    threshold, used = options["cutoff" if distances else "threshold"], observed
    if threshold is not None:
        side = 1 if distances or options["seen"] == "below" else -1
        unknown = np.zeros(values.shape, bool) if options.get("unknown") is None else options["unknown"]
        # Of limits that differ between (i, j) and (j, i) the narrower; unknown entries have none.
        edge = np.where(unknown, -side * np.inf, np.broadcast_to(threshold, values.shape) / instance.scale)
        tight = (np.minimum if side < 0 else np.maximum)(edge[i, j], edge[j, i])
        value, kind = np.where(observed, value, tight), np.where(observed, 0, side)
        used = observed | ~(unknown[i, j] & unknown[j, i])
    i, j, value, kind = i[used], j[used], value[used], kind[used]
    rows = np.linalg.norm(instance.planted, axis=1) / np.sqrt(instance.scale)
    size = np.ones(len(i)) if distances else rows[i] * rows[j]
    size, count, signs = np.where(size > 0, size, 1.0), np.arange(len(i)), instance.signs

    def residuals(V: Floats) -> tuple[Floats, Floats]:
        a, b = V[i], V[j]
        J = np.zeros((len(count), *V.shape))
        if distances:
            length = np.linalg.norm(a - b, axis=1)
            residual = length - value
            direction = (a - b) / np.maximum(length, 1e-12)[:, None]
            J[count, i], J[count, j] = direction, -direction
        else:
            residual = np.einsum("ij,ij->i", a * signs, b) - value
            J[count, i] += b * signs
            J[count, j] += a * signs
        met = kind * residual > 0  # kind is 0 for equations, −1 for at most, 1 for at least the value
        residual[met], J[met] = 0.0, 0.0
        return residual / size, J.reshape(len(count), V.size) / size[:, None]

    return residuals


def second_completion(instance: Instance, answer: Answer) -> str | None:
    """Describe another completion that differs where the answer is called determined, or return None."""
    if not instance.exact or instance.single or instance.planted.size > UNKNOWNS or answer.determined is None:
        return None
    claimed = determined_pairs(answer)
    if answer.entry_levels is not None:
        claimed |= np.isin(answer.entry_levels, CERTAIN)
    return differing(instance, claimed & ~instance.observed_either_way)


def differing(instance: Instance, claimed: Bools) -> str | None:
    """Describe another completion that differs from the truth in a claimed entry, or return None."""
    claimed = claimed & instance.exists
    if not claimed.any():
        return None
    residuals, truth = residuals_of(instance), instance.truth / instance.scale
    for start in _starts(instance):
        V, misfit = _solved(residuals, start)
        if not misfit < AGREES:
            continue
        other = np.linalg.norm(V[:, None] - V, axis=2) if instance.group == DISTANCES else V * instance.signs @ V.T
        change = np.where(claimed, np.abs(other - truth), 0.0)
        i, j = np.unravel_index(int(np.argmax(change)), change.shape)
        if change[i, j] > DIFFERS:
            value = f"{instance.truth[i, j]:.6g}, but {other[i, j] * instance.scale:.6g}"
            return f"entry ({i}, {j}) is {value} in another completion that meets all data to {misfit:.0e}"
    return None


def _starts(instance: Instance) -> Iterator[Floats]:
    """Yield random factors, and the truth with some rows drawn anew or mirrored."""
    U = instance.planted / (instance.scale if instance.group == DISTANCES else np.sqrt(instance.scale))
    n, r = U.shape
    rng = np.random.default_rng([n, r, zlib.crc32(instance.name.encode())])
    size = float(np.sqrt(np.mean(U**2))) or 1.0
    for number in range(STARTS):
        V = U.copy()
        some = np.less(rng.random(n), rng.uniform(0.1, 0.6) if number % 3 else 1.0)
        if number % 3 == 2:
            axis = rng.standard_normal(r) if number % 2 else U[rng.integers(n)] + 1e-3 * rng.standard_normal(r)
            axis /= np.linalg.norm(axis)
            V[some] -= 2 * np.outer(V[some] @ axis, axis)
            V += 1e-3 * size * rng.standard_normal(V.shape)
        else:
            V[some] = size * rng.standard_normal((int(some.sum()), r))
        yield V


def _solved(residuals: Callable[[Floats], tuple[Floats, Floats]], V: Floats) -> tuple[Floats, float]:
    """Minimize by Levenberg–Marquardt to rounding; return the factor and the largest residual."""
    damping, (residual, J) = 1e-2, residuals(V)
    for _ in range(STEPS):
        cost = residual @ residual
        if cost < AGREES**2 / 1e6 or damping > 1e8:
            break
        normal = J.T @ J
        normal[np.diag_indices_from(normal)] += damping * (np.trace(normal) / len(normal) or 1.0)
        try:
            W = V - np.linalg.solve(normal, J.T @ residual).reshape(V.shape)
        except np.linalg.LinAlgError:
            break
        new, new_J = residuals(W)
        if new @ new < cost:
            V, residual, J, damping = W, new, new_J, max(damping / 5, 1e-13)
        else:
            damping *= 4
    return V, float(np.abs(residual).max(initial=0.0))
