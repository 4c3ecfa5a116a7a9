"""What does a worker do to which file?"""

import enum

from assay.plan.access import Access, Whole
from assay.plan.distributions import ANYWHERE, Distribution, Fixed
from assay.plan.values import Kind, Value


class OpKind(enum.Enum):
    """Kinds of operations; the Rust twin says for each what `pick` and `slot` mean, docs/reference/operations.md too."""

    READ = "read"
    WRITE = "write"
    FSYNC = "fsync"
    FDATASYNC = "fdatasync"
    SYNC_FILE_RANGE = "sync_file_range"
    CREATE = "create"
    OPEN = "open"
    CLOSE = "close"
    STAT = "stat"
    FSTAT = "fstat"
    UNLINK = "unlink"
    RENAME = "rename"
    LINK = "link"
    SYMLINK = "symlink"
    TRUNCATE = "truncate"
    TRUNCATE_AT = "truncate_at"
    FALLOCATE = "fallocate"
    PUNCH_HOLE = "punch_hole"
    DISCARD = "discard"
    WRITE_ZEROES = "write_zeroes"
    MKDIR = "mkdir"
    RMDIR = "rmdir"
    READDIR = "readdir"
    READDIR_STAT = "readdir_stat"
    CLONE = "clone"
    COPY = "copy"
    CHMOD = "chmod"
    SETXATTR = "setxattr"
    GETXATTR = "getxattr"
    ADVISE = "advise"
    LOCK = "lock"
    LOCK_SHARED = "lock_shared"
    UNLOCK = "unlock"
    SPAWN = "spawn"


class Next(Kind, kw_only=True):
    """One after another, shared by all workers; sequential access moves on when a file is through."""


class RandomFile(Kind, kw_only=True, tag="random"):
    """Drawn anew for each operation from the existing files."""

    distribution: Distribution = ANYWHERE
    """Which files are likelier: a position among them, or a rank."""


class Indexed(Kind, kw_only=True):
    """By a variable of the front end, modulo the number of files."""

    value: Distribution
    """The value."""


class New(Kind, kw_only=True):
    """The next index that does not exist yet."""


class Existing(Kind, kw_only=True):
    """The next existing file in rotation; `unlink` takes each once."""


class InTurn(Kind, kw_only=True):
    """The existing file by name that any operation with this pick took the longest ago; `existing` takes the same."""


class Own(Kind, kw_only=True):
    """File `worker modulo files`: each worker its own."""


class Listed(Kind, kw_only=True):
    """The existing files as their directories list them, each once; the listing is in no operation's time."""


class Shuffled(Kind, kw_only=True):
    """Each once in a random order: of the existing files or, for `create`, of the free names."""


Pick = Next | RandomFile | Indexed | New | Existing | InTurn | Own | Listed | Shuffled


class FromSet(Kind, kw_only=True, tag="set"):
    """A file picked from a set; `slot` keeps it for later operations of the worker."""

    set: str
    pick: Pick
    slot: int | None = None


class Slot(Kind, kw_only=True):
    """The file that an earlier operation of this worker left in a slot."""

    slot: int


FileRef = FromSet | Slot


class OpFlags(Value, kw_only=True):
    """Extras of an operation: flags and pieces of its calls, an advice, what a write gives, what spawn runs."""

    dsync: bool = False
    nowait: bool = False
    cached_first: bool = False
    high_priority: bool = False
    vectors: int = 0
    advice: str = ""
    keeps_buffer: bool = False
    cold_buffer: bool = False
    chunk_bytes: int = 0
    argv: tuple[str, ...] = ()


class Op(Value, kw_only=True):
    """An operation; `name` is the key of its histogram."""

    op: OpKind
    name: str
    file: FileRef
    access: Access = Whole()
    size: Distribution = Fixed(value=0.0)
    flags: OpFlags = OpFlags()
