"""The wall clock is stepped while a run is on.

libfaketime shows the programs another wall clock than the machine's, by a file that is read at each look. The machine's
own clock stays as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.results import Document
from e2e.faults.fault import Fault, Moment, Place, Provoke, Scene
from e2e.faults.load import MANY_FILES, SHORT
from e2e.faults.space import nothing
from e2e.faults.storage import plain

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
OFFSET = "offset"
"""File with what the wall clock is ahead."""
ENVIRONMENT = {
    "LD_PRELOAD": str(LIBRARY),
    "FAKETIME_TIMESTAMP_FILE": f"{{folder}}/{OFFSET}",
    "FAKETIME_NO_CACHE": "1",
    "DONT_FAKE_MONOTONIC": "1",
    "NO_FAKE_STAT": "1",
}
HOUR_S = 3600.0
TRUE = "durations and rates are by a clock that nobody steps"


@contextmanager
def with_own_clock(folder: Path) -> Iterator[Place]:
    """Folders, and a wall clock that is right at first."""
    if LIBRARY is None:
        pytest.skip("needs libfaketime; .ci/run lists the packages")
    (folder / OFFSET).write_text("+0")
    with plain(folder) as place:
        yield place


def step(offset: str) -> Provoke:
    """Step the wall clock."""

    def provoke(scene: Scene) -> None:
        new = scene.scratch / "new-offset"
        new.write_text(offset)
        new.replace(scene.scratch / OFFSET)

    return provoke


def times_are_true(shown: Document) -> None:
    """No duration has the hour in it."""
    assert 0 < shown.run.seconds < HOUR_S / 2
    for result in shown.results:
        assert 0 < result.seconds < HOUR_S / 2
        assert result.iops == pytest.approx(result.ops / result.seconds)
    (stepped,) = [finding for finding in shown.findings if finding.id == "clock-stepped"]
    assert "3,600 s" in stepped.text or "3,599 s" in stepped.text or "3,601 s" in stepped.text, stepped.text


@contextmanager
def with_clock_behind(folder: Path) -> Iterator[Place]:
    """Folders, and a wall clock that is an hour behind from the start."""
    with with_own_clock(folder) as place:
        (folder / OFFSET).write_text("-3600")
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
            provoke=step(offset),
            storage=with_own_clock,
            env=ENVIRONMENT,
            load=load,
            check=times_are_true,
            unharmed=TRUE,
        )
        for way, offset in (("forwards", "+3600"), ("backwards", "-3600"))
        for moment, load in ((Moment.LAYING_OUT, MANY_FILES), (Moment.IN_PHASE, {"seconds": "1s"}))
    ),
)
