"""What a worker of a job does, again and again."""

from collections.abc import Iterator

from assay import plan
from assay.tools.fio.amounts import amount
from assay.tools.fio.instances import JobInstance
from assay.tools.fio.job_settings import METADATA, JobSettings, RandomDistribution, Sizes
from assay.tools.fio.sets import Placed
from assay.tools.fio.values import US_PER_S

READ, WRITE, TRIM, FSYNC, FDATASYNC = "read", "write", "trim", "fsync", "fdatasync"
"""Names of operations in the record."""
ROUND_ROBIN_MOST = 256
"""Files that a loop takes in turn by naming each."""


def needs_unrolling(job: JobSettings) -> bool:
    """Return whether files are taken in turn, each in a row: places of each are kept by naming them one by one."""
    return job.files.count > 1 and not job.is_random and not job.is_metadata and job.files.service == "roundrobin"


def batch_of(job: JobSettings) -> plan.Batch:
    """Set how many requests are submitted and collected together."""
    if job.depth == 1:
        return plan.Batch()
    submit, least, most = job.batch
    return plan.Batch(submit=submit, complete_min=least, complete_max=max(least, most))


def body(member: JobInstance, place: Placed) -> Iterator[plan.Action]:
    """Make the actions of a job."""
    job = member.settings
    if job.is_metadata:
        yield _on_name(job, place)
        return
    files = place.files
    if needs_unrolling(job):
        for index in files:
            yield from _one(member, place, plan.Indexed(value=plan.Fixed(value=float(index))))
    elif job.backlog:
        yield from _with_backlog(member, place)
    else:
        yield from _one(member, place, _pick(member, place))


def _with_backlog(member: JobInstance, place: Placed) -> Iterator[plan.Action]:
    """Make blocks, and then these read back by a walk of its own through the same places, again and again."""
    job, written = member.settings, amount(member).total_bytes
    of_set = plan.FromSet(set=place.set.name, pick=_pick(member, place))
    write = tuple(_one(member, place, of_set.pick))
    read = (_transfer(member, plan.OpKind.READ, of_set, like=plan.OpKind.WRITE),)
    # The blocks behind the last whole backlog are read with the rest of the file.
    is_whole = job.size.is_time_based or written % (job.backlog * job.most_bytes) == 0
    ends = () if job.size.is_time_based else (plan.FinishOn(op=WRITE, bytes=written),)
    yield plan.Repeat(times=job.backlog, actions=write if is_whole else (*write, *ends))
    yield plan.Repeat(times=job.backlog, actions=read)
    if is_whole:
        yield from ends


def _on_name(job: JobSettings, place: Placed) -> plan.Action:
    kind = plan.OpKind(METADATA[job.engine])
    picks: dict[plan.OpKind, plan.Pick] = {
        plan.OpKind.CREATE: plan.New(), plan.OpKind.MKDIR: plan.New(), plan.OpKind.STAT: plan.Next(),
        plan.OpKind.UNLINK: plan.Existing(), plan.OpKind.RMDIR: plan.Existing(),
    }  # fmt: skip
    return plan.Do(op=plan.Op(op=kind, name=kind.value, file=plan.FromSet(set=place.set.name, pick=picks[kind])))


def _pick(member: JobInstance, place: Placed) -> plan.Pick:
    job = member.settings
    if len(place.files) == 1 and place.set.files > 1:
        return plan.Indexed(value=plan.Fixed(value=float(place.files[0])))
    if job.files.count == 1:
        return plan.Own()
    if not place.is_whole:
        rows = tuple((1.0, float(index), float(index)) for index in place.files)
        return plan.Indexed(value=plan.Tabular(rows=rows))
    return plan.RandomFile() if job.files.service == "random" else plan.Next()


def _one(member: JobInstance, place: Placed, pick: plan.Pick) -> Iterator[plan.Action]:
    """Make one I/O, with what follows it; of a sequence of blocks, each of them in turn."""
    job = member.settings
    if job.is_random and (blocks := job.distributions[0 if job.reads else 1].blocks):
        for block in range(len(blocks)):
            yield from _one_at(member, place, pick, block)
    else:
        yield from _one_at(member, place, pick, None)


def _one_at(member: JobInstance, place: Placed, pick: plan.Pick, turn: int | None) -> Iterator[plan.Action]:
    job = member.settings
    of_set = plan.FromSet(set=place.set.name, pick=pick)
    directions: list[tuple[plan.Action, ...]] = []
    if job.reads:
        directions.append((_transfer(member, plan.OpKind.READ, of_set, turn=turn),))
    if job.writes:
        write = _transfer(member, plan.OpKind.WRITE, of_set, turn=turn) if job.moves_data else _extent(member, of_set)
        directions.append((write, *_flushes(job, of_set)))
    if len(directions) == 1:
        yield from directions[0]
    elif job.read_percent in {0, 100}:
        yield from directions[0 if job.read_percent else 1]
    else:
        # Each direction goes at a rate of its own, which makes the mix.
        weights = rates_of_mix(job) if any(job.rates) else (float(job.read_percent), float(100 - job.read_percent))
        branches = zip(weights, directions, strict=True)
        yield plan.Choice(branches=tuple(plan.Branch(weight=weight, actions=actions) for weight, actions in branches))
    if job.think_us[0]:
        yield _pause(job)


def rates_of_mix(job: JobSettings) -> tuple[float, float]:
    """Give reads and writes a second of a job that has a rate for each."""
    reads, writes = (
        float(rate.iops) or rate.bytes_per_s / sizes[0][1] for rate, sizes in zip(job.rates, job.sizes, strict=True)
    )
    return reads, writes


def _flushes(job: JobSettings, of_set: plan.FromSet) -> Iterator[plan.Action]:
    for times, kind, name in (
        (job.fsync, plan.OpKind.FSYNC, FSYNC),
        (job.fdatasync, plan.OpKind.FDATASYNC, FDATASYNC),
    ):
        if times:
            flush = plan.Do(op=plan.Op(op=kind, name=name, file=of_set))
            yield flush if times == 1 else plan.Every(times=times, actions=(flush,))


def _pause(job: JobSettings) -> plan.Action:
    whole_us, busy_us, after = job.think_us
    parts = [(busy_us, True), (whole_us - busy_us, False)]
    pauses: tuple[plan.Action, ...] = tuple(
        plan.Think(seconds=plan.Fixed(value=length / US_PER_S), burn=burn) for length, burn in parts if length
    )
    return pauses[0] if after == 1 and len(pauses) == 1 else plan.Every(times=after, actions=pauses)


def extent_name(job: JobSettings, size: int) -> str:
    """Name the operation of a job that changes extents: each size has one of its own, because these count no bytes."""
    name = TRIM if job.trims else WRITE
    return name if job.has_one_size else f"{name} of {size}"


def _extent(member: JobInstance, of_set: plan.FromSet) -> plan.Action:
    """Change the length or the extents of a file, or discard a range of a device."""
    job = member.settings
    if job.engine == "ftruncate":
        kind = plan.OpKind.TRUNCATE_AT
    elif job.discards:
        kind = plan.OpKind.DISCARD
    else:
        kind = plan.OpKind.PUNCH_HOLE if job.trims else plan.OpKind.FALLOCATE
    access = _access(member, job.sizes[1], job.distributions[1])
    branches = []
    for weight, size, _ in job.sizes[1]:
        op = plan.Op(
            op=kind, name=extent_name(job, size), file=of_set, access=access, size=plan.Fixed(value=float(size))
        )
        branches.append(plan.Branch(weight=weight, actions=(plan.Do(op=op),)))
    return branches[0].actions[0] if len(branches) == 1 else plan.Choice(branches=tuple(branches))


def _transfer(
    member: JobInstance,
    kind: plan.OpKind,
    of_set: plan.FromSet,
    *,
    turn: int | None = None,
    like: plan.OpKind | None = None,
) -> plan.Action:
    """Move one block.

    Args:
        member: Whose.
        kind: READ or WRITE.
        of_set: Which file.
        turn: Number of the block in a sequence of them; None: there is none.
        like: Direction whose sizes and places it has; None: its own.
    """
    job = member.settings
    which = 0 if (like or kind) is plan.OpKind.READ else 1
    drawn_by = job.distributions[which]
    access = _access(member, job.sizes[which], drawn_by) if turn is None else _in_turn(member, drawn_by, turn)
    flags = plan.OpFlags(
        high_priority=job.hipri and job.engine == "pvsync2",
        keeps_buffer=job.keeps_buffer and kind is plan.OpKind.WRITE,
    )
    name = READ if kind is plan.OpKind.READ else TRIM if job.trims else WRITE
    return plan.Do(
        op=plan.Op(op=kind, name=name, file=of_set, access=access, size=distribution(job.sizes[which]), flags=flags)
    )


def _in_turn(member: JobInstance, drawn_by: RandomDistribution, turn: int) -> plan.Access:
    """Give the place of a block of a sequence: the same each time, or as many blocks further as there are in it."""
    job, of = member.settings, amount(member)
    from_bytes = of.from_bytes + drawn_by.blocks[turn] * job.most_bytes
    if not drawn_by.moves_on:
        return plan.Sequential(region=plan.Range(from_bytes=from_bytes, length_bytes=job.most_bytes))
    rest = of.from_bytes + of.length_bytes - from_bytes
    return plan.Stride(
        stride_bytes=len(drawn_by.blocks) * job.most_bytes,
        region=plan.Range(from_bytes=from_bytes, length_bytes=rest),
        wrap=False,
    )


def distribution(sizes: Sizes) -> plan.Distribution:
    """Give the distribution of block sizes."""
    if len(sizes) == 1:
        return plan.Fixed(value=float(sizes[0][1]))
    return plan.Tabular(rows=tuple((weight, float(least), float(most)) for weight, least, most in sizes))


def _access(member: JobInstance, sizes: Sizes, drawn_by: RandomDistribution) -> plan.Access:
    job, of = member.settings, amount(member)
    region = plan.Range(from_bytes=of.from_bytes, length_bytes=of.length_bytes)
    if not job.is_random:
        if job.step_bytes < 0:
            return plan.Backward(region=region)
        if job.step_bytes:
            return plan.Stride(stride_bytes=job.step_bytes + sizes[0][1], region=region)
        return plan.Sequential(region=region)
    is_one = len(sizes) == 1
    align = job.align_bytes or (0 if is_one else min(least for _, least, _ in sizes))
    is_plain = drawn_by.kind == "random"
    rounds = job.has_map and is_plain and is_one
    return plan.RandomAccess(
        region=region,
        distribution=_plan_distribution(drawn_by),
        coverage=plan.Coverage.ROUNDS if rounds else plan.Coverage.WITH_REPEATS,
        align_bytes=align,
    )


def _plan_distribution(drawn_by: RandomDistribution) -> plan.Distribution:
    match drawn_by.kind:
        case "zipf":
            return plan.Zipf(theta=drawn_by.parameter)
        case "pareto":
            return plan.Pareto(h=1 - drawn_by.parameter)
        case "zoned":
            return plan.Tabular(rows=drawn_by.zones)
        case _:
            return plan.Uniform(min=0.0, max=1.0)
