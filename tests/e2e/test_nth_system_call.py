"""One system call of a run fails, each in turn: the run is sealed or says that it is not, and no number is wrong.

`testbed/nth_call.py` counts the calls of all threads of the front end and of the engine that touch the folder of runs or the
directory that is measured, and fails the n-th. Each n is tried with the errors that its call can return; here with some of
them, chosen by chance, by `make calls` (`ASSAY_NTH_CALLS=0`) with all, in rounds: the first tries each n once.
"""

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import msgspec
import pytest

from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.bundle.catalog import list_runs
from assay.results import Document
from e2e.command import TIMEOUT_S, Assay, need_command
from e2e.processes import WAIT_S
from testbed.forked_assay import Done, Task
from testbed.nth_call import errors_of

NTH_CALLS = int(os.environ.get("ASSAY_NTH_CALLS", "15"))
"""How many failures are tried; 0: all."""
ROUNDS = int(os.environ.get("ASSAY_NTH_ROUNDS", "0"))
"""How often each n is tried, with another error each time; 0: with all that its call can return."""
TOLD_EVERY = 100
AT_A_TIME = int(os.environ.get("ASSAY_NTH_AT_A_TIME", "2"))

UNFINISHED, STOPPED = "unfinished", ("ended-early", "stopped early")
"""Of a result that is not all that was asked for: a finding, and a reason for distrust (its id and text)."""
HANG_S = 300.0
"""So much longer than ten times an undisturbed run, nothing takes on a machine of any speed: it hangs."""

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


class Failure(NamedTuple):
    """The n-th call of a run is to fail, in a round: with another error in each."""

    nth: int
    in_round: int


@dataclass(frozen=True)
class Ended:
    """A run of which a call failed."""

    folder: Path
    code: int
    stdout: str
    stderr: str
    seconds: float
    hung: bool
    calls: Sequence[str]
    """Those that touched its folders, in lines."""
    failed: tuple[str, str, str]
    """Name, path and error of the one that failed; empty: none did."""

    @property
    def runs(self) -> Path:
        """Where its bundle is, if there is one."""
        return self.folder / "runs"

    @property
    def directory(self) -> Path:
        """What was measured."""
        return self.folder / "measured"


class Server:
    """A process that makes runs, one after the other."""

    def __init__(self) -> None:
        """Start it."""
        tests = str(Path(__file__).parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "testbed.forked_assay"],
            env={**os.environ, "PYTHONPATH": tests},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def carry_out(self, task: Task) -> Done:
        """Have a run made."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(task) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Done)

    def end(self) -> None:
        """Let it go."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(WAIT_S)


class Tried:
    """Runs the load again and again, each time with another call failing, and judges what came of it."""

    def __init__(self, folder: Path, servers: Sequence["Server"]) -> None:
        """Run it undisturbed first: that tells the calls, and what the numbers are."""
        self._folder = folder
        self._servers: Queue[Server] = Queue()
        for server in servers:
            self._servers.put(server)
        self._judging = threading.Lock()
        self._load = folder / "short.toml"
        self._load.write_text(LOAD)
        self.found: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.codes: Counter[int] = Counter()
        self.longest_s = 0.0
        self.hang_s = TIMEOUT_S
        whole = self.end(Failure(0, 0))
        assert whole.code in {0, 1}, whole.stderr
        self.calls = [_parts(line)[0] for line in whole.calls]
        self.truth = msgspec.json.decode(whole.stdout, type=Document)
        self.hang_s = HANG_S + 10 * whole.seconds

    def end(self, failure: Failure) -> Ended:
        """Run the load with a failing call to its end."""
        folder = self._folder / f"{failure.nth}-{failure.in_round}"
        runs, directory = folder / "runs", folder / "measured"
        directory.mkdir(parents=True)
        task = Task(
            words=["run", str(self._load), str(directory), "--json", "--no-report", "--runs", str(runs)],
            folders=[str(runs), str(directory)],
            nth=failure.nth,
            in_round=failure.in_round,
            stdout=str(folder / "stdout"),
            stderr=str(folder / "stderr"),
            most_s=self.hang_s,
        )
        server = self._servers.get()
        try:
            begun_s = time.monotonic()
            done = server.carry_out(task)
            seconds = time.monotonic() - begun_s
        finally:
            self._servers.put(server)
        stdout, stderr = ((folder / name).read_text() for name in ("stdout", "stderr"))
        name, path, error = _parts(done.calls[failure.nth - 1]) if 0 < failure.nth <= len(done.calls) else ("", "", "")
        return Ended(folder, done.code, stdout, stderr, seconds, done.hung, done.calls, (name, path, error))

    def fail(self, failure: Failure) -> str:
        """Try a failure; give what is wrong with what came of it, or nothing."""
        ended = self.end(failure)
        with self._judging:
            self.codes[ended.code] += 1
            self.errors[ended.failed[-1]] += 1
            self.longest_s = max(self.longest_s, ended.seconds)
            try:
                self.found[self._judge(ended)] += 1
            except Exception as error:  # noqa: BLE001 - each is told, after all were tried
                at = f"{failure.nth}-{failure.in_round}: {' '.join(ended.failed)}: exit code {ended.code}"
                return f"{at}: {type(error).__name__}: {error}\n{ended.stderr}"
            return ""

    def _judge(self, ended: Ended) -> str:
        assert not ended.hung
        assert ended.code in {0, 1, 2, 3}
        assert "Traceback" not in ended.stderr
        assert "panicked" not in ended.stderr
        assert "fault of Assay" not in ended.stderr
        if ended.failed[-1] == "EINTR":
            assert ended.code in {0, 1}, "EINTR surfaces"
        if ended.code == 2:
            self.found[f"exit code 2 ({ended.failed[0]})"] += 1
        outcome = self._judge_runs(ended)
        if list(ended.directory.iterdir()):
            said = ended.stderr + ended.stdout
            assert "assay clean" in said or "emove it yourself" in said, "left behind and not said"
            if "assay clean" in said:
                Assay(runs=ended.runs)("clean", ended.directory, check=0)
                assert list(ended.directory.iterdir()) == [], "clean leaves it"
            self.found["data left, which was said"] += 1
        return outcome

    def _judge_runs(self, ended: Ended) -> str:
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
        self._judge_numbers(ended, found)
        if run.state == "sealed":
            assert found.run.exit_code == ended.code or "The run is kept" in ended.stderr
            return "sealed"
        assert ended.code == 3
        assert "could not be sealed" in ended.stderr
        return "not sealed, which was said"

    def _judge_numbers(self, ended: Ended, found: Document) -> None:
        name, path, _ = ended.failed
        # What the storage answered to an operation that is measured is counted, whatever it is.
        is_of_load = name in {"pwrite64", "pread64", "pwritev", "preadv"} and "/assay-data/data/" in path
        unfinished = [one.id for one in found.findings if one.id == "unfinished"]
        assert unfinished or len(found.results) == len(self.truth.results)
        assert ended.code in {2, 3} or not unfinished
        if ended.code in {0, 1}:
            assert msgspec.json.decode(ended.stdout, type=Document).results == found.results
        for result, true in zip(found.results, self.truth.results, strict=False):
            assert (result.phase, result.operation) == (true.phase, true.operation)
            is_stopped = STOPPED in {(reason.id, reason.text) for reason in result.trust.reasons}
            if is_stopped or UNFINISHED in {one.id for one in result.findings}:
                assert ended.code in {2, 3}
                continue
            failed = result.errors
            assert failed == 0 or is_of_load
            ops, moved, true_ops, true_bytes = (one or 0 for one in (result.ops, result.bytes, true.ops, true.bytes))
            assert (ops + (failed or 0), moved * true_ops) == (true_ops, true_bytes * ops)
            assert failed == 0 or (ended.code == 1 and not result.trusted) or ended.code == 3


def _parts(line: str) -> tuple[str, str, str]:
    """Name, path and error in a line of the report."""
    name, rest = line.split(" ", 1)
    path, error = rest.rsplit(" ", 1)
    return name, path, error


def rounds(calls: Sequence[str]) -> list[Failure]:
    """Give the failures of all rounds: in the first each n is met, in the next those whose calls have errors left."""
    every = [Failure(nth, place) for nth, call in enumerate(calls, 1) for place in range(len(errors_of(call)))]
    return sorted(every, key=lambda failure: (failure.in_round, failure.nth))


@pytest.fixture
def servers() -> Iterator[Sequence[Server]]:
    """As many as run at a time."""
    need_command()
    started = [Server() for _ in range(AT_A_TIME)]
    yield started
    for server in started:
        server.end()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="needs x86-64, whose system calls nth_call.py knows")
def test_a_run_whose_nth_system_call_fails_is_sealed_or_says_that_it_is_not(
    tmp_path: Path, servers: Sequence[Server]
) -> None:
    tried = Tried(tmp_path, servers)
    failures = [failure for failure in rounds(tried.calls) if not ROUNDS or failure.in_round < ROUNDS]
    if NTH_CALLS:
        failures = random.Random(7).sample(failures, NTH_CALLS)  # noqa: S311 - a choice of calls

    wrong = []
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for number, text in enumerate(pool.map(tried.fail, failures), 1):
            if text or number % TOLD_EVERY == 0:
                sys.stdout.write(f"{number} of {len(failures)} {text}\n")
                sys.stdout.flush()
            wrong += [text] if text else []

    met = sum(number for error, number in tried.errors.items() if error)
    sys.stdout.write(
        f"{len(tried.calls)} calls in a run; {len(failures)} failures tried, {met} met: {dict(tried.errors)}\n"
        f"exit codes {dict(tried.codes)}; {dict(tried.found)}\nthe longest took {tried.longest_s:.1f} s\n"
    )
    assert wrong == [], f"{len(wrong)} of {len(failures)}\n" + "\n".join(wrong)
    assert met > 0.9 * len(failures)
