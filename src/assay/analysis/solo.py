"""What is left of the rate of a job when others work beside it?

A job of a phase of several is held against the same job (all but its name) in a phase of the same run in which it was alone.
The share is the rate together over the rate alone. Its interval is of both windows, put together as that of any ratio
(`statistics/share_interval.py`); where the sequence was repeated, of the repeats (`statistics/ratio.py`), which also holds
what differs from one minute to the next.

What a job has in common with those beside it, a target, a block device or neither, follows from where its file sets lie and
which devices are recorded below these targets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from assay import plan
from assay.analysis.device import devices_of
from assay.analysis.record import RunRecord
from assay.analysis.recorded_operations import WHOLE_LOOP
from assay.analysis.statistics.ratio import RatioMethod, ratio_between
from assay.analysis.statistics.share_interval import Interval, ratio_interval
from assay.plan.walk import job_ops, touched_sets
from assay.results import Result, SoloShare
from assay.verdicts import SharedStorage, TrustLevel

_WINDOWS = "windows"
_LOWEST_FIRST = (TrustLevel.NO, TrustLevel.WEAK, TrustLevel.YES)
_Key = tuple[str, str]
"""Phase and job."""


def solo_shares(run: RunRecord, measured: Sequence[Result]) -> tuple[SoloShare, ...]:
    """Give the share of each job that worked beside others and alone, in the order of the Plan."""
    rates = _rates(measured)
    return tuple(
        _share(rates[beside.key], rates[alone], beside, run)
        for beside, alone in _pairs(run.plan)
        if {beside.key, alone} <= rates.keys()
    )


@dataclass(frozen=True)
class _Beside:
    """A job that works beside others."""

    phase: plan.Phase
    job: plan.Job

    @property
    def key(self) -> _Key:
        return self.phase.name, self.job.name

    @property
    def others(self) -> list[plan.Job]:
        return [job for job in self.phase.jobs if job is not self.job]


def _pairs(its_plan: plan.Plan) -> Iterator[tuple[_Beside, _Key]]:
    """Find the jobs of phases of several that have a phase of their own."""
    first = [phase for phase in its_plan.phases if phase.repeat == 0]
    alone = [(phase.name, phase.jobs[0]) for phase in first if len(phase.jobs) == 1]
    for phase in first:
        for job in phase.jobs if len(phase.jobs) > 1 else ():
            for name, other in alone:
                if _nameless(job) == _nameless(other):
                    yield _Beside(phase, job), (name, other.name)
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


_NEAREST_FIRST = (SharedStorage.TARGET, SharedStorage.DEVICE, SharedStorage.UNKNOWN, SharedStorage.NONE)


def _shared(work: _Beside, run: RunRecord) -> SharedStorage:
    """Describe what a job has in common with the nearest of those beside it."""
    mine = _targets(work.job, run.plan)
    return min((_common(mine, _targets(other, run.plan), run) for other in work.others), key=_NEAREST_FIRST.index)


def _targets(job: plan.Job, its_plan: plan.Plan) -> set[str]:
    on = {file_set.name: file_set.target for file_set in its_plan.file_sets}
    return {on[name] for name in touched_sets(job, job_ops(job)) if name in on}


def _common(mine: set[str], theirs: set[str], run: RunRecord) -> SharedStorage:
    if mine & theirs:
        return SharedStorage.TARGET
    devices = [{target: set(devices_of(run, target)) for target in side} for side in (mine, theirs)]
    of_mine, of_theirs = (set[str]().union(*side.values()) for side in devices)
    if of_mine & of_theirs:
        return SharedStorage.DEVICE
    # A file system without a block device, such as one of a server, may be served by any.
    is_known = all(side and all(side.values()) for side in devices)
    return SharedStorage.NONE if is_known else SharedStorage.UNKNOWN


def _share(beside: Sequence[Result], alone: Sequence[Result], work: _Beside, run: RunRecord) -> SoloShare:
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
        beside=", ".join(job.name for job in work.others),
        shared=_shared(work, run),
    )


def _of_windows(beside: Result, alone: Result) -> Interval | None:
    of_alone, of_beside = _window_interval(alone), _window_interval(beside)
    if of_alone is None or of_beside is None:
        return None
    return ratio_interval(alone.iops or 0.0, of_alone, beside.iops or 0.0, of_beside)


def _window_interval(one: Result) -> Interval | None:
    return None if one.iops_interval is None else (one.iops_interval.low, one.iops_interval.high)
