"""The fused passes against a dense reference, in Triton's interpreter: fused_cases.py in a process of its own.

The interpreter has to be asked for before Triton is loaded, and would stay for all other tests. It makes products in
full precision, so that of the shorter ones only the way through is tested.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="fused passes need PyTorch")
pytest.importorskip("triton", reason="fused passes need Triton")

PASSES = ("slopes", "curvature", "quartic", "steps", "tails")


@pytest.fixture(scope="module")
def errors():
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("fused_cases.py"))],
        capture_output=True, text=True, timeout=120, env={**os.environ, "TRITON_INTERPRET": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", PASSES)
def test_a_fused_pass_is_what_the_whole_matrix_gives(errors, name):
    found = [(words, error) for words, error in errors if words.startswith(name)]
    assert found
    for words, error in found:
        most = 1e-12 if words.endswith(("f8/f8", "float64")) else 5e-6 if name == "tails" else 2e-6
        assert error < most, words


def test_every_kind_of_region_and_cost_is_among_them(errors):
    words = {word for line, _ in errors for word in line.split()}
    assert words >= {"triangle", "offset", "below", "above", "whole", "rectangle", "transposed", "narrow"}
    assert words >= {"observed", "one-sided", "censored", "f8/f4", "f4/f4", "f8/f8", "1", "3", "20"}
