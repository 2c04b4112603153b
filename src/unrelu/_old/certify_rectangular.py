"""The front door of the certificates for tables."""

from __future__ import annotations

from typing import Any

from unrelu._old.base.errors import InputError
from unrelu._old.complete_rectangular import complete_rectangular
from unrelu._old.results.rectangular import RectangularCompletion
from unrelu._old.results.table_certificate import TableCertificate
from unrelu._old.results.tensors import in_memory

__all__ = ["certify_rectangular"]


def certify_rectangular(X: Any, rank: int | None = None, **options: Any) -> TableCertificate:
    """Say what the seen entries of a table prove about the rest.

    Every row and column is followed from a fully seen block by linear steps with error bounds, and bodies are joined
    where the entries between them leave one way. With noise there is no proof: the certificate then speaks of
    stability.

    Parameters
    ----------
    X : table as for :func:`unrelu.complete_rectangular`, or a RectangularCompletion
    rank : int
        Not needed with a completion.
    options
        ``threshold``, ``seen``, ``unknown``, ``rng`` and the others of :func:`unrelu.complete_rectangular`; none with
        a completion.

    Returns
    -------
    TableCertificate

    Examples
    --------
    >>> import numpy as np, unrelu
    >>> rng = np.random.default_rng(0)
    >>> M = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 25))
    >>> certificate = unrelu.certify_rectangular(np.where(M >= 0, M, np.nan), rank=2, rng=0)
    >>> certificate
    TableCertificate(40×25, rank 2, unique, direct)
    >>> print(certificate)
    Proved: exactly one 40×25 matrix of rank at most 2 agrees with the seen entries.
    """
    X = in_memory(X)
    if isinstance(X, RectangularCompletion):
        if rank is not None and rank != X.rank:
            raise InputError(f"rank must be that of the completion, {X.rank}, or left out; got {rank!r}")
        if options:
            raise InputError(f"a completion knows how it was made; drop {', '.join(f'{name}=' for name in options)}")
        return TableCertificate.of(X)
    if rank is None:
        raise InputError("certify_rectangular needs the rank of the table; pass rank=")
    return TableCertificate.of(complete_rectangular(X, rank, **options))
