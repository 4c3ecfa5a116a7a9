"""May storage move fewer bytes than are read, although memory had none of them?

A file system that compresses fetches compressed bytes; a device that deduplicates or compresses moves fewer than the
one above it. Then the bytes that were fetched show nothing about a cache (METHOD 2.8). Mount options do not decide it:
a file, or a folder for its new files, may be compressed by a property of its own. The content does: what cannot be made
smaller is moved in full.

Limits: a set that is used as it is (`reuse = "trust"`) may hold anything. A file system behind a server is the server's.
"""

from collections.abc import Iterable

from assay import plan
from assay.analysis.record import RunRecord
from assay.plan.walk import job_ops

_REDUCING = frozenset({"bcachefs", "btrfs", "erofs", "f2fs", "ntfs3", "squashfs", "ubifs", "zfs"})
"""File systems that can keep data in fewer bytes than it has."""
_MAY_REDUCE = frozenset({"dm", "lvm"})
"""Kinds of devices of which VDO, which does so too, cannot be distinguished."""


def can_be_reduced(run: RunRecord, sets: Iterable[str]) -> bool:
    """Whether some of these sets may hold content that takes fewer bytes in storage than it has."""
    return any(_is_reducible(run.plan.file_set(name)) for name in sets) or (
        # In a slot, such a write may go to any file.
        any(op.flags.keeps_buffer for phase in run.plan.phases for job in phase.jobs for op in job_ops(job))
    )


def reduces(file_systems: Iterable[str | None]) -> bool:
    """Whether one of these file systems may keep data in fewer bytes than it has."""
    return not _REDUCING.isdisjoint(file_systems)


def reduces_below(run: RunRecord, target: str) -> bool:
    """Whether what the file behind a loop device of a target is kept on may do so."""
    below = [
        (key, value)
        for key, value in run.facts.items()
        if key.startswith(f"target.{target}.device.") and ".backing." in key
    ]
    return any(
        (key.endswith(".fs.type") and value in _REDUCING) or (key.endswith(".kind") and value in _MAY_REDUCE)
        for key, value in below
    )


def _is_reducible(file_set: plan.FileSet) -> bool:
    content = file_set.content
    is_smaller = content.zeros or content.compress_ratio > 1 or content.dedupe_ratio > 1
    return is_smaller or file_set.reuse is plan.Reuse.TRUST
