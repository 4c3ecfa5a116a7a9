"""Explain one result: its interval, what served it, what limited it, and how to change it."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from assay.analysis.curve import curve_of, in_flight
from assay.analysis.device_health import health_of_devices
from assay.analysis.finding_pages import page_of
from assay.analysis.findings import NOTE
from assay.analysis.record import RunRecord
from assay.analysis.threshold_table import OF_LIMITER, named
from assay.report.expected_words import expected_of_row
from assay.report.explain.earlier_runs import median_difference
from assay.report.explain.extrapolated import USUAL_CLIENTS, extrapolated
from assay.report.explain.invariants_story import placed_words
from assay.report.explain.paragraphs import LABEL_WIDTH, aligned, paragraph, rows
from assay.report.explain.time_bar import time_bar
from assay.report.latency_headline import has_latency_headline
from assay.report.numbers import (
    MIB_PER_S,
    OPS_PER_S,
    energy_words,
    headline,
    headline_rates,
    hit_scope,
    interval_words,
    is_with_flush,
    other_unit,
    rate,
    rate_unit,
    rate_words,
    span_s,
    window_rate,
)
from assay.report.titles import titles_of
from assay.results import Document, Finding, LatencyNs, Result
from assay.units import (
    ABSENT,
    format_bytes,
    format_joules,
    format_ns,
    format_number,
    format_percent,
    format_seconds,
    format_share,
)
from assay.verdicts import ServedBy

_SECOND = 2
_NOT_SEPARATED = {
    ServedBy.VIRTUAL_DISK: " (storage or the host's memory, not distinguishable from here)",
    ServedBy.SERVER: " (its storage or its memory, not distinguishable from here)",
}
_OF_CHANGES = {
    "absorbed": "memory took the writes; the time includes no flush",
    "device": "the device took the writes, perhaps into a volatile cache; the time includes no flush",
    "flushed": "writes wait for storage: synchronous, flushed in the time, or direct to a device without a cache",
}
_DATE = len("2026-01-01")


def row_story(
    document: Document,
    run: RunRecord,
    row: int,
    width: int,
    earlier: Sequence[float] = (),
    *,
    clients: int = USUAL_CLIENTS,
) -> list[Text]:
    """Explain a result.

    Args:
        document: The results of the run.
        run: What they were worked out from.
        row: Number of the result, from 1, as `assay show` has it.
        width: Of the terminal.
        earlier: Rates of earlier runs of the same Plan on this machine, in the unit that heads the result.
        clients: How many the need of the link, the CPUs and the device is worked out for.
    """
    result, count = document.results[row - 1], len(document.results)
    is_virtual = run.facts.get("host.virtualisation.is_virtual") is True
    between = _between_runs(document.run.repeats, earlier, is_virtual=is_virtual)
    parts = [
        paragraph(
            f"row {row}",
            [f"{titles_of(document.results)[row - 1]} (of {count} rows)", _work(result), *_interface(run, result)],
            width,
        ),
        *_numbers(result, between, width),
        paragraph("expected", expected_of_row(document, result), width),
        paragraph("schedule", _schedule(result), width),
        paragraph("measures", _measures(result), width),
        paragraph("device", [device.in_words() for device in health_of_devices(run)], width),
        paragraph("trust", _trust(result), width),
        paragraph("placed", placed_words(result), width),
        rows("time", time_bar(result.time_budget, width - LABEL_WIDTH) or ["not known for this row"]),
        paragraph("limiter", _limiter(result), width),
        rows("ceilings", _ceilings(document, result)),
        rows("curve", _curve(document, run, row)),
        paragraph("cost", _cost(result), width),
        paragraph("change", _changes(result), width),
        paragraph("scaling", extrapolated(run, result, clients), width),
        paragraph("notes", _notes(result), width),
        paragraph("threshold", _thresholds(result), width),
    ]
    return [line for lines in parts if lines for line in (*lines, Text())]


def _numbers(result: Result, between_runs: str, width: int) -> Iterator[list[Text]]:
    """Lay out the rate and the latency: first the one that heads the result."""
    rates = (
        paragraph("number", _number(result, between_runs), width),
        paragraph("steady", _steady(result), width),
        paragraph("flush", _committed(result), width),
    )
    latency = paragraph("latency", _latency(result), width)
    yield from (latency, *rates) if has_latency_headline(result) else (*rates, latency)


def _work(result: Result) -> str:
    times = f", repeat {result.repeat + 1}" if result.repeat else ""
    workers = f"{_count(result.workers)} worker{'s' if result.workers != 1 else ''}"
    return (
        f"operation '{result.operation}' of job '{result.job}' in phase '{result.phase}'{times}, on {result.target or '?'}:"
        f" {workers}, depth {_count(result.queue_depth)}"
    )


def _interface(run: RunRecord, result: Result) -> Iterator[str]:
    """Name the interface of the kernel that was used, and what the kernel granted of it."""
    of_phase = (
        record for record in run.phases if (record.phase.name, record.phase.repeat) == (result.phase, result.repeat)
    )
    facts = next((record.job_facts(result.job) for record in of_phase), None)
    if facts is not None:
        granted = f" ({', '.join(facts.features)})" if facts.features else ""
        yield f"through {facts.backend}{granted}{', direct I/O' if facts.direct else ''}"


# -- the number --------------------------------------------------------------------------------------------------------


def _between_runs(repeats: int, earlier: Sequence[float], *, is_virtual: bool) -> str:
    """State how far runs lie apart, which no interval of one run has: by earlier runs where there are some (METHOD 1.6)."""
    if repeats != 1:
        return ""
    difference = median_difference(earlier)
    if difference is not None:
        return (
            f"{len(earlier)} earlier runs of this Plan on this machine: two of them differ by"
            f" {format_percent(difference)} % in the median, which is not in the interval"
        )
    of = "one run on a virtual machine" if is_virtual else "one run"
    return f"{of}: the interval does not cover differences between runs. Use --repeat 3"


def _number(result: Result, between_runs: str) -> Iterator[str]:
    text, other = rate_words(result), other_unit(result)
    second = other.of(*headline_rates(result))
    yield text if second is None else f"{text}, or {rate(second, other)}"
    if is_with_flush(result):
        yield f"without the flush {rate(*window_rate(result))}"
    if result.iops_interval is None:
        yield "no confidence interval: too few time intervals"
    else:
        yield (
            f"95 % interval {interval_words(result)}, from"
            f" {format_number(result.iops_interval.effective)} independent time intervals"
        )
    if between_runs:
        yield between_runs
    if result.window_s is not None and result.seconds is not None:
        yield (
            f"window {span_s(*result.window_s)} of the phase ({format_seconds(result.seconds)}): {result.ops:,} operations,"
            f" {format_bytes(result.bytes)}, {result.errors:,} errors"
        )


def _count(number: int | None) -> str:
    return ABSENT if number is None else str(number)


def _steady(result: Result) -> Iterator[str]:
    steady = result.steady
    if steady is None:
        return
    # The first interval may begin a moment before the phase: the counters were sampled first.
    window = f" over {span_s(max(0.0, steady.window_s[0]), steady.window_s[1])}" if steady.window_s else ""
    yield f"{steady.verdict.value.replace('_', ' ')}{window}, by {steady.intervals} intervals"
    for level in steady.before:
        begin_s, end_s = level.window_s
        yield f"earlier level, {span_s(max(0.0, begin_s), end_s)}: {format_number(level.ratio)} times this rate"
    if steady.trend:
        yield f"the rate {'rises' if steady.trend > 0 else 'falls'} by {format_percent(abs(steady.trend))} % over the window"
    if steady.period_s is not None:
        yield f"the rate is periodic: every {format_seconds(steady.period_s)}"


def _committed(result: Result) -> Iterator[str]:
    kept = result.committed
    if kept is None:
        return
    unit = rate_unit(result)
    yield (
        f"{rate(unit.of(kept.iops, kept.throughput_bytes_per_s), unit)} by the end of a flush of"
        f" {format_seconds(kept.flush_seconds)} after the phase"
        + (
            ""
            if kept.stored_share == 1
            else f", {format_percent(kept.stored_share)} % of it: the rest was written over"
        )
    )


def _latency(result: Result) -> Iterator[str]:
    yield f"issue to completion: {_percentiles(result.latency_ns)}"
    known = result.latency_intervals_ns
    if known is not None:
        pairs = (("p50", known.p50), ("p90", known.p90), ("p99", known.p99), ("p99.9", known.p99_9))
        bounds = [f"{name} {format_ns(pair[0])} to {format_ns(pair[1])}" for name, pair in pairs if pair is not None]
        if bounds:
            yield f"95 % intervals: {', '.join(bounds)}"
    if result.response_ns is not None:
        yield f"from the scheduled arrival: {_percentiles(result.response_ns)}"


def _schedule(result: Result) -> Iterator[str]:
    kept = result.schedule
    if kept is None:
        return
    verdict = kept.verdict.value.replace("_", " ")
    yield f"{verdict}: {kept.arrivals:,} arrivals were due at {format_number(kept.rate_per_s)}/s"
    yield f"{kept.late:,} were issued after the next one was due, {kept.backlog:,} not before the end"


def _percentiles(spread: LatencyNs) -> str:
    named_values = (
        ("mean", spread.mean),
        ("p50", spread.p50),
        ("p90", spread.p90),
        ("p99", spread.p99),
        ("p99.9", spread.p99_9),
        ("max", spread.max),
    )
    return ", ".join(f"{name} {format_ns(value)}" for name, value in named_values)


# -- what served it, and whether it is trusted --------------------------------------------------------------------------


def _measures(result: Result) -> Iterator[str]:
    cache = result.cache
    yield result.measures.words + _NOT_SEPARATED.get(result.measures, "")
    how = f", by {cache.method.replace('_', ' ')}" if cache.method else ""
    if cache.hit_ratio is not None:
        yield f"memory delivered {format_share(cache.hit_ratio)} of the bytes read{hit_scope(cache)}{how}"
    elif cache.verdict in _OF_CHANGES:
        yield _OF_CHANGES[cache.verdict]
    yield f"requested cache state: {cache.condition.replace('_', ' ')}"
    if cache.resident_before is not None or cache.resident_after is not None:
        yield (
            f"the page cache held {format_share(cache.resident_before)} of the file set before and"
            f" {format_share(cache.resident_after)} after"
        )
    if result.device_bytes is not None:
        moved = format_bytes(result.device_bytes)
        yield f"operations moved {format_bytes(result.bytes)}, the device {moved} in the same time"


def _trust(result: Result) -> Iterator[str]:
    yield result.trust.level.value
    for finding in result.findings:
        if finding.severity != NOTE:
            yield _finding_text(finding)


def _finding_text(finding: Finding) -> str:
    effect = f" (effect {format_percent(finding.effect)} %)" if finding.effect is not None else ""
    return f"{finding.severity} {finding.id}{effect}: {finding.text}"


def _notes(result: Result) -> Iterator[str]:
    for finding in result.findings:
        if finding.severity == NOTE:
            yield f"{finding.id}: {finding.text}"


# -- what limited it ----------------------------------------------------------------------------------------------------


def _limiter(result: Result) -> Iterator[str]:
    found = result.limiter
    if found is None:
        yield "not assessed: only a whole job that did something has a limiter"
        return
    yield f"{found.verdict.words}, {found.confidence.value} confidence"
    yield from found.evidence
    if found.headroom is not None:
        yield f"the next ceiling is {format_number(found.headroom)} times this rate"


def _ceilings(document: Document, result: Result) -> list[str]:
    """Lay out what one thread of this client, or of one of several, could ever show, and this number's share of it."""
    known, cells = document.ceilings, []
    for ceiling in known.of_one_thread if known else ():
        moved = ceiling.bytes_per_s is not None
        mine = result.throughput_bytes_per_s if moved else result.iops
        most = ceiling.bytes_per_s if moved else ceiling.ops_per_s
        if mine is None or not most:
            continue
        name = ceiling.name.replace("_", " ")
        of = f", {format_bytes(ceiling.block_size_bytes)}" if ceiling.block_size_bytes else ""
        unit = MIB_PER_S if moved else OPS_PER_S
        cells.append((f"{name}{of}", rate(unit.of(most, most), unit), f"{format_percent(mine / most):>6} % of it"))
    if known is None or not cells:
        return ["none known: `assay quick` measures and keeps them"]
    when = "in this run" if known.is_of_this_run else f"on {(known.measured_utc or ABSENT)[:_DATE]}"
    of_whom = "of one thread of one client" if document.clients else "of one thread here"
    return [
        f"{of_whom}, measured {when}; this result's share:",
        *aligned(cells, numbers=(1,)),
    ]


def _curve(document: Document, run: RunRecord, row: int) -> list[str]:
    """Lay out the results of the same work with more or less of it in flight."""
    places = curve_of(run, document.results, row - 1)
    if len(places) < _SECOND:
        return []
    cells = [("row", "in flight", "rate", "p50", "p99", "trusted", "")]
    for place in places:
        other = document.results[place]
        value, unit = headline(other)
        spread = other.latency_ns
        mark = "<- this one" if place == row - 1 else ""
        times = (format_ns(spread.p50), format_ns(spread.p99))
        cells.append((str(place + 1), str(in_flight(other)), rate(value, unit), *times, other.trust.level.value, mark))
    return aligned(cells, numbers=(0, 1, 2, 3, 4))


def _cost(result: Result) -> Iterator[str]:
    cost = result.efficiency
    known = [
        ("CPU time per operation", result.cpu_ns_per_op, format_ns),
        ("CPU time per GiB", cost.cpu_seconds_per_gib, format_seconds),
        ("bytes per second of CPU time", cost.bytes_per_cpu_second, format_bytes),
        ("read and write calls per operation", cost.calls_per_op, format_number),
        ("device bytes per byte", cost.device_bytes_per_byte, format_number),
    ]
    parts = [f"{name}: {printed(value)}" for name, value, printed in known if value is not None]
    if energy := energy_words(cost):
        parts.append(f"energy: {energy}")
    if cost.joules_per_op is not None and result.seconds and result.ops is not None:
        taken = cost.joules_per_op * result.ops
        parts.append(f"total {format_joules(taken)}, {format_number(taken / result.seconds)} W on average")
    yield from parts or ["not known for this row"]


# -- what follows ------------------------------------------------------------------------------------------------------


def _changes(result: Result) -> Iterator[str]:
    remedy = result.limiter.remedy if result.limiter else ""
    against = [finding.cure for finding in result.findings if finding.severity != NOTE]
    yield from dict.fromkeys(text for text in (*against, remedy) if text)


def _thresholds(result: Result) -> Iterator[str]:
    pages = [page_of(finding.id) for finding in result.findings]
    names = [name for page in pages if page for name in page.turns_on]
    if result.limiter is not None:
        names += OF_LIMITER.get(result.limiter.verdict, ())
    for threshold in named(names):
        yield f"{threshold.name} = {threshold.value:g}: {threshold.meaning}"
