"""Rectangular files: what ``unrelu complete`` writes and says of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.data.labels import label_or_position, listed_rows
from unrelu._old.results.rectangular import RectangularCompletion
from unrelu._old.shell.answer import Answer
from unrelu._old.shell.outliers import reported
from unrelu._old.shell.wording import for_shells

__all__ = ["TableAnswer"]


@dataclass(frozen=True, eq=False)
class TableAnswer(Answer):
    """What is written and said of a completed table."""

    completion: RectangularCompletion

    def not_determined(self) -> dict[str, list[str | int]]:
        """The same, and the columns; all of them if there was no time to find out."""
        found = self.completion
        sides = {"not_determined": (0, found.labels), "columns_not_determined": (1, found.column_labels)}
        told: dict[str, list[str | int]] = {}
        for key, (side, labels) in sides.items():
            known = np.zeros(found.shape[side], bool)
            if self.levels is not None:
                known = (found.determined, found.columns_determined)[side]
            told[key] = [label_or_position(place, labels) for place in np.flatnonzero(~known)]
        return told

    def values(self, fit: bool) -> Any:
        """The table to be written."""
        if self.full or self.levels is None:
            return self.completion.matrix() if fit else self.completion.filled()
        return self.completion.matrix("nan") if fit else self.completion.filled(undetermined="nan")

    def report(self, names: tuple[str, ...] | None) -> list[str]:
        """What a person wants to know."""
        found, about = self.completion, self.completion.summary()
        m, n = found.shape
        lines = [
            f"{m}×{n} table, rank {about['rank']}, by {about['method']} from the {about['start']} start "
            f"({about['loss']} loss)",
            f"{about['iterations']} iterations, {about['seconds']:.2f} s, relative residual {about['residual']:.2e}",
        ]
        if about["error"] is not None:
            lines.append(f"completion error against the truth {about['error']:.2e}")
        lines.append(for_shells(str(found.verdict)))
        lines += reported(self.distrusted)
        if self.levels is None:
            return [*lines, "there was no time to find out what the data determine; every entry of the fit is written"]
        rows, columns = found.determined, found.columns_determined
        lines.append(f"{np.mean(rows):.0%} of the rows and {np.mean(columns):.0%} of the columns are determined")
        worst = found.largest_misfit
        if worst is not None:
            place = label_or_position(worst.row, found.labels), label_or_position(worst.column, found.column_labels)
            lines[-1] += f"; the largest misfit of a seen entry is {worst.size:.2g}, at ({place[0]}, {place[1]})"
        open_rows, open_columns = np.flatnonzero(~rows), np.flatnonzero(~columns)
        if found.verdict.determines and (open_rows.size or open_columns.size):
            left = "kept" if self.keep else "left empty (--keep-undetermined writes them)"
            parts = [listed_rows(open_rows, found.labels)] if open_rows.size else []
            if open_columns.size:
                parts.append(listed_rows(open_columns, found.column_labels, what="column"))
            lines.append(f"not determined by the data: {' and '.join(parts)}; their unseen entries are {left}")
        return lines
