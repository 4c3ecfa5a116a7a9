"""What did all clients on one machine do together?

Counters of a machine (its devices, CPUs, memory) are of all that ran on it. Of several clients of a run that share one, they
can only be held against what these did together, in the same time: tick `k` of the set is every client's tick `k`.
"""

from collections.abc import Callable, Hashable

import numpy as np

from assay.analysis.record import PhaseRecord, RunRecord, SharedMachine
from assay.analysis.rows import Span
from assay.analysis.set_times import PhaseOfSet

Pick = Callable[[RunRecord, PhaseRecord, Span], float | None]
"""What one client did in a span of its own clock; None where that is not known."""


def on_machine(run: RunRecord, record: PhaseRecord, span: Span, what: Hashable, pick: Pick) -> float | None:
    """Give what all clients on the machine of a run did in a span; of one that is alone there, its own.

    Args:
        run: Of one client.
        record: The phase.
        span: From tick to tick, by its clock.
        what: Names what is added: it is added once for all clients that ask for it.
        pick: Gives it of one client.

    Returns:
        The sum, or None where it is not known of one of them.
    """
    if (shared := run.machine) is None:
        return pick(run, record, span)
    phase = shared.of_set.get(record.index)
    times = phase.clients.get(shared.client) if phase else None
    if phase is None or times is None:
        return None
    begin_ns, end_ns = times.to_set(np.array([span.begin_ns, span.end_ns], dtype=np.int64)).tolist()
    key = (record.index, begin_ns, end_ns, what)
    if key not in shared.totals:
        shared.totals[key] = _added(shared, phase, Span(begin_ns, end_ns), pick)
    return shared.totals[key]


def grown_on_machine(run: RunRecord, record: PhaseRecord, span: Span, name: str) -> float | None:
    """Give what a counter of the engines' processes grew by, of all clients on the machine of a run together."""
    return on_machine(run, record, span, name, lambda _, own, own_span: own.process_delta(own_span, name))


def _added(shared: SharedMachine, phase: PhaseOfSet, span: Span, pick: Pick) -> float | None:
    total = 0.0
    for name, run in shared.clients.items():
        record = next((one for one in run.phases if one.index == phase.index), None)
        times = phase.clients.get(name)
        if record is None and name not in shared.unheard:
            continue
        if record is None or times is None or not (times.is_finished or times.set_ns[-1] >= span.end_ns):
            return None
        done = pick(run, record, Span(times.to_own(span.begin_ns), times.to_own(span.end_ns)))
        if done is None:
            return None
        total += done
    return total
