"""Workbooks, read back part by part as ECMA-376 says."""

import io
import math
import zipfile
from xml.etree import ElementTree as ET

import pytest

from assay.analysis.record import read
from assay.report import workbook as workbooks
from assay.report.comparison.comparison_workbook import comparison_sheets
from assay.report.run_workbook import run_sheets
from assay.report.spreadsheets import SCHEMAS
from assay.report.workbook import Sheet, workbook
from unit.compared_quick_runs import compared
from unit.quick_run import HOSTILE, LOADS, quick_run

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
PACKAGE = "{http://schemas.openxmlformats.org/package/2006/relationships}"


def sheets_of(content: bytes) -> dict[str, dict[str, str]]:
    """Give the cells of each sheet by its name, found by way of the relationships as a spreadsheet program does."""
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        assert package.testzip() is None
        parts = {name: ET.fromstring(package.read(name)) for name in package.namelist()}  # noqa: S314 - made by the test
    targets = {
        r.attrib["Id"]: r.attrib["Target"] for r in parts["xl/_rels/workbook.xml.rels"].iter(f"{PACKAGE}Relationship")
    }
    types = {o.attrib.get("PartName") for o in parts["[Content_Types].xml"]}
    found = {}
    for sheet in parts["xl/workbook.xml"].iter(f"{MAIN}sheet"):
        name = f"xl/{targets[sheet.attrib[RELATED]]}"
        assert f"/{name}" in types
        cells = parts[name].iter(f"{MAIN}c")
        found[sheet.attrib["name"]] = {cell.attrib["r"]: "".join(cell.itertext()) for cell in cells}
        assert not list(parts[name].iter(f"{MAIN}f")), "no cell is a formula"
    return found


def test_cells_come_back_and_what_is_not_known_is_empty() -> None:
    rows = [("=1+1", 2.5), (HOSTILE, None), ("x", math.nan), ("y\x07", math.inf), ("z", 3)]

    found = sheets_of(workbook([Sheet("One", ("name", "value"), rows), Sheet("Two & more", ("a",), [])]))

    assert list(found) == ["One", "Two & more"]
    assert found["One"] == {
        "A1": "name", "B1": "value", "A2": "=1+1", "B2": "2.5", "A3": HOSTILE, "A4": "x", "A5": "y\ufffd", "A6": "z",
        "B6": "3",
    }  # fmt: skip
    assert found["Two & more"] == {"A1": "a"}


def test_rows_that_a_sheet_has_no_room_for_go_on_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbooks, "MOST_ROWS", 2)

    found = sheets_of(workbook([Sheet("Long", ("n",), [(float(i),) for i in range(5)])]))

    assert [sorted(sheet.values()) for sheet in found.values()] == [
        ["0.0", "1.0", "n"],
        ["2.0", "3.0", "n"],
        ["4.0", "n"],
    ]
    assert list(found) == ["Long", "Long 2", "Long 3"]


def test_the_same_sheets_give_the_same_bytes() -> None:
    sheets = [Sheet("One", ("name",), [("x",)])]

    assert workbook(sheets) == workbook(sheets)


def test_a_run_has_its_results_intervals_findings_and_facts() -> None:
    memory, document = quick_run(LOADS[:4])

    sheets = {sheet.name: sheet for sheet in run_sheets(read(memory), document)}

    assert list(sheets) == ["Summary", "Results", "Over time", "Findings", "Facts"]
    assert sheets["Results"].columns == tuple(SCHEMAS["results"])
    summary = [dict(zip(sheets["Summary"].columns, row, strict=True)) for row in sheets["Summary"].rows]
    for row, result in zip(summary, document.results, strict=True):
        of_bytes = row["Unit"] == "MiB/s"
        value = (result.throughput_bytes_per_s or 0) / (1 << 20) if of_bytes else result.iops
        assert row["Rate"] == pytest.approx(value)
        assert row["p99, µs"] == pytest.approx((result.latency_ns.p99 or 0) / 1e3)
    assert [row["Trust"] for row in summary] == ["trusted"] * 3 + ["not trusted"]
    ops = sheets["Over time"].columns.index("ops")
    assert sum(int(row[ops] or 0) for row in sheets["Over time"].rows) == sum(r.ops or 0 for r in document.results)
    assert any(row[2] == "cpu-contention" for row in sheets["Findings"].rows)
    assert ("vm.dirty_ratio_percent", "20", "/proc/sys/vm/dirty_ratio") in sheets["Facts"].rows
    assert set(sheets_of(workbook(list(sheets.values())))) == set(sheets)


def test_a_comparison_has_its_ratios_in_the_units_that_people_read() -> None:
    comparison, sides = compared(LOADS[:3], names=("before", "=after"))

    sheets = {sheet.name: sheet for sheet in comparison_sheets(comparison, sides)}

    assert list(sheets) == ["Summary", "Values", "What differs", "Runs", "Facts"]
    for told, row in zip(sheets["Summary"].rows, comparison.against[0].rows, strict=True):
        scale = {"B/s": 1 << 20, "ns": 1e3}.get(row.unit, 1)
        assert told[3] == {"B/s": "MiB/s", "ns": "µs"}.get(row.unit, row.unit)
        assert told[4] == pytest.approx((row.a.median or 0) / scale)
        assert told[6] == pytest.approx((row.b.median or 0) / scale)
        assert told[8] == row.ratio
        assert tuple(told[9:11]) == row.interval
        assert told[11] == row.verdict.words
    assert set(sheets_of(workbook(list(sheets.values())))) == set(sheets)
