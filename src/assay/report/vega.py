"""The JavaScript that draws the figures of a page: Vega-Lite, by vl-convert.

It is the same for every report of one vl-convert, and putting it together takes as long as the rest of a report. So it is
kept in the user's XDG cache folder; without such a folder, or room in it, it is made anew each time.
"""

import contextlib
from pathlib import Path

from assay import xdg
from assay.errors import InputError, RunError
from assay.report import vega_lite
from assay.report.output import write_whole
from assay.report.stack import vl_convert

_END = "\n/* whole */"
"""Last in the file: one that was cut short is not used."""


def javascript() -> str:
    """Give a program that sets `window.vegaEmbed`, fit to stand in a script element."""
    library = vl_convert()
    name = f"vega-lite-{vega_lite.VERSION}-vl-convert-{library.__version__}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError, InputError):
        program = _kept(name).read_text(encoding="utf-8")
        if program.endswith(_END):
            return program
    # Without a snippet of its own it sets window.vegaEmbed.
    bundle: str = library.javascript_bundle(vl_version=vega_lite.VERSION)
    program = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--") + _END
    with contextlib.suppress(OSError, InputError, RunError):
        kept = _kept(name)
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(kept, program.encode())
    return program


def _kept(name: str) -> Path:
    return xdg.folder("XDG_CACHE_HOME", "~/.cache") / name
