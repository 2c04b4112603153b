"""``python -m soak``: see ``python -m soak --help``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from soak import baseline
from soak.catalogue import ALL, drawn, schedule
from soak.runner import ROOT, run, work
from soak.table import failed, printed
from soak.trial import trial

JOURNALS = ROOT / "build" / "soak"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, replay or print; 1 if anything that must be zero is not."""
    options = _parser().parse_args(arguments)
    code: int = options.do(options)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.set_defaults(do=_run)
    _add_run(parser)
    commands = parser.add_subparsers()
    replay = commands.add_parser("replay", help="try instances again, by name")
    replay.add_argument("names", nargs="+", metavar="KIND:SEED:NUMBER")
    replay.set_defaults(do=_replay)
    report = commands.add_parser("report", help="print the tables of journals again")
    report.add_argument("journals", nargs="+", type=Path)
    report.add_argument("--workers", type=int, default=2)
    _add_baseline(report)
    report.set_defaults(do=_report)
    worker = commands.add_parser("work")
    worker.add_argument("--facts", action="store_true")
    worker.set_defaults(do=_work)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=3600.0, help="default: an hour")
    parser.add_argument("--count", type=int, help="at most so many instances")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kind", action="append", choices=ALL, help="only this kind; may be repeated")
    parser.add_argument("--source", help="the src folder of the checkout to try; default: the package that is imported")
    parser.add_argument("--journal", type=Path, help="default: build/soak/DATE-TIME.jsonl")
    _add_baseline(parser)


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--baseline", help="the src folder of a checkout to compare with, on the same instances")


def _run(options: argparse.Namespace) -> int:
    journal = options.journal or JOURNALS / f"{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    began = time.monotonic()

    with journal.open("w") as lines:

        def told(record: dict[str, Any]) -> None:
            records.append(record)
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            for name, words in record["findings"].items():
                say(f"[{len(records)}, {time.monotonic() - began:.0f} s] {name}  {record['name']}  {words}")

        names = islice(schedule(options.seed, tuple(options.kind or ())), options.count)
        try:
            run(names, told, seconds=options.seconds, workers=options.workers, source=options.source)
        except KeyboardInterrupt:
            say("interrupted; what was tried so far:")
    say(f"\n{len(records)} instances in {time.monotonic() - began:.0f} s; journal {journal}\n")
    return _told(records, options)


def _told(records: list[dict[str, Any]], options: argparse.Namespace) -> int:
    say(printed(records))
    if options.baseline:
        before = baseline.facts_of([r["name"] for r in records], options.baseline, JOURNALS, options.workers)
        say("\n" + baseline.printed(baseline.kept(records, before)))
    return int(failed(records))


def _replay(options: argparse.Namespace) -> int:
    records = []
    for name in options.names:
        say(json.dumps(drawn(name).about))
        records.append(trial(name))
        say(json.dumps(records[-1], indent=1))
    return int(failed(records))


def _report(options: argparse.Namespace) -> int:
    records = [json.loads(line) for path in options.journals for line in path.read_text().splitlines()]
    return _told(records, options)


def _work(options: argparse.Namespace) -> int:
    work(options.facts)
    return 0


def say(words: str) -> None:
    """To the terminal, at once."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
