"""What the page says of single results and of many: tiles, rows a test, warnings and small pictures."""

import re

import msgspec
import pytest

from assay.report.numbers import interval_ends, rate_interval
from assay.report.page.anchors import Places
from assay.report.page.grouping import summary_rows
from assay.report.page.summary import rows_by_result
from assay.report.page.thumbnails import StripScale
from assay.report.page.tiles import MOST_TILES, tiles
from assay.report.page.warned import warnings
from assay.results import Committed, Document, Estimate, Finding, LatencyNs, Result
from unit.quick_run import quick_run


@pytest.fixture(scope="module")
def document() -> Document:
    return quick_run()[1]


@pytest.fixture(scope="module")
def stream(document: Document) -> Result:
    """412 operations of a MiB a second."""
    return document.results[0]


def named(result: Result, phase: str, operation: str, ops: int = 100) -> Result:
    return msgspec.structs.replace(result, phase=phase, title=phase, operation=operation, ops=ops, bytes=0)


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html))


# -- rows --------------------------------------------------------------------------------------------------------------


def test_a_load_has_a_row_a_result(document: Document) -> None:
    rows = summary_rows(document.results, of_tool=False)

    assert [row.members for row in rows] == [(i,) for i in range(len(document.results))]


def test_a_tool_has_a_row_a_phase_headed_by_the_whole_loop_or_the_busiest(stream: Result) -> None:
    results = [
        named(stream, "write", "open", 1),
        named(stream, "write", "*", 900),
        named(stream, "write", "write", 899),
        named(stream, "delete", "open", 3),
        named(stream, "delete", "unlink", 500),
    ]

    rows = summary_rows(results, of_tool=True)

    assert [(row.title, row.members, row.is_one) for row in rows] == [
        ("write", (1, 0, 2), True),
        ("delete: unlink", (4, 3), True),
    ]


def test_a_matrix_of_a_tool_has_a_row_an_operation(stream: Result) -> None:
    results = [named(stream, f"{test}-{cell}", test) for cell in range(30) for test in ("write", "random-read")]

    rows = summary_rows(results, of_tool=True)

    assert [(row.title, len(row.members), row.is_one) for row in rows] == [
        ("write", 30, False),
        ("random read", 30, False),
    ]
    assert sorted(i for row in rows for i in row.members) == list(range(60))


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_the_interval_is_in_the_unit_of_its_rate(stream: Result) -> None:
    estimate = Estimate(low=400.0, high=424.0, half_share=0.03, effective=20.0)
    measured = msgspec.structs.replace(stream, iops_interval=estimate)

    # Operations of exactly a MiB: as many MiB/s as operations.
    assert rate_interval(measured) == pytest.approx((400.0, 424.0))
    assert interval_ends(measured) == "400 to 424"


def test_the_interval_of_what_memory_took_is_none_of_the_rate_with_the_flush(stream: Result) -> None:
    estimate = Estimate(low=400.0, high=424.0, half_share=0.03, effective=20.0)
    committed = Committed(
        iops=200.0, throughput_bytes_per_s=200.0 * (1 << 20), seconds=10.0, flush_seconds=5.0, stored_share=1.0
    )

    assert rate_interval(msgspec.structs.replace(stream, iops_interval=estimate, committed=committed)) is None


def test_a_strip_puts_equal_factors_at_equal_distances() -> None:
    spread = LatencyNs(mean=None, p50=1e4, p90=None, p99=1e5, p99_9=None, max=1e6)
    scale = StripScale.of([spread])

    drawn = scale.strip([("latency", spread)])

    at = [float(x) for x in re.findall(r'c?x="([\d.]+)" cy', drawn)]
    stroke = float(re.search(r'class="p99" d="M([\d.]+)', drawn)[1])  # type: ignore[index]
    assert (scale.low_ns, scale.high_ns) == (1e4, 1e6)
    assert stroke - at[0] == pytest.approx(at[1] - stroke, abs=0.2)
    assert "p50 10.0 µs, p99 100 µs, max 1.00 ms" in drawn


# -- tiles and warnings ------------------------------------------------------------------------------------------------


def places_of(results: tuple[Result, ...]) -> Places:
    return Places(rows_by_result(summary_rows(results, of_tool=False)), set(range(len(results))))


def test_a_tile_tells_a_rate_its_tail_and_whether_to_trust_it(document: Document) -> None:
    results = document.results
    rows = summary_rows(results, of_tool=False)

    html = tiles(results, rows, places_of(results), is_quick=False)

    shown = re.findall(r'<div class="tile">.*?(?=<div class="tile">|</section>)', html, re.DOTALL)
    assert len(shown) == MOST_TILES < len(results)
    assert f"The {MOST_TILES} of {len(results)}" in html
    bad = next(tile for tile in shown if "depth 32" in tile)
    assert "<s>" in bad
    assert "not trusted: workers waited for a CPU" in text_of(bad)
    assert 'href="#warning-cpu-contention"' in bad


def test_an_open_loop_s_tile_tells_the_response_time(stream: Result) -> None:
    response = LatencyNs(mean=2e6, p50=2e6, p90=3e6, p99=4e6, p99_9=None, max=5e6)
    results = (msgspec.structs.replace(stream, response_ns=response),)

    told = text_of(tiles(results, summary_rows(results, of_tool=False), places_of(results), is_quick=False))

    assert "response p99 4.00 ms" in told


def test_each_kind_of_finding_is_listed_once_the_gravest_first(document: Document) -> None:
    weak = Finding(id="small-sample", severity="weak", text="1 s is short", cure="Run longer.")
    note = Finding(id="a-note", severity="note", text="explains", cure="")
    results = tuple(
        msgspec.structs.replace(result, findings=(weak, note, *result.findings)) for result in document.results
    )
    changed = msgspec.structs.replace(document, results=results)

    html = warnings(changed, places_of(results))

    assert re.findall(r'<li id="warning-([a-z-]+)"', html) == ["cpu-contention", "small-sample"]
    assert f'rows <a href="#result-1">1</a>–<a href="#result-{len(results)}">{len(results)}</a>' in html  # noqa: RUF001
    assert "a-note" not in html


def test_causes_of_one_finding_are_listed_each_with_its_cure_and_one_of_them_is_linked_to(document: Document) -> None:
    busy = Finding(id="cpu-contention", severity="weak", text="No CPU was free.", cure="Stop other programs.")
    quota = Finding(id="cpu-contention", severity="warning", text="The group had no CPU time.", cure="Give it more.")
    plain = msgspec.structs.replace(document, findings=())
    results = tuple(msgspec.structs.replace(result, findings=(busy, quota)) for result in document.results)

    html = warnings(msgspec.structs.replace(plain, results=results), places_of(results))

    listed = [text_of(item) for item in re.findall(r"<li.*?</li>", html, re.DOTALL)]
    assert html.count('id="warning-cpu-contention"') == 1
    assert [("warning" in item, "weak" in item) for item in listed] == [(True, False), (False, True)]
    assert ["Give it more." in item for item in listed] == [True, False]
    assert ["Stop other programs." in item for item in listed] == [False, True]


def test_findings_of_hundreds_of_results_name_their_tests(stream: Result, document: Document) -> None:
    short = Finding(id="small-sample", severity="weak", text="short", cure="")
    results = tuple(
        msgspec.structs.replace(named(stream, f"{test}-{cell}", test), findings=(short,))
        for cell in range(30)
        for test in ("write", "read")
    )
    rows = summary_rows(results, of_tool=True)
    places = Places(rows_by_result(rows), set(), {"row-1": "write", "row-2": "read"})

    html = warnings(msgspec.structs.replace(document, results=results, findings=()), places)

    assert '60 results: <a href="#row-1">write</a> (30), <a href="#row-2">read</a> (30)' in html
