"""The class of the device that holds the data of an operation, as far as the facts show it.

A disk with the vendor `ATA` is on SATA (libata). Of SCSI disks with another vendor only those of disk makers have a class:
RAID controllers, iSCSI servers and USB bridges show disks of their own. No fact shows whether an NVMe drive is made for data
centres. Limits: a disk of a virtual machine has no class, because its facts are the host's choice; nor has a volume over
several disks, or over a file.
"""

import dataclasses
from collections.abc import Iterator, Mapping

from assay.analysis.subject import Subject
from assay.host.facts import LINK_FACT, LINK_SPEED_FACT
from assay.host.storage import NETWORK

HDD = ("hdd-5400", "hdd-7200", "hdd-10k", "hdd-15k")
SATA_SSD = ("sata-ssd",)
NVME = ("nvme-consumer", "nvme-data-centre")
_WORDS = {HDD: "an HDD", SATA_SSD: "a SATA SSD", NVME: "an NVMe SSD"}
_PASSED_BY = frozenset({"partition", "lvm", "crypt", "multipath", "disk"})
"""Kinds of layers that hand each request on."""
_DISK_MAKERS = frozenset({"ATA", "SEAGATE", "HGST", "HITACHI", "TOSHIBA", "WDC", "WD", "FUJITSU", "MAXTOR"})
_EMULATED = ("QEMU", "VBOX", "VMWARE", "VIRTUAL", "ELASTIC BLOCK STORE", "PERSISTENTDISK")
_MOST_LAYERS = 64


@dataclasses.dataclass(frozen=True)
class DeviceClass:
    """What is known of a device."""

    classes: tuple[str, ...] = ()
    """Of the table of invariants, those that it can be; none: it is not known."""
    device: str = ""
    """Name and model, or why the class is not known."""
    is_server: bool = False
    """Whether the data are behind a network."""
    protocol: str = ""
    """File system of a server."""

    @property
    def words(self) -> str:
        """Name the class; empty: it is not known."""
        return _WORDS.get(self.classes, "")


def device_class(subject: Subject) -> DeviceClass:
    """Find the class of the device of an operation."""
    found = {_of_target(subject, f"target.{target}.") for target in subject.targets}
    if len(found) == 1:
        return found.pop()
    return DeviceClass(device="its targets are on several devices")


def link_rate(facts: Mapping[str, object]) -> tuple[float, str] | None:
    """Give the nominal rate of the link in bytes a second, and who says so; None: it is not known, or not which."""
    given = facts.get(LINK_FACT)
    if isinstance(given, int | float) and given > 0:
        return float(given), "--link"
    start, _, end = LINK_SPEED_FACT.partition("{interface}")
    speeds = {
        key: float(value)
        for key, value in facts.items()
        if key.startswith(start) and key.endswith(end) and isinstance(value, int | float) and value > 0
    }
    if len(speeds) != 1:
        return None
    ((key, speed),) = speeds.items()
    return speed, f"interface {key.removeprefix(start).removesuffix(end)}"


def _of_target(subject: Subject, prefix: str) -> DeviceClass:
    facts = subject.run.facts
    while facts.get(f"{prefix}upper.fs.type") is not None:
        prefix += "upper."
    kind = facts.get(f"{prefix}fs.type")
    if kind in NETWORK:
        return DeviceClass(is_server=True, protocol=str(kind), device=f"{kind}: the devices are the server's")
    layers = list(_layers(facts, prefix))
    lowest = [layer for place, layer in enumerate(layers) if not _carries_others(layers, place)]
    if not lowest:
        return DeviceClass(device="no device is in the facts")
    names = ", ".join(str(layer.get("name")) for layer in lowest)
    if len(lowest) > 1:
        return DeviceClass(device=f"a volume over {names}")
    (disk,) = lowest
    through = [str(layer.get("kind")) for layer in layers if layer.get("kind") not in _PASSED_BY]
    if through:
        return DeviceClass(device=f"{names} is no plain disk ({through[0]})")
    if subject.is_on_a_host:
        return DeviceClass(device=f"{names} is a disk of a virtual machine")
    return _of_disk(disk)


def _layers(facts: Mapping[str, object], prefix: str) -> Iterator[Mapping[str, object]]:
    for place in range(_MOST_LAYERS):
        start = f"{prefix}device.{place}."
        if f"{start}name" not in facts:
            return
        keys = ("name", "kind", "carries", "is_rotational", "vendor", "model")
        yield {key: facts.get(f"{start}{key}") for key in keys}


def _carries_others(layers: list[Mapping[str, object]], place: int) -> bool:
    """Whether a layer is on another: `carries` of that one names its place."""
    return any(layer.get("carries") == str(place) for layer in layers)


def _of_disk(disk: Mapping[str, object]) -> DeviceClass:
    name, model = str(disk.get("name")), str(disk.get("model") or "").strip()
    described = f"{name} ({model})" if model else name
    if any(word in model.upper() for word in _EMULATED):
        return DeviceClass(device=f"{described} is a virtual disk")
    rotates = disk.get("is_rotational")
    if name.startswith("nvme") and rotates is False:
        return DeviceClass(NVME, described)
    vendor = str(disk.get("vendor") or "").strip().upper()
    if not name.startswith("sd") or vendor not in _DISK_MAKERS or rotates is None:
        return DeviceClass(device=f"the facts do not show what {described} is")
    if rotates:
        return DeviceClass(HDD, described)
    return (
        DeviceClass(SATA_SSD, described)
        if vendor == "ATA"
        else DeviceClass(device=f"{described} is an SSD, not on SATA")
    )
