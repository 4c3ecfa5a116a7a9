"""A program in the place of Python with Assay, on a host where a worker is to run: it says how it was started, and waits.

What it saw is a JSON document in its folder, `NAME.json`: words, the files that it is to join by and who may read
them. It ends on TERM, or does not, and leaves a line of its own in `NAME.ended` when it does.
"""

import dataclasses
import json
import stat
import sys
from pathlib import Path
from typing import Any

from assay import __version__
from testbed.host import wait_until

_PROGRAM = """\
#!{python}
import json, os, pathlib, signal, subprocess, sys, time
VERSION, FOLDER, ENDS_WITH, IS_DEAF = {settings!r}
words = sys.argv[1:]
assert words[:3] == ["-P", "-m", "assay"], words
if words[3:] == ["--version"]:
    print("a line that some library prints")
    print(VERSION)
    sys.exit()
assert words[3:5] == ["worker", "--join"], words
join = pathlib.Path(words[5])
name = words[words.index("--name") + 1]
beside = json.loads(join.read_text())
files = [join, *(join.parent / beside[key] for key in ("certificate", "key"))]
engine = os.environ["ASSAY_ENGINE"]
seen = dict(
    words=words[3:],
    pid=os.getpid(),
    folder=str(join.parent),
    folder_mode=join.parent.stat().st_mode,
    files={path.name: [path.stat().st_mode, path.read_text()] for path in files},
    engine=engine,
    engine_said=subprocess.run([engine, "--version"], capture_output=True, text=True).stdout.strip(),
)
def leave(number, frame):
    (FOLDER / (name + ".ended")).write_text(str(number))
    sys.exit(0)
if IS_DEAF:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    seen["child"] = subprocess.Popen(["sleep", "600"]).pid
else:
    signal.signal(signal.SIGTERM, leave)
report = FOLDER / (name + ".json")
report.with_suffix(".part").write_text(json.dumps(seen))
report.with_suffix(".part").rename(report)
if ENDS_WITH is not None:
    print("the key is", "not shown", file=sys.stderr)
    print("no way leads to the leader", file=sys.stderr)
    sys.exit(ENDS_WITH)
while True:
    time.sleep(0.05)
"""


@dataclasses.dataclass(frozen=True)
class StandIn:
    """The program, and what became of the workers that were started with it."""

    folder: Path
    python: Path

    def seen(self, name: str) -> dict[str, Any]:
        """Wait until a worker runs, and give what it saw."""
        report = self.folder / f"{name}.json"
        wait_until(report.exists, f"worker {name} started with {self.python}")
        found: dict[str, Any] = json.loads(report.read_text())
        return found

    def has_begun(self, name: str) -> bool:
        """Whether a worker was started."""
        return (self.folder / f"{name}.json").exists()

    def was_asked_to_end(self, name: str) -> bool:
        """Whether a worker heard TERM."""
        return (self.folder / f"{name}.ended").exists()


def stand_in(
    folder: Path, *, says: str = f"assay {__version__}", ends_with: int | None = None, is_deaf: bool = False
) -> StandIn:
    """Write the program.

    Args:
        folder: Of its own; it is made.
        says: What `--version` prints last.
        ends_with: The code with which a worker ends at once; None: it waits.
        is_deaf: Whether a worker hears no TERM, and has a child that hears none either.
    """
    folder.mkdir()
    python = folder / "python"
    settings = f"({says!r}, pathlib.Path({str(folder)!r}), {ends_with!r}, {is_deaf!r})"
    program = _PROGRAM.replace("{settings!r}", settings).replace("{python}", sys.executable)
    python.write_text(program)
    python.chmod(0o755)
    return StandIn(folder=folder, python=python)


def mode_of(found: int) -> int:
    """Give the permissions of a mode."""
    return stat.S_IMODE(found)


def is_alive(pid: int) -> bool:
    """Whether a process is there, and not only its name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
