"""Who uses a device that is to be overwritten, or what has the same bytes, of machines that are laid out."""

import os
from pathlib import Path

import msgspec
import pytest

from assay.devices import device_uses
from assay.devices.device_identity import DeviceIdentity, LoopStatus, node_of
from assay.devices.device_uses import BlockMap, uses
from unit.host_trees import FakeMachine

# No device of any machine has such a number (Linux, admin-guide/devices.txt: 234 to 254 are handed out, 240 locally).
DISK, PART, SECOND, OTHER = "199:0", "199:1", "199:2", "199:16"
LOOPS = {f"loop{number}": f"198:{number}" for number in range(4)}
NUMBERS = {"/dev/sdz": DISK, "/dev/sdz1": PART, "/dev/sdy": OTHER}
FILE, OTHER_FILE = (65024, 12), (65024, 13)
HALF = 1 << 29


class Machine(FakeMachine):
    """A machine with a disk that has two partitions, and another disk; nobody uses any."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.behind: dict[str, LoopStatus] = {}
        self.disk("sdz", DISK, dev=DISK)
        for name, number in (("sdz1", PART), ("sdz2", SECOND)):
            self.partition("sdz", name, number)
            self.file(f"/sys/devices/pci0/block/sdz/{name}/dev", number)
        self.disk("sdy", OTHER, dev=OTHER)
        self.mounted("199:99", "/")
        self.file("/proc/swaps", "Filename Type Size Used Priority")

    def mounted(self, number: str, point: str, process: str = "self") -> None:
        """Have one file system mounted."""
        self.file(f"/proc/{process}/mountinfo", f"22 1 {number} / {point} rw - ext4 /dev/some rw")

    def elsewhere(self, number: str, point: str) -> None:
        """Have one mounted in another mount namespace."""
        for process, namespace in (("self", 1), ("77", 2)):
            self.directory(f"/proc/{process}/ns")
            (self.tree.at(f"/proc/{process}/ns") / "mnt").symlink_to(f"mnt:[{namespace}]")
        self.mounted(number, point, "77")

    def loop(self, name: str, file: tuple[int, int] = (0, 0), *, behind: str = "0:0", offset: int = 0) -> None:
        """Attach a loop device to a file, or to a block device."""
        major, _, minor = behind.partition(":")
        self.virtual(name, LOOPS[name], dev=LOOPS[name])
        self.behind[name] = LoopStatus(*file, os.makedev(int(major), int(minor)), offset, 0)

    def mapping(self, name: str, number: str, *slaves: str, uuid: str = "") -> None:
        """Make a mapping, which holds what it is made of."""
        self.virtual(name, number, slaves=slaves, dev=number, **({"dm__uuid": uuid} if uuid else {}))
        for slave in slaves:
            self.directory(f"/sys/class/block/{slave}/holders/{name}")

    def uses_of(self, name: str) -> list[str]:
        """Say who uses a device."""
        return list(uses(self.tree, BlockMap(self.tree, self.behind.get), name))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(device_uses, "_number_of", lambda path: NUMBERS.get(path, ""))
    return Machine(tmp_path)


def test_a_device_that_nobody_uses_is_free(machine: Machine) -> None:
    machine.loop("loop0", FILE)
    machine.loop("loop1", behind=DISK)

    assert machine.uses_of("sdy") == []
    assert machine.uses_of("loop0") == []
    assert machine.uses_of("loop1") == []


@pytest.mark.parametrize(("device", "name"), [("/dev/sdz", "sdz"), ("/dev/sdz1", "sdz1"), ("/dev/sdy", "")])
def test_what_is_swapped_to_is_used_with_its_disk(device: str, name: str, machine: Machine) -> None:
    machine.file("/proc/swaps", f"Filename Type Size Used Priority\n{device} partition 1048572 0 -2")

    assert machine.uses_of("sdz") == ([f"{name} is swap"] if name else [])


@pytest.mark.parametrize(
    ("number", "said"),
    [(DISK, ["sdz is mounted on /srv"]), (PART, ["sdz1 is mounted on /srv"]), (OTHER, [])],
)
def test_what_is_mounted_is_used_with_its_disk(number: str, said: list[str], machine: Machine) -> None:
    machine.mounted(number, "/srv")

    assert machine.uses_of("sdz") == said


def test_a_mount_in_another_namespace_is_one(machine: Machine) -> None:
    machine.elsewhere(PART, "/srv")

    assert machine.uses_of("sdz") == ["sdz1 is mounted on /srv in a mount namespace of its own of process 77"]


@pytest.mark.parametrize("holder", ["dm-0", "md127", "bcache0"])
@pytest.mark.parametrize(("held", "name"), [("sdz", "sdz"), ("sdz/sdz1", "sdz1")])
def test_what_volumes_and_raid_are_made_of_is_held(holder: str, held: str, name: str, machine: Machine) -> None:
    machine.directory(f"/sys/devices/pci0/block/{held}/holders/{holder}")

    assert machine.uses_of("sdz") == [f"{name} is held by {holder}"]


def test_a_part_of_a_btrfs_of_several_is_mounted_although_no_mount_names_it(machine: Machine) -> None:
    machine.directory("/sys/fs/btrfs/6e2f/devices/sdy")
    machine.directory("/sys/fs/btrfs/6e2f/devices/sdz1")

    assert machine.uses_of("sdz") == ["sdz1 is part of a mounted btrfs"]


# -- what lies beside, below and above ------------------------------------------------------------------------------------


def test_a_partition_is_used_by_who_uses_its_disk_and_not_by_its_neighbours(machine: Machine) -> None:
    machine.mounted(SECOND, "/srv")
    assert machine.uses_of("sdz1") == []

    machine.mounted(DISK, "/srv")
    assert machine.uses_of("sdz1") == ["sdz (the disk of sdz1) is mounted on /srv"]


def test_what_is_behind_a_loop_device_is_used_and_so_is_the_loop_device(machine: Machine) -> None:
    machine.loop("loop0", behind=PART)
    assert machine.uses_of("sdz") == ["sdz1 is behind loop0"]
    assert machine.uses_of("sdz2") == []
    assert machine.uses_of("loop0") == []

    machine.mounted(PART, "/srv")
    assert machine.uses_of("loop0") == ["sdz1 (behind loop0) is mounted on /srv"]
    machine.mounted(DISK, "/srv")
    assert machine.uses_of("loop0") == ["sdz (the disk of sdz1) is mounted on /srv"]


def test_a_loop_device_over_a_loop_device_of_a_file_that_another_has_mounted_is_used(machine: Machine) -> None:
    machine.loop("loop0", FILE)
    machine.loop("loop1", behind=LOOPS["loop0"])
    machine.loop("loop2", FILE)
    machine.mounted(LOOPS["loop2"], "/srv")

    assert machine.uses_of("loop1") == ["loop2 (of the same file as loop0) is mounted on /srv"]


def test_two_loop_devices_over_one_disk_are_used(machine: Machine) -> None:
    machine.loop("loop0", behind=DISK)
    machine.loop("loop1", behind=PART)

    assert machine.uses_of("loop0") == ["sdz1 (behind loop0) is behind loop1"]
    assert machine.uses_of("loop1") == ["sdz (the disk of sdz1) is behind loop0"]


@pytest.mark.parametrize(
    ("file", "offset", "is_same"),
    [(FILE, 0, True), (FILE, HALF, True), (FILE, 2 * HALF, False), (OTHER_FILE, 0, False)],
)
def test_loop_devices_of_one_file_are_one_as_far_as_they_overlap(
    file: tuple[int, int], offset: int, is_same: bool, machine: Machine
) -> None:
    machine.loop("loop0", FILE)
    machine.loop("loop1", file, offset=offset)
    machine.mounted(LOOPS["loop1"], "/srv")

    assert machine.uses_of("loop0") == (["loop1 (of the same file as loop0) is mounted on /srv"] if is_same else [])


def test_what_a_mapping_lies_on_is_used_by_others_than_the_mapping(machine: Machine) -> None:
    machine.mapping("dm-0", "253:0", "sdz1")
    assert machine.uses_of("dm-0") == []

    machine.mapping("dm-1", "253:1", "sdz1")
    assert machine.uses_of("dm-0") == ["sdz1 (below dm-0) is held by dm-1"]


def test_a_mapping_over_a_mapping_over_a_mounted_disk_is_used(machine: Machine) -> None:
    machine.mapping("dm-0", "253:0", "sdz")
    machine.mapping("dm-1", "253:1", "dm-0")
    assert machine.uses_of("dm-1") == []

    machine.mounted(SECOND, "/srv")
    assert machine.uses_of("dm-1") == ["sdz2 (below dm-0) is mounted on /srv"]


@pytest.mark.parametrize(("group", "is_used"), [("a" * 32, False), ("b" * 32, True)])
def test_logical_volumes_of_one_group_share_no_bytes(group: str, is_used: bool, machine: Machine) -> None:
    machine.mapping("dm-0", "253:0", "sdz1", uuid=f"LVM-{'a' * 32}{'x' * 32}")
    machine.mapping("dm-1", "253:1", "sdz1", uuid=f"LVM-{group}{'y' * 32}")
    machine.mounted("253:1", "/srv")

    assert bool(machine.uses_of("dm-0")) == is_used


def test_another_path_to_the_same_disk_is_the_same_disk(machine: Machine) -> None:
    for name in ("sdz", "sdy"):
        machine.file(f"/sys/devices/pci0/block/{name}/device/wwid", "naa.5000c500a0b1c2d3")
    machine.mounted(OTHER, "/srv")

    assert machine.uses_of("sdz") == ["sdy (by its serial number the same disk as sdz) is mounted on /srv"]
    assert machine.uses_of("sdz1") == ["sdy (by its serial number the same disk as sdz) is mounted on /srv"]


# -- which device it is ---------------------------------------------------------------------------------------------------

PLAIN = DeviceIdentity(size_bytes=1 << 30, serial="", number=DISK, diskseq=7, boot_id="one")
NAMED = msgspec.structs.replace(PLAIN, serial="naa.5")


def test_a_device_that_is_not_there_is_found_by_no_identity() -> None:
    assert node_of(DeviceIdentity(size_bytes=12345 * 512, serial="", number=DISK)) is None
    assert node_of(DeviceIdentity(size_bytes=12345 * 512, serial="no-such-serial#", number=DISK)) is None


@pytest.mark.parametrize(
    ("before", "changes", "is_same"),
    [
        (PLAIN, {}, True),
        (PLAIN, {"diskseq": 8}, False),
        (PLAIN, {"diskseq": 8, "boot_id": "two"}, True),
        (PLAIN, {"number": OTHER}, False),
        (PLAIN, {"serial": "naa.5"}, False),
        (PLAIN, {"size_bytes": 1 << 29}, False),
        (PLAIN, {"start_bytes": 512}, False),
        (NAMED, {"number": OTHER, "diskseq": 9, "boot_id": "two"}, True),
        (NAMED, {"serial": "naa.6"}, False),
        (NAMED, {"size_bytes": 1 << 29}, False),
    ],
)
def test_a_medium_is_known_again_and_no_other_is_taken_for_it(
    before: DeviceIdentity, changes: dict[str, object], is_same: bool
) -> None:
    assert msgspec.structs.replace(before, **changes).is_medium_of(before) == is_same
