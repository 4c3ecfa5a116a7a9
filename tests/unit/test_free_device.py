"""Who uses a device that is to be overwritten, of machines that are laid out."""

from pathlib import Path

import pytest

from assay.campaign import free_device
from assay.campaign.free_device import BlockNode, DeviceIdentity, node_of, uses
from unit.host_trees import FakeMachine

# No device of any machine has such a number (Linux, admin-guide/devices.txt: 234 to 254 are handed out, 240 locally).
DISK, PART, OTHER = "199:0", "199:1", "199:16"
NODE = BlockNode(path="/dev/sdz", name="sdz", identity=DeviceIdentity(size_bytes=1 << 30, serial="", number=DISK))
NUMBERS = {"/dev/sdz": DISK, "/dev/sdz1": PART, "/dev/sdy": OTHER}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    """A machine with a disk that has a partition, and another disk; nobody uses any."""
    monkeypatch.setattr(free_device, "_number_of", lambda path: NUMBERS.get(path, ""))
    made = FakeMachine(tmp_path)
    made.disk("sdz", DISK, dev=DISK)
    made.partition("sdz", "sdz1", PART)
    made.file("/sys/devices/pci0/block/sdz/sdz1/dev", PART)
    made.disk("sdy", OTHER, dev=OTHER)
    made.file("/proc/self/mountinfo", "22 1 199:16 / / rw - ext4 /dev/sdy rw")
    made.file("/proc/swaps", "Filename Type Size Used Priority")
    return made


def told(machine: FakeMachine) -> list[str]:
    return list(uses(machine.tree, NODE))


def test_a_device_that_nobody_uses_is_free(machine: FakeMachine) -> None:
    assert told(machine) == []


@pytest.mark.parametrize(("device", "name"), [("/dev/sdz", "sdz"), ("/dev/sdz1", "sdz1"), ("/dev/sdy", "")])
def test_what_is_swapped_to_is_used_with_its_disk(device: str, name: str, machine: FakeMachine) -> None:
    machine.file("/proc/swaps", f"Filename Type Size Used Priority\n{device} partition 1048572 0 -2")

    assert told(machine) == ([f"{name} is swap"] if name else [])


@pytest.mark.parametrize(
    ("number", "said"),
    [(DISK, ["sdz is mounted on /srv"]), (PART, ["sdz1 is mounted on /srv"]), (OTHER, [])],
)
def test_what_is_mounted_is_used_with_its_disk(number: str, said: list[str], machine: FakeMachine) -> None:
    machine.file("/proc/self/mountinfo", f"22 1 {number} / /srv rw - ext4 /dev/some rw")

    assert told(machine) == said


@pytest.mark.parametrize("holder", ["dm-0", "md127", "bcache0"])
@pytest.mark.parametrize(("held", "name"), [("sdz", "sdz"), ("sdz/sdz1", "sdz1")])
def test_what_volumes_and_raid_are_made_of_is_held(holder: str, held: str, name: str, machine: FakeMachine) -> None:
    machine.directory(f"/sys/devices/pci0/block/{held}/holders/{holder}")

    assert told(machine) == [f"{name} is held by {holder}"]


def test_a_part_of_a_btrfs_of_several_is_mounted_although_no_mount_names_it(machine: FakeMachine) -> None:
    machine.directory("/sys/fs/btrfs/6e2f/devices/sdy")
    machine.directory("/sys/fs/btrfs/6e2f/devices/sdz1")

    assert told(machine) == ["sdz1 is part of a mounted btrfs"]


def test_what_is_behind_a_loop_device_is_used(machine: FakeMachine) -> None:
    machine.file("/sys/block/loop3/loop/backing_file", "/dev/sdz1")

    assert told(machine) == ["sdz1 is behind loop3"]


def test_a_device_that_is_not_there_is_found_by_no_identity() -> None:
    assert node_of(DeviceIdentity(size_bytes=12345 * 512, serial="", number=DISK)) is None
    assert node_of(DeviceIdentity(size_bytes=12345 * 512, serial="no-such-serial#", number=DISK)) is None
