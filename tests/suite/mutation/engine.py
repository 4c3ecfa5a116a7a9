"""Count how many mutants of the engine's histogram and meter the engine's tests kill: a step of `make prove`.

    python -m suite.mutation.engine

cargo-mutants makes and tests them in a copy of the clone, configured by `engine.toml`. `ASSAY_MUTANTS_SHARD=0/8` tests one
of eight parts. A run that was stopped goes on where it was, and tests survivors again. Exit code 0: 90 % are killed of those
that are not in `survivors.toml`; 1: fewer; 3: the tests fail without any change, or cargo-mutants does.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from suite.mutation.survivors import Change, read_reasons
from suite.mutation.tally import KILLED, SURVIVED, TIMED_OUT, Tally
from suite.mutation.workplace import digest_of
from testbed.killed import unwind_when_ended

ROOT = Path(__file__).parents[3]
CONFIG = Path(__file__).with_name("engine.toml")
SOURCES = ("engine", "Cargo.toml", "Cargo.lock")
LISTS = {"previously_caught.txt": KILLED, "caught.txt": KILLED, "timeout.txt": TIMED_OUT, "missed.txt": SURVIVED}
"""Files of cargo-mutants: a line for each mutant."""
TESTED = {0, 2, 3}
"""Exit codes of cargo-mutants: all were killed; some survived; some timed out."""
FAILED = 3


def main(root: Path = ROOT) -> int:
    """Test the mutants; give the exit code."""
    reasons = read_reasons()
    place = root / "build" / "mutants-engine" / digest_of(root, SOURCES)
    place.mkdir(parents=True, exist_ok=True)
    unviable = _keep_unviable(place)
    if _run(root, place) not in TESTED:
        return FAILED
    found = [*_outcomes(root, place / "mutants.out", unviable)]
    tally = Tally(reasons, len(found))
    for outcome, change, line in found:
        tally.add(outcome, change, line)
    listed = subprocess.run([*_command(root), "--list"], capture_output=True, text=True, cwd=root, check=True).stdout
    return tally.close(len(listed.splitlines()))


def _command(root: Path) -> list[str]:
    return ["cargo", "mutants", "--config", str(CONFIG), "--dir", str(root)]


def _run(root: Path, place: Path) -> int:
    """Run cargo-mutants, which prints each mutant; when this program is to end, let it remove its copy."""
    shard = os.environ.get("ASSAY_MUTANTS_SHARD")
    process = subprocess.Popen(
        [
            *(*_command(root), "--iterate", "--no-shuffle", "--caught", "--unviable", "--output", str(place)),
            *(["--shard", shard, "--sharding", "round-robin"] if shard else []),
        ],
        cwd=root,
        env={**os.environ, "CARGO_PROFILE_DEV_DEBUG": "0"},  # each mutant is linked anew
        stdin=subprocess.DEVNULL,
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise


def _keep_unviable(place: Path) -> set[str]:
    """Give the mutants of stopped runs that do not compile: cargo-mutants lists them with the killed ones afterwards."""
    kept, latest = place / "unviable.txt", place / "mutants.out" / "unviable.txt"
    names = {line for path in (kept, latest) if path.exists() for line in path.read_text().splitlines()}
    kept.write_text("".join(f"{name}\n" for name in sorted(names)))
    return names


def _outcomes(root: Path, folder: Path, unviable: AbstractSet[str]) -> Iterator[tuple[str, Change, str]]:
    """Read the outcomes: the change of a line in words, as cargo-mutants gives it, and the number of the line."""
    for name, outcome in LISTS.items():
        for line in (folder / name).read_text().splitlines() if (folder / name).exists() else ():
            if line not in unviable and (found := re.fullmatch(r"([^:]+):(\d+):(\d+): (.+)", line)):
                file, number, column, words = found.groups()
                code = (root / file).read_text(encoding="utf-8").splitlines()[int(number) - 1].strip()
                yield outcome, Change(file, code, f"{words}, column {column}"), number


if __name__ == "__main__":
    unwind_when_ended()
    sys.exit(main())
