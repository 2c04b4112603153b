"""What was proved about a completion, in fields for programs and in sentences for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.data.labels import label_or_position
from unrelu._old.data.observations import Observations
from unrelu._old.data.pieces import named_rows
from unrelu._old.loop.history import finite
from unrelu._old.proofs.determinacy import Determinacy
from unrelu._old.theory.assumption_search import check_assumptions
from unrelu._old.theory.assumptions import AssumptionReport, check_assumption_3
from unrelu._old.theory.discover import find_partition
from unrelu._old.theory.geometry import curvature

__all__ = ["Certificate", "Shortage"]

# Rows named one by one in an explanation.
MOST_NAMED = 5


@dataclass(frozen=True)
class Shortage:
    """A row that is not determined: how many independent determined rows it sees, and how many the rank needs."""

    row: int
    seen: int
    independent: int
    needed: int
    ask_for: tuple[int, ...]
    agrees: bool = True

    def explain(self, labels: tuple[Any, ...] | None) -> str:
        """One sentence, with the entries that would help."""
        name = labels[self.row] if labels else self.row
        entries = "entry" if self.seen == 1 else "entries"
        words = f"row {name} sees {self.seen} {entries} of determined rows"
        if self.independent >= self.needed:
            but = "too weakly for a proof" if self.agrees else "the fit does not agree with them"
            return f"{words}, enough for rank {self.needed}, but {but}"
        directions = "direction" if self.independent == 1 else "directions"
        of = "" if self.independent == self.seen else f" that span {self.independent} {directions}"
        words += f"{of}; rank {self.needed} needs {self.needed}"
        if self.ask_for:
            others = ", ".join(str(labels[j] if labels else j) for j in self.ask_for)
            words += f" (ask for its entries with {others})"
        return words


@dataclass(frozen=True, eq=False)
class Certificate:
    """The claims that hold, and the conditions that do not.

    Attributes
    ----------
    unique : bool
        Proved: at most one matrix of rank ≤ r agrees with the seen entries (and, where ``uses_absence``, with what
        absence says), and the one at hand does. Among all matrices if the proof is ``direct`` and the pattern
        symmetric, else among symmetric ones; by ``stress`` among positive semidefinite ones. With the error of the
        data, rounding or ``data_error``: whatever the exact data are within it, and their matrix is within ``bound``.
    kind : {"direct", "gluing", "reflection", "stress", "stability", "none"}
        The strongest means that the proof needed; ``stability``: the data have noise, and uniqueness is no question.
    any_rank : bool
        The matrix is moreover the only positive semidefinite one of any rank.
    groups : tuple of int arrays
        Rows that are proved, one array per component; different components have no common frame.
    failed : tuple of str
        Names of the conditions that fail: ``agreement``, ``absence``, ``rank``, ``block``, ``attachment``, ``gluing``,
        ``empty rows``, ``counting``, ``zeros``.
    reasons : tuple of str
        A sentence for each.
    bound : float
        How far the factor at hand may be off, row by row, as a share of its largest row; infinite if not proved by
        steps that carry a bound.
    determinacy : Determinacy
        Row by row.
    shortages : tuple of Shortage
        Rows that are not determined, those that need least first.
    """

    unique: bool
    kind: str
    any_rank: bool
    groups: tuple[NDArray[np.intp], ...]
    failed: tuple[str, ...]
    reasons: tuple[str, ...]
    bound: float
    determinacy: Determinacy = field(repr=False)
    shortages: tuple[Shortage, ...] = field(repr=False)
    rank: int = 0
    symmetric: bool = True
    data_error: float | None = None
    observations: Observations | None = field(default=None, repr=False)
    factor: NDArray[np.float64] | None = field(default=None, repr=False)
    planted: NDArray[np.float64] | None = field(default=None, repr=False)
    seed: int = 0

    @property
    def determined(self) -> NDArray[np.bool_]:
        """The largest set of rows among which every entry has one value."""
        return self.determinacy.determined

    @property
    def uses_absence(self) -> bool:
        """Whether the proof needs what absence says, not the seen entries alone."""
        return "reflection" in self.determinacy.proofs

    @cached_property
    def gamma(self) -> float:
        """γ = min ‖(UDᵀ + DUᵀ)_Ω‖_F² over unit horizontal D, at the factor at hand; 0 if that is zero to rounding."""
        assert self.observations is not None
        assert self.factor is not None
        found = curvature(self.observations, self.factor, self.seed)
        return found.gamma if found.positive else 0.0

    @property
    def lambda_(self) -> float:
        """λ: every group of Assumption 3 has U_kᵀU_k ⪰ λI; 0 if no such groups were found."""
        report = self.assumption_3
        return 0.0 if report is None or not report.holds else report.lambda_

    @cached_property
    def assumption_3(self) -> AssumptionReport | None:
        """Assumption 3 on groups found from pattern and values alone; None if no fully seen block was found."""
        assert self.observations is not None
        partition = find_partition(self.observations, self.rank, self.seed)
        return None if partition is None else check_assumption_3(partition, self.observations)

    @cached_property
    def assumptions(self) -> dict[str, AssumptionReport]:
        """Assumptions 1, 2 and 3 with the planted factor, if that was given; else Assumption 3 alone."""
        assert self.observations is not None
        if self.planted is not None:
            return check_assumptions(self.planted, self.observations, rng=self.seed)
        return {} if self.assumption_3 is None else {"3": self.assumption_3}

    def explain(self) -> str:
        """What was proved, from which rows, what was not, and which further entries would help."""
        lines = [self._claim()]
        labels = None if self.observations is None else self.observations.labels
        for number, rows in enumerate(self.groups):
            if len(self.groups) > 1:
                lines.append(f"Component {number + 1}: {named_rows(rows, labels)}.")
        seeds = [group.seed for group in self.determinacy.groups[:1]]
        if seeds and self.groups and "direct" in self.determinacy.proofs:
            wave = int(self.determinacy.groups[0].wave.max())
            follow = f"the others follow in {wave} wave{'' if wave == 1 else 's'} of linear equations"
            lines.append(
                f"The proof starts from the fully seen block of {named_rows(seeds[0], labels)}"
                + (f"; {follow}" if wave else "")
                + (f"; every row is known within {self.bound:.1g} of the largest row." if self.bound < np.inf else ".")
            )
        if "polar" in self.determinacy.proofs:
            lines.append("Groups were joined where only one rotation fits between them (the polar condition).")
        if self.uses_absence:
            lines.append("Places that differ by a reflection were told apart by what absence says.")
        if self.determinacy.stress is not None:
            stress = self.determinacy.stress
            lines.append(
                f"The proof is a positive semidefinite stress of rank n − r (least eigenvalue {stress.least:.1g}); "
                f"what agrees to the error of the data is within {stress.reach:.1g} of the fit in every row."
            )
        lines += [f"Not met, {name}: {reason}." for name, reason in zip(self.failed, self.reasons, strict=True)]
        for shortage in self.shortages[:MOST_NAMED]:
            sentence = shortage.explain(labels)
            lines.append(f"{sentence[0].upper()}{sentence[1:]}.")
        if len(self.shortages) > MOST_NAMED:
            left = len(self.shortages) - MOST_NAMED
            lines.append(f"{left} more row{' is' if left == 1 else 's are'} not determined.")
        if self.determinacy.skipped:
            lines.append(f"Not tested: {self.determinacy.skipped}.")
        return "\n".join(lines)

    def _claim(self) -> str:
        proofs = self.determinacy.proofs
        matrix = "matrix" if self.symmetric and set(proofs) == {"direct"} else "symmetric matrix"
        agrees = "the seen entries and with what absence says" if self.uses_absence else "the seen entries"
        n = len(self.determinacy.rank_of)
        if self.unique:
            error = f", whatever the errors of up to {self.data_error:g} in the seen entries" if self.data_error else ""
            if "stress" in proofs or "zero" in proofs:
                rank = "of any rank" if self.any_rank else f"of rank at most {self.rank}"
                return f"Proved{error}: exactly one positive semidefinite matrix {rank} agrees with {agrees}."
            only = ", and it is the only positive semidefinite matrix of any rank that does" if self.any_rank else ""
            return f"Proved{error}: exactly one {matrix} of rank at most {self.rank} agrees with {agrees}{only}."
        words = self.determinacy.level
        here = self.determinacy.components == 0
        counts = {word: int(np.sum(here & (words == word))) for word in ("proved", "generic", "local")}
        if self.kind == "stability":
            return (
                "Nothing is proved to be unique, for the fit does not agree with the data to their error; "
                f"{counts['generic']} of {n} rows would be determined if the data were as the fit has them, so that "
                "small changes of the data change them little."
            )
        proved, generic, local = counts.values()
        one_place = f"{proved} of {n} rows are proved to have one place relative to each other"
        parts = [one_place if proved else "no row is proved to have one place"]
        if generic:
            more = "more have" if proved else f"of {n} have"
            parts.append(f"{generic} {more} one place if the factor is in general position, which is not checked")
        if local:
            parts.append(f"{local} cannot move a little but may have another place")
        return f"Uniqueness of the whole matrix is not proved: {'; '.join(parts)}."

    def summary(self) -> dict[str, Any]:
        """Ready for JSON; rows by their labels, if there are any."""
        labels = None if self.observations is None else self.observations.labels
        words, counts = np.unique(self.determinacy.level, return_counts=True)
        return finite(
            {
                "unique": self.unique,
                "kind": self.kind,
                "any_rank": self.any_rank,
                "uses_absence": self.uses_absence,
                "failed": list(self.failed),
                "reasons": list(self.reasons),
                "bound": self.bound,
                "determinacy": dict(zip(words.tolist(), counts.tolist(), strict=True)),
                "components": len({int(c) for c in self.determinacy.components if c >= 0}),
                "determined_rows": int(self.determined.sum()),
                "not_determined": [label_or_position(row, labels) for row in np.flatnonzero(~self.determined)],
                "groups": [[label_or_position(row, labels) for row in rows] for rows in self.groups],
            }
        )

    def __repr__(self) -> str:
        n, proved = len(self.determinacy.rank_of), int(np.sum(self.determinacy.level == "proved"))
        unique = "unique" if self.unique else "not proved unique"
        return f"Certificate({n}×{n}, rank {self.rank}, {unique}, {self.kind}, {proved} of {n} rows proved)"

    def __str__(self) -> str:
        return self.explain()
