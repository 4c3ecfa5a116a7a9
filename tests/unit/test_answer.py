"""The answer in a few lines: of rows whose numbers are known."""

import msgspec
import pytest

from assay.analysis import findings
from assay.report.answer import answer
from assay.report.quick_words import QUICK
from assay.results import Committed, Document, Limiter, Result
from assay.verdicts import Bottleneck, Confidence
from unit.quick_run import quick_run


@pytest.fixture(scope="module")
def document() -> Document:
    return quick_run()[1]


SYNTHETIC = {"random-read-1": "randread-1", "random-read-32": "randread-32", "sync-write": "syncwrite"}


def named(document: Document, phase: str, **changes: object) -> Result:
    (found,) = [result for result in document.results if result.phase == SYNTHETIC.get(phase, phase)]
    return msgspec.structs.replace(found, phase=phase, **changes)


def said(document: Document, *rows: Result) -> str:
    return " ".join(answer(msgspec.structs.replace(document, results=rows), QUICK))


def test_a_number_that_is_not_trusted_is_marked_with_its_cause_and_the_cure(document: Document) -> None:
    why = findings.warning("late-shift", "text", "Run longer. Look.", brief="rate changed late")
    row = named(document, "random-read-1", findings=(why,), trust=findings.trust([why]), trusted=False)

    text = said(document, row)

    assert "IOPS at depth 1 (" in text
    assert ") (!)." in text
    assert text.endswith("(!) Not usable: late shift (row 1). Run longer.")

    (alone,) = answer(msgspec.structs.replace(document, results=(row,)), "x", columns=None)[:1]
    assert alone.endswith(" IOPS, not usable: rate changed late. Run longer.")


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
