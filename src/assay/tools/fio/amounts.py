"""Compute how much a job of fio does, and where, in bytes.

The length of a file is `filesize`, else the job's offset and its share of `size`. What is done goes from the offset to the
end of each file. With blocks of one size a pass over a file is as many as fit, and a job is through after a pass, or at the
first block with which it has done `size` or `io_size`: the last one may pass that. Where a direction has no pass to be
through with (random I/O without a map, and reads and writes in a row, which have a place each), the size alone ends it.
"""

from dataclasses import dataclass

from assay.errors import InputError
from assay.tools.fio.instances import JobInstance
from assay.tools.fio.job_settings import JobSettings


@dataclass(frozen=True)
class Amount:
    """What one worker does."""

    file_bytes: int
    from_bytes: int
    length_bytes: int
    """Of the region in each file: a multiple of the smallest block."""
    total_bytes: int
    """All it does, without a time; the last block may pass it."""


def amount(instance: JobInstance) -> Amount:
    """Work a job's amounts out; raises InputError where no block fits."""
    job = instance.settings
    size, count = job.size, job.files.count
    start = size.offset_bytes + instance.number * size.offset_increment_bytes
    file_bytes = job.files.bytes_each or start + size.bytes // count
    if job.files.device_bytes:
        # What lies behind the size of the job is not touched, and nothing lies behind the device.
        file_bytes = min(start + size.bytes, job.files.device_bytes)
    unit = job.most_bytes if job.has_one_size else job.least_bytes
    length = max(file_bytes - start, 0) // unit * unit
    if length < job.most_bytes:
        raise InputError(
            f"fio: {job.where}: job '{job.name}': a block of {job.most_bytes} bytes does not fit behind byte {start} of a"
            f" file of {file_bytes} bytes; give a larger size, or smaller blocks"
        )
    through = size.bytes
    if not (job.is_random and not _has_map(instance)) and not (job.reads and job.writes and not job.is_random):
        through = min(through, length * count)
    if size.io_bytes:
        if size.loops > 1:
            _check_loops(job, length, count)
        through = size.io_bytes
    return Amount(
        file_bytes,
        start,
        length,
        through * size.loops if not job.has_one_size else _whole(through, unit) * size.loops,
    )


def _check_loops(job: JobSettings, length: int, count: int) -> None:
    """Raise InputError where loops of `io_size` are something else than as many times as much, one behind the other.

    fio's are that as long as one of them is no more than a pass.
    """
    step = job.most_bytes + job.step_bytes
    is_in_row = not job.is_random and job.step_bytes >= 0 and job.has_one_size and count == 1
    if not is_in_row or (job.reads and job.writes) or job.size.io_bytes > -(-length // step) * job.most_bytes:
        raise InputError(
            f"fio: {job.where}: 'io_size' with loops needs sequential blocks of one size, and no more than one"
            " pass of one file; give one of them, or a smaller io_size"
        )


def _whole(total: int, unit: int) -> int:
    return -(-total // unit) * unit


def _has_map(instance: JobInstance) -> bool:
    """Return whether each block is visited once before one is again."""
    job = instance.settings
    return job.has_map and all(drawn_by.kind == "random" for drawn_by in job.distributions)
