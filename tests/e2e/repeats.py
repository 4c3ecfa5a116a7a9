"""Does a number that is trusted repeat? Quick runs in a row on each file system, with 60,000 files made and removed between.

`make repeats`, as root, on a machine that does nothing else: half an hour and more. For every row, over the runs of one
file system: how often it was trusted, how far the trusted rates lie apart, and how many of their 95 % intervals hold the
median of all runs, and another run. The table goes into docs/method.md, unless fewer than ten runs were asked for.
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
APART = 1.25
"""Times the lowest trusted rate that the highest may be."""
HELD = 0.85
"""Of the intervals, the share that has to hold the median."""
SIZE = 3072 * MIB


class Row(NamedTuple):
    """One row of the table: what the runs said of one phase on one file system."""

    where: str
    phase: str
    trusted: int
    weak: int
    apart: float | None
    """Highest by lowest of the trusted rates; None: fewer than two."""
    overlap: bool
    """Whether the intervals of the highest and the lowest meet."""
    holding: int
    """Trusted intervals that hold the median of all runs."""
    meeting: int
    """Pairs of trusted numbers of which the second lies in the interval of the first."""
    deviation: float | None
    """Standard deviation of the logarithms of the trusted rates; None: fewer than two."""

    @property
    def pairs(self) -> int:
        """Ordered pairs of trusted numbers."""
        return self.trusted * (self.trusted - 1)

    @property
    def repeats(self) -> bool:
        """Whether the trusted numbers are one."""
        return self.apart is None or self.apart <= APART or self.overlap


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
        trusted = sorted((result for result in found if result["trusted"]), key=lambda result: result["iops"])
        median = statistics.median(result["iops"] for result in found)
        intervals = [result["iops_interval"] for result in trusted]
        yield Row(
            where=where,
            phase=phase,
            trusted=len(trusted),
            weak=sum(result["trust"]["level"] == "weak" for result in found),
            apart=trusted[-1]["iops"] / trusted[0]["iops"] if len(trusted) > 1 else None,
            overlap=len(trusted) > 1 and intervals[-1]["low"] <= intervals[0]["high"],
            holding=sum(interval["low"] <= median <= interval["high"] for interval in intervals),
            meeting=sum(
                interval["low"] <= other["iops"] <= interval["high"]
                for place, interval in enumerate(intervals)
                for other in (*trusted[:place], *trusted[place + 1 :])
            ),
            deviation=statistics.stdev(math.log(one["iops"]) for one in trusted) if len(trusted) > 1 else None,
        )


def main() -> int:
    """Run it all and print the table; 1 where a trusted number does not repeat."""
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
    return int(not all(row.repeats for row in table) or _held(table) < HELD)


_HEAD = (
    "| file system | phase | yes | weak | highest / lowest yes | deviation | intervals that hold the median | repeats |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
)


def _line(row: Row) -> str:
    apart, deviation = ("n/a" if value is None else f"{value:.2f}" for value in (row.apart, row.deviation))
    cells = (row.where, row.phase, row.trusted, row.weak, apart, deviation, f"{row.holding} of {row.trusted}")
    return f"| {' | '.join(map(str, cells))} | {'yes' if row.repeats else 'NO'} |\n"


def _held(table: Sequence[Row]) -> float:
    return sum(row.holding for row in table) / max(1, sum(row.trusted for row in table))


def _summary(table: Sequence[Row]) -> str:
    trusted = sum(row.trusted for row in table)
    met = sum(row.meeting for row in table) / max(1, sum(row.pairs for row in table))
    several = [row for row in table if row.deviation is not None]
    pooled = (
        math.sqrt(statistics.fmean(row.deviation**2 for row in several if row.deviation is not None)) if several else 0
    )
    return (
        f"{RUNS} runs of `assay quick --time {SECONDS} --size 512MiB` in a row on each file system, loops on that disk,"
        f" on {time.strftime('%Y-%m-%d', time.gmtime())} (Linux {os.uname().release.split('-')[0]}, {os.cpu_count()} CPUs),"
        f" {FILES:,} files made and removed before the fifth. {trusted} numbers were trusted, and"
        f" {100 * _held(table):.0f} % of their intervals hold the median of their runs, {100 * met:.0f} % the number of"
        f" another trusted one; of {len(several)} rows that were trusted several times"
        f" {sum(row.repeats for row in several)} repeat within {APART:g} times or their intervals."
        f" Standard deviation from run to run: {100 * pooled:.0f} %.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
