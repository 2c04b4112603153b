"""Run experiments into a folder: trials that are there already are kept, the rest run, then files and page."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unrelu._old.base.errors import InputError, is_integer
from unrelu._old.experiments.base import Result, Sizes, Task
from unrelu._old.experiments.digest import digest
from unrelu._old.experiments.journal import Journal, key_of
from unrelu._old.experiments.outputs import machine, make_folder, read_section, write_files, write_text
from unrelu._old.experiments.page import page
from unrelu._old.experiments.registry import EXPERIMENTS, chosen
from unrelu._old.experiments.runner import Finished, cores, run_all
from unrelu._old.experiments.trials import read_trials
from unrelu._old.io.disk import together

__all__ = ["Reproduction", "Watcher", "reproduce"]

MARK = "reproduction.json"
LOG = "trials.jsonl"
REPORT = "report.html"
DIGEST = "README.md"
# What reproduction.json says of each experiment.
PASSED_ON = ("name", "edition", "version", "command", "sizes", "trials", "seconds", "counts", "counts_ours")


class Watcher:
    """Told how a run goes; this one looks away."""

    def begin(self, experiments: Sequence[str], kept: int, trials: int, cost: float) -> None:
        """What is to be done: so many trials (some kept from before), of so much cost together."""

    def trial(self, finished: Finished, cost: float) -> None:
        """A trial ended."""

    def experiment(self, name: str, result: Result) -> None:
        """An experiment ended and its files are written."""


@dataclass
class Reproduction:
    """What a run left behind."""

    folder: Path
    results: dict[str, Result] = field(default_factory=dict)
    kept: int = 0  # trials found in the folder
    run: int = 0  # trials run now
    troubles: list[Finished] = field(default_factory=list)

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / REPORT


def reproduce(
    names: Iterable[str],
    folder: str | Path,
    *,
    trials: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    rng: int = 0,
    force: bool = False,
    watcher: Watcher | None = None,
) -> Reproduction:
    """Run experiments and write what they found.

    Parameters
    ----------
    names : names of experiments
        See :data:`unrelu._old.experiments.EXPERIMENTS`; ``all`` for every one of the paper.
    folder : path
        Where results go. Trials that are there already (same experiment and edition, sizes and seed) are not run again.
    trials : int, optional
        Default: as many as the full run has; the ledger says where the paper has more.
    quick : bool, default False
        Fewer trials and smaller sizes.
    jobs : int, optional
        Processes, each with one thread. Default: one per core.
    rng : int, default 0
        The first seed.
    force : bool, default False
        Write into a folder that holds something else.
    watcher : Watcher, optional
        Told how it goes.

    Returns
    -------
    Reproduction
    """
    folder, watcher = Path(folder), watcher or Watcher()
    order = chosen(names)
    if not order:
        raise InputError(f"name at least one experiment, or all; known: {', '.join(EXPERIMENTS)}")
    if jobs is not None and (not is_integer(jobs) or jobs < 1):
        raise InputError(f"jobs must be an integer ≥ 1, got {jobs!r}")
    sizes = {name: EXPERIMENTS[name].sizes(quick=quick, trials=trials, rng=rng) for name in order}
    _claim(folder, force)
    plan = {name: EXPERIMENTS[name].tasks(sizes[name]) for name in order}
    journal = Journal(folder / LOG)
    _resume(folder, plan, journal)
    run = _Run(folder, plan, sizes, journal, watcher, _options(trials, quick, rng), quick)
    try:
        return run.go(jobs or cores())
    except InputError as error:
        if "finished trial" in str(error) or "not as this version" in str(error):
            raise
        count = len(journal.done)
        kept = f"{count} finished trial{'' if count == 1 else 's'} kept in {folder / LOG}"
        raise InputError(f"{error}; {kept}: give the same command again") from error
    finally:
        journal.close()


def _resume(folder: Path, plan: dict[str, list[Task]], journal: Journal) -> None:
    """Take trials from the CSV files of experiments that were finished: they can be passed on without the log."""
    editions = _editions(folder)
    for name, tasks in plan.items():
        if editions.get(name) != EXPERIMENTS[name].edition:
            continue
        wanted = {key: task for task in tasks if (key := key_of(name, task)) not in journal.done}
        kinds = {tuple(task) for task in wanted.values()}
        for row, seconds in read_trials(folder / name) if wanted else ():
            for names in kinds:
                task = {part: row[part] for part in names if part in row}
                if (key := key_of(name, task)) in wanted:
                    found = {part: value for part, value in row.items() if part not in task}
                    journal.done[key] = (found, seconds)
                    break


def _editions(folder: Path) -> dict[str, Any]:
    """Of which edition the trials of each experiment in a folder are; nothing if that cannot be read."""
    try:
        about = json.loads((folder / MARK).read_text(encoding="utf-8"))
        return {entry["name"]: entry["edition"] for entry in about["experiments"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _claim(folder: Path, force: bool) -> None:
    """Refuse a folder with someone else's files, before the work starts."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file where a folder was expected; choose another with -o")
    if folder.is_dir() and not (folder / MARK).exists() and any(folder.iterdir()) and not force:
        raise InputError(
            f"{folder} holds something else and is not touched; choose another folder with -o, or say --force to write "
            "into it (nothing in it is deleted)"
        )
    make_folder(folder)
    if not (folder / MARK).exists():
        write_text(folder / MARK, json.dumps(machine(), indent=1) + "\n")


def _options(trials: int | None, quick: bool, rng: int) -> str:
    return (
        (f" --trials {trials}" if trials is not None else "")
        + (" --quick" if quick else "")
        + (f" --seed {rng}" if rng else "")
    )


@dataclass
class _Run:
    folder: Path
    plan: dict[str, list[Task]]
    sizes: dict[str, Sizes]
    journal: Journal
    watcher: Watcher
    options: str
    quick: bool

    def __post_init__(self) -> None:
        self.before = set(self.journal.done)  # trials of earlier calls

    def go(self, jobs: int) -> Reproduction:
        done = self.journal.done
        left = {name: {key for t in tasks if (key := key_of(name, t)) not in done} for name, tasks in self.plan.items()}
        todo = [(name, t) for name, tasks in self.plan.items() for t in tasks if key_of(name, t) in left[name]]
        total = sum(map(len, self.plan.values()))
        found = Reproduction(self.folder, kept=total - len(todo))
        cost = sum(EXPERIMENTS[name].cost(task) for name, task in todo)
        self.watcher.begin(list(self.plan), found.kept, total, cost)
        waiting = list(self.plan)
        self._conclude(waiting, left, found)
        with closing(run_all([(EXPERIMENTS[name], task) for name, task in todo], jobs)) as running:
            for finished in running:
                if finished.found is None:
                    found.troubles.append(finished)
                else:
                    self.journal.append(finished.name, finished.task, finished.found, finished.seconds)
                found.run += 1
                left[finished.name].discard(key_of(finished.name, finished.task))
                self.watcher.trial(finished, EXPERIMENTS[finished.name].cost(finished.task))
                self._conclude(waiting, left, found)
        found.results = {name: found.results[name] for name in self.plan if name in found.results}
        return found

    def _conclude(self, waiting: list[str], left: dict[str, set[str]], found: Reproduction) -> None:
        """Files of every experiment that has no trial left, and the page."""
        needed = {name: [other.name for other in EXPERIMENTS[name].needs] for name in waiting}
        ready = [name for name in waiting if not left[name] and not any(left.get(other) for other in needed[name])]
        for name in ready:
            waiting.remove(name)
            experiment, done = EXPERIMENTS[name], self.journal.done
            kept = [(task, done[key]) for task in self.plan[name] if (key := key_of(name, task)) in done]
            if self.plan[name] and not kept:
                continue  # every trial failed; the troubles say why
            rows = [{**task, **row} for task, (row, _) in kept]
            others = {other: found.results[other] for other in needed[name] if other in found.results}
            try:
                result = experiment.conclude(self.sizes[name], rows, others)
            except Exception as error:
                if len(kept) == len(self.plan[name]):
                    if not any(key_of(name, task) in self.before for task in self.plan[name]):
                        raise
                    raise InputError(
                        f"{self.folder / LOG} holds trials of {name} that are not as this version writes them "
                        f"({type(error).__name__}: {error}); move it away, or choose another folder with -o"
                    ) from error
                # A setting whose every trial failed; what the other experiments found must not be lost with it.
                trouble = f"no conclusion without the trials that failed ({type(error).__name__}: {error})"
                found.troubles.append(Finished(name, {}, None, 0.0, trouble))
                continue
            found.results[name] = result
            command = f"unrelu reproduce {name}{self.options}"
            seconds = [seconds for _, (_, seconds) in kept]
            with together():
                write_files(self.folder / name, experiment, result, command, seconds, quick=self.quick)
            self.watcher.experiment(name, result)
        if ready:
            self._write_page(found)

    def _write_page(self, found: Reproduction) -> None:
        about: dict[str, Any] = {**machine(), "written": time.strftime("%Y-%m-%d %H:%M")}
        sections = []
        for name in EXPERIMENTS:
            section = read_section(self.folder / name)
            if section is not None:
                sections.append(section)
        about["experiments"] = [{key: section[key] for key in PASSED_ON} for section in sections]
        lines = [judgement for section in sections for judgement in section["judgements"]]
        about["odd and even trials"] = {"lines": len(lines), "agree": sum(not j["near"] for j in lines)}
        about["seeds"] = {s["name"]: s["seeds"] for s in sections}
        about["failed trials"] = [f"{t.name}: {t.trouble}" for t in found.troubles]
        with together():
            write_text(self.folder / MARK, json.dumps(about, indent=1, ensure_ascii=False) + "\n")
            try:
                text = page(self.folder, sections, about)
                write_text(self.folder / DIGEST, digest(sections, about))
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise InputError(
                    f"a section.json in {self.folder} is not as this version writes it ({type(error).__name__}: "
                    f"{error}); move it away, or choose another folder with -o"
                ) from error
            write_text(found.report, text)
