"""Write a run as a workbook: a summary first, then all columns, intervals, findings and facts."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from assay.analysis.record import RunRecord
from assay.analysis.set_views import sums_of
from assay.report.clients.client_sheets import CLIENTS
from assay.report.limited_by import limit_words
from assay.report.numbers import headline, rate_interval, user_latency
from assay.report.sections import fact_value
from assay.report.spreadsheets import OVER_TIME, RESULTS, tables
from assay.report.titles import titles_of
from assay.report.verdict import trust_reasons, trust_words
from assay.report.workbook import Cell, Sheet, write_workbook
from assay.results import Document

_NS_PER_US = 1e3
_SUMMARY = (
    "Result", "Rate", "Unit", "95 % from", "95 % to", "p50, µs", "p99, µs", "Latency of", "A number of", "Cache",
    "Limited by", "Trust", "Why not",
)  # fmt: skip


def write_run_workbook(run: RunRecord, document: Document, path: Path) -> Path:
    """Write a run as an .xlsx, replacing a file of that name, and give its path; raises InputError and RunError."""
    return write_workbook(run_sheets(run, document), path)


def run_sheets(run: RunRecord, document: Document) -> list[Sheet]:
    """Give the sheets of a run."""
    frames, sums = tables(run, document), sums_of(document)
    return [
        Sheet("Summary", _SUMMARY, list(_summary(sums))),
        sheet_of("Results", frames[RESULTS]),
        sheet_of("Over time", frames[OVER_TIME]),
        Sheet("Findings", ("Result", "Severity", "Finding", "Text", "Cure"), list(_findings(sums))),
        *([sheet_of("Clients", frames[CLIENTS])] if CLIENTS in frames else []),
        Sheet(
            "Facts",
            ("Fact", "Value", "Source"),
            [(fact.key, fact_value(fact.value), fact.source) for fact in run.sourced_facts],
        ),
    ]


def sheet_of(name: str, frame: pl.DataFrame) -> Sheet:
    """Make a sheet of a table."""
    rows = [tuple(_yes_or_no(value) for value in row) for row in frame.iter_rows()]
    return Sheet(name, tuple(frame.columns), rows)


def _yes_or_no(value: Cell) -> Cell:
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _summary(document: Document) -> Iterator[tuple[Cell, ...]]:
    for title, result in zip(titles_of(document.results), document.results, strict=True):
        value, unit = headline(result)
        low, high = rate_interval(result) or (None, None)
        which, spread = user_latency(result)
        yield (
            title, value, unit.label, low, high, _us(spread.p50), _us(spread.p99),
            "response" if which == "response" else "operation", result.measures.words,
            f"{result.cache.condition.replace('_', ' ')}, {result.cache.verdict}", limit_words(result) or None,
            trust_words(result), trust_reasons(result) or None,
        )  # fmt: skip


def _us(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / _NS_PER_US


def _findings(document: Document) -> Iterator[tuple[Cell, ...]]:
    for finding in document.findings:
        yield ("the whole run", finding.severity, finding.id, finding.text, finding.cure)
    for title, result in zip(titles_of(document.results), document.results, strict=True):
        for finding in result.findings:
            yield (title, finding.severity, finding.id, finding.text, finding.cure)
