"""vdbench's flatfile: a line of names, and a line for each interval and each mean, in columns by blanks."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.tools.vdbench.columns import FILE_OPERATIONS, columns_of
from assay.tools.vdbench.measured import MeasuredRun, RunSpan
from assay.tools.vdbench.storage import Wd
from assay.tools.vdbench.values import Transfer
from assay.units import ABSENT

_STORAGE: Mapping[str, str] = {
    "Run": "name of the rd",
    "Interval": "number of the interval",
    "reqrate": "I/O rate asked for",
    "rate": "I/O rate",
    "MB/sec": "1,048,576 bytes a second",
    "bytes/io": "mean bytes of an I/O",
    "read%": "reads, in per cent",
    "resp": "mean response time, ms",
    "read_resp": "mean response time of reads, ms",
    "write_resp": "mean response time of writes, ms",
    "resp_max": "longest response time, ms",
    "resp_std": "standard deviation of response times, ms",
    "xfersize": "bytes of an I/O asked for",
    "threads": "threads of an SD asked for",
    "rdpct": "reads asked for, in per cent",
    "rhpct": "read hits asked for, in per cent",
    "whpct": "write hits asked for, in per cent",
    "seekpct": "seeks asked for, in per cent",
    "queue_depth": "mean I/Os in flight",
    "cpu_used": "CPU of the machine, per cent: user and system",
    "cpu_user": "CPU of the machine, per cent: user",
    "cpu_kernel": "CPU of the machine, per cent: system",
    "cpu_idle": "CPU of the machine, per cent: idle and waiting",
}
_FILES: Mapping[str, str] = {
    "Run": "name of the rd",
    "Interval": "number of the interval",
    "reqrate": "rate of operations asked for",
    "rate": "operations a second that were asked for",
    "resp": "their mean response time, ms",
    "MB/sec": "1,048,576 bytes a second",
    "Read_rate": "reads a second",
    "Read_resp": "their mean response time, ms",
    "Write_rate": "writes a second",
    "Write_resp": "their mean response time, ms",
    "MB_read": "1,048,576 bytes read a second",
    "MB_write": "1,048,576 bytes written a second",
    "Xfersize": "mean bytes of a read or write",
    **{
        f"{name.capitalize()}_{what}": f"{name}: {word}"
        for name in FILE_OPERATIONS
        for what, word in (("rate", "operations a second"), ("resp", "mean response time, ms"))
    },
    **{name: text for name, text in _STORAGE.items() if name.startswith("cpu_")},
}


def flatfile(runs: Sequence[MeasuredRun], at: Callable[[int], dt.datetime]) -> str:
    """Write all runs; `at` gives the time of day of the engine's times."""
    if not runs:
        return ""
    names = _FILES if runs[0].run.rd.fwds else _STORAGE
    lines = [f"* {name:<16}: {text}" for name, text in names.items()]
    lines += ["* 'n/a'           : not measured, or not one value", "*", _line(["tod", "timestamp", *names])]
    for each in runs:
        intervals = [*each.intervals, *([each.mean] if each.mean else [])]
        lines += [_line(_cells(each, interval, names, at)) for interval in intervals]
    return "\n".join([*lines, ""])


def _line(cells: Sequence[str]) -> str:
    return " ".join([f" {cells[0]:>12}", f"{cells[1]:>23}", *(f"{cell:>12}" for cell in cells[2:])])


def _cells(
    each: MeasuredRun, interval: RunSpan, names: Mapping[str, str], at: Callable[[int], dt.datetime]
) -> list[str]:
    when = at(interval.span.end_ns)
    rate = each.rate_per_s
    name = each.record.phase.name if each.record.phase.name != each.run.name else each.run.rd.name
    words = {
        "Run": "_".join(f"{name}_({each.run.share:g}%)".split() if each.run.of else name.split()),
        "Interval": interval.label,
        "reqrate": "max" if rate is None else f"{rate:.4f}",
        **_requested(each),
    }
    found = columns_of(each)[1](interval)
    stamp = f"{when:%H:%M:%S}.{when.microsecond // 1000:03d}"
    return [
        stamp,
        f"{when:%m/%d/%Y-%H:%M:%S-UTC}",
        *(words[name] if name in words else _number(found[name]) for name in names),
    ]


def _number(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"


def _requested(each: MeasuredRun) -> Mapping[str, str]:
    """What was asked for, where it is one value for all workloads of the run."""
    wds, values = each.run.rd.wds, each.run.values
    if not wds:
        return {}

    def of(name: str, own: Callable[[Wd], object]) -> str:
        found = {values.get(name, own(wd)) for wd in wds}
        one = found.pop()
        if found:
            return ABSENT
        if isinstance(one, Transfer):
            return str(one.sizes[0][0]) if len(one.sizes) == 1 else ABSENT
        return f"{one:g}" if isinstance(one, int | float) else ABSENT

    threads = {job.workers for job in each.record.phase.jobs}
    return {
        "xfersize": of("xfersize", lambda wd: wd.transfer),
        "threads": str(threads.pop()) if len(threads) == 1 else ABSENT,
        **dict(_shares(of)),
    }


def _shares(of: Callable[[str, Callable[[Wd], object]], str]) -> Iterator[tuple[str, str]]:
    yield "rdpct", of("rdpct", lambda wd: wd.rdpct)
    yield "rhpct", of("rhpct", lambda wd: wd.rhpct)
    yield "whpct", of("whpct", lambda wd: wd.whpct)
    yield "seekpct", of("seekpct", lambda wd: wd.seekpct)
