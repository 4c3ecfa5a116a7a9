"""A number among those of its class: typical, below or above, by the rows of the table of invariants.

The rows are those for the kind of operation, its size and what is in flight. A device of a known class is compared with the
rows of that class; one of unknown class with all devices, and the text says so. Data of a server are compared with the link.
"""

from collections.abc import Iterator, Sequence

import msgspec

from assay import plan
from assay.analysis.case import Case
from assay.analysis.device_class import DeviceClass, device_class, link_rate
from assay.analysis.limiter.conclusion import CLIENT_CPU, Conclusion
from assay.invariants.invariant_table import Invariant, InvariantKind, InvariantTable, load
from assay.plan.durability import is_synchronous
from assay.plan.op_rules import FLUSHES, READS, WRITES
from assay.results import Placement, Trust
from assay.units import format_bytes, format_number, format_seconds
from assay.verdicts import Bottleneck, ServedBy, TrustLevel

_IN_ORDER = (plan.Sequential, plan.SharedStream, plan.Whole)
_FRACTIONS = ((1.0, "all"), (3 / 4, "three quarters"), (2 / 3, "two thirds"), (1 / 2, "half"), (1 / 3, "a third"),
              (1 / 4, "a quarter"), (1 / 5, "a fifth"), (1 / 10, "a tenth"))  # fmt: skip
_NEAR = 0.03
"""Share of a fraction within which a number is called by it."""
_MOST_CLASSES = 3
"""Classes that a number of an unknown device is compared with."""
_HELD_BACK = frozenset({Bottleneck.OFFERED_LOAD, Bottleneck.THROTTLE_CPU, Bottleneck.THROTTLE_IO})
"""What the load, or a limit of its control group, gave is no measure of the device."""
_NFS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs"})


def placement_of(case: Case, limiter: Conclusion | None, measures: ServedBy, trust: Trust) -> Placement | None:
    """Place the number of a result.

    Returns None for a number that cannot be used or is not of storage, for a load that was held back, and where no row is
    for such operations.
    """
    if not _is_of_device(case, limiter, measures, trust):
        return None
    device, table = device_class(case.subject), load()
    if device.is_server or measures is ServedBy.LINK:
        return _of_link(case, device, table)
    kind = kind_of(case)
    if kind is None:
        return None
    in_flight = case.job.workers * case.job.queue_depth
    rows = [row for row in table.of_kind(kind) if row.is_for(in_flight=in_flight, block_bytes=case.bytes / case.ops)]
    if device.classes:
        rows = [row for row in rows if row.about in device.classes]
    if not rows:
        return None
    placed = _of_class(case, device, rows, table) if device.classes else _of_unknown(case, device, rows, table)
    if limiter is None or limiter.limit not in CLIENT_CPU:
        return placed
    why = f"the client's CPUs limit this number ({limiter.limit.value.replace('_', ' ')}): the device may give more"
    return msgspec.structs.replace(placed, arithmetic=(*placed.arithmetic, why))


def _is_of_device(case: Case, limiter: Conclusion | None, measures: ServedBy, trust: Trust) -> bool:
    """Whether a number can be used, is what one machine got from its storage, and as much as the load could get."""
    if trust.level is TrustLevel.NO or (limiter is not None and limiter.limit in _HELD_BACK):
        return False
    has_done = case.run.client_set is None and case.ops > 0 and case.seconds > 0
    return has_done and (measures.is_past_memory or measures is ServedBy.LINK)


def kind_of(case: Case) -> InvariantKind | None:
    """Return which rows are for an operation; None: none are."""
    moving = [op for op in case.operation.ops if op.op in READS | WRITES]
    kinds = {op.op for op in moving}
    if len(kinds) != 1 or (len(moving) < len(case.operation.ops) and kinds <= READS):
        return None
    if kinds <= WRITES:
        flushes = any(op.op in FLUSHES for op in case.operation.ops)
        if flushes or all(is_synchronous(case.job, op) for op in moving):
            return InvariantKind.DURABLE_WRITE
    is_read = kinds <= READS
    if all(isinstance(op.access, plan.RandomAccess) for op in moving):
        return InvariantKind.RANDOM_READ if is_read else InvariantKind.RANDOM_WRITE
    if all(isinstance(op.access, _IN_ORDER) for op in moving):
        return InvariantKind.SEQUENTIAL_READ if is_read else InvariantKind.SEQUENTIAL_WRITE
    return None


def fraction_words(share: float) -> str:
    """Write a share in everyday words: `a third of`, `1.8 times`, `42 % of`."""
    if share > 1 + _NEAR:
        return f"{format_number(share)} times"
    for value, words in _FRACTIONS:
        if abs(share - value) <= _NEAR * value:
            return f"{words} of"
    return f"{format_number(100 * share)} % of"


# -- devices -----------------------------------------------------------------------------------------------------------


def _of_class(case: Case, device: DeviceClass, rows: Sequence[Invariant], table: InvariantTable) -> Placement:
    value = _value(case, rows[0])
    inside = [row for row in rows if row.low <= value <= row.high]
    if inside:
        text = f"typical for {_either(table, inside)}"
    elif value < min(row.low for row in rows):
        nearest = min(rows, key=lambda row: row.low)
        text = f"{fraction_words(value / nearest.low)} the least that is usual for {device.words}"
    else:
        nearest = max(rows, key=lambda row: row.high)
        text = f"{format_number(value / nearest.high)} times the most that is usual for {device.words}"
    arithmetic = (f"{device.device} is {device.words}, by its facts", *_compared(value, inside or rows, table))
    return _placement(text, arithmetic, inside or rows, device.words)


def _of_unknown(case: Case, device: DeviceClass, rows: Sequence[Invariant], table: InvariantTable) -> Placement:
    value = _value(case, rows[0])
    inside = [row for row in rows if row.low <= value <= row.high]
    shown = inside[:_MOST_CLASSES] or sorted(rows, key=lambda row: _distance(value, row))[:1]
    if inside:
        text = f"unknown class of device; the number would be typical for {_either(table, shown)}"
    else:
        row = shown[0]
        end, side = (row.low, "least") if value < row.low else (row.high, "most")
        near = f"{fraction_words(value / end)} the {side} that is usual for {table.name(row)}"
        text = f"unknown class of device; the nearest class: {near}"
    arithmetic = (f"class unknown: {device.device}", *_compared(value, shown, table))
    return _placement(text, arithmetic, shown, None)


def _distance(value: float, row: Invariant) -> float:
    return max(row.low / value, value / row.high) if value > 0 else float("inf")


def _value(case: Case, row: Invariant) -> float:
    """Give the number of a result in the unit of a row."""
    done = case.bytes if row.unit == "MB/s" else case.ops
    return done / case.seconds / row.si_factor


def _compared(value: float, rows: Sequence[Invariant], table: InvariantTable) -> Iterator[str]:
    for row in rows:
        yield (
            f"{format_number(value)} {row.unit}: {format_number(value / row.low)} times {format_number(row.low)},"
            f" {format_number(value / row.high)} times {format_number(row.high)}, the usual range of {table.name(row)}"
            f" ({row.condition}; row {row.id})"
        )


def _either(table: InvariantTable, rows: Sequence[Invariant]) -> str:
    names = [table.name(row) for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


# -- servers -----------------------------------------------------------------------------------------------------------


def _of_link(case: Case, device: DeviceClass, table: InvariantTable) -> Placement | None:
    rate, known = case.bytes / case.seconds, link_rate(case.run.facts)
    if not case.bytes or known is None:
        return None
    line, who = known
    row = table.link(line)
    carries, name = (row.low * row.si_factor, table.name(row)) if row else (line, "the link")
    text = f"{fraction_words(rate / carries)} what {name} carries"
    by_row = f"; row {row.id}" if row else ""
    share = f"{format_bytes(rate)}/s by {format_bytes(carries)}/s is {format_number(rate / carries)}"
    arithmetic = [f"{share} ({who}: {format_number(line * 8 / 1e9)} Gbit/s{by_row})"]
    rows = [row] if row else []
    for window in table.of_kind(InvariantKind.WINDOW)[:1]:
        trip = format_seconds(window.low / rate)
        arithmetic.append(
            f"one TCP connection with a window of {format_bytes(window.low)} reaches this up to a round trip of {trip}"
        )
        rows.append(window)
    if device.protocol in _NFS:
        for cost in table.of_kind(InvariantKind.CPU_COST)[:1]:
            low, high = (format_number(rate * end / 1e9) for end in (cost.low, cost.high))
            arithmetic.append(
                f"at {cost.low:g} to {cost.high:g} cycles/byte the server spends {low} to {high} billion cycles a second"
            )
            rows.append(cost)
    return _placement(text, arithmetic, rows, None)


def _placement(text: str, arithmetic: Sequence[str], rows: Sequence[Invariant], known: str | None) -> Placement:
    return Placement(
        text=text, device_class=known or None, arithmetic=tuple(arithmetic), rows=tuple(row.id for row in rows)
    )
