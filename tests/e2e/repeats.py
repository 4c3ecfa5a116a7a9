"""How far do runs lie apart, and what may be inferred from repeats? Quick runs in a row on each file system.

`make repeats`, as root, on a machine that does nothing else: half an hour and more, with 60,000 files made and removed in
between. For every row, over the runs of one file system: how often it was trusted, how far the trusted rates lie apart, and
how many of the runs' own 95 % intervals hold the median of all runs: facts of the machine. What has to hold is inferred
from repeats: every other run against the rest is a comparison without a difference, and Student's t test finds one in 5 % of
them. The table goes into docs/method.md, unless fewer than ten runs were asked for.
"""

import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from assay.analysis.statistics.ratio import p_by_t
from e2e.command import Assay
from testbed.devices import MIB, filesystem, loop_device
from testbed.history import come_and_go
from testbed.killed import clear_dead_devices, unwind_when_ended

PAGE = Path(__file__).parents[2] / "docs" / "method.md"
BEGIN = "<!-- Made by `make repeats`; do not edit up to the end of the rows. -->\n"
END = "<!-- The end of the rows. -->\n"
ENOUGH = 10
RUNS = int(os.environ.get("ASSAY_REPEATS", "10"))
SECONDS = os.environ.get("ASSAY_REPEATS_TIME", "20s")
DISTURBED_BEFORE = 4
"""Before the fifth run."""
FILES = 60_000
CHANCE = 0.05
"""Level of the t test."""
ALIKE = 0.85
"""Of the rows, the share in which it finds no difference: of 25 rows without one, it is reached in 97 of 100 cases."""
_LEAST = 6
"""Trusted runs, for three on each side."""
SIZE = 3072 * MIB


class Row(NamedTuple):
    """One row of the table: what the runs said of one phase on one file system."""

    where: str
    phase: str
    trusted: int
    weak: int
    apart: float | None
    """Highest by lowest of the trusted rates; None: fewer than two."""
    holding: int
    """Trusted intervals that hold the median of all runs."""
    p: float | None
    """Of the t test of every other trusted run against the rest; None: fewer than three on a side."""
    deviation: float | None
    """Standard deviation of the logarithms of the trusted rates; None: fewer than two."""


@contextmanager
def places(disk: Path) -> Iterator[Iterator[tuple[str, Path]]]:
    """Give the file systems one after another: the disk itself, then loop files on it."""

    def each() -> Iterator[tuple[str, Path]]:
        yield "disk", disk
        kinds: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
            ("ext4", "ext4", ()),
            ("ext4 without journal", "ext4", ("-O", "^has_journal")),
            ("xfs", "xfs", ()),
            ("btrfs", "btrfs", ()),
        )
        for words, kind, options in kinds:
            with loop_device(SIZE, backing=disk) as device, filesystem(device, kind, mkfs_options=options) as at:
                yield words, at

    yield each()


def rows_of(where: str, documents: list[dict[str, Any]]) -> Iterator[Row]:
    """Sum the runs on one file system up."""
    phases = dict.fromkeys(result["phase"] for document in documents for result in document["results"])
    for phase in phases:
        found = [
            result
            for document in documents
            for result in document["results"]
            if result["phase"] == phase and result["iops"] is not None
        ]
        trusted = [result for result in found if result["trusted"]]
        rates = [result["iops"] for result in trusted]
        median = statistics.median(result["iops"] for result in found)
        yield Row(
            where=where,
            phase=phase,
            trusted=len(trusted),
            weak=sum(result["trust"]["level"] == "weak" for result in found),
            apart=max(rates) / min(rates) if len(rates) > 1 else None,
            holding=sum(one["iops_interval"]["low"] <= median <= one["iops_interval"]["high"] for one in trusted),
            p=p_by_t(rates[::2], rates[1::2]) if len(rates) >= _LEAST else None,
            deviation=statistics.stdev(map(math.log, rates)) if len(rates) > 1 else None,
        )


def main() -> int:
    """Run it all and print the table; 1 where repeats of the same load differ more often than by chance."""
    unwind_when_ended()
    clear_dead_devices()
    disk = Path(os.environ.get("ASSAY_REPEATS_DIR", tempfile.gettempdir()))
    table: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="assay-repeats-", dir=disk) as name:
        assay = Assay(runs=Path(name, "runs"))
        with places(Path(name)) as each:
            for where, directory in each:
                documents = []
                for number in range(RUNS):
                    if number == DISTURBED_BEFORE:
                        come_and_go(directory, FILES)
                    sys.stderr.write(f"{where}: run {number + 1} of {RUNS}\n")
                    done = assay("quick", directory, "--time", SECONDS, "--size", "512MiB", "--json", "--no-report")
                    documents.append(json.loads(done.stdout))
                found = list(rows_of(where, documents))
                table += found
                sys.stdout.writelines(_line(row) for row in found)
                sys.stdout.flush()
    told = _summary(table)
    sys.stdout.write(told)
    if RUNS >= ENOUGH:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        rows = "".join(_line(row) for row in table)
        PAGE.write_text(f"{head}{BEGIN}\n{told}\n{_HEAD}{rows}\n{END}{rest.partition(END)[2]}")
    alike, tested = _alike(table)
    return int(alike < ALIKE * tested)


_HEAD = (
    "| file system | phase | yes | weak | highest / lowest yes | deviation | own intervals with the median | p of halves |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
)


def _line(row: Row) -> str:
    apart, deviation, p = ("n/a" if value is None else f"{value:.2f}" for value in (row.apart, row.deviation, row.p))
    cells = (row.where, row.phase, row.trusted, row.weak, apart, deviation, f"{row.holding} of {row.trusted}", p)
    return f"| {' | '.join(map(str, cells))} |\n"


def _alike(table: Sequence[Row]) -> tuple[int, int]:
    tested = [row.p for row in table if row.p is not None]
    return sum(p >= CHANCE for p in tested), len(tested)


def _held(table: Sequence[Row]) -> float:
    return sum(row.holding for row in table) / max(1, sum(row.trusted for row in table))


def _summary(table: Sequence[Row]) -> str:
    trusted = sum(row.trusted for row in table)
    alike, tested = _alike(table)
    deviations = [row.deviation for row in table if row.deviation is not None]
    pooled = math.sqrt(statistics.fmean(one**2 for one in deviations)) if deviations else 0
    return (
        f"{RUNS} runs of `assay quick --time {SECONDS} --size 512MiB` in a row on each file system, loops on that disk,"
        f" on {time.strftime('%Y-%m-%d', time.gmtime())} (Linux {os.uname().release.split('-')[0]}, {os.cpu_count()} CPUs),"
        f" {FILES:,} files made and removed before the fifth. {trusted} numbers were trusted, and"
        f" {100 * _held(table):.0f} % of their own intervals hold the median of their runs. Of {tested} rows with six and"
        f" more trusted runs {alike} have no difference between every other run and the rest (t test, {100 * CHANCE:g} %)."
        f" Standard deviation from run to run: {100 * pooled:.0f} %.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
