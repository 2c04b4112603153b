"""Complete low-rank matrices whose entries are missing because of their values.

Start with :func:`complete`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unrelu._old.auto.rehearsed import Rehearsal
    from unrelu._old.auto.strategy import Auto, Strategy
    from unrelu._old.base.errors import CompletionWarning, InputError
    from unrelu._old.certify import certify
    from unrelu._old.certify_rectangular import certify_rectangular
    from unrelu._old.compare import compare
    from unrelu._old.complete import complete
    from unrelu._old.complete_distances import complete_distances
    from unrelu._old.complete_rectangular import complete_rectangular
    from unrelu._old.complete_table import complete_table
    from unrelu._old.data.dask_source import DaskSource
    from unrelu._old.data.limits import Limits
    from unrelu._old.data.source import Source
    from unrelu._old.data.zarr_source import ZarrSource
    from unrelu._old.diagnose import diagnose
    from unrelu._old.distances.edges import EdgeList
    from unrelu._old.estimators.distances import DistanceCompleter
    from unrelu._old.estimators.psd import PSDCompleter
    from unrelu._old.estimators.table import TableCompleter
    from unrelu._old.io.edges import edges
    from unrelu._old.loop.history import History, Record, Stop, Verdict
    from unrelu._old.loop.stopping import (
        DetailBelow,
        GradientNormBelow,
        MaxIterations,
        MaxSeconds,
        ObjectiveBelow,
        RelativeGradientNormBelow,
        Stagnation,
    )
    from unrelu._old.model.detection import DetectionCurve
    from unrelu._old.model.factors import Factors, Symmetric, TwoSided
    from unrelu._old.model.losses import Censored, Detected, Loss, Observed, OneSided
    from unrelu._old.rehearse import rehearse
    from unrelu._old.results.certificate import Certificate
    from unrelu._old.results.comparison import Comparison
    from unrelu._old.results.completion import Completion
    from unrelu._old.results.diagnosis import Diagnosis
    from unrelu._old.results.distances import DistanceCompletion
    from unrelu._old.results.rectangular import RectangularCompletion
    from unrelu._old.results.table import TableCompletion
    from unrelu._old.results.table_certificate import TableCertificate
    from unrelu._old.scale.options import Landmarks
    from unrelu._old.solvers import (
        ADMM,
        GNMR,
        PAM,
        SDP,
        Direct,
        GaussNewton,
        GradientDescent,
        MomentumPAM,
        ScaledGD,
        Solver,
    )
    from unrelu._old.starts import (
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
    from unrelu._old.uncertainty.error_bars import ErrorBars
    from unrelu._old.uncertainty.noise import Noise

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

# Where the names are defined; modules are imported when a name is first used.
_MEMBERS = {
    "unrelu._old.auto.rehearsed": "Rehearsal",
    "unrelu._old.auto.strategy": "Auto Strategy",
    "unrelu._old.base.errors": "CompletionWarning InputError",
    "unrelu._old.certify": "certify",
    "unrelu._old.certify_rectangular": "certify_rectangular",
    "unrelu._old.compare": "compare",
    "unrelu._old.complete": "complete",
    "unrelu._old.complete_distances": "complete_distances",
    "unrelu._old.complete_rectangular": "complete_rectangular",
    "unrelu._old.complete_table": "complete_table",
    "unrelu._old.data.dask_source": "DaskSource",
    "unrelu._old.data.limits": "Limits",
    "unrelu._old.data.source": "Source",
    "unrelu._old.data.zarr_source": "ZarrSource",
    "unrelu._old.diagnose": "diagnose",
    "unrelu._old.distances.edges": "EdgeList",
    "unrelu._old.estimators.distances": "DistanceCompleter",
    "unrelu._old.estimators.psd": "PSDCompleter",
    "unrelu._old.estimators.table": "TableCompleter",
    "unrelu._old.io.edges": "edges",
    "unrelu._old.loop.history": "History Record Stop Verdict",
    "unrelu._old.loop.stopping": "DetailBelow GradientNormBelow MaxIterations "
    "MaxSeconds ObjectiveBelow RelativeGradientNormBelow Stagnation",
    "unrelu._old.model.detection": "DetectionCurve",
    "unrelu._old.model.factors": "Factors Symmetric TwoSided",
    "unrelu._old.model.losses": "Censored Detected Loss Observed OneSided",
    "unrelu._old.rehearse": "rehearse",
    "unrelu._old.results.certificate": "Certificate",
    "unrelu._old.results.comparison": "Comparison",
    "unrelu._old.results.completion": "Completion",
    "unrelu._old.results.diagnosis": "Diagnosis",
    "unrelu._old.results.distances": "DistanceCompletion",
    "unrelu._old.results.rectangular": "RectangularCompletion",
    "unrelu._old.results.table": "TableCompletion",
    "unrelu._old.results.table_certificate": "TableCertificate",
    "unrelu._old.scale.options": "Landmarks",
    "unrelu._old.solvers": "ADMM GNMR PAM SDP Direct GaussNewton GradientDescent MomentumPAM ScaledGD Solver",
    "unrelu._old.starts": "Clique Gaussian RandomFill RandomImputation RandomSpectral "
    "RankIncreasing Shrinking Spectral Start Tailored",
    "unrelu._old.uncertainty.error_bars": "ErrorBars",
    "unrelu._old.uncertainty.noise": "Noise",
}
_MODULES = {
    "data": "unrelu._old.data",
    "experiments": "unrelu._old.experiments",
    "io": "unrelu._old.io",
    "kernels": "unrelu._old.kernels",
    "loop": "unrelu._old.loop",
    "model": "unrelu._old.model",
    "plots": "unrelu._old.show.plots",
    "problems": "unrelu._old.problems",
    "proofs": "unrelu._old.proofs",
    "results": "unrelu._old.results",
    "sampling": "unrelu._old.data.sampling",
    "solvers": "unrelu._old.solvers",
    "starts": "unrelu._old.starts",
    "theory": "unrelu._old.theory",
}
_HOMES = {name: module for module, names in _MEMBERS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    elif name == "datasets":
        value = import_module("unrelu.datasets")
    else:
        raise AttributeError(f"module 'unrelu' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "datasets"})
