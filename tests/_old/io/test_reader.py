"""The files that people have: what is read, what is said about it, and what is refused."""

from __future__ import annotations

import builtins
import gzip
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from unrelu import InputError
from unrelu._old.io.files import read_matrix, write_matrix
from unrelu._old.io.reader import READABLE, read_data
from unrelu._old.io.reading import Reading

NAN, INF = np.nan, np.inf


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str | bytes, name: str = "m.csv", **options) -> Reading:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_data(name, **options)


def refusal(text: str | bytes, name: str = "m.csv", **options) -> str:
    with pytest.raises(InputError) as caught:
        read(text, name, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def assert_read(found: Reading, values, rows=None, columns=None) -> None:
    np.testing.assert_array_equal(found.values, values)
    assert found.values.dtype == np.float64
    assert (found.rows, found.columns) == (rows, columns)


# --- limits and marks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [
        ("<0.25", -INF, 0.25), (" < 0.25 ", -INF, 0.25), ("≤0.25", -INF, 0.25), ("<= 0.25", -INF, 0.25),
        (">100", 100, INF), ("> 1e2", 100, INF), ("≥ 100", 100, INF), (">=100", 100, INF), ("<-3", -INF, -3),
    ],
)  # fmt: skip
def test_a_cell_may_be_a_limit(cell, low, high):
    found = read(f"1.5,{cell}\n2,3\n")
    assert_read(found, [[1.5, NAN], [2, 3]])
    np.testing.assert_array_equal(found.low, [[-INF, low], [-INF, -INF]])
    np.testing.assert_array_equal(found.high, [[INF, high], [INF, INF]])


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("<1,2\n3,4\n", 0, 0),
        ("3,4\n<1,2\n", 1, 0),
        ("a,b\n3,4\n<1,2\n", 1, 0),
        (",a,b\nx,3,4\ny,5,<1\n", 1, 1),
        ("a,b\nx,<1,4\ny,5,6\n", 0, 0),
    ],
)
def test_limits_stand_where_their_cells_do(text, row, column):
    found = read(text)
    assert found.values.shape == (2, 2)
    assert np.argwhere(np.isfinite(found.high)).tolist() == [[row, column]]
    assert found.high[row, column] == 1
    assert np.argwhere(np.isnan(found.values)).tolist() == [[row, column]]


def test_every_kind_of_cell_is_counted_and_said():
    found = read("1,<2,ND\n<3,>4,\n5,6,7\n")
    assert found.counts == {"measured": 4, "below": 2, "above": 1, "missing": 2}
    assert found.words == (
        "read limits from its cells: 2 below, 1 above, 4 measured, 2 missing, of which nothing is known",
    )
    np.testing.assert_array_equal(found.limits.high, found.high)
    np.testing.assert_array_equal(found.limits.low, found.low)


def test_without_limits_there_are_none_and_nothing_is_said():
    found = read("1,\n3,4\n")
    assert (found.low, found.high, found.limits, found.words) == (None, None, None, ())
    assert found.counts == {"measured": 3, "below": 0, "above": 0, "missing": 1}


@pytest.mark.parametrize("cell", ["<", "<x", "< NA", "><1", "<inf", "<<1"])
def test_a_limit_needs_one_number(cell):
    assert refusal(f"1,2\n3,{cell}\n") == (
        f"m.csv, line 2, column 2: {cell!r} is no limit such as <0.25 or >100; write one number behind the sign"
    )


@pytest.mark.parametrize("mark", ["<LOD", "<0.25"])
def test_an_own_mark_is_missing_even_if_it_looks_like_a_limit(mark):
    found = read(f"1,{mark}\n3,4\n", missing=[mark])
    assert_read(found, [[1, NAN], [3, 4]])
    assert found.limits is None


def test_files_of_plain_numbers_know_no_limits():
    Path("m.csv").write_text("1,<0.25\n3,4\n")
    with pytest.raises(InputError, match=r"line 1, column 2: '<0.25' is neither a number nor a missing mark"):
        read_matrix("m.csv", header=False)


@pytest.mark.parametrize("mark", ["", " ", "NA", "NaN", "N/A", "null", "NULL", "None", "ND", "nd", "#N/A", "."])
def test_marks(mark):
    assert_read(read(f"1,{mark},3\n{mark},5,6\n"), [[1, NAN, 3], [NAN, 5, 6]])
    assert_read(read(f"{mark},2\n3,4\n"), [[NAN, 2], [3, 4]])


@pytest.mark.parametrize("mark", ["-", "..", "x", "NDA"])
def test_what_is_no_mark(mark):
    assert f"'{mark}' is neither a number nor a missing mark" in refusal(f"1,2\n3,{mark}\n")


def test_a_mark_is_a_name_where_there_are_no_numbers():
    assert_read(read(",ND\nND,1\n"), [[1]], ("ND",), ("ND",))
    assert_read(read(",WI,ND\nWI,1,2\nND,2,3\n"), [[1, 2], [2, 3]], ("WI", "ND"), ("WI", "ND"))
    assert_read(read("ND,ND\n1,2\n"), [[NAN, NAN], [1, 2]])
    assert_read(read("ND,.\n1,2\n", missing=["nd", "."]), [[NAN, NAN], [1, 2]])


def test_a_limit_is_a_name_where_there_are_no_numbers():
    assert_read(read(",<18,>65\nx,1,2\n"), [[1, 2]], ("x",), ("<18", ">65"))
    assert_read(read("a,b\n<18,1\n>=18,2\n"), [[1], [2]], ("<18", ">=18"), ("b",))
    found = read("<1,<1\n1,2\n")
    assert_read(found, [[NAN, NAN], [1, 2]])
    assert found.counts["below"] == 2
    assert_read(read("<1,3\n>2,4\n"), [[NAN, 3], [NAN, 4]])
    assert_read(read("<1,<2\n1,2\n", header=False), [[NAN, NAN], [1, 2]])


def test_a_number_as_a_mark_covers_every_spelling():
    assert_read(read("1,-999.0\n3,4\n", missing=["-999"]), [[1, NAN], [3, 4]])


# --- semicolons and decimal commas ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m.csv", "m.txt", "m.csv.gz"])
@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("1,5;2\n;4,25\n", None, None),
        ("a;b\n1,5;2\n;4,25\n", None, ("a", "b")),
        (";a;b\nx;1,5;2\ny;;4,25\n", ("x", "y"), ("a", "b")),
        ('a;b\n"x, 1";1,5;2\ny;NA;4,25\n', ("x, 1", "y"), ("a", "b")),
    ],
)
def test_semicolons_with_decimal_commas(name, text, rows, columns):
    raw = gzip.compress(text.encode()) if name.endswith(".gz") else text
    found = read(raw, name)
    assert_read(found, [[1.5, 2], [NAN, 4.25]], rows, columns)
    assert found.words == ("read as semicolons with decimal commas",)


def test_semicolons_with_points_or_neither():
    found = read("1.5;2\n3;4\n")
    assert_read(found, [[1.5, 2], [3, 4]])
    assert found.words == ("read as semicolons with decimal points",)
    assert read("1;2\n3;4\n").words == ("read as semicolons",)


def test_limits_with_decimal_commas():
    found = read("1,5;<0,25\n>1e2;4\n")
    assert (found.high[0, 1], found.low[1, 0]) == (0.25, 100)


def test_two_decimal_signs_are_refused_by_name():
    assert refusal("1,5;2\n3;4.5\n") == (
        "m.csv has '1,5' on line 1, column 1, and '4.5' on line 2, column 2; expected one decimal sign in all cells, "
        "so write one and leave out thousand separators"
    )
    for line in ("1.234,5;2", "2;1.234,5"):
        assert "'1.234,5' is neither a number nor" in refusal(f"1;2\n3;4\n{line}\n")
    assert read("2;4\n01.02.2020;5\n", header=False).rows == ("2", "01.02.2020")


@pytest.mark.parametrize(
    "text",
    ["n,b\nr;1,\n", "n\nr;1,\n", "n,b\nr;1,5\n", "x;a,1\ny;b,2\n", "a;b,1,2\nc;d,3,4\n", 'n,v\n"a;1",5\n"b;2",6\n'],
)
def test_semicolons_in_names_are_names(text):
    plain, found = (reader("m.csv") for reader in (lambda name: (Path(name).write_text(text), read_matrix(name))[1],
                                                   read_data))  # fmt: skip
    assert_read(found, plain.values, plain.rows, plain.columns)
    assert found.words == ()


# --- other texts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (",a,b\nx,1,2\ny,,4\n", "read as commas"),
        ("\ta\tb\nx\t1\t2\ny\t\t4\n", "read as tabs"),
        ('"a" "b"\n"x"  1 \t 2\n y NA 4 \n', "read as spaces"),
        ("a;b\nx;1;2\ny;;4\n", "read as semicolons"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_plain_text_is_parted_by_what_stands_on_every_line(text, words, packed):
    raw = gzip.compress(text.encode()) if packed else text
    found = read(raw, "m.txt.gz" if packed else "m.txt")
    assert_read(found, [[1, 2], [NAN, 4]], ("x", "y"), ("a", "b"))
    assert found.words == (words,)


def test_names_with_spaces_do_not_part_cells_that_commas_part():
    assert_read(read("gene one,gene two\n1,2\n3, 4\n", "m.txt"), [[1, 2], [3, 4]], None, ("gene one", "gene two"))


def test_one_column_of_plain_text():
    assert_read(read("1\n2\n", "m.txt"), [[1], [2]])


@pytest.mark.parametrize(("name", "mark"), [("m.csv.gz", ","), ("m.TSV.GZ", "\t")])
def test_packed_text_is_that_text(name, mark):
    found = read(gzip.compress(f"a{mark}b\n1{mark}<2\n3{mark}4\n".encode()), name)
    assert_read(found, [[1, NAN], [3, 4]], None, ("a", "b"))
    assert found.high[0, 1] == 2


@pytest.mark.parametrize(
    "raw",
    [b"1,2\n3,4\n", gzip.compress(b"1,2\n" * 99)[:-9], gzip.compress(b"1,2\n")[:10] + b"?"],
    ids=["plain", "cut short", "other bytes"],
)
def test_packed_text_that_is_not_whole(raw):
    assert refusal(raw, "m.csv.gz") == (
        "m.csv.gz is no gzip file or is cut short; expected text packed by gzip, so pack it again or fetch a fresh copy"
    )


def test_other_bytes_in_packed_text_are_found_by_line():
    raw = gzip.compress("1,2\n3,4\né,5\n".encode("latin-1"))
    assert refusal(raw, "m.csv.gz").startswith("m.csv.gz, line 3: expected UTF-8 text")


def test_what_is_read_and_what_is_not():
    assert READABLE == (
        ".csv", ".tsv", ".npy", ".npz", ".mtx", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".xlsx", ".parquet",
    )  # fmt: skip
    for name, got in (("m.xls", "'.xls'"), ("m.npy.gz", "'.npy.gz'"), ("m", "none")):
        assert f"{name} has no known format: expected the extension .csv" in refusal("1", name)
        assert f"got {got}; rename or convert it" in refusal("1", name)


@pytest.mark.parametrize("name", ["m.npy", "m.npz", "m.mtx"])
def test_arrays_are_read_as_before(name):
    write_matrix(name, np.array([[1.0, 2], [3, 4]], np.float32))
    found, plain = read_data(name), read_matrix(name)
    np.testing.assert_array_equal(found.values, plain.values)
    assert found.values.dtype == plain.values.dtype
    assert found.words == ()
    with pytest.raises(InputError, match=rf"{name} cannot be an edge list; expected text, .xlsx or .parquet"):
        read_data(name, layout="edges")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
def test_a_pipe_is_read_once():
    import threading

    os.mkfifo("p.csv")
    writer = threading.Thread(target=Path("p.csv").write_text, args=("1,5;2\n3;4\n",))
    writer.start()
    try:
        assert_read(read_data("p.csv"), [[1.5, 2], [3, 4]])
    finally:
        writer.join()


# --- standard input ------------------------------------------------------------------------------------------


class Typed(io.TextIOWrapper):
    def isatty(self):
        return True


def sent(monkeypatch, raw: bytes, kind=io.TextIOWrapper) -> None:
    monkeypatch.setattr(sys, "stdin", kind(io.BytesIO(raw)))


@pytest.mark.parametrize("text", ["a,b\n1,2\n,4\n", "a\tb\n1\t2\nNA\t4\n", "a b\n1 2\nNA 4\n", "a;b\n1;2\n;4\n"])
def test_standard_input(monkeypatch, text):
    sent(monkeypatch, text.encode())
    found = read_data("-")
    assert_read(found, [[1, 2], [NAN, 4]], None, ("a", "b"))
    assert len(found.words) == 1


@pytest.mark.parametrize(
    ("raw", "kind", "sentence"),
    [
        (b"", io.TextIOWrapper, "standard input is empty; expected a matrix, so look whether the command before"),
        (b"1,2\n", Typed, "standard input is a terminal or closed; expected a matrix, so send one with | or <"),
        (b"1,2\n3,?\n", io.TextIOWrapper, "standard input, line 2, column 2: '?' is neither a number"),
        (b"1,2\n\xff,3\n", io.TextIOWrapper, "standard input, line 2: expected UTF-8 text"),
        (b"1,2\n\0\0", io.TextIOWrapper, "standard input holds zero bytes where text was expected"),
    ],
)
def test_standard_input_that_is_refused(monkeypatch, raw, kind, sentence):
    sent(monkeypatch, raw, kind)
    with pytest.raises(InputError) as caught:
        read_data("-")
    assert str(caught.value).startswith(sentence)


class Endless(io.RawIOBase):
    """Zero bytes for ever, as of a device."""

    left = 10

    def read(self, size=-1):
        assert self.left, "it was read on and on"
        self.left -= 1
        return bytes(size)


def test_standard_input_that_never_ends(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Endless(), isatty=bool))
    with pytest.raises(InputError, match="standard input holds zero bytes where text was expected"):
        read_data("-")


# --- spreadsheets and parquet --------------------------------------------------------------------------------


def write_sheets(name: str, **sheets) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(name)


def test_a_spreadsheet():
    rows = [[None, "a", "b"], ["x", 1.5, "<0.25"], ["y", "#N/A", 4], ["z", None, ">100"], [None, " ", None]]
    write_sheets("m.xlsx", data=rows)
    found = read_data("m.xlsx")
    assert_read(found, [[1.5, NAN], [NAN, 4], [NAN, NAN]], ("x", "y", "z"), ("a", "b"))
    assert (found.high[0, 1], found.low[2, 1]) == (0.25, 100)
    assert found.counts == {"measured": 2, "below": 1, "above": 1, "missing": 2}


def test_of_several_sheets_the_first_that_holds_anything_is_read_and_named():
    write_sheets("m.xlsx", empty=[], first=[[1, 2], [3, 4]], second=[[5]])
    found = read_data("m.xlsx")
    assert_read(found, [[1, 2], [3, 4]])
    assert found.words == ("read the sheet 'first', the first of 2 that hold anything",)


@pytest.mark.parametrize(
    ("sheets", "sentence"),
    [
        ({"data": [[1, 2], [3, "?"]]}, "m.xlsx, row 2, column 2: '?' is neither a number nor a missing mark"),
        ({"data": [[1, 2], [3, True]]}, "m.xlsx, row 2, column 2: 'True' is neither a number nor a missing mark"),
        ({"data": []}, "m.xlsx holds no cells in any of its sheets"),
    ],
)
def test_spreadsheets_that_are_refused(sheets, sentence):
    write_sheets("m.xlsx", **sheets)
    with pytest.raises(InputError) as caught:
        read_data("m.xlsx")
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("rows", [[["=1+1"]], [[1, 2], [3, "=A1+1"]]])
def test_a_formula_without_a_result_is_not_taken_for_a_missing_cell(rows):
    write_sheets("m.xlsx", data=rows)
    with pytest.raises(InputError) as caught:
        read_data("m.xlsx")
    row, formula = len(rows), rows[-1][-1]
    assert str(caught.value) == (
        f"m.xlsx, row {row}, column {row}: the formula {formula!r} has no result in the file; open it in a spreadsheet "
        "and save it again"
    )


@pytest.mark.parametrize(("package", "extension"), [("openpyxl", "xlsx"), ("pyarrow", "parquet")])
def test_files_that_are_something_else(package, extension):
    pytest.importorskip(package)
    assert f"m.{extension} is cut short or is no .{extension} file, whatever" in refusal("1,2\n", f"m.{extension}")


@pytest.mark.parametrize(
    ("package", "extra", "name"), [("openpyxl", "excel", "m.xlsx"), ("pyarrow", "parquet", "m.parquet")]
)
def test_what_to_install(monkeypatch, package, extra, name):
    original = builtins.__import__

    def refuse(wanted, *args, **options):
        if wanted.split(".")[0] == package:
            raise ImportError(wanted)
        return original(wanted, *args, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert refusal("x", name) == (
        f"{name} needs the package {package}, which is not installed; install it with pip install 'unrelu[{extra}]', "
        "or save the file as .csv"
    )


def test_parquet_with_and_without_the_index_of_pandas():
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    parquet.write_table(pa.table({"a": [1.5, None], "b": ["<0.25", "4"]}), "m.parquet")
    found = read_data("m.parquet")
    assert_read(found, [[1.5, NAN], [NAN, 4]], None, ("a", "b"))
    assert found.high[0, 1] == 0.25
    parquet.write_table(pa.table({"id": ["x", "y"], "b": [1, 2]}), "m.parquet")
    assert_read(read_data("m.parquet"), [[1], [2]], ("x", "y"), ("b",))
    indexed = pa.table({"b": [1.0, 2.0], "__index_level_0__": [7, 9]})
    told = {b"pandas": b'{"index_columns": ["__index_level_0__"], "columns": []}'}
    parquet.write_table(indexed.replace_schema_metadata(told), "m.parquet")
    assert_read(read_data("m.parquet"), [[1], [2]], ("7", "9"), ("b",))
    told = {b"pandas": b'{"index_columns": ["b", "__index_level_0__"], "columns": []}'}
    parquet.write_table(indexed.replace_schema_metadata(told), "m.parquet")
    with pytest.raises(InputError, match=r"^m.parquet has an index of 2 columns \(b, __index_level_0__\); expected"):
        read_data("m.parquet")
    parquet.write_table(pa.table({"b": pa.array([], pa.float64())}), "m.parquet")
    with pytest.raises(InputError, match=r"^m.parquet holds an empty matrix \(0×1\)"):
        read_data("m.parquet")
    parquet.write_table(pa.table({"a": [1, 2], "b": ["3", "?"]}), "m.parquet")
    with pytest.raises(InputError, match=r"^m.parquet, row 2, column 2: '\?' is neither a number"):
        read_data("m.parquet")
