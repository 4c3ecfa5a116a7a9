"""Provoke a fault in a real run and say what became of it."""

import shutil
import time
from contextlib import ExitStack
from pathlib import Path

from e2e.faults import moments
from e2e.faults.fault import Fault, Moment, Scene
from e2e.faults.load import write_load
from e2e.faults.outcome import MINE, Outcome, outcome
from e2e.processes import WAIT_S, engines_of, is_alive, running
from testbed.host import command, wait_until


def carry_out(fault: Fault, folder: Path, earlier: Path) -> Outcome:
    """Run the command, wait for the moment, provoke the fault, wait for the end.

    Args:
        fault: A row of the matrix.
        folder: For what the test needs.
        earlier: A sealed run, which must stay readable.
    """
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
            *fault.words,
        ]
        if fault.moment is not Moment.REPORTING:
            words.append("--no-report")
        env = {name: value.format(folder=folder) for name, value in fault.env.items()}
        mending = stack.enter_context(ExitStack())
        with running(*words, folder=folder, env=env, started_by=fault.started_by) as run:
            scene = Scene(place, run, fault.moment, folder, earlier.name, mending)
            with moments.held(scene):
                fault.provoke(scene)
            begun_s = time.monotonic()
            if fault.follow:
                fault.follow(scene)
            code = run.exit_code()
            for engine in {*scene.engines, *engines_of(run.process.pid)}:
                if not scene.is_stopped_twice:
                    wait_until(lambda engine=engine: not is_alive(engine), "the engine's end", WAIT_S)  # type: ignore[misc]
            seconds = time.monotonic() - begun_s
        mending.close()
        for engine in scene.engines:
            wait_until(lambda engine=engine: not is_alive(engine), "the engine's end", WAIT_S)  # type: ignore[misc]
        return outcome(fault, scene, code, seconds)
