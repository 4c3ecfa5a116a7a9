"""Write the report of a run as one HTML file."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from assay.analysis.record import RunRecord
from assay.analysis.set_views import sums_of
from assay.report import figures, sections
from assay.report.figure import Figure
from assay.report.output import check_file, write_whole
from assay.report.over_repeats import shown_results, summary_titles
from assay.report.page import cards
from assay.report.page.anchors import Places
from assay.report.page.clients_section import clients_section
from assay.report.page.drawn_figure import figure_markup
from assay.report.page.grouping import SummaryRow, summary_rows
from assay.report.page.header import header
from assay.report.page.repeats_section import repeat_places, repeats_section
from assay.report.page.rounds_section import rounds_section
from assay.report.page.summary import row_anchor, rows_by_result, summary_table
from assay.report.page.tiles import tiles
from assay.report.page.warned import warnings
from assay.report.page.whole_page import whole_page
from assay.report.quick_words import QUICK
from assay.report.recording import Recording
from assay.report.titles import titles_of
from assay.results import Document


def default_path(run_id: str) -> Path:
    """Return the default file of `assay report`: in the working directory, never in the bundle."""
    return Path(f"assay-{run_id}.html")


def write_html(run: RunRecord, document: Document, path: Path, *, of_tool: Sequence[Figure] = ()) -> Path:
    """Write the report of a run to `path`, replacing a file of that name, and give the path.

    Args:
        run: What was recorded.
        document: What it came to.
        path: The file.
        of_tool: Figures of the tool that made the run; they come first.

    Raises:
        InputError: `path` is a directory, lies in a folder that does not exist, or inside a run bundle.
        RunError: the file cannot be written.
    """
    check_file(path)  # before the work, not after it
    return write_whole(path, page(run, document, of_tool).encode())


def page(run: RunRecord, document: Document, of_tool: Sequence[Figure] = ()) -> str:
    """Make the report's text."""
    whole, document = document, sums_of(document)
    recording = Recording(run, document.marks)
    results = document.results
    rows = summary_rows(results, of_tool=bool(of_tool))
    text = cards.cards(results, cards.MOST_CARDS if len(rows) == len(results) else cards.MOST_CARDS_OF_A_TOOL)
    shared = {} if all(row.is_one for row in rows) else {row_anchor(row): row.title for row in rows}
    places = Places(rows_by_result(rows), set(text), shared)
    is_quick = run.plan.name == QUICK
    # The first things on the page are of results over their repeats, where there are any.
    heads, head_rows, head_places = results, rows, places
    if document.summaries and not of_tool:
        heads, head_places = shown_results(document), repeat_places(document)
        head_rows = [SummaryRow(title, (i,), is_one=True) for i, title in enumerate(summary_titles(document))]
    body = [
        header(run, document, head_places),
        tiles(heads, head_rows, head_places, is_quick=is_quick),
        rounds_section(document),
        repeats_section(document, places),
        clients_section(run, whole),
        warnings(document, places),
        _overview(recording, document, of_tool),
        summary_table(recording, results, rows, places),
        _results(
            recording,
            document,
            places,
            [row.members[0] for row in rows] if of_tool else text,
            of_tool,
            stands_for={phase.name: phase.stands_for for phase in run.plan.phases},
        ),
        *(part(run) for part in (sections.preparation, sections.environment, sections.plan)),
    ]
    return whole_page(f"{run.plan.name} · {document.run.id} · Assay", body)


def _overview(recording: Recording, document: Document, of_tool: Sequence[Figure]) -> str:
    results = document.results
    overview = (*of_tool, *figures.overview_figures(recording, document, of_tool))
    drawn_each = figures.drawn_each(results, of_tool)
    drawn_all = "".join(figure_markup(figure) for figure in overview)
    left = cards.not_drawn(len(results), drawn_each, has_overview=bool(overview))
    return (
        '<section aria-labelledby="overview"><h2 id="overview">Overview</h2>'
        f'<div class="figures flow">{drawn_all}</div>{left}</section>'
    )


def _results(
    recording: Recording,
    document: Document,
    places: Places,
    drawn: Container[int],
    of_tool: Sequence[Figure],
    *,
    stands_for: Mapping[str, str],
) -> str:
    results = document.results
    titles, drawn_each, text = titles_of(results), figures.drawn_each(results, of_tool), sorted(places.cards)
    # The figures of a tool show all its results at once; a card shows one.
    doubted = [] if of_tool else [i for i in text if not results[i].trusted]
    is_open = set(doubted[: cards.MOST_OPEN])
    parts = [
        '<section aria-labelledby="results"><h2 id="results">Results</h2>',
        cards.not_shown(len(results), len(text)),
        sections.marks(document),
        sections.solo_shares(document),
    ]
    for i in text:
        mine = tuple(figures.result_figures(recording, results, i)) if i in drawn and i < drawn_each else ()
        over_time = "".join(figure_markup(figure) for figure in mine if figure.is_over_time)
        others = "".join(figure_markup(figure) for figure in mine if not figure.is_over_time)
        shown = f'<div class="figures"><div>{over_time}</div><div>{others}</div></div>' if mine else ""
        represented = stands_for.get(results[i].phase, "")
        parts.append(
            cards.card(
                i, titles[i], results[i], shown, row=places.rows[i], is_open=i in is_open, stands_for=represented
            )
        )
    return "".join((*parts, "</section>"))
