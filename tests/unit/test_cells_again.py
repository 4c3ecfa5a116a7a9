"""Cells that stand out and are measured again: which, by which words, and what the new runs make of them."""

import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay import plan
from assay.compare.arms import Arm
from assay.compare.comparison import Comparison, compare
from assay.compare.surfaces.cell_differences import differences_of
from assay.compare.surfaces.cell_runs import CellRuns
from assay.compare.surfaces.cells_again import (
    OddCell,
    RoundsAgain,
    not_again,
    odd_of,
    rounds_again,
    unconfirmed_of,
    verdict_again,
    with_cells_again,
)
from assay.compare.surfaces.landmarks import odd_cells
from assay.compare.surfaces.questions import Questions
from assay.compare.surfaces.surface import AgainState, CellAgain
from assay.compare.surfaces.survey import with_surfaces
from assay.report.surface_text import surface_lines
from assay.tools.iozone import FRONT_END
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.one_cell import cell_of_label, words_of_cell
from assay.tools.iozone.options import parse
from assay.tools.iozone.plan import to_plan
from assay.verdicts import ComparisonVerdict
from unit.surface_arms import arm, cell_runs, compared, grid, label, noisy, places

PLACES = grid(5, 7)
ODD, FARTHER = PLACES[10], PLACES[24]


def drawn(planted: dict[tuple[int, int], float], runs: int = 5) -> Comparison:
    """Draw surfaces of which B is so many times A in some cells."""
    random = np.random.default_rng(3)
    even = dict.fromkeys(PLACES, 1e8)
    a = noisy(random, even, runs, cell_cv=0.002)
    b = noisy(random, {place: rate * planted.get(place, 1.0) for place, rate in even.items()}, runs, cell_cv=0.002)
    return compared(arm("a", a), arm("b", b, begin=1), a)[0]


def alone(place: tuple[int, int], ratios: list[float]) -> Comparison:
    """Compare runs of one cell in turns, of which B is so many times A, a round each."""
    a = {place: [1e8] * len(ratios)}
    b = {place: [1e8 * ratio for ratio in ratios]}
    return compare([arm("a", a), arm("b", b, begin=1)])


def odd_cell(ratio: float = 1.5) -> OddCell:
    return OddCell("b", label(*ODD), *ODD, ratio=ratio, neighbours_ratio=1.0)


# -- which, and what became of them ------------------------------------------------------------------------------------


def test_the_cells_that_stand_out_are_named_the_farthest_first() -> None:
    found = odd_of(drawn({ODD: 1.5, FARTHER: 0.4}))

    assert [(each.file_bytes, each.record_bytes) for each in found] == [FARTHER, ODD]
    assert [each.side for each in found] == ["b", "b"]
    assert [each.ratio for each in found] == [pytest.approx(0.4, rel=0.01), pytest.approx(1.5, rel=0.01)]
    assert [each.distance for each in found] == [
        pytest.approx(math.log(2.5), abs=0.02),
        pytest.approx(math.log(1.5), abs=0.02),
    ]
    assert odd_of(drawn({})) == []


@pytest.mark.parametrize(("rounds", "expected"), [(1, 3), (2, 3), (3, 4), (5, 6), (15, 16)])
def test_new_rounds_are_more_than_the_first_and_enough_for_an_interval(rounds: int, expected: int) -> None:
    assert rounds_again(rounds) == expected


@pytest.mark.parametrize(
    ("ratios", "state"),
    [
        ([1.50, 1.49, 1.51, 1.50, 1.48, 1.52], AgainState.CONFIRMED),
        ([1.00, 1.01, 0.99, 1.00, 1.02, 0.98], AgainState.NOT_CONFIRMED),
        # Half of the way from 1 to 1.5 is their geometric mean, 1.225: on either side of it.
        ([1.24, 1.25, 1.24, 1.25, 1.24, 1.25], AgainState.CONFIRMED),
        ([1.20, 1.21, 1.20, 1.21, 1.20, 1.21], AgainState.NOT_CONFIRMED),
        ([1.00, 1.50, 1.00, 1.50, 1.00, 1.50], AgainState.OPEN),
        ([1.50, 1.50], AgainState.OPEN),
    ],
)
def test_a_cell_is_confirmed_by_the_new_runs_alone(ratios: list[float], state: AgainState) -> None:
    found = verdict_again(odd_cell(), alone(ODD, ratios), RoundsAgain(first=len(ratios) - 1, new=len(ratios)))

    assert (found.state, found.why) == (state, "")
    assert (found.first_ratio, found.neighbours_ratio, found.rounds) == (1.5, 1.0, len(ratios))
    assert found.ratio == pytest.approx(math.exp(np.median(np.log(ratios))), rel=0.02)
    assert (found.interval is None) == (len(ratios) < 3)


def test_a_cell_that_was_too_slow_is_judged_by_the_same_half_way() -> None:
    assert (
        verdict_again(odd_cell(0.5), alone(ODD, [0.5, 0.51, 0.49, 0.5]), RoundsAgain(first=3, new=4)).state
        is AgainState.CONFIRMED
    )
    assert (
        verdict_again(odd_cell(0.5), alone(ODD, [1.0, 1.01, 0.99, 1.0]), RoundsAgain(first=3, new=4)).state
        is AgainState.NOT_CONFIRMED
    )


def test_new_rounds_that_are_no_more_than_the_first_say_that_the_cell_may_be_as_disturbed_as_before() -> None:
    """Fifteen rounds were disturbed, and there was time for three new ones: the middle of all is a disturbed one."""
    random = np.random.default_rng(7)
    even = dict.fromkeys(PLACES, 1e8)
    a = noisy(random, even, 15, cell_cv=0.002)
    b = noisy(random, {**even, ODD: 3e7}, 15, cell_cv=0.002)
    new_a, new_b = (noisy(random, {ODD: 1e8}, 3, cell_cv=0.002) for _ in "ab")
    pooled_a, pooled_b = (
        Arm.of(name, [*arm(name, first, begin=begin).documents, *arm(name, new, begin=200 + begin).documents])
        for name, first, new, begin in (("a", a, new_a, 0), ("b", b, new_b, 1))
    )
    (odd,) = odd_of(compared(arm("a", a), arm("b", b, begin=1), a)[0])

    again = verdict_again(odd, compare([arm("a", new_a), arm("b", new_b, begin=1)]), RoundsAgain(first=15, new=3))
    _, surface = compared(pooled_a, pooled_b, a)

    assert {cell.label: cell.ratio for cell in surface.cells}[odd.label] == pytest.approx(0.3, rel=0.02)
    assert again.state is AgainState.NOT_CONFIRMED
    assert again.why == (
        "3 new rounds are too few against the 15 first ones: the cell's own ratio is of all, and may still be one of the"
        " first"
    )


def test_a_cell_that_failed_after_some_rounds_says_so_beside_what_became_of_it() -> None:
    rounds = RoundsAgain(first=3, new=4, ended_by="side B: the engine ended")

    found = verdict_again(odd_cell(), alone(ODD, [1.5, 1.49, 1.51, 1.5]), rounds)
    (against,) = with_cells_again(drawn({ODD: 1.5}), {"b": [found]}).against
    words = " ".join(" ".join(surface_lines(against.surfaces[0], 0.03)).split())

    assert found.state is AgainState.CONFIRMED
    assert found.why == "measured no more after round 4 of it, because: side B: the engine ended"
    assert f"alone +50 in 4 rounds: confirmed; {found.why})" in words


def test_a_cell_without_a_new_number_is_not_judged() -> None:
    found = verdict_again(odd_cell(), alone(FARTHER, [1.0, 1.0, 1.0]), RoundsAgain(first=2, new=3))

    assert (found.state, found.ratio, found.why) == (AgainState.NOT_CHECKED, None, "the new runs have no such number")


def test_a_disturbed_cell_is_put_right_by_runs_that_are_one_more() -> None:
    """The first five rounds of a cell were disturbed; the truth is that nothing differs."""
    random = np.random.default_rng(5)
    even = dict.fromkeys(PLACES, 1e8)
    a = noisy(random, even, 5, cell_cv=0.002)
    b = noisy(random, {**even, ODD: 3e7}, 5, cell_cv=0.002)
    new_a, new_b = (noisy(random, {ODD: 1e8}, rounds_again(5), cell_cv=0.002) for _ in "ab")
    first_a, first_b = arm("a", a), arm("b", b, begin=1)
    again_a, again_b = arm("a2", new_a, begin=120), arm("b2", new_b, begin=121)

    before, _ = compared(first_a, first_b, a)
    pooled_a, pooled_b = (
        Arm.of(one.name, [*one.documents, *new.documents]) for one, new in ((first_a, again_a), (first_b, again_b))
    )
    found, surface = compared(pooled_a, pooled_b, a)

    (odd,) = odd_of(before)
    assert odd.ratio == pytest.approx(0.3, rel=0.01)
    # Of eleven rounds, five at 0.3 and six at 1, the one in the middle is the least of the six.
    (cell,) = [cell for cell in surface.cells if cell.label == odd.label]
    assert cell.runs == (11, 11)
    assert cell.ratio == pytest.approx(1.0, abs=0.01)
    assert not cell.is_significant
    assert odd_of(found) == []
    # Runs of one cell are none of the whole: its mean goes by the five that have all cells, in which it is disturbed.
    assert surface.whole.ratio == pytest.approx(0.3 ** (1 / 35), rel=0.01)
    alone_b = Arm.of("b", again_b.documents)
    again = verdict_again(odd, compare([again_a, alone_b]), RoundsAgain(first=5, new=6))
    assert again.state is AgainState.NOT_CONFIRMED
    without = unconfirmed_of({"b": [again]})
    assert without == {"b": {odd.label}}
    arms = [pooled_a, pooled_b]
    told = with_surfaces(
        compare(arms, EFFECT, without), arms, Questions(places=places(a), unconfirmed=without)
    ).against[0]
    (surface,) = told.surfaces
    assert (surface.whole.cells, told.geometric_mean_of) == (34, 34)
    # Not one of the means has it: by row, by column, of all.
    for mean in (*surface.by_file, *surface.by_record, surface.whole):
        assert mean.ratio == pytest.approx(1.0, abs=0.005)
    assert told.geometric_mean == pytest.approx(1.0, abs=0.005)
    assert told.drifts == ()
    assert {cell.label: cell.ratio for cell in surface.cells}[odd.label] == pytest.approx(1.0, abs=0.01)


# -- what is said ------------------------------------------------------------------------------------------------------


def test_the_sentences_say_what_was_confirmed_and_what_was_not() -> None:
    found = drawn({ODD: 1.5, FARTHER: 0.4})
    farther, odd = odd_of(found)
    again = [
        verdict_again(farther, alone(FARTHER, [0.4, 0.41, 0.39, 0.4]), RoundsAgain(first=3, new=4)),
        verdict_again(odd, alone(ODD, [1.0, 1.01, 0.99, 1.0]), RoundsAgain(first=3, new=4)),
    ]

    (against,) = with_cells_again(found, {"b": again}).against
    (surface,) = against.surfaces
    words = " ".join(" ".join(surface_lines(surface, 0.03)).split())

    assert surface.again == tuple(again)
    assert "Measured again by themselves: 1 of 2 cells confirmed:" in words
    assert re.search(r"512K/32K \(-60 among [+-]0, alone -60 in 4 rounds: confirmed\)", words)
    assert re.search(r"128K/32K \(\+50 among [+-]0, alone [+-]0 in 4 rounds: not confirmed\)", words)
    assert "Check cell" not in words
    marks = {(cell.file_bytes, cell.record_bytes): cell.neighbours_ratio for cell in surface.cells}
    # What is confirmed is to be checked no more; what is not, keeps its mark.
    assert marks[FARTHER] is None
    assert marks[ODD] is not None
    assert msgspec.json.decode(msgspec.json.encode(surface.again[0]), type=CellAgain) == again[0]


def test_what_was_not_checked_is_named_with_the_reason_and_the_way() -> None:
    found = drawn({ODD: 1.5})

    (against,) = with_cells_again(found, {"b": [not_again(odd_of(found)[0], "no time")]}).against
    words = " ".join(" ".join(surface_lines(against.surfaces[0], 0.03)).split())

    assert "Not checked: 128K/32K: no time." in words
    assert "Check cell 128K/32K" in words


# -- by which words ----------------------------------------------------------------------------------------------------


def phases(words: str) -> dict[str, plan.Phase]:
    """Give the phases of a command line, without what is done around them and the numbers of their files."""
    parts = shlex.split(words)
    made = to_plan(parse(parts), FRONT_END.origin(parts), Path("/mnt/storage"))
    return {phase.name: msgspec.structs.replace(phase, before=(), after=()) for phase in made.phases}


@pytest.mark.parametrize(
    "words",
    [
        "-a -g 64m -i 0 -i 1",
        "-Raz -n 1m -g 4m -i0 -i 2 -I -e -c -f data/file",
        "-a -n 1m -g 1m -y 64k -q 1m -w -i 0 -i 5 -j 3 -+n",
        "-A -g 1m -o",
        "-s 1m -s 2m -r 64k -r 256k -i 0 -i 2 -K -J 2 -+J",
        "-a -+x 4 -n 64k -g 1m -E -i 0 -i 9 -i 10 -D -p -W",
    ],
)
def test_a_cell_alone_has_the_phases_that_it_has_in_the_matrix(words: str) -> None:
    cell = Cell(1024, 64)

    alone_words = words_of_cell(shlex.split(words), cell)

    assert alone_words is not None
    assert parse(alone_words).matrix.cells() == (cell,)
    of_cell = phases(shlex.join(alone_words))
    of_all = phases(words)
    assert of_cell
    assert of_cell == {name: phase for name, phase in of_all.items() if name.endswith("-1024-64")}


@pytest.mark.parametrize("words", ["-t 4 -s 1m -r 64k", "-a -R -b out.xls", "-a -Q"])
def test_what_has_children_or_writes_files_has_no_cell_alone(words: str) -> None:
    assert words_of_cell(shlex.split(words), Cell(1024, 64)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write-64-4/write", Cell(64, 4)),
        ("random-read-1048576-16384/random read", Cell(1048576, 16384)),
        ("write-4/write", None),
        ("read 1M 64k/read", None),
    ],
)
def test_a_cell_is_read_from_the_label_of_its_result(text: str, expected: Cell | None) -> None:
    assert cell_of_label(text) == expected


# -- how often it is wrong ---------------------------------------------------------------------------------------------

TRIALS = 1_000
WINNERS = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
EFFECT = 0.03


@pytest.mark.parametrize(("runs", "disturbed"), [(5, 0.0), (3, 0.02)], ids=["5-even", "3-disturbed"])
@pytest.mark.long
def test_of_a_thousand_surfaces_of_a_with_a_hardly_any_has_a_winner_after_cells_were_measured_again(
    runs: int, disturbed: float
) -> None:
    """Cells that stand out get more runs than others; what is chosen so must not be marked more often for it.

    A share of all measurements is disturbed, and takes three times as long.
    """
    random = np.random.default_rng(11)
    even = dict.fromkeys(PLACES, 1e8)
    marked = winners = again = 0
    for _ in range(TRIALS):
        a, b = (_disturbed(random, noisy(random, even, runs, run_cv=0.01), disturbed) for _ in "ab")
        cells = {cell.place: cell for cell in cell_runs(a, b)}
        rounds = [(str(i), str(i)) for i in range(runs)]
        found, _ = differences_of(list(cells.values()), rounds)
        ratios = {(one.place.file_bytes, one.place.record_bytes): found[one.label].log_ratio for one in cells.values()}
        odd = dict.fromkeys(odd_cells(ratios, EFFECT), 1e8)
        if odd:
            again += len(odd)
            more = rounds_again(runs)
            new_a, new_b = (_disturbed(random, noisy(random, odd, more, run_cv=0.01), disturbed) for _ in "ab")
            for cell in cell_runs(new_a, new_b):
                first = cells[cell.place]
                of_a, of_b = {**first.a, **_again(cell.a)}, {**first.b, **_again(cell.b)}
                cells[cell.place] = CellRuns(first.label, first.place, of_a, of_b, "")
            rounds += [(f"again {i}", f"again {i}") for i in range(more)]
            found, _ = differences_of(list(cells.values()), rounds)
        marked += any(cell.is_significant for cell in found.values())
        winners += any(cell.verdict(EFFECT) in WINNERS for cell in found.values())

    assert again > 0
    assert marked < 0.05 * TRIALS
    assert winners < 0.05 * TRIALS


def _disturbed(
    random: np.random.Generator, rates: dict[tuple[int, int], list[float]], share: float
) -> dict[tuple[int, int], list[float]]:
    return {
        place: [rate / 3 if random.random() < share else rate for rate in values] for place, values in rates.items()
    }


def _again(runs: Mapping[str, float]) -> dict[str, float]:
    return {f"again {run}": rate for run, rate in runs.items()}
