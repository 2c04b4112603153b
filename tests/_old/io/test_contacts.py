"""Contact lists as bounds."""

import pytest

from unrelu import InputError
from unrelu._old.io.contacts import Contacts, are_contacts, read_contacts
from unrelu._old.io.measurements import Measurements

CASP = """PFRMAT RR
TARGET T0001
AUTHOR 1234-5678-9000
REMARK none
METHOD made up
MODEL  1
ENDGLSTW
MODELAKY
1 8 0 8 0.72
1 10 0 8 0.70
10 31 4 8 0.55
31 1 0 8 0.10
END
"""


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def edges(found):
    return [] if found is None else list(zip(map(tuple, found.pairs.tolist()), found.distances.tolist(), strict=True))


@pytest.mark.parametrize("name", ["a.rr", "a.txt"])
def test_casp(tmp_path, name):
    found = read_contacts(written(tmp_path, name, CASP))
    assert found.names == ("1", "8", "10", "31")
    assert edges(found.upper) == [((0, 1), 8.0), ((0, 2), 8.0), ((2, 3), 8.0)]
    # At most 8 and at least 4; and of an improbable pair nothing.
    assert edges(found.lower) == [((2, 3), 4.0), ((0, 3), 0.0)]
    assert found.cutoff is None
    assert found.words == (
        "3 contacts: pairs closer than 8, at unknown distances (1 less probable than 0.5 left out); of other pairs "
        "nothing is said",
    )
    assert len(read_contacts(tmp_path / name, probability=0.05).upper.pairs) == 4
    assert read_contacts(tmp_path / name, cutoff=8.0).cutoff == 8.0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "7 3\n3 12\n"),
        ("a.txt", "# near\ni j\n7\t3\n3  12\n"),
        ("a.csv", "i,j\n7,3\n3,12\n"),
        ("a.csv", "7,3\n3,12\n3,7\n12,3\n"),
        ("a.tsv", "source\ttarget\n7\t3\n3\t12\n"),
    ],
)
def test_two_columns_are_a_contact_map(tmp_path, name, text):
    path = written(tmp_path, name, text)
    assert are_contacts(path)
    found = read_contacts(path, cutoff=8.0)
    assert found.names == ("3", "7", "12")
    assert edges(found.upper) == [((0, 1), 8.0), ((0, 2), 8.0)]
    assert (found.lower, found.cutoff) == (None, 8.0)
    assert len(found.data.pairs) == 0
    with pytest.raises(InputError, match="but not how near that is; say it as --cutoff"):
        read_contacts(path)


def test_probabilities_say_nothing_of_pairs_that_are_not_listed(tmp_path):
    path = written(tmp_path, "a.csv", "i,j,probability\na,b,0.9\nb,c,0.4\n")
    assert are_contacts(path)
    found = read_contacts(path, cutoff=8.0)
    assert (edges(found.upper), edges(found.lower), found.cutoff) == ([((0, 1), 8.0)], [((1, 2), 0.0)], None)


def test_a_contact_exactly_as_probable_as_asked_for_is_kept(tmp_path):
    path = tmp_path / "p.txt"
    path.write_text("a b 0.7\na c 0.69\n")
    found = read_contacts(path, cutoff=8, probability=0.7, layout="contacts")
    assert found.upper.pairs.tolist() == [[0, 1]]
    assert found.lower.pairs.tolist() == [[0, 2]]


def test_distances_in_a_third_column_are_distances(tmp_path):
    found = read_contacts(written(tmp_path, "a.txt", "a b 3.8\nb c 0.9\n"))
    assert isinstance(found, Measurements)
    assert found.data.distances.tolist() == [3.8, 0.9]
    unsure = written(tmp_path, "b.txt", "a b 0.8\nb c 0.9\n")
    with pytest.raises(InputError, match="may be probabilities or distances; say --format contacts or --format edges"):
        read_contacts(unsure, cutoff=8.0)
    assert isinstance(read_contacts(unsure, cutoff=8.0, layout="contacts"), Contacts)
    assert isinstance(read_contacts(written(tmp_path, "b.rr", "1 2 0.8\n"), cutoff=8.0), Contacts)


@pytest.mark.parametrize("text", ["0,3\n3,0\n", "a,b\n0,3\n3,0\n", "a,b,3\nb,c,4\n", "from,to,distance\na,b,3\n"])
def test_distances_are_no_contacts(tmp_path, text):
    assert not are_contacts(written(tmp_path, "a.csv", text))
    assert are_contacts(tmp_path / "a.csv", "contacts")
    assert not are_contacts(tmp_path / "a.csv", "edges")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 2 0 8 0.9\n1 3 0 8\n", "a.rr, line 2 has 4 cells where 5 were expected"),
        ("1 2 0 8\n", "a.rr, line 1 has 4 cells where 2, 3 or 5 were expected"),
        ("1 2 0 8 x\n", "line 1: expected a number, got 'x'"),
        ("1 2 0 8 1.5\n", "line 1: a probability must be between 0 and 1, got 1.5"),
        ("1 2 9 8 0.5\n", "line 1: expected a nearest distance .* got 9 and 8"),
        ("1 1 0 8 0.5\n", "line 1 says that '1' is in contact with itself"),
        ("1 2 0 8 0.5\n\n2 1 0 8 0.6\n", "twice, differently, on line 1 and line 3"),
        ("1 2 0 8 0.1\n", "no contact with a probability of at least 0.5; the most probable has 0.1"),
        ("PFRMAT RR\nEND\n", "a.rr holds no contacts"),
        ("", "a.rr is empty"),
    ],
)
def test_bad_lists_are_one_sentence(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as error:
        read_contacts(written(tmp_path, "a.rr", text))
    assert "\n" not in str(error.value)
