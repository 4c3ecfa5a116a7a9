"""Which part of the reads did this client's page cache serve, by their latencies alone? METHOD 4.4, C4.

A cache and what is behind it leave a mode each in the histogram of latencies (`statistics/modes.py`). Of several, one below
five times what a thread of this client takes for a read of that size from the page cache is the page cache's, where that was
measured (`ceilings.py`); those in between are caches that are not this machine's.

Limits: reads in order are answered by read-ahead, whose hits are no cache's; with one mode nothing is distinguished.
"""

from assay.analysis import findings, thresholds
from assay.analysis.ceilings import cached_read_bytes_per_s, ceilings_of
from assay.analysis.hit import HitRatio, of_window
from assay.analysis.latency import OperationLatency
from assay.analysis.rows import NS_PER_S
from assay.analysis.statistics.modes import Mode, find_modes
from assay.analysis.subject import Subject
from assay.units import format_ns


def by_latency(subject: Subject, hit: HitRatio, latencies: OperationLatency) -> HitRatio:
    """Find a hit ratio that no counter tells; `hit` as it is where that cannot be."""
    if hit.value is not None or subject.is_direct or subject.operation.is_sequential:
        return hit
    cached_ns = _cached_read_ns(subject)
    modes = find_modes(*latencies.buckets())
    if cached_ns is None or len(modes) <= 1:
        return hit
    fast = [mode for mode in modes if mode.at < thresholds.CACHED_LATENCY * cached_ns]
    if not fast:
        return hit
    text = (
        f"No counter shows what memory delivered. Latencies have {len(modes)} modes ({modes_in_words(modes)}); the lowest"
        f" is this machine's page cache, which takes {format_ns(cached_ns)} for a read."
    )
    uncertain = findings.note("hit-ratio-uncertain", text)
    return of_window(sum(mode.share for mode in fast), "latency", (uncertain,))


def _cached_read_ns(subject: Subject) -> float | None:
    """Time of one read from the page cache, of the mean size of the operation's."""
    known = ceilings_of(subject.run)
    ops, moved = (subject.rows.total(name) for name in ("ops", "bytes"))
    most = cached_read_bytes_per_s(known, moved / ops) if known and ops else None
    return moved / ops / most * NS_PER_S if most else None


def modes_in_words(modes: tuple[Mode, ...]) -> str:
    """Name the share and the level of each mode."""
    return ", ".join(f"{100 * mode.share:.0f} % around {format_ns(mode.at)}" for mode in modes)
