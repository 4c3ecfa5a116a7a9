"""What did the block devices do? Byte counters of /proc/diskstats over a span."""

import itertools
import re
from collections.abc import Iterator

from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S, Span

VOLATILE = "write back"
"""Of a device with a cache that goes with the power, in its `queue/write_cache`."""
_OWN_READ_AHEAD = 4 << 20
"""Bytes of read-ahead of a file system that does not go by its device's."""
_STACKED = re.compile(r"(loop|dm-|md|zram|ram|bcache)")
_COUNTERS = {"read": "read_bytes", "write": "write_bytes"}
_NET_COUNTERS = {"read": "rx_bytes", "write": "tx_bytes"}


def devices_of(run: RunRecord, target: str) -> tuple[str, ...]:
    """Return the diskstats names whose counters are a target's I/O; empty when unknown."""
    names = run.target_fact(target, "device.diskstats")
    if isinstance(names, str):
        return (names,)
    return tuple(names) if isinstance(names, tuple | list) else ()


def numbered(run: RunRecord, target: str) -> Iterator[tuple[str, str]]:
    """Give number (`major:minor`) and name of every device in a target's storage path."""
    for place in itertools.count():
        name, number = (run.target_fact(target, f"device.{place}.{fact}") for fact in ("name", "number"))
        if name is None:
            return
        if isinstance(name, str) and isinstance(number, str):
            yield number, name


def volatile_caches(run: RunRecord, target: str) -> Iterator[str]:
    """Name the devices of a target's storage path that report a volatile write cache."""
    for place in itertools.count():
        name, kind = (run.target_fact(target, f"device.{place}.{fact}") for fact in ("name", "write_cache"))
        if name is None:
            return
        if kind == VOLATILE:
            yield str(name)


def read_ahead_bytes(run: RunRecord, target: str) -> int:
    """Return the longest read-ahead of a target's devices; btrfs has its own, of 4 MiB (fs/btrfs/disk-io.c)."""
    known = [
        run.target_fact(target, f"device.{place}.read_ahead_bytes") for place, _ in enumerate(numbered(run, target))
    ]
    own = [_OWN_READ_AHEAD] if run.target_fact(target, "fs.type") == "btrfs" else []
    return max([*own, *(value for value in known if isinstance(value, int))], default=_OWN_READ_AHEAD)


def moved_bytes(record: PhaseRecord, devices: tuple[str, ...], direction: str, span: Span) -> int | None:
    """Return the bytes that devices moved in a direction; None when one of them was not sampled."""
    moved = [record.counters.delta(span, "diskstats", device, _COUNTERS[direction]) for device in devices]
    if not moved or None in moved:
        return None
    return int(sum(part for part in moved if part is not None))


def busiest_share(record: PhaseRecord, devices: tuple[str, ...], span: Span) -> float:
    """Return the share of a span in which the busiest of some devices had a request; 0 where that is not known."""
    busy_ns = [record.counters.delta(span, "diskstats", device, "io_ns") or 0.0 for device in devices]
    return min(1.0, max(busy_ns, default=0.0) / (span.seconds * NS_PER_S)) if span.seconds > 0 else 0.0


def most_bytes_below(record: PhaseRecord, direction: str, span: Span) -> int | None:
    """Return an upper bound of what real storage moved: all disks that stand on no other device, and the network.

    A file system on a loop device has a file below it, and where that file is kept is not in the facts. But nothing can
    have come from storage that came from no disk and over no wire.
    """
    from_disks = moved_bytes(record, real_disks(record), direction, span)
    if from_disks is None:
        return None
    wires = [name for name in record.counters.instances("net") if name != "lo"]
    over_wires = (record.counters.delta(span, "net", wire, _NET_COUNTERS[direction]) or 0.0 for wire in wires)
    return from_disks + int(sum(over_wires))


def real_disks(record: PhaseRecord) -> tuple[str, ...]:
    """Name the machine's disks that stand on no other device, without their partitions."""
    names = record.counters.instances("diskstats")
    real = [name for name in names if not _STACKED.match(name)]
    return tuple(name for name in real if not any(_is_partition(name, disk) for disk in real))


def is_served_by_a_process(run: RunRecord, target: str) -> bool:
    """Whether the file behind a loop device of a target comes from a FUSE process: that needs neither disk nor wire."""
    kinds = (
        value
        for key, value in run.facts.items()
        if key.startswith(f"target.{target}.") and key.endswith(".backing.fs.type")
    )
    # fuseblk is a file system of a block device, whose counters show its I/O.
    return any(isinstance(kind, str) and (kind == "fuse" or kind.startswith("fuse.")) for kind in kinds)


def _is_partition(name: str, disk: str) -> bool:
    """Whether a name is a partition of a disk: sda1 of sda, nvme0n1p1 of nvme0n1; but sdaa is a disk of its own."""
    separator = "p" if disk[-1].isdigit() else ""
    return re.fullmatch(re.escape(disk + separator) + r"\d+", name) is not None
