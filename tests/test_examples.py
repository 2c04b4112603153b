"""Every gallery example runs, in its quick mode, and finds what it promises."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def found(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    yield
    for path in EXAMPLES.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_every_example_is_tried_here():
    here = Path(__file__).read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f"import {path.stem}" in here, path.name


def test_the_globe_is_round(tmp_path, capsys):
    pytest.importorskip("airportsdata")
    import globe_from_short_hops

    result = globe_from_short_hops.main(["--quick", "-o", str(tmp_path / "globe.png")])
    assert result["determined"] > 0.98
    assert result["error"] < 0.1  # kilometres
    assert result["radius"] == pytest.approx(6371, abs=5)
    assert (tmp_path / "globe.png").stat().st_size > 10_000
    assert "airports are determined by the hops" in capsys.readouterr().out


def test_the_chain_is_found_where_it_is_determined(tmp_path):
    import folded_chain_from_contacts

    result = folded_chain_from_contacts.main(["--quick", "-o", str(tmp_path / "chain.png")])
    beads, error = result[8.0]
    assert beads == 120
    assert error < 1e-6
    fewer, error = result[5.4]
    assert fewer < 120
    assert error < 1e-6
    assert (tmp_path / "chain.png").stat().st_size > 10_000
    assert (tmp_path / "chain.xyz").read_text().count("\nC ") == 120


def test_real_data_are_forecast_and_drawn(tmp_path, capsys):
    import real_data

    shares = real_data.main(["--quick", "-o", str(tmp_path)])
    said = capsys.readouterr().out
    for name, share in shares.items():
        assert f"{name}: predicts: " in said
        assert 0.6 < share < 1
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert list(shares) == ["similarity", "wine", "radio"]
