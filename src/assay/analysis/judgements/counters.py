"""Compare the load with a second, independent counter.

Reads: what the kernel fetched for the engine's process against what the devices of all that it read from delivered. Writes
that were forced out: what the operations wrote against what their devices wrote. Both in the window. A difference is a note:
the numbers stand, but a layer between multiplies or hides bytes (`foreign.py`: or others used the device). Read and write
calls: what the kernel counted for the workers against their operations.

Source: Ousterhout, "Always measure one level deeper" (CACM 61(7), 2018).
"""

from collections.abc import Iterable

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.device import moved_bytes
from assay.results import Finding
from assay.units import MIB


def judge(case: Case) -> Iterable[Finding]:
    """Compare the counters of process and devices."""
    if case.operation.direction is None:
        return ()
    if case.device_bytes is None or case.subject.devices is None:
        return () if case.subject.is_memory else (_no_device(case.subject.file_system),)
    if case.operation.direction == "read":
        return _reads(case)
    if case.operation.direction == "write" and case.reaches_device and case.app_bytes:
        return _write(", ".join(case.subject.devices), case.device_bytes / case.app_bytes)
    return ()


def _no_device(kind: str) -> Finding:
    text = (
        f"No block device is known for this {kind}: what storage moved is null, and no second counter checks the rate."
    )
    return findings.note(
        "counters-unavailable", text, "Look at the counters of the server or device that holds the data."
    )


def _reads(case: Case) -> tuple[Finding, ...]:
    window, devices = case.window.counted, case.subject.devices_of_phase("read")
    fetched = case.subject.fetched_bytes(window)
    delivered = None if devices is None else moved_bytes(case.record, devices, "read", window)
    if fetched is None or delivered is None or devices is None:
        return ()
    return _read(", ".join(devices), fetched, delivered, case.subject.read_bytes_on_machine(window) or 0.0)


def _read(device: str, fetched: float, delivered: int, read_bytes: float) -> tuple[Finding, ...]:
    difference = delivered - fetched
    largest = max(delivered, fetched)
    is_small = abs(difference) <= thresholds.COUNTERS_APART * largest
    if is_small or abs(difference) <= thresholds.SMALL_SHARE * read_bytes:
        return ()
    if difference > 0:
        return ()
    text = (
        f"{device} delivered {_mib(delivered)} of {_mib(fetched)} that this load read. A layer between gave the rest."
    )
    return (findings.note("second-counter", text, "Look for a cache or another device below the file system."),)


def _write(device: str, ratio: float) -> tuple[Finding, ...]:
    if ratio > 1 + thresholds.COUNTERS_APART:
        text = f"{device} wrote {ratio:.2f} bytes for each byte written (journal, copy on write, or other programs)."
        return (findings.note("second-counter", text),)
    if ratio < 1 - thresholds.COUNTERS_APART:
        text = f"{device} wrote {ratio:.2f} bytes for each byte that the load wrote through. A layer between kept the rest."
        cure = "Look for compression, deduplication, or another device below the file system."
        return (findings.note("second-counter", text, cure),)
    return ()


def _mib(size_bytes: float) -> str:
    return f"{size_bytes / MIB:.1f} MiB"
