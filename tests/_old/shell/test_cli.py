"""The shell from end to end: real processes, real files, real signals."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from helpers import listening, relu_instance
from unrelu._old.io.files import read_matrix, write_matrix

UNRELU = [sys.executable, "-m", "unrelu"]
# Rich draws help boxes to the width of the terminal; tests read words, not boxes.
PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


def unrelu(*arguments, cwd, **options):
    return subprocess.run(
        [*UNRELU, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        env=PLAIN,
        timeout=120,
        **options,
    )


@pytest.fixture
def folder(tmp_path):
    M, X = relu_instance(60, 3)
    write_matrix(tmp_path / "observed.csv", X)
    write_matrix(tmp_path / "truth.npy", M)
    return tmp_path


@pytest.mark.parametrize("extension", ["csv", "tsv", "npy", "npz", "mtx"])
def test_completes_every_format(folder, extension):
    M, X = relu_instance(60, 3)
    write_matrix(folder / f"in.{extension}", X)
    done = unrelu(
        "complete",
        f"in.{extension}",
        "--rank",
        3,
        "-o",
        f"out.{extension}",
        "--truth",
        "truth.npy",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "the data are fitted to rounding" in done.stdout
    assert f"wrote out.{extension}" in done.stdout
    assert "completion error against the truth" in done.stdout
    result = read_matrix(folder / f"out.{extension}").values
    np.testing.assert_allclose(result, M, atol=1e-7)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(result[seen], X[seen])


def test_labels_are_kept(folder):
    _, X = relu_instance(60, 3)
    names = [f"station {k}" for k in range(60)]
    write_matrix(folder / "named.csv", X, rows=names, columns=names)
    done = unrelu("complete", "named.csv", "-r", 3, "-o", "out.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    table = read_matrix(folder / "out.csv")
    assert table.rows == table.columns == tuple(names)


def test_header_alone_is_kept_alone(folder):
    _, X = relu_instance(20, 2)
    names = [f"s{k}" for k in range(20)]
    write_matrix(folder / "named.csv", X, columns=names)
    assert unrelu("complete", "named.csv", "-r", 2, "-o", "out.csv", cwd=folder).returncode == 0
    assert (folder / "out.csv").read_text().splitlines()[0] == ",".join(names)
    assert read_matrix(folder / "out.csv").rows is None


def test_labels_must_agree(folder):
    (folder / "named.csv").write_text(",a,b\nb,1,2\na,2,4\n")
    done = unrelu("complete", "named.csv", "-r", 1, "-o", "out.csv", cwd=folder)
    assert done.returncode == 2
    assert (
        "must carry the same labels in the same order, but label 1 is 'b' for the row and 'a' for the column"
        in done.stderr
    )


def test_json_is_one_object_and_nothing_else(folder):
    done = unrelu("complete", "observed.csv", "-r", 3, "-o", "out.csv", "--json", "--truth", "truth.npy", cwd=folder)
    summary = json.loads(done.stdout)
    assert summary["converged"] is True
    assert summary["rank"] == 3
    assert summary["error"] < 1e-8
    assert summary["output"] == "out.csv"
    assert done.stderr == ""


def test_quiet_says_nothing(folder):
    done = unrelu("complete", "observed.csv", "-r", 3, "-o", "out.csv", "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_plain_lines_without_a_terminal(folder):
    done = unrelu("complete", "observed.csv", "-r", 3, "-o", "out.csv", "--method", "gradient-descent", cwd=folder)
    lines = done.stderr.splitlines()
    assert lines[0].startswith("iteration 0: objective ")
    assert lines[1].startswith("iteration 10: ")
    assert "\x1b" not in done.stderr


def test_a_bar_on_a_terminal(folder):
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
        [*UNRELU, "complete", "observed.csv", "-r", "3", "-o", "out.csv", "--method", "gradient-descent"],
        cwd=folder, stderr=follower, stdout=subprocess.PIPE, env={**PLAIN, "TERM": "xterm"}, timeout=120,
    )  # fmt: skip
    os.close(follower)
    listener.join(5)
    os.close(leader)
    assert process.returncode == 0
    assert b"completing" in heard
    assert b"iteration" in heard


def test_the_fit_instead_of_the_filled_matrix(folder):
    _M, X = relu_instance(60, 3, sigma=0.1)
    write_matrix(folder / "noisy.npy", X)
    for option, same in ((), True), (("--fit",), False):
        assert unrelu("complete", "noisy.npy", "-r", 3, "-o", "out.npy", *option, cwd=folder).returncode == 0
        seen = ~np.isnan(X)
        assert np.array_equal(np.load(folder / "out.npy")[seen], X[seen]) is same


def test_not_converged_writes_the_result_says_so_and_exits_with_1(folder):
    done = unrelu(
        "complete", "observed.csv", "-r", 3, "-o", "out.csv", "--max-iter", 1, "--start", "tailored", cwd=folder
    )
    assert done.returncode == 1
    assert "not converged after 1 iteration" in done.stdout
    assert read_matrix(folder / "out.csv").values.shape == (60, 60)
    quiet = unrelu(
        "complete",
        "observed.csv",
        "-r",
        3,
        "-o",
        "out.csv",
        "--max-iter",
        1,
        "--start",
        "tailored",
        "--quiet",
        cwd=folder,
    )
    assert quiet.returncode == 1
    assert "not converged" in quiet.stderr


def test_missing_marker_threshold_side_and_unknown(folder):
    M, _ = relu_instance(60, 3)
    X = np.where(M <= 0.5, M, -999)
    unknown = np.zeros((60, 60))
    unknown[3, 4] = unknown[4, 3] = 1
    X[3, 4] = X[4, 3] = -999
    write_matrix(folder / "marked.csv", X)
    write_matrix(folder / "unknown.csv", unknown)
    done = unrelu(
        "complete", "marked.csv", "-r", 3, "-o", "out.npy", "--missing", "-999", "--threshold", 0.5, "--seen", "below",
        "--unknown", "unknown.csv", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(folder / "out.npy"), M, atol=1e-6)


def test_warning_of_a_row_with_nothing_seen(folder):
    _, X = relu_instance(30, 2)
    X[4], X[:, 4] = np.nan, np.nan
    write_matrix(folder / "gap.csv", X)
    done = unrelu("complete", "gap.csv", "-r", 2, "-o", "out.csv", cwd=folder)
    assert done.returncode == 0
    assert "warning: nothing was seen of row 4; " in done.stderr
    as_json = unrelu("complete", "gap.csv", "-r", 2, "-o", "out.csv", "--json", cwd=folder)
    assert "row 4" in json.loads(as_json.stdout)["warnings"][0]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["none.csv", "-r", "3", "-o", "out.csv"], "none.csv does not exist; check the name and the folder it is in"),
        (
            ["observed.csv", "-r", "0", "-o", "out.csv"],
            "error: --rank must be between 1 and 60, the size of the matrix; got 0",
        ),
        (
            ["observed.csv", "-r", "3", "-o", "observed.csv"],
            "observed.csv is the input and would be overwritten; choose another name",
        ),
        (
            ["observed.csv", "-r", "3", "-o", "out.xlsx"],
            "expected the extension .csv, .tsv, .npy, .npz or .mtx, got '.xlsx'",
        ),
        (["observed.csv", "-r", "3", "-o", "no/such/out.csv"], "cannot be written, for there is no folder"),
        (["observed.csv", "-r", "3", "-o", "."], "error: . has no known format"),
        (["ragged.csv", "-r", "1", "-o", "out.csv"], "ragged.csv, line 2 has 1 cell where 2 were expected"),
        (["half.npy", "-r", "1", "-o", "out.csv"], "half.npy is cut short or damaged; write it again"),
        (["pickled.npy", "-r", "1", "-o", "out.csv"], "holds pickled Python objects, which can run code"),
        (["observed.csv", "-r", "3", "-o", "out.csv", "--method", "newton"], "did you mean 'gauss-newton'?"),
        (
            ["observed.csv", "-r", "3", "-o", "out.csv", "--threshold", "1"],
            "every seen entry must be ≥ --threshold 1",
        ),
        (["observed.csv", "-r", "3", "-o", "out.csv", "--unknown", "observed.csv"], "must hold only 0 and 1"),
        (["observed.csv", "-r", "3", "-o", "out.csv", "--threshold", "1", "--no-threshold"], "contradict each other"),
        (["wide.csv", "-r", "1", "-o", "out.csv"], "error: wide.csv must be square, got 1 rows and 2 columns"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folder, arguments, text):
    (folder / "ragged.csv").write_text("1,2\n3\n")
    (folder / "wide.csv").write_text("1,2\n")
    (folder / "half.npy").write_bytes((folder / "truth.npy").read_bytes()[:300])
    np.save(folder / "pickled.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    before = sorted(path.name for path in folder.iterdir())
    content = (folder / "observed.csv").read_bytes()
    done = unrelu("complete", *arguments, cwd=folder)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("iteration")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert text in lines[0]
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "observed.csv").read_bytes() == content


@pytest.mark.parametrize(
    "arguments", [["complete"], ["complete", "observed.csv"], ["nonsense"], ["complete", "x", "--rank", "a"]]
)
def test_bad_usage_exits_with_2(folder, arguments):
    assert unrelu(*arguments, cwd=folder).returncode == 2


@pytest.mark.skipif(
    os.geteuid() == 0 and not os.path.exists("/proc/self"), reason="needs a file that even root cannot write"
)
def test_a_target_that_cannot_be_written(folder):
    done = unrelu("complete", "observed.csv", "-r", 3, "-o", "/proc/self/out.csv", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "out.csv" in done.stderr


def test_ctrl_c_writes_nothing_and_exits_with_130(folder):
    _, X = relu_instance(400, 20, sigma=0.5)
    write_matrix(folder / "slow.npy", X)
    (folder / "out.csv").write_text("old")
    process = subprocess.Popen(
        [*UNRELU, "complete", "slow.npy", "-r", "20", "-o", "out.csv", "--method", "gradient-descent", "--tol", "0",
         "--max-iter", "1000000"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=PLAIN, preexec_fn=listening,
    )  # fmt: skip
    assert process.stderr.readline().startswith("iteration 0")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted; nothing was written" in errors
    assert "Traceback" not in errors
    assert (folder / "out.csv").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == [
        "observed.csv",
        "out.csv",
        "slow.npy",
        "truth.npy",
    ]


def test_a_reader_that_leaves_early_is_no_failure(folder):
    command = " ".join([*UNRELU[:1], "-m unrelu complete observed.csv -r 3 -o out.csv | true; exit ${PIPESTATUS[0]}"])
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=PLAIN, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "out.csv").exists()


def test_labels_of_the_truth_must_agree(folder):
    M, X = relu_instance(20, 2)
    names = [f"s{k}" for k in range(20)]
    write_matrix(folder / "x.csv", X, rows=names, columns=names)
    write_matrix(folder / "t.csv", M, rows=names[::-1], columns=names[::-1])
    done = unrelu("complete", "x.csv", "-r", 2, "-o", "out.csv", "--truth", "t.csv", cwd=folder)
    assert done.returncode == 2
    assert "t.csv must carry the same labels in the same order, but differs from label 1 on" in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["complete", "--help"], ["demo", "--help"]])
def test_help_shows_an_example(folder, arguments):
    done = unrelu(*arguments, cwd=folder)
    assert done.returncode == 0
    assert "Example:  unrelu " in done.stdout


def test_version(folder):
    import unrelu as package

    assert unrelu("--version", cwd=folder).stdout.strip() == f"unrelu {package.__version__}"


def test_demo_tells_the_story_and_writes_picture_and_file(folder):
    done = unrelu("demo", "-o", "shown", cwd=folder)
    assert done.returncode == 0, done.stderr
    for word in ("rank        5", "iterations", "errors", "the data are fitted", "completed.png", "completed.csv"):
        assert word in done.stdout
    assert (folder / "shown" / "completed.png").read_bytes().startswith(b"\x89PNG")
    assert read_matrix(folder / "shown" / "completed.csv").values.shape == (200, 200)
    again = unrelu("complete", "shown/observed.csv", "--rank", 5, "-o", "again.csv", cwd=folder)
    assert again.returncode == 0


def test_demo_into_something_that_is_not_a_folder(folder):
    done = unrelu("demo", "-o", "observed.csv", cwd=folder)
    assert done.returncode == 2
    assert "error: cannot make the folder observed.csv" in done.stderr


def short_row(tmp_path, rank=3):
    """A matrix with names of which one row sees less than the rank."""
    M, _ = relu_instance(40, rank)
    X = np.where(M >= 0, M, np.nan)
    others = np.setdiff1d(np.flatnonzero(~np.isnan(X[7])), [7])
    X[7, others[1:]] = X[others[1:], 7] = np.nan
    names = [f"item{i}" for i in range(40)]
    lines = [",".join(["", *names])]
    lines += [
        ",".join([name, *("" if np.isnan(v) else repr(float(v)) for v in row)])
        for name, row in zip(names, X, strict=True)
    ]
    path = tmp_path / "short.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, X


def test_entries_that_are_not_determined_are_left_empty_and_listed(tmp_path):
    path, X = short_row(tmp_path)
    out, mask = tmp_path / "out.csv", tmp_path / "mask.csv"
    result = unrelu("complete", path, "--rank", 3, "--no-threshold", "-o", out, "--mask-out", mask, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "not determined by the data: row item7; their unseen entries are left empty" in result.stdout
    values, known = read_matrix(out).values, read_matrix(mask).values
    assert np.array_equal(np.isnan(values), known == 0)
    assert set(mask.read_text().splitlines()[8].split(",")[1:]) == {"0", "1"}
    assert np.array_equal(known[7] == 1, ~np.isnan(X[7]))
    assert (np.delete(np.delete(known, 7, 0), 7, 1) == 1).all()
    kept = unrelu("complete", path, "--rank", 3, "--no-threshold", "-o", out, "--keep-undetermined", cwd=tmp_path)
    assert "are kept" in kept.stdout
    assert not np.isnan(read_matrix(out).values).any()


def test_json_names_rows_by_their_labels_as_the_file_has_them(tmp_path):
    path, _ = short_row(tmp_path)
    path.write_text(path.read_text().replace("item7", "it\x1b[31mem"))
    options = (path, "--rank", 3, "--no-threshold", "--json")
    about = json.loads(unrelu("complete", *options, "-o", "out.csv", cwd=tmp_path).stdout)
    assert about["undetermined_rows"] == about["not_determined"] == ["it\x1b[31mem"]
    assert about["largest_misfit"]["row"].startswith("it")
    proof = json.loads(unrelu("certify", *options, cwd=tmp_path).stdout)
    assert proof["not_determined"] == ["it\x1b[31mem"]
    assert [len(group) for group in proof["groups"]] == [39]
    assert proof["groups"][0][:2] == ["item0", "item1"]


def test_rows_that_cannot_be_placed_are_warned_of_in_words_for_a_terminal(tmp_path):
    path, _ = short_row(tmp_path)
    command = "complete", path, "--rank", 3, "--no-threshold", "-o", "out.csv"
    fact = "too little was seen to place row item7; what the data do not determine is "
    left = f"{fact}left empty (--keep-undetermined writes it); --mask-out FILE shows where"
    assert f"warning: {left}\n" in unrelu(*command, "--quiet", cwd=tmp_path).stderr
    assert json.loads(unrelu(*command, "--json", cwd=tmp_path).stdout)["warnings"] == [left]
    kept = unrelu(*command, "--quiet", "--keep-undetermined", "--mask-out", "mask.csv", cwd=tmp_path)
    assert f"warning: {fact}written all the same; mask.csv has 0 there\n" in kept.stderr
    compared = unrelu("compare", path, "-r", 3, "--no-threshold", "--methods", "gauss-newton", "-q", cwd=tmp_path)
    assert compared.stderr == "warning: too little was seen to place row item7\n"


def test_outputs_must_be_different_files(tmp_path):
    path, _ = short_row(tmp_path)
    out = tmp_path / "out.csv"
    result = unrelu("complete", path, "--rank", 3, "-o", out, "--mask-out", out, cwd=tmp_path)
    assert result.returncode == 2
    assert f"--output and --mask-out must be two files, got {out} for both" in result.stderr


def test_certify_explains_by_name(tmp_path):
    path, _ = short_row(tmp_path)
    result = unrelu("certify", path, "--rank", 3, "--no-threshold", cwd=tmp_path)
    assert result.returncode == 1
    assert "row item7 could not be attached to the others" in result.stdout
    assert "Row item7 sees 1 entry of determined rows; rank 3 needs 3 (ask for its entries with item" in result.stdout
    whole = tmp_path / "whole.csv"
    np.savetxt(whole, relu_instance(40, 3)[1], delimiter=",", fmt="%.17g")
    result = unrelu("certify", whole, "--rank", 3, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert result.stdout.startswith("Proved: exactly one matrix of rank at most 3 agrees with the seen entries")
    about = json.loads(unrelu("certify", whole, "--rank", 3, "--json", cwd=tmp_path).stdout)
    assert about["unique"] is True
    assert about["kind"] == "direct"


def test_certify_takes_the_last_printed_digit_as_the_error(tmp_path):
    path = tmp_path / "rounded.csv"
    np.savetxt(path, relu_instance(60, 2)[1], delimiter=",", fmt="%.6f")
    result = unrelu("certify", path, "--rank", 2, cwd=tmp_path)
    assert "entries are taken to be right to 5e-07, half the last printed digit" in result.stderr
    assert "Proved" in result.stdout
