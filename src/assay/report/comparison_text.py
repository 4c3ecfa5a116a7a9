"""Format a comparison for the terminal, and as Markdown."""

from collections.abc import Iterator, Sequence

from assay.analysis.difference import Difference
from assay.compare.arms import P99
from assay.compare.comparison import Against, Comparison, Row, Side
from assay.compare.gate import Gated, GateState
from assay.compare.surfaces.survey import rows_apart
from assay.compare.turns import half_width
from assay.report.surface_text import surface_lines
from assay.units import ABSENT, MIB, format_ns, format_number, format_percent, format_seconds
from assay.verdicts import ComparisonVerdict

_MOST_DIFFERENCES = 12
_HEADINGS = ("result", "A", "B", "B / A", "95 %", "verdict")


def lines(comparison: Comparison, differences: Sequence[Sequence[Difference]], gated: Sequence[Gated]) -> Iterator[str]:
    """Write it out, a line a row.

    Args:
        comparison: What was compared.
        differences: Facts and fields of the Plan that differ, for each side that is held against the first.
        gated: What became of the gates.
    """
    for against, differ in zip(comparison.against, differences, strict=True):
        yield from _head(comparison, against)
        yield from _differ(differ)
        yield ""
        for surface in against.surfaces:
            yield from surface_lines(surface, comparison.effect)
            yield ""
        if rows_apart(against):
            yield from _table(rows_apart(against))
            yield ""
        yield from _row_lines(comparison, against)
        yield ""
    yield from _gates(gated)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    table = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(_HEADINGS))]
    for row in table:
        first, *middle, last = row
        cells = [f"{cell:>{width}}" for cell, width in zip(middle, widths[1:-1], strict=True)]
        yield "  ".join([f"{first:<{widths[0]}}", *cells, last]).rstrip()


def markdown(
    comparison: Comparison, differences: Sequence[Sequence[Difference]], gated: Sequence[Gated]
) -> Iterator[str]:
    """Write it as Markdown, as GitHub reads it."""
    for against, differ in zip(comparison.against, differences, strict=True):
        yield f"### {markdown_words(against.name)} against {markdown_words(comparison.a)}"
        yield ""
        for line in (*list(_head(comparison, against))[1:], *_differ(differ)):
            yield f"- {markdown_words(line.strip())}"
        yield ""
        for surface in against.surfaces:
            # Four blanks make a block of text as it is; nothing in it is markup.
            yield from (f"    {line}".rstrip() for line in surface_lines(surface, comparison.effect))
            yield ""
        if rows_apart(against):
            yield f"| {' | '.join(_HEADINGS)} |"
            yield "| --- | ---: | ---: | ---: | ---: | --- |"
            for row in rows_apart(against):
                yield f"| {' | '.join(map(markdown_words, _cells(row)))} |"
            yield ""
        for line in _row_lines(comparison, against):
            yield f"- {markdown_words(line)}"
        yield ""
    for gate in gated:
        yield f"- **{gate.state}**: `{gate.gate.text}`, {markdown_words(gate_words(gate))}"


def so_far_words(comparison: Comparison, rounds: int) -> list[str]:
    """Print the interval of each ratio after a round: a single one on the line of the round."""
    parts = []
    for place, against in enumerate(comparison.against, start=1):
        rates = [row for row in against.rows if row.metric != P99.name]
        side = f"{chr(ord('A') + place)} / A, " if len(comparison.against) > 1 else ""
        parts += [side + _ratio_words(row) for row in rates] or [f"{side}nothing to compare"]
    begin = f"round {rounds}:"
    return [f"{begin} {parts[0]}"] if len(parts) == 1 else [begin, *(f"  {line}" for line in parts)]


def _ratio_words(row: Row) -> str:
    """Format `random read, iops: 0.901 (0.882 to 0.921, ± 2.2 %)`."""
    of = f"{row.title}, {row.metric}"
    if row.ratio is None:
        return f"{of}: {row.verdict.words}, {row.reason}"
    half = half_width(row)
    if row.interval is None or half is None:
        return f"{of}: {row.ratio:.3f}, no interval yet"
    return f"{of}: {row.ratio:.3f} ({row.interval[0]:.3f} to {row.interval[1]:.3f}, ± {format_percent(half)} %)"


def markdown_words(text: str) -> str:
    """Words that Markdown and HTML take for words."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return text


def _head(comparison: Comparison, against: Against) -> Iterator[str]:
    yield f"B is {against.name}, A is {comparison.a}"
    yield f"runs     A {len(comparison.runs[comparison.a])}, B {len(comparison.runs[against.name])}"
    if words := clients_text(comparison, against):
        yield f"clients  {words}"
    if against.foreign:
        yield f"foreign  {foreign_text(against)}"
    if not against.order_known:
        yield "order    not known: what changed between the runs may be in every ratio"
    elif is_in_blocks(against):
        yield f"order    {IN_BLOCKS}"
    if words := together_words(comparison):
        yield f"tested   {words}"
    pairs = max((row.pairs for row in against.rows), default=0)
    if pairs:
        yield f"order    in turns: each run is held against the other of its round, {pairs} pairs"


def together_words(comparison: Comparison) -> str:
    """Describe which rows were tested together; empty where there is only one."""
    apart = "" if comparison.headline is None else f"; {comparison.headline} apart from them"
    if comparison.tested_together + bool(apart) < 2:
        return ""
    return (
        f"{comparison.tested_together} rows together: at most 5 % of those called better or worse are expected to be chance"
        f" (Benjamini-Hochberg){apart}"
    )


def clients_text(comparison: Comparison, against: Against) -> str:
    """Print the number of clients, and what is omitted; nothing for single clients."""
    if not comparison.clients:
        return ""
    numbers = [
        " or ".join(f"{count:,}" for count in comparison.clients.get(name, (1,)))
        for name in (comparison.a, against.name)
    ]
    left = f"; {comparison.own_left_out:,} results of single clients are left out" if comparison.own_left_out else ""
    return f"A {numbers[0]}, B {numbers[1]}: their sums are compared{left}"


def more_runs_words(against: Against) -> str:
    """Print how to get more runs."""
    return "import three results of each side" if against.foreign else "--repeat 5 measures five"


def foreign_text(against: Against) -> str:
    """Print which sides another tool measured, and what follows."""
    sides = " and ".join(against.foreign)
    text = f"{sides}: not measured by Assay; what served these results, and what disturbed them, is not known"
    if len(against.foreign) > 1:
        return text
    return (
        f"{text}. The other side's are Assay's rates, of writes with the closing flush, and not what a classic tool prints:"
        " 'assay show RUN --classic', imported, has those"
    )


IN_BLOCKS = "one side ran before the other: what changed in between is in every ratio"


def is_in_blocks(against: Against) -> bool:
    """Whether time is in every ratio, because the sides did not take turns."""
    return against.order_known and not against.in_turn and any(row.interval for row in against.rows)


def _differ(differences: Sequence[Difference]) -> Iterator[str]:
    for difference in differences[:_MOST_DIFFERENCES]:
        yield f"differs  {difference.key}: {difference.before} | {difference.after}"
    if len(differences) > _MOST_DIFFERENCES:
        yield f"differs  {len(differences) - _MOST_DIFFERENCES} more: assay diff A B"


def _cells(row: Row) -> tuple[str, ...]:
    ends = row.interval or row.range
    between = f"{ends[0]:.3f} to {ends[1]:.3f}" if ends else ABSENT
    words = row.verdict.words + (f": {row.reason}" if row.reason else "")
    left_out = [*row.a.left_out, *row.b.left_out]
    if left_out:
        words += f" (left out, not trusted: {', '.join(left_out)})"
    return (
        f"{row.title}, {row.metric}",
        _value(row, row.a),
        _value(row, row.b),
        ABSENT if row.ratio is None else f"{row.ratio:.3f}",
        between if row.interval else f"({between})" if row.range else ABSENT,
        words,
    )


def _value(row: Row, side: Side) -> str:
    return ABSENT if side.median is None else f"{value_text(side.median, row.unit)} ({len(side.values)})"


def value_text(value: float, unit: str) -> str:
    """Print a number that was compared."""
    match unit:
        case "ns":
            return format_ns(value)
        case "B/s":
            return f"{format_number(value / MIB)} MiB/s"
        case "s":
            return format_seconds(value)
        case _:
            return f"{format_number(value)} {unit}"


def _row_lines(comparison: Comparison, against: Against) -> Iterator[str]:
    """The answer in words."""
    yield from mean_text(against)
    for verdict in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE):
        rows = [row for row in rows_apart(against) if row.verdict is verdict]
        if rows:
            names = ", ".join(f"{row.title}, {row.metric}" for row in rows)
            yield f"B is {verdict.words} by more than {100 * comparison.effect:g} % in {len(rows)}: {names}."
    for row in against.rows:
        for letter, side in (("A", row.a), ("B", row.b)):
            yield from (f"{letter}, {row.title}: {remark}." for remark in side.remarks)
    if any(row.verdict is ComparisonVerdict.INDICATIVE for row in against.rows):
        yield f"No winner: an interval takes three runs of each; {more_runs_words(against)}."
    yield from caveats(against)


def mean_text(against: Against) -> Iterator[str]:
    """Print the geometric mean of the ratios of rates."""
    if against.geometric_mean is not None and against.geometric_mean_of > 1:
        ends = against.geometric_mean_interval
        between = "" if ends is None else f" ({ends[0]:.3f} to {ends[1]:.3f}, by how runs differ)"
        yield f"Geometric mean of {against.geometric_mean_of} ratios of rates: {against.geometric_mean:.3f}{between}."


def caveats(against: Against) -> Iterator[str]:
    """Print what drifted, and results that only one side has."""
    for drift in against.drifts:
        yield f"The machine drifted: {drift.label} changed by {100 * drift.change:+.1f} % over all runs, whatever ran."
    if against.missing:
        yield f"Only one side has {', '.join(against.missing)}."


def _gates(gated: Sequence[Gated]) -> Iterator[str]:
    for gate in gated:
        yield f"gate {gate.state:<9}  {gate.gate.text}: {gate_words(gate)}"
    if gated and any(gate.state is GateState.UNDECIDED for gate in gated):
        yield "An undecided gate is not shown to hold, and fails unless --allow-undecided is given."


def gate_words(gate: Gated) -> str:
    """Print the bound of a gate."""
    row = gate.row
    of = f"{row.title}, {row.metric}"
    ratio = "" if row.ratio is None else f" is {row.ratio:.3f} times"
    ends = f" ({row.interval[0]:.3f} to {row.interval[1]:.3f})" if row.interval else ""
    return f"{of}{ratio}{ends}" + (f", {gate.why}" if gate.why else "")
