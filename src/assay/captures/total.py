"""Add the devices of all hosts up, on one grid of time.

Hosts are added up step by step before anything else is computed: their peaks rarely come at one time, and the sum of
peaks overstates. A rate is averaged by how far its interval overlaps a step, so that captures of other intervals fit.
Where a host has no sample there is a gap: nothing is assumed of it. A device without a sample while its host has
others did nothing.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from assay.analysis.arrays import BoolArray, FloatArray
from assay.errors import InputError

MOST_STEPS: Final = 1_000_000
LEAST_COVERED: Final = 0.5
"""Share of a step that samples of a host must cover; else the step is a gap."""
RATES: Final = (
    "iops",
    "read_iops",
    "write_iops",
    "bytes_per_s",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "queue_depth",
)
"""What is added up over devices."""
_LATENCIES: Final = {"latency_s": "iops", "read_latency_s": "read_iops", "write_latency_s": "write_iops"}
"""What is averaged over requests."""


@dataclass(frozen=True)
class TotalLoad:
    """What all devices together did, in equal steps of time.

    Attributes:
        begin_s: When the first step begins, in seconds since 1970 (UTC).
        step_s: Length of a step.
        columns: By name of `RATES`, and `latency_s`, `read_latency_s`, `write_latency_s`: shape `(steps,)`, NaN in a
        gap. A rate
            that some device lacks is missing.
        hosts: Names.
        devices: How many.
        notes: What was left out or assumed.
    """

    begin_s: float
    step_s: float
    columns: dict[str, FloatArray]
    hosts: tuple[str, ...]
    devices: int
    notes: tuple[str, ...]

    @property
    def steps(self) -> int:
        """How many."""
        return len(next(iter(self.columns.values())))


def add_up(table: pl.DataFrame) -> TotalLoad:
    """Add up the rows of `SampleRows.table`, of devices of which none is a part of another.

    Raises:
        InputError: The hosts have no time in common, or there are too many steps.
    """
    table = table.unique(["host", "device", "layer", "end_s"], keep="first", maintain_order=True).sort("end_s")
    hosts = {str(key[0]): part for key, part in table.partition_by("host", as_dict=True, maintain_order=True).items()}
    step_s = max(float(np.median(part["seconds"].to_numpy())) for part in hosts.values())
    begin_s, end_s = _common(hosts)
    steps = round((end_s - begin_s) / step_s)
    if steps > MOST_STEPS:
        raise InputError(
            f"from the first to the last sample there are {steps:,} steps of {step_s:g} s; {MOST_STEPS:,} are the most"
        )
    edges: FloatArray = begin_s + step_s * np.arange(max(steps, 1) + 1, dtype=np.float64)
    sums, known = _zeros(len(edges) - 1), dict.fromkeys((*RATES, *_LATENCIES), True)
    covered: BoolArray = np.ones(len(edges) - 1, dtype=np.bool_)
    for part in hosts.values():
        covered &= _add_host(part, edges, sums, known)
    return TotalLoad(
        begin_s,
        step_s,
        _columns(sums, known, covered),
        tuple(hosts),
        table.n_unique(["host", "device"]),
        _gaps(covered, step_s),
    )


def _zeros(steps: int) -> dict[str, FloatArray]:
    return {name: np.zeros(steps) for name in (*RATES, *_LATENCIES)}


def _common(hosts: dict[str, pl.DataFrame]) -> tuple[float, float]:
    """Give the time that samples of all hosts are of."""
    spans = {host: _span(part) for host, part in hosts.items()}
    begin_s, end_s = max(begin for begin, _ in spans.values()), min(end for _, end in spans.values())
    if begin_s >= end_s:
        late = max(spans, key=lambda host: spans[host][0])
        early = min(spans, key=lambda host: spans[host][1])
        raise InputError(
            f"the samples of {early} end before those of {late} begin: loads can be added up only for one and the same time"
        )
    return begin_s, end_s


def _span(part: pl.DataFrame) -> tuple[float, float]:
    ends = part["end_s"].to_numpy()
    return float((ends - part["seconds"].to_numpy()).min()), float(ends.max())


def _add_host(part: pl.DataFrame, edges: FloatArray, sums: dict[str, FloatArray], known: dict[str, bool]) -> BoolArray:
    """Add the devices of a host; give the steps that it has samples of."""
    step_s = edges[1] - edges[0]
    devices = part.partition_by("device", "layer", maintain_order=True)
    shares = np.max([_Intervals(device).overlaps(edges, None) for device in devices], axis=0) / step_s
    is_covered: BoolArray = shares >= LEAST_COVERED
    by = np.where(is_covered, np.maximum(shares, LEAST_COVERED) * step_s, np.inf)
    for device in devices:
        intervals = _Intervals(device)
        for name in RATES:
            known[name] = known[name] and not device[name].has_nulls()
            sums[name] += intervals.overlaps(edges, device[name].fill_null(0.0).to_numpy()) / by
        for name, rate in _LATENCIES.items():
            # A latency is null where nothing was done; one that requests lack is unknown.
            known[name] = known[name] and not device.select((pl.col(name).is_null() & (pl.col(rate) > 0)).any()).item()
            spent = (device[name].fill_null(0.0) * device[rate].fill_null(0.0)).to_numpy()
            sums[name] += intervals.overlaps(edges, spent) / by
    return is_covered


class _Intervals:
    """The intervals of a device: none begins before the one before it ends."""

    def __init__(self, device: pl.DataFrame) -> None:
        self._ends = device["end_s"].to_numpy()
        before = np.concatenate([[-np.inf], self._ends[:-1]])
        self._begins = np.maximum(self._ends - device["seconds"].to_numpy(), before)

    def overlaps(self, edges: FloatArray, rates: FloatArray | None) -> FloatArray:
        """Integrate a rate over each step; without one, the seconds that samples cover."""
        lengths = self._ends - self._begins
        amounts = np.cumsum(lengths if rates is None else lengths * rates)
        times = np.stack([self._begins, self._ends], axis=1).ravel()
        sums = np.stack([np.concatenate([[0.0], amounts[:-1]]), amounts], axis=1).ravel()
        return np.diff(np.interp(edges, times, sums))


def _columns(sums: dict[str, FloatArray], known: dict[str, bool], covered: BoolArray) -> dict[str, FloatArray]:
    columns = {name: np.where(covered, sums[name], np.nan) for name in RATES if known[name]}
    for name, rate in _LATENCIES.items():
        if known[name] and rate in columns:
            with np.errstate(divide="ignore", invalid="ignore"):
                columns[name] = np.where(covered & (sums[rate] > 0), sums[name] / sums[rate], np.nan)
    if not columns:
        raise InputError("the devices have no figure in common")
    return columns


def _gaps(covered: BoolArray, step_s: float) -> tuple[str, ...]:
    if covered.all():
        return ()
    changes = int(np.count_nonzero(np.diff(np.concatenate([[True], covered]).astype(np.int8)) < 0))
    missing_s = float(np.count_nonzero(~covered)) * step_s
    gaps = (
        "1 gap without samples of some host is" if changes == 1 else f"{changes} gaps without samples of some host are"
    )
    return (f"{gaps} left out: {missing_s / 60:.3g} min in all",)
