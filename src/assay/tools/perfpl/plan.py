"""perf.pl, the small-file test that writes the same bytes as few or many files: its command line -> a Plan.

    BLOCKSIZE BLOCKSPERFILE TOTALFILES FILESPERDIR ITERATIONS

Each iteration is a phase: one worker makes every file, in order, one directory after the other. The tree is laid out anew
before each; making its directories and deleting its files is not timed.

The script runs one `dd` for each file, so its time is mostly that of making processes. Mode `fork` does the same, and
`native` the same work without them: create, so many writes of a block, close, and incompressible content instead of
dd's zeros, which storage that compresses would not store. Numbers of the two do not compare, so the mode is always
printed.
"""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay import plan
from assay.errors import InputError
from assay.tools.arguments import Arguments, whole_number

TOOL = "perfpl"
USAGE = "BLOCKSIZE BLOCKSPERFILE TOTALFILES FILESPERDIR ITERATIONS [--mode native|fork] [--fsync] [--sync] [--dir DIR]"
NATIVE = "native"
FORK = "fork"

FILE = "file"
"""Name of the group that is one file."""
CREATE, WRITE, FSYNC, CLOSE = "create", "write", "fsync", "close"
DD = "dd"
PHASE = "files"

_SET = "files"
_SLOT = 0
_SEED = 1
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
        """Program and arguments that make one file."""
        flush = ("conv=fsync",) if self.fsync else ()
        sizes = (f"bs={self.block_size_bytes}", f"count={self.blocks_per_file}")
        return (DD, "if=/dev/zero", f"of={path}", *sizes, *flush)

    @property
    def directories(self) -> int:
        """Directories that hold the files."""
        return -(-self.files // self.files_per_directory)


def parse(argv: Sequence[str]) -> Settings:
    """Read a command line; raises InputError for anything that cannot be carried out as meant."""
    reader = Arguments(TOOL, USAGE)
    for name in ("BLOCKSIZE", "BLOCKSPERFILE", "TOTALFILES", "FILESPERDIR", "ITERATIONS"):
        reader.add_argument(name)
    reader.add_argument("--mode", choices=(NATIVE, FORK), default=NATIVE)
    reader.add_argument("--fsync", action="store_true")
    reader.add_argument("--sync", action="store_true")
    reader.add_argument("--dir", default=".")
    asked = vars(reader.parse_args(list(argv)))
    settings = Settings(
        block_size_bytes=whole_number(asked["BLOCKSIZE"], "BLOCKSIZE (bytes)"),
        blocks_per_file=whole_number(asked["BLOCKSPERFILE"], "BLOCKSPERFILE"),
        files=whole_number(asked["TOTALFILES"], "TOTALFILES"),
        files_per_directory=whole_number(asked["FILESPERDIR"], "FILESPERDIR"),
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
    if settings.iterations > _MOST_ITERATIONS:
        raise InputError(f"ITERATIONS is {settings.iterations}; one run takes at most {_MOST_ITERATIONS}")
    return settings


def to_plan(argv: Sequence[str], directory: Path) -> plan.Plan:
    """Make the Plan of a command line for a directory; raises InputError as `parse` does."""
    settings = parse(argv)
    source = shlex.join(argv)
    return plan.Plan(
        name=TOOL,
        origin=plan.Origin(front_end=TOOL, source=source, sha256=hashlib.sha256(source.encode()).hexdigest()),
        seed=_SEED,
        targets=(plan.Target(name="target", uri=directory.resolve().as_uri()),),
        file_sets=(_file_set(settings),),
        phases=tuple(_phase(settings, number) for number in range(settings.iterations)),
        sample_interval_s=0.2,
        untranslated=_untranslated(settings),
    )


def settings_of(made: plan.Plan) -> Settings:
    """Read the settings again that a Plan was made from."""
    return parse(shlex.split(made.origin.source))


def _untranslated(settings: Settings) -> tuple[plan.Untranslated, ...]:
    if settings.mode == FORK:
        return ()
    why = "files hold incompressible bytes instead of zeros, and no process is made for each of them"
    return (plan.Untranslated(what="dd if=/dev/zero", why=why),)


def _file_set(settings: Settings) -> plan.FileSet:
    return plan.FileSet(
        name=_SET,
        target="target",
        path=TOOL,
        files=settings.files,
        size=plan.Fixed(value=float(settings.file_bytes)),
        layout=plan.PerDirectory(files=min(settings.files_per_directory, settings.files)),
        file_name="file{index}",
        existing_share=0.0,
    )


def _phase(settings: Settings, number: int) -> plan.Phase:
    fresh: tuple[plan.Step, ...] = (plan.Prepare(set=_SET),)
    if number:
        fresh = (plan.Remove(set=_SET), *fresh)
    job = plan.Job(name=PHASE, body=plan.Loop(actions=(_one_file(settings),)))
    return plan.Phase(
        name=PHASE,
        title=f"{settings.files} files, {settings.files_per_directory} per directory",
        repeat=number,
        jobs=(job,),
        before=fresh,
        after=(plan.Sync(),) if settings.sync else (),
    )


def _one_file(settings: Settings) -> plan.Group:
    if settings.mode == FORK:
        return plan.Group(name=FILE, actions=(plan.Do(op=_program(settings)),))
    in_slot = plan.Slot(slot=_SLOT)
    create = plan.Op(op=plan.OpKind.CREATE, name=CREATE, file=plan.FromSet(set=_SET, pick=plan.New(), slot=_SLOT))
    write = plan.Op(
        op=plan.OpKind.WRITE,
        name=WRITE,
        file=in_slot,
        access=plan.Sequential(),
        size=plan.Fixed(value=float(settings.block_size_bytes)),
    )
    actions: list[plan.Action] = [plan.Do(op=create)]
    actions.append(plan.Repeat(times=settings.blocks_per_file, actions=(plan.Do(op=write),)))
    if settings.fsync:
        actions.append(plan.Do(op=plan.Op(op=plan.OpKind.FSYNC, name=FSYNC, file=in_slot)))
    actions.append(plan.Do(op=plan.Op(op=plan.OpKind.CLOSE, name=CLOSE, file=in_slot)))
    return plan.Group(name=FILE, actions=tuple(actions))


def _program(settings: Settings) -> plan.Op:
    return plan.Op(
        op=plan.OpKind.SPAWN,
        name=DD,
        file=plan.FromSet(set=_SET, pick=plan.New()),
        # Known here alone: dd ends with 0 only if it wrote all its blocks.
        size=plan.Fixed(value=float(settings.file_bytes)),
        flags=plan.OpFlags(argv=settings.dd("{path}")),
    )
