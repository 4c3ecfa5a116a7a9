"""Compare two devices of known rates by `assay ab`, and hold the verdict to the planted difference: `make prove`, as root.

The kernel's throttle makes the rates, 400 random reads a second on the first device. Each plant is measured in
`ASSAY_AB_ROUNDS` rounds (8). A verdict that is not wrong, and leaves open what it has to decide, is tried again: other
programs of a busy machine make intervals wide. Words on the command line are parts of the names of plants.
"""

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.verdicts import ComparisonVerdict as Verdict
from e2e.command import COMMAND, need_command
from e2e.planted.case import Outcome
from e2e.planted.storage import delayed_disk
from testbed.first import going_first
from testbed.host import stop
from testbed.killed import clear_dead_devices, unwind_when_ended
from testbed.leaks import ENDING_S, SESSION_VARIABLE, left_over
from testbed.neighbours import disk_reader
from testbed.throttle import blkio_limits_each

ROUNDS = int(os.environ.get("ASSAY_AB_ROUNDS", "8"))
READS_PER_S = 400
"""Of the first side."""
TRIES = 3
LOAD = """
name = "random-read"
reserve = "1MiB"
[[file_set]]
name = "data"
size = "16MiB"
[[phase]]
name = "read"
seconds = "4s"
[[phase.job]]
direct = "on"
op = { op = "read", set = "data", access = "random", size = "4KiB" }
"""
NEIGHBOUR_S = (4.0, 12.0)
"""The neighbour reads for so long, and is gone for so long: it is there in some of the runs."""
NEIGHBOUR_PAUSE_S = 0.03
"""Between two of its reads: it takes some percent of the rate."""


@dataclass(frozen=True)
class Plant:
    """A difference between two sides, and what may be decided of it."""

    name: str
    ratio: float
    """Rate of B by that of A."""
    right: frozenset[Verdict]
    wrong: frozenset[Verdict]
    has_neighbour: bool = False

    def assess(self, verdict: Verdict) -> Outcome:
        """Assess a verdict by what was planted."""
        if verdict in self.wrong:
            return Outcome.WRONG
        return Outcome.RIGHT if verdict in self.right else Outcome.UNSURE


_ALL = frozenset(Verdict)
_DIFFERENT = frozenset({Verdict.BETTER, Verdict.WORSE})
_NO_LOSS = frozenset({Verdict.BETTER, Verdict.EQUIVALENT})

PLANTS = (
    Plant("10 % lower", 0.90, frozenset({Verdict.WORSE}), _NO_LOSS | {Verdict.DIFFERENT_SMALL}),
    # As large as the difference that matters: it may be open whether it matters, but it is there.
    Plant("3 % lower", 0.97, _ALL - _NO_LOSS - {Verdict.INDICATIVE, Verdict.NOT_COMPARABLE}, _NO_LOSS),
    Plant("equal", 1.0, frozenset({Verdict.EQUIVALENT}), _DIFFERENT),
    Plant("equal, with a neighbour", 1.0, _ALL - _DIFFERENT, _DIFFERENT, has_neighbour=True),
)


def main(words: list[str]) -> int:
    """Try the plants; give an exit code: 1 when a verdict was wrong or left open."""
    unwind_when_ended()
    clear_dead_devices()
    need_command()
    os.environ[SESSION_VARIABLE] = session = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="assay-differences-") as name:
        os.environ |= dict.fromkeys(("XDG_CACHE_HOME", "XDG_DATA_HOME"), name)
        chosen = [plant for plant in PLANTS if not words or any(word in plant.name for word in words)]
        outcomes = {try_plant(plant, Path(name)) for plant in chosen}
    for left in left_over(session):
        sys.stdout.write(f"left behind: {left}\n")
    return int(outcomes != {Outcome.RIGHT})


def try_plant(plant: Plant, folder: Path) -> Outcome:
    """Compare until the verdict decides what it has to, a few times at most."""
    for number in range(TRIES):
        with going_first(), sides(plant) as (directories, prefix):
            found = compared(plant, directories, prefix, folder / f"{PLANTS.index(plant)}-{number}")
        (row,) = (row for row in found["against"][0]["rows"] if row["metric"] == "iops")
        outcome = plant.assess(Verdict(row["verdict"]))
        sys.stdout.write(f"{outcome.value:8}{plant.name}: {describe(row)}\n")
        sys.stdout.flush()
        if outcome is not Outcome.UNSURE:
            break
    return outcome


def describe(row: Mapping[str, Any]) -> str:
    """Write a row of a comparison in one line."""
    interval = "without an interval" if row["interval"] is None else "({:.3f} to {:.3f})".format(*row["interval"])
    ratio = "no ratio" if row["ratio"] is None else f"{row['ratio']:.3f} {interval}"
    return f"{Verdict(row['verdict']).words}, {ratio}, {row['pairs']} rounds"


@contextmanager
def sides(plant: Plant) -> Iterator[tuple[tuple[Path, Path], tuple[str, ...]]]:
    """Make two devices in memory with the rates of a plant; give their directories, and the words that a command needs."""
    with ExitStack() as undo:
        disks = [undo.enter_context(delayed_disk(0)) for _ in range(2)]
        rates = (READS_PER_S, round(plant.ratio * READS_PER_S))
        limits = {disk.device: {"read_iops": rate} for disk, rate in zip(disks, rates, strict=True)}
        yield (disks[0].directory, disks[1].directory), undo.enter_context(blkio_limits_each(limits)).prefix


def compared(plant: Plant, directories: tuple[Path, Path], prefix: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """Measure both sides in turns, beside the neighbour where there is one; give the comparison."""
    folder.mkdir()
    load = folder / "load.toml"
    load.write_text(LOAD)
    words = [shlex.join(["run", str(load), str(directory), "--no-report"]) for directory in directories]
    command = [*prefix, str(COMMAND), "ab", *words, "--rounds", str(ROUNDS), "--json"]
    environment = {**os.environ, "ASSAY_RUNS": str(folder / "runs")}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output)
        try:
            if plant.has_neighbour:
                disturb(process, directories, prefix)
            code = process.wait()
        finally:
            stop(process, ENDING_S)
        if code not in {0, 1}:
            raise RuntimeError(f"assay ab: exit code {code}")
        output.seek(0)
        found: dict[str, Any] = json.load(output)
    return found


def disturb(process: "subprocess.Popen[bytes]", directories: tuple[Path, Path], prefix: tuple[str, ...]) -> None:
    """Read from both devices, inside their limits, now and then until a process ends."""
    chance = random.Random(7)  # noqa: S311 - moments
    while process.poll() is None:
        with ExitStack() as neighbours:
            for directory in directories:
                reader = disk_reader(
                    directory, block_bytes=4096, size_bytes=4096, pause_s=NEIGHBOUR_PAUSE_S, prefix=prefix
                )
                neighbours.enter_context(reader)
            _wait(process, chance.uniform(*NEIGHBOUR_S))
        _wait(process, chance.uniform(*NEIGHBOUR_S))


def _wait(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    end_s = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end_s:
        time.sleep(0.05)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except pytest.skip.Exception as skipped:
        sys.exit(f"not tried: {skipped}")
