"""Is the time of a call in the latency of its own operation, and in no other?

strace holds one kind of call up by a known time. What it does to the other operations is their own affair: only where the
20 ms are to be found is looked at.
"""

import shutil
from pathlib import Path

import pytest

from e2e.command import Measure

HELD_UP_NS = 20_000_000
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
    "openat": {"open"},
    "fcntl": {"lock", "unlock"},
    "fadvise64": set[str](),
}
"""By call: the operations whose latency it is in. Advice on a file that was opened is in none."""


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("call", HOLDERS)
def test_a_call_that_is_held_up_is_in_the_latency_of_its_operation_alone(
    call: str, measure: Measure, tmp_path: Path
) -> None:
    directory = tmp_path / "measured"
    directory.mkdir()
    # Only calls on the files of the set: those of the engine and of Python take no longer than else.
    names = [f"f{index:08}" for index in range(4)]
    paths = [f"--trace-path={path}" for name in names for path in (name, f"{directory}/assay-data/files/{name}")]
    hold_up = f"--inject={call}:delay_enter={HELD_UP_NS // 1000}"

    document = measure(LOAD, directory, "--no-report", prefix=["strace", "-f", "-o", "/dev/null", *paths, hold_up])

    p50_ns = {result["operation"]: result["latency_ns"]["p50"] for result in document["results"]}
    counted = {result["operation"]: result["ops"] for result in document["results"]}
    assert counted == dict.fromkeys(p50_ns, PASSES)
    assert {operation for operation, p50 in p50_ns.items() if p50 >= HELD_UP_NS * 0.99} == HOLDERS[call]
