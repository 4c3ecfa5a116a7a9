"""Wait for a moment of a run, and hold the run there while a fault is provoked.

A program that is held (SIGSTOP) passes no moment by. Until it is held, a busy machine may let it pass: `Missed` then ends
the attempt, which proves nothing. Afterwards the run's own events say when the moment was over, to the nanosecond.
"""

import json
import os
import signal
import sqlite3
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from assay.bundle.kept_list import CATALOG
from e2e.faults.fault import Moment, Scene
from e2e.faults.load import LOAD_FILE
from e2e.processes import WAIT_S, engines_of, events_of, is_alive, state_of
from testbed.host import wait_until

LOOK_S = 0.001
HIT_INDEX = 1
"""Index of the phase that a fault hits."""
LEFT_NS = 200_000_000
"""What must be left of a phase when its fault has been provoked, so that operations meet the fault."""


class Missed(Exception):  # noqa: N818 - no error: the attempt proves nothing
    """The run had passed the moment before it was held."""


@contextmanager
def held(scene: Scene) -> Iterator[None]:
    """Wait for the moment of a scene and hold the run there; in a phase it goes on.

    Raises:
        Missed: the moment has passed.
    """
    match scene.moment:
        case Moment.START:
            yield
        case Moment.IN_PHASE:
            _soon(scene, _has_operations)
            _find_engine(scene)
            yield
            scene.provoked_ns = time.monotonic_ns()
        case Moment.LAYING_OUT | Moment.BETWEEN:
            is_so = _is_laying_out if scene.moment is Moment.LAYING_OUT else _is_between
            _soon(scene, is_so)
            _find_engine(scene)
            with stopped(scene.engine):
                scene.held_ns = time.monotonic_ns()
                _need(scene, is_so)
                yield
        case Moment.SEALING:
            _soon(scene, lambda scene: bool(_events(scene, "started")))
            _find_engine(scene)
            with stopped(scene.run.process.pid):
                _need(scene, lambda scene: not _events(scene, "finished"))
                # What the engine says to its end lies there, to be read and sealed.
                wait_until(lambda: not is_alive(scene.engine), "the engine's end", WAIT_S)
                yield
        case Moment.REPORTING:
            _soon(scene, _has_answer)
            with stopped(scene.run.process.pid):
                _need(scene, lambda scene: not any(scene.place.runs.glob("*.html")))
                yield


def check_moment(scene: Scene) -> None:
    """Hold a run that has ended to its own events: was the fault provoked at the moment?

    Raises:
        Missed: the moment had passed by then. Where no events are left, nobody can tell.
    """
    recorded = _recorded(scene)
    if not recorded:
        return
    zero_ns = recorded[0]["clock"]["monotonic_at_zero_ns"]

    def ends_ns(kind: str, **fields: object) -> int | None:
        """When the first event of this kind was, by the clock of this machine."""
        found = (event for event in recorded if event["event"] == kind and fields.items() <= event.items())
        return next((zero_ns + event["t_ns"] for event in found), None)

    match scene.moment:
        case Moment.LAYING_OUT:
            end_ns, least_ns = ends_ns("prepared", set="many"), scene.held_ns
        case Moment.BETWEEN:
            end_ns, least_ns = ends_ns("started", phase_index=HIT_INDEX), scene.held_ns
        case Moment.IN_PHASE if scene.provoked_ns is not None:
            end_ns = None if _is_ended_early(recorded) else ends_ns("phase_finished", phase_index=HIT_INDEX)
            least_ns = scene.provoked_ns + LEFT_NS
        case _:
            return
    if end_ns is not None and least_ns is not None and end_ns < least_ns:
        raise Missed(f"{scene.moment.value}: it was over {(least_ns - end_ns) / 1e9:.3f} s too early")


def _is_ended_early(recorded: list[dict[str, Any]]) -> bool:
    """Whether the fault ended the phase, which the load would not have ended yet."""
    finished = (event for event in recorded if event["event"] == "phase_finished" and event["phase_index"] == HIT_INDEX)
    return any(event["stopped_by"] != "time" for event in finished)


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """Stop a process, unless it ends meanwhile."""
    os.kill(process, signal.SIGSTOP)
    try:
        wait_until(lambda: state_of(process) in {"T", "Z", "X"}, "a process that stands still", WAIT_S)
        yield
    finally:
        if is_alive(process):
            os.kill(process, signal.SIGCONT)


def _soon(scene: Scene, is_so: Callable[[Scene], bool]) -> None:
    """Wait for a moment that may be short; raises Missed where the run has ended."""
    deadline_s = time.monotonic() + WAIT_S
    while not is_so(scene):
        if scene.run.process.poll() is not None:
            raise Missed(f"{scene.moment.value}: the run has ended already: {scene.run.said()}")
        assert time.monotonic() < deadline_s, f"never {scene.moment.value}: {scene.run.said()}"
        time.sleep(LOOK_S)


def _need(scene: Scene, is_so: Callable[[Scene], bool]) -> None:
    if not is_so(scene):
        raise Missed(f"{scene.moment.value}: it was over when the run was held")


def _find_engine(scene: Scene) -> None:
    """Note the engine of the run; raises Missed where it has ended."""
    found = engines_of(scene.run.process.pid)
    if not found:
        raise Missed(f"{scene.moment.value}: the engine has ended already")
    scene.engines.append(found[0])


def _recorded(scene: Scene) -> list[dict[str, Any]]:
    """All events of a run that has ended, sealed or not; none where somebody removed them."""
    runs = scene.place.runs_seen
    if found := events_of(runs):
        return found
    sealed = [path for path in runs.glob("*/events/*.json") if path.parts[-3] != scene.earlier]
    return [event for path in sealed for event in json.loads(path.read_text())]


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


def _has_answer(scene: Scene) -> bool:
    """Whether the run is sealed and its answer kept: the report is next, and takes the longest."""
    kept = scene.place.runs / CATALOG
    try:
        with closing(sqlite3.connect(f"file:{kept}?mode=ro", uri=True)) as database:
            return bool(database.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.Error:  # it is not there yet, or just being written
        return False


def _is_between(scene: Scene) -> bool:
    # What the next phase needs is laid out after the one before has ended; that is not this moment yet.
    prepared = {event["set"] for event in _events(scene, "prepared")}
    return (
        bool(_events(scene, "phase_finished"))
        and _sets(scene) <= prepared
        and not any(event["phase_index"] == HIT_INDEX for event in _events(scene, "started"))
    )
