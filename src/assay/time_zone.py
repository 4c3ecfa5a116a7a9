"""Choose the zone of a time that a tool prints without one.

A tool that prints times of its machine's clock does not print its zone. Whoever imports the output gives it, by the name
of a zone of the IANA database (`Europe/Berlin`: with its summer time as it was then), by a fixed offset (`+02:00`), or with
`local`, the zone of this machine, which is kept by its name. Else they are taken for UTC. An hour that clocks had twice is
the earlier one (PEP 495, fold 0).
"""

import datetime as dt
import os
import re
import zoneinfo
from pathlib import Path
from typing import Final

from assay.errors import InputError

UTC_NAME: Final = "UTC"
LOCAL: Final = "local"
_OFFSET = re.compile(r"([+-])([01][0-9]):([0-5][0-9])", re.ASCII)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,3}", re.ASCII)
_FARTHEST = dt.timedelta(hours=14)
"""From UTC: Kiribati."""
_LOCALTIME = Path("/etc/localtime")
_TIMEZONE = Path("/etc/timezone")
_MOST_CHARACTERS = 128


def zone_name(text: str) -> str:
    """Read a zone from the user, as a name that means the same on every machine.

    Raises:
        InputError: there is no such zone; the text describes a valid one.
    """
    name = _own_zone() if text == LOCAL else text
    zone_of(name)
    return name


def zone_of(name: str) -> dt.tzinfo:
    """Give the zone of a name; raises InputError where there is none."""
    if name in {UTC_NAME, "Z"}:
        return dt.UTC
    if (offset := _OFFSET.fullmatch(name)) is not None:
        apart = dt.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        if apart <= _FARTHEST:
            return dt.timezone(-apart if offset[1] == "-" else apart)
    try:
        if _NAME.fullmatch(name) is not None:
            return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    if not zoneinfo.available_timezones():
        raise InputError(
            f"the zone '{name[:40]}' is unknown, because this machine has no time zones (package tzdata); write an offset"
            " such as +02:00"
        )
    raise InputError(
        f"unknown time zone '{name[:40]}'; write a name such as Europe/Berlin (see timedatectl list-timezones), an"
        f" offset such as +02:00, or {LOCAL}"
    )


def in_utc(moment: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    """Give a time in UTC; one without a zone is of `zone`."""
    try:
        return (moment.replace(tzinfo=zone) if moment.tzinfo is None else moment).astimezone(dt.UTC)
    except OverflowError:  # the first and the last day of the calendar
        return moment.replace(tzinfo=dt.UTC)


def _own_zone() -> str:
    """Name the zone of this machine; raises InputError where it has no name."""
    variable = os.environ.get("TZ")
    if variable is not None:
        return variable.removeprefix(":") or UTC_NAME  # set and empty is UTC: tzset(3)
    try:
        _, found, name = str(_LOCALTIME.readlink()).partition("zoneinfo/")
        if found and name:
            return name
    except FileNotFoundError:
        return UTC_NAME  # as localtime(5) has it
    except OSError:
        pass  # a file of its own, which does not contain its name
    try:
        with _TIMEZONE.open(encoding="ascii", errors="replace") as file:
            name = file.readline(_MOST_CHARACTERS).strip()
    except OSError:
        name = ""
    if not name:
        raise InputError(f"--timezone {LOCAL}: the name of this machine's zone is unknown; write it, or an offset")
    return name
