"""What is done around a phase, outside of what is timed?"""

import enum

from assay.plan.values import Kind


class Place(enum.Enum):
    """Whose caches a step means."""

    CLIENT = "client"
    SERVER = "server"


class Prepare(Kind, kw_only=True):
    """Lay a file set out."""

    set: str
    """File set."""


class Evict(Kind, kw_only=True):
    """Ask the kernel to forget the pages of a set (fsync, then POSIX_FADV_DONTNEED). Needs no privilege."""

    set: str
    """File set."""


class DropCaches(Kind, kw_only=True):
    """Drop page cache, dentries and inodes of a whole machine. Needs root."""

    place: Place = Place.CLIENT
    """Whose caches: the machine that the engine runs on, or the one that serves the data."""


class Remount(Kind, kw_only=True):
    """Unmount and mount the target again. Needs root and a target that is a mount point."""

    target: str
    """Target."""


class Warm(Kind, kw_only=True):
    """Read the first `share` of each file of a set into the page cache."""

    set: str
    """File set."""
    share: float = 1.0
    """Share of each file, from its start."""


class Verify(Kind, kw_only=True):
    """Read a stamped set as a whole, from storage, and compare every block with what was written."""

    set: str
    """File set."""


class Sync(Kind, kw_only=True):
    """`syncfs` on every target."""


class Settle(Kind, kw_only=True):
    """Wait until dirty and write-back pages are back at their base."""

    at_most_s: float
    """Longest wait."""


class Discard(Kind, kw_only=True):
    """Discard all blocks of a set on a block device, whose content is lost."""

    set: str
    """File set."""


class Fill(Kind, kw_only=True):
    """Fill the target's file system to a share of its size."""

    target: str
    """Target."""
    used_share: float
    """Used share to reach."""


class Age(Kind, kw_only=True):
    """Remove and make files of a set again, so that files and free space are as scattered as in use."""

    set: str
    """File set, prepared and whole."""
    churn: float = 1.0
    """Files replaced, as a multiple of the set's files."""


class Remove(Kind, kw_only=True):
    """Remove a marked file set."""

    set: str
    """File set."""


class Sleep(Kind, kw_only=True):
    """Do nothing."""

    seconds: float
    """How long."""


class Command(Kind, kw_only=True):
    """Run a program without a shell; only when the user allowed commands."""

    argv: tuple[str, ...]
    """Program and arguments."""


class Ceilings(Kind, kw_only=True):
    """Measure what this client could ever show; the set's first file serves for the cached pread."""

    set: str
    """File set."""
    seconds: float
    """Time for all of them together."""


Step = (
    Prepare
    | Evict
    | DropCaches
    | Remount
    | Warm
    | Verify
    | Sync
    | Settle
    | Discard
    | Fill
    | Age
    | Remove
    | Sleep
    | Command
    | Ceilings
)
