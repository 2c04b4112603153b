"""Distances and anchors in files: every way people write them, and one sentence for every way they go wrong."""

import re

import numpy as np
import pytest
import scipy.sparse

from unrelu import EdgeList, InputError
from unrelu._old.io.files import write_matrix
from unrelu._old.io.measurements import read_distances
from unrelu._old.io.restraints import read_anchors, read_bounds

NAN = np.nan


@pytest.fixture
def written(tmp_path):
    def write(text, name="ranges.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def as_dict(found):
    """{(name, name): distance}, whatever the file looked like."""
    assert isinstance(found.data, EdgeList)
    names = found.names
    return {
        (names[i], names[j]): d
        for (i, j), d in zip(found.data.pairs.tolist(), found.data.distances.tolist(), strict=True)
    }


# --- edge lists ----------------------------------------------------------------------------------------------

THREE = {("a", "b"): 3.0, ("a", "c"): 4.0, ("b", "c"): 5.0}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a,b,3\na,c,4\nb,c,5\n", "r.csv"),
        ("from,to,distance\na,b,3\na,c,4\nb,c,5", "r.csv"),
        ("a\tb\t3\r\na\tc\t4\r\nb\tc\t5\r\n", "r.tsv"),
        ("# ranges in metres\n\na,b,3\n  # the next by hand\na,c,4\n\nb,c,5\n\n", "r.csv"),
        (" a , b , 3 \na,c,4.0\nb,c,5e0\n", "r.csv"),
        ('"a","b",3\n"a","c",4\n"b","c",5\n', "r.csv"),
        (b"\xef\xbb\xbfa,b,3\na,c,4\nb,c,5\n", "r.csv"),
        ("a,b,3\nb,a,3\na,c,4\nc,b,5\nb,c,5\n", "r.csv"),  # both ends tell it
        ("a,b,3\na,c,4\nb,c,5\na,a,0\n", "r.csv"),  # a long table made from a matrix
        ("a,b,3,0.1\na,c,4,0.1\nb,c,5,0.2\n", "r.csv"),
    ],
)
def test_edge_lists_people_write(written, text, name):
    found = read_distances(written(text, name))
    assert as_dict(found) == THREE
    assert found.names == ("a", "b", "c")


def test_sigma_comes_along_and_repeated_measurements_with_it(written):
    found = read_distances(written("a,b,3,0.1\nb,a,3,0.1\na,b,3.2,0.3\na,c,4,0.2\n"))
    np.testing.assert_array_equal(found.data.distances, [3, 3.2, 4])
    np.testing.assert_array_equal(found.data.sigma, [0.1, 0.3, 0.2])
    repeated = read_distances(written("a,b,3\na,b,3.2\n"), repeats=True)
    np.testing.assert_array_equal(repeated.data.distances, [3, 3.2])


def test_ids_with_gaps_are_names_in_the_order_of_their_numbers(written):
    found = read_distances(written("100,7,2.5\n12,100,1\n-3,7,4\n"))
    assert found.names == ("-3", "7", "12", "100")
    assert as_dict(found) == {("7", "100"): 2.5, ("12", "100"): 1.0, ("-3", "7"): 4.0}


def test_names_keep_the_order_in_which_they_appear(written):
    assert read_distances(written("Zürich,Bern,95\nBern,Aarau,66\n")).names == ("Zürich", "Bern", "Aarau")
    assert read_distances(written("01,1,95\n")).names == ("01", "1")


def test_a_pair_without_a_distance_still_names_its_points(written):
    found = read_distances(written("a,b,3\nc,a,\nd,a,NA\ne,a,-999\n"), missing=["-999"])
    assert as_dict(found) == {("a", "b"): 3.0}
    assert found.names == ("a", "b", "c", "d", "e")


def test_a_long_list_is_read_whole(written):
    text = "".join(f"p{k},p{k + 1},{k + 1}\n" for k in range(50))
    found = read_distances(written(text))
    np.testing.assert_array_equal(found.data.distances, np.arange(1, 51))
    assert len(found.names) == 51


@pytest.mark.parametrize("extension", ["npy", "npz"])
def test_edge_lists_in_numpy_files(tmp_path, extension):
    write_matrix(tmp_path / f"e.{extension}", np.array([[5, 9, 1.5], [9, 20, 2.5], [20, 5, NAN], [5, 9, 1.5]]))
    found = read_distances(tmp_path / f"e.{extension}")
    assert as_dict(found) == {("5", "9"): 1.5, ("9", "20"): 2.5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b,-3\na,c,4\n", "line 1: the distance of 'a' and 'b' must not be negative, got -3; correct it, or leave"),
        (
            "a,b,3\na,c,-4\na,d,-5\n",
            "line 2: the distance of 'a' and 'c' must not be negative, got -4 (and 1 more like",
        ),
        ("a,b,inf\n", "line 1: the distance of 'a' and 'b' must be finite, got inf"),
        ("a,b,3\nb,b,2\n", "line 2: the distance of 'b' to itself is given as 2; name two different points"),
        (
            "i,j,d\na,b,3\na,c,4\n# x\nb,a,3.5\n",
            "gives the distance of 'a' and 'b' twice, as 3 on line 2 and as 3.5 on line 5; keep one of them, or say "
            "with --sigma how far repeated measurements scatter",
        ),
        ("a,b,3\na,c,4 m\n", "line 2: the distance '4 m' is not a number; correct it (the decimal sign is a point)"),
        ("a,b,3,1\na,c,4,x\n", "line 2: the sigma 'x' is not a number"),
        ("a,b,3,0.1\na,c,4,0\n", "line 2: sigma of 'a' and 'c' must be a positive number, got 0; give one for every"),
        ("a,b,3,0.1\na,c,4,\n", "line 2: sigma of 'a' and 'c' must be a positive number, got nothing; give one for"),
        ("a,b,3\na,4\n", "line 2 has 2 cells where 3 were expected; give every line the same number of cells"),
        ("a,b,3\n,c,4\n", "line 2 leaves a point without a name"),
        ("from,to,distance\n", "holds names of columns on line 1 and no distances below them; add them"),
        ("# nothing yet\n", "holds no distances; expected a line 'name, name, distance'"),
        ("", "is empty; expected measured distances, so write the file again"),
        ("a,b,\na,c,NA\n", "holds no distance between two points"),
        (b"a,b,3\n\xff,c,4\n", "line 2: expected UTF-8 text, got other bytes"),
    ],
)
def test_edge_lists_that_are_refused(written, text, expected):
    path = written(text)
    with pytest.raises(InputError, match=re.escape(expected)) as caught:
        read_distances(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_other_separators_and_widths_are_named(written):
    with pytest.raises(InputError, match=re.escape("line 1 has 1 cell where 3 or 4 were expected")) as caught:
        read_distances(written("a;b;3\na;c;4\n"), layout="edges")
    assert str(caught.value).endswith("separate the cells by commas in a .csv file and by tabs in a .tsv file")
    with pytest.raises(InputError, match=r"line 1 has 5 cells where 3 or 4 were expected"):
        read_distances(written("a,b,3,4,5\n"), layout="edges")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[0, 1.5, 2], [1, 2, 3], [0, 2, 1], [3, 1, 1]], "row 0: ids of points must be whole numbers, got 0 and 1.5"),
        ([[0, 1, 2], [1, 1, 3], [0, 2, 1], [3, 1, 1]], "row 1: the distance of '1' to itself is given as 3"),
        ([[0, 1, 2], [1, 0, 3], [0, 2, 1], [3, 1, 1]], "twice, as 2 on row 0 and as 3 on row 1"),
    ],
)
def test_arrays_of_edges_that_are_refused(tmp_path, rows, expected):
    np.save(tmp_path / "e.npy", np.array(rows, dtype=float))
    with pytest.raises(InputError, match=re.escape(expected)):
        read_distances(tmp_path / "e.npy")


# --- matrices, and telling them from edge lists ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0,1,2\n1,0,3\n2,3,0\n", ("0", "1", "2")),
        (",1,2\n,,3\n,,\n", ("0", "1", "2")),
        ("a,b,c\n0,1,2\n1,0,3\n2,3,0\n", ("a", "b", "c")),
        (",a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n", ("a", "b", "c")),
        ("a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n", ("a", "b", "c")),  # R leaves out the corner
    ],
)
def test_small_matrices_are_not_taken_for_edge_lists(written, text, names):
    found = read_distances(written(text))
    assert found.names == names
    np.testing.assert_array_equal(np.triu(found.data, 1), [[0, 1, 2], [0, 0, 3], [0, 0, 0]])


def test_names_that_look_like_distances_are_said_to_be_names(written):
    path = written(",7,9,12\n7,0,1,2\n9,1,0,3\n12,2,3,0\n")
    assert read_distances(path, header=True, labels=True).names == ("7", "9", "12")
    with pytest.raises(InputError, match="may be labels or entries; say --header --labels if they are labels"):
        read_distances(path)
    assert read_distances(written(",7.5,9,12\n7.5,0,1,2\n9,1,0,3\n12,2,3,0\n")).data.shape == (4, 4)
    path = written("a,0,1,2\nb,1,0,3\nc,2,3,0\n")
    assert read_distances(path, header=False).names == ("a", "b", "c")
    with pytest.raises(InputError, match="got 2 rows and 3 columns; if its first row holds distances, say --no-header"):
        read_distances(path)


def test_three_edges_are_not_taken_for_a_matrix(written):
    assert as_dict(read_distances(written("0,1,2\n0,2,3\n1,2,4\n"))) == {
        ("0", "1"): 2.0,
        ("0", "2"): 3.0,
        ("1", "2"): 4.0,
    }
    four = "i,j,distance,sigma\n1,2,3,1\n2,3,4,1\n3,4,5,1\n4,1,6,1\n"
    assert len(as_dict(read_distances(written(four)))) == 4


@pytest.mark.parametrize("extension", ["csv", "tsv", "npy", "npz", "mtx"])
def test_matrices_of_every_format(tmp_path, extension):
    D = np.array([[0, 1, NAN, 2, 3], [1, 0, 4, NAN, 5], [NAN, 4, 0, 6, 7], [2, NAN, 6, 0, 8], [3, 5, 7, 8, 0]])
    write_matrix(tmp_path / f"d.{extension}", D)
    found = read_distances(tmp_path / f"d.{extension}")
    assert found.names == ("0", "1", "2", "3", "4")
    if extension == "mtx":
        assert scipy.sparse.issparse(found.data)
        assert found.data.nnz == (~np.isnan(D)).sum()
        np.testing.assert_array_equal(found.data.toarray(), np.nan_to_num(D))
    else:
        np.testing.assert_array_equal(found.data, D)


def test_the_layout_may_be_said(written):
    text = "0,1,1\n1,0,1\n1,1,0\n"
    assert read_distances(written(text)).data.shape == (3, 3)
    with pytest.raises(InputError, match=r"distance of '1' to itself|twice"):
        read_distances(written("0,1,1\n1,0,1\n1,1,5\n"), layout="edges")
    with pytest.raises(
        InputError, match=re.escape("must be square, a row and a column for every point, got 2 rows and")
    ):
        read_distances(written("0,1,1\n1,0,1\n"), layout="matrix")
    with pytest.raises(InputError, match=r"unknown format 'edge'; did you mean 'edges'\? accepted: edges, matrix"):
        read_distances(written(text), layout="edge")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ",a,b,c\nb,0,1,2\na,1,0,3\nc,2,3,0\n",
            "must carry the same names in the same order, but name 1 is 'b' for the row and 'a' for the column",
        ),
        (",a,a,c\na,0,1,2\na,1,0,3\nc,2,3,0\n", "calls points 1 and 2 both 'a'; give every point its own name"),
        ("0,1,2,3,4\n1,0,3,4,5\n", "must be square, a row and a column for every point, got 2 rows and 5 columns"),
        ("0,1,x,3,4\n" * 5, "line 2, column 3: 'x' is neither a number nor a missing mark"),
    ],
)
def test_matrices_that_are_refused(written, text, expected):
    with pytest.raises(InputError, match=re.escape(expected)):
        read_distances(written(text))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"none.csv does not exist; check the name and the folder it is in"):
        read_distances(tmp_path / "none.csv")
    (tmp_path / "r.xlsx").touch()
    with pytest.raises(InputError, match=r"expected the extension .csv, .tsv, .npy, .npz or .mtx, got '.xlsx'"):
        read_distances(tmp_path / "r.xlsx")
    with pytest.raises(InputError, match="is a folder where a file was expected"):
        read_distances(tmp_path)


# --- anchors ---------------------------------------------------------------------------------------------------

NAMES = ("gate", "tower", "mast")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gate,0,1.5\nmast,-2,3\n", "a.csv"),
        ("name,x,y\ngate,0,1.5\n# moved in spring\nmast,-2,3\n", "a.csv"),
        ("gate\t0\t1.5\nmast\t-2\t3\n", "a.tsv"),
    ],
)
def test_anchors_people_write(written, text, name):
    anchors = read_anchors(written(text, name), NAMES, 2)
    assert {place: position.tolist() for place, position in anchors.items()} == {0: [0, 1.5], 2: [-2, 3]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gate,0,0\ntowr,1,0\n", "line 2: there is no point 'towr' among the measured ones; did you mean 'tower'?"),
        ("gate,0,0\n17,1,0\n", "no point '17' among the measured ones; they are called 'gate', 'tower', 'mast'"),
        ("gate,0,0,0\n", "line 1 has 3 coordinates where --dim 2 asks for 2; expected a line 'name, x, y'"),
        ("gate,0\n", "line 1 has 1 coordinate where --dim 2 asks for 2"),
        ("gate,0,0\ngate,0,1\n", "gives the position of 'gate' twice, on line 1 and line 2; keep one of them"),
        (
            "gate,0,0\nmast,1,\n",
            "line 2: coordinate 2 of 'mast' must be a number, got ''; correct it, or take the line",
        ),
        ("gate,0,0\nmast,inf,1\n", "line 2: coordinate 1 of 'mast' must be a number, got 'inf'"),
        ("name,x,y\n", "holds no anchors; expected a line 'name, x, y' for each"),
        ("", "is empty; expected anchors, so write the file again"),
    ],
)
def test_anchors_that_are_refused(written, text, expected):
    path = written(text, "anchors.csv")
    with pytest.raises(InputError, match=re.escape(expected)) as caught:
        read_anchors(path, NAMES, 2)
    assert str(caught.value).startswith(str(path))


def test_anchors_are_text_files(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"expected the extension .csv or .tsv, got '.npy'"):
        read_anchors(tmp_path / "a.npy", NAMES, 2)


# --- bounds ----------------------------------------------------------------------------------------------------


def test_bounds_people_write(written):
    lower, upper = read_bounds(written("from,to,lower,upper\n# NOE\nmast,gate,1.8,5\ntower,gate,,6\n"), NAMES)
    assert (lower.pairs.tolist(), lower.distances.tolist()) == ([[0, 2]], [1.8])
    assert (upper.pairs.tolist(), upper.distances.tolist()) == ([[0, 2], [0, 1]], [5.0, 6.0])
    assert read_bounds(written("mast,gate,,5\n"), NAMES)[0] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gate,mat,1,2\n", "line 1: there is no point 'mat' among the measured ones; did you mean 'mast'?"),
        ("gate,gate,1,2\n", "line 1 bounds the distance of 'gate' to itself; name two different points"),
        ("gate,mast,1,2\nmast,gate,1,3\n", "of 'mast' and 'gate' twice, on line 1 and line 2; keep one of them"),
        ("gate,mast,3,2\n", "the lower bound 3 of 'gate' and 'mast' is above the upper one, 2; exchange or correct"),
        ("gate,mast,-1,2\n", "line 1: a bound must be a number of at least 0, got '-1'; correct it"),
        ("gate,mast,1,x\n", "line 1: a bound must be a number of at least 0, got 'x'; correct it"),
        ("gate,mast,1\n", "line 1 has 3 cells where 4 were expected: a line 'name, name, lower, upper'"),
        ("a,b,lower,upper\n", "holds no bounds; expected a line 'name, name, lower, upper'"),
    ],
)
def test_bounds_that_are_refused(written, text, expected):
    path = written(text, "bounds.csv")
    with pytest.raises(InputError, match=re.escape(expected)) as caught:
        read_bounds(path, NAMES)
    assert str(caught.value).startswith(str(path))
