"""Certificates of tables: what is proved, what rows and columns lack, and that it is said."""

from __future__ import annotations

import json

import numpy as np
import pytest

import unrelu
from unrelu import InputError


def table(seed=0, m=40, n=25, rank=3, sigma=0.0):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    return np.where(M >= 0, M + sigma * rng.standard_normal((m, n)), np.nan)


def test_unique_is_claimed_of_a_completion_and_of_a_table():
    X = table()
    completion = unrelu.complete_rectangular(X, 3, rng=0)
    for certificate in (unrelu.certify_rectangular(completion), unrelu.certify_rectangular(X, 3, rng=0)):
        assert certificate.unique
        assert certificate.kind == "direct"
        assert str(certificate).startswith("Proved: exactly one 40×25 matrix of rank at most 3")
    ((rows, cols),) = certificate.groups
    assert len(rows) == 40
    assert len(cols) == 25


def test_a_row_and_a_column_that_see_too_little_are_named_with_what_they_lack():
    pd = pytest.importorskip("pandas")
    X = table(1)
    X[7, np.flatnonzero(~np.isnan(X[7]))[2:]] = np.nan
    X[np.flatnonzero(~np.isnan(X[:, 4]))[1:], 4] = np.nan
    frame = pd.DataFrame(X, [f"w{i}" for i in range(40)], [f"c{j}" for j in range(25)])
    certificate = unrelu.certify_rectangular(frame, 3, threshold=None, rng=0)
    assert not certificate.unique
    assert not certificate.determined[7]
    assert not certificate.columns_determined[4]
    said = certificate.explain()
    assert "Row w7 sees" in said
    assert "Column c4 sees 1 entry of determined rows; rank 3 needs 3." in said
    summary = json.loads(json.dumps(certificate.summary()))
    assert summary["not_determined"] == ["w7"]
    assert summary["columns_not_determined"] == ["c4"]


def test_two_bodies_have_no_frame_between_them():
    rng = np.random.default_rng(3)
    M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))
    X = np.full((30, 20), np.nan)
    X[:15, :10], X[15:, 10:] = M[:15, :10], M[15:, 10:]
    certificate = unrelu.certify_rectangular(X, 2, threshold=None, rng=0)
    assert not certificate.unique
    assert len(certificate.groups) == 2
    assert "Body 2" in certificate.explain()
    bridge = X.copy()
    bridge[[0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15]] = M[[0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15]]
    joined = unrelu.certify_rectangular(bridge, 2, threshold=None, rng=0)
    assert joined.unique
    assert joined.kind == "gluing"
    assert "joined" in joined.explain()


def test_noise_is_no_proof():
    certificate = unrelu.certify_rectangular(table(2, sigma=0.1), 3, threshold=None, rng=0)
    assert not certificate.unique
    assert certificate.kind == "stability"
    assert certificate.explain().startswith("Nothing is proved to be unique")


def test_what_cannot_be_meant_is_refused():
    X = table()
    completion = unrelu.complete_rectangular(X, 3, rng=0)
    with pytest.raises(InputError, match="pass rank="):
        unrelu.certify_rectangular(X)
    with pytest.raises(InputError, match="that of the completion, 3"):
        unrelu.certify_rectangular(completion, 2)
    with pytest.raises(InputError, match="drop threshold="):
        unrelu.certify_rectangular(completion, threshold=0.0)
    with pytest.raises(InputError, match="certify_rectangular is for tables"):
        unrelu.certify(completion)


def test_columns_that_see_dependent_rows_are_not_proved():
    """A Gram matrix of dependent rows has a least eigenvalue of eps, whose root looks like a direction."""
    from soak.catalogue import drawn

    instance = drawn("tables-limits:8000:2")
    found = unrelu.complete_rectangular(instance.data, rng=0, **instance.arguments())
    truth = instance.truth[: instance.cut, instance.cut :]
    levels = found.entry_determinacy(np.arange(truth.shape[0])[:, None], np.arange(truth.shape[1]))
    assert (levels == "proved").sum() > 120
    np.testing.assert_allclose(found.matrix()[levels == "proved"], truth[levels == "proved"], atol=1e-8)
    low, high = found.bounds(np.arange(truth.shape[0])[:, None], np.arange(truth.shape[1]))
    assert ((low <= truth + 1e-9) & (truth - 1e-9 <= high)).all()
