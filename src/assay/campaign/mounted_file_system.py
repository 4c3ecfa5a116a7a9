"""Make a file system, mount it where only root can go, and read back its actual options.

Nothing is written but through `HeldDevice`, which looks at the device before each step.

Sources of what it is: /proc/self/mountinfo and, for ext4, /proc/fs/ext4/DEVICE/options, which has the defaults too;
/sys/block/DEVICE/queue/scheduler; the super block by dumpe2fs -h, xfs_info and btrfs inspect-internal dump-super.
"""

import contextlib
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from assay.campaign.design import CampaignCell
from assay.campaign.journal import MOUNT_POINT, Effective, Journal
from assay.campaign.mkfs_options import MkfsOption, mkfs_options, not_taken, with_extended, words_of
from assay.campaign.schedulers import scheduler_of
from assay.devices.held_device import HeldDevice
from assay.devices.system_commands import carry_out
from assay.errors import InputError, RunError
from assay.host.block import name_of_path
from assay.host.mounts import Mount, mounts_of
from assay.host.reading import SystemTree

COMMANDS: Final = {
    "ext4": ("mkfs.ext4", "dumpe2fs"),
    "xfs": ("mkfs.xfs", "xfs_info"),
    "btrfs": ("mkfs.btrfs", "btrfs"),
}
FOR_ALL: Final = ("wipefs", "mount", "umount")
WIPE: Final = ("wipefs", "--all", "--quiet")
"""Takes all signatures off the device that follows."""
_EAGER: Final = "lazy_itable_init=0,lazy_journal_init=0"
"""Lazy initialisation would write to the device while it is measured."""
_KEEPS_BLOCKS: Final = {"ext4": "nodiscard", "xfs": "-K", "btrfs": "-K"}
_PATIENCE_S, _PAUSE_S = 60.0, 0.2
_SAME: Final = {"barrier=0": "nobarrier", "barrier=1": "barrier"}
"""How ext4 calls what was asked for otherwise."""
_HAS_NO_MEANING: Final = frozenset({"defaults", "rw", ""})


def make_file_system(device: HeldDevice, cell: CampaignCell, *, uuid: str, keeps_blocks: bool, folder: Path) -> None:
    """Take what a device carries off it, and make a file system.

    Args:
        device: Checked to be free.
        cell: What is to be made.
        uuid: By which it is known again.
        keeps_blocks: It is a file whose blocks mkfs shall not give back.
        folder: An empty one, so that no word means a file.

    Raises:
        InputError: the device was exchanged.
        RunError: mkfs refused it.
    """
    device.carry_out(WIPE)
    options = list(mkfs_options(cell.kind, cell.mkfs))
    match cell.kind:
        case "ext4":
            options = with_extended(options, f"{_EAGER},nodiscard" if keeps_blocks else _EAGER)
            words = ["mkfs.ext4", "-q", "-F", "-U", uuid, *words_of(options)]
        case "xfs":
            words = ["mkfs.xfs", "-q", "-f", *_keeping(options, keeps_blocks), *_with_uuid(options, uuid)]
        case _:
            words = ["mkfs.btrfs", "-q", "-f", "-U", uuid, *_keeping(options, keeps_blocks), *words_of(options)]
    device.carry_out(words, folder=folder)


def _keeping(options: Sequence[MkfsOption], keeps_blocks: bool) -> list[str]:
    return ["-K"] if keeps_blocks and not any(option.name == "K" for option in options) else []


def _with_uuid(options: Sequence[MkfsOption], uuid: str) -> list[str]:
    """Put the UUID among the metadata options of xfs."""
    return [*words_of(options), "-m", f"uuid={uuid}"]


def make_mount_point(journal: Journal) -> Path:
    """Make the folder that cells are mounted on, where it is not there; raises RunError for what is no folder."""
    place = journal.mount_point
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(MOUNT_POINT, 0o700, dir_fd=journal.place)
        os.close(os.open(MOUNT_POINT, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=journal.place))
    except OSError as error:
        raise RunError(f"{place} cannot be mounted on: {error.strerror}; move it away") from error
    return place


def mount_file_system(device: HeldDevice, cell: CampaignCell, place: Path) -> None:
    """Mount it, and look at what was mounted.

    Raises:
        InputError: the device was exchanged.
        RunError: the kernel refuses its options.
    """
    options = ["-o", cell.mount] if cell.mount else []
    device.check()
    carry_out(["mount", "-t", cell.kind, *options, device.path, str(place)])
    there = mounts_on(place)
    if not there:
        raise RunError(f"{place} is not in /proc/self/mountinfo after mount")
    if not _is_of(there[-1], device):
        raise InputError(
            f"{device.path} was exchanged for another: {there[-1].source} was mounted. Nothing more is done"
        )


def _is_of(mount: Mount, device: HeldDevice) -> bool:
    """Whether a mounted file system is the device's; a btrfs has a number of its own, and names its devices."""
    if mount.device == device.node.identity.number:
        return True
    tree = SystemTree()
    shared = (tree.names(f"/sys/fs/btrfs/{uuid}/devices") for uuid in tree.names("/sys/fs/btrfs"))
    return (
        mount.fs_type == "btrfs"
        and device.name in {name for names in shared for name in names}
        and (name_of_path(tree, mount.source) == device.name)
    )


def mounts_on(place: Path) -> list[Mount]:
    """What is mounted on a place, the lowest first."""
    return [mount for mount in mounts_of(SystemTree()) if mount.mount_point == str(place)]


def unmount(place: Path) -> None:
    """Unmount what is there, with patience for who still looks at it; raises RunError."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while mounts_on(place):
        try:
            carry_out(["umount", str(place)])
        except RunError as error:
            if time.monotonic() > deadline_s:
                raise RunError(
                    f"{place} cannot be unmounted: {error}. Run the same command again when it is not used"
                ) from error
            time.sleep(_PAUSE_S)


# -- what it is ----------------------------------------------------------------------------------------------------------


def read_back(device: HeldDevice, cell: CampaignCell, place: Path) -> Effective:
    """Read what a mounted file system is; raises RunError where it is not mounted."""
    name = device.name
    there = mounts_on(place)
    if not there:
        raise RunError(f"{place} is not mounted any more")
    mount, tree = there[-1], SystemTree()
    options = tuple(dict.fromkeys((*mount.options, *mount.super_options)))
    known = {*options, *(tree.read(f"/proc/fs/ext4/{name}/options").text or "").split()}
    scheduler = scheduler_of(device.node.disk)
    there_is = super_block(cell.kind, device.path, place)
    dio = tree.read(f"/sys/block/{name}/loop/dio").text
    otherwise = [
        *_not_mounted_so(cell.mount, known),
        *not_taken(cell.kind, mkfs_options(cell.kind, cell.mkfs), there_is),
    ]
    if cell.scheduler is not None and scheduler != cell.scheduler:
        otherwise.append(f"the scheduler is {scheduler}, not {cell.scheduler}")
    if device.direct_io and dio != "1":
        otherwise.append("the loop device does not pass the page cache by: direct_io is off")
    return Effective(
        mount_options=options,
        scheduler=scheduler,
        direct_io=None if dio is None else dio == "1",
        super_block=there_is,
        not_taken=tuple(otherwise),
    )


def _not_mounted_so(asked: str, known: set[str]) -> list[str]:
    """Name the mount options that the kernel does not show; what it shows with a level (`zstd:3`) is shown."""
    return [
        f"mount option {option} is not shown by the kernel"
        for option in asked.split(",")
        if option not in _HAS_NO_MEANING
        and not {option, _SAME.get(option, option)} & known
        and not any(each.startswith(f"{option}:") for each in known)
    ]


_EXT4: Final = {
    "Filesystem features": "features",
    "Block size": "block size",
    "Inode size": "inode size",
    "Block count": "blocks",
}
_BTRFS: Final = ("nodesize", "sectorsize", "csum_type")
_SECTION = re.compile(r"^([a-z-]+)\s*=", re.MULTILINE)
_PAIR = re.compile(r"([a-z0-9-]+)=([A-Za-z0-9.]+)")


def super_block(kind: str, device: str, place: Path) -> dict[str, str]:
    """Read the options of a file system from its super block; empty if the reader is absent or fails."""
    try:
        match kind:
            case "ext4":
                return parse_dumpe2fs(carry_out(["dumpe2fs", "-h", device]))
            case "xfs":
                return parse_xfs_info(carry_out(["xfs_info", str(place)]))
            case _:
                return parse_dump_super(carry_out(["btrfs", "inspect-internal", "dump-super", device]))
    except RunError:
        return {}


def parse_dumpe2fs(text: str) -> dict[str, str]:
    """Read what dumpe2fs -h prints: `Block size:  4096`."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {_EXT4[key.strip()]: value.strip() for key, _, value in pairs if key.strip() in _EXT4}


def parse_xfs_info(text: str) -> dict[str, str]:
    """Read what xfs_info prints: sections of `key=value`, as `data.bsize`."""
    found: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        head, equals, rest = line.partition("=")
        if not equals:
            continue
        if head.strip():
            section = head.strip().split()[0]
        for key, value in _PAIR.findall(rest):
            found[f"{section}.{key}"] = value
    return found


def parse_dump_super(text: str) -> dict[str, str]:
    """Read what btrfs inspect-internal dump-super prints: a key and a value a line."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] in _BTRFS:
            found[words[0]] = words[2].strip("()") if words[0] == "csum_type" and len(words) > 2 else words[1]
    return found
