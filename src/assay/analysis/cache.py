"""What did this client's page cache have to do with a number?

Reads (byte balance): the kernel counts what it fetched from storage for the engine's process (`read_bytes` of
/proc/self/io, counted where a bio is submitted or an NFS page requested, whatever thread does it):

    hit ratio = 1 - fetched / read          over the whole phase, from the first counter sample to the last

It holds for phases of one job that only reads, on a block-backed file system or NFS; O_DIRECT is checked by it too,
since some file systems accept the flag and cache all the same. On others the page cache's residency before the start
stands in for it, as long as no byte was read twice. tmpfs and ramfs *are* memory, whatever flags a file was opened
with.

Writes: `flushed` when the job forces them out (O_DIRECT, O_SYNC, O_DSYNC, a flush in its loop), else `absorbed`: the
number is that of the page cache, and the share that the device really wrote is said with it.

Sources: Ousterhout, "Always measure one level deeper" (CACM 61(7), 2018): each headline has a second counter. Verdicts
at 0.05 and 0.95.
Limits: caches of servers, arrays and disks are not seen. A loop device's backing file may be cached by this client;
there the hit ratio is corrected by what any disk and wire of the machine can have delivered. A FUSE process behind that
file is a server: what it makes itself, or keeps, counts as storage.
"""

import dataclasses

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.device import devices_of, is_served_by_a_process, most_bytes_below
from assay.analysis.operations import Operation, direct_wanted, is_flushed
from assay.analysis.record import PhaseRecord, RunRecord
from assay.plan import CacheCondition, Job, OpKind
from assay.plan.walk import job_ops
from assay.results import Cache, Finding

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})
NFS = frozenset({"nfs", "nfs4"})
OWN_CACHE_FILE_SYSTEMS = frozenset({"zfs"})


@dataclasses.dataclass(frozen=True)
class Subject:
    """One operation of one job, with what its cache verdict depends on."""

    run: RunRecord
    record: PhaseRecord
    job: Job
    operation: Operation
    target: str
    read_bytes: int
    """What all recorded reads of the phase moved, over the whole phase."""

    @property
    def file_system(self) -> str | None:
        """Type of the file system that keeps the target's data: for an overlay, the one of its upper directory."""
        place = ""
        while self.run.target_fact(self.target, f"{place}upper.fs.type") is not None:
            place += "upper."
        kind = self.run.target_fact(self.target, f"{place}fs.type")
        return kind if isinstance(kind, str) else None

    @property
    def is_memory(self) -> bool:
        """Whether the file system keeps its data in memory."""
        return self.file_system in MEMORY_FILE_SYSTEMS

    @property
    def is_direct(self) -> bool:
        """Whether the page cache was passed by; a phase that was cut does not say, then what the Plan asked for."""
        facts = self.record.job_facts(self.job.name)
        return not self.is_memory and (facts.direct if facts else direct_wanted(self.job))


@dataclasses.dataclass(frozen=True)
class HitRatio:
    """Share of the bytes read that storage did not deliver, and how that was found."""

    value: float | None
    method: str | None
    findings: tuple[Finding, ...] = ()


def cache_of(subject: Subject, device_bytes: int | None, app_bytes: int) -> tuple[Cache, tuple[Finding, ...]]:
    """Judge the cache's part in one operation.

    Args:
        subject: The operation.
        device_bytes: What the target's device moved in the operation's direction in the window.
        app_bytes: What all recorded operations of the phase moved in that direction in the window.
    """
    before, after = (_resident_share(subject, moment) for moment in (events.Moment.BEFORE, events.Moment.AFTER))
    direction = subject.operation.direction
    hit = HitRatio(None, None)
    verdict = "unknown"
    found: tuple[Finding, ...] = ()
    if direction == "read":
        hit = hit_ratio(subject, before, after)
        verdict = _read_verdict(hit.value)
        found = (*hit.findings, *_wanted(subject, hit))
    elif direction == "write":
        verdict = _write_verdict(subject)
        found = _absorbed(subject, device_bytes, app_bytes) if verdict == "absorbed" else ()
    condition = "direct" if subject.is_direct else subject.record.phase.cache.value
    cache = Cache(
        condition=condition,
        hit_ratio=hit.value,
        resident_before=before,
        resident_after=after,
        verdict=verdict,
        method=hit.method,
    )
    return cache, found


def hit_ratio(subject: Subject, before: float | None, after: float | None) -> HitRatio:
    """Find the hit ratio of a read by the strongest method that its file system and phase allow."""
    if subject.is_memory:
        return HitRatio(1.0, "residency", (_memory(subject),))
    if subject.file_system in OWN_CACHE_FILE_SYSTEMS:
        text = f"{subject.file_system} has a cache of its own, which no counter of the kernel tells apart from storage."
        return _unknown(text, "Use a set of more than twice the RAM, or limit that cache, before believing in storage.")
    fetched = subject.record.process_delta(subject.record.whole, "process_read_bytes")
    is_counted = subject.run.target_fact(subject.target, "fs.is_block_backed") is True or subject.file_system in NFS
    reads_only = _reads_only(subject)
    if is_counted and reads_only and fetched is not None and subject.read_bytes > 0:
        return _byte_balance(subject, fetched)
    if subject.is_direct:
        text = f"The files were open with O_DIRECT; whether {_where(subject)} honours it could not be checked."
        return _unknown(text, "Compare with the server's own counters.")
    if not reads_only:
        text = "Reads share the phase with other work, so the bytes fetched for it cannot be told apart."
        return _unknown(text, "Read in a phase of its own to get a hit ratio.")
    return _by_residency(subject, before, after)


def _reads_only(subject: Subject) -> bool:
    data = {OpKind.WRITE, OpKind.COPY, OpKind.CLONE, OpKind.TRUNCATE, OpKind.FALLOCATE}
    return len(subject.record.phase.jobs) == 1 and not any(op.op in data for op in job_ops(subject.job))


def _byte_balance(subject: Subject, fetched: float) -> HitRatio:
    missed = fetched / subject.read_bytes
    found: list[Finding] = []
    if missed > thresholds.READ_AMPLIFICATION:
        text = f"{missed:.2f} bytes were fetched for each byte read (read-ahead, or blocks larger than reads)."
        found.append(findings.note("read-amplification", text, "Lower read_ahead_kb, or use direct I/O."))
    value = min(1.0, max(0.0, 1.0 - missed))
    devices = devices_of(subject.run, subject.target)
    is_loop = bool(devices) and all(name.startswith("loop") for name in devices)
    if is_loop and not is_served_by_a_process(subject.run, subject.target):
        most = most_bytes_below(subject.record, "read", subject.record.whole)
        least_hit = 0.0 if most is None else 1.0 - most / subject.read_bytes
        if least_hit > max(value, thresholds.STORAGE_HIT):
            value = least_hit
            found.append(_backing_file(devices, least_hit))
    return HitRatio(value, "byte_balance", tuple(found))


def _backing_file(devices: tuple[str, ...], hit: float) -> Finding:
    return findings.warning(
        "backing-file-cached",
        f"The file system is on {', '.join(devices)}, and {100 * hit:.0f} % of the bytes read came from no disk of this"
        " machine: its backing file is in the page cache.",
        "Set the loop device up with direct I/O (losetup --direct-io=on), or measure the storage below it.",
    )


def _by_residency(subject: Subject, before: float | None, after: float | None) -> HitRatio:
    """Hit ratio of reads that met no byte twice: what was resident before the start."""
    if before is None:
        return _unknown("Neither byte counters nor the page cache's residency are known here.", "")
    size_bytes = sum(subject.run.set_bytes(name) or 0 for name in subject.operation.sets)
    is_sequential = subject.operation.is_sequential
    pass_share = thresholds.ONE_PASS_SHARE if is_sequential else thresholds.RANDOM_PASS_SHARE
    is_one_pass = 0 < subject.read_bytes <= pass_share * size_bytes
    stays_out = after is not None and max(before, after) <= thresholds.STORAGE_HIT
    stays_in = after is not None and min(before, after) >= thresholds.CACHE_HIT
    if is_one_pass or stays_out or stays_in:
        text = (
            f"The hit ratio is the share of the set that was resident before: {_where(subject)} has no byte counters."
        )
        return HitRatio(before, "residency", (findings.note("hit-ratio-by-residency", text),))
    text = f"{_where(subject)} has no byte counters, and blocks may have been read again while they were cached."
    return _unknown(text, "Read each byte once, or use direct I/O.")


def _where(subject: Subject) -> str:
    return subject.file_system or "the file system (type unknown)"


def _unknown(text: str, cure: str) -> HitRatio:
    return HitRatio(None, None, (findings.note("hit-ratio-unknown", text, cure),))


def _memory(subject: Subject) -> Finding:
    text = f"{subject.file_system} keeps its data in memory: this number is not one of storage."
    return findings.note("memory-file-system", text, "Measure a directory on the storage that is meant.")


def _read_verdict(hit: float | None) -> str:
    if hit is None:
        return "unknown"
    if hit <= thresholds.STORAGE_HIT:
        return "storage"
    return "cache" if hit >= thresholds.CACHE_HIT else "mixed"


def _wanted(subject: Subject, hit: HitRatio) -> tuple[Finding, ...]:
    """Warn when the cache was not in the state that the phase wanted."""
    wanted = subject.record.phase.cache
    if hit.value is None:
        return _unchecked(wanted, subject)
    share = f"{100 * hit.value:.0f} %"
    if wanted is CacheCondition.COLD and hit.value > thresholds.STORAGE_HIT:
        if subject.is_memory:
            text = f"Cold reads were wanted, but {subject.file_system} is memory."
            return (findings.warning("not-cold", text, "Measure a directory on the storage that is meant."),)
        text = f"Cold reads were wanted, but {share} of the bytes read came from memory."
        cure = "Use direct I/O, a set larger than memory, or read each byte once (wrap = false)."
        return (findings.warning("not-cold", text, cure),)
    if wanted is CacheCondition.WARM and hit.value < thresholds.CACHE_HIT:
        text = f"Warm reads were wanted, but only {share} of the bytes read came from memory."
        return (findings.warning("not-warm", text, "Use a set that fits in memory, and no direct I/O."),)
    if subject.is_direct and wanted is not CacheCondition.WARM and hit.value > thresholds.STORAGE_HIT:
        text = f"The files were open with O_DIRECT, but {share} of the bytes read came from memory."
        cure = "The file system ignores the flag: use a set larger than memory."
        return (findings.warning("direct-not-honoured", text, cure),)
    return ()


def _unchecked(wanted: CacheCondition, subject: Subject) -> tuple[Finding, ...]:
    """Say that a wanted state was not verified; where the set was seen to be out of the cache, a cold start was."""
    if wanted is CacheCondition.AS_IS or subject.is_direct:
        return ()
    before = _resident_share(subject, events.Moment.BEFORE)
    if wanted is CacheCondition.COLD and before is not None and before <= thresholds.STORAGE_HIT:
        return ()
    if wanted is CacheCondition.WARM and before is not None and before >= thresholds.CACHE_HIT:
        return ()
    text = f"A {wanted.value} cache was wanted; nothing here can tell whether it was."
    return (findings.warning("cache-unverified", text, "Use direct I/O, or a kernel with cachestat (6.5 or later)."),)


def _write_verdict(subject: Subject) -> str:
    if subject.is_memory:
        return "absorbed"
    return "flushed" if subject.is_direct or is_flushed(subject.job) else "absorbed"


def _absorbed(subject: Subject, device_bytes: int | None, app_bytes: int) -> tuple[Finding, ...]:
    if subject.is_memory:
        return (_memory(subject),)
    if device_bytes is None or app_bytes <= 0:
        share = "how much of it the device wrote meanwhile is not known"
    else:
        share = f"the device wrote {100 * device_bytes / app_bytes:.0f} % of the bytes meanwhile"
        if device_bytes > app_bytes:
            share += " (earlier writes, the journal or other programs among them)"
    text = f"A write counts as done when this machine's memory has it; {share}."
    return (findings.note("absorbed", text, "Use direct I/O, O_DSYNC or an fsync in the loop to measure storage."),)


def _resident_share(subject: Subject, moment: events.Moment) -> float | None:
    """Share of the operation's file sets that is in the page cache, by the pages that were looked at."""
    looked = [
        event for event in subject.record.residency if event.moment is moment and event.set in subject.operation.sets
    ]
    pages = sum(event.pages for event in looked)
    return min(1.0, sum(event.resident_pages for event in looked) / pages) if pages else None
