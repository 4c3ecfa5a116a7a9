"""What did a number cost (METHOD 4.6)?

CPU time is that of the client alone. Calls are those that read or wrote, as the kernel counts them for the workers; what
io_uring carries out is no call. The devices' bytes are all that they moved in the operation's direction, whoever asked.
Energy is the whole machine's, or all that the meter sees (`energy.py`).
"""

from collections.abc import Sequence

from assay.analysis.budget import WorkerUse
from assay.analysis.rows import NS_PER_S
from assay.results import Efficiency

GIB = 1 << 30


def efficiency(
    *,
    ops: int,
    moved_bytes: int,
    cpu_ns_per_op: float | None,
    uses: Sequence[WorkerUse],
    device_bytes: int | None,
    app_bytes: int | None,
    joules: float | None,
) -> Efficiency:
    """Work the costs of an operation out.

    Args:
        ops: Operations in the window.
        moved_bytes: Bytes that they moved.
        cpu_ns_per_op: CPU time of one; None where it is not known.
        uses: What the workers did in the window; none where the operation is a part of what they did.
        device_bytes: What the devices moved in its direction.
        app_bytes: What all operations on these devices moved in its direction.
        joules: What the machine took in the window; None where nobody measured it or others worked as well.
    """
    cpu_s = None if cpu_ns_per_op is None else cpu_ns_per_op * ops / NS_PER_S
    calls = [use.io_calls for use in uses]
    done = sum(use.ops for use in uses)
    known_calls = sum(count for count in calls if count is not None) if calls and None not in calls else None
    return Efficiency(
        cpu_seconds_per_gib=cpu_s / moved_bytes * GIB if cpu_s is not None and moved_bytes else None,
        bytes_per_cpu_second=moved_bytes / cpu_s if cpu_s and moved_bytes else None,
        calls_per_op=known_calls / done if known_calls is not None and done else None,
        device_bytes_per_byte=device_bytes / app_bytes if device_bytes is not None and app_bytes else None,
        joules_per_op=joules / ops if joules is not None and ops else None,
        joules_per_gib=joules / moved_bytes * GIB if joules is not None and moved_bytes else None,
    )
