"""Find out where a load goes: into a directory, or onto a block device as it is."""

import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import quote_from_bytes

import msgspec

from assay.devices.device_identity import BlockNode, block_node, logical_block_bytes, measured_node
from assay.errors import InputError, RunError
from assay.plan import Target
from assay.targets import BLOCK, are_remote, check_directory, is_text, named, of_directory


class DevicePlace(msgspec.Struct, frozen=True, kw_only=True):
    """A block device that is measured as it is, without a file system."""

    path: Path
    """As the user named it, from the root on."""
    size_bytes: int | None = None
    """None: it is one of other machines."""
    logical_block_bytes: int | None = None
    """What offsets and sizes of direct I/O are multiples of; None: unknown."""
    destroy_data: bool = False
    """Whether what is on it may be overwritten."""


Place = Path | DevicePlace
"""Where a load goes: a directory, or a block device."""


def of_place(name: str, place: Place) -> Target:
    """Make the target of a directory or a block device."""
    if isinstance(place, Path):
        return of_directory(name, place)
    return Target(name=name, uri=f"{BLOCK}{quote_from_bytes(os.fsencode(place.path))}", destroy_data=place.destroy_data)


def check_place(name: str, *, destroy: Collection[str] = ()) -> Place:
    """Return the directory, or of `block:/dev/name` the block device, that a word of the command line means.

    Args:
        name: As the user wrote it.
        destroy: Names of devices whose data may be destroyed, by whichever names.

    Raises:
        InputError: it is neither, or cannot be measured.
        RunError: it is unknown whether it is.
    """
    if not name.startswith(BLOCK):
        return check_directory(name)
    path = Path(name.removeprefix(BLOCK))
    if are_remote():
        return DevicePlace(path=named(path))
    if not path.is_absolute() or not is_text(path):
        raise InputError(f"{name}: write the device from the root on, such as {BLOCK}/dev/nvme0n1")
    node = measured_node(str(path))
    size_bytes = node.identity.size_bytes
    is_named = any(_is_same_device(each, node) for each in destroy)
    return DevicePlace(
        path=path,
        size_bytes=size_bytes,
        logical_block_bytes=logical_block_bytes(node),
        destroy_data=is_named,
    )


def device_bytes(path: Path) -> int | None:
    """Give the size of a block device; None where there is none of that name that this user can open."""
    try:
        return block_node(str(path), is_read=True).identity.size_bytes
    except (InputError, RunError):
        return None


def _is_same_device(name: str, node: BlockNode) -> bool:
    return block_node(name.removeprefix(BLOCK), is_read=True).identity.number == node.identity.number
