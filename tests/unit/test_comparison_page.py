"""A comparison as a document, of runs whose differences were planted."""

import json
import math
import re
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.histogram import QUANTILES, quantiles_ns
from assay.compare.arms import Arm
from assay.compare.comparison import Comparison, compare
from assay.errors import InputError
from assay.host.facts import Fact
from assay.report.axes import Layered
from assay.report.comparison import overlaid_percentiles, overlaid_rates, paired_heat_maps, ratio_plot
from assay.report.comparison.compared_runs import MOST_LINES, ComparedSide, check_sides, shared_labels, side_of
from assay.report.comparison.comparison_figures import comparison_figures
from assay.report.comparison.comparison_page import comparison_page
from assay.report.comparison.comparison_words import answer_lines
from assay.report.comparison.comparison_workbook import comparison_sheets
from assay.report.comparison.value_tables import facts_table
from assay.report.figures import heat_map
from assay.results import Reason, Trust
from assay.verdicts import ComparisonVerdict, TrustLevel
from unit import vega
from unit.compared_quick_runs import FASTER, JITTER, compared
from unit.quick_run import HOSTILE, LOADS, WINDOW_S
from unit.test_html import MOST_BYTES, Reader

Made = tuple[Comparison, tuple[ComparedSide, ...]]
FAST, SLOW = "randread-1/randread-1", "syncwrite/syncwrite"
TRUSTED = ("write", "read", "randread-1", "syncwrite")


@pytest.fixture(scope="module")
def made() -> Made:
    return compared(names=("before " + HOSTILE, "after"))


@pytest.fixture(scope="module")
def text(made: Made) -> str:
    return comparison_page(*made)


@pytest.fixture(scope="module")
def seen(text: str) -> Reader:
    return Reader(text)


def answer(comparison: Comparison) -> str:
    return "\n".join(answer_lines(comparison, comparison.against[0], "B"))


# -- the answer --------------------------------------------------------------------------------------------------------


def test_the_answer_names_what_is_better_and_worse_and_by_how_much(made: Made) -> None:
    said = answer(made[0])

    better, worse, same, void = said.splitlines()
    assert better.startswith(
        "B is better by more than 3 % in 2 of 10 numbers: 4 KiB random read, direct, depth 1, iops: 1.2"
    )
    assert worse.startswith("B is worse by more than 3 % in 2 of 10 numbers: 8 KiB synchronous random write, iops: 0.")
    assert same.startswith("B and A are equivalent, to within 3 %, in 4 of 10 numbers: streaming write")
    assert void.startswith("No verdict in 2 of 10 numbers: A is not trusted in 5 of 5 runs")
    for row in made[0].against[0].rows:
        factor = FASTER.get(row.label.split("/")[0], 1.0)
        if row.ratio is not None:
            assert row.ratio == pytest.approx(factor if row.metric != "p99" else 1 / factor, rel=0.03)
            assert f"{row.ratio:.3f}" in said


def test_where_nothing_can_be_said_the_answer_says_why() -> None:
    (single, _), (two, _) = compared(LOADS[:1], runs=1), compared(LOADS[:1], runs=2)

    assert "No winner can be named in 2 of 2 numbers: no confidence interval" in answer(single)
    assert "--repeat 5" in answer(single)
    assert "not 2 usable runs" in answer(two)
    assert "better" not in answer(single) + answer(two)


def test_what_is_open_says_how_many_runs_would_tell() -> None:
    wide = {"write": 1.02}
    comparison, sides = compared(LOADS[:1], faster=wide)
    noisy = [
        Arm.of(side.arm.name, [_scaled(document, 1 + 0.08 * (i - 2)) for i, document in enumerate(side.arm.documents)])
        for side in sides
    ]

    said = answer(compare(noisy))

    needed = max(row.runs_needed or 0 for row in compare(noisy).against[0].rows)
    assert "Open in " in said
    assert f"About {needed} runs per side are needed" in said
    assert comparison.against[0].rows[0].verdict is not ComparisonVerdict.INCONCLUSIVE


def _scaled(document: Any, factor: float) -> Any:
    results = tuple(
        msgspec.structs.replace(
            result,
            iops=(result.iops or 0.0) * factor,
            throughput_bytes_per_s=(result.throughput_bytes_per_s or 0.0) * factor,
        )
        for result in document.results
    )
    return msgspec.structs.replace(document, results=results)


def test_a_third_side_is_called_by_its_letter_in_reasons_too() -> None:
    comparison, sides = compared(LOADS[:1], names=("a", "b", "c"))
    doubt = Trust(level=TrustLevel.NO, reasons=(Reason(id="x", text="nobody knows"),))
    spoilt = [
        msgspec.structs.replace(
            d, results=tuple(msgspec.structs.replace(r, trust=doubt, trusted=False) for r in d.results)
        )
        for d in sides[2].arm.documents
    ]
    arms = [sides[0].arm, sides[1].arm, Arm.of("c", spoilt)]

    found = compare(arms)
    page = comparison_page(found, (*sides[:2], side_of(2, arms[2], sides[2].records)))

    assert "C is not trusted in 5 of 5 runs: nobody knows" in page
    assert "B is not trusted" not in page
    assert len(comparison.against) == 2


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_page_is_well_formed_and_goes_from_the_answer_to_the_facts(seen: Reader, text: str) -> None:
    order = ['class="verdict"', 'id="differs"', 'id="verdicts"', 'id="overview"', 'id="results"', 'id="values"']
    places = [text.index(part) for part in [*order, 'id="environment"']]

    assert seen.faults == []
    assert len(seen.all("main")) == len(seen.all("h1")) == 1
    assert places == sorted(places)


def test_a_name_of_a_side_cannot_become_part_of_the_page(seen: Reader, text: str) -> None:
    assert len(seen.all("script")) == 3 + len(seen.all("figure"))
    assert "b" not in {tag for tag, _ in seen.elements}
    assert HOSTILE not in text
    assert any(HOSTILE in shown for path, shown in seen.texts if "h1" in path)
    assert any(json.dumps(HOSTILE)[1:-1] in json.dumps(spec) for spec in seen.specs())


def test_nothing_is_fetched_and_every_link_leads_to_a_place_of_the_page(seen: Reader) -> None:
    anchors = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]

    assert len(set(anchors)) == len(anchors)
    assert {(attributes["href"] or "x")[1:] for attributes in seen.all("a")} <= set(anchors)
    assert not any(attributes.get(name) for _, attributes in seen.elements for name in ("src", "srcset", "poster"))


@pytest.mark.long
def test_a_comparison_of_a_quick_run_five_times_each_stays_under_its_bound() -> None:
    text = comparison_page(*compared(LOADS))

    assert len(LOADS) == 11
    assert len(text.encode()) <= MOST_BYTES


def test_every_number_has_a_tile_with_its_ratio_interval_and_verdict(made: Made, text: str) -> None:
    tiles = re.findall(r'<div class="tile">.*?</div>', text, flags=re.DOTALL)

    rows = made[0].against[0].rows
    assert len(tiles) == len(rows) == 10
    for tile, row in zip(tiles, rows, strict=True):
        shown = "".join(Reader(tile).inside("div"))
        assert row.verdict.words in shown
        assert ("n/a" if row.ratio is None else f"{row.ratio:.3f}") in shown
        if row.interval:
            assert f"{row.interval[0]:.3f} to {row.interval[1]:.3f}" in shown
        assert shown.count("median of 5") == 2
        assert ("not trusted" in shown) == (row.ratio is None)


def test_the_table_has_every_value_of_every_run(made: Made, seen: Reader) -> None:
    cells = seen.inside("td")

    for side in made[1]:
        for document in side.arm.documents:
            assert document.run.id in cells
    rows = next(sheet for sheet in comparison_sheets(*made) if sheet.name == "Values").rows
    assert len(rows) == 5 * 2 * len(JITTER)
    for row in made[0].against[0].rows:
        if row.metric == "iops":
            told = [value[5] for value in rows if value[1] == row.label and value[2] == "B"]
            assert told == pytest.approx(list(row.b.values))


def test_facts_that_differ_stand_first_and_differences_before_all_numbers(made: Made) -> None:
    comparison, (a, b) = made
    changed = tuple(
        replace_fact(fact, 99) if fact.key == "vm.dirty_ratio_percent" else fact for fact in b.first.sourced_facts
    )
    other = replace(b, records=(replace(b.first, sourced_facts=changed), *b.records[1:]))

    text = comparison_page(comparison, (a, other))

    assert facts_table((a, other)).rows[0] == ("vm.dirty_ratio_percent", "20", "99")
    assert text.index("vm.dirty_ratio_percent") < text.index('id="verdicts"')
    assert "Nothing that is recorded differs" in comparison_page(comparison, (a, b))


def replace_fact(fact: Fact, value: int) -> Fact:
    return Fact(key=fact.key, value=value, source=fact.source)


def test_more_sides_than_colours_are_refused() -> None:
    check_sides(6)
    with pytest.raises(InputError, match="can show 6 sides"):
        check_sides(7)


# -- the figures -------------------------------------------------------------------------------------------------------


def rows_of(chart: Layered) -> list[dict[str, Any]]:
    return [row for rows in chart.to_dict()["datasets"].values() if isinstance(rows, list) for row in rows]


@pytest.mark.long
def test_every_figure_is_vega_lite_with_words_and_a_table_of_its_own(made: Made) -> None:
    figures = list(comparison_figures(*made))

    assert len(figures) == 1 + 4 * 5  # the ratios; of each result rates, percentiles and a map of each side
    for figure in figures:
        vega.check(figure)
        assert figure.table.rows
        assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)
    assert len({figure.alt_text for figure in figures}) == len({figure.slug for figure in figures}) == len(figures)


def test_the_ratio_plot_has_a_dot_and_a_bar_for_each_ratio_around_the_band_of_the_effect(made: Made) -> None:
    (figure,) = ratio_plot.draw(made[0], made[0].against[0], "B")

    rows = rows_of(figure.chart)
    assert {"ratio": 1 - 0.03, "high": 1 + 0.03} in rows
    dots = [row for row in rows if "words" in row]
    for dot, row in zip(dots, made[0].against[0].rows, strict=True):
        assert (dot["ratio"], dot["low"], dot["high"]) == (row.ratio, *(row.interval or (None, None)))
    inks = {row["name"].split(", less")[0]: row["ink"] for row in dots}
    # Of latency less is better: green where the ratio is below 1.
    assert inks["4 KiB random read, direct, depth 1, p99"] == inks["4 KiB random read, direct, depth 1, iops"]
    assert inks["8 KiB synchronous random write, p99"] == inks["8 KiB synchronous random write, iops"]
    assert len(set(inks.values())) == 3


@given(st.floats(1e-4, 0.999), st.floats(1.001, 1e4))
def test_ticks_of_ratios_lie_around_one_and_are_few(low: float, high: float) -> None:
    found = ratio_plot.ticks(low, high)

    assert 1.0 in found
    assert len(found) <= 12
    assert found == sorted(set(found))


def test_the_rates_of_all_runs_are_over_each_other_with_their_lowest_intervals_told(made: Made) -> None:
    (figure,) = overlaid_rates.draw(made[1], FAST, "reads", "x", 300)

    datasets = [data for data in figure.chart.to_dict()["datasets"].values() if isinstance(data, str)]
    assert len(datasets) == 2 * 10  # each run twice: whole, and in its window
    assert len(figure.table.rows) == 10
    for row, measured in zip(figure.table.rows, [m for side in made[1] for m in side.measured(FAST)], strict=True):
        assert measured.name in row[0]
        # Nothing completes from 3.0 to 3.8 s.
        assert row[2:4] == ("0 IOPS", "3.00 s")
        timeline = measured.recording.timeline(measured.result)
        assert timeline is not None
        inside = (timeline.start_s + timeline.end_s) / 2 > WINDOW_S[0]
        total = float(timeline.ops[inside].sum()) / (WINDOW_S[1] - WINDOW_S[0])
        assert measured.result.iops == pytest.approx(total, rel=1e-6)


def test_a_run_that_is_left_out_is_dotted_and_in_no_distribution(made: Made) -> None:
    comparison, (a, b) = made
    doubt = Trust(level=TrustLevel.NO, reasons=(Reason(id="x", text="nobody knows"),))
    documents = [
        msgspec.structs.replace(
            d,
            results=tuple(
                msgspec.structs.replace(r, trust=doubt, trusted=False) if i == 1 and r.label == SLOW else r
                for r in d.results
            ),
        )
        for i, d in enumerate(a.arm.documents)
    ]
    spoilt = side_of(0, Arm.of("a", documents), a.records)

    (rates,) = overlaid_rates.draw((spoilt, b), SLOW, "writes", "x", 300)
    (curves,) = overlaid_percentiles.draw((spoilt, b), SLOW, "writes", "x")

    dashes = [layer["mark"].get("strokeDash") for layer in rates.chart.to_dict()["layer"]]
    assert dashes.count([2, 3]) == 2
    assert "Dotted" in rates.caption
    assert [row[0] for row in curves.table.rows if "together" in row[0]] == ["A, 4 runs together", "B, 5 runs together"]
    assert compare([spoilt.arm, b.arm]).against[0].rows[-1].a.left_out == ("run-0-1",)
    assert len(comparison.against) == 1


def test_the_percentiles_of_a_side_are_those_of_all_its_operations_and_the_band_holds_every_run(made: Made) -> None:
    (figure,) = overlaid_percentiles.draw(made[1], SLOW, "writes", "x")

    together = {row[0][0]: row for row in figure.table.rows if "together" in row[0]}
    for side in made[1]:
        values, counts = [], []
        for measured in side.measured(SLOW):
            found = measured.recording.latencies(measured.result, "latency")
            assert found is not None
            assert measured.result.window_s is not None
            inside = found.in_window(measured.result.window_s)
            values.append(found.value_ns[inside])
            counts.append(found.count[inside])
        truth = quantiles_ns(
            np.concatenate(values), np.concatenate(counts), [QUANTILES[n] for n in ("p50", "p90", "p99")]
        )
        told = [_ns(cell) for cell in together[side.letter][1:4]]
        assert told == pytest.approx(truth, rel=0.006)  # printed with three digits
        each = [row for row in figure.table.rows if row[0].startswith(f"{side.letter}, run-")]
        assert len(each) == 5
        assert min(_ns(row[1]) for row in each) <= _ns(together[side.letter][1]) <= max(_ns(row[1]) for row in each)
    areas = [layer for layer in figure.chart.to_dict()["layer"] if layer["mark"]["type"] == "area"]
    assert len(areas) == 2
    for area in areas:
        lines = figure.chart.to_dict()["datasets"][area["data"]["name"]].splitlines()[1:]
        for line in lines:
            _, low, high = map(float, line.split(","))
            assert low <= high


def _ns(cell: str) -> float:
    number, unit = cell.split()
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


def test_the_heat_maps_of_the_sides_have_one_scale_and_every_operation(made: Made) -> None:
    maps = list(paired_heat_maps.draw(made[1], FAST, "reads", "x", 2500))

    assert [figure.slug for figure in maps] == ["x-latency-a", "x-latency-b"]
    first, other = (figure.chart.to_dict()["layer"][0] for figure in maps)
    for channel in ("x", "y", "color"):
        assert first["encoding"][channel]["scale"] == other["encoding"][channel]["scale"]
    for figure, side in zip(maps, made[1], strict=True):
        chosen = paired_heat_maps.middle(side.measured(FAST))
        assert chosen is not None
        rates = sorted(m.result.iops or 0 for m in side.measured(FAST))
        assert chosen.result.iops == rates[2]
        latencies = chosen.recording.latencies(chosen.result, "latency")
        assert latencies is not None
        lines = figure.chart.to_dict()["datasets"]["d0"].splitlines()[1:]
        assert sum(float(line.split(",")[-1]) for line in lines) == pytest.approx(
            float(latencies.count.sum()), rel=1e-6
        )


def test_only_results_of_all_sides_are_drawn_and_lines_are_bounded() -> None:
    comparison, sides = compared(LOADS[:2], runs=3)
    one_less = [msgspec.structs.replace(d, results=d.results[:1]) for d in sides[1].arm.documents]
    short = side_of(1, Arm.of("short", one_less), sides[1].records)

    assert shared_labels((sides[0], short)) == ["write/write"]
    assert len(sides[0].measured("write/write")) == 3 <= MOST_LINES
    assert math.isclose(comparison.effect, 0.03)


def test_maps_whose_columns_differ_in_length_have_colours_of_their_own() -> None:
    maps = [
        heat_map.Cells(
            16,
            1,
            np.array([i * length_s for i in range(5)], dtype=np.float64),
            np.array([0]),
            np.array([80]),
            np.array([7]),
        )
        for length_s in (0.2, 0.2008, 0.4)
    ]

    assert paired_heat_maps.are_as_long(maps[:2])
    assert not paired_heat_maps.are_as_long(maps)


def test_lines_of_small_and_large_operations_are_in_the_unit_of_the_comparison() -> None:
    comparison, sides = compared(LOADS[:1], runs=3)
    small = [
        msgspec.structs.replace(
            d, results=tuple(msgspec.structs.replace(r, bytes=(r.ops or 0) * 4096) for r in d.results)
        )
        for d in sides[1].arm.documents
    ]
    mixed = (sides[0], side_of(1, Arm.of("small", small), sides[1].records))

    (figure,) = overlaid_rates.draw(mixed, "write/write", "writes", "x", 300)

    # Half of the operations are of 1 MiB: more than 64 KiB in the mean.
    assert compare([side.arm for side in mixed]).against[0].rows[0].metric == "throughput"
    assert all(row[1].endswith("MiB/s") for row in figure.table.rows)
    assert comparison.against[0].rows[0].metric == "throughput"
