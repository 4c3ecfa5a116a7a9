"""What did this client's page cache have to do with a number?

Reads (byte balance): the kernel counts what it fetched from storage for the engine's process (`read_bytes` of
/proc/self/io, counted where a bio is submitted or an NFS page requested, whatever thread does it):

    hit ratio = 1 - fetched / read          over the window that the number is of

Both are counted up to the same ticks, so nothing has to be interpolated. Operations in flight and read-ahead at an edge of
the window are fetched on one side of it and read on the other. Where they are more than 1 % of the bytes of the window,
the ratio is known to within them, and to what that of the whole phase leaves open (`hit.py`).

It holds for phases of one job that only reads, or that writes past the page cache too (which fetches next to nothing),
on a block-backed file system or NFS; O_DIRECT is checked by it too, since some file systems accept the flag and cache
all the same. On file systems that may compress this content (`reduction.py`) fewer bytes are fetched than read, and the
balance shows nothing. Where it is unknown, reads that asked the page cache alone first (RWF_NOWAIT, the flag
`cached_first` of a load) show what it had. Else the residency before the start is used instead, as long as no byte was
read twice. tmpfs and ramfs *are* memory, whatever flags a file was opened with.

Writes: `flushed` when their rate waits for storage (O_SYNC, O_DSYNC, a flush that follows each of them; O_DIRECT where no
device on the way says that its cache is volatile), `device` when the device has them but may still lose them, else
`absorbed`: the number is that of the page cache, and the share that the device really wrote is reported with it.

Sources: Ousterhout, "Always measure one level deeper" (CACM 61(7), 2018): each headline has a second counter. Verdicts
at 0.05 and 0.95.
Limits: caches of servers, arrays and disks are not seen. A loop device's backing file may be cached by this client;
there the hit ratio is corrected by what any disk and wire of the machine can have delivered, of several clients on it to all
of them alike. A FUSE process behind that
file is a server: what it makes itself, or keeps, counts as storage.
"""

import dataclasses

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.device import is_served_by_a_process, most_bytes_below, read_ahead_bytes, volatile_caches
from assay.analysis.hit import UNKNOWN, HitRatio, bounds_in, of_phase, of_window
from assay.analysis.reduction import can_be_reduced, reduces, reduces_below
from assay.analysis.rows import Span
from assay.analysis.subject import MEMORY_FILE_SYSTEMS, Subject
from assay.plan import Coverage, OpKind, RandomAccess
from assay.plan.durability import changes_per_flush
from assay.plan.op_rules import CHANGES, EMPTIES, WRITES
from assay.plan.walk import job_ops
from assay.results import Cache, Finding

_ONE_PASS = 1.01
"""Sequential reads of at most this share of the set are one pass."""
_FLUSHES = 20
"""Flushes in the pass of a loop, beside the writes, that a mean rate takes to have flushed writes alone in it."""

NFS = frozenset({"nfs", "nfs4"})
OWN_CACHE_FILE_SYSTEMS = frozenset({"zfs"})
DIRECT = "direct"
"""Condition of what passes the page cache by."""
_ASK_THE_KERNEL = "Use direct I/O, or a kernel with cachestat (6.5 or later)."
BYTE_BALANCE = "byte_balance"
"""Name of the method that computes the hit ratio from the bytes that storage moved."""


def cache_of(subject: Subject, hit: HitRatio) -> Cache:
    """Describe what part the cache had in one operation."""
    verdict = UNKNOWN
    if subject.operation.direction == "read":
        verdict = hit.verdict
    elif subject.operation.direction == "write":
        verdict = _write_verdict(subject)
    return Cache(
        condition=DIRECT if subject.is_direct else subject.record.phase.cache.value,
        hit_ratio=hit.value,
        hit_ratio_of=hit.span,
        resident_before=resident_share(subject, events.Moment.BEFORE),
        resident_after=resident_share(subject, events.Moment.AFTER),
        verdict=verdict,
        method=hit.method,
    )


def hit_ratio(subject: Subject, window: Span) -> HitRatio:
    """Find the hit ratio of a read by the strongest method that its file systems and phase allow.

    Args:
        subject: The operation.
        window: What its numbers are of, from tick to tick.
    """
    if subject.is_memory:
        return of_window(1.0, "residency")
    own = [kind for kind in subject.file_systems if kind in OWN_CACHE_FILE_SYSTEMS]
    if own:
        text = f"{own[0]} has a cache of its own, which no counter of the kernel tells apart from storage."
        return _unknown(subject, text, "Use a set of more than twice the RAM, or limit that cache.")
    is_reduced = reduces(subject.file_systems) and can_be_reduced(subject.run, subject.operation.sets)
    # However small content is made, nothing at all is fetched of what memory has.
    is_known = not is_reduced or _missed(subject, window) == 0
    has_bytes = _is_counted(subject) and _fetches_to_read(subject) and is_known
    balance = _byte_balance(subject, window) if has_bytes else None
    why = f"{_where(subject)} may compress this content" if is_reduced else f"{_where(subject)} has no byte counters"
    return balance or _asked_first(subject, window) or _without_counters(subject, window, why)


def _without_counters(subject: Subject, window: Span, why: str) -> HitRatio:
    if not subject.is_direct and not _fetches_to_read(subject):
        text = "Reads share the phase with other work, so the bytes fetched for it cannot be distinguished."
        return _unknown(subject, text, "Read in a phase of its own, or with cached_first = true, to get a hit ratio.")
    return _by_residency(subject, window, why)


def _is_counted(subject: Subject) -> bool:
    """Whether the kernel counts what it fetches from every target; from memory it fetches nothing, and says so."""
    counted = {*NFS, *MEMORY_FILE_SYSTEMS}
    return bool(subject.targets) and all(
        kind in counted or subject.run.target_fact(target, "fs.is_block_backed") is True
        for target, kind in zip(subject.targets, subject.file_systems, strict=True)
    )


def _fetches_to_read(subject: Subject) -> bool:
    """Whether the one job of the phase fetches data for its reads alone."""
    data = {OpKind.COPY, OpKind.CLONE, OpKind.TRUNCATE, OpKind.TRUNCATE_AT, OpKind.FALLOCATE, *EMPTIES}
    data |= set() if subject.is_direct else {OpKind.WRITE}
    return len(subject.record.phase.jobs) == 1 and not any(op.op in data for op in job_ops(subject.job))


def _byte_balance(subject: Subject, window: Span) -> HitRatio | None:
    """Hold what was fetched against what was read in the window; None where it was not counted.

    Where the edges leave the ratio open, that of the whole phase, which has none, bounds it as well.
    """
    whole = subject.record.whole
    of_all = _balanced(subject, whole)
    inside = _balanced(subject, window) if window != whole else None
    if of_all is None:
        return None
    contradicted = _against_residency(subject)
    if contradicted is not None and contradicted.severity != findings.NOTE:
        return HitRatio(None, None, (contradicted,))
    contradictions = (contradicted,) if contradicted else ()
    if inside is None:
        return dataclasses.replace(of_all, findings=(*of_all.findings, *contradictions))
    inside = dataclasses.replace(inside, findings=(*inside.findings, *contradictions))
    window_bytes = _bytes_in(subject, window)
    within = _under_way_bytes(subject) / window_bytes
    if within <= thresholds.NEGLIGIBLE_SHARE:
        return inside
    value = inside.value or 0.0
    least, most = bounds_in(of_all.value or 0.0, phase_bytes=subject.read_bytes, window_bytes=window_bytes)
    bounds = (min(most, max(least, value - within)), max(least, min(most, value + within)))
    return dataclasses.replace(inside, value=min(bounds[1], max(bounds[0], value)), bounds=bounds)


def _under_way_bytes(subject: Subject) -> float:
    """Bytes that may be fetched on one side of an edge of a window and read on the other.

    Those of the operations in flight, and of reads in order through the page cache what read-ahead holds: the part that is
    read and the one after it (mm/readahead.c), twice as long with POSIX_FADV_SEQUENTIAL, none with POSIX_FADV_RANDOM.
    """
    ops = subject.rows.total("ops")
    in_flight = subject.job.queue_depth * subject.rows.total("bytes") / ops if ops else 0.0
    parts = {"random": 0.0, "sequential": 4.0}.get(subject.job.open.advice, 2.0)
    ahead = 0.0
    if subject.operation.is_sequential and not subject.is_direct:
        ahead = parts * max(read_ahead_bytes(subject.run, target) for target in subject.targets)
    return subject.job.workers * (in_flight + ahead)


def _missed(subject: Subject, span: Span) -> float | None:
    """Give the bytes that were fetched in a span by those read in it."""
    fetched = subject.record.process_delta(span, "process_read_bytes")
    read = subject.record.moved_bytes("read", span)
    return None if fetched is None or read <= 0 else fetched / read


def _balanced(subject: Subject, span: Span) -> HitRatio | None:
    """Hold what was fetched in a span against what was read in it."""
    missed = _missed(subject, span)
    if missed is None:
        return None
    found: list[Finding] = []
    if missed > 1 + thresholds.NOTABLE_SHARE:
        text = (
            f"Storage delivered {missed:.2f} bytes for each byte read (read-ahead, or blocks larger than reads): it is"
            " faster than the number."
        )
        found.append(findings.note("read-amplification", text, "Lower read_ahead_kb, or use direct I/O."))
    value = max(0.0, 1.0 - missed)
    least_hit = _least_hit_below(subject, span)
    if least_hit <= max(value, thresholds.STORAGE_HIT):
        return of_window(value, BYTE_BALANCE, tuple(found))
    names = ", ".join(subject.devices or ())
    if can_be_reduced(subject.run, subject.operation.sets) and any(
        reduces_below(subject.run, target) for target in subject.targets
    ):
        text = f"The file behind {names} may be kept in fewer bytes than it has, so those that disks moved do not tell."
        return _unknown(subject, text, "Measure incompressible content, or the storage below the loop device.")
    return of_window(least_hit, BYTE_BALANCE, (*found, _backing_file(names, least_hit)))


def _least_hit_below(subject: Subject, span: Span) -> float:
    """Give what came from no disk or wire of this machine at least, of data on loop devices; 0 of other data."""
    devices = subject.devices or ()
    is_loop = bool(devices) and all(name.startswith("loop") for name in devices)
    if not is_loop or any(is_served_by_a_process(subject.run, target) for target in subject.targets):
        return 0.0
    most = most_bytes_below(subject.record, "read", span)
    read_bytes = subject.read_bytes_on_machine(span)
    return 1.0 - most / read_bytes if most is not None and read_bytes else 0.0


def _against_residency(subject: Subject) -> Finding | None:
    """Hold the bytes fetched against what was in memory before, over a phase that read hardly a byte twice (METHOD 4.4, C3).

    Where less was fetched than was absent, something else than this client's page cache made it less, and the ratio is none.
    Where more was, pages were pushed out before their turn, or dropped: the bytes are right.
    """
    missed, resident = _missed(subject, subject.record.whole), _resident_part(subject)
    if missed is None or resident is None:
        return None
    hit = max(0.0, 1.0 - missed)
    text = f"By the bytes from storage, memory delivered {100 * hit:.0f} %; "
    if hit > resident[1] + thresholds.COUNTERS_APART:
        text += f"at most {100 * resident[1]:.0f} % was in memory before, and hardly a byte was read twice."
        cure = "Look for holes, compression or deduplication below, or for others who read the files meanwhile."
        brief, effect = "two counts of the cache disagree", hit - resident[1]
        return findings.weak("hit-ratio-uncertain", text, cure, brief=brief, effect=effect)
    if hit < resident[0] - thresholds.COUNTERS_APART and not subject.is_direct:
        text += f"at least {100 * resident[0]:.0f} % was in memory before, and hardly a byte was read twice."
        cure = "See whether others dropped the files meanwhile, or whether memory was short."
        return findings.note("hit-ratio-uncertain", text, cure, effect=resident[0] - hit)
    return None


def _asked_first(subject: Subject, window: Span) -> HitRatio | None:
    """Give the share of the bytes that reads got from the page cache when they asked it alone; None where not all did so.

    Read-ahead fetches data a moment before it is read, so reads in order show nothing about a cache.
    """
    found = subject.facts.cached_first if subject.facts else None
    reads = [op for op in job_ops(subject.job) if op.op is OpKind.READ]
    if found is None or subject.operation.is_sequential or not all(op.flags.cached_first for op in reads):
        return None
    asked = found.hit_bytes + found.missed_bytes
    if not asked:
        return None
    value = found.hit_bytes / asked
    return of_phase(
        HitRatio(value, "cached_first", bounds=(value, value)), subject.read_bytes, _bytes_in(subject, window)
    )


def _backing_file(names: str, hit: float) -> Finding:
    return findings.warning(
        "from-memory",
        f"The file system is on {names}, and {100 * hit:.0f} % of the bytes read came from no disk of this"
        " machine. Its backing file is in the page cache.",
        "Set the loop device up with direct I/O (losetup --direct-io=on), or measure the storage below it.",
        brief="backing file in memory",
    )


def _by_residency(subject: Subject, window: Span, why: str) -> HitRatio:
    """Hit ratio of reads that met no byte twice: what was resident before the start."""
    before, after = (resident_share(subject, moment) for moment in (events.Moment.BEFORE, events.Moment.AFTER))
    if before is None:
        return _unknown(subject, "Neither byte counters nor residency are known here.", _ASK_THE_KERNEL)
    stays_out = after is not None and max(before, after) <= thresholds.STORAGE_HIT
    stays_in = after is not None and min(before, after) >= thresholds.CACHE_HIT and not subject.is_direct
    part = (before, before) if stays_out or stays_in else _resident_part(subject)
    if part is not None and (stays_out or not subject.is_direct or part[1] <= thresholds.STORAGE_HIT):
        text = f"The hit ratio is the share of the set that was in memory before: {why}."
        found = (findings.note("hit-ratio-uncertain", text),)
        known = HitRatio(min(part[1], max(part[0], before)), "residency", found, bounds=part)
        return of_phase(known, subject.read_bytes, _bytes_in(subject, window))
    if subject.is_direct:
        text = f"The files were open with O_DIRECT; whether {_where(subject)} honours it could not be checked: {why}."
        return _unknown(subject, text, "Compare with the counters of the server or device.")
    text = f"{why}, and blocks may have been read again while they were cached."
    return _unknown(subject, text, "Read each byte once, or use direct I/O.")


def _resident_part(subject: Subject) -> tuple[float, float] | None:
    """Give the least and the largest share of the bytes read that were resident before; None where some were read twice."""
    before = resident_share(subject, events.Moment.BEFORE)
    if before is None or not is_one_pass(subject):
        return None
    if not subject.operation.is_sequential:
        return before, before
    # Of a pass that did not come to its end, what was resident may lie in the part that was read, or in the rest.
    read = min(1.0, subject.read_bytes / _set_bytes(subject))
    return max(0.0, before - (1 - read)) / read, min(1.0, before / read)


def is_one_pass(subject: Subject) -> bool:
    """Whether hardly a byte of the sets was read twice in the phase."""
    each_once = all(
        isinstance(op.access, RandomAccess) and op.access.coverage is Coverage.EACH_ONCE for op in subject.operation.ops
    )
    is_in_turn = subject.operation.is_sequential or each_once
    pass_share = _ONE_PASS if is_in_turn else thresholds.NOTABLE_SHARE
    return 0 < subject.read_bytes <= pass_share * _set_bytes(subject)


def _bytes_in(subject: Subject, window: Span) -> int:
    return subject.record.moved_bytes("read", window)


def _set_bytes(subject: Subject) -> int:
    return sum(subject.run.set_bytes(name) or 0 for name in subject.operation.sets)


def _where(subject: Subject) -> str:
    return ", ".join(dict.fromkeys(kind or "the file system (type unknown)" for kind in subject.file_systems))


def _unknown(subject: Subject, text: str, cure: str) -> HitRatio:
    """Give no ratio; for reads that moved bytes, what served them is not known either."""
    if not subject.read_bytes:
        return HitRatio(None, None, (findings.note("hit-ratio-uncertain", text, cure),))
    found = findings.weak("hit-ratio-uncertain", text, cure, brief="hit ratio unknown")
    return HitRatio(None, None, (found,))


def _write_verdict(subject: Subject) -> str:
    if not reaches_device(subject):
        return "absorbed"
    return "device" if unflushed_caches(subject) else "flushed"


def reaches_device(subject: Subject) -> bool:
    """Whether the rate of a change waits for the device: it passes the page cache by, or is flushed each time."""
    changes = {op.op for op in subject.operation.ops} & CHANGES
    only_writes = bool(changes) and changes <= WRITES
    passes_by = subject.is_direct and (subject.operation.direction == "write" or only_writes)
    passes_by = passes_by or (bool(changes) and subject.is_on_device and changes <= EMPTIES)
    return not subject.touches_memory and (passes_by or _is_flushed_each_time(subject))


def unflushed_caches(subject: Subject) -> tuple[str, ...]:
    """Name devices that may lose a change that reached them, because nothing waits for a flush of their caches.

    What was discarded is not to be kept.
    """
    if {op.op for op in subject.operation.ops} & CHANGES <= {OpKind.DISCARD}:
        return ()
    if not reaches_device(subject) or _is_flushed_each_time(subject):
        return ()
    return tuple(dict.fromkeys(name for target in subject.targets for name in volatile_caches(subject.run, target)))


def _is_flushed_each_time(subject: Subject) -> bool:
    each = changes_per_flush(subject.job, subject.operation.ops, subject.single_files)
    return each == 0 or (each is not None and subject.rows.total("ops") >= _FLUSHES * each)


def resident_share(subject: Subject, moment: events.Moment) -> float | None:
    """Share of the operation's file sets that is in the page cache, by the pages that were looked at."""
    looked = [
        event for event in subject.record.residency if event.moment is moment and event.set in subject.operation.sets
    ]
    pages = sum(event.pages for event in looked)
    return min(1.0, sum(event.resident_pages for event in looked) / pages) if pages else None
