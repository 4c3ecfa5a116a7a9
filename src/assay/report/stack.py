"""The chart stack: Altair and vl-convert, or the words that say how to get them.

Both belong to the extra `report`, because vl-convert is an 84 MB wheel that a machine that only measures does not need.
Every module of the report that draws imports them from here, so that there is one message and one exit code.
"""

from assay import xdg
from assay.errors import RunError

try:
    with xdg.home_for_others():
        import altair as alt
        import vl_convert
        from altair.utils import schemapi
except ModuleNotFoundError as missing:
    raise RunError(
        f"report: the Python package '{missing.name}' is not installed; figures and the HTML report need it."
        " The run itself is kept. Install it with: pip install 'assay[report]'"
    ) from missing

schemapi.DEBUG_MODE = False
"""Altair would check each part as it is made. Tests check whole specifications."""

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""Version of Vega-Lite that Altair writes, as vl-convert spells it: specs and JavaScript must agree."""

__all__ = ["VEGA_LITE", "alt", "vl_convert"]
