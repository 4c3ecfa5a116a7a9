"""The words of a working set, for terminal and page: what the trace is, and which cache serves how much."""

import datetime as dt
from collections.abc import Iterator

from assay.units import format_bytes, format_names, format_number, format_seconds, format_share
from assay.workingset.cache_sizes import LEAST_ALIKE, WorkingSet, is_unlike, tier_mean, window_use
from assay.workingset.engine_answer import ServedShare, TierPeriod

_NS_PER_S = 1e9
_DAY_S = 86_400.0
_WINDOWS = {60: "a minute", 600: "10 minutes", 3600: "an hour"}
_POLICIES = {"lru": "LRU", "fifo": "FIFO", "lfu": "LFU", "arc": "ARC", "s3-fifo": "S3-FIFO", "two-q": "2Q"}


def trace_lines(answer: WorkingSet) -> Iterator[str]:
    """Describe the traces and the answer in sentences."""
    found, curve, block = answer.found, answer.curve, answer.question.block_bytes
    totals = found.totals
    formats = format_names(sorted({one.format for one in found.traces}))
    requests = totals.reads + totals.writes
    lasted = "" if found.epoch == "none" else f", {duration_words((totals.end_ns - totals.begin_ns) / _NS_PER_S)}"
    devices = f", {len(found.devices):,} devices" if len(found.devices) > 1 else ""
    yield (
        f"Trace: {requests:,} requests of {format_names([one.name for one in found.traces])} ({formats}){devices}{lasted}."
    )
    written = f", {format_bytes(totals.written_bytes)} written" if totals.written_bytes else ""
    yield (
        f"Requests: {format_share(totals.reads / requests)} reads, {format_share(totals.writes / requests)} writes;"
        f" {format_bytes(totals.read_bytes)} read{written}."
    )
    yield (
        f"Footprint: {format_bytes(curve.footprint_blocks * block)} of different blocks of {format_bytes(block)}, used"
        f" {format_number((totals.read_blocks + totals.write_blocks) / curve.footprint_blocks)} times on average."
    )
    yield _needed(answer)
    for windows in curve.windows:
        if (use := window_use(windows, (totals.end_ns - found.origin_ns) / _NS_PER_S)) is not None:
            yield (
                f"Working set of {_WINDOWS[use.seconds]}: {format_bytes(use.mean * block)} on average,"
                f" {format_bytes(use.most * block)} at most."
            )


def _needed(answer: WorkingSet) -> str:
    ws90, block, best = answer.curve.ws90, answer.question.block_bytes, answer.best.hit
    if ws90 is None:
        return "No block is used twice: a cache serves nothing."
    between = (
        f" (95 % interval {format_bytes(ws90.low * block)} to {format_bytes(ws90.high * block)})"
        if answer.is_sampled
        else ""
    )
    return (
        f"A cache of {format_bytes(ws90.blocks * block)}{between} serves {format_share(0.9 * best)} of the accesses: 90 % of"
        f" what any size serves ({format_share(best)})."
    )


def served_cells(answer: WorkingSet, one: ServedShare) -> dict[str, str]:
    """Give the cells of a size's row, by heading; empty where there is nothing to say."""
    return {
        "cache": format_bytes(one.blocks * answer.question.block_bytes),
        "serves": format_share(one.hit),
        "95 % interval": f"{100 * one.low:.1f} to {100 * one.high:.1f}" if answer.is_sampled else "",
        "reads": "" if one.read_hit is None or one.write_hit is None else format_share(one.read_hit),
        "writes": "" if one.read_hit is None or one.write_hit is None else format_share(one.write_hit),
    }


def policy_rows(answer: WorkingSet) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Give headings and rows of the simulated policies; no rows without any."""
    table = answer.policies
    if table is None:
        return (), []
    heading = ("cache", *(policy_name(one.name) for one in table.hits))
    rows = [
        (
            format_bytes(size * answer.question.block_bytes),
            *("-" if (hit := one.hits[place]) is None else format_share(hit) for one in table.hits),
        )
        for place, size in enumerate(table.sizes)
    ]
    return heading, rows


def policy_name(name: str) -> str:
    """Name a policy as its authors write it."""
    return _POLICIES.get(name, name)


TIER_HEADING = ("begin", "accesses", "like before", "devices", "extents", "cache")


def tier_lines(answer: WorkingSet) -> Iterator[str]:
    """Describe the fast storage, and what it serves on usual days and on days unlike the one before."""
    tiers, asked = answer.found.tiers, answer.question.tier
    if tiers is None or asked is None:
        return
    yield (
        f"Fast storage of {format_share(asked.fraction)}: {format_bytes(tiers.fast_bytes)} of"
        f" {format_bytes(tiers.capacity_bytes)}. Share of the accesses that it serves:"
    )
    usual = tier_mean([one for one in tiers.periods if not is_unlike(one)])
    unlike = tier_mean([one for one in tiers.periods if is_unlike(one)])
    for name, mean in (("like the one before", usual), ("unlike the one before", unlike)):
        if mean is not None:
            yield (
                f"{mean.periods:,} {'period' if mean.periods == 1 else 'periods'} {name}: whole devices"
                f" {format_share(mean.devices)}, extents {format_share(mean.extents)}, block cache"
                f" {format_share(mean.cache)}."
            )
    if len(tiers.periods) < 2:
        yield f"The trace has one period of {duration_words(asked.period_s)}; a tier is moved by the one before (--period)."


def tier_cells(answer: WorkingSet, one: TierPeriod) -> tuple[str, ...]:
    """Give the cells of a period's row."""
    begin_s = (answer.found.origin_ns + one.begin_ns) / _NS_PER_S
    begin = _date(begin_s) if answer.found.epoch == "unix" else f"+{duration_words(one.begin_ns / _NS_PER_S)}"
    return (
        begin,
        f"{one.accesses:,}",
        format_share(one.alike),
        format_share(one.devices),
        format_share(one.extents),
        format_share(one.cache),
    )


def assumption_lines(answer: WorkingSet) -> Iterator[str]:
    """Name everything that was assumed."""
    found, curve, block = answer.found, answer.curve, answer.question.block_bytes
    yield "The cache is LRU, takes reads and writes, and is empty at first: the first use of each block is a miss."
    if answer.question.reads_only:
        yield "Only reads count (--reads-only)."
    if found.is_of_objects:
        yield f"Keys are objects, each counted as one block of {format_bytes(block)}."
    if answer.is_sampled:
        yield (
            f"Sampled (SHARDS): {curve.sampled_keys:,} blocks, {_rate(curve.rate)} of all; sizes below"
            f" {format_bytes(curve.served[0].blocks * block)} cannot be resolved. The intervals are from 8 groups of these."
        )
    else:
        yield "All blocks were looked at: the figures are exact for this trace."
    if answer.policies is not None:
        yield _policies_from(answer.policies.rate)
    if answer.question.tier is not None:
        yield (
            f"Extents of {format_bytes(answer.question.tier.extent_bytes)} and devices are moved after each"
            f" {duration_words(answer.question.tier.period_s)} by its accesses; a device ends where its last request does."
        )
        yield "Moving data takes no time and no access here."
        yield f"Unlike the one before: less than {format_share(LEAST_ALIKE)} of the accesses in the same extents."
    if found.totals.late:
        yield f"{found.totals.late:,} requests have an earlier time than the one before, and count at that one's."
    if curve.windows_are_cut:
        yield "The trace has more than 1,048,576 windows of a minute; later ones are not shown."


def _policies_from(rate: float) -> str:
    if rate >= 1:
        return "Policies: each cache is simulated as a whole."
    return f"Policies: simulated with {_rate(rate)} of the blocks in caches of {_rate(rate)} of the size."


def _rate(rate: float) -> str:
    return f"{100 * rate:.2g} %"


def _date(seconds: float) -> str:
    try:
        return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f} s"


def duration_words(seconds: float) -> str:
    """Print how long something lasts: in seconds, minutes, hours or days."""
    if seconds < 120:
        return format_seconds(seconds) if seconds else "0 s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.4g} h" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.3g} days"
