"""The workers that a job of fio means, when they run, and which files they share.

fio makes a process of each of `numjobs`, with files of its own unless the names are shared. Those that differ by
together, and differ in nothing but their file, are one job of the Plan with several workers; each other one is a job of its
own, so that a rate, an offset and a row are that worker's.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.errors import InputError
from assay.targets import BLOCK
from assay.tools.arguments import cut
from assay.tools.fio.job_settings import JobSettings

FileName = tuple[str, str]
"""Directory and name, as in the options; files that are named by a pattern are represented by the pattern. A block device is
the one file of a directory that is called as a target on it is."""
_MOST_JOBS = 10_000


@dataclass(frozen=True)
class JobInstance:
    """One or several workers of a job that are one job of the Plan."""

    settings: JobSettings
    name: str
    """In the Plan, where no other has it."""
    number: int
    """Of the first of them, among those of its section."""
    workers: int
    files: tuple[FileName, ...]
    phase: int


def instances(jobs: Sequence[JobSettings]) -> list[JobInstance]:
    """Make the jobs of the Plan; raises InputError where there are too many, or where what one waits for is not there."""
    if (asked := sum(job.instances for job in jobs)) > _MOST_JOBS:
        raise InputError(f"fio: these are {asked} jobs, with numjobs; the limit is {_MOST_JOBS}")
    phases = _phases(jobs)
    named = [[_names(job, number) for number in range(job.instances)] for job in jobs]
    users = Counter(name for of_job in named for name in {name for names in of_job for name in names})
    taken: dict[str, int] = {}
    made = []
    for job, phase, files in zip(jobs, phases, named, strict=True):
        if _are_alike(job) and all(users[name] == 1 for names in files for name in names):
            together = tuple(dict.fromkeys(name for names in files for name in names))
            if len(together) in {1, job.instances}:
                made.append(JobInstance(job, _free(job.name, taken), 0, job.instances, together, phase))
                continue
        made += [
            JobInstance(job, _free(job.name, taken), number, 1, names, phase) for number, names in enumerate(files)
        ]
    return made


def groups(jobs: Sequence[JobSettings]) -> list[int]:
    """Number the groups of jobs: a new one begins with a stonewall or new_group."""
    group, found = 0, list[int]()
    for place, job in enumerate(jobs):
        group += bool(place and (job.stonewall or job.new_group))
        found.append(group)
    return found


def _are_alike(job: JobSettings) -> bool:
    return (
        job.instances > 1
        and job.group_reporting
        and job.files.count == 1
        and not any(job.rates)
        and not job.size.offset_increment_bytes
        and not job.is_metadata
    )


def _free(name: str, taken: dict[str, int]) -> str:
    """Find a name that no other job has; `taken` has the number that each was tried with last."""
    base = name[:200] or "job"
    number = taken.get(base, 0) + 1
    while (found := base if number == 1 else f"{base}-{number}") in taken:
        number += 1
    taken[base] = number
    taken.setdefault(found, 1)
    return found


def _names(job: JobSettings, number: int) -> tuple[FileName, ...]:
    files = job.files
    if files.device_bytes:
        return ((f"{BLOCK}{files.names[0]}", "device"),)
    if files.names:
        return tuple((files.directory, _check_name(job, name)) for name in files.names)
    words = files.name_format.replace("$jobname", job.name.replace("/", "_")).replace("$jobnum", str(number))
    if files.count > 1 and "$filenum" not in words:
        raise InputError(
            f"fio: {job.where}: 'filename_format' gives its {files.count} files one name; put $filenum into it"
        )
    return ((files.directory, _check_name(job, words)),)


def _check_name(job: JobSettings, name: str) -> str:
    """Give a name of a file, which is one below the job's directory; raises InputError."""
    path = PurePosixPath(name)
    shown = f"fio: {job.where}: job '{cut(job.name)}': filename '{cut(name)}'"
    if path.is_absolute() and not job.files.directory:
        raise InputError(
            f"{shown} leads out of the directory, and Assay writes only in a folder of its own; use directory={path.parent}"
            f" and filename={path.name}"
        )
    if ".." in path.parts:
        raise InputError(f"{shown} leads out of the directory with '..'; name a file in it")
    return str(path).lstrip("/")


# -- when --------------------------------------------------------------------------------------------------------------


def _phases(jobs: Sequence[JobSettings]) -> list[int]:
    """Give each job its phase: behind a stonewall when all before are through, behind `wait_for` when that job is."""
    base, found = 0, list[int]()
    for place, job in enumerate(jobs):
        if job.stonewall and place:
            base = max(found) + 1
        at = base
        if job.wait_for:
            before = [phase for other, phase in zip(jobs, found, strict=False) if other.name == job.wait_for]
            if not before:
                raise InputError(f"fio: {job.where}: 'wait_for={cut(job.wait_for)}' names no earlier job")
            at = max(base, before[-1] + 1)
        found.append(at)
    for job, phase in zip(jobs, found, strict=True):
        same_phase = {other.name for other, at in zip(jobs, found, strict=True) if at == phase - 1}
        if job.wait_for and phase and same_phase - {job.wait_for}:
            raise InputError(
                f"fio: {job.where}: 'wait_for={cut(job.wait_for)}' is not supported while"
                f" '{cut(min(same_phase - {job.wait_for}))}'"
                " runs at the same time: the jobs of a phase are waited for together; use stonewall"
            )
    return found


def one_value(members: Iterable[JobInstance], what: str, values: Iterable[object], cure: str) -> None:
    """Raise InputError where the jobs of a phase differ in what a phase has once."""
    first: object = None
    for member, value in zip(members, values, strict=True):
        if first is None:
            first = value
        elif value != first:
            raise InputError(
                f"fio: {member.settings.where}: '{what}' differs from that of a job of the same phase; {cure}"
            )
