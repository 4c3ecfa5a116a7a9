"""The report as one HTML file: nothing is fetched, ever; it opens in a lab without internet and can be mailed.

The figures' JavaScript (Vega-Lite by vl-convert) is in the file once. A content security policy forbids the page every
connection, so that even a fault here could not make it call out. All text from the run is escaped (outward.py). Without
JavaScript every number is still there: each figure has its table.
"""

import json
from collections.abc import Container, Mapping, Sequence
from importlib import resources
from pathlib import Path

from assay.analysis.record import RunRecord
from assay.outward import drawn, markup
from assay.report import figures, sections, theme, vega
from assay.report.figure import Figure
from assay.report.output import check_file, write_whole
from assay.report.over_repeats import shown_results, summary_titles
from assay.report.page import cards
from assay.report.page.anchors import Places
from assay.report.page.grouping import SummaryRow, summary_rows
from assay.report.page.header import header
from assay.report.page.repeats_section import repeat_places, repeats_section
from assay.report.page.summary import row_anchor, rows_by_result, summary_table
from assay.report.page.tiles import tiles
from assay.report.page.warned import warnings
from assay.report.quick_words import QUICK
from assay.report.recording import Recording
from assay.report.titles import titles_of
from assay.results import Document, Result

# Vega compiles its expressions with `new Function`, hence 'unsafe-eval'; there is no source to load anything from.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def default_path(run_id: str) -> Path:
    """Give the file that `assay report` writes when told none: in the working directory, never in the bundle."""
    return Path(f"assay-{run_id}.html")


def write_html(run: RunRecord, document: Document, path: Path, *, of_tool: Sequence[Figure] = ()) -> Path:
    """Write the report of a run to `path`, replacing a file of that name, and give the path.

    Args:
        run: What was recorded.
        document: What it came to.
        path: The file.
        of_tool: Figures of the tool that made the run; they stand first.

    Raises:
        InputError: `path` is a directory, lies in a folder that does not exist, or inside a run bundle.
        RunError: the file cannot be written.
    """
    check_file(path)  # before the work, not after it
    return write_whole(path, page(run, document, of_tool).encode())


def page(run: RunRecord, document: Document, of_tool: Sequence[Figure] = ()) -> str:
    """Make the report's text."""
    recording = Recording(run)
    results = document.results
    rows = summary_rows(results, of_tool=bool(of_tool))
    told = cards.cards(results, cards.MOST_CARDS if len(rows) == len(results) else cards.MOST_CARDS_OF_A_TOOL)
    shared = {} if all(row.is_one for row in rows) else {row_anchor(row): row.title for row in rows}
    places = Places(rows_by_result(rows), set(told), shared)
    is_quick = run.plan.name == QUICK
    # The first things on the page are of results over their repeats, where there are any.
    heads, head_rows, head_places = results, rows, places
    if document.summaries and not of_tool:
        heads, head_places = shown_results(document), repeat_places(document)
        head_rows = [SummaryRow(title, (i,), is_one=True) for i, title in enumerate(summary_titles(document))]
    body = [
        header(run, document, head_places),
        tiles(heads, head_rows, head_places, is_quick=is_quick),
        repeats_section(document, places),
        warnings(document, places),
        _overview(recording, document, of_tool),
        summary_table(recording, results, rows, places),
        _results(
            recording,
            results,
            places,
            [row.members[0] for row in rows] if of_tool else told,
            of_tool,
            stands_for={phase.name: phase.stands_for for phase in run.plan.phases},
        ),
        *(part(run) for part in (sections.preparation, sections.environment, sections.plan)),
    ]
    title = markup(f"{run.plan.name} · {document.run.id} · Assay")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{markup(_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title><style>{_asset("report.css")}</style>'
        f"</head><body>{''.join(body)}<script>{vega.javascript()}</script>"
        f'<script type="application/json" id="dark">{_script_json(theme.DARK)}</script>'
        f"<script>{_asset('report.js')}</script></body></html>\n"
    )


def _overview(recording: Recording, document: Document, of_tool: Sequence[Figure]) -> str:
    results = document.results
    overview = (*of_tool, *figures.overview_figures(recording, document, of_tool))
    drawn_each = figures.drawn_each(results, of_tool)
    drawn_all = "".join(_figure(figure) for figure in overview)
    left = cards.not_drawn(len(results), drawn_each, has_overview=bool(overview))
    return (
        '<section aria-labelledby="overview"><h2 id="overview">Overview</h2>'
        f'<div class="figures flow">{drawn_all}</div>{left}</section>'
    )


def _results(
    recording: Recording,
    results: Sequence[Result],
    places: Places,
    drawn: Container[int],
    of_tool: Sequence[Figure],
    *,
    stands_for: Mapping[str, str],
) -> str:
    titles, drawn_each, told = titles_of(results), figures.drawn_each(results, of_tool), sorted(places.cards)
    # The figures of a tool tell of all its results at once; a card is for who looks one up.
    doubted = [] if of_tool else [i for i in told if not results[i].trusted]
    is_open = set(doubted[: cards.MOST_OPEN])
    parts = [
        '<section aria-labelledby="results"><h2 id="results">Results</h2>',
        cards.not_told(len(results), len(told)),
        sections.marks(recording.marks),
    ]
    for i in told:
        mine = tuple(figures.result_figures(recording, results, i)) if i in drawn and i < drawn_each else ()
        over_time = "".join(_figure(figure) for figure in mine if figure.is_over_time)
        others = "".join(_figure(figure) for figure in mine if not figure.is_over_time)
        shown = f'<div class="figures"><div>{over_time}</div><div>{others}</div></div>' if mine else ""
        meant = stands_for.get(results[i].phase, "")
        parts.append(
            cards.card(i, titles[i], results[i], shown, row=places.rows[i], is_open=i in is_open, stands_for=meant)
        )
    return "".join((*parts, "</section>"))


def _figure(figure: Figure) -> str:
    ident = markup(f"figure-{figure.slug}")
    spec = figure.chart.to_dict() | {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    renderer = "canvas" if figure.is_dense else "svg"
    words = markup(figure.alt_text)
    return (
        f'<figure aria-labelledby="{ident}-title"><figcaption><h4 id="{ident}-title">{markup(figure.title)}</h4>'
        f'<p>{markup(figure.caption)}</p></figcaption><div class="chart" role="img" aria-label="{words}"'
        f' data-spec="{ident}" data-renderer="{renderer}"></div>'
        f'<script type="application/json" id="{ident}">{_script_json(spec)}</script>{_in_space(figure)}'
        f"<details><summary>Numbers of this figure</summary>{sections.table(figure.table, figure.title)}</details>"
        "</figure>"
    )


def _in_space(figure: Figure) -> str:
    if not figure.in_space:
        return ""
    words = (
        "Height: the numbers of the map, from 0; its colours too. What lies behind a hill is hidden; the map shows all."
    )
    drawn = f'<div class="chart surface">{figure.in_space}</div><p class="muted">{words}</p>'
    return f"<details><summary>As a surface in space</summary>{drawn}</details>"


def _script_json(value: object) -> str:
    # No "<" at all: neither "</script" nor "<!--" can then end or bend the script element.
    return json.dumps(drawn(value), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return resources.files("assay.report").joinpath(name).read_text(encoding="utf-8")
