"""Define the options by which captures are read, which `assay capture` and `assay size` share."""

import datetime as dt
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from assay.captures.stated_facts import Asked

Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="PATTERN", help="Devices to count, such as 'sd*' or 'db1/*'. Repeatable."),
]
Format = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="Format of the files [default: detected].")
]
Timezone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="ZONE", help="Zone of times without one, such as Europe/Berlin [default: UTC]."),
]
DateOrderAsked = Annotated[
    str | None, typer.Option("--date-order", metavar="dmy|mdy", help="Whether day or month is first in a date.")
]
Begin = Annotated[
    str | None,
    typer.Option("--begin", metavar="TIME", help="When a capture without times began: 2026-11-28T08:00."),
]
Interval = Annotated[
    str | None, typer.Option("--interval", metavar="T", help="Time between samples of a capture without times.")
]
HostAsked = Annotated[str | None, typer.Option("--host", metavar="NAME", help="Name of the host in all files.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="MAP", help="Columns of another CSV: time=Time,read_iops=RIOPS."),
]


def asked_of(
    timezone: str | None,
    date_order: str | None,
    begin: str | None,
    interval: str | None,
    host: str | None,
    columns: str | None,
) -> "Asked":
    """Check the options and put them together; raises InputError."""
    from assay.captures.column_map import parse_columns
    from assay.captures.stated_facts import Asked, DateOrder
    from assay.errors import InputError
    from assay.time_zone import UTC_NAME, in_utc, zone_name, zone_of
    from assay.units import parse_seconds

    if date_order is not None and date_order not in list(DateOrder):
        raise InputError(f"--date-order '{date_order[:20]}': write dmy or mdy")
    zone = None if timezone is None else zone_name(timezone)
    begin_s = None
    if begin is not None:
        try:
            begin_s = in_utc(dt.datetime.fromisoformat(begin), zone_of(zone or UTC_NAME)).timestamp()
        except ValueError:
            raise InputError(f"--begin '{begin[:40]}': write a time such as 2026-11-28T08:00") from None
    interval_s = None if interval is None else parse_seconds(interval)
    if interval_s is not None and interval_s <= 0:
        raise InputError("--interval: it is above 0")
    return Asked(
        timezone=zone,
        date_order=None if date_order is None else DateOrder(date_order),
        begin_s=begin_s,
        interval_s=interval_s,
        host=host,
        columns={} if columns is None else parse_columns(columns),
    )
