"""Somebody takes away what names lead to: mounts, folders, files."""

import os
import shutil

from e2e.faults.failing import data_file
from e2e.faults.fault import Fault, Moment, Scene
from e2e.faults.load import MANY_FILES, PAUSE_BETWEEN, SHORT
from e2e.faults.storage import data_on_bind_mount, plain, runs_on_bind_mount
from testbed.host import command

MAPPED = {
    "job": 'backend = "mmap"\nop = { op = "read", set = "data", access = "random", size = "4KiB" }',
}
VERIFIED = {
    "set": 'size = "4MiB"\ncontent = { stamped = true }',
    "job": 'op = { op = "read", set = "data", access = "random", size = "4KiB" }',
    "seconds": "2s",
}


def detach_data(scene: Scene) -> None:
    """Unmount it, in use as it is."""
    command("umount", "--lazy", scene.place.directory)


def detach_runs(scene: Scene) -> None:
    """The same of the runs."""
    command("umount", "--lazy", scene.place.runs)


def replace_directory(scene: Scene) -> None:
    """Move the directory away and put another one in its place."""
    directory = scene.place.directory
    moved = directory.rename(directory.with_name("moved"))
    directory.mkdir()
    (directory / "assay-data").mkdir()
    (directory / "assay-data" / "data").mkdir()
    (directory / "assay-data" / "data" / "thesis").write_text("not Assay's")
    scene.place.data_seen = moved

    def look() -> None:
        assert (directory / "assay-data" / "data" / "thesis").read_text() == "not Assay's"

    scene.mending.callback(look)


def remove_data(scene: Scene) -> None:
    """Remove them, as `rm -rf` does."""
    shutil.rmtree(scene.place.directory / "assay-data")


def remove_runs(scene: Scene) -> None:
    """Remove them, as `rm -rf` does."""
    shutil.rmtree(scene.place.runs)


def replace_runs(scene: Scene) -> None:
    """Move the folder of the runs away and put an empty one in its place."""
    scene.place.runs_seen = scene.place.runs.rename(scene.place.runs.with_name("moved-runs"))
    scene.place.runs.mkdir()


def truncate_file(scene: Scene) -> None:
    """Cut the file."""
    os.truncate(data_file(scene), 4096)


def remove_file(scene: Scene) -> None:
    """Remove the file."""
    data_file(scene).unlink()


def damage_file(scene: Scene) -> None:
    """Write over a part of the file."""
    with data_file(scene).open("r+b") as file:
        file.seek(1 << 20)
        file.write(os.urandom(1 << 20))


MOVED = "the engine holds the folder open"
FAULTS = (
    Fault(
        name="the data's file system is unmounted (lazily)",
        moment=Moment.IN_PHASE,
        provoke=detach_data,
        storage=data_on_bind_mount,
        load={"seconds": "1s"},
        unharmed=MOVED,
    ),
    Fault(
        name="the data's file system is unmounted (lazily)",
        moment=Moment.BETWEEN,
        is_rare=True,
        provoke=detach_data,
        storage=data_on_bind_mount,
        load=PAUSE_BETWEEN,
        unharmed=MOVED,
    ),
    Fault(
        name="the runs' file system is unmounted (lazily)",
        moment=Moment.IN_PHASE,
        provoke=detach_runs,
        storage=runs_on_bind_mount,
    ),
    Fault(
        name="the runs' file system is unmounted (lazily)",
        moment=Moment.SEALING,
        provoke=detach_runs,
        storage=runs_on_bind_mount,
        load=SHORT,
    ),
    Fault(
        name="the directory is moved away and another put in its place",
        moment=Moment.IN_PHASE,
        provoke=replace_directory,
        storage=plain,
        load={"seconds": "1s"},
        unharmed=MOVED,
    ),
    Fault(
        name="the directory is moved away and another put in its place",
        moment=Moment.LAYING_OUT,
        is_rare=True,
        provoke=replace_directory,
        storage=plain,
        load=MANY_FILES,
        unharmed=MOVED,
    ),
    Fault(
        name="somebody removes the data",
        moment=Moment.LAYING_OUT,
        is_rare=True,
        provoke=remove_data,
        storage=plain,
        load=MANY_FILES,
    ),
    Fault(
        name="somebody removes the data",
        moment=Moment.BETWEEN,
        is_rare=True,
        provoke=remove_data,
        storage=plain,
        load=PAUSE_BETWEEN,
    ),
    Fault(
        name="somebody removes the data",
        moment=Moment.IN_PHASE,
        provoke=remove_data,
        storage=plain,
        load={"seconds": "1s"},
        unharmed="a file that is open stays until it is closed",
    ),
    Fault(
        name="somebody cuts a file of the set",
        moment=Moment.IN_PHASE,
        provoke=truncate_file,
        storage=plain,
        load={"seconds": "1s"},
    ),
    Fault(
        name="somebody cuts a file of the set that is mapped (SIGBUS)",
        moment=Moment.IN_PHASE,
        provoke=truncate_file,
        storage=plain,
        load=MAPPED,
    ),
    Fault(
        name="somebody cuts a file of the set",
        moment=Moment.BETWEEN,
        is_rare=True,
        provoke=truncate_file,
        storage=plain,
        load=PAUSE_BETWEEN,
    ),
    Fault(
        name="somebody writes over a file of the set, and it is verified",
        moment=Moment.IN_PHASE,
        provoke=damage_file,
        storage=plain,
        load=VERIFIED,
    ),
    Fault(
        name="somebody writes over a file of the set, and it is not verified",
        moment=Moment.IN_PHASE,
        is_rare=True,
        provoke=damage_file,
        storage=plain,
        load={"seconds": "0.7s"},
        unharmed="what it held was not looked at",
    ),
    Fault(
        name="somebody removes the runs",
        moment=Moment.IN_PHASE,
        provoke=remove_runs,
        storage=plain,
        lost="somebody removed it",
    ),
    Fault(
        name="somebody removes the runs",
        moment=Moment.SEALING,
        is_rare=True,
        provoke=remove_runs,
        storage=plain,
        load=SHORT,
        lost="somebody removed it",
    ),
    Fault(
        name="somebody removes the runs",
        moment=Moment.REPORTING,
        provoke=remove_runs,
        storage=plain,
        load=SHORT,
        lost="somebody removed it",
    ),
    Fault(
        name="the folder of the runs is moved away and another put in its place",
        moment=Moment.IN_PHASE,
        provoke=replace_runs,
        storage=plain,
    ),
)
