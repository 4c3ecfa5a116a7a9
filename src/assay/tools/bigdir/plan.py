"""bigdir, the test of one growing directory: its command line -> a Plan.

    COUNT [STEP]

One worker makes COUNT sub-directories (or empty files) in one directory and lists all of it after every STEP entries.
Both are groups with laps, so that the time of each step and of each listing is in the bundle by itself. Clients are jobs of
one worker, each in a directory of its own, started together.
"""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay import plan
from assay.errors import InputError
from assay.tools.arguments import Arguments, whole_number

TOOL = "bigdir"
USAGE = "COUNT [STEP] [--type dir|file] [--files] [--readdir-only] [--clients N] [--dir DIR]"
DIRECTORIES = "dir"
FILES = "file"

MAKING = "making a step"
"""Group of the creates of one step."""
LISTING = "listing all"
"""Group of one enumeration."""
PHASE = "growing"

_SEED = 1
_MOST_CLIENTS = 1024
_FINE_INTERVAL_UP_TO = 50_000


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
    """Read a command line; raises InputError for anything that cannot be carried out as meant."""
    reader = Arguments(TOOL, USAGE)
    reader.add_argument("COUNT")
    reader.add_argument("STEP", nargs="?", default="1")
    reader.add_argument("--type", choices=(DIRECTORIES, FILES), default=None)
    reader.add_argument("--files", action="store_true")
    reader.add_argument("--readdir-only", action="store_true")
    reader.add_argument("--clients", default="1")
    reader.add_argument("--dir", default=".")
    asked = vars(reader.parse_args(list(argv)))
    if asked["files"] and asked["type"] == DIRECTORIES:
        raise InputError("bigdir: --files means --type file; leave --type dir or --files out")
    settings = Settings(
        count=whole_number(asked["COUNT"], "COUNT"),
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


def to_plan(argv: Sequence[str], directory: Path) -> plan.Plan:
    """Make the Plan of a command line for a directory; raises InputError as `parse` does."""
    settings = parse(argv)
    source = shlex.join(argv)
    names = [f"client{number:04d}" for number in range(1, settings.clients + 1)]
    phase = plan.Phase(
        name=PHASE,
        title=f"{settings.count} {'files' if settings.kind == FILES else 'directories'}, step {settings.step}",
        jobs=tuple(_job(settings, name) for name in names),
        before=tuple(plan.Prepare(set=name) for name in names),
    )
    return plan.Plan(
        name=TOOL,
        origin=plan.Origin(front_end=TOOL, source=source, sha256=hashlib.sha256(source.encode()).hexdigest()),
        seed=_SEED,
        targets=(plan.Target(name="target", uri=directory.resolve().as_uri()),),
        file_sets=tuple(_file_set(settings, name) for name in names),
        phases=(phase,),
        sample_interval_s=0.1 if settings.count * settings.clients <= _FINE_INTERVAL_UP_TO else 1.0,
    )


def settings_of(made: plan.Plan) -> Settings:
    """Read the settings again that a Plan was made from."""
    return parse(shlex.split(made.origin.source))


def _file_set(settings: Settings, name: str) -> plan.FileSet:
    return plan.FileSet(
        name=name,
        target="target",
        path=f"{TOOL}-{name}",
        files=settings.count,
        size=plan.Fixed(value=0.0),
        file_name="f{index}" if settings.kind == FILES else "d{index}",
        existing_share=0.0,
    )


def _job(settings: Settings, name: str) -> plan.Job:
    create = plan.Op(
        op=plan.OpKind.CREATE if settings.kind == FILES else plan.OpKind.MKDIR,
        name=settings.create,
        file=plan.FromSet(set=name, pick=plan.New()),
    )
    enumerate_all = plan.Op(
        op=plan.OpKind.READDIR if settings.readdir_only else plan.OpKind.READDIR_STAT,
        name=settings.enumerate,
        file=plan.FromSet(set=name, pick=plan.Next()),
    )
    step: tuple[plan.Action, ...] = (
        plan.Group(name=MAKING, actions=(plan.Repeat(times=settings.step, actions=(plan.Do(op=create),)),), laps=True),
        plan.Group(name=LISTING, actions=(plan.Do(op=enumerate_all),), laps=True),
    )
    actions: tuple[plan.Action, ...] = (plan.Repeat(times=settings.steps, actions=step),)
    if settings.entries_left:
        actions += (plan.Repeat(times=settings.entries_left, actions=(plan.Do(op=create),)),)
    return plan.Job(
        name=name,
        body=plan.Loop(actions=actions),
        stop=plan.Stop(passes=1),
        timed=(settings.create, settings.enumerate),
    )
