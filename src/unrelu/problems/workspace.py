"""Large arrays that states hold, lent again when the state that held them is gone.

A state is a value: no step writes into an older one. A method whose states hold n×n arrays would ask the system for
new memory in every step, which costs about as much as a pass; so an array comes back here when its state is forgotten,
and whoever keeps the state keeps the array.
"""

from __future__ import annotations

import weakref
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Workspace"]

State = TypeVar("State")


class Workspace:
    """Arrays by shape and dtype, free to be written to.

    Examples
    --------
    >>> workspace = Workspace()
    >>> class Holder:
    ...     pass
    >>> first = workspace.empty((2, 2), np.float64)
    >>> holder = workspace.held_by(Holder(), first)
    >>> workspace.empty((2, 2), np.float64) is first
    False
    >>> del holder
    >>> workspace.empty((2, 2), np.float64) is first
    True
    """

    def __init__(self) -> None:
        self._free: dict[tuple[Any, ...], list[NDArray[Any]]] = {}

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array with whatever is in it."""
        free = self._free.get((shape, np.dtype(dtype)), [])
        return free.pop() if free else np.empty(shape, dtype)

    def held_by(self, state: State, *arrays: NDArray[Any]) -> State:
        """The state, whose arrays come back when it is gone."""
        for array in arrays:
            weakref.finalize(state, self._back, array)
        return state

    def _back(self, array: NDArray[Any]) -> None:
        self._free.setdefault((array.shape, array.dtype), []).append(array)
