"""The Plan: what to do, complete and explicit.

A front end makes one, the engine carries it out, the bundle keeps it. The Rust twin with the same fields is
`engine/src/plan.rs`; `tests/unit/test_seams.py` sends every variant through both. Units are in the names: `_s` seconds,
`_bytes` bytes, `_per_s` rates. Shares lie between 0 and 1.
"""

import enum
from collections.abc import Sequence

import msgspec

from assay.errors import PlanError
from assay.tags import snake_case

SCHEMA = "assay.plan/1"
RESERVE_BYTES = 256 << 20
"""What stays free on every target if nobody says otherwise."""


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything in a Plan: immutable, keyword-only, strict."""


class _Kind(Value, kw_only=True, tag_field="kind", tag=snake_case):
    """Base of the members of a tagged union: JSON carries `kind`."""


# -- distributions -----------------------------------------------------------------------------------------------------


class Fixed(_Kind, kw_only=True):
    """Always the same."""

    value: float
    """The value."""


class Uniform(_Kind, kw_only=True):
    """Equally likely between two bounds, both included for whole numbers."""

    min: float
    """Lower bound."""
    max: float
    """Upper bound."""


class Normal(_Kind, kw_only=True):
    """Normal."""

    mean: float
    """Mean."""
    deviation: float
    """Standard deviation."""


class Exponential(_Kind, kw_only=True):
    """Exponential."""

    mean: float
    """Mean."""


class Gamma(_Kind, kw_only=True):
    """Gamma: `min` plus a draw of the given mean and shape."""

    mean: float
    """Mean of the draw."""
    shape: float
    """Shape."""
    min: float = 0.0
    """Added to each draw."""


class Lognormal(_Kind, kw_only=True):
    """Log-normal; `sigma` is the standard deviation of the logarithm."""

    median: float
    """Median."""
    sigma: float
    """Standard deviation of the logarithm."""


class Zipf(_Kind, kw_only=True):
    """Zipf over ranks; rank 0 is the likeliest, scattered over the range if `scramble`."""

    theta: float
    """Exponent."""
    scramble: bool = True
    """Scatter the ranks over the range, so that likely ones are not neighbours."""


class Pareto(_Kind, kw_only=True):
    """Share `h` of the accesses goes to share `1 - h` of the range."""

    h: float
    """Share of the accesses, 0.5 to 1."""
    scramble: bool = True
    """Scatter the ranks over the range."""


class HotSpot(_Kind, kw_only=True):
    """Share `access_share` of the accesses goes to the first `range_share` of the range."""

    range_share: float
    """Share of the range that is hot, from its start."""
    access_share: float
    """Share of the accesses that goes there."""


class Tabular(_Kind, kw_only=True):
    """Weighted segments `(weight, min, max)`, uniform inside each."""

    rows: tuple[tuple[float, float, float], ...]
    """Segments: weight, lower bound, upper bound."""


Distribution = Fixed | Uniform | Normal | Exponential | Gamma | Lognormal | Zipf | Pareto | HotSpot | Tabular

ANYWHERE = Uniform(min=0.0, max=1.0)
"""Every position equally likely."""


# -- targets and file sets ---------------------------------------------------------------------------------------------


class Origin(Value, kw_only=True):
    """The front end and the text that the Plan was made from."""

    front_end: str
    source: str
    sha256: str


class Untranslated(Value, kw_only=True):
    """Something of the source that has no equal in the Plan."""

    what: str
    why: str


class Target(Value, kw_only=True):
    """A place that stores data: `file:///absolute/dir`."""

    name: str
    """Name that file sets refer to."""
    uri: str
    """Its address."""


class Flat(_Kind, kw_only=True):
    """All files in the set's own folder."""


class PerDirectory(_Kind, kw_only=True):
    """`files` files in each of as many numbered directories as are needed."""

    files: int
    """Files in one directory."""


class Tree(_Kind, kw_only=True):
    """Files only in the leaves of a tree of fixed shape."""

    width: int
    """Sub-directories of each directory."""
    depth: int
    """Levels below the set's folder."""


class TreeGamma(_Kind, kw_only=True):
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

    def __post_init__(self) -> None:
        """Refuse what cannot be laid out."""
        if self.files < 1:
            raise PlanError(f"file set '{self.name}': files is {self.files}; it must be 1 or more")
        if not 0.0 <= self.existing_share <= 1.0:
            raise PlanError(f"file set '{self.name}': existing_share is {self.existing_share}; it lies between 0 and 1")
        if self.create_workers < 1:
            raise PlanError(f"file set '{self.name}': create_workers is {self.create_workers}; it must be 1 or more")


# -- steps -------------------------------------------------------------------------------------------------------------


class Place(enum.Enum):
    """Whose caches a step means."""

    CLIENT = "client"
    SERVER = "server"


class Prepare(_Kind, kw_only=True):
    """Lay a file set out."""

    set: str
    """File set."""


class Evict(_Kind, kw_only=True):
    """Ask the kernel to forget the pages of a set (fsync, then POSIX_FADV_DONTNEED). Needs no privilege."""

    set: str
    """File set."""


class DropCaches(_Kind, kw_only=True):
    """Drop page cache, dentries and inodes of a whole machine. Needs root."""

    place: Place = Place.CLIENT
    """Whose caches: the machine that the engine runs on, or the one that serves the data."""


class Remount(_Kind, kw_only=True):
    """Unmount and mount the target again. Needs root and a target that is a mount point."""

    target: str
    """Target."""


class Warm(_Kind, kw_only=True):
    """Read the first `share` of each file of a set into the page cache."""

    set: str
    """File set."""
    share: float = 1.0
    """Share of each file, from its start."""


class Verify(_Kind, kw_only=True):
    """Read a stamped set as a whole and compare every block with what was written."""

    set: str
    """File set."""


class Sync(_Kind, kw_only=True):
    """`syncfs` on every target."""


class Settle(_Kind, kw_only=True):
    """Wait until dirty and write-back pages are back at their base."""

    at_most_s: float
    """Longest wait."""


class Fill(_Kind, kw_only=True):
    """Fill the target's file system to a share of its size."""

    target: str
    """Target."""
    used_share: float
    """Used share to reach."""


class Age(_Kind, kw_only=True):
    """Remove and make files of a set again, so that files and free space are as scattered as in use."""

    set: str
    """File set, prepared and whole."""
    churn: float = 1.0
    """Files replaced, as a multiple of the set's files."""


class Remove(_Kind, kw_only=True):
    """Remove a marked file set."""

    set: str
    """File set."""


class Sleep(_Kind, kw_only=True):
    """Do nothing."""

    seconds: float
    """How long."""


class Command(_Kind, kw_only=True):
    """Run a program without a shell; only when the user allowed commands."""

    argv: tuple[str, ...]
    """Program and arguments."""


class Ceilings(_Kind, kw_only=True):
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
    | Fill
    | Age
    | Remove
    | Sleep
    | Command
    | Ceilings
)


# -- operations --------------------------------------------------------------------------------------------------------


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
    FALLOCATE = "fallocate"
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


class Next(_Kind, kw_only=True):
    """One after another, shared by all workers; sequential access moves on when a file is through."""


class RandomFile(_Kind, kw_only=True, tag="random"):
    """Drawn anew for each operation from the existing files."""

    distribution: Distribution = ANYWHERE
    """Which files are likelier: a position among them, or a rank."""


class Indexed(_Kind, kw_only=True):
    """By a variable of the front end, modulo the number of files."""

    value: Distribution
    """The value."""


class New(_Kind, kw_only=True):
    """The next index that does not exist yet."""


class Existing(_Kind, kw_only=True):
    """The next existing file in rotation; `unlink` takes each once."""


class Own(_Kind, kw_only=True):
    """File `worker modulo files`: each worker its own."""


class Listed(_Kind, kw_only=True):
    """The existing files as their directories list them, each once; the listing is in no operation's time."""


class Shuffled(_Kind, kw_only=True):
    """Each once in a random order: of the existing files or, for `create`, of the free names."""


Pick = Next | RandomFile | Indexed | New | Existing | Own | Listed | Shuffled


class FromSet(_Kind, kw_only=True, tag="set"):
    """A file picked from a set; `slot` keeps it for later operations of the worker."""

    set: str
    pick: Pick
    slot: int | None = None


class Slot(_Kind, kw_only=True):
    """The file that an earlier operation of this worker left in a slot."""

    slot: int


FileRef = FromSet | Slot


class WholeFile(_Kind, kw_only=True, tag="whole"):
    """All of the file."""


class Slice(_Kind, kw_only=True):
    """The worker's equal share: worker i of n gets the i-th part."""


class Range(_Kind, kw_only=True):
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


class Sequential(_Kind, kw_only=True):
    """Upwards; at the end start over (`wrap`) or be exhausted."""

    region: Region = WholeFile()
    """Part of the file."""
    wrap: bool = True
    """Start over at the end; otherwise the worker is exhausted there."""


class Backward(_Kind, kw_only=True):
    """Downwards from the end."""

    region: Region = WholeFile()
    """Part of the file."""
    wrap: bool = True
    """Start over at the end of the region; otherwise the worker is exhausted."""


class Stride(_Kind, kw_only=True):
    """Upwards, leaving gaps: `stride_bytes` from the start of one operation to the start of the next."""

    stride_bytes: int
    """From the start of one operation to the start of the next."""
    region: Region = WholeFile()
    """Part of the file."""
    wrap: bool = True
    """Start over at the end; otherwise the worker is exhausted there."""


class RandomAccess(_Kind, kw_only=True, tag="random"):
    """Jumping; offsets are multiples of `align_bytes` (0: of the operation's size)."""

    region: Region = WholeFile()
    """Part of the file."""
    distribution: Distribution = ANYWHERE
    """Which blocks are likelier."""
    coverage: Coverage = Coverage.WITH_REPEATS
    """Independent draws; every block once, then exhausted; or every block once, then a new order, on and on."""
    align_bytes: int = 0
    """Offsets are multiples of this; 0: of the operation's size."""


class Append(_Kind, kw_only=True):
    """At the end of the file."""


class Whole(_Kind, kw_only=True):
    """The whole file from start to end, in pieces, as one operation (0: pieces of the operation's size)."""

    chunk_bytes: int = 0
    """Size of a piece; 0: the operation's size."""


Access = Sequential | Backward | Stride | RandomAccess | Append | Whole


class OpFlags(Value, kw_only=True):
    """Extras of an operation: flags and pieces of its calls, an advice, what a write gives, what spawn runs."""

    dsync: bool = False
    nowait: bool = False
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


# -- bodies and jobs ---------------------------------------------------------------------------------------------------


class TokenUnit(enum.Enum):
    """What a token of a rate stands for."""

    EVENT = "event"
    OP = "op"
    DATA_OP = "data_op"
    MEBIBYTE = "mebibyte"


class Do(_Kind, kw_only=True, tag="op"):
    """Issue an operation."""

    op: Op
    """The operation."""


class Group(_Kind, kw_only=True):
    """Actions that are also timed together, under a name of their own."""

    name: str
    """Key of the group's histogram."""
    actions: tuple["Action", ...]
    """Members."""
    laps: bool = False
    """Whether each completion is also told by itself, with its worker, end and latency (`laps` in the event stream)."""


class Branch(Value, kw_only=True):
    """One branch of a choice."""

    weight: float
    """Relative weight."""
    actions: tuple["Action", ...]
    """What it does."""


class Choice(_Kind, kw_only=True):
    """One of several branches, by weight."""

    branches: tuple[Branch, ...]
    """Weights and branches."""


class Repeat(_Kind, kw_only=True):
    """A number of times."""

    times: int
    """How often."""
    actions: tuple["Action", ...]
    """Members."""


class Wait(_Kind, kw_only=True):
    """Take from a semaphore that all workers of the phase share, 0 at first; ends the worker when all of them wait."""

    semaphore: str
    """Its name."""
    count: int = 1
    """How much."""


class Post(_Kind, kw_only=True):
    """Give to a semaphore."""

    semaphore: str
    """Its name."""
    count: int = 1
    """How much."""


class Token(_Kind, kw_only=True):
    """Take a token of a rate that workers share."""

    bucket: str
    """Its name."""
    rate_per_s: float
    """Tokens per second, over all takers."""
    unit: TokenUnit
    """What one token stands for: a pass of the loop (one is taken here), or an operation, a data operation or a MiB of
    data (what the worker did since it took last is taken)."""


class Think(_Kind, kw_only=True):
    """Pause, asleep or burning CPU."""

    seconds: Distribution
    """How long."""
    burn: bool = False
    """Burn CPU instead of sleeping."""


class FinishOn(_Kind, kw_only=True):
    """The worker is done once an operation (empty: all of its data operations) has reached a count."""

    op: str = ""
    """Name of the operation; empty: all of the worker's data operations."""
    ops: int | None = None
    """Operations, if counted."""
    bytes: int | None = None
    """Bytes, if counted."""


Action = Do | Group | Choice | Repeat | Wait | Post | Token | Think | FinishOn


class Loop(_Kind, kw_only=True):
    """Actions in order, again and again."""

    actions: tuple[Action, ...]


class ScriptGroup(Value, kw_only=True):
    """Operations that one line of a script does in order, with its file, offset and size; also timed together.

    It is broken off where one fails. Slots that it uses are filled in it. Its files are opened for what it does with
    them: to read, to write, for both, and with O_APPEND where a write's access is `append`.
    """

    name: str
    """Key of its histogram."""
    ops: tuple[Op, ...]
    """At least one."""
    chunk_bytes: int = 0
    """Longest piece in which its reads and writes move (backends psync and stdio); 0: each in one call."""
    pooled: bool = False
    """Its writes give bytes that were made before the start, from the first one on, with eight new ones in every 4 KiB of a
    file, instead of new bytes throughout: no block is like another all the same, and making them takes no time."""


class Script(_Kind, kw_only=True):
    """An explicit list of operations in a file beside the Plan: NDJSON of `[op, file index, offset, size, due_ns]`.

    Lines are dealt out to the workers in turn. `due_ns` above 0 says when to begin, from the start.
    """

    ops: tuple[Op, ...] = ()
    """Operations as templates, referred to by index."""
    groups: tuple[ScriptGroup, ...] = ()
    """Several operations as one line, referred to by the indices after those of `ops`."""
    path: str
    """The NDJSON file."""


Body = Loop | Script


class Closed(_Kind, kw_only=True):
    """An operation starts as soon as the previous one is done."""


class Spacing(enum.Enum):
    """Time between arrivals of an open loop."""

    UNIFORM = "uniform"
    POISSON = "poisson"


class Open(_Kind, kw_only=True):
    """On a schedule that does not wait for completions; the rate is over all workers of the job."""

    rate_per_s: float
    """Arrivals per second over all workers of the job."""
    spacing: Spacing = Spacing.UNIFORM
    """Time between arrivals: equal, or exponential."""


Arrival = Closed | Open


class Fallback(enum.Enum):
    """What happens where a backend cannot be had: be refused, or run as many psync threads as the queue depth."""

    REFUSE = "refuse"
    THREADS = "threads"


class Psync(_Kind, kw_only=True):
    """`pread` and `pwrite`."""


class ReadWrite(_Kind, kw_only=True):
    """`read` and `write` at the file's own position, and `lseek` where the next transfer is elsewhere."""


class IoUring(_Kind, kw_only=True):
    """io_uring."""

    sqpoll: bool = False
    """Kernel thread that polls the submission queue."""
    iopoll: bool = False
    """Busy-wait for completions (polled devices only)."""
    fallback: Fallback = Fallback.REFUSE
    """What happens where the kernel refuses io_uring: the run is refused, or as many threads as the queue depth run
    psync."""


class Aio(_Kind, kw_only=True):
    """Linux AIO: asynchronous with O_DIRECT alone; a buffered request is carried out while it is submitted."""


class Mmap(_Kind, kw_only=True):
    """Memory-mapped file: reads copy from it, writes into it, flushes are msync. It ends where the file did at opening."""


class Stdio(_Kind, kw_only=True):
    """C library streams without their lock. An operation is done when the stream's buffer has it."""

    per_character: bool = False
    """One call a character (putc, getc); an operation is a block of them either way. Else fwrite and fread."""


Backend = Psync | ReadWrite | IoUring | Aio | Mmap | Stdio


class Direct(enum.Enum):
    """O_DIRECT, and what to do where the file system refuses it."""

    OFF = "off"
    ON = "on"
    IF_SUPPORTED = "if_supported"


class OpenFlags(Value, kw_only=True):
    """Flags of the files that a job opens."""

    direct: Direct = Direct.OFF
    sync: bool = False
    dsync: bool = False
    append: bool = False
    no_access_time: bool = False
    advice: str = ""


class Affinity(Value, kw_only=True):
    """CPUs (worker i gets entry i modulo the length) and NUMA node; empty: the scheduler chooses."""

    cpus: tuple[int, ...] = ()
    numa_node: int | None = None


class RateLimit(Value, kw_only=True):
    """Limits that pace a closed loop, over all workers of the job."""

    ops_per_s: float | None = None
    """Operations per second over all workers of the job."""
    bytes_per_s: float | None = None
    """Bytes per second over all workers of the job."""


class StopOf(enum.Enum):
    """Whose operations, bytes and passes a stop rule counts."""

    EACH = "each"
    ALL = "all"
    FIRST = "first"


class Stop(Value, kw_only=True):
    """When something is done: the first rule that holds ends it; with none, exhaustion does."""

    seconds: float | None = None
    """Time since the common start."""
    ops: int | None = None
    """Operations."""
    bytes: int | None = None
    """Bytes."""
    passes: int | None = None
    """Passes of the loop body."""
    of: StopOf = StopOf.EACH
    """Who counts: each worker for itself, all together, or everybody stops when the first is done (stonewall)."""


class WorkerKind(enum.Enum):
    """What a worker is."""

    THREAD = "thread"
    PROCESS = "process"


class Job(Value, kw_only=True, rename={"kind": "as"}):
    """Identical workers that run one body."""

    name: str
    body: Body
    workers: int = 1
    kind: WorkerKind = WorkerKind.THREAD
    arrival: Arrival = Closed()
    backend: Backend = Psync()
    queue_depth: int = 1
    """I/Os that each worker keeps in flight. 1 means synchronous."""
    open: OpenFlags = OpenFlags()
    affinity: Affinity = Affinity()
    limit: RateLimit = RateLimit()
    stop: Stop = Stop()
    timed: tuple[str, ...] = ()
    """Names of the operations and groups that are recorded; empty: all."""

    def __post_init__(self) -> None:
        """Refuse what no worker could do."""
        if self.workers < 1:
            raise PlanError(f"job '{self.name}': workers is {self.workers}; it must be 1 or more")
        if self.queue_depth < 1:
            raise PlanError(f"job '{self.name}': queue_depth is {self.queue_depth}; it must be 1 or more")


class CacheCondition(enum.Enum):
    """The client cache that a phase wants."""

    AS_IS = "as_is"
    COLD = "cold"
    WARM = "warm"


class Phase(Value, kw_only=True):
    """One barrier-to-barrier part of a run; its jobs start together."""

    name: str
    title: str
    jobs: tuple[Job, ...]
    repeat: int = 0
    cache: CacheCondition = CacheCondition.AS_IS
    before: tuple[Step, ...] = ()
    stop: Stop = Stop()
    ramp_s: float = 0.0
    after: tuple[Step, ...] = ()


class Plan(Value, kw_only=True):
    """A whole run."""

    name: str
    origin: Origin
    seed: int
    targets: tuple[Target, ...]
    file_sets: tuple[FileSet, ...]
    phases: tuple[Phase, ...]
    sample_interval_s: float = 1.0
    reserve_bytes: int = RESERVE_BYTES
    untranslated: tuple[Untranslated, ...] = ()
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        """Check that names are unique and that every reference has an object."""
        if self.schema != SCHEMA:
            raise PlanError(f"plan '{self.name}': schema is {self.schema}; this Assay reads {SCHEMA}")
        _unique("target", [t.name for t in self.targets])
        _unique("file set", [s.name for s in self.file_sets])
        _unique("phase", [f"{p.name} (repeat {p.repeat})" for p in self.phases])

    def to_json(self) -> bytes:
        """Encode for the engine and for `resolved.json`."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> "Plan":
        """Decode; raises PlanError with the place of the first fault."""
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.ValidationError as error:
            raise PlanError(f"plan: {error}") from error

    def file_set(self, name: str) -> FileSet:
        """Look a file set up; raises PlanError if there is none of that name."""
        for candidate in self.file_sets:
            if candidate.name == name:
                return candidate
        raise PlanError(f"plan '{self.name}': no file set '{name}'")


def _unique(what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise PlanError(f"{what} '{name}' is defined twice; names are unique")
        seen.add(name)
