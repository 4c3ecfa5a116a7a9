"""Explain one finding: its meaning, the rows, and the cure."""

from rich.text import Text

from assay.analysis.finding_pages import page_of
from assay.analysis.threshold_table import named
from assay.report.explain.paragraphs import paragraph
from assay.report.numbers import headline, rate
from assay.report.titles import titles_of
from assay.results import Document, Finding
from assay.units import format_percent


def finding_ids(document: Document) -> tuple[str, ...]:
    """Name the findings of a run, each once: those of the run first, then row by row."""
    of_rows = (finding.id for result in document.results for finding in result.findings)
    return tuple(dict.fromkeys([*(finding.id for finding in document.findings), *of_rows]))


def finding_story(document: Document, id_: str, width: int) -> list[Text]:
    """Explain a finding, with each row that has it."""
    page = page_of(id_)
    struck = [*document.findings, *(finding for result in document.results for finding in result.findings)]
    cures = dict.fromkeys(finding.cure for finding in struck if finding.id == id_ and finding.cure)
    parts = [
        paragraph("finding", [id_, page.meaning if page else "This version has no page about it."], width),
        *(paragraph("run", [_cause(finding)], width) for finding in document.findings if finding.id == id_),
    ]
    titles = titles_of(document.results)
    for row, (title, result) in enumerate(zip(titles, document.results, strict=True), start=1):
        for finding in result.findings:
            if finding.id == id_:
                number = rate(*headline(result))
                parts.append(paragraph(f"row {row}", [f"{title}: {number}", _cause(finding)], width))
    parts.append(paragraph("cure", cures or ([page.cure] if page else []), width))
    if page:
        table = [f"{one.name} = {one.value:g}: {one.meaning}" for one in named(page.turns_on)]
        parts.append(paragraph("threshold", table, width))
    return [line for lines in parts if lines for line in (*lines, Text())]


def _cause(finding: Finding) -> str:
    effect = f", effect {format_percent(finding.effect)} %" if finding.effect is not None else ""
    return f"{finding.severity}{effect}: {finding.text}"
