import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.histogram import QUANTILES
from assay.analysis.record import read
from assay.report import axes, figures, theme
from assay.report.axes import Layered
from assay.report.export import PictureFormat, all_figures, render
from assay.report.figures import heat_map, latency, percentile_curve, time_budget, timeline
from assay.report.figures import rates as rate_bars
from assay.report.numbers import IOPS, MIB_PER_S, headline, rate_unit
from assay.report.recording import Latencies, Recording, Timeline
from assay.report.titles import titles_of
from assay.results import Document, LatencyNs, Result
from unit import vega
from unit.memory_run import MemoryRun
from unit.quick_run import INTERVAL_S, INTERVALS, WINDOW_S, quick_run

STALLED = 2  # depth-1 random read: nothing completes from 3.0 to 3.8 s
SLOW = 4  # synchronous write: about 131 operations an interval


@pytest.fixture(scope="module")
def run() -> tuple[MemoryRun, Document]:
    return quick_run()


@pytest.fixture(scope="module")
def recording(run: tuple[MemoryRun, Document]) -> Recording:
    return Recording(read(run[0]), run[1].marks)


@pytest.fixture(scope="module")
def results(run: tuple[MemoryRun, Document]) -> tuple[Result, ...]:
    return run[1].results


def rows_of(chart: Layered) -> list[dict[str, Any]]:
    """Collect the rows that a figure carries; Altair gathers them under `datasets`."""
    return [row for rows in chart.to_dict()["datasets"].values() if isinstance(rows, list) for row in rows]


def timeline_in(recording: Recording, result: Result) -> Timeline:
    found = recording.timeline(result)
    assert found is not None
    return found


def latencies_in(recording: Recording, result: Result) -> Latencies:
    found = recording.latencies(result, "latency")
    assert found is not None
    return found


def latencies_of(values_ns: list[list[float]], interval_s: float = 1.0) -> Latencies:
    """Put the values of each interval into buckets one nanosecond wide."""
    flat = [(i, value) for i, values in enumerate(values_ns) for value in values]
    return Latencies(
        edges_s=np.arange(len(values_ns) + 1, dtype=np.float64) * interval_s,
        interval=np.array([i for i, _ in flat], dtype=np.int64),
        value_ns=np.array([value for _, value in flat], dtype=np.float64),
        width_ns=np.ones(len(flat)),
        count=np.ones(len(flat), dtype=np.int64),
    )


def timeline_of(ops: list[int], ends_s: list[float]) -> Timeline:
    counts = np.array(ops, dtype=np.int64)
    ends = np.array(ends_s)
    starts = np.concatenate([[0.0], ends[:-1]])
    return Timeline(start_s=starts, end_s=ends, ops=counts, bytes=counts * 4096, errors=counts * 0)


# -- what happened when ------------------------------------------------------------------------------------------------


def test_a_stall_is_a_row_of_zeroes_although_the_tables_have_no_rows_for_it(
    recording: Recording, results: tuple[Result, ...]
) -> None:
    timeline = timeline_in(recording, results[STALLED])

    assert len(timeline.ops) == INTERVALS
    assert np.flatnonzero(timeline.ops == 0).tolist() == [15, 16, 17, 18]
    assert timeline.start_s[15] == pytest.approx(3.0)
    assert timeline.end_s[18] == pytest.approx(3.8)


def test_the_sample_at_the_start_of_a_phase_is_no_interval(recording: Recording, results: tuple[Result, ...]) -> None:
    phase = recording.phase_of(results[0])
    assert phase is not None
    edges = recording.edges_s(phase)

    assert edges == pytest.approx(np.arange(INTERVALS + 1) * INTERVAL_S)


def test_a_timeline_holds_all_operations_of_the_phase(recording: Recording, results: tuple[Result, ...]) -> None:
    for result in results:
        timeline = timeline_in(recording, result)

        assert (timeline.ops.sum(), timeline.bytes.sum()) == (result.ops, result.bytes)


def test_a_phase_cut_by_a_kill_is_placed_by_its_intervals(run: tuple[MemoryRun, Document]) -> None:
    bundle, document = run
    cut = replace(bundle, lines=[], is_sealed=False)

    timeline = timeline_in(Recording(read(cut)), document.results[1])

    assert timeline.ops.sum() == document.results[1].ops
    assert timeline.end_s[-1] == pytest.approx(INTERVALS * INTERVAL_S)


# -- throughput over time ----------------------------------------------------------------------------------------------


def test_the_steps_inside_the_window_average_to_the_result(recording: Recording, results: tuple[Result, ...]) -> None:
    for result in results:
        value, unit = headline(result)
        series = timeline.rates(timeline_in(recording, result), unit)
        inside = series.inside(result.window_s)

        mean = np.average(series.mean[inside], weights=(series.end_s - series.start_s)[inside])

        assert mean == pytest.approx(value)
        assert series.start_s[inside][0] == pytest.approx(WINDOW_S[0])


def test_a_last_interval_of_a_few_milliseconds_makes_no_spike() -> None:
    series = timeline.rates(timeline_of([1000, 1000, 40], [1.0, 2.0, 2.002]), IOPS)

    assert series.mean.tolist() == pytest.approx([1000, 1040 / 1.002])
    assert series.end_s.tolist() == [1.0, 2.002]


def test_a_stall_survives_the_gathering_of_a_long_run() -> None:
    ops = [100] * 3600
    ops[1234] = 0

    series = timeline.rates(timeline_of(ops, [float(i + 1) for i in range(3600)]), IOPS)

    assert series.is_gathered
    assert len(series.mean) == 600
    assert series.lowest.min() == 0
    assert series.lowest.argmin() == 1234 // 6
    assert float((series.mean * (series.end_s - series.start_s)).sum()) == pytest.approx(sum(ops))


def test_streams_are_shown_in_mebibytes_and_small_operations_by_number(results: tuple[Result, ...]) -> None:
    stream, small = results[0], results[STALLED]

    assert rate_unit(stream) == MIB_PER_S
    assert headline(stream)[0] == pytest.approx(stream.iops)  # operations of exactly 1 MiB
    assert rate_unit(small) == IOPS


# -- latency heat map --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [5000, 200, 40])
def test_every_operation_is_in_one_cell_however_coarse(
    recording: Recording, results: tuple[Result, ...], most: int
) -> None:
    latencies = latencies_in(recording, results[3])

    gathered = heat_map.cells(latencies, most)

    assert gathered.count.sum() == results[3].ops
    assert len(gathered.count) <= most


def test_cells_hold_the_values_of_their_band() -> None:
    gathered = heat_map.cells(latencies_of([[100.0, 110.0, 1000.0], [], [99.0]]))

    # 16 bands a decade: 100 and 110 ns lie in [10^(32/16), 10^(33/16) = 115.5), 99 ns just below.
    placed = zip(gathered.column.tolist(), gathered.band.tolist(), gathered.count.tolist(), strict=True)
    assert list(placed) == [(0, 32, 2), (0, 48, 1), (2, 31, 1)]


def test_percentile_lines_agree_with_the_raw_values() -> None:
    rng = np.random.default_rng(7)
    values = [np.round(rng.lognormal(12, 0.5, 2000)).tolist() for _ in range(3)]

    steps = heat_map.quantile_steps(latencies_of(values), 1, QUANTILES["p99"])

    exact = [np.quantile(column, 0.99, method="inverted_cdf") for column in values]
    assert [step.value_ns for step in steps] == exact


def test_a_percentile_step_waits_until_it_has_enough_operations(
    recording: Recording, results: tuple[Result, ...]
) -> None:
    latencies = latencies_in(recording, results[SLOW])

    steps = heat_map.quantile_steps(latencies, 1, QUANTILES["p99"])

    assert steps
    assert all(step.ops >= 1000 for step in steps)
    assert all(step.end_s - step.start_s > 1.0 for step in steps)  # 655 operations a second
    assert heat_map.quantile_steps(latencies_of([[5.0] * 999]), 1, QUANTILES["p99"]) == []


def test_percentile_lines_have_a_gap_where_nothing_was_completed(
    recording: Recording, results: tuple[Result, ...]
) -> None:
    steps = heat_map.quantile_steps(latencies_in(recording, results[STALLED]), 1, QUANTILES["p50"])

    assert not [step for step in steps if step.end_s > 3.0 + 1e-6 and step.start_s < 3.8 - 1e-6]
    assert any(step.start_s == pytest.approx(3.8) for step in steps)


def test_vega_draws_one_rectangle_for_each_cell(recording: Recording, results: tuple[Result, ...]) -> None:
    latencies = latencies_in(recording, results[STALLED])
    figure = next(f for f in figures.result_figures(recording, results, STALLED) if f.is_dense)

    picture = render(figure, PictureFormat.SVG).decode()

    drawn = [colour for colour in re.findall(r'fill="(rgb\([^)]*\))"', picture) if colour != "rgb(0, 0, 0)"]
    assert len(drawn) == len(heat_map.cells(latencies).count)


def test_the_wait_of_a_stall_is_in_the_heat_map(recording: Recording, results: tuple[Result, ...]) -> None:
    gathered = heat_map.cells(latencies_in(recording, results[STALLED]))

    slowest = int(np.argmax(gathered.band))

    assert gathered.band[slowest] == math.floor(math.log10(0.8e9) * gathered.bands_per_decade)
    assert gathered.edges_s[gathered.column[slowest]] == pytest.approx(3.8)


# -- percentile curves --------------------------------------------------------------------------------------------------


def test_the_curve_goes_through_the_percentiles_of_its_result(
    recording: Recording, results: tuple[Result, ...]
) -> None:
    for result in results:
        curve = percentile_curve.curve_of(recording, result, "latency", "")
        assert curve is not None
        for q, wanted in ((0.5, result.latency_ns.p50), (0.99, result.latency_ns.p99)):
            at = int(np.argmin(np.abs(curve.nines + math.log10(1 - q))))
            assert curve.nines[at] == pytest.approx(-math.log10(1 - q))
            # Those of the document are of the values themselves, the curve is of buckets of a thousandth.
            assert curve.value_ns[at] == pytest.approx(wanted, rel=0.03)
        assert np.all(np.diff(curve.value_ns) >= 0)
        assert curve.value_ns[-1] == pytest.approx(result.latency_ns.max, rel=2e-3)


def test_the_curve_of_consecutive_numbers_is_theirs() -> None:
    latencies = latencies_of([[float(v) for v in range(1, 100_001)]])

    curve = percentile_curve.curve_from(latencies, (0.0, 1.0), 1e5, "")

    assert curve is not None
    # The q-quantile of 1, 2, ..., n is ceil(q n).
    assert curve.value_ns.tolist() == [
        *(max(1, math.ceil(round((1 - 10**-x) * 1e5, 6))) for x in curve.nines[:-1]),
        1e5,
    ]
    assert curve.stated == pytest.approx(4)  # 1 - q of 10 / 100,000
    assert curve.nines[-1] == pytest.approx(5)


def test_the_curve_leaves_out_what_is_outside_the_window() -> None:
    latencies = latencies_of([[900.0] * 50, [10.0] * 50, [20.0] * 50])

    curve = percentile_curve.curve_from(latencies, (1.0, 3.0), None, "")

    assert curve is not None
    assert set(curve.value_ns.tolist()) == {10.0, 20.0}
    assert percentile_curve.curve_from(latencies, (5.0, 6.0), None, "") is None


def test_the_axis_of_the_heat_map_goes_by_one_two_and_five() -> None:
    gathered = heat_map.cells(latencies_of([[2e4, 1.5e6, 3e7]]))

    drawn = heat_map.chart(gathered, {}).to_dict()["layer"][0]["encoding"]["y"]

    assert drawn["axis"]["values"] == [2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7]
    assert axes.dense_log_ticks(1e2, 1e10, 240) == [10.0**power for power in range(2, 11)]
    assert axes.enclosing_steps(3e4, 1.9e6) == (2e4, 2e6)


def test_an_open_loop_has_its_response_time_beside_its_latency(results: tuple[Result, ...]) -> None:
    response = LatencyNs(mean=2e6, p50=2e6, p90=3e6, p99=4e6, p99_9=None, max=5e6)
    result = msgspec.structs.replace(results[0], response_ns=response)

    rows = {row["title"]: row["words"] for row in rows_of(latency.chart([result]))}

    assert rows[f"{result.title}: response"] == "p50 2.00 ms, p99 4.00 ms, max 5.00 ms"
    assert f"{result.title}: latency" in rows


# -- overview ----------------------------------------------------------------------------------------------------------


def test_rates_far_apart_stand_on_a_log_axis_and_near_ones_are_bars_from_zero(results: tuple[Result, ...]) -> None:
    named = list(zip(titles_of(results), results, strict=True))
    streams, others = ([one for one in named if rate_unit(one[1]).of_bytes is of] for of in (True, False))

    bars = rate_bars.chart(streams, MIB_PER_S).to_dict()["layer"][0]
    dots = rate_bars.chart(others, IOPS).to_dict()["layer"][0]

    assert bars["mark"]["type"] == "bar"
    assert bars["encoding"]["x"]["scale"]["domain"][0] == 0
    assert dots["mark"]["type"] == "point"
    assert dots["encoding"]["x"]["scale"]["type"] == "log"


def test_a_percentile_without_enough_samples_is_not_drawn_and_reads_not_available(results: tuple[Result, ...]) -> None:
    few = LatencyNs(mean=1e6, p50=1e6, p90=None, p99=None, p99_9=None, max=3e6)
    result = msgspec.structs.replace(results[0], latency_ns=few)

    row = rows_of(latency.chart([result]))[0]

    assert row["p99"] is None
    assert row["words"] == "p50 1.00 ms, p99 n/a, max 3.00 ms"


def test_rows_keep_the_order_of_the_results_when_one_has_no_p99(run: tuple[MemoryRun, Document]) -> None:
    results = run[1].results
    spread = msgspec.structs.replace(results[0].latency_ns, p99=None)
    mixed = [msgspec.structs.replace(results[0], latency_ns=spread), *results[1:]]
    document = msgspec.structs.replace(run[1], results=tuple(mixed))
    figure = next(
        figure
        for figure in figures.overview_figures(Recording(read(run[0])), document, ())
        if figure.slug == "overview-latency"
    )

    picture = render(figure, PictureFormat.SVG).decode()

    heights = []
    for result in mixed:
        place = re.search(rf"translate\([\d.]+,([\d.]+)\)[^>]*>{re.escape(result.title)}", picture)
        assert place is not None
        heights.append(float(place[1]))
    assert heights == sorted(heights)
    assert len(set(heights)) == len(mixed)


def test_no_cell_seems_to_last_beyond_the_phase() -> None:
    gathered = heat_map.cells(latencies_of([[100.0], [200.0]]))

    drawn = heat_map.chart(gathered, {}).to_dict()["datasets"]

    lines = next(text for text in drawn.values() if isinstance(text, str)).splitlines()
    assert lines[0] == "t_s,right,band,operations"
    ends = [float(line.split(",")[1]) for line in lines[1:]]
    assert ends == pytest.approx([1.003, 2.0])


def test_time_shares_fill_the_bar_and_what_is_not_counted_is_left_out(results: tuple[Result, ...]) -> None:
    bars = [row for row in rows_of(time_budget.chart([(result.title, result) for result in results])) if "share" in row]

    for i, result in enumerate(results):
        mine = [bar for bar in bars if bar["row"] == i]
        assert max(bar["end"] for bar in mine) == pytest.approx(1.0)
        counted = {theme.BUDGET[name][0] for name, part in msgspec.structs.asdict(result.time_budget).items() if part}
        assert {bar["kind"] for bar in mine} == counted


def test_a_result_that_is_not_to_be_trusted_is_grey_and_says_so(results: tuple[Result, ...]) -> None:
    rows = {row["row"]: row for row in rows_of(latency.chart(results))}

    assert len(rows) == len(results)
    for i, result in enumerate(results):
        row = rows[i]
        assert (row["ink"] == theme.UNTRUSTED) == (not result.trusted)
        assert row["title"].endswith("(not trusted)") == (not result.trusted)


def test_repeats_and_operations_of_one_phase_are_told_apart(results: tuple[Result, ...]) -> None:
    again = [msgspec.structs.replace(results[0], repeat=1), msgspec.structs.replace(results[0], operation="fsync")]

    titles = titles_of([results[0], *again])

    assert len(set(titles)) == 3


@pytest.mark.long
def test_every_figure_is_valid_vega_lite(run: tuple[MemoryRun, Document]) -> None:
    drawn = list(all_figures(read(run[0]), run[1]))

    for figure in drawn:
        vega.check(figure)

    assert len({figure.slug for figure in drawn}) == len(drawn)


# -- axes and numbers --------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(min_value=-5, max_value=5), min_size=1, max_size=6))
def test_labels_are_moved_apart_in_order(positions: list[float]) -> None:
    moved = axes.spread(positions, 0.4)

    order = sorted(range(len(positions)), key=positions.__getitem__)
    assert all(moved[b] - moved[a] >= 0.4 - 1e-9 for a, b in pairwise(order))
    assert np.mean(moved) == pytest.approx(np.mean(positions))


def test_ticks_are_round_and_do_not_pass_the_end() -> None:
    assert axes.linear_ticks(6.0) == [0, 1, 2, 3, 4, 5, 6]
    assert axes.linear_ticks(0.7) == pytest.approx([0, 0.2, 0.4, 0.6])
    assert axes.log_ticks(1e3, 1e8) == [1e3, 1e4, 1e5, 1e6, 1e7, 1e8]
    assert axes.log_ticks(4e4, 5e5) == [5e4, 1e5, 2e5, 5e5]


def test_marks_stand_at_their_time_in_the_phase_that_they_fall_into(
    recording: Recording, results: tuple[Result, ...]
) -> None:
    found = {i: recording.marks_in(result) for i, result in enumerate(results)}

    assert [i for i, marks in found.items() if marks] == [STALLED]
    assert found[STALLED][0].t_s == pytest.approx(2.9)
    series = timeline.rates(timeline_in(recording, results[STALLED]), IOPS)
    chart = timeline.chart(series, results[STALLED], found[STALLED])
    assert {"t_s": pytest.approx(2.9), "label": "1"} in rows_of(chart)


def test_a_result_without_intervals_has_no_figures(run: tuple[MemoryRun, Document]) -> None:
    bundle, document = run
    empty = {name: frame.filter(pl.col("phase_index") != 0) for name, frame in bundle.tables.items()}

    drawn = list(figures.result_figures(Recording(read(replace(bundle, tables=empty))), document.results, 0))

    assert drawn == []
