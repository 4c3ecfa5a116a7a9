"""Does an open loop see what a client would see? A file system that is frozen for a known time is the truth."""

import fcntl
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.analysis.histogram import bucket_middle_ns
from assay.bundle import RunBundle
from assay.events import Arrivals, Hello, Mark, PhaseFinished, Warning  # noqa: A004 - the name of the line
from e2e.command import Measure
from e2e.processes import events_of, running
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.host import wait_until

pytestmark = [pytest.mark.testbed, pytest.mark.quiet]

FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
"""ioctls of linux/fs.h: _IOWR('X', 119, int) and _IOWR('X', 120, int)."""

# Without a CPU at the right time a load adds to what it waits for: it goes first.
FIRST = ("nice", "-n", "-20")

# A busy machine adds to it all the same: the first of so many runs that it left alone.
RUNS = 3

RATE = 1000
SECONDS = 6
FREEZE_S = 1.2

LOAD = """
name = "open-loop-through-a-freeze"
sample_interval = "500ms"
reserve = "16MiB"
[[file_set]]
name = "data"
files = 1
size = "64MiB"
[[phase]]
name = "write"
title = "4 KiB random write, 1000 a second"
before = "sync"
seconds = "{seconds}s"
[[phase.job]]
backend = "{backend}"
queue_depth = {depth}
direct = "{direct}"
arrival = {{ kind = "open", rate_per_s = {rate}, spacing = "{spacing}" }}
op = {{ op = "write", set = "data", access = "random", size = "4KiB" }}
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """An ext4 in memory."""
    with tmpfs(300 * MIB) as memory, loop_device(256 * MIB, backing=memory) as device, filesystem(device) as made:
        yield made


@pytest.mark.held
@pytest.mark.parametrize(
    ("how", "spacing"),
    [
        ({"backend": "psync", "depth": 1, "direct": "off"}, "uniform"),
        ({"backend": "psync", "depth": 1, "direct": "on"}, "poisson"),
        ({"backend": "io_uring", "depth": 8, "direct": "on"}, "uniform"),
        ({"backend": "io_uring", "depth": 8, "direct": "on"}, "poisson"),
    ],
    ids=["depth-1-buffered", "depth-1-direct", "depth-8-direct", "depth-8-direct-poisson"],
)
def test_response_times_through_a_freeze_are_the_arithmetic_truth(
    how: dict[str, object], spacing: str, measure: Measure, directory: Path
) -> None:
    load = LOAD.format(seconds=SECONDS, rate=RATE, spacing=spacing, **how)
    for _ in range(RUNS):
        with ThreadPoolExecutor(1) as pool:
            started = pool.submit(measure, load, directory, prefix=FIRST)
            _wait_for_the_phase(measure.assay.runs, started)
            time.sleep(2.0)
            frozen_s = _freeze(directory, FREEZE_S)
            document = started.result()
        bundle = RunBundle.open(Path(document["run"]["bundle"]))
        if _percentile_s(bundle, "response", Fraction(999, 1000)) <= 1.1 * frozen_s:
            break

    (result,) = document["results"]
    arrivals = _arrivals(bundle)
    assert result["errors"] == 0
    # Poisson: four standard deviations of a count of 6,000.
    spread = 0 if spacing == "uniform" else 4 * (RATE * SECONDS) ** 0.5
    assert arrivals.scheduled == pytest.approx(RATE * SECONDS, abs=spread + 1)
    # Arrivals come evenly, those during the freeze wait for its end: x of them wait longer than frozen - x / rate.
    for quantile in (Fraction(99, 100), Fraction(999, 1000)):
        truth_s = frozen_s - float(1 - quantile) * SECONDS
        assert _percentile_s(bundle, "response", quantile) == pytest.approx(truth_s, rel=0.1)
    # Only what was in flight when the freeze began waited after its issue.
    assert _percentile_s(bundle, "latency", Fraction(99, 100)) < 0.1 * frozen_s
    assert arrivals.missed >= 0.9 * frozen_s * RATE / (1 if spacing == "uniform" else 2)
    (worker,) = _finished(bundle).workers
    assert arrivals.scheduled - arrivals.unissued == worker.started


@pytest.mark.held
def test_a_stall_is_said_while_it_lasts_and_marked_when_it_is_over(measure: Measure, directory: Path) -> None:
    load = LOAD.format(seconds=60, backend="psync", depth=1, direct="off", rate=RATE, spacing="uniform")
    runs = measure.folder / "runs"
    with running("run", _load_file(measure.folder, load), directory, "--no-report", folder=measure.folder) as run:
        run.wait_until_measured()
        with _frozen(directory) as frozen:
            wait_until(lambda: any(event.get("id") == "stalled" for event in events_of(runs)), "word of the stall")
            time.sleep(0.5)
        wait_until(lambda: any(event["event"] == "mark" for event in events_of(runs)), "word of its end")
        run.stop()
        assert run.exit_code() == 130

    (bundle,) = (RunBundle.open(folder) for folder in runs.iterdir() if folder.is_dir())
    happened = bundle.events()
    (hello,) = [event for event in happened if isinstance(event, Hello)]
    frozen_s = [at_s - hello.clock.monotonic_at_zero_ns / 1e9 for at_s in frozen]
    (stalled,) = [event for event in happened if isinstance(event, Warning) and event.id == "stalled"]
    (over,) = [event for event in happened if isinstance(event, Mark) and event.source == "detector"]
    assert "worker 0 in 'write' since" in stalled.text
    began_s = float(stalled.text.rsplit("since ", 1)[1].removesuffix(" s"))
    # Noticed after 1 s, while it lasts: it began when the file system froze, within the 1 ms between two arrivals.
    assert began_s + 1.0 <= stalled.t_ns / 1e9 < frozen_s[1] <= over.t_ns / 1e9
    assert began_s == pytest.approx(frozen_s[0], abs=0.5)


@pytest.mark.held
def test_a_phase_frozen_over_its_end_ends_after_its_last_operation(measure: Measure, directory: Path) -> None:
    seconds = 5
    load = LOAD.format(seconds=seconds, backend="psync", depth=1, direct="off", rate=RATE, spacing="uniform")
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(measure, load, directory)
        _wait_for_the_phase(measure.assay.runs, started)
        _freeze(directory, seconds + 0.5)
        document = started.result()

    bundle = RunBundle.open(Path(document["run"]["bundle"]))
    finished = _finished(bundle)
    (worker,) = finished.workers
    arrivals = _arrivals(bundle)
    assert worker.last_op_ns is not None
    assert worker.last_op_ns - finished.start_ns > seconds * 1e9
    # What had arrived while it was frozen never had its turn, and is counted.
    assert arrivals.scheduled == pytest.approx(seconds * RATE, abs=1)
    assert arrivals.scheduled - arrivals.unissued == worker.started
    assert ("late-arrivals", "warning") in {
        (each["id"], each["severity"]) for each in document["results"][0]["findings"]
    }


def test_waiting_for_arrivals_takes_no_cpu(measure: Measure, directory: Path) -> None:
    on_cpu = {}
    for rate in (50, 1000):
        load = LOAD.format(seconds=3, backend="psync", depth=1, direct="off", rate=rate, spacing="uniform")
        document = measure(load, directory)
        (result,) = document["results"]
        on_cpu[rate] = result["time_budget"]["on_cpu"]
        arrivals = _arrivals(RunBundle.open(Path(document["run"]["bundle"])))
        assert arrivals.scheduled == pytest.approx(3 * rate, abs=1)
        assert result["ops"] == arrivals.scheduled - arrivals.unissued

    # It goes by the writes: 0.01 to 0.04 for a thousand a second. A loop that spins takes a CPU at any rate.
    assert on_cpu[50] < 0.5 * on_cpu[1000]


@pytest.mark.held
@pytest.mark.parametrize("limit", ["ops_per_s = 500", 'bytes_per_s = "2000KiB"'])
def test_a_limited_rate_is_not_passed(limit: str, measure: Measure, directory: Path) -> None:
    closed = LOAD.replace("arrival = {{", "# {{") + f"limit = {{{{ {limit} }}}}\nworkers = 2\n"
    load = closed.format(seconds=3, backend="psync", depth=1, direct="off", rate=0, spacing="uniform")

    for _ in range(RUNS):
        free, result = (
            measure(text, directory, prefix=FIRST)["results"][0] for text in (load.replace(limit, ""), load)
        )
        # Above by the 10 ms that each may catch up.
        assert result["iops"] <= 505
        # Below only as far as this machine, as it is now, does not let the workers run.
        least = min(450, 0.5 * free["iops"])
        if result["iops"] >= least:
            break

    assert result["iops"] >= least


def test_processes_move_and_account_for_the_same_bytes_as_threads(measure: Measure, directory: Path) -> None:
    body = LOAD.replace("arrival = {{", "# {{") + 'workers = 3\nas = "process"\nstop = {{ ops = 2000 }}\n'
    load = body.format(seconds=60, backend="psync", depth=1, direct="on", rate=0, spacing="uniform")

    document = measure(load, directory)

    (result,) = document["results"]
    bundle = RunBundle.open(Path(document["run"]["bundle"]))
    assert (result["ops"], result["bytes"], result["errors"]) == (6000, 6000 * 4096, 0)
    host = bundle.host().filter(pl.col("source") == "process")
    written = host.filter(pl.col("name") == "process_write_bytes").sort("t_s")["value"]
    used_ns = host.filter(pl.col("name") == "process_cpu_ns").sort("t_s")["value"]
    workers = (
        RunBundle.open(Path(document["run"]["bundle"])).workers().group_by("worker").agg(pl.col("on_cpu_ns").max())
    )
    assert written[-1] - written[0] == pytest.approx(6000 * 4096, rel=0.01)
    assert used_ns[-1] - used_ns[0] >= 0.8 * sum(workers["on_cpu_ns"].to_list()) > 0


def _wait_for_the_phase(runs: Path, started: Future[dict[str, Any]]) -> None:
    while not any(b'"event":"started"' in stream.read_bytes() for stream in runs.glob("*/events/0.ndjson")):
        if started.done():
            pytest.fail(f"the run has ended before its phase began: {started.result()}")
        time.sleep(0.05)


def _load_file(folder: Path, text: str) -> Path:
    path = folder / "load.toml"
    path.write_text(text)
    return path


@contextmanager
def _frozen(directory: Path) -> Iterator[list[float]]:
    """A frozen file system; when, by time.monotonic(), it was frozen and began to thaw, once it is over."""
    descriptor = os.open(directory, os.O_RDONLY)
    times_s: list[float] = []
    try:
        fcntl.ioctl(descriptor, FIFREEZE, 0)
        times_s.append(time.monotonic())
        try:
            yield times_s
        finally:
            times_s.append(time.monotonic())
            fcntl.ioctl(descriptor, FITHAW, 0)
    finally:
        os.close(descriptor)


def _freeze(directory: Path, seconds: float) -> float:
    """Freeze a file system; how long it was frozen at most, in seconds."""
    begin_s = time.monotonic()
    with _frozen(directory):
        time.sleep(seconds)
    return time.monotonic() - begin_s


def _percentile_s(bundle: RunBundle, series: str, quantile: Fraction) -> float:
    rows = bundle.histograms().filter(series=series).group_by("bucket").agg(pl.col("n").sum()).sort("bucket")
    index, count = (rows[name].to_numpy().astype(np.int64) for name in ("bucket", "n"))
    # Not `percentiles_ns`, which gives nothing for so few samples: this asks for the value of a rank.
    rank = -(-quantile.numerator * int(count.sum()) // quantile.denominator)
    at = int(np.searchsorted(np.cumsum(count), rank))
    return float(bucket_middle_ns(index[at : at + 1])[0]) / 1e9


def _finished(bundle: RunBundle) -> PhaseFinished:
    (finished,) = [event for event in bundle.events() if isinstance(event, PhaseFinished)]
    return finished


def _arrivals(bundle: RunBundle) -> Arrivals:
    (facts,) = _finished(bundle).jobs
    assert facts.arrivals is not None
    return facts.arrivals
