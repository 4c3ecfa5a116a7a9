"""Draw the roofline: throughput over operation size, below the ceilings of client, link and devices.

A number on a line names what holds it there (METHOD 4.5). The client's lines are of one thread: several together may lie
above them. Sums over several clients have no such ceiling; each client's own results have.
"""

import math
from collections.abc import Iterator, Sequence

from assay.analysis.ceilings import CACHED_READ, cached_read_bytes_per_s
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, decades_covering, log_ticks, records, spread
from assay.report.figure import Figure, Table, sentence
from assay.report.numbers import MIB_PER_S, headline_rates, rate
from assay.report.titles import titles_of
from assay.report.verdict import is_usable, trust_words
from assay.results import ClientCeilings, Document, Result
from assay.units import KIB, MIB, format_bytes

_SYSTEM_CALL = "system_call"
_FLAT = {"memory_copy_large": "copies in memory", "content_fill": "content for writes made"}
_HEIGHT_PX = 380
_PARTS = 8
"""Points of a line between two powers of two."""
_LABEL_PX = 15
_SIZE_LABEL = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB'"
    " : datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : format(datum.value, '~g') + ' B'"
)

Line = tuple[str, list[tuple[float, float]]]
"""Words, and points of (bytes of an operation, bytes a second)."""


def draw(document: Document) -> Iterator[Figure]:
    """Draw the results that move data; nothing where no ceiling is known, and nothing of sums over several clients."""
    if any(found.clients > 1 for found in document.sums):
        return
    placed = [
        (number, title, result)
        for number, (title, result) in enumerate(zip(titles_of(document.results), document.results, strict=True), 1)
        if result.ops and result.bytes and headline_rates(result)[1]
    ]
    if document.ceilings is None or not placed:
        return
    sizes = _sizes([_mean_bytes(result) for _, _, result in placed])
    lines = list(_lines(document.ceilings, sizes))
    if not lines:
        return
    parts = tuple(
        (f"{number}: {title}", format_bytes(round(_mean_bytes(result))), *_rate_and_trust(result))
        for number, title, result in placed
    )
    yield Figure(
        slug="overview-roofline",
        title="Results below the ceilings",
        caption=_caption(document.ceilings),
        alt_text="Throughput over the size of an operation. "
        + sentence(f"{name}, {size} each: {value}, {trust}" for name, size, value, trust in parts),
        chart=chart(placed, lines, sizes),
        table=Table(("Result", "Operation", "Throughput", "Trust"), parts),
    )


def _rate_and_trust(result: Result) -> tuple[str, str]:
    return rate(MIB_PER_S.of(*headline_rates(result)), MIB_PER_S), trust_words(result)


def _caption(known: ClientCeilings) -> str:
    words = "The ceiling named by a line limits a dot on that line; dots have the numbers of their rows. "
    if not known.of_one_thread:
        return words + "Nothing is known of this client: `assay quick` measures it."
    when = "measured in this run" if known.is_of_this_run else f"measured on {known.measured_utc} by an earlier run"
    return f"{words}Lines of the client are of one of its threads, {when}: several together may lie above."


def _sizes(of_results: Sequence[float]) -> list[float]:
    """Sizes that the lines go through: an octave more than the results have on each side, 4 KiB to 1 MiB at least."""
    low = math.floor(math.log2(min(4 * KIB, *of_results))) - 1
    high = math.ceil(math.log2(max(MIB, *of_results))) + 1
    return [2.0 ** (low + i / _PARTS) for i in range((high - low) * _PARTS + 1)]


def _lines(known: ClientCeilings, sizes: Sequence[float]) -> Iterator[Line]:
    for each in known.of_one_thread:
        if each.name == _SYSTEM_CALL:
            yield "an empty system call each", [(size, size * each.ops_per_s) for size in sizes]
        elif each.name in _FLAT and each.bytes_per_s:
            yield _FLAT[each.name], [(size, each.bytes_per_s) for size in (sizes[0], sizes[-1])]
    if any(each.name == CACHED_READ for each in known.of_one_thread):
        yield "read from the page cache", [(size, cached_read_bytes_per_s(known, size) or 0.0) for size in sizes]
    for words, most in (("the link", known.link_bytes_per_s), ("the devices", known.device_bytes_per_s)):
        if most:
            yield words, [(size, most) for size in (sizes[0], sizes[-1])]


def _mean_bytes(result: Result) -> float:
    """Give the mean size of the operations of a result that moved data."""
    return (result.bytes or 0) / (result.ops or 1)


def chart(placed: Sequence[tuple[int, str, Result]], lines: Sequence[Line], sizes: Sequence[float]) -> Layered:
    """Draw numbered dots and named lines, both axes logarithmic."""
    dots = [
        {
            "size": _mean_bytes(result),
            "rate": (headline_rates(result)[1] or 0.0) / MIB,
            "number": str(number),
            "ink": theme.MEASURED if is_usable(result) else theme.UNTRUSTED,
        }
        for number, _, result in placed
    ]
    # No line goes far above what is flat: an empty system call of 16 MiB would squeeze all else.
    flat = max(points[-1][1] for words, points in lines) if len(lines) == 1 else _highest_flat(lines)
    rates = [_of(dot, "rate") for dot in dots]
    low, high = decades_covering(min(rates), max(*rates, flat / MIB))
    drawn = [
        {"line": words, "size": size, "rate": value / MIB}
        for words, points in lines
        for size, value in points
        if low <= value / MIB <= high
    ]
    x = vl.X(
        "size:Q",
        title="bytes of an operation",
        scale=vl.Scale(type="log", base=2, domain=[sizes[0], sizes[-1]], nice=False),
        axis=vl.Axis(values=[2.0**power for power in range(0, 63, 2)], labelExpr=_SIZE_LABEL, grid=True),
    )
    y = vl.Y(
        "rate:Q",
        title=MIB_PER_S.label,
        scale=vl.Scale(type="log", domain=[low, high], nice=False),
        axis=vl.Axis(values=log_ticks(low, high), format=",~r", grid=True),
    )
    ceilings = vl.Chart(records(drawn)).mark_line(strokeWidth=1.4, color=theme.MUTED_INK)
    base = vl.Chart(records(dots)).encode(x=x, y=y, color=vl.Color("ink:N", scale=None))
    layers = [
        ceilings.encode(x=x, y=y, detail="line:N"),
        *(
            words.encode(x=x, y=y)
            for words in _labels(drawn, lines, (low, high), middle=math.sqrt(sizes[0] * sizes[-1]))
        ),
        base.mark_point(filled=True, size=90, opacity=1),
        _numbers(dots, (low, high)).encode(x=x, y=y),
    ]
    return Layered(layers, _HEIGHT_PX)


def _highest_flat(lines: Sequence[Line]) -> float:
    return max(points[-1][1] for words, points in lines if "system call" not in words)


def _labels(
    drawn: Sequence[dict[str, object]], lines: Sequence[Line], ends: tuple[float, float], *, middle: float
) -> Iterator[vl.Chart]:
    """Write each line's words at its right end, as far as it is drawn; words that would lie on each other move apart."""
    last = {str(point["line"]): point for point in drawn}
    named = [last[words] for words, _ in lines if words in last]
    for is_wide in (True, False):
        chosen = [point for point in named if (_of(point, "size") > middle) == is_wide]
        rows = [{**point, "rate": rate} for point, rate in zip(chosen, _apart(chosen, ends), strict=True)]
        base = vl.Chart(records(rows)).encode(text="line:N")
        # What leaves the picture early has no room on its left.
        if is_wide:
            yield base.mark_text(align="right", dx=-4, dy=-7, fontSize=10, color=theme.MUTED_INK)
        else:
            yield base.mark_text(align="left", dx=6, dy=-7, fontSize=10, color=theme.MUTED_INK)


def _numbers(dots: Sequence[dict[str, object]], ends: tuple[float, float]) -> vl.Chart:
    """Write each dot's number on its right, those of one size apart from each other."""
    of_size: dict[int, list[dict[str, object]]] = {}
    for dot in dots:
        of_size.setdefault(round(math.log2(_of(dot, "size"))), []).append(dot)
    rows = [
        {**dot, "rate": rate} for same in of_size.values() for dot, rate in zip(same, _apart(same, ends), strict=True)
    ]
    mark = vl.Chart(records(rows)).mark_text(align="left", dx=9, dy=1, fontWeight="bold")
    words: vl.Chart = mark.encode(text="number:N", color=vl.Color("ink:N", scale=None))
    return words


def _apart(points: Sequence[dict[str, object]], ends: tuple[float, float]) -> list[float]:
    """Give heights for words at points so that no two touch."""
    per_px = math.log10(ends[1] / ends[0]) / _HEIGHT_PX
    return [10**height for height in spread([math.log10(_of(point, "rate")) for point in points], _LABEL_PX * per_px)]


def _of(point: dict[str, object], name: str) -> float:
    return float(str(point[name]))
