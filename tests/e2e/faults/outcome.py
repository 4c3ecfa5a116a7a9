"""What became of a run that a fault hit, and what must be so whatever hit it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.analysis.document import document
from assay.analysis.findings import NOTE
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.bundle.catalog import SEALED, list_runs
from assay.bundle.kept_list import CATALOG
from assay.events import Finished
from assay.events import Outcome as EngineOutcome
from assay.results import Document
from assay.running.cleaning import clean
from e2e.faults.fault import Fault, Moment, Place, Scene
from e2e.faults.load import HIT
from e2e.processes import is_alive

AT_ONCE, PLANNED, ANSWERED, TWICE = "at once", "as planned", "when it answers", "at a second Ctrl-C"
TELLING = {
    "client-paused", "corruption", "errors", "short-transfers", "stalled", "stopped-by-error", "stopped-early", "unfinished",
}  # fmt: skip
"""Findings that tell of faults; others tell of the machine and its speed."""
TELLING_OF_THE_RUN = {"clock-stepped", "data-left-behind"}
HITTING = {Moment.START, Moment.LAYING_OUT, Moment.BETWEEN, Moment.IN_PHASE}
"""After these moments there are numbers that a fault can spoil."""
CRASHED = re.compile(r"Traceback|panicked|This is a fault of Assay|this is a fault of Assay")
MINE = "mine"
"""What somebody else has in the measured directory."""


class Outcome(NamedTuple):
    """What is on the page of a row, in the order of its columns."""

    kept: str
    said: str
    exit_code: str
    left: str
    ended: str


def outcome(fault: Fault, scene: Scene, code: int) -> Outcome:
    """Say what became of a run, once the fault was taken away; fails where something is not as it must always be."""
    said = scene.run.said()
    assert not CRASHED.search(said), said
    assert not [pid for pid in scene.engines if is_alive(pid)], "an engine is left"
    assert (scene.place.data_seen / MINE).read_text() == MINE, "a file of somebody else's was touched"
    left = _left(fault, scene.place)
    kept, is_complete = _kept(fault, scene, said)
    return Outcome(
        kept=kept,
        said=_said(said, scene) or ("in the answer alone" if "(`" in kept else "nothing"),
        exit_code="killed" if code < 0 else str(code),
        left=left,
        ended=_ended(scene, is_complete=is_complete),
    )


def _ended(scene: Scene, *, is_complete: bool) -> str:
    if scene.is_stopped_twice:
        return TWICE
    if scene.is_answered:
        return PLANNED if is_complete else ANSWERED
    # The load would go on for an hour: a run that went on with it has not ended within `WAIT_S`, which is minutes.
    return PLANNED if is_complete else AT_ONCE


def _kept(fault: Fault, scene: Scene, said: str) -> tuple[str, bool]:
    """What is kept of the run, and whether the engine did all that it was to do."""
    runs = scene.place.runs_seen
    if not runs.is_dir():
        assert fault.lost, "the runs are gone"
        assert "not there any more" in said, said
        return f"nothing: {fault.lost}", False
    folders = [path for path in runs.iterdir() if path.is_dir() and path.name != scene.earlier]
    _check_neighbours(scene, runs, folders)
    if not folders:
        assert "assay: " in said, said
        return "nothing: no run had begun", False
    (folder,) = folders
    bundle = RunBundle.open(folder)
    bundle.verify()
    shown = document(read(bundle))
    if fault.check:
        fault.check(shown)
    if not bundle.is_sealed:
        assert _is_killed(scene) or "could not be sealed" in said or "was not sealed" in said, said
    else:
        assert not list(folder.rglob("*.part")), "a temporary file is left"
    finished = [event for event in bundle.events() if isinstance(event, Finished)]
    is_complete = bool(finished) and finished[0].outcome is EngineOutcome.COMPLETE
    return f"{'sealed' if bundle.is_sealed else 'not sealed, opens'}{_rows(fault, shown)}", is_complete


def _check_neighbours(scene: Scene, runs: Path, folders: Sequence[Path]) -> None:
    """Earlier runs are as they were, and beside the runs there is nothing but what belongs there."""
    listed = {run.run_id: run.state for run in list_runs(runs)}
    assert listed[scene.earlier] == SEALED, "an earlier run cannot be read any more"
    RunBundle.open(runs / scene.earlier).verify()
    assert listed.keys() == {scene.earlier, *(folder.name for folder in folders)}
    belong = {CATALOG, *(f"{folder.name}.html" for folder in folders)}
    beside = {path.name for path in runs.iterdir() if path.is_file()} - belong
    assert _is_killed(scene) or not beside, f"left beside the runs: {beside}"


def _is_killed(scene: Scene) -> bool:
    return scene.run.process.returncode < 0


def _rows(fault: Fault, shown: Document) -> str:
    phases = dict.fromkeys(result.phase for result in shown.results)
    if not phases:
        return "; no rows"
    texts = []
    for phase in phases:
        found = [result for result in shown.results if result.phase == phase]
        telling = [finding for result in found for finding in result.findings if finding.id in TELLING]
        names = ", ".join(sorted({f"`{finding.id}`" for finding in telling}))
        if phase == HIT and fault.moment in HITTING and not fault.unharmed:
            assert not any(result.trusted for result in found), "a number is trusted that the fault hit"
            assert any(finding.severity != NOTE for finding in telling), f"it is not told why: {found}"
            texts.append(f"`{phase}` not trusted ({names})")
        else:
            texts.append(f"`{phase}`" + (f" ({names})" if names else ""))
    of_run = sorted({f"`{finding.id}`" for finding in shown.findings if finding.id in TELLING_OF_THE_RUN})
    texts += [f"the run ({', '.join(of_run)})"] if of_run else []
    return "; " + ", ".join(texts) + (f": {fault.unharmed}" if fault.unharmed else "")


def _left(fault: Fault, place: Place) -> str:
    folder = place.data_seen / "assay-data"
    others = {path.name for path in place.data_seen.iterdir()} - {"assay-data", "lost+found", MINE}
    assert not others, f"left in the directory: {others}"
    if not folder.exists():
        return "nothing"
    assert fault.lost, f"data is left: {[path.name for path in folder.rglob('*')][:5]}"
    list(clean(place.data_seen))
    assert not folder.exists()
    return f"data, which `assay clean` removes: {fault.lost}"


def _said(said: str, scene: Scene) -> str:
    lines = [line.removeprefix("assay: ") for line in said.splitlines() if line.startswith("assay: ")]
    if not lines and _is_killed(scene):
        return "nothing: it was killed"
    lines = lines or [
        line.strip() for line in said.splitlines() if line.startswith(("  ", "No report", "The wall clock"))
    ]
    return "; ".join(dict.fromkeys(_without_chance(line, scene) for line in lines))


def _without_chance(line: str, scene: Scene) -> str:
    """Leave out what differs from run to run and from machine to machine."""
    for path, name in (
        (scene.place.runs, "RUNS"),
        (scene.place.directory, "DIR"),
        (scene.place.device, "DEVICE"),
        (scene.place.backing, "FILE"),
    ):
        line = line.replace(str(path), name) if path else line
    line = re.sub(r"/\S*/assay-engine\b", "assay-engine", line)
    line = re.sub(r"\d{8}T\d{6}Z-faulty-[0-9a-f]{8}", "RUN", line)
    # Which call met the fault first, and at which file, is chance.
    line = re.sub(
        r"\b(?:create|write|read|close|open|stat|mkdir|remove|unlink) (DIR/assay-data)[^ :]*:", r"… \1/…:", line
    )
    line = re.sub(r"\b\d+ threads? waits?\b", "N threads wait", line)
    return re.sub(r"(?<!signal )\b\d[\d,]*(?:\.\d+)?\b", "N", line)
