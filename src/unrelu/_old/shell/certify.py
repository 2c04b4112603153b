"""``unrelu certify``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from unrelu._old.base.budget import OutOfTime, budget, phase
from unrelu._old.base.errors import InputError
from unrelu._old.certify import certify
from unrelu._old.certify_rectangular import certify_rectangular
from unrelu._old.io.digits import printed_error, prints_digits
from unrelu._old.io.disk import require_lasting
from unrelu._old.results.certificate import Certificate
from unrelu._old.results.table_certificate import TableCertificate
from unrelu._old.shell import options
from unrelu._old.shell.common import (
    DONE,
    NOT_CONVERGED,
    guarded,
    kept_warnings,
    mask_beside,
    shown_table,
    warn,
    watching,
)
from unrelu._old.shell.doubts import told
from unrelu._old.shell.numbers import numbers_beside
from unrelu._old.shell.reading import STANDARD, HowToRead
from unrelu._old.shell.streams import deliver, say
from unrelu._old.shell.wording import for_shells

__all__ = ["certify_command"]

# Options that no other command has.
DataError = Annotated[
    float | None,
    typer.Option(
        metavar=options.NUMBER,
        help="By how much a seen entry may be off.",
        show_default="half the last printed digit of a text file, else rounding",
    ),
]
Stress = Annotated[
    bool,
    typer.Option(
        "--stress/--no-stress",
        metavar=options.FLAG,
        help="Look for a stress where linear steps do not prove everything.",
    ),
]
Seed = Annotated[int, typer.Option(metavar=options.COUNT, help="Seed of the searches.")]
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        metavar=options.SECONDS,
        help="Most seconds of wall-clock time; then nothing is said to be proved, with exit code 1. Reading the "
        "file and single steps of linear algebra are not cut short.",
    ),
]


@guarded
def certify_command(
    file: options.File,
    rank: options.Rank,
    threshold: options.Threshold = None,
    no_threshold: options.NoThreshold = False,
    seen: options.Seen = "above",
    unknown: options.Unknown = None,
    entry_range: options.EntryRange = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    layout: options.Layout = None,
    data_error: DataError = None,
    stress: Stress = True,
    seed: Seed = 0,
    max_seconds: MaxSeconds = None,
    table: options.AsTable = False,
    as_json: options.AsJson = False,
) -> int:
    """Say what the seen entries prove about the others: exit code 0 if the completed matrix is unique, 1 if not."""
    limit = options.checked_threshold(threshold, no_threshold)
    within = options.checked_range(entry_range)
    seconds = options.checked_seconds(max_seconds)
    printed = data_error is None and prints_digits(file)
    if printed:
        _require_lasting(file)
    brought = HowToRead(header, labels, missing, layout, table).read(file)
    read, rectangular, matrix = brought.read, brought.rectangular, brought.matrix()
    brought.refuse_another_threshold(threshold, seen)
    doubts = told(brought, None if unknown else limit, seen, quiet=False, as_json=as_json)
    if rectangular and data_error is not None:
        raise InputError("--data-error is for symmetric matrices, and tables are proved to rounding; drop it")
    if printed and not rectangular:
        data_error = _half_the_last_digit(file, silent=as_json)
    asked = dict(seen=seen, unknown=mask_beside(matrix, unknown), entry_range=within)
    asked |= dict(threshold=read.limits or numbers_beside(matrix, limit), rng=options.checked_seed(seed))
    try:
        with kept_warnings() as notes, watching(as_json) as watched, budget(seconds, watched.phase):
            phase("looking for a proof")
            shown = shown_table(matrix.table, as_json=as_json)
            certificate: Certificate | TableCertificate
            if rectangular:
                certificate = certify_rectangular(shown, rank, **asked)
            else:
                certificate = certify(shown, rank, data_error=data_error, stress=stress, **asked)
            about, words = certificate.summary(), for_shells(certificate.explain())
    except OutOfTime:
        say(f"not proved within {seconds:g} s, and not refuted; give --max-seconds more, or leave it out")
        return NOT_CONVERGED
    if not as_json:
        warn(notes)
    deliver(json.dumps({**about, "warnings": doubts + notes}) if as_json else words)
    return DONE if certificate.unique else NOT_CONVERGED


def _require_lasting(file: Path) -> None:
    """Refuse what can be read only once where its digits are counted after it was read."""
    advice = "give --data-error, for which it need not be read again, or copy it to a file"
    if file == STANDARD:
        raise InputError(f"standard input can be read only once where this reads twice; {advice}")
    require_lasting(file, advice)


def _half_the_last_digit(file: Path, *, silent: bool) -> float | None:
    """By how much an entry of a text file may be off, as it is printed; and say so."""
    error = printed_error(file)
    if error is not None and not silent:
        say(f"entries are taken to be right to {error:g}, half the last printed digit (--data-error)")
    return error
