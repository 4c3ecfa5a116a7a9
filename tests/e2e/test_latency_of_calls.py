"""Is the time of a call in the latency of its own operation, and in no other?

strace holds one kind of call up by a known time, ten times what the slowest of them takes on this machine. What it does to
the other operations is their own affair: only where that time is to be found is looked at.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest

from e2e.command import Measure

LEAST_NS = 20_000_000
PASSES = 24

LOAD = f"""
name = "held-up"
[[file_set]]
name = "files"
files = 4
size = "64KiB"

[[phase]]
name = "calls"
[[phase.job]]
advice = "random"
backend = {{ kind = "read_write" }}
stop = {{ passes = {PASSES} }}
loop = [
    {{ op = "open", set = "files", pick = "random", slot = 0 }},
    {{ op = "read", slot = 0, size = "4KiB" }},
    {{ op = "lock", slot = 0 }},
    {{ op = "write", slot = 0, size = "4KiB" }},
    {{ op = "write", name = "again", slot = 0, size = "4KiB", keeps_buffer = true }},
    {{ op = "fsync", slot = 0 }},
    {{ op = "unlock", slot = 0 }},
    {{ op = "close", slot = 0 }},
]
"""

HOLDERS = {
    "read": {"read"},
    "write": {"write", "again"},
    "fsync": {"fsync"},
    "close": {"close"},
    "openat2": {"open"},
    "fcntl": {"lock", "unlock"},
    "fadvise64": set[str](),
}
"""By call: the operations whose latency it is in. Advice on a file that was opened is in none."""


@pytest.mark.quiet
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_call_that_is_held_up_is_in_the_latency_of_its_operation_alone(measure: Measure, tmp_path: Path) -> None:
    directory = tmp_path / "measured"
    directory.mkdir()
    # Only calls on the files of the set: those of the engine and of Python take no longer than else.
    names = [f"f{index:08}" for index in range(4)]
    paths = [f"--trace-path={path}" for name in names for path in (name, f"{directory}/assay-data/files/{name}")]
    strace = ["strace", "-f", "-o", "/dev/null", *paths]

    free_ns = _medians_ns(measure(LOAD, directory, "--no-report", prefix=strace))
    held_up_us = max(LEAST_NS, 10 * max(free_ns.values())) // 1000
    for call, holders in HOLDERS.items():
        hold_up = f"--inject={call}:delay_enter={held_up_us:.0f}"
        medians_ns = _medians_ns(measure(LOAD, directory, "--no-report", prefix=[*strace, hold_up]))
        slow = {operation for operation, ns in medians_ns.items() if ns >= held_up_us * 1000 * 0.99}
        assert slow == holders, (call, medians_ns)


def _medians_ns(document: dict[str, Any]) -> dict[str, float]:
    """By operation, each of which was done so many times."""
    measured = [result for result in document["results"] if result["operation"] != "*"]
    counted = {result["operation"]: result["ops"] for result in measured}
    assert counted == dict.fromkeys(counted, PASSES)
    return {result["operation"]: result["latency_ns"]["p50"] for result in measured}
