"""Limits of detection of columns, from a file of their own."""

import gzip

import numpy as np
import pytest
import scipy.sparse

import unrelu
from unrelu._old.io.column_limits import read_column_limits, with_column_limits
from unrelu._old.io.reader import read_data

NAMES = ("lead", "zinc", "tin")
INF = np.inf
EXPECTED = ([0.2, -INF, 0.5], [INF, 100.0, 9.0])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text, name="lod.csv", columns=NAMES, width=3):
    with open(name, "wb") as handle:
        handle.write(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return read_column_limits(name, columns, width)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("column,lower,upper\nlead,0.2,\nzinc,,100\ntin,0.5,9\n", "lod.csv"),
        ("column,lower,upper\nlead,0.2,\nzinc,,100\ntin,0.5,9\n", "lod.csv.gz"),
        ("Analyte\tUpper\tLower\ntin\t9\t0.5\nlead\tNA\t0.2\nzinc\t100\t\n", "lod.tsv"),
        ("column;lower;upper\nlead;0,2;\nzinc;;100\ntin;0,5;9\n", "lod.csv"),
        ("column,lower,upper\n1,0.2,\n2,-inf,100\n3,0.5,9\n", "lod.csv"),
        ("column,lower,upper\n\nlead,0.2,inf\n2,,100\ntin,0.5,9\n\n", "lod.csv"),
        (",lead,zinc,tin\nlower,0.2,,0.5\nupper,,100,9\n", "lod.csv"),
        ("tin,zinc,lead\n9,100,\n", None),
    ],
)
def test_either_way_round(text, name):
    if name is None:  # a line under the names has lower limits only
        found = read(text)
        np.testing.assert_array_equal(found.lower, [-INF, 100.0, 9.0])
        np.testing.assert_array_equal(found.upper, [INF] * 3)
        return
    found = read(text, name)
    np.testing.assert_array_equal(found.lower, EXPECTED[0])
    np.testing.assert_array_equal(found.upper, EXPECTED[1])
    assert found.listed.all()


@pytest.mark.parametrize(
    "text", ["lead,zinc,tin\n0.2,3,0.5\n", "site,lead,zinc,tin\nLOD,0.2,3,0.5\n", "0.2,3,0.5\n", "1,2,3\n0.2,3,0.5\n"]
)
def test_a_line_of_lower_limits(text):
    np.testing.assert_array_equal(read(text).lower, [0.2, 3, 0.5])


def test_numbers_are_names_first():
    found = read("column,lower\n2,0.5\n", columns=("2", "1", "x"))
    np.testing.assert_array_equal(found.lower, [0.5, -INF, -INF])
    np.testing.assert_array_equal(found.listed, [True, False, False])
    np.testing.assert_array_equal(read("column,lower\n3,0.5\n", columns=None).lower, [-INF, -INF, 0.5])


def test_a_spreadsheet_of_limits():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["column", "lower", "upper"], ["lead", 0.2, None], ["zinc", None, 100], ["tin", 0.5, 9]):
        book.active.append(row)
    book.save("lod.xlsx")
    np.testing.assert_array_equal(read_column_limits("lod.xlsx", NAMES, 3).lower, EXPECTED[0])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("column,lower,upper\nlaed,1,2\n",
         "lod.csv, line 2: unknown column 'laed'; did you mean 'lead'? accepted: lead, tin, zinc"),
        ("column,lower\n4,1\n", "lod.csv, line 2: unknown column '4'; accepted: lead, tin, zinc"),
        ("column,lower\n0,1\n", "lod.csv, line 2: unknown column '0'; accepted: lead, tin, zinc"),
        ("lead,iron\n1,2\n", "lod.csv, line 2: unknown column 'iron'; did you mean 'tin'? accepted: lead, tin, zinc"),
        ("column,lower\nlead,1\ntin,2\nlead,1\n",
         "lod.csv names the column 'lead' twice, on lines 2 and 4; keep one of them"),
        ("column,lower\nlead,1\n1,1\n", "lod.csv names the column '1' twice, on lines 2 and 3; keep one of them"),
        ("lead,lead\n1,2\n", "lod.csv names the column 'lead' twice, on line 2; keep one of them"),
        ("column,lower,upper\nlead,3,2\n",
         "lod.csv, line 2: the lower limit of the column 'lead', 3, is above its upper limit, 2; swap the two"),
        ("column,lower\nlead,x\n",
         "lod.csv, line 2, column 2: 'x' is neither a number nor a missing mark; give it with --missing x or correct "
         "the cell"),
        ("column,lower\nlead\n",
         "lod.csv, line 2 has 1 cell where 2 were expected: lines 'column,lower,upper', or one line of lower limits "
         "under the names of the columns"),
        ("lead,zinc,tin\n1,2,3\n4,5,6\n",
         "lod.csv holds no limits that can be told apart; expected lines 'column,lower,upper', or one line of lower "
         "limits under the names of the columns"),
        ("lead,zinc,tin\n",
         "lod.csv holds no limits that can be told apart; expected lines 'column,lower,upper', or one line of lower "
         "limits under the names of the columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_sentence(text, sentence):
    with pytest.raises(unrelu.InputError) as error:
        read(text)
    assert str(error.value) == sentence


def test_two_columns_of_one_name_need_numbers():
    with pytest.raises(unrelu.InputError) as error:
        read("column,lower\nlead,1\n", columns=("lead", "lead", "tin"))
    assert str(error.value) == (
        "lod.csv, line 2: 2 columns of the table are called 'lead'; give the number of each, counted from 1"
    )
    np.testing.assert_array_equal(read("column,lower\n2,1\n", columns=("lead", "lead", "tin")).lower, [-INF, 1, -INF])


# What they say of a table


def table(text="site,lead,zinc,tin\na,1,5,ND\nb,,ND,3\nc,ND,7,4\n"):
    with open("x.csv", "w") as handle:
        handle.write(text)
    return read_data("x.csv")


def test_missing_cells_lie_beyond_the_limits_of_their_columns():
    found = with_column_limits(table(), read("column,lower,upper\nlead,0.2,\nzinc,,100\ntin,0.5,9\n"))
    limits = found.limits
    np.testing.assert_array_equal(limits.high, [[0.2, INF, INF]])
    np.testing.assert_array_equal(limits.low, [[-INF, 100.0, -INF]])
    np.testing.assert_array_equal(np.where(np.isfinite(limits.gap[0]), limits.gap, np.nan)[:, 0, 2], [0.5, 9])
    assert np.isinf(limits.gap[0][0, :2]).all()
    assert found.counts == {"measured": 5, "below": 2, "above": 1, "missing": 0, "either": 1}
    assert found.words == (
        "read limits of 3 columns from lod.csv: 2 below, 1 above, 1 beyond either of two, 5 measured, 0 missing",
    )


def test_a_cell_keeps_the_limit_of_its_own():
    read_table = table("site,lead,zinc,tin\na,1,5,<0.1\nb,<0.3,ND,3\nc,ND,7,ND\n")
    found = with_column_limits(read_table, read("column,lower,upper\nlead,0.2,\nzinc,,\ntin,0.5,9\n"))
    limits = found.limits
    np.testing.assert_array_equal(limits.high[:, 0], [0.2, 0.3, 0.2])
    np.testing.assert_array_equal(limits.high[:, 2], [0.1, INF, INF])
    np.testing.assert_array_equal(limits.gap[0][:, 2], [INF, 0.5, 0.5])
    assert found.counts == {"measured": 4, "below": 3, "above": 0, "missing": 1, "either": 1}
    assert found.words == (
        "read limits from its cells, and limits of 2 columns from lod.csv: 3 below, 0 above, 1 beyond either of two, 4 "
        "measured, 1 missing, of which nothing is known",
    )


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(
    ("lower", "sentence"),
    [
        ("1.5,4,", "every measured value must lie within the limits of its column, but 1 do not, at (a, lead), the "
         "first being 1 where the lower limit in lod.csv is 1.5; correct the limit, or write <1.5 into the cell"),
        ("1,6,5", "every measured value must lie within the limits of its column, but 3 do not, at (a, zinc) and 2 "
         "more, the first being 5 where the lower limit in lod.csv is 6; correct the limit, or write <6 into the cell"),
    ],
)  # fmt: skip
def test_a_value_that_was_seen_beyond_its_limit(lower, sentence, sparse):
    found = table()
    if sparse:
        rows, cols = np.nonzero(~np.isnan(found.values))
        stored = scipy.sparse.csr_array((found.values[rows, cols], (rows, cols)), shape=found.values.shape)
        found = type(found)(stored, found.rows, found.columns)
    with pytest.raises(unrelu.InputError) as error:
        with_column_limits(found, read(f"lead,zinc,tin\n{lower}\n"))
    assert str(error.value) == sentence
    ok = with_column_limits(found, read("lead,zinc,tin\n1,5,3\n"))
    assert ok.counts == {"measured": 5, "below": 4, "above": 0, "missing": 0}


def test_an_upper_limit_is_told_as_one():
    with pytest.raises(unrelu.InputError, match=r"at \(c, zinc\), the first being 7 where the upper limit"):
        with_column_limits(table(), read("column,lower,upper\nlead,,\nzinc,,6\ntin,,\n"))


def test_a_column_with_missing_cells_must_be_listed():
    with pytest.raises(unrelu.InputError) as error:
        with_column_limits(table(), read("column,lower\nlead,0.1\n"))
    assert str(error.value) == (
        "lod.csv says nothing of the column 'zinc', which has 1 missing cell, nor of 1 more that have some; give it a "
        "line, with empty limits if nothing is known of those"
    )
    whole = table("site,lead,zinc,tin\na,1,5,2\nb,,6,3\nc,ND,7,4\n")
    assert with_column_limits(whole, read("column,lower\nlead,0.1\n")).counts["below"] == 2


def test_a_value_that_stands_for_not_seen_is_noticed():
    read_table = table("site,lead,zinc,tin\na,1,0,3\nb,0,5,3\nc,2,7,4\n")
    with pytest.raises(unrelu.InputError, match="the cell, or say --missing 0 if that stands for 'not seen'"):
        with_column_limits(read_table, read("lead,zinc,tin\n0.1,0.1,0.1\n"))
