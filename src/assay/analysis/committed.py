"""When was what memory took on storage?

Writes and changes of files that nobody flushes count as done when memory has them. Where a `sync` step follows the phase,
the time from the begin of the window to the end of that flush is what storage needed for all that was done in it:

    committed rate = operations of the window / (end of the flush - begin of the window)

What was dirty when the window began is flushed in that time as well, so it is no more than what storage can do, and no more
than the rate of the window.
"""

from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Rows
from assay.analysis.window import Window
from assay.results import Committed

_SYNC = "sync"


def committed_rate(record: PhaseRecord, rows: Rows, window: Window, *, moves_data: bool) -> Committed | None:
    """Give the rate of an operation up to the end of the flush that followed its phase; None where none did."""
    if record.finished is None or window.at_work is None:
        return None
    ends_ns = [
        (step.t_ns, step.seconds)
        for step in record.steps
        if step.step == _SYNC and step.achieved and step.t_ns >= record.whole.end_ns
    ]
    if not ends_ns:
        return None
    end_ns, flush_s = ends_ns[0]
    seconds = (end_ns - window.span.begin_ns) / NS_PER_S
    if seconds <= 0:
        return None
    return Committed(
        iops=rows.total("ops", window.counted) / seconds,
        throughput_bytes_per_s=rows.total("bytes", window.counted) / seconds if moves_data else None,
        seconds=seconds,
        flush_seconds=flush_s,
    )
