"""Below the table of a run of several clients: what the sums are made of, in a few lines."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from assay.analysis.set_views import sums_of
from assay.outward import one_line
from assay.report.clients.client_words import (
    NO_SUM,
    clocks_words,
    lost_words,
    range_words,
    starts_words,
    straggler_words,
    who_words,
)
from assay.report.clients.collect_words import collect_words
from assay.report.clients.sum_rows import SumRow, sum_rows
from assay.report.row_numbers import where_words
from assay.report.wrapping import wrap
from assay.results import Document

_STYLE = "cyan"
_KEY_WIDTH = 9
_MOST_SUMS = 8


def clients_block(document: Document, width: int) -> list[Text]:
    """Print it; nothing where one client measured."""
    if not document.clients:
        return []
    lines = [Text(), *_entry("clients", who_words(document), width, style=_STYLE)]
    for text in lost_words(document):
        lines += _entry("lost", text, width, style="bold red")
    for text in collect_words(document):
        lines += _entry("", text, width)
    all_sums = sum_rows(document)
    sums = [row for row in all_sums if row.is_sum]
    shown = chosen(sums)
    for row in shown:
        repeat = f", repeat {row.result.repeat + 1}" if row.result.repeat else ""
        lines += _entry(f"row {row.row}", f"{range_words(row)}{repeat}", width)
        if text := straggler_words(row):
            lines += _entry("", text, width)
    if len(shown) < len(sums):
        lines += _entry("", f"and {len(sums) - len(shown):,} more sums", width)
    if apart := [row for row in all_sums if not row.is_sum]:
        lines += _entry("no sum", f"{_rows(document, apart)}: {NO_SUM}", width)
    for key, text in (("starts", starts_words(document)), ("clocks", clocks_words(document)), ("each", _how(document))):
        lines += _entry(key, text, width) if text else []
    return lines


def chosen(sums: Sequence[SumRow], most: int = _MOST_SUMS) -> list[SumRow]:
    """Choose sums, where they are very many: those with a straggler, then the least even, in the order of their rows."""
    ranked = sorted(range(len(sums)), key=lambda i: (sums[i].found.straggler is None, sums[i].found.jain or 0.0))
    return [sums[i] for i in sorted(ranked[:most])]


def _rows(document: Document, apart: Sequence[SumRow]) -> str:
    """Write the rows of the table, with their repeats, that sums are in."""
    labels = {text.result.label for text in apart}
    sums = sums_of(document)
    return where_words(sums, [row for row, result in enumerate(sums.results, start=1) if result.label in labels])


def _how(document: Document) -> str:
    return f"'assay show {document.run.id} --clients', --client NAME"


def _entry(key: str, text: str, width: int, *, style: str = "") -> Iterator[Text]:
    first, *others = wrap(one_line(text), width - _KEY_WIDTH)
    yield Text.assemble((f"{key:<{_KEY_WIDTH}}", style or "dim"), first)
    yield from (Text(" " * _KEY_WIDTH + line) for line in others)
