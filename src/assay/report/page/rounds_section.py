"""Write what the rounds of a run came to: whether they were steady, and the table of their results."""

from assay.outward import markup
from assay.report.figures import rounds
from assay.report.page.drawn_figure import figure_markup
from assay.report.rounds_grid import LEGEND, grid_cells, grid_names, unit_words
from assay.report.rounds_words import sentences
from assay.results import Document


def rounds_section(document: Document) -> str:
    """Give the section; nothing where there are no rounds."""
    if document.rounds is None:
        return ""
    words = "".join(f"<p>{markup(text)}</p>" for text in sentences(document, document.rounds))
    figures = "".join(figure_markup(figure) for figure in rounds.draw(document))
    return (
        f'<section aria-labelledby="rounds"><h2 id="rounds">Rounds</h2>{words}{_grid(document)}'
        f'<div class="figures flow">{figures}</div></section>'
    )


def _grid(document: Document) -> str:
    found = document.rounds
    if found is None or not found.cells:
        return ""
    rows, columns = grid_names(found)
    cells = grid_cells(document)
    heads = "".join(f'<th scope="col">{markup(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{markup(row)}</th>'
        + "".join(f"<td>{markup(cells.get((row, column), ''))}</td>" for column in columns)
        + "</tr>"
        for row in rows
    )
    unit = unit_words(found)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table of rounds"><table><thead><tr>'
        f'<th scope="col">{markup(unit)}</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<p class="muted">{markup(LEGEND)} Each is the mean of the window.</p>'
    )
