"""Is what is said of surfaces true, of a published table and of surfaces that are drawn around a known truth?"""

import math
from collections.abc import Mapping

import numpy as np
import pytest
import scipy.special
import scipy.stats

from assay.analysis.statistics.moderated import common_variance
from assay.compare.run_means import run_means
from assay.compare.surfaces.cell_differences import CellDifference, differences_of, never_worse
from assay.compare.surfaces.cell_means import SurveyedCells
from assay.compare.surfaces.landmarks import _cliffs, odd_cells
from assay.compare.surfaces.region import parse_region, parse_weights
from assay.compare.surfaces.surface import ClaimState, ComparedSurface, SurfaceCell
from assay.results import Reason, Trust
from assay.verdicts import ComparisonVerdict, ServedBy, TrustLevel
from unit.surface_arms import KIB, MB, MIB, arm, cell_runs, compared, grid, noisy, ntfs_fat32

EFFECT = 0.03
WINNERS = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
Sizes = tuple[int, int]


def published(operation: str, **asked: object) -> ComparedSurface:
    """Hold FAT32 (B) against NTFS (A)."""
    ntfs, fat = ntfs_fat32(operation)
    return compared(arm("ntfs", ntfs), arm("fat", fat, begin=30), ntfs, **asked)[1]


def by_sizes(surface: ComparedSurface) -> dict[Sizes, SurfaceCell]:
    return {(cell.file_bytes, cell.record_bytes): cell for cell in surface.cells}


# -- the published table -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "mean", "least", "most"), [("read", 1.1135, 1.0051, 1.2143), ("write", 1.1057, 0.8171, 1.64)]
)
def test_the_geometric_means_are_those_of_the_table(operation: str, mean: float, least: float, most: float) -> None:
    surface = published(operation)

    assert surface.whole.ratio == pytest.approx(mean, abs=5e-5)
    assert surface.by_file[0].ratio == pytest.approx(mean, abs=5e-5)
    ratios = [cell.ratio or 0 for cell in surface.cells]
    assert (min(ratios), max(ratios)) == pytest.approx((least, most), abs=5e-5)
    # Single runs: no interval, no mark, no winner.
    assert surface.whole.interval is None
    assert not any(cell.is_significant or cell.interval for cell in surface.cells)
    assert {cell.verdict for cell in surface.cells} == {ComparisonVerdict.INDICATIVE}
    assert not any(crossover.is_shown for crossover in surface.crossovers)


def test_both_sides_fall_off_the_cliff_where_the_cache_ends() -> None:
    found = {cliff.side: cliff for cliff in published("write").cliffs}

    assert {(c.along, c.from_bytes, c.to_bytes) for c in found.values()} == {("record", 256 * KIB, 512 * KIB)}
    assert (found["B"].factor, found["A"].factor) == pytest.approx((55.8, 49.0), abs=0.05)
    assert published("read").cliffs == ()


def test_that_fat_writes_faster_is_contradicted_and_that_it_reads_faster_is_not() -> None:
    writes, reads = published("write").never_worse, published("read").never_worse

    assert (writes.state, writes.is_shown) == (ClaimState.CONTRADICTED, False)
    assert [int(label.split("-")[2].split("/")[0]) // KIB for label in writes.against] == [512, 1024]
    # Single runs hold nothing; they only can be against it.
    assert (reads.state, reads.against) == (ClaimState.OPEN, ())


def test_rates_beyond_the_two_buses_are_eighteen_and_do_not_count() -> None:
    surfaces = [published(operation, ceiling_bytes_per_s=640 * MB) for operation in ("read", "write")]

    beyond = [cell for surface in surfaces for cell in surface.cells if "ceiling" in cell.why]
    rates = [rate for surface in surfaces for cell in surface.cells for rate in (cell.a, cell.b) if rate]
    assert sum(cell.why.count("A") + cell.why.count("B") for cell in beyond) == 18 == sum(r > 640 * MB for r in rates)
    assert all(cell.ratio is None and cell.verdict is ComparisonVerdict.NOT_COMPARABLE for cell in beyond)
    assert sum(surface.whole.cells for surface in surfaces) == 18 - len(beyond)


# -- the surfaces of part 8: NCP against CIFS, B better with small records -----------------------------------------------

BY_RECORD = {4: 0.97, 8: 0.95, 16: 0.59, 32: 0.44, 64: 0.13, 16 << 10: -0.13}
"""KiB of a record, and by which share B wrote faster."""
BY_FILE = {64 << 10: 0.75, 512 << 20: -0.06}


def test_where_sides_cross_by_record_size_is_found_between_the_sizes_that_differ() -> None:
    random = np.random.default_rng(8)
    sizes = [(file_bytes, record * KIB) for file_bytes in (64 * MIB, 128 * MIB) for record in BY_RECORD]
    even = dict.fromkeys(sizes, 100 * MB)
    planted = {place: 100 * MB * (1 + BY_RECORD[place[1] // KIB]) for place in sizes}
    a, b = noisy(random, even, 3, cell_cv=0.01), noisy(random, planted, 3, cell_cv=0.01)

    _, surface = compared(arm("a", a), arm("b", b, begin=30), a)

    of_means = surface.crossovers[0]
    assert len(surface.crossovers) == 3
    assert {(c.along, c.better_below, c.below_bytes, c.above_bytes) for c in surface.crossovers} == {
        ("record", "B", 64 * KIB, 16 * MIB)
    }
    share = math.log(1.13) / (math.log(1.13) - math.log(0.87))
    assert of_means.at_bytes is None
    assert math.log2(of_means.crossing_bytes) == pytest.approx(16 + share * 8, abs=0.6)


def test_sides_cross_by_file_size_and_only_where_both_are_shown() -> None:
    random = np.random.default_rng(4)
    files = [64 * KIB << i for i in range(14)]  # 64 KiB to 512 MiB
    sizes = [(file_bytes, 4 * KIB << j) for file_bytes in files for j in range(3)]
    # Straight on the logarithms from the published first to the published last size: no difference at about 275 MiB.
    first, last = math.log(1.75), math.log(0.94)
    planted = {s: 1e8 * math.exp(first + (last - first) * files.index(s[0]) / 13) for s in sizes}
    a, b = noisy(random, dict.fromkeys(sizes, 1e8), 5, cell_cv=0.004), noisy(random, planted, 5, cell_cv=0.004)

    _, surface = compared(arm("a", a), arm("b", b, begin=30), a)

    crossing = 16 + 13 * first / (first - last)
    mine = [c for c in surface.crossovers if c.along == "file"]
    assert {c.better_below for c in mine} == {"B"}
    assert len(mine) == 4
    assert all(math.log2(c.crossing_bytes) == pytest.approx(crossing, abs=0.25) for c in mine)
    assert all(c.below_bytes < 2**crossing < c.above_bytes for c in mine)
    # With noise that hides the small differences there is none to tell.
    loud_a, loud_b = (noisy(random, means, 3, cell_cv=0.5) for means in (dict.fromkeys(sizes, 1e8), planted))
    assert compared(arm("a", loud_a), arm("b", loud_b, begin=30), a)[1].crossovers == ()


# -- how often it is wrong ---------------------------------------------------------------------------------------------

PLACES = grid(5, 7)
EVEN = dict.fromkeys(PLACES, 1e8)
UNEVEN: Mapping[Sizes, float] = {place: 0.15 / (1 << (place[0] // (64 * KIB)).bit_length() - 1) for place in PLACES}
"""Small files vary 16 times as much as large ones."""
TRIALS = 1_000


EACH = 500
"""Surfaces of a combination. By the binomial law, a rate of 8 % stays below the bound of 5 % in 1 of 300 sets of 500, and in
1 of 90,000 pairs of sets: each value of a factor has two."""


# Half of the eight combinations, each two values of two factors among them.
@pytest.mark.parametrize(
    ("runs", "in_turns", "cell_cv"),
    [(3, False, 0.03), (5, True, 0.03), (3, True, UNEVEN), (5, False, UNEVEN)],
    ids=["3-in-blocks-even", "5-in-turns-even", "3-in-turns-uneven", "5-in-blocks-uneven"],
)
@pytest.mark.long
def test_of_five_hundred_surfaces_of_a_with_a_hardly_any_has_any_winner(
    runs: int, in_turns: bool, cell_cv: Mapping[Sizes, float] | float
) -> None:
    random = np.random.default_rng(7)
    rounds = [(str(i), str(i)) for i in range(runs)] if in_turns else ()
    marked = winners = held = inside = 0
    for _ in range(EACH):
        a, b = (noisy(random, EVEN, runs, cell_cv=cell_cv, run_cv=0.01) for _ in "ab")
        found, _ = differences_of(cell_runs(a, b), rounds)
        marked += any(cell.is_significant for cell in found.values())
        winners += any(cell.verdict(EFFECT) in WINNERS for cell in found.values())
        held += never_worse(found, EFFECT).state is ClaimState.CONTRADICTED
        ends = [cell.bounds(0.975) for cell in found.values()]
        inside += sum(low <= 0 <= high for low, high in (each for each in ends if each))

    # Any mark in the family of a surface counts: where nothing differs, that is the rate that Benjamini and Hochberg hold.
    assert marked < 0.05 * EACH
    assert winners < 0.05 * EACH
    assert held < 0.05 * EACH
    # Of each cell alone; the table of medians is that of their variance, and their tails are lighter than a normal one.
    assert 0.945 <= inside / (EACH * len(PLACES)) <= 0.99


@pytest.mark.long
def test_never_worse_holds_wrongly_in_at_most_one_of_twenty() -> None:
    random = np.random.default_rng(11)
    # The one cell that is worse by a hair more than matters is what makes the claim false.
    worse = {**EVEN, PLACES[17]: 1e8 * (1 - EFFECT) * 0.9999}
    wrong = 0
    for _ in range(TRIALS):
        a, b = noisy(random, EVEN, 3, cell_cv=0.002), noisy(random, worse, 3, cell_cv=0.002)
        found, _ = differences_of(cell_runs(a, b), ())
        wrong += never_worse(found, EFFECT).state is ClaimState.HELD

    assert wrong <= 0.065 * TRIALS


@pytest.mark.long
def test_a_planted_region_is_found_with_three_runs_and_what_is_marked_is_mostly_right() -> None:
    random = np.random.default_rng(3)
    better = {place for place in PLACES if place[1] <= 16 * KIB}
    planted = {place: 1e8 * (1.25 if place in better else 1.0) for place in PLACES}
    right = wrong = 0
    for _ in range(200):
        a, b = noisy(random, EVEN, 3), noisy(random, planted, 3)
        found, _ = differences_of(cell_runs(a, b), ())
        marks = [place for place, cell in zip(PLACES, found.values(), strict=True) if cell.is_significant]
        right += sum(place in better for place in marks)
        wrong += sum(place not in better for place in marks)

    assert right >= 0.95 * 200 * len(better)
    assert wrong <= 0.06 * (right + wrong)


@pytest.mark.parametrize(("runs", "begin"), [(3, 60), (10, 60), (5, 1)])
@pytest.mark.long
def test_the_interval_of_the_mean_of_a_surface_holds_the_truth_as_often_as_it_says(runs: int, begin: int) -> None:
    random = np.random.default_rng(runs)
    places = grid(2, 3)
    even, planted = dict.fromkeys(places, 1e8), dict.fromkeys(places, 1.1e8)
    inside, trials = 0, 400
    for _ in range(trials):
        # A run moves all its cells: an interval from resampled cells would be five times too narrow.
        a, b = (noisy(random, means, runs, cell_cv=0.01, run_cv=0.04) for means in (even, planted))
        _, surface = compared(arm("a", a), arm("b", b, begin=begin), a)
        assert surface.whole.interval is not None
        low, high = surface.whole.interval
        assert low <= (surface.whole.ratio or 0) <= high
        inside += low <= 1.1 <= high

    assert 0.92 <= inside / trials <= 0.985


# -- what else there is to say -----------------------------------------------------------------------------------------


def drawn(ratio: Mapping[Sizes, float], *, seed: int = 1, runs: int = 5, **asked: object) -> ComparedSurface:
    """Compare surfaces whose ratio is known to within a hundredth."""
    random = np.random.default_rng(seed)
    planted = {place: 1e8 * ratio.get(place, 1.0) for place in PLACES}
    a, b = noisy(random, EVEN, runs, cell_cv=0.002), noisy(random, planted, runs, cell_cv=0.002)
    return compared(arm("a", a), arm("b", b, begin=90), a, **asked)[1]


def test_rows_columns_regions_and_weights_are_the_means_of_their_cells() -> None:
    ratio = {place: 1.2 if place[0] <= 128 * KIB else 0.9 for place in PLACES}
    surface = drawn(
        ratio,
        regions=[parse_region("small: file<=128K & record<8K"), parse_region("none: file>1G")],
        weights=parse_weights("64K:3, 1M:1, 1G:4", "--weights"),
    )

    assert [round(mean.ratio or 0, 2) for mean in surface.by_file] == [1.2, 1.2, 0.9, 0.9, 0.9]
    column = 1.2**0.4 * 0.9**0.6
    assert all(mean.ratio == pytest.approx(column, abs=0.003) for mean in (*surface.by_record, surface.whole))
    assert (surface.whole.better, surface.whole.worse, surface.whole.equal, surface.whole.open) == (14, 21, 0, 0)
    assert surface.whole.median_ratio == pytest.approx(0.9, abs=0.005)
    small, none = surface.regions
    assert (small.cells, none.cells, none.ratio) == (2, 0, None)
    assert small.ratio == pytest.approx(1.2, abs=0.005)
    assert surface.weighted is not None
    # Files of 1 GiB are on no row: half of the files are.
    assert surface.weighted.covered == pytest.approx(0.5)
    assert surface.weighted.ratio == pytest.approx(1.2**0.75 * 0.9**0.25, abs=0.003)


def test_a_claim_is_held_over_all_cells_or_contradicted_by_the_one_that_does_not_fit() -> None:
    bad = PLACES[9]

    assert drawn({}).never_worse.state is ClaimState.HELD
    contradicted = drawn({bad: 0.9}).never_worse
    assert (contradicted.state, contradicted.is_shown, len(contradicted.against)) == (ClaimState.CONTRADICTED, True, 1)
    assert f"-{bad[0]}-{bad[1]}/" in contradicted.against[0]
    assert drawn({bad: 0.97}).never_worse.state is ClaimState.OPEN


def test_a_cell_that_is_far_from_its_neighbours_is_to_be_checked() -> None:
    middle, edge, corner = (256 * KIB, 32 * KIB), (64 * KIB, 32 * KIB), (64 * KIB, 4 * KIB)

    found = by_sizes(drawn({middle: 1.5, edge: 0.6, corner: 2.0}))

    odd = {place: cell.neighbours_ratio for place, cell in found.items() if cell.neighbours_ratio is not None}
    # The three cells around a corner are too few to say what it should be.
    assert set(odd) == {middle, edge}
    assert all(ratio == pytest.approx(1.0, abs=0.01) for ratio in odd.values())
    assert not any(cell.neighbours_ratio for cell in drawn({}).cells)


def test_what_may_not_be_trusted_or_is_of_something_else_does_not_count() -> None:
    random = np.random.default_rng(2)
    no = Trust(level=TrustLevel.NO, reasons=(Reason(id="foreign-io", text="others used the device"),))
    bad, cached = PLACES[3], PLACES[11]
    a, b = noisy(random, EVEN, 5, cell_cv=0.002), noisy(random, {**EVEN, bad: 9e9, cached: 9e9}, 5, cell_cv=0.002)
    changed: dict[Sizes, dict[str, object]] = {
        bad: {"trust": no, "trusted": False},
        cached: {"measures": ServedBy.PAGE_CACHE},
    }

    _, surface = compared(arm("a", a), arm("b", b, begin=90, changed=changed), a)

    cells = by_sizes(surface)
    assert "others used the device" in cells[bad].why
    assert cells[cached].why == "A is served by storage, B by page cache"
    assert (cells[bad].ratio, cells[cached].ratio) == (None, None)
    assert surface.whole.cells == len(PLACES) - 2
    assert surface.whole.ratio == pytest.approx(1.0, abs=0.003)
    assert surface.never_worse.state is ClaimState.HELD


def test_a_test_of_two_cells_is_no_surface() -> None:
    rates = {place: [1e8] * 3 for place in PLACES[:2]}

    with pytest.raises(ValueError, match="not enough values"):
        compared(arm("a", rates), arm("b", rates, begin=30), rates)


@pytest.mark.parametrize(
    ("weights", "runs"),
    [
        # By logarithms: the rates are 1 and 4 in the middle, 2.5 together. The second run is 1 above the first rate's.
        (None, (2.0, 3.5)),
        # Three quarters of the weight are the second rate's, which is 3.25 together: the second run has too little.
        ([1.0, 3.0], (3.25 - 0.25,)),
        ([3.0, 1.0], (1.75 - 0.75, 1.75 + 1)),
    ],
)
def test_a_run_that_lacks_a_rate_stands_for_it_by_what_it_has_of_the_others(
    weights: list[float] | None, runs: tuple[float, ...]
) -> None:
    # The first run has both rates, 0 and 4; the second the first rate alone, 2.
    side = [{"x": 0.0, "y": 2.0}, {"x": 4.0}]

    found = run_means(side, side, weights, rounds=[("x", "x"), ("y", "y"), ("z", "x")])

    assert found is not None
    assert [math.log(mean) for mean in found.a] == pytest.approx(runs)
    assert found.b == found.a
    # Two rounds that both sides have are too few for pairs.
    assert found.pairs == ()


@pytest.mark.parametrize(("times", "is_cliff"), [(2.99, False), (3.01, True)])
def test_a_cliff_is_between_neighbours_that_differ_threefold(times: float, is_cliff: bool) -> None:
    found = [*_cliffs("A", {(1024, 4): times * 100.0, (1024, 8): 100.0})]

    assert [(cliff.from_bytes, cliff.to_bytes) for cliff in found] == ([(4, 8)] if is_cliff else [])


@pytest.mark.parametrize(
    ("around", "value", "is_odd"),
    [
        # The neighbours' median is 0 and their median distance from it 0.01: five spreads are 5 * 1.4826 * 0.01 = 0.0741.
        ([0.01, -0.01] * 4, 0.0735, False),
        ([0.01, -0.01] * 4, 0.0748, True),
        # Four neighbours are too few, however far away the cell is.
        ([0.01, -0.01, 0.01, -0.01], 0.5, False),
        ([0.01, -0.01, 0.01, -0.01, 0.0], 0.5, True),
    ],
)
def test_a_cell_is_odd_beyond_five_spreads_of_five_neighbours_or_more(
    around: list[float], value: float, is_odd: bool
) -> None:
    places = [(file, record) for file in (1, 2, 4) for record in (1, 2, 4) if (file, record) != (2, 2)]
    ratios = dict(zip(places, around, strict=False))

    assert odd_cells({**ratios, (2, 2): value}, 0.03) == ({(2, 2): 0.0} if is_odd else {})


@pytest.mark.parametrize(("t", "is_marked"), [(4.2, False), (4.4, True)])
def test_cells_and_their_means_are_marked_where_chance_is_below_one_in_twenty(t: float, is_marked: bool) -> None:
    # Three ratios leave two degrees of freedom, of which p is 1 - t / sqrt(2 + t^2): 0.052 and 0.048.
    place, spread = (64 * KIB, 4 * KIB), 0.01
    # Of the mean of three; the variance of their median is 1.346 times as large.
    errors = {"mean": spread / math.sqrt(3), "cell": spread * math.sqrt(1.346 / 3)}
    marked = {}
    for name, error in errors.items():
        ratios = [math.exp(t * error + step * spread) for step in (-1, 0, 1)]
        cells = cell_runs({place: [1.0] * 3}, {place: ratios})
        rounds = [(str(i), str(i)) for i in range(3)]
        found, _ = differences_of(cells, rounds)
        whole = SurveyedCells(cells, found, rounds, EFFECT).whole()
        marked[name] = whole.is_significant if name == "mean" else next(iter(found.values())).is_significant

    assert marked == {"mean": is_marked, "cell": is_marked}


@pytest.mark.parametrize(
    ("errors_above", "state"),
    [
        (7.0, ClaimState.HELD),
        (6.9, ClaimState.OPEN),
        (-6.9, ClaimState.OPEN),
        (-7.0, ClaimState.CONTRADICTED),
    ],
)
def test_never_worse_holds_at_a_twentieth_shared_by_all_cells(errors_above: float, state: ClaimState) -> None:
    # 0.05 / 5 cells is 1 %: with two degrees of freedom, t is 0.98 / sqrt(2 * 0.99 * 0.01) = 6.96.
    error = 0.001
    sure = CellDifference(1.0, error, 2.0)
    near = CellDifference(math.log(1 - EFFECT) + errors_above * error, error, 2.0)

    found = never_worse({**{str(i): sure for i in range(4)}, "near": near}, EFFECT)

    assert found.state is state


@pytest.mark.parametrize(("freedom", "borrowed"), [(3.6, 3.6), (4.4, 4.0)])
def test_a_cell_borrows_what_the_spread_of_the_variances_allows_and_at_most_four_degrees_of_freedom(
    freedom: float, borrowed: float
) -> None:
    # The logarithms of the variances of cells of four degrees of freedom each are x apart, and so is their deviation.
    x = math.sqrt(sum(float(scipy.special.polygamma(1, of / 2)) for of in (freedom, 4)))

    found = common_variance([(math.exp(x * place), 4.0) for place in (-1, 0, 1)])

    assert found.freedom == pytest.approx(borrowed, rel=1e-6)
    # Smyth: s~^2 = (d0 s0^2 + d s^2) / (d0 + d), s0^2 the median by that of chi^2 (4) / 4.
    s0 = 4 / float(scipy.stats.chi2.median(4))
    assert found.moderated(0.0, 4.0) == pytest.approx((borrowed * s0 / (borrowed + 4), borrowed + 4), rel=0.01)
