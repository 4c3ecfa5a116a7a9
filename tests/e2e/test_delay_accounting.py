"""Engines side by side share one switch of the kernel: it is on for each of them, and back as it was after the last.

The switch is a file of the test's own, bound over the kernel's in a mount namespace, so that no other run on this machine
meets the test, and the test none of them.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.running.engine import find_engine
from testbed.host import need_root, need_tools

pytestmark = pytest.mark.xdist_group("mount namespaces")

WAIT_S = 300.0
BIND = 'mount --bind "$1" /proc/sys/kernel/task_delayacct && mount --bind "$2" /run && exec "$3"'


class Machine:
    """A switch, and the folder that is `/run` to the engines."""

    def __init__(self, folder: Path) -> None:
        """Begin with the switch off."""
        self.switch = folder / "task_delayacct"
        self.switch.write_text("0\n")
        self.run = folder / "run"
        self.run.mkdir(mode=0o755)

    def is_on(self) -> bool:
        """Whether the switch is on."""
        return self.switch.read_text().strip() == "1"

    @contextmanager
    def engine(self) -> Iterator[subprocess.Popen[str]]:
        """An engine that has switched and waits for its Plan; killed if the test has not ended it."""
        command = ["unshare", "--mount", "sh", "-c", BIND, "sh", str(self.switch), str(self.run), str(find_engine())]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                hello = _next(process)
                assert hello["event"] == "hello"
                assert hello["capabilities"]["delay_accounting"]
                yield process
            finally:
                process.kill()


def _next(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    event: dict[str, Any] = json.loads(process.stdout.readline())
    return event


def _end(process: subprocess.Popen[str]) -> None:
    """Let an engine end by itself: its input is over before a Plan came."""
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(WAIT_S) == 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose switch is off."""
    need_root()
    need_tools("unshare")
    if not Path("/proc/sys/kernel/task_delayacct").exists():
        pytest.skip("needs kernel.task_delayacct (Linux 5.14)")
    return Machine(tmp_path)


def test_the_first_to_end_leaves_it_on_for_the_second(machine: Machine) -> None:
    with machine.engine() as first, machine.engine() as second:
        _end(first)
        on_for_the_second = machine.is_on()
        _end(second)

    assert on_for_the_second
    assert not machine.is_on()
    assert list(machine.run.iterdir()) == []


def test_the_run_after_a_killed_one_puts_it_back(machine: Machine) -> None:
    with machine.engine() as killed:
        killed.kill()
        killed.wait(WAIT_S)
    left_on = machine.is_on()
    with machine.engine() as following:
        _end(following)

    assert left_on
    assert not machine.is_on()
    assert list(machine.run.iterdir()) == []


def test_what_another_program_turns_off_during_a_run_is_said(machine: Machine) -> None:
    with machine.engine() as process:
        machine.switch.write_text("0\n")
        assert process.stdin is not None
        process.stdin.close()
        assert process.stdout is not None
        warnings = [event["id"] for event in map(json.loads, process.stdout) if event["event"] == "warning"]

    assert warnings == ["delay-accounting-lost"]
