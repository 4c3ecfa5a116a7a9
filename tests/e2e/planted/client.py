"""Causes in the client: its CPUs, those who want them too, and a clock."""

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.faults.clocks import LIBRARY, OFFSET, SOURCE, set_ahead
from e2e.planted.case import CLIENT, CONTENDED, MEMORY, SLOW_DEVICE, STORAGE, Case, Expected, Scene
from e2e.planted.loads import CACHED_READ, FLUSHED_WRITES, RANDOM_READ, STREAM, data, only
from e2e.planted.storage import Kind, delayed_disk, file_disk, memory_disk
from e2e.processes import Running
from testbed.cpu_quota import cpu_limit, times_stopped
from testbed.host import command, need_tools
from testbed.neighbours import cpu_hog

_OF_THE_CLIENT = frozenset({"client_cpu", "page_cache", "write_back", "mixed"})


class _CpuTime:
    """CPU time of the programs that were run and have ended, since it was made."""

    def __init__(self) -> None:
        """Begin."""
        self._before_s = self._now_s()

    @property
    def seconds(self) -> float:
        """What they took."""
        return self._now_s() - self._before_s

    @staticmethod
    def _now_s() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime


@contextmanager
def characters(_folder: Path, *, operation: str, workers: int, block: str = "8KiB") -> Iterator[Scene]:
    """A call of the C library for each character."""
    job = (
        f'backend = {{ kind = "stdio", per_character = true }}\nworkers = {workers}\n'
        f'op = {{ op = "{operation}", set = "data", size = "{block}" }}'
    )
    with memory_disk() as disk:
        used = _CpuTime()
        yield Scene(
            directory=disk.directory,
            load=only(job, keys='cache = "warm"' if operation == "read" else ""),
            took=lambda said: used.seconds > 0.5 * said.row["seconds"],
        )


@contextmanager
def pinned_hog(_folder: Path, *, count: int, block: str) -> Iterator[Scene]:
    """Programs that want the one CPU that the worker may use."""
    cpu = max(os.sched_getaffinity(0))
    job = f'cpus = [{cpu}]\nop = {{ op = "read", set = "data", access = "random", size = "{block}" }}'
    with memory_disk() as disk, cpu_hog(cpu, count=count):
        yield Scene(directory=disk.directory, load=only(job, keys='cache = "warm"'))


@contextmanager
def busy_machine(_folder: Path, *, each_cpu: int, workers: int) -> Iterator[Scene]:
    """Programs that want every CPU."""
    with memory_disk() as disk, _hogs(each_cpu):
        yield Scene(directory=disk.directory, load=only(f"workers = {workers}\n{CACHED_READ}", keys='cache = "warm"'))


@contextmanager
def busy_beside_io(folder: Path, *, each_cpu: int, job: str, kind: Kind) -> Iterator[Scene]:
    """Programs that want every CPU, while the load waits for storage and threads of the kernel work for it."""
    with file_disk(folder / "disk", kind) as disk, _hogs(each_cpu):
        yield Scene(directory=disk.directory, load=only(job, sets=data("64MiB")))


@contextmanager
def _hogs(each_cpu: int) -> Iterator[None]:
    with contextlib.ExitStack() as hogs:
        for cpu in sorted(os.sched_getaffinity(0)):
            hogs.enter_context(cpu_hog(cpu, count=each_cpu))
        yield


@contextmanager
def busy_kernel(_folder: Path, *, workers_each_cpu: int, options: str = "") -> Iterator[Scene]:
    """Threads of the kernel that checksum, compress and commit what is written, on the workers' CPUs."""
    workers = workers_each_cpu * len(os.sched_getaffinity(0))
    with memory_disk("btrfs", size_bytes=1 << 30, mount_options=f"noatime{options}") as disk:
        yield Scene(
            directory=disk.directory,
            load=only(f"workers = {workers}\n{FLUSHED_WRITES}", sets=data("128MiB")),
            operation="commit",
            took=lambda said: (said.row["time_budget"]["run_delay"] or 0.0) > 0.12,
        )


@contextmanager
def quota(_folder: Path, *, cpus: float, workers: int = 1) -> Iterator[Scene]:
    """A control group that may use a part of a CPU."""
    with memory_disk() as disk, cpu_limit(cpus) as group:
        yield Scene(
            directory=disk.directory,
            load=only(f"workers = {workers}\n{CACHED_READ}", keys='cache = "warm"'),
            prefix=group.prefix,
            took=lambda said: times_stopped(group) > 3 * said.row["seconds"],
        )


@contextmanager
def crowd(_folder: Path, *, workers_each_cpu: int, block: str) -> Iterator[Scene]:
    """More workers than CPUs, each of which would take one."""
    workers = workers_each_cpu * len(os.sched_getaffinity(0))
    job = f'workers = {workers}\nop = {{ op = "read", set = "data", access = "random", size = "{block}" }}'
    with memory_disk() as disk:
        used = _CpuTime()
        yield Scene(
            directory=disk.directory,
            load=only(job, keys='cache = "warm"'),
            took=lambda said: used.seconds > said.row["seconds"],
        )


@contextmanager
def one_cpu(_folder: Path, *, workers: int, block: str, others: int = 0) -> Iterator[Scene]:
    """Workers that have to share a CPU, while the machine's others are free, or busy with other programs."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a CPU that is free needs a second one")
    cpu = max(os.sched_getaffinity(0))
    job = f'workers = {workers}\ncpus = [{cpu}]\nop = {{ op = "read", set = "data", access = "random", size = "{block}" }}'
    with memory_disk() as disk, cpu_hog(min(os.sched_getaffinity(0)), count=others):
        used = _CpuTime()
        yield Scene(
            directory=disk.directory,
            load=only(job, keys='cache = "warm"'),
            took=lambda said: 0.8 * said.row["seconds"] < used.seconds,
        )


@contextmanager
def starved_deletes(_folder: Path, *, each_cpu: int, workers: int) -> Iterator[Scene]:
    """Files are removed by workers that hardly get a CPU: other programs want every CPU."""
    sets = '[[file_set]]\nname = "data"\nfiles = 8000\nsize = "0"\nexisting_share = 0.5\n'
    job = f'workers = {workers}\nloop = [{{ op = "create", set = "data" }}, {{ op = "unlink", set = "data" }}]'
    with memory_disk() as disk, _hogs(each_cpu):
        yield Scene(
            directory=disk.directory,
            load=only(job, sets=sets),
            operation="*",
            took=lambda said: (said.row["time_budget"]["run_delay"] or 0.0) > 0.6,
        )


@contextmanager
def paused(_folder: Path, *, pause_s: float, depth: int = 1) -> Iterator[Scene]:
    """The engine is stopped for a while."""

    def stop_for_a_while(run: Running) -> None:
        engine = run.engine_of_a_run(run.said_path.parent / "runs")
        run.wait_until_measured(15)
        os.kill(engine, signal.SIGSTOP)
        time.sleep(pause_s)
        os.kill(engine, signal.SIGCONT)

    with delayed_disk(2) as disk:
        job = f"workers = {depth}\n{RANDOM_READ}"
        yield Scene(
            directory=disk.directory,
            load=only(job, seconds=4),
            meanwhile=stop_for_a_while,
            # With the pause in it, it is a third less at least.
            is_true=lambda said: bool(300 < said.row["iops"] / depth < 500),
        )


@contextmanager
def stepped_clock(folder: Path, *, ahead_s: int) -> Iterator[Scene]:
    """The wall clock is stepped: that of the programs, by a library in front of the C library; the machine's stays."""
    need_tools("gcc")
    command("gcc", "-shared", "-fPIC", "-O1", "-o", folder / LIBRARY, SOURCE, "-ldl")
    set_ahead(folder, 0)

    def step(run: Running) -> None:
        run.wait_until_measured(8)
        set_ahead(folder, ahead_s)

    with delayed_disk(2) as disk:
        yield Scene(
            directory=disk.directory,
            load=only(RANDOM_READ),
            env={"LD_PRELOAD": str(folder / LIBRARY), "ASSAY_TEST_OFFSET": str(folder / OFFSET)},
            meanwhile=step,
            is_true=lambda said: bool(0 < said.row["seconds"] < 4.5 and 100 < said.row["iops"] < 500),
        )


@contextmanager
def handed_over(_folder: Path, *, job: str, operation: str = "", keys: str = "") -> Iterator[Scene]:
    """Requests that the kernel hands to threads of its own instead of answering them."""
    with memory_disk() as disk:
        yield Scene(
            directory=disk.directory,
            load=only(f'backend = "io_uring"\n{job}', keys=keys, sets=data("16MiB")),
            operation=operation,
        )


CASES = (
    Case(
        cause="a call of the C library for each character",
        is_in_suite=True,
        plant=characters,
        parameters=(
            {"operation": "write", "workers": 1},
            {"operation": "read", "workers": 1},
            {"operation": "write", "workers": 2, "block": "64KiB"},
        ),
        expected=Expected(limiter=CLIENT, measures=_OF_THE_CLIENT),
    ),
    Case(
        cause="programs on the worker's only CPU",
        is_in_suite=True,
        plant=pinned_hog,
        parameters=({"count": 1, "block": "4KiB"}, {"count": 3, "block": "4KiB"}, {"count": 1, "block": "64KiB"}),
        expected=Expected(
            no_lie=CONTENDED, found=frozenset({"cpu-contention"}), found_from="warning", trust=frozenset({"weak", "no"})
        ),
        takes_cpus=True,
    ),
    Case(
        cause="programs on every CPU",
        plant=busy_machine,
        parameters=({"each_cpu": 1, "workers": 1}, {"each_cpu": 2, "workers": 2}, {"each_cpu": 3, "workers": 1}),
        expected=Expected(
            no_lie=CONTENDED, found=frozenset({"cpu-contention"}), found_from="warning", trust=frozenset({"weak", "no"})
        ),
        takes_cpus=True,
    ),
    Case(
        cause="threads of the kernel on the workers' CPUs",
        plant=busy_kernel,
        parameters=(
            {"workers_each_cpu": 2},
            {"workers_each_cpu": 3},
            {"workers_each_cpu": 4, "options": ",compress-force=zstd:1"},
        ),
        expected=Expected(
            no_lie=CONTENDED,
            found=frozenset({"own-cpu-wait"}),
            found_from="weak",
            found_text="Threads of the kernel had the CPUs",
            trust=frozenset({"weak", "no"}),
        ),
        takes_cpus=True,
    ),
    Case(
        cause="programs on every CPU, a load that waits for its device",
        plant=busy_beside_io,
        parameters=(
            {"each_cpu": 1, "job": RANDOM_READ, "kind": "ext4"},
            {"each_cpu": 2, "job": STREAM, "kind": "btrfs"},
            {"each_cpu": 2, "job": RANDOM_READ, "kind": "xfs"},
        ),
        expected=Expected(
            no_lie=SLOW_DEVICE | CONTENDED,
            found=frozenset({"cpu-contention"}),
            found_from="weak",
            trust=frozenset({"weak", "no"}),
        ),
        takes_cpus=True,
    ),
    Case(
        cause="a share of a CPU (control group)",
        is_in_suite=True,
        plant=quota,
        parameters=({"cpus": 0.3}, {"cpus": 0.15}, {"cpus": 0.6}, {"cpus": 0.8, "workers": 2}),
        expected=Expected(limiter=frozenset({"throttle_cpu"})),
    ),
    Case(
        cause="more workers than CPUs",
        is_in_suite=True,
        plant=crowd,
        parameters=(
            {"workers_each_cpu": 4, "block": "4KiB"},
            {"workers_each_cpu": 2, "block": "4KiB"},
            {"workers_each_cpu": 8, "block": "64KiB"},
        ),
        expected=Expected(
            limiter=frozenset({"client_cpu_all"}), found=frozenset({"own-cpu-wait"}), found_text="the load kept"
        ),
    ),
    Case(
        cause="workers that share one of several CPUs",
        plant=one_cpu,
        parameters=(
            {"workers": 2, "block": "4KiB"},
            {"workers": 3, "block": "4KiB"},
            {"workers": 2, "block": "64KiB"},
            {"workers": 2, "block": "4KiB", "others": 1},
        ),
        expected=Expected(
            limiter=frozenset({"client_cpu_all"}), found=frozenset({"own-cpu-wait"}), found_text="the load kept"
        ),
        takes_cpus=True,
    ),
    Case(
        cause="deletes that wait for a CPU",
        is_in_suite=True,
        plant=starved_deletes,
        parameters=({"each_cpu": 3, "workers": 2}, {"each_cpu": 4, "workers": 1}, {"each_cpu": 6, "workers": 1}),
        expected=Expected(
            limiter=frozenset({"cpu_contention"}),
            found=frozenset({"cpu-contention"}),
            found_from="warning",
            trust=frozenset({"weak", "no"}),
        ),
        takes_cpus=True,
    ),
    Case(
        cause="a client that stood still",
        plant=paused,
        parameters=({"pause_s": 0.9}, {"pause_s": 2.5}, {"pause_s": 1.6, "depth": 3}),
        expected=Expected(found=frozenset({"client-paused"})),
    ),
    Case(
        cause="a wall clock that was stepped",
        plant=stepped_clock,
        parameters=({"ahead_s": -3600}, {"ahead_s": 3600}, {"ahead_s": 30}),
        expected=Expected(
            found=frozenset({"clock-stepped"}), limiter=frozenset({"operation_latency"}), measures=STORAGE
        ),
    ),
    Case(
        cause="requests of io_uring that the kernel's threads carry out",
        plant=handed_over,
        parameters=(
            {"job": 'op = { op = "fsync", set = "data" }'},
            {"job": 'op = { op = "write", set = "data", access = "random", size = "4KiB" }'},
            {"job": 'queue_depth = 8\nop = { op = "fdatasync", set = "data" }'},
        ),
        expected=Expected(
            found=frozenset({"engine-fallback"}),
            found_text="threads of the kernel (io-wq)",
            no_lie_measures=MEMORY | _OF_THE_CLIENT | STORAGE,
        ),
    ),
)
