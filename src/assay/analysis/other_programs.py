"""What did other programs of the machine write while a load ran?

The kernel counts for each process what it wrote past the page cache and what it made dirty in it. That is the load's own
measure too (`process_write_bytes`), so the two can be held against each other, whatever a file system makes of a write. On
which device others wrote is not in it.

Of processes that may not be looked at, the CPU time is known. What they can have written is taken as in proportion to it: to
write costs them what it costs the load.
"""

import dataclasses

from assay.analysis import thresholds
from assay.analysis.case import Case
from assay.analysis.rows import NS_PER_S
from assay.analysis.shared_machine import grown_on_machine

_SOURCE = "programs"
_TICK_NS = 10_000_000
"""CPU time of other processes is counted in ticks (USER_HZ is 100 on Linux): one more or less is between two looks."""


@dataclasses.dataclass(frozen=True)
class WrittenByOthers:
    """What other programs wrote in a window, on any device."""

    bytes: float
    own_bytes: float
    """What the load wrote, by the same measure."""
    names: tuple[str, ...]
    """Programs that wrote, those that wrote most first."""
    hidden_cpu_ns: float
    """CPU time of those of which it is not known."""
    is_all: bool
    """Whether those of which it is not known can have written but little beside the load."""

    @property
    def share(self) -> float:
        """Others' share of what programs wrote."""
        total = self.bytes + self.own_bytes
        return self.bytes / total if total else 0.0


def written_by_others(case: Case) -> WrittenByOthers | None:
    """Give what other programs wrote in the window; None where they were not looked at in most of it."""
    span, counters = case.window.counted, case.record.counters
    seen = counters.delta(span, _SOURCE, "", "write_bytes")
    hidden_ns, looked_ns = (counters.delta(span, _SOURCE, "", name) for name in ("hidden_cpu_ns", "looked_ns"))
    own = case.record.process_delta(span, "process_write_bytes")
    of_all, cpu_ns = (
        grown_on_machine(case.run, case.record, span, name) for name in ("process_write_bytes", "process_cpu_ns")
    )
    if seen is None or hidden_ns is None or own is None or of_all is None or cpu_ns is None:
        return None
    covered = (looked_ns or 0.0) / (span.seconds * NS_PER_S)
    if covered < thresholds.MOST_OF_IT:
        return None
    grown = {name: _grown(case, name) for name in counters.instances(_SOURCE) if name}
    names = sorted((name for name, written in grown.items() if written > 0), key=lambda name: -grown[name])
    return WrittenByOthers(
        bytes=max(0.0, seen / covered - (of_all - own)),
        own_bytes=of_all,
        names=tuple(names),
        hidden_cpu_ns=hidden_ns / covered,
        is_all=hidden_ns / covered - _TICK_NS <= thresholds.NOTABLE_SHARE * cpu_ns,
    )


def _grown(case: Case, name: str) -> float:
    """Give what programs of a name wrote in the window: they are sampled from their first write on."""
    span, counters = case.window.counted, case.record.counters
    end, begin = (counters.at(at_ns, _SOURCE, name, "write_bytes") for at_ns in (span.end_ns, span.begin_ns))
    return (end or 0.0) - (begin or 0.0)
