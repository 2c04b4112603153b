"""What an experiment is: sizes, trials that each stand alone, and what follows from them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from unrelu.base.errors import CompletionWarning, InputError, is_integer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Cell", "Experiment", "Judgement", "Picture", "Result", "Row", "Sizes", "Table", "Task", "seed_of"]

# Everything a trial depends on, as JSON can say it; a trial is told apart from others by this alone.
Task = dict[str, Any]
# A task and what its trial found.
Row = dict[str, Any]
Sizes = dict[str, Any]
Cell = str | float | int | bool | None


@dataclass(frozen=True)
class Table:
    """Named columns and rows, for a CSV file and the page."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, name: str, caption: str, lines: Sequence[Mapping[str, Cell]]) -> Table:
        """A table of dictionaries with the same keys."""
        columns = tuple(lines[0]) if lines else ()
        return cls(name, caption, columns, tuple(tuple(line[column] for column in columns) for line in lines))


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when it is asked for."""

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Judgement:
    """One claim of the paper beside what was measured.

    ``verdict`` is ``reproduced``, ``better`` or ``not reproduced``; ``why`` is empty unless it needs saying.
    ``prose`` is True for what the paper says in words, False for a number in a table.
    """

    key: str
    claim: str
    where: str
    printed: str
    measured: str
    verdict: str
    why: str = ""
    prose: bool = False


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    ``says`` is what follows from it in sentences, where the paper claims nothing that could be judged; ``notes`` is
    what a reader has to know of how it was done.
    """

    name: str
    sizes: Sizes
    rows: tuple[Row, ...]
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    notes: tuple[str, ...] = field(default=())
    says: tuple[str, ...] = field(default=())

    def counts(self) -> dict[str, int]:
        """How many claims got which verdict."""
        found: dict[str, int] = {}
        for judgement in self.judgements:
            found[judgement.verdict] = found.get(judgement.verdict, 0) + 1
        return found


class Experiment:
    """One table or figure of the paper. Calling it runs it in this process.

    Subclasses say what a trial is (:meth:`trial`), which there are (:meth:`tasks`), and what follows from all of them
    (:meth:`conclude`). A trial depends on its task alone, so that trials may run in any order and in any process.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    where: ClassVar[str]  # in the paper
    setting: ClassVar[str]
    full: ClassVar[Sizes]
    quick: ClassVar[Sizes]
    extra: ClassVar[bool] = False  # not of the paper, and not part of "all"
    needs: ClassVar[tuple[Experiment, ...]] = ()  # whose results it reads

    def sizes(self, *, quick: bool = False, trials: int | None = None, rng: Any = 0, **others: Any) -> Sizes:
        """The parameters of a run, checked."""
        chosen: Sizes = {**self.full, **(self.quick if quick else {}), "rng": seed_of(rng)}
        if trials is not None:
            if not is_integer(trials) or trials < 1:
                raise InputError(f"trials must be an integer ≥ 1, got {trials!r}")
            chosen["trials"] = int(trials)
        unknown = sorted(set(others) - set(chosen))
        if unknown:
            raise InputError(f"{self.name} has no size {unknown[0]!r}; it has {', '.join(sorted(chosen))}")
        return {**chosen, **others}

    def tasks(self, sizes: Sizes) -> list[Task]:
        """Every trial of a run."""
        raise NotImplementedError

    def cost(self, task: Task) -> float:
        """About how many seconds a trial takes, for the time left."""
        return 1.0

    def trial(self, task: Task) -> Row:
        """Run one trial. The result is what JSON can say."""
        raise NotImplementedError

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Tables, pictures and verdicts from all trials (and from the experiments it ``needs``)."""
        raise NotImplementedError

    def __call__(self, trials: int | None = None, rng: Any = 0, *, quick: bool = False, **sizes: Any) -> Result:
        """Run every trial here and now.

        Parameters
        ----------
        trials : int, optional
            Default: as many as in the paper.
        rng : int, Generator or None
            Trial k of an integer has the seed ``rng + k``.
        quick : bool, default False
            Fewer trials and smaller sizes.
        **sizes
            Other sizes, such as ``n``; see ``full``.

        Returns
        -------
        Result

        Examples
        --------
        >>> from unrelu.experiments import figure_orthants
        >>> figure_orthants(trials=3, rng=1, n=50).tables[0].columns[0]
        'quadrant'
        """
        chosen = self.sizes(quick=quick, trials=trials, rng=rng, **sizes)
        others = {other.name: other(chosen["trials"], chosen["rng"], quick=quick) for other in self.needs}
        with threadpool_limits(1):  # times are comparable only if nobody uses more than one
            rows = [{**task, **self.quietly(task)} for task in self.tasks(chosen)]
        return self.conclude(chosen, rows, others)

    def quietly(self, task: Task) -> Row:
        """One trial without warnings: that a row could not be placed is part of what is measured."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompletionWarning)
            return self.trial(task)


def seed_of(rng: Any) -> int:
    """A first seed from what a caller passes as ``rng``."""
    if is_integer(rng) and rng >= 0:
        return int(rng)
    if rng is None or isinstance(rng, np.random.Generator):
        return int(np.random.default_rng(rng).integers(2**31))
    raise InputError(f"rng must be an integer ≥ 0, a numpy Generator or None, got {rng!r}")


def numbers(rows: Iterable[Row], name: str) -> list[float]:
    """One quantity over many rows; what was not measured or is not finite is left out."""
    values = (row.get(name) for row in rows)
    return [float(value) for value in values if value is not None and math.isfinite(value)]
