"""Record how long each test takes, for the list of the slowest that `make test` prints.

Durations are of the machine: nothing asserts them. `build/tests/durations.ndjson` has a line for each test, as it ends.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from suite import kept, without_group

NAME = "durations.ndjson"
"""In `build/tests`."""


def pytest_configure(config: pytest.Config) -> None:
    """Record in the process that hears of all tests."""
    lane = config.getoption("lane")
    if lane != "all" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(lane, kept(config) / NAME), "durations")


class Recorder:
    """Writes what each test took, set-up and undoing included."""

    def __init__(self, lane: str, file: Path) -> None:
        """Go on with the file: another lane may have begun it."""
        self._lane = lane
        self._file: IO[str] = file.open("a", buffering=1)  # whole lines, whatever ends the session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write one part of a test."""
        line = {"lane": self._lane, "test": without_group(report.nodeid), "seconds": round(report.duration, 3)}
        self._file.write(json.dumps(line) + "\n")

    def pytest_unconfigure(self) -> None:
        """Close the file."""
        self._file.close()


def slowest(file: Path, count: int) -> Sequence[tuple[str, float]]:
    """Give the tests of a file that took longest, with seconds."""
    taken_s: Counter[str] = Counter()
    for line in file.read_text().splitlines() if file.exists() else ():
        part = json.loads(line)
        taken_s[f"{part['test']} ({part['lane']})"] += part["seconds"]
    return taken_s.most_common(count)
