"""Complete low-rank matrices whose entries are missing because of their values.

Start with :func:`complete`.
"""

from typing import TYPE_CHECKING, Any

from unrelu.complete import complete
from unrelu.completion import Completion
from unrelu.errors import CompletionWarning, InputError
from unrelu.history import History, Record, Stop, Verdict
from unrelu.initialise import RandomImputation, RandomSpectral, Tailored
from unrelu.losses import Observed, OneSided
from unrelu.solvers import GaussNewton, GradientDescent
from unrelu.stopping import (
    GradientNormBelow,
    MaxIterations,
    MaxSeconds,
    ObjectiveBelow,
    RelativeGradientNormBelow,
    Stagnation,
)

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unrelu.estimators import PSDCompleter

__all__ = [
    "Completion",
    "CompletionWarning",
    "GaussNewton",
    "GradientDescent",
    "GradientNormBelow",
    "History",
    "InputError",
    "MaxIterations",
    "MaxSeconds",
    "ObjectiveBelow",
    "Observed",
    "OneSided",
    "PSDCompleter",
    "RandomImputation",
    "RandomSpectral",
    "Record",
    "RelativeGradientNormBelow",
    "Stagnation",
    "Stop",
    "Tailored",
    "Verdict",
    "complete",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes longer to import than everything else together; only its face needs it.
    if name == "PSDCompleter":
        from unrelu.estimators import PSDCompleter

        return PSDCompleter
    raise AttributeError(f"module 'unrelu' has no attribute {name!r}")
