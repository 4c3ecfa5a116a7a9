"""What does one operation cost in the engine? Beside it: the same system calls in a bare loop, fio, and elbencho.

    make bench                                  writes docs/performance.md
    python -m bench.engine_cost --only stat     one load, here as a page on standard output

Every tool does the same fixed number of operations on the same files, in turn, round after round. fio and elbencho take
part where they are installed; $ELBENCHO names an elbencho that is not on PATH. As root the loads on tmpfs get a mount of
their own, because elbencho refuses to work below /dev, and the io_uring load gets its loop device.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import counting, sizes
from bench.page import Cost, Measured, page
from bench.running import Extent, Run, execute
from bench.scenarios import SCENARIOS, Scenario
from bench.tools import ROOT
from bench.watching import section

TMPFS_BYTES = 4 << 30
IMAGE_BYTES = 1 << 30


def measure(scenario: Scenario, rounds: int, counter: counting.Counter) -> dict[str, Cost]:
    """Let all tools take turns, `rounds` times, then count their instructions."""
    few, many = scenario.timed
    pairs: dict[str, list[tuple[Run, Run]]] = {tool.name: [] for tool in scenario.tools}
    for number in range(rounds):
        for tool in scenario.tools if number % 2 == 0 else scenario.tools[::-1]:
            short, _ = execute(tool, Extent(few, many))
            long, _ = execute(tool, Extent(many, many))
            pairs[tool.name].append((short, long))
    costs = {}
    for tool in scenario.tools:
        runs = pairs[tool.name]
        costs[tool.name] = Cost(
            instructions=counting.per_op(counter, tool, *scenario.counted),
            iops=[long.ops / long.seconds for _, long in runs],
            cpu_us_per_op=[(long.cpu_s - short.cpu_s) / (long.ops - short.ops) * 1e6 for short, long in runs],
        )
        print(f"{scenario.load:7} {tool.name:10} {costs[tool.name]}", file=sys.stderr)
    return costs


def main() -> None:
    """Run the scenarios and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", choices=sorted(SCENARIOS), action="append", help="a load; standard output gets the page"
    )
    arguments = parser.parse_args()
    counter = counting.perf() or counting.valgrind()
    if counter is None:
        sys.exit("neither perf counters nor valgrind: instructions cannot be counted here (apt-get install valgrind)")
    measured, left_out = [], []
    for name in arguments.only or SCENARIOS:
        where, make = SCENARIOS[name]
        with ExitStack() as stack:
            directory = PLACES[where](stack)
            if directory is None:
                left_out.append(f"{name}: needs root, to make a loop device.")
                continue
            scenario = make(directory)
            measured.append(Measured(scenario, measure(scenario, arguments.rounds, counter)))
    text = page(
        measured,
        left_out=left_out,
        command="make bench",
        counter=counter.name,
        rounds=arguments.rounds,
        more=() if arguments.only else [*section(), "", *_sizes()],
    )
    if arguments.only:
        print(text)
    else:
        (ROOT / "docs/performance.md").write_text(text)


def _sizes() -> list[str]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as place:
        return [*sizes.section(Path(place))]


def _tmpfs(stack: ExitStack) -> Path:
    """A fresh directory on tmpfs: a mount of its own for root, else in /dev/shm."""
    if os.geteuid() != 0:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/dev/shm")))
    mount = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-bench-")))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={TMPFS_BYTES}", "assay-bench", str(mount)], check=True)
    # Lazily: a loop device lets go of its file a moment after it was detached.
    stack.callback(subprocess.run, ["umount", "--lazy", str(mount)], check=True)
    return mount


def _loop(stack: ExitStack) -> Path | None:
    """A fresh ext4 over a direct-I/O loop device on tmpfs."""
    if os.geteuid() != 0:
        return None
    base = _tmpfs(stack)
    image, mount = base / "image", base / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    losetup: Sequence[str] = ["losetup", "--find", "--show", "--direct-io=on", str(image)]
    device = subprocess.run(losetup, capture_output=True, text=True, check=True).stdout.strip()
    stack.callback(subprocess.run, ["losetup", "--detach", device], check=False)
    subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
    subprocess.run(["mount", device, str(mount)], check=True)
    stack.callback(subprocess.run, ["umount", str(mount)], check=True)
    return mount


PLACES: dict[str, Callable[[ExitStack], Path | None]] = {"tmpfs": _tmpfs, "loop": _loop}


if __name__ == "__main__":
    main()
