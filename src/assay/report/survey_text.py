"""A survey on the terminal: what there is, the sizes, ages, depths and entries, and what is missing."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from assay.console import PlainConsole
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


def render_survey(
    survey: TreeSurvey, content: ContentEstimate | None, console: PlainConsole, *, is_resumable: bool
) -> None:
    """Print a survey.

    Args:
        survey: The survey.
        content: What was found in chosen files.
        console: Where to.
        is_resumable: Whether a file has what it takes to go on.
    """
    for line in head_lines(survey):
        console.print(line, soft_wrap=False)
    for rows in (
        percentile_rows(survey.summary.sizes),
        size_class_rows(survey),
        age_rows(survey),
        depth_rows(survey) if survey.summary.files else [],
    ):
        _print_table(rows, console)
    console.print()
    for line in (entries_line(survey), *content_lines(content), mounts_line(survey)):
        if line:
            console.print(line, soft_wrap=False)
    for line in survey_warnings(survey, is_resumable=is_resumable):
        console.print(Text(line, style="yellow"), soft_wrap=False)
    if survey.summary.files:
        for line in basis_lines(survey):
            console.print(Text(line, style="dim"), soft_wrap=False)


def _print_table(rows: Sequence[Cells], console: PlainConsole) -> None:
    if not rows:
        return
    console.print()
    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
