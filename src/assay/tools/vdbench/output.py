"""The text of a vdbench run: its lines by interval and their mean, and the files that it leaves behind.

    <date>       interval        i/o   MB/sec   bytes ...
    <time>              1     ...
    <time>        avg_2-10    ...

A value that was not measured is n/a: opens and closes around operations at a rate are not timed, and CPU where it was not
sampled. Response times are in ms, MB are 1,048,576 bytes.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay import events
from assay.outward import markup
from assay.tools.front_end import Output
from assay.tools.output_files import OutputFile
from assay.tools.vdbench.columns import columns_of
from assay.tools.vdbench.flatfile import flatfile
from assay.tools.vdbench.measured import MeasuredRun, measure_runs
from assay.tools.vdbench.runs import runs
from assay.tools.vdbench.settings import Settings

if TYPE_CHECKING:
    from assay.report.figure import Figure

_LABEL_WIDTH = 12


class VdbenchOutput(Output[Settings]):
    """What vdbench prints."""

    @cached_property
    def _measured(self) -> tuple[MeasuredRun, ...]:
        return measure_runs(self.run, runs(self.settings.load))

    @cached_property
    def _zero(self) -> dt.datetime:
        """The time of the engine's clock at zero."""
        hello = self.run.first(events.Hello)
        if hello is None:
            return dt.datetime.fromisoformat(self.run.info.started_utc)
        return dt.datetime.fromtimestamp(hello.clock.realtime_at_zero_ns / 1e9, tz=dt.UTC)

    def text(self) -> str:
        """Print every run with its intervals; of one that was cut, what was measured."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        for each in self._measured:
            yield from self._run(each)
            yield ""
        if len(self._measured) < sum(bool(phase.jobs) for phase in self.run.plan.phases):
            yield "incomplete: not every run was done"
        elif not self._measured:
            yield "Files were laid out, or removed; nothing was measured."

    def _run(self, each: MeasuredRun) -> Iterator[str]:
        columns, values = columns_of(each)
        begin = self._at(each.record.start_ns)
        yield f"{_time(begin)} Starting RD={starting(each)}"
        yield ""
        date = begin.strftime("%b %d, %Y")
        yield _row(date, "interval", (f"{column.heading[0]:>{column.width}}" for column in columns))
        yield _row("", "", (f"{column.heading[1]:>{column.width}}" for column in columns))
        for interval in [*each.intervals, *([each.mean] if each.mean else [])]:
            cells = values(interval)
            when = _time(self._at(interval.span.end_ns))
            yield _row(when, interval.label, (column.cell(cells) for column in columns))

    def _at(self, t_ns: int) -> dt.datetime:
        return self._zero + dt.timedelta(microseconds=t_ns / 1000)

    def files(self) -> Sequence[OutputFile]:
        """Make summary.html and flatfile.html for the folder that is asked for."""
        if self.settings.output is None:
            return ()
        folder = Path(self.settings.output)
        summary = f"<pre>\n{markup(self.text())}</pre>\n"
        flat = f"<pre>\n{markup(flatfile(self._measured, self._at))}</pre>\n"
        return (
            OutputFile(folder / "summary.html", summary.encode()),
            OutputFile(folder / "flatfile.html", flat.encode()),
        )

    def figures(self) -> "Sequence[Figure]":
        """Draw the response-time curves."""
        # Text has to be printed where the libraries that draw are not installed.
        from assay.tools.vdbench.figures import figures  # noqa: PLC0415

        return figures(self._measured)


def starting(each: MeasuredRun) -> str:
    """Describe a run, in vdbench's terms."""
    run, rd = each.run, each.run.rd
    if each.record.phase.name != run.name:
        return each.record.phase.name
    word = "fwdrate" if rd.fwds else "I/O rate"
    rate = each.rate_per_s
    shown = "max" if rate is None else f"{rate:g}" if not run.of else f"{rate:.2f}"
    name = f"{rd.name}_({run.share:g}%)" if run.of else rd.name
    warmup = f"; warmup={rd.warmup}" if rd.warmup else ""
    return f"{name}; {word}: {shown}; elapsed={rd.elapsed}{warmup}; For loops: {run.loops or 'None'}"


def _time(when: dt.datetime) -> str:
    return when.strftime("%H:%M:%S.") + f"{when.microsecond // 1000:03d}"


def _row(when: str, label: str, cells: Iterator[str]) -> str:
    return f"{when:<12} {label:>{_LABEL_WIDTH}} {' '.join(cells)}".rstrip()


OUTPUT = VdbenchOutput
