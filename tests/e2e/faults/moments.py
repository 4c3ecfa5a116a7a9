"""Waiting for a moment of a run, and holding the run there while a fault is provoked.

A program that is held (SIGSTOP) passes no moment by, however slow the test is.
"""

import os
import signal
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.bundle.files import MANIFEST, RUN
from e2e.faults.fault import Moment, Scene
from e2e.faults.load import LOAD_FILE
from e2e.processes import WAIT_S, events_of, is_alive
from testbed.host import wait_until

LOOK_S = 0.001
HIT_INDEX = 1
"""Index of the phase that a fault hits."""


@contextmanager
def held(scene: Scene) -> Iterator[None]:
    """Wait for the moment of a scene and hold the run there; in a phase it goes on."""
    match scene.moment:
        case Moment.START:
            yield
        case Moment.IN_PHASE:
            _soon(scene, _has_operations)
            scene.engines.append(scene.run.engine())
            yield
        case Moment.LAYING_OUT | Moment.BETWEEN:
            is_so = _is_laying_out if scene.moment is Moment.LAYING_OUT else _is_between
            _soon(scene, is_so)
            scene.engines.append(scene.run.engine())
            with stopped(scene.engine):
                assert is_so(scene), "the moment was missed"
                yield
        case Moment.SEALING:
            _soon(scene, lambda scene: bool(_events(scene, "started")))
            scene.engines.append(scene.run.engine())
            with stopped(scene.run.process.pid):
                # What the engine says to its end lies there, to be read and sealed.
                wait_until(lambda: not is_alive(scene.engine), "the engine's end", WAIT_S)
                yield
        case Moment.REPORTING:
            _soon(scene, _is_sealed)
            # What is still to be put in order is done in a moment; the report takes far longer than that.
            time.sleep(0.05)
            with stopped(scene.run.process.pid):
                assert not any(scene.place.runs.glob("*.html")), "the moment was missed"
                yield


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """Stop a process, unless it ends meanwhile."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        if is_alive(process):
            os.kill(process, signal.SIGCONT)


def _soon(scene: Scene, is_so: Callable[[Scene], bool]) -> None:
    """Wait for a moment that may be short."""
    deadline_s = time.monotonic() + WAIT_S
    while not is_so(scene):
        assert scene.run.process.poll() is None, f"the run has ended already: {scene.run.said()}"
        assert time.monotonic() < deadline_s, f"never {scene.moment.value}: {scene.run.said()}"
        time.sleep(LOOK_S)


def _folders(scene: Scene) -> list[Path]:
    runs = scene.place.runs
    return [path for path in runs.iterdir() if path.is_dir() and path.name != scene.earlier] if runs.is_dir() else []


def _events(scene: Scene, kind: str) -> list[dict[str, Any]]:
    return [event for event in events_of(scene.place.runs) if event["event"] == kind]


def _sets(scene: Scene) -> set[str]:
    """Names of the file sets of the load."""
    return {each["name"] for each in tomllib.loads((scene.scratch / LOAD_FILE).read_text())["file_set"]}


def _has_operations(scene: Scene) -> bool:
    return any(
        interval["phase_index"] == HIT_INDEX and any(one["ops"] for one in interval["operations"])
        for interval in _events(scene, "interval")
    )


def _is_laying_out(scene: Scene) -> bool:
    is_begun = any((scene.place.directory / "assay-data" / "many").glob("*/*"))
    return is_begun and not any(event["set"] == "many" for event in _events(scene, "prepared"))


def _is_sealed(scene: Scene) -> bool:
    return any((folder / MANIFEST).exists() and not (folder / RUN).exists() for folder in _folders(scene))


def _is_between(scene: Scene) -> bool:
    # What the next phase needs is laid out after the one before has ended; that is not this moment yet.
    prepared = {event["set"] for event in _events(scene, "prepared")}
    return (
        bool(_events(scene, "phase_finished"))
        and _sets(scene) <= prepared
        and not any(event["phase_index"] == HIT_INDEX for event in _events(scene, "started"))
    )
