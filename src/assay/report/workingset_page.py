"""Write a working set as one HTML file: the answer, the curve, sizes, policies, tiers, and what was assumed."""

from collections.abc import Sequence
from pathlib import Path

from assay.outward import markup
from assay.report.figure import Table
from assay.report.figures import cache_curve as figures
from assay.report.output import check_file, write_whole
from assay.report.page.drawn_figure import figure_markup
from assay.report.page.whole_page import whole_page
from assay.report.sections import table
from assay.report.workingset_words import (
    TIER_HEADING,
    assumption_lines,
    policy_rows,
    served_cells,
    tier_cells,
    tier_lines,
    trace_lines,
)
from assay.workingset.cache_sizes import WorkingSet

_TITLE = "How large a cache"


def write_working_set(answer: WorkingSet, notes: Sequence[str], path: Path) -> Path:
    """Write a working set to `path`, replacing a file of that name; raises InputError and RunError."""
    check_file(path)
    return write_whole(path, working_set_page(answer, notes).encode())


def working_set_page(answer: WorkingSet, notes: Sequence[str]) -> str:
    """Make the text of the page."""
    lines = "".join(f"<p>{markup(line)}</p>" for line in trace_lines(answer))
    assumed = "".join(f"<li>{markup(line)}</li>" for line in (*assumption_lines(answer), *notes))
    drawn = "".join(figure_markup(figure) for figure in figures.draw(answer))
    rows = [served_cells(answer, one) for one in answer.table]
    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    sizes = table(Table(tuple(shown), tuple(tuple(row[name] for name in shown) for row in rows)), "Cache sizes")
    return whole_page(
        f"{_TITLE} · Assay",
        [
            f'<header><h1>{_TITLE}</h1><div class="verdict">{lines}</div></header><main>',
            f"<section><h2>A cache of a size serves</h2>{sizes}{drawn}</section>",
            _policies(answer),
            _tiers(answer),
            f"<section><h2>Assumed</h2><ul>{assumed}</ul></section></main>",
        ],
    )


def _policies(answer: WorkingSet) -> str:
    heading, rows = policy_rows(answer)
    return f"<section><h2>Policies</h2>{table(Table(heading, tuple(rows)), 'Policies')}</section>" if rows else ""


def _tiers(answer: WorkingSet) -> str:
    if answer.found.tiers is None:
        return ""
    lines = "".join(f"<p>{markup(line)}</p>" for line in tier_lines(answer))
    rows = tuple(tier_cells(answer, one) for one in answer.found.tiers.periods)
    return f"<section><h2>Tiers</h2>{lines}{table(Table(TIER_HEADING, rows), 'Tiers by period')}</section>"
