"""Does each way into the kernel do what it says? Held against the device, the file and the kernel's own tracepoint."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.command import Assay, Measure
from e2e.processes import engines_of, features_of, running
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.host import need_root

pytestmark = pytest.mark.testbed

TRACING = Path("/sys/kernel/tracing")

EACH_ONCE = """
name = "one-pass"
[[file_set]]
name = "data"
size = "32MiB"
[[phase]]
name = "read"
title = "each block once"
cache = "cold"
[[phase.job]]
{job}
op = {{ op = "read", set = "data", access = {{ kind = "random", coverage = "each_once" }}, size = "16KiB" }}
"""

WAYS = {
    "psync": 'direct = "on"',
    "io_uring": 'direct = "on"\nbackend = "io_uring"\nqueue_depth = 16',
    "sqpoll": 'direct = "on"\nbackend = { kind = "io_uring", sqpoll = true }\nqueue_depth = 16',
    "aio": 'direct = "on"\nbackend = "aio"\nqueue_depth = 16',
    "mmap": 'advice = "random"\nbackend = "mmap"',
    "stdio": 'advice = "random"\nbackend = "stdio"',
    "getc": 'advice = "random"\nbackend = { kind = "stdio", per_character = true }',
}

APPEND = """
name = "append"
[[file_set]]
name = "log"
size = "4KiB"
keep = true
[[phase]]
name = "append"
title = "append"
[[phase.job]]
workers = 3
{job}
op = {{ op = "write", set = "log", access = "append", size = "1KiB" }}
stop = {{ ops = 500 }}
"""

POLLED = """
name = "polled"
reserve = "1MiB"
[[file_set]]
name = "data"
size = "4MiB"
[[phase]]
name = "read"
seconds = "{seconds}"
[[phase.job]]
{job}
backend = {{ kind = "io_uring", sqpoll = true, sqpoll_cpu = {cpu} }}
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
"""

FLUSHES = """
name = "flushes"
[[file_set]]
name = "data"
size = "1MiB"
[[phase]]
name = "flush"
title = "fdatasync"
[[phase.job]]
backend = "io_uring"
op = { op = "fdatasync", set = "data" }
stop = { ops = 200 }
"""

MISALIGNED = """
name = "misaligned"
[[file_set]]
name = "data"
size = "1MiB"
[[phase]]
name = "read"
title = "sizes that O_DIRECT does not take"
[[phase.job]]
direct = "on"
op = { op = "read", set = "data", access = "random", size = "512B" }
stop = { ops = 10 }
"""


@pytest.fixture
def device() -> Iterator[Path]:
    """A block device in memory, with room for the reserve of a run beside the data."""
    with tmpfs(440 * MIB) as memory, loop_device(400 * MIB, backing=memory) as made:
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_every_way_reads_each_block_from_the_device_once(way: str, measure: Measure, device: Path) -> None:
    with filesystem(device) as directory:
        before = _bytes_read(device)
        result = _only(measure(EACH_ONCE.format(job=WAYS[way]), directory))
        delivered = _bytes_read(device) - before

    assert (result["ops"], result["bytes"]) == (32 * MIB // 16384, 32 * MIB)
    assert delivered == pytest.approx(32 * MIB, rel=0.03)


@pytest.mark.parametrize("job", ["", "append = true", 'backend = "io_uring"', 'backend = "aio"'])
def test_what_several_workers_append_is_all_in_the_file(job: str, measure: Measure, tmp_path: Path) -> None:
    directory = tmp_path / "target"
    directory.mkdir()

    result = _only(measure(APPEND.format(job=job), directory))

    (log,) = (path for path in directory.rglob("*") if path.is_file() and not path.name.startswith("."))
    assert result["bytes"] == 3 * 500 * 1024
    assert log.stat().st_size == 4096 + 3 * 500 * 1024


@pytest.mark.xdist_group("tracefs")
@pytest.mark.parametrize(
    "ring",
    [
        'backend = "io_uring"',
        'backend = "io_uring"\nas = "process"\nworkers = 2',
        'backend = { kind = "io_uring", sqpoll = true }',
    ],
    ids=["threads", "processes", "sqpoll"],
)
def test_flushes_by_io_uring_are_counted_as_work_of_kernel_threads(ring: str, measure: Measure, tmp_path: Path) -> None:
    with _tracefs():
        result = _only(measure(FLUSHES.replace('backend = "io_uring"', ring), tmp_path))

    # The kernel never flushes while it submits (io_uring/sync.c, REQ_F_FORCE_ASYNC): every one goes to io-wq.
    found = [finding["text"] for finding in result["findings"] if finding["id"] == "engine-fallback"]
    (text,) = (text for text in found if "io-wq" in text)
    assert "100 % of the requests went to threads of the kernel" in text


@pytest.mark.parametrize("cpu", sorted(os.sched_getaffinity(0))[:2])
@pytest.mark.parametrize("kind", ["thread", "process"])
def test_polling_threads_of_all_workers_run_on_the_cpu_of_the_plan(kind: str, cpu: int, tmp_path: Path) -> None:
    load, directory = tmp_path / "load.toml", tmp_path / "target"
    directory.mkdir()
    load.write_text(POLLED.format(job=f'as = "{kind}"\nworkers = 2', seconds="1h", cpu=cpu))

    with running("run", load, directory, folder=tmp_path) as run:
        engine = run.engine_of_a_run(tmp_path / "runs")
        pids = [engine] if kind == "thread" else engines_of(engine)
        found = [thread for pid in pids for thread in _polling_threads(pid)]
        run.stop()
        run.exit_code()

    assert found == [(str(cpu), str(cpu))] * 2
    (features,) = features_of(tmp_path / "runs")
    assert features[:2] == ["SQPOLL", f"SQ_AFF to CPU {cpu}"]


def test_a_cpu_that_the_engine_may_not_use_is_refused_before_data_is_laid_out(assay: Assay, tmp_path: Path) -> None:
    load, directory = tmp_path / "load.toml", tmp_path / "target"
    directory.mkdir()
    first = POLLED.format(job="", seconds="1s", cpu=0).replace(", sqpoll_cpu = 0", "")
    later = POLLED.format(job="", seconds="1s", cpu=8191).partition("[[phase]]")[2].replace('"read"', '"later"', 1)
    load.write_text(f"{first}\n[[phase]]{later}")

    done = assay("run", load, directory, check=3)

    assert "sqpoll_cpu 8191 is not a CPU that the engine may run on" in " ".join(done.stderr.split())
    assert not features_of(assay.runs)
    assert list(directory.iterdir()) == []


def test_worker_processes_know_that_no_kernel_thread_worked_for_them(measure: Measure, tmp_path: Path) -> None:
    job = WAYS["io_uring"] + '\nas = "process"\nworkers = 2'

    result = _only(measure(EACH_ONCE.format(job=job).replace('"cold"', '"as_is"'), tmp_path))

    assert "engine-fallback" not in {finding["id"] for finding in result["findings"]}


def test_sizes_that_a_device_does_not_take_past_the_cache_are_refused_in_words(assay: Assay, tmp_path: Path) -> None:
    load = tmp_path / "load.toml"
    load.write_text(MISALIGNED)

    with (
        tmpfs(440 * MIB) as memory,
        loop_device(400 * MIB, backing=memory, sector_bytes=4096) as device,
        filesystem(device) as directory,
    ):
        done = assay("run", load, directory, check=3)

    said = " ".join((done.stdout + done.stderr).split())
    assert "must be multiples of 4096 bytes, and the load's are multiples of 512" in said


@contextmanager
def _tracefs() -> Iterator[None]:
    """The kernel's tracepoints, mounted where the engine looks for them."""
    need_root()
    if (TRACING / "events").exists():
        yield
        return
    if not TRACING.is_dir() or subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=False).returncode:
        pytest.skip("needs a kernel with tracefs")
    try:
        if not os.access(TRACING / "events" / "io_uring" / "io_uring_queue_async_work" / "id", os.R_OK):
            pytest.skip("needs the tracepoints of io_uring")
        yield
    finally:
        subprocess.run(["umount", TRACING], check=True)


def _polling_threads(pid: int) -> list[tuple[str, str]]:
    """Of each thread of the kernel that polls for submissions of a process: CPUs that it may use, and its latest."""
    found = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
        if (task / "comm").read_text().startswith("iou-sqp-"):
            lines = (task / "status").read_text().splitlines()
            (allowed,) = (line.partition(":")[2].strip() for line in lines if line.startswith("Cpus_allowed_list:"))
            # Field 39 of /proc/PID/stat is the CPU that it ran on last; the name, field 2, may have spaces.
            found.append((allowed, (task / "stat").read_text().rpartition(")")[2].split()[36]))
    return found


def _only(document: dict[str, Any]) -> dict[str, Any]:
    (result,) = document["results"]
    assert result["errors"] == 0
    return dict(result)


def _bytes_read(device: Path) -> int:
    # Field 3 of /sys/block/*/stat is sectors read, always of 512 bytes.
    return int(Path(f"/sys/block/{device.name}/stat").read_text().split()[2]) * 512
