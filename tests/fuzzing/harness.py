"""Readers of what others wrote, each given thousands of changed inputs, and what they may do with them.

A reader may take an input or refuse it by an error of Assay's own. Anything else is a fault: another exception, a death, no
answer within `LONGEST_CASE_S`, or `MOST_MEMORY_BYTES` of memory. The failure names the seed and shows the input, so that it
becomes a test of its own. Readers work in processes of their own, one for each processor, which are watched from here:
neither a loop in C nor an abort can hide.
"""

import importlib
import json
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fuzzing.reader import Reader

CASES = int(os.environ.get("ASSAY_FUZZ", "500"))
"""Cases for each reader."""
SEED = int(os.environ.get("ASSAY_FUZZ_SEED", "1"))
LONGEST_CASE_S = 10.0
_BEGIN_S = 300.0
"""Patience with the start of a process, which loads what the readers need."""
_STARVED = 20
"""A case that waits, for whatever it is, may take so many times longer: the machine may be busy with other things."""
_LOOK_S = 0.1
_MOST_WORKERS = 4
_TESTS = Path(__file__).parent.parent


@dataclass(frozen=True)
class Tally:
    """What became of the cases of a reader without fault."""

    tried: int
    taken: int
    peak_bytes: int
    """That the worst process took beyond what it had before."""


class FaultError(AssertionError):
    """A reader did what none may do; the text shows the input."""


class _Worker:
    """A process that gives readers their cases."""

    def __init__(self, module: str, folder: Path) -> None:
        self._progress = folder / "progress"
        self._progress.write_bytes(b"\xff" * 8)
        home = folder / "home"
        home.mkdir()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzzing.worker", module, self._progress],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=home,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent), *sys.path[1:]])},
        )

    @property
    def answers(self) -> int:
        """Descriptor on which an answer comes."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def cpu_s(self) -> float:
        """CPU time that it has used."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def begin(self, job: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._progress.write_bytes(b"\xff" * 8)
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()

    def at(self) -> int | None:
        """Number of the case that it is at; None before the first."""
        number = int.from_bytes(self._progress.read_bytes(), "little")
        return None if number == 0xFFFF_FFFF_FFFF_FFFF else number

    def answer(self) -> dict[str, Any]:
        """Read the answer that has come, or how it died."""
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return {"fault": self.at(), "what": f"the process died: {how}"}

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


class Fuzzer:
    """Processes for the readers of a module."""

    def __init__(self, module: str) -> None:
        """Start nothing yet.

        Args:
            module: Has the readers by name as `READERS`.
        """
        self._module = module
        self._readers: dict[str, Reader] = importlib.import_module(module).READERS
        self._folder: Path | None = None
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        """Start the processes, in a folder in memory."""
        memory = Path("/dev/shm")  # noqa: S108 - a folder of a name of its own
        self._folder = Path(tempfile.mkdtemp(prefix="assay-fuzz-", dir=memory if os.access(memory, os.W_OK) else None))
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._end()
        assert self._folder is not None
        shutil.rmtree(self._folder)

    def _start(self) -> None:
        assert self._folder is not None
        for _ in range(min(len(os.sched_getaffinity(0)), _MOST_WORKERS)):
            self._workers.append(_Worker(self._module, Path(tempfile.mkdtemp(dir=self._folder))))

    def _end(self) -> None:
        while self._workers:
            self._workers.pop().end()

    def fuzz(self, name: str, cases: int = CASES, seed: int = SEED, longest_case_s: float = LONGEST_CASE_S) -> Tally:
        """Give a reader its cases.

        Raises:
            FaultError: one was neither taken nor refused.
        """
        reader = self._readers[name]
        count = math.ceil(cases * reader.share)
        for first, worker in enumerate(self._workers):
            job = {"reader": name, "first": first, "end": count, "step": len(self._workers), "seed": seed}
            worker.begin(job)
        answers = list(self._answers(longest_case_s))
        faults = [answer for answer in answers if "fault" in answer]
        if faults:
            self._end()
            self._start()
            first_found = min(faults, key=lambda one: one["fault"] if one["fault"] is not None else -1)
            raise FaultError(_told(reader, seed, first_found))
        return Tally(
            tried=sum(answer["tried"] for answer in answers),
            taken=sum(answer["taken"] for answer in answers),
            peak_bytes=max(answer["peak_bytes"] for answer in answers),
        )

    def _answers(self, longest_case_s: float) -> Iterator[dict[str, Any]]:
        """Wait for the answer of each process, while each goes from case to case."""
        waiting = {worker.answers: worker for worker in self._workers}
        moved = {worker.answers: (worker.at(), time.monotonic(), worker.cpu_s()) for worker in self._workers}
        while waiting:
            came, _, _ = select.select(list(waiting), [], [], _LOOK_S)
            for descriptor in came:
                yield waiting.pop(descriptor).answer()
            for descriptor, worker in list(waiting.items()):
                at, now, cpu_s = worker.at(), time.monotonic(), worker.cpu_s()
                before, since, cpu_before_s = moved[descriptor]
                longest_s = _BEGIN_S if at is None else longest_case_s
                if at != before:
                    moved[descriptor] = (at, now, cpu_s)
                elif now - since > (longest_s if cpu_s - cpu_before_s > longest_s else longest_s * _STARVED):
                    del waiting[descriptor]
                    yield {"fault": at, "what": f"no answer within {longest_s:g} s"}


def _told(reader: Reader, seed: int, answer: dict[str, Any]) -> str:
    number = answer["fault"]
    text = f"{reader.name}: case {number} of seed {seed}: {answer['what']}"
    if number is None:
        return text
    data = reader.case(number, seed)
    return f"{text}\n{data[:2000]!r}{f' and {len(data) - 2000} bytes more' if len(data) > 2000 else ''}"
