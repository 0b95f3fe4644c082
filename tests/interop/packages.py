"""The published SDKs and runtimes of the matrix, and how they are installed.

Everything goes below one work folder, a folder a package set, with a marker
in it that says what was installed: a second run installs nothing.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# `protocol` is what the SDK speaks with us. 0.3.0 knows both protocols but
# never calls `connect`, which makes it a protocol 2 client of ours, while with
# a protocol 3 runtime it speaks that (`direct`).
SDKS = {
    "node-1.0.14": {"language": "node", "package": "@github/copilot-sdk@1.0.14", "protocol": 3},
    "node-0.3.0": {"language": "node", "package": "@github/copilot-sdk@0.3.0", "protocol": 2, "direct": 3},
    "node-0.1.29": {"language": "node", "package": "@github/copilot-sdk@0.1.29", "protocol": 2},
    "python-1.0.27": {"language": "python", "package": "github-copilot-sdk==1.0.27", "protocol": 3},
    "python-0.1.30": {"language": "python", "package": "github-copilot-sdk==0.1.30", "protocol": 2},
    "go-1.0.14": {"language": "go", "package": "go.mod", "protocol": 3},
}

# `login`: sub-agents of this CLI ignore the session's provider and want a
# token; COPILOT_API_URL then leads them to the scripted model.
RUNTIMES = {
    "cli-1.0.102": {"package": "@github/copilot@1.0.102"},
    "native": {"package": "@github/copilot-sdk@1.0.14"},
    "cli-1.0.57": {"package": "@github/copilot@1.0.57"},
    "cli-1.0.20": {"package": "@github/copilot@1.0.20"},
    "cli-0.0.420": {"package": "@github/copilot@0.0.420", "login": True},
}

SETS = {
    "core": (["node-1.0.14", "python-1.0.27", "go-1.0.14"], ["cli-1.0.102", "native"]),
    "full": (list(SDKS), list(RUNTIMES)),
}


def system():
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{sys.platform}-{machine}"


class Packages:
    """Installs on demand and says where things are."""

    def __init__(self, work, say):
        self.work = Path(work).resolve()
        self.say = say

    def sdk(self, name):
        """What the language's program needs: the SDK's folder, an interpreter or a binary."""
        spec = SDKS[name]
        return getattr(self, spec["language"])(spec["package"])

    def runtime(self, name):
        """The runtime's program file."""
        modules = self.npm(RUNTIMES[name]["package"]) / "node_modules" / "@github"
        if name == "native":
            program = modules / f"copilot-sdk-{system()}" / "prebuilds" / system() / "copilot-runtime"
        else:
            # The program itself: the package's own loader would be a node
            # process in between.
            program = modules / f"copilot-{system()}" / "copilot"
        if not program.exists():
            raise SystemExit(f"{name}: no runtime for {system()} at {program}")
        return program

    def node(self, package):
        return self.npm(package) / "node_modules" / "@github" / "copilot-sdk"

    def npm(self, package):
        folder = self.work / "npm" / package.replace("/", "+")
        return self.once(folder, package, [
            ["npm", "install", "--prefix", str(folder), "--no-package-lock", "--no-audit", "--no-fund",
             "--ignore-scripts", "--loglevel", "error", package],
        ])

    def python(self, package):
        folder = self.work / "python" / package
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet",
               "--disable-pip-version-check", package]
        return self.once(folder, package, [[sys.executable, "-m", "venv", str(folder)], pip]) / "bin" / "python"

    def go(self, _package):
        sources = sorted((HERE / "go").glob("*.go")) + [HERE / "go" / "go.mod"]
        digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
        folder = self.work / "go"

        def copy():
            for source in sources:
                shutil.copy(source, folder / source.name)

        # The checksums of the modules are written beside the copy, and
        # checked against the public database as always.
        build = ["go", "build", "-C", str(folder), "-mod=mod", "-o", "interop", "."]
        return self.once(folder, digest, [build], before=copy) / "interop"

    def once(self, folder, what, commands, before=None):
        marker = folder / ".installed"
        if marker.exists() and marker.read_text() == what:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.say(f"installing {folder.name}")
        if before:
            before()
        for command in commands:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "npm_config_update_notifier": "false"})
            if done.returncode:
                raise SystemExit(f"{' '.join(command)}\nexited with {done.returncode}:\n{done.stdout[-4000:]}")
        marker.write_text(what)
        return folder
