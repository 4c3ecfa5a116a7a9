"""An `assay` for PATH, where somebody else starts workers: its leader writes the folder to join by, its workers wait for it.

What each saw is a JSON document in its folder, by its name. The leader ends, with a code of its own, when as many workers
have come as it was told to wait for; a worker when the leader lets it go, or at once where it is to fail.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

_PROGRAM = """\
#!PYTHON
import json, os, pathlib, sys, time
FOLDER, FAILS, LEADER_ENDS_WITH = SETTINGS
words = sys.argv[1:]
def after(option):
    return words[words.index(option) + 1]
def wait(is_true):
    while not is_true():
        time.sleep(0.02)
def say(name, **seen):
    report = FOLDER / (name + ".json")
    report.with_suffix(".part").write_text(json.dumps(dict(words=words, pid=os.getpid(), **seen)))
    report.with_suffix(".part").rename(report)
join = pathlib.Path(after("--join"))
if words[0] == "worker":
    wait(join.exists)
    name = after("--name")
    is_failing = name == FAILS
    say(name, key=(join.parent / "run.key.pem").read_text(), folder_mode=join.parent.stat().st_mode)
    if is_failing:
        sys.exit(3)
    wait((FOLDER / "let-go").exists)
    (FOLDER / (name + ".ended")).write_text("let go")
    sys.exit()
(join.parent / "run.key.pem").write_text("the key")
join.with_suffix(".part").write_text("{}")
join.with_suffix(".part").rename(join)
reports = lambda: [path for path in FOLDER.glob("*.json") if path.stem != "leader"]
wait(lambda: len(reports()) == int(after("--clients")))
say("leader")
# The others are still there after one has failed: what ends them is only this.
time.sleep(1)
(FOLDER / "let-go").write_text("")
sys.exit(LEADER_ENDS_WITH)
"""


@dataclasses.dataclass(frozen=True)
class CommandStandIn:
    """The program, in a folder for PATH, and what became of those that were started."""

    folder: Path

    def seen(self, name: str) -> dict[str, Any]:
        """Give what one saw."""
        found: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_text())
        return found

    def let_go(self) -> set[str]:
        """Name those that ended because they were let go."""
        return {path.stem for path in self.folder.glob("*.ended")}


def command_stand_in(folder: Path, *, fails: str = "", leader_ends_with: int = 0) -> CommandStandIn:
    """Write the program.

    Args:
        folder: Of its own; it is made.
        fails: Name of the worker that ends at once, with code 3.
        leader_ends_with: The leader's exit code.
    """
    folder.mkdir(parents=True)
    program = folder / "assay"
    settings = f"(pathlib.Path({str(folder)!r}), {fails!r}, {leader_ends_with!r})"
    program.write_text(_PROGRAM.replace("SETTINGS", settings).replace("PYTHON", sys.executable))
    program.chmod(0o755)
    return CommandStandIn(folder=folder)
