"""``unrelu certify``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from unrelu.certify import certify
from unrelu.delimited import printed_error
from unrelu.shell import options
from unrelu.shell.common import DONE, NOT_CONVERGED, guarded, mask_values, out, read_square, say, side_table

__all__ = ["certify_command"]

TEXT = (".csv", ".tsv", ".txt")


@guarded
def certify_command(
    file: options.File,
    rank: options.Rank,
    threshold: options.Threshold = None,
    no_threshold: options.NoThreshold = False,
    seen: options.Seen = "above",
    unknown: options.Unknown = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    data_error: Annotated[
        float | None,
        typer.Option(
            help="By how much a seen entry may be off.",
            show_default="half the last printed digit of a text file, else rounding",
        ),
    ] = None,
    stress: Annotated[
        bool, typer.Option("--stress/--no-stress", help="Look for a stress where linear steps do not prove everything.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Seed of the searches.")] = 0,
    as_json: options.AsJson = False,
) -> int:
    """Say what the seen entries prove about the others: exit code 0 if the completed matrix is unique, 1 if not."""
    limit = options.checked_threshold(threshold, no_threshold)
    table, names = read_square(file, header, labels, missing)
    if data_error is None and file.suffix.lower() in TEXT:
        data_error = printed_error(file)
        if data_error is not None and not as_json:
            say(f"entries are taken to be right to {data_error:g}, half the last printed digit (--data-error)")
    certificate = certify(
        table,
        rank,
        threshold=limit,
        seen=seen,
        unknown=None if unknown is None else mask_values(side_table(unknown, names), unknown),
        data_error=data_error,
        stress=stress,
        rng=seed,
    )
    if as_json:
        out(json.dumps(certificate.summary()))
    else:
        out(certificate.explain())
    return DONE if certificate.unique else NOT_CONVERGED
