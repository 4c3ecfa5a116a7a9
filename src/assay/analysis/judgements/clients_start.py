"""Did the clients of a sum begin together, and how well is that known?

All begin at one time, each by its own clock. How far apart they began is known to within the bounds of their clocks; where
that is much of an interval, what belongs to which interval of the set is not sure.
"""

from collections.abc import Iterable, Iterator

from assay.analysis import findings, thresholds
from assay.analysis.rows import NS_PER_S
from assay.analysis.sum_case import SumCase
from assay.results import Finding
from assay.units import format_ns, format_seconds

_SEVERAL = 2


def judge(at: SumCase) -> Iterable[Finding]:
    """Judge starts and clocks."""
    if len(at.phase.clients) >= _SEVERAL:
        yield from _skew(at)
        yield from _clocks(at)


def _skew(at: SumCase) -> Iterator[Finding]:
    late_ns = {name: one.late_ns(at.phase.begin_ns) for name, one in at.phase.clients.items()}
    first, last = min(late_ns, key=late_ns.__getitem__), max(late_ns, key=late_ns.__getitem__)
    skew_ns = late_ns[last] - late_ns[first]
    seconds = at.case.record.whole.seconds
    share = skew_ns / NS_PER_S / seconds if seconds > 0 else 0.0
    if share <= thresholds.NEGLIGIBLE_SHARE:
        return
    bound_ns = at.phase.clients[first].shift.bound_ns + at.phase.clients[last].shift.bound_ns
    text = (
        f"{last} began {format_seconds(skew_ns / NS_PER_S)} (± {format_ns(bound_ns)}) after {first},"
        f" {100 * share:.1f} % of the phase. The sum covers only the time that all share."
    )
    cure = "Run longer, or find why it was late: a busy machine, or files that took long to open."
    if share > 1 - thresholds.OVERLAP_WHOLE:
        yield findings.warning("clients-apart", text, cure, brief="clients began apart", effect=share)
    else:
        yield findings.note("clients-apart", text, cure, effect=share)


def _clocks(at: SumCase) -> Iterator[Finding]:
    """Report where a clock was read so coarsely that intervals of the clients may not belong together."""
    bound_ns = {name: one.shift.bound_ns for name, one in at.phase.clients.items()}
    worst = max(bound_ns, key=bound_ns.__getitem__)
    bound_s = bound_ns[worst] / NS_PER_S
    if bound_s <= thresholds.NOTABLE_SHARE * at.case.run.plan.sample_interval_s:
        return
    text = (
        f"The clock of {worst} is known to within ± {format_seconds(bound_s)} only, more than a tenth of an interval:"
        " work in one interval of the sum can belong to its neighbours."
    )
    cure = "Use a network with a shorter round trip to the clients, or a longer sample_interval."
    share = 2 * bound_s / at.case.seconds if at.case.seconds > 0 else 1.0
    if share > thresholds.NEGLIGIBLE_SHARE:
        yield findings.warning("clients-apart", text, cure, brief="clocks are uncertain", effect=min(1.0, share))
    else:
        yield findings.weak("clients-apart", text, cure, brief="clocks are uncertain", effect=share)
