"""A known rate: the kernel's block throttle holds one device to so many bytes or operations a second.

For direct I/O it is exact (0.6 % off under heavy load, measured with fio); at queue depth 1 a limit of N operations a
second makes each take 1/N s. It acts on the processes inside the control group: run the load through `Throttle.run`,
or put `Throttle.prefix` in front of a command line. Both generations of control groups serve: blkio.throttle.* of the
first, io.max of the second.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.host import need_root, wait_until
from testbed.leaks import made

_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")

# A shell joins the group and becomes the command: no code between fork and exec, and no process besides.
_JOIN = 'echo $$ > "$0" && exec "$@"'


@dataclass(frozen=True, kw_only=True)
class Throttle:
    """A control group that holds a device to its limits."""

    cgroup: Path

    @property
    def prefix(self) -> tuple[str, ...]:
        """The words to put in front of a command so that it runs inside the group."""
        return ("/bin/sh", "-c", _JOIN, str(self.cgroup / "cgroup.procs"))


@contextmanager
def blkio_limit(
    device: Path,
    *,
    read_bps: int | None = None,
    read_iops: int | None = None,
    write_bps: int | None = None,
    write_iops: int | None = None,
) -> Iterator[Throttle]:
    """Hold a device to a rate for the processes of a new control group.

    Args:
        device: A whole block device; a partition cannot be limited.
        read_bps: Bytes read a second.
        read_iops: Reads a second.
        write_bps: Bytes written a second.
        write_iops: Writes a second.
    """
    need_root()
    limits = {"read_bps": read_bps, "read_iops": read_iops, "write_bps": write_bps, "write_iops": write_iops}
    asked = {name: value for name, value in limits.items() if value is not None}
    if not asked:
        raise ValueError(f"{device}: no limit was asked for")
    major_minor = Path(f"/sys/block/{device.name}/dev").read_text().strip()
    with _cgroup(_parent()) as group:
        _set_limits(group, major_minor, asked)
        yield Throttle(cgroup=group)


def v2_line(major_minor: str, limits: dict[str, int]) -> str:
    """The line of io.max (Linux, Documentation/admin-guide/cgroup-v2.rst, "IO Interface Files")."""
    keys = {"read_bps": "rbps", "read_iops": "riops", "write_bps": "wbps", "write_iops": "wiops"}
    return " ".join([major_minor, *(f"{keys[name]}={value}" for name, value in limits.items())])


def _parent() -> Path:
    if (_V1 / "cgroup.procs").exists():
        if not (_V1 / "blkio.throttle.read_bps_device").exists():
            pytest.skip(f"needs block throttling; {_V1} has no blkio.throttle.* files")
        return _V1
    try:
        controllers = (_V2 / "cgroup.controllers").read_text().split()
    except OSError:
        pytest.skip(f"needs control groups with a block throttle; there is none under {_V2}")
    if "io" not in controllers:
        pytest.skip(f"needs the io controller; {_V2}/cgroup.controllers has: {' '.join(controllers)}")
    return _V2


@contextmanager
def _cgroup(parent: Path) -> Iterator[Path]:
    group = parent / f"assay-testbed-{os.getpid()}-{len(made.cgroups)}"
    try:
        if parent == _V2:
            (_V2 / "cgroup.subtree_control").write_text("+io")
        group.mkdir()
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise
        pytest.skip(f"may not make a control group: {error}")
    made.cgroups.add(group)
    try:
        yield group
    finally:
        # A group with members, zombies too, cannot be removed.
        wait_until(lambda: not (group / "cgroup.procs").read_text().strip(), f"{group} empty")
        group.rmdir()


def _set_limits(group: Path, major_minor: str, limits: dict[str, int]) -> None:
    if group.parent == _V2:
        (group / "io.max").write_text(v2_line(major_minor, limits))
        return
    for name, value in limits.items():
        file = group / f"blkio.throttle.{name}_device"
        file.write_text(f"{major_minor} {value}")
        if f"{major_minor} {value}" not in file.read_text().splitlines():
            raise RuntimeError(f"{file} did not take '{major_minor} {value}'")
