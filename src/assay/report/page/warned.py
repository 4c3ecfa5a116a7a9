"""List warnings and notes: each kind of finding once, linked with its results."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.analysis.findings import NOTE, SEVERITIES
from assay.analysis.rounds_window import in_window
from assay.outward import markup
from assay.report.page.anchors import Places, severity_class, warning_anchor
from assay.results import Document, Finding

_MOST_TEXTS = 4
"""Most texts of one kind of finding that are listed; the card of a result has its own."""


@dataclass
class _Kind:
    id: str
    severity: str
    cure: str
    texts: dict[str, list[int]] = field(default_factory=dict)
    """Places of results by the text about them; none for the whole run."""

    def results(self) -> list[int]:
        return sorted({i for where in self.texts.values() for i in where})


def warnings(document: Document, places: Places) -> str:
    """List all findings above a note, the gravest first, then the notes of the whole run, folded."""
    listed_ids: set[str] = set()
    listed = ""
    for kind in _kinds(document):
        listed += _listed(kind, places, is_target=kind.id not in listed_ids)
        listed_ids.add(kind.id)
    notes = _notes(document.findings)
    shown = f'<ul class="findings kinds">{listed}</ul>' if listed else '<p class="good">No warnings.</p>'
    return f'<section aria-labelledby="warnings"><h2 id="warnings">Warnings</h2>{shown}{notes}</section>'


def _kinds(document: Document) -> list[_Kind]:
    """Group findings by id, severity and cure: one id has a cure for each of its causes."""
    found: dict[tuple[str, str, str], _Kind] = {}
    is_used = in_window(document)
    parts: list[tuple[Finding, int | None]] = [(finding, None) for finding in document.findings]
    parts += [
        (finding, i) for i, result in enumerate(document.results) if is_used(result) for finding in result.findings
    ]
    for finding, i in sorted(parts, key=lambda pair: SEVERITIES.index(pair[0].severity)):
        if finding.severity != NOTE:
            key = (finding.id, finding.severity, finding.cure)
            kind = found.setdefault(key, _Kind(*key))
            kind.texts.setdefault(finding.text, []).extend([] if i is None else [i])
    return list(found.values())


def _listed(kind: _Kind, places: Places, *, is_target: bool) -> str:
    """Print one kind; links to an id lead to the first of its kinds."""
    concerned = kind.results()
    where = places.links(concerned) if concerned else "the whole run"
    parts = sorted(kind.texts.items(), key=lambda pair: -len(pair[1]))
    shown = 1 if places.tests else _MOST_TEXTS
    texts = [_text(text, rows, places, alone=len(parts) == 1 or bool(places.tests)) for text, rows in parts[:shown]]
    if len(parts) > shown:
        others = "".join(_text(text, rows, places, alone=False) for text, rows in parts[shown : 10 * _MOST_TEXTS])
        left = len(parts) - 10 * _MOST_TEXTS
        more = f'<p class="muted">{left} more: assay explain lists them.</p>' if left > 0 else ""
        words = f"Other results: {len(parts) - shown} similar texts"
        texts.append(f"<details><summary>{words}</summary>{others}{more}</details>")
    cure = f'<p class="muted">→ {markup(kind.cure)}</p>' if kind.cure else ""
    target = f' id="{warning_anchor(kind.id)}"' if is_target else ""
    return (
        f'<li{target}><p><span class="{severity_class(kind.severity)}">{markup(kind.severity)}</span>'
        f" <code>{markup(kind.id)}</code> · {where}</p>{''.join(texts)}{cure}</li>"
    )


def _text(text: str, rows: Sequence[int], places: Places, *, alone: bool) -> str:
    prefix = "" if alone or not rows else f'<span class="muted">{places.links(rows)}:</span> '
    return f"<p>{prefix}{markup(text)}</p>"


def _notes(found: Sequence[Finding]) -> str:
    notes = "".join(finding_item(finding, linked=False) for finding in found if finding.severity == NOTE)
    count = sum(finding.severity == NOTE for finding in found)
    if not notes:
        return ""
    words = "1 note" if count == 1 else f"{count} notes"
    return f'<details><summary>{words} on the whole run</summary><ul class="findings">{notes}</ul></details>'


def finding_item(finding: Finding, *, linked: bool) -> str:
    """Format one finding; `linked` links to its entry for all results."""
    cure = f' <span class="muted">{markup(finding.cure)}</span>' if finding.cure else ""
    name = f"<code>{markup(finding.id)}</code>"
    if linked and finding.severity != NOTE:
        name = f'<a href="#{warning_anchor(finding.id)}">{name}</a>'
    return (
        f'<li><span class="{severity_class(finding.severity)}">{markup(finding.severity)}</span> {name}:'
        f" {markup(finding.text)}{cure}</li>"
    )
