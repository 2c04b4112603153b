"""The fused passes against a dense reference, in Triton's interpreter: fused_cases.py in a process of its own.

The interpreter has to be asked for before Triton is loaded, and would stay for all other tests. With UNRELU_DEVICE=cuda
the passes are compiled and run there.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="fused passes need PyTorch")
pytest.importorskip("triton", reason="fused passes need Triton")

DEVICE = os.environ.get("UNRELU_DEVICE", "cpu")
LOOKS = ("look-sums", "look-squares", "look-slopes", "look-curvature")
PASSES = ("sums", "slopes", "curvature", "quartic", "steps", "tails", *LOOKS, "engine", "nan", "no-room")


@pytest.fixture(scope="module")
def errors():
    # The interpreter is done in one process; where passes are compiled, that takes seconds for each and any core.
    parts = 1 if DEVICE == "cpu" else os.cpu_count() or 1
    running = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("fused_cases.py")), str(part), str(parts)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for part in range(parts)
    ]  # fmt: skip
    lines = []
    for one in running:
        found, words = one.communicate(timeout=300)
        assert one.returncode == 0, words
        lines += [json.loads(line) for line in found.splitlines()]
    return lines


def allowed(name, words):
    """Of terms that are added up, four roundings; a thousandth where products are short; of tails as they say."""
    if name == "look-curvature" or words.startswith("engine normal"):  # of which three digits are wanted
        return 1e-3
    if name == "nan":
        return 0.5
    if name in ("engine", "no-room"):
        return 2e-5
    if name.startswith("look"):  # never in double precision
        return 2.0**-22 if name == "look-slopes" else 2e-6
    if words.endswith("float64") or "f8/f8" in words:
        return 1e-12
    if name == "tails":  # exponentials, roots and logarithms of the hardware are approximate
        return 1e-5
    if name in ("slopes", "curvature"):
        return 2.0**-22 if words.endswith("precise") else 1e-3
    return 2e-6


@pytest.mark.parametrize("name", PASSES)
def test_a_fused_pass_is_what_the_whole_matrix_gives(errors, name):
    found = [(words, error) for words, error in errors if words.startswith(f"{name} ")]
    assert found
    for words, error in found:
        assert error < allowed(name, words), words


def test_short_products_are_short(errors):
    """Else this would say nothing of them: the interpreter makes all products in full, of what it is given."""
    for name in ("slopes", "curvature"):
        found = [
            error for words, error in errors if words.startswith(f"{name} ") and "f4/f4 short" in words and error > 0
        ]
        assert max(found) > 1e-6


def test_every_kind_of_region_and_cost_is_among_them(errors):
    words = {word for line, _ in errors for word in line.split()}
    assert words >= {"triangle", "offset", "below", "above", "whole", "rectangle", "transposed", "narrow"}
    assert words >= {"observed", "one-sided", "censored", "f8/f4", "f4/f4", "1", "3", "20", "50", "70"}
    assert words >= {"precise", "short"}


def test_a_size_of_one_is_no_other_pass():
    """Triton puts 1 in the place of an argument that is 1, and compiles anew; a block may have one row."""
    words = (
        "from unrelu._old.kernels.device import fused_look, fused_passes as p\n"
        "passes = fused_look.look_pass, p.slopes_pass, p.curvature_pass, p.quartic_pass, p.steps_pass\n"
        "for one in passes:\n"
        "    left = {each.name for each in one.params if each.do_not_specialize}\n"
        "    assert left == {'height', 'width', 'first_row', 'first_col'}, left\n"
        "from unrelu._old.kernels.device import fused_parts, operands\n"
        "assert fused_parts.ELEVEN_BITS.value == operands.CUT\n"
    )
    there = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    subprocess.run([sys.executable, "-c", words], check=True, env=there)


def test_parts_are_what_matrix_units_read():
    from unrelu._old.kernels.device import operands

    x = torch.randn(100_000, generator=torch.Generator().manual_seed(0))
    high, low = operands.parts(x)
    assert torch.equal(high + low, x)
    assert torch.equal(high.view(torch.int32) & 0x1FFF, torch.zeros(len(x), dtype=torch.int32))
    assert (low.abs() / x.abs()).max() <= 2.0**-11  # half of the last of eleven bits


@pytest.mark.parametrize(
    ("rank", "precise", "wide", "how"),
    [(20, True, 64, "tf32"), (20, False, 32, "tf32"), (50, True, 64, "tf32x3"), (50, False, 64, "tf32")],
)
def test_sides_are_as_wide_as_their_parts_need(rank, precise, wide, how):
    from unrelu._old.kernels.device import operands

    factor = torch.randn((7, rank), generator=torch.Generator().manual_seed(0))
    left, right, found = operands.sides((factor, factor), precise)
    assert (left.shape, right.shape, found) == ((128, wide), (128, wide), how)
