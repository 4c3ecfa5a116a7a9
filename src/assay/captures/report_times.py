"""Times of reports that a program prints one after another: the first is of the time since the start, and is left out."""

from typing import Final

from assay.captures.clock import Clock
from assay.captures.samples import SampleRows
from assay.captures.stated_facts import Asked

DEFAULT_INTERVAL_S: Final = 1.0

Interval = tuple[float, float]
"""End, and length in seconds."""


class ReportTimes:
    """Gives each report its interval, by the times that the file has or by those that the user gave."""

    def __init__(self, asked: Asked, rows: SampleRows, option: str) -> None:
        """Begin a file; `option` is that of the program with which it prints times."""
        self.clock = Clock(asked, rows.note)
        self._asked = asked
        self._rows = rows
        self._option = option
        self._reports = 0
        self._without_time = 0
        self._time_s: float | None = None
        self._before_s: float | None = None

    def begin_run(self) -> None:
        """Begin another run of the program in the same file."""
        if self._reports and self._time_s is None:
            self._rows.note("several runs without times are put one after another")
        self._reports, self._time_s, self._before_s = 0, None, None
        self.clock.restart()

    def read_time(self, text: str) -> None:
        """Read the time above a report; raises ValueError where it is none."""
        self.set_time(self.clock.read(text))

    def set_time(self, time_s: float) -> None:
        """Take the time above a report."""
        self._before_s, self._time_s = self._time_s, time_s

    def next_report(self) -> Interval | None:
        """Begin a report; gives its interval, None for the first."""
        self._reports += 1
        if self._reports == 1:
            self._rows.note("the first report, of the time since the machine was started, is left out")
            return None
        if self._time_s is not None:
            return self._time_s, self._time_s - (self._before_s or self._time_s)
        if self._asked.interval_s is None:
            self._rows.note(f"reports have no times ({self._option}): they are taken to be 1 s apart (--interval)")
        if self._asked.begin_s is None:
            self._rows.note(f"reports have no times ({self._option}): they are taken to begin at 0 (--begin)")
        seconds = self._asked.interval_s or DEFAULT_INTERVAL_S
        self._without_time += 1
        return (self._asked.begin_s or 0.0) + self._without_time * seconds, seconds
