"""Does `assay measure` give the IOPS that fio gives? The common command lines of fio and their equals, in turn.

    python -m bench.from_fio DIR                         prints the ratio of each pair with its interval
    python -m bench.from_fio DIR --only randread-1       one of them
    python -m bench.from_fio DIR --page                  writes docs/how-to/from-fio.md

Both programs run as a user would type it, in the directory given, round after round in changing order, so that what the
machine does besides falls on both. The CPUs are kept from idling: a virtual machine's storage answers the later the longer
a CPU takes to wake, and the program that takes more CPU time for an I/O would be the faster one. The ratio of a round is
the IOPS of Assay by those of fio; given is the geometric mean over the rounds with its 95 % interval (Student's t of the
logarithms). Beside it stands the same of two runs of fio, the first by the second of a round: a ratio means something where
it is further from 1 than that.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.fio_pairs import PAIRS, Pair, assay_words, fio_words
from bench.from_fio_page import page
from bench.ratios import Compared, ratio
from bench.tools import ROOT

PAGE = ROOT / "docs/how-to/from-fio.md"
ASSAY = Path(sys.executable).parent / "assay"
MEASURED = ("read", "write")
"""What fio counts as I/O: an fsync is none, in either tool's number."""


@contextmanager
def cpus_awake() -> Iterator[None]:
    """Keep every CPU from idling, with processes that give way to all others (SCHED_IDLE)."""
    spin = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
    spinning = [subprocess.Popen([sys.executable, "-c", spin]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def fio_iops(pair: Pair, directory: Path, seconds: float) -> float:
    """Run fio once, in a folder of its own below the directory, which is removed after it."""
    with tempfile.TemporaryDirectory(prefix="assay-from-fio-", dir=directory) as own:
        done = subprocess.run(
            [*fio_words(pair, own, seconds, compared=True), "--output-format=json"],
            capture_output=True,
            text=True,
            check=False,
            cwd=own,  # where a job that verifies leaves its state
        )
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


def compare(pair: Pair, directory: Path, rounds: int, seconds: float) -> Compared:
    """Let both run in turn: fio, Assay, fio, and the other way round in each second round."""
    by: dict[str, list[float]] = {"first": [], "assay": [], "second": []}
    turns: list[tuple[str, Callable[[], float]]] = [
        ("first", lambda: fio_iops(pair, directory, seconds)),
        ("assay", lambda: assay_iops(pair, directory, seconds)),
        ("second", lambda: fio_iops(pair, directory, seconds)),
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
    with cpus_awake():
        for pair in PAIRS:
            if arguments.only and pair.name not in arguments.only:
                continue
            found = compare(pair, arguments.directory.resolve(), arguments.rounds, arguments.seconds)
            compared[pair.name] = found
            print(
                f"{pair.name:16} {found.iops:10,.0f} IOPS  Assay / fio {found.by_fio}  fio / fio {found.fio_by_itself}"
            )
            sys.stdout.flush()
    if arguments.page:
        PAGE.write_text(page(compared, arguments.directory.resolve(), arguments.rounds, arguments.seconds))


if __name__ == "__main__":
    main()
