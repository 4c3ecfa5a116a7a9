"""What a job of fio is, in Assay's units: values, read and checked."""

from dataclasses import dataclass, field

from assay import plan

Sizes = tuple[tuple[float, int, int], ...]
"""Weight, least and most bytes of the sizes of an operation."""

NAME = "fio"
DEFAULT_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
METADATA = {
    "filecreate": "create",
    "filestat": "stat",
    "filedelete": "unlink",
    "dircreate": "mkdir",
    "dirstat": "stat",
    "dirdelete": "rmdir",
}
"""Engines that do one thing to each of their files, with the operation."""
EXTENTS = frozenset({"falloc", "ftruncate"})
"""Engines that change lengths and extents of a file where their I/Os are, and move no data."""
QUEUES = frozenset({"io_uring", "libaio", "null"})
"""Engines that keep several I/Os in flight; iodepth has no effect on others."""
ENGINES = frozenset({"psync", "sync", "pvsync", "pvsync2", "mmap"}) | QUEUES | EXTENTS | frozenset(METADATA)


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What holds a job back; 0: nothing."""

    bytes_per_s: int = 0
    iops: int = 0
    is_poisson: bool = False

    def __bool__(self) -> bool:
        """Return whether there is one."""
        return bool(self.bytes_per_s or self.iops)


@dataclass(frozen=True, kw_only=True)
class RandomDistribution:
    """Where random I/O goes: `random`, a distribution with its parameter, shares of the range, or blocks in turn."""

    kind: str = "random"
    parameter: float = 0.0
    zones: tuple[tuple[float, float, float], ...] = ()
    """Weight, and from where to where as shares of the range."""
    blocks: tuple[int, ...] = ()
    """Of `sequence`: blocks in turn."""
    moves_on: bool = False
    """Whether each turn of them goes on behind the one before."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What holds jobs at shares of the operations of all of a number; weight 0: nothing does."""

    weight: int = 0
    number: int = 0
    pause_us: int = 0


@dataclass(frozen=True, kw_only=True)
class Files:
    """Which files a job works on."""

    directory: str
    names: tuple[str, ...]
    """`filename`, split; empty: they are named by `name_format`."""
    name_format: str
    count: int
    bytes_each: int
    device_bytes: int
    """Size of the block device that `filename` names; 0: it names none."""
    service: str
    """`roundrobin`, `sequential` or `random`."""
    allocate: str
    overwrite: bool
    is_kept: bool
    """Whether they stay after the run, to be used again."""

    @property
    def length_bytes(self) -> int:
        """Of each, as far as it is known before the size is read."""
        return self.bytes_each or self.device_bytes


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is done where: bytes of a job, and seconds."""

    bytes: int
    io_bytes: int
    """0: as `bytes`."""
    offset_bytes: int
    offset_increment_bytes: int
    ops: int
    loops: int
    seconds: float
    ramp_s: float
    is_time_based: bool


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    """One section, after its globals."""

    name: str
    where: str
    options: dict[str, str]
    """As given, for fio's JSON."""
    instances: int
    is_thread: bool
    group_reporting: bool
    is_shown: bool
    stonewall: bool
    new_group: bool
    wait_for: str
    start_delay_s: float
    exits: str
    """What ends with the job: empty, or `group`, `stonewall` or `all` of exit_what."""
    flow: Flow
    steady: plan.SteadyRule | None
    """The stop rules of its group, in addition to its own."""
    reads: bool
    writes: bool
    trims: bool
    """Whether its writes are trims, which have the sizes and places of writes."""
    is_random: bool
    step_bytes: int
    """Of sequential I/O: bytes between the end of one and the start of the next."""
    read_percent: int
    engine: str
    depth: int
    batch: tuple[int, int, int]
    """Submit, complete at least, complete at most (0: as fio's, the least)."""
    direct: bool
    sync: str
    fsync: int
    fdatasync: int
    end_fsync: bool
    sizes: tuple[Sizes, Sizes]
    """Of reads and of writes."""
    align_bytes: int
    files: Files
    size: Size
    rates: tuple[Rate, Rate]
    think_us: tuple[int, int, int]
    """Pause, how much of it the processor is busy, and after how many I/Os."""
    distributions: tuple[RandomDistribution, RandomDistribution]
    has_map: bool
    seed: int | None
    stamps: bool
    """Whether what it writes, or reads, is to be verified."""
    verify: bool
    """Whether that is done when it is through."""
    backlog: int
    """Blocks after which those are read back while it runs; 0: none are."""
    compress_percent: int
    dedupe_percent: int
    zeros: bool
    """Nothing but zeroes is written."""
    keeps_buffer: bool
    """Buffers are written again and again as they are, one byte changed."""
    invalidate: bool
    cpus: tuple[int, ...]
    numa_node: int | None
    huge_pages: bool
    advice: str
    sqpoll: bool
    sqpoll_cpu: int | None
    hipri: bool
    percentiles: tuple[float, ...]

    @property
    def least_bytes(self) -> int:
        """The smallest block."""
        return min(least for sizes in self._used for _, least, _ in sizes)

    @property
    def most_bytes(self) -> int:
        """The largest block."""
        return max(most for sizes in self._used for _, _, most in sizes)

    @property
    def has_one_size(self) -> bool:
        """Whether all I/Os are of one size."""
        return self.least_bytes == self.most_bytes

    @property
    def _used(self) -> list[Sizes]:
        return [sizes for sizes, used in zip(self.sizes, (self.reads, self.writes), strict=True) if used]

    @property
    def needs_directories(self) -> bool:
        """Whether it works on directories that are there."""
        return self.engine in {"dirstat", "dirdelete"}

    @property
    def moves_data(self) -> bool:
        """Whether its I/Os are of bytes, moved or (`null`) counted as if."""
        return not self.is_metadata and self.engine not in EXTENTS and not self.discards

    @property
    def discards(self) -> bool:
        """Whether its I/Os are discards of a block device."""
        return self.trims and self.files.device_bytes > 0 and self.engine != "null"

    @property
    def is_metadata(self) -> bool:
        """Whether its I/Os are operations on names."""
        return self.engine in METADATA


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the words ask for."""

    jobs: tuple[JobSettings, ...]
    shared: dict[str, str]
    """Options of all jobs, for fio's JSON."""
    output: str
    """File that the text goes to; empty: standard output."""
    formats: tuple[str, ...]
    notes: tuple[str, ...]
    """What was left out and moves no number."""
    only_parse: bool = False
    show_command: bool = False
    words: tuple[str, ...] = field(default=(), repr=False)


def version(of_assay: str) -> str:
    """Name the fio whose output this is, and the version of Assay that made it."""
    return f"fio-3.33-assay-{of_assay}"
