"""What was asked about: a row, a finding or the whole run?"""

import re

from rich.text import Text

from assay.analysis.record import RunRecord
from assay.analysis.threshold_table import threshold_table
from assay.errors import InputError
from assay.report.explain.finding_story import finding_ids, finding_story
from assay.report.explain.paragraphs import paragraph
from assay.report.explain.row_story import row_story
from assay.report.explain.run_story import run_story
from assay.results import Document

_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


def story(document: Document, run: RunRecord, about: str | None, width: int) -> list[Text]:
    """Tell what was asked about; raises InputError with what there is."""
    if about is None:
        return run_story(document, width)
    if _NUMBER.fullmatch(about):
        count = len(document.results)
        if not 1 <= int(about) <= count:
            there = f"it has rows 1 to {count}" if count else "nothing was measured"
            raise InputError(f"run {document.run.id} has no row {about}: {there}")
        return row_story(document, run, int(about), width)
    labels = [result.label for result in document.results]
    if about in labels:
        return row_story(document, run, labels.index(about) + 1, width)
    ids = finding_ids(document)
    if about not in ids:
        what, known = ("row", labels) if "/" in about else ("finding", list(ids))
        raise InputError(f"run {document.run.id} has no {what} '{about}'; it has: {', '.join(known) or 'none'}")
    return finding_story(document, about, width)


def thresholds_story(width: int) -> list[Text]:
    """Give every threshold with its value and its meaning."""
    lines = []
    for threshold in threshold_table():
        lines += [Text(f"{threshold.name} = {threshold.value:g}", style="bold")]
        lines += paragraph("", [threshold.meaning], width)
    return lines
