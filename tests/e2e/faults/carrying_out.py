"""Provoke a fault in a real run and say what became of it."""

import shutil
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from e2e.faults import moments
from e2e.faults.fault import Fault, Moment, Scene
from e2e.faults.load import write_load
from e2e.faults.outcome import MINE, Outcome, outcome
from e2e.faults.space import nothing
from e2e.processes import WAIT_S, is_alive, running
from testbed.host import command, wait_until

ATTEMPTS = 10
"""A busy machine lets a short moment pass now and then; a moment that never comes fails the test."""


def carry_out(fault: Fault, folder: Path, earlier: Path) -> Outcome:
    """Run the command, wait for the moment, provoke the fault, wait for the end; again, as long as the moment was missed.

    Args:
        fault: A row of the matrix.
        folder: For what the test needs.
        earlier: A sealed run, which must stay readable.
    """
    missed = []
    for attempt in range(ATTEMPTS):
        place = folder / str(attempt)
        place.mkdir()
        try:
            return _carry_out(fault, place, earlier)
        except moments.Missed as why:
            missed.append(str(why))
    pytest.fail("the moment was missed each time:\n" + "\n".join(missed))


def _carry_out(fault: Fault, folder: Path, earlier: Path) -> Outcome:
    with ExitStack() as stack:
        place = stack.enter_context(fault.storage(folder))
        (place.directory / MINE).write_text(MINE)
        place.runs.mkdir(exist_ok=True)
        shutil.copytree(earlier, place.runs / earlier.name)
        for made in (place.directory, place.runs):
            command("sync", "-f", made)  # what a fault takes away is the run's, and not what was there before
        words: list[str | Path] = [
            "run",
            write_load(folder, fault.load),
            place.directory,
            "--runs",
            place.runs,
        ]
        if fault.moment is not Moment.REPORTING:
            words.append("--no-report")
        env = {name: value.format(folder=folder) for name, value in fault.env.items()}
        run = stack.enter_context(running(*words, folder=folder, env=env, started_by=fault.started_by))
        # Left first, whatever fails: what storage holds does not end before.
        mending = stack.enter_context(ExitStack())
        scene = Scene(place, run, fault.moment, folder, earlier.name, mending)
        # What the load does by itself needs no moment.
        with moments.held(scene) if fault.provoke is not nothing else nullcontext():
            fault.provoke(scene)
        if fault.follow:
            fault.follow(scene)
        code = run.exit_code()
        if not scene.is_stopped_twice:
            _wait_for_engines(scene)
        mending.close()
        _wait_for_engines(scene)
        moments.check_moment(scene)
        return outcome(fault, scene, code)


def _wait_for_engines(scene: Scene) -> None:
    wait_until(lambda: not any(map(is_alive, scene.engines)), "the engine's end", WAIT_S)
