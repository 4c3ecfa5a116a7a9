"""Find the active runs of this user on this machine, and read their clocks.

A run is under way while its engine is: the process that its first event names has the run's own stream open as its standard
output. One of several clients is under way while the process that leads it holds its Plan. A number that some other process
has by now, or a run of another machine in a shared folder, is not taken for it.
"""

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from assay.bundle import files
from assay.bundle.client_set import CLIENTS, client_set_of
from assay.bundle.common_clock import common_clock
from assay.bundle.inside import open_inside, read_inside
from assay.errors import BundleError
from assay.events import Event, Hello, decode
from assay.ownership import is_own_folder

_LONGEST_HELLO_BYTES: Final = 1 << 20


@dataclasses.dataclass(frozen=True)
class UnderWay:
    """A run that goes on."""

    folder: Path
    zero_ns: int
    """CLOCK_MONOTONIC of this machine where the time of the run begins."""

    def t_ns(self, monotonic_ns: int) -> int:
        """Give a moment of CLOCK_MONOTONIC as the run counts, and never one before it."""
        return max(0, monotonic_ns - self.zero_ns)


def runs_under_way(runs: Path) -> tuple[UnderWay, ...]:
    """Find this user's runs under way in a folder, oldest first; raises BundleError if the folder cannot be read."""
    try:
        with os.scandir(runs) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BundleError(f"{runs}: cannot be listed: {error.strerror}. Name another with --runs DIR") from error
    found = (under_way(runs / name) for name in names)
    return tuple(run for run in found if run is not None)


def under_way(folder: Path) -> UnderWay | None:
    """Look at one run; None where it is not under way here, or not this user's."""
    try:
        if not is_own_folder(folder.lstat(), folder) or not (folder / files.RUN).exists():
            return None
        zero_ns = _zero_of_set_ns(folder) if (folder / CLIENTS).exists() else _zero_of_one_ns(folder)
    except (OSError, BundleError, ValueError, msgspec.DecodeError):
        return None
    return None if zero_ns is None else UnderWay(folder, zero_ns)


def _zero_of_one_ns(folder: Path) -> int | None:
    with _stream(folder, files.ALONE) as stream:
        hello = _hello_of(stream)
        # The engine's standard output: another process of this number writes to another file.
        if hello is None or not _has_open(f"{hello.engine.pid}/fd/1", os.fstat(stream.fileno())):
            return None
    return hello.clock.monotonic_at_zero_ns


def _zero_of_set_ns(folder: Path) -> int | None:
    """Where the time of a run of several clients begins, by the clock of who leads it: a process here holds its Plan."""
    plan = (folder / files.PLAN).stat()
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    holders = [words[4] for words in locks if words[1] == "FLOCK" and words[5].endswith(f":{plan.st_ino}")]
    if not any(_has_open(f"{pid}/fd/*", plan) for pid in holders):
        return None
    found = client_set_of(read_inside(folder, CLIENTS))
    hellos: dict[str, list[Event]] = {}
    for member in found.loads:
        with contextlib.suppress(BundleError, OSError), _stream(folder, member.name) as stream:
            hellos[member.name] = [hello] if (hello := _hello_of(stream)) else []
    return common_clock(found, hellos).zero_ns if any(hellos.values()) else None


def _stream(folder: Path, client: str) -> BinaryIO:
    return open_inside(folder, files.STREAMS.replace("*", client))


def _hello_of(stream: BinaryIO) -> Hello | None:
    event = decode(stream.readline(_LONGEST_HELLO_BYTES))
    return event if isinstance(event, Hello) else None


def _has_open(pattern: str, file: os.stat_result) -> bool:
    """Whether one of the open files of /proc that match a pattern is a file."""
    for path in Path("/proc").glob(pattern):
        with contextlib.suppress(OSError):
            if os.path.samestat(path.stat(), file):
                return True
    return False
