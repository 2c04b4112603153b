"""The data file of the paper's numbers and claims: each has its place, and the tables are those of the paper."""

import re
from pathlib import Path

import pytest

from unrelu._old.experiments.judging import printed, spread_text

PAPER = Path(__file__).parents[4] / "shared" / "paper.tex"


def test_printed_numbers_say_where_they_stand():
    for entry in printed()["numbers"].values():
        assert entry["where"]
        assert "value" in entry
        assert "spread" in entry or "tolerance" in entry
    assert printed()["numbers"]["init/0.01/random-spectral/gamma"]["value"] == 0.418


def test_main_claims_have_a_few_words_and_are_the_papers():
    main = [entry for kind in ("claims", "numbers") for entry in printed()[kind].values() if entry.get("main")]
    assert len(main) >= 20
    assert all(0 < len(entry["short"]) < 80 and not entry.get("ours") for entry in main)


def test_a_mean_and_its_deviation_are_written_as_the_paper_writes_them():
    assert spread_text([2.0]) == "2"
    assert spread_text([]) == "nothing"


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not beside this repository")
def test_printed_tables_are_those_of_the_paper():
    text = PAPER.read_text()
    text = text[text.index(r"\label{sample-table-full}") :]
    number = r"\$\s*\(?([\d.]+) \\pm ([\d.]+)\)?\s*(?:\\cdot\s*10\^\{?(-?\d+)\}?)?\s*\$"
    found = [(float(a) * 10 ** int(e or 0), float(b) * 10 ** int(e or 0)) for a, b, e in re.findall(number, text)]
    ours = [(e["value"], e["spread"]) for key, e in printed()["numbers"].items() if key.startswith("init/")]
    assert len(found) == len(ours) == 27
    for (value, spread), (own, own_spread) in zip(found, ours, strict=True):
        assert own == pytest.approx(value)
        assert own_spread == pytest.approx(spread)
