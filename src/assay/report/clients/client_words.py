"""Describe the clients of a run: losses, start skew and clock offsets."""

import statistics
from collections.abc import Iterator

from assay.analysis.set_views import OBSERVER
from assay.outward import one_line
from assay.report.clients.sum_rows import SumRow, sum_rows
from assay.results import ClientOfRun, Document
from assay.units import format_names, format_ns, format_number, format_percent, format_seconds

NO_SUM = "all were at work together for too short a time; --clients has each client's own rate"
_MOST_LOST = 3


def loads_of(document: Document) -> list[ClientOfRun]:
    """Give the clients that made load."""
    return [client for client in document.clients if client.role != OBSERVER]


def lost_of(document: Document) -> list[ClientOfRun]:
    """Give the clients that were lost, the first first."""
    lost = [client for client in document.clients if client.lost_s is not None]
    return sorted(lost, key=lambda client: client.lost_s or 0.0)


def who_words(document: Document) -> str:
    """Count the clients: `4 clients, 1 observer (s1)`."""
    loads = loads_of(document)
    observers = [client.name for client in document.clients if client.role == OBSERVER]
    words = f"{len(loads):,} client{'s' if len(loads) != 1 else ''}"
    if observers:
        words += f", {len(observers)} observer{'s' if len(observers) != 1 else ''} ({format_names(observers)})"
    return words


def lost_words(document: Document) -> Iterator[str]:
    """Describe lost and remaining clients: `3 of 4 clients since 12.3 s: h3, socket closed`."""
    loads, lost = loads_of(document), lost_of(document)
    gone = 0
    for client in lost[:_MOST_LOST]:
        gone += client.role != OBSERVER
        left = f"{len(loads) - gone:,} of {len(loads):,} clients" if client.role != OBSERVER else "an observer less"
        kept = "; its stream was collected later" if client.is_complete else ""
        yield f"{left} since {since(client)}: {client.name}, {client.lost_reason or 'no reason known'}{kept}"
    if len(lost) > _MOST_LOST:
        gone = sum(client.role != OBSERVER for client in lost)
        yield f"{len(lost) - _MOST_LOST:,} more were lost; {len(loads) - gone:,} of {len(loads):,} clients at the end"


def since(client: ClientOfRun) -> str:
    """Write when a client was lost."""
    lost_s = client.lost_s or 0.0
    return format_seconds(lost_s) if lost_s >= 0 else f"{format_seconds(-lost_s)} before the first phase"


def starts_words(document: Document) -> str:
    """Describe the start skew of the clients; empty if unknown."""
    starts = [start for start in document.starts if len(start.starts) > 1]
    if not starts:
        return ""
    worst = max(starts, key=lambda start: start.skew_ns)
    last = max(worst.starts, key=lambda start: start.late_ns).client
    repeat = f", repeat {worst.repeat + 1}" if worst.repeat else ""
    of_all = f"p50 {format_ns(statistics.median(start.skew_ns for start in starts))}, max " if len(starts) > 1 else ""
    return (
        f"skew {of_all}{format_ns(worst.skew_ns)} ± {format_ns(worst.bound_ns)} in {worst.phase}{repeat}, last {last};"
        f" {len(starts):,} phase{'s' if len(starts) > 1 else ''}"
    )


def clocks_words(document: Document) -> str:
    """Describe the clock offsets and their error bounds; empty if unknown."""
    clocks = [(client.name, client.clock) for client in document.clients if client.clock is not None]
    if not clocks:
        return ""
    name, furthest = max(clocks, key=lambda pair: abs(pair[1].offset_ns))
    bound = format_ns(max(clock.bound_ns for _, clock in clocks))
    parts = [f"offset up to {format_ns(abs(furthest.offset_ns))} ({name}), bounds up to {bound}"]
    drifts = [(name, clock.drift_ppm) for name, clock in clocks if clock.drift_ppm is not None]
    if drifts:
        name, drift = max(drifts, key=lambda pair: abs(pair[1]))
        parts.append(f"drift up to {format_number(abs(drift))} ppm ({name})")
    unread = [client.name for client in document.clients if client.clock is None]
    if unread:
        parts.append(f"never read: {format_names(unread)}")
    return "; ".join(parts)


def spread_words(row: SumRow) -> str:
    """Describe a sum: number of clients, range of rates, and balance."""
    return ", ".join(filter(None, (f"{row.found.clients:,} clients", range_words(row))))


def range_words(row: SumRow) -> str:
    """Describe the range of rates of a sum, and their balance; empty if unknown."""
    ordered = row.slowest_first
    if not row.is_sum:
        return f"no sum: {NO_SUM}"
    if not ordered:
        return ""
    slowest, fastest = ordered[0], ordered[-1]
    times = f"the slowest {'moved' if slowest.iops else 'did'} nothing"
    if row.times is not None:
        times = f"{format_number(row.times)} times"
    return (
        f"{row.rate_text(slowest)} ({slowest.client}) to {row.rate_text(fastest)} {row.unit.label} ({fastest.client}):"
        f" {times}{jain_words(row, ', ')}"
    )


def jain_words(row: SumRow, before: str = "") -> str:
    """Describe the balance of the clients of a sum; empty if unknown."""
    return "" if row.found.jain is None else f"{before}Jain {row.found.jain:.3f}{row.of_operations}"


def straggler_words(row: SumRow) -> str:
    """Name the straggler of a sum with its cause; nothing where there is none."""
    found = row.found.straggler
    if found is None:
        return ""
    return (
        f"straggler {found.client}: {format_percent(found.ratio)} % of the median{row.of_operations} of the others;"
        f" {found.cause}"
    )


def in_short(document: Document) -> str:
    """Format a line of the answer; empty for a single client."""
    if not document.clients:
        return ""
    lost, loads = lost_of(document), len(loads_of(document))
    parts = [f"{loads:,} client{'s' if loads != 1 else ''}"]
    if observers := [client.name for client in document.clients if client.role == OBSERVER]:
        parts.append(f"observed: {format_names(observers)}")
    if lost:
        names = [f"{client.name} at {since(client)} ({client.lost_reason or 'no reason known'})" for client in lost]
        parts.append(f"lost: {format_names(names, 1)}")
    apart = list(dict.fromkeys(row.row for row in sum_rows(document) if not row.is_sum))
    if apart:
        parts.append(f"no sum in row {apart[0]}{' and more' if len(apart) > 1 else ''}: no common time")
    slow: dict[str, list[int]] = {}
    for row in sum_rows(document):
        if row.found.straggler is not None and row.row not in (rows := slow.setdefault(row.found.straggler.client, [])):
            rows.append(row.row)
    if slow:
        named = [f"{client} (row {rows[0]}{' and more' if len(rows) > 1 else ''})" for client, rows in slow.items()]
        parts.append(f"straggler{'s' if len(named) > 1 else ''}: {format_names(named)}")
    return one_line(f"Sum of {'; '.join(parts)}.")
