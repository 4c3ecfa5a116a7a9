"""Select the runs of the list that the user asks for."""

import datetime as dt
import os
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from assay.bundle.catalog import RunSummary
from assay.errors import InputError

_AGO = re.compile(r"([0-9]{1,6})(min|h|d|w)", re.ASCII)
_MINUTES = {"min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}


def chosen(
    *,
    load: str | None = None,
    target: str | None = None,
    since: str | None = None,
    tags: Sequence[str] = (),
    name: str | None = None,
    now: dt.datetime,
) -> Callable[[RunSummary], bool]:
    """Return a function that selects runs; raises InputError if a value cannot be read.

    Args:
        load: Name of its load, in which `*` and `?` match anything, as in `tags` and `name`.
        target: A directory that it measured in, or below which it did.
        since: When it began at the earliest, as for `moment`.
        tags: It has all of them.
        name: What the user calls it.
        now: The local time.
    """
    earliest = None if since is None else moment(since, now)
    places = set() if target is None else {os.path.abspath(target), os.path.realpath(target)}  # noqa: PTH100 - of text

    def is_wanted(run: RunSummary) -> bool:
        if load is not None and not fnmatchcase(run.load, load):
            return False
        if name is not None and not (run.name and fnmatchcase(run.name, name)):
            return False
        if not all(any(fnmatchcase(has, tag) for has in run.tags) for tag in tags):
            return False
        if target is not None and not any(_is_below(directory, place) for directory in run.targets for place in places):
            return False
        return earliest is None or bool(run.started_utc and dt.datetime.fromisoformat(run.started_utc) >= earliest)

    return is_wanted


def moment(text: str, now: dt.datetime) -> dt.datetime:
    """Read a date or time of this place (`2026-11-24`, `2026-11-24T08:30`), or how long ago (`30min`, `3h`, `2d`, `1w`).

    Raises:
        InputError: it is neither.
    """
    try:
        if ago := _AGO.fullmatch(text):
            return now - dt.timedelta(minutes=int(ago[1]) * _MINUTES[ago[2]])
        at = dt.datetime.fromisoformat(text)
        return at.astimezone()  # of this place, unless it has another zone
    except (ValueError, OverflowError):
        raise InputError(
            f"--since {text}: is not a time; give a date such as {now:%Y-%m-%d} or {now:%Y-%m-%dT%H:%M}, or an age, such "
            "as 30min, 3h, 2d or 1w"
        ) from None


def _is_below(directory: str, place: str) -> bool:
    return directory == place or directory.startswith(f"{place.rstrip('/')}/")
