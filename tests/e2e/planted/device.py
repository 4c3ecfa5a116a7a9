"""Causes in the device: how long it takes, how much it takes at once, and what changes while it works."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.planted.case import SLOW_DEVICE, STORAGE, Case, Expected, Said, Scene
from e2e.planted.loads import (
    COMMIT,
    DSYNC_WRITE,
    RANDOM_READ,
    STREAM,
    STREAM_OUT,
    WRITE_AND_FLUSH,
    Phase,
    at_depth,
    data,
    load,
    only,
)
from e2e.planted.storage import BLOCKS, delayed_disk, true_disk
from e2e.processes import Running
from testbed.devices import MIB, filesystem
from testbed.nbd import nbd_rate_device
from testbed.truth import Request, extents_of

_QUEUED = frozenset({"device_saturated", "device_throughput"})


@contextmanager
def delay(_folder: Path, *, read_ms: int, workers: int = 1) -> Iterator[Scene]:
    """Reads take so long, however many there are at once."""

    def took(said: Said) -> bool:
        return bool(said.row["latency_ns"]["p50"] >= read_ms * 1e6)

    with delayed_disk(read_ms) as disk:
        yield Scene(directory=disk.directory, load=only(f"workers = {workers}\n{RANDOM_READ}"), took=took)


@contextmanager
def hard_disk(_folder: Path, *, depth: int, size: str = "16MiB") -> Iterator[Scene]:
    """Seeks and turns, one request at a time; a phase with one in flight goes before one with several."""
    shallow = [Phase(name="one", job=RANDOM_READ)] if depth > 1 else []
    planted = Phase(name="planted", job=at_depth(depth))
    with true_disk(hdd=True, cache=True) as disk:
        begun = _Begun()
        yield Scene(
            directory=disk.directory,
            load=load(*shallow, planted, sets=data(size)),
            took=lambda _said: _mean_s(_since(disk.truth.log(), begun, "R")) > 4e-3,
        )


@contextmanager
def full_device(_folder: Path, *, per_s: int, depth: int) -> Iterator[Scene]:
    """So many requests a second, and no more."""

    def took(said: Said) -> bool:
        return bool(0.8 <= said.row["iops"] / per_s <= 1.02)

    phases = (Phase(name="one", job=RANDOM_READ, seconds=2), Phase(name="planted", job=at_depth(depth)))
    with true_disk(most_per_s=per_s) as disk:
        yield Scene(directory=disk.directory, load=load(*phases, sets=data("8MiB")), took=took)


@contextmanager
def one_depth(_folder: Path, *, per_s: int, depth: int) -> Iterator[Scene]:
    """The same, asked with one depth alone: whether less or more in flight would change the rate is not known."""

    def took(said: Said) -> bool:
        return bool(0.8 <= said.row["iops"] / per_s <= 1.02)

    def names_it(said: Said) -> bool:
        return not said.remedy.startswith(("Keep more", "Halve"))

    with true_disk(most_per_s=per_s) as disk:
        job = at_depth(depth)
        yield Scene(directory=disk.directory, load=only(job, sets=data("8MiB")), took=took, names_it=names_it)


@contextmanager
def dying(_folder: Path, *, per_s: int, share: float) -> Iterator[Scene]:
    """From some time on a share of the reads fails; the load goes on."""
    with true_disk(most_per_s=per_s, fault_share=share) as disk:

        def fail(run: Running) -> None:
            run.wait_until_measured(10)
            files = (path for path in disk.directory.rglob("*") if path.is_file())
            disk.truth.fail(extents_of(max(files, key=lambda path: path.stat().st_size)))

        yield Scene(
            directory=disk.directory,
            load=only(RANDOM_READ, sets=data("8MiB")),
            meanwhile=fail,
            took=lambda said: said.row["errors"] > 0.1 * said.row["ops"],
            names_it=lambda said: "counts-disagree" not in said.findings,
        )


@contextmanager
def two_times(_folder: Path, *, fast_ms: int, slow_ms: int, slow_share: float) -> Iterator[Scene]:
    """A share of the reads takes long, and the others do not."""
    with true_disk(fast_ms=fast_ms, slow_ms=slow_ms, slow_share=slow_share) as disk:
        begun = _Begun()

        def took(_said: Said) -> bool:
            reads = _since(disk.truth.log(), begun, "R")
            slow = sum(request.seconds > slow_ms / 1e3 for request in reads) / max(1, len(reads))
            return abs(slow - slow_share) < 0.05

        def names_it(said: Said) -> bool:
            is_wide = any(reason["text"].startswith("p50 ") for reason in said.row["trust"]["reasons"])
            return is_wide or "latency-modes" in said.findings

        load = only(RANDOM_READ, seconds=6, sets=data("8MiB"))
        yield Scene(directory=disk.directory, load=load, took=took, names_it=names_it)


@contextmanager
def held_rate(_folder: Path, *, mib_per_s: int, job: str) -> Iterator[Scene]:
    """So many bytes a second, and no more."""

    def took(said: Said) -> bool:
        return bool(0.7 <= said.row["throughput_bytes_per_s"] / (mib_per_s * MIB) <= 1.1)

    with (
        nbd_rate_device(mib_per_s * MIB, 128 * MIB) as device,
        filesystem(device, mkfs_options=BLOCKS["ext4"]) as directory,
    ):
        yield Scene(directory=directory, load=only(job, sets=data("16MiB")), took=took)


@contextmanager
def slow_flush(_folder: Path, *, flush_ms: int, job: str, operation: str = "") -> Iterator[Scene]:
    """Flushes take so long, and nothing else does."""
    with true_disk(flush_ms=flush_ms) as disk:
        begun = _Begun()
        yield Scene(
            directory=disk.directory,
            load=only(job, sets=data("8MiB")),
            operation=operation,
            took=lambda said: len(_since(disk.truth.log(), begun, "F")) >= 0.4 * said.row["ops"],
        )


@contextmanager
def lying_flush(_folder: Path, *, job: str, operation: str = "") -> Iterator[Scene]:
    """A hard disk whose writes and flushes take no time: they are in a cache that a cut of the power would empty."""
    phases = (Phase(name="read", job=RANDOM_READ), Phase(name="planted", job=job))
    with true_disk(hdd=True, cache=True) as disk:
        begun = _Begun()

        def took(_said: Said) -> bool:
            log = disk.truth.log()
            return _mean_s(_since(log, begun, "R")) > 4e-3 and _mean_s(_since(log, begun, "WF")) < 1e-3

        yield Scene(directory=disk.directory, load=load(*phases, sets=data("16MiB")), operation=operation, took=took)


@contextmanager
def freeze(_folder: Path, *, stall_s: float, depth: int = 1, seconds: int = 4) -> Iterator[Scene]:
    """One request hangs, and the rest behind it."""
    with true_disk(most_per_s=500, stall_s=stall_s) as disk:

        def stall(run: Running) -> None:
            run.wait_until_measured(8)
            disk.truth.stall()

        yield Scene(
            directory=disk.directory,
            load=only(at_depth(depth), seconds=seconds, sets=data("8MiB")),
            meanwhile=stall,
            took=lambda _said: any(request.seconds >= stall_s for request in disk.truth.log()),
        )


@contextmanager
def pauses(_folder: Path, *, every_s: float, pause_s: float, seconds: int) -> Iterator[Scene]:
    """It tidies up at equal distances, and nothing is answered meanwhile."""
    with true_disk(most_per_s=500, pause_every_s=every_s, pause_s=pause_s) as disk:
        begun = _Begun()

        def took(_said: Said) -> bool:
            paused = [request for request in _since(disk.truth.log(), begun, "R") if request.seconds > pause_s / 2]
            return len(paused) >= 3

        def names_it(said: Said) -> bool:
            return "periodic" in said.findings or bool(said.period_s and 0.8 <= said.period_s / every_s <= 1.2)

        yield Scene(
            directory=disk.directory,
            load=only(RANDOM_READ, seconds=seconds, sets=data("8MiB")),
            took=took,
            names_it=names_it,
        )


@contextmanager
def tired(
    _folder: Path, *, per_s: int, later_per_s: int, after_share: float, seconds: int = 5, depth: int = 1
) -> Iterator[Scene]:
    """After a part of the phase its credits are used up."""
    with true_disk(most_per_s=per_s, later_per_s=later_per_s) as disk:
        at_s = list[float]()

        def tire(run: Running) -> None:
            run.wait_until_measured(round(10 * seconds * after_share))
            disk.truth.tire()
            at_s.append(time.monotonic())

        def took(_said: Said) -> bool:
            later = [request for request in disk.truth.log() if request.begin_ns / 1e9 > at_s[0]]
            return len(later) > 0.1 * seconds * later_per_s * (1 - after_share)

        def is_true(said: Said) -> bool:
            return bool(said.row["iops"] and 0.9 <= said.row["iops"] / later_per_s <= 1.1)

        yield Scene(
            directory=disk.directory,
            load=only(at_depth(depth), seconds=seconds, sets=data("8MiB")),
            meanwhile=tire,
            took=took,
            is_true=is_true,
            names_it=lambda said: is_true(said) or said.steady in {"late_shift", "drifting"},
        )


class _Begun:
    """When a case was ready to be measured."""

    def __init__(self) -> None:
        """Now."""
        self.ns = time.monotonic_ns()


def _since(log: list[Request], begun: _Begun, kinds: str) -> list[Request]:
    """Requests of some kinds since then; the kernel's own reads of a device are before."""
    return [request for request in log if request.begin_ns >= begun.ns and request.kind in kinds]


def _mean_s(requests: list[Request]) -> float:
    return sum(request.seconds for request in requests) / max(1, len(requests))


CASES = (
    Case(
        cause="reads that take a time",
        is_in_suite=True,
        plant=delay,
        parameters=({"read_ms": 5}, {"read_ms": 2}, {"read_ms": 20}),
        expected=Expected(limiter=frozenset({"operation_latency"}), evidence="the device", measures=STORAGE),
    ),
    Case(
        cause="reads that take a time, several at once",
        plant=delay,
        # One depth does not show whether a device that is never idle is full: to be sure of that would be wrong.
        parameters=({"read_ms": 5, "workers": 2}, {"read_ms": 10, "workers": 3}),
        expected=Expected(limiter=SLOW_DEVICE, no_lie=frozenset({"operation_latency"}), measures=STORAGE),
    ),
    Case(
        cause="a hard disk, one request in flight",
        plant=hard_disk,
        parameters=({"depth": 1}, {"depth": 1, "size": "8MiB"}, {"depth": 1, "size": "64MiB"}),
        expected=Expected(limiter=frozenset({"operation_latency"}), evidence="the device", measures=STORAGE),
    ),
    Case(
        cause="a hard disk, many requests in flight",
        plant=hard_disk,
        parameters=({"depth": 16}, {"depth": 4}, {"depth": 32}),
        expected=Expected(limiter=_QUEUED, measures=STORAGE),
    ),
    Case(
        cause="a device that serves so many a second",
        is_in_suite=True,
        plant=full_device,
        parameters=({"per_s": 400, "depth": 4}, {"per_s": 1000, "depth": 8}, {"per_s": 150, "depth": 16}),
        expected=Expected(limiter=_QUEUED, measures=STORAGE),
    ),
    Case(
        cause="a full device at one depth",
        plant=one_depth,
        parameters=({"per_s": 400, "depth": 4}, {"per_s": 800, "depth": 5}, {"per_s": 200, "depth": 3}),
        expected=Expected(limiter=_QUEUED, measures=STORAGE),
    ),
    Case(
        cause="a device of two latencies, the median between them",
        plant=two_times,
        parameters=(
            {"fast_ms": 1, "slow_ms": 20, "slow_share": 0.5},
            {"fast_ms": 2, "slow_ms": 30, "slow_share": 0.5},
        ),
        expected=Expected(found=frozenset({"wide-interval", "latency-modes"}), measures=STORAGE),
    ),
    Case(
        cause="a device of two latencies",
        plant=two_times,
        parameters=(
            {"fast_ms": 1, "slow_ms": 20, "slow_share": 0.2},
            {"fast_ms": 2, "slow_ms": 20, "slow_share": 0.8},
        ),
        expected=Expected(found=frozenset({"latency-modes"}), measures=STORAGE),
    ),
    Case(
        cause="a device that fails reads",
        plant=dying,
        parameters=({"per_s": 500, "share": 1}, {"per_s": 300, "share": 0.5}),
        expected=Expected(found=frozenset({"errors"})),
    ),
    Case(
        cause="a device that moves so much a second",
        plant=held_rate,
        parameters=(
            {"mib_per_s": 20, "job": at_depth(4, STREAM)},
            {"mib_per_s": 40, "job": at_depth(4, STREAM_OUT)},
            {"mib_per_s": 10, "job": STREAM},
        ),
        expected=Expected(limiter=SLOW_DEVICE, measures=STORAGE),
    ),
    Case(
        cause="a slow flush",
        plant=slow_flush,
        parameters=(
            {"flush_ms": 20, "job": COMMIT, "operation": "commit"},
            {"flush_ms": 8, "job": DSYNC_WRITE},
            {"flush_ms": 40, "job": WRITE_AND_FLUSH, "operation": "*"},
        ),
        expected=Expected(limiter=frozenset({"operation_latency"}), evidence="flush", measures=STORAGE),
    ),
    Case(
        cause="a flush that lies",
        plant=lying_flush,
        parameters=(
            {"job": DSYNC_WRITE},
            {"job": COMMIT, "operation": "commit"},
            {"job": 'direct = "on"\n' + DSYNC_WRITE},
        ),
        expected=Expected(
            found=frozenset({"device-cache"}),
            found_from="weak",
            found_text="durable write took",
            trust=frozenset({"weak", "no"}),
        ),
    ),
    Case(
        cause="a freeze",
        plant=freeze,
        parameters=({"stall_s": 1.5}, {"stall_s": 3.0, "seconds": 6}, {"stall_s": 1.2, "depth": 4}),
        expected=Expected(found=frozenset({"stalled", "stall", "stalls"}), trust=frozenset({"weak", "no"})),
    ),
    Case(
        cause="pauses at equal distances",
        plant=pauses,
        parameters=(
            {"every_s": 1.0, "pause_s": 0.3, "seconds": 8},
            {"every_s": 0.6, "pause_s": 0.2, "seconds": 6},
            {"every_s": 1.5, "pause_s": 0.5, "seconds": 12},
        ),
        expected=Expected(no_lie=SLOW_DEVICE, measures=STORAGE),
    ),
    Case(
        cause="credits that run out early",
        plant=tired,
        parameters=(
            {"per_s": 500, "later_per_s": 150, "after_share": 0.2},
            {"per_s": 1000, "later_per_s": 250, "after_share": 0.3},
            {"per_s": 400, "later_per_s": 100, "after_share": 0.15, "depth": 4},
        ),
        expected=Expected(no_lie=SLOW_DEVICE, measures=STORAGE),
    ),
    Case(
        cause="credits that run out late",
        is_in_suite=True,
        plant=tired,
        parameters=(
            {"per_s": 500, "later_per_s": 150, "after_share": 0.85},
            {"per_s": 800, "later_per_s": 400, "after_share": 0.8},
            {"per_s": 400, "later_per_s": 60, "after_share": 0.75, "depth": 4},
        ),
        expected=Expected(found=frozenset({"not-steady"}), found_from="weak", trust=frozenset({"weak", "no"})),
    ),
)
