"""Separate repeats of one test from parts of one figure in a tool's output.

Figures of one place are repeats, in their order. But workers that the tool distinguishes although they ran at once are
parts: their operations and bytes are added up and divided by the longest of their times, as fio does for a group, and
percentiles, which cannot be added, are left out. And values of several kinds that a table has of one label are one
figure a run.
"""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

from assay.decode.claim import Claim, ReportedLatency

_VALUES = ("bytes_per_s", "ops_per_s", "seconds")


def place_of(figure: Claim) -> tuple[str, ...]:
    """Give the key of what a figure is of."""
    return figure.place or (figure.test,)


def by_place(figures: Sequence[Claim]) -> list[list[Claim]]:
    """Gather the figures of one place, in the order in which places come first."""
    found: defaultdict[tuple[str, ...], list[Claim]] = defaultdict(list)
    for figure in figures:
        found[place_of(figure)].append(figure)
    return list(found.values())


def runs_of(same: Sequence[Claim]) -> list[Claim]:
    """Make one figure a run of the figures of one place."""
    parts = [figure for figure in same if figure.is_part]
    whole = [figure for figure in same if not figure.is_part]
    summed = [_sum(parts)] if parts else []
    by_kind: defaultdict[str, list[Claim]] = defaultdict(list)
    for figure in whole:
        by_kind[_kind(figure)].append(figure)
    if len(by_kind) < 2 or any(" " in kind for kind in by_kind):
        return [*summed, *whole]
    rows = itertools.zip_longest(*by_kind.values())
    return [*summed, *(_together([one for one in row if one is not None]) for row in rows)]


def _kind(figure: Claim) -> str:
    """List which values a figure has, in words with blanks between them."""
    has = [name for name in _VALUES if getattr(figure, name) is not None]
    return " ".join([*has, *_latencies(figure)])


def _latencies(figure: Claim) -> dict[str, float]:
    return {name: ns for name, ns in dataclasses.asdict(figure.latency).items() if ns is not None}


def _together(row: Sequence[Claim]) -> Claim:
    """Put figures of one run that have one value each into one."""
    return dataclasses.replace(
        row[0],
        bytes_per_s=next((one.bytes_per_s for one in row if one.bytes_per_s is not None), None),
        ops_per_s=next((one.ops_per_s for one in row if one.ops_per_s is not None), None),
        seconds=next((one.seconds for one in row if one.seconds is not None), None),
        latency=ReportedLatency(**{name: ns for one in row for name, ns in _latencies(one).items()}),
    )


def _sum(parts: Sequence[Claim]) -> Claim:
    """Add the workers of one job up that ran at once."""
    if len(parts) == 1:
        return parts[0]
    ops, moved = _total(part.ops for part in parts), _total(part.moved_bytes for part in parts)
    seconds = _longest(part.seconds for part in parts)
    means = [(part.latency.mean_ns, part.ops) for part in parts]
    known = [(mean, count) for mean, count in means if mean is not None and count]
    mean = sum(mean * count for mean, count in known) / sum(count for _, count in known) if known else None
    return dataclasses.replace(
        parts[0],
        bytes_per_s=moved / seconds if moved is not None and seconds else _add(part.bytes_per_s for part in parts),
        ops_per_s=ops / seconds if ops is not None and seconds else _add(part.ops_per_s for part in parts),
        workers=_total(part.workers for part in parts),
        ops=ops,
        moved_bytes=moved,
        errors=_total(part.errors for part in parts),
        seconds=seconds,
        latency=ReportedLatency(
            mean_ns=mean if len(known) == len(parts) else None, max_ns=_longest(part.latency.max_ns for part in parts)
        ),
        objection=next((part.objection for part in parts if part.objection), ""),
    )


def _total(counts: Iterable[int | None]) -> int | None:
    found = list(counts)
    return None if None in found else sum(count or 0 for count in found)


def _add(rates: Iterable[float | None]) -> float | None:
    found = list(rates)
    return None if None in found else sum(rate or 0.0 for rate in found)


def _longest(times: Iterable[float | None]) -> float | None:
    found = list(times)
    return None if None in found else max(time or 0.0 for time in found)
