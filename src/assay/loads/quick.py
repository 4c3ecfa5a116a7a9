"""Build the load of `assay quick`: the suite of that name, with data and phases of a chosen size.

On a block device it is the phases that work on the data alone, and without `--destroy-data` those that only read.
"""

import msgspec

from assay.loads import native, suites
from assay.loads.parameters import format_phase_seconds
from assay.loads.sizing import Sizing
from assay.places import DevicePlace, Place
from assay.plan import Ceilings, Phase, Plan, Prepare, Step
from assay.plan.op_rules import CHANGES
from assay.plan.walk import job_ops, phase_sets

DEFAULT_SECONDS = 60.0
DEVICE_PHASE_SECONDS = 8.0
"""Length of a phase on a block device, as it is on a directory."""
LONGEST = 3.0
"""Times its length that a phase may take to come to a steady rate."""
LOOKED_UP = 5_000
"""Files that are looked up, the same number in each run; storage that makes 500 a second lays them out in ten seconds."""
_DATA = "data"
"""The set that streams and random transfers work on."""
SEVERAL = "-many"
"""End of the names of phases with several workers."""


def source_text() -> str:
    """The load file of the suite."""
    return suites.text("quick")


def default_plan(place: Place) -> Plan:
    """Make the Plan with its default sizes: its phases and operations are known before the machine is looked at."""
    return _possible(native.parse(source_text(), "quick.toml", directory=place, settings={}), place)


def default_seconds(default: Plan, place: Place) -> float:
    """Length of all timed phases together, where the user gives none."""
    return DEFAULT_SECONDS if not isinstance(place, DevicePlace) else DEVICE_PHASE_SECONDS * len(default.phases)


def plan(place: Place, sizing: Sizing, repeat: int = 1) -> Plan:
    """Make the Plan for a directory or a block device, whose phases are measured `repeat` times."""
    values = {
        "size": str(sizing.size_bytes),
        "files": str(max(sizing.files, 1)),
        "looked_up": str(max(min(sizing.files, LOOKED_UP), 1)),
        "phase_seconds": format_phase_seconds(sizing.phase_seconds),
        "metadata_seconds": format_phase_seconds(sizing.metadata_seconds),
        "longest_phase": format_phase_seconds(sizing.phase_seconds * LONGEST),
        "longest_metadata": format_phase_seconds(sizing.metadata_seconds * LONGEST),
        "workers": str(sizing.workers),
        "interval": f"{sizing.interval_s:g}s",
    }
    whole = _possible(native.parse(source_text(), "quick.toml", directory=place, settings=values, repeat=repeat), place)
    if sizing.workers > 1:
        return whole
    # With one CPU the phases of several workers would be those of one again.
    phases = tuple(phase for phase in whole.phases if not phase.name.endswith(SEVERAL))
    return msgspec.structs.replace(whole, phases=phases)


def _possible(whole: Plan, place: Place) -> Plan:
    """Leave out what a block device does not have, and what would write to it."""
    if not isinstance(place, DevicePlace):
        return whole
    kept: list[Phase] = []
    needed: tuple[Step, ...] = ()
    for phase in whole.phases:
        if _is_possible(phase, is_written=place.destroy_data):
            kept.append(msgspec.structs.replace(phase, before=(*needed, *phase.before)))
            needed = ()
        else:
            needed += tuple(step for step in phase.before if isinstance(step, Prepare | Ceilings) and step.set == _DATA)
    file_sets = tuple(one for one in whole.file_sets if one.name == _DATA)
    return msgspec.structs.replace(whole, phases=tuple(kept), file_sets=file_sets)


def _is_possible(phase: Phase, *, is_written: bool) -> bool:
    ops = {op.op for job in phase.jobs for op in job_ops(job)}
    return set(phase_sets(phase)) == {_DATA} and (is_written or not ops & CHANGES)
