"""From settings to a Plan: every test of bonnie++ as a phase with the same calls on the same amounts.

Each of the five sequential tests opens its file, transfers chunk by chunk, flushes (since 1.9x, or with -b) and closes, all
in one pass, so that the flush and the close are in its time. The seek test shares its seeks among the workers; the flush
with which each ends it is a phase of its own (`FLUSH`), counted to its time. Files are gone through in the order of
creation, of the directory's listing, or shuffled, as the test asks.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay import plan
from assay.plan import Action, Do, Fixed, FromSet, Group, Op, OpKind, Phase, Repeat, Slot
from assay.plan.walk import ops_in
from assay.tools.bonnie.settings import DEFAULT_CHARACTER_MIB, HARD_LINKS, SYMBOLIC_LINKS, Settings
from assay.units import MIB

IO_TESTS = ("putc_write", "block_write", "rewrite", "getc_read", "block_read", "random_seeks")
FILE_TESTS = ("seq_create", "seq_stat", "seq_delete", "ran_create", "ran_stat", "ran_delete")
TESTS = (*IO_TESTS, *FILE_TESTS)
"""In the order in which they run, which is that of the twelve semaphores: names of the phases."""
SEMAPHORES = 4711
"""Key of bonnie++'s semaphores."""
FLUSH = "random_seeks_flush"
"""The flushes that end the seek test."""

TITLES = {
    "putc_write": "Writing byte by byte: a test of CPU and system calls",
    "block_write": "Writing blocks",
    "rewrite": "Rewriting blocks",
    "getc_read": "Reading byte by byte: a test of CPU and system calls",
    "block_read": "Reading blocks",
    "random_seeks": "Random seeks, one in ten rewritten",
    FLUSH: "Flush after the seeks",
    "seq_create": "Creating files in order",
    "seq_stat": "Stat in the directory's order",
    "seq_delete": "Removing in the directory's order",
    "ran_create": "Creating files, names shuffled",
    "ran_stat": "Stat in random order",
    "ran_delete": "Removing in random order",
}

UPDATE_SHARE = 0.1
SETTLE_SECONDS = 3.0
"""Between the start of the seekers and the first seek."""
OLD_FILE_MIB = 1024
"""1.03 cuts its data into files of at most this size."""

SEEK = "seek"
"""Name of one seek with what belongs to it."""

_JOB = "bonnie"
_SEEKER = "seeker"
_TARGET = "target"
_DATA = "bonnie"
_SEQUENTIAL, _RANDOM = "sequential", "random"
_ZEROS = plan.Content(zeros=True)
"""What bonnie++'s buffers hold at first."""
_BACK = plan.Backward()
"""In a slot: what was passed last."""
_SLOT = 0


def to_plan(
    settings: Settings, origin: plan.Origin, *, directory: Path, seed: int, user: plan.User | None = None
) -> plan.Plan:
    """Make the Plan.

    Args:
        settings: What is asked for, with its size.
        origin: Of the Plan.
        directory: Where the load goes, absolute.
        seed: Seed of every random choice.
        user: Who does the work.
    """
    phases = (phase for repeat in range(settings.times) for phase in _phases(settings, repeat))
    return plan.Plan(
        name=origin.front_end,
        origin=origin,
        user=user,
        seed=seed,
        targets=(plan.Target(name=_TARGET, uri=directory.as_uri()),),
        file_sets=_file_sets(settings),
        phases=tuple(msgspec.structs.replace(phase, gate=_gate(settings, phase.name)) for phase in phases),
        untranslated=_list_deviations(settings),
    )


def size_mib(made: plan.Plan) -> int:
    """Give the size of the I/O tests of a Plan; 0 where it has none."""
    sizes = [one.files * one.size.value for one in made.file_sets if one.name == _DATA and isinstance(one.size, Fixed)]
    return int(sum(sizes)) // MIB


def most_bytes(settings: Settings) -> int:
    """Give the bytes of the larger of the two parts: the other is removed by then."""
    mean_bytes = (max(settings.max_bytes, 0) + settings.min_bytes) // 2
    return max((settings.size_mib or 0) * MIB, settings.files * mean_bytes)


def _gate(settings: Settings, phase: str) -> plan.Gate | None:
    """Give what -y has a test wait for."""
    if not settings.waits_for or phase not in TESTS:
        return None
    number = TESTS.index(phase)
    if settings.waits_for == "p":
        return plan.InputLine(number=number)
    return plan.Semaphore(key=SEMAPHORES, number=number, of=len(TESTS))


def _phases(settings: Settings, repeat: int) -> list[Phase]:
    phases = []
    if settings.size_mib:
        phases += _io_phases(settings, _Data(settings), repeat)
    if settings.number:
        phases += _file_phases(settings, repeat)
    return phases


def _file_sets(settings: Settings) -> tuple[plan.FileSet, ...]:
    sets = []
    if settings.size_mib:
        data = _Data(settings)
        sets.append(
            plan.FileSet(
                name=_DATA,
                target=_TARGET,
                path=_DATA,
                files=data.files,
                size=Fixed(value=float(data.file_bytes)),
                existing_share=0.0,
                content=_ZEROS,
            )
        )
    if settings.number:
        sets += [_small_files(settings, name) for name in (_SEQUENTIAL, _RANDOM)]
    return tuple(sets)


def _small_files(settings: Settings, name: str) -> plan.FileSet:
    largest = max(settings.max_bytes, 0)
    sizes: plan.Distribution = Fixed(value=float(largest))
    if largest > settings.min_bytes:
        sizes = plan.Uniform(min=float(settings.min_bytes), max=float(largest))
    # The original fills each directory with one file more than its share.
    in_each = settings.files // settings.directories + 1
    return plan.FileSet(
        name=name,
        target=_TARGET,
        path=name,
        files=settings.files,
        size=sizes,
        layout=plan.Flat() if settings.directories == 1 else plan.PerDirectory(files=in_each),
        # As long as the original's names are in the mean: 7 or 10 digits and 0 to 12 more characters.
        file_name="{index}bonni" if settings.is_old else "{index}bonnie++",
        existing_share=0.0,
        content=_ZEROS,
    )


# -- the I/O tests -----------------------------------------------------------------------------------------------------


class _Data:
    """The file, or the files of 1.03, that the I/O tests work on."""

    def __init__(self, settings: Settings) -> None:
        size_bytes = (settings.size_mib or 0) * MIB
        self.chunk_bytes = settings.chunk_bytes
        self.file_bytes = min(size_bytes, OLD_FILE_MIB * MIB) if settings.is_old else size_bytes
        self.full, self.rest_bytes = divmod(size_bytes, self.file_bytes)
        self.files = self.full + (self.rest_bytes > 0)
        self.size_bytes = size_bytes

    def each(self, opening: tuple[Op, Op, Op], transfer: Sequence[Action]) -> list[Action]:
        """Transfer everything in chunks: the first file, the other full ones, and what is left.

        `opening` opens the first, each other full one, and the last; for the first it is not part of the measurement.
        """
        first, next_, last = opening
        chunks = self.file_bytes // self.chunk_bytes
        actions: list[Action] = [Do(op=first), Repeat(times=chunks, actions=tuple(transfer))]
        if self.full > 1:
            one: tuple[Action, ...] = (Do(op=next_), Repeat(times=chunks, actions=tuple(transfer)))
            actions.append(Repeat(times=self.full - 1, actions=one))
        if self.rest_bytes:
            rest = self.rest_bytes // self.chunk_bytes
            actions += [Do(op=last), Repeat(times=rest, actions=tuple(transfer))]
        return actions

    def made(self) -> tuple[Op, Op, Op]:
        """Create the files, one after the other."""
        first, later = (_name_op(OpKind.CREATE, name, _DATA, plan.New(), slot=_SLOT) for name in ("open", "next file"))
        return first, later, later

    def opened(self) -> tuple[Op, Op, Op]:
        """Open the files, one after the other."""

        def at(name: str, index: plan.Pick) -> Op:
            return _name_op(OpKind.OPEN, name, _DATA, index, slot=_SLOT)

        def indexed(index: int) -> plan.Pick:
            return plan.Indexed(value=Fixed(value=float(index)))

        later = at("next file", indexed(1) if self.full <= 2 else plan.Next())
        return at("open", indexed(0)), later, at("next file", indexed(self.files - 1))


def _io_phases(settings: Settings, data: _Data, repeat: int) -> list[Phase]:
    size = settings.chunk_bytes
    tests: dict[str, plan.Job] = {}
    if not settings.is_fast:
        tests["putc_write"] = _characters(settings, data, OpKind.WRITE)
    write = [*(_remove_data(data) if tests else ()), *data.each(data.made(), (Do(op=_write(size)),))]
    rewrite = (Group(name="chunk", actions=(Do(op=_read(size)), Do(op=_write(size, access=_BACK)))),)
    tests["block_write"] = _pass(settings, write, "write", direct=settings.is_direct)
    tests["rewrite"] = _pass(settings, data.each(data.opened(), rewrite), "chunk")
    if not settings.is_fast:
        tests["getc_read"] = _characters(settings, data, OpKind.READ)
    tests["block_read"] = _pass(settings, data.each(data.opened(), (Do(op=_read(size)),)), "read")
    phases = [_phase(name, job, repeat) for name, job in tests.items()]
    phases[0] = _with(phases[0], before=(plan.Prepare(set=_DATA),))
    phases += _seek_phases(settings, data, repeat)
    phases[-1] = _with(phases[-1], after=(plan.Remove(set=_DATA),))
    return phases


def _pass(
    settings: Settings,
    actions: Sequence[Action],
    timed: str,
    *,
    backend: plan.Backend | None = None,
    direct: bool = False,
) -> plan.Job:
    """Make one pass over the data with its flush and its close; `open` is timed so that it can be taken off."""
    end = [Do(op=_in_slot(OpKind.CLOSE, "close"))]
    names = ["unlink", "open", timed, "close"]
    if settings.has_fsync or not settings.is_old:
        end.insert(0, Do(op=_in_slot(OpKind.FSYNC, "fsync")))
        names.insert(-1, "fsync")
    if not any(op.name == "unlink" for op in ops_in(actions)):
        names.remove("unlink")
    return plan.Job(
        name=_JOB,
        body=plan.Loop(actions=(*actions, *end)),
        backend=backend or plan.ReadWrite(),
        open=plan.OpenFlags(direct=plan.Direct.ON if direct else plan.Direct.OFF),
        stop=plan.Stop(passes=1),
        timed=tuple(names),
    )


def _characters(settings: Settings, data: _Data, kind: OpKind) -> plan.Job:
    """Make a per-character test: streams of the C library over all data (1.03), or one call a byte over a few MiB."""
    opening = data.made() if kind is OpKind.WRITE else data.opened()
    move = _write if kind is OpKind.WRITE else _read
    if settings.is_old:
        characters = data.each(opening, (Do(op=move(settings.chunk_bytes, name="chunk")),))
        return _pass(settings, characters, "chunk", backend=plan.Stdio(per_character=True))
    size_mib = settings.character_mib or DEFAULT_CHARACTER_MIB
    if kind is OpKind.READ:
        size_mib = min(size_mib, settings.size_mib or 0)
    # The original looks at the clock once a chunk too: with a look for each byte, the looks would be measured.
    chunk = Do(op=move(settings.chunk_bytes, name="chunk", piece_bytes=1))
    chunks = Repeat(times=size_mib * MIB // settings.chunk_bytes, actions=(chunk,))
    return _pass(settings, [Do(op=opening[0]), chunks], "chunk")


def _remove_data(data: _Data) -> list[Action]:
    unlink = Do(op=_name_op(OpKind.UNLINK, "unlink", _DATA, plan.Existing()))
    return [Repeat(times=data.files, actions=(unlink,)) if data.files > 1 else unlink]


def _seek_phases(settings: Settings, data: _Data, repeat: int) -> list[Phase]:
    read = Op(
        op=OpKind.READ,
        name="read",
        file=FromSet(set=_DATA, pick=_any_chunk(data), slot=_SLOT),
        access=plan.RandomAccess(),
        size=Fixed(value=float(settings.chunk_bytes)),
    )
    change = [read, _write(settings.chunk_bytes, access=_BACK)]
    if settings.has_fsync:
        change.append(_in_slot(OpKind.FSYNC, "fsync"))
    look, update = (Group(name=SEEK, actions=tuple(Do(op=op) for op in ops)) for ops in ([read], change))
    every = round(1 / UPDATE_SHARE)
    actions: tuple[Action, ...] = (Repeat(times=every - 1, actions=(look,)), update)
    if not settings.is_old:
        shares = ((1 - UPDATE_SHARE, look), (UPDATE_SHARE, update))
        actions = (plan.Choice(branches=tuple(plan.Branch(weight=w, actions=(group,)) for w, group in shares)),)
    seeks = plan.Job(
        name=_SEEKER,
        workers=settings.seekers,
        kind=plan.WorkerKind.PROCESS if settings.is_old else plan.WorkerKind.THREAD,
        body=plan.Loop(actions=actions),
        backend=plan.ReadWrite(),
        stop=plan.Stop(ops=settings.seeks, of=plan.StopOf.ALL),
        timed=(SEEK,),
    )
    phases = [_phase("random_seeks", seeks, repeat, before=(plan.Sleep(seconds=SETTLE_SECONDS),))]
    if not settings.is_old:
        fsync = Op(op=OpKind.FSYNC, name="fsync", file=FromSet(set=_DATA, pick=plan.Own()))
        flush = plan.Loop(actions=(Do(op=fsync),))
        job = plan.Job(name=_SEEKER, workers=settings.seekers, body=flush, stop=plan.Stop(passes=1))
        phases.append(_phase(FLUSH, job, repeat))
    return phases


def _any_chunk(data: _Data) -> plan.Pick:
    """Pick any chunk with the same probability: full files alike, a shorter last one by its share."""
    if data.files == 1:
        return plan.Own()
    edge = data.full / data.files
    rows = [(float(data.full * data.file_bytes), 0.0, edge)]
    if data.rest_bytes:
        rows.append((float(data.rest_bytes), edge, 1.0))
    return plan.RandomFile(distribution=plan.Tabular(rows=tuple(rows)))


# -- the file tests ----------------------------------------------------------------------------------------------------


def _file_phases(settings: Settings, repeat: int) -> list[Phase]:
    # Since 1.9x a sync is part of creating and removing.
    sync: tuple[plan.Step, ...] = () if settings.is_old else (plan.Sync(),)
    phases = []
    for prefix, name in (("seq", _SEQUENTIAL), ("ran", _RANDOM)):
        is_random = name == _RANDOM
        order = plan.Shuffled() if is_random else plan.Listed()
        unlink = Do(op=_name_op(OpKind.UNLINK, "delete", name, order))
        create = _job(_create(settings, name, is_random=is_random), "create")
        stat = _job((_all(settings, _stat(settings, name, order)),), "stat")
        delete = _job((_all(settings, unlink),), "delete")
        phases += [
            _phase(f"{prefix}_create", create, repeat, before=(plan.Prepare(set=name),), after=sync),
            _phase(f"{prefix}_stat", stat, repeat),
            _phase(f"{prefix}_delete", delete, repeat, after=(plan.Remove(set=name), *sync)),
        ]
    return phases


def _create(settings: Settings, name: str, *, is_random: bool) -> tuple[Action, ...]:
    pick = plan.Shuffled() if is_random else plan.New()
    if settings.max_bytes in {HARD_LINKS, SYMBOLIC_LINKS}:
        kind = OpKind.LINK if settings.max_bytes == HARD_LINKS else OpKind.SYMLINK
        first = Do(op=_name_op(OpKind.CREATE, "create", name, plan.New()))
        link = Do(op=_name_op(kind, "create", name, plan.Own()))
        return (first, Repeat(times=settings.files - 1, actions=(link,)))
    if settings.max_bytes == 0 and not settings.has_fsync:
        return (_all(settings, Do(op=_name_op(OpKind.CREATE, "create", name, pick))),)
    actions = [Do(op=_name_op(OpKind.CREATE, "open", name, pick, slot=_SLOT))]
    if settings.max_bytes:
        write = _write(settings.file_chunk_bytes, access=plan.Whole(chunk_bytes=settings.file_chunk_bytes))
        actions.append(Do(op=write))
    if settings.has_fsync:
        actions.append(Do(op=_in_slot(OpKind.FSYNC, "fsync")))
    actions.append(Do(op=_in_slot(OpKind.CLOSE, "close")))
    return (_all(settings, Group(name="create", actions=tuple(actions))),)


def _stat(settings: Settings, name: str, order: plan.Pick) -> Action:
    if settings.max_bytes <= 0:
        return Do(op=_name_op(OpKind.STAT, "stat", name, order))
    read = _read(settings.file_chunk_bytes, access=plan.Whole(chunk_bytes=settings.file_chunk_bytes))
    actions = (
        _name_op(OpKind.OPEN, "open", name, order, slot=_SLOT),
        _in_slot(OpKind.STAT, "look"),
        read,
        _in_slot(OpKind.CLOSE, "close"),
    )
    return Group(name="stat", actions=tuple(Do(op=op) for op in actions))


# -- small parts -------------------------------------------------------------------------------------------------------


def _name_op(kind: OpKind, name: str, file_set: str, pick: plan.Pick, slot: int | None = None) -> Op:
    return Op(op=kind, name=name, file=FromSet(set=file_set, pick=pick, slot=slot))


def _in_slot(kind: OpKind, name: str) -> Op:
    return Op(op=kind, name=name, file=Slot(slot=_SLOT))


def _read(size: int, *, name: str = "read", access: plan.Access | None = None, piece_bytes: int = 0) -> Op:
    return _transfer(OpKind.READ, size, name, access, plan.OpFlags(chunk_bytes=piece_bytes))


def _write(size: int, *, name: str = "write", access: plan.Access | None = None, piece_bytes: int = 0) -> Op:
    return _transfer(OpKind.WRITE, size, name, access, plan.OpFlags(keeps_buffer=True, chunk_bytes=piece_bytes))


def _transfer(kind: OpKind, size: int, name: str, access: plan.Access | None, flags: plan.OpFlags) -> Op:
    access = access or plan.Sequential()
    return Op(op=kind, name=name, file=Slot(slot=_SLOT), access=access, size=Fixed(value=float(size)), flags=flags)


def _job(actions: Sequence[Action], timed: str) -> plan.Job:
    body = plan.Loop(actions=tuple(actions))
    return plan.Job(name=_JOB, body=body, backend=plan.ReadWrite(), stop=plan.Stop(passes=1), timed=(timed,))


def _all(settings: Settings, action: Action) -> Action:
    return Repeat(times=settings.files, actions=(action,))


def _phase(
    name: str, job: plan.Job, repeat: int, *, before: tuple[plan.Step, ...] = (), after: tuple[plan.Step, ...] = ()
) -> Phase:
    return Phase(name=name, title=TITLES[name], jobs=(job,), repeat=repeat, before=before, after=after)


def _with(phase: Phase, **steps: tuple[plan.Step, ...]) -> Phase:
    """Put steps into a phase, outside of those that it has."""
    before = (*steps.get("before", ()), *phase.before)
    after = (*phase.after, *steps.get("after", ()))
    return msgspec.structs.replace(phase, before=before, after=after)


# -- what the Plan does not contain ----------------------------------------------------------------------------------------


def _list_deviations(settings: Settings) -> tuple[plan.Untranslated, ...]:
    found: dict[str, str] = {}
    if settings.number and not settings.is_old:
        found["sync(2)"] = (
            "the sync at the end of creating and removing is syncfs(2): this file system, not all of them"
        )
    if settings.has_fsync and settings.number:
        found["-b on directories"] = (
            "each file is flushed after it was created; the directory is not, neither then nor after a removal"
        )
    if settings.seed is not None or settings.random_file is not None:
        option = "-z" if settings.random_file is None else "-Z"
        found[option] = "it seeds Assay's own random numbers: runs repeat, but not in the original's order"
    if settings.max_bytes in {HARD_LINKS, SYMBOLIC_LINKS} and settings.number:
        found["random names of links"] = "links of the random test are made in the order of their names"
    empty = settings.directories - -(-settings.files // (settings.files // settings.directories + 1))
    if settings.number and settings.directories > 1 and empty > 0:
        found["empty directories"] = f"{empty} of the {settings.directories} directories get no file and are not made"
    return tuple(plan.Untranslated(what=what, why=why) for what, why in found.items())
