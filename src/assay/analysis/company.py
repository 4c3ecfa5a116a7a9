"""What did devices do for others than the load?

No single measure shows what others took of a device, so there are three: bytes, requests (flushes too), and the time that
requests were in the device. A request costs a device a constant, an amount for each byte, or both: others' share of the cost
is between their share of the requests and their share of the bytes. Others can delay a load only while a request of theirs
is in the device: so each kind of I/O (read, write, flush) counts for no more than the share of the window that others'
requests of that kind took.

Own bytes are known where their counters are. Requests are not operations: the kernel merges neighbours and splits what is
large. The load has at most one request for each operation, times the pieces that the queue's limits split it into. A file in
fragments takes more requests, but no more bytes: others made no more requests than their bytes have pages. Through the page
cache, operations do not show the requests: there, others' requests count as large as the load's. Flushes are others' where
no job of the phase can cause one.

Requests that are in flight when the window begins or ends are in one counter and not yet in the other: where a device had
any then, the bytes that the load keeps in flight count as its own.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from assay.analysis import thresholds
from assay.analysis.case import Case
from assay.analysis.device import busiest_share, devices_of
from assay.analysis.layers import IN_PLACE, Below, largest_request_bytes, layers_below
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.plan import Allocate, Append
from assay.plan.op_rules import CHANGES, WRITES
from assay.plan.walk import job_ops

_PAGE_BYTES = 4096
_DURABLE_COPIES, _DURABLE_BLOCKS = 2, 3
"""What a durable write in place makes a device write at most: its data twice (in a journal too, with `data=journal`), and a
transaction of a descriptor, the inode's block and a commit (Linux, Documentation/filesystems/ext4/journal.rst)."""
_WAYS = ("read", "write")
_COUNTED = (
    *(f"{way}{what}" for way in _WAYS for what in ("s", "_bytes", "_ns")),
    "flushes",
    "flush_ns",
)


@dataclasses.dataclass(frozen=True)
class OwnIo:
    """What a load had of a device in one direction, at most."""

    bytes: float
    requests: float | None
    """None: they cannot be counted."""
    counted_bytes: float
    """Those that are known to be its own."""

    @property
    def is_nothing(self) -> bool:
        """Whether it did nothing in this direction."""
        return self.bytes <= 0


NOTHING = OwnIo(bytes=0.0, requests=0.0, counted_bytes=0.0)


@dataclasses.dataclass(frozen=True)
class OthersIo:
    """Others' part of one kind of I/O (reads, writes, flushes)."""

    bytes: float
    requests: float | None
    ns: float | None
    """How long their requests took, at most; None: not known."""
    is_all: bool
    """Whether the load had no part in it."""


@dataclasses.dataclass(frozen=True)
class Company:
    """What devices did in a window, and others' part of it."""

    devices: tuple[str, ...]
    above: tuple[str, ...]
    """Devices of the run that pass their I/O on to these; empty for those that it uses itself."""
    parts: Mapping[str, OthersIo]
    """By kind: `read`, `write`, `flush`."""
    total_bytes: float
    total_requests: float | None
    total_ns: float | None
    seconds: float
    busy_share: float | None
    """Of the window, in which the busiest had a request; None: requests waited before the device, so it is not used."""

    @property
    def bytes(self) -> float:
        """What they moved for others."""
        return sum(part.bytes for part in self.parts.values())

    @property
    def requests(self) -> float | None:
        """What others asked them for."""
        each = [part.requests for part in self.parts.values()]
        return None if None in each else sum(count for count in each if count is not None)

    @property
    def is_noticeable(self) -> bool:
        """Whether others did more than a system at rest does; no request is less than a page."""
        moved = max(self.bytes, _PAGE_BYTES * (self.requests or 0.0))
        return moved >= thresholds.FOREIGN_BYTES_PER_S * self.seconds

    @property
    def shares(self) -> tuple[float, float]:
        """Others' share at least and at most."""
        of_bytes = self._share({kind: part.bytes for kind, part in self.parts.items()}, self.total_bytes)
        if self.requests is None or not self.total_requests:
            return of_bytes, of_bytes
        of_requests = self._share(
            {kind: part.requests or 0.0 for kind, part in self.parts.items()}, self.total_requests
        )
        known_ns = {kind: part.ns or 0.0 for kind, part in self.parts.items() if part.is_all}
        of_time = self._share(known_ns, self.total_ns or 0.0)
        return min(of_bytes, of_requests), max(of_bytes, of_requests, of_time)

    def _share(self, theirs: Mapping[str, float], total: float) -> float:
        if total <= 0:
            return 0.0
        share = sum(min(amount / total, self._presence(kind)) for kind, amount in theirs.items())
        return share if self.busy_share is None else min(self.busy_share, share)

    def _presence(self, kind: str) -> float:
        """Share of the window in which others had a request of a kind there, at most."""
        ns = self.parts[kind].ns
        return 1.0 if ns is None or self.busy_share is None else min(1.0, ns / (self.seconds * NS_PER_S))


def on_own_devices(case: Case, *, however_idle: bool = False) -> Company | None:
    """Find what the devices of a phase did for others; None where unknown.

    Args:
        case: A result.
        however_idle: Leave the time in which the devices were busy out of it.
    """
    devices, span = case.subject.devices_of_all, case.window.counted
    if devices is None or not case.window.is_resolved or _are_on_each_other(case):
        return None
    did, read = _did(case.record, devices, span), _own_reads(case)
    if did["read_bytes"] is None or did["write_bytes"] is None or read is None:
        return None
    return _company(case, devices, did, {"read": read, "write": _own_writes(case)}, however_idle=however_idle)


def on_devices_below(case: Case) -> Sequence[Company]:
    """Find what the devices below those of a phase did for others: what did not come through the upper ones."""
    devices, span = case.subject.devices_of_all, case.window.counted
    if devices is None or not case.window.is_resolved:
        return ()
    found = []
    for below in _below(case):
        did, passed = (_did(case.record, names, span) for names in ((below.name,), below.above))
        if below.name in _used(case) or None in (*did.values(), *passed.values()):
            continue
        own = {way: _passed_on(case, below, passed, way) for way in _WAYS}
        flushes = passed["flushes"] or 0.0
        found.append(_company(case, (below.name,), did, own, above=below.above, own_flushes=flushes))
    return found


def _runs(case: Case) -> Sequence[RunRecord]:
    """Give the runs of all clients of the machine."""
    return (case.run,) if case.run.machine is None else tuple(case.run.machine.clients.values())


def _below(case: Case) -> Sequence[Below]:
    return layers_below(_runs(case), case.subject.targets_of_all)


def _used(case: Case) -> frozenset[str]:
    """Name the devices that the load itself uses."""
    return frozenset(
        name for run in _runs(case) for target in case.subject.targets_of_all for name in devices_of(run, target)
    )


def _are_on_each_other(case: Case) -> bool:
    """Whether a device of the load serves another one of it: the load's I/O is in the counters of both."""
    return not {below.name for below in _below(case)}.isdisjoint(_used(case))


def _did(record: PhaseRecord, devices: Sequence[str], span: Span) -> Mapping[str, float | None]:
    """Sum up what devices did; None for what was not sampled of one of them. Kernels before 5.5 count no flushes."""
    did: dict[str, float | None] = {}
    for name in _COUNTED:
        each = [record.counters.delta(span, "diskstats", device, name) for device in devices]
        is_known = all(grown is not None for grown in each)
        did[name] = sum(grown or 0.0 for grown in each) if is_known or name.startswith("flush") else None
    return did


def _company(
    case: Case,
    devices: tuple[str, ...],
    did: Mapping[str, float | None],
    own: Mapping[str, OwnIo | None],
    *,
    above: tuple[str, ...] = (),
    own_flushes: float = 0.0,
    however_idle: bool = False,
) -> Company:
    span = case.window.counted
    edge_bytes = _edge_bytes(case, (*devices, *above))
    parts = {way: _part(did, way, own[way], edge_bytes) for way in _WAYS}
    parts["flush"] = _flushes(case, did, own_flushes)
    counts, times = ([did[f"{way}{what}"] for way in _WAYS] for what in ("s", "_ns"))
    return Company(
        devices=devices,
        above=above,
        parts=parts,
        total_bytes=sum(did[f"{way}_bytes"] or 0.0 for way in _WAYS),
        total_requests=None if None in counts else sum(map(float, filter(None, (*counts, did["flushes"])))),
        total_ns=None if None in times else sum(map(float, filter(None, (*times, did["flush_ns"])))),
        seconds=span.seconds,
        busy_share=None if however_idle else busiest_share(case.record, devices, span),
    )


def _part(did: Mapping[str, float | None], way: str, own: OwnIo | None, edge_bytes: float) -> OthersIo:
    """Find others' part of a direction; none where the load's is not known."""
    moved, made, ns = did[f"{way}_bytes"] or 0.0, did[f"{way}s"], did[f"{way}_ns"]
    if own is None:
        return OthersIo(0.0, 0.0, 0.0, is_all=False)
    if own.is_nothing:
        return OthersIo(moved, made, ns, is_all=True)
    theirs = max(0.0, moved - own.bytes - edge_bytes)
    if made is None or own.requests is None:
        requests = None if made is None else made * theirs / moved if moved else 0.0
    else:
        pages = max(0.0, moved - own.counted_bytes - edge_bytes) / _PAGE_BYTES
        requests = max(0.0, min(made - own.requests, pages))
    return OthersIo(theirs, requests, ns if theirs or requests else 0.0, is_all=False)


def _flushes(case: Case, did: Mapping[str, float | None], own: float) -> OthersIo:
    if case.subject.can_flush:
        return OthersIo(0.0, 0.0, 0.0, is_all=False)
    flushes, ns = did["flushes"] or 0.0, did["flush_ns"] or 0.0
    theirs = max(0.0, flushes - own)
    return OthersIo(0.0, theirs, ns * theirs / flushes if flushes else 0.0, is_all=True)


def _edge_bytes(case: Case, devices: Sequence[str]) -> float:
    """Return how many own bytes may be in one counter of the window and not in the other."""
    span = case.window.counted
    in_flight = (
        case.record.counters.at(at_ns, "diskstats", device, "in_flight")
        for at_ns in (span.begin_ns, span.end_ns)
        for device in devices
    )
    return case.subject.bytes_in_flight(span) if any(in_flight) else 0.0


# -- the load's own part -----------------------------------------------------------------------------------------------


def own_read_bytes(case: Case) -> float | None:
    """Return the bytes that devices read for the load in the window; None where unknown."""
    return case.subject.fetched_bytes(case.window.counted) if case.window.is_resolved else None


def own_written_bytes(case: Case) -> float | None:
    """Return the bytes that devices wrote for it at most; None where unknown."""
    subject = case.subject
    if not any(op.op in CHANGES for job in case.record.phase.jobs for op in job_ops(job)):
        return 0.0
    written = _counted_writes(case)
    if written is None or not IN_PLACE.issuperset(subject.file_systems_of_all):
        return None
    if subject.all_plain_direct:
        return written * (1 + thresholds.COUNTERS_APART)
    writes = subject.ops_on_devices(case.window.counted)
    is_alone = len(case.record.phase.jobs) == 1 and _only_writes(case) and case.reaches_device
    return None if not is_alone or writes is None or _allocates(case) else _durable_bytes(writes, written)


def _counted_writes(case: Case) -> float | None:
    """Return the bytes that the phase's operations wrote to its devices; None where unknown."""
    return case.subject.total_on_devices("write", "bytes", case.window.counted)


def _own_reads(case: Case) -> OwnIo | None:
    fetched = own_read_bytes(case)
    return None if fetched is None else OwnIo(fetched, _own_requests(case, "read"), fetched)


def _own_writes(case: Case) -> OwnIo | None:
    most = own_written_bytes(case)
    if most is None or not most:
        return None if most is None else NOTHING
    requests = _own_requests(case, "write")
    return OwnIo(
        bytes=most,
        requests=None if requests is None else requests * (1 + thresholds.COUNTERS_APART),
        counted_bytes=_counted_writes(case) or 0.0,
    )


def _own_requests(case: Case, way: str) -> float | None:
    """Return how many requests the load's operations are at most; None where they do not go straight to one device."""
    subject, span = case.subject, case.window.counted
    if not subject.is_plain_direct or len(case.record.phase.jobs) > 1 or len(subject.devices_of_all or ()) != 1:
        return None
    ops, moved = (subject.total_on_devices(way, column, span) for column in ("ops", "bytes"))
    if ops is None or moved is None:
        return None
    return _cut(ops, moved, largest_request_bytes(case.run, subject.targets_of_all))


def _passed_on(case: Case, below: Below, passed: Mapping[str, float | None], way: str) -> OwnIo:
    """Return what a device had at most to do for what the devices above it did in a direction."""
    moved, made = passed[f"{way}_bytes"] or 0.0, passed[f"{way}s"] or 0.0
    requests = _cut(made, moved, largest_request_bytes(case.run, case.subject.targets_of_all))
    if way == "read" or not below.is_through_file or not moved:
        return OwnIo(moved, requests, moved)
    if case.subject.can_flush:
        return OwnIo(_durable_bytes(made, moved), None, moved)
    times = 1 + thresholds.COUNTERS_APART
    return OwnIo(moved * times, None if requests is None else requests * times, moved)


def _cut(count: float, moved: float, most_bytes: int | None) -> float | None:
    """Return how many requests operations become at most, by their mean size; None where unknown."""
    size = moved / count if count else 0.0
    if size <= _PAGE_BYTES:
        return count
    return None if most_bytes is None else count * math.ceil(size / most_bytes)


def _durable_bytes(writes: float, moved: float) -> float:
    """Return the bytes that durable writes in place make a device write at most."""
    return _DURABLE_COPIES * moved + writes * _DURABLE_BLOCKS * _PAGE_BYTES


def _allocates(case: Case) -> bool:
    """Whether its writes may allocate blocks: how much metadata a transaction then changes is not known."""
    sets = (case.run.plan.file_set(name) for name in case.operation.sets)
    grows = any(isinstance(op.access, Append) for op in case.operation.ops)
    return grows or any(each.allocate is not Allocate.WRITE for each in sets)


def _only_writes(case: Case) -> bool:
    """Whether its job changes only the content of files: the cost of a name or an inode is unknown."""
    kinds = {op.op for op in job_ops(case.job)}
    return case.operation.direction == "write" and kinds & CHANGES <= WRITES
