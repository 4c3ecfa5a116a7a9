"""The words of a sizing: what the load is, how many disks it takes, and what was assumed. For the terminal and the page."""

import datetime as dt
import math
from collections.abc import Iterator

from assay.results import STREAMING_BYTES_PER_OP
from assay.sizing.candidate import BUSY, DISKS_PER_SPARE, Candidate
from assay.sizing.constrained import MOST_LATENCY_S, MOST_QUEUED, HeldBack
from assay.sizing.demand import ACTIVE_SHARE, Spike
from assay.sizing.durations import SUSTAINED_S
from assay.sizing.size_answer import CapturedLoad, SizeAnswer
from assay.units import format_bytes, format_names, format_number, format_seconds, format_share

_WINDOWS = {300.0: "5 min", SUSTAINED_S: "30 min", 4 * 3600.0: "4 h", 24 * 3600.0: "24 h"}
_HIGH_SPIKE = 10.0
"""Times what is sustained, from which on a spike is named by itself."""


def load_lines(answer: SizeAnswer) -> Iterator[str]:
    """Describe the load that is sized for."""
    captured = answer.load.captured
    if captured is not None:
        yield from _captured(captured)
    yield _needed(answer)
    if answer.cache_bytes:
        yield (
            f"Spikes write up to {format_bytes(answer.cache_bytes)} more than these disks take at once: a write cache"
            " takes it, or writes wait."
        )
    if captured is not None and (captured.request_bytes or 0) >= STREAMING_BYTES_PER_OP:
        yield (
            f"Requests have {format_bytes(captured.request_bytes)} on average: a disk does fewer of these than of small"
            " ones, and throughput may be the limit. These numbers are too low."
        )
    if captured is not None and captured.held is not None:
        yield _held(captured.held, answer.latency_s)


def _captured(captured: CapturedLoad) -> Iterator[str]:
    total, demand = captured.total, captured.demand
    captured_s = total.steps * total.step_s
    devices = f"{total.devices:,} {'device' if total.devices == 1 else 'devices'}"
    end_s = total.begin_s + total.steps * total.step_s
    yield (
        f"Captured: {devices} of {format_names(total.hosts)}, {at_words(total.begin_s)} to {at_words(end_s)} (UTC), in"
        f" steps of {format_seconds(total.step_s)}."
    )
    yield (
        f"IOPS: mean {format_number(demand.mean)}, median {format_number(demand.median)}, p95"
        f" {format_number(demand.p95)}, highest sample {format_number(demand.peak)}."
    )
    if captured_s < SUSTAINED_S:
        yield (
            f"{_duration(captured_s)} are little: a size is for the busiest day of a month or a quarter, and needs its"
            " capture."
        )
    if demand.busiest:
        most = ", ".join(f"{format_number(iops)} over {_WINDOWS[window]}" for window, iops in demand.busiest.items())
        yield f"Greatest mean: {most}."
    if demand.steady_mean is None:
        yield "Nothing lasts longer than a spike."
    else:
        held_s = int(demand.core.sum()) * total.step_s
        yield (
            f"Sustained: mean {format_number(demand.steady_mean)}, p95 {format_number(demand.steady_p95)}, for"
            f" {_duration(held_s)} in all."
        )
    if demand.spikes:
        yield _spikes(captured)


def _spikes(captured: CapturedLoad) -> str:
    total, demand = captured.total, captured.demand
    highest = max(demand.spikes, key=lambda spike: spike.iops)
    lasts_s = (highest.end - highest.begin) * total.step_s
    many = f"{len(demand.spikes):,} spikes, the highest of" if len(demand.spikes) > 1 else "One spike, of"
    times = (
        f", {format_number(ratio)} times what is sustained" if (ratio := _ratio(highest, demand.steady_mean)) else ""
    )
    at = at_words(total.begin_s + highest.begin * total.step_s)
    return f"{many} {format_number(highest.iops)} IOPS for {_duration(lasts_s)} at {at}{times}: left to a cache."


def _ratio(spike: Spike, steady: float | None) -> float | None:
    return spike.iops / steady if steady and spike.iops > _HIGH_SPIKE * steady else None


def _needed(answer: SizeAnswer) -> str:
    load, changes, front = answer.load, answer.changes, answer.front
    parts = [
        f"Sized for {format_number(load.iops)} IOPS ({load.is_of}), {format_share(load.write_share)} of them writes"
    ]
    if changes.years and changes.growth_per_year:
        parts.append(f"growing by {format_share(changes.growth_per_year)} a year for {changes.years:g} years")
    if changes.headroom:
        parts.append(f"with {format_share(changes.headroom)} of the requests free")
    if changes.read_hits:
        parts.append(f"{format_share(changes.read_hits)} of reads served by a cache")
    if changes.coalesced:
        parts.append(f"{format_share(changes.coalesced)} of writes combined by a cache")
    if len(parts) > 1:
        parts.append(f"which is {format_number(front.per_s)} IOPS for the disks' groups")
    return f"{', '.join(parts)}; mean response time up to {format_seconds(answer.latency_s)}."


def _held(held: HeldBack, target_s: float) -> str:
    if held.by == "latency":
        took, most = format_seconds(held.latency_s or 0.0), format_seconds(MOST_LATENCY_S)
        because = f"requests took {took} on average, more than {most}"
    else:
        because = f"{format_number(held.queued)} requests were in flight, more than {MOST_QUEUED:g} a disk"
    text = (
        f"The captured system itself was the limit while the load was sustained: {because}. The hosts ask for at least"
        " this."
    )
    if held.most_iops is not None:
        text += (
            f" If storage answered within {format_seconds(target_s)}, they could ask for up to"
            f" {format_number(held.most_iops)} IOPS (Little's law)."
        )
    return text


def candidate_cells(one: Candidate) -> dict[str, str]:
    """Give the cells of a candidate's row, by heading; empty where there is nothing to say."""
    return {
        "disk": one.disk.name,
        "level": one.raid.name,
        "disks": "none" if one.disks is None else f"{one.disks:,} + {one.spares:,}",
        "latency": _latency(one),
        "busy": "" if one.disks is None else format_share(one.utilisation),
        "1 lost": _lost(one),
        "most IOPS": "" if one.disks is None else format_number(one.most_front),
        "set by": "" if one.decided_by == "rate" else one.decided_by,
        "cost": "" if one.cost is None else format_number(one.cost),
    }


def _latency(one: Candidate) -> str:
    if one.disks is None or one.response_s is None:
        return ""
    return "unbounded" if math.isinf(one.response_s) else format_seconds(one.response_s)


def _lost(one: Candidate) -> str:
    if one.disks is None:
        return ""
    return "data lost" if one.degraded_utilisation is None else format_share(one.degraded_utilisation)


def candidate_warnings(answer: SizeAnswer) -> Iterator[str]:
    """Say what is wrong with a candidate: too few disks, too busy, or too few once one is lost."""
    for one in answer.candidates:
        name = f"{one.disk.name} with {one.raid.name}"
        if one.disks is None:
            yield (
                f"{name}: a request takes longer than {format_seconds(answer.latency_s)} even without a queue, or it takes"
                " more disks than there can be."
            )
        elif one.utilisation >= 1:
            yield (
                f"{name}: {one.disks:,} disks cannot carry it: each would have to do"
                f" {format_number(one.back.per_s / one.disks)} IOPS. Requests pile up from"
                f" {format_number(answer.front.per_s / one.utilisation)} IOPS of the hosts on."
            )
        elif not one.is_enough:
            short = one.for_capacity is not None and one.for_capacity > one.disks
            what = (
                f"its capacity needs {one.for_capacity:,}"
                if short
                else f"the latency needs {math.ceil(one.for_rate):,}"
            )
            yield f"{name}: {one.disks:,} disks are too few; {what}."
        elif one.degraded_utilisation is not None and one.degraded_utilisation >= 1:
            yield f"{name}: with one disk lost, requests pile up ({format_share(one.degraded_utilisation)} busy)."
        elif one.utilisation > BUSY:
            yield f"{name}: disks are {format_share(one.utilisation)} busy; a little more load is much more latency."


def assumption_lines(answer: SizeAnswer) -> Iterator[str]:
    """Name everything that was assumed."""
    load = answer.load
    if load.captured is not None:
        yield (
            f"Sustained: levels from {format_share(ACTIVE_SHARE)} of the busy level on; what is shorter than a spike, or"
            f" stands out by {format_share(ACTIVE_SHARE)} for less, is left to a cache (--spike)."
        )
        step = format_seconds(load.captured.total.step_s)
        yield f"What is shorter than a step of {step} is averaged away: short bursts are higher than any sample."
        if load.captured.demand.gathered > 1:
            yield f"Levels were looked for in means of {load.captured.demand.gathered} steps."
    yield f"Writes: {format_share(load.write_share)} of the requests, {load.write_share_from}."
    yield from dict.fromkeys(f"{one.disk.name}: {one.disk.basis}." for one in answer.candidates)
    yield from dict.fromkeys(_penalty(one) for one in answer.candidates)
    changes = answer.changes
    if not (changes.read_hits or changes.coalesced):
        yield "No request is taken off the disks by a cache (--read-hits, --coalesced)."
    if not (changes.headroom or changes.growth_per_year):
        yield "No growth and no headroom (--growth, --years, --headroom)."
    if answer.has_usual_spares:
        yield f"One spare for each {DISKS_PER_SPARE} disks, at least one (--spares)."
    yield "Requests are small and at random; latency is the mean of the disks' own, without network, controller and cache."


def _penalty(one: Candidate) -> str:
    group = "" if one.raid.level in {"0", "1", "10"} else f", in groups of {one.raid.group}"
    many = f"{one.raid.penalty:.3g} {'request' if one.raid.penalty == 1 else 'requests'}"
    return f"{one.raid.name}: a write is {many} to disks{group}."


def at_words(seconds: float) -> str:
    """Print a time in UTC, to the minute."""
    try:
        return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f} s"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return format_seconds(seconds)
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"
