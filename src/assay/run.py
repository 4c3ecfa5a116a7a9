"""Run a Plan on this machine and keep everything in a bundle.

The start of each phase is ordered here (with many clients the same order goes to all); a Ctrl-C becomes a stop line, so
that the engine ends its load, removes its data and finishes the stream. A second Ctrl-C ends the engine at once.
"""

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from assay import events
from assay.bundle import RunBundle
from assay.engine import EngineProcess, raise_engine_error
from assay.errors import AssayError, InputError, Interrupted, RunError
from assay.host import collect
from assay.host.facts import Fact
from assay.plan import Plan

START_LEAD_S = 0.02
"""From the order to the start of a phase: enough for every worker to be asleep before it."""


class Display(Protocol):
    """Shows a run while it goes on."""

    def begin(self, plan: Plan) -> None:
        """The run is about to start."""

    def show(self, event: events.Event | None) -> None:
        """One event, or None when time has passed without one."""

    def end(self) -> None:
        """The run is over; the terminal is free again."""


def check_directory(directory: Path) -> Path:
    """Return the absolute directory; raises InputError if it is none."""
    if not directory.exists():
        raise InputError(f"{directory} does not exist; give a directory on the storage to measure")
    if not directory.is_dir():
        raise InputError(f"{directory} is not a directory; give the directory that holds it")
    return directory.resolve()


def target_directories(plan: Plan) -> dict[str, Path]:
    """Directory of each file target."""
    return {target.name: Path(unquote(urlsplit(target.uri).path)) for target in plan.targets}


def run_plan(  # noqa: D417 - the rest is what it says
    plan: Plan,
    *,
    runs: Path,
    argv: Sequence[str],
    display: Display,
    source_text: str | None = None,
    facts: Sequence[Fact] = (),
) -> tuple[RunBundle, AssayError | None]:
    """Carry out a Plan and return the sealed bundle, with the error that ended it early, if one did.

    Args:
        facts: Facts beyond those of the host, such as how the size was chosen.
    """
    bundle = RunBundle.create(runs, plan.name, plan=plan, argv=argv, source_text=source_text)
    bundle.record_facts((*facts, *collect(target_directories(plan))))
    log = bundle.path / "engine.log"
    error: AssayError | None = None
    display.begin(plan)
    try:
        with EngineProcess(plan, bundle.events_path, log) as engine, _interrupts() as interrupts:
            seen = _drive(engine, display, interrupts)
        raise_engine_error(seen)
        _raise_stop(seen, interrupts)
    except AssayError as caught:
        error = caught
    finally:
        display.end()
    if log.exists() and log.stat().st_size == 0:
        log.unlink()
    bundle.seal(error.exit_code if error else 0)
    return bundle, error


def _drive(engine: EngineProcess, display: Display, interrupts: list[int]) -> list[events.Event]:
    """Order the starts, pass stops on, and collect the events that are no intervals."""
    seen: list[events.Event] = []
    passed_on = 0
    for event in engine.follow():
        display.show(event)
        if isinstance(event, events.Ready):
            at = time.time_ns() + int(START_LEAD_S * 1e9)
            engine.send(events.Start(phase_index=event.phase_index, at_realtime_ns=at))
        if event is not None and not isinstance(event, events.Interval | events.Progress):
            seen.append(event)
        if len(interrupts) > passed_on:
            passed_on = len(interrupts)
            if passed_on == 1:
                engine.send(events.Stop())
            else:
                engine.kill()
    return seen


def _raise_stop(seen: list[events.Event], interrupts: list[int]) -> None:
    outcome = next((event.outcome for event in seen if isinstance(event, events.Finished)), None)
    if outcome is events.Outcome.STOPPED:
        if interrupts:
            raise Interrupted("stopped; what was measured until then is kept")
        raise RunError("the engine was stopped from outside; what was measured until then is kept")


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collect Ctrl-C, TERM and HUP instead of dying of them."""
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda n, _: received.append(n)) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
