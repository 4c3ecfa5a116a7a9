"""Report what other programs wrote, where the device's counters cannot show it: what a write becomes is unknown there.

Where the counters can show it (`company.py`), they decide: they are of that device alone, and have all that went to it.
"""

from collections.abc import Iterable

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.company import own_written_bytes
from assay.analysis.other_programs import WrittenByOthers, written_by_others
from assay.results import Finding
from assay.units import format_bytes, format_names, format_seconds
from assay.verdicts import ServedBy


def judge(case: Case) -> Iterable[Finding]:
    """Judge what other programs wrote beside operations that waited for the device."""
    devices = case.subject.devices_of_all
    waits = case.reaches_device if case.operation.changes else case.measures is ServedBy.STORAGE
    if not waits or devices is None or not case.window.is_resolved or own_written_bytes(case) is not None:
        return
    written = written_by_others(case)
    if written is None or not written.is_all:
        yield _unseen(devices, written)
    elif _is_notable(case, written):
        yield _beside(devices, written)


def _is_notable(case: Case, written: WrittenByOthers) -> bool:
    least = thresholds.FOREIGN_BYTES_PER_S * case.window.counted.seconds
    return written.bytes >= least and written.share > thresholds.NOTABLE_SHARE


def _beside(devices: tuple[str, ...], written: WrittenByOthers) -> Finding:
    names = format_names(written.names) or "not named"
    text = (
        f"Other programs ({names}) wrote {format_bytes(written.bytes)} in the window, this load"
        f" {format_bytes(written.own_bytes)}. How much of it went to {', '.join(devices)} is not known."
    )
    share = 100 * written.share
    return findings.weak(
        "foreign-io",
        text,
        "Stop them, or have them write elsewhere. Then run again.",
        brief=f"others wrote {share:.0f} % of all bytes",
        effect=written.share,
    )


def _unseen(devices: tuple[str, ...], written: WrittenByOthers | None) -> Finding:
    why = (
        "not all processes of the machine were looked at"
        if written is None
        else f"processes that took {format_seconds(written.hidden_cpu_ns / 1e9)} of CPU time may not be looked at"
    )
    return findings.weak(
        "others-unseen",
        f"Whether other programs wrote to {', '.join(devices)} in the window is not known: {why}.",
        "Run as root, outside of a container. Or write over files laid out before: the device's counters show others then.",
        brief="others' writes are not seen",
    )
