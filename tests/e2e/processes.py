"""A running `assay` command, for tests that interrupt it."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.command import COMMAND
from testbed.host import wait_until

WAIT_S = 300.0
"""Patience, for a machine of any speed."""

LOAD = """
name = "small"
reserve = "1MiB"
[[file_set]]
name = "data"
size = "4MiB"
{keep}
[[phase]]
name = "read"
title = "reading"
before = [{before}]
seconds = "{seconds}"
[[phase.job]]
limit = {{ ops_per_s = 1000 }}
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
"""


def nothing_in(directory: Path) -> bool:
    """Whether no data is left."""
    return list(directory.iterdir()) == []


def load_file(folder: Path, *, seconds: str = "1h", before: str = "", keep: str = "") -> Path:
    """Write a load that reads a small file for a while, and leaves the CPUs to others."""
    path = folder / "small.toml"
    path.write_text(LOAD.format(seconds=seconds, before=before, keep=keep))
    return path


@dataclass
class Running:
    """An `assay` that has been started, with its standard error in a file."""

    process: subprocess.Popen[bytes]
    said_path: Path

    def said(self) -> str:
        """What it has written to standard error so far."""
        return self.said_path.read_text()

    def wait_for(self, text: str) -> None:
        """Wait until it has said something."""
        wait_until(lambda: text in self.said() or self.process.poll() is not None, f"'{text}'", WAIT_S)
        assert text in self.said(), self.said()

    def wait_until_measured(self, intervals: int = 2) -> None:
        """Wait until its run has so many intervals in which something was done."""
        runs = self.said_path.parent / "runs"
        wait_until(lambda: intervals_with_operations(runs) >= intervals, "intervals with operations", WAIT_S)

    def wait_for_file(self, is_there: Callable[[], bool], what: str) -> None:
        """Wait until something is on storage."""
        wait_until(is_there, what, WAIT_S)

    def engine(self) -> int:
        """Pid of its engine."""
        wait_until(lambda: bool(engines_of(self.process.pid)), "an engine", WAIT_S)
        return engines_of(self.process.pid)[0]

    def engine_of_a_run(self, runs: Path) -> int:
        """Pid of the engine that carries the run out, once it says so: others were asked before what they can."""

        def has_begun_or_ended() -> bool:
            return any(event["event"] == "interval" for event in events_of(runs)) or self.process.poll() is not None

        wait_until(has_begun_or_ended, "an interval", WAIT_S)
        assert self.process.poll() is None, self.said()
        return self.engine()

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def exit_code(self, wait_s: float = WAIT_S) -> int:
        """Wait for its end."""
        return self.process.wait(wait_s)


def _hear_signals() -> None:
    """Undo what nohup, or a shell with a job in the background, told the tests to ignore: children inherit it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def running(
    *args: str | os.PathLike[str], folder: Path, env: Mapping[str, str] | None = None, started_by: str = ""
) -> Iterator[Running]:
    """Start `assay ARGS`; whatever the test does, nothing runs on afterwards.

    Args:
        args: The words after `assay`.
        folder: Where its output goes, and its runs, unless the words say otherwise.
        env: Variables on top of the test's own.
        started_by: Shell that starts it as "$@", where limits or streams are to be unusual.
    """
    said = folder / "stderr"
    with said.open("wb") as errors, (folder / "stdout").open("wb") as output:
        process = subprocess.Popen(
            [*(("sh", "-c", started_by, "sh") if started_by else ()), COMMAND, *args],
            env={**os.environ, "ASSAY_RUNS": str(folder / "runs"), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            preexec_fn=_hear_signals,  # noqa: PLW1509 - the tests have one thread
        )
    try:
        yield Running(process, said)
    finally:
        engines = engines_of(process.pid)
        if process.poll() is None:
            process.kill()
            process.wait(WAIT_S)
        for pid in engines:
            wait_until(lambda pid=pid: not is_alive(pid), f"engine {pid} ends", WAIT_S)  # type: ignore[misc]


def events_of(runs: Path) -> list[dict[str, Any]]:
    """What the engines of all runs have told so far, in whole lines."""
    found = []
    for stream in runs.glob("*/events/*.ndjson"):
        with suppress(FileNotFoundError):  # it was sealed just now
            found += [json.loads(line) for line in stream.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return found


def features_of(runs: Path) -> list[list[str]]:
    """What the kernel granted each job of all sealed runs, phase by phase."""
    every = [event for stream in sorted(runs.glob("*/events/*.json")) for event in json.loads(stream.read_text())]
    return [job["features"] for event in every if event["event"] == "phase_finished" for job in event["jobs"]]


def intervals_with_operations(runs: Path) -> int:
    """Intervals in which something was done."""
    intervals = (event for event in events_of(runs) if event["event"] == "interval")
    return sum(any(one["ops"] for one in interval["operations"]) for interval in intervals)


def engines_of(pid: int) -> Sequence[int]:
    """Processes that another one started."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in children.read_text().split()] if children.exists() else []


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    return state_of(pid) not in {"Z", "X"}


def state_of(pid: int) -> str:
    """Give the state of a process as the kernel names it in /proc; X where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
