"""Write a survey as one HTML file: the answer, the distribution of sizes, ages, depths, and what is missing."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.outward import markup
from assay.report.figure import Table
from assay.report.figures import tree_files as figures
from assay.report.output import check_file, write_whole
from assay.report.page.drawn_figure import figure_markup
from assay.report.page.whole_page import whole_page
from assay.report.sections import table
from assay.report.survey_words import (
    Cells,
    age_rows,
    basis_lines,
    content_lines,
    depth_rows,
    entries_line,
    head_lines,
    mounts_line,
    percentile_rows,
    size_class_rows,
    survey_warnings,
)
from assay.surveys.content_found import ContentEstimate
from assay.surveys.tree_survey import TreeSurvey


def write_survey(survey: TreeSurvey, content: ContentEstimate | None, directory: Path, path: Path) -> Path:
    """Write a survey to `path`, replacing a file of that name; raises InputError and RunError."""
    check_file(path)
    return write_whole(path, survey_page(survey, directory, content).encode())


def survey_page(survey: TreeSurvey, directory: Path, content: ContentEstimate | None = None) -> str:
    """Make the text of the page."""
    found = survey.summary
    title = f"Files of {directory}"
    drawn = list(figures.draw(survey))
    sizes = [figure_markup(figure) for figure in drawn if figure.slug.startswith("size")]
    others = [figure_markup(figure) for figure in drawn if not figure.slug.startswith("size")]
    warned = _paragraphs(survey_warnings(survey), "warn")
    return whole_page(
        f"{title} · Assay",
        [
            f'<header><h1>{markup(title)}</h1><div class="verdict">{_paragraphs(head_lines(survey))}{warned}</div></header>',
            "<main><section><h2>Sizes</h2>",
            *sizes,
            _table(percentile_rows(found.sizes), "Percentiles of size"),
            _table(size_class_rows(survey), "Classes of size"),
            "</section><section><h2>Ages, depth, directories</h2>",
            *others,
            _table(age_rows(survey), "Ages"),
            _table(depth_rows(survey) if found.files else [], "Depth"),
            _paragraphs(line for line in (entries_line(survey), *content_lines(content), mounts_line(survey)) if line),
            "</section><section><h2>What the figures are of</h2>",
            _paragraphs(basis_lines(survey) if found.files else ()),
            "</section></main>",
        ],
    )


def _paragraphs(lines: Iterable[str], kind: str = "") -> str:
    opened = f'<p class="{kind}">' if kind else "<p>"
    return "".join(f"{opened}{markup(line)}</p>" for line in lines)


def _table(rows: Sequence[Cells], title: str) -> str:
    if not rows:
        return ""
    return table(Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows)), title)
