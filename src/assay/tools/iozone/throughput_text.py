"""The lines of the throughput mode, its report and its worksheet."""

from collections.abc import Iterator

from assay.report.worksheet import Entry
from assay.tools.iozone import banner
from assay.tools.iozone.columns import ThroughputTest
from assay.tools.iozone.settings import Settings
from assay.tools.iozone.throughput import cell_of
from assay.tools.iozone.values import Numbers, Sums
from assay.units import ABSENT


def text(measured: Numbers) -> str:
    """Print each test with each number of children and, with -R, the report."""
    settings = measured.settings
    parts = [_bounds(settings)]
    for number, count in enumerate(settings.counts):
        parts.append(_announcement(measured, count, is_first=number == 0))
        for load in settings.loads():
            sums = measured.sums(load, count)
            if sums is not None:
                parts.append(
                    "\n" + "".join(f"\t{line}\n" for line in _lines(settings, load, count * measured.clients, sums))
                )
    parts.append("".join(_report(measured)) if settings.report else "\n")
    parts.append("\n\niozone test complete.\n" if measured.is_complete else "\n\niozone: interrupted\n")
    return "".join(parts)


def sheet(measured: Numbers) -> list[Entry]:
    """Lay the worksheet out: a row a test, from the third column on one number for each number of children."""
    settings = measured.settings
    entries: list[Entry] = [
        (0, 0, banner.command_line(settings) + " "),
        (1, 0, _axes(settings)),
        (2, 0, f"Record size = {settings.matrix.record_sizes()[0]} kBytes"),
        (3, 0, banner.unit_line(settings)),
    ]
    for at, (title, values) in enumerate(report_rows(measured), start=4):
        entries.append((at, 0, f"{title:>15} "))
        entries += [(at, 2 + i, value) for i, value in enumerate(values) if value is not None]
    return entries


def report_rows(measured: Numbers) -> Iterator[tuple[str, list[float | None]]]:
    """Give a test's title and the children's sum for each number of children; 0: it was not ended; None: there is no sum."""
    for load in measured.settings.loads():
        sums = (measured.sums(load, count) for count in measured.settings.counts)
        yield load.title, [0.0 if one is None else one.total for one in sums]


def _bounds(settings: Settings) -> str:
    if not settings.least:
        return ""
    child = "thread" if settings.threads else "process"
    return f"\tMin {child} = {settings.least} \n\tMax {child} = {settings.most} \n"


def _announcement(measured: Numbers, count: int, *, is_first: bool) -> str:
    settings, everywhere = measured.settings, count * measured.clients
    child = "thread" if settings.threads else "process"
    children = child if everywhere == 1 else child + ("s" if settings.threads else "es")
    cell = cell_of(settings, count)
    head = f"\tThroughput test with {everywhere} {children}\n" if is_first else "\n\n"
    return f"{head}\tEach {child} writes a {cell.file_kib} kByte file in {cell.record_kib} kByte records\n"


def _lines(settings: Settings, load: ThroughputTest, count: int, sums: Sums) -> Iterator[str]:
    child = "thread" if settings.threads else "process"
    unit = banner.unit(settings)
    who = f"{count} {load.children}" if load.is_narrow else f"{count:2d} {load.children}"
    first, second = load.tabs
    yield f"Children see throughput for {who} {first}= {_sum(sums.total)} {unit}/sec"
    yield f"Parent sees throughput for {who} {second}= {_sum(sums.parent)} {unit}/sec"
    yield f"Min throughput per {child} \t\t\t= {sums.slowest:10.2f} {unit}/sec "
    yield f"Max throughput per {child} \t\t\t= {sums.fastest:10.2f} {unit}/sec"
    yield f"Avg throughput per {child} \t\t\t= {sums.mean:10.2f} {unit}/sec"
    yield f"Min xfer \t\t\t\t\t= {sums.least_amount:10.2f} {unit}"
    if settings.show_children:
        for number, one in enumerate(sums.children):
            yield f"Child[{number}] xfer count = {one.amount:10.2f} {unit}, Throughput = {one.rate:10.2f} {unit}/sec"


def _sum(value: float | None) -> str:
    return f"{ABSENT:>10}" if value is None else f"{value:10.2f}"


def _axes(settings: Settings) -> str:
    kind = "threads" if settings.threads else "processes"
    return f"Throughput report Y-axis is type of test X-axis is number of {kind}"


def _report(measured: Numbers) -> Iterator[str]:
    settings = measured.settings
    record_kib = settings.matrix.record_sizes()[0]
    yield f'\n\n\n"{_axes(settings)}"\n"Record size = {record_kib} kBytes "\n"{banner.unit_line(settings)}"\n'
    for title, values in report_rows(measured):
        yield f'\n"{title:>15} "' + "".join(f" {_sum(value)} " for value in values) + "\n"
