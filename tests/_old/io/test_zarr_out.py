"""Zarr folders: whole or absent, in chunks of a few megabytes; and what is said of those that cannot be read."""

import json
import os

import numpy as np
import pytest

from unrelu import InputError
from unrelu._old.io import zarr_out
from unrelu._old.io.disk import replacing, together
from unrelu._old.io.opened import is_zarr, open_npy, open_zarr
from unrelu._old.io.zarr_out import Grid, check_zarr, grid_of, write_blocks, write_zarr

zarr = pytest.importorskip("zarr", minversion="3")


def matrix(m=50, n=30, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal((m, n)).astype(dtype)


@pytest.fixture
def small(monkeypatch):
    """Several chunks of matrices that take no time."""
    monkeypatch.setattr(zarr_out, "CHUNK", 16)


# --- what is written --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_comes_back_as_it_was(tmp_path, small, dtype):
    X = matrix(dtype=dtype)
    X[:16, :16] = np.nan  # a whole chunk of nothing is no missing chunk
    write_zarr(tmp_path / "x.zarr", X)
    found = open_zarr(tmp_path / "x.zarr")
    assert (found.dtype, found.shape, found.chunks) == (dtype, (50, 30), (16, 16))
    assert found.nchunks == found.nchunks_initialized == 8
    np.testing.assert_array_equal(found[...], X)
    assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"]


def test_chunks_are_a_few_megabytes(tmp_path):
    assert zarr_out.CHUNK == 1024
    write_zarr(tmp_path / "x.zarr", np.ones((1100, 3)))
    assert open_zarr(tmp_path / "x.zarr").chunks == (1024, 3)


@pytest.mark.parametrize(
    ("length", "given", "chunk", "tile"),
    [
        (10, None, 10, 1024),
        (5000, None, 1024, 1024),
        (5000, 1000, 1000, 1000),
        (5000, 100, 1000, 1000),
        (5000, 700, 700, 700),
        (5000, 4000, 1000, 4000),
        (9000, 2053, 2053, 2053),  # a prime number is not cut
        (5000, 9000, 1024, 1024),  # one chunk for all of it is no grid
    ],
)
def test_the_grid_goes_along_that_of_the_input(length, given, chunk, tile):
    grid = grid_of(length, given)
    assert (grid.chunk, grid.tile) == (chunk, tile)
    assert tile % chunk == 0 or chunk == length
    assert [part.start for part in grid.pieces] == list(range(0, length, tile))
    assert grid.pieces[-1].stop == length


def test_blocks_that_leave_something_out_are_a_mistake_and_leave_nothing(tmp_path):
    grids = Grid(4, 2, 2), Grid(4, 2, 2)
    with pytest.raises(ValueError, match="must cover all 4×4 entries once, and miss them by 12"):
        write_blocks(tmp_path / "x.zarr", grids, np.float64, [(slice(0, 2), slice(0, 2), np.ones((2, 2)))])
    assert list(tmp_path.iterdir()) == []


# --- whole or absent --------------------------------------------------------------------------------------------------


def stopped(X, error):
    """Blocks that end too early."""
    yield slice(0, 16), slice(0, 16), X[:16, :16]
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("old", [False, True])
def test_what_is_not_whole_is_absent_and_the_old_one_stays(tmp_path, small, error, old):
    X, target = matrix(), tmp_path / "x.zarr"
    if old:
        write_zarr(target, X)
    with pytest.raises(InputError if isinstance(error, OSError) else type(error)) as raised:
        write_blocks(target, (grid_of(50), grid_of(30)), X.dtype, stopped(-X, error))
    if isinstance(error, OSError):
        assert str(raised.value) == (
            f"{target} cannot be written: No space left on device; free some space or choose another disk"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"] * old
    if old:
        np.testing.assert_array_equal(open_zarr(target)[...], X)


def test_nothing_is_seen_of_it_before_it_is_whole(tmp_path, small):
    X, target = matrix(), tmp_path / "x.zarr"
    seen = []

    def blocks():
        for i in grid_of(50).pieces:
            for j in grid_of(30).pieces:
                seen.append((target.exists(), [path.name[0] for path in tmp_path.iterdir()]))
                yield i, j, X[i, j]

    write_blocks(target, (grid_of(50), grid_of(30)), X.dtype, blocks())
    assert set(map(str, seen)) == {"(False, ['.'])"}
    assert target.exists()


def test_an_array_that_is_there_is_replaced(tmp_path, small):
    target = tmp_path / "x.zarr"
    write_zarr(target, matrix())
    (target / "c" / "99").mkdir()  # of the old one nothing stays
    write_zarr(target, matrix(5, 4))
    assert open_zarr(target).shape == (5, 4)
    assert not (target / "c" / "99").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"]


def test_of_a_link_the_target_is_replaced(tmp_path):
    write_zarr(tmp_path / "x.zarr", matrix())
    (tmp_path / "link.zarr").symlink_to(tmp_path / "x.zarr")
    write_zarr(tmp_path / "link.zarr", matrix(5, 4))
    assert (tmp_path / "link.zarr").is_symlink()
    assert open_zarr(tmp_path / "x.zarr").shape == (5, 4)


def test_a_move_that_fails_brings_the_old_one_back(tmp_path, monkeypatch):
    target, replace, aside = tmp_path / "x.zarr", os.replace, []
    write_zarr(target, matrix())

    def failing(source, to):
        if to == target and len(aside) == 1:
            aside.append(source)
            raise OSError(5, "Input/output error")
        aside.extend([source] if source == target else [])
        replace(source, to)

    monkeypatch.setattr(zarr_out.os, "replace", failing)
    with pytest.raises(InputError, match="cannot be written: Input/output error"):
        write_zarr(target, matrix(5, 4))
    monkeypatch.undo()
    assert open_zarr(target).shape == (50, 30)
    assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"]


def test_it_is_moved_together_with_other_files(tmp_path):
    with together():
        write_zarr(tmp_path / "x.zarr", matrix())
        with replacing(tmp_path / "b.txt") as file:
            file.write_text("b")
        assert not (tmp_path / "x.zarr").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.txt", "x.zarr"]


def test_it_stays_away_together_with_other_files(tmp_path):
    def both():
        with together():
            write_zarr(tmp_path / "x.zarr", matrix())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        both()
    assert list(tmp_path.iterdir()) == []


# --- what is refused before the work starts ---------------------------------------------------------------------------


def there(folder):
    """A zarr group, another folder, and a file."""
    zarr.create_group(folder / "group.zarr").create_array("m", shape=(2, 2), dtype="f8")
    zarr.create_array(folder / "one.zarr", shape=(2, 2), dtype="f8")
    (folder / "one.zarr" / "m").mkdir()
    (folder / "one.zarr" / "m" / "zarr.json").touch()
    (folder / "other.zarr").mkdir()
    (folder / "other.zarr" / "notes.txt").touch()
    (folder / "file.zarr").touch()
    (folder / "empty.zarr").mkdir()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no/such/x.zarr", "cannot be written, for there is no folder"),
        ("file.zarr", "is a file where a zarr folder is to be written; choose another name"),
        ("other.zarr", "is a folder that holds something else than one zarr array, and would be lost"),
        ("group.zarr", "is a folder that holds something else than one zarr array, and would be lost"),
        ("one.zarr", "is a folder that holds something else than one zarr array, and would be lost"),
    ],
)
def test_a_folder_that_may_not_be_written(tmp_path, name, text):
    there(tmp_path)
    before = sorted(map(str, tmp_path.rglob("*")))
    with pytest.raises(InputError, match=text):
        check_zarr(tmp_path / name)
    with pytest.raises(InputError, match=text):
        write_zarr(tmp_path / name, np.ones((2, 2)))
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_an_empty_folder_may_be_written_and_the_input_may_not(tmp_path):
    there(tmp_path)
    check_zarr(tmp_path / "empty.zarr")
    write_zarr(tmp_path / "empty.zarr", np.ones((2, 2)))
    (tmp_path / "link.zarr").symlink_to(tmp_path / "empty.zarr")
    with pytest.raises(InputError, match=r"link.zarr is the input and would be overwritten"):
        check_zarr(tmp_path / "link.zarr", inputs=[tmp_path / "empty.zarr"])


def test_zarr_that_is_not_installed_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    with pytest.raises(InputError, match=r"needs the package zarr, .* pip install 'unrelu\[zarr\]'"):
        check_zarr(tmp_path / "x.zarr")


# --- what cannot be read ----------------------------------------------------------------------------------------------


def damaged(folder):
    """Folders that are no whole arrays, each in its own way."""
    write_zarr(folder / "lacking.zarr", np.ones((1100, 1100)))
    (folder / "lacking.zarr" / "c" / "1" / "0").unlink()
    write_zarr(folder / "torn.zarr", np.ones((4, 4)))
    (folder / "torn.zarr" / "zarr.json").write_text((folder / "torn.zarr" / "zarr.json").read_text()[:60])
    write_zarr(folder / "odd.zarr", np.ones((4, 4)))
    about = json.loads((folder / "odd.zarr" / "zarr.json").read_text())
    del about["shape"]
    (folder / "odd.zarr" / "zarr.json").write_text(json.dumps(about))
    (folder / "bare.zarr" / "c").mkdir(parents=True)
    (folder / "file.zarr").write_text("x")
    zarr.create_group(folder / "group.zarr").create_array("inside", shape=(2, 2), dtype="f8")
    zarr.create_group(folder / "old.zarr", zarr_format=2).create_array("inside", shape=(2, 2), dtype="f8")
    for name, shape, dtype in (("line", (4,), "f8"), ("nothing", (0, 4), "f8"), ("words", (2, 2), "U3")):
        zarr.create_array(folder / f"{name}.zarr", shape=shape, dtype=dtype)


@pytest.mark.filterwarnings("ignore:The data type")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("none", r"none.zarr does not exist; check the name and the folder it is in"),
        ("file", r"file.zarr is a file where a zarr folder was expected; unpack it, or name the folder"),
        ("bare", r"bare.zarr is a folder without a zarr array in it \(neither zarr.json nor .zarray\); it may be half"),
        (
            "torn",
            r"torn.zarr is a zarr array whose description cannot be read \(.+\); it may be half written, so write",
        ),
        ("odd", r"odd.zarr is a zarr array whose description cannot be read \(.+\); it may be half written, so write"),
        ("lacking", r"lacking.zarr lacks 1 of its 4 chunks, as an array does that is half written; write it again or"),
        ("group", r"group.zarr is a zarr group and no array; name an array in it, as .*group.zarr/inside"),
        ("old", r"old.zarr is a zarr group and no array; name an array in it, as .*old.zarr/inside"),
        ("line", r"line.zarr holds an array of shape 4; expected a matrix, with two dimensions"),
        ("nothing", r"nothing.zarr holds an empty matrix \(0×4\); expected at least one row and one column"),
        ("words", r"words.zarr holds values of type .*; expected real numbers, so save it as float64"),
    ],
)
def test_a_folder_that_is_no_array_is_one_sentence(tmp_path, name, text):
    damaged(tmp_path)
    with pytest.raises(InputError, match=text) as raised:
        open_zarr(tmp_path / f"{name}.zarr")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("version", [2, 3])
def test_both_formats_are_read_whatever_the_folder_is_called(tmp_path, version):
    array = zarr.create_array(tmp_path / "inside", shape=(3, 2), dtype="f4", zarr_format=version)
    array[:] = 1.5
    assert is_zarr(tmp_path / "inside")
    assert not is_zarr(tmp_path)
    assert is_zarr(tmp_path / "not there.ZARR")
    np.testing.assert_array_equal(open_zarr(tmp_path / "inside")[...], np.full((3, 2), 1.5))


def test_a_npy_file_is_mapped_as_it_lies_there(tmp_path):
    X = matrix()
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    for name in ("rows", "columns"):
        mapped = open_npy(tmp_path / f"{name}.npy")
        assert isinstance(mapped, np.memmap)
        np.testing.assert_array_equal(mapped, X)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "short",
            r"short.npy is cut short: its header promises 50×30 numbers in 12128 bytes, and it has 12127; write",
        ),
        (
            "header",
            r"header.npy is not a NumPy file, whatever its name says, or is cut short; write it with numpy.save",
        ),
        ("text", r"text.npy is not a NumPy file, whatever its name says"),
        ("line", r"line.npy holds an array of shape \(4,\); expected a matrix"),
        ("none", r"none.npy does not exist"),
        ("objects", r"objects.npy holds values of type object; expected real numbers"),
    ],
)
def test_a_npy_file_that_cannot_be_mapped_is_one_sentence(tmp_path, name, text):
    np.save(tmp_path / "whole.npy", matrix())
    content = (tmp_path / "whole.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(content[:-1])
    (tmp_path / "header.npy").write_bytes(content[:50])
    (tmp_path / "text.npy").write_text("1,2\n3,4\n")
    np.save(tmp_path / "line.npy", np.ones(4))
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=text):
        open_npy(tmp_path / f"{name}.npy")
