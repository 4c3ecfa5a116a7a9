"""Two sides of quick runs in memory, whose differences are planted: what a comparison must say and show is known."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from assay.analysis.record import read
from assay.compare.arms import Arm
from assay.compare.comparison import Comparison, compare
from assay.report.comparison.compared_runs import ComparedSide, side_of
from unit.quick_run import LOADS, Load, quick_run

JITTER = (1.0, 1.004, 0.996, 1.002, 0.998)
"""Of the rates of five runs, around those of the first."""
FASTER = {"randread-1": 1.25, "syncwrite": 0.8}
"""What of B is not as in A: by load, its rate as a multiple."""


def compared(
    loads: Sequence[Load] = LOADS[:5],
    *,
    runs: int = 5,
    faster: dict[str, float] = FASTER,
    names: Sequence[str] = ("before", "after"),
) -> tuple[Comparison, tuple[ComparedSide, ...]]:
    """Make runs of each name in turns, and compare them; the loads of all but the first are as much faster."""
    sides = []
    for place, name in enumerate(names):
        factors = faster if place else {}
        documents, records = [], []
        for number, jitter in enumerate(JITTER[:runs]):
            # A rate is the reciprocal of the latency, as in a closed loop.
            made = tuple(_scaled(load, jitter * factors.get(load.name, 1.0)) for load in loads)
            memory, document = quick_run(made)
            run_id = f"run-{place}-{number}"
            told = msgspec.structs.replace(
                document.run, id=run_id, started_utc=f"2026-01-01T{number:02d}:{10 * place:02d}:00Z"
            )
            documents.append(msgspec.structs.replace(document, run=told))
            records.append(replace(read(memory), run_id=run_id))
        sides.append(side_of(place, Arm.of(name, documents), records))
    return compare([side.arm for side in sides]), tuple(sides)


def _scaled(load: Load, factor: float) -> Load:
    modes = tuple((weight, median / factor, sigma) for weight, median, sigma in load.modes)
    return replace(load, ops_per_s=load.ops_per_s * factor, modes=modes)
