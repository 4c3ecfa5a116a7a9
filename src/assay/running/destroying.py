"""Hold the block devices that a Plan overwrites, and refuse what the user has not allowed to be destroyed."""

import contextlib
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from assay.devices.device_identity import BlockNode, block_node, measured_node
from assay.devices.free_device import free_device
from assay.errors import InputError
from assay.own_files import NotOwnError, check_above
from assay.plan import Plan, Target
from assay.plan.op_rules import CHANGES
from assay.plan.walk import job_ops, touched_sets
from assay.targets import BLOCK, device_of


class DestroyAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What may be destroyed, as the user wrote it."""

    devices: tuple[str, ...] = ()
    """Names of block devices."""
    over: tuple[str, ...] = ()
    """Types of signatures that may be on them."""


NOTHING = DestroyAsked()


def with_permission(plan: Plan, asked: DestroyAsked) -> Plan:
    """Allow a Plan to overwrite the devices that the user named; raises InputError for a name that is no device's."""
    if not asked.devices:
        return plan
    numbers = {block_node(name.removeprefix(BLOCK)).identity.number for name in asked.devices}
    targets = tuple(
        msgspec.structs.replace(target, destroy_data=_number_of(target) in numbers) for target in plan.targets
    )
    return msgspec.structs.replace(plan, targets=targets)


@contextlib.contextmanager
def destroyable(plan: Plan, asked: DestroyAsked, *, has_clients: bool = False) -> Iterator[Plan]:
    """While this is entered, nobody else begins to use a device that the Plan overwrites; gives the Plan with their numbers.

    Args:
        plan: What is to be done.
        asked: What the user allows.
        has_clients: Whether other machines work, of whose devices nothing is known here.

    Raises:
        InputError: a device would be overwritten that is in use, carries what was not named, or may not be destroyed.
        RunError: it cannot be looked at.
    """
    if asked.over and not asked.devices:
        raise InputError("--over needs --destroy-data, which names the device")
    if has_clients and (asked.devices or any(target.destroy_data for target in plan.targets)):
        raise InputError(
            "--destroy-data: what uses a device of another machine cannot be checked from here. Measure with one machine, or"
            " only read"
        )
    named = {name: _named_node(name) for name in asked.devices}
    measured = {_number_of(target) for target in plan.targets} if named else set()
    for name, node in named.items():
        if node.identity.number not in measured:
            raise InputError(
                f"--destroy-data {name}: nothing is measured on it, so it may be another device than you mean"
            )
    with contextlib.ExitStack() as held:
        targets = []
        for target in plan.targets:
            device = device_of(target)
            if device is not None and not target.destroy_data and (writes := _writing(plan, target)):
                raise InputError(
                    f"{writes} writes to {device}, which would destroy what is on it. If it may:"
                    f" --destroy-data {shlex.quote(str(device))}"
                )
            if device is None or has_clients:
                targets.append(target)
                continue
            node = measured_node(str(device))
            if target.destroy_data:
                held.enter_context(_allowed(node, named, asked.over))
            targets.append(msgspec.structs.replace(target, device=node.identity.number))
        yield msgspec.structs.replace(plan, targets=tuple(targets))


def _named_node(name: str) -> BlockNode:
    """Look at a device whose data may be destroyed; raises InputError where other users decide what its name leads to."""
    path = name.removeprefix(BLOCK)
    node = block_node(path)
    try:
        check_above(Path(path), cure="name the device by the node that the kernel made, such as /dev/nvme0n1")
    except NotOwnError as error:
        raise InputError(f"--destroy-data {name}: other users can put another device in its place: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a block device, such as /dev/nvme0n1") from None
    return node


def _number_of(target: Target) -> str | None:
    device = device_of(target)
    return None if device is None else block_node(str(device), is_read=True).identity.number


@contextlib.contextmanager
def _allowed(node: BlockNode, named: dict[str, BlockNode], over: Collection[str]) -> Iterator[None]:
    if all(each.identity.number != node.identity.number for each in named.values()):
        raise InputError(f"this destroys what is on {node.path}. If it may: --destroy-data {shlex.quote(node.path)}")
    with free_device(node, over=over, own=()):
        yield


def _writing(plan: Plan, target: Target) -> str:
    """Name an operation that writes to a target; empty: none does."""
    sets = {one.name for one in plan.file_sets if one.target == target.name}
    for phase in plan.phases:
        for job in phase.jobs:
            for op in job_ops(job):
                if op.op in CHANGES and sets & set(touched_sets(job, [op])):
                    return f"phase '{phase.name}'"
    return ""
