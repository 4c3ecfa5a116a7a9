"""docs/how-to/from-fio.md: command lines of fio, their equals, what differs, and the ratios that were measured."""

import platform
import shlex
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.fio_pairs import PAIRS, Pair, assay_words, fio_words
from bench.ratios import Compared
from bench.tools import versions

_COLUMNS = 125
_DIRECTORY = "/mnt/scratch"
_SECONDS = 20.0

_HEAD = """\
# From fio

<!-- Made by `python -m bench.from_fio DIR --page`; do not edit. -->

The command lines that people type most, and what gives the same with Assay. `assay measure DIR` takes fio's words where it
has the same thing: `--bs`, `--iodepth`, `--numjobs`, `--ioengine`, `--runtime`, `--size`, `--direct`. Sizes mean the same:
`4k` is 4 KiB, `256m` 256 MiB. With `--as-toml` it prints the load file of a command line, to keep and to go on from.
Job files, and fio's own command lines, run as they are with [`assay fio`](../tools/fio.md).

What differs in all of them:

- Data is laid out before the first I/O, in `DIR/assay-data`, and removed at the end. fio leaves its files.
- The result covers the time in which the rate was steady, with an interval; fio's is the mean over all of its time.
- A number that cannot be what it seems (from memory, of a busy machine, of too few I/Os) says so.
"""
SEARCH = """\
## The highest queue depth within a latency

```sh
fio --name=x --directory=/mnt/scratch --rw=randread --bs=4k --direct=1 --ioengine=io_uring --iodepth=32 --size=256m \\
    --runtime=120 --time_based --latency_target=2ms --latency_window=10s --latency_percentile=99
assay measure /mnt/scratch --read --random --bs 4k --direct --depth 1,2,4,8,16,32 --size 256m --time 10s
```

`assay fio` refuses `latency_target`. With it, fio changes the queue depth while the job runs: it doubles the depth after
each window that meets the target, bisects after one that does not, and reports the depth at which it ends. A Plan of Assay
is complete before the run: `rerun`, `--repeat` and several clients need the same phases each time. `assay measure` has a row
for each depth instead. Take the last row whose p99 is within the target; `--json` has p99.9 too. A window of fio may fail by
chance and end the search too low; a row has an interval and a statement of trust.
"""
_MEASURED = """\
## The same IOPS?

Both were run in turn in one directory ({where}), {rounds} rounds of {seconds:g} s each: `python -m bench.from_fio DIR`. A
ratio is the IOPS of Assay by those of fio, the geometric mean over the rounds with its 95 % interval; `fio / fio` is the
same of two runs of fio in each round, which is how far the machine itself goes. Writes of fio had `--overwrite=1` and
`--refill_buffers` here (the verified ones have contents of their own). The CPUs were kept from idling: in a virtual machine
storage answers the later the longer a CPU takes to wake, and the program that takes more CPU time for an I/O is then the
faster one (128 KiB writes: 0.82 with CPUs that idle).
{tools}; {machine}.

| | IOPS of Assay | Assay / fio | fio / fio |
| --- | ---: | ---: | ---: |
"""
_WHY = """
Where the storage is the limit, both give the same. Where the processor is (memory answers, contents are made anew, or the
machine is busy with other things), the one that needs less of it for an I/O gives more
([what an operation costs](../performance.md)).
"""


def page(compared: Mapping[str, Compared], directory: Path, rounds: int, seconds: float) -> str:
    """Write the page.

    Args:
        compared: What came out, by the name of the pair.
        directory: Where; its file system is named.
        rounds: Of each pair.
        seconds: Of each run.
    """
    sections = "\n".join("\n".join(_section(pair)) for pair in PAIRS)
    rows = "".join(
        f"| {pair.title} | {found.iops:,.0f} | {found.by_fio} | {found.fio_by_itself} |\n"
        for pair in PAIRS
        if (found := compared.get(pair.name))
    )
    measured = _MEASURED.format(
        where=_file_system(directory),
        rounds=rounds,
        seconds=seconds,
        tools=versions().split(", elbencho", maxsplit=1)[0],
        machine=f"Linux {platform.release()}",
    )
    return f"{_HEAD}\n{sections}\n{SEARCH}\n{measured}{rows}{_WHY}"


def _section(pair: Pair) -> Iterator[str]:
    yield f"## {pair.title}\n"
    yield "```sh"
    yield shlex.join(fio_words(pair, _DIRECTORY, _SECONDS, compared=False))
    yield shlex.join(assay_words(pair, _DIRECTORY, _SECONDS))
    yield "```\n"
    yield textwrap.fill(pair.differs, _COLUMNS, break_long_words=False, break_on_hyphens=False) + "\n"


def _file_system(directory: Path) -> str:
    found = subprocess.run(
        ["findmnt", "--noheadings", "--output", "FSTYPE,SOURCE", "--target", directory],
        capture_output=True,
        text=True,
        check=False,
    )
    kind, _, source = found.stdout.strip().partition(" ")
    return f"{kind} on {Path(source.strip()).name}" if kind else "a file system of this machine"
