"""Watch for marks that the user sets from another terminal during a run, and show them."""

import time
from pathlib import Path
from typing import Final

from assay import events
from assay.bundle.kept_marks import MARKS, KeptMark, marks_of

_LOOK_S: Final = 0.1


class MarkWatch:
    """Looks now and then whether the file of marks is another one."""

    def __init__(self, folder: Path) -> None:
        """Watch a run's folder; what is there already is new too."""
        self._folder = folder
        self._looked_s = 0.0
        self._seen: tuple[int, int] | None = None
        self._known: list[KeptMark] = []

    def new(self) -> tuple[events.Mark, ...]:
        """Give the marks that came since the last call, as events of a stream."""
        now_s = time.monotonic()
        if now_s - self._looked_s < _LOOK_S:
            return ()
        self._looked_s = now_s
        try:
            found = (self._folder / MARKS).lstat()
        except OSError:
            return ()
        seen = (found.st_ino, found.st_mtime_ns)
        if seen == self._seen:
            return ()
        self._seen = seen
        left, new = list(self._known), []
        self._known = list(marks_of(self._folder))
        for mark in self._known:
            if mark in left:
                left.remove(mark)
            else:
                new.append(events.Mark(t_ns=mark.t_ns, label=mark.label, source=mark.given.value))
        return tuple(new)
