"""One program in one set-up: started in a home of its own, watched, cleaned up.

Every process of a run carries a marker in its environment, so that what a
program leaves behind is found wherever it went.
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from packages import HERE, RUNTIMES, SDKS

MARKER = "INTEROP_RUN"
HOMES = [
    "HOME", "COPILOT_HOME", "GH_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
    "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
]
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PROGRAM_SECONDS = 120
SCENARIO_SECONDS = 40
LEAVE_SECONDS = 10


def alive(marker):
    """Process ids of the run, of those that have not ended."""
    wanted = f"{MARKER}={marker}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if wanted in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
            except OSError:
                pass
    return found


def outlived(pids, seconds):
    """Those of the processes that are still there when the time is up."""
    poll, left = select.poll(), {}
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        left[fd] = pid
        poll.register(fd, select.POLLIN)
    end = time.monotonic() + seconds
    while left and (rest := end - time.monotonic()) > 0:
        for fd, _ in poll.poll(rest * 1000):
            poll.unregister(fd)
            os.close(fd)
            del left[fd]
    for fd in left:
        os.close(fd)
    return list(left.values())


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def parent_of(pid):
    try:
        # The name in parentheses may hold anything, also parentheses.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


class Run:
    """A started program. Use as a context manager: leaving ends and removes everything."""

    def __init__(self, packages, model, sdk, runtime, scenarios, daemon=None, lingering=False):
        self.marker = uuid.uuid4().hex
        self.home = Path(tempfile.mkdtemp(prefix="interop-"))
        language = SDKS[sdk]["language"]
        where, program = packages.sdk(sdk), packages.runtime(runtime)
        plan = {"model": "scripted", "timeoutMs": SCENARIO_SECONDS * 1000, "scenarios": scenarios}
        env = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "TZ") if key in os.environ}
        env[MARKER] = self.marker
        for name in HOMES:
            folder = self.home / name.lower()
            folder.mkdir(mode=0o700)
            env[name] = str(folder)
        if RUNTIMES[runtime].get("login"):
            plan.update(model="claude-sonnet-4.5", token="not-a-real-token")
            env["COPILOT_API_URL"] = model.url
        else:
            plan["provider"] = {"type": "openai", "baseUrl": f"{model.url}/v1", "apiKey": "x"}
        if lingering:
            script = self.home / "lingering"
            script.write_text(f'#!/bin/sh\n"{program}" "$@"\nexec sleep 600\n')
            script.chmod(0o700)
            program = script
        if daemon:
            env["COPILOT_CLI_PATH"] = str(daemon)
            env["SUBAGENTD_RUNTIME"] = f"exec:{program}"
        else:
            env["COPILOT_CLI_PATH"] = str(program)
        env["INTEROP_SDK"] = str(where)
        plan_file = self.home / "plan.json"
        plan_file.write_text(json.dumps(plan))
        work = self.home / "work"
        work.mkdir()
        command = {
            "node": ["node", HERE / "node" / "program.mjs"],
            "python": [where, HERE / "python" / "program.py"],
            "go": [where],
        }[language]
        self.errors = open(self.home / "stderr", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            [str(word) for word in command] + [str(plan_file)],
            cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in alive(self.marker):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def stderr_tail(self, lines=25):
        self.errors.flush()
        text = (self.home / "stderr").read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def finish(self):
        """The program's records by scenario, and what was wrong with the program itself."""
        trouble = []
        try:
            out, _ = self.process.communicate(timeout=PROGRAM_SECONDS)
        except subprocess.TimeoutExpired:
            trouble.append(f"the program was still running after {PROGRAM_SECONDS} s")
            self.process.kill()
            out, _ = self.process.communicate()
        records = {}
        for line in out.splitlines():
            record = json.loads(line.replace(str(self.home / "work"), "<workdir>"))
            if "fatal" in record:
                # An SDK may complain about every session in the same words.
                lines = [ID.sub("<id>", text) for text in record["fatal"].splitlines()]
                trouble += list(dict.fromkeys(lines))[:8]
            else:
                records[record["name"]] = record
        if self.process.returncode and not trouble:
            trouble.append(f"the program exited with {self.process.returncode}")
        left = outlived(alive(self.marker), LEAVE_SECONDS)
        if left:
            trouble.append(f"left behind: {', '.join(f'{pid} {program_of(pid)}' for pid in left)}")
        return records, list(dict.fromkeys(trouble))

    def await_line(self, word):
        """The first line of output that has the word, or None at the end of output."""
        for line in self.process.stdout:
            if word in line:
                return line
        return None
