"""Check that a campaign may overwrite a device: nothing uses it, and it has no signature that the user did not name.

`device_uses` finds what uses it. In the end the kernel is asked: an exclusive open of a block device fails where anybody
holds it (open(2), O_EXCL); what else has the same bytes is kept so while it is written, so that nobody begins to use it
meanwhile. What it carries is what wipefs(8) sees: file systems, RAID and LVM members, partition tables. What another
device in use carries is not overwritten either, by whatever way both come to have it.
"""

import contextlib
import errno
import json
import os
import time
from collections.abc import Collection, Iterator

import msgspec

from assay.devices.device_identity import BlockNode, node_path, number_of
from assay.devices.device_uses import BlockMap, Sharer, in_use, uses
from assay.devices.system_commands import carry_out
from assay.errors import InputError, RunError
from assay.host.block import BLOCK
from assay.host.reading import SystemTree

_PATIENCE_S = 3.0
"""For openers that look at a device and go, such as udev."""
_PAUSE_S = 0.1


class Signature(msgspec.Struct, frozen=True):
    """Something that a device carries."""

    type: str
    uuid: str = ""


@contextlib.contextmanager
def free_device(node: BlockNode, *, over: Collection[str], own: Collection[str]) -> Iterator[None]:
    """Refuse a device that is used, or that carries what was not named; while this is entered, nobody else begins to use it.

    Args:
        node: The device.
        over: Types of signatures that the user named.
        own: UUIDs of the campaign's own file systems.

    Raises:
        InputError: with who uses it, or what it carries.
    """
    with contextlib.ExitStack() as claims:
        _check(node, over, own, claims)
        yield


def _check(node: BlockNode, over: Collection[str], own: Collection[str], claims: contextlib.ExitStack) -> None:
    tree = SystemTree()
    blocks = BlockMap(tree)
    if why := next(uses(tree, blocks, node.name), None):
        raise InputError(f"{node.path}: {why}. Nothing is written to it")
    sharers = blocks.sharers(node.name)
    for sharer in sharers:
        # The layer above has a claimed one for itself, and the parts of a disk may be used by others.
        if sharer.has_parts and not sharer.is_claimed:
            claim = _open_alone(node, sharer, blocks.number(sharer.name))
            if sharer.name == node.name:
                # Who writes to it claims it by himself: mkfs, and then the mount.
                os.close(claim)
            else:
                claims.callback(os.close, claim)
    signatures = _signatures(tree, node.name)
    others = [each for each in signatures if each.uuid not in own or not each.uuid]
    unnamed = sorted({each.type for each in others if each.type not in over})
    if unnamed:
        raise InputError(
            f"{node.path} carries {', '.join(unnamed)}. Nothing is written to it. If all of that may be destroyed, add: "
            f"--destroy-data {node.path} {' '.join(f'--over {each}' for each in unnamed)}"
        )
    absent = sorted(set(over) - {each.type for each in signatures})
    if absent and not own:
        raise InputError(
            f"--over {absent[0]}: {node.path} does not carry that, so it may be another device than you mean. Nothing is "
            "written to it"
        )
    if why := next(_in_use_by_another_way(tree, blocks, sharers, signatures), None):
        raise InputError(f"{node.path} {why}. Nothing is written to it")


def _in_use_by_another_way(
    tree: SystemTree, blocks: BlockMap, sharers: Collection[Sharer], signatures: Collection[Signature]
) -> Iterator[str]:
    """Find a device in use with the same content: an overlay, a network or a second cable may lead to both."""
    uuids = {each.uuid: each.type for each in signatures if each.uuid}
    if not uuids:
        return
    asked = {sharer.name for sharer in sharers}
    for name in in_use(tree, blocks):
        if name in asked:
            continue
        try:
            found_there = _signatures_of(name)
        except OSError:  # such as a disk of the host in a container: no node leads to it
            continue
        for uuid in (each.uuid for each in found_there):
            if uuid in uuids:
                yield (
                    f"carries the {uuids[uuid]} {uuid}, and so does {name}, which is in use: it may be the same storage. If"
                    " it is a copy, take that off it yourself (wipefs --all)"
                )


def _signatures(tree: SystemTree, name: str) -> list[Signature]:
    """Name what a device and its partitions carry."""
    folder = f"{BLOCK}/{name}"
    parts = [each for each in tree.names(folder) if tree.at(f"{folder}/{each}/partition").exists()]
    return [found for each in (name, *parts) for found in _signatures_of(each)]


def _signatures_of(name: str) -> list[Signature]:
    """Name what a device by itself carries; raises RunError where its node is another's."""
    descriptor = _opened(name, os.O_RDONLY)
    try:
        words = ["wipefs", "--no-act", "--json", "--output", "TYPE,UUID", f"/proc/self/fd/{descriptor}"]
        printed = carry_out(words, descriptors=(descriptor,))
    finally:
        os.close(descriptor)
    listed = json.loads(printed)["signatures"] if printed.strip() else []
    return [Signature(str(each["type"]), str(each.get("uuid") or "")) for each in listed]


def _opened(name: str, flags: int) -> int:
    """Open a device by its name in /sys/class/block; raises OSError, RunError where its node is another's."""
    path = node_path(name)
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if number_of(os.fstat(descriptor).st_rdev) != SystemTree().read(f"{BLOCK}/{name}/dev").text:
        os.close(descriptor)
        raise RunError(f"{path} is not the device {name} of the kernel. Nothing is written")
    return descriptor


def _open_alone(node: BlockNode, sharer: Sharer, number: str) -> int:
    """Open a device that has the same bytes, or itself, so that nobody else holds it; gives the descriptor."""
    deadline_s = time.monotonic() + _PATIENCE_S
    why = f" ({sharer.why})" if sharer.why else ""
    while True:
        try:
            return _opened(sharer.name, os.O_RDONLY | os.O_EXCL)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise RunError(f"{node_path(sharer.name)} ({number}): {error.strerror}. Nothing is written") from error
            if time.monotonic() > deadline_s:
                raise InputError(
                    f"{node.path}: the kernel reports that {sharer.name}{why} is in use. Nothing is written to it"
                ) from error
            time.sleep(_PAUSE_S)
