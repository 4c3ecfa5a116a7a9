"""From files to one load: read them, choose devices, add them up, and keep what a reader must know."""

from collections.abc import Sequence

import polars as pl

from assay.captures.asked import Asked
from assay.captures.reading import read_captures
from assay.captures.selection import select
from assay.captures.total import TotalLoad, add_up


def gather(
    files: Sequence[str], asked: Asked, format_name: str | None, only: Sequence[str]
) -> tuple[TotalLoad, tuple[str, ...]]:
    """Give the load of all files together, and what was assumed or left out; raises InputError."""
    captures = read_captures(files, asked, format_name)
    chosen = select(pl.concat([capture.table for capture in captures]), only)
    total = add_up(chosen.table)
    prefix = {capture.source: f"{capture.source}: " if len(captures) > 1 else "" for capture in captures}
    notes = [f"{prefix[capture.source]}{note}" for capture in captures for note in capture.notes]
    return total, tuple(dict.fromkeys((*notes, *chosen.notes, *total.notes)))
