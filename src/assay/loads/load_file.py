"""Define the fields of a load file that are spelled differently from the Plan.

The tables here are the friendlier shapes of `Phase`, `Job` and `Op`; `native.py` turns each into its Plan
type. Everything below them (distributions, accesses, steps, ...) is read as the Plan types themselves. A key is the
field's name without its unit (`ramp_s` is written `ramp`), because the value carries the unit: `ramp = "2s"`.
"""

import enum
import functools
from typing import NamedTuple

import msgspec

from assay import plan
from assay.plan import limits

TARGET = "target"
"""Name of the directory that the command line names."""


class Unit(enum.Enum):
    """What a number means where a load file gives one."""

    NUMBER = "number"
    BYTES = "size"
    SECONDS = "time"
    POSITION = "position"


class LoadTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the shapes that only a load file has."""


class LoadFile(LoadTable, frozen=True, kw_only=True):
    """The file as a whole."""

    name: str
    """Short name of the load, used in the run's folder name."""
    description: str = ""
    """One line for people."""
    answers: str = ""
    """The question that the load answers, in a line; the report has it."""
    void_if: str = ""
    """What would make that answer void, in a line; the report has it."""
    seed: int = 1
    """Seed of every random choice; the same seed gives the same sequence of operations."""
    sample_interval_s: float | None = None
    """Length of one interval of the record; unset: a thirtieth of the shortest timed phase, between 25 ms and 1 s; longer in
    runs of more than 10,000 s, for 10,000 intervals or so, where the shortest phase still has thirty. At most 100,000 in all
    timed phases together."""
    reserve_bytes: int = plan.RESERVE_BYTES
    """What must stay free on every target."""
    accept: tuple[str, ...] = ()
    """Ids of findings that you know of, current or earlier ones: they are notes, and cost no trust, unless they make a
    number unusable."""
    parameters: dict[str, str | int | float | bool] = msgspec.field(default_factory=dict)
    """Names and default values; `"${name}"` is replaced by the value anywhere else, `--set name=value` replaces it."""
    scale: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    """Parameters that `--scale F` multiplies by F, each with the least that it becomes: sizes, times, counts."""
    target: tuple[plan.Target, ...] = ()
    """Further targets. The directory of the command line is always there, as `target`; one without `uri` lies there, too,
    unless `--target NAME=DIR` names another."""
    file_set: tuple[plan.FileSet, ...] = ()
    """The files that the load works on."""
    rounds: plan.Rounds | None = None
    """Repeat the phases in rounds until results are steady."""
    phase: tuple[plan.Phase, ...]
    """What happens, in order."""


class TargetTable(LoadTable, frozen=True, kw_only=True):
    """A further place that stores data. Whether a device may be overwritten is for the command line alone to say."""

    name: str
    """Name that file sets refer to."""
    uri: str = ""
    """Its address: `file:///absolute/dir`, or `block:/dev/name`; unset: the command line's directory, or `--target`'s."""


class PhaseTable(LoadTable, frozen=True, kw_only=True):
    """One barrier-to-barrier part of a run; its jobs start together."""

    name: str
    """Key of its results."""
    each: dict[str, list[object]] = msgspec.field(default_factory=dict)
    """Make the phase for each combination of these values, the last name changing fastest: with `each = { block = ["4KiB",
    "8KiB"] }`, `${block}` is replaced anywhere in the phase, its `name` too. A value may be a table: `mix = [{ read = 95,
    write = 5 }]` and `${mix.read}`."""
    once: bool = False
    """With `[rounds]`: done before the first round, and not repeated."""
    skip_if_unaligned: bool = False
    """Left out on a block device whose logical blocks are larger than the sizes of its direct I/O; the run reports that."""
    title: str = ""
    """What a person reads in the table; unset: the name."""
    stands_for: str = ""
    """Uses of storage that it represents, in a line for the report."""
    cell: plan.TableCell | None = None
    """Place of its result in a table of several phases, which runs in rounds print."""
    job: tuple[plan.Job, ...]
    """What runs."""
    cache: plan.CacheCondition = plan.CacheCondition.AS_IS
    """Client cache wanted. `cold` evicts the sets that the phase uses, `warm` reads them, right before the start."""
    drop_caches: bool = False
    """With `cache = "cold"`: also drop the page cache, dentries and inodes of the whole machine. Needs root."""
    before: tuple[plan.Step, ...] = ()
    """Done in order before the start, after layout and ahead of what `cache` adds."""
    after: tuple[plan.Step, ...] | None = None
    """Done in order after all workers have stopped. Unset: `sync`, where no flush follows some of what the phase changes,
    so that its result has the rate up to the end of that flush, too (`committed`)."""
    seconds: float | None = None
    """Short for `stop = {seconds = ...}`."""
    stop: plan.Stop | None = None
    """When the phase ends, on top of each job's own rule."""
    extend_to_s: float | None = None
    """Longest time: where the rate is not steady after `seconds`, the phase goes on until it is, or until then."""
    steady: plan.SteadyRule | None = None
    """The phase ends as soon as what all its jobs do together is even by this rule."""
    confirm: bool = False
    """Whether the same follows with half and with twice as many in flight (queue depth, else workers), so that what limits
    that is certain."""
    ramp_s: float = 0.0
    """Time from the start that is recorded but kept out of the headline."""


class JobTable(LoadTable, frozen=True, kw_only=True, rename={"kind": "as"}):
    """Identical workers. One of `op`, `loop` and `script` defines what each of them does."""

    name: str = ""
    """Key of its results; unset: the phase's name (for the only job of a phase)."""
    op: plan.Op | None = None
    """One operation, again and again."""
    loop: tuple[plan.Action, ...] = ()
    """Actions in order, again and again."""
    script: plan.Script | None = None
    """An explicit list of operations in a file next to the load file or below its folder, not behind a link."""
    workers: int = 1
    """How many."""
    kind: plan.WorkerKind = plan.WorkerKind.THREAD
    """What a worker is."""
    arrival: plan.Arrival = plan.Closed()
    """When operations are due."""
    backend: plan.Backend = plan.Psync()
    """How data operations reach the kernel."""
    queue_depth: int = 1
    """I/Os that each worker keeps in flight; 1 is synchronous."""
    batch: plan.Batch = plan.Batch()
    """How many requests of a queue go together."""
    direct: plan.Direct = plan.Direct.OFF
    """O_DIRECT; `true` and `false` mean `on` and `off`."""
    sync: bool = False
    """O_SYNC."""
    dsync: bool = False
    """O_DSYNC."""
    append: bool = False
    """O_APPEND."""
    no_access_time: bool = False
    """O_NOATIME where allowed."""
    advice: str = ""
    """POSIX_FADV_ name applied after open."""
    cpus: tuple[int, ...] = ()
    """CPU numbers; worker i gets entry i modulo the length. Empty: the scheduler chooses."""
    numa_node: int | None = None
    """NUMA node of CPUs and buffers."""
    huge_pages: bool = False
    """The buffers of its workers lie in huge pages of 2 MiB (MAP_HUGETLB), at least one a worker. Refused where too few are
    free (`sysctl vm.nr_hugepages`)."""
    limit: plan.RateLimit = plan.RateLimit()
    """Limits that pace a closed loop."""
    seconds: float | None = None
    """Short for `stop = {seconds = ...}`."""
    stop: plan.Stop | None = None
    """When a worker of this job is done."""
    delay_s: float = 0.0
    """Time between the common start and the start of this job; its own time counts from there."""
    ends: plan.Ends = plan.Ends.NOTHING
    """What else ends when the first worker of this job is done: the other jobs of its team, or all of the phase."""
    team: str = ""
    """Name that the jobs of a team have in common."""
    timed: tuple[str, ...] = ()
    """Names of the operations and groups that are recorded; empty: all."""


class OpTable(LoadTable, frozen=True, kw_only=True):
    """An operation."""

    op: plan.OpKind
    """What is done; operations.md describes what each one works on."""
    name: str = ""
    """Key of its histogram; unset: the kind of operation."""
    set: str = ""
    """File set to pick from; without it `slot` must name the file."""
    pick: plan.Pick | None = None
    """Which file of the set; unset: `new` for create and mkdir, `existing` for unlink, rmdir and rename, else
    `next`."""
    slot: int | None = None
    """With `set`: keeps the file for later operations of the worker. Without: the file that one of them kept."""
    access: plan.Access = plan.Sequential()
    """Where in the file (data operations)."""
    size: plan.Distribution | None = None
    """Bytes of one operation; required for read and write. Laws without a bound are cut where at most one draw in a million
    lies above; below 1 byte becomes 1 byte. For spawn: what the program moves, if you know it."""
    dsync: bool = False
    """RWF_DSYNC on this operation alone."""
    nowait: bool = False
    """RWF_NOWAIT: fail instead of waiting; each EAGAIN counts as an error and has no latency."""
    cached_first: bool = False
    """A read is tried with RWF_NOWAIT first, which the page cache alone answers, and made again where it does not: what each
    of them delivered is the hit ratio. The latency is of both (backend psync)."""
    high_priority: bool = False
    """RWF_HIPRI."""
    vectors: int = 0
    """Pieces of a vectored call; 0 or 1: plain."""
    keeps_buffer: bool = False
    """A write gives what its buffer holds (content of the set at first, then what was read into it last) with one more byte
    changed each time, instead of new content: it costs the client less, and storage can deduplicate it."""
    cold_buffer: bool = False
    """The memory of a read or write is out of the processor's caches when the call is made; what that takes is in no
    latency (x86-64)."""
    chunk_bytes: int = 0
    """Longest piece in which a read or write moves, one call after the other (backends psync, read_write and stdio); 0: in
    one call. It stays one operation with one latency."""
    advice: str = ""
    """POSIX_FADV_ or MADV_ name for `advise`, the short form in lower case too; `wait` for `sync_file_range`."""
    argv: tuple[str, ...] = ()
    """Program and arguments of `spawn`; no shell. `{path}` in an argument is replaced by the file's absolute path. The
    program is an absolute path, or a name without a slash, which is looked for in PATH before the run."""


SHAPES: dict[type[msgspec.Struct], type[msgspec.Struct]] = {
    plan.Target: TargetTable,
    plan.Phase: PhaseTable,
    plan.Job: JobTable,
    plan.Op: OpTable,
}
"""The load file's own shape of a Plan type."""

DEFAULTS: dict[type[msgspec.Struct], dict[str, object]] = {
    # An empty path becomes the set's name.
    plan.FileSet: {"target": TARGET, "path": "", "files": 1},
}
"""What a load file may leave out although the Plan may not."""


def key_of(field: msgspec.structs.FieldInfo) -> str:
    """Return the spelling of a field in a load file."""
    return key_named(field.encode_name)


def key_named(name: str) -> str:
    """Return the spelling of a field name in a load file: without its unit, except for rates."""
    if name.endswith("_per_s"):
        return name
    return name.removesuffix("_bytes").removesuffix("_s")


class Meaning(NamedTuple):
    """Meaning of a number at its place in a load file."""

    unit: Unit = Unit.NUMBER
    limits: str = ""
    """Name of its row in `plan.limits`."""


LISTS = {"file_set": "file_sets", "job": "jobs", "loop": "actions", "phase": "phases", "target": "targets"}
"""Lists that a load file spells otherwise than the Plan."""


def meaning_of(owner: type[msgspec.Struct], field: str, inherited: Meaning) -> Meaning:
    """Describe what a field means; `inherited` is the place where a distribution is."""
    if owner in plan.Distribution.__args__ and field in limits.DRAWN:
        return inherited
    return Meaning(unit_of(owner, field, inherited.unit), LISTS.get(field, field))


def unit_of(owner: type[msgspec.Struct], field: str, inherited: Unit) -> Unit:
    """Describe the unit of a field; `inherited` is that of the place where a distribution is."""
    if owner in plan.Distribution.__args__:
        return inherited if field in limits.DRAWN else Unit.NUMBER
    if field in {"bytes", "bytes_per_s", "size"} or field.endswith("_bytes"):
        return Unit.BYTES
    if field == "seconds" or (field.endswith("_s") and not field.endswith("_per_s")):
        return Unit.SECONDS
    return Unit.POSITION if field == "distribution" else Unit.NUMBER


@functools.cache
def fields_of(member: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """List the fields of a struct: msgspec looks its annotations up anew each time, a quarter of the time of a load file."""
    return msgspec.structs.fields(member)


def main_field(member: type[msgspec.Struct]) -> msgspec.structs.FieldInfo | None:
    """Find the field that `{kind = value}` gives: the first, if it must be given or is a text."""
    fields = fields_of(member)
    return fields[0] if fields and (fields[0].required or fields[0].type is str) else None


def tag_of(member: type[msgspec.Struct]) -> str:
    """Return the `kind` of a member of a tagged union."""
    return str(member.__struct_config__.tag)
