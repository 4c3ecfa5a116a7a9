"""When was each worker of a phase at work? Of a sum that ends where a client was lost, as far as that is known."""

from collections.abc import Iterator, Mapping, Sequence

from assay import events
from assay.analysis.rows import Span
from assay.analysis.set_times import PhaseOfSet


def at_work_until_cut(phase: PhaseOfSet, happened: Mapping[str, Sequence[events.Event]]) -> tuple[Span, ...]:
    """Give the work of each worker that finished, and of each lost client, as far as it lies before the cut.

    A lost client reports nothing of its workers: all of them are taken to have worked from its start to its last interval.

    Args:
        phase: Of the set.
        happened: Events of each client, by its own clock.

    Returns:
        Spans in the time of the set; none where the phase has its end for all.
    """
    return tuple(_until_cut(phase, happened)) if phase.cut_by else ()


def _until_cut(phase: PhaseOfSet, happened: Mapping[str, Sequence[events.Event]]) -> Iterator[Span]:
    cut_ns = int(phase.edges_ns[-1])
    for name, times in phase.clients.items():
        if name in phase.cut_by:
            begin_ns = times.start_ns + times.shift.ns
            # Not beyond its last tick by the clock, nor by the grid, where a tick in mid-interval is at that interval's end.
            last_ns = int(times.own_ns[-1]) + min(times.shift.ns, times.to_grid_ns)
            yield Span(begin_ns, max(begin_ns, min(last_ns, cut_ns)))
            continue
        for event in happened[name]:
            if not isinstance(event, events.PhaseFinished) or event.phase_index != phase.index:
                continue
            for _, own in workers_at_work(event):
                begin_ns = own.begin_ns + times.shift.ns
                yield Span(begin_ns, max(begin_ns, min(own.end_ns + times.shift.ns, cut_ns)))


def workers_at_work(finished: events.PhaseFinished) -> list[tuple[events.WorkerWindow, Span]]:
    """Give each worker that did anything, and the time from its first issue to its last completion."""
    return [
        (worker, Span(worker.first_op_ns, worker.last_op_ns))
        for worker in finished.workers
        if worker.first_op_ns is not None and worker.last_op_ns is not None
    ]
