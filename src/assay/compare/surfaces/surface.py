"""Define the results on a surface, as `assay compare --json` prints them. Rates are bytes per second, ratios are B by A."""

import enum

from assay.results import Part
from assay.verdicts import ComparisonVerdict


class SurfaceCell(Part, frozen=True, kw_only=True):
    """A file size with a record size."""

    label: str
    file_bytes: int
    record_bytes: int
    a: float | None
    """Median over the runs that count."""
    b: float | None
    runs: tuple[int, int]
    """Of each side, that count."""
    ratio: float | None
    """Of the medians; null: the two are not comparable, or not trusted."""
    interval: tuple[float, float] | None
    """At 95 % confidence, of this cell alone; null: fewer than three runs of a side."""
    p: float | None
    adjusted_p: float | None
    """After Benjamini and Hochberg, over all cells of the test."""
    is_significant: bool
    """Whether it is one of those that differ, with the number of cells allowed for."""
    verdict: ComparisonVerdict
    why: str
    """Why it does not count; empty: it does."""
    neighbours_ratio: float | None
    """Median of the ratios of its neighbours, if the cell is far from them: it is to be checked."""


class Cliff(Part, frozen=True, kw_only=True):
    """Where the rate of one side changes by a factor from one size to the next."""

    side: str
    """`A` or `B`."""
    along: str
    """Which size changes: `file` or `record`."""
    at_bytes: int
    """The other size."""
    from_bytes: int
    to_bytes: int
    factor: float
    """Rate before by rate after: 56 falls, 0.02 climbs."""


class Crossover(Part, frozen=True, kw_only=True):
    """Where one side stops to be better and the other begins."""

    along: str
    """Which size changes: `file` or `record`."""
    at_bytes: int | None
    """The other size; null: the means over all of it."""
    better_below: str
    """`A` or `B`."""
    below_bytes: int
    """The last size at which it is."""
    above_bytes: int
    """The first at which the other is."""
    crossing_bytes: float
    """Where the line between the two crosses no difference, on the logarithms of size and ratio."""
    is_shown: bool = True
    """Whether both are shown to differ; else the runs are too few, and it is of the means as they were."""


class MeanOfCells(Part, frozen=True, kw_only=True):
    """Some cells together."""

    name: str
    size_bytes: int | None
    """Of a row its file size, of a column its record size; null: others."""
    cells: int
    """That count."""
    ratio: float | None
    """Geometric mean of their ratios; null: no cell counts."""
    interval: tuple[float, float] | None
    """At 95 % confidence, by how runs differ from each other."""
    is_significant: bool
    """Of rows and columns: whether it differs, with their number allowed for. Of others: whether its p is small."""
    median_ratio: float | None
    better: int
    worse: int
    equal: int
    """Cells in which any difference is shown to be smaller than what matters."""
    open: int


class WeightedMean(Part, frozen=True, kw_only=True):
    """All rows, each by the share of files that have its size."""

    ratio: float
    interval: tuple[float, float] | None
    covered: float
    """Share of the files whose sizes are those of rows, within a factor of two."""


class ClaimState(enum.StrEnum):
    """What became of a claim about all cells."""

    HELD = "held"
    OPEN = "open"
    CONTRADICTED = "contradicted"


class NeverWorse(Part, frozen=True, kw_only=True):
    """The claim that B is in no cell worse than A by more than the difference that matters."""

    state: ClaimState
    is_shown: bool
    """Whether it holds for the next runs at 95 %, over all cells at once; else it is of the runs as they were, which hold
    nothing."""
    cells: int
    """That it is about."""
    against: tuple[str, ...]
    """Labels of the cells that contradict it."""
    open: tuple[str, ...]
    """Labels of those that leave it open."""


class AgainState(enum.StrEnum):
    """Outcome of an outlying cell that was measured again."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not_confirmed"
    OPEN = "open"
    NOT_CHECKED = "not_checked"


class CellAgain(Part, frozen=True, kw_only=True):
    """An outlying cell of the first runs, and the outcome of its new runs."""

    label: str
    file_bytes: int
    record_bytes: int
    first_ratio: float
    """B by A, of the first runs."""
    neighbours_ratio: float
    """Of its neighbours."""
    ratio: float | None
    """Of the new runs alone; null: there is none."""
    interval: tuple[float, float] | None
    """At 95 % confidence."""
    rounds: int
    """In which it was measured again."""
    state: AgainState
    why: str
    """Reason or remark; empty: the state is enough."""


class ComparedSurface(Part, frozen=True, kw_only=True):
    """One test, all its sizes."""

    test: str
    files: tuple[int, ...]
    records: tuple[int, ...]
    cells: tuple[SurfaceCell, ...]
    whole: MeanOfCells
    by_file: tuple[MeanOfCells, ...]
    by_record: tuple[MeanOfCells, ...]
    regions: tuple[MeanOfCells, ...]
    weighted: WeightedMean | None
    """Null: no weights were given, or none of them is of a row."""
    never_worse: NeverWorse
    crossovers: tuple[Crossover, ...]
    cliffs: tuple[Cliff, ...]
    false_marks: float
    """Share of the cells marked as different that may be wrong; where nothing differs, how often any is marked."""
    borrowed_freedom: float | None
    """Degrees of freedom that each cell's variance borrows from the others; null: too few runs."""
    again: tuple[CellAgain, ...] = ()
    """Outlying cells of the first runs of `assay ab`, and their outcome. One that was confirmed is to be
    checked no more, and has no `neighbours_ratio`."""
