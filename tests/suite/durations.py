"""Record how long each test takes, for the list of the slowest that `make test` prints.

Durations are of the machine: nothing asserts them. `build/tests/durations.ndjson` has a line for each test, as it ends.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

FILE = Path(__file__).parents[2] / "build" / "tests" / "durations.ndjson"


def pytest_configure(config: pytest.Config) -> None:
    """Record in the process that hears of all tests."""
    lane = config.getoption("lane")
    if lane != "all" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(lane), "durations")


class Recorder:
    """Writes what each test took, set-up and undoing included."""

    def __init__(self, lane: str) -> None:
        """Go on with the file: a session of `make test` has begun it."""
        FILE.parent.mkdir(parents=True, exist_ok=True)
        self._lane = lane
        self._file: IO[str] = FILE.open("a")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write one part of a test."""
        line = {"lane": self._lane, "test": report.nodeid.partition("@")[0], "seconds": round(report.duration, 3)}
        self._file.write(json.dumps(line) + "\n")

    def pytest_unconfigure(self) -> None:
        """Close the file."""
        self._file.close()


def slowest(count: int) -> Sequence[tuple[str, float]]:
    """Give the tests that took longest, with seconds, of the file."""
    taken_s: Counter[str] = Counter()
    for line in FILE.read_text().splitlines() if FILE.exists() else ():
        part = json.loads(line)
        taken_s[f"{part['test']} ({part['lane']})"] += part["seconds"]
    return taken_s.most_common(count)
