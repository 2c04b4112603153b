"""Completions on the disk: one ``.npz`` file with the factors and, as JSON, everything else that is not the data."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsed import Rehearsal
from unrelu._old.auto.task import Attempt
from unrelu._old.base.errors import InputError, is_integer
from unrelu._old.io.disk import replacing
from unrelu._old.loop.history import History, Record, Stop, Verdict, finite
from unrelu._old.model.detection import DetectionCurve
from unrelu._old.results.data_again import marked
from unrelu._old.results.distrust_words import distrust_in_json
from unrelu._old.results.distrusted import Distrusted
from unrelu._old.results.packed_draws import pack_draws, unpack_draws
from unrelu._old.results.packed_terms import pack_terms, unpack_terms
from unrelu._old.results.witnesses import witnesses_for

__all__ = ["read_fields", "write_fields"]


class _Made(Protocol):
    """What a class of completions says of its files."""

    kind: ClassVar[str]
    labels_kept: ClassVar[tuple[str, ...]]

    def __init__(self, **fields: Any) -> None: ...


Made = TypeVar("Made", bound=_Made)

FORMAT = 1
# Fields that are written as they are.
PLAIN = (
    "objective",
    "residual",
    "method",
    "start",
    "loss",
    "apart",
    "iteration",
    "pairs",
    "side",
    "seconds",
    "cpu_seconds",
    "symmetric",
    "signs",
    "sigma",
    "sigma_given",
    "entries_read",
    "engine",
)
# What files from before a field was added have for it.
SINCE = {"pairs": "auto", "side": "above", "seconds": 0.0, "cpu_seconds": 0.0, "symmetric": True}
SINCE |= {"sigma": None, "sigma_given": False, "kind": "matrix", "signs": None, "entries_read": None}
SINCE |= {"engine": "NumPy"}
# What a file holds, in words, and the class that reads it.
KINDS = {
    "matrix": ("a completed symmetric matrix", "Completion"),
    "table": ("a completed table", "RectangularCompletion"),
}


def write_fields(path: str | Path, completion: Any) -> None:
    """Write a completion beside its target and move it into place."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"a completion is saved as .npz, got {path.name!r}; write {path.stem + '.npz'!r}")
    about: dict[str, Any] = {name: getattr(completion, name) for name in PLAIN} | {
        "format": FORMAT,
        "verdict": {"code": completion.verdict.code.value, "reason": completion.verdict.reason},
        "history": completion.history.as_rows(),
        "seen": list(completion.seen),
        "attempts": [finite(asdict(attempt)) for attempt in completion.attempts],
        "undetermined_rows": completion.undetermined_rows.tolist(),
        "alone": None if completion.alone is None else completion.alone.as_dict(),
        "rehearsal": None if completion.rehearsal is None else completion.rehearsal.as_dict(),
        "detection": None if completion.detection is None else completion.detection.as_dict(),
        "distrusted": distrust_in_json(completion.distrusted),
        "left_out": [place.tolist() for place in completion.left_out],
        "kind": completion.kind,
        "unknown_count": completion.unknown_count
        if completion.unknown is None and completion.source is None
        else marked(completion.unknown, completion.shape),
    }
    for name in completion.labels_kept:
        labels = getattr(completion, name)
        about[name] = None if labels is None else [_plain(label) for label in labels]
    of_rows = ("left", "right", "conditioning")
    own = {name: value for name in of_rows if (value := getattr(completion, name)) is not None}
    about["threshold"], terms = pack_terms(completion)
    own |= terms | pack_draws(completion.drawn)
    with replacing(path) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, factor=completion.factor, about=np.array(json.dumps(finite(about), allow_nan=False)), **own)


def read_fields(path: str | Path, make: type[Made]) -> Made:
    """A completion of the class ``make`` from the fields in a file; whatever is wrong with it is one sentence."""
    path = Path(path)
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            arrays = {name: stored[name] for name in ("factor", "left", "right") if name in stored.files}
            held = stored["conditioning"] if "conditioning" in stored.files else None
            terms = unpack_terms(about.get("threshold", 0.0), {name: stored[name] for name in stored.files})
            drawn = unpack_draws(stored)
        for array in (arrays["factor"], *arrays.values()):
            if array.ndim != 2 or array.dtype.kind != "f" or not np.isfinite(array).all():
                raise InputError(
                    f"{path.name} must hold factors of two dimensions with finite numbers, got shape {array.shape} "
                    f"of {array.dtype}; save the completion anew"
                )
        if about["format"] != FORMAT:
            raise InputError(f"{path.name} has format {about['format']}, this version reads {FORMAT}; save it anew")
        about = {**SINCE, **_representable(about)}
        if about["kind"] != make.kind:
            held, reader = KINDS.get(about["kind"], (about["kind"], "the version that wrote it"))
            raise InputError(f"{path.name} holds {held}, and {make.__name__} reads others; call {reader}.load")
        verdict = Verdict(Stop(about["verdict"]["code"]), about["verdict"]["reason"])
        return make(
            **arrays,
            conditioning=held,
            **terms,
            **{name: about[name] for name in PLAIN}
            | {"signs": None if about["signs"] is None else tuple(about["signs"])},
            verdict=verdict,
            history=History([Record(**_representable(record)) for record in about["history"]]),
            **{name: None if about[name] is None else tuple(about[name]) for name in make.labels_kept},
            seen=(int(about["seen"][0]), float(about["seen"][1])),
            undetermined_rows=np.array(about["undetermined_rows"], np.intp),
            unknown_count=about.get("unknown_count"),
            distrusted=tuple(_distrusted(one) for one in about.get("distrusted", [])),
            left_out=tuple(np.array(place, np.intp) for place in about.get("left_out", [[], []])),
            drawn=drawn,
            attempts=tuple(Attempt.read(attempt) for attempt in about.get("attempts", [])),
            alone=None if about.get("alone") is None else NoStructure.read(about["alone"]),
            rehearsal=None if about.get("rehearsal") is None else Rehearsal.read(about["rehearsal"]),
            detection=None if about.get("detection") is None else DetectionCurve.read(about["detection"]),
            witnesses=witnesses_for(
                symmetric=about["symmetric"],
                signed=about["signs"] is not None,
                forecasts=about.get("rehearsal") is not None and not verdict.determines,
                sampled=drawn is not None,
            ),
        )
    except FileNotFoundError:
        raise InputError(f"no such file: {path}") from None
    except InputError:
        raise
    except Exception as error:  # a damaged file may make NumPy, zipfile or the lines above raise almost anything
        if "allow_pickle" in str(error):  # NumPy's advice for what is no array; it would run code
            raise InputError(
                f"{path.name} is not a saved completion, nor any NumPy file; name one that Completion.save wrote"
            ) from None
        raise InputError(f"{path.name} is not a saved completion, or only half of one ({error})") from None


def _plain(label: Any) -> str | int:
    """A label as JSON can hold it: integers stay, for a frame is to be recognised by them."""
    return int(label) if is_integer(label) else str(label)


def _distrusted(stored: dict[str, Any]) -> Distrusted:
    """Made again; what is null in JSON was no number."""
    return Distrusted(**{name: float("nan") if value is None else value for name, value in stored.items()})


def _representable(about: dict[str, Any]) -> dict[str, Any]:
    """An objective too large for a number is written as null, for JSON has no infinity; it is infinite again here."""
    return {**about, "objective": float("inf") if about["objective"] is None else about["objective"]}
