"""Write the parts of the page on how the run was made: marks, preparation, environment, Plan; and plain tables.

Every function escapes what it is given and returns HTML.
"""

import json
from collections.abc import Collection, Iterable, Sequence

import msgspec

from assay import events
from assay.analysis.device_health import health_of_devices
from assay.analysis.record import RunRecord
from assay.outward import json_text
from assay.outward import markup as escape
from assay.report import mark_words, share_words
from assay.report.figure import Table
from assay.results import Document
from assay.units import ABSENT, format_bytes

_LONGEST_PLAN_BYTES = 128 << 10


def marks(document: Document) -> str:
    """List the marks by the numbers that the figures show, with what was before, during and after each."""
    if not document.marks:
        return ""
    shown = facts_markup(mark_words.COLUMNS, mark_words.rows(document), "Marks")
    words = (
        "Levels are those of the whole intervals of each stretch, with half of the 95 % interval of the mean there. The rate"
        " is back at the first of ten samples in a row that are within the band."
    )
    return f'<section aria-labelledby="marks"><h2 id="marks">Marks</h2><p class="muted">{words}</p>{shown}</section>'


def solo_shares(document: Document) -> str:
    """List the share that each job kept of its rate alone while other jobs ran."""
    if not document.solo_shares:
        return ""
    shown = facts_markup(share_words.COLUMNS, map(share_words.row, document.solo_shares), "Share of the rate alone")
    return f'<section aria-labelledby="solo"><h2 id="solo">Concurrent jobs</h2>{shown}</section>'


def preparation(run: RunRecord) -> str:
    """List the steps between the phases, and whether each did what was asked."""
    rows = []
    for event in run.all(events.StepDone):
        phase = run.plan.phases[event.phase_index].name if event.phase_index < len(run.plan.phases) else ABSENT
        done = "yes" if event.achieved else "no"
        rows.append((phase, event.step, event.subject or "", done, f"{event.seconds:.2f} s", event.detail))
    if not rows:
        return ""
    shown = facts_markup(
        ("Phase", "Step", "Of", "Achieved", "Took", "How, or why not"), rows, "Steps between the phases"
    )
    return (
        '<section aria-labelledby="preparation"><h2 id="preparation">Preparation</h2>'
        f"<details><summary>{len(rows)} steps between the phases</summary>{shown}</details></section>"
    )


def environment(run: RunRecord) -> str:
    """Describe what disks showed, and list every recorded fact with its source, the engine's own words first."""
    health = "".join(f"<p>{escape(device.in_words())}</p>" for device in health_of_devices(run))
    rows = [(fact.key, fact_value(fact.value), fact.source) for fact in run.sourced_facts]
    for event in run.all(events.Hello):
        rows[:0] = [*_struct_rows("engine", event.engine), *_struct_rows("machine", event.machine)]
        rows += [*_struct_rows("clock", event.clock), *_struct_rows("capabilities", event.capabilities)]
    shown = facts_markup(("Fact", "Value", "Source"), rows, "Facts that can move the numbers")
    return (
        '<section aria-labelledby="environment"><h2 id="environment">Environment</h2>'
        f"{health}<details><summary>{len(rows)} facts with their sources</summary>{shown}</details></section>"
    )


def plan(run: RunRecord) -> str:
    """Give the resolved Plan; it can be run again."""
    encoded = run.plan.to_json()
    is_short = len(encoded) <= _LONGEST_PLAN_BYTES
    text = json_text(msgspec.json.format(encoded, indent=2).decode()) if is_short else ""
    shown = (
        f"<details><summary>The resolved plan, seed {run.plan.seed}</summary><pre>{escape(text)}</pre></details>"
        if is_short
        else f'<p class="muted">The resolved plan, seed {run.plan.seed}, has {format_bytes(len(encoded))}: it is'
        " <code>resolved.json</code> in the bundle.</p>"
    )
    missing = [(item.what, item.why) for item in run.plan.untranslated]
    lost = facts_markup(("Asked for", "Why it has no equal"), missing, "Not translated") if missing else ""
    return f'<section aria-labelledby="plan"><h2 id="plan">Plan</h2>{lost}{shown}</section></main>'


def table(shown: Table, title: str, *, words: Collection[int] = ()) -> str:
    """Give a table whose first column names the rows; columns of `words` are no numbers."""
    kinds = [' class="words"' if i in words else "" for i in range(len(shown.columns))]
    heads = "".join(
        f'<th scope="col"{kind}>{escape(column)}</th>' for kind, column in zip(kinds, shown.columns, strict=True)
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds[1:], row[1:], strict=True))
        + "</tr>"
        for row in shown.rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}"><table class="sortable">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def facts_markup(columns: Sequence[str], rows: Iterable[tuple[str, ...]], title: str) -> str:
    """Give a table of words."""
    return table(Table(tuple(columns), tuple(rows)), title).replace('class="sortable"', 'class="facts"', 1)


def _struct_rows(prefix: str, facts: events.StreamPart) -> list[tuple[str, str, str]]:
    return [
        (f"{prefix}.{key}", fact_value(value), "engine, at its start")
        for key, value in msgspec.structs.asdict(facts).items()
    ]


def fact_value(value: object) -> str:
    """Print the value of a fact."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(str(item) for item in value) or "none"
    return value if isinstance(value, str) else json.dumps(value)
