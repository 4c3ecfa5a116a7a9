"""A stop is heard, whatever the engine is at, however it comes and whenever.

`$ASSAY_STOPS` says how many random loads are stopped; a seed that fails is kept as one of `ONCE_DEAF`.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
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
from e2e.random_loads import a_load
from testbed.host import need_strace, wait_until

STOPS = int(os.environ.get("ASSAY_STOPS", "40"))
ONCE_DEAF = (49,)
"""Seeds of loads that did not hear a stop in some version: ticks that took longer than their interval."""
HEARD_CPU_S = 10.0
"""CPU time that an engine may use after a stop: to end and to remove its data takes well below a second of it.

A busy machine makes the end late, and hardly costs more CPU time. Where an engine uses none, `WAIT_S` bounds the wait: each
of these loads would go on for longer than that.
"""
WAYS = ("control line", "end of input", "INT", "TERM", "HUP")
MOST_LINES = 9
"""A run says some eight lines until its first interval."""


def plan_of(text: str, directory: Path) -> bytes:
    """Make the Plan of a load file."""
    source = "random.toml"
    values = settings(text, source, [], time=None, size=None, repeat=1)
    return native.parse(text, source, directory=directory, settings=values, repeat=1).to_json()


def stop(engine: "subprocess.Popen[bytes]", way: str) -> None:
    """Stop an engine in one of the ways that there are."""
    assert engine.stdin is not None
    match way:
        case "control line":
            engine.stdin.write(msgspec.json.encode(events.StopRun()) + b"\n")
            engine.stdin.flush()
        case "end of input":
            engine.stdin.close()
        case name:
            engine.send_signal(signal.Signals[f"SIG{name}"])


def lines_of(stream: Path) -> list[dict[str, Any]]:
    """What was said so far, in whole lines."""
    return [json.loads(line) for line in stream.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def cpu_s(group: int) -> float:
    """CPU time of the processes of a group, and of their children that have ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15])) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def is_heard(engine: "subprocess.Popen[bytes]", cpu_before_s: float) -> bool:
    """Wait for the end of an engine that was stopped; False: it goes on with its load."""
    deadline_s = time.monotonic() + WAIT_S
    while engine.poll() is None:
        if cpu_s(engine.pid) - cpu_before_s > HEARD_CPU_S or time.monotonic() > deadline_s:
            return engine.poll() is not None
        time.sleep(0.01)
    return True


def stop_at_a_moment(rng: random.Random, plan: bytes, stream: Path) -> bool:
    """Start the engine on a Plan, stop it at a random moment, and return whether it heard that."""
    way, lines, pause_s = rng.choice(WAYS), rng.randint(0, MOST_LINES), rng.choice([0.0, 0.0, rng.uniform(0.0, 0.3)])
    with stream.open("wb") as output:
        engine = subprocess.Popen([find_engine()], stdin=subprocess.PIPE, stdout=output, start_new_session=True)
    try:
        assert engine.stdin is not None
        engine.stdin.write(plan + b"\n" + msgspec.json.encode(events.StartWhenReady()) + b"\n")
        engine.stdin.flush()
        # Some loads say little before they go on for hours: then it is time that chooses the moment.
        deadline_s = time.monotonic() + 1.0
        while stream.read_bytes().count(b"\n") < lines and time.monotonic() < deadline_s and engine.poll() is None:
            time.sleep(0.001)
        time.sleep(pause_s)
        before_s = cpu_s(engine.pid)
        stop(engine, way)
        return is_heard(engine, before_s)
    finally:
        if engine.poll() is None:
            os.killpg(engine.pid, signal.SIGKILL)
            engine.wait()
        if engine.stdin is not None:
            engine.stdin.close()


STUCK = """
name = "stuck"
sample_interval = "100ms"
[[file_set]]
name = "data"
size = "1MiB"
[[phase]]
name = "stuck"
seconds = "1000s"
[[phase.job]]
backend = "stdio"
loop = [{ op = "write", set = "data", access = "sequential", size = "100B" }, { op = "getxattr", set = "data" }]
"""


def test_a_second_stop_writes_nothing_that_the_c_library_holds(tmp_path: Path) -> None:
    """Its threads have files of their own: in the table of another the same number can be any file."""
    need_strace()
    directory, trace = tmp_path / "target", tmp_path / "trace"
    directory.mkdir()
    trace.touch()
    calls = "trace=write,rt_sigtimedwait,getxattr,lgetxattr,fgetxattr,exit_group"
    hang = "inject=getxattr,lgetxattr,fgetxattr:delay_enter=120000000"
    words = ("strace", "-f", "-qq", "-o", trace, "-e", calls, "-e", hang, find_engine())
    engine = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    assert engine.stdin is not None
    try:
        engine.stdin.write(plan_of(STUCK, directory) + b"\n" + msgspec.json.encode(events.StartWhenReady()) + b"\n")
        engine.stdin.flush()
        wait_until(lambda: "getxattr(" in trace.read_text(), "a call that hangs", WAIT_S)
        before = trace.read_text()
        (traced,) = (int(pid) for pid in Path(f"/proc/{engine.pid}/task/{engine.pid}/children").read_text().split())
        os.kill(traced, signal.SIGTERM)
        wait_until(lambda: trace.read_text().count("SIGTERM") > before.count("SIGTERM"), "the first stop", WAIT_S)
        os.kill(traced, signal.SIGTERM)
        wait_until(lambda: "exit_group(" in trace.read_text(), "the end", WAIT_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()
        engine.stdin.close()

    written = [line for line in trace.read_text()[len(before) :].splitlines() if " write(" in line]
    assert all("write(1," in line for line in written), written


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory in memory: what waits for a disk that others keep busy hears nothing, and ends nothing."""
    if not os.access("/dev/shm", os.W_OK):  # noqa: S108 - that is the file system that is meant
        pytest.skip("needs /dev/shm, to lay data out in memory")
    with tempfile.TemporaryDirectory(prefix="assay-stops-", dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.parametrize("seed", sorted({*range(STOPS), *ONCE_DEAF}))
def test_a_stop_is_heard_at_any_moment_of_any_load(seed: int, directory: Path, tmp_path: Path) -> None:
    need_command()
    rng = random.Random(seed)  # noqa: S311 - a choice of loads and moments
    stream = tmp_path / "stream"
    load = a_load(rng)

    if not stop_at_a_moment(rng, plan_of(load, directory), stream):
        pytest.fail(f"seed {seed} did not hear the stop; write it into ONCE_DEAF. Its load:\n{load}")

    # Before it listens, a signal ends it as any program.
    told = lines_of(stream)
    if told:
        assert told[-1]["event"] == "finished", load
        assert told[-1]["outcome"] == "stopped", (told[-2], load)
    assert list(directory.iterdir()) == []
