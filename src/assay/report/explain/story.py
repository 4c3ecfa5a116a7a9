"""What was asked about: a row, a finding or the whole run?"""

import re

from rich.text import Text

from assay.analysis.client_records import client_alone
from assay.analysis.record import RunRecord
from assay.analysis.set_views import of_client, sums_of
from assay.analysis.threshold_table import threshold_table
from assay.errors import InputError
from assay.report.clients.client_words import spread_words, straggler_words
from assay.report.clients.told_sums import told_sums
from assay.report.explain.extrapolated import USUAL_CLIENTS
from assay.report.explain.finding_story import finding_ids, finding_story
from assay.report.explain.paragraphs import paragraph
from assay.report.explain.row_story import row_story
from assay.report.explain.run_story import run_story
from assay.results import Document, Result

_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


def story(
    document: Document, run: RunRecord, about: str | None, width: int, *, clients: int = USUAL_CLIENTS
) -> list[Text]:
    """Tell what was asked about; raises InputError with what there is.

    Args:
        document: The results of the run.
        run: What they were worked out from.
        about: A row by number or label, or the id of a finding; None: the run in short.
        width: Of the terminal.
        clients: How many the needs of a row are worked out for.
    """
    if about is None:
        return run_story(sums_of(document), width)
    if _NUMBER.fullmatch(about):
        count = len(sums_of(document).results)
        if not 1 <= int(about) <= count:
            there = f"it has rows 1 to {count}" if count else "nothing was measured"
            there += "; a client's own have labels, and numbers with --client NAME" if document.clients else ""
            raise InputError(f"run {document.run.id} has no row {about}: {there}")
        return _row(document, run, int(about), width, clients)
    labels = [result.label for result in document.results]
    if about in labels:
        return _row(document, run, labels.index(about) + 1, width, clients)
    ids = finding_ids(document)
    if about not in ids:
        of_sums = [result.label for result in sums_of(document).results]
        what, known = ("row", of_sums) if "/" in about else ("finding", list(ids))
        raise InputError(f"run {document.run.id} has no {what} '{about}'; it has: {', '.join(known) or 'none'}")
    return _finding(document, about, width)


def _row(document: Document, run: RunRecord, row: int, width: int, clients: int) -> list[Text]:
    """Tell of a sum among the sums, and of a client's own result among its others, by its own record."""
    result = document.results[row - 1]
    if result.client is None or not document.clients:
        shown = sums_of(document)
    else:
        shown, run = client_alone(document, run, result.client)
    told = row_story(shown, run, shown.results.index(result) + 1, width, clients=clients)
    return [*told, *_of_clients(document, result, width)]


def _finding(document: Document, about: str, width: int) -> list[Text]:
    """Tell of a finding of the sums; of one that only clients have by what the first of them has."""
    sums = sums_of(document)
    if about in finding_ids(sums):
        return finding_story(sums, about, width)
    having = dict.fromkeys(
        result.client
        for result in document.results
        if result.client is not None and any(finding.id == about for finding in result.findings)
    )
    first, *others = having
    more = f", and {len(others):,} others have the like" if others else ""
    said = f"no sum has it; this is of client {first}{more}: assay explain {document.run.id} {about} --client NAME"
    return [*finding_story(of_client(document, first), about, width), Text(), *paragraph("clients", [said], width)]


def _of_clients(document: Document, result: Result, width: int) -> list[Text]:
    """Say what a sum is made of, or whose a client's own result is."""
    if result.client is not None:
        return [
            *paragraph("client", [f"this is what {result.client} did alone of run {document.run.id}"], width),
            Text(),
        ]
    told = next((told for told in told_sums(document) if told.result.label == result.label), None)
    if told is None:
        return []
    said = [spread_words(told), *filter(None, [straggler_words(told)])]
    first = told.slowest_first[:1]
    said += [f"assay explain {document.run.id} '{rate.label}' tells of the slowest" for rate in first]
    return [*paragraph("clients", said, width), Text()]


def thresholds_story(width: int) -> list[Text]:
    """Give every threshold with its value and its meaning."""
    lines = []
    for threshold in threshold_table():
        lines += [Text(f"{threshold.name} = {threshold.value:g}", style="bold")]
        lines += paragraph("", [threshold.meaning], width)
    return lines
