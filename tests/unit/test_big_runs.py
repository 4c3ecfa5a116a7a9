"""Runs too large to be held: their numbers are those of the closed form, and memory is that of the parts worked on."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.analysis import phased_table
from assay.analysis.bucket_sums import BucketSums
from assay.analysis.document import document
from assay.analysis.phased_table import Held, PhasedTable
from assay.analysis.record import read
from assay.analysis.rows import Rows
from assay.bundle import RunBundle, contents, scan
from assay.bundle.scan import HeldTable
from assay.errors import BundleError
from assay.results import Result
from assay.verdicts import SteadyVerdict
from bench.big_runs import BYTES, OPS, Big

MIB = 1 << 20
TWO_BUCKETS = 2 / 1024


def is_as_made(big: Big, result: Result, clients: int = 1) -> None:
    """Hold every number of a result against the closed form."""
    assert result.iops == pytest.approx(clients * big.iops, rel=1e-9)
    assert result.throughput_bytes_per_s == pytest.approx(clients * big.iops * BYTES, rel=1e-9)
    latency = result.latency_ns
    known = {0.5: latency.p50, 0.9: latency.p90, 0.99: latency.p99, 0.999: latency.p99_9}
    assert known == {share: pytest.approx(big.percentile_ns(share), rel=TWO_BUCKETS) for share in known}
    assert latency.mean == pytest.approx(big.mean_ns, rel=TWO_BUCKETS)
    assert latency.max == big.max_ns
    assert result.steady is not None
    assert result.steady.verdict is SteadyVerdict.STEADY


@pytest.fixture(params=[pytest.param(997, marks=pytest.mark.long), 1 << 18], ids=["small parts", "usual parts"])
def part_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Rows that are read at once: of a prime number of them, parts end within intervals and phases."""
    for module in (scan, phased_table):
        monkeypatch.setattr(module, "PART_ROWS", request.param)
    return int(request.param)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each part that was read."""
    rows: list[int] = []

    def counted(*arguments: Any) -> pl.DataFrame:
        part = contents.read_part(*arguments)
        rows.append(part.height)
        return part

    monkeypatch.setattr(scan, "read_part", counted)
    return rows


def opened(big: Big, runs: Path) -> RunBundle:
    """Make a run, and open it as another command would."""
    return RunBundle.open(big.write(runs).path)


def test_many_rows_of_a_long_phase_are_read_in_parts_and_each_is_its_own(
    tmp_path: Path, part_rows: int, at_once: list[int]
) -> None:
    big = Big(seconds=300, jobs=16, buckets=20)

    found = document(read(opened(big, tmp_path)))

    assert [result.job for result in found.results] == [f"job{number:02}" for number in range(16)]
    for result in found.results:
        is_as_made(big, result)
    assert max(at_once) <= part_rows
    assert sum(at_once) >= big.histogram_rows


def test_the_sum_of_many_clients_and_each_of_them_are_as_made(
    tmp_path: Path, part_rows: int, at_once: list[int]
) -> None:
    big = Big(seconds=40, clients=30, buckets=100)

    found = document(read(opened(big, tmp_path)))

    total, *each = found.results
    assert total.client is None
    is_as_made(big, total, clients=30)
    assert [result.client for result in each] == [f"c{number:04}" for number in range(30)]
    for result in each:
        is_as_made(big, result)
    assert max(at_once) <= part_rows


@pytest.mark.usefixtures("part_rows")
def test_each_of_many_phases_is_as_made(tmp_path: Path) -> None:
    big = Big(seconds=30, phases=40, buckets=50)

    found = document(read(opened(big, tmp_path)))

    assert [result.phase for result in found.results] == [f"phase{number}" for number in range(40)]
    for result in found.results:
        is_as_made(big, result)


def test_twice_as_many_phases_take_twice_as_many_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    total = Rows.total

    def counted(rows: Rows, name: str, *spans: object) -> int:
        taken.append(name)
        return total(rows, name, *spans)  # type: ignore[arg-type]

    monkeypatch.setattr(Rows, "total", counted)
    counts = []
    for phases in (20, 40):
        taken.clear()
        document(read(opened(Big(seconds=30, phases=phases), tmp_path)))
        counts.append(len(taken))

    assert counts[1] <= 2.1 * counts[0]


# -- what is held ------------------------------------------------------------------------------------------------------


def table(phases: int, ticks: int) -> pl.DataFrame:
    """Rows of one operation whose `n` counts on over all phases."""
    rows = phases * ticks
    return pl.DataFrame(
        {
            "phase_index": pl.Series(np.arange(rows) // ticks, dtype=pl.Int32),
            "job": ["job"] * rows,
            "t_s": np.arange(rows, dtype=np.float64),
            "n": np.arange(rows) + 1_000_000_000_000,
        }
    )


def test_phases_are_let_go_of_where_there_is_no_room_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phased_table, "PART_ROWS", 10)
    held = Held(most_bytes=3 * 10 * 16)
    phased = PhasedTable(HeldTable(table(50, 10)), ["job"], held)

    for _ in range(2):
        for phase in range(50):
            (rows,) = phased.section(None, phase).rows.values()
            assert rows.column("n").tolist() == [phase * 10 + tick + 1_000_000_000_000 for tick in range(10)]
            assert held.bytes <= 4 * 10 * 16


def test_rows_of_a_phase_that_are_not_together_are_put_in_order() -> None:
    mixed = pl.concat([table(2, 4)[[6, 0, 3]], table(2, 4)[[5, 1]], table(2, 4)[[2, 4, 7]]])

    phased = PhasedTable(HeldTable(mixed), ["job"], Held())

    assert phased.phases() == (0, 1)
    for phase in (0, 1):
        (rows,) = phased.section(None, phase).rows.values()
        assert rows.t_ns.tolist() == [(4 * phase + tick) * 10**9 for tick in range(4)]
        assert rows.column("n").tolist() == [4 * phase + tick + 1_000_000_000_000 for tick in range(4)]


@pytest.mark.parametrize("largest", [0, 127, 128, -129, 40_000, 1 << 31, 1 << 62])
def test_numbers_are_held_exactly_in_the_smallest_type(largest: int) -> None:
    frame = table(1, 3).with_columns(n=pl.Series([1, largest, 2]))

    (rows,) = PhasedTable(HeldTable(frame), ["job"], Held()).section(None, 0).rows.values()

    assert rows.column("n").tolist() == [1, largest, 2]
    assert rows.total("n") == largest + 3


def test_buckets_of_many_are_added_up_wherever_they_are() -> None:
    ends = np.array([10, 20])
    sums = BucketSums(ends)
    sums.add(np.array([10, 10, 20]), np.array([5000, 5001, 5000]), np.array([1, 2, 3]))
    sums.add(np.array([20]), np.array([3]), np.array([4]))
    sums.add(np.array([10, 20]), np.array([34_000, 5000]), np.array([5, 6]))

    assert sums.frame().rows() == [(10, 5000, 1), (10, 5001, 2), (10, 34_000, 5), (20, 3, 4), (20, 5000, 9)]


MEASURED = """
import json, sys
from pathlib import Path
from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
found = document(read(RunBundle.open(Path(sys.argv[1]))))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps({"results": len(found.results), "kib": int(status["VmHWM"].split()[0])}))
"""


def peak_bytes(path: Path, results: int) -> int:
    """Work out a run in a process of its own: how much of it was in memory at most."""
    words = [sys.executable, "-c", MEASURED, str(path)]
    found = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    assert found["results"] == results
    return int(found["kib"]) << 10


@pytest.mark.long
def test_four_times_as_many_clients_take_hardly_more_memory(tmp_path: Path) -> None:
    few, many = (Big(seconds=40, clients=clients, buckets=1000) for clients in (50, 200))

    small, large = (peak_bytes(opened(big, tmp_path).path, big.clients + 1) for big in (few, many))

    # As a whole, the table of the many has 6 million rows more, of 88 bytes each.
    assert (many.histogram_rows - few.histogram_rows) * 88 > 500 * MIB
    assert large - small < 100 * MIB


@pytest.mark.long
def test_a_long_run_takes_less_memory_than_its_largest_table(tmp_path: Path) -> None:
    short, long = (Big(seconds=seconds, jobs=64, buckets=8) for seconds in (300, 5400))

    small, large = (peak_bytes(opened(big, tmp_path).path, 64) for big in (short, long))

    # It takes 88 bytes a row as a whole; results took five times that where tables were joined, sorted and cut.
    assert large - small < (long.histogram_rows - short.histogram_rows) * 88


# -- what is too large ---------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_what_is_the_same_in_every_interval_of_many_clients_is_no_forgery(tmp_path: Path) -> None:
    """A table that packs a hundred times better than one with chance in it."""
    bundle = opened(Big(seconds=40, clients=100, buckets=1000, is_even=True), tmp_path)

    total, *_ = document(read(bundle)).results

    assert total.iops == 100 * 1000 * OPS


def test_a_part_that_this_machine_cannot_unpack_is_refused_and_not_said_to_be_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = opened(Big(seconds=300, jobs=8, buckets=20), tmp_path)
    monkeypatch.setattr(contents, "ram_bytes", lambda: 4 * MIB)

    with pytest.raises(
        BundleError, match=r"hist\.parquet: is too large for this machine: .* takes [\d.]+ MiB"
    ) as refused:
        document(read(bundle))

    assert "damaged" not in str(refused.value)
    assert "open the run on a machine with" in str(refused.value)


def test_a_phase_that_this_machine_cannot_hold_is_refused_and_not_said_to_be_damaged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contents, "ram_bytes", lambda: 1000)
    phased = PhasedTable(HeldTable(table(2, 1000)), ["job"], Held())

    with pytest.raises(BundleError, match=r"too large for this machine: its phase 2 takes") as refused:
        phased.section(None, 1)

    assert "damaged" not in str(refused.value)
