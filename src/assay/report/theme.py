"""How Assay's figures look. METHOD 6.1 and 6.2 give the reasons; the eight lessons there are cited where they apply.

Figures stand on white in light and dark pages and on paper: empty cells of a heat map are white and must mean "no I/O"
everywhere (lesson 6). DejaVu Sans is named first so that pictures are the same on all machines that have it.
"""

from typing import Any

FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
WIDTH_PX = 720
"""Width of exported pictures; the page lets figures follow the window."""

INK = "#1b1f24"
MUTED_INK = "#57606a"
GRID = "#e4e7eb"
PAPER = "#ffffff"

MEASURED = "#2166ac"
"""Inside the window that the numbers are from."""
OUTSIDE = "#a3abb4"
"""Ramp, and what lies outside the window."""
WINDOW_TINT = "#eaf2fb"
UNTRUSTED = "#a3abb4"
MARK = "#7b3294"

HEAT_RANGE = ("#b7d6ee", "#82b8dd", "#4292c6", "#08519c", "#08306b")
"""Counts: one hue, light to dark, so that white is nothing (lesson 6). A lone operation must be seen:
it is the outlier."""
PERCENTILE_COLOURS = {"p50": "#ffb000", "p99": "#ff6db6"}
"""Never the hue of the map under them (lesson 2)."""
HALO = "#14181d"

BUDGET = {
    "on_cpu": ("on CPU", "#2166ac", "#ffffff"),
    "run_delay": ("waiting for a CPU", "#b2182b", "#ffffff"),
    "block_delay": ("waiting for block I/O", "#e6a117", INK),
    "idle": ("idle by the load's own schedule", "#f0f2f4", INK),
    "other_wait": ("other waits", "#cdd3da", INK),
}
"""Shares of the workers' time: words, fill, ink on the fill."""


def config() -> dict[str, Any]:
    """Give the Vega-Lite configuration of every figure."""
    return {
        "background": PAPER,
        "font": FONT,
        "padding": {"left": 4, "right": 10, "top": 4, "bottom": 4},
        "view": {"stroke": None},
        "title": {"anchor": "start", "color": INK, "fontSize": 14, "subtitleColor": MUTED_INK, "subtitleFontSize": 11},
        "axis": {
            "domainColor": MUTED_INK,
            "gridColor": GRID,
            "labelColor": INK,
            "labelFontSize": 11,
            "tickColor": MUTED_INK,
            "titleColor": MUTED_INK,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
        },
        "legend": {
            "labelColor": INK,
            "labelFontSize": 11,
            "labelLimit": 0,
            "titleColor": MUTED_INK,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
        },
        "text": {"color": INK, "fontSize": 11},
    }
