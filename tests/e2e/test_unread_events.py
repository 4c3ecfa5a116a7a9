"""An engine whose events nobody reads, as on a stalled disk: is its load held by a stop and by the reserve?"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay import events
from assay.loads import native
from assay.loads.settings import settings
from assay.running.engine import find_engine
from e2e.command import need_command
from e2e.processes import WAIT_S
from testbed.devices import MIB, tmpfs
from testbed.host import wait_until

RESERVE = 64 * MIB
RATE = 25 * MIB
LOOK_S = 0.25

LOAD = """
name = "grows"
reserve = "64MiB"
sample_interval = "10ms"
[[file_set]]
name = "data"
size = "64KiB"
[[phase]]
name = "appends"
seconds = "1000s"
[[phase.job]]
as = "{kind}"
limit = {{ ops_per_s = 400 }}
op = {{ op = "write", set = "data", access = "append", size = "64KiB" }}
"""


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_a_stop_ends_the_load_although_nobody_reads_its_events(kind: str, tmp_path: Path) -> None:
    with _unread(kind, tmp_path) as engine:
        engine.send_signal(signal.SIGTERM)
        _wait_until_still(tmp_path)

        told = _read_on(engine)

    (phase,) = (event for event in told if event["event"] == "phase_finished")
    assert (phase["stopped_by"], told[-1]["outcome"]) == ("control", "stopped")


def test_the_load_ends_at_the_reserve_although_nobody_reads_its_events(tmp_path: Path) -> None:
    with tmpfs(RESERVE + 96 * MIB, parent=tmp_path) as directory, _unread("thread", directory) as engine:
        _wait_until_still(directory)
        space = os.statvfs(directory)

        told = _read_on(engine)

    assert RESERVE - 2 * LOOK_S * RATE <= space.f_bavail * space.f_frsize < RESERVE
    (error,) = (event for event in told if event["event"] == "error")
    assert "less than the reserve" in error["text"]


@contextmanager
def _unread(kind: str, directory: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """An engine that measures a load of workers of a kind, and waits to write events."""
    need_command()
    text = LOAD.format(kind=kind)
    values = settings(text, "load.toml", [], time=None, size=None, repeat=1)
    plan = native.parse(text, "load.toml", directory=directory, settings=values, repeat=1).to_json()
    engine = subprocess.Popen([find_engine()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert engine.stdin is not None
        engine.stdin.write(plan + b"\n" + msgspec.json.encode(events.StartWhenReady()) + b"\n")
        engine.stdin.flush()
        wait_until(lambda: _waits_to_write(engine.pid), "an engine that waits to write", WAIT_S)
        yield engine
    finally:
        engine.kill()
        engine.communicate()


def _waits_to_write(engine: int) -> bool:
    """Whether its main thread is in one call on its standard output at two looks."""
    looks = []
    for _ in range(2):
        looks.append(Path(f"/proc/{engine}/syscall").read_text().split()[:3])
        time.sleep(0.1)
    return looks[0] == looks[1] and looks[0][1:2] == ["0x1"]


def _wait_until_still(directory: Path) -> None:
    """Wait until files have not grown for half a second."""

    def size() -> int:
        return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())

    def is_still() -> bool:
        before = size()
        time.sleep(0.5)
        return size() == before

    wait_until(is_still, "a load that has ended", 60.0)


def _read_on(engine: "subprocess.Popen[bytes]") -> list[dict[str, Any]]:
    """Read what it had to say, to its end."""
    assert engine.stdout is not None
    return [json.loads(line) for line in engine.stdout]
