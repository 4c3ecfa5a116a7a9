"""What is left of the rate of a job when others work beside it?

A job of a phase of several is held against the same job (all but its name) in a phase of the same run in which it was alone.
The share is the rate together over the rate alone. Its interval is of both windows, put together as that of any ratio
(`statistics/share_interval.py`); where the sequence was repeated, of the repeats (`statistics/ratio.py`), which also holds
what differs from one minute to the next.
"""

from collections.abc import Iterator, Sequence

import msgspec

from assay import plan
from assay.analysis.record import RunRecord
from assay.analysis.recorded_operations import WHOLE_LOOP
from assay.analysis.statistics.ratio import RatioMethod, ratio_between
from assay.analysis.statistics.share_interval import Interval, ratio_interval
from assay.results import Result, SoloShare
from assay.verdicts import TrustLevel

_WINDOWS = "windows"
_LOWEST_FIRST = (TrustLevel.NO, TrustLevel.WEAK, TrustLevel.YES)
_Key = tuple[str, str]
"""Phase and job."""


def solo_shares(run: RunRecord, measured: Sequence[Result]) -> tuple[SoloShare, ...]:
    """Give the share of each job that worked beside others and alone, in the order of the Plan."""
    rates = _rates(measured)
    return tuple(
        _share(rates[beside], rates[alone]) for beside, alone in _pairs(run.plan) if {beside, alone} <= rates.keys()
    )


def _pairs(its_plan: plan.Plan) -> Iterator[tuple[_Key, _Key]]:
    """Find the jobs of phases of several that have a phase of their own."""
    first = [phase for phase in its_plan.phases if phase.repeat == 0]
    alone = [(phase.name, phase.jobs[0]) for phase in first if len(phase.jobs) == 1]
    for phase in first:
        for job in phase.jobs if len(phase.jobs) > 1 else ():
            for name, other in alone:
                if _nameless(job) == _nameless(other):
                    yield (phase.name, job.name), (name, other.name)
                    break


def _nameless(job: plan.Job) -> plan.Job:
    return msgspec.structs.replace(job, name="job")


def _rates(measured: Sequence[Result]) -> dict[_Key, list[Result]]:
    """Give the results of all that each job does, by phase and job, a repeat each; those without a rate are left out."""
    found: dict[_Key, list[Result]] = {}
    wholes = {(one.phase, one.job) for one in measured if one.operation == WHOLE_LOOP}
    for one in measured:
        is_whole = one.operation == WHOLE_LOOP or (one.phase, one.job) not in wholes
        if is_whole and one.iops:
            found.setdefault((one.phase, one.job), []).append(one)
    return found


def _share(beside: Sequence[Result], alone: Sequence[Result]) -> SoloShare:
    found = ratio_between([one.iops or 0.0 for one in alone], [one.iops or 0.0 for one in beside])
    method, ends = found.method.value, None
    if found.method is RatioMethod.SINGLE:
        method, ends = _WINDOWS, _of_windows(beside[0], alone[0])
    elif found.low is not None and found.high is not None:
        ends = (found.low, found.high)
    return SoloShare(
        result=beside[0].label,
        solo=alone[0].label,
        share=found.ratio,
        interval=ends,
        method=method,
        trust=min((one.trust.level for one in (*beside, *alone)), key=_LOWEST_FIRST.index),
    )


def _of_windows(beside: Result, alone: Result) -> Interval | None:
    of_alone, of_beside = _window_interval(alone), _window_interval(beside)
    if of_alone is None or of_beside is None:
        return None
    return ratio_interval(alone.iops or 0.0, of_alone, beside.iops or 0.0, of_beside)


def _window_interval(one: Result) -> Interval | None:
    """Give what a window alone leaves open of a rate; what differs between runs is not in it."""
    if one.iops is None or one.iops_interval is None:
        return None
    half = one.iops * one.iops_interval.within_share
    return one.iops - half, one.iops + half
