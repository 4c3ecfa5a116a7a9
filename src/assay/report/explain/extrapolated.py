"""The paragraph of `assay explain` on what more clients would need."""

from collections.abc import Iterator

from assay.analysis.extrapolation import Extrapolation, extrapolate
from assay.analysis.phase_results import phase_cases
from assay.analysis.record import RunRecord
from assay.results import Result

USUAL_CLIENTS = 10


def extrapolated(run: RunRecord, result: Result, clients: int) -> Iterator[str]:
    """Describe what clients like this one need, or why that is unknown."""
    for record in run.phases:
        if (record.phase.name, record.phase.repeat) != (result.phase, result.repeat):
            continue
        for case in phase_cases(run, record):
            if (case.job.name, case.operation.name) != (result.job, result.operation):
                continue
            found = extrapolate(case, result, clients)
            if isinstance(found, Extrapolation):
                yield from found.words
            else:
                yield f"what {clients:,} clients need is unknown: {found}"
            return
