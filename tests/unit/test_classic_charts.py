"""Charts that the classic tools share, held against a published table of NTFS and FAT32 rates."""

import csv
import html
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.report.axes import Layered
from assay.report.export import PictureFormat, render
from assay.report.figure import Figure, Table
from assay.tools import charts
from assay.tools.charts import COLOURS, Axis, Bar, Scale, Series, cliffs, grouped_bars, lines
from goldens import Goldens

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests/golden/classic/charts/ntfs_fat32.csv"
PICTURES = ROOT / "docs/images"
NAMES = {"fat_read": "FAT32 read", "ntfs_read": "NTFS read", "fat_write": "FAT32 write", "ntfs_write": "NTFS write"}
AXES = {"log": (Scale.LOG2, Scale.LOG10), "linear": (Scale.LINEAR, Scale.LINEAR)}


def table() -> list[dict[str, float]]:
    text = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(text)]


def series() -> list[Series]:
    rows = table()
    return [Series(name, tuple((row["io_size_kb"], row[key]) for row in rows)) for key, name in NAMES.items()]


def drawn(axes: str) -> Layered:
    x, y = AXES[axes]
    return lines(series(), Axis("I/O size (KB)", x), Axis("I/O rate (MB/s)", y))


def picture(chart: Layered, title: str = "") -> str:
    figure = Figure(slug="a", title=title, caption="", alt_text="", chart=chart, table=Table((), ()))
    return render(figure, PictureFormat.SVG).decode()


def rows_of(chart: Layered) -> list[dict[str, Any]]:
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def encodings(chart: Layered, channel: str) -> list[dict[str, Any]]:
    """Every encoding of a channel, of layers within layers too."""
    found: list[dict[str, Any]] = []

    def walk(layer: dict[str, Any]) -> None:
        if channel in layer.get("encoding", {}):
            found.append(layer["encoding"][channel])
        for inner in layer.get("layer", ()):
            walk(inner)

    walk(chart.to_dict())
    return found


def words_of(svg: str) -> list[str]:
    return [html.unescape(word) for word in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


# -- the published table -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", AXES)
def test_every_value_of_the_table_is_a_point_of_its_line(axes: str) -> None:
    points = {(row["series"], row["x"]): row["y"] for row in rows_of(drawn(axes)) if "series" in row}

    assert points == {(name, row["io_size_kb"]): row[key] for row in table() for key, name in NAMES.items()}
    assert points[("FAT32 write", 512)] == 12.55
    assert len(points) == 36


@pytest.mark.parametrize(("axes", "x", "y"), [("log", ("log", 2), ("log", 10)), ("linear", (None, None), (None, None))])
def test_the_axes_are_what_was_asked_for(axes: str, x: tuple[str, int], y: tuple[str, int]) -> None:
    chart = drawn(axes)

    for channel, wanted in (("x", x), ("y", y)):
        scales = [encoding["scale"] for encoding in encodings(chart, channel)]
        assert {(scale.get("type"), scale.get("base")) for scale in scales} == {wanted}
    if axes == "linear":
        assert all(encoding["scale"]["domain"][0] == 0 for encoding in (*encodings(chart, "x"), *encodings(chart, "y")))


def test_powers_of_two_are_the_ticks_of_a_log2_axis_and_round_numbers_those_of_a_linear_one() -> None:
    ticks = {axes: encodings(drawn(axes), "x")[0]["axis"]["values"] for axes in AXES}

    assert ticks == {"log": [4, 8, 16, 32, 64, 128, 256, 512, 1024], "linear": [0, 200, 400, 600, 800, 1000]}


@pytest.mark.parametrize("axes", AXES)
def test_names_stand_at_the_ends_of_their_lines_and_there_is_no_legend(axes: str) -> None:
    chart = drawn(axes)

    labels = {row["label"]: row for row in rows_of(chart) if "label" in row}
    assert set(labels) == set(NAMES.values())
    assert all(row["x"] == 1024 for row in labels.values())
    assert labels["NTFS write"]["y"] > labels["FAT32 write"]["y"]  # as the lines end: 10.77 over 8.80
    assert labels["FAT32 read"]["y"] > labels["NTFS read"]["y"]
    assert [labels[name]["colour"] for name in NAMES.values()] == list(COLOURS[:4])
    assert all(encoding["scale"] is None for encoding in encodings(chart, "color"))
    svg = picture(chart)
    assert "legend" not in svg
    assert [words_of(svg).count(name) for name in NAMES.values()] == [2] * 4  # the halo, then the name


@pytest.mark.parametrize("axes", AXES)
def test_no_two_names_overlap_and_none_lies_outside_the_picture(axes: str) -> None:
    svg = picture(drawn(axes))

    places = {}
    for x, y, word in re.findall(r'<text[^>]*transform="translate\(([\d.]+),([\d.]+)\)"[^>]*>([^<]*)</text>', svg):
        if word in NAMES.values():
            places[word] = (float(x), float(y))
    heights = sorted(y for _, y in places.values())
    width = float(re.findall(r'viewBox="0 0 ([\d.]+) ', svg)[0])
    assert len(places) == 4
    assert all(after - before >= 11 for before, after in pairwise(heights))
    assert all(x + 6.2 * len(word) < width for word, (x, _) in places.items())


def test_the_cliff_between_256_and_512_kilobytes_is_found_and_shaded() -> None:
    rows = {row["io_size_kb"]: row for row in table()}

    assert cliffs(series()) == ((256, 512),)
    assert rows[256]["fat_write"] / rows[512]["fat_write"] == pytest.approx(55.8, abs=0.05)
    assert rows[256]["ntfs_write"] / rows[512]["ntfs_write"] == pytest.approx(49.0, abs=0.05)
    assert cliffs(series(), factor=56) == ()
    assert {"x": 256, "end": 512} in rows_of(drawn("log"))


@pytest.mark.parametrize("axes", AXES)
def test_the_picture_of_the_documentation_is_this_chart(axes: str, goldens: Goldens) -> None:
    path = PICTURES / f"io-sizes-{axes}.svg"
    made = picture(drawn(axes), "Sequential I/O on NTFS and FAT32, by I/O size")

    kept = goldens.kept(path, made)

    # Word for word and point for point; other versions of the library may place them a little differently.
    assert words_of(kept) == words_of(made)
    assert kept.count('aria-roledescription="point"') == made.count('aria-roledescription="point"') == 36


# -- lines in general --------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=6))
def test_names_are_kept_apart_in_order_and_inside(ends: list[float]) -> None:
    moved = charts._keep_inside(ends, 0.0, 1.0)

    order = sorted(range(len(ends)), key=ends.__getitem__)
    assert all(moved[b] - moved[a] >= 0.045 - 1e-9 for a, b in pairwise(order))
    assert moved[order[0]] > 0
    assert moved[order[-1]] <= 1


def test_a_value_without_a_place_on_a_logarithmic_axis_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        lines([Series("a", ((1.0, 0.0),))], Axis("x"), Axis("y", Scale.LOG10))
    with pytest.raises(ValueError, match="above 0"):
        lines([Series("a", ((0.0, 1.0),))], Axis("x", Scale.LOG2), Axis("y"))
    with pytest.raises(ValueError, match="points"):
        lines([], Axis("x"), Axis("y"))


def test_a_line_of_one_point_is_drawn() -> None:
    for scale in Scale:
        svg = picture(lines([Series("alone", ((4.0, 9.0),))], Axis("x", scale), Axis("y", scale)))

        assert svg.count('aria-roledescription="point"') == 1


# -- groups ------------------------------------------------------------------------------------------------------------


BARS = [Bar("512 KB", name, table()[7][key]) for key, name in NAMES.items()] + [Bar("2048 KB", "NTFS read", None)]


def test_bars_start_at_zero_and_dots_stand_on_a_logarithmic_axis() -> None:
    linear, log = grouped_bars(BARS, Axis("MB/s")).to_dict(), grouped_bars(BARS, Axis("MB/s", Scale.LOG10)).to_dict()

    assert (linear["layer"][0]["mark"]["type"], log["layer"][0]["mark"]["type"]) == ("bar", "point")
    assert linear["layer"][0]["encoding"]["x"]["scale"]["domain"][0] == 0
    assert log["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


@pytest.mark.parametrize("scale", Scale)
def test_each_value_has_its_name_and_number_and_an_absent_one_says_so(scale: Scale) -> None:
    words = words_of(picture(grouped_bars(BARS, Axis("MB/s", scale))))

    assert {"FAT32 read 664", "NTFS read 661", "FAT32 write 12.6", "NTFS write 13.6", "NTFS read n/a"} <= set(words)
    assert {"512 KB", "2048 KB"} <= set(words)


def test_bars_are_as_long_as_their_values() -> None:
    svg = picture(grouped_bars(BARS[:4], Axis("MB/s")))

    lengths = [float(length) for length in re.findall(r'aria-roledescription="bar" d="M[\d.]+,[\d.]+h([\d.]+)', svg)]
    wanted = [bar.value for bar in BARS[:4] if bar.value is not None]
    assert len(lengths) == 4
    assert all(math.isclose(a / lengths[0], b / wanted[0], rel_tol=1e-3) for a, b in zip(lengths, wanted, strict=True))
