"""Read the times of a capture: dates in the order of their locale, hours of a zone that changes twice a year.

Times of one device come one after another. Where the clock of the zone was set back, an hour comes twice, and its second
pass is known by that: a time that is earlier than the one before is tried as one of the second pass (PEP 495, fold 1).
"""

import datetime as dt
import re
from collections.abc import Callable
from typing import Final

from assay.captures.stated_facts import Asked, DateOrder
from assay.errors import InputError
from assay.time_zone import UTC_NAME, in_utc, zone_of

_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})|(\d{1,2})([-/.])(\d{1,2})\6(\d{4}|\d{2})", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?(?:\s*([AaPp])\.?[Mm]\.?)?", re.ASCII)
_ZONE = re.compile(r"\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})$", re.ASCII)
_BETWEEN = re.compile(r"(?<=\d)T(?=\d)", re.ASCII)
_EASTERN = str.maketrans({"年": "-", "月": "-", "日": " ", "時": ":", "时": ":", "分": ":", "秒": " "})
"""Dates and times of Japan and China: 2026年11月28日 20時48分00秒."""
_CENTURY: Final = 2000
_MOST_CHARACTERS: Final = 64
_HALF_DAY_H: Final = 12
_MONTHS: Final = 12


class Clock:
    """The clock by which one file was written."""

    def __init__(self, asked: Asked, note: Callable[[str], None]) -> None:
        """Take the facts that the user gave; `note` gets what had to be assumed."""
        self._zone = zone_of(asked.timezone or UTC_NAME)
        self._is_given = asked.timezone is not None
        self._order = asked.date_order
        self._is_sure = asked.date_order is not None
        self._note = note
        self._last_s = float("-inf")

    def read(self, text: str) -> float:
        """Read a date with a time; gives seconds since 1970 (UTC).

        Raises:
            ValueError: It is none.
        """
        text = " ".join(_BETWEEN.sub(" ", text[:_MOST_CHARACTERS]).translate(_EASTERN).split())
        zone = _ZONE.search(text)
        date_text, _, time_text = (text[: zone.start()] if zone else text).partition(" ")
        return self._in_order(dt.datetime.combine(self.day(date_text), parse_time(time_text)), _zone_of(zone))

    def read_time(self, day: dt.date, text: str) -> float:
        """Read a time of a day whose date is elsewhere, such as in the head of the file."""
        return self._in_order(dt.datetime.combine(day, parse_time(text)), None)

    def day(self, text: str) -> dt.date:
        """Read a date; raises ValueError where it is none."""
        match = _DATE.fullmatch(text[:_MOST_CHARACTERS].translate(_EASTERN).strip())
        if match is None:
            raise ValueError(f"'{text[:40]}' is no date")
        if match[1]:
            return dt.date(int(match[1]), int(match[3]), int(match[4]))
        first, second, year = int(match[5]), int(match[7]), int(match[8])
        if len(match[8]) == len("26"):
            year += _CENTURY
        if self._is_day_first(first, second, dot=match[6] == ".", short_year=len(match[8]) == len("26")):
            first, second = second, first
        return dt.date(year, first, second)

    def _is_day_first(self, first: int, second: int, *, dot: bool, short_year: bool) -> bool:
        """Whether the day is before the month: by the numbers, else as asked, else as locales write it."""
        if first > _MONTHS or second > _MONTHS:
            order = DateOrder.DAY_FIRST if first > _MONTHS else DateOrder.MONTH_FIRST
            if self._is_sure and self._order is not order:
                raise InputError(
                    f"the date {first:02}/{second:02} has another order than the dates before, or than --date-order"
                )
            if not self._is_sure:
                self._order, self._is_sure = order, True
            return order is DateOrder.DAY_FIRST
        if not self._is_sure and first != second:
            # 28.11.2026 is German, 28/11/2026 British; the C locale has 11/28/26. What has AM and PM is mostly American,
            # and its readers assume so beforehand.
            usual = DateOrder.DAY_FIRST if dot or not short_year else DateOrder.MONTH_FIRST
            self._order, self._is_sure = self._order or usual, True
            which = "day" if self._order is DateOrder.DAY_FIRST else "month"
            self._note(f"dates such as {first:02}/{second:02} are read with the {which} first (--date-order)")
        return self._order is DateOrder.DAY_FIRST

    def restart(self) -> None:
        """Begin with another series: its first time may be before the last one of the series before."""
        self._last_s = float("-inf")

    def assume(self, order: DateOrder, *, is_sure: bool) -> None:
        """Take the order that the format always or mostly has, unless the user gave one, or a date showed it."""
        if not self._is_sure:
            self._order, self._is_sure = order, is_sure

    def _in_order(self, moment: dt.datetime, zone: dt.tzinfo | None) -> float:
        if zone is not None:
            return in_utc(moment, zone).timestamp()
        if not self._is_given:
            self._note("times have no zone and are taken for UTC (--timezone)")
        found_s = in_utc(moment, self._zone).timestamp()
        again_s = in_utc(moment.replace(fold=1), self._zone).timestamp()
        if found_s < self._last_s <= again_s:
            self._note(f"the clock was set back on {moment:%Y-%m-%d}: the hour that came twice is read as two hours")
            found_s = again_s
        elif found_s < self._last_s:
            self._note("times go back within the file; if the clock was set back, write its zone (--timezone)")
        self._last_s = max(self._last_s, found_s)
        return found_s


def _zone_of(match: re.Match[str] | None) -> dt.tzinfo | None:
    if match is None:
        return None
    text = match[1]
    if text in {"Z", "UTC", "GMT"}:
        return dt.UTC
    return zone_of(f"{text[:3]}:{text[-2:]}")


def parse_time(text: str) -> dt.time:
    """Read a time of a day; raises ValueError where it is none."""
    match = _TIME.fullmatch(text[:_MOST_CHARACTERS].translate(_EASTERN).strip().rstrip(":"))
    if match is None:
        raise ValueError(f"'{text[:40]}' is no time")
    hour = int(match[1])
    if match[5]:
        if not 1 <= hour <= _HALF_DAY_H:
            raise ValueError(f"'{text[:40]}' is no time")
        hour = hour % _HALF_DAY_H + (_HALF_DAY_H if match[5] in "Pp" else 0)
    micros = int((match[4] or "0")[:6].ljust(6, "0"))
    return dt.time(hour, int(match[2]), int(match[3]), micros)
