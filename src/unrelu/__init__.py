"""Complete low-rank matrices whose entries are missing because of their values.

Start with :func:`complete`.
"""

import sys


def _obey() -> None:
    """Where this process is the command, not another program's library, Ctrl-C ends it without a traceback from here.

    That is for the first milliseconds, until :mod:`unrelu.base.interrupts` is loaded and does it properly. While Python
    looks for what -m names, argv begins with "-m". Processes that the command starts are given its argv, but not called
    so.
    """
    called, given = (sys.argv or [""])[0], sys.orig_argv
    if called == "-m":
        ours = ["-m", "unrelu"] in (given[k : k + 2] for k in range(len(given)))
    else:
        names = ("unrelu", "unrelu.exe", "unrelu-script.py")
        ours = called in given and called.replace("\\", "/").rpartition("/")[2] in names
    if ours:
        import _signal as signal  # type: ignore[import-not-found]  # what signal.py dresses with enum
        import os

        def leave(number: int, _: object) -> None:
            os.write(2, b"interrupted; nothing was written\n")
            os._exit(128 + number)

        if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
            signal.signal(signal.SIGINT, leave)


_obey()

# In the milliseconds that typing and types take to load, the command could not obey Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from unrelu.auto.rehearsed import Rehearsal
    from unrelu.auto.strategy import Auto, Strategy
    from unrelu.base.errors import CompletionWarning, InputError
    from unrelu.certify import certify
    from unrelu.certify_rectangular import certify_rectangular
    from unrelu.compare import compare
    from unrelu.complete import complete
    from unrelu.complete_distances import complete_distances
    from unrelu.complete_rectangular import complete_rectangular
    from unrelu.complete_table import complete_table
    from unrelu.data.dask_source import DaskSource
    from unrelu.data.limits import Limits
    from unrelu.data.source import Source
    from unrelu.data.zarr_source import ZarrSource
    from unrelu.diagnose import diagnose
    from unrelu.distances.edges import EdgeList
    from unrelu.estimators.distances import DistanceCompleter
    from unrelu.estimators.psd import PSDCompleter
    from unrelu.estimators.table import TableCompleter
    from unrelu.io.edges import edges
    from unrelu.loop.history import History, Record, Stop, Verdict
    from unrelu.loop.stopping import (
        DetailBelow,
        GradientNormBelow,
        MaxIterations,
        MaxSeconds,
        ObjectiveBelow,
        RelativeGradientNormBelow,
        Stagnation,
    )
    from unrelu.model.detection import DetectionCurve
    from unrelu.model.factors import Factors, Symmetric, TwoSided
    from unrelu.model.losses import Censored, Detected, Loss, Observed, OneSided
    from unrelu.rehearse import rehearse
    from unrelu.results.certificate import Certificate
    from unrelu.results.comparison import Comparison
    from unrelu.results.completion import Completion
    from unrelu.results.diagnosis import Diagnosis
    from unrelu.results.distances import DistanceCompletion
    from unrelu.results.rectangular import RectangularCompletion
    from unrelu.results.table import TableCompletion
    from unrelu.results.table_certificate import TableCertificate
    from unrelu.scale.options import Landmarks
    from unrelu.solvers import ADMM, GNMR, PAM, SDP, Direct, GaussNewton, GradientDescent, MomentumPAM, ScaledGD, Solver
    from unrelu.starts import (
        Clique,
        Gaussian,
        RandomFill,
        RandomImputation,
        RandomSpectral,
        RankIncreasing,
        Shrinking,
        Spectral,
        Start,
        Tailored,
    )
    from unrelu.uncertainty.error_bars import ErrorBars
    from unrelu.uncertainty.noise import Noise
else:
    ModuleType = type(sys)

__version__ = "0.1.0"

__all__ = [
    "ADMM",
    "GNMR",
    "PAM",
    "SDP",
    "Auto",
    "Censored",
    "Certificate",
    "Clique",
    "Comparison",
    "Completion",
    "CompletionWarning",
    "DaskSource",
    "DetailBelow",
    "Detected",
    "DetectionCurve",
    "Diagnosis",
    "Direct",
    "DistanceCompleter",
    "DistanceCompletion",
    "EdgeList",
    "ErrorBars",
    "Factors",
    "GaussNewton",
    "Gaussian",
    "GradientDescent",
    "GradientNormBelow",
    "History",
    "InputError",
    "Landmarks",
    "Limits",
    "Loss",
    "MaxIterations",
    "MaxSeconds",
    "MomentumPAM",
    "Noise",
    "ObjectiveBelow",
    "Observed",
    "OneSided",
    "PSDCompleter",
    "RandomFill",
    "RandomImputation",
    "RandomSpectral",
    "RankIncreasing",
    "Record",
    "RectangularCompletion",
    "Rehearsal",
    "RelativeGradientNormBelow",
    "ScaledGD",
    "Shrinking",
    "Solver",
    "Source",
    "Spectral",
    "Stagnation",
    "Start",
    "Stop",
    "Strategy",
    "Symmetric",
    "TableCertificate",
    "TableCompleter",
    "TableCompletion",
    "Tailored",
    "TwoSided",
    "Verdict",
    "ZarrSource",
    "certify",
    "certify_rectangular",
    "compare",
    "complete",
    "complete_distances",
    "complete_rectangular",
    "complete_table",
    "diagnose",
    "edges",
    "rehearse",
]

# Where the names live. They are loaded when first asked for: the command must be able to obey Ctrl-C before NumPy is
# there, which takes a second, and who wants one name need not wait for scikit-learn.
_HOMES = {
    "auto.rehearsed": "Rehearsal",
    "auto.strategy": "Auto Strategy",
    "scale.options": "Landmarks",
    "base.errors": "CompletionWarning InputError",
    "certify": "certify",
    "compare": "compare",
    "complete": "complete",
    "complete_distances": "complete_distances",
    "complete_rectangular": "complete_rectangular",
    "complete_table": "complete_table",
    "data.dask_source": "DaskSource",
    "data.limits": "Limits",
    "data.source": "Source",
    "data.zarr_source": "ZarrSource",
    "diagnose": "diagnose",
    "distances.edges": "EdgeList",
    "estimators.distances": "DistanceCompleter",
    "estimators.psd": "PSDCompleter",
    "estimators.table": "TableCompleter",
    "io.edges": "edges",
    "loop.history": "History Record Stop Verdict",
    "loop.stopping": "DetailBelow GradientNormBelow MaxIterations MaxSeconds ObjectiveBelow RelativeGradientNormBelow "
    "Stagnation",
    "model.factors": "Factors Symmetric TwoSided",
    "model.detection": "DetectionCurve",
    "model.losses": "Censored Detected Loss Observed OneSided",
    "rehearse": "rehearse",
    "results.certificate": "Certificate",
    "results.comparison": "Comparison",
    "results.completion": "Completion",
    "results.rectangular": "RectangularCompletion",
    "results.table": "TableCompletion",
    "results.table_certificate": "TableCertificate",
    "certify_rectangular": "certify_rectangular",
    "results.diagnosis": "Diagnosis",
    "results.distances": "DistanceCompletion",
    "solvers": "ADMM GNMR PAM SDP Direct GaussNewton GradientDescent MomentumPAM ScaledGD Solver",
    "starts": "Clique Gaussian RandomFill RandomImputation RandomSpectral RankIncreasing Shrinking Spectral Start "
    "Tailored",
    "uncertainty.error_bars": "ErrorBars",
    "uncertainty.noise": "Noise",
}
# Modules that are used by a name of their own: unrelu.datasets.planted(…).
_MODULES = {"datasets": "data.planted", "plots": "show.plots", "sampling": "data.sampling"}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> "Any":
    from importlib import import_module
    from importlib.util import find_spec

    if name in _HOME:
        value = getattr(import_module(f"unrelu.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"unrelu.{_MODULES[name]}")
    if not name.startswith("_") and find_spec(f"unrelu.{name}") is not None:
        return import_module(f"unrelu.{name}")
    raise AttributeError(f"module 'unrelu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _open(room: ModuleType) -> None:
    """Let ``unrelu.loop.stopping`` be written after ``import unrelu``: files of a room are loaded when asked for."""

    def find(name: str) -> "Any":
        from importlib import import_module
        from importlib.util import find_spec

        if not name.startswith("_") and find_spec(f"{room.__name__}.{name}") is not None:
            return import_module(f"{room.__name__}.{name}")
        raise AttributeError(f"module {room.__name__!r} has no attribute {name!r}")

    room.__dict__.setdefault("__getattr__", find)


class _Package(ModuleType):
    """Python makes every module an attribute of its package; ``unrelu.complete`` is to be the function, though."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and _HOME.get(name) == name:
            value = getattr(value, name)
        elif isinstance(value, ModuleType) and hasattr(value, "__path__"):
            _open(value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
