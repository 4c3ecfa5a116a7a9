"""The progress display: what is going on, how long it takes, and the rates of the latest interval.

On a terminal it redraws a few lines on standard error; elsewhere it prints one line a step, so that a log stays readable.
"""

import sys
import time

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from assay import events
from assay.console import console
from assay.plan import Plan
from assay.units import format_bytes, format_number, format_seconds


class TerminalDisplay:
    """Progress on standard error."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        self._console = console(stderr=True)
        self._live = (
            Live(console=self._console, refresh_per_second=8, transient=True) if self._console.is_terminal else None
        )
        self._plan: Plan | None = None
        self._phase = -1
        self._phase_begun = 0.0
        self._activity = ""
        self._share: float | None = None
        self._rates = ""

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
                self._step(event.activity, event.done / event.total if event.total else None)
                self._rates = _amount(event)
            case events.StepDone() if not event.achieved:
                self._console.print(f"  {event.step}: {event.detail}", soft_wrap=True)
            case events.Started():
                self._begin_phase(event.phase_index)
            case events.Interval() if event.operations:
                self._rates = _rates(event)
            case events.PhaseFinished():
                self._rates = ""
            case events.Warning():
                self._console.print(f"  {event.text}", soft_wrap=True)
            case events.Paused():
                self._console.print(f"  the client stood still for {format_seconds(event.paused_ns / 1e9)}")
            case events.Mark(source="detector"):
                self._console.print(f"  {event.label}", soft_wrap=True)
            case _:
                pass
        self._draw()

    def _begin_phase(self, index: int) -> None:
        assert self._plan is not None  # noqa: S101 - begin() came first
        phase = self._plan.phases[index]
        self._phase, self._phase_begun = index, time.monotonic()
        repeat = f", repeat {phase.repeat + 1}" if phase.repeat else ""
        self._step(f"[{index + 1}/{len(self._plan.phases)}] {phase.title}{repeat}", 0.0)

    def _step(self, activity: str, share: float | None) -> None:
        if activity != self._activity:
            self._activity, self._rates = activity, ""
            if self._live is None:
                sys.stderr.write(f"{activity}\n")
        self._share = share

    def _draw(self) -> None:
        if self._live is None or not self._activity:
            return
        line = Table.grid(padding=(0, 2))
        line.add_column()  # the one that gives way on a narrow terminal
        line.add_column(no_wrap=True)
        line.add_column(no_wrap=True)
        share = self._phase_share()
        bar = ProgressBar(total=1.0, completed=share or 0.0, width=20, pulse=share is None)
        line.add_row(Text(self._activity, no_wrap=True, overflow="ellipsis"), bar, Text(self._rates))
        self._live.update(line)

    def _phase_share(self) -> float | None:
        if self._plan is None or not self._activity.startswith("["):
            return self._share
        phase = self._plan.phases[self._phase]
        seconds = [s for s in (phase.longest_s, *(job.stop.seconds for job in phase.jobs)) if s]
        return min((time.monotonic() - self._phase_begun) / min(seconds), 1.0) if seconds else None

    def end(self) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()


def _amount(event: events.Progress) -> str:
    if event.unit == "bytes":
        return f"{format_bytes(event.done)} of {format_bytes(event.total)}"
    return f"{event.done:,} of {event.total:,} {event.unit}"


def _rates(event: events.Interval) -> str:
    seconds = event.dt_ns / 1e9
    if seconds <= 0:
        return ""
    ops = sum(operation.ops for operation in event.operations) / seconds
    moved = sum(operation.bytes for operation in event.operations) / seconds
    errors = sum(operation.errors for operation in event.operations)
    text = f"{format_number(ops)} ops/s" + (f"  {format_bytes(moved)}/s" if moved else "")
    return text + (f"  {errors} errors" if errors else "")
