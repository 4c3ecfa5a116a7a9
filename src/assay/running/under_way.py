"""Which runs of this user are under way on this machine, and what does their clock say?

A run is under way while its engine is: the process that its first event names has the run's own stream open as its standard
output. A number that some other process has by now, or a run of another machine in a shared folder, is not taken for it.
"""

import dataclasses
import os
from pathlib import Path
from typing import Final

import msgspec

from assay.bundle import files
from assay.bundle.inside import open_inside
from assay.errors import BundleError
from assay.events import Hello, decode
from assay.ownership import is_own_folder

_LONGEST_HELLO_BYTES: Final = 1 << 20
_STREAM: Final = files.STREAMS.replace("*", files.ALONE)


@dataclasses.dataclass(frozen=True)
class UnderWay:
    """A run that goes on."""

    folder: Path
    hello: Hello

    def t_ns(self, monotonic_ns: int) -> int:
        """Give a moment of CLOCK_MONOTONIC as the run counts: since its hello, and never before it."""
        return max(0, monotonic_ns - self.hello.clock.monotonic_at_zero_ns)


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
        with open_inside(folder, _STREAM) as stream:
            hello = decode(stream.readline(_LONGEST_HELLO_BYTES))
            if not isinstance(hello, Hello):
                return None
            # Its standard output: who else has the number writes elsewhere.
            output = Path(f"/proc/{hello.engine.pid}/fd/1").stat()
            if not os.path.samestat(output, os.fstat(stream.fileno())):
                return None
    except (OSError, BundleError, msgspec.DecodeError):
        return None
    return UnderWay(folder, hello)
