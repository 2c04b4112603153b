"""``python -m tests.golden``: solve the instances again and print same, better, worse, changed, slower."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing import get_context
from typing import Any

import numpy as np

from tests.golden import store
from tests.golden.case import Case, Data
from tests.golden.cases import all_cases
from tests.golden.judge import WORDS, compare

# One BLAS thread in each process, so that sums are added in the same order on any machine with the same kernels.
ALONE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if an answer is worse or changed without being expected to."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("names", nargs="*", help="only instances whose name begins so; default: all")
    parser.add_argument("--write", action="store_true", help="store these answers")
    parser.add_argument("--quick", action="store_true", help="only the subset of the default tests")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true", help="print the answers instead of comparing them")
    parser.add_argument("--mark-rounding", action="store_true", help="mark what differs now as hanging on rounding")
    options = parser.parse_args(arguments)
    if any(os.environ.get(name) != "1" for name in ALONE):  # libraries read them when they are loaded
        command = [sys.executable, "-m", "tests.golden", *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(command, env=os.environ | ALONE, check=False).returncode
    chosen = [case for case in all_cases() if _wanted(case, options.names, options.quick)]
    began = time.perf_counter()
    found = solve(chosen, options.workers)
    if options.json:
        print(json.dumps(found))
        return 0
    if options.write:
        kept = {name: value for name, value in store.read().items() if name in {case.name for case in all_cases()}}
        for name, value in found.items():
            value["rounding"] = kept.get(name, {}).get("rounding", False)
        store.write(kept | found)
        print(f"stored {len(found)} answers in {time.perf_counter() - began:.0f} s")
        return 0
    return _report(chosen, found, options.mark_rounding, time.perf_counter() - began)


def _wanted(case: Case, beginnings: Sequence[str], quick: bool) -> bool:
    return (not beginnings or case.name.startswith(tuple(beginnings))) and (case.quick or not quick)


def solve(cases: Sequence[Case], workers: int) -> dict[str, dict[str, Any]]:
    """Return the answers by name, in their order."""
    if workers == 1:
        return dict(map(_solved, cases))
    # Workers find neither functions of a module that is run as a script nor draws that are local functions.
    from tests.golden.__main__ import _solved_by_name, _warm_up

    with get_context("spawn").Pool(workers, initializer=_warm_up) as pool:
        return dict(pool.imap(_solved_by_name, [case.name for case in cases], chunksize=1))


def _warm_up() -> None:
    """Solve one instance of each kind, so that modules that are imported late are not counted as seconds."""
    first = {case.call: case for case in reversed(all_cases()) if case.quick and case.call != "command"}
    for case in first.values():
        _solved(case)


def _solved_by_name(name: str) -> tuple[str, dict[str, Any]]:
    return _solved(next(case for case in all_cases() if case.name == name))


def _solved(case: Case) -> tuple[str, dict[str, Any]]:
    from tests.golden.adapter import answer

    found = asdict(answer(case))
    found["seconds"] = round(found["seconds"] / _unit_of_work(), 3)
    return case.name, found


def _unit_of_work(times: int = 5) -> float:
    """Return the seconds that a fixed NumPy workload takes now."""
    g = np.random.default_rng(0)
    a, b = g.standard_normal((300, 300)), g.standard_normal(200_000)
    measured = []
    for _ in range(times):
        began = time.process_time()
        for _ in range(10):
            np.linalg.eigvalsh(a @ a.T)
            np.exp(-(b**2)).sum()
        measured.append(time.process_time() - began)
    return min(measured)


def _report(cases: Sequence[Case], found: dict[str, dict[str, Any]], mark: bool, seconds: float) -> int:
    stored = store.read()
    counts: Counter[str] = Counter()
    failed = False
    for case in cases:
        word, text = "changed", "not stored"
        marked = case.name in stored and stored[case.name].get("rounding", False)
        if case.name in stored:
            data = case.data()
            word, text = compare(case, stored[case.name], found[case.name], _is_single(case, data), data.noise)
            if mark and word in ("worse", "changed"):
                stored[case.name]["rounding"] = True
        failed |= (word == "worse" or (word == "changed" and not case.review)) and not marked
        counts[word] += 1
        if word != "same":
            print(f"{word:8} {case.name}: {text}{_reason(case, found[case.name]['status'], marked)}")
    if mark:
        store.write(stored)
    print(f"{len(cases)} instances in {seconds:.0f} s: " + ", ".join(f"{counts[word]} {word}" for word in WORDS))
    return int(failed)


def _is_single(case: Case, data: Data) -> bool:
    """Return whether the package is given single precision."""
    forms = (data.given.get("form"), case.options.get("form"))
    single = any(getattr(value, "dtype", None) == np.float32 for value in data.given.values())
    return single or "float32" in forms or "single" in case.name


def _reason(case: Case, status: str, marked: bool) -> str:
    """Return why an instance may differ, and whether a known wrong status has become right."""
    from tests.golden.adapter import STATUSES

    if case.review:
        now = STATUSES.get(status, status)
        verdict = f", right would be {case.right}, now {now}" if case.right else ""
        return f" [review {case.review}{verdict}]"
    return " [hangs on rounding or time]" if marked else ""


if __name__ == "__main__":
    sys.exit(main())
