"""Tables that the user maps, Assay's own, and what RVTools has."""

import re
from pathlib import Path

import pytest

from assay.captures import workbook_cells
from assay.captures.column_map import parse_columns
from assay.captures.inventory import Inventory
from assay.captures.samples import Layer
from assay.captures.stated_facts import Asked
from assay.errors import InputError
from unit.capture_texts import (
    ESXTOP,
    OWN,
    RVTOOLS,
    TEXTS,
    WORKBOOK_SHEET,
    WORKBOOK_TEXTS,
    capture_of,
    row_of,
    seconds_of,
    workbook_of,
)

MIB = 2.0**20
ARRAY = """\
Volume report of array 7
Timestamp,Volume,Read IOPS,"Write IOPS",Read latency (ms),MBPS
2026-11-28 20:00:00,vol1,100,300,2.0,5.5
2026-11-28 20:00:00,vol2,1,3,4.0,0.1
2026-11-28 20:05:00,vol1,110,330,2.5,6.5
2026-11-28 20:05:00,vol2,"1,000",3,4.0,0.1
2026-11-28 20:10:00,vol2,2,6,,0.2
"""
COLUMNS = (
    'time=Timestamp,device=Volume,read_iops="Read IOPS",write_iops="Write IOPS",read_latency="Read latency (ms)":ms,'
    "bytes=MBPS:MB/s"
)


def test_a_table_by_its_columns(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, ARRAY, Asked(columns=parse_columns(COLUMNS)))

    first, second = row_of(capture, "vol1"), row_of(capture, "vol2")
    assert (first["read_iops"], first["write_iops"], first["iops"]) == (110.0, 330.0, 440.0)
    assert (first["read_latency_s"], first["bytes_per_s"]) == (0.0025, 6.5e6)
    assert (first["seconds"], first["end_s"]) == (300.0, seconds_of("2026-11-28T20:05:00+00:00"))
    # A thousand, or one: the row is left out; the interval is still from one row to the next.
    assert (second["iops"], second["seconds"], second["latency_s"]) == (8.0, 300.0, None)
    assert len(capture.table) == 2
    assert any("wrong number" in note for note in capture.notes)


def test_a_table_with_the_newest_row_first_is_refused(tmp_path: Path) -> None:
    title, head, *rows = ARRAY.splitlines()

    with pytest.raises(InputError, match=r"left out: 2; sort the table by time"):
        capture_of(tmp_path, "\n".join([title, head, *reversed(rows)]), Asked(columns=parse_columns(COLUMNS)))


def test_an_interval_of_the_user_keeps_the_first_row(tmp_path: Path) -> None:
    table = capture_of(tmp_path, ARRAY, Asked(columns=parse_columns(COLUMNS), interval_s=300.0)).table

    assert len(table) == 4
    assert set(table["seconds"]) == {300.0}


def test_semicolons_decimal_commas_and_seconds_since_1970(tmp_path: Path) -> None:
    text = "t;host;ops;wait\n1795899970000;a;1,5;250\n1795899980000;a;2,5;500\n"

    capture = capture_of(tmp_path, text, Asked(columns=parse_columns("time=t:ms,host=host,iops=ops,latency=wait:us")))

    found = row_of(capture, "all")
    assert (found["host"], found["layer"], found["end_s"]) == ("a", Layer.SYSTEM, 1795899980.0)
    assert (found["iops"], found["latency_s"], found["seconds"]) == (2.5, 0.0005, 10.0)


def test_any_format_can_be_read_by_its_columns(tmp_path: Path) -> None:
    columns = parse_columns(
        r'time="(PDH-CSV 4.0) (UTC)(0)",iops="\\esx01.example.com\Physical Disk Adapter(vmhba0)\Commands/sec"'
    )

    assert row_of(capture_of(tmp_path, ESXTOP, Asked(columns=columns)), "all")["iops"] == 55.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time=T,reads=R", "there is no 'reads'"),
        ("time=T,iops=R:ms", "no unit of iops"),
        ("time=T,latency=R:min", "use one of s, ms"),
        ("iops=R", "the time is missing"),
        ("time=T,host=H,interval=I", "nothing that is measured"),
        ("time=T,iops=A,iops=B", "twice"),
        ('time="T,iops=A', "is not NAME=COLUMN"),
        ("", "the time is missing"),
    ],
)
def test_a_wrong_map_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse_columns(text)


def test_a_column_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column 'Reads'.*Timestamp, Volume, Read IOPS"):
        capture_of(tmp_path, ARRAY, Asked(columns=parse_columns("time=Timestamp,iops=Reads")))


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than once"):
        capture_of(tmp_path, "t,a,a\n1,2,3\n", Asked(columns=parse_columns("time=t:s,iops=a")))


# -- Assay's own -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [text for name, of_name in TEXTS.items() if name != "RVTools" for text in of_name])
def test_what_is_written_as_csv_is_a_capture_again(text: str, tmp_path: Path) -> None:
    first = capture_of(tmp_path, text)

    again = capture_of(tmp_path, first.table.write_csv())

    assert again.format_name == "table of assay"
    assert again.table.equals(first.table)


def test_a_row_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, OWN[: OWN.rindex(",,,")])

    assert len(capture.table) == 1
    assert any("cut off" in note for note in capture.notes)


# -- RVTools -----------------------------------------------------------------------------------------------------------

EXPECTED = Inventory(
    hosts=2,
    vms=3,
    vms_on=2,
    provisioned_bytes=(102_400 + 1_048_576 + 10_240) * MIB,
    used_bytes=(51_200 + 524_288 + 10_240) * MIB,
)


def test_rvtools_has_an_inventory_and_no_sample(tmp_path: Path) -> None:
    for data in (
        RVTOOLS,
        RVTOOLS.replace(",", ";").replace('"102;400"', "102.400").replace('"51;200"', "51200"),
    ):
        capture = capture_of(tmp_path, data)

        assert capture.inventory == EXPECTED
        assert len(capture.table) == 0
        assert any("IOPS" in note for note in capture.notes)


def test_a_workbook_has_texts_of_all_kinds(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, workbook_of(WORKBOOK_SHEET.encode(), WORKBOOK_TEXTS.encode()))

    assert capture.inventory == Inventory(1, 2, 1, 102_400 * MIB, (51_200 + 1024) * MIB)
    assert any("too small: 1" in note for note in capture.notes)


def test_a_workbook_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without the sheet vInfo"):
        capture_of(tmp_path, workbook_of(WORKBOOK_SHEET.encode(), WORKBOOK_TEXTS.encode(), "Sheet1"))
    with pytest.raises(InputError, match="vInfo has no columns"):
        capture_of(tmp_path, workbook_of(WORKBOOK_SHEET.encode(), WORKBOOK_TEXTS.replace("Powerstate", "x").encode()))


@pytest.mark.parametrize("place", ["XFE1", "ZZZ99", "A", "1"])
def test_a_cell_beyond_any_sheet_is_refused(place: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more cells"):
        capture_of(tmp_path, workbook_of(WORKBOOK_SHEET.replace("A2", place).encode(), WORKBOOK_TEXTS.encode()))


def test_a_workbook_that_expands_is_refused(tmp_path: Path) -> None:
    entities = b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb">]><a>&b;</a>'
    for sheet, texts in ((entities, WORKBOOK_TEXTS.encode()), (WORKBOOK_SHEET.encode(), entities)):
        with pytest.raises(InputError, match="document type"):
            capture_of(tmp_path, workbook_of(sheet, texts))


def test_a_part_larger_than_any_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook_cells, "MOST_ENTRY", 1 << 16)
    texts = WORKBOOK_TEXTS.replace("web1", "x" * (1 << 18)).encode()

    with pytest.raises(InputError, match="part of more than"):
        capture_of(tmp_path, workbook_of(WORKBOOK_SHEET.encode(), texts))
