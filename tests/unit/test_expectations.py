"""Expectations: what each expression means, what is refused, and what results of known numbers come to."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from assay.analysis.set_views import of_client
from assay.claims.expected import with_expectations
from assay.claims.expected_limit import check_names, read_expected
from assay.claims.sentence import StatedValue
from assay.errors import InputError
from assay.host.facts import EXPECT_FACT
from assay.loads import quick
from assay.report.expected_words import expected_in_short
from assay.results import (
    ClientOfRun,
    Document,
    Estimate,
    Expectation,
    LatencyEstimatesNs,
    LatencyNs,
    Reason,
    Result,
    Trust,
)
from assay.verdicts import ExpectationVerdict, ServedBy, TrustLevel
from unit.quick_run import LOADS, quick_run

MET, NOT_MET, UNDECIDED = ExpectationVerdict
INF = math.inf
NO = Trust(level=TrustLevel.NO, reasons=(Reason(id="foreign-io", text="others used the device"),))


# -- expressions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "metric", "accepted", "unit"),
    [
        ("100kiops", "", "rate", (1e5, INF), "IOPS"),
        ("iops>=100k", "", "iops", (1e5, INF), "IOPS"),
        (" iops < 1.5M ", "", "iops", (-INF, 1.5e6), "IOPS"),
        ("iops>=7", "", "iops", (7, INF), "IOPS"),
        ("2000/s", "", "rate", (2000, INF), "/s"),
        (">=500MiB/s", "", "rate", (500, INF), "MiB/s"),
        ("throughput<=1.5GB/s", "", "throughput", (-INF, 1.5), "GB/s"),
        ("p99<2ms", "", "p99", (-INF, 2), "ms"),
        ("p99.9<=50us", "", "p99.9", (-INF, 50), "us"),
        ("read:p50>1ms", "read", "p50", (1, INF), "ms"),
        ("random-read-1/read: 10kiops", "random-read-1/read", "rate", (1e4, INF), "IOPS"),
    ],
)
def test_an_expression_is_the_claim_that_it_shortens(
    text: str, name: str, metric: str, accepted: tuple[float, float], unit: str
) -> None:
    (limit,) = read_expected([text])

    assert (limit.name, limit.metric) == (name, metric)
    says = limit.sentence.claimed
    assert isinstance(says, StatedValue)
    assert (says.accepted.low, says.accepted.high) == accepted
    assert says.accepted.is_open == ("=" not in text and ("<" in text or ">" in text))
    assert says.unit is not None
    assert says.unit.name == unit


def test_several_are_joined_by_commas_and_options() -> None:
    limits = read_expected(["100kiops,p99<2ms", "write: p99<5ms from page cache"])

    assert [limit.text for limit in limits] == ["100kiops", "p99<2ms", "write: p99<5ms from page cache"]
    assert [limit.sentence.served for limit in limits] == [None, None, ServedBy.PAGE_CACHE]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a limit such as"),
        ("fast", "a limit such as"),
        ("100kiops,", "a limit such as"),
        ("1,000iops", "it has no unit"),
        ("p98<2ms", "a limit such as"),
        ("p99=2ms", "a limit such as"),
        ("p99 2ms", "write a sign, such as p99<2ms"),
        ("2ms", "a time is that of a percentile, such as p99<2ms"),
        ("<2ms", "such as p99<2ms"),
        ("p99<2", "write 2ms"),
        ("p99<2MiB/s", "write 2ms"),
        ("iops>=2ms", "write 100k or 100kiops"),
        ("iops>=5MiB/s", "write 100k or 100kiops"),
        ("throughput>=5k", "write 500MiB/s"),
        ("100k", "it has no unit"),
        ("90%", "a limit such as"),
        ("iops>=0", "above 0"),
        ("-5iops", "a limit such as"),
        ("read:write:5iops", "a limit such as"),
        ("p99<2ms from moon", "at the end may stand"),
        ("x" * 301, "a limit such as"),
        (",".join(["1iops"] * 51), "50 are the most"),
    ],
)
def test_what_is_no_limit_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        read_expected([text])

    assert str(refused.value).startswith("--expect")
    assert len(str(refused.value)) < 600


def test_a_name_that_the_load_does_not_have_is_refused_with_those_it_has(tmp_path: Path) -> None:
    plan = quick.default_plan(tmp_path)
    check_names(read_expected(["read:1iops", "random-read-1:1iops", "random-read-1/read:1iops", "5iops"]), plan)

    for name in ("reed", "random-read-1/write", "data"):
        with pytest.raises(InputError, match=f"no operation or phase '{name}'; it has .*random-read-1.*write"):
            check_names(read_expected([f"{name}:1iops"]), plan)


# -- results of known numbers ------------------------------------------------------------------------------------------


def row(label: str = "random-read/read", *, repeat: int = 0, iops: float = 1e4, **changed: object) -> Result:
    """A result: 10,000 reads of 4 KiB a second, known to 2 %; p99 of 1.9 to 2.1 ms, and no p99.9."""
    _, document = quick_run(LOADS[:3])
    given = next(r for r in document.results if r.trusted)
    phase, operation = label.split("/")
    latency = LatencyNs(mean=1e6, p50=9e5, p90=1.5e6, p99=2e6, p99_9=None, max=3e6)
    values: dict[str, object] = {
        "label": f"{label}#{repeat + 1}" if repeat else label,
        "phase": phase,
        "job": "job",
        "operation": operation,
        "repeat": repeat,
        "iops": iops,
        "iops_interval": Estimate(low=0.98 * iops, high=1.02 * iops, half_share=0.02, effective=20),
        "throughput_bytes_per_s": 4096 * iops,
        "latency_ns": latency,
        "latency_intervals_ns": LatencyEstimatesNs(p50=(8.9e5, 9.1e5), p90=None, p99=(1.9e6, 2.1e6), p99_9=None),
        "response_ns": None,
        "committed": None,
        "measures": ServedBy.STORAGE,
        **changed,
    }
    return msgspec.structs.replace(given, **values)


def judged(text: str, *rows: Result, clients: Sequence[ClientOfRun] = ()) -> Expectation:
    """Compare results with one expectation."""
    _, document = quick_run(LOADS[:3])
    whole = msgspec.structs.replace(document, results=rows, clients=tuple(clients), summaries=())
    (found,) = with_expectations(whole, {EXPECT_FACT: (text,)}).expectations
    return found


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("iops>=9.7k", MET),
        ("iops>=10k", UNDECIDED),
        ("10.3kiops", NOT_MET),
        ("iops<=9.7k", NOT_MET),
        # 38.3 to 39.8 MiB/s, or 40.1 to 41.8 MB/s
        (">=38MiB/s", MET),
        (">=39MiB/s", UNDECIDED),
        (">=40MiB/s", NOT_MET),
        # met by 1,000 and not by 1,024
        (">=40MB/s", UNDECIDED),
        ("p99<2.2ms", MET),
        ("p99<2ms", UNDECIDED),
        ("p99<1.8ms", NOT_MET),
        ("p50<1ms", MET),
        ("p90<9s", UNDECIDED),
        ("p99.9<9s", UNDECIDED),
        ("write:p99<9s", UNDECIDED),
        ("read:p99<2.2ms", MET),
        ("random-read:p99<2.2ms", MET),
        ("iops>=1 from page cache", UNDECIDED),
        ("iops>=1 from storage", MET),
    ],
)
def test_the_interval_decides(text: str, verdict: ExpectationVerdict) -> None:
    found = judged(text, row())

    assert found.verdict is verdict, found.reason
    assert found.reason


def test_a_number_that_cannot_be_used_decides_nothing_and_its_reason_is_given() -> None:
    found = judged("iops>=1", row(trust=NO, trusted=False))

    assert found.verdict is UNDECIDED
    assert "others used the device" in found.reason


def test_what_memory_answered_decides_nothing_unless_that_is_accepted() -> None:
    cached = row(measures=ServedBy.PAGE_CACHE)

    assert judged("iops>=1", cached).verdict is UNDECIDED
    assert "of page cache" in judged("iops>=1", cached).reason
    assert judged("iops>=1 as measured", cached).verdict is MET
    assert judged("iops>=1 from page cache", cached).verdict is MET


def test_an_open_loop_is_judged_by_its_response() -> None:
    response = LatencyNs(mean=5e6, p50=5e6, p90=6e6, p99=7e6, p99_9=None, max=8e6)
    known = LatencyEstimatesNs(p50=None, p90=None, p99=(6.9e6, 7.1e6), p99_9=None)

    found = judged("p99<5ms", row(response_ns=response, response_intervals_ns=known))

    assert found.verdict is NOT_MET
    assert found.results[0].value == pytest.approx(7)
    assert found.results[0].interval == pytest.approx((6.9, 7.1))
    assert judged("p99<9ms", row(response_ns=response)).verdict is UNDECIDED


def test_three_repeats_have_students_interval() -> None:
    rows = [row(repeat=number, iops=iops) for number, iops in enumerate([9e3, 1e4, 1.1e4])]

    # Of the logarithms: mean 9.20699, deviation 0.10038, t(0.975, 2) = 4.30265, so exp(9.20699 -+ 0.24936).
    (of_all,) = judged("iops>=7.7k", *rows).results
    assert of_all.interval == pytest.approx((7767.0, 12789.0), rel=1e-4)
    assert judged("iops>=7.7k", *rows).verdict is MET
    assert judged("iops>=7.8k", *rows).verdict is UNDECIDED
    assert judged("iops>=12.8k", *rows).verdict is NOT_MET
    # One that cannot be used is left out of them.
    spoilt = row(repeat=3, iops=5, trust=NO, trusted=False)
    assert judged("iops>=7.7k", *rows, spoilt).verdict is MET


def test_of_several_rows_each_has_to_meet_it_and_the_one_that_does_not_is_named() -> None:
    rows = (row("a/read"), row("b/read", iops=5e3), row("b/write", iops=2e3))

    found = judged("iops>=9k", *rows)

    assert [one.verdict for one in found.results] == [MET, NOT_MET, NOT_MET]
    assert found.verdict is NOT_MET
    assert found.reason.startswith("b/read: ")
    assert judged("a:iops>=9k", *rows).verdict is MET
    assert [one.label for one in judged("read:iops>=9k", *rows).results] == ["a/read", "b/read"]
    assert [one.label for one in judged("b/write:iops>=9k", *rows).results] == ["b/write"]


def test_of_several_clients_the_sum_is_compared() -> None:
    two = [
        ClientOfRun(
            name=name,
            role="load",
            hostname=name,
            address=name,
            clock=None,
            lost_s=None,
            lost_reason=None,
            is_complete=True,
        )
        for name in ("n1", "n2")
    ]
    own = [row(iops=1e4, client=name) for name in ("n1", "n2")]

    found = judged("iops>=19k", row(iops=2e4), *own, clients=two)

    assert found.verdict is MET
    assert [one.value for one in found.results] == [pytest.approx(2e4)]
    # One client's own view has no expectation: nobody expected that of it alone.
    whole = msgspec.structs.replace(quick_run()[1], results=tuple(own), clients=tuple(two), expectations=(found,))
    assert of_client(whole, "n1").expectations == ()


@pytest.mark.parametrize("fact", [None, 5, "iops>=1", ()])
def test_a_run_without_expectations_has_none(fact: object) -> None:
    facts: Mapping[str, object] = {} if fact is None else {EXPECT_FACT: fact}

    assert with_expectations(quick_run()[1], facts).expectations == ()


def test_an_expression_of_a_strangers_bundle_that_is_none_is_undecided() -> None:
    found = judged("p99<2parsecs", row())

    assert found.verdict is UNDECIDED
    assert "not its unit" in found.reason


# -- words -------------------------------------------------------------------------------------------------------------


def shown(*texts: str) -> str:
    """The line of the answer on a row of 10,000 IOPS."""
    _, document = quick_run(LOADS[:3])
    whole: Document = msgspec.structs.replace(document, results=(row(), row("b/read")), summaries=())
    return expected_in_short(with_expectations(whole, {EXPECT_FACT: texts}))


def test_the_answer_has_each_verdict_with_its_number() -> None:
    assert shown() == ""
    assert shown("iops>=9k") == "Expected: iops>=9k: met by all 2 results."
    assert shown("b:iops>=9k") == "Expected: b:iops>=9k: met, 10,000 IOPS (9,800 to 10,200)."
    assert shown("b:p99<1ms") == "Expected: b:p99<1ms: not met, 2.00 ms (1.90 to 2.10)."


def test_reasons_that_several_share_are_given_once() -> None:
    told = shown("iops>=1 from page cache", "p99<9s from page cache")

    assert told.startswith("Expected: iops>=1 from page cache, p99<9s from page cache: undecided (")
    assert told.count("of storage") == 1


def test_of_many_those_that_are_met_are_counted() -> None:
    told = shown("iops>=1", "iops>=2", "iops>=3", "b:iops>=20k", "iops>=4")

    assert told == "Expected: b:iops>=20k: not met, 10,000 IOPS (9,800 to 10,200); 4 more met."
