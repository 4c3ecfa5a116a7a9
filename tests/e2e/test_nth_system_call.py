"""One system call of a run fails, each in turn: the run is sealed or says that it is not, and no number is wrong.

`testbed/nth_call.py` counts the calls of all threads of the front end and of the engine that touch the folder of runs or the
directory that is measured, and fails the n-th. Each n is tried with the errors that its call can return; here with some of
them, chosen by chance, by `make calls` (`ASSAY_NTH_CALLS=0`) with all, in rounds: the first tries each n once.
"""

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.bundle.catalog import list_runs
from assay.results import Document
from e2e.command import COMMAND, TIMEOUT_S, Assay, need_command
from testbed.nth_call import INJECTOR

NTH_CALLS = int(os.environ.get("ASSAY_NTH_CALLS", "40"))
"""How many failures are tried; 0: all."""
ROUNDS = int(os.environ.get("ASSAY_NTH_ROUNDS", "0"))
"""How often each n is tried, with another error each time; 0: with all that its call can return."""
AT_A_TIME = int(os.environ.get("ASSAY_NTH_AT_A_TIME", "2"))

HANG_S = 10.0
"""So much longer than ten times an undisturbed run, nothing takes: it hangs."""

LOAD = """
name = "short"
sample_interval = "50ms"
reserve = "1MiB"
[[file_set]]
name = "data"
files = 2
size = "32KiB"
[[phase]]
name = "writing"
[[phase.job]]
op = { op = "write", set = "data", access = "sequential", size = "16KiB" }
stop = { of = "each", passes = 1 }
[[phase]]
name = "reading"
[[phase.job]]
op = { op = "read", set = "data", access = "sequential", size = "16KiB" }
stop = { of = "each", passes = 1 }
"""

_MAKES = ("ENOSPC", "EIO", "EROFS", "EDQUOT", "ENOMEM")
_WRITES = ("ENOSPC", "EIO", "EDQUOT", "ENOMEM", "EINTR")
_LOOKS = ("EIO", "ENOMEM")
ERRORS = {
    **dict.fromkeys(("open", "openat", "openat2"), (*_MAKES, "EINTR")),
    **dict.fromkeys(("mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat"), _MAKES),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), ("EROFS", "EIO", "ENOMEM")),
    **dict.fromkeys(("chmod", "fchmod", "fchmodat"), ("EROFS", "EIO", "ENOMEM")),
    **dict.fromkeys(("write", "writev", "pwrite64", "pwritev", "fsync", "fdatasync", "syncfs"), _WRITES),
    **dict.fromkeys(("ftruncate", "truncate", "fallocate"), (*_WRITES, "EROFS")),
    **dict.fromkeys(("read", "readv", "pread64", "preadv", "statfs", "fstatfs", "flock"), (*_LOOKS, "EINTR")),
    "io_uring_enter": (*_LOOKS, "EINTR"),
    "close": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
}
"""What a call can return, of the six, by its manual page, or on network file systems and FUSE; the others: `_LOOKS`."""


@dataclass(frozen=True)
class Failure:
    """The n-th call of a run, and what it returns."""

    nth: int
    error: str

    def __str__(self) -> str:
        return f"{self.error} at call {self.nth}"


@dataclass(frozen=True)
class Ended:
    """A run of which a call failed."""

    folder: Path
    code: int
    stdout: str
    stderr: str
    seconds: float
    calls: Sequence[str]

    @property
    def runs(self) -> Path:
        """Where its bundle is, if there is one."""
        return self.folder / "runs"

    @property
    def directory(self) -> Path:
        """What was measured."""
        return self.folder / "measured"


class Tried:
    """Runs the load again and again, each time with another call failing, and judges what came of it."""

    def __init__(self, folder: Path) -> None:
        """Run it undisturbed first: that tells the calls, and what the numbers are."""
        self._folder = folder
        self._judging = threading.Lock()
        self._load = folder / "short.toml"
        self._load.write_text(LOAD)
        self.found: Counter[str] = Counter()
        self.by_error: Counter[str] = Counter()
        self.longest_s = 0.0
        self.hang_s = TIMEOUT_S
        whole = self.end(Failure(0, "EIO"))
        assert whole.code in {0, 1}, whole.stderr
        self.calls = [line.split()[0] for line in whole.calls]
        self.truth = msgspec.json.decode(whole.stdout, type=Document)
        self.hang_s = HANG_S + 10 * whole.seconds

    def end(self, failure: Failure) -> Ended:
        """Run the load with a failing call to its end."""
        folder = self._folder / f"{failure.nth}-{failure.error}"
        (folder / "measured").mkdir(parents=True)
        report, number = folder / "calls", str(getattr(errno, failure.error))
        runs, directory = folder / "runs", folder / "measured"
        words = [sys.executable, "-S", INJECTOR, str(failure.nth), number, report, runs, directory, "--"]
        words += [COMMAND, "run", self._load, directory, "--json", "--no-report", "--runs", runs]
        begun_s = time.monotonic()
        with subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=self.hang_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # a session of its own; the engine's input ends with it
                pytest.fail(f"{failure}: hangs")
        seconds = time.monotonic() - begun_s
        return Ended(folder, process.returncode, stdout, stderr, seconds, report.read_text().splitlines())

    def fail(self, failure: Failure) -> str:
        """Try a failure; give what is wrong with what came of it, or nothing."""
        ended = self.end(failure)
        with self._judging:
            at = ended.calls[failure.nth - 1] if failure.nth <= len(ended.calls) else "nothing"
            self.found[f"exit code {ended.code}"] += 1
            self.by_error[failure.error] += at != "nothing"
            self.longest_s = max(self.longest_s, ended.seconds)
            try:
                self.found[self._judge(failure, at, ended)] += 1
            except Exception as error:  # noqa: BLE001 - each is told, after all were tried
                what = str(error) or repr(error)
                return f"{failure}, {at}: exit code {ended.code}: {type(error).__name__}: {what}\n{ended.stderr}"
            return ""

    def _judge(self, failure: Failure, at: str, ended: Ended) -> str:
        assert ended.code in {0, 1, 2, 3}
        assert "Traceback" not in ended.stderr
        assert "panicked" not in ended.stderr
        assert "fault of Assay" not in ended.stderr
        if failure.error == "EINTR":
            assert ended.code in {0, 1}, "EINTR surfaces"
        outcome = self._judge_runs(failure, at, ended)
        if list(ended.directory.iterdir()):
            assert "assay clean" in ended.stderr + ended.stdout, "left behind and not said"
            Assay(runs=ended.runs)("clean", ended.directory, check=0)
            assert list(ended.directory.iterdir()) == [], "clean leaves it"
            self.found["data left, which was said, and cleaned"] += 1
        return outcome

    def _judge_runs(self, failure: Failure, at: str, ended: Ended) -> str:
        listed = list_runs(ended.runs)
        folders = [path for path in ended.runs.iterdir() if path.is_dir()] if ended.runs.is_dir() else []
        assert len(folders) <= 1
        if not listed:
            assert ended.code in {2, 3}
            assert "assay: " in ended.stderr
            assert folders == []
            return "no run was begun, which was said"
        (run,) = listed
        assert run.state in {"sealed", "unfinished"}
        bundle = RunBundle.open(ended.runs / run.run_id)
        bundle.verify()
        found = document(read(bundle))
        self._judge_numbers(failure, at, ended, found)
        if run.state == "sealed":
            assert found.run.exit_code == ended.code or "answer" in ended.stderr
            return "sealed"
        assert ended.code == 3
        assert "could not be sealed" in ended.stderr
        return "not sealed, which was said"

    def _judge_numbers(self, failure: Failure, at: str, ended: Ended, found: Document) -> None:
        is_of_load = at.split()[0] in {"pwrite64", "pread64", "read", "write"} and "/assay-data/data" in at
        unfinished = [one.id for one in found.findings if one.id == "unfinished"]
        assert unfinished or len(found.results) == len(self.truth.results)
        assert ended.code in {2, 3} or not unfinished
        if ended.code in {0, 1}:
            assert msgspec.json.decode(ended.stdout, type=Document).results == found.results
        for result, true in zip(found.results, self.truth.results, strict=False):
            assert (result.phase, result.operation) == (true.phase, true.operation)
            if "unfinished" in [one.id for one in result.findings]:
                continue
            failed = result.errors
            assert failed == 0 or (is_of_load and failure.error != "EINTR")
            assert (result.ops + failed, result.bytes * true.ops) == (true.ops, true.bytes * result.ops)
            assert failed == 0 or (ended.code == 1 and not result.trusted) or ended.code == 3


def rounds(calls: Sequence[str]) -> Iterator[list[Failure]]:
    """Give the failures of each round: in each every n that has errors left."""
    place = 0
    while True:
        found = []
        for nth, call in enumerate(calls, 1):
            errors = ERRORS.get(call, _LOOKS)
            if place < len(errors):
                # Each n begins with another one.
                found.append(Failure(nth, errors[(nth + place) % len(errors)]))
        if not found:
            return
        yield found
        place += 1


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="needs x86-64, whose system calls nth_call.py knows")
def test_a_run_whose_nth_system_call_fails_is_sealed_or_says_that_it_is_not(tmp_path: Path) -> None:
    need_command()
    tried = Tried(tmp_path)
    # A few more than were counted: threads wait and poll as often as it happens.
    all_rounds = list(rounds(tried.calls))[: ROUNDS or None]
    failures = [failure for one in all_rounds for failure in one]
    if NTH_CALLS:
        failures = random.Random(7).sample(failures, NTH_CALLS)  # noqa: S311 - a choice of calls

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        wrong = [text for text in pool.map(tried.fail, failures) if text]

    sys.stdout.write(
        f"{len(tried.calls)} calls; {len(failures)} failures tried, {sum(tried.by_error.values())} met:"
        f" {dict(tried.by_error)}\n{dict(tried.found)}\nthe longest took {tried.longest_s:.1f} s\n"
    )
    assert wrong == [], f"{len(wrong)} of {len(failures)}\n" + "\n".join(wrong)
