"""Which files are there, where do they lie, and what do they hold?"""

import enum
from typing import Final

from assay.plan.distributions import Distribution
from assay.plan.values import Kind, Value

BLOCK_SCHEME: Final = "block:"
"""How the address of a block device begins."""


class Target(Value, kw_only=True, omit_defaults=True):
    """A place that stores data: `file:///absolute/dir`, or `block:/dev/name`."""

    name: str
    """Name that file sets refer to."""
    uri: str
    """Its address."""
    destroy_data: bool = False
    """Whether what is on a block device may be overwritten; without it nothing is written there."""
    device: str = ""
    """Number of the block device that the user meant, `major:minor`; empty: whichever the address leads to."""


class Flat(Kind, kw_only=True):
    """All files in the set's own folder."""


class PerDirectory(Kind, kw_only=True):
    """`files` files in each of as many numbered directories as are needed."""

    files: int
    """Files in one directory."""


class Tree(Kind, kw_only=True):
    """Files only in the leaves of a tree of fixed shape."""

    width: int
    """Sub-directories of each directory."""
    depth: int
    """Levels below the set's folder."""


class TreeGamma(Kind, kw_only=True):
    """A tree whose width is drawn per directory (Filebench)."""

    mean_width: float
    """Mean sub-directories or files of a directory."""
    gamma: float
    """Shape of the gamma distribution; 0 is exact."""


Layout = Flat | PerDirectory | Tree | TreeGamma


class Reuse(enum.Enum):
    """Whether a set that is already there may serve."""

    NEVER = "never"
    IF_MATCHES = "if_matches"
    TRUST = "trust"


class Allocate(enum.Enum):
    """How file blocks come to be."""

    WRITE = "write"
    FALLOCATE = "fallocate"
    SPARSE = "sparse"


class Content(Value, kw_only=True):
    """What written bytes look like: size ratio before and after compression, and before and after deduplication."""

    compress_ratio: float = 1.0
    """Size before / size after compression (zstd level 3), 1 to 10; 1 is incompressible."""
    dedupe_ratio: float = 1.0
    """Blocks of 4 KiB written / distinct ones; 1 is all unique. It holds for transfers of whole blocks."""
    stamped: bool = False
    """Whether every sector carries its place, its generation and a checksum, verified on read."""
    zeros: bool = False
    """Nothing but zeroes, which many devices do not store: to compare with, by itself."""


class FileSet(Value, kw_only=True):
    """Files of one kind, named by index: no list of names exists anywhere."""

    name: str
    """Name that phases refer to."""
    target: str
    """Target that holds it."""
    path: str
    """Folder of the set, relative to the target's data folder; it carries Assay's mark."""
    files: int
    """Number of indices: the most files that the set can hold."""
    size: Distribution
    """Size of each file in bytes."""
    layout: Layout = Flat()
    """How files spread over directories."""
    file_name: str = "f{index}"
    """File name; `{index}` is replaced by the zero-padded index."""
    existing_share: float = 1.0
    """Share of the files that exist after `prepare`; the rest is for creation during the run."""
    reuse: Reuse = Reuse.NEVER
    """Whether a set that is already there may serve: lay it out anew, use it when its mark says that it is the
    same, or use whatever is there without looking."""
    content: Content = Content()
    """What the bytes look like."""
    allocate: Allocate = Allocate.WRITE
    """How blocks are allocated: written with content, `fallocate`, or holes."""
    create_workers: int = 2
    """Threads that create it."""
    keep: bool = False
    """Whether the set stays on the target after the run; if not, it is removed however the run ends."""
