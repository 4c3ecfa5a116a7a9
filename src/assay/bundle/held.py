"""Hold a run while working on it: the leader during the run, or whoever completes it later.

The lock is one of flock(2) on the Plan of the run, which is written once and never replaced; it goes with the process that
has it, however that ends. Where a file system has no locks, nobody is known to hold anything.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from assay.bundle import files
from assay.bundle.run_place import open_in_run
from assay.closing import close

# To write, although nothing is written: over NFS a lock that nobody else may share needs that.
_HOLD = os.O_RDWR


@contextlib.contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold a run while entered, and report whether that succeeded; False: another process holds it."""
    try:
        place = open_in_run(folder / files.PLAN, _HOLD)
    except OSError:
        yield True
        return
    try:
        yield _is_locked_here(place)
    finally:
        close(place)


def _is_locked_here(place: int) -> bool:
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
