"""Causes in the load: what it asks for, and who of its workers is there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.planted.case import SLOW_DEVICE, STORAGE, Case, Expected, Scene
from e2e.planted.loads import CACHED_READ, RANDOM_READ, data, only
from e2e.planted.storage import delayed_disk, memory_disk, true_disk
from e2e.processes import Running
from testbed.throttle import blkio_limit

OFFERED = frozenset({"offered_load"})
_OPEN = 'arrival = {{ kind = "open", rate_per_s = {per_s} }}'


@contextmanager
def arrivals(
    _folder: Path, *, per_s: float, read_ms: int = 5, spacing: str = "uniform", workers: int = 1, seconds: int = 4
) -> Iterator[Scene]:
    """Reads that arrive on a schedule, at a device that answers each after a time."""
    job = (
        f'workers = {workers}\narrival = {{ kind = "open", rate_per_s = {per_s}, spacing = "{spacing}" }}\n'
        f"{RANDOM_READ}"
    )
    with delayed_disk(read_ms) as disk:
        yield Scene(
            directory=disk.directory,
            load=only(job, seconds=seconds, sets=data("8MiB")),
            is_true=lambda said: bool(0.8 <= said.row["iops"] / min(per_s, workers * 1e3 / read_ms) <= 1.1),
        )


@contextmanager
def a_little_too_much(_folder: Path, *, limit_per_s: int, above: float, seconds: int) -> Iterator[Scene]:
    """Reads that arrive at a little more than what the device is held to."""
    per_s = limit_per_s * (1 + above)
    job = f'arrival = {{ kind = "open", rate_per_s = {per_s} }}\n{RANDOM_READ}'
    with delayed_disk(0) as disk, blkio_limit(disk.device, read_iops=limit_per_s) as group:
        yield Scene(
            directory=disk.directory,
            load=only(job, seconds=seconds, sets=data("8MiB")),
            prefix=group.prefix,
            is_true=lambda said: bool(0.97 <= said.row["iops"] / limit_per_s <= 1.02),
        )


@contextmanager
def slower_at_the_same_rate(
    _folder: Path, *, per_s: int, pace: str, tired_ms: int, share: float, seconds: int
) -> Iterator[Scene]:
    """A device that takes longer from some time on, and still keeps up with a rate."""
    with true_disk(tired_ms=tired_ms) as disk:

        def tire(run: Running) -> None:
            run.wait_until_measured(1 + int(10 * share * seconds))
            disk.truth.tire()

        yield Scene(
            directory=disk.directory,
            load=only(f"{pace.format(per_s=per_s)}\n{RANDOM_READ}", seconds=seconds, sets=data("8MiB")),
            meanwhile=tire,
            took=lambda _said: sum(one.seconds > 0.9e-3 * tired_ms for one in disk.truth.log()) > 0.1 * per_s * seconds,
            is_true=lambda said: bool(0.97 <= said.row["iops"] / per_s <= 1.03),
        )


@contextmanager
def paced(_folder: Path, *, limit: str, read_ms: int) -> Iterator[Scene]:
    """A closed loop that is held back by its own limit."""
    with delayed_disk(read_ms) as disk:
        job = f"limit = {{ {limit} }}\n{RANDOM_READ}"
        yield Scene(directory=disk.directory, load=only(job, sets=data("8MiB")))


@contextmanager
def thinking(_folder: Path, *, think_ms: int, read_ms: int) -> Iterator[Scene]:
    """A closed loop that thinks in between."""
    read = RANDOM_READ.partition("\n")[2].removeprefix("op = ")
    job = f'direct = "on"\nloop = [{read}, {{ think = "{think_ms}ms" }}]'
    with delayed_disk(read_ms) as disk:
        yield Scene(directory=disk.directory, load=only(job, sets=data("8MiB")))


@contextmanager
def late_worker(_folder: Path, *, late_s: float, seconds: float) -> Iterator[Scene]:
    """Two workers, of which one begins later: it has to wait for a token first."""
    read = CACHED_READ.partition("= ")[2]
    job = (
        f'workers = 2\nloop = [{{ token = "start", rate_per_s = {1 / late_s}, unit = "event" }},'
        f" {{ repeat = 1000000000, actions = [{read}] }}]"
    )
    with memory_disk() as disk:
        yield Scene(
            directory=disk.directory,
            load=only(job, seconds=seconds, keys='cache = "warm"', sets=data("8MiB")),
        )


CASES = (
    Case(
        cause="arrivals at less than the device's rate",
        plant=arrivals,
        parameters=(
            {"per_s": 60},
            {"per_s": 80, "spacing": "poisson", "workers": 4},
            {"per_s": 20, "read_ms": 10},
            {"per_s": 150, "read_ms": 2},
            {"per_s": 40, "spacing": "poisson"},
        ),
        expected=Expected(limiter=OFFERED, measures=STORAGE),
    ),
    Case(
        cause="arrivals at more than the device's rate",
        plant=arrivals,
        parameters=(
            {"per_s": 600},
            {"per_s": 260, "spacing": "poisson"},
            {"per_s": 400, "read_ms": 10, "workers": 2},
        ),
        expected=Expected(
            found=frozenset({"late-arrivals"}), found_from="weak", limiter=SLOW_DEVICE, trust=frozenset({"weak", "no"})
        ),
    ),
    Case(
        cause="arrivals at hardly more than the device is held to",
        plant=a_little_too_much,
        parameters=(
            {"limit_per_s": 200, "above": 0.02, "seconds": 10},
            {"limit_per_s": 200, "above": 0.012, "seconds": 20},
            {"limit_per_s": 500, "above": 0.012, "seconds": 20},
        ),
        expected=Expected(
            found=frozenset({"late-arrivals"}),
            found_from="weak",
            limiter=frozenset({"throttle_io"}),
            trust=frozenset({"weak", "no"}),
        ),
    ),
    Case(
        cause="a latency that changes at a steady rate",
        plant=slower_at_the_same_rate,
        parameters=(
            {"per_s": 60, "pace": _OPEN, "tired_ms": 14, "share": 0.7, "seconds": 8},
            {"per_s": 100, "pace": _OPEN, "tired_ms": 4, "share": 0.5, "seconds": 8},
            {"per_s": 100, "pace": "limit = {{ ops_per_s = {per_s} }}", "tired_ms": 6, "share": 0.8, "seconds": 10},
        ),
        expected=Expected(
            found=frozenset({"not-steady", "earlier-levels"}), found_from="weak", trust=frozenset({"weak", "no"})
        ),
    ),
    Case(
        cause="a closed loop held back by its own limit",
        is_in_suite=True,
        plant=paced,
        parameters=(
            {"limit": "ops_per_s = 50", "read_ms": 2},
            {"limit": 'bytes_per_s = "200KiB"', "read_ms": 2},
            {"limit": "ops_per_s = 30", "read_ms": 10},
            {"limit": "ops_per_s = 100", "read_ms": 5},
        ),
        expected=Expected(limiter=OFFERED, measures=STORAGE),
    ),
    Case(
        cause="a closed loop that thinks",
        plant=thinking,
        parameters=({"think_ms": 20, "read_ms": 2}, {"think_ms": 50, "read_ms": 5}, {"think_ms": 10, "read_ms": 1}),
        expected=Expected(limiter=OFFERED, measures=STORAGE),
    ),
    Case(
        cause="a worker that begins late",
        plant=late_worker,
        parameters=(
            {"late_s": 2.0, "seconds": 4},
            {"late_s": 1.0, "seconds": 3},
            {"late_s": 4.0, "seconds": 6},
        ),
        expected=Expected(found=frozenset({"workers-apart"}), found_from="weak", trust=frozenset({"weak", "no"})),
    ),
)
