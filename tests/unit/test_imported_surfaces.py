"""Tables of other tools as surfaces: file size by record size, with the ratios that were put into them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from assay.analysis.document import document
from assay.analysis.imported import imported_size_pairs
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.cli.comparing import surveyed
from assay.compare.arms import Arm
from assay.compare.comparison import Comparison, compare
from assay.compare.surfaces.questions import Questions
from assay.compare.surfaces.region import parse_region
from assay.compare.surfaces.surface import ComparedSurface
from assay.importing import keep, originals
from assay.report import comparison_text
from assay.verdicts import ComparisonVerdict
from unit.surface_arms import KIB, ntfs_fat32

FILES, RECORDS = (64, 128, 256), (4, 8, 16, 32)
COLUMNS = ("write", "rewrite", "read", "reread")
HEAD = (
    "\tIozone: Performance Test of File I/O\n"
    "\t        Version $Revision: 3.489 $\n"
    "\tRun began: Mon Jun 12 10:00:0{number} 2006\n\n"
    "\tAuto Mode\n"
    "\tCommand line used: iozone -a -n 64 -g 256 -q 32 -i 0 -i 1\n"
    "\tOutput is in kBytes/sec\n"
    "              kB  reclen    write  rewrite    read    reread\n"
)
B_BY_A: Mapping[int, float] = {4: 1.5, 8: 1.2, 16: 0.9, 32: 0.8}
"""By the size of the records."""


def table(rate: float, number: int = 0, ratios: Mapping[int, float] | None = None) -> str:
    """Print what IOzone prints; each column has its own multiple of the rate, and its ratio by record size in writes."""
    lines = [HEAD.format(number=number)]
    for file_kib in FILES:
        for record_kib in RECORDS:
            ratio = (ratios or {}).get(record_kib, 1.0)
            cells = [rate * ratio, rate * 2, rate * 4, rate * 8]
            lines.append(f"{file_kib:>16}{record_kib:>8}" + "".join(f"{cell:>9.0f}" for cell in cells) + "\n")
    return "".join([*lines, "\niozone test complete.\n"])


def side(name: str, texts: Sequence[str], folder: Path) -> Arm:
    documents = []
    for number, text in enumerate(texts):
        file = folder / f"{name}-{number}.txt"
        file.write_text(text)
        (original,) = originals(str(file))
        documents.append(document(read(keep(original, folder / "runs", ("assay",)))))
    return Arm.of(name, documents)


def held(a: Arm, b: Arm, folder: Path, questions: Questions | None = None) -> Comparison:
    return surveyed(compare([a, b]), [a, b], questions or Questions(), folder / "runs")


def surfaces(found: Comparison) -> dict[str, ComparedSurface]:
    return {surface.test: surface for surface in found.against[0].surfaces}


def words(found: Comparison) -> str:
    return " ".join(" ".join(comparison_text.lines(found, [()], [])).split())


def test_single_tables_are_maps_without_intervals_winners_and_marks(tmp_path: Path) -> None:
    a = side("a", [table(100_000)], tmp_path)
    b = side("b", [table(100_000, ratios=B_BY_A)], tmp_path)

    found = held(a, b, tmp_path, Questions(regions=(parse_region("small: record<=8K"),)))

    of = surfaces(found)
    assert list(of) == list(COLUMNS)
    write = of["write"]
    assert (write.files, write.records) == (
        tuple(kib * KIB for kib in FILES),
        tuple(kib * KIB for kib in RECORDS),
    )
    for cell in write.cells:
        # kBytes/sec are KiB a second, whatever the record.
        assert cell.a == pytest.approx(100_000 * KIB)
        assert cell.ratio == pytest.approx(B_BY_A[cell.record_bytes // KIB], rel=1e-4)
        assert (cell.interval, cell.is_significant, cell.verdict) == (None, False, ComparisonVerdict.INDICATIVE)
    by_record = {mean.size_bytes: mean.ratio for mean in write.by_record}
    assert by_record == {kib * KIB: pytest.approx(ratio, rel=1e-4) for kib, ratio in B_BY_A.items()}
    mean = math.prod(B_BY_A.values()) ** (1 / len(B_BY_A))
    assert [one.ratio for one in (*write.by_file, write.whole)] == [pytest.approx(mean, rel=1e-4)] * 4
    assert write.regions[0].ratio == pytest.approx(math.sqrt(1.5 * 1.2), rel=1e-4)
    assert write.whole.interval is None
    assert all(surface.whole.ratio == pytest.approx(1.0) for test, surface in of.items() if test != "write")
    text = words(found)
    assert "~+50 ~+20 ~-10 ~-20" in text
    assert "shown to last by nothing" in text
    assert "No winner: an interval takes three runs of each; import three results of each side." in text
    assert "B is better by more than" not in text


def test_where_single_tables_cross_is_seen_and_said_to_be_no_more(tmp_path: Path) -> None:
    a = side("a", [table(100_000)], tmp_path)
    b = side("b", [table(100_000, ratios=B_BY_A)], tmp_path)

    found = held(a, b, tmp_path)

    (crossover,) = surfaces(found)["write"].crossovers
    assert (crossover.along, crossover.at_bytes, crossover.is_shown) == ("record", None, False)
    assert (crossover.better_below, crossover.below_bytes, crossover.above_bytes) == ("B", 8 * KIB, 16 * KIB)
    share = math.log(1.2) / (math.log(1.2) - math.log(0.9))
    assert crossover.crossing_bytes == pytest.approx(8 * KIB * 2**share, rel=1e-3)
    text = words(found)
    assert "Crossover seen by record size, over all file sizes: B ahead up to 8 KiB, A from 16 KiB on" in text
    assert "of fewer than three runs of a side, and shown to last by nothing." in text


def test_three_files_of_a_side_have_intervals_and_what_they_show_is_marked(tmp_path: Path) -> None:
    levels = (99_000, 100_000, 101_500)
    a = side("a", [table(level, number) for number, level in enumerate(levels)], tmp_path)
    b = side("b", [table(level, 3 + number, B_BY_A) for number, level in enumerate(levels)], tmp_path)

    found = held(a, b, tmp_path)

    write = surfaces(found)["write"]
    for cell in write.cells:
        ratio = B_BY_A[cell.record_bytes // KIB]
        assert cell.runs == (3, 3)
        assert cell.interval is not None
        assert cell.interval[0] < ratio < cell.interval[1]
        assert cell.is_significant
        assert cell.verdict is (ComparisonVerdict.BETTER if ratio > 1 else ComparisonVerdict.WORSE)
    assert [(c.below_bytes, c.above_bytes, c.is_shown) for c in write.crossovers if c.at_bytes is None] == [
        (8 * KIB, 16 * KIB, True)
    ]
    assert not any(cell.is_significant for cell in surfaces(found)["read"].cells)
    assert "B better up to 8 KiB, A from 16 KiB on" in words(found)


def test_a_file_that_holds_no_whole_records_is_as_long_as_its_records(tmp_path: Path) -> None:
    text = HEAD.format(number=0) + "".join(
        f"{100:>16}{record:>8}{1000:>9}{1000:>9}{1000:>9}{1000:>9}\n" for record in (4, 8, 16, 32)
    )

    found = held(side("a", [text], tmp_path), side("b", [text.replace("1000", "1001")], tmp_path), tmp_path)

    sizes = {(cell.file_bytes // KIB, cell.record_bytes // KIB) for cell in surfaces(found)["read"].cells}
    assert sizes == {(100, 4), (96, 8), (96, 16), (96, 32)}


@pytest.mark.parametrize(("test", "mean"), [("write", 1.1057), ("read", 1.1135)])
def test_the_published_table_of_ntfs_and_fat32_is_a_surface(test: str, mean: float, tmp_path: Path) -> None:
    """Geometric means of METHOD 9: 1.1057 of writes, 1.1135 of reads."""
    lines = ["label,unit,NTFS,FAT32"]
    for operation in ("write", "read"):
        ntfs, fat = ntfs_fat32(operation)
        lines += [
            f'"{operation}, 1GiB by {record // KIB} KiB",MB/s,{ntfs[file, record][0] / 1e6},{fat[file, record][0] / 1e6}'
            for file, record in ntfs
        ]
    file = tmp_path / "table.csv"
    file.write_text("\n".join(lines))
    arms = [
        Arm.of(str(one.machine), [document(read(keep(one, tmp_path / "runs", ("assay",))))])
        for one in originals(str(file))
    ]

    one, other = arms
    found = held(one, other, tmp_path)

    surface = surfaces(found)[test]
    assert surface.files == (1 << 30,)
    assert surface.whole.ratio == pytest.approx(mean, abs=5e-5)
    cliffs = [(cliff.side, cliff.from_bytes // KIB, round(cliff.factor, 1)) for cliff in surface.cliffs]
    assert cliffs == ([("A", 256, 49.0), ("B", 256, 55.8)] if test == "write" else [])
    crossovers = [(c.better_below, c.below_bytes // KIB, c.above_bytes // KIB, c.is_shown) for c in surface.crossovers]
    assert crossovers == ([("B", 256, 512, False)] if test == "write" else [])


@pytest.mark.parametrize(
    "label",
    [
        "write, 1GiB",
        "write 1GiB by 4KiB",
        "write, large by 4KiB",
        "write, 0 by 4KiB",
        "write, 1GiB by 4 KB",
        "write, 4KiB by 1GiB",
        "write, 9999999TiB by 4KiB",
    ],
)
def test_a_label_without_two_sizes_is_no_cell(label: str, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f'label,unit,a\n"{label}",MB/s,1\n"read, 1GiB by 4KiB",MB/s,1\n')
    (original,) = originals(str(file))
    bundle = keep(original, tmp_path / "runs", ("assay",))

    kept = RunBundle.open(bundle.path).original()
    assert kept is not None
    assert [pair.test for pair in imported_size_pairs(kept).values()] == ["read"]


def test_times_are_no_cells_of_rates(tmp_path: Path) -> None:
    """A time that something took has no place on a map of bytes a second."""
    lines = ["label,unit,a,b", *(f'"write, 1GiB by {kib}KiB",s,{kib},{2 * kib}' for kib in (4, 8, 16, 32))]
    file = tmp_path / "table.csv"
    file.write_text("\n".join(lines))
    arms = [
        Arm.of(str(one.machine), [document(read(keep(one, tmp_path / "runs", ("assay",))))])
        for one in originals(str(file))
    ]

    one, other = arms
    found = held(one, other, tmp_path)

    assert found.against[0].surfaces == ()
    assert {row.metric for row in found.against[0].rows} == {"seconds"}
