"""Does Assay report what a device did? The device keeps a log of its own, by the same clock: that is the truth."""

import json
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from assay.bundle import RunBundle
from assay.events import ErrorCount, Hello, Mark, PhaseFinished, Started, Warning  # noqa: A004 - the name of the line
from e2e.command import Measure
from e2e.processes import running
from testbed.devices import MIB, filesystem
from testbed.host import wait_until
from testbed.nbd import nbd_delay_device, nbd_rate_device
from testbed.truth import Extent, Request, TruthDisk, extents_of, truth_disk

pytestmark = [pytest.mark.testbed, pytest.mark.quiet, pytest.mark.held]

# Without a CPU at the right time a load adds to what the device takes: it goes first.
FIRST = ("nice", "-n", "-20")

# A busy machine adds to it all the same: the first of so many runs that it left alone.
RUNS = 3

# A block of the file system is what an operation asks for: none is cut in two where extents meet.
BLOCKS = ("-b", "4096")

LOAD = """
name = "known-device"
reserve = "16MiB"
sample_interval = "500ms"
[[file_set]]
name = "data"
files = 1
size = "{size}"
keep = true
reuse = "if_matches"
"""

HARD_DISK = """
[[phase]]
name = "random"
title = "4 KiB random read, direct, depth 1"
seconds = "6s"
[[phase.job]]
direct = "on"
op = { op = "read", set = "data", access = "random", size = "4KiB" }

[[phase]]
name = "sequential"
title = "1 MiB sequential read, direct"
seconds = "3s"
[[phase.job]]
direct = "on"
op = { op = "read", set = "data", access = "sequential", size = "1MiB" }
"""

DURABLE = """
[[phase]]
name = "commit"
title = "4 KiB random overwrite, then fdatasync"
seconds = "5s"
[[phase.job]]
[[phase.job.loop]]
group = "commit"
actions = [
    { op = "write", set = "data", access = "random", size = "4KiB" },
    { op = "fdatasync", set = "data" },
]
"""

MIXED = """
[[phase]]
name = "mixed"
title = "4 KiB random reads and writes, direct"
seconds = "60s"
[[phase.job]]
backend = "{backend}"
queue_depth = {depth}
direct = "on"
loop = [{{ choice = [
    {{ weight = 2, actions = [{{ op = "read", set = "data", access = "random", size = "4KiB" }}] }},
    {{ weight = 1, actions = [{{ op = "write", set = "data", access = "random", size = "4KiB" }}] }},
] }}]
stop = {{ ops = 2000 }}
"""

TWO_WAYS_TO_WAIT = """
[[phase]]
name = "read"
title = "4 KiB random read, direct"
seconds = "10s"
[[phase.job]]
name = "one"
direct = "on"
op = { op = "read", set = "data", access = "random", size = "4KiB" }
[[phase.job]]
name = "queue"
backend = "io_uring"
queue_depth = 4
direct = "on"
op = { op = "read", set = "data", access = "random", size = "4KiB" }
"""

AT_DEPTH = """
[[phase]]
name = "read-{depth}"
title = "4 KiB random read, direct, depth {depth}"
seconds = "2s"
[[phase.job]]
backend = "io_uring"
queue_depth = {depth}
direct = "on"
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
"""

STREAM_OUT = """
[[phase]]
name = "write"
title = "256 KiB sequential write, direct"
seconds = "4s"
[[phase.job]]
direct = "on"
op = { op = "write", set = "data", access = "sequential", size = "256KiB" }
"""


class Truth(NamedTuple):
    """What the device did in the window of a result."""

    requests: list[Request]
    seconds: float

    @property
    def mean_s(self) -> float:
        """What the device took for one."""
        return statistics.fmean(request.seconds for request in self.requests)

    @property
    def median_s(self) -> float:
        """What half of them took at most."""
        return statistics.median(request.seconds for request in self.requests)

    @property
    def bytes_per_s(self) -> float:
        """What it moved."""
        return sum(request.length_bytes for request in self.requests) / self.seconds


def test_a_hard_disk_is_reported_as_its_own_log_has_it(measure: Measure) -> None:
    with truth_disk(256 * MIB, hdd=True) as disk, filesystem(disk.device, mkfs_options=BLOCKS) as directory:
        for _ in range(RUNS):
            document = measure(LOAD.format(size="64MiB") + HARD_DISK, directory, "--no-report", prefix=FIRST)
            extents = _extents_below(directory)
            random, sequential = document["results"]
            sought = _truth(disk, extents, document, random)
            streamed = _truth(disk, extents, document, sequential)
            way_s = disk.way_there_s()
            if random["latency_ns"]["mean"] / 1e9 <= _with_the_way_there(sought.mean_s, way_s):
                break

    assert (random["errors"], sequential["errors"]) == (0, 0)
    # Each operation is one request of the device, so that the two speak of the same things.
    assert random["ops"] == len(sought.requests)
    assert random["iops"] == pytest.approx(len(sought.requests) / sought.seconds, rel=0.001)
    # 4.2 ms for half a turn in the mean, and seeks in a quarter of the disk.
    assert sought.mean_s > 6e-3
    for name, truth_s in (("mean", sought.mean_s), ("p50", sought.median_s)):
        reported_s = random["latency_ns"][name] / 1e9
        assert truth_s <= reported_s <= _with_the_way_there(truth_s, way_s), name
    # One request may be at work where the window begins, and one where it ends.
    assert sequential["throughput_bytes_per_s"] == pytest.approx(streamed.bytes_per_s, abs=2 * MIB / streamed.seconds)
    # The disk's data comes from nbdkit's memory: to this machine it is storage all the same.
    assert (random["cache"]["verdict"], sequential["cache"]["verdict"]) == ("storage", "storage")
    # Where extents meet it seeks; who comes too late for what was read ahead waits for a part of it again.
    assert 10 * sought.bytes_per_s < streamed.bytes_per_s <= 150e6


def test_a_flush_of_40_ms_is_the_time_of_an_fdatasync(measure: Measure) -> None:
    with truth_disk(128 * MIB, flush_ms=40) as disk, filesystem(disk.device, mkfs_options=BLOCKS) as directory:
        for _ in range(RUNS):
            document = measure(LOAD.format(size="16MiB") + DURABLE, directory, "--no-report", prefix=FIRST)
            results = {result["operation"]: result for result in document["results"]}
            begin_ns, end_ns = _window_ns(document, results["fdatasync"])
            flushes = [request for request in disk.log() if request.kind == "F" and begin_ns < request.end_ns <= end_ns]
            flush_s = statistics.median(request.seconds for request in flushes)
            p50_s = results["fdatasync"]["latency_ns"]["p50"] / 1e9
            # It sends the data's write before the flush: two requests go there.
            most_s = max(1.05 * flush_s, flush_s + 4 * disk.way_there_s())
            if p50_s <= most_s:
                break

    durable, written = results["fdatasync"], results["write"]
    assert 0.040 <= flush_s <= p50_s <= most_s
    # One flush each; the commits of the journal in these seconds, by fdatasync or by the clock, have two more.
    assert durable["ops"] <= len(flushes) <= durable["ops"] + 10
    # What waits for the device is the flush: a buffered write is a copy.
    assert written["latency_ns"]["p50"] < 0.1 * durable["latency_ns"]["p50"]
    assert results["commit"]["iops"] == pytest.approx(durable["ops"] / durable["seconds"], abs=1 / durable["seconds"])


@pytest.mark.parametrize(("backend", "depth"), [("psync", 1), ("io_uring", 4)])
def test_every_error_of_the_device_is_counted_once(backend: str, depth: int, measure: Measure) -> None:
    load = LOAD.format(size="64MiB") + MIXED.format(backend=backend, depth=depth)
    with truth_disk(128 * MIB, fault_share=0.1) as disk, filesystem(disk.device, mkfs_options=BLOCKS) as directory:
        healthy = measure(load, directory, "--no-report", prefix=FIRST)
        extents = _extents_below(directory)
        disk.fail(extents)
        document = measure(load, directory, "--no-report", prefix=FIRST)
        results = {result["operation"]: result for result in document["results"]}
        begin_ns, end_ns = _phase_ns(document)
        requests = disk.log_of(extents, begin_ns, end_ns)

    assert sum(result["errors"] for result in healthy["results"]) == 0
    (finished,) = [event for event in _events(document) if isinstance(event, PhaseFinished)]
    for operation, kind in (("read", "R"), ("write", "W")):
        result = results[operation]
        # In blocks: what the kernel put together in one request fails together.
        blocks = Counter[int]()
        for request in requests:
            blocks[request.errno] += request.length_bytes // 4096 if request.kind == kind else 0
        assert result["errors"] == blocks[5] > 0
        assert result["ops"] == blocks[0]
        assert result["bytes"] == blocks[0] * 4096
        assert ErrorCount(job="mixed", operation=operation, errno=5, count=blocks[5]) in finished.errors
        (said,) = [finding for finding in result["findings"] if finding["id"] == "errors"]
        assert f"{blocks[5]} of {blocks[5] + blocks[0]} operations" in said["text"]
        assert f"EIO {blocks[5]} times" in said["text"]
        assert not result["trusted"]
    assert document["run"]["exit_code"] == 1
    assert results["*"]["errors"] == results["read"]["errors"] + results["write"]["errors"]
    assert 0.05 < results["*"]["errors"] / 2000 < 0.2


def test_a_stall_of_6_s_is_seen_while_it_lasts_and_has_its_length(tmp_path: Path) -> None:
    load = tmp_path / "load.toml"
    load.write_text(LOAD.format(size="64MiB") + TWO_WAYS_TO_WAIT)
    with truth_disk(128 * MIB, stall_s=6) as disk, filesystem(disk.device, mkfs_options=BLOCKS) as directory:
        with running("run", load, directory, "--json", "--no-report", folder=tmp_path) as run:
            run.wait_until_measured()
            disk.stall()
            asked_s = time.monotonic()
            run.wait_for("no answer from the storage")
            told_s = time.monotonic()
            wait_until(lambda: "the stall is over" in run.said(), "the end of the stall")
            told_over_s = time.monotonic()
            assert run.exit_code() in {0, 1}
        document = json.loads((tmp_path / "stdout").read_text())
        (hung,) = [request for request in disk.log() if request.seconds > 1 and request.end_ns > asked_s * 1e9]

    assert hung.seconds >= 6.0
    # Told while it lasted, and that it was over not before it was.
    assert hung.begin_ns / 1e9 + 1.0 <= told_s < hung.end_ns / 1e9 <= told_over_s
    zero_ns = _zero_ns(document)
    happened = _events(document)
    begun = [event for event in happened if isinstance(event, Warning) and event.id == "stalled"]
    over = [event for event in happened if isinstance(event, Mark) and event.source == "detector"]
    assert {event.text[: event.text.index(":")] for event in begun} == {"job 'one'", "job 'queue'"}
    assert {event.label[: event.label.index(":")] for event in over} == {"job 'one'", "job 'queue'"}
    for event in begun:
        since_s = float(event.text.rsplit("since ", 1)[1].removesuffix(" s"))
        # What one job asked for may have had to wait for the other's request before that hung.
        assert zero_ns / 1e9 + since_s == pytest.approx(hung.begin_ns / 1e9, abs=0.1 * hung.seconds)
        assert 1.0 <= event.t_ns / 1e9 - since_s < hung.seconds
    for mark in over:
        length_s = float(mark.label.rsplit("about ", 1)[1].removesuffix(" s"))
        assert length_s == pytest.approx(hung.seconds, rel=0.2)
    for result in document["results"]:
        assert hung.seconds <= result["latency_ns"]["max"] / 1e9 <= 1.1 * hung.seconds
    assert _idle_s(document) == pytest.approx(hung.seconds, rel=0.2)


def test_at_a_depth_a_delayed_device_answers_as_many_at_once(measure: Measure) -> None:
    load = LOAD.format(size="16MiB") + "".join(AT_DEPTH.format(depth=depth) for depth in (1, 2, 4))
    with nbd_delay_device(10, 128 * MIB) as device, filesystem(device, mkfs_options=BLOCKS) as directory:
        for _ in range(RUNS):
            results = measure(load, directory, "--no-report", prefix=FIRST)["results"]
            one, two, _ = (result["latency_ns"]["p50"] for result in results)
            if two <= 1.2 * one:
                break

    # Two at once take no longer than one; of four, nbdfuse lets some wait, how many depends on the machine.
    assert two <= 1.2 * one
    for depth, result in zip((1, 2, 4), results, strict=True):
        assert result["errors"] == 0
        assert result["latency_ns"]["p50"] >= 10e6
        assert result["iops"] <= depth / 10e-3
        # Little's law: what is in flight is the rate times the time that each takes.
        assert result["iops"] * result["latency_ns"]["mean"] / 1e9 == pytest.approx(depth, rel=0.03)
        # Every read came from the device, whatever the disks of this machine did meanwhile.
        assert result["cache"]["hit_ratio"] == pytest.approx(0, abs=0.01)


def test_a_device_held_to_a_rate_of_writes_is_reported_as_such(measure: Measure) -> None:
    with nbd_rate_device(50 * MIB, 128 * MIB) as device, filesystem(device, mkfs_options=BLOCKS) as directory:
        for _ in range(RUNS):
            load = LOAD.format(size="16MiB") + STREAM_OUT
            (result,) = measure(load, directory, "--no-report", prefix=FIRST)["results"]
            if result["throughput_bytes_per_s"] >= 0.98 * 50 * MIB:
                break

    assert result["errors"] == 0
    assert result["throughput_bytes_per_s"] == pytest.approx(50 * MIB, rel=0.02)
    assert result["device_bytes"] == pytest.approx(result["bytes"], rel=0.02)


def _idle_s(document: dict[str, Any]) -> float:
    """Length of the intervals in which nothing was done."""
    intervals = RunBundle.open(Path(document["run"]["bundle"])).intervals()
    by_time = intervals.group_by("t_s").agg(pl.col("ops").sum(), pl.col("dt_s").first())
    return float(by_time.filter(ops=0)["dt_s"].sum())


def _events(document: dict[str, Any]) -> list[Any]:
    return list(RunBundle.open(Path(document["run"]["bundle"])).events())


def _zero_ns(document: dict[str, Any]) -> int:
    """CLOCK_MONOTONIC at the zero of a run's own times."""
    (hello,) = [event for event in _events(document) if isinstance(event, Hello)]
    return hello.clock.monotonic_at_zero_ns


def _phase_ns(document: dict[str, Any]) -> tuple[int, int]:
    """Begin and end of the only phase, by CLOCK_MONOTONIC."""
    zero_ns = _zero_ns(document)
    (started,) = [event for event in _events(document) if isinstance(event, Started)]
    (finished,) = [event for event in _events(document) if isinstance(event, PhaseFinished)]
    return zero_ns + started.start_ns, zero_ns + finished.t_ns


def _window_ns(document: dict[str, Any], result: dict[str, Any]) -> tuple[int, int]:
    """Begin and end of the window of a result, by CLOCK_MONOTONIC."""
    phases = [event for event in _events(document) if isinstance(event, Started)]
    names = list(dict.fromkeys(each["phase"] for each in document["results"]))
    start_ns = _zero_ns(document) + phases[names.index(result["phase"])].start_ns
    begin_s, end_s = result["window_s"]
    return start_ns + round(begin_s * 1e9), start_ns + round(end_s * 1e9)


def _truth(disk: TruthDisk, extents: Sequence[Extent], document: dict[str, Any], result: dict[str, Any]) -> Truth:
    begin_ns, end_ns = _window_ns(document, result)
    return Truth(disk.log_of(extents, begin_ns, end_ns), (end_ns - begin_ns) / 1e9)


def _with_the_way_there(device_s: float, way_s: float) -> float:
    """What a request takes at most that the device works on for so long: nbdkit, nbdfuse and a loop come on top."""
    return device_s + max(1.5e-3, 0.15 * device_s, 3 * way_s)


def _extents_below(directory: Path) -> list[Extent]:
    """Where the one large file below a directory is on its device."""
    return extents_of(max(directory.rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0))
