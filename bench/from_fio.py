"""Does `assay measure` give the IOPS that fio gives? The common command lines of fio and their equals, in turn.

    python -m bench.from_fio DIR                         prints the ratio of each pair with its interval
    python -m bench.from_fio DIR --only randread-1       one of them
    python -m bench.from_fio DIR --page                  writes docs/how-to/from-fio.md

Both programs run as a user would type it, in the directory given, round after round in changing order, so that what the
machine does besides falls on both. The ratio of a round is the IOPS of Assay by those of fio; given is the geometric mean
over the rounds with its 95 % interval (Student's t of the logarithms). Beside it stands the same of two runs of fio, the
first by the second of a round: a ratio means something where it is further from 1 than that.
"""

import argparse
import json
import math
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.analysis.statistics.beta import student_quantile
from bench.tools import ROOT

PAGE = ROOT / "docs/how-to/from-fio.md"
ASSAY = Path(sys.executable).parent / "assay"
FOR_WRITES = "--overwrite=1 --refill_buffers"
"""What has fio do the work that Assay does: write over what is there, with bytes that are new."""
MEASURED = ("read", "write")
"""What fio counts as I/O: an fsync is none, in either tool's number."""


@dataclass(frozen=True)
class Pair:
    """A command line of fio and its equal."""

    name: str
    title: str
    fio: str
    """Its options, without name, directory, size and time."""
    assay: str
    size: str
    differs: str
    beside: str = ""
    """Options of fio that are added where the two are compared, because the page says that they differ in this."""


PAIRS = (
    Pair(
        "read-1m",
        "Sequential read",
        "--rw=read --bs=1M --direct=1",
        "--read --bs 1m --direct",
        "256m",
        "Nothing. At the end of the file both start over.",
    ),
    Pair(
        "write-128k",
        "Sequential write, several in flight",
        "--rw=write --bs=128k --direct=1 --ioengine=io_uring --iodepth=4",
        "--write --bs 128k --direct --depth 4",
        "256m",
        "Assay lays the file out first and overwrites it. fio allocates it and writes it for the first time, which a file"
        " system does more slowly or faster; `--overwrite=1` makes it lay out too. fio sends nearly the same"
        " bytes each time,"
        " Assay new ones, which take processor time; `--refill_buffers` has fio do so too.",
        FOR_WRITES,
    ),
    Pair(
        "randread-1",
        "Random read, one at a time",
        "--rw=randread --bs=4k --direct=1",
        "--read --random --bs 4k --direct",
        "256m",
        "fio visits each block once before it visits one again; Assay draws anew each time, as fio does with"
        ' `--norandommap`. A load file has `coverage = "rounds"` for fio\'s way.',
    ),
    Pair(
        "randread-32",
        "Random read, 32 in flight",
        "--rw=randread --bs=4k --direct=1 --ioengine=io_uring --iodepth=32",
        "--read --random --bs 4k --direct --depth 32",
        "256m",
        "Assay submits what came back together in one call and registers files and buffers; fio does so when asked"
        " (`--iodepth_batch`, `--fixedbufs`, `--registerfiles`). Where the processor is the limit, that shows.",
    ),
    Pair(
        "randwrite-fsync",
        "Random write, each with an fsync",
        "--rw=randwrite --bs=4k --fsync=1",
        "--write --random --bs 4k --fsync-every 1",
        "64m",
        "As with all writes, Assay overwrites, with new bytes. The IOPS of fio are those of the writes"
        " alone; Assay has a row for writes and"
        " one for the fsync.",
        FOR_WRITES,
    ),
    Pair(
        "mix-70-30",
        "70 % reads and 30 % writes",
        "--rw=randrw --rwmixread=70 --bs=8k --direct=1 --ioengine=io_uring --iodepth=16",
        "--mix 70/30 --random --bs 8k --direct --depth 16",
        "256m",
        "Both draw each operation by its share; what is said of writes above holds. Assay has a row for"
        " reads, one for writes and one for both.",
        FOR_WRITES,
    ),
    Pair(
        "rate-500",
        "500 reads a second",
        "--rw=randread --bs=4k --direct=1 --rate_iops=500",
        "--read --random --bs 4k --direct --rate 500/s",
        "256m",
        "The rate is the same, the latency is not: fio's counts from when the read was issued, and a stall"
        " holds the reads"
        " after it back unseen. Assay counts from when each was due (`response`). fio's way is `--limit 500/s`.",
    ),
    Pair(
        "mmap",
        "Random read of a mapping",
        "--rw=randread --bs=4k --ioengine=mmap --invalidate=0",
        "--read --random --bs 4k --engine mmap --cache warm",
        "64m",
        "Both read from memory, so it is the cost of the programs that is compared, and Assay says that it is memory.",
    ),
    Pair(
        "buffered",
        "Random read through the page cache",
        "--rw=randread --bs=4k --ioengine=psync --invalidate=0",
        "--read --random --bs 4k --cache warm",
        "64m",
        "As above. Without `--invalidate=0` and with `--cache cold`, which is what each does by itself, both"
        " begin with the"
        " file out of the page cache. fio's IOPS are then the mean over all of its time, with the time in which memory"
        " fills; Assay's are those of the time in which the rate stood, and it says where they came from.",
    ),
    Pair(
        "numjobs-4",
        "Four at once",
        "--rw=randread --bs=4k --direct=1 --numjobs=4 --group_reporting",
        "--read --random --bs 4k --direct --workers 4",
        "64m",
        "fio's `--size` is that of each job, Assay's that of all data: four jobs of 64 MiB are `--size"
        " 256m`. fio's jobs are"
        " processes (`--thread` makes them threads), Assay's workers are threads.",
    ),
    Pair(
        "log",
        "A log: each write durable",
        "--rw=write --bs=4k --fdatasync=1",
        "--write --bs 4k --fdatasync-every 1",
        "64m",
        "Assay's log is laid out before; for one that grows see `assay run append-log DIR`.",
        FOR_WRITES,
    ),
    Pair(
        "verify",
        "Writes that are verified",
        "--rw=randwrite --bs=4k --direct=1 --verify=crc32c --do_verify=1",
        "--write --random --bs 4k --direct --verify",
        "64m",
        "fio writes the file once, and reads it again. Assay writes for a time, stamps each sector with its place and"
        " generation, and reads all of it again; reads in the load are checked as well.",
        "--overwrite=1",
    ),
)


def fio_words(pair: Pair, directory: str, seconds: float, *, compared: bool) -> list[str]:
    """Give the command line of fio; `compared`: with what is added for the comparison."""
    once = "--verify" in pair.fio
    time = [] if once else [f"--runtime={seconds:g}", "--time_based"]
    added = shlex.split(pair.beside) if compared else []
    return ["fio", "--name=x", f"--directory={directory}", *shlex.split(pair.fio), f"--size={pair.size}", *time, *added]


def assay_words(pair: Pair, directory: str, seconds: float) -> list[str]:
    """Give the command line of Assay."""
    size = "256m" if pair.name == "numjobs-4" else pair.size
    return ["assay", "measure", directory, *shlex.split(pair.assay), "--size", size, "--time", f"{seconds:g}s"]


def fio_iops(pair: Pair, directory: Path, seconds: float) -> float:
    """Run fio once; its files are removed before and after."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    done = subprocess.run(
        [*fio_words(pair, str(directory), seconds, compared=True), "--output-format=json"],
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(directory)
    if done.returncode:
        raise SystemExit(f"fio {pair.name}: {done.stderr.strip() or done.stdout[-500:]}")
    jobs = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    # fio gives reads of a verification as reads of the job.
    kinds = ("write",) if "--verify" in pair.fio else MEASURED
    return sum(float(job[kind]["iops"]) for job in jobs for kind in kinds)


def assay_iops(pair: Pair, directory: Path, seconds: float) -> float:
    """Run Assay once; its data is removed by itself."""
    with tempfile.TemporaryDirectory(prefix="assay-from-fio-") as runs:
        words = assay_words(pair, str(directory), seconds)[1:]
        done = subprocess.run(
            [ASSAY, *words, "--json", "--no-report", "--runs", runs], capture_output=True, text=True, check=False
        )
    if done.returncode not in {0, 1}:
        raise SystemExit(f"assay {pair.name}: {done.stderr[-500:]}")
    results = json.loads(done.stdout)["results"]
    return sum(float(result["iops"]) for result in results if result["operation"] in MEASURED)


@dataclass(frozen=True)
class Ratio:
    """A geometric mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it for the page."""
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """Give the ratio of two series, value by value; at least two."""
    logs = [math.log(over / under) for over, under in zip(above, below, strict=True)]
    mean = statistics.fmean(logs)
    half = student_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


@dataclass(frozen=True)
class Compared:
    """What the rounds of a pair gave."""

    iops: float
    """Of Assay, the median."""
    by_fio: Ratio
    fio_by_itself: Ratio


def compare(pair: Pair, directory: Path, rounds: int, seconds: float) -> Compared:
    """Let both run in turn: fio, Assay, fio, and the other way round in each second round."""
    by: dict[str, list[float]] = {"first": [], "assay": [], "second": []}
    turns: list[tuple[str, Callable[[], float]]] = [
        ("first", lambda: fio_iops(pair, directory / "fio", seconds)),
        ("assay", lambda: assay_iops(pair, directory, seconds)),
        ("second", lambda: fio_iops(pair, directory / "fio", seconds)),
    ]
    for number in range(rounds):
        for name, run in turns if number % 2 == 0 else turns[::-1]:
            by[name].append(run())
    # Between the two of fio, so that a drift of the machine falls on neither.
    middle = [math.sqrt(one * other) for one, other in zip(by["first"], by["second"], strict=True)]
    return Compared(statistics.median(by["assay"]), ratio(by["assay"], middle), ratio(by["first"], by["second"]))


def main() -> None:
    """Compare the pairs, and print or write what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--only", choices=[pair.name for pair in PAIRS], action="append")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if shutil.which("fio") is None:
        raise SystemExit("fio is not installed: apt-get install fio")
    if arguments.rounds < 2 or (arguments.page and arguments.only):
        raise SystemExit("--rounds: two are the least, and --page is of all pairs")
    compared: dict[str, Compared] = {}
    for pair in PAIRS:
        if arguments.only and pair.name not in arguments.only:
            continue
        found = compare(pair, arguments.directory.resolve(), arguments.rounds, arguments.seconds)
        compared[pair.name] = found
        print(f"{pair.name:16} {found.iops:10,.0f} IOPS  Assay / fio {found.by_fio}  fio / fio {found.fio_by_itself}")
        sys.stdout.flush()
    if arguments.page:
        from bench.from_fio_page import page  # noqa: PLC0415 - it needs what is defined here

        PAGE.write_text(page(compared, arguments.directory.resolve(), arguments.rounds, arguments.seconds))


if __name__ == "__main__":
    main()
