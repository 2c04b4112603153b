"""The model of a cluster's costs against graphs that are made, and numbers that come back."""

import numpy as np
import pytest

from unrelu.data.dask_source import DaskSource
from unrelu.scale.blocks import Asked, Data
from unrelu.scale.costs import Pass, Rates
from unrelu.scale.engines.dask import _Pass
from unrelu.scale.passes import look

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("curvature", [True, False])
@pytest.mark.parametrize("bands", [1, 3, 9, 20])
def test_tasks_and_bytes_are_those_of_a_pass(alike, curvature, bands):
    rank, side = 3, 10
    n = bands * side
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n, rank))
    X = U @ U.T + (0 if alike else rng.standard_normal((n, n)))
    X = (X + X.T) / 2 if alike else X
    lazy = da.from_array(X, chunks=side)
    data = Data(DaskSource(lazy), 1.0, None, alike=alike)
    asked = Asked(gradient=True, curvature=curvature, first=True)
    model = Pass(n, rank, side, alike=alike, curvature=curvature)
    made = _Pass(data, (U, U), asked, lazy)
    keys = made.added_up(made.bands())
    kinds = [key[1] for key in made.graph if key[0] == made.name]
    assert len(keys) == model.bands
    assert kinds.count("part") == model.chunks
    assert sum(kinds.count(kind) for kind in ("part", "sums", "band")) == model.tasks
    assert max(key[3] for key in made.graph if key[0] == made.name and key[1] == "band") + 1 == model.levels
    factors = [value for key, value in made.graph.items() if key[:2] == (made.name, "factor")]
    assert sum(factor.nbytes for factor in factors) * model.workers == model.bytes_out
    found = look(data, (U, U), asked)
    back = sum(part.nbytes for part in (found.seen, found.gradient, found.normal, found.squares))
    assert back == model.bytes_back


def test_more_workers_take_less_until_scheduler_and_client_are_all():
    rates = Rates(entries=1e8)
    taken = [Pass(10**6, 20, 4000, workers, 4).seconds(rates) for workers in (10, 100, 1000)]
    assert taken[0] > taken[1]
    one, other = (Pass(10**6, 20, 4000, workers, 4) for workers in (1000, 2000))
    assert other.seconds(rates) - one.seconds(rates) >= 0.9 * (other.bytes_out - one.bytes_out) / rates.network
