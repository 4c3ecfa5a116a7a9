"""What there is to judge of a sum over clients: all of them as one, and each by itself.

    J = (sum of rates)^2 / (n * sum of their squares)

is Jain's index of fairness: 1 where all are equal, 1 / n where one has all (Jain, Chiu and Hawe, DEC-TR-301, 1984). Rates of
clients are over the window of the sum, so that they add up to its rate. One is a straggler where it has less than
`STRAGGLER_SHARE` of the median of the others. Where the clients shared too little of the time for a sum (`Window.has_sum`),
each has the rate of its own result, and there are no findings of all of them.
"""

import dataclasses
import functools
import statistics
from collections.abc import Mapping, Sequence

from assay.analysis import thresholds
from assay.analysis.case import Case
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.observed import Observed, observed
from assay.analysis.record import ClientRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.set_limiter import limiter_of_set
from assay.analysis.set_times import PhaseOfSet
from assay.analysis.straggling import cause_of
from assay.results import ClientRate, Result, SetOfClients, Straggler
from assay.verdicts import Bottleneck, ServedBy

_SEVERAL = 2


@dataclasses.dataclass(frozen=True)
class SumCase:
    """One result over all clients, before it is judged."""

    case: Case
    """All of them as one."""
    phase: PhaseOfSet
    clients: Mapping[str, ClientRecord]
    """Of the set, observers too."""
    results: Mapping[str, Result]
    """What each client of the sum did by itself."""

    @functools.cached_property
    def rates(self) -> tuple[ClientRate, ...]:
        """What each client did of it, in the order of the set; where there is no sum, each in its own window."""
        if not self.case.window.has_sum:
            return tuple(self._own_rate(name) for name in self.phase.clients if name in self.results)
        counted, seconds = self.case.window.counted, self.case.seconds
        done = {name: self._done(name, counted) for name in self.phase.clients}
        total = sum(ops for ops, _ in done.values())
        if seconds <= 0:
            return ()
        return tuple(
            ClientRate(
                client=name,
                label=self.results[name].label,
                iops=ops / seconds,
                throughput_bytes_per_s=moved / seconds if self.case.moves_data else None,
                share=ops / total if total else 0.0,
            )
            for name, (ops, moved) in done.items()
            if name in self.results
        )

    def _own_rate(self, client: str) -> ClientRate:
        own = self.results[client]
        moved = own.throughput_bytes_per_s
        return ClientRate(
            client=client,
            label=own.label,
            iops=own.iops or 0.0,
            throughput_bytes_per_s=(moved or 0.0) if self.case.moves_data else None,
            share=None,
        )

    def _done(self, client: str, counted: Span) -> tuple[int, int]:
        """Operations and bytes of a client in a window of the set."""
        record = self.clients[client].run.phases_by_index.get(self.phase.index)
        if record is None:
            return 0, 0
        rows = record.rows(self.case.job.name, self.case.operation.name)
        at_ns = self.phase.clients[client].to_set(rows.t_ns)
        inside = (at_ns > counted.begin_ns) & (at_ns <= counted.end_ns)
        return int(rows.column("ops")[inside].sum()), int(rows.column("bytes")[inside].sum())

    @functools.cached_property
    def jain(self) -> float | None:
        """Fairness; None where nobody did anything, and where there is no sum."""
        rates = [rate.iops for rate in self.rates] if self.case.window.has_sum else []
        squares = sum(rate * rate for rate in rates)
        return sum(rates) ** 2 / (len(rates) * squares) if squares else None

    @property
    def can_be_compared(self) -> bool:
        """Whether there is a sum of several clients, and they did enough to decide which was slower."""
        is_sum_of_several = self.case.window.has_sum and len(self.rates) >= _SEVERAL
        return is_sum_of_several and self.case.ops >= thresholds.FEW_OPS * len(self.rates)

    @functools.cached_property
    def straggler(self) -> Straggler | None:
        """The slowest client, if it is far behind the others."""
        if not self.can_be_compared:
            return None
        slowest = min(self.rates, key=lambda rate: rate.iops)
        others = statistics.median(rate.iops for rate in self.rates if rate is not slowest)
        if not others or slowest.iops >= thresholds.STRAGGLER_SHARE * others:
            return None
        own = self.results[slowest.client]
        rest = [result for name, result in self.results.items() if name != slowest.client]
        return Straggler(client=slowest.client, ratio=slowest.iops / others, cause=cause_of(own, rest))

    @functools.cached_property
    def observed(self) -> Sequence[Observed]:
        """What observers saw in the window."""
        found = (observed(self.clients[name], self.phase, self.case.window.counted) for name in self.phase.observers)
        return tuple(one for one in found if one is not None)

    @functools.cached_property
    def limiter(self) -> Conclusion | None:
        """What limited all of them together; None for a part of a job, where nothing was done, and where there is no sum."""
        if not self.case.is_whole or not self.case.ops or not self.case.window.has_sum:
            return None
        return limiter_of_set(self.observed, self.results)

    @property
    def measures(self) -> ServedBy:
        """What the sum is a number of: what all of its parts are; parts that differ make it mixed."""
        if self.limiter and self.limiter.limit is Bottleneck.NETWORK_BANDWIDTH:
            return ServedBy.LINK
        kinds = {result.measures for result in self.results.values() if result.ops}
        if len(kinds) == 1:
            return kinds.pop()
        return ServedBy.UNKNOWN if not kinds or ServedBy.UNKNOWN in kinds else ServedBy.MIXED

    def taken_to_pieces(self, label: str) -> SetOfClients:
        """Write down who did what of it; `label` is that of its result."""
        has_sum = self.case.window.has_sum
        rates = [rate.iops for rate in self.rates] if has_sum else []
        common, span = self.case.window.common, self.case.window.span
        shared = Span(max(common.begin_ns, span.begin_ns), min(common.end_ns, span.end_ns))
        return SetOfClients(
            label=label,
            clients=len(self.phase.clients),
            window_s=self._since_begin(span) if has_sum else None,
            all_at_work_s=self._since_begin(shared) if shared.end_ns > shared.begin_ns else None,
            rates=self.rates,
            jain=self.jain,
            spread=max(rates) / min(rates) if rates and min(rates) > 0 else None,
            straggler=self.straggler,
        )

    def _since_begin(self, span: Span) -> tuple[float, float]:
        begin_ns = self.phase.begin_ns
        return (span.begin_ns - begin_ns) / NS_PER_S, (span.end_ns - begin_ns) / NS_PER_S
