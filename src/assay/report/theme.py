"""Define how Assay's figures look. METHOD 6.1 and 6.2 give the reasons; the eight lessons there are cited where they apply.

Empty cells of a heat map are of the colour of the paper and must mean "no I/O" everywhere (lesson 6): in a dark page the
paper is dark, few operations are dim and many bright. There each colour here is replaced by its partner in `DARK`, so each
has one purpose. DejaVu Sans is named first so that pictures are the same on all machines that have it.
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

ON_DARK_FILL = "#fefefe"
"""Words on the darker fills of the light page."""
ON_LIGHT_FILL = "#1a1e23"
"""Words on the lighter ones."""

HEAT_RANGE = ("#b7d6ee", "#82b8dd", "#4292c6", "#08519c", "#08306b")
"""Counts: one hue, light to dark, so that white is nothing (lesson 6). A lone operation must be seen:
it is the outlier."""
DIVERGING = ("#762a83", "#af8dc3", "#e7d4e8", "#f4f4f6", "#d9f0d3", "#7fbf7b", "#15692f")
"""Ratios of B by A: worse is purple, better green, distinguishable without red; no difference is the middle."""
PERCENTILE_COLOURS = {"p50": "#ffb000", "p99": "#ff6db6"}
"""Never the hue of the map under them (lesson 2)."""
HALO = "#14181d"

BUDGET = {
    "on_cpu": ("on CPU", "#2166ac", ON_DARK_FILL),
    "run_delay": ("waiting for a CPU", "#b2182b", ON_DARK_FILL),
    "block_delay": ("waiting for block I/O", "#e6a117", ON_LIGHT_FILL),
    "idle": ("idle by the load's own schedule", "#f0f2f4", ON_LIGHT_FILL),
    "other_wait": ("other waits", "#cdd3da", ON_LIGHT_FILL),
}
"""Shares of the workers' time: words, fill, ink on the fill."""

SERIES = ("#2166ac", "#b2182b", "#1b7837", "#7b3294", "#b35806", "#01665e")
"""Of lines and bars with names, in order: distinguished by lightness and by name. METHOD 6.1 allows six."""

DARK = {
    INK: "#e6e8eb",
    MUTED_INK: "#a3abb4",
    GRID: "#333b45",
    PAPER: "#14181d",
    OUTSIDE: "#6b747e",
    WINDOW_TINT: "#1b2735",
    ON_DARK_FILL: "#0e1216",
    ON_LIGHT_FILL: "#e6e8eb",
    HALO: "#000000",
    "#2166ac": "#6cb2f2",
    "#b2182b": "#ff8a80",
    "#1b7837": "#6fd08c",
    "#7b3294": "#d29bec",
    "#b35806": "#f0a35e",
    "#01665e": "#5cc8bd",
    "#e6a117": "#8a5d00",
    "#f0f2f4": "#262d35",
    "#cdd3da": "#454f5a",
    "#b7d6ee": "#173a58",
    "#82b8dd": "#1f5f95",
    "#4292c6": "#3f97dc",
    "#08519c": "#93c9f7",
    "#08306b": "#e2f1ff",
    "#762a83": "#d3a4e6",
    "#af8dc3": "#85559b",
    "#e7d4e8": "#3a2a42",
    "#f4f4f6": "#1d232a",
    "#d9f0d3": "#22382a",
    "#7fbf7b": "#3f8a55",
    "#15692f": "#8fe0a6",
}
"""Partners of the colours in a dark page; what has none is the same in both."""


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
