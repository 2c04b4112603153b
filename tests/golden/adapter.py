"""The only module of the golden set that names the package: a renamed argument is one edit here.

Instances are written in the words of ``interface.md``; this adapter makes the calls of version 0.1 from them.
Options are plain values: ``{"loss": "censored", "sigma": 0.1, "method": ["gauss-newton", {"max_inner": 50}]}``.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import unrelu
from tests.golden.case import Case, Data, generator
from tests.golden.objective import objective

__all__ = ["CALLS", "EXTRAS", "STATUSES", "Answer", "answer"]

PROBES = 40
# Names of version 0.1, which the oracle answers with; later versions have those of the interface.
IS_FIRST = unrelu.__version__.startswith("0.1.")
RENAMED = {"observed": "seen", "missing": "gaps", "bounds": "entry_range", "validate": "rehearse"} if IS_FIRST else {}
SOLVERS = {
    "auto": unrelu.Auto,
    "gauss-newton": unrelu.GaussNewton,
    "gradient-descent": unrelu.GradientDescent,
    "scaled-gd": unrelu.ScaledGD,
    "pam": unrelu.PAM,
    "momentum-pam": unrelu.MomentumPAM,
    "gnmr": unrelu.GNMR,
    "admm": unrelu.ADMM,
    "sdp": unrelu.SDP,
    "direct": unrelu.Direct,
    "landmarks": unrelu.Landmarks,
}
# Words of version 0.1 and the words of the interface for them; all others are ``stopped``.
STATUSES = {
    "fitted": "exact",
    "fitted-to-noise": "noise-level",
    "sampled": "noise-level",
    "best-of-rank": "approximate",
    "stationary": "approximate",
    "predicts": "predictive",
    "does-not-extrapolate": "baseline",
    "underdetermined": "underdetermined",
    "input-error": "contradiction",
}


@dataclass
class Answer:
    """What is stored of an answer.

    Attributes
    ----------
    status : str
        The word of the result.
    rank : int, optional
    values : list of float
        Predictions at fixed probes, NaN where there is none.
    determined : list of bool
        Whether each probe is determined by the data.
    error : float, optional
        rms error over the missing entries against the planted truth, relative to its scale.
    objective : float, optional
        The cost of the fit by ``objective.py``.
    numbers : dict of str to list of float
        Interval ends, standard errors and the like, compared within a tolerance.
    facts : dict
        Counts and words, compared exactly.
    seconds : float
    """

    status: str
    rank: int | None = None
    values: list[float] = field(default_factory=list)
    determined: list[bool] = field(default_factory=list)
    error: float | None = None
    objective: float | None = None
    numbers: dict[str, list[float]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def answer(case: Case) -> Answer:
    """Solve an instance by the package. A refusal is an answer too: its status is the type of the error."""
    data = case.data()
    began = _cpu_seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = CALLS[case.call](case, data)
        except unrelu.InputError:
            found = Answer("input-error")
        except Exception as error:  # of the package, which must not end the run
            found = Answer(f"defect: {type(error).__name__}: {error}"[:120])
    found.seconds = _cpu_seconds() - began
    return found


def _cpu_seconds() -> float:
    """Return the seconds of this process and of the commands that it has run."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def probes(case: Case, shape: tuple[int, ...], observed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the fixed places (rows, columns) of an instance, missing ones if there are enough."""
    g = generator(f"probes of {case.seed or case.name}")
    if observed is not None and (~observed).sum() >= PROBES:
        rows, cols = np.nonzero(~observed)
        chosen = g.choice(len(rows), PROBES, replace=False)
        return rows[chosen], cols[chosen]
    return g.integers(0, shape[0], PROBES), g.integers(0, shape[1], PROBES)


# ---------------------------------------------------------------------------------------------------- matrices

LARGE = 2000  # rows from which on answers are compared at sampled entries alone
SAMPLED = 4000  # that many
NEW = 8  # columns of new rows that are recorded


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Turn options in the words of the interface into arguments of version 0.1."""
    made = {RENAMED.get(name, name): value for name, value in options.items()}
    if made.get("diagonal") == "free":
        made["diagonal"] = "unknown"
    if isinstance(made.get("threshold"), dict):
        made["threshold"] = unrelu.Limits(**made["threshold"])
    if isinstance(made.get("loss"), list | tuple):
        made |= _loss(*made.pop("loss"))
    if isinstance(made.get("method"), list | tuple):
        made |= _method(*made.pop("method"))
    return made


def _loss(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return arguments for a loss with parameters."""
    if name == "detected":
        curve = unrelu.DetectionCurve(level=options["level"], width=options["width"])
        return {"loss": unrelu.Detected(curve=curve)}
    if name == "censored" and not {"weights", "pairs"} & options.keys():
        return {"loss": unrelu.Censored(**options)}
    return {"loss": name} | options


def _method(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return arguments for a solver with parameters, those that are arguments of the call apart."""
    options = dict(options)
    moved = {"memory": "peak_memory", "checkpoint": "checkpoint", "tol": "tol", "max_iter": "max_iter"}
    made = {argument: options.pop(own) for own, argument in moved.items() if own in options}
    if "start" in options:
        made["start"] = options.pop("start")
    if isinstance(made.get("tol"), dict):
        rules = made["tol"]
        made["tol"] = unrelu.GradientNormBelow(rules["gradient norm"]) | unrelu.MaxSeconds(rules["seconds"])
    made["method"] = SOLVERS[name](**options) if options else name
    return made


def _complete(case: Case, data: Data) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        result = _completed(case, data, folder)
        return _of_matrix(case, data, result)


def _completed(case: Case, data: Data, folder: str, **replaced: Any) -> Any:
    """Return the completion of an instance; ``replaced`` stands in for what it is given."""
    options = {"rng": 0} | dict(case.options)
    given = {name: value for name, value in data.given.items() if name not in ("new", "more", "labels")}
    structure = options.pop("structure", "psd")
    form = options.pop("form", None)
    made = _arguments(given | options | replaced)
    X = made.pop("X")
    if form is not None:
        X = FORMS[form](X, data.given, Path(folder))
    if isinstance(made.get("checkpoint"), str):
        made["checkpoint"] = str(Path(folder) / made["checkpoint"])
    rank = made.pop("rank", None)
    if structure == "rectangular":
        return unrelu.complete_rectangular(X, rank, **made)
    return unrelu.complete(X, rank, structure=structure, **made)


# How a matrix comes in, by the word of the option ``form``: from the array, what else is given, and a folder.


def _frame(X: Any, given: dict[str, Any], folder: Path) -> Any:
    import pandas as pd

    columns = given["labels"]
    rows = columns if len(columns) == len(X) else [f"row {i}" for i in range(len(X))]
    return pd.DataFrame(X, index=rows, columns=columns)


def _sparse(X: Any, given: dict[str, Any], folder: Path) -> Any:
    rows, cols = np.nonzero(~np.isnan(X))
    return sp.csr_array((X[rows, cols], (rows, cols)), shape=X.shape)


def _memory_map(X: Any, given: dict[str, Any], folder: Path) -> Any:
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def _zarr(X: Any, given: dict[str, Any], folder: Path) -> Any:
    import zarr

    array = zarr.create_array(store=folder / "X.zarr", shape=X.shape, chunks=(256, 256), dtype=X.dtype)
    array[:] = X
    return array


def _dask(X: Any, given: dict[str, Any], folder: Path) -> Any:
    import dask.array

    return dask.array.from_array(X, chunks=(512, 512))


def _source(X: Any, given: dict[str, Any], folder: Path) -> Any:
    class Blocks(unrelu.Source):
        shape, dtype = X.shape, np.dtype(X.dtype)

        def block(self, rows: Any, cols: Any) -> Any:
            ends = (place if isinstance(place, slice) else np.asarray(place) for place in (rows, cols))
            i, j = (np.arange(side)[place] for side, place in zip(X.shape, ends, strict=True))
            return X[i[:, None], j]

    return Blocks()


def _edges(X: Any, given: dict[str, Any], folder: Path) -> Any:
    rows, cols = np.nonzero(~np.isnan(X))
    entries = zip(rows.tolist(), cols.tolist(), X[rows, cols].tolist(), strict=True)
    lines = [f"{i},{j},{value!r}" for i, j, value in entries if i <= j]
    path = folder / "edges.csv"
    path.write_text("row,column,value\n" + "\n".join(lines) + "\n")
    return unrelu.edges(path, shape=X.shape)


def _strided(X: Any, given: dict[str, Any], folder: Path) -> Any:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), -1.0)
    wide[::2, ::3] = X
    return wide[::2, ::3]


FORMS = {
    "dask": _dask,
    "edges": _edges,
    "fortran": lambda X, given, folder: np.asfortranarray(X),
    "frame": _frame,
    "list": lambda X, given, folder: X.tolist(),
    "masked": lambda X, given, folder: np.ma.masked_invalid(X),
    "masked integers": lambda X, given, folder: np.ma.MaskedArray(np.nan_to_num(X).astype(int), np.isnan(X)),
    "memory map": _memory_map,
    "source": _source,
    "sparse": _sparse,
    "strided": _strided,
    "zarr": _zarr,
}


def _of_matrix(case: Case, data: Data, result: Any) -> Answer:
    seen = _observed(data) if result.size <= LARGE else None
    rows, cols = probes(case, result.shape, seen)
    found = Answer(str(result.verdict.code.value), int(result.rank))
    filled = np.asarray(result.filled(), float) if seen is not None else None
    found.values = _floats(result.entries(rows, cols) if filled is None else filled[rows, cols])
    if result.posterior is None and not result.forecasts:  # those hold for every entry
        levels = np.asarray(result.entry_determinacy(rows, cols))
        found.determined = [bool(level != "no") for level in levels]
    found.facts["determined rows"] = int(np.sum(result.determined))
    if hasattr(result, "columns_determined"):
        found.facts["determined columns"] = int(np.sum(result.columns_determined))
    if data.truth is not None and seen is not None:
        found.error = _error(filled, data.truth, ~seen, data.scale)
    elif data.truth is not None:
        found.error = _sampled_error(case, result, data)
    if data.known is not None and "no objective" not in case.wants:
        loss = case.options.get("loss", "auto")
        loss = loss if loss in ("observed", "one-sided") else "censored" if data.noise else "one-sided"
        sigma = data.noise or 1.0
        found.objective = objective(np.asarray(result.matrix(), float), data.known, sigma, loss)
    for name in case.wants:
        if name in EXTRAS:
            EXTRAS[name](found, result, rows, cols, case, data)
    return found


def _observed(data: Data) -> np.ndarray | None:
    """Return which entries are observed, if they are stored."""
    values = data.given["X"] if data.known is None else data.known.values
    return ~np.isnan(values) if isinstance(values, np.ndarray) else None


def _predicted(result: Any, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Return what is filled in at places that were not observed."""
    if result.size <= LARGE:
        return np.asarray(result.filled(), float)[rows, cols]
    return np.asarray(result.entries(rows, cols), float)


def _error(filled: np.ndarray, truth: np.ndarray, where: np.ndarray, scale: float | None) -> float | None:
    if not where.any():
        return None
    scale = scale or float(np.sqrt(np.mean(truth**2)))
    return float(np.sqrt(np.nanmean((filled - truth)[where] ** 2)) / scale)


def _sampled_error(case: Case, result: Any, data: Data) -> float:
    """Return the error of the fit at sampled entries of a large matrix."""
    g = generator(f"sample of {case.seed or case.name}")
    rows, cols = (g.integers(0, side, SAMPLED) for side in result.shape)
    truth = data.truth[rows, cols]
    fit = np.asarray(result.entries(rows, cols), float)
    return float(np.sqrt(np.mean((fit - truth) ** 2) / np.mean(truth**2)))


def _floats(values: Any) -> list[float]:
    return np.asarray(values, float).ravel().tolist()


def _validate(case: Case, data: Data) -> Answer:
    """Score models on held-out entries, without completing the matrix."""
    made = _arguments({"rng": 0} | data.given | dict(case.options))
    scored = unrelu.rehearse(made.pop("X"), made.pop("rank", None), **made)
    found = Answer("validated")
    _scores(found, scored)
    # Of a completion without a rank, how many models are tried hangs on rounding.
    found.facts["models"] = len(scored.trials)
    found.numbers["scores of models"] = [trial.gain for trial in scored.trials]
    return found


def _scores(found: Answer, scored: Any) -> None:
    found.facts |= {"chosen": str(scored.best), "extrapolates": bool(scored.extrapolates)}
    found.numbers |= {"held-out scores": _floats(scored.gains), "shrinkage": [float(scored.damping)]}
    found.numbers |= {"held-out error": [float(scored.sigma), float(scored.spread)]}
    found.numbers["held-out shares"] = [level.share for level in scored.levels]
    limits = [level.limit for level in scored.levels if level.limit is not None]
    found.numbers["raised thresholds"] = _floats(limits)


def _certify(case: Case, data: Data) -> Answer:
    """Certify a matrix without completing it first."""
    made = _arguments(data.given | dict(case.options))
    certify = unrelu.certify_rectangular if made.pop("structure", "psd") == "rectangular" else unrelu.certify
    found = Answer("certified")
    _facts_of_certificate(found, certify(made.pop("X"), made.pop("rank", None), **made))
    return found


def _complete_rows(case: Case, data: Data) -> Answer:
    """Fit an estimator and complete new rows by it."""
    made = {"random_state": 0} | _arguments(data.given | dict(case.options))
    X, new = made.pop("X"), made.pop("new")
    fitted = unrelu.PSDCompleter(made.pop("rank", None), **made).fit(X)
    found = Answer(str(fitted.completion_.verdict.code.value), int(fitted.rank_))
    found.numbers["new rows"] = _floats(np.asarray(fitted.transform(new), float)[:, :NEW])
    if not fitted.completion_.forecasts:
        # Inner products with the fitted rows do not depend on the frame of the factor.
        found.numbers["embedded"] = _floats((fitted.embed(new) @ fitted.factor_.T)[:, :NEW])
    found.numbers["score"] = [float(fitted.score(new))]
    return found


# What can be recorded besides, by its name in `Case.wants`.


def _fit(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.numbers["fit"] = _floats(result.entries(rows, cols))
    if result.largest_misfit is not None:
        found.numbers["largest residual"] = [float(result.largest_misfit.size)]
    if data.noise:
        found.numbers |= {"relative residual": [float(result.residual)], "cost": [float(result.objective)]}
    if result.sigma is not None:
        found.numbers["sigma of the fit"] = [float(result.sigma)]


def _intervals(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    low, high = result.predict(rows, cols)
    found.numbers |= {"prediction low": _floats(low), "prediction high": _floats(high)}
    low, high = result.predict(rows, cols, 0.8)
    found.numbers |= {"prediction low 80 %": _floats(low), "prediction high 80 %": _floats(high)}
    if data.truth is not None and data.noise:
        inside = (data.truth[rows, cols] >= low) & (data.truth[rows, cols] <= high)
        found.facts["truth inside 80 %"] = int(np.sum(inside))


def _errors(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    for level, word in ((0.95, ""), (0.8, " 80 %")):
        low, high = result.interval(rows, cols, level)
        found.numbers |= {f"confidence low{word}": _floats(low), f"confidence high{word}": _floats(high)}
    found.numbers["standard error"] = _floats(result.standard_errors(rows, cols))
    found.numbers["sigma"] = [float(result.noise.sigma)]
    found.facts["degrees of freedom"] = int(result.noise.degrees_of_freedom)
    bars = result.error_bars()
    found.facts["caution"] = getattr(bars, "caution", None) is not None


def _bounds(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    low, high = result.bounds(rows[:12], cols[:12])
    found.numbers |= {"bound low": _floats(low), "bound high": _floats(high)}


def _levels(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    names, counts = np.unique(np.asarray(result.determinacy).astype(str), return_counts=True)
    found.facts["levels"] = dict(zip(names.tolist(), counts.tolist(), strict=True))
    found.facts["components"] = len(np.unique(result.components))
    found.facts["share determined"] = round(float(result.determined_share), 6)
    names, counts = np.unique(result.entry_determinacy(np.arange(8)[:, None], np.arange(8)), return_counts=True)
    found.facts["levels of entries"] = dict(zip(names.tolist(), counts.tolist(), strict=True))
    found.facts["undetermined rows"] = np.flatnonzero(~np.asarray(result.determined)).tolist()
    blanked = np.isnan(np.asarray(result.matrix(undetermined="nan"), float))
    found.facts["blanked entries"] = int(blanked.sum())
    if hasattr(result, "column_determinacy"):
        names, counts = np.unique(np.asarray(result.column_determinacy).astype(str), return_counts=True)
        found.facts["levels of columns"] = dict(zip(names.tolist(), counts.tolist(), strict=True))
        found.facts["undetermined columns"] = np.flatnonzero(~np.asarray(result.columns_determined)).tolist()


def _certificate(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    certify = unrelu.certify_rectangular if case.options.get("structure") == "rectangular" else unrelu.certify
    _facts_of_certificate(found, certify(result))


def _facts_of_certificate(found: Answer, certificate: Any) -> None:
    found.facts |= {"certificate": str(certificate.kind), "unique": bool(certificate.unique)}
    found.facts["groups"] = len(certificate.groups)
    found.facts["determined"] = int(np.sum(certificate.determined))
    if hasattr(certificate, "columns_determined"):
        found.facts["determined columns"] = int(np.sum(certificate.columns_determined))
        found.facts["shortages"] = len(certificate.shortages)
        return
    found.facts |= {"any rank": bool(certificate.any_rank), "failed": sorted(certificate.failed)}
    found.facts["shortages"] = [
        [one.row, one.seen, one.independent, one.needed, list(one.ask_for)] for one in certificate.shortages
    ]
    # The bound itself is made of rounding errors.
    found.facts["bound below 1e-6"] = bool(certificate.bound < 1e-6)
    if certificate.planted is not None:
        held = {name: bool(report.holds) for name, report in certificate.assumptions.items()}
        found.facts["assumptions"] = held
        found.numbers["curvature"] = [float(certificate.gamma), float(certificate.lambda_)]


def _outliers(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    flagged = sorted(result.distrusted, key=lambda one: (one.row, one.column))
    found.facts["outliers"] = [[int(one.row), int(one.column)] for one in flagged]
    found.facts["left out"] = len(result.left_out[0])
    for name in ("value", "expected", "deviations"):
        found.numbers[f"outliers: {name}"] = [float(getattr(one, name)) for one in flagged]


def _detection(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    detection = result.detection
    found.facts["missing"] = None if detection is None else str(detection.kind)
    if detection is None:
        return
    ends = ("level_interval", "width_interval", "share_interval")
    named = {name: _floats(getattr(detection, name)) for name in ("level", "width", "share", "stray", *ends)}
    found.numbers |= {f"missing: {name}": value for name, value in named.items()}
    found.numbers["missing: probability"] = _floats(detection.probability(np.linspace(-1, 1, 5)))
    used = result.threshold
    found.numbers["threshold"] = [] if used is None else _floats(used)


def _posterior(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    posterior = result.posterior
    deviation = np.asarray(posterior.standard_deviation(rows, cols), float)
    size = np.asarray(posterior.effective_sample_size(rows, cols), float)
    error = _floats(deviation / np.sqrt(size))
    found.numbers |= {"sampled mean": _floats(posterior.mean(rows, cols)), "monte carlo error": error}
    found.numbers["sampled expectation"] = _floats(posterior.expectation(rows, cols))
    for level in (0.95, 0.8):
        low, high = posterior.interval(rows, cols, level)
        found.numbers |= {f"sampled low {level}": _floats(low), f"sampled high {level}": _floats(high)}
        low, high = posterior.mean_interval(rows, cols, level)
        found.numbers |= {f"sampled mean low {level}": _floats(low), f"sampled mean high {level}": _floats(high)}
    found.numbers["sampled deviation"] = _floats(deviation)
    found.numbers["sampled above"] = _floats(posterior.probability_above(0.0, rows, cols))
    found.numbers["sampled sigma"] = [float(posterior.noise.sigma)]
    found.facts["chains agree"] = bool(posterior.worst[0] <= 1.05)


def _new_rows(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.numbers["new rows"] = _floats(np.asarray(result.new_rows(data.given["new"]), float)[:, :NEW])


def _signs(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["signs"] = sorted(np.asarray(result.signs).astype(int).tolist())


def _saved(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.npz"
        result.save(path)
        again = type(result).load(path).with_data(data.given["X"], data.given.get("unknown"))
    found.numbers["saved"] = _floats(_predicted(again, rows, cols))
    found.facts["saved status"] = str(again.verdict.code.value)


def _resumed(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    """Start from the answer, with more entries if there are some."""
    again = unrelu.complete(data.given.get("more", data.given["X"]), result.rank, start=result, rng=0)
    found.numbers["resumed"] = _floats(_predicted(again, rows, cols))
    found.facts["resumed with fewer steps"] = bool(len(again.history) <= len(result.history))
    found.facts["resumed status"] = str(again.verdict.code.value)


def _validation(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["validated"] = result.rehearsal is not None
    if result.rehearsal is not None:
        _scores(found, result.rehearsal)


def _words(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    """Record the words for success, and whether the message fits on a line."""
    found.facts["message of at most 120 characters"] = len(str(result.verdict)) <= 120
    found.facts["words for success"] = [bool(result.verdict.converged), bool(result.verdict.answered)]


def _in_time(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    """Record whether the time limit held within 0.3 s or 10 %, by the result's own clock."""
    limit = case.options["max_seconds"]
    found.facts["in time"] = bool(result.seconds <= max(limit + 0.3, 1.1 * limit))


def _history(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    for name in ("error", "objective"):
        last = float(result.history.column(name)[-1])
        found.facts[f"last {name} below 1e-9"] = bool(last < 1e-9)


def _types(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    """Record the types that come back, and their labels if there are some."""
    for name in ("filled", "matrix"):
        back = getattr(result, name)()
        found.facts[name] = [type(back).__name__, str(np.asarray(back).dtype)]
        if hasattr(back, "index"):
            found.facts[f"labels of {name}"] = [list(map(str, back.index[:3])), list(map(str, back.columns[:3]))]
    if "labels" in data.given:
        labels = data.given["labels"]
        row = labels[0] if result.shape[0] == len(labels) else "row 0"
        found.numbers["entry by label"] = [float(result.entries(row, labels[1]))]


def _read(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    """Record how much of a large matrix was read, and how well its rows are conditioned."""
    n, m = result.shape
    found.facts["passes read"] = round(result.entries_read / (n * m), 2)
    if result.conditioning is not None:
        found.numbers["conditioning"] = _floats(np.quantile(result.conditioning, [0, 0.1, 0.5, 0.9, 1]))


def _written(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    import zarr

    with tempfile.TemporaryDirectory() as folder:
        result.write_zarr(Path(folder) / "filled.zarr", data.given["X"])
        written = zarr.open_array(Path(folder) / "filled.zarr", mode="r")[:]
    found.numbers["written"] = _floats(written[rows, cols])


def _continued(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    """Run twice with one checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        twice = [_completed(case, data, folder) for _ in range(2)]
    found.facts["read again"] = bool(twice[1].entries_read >= twice[0].entries_read)
    for number, again in enumerate(twice, 1):
        found.numbers[f"run {number} with a checkpoint"] = _floats(again.entries(rows, cols))


EXTRAS = {
    "intervals": _intervals,
    "errors": _errors,
    "bounds": _bounds,
    "levels": _levels,
    "certificate": _certificate,
    "outliers": _outliers,
    "detection": _detection,
    "posterior": _posterior,
    "new rows": _new_rows,
    "signs": _signs,
    "saved": _saved,
    "resumed": _resumed,
    "validation": _validation,
    "continued": _continued,
    "fit": _fit,
    "types": _types,
    "history": _history,
    "read": _read,
    "words": _words,
    "written": _written,
}

# ---------------------------------------------------------------------------------------------------- tables


def _impute(case: Case, data: Data) -> Answer:
    options = {"rng": 0} | dict(case.options)
    given = data.given
    made = _arguments(options)
    made["log"] = made.pop("scale", "identity") == "log"
    made["threshold"] = _limits_of(given, made.pop("limits", given.get("limits")))
    made["unknown"] = given.get("unknown")
    result = unrelu.complete_table(_frame_of(given, given["X"]), made.pop("rank", None), **made)
    return _of_table(case, data, result)


def _limits_of(given: dict[str, Any], limits: Any) -> Any:
    if "intervals" in given:
        return unrelu.Limits(**given["intervals"])
    if "series" in given:
        import pandas as pd

        return pd.Series(limits)
    return limits


def _frame_of(given: dict[str, Any], X: np.ndarray) -> Any:
    """Return a data frame if columns have names, with the columns of text and constants that belong to it."""
    if "names" not in given:
        return X
    import pandas as pd

    frame = pd.DataFrame(X, columns=given["names"], index=[f"row {k}" for k in range(len(X))])
    for name, values in (given.get("text", {}) | given.get("constant", {})).items():
        frame[name] = values
    return frame


def _of_table(case: Case, data: Data, result: Any) -> Answer:
    missing = np.isnan(data.given["X"]) & ~np.isnan(data.truth)
    rows, cols = probes(case, result.shape, ~missing)
    found = Answer(str(result.verdict.code.value), None if result.rank is None else int(result.rank))
    filled = _in_units(_numbers_in(result.filled()), data, case)
    truth = _in_units(data.truth, data, case)
    found.values = _floats(filled[rows, cols])
    found.error = _error(filled, truth, missing, 1.0)
    if result.exact is not None:  # of all columns
        found.determined = [bool(level != "no") for level in result.exact.entry_determinacy(rows, cols)]
    found.facts["columns"] = np.asarray(result.columns).tolist()
    flags, counts = np.unique(result.status(), return_counts=True)
    found.facts["flags"] = dict(zip(flags.tolist(), counts.tolist(), strict=True))
    for name in case.wants:
        EXTRAS[name](found, result, rows, cols, case, data)
    return found


def _in_units(values: np.ndarray, data: Data, case: Case, cols: Any = slice(None)) -> np.ndarray:
    """Return values (logarithms where these were completed) in standard deviations of their columns."""
    log = case.options.get("scale") == "log"
    with np.errstate(divide="ignore", invalid="ignore"):
        truth, values = (np.log(one) if log else one for one in (data.truth, np.asarray(values, float)))
    return values / np.std(truth, axis=0)[cols]


def _numbers_in(table: Any) -> np.ndarray:
    """Return the cells of a table as numbers, NaN for text."""
    if isinstance(table, np.ndarray):
        return table.astype(float)
    import pandas as pd

    return table.apply(pd.to_numeric, errors="coerce").to_numpy(float)


def _table_model(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts |= {"model": result.model, "models tried": len(result.rehearsal.tried)}
    found.facts["held-out cells"] = int(result.rehearsal.cells)
    found.numbers["gain"] = [float(result.rehearsal.gain)]
    found.numbers["width"] = _floats(result.rehearsal.width)
    spread = np.nanstd(data.truth, axis=0)[result.columns]
    found.numbers["sigma"] = _floats(np.asarray(result.sigma) / spread)


def _table_intervals(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    for level in (0.95, 0.8):
        ends = (_in_units(end, data, case, cols) for end in result.predict(rows, cols, level=level))
        found.numbers |= {f"{end} {level}": _floats(value) for end, value in zip(("low", "high"), ends, strict=True)}
    i, j = np.nonzero(np.isnan(data.given["X"]) & ~np.isnan(data.truth))
    low, high = result.predict(i, j)
    found.numbers["coverage"] = [float(np.mean((low <= data.truth[i, j]) & (data.truth[i, j] <= high)))]


def _table_middle(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.numbers["middle"] = _floats(_in_units(result.middle(), data, case)[rows, cols])


def _table_exact(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["exact"] = result.exact is not None


def _table_counts(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["counts"] = np.asarray(result.counts).tolist()
    found.numbers["least"] = [float(np.nanmin(_numbers_in(result.filled())))]


def _table_limits(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    limits = result.terms.threshold
    found.facts["limits found"] = limits is not None
    if limits is not None:
        found.numbers["limits"] = _floats(np.ravel(limits) / data.truth.std(axis=0))


def _table_outliers(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    flagged = np.zeros(result.shape, bool)
    for one in result.distrusted:
        flagged[one.row, one.column] = True
    wrong = data.given.get("wrong", np.zeros(result.shape, bool))
    found.facts["outliers"] = np.argwhere(flagged).tolist()
    found.facts["gross errors found"] = [int((flagged & wrong).sum()), int(wrong.sum())]
    found.facts["flagged without reason"] = int((flagged & ~wrong).sum())
    found.numbers["outliers expected"] = [one.expected / data.truth[:, one.column].std() for one in result.distrusted]
    found.numbers["outliers deviations"] = [one.deviations for one in result.distrusted]


def _table_labels(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    filled = result.filled()
    found.facts |= {"untouched": sorted(result.untouched), "rows": [*result.labels][:3]}
    found.facts |= {"column labels": list(result.column_labels), "frame columns": list(filled.columns)}
    given = _frame_of(data.given, data.given["X"])
    found.facts["text kept"] = all(filled[name].equals(given[name]) for name in data.given["text"])
    low, high = result.predict(list(given.index[:2]), list(data.given["names"][1:3]))
    found.numbers["by labels"] = _floats(np.stack([low, high]))


def _table_dtype(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["dtype"] = str(result.filled().dtype)


def _table_new_rows(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    new, truth = data.given["new"], data.given["new truth"]
    filled = _in_units(_numbers_in(result.new_rows(_frame_of(data.given, new))), data, case)
    hidden = np.isnan(new)
    found.numbers["new rows"] = _floats(filled[hidden][:PROBES])
    if data.noise:
        found.numbers["error of new rows"] = [_error(filled, _in_units(truth, data, case), hidden, 1.0)]


def _table_likelihood(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.numbers["log-likelihood"] = [float(result.log_likelihood(_frame_of(data.given, data.given["new"])))]


EXTRAS |= {
    "in time": _in_time,
    "table model": _table_model,
    "table intervals": _table_intervals,
    "table middle": _table_middle,
    "table exact": _table_exact,
    "table counts": _table_counts,
    "table limits": _table_limits,
    "table outliers": _table_outliers,
    "table labels": _table_labels,
    "table dtype": _table_dtype,
    "table new rows": _table_new_rows,
    "table likelihood": _table_likelihood,
}


# ---------------------------------------------------------------------------------------------------- points


def _locate(case: Case, data: Data) -> Answer:
    options = {"rng": 0} | dict(case.options)
    given = dict(data.given)
    for name in ("cutoff", "bounds", "anchors", "sigma", "start"):
        if name in given:
            options[name] = given[name]
    lower, upper = options.pop("bounds", (None, None))
    D = _distances_of(given, options)
    result = unrelu.complete_distances(D, options.pop("dim"), lower=lower, upper=upper, **options)
    return _of_points(case, data, result)


def _distances_of(given: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the distances in the form in which they are passed."""
    D, form = given["D"], given.get("form", "")
    if form in ("edges", "table"):
        i, j = np.nonzero(np.triu(~np.isnan(D), 1))
        if form == "table":
            return np.column_stack([i, j, D[i, j]])
        if "names" not in given:
            return unrelu.EdgeList(np.column_stack([i, j]), D[i, j], size=len(D))
        names = given["names"]
        pairs = [(names[a], names[b]) for a, b in zip(i, j, strict=True)]
        sigma = options.pop("sigma")[i, j]
        return unrelu.EdgeList(pairs, D[i, j], sigma=sigma, names=names)
    if form == "sparse":
        import scipy.sparse

        return scipy.sparse.csr_array(np.nan_to_num(D))
    if form == "frame":
        import pandas as pd

        return pd.DataFrame(D, index=given["names"], columns=given["names"])
    if form == "masked":
        return np.ma.masked_invalid(D)
    if form == "upper":
        return np.where(np.tri(len(D), k=-1, dtype=bool), np.nan, D)
    return D.astype(np.float32) if form == "float32" else D


def _of_points(case: Case, data: Data, result: Any) -> Answer:
    pair = ~np.eye(result.size, dtype=bool)
    seen = ~np.isnan(data.known.values)
    rows, cols = probes(case, seen.shape, seen)
    found = Answer(str(result.verdict.code.value), int(result.dim))
    apart = np.asarray(result.distances(), float)
    found.values = _floats(apart[rows, cols])
    fixed = _fixed_pairs(result)
    found.determined = fixed[rows, cols].tolist()
    truth = np.linalg.norm(data.truth[:, None] - data.truth, axis=2)
    missing = fixed & pair & ~seen
    found.error = _error(apart, truth, missing if missing.any() else fixed & pair, data.scale)
    if "no objective" not in case.wants:
        loss = case.options.get("loss", "auto")
        noise = data.noise or 1.0
        loss = (
            "observed" if loss == "distances" else "one-sided" if loss == "one-sided" or not data.noise else "censored"
        )
        found.objective = objective(apart, data.known, noise, loss)
    found.facts["determined points"] = int(np.sum(result.determined))
    words, counts = np.unique(result.determinacy, return_counts=True)
    found.facts["levels"] = dict(zip(words.tolist(), counts.tolist(), strict=True))
    found.facts["components"] = sorted(np.bincount(result.components).tolist())
    found.facts["pairs"] = [len(result.pairs), int(np.sum(result.fitted))]
    found.facts["framed"] = bool(result.framed)
    for name in case.wants:
        if name in EXTRAS:
            EXTRAS[name](found, result, rows, cols, case, data)
    return found


def _fixed_pairs(result: Any) -> np.ndarray:
    """Return whether the distance of each pair is determined: both points are, in one component."""
    one_component = np.equal.outer(result.components, result.components)
    return np.logical_and.outer(result.determined, result.determined) & one_component


def _points_errors(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    sizes = np.sqrt(np.trace(result.covariances, axis1=1, axis2=2))  # whatever the frame
    found.numbers["standard errors"] = _floats(sizes[:PROBES])
    if result.framed:
        found.numbers["standard errors of coordinates"] = _floats(result.standard_errors[:PROBES])
    found.numbers["sigma"] = [float(result.sigma)]
    found.numbers["residual"] = [float(result.residual)]
    found.facts["degrees of freedom"] = result.freedom
    largest, *pair = result.largest_misfit
    found.numbers["largest misfit"] = [float(largest)]
    found.facts["largest misfit between"] = pair


def _points_positions(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    known = result.determined & np.isin(result.components, result.components[list(data.given["anchors"])])
    found.numbers["positions"] = _floats(result.points[known][:PROBES])
    off = np.linalg.norm(result.points - data.truth, axis=1)[known]
    found.facts["positions within a tenth"] = int(np.sum(off < 0.1 * data.scale))


def _points_outliers(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    flagged = np.zeros((result.size, result.size), bool)
    for one in result.distrusted:
        flagged[one.row, one.column] = flagged[one.column, one.row] = True
    wrong = data.given.get("wrong", np.zeros_like(flagged))
    found.facts["outliers"] = np.argwhere(np.triu(flagged)).tolist()
    found.facts["gross errors found"] = [int((flagged & wrong).sum()) // 2, int(wrong.sum()) // 2]
    found.facts["flagged without reason"] = int((flagged & ~wrong).sum()) // 2
    found.facts["unchecked"] = len(result.unchecked)
    found.numbers["outliers expected"] = [float(one.expected) for one in result.distrusted]


def _points_choice(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["start"] = result.start
    _points_loss(found, result, rows, cols, case, data)


def _points_loss(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts |= {"loss": result.loss, "censored": bool(result.censored)}


def _points_dimension(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts |= {"dimension": int(result.dimension.dim), "rival": result.dimension.rival}
    found.facts["dimensions tried"] = [int(one.dim) for one in result.dimension.tried]


def _points_names(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["names"] = list(result.names)[:5]
    names = data.given["names"]
    found.numbers["by names"] = _floats(result.entries([names[i] for i in rows], [names[j] for j in cols]))


def _points_explain(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["explained"] = bool(result.explain())


def _points_bounds(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    """Record whether the bounds are kept and, as these do not determine the points, roughly how far these are off."""
    apart = np.asarray(result.distances(), float)
    slack = 1e-6 * data.scale
    broken = (apart < data.known.low - slack) | (apart > data.known.high + slack)
    found.facts["bounds broken"] = int(np.triu(broken, 1).sum())
    truth = np.linalg.norm(data.truth[:, None] - data.truth, axis=2)
    found.facts["error of all distances"] = round(float(np.sqrt(np.mean((apart - truth) ** 2))) / data.scale, 1)


def _points_dtype(found: Answer, result: Any, rows: Any, cols: Any, case: Case, data: Data) -> None:
    found.facts["dtype"] = str(result.points.dtype)


EXTRAS |= {
    "points errors": _points_errors,
    "points positions": _points_positions,
    "points outliers": _points_outliers,
    "points choice": _points_choice,
    "points loss": _points_loss,
    "points dimension": _points_dimension,
    "points names": _points_names,
    "points explain": _points_explain,
    "points bounds": _points_bounds,
    "points dtype": _points_dtype,
}


# ---------------------------------------------------------------- validation, certificates, diagnosis, comparison

CALLED = {"complete_rectangular": "complete", "complete_table": "impute", "complete_distances": "locate"}
INTERFACE = {today: name for name, today in RENAMED.items()} | {"log": "scale"}


def _diagnose(case: Case, data: Data) -> Answer:
    made = _arguments({"rng": 0} | data.given | dict(case.options))
    diagnosis = unrelu.diagnose(made.pop("X"), **made)
    detection = diagnosis.detection
    found = Answer("diagnosed", diagnosis.rank)
    found.facts = {
        "kind": None if detection is None else str(detection.kind),
        "structure": diagnosis.structure,
        "call": CALLED.get(diagnosis.function, diagnosis.function),
        "call with": {INTERFACE.get(name, name): _plain(value) for name, value in (diagnosis.options or {}).items()},
        "beyond the threshold": diagnosis.wrong_side,
        "objection": bool(diagnosis.objection),
        "contradicted": [[entry.row, entry.column] for entry in diagnosis.contradicted],
        "extrapolates": None if diagnosis.extrapolates is None else bool(diagnosis.extrapolates),
        "observed": int(diagnosis.counted.seen),
        "thin rows": _plain(diagnosis.thin_rows),
        "thin columns": _plain(diagnosis.thin_columns),
    }
    if detection is not None:
        found.numbers["threshold interval"] = _floats(detection.curve.level_interval)
    if diagnosis.sigma:
        found.numbers["sigma"] = [float(diagnosis.sigma)]
    found.numbers["spectrum"] = _floats([] if diagnosis.spectrum is None else diagnosis.spectrum)
    return found


def _plain(value: Any) -> Any:
    """Return a value that survives JSON."""
    if isinstance(value, np.ndarray) and value.dtype == bool and value.ndim == 2:
        return f"mask of {int(value.sum())} entries"
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _compare(case: Case, data: Data) -> Answer:
    made = _arguments({"rng": 0} | data.given | dict(case.options))
    if "methods" in made:
        made["methods"] = [SOLVERS[name[0]](**name[1]) if isinstance(name, list) else name for name in made["methods"]]
    if "truth" in case.wants:
        made["truth"] = data.truth
    comparison = unrelu.compare(made.pop("X", None), made.pop("rank", None), **made)
    rows = comparison.summary()
    found = Answer("compared")
    found.facts = {
        "methods": sorted(row["method"] for row in rows),
        "statuses": {row["method"]: str(row["code"]) for row in rows},
        "trials": {row["method"]: row["trials"] for row in rows},
    }
    for row in rows:
        for name in ("error", "objective", "residual"):
            if row[name] is not None and row["residual"] > 1e-8:  # otherwise they are rounding errors
                found.numbers[f"{row['method']}: {name}"] = [float(row[name])]
    return found


# ---------------------------------------------------------------------------------------------------- estimators

FITTED = {
    "PSDCompleter": ("rank_", "factor_", "threshold_", "n_iter_", "completion_", "n_features_in_"),
    "CensoredImputer": ("completion_", "n_features_in_", "feature_names_in_"),
    "DistanceEmbedding": ("embedding_", "determined_", "standard_errors_", "components_", "completion_", "n_iter_"),
}
ESTIMATORS = {
    "PSDCompleter": "PSDCompleter",
    "CensoredImputer": "TableCompleter",
    "DistanceEmbedding": "DistanceCompleter",
}


def _estimator(case: Case, data: Data) -> Answer:
    parameters = _arguments(dict(case.options))
    if parameters.pop("scale", None) == "log":
        parameters["log"] = True
    for name in ("threshold", "limits", "anchors", "weights"):
        if name in data.given:
            parameters["threshold" if name == "limits" else name] = data.given[name]
    made = getattr(unrelu, ESTIMATORS[case.call])(random_state=0, **parameters)
    X = data.given["D"] if case.call == "DistanceEmbedding" else data.given["X"]
    filled = made.fit_transform(X)
    found = _of_estimator(case, data, made, np.asarray(filled, float))
    found.facts["fitted"] = [name for name in FITTED[case.call] if hasattr(made, name)]
    found.facts["parameters"] = sorted(INTERFACE.get(name, name) for name in made.get_params())
    found.facts["answers with a"] = type(filled).__name__
    for name in case.wants:
        ESTIMATOR_EXTRAS[name](found, made, X, data)
    return found


def _of_estimator(case: Case, data: Data, made: Any, filled: np.ndarray) -> Answer:
    completion = made.completion_
    if case.call == "DistanceEmbedding":
        found = Answer(str(completion.verdict.code.value), int(completion.dim))
        apart = np.linalg.norm(filled[:, None] - filled, axis=2)
        rows, cols = probes(case, apart.shape, ~np.isnan(np.asarray(data.given["D"], float)))
        found.values = _floats(apart[rows, cols])
        found.facts["determined points"] = int(np.sum(made.determined_))
        found.facts["components"] = len(np.unique(made.components_))
        if data.noise:
            found.numbers["standard errors"] = _floats(made.standard_errors_)
        if data.truth is not None:
            right = np.linalg.norm(data.truth[:, None] - data.truth, axis=2)
            found.error = _error(apart, right, np.isnan(np.asarray(data.given["D"], float)), data.scale)
        return found
    seen = ~np.isnan(np.asarray(data.given["X"], float))
    rows, cols = probes(case, filled.shape, seen)
    if case.call == "CensoredImputer":
        found = Answer(str(completion.verdict.code.value), completion.rank)
    else:
        found = Answer(str(completion.verdict.code.value), int(made.rank_))
        found.facts["determined rows"] = int(np.sum(completion.with_data(data.given["X"]).determined))
    found.values = _floats(filled[rows, cols])
    found.facts["NaN"] = int(np.isnan(filled).sum())
    if data.truth is not None:
        found.error = _error(filled, data.truth, ~seen, data.scale)
    return found


def _transformed(found: Answer, made: Any, X: Any, data: Data) -> None:
    found.numbers["new rows"] = _floats(np.asarray(made.transform(data.given["new"]), float)[:, :PROBES])


def _embedded(found: Answer, made: Any, X: Any, data: Data) -> None:
    # The frame of a factor is arbitrary, its scalar products are not.
    rows = np.asarray(made.embed(data.given["new"]), float)
    found.numbers["scalar products of new rows"] = _floats(rows @ rows.T)


def _scored(found: Answer, made: Any, X: Any, data: Data) -> None:
    found.numbers["score"] = [float(made.score(data.given.get("held out", X)))]


def _searched(found: Answer, made: Any, X: Any, data: Data) -> None:
    from sklearn.model_selection import GridSearchCV, KFold

    search = GridSearchCV(made, {"rank": [1, 2, 3]}, cv=KFold(3, shuffle=True, random_state=0), refit=False).fit(X)
    found.facts["best rank"] = int(search.best_params_["rank"])
    found.numbers["cross-validated scores"] = _floats(search.cv_results_["mean_test_score"])


def _piped(found: Answer, made: Any, X: Any, data: Data) -> None:
    from sklearn.base import clone
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scores = make_pipeline(clone(made), StandardScaler(), PCA(2)).fit_transform(X)
    found.numbers["scalar products of components"] = _floats((scores @ scores.T)[:6, :6])


def _framed(found: Answer, made: Any, X: Any, data: Data) -> None:
    from sklearn.base import clone

    answered = clone(made).set_output(transform="pandas").fit_transform(X)
    found.facts["frame of"] = [str(name) for name in answered.columns]
    found.facts["features out"] = [str(name) for name in made.get_feature_names_out()]


ESTIMATOR_EXTRAS = {
    "new rows": _transformed,
    "embed": _embedded,
    "score": _scored,
    "grid": _searched,
    "pipeline": _piped,
    "frame": _framed,
}

# ---------------------------------------------------------------------------------------------------- command line

COMMANDS = {"impute": "table", "diagnose": "inspect"}
# Options, alone or with their value, that have another name in version 0.1.
OPTIONS = {
    "--observed": ["--seen"],
    "--missing": ["--gaps"],
    "--missing-mark": ["--missing"],
    "--threshold none": ["--no-threshold"],
    "--scale log": ["--log"],
    "--kind rectangular": ["--table"],
    "--bounds": ["--entry-range"],
}
ONE_COMMAND = {"locate --bounds": ["--bounds"], "locate --loss huber": ["--robust"]}
WORDS = (
    *("measured", "censored", "missing", "undetermined", "outlier"),
    *("proved", "generic", "local", "no", "anchor"),
)
REPORTED = (
    "rank",
    "code",
    "dim",
    "unique",
    "kind",
    "determined_rows",
    "gaps",
    "structure",
    "loss",
    "method",
    "determined",
)


def _command(case: Case, data: Data) -> Answer:
    """Run ``python -m unrelu`` in a folder of its own and record what it leaves there."""
    argv = list(case.options["argv"])
    files = data.given["files"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        done = subprocess.run(
            [sys.executable, "-m", "unrelu", *_today(argv)],
            input=files[case.options["stdin"]].encode() if "stdin" in case.options else b"",
            capture_output=True,
            cwd=folder,
            env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
            timeout=120,
            check=False,
        )
        return _of_command(case, data, argv, done, folder)


def _today(argv: list[str]) -> list[str]:
    """Translate a command line in the words of the interface."""
    command, rest, made = argv[0], argv[1:], [COMMANDS.get(argv[0], argv[0])]
    known = OPTIONS | {
        key.partition(" ")[2]: value for key, value in ONE_COMMAND.items() if key.startswith(f"{command} ")
    }
    while rest:
        name, equals, value = rest[0].partition("=")
        with_value = " ".join(rest[:2])
        if with_value in known:
            made += known[with_value]
            rest = rest[2:]
        elif name in known:
            made += [*known[name][:-1], known[name][-1] + equals + value]
            rest = rest[1:]
        else:
            made.append(rest[0])
            rest = rest[1:]
    return made


def _of_command(case: Case, data: Data, argv: list[str], done: Any, folder: Path) -> Answer:
    found = Answer(f"exit {done.returncode}")
    errors = done.stderr.decode(errors="replace")
    written = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in data.given["files"] and ".zarr" not in path.parent.as_posix()
    ) + sorted(
        path.name
        for path in folder.glob("*.zarr")
        if not any(file.startswith(path.name) for file in data.given["files"])
    )
    found.facts = {"files": written, "traceback": "Traceback" in errors}
    if done.returncode == 2:
        found.facts["sentences"] = len(errors.strip().splitlines())
        found.facts["names a file"] = any(word in errors for word in argv if "." in word)
        found.facts["names a line"] = "line" in errors or "row" in errors
    if argv[0] == "--version":
        found.facts["prints"] = bool(done.stdout.strip())
    if "--json" in argv and done.stdout.strip().startswith(b"{"):
        _json_facts(found, json.loads(done.stdout))
    main = case.options.get("main") or next(
        (value for name, value in pairwise(argv) if name in ("-o", "--output")), None
    )
    if main == "-":
        (folder / "standard-output.csv").write_bytes(done.stdout)
        written, main = [*written, "standard-output.csv"], "standard-output.csv"
    for file in written:
        values = _of_file(found, folder / file, case, data)
        if values is None:
            continue
        if file == main:
            _of_main(found, values, case, data, argv[0])
        else:
            g = generator(f"probes of {file} of {case.seed or case.name}")
            chosen = g.choice(values.size, min(PROBES, values.size), replace=False)
            found.numbers[file] = _floats(values.ravel()[chosen])
    return found


def _json_facts(found: Answer, about: dict[str, Any]) -> None:
    found.facts["json keys"] = sorted(about)
    found.facts["json"] = {name: about[name] for name in REPORTED if isinstance(about.get(name), str | int | bool)}
    if isinstance(about.get("rank"), int):
        found.rank = about["rank"]


def _of_main(found: Answer, values: np.ndarray, case: Case, data: Data, command: str) -> None:
    """Record the numbers of the main output at probes and their distance from the truth."""
    right = data.truth
    if command == "locate":
        values = np.linalg.norm(values[:, None] - values, axis=2)
        right = None if right is None else np.linalg.norm(right[:, None] - right, axis=2)
        hidden = np.ones(values.shape, bool)
    else:
        hidden = np.isnan(data.known.values) if data.known is not None else np.ones(values.shape, bool)
    if values.shape != hidden.shape:
        hidden = np.ones(values.shape, bool)
    rows, cols = probes(case, values.shape, ~hidden)
    found.values = _floats(values[rows, cols])
    if right is not None and right.shape == values.shape:
        error = _error(values, right, hidden, data.scale)
        found.error = None if error is None or np.isnan(error) else error


def _of_file(found: Answer, path: Path, case: Case, data: Data) -> np.ndarray | None:
    """Record what a file is, and return its numbers if they are to be compared."""
    name = path.name
    if path.suffix in (".png", ".svg", ".pdf"):
        begins = path.read_bytes()[:4]
        found.facts[f"{name}: is a picture"] = begins in (b"\x89PNG", b"<?xm", b"%PDF")
        return None
    if name.startswith("kept"):  # a checkpoint, which only the version that wrote it can read
        return None
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            arrays = sorted(archive.files)
        found.facts[f"{name}: arrays"] = arrays
        return _loaded(found, path) if "factor" in case.wants else None
    if path.suffix == ".json":
        about = json.loads(path.read_text())
        found.facts[f"{name}: keys"] = sorted(about)
        _runs(found, name, about["rows"])
        return None
    if path.suffix == ".npy":
        values = np.load(path)
        found.facts[f"{name}: type"] = str(values.dtype)
    elif path.suffix == ".zarr":
        import zarr

        values = np.asarray(zarr.open_array(path, mode="r")[:])
    elif path.suffix == ".mtx":
        from scipy.io import mmread

        values = mmread(path)
        values = np.asarray(values.todense() if hasattr(values, "todense") else values)
    else:
        values = _of_text(found, path)
    if values is None:
        return None
    found.facts[f"{name}: shape"] = list(values.shape)
    found.facts[f"{name}: NaN"] = int(np.isnan(values).sum())
    return values if np.isfinite(values).any() else None


def _loaded(found: Answer, path: Path) -> np.ndarray:
    """Return the matrix of a saved answer."""
    return np.asarray(unrelu.Completion.load(path).matrix(), float)


def _of_text(found: Answer, path: Path) -> np.ndarray | None:
    lines = path.read_text().splitlines()
    name = path.name
    if path.suffix == ".pdb":
        atoms = [line for line in lines if line.startswith("ATOM")]
        found.facts[f"{name}: atoms"] = [line[12:26] for line in atoms][:5]
        return np.array([[float(line[at : at + 8]) for at in (30, 38, 46)] for line in atoms])
    if path.suffix == ".xyz":
        return np.array([[float(word) for word in line.split()[1:4]] for line in lines[2:]])
    rows = list(csv.reader(lines, delimiter="\t" if path.suffix == ".tsv" else ","))
    words = Counter(word for row in rows for word in row if word in WORDS)
    if words:
        found.facts[f"{name}: words"] = dict(sorted(words.items()))
    header: list[str] = []
    if any(_is_label(cell) for cell in rows[0]):
        header = found.facts[f"{name}: header"] = rows.pop(0)
    if {"x", "y"} <= set(header):
        rows.sort(key=lambda row: (len(row[0]), row[0]))
        at = [header.index(axis) for axis in ("x", "y", "z") if axis in header]
        return np.array([[float(row[k]) for k in at] for row in rows])
    if "method" in header:
        _runs(found, name, [dict(zip(header, row, strict=False)) for row in rows])
        return None
    if "deviations" in header:
        found.facts[f"{name}: places"] = sorted(row[:2] for row in rows)
    if any(_is_label(row[0]) for row in rows):
        rows = [row[1:] for row in rows]
    if not rows or not rows[0]:
        return None
    return np.array([[float(cell) if cell and not _is_word(cell) else np.nan for cell in row] for row in rows])


def _runs(found: Answer, name: str, rows: list[dict[str, Any]]) -> None:
    """Record the runs of a comparison, apart from their seconds."""
    found.facts[f"{name}: runs"] = sorted([row["method"], int(row["trial"]), row["code"]] for row in rows)
    for row in rows:
        if row["error"]:
            found.numbers[f"{name}: error of {row['method']}, trial {row['trial']}"] = [float(row["error"])]


def _is_label(cell: str) -> bool:
    return _is_word(cell) and cell not in WORDS


def _is_word(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return True
    return False


CALLS = {
    "certify": _certify,
    "complete": _complete,
    "complete rows": _complete_rows,
    "validate": _validate,
    "impute": _impute,
    "locate": _locate,
    "diagnose": _diagnose,
    "compare": _compare,
    "PSDCompleter": _estimator,
    "CensoredImputer": _estimator,
    "DistanceEmbedding": _estimator,
    "command": _command,
}
