"""An SSD, or any other storage, as a run measured it: what it did within a latency, and nothing beyond.

Of each kind of request the highest rate counts whose mean latency is within the target; rates between and above are not
guessed. Reads and writes together take their shares of the storage's time: reads / rate of reads + writes / rate of writes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay.errors import InputError
from assay.results import STREAMING_BYTES_PER_OP, Document, Result
from assay.sizing.raid import Requests
from assay.units import format_bytes, format_names, format_number, format_seconds

_DURABLE_WRITES: Final = "sync-write/write"
"""The random writes of `assay quick`."""


@dataclass(frozen=True)
class MeasuredRate:
    """A result: a rate, at the mean latency that it had."""

    label: str
    per_s: float
    latency_s: float


@dataclass(frozen=True)
class MeasuredDisk:
    """Storage that a run measured."""

    name: str
    basis: str
    reads: tuple[MeasuredRate, ...]
    writes: tuple[MeasuredRate, ...]

    def least_disks(self, requests: Requests, latency_s: float) -> float:
        """Give how many keep the mean latency of each kind of request at `latency_s`, as a fraction.

        Raises:
            InputError: There are requests of a kind that was not measured.
        """
        return self._share(requests, latency_s)

    def utilisation(self, requests: Requests, disks: int) -> float:
        """Give the share of the highest rates that were measured."""
        return self._share(requests, math.inf) / disks

    def response_s(self, requests: Requests, disks: int) -> float | None:  # noqa: ARG002 - as of any kind of disk
        """Give None: what the latency is between measured rates is not known."""
        return None

    def _share(self, requests: Requests, latency_s: float) -> float:
        share = 0.0
        for rate, measured, what in (
            (requests.reads_per_s, self.reads, "reads"),
            (requests.writes_per_s, self.writes, "writes"),
        ):
            if rate > 0 and not measured:
                raise InputError(
                    f"--disk {self.name}: there are {what} to be sized for, and its run has no trusted random {what} from"
                    f" storage; name a result of them, as in {self.name}=run:RUN:LABEL,LABEL"
                )
            within = [one.per_s for one in measured if one.latency_s <= latency_s]
            if rate > 0:
                share += rate / max(within) if within else math.inf
        return share


def measured_disk(name: str, document: Document, labels: Sequence[str]) -> MeasuredDisk:
    """Take a kind of disk from a run.

    Args:
        name: On the command line.
        document: Results of the run.
        labels: Of the results to take; none: its trusted random reads and writes of small requests.

    Raises:
        InputError: A label is of no result, or of one that cannot be used; or the run has no random reads or writes.
    """
    known = {result.label: result for result in document.results}
    for label in labels:
        if label not in known:
            raise InputError(
                f"--disk {name}: run {document.run.id} has no result '{label}'; it has {format_names([*known], 12)}"
            )
        if not known[label].trusted:
            raise InputError(f"--disk {name}: the result '{label}' is not to be trusted, and nothing is sized by it")
    chosen = [known[label] for label in labels] or [one for one in document.results if _is_random(one)]
    reads, writes = (tuple(_rates(chosen, operation)) for operation in ("read", "write"))
    if not reads and not writes:
        raise InputError(
            f"--disk {name}: run {document.run.id} has no trusted random reads or writes from storage; measure with assay"
            f" quick, or name results as {name}=run:RUN:LABEL,LABEL"
        )
    shown = ", ".join(
        f"{one.label} {format_number(one.per_s)} IOPS at {format_seconds(one.latency_s)}" for one in (*reads, *writes)
    )
    sizes = sorted({round(one.bytes / one.ops) for one in chosen if one.bytes and one.ops})
    of = f" of {format_bytes(sizes[0])}" if len(sizes) == 1 else ""
    return MeasuredDisk(name, f"run {document.run.id}, requests{of}: {shown}", reads, writes)


def _is_random(result: Result) -> bool:
    is_small = bool(result.ops and result.bytes and result.bytes / result.ops < STREAMING_BYTES_PER_OP)
    is_at_random = "random" in result.label or result.label == _DURABLE_WRITES
    return is_small and is_at_random and result.trusted and result.measures.is_past_memory


def _rates(chosen: Sequence[Result], operation: str) -> Iterator[MeasuredRate]:
    for one in chosen:
        if one.operation == operation and one.iops and one.latency_ns.mean:
            yield MeasuredRate(one.label, one.iops, one.latency_ns.mean / 1e9)
