"""When was what memory took on storage?

Writes and changes of files that nobody flushes count as done when memory has them. Where a `sync` step follows the phase,
the time from its first operation to the end of that flush is what storage needed for all of them:

    committed rate = operations of the phase / (end of the flush - first operation)

It holds what was dirty when the phase began as well, so it is no more than what storage can do.
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
    seconds = (end_ns - window.at_work.span.begin_ns) / NS_PER_S
    if seconds <= 0:
        return None
    return Committed(
        iops=rows.total("ops") / seconds,
        throughput_bytes_per_s=rows.total("bytes") / seconds if moves_data else None,
        seconds=seconds,
        flush_seconds=flush_s,
    )
