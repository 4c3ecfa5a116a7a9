"""Merge the intervals of several clients into one per tick, while they run.

Each client's interval ends near a place of the grid that it shares with the others: its phase's start and `interval_s`
after that, and so on. What ended nearest after the place before is of one tick. A tick is reported when every client that
is waited for has gone past it, or when one of them is two of the periods further on of their batches; what comes
of it later is left out, and counted.

An interval may be several ticks long: a busy client skips places of the grid, and of very many clients several intervals
arrive as one. Such ticks are reported as one, up to a place that nobody's interval goes across. Where there is no such
place, as with many clients whose batches arrive at different times, they are reported after as many ticks as the longest
interval has: then each client has about one interval in it, which counts where it ends.

Operations, bytes, errors and histograms of a merged interval are the exact sums of what it is made of. Each interval
is in one merged interval or among the late, never in two. Its times are since the phase began, from `begins` on
if that was set, and its length is from the end of the merged interval before it. Counters of workers and hosts are
those of single machines: they are in none. They are for progress lines and for a watch that ends phases; results
come from the record.
"""

import dataclasses
import math
import statistics
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from assay import events

_NS_PER_S = 10**9
_SLACK = 0.25
"""Of an interval: by so much one may end after its place on the grid, or before it, and be of that place."""
_PATIENCE = 2
"""Ticks, and periods, that the fastest client may be ahead before the others are not waited for."""
_RECENT_NS = _NS_PER_S
"""Window of recent ticks in which clients are compared."""

_Key = tuple[int, int]
"""Index of a phase, and number of a tick in it, from 1."""


@dataclasses.dataclass(frozen=True)
class Late:
    """What a client reported too late: in no merged interval."""

    intervals: int = 0
    ops: int = 0


@dataclasses.dataclass
class _Voice:
    """State of a client."""

    start_ns: dict[int, int] = dataclasses.field(default_factory=dict)
    """By its own clock, by index of a phase."""
    reach: _Key = (-1, 0)
    """The last tick that it has gone past."""
    latest: events.Interval | None = None
    finished: int = -1
    """The last phase that it has ended."""
    is_gone: bool = False

    def has_passed(self, key: _Key) -> bool:
        return self.is_gone or self.finished >= key[0] or self.reach >= key


class MergedTicks:
    """Merges the intervals of one run's clients."""

    def __init__(self, clients: Iterable[str], interval_s: float, *, period_s: float = 1.0) -> None:
        """Start without intervals.

        Args:
            clients: Names of the clients.
            interval_s: From one place of the grid to the next: how long a client's shortest interval is.
            period_s: Time between batches of a client: shorter intervals arrive several at a time.

        Raises:
            ValueError: `interval_s` is not above zero.
        """
        if not interval_s > 0:
            raise ValueError(f"an interval of {interval_s} s is none")
        self._interval_ns = interval_s * _NS_PER_S
        self._patience = max(_PATIENCE, math.ceil(_PATIENCE * period_s / interval_s))
        self._voices = {client: _Voice() for client in clients}
        self._open: dict[_Key, dict[str, list[events.Interval]]] = {}
        self._newest: _Key = (-1, 0)
        self._awaited: _Voice | None = None
        self._emitted: _Key = (-1, 0)
        self._end_ns = 0
        self._zero_ns: dict[int, int] = {}
        self._largest: dict[tuple[str, str, bool], int] = {}
        self._late: dict[str, Late] = {}
        self._longest: dict[int, int] = {}
        self._recent: deque[tuple[int, Mapping[str, Sequence[events.Interval]]]] = deque()

    @property
    def clients(self) -> tuple[str, ...]:
        """All that were there once."""
        return tuple(self._voices)

    @property
    def lost(self) -> tuple[str, ...]:
        """Those that are gone."""
        return tuple(client for client, voice in self._voices.items() if voice.is_gone)

    @property
    def late(self) -> Mapping[str, Late]:
        """What came too late to be reported, by client."""
        return self._late

    @property
    def recent(self) -> Mapping[str, Sequence[events.Interval]]:
        """What the merged intervals of the last second are made of, by client; at least the last one, all of one phase."""
        found: dict[str, list[events.Interval]] = {}
        for _, parts in self._recent:
            for client, intervals in parts.items():
                found.setdefault(client, []).extend(intervals)
        return found

    def begins(self, phase_index: int, at_ns: int) -> None:
        """Set the zero of the times of a phase's merged intervals: the `start_ns` that displays got."""
        self._zero_ns[phase_index] = at_ns

    def started(self, client: str, event: events.Started) -> None:
        """Set when a client began a phase; without it, the first interval of the phase decides."""
        self._voice(client).start_ns[event.phase_index] = event.start_ns

    def finished(self, client: str, phase_index: int) -> list[events.Interval]:
        """End a phase of a client, whose intervals are not awaited any more; returns complete merged intervals."""
        self._voice(client).finished = phase_index
        return list(self._due())

    def add(self, client: str, interval: events.Interval) -> list[events.Interval]:
        """Add an interval of a client; returns the merged intervals that are complete, in order."""
        voice, phase = self._voice(client), interval.phase_index
        start_ns = voice.start_ns.setdefault(phase, interval.t_ns - interval.dt_ns)
        if interval.dt_ns <= 0:
            return []
        places = (interval.t_ns - start_ns) / self._interval_ns
        key = (phase, max(1, math.ceil(places - _SLACK)))
        if (
            key <= self._emitted
            and self._emitted[0] == phase
            and voice.reach >= self._emitted
            and self._is_newest(voice, interval)
        ):
            # It had sent that tick before this came: the rest of a phase, an instant after its last place on the grid.
            key = (phase, self._emitted[1] + 1)
        self._longest[phase] = max(self._longest.get(phase, 1), round(interval.dt_ns / self._interval_ns))
        voice.reach = max(voice.reach, (phase, math.floor(places + _SLACK)))
        self._newest = max(self._newest, voice.reach)
        if self._is_newest(voice, interval):
            voice.latest = interval
        if key <= self._emitted:
            so_far = self._late.get(client, Late())
            ops = sum(one.ops for one in interval.operations)
            self._late[client] = Late(so_far.intervals + 1, so_far.ops + ops)
        else:
            self._open.setdefault(key, {}).setdefault(client, []).append(interval)
        return list(self._due())

    def gone(self, client: str) -> list[events.Interval]:
        """Stop waiting for a client; returns the merged intervals that are complete."""
        self._voice(client).is_gone = True
        return list(self._due())

    def flush(self) -> list[events.Interval]:
        """Give all that is left, in order: a phase or the run is over."""
        return [self._emit(key) for key in sorted(self._open) if not self._has_joined(key)]

    def _voice(self, client: str) -> _Voice:
        return self._voices.setdefault(client, _Voice())

    @staticmethod
    def _is_newest(voice: _Voice, interval: events.Interval) -> bool:
        return voice.latest is None or (interval.phase_index, interval.t_ns) > (
            voice.latest.phase_index,
            voice.latest.t_ns,
        )

    def _due(self) -> Iterator[events.Interval]:
        while self._open and self._is_due(key := min(self._open)):
            if not self._has_joined(key):
                yield self._emit(key)

    def _is_due(self, key: _Key) -> bool:
        phase, number = self._newest
        if phase >= key[0] and number >= (key[1] if phase == key[0] else 0) + self._patience:
            return True
        if self._awaited is None or self._awaited.has_passed(key):
            # Whom all wait for is kept: to ask every client at every interval would be a square of their number.
            self._awaited = next((voice for voice in self._voices.values() if not voice.has_passed(key)), None)
        return self._awaited is None

    def _has_joined(self, key: _Key) -> bool:
        """Put a tick to the next one, where a later interval holds all of its time; up to the longest interval's length."""
        phase, number = key
        text = self._emitted[1] if self._emitted[0] == phase else 0
        if number - text >= max(2, self._longest[phase]):
            return False
        later = sorted(each for each in self._open if each[0] == phase and each[1] > number)
        begin_ns = (number - 1 + _SLACK) * self._interval_ns
        spans = any(
            interval.t_ns - interval.dt_ns - self._voices[client].start_ns[phase] <= begin_ns
            for each in later
            for client, parts in self._open[each].items()
            for interval in parts
        )
        if spans:
            into = self._open[later[0]]
            for client, parts in self._open.pop(key).items():
                into[client] = parts + into.get(client, [])
        return spans

    def _emit(self, key: _Key) -> events.Interval:
        parts = self._open.pop(key)
        phase = key[0]
        if phase != self._emitted[0]:
            self._end_ns, self._largest = 0, {}
            self._recent.clear()
        end_ns = max(self._end_of(key, parts), self._end_ns)
        longest_ns = max(sum(interval.dt_ns for interval in each) for each in parts.values())
        # The last of a phase may have ended before what was reported already, in another client.
        length_ns = end_ns - self._end_ns if 2 * (end_ns - self._end_ns) >= longest_ns else longest_ns
        self._emitted, self._end_ns = key, self._end_ns + length_ns
        self._remember(length_ns, parts)
        of_all = [voice.latest for voice in self._voices.values() if voice.latest is not None]
        return events.Interval(
            t_ns=self._zero_ns.get(phase, 0) + self._end_ns,
            dt_ns=length_ns,
            phase_index=phase,
            operations=self._operations([interval for each in parts.values() for interval in each]),
            workers=(),
            process_cpu_ns=sum(each.process_cpu_ns for each in of_all),
            observer_cpu_ns=sum(each.observer_cpu_ns for each in of_all),
            process_read_bytes=_known_sum(each.process_read_bytes for each in of_all),
            process_write_bytes=_known_sum(each.process_write_bytes for each in of_all),
            host=(),
        )

    def _remember(self, length_ns: int, parts: Mapping[str, Sequence[events.Interval]]) -> None:
        self._recent.append((length_ns, parts))
        while sum(length for length, _ in self._recent) - self._recent[0][0] >= _RECENT_NS:
            self._recent.popleft()

    def _end_of(self, key: _Key, parts: Mapping[str, Sequence[events.Interval]]) -> int:
        """When a tick ended, since the phase began: for half of the clients, or for all where the phase ended in it."""
        phase, number = key
        ends = [
            max(interval.t_ns for interval in each) - self._voices[client].start_ns[phase]
            for client, each in parts.items()
        ]
        middle = statistics.median_low(ends)
        return middle if middle >= (number - _SLACK) * self._interval_ns else max(ends)

    def _operations(self, parts: Iterable[events.Interval]) -> tuple[events.OperationInterval, ...]:
        named: dict[tuple[str, str], list[events.OperationInterval]] = {}
        for interval in parts:
            for one in interval.operations:
                named.setdefault((one.job, one.operation), []).append(one)
        return tuple(self._operation(job, operation, same) for (job, operation), same in named.items())

    def _operation(
        self, job: str, operation: str, same: Sequence[events.OperationInterval]
    ) -> events.OperationInterval:
        responses = [one.response for one in same if one.response is not None]
        return events.OperationInterval(
            job=job,
            operation=operation,
            ops=sum(one.ops for one in same),
            bytes=sum(one.bytes for one in same),
            errors=sum(one.errors for one in same),
            latency=self._buckets((job, operation, False), [one.latency for one in same]),
            response=self._buckets((job, operation, True), responses) if responses else None,
        )

    def _buckets(self, series: tuple[str, str, bool], same: Sequence[events.Buckets]) -> events.Buckets:
        added = events.add_buckets(same)
        self._largest[series] = max(self._largest.get(series, 0), added.max_ns)
        return msgspec.structs.replace(added, max_ns=self._largest[series])


def _known_sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)
