"""PDB and mmCIF files as points."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
from molecules import CIF_HEAD, atom, chain, cif, pdb

from unrelu import InputError
from unrelu._old.io.positions import write_positions
from unrelu._old.io.structures import read_structure

pytest.importorskip("gemmi")

PLACES = chain(12)


def written(folder, name, text):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.pdb", "a.ent", "a.pdb.gz", "a.cif", "a.mmcif", "a.cif.gz"])
def test_every_format_gives_the_same_points(tmp_path, name):
    text = (pdb if "cif" not in name else cif)(PLACES, chain="B", first=7)
    found = read_structure(written(tmp_path, name, text))
    assert found.names[:2] == ("B:7:GLY", "B:8:LEU")
    assert len(found.names) == 12
    np.testing.assert_array_equal(found.positions, PLACES)
    assert found.left_out == ()


@pytest.mark.parametrize(("name", "text"), [("a.pdb", cif(PLACES)), ("a.cif", pdb(PLACES))])
def test_what_is_in_the_file_counts_not_its_name(tmp_path, name, text):
    np.testing.assert_array_equal(read_structure(written(tmp_path, name, text)).positions, PLACES)


def test_first_model_first_place_and_no_ions_ligands_or_water(tmp_path):
    text = (
        "MODEL        1\n"
        + atom(1, "N", "SER", "A", 1, (1, 0, 0), element="N")
        + atom(2, "CA", "SER", "A", 1, (2, 0, 0), alternate="A")
        + atom(3, "CA", "SER", "A", 1, (9, 9, 9), alternate="B")
        + atom(4, "CA", "LEU", "A", 1, (3, 0, 0), insertion="B")
        + atom(5, "CA", "GLY", "A", 2, (4, 0, 0), alternate="A")  # two residues that share a number
        + atom(6, "CA", "ALA", "A", 2, (8, 8, 8), alternate="B")
        + atom(7, "N", "ALA", "A", 3, (5, 0, 0), element="N")
        + atom(8, "C", "ALA", "A", 3, (5, 1, 0))
        + atom(9, "CA", "MSE", "A", 4, (6, 0, 0), het=True)
        + atom(10, "CA", " CA", "A", 90, (7, 7, 7), het=True, element="CA")  # calcium
        + atom(11, "CA", "PLM", "A", 91, (7, 8, 7), het=True)  # a carbon of a fatty acid
        + atom(12, "CB", "PLM", "A", 91, (7, 9, 7), het=True)
        + atom(13, "O", "HOH", "A", 92, (0, 0, 0), het=True, element="O")
        + "ENDMDL\nMODEL        2\n"
        + atom(1, "CA", "SER", "A", 1, (50, 0, 0))
        + "ENDMDL\nEND\n"
    )
    path = written(tmp_path, "a.pdb", text)
    found = read_structure(path)
    assert found.names == ("A:1:SER", "A:1B:LEU", "A:2:GLY", "A:4:MSE")
    np.testing.assert_array_equal(found.positions[:, 0], [2, 3, 4, 6])
    assert found.left_out == ("A:3:ALA", "A:91:PLM")
    assert found.models == 2
    assert read_structure(path, model=2).positions.tolist() == [[50, 0, 0]]
    both = read_structure(path, "N,CA")
    assert both.names[:3] == ("A:1:SER:N", "A:1:SER:CA", "A:1B:LEU:CA")
    heavy = read_structure(path, "heavy")
    assert len(heavy.names) == 10
    assert "A:92:HOH:O" not in heavy.names


def test_chains_are_chosen_and_a_nameless_one_has_a_name(tmp_path):
    parts = [pdb(PLACES[:4], "A"), pdb(PLACES[4:8], "B"), pdb(PLACES[8:], " ")]
    path = written(tmp_path, "a.pdb", "".join(part.removesuffix("END\n") for part in parts) + "END\n")
    assert len(read_structure(path).names) == 12
    np.testing.assert_array_equal(read_structure(path, chains="B").positions, PLACES[4:8])
    assert read_structure(path, chains=["_", "A"]).names[-1] == "_:4:ALA"
    with pytest.raises(InputError, match="holds no chain 'C'; there are A, B, _"):
        read_structure(path, chains="A,C")


def test_distances_within_a_cutoff(tmp_path):
    found = read_structure(written(tmp_path, "a.pdb", pdb(PLACES))).within(8.0)
    apart = np.linalg.norm(PLACES[:, None] - PLACES, axis=2)
    assert sorted(map(tuple, found.pairs.tolist())) == list(zip(*np.nonzero(np.triu(apart <= 8, 1)), strict=True))
    np.testing.assert_allclose(found.distances, apart[found.pairs[:, 0], found.pairs[:, 1]], rtol=1e-14)


def test_what_was_written_is_read_again(tmp_path):
    names = ("A:-3:GLY", "A:17B:LEU", "_:4:DT")
    write_positions(tmp_path / "a.pdb", PLACES[:3], names=names)
    again = read_structure(tmp_path / "a.pdb")
    assert again.names == names
    np.testing.assert_array_equal(again.positions, PLACES[:3])
    write_positions(tmp_path / "b.pdb", PLACES[:2], names=("A:1:GLY:N", "A:1:GLY:CA"))
    assert read_structure(tmp_path / "b.pdb", "heavy").names == ("A:1:GLY:N", "A:1:GLY:CA")


LINES = pdb(PLACES)
DAMAGED = {
    "letters.pdb": (LINES.replace(f"{PLACES[1, 1]:8.3f}", "  xx.134", 1), r"letters.pdb, line 2: .*y of an atom.*'xx"),
    "short.pdb": ("".join(LINES.splitlines(keepends=True)[:2]) + LINES.splitlines()[2][:52], "line 3: .*coordinate z"),
    "infinite.pdb": (LINES.replace(f"{PLACES[1, 1]:8.3f}", "     inf", 1), "line 2: .*got 'inf'"),
    "none.pdb": ("HEADER    NOTHING\nEND\n", "none.pdb holds no atoms"),
    "words.pdb": ("hello\n", "words.pdb holds no atoms"),
    "empty.pdb": ("", "empty.pdb is empty"),
    "binary.pdb": ("ATOM\0\0", "binary.pdb is no text"),
    "loop.cif": (cif(PLACES).replace(" 1\n#", "\n#"), r"loop.cif, line \d+ is damaged: Wrong number of values in loop"),
    "question.cif": (cif(PLACES).replace(f" {PLACES[2, 2]:.3f} ", " ? ", 1), "atom CA of A:3:SER .* no number"),
    "head.cif": (CIF_HEAD, "head.cif"),
    "other.cif": ("data_x\n_cell.length_a 3\n", "other.cif holds no atoms"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_one_sentence(tmp_path, name):
    text, said = DAMAGED[name]
    with pytest.raises(InputError, match=said) as error:
        read_structure(written(tmp_path, name, text))
    assert "\n" not in str(error.value)


def test_what_is_not_there_is_said(tmp_path):
    path = written(tmp_path, "a.pdb", LINES)
    for options, said in (
        ({"atoms": "CB"}, "none of 12 residues has CB; they are called CA"),
        ({"model": 2}, "holds 1 model, got model 2"),
        ({"model": 0}, "model must be an integer of at least 1"),
        ({"atoms": ","}, "atoms must be names"),
    ):
        with pytest.raises(InputError, match=said):
            read_structure(path, **options)
    (tmp_path / "a.cif.gz").write_bytes(gzip.compress(cif(PLACES).encode())[:-20])
    with pytest.raises(InputError, match="no gzip file or is cut short"):
        read_structure(tmp_path / "a.cif.gz")
    with pytest.raises(InputError, match="cutoff must be a positive number"):
        read_structure(path).within(0)


def test_without_gemmi_one_sentence_says_what_to_install(tmp_path):
    path = written(tmp_path, "a.pdb", LINES)
    code = (
        "import sys; sys.modules['gemmi'] = None\n"
        "from unrelu._old.io.structures import read_structure\n"
        f"try: read_structure({str(path)!r})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("InputError ")
    assert "pip install 'unrelu[structures]'" in done.stdout
