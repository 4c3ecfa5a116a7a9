"""`assay vxbench`: vxbench-style loads.

vxbench itself is proprietary and nothing of it was looked at. What is public about it (its workloads, the meaning of
`stride=` and `sleeptime=`, processes and threads, cache advisories) is kept; the rest is defined here and in
docs/tools/vxbench.md, and no claim is made that the original behaves the same.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from assay.errors import InputError
from assay.plan import Origin, Plan
from assay.targets import check_directory
from assay.tools.front_end import FrontEnd
from assay.tools.named_files import NO_FILES, Files
from assay.tools.vxbench.plan import to_plan
from assay.tools.vxbench.settings import NAME, Settings, parse


class VxBench(FrontEnd[Settings]):
    """Load files the way vxbench does, and print a line for each worker.

    \b
    assay vxbench -w WORKLOAD[,...] [-i KEY=VALUE,...] [-o MODE,...]
                  [-c ADVISORY,...] [-P | -p | -t] [-k | -M] [-s] [-v] FILE...

    \b
    -w  what every worker does, one after another: read write rand_read
        rand_write rand_mixed, asynchronous aread awrite arand_read
        arand_write arand_mixed, mapped mmap_read mmap_write, and sleep
    -i  sub-options; sizes in bytes, or with k m g t behind them:
        iosize=8k       bytes of one I/O
        iocount=1024    I/Os of each workload and repetition
        nrep=1          repetitions of the whole sequence
        nthreads=1      workers of each file
        stride=N        sequential I/O: only every Nth place of iosize bytes
        rdpct=50        per cent of reads of the mixed workloads
        sleeptime=S     seconds of a sleep
        startoffset=0   first byte of the range that I/O goes to
        maxfilesize=N   bytes of that range, else what one repetition reaches
        depth=8         I/Os in flight of an asynchronous worker
        seed=1          of random offsets, mixes and content
        fsync           flush the file behind each workload that writes
        remove          remove the files at the end
        cold            drop the files' pages before the start
        sparse          files begin as holes of full length, not as data
    -o  open modes: append direct dsync sync
    -c  cache advisories: direct dsync noreuse rand seq unbuffered
    -P  a process for each file, with its threads inside
    -p  a process for each worker
    -t  threads, the default
    -k  rates in KB/s (1024 bytes), the default; -M: in MB/s
    -s  the total alone; -v: also settings, files and each workload

    \b
    Also: --runs DIR, --user NAME, --json, --no-report, --quiet,
    --strict, --name NAME, --tag TAG, --note TEXT, --live-json FILE,
    --require-trust LEVEL, --wait-quiet TIME.

    FILE names the directory to measure and distinguishes files. Data lies in
    assay-data next to it; FILE itself is neither read nor written.
    """  # noqa: D301 - click keeps the lines after this sign as they are

    name = NAME
    shims = (NAME,)
    help_words = frozenset({"-h", "--help"})

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read the command line."""
        return parse(words)

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan."""
        return to_plan(settings, origin, [_directory_of(file) for file in settings.files])

    def source(self, words: Sequence[str]) -> str:
        """Write the command line, with the tool's name."""
        return shlex.join((NAME, *words))

    def words(self, source: str) -> Sequence[str]:
        """Read what `source` wrote."""
        return shlex.split(source)[1:]


def _directory_of(file: str) -> Path:
    """Give the directory that a file name points into; raises InputError where the name is none of a file."""
    path = Path(file)
    if file.endswith("/") or path.is_dir():
        raise InputError(f"vxbench: {file} is a directory; name a file in it, such as {path / 'file1'}")
    if path.is_block_device() or path.is_char_device():
        raise InputError(f"vxbench: {file} is a device, and Assay measures through directories; name a file on it")
    return check_directory(path.parent)


FRONT_END = VxBench()
