"""What does not go together in a job, though each option by itself would."""

from assay.tools.fio.given import JobOptions
from assay.tools.fio.job_settings import EXTENTS, JobSettings

_SECTOR = 512


def check(job: JobSettings, given: JobOptions) -> None:
    """Raise InputError for the first that does not."""
    pause_us, busy_us, _ = job.think_us
    size, files = job.size, job.files
    is_write_only = job.writes and not job.reads
    is_in_turn = bool(job.distributions[0].blocks)
    has_ranges = job.engine in EXTENTS or job.discards
    for name, is_wrong, why in (
        (
            "thinktime",
            pause_us > 0 and job.depth > 1,
            "is not supported for a worker with several I/Os in flight; use iodepth=1",
        ),
        ("thinktime_spin", busy_us > pause_us, "is longer than thinktime"),
        ("thinktime", pause_us > 0 and any(job.rates), "and a rate cannot be combined in a job; give one of them"),
        (
            "rate",
            job.reads and job.writes and any(job.rates) and not _is_mix_of_rates(job),
            "holds back one direction, or blocks of several sizes, which is not supported in a mix; give a job for each",
        ),
        (
            "rate",
            any(rate.bytes_per_s and rate.iops for rate in job.rates),
            "and rate_iops in one job are not supported; give one of them",
        ),
        (
            "rate_process",
            any(rate.is_poisson and rate.bytes_per_s for rate in job.rates) and not job.has_one_size,
            "needs one block size; give bs",
        ),
        (
            "ramp_time",
            size.ramp_s > 0 and not size.is_time_based,
            "is not supported without time_based: what a job does in that time is part of its size",
        ),
        ("time_based", size.is_time_based and not size.seconds, "needs a runtime"),
        ("direct", job.direct and job.engine == "mmap", "is not supported with ioengine=mmap: it is the page cache"),
        (
            "verify",
            job.stamps and (job.least_bytes % _SECTOR or size.offset_bytes % _SECTOR),
            "needs blocks and offsets that are multiples of 512 bytes",
        ),
        (
            "rw",
            job.step_bytes < 0 and (not job.has_one_size or job.step_bytes != -2 * job.most_bytes),
            "steps back by something other than one block, which is not supported; use -2 * bs, such as read:-8k with 4k",
        ),
        (
            "rw",
            job.step_bytes > 0 and not job.has_one_size,
            "leaves gaps between blocks of several sizes, which is not supported; use bs",
        ),
        (
            "fallocate",
            is_write_only and not files.overwrite and files.allocate in {"none", "keep"},
            "is not supported, where a file has its length from the start; use native or truncate",
        ),
        (
            "fill_device",
            given.flag("fill_device") and is_write_only and not files.overwrite and not job.stamps,
            "lets a file grow, which is not supported, where a file has its length from the start; use fallocate=truncate",
        ),
        ("ioengine", job.engine in EXTENTS and job.reads, "reads nothing here; use rw=write or randwrite"),
        ("ioengine", job.engine == "ftruncate" and job.trims, "has lengths alone; use rw=write or randwrite"),
        (
            "ioengine",
            has_ranges and not job.is_random and not job.has_one_size,
            "is not supported for ranges of several sizes in a row; use bs, or rw=randwrite",
        ),
        (
            "ioengine",
            has_ranges and not job.has_one_size and not size.is_time_based,
            "cannot end by bytes with ranges of several sizes; give time_based and a runtime",
        ),
        ("ioengine", job.engine in EXTENTS and job.files.count > 1, "has only one file; use nrfiles=1"),
        ("verify", job.stamps and not job.moves_data, "has nothing to verify where no data is moved; leave it out"),
        ("verify", job.stamps and job.engine == "null", "has nothing to verify where no data is moved; leave it out"),
        (
            "verify_backlog",
            job.backlog > 0 and (job.is_random or job.reads or not job.has_one_size or job.depth > 1),
            "needs sequential writes of one size and one in flight; leave it out, and all is verified at the end",
        ),
        (
            "verify_backlog",
            job.backlog > 0 and (job.files.count > 1 or any(job.rates) or pause_us > 0 or size.ops > 0),
            "needs one file, and no rate, thinktime or number_ios; leave it out",
        ),
        ("flow", job.flow.weight > 0 and any(job.rates), "and a rate in one job are not supported; give one of them"),
        (
            "flow",
            job.flow.weight > 0 and job.start_delay_s > 0,
            "and startdelay in one job are not supported; give one of them",
        ),
        (
            "random_distribution",
            job.is_random and is_in_turn and (not job.has_one_size or files.count > 1 or (job.reads and job.writes)),
            "of a sequence needs one file, one block size, and only reads or only writes; use zipf, pareto or zoned",
        ),
        (
            "random_distribution",
            job.is_random
            and is_in_turn
            and (max(job.distributions[0].blocks) + 1) * job.most_bytes
            > max(size.bytes, files.bytes_each - size.offset_bytes),
            "names a block behind the end of the file; take a lower one, or a larger size",
        ),
        (
            "sqthread_poll_cpu",
            job.sqpoll_cpu is not None and not (job.sqpoll and job.engine == "io_uring"),
            "needs ioengine=io_uring and sqthread_poll, whose thread it is the CPU of; give both, or leave it out",
        ),
        ("hipri", job.hipri and job.engine not in {"pvsync2", "io_uring"}, "needs pvsync2 or io_uring"),
        (
            "cpus_allowed",
            len(job.cpus) > 1 and given.word("cpus_allowed_policy", "shared") != "split",
            "allows each job on all of these, which is not supported; use taskset, or cpus_allowed_policy=split",
        ),
    ):
        if is_wrong:
            raise given.fault(next((other for other in (name, "rate_iops", "bs") if other in given), name), why)


def _is_mix_of_rates(job: JobSettings) -> bool:
    """Return whether reads and writes have a rate of operations each."""
    return all(job.rates) and all(len(sizes) == 1 for sizes in job.sizes)
