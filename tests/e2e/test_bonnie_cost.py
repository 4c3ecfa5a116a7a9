"""What the load of `assay bonnie` costs beside bonnie++ itself, in instructions: time on a shared machine says nothing."""

import os
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from assay import events
from assay.errors import RunError
from assay.running.engine import find_engine
from assay.tools.bonnie import FRONT_END
from assay.tools.bonnie.plan import to_plan
from bench import counting
from bench.loads import SAMPLE_INTERVAL_S
from bench.running import speak

AS_ROOT = ("-u", "root") if os.geteuid() == 0 else ()
MIB_BYTES = 1 << 20
BLOCK_BYTES = 8192
CALLS_A_BLOCK = 4
"""Written, read and written again in rewriting, read."""
FEW_MIB, MANY_MIB = 4, 196
"""So far apart that a link that another test adds between the runs, which costs the engine's look at the machine 150,000
instructions, is less than two of a call."""
MOST_MORE = 420
"""Instructions that a call that moves a block may take beyond bonnie++'s: histogram, counters and stop rules are in it.
It is less than a twentieth of the CPU time that moving 8 KiB takes, which is what users may notice: 2 GiB on tmpfs took
1.00 times bonnie++'s CPU time, in seven rounds that took turns (decision 13 has shorter ones too)."""


@pytest.fixture(scope="module", autouse=True)
def both_programs() -> None:
    """Skip where either is missing, or not what it is in a release."""
    if shutil.which("bonnie++") is None or counting.valgrind() is None:
        pytest.skip("needs bonnie++ and valgrind")
    try:
        said, _ = speak([str(find_engine())], b"{}")
    except RunError as error:
        pytest.skip(str(error))
    hello = events.decode(said.splitlines()[0].encode())
    if not isinstance(hello, events.Hello) or hello.engine.profile != "release":
        pytest.skip(f"{find_engine()} is no release build")


def instructions(directory: Path, *words: str) -> tuple[float, float]:
    """User instructions of the engine, and of bonnie++, for one command line; the engine's host is sampled but once."""
    counter = counting.valgrind()
    assert counter is not None
    words = (*AS_ROOT, "-r", "0", "-n", "0", "-q", *words)
    plan = to_plan(FRONT_END.parse(words), FRONT_END.origin(words), directory=directory, seed=1)
    plan = msgspec.structs.replace(plan, sample_interval_s=SAMPLE_INTERVAL_S)
    _, ours = speak([*counter.prefix, str(find_engine())], plan.to_json())
    _, theirs = speak([*counter.prefix, "bonnie++", "-d", str(directory), *words], None)
    assert re.search(r"I +refs", theirs)
    return counter.read(ours).user, counter.read(theirs).user


def per_op(directory: Path, few: tuple[str, ...], many: tuple[str, ...], more_ops: int) -> tuple[float, float]:
    """Instructions of one operation of either program, from a short and a long run."""
    short, long = instructions(directory, *few), instructions(directory, *many)
    ours, theirs = ((b - a) / more_ops for a, b in zip(short, long, strict=True))
    # The call itself takes some: less is a count that went wrong.
    assert min(ours, theirs) > 5
    return ours, theirs


@pytest.mark.skipif(
    os.environ.get("ASSAY_BUDGETS") != "all", reason="calls that move a block are; make prove counts both"
)
def test_a_call_that_moves_a_byte_takes_no_more_instructions_than_in_bonnie(tmp_path: Path) -> None:
    size = ("-s", f"4:{BLOCK_BYTES}:1")

    ours, theirs = per_op(tmp_path, (*size, "-f"), (*size, "-f1"), 2 * MIB_BYTES)

    assert ours <= theirs, f"{ours:.1f} instructions for each byte written and read, {theirs:.1f} in bonnie++"


def test_a_call_that_moves_a_block_takes_little_more_than_in_bonnie(tmp_path: Path) -> None:
    few, many = FEW_MIB, MANY_MIB
    blocks = (many - few) * MIB_BYTES // BLOCK_BYTES

    ours, theirs = per_op(
        tmp_path,
        ("-f", "-s", f"{few}:{BLOCK_BYTES}:1"),
        ("-f", "-s", f"{many}:{BLOCK_BYTES}:1"),
        CALLS_A_BLOCK * blocks,
    )

    assert ours <= theirs + MOST_MORE, f"{ours:.0f} instructions for each block moved, {theirs:.0f} in bonnie++"
