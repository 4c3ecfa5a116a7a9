"""Where in a file does an operation go?"""

import enum

from assay.plan.distributions import ANYWHERE, Distribution
from assay.plan.values import Kind


class WholeFile(Kind, kw_only=True, tag="whole"):
    """All of the file."""


class Slice(Kind, kw_only=True):
    """The worker's equal share: worker i of n gets the i-th part."""


class Range(Kind, kw_only=True):
    """From a byte on, for a length."""

    from_bytes: int
    """First byte."""
    length_bytes: int
    """Length."""


Region = WholeFile | Slice | Range


class Coverage(enum.Enum):
    """Whether random access visits a block again before all others had their turn."""

    WITH_REPEATS = "with_repeats"
    EACH_ONCE = "each_once"
    ROUNDS = "rounds"


class Sequential(Kind, kw_only=True):
    """Upwards; at the end start over (`wrap`) or be exhausted."""

    region: Region = WholeFile()
    """Part of the file."""
    wrap: bool = True
    """Start over at the end; otherwise the worker is exhausted there."""


class SharedStream(Kind, kw_only=True, tag="stream"):
    """Upwards as one stream, which all workers of the job and all its operations on the file go on with (pick `own`)."""

    region: Region = WholeFile()
    """Part of the file."""
    wrap: bool = True
    """Start over at the end; otherwise it is exhausted there."""
    jump_share: float = 0.0
    """Share of the operations that begin at a random place, from which the stream then goes on."""


class Backward(Kind, kw_only=True):
    """Downwards from the end."""

    region: Region = WholeFile()
    """Part of the file."""
    wrap: bool = True
    """Start over at the end of the region; otherwise the worker is exhausted."""


class Stride(Kind, kw_only=True):
    """Upwards, leaving gaps: `stride_bytes` from the start of one operation to the start of the next."""

    stride_bytes: int
    """From the start of one operation to the start of the next."""
    region: Region = WholeFile()
    """Part of the file."""
    wrap: bool = True
    """Start over at the end; otherwise the worker is exhausted there."""


class RandomAccess(Kind, kw_only=True, tag="random"):
    """Jumping; offsets are multiples of `align_bytes` (0: of the operation's size)."""

    region: Region = WholeFile()
    """Part of the file."""
    distribution: Distribution = ANYWHERE
    """Which blocks are likelier."""
    coverage: Coverage = Coverage.WITH_REPEATS
    """Independent draws; every block once, then exhausted; or every block once, then a new order, on and on."""
    align_bytes: int = 0
    """Offsets are multiples of this; 0: of the operation's size."""


class Append(Kind, kw_only=True):
    """At the end of the file."""


class Whole(Kind, kw_only=True):
    """The whole file from start to end, in pieces, as one operation (0: pieces of the operation's size)."""

    chunk_bytes: int = 0
    """Size of a piece; 0: the operation's size."""
    to_end: bool = False
    """A read goes on to where the file ends now, which a read of nothing tells; otherwise to where it ended when it was laid
    out."""


Access = Sequential | SharedStream | Backward | Stride | RandomAccess | Append | Whole
