"""From files to one load: read them, choose devices, add them up, and keep what a reader must know."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from assay.captures.capture_files import read_captures
from assay.captures.samples import Layer
from assay.captures.selection import select
from assay.captures.stated_facts import Asked
from assay.captures.total import TotalLoad, add_up
from assay.errors import InputError


@dataclass(frozen=True)
class GatheredLoad:
    """The load of all files together.

    Attributes:
        total: The chosen devices.
        systems: The hosts as a whole, where the devices do not tell reads from writes and the hosts do (`sar -d` and `-b`);
            else None.
        notes: What was assumed or left out.
    """

    total: TotalLoad
    systems: TotalLoad | None
    notes: tuple[str, ...]


def gather(files: Sequence[str], asked: Asked, format_name: str | None, only: Sequence[str]) -> GatheredLoad:
    """Give the load of all files together; raises InputError."""
    captures = read_captures(files, asked, format_name)
    if all(capture.inventory is not None for capture in captures):
        raise InputError(
            f"{captures[0].source}: {captures[0].format_name} has machines and capacity, and nothing of what they do;"
            " capture that with another program, or give --iops and --capacity"
        )
    table = pl.concat([capture.table for capture in captures])
    chosen = select(table, only)
    total = add_up(chosen.table)
    prefix = {capture.source: f"{capture.source}: " if len(captures) > 1 else "" for capture in captures}
    notes = [f"{prefix[capture.source]}{note}" for capture in captures for note in capture.notes]
    systems = None if "write_iops" in total.columns else _systems(table, total.hosts)
    return GatheredLoad(total, systems, tuple(dict.fromkeys((*notes, *chosen.notes, *total.notes))))


def _systems(table: pl.DataFrame, hosts: Sequence[str]) -> TotalLoad | None:
    """Add up what the hosts did as a whole, where each tells reads from writes."""
    found = table.filter((pl.col("layer") == Layer.SYSTEM) & pl.col("host").is_in([*hosts]))
    if {*found["host"]} != {*hosts} or found["write_iops"].has_nulls():
        return None
    return add_up(found)
