"""Write a sizing as a workbook: candidates, load, captured samples, spikes, assumptions."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from assay.report.sizing_words import assumption_lines, at_words, candidate_warnings, load_lines
from assay.report.workbook import Cell, Sheet, write_workbook
from assay.sizing.size_answer import SizeAnswer

_CANDIDATES = (
    "disk",
    "RAID",
    "disks",
    "spares",
    "disks for the rate",
    "disks for the capacity",
    "set by",
    "utilisation",
    "latency ms",
    "utilisation with one lost",
    "most IOPS of hosts",
    "requests per s to disks",
    "cost",
    "enough",
)


def write_sizing_workbook(answer: SizeAnswer, notes: Sequence[str], path: Path) -> Path:
    """Write a workbook, replacing a file of that name; raises InputError and RunError."""
    return write_workbook([*_sheets(answer, notes)], path)


def _sheets(answer: SizeAnswer, notes: Sequence[str]) -> Iterator[Sheet]:
    yield Sheet("Candidates", _CANDIDATES, [*_candidates(answer)])
    yield Sheet("Answer", ("line",), [(line,) for line in (*load_lines(answer), *candidate_warnings(answer))])
    captured = answer.load.captured
    if captured is not None:
        total, demand = captured.total, captured.demand
        times = total.begin_s + total.step_s * np.arange(1, total.steps + 1)
        columns = [[None if np.isnan(value) else float(value) for value in column] for column in total.columns.values()]
        rows = zip(map(at_words, times), demand.core.astype(int).tolist(), *columns, strict=True)
        yield Sheet("Load", ("step ends (UTC)", "sustained", *total.columns), [*rows])
        spikes = [
            (at_words(total.begin_s + one.begin * total.step_s), (one.end - one.begin) * total.step_s, one.iops)
            for one in demand.spikes
        ]
        if spikes:
            yield Sheet("Spikes", ("begins (UTC)", "seconds", "IOPS"), spikes)
    yield Sheet("Assumed", ("line",), [(line,) for line in (*assumption_lines(answer), *notes)])


def _candidates(answer: SizeAnswer) -> Iterator[tuple[Cell, ...]]:
    for one in answer.candidates:
        yield (
            one.disk.name,
            one.raid.name,
            one.disks,
            one.spares,
            one.for_rate,
            one.for_capacity,
            one.decided_by,
            one.utilisation,
            None if one.response_s is None else 1000 * one.response_s,
            one.degraded_utilisation,
            one.most_front,
            one.back.per_s,
            one.cost,
            "yes" if one.is_enough else "no",
        )
