"""The table of one stream, its report and its worksheet."""

from collections.abc import Iterator

from assay.report.worksheet import Entry
from assay.tools.iozone import banner
from assay.tools.iozone.columns import EXTENSION_TESTS, VECTORED_TESTS, Column
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.settings import Settings
from assay.tools.iozone.values import Numbers

_UPPER_LINE = f"{'random':>68}{'random':>10}{'bkwd':>9}{'record':>10}{'stride':>10}" + " " * 36
_LOWER_LINE = (
    "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read"
)
_SHORT_LINE = "              kB  reclen    write  rewrite    read    reread"
_STREAM_HEADS = "   fwrite frewrite    fread  freread"
_PREAD_HEADS = "  pwrite repwrite   pread   repread"
_VECTOR_HEADS = "  pwritev repwritev  preadv repreadv"
_TIMER_NOTE = (
    "Timer resolution is poor. Some small transfers may have \n"
    "reported inaccurate results. Sizes {} kBytes and below.\n"
)


def text(measured: Numbers) -> str:
    """Print the table and, with -R, the reports."""
    settings = measured.settings
    lines = [*_heading(settings), *(line for cell in settings.matrix.cells() if (line := _row(measured, cell)))]
    end = "\niozone test complete.\n" if measured.is_complete else "\niozone: interrupted\n"
    reports = "Excel output is below:\n" + "".join(_report(measured)) if settings.report else ""
    return "".join(f"{line}\n" for line in lines) + end + reports + _timer_note(measured)


def sheet(measured: Numbers) -> list[Entry]:
    """Lay the worksheet out: the reports one below the other."""
    settings = measured.settings
    entries: list[Entry] = [
        (0, 0, banner.command_line(settings) + " "),
        (1, 0, " "),
        (2, 0, "The top row is records sizes, the left column is file sizes"),
    ]
    at = 3
    for column in settings.reported():
        entries.append((at, 0, f"{column.sheet} Report"))
        records = settings.matrix.record_sizes()
        entries += [(at + 1, 1 + i, float(record_kib)) for i, record_kib in enumerate(records)]
        at += 2
        for file_kib, values in report_rows(measured, column):
            entries.append((at, 0, float(file_kib)))
            entries += [(at, 1 + i, float(value)) for i, value in enumerate(values)]
            at += 1
    return entries


def report_rows(measured: Numbers, column: Column) -> Iterator[tuple[int, list[int]]]:
    """Give a report's rows: file size, then a value for each record size that fits, 0 for what was left out."""
    matrix = measured.settings.matrix
    for file_kib in matrix.file_sizes():
        values = [
            0
            if matrix.is_crossed_over(file_kib, record_kib)
            else measured.value(column, Cell(file_kib, record_kib)) or 0
            for record_kib in matrix.record_sizes()
            if record_kib <= file_kib
        ]
        yield file_kib, values


def _heading(settings: Settings) -> tuple[str, str]:
    if settings.is_obsolete_auto:
        return " " * len(_SHORT_LINE), _SHORT_LINE
    upper, lower = _UPPER_LINE, _LOWER_LINE
    lower += _STREAM_HEADS if settings.has_streams else " " * len(_STREAM_HEADS)
    heads = {column.test for column in settings.heads()}
    if heads & EXTENSION_TESTS:
        upper += " " * 35
        lower += _PREAD_HEADS
    if heads & VECTORED_TESTS:
        upper += " " * 36
        lower += _VECTOR_HEADS
    return upper, lower


def _row(measured: Numbers, cell: Cell) -> str | None:
    """Print a row; None where nothing of it was measured."""
    settings = measured.settings
    done = set(settings.columns())
    values = {column: measured.value(column, cell) for column in settings.columns()}
    if all(values[column] is None for column in settings.measured()):
        return None
    cells = [_cell(column, values.get(column) if column in done else None) for column in settings.heads()]
    return f"{cell.file_kib:16d}{cell.record_kib:8d}" + "".join(cells)


def _cell(column: Column, value: int | None) -> str:
    if value is None:
        return " " * (column.blank or column.width)
    return f"{value:{column.width}d}"


def _report(measured: Numbers) -> Iterator[str]:
    for column in measured.settings.reported():
        heads = "".join(f'  "{record_kib}"' for record_kib in measured.settings.matrix.record_sizes())
        yield f'\n"{column.report} report"\n      {heads}\n'
        for file_kib, values in report_rows(measured, column):
            yield f'"{file_kib}"  ' + "".join(f" {value} " for value in values) + "\n"


def _timer_note(measured: Numbers) -> str:
    below = [cell.record_kib for cell in measured.settings.matrix.cells() if measured.is_below_timer(cell)]
    return _TIMER_NOTE.format(max(below)) if below else ""
