"""Read the runs that the figures of a comparison show."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.analysis.record import RunRecord, read
from assay.bundle.catalog import open_run
from assay.bundle.damage import report_damage
from assay.compare.arms import Arm, Sample
from assay.compare.comparison import counted_of
from assay.errors import InputError
from assay.report import theme
from assay.report.recording import Recording
from assay.results import Result

MOST_SIDES = len(theme.SERIES)
MOST_LINES = 15
"""Measurements of a side that a figure shows, the first ones: `assay ab` makes no more by itself."""


@dataclass(frozen=True)
class Measurement:
    """One measurement of a result: a run, or one of its repeats."""

    sample: Sample
    recording: Recording
    counts: bool
    """Whether it is in the ratio; else it is not trusted and left out."""

    @property
    def result(self) -> Result:
        """What it came to."""
        return self.sample.result

    @property
    def name(self) -> str:
        """For people."""
        return self.sample.name


@dataclass(frozen=True)
class ComparedSide:
    """A side, with what was recorded of its first runs."""

    letter: str
    """By which it is called: A, B ..."""
    arm: Arm
    ink: str
    records: tuple[RunRecord, ...]
    """Of the first runs; never empty."""
    recordings: dict[str, Recording]
    """Of the same, by the id of the run; another tool's has none."""

    @property
    def name(self) -> str:
        """For people: letter and what the user called it."""
        return f"{self.letter}: {self.arm.name}"

    @property
    def first(self) -> RunRecord:
        """The run whose facts represent the side."""
        return self.records[0]

    def measured(self, label: str) -> list[Measurement]:
        """Give the measurements of a result that figures show, in the order of time."""
        samples = self.samples(label)
        counted = counted_of(samples)
        known = [sample for sample in samples if sample.run_id in self.recordings]
        return [
            Measurement(sample, self.recordings[sample.run_id], counts=sample in counted)
            for sample in known[:MOST_LINES]
        ]

    @property
    def labels(self) -> list[str]:
        """Labels of its results, in order."""
        return list(self._samples)

    def samples(self, label: str) -> list[Sample]:
        """Give all measurements of a result, in the order of time."""
        return self._samples.get(label, [])

    def results(self, label: str) -> list[Result]:
        """Give what all measurements of a result came to, in the order of time."""
        return [sample.result for sample in self.samples(label)]

    @functools.cached_property
    def _samples(self) -> dict[str, list[Sample]]:
        return self.arm.samples()


def letter_of(place: int) -> str:
    """Name the side at a place: A, B ..."""
    return chr(ord("A") + place)


def check_sides(count: int) -> None:
    """Refuse more sides than figures can show; raises InputError."""
    if count > MOST_SIDES:
        raise InputError(
            f"compare: figures can show {MOST_SIDES} sides, and these are {count}. Compare fewer at a time."
        )


def read_sides(
    arms: Sequence[Arm], runs: Path | None, *, on_run: Callable[[int, int], None] = lambda _number, _of: None
) -> tuple[ComparedSide, ...]:
    """Read the records of the runs that are compared.

    Args:
        arms: The sides.
        runs: Where runs are kept.
        on_run: Called before each run is read, with its number from 1 and the count.

    Raises:
        InputError: more sides than can be distinguished, or a run is not there any more.
        BundleError: a run is damaged.
    """
    check_sides(len(arms))
    wanted = [[document.run for document in arm.documents[:MOST_LINES]] for arm in arms]
    count, number = sum(map(len, wanted)), 0
    known: dict[str, RunRecord] = {}
    sides = []
    for place, (arm, chosen) in enumerate(zip(arms, wanted, strict=True)):
        for run in chosen:
            number += 1
            on_run(number, count)
            if run.id not in known:
                bundle = open_run(run.bundle, runs)
                with report_damage(bundle.path):
                    known[run.id] = read(bundle)
        sides.append(side_of(place, arm, [known[run.id] for run in chosen]))
    return tuple(sides)


def side_of(place: int, arm: Arm, records: Sequence[RunRecord]) -> ComparedSide:
    """Make the side at a place of runs that are read; of those of other tools nothing is recorded."""
    recordings = {record.run_id: Recording(record) for record in records if record.plan.phases}
    return ComparedSide(letter_of(place), arm, theme.SERIES[place], tuple(records), recordings)


def shared_labels(sides: Sequence[ComparedSide]) -> list[str]:
    """Give the labels of results that all sides have, in the order of the first."""
    first, *others = [side.labels for side in sides]
    return [label for label in first if all(label in other for other in others)]


def left_out_note(sides: Sequence[ComparedSide], label: str) -> str:
    """Describe which runs a figure omits, and which of the shown runs are not trusted."""
    few = [(side.letter, len(side.measured(label)), len(side.samples(label))) for side in sides]
    parts = [f"{drawn} of {all_} of {letter}" for letter, drawn, all_ in few if drawn < all_]
    text = f" Of the runs the first: {', '.join(parts)}." if parts else ""
    doubtful = any(one.counts and not one.sample.is_usable for side in sides for one in side.measured(label))
    return text + (" Some of these runs are not trusted: the table of values marks them." if doubtful else "")


def title_of(sides: Sequence[ComparedSide], label: str) -> str:
    """Name a result for people: as all its measurements do, or by its label."""
    titles = {
        result.title if result.operation in {"", result.phase} else f"{result.title}: {result.operation}"
        for side in sides
        for result in (sample.result for sample in side.samples(label))
    }
    return titles.pop() if len(titles) == 1 else label
