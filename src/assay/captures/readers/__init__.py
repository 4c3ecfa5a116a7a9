"""Formats of captures: a module each, with a line below.

A reader is a module with

- `NAME`: of the program and its format, as the user knows it;
- `recognise(head)`: how sure it is that the first lines of a file are its format (`Match`), or None;
- `read(lines, asked, rows)`: adds the samples of all lines to `rows`, with a note for what it assumed or left out. It raises
  ValueError, with a message about the line, where the file is of its format but cannot be used.

Files are cut off, have lines of other programs among theirs, and begin with a report since the machine was started: a reader
skips what it cannot use and notes how often, and it gives no rate that the program did not measure.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from assay.captures.match import Match
from assay.captures.readers import (
    esxtop,
    iostat,
    mountstats,
    nfsiostat,
    own_table,
    perfmon,
    pmrep,
    prometheus,
    sadf,
    sar,
    sysstat_json,
    vmstat,
    zpool_iostat,
)
from assay.captures.samples import SampleRows
from assay.captures.stated_facts import Asked

Recognise = Callable[[Sequence[str]], Match | None]
Read = Callable[[Iterator[str], Asked, SampleRows], None]

READERS: Final[tuple[tuple[str, Recognise, Read], ...]] = tuple(
    (module.NAME, module.recognise, module.read)
    for module in (
        iostat,
        sysstat_json,
        sadf,
        sar,
        vmstat,
        perfmon,
        esxtop,
        pmrep,
        prometheus,
        zpool_iostat,
        nfsiostat,
        mountstats,
        own_table,
    )
)
"""The first of those that are equally sure is taken."""
