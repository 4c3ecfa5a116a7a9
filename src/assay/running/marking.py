"""Set a mark: choose the runs, and the moment of their time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.begun import first_line
from assay.bundle.catalog import open_run, resolve, runs_directory
from assay.bundle.kept_marks import KeptMark, MarkGiven, add_mark, kept_mark
from assay.bundle.phase_times import PhaseTime, phase_times
from assay.errors import InputError
from assay.plan import Plan
from assay.running.under_way import UnderWay, runs_under_way, under_way
from assay.units import parse_seconds

if TYPE_CHECKING:
    from assay.bundle import RunBundle

_MOST_WORDS = 2
_NS_PER_S = 1e9


def take_words(words: Sequence[str], run: str | None) -> tuple[str | None, str]:
    """Give the run that is asked for, if one is, and what happened.

    Raises:
        InputError: there are too many words, or two runs.
    """
    if len(words) > _MOST_WORDS:
        raise InputError(f'mark: {len(words)} words; put what happened into quotes: assay mark "disk pulled"')
    if len(words) == _MOST_WORDS and run is not None:
        raise InputError(f"mark: both '{words[0]}' and --run {run} name the run; leave one of the two out")
    return (words[0] if len(words) == _MOST_WORDS else run), words[-1]


def mark_now(text: str, run: str | None, runs: Path | None, phase: str | None) -> list[str]:
    """Mark this moment in the run that is asked for, or in all of this user's that are under way; what was marked, in lines.

    Raises:
        BundleError: there is no such run.
        InputError: none is under way, or the words are beyond the limits.
    """
    moment_ns = first_line().started_ns
    if phase is not None:
        raise InputError("mark: --phase needs --at; without --at the mark is set now")
    place = runs_directory(runs)
    if run is None:
        found = runs_under_way(place)
        if not found:
            raise InputError(f"mark: you have no active run in {place}. For an ended run use --at")
    else:
        found = (_going_on(resolve(run, place)),)
    marks = [(one, kept_mark(one.t_ns(moment_ns), text, MarkGiven.WHILE_IT_RAN)) for one in found]
    for one, mark in marks:
        add_mark(one.folder, mark)
    return [f"{one.folder.name} at {mark.t_ns / _NS_PER_S:.2f} s of the run" for one, mark in marks]


def _going_on(folder: Path) -> UnderWay:
    found = under_way(folder)
    if found is None:
        raise InputError(f"mark: {folder.name} is not active here, or not yours; give the time with --at")
    return found


def mark_at(text: str, run: str | None, runs: Path | None, at: str, phase: str | None) -> list[str]:
    """Mark a moment of a run, in seconds since a phase of it began; what was marked, in lines.

    Raises:
        BundleError: there is no such run, or it is damaged.
        InputError: no time, no such phase, or a moment that the phase did not have.
    """
    after_s = _seconds(at)
    if run is None:
        raise InputError("mark: --at is a moment of one run; name it: assay mark RUN --at 12.5s TEXT")
    bundle = open_run(run, runs)
    begun = _begun(bundle, phase)
    t_ns = begun.start_ns + round(after_s * _NS_PER_S)
    name = _name(bundle.plan, begun.phase_index)
    if begun.end_ns is not None and t_ns > begun.end_ns:
        raise InputError(f"mark: --at {at}: phase '{name}' lasted {(begun.end_ns - begun.start_ns) / _NS_PER_S:.2f} s")
    mark: KeptMark = kept_mark(t_ns, text, MarkGiven.AFTERWARDS)
    add_mark(bundle.path, mark)
    return [f"{bundle.run_id} at {after_s:.2f} s of phase '{name}'"]


def _seconds(at: str) -> float:
    try:
        return parse_seconds(at)
    except InputError as error:
        raise InputError(f"--at: {error}") from error


def _begun(bundle: "RunBundle", phase: str | None) -> PhaseTime:
    """Find the start of the selected phase."""
    begun = phase_times(bundle)
    if not begun:
        raise InputError(f"mark: no phase of {bundle.run_id} has begun, so there is nothing to count from")
    names = [_name(bundle.plan, event.phase_index) for event in begun]
    if phase is None and len(begun) == 1:
        return begun[0]
    if phase is None:
        raise InputError(f"mark: {bundle.run_id} has {len(begun)} phases; give one with --phase: {', '.join(names)}")
    if phase not in names:
        raise InputError(f"mark: --phase {phase}: there is none that began; there are: {', '.join(names)}")
    return begun[names.index(phase)]


def _name(plan: Plan, index: int) -> str:
    """Name a phase, with `#2` for its second repeat."""
    phase = plan.phases[index]
    return phase.name if not phase.repeat else f"{phase.name}#{phase.repeat + 1}"
