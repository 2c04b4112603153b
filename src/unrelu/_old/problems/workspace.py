"""Large arrays that states hold, lent again when nobody can see them any more.

A state is a value: no step writes into an older one. A method whose states hold n×n arrays would ask the system for
new memory in every step, which costs about as much as a pass; so memory is lent again as soon as the array that was
made of it is gone, with all its views. Whoever keeps the array, or a copy of the state, or one row of it, keeps the
memory.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Workspace"]


class _Loan:
    """Memory that an array looks into.

    NumPy gives an array, and every view of it, this object as its root; so it lives as long as any of them. Were the
    root an array itself, a view of a view would skip what lies between and hold the root alone.
    """

    def __init__(self, memory: NDArray[Any]) -> None:
        self.memory = memory
        self.__array_interface__ = memory.__array_interface__


class Workspace:
    """Arrays by shape and dtype, free to be written to.

    Which loans are over is looked up when memory is asked for. Nothing runs when an array dies: an interrupt there
    would be printed and forgotten.

    Examples
    --------
    >>> workspace = Workspace()
    >>> first = workspace.empty((2, 2), np.float64)
    >>> row, where = first[0], first.ctypes.data
    >>> workspace.empty((2, 2), np.float64).ctypes.data == where
    False
    >>> del first
    >>> workspace.empty((2, 2), np.float64).ctypes.data == where
    False
    >>> del row
    >>> others = [workspace.empty((2, 2), np.float64) for _ in range(3)]
    >>> where in [other.ctypes.data for other in others]
    True
    """

    def __init__(self) -> None:
        self._lent: list[tuple[weakref.ref[_Loan], NDArray[Any]]] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array with whatever is in it."""
        for k, (loan, memory) in enumerate(self._lent):
            if loan() is None and memory.shape == shape and memory.dtype == dtype:
                del self._lent[k]
                return self._lend(memory)
        return self._lend(np.empty(shape, dtype))

    def _lend(self, memory: NDArray[Any]) -> NDArray[Any]:
        loan = _Loan(memory)
        self._lent.append((weakref.ref(loan), memory))
        return np.asarray(loan)
