"""Write the top of the page: what was measured, the answer, and how the run was made."""

import re

from assay import events
from assay.analysis.record import RunRecord
from assay.outward import markup
from assay.report.answer import answer
from assay.report.over_repeats import shown_results
from assay.report.page.anchors import Places
from assay.report.verdict import is_usable
from assay.results import Document

_ROWS = re.compile(
    r"\brows? [0-9]+(?:-[0-9]+)?(?:, [0-9]+(?:-[0-9]+)?)*|\([0-9]+(?:-[0-9]+)?(?:, [0-9]+(?:-[0-9]+)?)*\)"
)
"""Rows as the answer names them: `rows 1-3, 5`, `(4)`."""
_SECTIONS = {
    "warnings": "Warnings",
    "overview": "Overview",
    "summary": "Summary",
    "results": "Results",
    "environment": "Environment",
}


def header(run: RunRecord, document: Document, places: Places) -> str:
    """Format the header."""
    text = document.run
    where = ", ".join(str(run.target_fact(target.name, "directory") or target.uri) for target in run.plan.targets)
    lines = [f"<h1>{markup(run.plan.name)} on {markup(where)}</h1>", _verdict(run, document, places)]
    lines[1:1] = [f"<p>{markup(asked)}</p>" for asked in _asked(run)]
    if not run.is_sealed:
        lines.append('<p class="bad">This run did not come to its end. What was measured up to then is shown.</p>')
    lines += [f'<p class="bad">{markup(_error_words(e))}</p>' for e in run.all(events.Error)]
    if run.remarks.name or run.remarks.tags:
        tags = " ".join(f"<code>{markup(tag)}</code>" for tag in run.remarks.tags)
        lines.append(f"<p>{markup(run.remarks.name or '')} {tags}</p>")
    if run.remarks.note:
        lines.append(f"<p>Note of the operator: {markup(run.remarks.note)}</p>")
    lines.append(
        f'<p class="muted"><code>{markup(text.command)}</code> · run <code>{markup(text.id)}</code>, started'
        f" {markup(text.started_utc)}, {text.seconds:.0f} s, exit code {text.exit_code},"
        f" Assay {markup(run.info.assay_version)}. Bundle: <code>{markup(text.bundle)}</code></p>"
    )
    named = {"clients": "Clients", **_SECTIONS} if document.clients else _SECTIONS
    links = " · ".join(f'<a href="#{ident}">{words}</a>' for ident, words in named.items())
    return f'<header>{"".join(lines)}<nav aria-label="Sections">{links}</nav></header><main>'


def _asked(run: RunRecord) -> list[str]:
    """Format the question that the load answers, and what makes the answer void."""
    parts = (("Question: ", run.plan.answers), ("Void if: ", run.plan.void_if))
    return [word + text for word, text in parts if text]


def _verdict(run: RunRecord, document: Document, places: Places) -> str:
    """Give the answer, a sentence a line, its rows linked."""
    results = shown_results(document)
    trusted = sum(result.trusted for result in results)
    weak = sum(is_usable(result) and not result.trusted for result in results)
    counted = f"{trusted} of {len(results):,} results are to be trusted" + (f", {weak:,} are weak" if weak else "")
    colour = "good" if trusted == len(results) else "warn" if trusted + weak == len(results) else "bad"
    lines = answer(document, run.plan.name, columns=None)
    is_counted = lines and lines[0].startswith(f"{len(results):,} results: ")
    text = "".join(f"<p>{_linked(markup(line), places)}</p>" for line in lines[1 if is_counted else 0 :])
    return f'<div class="verdict"><p class="{colour}">{counted}.</p>{text}</div>'


def _linked(escaped: str, places: Places) -> str:
    """Link numbers of rows; the text is escaped already, and every number in a match is one."""

    def link(found: re.Match[str]) -> str:
        return re.sub(r"[0-9]+", lambda n: f'<a href="#{places.of(int(n[0]) - 1)}">{n[0]}</a>', found[0])

    return _ROWS.sub(link, escaped)


def _error_words(error: events.Error) -> str:
    return f"Error: {error.text}" + (f" ({error.path})" if error.path else "")
