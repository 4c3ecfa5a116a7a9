"""Where does a load go, and what of it is possible on a block device?"""

import contextlib
from pathlib import Path

import pytest

from assay import plan
from assay.devices import device_identity
from assay.devices.device_identity import BlockNode, DeviceIdentity
from assay.errors import InputError, PlanError
from assay.loads import quick
from assay.loads.simple_load import of_device
from assay.loads.sizing import LARGEST_BYTES, device_sizing
from assay.places import DevicePlace, check_place, of_place
from assay.running.destroying import NOTHING, destroyable
from assay.running.plan_summary import plan_summary
from assay.targets import device_of, directories, directory_of, places, remote_directories
from assay.units import MIB
from unit.host_trees import FakeMachine

DISK = DevicePlace(path=Path("/dev/disk/by-id/a b%c"), size_bytes=1 << 40)
MINE = DevicePlace(path=Path("/dev/disk/by-id/a b%c"), size_bytes=1 << 40, destroy_data=True)


def test_the_address_of_a_device_leads_back_to_it() -> None:
    target = of_place("t", DISK)

    assert target.uri == "block:/dev/disk/by-id/a%20b%25c"
    assert (device_of(target), directory_of(target), target.destroy_data) == (DISK.path, None, False)
    for broken in ("block:sda", "block:/dev/%2", "block:/dev/%00"):
        with pytest.raises(PlanError):
            device_of(plan.Target(name="t", uri=broken))


def test_devices_are_places_and_no_directories() -> None:
    made = quick.default_plan(DISK)

    assert directories(made) == {}
    assert places(made) == {"target": DISK.path}


@pytest.mark.parametrize("name", ["block:dev/sda", "block:", "block:/", "block:/etc/passwd", "block:/dev/null"])
def test_what_is_no_block_device_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        check_place(name)


def test_devices_of_other_machines_are_taken_by_their_names() -> None:
    with remote_directories():
        assert check_place("block:/dev/there") == DevicePlace(path=Path("/dev/there"))
        with pytest.raises(InputError):
            check_place("block:/dev/../etc")


# -- the quick load -------------------------------------------------------------------------------------------------------


def test_quick_leaves_out_what_would_write_and_what_needs_files() -> None:
    read, written = quick.default_plan(DISK), quick.default_plan(MINE)

    assert [phase.name for phase in read.phases] == ["stream-read", "random-read-1", "random-read-32"]
    assert [phase.name for phase in written.phases] == [
        "stream-write",
        "stream-read",
        "random-read-1",
        "random-read-32",
        "sync-write",
    ]
    for made, reuse in ((read, plan.Reuse.TRUST), (written, plan.Reuse.NEVER)):
        (data,) = made.file_sets
        assert (data.name, data.files, data.reuse) == ("data", 1, reuse)
        # What the first phase of a directory does before it starts is done here as well.
        before = made.phases[0].before
        assert [type(step) for step in before] == [plan.Prepare, plan.Ceilings, plan.Evict]


def test_repeats_of_the_quick_load_have_the_same_phases() -> None:
    sizing = device_sizing(
        device="/dev/x",
        device_bytes=1 << 40,
        cpus=2,
        total_seconds=60,
        asked=None,
        phases=3,
        is_written=False,
        repeats=2,
    )

    made = quick.plan(DISK, sizing, repeat=2)

    assert [phase.repeat for phase in made.phases] == [0, 0, 0, 1, 1, 1]
    assert {type(step) for phase in made.phases for step in phase.before} == {plan.Prepare, plan.Ceilings, plan.Evict}


@pytest.mark.parametrize(
    ("device_bytes", "asked", "is_written", "size_bytes"),
    [
        (1 << 40, None, False, 1 << 40),
        ((1 << 40) + 512, None, False, 1 << 40),
        (1 << 40, None, True, LARGEST_BYTES),
        (64 * MIB, None, True, 64 * MIB),
        (1 << 40, 10 * MIB + 1, False, 10 * MIB),
    ],
)
def test_reads_go_over_all_of_a_device_and_writes_over_what_is_quickly_laid_out(
    device_bytes: int, asked: int | None, is_written: bool, size_bytes: int
) -> None:
    found = device_sizing(
        device="/dev/x",
        device_bytes=device_bytes,
        cpus=8,
        total_seconds=30,
        asked=asked,
        phases=3,
        is_written=is_written,
    )

    assert (found.size_bytes, found.phase_seconds) == (size_bytes, 10.0)
    assert ("--destroy-data /dev/x" in found.reason) is not is_written


@pytest.mark.parametrize(("asked", "seconds"), [(MIB - 1, 30), (65 * MIB, 30), (None, 2.9)])
def test_a_size_or_a_time_that_cannot_be_is_refused(asked: int | None, seconds: float) -> None:
    with pytest.raises(InputError):
        device_sizing(
            device="/dev/x",
            device_bytes=64 * MIB,
            cpus=1,
            total_seconds=seconds,
            asked=asked,
            phases=3,
            is_written=False,
        )


# -- other loads ----------------------------------------------------------------------------------------------------------


def test_a_load_on_a_device_is_one_file_of_all_of_it() -> None:
    assert of_device(DISK, size=None, files=None, verify=False) == (str(1 << 40), "1")
    assert of_device(DISK, size="1g", files="1", verify=False) == ("1g", "1")
    for wrong in ({"files": "2"}, {"verify": True}, {"size": "2t"}):
        with pytest.raises(InputError):
            of_device(DISK, **({"size": None, "files": None, "verify": False} | wrong))
    with pytest.raises(InputError, match="give --size"):
        of_device(DevicePlace(path=Path("/dev/x")), size=None, files=None, verify=False)


def test_who_is_asked_reads_what_is_destroyed() -> None:
    def words(place: DevicePlace) -> str:
        return "\n".join(plan_summary(quick.default_plan(place)))

    assert "reads block:/dev/disk" in words(DISK)
    assert "destroys what is on block:/dev/disk" in words(MINE)


# -- zoned devices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sdz", "sdz1"])
@pytest.mark.parametrize(("zoned", "is_refused"), [("host-managed", True), ("host-aware", True), ("none", False)])
def test_zoned_devices_are_refused_whatever_way_they_are_named(
    name: str, zoned: str, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = FakeMachine(tmp_path)
    machine.disk("sdz", "199:0", queue__zoned=zoned)
    machine.partition("sdz", "sdz1", "199:1")
    number = {"sdz": "199:0", "sdz1": "199:1"}[name]
    identity = DeviceIdentity(size_bytes=1 << 30, serial="", number=number)
    found = BlockNode(path=f"/dev/{name}", name=name, identity=identity)
    monkeypatch.setattr(device_identity, "block_node", lambda *_, **__: found)
    monkeypatch.setattr(device_identity, "SystemTree", lambda: machine.tree)

    def prepared() -> None:
        # What every run goes through: of load files, and of earlier runs.
        with destroyable(quick.default_plan(DISK), NOTHING) as permitted:
            assert [target.device for target in permitted.targets] == [number]

    for named in (lambda: check_place(f"block:/dev/{name}"), prepared):
        with pytest.raises(InputError, match=f"zoned device .{zoned}.") if is_refused else contextlib.nullcontext():
            named()
