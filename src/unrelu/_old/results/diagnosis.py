"""What was found out about a matrix before anything of it is believed: sentences first, numbers after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.data.labels import Axes, label_or_position
from unrelu._old.detection.chosen import Detection
from unrelu._old.loop.history import Verdict

__all__ = ["Contradicted", "Counted", "Diagnosis", "Structure"]

# What a command has no option for: it takes everything for a table, or knows no mask.
NOT_OPTIONS = {"table": ("table",), "locate": ("table", "unknown", "layout")}
# Rows, columns and entries that a sentence names.
NAMED = 5


@dataclass(frozen=True)
class Counted:
    """How many entries were seen, went unseen, and are missing for a reason that is known; in all, and along each side.

    Attributes
    ----------
    seen, unseen, unknown : int
    per_row, per_column : int ndarray
        Seen entries.
    """

    seen: int
    unseen: int
    unknown: int
    per_row: Indices
    per_column: Indices


@dataclass(frozen=True)
class Structure:
    """Whether a structure fits.

    Attributes
    ----------
    name : {"psd", "indefinite", "rectangular", "distances"}
    fits : bool or None
        None: not looked at, because another fits.
    reason : str
        In a sentence.
    """

    name: str
    fits: bool | None
    reason: str


@dataclass(frozen=True)
class Contradicted:
    """A seen entry that the rest contradicts: its value, what the fit says, and by how many standard deviations."""

    row: Any
    column: Any
    value: float
    expected: float
    deviations: float


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the data say about themselves; made by :func:`unrelu.diagnose`.

    Attributes
    ----------
    shape : (int, int)
    counted : Counted
    detection : Detection or None
        How entries go unseen; None where that cannot be told, and ``untold`` says why.
    wrong_side : int or None
        Seen entries on the wrong side of the threshold that was named, or of the level that was found.
    objection : str
        What the data say against the threshold that was named, in a sentence; empty where they say nothing.
    structures : tuple of Structure
    rank : int or None
        Of the fit; None where no low rank leaves only noise.
    spectrum : ndarray
        Eigenvalues of the fit, or singular values of a table, largest first.
    sigma : float or None
        The noise of the seen entries around the fit.
    verdict : Verdict
        Of the fit.
    extrapolates : bool or None
        What the rehearsal says: whether unseen entries can be forecast; None where none was held, as for exact data.
    held_out : bool
        Whether enough was seen to hide some of it on purpose.
    thin_rows, thin_columns : int ndarray
        Those of which too little was seen to place them.
    contradicted : tuple of Contradicted
        Seen entries that the rest contradicts, the worst first.
    recommended : str
        A call, ready to paste; empty where there is nothing to complete, or nothing to complete it by.
    function : str or None
        The function of that call.
    options : dict
        Its options, the mask of what is ``unknown`` among them if there was one.
    """

    shape: tuple[int, int]
    counted: Counted
    detection: Detection | None
    untold: str
    wrong_side: int | None
    objection: str
    structures: tuple[Structure, ...]
    rank: int | None
    spectrum: Floats
    sigma: float | None
    verdict: Verdict
    extrapolates: bool | None
    held_out: bool
    thin_rows: Indices
    thin_columns: Indices
    contradicted: tuple[Contradicted, ...]
    function: str | None
    options: dict[str, Any]
    axes: Axes = field(repr=False)

    @property
    def structure(self) -> str | None:
        """The first structure that fits; None if none does."""
        return next((one.name for one in self.structures if one.fits), None)

    @property
    def recommended(self) -> str:
        """The call that this leads to, ready to paste."""
        if self.function is None:
            return ""
        masked = {"unknown": "unknown"}
        said = ["X", *(f"{name}={masked.get(name, repr(value))}" for name, value in self.options.items())]
        return f"unrelu.{self.function}({', '.join(said)})"

    def command(self, file: str, output: str = "completed.csv", said: Mapping[str, Sequence[str]] | None = None) -> str:
        """The same for the shell.

        Parameters
        ----------
        file, output : str
        said : mapping of str to words, optional
            How the file is to be read, and what is unknown of it: words of the command line by the name of the option.
        """
        if self.function is None:
            return ""
        name = {"complete": "complete", "complete_distances": "locate", "complete_table": "table"}.get(self.function)
        words = ["unrelu", name or "complete", _quoted(file)]
        for option, value in self.options.items():
            if option == "unknown":
                continue
            if option == "threshold" and value is None:
                words += [] if name == "table" else ["--no-threshold"]
            elif option == "cutoff" or value is not None:
                words += [f"--{option.replace('_', '-')}", str(value)]
        if self.function == "complete_rectangular":
            words += ["--structure", "rectangular"]
        refused = NOT_OPTIONS.get(name or "complete", ())
        words += [_quoted(word) for option, more in (said or {}).items() if option not in refused for word in more]
        return " ".join([*words, "-o", _quoted(output)])

    @property
    def conclusion(self) -> str:
        """What all this leads to, in a line."""
        if self.function is not None:
            return f"Recommended: {self.recommended}"
        if self.counted.unseen + self.counted.unknown:
            return "Nothing is recommended: one row or column says nothing of its gaps."
        return "Nothing is missing: there is nothing to complete."

    def sentences(self) -> list[str]:
        """All that was found, one sentence for each thing."""
        return [one for one in self._sentences() if one]

    def _sentences(self) -> list[str]:
        return [
            self._about_counts(),
            self._about_gaps(),
            self.objection or self._about_the_wrong_side(),
            *(one.reason for one in self.structures),
            self._about_noise(),
            self._about_forecasts(),
            self._about_thin("row", self.thin_rows, self.axes.rows),
            "" if self.axes.alike else self._about_thin("column", self.thin_columns, self.axes.columns),
            self._about_contradicted(),
        ]

    def _about_counts(self) -> str:
        m, n = self.shape
        count = self.counted
        known = f", and {count.unknown} are missing for a reason that is known" if count.unknown else ""
        least, most = int(count.per_row.min(initial=m * n)), int(count.per_row.max(initial=0))
        share = count.seen / max(m * n, 1)
        of = f"{least} to {most} in a row" if m else "none"
        return f"{count.seen} of {m}×{n} entries were seen ({share:.0%}; {of}), {count.unseen} were not{known}."

    def _about_gaps(self) -> str:
        found = self.detection
        if found is None:
            return self.untold
        sure = "" if found.told else " (not sure: another kind is about as likely)"
        said = {
            "censored": "Entries are missing because of their values",
            "mixed": "Some entries are missing because of their values and some by chance",
            "curve": "The chance to be seen rises with the value",
            "random": "Entries look missing by chance",
        }[found.kind]
        chance = ""
        if found.kind == "mixed":
            low, high = found.random_interval
            chance = f"; {found.random_share:.0%} of the unseen ({low:.0%} to {high:.0%}) are missing by chance"
        return f"{said}{sure}: {found.curve}{chance}."

    def _about_the_wrong_side(self) -> str:
        if not self.wrong_side:
            return ""
        one = self.wrong_side == 1
        return f"{self.wrong_side} seen {'entry lies' if one else 'entries lie'} on the unseen side of the threshold."

    def _about_noise(self) -> str:
        if self.rank is None:
            return "No low rank was found that leaves only noise of the data."
        noise = "no noise but rounding" if not self.sigma else f"noise of {self.sigma:.3g}"
        return f"Rank {self.rank} with {noise} describes what was seen."

    def _about_forecasts(self) -> str:
        if not self.held_out:
            return "Too little was seen to hide some of it on purpose: nothing says whether forecasts can be trusted."
        if self.extrapolates is None:
            return ""
        if self.extrapolates:
            return "What was hidden on purpose was forecast well: the model extrapolates (rehearsal)."
        return "What was hidden on purpose was not forecast better than by simple filling: do not trust forecasts."

    def _about_thin(self, what: str, thin: Indices, labels: Any) -> str:
        if not len(thin):
            return ""
        named = ", ".join(str(label_or_position(int(k), labels)) for k in thin[:NAMED])
        more = f" and {len(thin) - NAMED} more" if len(thin) > NAMED else ""
        return f"Too little was seen to place {len(thin)} {what}{'s' if len(thin) > 1 else ''}: {named}{more}."

    def _about_contradicted(self) -> str:
        if not self.contradicted:
            return ""
        first = self.contradicted[0]
        count = len(self.contradicted)
        what = "One seen entry is" if count == 1 else f"{count} seen entries are"
        return (
            f"{what} contradicted by the rest, most of all ({first.row}, {first.column}): {first.value:.4g} where "
            f"{first.expected:.4g} is expected, {first.deviations:.0f} standard deviations off."
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything in numbers, ready for JSON."""
        found = self.detection
        return plain(
            {
                "shape": list(self.shape),
                "seen": self.counted.seen,
                "unseen": self.counted.unseen,
                "unknown": self.counted.unknown,
                "seen_per_row": self.counted.per_row.tolist(),
                "seen_per_column": self.counted.per_column.tolist(),
                "gaps": None if found is None else found.kind,
                "gaps_told": None if found is None else found.told,
                "scores": None if found is None else found.scores(),
                "curve": None if found is None else found.curve.as_dict(),
                "random_share": None if found is None else found.random_share,
                "random_interval": None if found is None else list(found.random_interval),
                "wrong_side": self.wrong_side,
                "objection": self.objection,
                "structures": {one.name: {"fits": one.fits, "reason": one.reason} for one in self.structures},
                "rank": self.rank,
                "spectrum": self.spectrum.tolist(),
                "sigma": self.sigma,
                "verdict": {"code": self.verdict.code.value, "reason": self.verdict.reason},
                "extrapolates": self.extrapolates,
                "held_out": self.held_out,
                "thin_rows": [label_or_position(int(k), self.axes.rows) for k in self.thin_rows],
                "thin_columns": [label_or_position(int(k), self.axes.columns) for k in self.thin_columns],
                "contradicted": [vars(one) for one in self.contradicted],
                "recommended": self.recommended,
                "sentences": self.sentences(),
            }
        )

    def __str__(self) -> str:
        return "\n".join([*self.sentences(), self.conclusion])


def plain(value: Any) -> Any:
    """The same with None for what JSON cannot say: NaN and infinities, however deep.

    Examples
    --------
    >>> plain({"interval": (float("nan"), 1.0), "rank": 2})
    {'interval': [None, 1.0], 'rank': 2}
    """
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _quoted(path: str) -> str:
    """A path as a shell takes it."""
    plain = all(letter.isalnum() or letter in "._-/" for letter in path)
    return path if plain and path else "'" + path.replace("'", "'\\''") + "'"
