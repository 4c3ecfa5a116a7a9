"""Run a Plan on this machine and keep everything in a bundle.

Phases start as soon as the engine has them ready, unless a gate holds them back; a Ctrl-C becomes a stop line, so
that the engine ends its load, removes its data and finishes the stream. A second Ctrl-C ends the engine at once. However
a run ends, its bundle is sealed, with the reason in it.
"""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TextIO

from assay import events
from assay.bundle import RunBundle
from assay.bundle.remarks import NOTHING, Remarks
from assay.bundle.run_place import remove_in_run
from assay.errors import AssayError, Interrupted
from assay.host.facts import Fact
from assay.host.health_facts import health_at_end
from assay.host.manifest import collect
from assay.plan import Plan
from assay.running import gates, kept_ceilings
from assay.running.engine import EngineProcess, capabilities, raise_engine_error, raise_stop
from assay.running.kept_run import keep_run
from assay.running.mark_watch import MarkWatch
from assay.running.stopping import Stops
from assay.targets import places


class Watch(Protocol):
    """Decides from what happens when a phase can end, and whether another round begins."""

    def hear(self, event: events.Event | None) -> events.Control | None:
        """Handle an event, or None when time has passed without one; returns an order for the engine, if any."""

    def order(self, phase_index: int) -> events.Control:
        """Give the order for a phase with a gate that is ready: to start, or to leave it out."""


class Display(Protocol):
    """Shows a run while it goes on."""

    def begin(self, plan: Plan) -> None:
        """The run is about to start."""

    def show(self, event: events.Event | None) -> None:
        """One event, or None when time has passed without one."""

    def end(self) -> None:
        """The run is over; the terminal is free again."""


def run_plan(  # noqa: D417 - the other names are clear
    plan: Plan,
    *,
    runs: Path,
    argv: Sequence[str],
    display: Display,
    watch: Watch | None = None,
    source_text: str | None = None,
    facts: Sequence[Fact] = (),
    remarks: Remarks = NOTHING,
    prompts: TextIO | None = None,
) -> tuple[RunBundle, AssayError | None]:
    """Execute a Plan and return the sealed bundle, with the error that ended it early, if one did.

    Whatever goes wrong once the run has begun comes back as that error, after the bundle was sealed. Of a run that the
    engine refuses nothing is kept.

    Args:
        watch: Who may end phases before their longest time.
        facts: Facts beyond those of the host, such as how the size was chosen.
        remarks: What the user calls the run; its name is no other run's any more once it has begun.
        prompts: Where a phase asks for a line of input before it starts; None: on standard output.

    Raises:
        InputError: The Plan's user is another one, and only root can become that; or the engine refuses the Plan.
        RunError: The engine, a target or the folder for runs cannot be used; nothing was done then.
    """
    capabilities(*plan.targets, user=plan.user)

    def work(bundle: RunBundle, stops: Stops) -> None:
        machine = collect(places(plan))
        bundle.record_facts((*facts, *machine, *kept_ceilings.recalled(plan, machine)))
        try:
            for event in _carry_out(bundle.plan, bundle, (display, watch), stops, prompts or sys.stdout):
                if isinstance(event, events.CeilingsMeasured):
                    kept_ceilings.keep(event.ceilings, machine, bundle.info.started_utc)
        finally:
            # Where they cannot be written, the run cannot be sealed either, which is reported.
            with contextlib.suppress(AssayError):
                if at_end := health_at_end(machine):
                    bundle.record_facts(at_end)

    return keep_run(plan, work, runs=runs, argv=argv, source_text=source_text, remarks=remarks, was_refused=was_refused)


def was_refused(bundle: RunBundle) -> bool:
    """Whether each engine refused the Plan for what it looked at, and neither touched a file nor met a call that failed."""
    found = bundle.client_set()
    if found is None:
        return _is_refusal(bundle.events())
    return not found.starts and all(_is_refusal(bundle.events(client.name)) for client in found.loads)


def _is_refusal(recorded: Sequence[events.Event]) -> bool:
    refusals = [event for event in recorded if isinstance(event, events.Error) and event.errno is None]
    return bool(refusals) and all(isinstance(event, _NOTHING_DONE) for event in recorded)


_NOTHING_DONE = events.Hello | events.Warning | events.Error | events.Finished


def _carry_out(
    plan: Plan, bundle: RunBundle, listeners: tuple[Display, Watch | None], stops: Stops, prompts: TextIO
) -> list[events.Event]:
    display, _ = listeners
    log = bundle.path / "engine.log"
    if stops.count:
        raise Interrupted("stopped before anything was measured")
    display.begin(plan)
    try:
        with EngineProcess(plan, bundle.events_path, log) as engine:
            seen = _drive(plan, engine, (*listeners, MarkWatch(bundle.path)), stops, prompts)
        raise_engine_error(seen)
        raise_stop(seen, stops)
        return seen
    finally:
        display.end()
        with contextlib.suppress(OSError):
            if log.stat().st_size == 0:
                remove_in_run(log)


def _drive(
    plan: Plan,
    engine: EngineProcess,
    listeners: tuple[Display, Watch | None, MarkWatch],
    stops: Stops,
    prompts: TextIO,
) -> list[events.Event]:
    """Order the starts, and ends that are due, and collect the events that are no intervals."""
    display, watch, marks = listeners
    seen: list[events.Event] = []
    has_gates = any(phase.gate for phase in plan.phases)
    if not has_gates:
        engine.send(events.StartWhenReady())
    for event in engine.follow(stops):
        display.show(event)
        for mark in marks.new():
            display.show(mark)
        if watch is not None and (order := watch.hear(event)) is not None:
            engine.send(order)
        if isinstance(event, events.Ready) and has_gates:
            gates.wait(plan.phases[event.phase_index], stops, prompts)
            if stops.count:
                continue
            start = events.Start(phase_index=event.phase_index, at_monotonic_ns=0)
            engine.send(start if watch is None else watch.order(event.phase_index))
        if event is not None and not isinstance(event, events.Interval | events.Progress):
            seen.append(event)
    return seen
