"""Files in and out: what is read is what was written, and every refusal says where and why."""

from __future__ import annotations

import errno
import io
import os
import pickle
import stat
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unrelu import InputError
from unrelu._old.data.table import Table
from unrelu._old.io import disk
from unrelu._old.io.disk import replacing, together
from unrelu._old.io.files import READABLE, WRITABLE, read_matrix, write_matrix

NAN = np.nan


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_text(text: str | bytes, name: str = "m.csv", **options) -> Table:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_matrix(name, **options)


def dense(values) -> np.ndarray:
    """NaN where a sparse array stores nothing."""
    if not scipy.sparse.issparse(values):
        return values
    stored = values.tocoo()
    filled = np.full(stored.shape, NAN)
    filled[stored.row, stored.col] = stored.data
    return filled


def assert_table(table: Table, values, rows=None, columns=None) -> None:
    np.testing.assert_array_equal(table.values, values)
    assert table.values.dtype == np.float64
    assert (table.rows, table.columns) == (rows, columns)


check_target = partial(disk.check_target, accepted=WRITABLE)


def assert_refused(expected: str, action, *args, **options) -> None:
    with pytest.raises(InputError) as caught:
        action(*args, **options)
    assert str(caught.value) == expected


# --- delimited text: what it means -------------------------------------------------------------------------


def test_plain_numbers_in_every_spelling(folder):
    assert_table(read_text("1e-3, 1.5 ,+2\n-0,.5,inf\n"), [[1e-3, 1.5, 2], [0, 0.5, np.inf]])


def test_tab_separated_and_upper_case_extension(folder):
    assert_table(read_text("1\t\t3\n\t\t\n", "m.TSV"), [[1, NAN, 3], [NAN, NAN, NAN]])


@pytest.mark.parametrize("mark", ["", "  ", "NA", "na", "NaN", " nan ", "N/A", "n/a", "null", "NULL", "None"])
def test_missing_marks(folder, mark):
    assert_table(read_text(f"1,{mark},3\n{mark},5,6\n"), [[1, NAN, 3], [NAN, 5, 6]])


@pytest.mark.parametrize(
    ("mark", "cell"),
    [("-999", "-999"), ("-999", "-999.0"), ("0", "0"), ("0", "0.00"), (" ? ", "?"), ("x", " X")],
)
def test_own_missing_marks(folder, mark, cell):
    assert_table(read_text(f"1,{cell}\n3,4\n", missing=[mark]), [[1, NAN], [3, 4]])
    assert_table(read_text(f"1,{cell}\n3,4\n", missing=mark), [[1, NAN], [3, 4]])


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_mark(folder, bom, end):
    assert_table(read_text(f"{bom}a,é{end}1,2{end}3,4{end}{end} {end}"), [[1, 2], [3, 4]], None, ("a", "é"))


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("1,2\n3,4\n", None, None),
        ("a,b\n1,2\n3,4\n", None, ("a", "b")),
        (",a,b\nx,1,2\ny,3,4\n", ("x", "y"), ("a", "b")),
        ("corner,a,b\nx,1,2\ny,3,4\n", ("x", "y"), ("a", "b")),
        (",a,b\n0,1,2\n7,3,4\n", ("0", "7"), ("a", "b")),
        ("a,b\nx,1,2\ny,3,4\n", ("x", "y"), ("a", "b")),
        ("a,b\n1,1,2\n2,3,4\n", ("1", "2"), ("a", "b")),
        ("x,1,2\n,3,4\n", None, ("x", "1", "2")),
        ('"x, y","b ""q"""\n1,2\n3,4\n', None, ("x, y", 'b "q"')),
        ('"two\nlines",b\n1,2\n3,4\n', None, ("two\nlines", "b")),
        ("a,a\nx,1,2\nx,3,4\n", ("x", "x"), ("a", "a")),
        ("id,0,1\nx,1,2\ny,3,4\n", ("x", "y"), ("0", "1")),
        ("id,4711,4712\n4711,1,2\n4712,3,4\n", ("4711", "4712"), ("4711", "4712")),
    ],
)
def test_header_and_labels_are_found(folder, text, rows, columns):
    expected = [[NAN, 3, 4]] if columns == ("x", "1", "2") else [[1, 2], [3, 4]]
    assert_table(read_text(text), expected, rows, columns)


def test_a_name_in_the_first_row_makes_it_a_header_unless_told(folder):
    text = "x,5,3\ny,3,4\n"
    assert_table(read_text(text), [[3, 4]], ("y",), ("5", "3"))
    assert_table(read_text(text, header=False), [[5, 3], [3, 4]], ("x", "y"))


def test_row_numbers_of_pandas_could_be_entries(folder):
    text = ",0,1\n0,1,2\n1,3,4\n"
    assert_refused(
        "m.csv: the first row and the first column hold the same whole numbers, which may be labels or entries; "
        "say --header --labels if they are labels, --no-header --no-labels if they are entries",
        read_text,
        text,
    )
    assert_table(read_text(text, header=True, labels=True), [[1, 2], [3, 4]], ("0", "1"), ("0", "1"))
    assert_table(read_text(text, header=False, labels=False), [[NAN, 0, 1], [0, 1, 2], [1, 3, 4]])


@pytest.mark.parametrize("text", [";a;b\na;1,5;2,5\nb;2,5;3,5\n", "a;b\n1,5;2,5\n2,5;\n"])
def test_semicolons_and_decimal_commas_under_names(folder, text):
    assert_refused(
        "m.csv, line 1: cells are separated by semicolons; separate them by commas in a .csv file and by tabs in a "
        ".tsv file, and write the decimal sign as a point",
        read_text,
        text,
    )


@pytest.mark.parametrize("ids", [(0, 1, 2), (4711, 4713, 4712)])
def test_numbers_as_labels_are_told_from_entries_that_are_not_whole(folder, ids):
    frame = pd.DataFrame([[1.5, NAN, 2.0], [NAN, 3.0, 4.0], [2.0, 4.0, 5.0]], ids, ids)
    frame.to_csv("m.csv")
    names = tuple(map(str, ids))
    assert_table(read_matrix("m.csv"), frame, names, names)
    frame.to_csv("m.csv", index_label="id")
    assert_table(read_matrix("m.csv"), frame, names, names)


@pytest.mark.parametrize(
    "text",
    [
        ",2.5,3\n2.5,1.5,4\n3,4,5\n",  # as no label is written
        ",2,2\n2,1.5,4\n2,4,5\n",  # one label for two rows
        ",2,3\n3,1.5,4\n2,4,5\n",  # the first row is not the first column
        ",2,\n2,1.5,4\n,4,5\n",  # a row without a label
        ",2,3\n2,,4\n3,4,\n",  # an empty diagonal
    ],
)
def test_a_symmetric_matrix_whose_first_entry_was_not_seen_keeps_its_first_row(folder, text):
    table = read_text(text)
    assert table.values.shape == (3, 3)
    assert (table.rows, table.columns) == (None, None)


def test_zero_bytes_in_matrix_market_do_not_reach_scipy(folder):
    Path("z.mtx").write_bytes(b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 2\x007\n")
    assert_refused(
        "z.mtx holds zero bytes where text was expected; write it again or fetch a fresh copy", read_matrix, "z.mtx"
    )


def test_header_and_labels_as_told(folder):
    text = "1,2,3\n4,5,6\n"
    assert_table(read_text(text, header=True), [[4, 5, 6]], None, ("1", "2", "3"))
    assert_table(read_text(text, labels=True), [[2, 3], [5, 6]], ("1", "4"))
    assert_table(read_text(text, header=True, labels=True), [[5, 6]], ("4",), ("2", "3"))
    assert_table(read_text("1,2\n4,5,6\n", header=True), [[5, 6]], ("4",), ("1", "2"))
    assert_table(read_text(",a\n1,2\n", labels=False), [[1, 2]], None, ("", "a"))


@pytest.mark.parametrize(
    ("text", "values", "columns"),
    [
        ("1\n2\n", [[1], [2]], None),
        ("a\n1\n2", [[1], [2]], ("a",)),
        ("1\n\n3\n\n", [[1], [NAN], [3]], None),
        ('1\n""\n', [[1], [NAN]], None),
        ("7", [[7]], None),
    ],
)
def test_single_column(folder, text, values, columns):
    assert_table(read_text(text), values, None, columns)


def test_what_pandas_writes(folder):
    frame = pd.DataFrame([[1.5, NAN, 0.1], [2, 3, 4]])
    frame.to_csv("m.csv")
    assert_table(read_matrix("m.csv", header=True, labels=True), frame, ("0", "1"), ("0", "1", "2"))
    frame.set_axis(["x", "y"]).set_axis(["a", "b", "c"], axis=1).to_csv("m.csv", index_label="id")
    assert_table(read_matrix("m.csv"), frame, ("x", "y"), ("a", "b", "c"))


# --- delimited text: what is refused -----------------------------------------------------------------------

SAME = "give every line the same number of cells, empty ones where nothing was seen"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b\n1,2\n3,abc\n",
            "m.csv, line 3, column 2: 'abc' is neither a number nor a missing mark; "
            "give it with --missing abc or correct the cell",
        ),
        (
            "1,2\n3,no data\n",
            "m.csv, line 2, column 2: 'no data' is neither a number nor a missing mark; "
            "give it with --missing 'no data' or correct the cell",
        ),
        (
            '"one\ntwo",b\n1,2\n3,?\n',
            "m.csv, line 4, column 2: '?' is neither a number nor a missing mark; "
            "give it with --missing '?' or correct the cell",
        ),
        (
            '1,2\n3,"1,5"\n',
            "m.csv, line 2, column 2: '1,5' is neither a number nor a missing mark; "
            "write the decimal sign as a point and leave out thousand separators",
        ),
        (
            "1,2\n3,1_000\n",
            "m.csv, line 2, column 2: '1_000' is neither a number nor a missing mark; "
            "write the decimal sign as a point and leave out thousand separators",
        ),
        (
            "a;b\n1;2\n",
            "m.csv, line 2, column 1: '1;2' is neither a number nor a missing mark; "
            "separate the cells by commas in a .csv file and by tabs in a .tsv file",
        ),
        (
            f"1,2\n3,{'z' * 50}\n",
            f"m.csv, line 2, column 2: '{'z' * 40}…' is neither a number nor a missing mark; correct the cell",
        ),
        ("1,2,3\n4,5\n", f"m.csv, line 2 has 2 cells where 3 were expected; {SAME}"),
        ("1,2\n3,4,5\n", f"m.csv, line 2 has 3 cells where 2 were expected; {SAME}"),
        ("1\n3,4\n", f"m.csv, line 2 has 2 cells where 1 was expected; {SAME}"),
        ("1,2\n3\n", f"m.csv, line 2 has 1 cell where 2 were expected; {SAME}"),
        ("1,2\n\n3,4\n", f"m.csv, line 2 is blank where 2 were expected; {SAME}"),
        ("\n\n1,2\n3,4\n", f"m.csv, line 1 is blank where 2 were expected; {SAME}"),
        (
            '1,2\n3,"4\n5,6\n',
            "m.csv, line 2: unexpected end of data; check the quotation marks there",
        ),
        (
            "a,b\n",
            "m.csv holds column names on line 1 and no rows below them; "
            "add the rows, or give --no-header if that line is a row",
        ),
        ("", "m.csv is empty; expected a matrix, so write the file again"),
        ("\n \n", "m.csv is empty; expected a line of cells for every row of the matrix"),
        ("\ufeff", "m.csv is empty; expected a line of cells for every row of the matrix"),
    ],
)
def test_text_that_is_refused(folder, text, message):
    assert_refused(message, read_text, text)


def test_names_where_numbers_were_promised(folder):
    assert_refused(
        "m.csv, line 2, column 1: 'x' is neither a number nor a missing mark; "
        "give it with --missing x or correct the cell",
        read_text,
        "1,2\nx,4\n",
        labels=False,
    )
    assert_refused(
        "m.csv, line 1, column 2: 'b' is neither a number nor a missing mark; "
        "give it with --missing b or correct the cell",
        read_text,
        "a,b\n1,2\n",
        header=False,
    )
    assert_refused(
        "m.csv has one column, which --labels takes for names; expected at least one column of numbers",
        read_text,
        "1\n2\n",
        labels=True,
    )


@pytest.mark.parametrize(("raw", "line"), [("1,2\n3,4\né,5\n".encode("latin-1"), 3), ("1,2\n".encode("utf-16"), 1)])
def test_other_encodings(folder, raw, line):
    assert_refused(
        f"m.csv, line {line}: expected UTF-8 text, got other bytes; save it again as UTF-8 "
        "('CSV UTF-8' in a spreadsheet)",
        read_text,
        raw,
    )


# --- binary files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m.npy", "m.npz"])
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("f4", "f4"), ("f8", "f8"), (">f8", "f8"), ("f2", "f4"), ("i4", "f8"), ("u1", "f8"), ("?", "f8")],
)
def test_numpy_types(folder, name, dtype, expected):
    matrix = np.array([[0, 1], [1, 1]], dtype)
    (np.save if name == "m.npy" else np.savez)(name, matrix)
    values = read_matrix(name).values
    np.testing.assert_array_equal(values, matrix)
    assert values.dtype == np.dtype(expected)


@pytest.mark.parametrize("key", ["matrix", "X"])
def test_npz_takes_the_named_matrix(folder, key):
    np.savez("m.npz", other=np.ones((2, 2)), **{key: np.zeros((1, 3))})
    assert_table(read_matrix("m.npz"), np.zeros((1, 3)))


def test_npz_takes_the_only_matrix_and_labels_that_fit(folder):
    np.savez("m.npz", seed=3, data=np.zeros((2, 2)), rows=np.arange(2), columns=np.arange(3))
    assert_table(read_matrix("m.npz"), np.zeros((2, 2)), ("0", "1"))


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_npz_of_scipy(folder, form):
    stored = scipy.sparse.coo_array((np.array([0, 5]), ([0, 1], [1, 1])), shape=(2, 3)).asformat(form)
    scipy.sparse.save_npz("m.npz", stored)
    values = read_matrix("m.npz").values
    assert isinstance(values, scipy.sparse.csr_array)
    np.testing.assert_array_equal(dense(values), [[NAN, 0, NAN], [NAN, 5, NAN]])
    assert values.dtype == np.float64


def test_numeric_marks_count_in_every_format(folder):
    matrix = np.array([[1.0, -999], [0, 4]])
    for name in ("m.npy", "m.npz", "m.mtx"):
        write_matrix(name, matrix)
        np.testing.assert_array_equal(read_matrix(name, missing=["-999", "?"]).values, [[1, NAN], [0, 4]])
    write_matrix("m.mtx", scipy.sparse.csr_array(matrix))
    np.testing.assert_array_equal(dense(read_matrix("m.mtx", missing=["-999"]).values), [[1, NAN], [NAN, 4]])


PICKLED = "{} holds pickled Python objects, which can run code when opened; save it as a plain numeric array"
DAMAGED = "{} is cut short or damaged; write it again or fetch a fresh copy"


@pytest.mark.parametrize(
    ("name", "save", "message"),
    [
        ("m.npy", lambda f: np.save(f, np.array([[{}]], dtype=object)), PICKLED),
        ("m.npz", lambda f: np.savez(f, matrix=np.array([[{}]], dtype=object)), PICKLED),
        ("m.npy", lambda f: f.write(pickle.dumps([[1.0]])), PICKLED),
        (
            "m.npy",
            lambda f: f.write(b"1,2\n3,4\n"),
            "{} is not a NumPy file, whatever its name says; write it with numpy.save or numpy.savez",
        ),
        (
            "m.npy",
            lambda f: np.save(f, np.array([[1j]])),
            "{} holds values of type complex128; expected real numbers, so save it as float64",
        ),
        (
            "m.npy",
            lambda f: np.save(f, np.array([["1"]])),
            "{} holds values of type <U1; expected real numbers, so save it as float64",
        ),
        (
            "m.npy",
            lambda f: np.save(f, np.zeros(5)),
            "{} holds an array of shape (5,); expected a matrix, with two dimensions",
        ),
        (
            "m.npy",
            lambda f: np.save(f, np.zeros((0, 3))),
            "{} holds an empty matrix (0×3); expected at least one row and one column",
        ),
        (
            "m.npz",
            lambda f: np.savez(f, a=np.zeros((2, 2)), b=np.zeros((2, 2))),
            "{} holds 2 matrices among its arrays (a, b); expected one, or one named 'matrix' or 'X'",
        ),
        (
            "m.npz",
            lambda f: np.savez(f),
            "{} holds 0 matrices among its arrays (nothing); expected one, or one named 'matrix' or 'X'",
        ),
        (
            "m.npz",
            lambda f: scipy.sparse.save_npz(
                f, scipy.sparse.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(2, 2)), compressed=False
            ),
            "{} gives the entry in row 1, column 2 twice or more; keep one value",
        ),
    ],
)
def test_numpy_files_that_are_refused(folder, name, save, message):
    with open(name, "wb") as handle:
        save(handle)
    assert_refused(message.format(name), read_matrix, name)


@pytest.mark.parametrize("name", ["m.npy", "m.npz"])
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.3, 0.7, 0.99])
def test_cut_short(folder, name, compress, share):
    whole = io.BytesIO()
    matrix = np.random.default_rng(0).normal(size=(20, 20))
    np.save(whole, matrix) if name == "m.npy" else (np.savez_compressed if compress else np.savez)(whole, matrix=matrix)
    raw = whole.getvalue()
    Path(name).write_bytes(raw[: max(8, int(share * len(raw)))])
    assert_refused(DAMAGED.format(name), read_matrix, name)


def test_damaged_inside(folder):
    np.savez("m.npz", matrix=np.zeros((20, 20)))
    raw = bytearray(Path("m.npz").read_bytes())
    raw[len(raw) // 2] ^= 1
    Path("m.npz").write_bytes(raw)
    assert_refused(DAMAGED.format("m.npz"), read_matrix, "m.npz")


# --- Matrix Market -----------------------------------------------------------------------------------------


def test_mtx_keeps_stored_zeros_and_expands_symmetry(folder):
    text = "%%MatrixMarket matrix coordinate real symmetric\n% note\n3 3 4\n1 1 0\n2 1 5\n3 1 0.0\n3 3 2\n"
    values = read_text(text, "m.mtx").values
    assert isinstance(values, scipy.sparse.csr_array)
    np.testing.assert_array_equal(dense(values), [[0, 5, 0], [5, NAN, NAN], [0, NAN, 2]])


def test_mtx_integers_and_dense_layout(folder):
    sparse = read_text("%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 2 3\n", "m.mtx").values
    assert sparse.dtype == np.float64
    assert_table(read_text("%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n", "m.mtx"), [[1, 3], [2, 4]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n",
            "m.mtx holds no values, only positions; expected real numbers, so write it again as real",
        ),
        (
            "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 2\n",
            "m.mtx holds complex values; expected real numbers, so write it again as real",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n1 2 3\n",
            "m.mtx gives the entry in row 1, column 2 twice or more; keep one value",
        ),
        ("", "m.mtx is empty; expected a matrix, so write the file again"),
        (
            "%%MatrixMarket matrix coordinate real general\n0 0 0\n",
            "m.mtx holds an empty matrix (0×0); expected at least one row and one column",
        ),
    ],
)
def test_mtx_that_is_refused(folder, text, message):
    assert_refused(message, read_text, text, "m.mtx")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 3\n", "truncated file"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n", "truncated file"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 3\n", "line 3"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 abc\n", "line 3"),
        ("1,2\n3,4\n", "line 1"),
    ],
)
def test_mtx_that_is_not_whole(folder, text, reason):
    # What stands between the brackets is SciPy's own wording.
    start = rf"^m\.mtx is not a whole Matrix Market file \({reason}"
    with pytest.raises(InputError, match=start + r"[^\n]*\); write it again or fetch a fresh copy$"):
        read_text(text, "m.mtx")


# --- files that cannot be opened ---------------------------------------------------------------------------


def test_files_that_are_not_there(folder):
    assert_refused("no.csv does not exist; check the name and the folder it is in", read_matrix, "no.csv")
    Path("sub.csv").mkdir()
    assert_refused("sub.csv is a folder where a file was expected; name a file in it", read_matrix, "sub.csv")


@pytest.mark.parametrize(("name", "got"), [("m.xlsx", "'.xlsx'"), ("m", "none")])
def test_unknown_extension(folder, name, got):
    message = (
        f"{name} has no known format: expected the extension .csv, .tsv, .npy, .npz or .mtx, got {got}; "
        "rename or convert it"
    )
    assert_refused(message, read_text, "1,2", name)
    assert_refused(message, check_target, name)
    assert_refused(message, write_matrix, name, np.eye(2))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            PermissionError(errno.EACCES, "x"),
            "m.csv may not be read (permission denied); change its permissions",
        ),
        (
            OSError(errno.EIO, "Input/output error"),
            "m.csv cannot be read: Input/output error; try a copy of it",
        ),
        (MemoryError(), "m.csv does not fit into memory; read it on a larger machine"),
    ],
)
def test_files_that_cannot_be_read(folder, monkeypatch, error, message):
    def refuse(*args, **options):
        raise error

    monkeypatch.setattr("unrelu._old.io.disk.open", refuse, raising=False)
    assert_refused(message, read_text, "1,2")


# --- writing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "1.0,\n0.1,-1e-20\n"),
        ({"columns": ["a", "b"]}, "a,b\n1.0,\n0.1,-1e-20\n"),
        ({"rows": ["x", 7]}, "x,1.0,\n7,0.1,-1e-20\n"),
        ({"rows": ["x", "y"], "columns": ["a,b", 'c"']}, ',"a,b","c"""\nx,1.0,\ny,0.1,-1e-20\n'),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_text_written(folder, options, text, dtype):
    write_matrix("m.csv", np.array([[1, NAN], [0.1, -1e-20]], dtype), **options)
    assert Path("m.csv").read_bytes().decode() == text


def test_integers_booleans_and_odd_floats_written(folder):
    write_matrix("m.tsv", np.array([[1, 2]]))
    assert Path("m.tsv").read_text() == "1\t2\n"
    write_matrix("m.csv", np.array([[True, False]]))
    assert Path("m.csv").read_text() == "1.0,0.0\n"
    write_matrix("m.npy", np.array([[0.5]], np.float16))
    assert np.load("m.npy").dtype == np.float32


labels_text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)


@st.composite
def tables(draw):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    values = draw(arrays(dtype, shape, elements=st.floats(allow_nan=True, width=32 if dtype == np.float32 else 64)))
    rows, columns = (
        draw(st.none() | st.lists(labels_text, min_size=length, max_size=length).map(tuple)) for length in shape
    )
    return values, rows, columns


@pytest.mark.parametrize("extension", [".csv", ".tsv", ".npz"])
@settings(deadline=None)  # the disk may be slow
@given(table=tables())
def test_round_trip_with_labels(tmp_path_factory, extension, table):
    values, rows, columns = table
    if columns is not None and len(columns) == 1 and rows is None and columns[0].isspace():
        columns = ("a",)  # a line of nothing but blanks counts as a blank line
    path = tmp_path_factory.getbasetemp() / f"round{extension}"
    write_matrix(path, values, rows=rows, columns=columns)
    again = read_matrix(path, header=columns is not None, labels=rows is not None)
    np.testing.assert_array_equal(np.asarray(again.values, values.dtype), values)
    assert (again.rows, again.columns) == (rows, columns)


@settings(deadline=None)  # the disk may be slow
@given(values=tables().map(lambda table: table[0]))
def test_round_trip_without_labels(tmp_path_factory, values):
    for extension in WRITABLE:
        path = tmp_path_factory.getbasetemp() / f"plain{extension}"
        write_matrix(path, values)
        again = dense(read_matrix(path).values)
        np.testing.assert_array_equal(again.astype(values.dtype), values)
        assert again.dtype == values.dtype or extension in (".csv", ".tsv", ".mtx")


@settings(deadline=None)  # the disk may be slow
@given(size=st.integers(1, 4))
def test_named_tables_are_found_again_unaided(tmp_path_factory, size):
    names = tuple(f"gene {index}" for index in range(size))
    for extension in (".csv", ".tsv", ".npz"):
        path = tmp_path_factory.getbasetemp() / f"named{extension}"
        write_matrix(path, np.eye(size), rows=names, columns=names)
        assert_table(read_matrix(path), np.eye(size), names, names)


def test_sparse_written(folder):
    stored = scipy.sparse.csr_array((np.array([0.0, 0.1]), ([0, 1], [1, 1])), shape=(2, 3))
    for extension in WRITABLE:
        write_matrix(f"m{extension}", stored)
        again = read_matrix(f"m{extension}").values
        np.testing.assert_array_equal(dense(again), [[NAN, 0, NAN], [NAN, 0.1, NAN]])
        assert scipy.sparse.issparse(again) == (extension == ".mtx")


def test_mtx_written_is_what_scipy_reads(folder):
    write_matrix("m.mtx", np.array([[1, 2.5], [NAN, np.inf]]))
    assert scipy.io.mmread("m.mtx").toarray().tolist() == [[1, 2.5], [0, np.inf]]
    write_matrix("m.mtx", np.array([[1, 2], [3, 4]]))
    assert scipy.io.mmread("m.mtx").tolist() == [[1, 2], [3, 4]]
    assert scipy.io.mminfo("m.mtx") == (2, 2, 4, "array", "integer", "general")


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (
            np.zeros(3),
            {},
            "cannot write an array of shape (3,) and type float64 to m.csv; expected a matrix of real numbers",
        ),
        (
            np.eye(2) * 1j,
            {},
            "cannot write an array of shape (2, 2) and type complex128 to m.csv; expected a matrix of real numbers",
        ),
        (np.eye(2), {"rows": ["x"]}, "expected 2 row labels, one for each row; got 1"),
        (np.eye(2), {"columns": "abc"}, "expected 2 column labels, one for each column; got 3"),
        (
            np.eye(2),
            {"rows": ["x", "\udcff"]},
            "the row label '\\udcff' cannot be written as UTF-8; rename it",
        ),
    ],
)
def test_matrices_that_are_not_written(folder, values, options, message):
    assert_refused(message, write_matrix, "m.csv", values, **options)
    assert os.listdir() == []


def test_overwrite_is_asked_for(folder):
    Path("m.csv").write_text("old")
    assert_refused(
        "m.csv is already there; choose another name or allow it to be overwritten",
        write_matrix,
        "m.csv",
        np.eye(2),
        overwrite=False,
    )
    assert Path("m.csv").read_text() == "old"
    write_matrix("n.csv", np.eye(1), overwrite=False)
    assert Path("n.csv").read_text() == "1.0\n"


# --- taking the place of the old file ----------------------------------------------------------------------


def write_half(path, error) -> None:
    with replacing(path) as temporary:
        assert temporary.parent == Path.cwd().resolve()
        assert temporary.suffix == ".csv"
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, RuntimeError, InputError])
def test_interruption_leaves_the_old_file(folder, ending):
    Path("m.csv").write_text("old")
    with pytest.raises(ending):
        write_half("m.csv", ending)
    assert os.listdir() == ["m.csv"]
    assert Path("m.csv").read_text() == "old"


def test_interrupted_write(folder, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    write_matrix("m.csv", np.eye(2))
    monkeypatch.setattr("unrelu._old.io.files.write_delimited", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_matrix("m.csv", np.zeros((2, 2)))
    assert os.listdir() == ["m.csv"]
    assert_table(read_matrix("m.csv"), np.eye(2))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left"), "No space left; free some space or choose another disk"),
        (OSError(errno.EACCES, "Permission denied"), "Permission denied; choose another place for it"),
        (OSError("9 requested and 1 written"), "9 requested and 1 written; see whether the disk is full"),
    ],
)
def test_system_errors_become_sentences(folder, error, message):
    assert_refused(f"m.csv cannot be written: {message}", write_half, "m.csv", error)
    assert os.listdir() == []


@pytest.mark.parametrize("extension", WRITABLE)
@pytest.mark.parametrize("values", [np.ones((200, 200)), np.full((200, 200), NAN) + np.diag(np.zeros(200))])
def test_full_disk(folder, extension, values):
    resource = pytest.importorskip("resource")
    values[:, :2] = 0.5
    name = f"m{extension}"
    Path(name).write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(InputError, match=rf"^{name} cannot be written: [^\n]+; [^\n]+$"):
            write_matrix(name, values)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir() == [name]
    assert Path(name).read_text() == "old"


def test_missing_folder(folder):
    assert_refused(
        "no/m.csv cannot be written: No such file or directory; make its folder first",
        write_half,
        "no/m.csv",
        RuntimeError,
    )


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_modes_and_links_are_kept(folder):
    Path("real.csv").write_text("old")
    Path("real.csv").chmod(0o640)
    Path("link.csv").symlink_to("real.csv")
    write_matrix("link.csv", np.eye(1))
    assert Path("link.csv").is_symlink()
    assert Path("real.csv").read_text() == "1.0\n"
    assert stat.S_IMODE(Path("real.csv").stat().st_mode) == 0o640
    Path("plain.csv").write_text("")
    write_matrix("new.csv", np.eye(1))
    assert Path("new.csv").stat().st_mode == Path("plain.csv").stat().st_mode


# --- before the work starts --------------------------------------------------------------------------------


def test_check_target_passes_and_writes_nothing(folder):
    Path("in.csv").write_text("1")
    for extension in WRITABLE:
        check_target(folder / f"out{extension}", inputs=["in.csv", "absent.csv"])
    check_target("out.CSV")
    assert os.listdir() == ["in.csv"]
    assert READABLE == WRITABLE == (".csv", ".tsv", ".npy", ".npz", ".mtx")


def test_check_target_refuses_folders(folder):
    Path("sub.csv").mkdir()
    assert_refused("sub.csv is a folder where a file was expected; name a file in it", check_target, "sub.csv")
    gone = folder.resolve() / "no"
    assert_refused(
        f"no/m.csv cannot be written, for there is no folder {gone}; make it first", check_target, "no/m.csv"
    )


@pytest.mark.parametrize("spelling", ["in.csv", "./in.csv", "link.csv", "hard.csv", "absent.csv"])
def test_check_target_refuses_the_input(folder, spelling):
    Path("in.csv").write_text("1")
    Path("link.csv").symlink_to("in.csv")
    os.link("in.csv", "hard.csv")
    assert_refused(
        f"{spelling} is the input and would be overwritten; choose another name for the output",
        check_target,
        spelling,
        inputs=[folder / "in.csv", folder / "absent.csv"],
    )


def test_check_target_refuses_what_is_closed(folder, monkeypatch):
    here = folder.resolve()
    Path("m.csv").write_text("1")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) == here)
    assert_refused(
        "m.csv is there and may not be written; change its permissions or choose another name",
        check_target,
        "m.csv",
    )
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert_refused(
        f"m.csv cannot be written, for the folder {here} is closed to you; choose another folder",
        check_target,
        "m.csv",
    )


def test_an_archive_that_is_nearly_nothing_but_one_value_is_refused_by_its_header(tmp_path):
    """3 MB that unpack to 3.2 GB would be read for minutes, and 100,000 rows need 80 GB."""
    path = tmp_path / "bomb.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (20000, 20000)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("matrix.npy", header.getvalue() + bytes(2**20))  # the rest is never looked at
    with pytest.raises(InputError, match=r"bomb.npz holds an array of 3.0 GiB \(20000×20000\) in 0.0 MiB, which is"):
        read_matrix(path)


def test_an_archive_that_packs_well_is_read(tmp_path):
    values = np.full((600, 600), np.nan)
    values[:, 0] = values[0] = 1.0
    np.savez_compressed(tmp_path / "m.npz", matrix=values)
    assert (tmp_path / "m.npz").stat().st_size < values.nbytes / 300
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.npz").values, values)


def test_of_several_arrays_only_the_matrix_is_unpacked(tmp_path, monkeypatch):
    np.savez(tmp_path / "m.npz", wide=np.arange(6.0).reshape(2, 3), long=np.arange(10.0))
    read = []
    original = np.lib.npyio.NpzFile.__getitem__
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", lambda self, key: read.append(key) or original(self, key))
    assert read_matrix(tmp_path / "m.npz").values.shape == (2, 3)
    assert set(read) == {"wide"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path):
    pipe, device = tmp_path / "pipe.csv", tmp_path / "device.csv"
    os.mkfifo(pipe)
    device.symlink_to("/dev/null")
    for path in (pipe, device):
        for write in (write_matrix, lambda path, values: check_target(path)):
            with pytest.raises(InputError, match=rf"{path.name} is a pipe or a device where a file was expected"):
                write(path, np.eye(2))
        with pytest.raises(InputError, match="is a pipe or a device"), replacing(path):
            pass
    assert sorted(p.name for p in tmp_path.iterdir()) == ["device.csv", "pipe.csv"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_files_written_together_are_all_there_or_none(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("old")

    def both(second):
        with together():
            write_matrix(one, np.eye(2))
            assert one.read_text() == "old"
            write_matrix(two, second)

    with pytest.raises(InputError):
        both(np.array(["text"]))
    assert [p.name for p in tmp_path.iterdir()] == ["one.csv"]
    assert one.read_text() == "old"
    both(np.eye(3))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.csv", "two.csv"]
    assert one.read_text() == "1.0,0.0\n0.0,1.0\n"


def test_a_move_that_fails_says_what_is_in_place_already(tmp_path, monkeypatch):
    original = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: original(a, b) if b.name == "one.csv" else original("none", b))
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"

    def both():
        with together():
            write_matrix(one, np.eye(2))
            write_matrix(two, np.eye(2))

    with pytest.raises(InputError, match=r"two.csv cannot be written: .*; already written: .*one.csv"):
        both()
    assert [p.name for p in tmp_path.iterdir()] == ["one.csv"]
