"""What results say of themselves, and by which names their rows can be asked for."""

import re

import pandas as pd
import pytest

import unrelu
from helpers import relu_instance
from unrelu.data.planted import points_in_cube, within


@pytest.fixture(scope="module")
def completion():
    _, X = relu_instance(40, 2)
    names = ["active", "alert", *(f"r{k}" for k in range(2, 40))]
    return unrelu.complete(pd.DataFrame(X, names, names), 2, rng=0)


@pytest.fixture(scope="module")
def located():
    D = within(points_in_cube(20, 2, rng=0), 0.6)
    return unrelu.complete_distances(D, 2, cutoff=0.6, rng=0, names=[f"p{k}" for k in range(20)])


def test_repr_is_one_short_line(completion, located):
    assert re.fullmatch(r"Completion\(40×40, rank 2, fitted, residual \d\.?\d?e-\d+\)", repr(completion))
    assert re.fullmatch(r"DistanceCompletion\(20 points, dim 2, fitted, residual \d\.?\d?e-\d+\)", repr(located))
    assert "completed at rank 2 by" in str(completion)
    assert "determined, relative residual" in str(located)
