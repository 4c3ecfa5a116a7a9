"""What one client of a run recorded, summed without Assay's analysis: from the tables and events of the bundle alone."""

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

NS_PER_S = 1e9
SUM_FROM = 0.8
"""Share of the time in which all clients were at work from which on there is a sum of them."""


@dataclass(frozen=True)
class ClientRecords:
    """One client of a bundle."""

    bundle: Path
    client: str

    @functools.cached_property
    def phases(self) -> list[dict[str, Any]]:
        """The Plan's phases."""
        plan = json.loads((self.bundle / "resolved.json").read_text())
        return list(plan["phases"])

    def named(self, name: str) -> int:
        """Give the index of a phase."""
        return next(index for index, phase in enumerate(self.phases) if phase["name"] == name)

    def events(self, kind: str, index: int | None = None) -> list[dict[str, Any]]:
        """What happened, in a phase or anywhere."""
        every = json.loads((self.bundle / "events" / f"{self.client}.json").read_text())
        return [one for one in every if one["event"] == kind and index in {None, one.get("phase_index")}]

    def table(self, name: str, index: int) -> pl.DataFrame:
        """Rows of a table in a phase."""
        rows = pl.read_parquet(self.bundle / f"{name}.parquet")
        return rows.filter((pl.col("client") == self.client) & (pl.col("phase_index") == index))

    def of(self, index: int, operations: Sequence[str], job: str | None = None) -> pl.DataFrame:
        """Intervals of operations."""
        rows = self.table("intervals", index).filter(pl.col("operation").is_in(list(operations)))
        return rows if job is None else rows.filter(pl.col("job") == job)

    def sum(self, index: int, operation: str, column: str = "ops") -> int:
        """Sum one operation over a phase."""
        return int(self.of(index, [operation])[column].sum())

    def finished(self, index: int) -> dict[str, Any]:
        """The end of a phase."""
        (found,) = self.events("phase_finished", index)
        return found

    def span_ns(self, index: int) -> tuple[int, int]:
        """From the first operation of the first worker to the end of the last, by the client's clock."""
        windows = [one for one in self.finished(index)["workers"] if one["first_op_ns"] is not None]
        return min(one["first_op_ns"] for one in windows), max(one["last_op_ns"] for one in windows)

    def span_s(self, index: int) -> float:
        """How long that is."""
        begin, end = self.span_ns(index)
        return (end - begin) / NS_PER_S

    def synced_s(self, index: int) -> float:
        """Time of the syncs of a phase."""
        return sum(float(one["seconds"]) for one in self.events("step_done", index) if one["step"] == "sync")

    def samples(self, index: int) -> list[dict[str, Any]]:
        """Last sample of each worker."""
        rows = self.table("workers", index).sort("t_s").group_by("job", "worker", maintain_order=True).last()
        return rows.sort("job", "worker").to_dicts()

    def least_ns(self, index: int, operation: str) -> int:
        """Lower end of the lowest bucket of latencies."""
        return bucket_ns(int(self._buckets(index, operation).min()))[0]  # type: ignore[arg-type]

    def ranked_ns(self, index: int, operation: str, share: float) -> float:
        """Middle of the bucket in which the latency of rank `ceil(share n)` lies."""
        rows = self.table("hist", index).filter((pl.col("operation") == operation) & (pl.col("series") == "latency"))
        counted = rows.group_by("bucket").agg(pl.col("n").sum()).sort("bucket")
        rank = math.ceil(share * float(counted["n"].sum()))
        low, width = bucket_ns(int(counted.filter(counted["n"].cum_sum() >= rank)["bucket"][0]))
        return low + (width - 1) / 2

    def largest_ns(self, index: int, operation: str, begin_s: float, end_s: float) -> float:
        """Largest latency in a span: exact where the running maximum grew in it, else the middle of the highest bucket."""
        rows = self.of(index, [operation]).sort("t_s")
        upto = [rows.filter(rows["t_s"] <= at_s + 1e-6)["latency_max_ns"].max() or 0 for at_s in (begin_s, end_s)]
        if upto[1] != upto[0]:
            return float(upto[1])  # type: ignore[arg-type]
        low, width = bucket_ns(int(self._buckets(index, operation, begin_s, end_s).max()))  # type: ignore[arg-type]
        return low + (width - 1) / 2

    def _buckets(self, index: int, operation: str, begin_s: float = 0.0, end_s: float = float("inf")) -> pl.Series:
        rows = self.table("hist", index).filter((pl.col("operation") == operation) & (pl.col("series") == "latency"))
        return rows.filter((rows["t_s"] > begin_s + 1e-6) & (rows["t_s"] <= end_s + 1e-6))["bucket"]

    @functools.cached_property
    def zero_ns(self) -> int:
        """What the machine's CLOCK_MONOTONIC, one for all clients of a test, showed when this client's stood at zero."""
        (hello,) = self.events("hello")
        return int(hello["clock"]["monotonic_at_zero_ns"])


def bucket_ns(bucket: int) -> tuple[int, int]:
    """Give the lower end and the width of a bucket of latencies (docs/reference/bundle.md)."""
    shift = max(0, bucket // 1024 - 1)
    return (bucket if bucket < 2048 else (bucket % 1024 + 1024) << shift), 1 << shift


def common_ns(clients: Sequence[ClientRecords], index: int) -> tuple[int, int, float]:
    """Give the time in which all workers that did anything were at work, by the machine's clock, and its share of all."""
    windows = [
        (one.zero_ns + each["first_op_ns"], one.zero_ns + each["last_op_ns"])
        for one in clients
        for each in one.finished(index)["workers"]
        if each["first_op_ns"] is not None
    ]
    begin, end = max(first for first, _ in windows), min(last for _, last in windows)
    return begin, end, max(0, end - begin) / (max(last for _, last in windows) - min(first for first, _ in windows))


def interval_ns(clients: Sequence[ClientRecords], index: int) -> float:
    """Give the longest interval of a phase: on a busy machine they are longer than the Plan's."""
    return NS_PER_S * max(float(one.table("intervals", index)["dt_s"].max()) for one in clients)  # type: ignore[arg-type]


def may_have_sum(clients: Sequence[ClientRecords], index: int) -> bool:
    """Whether the clients shared at least 80 % of a phase, give or take what clocks do not know."""
    return common_ns(clients, index)[2] >= SUM_FROM - 0.01


def must_have_sum(clients: Sequence[ClientRecords], index: int) -> bool:
    """Whether they surely did, in a time that holds a whole interval."""
    begin, end, share = common_ns(clients, index)
    return share >= SUM_FROM + 0.01 and end - begin >= 2.5 * interval_ns(clients, index)


def bounds(
    clients: Sequence[ClientRecords],
    index: int,
    operations: Sequence[str],
    span_ns: tuple[float, float],
    column: str = "ops",
    **of: str,
) -> tuple[int, int]:
    """Give the fewest and the most operations (or bytes …) that the clients can have done in a span of the machine's clock.

    Intervals inside of it are the fewest, those that touch it the most; a span is known to 2 ms.
    """
    least = most = 0
    for one in clients:
        rows = one.of(index, operations, **of)
        ends = rows["t_s"] * NS_PER_S + one.zero_ns
        begins = ends - rows["dt_s"] * NS_PER_S
        least += int(rows.filter((begins >= span_ns[0] + 2e6) & (ends <= span_ns[1] - 2e6))[column].sum())
        most += int(rows.filter((begins <= span_ns[1] + 2e6) & (ends >= span_ns[0] - 2e6))[column].sum())
    return least, most
