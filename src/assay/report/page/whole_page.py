"""Write a page as one HTML file that loads nothing from a network.

The figures' JavaScript (Vega-Lite by vl-convert) is in the file once. A content security policy forbids the page every
connection, so that even a fault here could not make it call out. Without JavaScript every number is still there: each figure
has its table.
"""

from collections.abc import Iterable
from importlib import resources

from assay.outward import markup
from assay.report import theme, vega
from assay.report.page.drawn_figure import script_json

# Vega compiles its expressions with `new Function`, hence 'unsafe-eval'; there is no source to load anything from.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def whole_page(title: str, body: Iterable[str]) -> str:
    """Put a page together.

    Args:
        title: As it is; it is escaped here.
        body: HTML, in which all text that others wrote is escaped already (outward.py).
    """
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{markup(_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{markup(title)}</title>'
        f"<style>{_asset('report.css')}</style></head><body>{''.join(body)}<script>{vega.javascript()}</script>"
        f'<script type="application/json" id="dark">{script_json(theme.DARK)}</script>'
        f"<script>{_asset('report.js')}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return resources.files("assay.report").joinpath(name).read_text(encoding="utf-8")
