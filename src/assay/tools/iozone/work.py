"""What one test does to its file: the loop of one worker, in the words of the Plan.

    make the file, or have it open; lock it; fsync    not timed
    read the first record (readers)                   not timed, as IOzone has it
    the records, one after the other                  timed
    fsync; unlock; close                              with -e; with -W; with -c timed, else not

Times are those of the calls: what making the content of a write takes, what `-J` computes, and what throwing a record out
of the CPU's caches takes (`-p`), is in none.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from assay import plan
from assay.errors import InputError
from assay.plan import Action, Do, Fixed, FromSet, Op, OpKind, Repeat, Slot
from assay.tools.iozone.columns import Column, Pattern
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.settings import Settings

FLUSH = "fsync"
UNLOCK = "unlock"
CLOSE = "close"
JITTER = "jitter"
MSYNC = "msync"
EACH = "each record"
"""Group of one record that reports each of them by itself, for -Q; in no result."""

_HANDLE = 0
"""Slot of the file that a test makes."""
_CLOSED = 1
"""Slot of the handle that -c closes where the records go through another."""
_MOST_ROUNDS = 20_000
"""Rounds of a strided walk that a Plan spells out."""
_JITTER_EVERY = 100
_PAGE_BYTES = 4096
_LOCKED_TESTS = frozenset({0, 1})
"""Tests of one stream that -W locks the file for; of several, all but those of streams of the C library."""
_PIECES = 16
"""Pieces of a vectored call."""


@dataclasses.dataclass(frozen=True)
class Work:
    """One test on one file."""

    settings: Settings
    column: Column
    cell: Cell
    file_set: str
    creates: bool = False
    """Whether it makes the file."""

    def job(
        self, name: str, kind: plan.WorkerKind = plan.WorkerKind.THREAD, children: Sequence[int] = (0,)
    ) -> plan.Job:
        """Make the job of some children, each on a file of its own: one pass of its loop is the test."""
        settings, is_queued = self.settings, self.settings.depth > 1
        actions = (Do(op=self._record(self._access())),) if is_queued else self._pass_once()
        # Child i is bound to CPU `-P` + i.
        cpus = () if settings.first_cpu is None else tuple(settings.first_cpu + child for child in children)
        return plan.Job(
            name=name,
            workers=len(children),
            kind=kind,
            body=plan.Loop(actions=actions),
            backend=self._backend(),
            queue_depth=max(1, settings.depth),
            open=self._open_flags(),
            affinity=plan.Affinity(cpus=cpus),
            stop=plan.Stop(ops=self.cell.records) if is_queued else plan.Stop(passes=1),
            timed=(self.column.key,) if is_queued else self._timed_names(),
        )

    def _pass_once(self) -> tuple[Action, ...]:
        return (*self._begin(), *self._timed_part(), *self._end())

    def _timed_names(self) -> tuple[str, ...]:
        names = [self.column.key]
        names += [MSYNC] if self._flushes_each() else []
        names += [JITTER] if self._has_jitter() else []
        names += [FLUSH] if self.settings.flush_in_time else []
        names += [UNLOCK] if self._locks() else []
        names += [CLOSE] if self.settings.close_in_time else []
        return tuple(names)

    def _backend(self) -> plan.Backend:
        if self.column.is_stdio:
            return plan.Stdio()
        if self.settings.mmap:
            return plan.Mmap()
        return plan.IoUring(fallback=plan.Fallback.THREADS) if self.settings.depth > 1 else plan.Psync()

    def _open_flags(self) -> plan.OpenFlags:
        """Give the flags of the file; streams go through the page cache, as in IOzone."""
        direct = plan.Direct.ON if self.settings.direct and not self.column.is_stdio else plan.Direct.OFF
        return plan.OpenFlags(direct=direct, sync=self.settings.sync, dsync=self.settings.dsync)

    # -- the parts of the loop -----------------------------------------------------------------------------------------

    def _begin(self) -> Iterator[Action]:
        if self.creates:
            new = FromSet(set=self.file_set, pick=plan.New(), slot=_HANDLE)
            yield Do(op=Op(op=OpKind.CREATE, name="create", file=new))
        elif self.settings.close_in_time:
            extra = FromSet(set=self.file_set, pick=plan.Own(), slot=_CLOSED)
            yield Do(op=Op(op=OpKind.OPEN, name="open", file=extra))
        if self._locks():
            kind = OpKind.LOCK if self.column.is_write else OpKind.LOCK_SHARED
            yield Do(op=Op(op=kind, name="lock", file=self._file()))
        yield Do(op=Op(op=OpKind.FSYNC, name="fsync before", file=self._file()))
        if not self.column.is_write:
            first = plan.Range(from_bytes=0, length_bytes=self.cell.record_bytes)
            access = plan.Sequential(region=first)
            yield Do(op=self._data(OpKind.READ, "first record", access, self.cell.record_bytes))

    def _timed_part(self) -> Iterator[Action]:
        for access, times in self._walks():
            record = Do(op=self._record(access))
            shown = plan.Group(name=EACH, actions=(record,), laps=True) if self.settings.latency_files else record
            yield from self._repeat(times, self._one(shown))

    def _one(self, record: Action) -> tuple[Action, ...]:
        compute = plan.Think(seconds=Fixed(value=self.settings.compute_ms / 1000), burn=True)
        flush = Do(op=Op(op=OpKind.FDATASYNC, name=MSYNC, file=self._file()))
        return (*((compute,) if self.settings.compute_ms else ()), record, *((flush,) if self._flushes_each() else ()))

    def _locks(self) -> bool:
        """Return whether the file is locked meanwhile: unlocking is in the time, as in IOzone."""
        has_lock = self.settings.is_throughput or self.column.test in _LOCKED_TESTS
        return self.settings.lock and has_lock and not self.column.is_stdio

    def _flushes_each(self) -> bool:
        return self.settings.mmap and self.settings.mmap_flushes and self.column.is_write

    def _repeat(self, times: int, actions: tuple[Action, ...]) -> Iterator[Action]:
        if not self._has_jitter():
            yield Repeat(times=times, actions=actions)
            return
        rounds, rest = divmod(times, _JITTER_EVERY)
        if rounds:
            yield Repeat(times=rounds, actions=(Repeat(times=_JITTER_EVERY, actions=actions), *self._astray()))
        if rest:
            yield Repeat(times=rest, actions=actions)

    def _has_jitter(self) -> bool:
        reads = not self.column.is_write and not self.column.is_stdio
        return self.settings.jitter and reads and any(times >= _JITTER_EVERY for _, times in self._walks())

    def _astray(self) -> tuple[Action, ...]:
        """One byte at the start and one in the second page."""
        last = max(0, min(_PAGE_BYTES, self.cell.file_bytes - 1))
        return tuple(
            Do(op=self._data(OpKind.READ, JITTER, plan.Sequential(region=plan.Range(from_bytes=at, length_bytes=1)), 1))
            for at in (0, last)
        )

    def _end(self) -> Iterator[Action]:
        in_time = self.settings.flush_in_time
        # A close that is timed has no fsync before it that is not.
        if in_time or not self.settings.close_in_time:
            name = FLUSH if in_time else "fsync after"
            yield Do(op=Op(op=OpKind.FSYNC, name=name, file=self._file()))
        if self._locks():
            yield Do(op=Op(op=OpKind.UNLOCK, name=UNLOCK, file=self._file()))
        if self.creates or self.settings.close_in_time:
            name = CLOSE if self.settings.close_in_time else "close after"
            slot = _HANDLE if self.creates else _CLOSED
            yield Do(op=Op(op=OpKind.CLOSE, name=name, file=Slot(slot=slot)))

    # -- records -------------------------------------------------------------------------------------------------------

    def _file(self) -> plan.FileRef:
        return Slot(slot=_HANDLE) if self.creates else FromSet(set=self.file_set, pick=plan.Own())

    def _record(self, access: plan.Access) -> Op:
        kind = OpKind.WRITE if self.column.is_write else OpKind.READ
        return self._data(kind, self.column.key, access, self.cell.record_bytes)

    def _data(self, kind: OpKind, name: str, access: plan.Access, size_bytes: int) -> Op:
        vectors = _PIECES if self.column.is_vectored and size_bytes == self.cell.record_bytes else 0
        return Op(
            op=kind,
            name=name,
            file=self._file(),
            access=access,
            size=Fixed(value=float(size_bytes)),
            flags=plan.OpFlags(vectors=vectors, cold_buffer=self.settings.purge),
        )

    def _walks(self) -> Iterator[tuple[plan.Access, int]]:
        """List the accesses one after the other, and how many records each is for."""
        if self.column.pattern is not Pattern.STRIDE:
            yield self._access(), self.cell.records
            return
        for start, count in stride_rounds(self.cell.records, self.settings.stride):
            yield self._stride(start, count), count

    def _access(self) -> plan.Access:
        match self.column.pattern:
            case Pattern.RANDOM:
                return plan.RandomAccess(coverage=plan.Coverage.EACH_ONCE)
            case Pattern.BACKWARD:
                return plan.Backward(wrap=False)
            case Pattern.SAME:
                return plan.Sequential(region=plan.Range(from_bytes=0, length_bytes=self.cell.record_bytes))
            case Pattern.STRIDE if self.cell.records > self.settings.stride:
                return plan.Stride(stride_bytes=self.settings.stride * self.cell.record_bytes)
            case Pattern.STRIDE:
                return self._stride(0, 1)
        return plan.Sequential(wrap=False)

    def _stride(self, start: int, count: int) -> plan.Access:
        step = self.settings.stride * self.cell.record_bytes
        length_bytes = min((count - 1) * step + self.cell.record_bytes, self.cell.file_bytes)
        if self.cell.records <= self.settings.stride:
            # The same record again and again: the walk starts over at once.
            length_bytes = self.cell.record_bytes
        region = plan.Range(from_bytes=start * self.cell.record_bytes, length_bytes=length_bytes)
        return plan.Stride(stride_bytes=step, region=region)


def stride_rounds(records: int, stride: int) -> list[tuple[int, int]]:
    """Give the rounds of IOzone's strided walk: first record, and how many records `stride` apart.

    As many records as the file has are read. Record p is followed by p + stride, unless p + 1 + stride reaches the last
    record: then a new round begins, one record further on than the round before. A file of no more records than the
    stride is read at record 0 alone, every time.

    Raises:
        InputError: more rounds than a Plan can spell out.
    """
    if records <= stride:
        return [(0, records)]
    rounds: list[tuple[int, int]] = []
    left = records
    while left:
        start = len(rounds) % records
        # Steps while p + 1 + stride < records - 1, from p = start on.
        steps = max(0, -((start + 2 + stride - records) // stride))
        count = min(left, steps + 1)
        rounds.append((start, count))
        left -= count
        if len(rounds) > _MOST_ROUNDS:
            raise InputError(
                f"iozone: a stride of {stride} records over {records} takes more than {_MOST_ROUNDS} rounds; use a"
                " smaller -j"
            )
    return rounds
