"""Show progress on standard error: finished phases, the current step, its rates, and the time left.

On a terminal the lines are redrawn and replaced by the answer. In a log each phase has a line when it ends, and a line now
and then before. From the second repeat on the line has the interval of the rate.
"""

import sys
import time
from collections import deque
from collections.abc import Callable

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from assay import events
from assay.console import console
from assay.live.narrowing import Narrowing
from assay.live.tally import Tally
from assay.live.time_left import words_left
from assay.outward import one_line
from assay.plan import Plan
from assay.units import format_bytes, format_seconds

_FIRST_LINE_S = 2.0
_EACH_LINE_S = 10.0
"""In a log: first line of a phase that is running, and interval of further lines."""
_DRAWN_EACH_S = 0.4
"""Time between two looks at rates; their percentiles cost some CPU."""
_BAR_COLUMNS = 8
_OTHER_LINES = 4
"""Of a terminal, that are not for phases that have ended."""


class TerminalDisplay:
    """Progress on standard error."""

    def __init__(self, note: Callable[[], str] | None = None, *, is_terse: bool = False) -> None:
        """Draw nothing yet.

        Args:
            is_terse: Whether a log has no lines of what is through before the next is due: that of a classic tool.
            note: Returns a line to print below the rates, such as the state of the clients (`set_words.py`).
        """
        self._note = note
        self._console = console(stderr=True)
        self._live = (
            Live(console=self._console, refresh_per_second=4, transient=True) if self._console.is_terminal else None
        )
        self._plan: Plan | None = None
        self._phase = -1
        self._is_measuring = False
        self._begun_s = 0.0
        self._begun_ns: int | None = None
        self._shown_s = 0.0
        self._is_terse = is_terse
        self._logged_s = time.monotonic()
        self._activity = ""
        self._share: float | None = None
        self._rates = ""
        self._words = ""
        self._tally = Tally()
        self._narrowing = Narrowing()
        self._warned: set[str] = set()
        self._ended: deque[tuple[str, str]] = deque(maxlen=max(1, self._console.height - _OTHER_LINES))

    def begin(self, plan: Plan) -> None:
        """Start to draw."""
        self._plan = plan
        if self._live is not None:
            try:
                self._live.start()
            except RuntimeError:  # no thread that could draw (ulimit -u)
                self._live = None

    def show(self, event: events.Event | None) -> None:
        """Take one event in."""
        match event:
            case events.Progress():
                self._is_measuring = False
                self._step(event.activity, event.done / event.total if event.total else None)
                self._rates = _amount(event)
            case events.StepDone() if not event.achieved:
                self._console.print(f"  {event.step}: {event.detail}", soft_wrap=True)
            case events.Started():
                self._begin_phase(event.phase_index)
                self._begun_ns = event.start_ns
            case events.Interval() if event.phase_index == self._phase:
                self._tally.add(event)
                self._look()
            case events.PhaseFinished():
                self._tally.end(event)
                self._end_phase()
            case events.Warning() if event.text not in self._warned:
                # A phase that is repeated has the same one again and again.
                self._warned.add(event.text)
                self._console.print(f"  {event.text}", soft_wrap=True)
            case events.Paused():
                self._console.print(f"  the client was paused for {format_seconds(event.paused_ns / 1e9)}")
            case events.Mark(source="detector"):
                self._console.print(f"  {event.label}", soft_wrap=True)
            case events.Mark():
                self._console.print(f"  {self._when(event)}: {one_line(event.label)}", soft_wrap=True)
            case _:
                pass
        self._draw()

    def _when(self, mark: events.Mark) -> str:
        """Print a mark with its time in the phase, if one has begun."""
        if self._begun_ns is None or mark.t_ns < self._begun_ns:
            return "mark"
        return f"mark at {(mark.t_ns - self._begun_ns) / 1e9:.2f} s"

    def _begin_phase(self, index: int) -> None:
        assert self._plan is not None  # noqa: S101 - begin() came first
        phase = self._plan.phases[index]
        self._phase, self._tally, self._is_measuring = index, Tally(), True
        self._begun_s = time.monotonic()
        self._shown_s = self._begun_s + _FIRST_LINE_S - _EACH_LINE_S
        word = "repeat" if self._plan.rounds is None else "round"
        repeat = f", {word} {phase.repeat + 1}" if phase.repeat else ""
        self._activity, self._rates = f"[{index + 1}/{len(self._plan.phases)}] {phase.title}{repeat}", ""
        self._share = 0.0

    def _end_phase(self) -> None:
        self._is_measuring = False
        assert self._plan is not None  # noqa: S101 - begin() came first
        rates = self._tally.so_far() or "nothing was done"
        if known := self._narrowing.add(self._plan.phases[self._phase].name, self._tally.rate_per_s()):
            rates += f"  {known}"
        self._rates = ""
        if self._live is None:
            self._log_end(f"{self._activity}: {rates}")
        else:
            self._ended.append((self._activity, rates))

    def _look(self) -> None:
        """Take rates up, not too often."""
        now_s = time.monotonic()
        if self._live is not None:
            if now_s - self._shown_s >= _DRAWN_EACH_S:
                self._shown_s, self._rates, self._words = now_s, self._tally.latest(), self._notes()
        elif now_s - self._shown_s >= _EACH_LINE_S:
            self._shown_s = now_s
            parts = (self._tally.latest() or "nothing done yet", self._notes(), self._left())
            self._log(f"{self._activity}: {'  '.join(part for part in parts if part)}")

    def _step(self, activity: str, share: float | None) -> None:
        if activity != self._activity:
            self._activity, self._rates = activity, ""
            if self._live is None:
                self._log_end(activity)
        self._share = share

    def _log_end(self, line: str) -> None:
        """Log what is through, or begins."""
        if not self._is_terse or time.monotonic() - self._logged_s >= _EACH_LINE_S:
            self._log(line)

    def _log(self, line: str) -> None:
        self._logged_s = time.monotonic()
        sys.stderr.write(f"{line}\n")

    def _notes(self) -> str:
        return one_line(self._note()) if self._note is not None else ""

    def _left(self) -> str:
        if self._plan is None or not self._is_measuring:
            return ""
        return words_left(self._plan, self._phase, time.monotonic() - self._begun_s)

    def _draw(self) -> None:
        if self._live is None or not self._activity:
            return
        share = self._phase_share()
        bar = ProgressBar(total=1.0, completed=share or 0.0, width=_BAR_COLUMNS, pulse=share is None)
        ended = _grid(1)
        for activity, rates in self._ended:
            ended.add_row(_giving_way(activity), Text(rates))
        line = _grid(3)
        line.add_row(_giving_way(self._activity), bar, Text(self._rates), Text(self._left()))
        both = Table.grid()
        both.add_row(ended)
        both.add_row(line)
        if self._words and self._is_measuring:
            both.add_row(_giving_way(self._words))
        self._live.update(both)

    def _phase_share(self) -> float | None:
        if self._plan is None or not self._is_measuring:
            return self._share
        phase = self._plan.phases[self._phase]
        seconds = [s for s in (phase.longest_s, *phase.job_times_s) if s]
        return min((time.monotonic() - self._begun_s) / min(seconds), 1.0) if seconds else None

    def end(self) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()


def _grid(columns: int) -> Table:
    """Make a table of a column that gives way on a narrow terminal, and of some that do not."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    for _ in range(columns):
        grid.add_column(no_wrap=True)
    return grid


def _giving_way(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


def _amount(event: events.Progress) -> str:
    if event.unit == "bytes":
        return f"{format_bytes(event.done)} of {format_bytes(event.total)}"
    return f"{event.done:,} of {event.total:,} {event.unit}"
