"""Build the load of `assay measure` from its options.

Values as fio's and elbencho's users write them, read and held against each other before anything else: what cannot be
executed as intended is refused, with the name of the option. `simple_text.py` writes them as a load file.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import msgspec

from assay.errors import InputError
from assay.loads.impossible import SECTOR_BYTES
from assay.places import DevicePlace
from assay.plan import limits
from assay.units import format_bytes, parse_bytes, parse_seconds

DEFAULT_SIZE: Final = "1GiB"
DEFAULT_TIME: Final = "20s"

ENGINES: Final = {
    "sync": "read_write",
    "read_write": "read_write",
    "psync": "psync",
    "io_uring": "io_uring",
    "libaio": "aio",
    "aio": "aio",
    "mmap": "mmap",
    "stdio": "stdio",
}
"""Backends by fio's name for them and by their own."""
_QUEUED: Final = ("io_uring", "aio")
CACHES: Final = ("as-is", "cold", "warm")
SPACINGS: Final = ("uniform", "poisson")

_COUNT = re.compile(r"[0-9]{1,18}")
_RATE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(?:/s)?")
_MIX = re.compile(r"([0-9]{1,3})(?:[/:]([0-9]{1,3}))?")

T = TypeVar("T")


class SimpleLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of load: a row of the answer for each block size and depth."""

    reads: int
    """How many of a hundred transfers read; the others write."""
    is_random: bool
    blocks_bytes: tuple[int, ...]
    depths: tuple[int, ...]
    batch: int = 1
    """I/Os of a queue that go to the kernel in one call, at most."""
    workers: int
    files: int
    file_bytes: int
    """Size of each file: a multiple of the largest block, or of a sector where not all blocks divide that."""
    engine: str
    """A backend of the Plan."""
    may_use_threads: bool
    """Whether threads will do where the kernel refuses io_uring: nobody named the engine."""
    is_direct: bool = False
    sync: bool = False
    dsync: bool = False
    flush: str = ""
    """`fsync` or `fdatasync`, if the load flushes."""
    flush_every: int = 1
    """Writes for each flush."""
    rate_per_s: float | None = None
    """Of an open loop, over all workers."""
    spacing: str = SPACINGS[0]
    limit_ops_per_s: float | None = None
    limit_bytes_per_s: float | None = None
    cache: str
    seconds: float
    extend_to_s: float | None = None
    ramp_s: float = 0.0
    seed: int = 1
    is_verified: bool = False

    @property
    def paces_operations(self) -> bool:
        """Whether operations, and not bytes, are counted to keep a pace."""
        return self.rate_per_s is not None or self.limit_ops_per_s is not None


def simple_load(
    *,
    read: bool = False,
    write: bool = False,
    mix: str | None = None,
    random: bool = False,
    bs: str = "4KiB",
    depth: str = "1",
    batch: str = "1",
    workers: str = "1",
    files: str | None = None,
    size: str | None = None,
    engine: str | None = None,
    direct: bool = False,
    sync: bool = False,
    dsync: bool = False,
    fsync_every: str | None = None,
    fdatasync_every: str | None = None,
    rate: str | None = None,
    spacing: str | None = None,
    limit: str | None = None,
    cache: str | None = None,
    time: str | None = None,
    extend: str | None = None,
    ramp: str | None = None,
    seed: str = "1",
    verify: bool = False,
) -> SimpleLoad:
    """Read the options.

    Raises:
        InputError: one cannot be read, or two do not go together; the message names the option and a valid value.
    """
    reads = _reads(mix, read=read, write=write)
    blocks = _list("--bs", bs, _block)
    depths = _list("--depth", depth, lambda text: _count(text, "queue_depth"))
    worker_count = _of("--workers", workers, lambda text: _count(text, "workers"))
    parts = worker_count if files is None else _of("--files", files, lambda text: _count(text, "files"))
    flush, every = _flush(fsync_every, fdatasync_every, reads)
    rate_per_s = None if rate is None else _of("--rate", rate, lambda text: _bounded(_number(text), "rate_per_s"))
    ops, moved = (None, None) if limit is None else _of("--limit", limit, _limit)
    load = SimpleLoad(
        reads=reads,
        is_random=random,
        blocks_bytes=blocks,
        depths=depths,
        batch=_of("--batch", batch, lambda text: _count(text, "submit")),
        workers=worker_count,
        files=parts,
        file_bytes=_file_bytes(size or DEFAULT_SIZE, parts, blocks),
        engine=_engine(engine, depths),
        may_use_threads=engine is None,
        is_direct=direct,
        sync=sync,
        dsync=dsync,
        flush=flush,
        flush_every=every,
        rate_per_s=rate_per_s,
        spacing=_word("--spacing", spacing or SPACINGS[0], SPACINGS),
        limit_ops_per_s=ops,
        limit_bytes_per_s=moved,
        # As fio's invalidate=1: what laying out left in memory is no part of it. Writes meet it too: a small one into a
        # large folio of that took six times as long (ext4, Linux 6.18).
        cache=_word("--cache", cache or "cold", CACHES),
        seconds=_of("--time", time or DEFAULT_TIME, lambda text: _bounded(parse_seconds(text), "seconds")),
        extend_to_s=None if extend is None else _of("--extend", extend, parse_seconds),
        ramp_s=_of("--ramp", ramp or "0", parse_seconds),
        seed=_of("--seed", seed, lambda text: _count(text, "seed")),
        is_verified=verify,
    )
    wrong = (*_of_pace(load, is_spaced=spacing is not None), *_of_time(load), *_of_engine(load), *_of_files(load))
    if wrong:
        raise InputError(wrong[0])
    return load


def of_device(device: DevicePlace, *, size: str | None, files: str | None, verify: bool) -> tuple[str, str]:
    """Give the size and the number of files of a load on a block device: all of it, unless a size is given, as one file.

    Raises:
        InputError: what was asked for is not possible there, or its size is unknown.
    """
    if files not in {None, "1"}:
        raise InputError(
            f"--files {limits.shown(files)}: {device.path} is a block device, which is as one file; leave it out"
        )
    if verify:
        raise InputError(
            f"--verify keeps its history beside the data, and {device.path} has no place for it; leave it out"
        )
    if size is None and device.size_bytes is None:
        raise InputError(f"how large {device.path} is on the clients is unknown here; give --size")
    if size is not None and device.size_bytes is not None and parse_bytes(size) > device.size_bytes:
        raise InputError(f"--size {limits.shown(size)}: {device.path} has {format_bytes(device.size_bytes)}")
    return size or str(device.size_bytes), "1"


# -- options that do not go together ---------------------------------------------------------------------------------


def _of_pace(load: SimpleLoad, *, is_spaced: bool) -> Iterator[str]:
    if load.rate_per_s is not None and (load.limit_ops_per_s or load.limit_bytes_per_s):
        yield "--rate has operations arrive on a schedule, --limit holds them back; give one of them"
    if is_spaced and load.rate_per_s is None:
        yield "--spacing is that of the arrivals of --rate; give a rate, or leave it out"
    if load.flush and max(load.depths) > 1 and load.paces_operations:
        yield (
            f"--rate and --limit would count the {load.flush} of a queue as an operation;"
            f" use --depth 1 with more --workers, or leave --{load.flush}-every out"
        )


def _of_time(load: SimpleLoad) -> Iterator[str]:
    if load.seconds <= 0:
        yield "--time is 0, in which nothing can be measured; give it some seconds"
    elif load.ramp_s >= load.seconds:
        yield f"--ramp {load.ramp_s:g}s leaves nothing of --time {load.seconds:g}s; take a shorter one"
    if load.extend_to_s is not None and load.extend_to_s <= load.seconds:
        yield f"--extend {load.extend_to_s:g}s must be above --time, {load.seconds:g}s"


def _of_engine(load: SimpleLoad) -> Iterator[str]:
    deepest = max(load.depths)
    if deepest > 1 and load.engine not in _QUEUED:
        yield (
            f"--engine {load.engine} keeps one I/O in flight a worker, so --depth {deepest} has no effect;"
            f" use --engine io_uring, or --workers {deepest}"
        )
    if load.is_direct and load.engine == "mmap":
        yield "--engine mmap goes through the page cache, which --direct passes by; leave one of them out"
    if load.is_direct and load.cache == "warm":
        yield "--cache warm fills the page cache, which --direct passes by; leave one of them out"
    odd = next((size for size in load.blocks_bytes if size % SECTOR_BYTES), None)
    if load.is_direct and odd is not None:
        yield f"--bs {odd}: --direct moves multiples of {SECTOR_BYTES} bytes; use {_next_sector(odd)}B"


def _of_files(load: SimpleLoad) -> Iterator[str]:
    if load.flush and load.files not in {1, load.workers}:
        yield (
            f"--{load.flush}-every flushes one file, and with --files {load.files} a worker writes to many;"
            " use --files 1, one for each worker, or --dsync"
        )
    if load.is_random or load.files >= load.workers:
        return
    largest, part = max(load.blocks_bytes), load.file_bytes // load.workers
    if load.files > 1:
        yield (
            f"--files {load.files}: {load.workers} workers that go in order would meet in them;"
            f" use --files 1, of which each gets a part, or --files {load.workers}"
        )
    elif part < largest:
        yield (
            f"--bs {format_bytes(largest)} does not fit into a worker's part of the file, {format_bytes(part)};"
            " use a larger --size"
        )


# -- single options --------------------------------------------------------------------------------------------------


def _of(option: str, text: str, read: Callable[[str], T]) -> T:
    try:
        return read(text)
    except InputError as error:
        raise InputError(f"{option} {limits.shown(text)}: {error}") from error


def _list(option: str, text: str, read: Callable[[str], T]) -> tuple[T, ...]:
    """Read values with commas between them."""
    values = tuple(_of(option, part.strip(), read) for part in text.split(","))
    if len(set(values)) < len(values):
        raise InputError(f"{option} {limits.shown(text)}: has a value twice; each makes a row of its own")
    return values


def _word(option: str, text: str, known: tuple[str, ...]) -> str:
    word = text.replace("_", "-")
    if word not in known:
        raise InputError(f"{option} {limits.shown(text)}: it is one of {', '.join(known)}")
    return word


def _bounded(number: T, name: str) -> T:
    limit = limits.NUMBERS[name]
    if not limit.holds(number):  # type: ignore[arg-type]
        raise InputError(limit.refusal(number))  # type: ignore[arg-type]
    return number


def _count(text: str, name: str) -> int:
    if not _COUNT.fullmatch(text):
        raise InputError("a whole number is wanted")
    return _bounded(int(text), name)


def _number(text: str) -> float:
    match = _RATE.fullmatch(text)
    if match is None:
        raise InputError("a rate such as 500/s is wanted: operations a second, written out")
    return float(match[1])


def _limit(text: str) -> tuple[float | None, float | None]:
    """Read operations or bytes a second, by the unit."""
    if _RATE.fullmatch(text):
        return _bounded(_number(text), "ops_per_s"), None
    try:
        return None, _bounded(float(parse_bytes(text.removesuffix("/s"))), "bytes_per_s")
    except InputError as error:
        raise InputError(f"{error}; a limit is 100MiB/s, or 500/s for operations") from error


def _block(text: str) -> int:
    size_bytes = parse_bytes(text)
    if size_bytes < 1:
        raise InputError("0 bytes move nothing")
    return _bounded(size_bytes, "chunk_bytes")


def _reads(mix: str | None, *, read: bool, write: bool) -> int:
    if (mix is not None) + read + write > 1:
        raise InputError("give only one of --read, --write and --mix; for both use --mix 70/30")
    if mix is None:
        return 0 if write else 100
    match = _MIX.fullmatch(mix)
    reads = int(match[1]) if match else 0
    if match is None or not 0 < reads < 100 or (match[2] is not None and reads + int(match[2]) != 100):
        raise InputError(f"--mix {limits.shown(mix)}: write 70/30 for 70 % reads and 30 % writes")
    return reads


def _flush(fsync: str | None, fdatasync: str | None, reads: int) -> tuple[str, int]:
    given = {name: text for name, text in (("fsync", fsync), ("fdatasync", fdatasync)) if text is not None}
    if not given:
        return "", 1
    if len(given) > 1:
        raise InputError("--fsync-every and --fdatasync-every: give one of them")
    ((name, text),) = given.items()
    every = _of(f"--{name}-every", text, lambda text: _count(text, "times"))
    if reads == 100:
        raise InputError(f"--{name}-every {text}: reads leave nothing to flush; it goes with --write and --mix")
    return name, every


def _engine(name: str | None, depths: tuple[int, ...]) -> str:
    """Name the backend; rows of several depths have the same, so that they differ in nothing else."""
    if name is None:
        return "io_uring" if max(depths) > 1 else "psync"
    if name not in ENGINES:
        raise InputError(f"--engine {limits.shown(name)}: it is one of {', '.join(ENGINES)}")
    return ENGINES[name]


def _file_bytes(size: str, files: int, blocks: tuple[int, ...]) -> int:
    """Divide the data among the files."""
    whole = _of("--size", size, lambda text: _bounded(parse_bytes(text), "size"))
    largest = max(blocks)
    step = largest if all(largest % block == 0 for block in blocks) else SECTOR_BYTES
    file_bytes = whole // files // step * step
    if file_bytes < largest:
        raise InputError(
            f"--bs {format_bytes(largest)} is larger than a file, {format_bytes(whole // files)}"
            f" (--size {format_bytes(whole)}, --files {files}); use a larger --size"
        )
    return file_bytes


def _next_sector(size_bytes: int) -> int:
    return -(-size_bytes // SECTOR_BYTES) * SECTOR_BYTES
