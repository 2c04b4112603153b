"""``python -m unrelu.experiments table-families [--quick]``."""

from __future__ import annotations

import argparse

from unrelu.experiments.families import table_families


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(prog="python -m unrelu.experiments")
    parser.add_argument("name", choices=["table-families"])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="two trials")
    options = parser.parse_args()
    table_families(2 if options.quick else options.trials, say=lambda line: print(line, flush=True))  # noqa: T201


if __name__ == "__main__":
    main()
