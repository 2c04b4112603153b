"""Options that several commands share, each declared once: the same name, the same help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from unrelu._old.base.errors import InputError, is_number
from unrelu._old.base.printable import printable
from unrelu._old.io.pairs import LAYOUTS
from unrelu._old.results.gaps import GAPS
from unrelu._old.scale.options import bytes_of
from unrelu._old.shell.help import values_of

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
# What stands for the value of an option in the help.
FILE, FOLDER, NUMBER, COUNT, NAME, SECONDS, FLAG = "FILE", "FOLDER", "NUMBER", "N", "NAME", "SECONDS", ""
SIZE = "SIZE"
# Less memory than this is no place to work in: somebody has left out a unit.
LEAST_MEMORY = 2**20

File = Annotated[
    Path,
    typer.Argument(
        metavar=FILE,
        help="The matrix: .csv, .tsv or .txt, also with .gz; .xlsx, .parquet, .npy, .npz or .mtx; or - for text on "
        "standard input. Empty, NA or ND where nothing was seen, <0.25 below a limit, >100 above one.",
    ),
]
Layout = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar=NAME,
        help="What the file holds: edges (lines of row, column and value) or matrix.",
        show_default="look",
        autocompletion=values_of(*LAYOUTS),
    ),
]
Rank = Annotated[int, typer.Option("--rank", "-r", metavar=COUNT, help="Rank of the completed matrix.")]
# The word for "as low as the data ask for".
AUTO = "auto"
AutoRank = Annotated[
    str,
    typer.Option(
        "--rank",
        "-r",
        metavar="N|auto",
        help="Rank of the completed matrix; auto: as low as the data ask for, or the model that forecasts best what "
        "was hidden on purpose.",
        autocompletion=values_of(AUTO),
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|FILE|auto",
        help="Every seen entry is on the seen side of this value; two with a comma for --seen between and outside; a "
        "file with one per row, per column or per entry; or auto: found from the data.",
        show_default="0",
    ),
]
LimitsFile = Annotated[
    Path | None,
    typer.Option(
        metavar=FILE,
        help="File with the limits of each column, under column,lower,upper: missing entries lie below the lower limit "
        "or above the upper one; or a line of lower limits under the names of the columns.",
    ),
]
Weights = Annotated[
    Path | None,
    typer.Option(
        metavar=FILE,
        help="File with what each entry weighs in the fit, above 0: one per row, per column or per entry.",
    ),
]
Sigma = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|FILE",
        help="Standard deviation of the noise; or a file with one per row, per column or per entry.",
        show_default="estimated",
    ),
]
EntryRange = Annotated[
    str | None, typer.Option(metavar="LEAST,MOST", help="Every entry lies between these two numbers, such as 0,1.")
]
Gaps = Annotated[
    str,
    typer.Option(
        metavar=NAME,
        help="Why entries are missing: censored (they lie beyond the threshold), random, mixed (some for either "
        "reason), curve (the chance to be seen rises with the value), or auto (whichever is likeliest).",
        autocompletion=values_of(*GAPS),
    ),
]
NoThreshold = Annotated[
    bool, typer.Option("--no-threshold", metavar=FLAG, help="Absence says nothing about the value.")
]
Seen = Annotated[
    str,
    typer.Option(
        metavar="SIDE",
        help="On which side of the threshold entries were seen: above or below; between two, or outside of them.",
        autocompletion=values_of("above", "below", "between", "outside"),
    ),
]
Unknown = Annotated[
    Path | None,
    typer.Option(metavar=FILE, help="File of the same shape, 1 where an entry is missing for another reason, else 0."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="MARK", help="A further mark for a missing entry, such as -999; may be repeated."),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", metavar=FLAG, help="Whether the first row holds labels.", show_default="look"),
]
Labels = Annotated[
    bool | None,
    typer.Option(
        "--labels/--no-labels", metavar=FLAG, help="Whether the first column holds labels.", show_default="look"
    ),
]
Tol = Annotated[float | None, typer.Option(metavar=NUMBER, help="Relative gradient norm at which to stop.")]
MaxIter = Annotated[int | None, typer.Option(metavar=COUNT, help="Most iterations.")]
BEST_SO_FAR = "Most seconds of wall-clock time; then the best so far is written, with exit code 1."
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        metavar=SECONDS,
        help=f"{BEST_SO_FAR} Reading and writing files, the method sdp, and single steps of linear algebra on large "
        "matrices are not cut short.",
    ),
]
PeakMemory = Annotated[
    str | None,
    typer.Option(
        metavar=SIZE,
        help="How much memory may be used, such as 800MB or 2GiB; the matrix is read block by block then.",
        show_default="what there is",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar=FILE,
        help="Keep what is done in this file: the same command, called again after it was killed, goes on from there.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="cpu|cuda",
        help="Where to compute: cuda moves the matrix to a GPU, through PyTorch.",
        show_default="cpu",
        autocompletion=values_of("cpu", "cuda"),
    ),
]
AsTable = Annotated[
    bool,
    typer.Option(
        "--table",
        metavar=FLAG,
        help="Take it for a table, LRᵀ, even if it has as many rows as columns; others are told by their shape.",
    ),
]
FirstSeed = Annotated[int, typer.Option(metavar=COUNT, help="Seed of the first trial.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=FLAG, help="Say nothing unless something is wrong.")]
AsJson = Annotated[
    bool, typer.Option("--json", metavar=FLAG, help="Print a summary for programs; rows go by their labels.")
]


def checked_threshold(threshold: str | None, no_threshold: bool) -> float | tuple[float, ...] | Path | str | None:
    """What the two options say together: a number, a pair, a file, auto, or None if absence says nothing."""
    if no_threshold and threshold is not None:
        raise InputError("--threshold and --no-threshold contradict each other; give one of them")
    if no_threshold or threshold is None:
        return None if no_threshold else 0.0
    if threshold.strip() == AUTO:
        return AUTO
    numbers = _numbers_or_file("--threshold", threshold)
    return numbers[0] if isinstance(numbers, tuple) and len(numbers) == 1 else numbers


def refuse_two_limits(limits: Path | None, threshold: str | None, no_threshold: bool, seen: str) -> None:
    """Refuse a threshold beside limits of the columns: of a missing entry both would speak."""
    said = "--no-threshold" if no_threshold else f"--seen {printable(seen)}" if seen != "above" else None
    said = said if threshold is None else f"--threshold {printable(threshold)}"
    if limits is not None and said is not None:
        raise InputError(f"--limits and {said} both say where missing entries lie; give one of them")


def threshold_beside(limits: Path | None, threshold: str | None, no_threshold: bool, seen: str) -> Any:
    """What :func:`checked_threshold` says, where no file with limits says something else."""
    refuse_two_limits(limits, threshold, no_threshold, seen)
    return checked_threshold(threshold, no_threshold)


def checked_sigma(sigma: str | None) -> float | Path | None:
    """A number, a file, or None if the noise is to be estimated."""
    if sigma is None:
        return None
    numbers = _numbers_or_file("--sigma", sigma)
    if isinstance(numbers, Path):
        return numbers
    if len(numbers) != 1:
        raise InputError(f"--sigma must be one number, or a file with one per row, column or entry; got {sigma!r}")
    return numbers[0]


def _numbers_or_file(option: str, text: str) -> tuple[float, ...] | Path:
    numbers = numbers_in(text)
    if numbers is None and not Path(text).is_file():
        raise InputError(f"{option}: expected a number, got {printable(text)!r}, which is no file either")
    return Path(text) if numbers is None else numbers


def checked_range(entry_range: str | None) -> tuple[float, float] | None:
    """Two numbers with a comma between them."""
    if entry_range is None:
        return None
    numbers = numbers_in(entry_range)
    if numbers is None or len(numbers) != 2:
        raise InputError(f"--entry-range must be two numbers with a comma, such as 0,1; got {printable(entry_range)!r}")
    return numbers[0], numbers[1]


def numbers_in(text: str) -> tuple[float, ...] | None:
    """Numbers with commas between them; None if there is anything else.

    Examples
    --------
    >>> numbers_in("-1,0.5"), numbers_in("limits.csv")
    ((-1.0, 0.5), None)
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        return None


def checked_rank(rank: str) -> int | None:
    """The rank; None if it is to be found.

    Examples
    --------
    >>> checked_rank("5"), checked_rank("auto")
    (5, None)
    """
    if rank.strip() == AUTO:
        return None
    if not WHOLE_NUMBER.fullmatch(rank.strip()):
        raise InputError(f"--rank: expected a whole number, such as 5, or auto; got {printable(rank)!r}")
    return int(rank)


def checked_seconds(seconds: float | None) -> float | None:
    """The time limit, if it is one."""
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise InputError(f"--max-seconds must be a positive number of seconds, got {seconds:g}")
    return seconds


def checked_size(option: str, size: str | None) -> int | None:
    """Bytes, from a number with a unit; None stays None.

    Examples
    --------
    >>> checked_size("--peak-memory", "800MB"), checked_size("--peak-memory", "1.5 GiB")
    (800000000, 1610612736)
    """
    count = bytes_of(size, option)
    if count is not None and size is not None and count < LEAST_MEMORY:
        hint = f"; did you mean {size.strip()}MB?" if size.strip().isdigit() else ""
        raise InputError(f"{option} must be 1 MiB or more, got {printable(size)!r}, which is {count} bytes{hint}")
    return count


def checked_seed(seed: int) -> int:
    """The seed, if it is one."""
    if seed < 0:
        raise InputError(f"--seed must be an integer ≥ 0, got {seed}")
    return seed
