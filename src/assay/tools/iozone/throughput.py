"""The throughput mode: -t children, each with a file of its own; every test is a phase.

The children of a test start together and, but for -x, stop when the first is done. A stopped writer leaves a short file,
which the later tests could not read: so after the first test the files are laid out anew, and whole.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from assay import plan
from assay.tools.iozone.columns import MIXED_TEST, ThroughputTest, column
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.options import needs_file, reads_in_mix
from assay.tools.iozone.sets import Parts, directory_of, file_set, needs_length, targets_of
from assay.tools.iozone.settings import DEFAULT_CHILD_FILE, Settings
from assay.tools.iozone.work import Work

READERS = "mix-readers"
WRITERS = "mix-writers"


@dataclasses.dataclass(frozen=True)
class Children:
    """Children that are one job: their files are in one directory, and they read or write together in the mix."""

    job: str
    numbers: tuple[int, ...]
    directory: Path
    reads: bool
    """What they do in the mixed test."""


def children_of(settings: Settings, count: int, directory: Path) -> tuple[Children, ...]:
    """Divide the children among jobs."""
    groups: dict[tuple[Path, bool], list[int]] = {}
    for child in range(count):
        home = directory_of(settings.child_file(child), directory)
        groups.setdefault((home, _reads(settings, child, count)), []).append(child)
    homes = list(dict.fromkeys(home for home, _ in groups))
    return tuple(
        Children(_job_name(settings, homes.index(home) if len(homes) > 1 else None, reads), tuple(numbers), home, reads)
        for (home, reads), numbers in groups.items()
    )


def _job_name(settings: Settings, home: int | None, reads: bool) -> str:
    role = (READERS if reads else WRITERS) if MIXED_TEST in settings.tests else "children"
    return role if home is None else f"{role}-{home}"


def _reads(settings: Settings, child: int, count: int) -> bool:
    """Return whether a child reads in the mix; all alike where there is none, so that they are one job."""
    if MIXED_TEST not in settings.tests:
        return True
    return reads_in_mix(settings, child, count)


def cell_of(settings: Settings, count: int) -> Cell:
    """Give the sizes of each child's file."""
    file_kib, record_kib = settings.matrix.file_sizes()[0], settings.matrix.record_sizes()[0]
    if settings.constant_total:
        file_kib = max(file_kib // count, record_kib)
    return Cell(file_kib, record_kib)


def phase_name(load: ThroughputTest, count: int) -> str:
    """Name the phase of a test with N children."""
    return f"{load.key}-{count}"


def parts(settings: Settings, directory: Path) -> Parts:
    """Make targets, sets and phases."""
    groups = {count: children_of(settings, settings.children_of_each(count), directory) for count in settings.counts}
    targets = targets_of(group.directory for children in groups.values() for group in children)
    sets: list[plan.FileSet] = []
    phases: list[plan.Phase] = []
    for count in dict.fromkeys(settings.counts):
        runs = _Runs(settings, count, groups[count], {path: target.name for path, target in targets.items()})
        sets += runs.file_sets()
        phases += runs.phases()
    return Parts(tuple(targets.values()), tuple(sets), tuple(phases))


@dataclasses.dataclass(frozen=True)
class _Runs:
    """All tests with one number of children."""

    settings: Settings
    count: int
    groups: tuple[Children, ...]
    target_names: dict[Path, str]

    @property
    def cell(self) -> Cell:
        return cell_of(self.settings, self.count)

    @property
    def _is_made(self) -> bool:
        return not needs_file(self.settings)

    @property
    def _lays_out_again(self) -> bool:
        """Whether the first test may leave short files, and a later one needs them."""
        return self._is_made and self.settings.stonewall and self.count > 1 and len(self.settings.loads()) > 1

    def file_sets(self) -> Iterator[plan.FileSet]:
        for group in self.groups:
            yield self._set(group, self._name(group, is_first=True), is_made=self._is_made)
            if self._lays_out_again:
                yield self._set(group, self._name(group, is_first=False), is_made=False)

    def _set(self, group: Children, name: str, *, is_made: bool) -> plan.FileSet:
        return file_set(
            self.settings,
            self.cell,
            name=name,
            target=self.target_names[group.directory],
            path=f"{DEFAULT_CHILD_FILE}-{name}-{self.cell.file_bytes}",
            files=len(group.numbers),
            is_made=is_made,
            is_found=not self._is_made,
        )

    def _name(self, group: Children, *, is_first: bool) -> str:
        """Name the set of the first test or of the others: one and the same, unless it is laid out again."""
        return f"{group.job}-{self.count}" + ("-first" if is_first and self._lays_out_again else "")

    def phases(self) -> Iterator[plan.Phase]:
        steps: list[plan.Step] = [plan.Prepare(set=self._name(group, is_first=True)) for group in self.groups]
        for number, load in enumerate(self.settings.loads()):
            if number == 1 and self._lays_out_again:
                steps += [plan.Remove(set=self._name(group, is_first=True)) for group in self.groups]
                steps += [plan.Prepare(set=self._name(group, is_first=False)) for group in self.groups]
            if self.settings.pause_s and number:
                steps.append(plan.Sleep(seconds=float(self.settings.pause_s)))
            is_last = load == self.settings.loads()[-1]
            yield self._phase(load, tuple(steps), is_first=number == 0, is_last=is_last)
            steps = []

    def _phase(
        self, load: ThroughputTest, steps: tuple[plan.Step, ...], *, is_first: bool, is_last: bool
    ) -> plan.Phase:
        jobs = tuple(self._job(load, group, is_first=is_first) for group in self.groups)
        removed = [plan.Remove(set=self._name(group, is_first=is_first)) for group in self.groups]
        children = "child" if self.count == 1 else "children"
        return plan.Phase(
            name=phase_name(load, self.count),
            title=f"{load.title.lower()}, {self.count} {children}",
            before=steps,
            jobs=jobs,
            stop=plan.Stop(of=plan.StopOf.FIRST if self.settings.stonewall else plan.StopOf.EACH),
            after=(plan.Sync(), *(removed if is_last and not self.settings.keep else ())),
        )

    def _job(self, load: ThroughputTest, group: Children, *, is_first: bool) -> plan.Job:
        settings, cell = self.settings, self.cell
        key = load.key
        if load.test == MIXED_TEST:
            reads, writes = ("read", "rewrite") if settings.mix_sequential else ("random-read", "random-write")
            key = reads if group.reads else writes
        makes = is_first and self._is_made and not needs_length(settings)
        work = Work(settings, column(key), cell, self._name(group, is_first=is_first), creates=makes)
        kind = plan.WorkerKind.THREAD if settings.threads else plan.WorkerKind.PROCESS
        return work.job(group.job, kind, group.numbers)
