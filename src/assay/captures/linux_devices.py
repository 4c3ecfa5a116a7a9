"""Tell by its name what a block device of Linux is."""

import re
from typing import Final

from assay.captures.samples import Layer

_LAYERS: Final = (
    (Layer.MAPPED, re.compile(r"(dm-\d+|md\d+|md_\S+|bcache\d+|drbd\d+|mapper/\S+|\S+-\S+--?\S+|VxVM\d+)")),
    (Layer.MEMORY, re.compile(r"(ram|zram|loop|fd|sr|scd|nullb)\d+")),
    (Layer.PARTITION, re.compile(r"(([shv]|xv)d[a-z]+\d+|(nvme\d+n\d+|mmcblk\d+|nbd\d+|rbd\d+|loop\d+)p\d+)")),
)
"""In this order. `dm-0` may be printed by its name (`vg-root`, of sysstat's option -N)."""


def layer_of(device: str) -> Layer:
    """Give the layer of a device by its name, with or without `/dev/`."""
    name = device.removeprefix("/dev/")
    return next((layer for layer, pattern in _LAYERS if pattern.fullmatch(name)), Layer.DISK)
