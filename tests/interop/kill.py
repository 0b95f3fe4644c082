"""`kill -9` in the middle of a turn: nothing of the run may be left a second later.

A Node program's tool handler never answers, so that program, daemon and
runtime are all busy with one turn when one of them is killed.

A runtime ends by itself when its input ends, whoever killed the daemon. In the
`_lingering` cases it stands behind a script that does not, as the start-up
scripts and helper processes of real installations do.
"""

import os
import signal
import threading

from cell import PROGRAM_SECONDS, Run, alive, outlived, parent_of, program_of
from scenarios import HANGING

CASES = ["kill_daemon", "kill_program", "kill_daemon_lingering", "kill_program_lingering"]
SDK = "node-1.0.14"
SECONDS = 1.0


def run(case, packages, model, runtime, daemon):
    """What went wrong, as a list of sentences; empty when all is well."""
    plan = [{"name": "hanging", **HANGING}]
    lingering = case.endswith("_lingering")
    with Run(packages, model, SDK, runtime, plan, daemon, lingering=lingering) as started:
        # Reading has no time limit of its own.
        alarm = threading.Timer(PROGRAM_SECONDS, started.process.kill)
        alarm.start()
        hanging = started.await_line("hanging")
        alarm.cancel()
        if hanging is None:
            return ["the turn never reached the tool", started.stderr_tail()]
        program = started.process.pid
        others = [pid for pid in alive(started.marker) if pid != program]
        # The daemon may have helper processes; the one the SDK spawned is it.
        ours = [pid for pid in others if program_of(pid) == str(daemon)]
        spawned = [pid for pid in ours if parent_of(pid) == program]
        runtimes = [pid for pid in others if pid not in ours]
        if len(spawned) != 1 or not runtimes:
            return [f"expected one daemon and a runtime, found {[program_of(pid) for pid in others]}"]
        victim = program if case.startswith("kill_program") else spawned[0]
        os.kill(victim, signal.SIGKILL)
        left = outlived([pid for pid in others if pid != victim], SECONDS)
        return [f"still there after {SECONDS} s: {pid} {program_of(pid)}" for pid in left]
