"""Is what is busy before a run seen, and is it waited for?"""

from pathlib import Path

import pytest

from assay.errors import InputError
from assay.host.busy import Busy, how_busy
from assay.host.reading import SystemTree
from assay.running.quiet import busy_words, check_alone, unrest, wait_for_rest

STAT = "cpu  0 0 0 0\n{}intr 1"
DISK = "253 0 vda 1 0 8 0 1 0 8 0 0 {} 0 0 0 0 0 0 0"
AT_REST = Busy(cpus=2, cpus_busy=0.1, devices={"vda": 0.02})
BUSY = Busy(cpus=2, cpus_busy=1.8, devices={"vda": 0.4})


class Machine:
    """A machine that is busy for some looks."""

    def __init__(self, *looks: Busy | None) -> None:
        self.looks, self.now_s, self.said = list(looks), 0.0, list[str]()

    def look(self, _devices: tuple[str, ...], seconds: float) -> Busy | None:
        """Look at it: the last look counts from then on."""
        self.now_s += seconds
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def waits(self, most_s: float) -> bool:
        """Wait for it."""
        return wait_for_rest(
            [Path("/")], most_s, self.said.append, self.said.append, look=self.look, clock=lambda: self.now_s
        )


def stat(*times: tuple[int, ...]) -> str:
    return STAT.format("".join(f"cpu{cpu} {' '.join(map(str, one))}\n" for cpu, one in enumerate(times)))


def test_busy_is_what_was_not_idle_and_had_a_request(tmp_path: Path) -> None:
    """By hand: of 100 ticks CPU 0 has 90 in user, CPU 1 has 5 in system and 95 in iowait; the disk 300 of 1000 ms."""
    tree, now_s = SystemTree(tmp_path), [0.0]
    (tmp_path / "proc").mkdir()
    tree.at("/proc/stat").write_text(stat((7, 0, 1, 50, 2, 0, 0, 0, 9, 9), (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
    tree.at("/proc/diskstats").write_text(DISK.format(100))

    def passes(seconds: float) -> None:
        now_s[0] += seconds
        tree.at("/proc/stat").write_text(stat((97, 0, 1, 60, 2, 0, 0, 0, 99, 9), (0, 0, 5, 0, 95, 0, 0, 0, 0, 0)))
        tree.at("/proc/diskstats").write_text(DISK.format(400))

    found = how_busy(["vda", "gone"], 1.0, tree, sleep=passes, clock=lambda: now_s[0])

    assert found is not None
    assert found.cpus == 2
    assert found.cpus_busy == pytest.approx(0.95)
    assert list(found.devices) == ["vda"]
    assert found.devices["vda"] == pytest.approx(0.3)


def test_a_kernel_that_tells_nothing_is_not_called_busy(tmp_path: Path) -> None:
    found = how_busy([], 1.0, SystemTree(tmp_path), sleep=lambda _: None)

    assert found is None
    assert unrest(found) == ""


def test_what_is_busy_is_named_and_what_is_at_rest_is_not() -> None:
    assert unrest(BUSY) == "1.8 of 2 CPUs, vda for 40 % of the time"
    assert unrest(Busy(cpus=16, cpus_busy=1.5, devices={"vda": 0.4})) == "vda for 40 % of the time"
    assert unrest(AT_REST) == ""


def test_a_run_begins_after_two_looks_at_rest() -> None:
    machine = Machine(BUSY, AT_REST, BUSY, AT_REST)

    assert machine.waits(60)
    assert machine.now_s == 5
    assert machine.said[0] == "waiting for a machine at rest, 1 of 60 s: busy 1.8 of 2 CPUs, vda for 40 % of the time"


def test_a_machine_that_stays_busy_is_measured_all_the_same_and_that_is_said() -> None:
    machine = Machine(BUSY)

    assert not machine.waits(3)
    assert machine.now_s == 3
    assert machine.said[-1].startswith("still busy after 3 s: 1.8 of 2 CPUs")


def test_the_first_line_names_what_is_busy_and_nothing_of_a_machine_at_rest() -> None:
    (words,) = busy_words(Path("/"), look=Machine(BUSY).look)

    assert words.startswith("machine busy (1.8 of 2 CPUs, vda for 40 % of the time): ")
    assert busy_words(Path("/"), look=Machine(AT_REST).look) == ()


def test_clients_are_not_waited_for() -> None:
    check_alone(None, has_clients=True)
    with pytest.raises(InputError, match="looks at this machine alone"):
        check_alone(5.0, has_clients=True)
