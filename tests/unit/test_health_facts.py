"""Is what a disk shows of its temperature and wear read by the specification, and is a reason given where it is not?"""

import struct
from pathlib import Path

import pytest

from assay.host.facts import Fact, FactValue
from assay.host.health_facts import BEGIN, END, begin_as_end, disks_with_health, health_at_end, health_facts
from assay.host.manifest import target_facts
from assay.host.nvme_admin import ADMIN_COMMAND, HealthLog, ask_health_log, health_command
from assay.host.nvme_log import read_health_log
from assay.host.reading import SystemTree
from unit.health_logs import HEALTHY, OFFSETS, health_log
from unit.host_trees import FakeMachine

NUMBER = "259:0"


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


class Controller:
    """Answers with a log page, or refuses."""

    def __init__(self, page: bytes | None, why: str = "n/a: refused") -> None:
        self.page, self.why = page, why
        self.asked: list[tuple[str, str]] = []

    def __call__(self, tree: SystemTree, name: str, number: str) -> HealthLog:
        """Answer."""
        assert tree
        self.asked.append((name, number))
        return HealthLog(self.page, "log" if self.page is not None else self.why)


# -- the log page ----------------------------------------------------------------------------------------------------------


def test_each_field_is_where_the_specification_has_it() -> None:
    assert read_health_log(health_log(HEALTHY)) == {
        "critical_warnings": (),
        "temperature_celsius": 41,
        "available_spare_percent": 100,
        "spare_threshold_percent": 10,
        "percentage_used": 3,
        "host_read_bytes": 1_000_000 * 512_000,
        "host_written_bytes": 2_000_000 * 512_000,
        "host_reads": 111,
        "host_writes": 222,
        "power_on_hours": 4321,
        "unsafe_shutdowns": 5,
        "media_errors": 0,
        "warning_temperature_minutes": 6,
        "critical_temperature_minutes": 7,
        "thermal_1_transitions": 40,
        "thermal_2_transitions": 50,
        "thermal_1_seconds": 600,
        "thermal_2_seconds": 700,
    }


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0b1, ("spare",)),
        (0b10, ("temperature",)),
        (0b111100, ("reliability", "read-only", "volatile-backup", "persistent-memory")),
        (0b11000000, ()),
    ],
)
def test_a_critical_warning_is_named_by_its_bits(bits: int, words: tuple[str, ...]) -> None:
    assert read_health_log(health_log({"critical warning": bits}))["critical_warnings"] == words


@pytest.mark.parametrize(
    ("field", "value", "key"),
    [
        ("composite temperature", 0, "temperature_celsius"),
        ("composite temperature", 0xFFFF, "temperature_celsius"),
        ("available spare", 101, "available_spare_percent"),
        ("data units written", (1 << 63) // 512_000 + 1, "host_written_bytes"),
        ("media and data integrity errors", (1 << 128) - 1, "media_errors"),
    ],
)
def test_a_value_that_cannot_be_is_left_out(field: str, value: int, key: str) -> None:
    fields = read_health_log(health_log({**HEALTHY, field: value}))

    assert key not in fields
    assert len(fields) == len(read_health_log(health_log(HEALTHY))) - 1


def test_each_byte_belongs_to_the_field_that_the_table_has_there() -> None:
    nothing = read_health_log(bytes(512))
    read = {at for at in range(512) if read_health_log(bytes(at) + b"\x01" + bytes(511 - at)) != nothing}

    passed_over = {
        "endurance group critical warning summary",
        "controller busy time",
        "power cycles",
        "number of error information log entries",
        "temperature sensor 1",
    }
    fields = [place for name, place in OFFSETS.items() if name not in passed_over]
    assert read <= {at for first, size in fields for at in range(first, first + size)}
    # The highest bytes of a long counter are beyond what a fact holds.
    assert {first for first, _ in fields} <= read


@pytest.mark.parametrize("size", [0, 511, 513, 4096])
def test_a_page_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"has {size} bytes"):
        read_health_log(bytes(size))


# -- the command -----------------------------------------------------------------------------------------------------------


def test_the_command_is_get_log_page_of_the_whole_controller_and_changes_nothing() -> None:
    command = health_command(0x1122334455667788)

    # struct nvme_passthru_cmd of linux/nvme_ioctl.h.
    assert len(command) == 72
    assert command[0] == 0x02
    assert struct.unpack_from("<I", command, 4) == (0xFFFFFFFF,)
    assert struct.unpack_from("<Q", command, 24) == (0x1122334455667788,)
    assert struct.unpack_from("<I", command, 36) == (512,)
    assert struct.unpack_from("<I", command, 40) == (127 << 16 | 0x02,)
    # The kernel's own time limit.
    used = {0, *range(4, 8), *range(24, 32), *range(36, 44)}
    assert all(command[at] == 0 for at in range(72) if at not in used)
    # _IOWR('N', 0x41, 72 bytes) of asm-generic/ioctl.h.
    assert 3 << 30 | 72 << 16 | ord("N") << 8 | 0x41 == ADMIN_COMMAND


def test_what_is_not_the_disk_is_not_asked(machine: FakeMachine) -> None:
    machine.disk("nvme0n1", NUMBER)
    missing = ask_health_log(machine.tree, "nvme0n1", NUMBER)
    machine.file("/dev/nvme0n1", "no device")
    file = ask_health_log(machine.tree, "nvme0n1", NUMBER)
    (machine.root / "dev" / "nvme1n1").symlink_to("nvme0n1")
    link = ask_health_log(machine.tree, "nvme1n1", NUMBER)

    assert missing == (None, "n/a: /dev/nvme0n1: No such file or directory")
    assert file == (None, f"n/a: /dev/nvme0n1 is not the block device {NUMBER}")
    assert link.page is None


# -- facts -----------------------------------------------------------------------------------------------------------------


def test_an_nvme_disk_has_the_fields_of_its_log(machine: FakeMachine) -> None:
    machine.disk("nvme0n1", NUMBER, dev=NUMBER)
    controller = Controller(health_log(HEALTHY))

    facts = health_facts(machine.tree, "nvme0n1", ask=controller)

    assert controller.asked == [("nvme0n1", NUMBER)]
    assert {fact.key: fact.value for fact in facts} == {
        f"{BEGIN}.{key}": value for key, value in read_health_log(health_log(HEALTHY)).items()
    }
    assert {fact.source for fact in facts} == {"log"}


@pytest.mark.parametrize("place", ["device__hwmon3__temp1_input", "device__hwmon__hwmon3__temp1_input"])
def test_other_disks_have_the_temperature_that_hwmon_shows(place: str, machine: FakeMachine) -> None:
    machine.disk("sda", "8:0", **{place: "38500"})
    controller = Controller(None)

    (fact,) = health_facts(machine.tree, "sda", ask=controller)

    assert not controller.asked
    assert (fact.key, fact.value) == (f"{BEGIN}.temperature_celsius", 38.5)
    assert fact.source == f"/sys/class/block/sda/{place.replace('__', '/')}"


def test_where_the_log_is_refused_the_temperature_is_left_and_the_reason_is_named(machine: FakeMachine) -> None:
    machine.disk("nvme0n1", NUMBER, device__hwmon1__temp1_input="40850")
    machine.disk("nvme1n1", "259:1")
    refusing = Controller(None, "n/a: root alone may ask")

    (warm,) = health_facts(machine.tree, "nvme0n1", ask=refusing)
    (silent,) = health_facts(machine.tree, "nvme1n1", ask=refusing)
    (cut,) = health_facts(machine.tree, "nvme1n1", ask=Controller(bytes(100)))

    assert warm.value == 40.9
    assert "root alone may ask" in warm.source
    assert (silent.key, silent.value, silent.source) == (BEGIN, None, "n/a: root alone may ask")
    assert cut.source == "n/a: /dev/nvme1n1: the log page has 100 bytes, not 512"


@pytest.mark.parametrize("text", ["warm", "", "-300000", "1000001", "1" * 5000, "38500 39000", "3.5e4"])
def test_a_temperature_that_is_none_is_no_fact(text: str, machine: FakeMachine) -> None:
    machine.disk("sda", "8:0", device__hwmon3__temp1_input=text)

    (fact,) = health_facts(machine.tree, "sda")

    assert (fact.key, fact.value) == (BEGIN, None)
    assert "sda" in fact.source


def test_disks_are_looked_at_again_once_each_if_they_showed_something_before(machine: FakeMachine) -> None:
    machine.disk("nvme0n1", NUMBER, dev=NUMBER, device__hwmon1__temp1_input="40000")
    machine.disk("sda", "8:0")
    for number, point, source in ((NUMBER, "/a", "nvme0n1"), (NUMBER, "/b", "nvme0n1"), ("8:0", "/c", "sda")):
        machine.mount(number, point, "ext4", f"/dev/{source}")
    before = target_facts({"a": Path("/a"), "b": Path("/b"), "c": Path("/c")}, machine.tree)
    again = {**HEALTHY, "composite temperature": 341}
    controller = Controller(health_log(again))

    after = health_at_end(before, machine.tree, controller)

    assert controller.asked == [("nvme0n1", NUMBER)]
    assert list(disks_with_health(before)) == ["target.a.device.0", "target.b.device.0"]
    values = {fact.key: fact.value for fact in after}
    for target in ("a", "b"):
        assert values[f"target.{target}.device.0.{END}.temperature_celsius"] == 68
    assert not any(key.startswith("target.c") for key in values)
    # The reason why a disk shows nothing is said once.
    reasons = [fact for fact in before if fact.key == f"target.c.device.0.{BEGIN}"]
    assert [fact.value for fact in reasons] == [None]


def test_a_later_look_of_a_client_is_that_of_the_end() -> None:
    def facts(celsius: int) -> tuple[Fact, ...]:
        found: dict[str, FactValue] = {
            f"target.a.device.0.{BEGIN}.temperature_celsius": celsius,
            "target.a.device.0.model": "ACME",
            f"target.b.device.0.{BEGIN}": None,
        }
        return tuple(Fact(key=key, value=value, source="client") for key, value in found.items())

    (end,) = begin_as_end(facts(40), facts(60))

    assert (end.key, end.value) == (f"target.a.device.0.{END}.temperature_celsius", 60)
