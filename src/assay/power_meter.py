"""Read a file of power-meter readings that was taken during a run: CSV with column names.

One column is `time`: ISO 8601 with its zone, or seconds since 1970. The other is `watts`, or `joules`, a running total;
where both are there the total is taken, which misses nothing between two readings. Further columns are passed over.

Whoever wrote the file may be somebody else: each number has bounds, and what is no reading is refused with its line.
"""

import csv
import dataclasses
import datetime as dt
import math
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from assay.errors import InputError
from assay.input_text import read_text

MOST_WATTS = 1e9
MOST_JOULES = 1e15
LATEST_S = 1e11
"""Seconds since 1970; what is later was written in milliseconds."""
FEWEST_READINGS = 2


@dataclasses.dataclass(frozen=True)
class PowerMeter:
    """Readings in the order of time."""

    source: str
    at_s: npt.NDArray[np.float64]
    """Seconds since 1970."""
    readings: npt.NDArray[np.float64]
    is_total: bool
    """Whether they are joules since some time, and not watts."""


def read_power_meter(path: str) -> PowerMeter:
    """Read a file; raises InputError with the line and what is wrong with it."""
    try:
        text = read_text(path, "meter's file")
    except FileNotFoundError:
        raise InputError(f"there is no file '{path}'") from None
    return parse_power_meter(text, path)


def parse_power_meter(text: str, source: str) -> PowerMeter:
    """Read the text of a file; raises InputError."""
    rows = csv.reader(text.splitlines())
    try:
        names = [name.strip().lower() for name in next(rows, [])]
        column = next((name for name in ("joules", "watts") if name in names), None)
        if "time" not in names or column is None:
            raise InputError(f"{source}:1: its columns need names: 'time,watts', or 'time,joules' for a running total")
        places = {"time": names.index("time"), column: names.index(column)}
        readings = list(_readings(rows, places, column, source))
    except csv.Error as error:
        raise InputError(f"{source}:{rows.line_num}: is no CSV ({error})") from error
    if len(readings) < FEWEST_READINGS:
        raise InputError(f"{source}: has {len(readings)} readings; what lies between two is needed")
    at_s, values = np.array(readings, dtype=np.float64).T
    return PowerMeter(source, at_s, values, is_total=column == "joules")


def _readings(
    rows: Iterator[list[str]], places: Mapping[str, int], column: str, source: str
) -> Iterator[tuple[float, float]]:
    most = MOST_JOULES if column == "joules" else MOST_WATTS
    last_s, last = -math.inf, 0.0
    for number, row in enumerate(rows, start=2):
        if not any(word.strip() for word in row):
            continue
        where = f"{source}:{number}"
        if len(row) <= max(places.values()):
            raise InputError(f"{where}: has {len(row)} columns; its time or its {column} is missing")
        at_s, value = (
            _time(row[places["time"]].strip(), where),
            _value(row[places[column]].strip(), column, most, where),
        )
        if at_s < last_s:
            raise InputError(f"{where}: is earlier than the reading before it; readings are in the order of time")
        if column == "joules" and value < last:
            raise InputError(
                f"{where}: the total is lower than before: what was read after it began anew is another file"
            )
        last_s, last = at_s, value
        yield at_s, value


def _value(word: str, column: str, most: float, where: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise InputError(f"{where}: '{word[:40]}' is no reading in {column}: a number from 0 to {most:g}")
    return value


def _time(word: str, where: str) -> float:
    try:
        at_s = float(word)
    except ValueError:
        return _iso_time(word, where)
    if not 0 <= at_s <= LATEST_S:
        raise InputError(f"{where}: '{word[:40]}' is no time in seconds since 1970")
    return at_s


def _iso_time(word: str, where: str) -> float:
    try:
        when = dt.datetime.fromisoformat(word)
    except ValueError:
        raise InputError(
            f"{where}: '{word[:40]}' is no time: write it as 2026-05-22T16:09:38Z, or in seconds since 1970"
        ) from None
    if when.tzinfo is None:
        raise InputError(f"{where}: '{word[:40]}' has no zone: end it with Z for UTC, or with one such as +02:00")
    return max(0.0, when.timestamp())
