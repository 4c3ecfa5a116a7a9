"""Summarise a run: a paragraph per row, findings on the run, and where to find more."""

from rich.text import Text

from assay.analysis.device_health import health_of_devices
from assay.analysis.record import RunRecord
from assay.report.expected_words import expectation_words
from assay.report.explain.finding_story import finding_ids
from assay.report.explain.paragraphs import paragraph
from assay.report.numbers import rate_words
from assay.report.titles import titles_of
from assay.results import Document, Result


def run_story(document: Document, run: RunRecord, width: int) -> list[Text]:
    """Summarise a run; `run` is what its results were worked out from."""
    lines = paragraph("run", [document.run.id, document.run.command], width)
    for device in health_of_devices(run):
        lines += paragraph("device", [device.in_words()], width)
    lines += paragraph("expected", map(expectation_words, document.expectations), width)
    for finding in document.findings:
        lines += [Text(), *paragraph("", [f"{finding.severity} {finding.id}: {finding.text}"], width)]
    lines.append(Text())
    titles = titles_of(document.results)
    for row, (title, result) in enumerate(zip(titles, document.results, strict=True), start=1):
        lines += paragraph(f"row {row}", [f"{title}: {_in_short(result)}"], width)
    if not document.results:
        lines += paragraph("", ["Nothing was measured."], width)
    ids = finding_ids(document)
    further = [f"assay explain {document.run.id} ROW|ID explains a row (number or label) or a finding (id)"]
    further += [f"findings: {', '.join(ids)}"] if ids else []
    return [*lines, Text(), *paragraph("further", further, width)]


def _in_short(result: Result) -> str:
    """Format rate and interval, what served it, what limited it, and trust with the first reason."""
    parts = [rate_words(result), f"served by {result.measures.words}"]
    if result.limiter is not None:
        parts.append(f"limited by {result.limiter.verdict.words}")
    first = f" ({result.trust.reasons[0].text})" if result.trust.reasons else ""
    parts.append(f"trusted: {result.trust.level.value}{first}")
    return ", ".join(parts)
