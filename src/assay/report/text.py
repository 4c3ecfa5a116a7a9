"""Print the report in a terminal: results, findings, where the run is kept, and last the answer in a few lines.

The table (terminal_table.py), of several clients that of their sums, and what these are made of; findings below it, each
once, with the rows that it applies to, and notes in a line; the answer (answer.py) is the last thing on the screen. Nothing
depends on colour: it repeats the words.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.text import Text

from assay.analysis.findings import INVALID, NOTE, SEVERITIES, WARNING, WEAK
from assay.analysis.rounds_window import in_window
from assay.analysis.set_views import sums_of
from assay.console import PlainConsole
from assay.outward import one_line
from assay.report import mark_words, share_words
from assay.report.answer import answer
from assay.report.clients.clients_block import clients_block
from assay.report.clients.sum_rows import clients_by_label
from assay.report.head import Head
from assay.report.numbers import OPS_PER_S
from assay.report.repeats_table import repeats_table
from assay.report.rounds_words import rounds_lines
from assay.report.row_numbers import where_words
from assay.report.terminal_table import table
from assay.report.wrapping import cut, wrap
from assay.results import DETECTED, Document, Finding

_STYLES = {INVALID: "bold red", WARNING: "yellow", WEAK: "magenta", NOTE: "cyan"}
_IN_A_PIPE_COLUMNS = 120
"""At which words are broken where no terminal has a width."""
_UNBROKEN_COLUMNS = 1_000_000
"""More than any sentence has."""
_MOST_SHOWN = 3
"""Sentences of one kind of finding that are printed."""
_MOST_RANGES = 6
"""Rows, or runs of them, that are named."""
_SHORTEST_NAMES = 20
"""Columns from which on notes are named."""


def render(
    document: Document,
    head: Head,
    console: PlainConsole,
    *,
    html: Path | None = None,
    has_notes: bool = False,
    has_repeats: bool = False,
) -> None:
    """Print a run.

    Args:
        document: Its results.
        head: What it was made of.
        console: Where to print; the width of a terminal decides the layout, and a pipe gets all columns.
        html: The HTML report, if one was written.
        has_notes: Whether notes are printed in full.
        has_repeats: Whether each repeat has its row, below those of all repeats.
    """
    document, width = sums_of(document), _width(console)
    lines = [*(_pair(key, value) for key, value in (*_called(document), *head.pairs)), Text()]
    columns = width if console.is_terminal else None
    if document.summaries:
        lines += repeats_table(document, columns)
        lines += rounds_lines(document, width)
    if has_repeats or not document.summaries:
        lines += [
            *([Text()] if document.summaries else []),
            *table(document.results, columns, clients_by_label(document)),
        ]
    lines += clients_block(document, width)
    lines += _findings(document, width, has_notes=has_notes)
    lines += _shares(document, width)
    lines += _marks(document, width)
    lines += _footer(document, html)
    lines += _answer(document, head, width)
    _print(console, lines)


def render_answer(document: Document, head: Head, console: PlainConsole) -> None:
    """Print the answer alone: for a pipe, whose reader has no width, whole and a sentence a line."""
    columns = console.width if console.is_terminal else None
    _print(console, _answer(sums_of(document), head, columns)[1:])


def render_stderr_notes(document: Document, head: Head, console: PlainConsole, *, html: Path | None = None) -> None:
    """Print findings and answer on standard error, next to a classic tool's own output.

    These are findings why a result must not be used, the names of the others, where the run is kept, and the answer;
    in the log of a script each in one line.
    """
    document, width, is_log = sums_of(document), _width(console), not console.is_terminal
    lines = clients_block(document, width)
    lines += _findings(document, width, has_notes=False, folded=(WEAK, NOTE), is_log=is_log)
    text = answer(document, head.load, has_numbers=False)
    between = [] if is_log else [Text()]
    message = [" ".join(text)] if is_log else [line for sentence in text for line in wrap(sentence, width)]
    words = [Text(line, style="bold") for line in message if line]
    _print(console, [*lines, *between, *_footer(document, html)[1:], *(between if words else []), *words])


def _width(console: PlainConsole) -> int:
    return console.width if console.is_terminal else _IN_A_PIPE_COLUMNS


def _answer(document: Document, head: Head, width: int | None) -> list[Text]:
    if width is None:
        words = list(answer(document, head.load, columns=None))
    else:
        words = [line for sentence in answer(document, head.load) for line in wrap(sentence, width)]
    return [Text(), *(Text(line, style="bold") for line in words)] if words else []


def _print(console: PlainConsole, lines: Iterable[Text]) -> None:
    console.print(Text("\n").join(lines), soft_wrap=True)


# -- header and footer -------------------------------------------------------------------------------------------------


def _called(document: Document) -> list[tuple[str, str]]:
    """Give what the user calls the run, where that is anything."""
    run = document.run
    tags = f"[{', '.join(run.tags)}]" if run.tags else ""
    text = "   ".join(part for part in (run.name, tags, run.note) if part)
    return [("called", text)] if text else []


def _pair(key: str, value: str) -> Text:
    return Text.assemble((f"{key:<9}", "bold"), one_line(value))


def _footer(document: Document, html: Path | None) -> list[Text]:
    sealed = "" if document.run.sealed else "   (not sealed: the run did not end)"
    kept = _pair("kept in", f"{document.run.bundle}{sealed}")
    if document.run.foreign is not None:
        return [Text(), kept]
    report = str(html) if html else f"assay report {document.run.id}"
    return [Text(), kept, _pair("report", report)]


# -- shares ------------------------------------------------------------------------------------------------------------


def _shares(document: Document, width: int) -> list[Text]:
    """Print the share that each job kept of its rate alone while other jobs ran."""
    if not document.solo_shares:
        return []
    texts = (wrap(one_line(share_words.line(share)), width - 2) for share in document.solo_shares)
    return [
        Text(),
        Text("concurrent", style=_STYLES[NOTE]),
        *(Text("  " + part) for parts in texts for part in parts),
    ]


# -- marks -------------------------------------------------------------------------------------------------------------


def _marks(document: Document, width: int) -> list[Text]:
    """Print what was before, during and after each of the user's marks; detected marks are only counted."""
    lines: list[Text] = []
    of_label = mark_words.units(document)
    given = [mark for mark in document.marks if mark.source != DETECTED]
    for mark in given:
        head = f"{mark.number}  {one_line(mark.label)}, at {mark_words.when(mark)}"
        lines += [Text(), Text.assemble(("mark ", _STYLES[NOTE]), head)]
        for effect in mark.effects:
            text = f"{effect.result}: {mark_words.effect_words(effect, of_label.get(effect.result, OPS_PER_S))}"
            lines += [Text("  " + part) for part in wrap(one_line(text), width - 2)]
    if found := len(document.marks) - len(given):
        text = f"{found} found: 'assay report {document.run.id}' lists them"
        lines += [Text(), Text.assemble((f"{'marks':<9}", _STYLES[NOTE]), text)] if given else []
    return lines


# -- findings ----------------------------------------------------------------------------------------------------------


def _findings(
    document: Document, width: int, *, has_notes: bool, folded: Sequence[str] = (NOTE,), is_log: bool = False
) -> list[Text]:
    rows: dict[Finding, list[int]] = {finding: [] for finding in document.findings}
    is_in_window = in_window(document)
    for row, result in enumerate(document.results, start=1):
        for finding in result.findings if is_in_window(result) else ():
            rows.setdefault(finding, []).append(row)
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in sorted(rows, key=_by_severity):
        if has_notes or finding.severity not in folded:
            kinds.setdefault((finding.severity, finding.id, finding.cure), []).append(finding)
    lines: list[Text] = []
    for (severity, id_, cure), same in kinds.items():
        by_text: dict[str, list[int]] = {}
        for finding in same:
            by_text.setdefault(finding.text, []).extend(rows[finding])
        text = _kind(document, (severity, id_, cure), list(by_text.items()), _UNBROKEN_COLUMNS if is_log else width)
        lines += [Text("  ").join(Text(line.plain.strip()) for line in text)] if is_log else [Text(), *text]
    found = sorted((finding for finding in rows if finding.severity in folded), key=_by_severity)
    notes = dict.fromkeys(finding.id for finding in found)
    if has_notes or not notes:
        return lines
    what = "notes" if folded == (NOTE,) else "findings"
    between = [] if is_log or (what != "notes" and not lines) else [Text()]
    return [*lines, *between, _folded(what, list(notes), document.run.id, width)]


def _by_severity(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _folded(what: str, notes: Sequence[str], run_id: str, width: int) -> Text:
    """Name findings in one line: they explain numbers, and a command has their words."""
    how = f"'assay show {run_id} --notes'"
    text = f"{len(notes)}: {how}"
    if (room := width - 9 - len(text)) > 0:
        text = f"{len(notes)} ({cut(', '.join(notes), room - 3)}): {how}" if room > _SHORTEST_NAMES else text
    return Text.assemble((f"{what:<9}", _STYLES[NOTE]), text)


def _kind(document: Document, kind: tuple[str, str, str], parts: list[tuple[str, list[int]]], width: int) -> list[Text]:
    """Print one kind of finding (severity, identifier, cure): rows, text for each row, cure."""
    severity, id_, cure = kind
    everywhere = sorted({row for _, rows in parts for row in rows})
    where = where_words(document, everywhere, most=_MOST_RANGES) if everywhere else "run"
    lines = [Text.assemble((severity, _STYLES[severity]), (f"  {id_}", "bold"), f"  {where}")]
    # Those that concern the most rows.
    shown = sorted(parts, key=lambda pair: -len(pair[1]))[:_MOST_SHOWN] if len(parts) > _MOST_SHOWN + 1 else parts
    for text, rows in shown:
        prefix = f"{_numbers(document, rows)}: " if len(parts) > 1 and rows else ""
        lines += [Text("  " + part) for part in wrap(prefix + text, width - 2)]
    if len(shown) < len(parts):
        lines.append(Text(f"  and the like of {len(parts) - len(shown)} others: 'assay explain RUN {id_}'"))
    if cure:
        lines += [Text("  " + part) for part in wrap("→ " + cure, width - 2)]
    return lines


def _numbers(document: Document, rows: Iterable[int]) -> str:
    return where_words(document, list(rows), most=_MOST_RANGES).partition(" ")[2]
