"""Explain a row, a finding or the whole run."""

import re
from collections.abc import Callable

from rich.text import Text

from assay.analysis.client_records import client_alone
from assay.analysis.finding_pages import current_id
from assay.analysis.record import RunRecord
from assay.analysis.set_views import of_client, sums_of
from assay.analysis.threshold_table import threshold_table
from assay.errors import InputError
from assay.report.clients.client_words import spread_words, straggler_words
from assay.report.clients.sum_rows import sum_rows
from assay.report.explain.earlier_runs import RatesByLabel
from assay.report.explain.extrapolated import USUAL_CLIENTS
from assay.report.explain.finding_story import finding_ids, finding_story
from assay.report.explain.paragraphs import paragraph
from assay.report.explain.row_story import row_story
from assay.report.explain.run_story import run_story
from assay.results import Document, Result

_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


def story(
    document: Document,
    run: RunRecord,
    about: str | None,
    width: int,
    earlier: Callable[[], RatesByLabel] = dict,
    *,
    clients: int = USUAL_CLIENTS,
) -> list[Text]:
    """Explain what was asked for; raises InputError with the alternatives.

    Args:
        document: The results of the run.
        run: What they were computed from.
        about: Number or label of a row, id of a finding; None: the whole run.
        width: Of the terminal.
        earlier: Gives the rates of earlier runs of the same Plan; asked for a row alone.
        clients: How many the needs of a row are worked out for.
    """
    if about is None:
        return run_story(sums_of(document), run, width)
    if _NUMBER.fullmatch(about):
        count = len(sums_of(document).results)
        if not 1 <= int(about) <= count:
            there = f"it has rows 1 to {count}" if count else "nothing was measured"
            there += "; a client's own have labels, and numbers with --client NAME" if document.clients else ""
            raise InputError(f"run {document.run.id} has no row {about}: {there}")
        return _row(document, run, int(about), width, earlier(), clients=clients)
    labels = [result.label for result in document.results]
    if about in labels:
        return _row(document, run, labels.index(about) + 1, width, earlier(), clients=clients)
    ids = finding_ids(document)
    about = about if about in ids else current_id(about)
    if about not in ids:
        of_sums = [result.label for result in sums_of(document).results]
        what, known = ("row", of_sums) if "/" in about else ("finding", list(ids))
        raise InputError(f"run {document.run.id} has no {what} '{about}'; it has: {', '.join(known) or 'none'}")
    return _finding(document, about, width)


def _row(
    document: Document, run: RunRecord, row: int, width: int, earlier: RatesByLabel, *, clients: int
) -> list[Text]:
    """Explain a sum among the sums, or a client's own result from its own record."""
    result = document.results[row - 1]
    if result.client is None or not document.clients:
        shown = sums_of(document)
    else:
        shown, run = client_alone(document, run, result.client)
    paragraphs = row_story(
        shown, run, shown.results.index(result) + 1, width, earlier.get(result.label, ()), clients=clients
    )
    return [*paragraphs, *_of_clients(document, result, width)]


def _finding(document: Document, about: str, width: int) -> list[Text]:
    """Explain a finding of the sums; else that of the first client that has it."""
    sums = sums_of(document)
    if about in finding_ids(sums):
        return finding_story(sums, about, width)
    having = dict.fromkeys(
        result.client
        for result in document.results
        if result.client is not None and any(finding.id == about for finding in result.findings)
    )
    first, *others = having
    more = f" (and of {len(others):,} more)" if others else ""
    text = f"no sum has it; this is that of client {first}{more}: assay explain {document.run.id} {about} --client NAME"
    return [*finding_story(of_client(document, first), about, width), Text(), *paragraph("clients", [text], width)]


def _of_clients(document: Document, result: Result, width: int) -> list[Text]:
    """Describe the clients of a sum, or the client of a result."""
    if result.client is not None:
        return [
            *paragraph("client", [f"client {result.client} of run {document.run.id}, alone"], width),
            Text(),
        ]
    row = next((row for row in sum_rows(document) if row.result.label == result.label), None)
    if row is None:
        return []
    parts = [spread_words(row), *filter(None, [straggler_words(row)])]
    first = row.slowest_first[:1]
    parts += [f"assay explain {document.run.id} '{rate.label}' explains the slowest" for rate in first]
    return [*paragraph("clients", parts, width), Text()]


def thresholds_story(width: int) -> list[Text]:
    """Give every threshold with its value and its meaning."""
    lines = []
    for threshold in threshold_table():
        lines += [Text(f"{threshold.name} = {threshold.value:g}", style="bold")]
        lines += paragraph("", [threshold.meaning], width)
    return lines
