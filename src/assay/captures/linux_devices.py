"""Tell by its name what a block device of Linux is."""

import re
from typing import Final

from assay.captures.samples import Layer

_LAYERS: Final = (
    (Layer.PARTITION, re.compile(r"(([shv]|xv)d[a-z]+\d+|(nvme\d+n\d+|mmcblk\d+|nbd\d+|rbd\d+|loop\d+|md\d+)p\d+)")),
    (
        Layer.MAPPED,
        re.compile(r"(md[\d_]\S*|bcache\d+|drbd\d+|mapper/\S+|mpath\w+|emcpower\w+|VxVM\d+|luks\S*|\S*-\S+)"),
    ),
    (Layer.MEMORY, re.compile(r"(ram|zram|loop|fd|sr|scd|nullb)\d+")),
)
"""In this order. `dm-0` may be printed by its name (`vg-root`, of sysstat's option -N): other disks have no dash."""
_BY_NUMBER = re.compile(r"dev(\d{1,4})-(\d{1,8})", re.ASCII)
"""As sar without -p names a device: by its numbers."""
_SCSI_DISKS: Final = frozenset({8, *range(65, 72), *range(128, 136)})
_PARTITIONS_OF_SCSI: Final = 16
_MD: Final = 9
_WITHOUT_STORAGE: Final = frozenset({1, 2, 7, 11})


def layer_of(device: str) -> Layer:
    """Give the layer of a device by its name, with or without `/dev/`."""
    name = device.removeprefix("/dev/")
    if (numbers := _BY_NUMBER.fullmatch(name)) is not None:
        major, minor = int(numbers[1]), int(numbers[2])
        if major in _SCSI_DISKS and minor % _PARTITIONS_OF_SCSI:
            return Layer.PARTITION
        if major == _MD:
            return Layer.MAPPED
        return Layer.MEMORY if major in _WITHOUT_STORAGE else Layer.DISK
    return next((layer for layer, pattern in _LAYERS if pattern.fullmatch(name)), Layer.DISK)


def is_vague(device: str) -> bool:
    """Whether the name has a number that one machine gives to disks, and another to mapped devices."""
    numbers = _BY_NUMBER.fullmatch(device)
    return numbers is not None and int(numbers[1]) not in {*_SCSI_DISKS, _MD, *_WITHOUT_STORAGE}
