"""A comparison for people: on the terminal, and as Markdown for a page or a pull request."""

from collections.abc import Iterator, Sequence

from assay.analysis.difference import Difference
from assay.compare.comparison import Against, Comparison, Row, Side
from assay.compare.gate import Gated, GateState
from assay.units import ABSENT, MIB, format_ns, format_number, format_seconds
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
        table = [_HEADINGS, *(_cells(row) for row in against.rows)]
        widths = [max(len(row[i]) for row in table) for i in range(len(_HEADINGS))]
        for row in table:
            first, *middle, last = row
            cells = [f"{cell:>{width}}" for cell, width in zip(middle, widths[1:-1], strict=True)]
            yield "  ".join([f"{first:<{widths[0]}}", *cells, last]).rstrip()
        yield ""
        yield from _told(comparison, against)
        yield ""
    yield from _gates(gated)


def markdown(
    comparison: Comparison, differences: Sequence[Sequence[Difference]], gated: Sequence[Gated]
) -> Iterator[str]:
    """Write it as Markdown, as GitHub reads it."""
    for against, differ in zip(comparison.against, differences, strict=True):
        yield f"### {_cell(against.name)} against {_cell(comparison.a)}"
        yield ""
        for line in (*list(_head(comparison, against))[1:], *_differ(differ)):
            yield f"- {_cell(line.strip())}"
        yield ""
        yield f"| {' | '.join(_HEADINGS)} |"
        yield "| --- | ---: | ---: | ---: | ---: | --- |"
        for row in against.rows:
            yield f"| {' | '.join(map(_cell, _cells(row)))} |"
        yield ""
        for line in _told(comparison, against):
            yield f"- {_cell(line)}"
        yield ""
    for gate in gated:
        yield f"- **{gate.state}**: `{gate.gate.text}`, {_cell(_gate_words(gate))}"


def _cell(text: str) -> str:
    """Words that Markdown and HTML take for words."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return text


def _head(comparison: Comparison, against: Against) -> Iterator[str]:
    yield f"B is {against.name}, A is {comparison.a}"
    yield f"runs     A {len(comparison.runs[comparison.a])}, B {len(comparison.runs[against.name])}"
    if against.foreign:
        sides = " and ".join(against.foreign)
        yield f"foreign  {sides}: not measured by Assay; what the numbers are of, and what moved them, nobody judged"
    if not against.order_known:
        yield "order    not known: what changed between the runs may be in every ratio"
    elif not against.in_turn and any(row.interval for row in against.rows):
        yield "order    one side ran before the other: what changed in between is in every ratio"


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
        words += f" (left out, not to be trusted: {', '.join(left_out)})"
    return (
        f"{row.title}, {row.metric}",
        _value(row, row.a),
        _value(row, row.b),
        ABSENT if row.ratio is None else f"{row.ratio:.3f}",
        between if row.interval else f"({between})" if row.range else ABSENT,
        words,
    )


def _value(row: Row, side: Side) -> str:
    if side.median is None:
        return ABSENT
    of = f" ({len(side.values)})"
    match row.unit:
        case "ns":
            return format_ns(side.median) + of
        case "B/s":
            return f"{format_number(side.median / MIB)} MiB/s{of}"
        case "s":
            return format_seconds(side.median) + of
        case _:
            return f"{format_number(side.median)} {row.unit}{of}"


def _told(comparison: Comparison, against: Against) -> Iterator[str]:
    """The answer in words."""
    if against.geometric_mean is not None and against.geometric_mean_of > 1:
        yield f"Geometric mean of {against.geometric_mean_of} ratios of rates: {against.geometric_mean:.3f}."
    for verdict in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE):
        rows = [row for row in against.rows if row.verdict is verdict]
        if rows:
            names = ", ".join(f"{row.title}, {row.metric}" for row in rows)
            yield f"B is {verdict.words} by more than {100 * comparison.effect:g} % in {len(rows)}: {names}."
    if any(row.verdict is ComparisonVerdict.INDICATIVE for row in against.rows):
        yield "No winner: an interval takes three runs of each; --repeat 5 measures five."
    for drift in against.drifts:
        yield f"The machine drifted: {drift.label} changed by {100 * drift.change:+.1f} % over all runs, whatever ran."
    if against.missing:
        yield f"Only one side has {', '.join(against.missing)}."


def _gates(gated: Sequence[Gated]) -> Iterator[str]:
    for gate in gated:
        yield f"gate {gate.state:<8}  {gate.gate.text}: {_gate_words(gate)}"
    if gated and any(gate.state is GateState.OPEN for gate in gated):
        yield "An open gate is not shown to hold: --gate-strict makes it fail."


def _gate_words(gate: Gated) -> str:
    row = gate.row
    of = f"{row.title}, {row.metric}"
    ratio = "" if row.ratio is None else f" is {row.ratio:.3f} times"
    ends = f" ({row.interval[0]:.3f} to {row.interval[1]:.3f})" if row.interval else ""
    return f"{of}{ratio}{ends}" + (f", {gate.why}" if gate.why else "")
