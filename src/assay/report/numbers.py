"""How the report prints numbers: three significant digits or whole numbers, always with the unit beside them.

Bytes are binary: MiB is 2**20 bytes. A number that is absent prints as `n/a`.
"""

import math
from dataclasses import dataclass

from assay.results import Result

ABSENT = "n/a"
MEBIBYTE = 1 << 20
STREAMING_BYTES_PER_OP = 64 << 10
"""From this mean size on, people ask for MiB/s; below it, for operations per second."""

_TIME_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


@dataclass(frozen=True, slots=True)
class RateUnit:
    """A unit of rate and how to reach it from operations or bytes per second."""

    label: str
    of_bytes: bool
    per_unit: float

    def of(self, ops_per_s: float | None, bytes_per_s: float | None) -> float | None:
        """Convert the rate that this unit counts; None stays None."""
        rate = bytes_per_s if self.of_bytes else ops_per_s
        return None if rate is None else rate / self.per_unit


OPS_PER_S = RateUnit("ops/s", of_bytes=False, per_unit=1.0)
MIB_PER_S = RateUnit("MiB/s", of_bytes=True, per_unit=MEBIBYTE)


def rate_unit(result: Result) -> RateUnit:
    """Choose the unit of the headline: MiB/s for streams, operations per second for everything else."""
    is_stream = result.ops > 0 and result.bytes / result.ops >= STREAMING_BYTES_PER_OP
    return MIB_PER_S if is_stream else OPS_PER_S


def headline(result: Result) -> tuple[float | None, RateUnit]:
    """Give the rate that heads a result, in its unit."""
    unit = rate_unit(result)
    return unit.of(result.iops, result.throughput_bytes_per_s), unit


def number(value: float | None) -> str:
    """Print with three significant digits, whole from 100 on."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == 0:
        return "0"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    rounded = float(f"{value:.3g}")  # before digits are counted, or 0.9999 would print as 1.000
    digits = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{min(digits, 9)}f}"


def rate(value: float | None, unit: RateUnit) -> str:
    """Print a rate with its unit."""
    return ABSENT if value is None else f"{number(value)} {unit.label}"


def duration_ns(value: float | None) -> str:
    """Print a time given in nanoseconds in the unit that suits it."""
    if value is None:
        return ABSENT
    for size, unit in _TIME_UNITS:
        if value >= size * 0.9995:
            return f"{number(value / size)} {unit}"
    return f"{number(value)} ns"


def share(value: float | None) -> str:
    """Print a share between 0 and 1 in per cent."""
    return ABSENT if value is None else f"{100 * value:.1f}\N{NO-BREAK SPACE}%"


def size_bytes(value: int | None) -> str:
    """Print a number of bytes in binary units."""
    if value is None:
        return ABSENT
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if abs(value) >= 1 << power:
            return f"{number(value / (1 << power))} {unit}"
    return f"{value} B"


def span_s(start_s: float, end_s: float) -> str:
    """Print a span of seconds."""
    return f"{start_s:.2f}–{end_s:.2f} s"  # noqa: RUF001 - an en dash is what a span is written with
