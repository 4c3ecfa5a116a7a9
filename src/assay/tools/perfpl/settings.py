"""What a command line of perf.pl asks for.

BLOCKSIZE BLOCKSPERFILE TOTALFILES FILESPERDIR ITERATIONS [--mode native|fork] [--fsync] [--sync] [--dir DIR]
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import InputError
from assay.plan.limits import NUMBERS
from assay.tools.arguments import Arguments, whole_number

USAGE = "BLOCKSIZE BLOCKSPERFILE TOTALFILES FILESPERDIR ITERATIONS [--mode native|fork] [--fsync] [--sync] [--dir DIR]"
NATIVE = "native"
FORK = "fork"

CREATE, WRITE, FSYNC, CLOSE = "create", "write", "fsync", "close"
DD = "dd"

_LARGEST_BLOCK_BYTES = 1 << 30
_MOST_ITERATIONS = 1000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one command line asks for."""

    block_size_bytes: int
    blocks_per_file: int
    files: int
    files_per_directory: int
    iterations: int
    mode: str
    """`NATIVE` or `FORK`."""
    fsync: bool
    """Flush each file before its close, inside its time."""
    sync: bool
    """Flush the file system at the end of each iteration, inside its time."""
    directory: str
    """As written; `.` if the command line has none."""

    @property
    def file_bytes(self) -> int:
        """Size of one file."""
        return self.block_size_bytes * self.blocks_per_file

    @property
    def capacity_bytes(self) -> int:
        """What one iteration writes."""
        return self.file_bytes * self.files

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the operations that a file's life is recorded as, in order."""
        if self.mode == FORK:
            return (DD,)
        return (CREATE, WRITE, *((FSYNC,) if self.fsync else ()), CLOSE)

    def dd(self, path: str) -> tuple[str, ...]:
        """Give the program and arguments that make one file."""
        flush = ("conv=fsync",) if self.fsync else ()
        sizes = (f"bs={self.block_size_bytes}", f"count={self.blocks_per_file}")
        return (DD, "if=/dev/zero", f"of={path}", *sizes, *flush)

    @property
    def directories(self) -> int:
        """Directories that hold the files."""
        return -(-self.files // self.files_per_directory)


def parse(argv: Sequence[str]) -> Settings:
    """Read a command line; raises InputError for anything that is not supported."""
    reader = Arguments("perfpl", USAGE)
    for name in ("BLOCKSIZE", "BLOCKSPERFILE", "TOTALFILES", "FILESPERDIR", "ITERATIONS"):
        reader.add_argument(name)
    reader.add_argument("--mode", choices=(NATIVE, FORK), default=NATIVE)
    reader.add_argument("--fsync", action="store_true")
    reader.add_argument("--sync", action="store_true")
    reader.add_argument("--dir", default=".")
    asked = reader.read(argv)
    settings = Settings(
        block_size_bytes=whole_number(asked["BLOCKSIZE"], "BLOCKSIZE (bytes)"),
        blocks_per_file=whole_number(asked["BLOCKSPERFILE"], "BLOCKSPERFILE"),
        files=whole_number(asked["TOTALFILES"], "TOTALFILES", most=NUMBERS["files"].most),
        files_per_directory=whole_number(asked["FILESPERDIR"], "FILESPERDIR", most=NUMBERS["files"].most),
        iterations=whole_number(asked["ITERATIONS"], "ITERATIONS"),
        mode=asked["mode"],
        fsync=asked["fsync"],
        sync=asked["sync"],
        directory=asked["dir"],
    )
    if settings.block_size_bytes > _LARGEST_BLOCK_BYTES:
        raise InputError(
            f"BLOCKSIZE is {settings.block_size_bytes} bytes; one write takes at most {_LARGEST_BLOCK_BYTES} (1 GiB):"
            " use more blocks per file"
        )
    if settings.file_bytes > NUMBERS["size"].most:
        raise InputError(f"BLOCKSIZE and BLOCKSPERFILE make files of {settings.file_bytes} bytes; the limit is 4 EiB")
    if settings.iterations > _MOST_ITERATIONS:
        raise InputError(f"ITERATIONS is {settings.iterations}; one run takes at most {_MOST_ITERATIONS}")
    return settings
