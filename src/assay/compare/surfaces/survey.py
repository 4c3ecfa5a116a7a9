"""Find the surfaces of a comparison, and compute their results. METHOD 2.6."""

import math
from collections.abc import Collection, Iterator, Sequence

import msgspec

from assay.analysis import thresholds
from assay.compare.arms import Arm
from assay.compare.comparison import Against, Comparison, Rounds, Row, in_rounds
from assay.compare.surfaces.cell_differences import CellDifference, differences_of, never_worse
from assay.compare.surfaces.cell_means import SurveyedCells
from assay.compare.surfaces.cell_runs import CellRuns, cells_by_test
from assay.compare.surfaces.landmarks import FILE, RECORD, Marked, cliffs, crossovers, crossovers_of_line, odd_cells
from assay.compare.surfaces.questions import Questions
from assay.compare.surfaces.surface import ComparedSurface, Crossover, MeanOfCells, SurfaceCell
from assay.verdicts import ComparisonVerdict


def with_surfaces(comparison: Comparison, arms: Sequence[Arm], questions: Questions) -> Comparison:
    """Add the results on surfaces of every side compared with the first."""
    first, *others = arms
    against = tuple(
        msgspec.structs.replace(
            each,
            surfaces=surfaces_of(
                each.rows,
                in_rounds(first, other),
                questions,
                comparison.effect,
                questions.unconfirmed.get(other.name, ()),
            ),
        )
        for each, other in zip(comparison.against, others, strict=True)
    )
    return msgspec.structs.replace(comparison, against=against)


def surfaces_of(
    rows: Sequence[Row], rounds: Rounds, questions: Questions, effect: float, unconfirmed: Collection[str] = ()
) -> tuple[ComparedSurface, ...]:
    """Survey every test of which there are enough cells."""
    tests = cells_by_test(rows, questions.places, questions.ceiling_bytes_per_s)
    return tuple(
        _surface(test, cells, rounds, questions, effect, unconfirmed=unconfirmed) for test, cells in tests.items()
    )


def rows_apart(against: Against) -> tuple[Row, ...]:
    """Give the rows whose rates are not on a surface."""
    on_surface = {cell.label for surface in against.surfaces for cell in surface.cells}
    return tuple(row for row in against.rows if row.label not in on_surface)


def _surface(
    test: str,
    runs: Sequence[CellRuns],
    rounds: Rounds,
    questions: Questions,
    effect: float,
    *,
    unconfirmed: Collection[str],
) -> ComparedSurface:
    differences, borrowed = differences_of(runs, rounds)
    cells = SurveyedCells(runs, differences, rounds, effect, unconfirmed)
    places = {cell.label: (cell.place.file_bytes, cell.place.record_bytes) for cell in runs}
    odd = odd_cells({places[label]: each.log_ratio for label, each in differences.items()}, effect)
    marked = {places[label]: each.log_ratio for label, each in differences.items() if each.is_significant}
    by_file, by_record = cells.by_file(), cells.by_record()
    seen_from = None if borrowed is not None else math.log1p(effect)
    of_means = [*_of_means(RECORD, by_record, seen_from), *_of_means(FILE, by_file, seen_from)]
    return ComparedSurface(
        test=test,
        files=tuple(sorted({file_bytes for file_bytes, _ in places.values()})),
        records=tuple(sorted({record_bytes for _, record_bytes in places.values()})),
        cells=tuple(_cell(each, differences.get(each.label), odd.get(places[each.label]), effect) for each in runs),
        whole=cells.whole(),
        by_file=by_file,
        by_record=by_record,
        regions=tuple(cells.of_region(region) for region in questions.regions),
        weighted=None if questions.weights is None else cells.weighted(questions.weights),
        never_worse=never_worse(differences, effect),
        crossovers=(*of_means, *crossovers(marked)),
        cliffs=cliffs(runs),
        false_marks=thresholds.FALSE_MARKS,
        borrowed_freedom=borrowed,
    )


def _of_means(along: str, means: Sequence[MeanOfCells], seen_from: float | None) -> Iterator[Crossover]:
    """Find where the means over all of the other size cross.

    Args:
        along: Which size changes.
        means: Of each size.
        seen_from: Logarithm of the ratio from which on a mean counts where runs are too few to show any; None: they are not.
    """
    known = [
        (each, Marked(each.size_bytes, math.log(each.ratio)))
        for each in means
        if each.size_bytes is not None and each.ratio is not None
    ]
    if seen_from is None:
        yield from crossovers_of_line(along, None, [mark for each, mark in known if each.is_significant])
        return
    apart = [mark for _, mark in known if abs(mark.log_ratio) > seen_from]
    for crossover in crossovers_of_line(along, None, apart):
        yield msgspec.structs.replace(crossover, is_shown=False)


def _cell(runs: CellRuns, difference: CellDifference | None, neighbours: float | None, effect: float) -> SurfaceCell:
    a, b = runs.medians
    ends = None if difference is None else difference.bounds(0.5 + thresholds.CONFIDENCE / 2)
    return SurfaceCell(
        label=runs.label,
        file_bytes=runs.place.file_bytes,
        record_bytes=runs.place.record_bytes,
        a=a,
        b=b,
        runs=(len(runs.a), len(runs.b)),
        ratio=None if difference is None else math.exp(difference.log_ratio),
        interval=None if ends is None else (math.exp(ends[0]), math.exp(ends[1])),
        p=None if difference is None else difference.p,
        adjusted_p=None if difference is None else difference.adjusted_p,
        is_significant=difference is not None and difference.is_significant,
        verdict=ComparisonVerdict.NOT_COMPARABLE if difference is None else difference.verdict(effect),
        why=runs.why,
        neighbours_ratio=None if neighbours is None else math.exp(neighbours),
    )
