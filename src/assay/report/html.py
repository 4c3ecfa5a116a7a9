"""The report as one HTML file: nothing is fetched, ever; it opens in a lab without internet and can be mailed.

The figures' JavaScript (Vega-Lite by vl-convert) is in the file once. A content security policy forbids the page every
connection, so that even a fault here could not make it call out. All text from the run is escaped (outward.py). Without
JavaScript every number is still there: each figure has its table.
"""

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from assay.analysis.record import RunRecord
from assay.outward import drawn, markup
from assay.report import figures, sections, vega
from assay.report.figure import Figure
from assay.report.output import check_file, write_whole
from assay.report.recording import Recording
from assay.report.titles import titles_of
from assay.results import Document

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
    titles = titles_of(results)
    drawn_each = figures.drawn_each(results, of_tool)
    overview = (*of_tool, *figures.overview_figures(document, of_tool))
    told = sections.cards(results)
    body = [
        sections.header(run, document),
        sections.summary_table(titles, results, set(told)),
        sections.run_findings(document.findings),
        sections.marks(recording.marks),
        "<section aria-labelledby=overview><h2 id=overview>Overview</h2>",
        *(_figure(figure) for figure in overview),
        sections.not_drawn(len(results), drawn_each, has_overview=bool(overview)),
        "</section><section aria-labelledby=results><h2 id=results>Results</h2>",
        sections.not_told(len(results), len(told)),
    ]
    for i in told:
        mine = figures.result_figures(recording, results, i) if i < drawn_each else ()
        drawn = "".join(_figure(figure) for figure in mine)
        body.append(sections.result_card(i, titles[i], results[i], drawn))
    body += ["</section>", sections.preparation(run), sections.environment(run), sections.plan(run)]
    title = markup(f"{run.plan.name} · {document.run.id} · Assay")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{markup(_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title><style>{_asset("report.css")}</style>'
        f"</head><body>{''.join(body)}<script>{vega.javascript()}</script><script>{_asset('report.js')}</script></body></html>\n"
    )


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
