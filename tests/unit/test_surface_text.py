"""Does the terminal say what the surface says, in 80 columns?"""

import re

import numpy as np
import pytest

from assay.cli.comparing import asked_of_surfaces
from assay.compare.comparison import compare
from assay.compare.surfaces.region import parse_region, parse_weights
from assay.compare.surfaces.surface import ComparedSurface
from assay.errors import InputError
from assay.report import comparison_text
from assay.report.surface_text import change, short_size, surface_lines
from unit.surface_arms import KIB, MIB, arm, compared, grid, noisy, ntfs_fat32

PLACES = grid(5, 7)
EVEN = dict.fromkeys(PLACES, 1e8)


def told(surface: ComparedSurface) -> list[str]:
    return list(surface_lines(surface, 0.03))


def test_a_row_says_per_cents_where_it_differs_and_dots_where_it_does_not() -> None:
    random = np.random.default_rng(1)
    planted = {place: 1e8 * {4: 1.25, 8: 2.4, 16: 0.9, 32: 0.004}.get(place[1] // KIB, 1.0) for place in PLACES}
    a, b = noisy(random, EVEN, 5, cell_cv=0.002), noisy(random, planted, 5, cell_cv=0.002)
    found, surface = compared(arm("a", a), arm("b", b, begin=90), a)

    lines = told(surface)

    rows = [line for line in lines if re.match(r"\s*(64K|1M|all)\s", line)]
    assert rows == [
        "    64K  +25 x2.4  -10| -99|   .    .    .   -48",
        "     1M  +25 x2.4  -10| -99|   .    .    .   -48",
        "    all  +25 x2.4  -10  -99    .    .    .   -48",
    ]
    assert "better in 10, worse in 10, equal in 15, open in 0 of 35" in " ".join(" ".join(lines).split())
    crossings = [line for line in lines if line.startswith("Crossover")]
    assert len(crossings) == 1
    assert "over all file sizes and with files of 64K, 128K, 256K, 512K, 1M: B better up to" in " ".join(
        " ".join(lines).split()
    )
    assert all(len(line) <= 80 for line in lines)
    text = "\n".join(comparison_text.lines(found, [()], []))
    # Rows of a surface stand on its map alone.
    assert "result" not in text
    assert "B is better by more than" not in text


def test_the_published_table_in_a_terminal() -> None:
    ntfs, fat = ntfs_fat32("write")
    _, surface = compared(arm("ntfs", ntfs), arm("fat", fat, begin=30), ntfs)

    text = "\n".join(told(surface))

    assert text.splitlines()[:4] == [
        "write: B / A in per cents, file sizes down, record sizes across",
        "          4K   8K  16K  32K  64K 128K 256K 512K   1M   all",
        "     1G ~+30 ~+16 ~+64  ~+7  ~+9  ~+7  ~+5| ~-8 ~-18   +11",
        "    all  +30  +16  +64   +7   +9   +7   +5   -8  -18   +11",
    ]
    assert "Cliff from records of 256 KiB to 512 KiB: A falls 49.0 times, B falls 55.8 times." in " ".join(text.split())
    assert "is not what was seen: 2 of 9 cells, 1G/512K, 1G/1M." in " ".join(text.split())


def test_more_columns_than_a_terminal_has_are_further_maps() -> None:
    random = np.random.default_rng(1)
    places = [(64 * MIB << i, KIB << j) for i in range(3) for j in range(16)]
    even = dict.fromkeys(places, 1e8)
    a, b = noisy(random, even, 3), noisy(random, even, 3)
    _, surface = compared(arm("a", a), arm("b", b, begin=90), a)

    lines = told(surface)

    assert sum(line.startswith("    all") for line in lines) == 2
    assert max(map(len, lines)) <= 80


def test_what_is_to_be_checked_and_what_does_not_count_has_its_mark_and_its_sentence() -> None:
    random = np.random.default_rng(1)
    a = noisy(random, {**EVEN, PLACES[10]: 9e9}, 5, cell_cv=0.002)
    b = noisy(random, {**EVEN, PLACES[10]: 9e9, PLACES[16]: 1.5e8}, 5, cell_cv=0.002)
    _, surface = compared(
        arm("a", a),
        arm("b", b, begin=90),
        a,
        ceiling_bytes_per_s=1e9,
        regions=[parse_region("sweet: file<=2M & record<=32K")],
        weights=parse_weights("64K 1\n1M 1\n", "sizes.txt"),
    )

    text = "\n".join(told(surface))
    words = " ".join(text.split())

    assert "+50?" in text
    assert re.search(r"128K.* x", text)
    assert "Does not count, 1 of 35 cells: A and B faster than the ceiling: not of storage (128K/32K)." in words
    assert "Check cell 256K/16K (+50 among " in words
    assert "-s 256k -r 16k in the place of -a" in words
    assert "Region sweet: B / A 1.0" in words
    assert "the rows have 100.0" in words
    assert "held, in all 34 cells at once at 95 %" in words


def test_a_comparison_without_surfaces_is_as_it_was() -> None:
    rates = dict.fromkeys(PLACES[:2], [1e8] * 3)

    found = compare([arm("a", rates), arm("b", rates, begin=30)])

    assert found.against[0].surfaces == ()
    assert "equivalent" in "\n".join(comparison_text.lines(found, [()], []))


def test_markdown_has_the_map_as_it_is() -> None:
    ntfs, fat = ntfs_fat32("read")
    found, _ = compared(arm("ntfs", ntfs), arm("fat", fat, begin=30), ntfs)

    lines = list(comparison_text.markdown(found, [()], []))

    assert "    write: B / A in per cents, file sizes down, record sizes across" in lines


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(1.0, "+0"), (1.124, "+12"), (0.5, "-50"), (0.001, "-99"), (1.994, "+99"), (2.0, "x2.0"), (56.0, "x56")],
)
def test_a_change_has_four_characters_at_most(ratio: float, words: str) -> None:
    assert change(ratio) == words
    assert len(change(ratio * 1000)) <= 4


def test_short_sizes() -> None:
    sizes = (512, KIB, 64 * KIB, 1536 * KIB, MIB, 1 << 30)

    assert [short_size(size) for size in sizes] == ["512", "1K", "64K", "1.5M", "1M", "1G"]


@pytest.mark.parametrize(
    "text", ["", "sweet", ": file<=2M", "s: file", "s: file<=", "s: size<=2M", "s: file<=2M,record<=4K", "s: file<=2MB"]
)
def test_what_is_no_region_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_region(text)


def test_twenty_regions_are_taken_and_no_more() -> None:
    region = "small: file<=2M"

    assert len(asked_of_surfaces([region] * 20, None, None).regions) == 20
    with pytest.raises(InputError, match="more than 20"):
        asked_of_surfaces([region] * 21, None, None)


@pytest.mark.parametrize(
    ("asked", "is_any"),
    [
        ((None, None, None), False),
        ((["small: file<=2M"], None, None), True),
        ((None, "64K:1", None), True),
        ((None, None, "640MB/s"), True),
    ],
)
def test_a_region_weights_and_a_ceiling_each_take_a_surface(
    asked: tuple[list[str] | None, str | None, str | None], *, is_any: bool
) -> None:
    assert asked_of_surfaces(*asked).is_any is is_any


def test_a_region_has_so_many_letters_and_weights_so_many_sizes() -> None:
    bounds, sizes = ": file<=2M", [f"{size}K:1" for size in range(1, 202)]

    assert len(parse_region("r" * (200 - len(bounds)) + bounds).name) == 200 - len(bounds)
    with pytest.raises(InputError):
        parse_region("r" * (201 - len(bounds)) + bounds)
    assert len(parse_weights(",".join(sizes[:200]), "--weights").shares) == 200
    with pytest.raises(InputError, match="more than 200 sizes"):
        parse_weights(",".join(sizes), "--weights")


@pytest.mark.parametrize("text", ["", "# nothing", "64K", "64K:x", "64K:0", "0:1", "many:1", "64K:-1"])
def test_what_are_no_weights_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_weights(text, "--weights")


@pytest.mark.parametrize(
    "text", ["64K:50,1M:30,16M:20", "64K: 50 %, 1M: 30 %, 16M: 20 %", "64K 5\n1M,3 # more\n\n16M;2\n"]
)
def test_weights_are_shares_of_the_whole(text: str) -> None:
    found = parse_weights(text, "--weights")

    assert dict(found.shares) == pytest.approx({64 * KIB: 0.5, MIB: 0.3, 16 * MIB: 0.2})
    rows, covered = found.of_rows([96 * KIB, 4 * MIB])
    # 1 MiB and 16 MiB are four times away from 4 MiB.
    assert rows == pytest.approx({96 * KIB: 0.5})
    assert covered == pytest.approx(0.5)
