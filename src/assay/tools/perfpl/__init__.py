"""`assay perfpl`: the small-file script perf.pl."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.plan import Origin, Plan
from assay.targets import Need, check_directory, directories
from assay.tools.front_end import FrontEnd
from assay.tools.named_files import NO_FILES, Files
from assay.tools.perfpl.plan import to_plan
from assay.tools.perfpl.settings import DD, Settings, parse


class PerfPl(FrontEnd[Settings]):
    """The small-file test perf.pl: blocks written to few or many files.

    \b
    assay perfpl BLOCKSIZE BLOCKSPERFILE TOTALFILES FILESPERDIR ITERATIONS
    BLOCKSIZE        bytes of one write
    BLOCKSPERFILE    writes of each file
    TOTALFILES       files of each iteration
    FILESPERDIR      files of each directory
    ITERATIONS       repetitions, each in a fresh tree
    --mode MODE      native: create, write and close [default]; fork: a process of dd
                     for each file, as the script does
    --fsync          flush each file before its close, in the time
    --sync           flush the file system after each iteration, in the time
    --dir DIR        directory to measure [default: the working directory]
    --json  --no-report  --quiet  --strict  --runs DIR  --user NAME
    --name NAME  --tag TAG  --note TEXT  --live-json FILE  --require-trust LEVEL
    --wait-quiet TIME
                     as with every command that measures

    Standard output is the script's: its clock counts whole seconds, and its last row is a mean of rates. Standard error
    has the exact values, without the warm-up. Numbers of the two modes do not compare. See docs/tools/perfpl.md.
    """  # noqa: D301 - click keeps the lines after this sign as they are

    name = "perfpl"
    shims = ("perf.pl", "perfpl")
    own_programs = frozenset({DD})
    room_cure = "use fewer or smaller files"

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read the command line."""
        return parse(words)

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan."""
        return to_plan(settings, origin, check_directory(settings.directory))

    def needs(self, settings: Settings, plan: Plan) -> Iterable[Need]:
        """One iteration's files lie there at a time."""
        inodes = settings.files + settings.directories
        return [Need(place, settings.capacity_bytes, inodes) for place in directories(plan).values()]


FRONT_END = PerfPl()
