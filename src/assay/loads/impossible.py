"""Find what can never work in a load, however large, fast or empty the storage is.

Looked for before anything is laid out, whoever made the Plan; the refusals name phase, job and operation, so that those of
load files get file and line (`refusals.py`). What depends on the kernel or on a backend the engine refuses, before it lays
out too (`engine/src/program`); what depends on the file system shows when the first file is open.

Limits: sizes that are drawn and files of drawn sizes are not looked at, but for O_DIRECT, where hardly a draw would fit.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from assay import plan
from assay.errors import PlanError
from assay.plan.op_rules import MOVES_DATA
from assay.plan.phases import check_steady
from assay.plan.walk import job_actions, job_ops
from assay.units import format_bytes, format_seconds

SECTOR_BYTES = 512
"""Offsets and sizes of O_DIRECT are multiples of a device's logical block, and that is a multiple of this."""

_ENDING_PICKS = plan.New | plan.Existing | plan.Listed | plan.Shuffled


def check(made: plan.Plan, words: Mapping[str, str] = MappingProxyType({})) -> None:
    """Look at every phase; raises PlanError with the first thing that cannot work.

    Args:
        made: The Plan.
        words: What its `size`, `direct` and so on are called where it was asked for.
    """
    sets = {file_set.name: file_set for file_set in made.file_sets}
    for phase in made.phases:
        check_steady(phase, made.sample_interval_s)
        for why in (*_of_time(phase), *_of_ends(phase), *_of_teams(phase), *_of_sizes(phase, sets, words)):
            raise PlanError(f"phase '{phase.name}'{why}")


def _of_time(phase: plan.Phase) -> Iterator[str]:
    """The ramp is cut from what is measured, so something has to be left."""
    jobs = [job.longest_s for job in phase.jobs]
    of_jobs = None if None in jobs else max(seconds for seconds in jobs if seconds is not None)
    ends = [seconds for seconds in (phase.stop.seconds, of_jobs) if seconds is not None]
    if phase.ramp_s and ends and phase.ramp_s >= min(ends):
        yield (
            f": ramp is {format_seconds(phase.ramp_s)}, and the phase lasts {format_seconds(min(ends))}: nothing is left to"
            " measure; take a shorter one"
        )


def _of_ends(phase: plan.Phase) -> Iterator[str]:
    if _has_rule(phase.stop):
        return
    for job in phase.jobs:
        if isinstance(job.arrival, plan.Open | plan.OpenShare) and not _has_rule(job.stop) and not _runs_out(job):
            yield f", job '{job.name}': arrival goes on without an end; give the phase or the job seconds, or a stop"


def _of_teams(phase: plan.Phase) -> Iterator[str]:
    for job in phase.jobs:
        if job.ends is plan.Ends.TEAM and not job.team:
            yield f", job '{job.name}': ends is 'team', and it is in none; give it and the others a team"


def _has_rule(stop: plan.Stop) -> bool:
    return any(rule is not None for rule in (stop.seconds, stop.ops, stop.bytes, stop.passes))


def _runs_out(job: plan.Job) -> bool:
    """Whether something in its body ends it."""
    if isinstance(job.body, plan.Script) or any(isinstance(action, plan.FinishOn) for action in job_actions(job)):
        return True
    return any(
        getattr(op.access, "wrap", True) is False
        or getattr(op.access, "coverage", None) is plan.Coverage.EACH_ONCE
        or (isinstance(op.file, plan.FromSet) and isinstance(op.file.pick, _ENDING_PICKS))
        for op in job_ops(job)
    )


def _of_sizes(phase: plan.Phase, sets: dict[str, plan.FileSet], words: Mapping[str, str]) -> Iterator[str]:
    for job in phase.jobs:
        if isinstance(job.body, plan.Script):
            continue
        for op in job_ops(job):
            if op.op not in MOVES_DATA:
                continue
            file_set = sets[op.file.set] if isinstance(op.file, plan.FromSet) else None
            where = f", job '{job.name}': operation '{op.name}'"
            if why := _too_large(op, file_set, job.workers):
                yield f"{where}: {why}"
            if job.open.direct is plan.Direct.ON and (why := _not_direct(op, file_set, words)):
                yield f"{where}: {why}"


def _too_large(op: plan.Op, file_set: plan.FileSet | None, workers: int) -> str:
    """Report a transfer that is larger than its file."""
    if file_set is None or not isinstance(op.size, plan.Fixed) or not isinstance(file_set.size, plan.Fixed):
        return ""
    room, what = file_set.size.value, "its files have"
    match getattr(op.access, "region", None):
        case plan.Range(from_bytes=begin, length_bytes=length):
            if begin + length > room:
                return (
                    f"its range ends at byte {begin + length:,}, and its files have {room:,.0f} bytes; take a smaller range,"
                    " or a larger file"
                )
            room, what = length, "its range has"
        case plan.Slice():
            room, what = room // workers, f"the part of each of {workers} workers has"
        case None:  # appended, or a whole file
            return ""
    if op.size.value <= room:
        return ""
    return (
        f"its size is {format_bytes(op.size.value)}, and {what} {format_bytes(room)}; take a smaller size, a larger"
        " file, or access 'whole'"
    )


def _not_direct(op: plan.Op, file_set: plan.FileSet | None, words: Mapping[str, str]) -> str:
    """Report numbers that O_DIRECT does not take."""
    direct = words.get("direct", "direct")
    pieces = max(1, op.flags.vectors)
    for key, value in _direct_numbers(op, file_set):
        number = value / pieces if key == "size" else value
        if number % SECTOR_BYTES:
            parts = f" in {pieces} vectors" if pieces > 1 and key == "size" else ""
            return (
                f"{words.get(key, key)} is {value:,.15g} bytes{parts}; {direct} moves multiples of {SECTOR_BYTES} bytes,"
                " from offsets and in files that are such too"
            )
    if not (isinstance(op.size, plan.Fixed) or _is_of_points(op.size) or _chunk_bytes(op.access)):
        size = words.get("size", "size")
        return f"{size} is drawn, and {direct} moves multiples of {SECTOR_BYTES} bytes; write a fixed size, or rows of some"
    return ""


def _is_of_points(size: plan.Distribution) -> bool:
    return isinstance(size, plan.Tabular) and all(least == most for _, least, most in size.rows)


def _chunk_bytes(access: plan.Access) -> int:
    return access.chunk_bytes if isinstance(access, plan.Whole) else 0


def _direct_numbers(op: plan.Op, file_set: plan.FileSet | None) -> Iterator[tuple[str, float]]:
    access = op.access
    if _chunk_bytes(access):
        yield "chunk", _chunk_bytes(access)
    elif isinstance(op.size, plan.Fixed):
        yield "size", op.size.value
    elif isinstance(op.size, plan.Tabular):
        yield from (("size", bound) for _, *bounds in op.size.rows for bound in bounds)
    if isinstance(access, plan.RandomAccess):
        yield "align", access.align_bytes
    if isinstance(access, plan.Stride):
        yield "stride", access.stride_bytes
    region = getattr(access, "region", None)
    if isinstance(region, plan.Range):
        yield "from", region.from_bytes
        yield "length", region.length_bytes
    elif (
        isinstance(access, plan.Sequential | plan.SharedStream | plan.Backward)
        and file_set
        and isinstance(file_set.size, plan.Fixed)
    ):
        yield f"the size of file set '{file_set.name}'", file_set.size.value
