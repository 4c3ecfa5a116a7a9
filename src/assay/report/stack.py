"""The chart stack: Altair and vl-convert, or the words that say how to get them.

Both belong to the extra `report`, because vl-convert is an 84 MB wheel that a machine that only measures does not need.
Every module of the report that draws imports them from here, so that there is one message and one exit code.
"""

import resource

from assay import xdg
from assay.errors import RunError
from assay.units import MIB, format_bytes

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

_RESERVED_BYTES = 64 * 1024 * MIB
"""What the JavaScript engine inside vl-convert reserves of the address space; where it gets less it aborts the program."""


def need_address_space() -> None:
    """Refuse to start the JavaScript engine where it would abort; raises RunError."""
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if resource.RLIM_INFINITY != limit_bytes < _RESERVED_BYTES:
        raise RunError(
            f"report: what draws the figures reserves {format_bytes(_RESERVED_BYTES)} of address space, and"
            f" {format_bytes(limit_bytes)} are allowed here. The run itself is kept. Lift the limit (ulimit -v unlimited)"
        )


__all__ = ["VEGA_LITE", "alt", "need_address_space", "vl_convert"]
