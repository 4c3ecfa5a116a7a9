"""Is every operation in the record exactly once?

The intervals of a run are cut by a clock of their own while workers run; the totals at the end are the workers' own. The
Plan's operation counts and block sizes are the outside truth for both.
"""

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from assay.bundle import RunBundle
from assay.events import PhaseFinished
from e2e.command import Measure

KIB = 1024

HEAD = """
name = "conservation"
sample_interval = "10ms"
[[file_set]]
name = "data"
files = 4
size = "4MiB"
[[file_set]]
name = "new"
files = 2000
size = "4KiB"
existing_share = 0.0
[[phase]]
name = "measured"
"""

LOADS = {
    "a mix, three workers, by time": """
seconds = "0.4s"
[[phase.job]]
workers = 3
loop = [{ choice = [
    { weight = 7, actions = { op = "read", set = "data", access = "random", size = "4KiB" } },
    { weight = 3, actions = { op = "write", set = "data", access = "random", size = "4KiB" } },
] }]
""",
    "a queue, two workers, each so many": """
[[phase.job]]
workers = 2
backend = { kind = "io_uring", fallback = "threads" }
queue_depth = 8
stop = { ops = 20_000 }
op = { op = "read", set = "data", access = "random", size = "4KiB" }
""",
    "writes and fsyncs beside reads": """
seconds = "0.4s"
[[phase.job]]
name = "log"
loop = [{ op = "write", set = "data", pick = "own", size = "4KiB" }, { op = "fdatasync", set = "data", pick = "own" }]
[[phase.job]]
name = "readers"
workers = 4
op = { op = "read", set = "data", access = "random", size = "4KiB" }
""",
    "whole files, four workers, until none is left": """
[[phase.job]]
workers = 4
loop = [
    { op = "create", set = "new", slot = 0 },
    { op = "write", slot = 0, access = "whole", size = "4KiB" },
    { op = "close", slot = 0 },
]
""",
}


class Totals(NamedTuple):
    """What one job did."""

    ops: int
    errors: int
    bytes: int
    in_histograms: int


@pytest.mark.parametrize("load", LOADS)
def test_intervals_add_up_to_the_totals_of_the_workers(load: str, measure: Measure, tmp_path: Path) -> None:
    bundle = _run(HEAD + LOADS[load], measure, tmp_path)
    finished = _finished(bundle)
    jobs = {worker.job for worker in finished.workers}

    for job in jobs:
        workers = [worker for worker in finished.workers if worker.job == job]
        by_interval = _by_interval(bundle, job)
        assert by_interval.ops == sum(worker.completed for worker in workers) > 0
        assert by_interval.errors == sum(worker.failed for worker in workers)
        assert by_interval.in_histograms == by_interval.ops
        assert by_interval.bytes == _last_bytes_of_workers(bundle, job)
    assert all(w.started == w.completed + w.failed + w.abandoned for w in finished.workers)
    assert bundle.intervals()["t_s"].n_unique() > 1


def test_each_worker_does_as_many_operations_as_the_load_asks_for(measure: Measure, tmp_path: Path) -> None:
    bundle = _run(HEAD + LOADS["a queue, two workers, each so many"], measure, tmp_path)

    assert [worker.completed for worker in _finished(bundle).workers] == [20_000, 20_000]
    assert _by_interval(bundle, "measured").bytes == 2 * 20_000 * 4 * KIB


def test_workers_that_share_a_count_do_it_exactly_together(measure: Measure, tmp_path: Path) -> None:
    job = '[[phase.job]]\nworkers = 3\nop = { op = "read", set = "data", access = "random", size = "4KiB" }\n'
    bundle = _run(f'{HEAD}stop = {{ ops = 10_001, of = "all" }}\n{job}', measure, tmp_path)

    assert _by_interval(bundle, "measured").ops == 10_001


def test_every_file_is_created_once_and_written_whole(measure: Measure, tmp_path: Path) -> None:
    bundle = _run(HEAD + LOADS["whole files, four workers, until none is left"], measure, tmp_path)
    rows = bundle.intervals().group_by("operation").agg(pl.col("ops", "bytes").sum()).sort("operation")

    assert rows.rows() == [("close", 2000, 0), ("create", 2000, 0), ("write", 2000, 2000 * 4 * KIB)]


def _run(load: str, measure: Measure, tmp_path: Path) -> RunBundle:
    directory = tmp_path / "data"
    directory.mkdir()
    document: dict[str, Any] = measure(load, directory, "--no-report")
    bundle = RunBundle.open(Path(document["run"]["bundle"]))
    assert bundle.is_sealed
    return bundle


def _finished(bundle: RunBundle) -> PhaseFinished:
    (finished,) = (event for event in bundle.events() if isinstance(event, PhaseFinished))
    return finished


def _by_interval(bundle: RunBundle, job: str) -> Totals:
    rows = bundle.intervals().filter(job=job)
    counted = bundle.histograms().filter(job=job, series="latency")
    ops, errors, size_bytes = (int(rows[name].sum()) for name in ("ops", "errors", "bytes"))
    return Totals(ops=ops, errors=errors, bytes=size_bytes, in_histograms=int(counted["n"].sum()))


def _last_bytes_of_workers(bundle: RunBundle, job: str) -> int:
    return int(bundle.workers().filter(job=job).sort("t_s").group_by("worker").last()["bytes"].sum())
