"""What an operation costs in the engine, in instructions: time on a shared machine says nothing."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay import events
from assay.running.engine import find_engine
from bench import counting, loads, tools
from bench.running import speak

FEW, MANY = 2_000, 102_000
RUNS = 3
"""Counts, of which the least is that of the operation."""
"""So far apart that what the host's counters cost, read on the clock and not per operation, is less than one of them."""
FILES = 2_000
"""Files of the tree that is looked at."""
DATA_BYTES = 4 << 20
BUDGETS = loads.budgets()
LOADS = {
    "read": lambda _: loads.random_read(DATA_BYTES),
    "read_of_bytes": lambda _: loads.random_read_of_bytes(DATA_BYTES),
    "uring": lambda _: loads.direct_random_read(DATA_BYTES),
    "stat": lambda _: loads.stat(FILES),
    "create": loads.create,
}
COUNTED = LOADS if os.environ.get("ASSAY_BUDGETS") == "all" else ("read", "uring")


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory whose thousands of files do not stay."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("name", COUNTED)
def test_an_operation_takes_no_more_instructions_than_its_budget(
    name: str, hello: events.Hello, directory: Path
) -> None:
    counter = counting.valgrind()
    if counter is None:
        pytest.skip("valgrind is not installed (apt-get install valgrind): nothing counts instructions")
    if hello.engine.profile != "release":
        pytest.skip(f"{find_engine()} is a {hello.engine.profile} build; budgets are of release builds")
    if name == "uring":
        need_direct_uring(hello, directory)
    engine = tools.assay(LOADS[name], directory, before=lambda extent: fresh(LOADS[name](extent.most), directory))

    # The engine samples by time: beside others an operation takes longer, and has more of that in its count.
    for _ in range(RUNS):
        cost = counting.per_op(counter, engine, FEW, MANY)
        if cost.user <= BUDGETS[name]:
            break

    # The call itself and its clock readings take dozens: less is a count that went wrong.
    assert 30 < cost.user <= BUDGETS[name], f"one {name} takes {cost.user:.0f} instructions"


def fresh(load: loads.Load, directory: Path) -> None:
    """Lay the files of a load out anew, outside any count."""
    for entry in directory.iterdir():
        shutil.rmtree(entry)
    speak([str(find_engine())], load.preparation(directory).to_json())


def need_direct_uring(hello: events.Hello, directory: Path) -> None:
    """Skip where there is no io_uring or no O_DIRECT."""
    if not hello.capabilities.io_uring:
        pytest.skip(f"no io_uring here: {'; '.join(hello.capabilities.notes)}")
    probe = directory / "probe"
    probe.mkdir()
    try:
        os.close(os.open(probe / "file", os.O_CREAT | os.O_WRONLY | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f"no O_DIRECT in {directory}: {error}")
