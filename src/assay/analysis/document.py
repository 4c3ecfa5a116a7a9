"""From what was recorded to the result document: one `Result` per phase, job and operation (`phase_results.py`).

Of several clients the sums stand first, then what each client did by itself (`set_document.py`).
"""

from collections.abc import Callable, Iterator

from assay import results
from assay.analysis import findings
from assay.analysis.ceilings import ceilings_of
from assay.analysis.imported import imported_document
from assay.analysis.judgements import OF_RESULTS, OF_RUN
from assay.analysis.labels import with_distinct_labels
from assay.analysis.marked import marks_of_run
from assay.analysis.phase_results import judged_alone, phase_cases
from assay.analysis.record import RunRecord
from assay.analysis.repeats import summaries
from assay.analysis.rounds import rounds_of
from assay.analysis.rows import NS_PER_S
from assay.analysis.set_document import SetResults, set_results
from assay.analysis.solo import solo_shares
from assay.errors import MEASURED, NOT_TRUSTED
from assay.results import Document, Finding, Result

_FAILURES = frozenset({"clients-lost", "corruption", "engine-error", "no-operations", "unfinished"})
"""Findings of a run that did not do all that it was to do, or did something wrong."""
_BROKEN = ("counts-disagree", findings.INVALID)
"""Of a record that contradicts itself."""


def document(run: RunRecord, progress: Callable[[int, int], None] | None = None) -> Document:
    """Compute the result document of a run, sealed or not.

    Args:
        run: What was recorded.
        progress: Gets, of a run of several clients, how many of how many have been judged.
    """
    if run.original is not None:
        return imported_document(run, run.original)
    of_set = set_results(run, progress) if run.client_set is not None else SetResults()
    alone = () if run.client_set is not None else tuple(_alone(run))
    every = with_distinct_labels((*alone, *of_set.results))
    # Findings of all results together are findings of the sums; each client has its own results.
    measured = tuple(result for result in every if result.client is None)
    rounds = rounds_of(run, measured)
    of_all = [found for of_results in OF_RESULTS for found in of_results(run, measured)]
    own = of_set.findings if run.client_set is not None else [found for judge in OF_RUN for found in judge(run)]
    of_run = findings.ranked([*of_all, *own], run.plan.accept)
    info = run.info
    return Document(
        schema=results.SCHEMA,
        run=results.Run(
            id=run.run_id,
            name=run.remarks.name,
            tags=run.remarks.tags,
            note=run.remarks.note,
            bundle=str(run.path),
            sealed=run.is_sealed,
            command=info.command,
            started_utc=info.started_utc,
            seconds=info.seconds if info.seconds is not None else _seconds_recorded(run),
            exit_code=_exit_code(run, every, of_run),
            repeats=max((phase.repeat for phase in run.plan.phases), default=0) + 1,
        ),
        ceilings=ceilings_of(run),
        results=every,
        findings=of_run,
        marks=marks_of_run(run, measured),
        solo_shares=solo_shares(run, measured),
        clients=of_set.clients,
        starts=of_set.starts,
        sums=of_set.sums,
        summaries=summaries(measured, rounds),
        rounds=rounds,
    )


def _alone(run: RunRecord) -> Iterator[Result]:
    for record in run.phases:
        for case in phase_cases(run, record):
            yield judged_alone(case).result


def _exit_code(run: RunRecord, measured: tuple[Result, ...], of_run: tuple[Finding, ...]) -> int:
    """Describe how a run ended: `errors.EXIT_CODES` is the rule."""
    ended_by = run.info.exit_code
    # Older versions recorded 0 and 1 too; the findings decide between those.
    if ended_by is not None and ended_by > NOT_TRUSTED:
        return ended_by
    everything = [*of_run, *(finding for result in measured for finding in result.findings)]
    is_unusable = any(finding.severity == findings.INVALID for finding in everything)
    return NOT_TRUSTED if is_unusable or any(result.errors for result in measured) else MEASURED


def code_of_tool(judged: Document) -> int:
    """Give the exit code of a classic tool's own: 0 where it measured, whether or not a number is to be trusted."""
    everything = (*judged.findings, *(finding for result in judged.results for finding in result.findings))
    has_failed = any(result.errors for result in judged.results) or any(
        one.id in _FAILURES or (one.id, one.severity) == _BROKEN for one in everything
    )
    return MEASURED if judged.run.exit_code == NOT_TRUSTED and not has_failed else judged.run.exit_code


def _seconds_recorded(run: RunRecord) -> float:
    """Time from hello to the last sign of life, for a run that did not live to record it."""
    stamps = [getattr(event, "t_ns", 0) for event in run.events]
    stamps += [record.whole.end_ns for record in run.phases]
    return max(stamps, default=0) / NS_PER_S
