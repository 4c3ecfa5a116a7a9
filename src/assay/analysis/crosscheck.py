"""Does a second, independent counter agree?

Reads: what the kernel fetched for the engine's process against what the target's device delivered, over the whole
phase. Writes that were forced out: what the operations wrote against what the device wrote, in the window. A difference
is a note: the numbers stand, but somebody else used the device, or a layer between multiplies or hides bytes.

Source: Ousterhout, "Always measure one level deeper" (CACM 61(7), 2018).
"""

from assay.analysis import findings, thresholds
from assay.analysis.cache import Subject
from assay.analysis.device import devices_of, moved_bytes
from assay.results import Cache, Finding


def cross_check(subject: Subject, judged: Cache, device_bytes: int | None, app_bytes: int) -> tuple[Finding, ...]:
    """Compare the counters of process and device.

    Args:
        subject: The operation.
        judged: Its cache verdict.
        device_bytes: What the device moved in the operation's direction in the window.
        app_bytes: What all recorded operations of the phase moved in that direction in the window.
    """
    devices = devices_of(subject.run, subject.target)
    name = ", ".join(devices)
    if device_bytes is None:
        return () if subject.is_memory else (_no_device(subject),)
    if subject.operation.direction == "read":
        whole = subject.record.whole
        fetched = subject.record.process_delta(whole, "process_read_bytes")
        delivered = moved_bytes(subject.record, devices, "read", whole)
        if fetched is None or delivered is None:
            return ()
        return _read(name, fetched, delivered, subject.read_bytes)
    if judged.verdict == "flushed" and device_bytes is not None and app_bytes > 0:
        return _write(name, device_bytes / app_bytes)
    return ()


def _no_device(subject: Subject) -> Finding:
    kind = subject.file_system or "file system of unknown type"
    text = f"No block device's counters are known for this {kind}: what storage itself moved is null."
    return findings.note("device-unknown", text, "Look at the counters of the server or device that holds the data.")


def _read(device: str, fetched: float, delivered: int, read_bytes: int) -> tuple[Finding, ...]:
    difference = delivered - fetched
    largest = max(delivered, fetched)
    is_small = abs(difference) <= thresholds.DEVICE_MISMATCH * largest
    if is_small or abs(difference) <= thresholds.FOREIGN_SHARE * read_bytes:
        return ()
    counted = f"{device} delivered {_mib(delivered)}, of which {_mib(fetched)} were for this load"
    if difference > 0:
        cure = "See what else reads from the device; on shared storage, repeat and compare."
        return (findings.note("foreign-io", f"{counted}: others read from it too.", cure),)
    text = f"{device} delivered {_mib(delivered)} of {_mib(fetched)} that this load fetched: a layer between answered."
    return (findings.note("device-mismatch", text, "Look for a cache or another device below the file system."),)


def _write(device: str, ratio: float) -> tuple[Finding, ...]:
    if ratio > 1 + thresholds.DEVICE_MISMATCH:
        text = f"{device} wrote {ratio:.2f} bytes for each byte written (journal, copy on write, or other programs)."
        return (findings.note("write-amplification", text),)
    if ratio < 1 - thresholds.DEVICE_MISMATCH:
        text = f"{device} wrote only {ratio:.2f} bytes for each byte that was written through to it."
        cure = "Look for compression, deduplication, or another device below the file system."
        return (findings.note("device-mismatch", text, cure),)
    return ()


def _mib(size_bytes: float) -> str:
    return f"{size_bytes / (1 << 20):.1f} MiB"
