"""The Plan of a script: one phase with a job for each thread, and before it what the script does first.

A thread's instances are workers of one job. Threads that wait for others by name (`semblock`, `block`) have a job each,
because each of them has a semaphore of its own. Processes that end by a count have a job each: they count for themselves.
Asynchronous writes are done by jobs of their own, as glibc has them done by threads of its own.
"""

import dataclasses
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from assay import plan
from assay.errors import FrontEndError
from assay.targets import of_directory
from assay.tools.filebench.flowops import TYPES
from assay.tools.filebench.personality import Before, FilesetFiles, Flowop, Note, Personality, Process, Thread
from assay.tools.filebench.thread_plan import PlanContext, ThreadPlan, ThreadPlanner, helper, leaf_set

RUN: Final = "run"
"""Name of the phase that is measured."""
TARGET: Final = "target"
_COMMANDS: Final = "commands"
"""File set of commands: an operation has a file."""
_DIRECTORIES: Final = "directories"
"""Name of the phases that make leaf directories which are to be there."""
_SEED: Final = 1
_AIO_THREADS: Final = 20
"""What glibc has at most for a process (`aio_threads`)."""
_MOST_JOBS: Final = 5_000
_MOST_NAMED: Final = 3
"""Things left out for one reason that are named."""
_SHELL: Final = ("/bin/sh", "-c")


@dataclasses.dataclass(frozen=True)
class Source:
    """Where the numbers of a flowop come from: a job, its operations, and without any, the source of their numbers."""

    job: str
    operations: tuple[str, ...]
    times: float
    """How often it is done for each time that the operation of `passes_by` is."""
    passes_by: str = ""


@dataclasses.dataclass(frozen=True)
class Planned:
    """What the Plan is made of."""

    jobs: tuple[plan.Job, ...]
    sets: tuple[str, ...]
    """Names of the file sets that are used."""
    sources: Mapping[str, tuple[Source, ...]]
    """By flowop, of all that do something."""
    kinds: Mapping[str, str]
    """Type of each flowop."""
    untranslated: tuple[plan.Untranslated, ...]


@dataclasses.dataclass(frozen=True)
class _Group:
    """Workers that do the same: all instances of a thread, or some."""

    process: Process
    thread: Thread
    name: str
    workers: int
    own: Mapping[str, str]


def plan_threads(workload: Personality, source: str) -> Planned:
    """Plan all threads; raises FrontEndError for what is not supported."""
    groups = [group for process in workload.processes for group in _groups(process, source)]
    waiting: dict[str, tuple[str, ...]] = {}
    high_water: dict[str, int] = {}
    for group in groups:
        for flowop in _waiters(group.thread):
            name = group.own[flowop.name]
            high_water[name] = flowop.high_water
            for known in dict.fromkeys((flowop.short_name, flowop.name)):
                waiting[known] = tuple(dict.fromkeys((*waiting.get(known, ()), name)))
    posts = [flowop for group in groups for flowop, _ in group.thread.flowops() if flowop.kind == "sempost"]
    posted_to = frozenset(name for post in posts if post.is_blocking for name in waiting.get(post.target, ()))
    _check_names(workload, source)
    jobs: list[plan.Job] = []
    sets: dict[str, None] = {}
    sources: dict[str, list[Source]] = {}
    notes = dict.fromkeys(workload.notes)
    for group in groups:
        context = PlanContext(
            source=source,
            files=workload.files,
            event_rate=workload.event_rate,
            waiting=waiting,
            high_water=high_water,
            posted_to=posted_to,
            own=group.own,
            aio=f"{group.name}: ",
        )
        thread = dataclasses.replace(group.thread, instances=group.workers)
        made = ThreadPlanner(thread, context).make_plan()
        sets |= dict.fromkeys(made.sets)
        notes |= dict.fromkeys(made.notes)
        # A thread that only waits and posts has nothing that is recorded; it goes with one that has.
        if not any(isinstance(action, plan.Do) for action in _all(made.actions)):
            made, set_name = _with_an_operation(made, workload, group, source)
            sets[set_name] = None
        jobs.append(_job(group, made))
        jobs += _helpers(group, made, workload)
        for name, found in _sources(group, made).items():
            sources.setdefault(name, []).append(found)
        if len(jobs) > _MOST_JOBS:
            raise FrontEndError(
                source,
                group.thread.line,
                f"more than {_MOST_JOBS} threads that wait by name; use fewer instances",
            )
    return Planned(
        jobs=tuple(jobs),
        sets=tuple(sets),
        sources={name: tuple(found) for name, found in sources.items()},
        kinds=_kinds(workload),
        untranslated=_merge((*notes, *_of_files(workload, sets))),
    )


def _all(actions: tuple[plan.Action, ...]) -> Iterator[plan.Action]:
    for action in actions:
        yield action
        if isinstance(action, plan.Repeat):
            yield from _all(action.actions)


def _with_an_operation(made: ThreadPlan, workload: Personality, group: _Group, source: str) -> tuple[ThreadPlan, str]:
    """Open a file once before the passes, which are as they were."""
    name = next((files.name for files in workload.files.values() if files.entries and files.existing_share), "")
    if not name:
        raise FrontEndError(
            source,
            group.thread.line,
            f"near 'thread name={group.thread.name}': it works on no file; give it one flowop that does",
        )
    opened = plan.Op(op=plan.OpKind.OPEN, name="begin", file=plan.FromSet(set=name, pick=plan.InTurn(), slot=0))
    repeat = plan.Repeat(times=1 << 60, actions=made.actions)
    return dataclasses.replace(made, actions=(plan.Do(op=opened), repeat)), name


# -- who does what -----------------------------------------------------------------------------------------------------


def _waiters(thread: Thread) -> list[Flowop]:
    return [flowop for flowop, _ in thread.flowops() if flowop.kind in {"semblock", "block"}]


def _groups(process: Process, source: str) -> Iterator[_Group]:
    finishing = [
        (thread, flowop)
        for thread in process.threads
        for flowop, _ in thread.flowops()
        if flowop.kind in {"finishoncount", "finishonbytes"} and not flowop.target
    ]
    if finishing and len(process.threads) > 1:
        thread, flowop = finishing[0]
        raise FrontEndError(
            source,
            flowop.line,
            f"near 'flowop {flowop.kind} name={flowop.name}': it counts what all threads of process '{process.name}' do, and"
            " this has several kinds of them; give it target=..., an operation of its own thread",
        )
    for thread in process.threads:
        name = f"{process.name}.{thread.name}"
        waiters = _waiters(thread)
        if waiters:
            for number in range(1, process.instances * thread.instances + 1):
                own = {flowop.name: f"{name}.{number}: {flowop.name}" for flowop in waiters}
                yield _Group(process, thread, f"{name}.{number}", 1, own)
        elif finishing and process.instances > 1:
            for number in range(1, process.instances + 1):
                yield _Group(process, thread, f"{name}.{number}", thread.instances, {})
        else:
            yield _Group(process, thread, name, process.instances * thread.instances, {})


def _check_names(workload: Personality, source: str) -> None:
    seen: dict[str, int] = {}
    for process in workload.processes:
        for thread in process.threads:
            name = f"{process.name}.{thread.name}"
            if name in seen:
                raise FrontEndError(
                    source,
                    thread.line,
                    f"near 'thread name={thread.name}': process '{process.name}' has two threads of this name"
                    f" (see line {seen[name]}); give one of them another",
                )
            seen[name] = thread.line


def _kinds(workload: Personality) -> dict[str, str]:
    threads = (thread for process in workload.processes for thread in process.threads)
    return {flowop.name: flowop.kind for thread in threads for flowop, _ in thread.flowops()}


def _sources(group: _Group, made: ThreadPlan) -> dict[str, Source]:
    found: dict[str, Source] = {}
    counted = made.passes_by
    of_pass = counted[2] if counted else 1
    counts: dict[str, int] = {}
    for flowop, times in group.thread.flowops():
        counts[flowop.name] = counts.get(flowop.name, 0) + times
    for flowop, _ in group.thread.flowops():
        operations = made.operations.get(flowop.name, ())
        if operations:
            found[flowop.name] = Source(job=_job_of(group, flowop), operations=operations, times=1)
        elif counted and made.does_something(flowop):
            share = counts[flowop.name] / of_pass
            found[flowop.name] = Source(
                job=_job_of(group, counted[0]), operations=(), times=share, passes_by=counted[1]
            )
    return found


def _job(group: _Group, made: ThreadPlan) -> plan.Job:
    flags = plan.OpenFlags(
        direct=plan.Direct.ON if made.is_direct else plan.Direct.OFF,
        sync=made.is_sync,
        advice="" if made.reads_ahead else "random",
    )
    kind = plan.WorkerKind.PROCESS if group.process.instances > 1 else plan.WorkerKind.THREAD
    return plan.Job(name=group.name, body=plan.Loop(actions=made.actions), workers=group.workers, kind=kind, open=flags)


def _job_of(group: _Group, flowop: Flowop) -> str:
    return helper_job(group.name, flowop) if flowop.kind == "aiowrite" else group.name


def helper_job(group: str, flowop: Flowop) -> str:
    """Name the job that does the writes of an asynchronous flowop."""
    return f"{group}: {flowop.name}"


def _helpers(group: _Group, made: ThreadPlan, workload: Personality) -> Iterator[plan.Job]:
    for flowop in made.asynchronous:
        files = workload.files[flowop.files]
        length = flowop.working_set
        if isinstance(files.size, plan.Fixed):
            length = min(length, int(files.size.value))
        region = plan.Range(from_bytes=0, length_bytes=length) if length else plan.WholeFile()
        body = helper(flowop, files, f"{group.name}: ", plan.RandomAccess(region=region))
        flags = plan.OpenFlags(direct=plan.Direct.ON if flowop.is_direct else plan.Direct.OFF, sync=flowop.is_dsync)
        # glibc does the requests of one file descriptor in order, those of others in parallel.
        each = _AIO_THREADS if flowop.opens_next else 1
        yield plan.Job(
            name=helper_job(group.name, flowop), body=plan.Loop(actions=body), workers=each * group.workers, open=flags
        )


# -- files -------------------------------------------------------------------------------------------------------------


def _of_files(workload: Personality, sets: Mapping[str, None]) -> Iterator[Note]:
    for files in workload.files.values():
        if (
            files.name in sets
            and files.width
            and not files.is_file
            and files.entries > files.width
            and files.is_random_width
        ):
            yield Note(
                f"the random distribution of dirwidth of '{files.name}' (line {files.line})",
                "all directories of a level are as wide as the mean",
            )


def _merge(notes: Iterable[Note]) -> tuple[plan.Untranslated, ...]:
    """Merge those that have the same reason: scripts repeat themselves."""
    by_reason: dict[str, list[str]] = {}
    for note in notes:
        by_reason.setdefault(note.why, []).append(note.what)
    merged = []
    for why, found in by_reason.items():
        more = f", and {len(found) - _MOST_NAMED} like it" if len(found) > _MOST_NAMED else ""
        merged.append(plan.Untranslated(what=", ".join(found[:_MOST_NAMED]) + more, why=why))
    return tuple(merged)


def _file_sets(files: FilesetFiles, used: Mapping[str, None]) -> Iterator[plan.FileSet]:
    path = f"filebench-{''.join(c if c.isalnum() or c in '-_.' else '_' for c in files.name)}"
    is_kept = files.is_reused or files.is_trusted
    if is_kept:
        # What stays is in nobody's way who has other files of the name.
        key = repr((files.entries, files.size, files.width, files.existing_share))
        path += f"-{zlib.crc32(key.encode()):08x}"
    if files.name in used:
        yield plan.FileSet(
            name=files.name,
            target=TARGET,
            path=path,
            files=files.entries,
            size=files.size,
            layout=_layout(files.entries, files.width),
            existing_share=files.existing_share,
            reuse=plan.Reuse.IF_MATCHES if is_kept else plan.Reuse.NEVER,
            create_workers=4 if files.is_parallel else 2,
            keep=is_kept,
        )
    if leaf_set(files.name) in used:
        yield plan.FileSet(
            name=leaf_set(files.name),
            target=TARGET,
            path=f"{path}.leafdirs",
            files=files.leaf_directories,
            size=plan.Fixed(value=0.0),
            layout=_layout(files.leaf_directories, files.width),
            file_name="d{index}",
            existing_share=0.0,
        )


def _layout(entries: int, width: float) -> plan.Layout:
    """Lay entries out as deep as Filebench does on average, with `width` of them in a directory."""
    leaves = math.ceil(entries / width) if width else 1
    if leaves <= 1:
        return plan.Flat()
    depth = max(1, round(math.log(entries) / math.log(max(width, 2))) - 1)
    return (
        plan.Tree(width=max(1, round(leaves ** (1 / depth))), depth=depth)
        if depth > 1
        else plan.PerDirectory(files=math.ceil(entries / leaves))
    )


# -- the whole ---------------------------------------------------------------------------------------------------------


def to_plan(workload: Personality, source: str, origin: plan.Origin, directory: Path) -> plan.Plan:
    """Make the Plan of a script for a directory."""
    made = plan_threads(workload, source)
    used = dict.fromkeys(made.sets)
    sets = [one for files in workload.files.values() for one in _file_sets(files, used)]
    commands = [step for step in workload.before if step.command]
    if commands:
        sets.append(
            plan.FileSet(name=_COMMANDS, target=TARGET, path="filebench-commands", files=1, size=plan.Fixed(value=0.0))
        )
    cold = [files.name for files in workload.files.values() if files.is_cold and files.name in used]
    first = [_command(step, number) for number, step in enumerate(commands, 1)]
    first += [_directories(name) for name in used if _is_to_be_there(name, workload)]
    made_before = {name for name in used if _is_to_be_there(name, workload)}
    before: tuple[plan.Step, ...] = (
        *(plan.Prepare(set=name) for name in used if name not in made_before),
        *(plan.Evict(set=name) for name in cold),
        *(plan.Sleep(seconds=step.seconds) for step in workload.before if step.seconds),
    )
    run = plan.Phase(
        name=RUN,
        title=_title(workload),
        jobs=made.jobs,
        cache=plan.CacheCondition.COLD if cold else plan.CacheCondition.AS_IS,
        before=before,
        stop=plan.Stop(seconds=workload.seconds, of=_stop_of(workload)),
        ramp_s=workload.ramp_seconds,
    )
    return plan.Plan(
        name=origin.front_end,
        origin=origin,
        seed=_SEED,
        targets=(of_directory(TARGET, directory),),
        file_sets=tuple(sets),
        phases=(*first, run),
        sample_interval_s=_interval(workload),
        untranslated=made.untranslated,
    )


def _stop_of(workload: Personality) -> plan.StopOf:
    """Set who ends the run: in Filebench's usual mode it is over when a thread finds nothing to do any more."""
    threads = [thread for process in workload.processes for thread in process.threads]
    runs_out = any(TYPES[flowop.kind].takes_names for thread in threads for flowop, _ in thread.flowops())
    if workload.mode == "alldone" or not runs_out:
        return plan.StopOf.EACH
    return plan.StopOf.FIRST


def _interval(workload: Personality) -> float:
    seconds = (workload.seconds or 10.0) - workload.ramp_seconds
    interval = min(max(seconds / 30, 0.025), 1.0)
    if workload.snapshot_seconds:
        interval = min(interval, workload.snapshot_seconds / 2)
    return interval


def _title(workload: Personality) -> str:
    threads = sum(process.instances * thread.instances for process in workload.processes for thread in process.threads)
    return f"{threads} thread{'s' if threads > 1 else ''}"


def _is_to_be_there(name: str, workload: Personality) -> bool:
    owner = next((files for files in workload.files.values() if leaf_set(files.name) == name), None)
    return owner is not None and owner.existing_share > 0


def _command(step: Before, number: int) -> plan.Phase:
    spawn = plan.Op(
        op=plan.OpKind.SPAWN,
        name="command",
        file=plan.FromSet(set=_COMMANDS, pick=plan.Next()),
        flags=plan.OpFlags(argv=(*_SHELL, step.command)),
    )
    job = plan.Job(name="command", body=plan.Loop(actions=(plan.Do(op=spawn),)), stop=plan.Stop(passes=1))
    before = (plan.Prepare(set=_COMMANDS),) if number == 1 else ()
    return plan.Phase(name=f"command {number}", title=f"command of line {step.line}", jobs=(job,), before=before)


def _directories(name: str) -> plan.Phase:
    mkdir = plan.Op(op=plan.OpKind.MKDIR, name="mkdir", file=plan.FromSet(set=name, pick=plan.New()))
    job = plan.Job(name="make", body=plan.Loop(actions=(plan.Do(op=mkdir),)), workers=2)
    return plan.Phase(
        name=f"{_DIRECTORIES} of {name}", title=f"making {name}", jobs=(job,), before=(plan.Prepare(set=name),)
    )
