"""Choose the data size, phase lengths and workers of a quick run.

Twice the RAM is what no page cache can hold (bonnie++'s rule), and it is rarely affordable in a minute. Direct I/O, and
buffered reads after an eviction that cachestat has verified, do not need it: the size is therefore the smallest of
twice the RAM, what the probed write speed lays out in a fifth of the time, a quarter of the free space, and
`LARGEST_BYTES`. Pure arithmetic: whoever calls has looked at the machine.

Limits: the probe sees a device's first second. One that absorbs writes in a fast buffer lays out more slowly than that,
several times so on cloud disks with burst credit; `LARGEST_BYTES` bounds what that costs.
"""

import math

import msgspec

from assay.errors import InputError
from assay.targets import Room
from assay.units import KIB, MIB, format_bytes

SMALLEST_BYTES = 64 * MIB
"""Below this, streams end before the device is at speed."""
LARGEST_BYTES = 4096 * MIB
"""More makes a quick run slow and wears the device; `--size` asks for more where a device's own cache is large."""
EACH_CLIENT_BYTES = 1024 * MIB
"""What each of several clients lays out: nobody has looked at how fast their storage takes it."""
LAYOUT_SHARE = 0.2
"""Share of the measuring time that laying out may cost, the probe included."""
FREE_SHARE = 0.25
"""Share of the free space that the data may take: file systems slow down when they fill."""

STREAM_PHASES = 5
METADATA_PHASES = 6
"""Phases of suites/quick.toml of either kind; together they last `total_seconds`."""
METADATA_LENGTH = 0.4
"""Length of a metadata phase over that of the others: operations are short and many, so less time is enough."""
SHORTEST_PHASE_SECONDS = 1.0
INTERVALS_PER_PHASE = 40
"""More intervals than a steady rate needs, so that a start may be left out."""
SHORTEST_INTERVAL_S = 0.02
MOST_WORKERS = 4

METADATA_SETS = 2
BYTES_PER_FILE = 8 * KIB
"""A file of 4 KiB with its inode and directory entry, rounded up."""
FILES_PER_SECOND = 60_000
"""Creation rate that a set can take for a whole phase; a faster file system ends the phase early, which is reported."""
MOST_INODES_SHARE = 0.25
"""Share of the free inodes that one set may take."""
FEWEST_FILES = 100
FILES_STEP = 1000
"""Files in one directory of the suite; whole directories are used where possible."""


class Sizing(msgspec.Struct, frozen=True, kw_only=True):
    """What a quick run uses, and why."""

    size_bytes: int
    files: int
    """Most files in each metadata set."""
    phase_seconds: float
    metadata_seconds: float
    interval_s: float
    """Length of an interval: the shortest phase has `INTERVALS_PER_PHASE`."""
    workers: int
    """Of the phases with several: no more than there are CPUs, or they would measure each other."""
    reason: str
    """The sentence for the user."""


def choose_size(
    *,
    ram_bytes: int,
    cpus: int,
    room: Room,
    probe_write_bytes_per_s: float,
    probe_seconds: float,
    total_seconds: float,
    asked: int | None,
    repeats: int = 1,
) -> Sizing:
    """Choose size, number of files and phase lengths.

    Args:
        ram_bytes: Memory that could cache the data.
        cpus: CPUs that the load may use.
        room: What the file system still takes.
        probe_write_bytes_per_s: Speed of a short sequential write that reached the device; 0 if none was made, which goes
            with `asked` only.
        probe_seconds: What that probe took; it counts towards the time for laying out.
        total_seconds: Length of all timed phases together.
        asked: Size that the user wants, in bytes; None to choose.
        repeats: Times that each phase is measured in that time. The size goes by the time of one.

    Raises:
        InputError: too little time, or a size below that of one operation; the text has the numbers and the cure.
        RunError: too little room.
    """
    phase_seconds, metadata_seconds = phase_lengths(total_seconds, repeats)
    if asked is None:
        layout_s = LAYOUT_SHARE * total_seconds / repeats
        budget_s = max(layout_s - probe_seconds, layout_s / 2)
        size_bytes, why = _chosen(ram_bytes, room, probe_write_bytes_per_s, budget_s)
    else:
        size_bytes, why = _asked(asked, room)
    if 2 * ram_bytes > size_bytes:
        why += f"; 2x RAM would be {format_bytes(2 * ram_bytes)}"
    return Sizing(
        size_bytes=size_bytes,
        files=_files(metadata_seconds, size_bytes, room),
        phase_seconds=phase_seconds,
        metadata_seconds=metadata_seconds,
        interval_s=max(SHORTEST_INTERVAL_S, math.floor(metadata_seconds / INTERVALS_PER_PHASE * 1000) / 1000),
        workers=min(MOST_WORKERS, cpus),
        reason=f"{format_bytes(size_bytes)}: {why}; {format_bytes(room.free_bytes)} free",
    )


def device_sizing(
    *,
    device: str,
    device_bytes: int,
    cpus: int,
    total_seconds: float,
    asked: int | None,
    phases: int,
    is_written: bool,
    repeats: int = 1,
) -> Sizing:
    """Choose size and phase lengths for a block device.

    Reads go over all of it. What is written first, like a file, is no more than a quick run lays out by itself.

    Args:
        device: Its name.
        device_bytes: Its size.
        cpus: CPUs that the load may use.
        total_seconds: Length of all timed phases together.
        asked: Size that the user wants, in bytes; None to choose.
        phases: How many there are.
        is_written: Whether the data is written first.
        repeats: Times that each phase is measured in that time.

    Raises:
        InputError: too little time, or a size that is too small or above the device's; the text has the cure.
    """
    phase_seconds = math.floor(total_seconds / (phases * repeats) * 10) / 10
    if phase_seconds < SHORTEST_PHASE_SECONDS:
        needed = math.ceil(SHORTEST_PHASE_SECONDS * phases * repeats)
        raise _too_short(total_seconds, phases, repeats, needed)
    if asked is not None and not MIB <= asked <= device_bytes:
        raise InputError(
            f"a size of {asked} bytes is not between the 1 MiB that one operation moves and the device's"
            f" {format_bytes(device_bytes)}"
        )
    if asked is not None:
        size_bytes, why = asked // MIB * MIB, "as asked"
    elif is_written and device_bytes > LARGEST_BYTES:
        size_bytes, why = LARGEST_BYTES, "the most that a quick run lays out by itself"
    else:
        size_bytes, why = device_bytes // MIB * MIB, "all of the device"
    if not is_written:
        why += f"; only read, --destroy-data {device} measures writes too"
    return Sizing(
        size_bytes=size_bytes,
        files=0,
        phase_seconds=phase_seconds,
        metadata_seconds=phase_seconds,
        interval_s=max(SHORTEST_INTERVAL_S, math.floor(phase_seconds / INTERVALS_PER_PHASE * 1000) / 1000),
        workers=min(MOST_WORKERS, cpus),
        reason=f"{format_bytes(size_bytes)}: {why}",
    )


def _too_short(seconds: float, phases: int, repeats: int, needed: int) -> InputError:
    often = f" in {repeats} repeats" if repeats > 1 else ""
    return InputError(f"{seconds:g} s are too short for {phases} phases{often}; use --time {needed}s or more")


def phase_lengths(total_seconds: float, repeats: int) -> tuple[float, float]:
    """Split the measuring time; rounded down to 0.1 s, so that the whole never gets longer.

    Raises:
        InputError: it is too little.
    """
    weight = (STREAM_PHASES + METADATA_PHASES * METADATA_LENGTH) * repeats
    phase_seconds = math.floor(total_seconds / weight * 10) / 10
    if phase_seconds < SHORTEST_PHASE_SECONDS:
        phases, needed = STREAM_PHASES + METADATA_PHASES, math.ceil(SHORTEST_PHASE_SECONDS * weight)
        raise _too_short(total_seconds, phases, repeats, needed)
    return phase_seconds, math.floor(phase_seconds * METADATA_LENGTH * 10) / 10


def _chosen(ram_bytes: int, room: Room, bytes_per_s: float, budget_s: float) -> tuple[int, str]:
    room.require(needed_bytes=SMALLEST_BYTES, cure="name a smaller --size")
    if bytes_per_s <= 0:
        raise InputError("the probe wrote nothing, so no size can be chosen; name one with --size")
    limits = {
        2 * ram_bytes: "2x RAM, more than any cache here can hold",
        int(bytes_per_s * budget_s): f"what {format_bytes(bytes_per_s)}/s can lay out in {budget_s:.0f} s",
        int(room.usable_bytes * FREE_SHARE): "a quarter of the space that may be used",
        LARGEST_BYTES: "the most that a quick run lays out by itself",
    }
    smallest = min(limits)
    if smallest < SMALLEST_BYTES:
        return SMALLEST_BYTES, f"the smallest useful size ({limits[smallest]} would be {format_bytes(smallest)})"
    return _round_down(smallest), limits[smallest]


def _asked(asked: int, room: Room) -> tuple[int, str]:
    if asked < MIB:
        raise InputError(
            f"a size of {asked} bytes is below the 1 MiB that one operation moves; use --size 1MiB or more"
        )
    fits_mib = room.usable_bytes // MIB
    room.require(needed_bytes=asked, cure=f"use --size {fits_mib}MiB or less" if fits_mib else "use another directory")
    size_bytes = asked // MIB * MIB
    return size_bytes, "as asked" if size_bytes == asked else f"as asked ({asked} bytes), rounded down to whole MiB"


def _round_down(size_bytes: int) -> int:
    """Round down to 4, 5, 6 or 7 times a power of two: a multiple of 16 MiB from `SMALLEST_BYTES` on."""
    step = 1 << (size_bytes.bit_length() - 3)
    return size_bytes // step * step


def _files(metadata_seconds: float, size_bytes: int, room: Room) -> int:
    """Choose how many files each metadata set can hold; half of the spare space stays free."""
    files_bytes = 2 * METADATA_SETS * BYTES_PER_FILE
    room.require(
        needed_bytes=size_bytes + FEWEST_FILES * files_bytes,
        needed_inodes=math.ceil(FEWEST_FILES / MOST_INODES_SHARE),
        cure="use a smaller --size or another directory",
    )
    by_time = int(FILES_PER_SECOND * metadata_seconds)
    by_space = (room.usable_bytes - size_bytes) // files_bytes
    by_inodes = by_time if room.free_inodes is None else int(room.free_inodes * MOST_INODES_SHARE)
    files = min(by_time, by_space, by_inodes)
    return files // FILES_STEP * FILES_STEP or files
