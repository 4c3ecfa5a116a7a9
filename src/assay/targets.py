"""Locate a target and Assay's folder in it, and check for room.

A target's address is a URI: `file:///absolute/directory`, percent-encoded UTF-8 (RFC 8089), or `block:/dev/name`, encoded
likewise; decoded here as in `engine/src/backend/uri.rs`.
"""

import contextlib
import contextvars
import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec

from assay.errors import InputError, PlanError, RunError
from assay.host.mounts import Mount, find, mount_id, mounts_of
from assay.host.reading import SystemTree
from assay.plan import Allocate, FileSet, Fixed, Plan, Prepare, Remove, Reuse, Target
from assay.plan.file_sets import BLOCK_SCHEME
from assay.units import format_bytes

DATA_FOLDER: Final = "assay-data"
"""Folder in a target's directory that holds all of Assay's file sets."""
CLIENT_FOLDERS: Final = "assay-clients"
"""Folder in a target's directory that has the folders in which clients of one run each have a data folder."""
MARK: Final = ".assay-set.json"
"""File by which the engine recognises a file set of its own."""
LOCK: Final = ".assay-lock"
"""File in the data folder that a run holds locked; it records whether Assay made the folder."""

_LARGEST_MARK_BYTES = 1 << 20

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_SCHEME = "file://"
BLOCK: Final = BLOCK_SCHEME
"""How the name of a block device begins, where a directory could be meant."""
_BROKEN_CODE = re.compile(r"%(?![0-9A-Fa-f]{2})")


# -- address -----------------------------------------------------------------------------------------------------------


def of_directory(name: str, directory: Path) -> Target:
    """Make the target of a directory."""
    return Target(name=name, uri=(directory if _are_remote.get() else directory.resolve()).as_uri())


def directory_of(target: Target) -> Path | None:
    """Give the directory of a target; None where its address names none.

    Raises:
        PlanError: the address means a directory, and no directory can have that name.
    """
    if not target.uri.startswith(_SCHEME):
        return None
    return _decoded(target.uri, target.uri.removeprefix(_SCHEME).removeprefix("localhost"))


def device_of(target: Target) -> Path | None:
    """Give the block device of a target; None where its address names none.

    Raises:
        PlanError: the address means a block device, and none can have that name.
    """
    return _decoded(target.uri, target.uri.removeprefix(BLOCK)) if target.uri.startswith(BLOCK) else None


def _decoded(uri: str, path: str) -> Path:
    if not path.startswith("/"):
        raise PlanError(f"target '{uri}' has no absolute path; write file:///absolute/directory or block:/dev/name")
    if _BROKEN_CODE.search(path):
        raise PlanError(f"target '{uri}' has a '%' that no two hex digits follow")
    decoded = unquote_to_bytes(path)
    if b"\0" in decoded:
        raise PlanError(f"target '{uri}' holds a NUL, which no path can")
    return Path(os.fsdecode(decoded))


def directories(plan: Plan) -> dict[str, Path]:
    """Directory of each target that has one, by the target's name; raises PlanError as `directory_of` does."""
    found = ((target.name, directory_of(target)) for target in plan.targets)
    return {name: directory for name, directory in found if directory is not None}


def places(plan: Plan) -> dict[str, Path]:
    """Directory or block device of each target that has one, by its name; raises PlanError as `directory_of` does."""
    devices = ((target.name, device_of(target)) for target in plan.targets)
    return directories(plan) | {name: device for name, device in devices if device is not None}


def set_folder(plan: Plan, file_set: FileSet) -> Path:
    """Folder that holds the files of a set; raises PlanError where its target is no directory."""
    found = directories(plan)
    if file_set.target not in found:
        raise PlanError(f"file set '{file_set.name}': target '{file_set.target}' is no directory")
    return found[file_set.target] / DATA_FOLDER / file_set.path


_are_remote = contextvars.ContextVar("remote_directories", default=False)


@contextlib.contextmanager
def remote_directories() -> Iterator[None]:
    """While this is entered, directories are those of other machines: they are taken by their names, and looked at there."""
    before = _are_remote.set(True)
    try:
        yield
    finally:
        _are_remote.reset(before)


_OF_THE_STORAGE = frozenset({errno.EIO, errno.ENOMEM, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EINTR})
"""Errors that are not about the directory."""
_NO_STORAGE = frozenset(
    {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "debugfs", "tracefs", "securityfs", "configfs", "pstore", "bpf"}
)
"""File systems of the kernel's own, in which users make no files."""
_DEVICES, _OF_DEVICES = Path("/dev"), "devtmpfs"
"""Where device nodes are; containers have a tmpfs there."""


def check_directory(directory: Path | str) -> Path:
    """Return the absolute directory without symbolic links; raises InputError if it is none, RunError if that is unknown."""
    if directory == "":
        raise InputError("the directory's name is empty; give a directory on the storage to measure, '.' for this one")
    if _are_remote.get():
        return named(Path(directory))
    try:
        resolved = Path(directory).resolve(strict=True)
        is_directory = resolved.is_dir()
        if is_directory:
            os.stat(f"{resolved}/.")  # noqa: PTH116 - a Path takes the dot away, and with it the question who may enter
    except FileNotFoundError:
        raise InputError(f"{directory} does not exist; give a directory on the storage to measure") from None
    except NotADirectoryError:
        raise InputError(f"{directory}: a part of this path is a file; give a directory on the storage") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
        if isinstance(error, OSError) and error.errno in _OF_THE_STORAGE:
            raise RunError(f"{directory} cannot be reached: {error.strerror}. Nothing was measured") from None
        reason = error.strerror if isinstance(error, OSError) else "its symbolic links lead in a circle"
        raise InputError(f"{directory} cannot be reached: {reason}; give a directory that you may enter") from None
    if not is_directory:
        raise InputError(f"{directory} is {_what_to_give(resolved)}")
    if not is_text(resolved):
        raise InputError(
            f"{os.fsencode(directory)!r}: this name is not UTF-8, and the record of a run is; rename the directory, or "
            "reach it by another name, such as a bind mount"
        )
    return _on_storage(resolved)


def _what_to_give(path: Path) -> str:
    if path.is_block_device():
        return f"a block device; to measure it without a file system write {BLOCK}{path}"
    return "not a directory; give the directory that holds it"


def _on_storage(directory: Path) -> Path:
    """Return a directory; raises InputError where its file system is one of the kernel's own."""
    mount = _mount_of(directory)
    if directory == _DEVICES or (mount and mount.fs_type == _OF_DEVICES):
        raise InputError(
            f"{directory} holds device nodes, and stores nothing; to measure a device without a file system write"
            f" {BLOCK}{_DEVICES}/NAME"
        )
    if mount and mount.fs_type in _NO_STORAGE:
        raise InputError(f"{directory} is on {mount.fs_type}, which stores nothing; give a directory on the storage")
    return directory


def _mount_of(directory: Path) -> Mount | None:
    tree = SystemTree()
    return find(mounts_of(tree), directory, mount_id(tree, directory))


def are_remote() -> bool:
    """Whether directories are those of other machines."""
    return _are_remote.get()


def named(directory: Path) -> Path:
    """Take a directory of other machines by its name; raises InputError."""
    if not directory.is_absolute() or ".." in directory.parts:
        raise InputError(
            f"{directory}: with several clients a directory is named from the root on and without '..', such as /mnt/scratch"
        )
    if not is_text(directory):
        raise InputError(f"{os.fsencode(directory)!r}: this name is not UTF-8, and the record of a run is")
    return directory


def is_text(path: Path) -> bool:
    """Whether a name can be written down as UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


# -- marks -------------------------------------------------------------------------------------------------------------


def read_mark(data_folder: Path, name: str) -> bytes:
    """Read the mark of the set that lies under a name in a data folder.

    Others may write there: no link is followed, nothing is waited for, and no more than a mark can hold is read.

    Raises:
        FileNotFoundError, NotADirectoryError: what lies there is no marked set.
        OSError: it cannot be read, or is no file of at most 1 MiB.
    """
    with contextlib.ExitStack() as opened:

        def kept(descriptor: int) -> int:
            opened.callback(os.close, descriptor)
            return descriptor

        outer = kept(os.open(data_folder, _READ | os.O_DIRECTORY))
        folder = kept(os.open(name, _READ | os.O_DIRECTORY, dir_fd=outer))
        mark = kept(os.open(MARK, _READ | os.O_NONBLOCK, dir_fd=folder))
        facts = os.fstat(mark)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST_MARK_BYTES:
            raise OSError(errno.EINVAL, f"it is no file of at most {_LARGEST_MARK_BYTES} bytes")
        return os.read(mark, _LARGEST_MARK_BYTES)


_UNKNOWN_BYTES = 1 << 62


# -- room --------------------------------------------------------------------------------------------------------------


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What a directory's file system still takes from this user, less what has to stay free."""

    directory: Path
    free_bytes: int
    """Free for this user (statvfs, `f_bavail`), the reserve included."""
    free_inodes: int | None
    """None where the file system makes inodes as it needs them."""
    reserve_bytes: int

    @property
    def usable_bytes(self) -> int:
        """Bytes that data may take."""
        return max(self.free_bytes - self.reserve_bytes, 0)

    def require(self, *, needed_bytes: int = 0, needed_inodes: int = 0, cure: str) -> None:
        """Refuse what does not fit; nothing has been written then.

        Args:
            needed_bytes: Bytes of all that lies there at one time.
            needed_inodes: Files and directories likewise.
            cure: What the user of this command can do about it, such as `use a smaller -s`.

        Raises:
            RunError: bytes or inodes do not suffice; the text has the numbers and the cure.
        """
        if needed_bytes > self.usable_bytes:
            raise RunError(
                f"{format_bytes(needed_bytes)} are needed, but only {format_bytes(self.usable_bytes)} are free in "
                f"{self.directory} above the reserve of {format_bytes(self.reserve_bytes)}. Nothing was written; {cure}, "
                "or free some space"
            )
        if self.free_inodes is not None and needed_inodes > self.free_inodes:
            raise RunError(
                f"{needed_inodes} files and directories are needed, but only {self.free_inodes} more can be made in "
                f"{self.directory} (df -i). Nothing was written; {cure}, or remove some"
            )


def room(directory: Path, *, reserve_bytes: int) -> Room:
    """Look how much room there is in a directory; raises RunError where nobody can write there.

    Of a directory `remote_directories` it is not known here: the engines there look.
    """
    if _are_remote.get():
        return Room(directory=directory, free_bytes=_UNKNOWN_BYTES, free_inodes=None, reserve_bytes=0)
    system = os.statvfs(directory)
    if system.f_flag & os.ST_RDONLY:
        # Some report then that nothing is free, which is no reason to make room.
        raise RunError(f"{directory} is on a read-only file system; mount it read-write or name another directory")
    return Room(
        directory=directory,
        free_bytes=system.f_bavail * system.f_frsize,
        free_inodes=system.f_favail if system.f_files else None,
        reserve_bytes=reserve_bytes,
    )


class Need(msgspec.Struct, frozen=True):
    """What a load makes in a directory: the most that lies there at one time."""

    directory: Path
    bytes: int = 0
    inodes: int = 0


def laid_out(plan: Plan) -> Iterator[Need]:
    """Give the most that a Plan's steps have lie at one time, of sets of known sizes; the engine looks at one by itself."""
    places = {name: place for name, place in directories(plan).items() if os.path.isdir(place)}  # noqa: PTH112 - never raises
    sizes = {
        one.name: Need(places[one.target], int(one.files * one.existing_share * one.size.value))
        for one in plan.file_sets
        if one.target in places
        and isinstance(one.size, Fixed)
        and one.allocate is not Allocate.SPARSE
        # What is there may serve, and is no more data.
        and (one.reuse is Reuse.NEVER or not set_folder(plan, one).exists())
    }
    if len(sizes) < 2:  # for one the engine reports more
        return
    there: set[str] = set()
    held, most = Counter[Path](), Counter[Path]()
    for step in (step for phase in plan.phases for step in (*phase.before, *phase.after)):
        if isinstance(step, Prepare) and step.set in sizes and step.set not in there:
            there.add(step.set)
            need = sizes[step.set]
            held[need.directory] += need.bytes
            most[need.directory] = max(most[need.directory], held[need.directory])
        elif isinstance(step, Remove) and step.set in there:
            there.remove(step.set)
            held[sizes[step.set].directory] -= sizes[step.set].bytes
    yield from (Need(place, size) for place, size in most.items())


def check_room(needs: Iterable[Need], *, reserve_bytes: int, cure: str) -> None:
    """Refuse a load that makes more than its file systems hold; directories of one file system share its room.

    Raises:
        RunError: as for `Room.require`.
    """
    if _are_remote.get():
        return  # the engines there look
    of_device: dict[str, Need] = {}
    for need in needs:
        mount = _mount_of(need.directory)
        # The subvolumes of a btrfs have one room, and each its own st_dev.
        device = mount.device if mount else str(need.directory.stat().st_dev)
        before = of_device.get(device, Need(need.directory))
        of_device[device] = Need(need.directory, before.bytes + need.bytes, before.inodes + need.inodes)
    for need in of_device.values():
        there = room(need.directory, reserve_bytes=reserve_bytes)
        there.require(needed_bytes=need.bytes, needed_inodes=need.inodes, cure=cure)
