"""From jobs of fio to a Plan: phases between stonewalls, a loop for each job, and the deviations of the Plan."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from assay import plan
from assay.errors import InputError
from assay.places import Place, of_place
from assay.tools.fio import values
from assay.tools.fio.amounts import amount
from assay.tools.fio.instances import JobInstance, instances, one_value
from assay.tools.fio.job_settings import NAME, JobSettings, Rate, Settings
from assay.tools.fio.loop import ROUND_ROBIN_MOST, batch_of, body, needs_unrolling, rates_of_mix
from assay.tools.fio.sets import Placed, assign_files
from assay.tools.fio.together import Together

_SEED = 1
_SHORTEST_INTERVAL_S, _INTERVAL_S = 0.1, 1.0
_LONG_S = 60


def to_plan(settings: Settings, origin: plan.Origin, directories: Mapping[str, Place]) -> plan.Plan:
    """Make the Plan.

    Args:
        settings: What is asked for.
        origin: Of the Plan.
        directories: Directories and block devices by what the words call them: absolute, and there.

    Raises:
        InputError: a combination of jobs is not supported.
    """
    members = instances(settings.jobs)
    paths = list(dict.fromkeys(directories.values()))
    named = {path: "target" if place == 0 else f"target-{place + 1}" for place, path in enumerate(paths)}
    where = assign_files(members, {name: named[path] for name, path in directories.items()})
    count = 1 + max(member.phase for member in members)
    by_phase = [[member for member in members if member.phase == number] for number in range(count)]
    sets = {place.set.name: place.set for place in where.values()}
    return plan.Plan(
        name=NAME,
        origin=origin,
        seed=_seed(settings.jobs),
        targets=tuple(_target(name, place) for place, name in named.items()),
        file_sets=tuple(sets.values()),
        phases=tuple(_phases([part for part in by_phase if part], where, Together(settings.jobs, members))),
        sample_interval_s=_interval(settings.jobs),
        untranslated=tuple(_list_deviations(members)),
    )


def _target(name: str, place: Place) -> plan.Target:
    return plan.Target(name=name, uri=place.as_uri()) if isinstance(place, Path) else of_place(name, place)


def _seed(jobs: Sequence[JobSettings]) -> int:
    seeds = {job.seed for job in jobs if job.seed is not None}
    if len(seeds) > 1:
        raise InputError(
            f"fio: {jobs[-1].where}: 'randseed' differs between jobs, and a Plan has one seed; give one to all"
        )
    return seeds.pop() if seeds else _SEED


def _interval(jobs: Sequence[JobSettings]) -> float:
    longest = max(job.size.seconds for job in jobs)
    return _SHORTEST_INTERVAL_S if longest <= _LONG_S else _INTERVAL_S


# -- phases ------------------------------------------------------------------------------------------------------------


def _phases(
    parts: Sequence[Sequence[JobInstance]], where: Mapping[str, Placed], together: Together
) -> Iterator[plan.Phase]:
    # fio lays all files out before the first job begins.
    fresh = dict.fromkeys(where[member.name].set.name for members in parts for member in members)
    laid_out: list[plan.Step] = [plan.Prepare(set=name) for name in fresh]
    for number, members in enumerate(parts, start=1):
        one_value(members, "ramp_time", [m.settings.size.ramp_s for m in members], "give all of them the same")
        one_value(members, "invalidate", [m.settings.invalidate for m in members], "give all of them the same")
        first = members[0].settings
        before, laid_out = laid_out, []
        if made := [
            _directories(member, where[member.name]) for member in members if member.settings.needs_directories
        ]:
            title = "directories for what follows"
            yield plan.Phase(name=f"{number}-directories", title=title, jobs=tuple(made), before=tuple(before))
            before = []
        cached = [member for member in members if member.settings.engine != "null"]
        is_cold = first.invalidate and not first.is_metadata and bool(cached)
        if is_cold:
            before += [plan.Evict(set=name) for name in dict.fromkeys(where[one.name].set.name for one in cached)]
        delay_s = min(member.settings.start_delay_s for member in members)
        if delay_s:
            before.append(plan.Sleep(seconds=delay_s))
        names = list(dict.fromkeys(member.settings.name for member in members))
        yield plan.Phase(
            name=f"{number}-{names[0][:100]}",
            title=", ".join(_title(member.settings) for member in members[:3]) + (", ..." if len(members) > 3 else ""),
            jobs=tuple(
                msgspec.structs.replace(
                    _job(member, where[member.name]),
                    delay_s=member.settings.start_delay_s - delay_s,
                    **together.of(member),
                )
                for member in members
            ),
            cache=plan.CacheCondition.COLD if is_cold else plan.CacheCondition.AS_IS,
            before=tuple(before),
            steady=_steady(members, together),
            ramp_s=first.size.ramp_s,
            after=tuple(_after(members, where)),
        )


def _steady(members: Sequence[JobInstance], together: Together) -> plan.SteadyRule | None:
    """Give the rule by which a phase is done; raises InputError where it is not that of all in it, together."""
    cure = "a phase is done as a whole: give it to all jobs up to a stonewall"
    one_value(members, "steadystate", [member.settings.steady or "" for member in members], cure)
    first = members[0].settings
    if first.steady is None:
        return None
    is_one = sum(member.workers for member in members) == 1
    if not is_one and not (together.are_one_group(members) and all(one.settings.group_reporting for one in members)):
        raise InputError(
            f"fio: {first.where}: 'steadystate' of each of several jobs that run at once is not supported; give"
            " group_reporting, and one group up to a stonewall"
        )
    return first.steady


def _directories(member: JobInstance, place: Placed) -> plan.Job:
    """Make the directories that a job works on."""
    file = plan.FromSet(set=place.set.name, pick=plan.New())
    make = plan.Do(op=plan.Op(op=plan.OpKind.MKDIR, name="mkdir", file=file))
    stop = plan.Stop(ops=member.settings.files.count)
    return plan.Job(name=f"directories for {member.name}", body=plan.Loop(actions=(make,)), stop=stop)


def _title(job: JobSettings) -> str:
    return f"{job.name[:60]}: {job.options.get('rw', 'read') if not job.is_metadata else job.engine}"[:120]


def _after(members: Sequence[JobInstance], where: Mapping[str, Placed]) -> Iterator[plan.Step]:
    if any(member.settings.end_fsync for member in members):
        yield plan.Sync()
    for name in dict.fromkeys(where[member.name].set.name for member in members if member.settings.verify):
        yield plan.Verify(set=name)


# -- jobs --------------------------------------------------------------------------------------------------------------


def _job(member: JobInstance, place: Placed) -> plan.Job:
    job = member.settings
    if needs_unrolling(job) and job.files.count > ROUND_ROBIN_MOST:
        raise InputError(
            f"fio: {job.where}: 'nrfiles' of {job.files.count} in turn, each in a row, is not supported above"
            f" {ROUND_ROBIN_MOST}: use file_service_type=sequential or random"
        )
    arrival, limit = _pace(job)
    return plan.Job(
        name=member.name,
        body=plan.Loop(actions=tuple(body(member, place))),
        workers=member.workers,
        # Jobs that write stamps share their state.
        kind=plan.WorkerKind.THREAD if job.is_thread or place.set.content.stamped else plan.WorkerKind.PROCESS,
        arrival=arrival,
        limit=limit,
        backend=_backend(job),
        queue_depth=job.depth,
        batch=batch_of(job),
        open=plan.OpenFlags(
            direct=plan.Direct.ON if job.direct and job.moves_data and job.engine != "null" else plan.Direct.OFF,
            sync=job.sync == "sync",
            dsync=job.sync == "dsync",
            advice="" if job.direct or not job.moves_data or job.engine in {"mmap", "null"} else job.advice,
        ),
        affinity=plan.Affinity(cpus=job.cpus, numa_node=job.numa_node),
        huge_pages=job.huge_pages and job.moves_data,
        stop=_stop(member),
    )


def _stop(member: JobInstance) -> plan.Stop:
    job = member.settings
    size = job.size
    seconds = size.ramp_s + size.seconds if size.seconds else None
    if job.is_metadata:
        return plan.Stop(ops=job.files.count)
    if size.is_time_based or job.backlog:
        # A backlog ends by what is written: the loop decides when.
        return plan.Stop(seconds=seconds)
    if not job.moves_data:
        return plan.Stop(seconds=seconds, ops=_fewest(size.ops, -(-amount(member).total_bytes // job.most_bytes)))
    return plan.Stop(seconds=seconds, bytes=amount(member).total_bytes, ops=size.ops or None)


def _fewest(limit: int, whole: int) -> int:
    return min(limit, whole) if limit else whole


def _pace(job: JobSettings) -> tuple[plan.Arrival, plan.RateLimit]:
    rate: Rate = job.rates[0] if job.reads else job.rates[1]
    if job.flow.weight:
        return (
            plan.Balanced(
                group=f"flow {job.flow.number}", weight=job.flow.weight, pause_s=job.flow.pause_us / values.US_PER_S
            ),
            plan.RateLimit(),
        )
    if rate and job.reads and job.writes:
        return plan.Open(rate_per_s=sum(rates_of_mix(job)), spacing=_spacing(rate)), plan.RateLimit()
    spacing = _spacing(rate)
    if rate.iops:
        return plan.Open(rate_per_s=float(rate.iops), spacing=spacing), plan.RateLimit()
    if rate.bytes_per_s and job.has_one_size:
        return plan.Open(rate_per_s=rate.bytes_per_s / job.most_bytes, spacing=spacing), plan.RateLimit()
    if rate.bytes_per_s:
        return plan.Closed(), plan.RateLimit(bytes_per_s=float(rate.bytes_per_s))
    return plan.Closed(), plan.RateLimit()


def _spacing(rate: Rate) -> plan.Spacing:
    return plan.Spacing.POISSON if rate.is_poisson else plan.Spacing.UNIFORM


def _backend(job: JobSettings) -> plan.Backend:
    match "psync" if job.discards else job.engine:
        case "io_uring":
            return plan.IoUring(sqpoll=job.sqpoll, sqpoll_cpu=job.sqpoll_cpu, iopoll=job.hipri)
        case "libaio":
            return plan.Aio()
        case "null":
            return plan.Null()
        case "mmap":
            return plan.Mmap()
        case "sync":
            return plan.ReadWrite()
        case _:
            return plan.Psync()


# -- deviations of the Plan ------------------------------------------------------------------------------------------


def _list_deviations(members: Sequence[JobInstance]) -> Iterator[plan.Untranslated]:
    jobs = list({id(member.settings): member.settings for member in members}.values())
    if any(job.is_random and job.has_map and not job.has_one_size and not job.is_metadata for job in jobs):
        yield plan.Untranslated(
            what="the map of blocks of several sizes",
            why="places were drawn anew each time, so some blocks were visited again before others, and the last block was"
            " not cut to what was left of the size",
        )
    if any(_has_two_maps(job) for job in jobs):
        yield plan.Untranslated(
            what="the map that random reads and writes of a job share",
            why="each direction had a map of its own, so what was just written could be read from the page cache",
        )
    if any(job.discards and job.options.get("iodepth", "1") != "1" for job in jobs):
        yield plan.Untranslated(
            what="iodepth of trims",
            why="a trim is one call, and the next began when it had returned; with fio's libaio too",
        )
    if any(job.engine == "null" for job in jobs):
        yield plan.Untranslated(
            what="ioengine=null",
            why="no data was moved: the numbers are the cost of Assay's engine, not of fio, and not of storage",
        )
    if any(job.verify for job in jobs):
        yield plan.Untranslated(
            what="verify",
            why="what was written was verified by Assay's stamps when the job was through; fio's reads of it are in no row,"
            " and all workers were threads",
        )
    elif any(job.stamps for job in jobs):
        yield plan.Untranslated(
            what="verify",
            why="written data had Assay's stamps, by which its reads were verified, and all workers were threads",
        )


def _has_two_maps(job: JobSettings) -> bool:
    """Return whether that can change a number: with O_DIRECT no read is from the page cache."""
    is_mapped = (
        job.is_random and job.has_map and job.has_one_size and all(part.kind == "random" for part in job.distributions)
    )
    return is_mapped and job.reads and job.writes and not job.direct
