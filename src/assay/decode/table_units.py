"""A number with its unit in words, as tables of results have them, to a figure.

Decimal and binary units follow their names: MB is 10^6 bytes, MiB 2^20; `Mbit` is 10^6 bits. A tool that prints KB and
means KiB has a reader that corrects it; in a table the author decides which.
"""

import dataclasses

from assay.decode.claim import Circumstances, Claim, Doing, ReportedLatency

_BYTES_PER_S = {
    "B/s": 1.0,
    "bytes/s": 1.0,
    **{f"{prefix}B/s": 1000.0**power for power, prefix in enumerate("KMGT", 1)},
    **{f"{prefix}iB/s": 1024.0**power for power, prefix in enumerate("KMGT", 1)},
    **{f"{prefix}bit/s": 1000**power / 8 for power, prefix in enumerate("kMGT", 1)},
    "kB/s": 1000.0,
}
"""With their capitals: Mb may be megabits, and is none of these."""
_OPS_PER_S = {
    "ops/s": 1,
    "iops": 1,
    "kiops": 1000,
    "files/s": 1,
    "tps": 1,
    "transactions/s": 1,
    "op/s": 1,
    "operations/s": 1,
}
_SECONDS = {"s": 1.0, "seconds": 1.0, "min": 60.0, "ms": 1e-3}
_LATENCY_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_PERCENTILES = {
    "mean": "mean_ns",
    "p50": "p50_ns",
    "p90": "p90_ns",
    "p99": "p99_ns",
    "p99.9": "p99_9_ns",
    "max": "max_ns",
}

UNITS = (
    "B/s, KB/s, KiB/s, MB/s, MiB/s, GB/s, GiB/s, Mbit/s, Gbit/s, ops/s, IOPS, s (the time that it took), and of latencies"
    " 'us p99' or 'ms mean'"
)
"""The units that are read, for messages."""


def as_claim(test: str, action: Doing, value: float, unit: str, during: Circumstances) -> Claim:
    """Make a figure of a value; raises ValueError where its unit is unknown."""
    name = unit.strip().replace(" per second", "/s")
    lower = name.lower()
    about = Claim(test=test, action=action, outstanding=None, during=during)
    if name in _BYTES_PER_S:
        return dataclasses.replace(about, bytes_per_s=value * _BYTES_PER_S[name])
    if lower in _OPS_PER_S:
        return dataclasses.replace(about, ops_per_s=value * _OPS_PER_S[lower])
    if lower in _SECONDS:
        return dataclasses.replace(about, seconds=value * _SECONDS[lower])
    of_time, _, which = lower.partition(" ")
    if of_time in _LATENCY_NS and which in _PERCENTILES:
        return dataclasses.replace(
            about, latency=ReportedLatency(**{_PERCENTILES[which]: value * _LATENCY_NS[of_time]})
        )
    raise ValueError(f"the unit '{unit[:40]}' of '{test[:60]}' is not one of these: {UNITS}")
