"""One stream: every test of every cell of the matrix is a phase."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay import plan
from assay.tools.iozone.columns import Column
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.options import needs_file
from assay.tools.iozone.sets import Parts, directory_of, file_set, folder_of, needs_length, targets_of
from assay.tools.iozone.settings import Settings
from assay.tools.iozone.work import Work

JOB = "stream"


def parts(settings: Settings, directory: Path) -> Parts:
    """Make targets, sets and phases."""
    home = directory_of(settings.file, directory)
    targets = targets_of([home])
    cells = settings.matrix.cells()
    sizes = {cell.file_bytes: cell for cell in cells}
    sets = {
        file_bytes: file_set(
            settings,
            cell,
            name=f"file-{file_bytes}",
            target=targets[home].name,
            path=folder_of(settings.file, cell),
            files=1,
            is_made=not needs_file(settings),
            is_found=needs_file(settings),
        )
        for file_bytes, cell in sizes.items()
    }
    return Parts(tuple(targets.values()), tuple(sets.values()), tuple(_phases(settings, cells, sets)))


def phase_name(column: Column, cell: Cell) -> str:
    """Name the phase of a test on a cell."""
    return f"{column.key}-{cell.file_kib}-{cell.record_kib}"


def _phases(settings: Settings, cells: tuple[Cell, ...], sets: dict[int, plan.FileSet]) -> Iterator[plan.Phase]:
    before: str | None = None
    for number, cell in enumerate(cells):
        mine = sets[cell.file_bytes]
        steps: list[plan.Step] = [plan.Sleep(seconds=float(settings.pause_s))] if settings.pause_s and number else []
        # One file at a time lies on the storage, as IOzone removes its file after each cell.
        steps += [plan.Remove(set=before)] if before not in (None, mine.name) else []
        is_there = needs_file(settings) and mine.name == before
        steps += [] if is_there else [plan.Prepare(set=mine.name)]
        for column in settings.measured():
            phase = _phase(settings, column, cell, mine.name, tuple(steps))
            # What an earlier run left is not removed by itself at the end, as what this one made is.
            is_end = cell == cells[-1] and column == settings.measured()[-1]
            goes = is_end and needs_file(settings) and not settings.keep
            yield msgspec.structs.replace(phase, after=(plan.Remove(set=mine.name),)) if goes else phase
            steps = []
        before = mine.name


def _phase(settings: Settings, column: Column, cell: Cell, name: str, steps: tuple[plan.Step, ...]) -> plan.Phase:
    is_first = column == settings.measured()[0]
    creates = is_first and not needs_file(settings) and not needs_length(settings)
    work = Work(settings, column, cell, name, creates=creates)
    title = f"{column.key.replace('-', ' ')}, {cell.file_kib} KiB file, {cell.record_kib} KiB records"
    return plan.Phase(
        name=phase_name(column, cell),
        title=title,
        before=steps,
        jobs=(work.job(JOB),),
    )
