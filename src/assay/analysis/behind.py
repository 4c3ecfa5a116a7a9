"""Who answers what this machine's memory did not: its own devices, the host of a virtual machine, or a server?

The page cache of a host or server is not this machine's: direct I/O and cold reads do not pass it by. What is measured
then is the disk as the virtual machine sees it, or the server as a whole. A guest cannot distinguish a disk that is
passed through from one that the host emulates, so all disks of a virtual machine are the host's.

Limits: caches of arrays and disks are behind all of them. A FUSE process behind the file of a loop device counts as storage.
"""

from collections.abc import Iterator

from assay.analysis.record import RunRecord
from assay.analysis.subject import Subject
from assay.host.storage import NETWORK
from assay.verdicts import ServedBy

_OVER_A_NETWORK = frozenset({"nbd", "rbd"})
_MEMORY = frozenset({"zram", "ram", "pmem"})


def storage_of(subject: Subject) -> ServedBy:
    """Describe what the data of an operation comes from where this machine's memory does not have it."""
    found = {kind for target in subject.targets for kind in _of_target(subject, target)}
    for kind in (ServedBy.UNKNOWN, ServedBy.SERVER, ServedBy.VIRTUAL_DISK):
        if kind in found:
            return kind
    return ServedBy.STORAGE


def _of_target(subject: Subject, target: str) -> Iterator[ServedBy]:
    prefix = f"target.{target}."
    while subject.run.facts.get(f"{prefix}upper.fs.type") is not None:
        prefix += "upper."
    kind = subject.run.facts.get(f"{prefix}fs.type")
    if kind in NETWORK or str(kind).partition(".")[0] == "fuse":
        yield ServedBy.SERVER
    elif subject.devices is None:
        yield ServedBy.UNKNOWN
    else:
        yield from _of_devices(subject, prefix)


def _of_devices(subject: Subject, prefix: str) -> Iterator[ServedBy]:
    """Yield the answer for each device that has no other device below it."""
    own = ServedBy.VIRTUAL_DISK if subject.is_on_a_host else ServedBy.STORAGE
    kinds = _lowest(subject.run, prefix)
    if not kinds:
        yield own
    for place, kind in kinds.items():
        below = f"{prefix}device.{place}.backing."
        backing = subject.run.facts.get(f"{below}fs.type")
        if kind in _OVER_A_NETWORK or backing in NETWORK:
            yield ServedBy.SERVER
        elif backing is not None and _lowest(subject.run, below):
            yield from _of_devices(subject, below)
        elif backing is None and kind not in _MEMORY:
            yield own


def _lowest(run: RunRecord, prefix: str) -> dict[str, str]:
    """Give the kinds of the devices of a storage path that carry the others, by their places in it."""
    kinds: dict[str, str] = {}
    while (kind := run.facts.get(f"{prefix}device.{len(kinds)}.kind")) is not None:
        kinds[str(len(kinds))] = str(kind)
    carried = {str(run.facts.get(f"{prefix}device.{place}.carries")) for place in kinds}
    return {place: kind for place, kind in kinds.items() if place not in carried}
