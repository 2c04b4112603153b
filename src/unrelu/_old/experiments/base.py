"""What an experiment is: sizes, trials that each stand alone, and what follows from them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from unrelu._old.base.errors import CompletionWarning, InputError, is_integer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Cell",
    "Experiment",
    "Judgement",
    "Picture",
    "Result",
    "Row",
    "Setting",
    "Sizes",
    "Table",
    "Task",
    "numbers",
    "seed_of",
]

# A trial's numbers are kept to so many digits, in the log, in the CSV files and for the verdicts alike: what the files
# say is then all there is, and whoever judges them again comes to the same verdicts.
DIGITS = 7

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
    """A figure that is drawn when it is asked for: wide, or for a phone with its panels below each other."""

    name: str
    caption: str
    draw: Callable[[bool], Figure]  # True: narrow


@dataclass(frozen=True)
class Setting:
    """A line of the ledger: with which value something ran, and where the value comes from.

    ``origin`` is ``printed`` (the paper states it), ``inferred`` (from what the paper prints; ``how`` says from what)
    or ``ours`` (the paper is silent; ``how`` says why this value).
    """

    method: str
    name: str
    value: str
    origin: str
    how: str = ""


@dataclass(frozen=True)
class Judgement:
    """One claim of the paper beside what was measured.

    Made by :mod:`unrelu._old.experiments.rules`, never by hand. ``case`` tells several of the same claim apart. ``rule`` is
    the name of the rule. ``rests`` names the settings that the paper does not state and on which the verdict rests;
    each is a line of the experiment's ledger. ``ours`` is True for a claim about this library. ``near`` is True where
    odd and even trials, judged apart, do not both come to this verdict. ``prose`` is True for what the paper says in
    words, False for a number that it prints.
    """

    key: str
    claim: str
    where: str
    printed: str
    measured: str
    verdict: str
    why: str = ""
    prose: bool = False
    case: str = ""
    rule: str = ""
    rests: tuple[str, ...] = ()
    ours: bool = False
    near: bool = False


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

    def counts(self, *, ours: bool = False) -> dict[str, int]:
        """How many claims got which verdict: of the paper's, or of those about this library."""
        found: dict[str, int] = {}
        for judgement in self.judgements:
            if judgement.ours is ours:
                found[judgement.verdict] = found.get(judgement.verdict, 0) + 1
        return found


class Experiment:
    """One table or figure of the paper. Calling it runs it in this process.

    Subclasses say what a trial is (:meth:`trial`), which there are (:meth:`tasks`), with which settings they run
    (:meth:`ledger`), what the trials say of each claim (:meth:`judge`), and what there is to show (:meth:`conclude`). A
    trial depends on its task alone, so that trials may run in any order and in any process.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    where: ClassVar[str]  # in the paper
    full: ClassVar[Sizes]
    quick: ClassVar[Sizes]
    edition: ClassVar[int] = 2  # raised when trials begin to measure something else; those of another are run again
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

    def setting(self, sizes: Sizes) -> str:
        """What was run, in words: the heading says the sizes of this run, never those of another."""
        raise NotImplementedError

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """The settings of every method that runs here, and where they come from."""
        return ()

    def tasks(self, sizes: Sizes) -> list[Task]:
        """Every trial of a run."""
        raise NotImplementedError

    def cost(self, task: Task) -> float:
        """About how many seconds a trial takes, for the time left."""
        return 1.0

    def trial(self, task: Task) -> Row:
        """Run one trial. The result is what JSON can say."""
        raise NotImplementedError

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> Sequence[Judgement]:
        """What the trials say of each claim, by the rules. Any sample may come, also an empty one."""
        return ()

    def judged(self, sizes: Sizes, rows: Sequence[Row]) -> tuple[Judgement, ...]:
        """The verdicts; those are marked to which odd and even trials, judged apart, do not both come."""
        halves = [
            {(j.key, j.case): j.verdict for j in self.judge(sizes, [r for r in rows if r.get("seed", odd) % 2 == odd])}
            for odd in (0, 1)
        ]
        return tuple(
            replace(j, near=len({half.get((j.key, j.case), j.verdict) for half in halves} | {j.verdict}) > 1)
            for j in self.judge(sizes, rows)
        )

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Tables, pictures and verdicts from all trials (and from the experiments it ``needs``)."""
        raise NotImplementedError

    def __call__(self, trials: int | None = None, rng: Any = 0, *, quick: bool = False, **sizes: Any) -> Result:
        """Run every trial here and now.

        Parameters
        ----------
        trials : int, optional
            Default: as many as the full run has.
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
        >>> from unrelu._old.experiments import figure_orthants
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
            return _kept(self.trial(task))


def _kept(value: Any) -> Any:
    """A trial's finding with its numbers to the digits that are kept."""
    if isinstance(value, Mapping):
        return {name: _kept(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_kept(entry) for entry in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{DIGITS - 1}e}")
    if isinstance(value, np.bool_):
        return bool(value)
    return int(value) if isinstance(value, np.integer) else value


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
