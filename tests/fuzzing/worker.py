"""Gives a reader its cases, in a process of its own: one that dies, hangs or takes all memory is seen from outside.

`worker.py MODULE PROGRESS`, run in a folder of its own, takes jobs as lines of JSON from standard input and answers each
with one. `MODULE` has the readers by name as `READERS`. The file `PROGRESS` holds the number of the case that it is at.
"""

import importlib
import io
import json
import mmap
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from fuzzing.reader import Reader

MOST_MEMORY_BYTES = 1 << 30
"""That cases may add to what the process had before."""
_MOST_ADDRESSES = 8 << 30
"""The libraries that read tables map 2 GiB. Beyond this an allocation fails, and the machine is safe."""


class _Memory:
    """How much of this process has been in memory at most (VmHWM of proc(5): unlike ru_maxrss, not its parent's)."""

    def __init__(self) -> None:
        self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)

    def peak_bytes(self) -> int:
        text = os.pread(self._status, 4096, 0)
        return int(text.partition(b"VmHWM:")[2].split(maxsplit=1)[0]) << 10


def _cases(reader: Reader, job: dict[str, Any], progress: mmap.mmap, memory: _Memory) -> dict[str, Any]:
    """Give a reader its cases until one is a fault."""
    taken = tried = 0
    before = memory.peak_bytes()
    for number in range(job["first"], job["end"], job["step"]):
        progress[:8] = number.to_bytes(8, "little")
        data = reader.case(number, job["seed"])
        tried += 1
        try:
            reader.read(data)
            taken += 1
        except AssayError:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever comes is what is looked for
            return {"fault": number, "what": f"{type(error).__name__}: {error}"}
        if memory.peak_bytes() - before > MOST_MEMORY_BYTES:
            return {"fault": number, "what": f"took {memory.peak_bytes() - before} bytes of memory"}
    return {"taken": taken, "tried": tried, "peak_bytes": memory.peak_bytes() - before}


def main(module: str, progress_path: str) -> None:
    """Work until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a Ctrl-C the tests' own process decides
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESSES, _MOST_ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    jobs, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    sys.stdin, sys.stdout = io.StringIO(), sys.stderr  # neither is a reader's
    os.dup2(2, 1)
    readers = importlib.import_module(module).READERS
    with Path(progress_path).open("r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        memory = _Memory()
        for line in jobs:
            job = json.loads(line)
            answers.write(json.dumps(_cases(readers[job["reader"]], job, progress, memory)) + "\n")
            answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
