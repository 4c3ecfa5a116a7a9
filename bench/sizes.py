"""What does it take to show a very large run? Time, CPU time and memory of `assay show`, of runs made from closed forms.

    python -m bench.sizes DIR                  all of them; DIR needs 200 MB and the machine 8 GiB
    python -m bench.sizes DIR --only phases    one

The first `show` works the results out; the second prints the answer that was kept. Each is a process of its own, below a
small one: so the peak is its own. A busy machine lengthens the time, not the CPU time.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.big_runs import Big
from bench.page import LINE_CHARACTERS

RUNS: Final = {
    "hours": ("4 h at 1 s, 64 rows, 4 buckets", Big(seconds=14_400, jobs=64, buckets=4)),
    "day": ("24 h at 1 s, 64 rows, 4 buckets", Big(seconds=86_400, jobs=64, buckets=4)),
    "hundred": ("100 clients, 60 s, 1,000 buckets", Big(seconds=60, clients=100, buckets=1_000)),
    "clients": ("1,000 clients, 60 s, 1,000 buckets", Big(seconds=60, clients=1_000, buckets=1_000)),
    "few-phases": ("200 phases of 5 s, 50 buckets", Big(seconds=5, phases=200, buckets=50)),
    "phases": ("2,000 phases of 5 s, 50 buckets", Big(seconds=5, phases=2_000, buckets=50)),
}
NOTES: Final = (
    "A busy machine lengthens the times, not the CPU times; the peak is that of the process. Before tables were read part by"
    " part (fb62d1fe), the first show of 4 h took 22.0 s of CPU time and 1,668 MiB, that of 100 clients 8.5 s and 2,657 MiB,"
    " that of 200 phases 1.5 s and 119 MiB."
)
HEAD: Final = """\
| run | rows of its histograms | first show | CPU time | memory | again | CPU time | memory |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


@dataclass(frozen=True)
class Taken:
    """What one `show` took."""

    seconds: float
    cpu_s: float
    peak_bytes: int


def measure(run: Path) -> Taken:
    """Show a run, with nothing printed."""
    words = [sys.executable, "-m", "assay", "show", run.name, "--runs", str(run.parent)]
    begun = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(words)}: exit code {code}")
    return Taken(time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


def section(place: Path, names: Iterable[str] = RUNS) -> Iterator[str]:
    """Measure it, and write it as a part of the page."""
    yield "## What a large run takes to show"
    yield ""
    text = (
        "`assay show` of sealed runs whose tables were made from closed forms (`bench/big_runs.py`). First, the results are"
        " worked out; again, the answer that was kept is printed, as after any run that was measured on this machine."
        " `python -m bench.sizes DIR` measures this part alone."
    )
    yield textwrap.fill(text, LINE_CHARACTERS)
    yield ""
    yield HEAD
    for name in names:
        title, big = RUNS[name]
        with tempfile.TemporaryDirectory(dir=place) as runs:
            subprocess.run([sys.executable, "-m", "bench.sizes", runs, "--make", name], check=True)
            (run,) = (path for path in Path(runs).iterdir() if (path / "manifest.json").exists())
            cells = [cell for _ in range(2) for cell in _cells(measure(run))]
        yield f"| {title} | {big.histogram_rows:,} | {' | '.join(cells)} |"
    yield ""
    yield textwrap.fill(NOTES, LINE_CHARACTERS)


def _cells(taken: Taken) -> tuple[str, str, str]:
    return f"{taken.seconds:.1f} s", f"{taken.cpu_s:.1f} s", f"{taken.peak_bytes >> 20:,} MiB"


def main() -> None:
    """Measure, or make one run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", choices=RUNS, action="append")
    parser.add_argument("--make", choices=RUNS)
    arguments = parser.parse_args()
    if arguments.make:
        RUNS[arguments.make][1].write(arguments.directory)
        return
    for line in section(arguments.directory, arguments.only or RUNS):
        print(line, flush=True)


if __name__ == "__main__":
    main()
