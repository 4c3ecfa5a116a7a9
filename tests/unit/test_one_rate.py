"""Every output shows the same rate, interval, maximum and unit of a row, those of the result document."""

import html
import json
import re
from typing import Any

import msgspec
import pytest

from assay.analysis.record import RunRecord, read
from assay.compare.arms import Arm
from assay.compare.comparison import compare
from assay.report import html as page
from assay.report import terminal_table
from assay.report.answer import answer
from assay.report.comparison_text import value_text
from assay.report.explain.story import story
from assay.report.run_workbook import run_sheets
from assay.report.spreadsheets import RESULTS, tables
from assay.results import Committed, Document, Estimate
from assay.units import format_ns, format_number
from unit.quick_run import quick_run

FLUSHED = 4
"""Place of a result whose writes took as long again to reach storage."""


@pytest.fixture(scope="module")
def measured() -> tuple[RunRecord, Document]:
    """A stream, small reads, small writes with a flush behind them, and metadata; each with its own interval."""
    run, document = quick_run()
    results = []
    for place, result in enumerate(document.results):
        assert result.iops is not None
        half = 0.02 + 0.01 * place
        changed: dict[str, Any] = {
            "iops_interval": Estimate(
                low=result.iops * (1 - half), high=result.iops * (1 + half), half_share=half, effective=20
            )
        }
        if place == FLUSHED:
            changed["committed"] = Committed(
                iops=result.iops / 2,
                throughput_bytes_per_s=(result.throughput_bytes_per_s or 0.0) / 2,
                seconds=2.0,
                flush_seconds=2.0,
                stored_share=1.0,
            )
        results.append(msgspec.structs.replace(result, **changed))
    return read(run), msgspec.structs.replace(document, results=tuple(results))


def truth(document: Document) -> list[dict[str, Any]]:
    """What the JSON has of each row, as text."""
    found = []
    for result in json.loads(msgspec.json.encode(document))["results"]:
        rates = result["committed"] or result
        is_stream = result["bytes"] / result["ops"] >= 128 * 1024
        value = rates["throughput_bytes_per_s"] / 2**20 if is_stream else rates["iops"]
        found.append(
            {
                "value": value,
                "unit": "MiB/s" if is_stream else "IOPS" if result["bytes"] else "ops/s",
                "half": f"{100 * result['iops_interval']['half_share']:.1f} %",
                "max": format_ns(result["latency_ns"]["max"]),
                "flush": " with the flush" if result["committed"] else "",
                "raw": result,
            }
        )
    assert {row["unit"] for row in found} == {"MiB/s", "IOPS", "ops/s"}
    return found


def test_the_table_of_the_terminal_has_them(measured: tuple[RunRecord, Document]) -> None:
    heading, *rows = [line.plain for line in terminal_table.table(measured[1].results, None)]
    ends = {name: heading.index(name) + len(name) for name in ("IOPS", "MiB/s", "±95 %", "max")}

    for line, row in zip(rows, truth(measured[1]), strict=False):
        cells = {name: line[end - 8 : end].strip() for name, end in ends.items()}
        column = "MiB/s" if row["unit"] == "MiB/s" else "IOPS"
        end = ends[column] + bool(row["flush"])
        assert line[end - 10 : end].split()[-1].rstrip("*") == format_number(row["value"])
        assert (cells["±95 %"], cells["max"]) == (row["half"], row["max"])


def test_the_answer_and_the_stories_have_them(measured: tuple[RunRecord, Document]) -> None:
    run, document = measured
    in_short = " ".join(line.plain for line in story(document, run, None, 200))

    for number, row in enumerate(truth(document), start=1):
        rate = f"{format_number(row['value'])} {row['unit']} ± {row['half']}{row['flush']}"
        assert re.search(rf"row {number} .*?: {re.escape(rate)},", in_short)
        whole = " ".join(" ".join(line.plain.split()) for line in story(document, run, str(number), 200))
        assert f"number {rate}, or " in whole
        assert f"max {row['max']}" in whole
        interval = row["raw"]["iops_interval"]
        scale = row["value"] / row["raw"]["iops"] if not row["flush"] else 1.0
        low, high = (format_number(interval[end] * scale) for end in ("low", "high"))
        assert f"95 % interval {low} to {high} {row['unit']} (± {row['half']}" in whole
        alone = msgspec.structs.replace(document, results=(document.results[number - 1],))
        said = " ".join(answer(alone, "load"))
        assert rate in said or row["raw"]["trust"]["level"] == "no"


def test_the_page_and_the_workbook_have_them(measured: tuple[RunRecord, Document]) -> None:
    run, document = measured
    text = page.page(run, document)
    summary, *_ = (sheet for sheet in run_sheets(run, document) if sheet.name == "Summary")
    exported = tables(run, document)[RESULTS].to_dicts()

    for number, row in enumerate(truth(document), start=1):
        rate = f"{format_number(row['value'])} {row['unit']}"
        (line,) = re.findall(rf'<tr id="[^"]*"[^>]*><td[^>]*>{number}</td>.*?</tr>', text, re.DOTALL)
        cells = [
            html.unescape(re.sub("<[^>]*>", " ", cell)).split() for cell in re.findall("<td.*?</td>", line, re.DOTALL)
        ]
        assert " ".join(cells[1]).startswith(rate)
        assert ("with the flush" in " ".join(cells[1])) == bool(row["flush"])
        assert any(" ".join(cell).startswith(row["max"]) for cell in cells)
        in_sheet = summary.rows[number - 1]
        assert in_sheet[1:3] == (pytest.approx(row["value"]), row["unit"])
        raw, values = row["raw"], exported[number - 1]
        assert (values["iops"], values["iops_low"], values["latency_max_ns"]) == pytest.approx(
            (raw["iops"], raw["iops_interval"]["low"], raw["latency_ns"]["max"])
        )
        if row["flush"]:
            assert values["committed_iops"] == pytest.approx(row["value"])
            assert in_sheet[3:5] == (None, None)
        else:
            scale = row["value"] / raw["iops"]
            assert in_sheet[3:5] == pytest.approx(
                (raw["iops_interval"]["low"] * scale, raw["iops_interval"]["high"] * scale)
            )


def test_a_comparison_has_the_unit(measured: tuple[RunRecord, Document]) -> None:
    _, document = measured

    for result, row in zip(document.results, truth(document), strict=True):
        alone = msgspec.structs.replace(document, results=(result,))
        rate, *_ = compare([Arm.of("A", [alone]), Arm.of("B", [alone])]).against[0].rows
        assert rate.a.median is not None
        assert value_text(rate.a.median, rate.unit) == f"{format_number(row['value'])} {row['unit']}"
