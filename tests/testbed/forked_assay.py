"""Runs `assay` again and again, each time with another system call failing, and starts it only once: a program.

Loading what Assay is made of takes longer than a short run. Here it is done once, and each run is a fork. On standard
input there is a line for each run, a `Task` as JSON; on standard output the answer, a `Done`, when it has ended.
"""

import os
import signal
import sys
from collections.abc import Sequence

import msgspec

from assay import session
from assay.analysis import document, record
from assay.cli import app, run
from assay.loads import native, suites
from testbed.nth_call import Failing
from testbed.nth_call import start as start_failing
from testbed.prestarted import become

LOADED = (session, app, run, document, record, native, suites)
"""What a run needs; commands load it when they are given."""


class Task(msgspec.Struct, frozen=True):
    """A run to be made."""

    words: Sequence[str]
    """After `assay`."""
    folders: Sequence[str]
    """Calls that touch them are counted."""
    nth: int
    """The call that fails; 0: none."""
    in_round: int
    stdout: str
    """File for its standard output."""
    stderr: str
    most_s: float
    """After so long it is killed."""


class Done(msgspec.Struct, frozen=True):
    """A run that has ended."""

    code: int
    calls: Sequence[str]
    """Lines as in the report of `nth_call.py`."""
    hung: bool


def carry_out(task: Task) -> Done:
    """Make a run."""
    process, listener = start_failing(lambda: _assay(task))
    failing = Failing(nth=task.nth, in_round=task.in_round, folders=task.folders)
    hung = not failing.serve(listener, task.most_s)
    if hung:
        os.close(listener)  # calls that wait for an answer get ENOSYS
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return Done(code=os.waitstatus_to_exitcode(status), calls=failing.calls, hung=hung)


def _assay(task: Task) -> None:
    os.setsid()
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, task.stdout, os.O_WRONLY | os.O_CREAT),
        (2, task.stderr, os.O_WRONLY | os.O_CREAT),
    ):
        descriptor = os.open(path, flags, 0o644)
        os.dup2(descriptor, number)
        os.close(descriptor)
    become(["assay", *task.words])


def main() -> None:
    """Make runs until there are no more."""
    for line in sys.stdin.buffer:
        done = carry_out(msgspec.json.decode(line, type=Task))
        sys.stdout.buffer.write(msgspec.json.encode(done) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
