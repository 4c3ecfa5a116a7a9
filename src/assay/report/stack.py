"""The chart stack: Altair and vl-convert, or the words that say how to get them.

Both belong to the extra `report`, because vl-convert is an 84 MB wheel that a machine that only measures does not need.
Every module of the report that draws imports them from here, so that there is one message and one exit code.
"""

import resource

from assay import xdg
from assay.errors import RunError

_ADDRESSES_BYTES = 72 << 30
"""The JavaScript engine in vl-convert reserves 64 GiB of address space, uses next to nothing of it, and without it ends the
program by SIGTRAP."""


def _check_address_space() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _ADDRESSES_BYTES:
        raise RunError(
            f"address space is limited to {limit >> 30} GiB, and figures and the HTML report need {_ADDRESSES_BYTES >> 30}"
            " GiB of it (not of memory). The run itself is kept. Lift the limit (ulimit -v unlimited)"
        )


_check_address_space()
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
