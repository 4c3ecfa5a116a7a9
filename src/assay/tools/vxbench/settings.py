"""A vxbench-style command line, taken apart: `-w W[,W2] [-i k=v,...] [-o m,...] [-c a,...] [-P|-p|-t] [-k|-M] file...`.

Sizes are bytes, or binary with k, m, g, t behind them, as such tools write them. Whatever is not understood is refused
with what would be.
"""

import dataclasses
import enum
import getopt
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from assay.errors import InputError
from assay.input_text import check_count
from assay.plan.limits import NUMBERS
from assay.tools.arguments import cut, digits

NAME = "vxbench"
"""Name of the front end in a Plan's origin."""

_OPTIONS = "w:i:o:c:PptkMsv"
_SIZE = re.compile(r"([0-9]{1,19})([kmgt]?)", re.IGNORECASE | re.ASCII)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MOST_IO_BYTES = 1 << 30
_MOST_WORKERS = int(NUMBERS["workers"].most)
_MOST_ENTRIES = 100
"""In one sequence: each is an operation, or a phase, of the Plan."""


class IoMethod(enum.Enum):
    """How a workload reaches its file."""

    CALLS = "calls"
    """Calls that return when the transfer is done."""
    ASYNC = "async"
    """Several transfers in flight."""
    MAPPED = "mapped"
    """Memory that the file is mapped to."""
    NONE = "none"
    """Not at all: it sleeps."""


@dataclasses.dataclass(frozen=True)
class Workload:
    """One word of `-w`."""

    name: str
    method: IoMethod
    reads: bool = False
    writes: bool = False
    is_random: bool = False

    @property
    def is_mixed(self) -> bool:
        """Whether each I/O is a read or a write by chance."""
        return self.reads and self.writes


SLEEP = Workload("sleep", IoMethod.NONE)
WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("read", IoMethod.CALLS, reads=True),
        Workload("write", IoMethod.CALLS, writes=True),
        Workload("rand_read", IoMethod.CALLS, reads=True, is_random=True),
        Workload("rand_write", IoMethod.CALLS, writes=True, is_random=True),
        Workload("rand_mixed", IoMethod.CALLS, reads=True, writes=True, is_random=True),
        Workload("aread", IoMethod.ASYNC, reads=True),
        Workload("awrite", IoMethod.ASYNC, writes=True),
        Workload("arand_read", IoMethod.ASYNC, reads=True, is_random=True),
        Workload("arand_write", IoMethod.ASYNC, writes=True, is_random=True),
        Workload("arand_mixed", IoMethod.ASYNC, reads=True, writes=True, is_random=True),
        Workload("mmap_read", IoMethod.MAPPED, reads=True),
        Workload("mmap_write", IoMethod.MAPPED, writes=True),
        SLEEP,
    )
}


class Sharing(enum.Enum):
    """What the workers of a command are."""

    THREADS = "t"
    PROCESS_PER_FILE = "P"
    PROCESS_PER_WORKER = "p"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """What a command line asks for, complete after defaults."""

    workloads: tuple[Workload, ...]
    """In order; every worker does all of them, `nrep` times."""
    files: tuple[str, ...]
    """As typed."""
    iosize: int = 8192
    """Bytes of one I/O."""
    iocount: int = 1024
    """I/Os of a workload and repetition."""
    nrep: int = 1
    """Repetitions of the whole sequence."""
    nthreads: int = 1
    """Workers of a file."""
    stride: int = 0
    """I/O sizes from the start of a sequential I/O to the start of the next; 0 and 1: none is skipped."""
    rdpct: int = 50
    """Reads of a mixed workload, in per cent."""
    sleeptime: float | None = None
    """Seconds of a `sleep`."""
    startoffset: int = 0
    """First byte of the range that I/O goes to."""
    maxfilesize: int | None = None
    """Bytes of that range; None: what one repetition reaches."""
    depth: int = 8
    """I/Os that a worker of an asynchronous workload keeps in flight."""
    seed: int = 1
    """Of random offsets, mixes and content."""
    fsync: bool = False
    """Flush the file at the end of each workload that writes."""
    remove: bool = False
    """Remove the files at the end."""
    cold: bool = False
    """Have the files' pages dropped before the start."""
    sparse: bool = False
    """Files start as holes of full length, so that a first write allocates."""
    modes: frozenset[str] = frozenset()
    """Open modes of `-o`."""
    advisories: frozenset[str] = frozenset()
    """Cache advisories of `-c`."""
    sharing: Sharing = Sharing.THREADS
    is_in_mb: bool = False
    """Print MB/s instead of KB/s."""
    is_summary: bool = False
    is_verbose: bool = False

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        _check_sequence(self)
        _check_range(self)
        _check_methods(self)

    @property
    def data_workloads(self) -> tuple[Workload, ...]:
        """Those that move data."""
        return tuple(workload for workload in self.workloads if workload is not SLEEP)

    @property
    def step_bytes(self) -> int:
        """From the start of a sequential I/O to the start of the next."""
        return self.iosize * max(1, self.stride)

    @property
    def range_bytes(self) -> int:
        """Length of the range that I/O goes to: whole I/Os."""
        wanted = self.step_bytes * self.iocount if self.maxfilesize is None else self.maxfilesize
        return wanted // self.iosize * self.iosize

    @property
    def users(self) -> int:
        """Workers in all."""
        return len(self.files) * self.nthreads

    @property
    def ios_asked(self) -> int:
        """I/Os of all workers, workloads and repetitions."""
        return self.users * self.nrep * self.iocount * len(self.data_workloads)


MODES = ("append", "direct", "dsync", "sync")
ADVISORIES = ("direct", "dsync", "noreuse", "rand", "seq", "unbuffered")


def parse(arguments: Sequence[str]) -> Settings:
    """Read a command line, without the tool's name.

    Raises:
        InputError: an option, workload, sub-option or value that is unknown or contradicts another.
    """
    check_count(arguments, NAME)
    try:
        options, files = getopt.gnu_getopt(list(arguments), _OPTIONS)
    except getopt.GetoptError as error:
        raise InputError(f"{NAME}: {error.msg}; 'assay {NAME} --help' lists the options") from error
    values: dict[str, Any] = {}
    words: dict[str, list[str]] = {flag: [] for flag in "wioc"}
    for option, value in options:
        flag = option.removeprefix("-")
        if flag in words:
            words[flag] += _entries(value, option)
        else:
            _flag(values, flag)
    for entry in words["i"]:
        values |= _sub_option(entry)
    return Settings(
        workloads=tuple(_known(word, WORKLOADS, "-w", "workload") for word in words["w"]),
        files=tuple(files),
        modes=frozenset(_among(words["o"], MODES, "-o", "open mode")),
        advisories=frozenset(_among(words["c"], ADVISORIES, "-c", "cache advisory")),
        **values,
    )


def _flag(values: dict[str, Any], flag: str) -> None:
    if flag in {sharing.value for sharing in Sharing}:
        sharing = Sharing(flag)
        if values.setdefault("sharing", sharing) is not sharing:
            raise InputError(f"{NAME}: -{values['sharing'].value} and -{flag}: choose one of -P, -p and -t")
    elif flag in "kM":
        if values.setdefault("is_in_mb", flag == "M") is not (flag == "M"):
            raise InputError(f"{NAME}: -k and -M: choose one unit")
    else:
        values[{"s": "is_summary", "v": "is_verbose"}[flag]] = True


def _entries(value: str, option: str) -> list[str]:
    entries = [entry.strip() for entry in value.split(",")]
    if not all(entries):
        raise InputError(f"{NAME}: {option} {value}: a value is missing next to a comma")
    return entries


def _known(word: str, among: dict[str, Workload], option: str, what: str) -> Workload:
    if word not in among:
        raise InputError(f"{NAME}: {option} {word}: there is no such {what}; it can be {', '.join(among)}")
    return among[word]


def _among(words: Iterable[str], known: Sequence[str], option: str, what: str) -> list[str]:
    found = list(words)
    for word in found:
        if word not in known:
            raise InputError(f"{NAME}: {option} {word}: there is no such {what}; it can be {', '.join(known)}")
    return found


# -- sub-options of -i -------------------------------------------------------------------------------------------------


_SWITCHES = ("cold", "fsync", "remove", "sparse")
_SIZES = {"iosize": 1, "startoffset": 0, "maxfilesize": 1}
"""Least value of each."""
_COUNTS = {"iocount": (1, 1 << 40), "nrep": (1, 1 << 30), "nthreads": (1, _MOST_WORKERS), "stride": (0, 1 << 30),
           "rdpct": (0, 100), "depth": (1, int(NUMBERS["queue_depth"].most)), "seed": (0, (1 << 63) - 1)}  # fmt: skip
_SUB_OPTIONS = (*_SIZES, *_COUNTS, "sleeptime", *_SWITCHES)


def _sub_option(entry: str) -> dict[str, Any]:
    key, separator, value = entry.partition("=")
    if key not in _SUB_OPTIONS:
        raise InputError(f"{NAME}: -i {key}: there is no such sub-option; it can be {', '.join(sorted(_SUB_OPTIONS))}")
    if key in _SWITCHES:
        if separator:
            raise InputError(f"{NAME}: -i {entry}: {key} takes no value")
        return {key: True}
    if key in _SIZES:
        return {key: _size(key, value)}
    return {key: _seconds(value) if key == "sleeptime" else _count(key, value)}


def _size(key: str, value: str) -> int:
    match = _SIZE.fullmatch(value)
    if match is None:
        raise InputError(
            f"{NAME}: -i {key}={cut(value)}: give a size in bytes, or with k, m, g or t behind it, such as 8k"
        )
    size_bytes = int(match[1]) * _FACTORS[match[2].lower()]
    most = _MOST_IO_BYTES if key == "iosize" else 1 << 62
    if not _SIZES[key] <= size_bytes <= most:
        raise InputError(f"{NAME}: -i {key}={value}: it lies between {_SIZES[key]} and {most} bytes")
    return size_bytes


def _count(key: str, value: str) -> int:
    least, most = _COUNTS[key]
    number = digits(value)
    if number is None or not least <= number <= most:
        raise InputError(f"{NAME}: -i {key}={cut(value)}: give a whole number between {least} and {most}")
    return number


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= NUMBERS["seconds"].most:
        raise InputError(f"{NAME}: -i sleeptime={cut(value)}: give seconds above 0, up to a year, such as 2 or 0.5")
    return seconds


# -- what contradicts itself -------------------------------------------------------------------------------------------


def _check_sequence(settings: Settings) -> None:
    if not settings.data_workloads:
        asked = "-w sleep moves no data" if settings.workloads else "-w is missing"
        raise InputError(f"{NAME}: {asked}; give a workload such as -w read, or -w read,sleep,write")
    if len(settings.workloads) > _MOST_ENTRIES:
        raise InputError(f"{NAME}: -w names {len(settings.workloads)} workloads; use nrep= to do a sequence again")
    if SLEEP in settings.workloads and settings.sleeptime is None:
        raise InputError(f"{NAME}: -w sleep needs a duration: -i sleeptime=SECONDS")
    if not settings.files:
        raise InputError(f"{NAME}: name a file, such as /mnt/scratch/file1; its directory is what gets measured")
    if settings.users > _MOST_WORKERS:
        raise InputError(f"{NAME}: {settings.users} workers (files x nthreads); at most {_MOST_WORKERS} are possible")
    if settings.fsync and not any(workload.writes for workload in settings.workloads):
        raise InputError(f"{NAME}: -i fsync flushes what was written, and no workload writes; leave it out")


def _check_range(settings: Settings) -> None:
    if settings.range_bytes < settings.iosize:
        raise InputError(
            f"{NAME}: maxfilesize={settings.maxfilesize} has no room for one I/O of {settings.iosize} bytes; raise it"
        )
    if settings.startoffset + settings.range_bytes >= 1 << 62:
        raise InputError(f"{NAME}: files of {settings.startoffset + settings.range_bytes} bytes; no storage has that")


def _check_methods(settings: Settings) -> None:
    methods = {workload.method for workload in settings.workloads}
    opened = settings.modes | settings.advisories
    if IoMethod.MAPPED in methods and opened & {"append", "direct", "dsync", "sync", "unbuffered"}:
        flags = ", ".join(sorted(opened & {"append", "direct", "dsync", "sync", "unbuffered"}))
        raise InputError(f"{NAME}: {flags} does nothing for a mapped file; use read or write, or -i fsync")
    if len(settings.advisories & {"noreuse", "rand", "seq"}) > 1:
        raise InputError(f"{NAME}: -c noreuse, rand and seq: the kernel keeps one of them for a file; choose one")
    if "append" in settings.modes:
        if any(w not in {WORKLOADS["write"], WORKLOADS["awrite"], SLEEP} for w in settings.workloads):
            raise InputError(f"{NAME}: -o append puts every write at the end; it goes with -w write and awrite alone")
        if settings.stride > 1 or settings.startoffset or settings.maxfilesize is not None or settings.sparse:
            raise InputError(f"{NAME}: -o append begins with empty files; it has no stride, offset, range or holes")
    if settings.sparse and any(workload.reads for workload in settings.workloads):
        first = settings.data_workloads[0]
        if first.reads or first.is_random or settings.stride > 1:
            raise InputError(
                f"{NAME}: -i sparse begins with holes, and reading a hole asks no storage; let a sequential write come first"
            )
    if IoMethod.ASYNC in methods and settings.fsync and settings.depth > 1:
        raise InputError(f"{NAME}: fsync cannot follow I/Os that are in flight; use -o dsync, or write")
