"""The table of invariants: its closed forms, the user's own file, and what is refused."""

from pathlib import Path

import pytest

from assay.analysis.rules_version import rules_version
from assay.errors import InputError
from assay.invariants import invariant_table
from assay.invariants.invariant_table import Invariant, InvariantKind, load

ROW = """[[invariant]]
id = "{id}"
about = "{about}"
kind = "random_read"
low = {low}
high = 300
unit = "IOPS"
condition = "as the array's data sheet says"
source = "data sheet"
{more}
"""


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own table, which is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "assay").mkdir()
    return tmp_path / "assay" / invariant_table.NAME


def row_text(id_: str = "mine", about: str = "sata-ssd", low: str = "100", more: str = "") -> str:
    """A row of the user's own file."""
    return ROW.format(id=id_, about=about, low=low, more=more)


def of_id(id_: str) -> Invariant:
    """A row of the table by its id."""
    return next(row for row in load().rows if row.id == id_)


@pytest.mark.parametrize(("rpm", "seek_ms", "name"), [(5400, 12, "5400"), (7200, 8.5, "7200"), (10_000, 4.45, "10k")])
@pytest.mark.usefixtures("own_file")
def test_a_hard_disk_lies_around_seek_and_half_a_turn(rpm: int, seek_ms: float, name: str) -> None:
    one_at_a_time = 1000 / (seek_ms + 30_000 / rpm)

    row = of_id(f"hdd-{name}-random-read")

    assert row.low <= one_at_a_time < row.high


@pytest.mark.usefixtures("own_file")
def test_half_a_turn_of_the_fastest_disk_is_its_closed_form() -> None:
    assert of_id("hdd-half-turn").low * 1e-3 == 30 / 15_000


@pytest.mark.usefixtures("own_file")
def test_the_payload_of_each_link_follows_from_the_sizes_of_its_frames() -> None:
    links = load().of_kind(InvariantKind.LINK)

    assert {row.line_bytes_per_s for row in links} == {125e6, 1.25e9, 3.125e9, 12.5e9}
    for row in links:
        assert row.line_bytes_per_s is not None
        # 52 bytes of IP and TCP with time stamps; 38 of preamble, header, check sum and gap (IEEE 802.3).
        assert row.low * 1e6 == pytest.approx(row.line_bytes_per_s * (1500 - 52) / (1500 + 38), rel=1e-3)
        assert row.high * 1e6 == pytest.approx(row.line_bytes_per_s * (9000 - 52) / (9000 + 38), rel=1e-3)


def test_a_row_of_the_users_file_takes_the_place_of_the_one_of_its_id(own_file: Path) -> None:
    before = load()
    own_file.write_text(
        '[classes]\nmy-array = "our array"\n' + row_text("sata-ssd-random-read") + row_text("new", "my-array")
    )

    table = load()

    replaced = of_id("sata-ssd-random-read")
    assert (replaced.high, replaced.source, table.name(replaced)) == (300, "data sheet", "a SATA SSD")
    assert table.name(of_id("new")) == "our array"
    assert len(table.rows) == len(before.rows) + 1
    assert (before.own_file, table.own_file) == (None, own_file)
    assert table.own_ids == {"sata-ssd-random-read", "new"}


def test_another_table_judges_kept_answers_anew(own_file: Path) -> None:
    first = rules_version()
    own_file.write_text(row_text())

    assert rules_version() != first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = \n", "Invalid value"),
        (row_text(more='colour = "red"'), "unknown field `colour`"),
        (row_text(about="nothing"), "is no class"),
        (row_text(low="0"), "above 0"),
        (row_text(low="301"), "low is the smaller"),
        (row_text(low="nan"), "above 0"),
        (row_text(low='"many"'), "low"),
        (row_text(id_="A B"), "lower-case"),
        (row_text() + row_text(), "another row has this id"),
        (row_text().replace('"IOPS"', '"MB/s"'), "for random_read it is 'IOPS'"),
        (row_text().replace("data sheet", "x" * 401), "1 to 400 printable characters"),
        (row_text().replace('"data sheet"', r'"\u001b[2J"'), "printable"),
        (row_text(more="least_in_flight = 3\nmost_in_flight = 2"), "'least' is above 'most'"),
        (row_text(more="line_bytes_per_s = 1e9"), "is for kind 'link'"),
        ("x = " + "[" * 5000, "recursion"),
        ("#" * (invariant_table.MOST_BYTES + 1), "table of invariants"),
        ("".join(row_text(f"r{number}") for number in range(501)), "more than 500"),
    ],
)
def test_a_bad_table_is_refused_with_its_file(own_file: Path, text: str, message: str) -> None:
    own_file.write_text(text)

    with pytest.raises(InputError, match=message) as refused:
        load()

    assert str(own_file) in str(refused.value)
