"""Compute means over cells of a surface: all, by row, by column, in a region, weighted by file sizes.

Geometric means of ratios, with an interval that goes by runs (`run_means.py`): cells of one run are no replicates of each
other, so resampling them would give intervals that are far too narrow.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import median

from assay.analysis import thresholds
from assay.analysis.statistics.moderated import adjusted
from assay.compare.comparison import Rounds, interval_of
from assay.compare.run_means import RunMeans, run_means
from assay.compare.surfaces.cell_differences import CellDifference
from assay.compare.surfaces.cell_runs import CellRuns
from assay.compare.surfaces.region import Region, Weights
from assay.compare.surfaces.surface import MeanOfCells, WeightedMean
from assay.verdicts import ComparisonVerdict

WHOLE = "all cells"
_VERDICTS = ComparisonVerdict
_LEAST_RUNS = 3


@dataclass(frozen=True)
class SurveyedCells:
    """The cells of a surface, and what is known of them."""

    all_: Sequence[CellRuns]
    differences: Mapping[str, CellDifference]
    """Of those that count, by label."""
    rounds: Rounds
    effect: float
    unconfirmed: Collection[str] = ()
    """Labels of cells of which some runs were shown to be disturbed: runs as a whole would carry that into every mean."""

    def counted(self) -> list[CellRuns]:
        """Give the cells that count in means."""
        return [cell for cell in self.all_ if cell.counts and cell.label not in self.unconfirmed]

    def whole(self) -> MeanOfCells:
        """Sum up all of them."""
        return self._family([(WHOLE, None, self.counted())])[0]

    def by_file(self) -> tuple[MeanOfCells, ...]:
        """Sum up each row."""
        sizes = sorted({cell.place.file_bytes for cell in self.all_})
        return self._family(
            [("file", size, [cell for cell in self.counted() if cell.place.file_bytes == size]) for size in sizes]
        )

    def by_record(self) -> tuple[MeanOfCells, ...]:
        """Sum up each column."""
        sizes = sorted({cell.place.record_bytes for cell in self.all_})
        return self._family(
            [("record", size, [cell for cell in self.counted() if cell.place.record_bytes == size]) for size in sizes]
        )

    def of_region(self, region: Region) -> MeanOfCells:
        """Sum up a region."""
        inside = [cell for cell in self.counted() if region.holds(cell.place.file_bytes, cell.place.record_bytes)]
        return self._family([(region.name, None, inside)])[0]

    def weighted(self, weights: Weights) -> WeightedMean | None:
        """Sum up all of them, each row by the share of the files of its size; None: no file has the size of a row."""
        cells = self.counted()
        in_row = Counter(cell.place.file_bytes for cell in cells)
        shares, covered = weights.of_rows(sorted(in_row)) if in_row else ({}, 0.0)
        used = [cell for cell in cells if shares.get(cell.place.file_bytes)]
        found = self._means(used, [shares[cell.place.file_bytes] / in_row[cell.place.file_bytes] for cell in used])
        if found is None:
            return None
        return WeightedMean(ratio=found.ratio.ratio, interval=interval_of(found.ratio), covered=covered)

    def _means(self, cells: Sequence[CellRuns], weights: Sequence[float] | None = None) -> RunMeans | None:
        return run_means([cell.a for cell in cells], [cell.b for cell in cells], weights, self.rounds)

    def _family(self, groups: Sequence[tuple[str, int | None, Sequence[CellRuns]]]) -> tuple[MeanOfCells, ...]:
        """Sum up groups of cells together, and mark significant ones after Benjamini and Hochberg."""
        means = [self._means(cells) for _, _, cells in groups]
        p = adjusted([_p(each) for each in means])
        return tuple(
            self._one(name, size, cells, each, is_significant=each_p <= thresholds.FALSE_MARKS)
            for (name, size, cells), each, each_p in zip(groups, means, p, strict=True)
        )

    def _one(
        self,
        name: str,
        size_bytes: int | None,
        cells: Sequence[CellRuns],
        means: RunMeans | None,
        *,
        is_significant: bool,
    ) -> MeanOfCells:
        mine = [self.differences[cell.label] for cell in cells]
        verdicts = Counter(difference.verdict(self.effect) for difference in mine)
        return MeanOfCells(
            name=name,
            size_bytes=size_bytes,
            cells=len(mine),
            ratio=None if means is None else means.ratio.ratio,
            interval=None if means is None else interval_of(means.ratio),
            is_significant=is_significant,
            median_ratio=exp(median(difference.log_ratio for difference in mine)) if mine else None,
            better=verdicts[_VERDICTS.BETTER],
            worse=verdicts[_VERDICTS.WORSE],
            equal=verdicts[_VERDICTS.EQUIVALENT] + verdicts[_VERDICTS.DIFFERENT_SMALL],
            open=verdicts[_VERDICTS.INCONCLUSIVE] + verdicts[_VERDICTS.INDICATIVE],
        )


def _p(means: RunMeans | None) -> float:
    """Give the p of some cells together; 1 if there are too few runs."""
    if means is None or (len(means.pairs) or min(len(means.a), len(means.b))) < _LEAST_RUNS:
        return 1.0
    return 1.0 if means.p is None else means.p
