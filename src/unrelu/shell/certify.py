"""``unrelu certify``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from unrelu.certify import certify
from unrelu.delimited import printed_error
from unrelu.files import read_matrix
from unrelu.shell.common import (
    DONE,
    NOT_CONVERGED,
    AsJson,
    File,
    Header,
    Labels,
    Missing,
    NoThreshold,
    Rank,
    Seen,
    Threshold,
    Unknown,
    checked_threshold,
    guarded,
    labels_of,
    mask_values,
    out,
    require_square,
    say,
    side_table,
)

__all__ = ["certify_command"]

TEXT = (".csv", ".tsv", ".txt")


@guarded
def certify_command(
    file: File,
    rank: Rank,
    threshold: Threshold = None,
    no_threshold: NoThreshold = False,
    seen: Seen = "above",
    unknown: Unknown = None,
    missing: Missing = None,
    header: Header = None,
    labels: Labels = None,
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
    as_json: AsJson = False,
) -> int:
    """Say what the seen entries prove about the others: exit code 0 if the completed matrix is unique, 1 if not."""
    limit = checked_threshold(threshold, no_threshold)
    table = read_matrix(file, header=header, labels=labels, missing=missing or ())
    require_square(table, file)
    names = labels_of(table, file)
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
