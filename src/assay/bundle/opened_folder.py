"""Open a run's folder so that it stays the same while it is read, whatever is renamed meanwhile.

Where several users keep runs in one folder, each may be able to put another folder in the place of a run, and back. What is
opened once, and reached by its descriptor from then on, is one folder, with one owner.
"""

import contextlib
import dataclasses
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from assay.bundle.durable import names_in
from assay.closing import close
from assay.ownership import can_others_write

_ENTER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclasses.dataclass(frozen=True)
class OpenedFolder:
    """An open folder of a run."""

    name: str
    place: Path
    """Leads to what was opened, and nowhere else, while it is open."""
    facts: os.stat_result

    @property
    def owner(self) -> int:
        """Owner."""
        return self.facts.st_uid

    def is_fixed(self) -> bool:
        """Whether nobody but its owner and root can change what is in it; raises OSError."""
        found = {self.place: self.facts}
        for name in names_in(self.place):
            path = self.place / name
            found[path] = path.lstat()
            if stat.S_ISDIR(found[path].st_mode):
                found |= {path / inner: (path / inner).lstat() for inner in names_in(path)}
        return all(
            facts.st_uid in {self.owner, 0} and not can_others_write(facts, path) for path, facts in found.items()
        )


@contextlib.contextmanager
def open_folder(folder: Path) -> Iterator[OpenedFolder]:
    """Open a run's folder; no link is followed to it. Raises OSError."""
    place = os.open(folder, _ENTER)
    try:
        yield OpenedFolder(folder.name, Path(f"/proc/self/fd/{place}"), os.fstat(place))
    finally:
        close(place)
