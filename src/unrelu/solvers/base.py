"""What a solver is: hyperparameters, and one step at a time. It owns no loop, no clock, no printing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from unrelu.losses import Loss
from unrelu.observations import Observations
from unrelu.problems.psd import Point, PSDProblem

__all__ = ["Iterate", "Solver"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Iterate:
    """Where a solver is. Subclasses add what travels from step to step.

    Attributes
    ----------
    point : Point
        The factor, with value and gradient measured there.
    details : mapping of str to float
        What this method records of the step that led here.
    stuck : str or None
        Why no further step makes sense, if so.
    """

    point: Point
    details: Mapping[str, float] = field(default_factory=dict)
    stuck: str | None = None


State = TypeVar("State", bound=Iterate)


class Solver(Generic[State]):
    """A frozen dataclass of hyperparameters with ``start`` and ``step``; its state travels.

    ``losses`` are the names of the losses it can minimise, ``max_iter`` how many iterations it may take unless told.
    """

    name: ClassVar[str]
    losses: ClassVar[tuple[str, ...]]
    max_iter: ClassVar[int]

    def default_loss(self, observations: Observations) -> Loss:
        """The loss this method minimises when none is named."""
        raise NotImplementedError

    def start(self, problem: PSDProblem, factor: Array) -> State:
        """The state at the starting factor."""
        raise NotImplementedError

    def step(self, problem: PSDProblem, state: State) -> State:
        """The state one iteration later."""
        raise NotImplementedError
