"""From vxbench-style settings to a Plan.

A worker does its workloads one after another without waiting for the others. That is one loop of one job as long as all
workloads reach the file in one way: a job has one backend, and one that keeps several I/Os in flight has a loop of those
alone. Else each workload is a phase of its own; with several workers that adds a wait for the slowest between workloads,
and the Plan records this.

Workers of neighbouring files in one directory are one job, so that they have one line of results. Worker `w` of a job
over `n` files has file `w modulo n`.
"""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from assay import plan
from assay.errors import InputError
from assay.tools.vxbench.settings import NAME, SLEEP, IoMethod, Settings, Sharing, Workload
from assay.units import format_bytes

SAMPLE_INTERVAL_S = 0.2
FSYNC = "fsync"
"""Name of the flush behind a workload."""

_ADVICE = {"noreuse": "noreuse", "rand": "random", "seq": "sequential"}


def to_plan(settings: Settings, origin: plan.Origin, directories: Sequence[Path]) -> plan.Plan:
    """Make the Plan.

    Args:
        settings: What is asked for.
        origin: Of the Plan.
        directories: Absolute directory of each file.

    Raises:
        InputError: a file is named twice.
    """
    groups = _groups(settings, directories)
    names = list(dict.fromkeys(directories))
    targets = tuple(plan.Target(name=_number("target", i), uri=path.as_uri()) for i, path in enumerate(names))
    sets = tuple(
        _file_set(settings, _number("files", i), targets[names.index(group.directory)].name, group)
        for i, group in enumerate(groups)
    )
    return plan.Plan(
        name=NAME,
        origin=origin,
        seed=settings.seed,
        targets=targets,
        file_sets=sets,
        phases=_phases(settings, sets),
        sample_interval_s=SAMPLE_INTERVAL_S,
        untranslated=tuple(_list_deviations(settings)),
    )


def is_one_loop(settings: Settings) -> bool:
    """Return whether all workloads fit into one loop of a worker."""
    methods = {workload.method for workload in settings.data_workloads}
    return len(methods) == 1 and (IoMethod.ASYNC not in methods or settings.depth == 1 or len(settings.workloads) == 1)


# -- files -------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Group:
    """Files that were named one after another and lie in one directory."""

    directory: Path
    files: tuple[str, ...]


def _groups(settings: Settings, directories: Sequence[Path]) -> list[_Group]:
    placed = [(directory, Path(file).name) for directory, file in zip(directories, settings.files, strict=True)]
    for i, (directory, name) in enumerate(placed):
        if (directory, name) in placed[:i]:
            raise InputError(
                f"{NAME}: {directory / name} is named twice; for several workers on a file use -i nthreads="
            )
    return [
        _Group(directory, tuple(name for _, name in members))
        for directory, members in groupby(placed, key=lambda place: place[0])
    ]


def _file_set(settings: Settings, name: str, target: str, group: _Group) -> plan.FileSet:
    # Named by the files that the user means: the same names find the same data again.
    known_by = hashlib.sha256("/".join(group.files).encode()).hexdigest()[:8]
    appends = "append" in settings.modes
    size = 0 if appends else settings.startoffset + settings.range_bytes
    return plan.FileSet(
        name=name,
        target=target,
        path=f"{NAME}-{known_by}",
        files=len(group.files),
        size=plan.Fixed(value=float(size)),
        reuse=plan.Reuse.NEVER if appends else plan.Reuse.IF_MATCHES,
        allocate=plan.Allocate.SPARSE if settings.sparse else plan.Allocate.WRITE,
        keep=not settings.remove,
    )


# -- phases ------------------------------------------------------------------------------------------------------------


def _phases(settings: Settings, sets: Sequence[plan.FileSet]) -> tuple[plan.Phase, ...]:
    phases = [_one_phase(settings, sets)] if is_one_loop(settings) else list(_phase_each(settings, sets))
    first, last = phases[0], phases[-1]
    laid_out: list[plan.Step] = [plan.Prepare(set=file_set.name) for file_set in sets]
    cold: list[plan.Step] = [plan.Evict(set=file_set.name) for file_set in sets] if settings.cold else []
    cache = plan.CacheCondition.COLD if settings.cold else plan.CacheCondition.AS_IS
    phases[0] = _with(first, before=(*laid_out, *first.before, *cold), cache=cache)
    if settings.remove:
        last = phases[-1]
        phases[-1] = _with(last, after=(*last.after, *(plan.Remove(set=file_set.name) for file_set in sets)))
    return tuple(phases)


def _one_phase(settings: Settings, sets: Sequence[plan.FileSet]) -> plan.Phase:
    names = "-".join(workload.name for workload in settings.workloads[:4])
    title = ", ".join(dict.fromkeys(workload.name for workload in settings.workloads))
    return _phase(settings, sets, settings.workloads, name=names, title=title, repetitions=settings.nrep)


def _phase_each(settings: Settings, sets: Sequence[plan.FileSet]) -> Iterator[plan.Phase]:
    """Give each workload of each repetition a phase; a sleep is a step before the next."""
    asleep: list[plan.Step] = []
    pending: plan.Phase | None = None
    for repeat in range(settings.nrep):
        for number, workload in enumerate(settings.workloads, start=1):
            if workload is SLEEP:
                asleep.append(plan.Sleep(seconds=settings.sleeptime or 0.0))
                continue
            if pending is not None:
                yield pending
            name = f"{number}-{workload.name}"
            phase = _phase(settings, sets, (workload,), name=name, title=workload.name, repetitions=1)
            pending = _with(phase, repeat=repeat, before=tuple(asleep))
            asleep = []
    if pending is not None:
        yield _with(pending, after=tuple(asleep))


def _phase(
    settings: Settings,
    sets: Sequence[plan.FileSet],
    workloads: tuple[Workload, ...],
    *,
    name: str,
    title: str,
    repetitions: int,
) -> plan.Phase:
    jobs = tuple(
        _job(settings, workloads, file_set, _number("users", i), repetitions) for i, file_set in enumerate(sets)
    )
    every = f", every {settings.stride}th" if settings.stride > 1 and not all(w.is_random for w in workloads) else ""
    return plan.Phase(name=name, title=f"{title}, {format_bytes(settings.iosize)}{every}", jobs=jobs)


def _job(
    settings: Settings, workloads: tuple[Workload, ...], file_set: plan.FileSet, name: str, repetitions: int
) -> plan.Job:
    method = next(workload.method for workload in workloads if workload is not SLEEP)
    is_queue = method is IoMethod.ASYNC and settings.depth > 1
    if is_queue:
        # A queue has nothing but I/O in its loop: the count is its stop rule.
        actions: tuple[plan.Action, ...] = (_transfer(settings, workloads[0], file_set.name),)
        stop = plan.Stop(ops=settings.iocount * repetitions)
    else:
        actions = tuple(action for workload in workloads for action in _actions(settings, workload, file_set.name))
        stop = plan.Stop(passes=repetitions)
    return plan.Job(
        name=name,
        body=plan.Loop(actions=actions),
        workers=file_set.files * settings.nthreads,
        kind=plan.WorkerKind.THREAD if settings.sharing is Sharing.THREADS else plan.WorkerKind.PROCESS,
        backend=_backend(method),
        queue_depth=settings.depth if is_queue else 1,
        open=_open_flags(settings),
        stop=stop,
    )


def _backend(method: IoMethod) -> plan.Backend:
    if method is IoMethod.ASYNC:
        return plan.IoUring(fallback=plan.Fallback.THREADS)
    return plan.Mmap() if method is IoMethod.MAPPED else plan.Psync()


def _open_flags(settings: Settings) -> plan.OpenFlags:
    asked = settings.modes | settings.advisories
    return plan.OpenFlags(
        direct=plan.Direct.ON if asked & {"direct", "unbuffered"} else plan.Direct.OFF,
        sync="sync" in asked,
        dsync="dsync" in asked,
        append="append" in asked,
        advice=next((_ADVICE[name] for name in sorted(settings.advisories) if name in _ADVICE), ""),
    )


# -- what a worker does ------------------------------------------------------------------------------------------------


def _actions(settings: Settings, workload: Workload, set_name: str) -> Iterator[plan.Action]:
    if workload is SLEEP:
        yield plan.Think(seconds=plan.Fixed(value=settings.sleeptime or 0.0))
        return
    yield plan.Repeat(times=settings.iocount, actions=(_transfer(settings, workload, set_name),))
    if settings.fsync and workload.writes:
        own = plan.FromSet(set=set_name, pick=plan.Own())
        yield plan.Do(op=plan.Op(op=plan.OpKind.FSYNC, name=FSYNC, file=own))


def _transfer(settings: Settings, workload: Workload, set_name: str) -> plan.Action:
    def operation(kind: plan.OpKind, name: str) -> plan.Do:
        own = plan.FromSet(set=set_name, pick=plan.Own())
        size = plan.Fixed(value=float(settings.iosize))
        return plan.Do(op=plan.Op(op=kind, name=name, file=own, access=_access(settings, workload), size=size))

    if not workload.is_mixed:
        return operation(plan.OpKind.READ if workload.reads else plan.OpKind.WRITE, workload.name)
    reads, writes = transfer_names(workload)
    return plan.Choice(
        branches=(
            plan.Branch(weight=settings.rdpct, actions=(operation(plan.OpKind.READ, reads),)),
            plan.Branch(weight=100 - settings.rdpct, actions=(operation(plan.OpKind.WRITE, writes),)),
        )
    )


def transfer_names(workload: Workload) -> tuple[str, ...]:
    """List the names of a workload's operations in the record: of a mixed one, its reads and its writes."""
    return (f"{workload.name}-reads", f"{workload.name}-writes") if workload.is_mixed else (workload.name,)


def _access(settings: Settings, workload: Workload) -> plan.Access:
    if "append" in settings.modes:
        return plan.Append()
    region = plan.Range(from_bytes=settings.startoffset, length_bytes=settings.range_bytes)
    if workload.is_random:
        return plan.RandomAccess(region=region)
    if settings.stride > 1:
        return plan.Stride(stride_bytes=settings.step_bytes, region=region)
    return plan.Sequential(region=region)


# -- deviations of the Plan ------------------------------------------------------------------------------------------


def _list_deviations(settings: Settings) -> Iterator[plan.Untranslated]:
    if settings.sharing is Sharing.PROCESS_PER_FILE and settings.nthreads > 1:
        yield plan.Untranslated(
            what=f"-P with nthreads={settings.nthreads}: threads inside a process",
            why="each of these threads ran as a process of its own",
        )
    if "unbuffered" in settings.advisories:
        yield plan.Untranslated(
            what="-c unbuffered", why="only VxFS has that advisory; O_DIRECT was used instead, as for -c direct"
        )
    if not is_one_loop(settings) and settings.users > 1:
        yield plan.Untranslated(
            what="independent workload sequences of the workers",
            why="these workloads reach their file in different ways, so all workers waited for the slowest between them",
        )


def _number(name: str, i: int) -> str:
    return name if i == 0 else f"{name}-{i + 1}"


def _with(phase: plan.Phase, **changes: object) -> plan.Phase:
    return msgspec.structs.replace(phase, **changes)
