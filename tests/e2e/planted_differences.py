"""Compare two devices of known rates by `assay ab`, and hold the verdict to the planted difference: `make prove`, as root.

The kernel's throttle makes the rates, 400 random reads a second on the first device. Each plant is measured in
`ASSAY_AB_ROUNDS` rounds (8). A verdict that is not wrong, and leaves open what it has to decide, is tried again: other
programs of a busy machine make intervals wide. Words on the command line are parts of the names of plants.
"""

import json
import os
import random
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
from testbed.devices import MIB, filesystem, loop_device, tmpfs
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
LOAD = "--read --random --bs 4k --direct --size 16m --time 4s"
SIZE = 64 * MIB
NEIGHBOUR_S = (1.0, 4.0)
"""The neighbour comes for so long and is gone for so long, by chance."""


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
            found = compared(plant, directories, prefix, folder / f"runs-{PLANTS.index(plant)}-{number}")
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
        memory = undo.enter_context(tmpfs(3 * SIZE))
        devices = [undo.enter_context(loop_device(SIZE, backing=memory)) for _ in range(2)]
        first, second = (undo.enter_context(filesystem(device)) for device in devices)
        rates = (READS_PER_S, round(plant.ratio * READS_PER_S))
        limits = {device: {"read_iops": rate} for device, rate in zip(devices, rates, strict=True)}
        yield (first, second), undo.enter_context(blkio_limits_each(limits)).prefix


def compared(plant: Plant, directories: tuple[Path, Path], prefix: tuple[str, ...], runs: Path) -> dict[str, Any]:
    """Measure both sides in turns, beside the neighbour where there is one; give the comparison."""
    words = [f"measure {directory} {LOAD}" for directory in directories]
    command = [*prefix, str(COMMAND), "ab", *words, "--rounds", str(ROUNDS), "--json"]
    environment = {**os.environ, "ASSAY_RUNS": str(runs)}
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
                neighbours.enter_context(disk_reader(directory, block_bytes=4096, size_bytes=MIB // 4, prefix=prefix))
            _pause(process, chance.uniform(*NEIGHBOUR_S))
        _pause(process, chance.uniform(*NEIGHBOUR_S))


def _pause(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    end_s = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end_s:
        time.sleep(0.05)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except pytest.skip.Exception as skipped:
        sys.exit(f"not tried: {skipped}")
