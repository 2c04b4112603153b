"""A completion at a glance."""

from __future__ import annotations

from typing import Any

from unrelu._old.data.labels import label_or_position
from unrelu._old.loop.history import finite
from unrelu._old.results.distrust_words import distrust_in_json

__all__ = ["summary_of"]


def summary_of(completion: Any) -> dict[str, Any]:
    """What a person or a program wants to know of a completion at a glance, ready for JSON."""
    worst = completion.largest_misfit
    here, last = completion.history[completion.iteration], completion.history[-1]
    about = {
        "size": completion.size,
        "shape": list(completion.shape),
        "rank": completion.rank,
        "converged": completion.verdict.converged,
        "code": completion.verdict.code.value,
        "reason": completion.verdict.reason,
        "method": completion.method,
        "start": completion.start,
        "loss": completion.loss,
        "sigma": completion.sigma,
        "detection": None if completion.detection is None else completion.detection.as_dict(),
        "signs": None if completion.signs is None else list(completion.signs),
        "iterations": last.iteration,
        "seconds": completion.seconds,
        "cpu_seconds": completion.cpu_seconds,
        "objective": completion.objective,
        "residual": completion.residual,
        "gradient_norm": here.gradient_norm,
        "error": here.error,
        "apart": completion.apart,
        "tried": [attempt.start for attempt in completion.attempts],
        "undetermined_rows": [label_or_position(row, completion.labels) for row in completion.undetermined_rows],
        "determined_share": completion.determined_share,
        "distrusted": distrust_in_json(completion.distrusted),
        "largest_misfit": None if worst is None else worst.named(completion.labels),
    }
    return finite(about)
