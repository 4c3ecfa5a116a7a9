"""Does a comparison find what was planted, and nothing where nothing was?"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from assay.compare.arms import Arm
from assay.compare.comparison import Against, Comparison, Row, compare
from assay.compare.gate import GateState, check_gates, parse_gate
from assay.errors import InputError
from assay.report import comparison_text
from assay.results import Document, Reason, Result, Trust
from assay.verdicts import ComparisonVerdict, ServedBy, TrustLevel
from unit.quick_run import LOADS, quick_run

CV = 0.02
RUNS = 5
VERDICT = ComparisonVerdict


@pytest.fixture(scope="module")
def measured() -> tuple[Document, Result]:
    """A run, and a result of small reads to make others from."""
    _, document = quick_run(LOADS[:3])
    return document, next(r for r in document.results if r.trusted and (r.bytes or 0) < (r.ops or 0) * (64 << 10))


@pytest.fixture(scope="module")
def rated(measured: tuple[Document, Result]) -> tuple[Document, Result]:
    """The same without a tail, which would be compared as well: for thousands of comparisons of rates."""
    document, result = measured
    return document, msgspec.structs.replace(result, latency_ns=msgspec.structs.replace(result.latency_ns, p99=None))


def arm(
    measured: tuple[Document, Result],
    name: str,
    rates: Sequence[float],
    *,
    begin: int = 0,
    step: int = 2,
    **changed: object,
) -> Arm:
    """Make an arm whose runs have these rates, begun every `step` minutes."""
    document, result = measured
    runs = []
    for i, iops in enumerate(rates):
        one = msgspec.structs.replace(result, iops=iops, committed=None, **changed)
        told = msgspec.structs.replace(
            document.run, id=f"{name}-{i}", started_utc=f"2026-11-25T00:{begin + step * i:02d}:00Z"
        )
        runs.append(msgspec.structs.replace(document, run=told, results=(one,)))
    return Arm.of(name, runs)


def held(comparison: Comparison) -> tuple[Against, Row]:
    """Give the one side that is held against the first, and its row of the rate."""
    (against,) = comparison.against
    (row,) = (row for row in against.rows if row.metric == "iops")
    return against, row


def rates(random: np.random.Generator, middle: float, runs: int = RUNS) -> list[float]:
    return list(middle * random.lognormal(0, CV, runs))


@pytest.mark.parametrize(("runs", "begin"), [(3, 1), (10, 1), (3, 30), (10, 30)])
@pytest.mark.long
def test_of_a_thousand_comparisons_of_a_with_a_hardly_any_has_a_winner(
    runs: int, begin: int, rated: tuple[Document, Result]
) -> None:
    random = np.random.default_rng(1)
    winners = 0
    for _ in range(1_000):
        a, b = (rates(random, 1e4, runs) for _ in "ab")
        _, row = held(compare([arm(rated, "a", a), arm(rated, "b", b, begin=begin)]))
        winners += row.verdict in {VERDICT.BETTER, VERDICT.WORSE}
        assert row.pairs == (runs if begin == 1 else 0)

    assert winners < 50


def test_runs_in_turns_are_compared_within_their_round(measured: tuple[Document, Result]) -> None:
    rounds = [1e4, 1.4e4, 0.7e4, 1.2e4, 0.9e4, 1.6e4]
    a, b = arm(measured, "a", rounds), arm(measured, "b", [1.1 * x for x in rounds], begin=1)
    apart = arm(measured, "b", [1.1 * x for x in rounds], begin=30)
    no = Trust(level=TrustLevel.NO, reasons=(Reason(id="foreign-io", text="others used the device"),))
    first, *others = b.documents
    bad = msgspec.structs.replace(first.results[0], trust=no, trusted=False)
    busy = Arm.of("b", [msgspec.structs.replace(first, results=(bad,)), *others])

    against, row = held(compare([a, b]))
    _, without = held(compare([a, apart]))
    _, fewer = held(compare([a, busy]))

    assert (row.pairs, row.verdict, row.p) == (6, VERDICT.BETTER, 2 / 2**6)
    assert row.interval == pytest.approx((1.1, 1.1))
    assert against.geometric_mean_interval == pytest.approx((1.1, 1.1))
    assert (without.pairs, without.verdict) == (0, VERDICT.INCONCLUSIVE)
    # The round of a run that is not trusted has no pair.
    assert (fewer.pairs, fewer.verdict, fewer.b.left_out) == (5, VERDICT.BETTER, ("b-0",))


@pytest.mark.parametrize(("runs", "begin"), [(3, 30), (10, 30), (3, 1), (10, 1)])
@pytest.mark.long
def test_the_interval_of_the_geometric_mean_goes_by_runs_and_not_by_results(
    runs: int, begin: int, rated: tuple[Document, Result]
) -> None:
    random = np.random.default_rng(runs + begin)
    inside, trials = 0, 300
    for _ in range(trials):
        # A run moves all its results alike, four times as much as each by itself: results are no replicates.
        a, b = (
            several(rated, name, factor * random.lognormal(0, 0.04, (runs, 1)) * random.lognormal(0, 0.01, (runs, 8)),
                    begin=at)
            for name, factor, at in (("a", 1e4, 0), ("b", 1.1e4, begin))
        )  # fmt: skip
        (against,) = compare([a, b]).against
        ends = against.geometric_mean_interval
        assert ends is not None
        assert ends[0] <= (against.geometric_mean or 0) <= ends[1]
        inside += ends[0] <= 1.1 <= ends[1]

    assert 0.92 <= inside / trials <= 0.985


def several(measured: tuple[Document, Result], name: str, rates: np.ndarray, *, begin: int) -> Arm:
    """Make an arm of runs that have several results, rates of shape `(runs, results)`."""
    base = arm(measured, name, [1.0] * len(rates), begin=begin)
    documents = [
        msgspec.structs.replace(
            document,
            results=tuple(
                msgspec.structs.replace(document.results[0], label=f"r{i}", iops=float(rate))
                for i, rate in enumerate(of_run)
            ),
        )
        for document, of_run in zip(base.documents, rates, strict=True)
    ]
    return Arm.of(name, documents)


def rows_of(
    measured: tuple[Document, Result], random: np.random.Generator, cv: float, *, factors: Sequence[float], begin: int
) -> tuple[Row, ...]:
    """Compare results that differ by these factors, each with runs of its own."""
    a = several(measured, "a", 1e4 * random.lognormal(0, cv, (RUNS, len(factors))), begin=0)
    b = several(measured, "b", 1e4 * np.array(factors) * random.lognormal(0, cv, (RUNS, len(factors))), begin=begin)
    (against,) = compare([a, b]).against
    return tuple(row for row in against.rows if row.metric == "iops")


@pytest.mark.parametrize(("cv", "begin"), [(0.2, 30), (0.1, 1)])
@pytest.mark.long
def test_of_twenty_rows_without_a_difference_hardly_ever_one_wins(
    cv: float, begin: int, rated: tuple[Document, Result]
) -> None:
    random = np.random.default_rng(7)
    won = sum(
        any(row.verdict in {VERDICT.BETTER, VERDICT.WORSE} for row in rows)
        for rows in (rows_of(rated, random, cv, factors=[1.0] * 20, begin=begin) for _ in range(200))
    )

    # Each by itself at 95 %: in 12 to 30 of 100 comparisons.
    assert won < 10


def test_one_of_twenty_rows_that_does_differ_is_found_with_five_runs(measured: tuple[Document, Result]) -> None:
    rows = rows_of(measured, np.random.default_rng(3), 0.02, factors=[1.0] * 19 + [1.3], begin=1)

    assert [row.label for row in rows if row.verdict is VERDICT.BETTER] == ["r19"]


def test_what_was_declared_is_tested_by_itself(measured: tuple[Document, Result]) -> None:
    # A difference whose p is near to 0.01, among 19 rows that are the same on both sides.
    steady = np.full((RUNS, 19), 1e4)
    apart = np.array([[0.99], [1.0], [1.01], [1.02], [1.0]])
    a = several(measured, "a", np.hstack([steady, 1e4 * apart]), begin=0)
    b = several(measured, "b", np.hstack([steady, 1.06e4 * apart[::-1] ** 1.5]), begin=30)

    together, alone = compare([a, b]), compare([a, b], headline="r19")

    (row,) = (row for row in together.against[0].rows if (row.label, row.metric) == ("r19", "iops"))
    (declared,) = (row for row in alone.against[0].rows if (row.label, row.metric) == ("r19", "iops"))
    assert declared.p_together is not None
    assert row.p_together is not None
    assert row.p_together > declared.p_together
    assert (together.tested_together, alone.tested_together) == (40, 38)


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(0.9, VERDICT.WORSE), (1.2, VERDICT.BETTER), (1.0, VERDICT.EQUIVALENT), (1.015, VERDICT.DIFFERENT_SMALL)],
)
def test_a_planted_difference_is_found(factor: float, verdict: VERDICT, measured: tuple[Document, Result]) -> None:
    steady = [1.0, 1.002, 0.998, 1.001, 0.999]
    a, b = (
        arm(measured, "a", [1e4 * x for x in steady]),
        arm(measured, "b", [1e4 * factor * x for x in steady], begin=1),
    )

    against, row = held(compare([a, b]))

    assert row.verdict is verdict
    assert row.ratio == pytest.approx(factor, rel=0.005)
    assert row.interval is not None
    assert row.interval[0] <= factor <= row.interval[1]
    assert against.geometric_mean == pytest.approx(factor, rel=0.005)
    assert against.in_turn


def test_what_few_runs_leave_open_says_how_many_more_would_tell(measured: tuple[Document, Result]) -> None:
    wide = [0.9, 1.1, 1.0, 0.93, 1.07]

    _, row = held(compare([arm(measured, "a", wide), arm(measured, "b", [1.03 * x for x in wide])]))

    assert row.verdict is VERDICT.INCONCLUSIVE
    cv = float(np.std(np.log(wide), ddof=1))
    assert row.runs_needed == math.ceil(2 * (1.959964 + 0.841621) ** 2 * cv**2 / math.log(1.03) ** 2)
    assert f"about {row.runs_needed - RUNS} more runs" in row.reason


@pytest.mark.parametrize(("runs", "verdict"), [(1, VERDICT.INDICATIVE), (2, VERDICT.INDICATIVE), (3, VERDICT.BETTER)])
def test_below_three_runs_there_is_no_interval_and_no_winner(
    runs: int, verdict: VERDICT, measured: tuple[Document, Result]
) -> None:
    a, b = arm(measured, "a", [100.0, 100.1, 100.2][:runs]), arm(measured, "b", [200.0, 200.1, 200.2][:runs])

    _, row = held(compare([a, b]))

    assert row.verdict is verdict
    assert (row.interval is None) == (runs < 3)
    assert (row.range is None) == (runs != 2)


def test_there_is_no_winner_between_numbers_of_different_things(measured: tuple[Document, Result]) -> None:
    a, b = arm(measured, "a", [1e4] * RUNS), arm(measured, "b", [9e4] * RUNS, measures=ServedBy.PAGE_CACHE)

    against, row = held(compare([a, b]))

    assert (row.verdict, row.ratio, against.geometric_mean) == (VERDICT.NOT_COMPARABLE, None, None)
    assert row.reason == "A is served by storage, B by page cache"


def test_there_is_no_winner_between_sides_whose_own_runs_are_of_different_things(
    measured: tuple[Document, Result],
) -> None:
    def mixed(name: str, rate: float) -> Arm:
        kinds = {"disk": ServedBy.STORAGE, "memory": ServedBy.PAGE_CACHE}
        parts = (arm(measured, f"{name}-{kind}", [rate] * 3, measures=measures) for kind, measures in kinds.items())
        return Arm.of(name, [document for part in parts for document in part.documents])

    _, row = held(compare([mixed("a", 1e4), mixed("b", 9e4)]))

    assert (row.verdict, row.ratio) == (VERDICT.NOT_COMPARABLE, None)
    assert row.reason == "its runs are of different things: page cache and storage"


def test_runs_that_are_not_to_be_trusted_are_left_out_and_named(measured: tuple[Document, Result]) -> None:
    no = Trust(level=TrustLevel.NO, reasons=(Reason(id="foreign-io", text="others used the device"),))
    good = arm(measured, "b", [1e4, 1.001e4, 0.999e4])
    bad = arm(measured, "bad", [5e3, 4e3], begin=30, trust=no, trusted=False)
    a, busy = arm(measured, "a", [1e4] * RUNS), Arm.of("b", [*good.documents, *bad.documents])

    _, row = held(compare([a, busy]))
    _, none_left = held(compare([a, arm(measured, "c", [5e3] * RUNS, trust=no, trusted=False)]))

    assert row.verdict is VERDICT.EQUIVALENT
    assert row.b.left_out == ("bad-0", "bad-1")
    assert (none_left.verdict, none_left.ratio) == (VERDICT.NOT_COMPARABLE, None)
    assert "others used the device" in none_left.reason


def test_of_latency_less_is_better(measured: tuple[Document, Result]) -> None:
    _, result = measured
    slow, fast = (msgspec.structs.replace(result.latency_ns, p99=p99) for p99 in (2e6, 1e6))

    (against,) = compare(
        [arm(measured, "a", [1e4] * RUNS, latency_ns=slow), arm(measured, "b", [1e4] * RUNS, latency_ns=fast)]
    ).against

    (row,) = (row for row in against.rows if row.metric == "p99")
    assert row.verdict is VERDICT.BETTER
    assert row.ratio == pytest.approx(0.5)


def test_a_machine_that_slows_down_is_told_and_noise_is_not(measured: tuple[Document, Result]) -> None:
    random = np.random.default_rng(5)
    falling = [1e4 * 0.98**i * float(random.lognormal(0, 0.003)) for i in range(20)]
    told = compare([arm(measured, "a", falling[::2]), arm(measured, "b", falling[1::2], begin=1)])
    noise = [
        compare([arm(measured, "a", rates(random, 1e4, 10)), arm(measured, "b", rates(random, 1e4, 10), begin=1)])
        for _ in range(200)
    ]

    (drift,) = told.against[0].drifts
    assert drift.change == pytest.approx(0.98**19 - 1, abs=0.02)
    # At 95 % confidence one in twenty.
    assert sum(bool(one.against[0].drifts) for one in noise) <= 20


@pytest.mark.parametrize(
    ("text", "factor", "state"),
    [
        ("iops >= -5 %", 0.8, GateState.VIOLATED),
        ("iops >= -5 %", 0.97, GateState.HELD),
        ("rate >= -5%", 1.5, GateState.HELD),
        ("iops <= +10 %", 1.5, GateState.VIOLATED),
        ("p99 <= 10", 1.0, GateState.HELD),
    ],
)
def test_a_gate_holds_as_the_whole_interval_does(
    text: str, factor: float, state: GateState, measured: tuple[Document, Result]
) -> None:
    steady = [1e4, 1.002e4, 0.998e4, 1.001e4, 0.999e4]
    found = compare([arm(measured, "a", steady), arm(measured, "b", [factor * x for x in steady])])

    (gated,) = check_gates([parse_gate(text)], found)

    assert gated.state is state


def test_a_gate_of_every_row_is_not_violated_by_what_may_be_chance(measured: tuple[Document, Result]) -> None:
    steady, noisy = np.full((RUNS, 19), 1e4), 1e4 * np.array([[0.94], [1.0], [1.06], [1.03], [0.97]])
    a = several(measured, "a", np.hstack([steady, noisy]), begin=0)
    b = several(measured, "b", np.hstack([steady, 0.88 * noisy]), begin=30)
    found = compare([a, b])

    of_all = {gated.row.label: gated.state for gated in check_gates([parse_gate("iops >= -1 %")], found)}
    (named,) = check_gates([parse_gate("r19: iops >= -1 %")], found)

    assert of_all == {**{f"r{at}": GateState.HELD for at in range(19)}, "r19": GateState.UNDECIDED}
    assert named.state is GateState.VIOLATED


def test_a_gate_is_open_where_more_runs_would_tell(measured: tuple[Document, Result]) -> None:
    wide = [0.9e4, 1.1e4, 1e4, 0.93e4, 1.07e4]
    found = compare([arm(measured, "a", wide), arm(measured, "b", wide)])
    single = compare([arm(measured, "a", [1e4]), arm(measured, "b", [1e3])])

    assert check_gates([parse_gate("iops >= -5 %")], found)[0].state is GateState.UNDECIDED
    assert check_gates([parse_gate("iops >= -5 %")], single)[0].state is GateState.UNDECIDED


@pytest.mark.parametrize(
    "text", ["", "iops", "iops > 5", "speed >= -5 %", "iops >= x", "iops >= -100 %", "iops >= 1e9 %"]
)
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--gate"):
        parse_gate(text)


def test_a_gate_that_nothing_fits_is_refused(measured: tuple[Document, Result]) -> None:
    found = compare([arm(measured, "a", [1e4]), arm(measured, "b", [1e4])])

    with pytest.raises(InputError, match="no result has that; there are"):
        check_gates([parse_gate("nothing*: iops >= -5 %")], found)


def test_the_answer_in_words_and_as_markdown(measured: tuple[Document, Result]) -> None:
    steady = [1e4, 1.002e4, 0.998e4, 1.001e4, 0.999e4]
    found = compare([arm(measured, "a", steady), arm(measured, "b|c", [0.8 * x for x in steady], begin=30)])
    gated = check_gates([parse_gate("iops >= -5 %")], found)

    text = "\n".join(comparison_text.lines(found, [()], gated))
    page = "\n".join(comparison_text.markdown(found, [()], gated))

    assert "B is worse by more than 3 % in 1" in text
    assert "one side ran before the other" in text
    assert "0.800 times (0.7" in text
    assert "gate violated" in text
    assert "b\\|c" in page
    assert "- **violated**" in page
    assert len({line.count(" | ") for line in page.splitlines() if line.startswith("| ")}) == 1


def test_a_run_that_something_disturbed_is_named_with_what_it_was(measured: tuple[Document, Result]) -> None:
    a = arm(measured, "a", [1.0e4, 1.01e4, 0.99e4, 1.005e4, 0.995e4])
    b = arm(measured, "b", [1.0e4, 0.4e4, 0.99e4, 1.005e4, 0.7e4, 0.995e4, 1.01e4], begin=1)
    busy = Trust(level=TrustLevel.NO, reasons=(Reason(id="foreign-io", text="61 % of the I/O is others'"),))
    disturbed = msgspec.structs.replace(b.documents[1].results[0], trust=busy, trusted=False)
    documents = list(b.documents)
    documents[1] = msgspec.structs.replace(documents[1], results=(disturbed,))

    found = compare([a, Arm.of("b", documents)])

    _, row = held(found)
    assert (row.a.remarks, row.b.left_out) == ((), ("b-1",))
    assert row.b.remarks[0] == "b-1 left out: 61 % of the I/O is others'"
    assert row.b.remarks[1].startswith("b-4 used, but an outlier: 30.0 % below the others")
    assert row.verdict not in {VERDICT.BETTER, VERDICT.WORSE}
    told = "\n".join(comparison_text.lines(found, [()], []))
    assert f"B, {row.title}: b-1 left out: 61 % of the I/O is others'." in told


def test_a_neighbour_in_half_of_the_runs_makes_no_difference_of_equals(measured: tuple[Document, Result]) -> None:
    busy = Trust(level=TrustLevel.WEAK, reasons=(Reason(id="foreign-io", text="40 % of the I/O is others'"),))
    random = np.random.default_rng(1)

    def side(name: str, begin: int) -> Arm:
        whole = arm(
            measured, name, [x * (0.7 if i % 2 else 1.0) for i, x in enumerate(rates(random, 1e4, 8))], begin=begin
        )
        documents = list(whole.documents)
        for i in range(1, 8, 2):
            disturbed = msgspec.structs.replace(documents[i].results[0], trust=busy, trusted=False)
            documents[i] = msgspec.structs.replace(documents[i], results=(disturbed,))
        return Arm.of(name, documents)

    _, row = held(compare([side("a", 0), side("b", 1)], effect=0.2))

    assert row.a.left_out == ("a-1", "a-3", "a-5", "a-7")
    assert row.a.remarks[0] == "a-1 left out: 40 % of the I/O is others'"
    assert row.verdict is VERDICT.EQUIVALENT


def test_the_line_of_a_round_has_each_ratio_with_an_interval_that_narrows(measured: tuple[Document, Result]) -> None:
    # The logarithm of each ratio is that of 0.9, or 0.02 to either side of it; the second five rounds repeat the first.
    apart = [-0.02, 0.02, 0.0, -0.02, 0.02] * 2
    fast = [1e4, 1.3e4, 0.8e4, 1.1e4, 0.9e4] * 2
    slow = [0.9 * rate * math.exp(x) for rate, x in zip(fast, apart, strict=True)]

    found = {n: compare([arm(measured, "a", fast[:n]), arm(measured, "b", slow[:n], begin=1)]) for n in (1, 5, 10)}
    lines = {n: comparison_text.so_far_words(comparison, n) for n, comparison in found.items()}

    assert lines[1][0].startswith("round 1: ")
    assert lines[1][0].endswith("0.882, no interval yet")
    # Five pairs: a standard deviation of 0.02, and t(0.975, 4) = 2.776: 2.776 * 0.02 / sqrt(5) = 0.0248.
    # Ten pairs: the ninth of the 55 Walsh averages from each end (P(W <= 8) = 0.0244); the lowest ten are all -0.02.
    halves = {5: 2.776445 * 0.02 / math.sqrt(5), 10: 0.02}
    for n, half in halves.items():
        _, row = held(found[n])
        assert row.interval == pytest.approx((0.9 * math.exp(-half), 0.9 * math.exp(half)), rel=1e-6)
    assert lines[5][0].endswith("0.900 (0.878 to 0.923, ± 2.5 %)")
    assert lines[10][0].endswith("0.900 (0.882 to 0.918, ± 2.0 %)")
    three = compare([arm(measured, name, fast[:5], begin=i, step=3) for i, name in enumerate("abc")])
    assert [line.partition(",")[0] for line in comparison_text.so_far_words(three, 5)] == [
        "round 5:",
        "  B / A",
        "  C / A",
    ]
