"""A completion with two factors, live and loaded: nothing is known of its rows, and nobody says otherwise."""

import json
from dataclasses import replace

import numpy as np
import pytest

import unrelu
from helpers import relu_instance
from unrelu._old.results.saving import SINCE
from unrelu._old.results.witnesses import PSDWitnesses, Silent


@pytest.fixture(scope="module")
def one():
    """UUᵀ."""
    _, X = relu_instance(40, 2)
    return unrelu.complete(X, 2, rng=0)


@pytest.fixture(scope="module")
def two(one):
    """LRᵀ."""
    left = one.factor
    return replace(one, left=left, right=left[:, ::-1].copy(), symmetric=False, witnesses=Silent())


def loaded(completion, folder):
    completion.save(folder / "found.npz")
    return unrelu.Completion.load(folder / "found.npz")


def test_a_loaded_completion_asks_the_same_witnesses(one, two, tmp_path):
    assert loaded(one, tmp_path).witnesses == one.witnesses == PSDWitnesses()
    assert loaded(two, tmp_path).witnesses == two.witnesses == Silent()


def test_a_loaded_one_with_two_factors_refuses_error_bars_as_the_live_one_does(two, tmp_path):
    for found in (two, loaded(two, tmp_path), loaded(two, tmp_path).with_data(two.source)):
        with pytest.raises(unrelu.InputError, match="one factor and for tables; this one is square and has two"):
            found.standard_errors(0, 1, X=two.source)


def test_a_loaded_one_with_two_factors_calls_no_row_determined(two, tmp_path):
    assert not loaded(two, tmp_path).with_data(two.source).determined.any()


def test_a_certificate_of_two_factors_is_refused(two, tmp_path):
    for found in (two, loaded(two, tmp_path).with_data(two.source)):
        with pytest.raises(unrelu.InputError, match="positive semidefinite completion, and this one has two factors"):
            unrelu.certify(found)


def test_a_file_from_before_a_field_was_added(one, tmp_path):
    one.save(tmp_path / "now.npz")
    with np.load(tmp_path / "now.npz") as stored:
        about, factor = json.loads(str(stored["about"])), stored["factor"]
    before = {name: value for name, value in about.items() if name not in SINCE}
    np.savez(tmp_path / "before.npz", factor=factor, about=np.array(json.dumps(before)))
    found = unrelu.Completion.load(tmp_path / "before.npz")
    assert found.symmetric
    assert (found.pairs, found.threshold, found.side) == ("auto", 0.0, "above")
    again = found.with_data(one.source)
    np.testing.assert_array_equal(again.matrix(), one.matrix())
    np.testing.assert_array_equal(again.determinacy, one.determinacy)
    assert np.isfinite(again.standard_errors(0, 1))


def test_a_file_from_before_there_were_signs_is_read(tmp_path):
    completion = unrelu.complete(np.outer([1.0, 2, 3], [1.0, 2, 3]), 1, rng=0)
    completion.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = json.loads(str(arrays["about"]))
    for added in ("signs", "kind"):
        del about[added]
    arrays["about"] = np.array(json.dumps(about))
    np.savez(tmp_path / "old.npz", **arrays)
    again = unrelu.Completion.load(tmp_path / "old.npz")
    assert again.signs is None
    np.testing.assert_array_equal(again.matrix(), completion.matrix())
