"""What each worker of a vxbench-style run did.

Elapsed counts from the common start to the end of the worker's last I/O or flush, with the sleeps that were asked for. CPU
is the worker's own clock, shared out between sys and user as the kernel's counts of 1/100 s are; work that the kernel does
on its own threads is not in it.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay import plan
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.events import StoppedBy
from assay.plan.walk import job_actions
from assay.tools.vxbench.settings import Settings

_DONE = {StoppedBy.OPS, StoppedBy.PASSES}
"""A worker that ended so did all that it was asked for."""


@dataclasses.dataclass(frozen=True)
class UserTotals:
    """One worker over the whole run."""

    number: int
    file: str
    """As typed."""
    seconds: float
    bytes: int
    user_cpu_ns: int | None
    """None: not recorded."""
    system_cpu_ns: int | None

    def rate(self, unit_bytes: int) -> float:
        """Compute units per second; 0 before anything was moved."""
        return self.bytes / unit_bytes / self.seconds if self.seconds > 0 else 0.0


def users(record: RunRecord, settings: Settings) -> list[UserTotals]:
    """Add every worker's phases up, in the order of the files and of each file's threads."""
    sums = dict.fromkeys(range(1, settings.users + 1), _Work())
    for phase in record.phases:
        for number, work in _works(record, phase, settings):
            sums[number] += work
    return [
        UserTotals(number=number, file=settings.files[(number - 1) // settings.nthreads], **dataclasses.asdict(work))
        for number, work in sums.items()
    ]


# -- one worker in one phase -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Work:
    seconds: float = 0.0
    bytes: int = 0
    user_cpu_ns: int | None = 0
    system_cpu_ns: int | None = 0

    def __add__(self, other: "_Work") -> "_Work":
        return _Work(
            seconds=self.seconds + other.seconds,
            bytes=self.bytes + other.bytes,
            user_cpu_ns=_sum([self.user_cpu_ns, other.user_cpu_ns]),
            system_cpu_ns=_sum([self.system_cpu_ns, other.system_cpu_ns]),
        )


def _works(record: RunRecord, phase: PhaseRecord, settings: Settings) -> Iterator[tuple[int, _Work]]:
    """Give each worker's number and what it did in a phase, by its last sample where the phase was cut."""
    jobs = phase.phase.jobs
    samples = {(job.name, worker): row for job in jobs for worker, row in phase.workers_at(job.name).items()}
    windows = {(w.job, w.worker): w for w in (phase.finished.workers if phase.finished else ())}
    before_s = _asleep_s(phase.phase.before)
    before_job = 0
    split = _Split.of(list(samples.values()))
    for job, file_set in zip(phase.phase.jobs, record.plan.file_sets, strict=True):
        for worker in range(job.workers):
            window, sample = windows.get((job.name, worker)), samples.get((job.name, worker))
            if sample is None:
                continue
            end_ns = sample["t_ns"] if window is None else window.last_op_ns or phase.start_ns
            after_s = _last_sleep_s(phase, job) if window is not None and window.stopped_by in _DONE else 0.0
            yield (
                before_job + worker % file_set.files * settings.nthreads + worker // file_set.files + 1,
                _Work(
                    seconds=before_s + max(0, end_ns - phase.start_ns) / NS_PER_S + after_s,
                    bytes=sample["bytes"],
                    **split.cpu_ns(sample),
                ),
            )
        before_job += job.workers


@dataclasses.dataclass(frozen=True)
class _Split:
    """How CPU time falls into user and system, by what the kernel counts in steps of 1/100 s.

    A worker that did not get through one such step is split as all workers of the phase together, who do the same.
    """

    user_ns: int
    system_ns: int

    @classmethod
    def of(cls, samples: Sequence[Mapping[str, Any]]) -> "_Split":
        return cls(*(sum(sample[key] or 0 for sample in samples) for key in ("user_cpu_ns", "system_cpu_ns")))

    def cpu_ns(self, sample: Mapping[str, Any]) -> dict[str, int | None]:
        user, system, exact = (sample[key] for key in ("user_cpu_ns", "system_cpu_ns", "on_cpu_ns"))
        if user is None or system is None:
            return {"user_cpu_ns": None, "system_cpu_ns": None}
        own = (user, system) if user + system else (self.user_ns, self.system_ns)
        if exact is None or not sum(own):
            return {"user_cpu_ns": user, "system_cpu_ns": system}
        in_user = exact * own[0] // sum(own)
        return {"user_cpu_ns": in_user, "system_cpu_ns": exact - in_user}


def _asleep_s(steps: Sequence[plan.Step]) -> float:
    return sum(step.seconds for step in steps if isinstance(step, plan.Sleep))


def _last_sleep_s(phase: PhaseRecord, job: plan.Job) -> float:
    """Sleep behind a worker's last I/O: in its loop, or as a step after the phase."""
    *_, last = job_actions(job)
    in_loop = last.seconds.value if isinstance(last, plan.Think) and isinstance(last.seconds, plan.Fixed) else 0.0
    return in_loop + _asleep_s(phase.phase.after)


def together(record: RunRecord, settings: Settings) -> UserTotals:
    """Give all workers as one: from the first start to the last end of each phase."""
    all_of_them = _Work()
    for phase in record.phases:
        works = [work for _, work in _works(record, phase, settings)]
        summed = sum(works, start=_Work())
        all_of_them += dataclasses.replace(summed, seconds=max((work.seconds for work in works), default=0.0))
    return UserTotals(number=0, file="", **dataclasses.asdict(all_of_them))


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
