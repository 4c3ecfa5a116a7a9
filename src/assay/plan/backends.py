"""How do operations reach the kernel?"""

import enum

from assay.plan.values import Kind, Value


class Fallback(enum.Enum):
    """What happens where a backend cannot be had: be refused, or run as many psync threads as the queue depth."""

    REFUSE = "refuse"
    THREADS = "threads"


class Psync(Kind, kw_only=True):
    """`pread` and `pwrite`."""


class ReadWrite(Kind, kw_only=True):
    """`read` and `write` at the file's own position, and `lseek` where the next transfer is elsewhere."""


class IoUring(Kind, kw_only=True):
    """io_uring."""

    sqpoll: bool = False
    """Kernel thread that polls the submission queue; `queue_depth` is at most 16,384 with it."""
    sqpoll_cpu: int | None = None
    """CPU of that thread, only with `sqpoll`; one that the engine may run on. Each worker has such a thread, and those of
    all workers of the job share this CPU. Unset: the kernel chooses."""
    iopoll: bool = False
    """Busy-wait for completions (polled devices only)."""
    fallback: Fallback = Fallback.REFUSE
    """What happens where the kernel refuses io_uring: the run is refused, or as many threads as the queue depth run
    psync."""


class Aio(Kind, kw_only=True):
    """Linux AIO: asynchronous with O_DIRECT alone; a buffered request is carried out while it is submitted."""


class Mmap(Kind, kw_only=True):
    """Memory-mapped file: reads copy from it, writes into it, flushes are msync. It ends where the file did at opening."""


class Null(Kind, kw_only=True):
    """Nothing: a transfer is done when it is handed over, and moves no byte. What an engine takes by itself."""


class Stdio(Kind, kw_only=True):
    """C library streams without their lock. An operation is done when the stream's buffer has it."""

    per_character: bool = False
    """One call a character (putc, getc); an operation is a block of them either way. Else fwrite and fread."""


Backend = Psync | ReadWrite | IoUring | Aio | Mmap | Null | Stdio


class Direct(enum.Enum):
    """O_DIRECT, and what to do where the file system refuses it."""

    OFF = "off"
    ON = "on"
    IF_SUPPORTED = "if_supported"


class OpenFlags(Value, kw_only=True):
    """Flags of the files that a job opens."""

    direct: Direct = Direct.OFF
    sync: bool = False
    dsync: bool = False
    append: bool = False
    no_access_time: bool = False
    advice: str = ""
