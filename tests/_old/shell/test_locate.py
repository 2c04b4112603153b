"""unrelu locate from end to end: files in, files and words out."""

import csv
import json
import os
import pty
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import unrelu._old.shell.locate
from unrelu._old.cli import app
from unrelu._old.io.files import write_matrix
from unrelu.datasets import points_in_cube, within

UNRELU = [sys.executable, "-m", "unrelu"]
PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
CUTOFF = 40.0
# Written with every digit, so only the arithmetic of the fit is left.
EXACT = 1e-7

POINTS = 100 * points_in_cube(50, 2, rng=0)
NAMES = [f"s{k}" for k in range(50)]


def short(points, cutoff=CUTOFF):
    """(i, j, distance) of the pairs up to the cut-off."""
    D = within(points, cutoff)
    return [
        (i, j, float(D[i, j])) for i, j in zip(*np.nonzero(~np.isnan(np.triu(D, 1)) & np.triu(D > 0, 1)), strict=True)
    ]


def write_edges(path, names, edges, delimiter=",", header=True):
    rows = [delimiter.join([names[i], names[j], repr(d)]) for i, j, d in edges]
    path.write_text("\n".join(([delimiter.join(["from", "to", "distance"])] if header else []) + rows) + "\n")


def read_positions(path):
    """Names, points and rows, those called s0, s1, … by number."""
    with open(path, encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text, delimiter="\t" if path.suffix == ".tsv" else ","))
    if all(row["name"][0] == "s" for row in rows):
        rows.sort(key=lambda row: int(row["name"][1:]))
    return [row["name"] for row in rows], np.array([[float(row["x"]), float(row["y"])] for row in rows]), rows


def gaps(points):
    return np.linalg.norm(points[:, None] - points, axis=2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_edges(tmp_path / "ranges.csv", NAMES, short(POINTS))
    lines = [f"{NAMES[k]},{float(POINTS[k, 0])!r},{float(POINTS[k, 1])!r}\n" for k in (3, 20, 41)]
    (tmp_path / "anchors.csv").write_text("name,x,y\n" + "".join(lines))
    return tmp_path


def locate(*arguments):
    return CliRunner().invoke(app, ["locate", *map(str, arguments)])


# --- what it finds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["edges.csv", "edges.tsv", "matrix.csv", "matrix.npy", "matrix.npz", "matrix.mtx", "edges.npy"]
)
def test_every_format_in(folder, kind):
    D = within(POINTS, CUTOFF)
    if kind == "edges.npy":
        np.save(folder / kind, np.array(short(POINTS)))
    elif kind.startswith("edges"):
        write_edges(folder / kind, NAMES, short(POINTS), "," if kind.endswith("csv") else "\t", header=False)
    else:
        write_matrix(folder / kind, D)
    done = locate(kind, "--dim", 2, "--cutoff", CUTOFF, "-o", "p.csv")
    assert done.exit_code == 0, done.stderr
    assert "wrote p.csv" in done.stdout
    names, found, rows = read_positions(folder / "p.csv")
    assert names == (NAMES if kind in ("edges.csv", "edges.tsv") else [str(k) for k in range(50)])
    assert {row["determinacy"] for row in rows} <= {"proved", "generic"}
    np.testing.assert_allclose(gaps(found), gaps(POINTS), rtol=0, atol=EXACT)


@pytest.mark.parametrize("extension", ["tsv", "xyz"])
def test_other_formats_out(folder, extension):
    assert locate("ranges.csv", "-d", 2, "--cutoff", CUTOFF, "-o", f"p.{extension}", "-q").exit_code == 0
    if extension == "tsv":
        found = read_positions(folder / "p.tsv")[1]
    else:
        lines = (folder / "p.xyz").read_text().splitlines()
        assert lines[0] == "50"
        lines[2:] = sorted(lines[2:], key=lambda line: int(line.split()[0][1:]))
        found = np.array([[float(cell) for cell in line.split()[1:3]] for line in lines[2:]])
    np.testing.assert_allclose(gaps(found), gaps(POINTS), rtol=0, atol=1e-6)


def test_space_as_pdb(folder):
    points = 20 * points_in_cube(60, 3, rng=1)
    write_edges(folder / "contacts.csv", [str(k + 5) for k in range(60)], short(points, 11.0))
    done = locate("contacts.csv", "--dim", 3, "--cutoff", 11, "-o", "fold.pdb")
    assert done.exit_code == 0, done.stderr
    lines = [line for line in (folder / "fold.pdb").read_text().splitlines() if line.startswith("ATOM")]
    assert [int(line[22:26]) for line in lines] == list(range(5, 65))
    found = np.array([[float(line[k : k + 8]) for k in (30, 38, 46)] for line in lines])
    np.testing.assert_allclose(gaps(found), gaps(points), rtol=0, atol=2e-3)  # three decimals


def test_anchors_give_the_frame(folder):
    done = locate("ranges.csv", "--dim", 2, "--cutoff", CUTOFF, "--anchors", "anchors.csv", "-o", "p.csv")
    assert done.exit_code == 0, done.stderr
    np.testing.assert_allclose(read_positions(folder / "p.csv")[1], POINTS, rtol=0, atol=EXACT)


def test_squares_sigma_and_bounds_reach_the_fit(folder):
    write_edges(folder / "squares.csv", NAMES, [(i, j, d * d) for i, j, d in short(POINTS)])
    assert locate("squares.csv", "-d", 2, "--squared", "-o", "p.csv", "-q").exit_code == 0
    np.testing.assert_allclose(gaps(read_positions(folder / "p.csv")[1]), gaps(POINTS), rtol=0, atol=EXACT)
    told = json.loads(locate("ranges.csv", "-d", 2, "--sigma", 0.5, "-o", "p.csv", "--json").stdout)
    assert told["sigma"] == pytest.approx(0.5)
    # Two triangles on a common side: the bound says on which side of it the fourth point lies.
    (folder / "kite.csv").write_text("a,b,6\na,c,5\nb,c,5\na,d,5\nb,d,5\n")
    for bounds, expected in (("c,d,7,", 8.0), ("c,d,,1", 0.0)):
        (folder / "bounds.csv").write_text(bounds + "\n")
        done = locate("kite.csv", "-d", 2, "--bounds", "bounds.csv", "-o", "p.csv", "-q")
        assert done.exit_code == 0, done.stderr
        names, found, _ = read_positions(folder / "p.csv")
        assert gaps(found)[names.index("c"), names.index("d")] == pytest.approx(expected, abs=1e-5)


def test_parts_and_loose_points_are_said(folder):
    more = [(50, 51, 3.0), (51, 52, 4.0), (50, 52, 5.0), (0, 53, 30.0)]
    write_edges(folder / "ranges.csv", [*NAMES, "north", "east", "west", "kite"], short(POINTS) + more)
    done = locate("ranges.csv", "--dim", 2, "-o", "p.csv", "--plot", "map.png")
    assert done.exit_code == 0, done.stderr
    assert "2 components between which no distance was seen" in done.stdout
    assert "kite" in done.stdout
    names, _, rows = read_positions(folder / "p.csv")
    assert [row["name"] for row in rows if row["component"] == "1"] == ["north", "east", "west"]
    assert rows[names.index("kite")]["determinacy"] == "no"
    assert rows[names.index("kite")]["standard_error_x"] == "inf"
    assert (folder / "map.png").stat().st_size > 10_000


# --- how it speaks ---------------------------------------------------------------------------------------------


def test_the_report(folder):
    done = locate("ranges.csv", "--dim", 2, "--cutoff", CUTOFF, "-o", "p.csv", "--plot", "map.svg")
    lines = done.stdout.splitlines()
    assert lines[0] == f"50 points in 2 dimensions were sought from {len(short(POINTS))} distances."
    assert lines[-2:] == ["wrote p.csv", "wrote map.svg"]
    assert any("mirror image" in line for line in lines)
    assert any(line.startswith("50 points are determined") for line in lines)


def test_json_is_one_object_and_nothing_else(folder):
    done = locate("ranges.csv", "-d", 2, "--cutoff", CUTOFF, "-o", "p.csv", "--json")
    told = json.loads(done.stdout)
    assert told["converged"] is True
    assert (told["size"], told["dim"], told["determined"]) == (50, 2, 50)
    assert (told["output"], told["plot"], told["warnings"]) == ("p.csv", None, [])
    assert "mirror image" in told["explanation"]
    assert done.stderr == ""


def test_json_names_points_as_the_file_has_them(folder):
    write_edges(folder / "loose.csv", [*NAMES, "bu\x1boy"], [*short(POINTS), (0, 50, 300.0)])
    told = json.loads(locate("loose.csv", "-d", 2, "-o", "p.csv", "--json").stdout)
    assert told["not_determined"] == ["bu\x1boy"]
    assert told["determined"] == 50


def test_quiet_says_nothing(folder):
    done = locate("ranges.csv", "-d", 2, "--cutoff", CUTOFF, "-o", "p.csv", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


def test_plain_lines_without_a_terminal(folder):
    done = subprocess.run(
        [*UNRELU, "locate", "ranges.csv", "-d", "2", "-o", "p.csv", "--start", "paths"],
        capture_output=True, encoding="utf-8", env=PLAIN, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0].startswith("iteration 0: objective ")
    assert "\x1b" not in done.stderr


def test_a_terminal_shows_one_moving_line(folder):
    leader, follower = pty.openpty()
    heard = bytearray()

    def listen():
        while True:
            try:
                heard.extend(os.read(leader, 1024))
            except OSError:
                return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    process = subprocess.run(
        [*UNRELU, "locate", "ranges.csv", "-d", "2", "-o", "p.csv", "--start", "paths"],
        stderr=follower, stdout=subprocess.PIPE, env={**PLAIN, "TERM": "xterm"}, timeout=120,
    )  # fmt: skip
    os.close(follower)
    listener.join(5)
    os.close(leader)
    assert process.returncode == 0
    assert b"placing points" in heard
    assert b"iteration 0: objective" not in heard


def test_not_converged_writes_the_result_says_so_and_exits_with_1(folder):
    arguments = ["ranges.csv", "-d", 2, "-o", "p.csv", "--max-iter", 1, "--start", "paths"]
    done = locate(*arguments)
    assert done.exit_code == 1
    assert "The run ended as " in done.stdout
    assert "The run ended as converged" not in done.stdout
    assert len(read_positions(folder / "p.csv")[0]) == 50
    quiet = locate(*arguments, "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (1, "")
    assert quiet.stderr.startswith("not converged: ")


def test_interrupted_writes_nothing(folder, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(unrelu._old.shell.locate, "complete_distances", interrupted)
    done = locate("ranges.csv", "-d", 2, "-o", "p.csv", "--plot", "map.png")
    assert (done.exit_code, done.stderr) == (130, "interrupted; nothing was written\n")
    assert not (folder / "p.csv").exists()
    assert not (folder / "map.png").exists()


def test_the_same_seed_gives_the_same_file(folder):
    for name in ("a.csv", "b.csv"):
        locate("ranges.csv", "-d", 2, "--cutoff", CUTOFF, "-o", name, "--seed", 5)
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


# --- what it refuses -------------------------------------------------------------------------------------------

BAD = {
    "self.csv": "a,b,3\nb,b,2\n",
    "twice.csv": "a,b,3\na,b,4\n",
    "negative.csv": "a,b,3\na,c,-4\n",
    "crooked.csv": "a,b,c,d,e\n" + "0,1,2,3,4\n1,0,2,3,4\n2,9,0,3,4\n3,3,3,0,4\n4,4,4,4,0\n",
    "rows.csv": "0,1,2,3,4\n1,0,2,3,4\n",
    "others.csv": "name,x,y\ns0,0,0\nstation9,1,1\n",
    "wide.csv": "s0,0,0,0\n",
    "crossing.csv": "s0,s1,5,4\n",
}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["none.csv", "-d", "2", "-o", "p.csv"], "none.csv does not exist; check the name and the folder it is in"),
        (["self.csv", "-d", "2", "-o", "p.csv"], "self.csv, line 2: the distance of 'b' to itself is given as 2"),
        (["twice.csv", "-d", "2", "-o", "p.csv"], "gives the distance of 'a' and 'b' twice, as 3 on line 1 and as 4"),
        (
            ["negative.csv", "-d", "2", "-o", "p.csv"],
            "line 2: the distance of 'a' and 'c' must not be negative, got -4",
        ),
        (["crooked.csv", "-d", "2", "-o", "p.csv"], "must be symmetric, got entries that differ by up to 7, at (b, c)"),
        (["rows.csv", "-d", "2", "-o", "p.csv"], "rows.csv must be square, a row and a column for every point, got 2"),
        (["ranges.csv", "-d", "0", "-o", "p.csv"], "--dim must be at least 1, the number of coordinates of a point"),
        (["ranges.csv", "-d", "2", "-o", "ranges.csv"], "ranges.csv is the input and would be overwritten"),
        (
            ["ranges.csv", "-d", "2", "-o", "anchors.csv", "--anchors", "anchors.csv"],
            "anchors.csv is the input and would",
        ),
        (["ranges.csv", "-d", "2", "-o", "p.xlsx"], "expected the extension .csv, .tsv, .xyz or .pdb, got '.xlsx'"),
        (["ranges.csv", "-d", "2", "-o", "p.pdb"], "p.pdb would hold points of three dimensions, got 2; write them as"),
        (
            ["ranges.csv", "-d", "4", "-o", "p.csv", "--plot", "m.png"],
            "--plot draws up to three dimensions, got --dim 4",
        ),
        (["ranges.csv", "-d", "2", "-o", "p.csv", "--plot", "m.jpg"], "m.jpg must end in .png or .svg or .pdf"),
        (["ranges.csv", "-d", "2", "-o", "p.csv", "--plot", "ranges.csv"], "ranges.csv must end in .png"),
        (["ranges.csv", "-d", "2", "-o", "no/p.csv"], "no/p.csv cannot be written, for there is no folder"),
        (
            ["ranges.csv", "-d", "2", "-o", "p.csv", "--cutoff", "20"],
            "a seen distance must not exceed --cutoff 20, got",
        ),
        (["ranges.csv", "-d", "2", "-o", "p.csv", "--cutoff", "-1"], "cutoff must be a positive number"),
        (
            ["ranges.csv", "-d", "2", "-o", "p.csv", "--sigma", "0"],
            "--sigma must be a positive number, got 0; leave it",
        ),
        (["ranges.csv", "-d", "2", "-o", "p.csv", "--format", "list"], "unknown format 'list'"),
        (
            ["ranges.csv", "-d", "2", "-o", "p.csv", "--anchors", "others.csv"],
            "others.csv, line 3: there is no point 'station9' among the measured ones",
        ),
        (
            ["ranges.csv", "-d", "2", "-o", "p.csv", "--anchors", "wide.csv"],
            "wide.csv, line 1 has 3 coordinates where --dim 2 asks for 2; expected a line 'name, x, y'",
        ),
        (
            ["ranges.csv", "-d", "2", "-o", "p.csv", "--bounds", "crossing.csv"],
            "crossing.csv, line 1: the lower bound 5 of 's0' and 's1' is above the upper one, 4",
        ),
        (["ranges.csv", "-d", "2", "-o", "p.csv", "--start", "path"], "did you mean 'paths'?"),
        (["ranges.csv", "-d", "2", "-o", "p.csv", "--loss", "stress"], "unknown loss 'stress'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(folder, arguments, text):
    for name, content in BAD.items():
        (folder / name).write_text(content)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = locate(*arguments)
    assert done.exit_code == 2, done.stdout
    assert text in done.stderr
    assert re.fullmatch(r"error: [^\n]+\n", done.stderr)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_help_shows_an_example():
    done = subprocess.run([*UNRELU, "locate", "--help"], capture_output=True, encoding="utf-8", env=PLAIN, timeout=60)
    assert "unrelu locate ranges.csv --dim 2 --cutoff 30 -o positions.csv" in done.stdout


# --- wrong distances ---------------------------------------------------------------------------------------------


def test_wrong_distances_are_named_in_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = POINTS[:16]
    edges = short(points, 70.0)
    i, j, d = edges[5]
    edges[5] = i, j, d + 25.0
    names = ["=gate", "b,c", *NAMES[2:]]  # a formula and a delimiter, which files must keep as they are
    write_edges(tmp_path / "ranges.csv", [f'"{name}"' if "," in name else name for name in names], edges)
    command = ["locate", "ranges.csv", "--dim", "2", "--robust", "--outliers-out", "wrong.csv", "-o", "out.csv"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "1 distance contradicts the others and was left out" in done.stdout
    assert "wrote wrong.csv" in done.stdout
    with open(tmp_path / "wrong.csv", encoding="utf-8", newline="") as text:
        (row,) = csv.DictReader(text)
    assert {row["row"], row["column"]} == {names[i], names[j]}
    assert float(row["value"]) == d + 25
    assert float(row["expected"]) == pytest.approx(d, abs=1e-6)
    assert float(row["deviations"]) > 4
    told = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert told["outliers"] == "wrong.csv"
    assert told["distrusted"][0]["value"] == d + 25


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--outliers-out", "wrong.csv"], "--outliers-out needs --robust"),
        (["--robust", "--loss", "squared"], "--robust has a loss of its own"),
        (["--robust", "--outliers-out", "wrong.xlsx"], ".csv or .tsv"),
        (["--robust", "--outliers-out", "out.csv"], "must be two files"),
    ],
)
def test_options_about_wrong_distances_that_do_not_fit_are_refused(folder, options, said):
    done = CliRunner().invoke(app, ["locate", "ranges.csv", "--dim", "2", "-o", "out.csv", *options])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not (folder / "out.csv").exists()
