"""What fio prints of a run: its text, its terse lines, or its JSON.

The text has fio's lines for what Assay measures: of each job or group its reads and writes with IOPS, bandwidth, bytes and
time, `lat` with percentiles, the processor, and the sums of each group.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path

from assay import events
from assay.analysis.record import PhaseRecord
from assay.tools.fio.job_settings import Settings
from assay.tools.fio.json_text import json_document, json_text
from assay.tools.fio.loop import READ, TRIM, WRITE
from assay.tools.fio.terse_text import terse_text
from assay.tools.fio.totals import Direction, Latency, Reported, sum_up
from assay.tools.front_end import Output
from assay.tools.output_files import OutputFile
from assay.units import ABSENT

_CHARACTERS = 4
_TAIL = 10
"""I/Os beyond a percentile below which it rests on hardly any."""


class FioOutput(Output[Settings]):
    """fio's text."""

    @cached_property
    def _found(self) -> list[Reported]:
        return sum_up(self.run, self.settings)

    def text(self) -> str:
        """Print the run; nothing where it goes to a file."""
        return "" if self.settings.output else self._whole()

    def files(self) -> Sequence[OutputFile]:
        """Make the file of --output."""
        return [OutputFile(Path(self.settings.output), self._whole().encode())] if self.settings.output else ()

    def stderr_notes(self) -> str:
        """List what was ignored, and what fio's terms mean here."""
        lines = [f"fio: ignored (does not change the load): {note}." for note in self.settings.notes]
        lines.append(
            "fio: each latency is from submission to completion, fio's lat; clat of the JSON is the same, and slat is 0."
        )
        lines += _sumless(self._found)
        lines += _few(self._found)
        lines += _steady(self.run.phases)
        if any(part.ops == 0 for one in self._found for part in one.directions):
            lines.append("fio: a job did no I/O; see the answer below for why.")
        return "".join(f"{line}\n" for line in lines)

    def _whole(self) -> str:
        made = []
        for kind in self.settings.formats:
            if kind == "normal":
                made.append("\n".join(_text(self._found, self.run.info.assay_version)) + "\n")
            elif kind == "terse":
                made.append(terse_text(json_document(self.run, self.settings, self._found)))
            else:
                made.append(json_text(self.run, self.settings, self._found, with_bins=kind == "json+"))
        return "".join(made)


def _steady(phases: Sequence[PhaseRecord]) -> Iterator[str]:
    """Report for each phase with a steady-state rule whether it was met."""
    for phase in phases:
        if phase.phase.steady is not None and phase.finished is not None:
            is_met = any(one.stopped_by is events.StoppedBy.STEADY for one in phase.finished.workers)
            yield f"fio: {phase.phase.title}: steady state was {'attained' if is_met else 'not attained'}."


def _sumless(found: Sequence[Reported]) -> Iterator[str]:
    """Name jobs without rates."""
    for one in found:
        if not all(part.is_sum for part in one.directions):
            yield f"fio: {one.settings.name}: the clients were hardly at work together, so there is no sum of their rates."


def _few(found: Sequence[Reported]) -> Iterator[str]:
    """Name percentiles that rest on too few I/Os."""
    for one in found:
        for part in one.directions:
            if (of := part.latency) is None:
                continue
            weak = [at for at, _ in of.percentiles if at < 100 and of.count * (100 - at) / 100 < _TAIL]
            if weak:
                yield (
                    f"fio: {one.settings.name}: {part.name}: of {of.count} I/Os fewer than {_TAIL} lie beyond the"
                    f" {weak[0]:g}th percentile: it and higher ones are not reliable."
                )


# -- text --------------------------------------------------------------------------------------------------------------


def _text(found: Sequence[Reported], version: str) -> Iterator[str]:
    for one in found:
        yield from _heading(one)
    yield f"fio-3.33 (Assay {version})"
    for one in found:
        yield ""
        of_all = f" sum of {one.clients} clients" if one.clients > 1 else ""
        yield f"{one.settings.name}: (groupid={one.group}, jobs={one.workers}): err={one.error:2d}:{of_all}"
        for part in one.directions:
            yield from _part(part)
        yield f"  cpu          : usr={one.user_percent:.2f}%, sys={one.system_percent:.2f}%"
        yield _issued_line(one)
    for group, members in groupby(found, key=lambda one: one.group):
        yield ""
        yield f"Run status group {group} (all jobs):"
        together = list(members)
        for name in (READ, WRITE, TRIM):
            if parts := [part for one in together for part in one.directions if part.name == name]:
                yield _status(name, parts)


def _heading(one: Reported) -> Iterator[str]:
    job = one.settings
    reads, writes = (f"{min(s[1] for s in sizes)}B-{max(s[2] for s in sizes)}B" for sizes in job.sizes)
    yield (
        f"{job.name}: (g={one.group}): rw={job.options.get('rw', 'read')}, bs=(R) {reads}, (W) {writes}, ioengine="
        f"{job.engine}, iodepth={job.depth}"
    )


def _part(part: Direction) -> Iterator[str]:
    rates = f"IOPS={number(part.iops)}, BW={binary(part.bytes_per_s)}/s ({decimal(part.bytes_per_s)}/s)"
    yield f"  {part.name}: {rates}({binary(part.bytes)}/{part.runtime_ms}msec)"
    if part.latency is not None:
        yield from _latency(part.latency)


def _latency(of: Latency) -> Iterator[str]:
    unit, divisor = _unit(of)
    least, most = (_figure(value / divisor) for value in (of.least, of.most))
    yield (
        f"     lat ({unit}): min={least}, max={most}, avg={of.mean / divisor:5.2f}, stdev={of.deviation / divisor:5.2f}"
    )
    yield f"    lat percentiles ({unit}):"
    rows = [of.percentiles[i : i + _CHARACTERS] for i in range(0, len(of.percentiles), _CHARACTERS)]
    for place, row in enumerate(rows):
        cells = ", ".join(f"{at:5.2f}th=[{value / divisor:5.0f}]" for at, value in row)
        yield f"     | {cells}{',' if place + 1 < len(rows) else ''}"


def _unit(of: Latency) -> tuple[str, float]:
    """Choose the unit as fio does: a larger one while all figures stay well above 1 in it."""
    found, divisor = "nsec", 1.0
    for larger in ("usec", "msec"):
        if not (of.least > 2000 * divisor and of.most > 99_999 * divisor and of.deviation > 1000 * divisor):
            break
        found, divisor = larger, divisor * 1000
    return found, divisor


def _figure(value: float) -> str:
    return f"{value:.0f}"


def _issued_line(one: Reported) -> str:
    done = ",".join(str(part.ops if (part := one.of(name)) else 0) for name in (READ, WRITE, TRIM))
    return f"     issued rwts: total={done},0 short=0,0,0,0 dropped=0,0,0,0"


def _status(name: str, parts: Sequence[Direction]) -> str:
    rates = [part.bytes_per_s for part in parts if part.bytes_per_s is not None]
    times = [part.runtime_ms for part in parts]
    moved = sum(part.bytes for part in parts)
    together: float | None = moved * 1e9 / longest if (longest := max(part.runtime_ns for part in parts)) else 0.0
    if len(rates) < len(parts):
        together = None
    low, high = min(rates, default=None), max(rates, default=None)
    return (
        f"{name.upper():>7}: bw={binary(together)}/s ({decimal(together)}/s), {binary(low)}/s-{binary(high)}/s"
        f" ({decimal(low)}/s-{decimal(high)}/s), io={binary(moved)} ({decimal(moved)}), run={min(times)}-{max(times)}msec"
    )


# -- numbers -----------------------------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Write a count in about four characters: 9428, 28.4k."""
    return _short(value, 1000, ("", "k", "M", "G", "T"))


def binary(value: float | None) -> str:
    """Write bytes in powers of 1024."""
    return _short(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def decimal(value: float | None) -> str:
    """Write bytes in powers of 1000."""
    return _short(value, 1000, ("B", "kB", "MB", "GB", "TB", "PB"))


def _short(value: float | None, step: int, units: Sequence[str]) -> str:
    if value is None:
        return ABSENT
    power = 0
    while len(f"{value:.0f}") > _CHARACTERS and power + 1 < len(units):
        value, power = value / step, power + 1
    digits = len(f"{int(value)}")
    decimals = max(_CHARACTERS - digits - 1, 0) if power else 0
    return f"{value:.{decimals}f}{units[power]}"


OUTPUT = FioOutput
