"""Write a figure on a page: text, drawing area, specification, and its values as a table."""

import json

from assay.outward import drawn, markup
from assay.report import sections
from assay.report.figure import Figure


def figure_markup(figure: Figure) -> str:
    """Give a figure as HTML; `report.js` draws it when it is first to be seen."""
    ident = markup(f"figure-{figure.slug}")
    spec = figure.chart.to_dict() | {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    renderer = "canvas" if figure.is_dense else "svg"
    words = markup(figure.alt_text)
    return (
        f'<figure aria-labelledby="{ident}-title"><figcaption><h4 id="{ident}-title">{markup(figure.title)}</h4>'
        f'<p>{markup(figure.caption)}</p></figcaption><div class="chart" role="img" aria-label="{words}"'
        f' data-spec="{ident}" data-renderer="{renderer}"></div>'
        f'<script type="application/json" id="{ident}">{script_json(spec)}</script>{_in_space(figure)}'
        f"<details><summary>Numbers of this figure</summary>{sections.table(figure.table, figure.title)}</details>"
        "</figure>"
    )


def _in_space(figure: Figure) -> str:
    if not figure.in_space:
        return ""
    words = (
        "Height: the numbers of the map, from 0; its colours too. What lies behind a hill is hidden; the map shows all."
    )
    shown = f'<div class="chart surface">{figure.in_space}</div><p class="muted">{words}</p>'
    return f"<details><summary>As a surface in space</summary>{shown}</details>"


def script_json(value: object) -> str:
    """Give a value for the inside of a script element of JSON."""
    # No "<" at all: neither "</script" nor "<!--" can then end or bend the script element.
    return json.dumps(drawn(value), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
