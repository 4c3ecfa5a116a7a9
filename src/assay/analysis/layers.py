"""Which devices below those of a target serve the same I/O?

Three kinds of device pass each read and write on: a partition to its disk, a loop device with direct I/O to the device of
its backing file, and a device mapper volume to its only device. The counters of the lower device hold all I/O of the upper
one; what they hold beyond it is others'.

Limits: RAID, striped and mirrored volumes, thin pools, caches and volumes with checksums do other I/O than they are asked
for. So does a loop device through the page cache, or on a file system that does not write in place. The devices below these
are not compared.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping

from assay.analysis.record import RunRecord
from assay.host.block import diskstats_name

IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs", "jfs", "vfat", "exfat"})
"""File systems that write over what they change, and little besides; others may write their trees anew."""
_MAPPED = frozenset({"lvm", "crypt", "dm"})
_HIDDEN_PART = re.compile(r"(?<!-)-(?!-)")
"""In names of LVM, between volume group, volume, and what a part of it is for (a hyphen of a name itself is doubled)."""
_PAGE_BYTES = 4096


@dataclasses.dataclass(frozen=True)
class Below:
    """A device that serves what others are asked for."""

    name: str
    above: tuple[str, ...]
    """Devices of the run's storage path that pass their I/O on to it."""
    is_through_file: bool
    """Whether a file system lies between, which writes a little besides."""


def layers_below(run: RunRecord, targets: tuple[str, ...]) -> tuple[Below, ...]:
    """Name the devices below those of targets, each once."""
    found: dict[str, dict[str, bool]] = {}
    for target in targets:
        for name, above, is_through_file in _pairs(run, f"target.{target}."):
            found.setdefault(name, {})[above] = is_through_file
    return tuple(Below(name, tuple(above), any(above.values())) for name, above in found.items())


def largest_request_bytes(run: RunRecord, targets: tuple[str, ...]) -> int | None:
    """Return up to which size the kernel never splits an operation; None where that is not known.

    A queue limits a request's bytes and its segments, of a page each at least (Documentation/ABI/stable/sysfs-block).
    """
    most, segments = (queue_facts(run, targets, key) for key in ("max_io_bytes", "max_segments"))
    return min(*most, *(_PAGE_BYTES * count for count in segments)) if most and segments else None


def queue_facts(run: RunRecord, targets: tuple[str, ...], key: str) -> tuple[int, ...]:
    """Give a setting of the queues of all devices of targets, where it is known."""
    starts = tuple(f"target.{target}." for target in targets)
    ends = f".{key}"
    found = (value for name, value in run.facts.items() if name.startswith(starts) and name.endswith(ends))
    return tuple(value for value in found if isinstance(value, int))


def _layers(run: RunRecord, prefix: str) -> Mapping[str, Mapping[str, object]]:
    """Facts of each device of a path, by its place there."""
    layers: dict[str, Mapping[str, object]] = {}
    for place in itertools.count():
        layer = f"{prefix}device.{place}."
        if f"{layer}name" not in run.facts:
            return layers
        layers[str(place)] = {
            key.removeprefix(layer): value for key, value in run.facts.items() if key.startswith(layer)
        }
    return layers


def _pairs(run: RunRecord, prefix: str) -> Iterator[tuple[str, str, bool]]:
    """Give lower device, upper device, and whether a file system lies between."""
    while f"{prefix}upper.fs.type" in run.facts:
        prefix += "upper."
    layers = _layers(run, prefix)
    for place, layer in layers.items():
        above = diskstats_name(str(layer["name"]))
        below = [each for each in layers.values() if each.get("carries") == place]
        if len(below) == 1 and _passes_on(layer):
            yield diskstats_name(str(below[0]["name"])), above, False
        backing = f"{prefix}device.{place}.backing."
        devices = run.facts.get(f"{backing}device.diskstats")
        if not isinstance(devices, tuple | list) or len(devices) != 1:
            continue
        if layer.get("loop_direct_io") is True and run.facts.get(f"{backing}fs.type") in IN_PLACE:
            yield str(devices[0]), above, True
        yield from _pairs(run, backing)


def _passes_on(layer: Mapping[str, object]) -> bool:
    kind = layer.get("kind")
    if kind == "loop":
        return layer.get("loop_direct_io") is True
    is_part = len(_HIDDEN_PART.findall(str(layer.get("dm_name")))) > 1
    return kind == "partition" or (kind in _MAPPED and not (kind == "lvm" and is_part))
