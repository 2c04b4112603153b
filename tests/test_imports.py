"""What ``import unrelu`` changes in the process that imports it, and whether functions that use it can be sent away."""

import pickle
import subprocess
import sys

import cloudpickle
import joblib
import numpy as np
import pytest

import unrelu


def rank_of(X):
    return unrelu.complete(X, 2, rng=0).rank


def instance():
    U = np.random.default_rng(0).standard_normal((30, 2))
    return np.where(U @ U.T >= 0, U @ U.T, np.nan)


def printed(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_no_signal_handler_is_installed():
    code = (
        "import signal; handlers = lambda: [signal.getsignal(number) for number in signal.valid_signals()]; "
        "before = handlers(); import unrelu; unrelu.GNMR; print(handlers() == before)"
    )
    assert printed(code) == "True"


def test_the_module_is_an_ordinary_one():
    code = "import types, unrelu, unrelu.datasets; print(type(unrelu) is type(unrelu.datasets) is types.ModuleType)"
    assert printed(code) == "True"


def test_every_public_name_is_there_and_none_is_a_module():
    """Several functions have the name of the module that they are in."""
    code = (
        "import types, unrelu; "
        "print([name for name in unrelu.__all__ if isinstance(getattr(unrelu, name), types.ModuleType)])"
    )
    assert printed(code) == "[]"
    assert set(unrelu.__all__) <= set(dir(unrelu))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'unrelu' has no attribute 'nothing'"):
        unrelu.nothing  # noqa: B018


def test_functions_that_use_it_go_through_cloudpickle():
    sent = cloudpickle.dumps(lambda X: unrelu.complete(X, 2, rng=0).rank)
    assert pickle.loads(sent)(instance()) == 2


def test_functions_that_use_it_go_to_processes_of_joblib():
    tasks = [joblib.delayed(function)(instance()) for function in (rank_of, lambda X: unrelu.complete(X, 2).rank)]
    assert joblib.Parallel(n_jobs=2, backend="loky")(tasks) == [2, 2]


def test_functions_that_use_it_go_to_workers_of_dask():
    dask = pytest.importorskip("dask")
    found = dask.compute(dask.delayed(lambda X: unrelu.complete(X, 2, rng=0).rank)(instance()), scheduler="processes")
    assert found == (2,)
