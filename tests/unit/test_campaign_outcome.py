"""Does the outcome of a campaign say what was planted, and nothing where nothing can be said?"""

import csv
import io
import itertools
from collections.abc import Callable, Sequence

import msgspec
import pytest

from assay.compare.campaign_outcome import (
    OUTCOME_SCHEMA,
    CampaignOutcome,
    CampaignRun,
    CellFacts,
    OutcomeFactor,
    OutcomeRow,
    outcome_rows,
)
from assay.errors import InputError
from assay.report import matrix_text
from assay.results import Document, Reason, Result, Trust
from assay.verdicts import ServedBy, TrustLevel
from unit.quick_run import LOADS, quick_run

FACTORS = (
    OutcomeFactor(name="file_system", levels=("ext4", "xfs", "btrfs")),
    OutcomeFactor(name="mkfs", levels=("default",)),
    OutcomeFactor(name="scheduler", levels=("none", "bfq")),
)
CELLS = tuple(itertools.product(*(factor.levels for factor in FACTORS)))
DOUBTED = Trust(level=TrustLevel.NO, reasons=(Reason(id="moved", text="moved"),))


@pytest.fixture(scope="module")
def measured() -> tuple[Document, Result]:
    """A run, and a result of small reads to make others from."""
    _, document = quick_run(LOADS[:3])
    return document, next(r for r in document.results if r.trusted and (r.bytes or 0) < (r.ops or 0) * (64 << 10))


def runs_of(
    measured: tuple[Document, Result],
    rate: Callable[[tuple[str, ...], int], float | None],
    rounds: int = 3,
    changed: Callable[[tuple[str, ...], int], dict[str, object]] = lambda _cell, _round: {},
) -> list[CampaignRun]:
    """Make the runs of a campaign whose rate is a function of cell and round; None: that was not measured."""
    document, result = measured
    found = []
    for (index, cell), number in itertools.product(enumerate(CELLS), range(1, rounds + 1)):
        value = rate(cell, number)
        if value is None:
            continue
        one = msgspec.structs.replace(result, iops=value, committed=None, **changed(cell, number))
        told = msgspec.structs.replace(document.run, id=f"{'-'.join(cell)}-{number}")
        found.append(
            CampaignRun(
                cell=index,
                load="read",
                round=number,
                document=msgspec.structs.replace(document, run=told, results=(one,)),
            )
        )
    return found


def planted(cell: tuple[str, ...], number: int) -> float:
    """Ext4 is at 1000 in every round's own way, xfs twice as fast, btrfs half; bfq a tenth slower; noise of a per cent."""
    factor = {"ext4": 1.0, "xfs": 2.0, "btrfs": 0.5}[cell[0]] * {"none": 1.0, "bfq": 0.9}[cell[2]]
    noise = 1 + 0.01 * ((hash_of(cell) + 7 * number) % 5 - 2) / 2
    return 1000 * factor * noise * (1.0, 1.3, 0.8)[number - 1]


def hash_of(cell: Sequence[str]) -> int:
    return sum(map(ord, "".join(cell)))


def row_of(runs: Sequence[CampaignRun]) -> OutcomeRow:
    return next(row for row in outcome_rows(FACTORS, CELLS, runs) if row.metric == "iops")


def test_planted_effects_are_found_whatever_the_rounds_do(measured: tuple[Document, Result]) -> None:
    row = row_of(runs_of(measured, planted))

    effects = {effect.levels: effect for effect in row.effects}
    for levels, truth in ((("xfs",), 2.0), (("btrfs",), 0.5), (("ext4",), 1.0), (("bfq",), 0.9**0.5)):
        assert effects[levels].ratio == pytest.approx(truth, rel=0.01)
        low, high = effects[levels].interval or (0, 0)
        assert low < truth < high
        assert high / low < 1.05
    assert effects["xfs", "bfq"].ratio == pytest.approx(1, rel=0.01)
    by_factors = {term.factors: term for term in row.terms}
    assert set(by_factors) == {("file_system",), ("scheduler",), ("file_system", "scheduler")}
    assert (by_factors["file_system",].p or 0) < 0.001
    assert (row.without, row.why_not, row.uneven) == ((), "", None)


def test_runs_that_are_not_to_be_trusted_are_left_out_and_named(measured: tuple[Document, Result]) -> None:
    wild = ("ext4", "default", "none")
    runs = runs_of(
        measured,
        lambda cell, number: 10 * planted(cell, number) if (cell, number) == (wild, 2) else planted(cell, number),
        changed=lambda cell, number: {"trust": DOUBTED} if (cell, number) == (wild, 2) else {},
    )

    row = row_of(runs)

    assert row.cells[0].left_out == ("ext4-default-none-2",)
    assert len(row.cells[0].values) == 2
    assert row.cells[0].interval is None
    assert next(e.ratio for e in row.effects if e.levels == ("xfs",)) == pytest.approx(2.0, rel=0.02)


def test_a_level_that_lacks_a_cell_is_left_out_and_named(measured: tuple[Document, Result]) -> None:
    gone = ("btrfs", "default", "bfq")
    row = row_of(runs_of(measured, lambda cell, number: None if cell == gone else planted(cell, number)))

    assert row.without == ("file_system btrfs",)
    assert {effect.levels[0] for effect in row.effects if effect.factors == ("file_system",)} == {"ext4", "xfs"}
    assert next(e.ratio for e in row.effects if e.levels == ("xfs",)) == pytest.approx(2**0.5, rel=0.01)
    assert row.cells[CELLS.index(gone)].median is None


def test_cells_of_different_things_have_no_effects(measured: tuple[Document, Result]) -> None:
    row = row_of(
        runs_of(
            measured,
            planted,
            changed=lambda cell, _: {"measures": ServedBy.PAGE_CACHE} if cell[0] == "xfs" else {},
        )
    )

    assert row.effects == ()
    assert "different things" in row.why_not
    assert all(cell.median for cell in row.cells)


def test_one_cell_has_no_effects_and_one_round_no_intervals(measured: tuple[Document, Result]) -> None:
    few = row_of(runs_of(measured, lambda cell, number: planted(cell, number) if cell == CELLS[0] else None))
    assert few.effects == ()
    assert "too few cells" in few.why_not

    once = row_of(runs_of(measured, planted, rounds=1))
    assert {effect.interval for effect in once.effects} == {None}
    assert next(e.ratio for e in once.effects if e.levels == ("xfs",)) == pytest.approx(2.0, rel=0.02)


def outcome(rows: tuple[OutcomeRow, ...]) -> CampaignOutcome:
    cells = tuple(
        CellFacts(levels=cell, mkfs="", mount="", mount_options=("rw", "noatime"), scheduler=cell[2], direct_io=True,
                  super_block={}, not_taken=("mount option x is not shown by the kernel",) if i == 0 else (), failed=())
        for i, cell in enumerate(CELLS)
    )  # fmt: skip
    return CampaignOutcome(schema=OUTCOME_SCHEMA, name="c", seed=1, rounds=3, factors=FACTORS, cells=cells, loads=("read",),
                           slots=18, measured=18, failed=0, rows=rows)  # fmt: skip


def test_the_text_has_cells_effects_and_what_was_otherwise(measured: tuple[Document, Result]) -> None:
    rows = outcome_rows(FACTORS, CELLS, runs_of(measured, planted))

    text = "\n".join(matrix_text.lines(outcome(rows), matrix_text.chosen_rows(rows, ())))

    assert "c: 18 of 18 measured; 6 cells x 1 loads x 3 rounds, seed 1" in text
    assert "the same in all cells: mkfs default" in text
    assert "cell 1, asked for and otherwise: mount option x" in text
    assert "none of 6 pairs surely does anything" in text
    assert "    xfs    2.0" in text
    assert "p < 0.001" in text


def test_numbers_are_chosen_by_pattern_and_else_those_of_storage_that_most_is_known_of(
    measured: tuple[Document, Result],
) -> None:
    (row, *_) = (row for row in outcome_rows(FACTORS, CELLS, runs_of(measured, planted)) if row.metric == "iops")
    storage = msgspec.structs.replace(
        row, label="b", cells=tuple(msgspec.structs.replace(cell, measures=("storage, flushed",)) for cell in row.cells)
    )
    memory = msgspec.structs.replace(
        row,
        label="a",
        seconds=9e9,
        cells=tuple(msgspec.structs.replace(cell, measures=("page cache",)) for cell in row.cells),
    )
    less = msgspec.structs.replace(storage, label="c", seconds=9e9, cells=storage.cells[:-1])
    longer = msgspec.structs.replace(storage, label="d", seconds=storage.seconds + 1)
    rows = (memory, storage, less, longer)

    assert [row.label for row in matrix_text.chosen_rows(rows, ())] == ["d"]
    assert [row.label for row in matrix_text.chosen_rows(rows, ("[ac]",))] == ["a", "c"]
    with pytest.raises(InputError, match="their labels are: a, b, c, d"):
        matrix_text.chosen_rows(rows, ("e*",))


def test_the_csv_has_a_line_for_each_cell_level_and_pair(measured: tuple[Document, Result]) -> None:
    rows = outcome_rows(FACTORS, CELLS, runs_of(measured, planted))

    read = list(csv.DictReader(io.StringIO(matrix_text.csv_text(outcome(rows)))))

    mine = [line for line in read if line["metric"] == "iops"]
    kinds = [line["kind"] for line in mine]
    assert [kinds.count(kind) for kind in ("cell", "effect", "interaction")] == [6, 5, 6]
    xfs = next(line for line in mine if line["kind"] == "effect" and line["file_system"] == "xfs")
    assert float(xfs["low"]) < 2.0 < float(xfs["high"])
    assert xfs["scheduler"] == ""
