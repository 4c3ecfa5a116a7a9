"""IOzone's surface in space: heights, order and colours against what they must be by hand."""

import math
import re

import pytest

from assay.tools.iozone.isometric import HEIGHT_PX, Surface, colour_of, svg
from assay.tools.iozone.matrix import Cell

FILES, SIZES = (64, 128, 256), (4, 8, 16)
VALUES = {Cell(file, size): float(file * size) for file in FILES for size in SIZES}


def surface(values: dict[Cell, float], files: tuple[int, ...] = FILES, sizes: tuple[int, ...] = SIZES) -> Surface:
    return Surface(values, files, sizes, (min(values.values()), max(values.values())))


def draw(drawn: Surface) -> str:
    return svg(drawn, name_of=lambda kib: f"{kib} KiB", unit="MiB/s", words='a "surface"')


def test_heights_are_in_proportion_to_the_values_and_the_scale_begins_at_0() -> None:
    drawn = surface(VALUES)
    heights = {}
    for patch in drawn.patches:
        for cell, (x, y) in zip(patch.corners, patch.points, strict=True):
            floor_x, floor_y = drawn.at(FILES.index(cell.file_kib), SIZES.index(cell.record_kib))
            assert x == floor_x
            heights[cell] = floor_y - y

    # 256 * 16 = 4096; at most four steps reach it from 0 in steps of 2000.
    assert drawn.top == 6000
    assert {cell: height * drawn.top / HEIGHT_PX for cell, height in heights.items()} == pytest.approx(VALUES)


def test_the_floor_is_seen_under_30_degrees_with_both_sizes_towards_the_reader() -> None:
    drawn = surface(VALUES)
    (x, y), (right_x, right_y), (left_x, left_y) = drawn.at(0, 0), drawn.at(0, 1), drawn.at(1, 0)

    assert (right_x - x, right_y - y) == pytest.approx((drawn.step * math.cos(math.pi / 6), drawn.step / 2))
    assert (left_x - x, left_y - y) == pytest.approx((-drawn.step * math.cos(math.pi / 6), drawn.step / 2))


def test_patches_come_from_the_back_to_the_front() -> None:
    depth = [
        sum(FILES.index(c.file_kib) + SIZES.index(c.record_kib) for c in p.corners) for p in surface(VALUES).patches
    ]

    assert depth == sorted(depth)
    assert len(depth) == 4


def test_a_patch_has_the_corners_that_were_measured_if_there_are_three() -> None:
    without_corner = {cell: value for cell, value in VALUES.items() if cell != Cell(64, 16)}
    without_two = {cell: value for cell, value in VALUES.items() if cell not in {Cell(64, 16), Cell(128, 16)}}

    assert sorted(len(patch.corners) for patch in surface(without_corner).patches) == [3, 4, 4, 4]
    # Only one corner's neighbours are left of the patch at the right, and three of the one before it.
    assert sorted(len(patch.corners) for patch in surface(without_two).patches) == [3, 4, 4]


def test_colours_are_those_that_vega_gives_the_map() -> None:
    # Read off the map as Vega draws it, for values of a logarithmic scale from 1 to 1000.
    expected = {
        1.0: "rgb(183, 214, 238)",
        10**0.5: "rgb(148, 194, 227)",
        10.0: "rgb(109, 171, 213)",
        10**1.5: "rgb(66, 146, 198)",
        100.0: "rgb(27, 103, 170)",
        1000.0: "rgb(8, 48, 107)",
    }

    assert {value: colour_of(value, (1.0, 1000.0)) for value in expected} == expected


@pytest.mark.parametrize(
    ("files", "sizes"), [((64,), SIZES), (FILES, (4,)), ((64,), (4,))], ids=["one-file", "one-record", "one-cell"]
)
def test_a_single_row_or_column_is_not_drawn(files: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    values = {cell: value for cell, value in VALUES.items() if cell.file_kib in files and cell.record_kib in sizes}

    assert draw(surface(values, files, sizes)) == ""


def test_the_picture_names_its_axes_and_fetches_nothing() -> None:
    text = draw(surface(VALUES))

    words = re.findall(r"<text[^>]*>([^<]*)<", text)
    assert {"MiB/s", "record size", "file size", "0", "4 KiB", "256 KiB"} <= set(words)
    assert text.count("<polygon") == 4
    assert 'aria-label="a &quot;surface&quot;"' in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in text
    assert "href" not in text


def test_every_number_lies_inside_the_picture() -> None:
    for count in (2, 5, 15):
        files, sizes = tuple(64 << at for at in range(count)), tuple(4 << at for at in range(count))
        text = draw(surface({Cell(file, size): 1.0 + size for file in files for size in sizes}, files, sizes))
        width, height = map(float, re.findall(r'viewBox="0 0 (\d+) (\d+)"', text)[0])

        points = re.findall(r"(-?\d+\.\d),(-?\d+\.\d)", text)
        places = re.findall(r'<text x="(-?[\d.]+)" y="(-?[\d.]+)"', text)
        assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in (*points, *places))
