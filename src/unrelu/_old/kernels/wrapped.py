"""A kernel around another, which does all passes that are not written again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.kernels.protocol import Kernel, PairsSeen

__all__ = ["Wrapped"]


@dataclass(frozen=True, eq=False)
class Wrapped:
    """The passes that do not change; ``inner`` does the others first."""

    inner: Kernel

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the data."""
        return self.inner.dtype

    @property
    def constant(self) -> float:
        """The part of F that no fit lowers."""
        return self.inner.constant

    @property
    def bounded(self) -> bool:
        """Whether unseen entries count."""
        return self.inner.bounded

    def weighted(self, weigh: Callable[[PairsSeen], NDArray[Any]]) -> Any:
        """That of F."""
        return self.inner.weighted(weigh)

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: NDArray[Any]) -> Any:
        """That of F."""
        return self.inner.gather(visit, zeros)

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """That of F."""
        return self.inner.total(visit)
