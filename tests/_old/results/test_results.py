"""What results say of themselves, and by which names their rows can be asked for."""

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

import unrelu
from helpers import relu_instance
from unrelu._old.data.labels import as_positions
from unrelu._old.proofs.direct import DataError
from unrelu._old.results.witnesses import PSDWitnesses
from unrelu.datasets import points_in_cube, within


@pytest.fixture(scope="module")
def completion():
    _, X = relu_instance(40, 2)
    names = ["active", "alert", *(f"r{k}" for k in range(2, 40))]
    return unrelu.complete(pd.DataFrame(X, names, names), 2, rng=0)


@pytest.fixture(scope="module")
def located():
    D = within(points_in_cube(20, 2, rng=0), 0.6)
    return unrelu.complete_distances(D, 2, cutoff=0.6, rng=0, names=[f"p{k}" for k in range(20)])


def test_repr_is_one_short_line(completion, located):
    assert re.fullmatch(r"Completion\(40×40, rank 2, fitted, residual \d\.?\d?e-\d+\)", repr(completion))
    assert re.fullmatch(r"DistanceCompletion\(20 points, dim 2, fitted, residual \d\.?\d?e-\d+\)", repr(located))
    assert "completed at rank 2 by" in str(completion)
    assert "determined, relative residual" in str(located)


class TestLabels:
    """Rows are asked for by position or by label, one or many."""

    @pytest.mark.parametrize("what", ["entries", "standard_errors", "interval", "bounds", "entry_determinacy"])
    @pytest.mark.parametrize(
        ("rows", "cols", "places"),
        [
            ("active", "alert", (0, 1)),
            (["active", "r5"], "alert", ([0, 5], 1)),
            (np.array([["r7"], ["r3"]]), np.array(["active", "r9"]), ([[7], [3]], [0, 9])),
            (pd.Index(["r7", "r3"]), ("r2", "r9"), ([7, 3], [2, 9])),
            (["r7", 3], -1, ([7, 3], 39)),
        ],
    )
    def test_labels_are_as_good_as_positions(self, completion, what, rows, cols, places):
        ask = getattr(completion, what)
        asked, known = ask(rows, cols), ask(*places)
        assert np.shape(asked) == np.shape(known)
        np.testing.assert_array_equal(asked, known)

    def test_points_have_names(self, located):
        assert located.entries("p3", "p7") == located.entries(3, 7) == located.distances()[3, 7]
        np.testing.assert_array_equal(located.entries(["p3", "p4"], 0), located.entries([3, 4], 0))
        with pytest.raises(unrelu.InputError, match="unknown label 'p77'; did you mean 'p7'\\? accepted: p0, p1, p10"):
            located.entries("p77", 0)
        with pytest.raises(unrelu.InputError, match="rows and cols must be positions below 20, got 20 to 20"):
            located.entries(20, 0)

    @pytest.mark.parametrize("what", ["entries", "standard_errors", "interval", "bounds", "entry_determinacy"])
    def test_an_unknown_label_is_one_sentence(self, completion, what):
        said = "unknown label 'activ'; did you mean 'active'? accepted: active, alert, r10, r11"
        with pytest.raises(unrelu.InputError, match=re.escape(said)):
            getattr(completion, what)("activ", 0)

    def test_what_can_be_no_label(self, completion):
        for odd in (None, 0.5, ["r2", {}], np.array(["r2", None])):
            with pytest.raises(unrelu.InputError, match="unknown label"):
                completion.entries(odd, 0)

    def test_thousands_of_labels_are_not_listed(self):
        labels = tuple(f"row {k}" for k in range(1000))
        with pytest.raises(unrelu.InputError, match=r"'rows 7'; did you mean 'row.+ and 960 more$") as error:
            as_positions("rows 7", labels)
        assert len(str(error.value)) < 500

    def test_labels_that_are_integers_stay_positions(self):
        X = pd.DataFrame([[1.0, 2.0], [2.0, 4.0]], index=[1, 0], columns=[1, 0])
        completion = unrelu.complete(X, 1, rng=0)
        assert completion.entries(1, 1) == pytest.approx(4.0)
        with pytest.raises(unrelu.InputError, match="for the labels are integers too; got 'a'"):
            completion.entries("a", 0)

    def test_without_labels_there_are_positions_only(self):
        completion = unrelu.complete([[1.0, 2.0], [2.0, 4.0]], 1, rng=0)
        for rows in ("a", ["a", "b"]):
            with pytest.raises(unrelu.InputError, match="for the data came without labels; got 'a'"):
                completion.entries(rows, 0)

    def test_labels_of_several_levels(self):
        _, X = relu_instance(4, 1)
        index = pd.MultiIndex.from_product([["a", "b"], [1, 2]])
        completion = unrelu.complete(pd.DataFrame(X, index, index), 1, rng=0)
        assert completion.entries(("b", 1), 0) == completion.entries(2, 0)
        np.testing.assert_array_equal(completion.entries([("b", 1), ("a", 2)], 0), completion.entries([2, 1], 0))

    def test_a_label_of_two_rows_names_neither(self):
        with pytest.raises(unrelu.InputError, match="'a' is that of 2, 0 and 2 among them; give the position"):
            as_positions("a", ("a", "b", "a"))


class TestSummary:
    """What is ready for JSON names rows by their labels."""

    def test_labels_where_there_are_any(self):
        _, X = relu_instance(40, 3)
        others = np.setdiff1d(np.flatnonzero(~np.isnan(X[7])), [7])
        X[7, others[1:]] = X[others[1:], 7] = np.nan
        names = [f"r{k}" for k in range(40)]
        labelled = unrelu.complete(pd.DataFrame(X, names, names), 3, threshold=None, rng=0)
        plain = unrelu.complete(X, 3, threshold=None, rng=0)
        about, without = labelled.summary(), plain.summary()
        assert about["undetermined_rows"] == ["r7"]
        assert without["undetermined_rows"] == [7]
        worst = plain.largest_misfit
        assert about["largest_misfit"] == {"size": worst.size, "row": f"r{worst.row}", "column": f"r{worst.column}"}
        proofs = [unrelu.certify(one).summary() for one in (labelled, plain)]
        assert [proof["not_determined"] for proof in proofs] == [["r7"], [7]]
        assert [proof["groups"][0][-1] for proof in proofs] == ["r39", 39]
        json.dumps([about, without, *proofs], allow_nan=False)

    def test_labels_that_are_no_text_are_text_in_json(self):
        days = pd.date_range("2024-01-01", periods=3)
        X = pd.DataFrame([[1.0, 2.0, np.nan], [2.0, 4.0, np.nan], [np.nan] * 3], days, days)
        with pytest.warns(unrelu.CompletionWarning, match="nothing was seen of row 2024-01-03"):
            about = unrelu.complete(X, 1, rng=0).summary()
        assert json.loads(json.dumps(about))["undetermined_rows"] == ["2024-01-03 00:00:00"]


# --- what a completion makes of what its witnesses say ----------------------------------------------------------------


@dataclass(frozen=True)
class Coarse(PSDWitnesses):
    """The data may be off by more than rounding."""

    error: DataError | None = None

    def rows(self, completion, observations):
        return replace(super().rows(completion, observations), error=self.error)


def test_bounds_are_as_wide_as_the_error_of_the_data():
    _, X = relu_instance(30, 2)
    exact = unrelu.complete(X, 2, rng=0)
    assert exact.determined.all()
    i, j = np.nonzero(np.isnan(X))
    coarse = replace(exact, witnesses=Coarse(error=DataError(absolute=0.0, relative=0.01)))
    widths = [high - low for low, high in (one.bounds(i, j) for one in (exact, coarse))]
    size = np.linalg.norm(exact.factor, axis=1)
    assert widths[0].max() < 1e-6
    high = coarse.bounds(i, j)[1]
    below = high < 0  # else absence cuts the interval
    assert below.any()
    assert (widths[1] >= 0.01 * size[i] * size[j])[below].all()


@pytest.mark.parametrize(("dtype", "exact", "loose"), [(np.float64, 1e-9, 2e-9), (np.float32, 1e-6, 2e-6)])
def test_past_the_counting_limit_only_an_exact_fit_is_at_its_floor(dtype, exact, loose):
    open_ = unrelu.complete(np.array([[2.0, np.nan], [np.nan, 4.0]], dtype), 1, threshold=None)
    assert open_.verdict.code is unrelu.Stop.UNDERDETERMINED
    assert replace(open_, residual=exact).at_floor
    assert not replace(open_, residual=loose).at_floor
    answered = replace(open_, residual=loose, verdict=unrelu.Verdict(unrelu.Stop.FITTED, "fitted"))
    assert answered.at_floor


@pytest.mark.parametrize(("code", "kept"), [("fitted-to-noise", True), ("stationary", False)])
def test_what_was_found_of_the_rows_holds_while_the_fit_is_at_its_floor(code, kept):
    _, X = relu_instance(30, 2)
    found = unrelu.complete(X, 2, rng=0)
    rows = found._rows
    other = found.with_verdict(unrelu.Verdict(unrelu.Stop(code), "said otherwise"), np.arange(0))
    assert (other._asked.get("rows") is rows) is kept
