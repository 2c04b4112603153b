"""Positions in files: csv reads back the same, xyz and PDB stand in the columns that other programs read."""

import csv
import re

import numpy as np
import pytest

from unrelu import InputError
from unrelu._old.io.positions import check_positions_target, write_positions

PLANE = np.array([[0.1, -2.0], [1 / 3, 1e-17], [5e9, 2.0]])
SPACE = np.array([[0.1, -2.0, 3.25], [1 / 3, 1e-17, -999.999], [12.3456, 2.0, 9999.999]])


def test_csv_holds_everything_and_reads_back_the_same(tmp_path):
    path = tmp_path / "p.csv"
    names = ["gate", 'the "old" mast, north', "42"]
    errors = np.array([[0.5, 0.25], [np.inf, np.inf], [0.0, 0.125]])
    write_positions(
        path, PLANE, names=names, determinacy=["proved", "no", "generic"], components=[0, 1, 0], standard_errors=errors
    )
    with open(path, encoding="utf-8", newline="") as text:
        head, *rows = csv.reader(text)
    assert ",".join(head) == "name,x,y,determinacy,component,standard_error_x,standard_error_y"
    columns = dict(zip(head, zip(*rows, strict=True), strict=True))
    assert list(columns["name"]) == names
    np.testing.assert_array_equal(np.array([columns["x"], columns["y"]], float).T, PLANE)
    assert columns["determinacy"] == ("proved", "no", "generic")
    assert columns["component"] == ("0", "1", "0")
    found = np.array([columns["standard_error_x"], columns["standard_error_y"]], float).T
    np.testing.assert_array_equal(found, errors)


def test_tsv_names_of_axes_and_points_without_names(tmp_path):
    write_positions(tmp_path / "p.tsv", np.arange(8.0).reshape(2, 4))
    assert (tmp_path / "p.tsv").read_text() == "name\tx1\tx2\tx3\tx4\n0\t0.0\t1.0\t2.0\t3.0\n1\t4.0\t5.0\t6.0\t7.0\n"


def test_xyz(tmp_path):
    write_positions(tmp_path / "p.xyz", SPACE, names=["CA", "mast", "x"], comment="two\nlines")
    lines = (tmp_path / "p.xyz").read_text().splitlines()
    assert lines[:2] == ["3", "two lines"]
    assert [line.split()[0] for line in lines[2:]] == ["CA", "mast", "x"]
    np.testing.assert_allclose([[float(cell) for cell in line.split()[1:]] for line in lines[2:]], SPACE, rtol=1e-9)
    write_positions(tmp_path / "p.xyz", PLANE)
    assert (tmp_path / "p.xyz").read_text().splitlines()[2].split() == ["0", "0.1", "-2", "0"]


# --- PDB ---------------------------------------------------------------------------------------------------------


def atoms(path):
    """What stands in the fixed columns of the format (version 3.3), counted from 1 there and from 0 here."""
    lines = [line for line in path.read_text().splitlines() if line.startswith("ATOM")]
    assert all(len(line) == 78 for line in lines)
    return [
        {
            "serial": int(line[6:11]),
            "atom": line[12:16],
            "residue": line[17:20],
            "chain": line[21],
            "number": int(line[22:26]),
            "point": [float(line[30:38]), float(line[38:46]), float(line[46:54])],
            "occupancy": float(line[54:60]),
            "b": float(line[60:66]),
            "element": line[76:78],
        }
        for line in lines
    ]


def test_pdb_stands_in_its_columns(tmp_path):
    path = tmp_path / "p.pdb"
    errors = np.array([[0.1, 0.2, 0.2], [np.inf] * 3, [9.0, 9.0, 9.0]])
    write_positions(
        path, SPACE, names=["1", "17", "-3"], determinacy=["proved", "no", "generic"], standard_errors=errors
    )
    found = atoms(path)
    assert [atom["serial"] for atom in found] == [1, 2, 3]
    assert [atom["number"] for atom in found] == [1, 17, -3]
    assert {atom["atom"] for atom in found} == {" CA "}
    assert {atom["residue"] for atom in found} == {"UNK"}
    assert {atom["element"] for atom in found} == {" C"}
    np.testing.assert_allclose([atom["point"] for atom in found], SPACE, atol=5.001e-4)
    assert [atom["occupancy"] for atom in found] == [1, 0, 1]
    assert found[0]["b"] == pytest.approx(8 * np.pi**2 * 0.03, abs=0.005)
    assert [atom["b"] for atom in found[1:]] == [999.99, 999.99]
    lines = path.read_text().splitlines()
    assert lines[0] == "TITLE     positions by unrelu"
    assert lines[-2:] == ["TER       4      UNK A  -3", "END"]
    assert not any(line.startswith("REMARK") for line in lines)


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["ALA1", "GLY12", "TRP9999"], [(" CA ", "ALA", 1), (" CA ", "GLY", 12), (" CA ", "TRP", 9999)]),
        (["N", "CA", "HD11"], [(" N  ", "UNK", 1), (" CA ", "UNK", 2), ("HD11", "UNK", 3)]),
        (["0", "1", "2"], [(" CA ", "UNK", 0), (" CA ", "UNK", 1), (" CA ", "UNK", 2)]),
    ],
)
def test_pdb_keeps_names_where_programs_look_for_them(tmp_path, names, kept):
    write_positions(tmp_path / "p.pdb", SPACE, names=names)
    assert [(atom["atom"], atom["residue"], atom["number"]) for atom in atoms(tmp_path / "p.pdb")] == kept


def test_pdb_keeps_longer_names_in_remarks(tmp_path):
    write_positions(tmp_path / "p.pdb", SPACE, names=["old mast", "Zürich", "10000"])
    remarks = [line for line in (tmp_path / "p.pdb").read_text().splitlines() if line.startswith("REMARK")]
    assert remarks == [
        "REMARK   6 ATOM     1 IS old mast",
        "REMARK   6 ATOM     2 IS Zürich",
        "REMARK   6 ATOM     3 IS 10000",
    ]
    assert [atom["number"] for atom in atoms(tmp_path / "p.pdb")] == [1, 2, 3]


def test_pdb_chains_tell_components_apart_and_count_beyond_9999(tmp_path):
    write_positions(tmp_path / "p.pdb", SPACE, components=[0, 1, 0])
    assert [atom["chain"] for atom in atoms(tmp_path / "p.pdb")] == ["A", "B", "A"]
    write_positions(tmp_path / "p.pdb", np.zeros((10_001, 3)))
    found = atoms(tmp_path / "p.pdb")
    assert [(found[k]["chain"], found[k]["number"]) for k in (0, 9998, 9999)] == [("A", 1), ("A", 9999), ("B", 1)]


def test_no_minus_zero_in_pdb(tmp_path):
    write_positions(tmp_path / "p.pdb", [[-0.0, -0.0001, 0.0004]])
    assert "-0.000" not in (tmp_path / "p.pdb").read_text()


# --- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "points", "options", "expected"),
    [
        (
            "p.pdb",
            [[0, 0, 0], [-1000, 2, 3], [10_000, 0, 0]],
            {"names": ["a", "b", "c"]},
            "p.pdb holds coordinates from -999.999 to 9999.999, got 'b' at (-1000, 2, 3) and 1 more beyond; "
            "use larger units, or write them as .csv or .xyz",
        ),
        ("p.pdb", [[np.nan, 0, 0]], {}, "got '0' at (nan, 0, 0)"),
        ("p.pdb", PLANE, {}, "p.pdb would hold points of three dimensions, got 2; write them as .csv"),
        ("p.pdb", np.zeros((100_000, 3)), {}, "p.pdb can number 99999 atoms, got 100000 points; write them as .csv"),
        ("p.xyz", np.zeros((2, 4)), {}, "p.xyz would hold points of at most three dimensions, got 4; write them as"),
        ("p.xyz", PLANE, {"names": ["a", "old mast", "c"]}, "p.xyz takes names without spaces, got 'old mast'; rename"),
        ("p.npy", PLANE, {}, "expected the extension .csv, .tsv, .xyz or .pdb, got '.npy'"),
        ("p.csv", PLANE, {"names": ["a"]}, "names must have one entry for each of the 3 points, got 1"),
        ("p.csv", PLANE, {"components": [0]}, "components must have one entry for each of the 3 points, got 1"),
        ("p.csv", PLANE, {"standard_errors": [[0.0]]}, "standard_errors must have the shape of points, (3, 2), got"),
        ("p.csv", [1.0, 2.0], {}, "points must be an array of shape (n, dim), got (2,)"),
        ("no/p.csv", PLANE, {}, "cannot be written, for there is no folder"),
        ("p.csv", PLANE, {"names": ["a", "b", "\udc80"]}, "cannot be written as UTF-8; rename it"),
    ],
)
def test_refusals_leave_the_old_file_as_it_was(tmp_path, name, points, options, expected):
    if "/" not in name:
        (tmp_path / name).write_text("old")
    with pytest.raises(InputError, match=re.escape(expected)):
        write_positions(tmp_path / name, points, **options)
    assert [path.read_text() for path in tmp_path.iterdir()] == (["old"] if "/" not in name else [])


def test_an_input_is_not_overwritten(tmp_path):
    (tmp_path / "r.csv").touch()
    with pytest.raises(InputError, match="is the input and would be overwritten; choose another name for the output"):
        check_positions_target(tmp_path / "r.csv", 2, inputs=[tmp_path / "r.csv"])
