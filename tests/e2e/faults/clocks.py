"""The wall clock is stepped while a run is on.

`wall_clock.c` shows the programs another wall clock than the machine's, which stays as it is.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.results import Document
from e2e.faults.fault import Fault, Moment, Place, Provoke, Scene
from e2e.faults.load import MANY_FILES, SHORT
from e2e.faults.space import nothing
from e2e.faults.storage import plain
from testbed.host import command, need_tools

SOURCE = Path(__file__).with_name("wall_clock.c")
LIBRARY, OFFSET = "wall_clock.so", "offset"
ENVIRONMENT = {"LD_PRELOAD": f"{{folder}}/{LIBRARY}", "ASSAY_TEST_OFFSET": f"{{folder}}/{OFFSET}"}
HOUR_S = 3600.0
TRUE = "durations and rates are by a clock that nobody steps"


def set_ahead(folder: Path, seconds: int) -> None:
    """Set what the wall clock is ahead."""
    with (folder / OFFSET).open("r+b" if (folder / OFFSET).exists() else "wb") as file:
        file.write(struct.pack("=q", seconds))


@contextmanager
def with_own_clock(folder: Path) -> Iterator[Place]:
    """Folders, and a wall clock that is right at first."""
    need_tools("gcc")
    command("gcc", "-shared", "-fPIC", "-O1", "-o", folder / LIBRARY, SOURCE, "-ldl")
    set_ahead(folder, 0)
    with plain(folder) as place:
        yield place


def step(seconds: int) -> Provoke:
    """Step the wall clock."""

    def provoke(scene: Scene) -> None:
        set_ahead(scene.scratch, seconds)

    return provoke


def times_are_true(shown: Document) -> None:
    """No duration has the hour in it."""
    assert shown.run.seconds
    assert 0 < shown.run.seconds < HOUR_S / 2
    for result in shown.results:
        assert result.seconds
        assert result.ops is not None
        assert 0 < result.seconds < HOUR_S / 2
        assert result.iops == pytest.approx(result.ops / result.seconds)
    (stepped,) = [finding for finding in shown.findings if finding.id == "clock-stepped"]
    assert "3,600 s" in stepped.text or "3,599 s" in stepped.text or "3,601 s" in stepped.text, stepped.text


@contextmanager
def with_clock_behind(folder: Path) -> Iterator[Place]:
    """Folders, and a wall clock that is an hour behind from the start."""
    with with_own_clock(folder) as place:
        set_ahead(folder, -3600)
        yield place


BETWEEN_RUNS = Fault(
    name="the wall clock is stepped an hour backwards between two runs",
    moment=Moment.START,
    provoke=nothing,
    storage=with_clock_behind,
    env=ENVIRONMENT,
    load=SHORT,
    unharmed=TRUE,
)
FAULTS = (
    BETWEEN_RUNS,
    *(
        Fault(
            name=f"the wall clock is stepped an hour {way}",
            moment=moment,
            is_rare=(moment, seconds) != (Moment.IN_PHASE, -3600),
            provoke=step(seconds),
            storage=with_own_clock,
            env=ENVIRONMENT,
            load=load,
            check=times_are_true,
            unharmed=TRUE,
        )
        for way, seconds in (("forwards", 3600), ("backwards", -3600))
        for moment, load in ((Moment.LAYING_OUT, MANY_FILES), (Moment.IN_PHASE, {"seconds": "1s"}))
    ),
)
