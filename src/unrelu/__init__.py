"""Complete low-rank matrices whose entries are missing because of their values.

Start with :func:`complete`.
"""

from typing import TYPE_CHECKING, Any

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

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unrelu.estimators import PSDCompleter
    from unrelu.estimators_distances import DistanceCompleter

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


def __getattr__(name: str) -> Any:
    # scikit-learn takes longer to import than everything else together; only its faces need it.
    if name == "PSDCompleter":
        from unrelu.estimators import PSDCompleter

        return PSDCompleter
    if name == "DistanceCompleter":
        from unrelu.estimators_distances import DistanceCompleter

        return DistanceCompleter
    raise AttributeError(f"module 'unrelu' has no attribute {name!r}")
