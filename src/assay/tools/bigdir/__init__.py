"""`assay bigdir`: one growing directory."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.plan import Origin, Plan
from assay.targets import Need, check_directory, directories
from assay.tools.bigdir.plan import to_plan
from assay.tools.bigdir.settings import Settings, parse
from assay.tools.front_end import FrontEnd
from assay.tools.named_files import NO_FILES, Files


class BigDir(FrontEnd[Settings]):
    """The test of one big directory: make entries, list them all after every step.

    \b
    assay bigdir COUNT [STEP]
    COUNT            entries to make, by each client
    STEP             entries from one listing to the next [default: 1]
    --type dir|file  what an entry is: a directory (mkdir) or an empty file
    --files          the same as --type file
    --readdir-only   list names only [default: also stat each entry]
    --clients N      clients at once, each in its own directory [default: 1]
    --dir DIR        directory to measure [default: the working directory]
    --json  --no-report  --quiet  --strict  --runs DIR  --user NAME
    --name NAME  --tag TAG  --note TEXT  --live-json FILE  --require-trust LEVEL
    --wait-quiet TIME
                     as with every command that measures

    Standard output is the tool's CSV, with several clients the mean over them. The report has the curves with the
    fastest and slowest client. See docs/tools/bigdir.md.
    """  # noqa: D301 - click keeps the lines after this sign as they are

    name = "bigdir"
    own_options = frozenset({"--clients"})
    shims = ("bigdir",)
    room_cure = "use a smaller COUNT, or fewer clients"

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read the command line."""
        return parse(words)

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan."""
        return to_plan(settings, origin, check_directory(settings.directory))

    def needs(self, settings: Settings, plan: Plan) -> Iterable[Need]:
        """Count the inodes: one for each entry."""
        return [Need(place, inodes=settings.count * settings.clients) for place in directories(plan).values()]


FRONT_END = BigDir()
