"""The command lines of fio that people type most, and their equals."""

import shlex
from dataclasses import dataclass

FOR_WRITES = "--overwrite=1 --refill_buffers"
"""What has fio do the work that Assay does: write over what is there, with bytes that are new."""


@dataclass(frozen=True)
class Pair:
    """A command line of fio and its equal."""

    name: str
    title: str
    fio: str
    """Its options, without name, directory, size and time."""
    assay: str
    size: str
    differs: str
    beside: str = ""
    """Options of fio that are added where the two are compared, because the page says that they differ in this."""


PAIRS = (
    Pair(
        "read-1m",
        "Sequential read",
        "--rw=read --bs=1M --direct=1",
        "--read --bs 1m --direct",
        "256m",
        "Nothing. At the end of the file both start over.",
    ),
    Pair(
        "write-128k",
        "Sequential write, several in flight",
        "--rw=write --bs=128k --direct=1 --ioengine=io_uring --iodepth=4",
        "--write --bs 128k --direct --depth 4",
        "256m",
        "Assay lays the file out first and overwrites it. fio allocates it and writes it for the first time, which a file"
        " system does more slowly or faster; `--overwrite=1` makes it lay out too. fio sends nearly the same"
        " bytes each time,"
        " Assay new ones, which take processor time; `--refill_buffers` has fio do so too.",
        FOR_WRITES,
    ),
    Pair(
        "randread-1",
        "Random read, one at a time",
        "--rw=randread --bs=4k --direct=1",
        "--read --random --bs 4k --direct",
        "256m",
        "fio visits each block once before it visits one again; Assay draws anew each time, as fio does with"
        ' `--norandommap`. A load file has `coverage = "rounds"` for fio\'s way.',
    ),
    Pair(
        "randread-32",
        "Random read, 32 in flight",
        "--rw=randread --bs=4k --direct=1 --ioengine=io_uring --iodepth=32",
        "--read --random --bs 4k --direct --depth 32",
        "256m",
        "Assay has registered files and buffers, which fio has with `--registerfiles --fixedbufs`: less processor time"
        " for an I/O. Both hand each over by itself; fio's `--iodepth_batch=16` is `--batch 16`.",
    ),
    Pair(
        "randwrite-fsync",
        "Random write, each with an fsync",
        "--rw=randwrite --bs=4k --fsync=1",
        "--write --random --bs 4k --fsync-every 1",
        "64m",
        "As with all writes, Assay overwrites, with new bytes. The IOPS of fio are those of the writes"
        " alone; Assay has a row for writes and"
        " one for the fsync.",
        FOR_WRITES,
    ),
    Pair(
        "mix-70-30",
        "70 % reads and 30 % writes",
        "--rw=randrw --rwmixread=70 --bs=8k --direct=1 --ioengine=io_uring --iodepth=16",
        "--mix 70/30 --random --bs 8k --direct --depth 16",
        "256m",
        "Both draw each operation by its share; the note on writes above applies. Assay has a row"
        " for reads, one for writes and one for both.",
        FOR_WRITES,
    ),
    Pair(
        "rate-500",
        "500 reads a second",
        "--rw=randread --bs=4k --direct=1 --rate_iops=500",
        "--read --random --bs 4k --direct --rate 500/s",
        "256m",
        "The rate is the same, the latency is not: fio's counts from when the read was issued, and a stall"
        " holds the reads"
        " after it back unseen. Assay counts from when each was due (`response`). fio's way is `--limit 500/s`.",
    ),
    Pair(
        "mmap",
        "Random read of a mapping",
        "--rw=randread --bs=4k --ioengine=mmap --invalidate=0",
        "--read --random --bs 4k --engine mmap --cache warm",
        "64m",
        "Both read from memory, so it is the cost of the programs that is compared, and Assay reports that it is memory.",
    ),
    Pair(
        "buffered",
        "Random read through the page cache",
        "--rw=randread --bs=4k --ioengine=psync --invalidate=0",
        "--read --random --bs 4k --cache warm",
        "64m",
        "As above. Without `--invalidate=0` and with `--cache cold`, which is what each does by itself, both"
        " begin with the"
        " file out of the page cache. fio's IOPS are then the mean over all of its time, with the time in which memory"
        " fills; Assay's are from the time in which the rate was steady, with what served them.",
    ),
    Pair(
        "numjobs-4",
        "Four at once",
        "--rw=randread --bs=4k --direct=1 --numjobs=4 --group_reporting",
        "--read --random --bs 4k --direct --workers 4",
        "64m",
        "fio's `--size` is that of each job, Assay's that of all data: four jobs of 64 MiB are `--size"
        " 256m`. fio's jobs are"
        " processes (`--thread` makes them threads), Assay's workers are threads.",
    ),
    Pair(
        "log",
        "A log: each write durable",
        "--rw=write --bs=4k --fdatasync=1",
        "--write --bs 4k --fdatasync-every 1",
        "64m",
        "Assay's log is laid out before; for one that grows see `assay run append-log DIR`.",
        FOR_WRITES,
    ),
    Pair(
        "verify",
        "Writes that are verified",
        "--rw=randwrite --bs=4k --direct=1 --verify=crc32c --do_verify=1",
        "--write --random --bs 4k --direct --verify",
        "64m",
        "fio writes the file once, and reads it again. Assay writes for a time, stamps each sector with its place and"
        " generation, and reads all of it again; reads in the load are checked as well.",
        "--overwrite=1",
    ),
)


def fio_words(pair: Pair, directory: str, seconds: float, *, compared: bool) -> list[str]:
    """Give the command line of fio; `compared`: with what is added for the comparison."""
    once = "--verify" in pair.fio
    time = [] if once else [f"--runtime={seconds:g}", "--time_based"]
    added = shlex.split(pair.beside) if compared else []
    return ["fio", "--name=x", f"--directory={directory}", *shlex.split(pair.fio), f"--size={pair.size}", *time, *added]


def assay_words(pair: Pair, directory: str, seconds: float) -> list[str]:
    """Give the command line of Assay."""
    size = "256m" if pair.name == "numjobs-4" else pair.size
    return ["assay", "measure", directory, *shlex.split(pair.assay), "--size", size, "--time", f"{seconds:g}s"]
