"""esxtop of VMware ESXi in batch mode (`esxtop -b`): its CSV has the form of Windows' counters.

Latencies of adapters and devices are those of the device (DAVG), without the time in the kernel; those of virtual disks and
NFS volumes are what the guest waits for. A MByte has 2^20 bytes.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.match import Match
from assay.captures.pdh_table import Counter, Devices, WantedCounter, is_head, read_pdh
from assay.captures.samples import Layer, SampleRows
from assay.captures.stated_facts import Asked

NAME: Final = "esxtop -b"
_OBJECTS: Final = {
    "Physical Disk Adapter": Layer.ADAPTER,
    "Physical Disk SCSI Device": Layer.DISK,
    "Physical Disk Per-Device": Layer.DISK,
    "Physical Disk NFS Volume": Layer.MOUNT,
    "Virtual Disk": Layer.VIRTUAL_DISK,
}
_KNOWN = re.compile(r"\\(?:Physical Cpu|Physical Disk |Virtual Disk\(|Group Cpu\(|Vcpu\()")
_VIRTUAL_DISK = re.compile(r".*:(?:scsi|sata|nvme|ide|pvscsi)\d+:\d+", re.IGNORECASE)
"""Of an instance: without a disk it is the sum of a virtual machine."""
_MIB, _MS = 1024.0 * 1024.0, 1e-3
_COUNTERS: Final = {
    "Reads/sec": ("read_iops", 1.0),
    "Writes/sec": ("write_iops", 1.0),
    "MBytes Read/sec": ("read_bytes_per_s", _MIB),
    "MBytes Written/sec": ("write_bytes_per_s", _MIB),
}
_LATENCIES: Final = {"Command": "latency_s", "Read": "read_latency_s", "Write": "write_latency_s"}
_LATENCY = re.compile(r"Average (?:(Driver|Device|Guest) )?MilliSec/(Command|Read|Write)")
_WAITERS: Final = {
    Layer.ADAPTER: ("Driver", "Device"),
    Layer.DISK: ("Driver", "Device"),
    Layer.MOUNT: ("Guest",),
    Layer.VIRTUAL_DISK: (None, "Guest"),
}
"""Whose waiting is the latency of a layer."""


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by the head of PDH and the objects of ESXi."""
    return Match.CERTAIN if any(is_head(line) and _KNOWN.search(line) for line in head[:5]) else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of adapters, devices, NFS volumes and virtual disks."""
    read_pdh(lines, asked, rows, _devices_of)


def _devices_of(counters: Sequence[Counter], rows: SampleRows) -> Devices:
    """Choose the counters of disks.

    Raises:
        ValueError: There is none.
    """
    devices: Devices = {}
    has_parts = has_sums = False
    for one in counters:
        layer = _OBJECTS.get(one.object_name)
        if layer is None:
            has_parts |= one.object_name.startswith("Physical Disk Per-")
            continue
        if layer is Layer.VIRTUAL_DISK and not _VIRTUAL_DISK.fullmatch(one.instance):
            has_sums = True
            continue
        if (wanted := _wanted(one, layer)) is not None:
            devices.setdefault((one.host, one.instance, layer), []).append(wanted)
    if not devices:
        raise ValueError("it has no counters of disks: record all of them (esxtop -b -a)")
    if has_parts or has_sums:
        rows.note("counters of worlds, paths and whole virtual machines are left out: their devices and disks are read")
    if any(layer in {Layer.ADAPTER, Layer.DISK} for _, _, layer in devices):
        rows.note("latencies of adapters and devices are without the time in the kernel (DAVG)")
    return devices


def _wanted(counter: Counter, layer: Layer) -> WantedCounter | None:
    if (known := _COUNTERS.get(counter.name)) is not None:
        return WantedCounter(counter.column, *known)
    latency = _LATENCY.fullmatch(counter.name)
    if latency is None or latency[1] not in _WAITERS[layer]:
        return None
    return WantedCounter(counter.column, _LATENCIES[latency[2]], _MS)
