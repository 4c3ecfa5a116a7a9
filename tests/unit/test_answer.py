"""The answer in a few lines: of rows whose numbers are known."""

import msgspec
import pytest

from assay.analysis import findings
from assay.report.answer import answer
from assay.report.quick_words import QUICK
from assay.report.wrapping import wrap
from assay.results import Committed, Document, LatencyEstimatesNs, Limiter, Placement, Result
from assay.verdicts import Bottleneck, Confidence
from unit.quick_run import quick_run


@pytest.fixture(scope="module")
def document() -> Document:
    return quick_run()[1]


SYNTHETIC = {
    "stream-write": "write",
    "stream-read": "read",
    "random-read-1": "randread-1",
    "random-read-32": "randread-32",
    "sync-write": "syncwrite",
}


def named(document: Document, phase: str, **changes: object) -> Result:
    (found,) = [result for result in document.results if result.phase == SYNTHETIC.get(phase, phase)]
    return msgspec.structs.replace(found, phase=phase, **changes)


def said(document: Document, *rows: Result) -> str:
    return " ".join(answer(msgspec.structs.replace(document, results=rows), QUICK))


def test_a_number_that_is_not_trusted_is_marked_with_its_cause_and_the_cure(document: Document) -> None:
    why = findings.warning("not-steady", "text", "Run longer. Look.", brief="rate changed late")
    row = named(document, "random-read-1", findings=(why,), trust=findings.trust([why]), trusted=False)

    text = said(document, row)

    assert "IOPS at depth 1 (!)." in text
    assert text.endswith("(!) Not usable: not steady (row 1). Run longer.")

    (alone,) = answer(msgspec.structs.replace(document, results=(row,)), "x", columns=None)[:1]
    assert alone.endswith(" IOPS, not usable: rate changed late. Run longer.")


@pytest.mark.parametrize("weak", [0, 1, 3])
def test_the_answer_has_seven_lines_however_long_the_reasons_are(document: Document, weak: int) -> None:
    far = findings.weak("small-sample", "text", "", brief="p99 between 4.13 ms and 7.21 ms" + 12 * ", no p99.9")
    whys = [
        findings.warning(
            id_, "text", "Stop other programs, or use no more workers than CPUs; then run it again for longer."
        )
        for id_ in ("cpu-contention", "not-steady", "counters-unavailable")
    ]
    quick = {ours: named for named, ours in SYNTHETIC.items()}
    rows = [
        msgspec.structs.replace(
            result,
            phase=quick.get(result.phase, result.phase),
            iops=1_234_567.0,
            findings=(found := far if place < weak else whys[place % 3],),
            trust=findings.trust([found]),
            trusted=False,
        )
        for place, result in enumerate(document.results)
    ]

    for columns in (80, 100):
        lines = answer(msgspec.structs.replace(document, results=tuple(rows)), QUICK, columns=columns)

        assert sum(len(wrap(line, columns)) for line in lines) <= 7
        assert "(!) Not usable: " in lines[-1]
        assert ("Weak: row" in lines[-1]) is (weak > 0)


def test_the_cure_is_that_of_the_cause_where_one_finding_has_several(document: Document) -> None:
    both = [
        findings.warning("load-changed", "'-Y' was left out.", "", brief="untranslated"),
        findings.warning("load-changed", "Step sync was not possible.", "Run as root.", brief="step not done"),
    ]
    rows = [
        named(document, "random-read-1", findings=tuple(said), trust=findings.trust(said), trusted=False)
        for said in (both, both[::-1])
    ]

    lines = [answer(msgspec.structs.replace(document, results=(row,)), "x", columns=None)[0] for row in rows]

    assert lines[0].endswith(", not usable: untranslated.")
    assert lines[1].endswith(", not usable: step not done. Run as root.")


def test_what_memory_took_is_told_up_to_the_flush(document: Document) -> None:
    committed = Committed(iops=1234.0, throughput_bytes_per_s=None, seconds=2.0, flush_seconds=1.0, stored_share=1.0)

    text = said(document, named(document, "create-1", committed=committed))

    assert "Files: 1,234/s created (flushed)." in text


def test_where_no_width_is_known_titles_are_whole_and_medians_are_told(document: Document) -> None:
    title = "a load whose title is longer than what a line of a terminal has room for beside its numbers"
    rows = [
        named(document, phase, title=title, findings=(), trust=findings.trust([]), trusted=True)
        for phase in ("random-read-1", "random-read-32")
    ]
    both = msgspec.structs.replace(document, results=tuple(rows))

    assert "…" in answer(both, "x")[0]
    for line in answer(both, "x", columns=None)[:2]:
        assert line.startswith(title)
        assert "latency p50 " in line


def latency_limited(document: Document, **changes: object) -> Result:
    limiter = Limiter(verdict=Bottleneck.OPERATION_LATENCY, confidence=Confidence.HIGH, evidence=())
    known = LatencyEstimatesNs(p50=(990_000.0, 1_010_000.0), p90=None, p99=None, p99_9=None)
    of_row = {"title": "reads", "iops": 1000.0, "queue_depth": 1, "limiter": limiter, "latency_intervals_ns": known}
    trusted = {"findings": (), "trust": findings.trust([]), "trusted": True}
    row = named(document, "random-read-1", **of_row, **trusted)
    latency = msgspec.structs.replace(row.latency_ns, p50=1_000_000.0, p99=2_000_000.0)
    return msgspec.structs.replace(row, latency_ns=latency, **changes)


def test_the_latency_heads_a_row_that_it_limits_at_depth_1(document: Document) -> None:
    (alone, *_) = answer(msgspec.structs.replace(document, results=(latency_limited(document),)), "x")

    assert alone.startswith("reads: latency p50 1.00 ms (990 µs to 1.01 ms), 1,000 IOPS")
    assert ", p99 2.00 ms; served by " in alone


def test_the_rate_heads_a_row_at_another_depth_and_one_whose_median_is_of_one_mode(document: Document) -> None:
    modes = findings.note("latency-modes", "two", "Use the modes.")
    wide = findings.weak("wide-interval", "p50 is open", "Run longer.", brief="p50 between 1 ms and 9 ms")
    for changes in ({"queue_depth": 8}, {"findings": (modes,)}, {"findings": (wide,)}):
        row = latency_limited(document, **changes)
        (alone, *_) = answer(msgspec.structs.replace(document, results=(row,)), "x")
        assert alone.startswith("reads: 1,000 IOPS"), changes

    far = findings.weak("wide-interval", "p99 is open", "Run longer.", brief="p99 between 1 ms and 9 ms")
    (alone, *_) = answer(msgspec.structs.replace(document, results=(latency_limited(document, findings=(far,)),)), "x")
    assert alone.startswith("reads: latency p50 1.00 ms")
    assert ", p99 2.00 ms?; served by " in alone


def test_what_limits_is_told_by_rows(document: Document) -> None:
    def limited(phase: str, verdict: Bottleneck) -> Result:
        limiter = Limiter(verdict=verdict, confidence=Confidence.HIGH, evidence=())
        return named(document, phase, limiter=limiter, findings=(), trust=findings.trust([]), trusted=True)

    rows = [
        limited("random-read-1", Bottleneck.OPERATION_LATENCY),
        limited("random-read-32", Bottleneck.DEVICE_SATURATED),
        limited("sync-write", Bottleneck.OPERATION_LATENCY),
    ]

    assert "Limited by operation latency (rows 1, 3), saturated device (2)." in said(document, *rows)


def test_a_run_without_a_number_says_nothing(document: Document) -> None:
    assert answer(msgspec.structs.replace(document, results=()), QUICK) == ()


def test_the_only_number_is_placed_where_the_class_of_its_device_is_known(document: Document) -> None:
    place = Placement(text="typical for a SATA SSD", device_class="a SATA SSD", arithmetic=(), rows=("x",))
    row = named(document, "random-read-1", findings=(), trust=findings.trust([]), trusted=True, placement=place)
    of_no_class = msgspec.structs.replace(row, placement=msgspec.structs.replace(place, device_class=None))

    placed = answer(msgspec.structs.replace(document, results=(row,)), "x")
    unknown = answer(msgspec.structs.replace(document, results=(of_no_class,)), "x")

    assert "Typical for a SATA SSD." in placed
    assert not any("SATA" in line for line in unknown)
