"""Reads the CSV lines of bonnie++, of any version, by their published formats alone: what Assay writes is held to it."""

import dataclasses
import re
from collections.abc import Sequence

from assay.tools.bonnie.plan import FILE_TESTS, IO_TESTS, TESTS

HIDDEN = "+++++"
_OLD_FIELDS = 27


@dataclasses.dataclass(frozen=True)
class Cell:
    """Rate and CPU share of one test in a line."""

    rate: float | None
    """KiB, seeks or files per second; None: it took too little time to be shown."""
    cpu_percent: int | None


@dataclasses.dataclass(frozen=True)
class Line:
    """A CSV line of any version, read."""

    format_version: str
    """`1.03`, `1.96` or `1.98`."""
    machine: str
    size: str
    """As written: `8G`, `300M`, with 1.03 also `8G:64k`; empty where the I/O tests were not run."""
    files: str
    """Files / 1024, as written; with 1.03 with all that describes them, `4:4096:1024/4`."""
    cells: dict[str, Cell]
    """By test; those that were not run are not here."""
    slowest: dict[str, str]
    """By test, as written: `12934us`; nothing in 1.03."""


def parse_line(text: str) -> Line:
    """Read a CSV line of 1.03, 1.96 or 2.00.

    Raises:
        ValueError: it is none; the text says what is wrong with it.
    """
    fields = text.strip().split(",")
    if len(fields) == _OLD_FIELDS and not re.fullmatch(r"1\.9[0-9]", fields[0]):
        cells = _read_cells(fields[2:14], IO_TESTS) | _read_cells(fields[15:27], FILE_TESTS)
        return Line("1.03", machine=fields[0], size=fields[1], files=fields[14], cells=cells, slowest={})
    for version, io, count in (("1.96", 7, 48), ("1.98", 9, 50)):
        if fields[0] == version and len(fields) == count:
            files = io + 12
            cells = _read_cells(fields[io:files], IO_TESTS) | _read_cells(fields[files + 5 : files + 17], FILE_TESTS)
            slowest = {test: value for test, value in zip(TESTS, fields[files + 17 :], strict=True) if value}
            return Line(version, machine=fields[2], size=fields[5], files=fields[files], cells=cells, slowest=slowest)
    raise ValueError(
        f"this is no CSV line of bonnie++: {len(fields)} fields, the first is '{fields[0]}'. 1.03 has {_OLD_FIELDS} "
        "fields, format 1.96 has 48 and format 1.98 has 50"
    )


def _read_cells(fields: Sequence[str], tests: Sequence[str]) -> dict[str, Cell]:
    cells = {}
    for test, rate, cpu in zip(tests, fields[::2], fields[1::2], strict=True):
        if rate == HIDDEN:
            cells[test] = Cell(rate=None, cpu_percent=None)
        elif rate:
            try:
                cells[test] = Cell(rate=float(rate), cpu_percent=int(cpu))
            except ValueError:
                raise ValueError(
                    f"bonnie++ line: {test} is '{rate},{cpu}'; a rate and whole per cent stand there"
                ) from None
    return cells
