"""Edge lists as sparse sources, from text, parquet and frames."""

import gzip
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import unrelu
import unrelu._old.io.reader
from helpers import relu_instance, table_instance
from unrelu import InputError
from unrelu._old.data.source import SparseSource
from unrelu._old.io import edge_lines
from unrelu._old.io.reader import read_data

NAN = np.nan
FORMS = ["csv", "csv line by line", "tsv", "txt", "csv.gz", "parquet", "frame"]


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Write lines in some form, and read them again."""

    def read(lines, form="csv", names=("i", "j", "value"), **options):
        name, *careful = form.split(maxsplit=1)
        if careful:
            monkeypatch.setitem(sys.modules, "pandas", None)
        if name in ("parquet", "frame"):
            frame = pd.DataFrame(lines, columns=names)
            if name == "frame":
                return unrelu.edges(frame, **options)
            pytest.importorskip("pyarrow")
            frame.to_parquet(tmp_path / "e.parquet")
            return unrelu.edges(tmp_path / "e.parquet", **options)
        mark = {"tsv": "\t", "txt": " "}.get(name, ",")
        text = "".join(mark.join(map(str, line)) + "\n" for line in ([names] if names else []) + list(lines))
        return unrelu.edges(written(tmp_path, text, f"e.{name}"), **options)

    return read


def written(folder, text, name="e.csv"):
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def dense(source):
    assert isinstance(source, SparseSource)
    return source.block(slice(0, source.shape[0]), slice(0, source.shape[1]))


def refusal(ask, *args, **options):
    with pytest.raises(InputError) as raised:
        ask(*args, **options)
    said = str(raised.value)
    assert "\n" not in said
    return said


# --- what is read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_names(listed, form):
    found = listed([("anna", "ben", 0.5), ("carl", "anna", 0.25), ("ben", "ben", 1.0)], form)
    assert found.labels == ("anna", "ben", "carl")
    assert found.column_labels is None
    np.testing.assert_array_equal(dense(found), [[NAN, 0.5, 0.25], [0.5, 1.0, NAN], [0.25, NAN, NAN]])


@pytest.mark.parametrize("form", FORMS)
def test_positions(listed, form):
    found = listed([(0, 1, 0.5), (1, 2, 0.0), (2, 2, 1.5)], form)
    assert found.labels is None
    np.testing.assert_array_equal(dense(found), [[NAN, 0.5, NAN], [0.5, NAN, 0.0], [NAN, 0.0, 1.5]])


@pytest.mark.parametrize("form", FORMS)
def test_a_table(listed, form):
    found = listed([("u", "x", 1.0), ("v", "y", 3.0), ("u", "z", 2.0)], form)
    assert (found.labels, found.column_labels) == (("u", "v"), ("x", "y", "z"))
    np.testing.assert_array_equal(dense(found), [[1, NAN, 2], [NAN, 3, NAN]])


@pytest.mark.parametrize("names", [None, ("i", "j", "value")])
@pytest.mark.parametrize("form", FORMS[:5])
def test_with_and_without_a_line_of_names(listed, form, names):
    np.testing.assert_array_equal(dense(listed([(0, 1, 0.5)], form, names)), [[NAN, 0.5], [0.5, NAN]])


@pytest.mark.parametrize("form", FORMS)
def test_lists_of_several_parts(listed, form, monkeypatch):
    monkeypatch.setattr(edge_lines, "AT_ONCE", 7)
    M, _ = relu_instance(12, 2)
    i, j = np.triu_indices(12)
    found = listed([(f"n{a}", f"n{b}", M[a, b]) for a, b in zip(i, j, strict=True)], form)
    assert found.labels == tuple(f"n{k}" for k in range(12))
    np.testing.assert_array_equal(dense(found), M)
    found = listed([(a, b, M[a, b]) for a, b in zip(i, j, strict=True)], form)
    np.testing.assert_array_equal(dense(found), M)


def test_text_is_read_by_pandas_unless_there_is_something_special(tmp_path, monkeypatch):
    path = written(tmp_path, "i,j,value\n0,1,0.5\n\n1,2,0.25\n")
    monkeypatch.setattr(edge_lines, "_careful", None)
    np.testing.assert_array_equal(dense(unrelu.edges(path)), [[NAN, 0.5, NAN], [0.5, NAN, 0.25], [NAN, 0.25, NAN]])
    assert unrelu.edges(written(tmp_path, "0,1,1\n1,NA,1\n")).labels == ("0", "1", "NA")
    with pytest.raises(TypeError):
        unrelu.edges(written(tmp_path, "i,j,value\n0,1,NA\n1,2,0.25\n"))


@pytest.mark.parametrize("form", ["csv", "csv line by line"])
def test_no_digit_is_lost(listed, form):
    values = np.concatenate([np.random.default_rng(0).random(500), np.exp(np.linspace(-600, 600, 500))])
    found = listed([(k, k + 1, repr(float(value))) for k, value in enumerate(values)], form)
    np.testing.assert_array_equal(found.at(np.arange(1000), np.arange(1, 1001)), values)


@pytest.mark.parametrize("form", ["frame", "parquet"])
def test_single_precision_stays(listed, form):
    found = listed([(0, 1, np.float32(0.1))], form)
    assert found.dtype == np.float32
    assert found.stored.data[0] == np.float32(0.1)
    assert listed([(0, 1, 0.1)], form).dtype == np.float64


def test_parquet_in_single_precision_and_with_an_index(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"i": [0, 1], "j": [1, 1], "value": np.array([0.1, 0.2], np.float32)}, index=["x", "y"])
    frame.to_parquet(tmp_path / "e.parquet")
    found = unrelu.edges(tmp_path / "e.parquet")
    assert found.dtype == np.float32
    assert found.shape == (2, 2)


@pytest.mark.parametrize("form", ["frame", "parquet"])
@pytest.mark.parametrize("kind", ["category", "str", "Int64", "float64"])
def test_kinds_of_columns(tmp_path, form, kind):
    names = ["a", "b", "a"] if kind in ("category", "str") else [0, 1, 0]
    frame = pd.DataFrame({"i": pd.Series(names, dtype=kind), "j": pd.Series(names[1:] + names[:1], dtype=kind)})
    frame["value"] = pd.array([1, 1, 3], dtype="Int64")
    if form == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / "e.parquet")
    found = unrelu.edges(frame if form == "frame" else tmp_path / "e.parquet")
    assert found.labels == (("a", "b") if kind in ("category", "str") else None)
    np.testing.assert_array_equal(dense(found), [[3, 1], [1, NAN]])
    assert found.dtype == np.float64


@pytest.mark.parametrize("form", FORMS)
def test_a_line_without_a_value_says_nothing(listed, form):
    empty = NAN if form in ("frame", "parquet") else "NA"
    found = listed([("a", "b", 1.0), ("b", "c", empty), ("c", "a", 2.0)], form)
    assert found.shape == (3, 3)
    assert found.stored.nnz == 4


def test_decimal_commas_and_blank_lines_and_marks(tmp_path):
    found = unrelu.edges(written(tmp_path, "a;b;1,5\n\nb;c;2,5\nc;a;\n"))
    np.testing.assert_array_equal(dense(found), [[NAN, 1.5, NAN], [1.5, NAN, 2.5], [NAN, 2.5, NAN]])
    found = unrelu.edges(written(tmp_path, '\ufeff"a,1", b ,1.5\n b,NA,2.5\n'))
    assert found.labels == ("a,1", "b", "NA")


@pytest.mark.parametrize("form", FORMS)
def test_columns_among_others(listed, form):
    lines = [(7, "a", 0.5, "b"), (8, "b", 0.25, "c")]
    names = ("number", "from", "score", "to")
    if form == "txt":
        names = ("number", "from", "score", "to_")
    for columns in (("from", names[3], "score"), (1, 3, 2)):
        found = listed(lines, form, names, columns=columns)
        assert found.labels == ("a", "b", "c")
        np.testing.assert_array_equal(dense(found), [[NAN, 0.5, NAN], [0.5, NAN, 0.25], [NAN, 0.25, NAN]])
    said = refusal(listed, lines, form, names)
    assert "has 4 columns (number, from, score, to" in said
    assert said.endswith(
        "where 3 were expected; say which hold row, column and value, as with columns=('i', 'j', 'value')"
    )
    said = refusal(listed, lines, form, names, columns=("fro", "to", "score"))
    assert "'fro'; did you mean 'from'?" in said


# --- names and positions --------------------------------------------------------------------------------------------


def test_numbers_with_gaps_are_names_in_their_order(listed):
    found = listed([(30, 4, 0.5), (4, 1001, 0.25)])
    assert found.labels == ("4", "30", "1001")
    np.testing.assert_array_equal(dense(found), [[NAN, 0.5, 0.25], [0.5, NAN, NAN], [0.25, NAN, NAN]])
    assert listed([(1, 2, 0.5), (2, 3, 1)]).labels == ("1", "2", "3")


def test_numbers_from_zero_are_names_if_that_is_said(listed):
    found = listed([(1, 0, 0.5), (2, 0, 0.5)], labels=True)
    assert found.labels == ("0", "1", "2")


def test_numbers_with_gaps_are_positions_if_that_is_said(listed):
    found = listed([(1, 2, 0.5), (2, 4, 1)], labels=False)
    assert (found.shape, found.labels) == ((5, 5), None)
    assert found.at(np.array([4, 2]), np.array([2, 1])).tolist() == [1.0, 0.5]
    found = listed([(1, 2, 0.5), (2, 4, 1)], shape=(7, 7))
    assert (found.shape, found.labels) == ((7, 7), None)
    found = listed([(1, 2, 0.5), (2, 4, 1)], shape=(3, 7))
    assert (found.shape, found.stored.nnz) == ((3, 7), 2)
    assert found.at(np.array([2]), np.array([4])) == 1.0


def test_names_in_the_order_wanted(listed):
    found = listed([("a", "b", 0.5), ("b", "c", 1)], labels=["c", "d", "b", "a"])
    assert found.labels == ("c", "d", "b", "a")
    np.testing.assert_array_equal(
        dense(found), [[NAN, NAN, 1, NAN], [NAN, NAN, NAN, NAN], [1, NAN, NAN, 0.5], [NAN, NAN, 0.5, NAN]]
    )
    assert listed([(1, 2, 0.5)], mirror=True, labels=[3, 2, 1]).labels == (3, 2, 1)
    found = listed([("a", "b", 0.5), ("b", "c", 1)], table=True, labels=(["b", "a"], ["a", "b", "c"]))
    np.testing.assert_array_equal(dense(found), [[NAN, NAN, 1], [NAN, 0.5, NAN]])


def test_rows_and_columns_that_share_names_may_be_different_things(listed):
    found = listed([("a", "b", 0.5), ("b", "c", 1)], table=True)
    assert (found.labels, found.column_labels) == (("a", "b"), ("b", "c"))
    found = listed([(0, 1, 0.5), (1, 0, 1)], table=True)
    np.testing.assert_array_equal(dense(found), [[NAN, 0.5], [1, NAN]])
    assert found.labels is found.column_labels is None


def test_numbers_that_go_on_are_of_the_same_things(listed):
    np.testing.assert_array_equal(
        dense(listed([(0, 1, 0.5), (0, 2, 1)])), [[NAN, 0.5, 1], [0.5, NAN, NAN], [1, NAN, NAN]]
    )


# --- mirrored -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mirror", ["auto", True])
def test_pairs_listed_once_either_way_round_are_mirrored(listed, mirror):
    found = listed([("a", "b", 0.5), ("c", "b", 0.0), ("c", "a", 2)], mirror=mirror)
    values = dense(found)
    np.testing.assert_array_equal(values, values.T)
    assert found.stored.nnz == 6


def test_pairs_listed_both_ways_round_stay_as_they_are(listed):
    lines = [(0, 1, 0.5), (1, 0, 0.75), (0, 0, 1)]
    np.testing.assert_array_equal(dense(listed(lines)), [[1, 0.5], [0.75, NAN]])
    assert refusal(listed, lines, mirror=True).endswith(
        "gives the entry of '0' and '1' twice, as 0.5 on line 2 and as 0.75 on line 3; keep one of them, or pass "
        "mirror=False if both directions were measured"
    )


def test_some_pairs_listed_both_ways_round(listed):
    lines = [(0, 1, 0.5), (1, 2, 2), (1, 0, 0.5)]
    found = listed(lines)
    np.testing.assert_array_equal(dense(found), [[NAN, 0.5, NAN], [0.5, NAN, 2], [NAN, 2, NAN]])
    lines = [(0, 1, 0.5), (1, 2, 2), (1, 0, 0.75)]
    assert "as 0.5 on line 2 and as 0.75 on line 4; keep one" in refusal(listed, lines)
    np.testing.assert_array_equal(
        dense(listed(lines, mirror=False)), [[NAN, 0.5, NAN], [0.75, NAN, 2], [NAN, NAN, NAN]]
    )


def test_a_table_is_not_mirrored(listed):
    assert listed([("u", "x", 1), ("u", "y", 2), ("v", "y", 3)]).stored.nnz == 3
    assert listed([("u", "x", 1)], mirror=True).stored.nnz == 2


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_an_entry_given_twice(listed, form):
    unit = "in row" if form == "frame" else "on row" if form == "parquet" else "on line"
    first, last = {"in row": (0, 3), "on row": (1, 4), "on line": (2, 5)}[unit]
    lines = [("a", "b", 0.5), ("b", "c", 1.0), ("c", "c", 1.0), ("a", "b", 0.75)]
    said = refusal(listed, lines, form)
    assert said.endswith(
        f"gives the entry of 'a' and 'b' twice, as 0.5 {unit} {first} and as 0.75 {unit} {last}; keep one of them"
    )
    assert "and 1 more of them; keep" in refusal(listed, [*lines, ("b", "c", 3.0)], form)
    assert listed([*lines[:3], ("a", "b", 0.5)], form).stored.nnz == 5  # with the same value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1,0.5\n0,2,x\n", "line 2: 'x' does not read as a number; correct it, or leave it empty"),
        ("i,j,v\n\n0,1,0.5\n0,2,1_0\n", "line 4: '1_0' does not read as a number"),
        ("0,1,0.5\n0,2,<3\n", "line 2: '<3' does not read as a number; unrelu._old.io.reader.read_data reads limits"),
        ("0,1,0.5\n0,2\n", "line 2 has 2 cells where 3 were expected: a line 'row, column, value' for every entry"),
        ("0,1,0.5\n1,2,1\n0,2\n", "line 3 has 2 cells where 3 were expected"),
        ("0,1,0.5\n0,2,1,7\n", "line 2 has 4 cells where 3 were expected"),
        ("i,j,v\n0,1,2,0.5\n1,2,4,0.5\n", "line 2 has 4 cells where 3 were expected"),
        ("a,b,0.5\nc,,1\n", "line 2 leaves the column of '1' without a name"),
        ("a,b,0.5\n ,c,1\n", "line 2 leaves the row of '1' without a name"),
        ("i,j,v\n", "e.csv holds no entries; expected a line 'row, column, value' for every entry"),
        ("\n", "e.csv holds no entries"),
        ("", "e.csv is empty"),
        ("0,1\n1,2\n", "e.csv has 2 columns (0, 1) where 3 were expected"),
        ("a;b;1,5\nb;c;2.5\n", "expected one decimal sign in all cells"),
        ("0,1,0.5\n0,2,\0\0\n", "holds zero bytes"),
        ('a,b,0.5\nc,"d,1\n', "check the quotation marks"),
    ],
)
@pytest.mark.parametrize("pandas", [True, False])
def test_lines_that_are_no_entries(tmp_path, monkeypatch, text, said, pandas):
    if not pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    assert said in refusal(unrelu.edges, written(tmp_path, text))


def test_a_bad_line_far_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_lines, "AT_ONCE", 10)
    lines = [f"{k},{k + 1},1" for k in range(95)]
    lines[77] = "77,78,one"
    assert "line 78: 'one' does not read as a number" in refusal(unrelu.edges, written(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize("form", ["frame", "parquet"])
def test_cells_that_are_no_entries(listed, form, monkeypatch):
    monkeypatch.setattr(edge_lines, "AT_ONCE", 1)
    named = "the frame" if form == "frame" else "e.parquet"
    said = refusal(listed, [("a", "b", "x")], form)
    assert f"{named} must hold numbers in the column 'value' of its values, got" in said
    said = refusal(listed, [("a", "b", 1.0), ("a", None, 1.0)], form)
    assert f"{named}, row {1 if form == 'frame' else 2} has no name in the column 'j'" in said
    frame = pd.DataFrame({"i": [], "j": [], "value": pd.Series([], dtype=float)})
    assert "the frame holds no entries" in refusal(unrelu.edges, frame)


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    assert "nowhere.csv does not exist" in refusal(unrelu.edges, tmp_path / "nowhere.csv")
    assert "no known format: expected the extension .csv" in refusal(unrelu.edges, written(tmp_path, "0,1,1", "e.dat"))
    assert "no known format: expected the extension .csv" in refusal(unrelu.edges, written(tmp_path, "0,1,1", "e.xlsx"))
    (tmp_path / "wide.csv").write_bytes("a,b,ä\n".encode("latin-1"))
    assert "expected UTF-8 text" in refusal(unrelu.edges, tmp_path / "wide.csv")
    packed = written(tmp_path, "0,1,0.5\n" * 1000, "e.csv.gz")
    packed.write_bytes(packed.read_bytes()[:-9])
    assert "is no gzip file or is cut short" in refusal(unrelu.edges, packed)
    assert "got standard input; copy it to a file" in refusal(unrelu.edges, "-")
    assert "got int" in refusal(unrelu.edges, 3)
    pytest.importorskip("pyarrow")
    assert "is cut short or is no .parquet file" in refusal(unrelu.edges, written(tmp_path, "0,1,1", "e.parquet"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "needs the package pyarrow" in refusal(unrelu.edges, tmp_path / "e.parquet")


def test_a_parquet_file_cut_short(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"i": range(9), "j": range(9), "value": 1.0}).to_parquet(tmp_path / "e.parquet")
    data = (tmp_path / "e.parquet").read_bytes()
    (tmp_path / "e.parquet").write_bytes(data[: len(data) // 2])
    assert "e.parquet is cut short or is no .parquet file" in refusal(unrelu.edges, tmp_path / "e.parquet")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shape": 3}, "shape must be two positive integers such as (200, 200), got 3"),
        ({"shape": (3, 0)}, "shape must be two positive integers"),
        ({"shape": (2, 3), "mirror": True}, "mirror=True is for symmetric matrices, got shape=(2, 3)"),
        ({"table": True, "mirror": True}, "mirror=True is for symmetric matrices; leave out table=True"),
        ({"mirror": "yes"}, "unknown mirror 'yes'; accepted: False, True, auto"),
        ({"columns": "abc"}, "columns must be three, of rows, columns and values, got 'abc'"),
        ({"columns": ("i", "j")}, "columns must be three"),
        ({"columns": (0, 1, 3)}, "unknown column of"),
        ({"labels": [0, 1]}, "unknown name in"),
        ({"labels": [0, 1, 2, 1]}, "labels must all be different, got '1' twice"),
        ({"labels": [0, 1, 2], "shape": (4, 4)}, "labels must be 4, as shape=(4, 4) says, got 3"),
        ({"labels": ["a", "b", "c"], "table": True}, "labels of a table must be two sequences"),
        ({"labels": ("ab", "cd"), "table": True}, "labels of a table must be two sequences"),
        ({"shape": (2, 2)}, "e.csv holds the position 2 on line 3, where 0 to 1 were expected; count from 0, or pass"),
        ({"shape": (3, 2)}, "e.csv holds the position 2 on line 3, where 0 to 1 were expected"),
    ],
)
def test_what_may_not_be_said_of_a_list(listed, options, said):
    assert said in refusal(listed, [(0, 1, 0.5), (1, 2, 1)], **options)


def test_names_where_positions_were_said(listed):
    lines = [("a", "b", 0.5), ("b", "c", 1)]
    assert "holds positions, got 'a'; leave out labels=False" in refusal(listed, lines, labels=False)
    assert "says 5 rows, but" in refusal(listed, lines, shape=(5, 5))
    assert "holds the position -1 on line 3" in refusal(listed, [(0, 1, 0.5), (1, -1, 1)], shape=(4, 4))


def test_a_position_beyond_all_memory(listed):
    assert "as the largest position in" in refusal(listed, [(0, 10**15, 0.5), (10**15, 1, 2)], labels=False)
    assert listed([(0, 10**15, 0.5), (10**15, 1, 2)]).labels == ("0", "1", str(10**15))


# --- what for -------------------------------------------------------------------------------------------------------


def test_a_list_of_a_matrix_that_nobody_could_hold(tmp_path):
    n, m = 300_000, 20_000
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, n, (m, 2)), axis=1), axis=0)
    frame = pd.DataFrame({"i": pairs[:, 0], "j": pairs[:, 1], "value": rng.random(len(pairs))})
    frame.to_csv(tmp_path / "e.csv", index=False)
    tracemalloc.start()
    found = unrelu.edges(tmp_path / "e.csv", shape=(n, n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (n, n)
    assert peak < 2000 * m  # n² doubles are 7e11 bytes
    np.testing.assert_array_equal(found.at(pairs[:, 1], pairs[:, 0]), frame["value"])


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_lists_are_completed(listed, form):
    M, X = relu_instance(40, 2)
    i, j = np.nonzero(np.triu(X >= 0))
    found = unrelu.complete(listed([(f"p{a}", f"p{b}", M[a, b]) for a, b in zip(i, j, strict=True)], form), 2, rng=0)
    order = [int(label[1:]) for label in found.labels]
    np.testing.assert_allclose(found.matrix(), M[np.ix_(order, order)], atol=1e-6)
    T, Y = table_instance(30, 20, 2)
    i, j = np.nonzero(Y >= 0)
    lines = [(f"r{a}", f"c{b}", T[a, b]) for a, b in zip(i, j, strict=True)]
    table = unrelu.complete_rectangular(listed(lines, form), 2, rng=0)
    rows, columns = ([int(label[1:]) for label in side] for side in (table.labels, table.column_labels))
    np.testing.assert_allclose(table.matrix(), T[np.ix_(rows, columns)], atol=1e-6)


def test_a_list_is_read_as_the_command_reads_it(tmp_path):
    path = written(tmp_path, "i,j,value\nanna,ben,0.8\ncarl,anna,0.25\nben,dora,NA\ndora,dora,2\n")
    whole, found = read_data(path), unrelu.edges(path)
    assert found.labels == whole.rows
    np.testing.assert_array_equal(dense(found), whole.values)
