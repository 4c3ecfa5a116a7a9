"""Programs that are killed, stopped, and told to stop."""

import os
import signal
import time

from e2e.faults.fault import Fault, Moment, Scene
from e2e.faults.load import MANY_FILES, PAUSE_BETWEEN, SHORT
from e2e.faults.moments import stopped
from e2e.faults.storage import plain

KILLED = "nobody was left to remove it"
PAUSED_S = 2.0


def kill_engine(scene: Scene) -> None:
    """Kill the program that does the I/O."""
    os.kill(scene.engine, signal.SIGKILL)


def kill_front_end(scene: Scene) -> None:
    """Kill `assay` itself."""
    scene.run.process.kill()


def kill_both(scene: Scene) -> None:
    """Kill both, `assay` first."""
    kill_front_end(scene)
    kill_engine(scene)


def stop_engine_for_a_while(scene: Scene) -> None:
    """Stop the engine and let it go on."""
    with stopped(scene.engine):
        time.sleep(PAUSED_S)


def stop_engine(scene: Scene) -> None:
    """Stop the engine."""
    os.kill(scene.engine, signal.SIGSTOP)


def go_on_when_said(scene: Scene) -> None:
    """It is said; then somebody lets it go on."""
    scene.run.wait_for("has sent no event for 10 s")
    os.kill(scene.engine, signal.SIGCONT)


def interrupt(scene: Scene) -> None:
    """Ctrl-C."""
    scene.run.stop()


def terminate(scene: Scene) -> None:
    """What a machine that shuts down sends."""
    scene.run.stop(signal.SIGTERM)


MOMENTS_OF_A_RUN = {
    Moment.LAYING_OUT: MANY_FILES,
    Moment.BETWEEN: PAUSE_BETWEEN,
    Moment.IN_PHASE: {},
    Moment.SEALING: SHORT,
    Moment.REPORTING: SHORT,
}
WITH_ENGINE = (Moment.LAYING_OUT, Moment.BETWEEN, Moment.IN_PHASE)

FAULTS = (
    *(
        Fault(
            name="the engine is killed (-9, or out of memory)",
            moment=moment,
            provoke=kill_engine,
            storage=plain,
            load=MOMENTS_OF_A_RUN[moment],
            lost=KILLED,
            is_rare=moment is not Moment.IN_PHASE,
        )
        for moment in WITH_ENGINE
    ),
    *(
        Fault(
            name="`assay` is killed (-9, or out of memory)",
            moment=moment,
            is_rare=moment not in {Moment.IN_PHASE, Moment.SEALING},
            provoke=kill_front_end,
            storage=plain,
            load=load,
        )
        for moment, load in MOMENTS_OF_A_RUN.items()
    ),
    *(
        Fault(
            name="both are killed",
            moment=moment,
            is_rare=moment is not Moment.IN_PHASE,
            provoke=kill_both,
            storage=plain,
            load=MOMENTS_OF_A_RUN[moment],
            lost=KILLED,
        )
        for moment in WITH_ENGINE
    ),
    *(
        Fault(
            name="Ctrl-C",
            moment=moment,
            is_rare=moment not in {Moment.IN_PHASE, Moment.SEALING},
            provoke=interrupt,
            storage=plain,
            load=load,
        )
        for moment, load in MOMENTS_OF_A_RUN.items()
    ),
    Fault(
        name="the engine is stopped for some seconds (SIGSTOP, a suspended machine)",
        moment=Moment.IN_PHASE,
        is_rare=True,
        provoke=stop_engine_for_a_while,
        storage=plain,
        load={"seconds": "3s"},
    ),
    Fault(
        name="the engine is stopped until that was said",
        moment=Moment.IN_PHASE,
        is_rare=True,
        provoke=stop_engine,
        follow=go_on_when_said,
        storage=plain,
        load={"seconds": "1s"},
    ),
)
