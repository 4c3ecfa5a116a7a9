"""A survey in words, as figures and as a load file, from counts that are known."""

import os
import tomllib
from pathlib import Path

import msgspec
import pytest

from assay.errors import InputError
from assay.loads import native
from assay.report.figures import tree_files
from assay.report.survey_page import survey_page
from assay.report.survey_words import (
    age_rows,
    content_lines,
    depth_rows,
    format_size,
    head_lines,
    size_class_rows,
    survey_warnings,
)
from assay.surveys.content_estimate import estimate_content
from assay.surveys.content_found import ContentEstimate
from assay.surveys.survey_load import MOST_BYTES, load_text
from assay.surveys.tree_survey import (
    AgeClassCount,
    ChosenFile,
    LevelCount,
    NotSurveyed,
    SizeClassCount,
    SizeRow,
    TreeSummary,
    TreeSurvey,
    ValueSpread,
)
from unit import vega

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
NONE = NotSurveyed(0, ())


def surveyed(counts: dict[int, int], *, directories: int = 11) -> TreeSurvey:
    """Give a survey of files of these sizes, two levels deep."""
    files, total = sum(counts.values()), sum(size * count for size, count in counts.items())
    bounds = [0, *(1 << power for power in range(max(counts, default=0).bit_length() + 1))]
    classes = tuple(
        SizeClassCount(
            bound,
            count := sum(counts.get(size, 0) for size in inside),
            sum(size * counts[size] for size in inside),
            count,
        )
        for below, bound in zip([-1, *bounds], bounds, strict=False)
        if (inside := [size for size in counts if below < size <= bound]) is not None
    )
    ordered = sorted(size for size, count in counts.items() for _ in range(min(count, 1000)))
    middle = ordered[len(ordered) // 2] if ordered else 0
    at = tuple((percent, middle) for percent in (1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0)) if files else ()
    sizes = ValueSpread(
        True, 0.0, len(counts), total / files if files else None, at, at if total else (),
        tuple(SizeRow(size, size, count, size * count) for size, count in sorted(counts.items())),
    )  # fmt: skip
    ages = (AgeClassCount(0, 0, 0, 0), AgeClassCount(1, files, total, 0), AgeClassCount(None, 0, 0, 0))
    depths = (LevelCount(0, 1), LevelCount(0, directories - 1), LevelCount(files, 0))
    summary = TreeSummary(
        files=files, directories=directories, links=0, others=0, hard_linked_files=0, sparse_files=0, bytes=total,
        bytes_once=total, allocated_bytes=total, sizes=sizes, size_classes=classes, modified=ages, accessed=ages,
        depths=depths, entries=ValueSpread(True, 0.0, 1, 1.0, at, (), ()), unreadable=NONE, unseen=NONE, mounts=NONE,
        left_out=NONE, vanished=0,
    )  # fmt: skip
    return TreeSurvey(True, True, 1.0, 0, 0, summary)


SMALL = surveyed({0: 10, 4 * KIB: 500, 64 * KIB: 390, 3 * MIB: 100})


def test_classes_add_up_and_end_with_the_largest_file() -> None:
    rows = size_class_rows(SMALL)

    assert [row["size up to"] for row in rows] == ["0 B", "4 KiB", "64 KiB", "4 MiB"]
    assert [row["files"] for row in rows] == ["10", "500", "390", "100"]
    assert rows[-1]["cumulative"].startswith("100.0")
    assert SMALL.summary.share_up_to(64 * KIB) == 0.9


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1, "1 B"), (4096, "4 KiB"), (5000, "4.88 KiB"), (1 << 20, "1 MiB"), (3 << 29, "1.50 GiB")],
)
def test_sizes_that_are_whole_are_short(size: int, text: str) -> None:
    assert format_size(size) == ("1.50 GiB" if size == 3 << 29 else text)


def test_what_is_missing_is_reported() -> None:
    summary = msgspec.structs.replace(
        SMALL.summary, unreadable=NotSurveyed(9, (("a", "Permission denied"), ("b", "x"), ("c", "y"), ("d", "z")))
    )
    stopped = msgspec.structs.replace(SMALL, is_whole=False, directories_left=1, summary=summary)

    assert list(survey_warnings(SMALL)) == []
    said = list(survey_warnings(stopped, is_resumable=True))
    assert said[0] == "Stopped: 1 known directory left; this is no count of the tree (go on with --resume)."
    assert said[1] == "9 directories could not be read (a: Permission denied; b: x; c: y; and 6 more)."


def test_an_empty_tree_has_words_and_a_page() -> None:
    empty = surveyed({}, directories=1)

    assert list(head_lines(empty)) == ["0 files, 1 directory, in 1.00 s."]
    assert (size_class_rows(empty), age_rows(empty)) == ([], [])
    assert "0 files" in survey_page(empty, Path("/data"))
    with pytest.raises(InputError, match="no files"):
        load_text(empty, Path("/data"))


def test_deep_levels_share_a_row() -> None:
    levels = tuple(LevelCount(1, 1) for _ in range(40))
    deep = msgspec.structs.replace(SMALL, summary=msgspec.structs.replace(SMALL.summary, depths=levels))

    assert depth_rows(deep)[-1] == {"depth": "14 to 39", "files": "26", "directories": "26"}


def test_every_figure_is_valid_vega_lite_and_has_the_values_as_a_table() -> None:
    figures = list(tree_files.draw(SMALL))

    assert [figure.slug for figure in figures] == ["size-classes", "size-so-far", "ages", "depths"]
    for figure in figures:
        vega.check(figure)
        assert figure.table.rows
    assert figures[1].table.rows[-1][0] == "4 MiB"


def test_names_of_others_are_not_obeyed_on_the_page() -> None:
    summary = msgspec.structs.replace(SMALL.summary, unreadable=NotSurveyed(1, (("<script>\x1b[2J", "no"),)))
    page = survey_page(msgspec.structs.replace(SMALL, summary=summary), Path("/<b>"))

    assert "<script>\ufffd" not in page
    assert "&lt;script&gt;" in page
    assert "<b>" not in page.partition("<main>")[0].partition("<header>")[2]


# -- the load file -----------------------------------------------------------------------------------------------------


def test_a_load_has_the_weights_of_the_tree_and_is_read() -> None:
    text = load_text(SMALL, Path("/data"))
    made = tomllib.loads(text)

    assert made["file_set"][0]["size"]["rows"] == [
        [10, 0, 0], [500, 4096, 4096], [390, 65536, 65536], [100, 3 << 20, 3 << 20],
    ]  # fmt: skip
    assert made["file_set"][0]["layout"] == {"per_directory": 100}
    assert native.phase_count(text, "load.toml") == 2


def test_a_load_of_huge_files_leaves_the_largest_out_and_reports_it() -> None:
    huge = surveyed({64 * KIB: 9900, 1 << 40: 100})
    text = load_text(huge, Path("/data"))
    made = tomllib.loads(text)

    assert made["file_set"][0]["size"]["rows"] == [[9900, 65536, 65536]]
    assert "Left out are 100 larger files" in text
    assert made["parameters"]["files"] * 64 * KIB <= MOST_BYTES


def test_a_name_with_a_line_end_does_not_leave_its_comment() -> None:
    text = load_text(SMALL, Path('/data\n[[file_set]]\nname = "x"'))

    assert len(tomllib.loads(text)["file_set"]) == 2


# -- what the files hold -----------------------------------------------------------------------------------------------


def chosen(path: Path, root: Path) -> ChosenFile:
    facts = path.lstat()
    return ChosenFile(str(path.relative_to(root)), facts.st_ino, facts.st_size)


def looked_into(
    root: Path, by_number: list[ChosenFile], by_bytes: list[ChosenFile], threshold: float
) -> ContentEstimate:
    survey = msgspec.structs.replace(
        SMALL,
        sampled_by_number=tuple(by_number),
        sampled_by_bytes=tuple(by_bytes),
        sample_threshold_bytes=threshold,
    )
    found = estimate_content(survey, root, lambda _: None, lambda: False)
    assert found is not None
    return found


def test_content_is_weighed_by_bytes(tmp_path: Path) -> None:
    # One file of 3 MiB stands for itself, forty of 64 KiB for 1 MiB each: 3 of 43 parts cannot be compressed.
    (tmp_path / "large").write_bytes(os.urandom(3 * MIB))
    for number in range(40):
        (tmp_path / f"small{number}").write_bytes(b"abcdefgh" * (8 * KIB))
    files = [chosen(path, tmp_path) for path in sorted(tmp_path.iterdir())]

    found = looked_into(tmp_path, files, files, float(MIB))

    assert found.compression_ratio is not None
    assert found.compression_ratio.interval is not None
    low, high = found.compression_ratio.interval
    # What is left of text that repeats is some thousandths of it.
    assert 43 / (3 + 40 * 0.01) < found.compression_ratio.value <= 43 / 3
    assert low <= found.compression_ratio.value <= high
    assert (found.compression_ratio.files, found.not_read) == (41, 0)


def test_random_bytes_cannot_be_compressed_and_few_files_have_no_interval(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(os.urandom(MIB))

    found = looked_into(tmp_path, [], [chosen(tmp_path / "file", tmp_path)], 0.0)

    assert found.compression_ratio is not None
    assert (found.compression_ratio.value, found.compression_ratio.interval) == (1.0, None)
    assert "1.00 : 1 (too few files for an interval), from blocks of 1 file." in "\n".join(content_lines(found))


def test_what_is_exchanged_for_a_link_a_pipe_or_another_file_is_not_opened(tmp_path: Path) -> None:
    for name in ("link", "pipe", "other", "gone", "kept"):
        (tmp_path / name).write_bytes(b"x" * KIB)
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_bytes(b"y" * KIB)
    files = [chosen(tmp_path / name, tmp_path) for name in ("link", "pipe", "other", "gone", "kept")]
    through = ChosenFile("linked/file", (tmp_path / "real" / "file").stat().st_ino, KIB)
    for name in ("link", "pipe", "gone"):
        (tmp_path / name).unlink()
    (tmp_path / "link").symlink_to("kept")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "new").write_bytes(b"z" * KIB)
    (tmp_path / "new").replace(tmp_path / "other")
    (tmp_path / "linked").symlink_to("real")

    found = looked_into(tmp_path, [], [*files, through], 0.0)

    assert found.compression_ratio is not None
    assert (found.compression_ratio.files, found.not_read) == (1, 5)


def test_a_file_without_blocks_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "hole").touch()
    os.truncate(tmp_path / "hole", MIB)

    found = looked_into(tmp_path, [], [chosen(tmp_path / "hole", tmp_path)], 0.0)

    assert (found.compression_ratio, found.not_read) == (None, 1)


def test_times_of_access_stay_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "100%25 file"
    file.write_bytes(b"x" * KIB)
    os.utime(file, (1, 2))
    one = ChosenFile("100%2525 file", file.stat().st_ino, KIB)

    assert looked_into(tmp_path, [], [one], 0.0).not_read == 0
    assert file.stat().st_atime == 1
