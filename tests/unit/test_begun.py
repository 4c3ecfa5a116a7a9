"""When was a program started? A shell that becomes it says so, and waits or works before."""

import os
import subprocess
import sys
import time

import pytest

WAITED_S = 1.0
LATEST_NS = 50_000_000
"""The kernel keeps the start of a process, and `uptime`, to a hundredth of a second."""
MOST_LOADING_NS = 100_000_000
WORKED_NS = 300_000_000
SHELL = """
%s
read ran waited slices </proc/$$/schedstat
read up idle </proc/uptime
echo "$ran $waited $up"
exec "$0" -c '
import time
first_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
from assay.begun import first_line
before_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
since_ns = time.monotonic_ns() - first_line().started_ns
print(first_ns, before_ns - since_ns, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - since_ns)
'
"""
"""It may lose the CPU between two clocks: the start lies between the last two numbers."""


# It begins anew until the kernel says that it has had the CPU for that long.
WORK = f"""
while read ran waited slices </proc/$$/schedstat; [ $ran -lt {WORKED_NS} ]; do :; done
"""


@pytest.mark.parametrize("before", [f"sleep {WAITED_S}", WORK], ids=["waited", "worked"])
@pytest.mark.long
def test_a_program_that_a_shell_became_was_started_then_and_not_when_the_shell_was(before: str) -> None:
    done = subprocess.run(
        ["sh", "-c", SHELL % before, sys.executable],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )

    of_shell, of_program = done.stdout.splitlines()
    waited_ns, became_ns = int(of_shell.split()[1]), round(float(of_shell.split()[2]) * 1e9)
    first_ns, earliest_ns, latest_ns = map(int, of_program.split())
    # What the shell waited for a CPU cannot be told from what the program did.
    assert became_ns - MOST_LOADING_NS - waited_ns - LATEST_NS <= latest_ns
    assert earliest_ns <= first_ns + LATEST_NS


def test_a_process_was_not_started_before_it_was_made() -> None:
    program = "import time\nfrom assay.begun import first_line\nprint(first_line().started_ns, time.monotonic_ns())"
    before_ns = time.monotonic_ns()
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )

    told_ns, after_ns = map(int, done.stdout.split())
    assert before_ns - LATEST_NS <= told_ns <= after_ns
