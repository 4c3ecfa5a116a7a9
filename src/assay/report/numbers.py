"""Choose the unit of a result's rate, and format rates and time spans.

MiB is 2**20 bytes. Digits are those of `assay.units`.
"""

from dataclasses import dataclass

from assay.results import STREAMING_BYTES_PER_OP, Cache, Efficiency, LatencyNs, Result, moves_data
from assay.units import ABSENT, MIB, format_joules, format_ns, format_number, format_percent

_WIDE = "wide-interval"
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


IOPS = RateUnit("IOPS", of_bytes=False, per_unit=1.0)
OPS_PER_S = RateUnit("ops/s", of_bytes=False, per_unit=1.0)
"""Of operations that move no data, and of several kinds together."""
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
    return MIB_PER_S if is_stream(result) else ops_unit(result)


def ops_unit(result: Result) -> RateUnit:
    """Name operations per second: IOPS where they move data."""
    return IOPS if moves_data(result) else OPS_PER_S


def other_unit(result: Result) -> RateUnit:
    """Give the unit that is not that of the headline."""
    return ops_unit(result) if is_stream(result) else MIB_PER_S


def headline(result: Result) -> tuple[float | None, RateUnit]:
    """Give the rate that heads a result, in its unit."""
    unit = rate_unit(result)
    return unit.of(*headline_rates(result)), unit


def user_latency(result: Result) -> tuple[str, LatencyNs]:
    """Return the name and the values of what a user waits for: the response time of an open loop, else the latency."""
    return ("response", result.response_ns) if result.response_ns else ("latency", result.latency_ns)


def hit_scope(cache: Cache) -> str:
    """Describe the scope of a hit ratio, unless it is the window as for all results."""
    return " (over the whole phase)" if cache.hit_ratio_of == "phase" else ""


def rate_words(result: Result) -> str:
    """Print the rate that heads a result and half of its interval: the same wherever the result is named."""
    text = rate(*headline(result))
    if result.iops_interval is not None:
        text += f" ± {half_words(result)}"
    return text + (" with the flush" if is_with_flush(result) else "")


def half_words(result: Result) -> str:
    """Print half of the 95 % interval of the rate, as a share of it."""
    return f"{format_percent(result.iops_interval.half_share)} %" if result.iops_interval else ABSENT


def rate_interval(result: Result) -> tuple[float, float] | None:
    """Give the 95 % interval of the headline, in its unit; None: not known, or the flush is in the headline."""
    interval = result.iops_interval
    value, unit = headline(result)
    iops, throughput = headline_rates(result)
    if interval is None or value is None or not iops or result.iops != iops:
        return None
    per_op = (throughput or 0.0) / iops if unit.of_bytes else 1.0
    return interval.low * per_op / unit.per_unit, interval.high * per_op / unit.per_unit


def interval_ends(result: Result) -> str:
    """Format the ends of the interval of the rate, in the unit of the headline."""
    found = rate_interval(result)
    return ABSENT if found is None else f"{format_number(found[0])} to {format_number(found[1])}"


def interval_words(result: Result) -> str:
    """Print the 95 % interval of the rate, without the flush where the headline has one."""
    interval = result.iops_interval
    if interval is None:
        return ABSENT
    half = f"(± {half_words(result)})"
    if (text := interval_ends(result)) != ABSENT:
        return f"{text} {rate_unit(result).label} {half}"
    ends = f"{format_number(interval.low)} to {format_number(interval.high)} {ops_unit(result).label}"
    return f"{ends} {half}, without the flush"


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


def percentile_words(result: Result, name: str, value_ns: float | None) -> str:
    """Print a percentile of the latency, or of the response time of an open loop; with `?` where it is not known well."""
    is_open = any(finding.id == _WIDE and finding.brief.startswith(f"{name} ") for finding in result.findings)
    return f"{format_ns(value_ns)}{'?' if is_open and value_ns is not None else ''}"
