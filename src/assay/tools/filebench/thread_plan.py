"""What a thread does, as actions of the Plan.

The open that a flowop makes by itself (`open_files.py`) is placed in front of the passes, which then are one long repeat. If
the thread closes that fd, it is placed in front of the first flowop that needs it, in each pass.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from assay import plan
from assay.errors import FrontEndError
from assay.tools.arguments import cut
from assay.tools.filebench.flowops import TYPES, UNITS
from assay.tools.filebench.open_files import OpenFiles
from assay.tools.filebench.personality import Body, Composite, FilesetFiles, Flowop, Note, Thread
from assay.tools.filebench.randoms import largest, up_to

ENDLESS: Final = 1 << 60
"""Passes of a thread that opens its files first."""
HOG_SECONDS: Final = 0.25e-9
"""That a store of `hog` takes: a cycle at 4 GHz. In Filebench a million took 0.244 ms at least, on a Xeon of 2.6 GHz."""
BUCKET: Final = "eventgen"
_LARGEST_PIECE: Final = 1 << 30


def leaf_set(files: str) -> str:
    """Name of the file set of a fileset's leaf directories."""
    return f"{files}.leafdirs"


def open_name(flowop: str) -> str:
    """Name of the open that a flowop makes by itself."""
    return f"{flowop}: open"


@dataclasses.dataclass(frozen=True)
class PlanContext:
    """What a thread uses of the others."""

    source: str
    files: Mapping[str, FilesetFiles]
    event_rate: float
    waiting: Mapping[str, tuple[str, ...]]
    """Semaphores by the name of a `semblock` or `block`: one for each thread that has it."""
    high_water: Mapping[str, int]
    """By semaphore."""
    posted_to: frozenset[str]
    """Semaphores whose posts wait."""
    own: Mapping[str, str]
    """Semaphore of this thread's own, by the name of the flowop that waits for it."""
    aio: str = ""
    """In front of the names of semaphores for asynchronous writes."""


@dataclasses.dataclass
class ThreadPlan:
    """The actions of a thread, and what its job has to be."""

    actions: tuple[plan.Action, ...] = ()
    is_direct: bool = False
    is_sync: bool = False
    reads_ahead: bool = True
    sets: tuple[str, ...] = ()
    operations: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Names of the recorded operations of each flowop."""
    asynchronous: tuple[Flowop, ...] = ()
    """Flowops whose writes helpers do."""
    passes_by: tuple[Flowop, str, int] | None = None
    """A flowop, its operation and how often that is done in a pass: the number of passes follows from it."""
    idle: frozenset[str] = frozenset()
    """Flowops that do nothing, such as limits without an event generator."""
    notes: tuple[Note, ...] = ()

    def does_something(self, flowop: Flowop) -> bool:
        """Return whether it is executed at all."""
        return flowop.name not in self.idle


class ThreadPlanner:
    """Plans one thread."""

    def __init__(self, thread: Thread, context: PlanContext) -> None:
        """Start for a thread of a process."""
        self._thread = thread
        self._context = context
        self._flowops = [flowop for flowop, _ in thread.flowops()]
        self._sets: dict[str, None] = {}
        self._operations: dict[str, list[str]] = {}
        self._notes: dict[Note, None] = {}
        self._open = OpenFiles(self._flowops, context.source)
        self._waiting_opens: dict[int, plan.Action] = {}
        self._asynchronous: dict[str, Flowop] = {}
        self._idle: set[str] = set()

    def make_plan(self) -> ThreadPlan:
        """Make the actions; raises FrontEndError for what is not supported."""
        implied, closed = self._open.implied, self._open.closed
        first = tuple(self._implicit_open(slot) for slot in implied if slot not in closed)
        self._waiting_opens = {slot: self._implicit_open(slot) for slot in implied if slot in closed}
        body = self._body(self._thread.body)
        if not body:
            self._refuse(self._thread.line, f"near 'thread name={cut(self._thread.name)}': it does nothing")
        if first:
            body = (*first, plan.Repeat(times=ENDLESS, actions=body))
        is_direct, is_sync, reads_ahead = self._open.is_direct(), self._open.is_sync(), self._open.reads_ahead()
        return ThreadPlan(
            actions=body,
            is_direct=is_direct,
            is_sync=is_sync,
            reads_ahead=reads_ahead,
            sets=tuple(self._sets),
            operations={name: tuple(dict.fromkeys(names)) for name, names in self._operations.items()},
            asynchronous=tuple(self._asynchronous.values()),
            passes_by=self._reference(),
            idle=frozenset(self._idle),
            notes=(*self._open.notes, *self._notes),
        )

    def _refuse(self, line: int, text: str) -> NoReturn:
        raise FrontEndError(self._context.source, line, text)

    def _note(self, what: str, why: str) -> None:
        self._notes[Note(what, why)] = None

    def _reference(self) -> tuple[Flowop, str, int] | None:
        found = [
            (flowop, recorded[-1], times)
            for flowop, times in self._thread.flowops()
            if (recorded := self._operations.get(flowop.name))
        ]
        # Asynchronous writes lag behind the thread.
        return min(found, key=lambda one: one[0].kind == "aiowrite", default=None)

    def _set(self, name: str, flowop: Flowop) -> FilesetFiles:
        files = self._context.files[name]
        if files.entries == 0:
            self._refuse(
                flowop.line, f"near '{cut(flowop.name)}': '{cut(name)}' has no entries; give it some, entries=..."
            )
        self._sets[name] = None
        return files

    def _implicit_open(self, slot: int) -> plan.Action:
        flowop = self._open.implied[slot]
        self._set(flowop.files, flowop)
        return self._do(
            flowop,
            plan.OpKind.OPEN,
            plan.FromSet(set=flowop.files, pick=self._pick(flowop), slot=slot),
            name=open_name(flowop.name),
        )

    def _pick(self, flowop: Flowop) -> plan.Pick:
        return plan.InTurn() if flowop.index is None else plan.Indexed(value=flowop.index)

    # -- actions -------------------------------------------------------------------------------------------------------

    def _body(self, body: Body) -> tuple[plan.Action, ...]:
        made: list[plan.Action] = []
        for part in body:
            if isinstance(part, Composite):
                inner, line = self._body(part.body), part.iters
            else:
                on_slot = TYPES[part.kind].is_on_file and not part.opens_next and part.kind != "aiowrite"
                if (
                    on_slot
                    and self._waiting_opens
                    and (opened := self._waiting_opens.pop(self._open.slot_of(part), None))
                ):
                    made.append(opened)
                inner, line = self._flowop(part), part.iters
                if not inner:
                    self._idle.add(part.name)
            if line > 1 and inner:
                inner = (plan.Repeat(times=line, actions=inner),)
            made += inner
        return tuple(made)

    def _flowop(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        kind = TYPES[flowop.kind]
        if kind.refusal:
            self._refuse(flowop.line, f"near 'flowop {flowop.kind}': this is not supported; {kind.refusal}")
        if kind.needs_files and not flowop.files:
            self._refuse(flowop.line, f"near 'flowop {flowop.kind}': it names no fileset; give it filesetname=...")
        if flowop.kind in UNITS:
            return self._limit(flowop)
        made: Callable[[Flowop], tuple[plan.Action, ...]] = getattr(self, f"_{flowop.kind}")
        return made(flowop)

    def _do(
        self,
        flowop: Flowop,
        kind: plan.OpKind,
        file: plan.FileRef,
        *,
        access: plan.Access | None = None,
        size: plan.Distribution | None = None,
        name: str = "",
    ) -> plan.Action:
        name = name or flowop.name
        self._operations.setdefault(flowop.name, []).append(name)
        parts: dict[str, plan.Access | plan.Distribution] = {}
        if access is not None:
            parts["access"] = access
        if size is not None:
            parts["size"] = size
        return plan.Do(op=plan.Op(op=kind, name=name, file=file, **parts))  # type: ignore[arg-type]  # two fields of it

    def _slot(self, flowop: Flowop) -> plan.Slot:
        return plan.Slot(slot=self._open.slot_of(flowop))

    def _io_size(self, flowop: Flowop) -> plan.Distribution:
        if flowop.io_size == plan.Fixed(value=0.0):
            self._refuse(
                flowop.line, f"near 'flowop {flowop.kind} name={cut(flowop.name)}': its iosize is 0; give it one"
            )
        self._check_piece(flowop, largest(flowop.io_size))
        return flowop.io_size

    def _check_piece(self, flowop: Flowop, size: float) -> None:
        if size > _LARGEST_PIECE:
            self._refuse(
                flowop.line,
                f"near 'flowop {flowop.kind} name={cut(flowop.name)}': it moves {size:.0f} bytes at once; 1g is the"
                " most, give it a smaller iosize",
            )

    def _pieces(self, flowop: Flowop) -> plan.Distribution:
        """Give the size of the pieces in which a whole file moves."""
        if flowop.io_size != plan.Fixed(value=0.0):
            return self._io_size(flowop)
        size = max(1.0, float(int(largest(self._context.files[self._open.files_of(flowop)].size))))
        self._check_piece(flowop, size)
        return plan.Fixed(value=size)

    def _access(self, flowop: Flowop, files: FilesetFiles) -> plan.Access:
        if not flowop.is_random:
            return plan.Sequential()
        size = largest(flowop.io_size)
        if isinstance(files.size, plan.Fixed) and size > files.size.value:
            self._refuse(
                flowop.line,
                f"near 'flowop {flowop.kind} name={cut(flowop.name)}': its iosize of {size:.0f} is larger than the files of"
                f" '{cut(files.name)}', {files.size.value:.0f} bytes; there is no place for it",
            )
        if not flowop.working_set:
            return plan.RandomAccess()
        length = flowop.working_set
        if isinstance(files.size, plan.Fixed) and length > files.size.value:
            length = int(files.size.value)
            self._note(
                f"workingset of '{flowop.name}' (line {flowop.line})",
                "it is larger than the file, beyond whose end reads give nothing: the whole file is taken",
            )
        if size > length:
            self._refuse(
                flowop.line,
                f"near 'workingset={length}': it is smaller than the iosize, {size:.0f}; there is no place for it",
            )
        return plan.RandomAccess(region=plan.Range(from_bytes=0, length_bytes=length))

    def _move(self, flowop: Flowop, kind: plan.OpKind) -> tuple[plan.Action, ...]:
        size = self._io_size(flowop)
        if flowop.opens_next:
            return (self._of_next(flowop, kind, size),)
        slot = self._slot(flowop)
        files = self._context.files[self._open.files_of(flowop)]
        is_open_throughout = slot.slot in self._open.implied and slot.slot not in self._open.closed
        if kind is plan.OpKind.WRITE and is_open_throughout and not flowop.is_random:
            self._note(
                f"growth of '{files.name}' by '{flowop.name}' (line {flowop.line})",
                "at the end of the file it begins again, over what is there; Filebench's file grows for as long as it runs",
            )
        return (self._do(flowop, kind, slot, access=self._access(flowop, files), size=size),)

    def _of_next(self, flowop: Flowop, kind: plan.OpKind, size: plan.Distribution) -> plan.Action:
        if not flowop.files:
            self._refuse(
                flowop.line, f"near 'opennext': '{cut(flowop.name)}' names no fileset; give it filesetname=..."
            )
        if not flowop.is_random:
            self._refuse(
                flowop.line,
                "near 'opennext': each operation takes another file, where in-order makes no sense; add random, or"
                " leave opennext out",
            )
        files = self._set(flowop.files, flowop)
        access = self._access(flowop, files)
        return self._do(flowop, kind, plan.FromSet(set=flowop.files, pick=plan.Next()), access=access, size=size)

    def _read(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._move(flowop, plan.OpKind.READ)

    def _write(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._move(flowop, plan.OpKind.WRITE)

    def _readwholefile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        size = self._pieces(flowop)
        return (self._do(flowop, plan.OpKind.READ, self._slot(flowop), access=plan.Whole(to_end=True), size=size),)

    def _writewholefile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        size = self._pieces(flowop)
        self._check_source(flowop)
        return (self._do(flowop, plan.OpKind.WRITE, self._slot(flowop), access=plan.Whole(), size=size),)

    def _check_source(self, flowop: Flowop) -> None:
        """A copy is as large as its source; here as its own entry, with the same distribution of sizes."""
        source = flowop.source_fd
        if not source or source == flowop.fd:
            return
        of = self._open.source_of(source)
        if not of:
            self._refuse(flowop.line, f"near 'srcfd={source}': nothing in this thread opens it")
        files, own = self._context.files[of], self._context.files[self._open.files_of(flowop)]
        if files.size != own.size:
            self._refuse(
                flowop.line,
                f"near 'srcfd={source}': '{cut(own.name)}' has other sizes than '{cut(files.name)}', which it is to copy;"
                " give both the same size=",
            )
        if not isinstance(files.size, plan.Fixed):
            self._note(
                f"srcfd of '{flowop.name}' (line {flowop.line})",
                "each file that is written has a size of its own, drawn from the same distribution, not that of its source",
            )

    def _appendfile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        size = self._io_size(flowop)
        return (self._do(flowop, plan.OpKind.WRITE, self._slot(flowop), access=plan.Append(), size=size),)

    def _appendfilerand(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        size = up_to(self._io_size(flowop))
        return (self._do(flowop, plan.OpKind.WRITE, self._slot(flowop), access=plan.Append(), size=size),)

    def _openfile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        self._set(flowop.files, flowop)
        file = plan.FromSet(set=flowop.files, pick=self._pick(flowop), slot=flowop.fd)
        return (self._do(flowop, plan.OpKind.OPEN, file),)

    def _createfile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        self._set(flowop.files, flowop)
        if flowop.index is not None:
            self._note(f"indexed of '{flowop.name}' (line {flowop.line})", "the next free name is taken")
        file = plan.FromSet(set=flowop.files, pick=plan.New(), slot=flowop.fd)
        return (self._do(flowop, plan.OpKind.CREATE, file),)

    def _closefile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return (self._do(flowop, plan.OpKind.CLOSE, self._slot(flowop)),)

    def _deletefile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        name = flowop.files or self._open.files_of(flowop)
        self._set(name, flowop)
        if flowop.fd and flowop.fd in self._open.opened:
            self._note(
                f"fd of '{flowop.name}' (line {flowop.line})",
                "the file that exists the longest is removed, not that of the fd",
            )
        elif flowop.index is not None:
            self._note(
                f"indexed of '{flowop.name}' (line {flowop.line})", "the file that exists the longest is removed"
            )
        return (self._do(flowop, plan.OpKind.UNLINK, plan.FromSet(set=name, pick=plan.Existing())),)

    def _statfile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        if flowop.fd in self._open.all() and flowop.fd:
            return (self._do(flowop, plan.OpKind.FSTAT, plan.Slot(slot=flowop.fd)),)
        if not flowop.files:
            self._refuse(
                flowop.line, f"near 'flowop statfile name={cut(flowop.name)}': it names no fileset and no open fd"
            )
        self._set(flowop.files, flowop)
        return (self._do(flowop, plan.OpKind.STAT, plan.FromSet(set=flowop.files, pick=self._pick(flowop))),)

    def _fsync(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return (self._do(flowop, plan.OpKind.FSYNC, self._slot(flowop)),)

    def _fsyncset(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        fds = [fd for fd, files in self._open.all().items() if files == flowop.files]
        if not fds:
            self._refuse(flowop.line, f"near 'flowop fsyncset': this thread has no file of '{cut(flowop.files)}' open")
        return tuple(self._do(flowop, plan.OpKind.FSYNC, plan.Slot(slot=fd)) for fd in fds)

    # -- directories ---------------------------------------------------------------------------------------------------

    def _leaves(self, flowop: Flowop) -> str:
        if not self._context.files[flowop.files].leaf_directories:
            self._refuse(
                flowop.line,
                f"near 'flowop {flowop.kind}': '{cut(flowop.files)}' has no leaf directories; give it leafdirs=...",
            )
        self._sets[leaf_set(flowop.files)] = None
        return leaf_set(flowop.files)

    def _makedir(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return (self._do(flowop, plan.OpKind.MKDIR, plan.FromSet(set=self._leaves(flowop), pick=plan.New())),)

    def _removedir(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return (self._do(flowop, plan.OpKind.RMDIR, plan.FromSet(set=self._leaves(flowop), pick=plan.Existing())),)

    def _listdir(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        self._set(flowop.files, flowop)
        return (self._do(flowop, plan.OpKind.READDIR, plan.FromSet(set=flowop.files, pick=plan.Next())),)

    # -- asynchronous writes -------------------------------------------------------------------------------------------

    def _aiowrite(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        if not flowop.is_random:
            self._refuse(
                flowop.line, f"near 'flowop aiowrite name={cut(flowop.name)}': it is for random writes; add random"
            )
        if not flowop.files:
            self._refuse(
                flowop.line, f"near 'flowop aiowrite name={cut(flowop.name)}': it names no file; give it filename=..."
            )
        self._set(flowop.files, flowop)
        self._io_size(flowop)
        self._asynchronous[flowop.name] = flowop
        self._operations.setdefault(flowop.name, []).append(flowop.name)
        return (plan.Post(semaphore=requests_of(self._context.aio, flowop)),)

    def _aiowait(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        writes = [(other, times) for other, times in self._thread.flowops() if other.kind == "aiowrite"]
        if not writes:
            self._refuse(
                flowop.line, f"near 'flowop aiowait name={cut(flowop.name)}': this thread has no aiowrite to wait for"
            )
        waits = sum(times for other, times in self._thread.flowops() if other.kind == "aiowait")
        every = sum(times for _, times in writes)
        # Waiting for half of what is in flight, pass after pass, leaves as much in flight as a pass asks for.
        count = max(1, every // waits)
        return (plan.Wait(semaphore=done(self._context.aio), count=count, initial=every * self._thread.instances),)

    # -- between threads -----------------------------------------------------------------------------------------------

    def _targets(self, flowop: Flowop, kind: str) -> tuple[str, ...]:
        if not flowop.target or flowop.target not in self._context.waiting:
            there = ", ".join(self._context.waiting) or "none"
            self._refuse(
                flowop.line,
                f"near 'target={cut(flowop.target)}': {flowop.kind} names a {kind} as its target; there are {there}",
            )
        return self._context.waiting[flowop.target]

    def _block(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return (plan.Wait(semaphore=self._context.own[flowop.name]),)

    def _wakeup(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return tuple(plan.Post(semaphore=name) for name in self._targets(flowop, "block"))

    def _semblock(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        name = self._context.own[flowop.name]
        count = self._count(flowop)
        room = (plan.Post(semaphore=room_of(name), count=count),) if name in self._context.posted_to else ()
        return (*room, plan.Wait(semaphore=name, count=count))

    def _sempost(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        count, made = self._count(flowop), list[plan.Action]()
        for name in self._targets(flowop, "semblock"):
            if flowop.is_blocking:
                initial = self._context.high_water[name]
                made.append(plan.Wait(semaphore=room_of(name), count=count, initial=initial))
            made.append(plan.Post(semaphore=name, count=count))
        return tuple(made)

    def _count(self, flowop: Flowop) -> int:
        if not 1 <= flowop.value <= 32_767:
            self._refuse(flowop.line, f"near 'value={flowop.value}': {flowop.kind} counts from 1 to 32767 at a time")
        return flowop.value

    # -- time and ends -------------------------------------------------------------------------------------------------

    def _hog(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._thinks(flowop, flowop.value * HOG_SECONDS, burn=True)

    def _delay(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._thinks(flowop, float(flowop.value), burn=False)

    def _thinks(self, flowop: Flowop, seconds: float, *, burn: bool) -> tuple[plan.Action, ...]:
        if seconds > 86_400:
            self._refuse(flowop.line, f"near 'value={flowop.value}': {flowop.kind} would take more than a day")
        return (plan.Think(seconds=plan.Fixed(value=seconds), burn=burn),) if seconds else ()

    def _target_operation(self, flowop: Flowop) -> str:
        of = {"io", "aio"}
        named = [other for other in self._flowops if flowop.target in {other.short_name, other.name}]
        found = [other for other in named if TYPES[other.kind].of in of]
        if not found:
            self._refuse(
                flowop.line,
                f"near 'target={cut(flowop.target)}': this thread has no such read, write or other operation",
            )
        if found[0].kind == "aiowrite":
            self._refuse(flowop.line, f"near 'target={cut(flowop.target)}': asynchronous writes are not counted")
        return found[0].name

    def _limit(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        if not self._context.event_rate:
            return ()
        target = self._target_operation(flowop) if flowop.target and flowop.kind != "eventlimit" else ""
        unit = plan.TokenUnit(UNITS[flowop.kind])
        others = {
            (other.kind, other.target)
            for other in self._flowops
            if other.kind in UNITS and other.kind != "eventlimit" and flowop.kind != "eventlimit"
        }
        if len(others) > 1:
            self._refuse(
                flowop.line,
                f"near 'flowop {flowop.kind}': this thread pays for several things with one generator's events; keep"
                " one of its limits",
            )
        return (plan.Token(bucket=BUCKET, rate_per_s=self._context.event_rate, unit=unit, operation=target),)

    def _finishoncount(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._finish(flowop, ops=flowop.value)

    def _finishonbytes(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._finish(flowop, bytes_=flowop.value)

    def _finish(self, flowop: Flowop, ops: int | None = None, bytes_: int | None = None) -> tuple[plan.Action, ...]:
        target = self._target_operation(flowop) if flowop.target else ""
        return (plan.FinishOn(op=target, ops=ops, bytes=bytes_, together=not target, every_kind=not target),)


def requests_of(prefix: str, flowop: Flowop) -> str:
    """Name the semaphore that counts writes which are to be done."""
    return f"{prefix}{flowop.name}: asked"


def done(prefix: str) -> str:
    """Name the semaphore that counts writes which are done."""
    return f"{prefix}aio: done"


def room_of(semaphore: str) -> str:
    """Name the semaphore that posts wait for."""
    return f"{semaphore}: room"


def helper(flowop: Flowop, files: FilesetFiles, prefix: str, access: plan.Access) -> tuple[plan.Action, ...]:
    """Give the actions of a thread that does another one's asynchronous writes to the file that it opens."""
    opened = plan.Op(
        op=plan.OpKind.OPEN,
        name=open_name(flowop.name),
        file=plan.FromSet(set=files.name, pick=plan.InTurn(), slot=0),
    )
    write = plan.Op(op=plan.OpKind.WRITE, name=flowop.name, file=plan.Slot(slot=0), access=access, size=flowop.io_size)
    turn: tuple[plan.Action, ...] = (
        plan.Wait(semaphore=requests_of(prefix, flowop)),
        plan.Do(op=write),
        plan.Post(semaphore=done(prefix)),
    )
    return (plan.Do(op=opened), plan.Repeat(times=ENDLESS, actions=turn))
