"""What limited a number, in as few words as a column has."""

from collections.abc import Mapping

from assay.results import Result
from assay.verdicts import Bottleneck

_WORDS: Mapping[Bottleneck, str] = {
    Bottleneck.OFFERED_LOAD: "the load",
    Bottleneck.THROTTLE_CPU: "CPU limit",
    Bottleneck.THROTTLE_IO: "I/O limit",
    Bottleneck.CLIENT_CPU_SINGLE: "one CPU",
    Bottleneck.CLIENT_CPU_ALL: "all CPUs",
    Bottleneck.CPU_CONTENTION: "CPU contention",
    Bottleneck.CLIENT_MEMORY: "memory bandwidth",
    Bottleneck.NETWORK_BANDWIDTH: "link",
    Bottleneck.DEVICE_THROUGHPUT: "device",
    Bottleneck.DEVICE_SATURATED: "device",
    Bottleneck.WRITEBACK_DEVICE: "write-back",
    Bottleneck.OPERATION_LATENCY: "latency",
}


def limit_words(result: Result) -> str:
    """Name what limited a result; nothing where nobody can say."""
    return _WORDS.get(result.limiter.verdict, "") if result.limiter is not None else ""
