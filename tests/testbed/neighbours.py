"""Other programs on the machine, of known appetite: what a measurement has to notice."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from testbed.host import stop

_BUSY = "import os; os.write(1, b'begun')\nwhile True: pass"

# Says so when it has read all of the file once, and ends with its parent, whose end it sees as the end of its input.
_READER = """
import mmap, os, select, sys
descriptor, block, pause_s = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), int(sys.argv[2]), float(sys.argv[3])
places = range(0, os.fstat(descriptor).st_size // block * block, block)
buffer = mmap.mmap(-1, block)
has_begun = False
while True:
    for at in places:
        os.preadv(descriptor, [buffer], at)
        if select.select([0], [], [], pause_s)[0]:
            sys.exit()
    if not has_begun:
        os.write(1, b"begun")
    has_begun = True
"""

# Overwrites its file from the start on, again and again; says so after its first write.
_WRITER = """
import mmap, os, select, sys
block, pause_s, is_durable = int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "1"
descriptor = os.open(sys.argv[1], os.O_WRONLY | (0 if is_durable else os.O_DIRECT))
places = range(0, os.fstat(descriptor).st_size // block * block, block)
buffer = mmap.mmap(-1, block)
has_begun = False
while True:
    for at in places:
        os.pwritev(descriptor, [buffer], at)
        if is_durable:
            os.fdatasync(descriptor)
        if not has_begun:
            os.write(1, b"begun")
        has_begun = True
        if select.select([0], [], [], pause_s)[0]:
            sys.exit()
"""


@contextmanager
def cpu_hog(cpu: int, *, count: int = 1) -> Iterator[None]:
    """Keep a CPU busy with so many programs that run nowhere else."""
    with ExitStack() as undo:
        for _ in range(count):
            program = _begun(undo, [sys.executable, "-c", _BUSY])
            os.sched_setaffinity(program.pid, {cpu})
        yield


@contextmanager
def disk_reader(
    folder: Path,
    *,
    block_bytes: int = 1 << 20,
    size_bytes: int = 64 << 20,
    count: int = 1,
    pause_s: float = 0,
    prefix: Sequence[str] = (),
) -> Iterator[None]:
    """Have so many programs read a file over and over with O_DIRECT, as fast as its device and their pauses let them.

    Args:
        folder: Where the file is made.
        block_bytes: Of one read.
        size_bytes: Of the file.
        count: Programs.
        pause_s: After each read.
        prefix: Words in front of their command.
    """
    with _new_file(folder, size_bytes) as file, ExitStack() as undo:
        words = [*prefix, sys.executable, "-c", _READER, str(file), str(block_bytes), str(pause_s)]
        for _ in range(count):
            _begun(undo, words)
        yield


@contextmanager
def disk_writer(
    folder: Path, *, block_bytes: int, pause_s: float = 0, is_durable: bool = False, size_bytes: int = 8 << 20
) -> Iterator[Callable[[], int]]:
    """Have a program overwrite a file over and over, as fast as its device and its pauses let it; gives the bytes so far.

    Args:
        folder: Where the file is made.
        block_bytes: Of one write.
        pause_s: After each write.
        is_durable: It writes through the page cache and flushes each write (fdatasync); else with O_DIRECT.
        size_bytes: Of the file.
    """
    with _new_file(folder, size_bytes) as file, ExitStack() as undo:
        words = [str(file), str(block_bytes), str(pause_s), str(int(is_durable))]
        program = _begun(undo, [sys.executable, "-c", _WRITER, *words])

        def wrote() -> int:
            return int(Path(f"/proc/{program.pid}/io").read_text().partition("wchar: ")[2].split()[0])

        yield wrote


@contextmanager
def _new_file(folder: Path, size_bytes: int) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp(prefix="assay-neighbour-", dir=folder)
    file = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            while out.tell() < size_bytes:
                out.write(os.urandom(min(1 << 20, size_bytes - out.tell())))
            out.flush()
            os.fsync(out.fileno())
        yield file
    finally:
        file.unlink()


def _begun(undo: ExitStack, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a neighbour, and wait until it says that it has begun."""
    program = undo.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    undo.callback(stop, program)
    if program.stdout is None or program.stdout.read(5) != b"begun":
        raise RuntimeError(f"{words[0]} ended at once")
    return program
