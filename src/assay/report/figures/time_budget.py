"""Draw where the wall time of each result's workers went."""

from collections.abc import Iterator, Sequence

import msgspec

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, records
from assay.report.by_result import ROW_PX, row, rows, titles
from assay.report.figure import Figure, Table, sentence
from assay.report.titles import titles_of
from assay.results import Document, Result
from assay.units import format_share


def draw(document: Document) -> Iterator[Figure]:
    """Draw the time budget of every result."""
    named = [
        (title, result)
        for title, result in zip(titles_of(document.results), document.results, strict=True)
        if any(part is not None for part in msgspec.structs.astuple(result.time_budget))
    ]
    if not named:
        return
    texts = []
    for title, result in named:
        spent = result.time_budget
        parts = (spent.on_cpu, spent.run_delay, spent.block_delay, spent.idle, spent.other_wait)
        texts.append((title, *(format_share(part) for part in parts)))
    unsplit = any(result.time_budget.block_delay is None for _, result in named)
    yield Figure(
        slug="overview-time-budget",
        title="Where the workers' time went",
        caption="Mean over the workers of each result, in its window. A part of a loop has no time of its own."
        if len(named) < len(document.results)
        else "Mean over the workers of each result, in its window."
        + (" Where the kernel does not count block delay, it is part of the other waits." if unsplit else ""),
        alt_text="Where the workers' time went. "
        + sentence(
            f"{r[0]}: on CPU {r[1]}, waiting for a CPU {r[2]}, block I/O {r[3]}, idle {r[4]}, other {r[5]}"
            for r in texts
        ),
        chart=chart(named),
        table=Table(
            ("Result", "On CPU", "Waiting for a CPU", "Waiting for block I/O", "Idle", "Other waits"), tuple(texts)
        ),
    )


def chart(results: Sequence[tuple[str, Result]]) -> Layered:
    """Draw where the wall time of each result's workers went, as shares that fill the row."""
    bars = [segment for i, (_, result) in enumerate(results) for segment in _segments(i, result)]
    named = [row(i, result, title) for i, (title, result) in enumerate(results)]
    kinds = list(theme.BUDGET.values())
    colour = vl.Color(
        "kind:N",
        scale=vl.Scale(domain=[words for words, _, _ in kinds], range=[fill for _, fill, _ in kinds]),
        legend=vl.Legend(title=None, orient="top", direction="horizontal", columns=2, symbolType="square"),
    )
    x = vl.X(
        "start:Q",
        title="share of the workers' wall time",
        scale=vl.Scale(domain=[0, 1], nice=False),
        axis=vl.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=False),
    )
    base = vl.Chart(records(bars)).encode(y=rows(len(results)))
    drawn = base.mark_bar(height=16, yOffset=8).encode(x=x, x2="end:Q", color=colour)
    labelled = base.transform_filter("datum.end - datum.start >= 0.1").mark_text(dy=8, fontSize=10)
    percent = labelled.encode(
        x=vl.X("middle:Q"), text=vl.Text("share:Q", format=".0%"), color=vl.Color("ink:N", scale=None)
    )
    layers = [drawn, percent, titles(vl.Chart(records(named)), len(results))]
    return Layered(layers, ROW_PX * len(results), independent_colours=True)


def _segments(i: int, result: Result) -> Iterator[dict[str, object]]:
    at = 0.0
    for field, (words, _, ink) in theme.BUDGET.items():
        part = getattr(result.time_budget, field)
        if part:
            middle = at + part / 2
            yield {"row": i, "kind": words, "start": at, "end": at + part, "middle": middle, "share": part, "ink": ink}
            at += part
