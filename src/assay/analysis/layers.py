"""Which devices below those of a target serve the same I/O?

Three kinds of device pass each read and write on: a partition to its disk, a loop device with direct I/O to the device of
its backing file, and a device mapper volume to its only device. The counters of the lower device hold all I/O of the upper
one; what they hold beyond it is others'.

Limits: RAID, striped and mirrored volumes, thin pools, caches and volumes with checksums do other I/O than they are asked
for. So does a loop device through the page cache, or on a file system that does not write in place. The devices below these
are not compared, nor those below a file system on several devices.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.analysis.record import RunRecord
from assay.host.block import diskstats_name

IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs", "jfs", "vfat", "exfat"})
"""File systems that write over what they change, and little besides; others may write their trees anew."""
_MAPPED = frozenset({"lvm", "crypt"})
_HYPHEN = re.compile(r"(?<!-)-(?!-)")
"""In names of LVM, between volume group, volume, and what a part of it is for (a hyphen of a name itself is doubled)."""
_UNCLEAR = ""
_PAGE_BYTES = 4096


@dataclasses.dataclass(frozen=True)
class Below:
    """A device that serves what others are asked for."""

    name: str
    above: tuple[str, ...]
    """Devices of the run's storage path that pass their I/O on to it."""
    is_through_file: bool
    """Whether a file system lies between, which writes a little besides."""


def layers_below(runs: Iterable[RunRecord], targets: tuple[str, ...]) -> tuple[Below, ...]:
    """Name the devices below those of targets of all clients of a machine, each once."""
    found: dict[str, dict[str, bool]] = {}
    for run in runs:
        for target in targets:
            for name, above, is_through_file in _pairs(run, f"target.{target}."):
                found.setdefault(name, {})[above] = is_through_file
    clear = {name: above for name, above in found.items() if _UNCLEAR not in above}
    return tuple(Below(name, tuple(above), any(above.values())) for name, above in clear.items())


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


def _layers(run: RunRecord, prefix: str) -> Sequence[Mapping[str, object]]:
    """Facts of each device of a path, from the mounted one down."""
    layers: list[Mapping[str, object]] = []
    while f"{(layer := f'{prefix}device.{len(layers)}.')}name" in run.facts:
        layers.append({key.removeprefix(layer): value for key, value in run.facts.items() if key.startswith(layer)})
    return layers


def _is_chain(layers: Sequence[Mapping[str, object]]) -> bool:
    """Whether each device is on the next: of a device that serves several, the facts have one."""
    expected = ["file system", *map(str, range(len(layers) - 1))]
    return [layer.get("carries") for layer in layers] == expected


def _pairs(run: RunRecord, prefix: str) -> Iterator[tuple[str, str, bool]]:
    """Give lower device, upper device (`_UNCLEAR` where there are several), and whether a file system lies between."""
    while f"{prefix}upper.fs.type" in run.facts:
        prefix += "upper."
    layers = _layers(run, prefix)
    if _is_chain(layers):
        for layer, below in itertools.pairwise(layers):
            if _passes_on(layer, below):
                yield _name(below), _name(layer), False
    else:
        yield from ((_name(layer), _UNCLEAR, False) for layer in layers)
    for place, layer in enumerate(layers):
        backing = f"{prefix}device.{place}.backing."
        devices = run.facts.get(f"{backing}device.diskstats")
        if not isinstance(devices, tuple | list) or len(devices) != 1:
            continue
        if layer.get("loop_direct_io") is True and run.facts.get(f"{backing}fs.type") in IN_PLACE:
            yield str(devices[0]), _name(layer), True
        yield from _pairs(run, backing)


def _name(layer: Mapping[str, object]) -> str:
    return diskstats_name(str(layer["name"]))


def _passes_on(layer: Mapping[str, object], below: Mapping[str, object]) -> bool:
    kind = layer.get("kind")
    if kind == "loop":
        return layer.get("loop_direct_io") is True
    if kind == "dm":  # of a kind that no name tells: on another volume it may be one of a thin pool
        return "dm_name" not in below
    return kind == "partition" or (kind in _MAPPED and not _is_part(layer) and not _is_part(below))


def _is_part(layer: Mapping[str, object]) -> bool:
    """Whether a device is a part of a volume of LVM: of a thin pool, a snapshot or a cache."""
    return layer.get("kind") == "lvm" and len(_HYPHEN.findall(str(layer.get("dm_name")))) > 1
