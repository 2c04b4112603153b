"""What the benchmarks share: timing, a table on the screen, and JSON beside it."""

import json
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def best(function, repeats=5, clock=time.perf_counter):
    """Shortest time of several calls, by the wall's clock; the first, which warms caches up, does not count."""
    function()
    times = []
    for _ in range(repeats):
        began = clock()
        function()
        times.append(clock() - began)
    return min(times)


def quickest(function, repeats=7):
    """The same in seconds of the processor, for ratios on a machine that is shared."""
    return best(function, repeats, time.process_time)


def versions(*names):
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def show(title, rows, columns):
    """Print rows (dictionaries) as a plain table."""
    print(f"\n{title}")
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(column), *(len(line[k]) for line in cells)) for k, column in enumerate(columns)]
    print("  ".join(column.ljust(width) for column, width in zip(columns, widths, strict=True)))
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))


def _cell(value):
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def save(name, content):
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n")
    print(f"\nwrote {path}")
