"""File sets of the Plan: the files that jobs share, and how they begin."""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from assay import plan
from assay.errors import InputError
from assay.tools.fio.amounts import amount
from assay.tools.fio.instances import FileName, JobInstance
from assay.tools.fio.job_settings import JobSettings

_FULL = 100


@dataclass(frozen=True)
class Placed:
    """The set that a job works on, and which of its files."""

    set: plan.FileSet
    files: Sequence[int]

    @property
    def is_whole(self) -> bool:
        """Whether it works on all of them."""
        return len(self.files) == self.set.files


def assign_files(members: Sequence[JobInstance], targets: Mapping[str, str]) -> dict[str, Placed]:
    """Give each job its files.

    Args:
        members: All jobs.
        targets: Names of targets by directory.

    Returns:
        By name of the job.

    Raises:
        InputError: two jobs need different initial states of one file.
    """
    found: dict[str, Placed] = {}
    for number, (names, users) in enumerate(_group_by_files(members)):
        # A pattern covers as many files as the job with most files has.
        counts = [1] * len(names)
        index = {name: place for place, name in enumerate(names)}
        for user in users:
            if len(user.files) == 1:
                place = index[user.files[0]]
                counts[place] = max(counts[place], user.settings.files.count)
        begins = list(itertools.accumulate(counts, initial=0))
        made = _file_set(number, names, users, targets[names[0][0]], begins[-1])
        for user in users:
            first = begins[index[user.files[0]]]
            is_pattern = len(user.files) == 1
            found[user.name] = Placed(
                made,
                range(first, first + user.settings.files.count)
                if is_pattern
                else tuple(begins[index[name]] for name in user.files),
            )
    return found


def _group_by_files(members: Sequence[JobInstance]) -> list[tuple[list[FileName], list[JobInstance]]]:
    """Gather files that one job uses together, and all who use them."""
    groups: list[tuple[list[FileName], list[JobInstance]]] = []
    holder: dict[FileName, int] = {}
    for member in members:
        places = sorted({holder[name] for name in member.files if name in holder})
        if not places:
            groups.append(([], []))
            places = [len(groups) - 1]
        into, *others = places
        names, users = groups[into]
        for other in others:
            names += groups[other][0]
            users += groups[other][1]
            groups[other] = ([], [])
        known = set(names)
        names += [name for name in member.files if name not in known]
        users.append(member)
        for name in names:
            holder[name] = into
    return [group for group in groups if group[1]]


def _file_set(
    number: int, names: Sequence[FileName], users: Sequence[JobInstance], target: str, count: int
) -> plan.FileSet:
    first = users[0].settings
    kinds = {user.settings.engine if user.settings.is_metadata else "" for user in users}
    if len(kinds) > 1:
        raise InputError(
            f"fio: {first.where}: 'ioengine' of jobs on one file: some move data, others names; give them files of their own"
        )
    is_device = first.files.device_bytes > 0
    if is_device:
        _check_device(users)
    is_verified = _is_verified(users)
    is_kept = any(user.settings.files.is_kept for user in users) and not first.is_metadata
    made = plan.FileSet(
        name="files" if number == 0 else f"files-{number + 1}",
        target=target,
        path="",
        files=count,
        size=plan.Fixed(value=float(_bytes_each(users))),
        file_name="d{index}" if first.engine.startswith("dir") else "f{index}",
        existing_share=0.0 if first.engine == "filecreate" or first.engine.startswith("dir") else 1.0,
        reuse=plan.Reuse.TRUST if is_device else plan.Reuse.IF_MATCHES if is_kept else plan.Reuse.NEVER,
        content=_content(users, is_verified=is_verified),
        allocate=plan.Allocate.WRITE if is_verified or is_device else _allocate(users),
        keep=is_kept and not is_device,
    )
    # Kept sets do not conflict: one of another size or content has another path.
    identity = msgspec.json.encode([names, msgspec.structs.replace(made, name="")])
    return msgspec.structs.replace(made, path=f"fio-{hashlib.sha256(identity).hexdigest()[:12]}")


def _check_device(users: Sequence[JobInstance]) -> None:
    """Raise InputError for what a block device cannot have."""
    for user in users:
        job = user.settings
        if job.is_metadata:
            raise InputError(f"fio: {job.where}: 'ioengine={job.engine}' works on names, and a block device has none")
        if job.stamps:
            raise InputError(
                f"fio: {job.where}: 'verify' on a block device is not supported: its history of writes has no place there"
            )


def _is_verified(users: Sequence[JobInstance]) -> bool:
    """Return whether files carry stamps; raises InputError for a job that verifies what no earlier job has written."""
    writers = [user for user in users if user.settings.stamps and user.settings.writes]
    for user in users:
        job = user.settings
        if job.stamps and not job.writes and not any(writer.phase < user.phase for writer in writers):
            raise InputError(
                f"fio: {job.where}: 'verify' of a job that does not write, and of a file that no job before it writes with"
                " verify: files are Assay's own; write them before, or in the same job"
            )
    return bool(writers)


def _bytes_each(users: Sequence[JobInstance]) -> int:
    if users[0].settings.is_metadata:
        job = users[0].settings
        return 0 if job.engine.startswith("dir") else job.files.bytes_each or job.size.bytes // job.files.count
    return max(amount(user).file_bytes for user in users)


def _allocate(users: Sequence[JobInstance]) -> plan.Allocate:
    """Set how a file is made for its first job; a job that reads after a writer reads what the writer left."""
    job = users[0].settings
    if all(user.settings.engine == "null" for user in users):
        return plan.Allocate.SPARSE
    if job.reads or job.files.overwrite or job.is_metadata:
        return plan.Allocate.WRITE
    return plan.Allocate.SPARSE if job.files.allocate == "truncate" else plan.Allocate.FALLOCATE


def _content(users: Sequence[JobInstance], *, is_verified: bool) -> plan.Content:
    def required_state(job: JobSettings) -> tuple[int, int, bool]:
        return job.compress_percent, job.dedupe_percent, job.zeros

    first = required_state(users[0].settings)
    for user in users[1:]:
        if required_state(user.settings) != first:
            raise InputError(
                f"fio: {user.settings.where}: 'buffer_compress_percentage', dedupe_percentage or zero_buffers differs from"
                " that of another job on this file; give it a file of its own"
            )
    compress, dedupe, zeros = first
    if zeros and (compress or dedupe or is_verified):
        raise InputError(
            f"fio: {users[0].settings.where}: 'zero_buffers' makes blocks that are all alike; leave verify,"
            " buffer_compress_percentage and dedupe_percentage out"
        )
    return plan.Content(
        compress_ratio=_FULL / (_FULL - compress),
        dedupe_ratio=_FULL / (_FULL - dedupe),
        stamped=is_verified,
        zeros=zeros,
    )
