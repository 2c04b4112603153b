"""unrelu locate on structures and contact lists, and with the dimension left open."""

import json
import re

import numpy as np
import pytest
from molecules import chain, cif, pdb
from typer.testing import CliRunner

from unrelu._old.cli import app
from unrelu._old.io.files import write_matrix
from unrelu.datasets import points_in_cube, within

PLACES = chain(40, seed=1)


def locate(*arguments):
    return CliRunner().invoke(app, ["locate", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fold.pdb").write_text(pdb(PLACES))
    (tmp_path / "fold.cif").write_text(cif(PLACES))
    apart = np.linalg.norm(PLACES[:, None] - PLACES, axis=2)
    near = list(zip(*np.nonzero(np.triu(apart <= 8, 1)), strict=True))
    (tmp_path / "map.txt").write_text("".join(f"{i + 1} {j + 1}\n" for i, j in near))
    (tmp_path / "map.rr").write_text("PFRMAT RR\n" + "".join(f"{i + 1} {j + 1} 0 8 0.9\n" for i, j in near) + "END\n")
    return tmp_path


@pytest.mark.parametrize("name", ["fold.pdb", "fold.cif"])
def test_a_structure_is_found_again_from_its_short_distances(folder, name):
    pytest.importorskip("gemmi")
    done = locate(name, "--cutoff", 10, "-o", "again.pdb")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Read 40 atoms of 1 chain."
    (said,) = [line for line in lines if line.startswith("RMSD from the coordinates in the file: the 40 determined")]
    assert float(re.search(r"all points ([\d.e-]+)\.$", said)[1]) < 1e-9
    rows = [line for line in (folder / "again.pdb").read_text().splitlines() if line.startswith("ATOM")]
    assert [row[17:26] for row in rows[:2]] == ["GLY A   1", "LEU A   2"]


def test_the_truth_in_json(folder):
    pytest.importorskip("gemmi")
    told = json.loads(locate("fold.pdb", "--cutoff", 10, "-o", "p.csv", "--json").stdout)
    assert told["dim"] == 3
    assert told["truth"]["determined"] == told["determined"]
    assert told["truth"]["rmsd"] >= 0
    assert told["read"] == ["Read 40 atoms of 1 chain."]
    flat = locate("fold.pdb", "--cutoff", 10, "--dim", 2, "--max-seconds", 0.1, "-o", "p.csv", "--json")
    assert json.loads(flat.stdout)["truth"] is None


@pytest.mark.parametrize(("name", "rest"), [("map.txt", "every pair that is not listed is at least 8 apart"),
                                            ("map.rr", "of other pairs nothing is said")])  # fmt: skip
def test_contacts_fix_nothing_and_that_is_said(folder, name, rest):
    cutoff = ["--cutoff", 8] if name == "map.txt" else []
    done = locate(name, "--dim", 3, *cutoff, "-o", "p.csv")
    assert done.exit_code == 0, done.stderr
    assert rest in done.stdout
    assert "no distance was seen, so that no point is determined" in done.stdout
    assert "points are determined" not in done.stdout
    rows = [line.split(",") for line in (folder / "p.csv").read_text().splitlines()[1:]]
    assert {row[4] for row in rows} == {"no"}
    found = {row[0]: np.array(row[1:4], float) for row in rows}
    for line in (folder / "map.txt").read_text().splitlines():
        one, other = line.split()
        assert np.linalg.norm(found[one] - found[other]) <= 8 + 1e-6


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_names_that_do_not_print_are_the_file_s_own(folder, how):
    (folder / "odd.txt").write_text("a\x1b[31m b\nb c\na\x1b[31m c\n")
    done = locate("odd.txt", "--dim", 3, "--cutoff", 8, "-o", "p.csv", *how)
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert (folder / "p.csv").read_text().splitlines()[1].startswith("a\x1b[31m,")
    (folder / "ranges.csv").write_text("a\x1b[31m,b,3\nb,c,4\n")
    (folder / "bounds.csv").write_text("a\x1b[31m,c,5,6\n")
    done = locate("ranges.csv", "--dim", 2, "--bounds", "bounds.csv", "-o", "p.csv", *how)
    assert done.exit_code == 0, done.stderr


def test_the_answer_to_contacts_scales_with_them(folder):
    texts = {}
    for name, size in (("a", 8), ("b", 8 * 1024)):
        (folder / f"{name}.rr").write_text((folder / "map.rr").read_text().replace(" 0 8 ", f" 0 {size} "))
        assert locate(f"{name}.rr", "-d", 3, "-o", f"{name}.csv", "-q").exit_code == 0
        texts[name] = [line.split(",")[1:4] for line in (folder / f"{name}.csv").read_text().splitlines()[1:]]
    np.testing.assert_array_equal(1024 * np.array(texts["a"], float), np.array(texts["b"], float))


def test_the_dimension_is_found_and_told(folder):
    points = 100 * points_in_cube(50, 2, rng=0)
    write_matrix(folder / "d.npy", within(points, 40.0))
    done = locate("d.npy", "--dim", "auto", "--cutoff", 40, "-o", "p.csv")
    assert done.exit_code == 0, done.stderr
    assert "The dimension was found: 2 dimensions meet all distances to rounding" in done.stdout
    assert (folder / "p.csv").read_text().startswith("name,x,y,determinacy")
    told = json.loads(locate("d.npy", "--dim", "auto", "--cutoff", 40, "-o", "p.csv", "--json").stdout)
    assert (told["dim"], told["dimension"]["chosen"], told["dimension"]["rival"]) == (2, 2, None)
    assert [one["dim"] for one in told["dimension"]["tried"]] == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["fold.pdb", "-o", "p.csv"], "fold.pdb is a structure, of which all distances are known; say up to which"),
        (["fold.pdb", "--cutoff", "1", "-o", "p.csv"], "no two atoms of fold.pdb are closer than --cutoff 1"),
        (["fold.pdb", "--cutoff", "8", "--chains", "B", "-o", "p.csv"], "fold.pdb holds no chain 'B'; there is A"),
        (["fold.pdb", "--cutoff", "8", "--format", "edges", "-o", "p.csv"], "--format is for distances and contacts"),
        (["fold.pdb", "--cutoff", "8", "-o", "fold.pdb"], "fold.pdb is the input and would be overwritten"),
        (["map.txt", "-d", "3", "-o", "p.csv"], "map.txt says which points are in contact, but not how near that is"),
        (["map.txt", "-d", "3", "--cutoff", "8", "--atoms", "CA", "-o", "p.csv"], "--atoms is for structures"),
        (["map.txt", "--cutoff", "8", "-o", "p.csv"], "--dim is missing: say how many coordinates a point has, or"),
        (["map.rr", "-d", "3", "--probability", "2", "-o", "p.csv"], "probability must be above 0 and at most 1"),
        (["map.rr", "-d", "3", "--bounds", "b.csv", "-o", "p.csv"], "--bounds cannot stand beside contacts"),
        (["map.rr", "-d", "auto", "-o", "p.csv"], "finds the dimension from distances, and none was seen"),
        (["d.csv", "-d", "auto", "-o", "p.pdb"], "would hold points of three dimensions, got --dim auto; say --dim 3"),
        (["d.csv", "-d", "two", "-o", "p.csv"], "--dim must be a whole number, or auto to have it found, got 'two'"),
        (["d.csv", "-d", "auto", "--anchors", "a.csv", "-o", "p.csv"], "so that --dim auto has nothing to find; say"),
        (["d.csv", "-d", "2", "--probability", "0.5", "-o", "p.csv"], "--probability is for contact lists, got d.csv"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(folder, arguments, text):
    pytest.importorskip("gemmi")
    (folder / "d.csv").write_text("a,b,3\na,c,4\nb,c,5\n")
    (folder / "a.csv").write_text("a,0,0\n")
    (folder / "b.csv").write_text("1,2,3,4\n")
    done = locate(*arguments)
    assert done.exit_code == 2, done.stdout
    assert text in done.stderr
    assert re.fullmatch(r"error: [^\n]+\n", done.stderr)
    assert not (folder / "p.csv").exists()
