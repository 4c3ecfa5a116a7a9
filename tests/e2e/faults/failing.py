"""Devices and file systems that fail, hang, freeze and lie."""

import errno
import os
import subprocess
import time
from pathlib import Path

import pytest

from e2e.faults.fault import Fault, Moment, Scene
from e2e.faults.load import MANY_FILES, PAUSE_BETWEEN, SHORT
from e2e.faults.space import nothing
from e2e.faults.storage import data_on, data_on_truth_disk, runs_on_ext4
from testbed.devices import MIB
from testbed.host import command, find_tool, need_tools, wait_until
from testbed.truth import Extent, extents_of

DIRECT = {"job": 'direct = "on"\nop = { op = "read", set = "data", access = "random", size = "4KiB" }'}
WRITING = {"job": 'op = { op = "write", set = "data", access = "sequential", size = "4KiB" }'}
DURABLE = {
    "job": """[[phase.job.loop]]
group = "commit"
actions = [
  { op = "write", set = "data", access = "random", size = "4KiB" },
  { op = "fdatasync", set = "data" },
]""",
    "seconds": "0.5s",
}
GIVEN_UP = "its file system took no more changes; once it was repaired, `assay clean` works"
HUNG_S = 2.0


def data_file(scene: Scene) -> Path:
    """The one large file of the data."""
    return max((scene.place.directory / "assay-data" / "data").iterdir(), key=lambda path: path.stat().st_size)


def fail_reads(scene: Scene) -> None:
    """From now on the device cannot read the data."""
    assert scene.place.disk
    scene.place.disk.fail(extents_of(data_file(scene)))
    scene.mending.callback((scene.place.disk.folder / "faults").unlink)


def fail_all(scene: Scene) -> None:
    """From now on the device answers nothing but errors."""
    assert scene.place.disk
    scene.mending.callback(_repair_data, scene)
    scene.place.disk.fail([Extent(0, 1 << 40)])
    # The journal meets it now, and not at some time: from then on the file system is read-only.
    subprocess.run(["sync", "-f", scene.place.directory], capture_output=True, check=False)
    scene.mending.callback((scene.place.disk.folder / "faults").unlink)


def _repair(device: Path, mount_point: Path) -> None:
    """Repair a file system, as an administrator would."""
    command("umount", mount_point)
    wait_until(lambda: _is_free(device), f"no other mount namespace has {device} mounted")
    done = subprocess.run([find_tool("e2fsck") or "e2fsck", "-fy", device], capture_output=True, check=False)
    # 1: errors were found, and repaired.
    assert done.returncode in {0, 1}, done.stdout
    command("mount", device, mount_point)


def _is_free(device: Path) -> bool:
    try:
        os.close(os.open(device, os.O_RDWR | os.O_EXCL))
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def _repair_data(scene: Scene) -> None:
    _repair(_device(scene), scene.place.directory)


def _device(scene: Scene) -> Path:
    assert scene.place.device
    return scene.place.device


def _trigger_error(device: Path) -> None:
    """Let the kernel find an error in an ext4: it is mounted read-only from then on (errors=remount-ro)."""
    trigger = Path(f"/sys/fs/ext4/{device.name}/trigger_fs_error")
    if not trigger.exists():
        pytest.skip(f"needs {trigger}")
    trigger.write_text("test")


def stop_writing(scene: Scene) -> None:
    """The kernel finds an error in the file system, and mounts it read-only."""
    scene.mending.callback(_repair_data, scene)
    _trigger_error(_device(scene))


def stop_writing_runs(scene: Scene) -> None:
    """The same, where the runs are."""
    # What the kernel has not written by then is lost, more or less of it from time to time.
    command("sync", "-f", scene.place.runs)
    scene.mending.callback(_repair, _device(scene), scene.place.runs.parent)
    _trigger_error(_device(scene))


def shut_down(scene: Scene) -> None:
    """The file system is shut down: nothing can be read or written any more."""
    need_tools("xfs_io")
    scene.mending.callback(_repair_data, scene)
    command("xfs_io", "-x", "-c", "shutdown", scene.place.directory)


def stall(scene: Scene) -> None:
    """The next request takes its time."""
    assert scene.place.disk
    scene.place.disk.stall()


def freeze(scene: Scene) -> None:
    """Nothing can be written any more, and waits."""
    _freeze(scene, scene.place.directory)


def freeze_runs(scene: Scene) -> None:
    """The same, where the runs are."""
    _freeze(scene, scene.place.runs.parent)


def _freeze(scene: Scene, mount_point: Path) -> None:
    need_tools("fsfreeze")
    command("fsfreeze", "--freeze", mount_point)
    scene.mending.callback(command, "fsfreeze", "--unfreeze", mount_point)


def answer_after_a_while(scene: Scene) -> None:
    """The storage answers again."""
    time.sleep(HUNG_S)
    scene.mend()


def stop_then_answer(scene: Scene) -> None:
    """The user stops it, hears why it does not end, and the storage answers."""
    scene.run.stop()
    scene.run.wait_for("for storage that does not answer (state D)")
    scene.mend()


def answer_when_said(scene: Scene) -> None:
    """Nobody stops it; it says that it waits."""
    scene.run.wait_for("for storage that does not answer (state D)")
    scene.mend()


def stop_twice(scene: Scene) -> None:
    """The user stops it, hears why it does not end, and stops it again."""
    scene.run.stop()
    scene.run.wait_for("for storage that does not answer (state D)")
    scene.run.stop()
    scene.is_stopped_twice = True


def shrink(scene: Scene) -> None:
    """The device ends in the midst of the data."""
    backing = scene.place.backing
    assert backing
    size_bytes = backing.stat().st_size
    first = min(extents_of(data_file(scene)))

    def become(new_bytes: int) -> None:
        os.truncate(backing, new_bytes)
        command("losetup", "--set-capacity", _device(scene))

    scene.mending.callback(_repair_data, scene)
    scene.mending.callback(become, size_bytes)
    become(first.begin_bytes + 1 * MIB)


FAULTS = (
    Fault(
        name="the data cannot be read any more (EIO)",
        moment=Moment.IN_PHASE,
        provoke=fail_reads,
        storage=data_on_truth_disk(fault_share=1.0),
        load=DIRECT,
    ),
    Fault(
        name="the data cannot be read any more (EIO)",
        moment=Moment.BETWEEN,
        is_rare=True,
        provoke=fail_reads,
        storage=data_on_truth_disk(fault_share=1.0),
        load=DIRECT | {"between": PAUSE_BETWEEN["between"]},
    ),
    Fault(
        name="the device answers every request with an error (EIO)",
        moment=Moment.LAYING_OUT,
        provoke=fail_all,
        storage=data_on_truth_disk(fault_share=1.0),
        load=MANY_FILES,
        lost=GIVEN_UP,
    ),
    Fault(
        name="the data's file system goes read-only (EROFS)",
        moment=Moment.LAYING_OUT,
        is_rare=True,
        provoke=stop_writing,
        storage=data_on("ext4", 128),
        load=MANY_FILES,
        lost=GIVEN_UP,
    ),
    Fault(
        name="the data's file system goes read-only (EROFS)",
        moment=Moment.BETWEEN,
        is_rare=True,
        provoke=stop_writing,
        storage=data_on("ext4", 64),
        load=WRITING | PAUSE_BETWEEN,
        lost=GIVEN_UP,
    ),
    Fault(
        name="the data's file system goes read-only (EROFS)",
        moment=Moment.IN_PHASE,
        provoke=stop_writing,
        storage=data_on("ext4", 64),
        load=WRITING,
        lost=GIVEN_UP,
    ),
    Fault(
        name="the data's file system is shut down (EIO)",
        moment=Moment.IN_PHASE,
        provoke=shut_down,
        storage=data_on("ext4", 64),
        load=DIRECT,
        lost=GIVEN_UP,
    ),
    Fault(
        name="the runs' file system goes read-only (EROFS)",
        moment=Moment.IN_PHASE,
        is_rare=True,
        provoke=stop_writing_runs,
        storage=runs_on_ext4,
    ),
    Fault(
        name="the runs' file system goes read-only (EROFS)",
        moment=Moment.SEALING,
        provoke=stop_writing_runs,
        storage=runs_on_ext4,
        load=SHORT,
    ),
    Fault(
        name="the device hangs for some seconds",
        moment=Moment.IN_PHASE,
        is_rare=True,
        provoke=stall,
        storage=data_on_truth_disk(stall_s=3),
        load=DIRECT | {"seconds": "4s"},
        unharmed="the stall is the storage's own, and in the numbers",
    ),
    Fault(
        name="the data's file system is frozen, and thaws when that was said",
        moment=Moment.START,
        is_rare=True,
        provoke=freeze,
        follow=answer_when_said,
        storage=data_on("ext4", 64),
        load=SHORT,
        unharmed="no phase was on",
    ),
    Fault(
        name="the runs' file system is frozen, and thaws when that was said",
        moment=Moment.START,
        is_rare=True,
        provoke=freeze_runs,
        follow=answer_when_said,
        storage=runs_on_ext4,
        load=SHORT,
        unharmed="no phase was on",
    ),
    Fault(
        name="the data's file system freezes for some seconds",
        moment=Moment.LAYING_OUT,
        is_rare=True,
        provoke=freeze,
        follow=answer_after_a_while,
        storage=data_on("ext4", 128),
        load=MANY_FILES,
        unharmed="no phase was on",
    ),
    Fault(
        name="the data's file system freezes for some seconds",
        moment=Moment.IN_PHASE,
        provoke=freeze,
        follow=answer_after_a_while,
        storage=data_on("ext4", 64),
        load=WRITING | {"seconds": "3s"},
        unharmed="the stall is the storage's own, and in the numbers",
    ),
    Fault(
        name="the data's file system freezes, Ctrl-C, it thaws",
        moment=Moment.LAYING_OUT,
        is_rare=True,
        provoke=freeze,
        follow=stop_then_answer,
        storage=data_on("ext4", 128),
        load=MANY_FILES,
    ),
    Fault(
        name="the data's file system freezes for ever, Ctrl-C, Ctrl-C",
        moment=Moment.IN_PHASE,
        provoke=freeze,
        follow=stop_twice,
        storage=data_on("ext4", 64),
        load=WRITING,
        lost="the engine cannot end while the kernel holds it",
    ),
    Fault(
        name="the runs' file system freezes, and thaws when that was said",
        moment=Moment.IN_PHASE,
        is_rare=True,
        provoke=freeze_runs,
        follow=answer_when_said,
        storage=runs_on_ext4,
        load={"seconds": "2s"},
        unharmed="nothing that is measured lies there",
    ),
    Fault(
        name="the runs' file system freezes, and thaws when that was said",
        moment=Moment.SEALING,
        provoke=freeze_runs,
        follow=answer_when_said,
        storage=runs_on_ext4,
        load=SHORT,
        unharmed="nothing that is measured lies there",
    ),
    Fault(
        name="the device says that data is durable when it is not",
        moment=Moment.IN_PHASE,
        provoke=nothing,
        storage=data_on_truth_disk(),
        load=DURABLE,
        unharmed="nobody but a power cut can tell",
    ),
    Fault(
        name="the device shrinks to less than the data",
        moment=Moment.IN_PHASE,
        provoke=shrink,
        storage=data_on("ext4", 64),
        load=DIRECT | {"seconds": "1s"},
        lost=GIVEN_UP,
    ),
)
