"""Is a result with repeats one row, of those that count, and is what spoils them said everywhere?"""

import io
import re
from collections.abc import Sequence

import msgspec
import pytest
from rich.cells import cell_len

from assay import plan
from assay.analysis.document import document
from assay.analysis.record import RunRecord, read
from assay.analysis.repeats import summaries
from assay.console import PlainConsole
from assay.live.narrowing import Narrowing
from assay.outward import spreadsheet_text
from assay.report import text
from assay.report.answer import answer
from assay.report.head import head_of
from assay.report.html import page
from assay.report.over_repeats import shown_results
from assay.report.row_numbers import where_words
from assay.report.spreadsheets import OF_REPEATS, SUMMARIES, tables
from assay.results import Committed, Document, Reason, Result, Summary, Trust
from assay.verdicts import ServedBy, TrustLevel
from unit.quick_run import LOADS, quick_run
from unit.synthetic import SyntheticRun, one_job, one_plan, steady_stream

QUIET = [10_000.0, 10_100.0, 9_900.0, 10_050.0, 9_950.0]
BUSY = Trust(level=TrustLevel.NO, reasons=(Reason(id="foreign-io", text="61 % of the I/O is others'"),))
TOO_SHORT = Trust(level=TrustLevel.WEAK, reasons=(Reason(id="small-sample", text="too short"),))
A_LITTLE_BUSY = Trust(level=TrustLevel.WEAK, reasons=(Reason(id="foreign-io", text="12 % of the I/O is others'"),))


@pytest.fixture(scope="module")
def one() -> Result:
    """A trusted result of small reads, to make repeats from."""
    _, measured = quick_run(LOADS[:3])
    return next(r for r in measured.results if r.trusted and (r.bytes or 0) < (r.ops or 0) * (64 << 10))


def repeated(one: Result, rates: Sequence[float], changed: dict[int, dict[str, object]] | None = None) -> list[Result]:
    """Make repeats with these rates; some of them are changed in other ways too."""
    made = []
    for repeat, iops in enumerate(rates):
        label = "read/read" + (f"#{repeat + 1}" if repeat else "")
        result = msgspec.structs.replace(
            one, label=label, repeat=repeat, iops=iops, throughput_bytes_per_s=iops * 4096, committed=None
        )
        made.append(msgspec.structs.replace(result, **(changed or {}).get(repeat, {})))
    return made


def summed(one: Result, rates: Sequence[float], changed: dict[int, dict[str, object]] | None = None) -> Summary:
    (summary,) = summaries(repeated(one, rates, changed))
    return summary


def test_rates_below_one_operation_a_second_are_rates(one: Result) -> None:
    slow = summed(one, [0.5, 0.4, 0.625])

    assert slow.iops.value == pytest.approx(0.5)  # the geometric mean
    assert slow.iops.range == (0.4, 0.625)


def test_what_was_measured_once_has_no_summary(one: Result) -> None:
    assert summaries([one]) == ()
    assert summaries([]) == ()


def test_repeats_are_one_number_with_its_interval(one: Result) -> None:
    found = summed(one, QUIET)

    assert (found.label, found.repeats, found.counted) == ("read/read", (0, 1, 2, 3, 4), (0, 1, 2, 3, 4))
    assert found.iops.value == pytest.approx(10_000, rel=1e-3)
    # Student's t of four degrees of freedom: 2.776 times 79.06 by the root of 5.
    assert found.iops.interval == pytest.approx((10_000 - 98.2, 10_000 + 98.2), rel=2e-4)
    assert (found.iops.range, found.iops.values) == ((9_900.0, 10_100.0), tuple(QUIET))
    assert found.iops.variation == pytest.approx(0.0079, abs=1e-4)
    assert found.throughput_bytes_per_s is not None
    assert found.throughput_bytes_per_s.value == pytest.approx((found.iops.value or 0) * 4096)
    assert (found.trusted, found.drift, found.remarks) == (True, None, ())


@pytest.mark.parametrize(("count", "method"), [(2, "geometric_mean"), (3, "geometric_mean"), (6, "hodges_lehmann")])
def test_how_many_repeats_have_an_interval(one: Result, count: int, method: str) -> None:
    found = summed(one, [*QUIET, 10_020.0][:count])

    assert found.iops.method == method
    assert (found.iops.interval is None) == (count == 2)
    assert found.trusted


def test_a_repeat_that_is_not_to_be_trusted_is_left_out_and_named(one: Result) -> None:
    rates = [*QUIET[:2], 4_000.0, *QUIET[3:]]

    found = summed(one, rates, {2: {"trust": BUSY, "trusted": False}})

    assert found.counted == (0, 1, 3, 4)
    assert found.iops.value == pytest.approx(10_025, rel=1e-3)
    assert found.iops.values[2] == 4_000.0
    assert [(r.repeat, r.kind, r.text) for r in found.remarks] == [(2, "left_out", "61 % of the I/O is others'")]
    assert found.trusted


def test_fewer_than_three_that_count_have_no_interval_and_none_has_no_number(one: Result) -> None:
    bad: dict[str, object] = {"trust": BUSY, "trusted": False}

    two = summed(one, QUIET, {0: bad, 1: bad, 2: bad})
    none = summed(one, QUIET, dict.fromkeys(range(5), bad))

    assert two.iops.interval is None
    assert (two.trust.level, two.trust.reasons[0].id) == (TrustLevel.WEAK, "few-repeats")
    assert (none.iops.value, none.iops.range, none.iops.values) == (None, None, tuple(QUIET))
    assert (none.trust.level, none.trust.reasons[0].id) == (TrustLevel.NO, "foreign-io")


def test_a_weak_repeat_among_good_ones_is_named_and_what_all_have_is_of_the_load(one: Result) -> None:
    weak: dict[str, object] = {"trust": TOO_SHORT, "trusted": False}

    found = summed(one, QUIET, {1: weak})
    every = summed(one, QUIET, dict.fromkeys(range(5), weak))

    assert [(r.repeat, r.kind) for r in found.remarks] == [(1, "weak")]
    assert len(found.counted) == 5
    assert found.trust.reasons[0].text == "too short in 1 of 5"
    assert every.remarks == ()
    assert every.trust.reasons[0].text == "too short"


@pytest.mark.parametrize(("disturbed", "is_left_out"), [(1, True), (3, True), (4, False), (6, False)])
def test_repeats_that_others_disturbed_are_left_out_where_half_and_three_had_the_device_for_themselves(
    one: Result, disturbed: int, is_left_out: bool
) -> None:
    busy: dict[str, object] = {"trust": A_LITTLE_BUSY, "trusted": False}
    rates = [10_000.0, 10_100.0, 9_900.0, 10_050.0, 9_950.0, 10_000.0]
    slowed = [rate * 0.7 if i < disturbed else rate for i, rate in enumerate(rates)]

    found = summed(one, slowed, dict.fromkeys(range(disturbed), busy))

    if is_left_out:
        assert found.counted == tuple(range(disturbed, 6))
        assert [(r.repeat, r.kind, r.text) for r in found.remarks] == [
            (i, "left_out", "12 % of the I/O is others'") for i in range(disturbed)
        ]
        assert found.iops.value == pytest.approx(10_000, rel=0.005)
        assert (found.trust.level, found.drift) == (TrustLevel.YES, None)
    else:
        assert found.counted == (0, 1, 2, 3, 4, 5)
        assert "foreign-io" in [reason.id for reason in found.trust.reasons]
        assert found.trust.level is TrustLevel.WEAK


def test_a_repeat_that_stands_out_counts_and_the_first_has_its_cause(one: Result) -> None:
    found = summed(one, [6_000.0, *QUIET[1:]])

    assert found.counted == (0, 1, 2, 3, 4)
    ((repeat, kind, said),) = [(r.repeat, r.kind, r.text) for r in found.remarks]
    assert (repeat, kind) == (0, "stands_out")
    assert said.startswith("40.0 % below the others; what stood before the first")


def test_a_neighbour_is_named_before_what_else_a_disturbed_repeat_has(one: Result) -> None:
    symptoms = tuple(Reason(id=id_, text=id_) for id_ in ("not-steady", "wide-interval"))
    busy: dict[str, object] = {
        "trust": Trust(level=TrustLevel.NO, reasons=(*symptoms, *BUSY.reasons)),
        "trusted": False,
    }

    found = summed(one, QUIET, {2: busy})

    assert [r.text for r in found.remarks if r.repeat == 2] == ["61 % of the I/O is others', not-steady"]


def test_repeats_that_stand_out_are_held_against_those_that_do_not(one: Result) -> None:
    found = summed(one, [5_000.0, 10_000.0, 10_010.0, 9_990.0, 10_005.0, 9_995.0, 20_000.0])

    assert [(r.repeat, r.text[:12]) for r in found.remarks] == [(0, "50.0 % below"), (6, "100.0 % abov")]


def test_numbers_of_different_things_have_no_common_one(one: Result) -> None:
    cached: dict[str, object] = {"measures": ServedBy.PAGE_CACHE}

    found = summed(one, QUIET, {3: cached, 4: cached})

    assert (found.iops.value, found.p99_ns.value, found.counted) == (None, None, ())
    assert found.trust.level is TrustLevel.NO
    assert found.trust.reasons[0].text == f"its repeats are of different things: page cache and {one.measures.words}"


def test_a_rate_that_falls_over_the_repeats_drifts_and_is_weak(one: Result) -> None:
    found = summed(one, [10_000.0, 9_800.0, 9_610.0, 9_400.0, 9_210.0])
    little = summed(one, [10_000.0, 9_950.0, 9_905.0, 9_850.0, 9_810.0])

    assert found.drift == pytest.approx(-0.079, abs=0.002)
    assert (found.trust.level, found.trust.reasons[0].text) == (TrustLevel.WEAK, "falls 7.9 % over the repeats")
    assert (little.drift, little.trusted) == (None, True)


def test_two_causes_of_one_finding_count_as_one_repeat_each(one: Result) -> None:
    reasons = (Reason(id="earlier-io", text="discards meanwhile"), Reason(id="earlier-io", text="earlier writes"))
    both: dict[str, object] = {"trust": Trust(level=TrustLevel.WEAK, reasons=reasons), "trusted": False}

    some = summed(one, QUIET, {1: both, 2: both})
    every = summed(one, QUIET, dict.fromkeys(range(5), both))

    assert [reason.text for reason in some.trust.reasons] == [
        "discards meanwhile in 2 of 5",
        "earlier writes in 2 of 5",
    ]
    assert [remark.repeat for remark in some.remarks] == [1, 2]
    assert [reason.text for reason in every.trust.reasons] == ["discards meanwhile", "earlier writes"]


def test_how_well_one_repeat_knows_its_numbers_is_no_doubt_where_the_repeats_know_them_well(one: Result) -> None:
    id_ = "wide-interval"
    wide: dict[str, object] = {
        "trust": Trust(level=TrustLevel.WEAK, reasons=(Reason(id=id_, text="± 14 %"),)),
        "trusted": False,
    }
    every = dict.fromkeys(range(5), wide)

    assert summed(one, QUIET, every).trusted
    assert [reason.id for reason in summed(one, QUIET[:2], every).trust.reasons] == [id_]
    # 1.2 and 0.8 times: Student's t gives more than a tenth.
    apart = summed(one, [12_000.0, 10_000.0, 8_000.0, 10_050.0, 9_950.0])
    assert [reason.id for reason in apart.trust.reasons] == ["few-repeats"]
    assert apart.trust.reasons[0].text.startswith("± ")
    assert apart.trust.level is TrustLevel.WEAK


def test_rates_with_a_flush_are_summed_with_it(one: Result) -> None:
    flushed = {
        repeat: {
            "committed": Committed(
                iops=iops / 2, throughput_bytes_per_s=iops, seconds=2.0, flush_seconds=1.0, stored_share=1.0
            )
        }
        for repeat, iops in enumerate(QUIET)
    }

    found = summed(one, QUIET, flushed)  # type: ignore[arg-type]

    assert found.is_with_flush
    assert found.iops.value == pytest.approx(5_000, rel=1e-3)
    # A rate with a flush and one without are not of one thing.
    mixed = summed(one, QUIET, {repeat: flushed[repeat] for repeat in (0, 1)})  # type: ignore[misc]
    assert (mixed.iops.value, mixed.counted) == (None, ())


# -- a whole run -------------------------------------------------------------------------------------------------------

RATES = (400, 410, 395, 405, 390)


def recorded(rates: Sequence[int] = RATES) -> RunRecord:
    """Two phases, each as often as there are rates; the second is twice as fast and cut short in its last repeat."""
    phases = [
        plan.Phase(name=name, title=f"{name} reads", jobs=(one_job(),), repeat=repeat)
        for repeat in range(len(rates))
        for name in ("slow", "fast")
    ]
    run = SyntheticRun(one_plan(*phases, sample_interval_s=0.1))
    for index, phase in enumerate(phases):
        per_s = rates[phase.repeat] * (2 if phase.name == "fast" else 1)
        is_short = index == len(phases) - 1
        stream = steady_stream(per_s=per_s, seconds=0.1 if is_short else 5, latency_ns=1_000_000, bytes_each=4096)
        run.phase([stream], seconds=0.1 if is_short else 5, index=index)
    return read(run.end())


@pytest.fixture(scope="module")
def run() -> RunRecord:
    return recorded()


@pytest.fixture(scope="module")
def measured(run: RunRecord) -> Document:
    return document(run)


def printed(run: RunRecord, measured: Document, width: int, *, has_repeats: bool = False) -> list[str]:
    console = PlainConsole(
        file=io.StringIO(), width=width, color_system=None, force_terminal=True, legacy_windows=False
    )
    text.render(measured, head_of(measured, run), console, has_repeats=has_repeats)
    lines: list[str] = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return lines


def test_a_terminal_has_a_row_a_result_and_below_it_what_each_repeat_gave(run: RunRecord, measured: Document) -> None:
    lines = printed(run, measured, 80)
    table = lines[: next(i for i, line in enumerate(lines) if line.startswith("Rates, p50 and p99:"))]

    rows = [line for line in table if re.match(r" [0-9]+ ", line)]
    assert [row[3:].split("  ")[0] for row in rows] == ["slow reads", "fast reads"]
    assert any("400 · 410 · 395 · 405 · 390 IOPS" in line for line in table)
    assert max(map(cell_len, table)) <= 80
    interval = measured.summaries[0].iops.interval
    assert interval is not None
    assert any(f"{interval[0]:.0f} to {interval[1]:.0f}" in line for line in table)
    with_repeats = printed(run, measured, 80, has_repeats=True)
    assert sum("(repeat " in line for line in with_repeats if re.match(r" ?[0-9]+ ", line)) == len(measured.results)


def test_the_last_words_are_of_the_repeats_together(measured: Document) -> None:
    said = answer(measured, "load")

    assert re.match(r"slow reads: 400 IOPS ± 2\.\d %", said[0])
    assert any(line.startswith("Typical of 5 repeats; ± is the 95 % interval over them.") for line in said)


def test_rows_of_findings_are_those_of_the_table(measured: Document) -> None:
    assert where_words(measured, [1, 3, 5, 7, 9]) == "row 1"
    assert where_words(measured, [1, 3, 5, 7, 9, 4]) == "rows 1; 2 (repeat 2)"
    assert where_words(measured, [3, 4, 5, 6]) == "rows 1-2 (repeats 2-3)"
    assert where_words(document(recorded((400,))), [1, 2]) == "rows 1-2"


def test_one_result_stands_for_all_repeats(measured: Document) -> None:
    slow, _ = shown_results(measured)

    assert slow.iops == measured.summaries[0].iops.value
    assert slow.ops == sum(result.ops or 0 for result in measured.results if result.phase == "slow")
    assert shown_results(msgspec.structs.replace(measured, summaries=())) == measured.results


@pytest.mark.parametrize("count", [2, 5])
def test_a_median_over_repeats_has_the_interval_over_them_or_none(measured: Document, count: int) -> None:
    rows = tuple(
        msgspec.structs.replace(
            row, latency_ns=msgspec.structs.replace(row.latency_ns, p50=1_000_000 + 10_000 * row.repeat)
        )
        for row in measured.results
        if row.repeat < count
    )
    found = msgspec.structs.replace(measured, results=rows, summaries=summaries(rows))

    slow, _ = shown_results(found)

    assert slow.latency_ns.p50 == found.summaries[0].p50_ns.value
    assert slow.latency_intervals_ns is not None
    assert slow.latency_intervals_ns.p50 == found.summaries[0].p50_ns.interval
    assert (slow.latency_intervals_ns.p50 is None) is (count == 2)


@pytest.mark.long
def test_the_page_has_the_rows_and_every_link_of_them_leads_somewhere(run: RunRecord, measured: Document) -> None:
    html = page(run, measured)

    anchors = re.findall(r'id="([^"]+)"', html)
    section = html[html.index('id="repeats"') : html.index('id="overview"')]
    assert len(set(anchors)) == len(anchors)
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(anchors)
    assert section.count("<tr id=") == 2
    assert '<a href="#result-1">400</a> · <a href="#result-3">410</a>' in section
    assert 'id="repeats"' not in page(recorded((400,)), document(recorded((400,))))


def test_the_table_for_spreadsheets_has_the_numbers_of_the_document(run: RunRecord, measured: Document) -> None:
    table = tables(run, measured)[SUMMARIES]

    first = table.row(0, named=True)
    number = measured.summaries[0].iops
    assert dict(table.schema) == dict(OF_REPEATS)
    assert (first["iops"], (first["iops_low"], first["iops_high"])) == (number.value, number.interval)
    assert (first["iops_least"], first["iops_largest"]) == pytest.approx((390, 410), rel=1e-3)
    assert (first["repeats"], first["counted"], first["method"]) == (5, 5, "geometric_mean")
    assert first["throughput_mib_per_s"] == pytest.approx(first["iops"] * 4096 / 2**20)
    assert spreadsheet_text(first["title"]) == "slow reads"
    once = recorded((400,))
    assert SUMMARIES not in tables(once, document(once))


def test_what_the_repeats_say_together_is_a_finding_of_the_run() -> None:
    drifting = document(recorded((1000, 900, 810, 730, 657))).findings
    found = {finding.id: finding for finding in drifting}

    assert {finding.severity for finding in drifting if finding.id == "repeats-differ"} == {"weak"}
    assert found["repeats-differ"].effect == pytest.approx(0.343, abs=0.01)
    outliers = [
        f.text
        for f in document(recorded((1000, 1010, 500, 990, 1005))).findings
        if (f.id, f.severity) == ("repeats-differ", "note")
    ]
    named = [
        re.fullmatch(r"Repeat 3 of '(\w+) reads' \(read\) stands out: (.*) % below the others. It counts.", o)
        for o in outliers
    ]
    assert [each and each[1] for each in named] == ["slow", "fast"]
    assert [float(each[2]) for each in named if each] == pytest.approx([50, 50], abs=0.5)
    steady = {finding.id for finding in document(recorded()).findings}
    assert not steady & {"repeats-differ", "few-repeats"}


def test_the_progress_says_the_interval_as_it_narrows() -> None:
    narrowing = Narrowing()

    said = [narrowing.add("read", rate) for rate in (100.0, 102.0, 101.0, 100.5)]

    assert said[:2] == ["", "2 repeats 2.0 % apart"]
    assert re.fullmatch(r"3 repeats ± 2\.\d %", said[2])
    assert re.fullmatch(r"4 repeats ± 1\.\d %", said[3])
    assert narrowing.add("write", 1.0) == narrowing.add("other", None) == ""
