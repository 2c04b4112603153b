"""Complete low-rank matrices whose entries are missing because of their values.

Start with :func:`complete`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unrelu.auto.rehearsed import Rehearsal
    from unrelu.auto.strategy import Auto, Strategy
    from unrelu.base.errors import CompletionWarning, InputError
    from unrelu.data.dask_source import DaskSource
    from unrelu.data.limits import Limits
    from unrelu.data.source import Source
    from unrelu.data.zarr_source import ZarrSource
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

# Names and modules that are loaded when they are first used.
_HOMES = {
    "ADMM": "unrelu.solvers",
    "GNMR": "unrelu.solvers",
    "PAM": "unrelu.solvers",
    "SDP": "unrelu.solvers",
    "Auto": "unrelu.auto.strategy",
    "Censored": "unrelu.model.losses",
    "Certificate": "unrelu.results.certificate",
    "Clique": "unrelu.starts",
    "Comparison": "unrelu.results.comparison",
    "Completion": "unrelu.results.completion",
    "CompletionWarning": "unrelu.base.errors",
    "DaskSource": "unrelu.data.dask_source",
    "DetailBelow": "unrelu.loop.stopping",
    "Detected": "unrelu.model.losses",
    "DetectionCurve": "unrelu.model.detection",
    "Diagnosis": "unrelu.results.diagnosis",
    "Direct": "unrelu.solvers",
    "DistanceCompleter": "unrelu.estimators.distances",
    "DistanceCompletion": "unrelu.results.distances",
    "EdgeList": "unrelu.distances.edges",
    "ErrorBars": "unrelu.uncertainty.error_bars",
    "Factors": "unrelu.model.factors",
    "GaussNewton": "unrelu.solvers",
    "Gaussian": "unrelu.starts",
    "GradientDescent": "unrelu.solvers",
    "GradientNormBelow": "unrelu.loop.stopping",
    "History": "unrelu.loop.history",
    "InputError": "unrelu.base.errors",
    "Landmarks": "unrelu.scale.options",
    "Limits": "unrelu.data.limits",
    "Loss": "unrelu.model.losses",
    "MaxIterations": "unrelu.loop.stopping",
    "MaxSeconds": "unrelu.loop.stopping",
    "MomentumPAM": "unrelu.solvers",
    "Noise": "unrelu.uncertainty.noise",
    "ObjectiveBelow": "unrelu.loop.stopping",
    "Observed": "unrelu.model.losses",
    "OneSided": "unrelu.model.losses",
    "PSDCompleter": "unrelu.estimators.psd",
    "RandomFill": "unrelu.starts",
    "RandomImputation": "unrelu.starts",
    "RandomSpectral": "unrelu.starts",
    "RankIncreasing": "unrelu.starts",
    "Record": "unrelu.loop.history",
    "RectangularCompletion": "unrelu.results.rectangular",
    "Rehearsal": "unrelu.auto.rehearsed",
    "RelativeGradientNormBelow": "unrelu.loop.stopping",
    "ScaledGD": "unrelu.solvers",
    "Shrinking": "unrelu.starts",
    "Solver": "unrelu.solvers",
    "Source": "unrelu.data.source",
    "Spectral": "unrelu.starts",
    "Stagnation": "unrelu.loop.stopping",
    "Start": "unrelu.starts",
    "Stop": "unrelu.loop.history",
    "Strategy": "unrelu.auto.strategy",
    "Symmetric": "unrelu.model.factors",
    "TableCertificate": "unrelu.results.table_certificate",
    "TableCompleter": "unrelu.estimators.table",
    "TableCompletion": "unrelu.results.table",
    "Tailored": "unrelu.starts",
    "TwoSided": "unrelu.model.factors",
    "Verdict": "unrelu.loop.history",
    "ZarrSource": "unrelu.data.zarr_source",
    "edges": "unrelu.io.edges",
}
_MODULES = {
    "datasets": "unrelu.data.planted",
    "plots": "unrelu.show.plots",
    "sampling": "unrelu.data.sampling",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'unrelu' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


# Each of these functions has the name of the module that it is in, which would take its place if it were loaded later.
from unrelu.certify import certify  # noqa: E402
from unrelu.certify_rectangular import certify_rectangular  # noqa: E402
from unrelu.compare import compare  # noqa: E402
from unrelu.complete import complete  # noqa: E402
from unrelu.complete_distances import complete_distances  # noqa: E402
from unrelu.complete_rectangular import complete_rectangular  # noqa: E402
from unrelu.complete_table import complete_table  # noqa: E402
from unrelu.diagnose import diagnose  # noqa: E402
from unrelu.rehearse import rehearse  # noqa: E402
