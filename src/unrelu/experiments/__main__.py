"""``python -m unrelu.experiments NAME``: what is no part of the page, as text."""

from __future__ import annotations

import argparse
from pathlib import Path

from unrelu.experiments.families import table_families
from unrelu.experiments.ledger import PARTS, into


def main() -> None:
    """Print one table, or write it into a page between its marks."""
    parser = argparse.ArgumentParser(prog="python -m unrelu.experiments")
    parser.add_argument("name", choices=["table-families", *PARTS])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="two trials")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="a page in Markdown with marks of this name")
    options = parser.parse_args()
    if options.name not in PARTS:
        table_families(2 if options.quick else options.trials, say=lambda line: print(line, flush=True))  # noqa: T201
    elif options.into is None:
        print(PARTS[options.name]())  # noqa: T201
    else:
        options.into.write_text(into(options.into.read_text(encoding="utf-8"), options.name), encoding="utf-8")


if __name__ == "__main__":
    main()
