"""What a command line of bigdir asks for.

COUNT [STEP] [--type dir|file] [--files] [--readdir-only] [--clients N] [--dir DIR]
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import InputError
from assay.plan.limits import LISTS, NUMBERS
from assay.tools.arguments import Arguments, whole_number

USAGE = "COUNT [STEP] [--type dir|file] [--files] [--readdir-only] [--clients N] [--dir DIR]"
DIRECTORIES = "dir"
FILES = "file"

_MOST_CLIENTS = int(LISTS["jobs"].most)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one command line asks for."""

    count: int
    """Entries that each client makes."""
    step: int
    """Entries from one enumeration to the next."""
    kind: str
    """`dir` or `file`: what an entry is."""
    readdir_only: bool
    """List names alone, without looking at each entry."""
    clients: int
    directory: str
    """As written; `.` if the command line has none."""

    @property
    def steps(self) -> int:
        """Enumerations of each client."""
        return self.count // self.step

    @property
    def entries_left(self) -> int:
        """Entries made after the last enumeration: those of a step that is not whole."""
        return self.count % self.step

    @property
    def create(self) -> str:
        """Name of the operation that makes an entry."""
        return "create" if self.kind == FILES else "mkdir"

    @property
    def enumerate(self) -> str:
        """Name of the operation that lists the directory."""
        return "readdir" if self.readdir_only else "readdir_stat"


def parse(argv: Sequence[str]) -> Settings:
    """Read a command line; raises InputError for anything that is not supported."""
    reader = Arguments("bigdir", USAGE)
    reader.add_argument("COUNT")
    reader.add_argument("STEP", nargs="?", default="1")
    reader.add_argument("--type", choices=(DIRECTORIES, FILES), default=None)
    reader.add_argument("--files", action="store_true")
    reader.add_argument("--readdir-only", action="store_true")
    reader.add_argument("--clients", default="1")
    reader.add_argument("--dir", default=".")
    asked = reader.read(argv)
    if asked["files"] and asked["type"] == DIRECTORIES:
        raise InputError("bigdir: --files means --type file; leave --type dir or --files out")
    settings = Settings(
        count=whole_number(asked["COUNT"], "COUNT", most=NUMBERS["files"].most),
        step=whole_number(asked["STEP"], "STEP"),
        kind=FILES if asked["files"] else asked["type"] or DIRECTORIES,
        readdir_only=asked["readdir_only"],
        clients=whole_number(asked["clients"], "--clients"),
        directory=asked["dir"],
    )
    if settings.step > settings.count:
        raise InputError(
            f"STEP is {settings.step}, COUNT {settings.count}: nothing would be listed; use a smaller step"
        )
    if settings.clients > _MOST_CLIENTS:
        raise InputError(f"--clients is {settings.clients}; one machine starts at most {_MOST_CLIENTS}")
    return settings
