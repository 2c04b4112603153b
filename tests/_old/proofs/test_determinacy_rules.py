"""One small case per rule behind the four words, on the edge where loosening the rule changes the answer."""

import numpy as np
import pytest
import scipy.sparse as sp
from judging import completed, judged

import unrelu
from unrelu import Stop
from unrelu._old.base.budget import OutOfTime, budget
from unrelu._old.data.observations import Observations
from unrelu._old.proofs import elsewhere
from unrelu._old.proofs.agreement import contradicted, noise_level
from unrelu._old.proofs.direct import DataError
from unrelu._old.proofs.order import canonical_frame, canonical_order
from unrelu._old.proofs.stress import Stresses


def gaussian(n, rank, seed=0):
    return np.random.default_rng(seed).standard_normal((n, rank))


# --- the fit must be the answer ------------------------------------------------------------------------------------


def test_above_its_floor_no_row_is_determined():
    U = gaussian(20, 2)
    X = np.where(U @ U.T >= 0, U @ U.T, np.nan)
    assert judged(X, U).determined.all()
    above = judged(X, U, at_floor=False)
    assert not above.determined.any()
    assert set(above.level) == {"local"}
    noisy = X + 0.01 * (G := gaussian(20, 20, 1)) + 0.01 * G.T
    noisy = np.where(noisy >= 0, noisy, np.nan)
    assert judged(noisy, U, misfit=1.0).determined.all()
    assert not judged(noisy, U, misfit=1.0, at_floor=False).determined.any()


def test_certify_calls_no_row_determined_after_a_run_cut_short():
    U = gaussian(40, 3)
    X = np.where(U @ U.T >= 0, U @ U.T, np.nan)
    short = completed(X, 3, method="gradient-descent", max_iter=5)
    assert short.verdict.code is Stop.MAX_ITERATIONS
    assert not unrelu.certify(short).determinacy.determined.any()
    proof = completed(X, 3, method="gauss-newton", start=U, max_iter=1)
    assert unrelu.certify(proof).unique  # a proof needs no verdict


# --- a pair on both sides of the threshold -------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_said_to_be_on_both_sides_are_not_determined(sparse):
    U = np.abs(gaussian(12, 2)) + 1  # every entry is beyond 1
    X = U @ U.T
    X[3, 7] = np.nan
    data = sp.csr_array(np.nan_to_num(X)) if sparse else X
    found = judged(data, U, threshold=1.0)
    assert np.flatnonzero(~found.determined).tolist() == [3, 7]
    unknown = np.isnan(X)
    assert judged(X, U, threshold=1.0, unknown=unknown).determined.all()
    assert judged(X, U, threshold=None).determined.all()


@pytest.mark.parametrize(("beyond", "told"), [(0.05, False), (0.5, True)])
def test_noise_may_put_a_pair_on_both_sides_near_the_threshold_only(beyond, told):
    U = np.abs(gaussian(30, 2)) + 1
    X = U @ U.T + 0.01 * gaussian(30, 30, 1)
    X[3, 7], X[7, 3] = np.nan, 1 + beyond
    observations = Observations.of(X, threshold=1.0)
    scaled = U / np.sqrt(observations.unit)
    assert noise_level(observations, scaled) * observations.unit == pytest.approx(0.01 / np.sqrt(2), rel=0.2)
    rows = contradicted(observations, scaled, DataError.of(observations, 2, None), agrees=False)
    assert np.flatnonzero(rows).tolist() == ([3, 7] if told else [])


# --- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_determinacy_does_not_depend_on_the_order_of_the_rows(seed):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((5, 3))[rng.integers(0, 5, 14)] if seed % 2 else np.round(2 * rng.standard_normal((14, 3)))
    seen = np.triu(rng.random((14, 14)) < rng.uniform(0.3, 0.6))
    X = np.where(seen | seen.T, U @ U.T, np.nan)
    found = judged(X, U, threshold=None)
    order = rng.permutation(14)
    turned = judged(X[np.ix_(order, order)], U[order] @ np.linalg.qr(rng.standard_normal((3, 3)))[0], threshold=None)
    assert turned.level.tolist() == found.level[order].tolist()
    assert turned.determined.tolist() == found.determined[order].tolist()


def test_rows_are_sorted_by_what_was_seen_of_them():
    rng = np.random.default_rng(5)
    M = (U := rng.standard_normal((40, 4))) @ U.T
    M[rng.random((40, 40)) < 0.5] = np.nan
    M[0, 0] = 3.0
    observations = Observations.of(M, threshold=None)
    order, _ = canonical_order(observations)
    assert sorted(order.tolist()) == list(range(40))
    shuffled = rng.permutation(40)
    again, _ = canonical_order(Observations.of(M[np.ix_(shuffled, shuffled)], threshold=None))
    assert shuffled[again].tolist() == order.tolist()
    inner = observations.reordered(order)
    everyone = np.arange(40)
    assert np.array_equal(inner.block(everyone, everyone), M[np.ix_(order, order)], equal_nan=True)
    assert inner.seen_per_row.tolist() == observations.seen_per_row[order].tolist()
    assert inner.unit == observations.unit


@pytest.mark.parametrize("columns", [2, 4])
def test_the_axes_do_not_depend_on_how_the_factor_is_turned(columns):
    U = gaussian(9, 2) @ np.eye(2, columns)
    turned = U @ np.linalg.qr(gaussian(columns, columns, 1))[0]
    assert np.allclose(canonical_frame(turned)[:, :2], canonical_frame(U)[:, :2], rtol=0, atol=1e-12)
    assert np.allclose(canonical_frame(turned) @ canonical_frame(turned).T, U @ U.T, rtol=0, atol=1e-12)


def test_rows_that_look_alike_are_told_apart_by_the_rows_they_see():
    """A path of equal entries: its ends look alike, and only the weight far away says which is which."""
    X = np.full((8, 8), np.nan)
    for i in range(7):
        X[i, i + 1] = X[i + 1, i] = 1.0
    X[4, 4] = 2.0
    first, _ = canonical_order(Observations.of(X, threshold=None))
    back = np.arange(8)[::-1]
    again, _ = canonical_order(Observations.of(X[np.ix_(back, back)], threshold=None))
    assert back[again].tolist() == first.tolist()


# --- small things ----------------------------------------------------------------------------------------------------


def test_absence_alone_can_prove_everything():
    """m₁₂ < 0 and m₁₂² = 8: more unknowns than entries, and one matrix."""
    X = np.array([[2.0, np.nan], [np.nan, 4.0]])
    U = np.array([[np.sqrt(2)], [-2.0]])
    found = judged(X, U)
    assert found.level.tolist() == ["proved", "proved"]
    assert found.determined.all()
    assert not judged(X, U, threshold=None).determined.all()


def test_a_pattern_seen_one_way_only_is_as_good_as_its_mirror():
    U = gaussian(10, 2)
    X = U @ U.T
    unknown = np.tril(np.ones((10, 10), dtype=bool), -1)
    X[unknown] = np.nan
    found = judged(X, U, threshold=-100.0, unknown=unknown)
    assert set(found.level) == {"proved"}


def test_the_clock_is_obeyed():
    U = gaussian(30, 3)
    X = np.where(U @ U.T >= 0, U @ U.T, np.nan)
    with budget(seconds=1e-9), pytest.raises(OutOfTime):
        judged(X, U)
    phases = []
    with budget(told=phases.append):
        judged(X, U)
    assert phases == ["which rows are determined"]
    for call in (
        lambda: Stresses(~np.isnan(X), U).motion(np.random.default_rng(0)),
        lambda: elsewhere.parallel_rows(U),
    ):
        with budget(seconds=1e-9), pytest.raises(OutOfTime):
            call()
