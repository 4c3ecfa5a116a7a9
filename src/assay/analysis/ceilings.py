"""What could one thread of this client ever show? Measured by this run, or kept by an earlier one of the same machine."""

import itertools
import math
import re

from assay import events
from assay.analysis.record import RunRecord
from assay.host.facts import CEILINGS_FACT, DEVICE_FACT, LINK_FACT
from assay.results import ClientCeilings, ThreadCeiling

CACHED_READ = "cached_pread"
"""Reading from the page cache: what no read of a file can be faster than."""
_KEPT = re.compile(re.escape(CEILINGS_FACT) + r"\.([a-z_]{1,40})(?:\.([0-9]{1,12})_bytes)?\.ops_per_s")
_MOST = 64


def ceilings_of(run: RunRecord) -> ClientCeilings | None:
    """Give the ceilings that the numbers of a run are held against; None where none are known."""
    measured = [ceiling for event in run.all(events.CeilingsMeasured) for ceiling in event.ceilings]
    facts = run.facts
    link, devices = (_number(facts.get(key)) for key in (LINK_FACT, DEVICE_FACT))
    if measured:
        found = tuple(_ceiling(each.name, each.block_size_bytes, each.ops_per_s) for each in measured)
        when = run.info.started_utc
    else:
        found = tuple(
            _ceiling(kept[1], int(kept[2]) if kept[2] else None, rate)
            for key, value in facts.items()
            if (kept := _KEPT.fullmatch(key)) and (rate := _number(value)) is not None
        )[:_MOST]
        when = str(facts.get(f"{CEILINGS_FACT}.measured_utc") or "")
    if not found and link is None and devices is None:
        return None
    return ClientCeilings(
        measured_utc=when or None,
        is_of_this_run=bool(measured),
        of_one_thread=found,
        link_bytes_per_s=link,
        device_bytes_per_s=devices,
    )


def cached_read_bytes_per_s(ceilings: ClientCeilings, block_bytes: float) -> float | None:
    """Give what one thread reads from the page cache in blocks of a size, between those that were measured.

    On straight lines between the measured sizes, both axes logarithmic; outside them as at the nearest: below the smallest
    the same number of operations a second, above the largest the same bytes.
    """
    points = sorted(
        (each.block_size_bytes, each.ops_per_s)
        for each in ceilings.of_one_thread
        if each.name == CACHED_READ and each.block_size_bytes
    )
    if not points or block_bytes <= 0:
        return None
    first, last = points[0], points[-1]
    if block_bytes <= first[0]:
        return block_bytes * first[1]
    if block_bytes >= last[0]:
        return last[0] * last[1]
    low, high = next(pair for pair in itertools.pairwise(points) if block_bytes <= pair[1][0])
    part = math.log(block_bytes / low[0]) / math.log(high[0] / low[0])
    return block_bytes * math.exp(math.log(low[1]) + part * math.log(high[1] / low[1]))


def _ceiling(name: str, block_bytes: int | None, ops_per_s: float) -> ThreadCeiling:
    moved = None if block_bytes is None else block_bytes * ops_per_s
    return ThreadCeiling(name=name, block_size_bytes=block_bytes, ops_per_s=ops_per_s, bytes_per_s=moved)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else None
