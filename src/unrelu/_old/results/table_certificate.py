"""What was proved about a completed table: which rows and columns have one place, and what the others lack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.tolerances import CERTIFY_SPANNED
from unrelu._old.data.labels import label_or_position
from unrelu._old.data.pieces import named_rows
from unrelu._old.loop.history import finite
from unrelu._old.placing.attach import Frame
from unrelu._old.proofs.determinacy import PROVED
from unrelu._old.proofs.table import TableDeterminacy
from unrelu._old.results.rectangular import RectangularCompletion

__all__ = ["TableCertificate"]

# Rows and columns named one by one in an explanation.
MOST_NAMED = 5


@dataclass(frozen=True)
class TableShortage:
    """A row or column without a place of its own: what it sees of placed columns or rows."""

    what: str
    name: Any
    seen: int
    independent: int
    needed: int

    def explain(self) -> str:
        """One sentence."""
        others = "columns" if self.what == "row" else "rows"
        entries = "entry" if self.seen == 1 else "entries"
        directions = "direction" if self.independent == 1 else "directions"
        span = "" if self.independent == self.seen else f" that span {self.independent} {directions}"
        if self.independent >= self.needed:
            return f"{self.what} {self.name} sees {self.seen} {entries} of determined {others}, too weakly for a proof"
        return (
            f"{self.what} {self.name} sees {self.seen} {entries} of determined {others}{span}; "
            f"rank {self.needed} needs {self.needed}"
        )


@dataclass(frozen=True, eq=False)
class TableCertificate:
    """The claims about a table that hold.

    Attributes
    ----------
    unique : bool
        Proved: exactly one matrix of rank ≤ r agrees with the seen entries, to rounding.
    kind : {"direct", "gluing", "stability", "none"}
        The strongest means that the proof needed; ``stability``: the data have noise, and uniqueness is no question.
    groups : tuple of pairs of int arrays
        Rows and columns that are proved relative to each other, one pair per body.
    determinacy : TableDeterminacy
        Row by row, then column by column.
    shortages : tuple of TableShortage
        Rows and columns that are not determined, those that need least first.
    """

    unique: bool
    kind: str
    groups: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]
    determinacy: TableDeterminacy = field(repr=False)
    shortages: tuple[TableShortage, ...] = field(repr=False)
    rank: int = 0
    shape: tuple[int, int] = (0, 0)
    labels: tuple[Any, ...] | None = field(default=None, repr=False)
    column_labels: tuple[Any, ...] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, completion: RectangularCompletion) -> TableCertificate:
        """What is known of the rows and columns of a completion."""
        found, m = completion.table_determinacy, completion.shape[0]
        proved = found.rank_of == PROVED
        bodies = sorted({int(c) for c in found.components[proved] if c >= 0})
        groups = tuple(
            (np.flatnonzero(mine[:m]), np.flatnonzero(mine[m:]))
            for mine in (proved & (found.components == body) for body in bodies)
        )
        kind = "none"
        if not found.agrees:
            kind = "stability" if found.determined.any() else "none"
        elif groups:
            kind = "gluing" if "gluing" in found.proofs else "direct"
        return cls(
            unique=bool(proved.all() and (found.components == 0).all()),
            kind=kind,
            groups=groups,
            determinacy=found,
            shortages=tuple(_shortages(completion, found)),
            rank=completion.rank,
            shape=completion.shape,
            labels=completion.labels,
            column_labels=completion.column_labels,
        )

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Rows of the largest set of rows and columns among which every entry has one value."""
        return self.determinacy.determined[: self.shape[0]]

    @property
    def columns_determined(self) -> NDArray[np.bool_]:
        """Columns of that set."""
        return self.determinacy.determined[self.shape[0] :]

    def explain(self) -> str:
        """What was proved, what was not, and what is missing."""
        lines = [self._claim()]
        if len(self.groups) > 1:
            for number, (rows, cols) in enumerate(self.groups, 1):
                columns = named_rows(cols, self.column_labels).replace("row", "column", 1)
                lines.append(f"Body {number}: {named_rows(rows, self.labels)}; {columns}.")
            lines.append(
                f"Between two bodies nothing is proved; {self.rank**2} independent entries between them would do."
            )
        if self.kind == "gluing":
            lines.append("Bodies were joined where the entries between them leave one way.")
        for shortage in self.shortages[:MOST_NAMED]:
            sentence = shortage.explain()
            lines.append(f"{sentence[0].upper()}{sentence[1:]}.")
        if len(self.shortages) > MOST_NAMED:
            lines.append(f"{len(self.shortages) - MOST_NAMED} more rows or columns are not determined.")
        return "\n".join(lines)

    def _claim(self) -> str:
        m, n = self.shape
        if self.unique:
            return f"Proved: exactly one {m}×{n} matrix of rank at most {self.rank} agrees with the seen entries."
        rows, cols = int(self.determined.sum()), int(self.columns_determined.sum())
        counted = f"{rows} of {m} rows and {cols} of {n} columns"
        if self.kind == "stability":
            return (
                "Nothing is proved to be unique, for the fit does not agree with the data to rounding; "
                f"{counted} would be determined if the data were as the fit has them."
            )
        if not self.groups:
            return "Uniqueness of the table is not proved: no fully seen block starts a proof."
        return f"Uniqueness of the table is not proved: {counted} are proved to have one place relative to each other."

    def summary(self) -> dict[str, Any]:
        """Ready for JSON; rows and columns by their labels, if there are any."""
        open_rows, open_cols = np.flatnonzero(~self.determined), np.flatnonzero(~self.columns_determined)
        return finite(
            {
                "unique": self.unique,
                "kind": self.kind,
                "bodies": len(self.groups),
                "determined_rows": int(self.determined.sum()),
                "determined_columns": int(self.columns_determined.sum()),
                "not_determined": [label_or_position(row, self.labels) for row in open_rows],
                "columns_not_determined": [label_or_position(col, self.column_labels) for col in open_cols],
            }
        )

    def __repr__(self) -> str:
        m, n = self.shape
        unique = "unique" if self.unique else "not proved unique"
        return f"TableCertificate({m}×{n}, rank {self.rank}, {unique}, {self.kind})"

    def __str__(self) -> str:
        return self.explain()


def _shortages(completion: RectangularCompletion, found: TableDeterminacy) -> list[TableShortage]:
    """What each row and column that is not determined lacks."""
    observations, (m, n) = completion.observed(), completion.shape
    factor = completion.factor.astype(np.float64) / np.sqrt(observations.unit)
    rows, cols = np.arange(m), np.arange(m, m + n)
    short = []
    for what, mine, others, labels in (
        ("row", rows, cols, completion.labels),
        ("column", cols, rows, completion.column_labels),
    ):
        body = others[found.determined[others]]
        if len(body) < completion.rank:
            continue
        frame = Frame.of(factor[body], CERTIFY_SPANNED)
        for place in mine[~found.determined[mine]]:
            values, seen = observations.pairs(np.array([place]), body)
            _, independent = frame.solve_one(seen[0], values[0])
            position = int(place - mine[0])
            name = position if labels is None else labels[position]
            short.append(TableShortage(what, name, int(seen.sum()), independent, completion.rank))
    return sorted(short, key=_lacking)


def _lacking(shortage: TableShortage) -> int:
    return shortage.needed - shortage.independent
