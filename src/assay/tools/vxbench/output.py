"""The vxbench-style text of a run: a line for each worker, and one for all.

    user N: <elapsed> sec <rate> KB/s cpu: <s> sys <s> user
    total:  the same for all workers together

Elapsed counts from the common start to the end of the worker's last I/O or flush, with the sleeps that were asked for; of
all, to the end of the last worker's. Rates are bytes / elapsed in units of 1024 (KB) or 1,048,576 bytes (MB): the total is
not the sum of the lines above it, because workers end at different times. CPU is the worker's own clock, shared out between
sys and user as the kernel's counts of 1/100 s are; work that the kernel does on its own threads is not in it.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from assay import plan
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.events import StoppedBy
from assay.plan.walk import job_actions
from assay.tools.measured import totals
from assay.tools.vxbench import Settings, Sharing, from_source
from assay.tools.vxbench.plan import FSYNC, transfer_names
from assay.units import ABSENT, KIB, MIB

if TYPE_CHECKING:
    from assay.report.figure import Figure

MOST_DRAWN = 64
"""Workers in one picture."""

_DONE = {StoppedBy.OPS, StoppedBy.PASSES}
"""A worker that ended so did all that it was asked for."""


@dataclasses.dataclass(frozen=True)
class User:
    """One worker over the whole run."""

    number: int
    file: str
    """As typed."""
    thread: int
    """Of its file, from 1."""
    seconds: float
    bytes: int
    user_cpu_ns: int | None
    """None: not recorded."""
    system_cpu_ns: int | None

    def rate(self, unit_bytes: int) -> float:
        """Units per second; 0 before anything was moved."""
        return self.bytes / unit_bytes / self.seconds if self.seconds > 0 else 0.0


def text(run: RunRecord) -> str:
    """Print the run; of one that was cut, what was measured, and how much of it is missing."""
    settings = from_source(run.plan.origin.source)
    lines = [*_heading(run, settings)] if settings.is_verbose else []
    if not settings.is_summary:
        lines += [_line(f"user {user.number}:", user, settings) for user in users(run)]
    lines.append(_line("total:", _together(run, settings), settings))
    if settings.is_verbose:
        lines += _by_workload(run, settings)
    done = sum(totals(phase, name).ops for phase in run.phases for name in _transfers(settings))
    if done < settings.ios_asked:
        lines.append(f"incomplete: {done} of {settings.ios_asked} I/Os were done")
    return "\n".join(lines) + "\n"


def users(record: RunRecord) -> list[User]:
    """Add every worker's phases up, in the order of the files and of each file's threads."""
    settings = from_source(record.plan.origin.source)
    sums = dict.fromkeys(range(1, settings.users + 1), _Work())
    for phase in record.phases:
        for number, work in _works(record, phase, settings):
            sums[number] += work
    return [
        User(
            number=number,
            file=settings.files[(number - 1) // settings.nthreads],
            thread=(number - 1) % settings.nthreads + 1,
            **dataclasses.asdict(work),
        )
        for number, work in sums.items()
    ]


def figures(run: RunRecord) -> Sequence["Figure"]:
    """Draw who got how much; nothing for one worker, or for more than a picture can name."""
    # Here, because the text has to be printed where the libraries that draw are not installed.
    from assay.report.figure import Figure, Table  # noqa: PLC0415
    from assay.tools.charts import COLOURS, Axis, Bar, grouped  # noqa: PLC0415

    settings = from_source(run.plan.origin.source)
    measured = users(run)
    if not 1 < len(measured) <= MOST_DRAWN or not run.phases:
        return ()
    unit, unit_bytes = _unit(settings)
    bars = [Bar(user.file, f"user {user.number}", user.rate(unit_bytes), COLOURS[0]) for user in measured]
    rows = tuple((f"user {u.number}, {u.file}", f"{u.rate(unit_bytes):,.2f}", f"{u.seconds:.3f}") for u in measured)
    rates = [user.rate(unit_bytes) for user in measured]
    return (
        Figure(
            slug="vxbench-users",
            title="Rate of each worker",
            caption=f"Its bytes by its own elapsed time, in {unit}. The workers do the same: where the bars differ, they"
            " were not served alike.",
            alt_text=f"Rates of {len(measured)} workers between {min(rates):,.2f} and {max(rates):,.2f} {unit}.",
            chart=grouped(bars, Axis(unit)),
            table=Table(("Worker", unit, "Elapsed, s"), rows),
        ),
    )


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
    rows = phase.workers.sort("t_ns").group_by("job", "worker", maintain_order=True).last()
    samples = {(row["job"], row["worker"]): row for row in rows.iter_rows(named=True)}
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


def _together(record: RunRecord, settings: Settings) -> User:
    """All workers as one: from the first start to the last end of each phase."""
    all_of_them = _Work()
    for phase in record.phases:
        works = [work for _, work in _works(record, phase, settings)]
        together = sum(works, start=_Work())
        all_of_them += dataclasses.replace(together, seconds=max((work.seconds for work in works), default=0.0))
    return User(number=0, file="", thread=0, **dataclasses.asdict(all_of_them))


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


# -- lines -------------------------------------------------------------------------------------------------------------


def _line(label: str, user: User, settings: Settings) -> str:
    unit, unit_bytes = _unit(settings)
    system, own = _cpu(user.system_cpu_ns), _cpu(user.user_cpu_ns)
    rate = user.rate(unit_bytes)
    return f"{label:<8} {user.seconds:9.3f} sec {rate:12.2f} {unit}  cpu: {system:>7} sys {own:>7} user"


def _unit(settings: Settings) -> tuple[str, int]:
    return ("MB/s", MIB) if settings.is_in_mb else ("KB/s", KIB)


def _cpu(nanoseconds: int | None) -> str:
    return ABSENT if nanoseconds is None else f"{nanoseconds / NS_PER_S:.2f}"


def _heading(run: RunRecord, settings: Settings) -> Iterator[str]:
    """Say what a repetition of the run has to know: command, I/O, range, seed, and where each worker's data lies."""
    yield f"command: {run.plan.origin.source}"
    names = (f"sleep {settings.sleeptime:g} s" if w.name == "sleep" else w.name for w in settings.workloads)
    often = "once" if settings.nrep == 1 else f"{settings.nrep} times"
    yield f"workloads: {', '.join(names)}; {often}, seed {settings.seed}"
    if "append" in settings.modes:
        yield f"I/O: {settings.iocount} x {settings.iosize} bytes at the end of empty files"
    else:
        place = f"bytes {settings.startoffset} to {settings.startoffset + settings.range_bytes - 1} of each file"
        yield f"I/O: {settings.iocount} x {settings.iosize} bytes in {place}{_stride(settings)}"
    folders = [_folder(run.plan, file_set) for file_set in run.plan.file_sets for _ in range(file_set.files)]
    kind = "threads" if settings.sharing is Sharing.THREADS else "processes"
    for i, (file, folder) in enumerate(zip(settings.files, folders, strict=True)):
        one, most = i * settings.nthreads + 1, (i + 1) * settings.nthreads
        who = f"user {one}" if one == most else f"users {one}-{most}, {kind}"
        yield f"{who}: {file}, data in {folder}"


def _stride(settings: Settings) -> str:
    is_strided = settings.stride > 1 and not all(workload.is_random for workload in settings.data_workloads)
    return f", {settings.step_bytes} bytes from one to the next" if is_strided else ""


def _folder(asked: plan.Plan, file_set: plan.FileSet) -> Path:
    target = next(target for target in asked.targets if target.name == file_set.target)
    return Path(unquote(urlsplit(target.uri).path)) / "assay-data" / file_set.path


def _by_workload(record: RunRecord, settings: Settings) -> Iterator[str]:
    names = [*_transfers(settings), *([FSYNC] if settings.fsync else [])]
    for name in names:
        done = [totals(phase, name) for phase in record.phases]
        ops, moved, ns = (sum(getattr(part, key) for part in done) for key in ("ops", "bytes", "latency_sum_ns"))
        mean = f"{ns / ops / 1e6:.3f} ms each" if ops else "none"
        yield f"{name}: {ops} x, {moved} bytes, {mean}, errors {sum(part.errors for part in done)}"


def _transfers(settings: Settings) -> list[str]:
    return list(dict.fromkeys(name for workload in settings.data_workloads for name in transfer_names(workload)))
