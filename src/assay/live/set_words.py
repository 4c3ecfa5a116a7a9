"""Describe the state of the clients of a run, in a line below its rates."""

import statistics
from collections.abc import Mapping, Sequence

from assay import events
from assay.live.merged_ticks import MergedTicks
from assay.units import format_names, format_percent

_SLOW = 0.9
"""Share of the middle rate: a client above it is not mentioned, because one client is always the slowest."""


def set_words(merger: MergedTicks) -> str:
    """Write how many clients are there, who is lost, the slowest if it is slow, and how much came too late to be shown."""
    lost = merger.lost
    there = len(merger.clients) - len(lost)
    parts = [f"{there:,} of {len(merger.clients):,} clients"]
    if lost:
        parts.append(f"lost: {format_names(lost)}")
    if (slow := _slowest(merger.recent)) is not None:
        client, share = slow
        parts.append(f"slowest: {client}, {format_percent(share)} % of the median")
    if merger.late:
        intervals = sum(late.intervals for late in merger.late.values())
        parts.append(f"{intervals:,} interval{'s' if intervals != 1 else ''} came too late to be shown")
    return "  ".join(parts)


def _slowest(recent: Mapping[str, Sequence[events.Interval]]) -> tuple[str, float] | None:
    """Give the client that did the least of what all did the most of, by the median of all; None: nobody is slow."""
    moved: dict[tuple[str, str], tuple[int, int]] = {}
    for intervals in recent.values():
        for one in (one for interval in intervals for one in interval.operations):
            moved_bytes, ops = moved.get((one.job, one.operation), (0, 0))
            moved[one.job, one.operation] = moved_bytes + one.bytes, ops + one.ops
    if len(recent) < 2 or not moved:
        return None
    most = max(moved, key=lambda names: moved[names])
    rates = {client: _rate(intervals, most) for client, intervals in recent.items()}
    middle, client = statistics.median(rates.values()), min(rates, key=lambda name: rates[name])
    if middle <= 0 or rates[client] >= _SLOW * middle:
        return None
    return client, rates[client] / middle


def _rate(intervals: Sequence[events.Interval], names: tuple[str, str]) -> float:
    ops = sum(one.ops for each in intervals for one in each.operations if (one.job, one.operation) == names)
    return ops / sum(each.dt_ns for each in intervals)
