"""Runs of perf.pl and bigdir with known times, as a bundle would hold them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from assay import events
from assay.analysis.record import RunRecord, read
from assay.bundle.tables import INTERVALS, OF_STREAM, WORKERS
from assay.host.facts import Fact
from assay.plan import Plan
from assay.tools import bigdir as bigdir_tool
from assay.tools import perfpl as perfpl_tool
from assay.tools import registry
from assay.tools.bigdir.plan import LISTING, MAKING
from assay.tools.bigdir.plan import to_plan as bigdir_to_plan
from assay.tools.perfpl.plan import FILE, PHASE
from assay.tools.perfpl.plan import to_plan as perfpl_to_plan
from assay.tools.perfpl.settings import CLOSE, CREATE, WRITE
from unit.memory_run import MemoryRun, hello

if TYPE_CHECKING:
    # Text is printed where the libraries that draw are not installed.
    from assay.report.figure import Figure
    from assay.tools.output_files import OutputFile

DIRECTORY = Path("/mnt/nfs3/testing")
SECOND_NS = 1_000_000_000


def text(run: RunRecord) -> str:
    """What the tool prints."""
    return registry.output_of(run).text()


def stderr_notes(run: RunRecord) -> str:
    """What is said on standard error."""
    return registry.output_of(run).stderr_notes()


def brief(run: RunRecord) -> str:
    """What is said of it after a run."""
    return registry.output_of(run).brief()


def files(run: RunRecord) -> "Sequence[OutputFile]":
    """Files that are left beside the text."""
    return registry.output_of(run).files()


def figures(run: RunRecord) -> "Sequence[Figure]":
    """What is drawn."""
    return registry.output_of(run).figures()


def perfpl_plan(argv: Sequence[str]) -> Plan:
    """The Plan of a command line of perf.pl."""
    tool = perfpl_tool.FRONT_END
    return perfpl_to_plan(tool.parse(argv), tool.origin(argv), DIRECTORY)


def bigdir_plan(argv: Sequence[str]) -> Plan:
    """The Plan of a command line of bigdir."""
    tool = bigdir_tool.FRONT_END
    return bigdir_to_plan(tool.parse(argv), tool.origin(argv), DIRECTORY)


def perfpl_run(
    argv: Sequence[str],
    seconds: Sequence[float],
    *,
    begin_s: float = 0.0,
    files: Sequence[int] | None = None,
    part_ns: Mapping[str, int] | None = None,
    sync_s: float | None = None,
) -> RunRecord:
    """One iteration for each of `seconds`; each begins `begin_s` after a whole second of the clock.

    Args:
        argv: The command line.
        seconds: From the first operation of each iteration to its last.
        begin_s: Where in a second of the clock each iteration begins.
        files: Files that each iteration wrote; all of them unless given.
        part_ns: Mean latency of the operations of a file.
        sync_s: What the final flush took, if there was one.
    """
    made = perfpl_plan(argv)
    settings = perfpl_tool.FRONT_END.settings_of(made)
    written = files or [settings.files] * len(seconds)
    parts = part_ns or {CREATE: 1000, WRITE: 2000, CLOSE: 500}
    rows, samples = [], []
    lines: list[events.Event] = [hello()]
    for index, (took_s, count) in enumerate(zip(seconds, written, strict=True)):
        begin_ns = 1000 * index * SECOND_NS + int(begin_s * SECOND_NS)
        end_ns = begin_ns + round(took_s * SECOND_NS)
        t_s = end_ns / SECOND_NS
        of_file = {FILE: sum(parts.values()), **parts}
        rows += [_interval(index, t_s, dt_s=took_s, operation=name, ops=count, ns=ns) for name, ns in of_file.items()]
        samples.append(_worker(index, t_s, count))
        if sync_s is not None:
            lines.append(_sync(index, end_ns, sync_s))
        lines.append(finished(index, PHASE, begin_ns=begin_ns, end_ns=end_ns, ops=count))
    run = MemoryRun(
        plan=made,
        facts=(Fact(key="target.target.directory", value=str(DIRECTORY), source="user"),),
        lines=lines,
        tables={INTERVALS: table(INTERVALS, rows), WORKERS: table(WORKERS, samples)},
    )
    return read(run)


def bigdir_run(
    argv: Sequence[str], laps: Mapping[str, tuple[Sequence[int | None], Sequence[int | None]]], *, cut: int = 0
) -> RunRecord:
    """A run whose clients took so long, in ns, for the creates of each step and for each listing.

    Args:
        argv: The command line.
        laps: By client: creates, listings.
        cut: Lines of laps that are missing at the end, as after a kill.
    """
    lines: list[events.Event] = []
    for client, (making, listing) in laps.items():
        at = 0
        for number, (made_ns, listed_ns) in enumerate(zip(making, listing, strict=True)):
            for group, took_ns in ((MAKING, made_ns), (LISTING, listed_ns)):
                at += took_ns or 0
                lines.append(_lap(client, group, number, at, took_ns))
    return read(MemoryRun(plan=bigdir_plan(argv), lines=[hello(), *lines[: len(lines) - cut]]))


def _lap(client: str, group: str, number: int, end_ns: int, took_ns: int | None) -> events.Laps:
    return events.Laps(
        t_ns=end_ns,
        phase_index=0,
        job=client,
        worker=0,
        group=group,
        number=(number,),
        end_ns=(end_ns,),
        latency_ns=(took_ns,),
    )


def table(name: str, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Make a table of a bundle; columns that a row does not name are null."""
    return pl.DataFrame(
        [{column: row.get(column) for column in OF_STREAM[name]} for row in rows], schema=OF_STREAM[name]
    )


def _interval(index: int, t_s: float, *, dt_s: float, operation: str, ops: int, ns: int) -> dict[str, object]:
    return {
        "phase_index": index, "t_s": t_s, "dt_s": dt_s, "job": PHASE, "operation": operation, "ops": ops,
        "bytes": 0, "errors": 0, "latency_sum_ns": ops * ns, "latency_max_ns": ns,
    }  # fmt: skip


def _worker(index: int, t_s: float, ops: int) -> dict[str, object]:
    return {"phase_index": index, "t_s": t_s, "job": PHASE, "worker": 0, "ops": ops, "bytes": 0}


def _sync(index: int, t_ns: int, seconds: float) -> events.StepDone:
    return events.StepDone(
        t_ns=t_ns, phase_index=index, step="sync", subject=None, achieved=True, detail="", seconds=seconds
    )


def finished(index: int, job: str, *, begin_ns: int, end_ns: int, ops: int) -> events.PhaseFinished:
    """The end of a phase of one worker that did all it had to do."""
    worker = events.WorkerWindow(
        job=job, worker=0, first_op_ns=begin_ns, last_op_ns=end_ns, started=ops, completed=ops, failed=0,
        abandoned=0, stopped_by=events.StoppedBy.EXHAUSTED,
    )  # fmt: skip
    return events.PhaseFinished(
        t_ns=end_ns, phase_index=index, start_ns=begin_ns, stopped_by=events.StoppedBy.EXHAUSTED, workers=(worker,),
        jobs=(), errors=(),
    )  # fmt: skip
