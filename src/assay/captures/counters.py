"""Turn counters, which only ever grow, into rates.

A counter that is smaller than before was reset to 0 at an unknown value: that interval is left out.
Where a sample is missing, the difference over the gap is the mean of the longer interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from assay.captures.samples import DeviceSample, Layer, SampleRows


class Count(StrEnum):
    """What a counter counts; times are in seconds."""

    READS = "reads"
    WRITES = "writes"
    READ_BYTES = "read bytes"
    WRITTEN_BYTES = "written bytes"
    READ_TIME = "read time"
    WRITE_TIME = "write time"
    BUSY_TIME = "busy time"
    """With any request."""
    WEIGHTED_TIME = "weighted time"
    """Of all requests together."""


_GAP: Final = 1.5
"""An interval is of several samples if it is longer than so many usual ones."""
_UNCHANGED: Final = 0.4
_FEWEST: Final = 10


@dataclass
class _Last:
    time_s: float
    counts: Mapping[Count, float]
    usual_s: float = 0.0
    intervals: int = 0
    unchanged: int = 0


@dataclass
class CounterRates:
    """Takes the counters of devices, each in order of time, and adds the rates between to the rows."""

    rows: SampleRows
    _last: dict[tuple[str, str, Layer], _Last] = field(default_factory=dict)
    _resets: int = 0
    _gaps: int = 0

    def take(self, host: str, device: str, layer: Layer, time_s: float, counts: Mapping[Count, float]) -> None:
        """Take the counters of a device at a time.

        Raises:
            ValueError: A number is none that a counter has.
        """
        key = host, device, layer
        last = self._last.get(key)
        if last is None:
            self._last[key] = _Last(time_s, counts)
            return
        seconds = time_s - last.time_s
        if seconds <= 0:
            raise ValueError("times are not in order")
        grown = {count: counts[count] - last.counts[count] for count in counts if count in last.counts}
        last.time_s, last.counts = time_s, counts
        if any(value < 0 for value in grown.values()):
            self._resets += 1
            return
        last.intervals += 1
        last.unchanged += not any(grown.values())
        self._gaps += last.usual_s > 0 and seconds > _GAP * last.usual_s
        last.usual_s = min(seconds, last.usual_s or seconds)
        self.rows.add(host, device, layer, rates(grown, time_s, seconds))

    def close(self) -> None:
        """Note what was left out or assumed."""
        if self._resets:
            self.rows.note(f"intervals with a counter reset are left out: {self._resets}")
        if self._gaps:
            self.rows.note(
                f"samples are missing, and the intervals around them are means of a longer time: {self._gaps}"
            )
        of_work = [one for one in self._last.values() if _FEWEST <= one.intervals != one.unchanged]
        if any(one.unchanged > _UNCHANGED * one.intervals for one in of_work):
            self.rows.note(
                "some devices have many intervals without any change: if counters were read less often than the samples are"
                " apart, peaks are overstated"
            )


def rates(grown: Mapping[Count, float], end_s: float, seconds: float) -> DeviceSample:
    """Give a sample by how much counters have grown in an interval."""

    def rate(count: Count) -> float | None:
        return grown[count] / seconds if count in grown else None

    def mean(time: Count, number: Count) -> float | None:
        return grown[time] / grown[number] if time in grown and grown.get(number) else None

    return DeviceSample(
        end_s,
        seconds,
        read_iops=rate(Count.READS),
        write_iops=rate(Count.WRITES),
        read_bytes_per_s=rate(Count.READ_BYTES),
        write_bytes_per_s=rate(Count.WRITTEN_BYTES),
        read_latency_s=mean(Count.READ_TIME, Count.READS),
        write_latency_s=mean(Count.WRITE_TIME, Count.WRITES),
        queue_depth=rate(Count.WEIGHTED_TIME),
        utilisation=rate(Count.BUSY_TIME),
    )
