"""A known rate: the kernel's block throttle holds one device to so many bytes or operations a second.

For direct I/O it is exact (0.6 % off under heavy load, measured with fio); at queue depth 1 a limit of N operations a
second makes each take 1/N s. It acts on the processes inside the control group: put `ControlGroup.prefix` in front of a
command line. Both generations of control groups serve: blkio.throttle.* of the first, io.max of the second.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from testbed.control_group import ControlGroup, control_group
from testbed.host import need_root


@contextmanager
def blkio_limit(
    device: Path,
    *,
    read_bps: int | None = None,
    read_iops: int | None = None,
    write_bps: int | None = None,
    write_iops: int | None = None,
) -> Iterator[ControlGroup]:
    """Hold a device to a rate for the processes of a new control group.

    Args:
        device: A whole block device; a partition cannot be limited.
        read_bps: Bytes read a second.
        read_iops: Reads a second.
        write_bps: Bytes written a second.
        write_iops: Writes a second.
    """
    limits = {"read_bps": read_bps, "read_iops": read_iops, "write_bps": write_bps, "write_iops": write_iops}
    with blkio_limits([device], limits) as group:
        yield group


@contextmanager
def blkio_limits(devices: Sequence[Path], limits: Mapping[str, int | None]) -> Iterator[ControlGroup]:
    """Hold each of some devices to the same rates for the processes of one new control group.

    Args:
        devices: Whole block devices.
        limits: As `blkio_limit` has them; None is none.
    """
    with blkio_limits_each(dict.fromkeys(devices, limits)) as group:
        yield group


@contextmanager
def blkio_limits_each(limits: Mapping[Path, Mapping[str, int | None]]) -> Iterator[ControlGroup]:
    """Hold each device to rates of its own for the processes of one new control group.

    Args:
        limits: For each whole block device, as `blkio_limit` has them; None is none.
    """
    need_root()
    asked = {
        device: {name: value for name, value in own.items() if value is not None} for device, own in limits.items()
    }
    if without := [device for device, own in asked.items() if not own]:
        raise ValueError(f"{without[0]}: no limit was asked for")
    with control_group("blkio", "io", "blkio.throttle.read_bps_device") as group:
        for device, own in asked.items():
            _set_limits(group, Path(f"/sys/block/{device.name}/dev").read_text().strip(), own)
        yield group


def v2_line(major_minor: str, limits: dict[str, int]) -> str:
    """The line of io.max (Linux, Documentation/admin-guide/cgroup-v2.rst, "IO Interface Files")."""
    keys = {"read_bps": "rbps", "read_iops": "riops", "write_bps": "wbps", "write_iops": "wiops"}
    return " ".join([major_minor, *(f"{keys[name]}={value}" for name, value in limits.items())])


def _set_limits(group: ControlGroup, major_minor: str, limits: dict[str, int]) -> None:
    if group.is_v2:
        (group.folder / "io.max").write_text(v2_line(major_minor, limits))
        return
    for name, value in limits.items():
        file = group.folder / f"blkio.throttle.{name}_device"
        file.write_text(f"{major_minor} {value}")
        if f"{major_minor} {value}" not in file.read_text().splitlines():
            raise RuntimeError(f"{file} did not take '{major_minor} {value}'")
