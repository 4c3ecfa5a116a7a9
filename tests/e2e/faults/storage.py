"""Where data and runs lie in the rows of the matrix."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from e2e.faults.fault import Place, Storage
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.host import command
from testbed.leaks import made, mounts_of_machine, unmount
from testbed.truth import truth_disk

OPTIONS = {"ext4": "noatime,errors=remount-ro", "btrfs": "noatime"}


def _place(directory: Path, runs: Path) -> Place:
    return Place(directory=directory, runs=runs, data_seen=directory, runs_seen=runs)


@contextmanager
def plain(folder: Path) -> Iterator[Place]:
    """Folders."""
    directory = folder / "measured"
    directory.mkdir()
    yield _place(directory, folder / "runs")


def data_in_memory(size_mib: int) -> Storage:
    """The data on a tmpfs."""

    @contextmanager
    def storage(folder: Path) -> Iterator[Place]:
        with tmpfs(size_mib * MIB) as memory:
            yield _place(memory, folder / "runs")

    return storage


def runs_in_memory(size_mib: int) -> Storage:
    """The runs on a tmpfs."""

    @contextmanager
    def storage(folder: Path) -> Iterator[Place]:
        directory = folder / "measured"
        directory.mkdir()
        with tmpfs(size_mib * MIB) as memory:
            (memory / "runs").mkdir()
            yield _place(directory, memory / "runs")

    return storage


def data_on(kind: Literal["ext4", "btrfs"], size_mib: int) -> Storage:
    """The data on a file system of its own, on a loop device in memory."""

    @contextmanager
    def storage(folder: Path) -> Iterator[Place]:
        with (
            tmpfs((size_mib + 16) * MIB) as memory,
            loop_device(size_mib * MIB, backing=memory) as device,
            filesystem(device, kind, mount_options=OPTIONS[kind]) as mount_point,
        ):
            (backing,) = memory.iterdir()
            place = _place(mount_point, folder / "runs")
            place.device, place.backing = device, backing
            yield place

    return storage


@contextmanager
def runs_on_ext4(folder: Path) -> Iterator[Place]:
    """The runs on a file system of its own, on a loop device in memory."""
    directory = folder / "measured"
    directory.mkdir()
    with (
        tmpfs(80 * MIB) as memory,
        loop_device(64 * MIB, backing=memory) as device,
        filesystem(device, mount_options=OPTIONS["ext4"]) as mount_point,
    ):
        place = _place(directory, mount_point / "runs")
        place.device = device
        yield place


def data_on_truth_disk(*, stall_s: float = 0, fault_share: float = 0) -> Storage:
    """The data on a device that fails when it is told to."""

    @contextmanager
    def storage(folder: Path) -> Iterator[Place]:
        with (
            truth_disk(128 * MIB, stall_s=stall_s, fault_share=fault_share) as disk,
            filesystem(disk.device, mkfs_options=("-b", "4096")) as mount_point,
        ):
            place = _place(mount_point, folder / "runs")
            place.disk, place.device = disk, disk.device
            yield place

    return storage


@contextmanager
def _bound(memory: Path, mount_point: Path) -> Iterator[None]:
    mount_point.mkdir()
    command("mount", "--bind", memory, mount_point)
    made.mounts.add(mount_point)
    try:
        yield
    finally:
        if mount_point in mounts_of_machine():
            unmount(mount_point)


@contextmanager
def data_on_bind_mount(folder: Path) -> Iterator[Place]:
    """The data on a second mount of a tmpfs: what is left in it can be seen by the first."""
    with tmpfs(80 * MIB) as memory, _bound(memory, folder / "measured"):
        place = _place(folder / "measured", folder / "runs")
        place.data_seen = memory
        yield place


@contextmanager
def runs_on_bind_mount(folder: Path) -> Iterator[Place]:
    """The runs on a second mount of a tmpfs."""
    directory = folder / "measured"
    directory.mkdir()
    with tmpfs(80 * MIB) as memory, _bound(memory, folder / "runs"):
        place = _place(directory, folder / "runs")
        place.runs_seen = memory
        yield place
