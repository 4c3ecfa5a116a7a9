"""Write a comparison as one HTML file: answer, differences, verdicts, figures, values, facts."""

from collections.abc import Sequence
from pathlib import Path

from assay.analysis.difference import Difference, diff_runs
from assay.compare.arms import began_utc
from assay.compare.comparison import Against, Comparison, Row
from assay.compare.gate import Gated
from assay.outward import markup
from assay.report.comparison import comparison_figures as figures
from assay.report.comparison.compared_runs import ComparedSide, shared_labels, title_of
from assay.report.comparison.comparison_words import answer_lines
from assay.report.comparison.value_tables import facts_table, values_table
from assay.report.comparison.verdict_tiles import tiles, verdict_text
from assay.report.comparison_text import (
    IN_BLOCKS,
    caveats,
    clients_text,
    foreign_text,
    gate_words,
    is_in_blocks,
    mean_text,
    together_words,
)
from assay.report.figure import Table
from assay.report.output import check_file, write_whole
from assay.report.page.drawn_figure import figure_markup
from assay.report.page.whole_page import whole_page
from assay.report.sections import facts_markup, table
from assay.results import Run
from assay.units import ABSENT

_MOST_SHOWN = 12
"""Differences that are not folded."""
_MOST_OPEN = 3
"""Results that are unfolded from the start."""
_MOST_COMMANDS = 3
_NO_RESULT = "No result is of all sides"
_UNDRAWN = "<p>Nothing was recorded over time.</p>"
_SECTIONS = {
    "differs": "What differs",
    "verdicts": "Verdicts",
    "overview": "Overview",
    "results": "Results",
    "values": "Values",
    "environment": "Environment",
}


def write_comparison(comparison: Comparison, sides: Sequence[ComparedSide], gated: Sequence[Gated], path: Path) -> Path:
    """Write a comparison to `path`, replacing a file of that name, and give the path.

    Raises:
        InputError: `path` is a directory, lies in a folder that does not exist, or inside a run bundle.
        RunError: the file cannot be written, or what draws is not there.
    """
    check_file(path)  # before the work, not after it
    return write_whole(path, comparison_page(comparison, sides, gated).encode())


def comparison_page(comparison: Comparison, sides: Sequence[ComparedSide], gated: Sequence[Gated] = ()) -> str:
    """Make the text of the page."""
    labels = figures.drawn_labels(sides)
    anchors = {label: f"result-{number + 1}" for number, label in enumerate(labels)}
    pairs = list(zip(comparison.against, sides[1:], strict=True))
    body = [
        _header(comparison, sides, gated),
        _differs(sides),
        *(_verdicts(against, sides[0], side, anchors, number) for number, (against, side) in enumerate(pairs)),
        _overview(comparison),
        _results(comparison, sides, labels, anchors),
        _values(comparison, sides),
        _environment(sides),
        "</main>",
    ]
    names = " and ".join(side.arm.name for side in sides[1:])
    return whole_page(f"{names} against {sides[0].arm.name} · Assay", body)


# -- the answer --------------------------------------------------------------------------------------------------------


def _header(comparison: Comparison, sides: Sequence[ComparedSide], gated: Sequence[Gated]) -> str:
    names = " and ".join(markup(side.name) for side in sides[1:])
    lines = [f"<h1>{names} against {markup(sides[0].name)}</h1>"]
    for against, side in zip(comparison.against, sides[1:], strict=True):
        parts = [*answer_lines(comparison, against, side.letter), *mean_text(against)]
        parts += [f"Tested: {tested}."] if (tested := together_words(comparison)) else []
        of_clients = clients_text(comparison, against)
        warned = [
            *([f"Clients: {of_clients}."] if of_clients else ()),
            *([f"{foreign_text(against)}."] if against.foreign else ()),
            *([f"{IN_BLOCKS[0].upper()}{IN_BLOCKS[1:]}."] if is_in_blocks(against) else ()),
            *caveats(against),
        ]
        lines.append(
            '<div class="verdict">'
            + (f"<p><strong>{markup(side.name)}</strong></p>" if len(sides) > 2 else "")
            + "".join(f"<p>{markup(line)}</p>" for line in parts)
            + "".join(f'<p class="warn">{markup(line)}</p>' for line in warned)
            + "</div>"
        )
    lines += [
        f"<p>Gate {gate.state}: <code>{markup(gate.gate.text)}</code>, {markup(gate_words(gate))}</p>" for gate in gated
    ]
    lines += [_of_side(side) for side in sides]
    links = " · ".join(f'<a href="#{ident}">{words}</a>' for ident, words in _SECTIONS.items())
    return f'<header>{"".join(lines)}<nav aria-label="Sections">{links}</nav></header><main>'


def _of_side(side: ComparedSide) -> str:
    """Describe a side: number of runs, dates, command lines."""
    parts = [document.run for document in side.arm.documents]
    commands = list(dict.fromkeys(run.command for run in parts))
    shown = ", ".join(f"<code>{markup(command)}</code>" for command in commands[:_MOST_COMMANDS])
    more = f" and {len(commands) - _MOST_COMMANDS} other command lines" if len(commands) > _MOST_COMMANDS else ""
    began = [began_utc(document) or "at an unknown time" for document in side.arm.documents]
    when = " to ".join(dict.fromkeys((began[0], began[-1])))
    return f'<p class="muted">{markup(side.name)}: {_runs(parts)}, started {markup(when)}. {shown}{more}</p>'


def _runs(parts: Sequence[Run]) -> str:
    repeats = {run.repeats for run in parts}
    words = "1 run" if len(parts) == 1 else f"{len(parts)} runs"
    each = "" if len(parts) == 1 else " each"
    return words if repeats == {1} else f"{words} of {' or '.join(map(str, sorted(repeats)))} repeats{each}"


# -- what differs ------------------------------------------------------------------------------------------------------


def _differs(sides: Sequence[ComparedSide]) -> str:
    a = sides[0].first
    parts = []
    for side in sides[1:]:
        if sides[0].arm.is_foreign or side.arm.is_foreign:
            parts.append(f"<p>Of A or {side.letter} nobody recorded what it was, nor on what machine.</p>")
            continue
        found = diff_runs(a.plan, a.sourced_facts, side.first.plan, side.first.sourced_facts)
        parts.append(_differences(found, side.letter))
    return (
        '<section aria-labelledby="differs"><h2 id="differs">What differs</h2>'
        f'<p class="muted">Of the first run of each side.</p>{"".join(parts)}</section>'
    )


def _differences(found: Sequence[Difference], letter: str) -> str:
    if not found:
        return f"<p>Nothing that is recorded differs between A and {letter}.</p>"

    def shown(some: Sequence[Difference]) -> str:
        rows = tuple((each.key, each.before, each.after) for each in some)
        return facts_markup(("Field or fact", "A", letter), rows, f"What differs between A and {letter}")

    if len(found) <= _MOST_SHOWN:
        return shown(found)
    words = f"{len(found) - _MOST_SHOWN} more that differ between A and {letter}"
    return f"{shown(found[:_MOST_SHOWN])}<details><summary>{words}</summary>{shown(found[_MOST_SHOWN:])}</details>"


# -- verdicts and pictures ---------------------------------------------------------------------------------------------


def _verdicts(against: Against, a: ComparedSide, b: ComparedSide, anchors: dict[str, str], number: int) -> str:
    ident = "verdicts" if number == 0 else f"verdicts-{b.letter.lower()}"
    return (
        f'<section aria-labelledby="{ident}"><h2 id="{ident}">Verdicts: {b.letter} / A</h2>'
        f"{tiles(against.rows, a, b, anchors)}</section>"
    )


def _overview(comparison: Comparison) -> str:
    drawn = "".join(figure_markup(figure) for figure in figures.ratio_figures(comparison))
    shown = drawn or "<p>No number has a ratio.</p>"
    return f'<section aria-labelledby="overview"><h2 id="overview">Overview</h2>{shown}</section>'


def _results(
    comparison: Comparison, sides: Sequence[ComparedSide], labels: Sequence[str], anchors: dict[str, str]
) -> str:
    parts = ['<section aria-labelledby="results"><h2 id="results">Results</h2>']
    if not labels:
        is_any = bool(shared_labels(sides))
        parts.append(f"<p>{'Nothing over time is recorded of what other tools did' if is_any else _NO_RESULT}.</p>")
    for number, label in enumerate(labels):
        shown = "".join(figure_markup(figure) for figure in figures.result_figures(sides, labels, number))
        text = "; ".join(
            f"{f'{side.letter}: ' if len(sides) > 2 else ''}{markup(row.metric)} {_factor(row)}, {verdict_text(row)}"
            for side, against in zip(sides[1:], comparison.against, strict=True)
            for row in against.rows
            if row.label == label
        )
        is_open = " open" if number < _MOST_OPEN else ""
        parts.append(
            f'<details class="card" id="{anchors[label]}"{is_open}><summary><h3>{number + 1}. '
            f'{markup(title_of(sides, label))}</h3> <span class="brief">{text}</span></summary>'
            f'<p class="where">{markup(label)}</p><div class="figures">{shown or _UNDRAWN}</div></details>'
        )
    left = len(shared_labels(sides)) - len(labels)
    if left > 0:
        parts.append(f'<p class="muted">{left} more results have no figures here; their values are below.</p>')
    return "".join((*parts, "</section>"))


def _factor(row: Row) -> str:
    return "no ratio" if row.ratio is None else f"{row.ratio:.3f}"


# -- values and facts --------------------------------------------------------------------------------------------------


def _values(comparison: Comparison, sides: Sequence[ComparedSide]) -> str:
    shown, left = values_table(comparison, sides)
    more = (
        f'<p class="muted">{left:,} more rows: <code>--xlsx</code> and <code>--json</code> have all.</p>'
        if left
        else ""
    )
    return (
        '<section aria-labelledby="values"><h2 id="values">Values of every run</h2>'
        f"{table(shown, 'Values of every run', words=(0, 1, 2, 10))}{more}</section>"
    )


def _environment(sides: Sequence[ComparedSide]) -> str:
    facts, runs = facts_table(sides), _run_table(sides)
    return (
        '<section aria-labelledby="environment"><h2 id="environment">Environment</h2>'
        f"<details><summary>{len(facts.rows)} facts of the first run of each side, those that differ first</summary>"
        f"{facts_markup(facts.columns, facts.rows, 'Facts of each side')}</details>"
        f"<details><summary>{len(runs.rows)} runs with their bundles</summary>"
        f"{facts_markup(runs.columns, runs.rows, 'Runs of each side')}</details></section>"
    )


def _run_table(sides: Sequence[ComparedSide]) -> Table:
    rows = [
        (
            side.letter,
            document.run.id,
            began_utc(document) or ABSENT,
            ABSENT if document.run.seconds is None else f"{document.run.seconds:.0f} s",
            str(document.run.exit_code),
            document.run.command,
            document.run.bundle,
        )
        for side in sides
        for document in side.arm.documents
    ]
    return Table(("Side", "Run", "Started", "Took", "Exit code", "Command", "Bundle"), tuple(rows))
