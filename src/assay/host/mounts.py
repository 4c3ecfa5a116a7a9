"""Find the mount that a directory is on.

Source: /proc/self/mountinfo, proc_pid_mountinfo(5). The kernel reports the mount of a directory
(`mnt_id` in /proc/self/fdinfo), so mounts stacked on each other, bind mounts and subvolumes are distinguished; the longest
matching mount point, the later of equals, is only the fallback.
"""

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from assay.host.reading import SystemTree


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One line of mountinfo."""

    mount_id: int
    device: str
    """`major:minor` of the super block; major 0 has no block device of its own."""
    root: str
    """What of the file system is mounted: `/`, the source of a bind mount, a subvolume."""
    mount_point: str
    options: tuple[str, ...]
    fs_type: str
    source: str
    super_options: tuple[str, ...]

    def option(self, name: str) -> str | None:
        """Value of `name=value` among the super options; None when it is not there."""
        prefix = name + "="
        return next((option.removeprefix(prefix) for option in self.super_options if option.startswith(prefix)), None)


def _unescape(text: str) -> str:
    r"""Undo the kernel's `\040` for a blank and similar codes of bytes of the name."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)


def _options(text: str) -> tuple[str, ...]:
    # Split first: a comma inside a value is escaped.
    return tuple(_unescape(option) for option in text.split(","))


def parse(text: str) -> list[Mount]:
    """Read mountinfo; a line that does not look like one is left out."""
    mounts = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if not separator or len(left) < 6 or len(right) < 3:
            continue
        mounts.append(
            Mount(
                mount_id=int(left[0]),
                device=left[2],
                root=_unescape(left[3]),
                mount_point=_unescape(left[4]),
                options=_options(left[5]),
                fs_type=right[0],
                source=_unescape(right[1]),
                super_options=_options(right[2]),
            )
        )
    return mounts


def mounts_of(tree: SystemTree) -> list[Mount]:
    """All mounts that this process sees; none where /proc is not mounted."""
    return parse(tree.read("/proc/self/mountinfo").text or "")


def find(mounts: Sequence[Mount], directory: Path, mount_id: int | None) -> Mount | None:
    """The mount of `directory`, which is absolute and without symlinks."""
    for mount in mounts:
        if mount.mount_id == mount_id:
            return mount
    path = PurePosixPath(directory)
    best = None
    for mount in mounts:
        longer = best is None or len(mount.mount_point) >= len(best.mount_point)
        if longer and path.is_relative_to(mount.mount_point):
            best = mount
    return best


def mount_id(tree: SystemTree, directory: Path) -> int | None:
    """The kernel's number for the mount of an existing directory or file; None if unknown."""
    try:
        descriptor = os.open(tree.at(str(directory)), os.O_PATH)
    except OSError:
        return None
    try:
        text = tree.read(f"/proc/self/fdinfo/{descriptor}").text or ""
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    match = re.search(r"^mnt_id:\s*(\d+)$", text, re.MULTILINE)
    return int(match.group(1)) if match else None
