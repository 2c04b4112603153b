"""Complete low-rank matrices whose entries are missing because of their values.

Start with :func:`complete`.
"""

import sys


def _obey() -> None:
    """Where this process is the command, not another program's library, Ctrl-C ends it without a traceback from here.

    That is for the first milliseconds, until :mod:`unrelu.interrupts` is loaded and does it properly. While Python
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

    from unrelu.certificates.certificate import Certificate
    from unrelu.certify import certify
    from unrelu.compare import compare
    from unrelu.comparison import Comparison
    from unrelu.complete import complete
    from unrelu.completion import Completion
    from unrelu.continuation import RankIncreasing, Shrinking
    from unrelu.distances.complete import complete_distances
    from unrelu.distances.completion import DistanceCompletion
    from unrelu.distances.edges import EdgeList
    from unrelu.errors import CompletionWarning, InputError
    from unrelu.estimators import PSDCompleter
    from unrelu.estimators_distances import DistanceCompleter
    from unrelu.history import History, Record, Stop, Verdict
    from unrelu.initialise import Clique, Gaussian, RandomFill, RandomImputation, RandomSpectral, Spectral, Tailored
    from unrelu.losses import Observed, OneSided
    from unrelu.solvers import ADMM, GNMR, PAM, SDP, Direct, GaussNewton, GradientDescent, MomentumPAM, ScaledGD
    from unrelu.stopping import (
        DetailBelow,
        GradientNormBelow,
        MaxIterations,
        MaxSeconds,
        ObjectiveBelow,
        RelativeGradientNormBelow,
        Stagnation,
    )
    from unrelu.uncertainty import ErrorBars, Noise
else:
    ModuleType = type(sys)

__version__ = "0.1.0"

__all__ = [
    "ADMM",
    "GNMR",
    "PAM",
    "SDP",
    "Certificate",
    "Clique",
    "Comparison",
    "Completion",
    "CompletionWarning",
    "DetailBelow",
    "Direct",
    "DistanceCompleter",
    "DistanceCompletion",
    "EdgeList",
    "ErrorBars",
    "GaussNewton",
    "Gaussian",
    "GradientDescent",
    "GradientNormBelow",
    "History",
    "InputError",
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
    "RelativeGradientNormBelow",
    "ScaledGD",
    "Shrinking",
    "Spectral",
    "Stagnation",
    "Stop",
    "Tailored",
    "Verdict",
    "certify",
    "compare",
    "complete",
    "complete_distances",
]

# Where the names live. They are loaded when first asked for: the command must be able to obey Ctrl-C before NumPy is
# there, which takes a second, and who wants one name need not wait for scikit-learn.
_HOMES = {
    "certificates.certificate": "Certificate",
    "certify": "certify",
    "compare": "compare",
    "comparison": "Comparison",
    "complete": "complete",
    "completion": "Completion",
    "continuation": "RankIncreasing Shrinking",
    "distances.complete": "complete_distances",
    "distances.completion": "DistanceCompletion",
    "distances.edges": "EdgeList",
    "errors": "CompletionWarning InputError",
    "estimators": "PSDCompleter",
    "estimators_distances": "DistanceCompleter",
    "history": "History Record Stop Verdict",
    "initialise": "Clique Gaussian RandomFill RandomImputation RandomSpectral Spectral Tailored",
    "losses": "Observed OneSided",
    "solvers": "ADMM GNMR PAM SDP Direct GaussNewton GradientDescent MomentumPAM ScaledGD",
    "stopping": "DetailBelow GradientNormBelow MaxIterations MaxSeconds ObjectiveBelow RelativeGradientNormBelow "
    "Stagnation",
    "uncertainty": "ErrorBars Noise",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> "Any":
    from importlib import import_module
    from importlib.util import find_spec

    if name in _HOME:
        value = getattr(import_module(f"unrelu.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("_") and find_spec(f"unrelu.{name}") is not None:
        return import_module(f"unrelu.{name}")
    raise AttributeError(f"module 'unrelu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Python makes every module an attribute of its package; ``unrelu.complete`` is to be the function, though."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and _HOME.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
