"""Open the folder in which a file of a run is created, so that no link can redirect it.

Where others may write next to the run's folder, they can put a link in its place between two calls. So neither the run's
folder nor the one of its streams is entered over a link, and what is made there is made in the folder that was opened.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from assay.closing import close

STREAM_FOLDER: Final = "events"
_ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def place_of(path: Path) -> Iterator[Path]:
    """Give a way into the folder of a run's file, right in the run's folder or among its streams; raises OSError."""
    is_inner = path.parent.name == STREAM_FOLDER
    place = os.open(path.parent.parent if is_inner else path.parent, _ENTER)
    try:
        if is_inner:
            inner = os.open(STREAM_FOLDER, _ENTER, dir_fd=place)
            close(place)
            place = inner
        yield Path(f"/proc/self/fd/{place}")
    finally:
        close(place)


def open_in_run(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open a file of a run, following no link to it; raises OSError."""
    with place_of(path) as place:
        return os.open(place / path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def remove_in_run(path: Path) -> None:
    """Remove a file of a run, if it is there; raises OSError."""
    with place_of(path) as place:
        (place / path.name).unlink(missing_ok=True)
