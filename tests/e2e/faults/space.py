"""No room: of the file system, of a quota."""

import contextlib
import os
from pathlib import Path

from e2e.faults.fault import Fault, Moment, Scene
from e2e.faults.load import MANY_FILES, PAUSE_BETWEEN, SHORT
from e2e.faults.storage import data_in_memory, data_on, runs_in_memory
from testbed.host import command

CREATING = {
    "job": """loop = [
  { op = "create", set = "new", pick = "new", slot = 0 },
  { op = "write", slot = 0, access = "whole", size = "64KiB" },
  { op = "close", slot = 0 },
]""",
    "set": 'size = "4MiB"\n[[file_set]]\nname = "new"\nfiles = 100000\nsize = "64KiB"\nexisting_share = 0.0',
}
"""Files are made until the fault ends it."""
KIB = 1 << 10


def fill(scene: Scene, folder: Path) -> None:
    """Take all room that there is, as somebody else would; given back when the fault is taken away."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        space = os.statvfs(folder)
        with contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - 64 * KIB)
        os.lseek(file.fileno(), 0, os.SEEK_END)
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(4 * KIB))
    scene.mending.callback(ballast.unlink)


def fill_data(scene: Scene) -> None:
    """Fill the file system of the data."""
    fill(scene, scene.place.directory)


def fill_runs(scene: Scene) -> None:
    """Fill the file system of the runs."""
    fill(scene, scene.place.runs.parent)


def limit_quota(scene: Scene) -> None:
    """Let the data take a little more than it does, and no more."""
    command("btrfs", "quota", "enable", scene.place.directory)
    command("btrfs", "quota", "rescan", "-w", scene.place.directory)
    command("btrfs", "filesystem", "sync", scene.place.directory)
    command("btrfs", "qgroup", "limit", "16M", scene.place.directory)
    scene.mending.callback(lift_quota, scene)


def lift_quota(scene: Scene) -> None:
    """Take the limit away, with all that is counted: changing it would need some of the quota that is used up."""
    command("btrfs", "quota", "disable", scene.place.directory)


def nothing(_scene: Scene) -> None:
    """The load does it itself."""


FAULTS = (
    Fault(
        name="somebody fills the data's file system",
        moment=Moment.LAYING_OUT,
        provoke=fill_data,
        storage=data_in_memory(128),
        load=MANY_FILES,
    ),
    Fault(
        name="somebody fills the data's file system",
        moment=Moment.BETWEEN,
        is_rare=True,
        provoke=fill_data,
        storage=data_in_memory(128),
        load=CREATING | {"between": PAUSE_BETWEEN["between"]},
    ),
    Fault(
        name="the data's quota is used up",
        moment=Moment.LAYING_OUT,
        is_rare=True,
        provoke=limit_quota,
        storage=data_on("btrfs", 200),
        load=MANY_FILES,
    ),
    Fault(
        name="the data's quota is used up",
        moment=Moment.IN_PHASE,
        provoke=limit_quota,
        storage=data_on("btrfs", 200),
        load=CREATING,
    ),
    Fault(
        name="the load fills the data's file system",
        moment=Moment.IN_PHASE,
        provoke=nothing,
        storage=data_on("ext4", 64),
        load=CREATING,
    ),
    Fault(
        name="somebody fills the runs' file system",
        moment=Moment.IN_PHASE,
        provoke=fill_runs,
        storage=runs_in_memory(8),
    ),
    Fault(
        name="somebody fills the runs' file system",
        moment=Moment.SEALING,
        provoke=fill_runs,
        storage=runs_in_memory(8),
        load=SHORT,
    ),
    Fault(
        name="somebody fills the runs' file system",
        moment=Moment.REPORTING,
        provoke=fill_runs,
        storage=runs_in_memory(8),
        load=SHORT,
    ),
)
