"""What a thread does, as actions of the Plan.

A flowop's fd is a slot of the same number. Where a flowop works on an fd that nothing in the thread opens, Filebench opens
the next file at its first turn and keeps it: here that open stands in front of the passes, which then are one long repeat.
If the thread closes that fd, the open stands in front of the first flowop that needs it, in each pass.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NoReturn

from assay import plan
from assay.errors import FrontEndError
from assay.tools.arguments import cut
from assay.tools.filebench.flowops import TYPES, UNITS
from assay.tools.filebench.personality import Body, Composite, Files, Flowop, Note, Thread
from assay.tools.filebench.randoms import largest, up_to

ENDLESS: Final = 1 << 60
"""Passes of a thread that opens its files first."""
HOG_SECONDS: Final = 1.3e-9
"""That a store of `hog` takes: what it takes in Filebench, about five cycles of a processor of 4 GHz."""
BUCKET: Final = "eventgen"
_LARGEST_PIECE: Final = 1 << 30
_FIRST_EXTRA_SLOT: Final = 128
"""Of files that are named without an fd, beside the first of them."""
_MOST_SLOT: Final = 1023


def leaf_set(files: str) -> str:
    """Name of the file set of a fileset's leaf directories."""
    return f"{files}.leafdirs"


def open_name(flowop: str) -> str:
    """Name of the open that a flowop makes by itself."""
    return f"{flowop}: open"


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What a thread knows of the others."""

    source: str
    files: Mapping[str, Files]
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
    """A flowop, its operation and how often that is done in a pass: it tells how many passes there were."""
    idle: frozenset[str] = frozenset()
    """Flowops that do nothing, such as limits without an event generator."""
    notes: tuple[Note, ...] = ()

    def does_something(self, flowop: Flowop) -> bool:
        """Whether it is carried out at all."""
        return flowop.name not in self.idle


class ThreadPlanner:
    """Plans one thread."""

    def __init__(self, thread: Thread, around: Surroundings) -> None:
        """For a thread of a process."""
        self._thread = thread
        self._around = around
        self._flowops = [flowop for flowop, _ in thread.flowops()]
        self._sets: dict[str, None] = {}
        self._operations: dict[str, list[str]] = {}
        self._notes: dict[Note, None] = {}
        self._opened = self._explicitly_opened()
        self._implied_slots: dict[tuple[int, str], int] = {}
        self._implied = self._implicitly_opened()
        self._closed = {self._slot_of(flowop) for flowop in self._flowops if flowop.kind == "closefile"}
        self._waiting_opens: dict[int, plan.Action] = {}
        self._asynchronous: dict[str, Flowop] = {}
        self._idle: set[str] = set()

    def made(self) -> ThreadPlan:
        """Make the actions; raises FrontEndError for what cannot be carried out as meant."""
        first = tuple(self._implicit_open(slot) for slot in self._implied if slot not in self._closed)
        self._waiting_opens = {slot: self._implicit_open(slot) for slot in self._implied if slot in self._closed}
        body = self._body(self._thread.body)
        if not body:
            self._refuse(self._thread.line, f"near 'thread name={cut(self._thread.name)}': it does nothing")
        if first:
            body = (*first, plan.Repeat(times=ENDLESS, actions=body))
        openers = [flowop for flowop in self._flowops if self._is_opener(flowop)]
        writers = [flowop for flowop in openers if self._is_written(flowop)]
        return ThreadPlan(
            actions=body,
            is_direct=self._agreed(openers, "directio", lambda flowop: flowop.is_direct),
            is_sync=self._agreed(writers, "dsync", lambda flowop: flowop.is_dsync),
            reads_ahead=not self._agreed(openers, "noreadahead", lambda flowop: not flowop.reads_ahead),
            sets=tuple(self._sets),
            operations={name: tuple(dict.fromkeys(names)) for name, names in self._operations.items()},
            asynchronous=tuple(self._asynchronous.values()),
            passes_by=self._reference(),
            idle=frozenset(self._idle),
            notes=tuple(self._notes),
        )

    def _refuse(self, line: int, text: str) -> NoReturn:
        raise FrontEndError(self._around.source, line, text)

    def _note(self, what: str, why: str) -> None:
        self._notes[Note(what, why)] = None

    def _reference(self) -> tuple[Flowop, str, int] | None:
        found = [
            (flowop, recorded[-1], times)
            for flowop, times in self._thread.flowops()
            if (recorded := self._operations.get(flowop.name))
        ]
        # Writes beside the thread lag behind it.
        return min(found, key=lambda one: one[0].kind == "aiowrite", default=None)

    # -- who opens what ------------------------------------------------------------------------------------------------

    def _explicitly_opened(self) -> dict[int, str]:
        opened: dict[int, str] = {}
        for flowop in self._flowops:
            if TYPES[flowop.kind].opens:
                if not flowop.files:
                    self._refuse(flowop.line, f"near 'flowop {flowop.kind}': it opens no file; give it filesetname=...")
                if flowop.opens_next:
                    self._refuse(
                        flowop.line,
                        f"near 'opennext': {flowop.kind} takes one fd; give it the fd, and leave opennext out",
                    )
                opened.setdefault(flowop.fd, flowop.files)
        return opened

    def _implicitly_opened(self) -> dict[int, Flowop]:
        """By slot: the flowop that opens a file there at its first turn."""
        implied: dict[int, Flowop] = {}
        for flowop in self._flowops:
            kind = TYPES[flowop.kind]
            if not kind.is_on_file or flowop.fd in self._opened or flowop.opens_next or flowop.kind == "aiowrite":
                continue
            if not flowop.files or (flowop.fd, flowop.files) in self._implied_slots:
                continue
            slot = flowop.fd
            if slot in implied:
                if flowop.fd:
                    before = implied[slot]
                    self._refuse(
                        flowop.line,
                        f"near 'filename={cut(flowop.files)}': fd {flowop.fd} has '{cut(before.files)}' open, from line"
                        f" {before.line}; give one of them another fd, fd=...",
                    )
                slot = _FIRST_EXTRA_SLOT + len(self._implied_slots)
                self._note(
                    f"the one fd of files without any, for '{flowop.files}' (line {flowop.line})",
                    "each file that is named without an fd is open by itself; Filebench stays with the first one, whatever"
                    " is named later",
                )
            if slot > _MOST_SLOT:
                self._refuse(flowop.line, "this thread has too many files open at a time")
            self._implied_slots[flowop.fd, flowop.files] = slot
            implied[slot] = flowop
        return implied

    def _slot_of(self, flowop: Flowop) -> int:
        """Slot of the file that a flowop works on; refuses where nothing opens it."""
        if flowop.fd in self._opened:
            return flowop.fd
        of_fd = [
            slot for (fd, files), slot in self._implied_slots.items() if fd == flowop.fd and flowop.files in {"", files}
        ]
        if not of_fd:
            self._refuse(
                flowop.line,
                f"near 'flowop {flowop.kind} name={cut(flowop.name)}': nothing opens its fd {flowop.fd}; open it before, or"
                " give it filename=...",
            )
        return of_fd[0]

    def _is_opener(self, flowop: Flowop) -> bool:
        kind = TYPES[flowop.kind]
        if kind.opens or (kind.is_on_file and (flowop.opens_next or flowop.kind == "aiowrite")):
            return True
        if not kind.is_on_file:
            return False
        if flowop in self._implied.values():
            return True
        first = None if flowop.fd in self._opened else self._implied.get(self._slot_of(flowop))
        for word, is_set in (("directio", flowop.is_direct), ("dsync", flowop.is_dsync)):
            had = first is not None and (first.is_direct if word == "directio" else first.is_dsync)
            if is_set and not had:
                self._note(
                    f"{word} of '{flowop.name}' (line {flowop.line})",
                    f"the file of fd {flowop.fd} is opened by another flowop, without it: as in Filebench, it has no effect",
                )
        return False

    def _is_written(self, flowop: Flowop) -> bool:
        if TYPES[flowop.kind].is_on_file and TYPES[flowop.kind].direction == "write":
            return True
        fd = flowop.fd
        return any(
            other.fd == fd and TYPES[other.kind].direction == "write" and not other.opens_next
            for other in self._flowops
        )

    def _agreed(self, openers: Iterable[Flowop], word: str, has: Callable[[Flowop], bool]) -> bool:
        found = list(openers)
        if not found:
            return False
        for flowop in found:
            if has(flowop) != has(found[0]):
                self._refuse(
                    flowop.line,
                    f"near '{word}': this thread opens files with and without it (see line {found[0].line}); put them into"
                    " threads of their own",
                )
        return has(found[0])

    def _set(self, name: str, flowop: Flowop) -> Files:
        files = self._around.files[name]
        if files.entries == 0:
            self._refuse(
                flowop.line, f"near '{cut(flowop.name)}': '{cut(name)}' has no entries; give it some, entries=..."
            )
        self._sets[name] = None
        return files

    def _files_of(self, flowop: Flowop) -> str:
        """Name of the set whose file is open in a flowop's fd."""
        slot = self._slot_of(flowop)
        return self._opened[slot] if slot in self._opened else self._implied[slot].files

    def _implicit_open(self, slot: int) -> plan.Action:
        flowop = self._implied[slot]
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
                if on_slot and self._waiting_opens and (opened := self._waiting_opens.pop(self._slot_of(part), None)):
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
            self._refuse(flowop.line, f"near 'flowop {flowop.kind}': this is not carried out; {kind.refusal}")
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
        return plan.Slot(slot=self._slot_of(flowop))

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
        """Size of the pieces in which a whole file moves."""
        if flowop.io_size != plan.Fixed(value=0.0):
            return self._io_size(flowop)
        size = max(1.0, float(int(largest(self._around.files[self._files_of(flowop)].size))))
        self._check_piece(flowop, size)
        return plan.Fixed(value=size)

    def _access(self, flowop: Flowop, files: Files) -> plan.Access:
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

    def _moved(self, flowop: Flowop, kind: plan.OpKind) -> tuple[plan.Action, ...]:
        size = self._io_size(flowop)
        if flowop.opens_next:
            return (self._of_next(flowop, kind, size),)
        slot = self._slot(flowop)
        files = self._around.files[self._files_of(flowop)]
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
        return self._moved(flowop, plan.OpKind.READ)

    def _write(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._moved(flowop, plan.OpKind.WRITE)

    def _readwholefile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        size = self._pieces(flowop)
        return (self._do(flowop, plan.OpKind.READ, self._slot(flowop), access=plan.Whole(to_end=True), size=size),)

    def _writewholefile(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        size = self._pieces(flowop)
        self._check_source(flowop)
        return (self._do(flowop, plan.OpKind.WRITE, self._slot(flowop), access=plan.Whole(), size=size),)

    def _check_source(self, flowop: Flowop) -> None:
        """A copy is as large as its source; here it is as large as its own entry, which has the same law of sizes."""
        source = flowop.source_fd
        if not source or source == flowop.fd:
            return
        of = self._opened.get(source) or next((files for fd, files in self._implied_slots if fd == source), "")
        if not of:
            self._refuse(flowop.line, f"near 'srcfd={source}': nothing in this thread opens it")
        files, own = self._around.files[of], self._around.files[self._files_of(flowop)]
        if files.size != own.size:
            self._refuse(
                flowop.line,
                f"near 'srcfd={source}': '{cut(own.name)}' has other sizes than '{cut(files.name)}', which it is to copy;"
                " give both the same size=",
            )
        if not isinstance(files.size, plan.Fixed):
            self._note(
                f"srcfd of '{flowop.name}' (line {flowop.line})",
                "each file that is written has a size of its own, drawn by the same law, not that of the file that was read",
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
        name = flowop.files or self._files_of(flowop)
        self._set(name, flowop)
        if flowop.fd and flowop.fd in self._opened:
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
        if flowop.fd and (flowop.fd in self._opened or flowop.fd in self._implied):
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
        opened = {**self._opened, **{slot: other.files for slot, other in self._implied.items()}}
        fds = [fd for fd, files in opened.items() if files == flowop.files]
        if not fds:
            self._refuse(flowop.line, f"near 'flowop fsyncset': this thread has no file of '{cut(flowop.files)}' open")
        return tuple(self._do(flowop, plan.OpKind.FSYNC, plan.Slot(slot=fd)) for fd in fds)

    # -- directories ---------------------------------------------------------------------------------------------------

    def _leaves(self, flowop: Flowop) -> str:
        if not self._around.files[flowop.files].leaf_directories:
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
        return (plan.Post(semaphore=asked(self._around.aio, flowop)),)

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
        return (plan.Wait(semaphore=done(self._around.aio), count=count, initial=every * self._thread.instances),)

    # -- between threads -----------------------------------------------------------------------------------------------

    def _targets(self, flowop: Flowop, kind: str) -> tuple[str, ...]:
        if not flowop.target or flowop.target not in self._around.waiting:
            there = ", ".join(self._around.waiting) or "none"
            self._refuse(
                flowop.line,
                f"near 'target={cut(flowop.target)}': {flowop.kind} names a {kind} as its target; there are {there}",
            )
        return self._around.waiting[flowop.target]

    def _block(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return (plan.Wait(semaphore=self._around.own[flowop.name]),)

    def _wakeup(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return tuple(plan.Post(semaphore=name) for name in self._targets(flowop, "block"))

    def _semblock(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        name = self._around.own[flowop.name]
        count = self._counted(flowop)
        room = (plan.Post(semaphore=room_of(name), count=count),) if name in self._around.posted_to else ()
        return (*room, plan.Wait(semaphore=name, count=count))

    def _sempost(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        count, made = self._counted(flowop), list[plan.Action]()
        for name in self._targets(flowop, "semblock"):
            if flowop.is_blocking:
                initial = self._around.high_water[name]
                made.append(plan.Wait(semaphore=room_of(name), count=count, initial=initial))
            made.append(plan.Post(semaphore=name, count=count))
        return tuple(made)

    def _counted(self, flowop: Flowop) -> int:
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
        for other, _ in self._thread.flowops():
            if flowop.target in {other.short_name, other.name} and TYPES[other.kind].of in {"io", "aio"}:
                if other.kind == "aiowrite":
                    self._refuse(
                        flowop.line, f"near 'target={cut(flowop.target)}': writes beside the thread are not counted"
                    )
                return other.name
        self._refuse(
            flowop.line, f"near 'target={cut(flowop.target)}': this thread has no such read, write or other operation"
        )

    def _limit(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        if not self._around.event_rate:
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
        return (plan.Token(bucket=BUCKET, rate_per_s=self._around.event_rate, unit=unit, operation=target),)

    def _finishoncount(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._finish(flowop, ops=flowop.value)

    def _finishonbytes(self, flowop: Flowop) -> tuple[plan.Action, ...]:
        return self._finish(flowop, bytes_=flowop.value)

    def _finish(self, flowop: Flowop, ops: int | None = None, bytes_: int | None = None) -> tuple[plan.Action, ...]:
        target = self._target_operation(flowop) if flowop.target else ""
        return (plan.FinishOn(op=target, ops=ops, bytes=bytes_, together=not target, every_kind=not target),)


def asked(prefix: str, flowop: Flowop) -> str:
    """Name the semaphore that counts writes which are to be done."""
    return f"{prefix}{flowop.name}: asked"


def done(prefix: str) -> str:
    """Name the semaphore that counts writes which are done."""
    return f"{prefix}aio: done"


def room_of(semaphore: str) -> str:
    """Name the semaphore that posts wait for."""
    return f"{semaphore}: room"


def helper(flowop: Flowop, files: Files, prefix: str, access: plan.Access) -> tuple[plan.Action, ...]:
    """Give the actions of a thread that does another one's asynchronous writes to the file that it opens."""
    opened = plan.Op(
        op=plan.OpKind.OPEN,
        name=open_name(flowop.name),
        file=plan.FromSet(set=files.name, pick=plan.InTurn(), slot=0),
    )
    write = plan.Op(op=plan.OpKind.WRITE, name=flowop.name, file=plan.Slot(slot=0), access=access, size=flowop.io_size)
    turn: tuple[plan.Action, ...] = (
        plan.Wait(semaphore=asked(prefix, flowop)),
        plan.Do(op=write),
        plan.Post(semaphore=done(prefix)),
    )
    return (plan.Do(op=opened), plan.Repeat(times=ENDLESS, actions=turn))
