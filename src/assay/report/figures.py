"""All figures of a run, each with its words and its table: what the page shows and `assay export --charts` writes.

Words and tables are made from the same arrays as the picture, for those who cannot see it
or want numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.histogram import QUANTILES, quantile_ns, samples_needed
from assay.report import charts, overview
from assay.report.axes import Layered
from assay.report.heat import MAX_CELLS, Cells, cells, quantile_steps
from assay.report.numbers import MIB_PER_S, OPS_PER_S, headline, rate, rate_unit, span_s
from assay.report.rates import Rates, rates
from assay.report.recording import Latencies, Recording
from assay.report.titles import title_of
from assay.report.verdict import trust_words
from assay.results import Result
from assay.units import ABSENT, format_ns, format_number, format_share

_LINES = {name: QUANTILES[name] for name in ("p50", "p99")}
_CELLS_IN_ALL = 60_000
"""Over all heat maps of a report, so that a run of many repeats stays a file that can be mailed."""

MOST_DRAWN = 60
"""Results that are drawn one by one where a classic tool's own figures show them all: a matrix has a thousand."""


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers under a figure: headings, then rows whose first cell names the row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its words and its numbers."""

    slug: str
    """For file names and anchors: letters, digits and hyphens."""
    title: str
    caption: str
    alt_text: str
    chart: Layered
    table: Table
    is_dense: bool = False
    """Thousands of shapes: better drawn as pixels than as elements."""
    in_space: str = ""
    """The same as a surface, in SVG; empty: there is none."""


def draws_each(results: Sequence[Result], of_tool: Sequence[Figure]) -> bool:
    """Whether every result has figures of its own: not where a tool's figures show hundreds of results together."""
    return not of_tool or len(results) <= MOST_DRAWN


def result_figures(recording: Recording, results: Sequence[Result], number_of: int) -> Iterator[Figure]:
    """Draw the figures of `results[number_of]`; none where the run has no intervals of it."""
    result = results[number_of]
    name = title_of(result, results)
    slug = f"{number_of + 1:02d}-{_slug(name)}"
    timeline = recording.timeline(result)
    if timeline is None:
        return
    marks = recording.marks_in(result)
    series = rates(timeline, rate_unit(result))
    yield Figure(
        slug=f"{slug}-throughput",
        title=f"{name}: throughput over time",
        caption=_timeline_caption(series, result),
        alt_text=_timeline_words(series, result, name),
        chart=charts.throughput_timeline(series, result, marks),
        table=_timeline_table(series, result),
    )
    most = min(MAX_CELLS, _CELLS_IN_ALL // max(len(results), 1))
    for kind, words in (("latency", "latency"), ("response", "response time")):
        latencies = recording.latencies(result, kind)
        if latencies is None:
            continue
        gathered = cells(latencies, most)
        lines = {label: quantile_steps(latencies, gathered.intervals_per_column, q) for label, q in _LINES.items()}
        yield Figure(
            slug=f"{slug}-{_slug(words)}",
            title=f"{name}: {words} over time",
            caption=_heat_caption(gathered, words),
            alt_text=_heat_words(latencies, result, name, words),
            chart=charts.latency_heat_map(gathered, lines, marks, axis_title=words),
            table=_heat_table(latencies, gathered),
            is_dense=True,
        )


def overview_figures(results: Sequence[Result]) -> Iterator[Figure]:
    """Draw the figures over all results of a run."""
    for unit in (MIB_PER_S, OPS_PER_S):
        chosen = [result for result in results if rate_unit(result) == unit and headline(result)[0] is not None]
        if chosen:
            rows = [(title_of(r, results), rate(*headline(r)), trust_words(r)) for r in chosen]
            what = "Throughput of streams" if unit.of_bytes else "Operations per second"
            yield Figure(
                slug="overview-" + ("throughput" if unit.of_bytes else "operations"),
                title=what,
                caption="Mean over each result's window." + (" 1 MiB is 1,048,576 bytes." if unit.of_bytes else ""),
                alt_text=f"{what}. " + _sentence(f"{title}: {value}, {trust}" for title, value, trust in rows),
                chart=overview.rate_bars(chosen, unit, results),
                table=Table(("Result", unit.label, "Trust"), tuple(rows)),
            )
    if not results:
        return
    yield _latency_figure(results)
    yield _budget_figure(results)


def _latency_figure(results: Sequence[Result]) -> Figure:
    rows = []
    for result in results:
        spread = result.latency_ns
        values = (format_ns(value) for value in (spread.p50, spread.p99, spread.max))
        rows.append((title_of(result, results), *values, trust_words(result)))
    return Figure(
        slug="overview-latency",
        title="Latency, from issue to completion",
        caption="Dot: p50. Upright stroke: p99. Ring: the slowest operation. n/a: too few operations for it"
        " (10 / (1 - q) are needed).",
        alt_text="Latency. " + _sentence(f"{r[0]}: p50 {r[1]}, p99 {r[2]}, slowest {r[3]}, {r[4]}" for r in rows),
        chart=overview.latency_overview(results),
        table=Table(("Result", "p50", "p99", "Slowest", "Trust"), tuple(rows)),
    )


def _budget_figure(results: Sequence[Result]) -> Figure:
    rows = []
    for result in results:
        spent = result.time_budget
        parts = (spent.on_cpu, spent.run_delay, spent.block_delay, spent.other_wait)
        rows.append((title_of(result, results), *(format_share(part) for part in parts)))
    unsplit = any(result.time_budget.block_delay is None for result in results)
    return Figure(
        slug="overview-time-budget",
        title="Where the workers' time went",
        caption="Mean over the workers of each result, in its window."
        + (" Where the kernel does not count block delay, it is part of the other waits." if unsplit else ""),
        alt_text="Where the workers' time went. "
        + _sentence(f"{r[0]}: on CPU {r[1]}, waiting for a CPU {r[2]}, block I/O {r[3]}, other {r[4]}" for r in rows),
        chart=overview.time_budget(results),
        table=Table(("Result", "On CPU", "Waiting for a CPU", "Waiting for block I/O", "Other waits"), tuple(rows)),
    )


def _timeline_caption(series: Rates, result: Result) -> str:
    text = "Each step is the mean over one interval; the dashed line is the result."
    if series.is_gathered:
        text += " Each step gathers several intervals of this long run; the band spans the slowest and fastest of them."
    if len(series.inside(result.window_s)) < len(series.mean):
        text += " Blue: inside the window that the result is from. Grey: outside it, not counted."
    return text


def _timeline_words(series: Rates, result: Result, name: str) -> str:
    value, unit = headline(result)
    words = f"Throughput of {name} over {format_number(float(series.end_s[-1]))} seconds. "
    inside = series.inside(result.window_s)
    if len(inside):
        slowest = int(inside[np.argmin(series.lowest[inside])])
        words += (
            f"In the window {span_s(*result.window_s)} intervals lie between {rate(float(series.lowest[slowest]), unit)}"
            f" and {rate(float(series.highest[inside].max()), unit)}, the lowest at {series.start_s[slowest]:.2f} s. "
        )
    return words + f"Result: {rate(value, unit)}, {trust_words(result)}."


def _timeline_table(series: Rates, result: Result) -> Table:
    inside = set(series.inside(result.window_s).tolist())
    rows = [
        (span_s(start, end), format_number(mean), "yes" if i in inside else "no")
        for i, (start, end, mean) in enumerate(zip(series.start_s, series.end_s, series.mean, strict=True))
    ]
    return Table(("Interval", series.unit.label, "In the window"), tuple(rows))


def _heat_caption(gathered: Cells, words: str) -> str:
    text = f"Darker: more operations in that interval with that {words}; white: none."
    if gathered.intervals_per_column > 1:
        text += f" A column gathers {gathered.intervals_per_column} intervals."
    p50, p99 = (samples_needed(q) for q in _LINES.values())
    return text + (
        f" Each step of the p50 line needs {p50} operations, of the p99 line {p99:,};"
        " where intervals have fewer, a step spans several."
    )


def _heat_words(latencies: Latencies, result: Result, name: str, words: str) -> str:
    low, high = float(latencies.value_ns.min()), float(latencies.value_ns.max())
    spread = result.response_ns if words != "latency" and result.response_ns else result.latency_ns
    return (
        f"Heat map of the {words} of {name}: {int(latencies.count.sum()):,} operations between {format_ns(low)} and"
        f" {format_ns(high)}. In the window p50 is {format_ns(spread.p50)}, p99 {format_ns(spread.p99)},"
        f" {trust_words(result)}."
    )


def _heat_table(latencies: Latencies, gathered: Cells) -> Table:
    decade = np.floor(np.log10(np.maximum(latencies.value_ns, 1.0))).astype(int)
    decades = range(int(decade.min()), int(decade.max()) + 1)
    column = latencies.interval // gathered.intervals_per_column
    rows = []
    for i, (start, end) in enumerate(zip(gathered.edges_s[:-1], gathered.edges_s[1:], strict=True)):
        mine = column == i
        value, count = latencies.value_ns[mine], latencies.count[mine]
        in_decades = (int(count[decade[mine] == power].sum()) for power in decades)
        slowest = float((value + latencies.width_ns[mine] / 2).max()) if len(value) else None
        percentiles = (format_ns(quantile_ns(value, count, q)) for q in _LINES.values())
        rows.append((span_s(start, end), *percentiles, _at_most(slowest), *(f"{n:,}" for n in in_decades)))
    heads = (f"{format_ns(10.0**power)} to {format_ns(10.0 ** (power + 1))}" for power in decades)
    return Table(("Interval", "p50", "p99", "Slowest", *heads), tuple(rows))


def _at_most(value_ns: float | None) -> str:
    return ABSENT if value_ns is None else f"≤ {format_ns(value_ns)}"


def _sentence(parts: Iterator[str]) -> str:
    return "; ".join(parts) + "."


def _slug(text: str) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in text.lower())
    return "-".join(plain.split()[:8]) or "result"
