"""Does the picture of a surface show its ratios, on both kinds of axes?"""

from typing import Any

import numpy as np
import pytest

from assay.report import theme
from assay.report.export import PictureFormat, render
from assay.report.surface_maps import MapScale, surface_figure, surface_figures
from unit import vega
from unit.surface_arms import KIB, arm, compared, grid, noisy, ntfs_fat32

PLACES = grid(4, 5)
EVEN = dict.fromkeys(PLACES, 1e8)


def rows_of(chart: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in chart["datasets"].values() for row in rows]


@pytest.mark.parametrize("scale", MapScale)
def test_every_cell_of_the_published_table_is_a_box_with_its_ratio(scale: MapScale) -> None:
    ntfs, fat = ntfs_fat32("write")
    found, surface = compared(arm("ntfs", ntfs), arm("fat", fat, begin=30), ntfs)
    (figure,) = surface_figures(found, scale)

    vega.check(figure)
    rows = rows_of(figure.chart.to_dict())
    boxes = {row["record"]: row for row in rows if "doublings" in row}
    assert [2 ** row["doublings"] for row in boxes.values()] == pytest.approx([cell.ratio for cell in surface.cells])
    assert (boxes["512 KiB"]["label"], boxes["16 KiB"]["label"]) == ("~-8", "~+64")
    # Both sides fall between the boxes of 256 and of 512 KiB.
    cliffs = [row for row in rows if "words" in row]
    assert sorted(row["words"] for row in cliffs) == ["A 49.0 times", "B 55.8 times"]
    assert {row["left"] for row in cliffs} == {boxes["512 KiB"]["left"]} == {boxes["256 KiB"]["right"]}
    assert b"<svg" in render(figure, PictureFormat.SVG)
    assert figure.table.rows[0][1:] == tuple(row["label"] for row in boxes.values())


def test_only_what_is_significant_has_a_colour_and_what_does_not_count_is_grey() -> None:
    random = np.random.default_rng(1)
    planted = {place: 1e8 * (1.3 if place[1] == 4 * KIB else 1.0) for place in PLACES}
    a, b = noisy(random, EVEN, 5, cell_cv=0.002), noisy(random, {**planted, PLACES[-1]: 9e9}, 5, cell_cv=0.002)
    _, surface = compared(arm("a", a), arm("b", b, begin=90), a, ceiling_bytes_per_s=1e9)

    rows = [row for row in rows_of(surface_figure(surface, 0.03).chart.to_dict()) if "fill" in row]

    assert sum(row["fill"] == "ratio" for row in rows) >= 4
    assert all(row["fill"] == "ratio" for row in rows if row["record"] == "4 KiB")
    assert [row["label"] for row in rows if row["fill"] == "grey"] == ["x"]


def test_each_colour_of_the_map_has_its_partner_on_dark_pages() -> None:
    assert set(theme.DIVERGING) <= set(theme.DARK)
    assert len({theme.DARK[colour] for colour in theme.DIVERGING}) == len(theme.DIVERGING)
