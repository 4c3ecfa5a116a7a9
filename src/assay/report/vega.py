"""Load the JavaScript that draws the figures of a page: Vega-Lite, from vl-convert.

It is the same for every report of one vl-convert, and putting it together takes as long as the rest of a report. So it is
kept in the user's XDG cache folder. Whoever opens the report executes it: a file that another user can have written is not
used. Without such a folder, or room in it, it is made anew each time.
"""

import contextlib
from typing import Final

from assay import own_files, xdg
from assay.errors import InputError
from assay.report import vega_lite
from assay.report.stack import vl_convert

_MOST_BYTES: Final = 64 << 20
"""Of the program, which has 1 MiB."""

_END = "\n/* whole */"
"""Last in the file: one that was cut short is not used."""


def javascript() -> str:
    """Give a program that sets `window.vegaEmbed`, safe inside a script element."""
    library = vl_convert()
    name = f"vega-lite-{vega_lite.VERSION}-vl-convert-{library.__version__}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError, InputError):
        kept = own_files.read_own(xdg.caches(), name, _MOST_BYTES)
        program = "" if kept is None else kept.decode()
        if program.endswith(_END):
            return program
    # Without a snippet of its own it sets window.vegaEmbed.
    bundle: str = library.javascript_bundle(vl_version=vega_lite.VERSION)
    program = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--") + _END
    with contextlib.suppress(OSError, InputError):
        own_files.replace_own(xdg.caches(), name, program.encode())
    return program
