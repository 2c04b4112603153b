"""Matrices as edge lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unrelu import InputError
from unrelu._old.io.files import read_matrix
from unrelu._old.io.reader import read_data

NAN, INF = np.nan, np.inf


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str, name: str = "m.csv", **options):
    Path(name).write_text(text)
    return read_data(name, **options)


def refusal(text: str, **options) -> str:
    with pytest.raises(InputError) as caught:
        read(text, **options)
    return str(caught.value)


SYMMETRIC = [[1, 1.5, NAN], [1.5, NAN, 2], [NAN, 2, NAN]]


@pytest.mark.parametrize("head", ["", "i,j,value\n", "one,other,score\n"])
def test_a_symmetric_matrix_may_list_a_pair_once(head):
    found = read(f"{head}a,b,1.5\nc,b,2\n\na,a,1\n")
    assert found.rows == found.columns == ("a", "b", "c")
    np.testing.assert_array_equal(found.values, SYMMETRIC)
    assert found.words == (
        "read as an edge list of 3 pairs of 3 names, the same for rows and columns; say --table if those are "
        "different things",
    )


def test_a_pair_may_be_given_in_both_directions_alike():
    found = read("a,b,1.5\nb,a,1.50\nc,b,2\na,a,1\n")
    np.testing.assert_array_equal(found.values, SYMMETRIC)
    assert "of 3 pairs" in found.words[0]


def test_different_names_make_a_table():
    found = read("anna,jaws,4\nben,alien,2\nanna,alien,5\n")
    assert (found.rows, found.columns) == (("anna", "ben"), ("jaws", "alien"))
    np.testing.assert_array_equal(found.values, [[4, 5], [NAN, 2]])
    assert found.words == ("read as an edge list of 3 entries, 2×2",)


def test_rows_and_columns_that_share_names_are_a_table_if_said():
    found = read("a,b,1\nb,a,2\nb,b,3\n", table=True)
    assert (found.rows, found.columns) == (("a", "b"), ("b", "a"))
    np.testing.assert_array_equal(found.values, [[1, NAN], [3, 2]])


@pytest.mark.parametrize("head", ["i,j,value", "row,column,x", "Row,Col,x", "from,to,w", "source, target ,w"])
def test_whole_numbers_under_known_names_come_in_their_order(head):
    found = read(f"{head}\n10,9,1.5\n9,7,2\n10,10,1\n")
    assert found.rows == found.columns == ("7", "9", "10")
    np.testing.assert_array_equal(found.values, [[NAN, 2, NAN], [2, NAN, 1.5], [NAN, 1.5, 1]])


@pytest.mark.parametrize(
    "text",
    [
        "1,2,0.5\n2,3,0.7\n",
        "a,b,c\n1,2,0.5\n2,3,0.7\n",
        "i,j,1\n1,2,0.5\n2,3,0.7\n",
        "i,j,x\n1,2.5,3\n4,5,6\n",
        ",a,b\nx,1,2\ny,3,4\n",
    ],
)
def test_three_columns_that_may_be_a_table_stay_one_unless_said(text):
    found = read(text)
    plain = read_matrix("m.csv")
    np.testing.assert_array_equal(found.values, plain.values)
    assert (found.rows, found.columns, found.words) == (plain.rows, plain.columns, ())
    if text[0] in "1a":
        assert read(text, layout="edges").rows == ("1", "2", "3")


def test_an_edge_list_is_a_matrix_if_said():
    assert "line 2, column 2: 'c' is neither a number" in refusal("a,b,1\na,c,2\n", layout="matrix", header=False)
    assert "line 2, column 2: 'c' is neither a number" in refusal("a,b,1\na,c,2\n", labels=True)


@pytest.mark.parametrize("text", [",a,b\nx,oops,2\n", "gene,a,b\nx,oops,2\ny,3,4\n"])
def test_a_wrong_cell_of_a_matrix_makes_no_edge_list(text):
    assert refusal(text).startswith("m.csv, line 2, column 2: 'oops' is neither a number nor a missing mark")


def test_a_layout_that_is_none():
    assert refusal("1,2,3\n", layout="list").startswith("unknown format 'list'")


def test_limits_and_marks_in_edge_lists():
    found = read("a,b,<0.25\nb,c,ND\na,c,>3\na,a,1\n")
    np.testing.assert_array_equal(found.high, [[INF, 0.25, INF], [0.25, INF, INF], [INF, INF, INF]])
    np.testing.assert_array_equal(found.low, [[-INF, -INF, 3], [-INF, -INF, -INF], [3, -INF, -INF]])
    assert found.counts == {"measured": 1, "below": 2, "above": 2, "missing": 4}


def test_semicolons_and_plain_text():
    for text, name in (("a;b;1,5\na;c;2\n", "m.csv"), ("a b 1.5\na c 2\n", "m.txt"), ("a\tb\t1.5\na\tc\t2\n", "m.tsv")):
        found = read(text, name)
        assert (found.rows, found.columns) == (("a",), ("b", "c"))
        np.testing.assert_array_equal(found.values, [[1.5, 2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,1\nb,c,2\na,b,1.5\n",
            "m.csv gives the entry of 'a' and 'b' twice, as '1' on line 1 and as '1.5' on line 3; keep one of them",
        ),
        (
            "a,b,1\nb,c,2\nb,a,1.5\n",
            "m.csv gives the entry of 'b' and 'a' twice, as '1' on line 1 and as '1.5' on line 3; keep one of them, or "
            "say --table if rows and columns are different things",
        ),
        (
            "a,b,<1\nb,c,2\na,b,<2\n",
            "m.csv gives the entry of 'a' and 'b' twice, as '<1' on line 1 and as '<2' on line 3; keep one of them",
        ),
        ("a,b,1\nb,c,?\n" + "b,c,2\n" * 30, None),
        ("a,b,1\n" * 20 + "b,c,?\n", "m.csv, line 21, column 3: '?' is neither a number nor a missing mark; give it "
         "with --missing '?' or correct the cell"),
        ("a,b,1\n" * 20 + ",c,2\n", "m.csv, line 21 leaves the row of '2' without a name; expected a line 'row, "
         "column, value' for every entry"),
        ("a,b,1\n" * 20 + "c,,2\n", "m.csv, line 21 leaves the column of '2' without a name; expected a line 'row, "
         "column, value' for every entry"),
        ("a,b,1\n" * 20 + "c,2\n", "m.csv, line 21 has 2 cells where 3 were expected: a line 'row, column, value' for "
         "every entry"),
    ],
)  # fmt: skip
def test_what_is_refused_by_name(text, message):
    found = refusal(text)
    assert found == message or (message is None and "neither a number" in found)
    assert "\n" not in found


def test_a_list_of_nothing_but_names_of_columns():
    assert refusal("i,j,value\n", layout="edges") == (
        "m.csv holds no entries; expected a line 'row, column, value' for every entry"
    )
