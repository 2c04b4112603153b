"""Passes and placed rows by PyTorch are those of threads, of tensors and of blocks that are brought there."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from unrelu import InputError
from unrelu._old.base.engines import noting
from unrelu._old.data.source import ArraySource
from unrelu._old.data.tensor_source import ByBlocks, TensorSource
from unrelu._old.scale.blocks import Asked, Data
from unrelu._old.scale.engines import torch as engine
from unrelu._old.scale.passes import attach, look
from unrelu._old.scale.rows import Placed, Reader

DEVICE = torch.device(os.environ.get("UNRELU_DEVICE", "cpu"))
SIZE, WIDTH, RANK = 300, 200, 4
EVERYTHING = Asked(0.3, gradient=True, curvature=True, first=True)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Tiles of 70 rows, so that there are many."""
    monkeypatch.setitem(engine.SIDES, "cpu", 70)
    monkeypatch.setattr(engine, "SIDE", 70)
    monkeypatch.setattr(engine, "BLOCK", 70)


def instance(kind, dtype):
    rng = np.random.default_rng(0)
    left = rng.standard_normal((SIZE, RANK))
    right = rng.standard_normal((WIDTH, RANK)) if kind == "table" else left
    noise = 0.3 * rng.standard_normal((len(left), len(right)))
    X = left @ right.T + ((noise + noise.T) / 2**0.5 if kind == "alike" else noise)
    X[X < 0] = np.nan
    near = left + 0.05 * rng.standard_normal(left.shape)
    return X.astype(dtype), right, (near, near if right is left else right)


def near(found, expected, rounding):
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * np.abs(expected).max())


@pytest.mark.parametrize("where", ["there", "by blocks"])
@pytest.mark.parametrize("threshold", [0.0, None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["alike", "different", "table"])
@pytest.mark.parametrize("asked", [EVERYTHING, Asked(gradient=True), Asked(first=True)], ids=["all", "slopes", "first"])
def test_a_pass_is_that_of_threads(kind, dtype, threshold, where, asked):
    X, _, factors = instance(kind, dtype)
    there = TensorSource(torch.as_tensor(X).to(DEVICE)) if where == "there" else ByBlocks(ArraySource(X), DEVICE)
    heard, found = [], []
    with noting() as engines:
        for source in (ArraySource(X), there):
            heard.clear()
            data = Data(source, 4.0, threshold, 1.0, kind != "table", kind == "alike")
            found.append(look(data, factors, asked, 70, told=lambda _, rows: heard.append(rows)))
    one, other = found
    rounding = 1e-10 if dtype == np.float64 else 1e-4
    if asked.first:
        np.testing.assert_array_equal(other.seen, one.seen)
        assert (other.totals.low, other.totals.high) == (one.totals.low, one.totals.high)
        assert other.totals.norm == pytest.approx(one.totals.norm, rel=rounding)
    if asked.gradient:
        near(other.gradient, one.gradient, rounding)
        near(other.squares, one.squares, rounding)
    if asked.curvature:
        near(other.normal, one.normal, 1e-5 if DEVICE.type == "cpu" else 1e-3)
    for name in ("count", "squares", "beyond", "pulled"):
        assert getattr(other.totals, name) == pytest.approx(getattr(one.totals, name), rel=rounding, abs=1e-12), name
    assert sum(heard) == sum(rows.stop - rows.start for rows, _ in data.blocks(70))
    assert engines == [f"PyTorch on {there.device} in {np.dtype(dtype).name}"]


def test_blocks_that_may_not_be_written_to_are_no_reason_to_warn(monkeypatch):
    """Whole rows of a memory map, say."""
    monkeypatch.setattr(engine, "BLOCK", 1000)
    X, _, factors = instance("alike", np.float64)
    X.setflags(write=False)
    data = Data(ByBlocks(ArraySource(X), DEVICE), 4.0, 0.0)
    found, expected = (look(one, factors, Asked(gradient=True)) for one in (data, Data(ArraySource(X), 4.0, 0.0)))
    near(found.gradient, expected.gradient, 1e-10)


@pytest.mark.parametrize("value", [-0.5, np.inf])
def test_what_cannot_have_been_seen_is_refused_in_the_words_of_who_reads_blocks(value):
    X, right, _ = instance("alike", np.float64)
    X[7, 8] = X[8, 7] = value
    positions, words = np.arange(3, 190, 5), []
    for source in (ArraySource(X), TensorSource(torch.as_tensor(X).to(DEVICE))):
        reader = Reader(source, 4.0, "one", (0.0, np.inf))
        with pytest.raises(InputError) as refused:
            attach(reader, (positions, right[positions]), Placed.nobody(SIZE, RANK), 0.01)
        words.append(str(refused.value))
    assert words[0] == words[1]


@pytest.mark.parametrize("kind", ["alike", "different", "table"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_placed_rows_are_those_of_threads(kind, dtype):
    X, right, _ = instance(kind, dtype)
    positions = np.arange(3, 190, 5)
    side = {"alike": "one", "different": "both", "table": "rows"}[kind]
    placed = []
    for source in (ArraySource(X), TensorSource(torch.as_tensor(X).to(DEVICE))):
        placed.append(Placed.nobody(SIZE, RANK))
        attach(Reader(source, 4.0, side), (positions, right[positions]), placed[-1], 0.01)
    one, other = placed
    for name in ("factor", "share", "misfit"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=0, atol=1e-9)
    assert other.done == one.done == SIZE
