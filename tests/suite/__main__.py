"""Run every test: cargo's, then the parallel, the held and the quiet lane; print what each took, and the slowest tests.

    python -m suite [--most-s SECONDS]

A failed part does not stop the later ones. With `--most-s`, the part that is running when the time is over is ended, and the
exit code is 1: a suite that takes too long is mended, not waited for.
"""

import argparse
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from suite import durations

ROOT = Path(__file__).parents[2]
DURATIONS = ROOT / "build" / "tests" / durations.NAME
PYTEST = (sys.executable, "-m", "pytest")
GROUPED = ("--dist", "loadgroup", "--no-loadscope-reorder")
"""Groups in the order of the collection."""
PARTS: dict[str, Sequence[str]] = {
    "cargo test": ("cargo", "test", "--locked"),
    "parallel lane": (*PYTEST, "--lane", "parallel", "-n", "auto", *GROUPED),
    "held lane": (*PYTEST, "--lane", "held", "-n", "2", *GROUPED),
    "quiet lane": (*PYTEST, "--lane", "quiet"),
}
SLOWEST = 20
UNDOING_S = 180
"""Patience with a part that was told to end, and undoes what it made."""


class Ended(BaseException):
    """A signal told this program to end."""


def main(words: Sequence[str]) -> int:
    """Run the parts; the exit code is 1 where one failed, or all took too long."""
    arguments = argparse.ArgumentParser(prog="python -m suite")
    arguments.add_argument("--most-s", type=float, default=None, metavar="SECONDS")
    most_s = arguments.parse_args(words).most_s
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    DURATIONS.unlink(missing_ok=True)
    begun_s = time.monotonic()
    ended: list[tuple[str, float, str]] = []
    try:
        for name, command in PARTS.items():
            left_s = None if most_s is None else begun_s + most_s - time.monotonic()
            at_s = time.monotonic()
            outcome = _run(command, left_s)
            ended.append((name, time.monotonic() - at_s, outcome))
            if outcome == "too long":
                break
    finally:
        _print(ended, time.monotonic() - begun_s)
    return int(any(outcome != "ok" for _, _, outcome in ended))


def _run(command: Sequence[str], left_s: float | None) -> str:
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        code = process.wait(left_s)
    except subprocess.TimeoutExpired:
        _end_process(process)
        return "too long"
    except Ended:
        _end_process(process)
        raise
    return "ok" if code == 0 else f"failed ({code})"


def _end_process(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(UNDOING_S)
    process.kill()
    process.wait()


def _print(ended: Sequence[tuple[str, float, str]], whole_s: float) -> None:
    print(f"\n== the {SLOWEST} slowest tests")
    for name, seconds in durations.slowest(DURATIONS, SLOWEST):
        print(f"{seconds:8.1f} s  {name}")
    print("== time of each part")
    for name, seconds, outcome in (*ended, ("in all", whole_s, "")):
        print(f"{seconds:8.1f} s  {name}  {outcome}".rstrip())
    sys.stdout.flush()


def _end(number: int, _frame: FrameType | None) -> None:
    raise Ended(signal.Signals(number).name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
