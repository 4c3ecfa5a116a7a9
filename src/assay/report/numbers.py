"""In which unit does a result's rate read best, and how are rates and spans of time printed?

MiB is 2**20 bytes. Digits are those of `assay.units`.
"""

from dataclasses import dataclass

from assay.results import STREAMING_BYTES_PER_OP, Efficiency, Result
from assay.units import ABSENT, MIB, format_joules, format_number

_SAME = 0.99
"""Of a rate, from where on one with a flush is the same for a reader."""


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
MIB_PER_S = RateUnit("MiB/s", of_bytes=True, per_unit=MIB)


def is_stream(result: Result) -> bool:
    """Whether people ask for the bytes a second of a result: its operations are large, or there is no other rate."""
    if result.ops and result.bytes is not None:
        return result.bytes / result.ops >= STREAMING_BYTES_PER_OP
    if result.iops and result.throughput_bytes_per_s is not None:
        return result.throughput_bytes_per_s / result.iops >= STREAMING_BYTES_PER_OP
    return result.iops is None and result.throughput_bytes_per_s is not None


def rate_unit(result: Result) -> RateUnit:
    """Choose the unit of the headline: MiB/s for streams, operations per second for everything else."""
    return MIB_PER_S if is_stream(result) else OPS_PER_S


def headline(result: Result) -> tuple[float | None, RateUnit]:
    """Give the rate that heads a result, in its unit."""
    unit = rate_unit(result)
    return unit.of(*headline_rates(result)), unit


def window_rate(result: Result) -> tuple[float | None, RateUnit]:
    """Give the rate of a result's window, in its unit."""
    unit = rate_unit(result)
    return unit.of(result.iops, result.throughput_bytes_per_s), unit


def headline_rates(result: Result) -> tuple[float | None, float | None]:
    """Give operations and bytes per second: of changes that memory takes, up to the end of the flush where there is one."""
    committed = result.committed
    if committed is not None:
        return committed.iops, committed.throughput_bytes_per_s
    return result.iops, result.throughput_bytes_per_s


def is_with_flush(result: Result) -> bool:
    """Whether the headline of a result is another than its rate, because the closing flush is in it."""
    return result.iops is not None and result.committed is not None and result.committed.iops < _SAME * result.iops


def rate(value: float | None, unit: RateUnit) -> str:
    """Print a rate with its unit."""
    return ABSENT if value is None else f"{format_number(value)} {unit.label}"


def energy_words(cost: Efficiency) -> str:
    """Print what an operation and a GiB took; nothing where nobody measured it."""
    named = (("operation", cost.joules_per_op), ("GiB", cost.joules_per_gib))
    return ", ".join(f"{format_joules(joules)} per {of}" for of, joules in named if joules is not None)


def span_s(start_s: float, end_s: float) -> str:
    """Print a span of seconds."""
    return f"{start_s:.2f}–{end_s:.2f} s"  # noqa: RUF001 - an en dash is what a span is written with
