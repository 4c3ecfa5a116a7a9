"""Build the load of `assay quick`: the suite of that name, with data and phases of a chosen size."""

from pathlib import Path

import msgspec

from assay.loads import native, suites
from assay.loads.parameters import format_phase_seconds
from assay.loads.sizing import Sizing
from assay.plan import Plan

DEFAULT_SECONDS = 60.0
LONGEST = 3.0
"""Times its length that a phase may take to come to a steady rate."""
LOOKED_UP = 5_000
"""Files that are looked up, the same number in each run; storage that makes 500 a second lays them out in ten seconds."""
SEVERAL = "-many"
"""End of the names of phases with several workers."""


def source_text() -> str:
    """The load file of the suite."""
    return suites.text("quick")


def default_plan(directory: Path) -> Plan:
    """Make the Plan with its default sizes: its phases and operations are known before the machine is looked at."""
    return native.parse(source_text(), "quick.toml", directory=directory, settings={})


def plan(directory: Path, sizing: Sizing, repeat: int = 1) -> Plan:
    """Make the Plan for a directory, whose phases are measured `repeat` times."""
    values = {
        "size": str(sizing.size_bytes),
        "files": str(sizing.files),
        "looked_up": str(min(sizing.files, LOOKED_UP)),
        "phase_seconds": format_phase_seconds(sizing.phase_seconds),
        "metadata_seconds": format_phase_seconds(sizing.metadata_seconds),
        "longest_phase": format_phase_seconds(sizing.phase_seconds * LONGEST),
        "longest_metadata": format_phase_seconds(sizing.metadata_seconds * LONGEST),
        "workers": str(sizing.workers),
        "interval": f"{sizing.interval_s:g}s",
    }
    whole = native.parse(source_text(), "quick.toml", directory=directory, settings=values, repeat=repeat)
    if sizing.workers > 1:
        return whole
    # With one CPU the phases of several workers would be those of one again.
    phases = tuple(phase for phase in whole.phases if not phase.name.endswith(SEVERAL))
    return msgspec.structs.replace(whole, phases=phases)
