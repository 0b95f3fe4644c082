#!/usr/bin/env python3
"""Runs programs written with the published SDKs, direct and through subagentd.

    run.py --daemon PATH --work DIR [--set core|full] [--sdk A,B] [--runtime A,B]
           [--case A,B] [--mode direct,through] [--jobs N] [--list]

Each cell is one SDK in front of one runtime; each scenario of a cell is
checked against `expect.py`, and what came through the daemon also against
what came directly. The last line but the figures tells what failed.
"""

import argparse
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The suite's own folder is source: nothing is written there.
sys.dont_write_bytecode = True

import kill
from cell import Run
from expect import differences, expected, mismatches, no_direct
from model import Model
from observe import observe
from packages import RUNTIMES, SDKS, SETS, Packages
from scenarios import SCENARIOS, with_names

MODES = ["direct", "through"]


class Report:
    """Counts results and prints them as they come, from any thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.table = {}
        self.failed = []

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def cell(self, row, mode, seconds, results, details):
        """`results`: scenario to a list of complaints; `details`: what helps to understand them."""
        bad = {name: complaints for name, complaints in results.items() if complaints}
        with self.lock:
            self.table.setdefault(row, {})[mode] = (len(results) - len(bad), len(results))
            word = "ok" if not bad else "FAILED"
            print(f"{row:<28} {mode:<23} {len(results) - len(bad):>2}/{len(results):<2} {seconds:5.1f} s  {word}")
            for name, complaints in bad.items():
                self.failed.append(f"{row} {mode}" + (f" {name}" if name != mode else ""))
                print(f"  {name}")
                for line in "\n".join(complaints).splitlines():
                    print(f"    {line}")
            if bad and details.strip():
                print("  end of stderr:")
                for line in details.splitlines():
                    print(f"    | {line[:300]}")
            sys.stdout.flush()

    def end(self):
        modes = [mode for mode in [*MODES, *kill.CASES] if any(mode in row for row in self.table.values())]
        print(f"\n{'':<28}" + "".join(f"{mode:>24}" for mode in modes))
        for row, cells in self.table.items():
            figures = [f"{cells[mode][0]}/{cells[mode][1]}" if mode in cells else "-" for mode in modes]
            print(f"{row:<28}" + "".join(f"{figure:>24}" for figure in figures))
        for name in self.failed:
            print(f"failed: {name}")
        total = sum(cell[1] for cells in self.table.values() for cell in cells.values())
        print(f"\n{total - len(self.failed)} passed, {len(self.failed)} failed")
        return 1 if self.failed or not total else 0


def show(kind, found):
    """Complaints about fields: what one side has and what the other."""
    left, right = kind
    return [
        f"{field}:\n  {left:<8} {json.dumps(a, ensure_ascii=False)}\n  {right:<8} {json.dumps(b, ensure_ascii=False)}"
        for field, a, b in found
    ]


def run_cell(suite, sdk, runtime, modes, names):
    row, direct = f"{sdk} {runtime}", {}
    for mode in modes:
        if mode == "direct" and no_direct(sdk, runtime):
            continue
        began = time.monotonic()
        daemon = suite.daemon if mode == "through" else None
        with Run(suite.packages, suite.model, sdk, runtime, with_names(names), daemon) as started:
            records, trouble = started.finish()
            tail = started.stderr_tail()
        results = {}
        for name in names:
            if name not in records:
                results[name] = ["the program did not come to it"]
                continue
            seen = observe(records[name])
            results[name] = show(("expected", "seen"), mismatches(expected(sdk, runtime, name, mode), seen))
            if mode == "direct":
                direct[name] = seen
            elif name in direct:
                found = differences(sdk, runtime, name, direct[name], seen)
                results[name] += show(("direct", "through"), found)
        # The program itself is a case: it starts, stops cleanly and leaves nothing behind.
        results["program"] = trouble
        suite.report.cell(row, mode, time.monotonic() - began, results, tail)


def run_kill(suite, case, runtime):
    began = time.monotonic()
    complaints = kill.run(case, suite.packages, suite.model, runtime, suite.daemon)
    suite.report.cell(f"{kill.SDK} {runtime}", case, time.monotonic() - began, {case: complaints}, "")


class Suite:
    def __init__(self, options):
        self.report = Report()
        self.packages = Packages(options.work, self.report.say)
        self.model = Model()
        self.daemon = Path(options.daemon).resolve() if options.daemon else None


def names_of(text, known, what):
    names = text.split(",")
    for name in names:
        if name not in known:
            raise SystemExit(f"unknown {what} {name}; known: {', '.join(known)}")
    return names


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--daemon", help="the subagentd program")
    parser.add_argument("--work", help="where packages are installed and kept")
    parser.add_argument("--set", default="core", choices=list(SETS))
    parser.add_argument("--sdk", help="only these SDKs")
    parser.add_argument("--runtime", help="only these runtimes")
    parser.add_argument("--case", help="only these scenarios or kill cases")
    parser.add_argument("--mode", default="direct,through")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="say what would run")
    return parser.parse_args()


def main():
    options = parse()
    sdks, runtimes = SETS[options.set]
    if options.sdk:
        sdks = names_of(options.sdk, SDKS, "SDK")
    if options.runtime:
        runtimes = names_of(options.runtime, RUNTIMES, "runtime")
    cases = names_of(options.case, [*SCENARIOS, *kill.CASES], "case") if options.case else [*SCENARIOS, *kill.CASES]
    modes = names_of(options.mode, MODES, "mode")
    names = [case for case in cases if case in SCENARIOS]
    cells = [(sdk, runtime) for runtime in runtimes for sdk in sdks] if names else []
    kills = [
        (case, runtime)
        for runtime in runtimes for case in cases
        if case in kill.CASES and kill.SDK in sdks and "through" in modes
    ]
    if options.list:
        for sdk, runtime in cells:
            why = no_direct(sdk, runtime)
            print(f"{sdk} {runtime}: {', '.join(names)}" + (f" (through only: {why})" if why else ""))
        for case, runtime in kills:
            print(f"{kill.SDK} {runtime}: {case}")
        return 0
    if not options.work or ("through" in modes and not options.daemon):
        raise SystemExit("--work is needed, and --daemon unless --mode direct")
    suite = Suite(options)
    if suite.daemon and not suite.daemon.exists():
        raise SystemExit(f"no daemon at {suite.daemon}")
    # Installed before anything is timed, and one after the other: they share caches.
    for sdk in sorted({sdk for sdk, _ in cells} | ({kill.SDK} if kills else set())):
        suite.packages.sdk(sdk)
    for runtime in runtimes:
        suite.packages.runtime(runtime)
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(run_cell, suite, sdk, runtime, modes, names) for sdk, runtime in cells]
        for job in jobs:
            job.result()
    # Alone on the machine: they are held to a second.
    for case, runtime in kills:
        run_kill(suite, case, runtime)
    return suite.report.end()


if __name__ == "__main__":
    sys.exit(main())
