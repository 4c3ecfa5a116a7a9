"""Load vl-convert, which draws figures, or explain how to install it.

It is part of the extra `report`, because it is an 84 MB wheel that a machine that only measures does not need. Who asks for
it gets it here, so that there is one message and one exit code, and a page whose JavaScript is kept does without it.
"""

import importlib
import importlib.util
import resource
from typing import Any

from assay import xdg
from assay.errors import RunError

_ADDRESSES_BYTES = 72 << 30
"""The JavaScript engine in vl-convert reserves 64 GiB of address space, uses next to nothing of it, and without it ends the
program by SIGTRAP."""


def check_stack() -> None:
    """See whether figures can be drawn here; raises RunError, before any work."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _ADDRESSES_BYTES:
        raise RunError(
            f"address space is limited to {limit >> 30} GiB, and figures and the HTML report need {_ADDRESSES_BYTES >> 30}"
            " GiB of it (not of memory). The run itself is kept. Lift the limit (ulimit -v unlimited)"
        )


def vl_convert() -> Any:
    """Load vl-convert.

    Raises:
        RunError: it is not installed, or the limit of address space is below what it needs.
    """
    check_stack()
    try:
        with xdg.home_for_others():
            return importlib.import_module("vl_convert")
    except ModuleNotFoundError as missing:
        raise RunError(
            f"report: the Python package '{missing.name}' is not installed; figures and the HTML report need it."
            " The run itself is kept. Install it with: pip install 'assay[report]'"
        ) from missing
