"""Of which zone is a time that a tool's output gives without one?

A tool that prints times of its machine's clock does not say where it stood. Whoever imports the output says it, by the name
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
    """Read what the user says of a zone, as a name that means the same on every machine.

    Raises:
        InputError: there is no such zone; the text says what is one.
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
            f"the zone '{name[:40]}' is not known, because this machine has no time zones (package tzdata); write an offset"
            " such as +02:00"
        )
    raise InputError(
        f"there is no time zone '{name[:40]}'; write a name such as Europe/Berlin (timedatectl list-timezones has them), an"
        f" offset such as +02:00, or {LOCAL}"
    )


def in_utc(told: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    """Give a time in UTC; one that says nothing of its zone is of `zone`."""
    try:
        return (told.replace(tzinfo=zone) if told.tzinfo is None else told).astimezone(dt.UTC)
    except OverflowError:  # the first and the last day of the calendar
        return told.replace(tzinfo=dt.UTC)


def _own_zone() -> str:
    """Name the zone of this machine; raises InputError where it has no name."""
    said = os.environ.get("TZ")
    if said is not None:
        return said.removeprefix(":") or UTC_NAME  # set and empty is UTC: tzset(3)
    try:
        _, found, name = str(_LOCALTIME.readlink()).partition("zoneinfo/")
        if found and name:
            return name
    except FileNotFoundError:
        return UTC_NAME  # as localtime(5) has it
    except OSError:
        pass  # a file of its own, which does not say its name
    try:
        with _TIMEZONE.open(encoding="ascii", errors="replace") as file:
            name = file.readline(_MOST_CHARACTERS).strip()
    except OSError:
        name = ""
    if not name:
        raise InputError(f"--timezone {LOCAL}: this machine does not say the name of its zone; write it, or an offset")
    return name
