"""What a script asks for, worked out: file sets, processes, threads and what they do, with all variables replaced."""

import dataclasses
from collections.abc import Iterator, Mapping

from assay import plan


@dataclasses.dataclass(frozen=True)
class FilesetFiles:
    """A file or a fileset."""

    name: str
    line: int
    path: str
    """The path in the script; the files are in another directory."""
    is_file: bool
    """Whether `define file` made it."""
    entries: int
    leaf_directories: int
    size: plan.Distribution
    width: float
    """Mean files or directories of a directory; 0: all in one."""
    is_random_width: bool
    """Whether widths differ from their mean."""
    existing_share: float
    is_reused: bool
    is_trusted: bool
    is_parallel: bool
    is_cold: bool
    """`cached=false`: out of the page cache before the run."""


Value = bool | int | str | plan.Distribution


@dataclasses.dataclass(frozen=True)
class Flowop:
    """A flowop in a thread, with all its attributes."""

    kind: str
    name: str
    """With the names of the composite flowops around it in front."""
    short_name: str
    """The name in the script, which a target uses."""
    line: int
    iters: int
    files: str
    """Name of the file or fileset; empty: that of what is open."""
    fd: int
    source_fd: int
    io_size: plan.Distribution
    working_set: int
    is_random: bool
    is_dsync: bool
    is_direct: bool
    is_blocking: bool
    opens_next: bool
    reads_ahead: bool
    value: int
    target: str
    high_water: int
    index: plan.Distribution | None


@dataclasses.dataclass(frozen=True)
class Composite:
    """A composite flowop where a thread uses it."""

    name: str
    line: int
    iters: int
    body: "tuple[Flowop | Composite, ...]"


Body = tuple[Flowop | Composite, ...]


@dataclasses.dataclass(frozen=True)
class Thread:
    """A thread of a process."""

    name: str
    line: int
    instances: int
    body: Body

    def flowops(self) -> Iterator[tuple[Flowop, int]]:
        """Give all flowops in order, and how often each is done in a pass."""
        return _flowops(self.body, 1)


def _flowops(body: Body, times: int) -> Iterator[tuple[Flowop, int]]:
    for part in body:
        if isinstance(part, Composite):
            yield from _flowops(part.body, times * part.iters)
        else:
            yield part, times * part.iters


@dataclasses.dataclass(frozen=True)
class Process:
    """A process."""

    name: str
    line: int
    instances: int
    threads: tuple[Thread, ...]


@dataclasses.dataclass(frozen=True)
class Note:
    """A deviation from the script."""

    what: str
    why: str


@dataclasses.dataclass(frozen=True)
class Before:
    """What is done before the run: a pause of N seconds, or a command of the shell."""

    line: int
    seconds: float = 0
    command: str = ""


@dataclasses.dataclass(frozen=True)
class Personality:
    """All that a script asks for."""

    files: Mapping[str, FilesetFiles]
    processes: tuple[Process, ...]
    names: tuple[str, ...]
    """Of all flowops, in the order of their definition."""
    event_rate: float
    """Of the event generator, per second; 0: none."""
    mode: str
    """When the run ends: `timeout`, `alldone` or `firstdone`."""
    seconds: float | None
    """Of the run; None: until it is done."""
    ramp_seconds: float
    """At its start, which the statistics leave out."""
    snapshot_seconds: float
    """Of `psrun`: time from one snapshot to the next; 0: only at the end."""
    resets: bool
    """Whether each snapshot begins anew."""
    has_statistics: bool
    has_histograms: bool
    before: tuple[Before, ...]
    echoed: tuple[str, ...]
    """The text of `echo` and others."""
    notes: tuple[Note, ...]
