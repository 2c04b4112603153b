"""A part of a matrix on a device, and what a fit of it costs: all that the passes there are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["Cost", "Looked", "Region"]


@dataclass(frozen=True, eq=False)
class Region:
    """Some rows and columns of a matrix.

    Attributes
    ----------
    values : tensor of shape (p, q)
        float32 or float64 with any strides, NaN where nothing was seen.
    first_row, first_col : int
        Its place in the whole matrix.
    triangle : bool
        Whether only entries on and above the diagonal are looked at; those above count twice.
    symmetric : bool
        Whether row i and column i are the same thing, so that there is a diagonal.
    quiet : boolean tensor of shape (n,), or None
        Of which entries of the diagonal absence says nothing.
    """

    values: torch.Tensor
    first_row: int = 0
    first_col: int = 0
    triangle: bool = False
    symmetric: bool = False
    quiet: torch.Tensor | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(p, q)."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def rows(self) -> slice:
        """Its rows in the whole matrix."""
        return slice(self.first_row, self.first_row + self.shape[0])

    @property
    def cols(self) -> slice:
        """Its columns there."""
        return slice(self.first_col, self.first_col + self.shape[1])


@dataclass(frozen=True)
class Cost:
    """What a fit costs: squares, or the censored likelihood; slopes and curvatures are those over the stiffness.

    Attributes
    ----------
    inverse : float
        What values are multiplied by.
    threshold : float or None
        Beyond which all unseen entries lie, in units; None: nothing is known of them.
    below : bool
        Whether they lie below it.
    sigma : float or None
        The noise level of the likelihood, in units; None for squares.
    """

    inverse: float = 1.0
    threshold: float | None = None
    below: bool = True
    sigma: float | None = None

    @property
    def stiffness(self) -> float:
        """The curvature of a seen entry: ½ for squares, 1/σ² for the likelihood."""
        return 0.5 if self.sigma is None else 1 / self.sigma**2


@dataclass(frozen=True, eq=False)
class Looked:
    """What a look at a region has found of its rows and of its columns; of a triangle each entry once of both.

    So rows and columns of a triangle together have each entry of the whole matrix once.

    Attributes
    ----------
    totals : tensor of shape (7,)
        How many were seen, Σ of squares left of them, Σ of squares by which unseen ones are fitted beyond the
        threshold, Σ z h of unseen ones; if that was asked for, Σ of squares of seen values, and the least and the
        largest of them: in double precision, and for all entries that a triangle stands for.
    seen : (tensor of shape (p,), tensor of shape (q,)), or None
        How many were seen, in double precision, for on the diagonal of a triangle each counts half.
    squares : (tensor of shape (p,), tensor of shape (q,))
        What is left of them.
    gradient : (tensor of shape (p, r), tensor of shape (q, r)), or None
    normal : (tensor of shape (p, r(r + 1)/2), tensor of shape (q, r(r + 1)/2)), or None
        Single precision.
    """

    totals: torch.Tensor
    seen: tuple[torch.Tensor, torch.Tensor] | None
    squares: tuple[torch.Tensor, torch.Tensor]
    gradient: tuple[torch.Tensor, torch.Tensor] | None
    normal: tuple[torch.Tensor, torch.Tensor] | None
