"""The ledger has a row for every public name, and what it names as a check exists."""

import re
from pathlib import Path

from tests.golden import cases, ledger

TESTS = Path(__file__).parent


def test_every_public_name_has_a_row_and_no_row_is_stale():
    assert ledger.complaints() == []


def test_the_tests_that_it_names_exist():
    files = [path for path in TESTS.rglob("test_*.py") if "_old" not in path.parts]
    there = {path.name for path in files}
    for path in files:
        there.update(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert sorted({name for row in ledger.rows() for name in row.tests} - there) == []


def test_the_instances_that_it_names_exist():
    assert sorted({name for row in ledger.rows() for name in row.cases} - set(cases.names())) == []
