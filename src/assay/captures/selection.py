"""Choose the devices of a capture of which none is a part of another.

A request to a partition is one to its disk as well, and one to a logical volume reaches disks: who adds up all rows
counts it twice or three times. So of each host one layer is taken, the disks where it has them, and the rest is named.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import polars as pl

from assay.captures.samples import Layer
from assay.errors import InputError

_PREFERRED: Final = (
    Layer.POOL,
    Layer.DISK,
    Layer.ADAPTER,
    Layer.VIRTUAL_DISK,
    Layer.MOUNT,
    Layer.MAPPED,
    Layer.SYSTEM,
    Layer.PARTITION,
    Layer.MEMORY,
)
"""The first that a host has is taken. The disks of a pool have what its RAID level adds to the requests of the host, so the
pool is before them; a virtual disk is before what only sums a host up."""
_MOST_NAMED: Final = 4


@dataclass(frozen=True)
class Selection:
    """The rows that are added up.

    Attributes:
        table: Rows of `SampleRows.table`.
        notes: What was left out, and why.
    """

    table: pl.DataFrame
    notes: tuple[str, ...]


def select(table: pl.DataFrame, devices: Sequence[str] = ()) -> Selection:
    """Choose devices.

    Args:
        table: The samples of all captures.
        devices: Patterns of the user (`sd*`, `db1/nvme0n1`); none: of each host the layer that storage sees.

    Raises:
        InputError: A pattern matches no device.
    """
    known = table.select("host", "device", "layer").unique(maintain_order=True).rows()
    if devices:
        chosen = _matching(known, devices)
        notes = _asked_for(chosen)
    else:
        chosen = _of_preferred_layer(known)
        notes = _left_out(known, chosen)
    wanted = pl.DataFrame([*chosen], schema=["host", "device", "layer"], orient="row")
    return Selection(table.join(wanted, on=["host", "device", "layer"], how="semi", maintain_order="left"), notes)


_Device = tuple[str, str, str]


def _matching(known: Sequence[_Device], patterns: Sequence[str]) -> list[_Device]:
    for pattern in patterns:
        if not any(_matches(device, pattern) for device in known):
            names = sorted({name for _, name, _ in known})
            more = f" and {len(names) - 12} more" if len(names) > 12 else ""
            raise InputError(f"--only '{pattern}' matches no device; there are {', '.join(names[:12])}{more}")
    return [device for device in known if any(_matches(device, pattern) for pattern in patterns)]


def _matches(device: _Device, pattern: str) -> bool:
    host, name, _ = device
    return fnmatchcase(name, pattern) or fnmatchcase(f"{host}/{name}", pattern)


def _asked_for(chosen: Sequence[_Device]) -> tuple[str, ...]:
    layers = {Layer(layer) for _, _, layer in chosen}
    if len(layers) == 1:
        return ()
    names = " and ".join(sorted(layers))
    return (
        f"devices of several kinds were asked for ({names}): a request that passes through two of them counts twice",
    )


def _of_preferred_layer(known: Sequence[_Device]) -> list[_Device]:
    layers: defaultdict[str, set[str]] = defaultdict(set)
    for host, _, layer in known:
        layers[host].add(layer)
    taken = {host: next(layer for layer in _PREFERRED if layer in found) for host, found in layers.items()}
    return [device for device in known if device[2] == taken[device[0]]]


def _left_out(known: Sequence[_Device], chosen: Sequence[_Device]) -> tuple[str, ...]:
    rest: defaultdict[str, list[str]] = defaultdict(list)
    for _, name, layer in sorted({*known} - {*chosen}):
        if name not in rest[layer]:
            rest[layer].append(name)
    layers = sorted({layer for _, _, layer in chosen})
    notes = []
    for layer, names in rest.items():
        named = ", ".join(names[:_MOST_NAMED]) + (
            f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        )
        why = (
            "no storage is below"
            if layer == Layer.MEMORY
            else f"requests to it are counted at the {' and '.join(layers)}"
        )
        if layer == Layer.MAPPED and any(name.startswith("md") for name in names):
            why += (
                "; the disks of an md RAID have its parity and mirrors, too: --only 'md*' counts what was asked of it"
            )
        notes.append(f"{layer} {named}: left out, {why} (--only)")
    return tuple(notes)
