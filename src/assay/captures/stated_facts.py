"""What the user adds to a capture: facts that its format does not have."""

from dataclasses import dataclass, field
from enum import StrEnum

from assay.captures.column_map import MappedColumn


class DateOrder(StrEnum):
    """Which comes first in a date such as 03/04/2026."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"


@dataclass(frozen=True)
class Asked:
    """Facts from the command line.

    Attributes:
        timezone: Zone of times without one, by a name that means the same everywhere; None: UTC.
        date_order: Of dates that can be read in two ways; None: as the program that wrote them usually does.
        begin_s: When a capture without times begins, in seconds since 1970 (UTC); None: at 0.
        interval_s: Seconds between samples where the format does not say it; None: as the format's default.
        host: Name of the host; None: as the file has it, or the file's name.
        columns: For a table of an unknown program: its columns by our names (`column_map.parse_columns`).
    """

    timezone: str | None = None
    date_order: DateOrder | None = None
    begin_s: float | None = None
    interval_s: float | None = None
    host: str | None = None
    columns: dict[str, MappedColumn] = field(default_factory=dict)
