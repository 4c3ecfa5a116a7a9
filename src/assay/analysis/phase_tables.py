"""The recorded tables of a run, each read once, part by part: what operations did, and the values of counters."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from assay.analysis.arrays import IntArray
from assay.analysis.phased_table import Held, PhasedTable
from assay.analysis.rows import Columns, Rows, Span
from assay.bundle.scan import Scan
from assay.bundle.tables import HISTOGRAMS, HOST, INTERVALS, WORKERS

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    INTERVALS: ("job", "operation"),
    HISTOGRAMS: ("job", "operation", "series"),
    WORKERS: ("job", "worker"),
    HOST: ("source", "instance", "name"),
}
"""Columns that identify what a row is about."""


class Tables:
    """The tables of a run, or of one of its clients."""

    def __init__(self, sections: Mapping[str, PhasedTable], client: str | None = None) -> None:
        """Hold where they are read from."""
        self.intervals = RecordedTable(sections[INTERVALS], client)
        self.histograms = RecordedTable(sections[HISTOGRAMS], client)
        self.workers = RecordedTable(sections[WORKERS], client)
        self.host = HostTable(sections[HOST], client)


def sections_of(scans: Mapping[str, Scan], *, has_clients: bool = False) -> dict[str, PhasedTable]:
    """Begin to read the tables of a run, by name."""
    held = Held()
    return {name: PhasedTable(scan, _NAMES[name], held, has_clients=has_clients) for name, scan in scans.items()}


class RecordedTable:
    """A recorded table, phase by phase; of a run of several clients that of one of them."""

    def __init__(self, sections: PhasedTable, client: str | None = None) -> None:
        """Hold where it is read from."""
        self._sections = sections
        self._client = client

    @property
    def phases(self) -> tuple[int, ...]:
        """Name the phases that there are rows of."""
        return self._sections.phases(self._client)

    def by_name(self, phase: int) -> Mapping[tuple[Any, ...], Rows]:
        """Give the rows of a phase by what they are about, in the order in which that was first seen."""
        return self._sections.section(self._client, phase).rows

    def of_phase(self, phase: int) -> Rows:
        """Give all rows of a phase."""
        return self._sections.section(self._client, phase).all


class HostTable:
    """Values of the machine's and the engine's own counters, cut by counter."""

    def __init__(self, sections: PhasedTable, client: str | None = None) -> None:
        """Hold where it is read from."""
        self._sections = sections
        self._client = client

    def of_phase(self, index: int) -> "Counters":
        """Give the counters of one phase."""
        return Counters(self, index)

    def samples(self, phase: int) -> Mapping[str, Mapping[tuple[Any, ...], Columns]]:
        """Give every counter of a phase with its samples, by source."""
        return self._sections.section(self._client, phase).by_first


def _counter_at(t_ns: IntArray, values: npt.NDArray[np.float64], at_ns: int) -> float:
    """Give a counter at a time from its first sample on; after the last one, that."""
    last = int(np.searchsorted(t_ns, at_ns, side="right")) - 1
    value = float(values[last])
    if t_ns[last] == at_ns or last + 1 == len(t_ns):
        return value
    share = (at_ns - int(t_ns[last])) / (int(t_ns[last + 1]) - int(t_ns[last]))
    return value + share * float(values[last + 1] - values[last])


@dataclasses.dataclass(frozen=True)
class Counters:
    """The counters of one phase: running totals by source and instance."""

    table: HostTable
    phase_index: int

    def delta(self, span: Span, source: str, instance: str, name: str) -> float | None:
        """Return the growth of a counter over a span; None when it was not sampled at the begin or not at all.

        Counters of the machine are sampled each 100 ms at most: of an edge between two samples, in proportion.
        """
        t_ns, values = self._samples(source, instance, name)
        if not len(t_ns) or t_ns[0] > span.begin_ns:
            return None
        grown = _counter_at(t_ns, values, span.end_ns) - _counter_at(t_ns, values, span.begin_ns)
        return None if math.isnan(grown) else grown

    def at(self, t_ns: int, source: str, instance: str, name: str) -> float | None:
        """Return a gauge as it was sampled last up to a time; None when it was not sampled so early."""
        times, values = self._samples(source, instance, name)
        count = int(np.searchsorted(times, t_ns, side="right"))
        value = float(values[count - 1]) if count else math.nan
        return None if math.isnan(value) else value

    def mean(self, span: Span, source: str, instance: str, name: str) -> float | None:
        """Return the mean of a gauge over the samples inside a span; None when it was not sampled there."""
        t_ns, values = self._samples(source, instance, name)
        inside = values[(t_ns > span.begin_ns) & (t_ns <= span.end_ns)]
        return float(inside.mean()) if len(inside) else None

    def instances(self, source: str) -> tuple[str, ...]:
        """Name the instances of a source."""
        return tuple(dict.fromkeys(instance for instance, _ in self._sampled(source)))

    def names(self, source: str) -> tuple[str, ...]:
        """Name the counters of a source."""
        return tuple(dict.fromkeys(name for _, name in self._sampled(source)))

    def times(self, source: str) -> IntArray:
        """Return when a source was sampled, in order."""
        times = [np.empty(0, dtype=np.int64)]
        for part in self._sampled(source).values():
            if part.columns["t_ns"] is not times[-1]:
                times.append(part.columns["t_ns"])
        return np.unique(np.concatenate(times))

    def _samples(self, source: str, instance: str, name: str) -> tuple[IntArray, npt.NDArray[np.float64]]:
        """Give the times and values of a counter; none where it was not sampled."""
        part = self._sampled(source).get((instance, name))
        return (part.columns["t_ns"], part.columns["value"]) if part is not None else (_NO_TIMES, _NO_VALUES)

    def _sampled(self, source: str) -> Mapping[tuple[Any, ...], Columns]:
        """Find the counters of a source that were sampled in the phase."""
        return self.table.samples(self.phase_index).get(source, {})


_NO_TIMES: Final = np.empty(0, dtype=np.int64)
_NO_VALUES: Final = np.empty(0, dtype=np.float64)
