"""Run an experiment in this process, one thread, no files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from threadpoolctl import threadpool_limits

from unrelu.errors import CompletionWarning
from unrelu.experiments.base import Experiment, Result, Row, Sizes, Task

__all__ = ["run_here", "run_trial"]


def run_trial(experiment: Experiment, task: Task) -> Row:
    """One trial, quietly: that a row could not be placed is part of what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        return experiment.trial(task)


def run_here(experiment: Experiment, sizes: Sizes) -> Result:
    """Every trial of an experiment, and of those it needs, one after the other."""
    others: Mapping[str, Result] = {}
    if experiment.needs:
        from unrelu.experiments.registry import EXPERIMENTS

        short = bool(sizes.get("quick"))
        others = {
            name: run_here(
                EXPERIMENTS[name], EXPERIMENTS[name].sizes(quick=short, trials=sizes["trials"], rng=sizes["rng"])
            )
            for name in experiment.needs
        }
    with threadpool_limits(1):  # times are comparable only if nobody uses more than one
        rows = [{**task, **run_trial(experiment, task)} for task in experiment.tasks(sizes)]
    return experiment.conclude(sizes, rows, others)
