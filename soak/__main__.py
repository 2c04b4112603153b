"""Solve random instances with a known solution and check every answer; exit with 1 if anything is wrong or got lost.

``replay`` tries instances again, ``report`` prints the tables of journals, ``baseline`` stores the facts of journals.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from soak import baseline
from soak.catalogue import ALL, drawn, schedule
from soak.instance import Record
from soak.runner import run
from soak.table import failed, printed
from soak.trial import trial

JOURNALS = Path(__file__).resolve().parent.parent / "build" / "soak"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if anything that must be zero is not, or if right answers are lost."""
    options = _parser().parse_args(arguments)
    return options.function(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.set_defaults(function=_run)
    parser.add_argument("--seconds", type=float, default=3600.0, help="default: an hour")
    parser.add_argument("--count", type=int, help="at most so many instances")
    parser.add_argument("--seed", type=int, default=0, help="0 to 3 begin with the instances of baseline.json")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kind", action="append", choices=ALL, help="only this kind; may be repeated")
    parser.add_argument("--journal", type=Path, help="default: build/soak/DATE-TIME.jsonl")
    commands = parser.add_subparsers()
    replay = commands.add_parser("replay", help="try instances again, by name")
    replay.add_argument("names", nargs="+", metavar="KIND:SEED:NUMBER")
    replay.set_defaults(function=_replay)
    for function, text in ((_report, "print the tables of journals"), (_baseline, "write soak/baseline.json")):
        command = commands.add_parser(function.__name__.strip("_"), help=text)
        command.add_argument("journals", nargs="+", type=Path)
        command.set_defaults(function=function)
    return parser


def _run(options: argparse.Namespace) -> int:
    journal = options.journal or JOURNALS / f"{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    records: list[Record] = []
    began = time.monotonic()

    with journal.open("w") as lines:

        def report(record: Record) -> None:
            records.append(record)
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            for name, fault in record["findings"].items():
                write(f"[{len(records)}, {time.monotonic() - began:.0f} s] {name}  {record['name']}  {fault}")

        names = islice(schedule(options.seed, tuple(options.kind or ())), options.count)
        try:
            run(names, report, seconds=options.seconds, workers=options.workers)
        except KeyboardInterrupt:
            write("interrupted; the results so far:")
    write(f"\n{len(records)} instances in {time.monotonic() - began:.0f} s; journal {journal}\n")
    return _judge(records)


def _judge(records: list[Record]) -> int:
    table, worse = baseline.compare(records, baseline.load())
    write(f"{printed(records)}\n\n{table}")
    for reason in worse:
        write(f"worse than the baseline: {reason}")
    return int(failed(records) or bool(worse))


def _replay(options: argparse.Namespace) -> int:
    records = []
    for name in options.names:
        write(json.dumps(drawn(name).about))
        records.append(trial(name))
        write(json.dumps(records[-1], indent=1))
    return int(failed(records))


def _records(options: argparse.Namespace) -> list[Record]:
    return [json.loads(line) for path in options.journals for line in path.read_text().splitlines()]


def _report(options: argparse.Namespace) -> int:
    return _judge(_records(options))


def _baseline(options: argparse.Namespace) -> int:
    baseline.write(_records(options))
    return 0


def write(text: str) -> None:
    """Write a line to the terminal at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
