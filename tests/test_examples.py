"""Every gallery example runs, in its quick mode, and finds what it promises."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unrelu.cli import app

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
TUTORIAL = (ROOT / "docs" / "distances.md").read_text()


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
    assert (tmp_path / "chain.pdb").read_text().count("\nATOM") == 120


def test_real_data_are_forecast_and_drawn(tmp_path, capsys):
    import real_data

    shares = real_data.main(["--quick", "-o", str(tmp_path)])
    said = capsys.readouterr().out
    for name, share in shares.items():
        assert f"{name}: predicts: " in said
        assert 0.6 < share < 1
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert list(shares) == ["similarity", "wine", "radio"]


# --- docs/distances.md ---------------------------------------------------------------------------------------------

SHOWN = re.findall(r"```sh\n(unrelu locate .*?)\n```\n\n```text\n(.*?)```", TUTORIAL, flags=re.DOTALL)


@pytest.mark.parametrize(("command", "said"), SHOWN, ids=lambda text: text.split()[0])
def test_the_tutorial_shows_what_the_command_prints(tmp_path, monkeypatch, command, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, done.stderr
    printed = done.stdout.splitlines()
    assert [line for line in said.splitlines() if line != "…" and line not in printed] == []


def test_the_tutorial_shows_three_commands():
    assert len(SHOWN) == 3


def test_the_tutorials_python_runs(capsys):
    pytest.importorskip("gemmi")
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", TUTORIAL, flags=re.DOTALL):
        exec(block, namespace)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "200 of 200 points determined"
    assert float(lines[2].split(":")[1]) < 1e-9
    assert namespace["embedding"].shape == namespace["same"].shape == (200, 2)
    dimension = next(
        k for k, line in enumerate(lines) if line.startswith("2 dimensions meet all distances to rounding")
    )
    assert lines[dimension - 1] == "2"
    assert any(re.fullmatch(r"station \d+ to station \d+: [\d.]+ m, by the others [\d.]+ m", line) for line in lines)
    assert lines[-1] == "60 residues determined, the first is A:1:GLY"
