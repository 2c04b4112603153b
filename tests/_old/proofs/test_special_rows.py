"""Rows that repeat each other, vanish or are whole numbers: never called determined where a second matrix fits."""

import numpy as np
import pytest
from judging import both_determined, completed, hidden, judged

import unrelu
from soak.catalogue import drawn

CALLED = ("proved", "generic")


def agree(X, U, V, threshold=None):
    """Whether two factors fit the same seen entries, and both what absence says."""
    seen, M, N = ~np.isnan(X), U @ U.T, V @ V.T
    same = np.allclose(M[seen], N[seen], rtol=0, atol=1e-12)
    return same and (threshold is None or bool((np.maximum(M, N)[~seen] < threshold).all()))


# --- two matrices that fit -----------------------------------------------------------------------------------------


def repeated_rows():
    """Row 5 sees only rows 0, 1 and 9, which are equal: it may be mirrored in them. Absence rules out other mirrors."""
    rng = np.random.default_rng(363)
    U = rng.standard_normal((6, 2))[rng.integers(0, 6, 13)]
    tau = float(np.quantile(U @ U.T, 0.3))
    V = U.copy()
    along = U[0] / np.linalg.norm(U[0])
    V[5] = 2 * (U[5] @ along) * along - U[5]
    M = U @ U.T
    return np.where(tau <= M, M, np.nan), U, V, tau


def test_repeated_rows_are_not_in_general_position():
    X, U, V, tau = repeated_rows()
    assert agree(X, U, V, tau)
    assert abs((U @ U.T - V @ V.T)[5, 11]) > 2
    for start in (U, V, "auto"):
        completion = completed(X, 2, threshold=tau, start=start)
        assert completion.residual < 1e-12
        assert completion.entry_determinacy(5, 11) not in CALLED
        assert completion.entry_determinacy(2, 11) in CALLED


def test_nearly_repeated_rows_are_not_either():
    """In single precision equal rows come out a rounding apart: enough for a stress, not for the data."""
    X, U, V, tau = repeated_rows()
    X = X.astype(np.float32)
    for truth in (U, V):
        near = truth + 1e-9 * np.random.default_rng(1).standard_normal(U.shape)
        found = judged(X, near, threshold=tau - 1e-6)
        assert found.agrees
        assert not both_determined(found, 5, 11)


def test_copies_a_rounding_apart_do_not_place_another_row():
    """Rows 3, 9, 13, 18 and 20 are copies; the own entry of the last was not seen, and it may have a part beside them.

    The fit has them apart by the root of its misfit, which is no direction. Drawn by the soak, which found it.
    """
    instance = drawn("repeated-rows:8000:9")
    V = instance.planted.copy()
    along = V[20] / np.linalg.norm(V[20])
    V[20] += np.array([along[1], -along[0]])
    seen = instance.seen | instance.seen.T
    assert np.abs(V @ V.T - instance.truth)[seen].max() < 1e-12
    completion = unrelu.complete(instance.data, rng=0, **instance.options)
    assert completion.entry_determinacy(20, 20) not in CALLED
    assert completion.entry_determinacy(3, 18) in CALLED


# Two whole-number factors with the same seen entries: rows 0 and 4 are mirrored in the direction of row 3.
INTEGERS = np.array([[3, -2], [-4, 3], [0, 0], [-2, 2], [1, -1], [0, -1]])
MIRRORED = np.array([[2, -3], [-4, 3], [0, 0], [-2, 2], [1, -1], [0, -1]])
HIDDEN = [(0, 1), (0, 2), (0, 5), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5)]
# Rows on two axes: the rows of one axis do not know which way those of the other point.
ON_AXES = np.array([[4.0, 0], [-3, 0], [0, 2], [0, 1], [0, -5], [2, 0]])
TURNED = ON_AXES * [[1, 1], [1, 1], [1, 1], [1, -1], [1, -1], [1, 1]]
CROSSED = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4)]


@pytest.mark.parametrize(
    ("U", "V", "pairs", "entry"),
    [(INTEGERS, MIRRORED, HIDDEN, (0, 5)), (ON_AXES, TURNED, CROSSED, (2, 4))],
    ids=["whole numbers", "on axes"],
)
def test_other_special_rows_are_not_in_general_position(U, V, pairs, entry):
    X = hidden(U @ U.T, pairs)
    assert agree(X, U, V)
    assert (U @ U.T)[entry] != (V @ V.T)[entry]
    assert not both_determined(judged(X, U.astype(float), threshold=None), *entry)
    assert not both_determined(judged(X, V.astype(float), threshold=None), *entry)
