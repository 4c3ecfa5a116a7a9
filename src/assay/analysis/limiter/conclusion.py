"""What limited a number: a closed list of words, each with what follows from it."""

import dataclasses
import enum


class Bottleneck(enum.StrEnum):
    """What a number could not pass."""

    OFFERED_LOAD = "offered_load"
    THROTTLE_CPU = "throttle_cpu"
    THROTTLE_IO = "throttle_io"
    CLIENT_CPU_SINGLE = "client_cpu_single"
    CLIENT_CPU_ALL = "client_cpu_all"
    NETWORK_BANDWIDTH = "network_bandwidth"
    DEVICE_THROUGHPUT = "device_throughput"
    DEVICE_SATURATED = "device_saturated"
    WRITEBACK_DEVICE = "writeback_device"
    OPERATION_LATENCY = "operation_latency"
    UNKNOWN = "unknown"


class Confidence(enum.StrEnum):
    """How sure a verdict is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclasses.dataclass(frozen=True)
class Conclusion:
    """What limited a number, and what shows it."""

    limit: Bottleneck
    confidence: Confidence
    evidence: tuple[str, ...]
    """Measure, value and threshold in words, the strongest first."""
    headroom: float | None = None
    """How many times the number the next ceiling is; None: no ceiling is known."""
    remedy: str = ""
    """What would change it."""
