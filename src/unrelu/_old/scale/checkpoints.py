"""A long run on the disk: what was found so far, so that a run that was killed goes on to the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.io.disk import replacing

__all__ = ["Checkpoint"]

# Which version of the library's files these are.
FORMAT = 2
# Saving may take this share of the time at most.
SHARE = 0.05

Arrays = dict[str, NDArray[Any]]


class Checkpoint:
    """A file that is replaced as a whole whenever there is something new; None: nothing is kept.

    Parameters
    ----------
    path : path or None
    about : dict
        What the run is of: shapes, options, versions. A file of another run is refused.
    """

    def __init__(self, path: str | Path | None, about: dict[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.about = {**about, "format": FORMAT}
        self._took, self._last = 0.0, monotonic()

    def require_place(self) -> None:
        """Refuse a file that could not be written, before the work starts."""
        if self.path is not None and not self.path.resolve().parent.is_dir():
            raise InputError(
                f"checkpoint {self.path} cannot be written, for there is no folder {self.path.resolve().parent}; "
                "make it first"
            )

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """What an earlier run has left; None if there is nothing."""
        if self.path is None or not self.path.exists():
            return None
        try:
            with open(self.path, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files if name != "about"}
                kept = json.loads(str(stored["about"]))
            made, state = kept["made"], kept["state"]
        except Exception as error:  # a torn file may make NumPy, zipfile or the lines above raise almost anything
            raise InputError(
                f"checkpoint {self.path} is torn or is none ({type(error).__name__}); delete it to begin anew"
            ) from None
        for name, value in self.about.items():
            there = made.get(name)
            if there != json.loads(json.dumps(value)):
                raise InputError(
                    f"checkpoint {self.path} belongs to another run: its {name} is {there!r}, and that of this one "
                    f"{value!r}; delete it to begin anew, or name another file"
                )
        return state, arrays

    def refuse_other_data(self) -> None:
        """Say that the data have changed since the file was written."""
        raise InputError(
            f"checkpoint {self.path} belongs to other data: the block that it was begun with has other values now; "
            "delete it to begin anew, or name another file"
        )

    def due(self) -> bool:
        """Whether enough time has passed for saving to be cheap beside it."""
        return self.path is not None and monotonic() - self._last >= self._took / SHARE

    def save(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Replace the file."""
        if self.path is None:
            return
        began = monotonic()
        words = json.dumps({"made": self.about, "state": state})
        with replacing(self.path) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, about=np.array(words), **arrays)  # type: ignore[arg-type]
        self._last = monotonic()
        self._took = self._last - began
