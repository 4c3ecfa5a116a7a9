"""Results of several clients against streams whose clocks, skews, rates and losses are known."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import events, plan
from assay.analysis.arrays import IntArray
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.observed import Observed
from assay.analysis.record import RunRecord, read
from assay.analysis.rows import Span
from assay.analysis.set_limiter import with_advice
from assay.bundle import RunBundle
from assay.bundle.client_set import Lost, Role, Share
from assay.bundle.facts_of_set import facts_of_set
from assay.errors import BundleError, InputError
from assay.host.facts import DEVICE_FACT, LINK_FACT, LINK_SPEED_FACT, MACHINE_ID_FACT
from assay.results import Document, Limiter, Result
from assay.running.marking import mark_at
from assay.verdicts import Bottleneck, Confidence, TrustLevel
from unit.memory_run import facts_of, hello, judged
from unit.memory_set import FIRST_PHASE_NS, LEADER_NS, Client, MemorySet, kept
from unit.synthetic import (
    BLOCK_BACKED,
    MIB,
    NS,
    Counters,
    Stream,
    SyntheticRun,
    one_job,
    one_plan,
    read_op,
    steady_stream,
)

QUIET = Counters(
    process_cpu_ns=300_000_000, observer_cpu_ns=100_000_000, cpu_ns={"user_ns": 10 * NS, "idle_ns": 70 * NS}
)


def phase(name: str = "p", *jobs: plan.Job, **settings_: object) -> plan.Phase:
    return plan.Phase(name=name, title=f"phase {name}", jobs=jobs or (one_job(),), **settings_)  # type: ignore[arg-type]


ONE_PHASE = one_plan(phase())


def steady(per_s: int, its_plan: plan.Plan = ONE_PHASE, *, seconds: float = 10) -> SyntheticRun:
    """A client that does so many reads of 4 KiB a second in each phase."""
    run = SyntheticRun(its_plan)
    for index in range(len(its_plan.phases)):
        stream = steady_stream(per_s=per_s, seconds=seconds, latency_ns=500_000, bytes_each=4096)
        run.phase([stream], seconds=seconds, index=index, counters=QUIET)
    return run.end()


def sums(document: Document) -> list[Result]:
    return [result for result in document.results if result.client is None]


def of_client(document: Document, name: str) -> list[Result]:
    return [result for result in document.results if result.client == name]


def ids(result: Result, severity: str | None = None) -> set[str]:
    return {finding.id for finding in result.findings if severity in {None, finding.severity}}


def text_of(result: Result, id_: str) -> str:
    return next(finding.text for finding in result.findings if finding.id == id_)


# -- one clock ---------------------------------------------------------------------------------------------------------


def test_two_clients_with_clocks_far_apart_are_summed_exactly() -> None:
    clients = [
        Client("h1", steady(1000), offset_ns=1_000 * NS, late_ns=1_000_000),
        Client("h2", steady(500), offset_ns=-300_000_000, late_ns=3_000_000),
    ]

    document = judged(MemorySet(ONE_PHASE, clients))

    (sum_,) = sums(document)
    assert (sum_.ops, sum_.bytes, sum_.workers, sum_.errors) == (15_000, 15_000 * 4096, 2, 0)
    # From the first issue of h1 to the last completion of h2, which began 2 ms later.
    assert sum_.seconds == pytest.approx(10.0 + 0.002 - 0.0015 + 0.0, abs=2e-3)
    assert sum_.iops == pytest.approx(1500, rel=5e-4)
    assert sum_.latency_ns.mean == 500_000.0
    assert [result.client for result in document.results] == [None, "h1", "h2"]
    assert [of_client(document, name)[0].iops for name in ("h1", "h2")] == pytest.approx([1000, 500], rel=1e-3)
    assert len({result.label for result in document.results}) == 3


def test_the_skew_of_the_starts_is_the_one_that_was_planted() -> None:
    clients = [
        Client("h1", steady(1000), offset_ns=1_000 * NS, late_ns=20_000, bound_ns=40_000),
        Client("h2", steady(1000), offset_ns=-300_000_000, late_ns=1_733_000, bound_ns=90_000),
        Client("h3", steady(1000), late_ns=400_000),
    ]

    (start,) = judged(MemorySet(ONE_PHASE, clients)).starts

    assert [one.late_ns for one in start.starts] == pytest.approx([20_000, 1_733_000, 400_000], abs=1000)
    assert start.skew_ns == pytest.approx(1_713_000, abs=1000)
    assert start.bound_ns == 130_000
    assert (start.phase, start.repeat) == ("p", 0)


def test_a_client_has_begun_when_it_issued_its_first_operation() -> None:
    slow = SyntheticRun(ONE_PHASE)
    stream = steady_stream(per_s=1000, seconds=10, latency_ns=500_000, begin_s=0.004)
    slow.phase([stream], seconds=10, counters=QUIET)
    clients = [Client("h1", steady(1000)), Client("h2", slow.end(), offset_ns=3 * NS, late_ns=100_000)]

    (start,) = judged(MemorySet(ONE_PHASE, clients)).starts

    assert [one.late_ns for one in start.starts] == pytest.approx([0, 4_100_000], abs=1000)


def test_a_client_of_an_open_loop_has_begun_when_its_start_was_ordered() -> None:
    its_plan = one_plan(phase("p", one_job(arrival=plan.Open(rate_per_s=100.0))))
    run = SyntheticRun(its_plan)
    run.phase([steady_stream(per_s=100, seconds=10, latency_ns=1000, begin_s=0.5)], seconds=10, counters=QUIET)

    (start,) = judged(MemorySet(its_plan, [Client("h1", run.end(), late_ns=70_000)])).starts

    assert start.starts[0].late_ns == pytest.approx(70_000, abs=1000)


def test_a_clock_that_drifts_is_followed_from_phase_to_phase() -> None:
    two = one_plan(phase("a"), phase("b"))
    clients = [Client("h1", steady(100, two), drift=50e-6), Client("h2", steady(100, two), offset_ns=7 * NS)]

    document = judged(MemorySet(two, clients, starts_s=(0.0, 11.0)))

    # By h1's own clock its second phase begins 11 s after the first: by the leader's, 11 s / (1 + 50e-6).
    late_ns = [one.late_ns for one in document.starts[1].starts]
    assert late_ns == pytest.approx([-11 * NS * 50e-6, 0], abs=1000)
    assert document.clients[0].clock is not None
    assert document.clients[0].clock.drift_ppm == pytest.approx(50, rel=1e-3)
    assert document.clients[1].clock is not None
    assert (document.clients[1].clock.offset_ns, document.clients[1].clock.drift_ppm) == (7 * NS, None)


def test_each_tick_of_the_sum_is_that_tick_of_every_client() -> None:
    rates = (100, 300, 700)
    clients = [Client(f"h{rate}", steady(rate), offset_ns=rate * NS, late_ns=rate * 10_000) for rate in rates]

    (record,) = read(MemorySet(ONE_PHASE, clients)).phases

    rows = record.rows("job", "read")
    assert len(record.grid) == 10
    assert [span.end_ns - span.begin_ns for span in record.grid] == [NS] * 10
    assert rows.column("ops").tolist() == [1100] * 10
    assert record.grid[0].begin_ns - record.start_ns == pytest.approx(10_000 * sum(rates) / len(rates), abs=1)


def test_a_client_that_began_whole_intervals_late_keeps_its_place_in_time() -> None:
    clients = [Client("h1", steady(100)), Client("h2", steady(1000), late_ns=2 * NS)]

    (record,) = read(MemorySet(ONE_PHASE, clients)).phases

    assert record.rows("job", "read").column("ops").tolist() == [100] * 2 + [1100] * 8 + [1000] * 2


def late_ticks(run: SyntheticRun, late_ns: Sequence[int]) -> SyntheticRun:
    """Move the samples of a phase of 10 s by so much; the first and the last stay."""
    moved = {10 + tick: 10 + tick + late / NS for tick, late in enumerate(late_ns, 1)}
    for name, rows in run._rows.items():
        at = list(pl.DataFrame(schema=run.table(name).schema).columns).index("t_s")
        run._rows[name] = [(*row[:at], moved.get(row[at], row[at]), *row[at + 1 :]) for row in rows]  # type: ignore[call-overload]
    return run


@pytest.mark.long
@given(st.lists(st.lists(st.integers(0, 850_000_000), min_size=9, max_size=9), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_nothing_is_lost_however_late_ticks_are(late_ns: list[list[int]]) -> None:
    clients = [Client(f"h{i}", late_ticks(steady(100), late), offset_ns=i * NS) for i, late in enumerate(late_ns)]

    (record,) = read(MemorySet(ONE_PHASE, clients)).phases

    rows, buckets = record.rows("job", "read"), record.buckets("job", "read", "latency")
    assert rows.column("ops").tolist() == [100 * len(clients)] * 10
    assert rows.total("bytes") == 1000 * len(clients) * 4096
    assert buckets.total("n") == 1000 * len(clients)
    assert record.process_delta(record.whole, "process_cpu_ns") == 300_000_000 * len(clients)


# -- what adds up ------------------------------------------------------------------------------------------------------


@st.composite
def workers_of_clients(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Rates and latencies of workers, which client each is of, and the clients' offsets."""
    workers = draw(st.lists(st.tuples(st.integers(5, 400), st.integers(1000, 3_000_000)), min_size=1, max_size=6))
    count = draw(st.integers(1, len(workers)))
    whose = [draw(st.integers(0, count - 1)) for _ in workers]
    offsets_ns = [draw(st.integers(-4_000 * NS, 10**15)) for _ in range(count)]
    return workers, whose, offsets_ns


def streams_of(workers: Sequence[tuple[int, int]]) -> list[Stream]:
    """One worker each, numbered from 0."""
    return [
        steady_stream(per_s=per_s, seconds=8, latency_ns=latency_ns, bytes_each=512, worker=number)
        for number, (per_s, latency_ns) in enumerate(workers)
    ]


@given(workers_of_clients())
@settings(max_examples=40, deadline=None)
@pytest.mark.long
def test_a_run_that_is_split_into_clients_adds_up_to_itself(
    split: tuple[list[tuple[int, int]], list[int], list[int]],
) -> None:
    workers, whose, offsets_ns = split
    its_plan = one_plan(phase("p", one_job(workers=len(workers))))
    whole = SyntheticRun(its_plan).phase(streams_of(workers), seconds=8, counters=QUIET).end()
    clients = []
    for client, offset_ns in enumerate(offsets_ns):
        own = [worker for worker, of in zip(workers, whose, strict=True) if of == client]
        if own:
            run = SyntheticRun(its_plan).phase(streams_of(own), seconds=8, counters=QUIET).end()
            clients.append(Client(f"h{client}", run, offset_ns=offset_ns))

    one, together = read(whole), read(MemorySet(its_plan, clients))
    of_one, of_sum = judged(whole).results[0], sums(judged(MemorySet(its_plan, clients)))[0]

    assert histogram(one) == histogram(together)
    assert of_sum.window_s is not None
    assert of_sum.ops is not None
    assert of_one.ops is not None
    begin_ns, end_ns = (one.phases[0].start_ns + round(edge_s * NS) for edge_s in of_sum.window_s)
    rows = one.phases[0].rows("job", "read")
    inside = Span(begin_ns, end_ns) if of_sum.ops < of_one.ops else None
    assert (of_sum.ops, of_sum.bytes) == (rows.total("ops", inside), rows.total("bytes", inside))
    assert of_sum.iops == pytest.approx(of_sum.ops * NS / (end_ns - begin_ns), rel=1e-6)
    assert of_sum.workers == of_one.workers
    assert sorted(together.phases[0].workers_of("job")) == list(range(len(workers)))


def histogram(run: RunRecord) -> list[tuple[int, ...]]:
    """Filled buckets of the only phase: interval, bucket, count."""
    (record,) = run.phases
    rows = record.buckets("job", "read", "latency")
    since = (rows.t_ns - record.start_ns).tolist()
    return sorted(zip(since, rows.column("bucket").tolist(), rows.column("n").tolist(), strict=True))


def test_maxima_are_maxima_and_response_times_add_where_they_are_known() -> None:
    slow = SyntheticRun(ONE_PHASE)
    slow.phase([steady_stream(per_s=100, seconds=10, latency_ns=9_000_000)], seconds=10, counters=QUIET)

    document = judged(MemorySet(ONE_PHASE, [Client("h1", steady(100)), Client("h2", slow.end())]))

    assert sums(document)[0].latency_ns.max == 9_000_000
    assert sums(document)[0].latency_ns.mean == pytest.approx((500_000 + 9_000_000) / 2, rel=1e-2)
    assert sums(document)[0].response_ns is None


def test_a_machine_with_two_clients_counts_once() -> None:
    clients = [
        Client("a", steady(100), hostname="big"),
        Client("b", steady(100), hostname="big"),
        Client("c", steady(100), hostname="small"),
    ]

    merged = read(MemorySet(ONE_PHASE, clients)).first(events.Hello)

    assert merged is not None
    assert (merged.machine.cpus, merged.machine.ram_bytes) == (16, 32 << 30)
    assert merged.machine.hostname == "big, small"


def test_facts_of_a_sum_are_those_that_all_clients_agree_on() -> None:
    other = SyntheticRun(ONE_PHASE, facts={**BLOCK_BACKED, "target.target.fs.type": "xfs", "host.only.here": 1})
    other.phase([steady_stream(per_s=100, seconds=10, latency_ns=1000)], seconds=10)

    run = read(MemorySet(ONE_PHASE, [Client("a", steady(100)), Client("b", other.end())], facts={"run.error": "x"}))

    assert run.facts["target.target.directory"] == "/data"
    assert "target.target.fs.type" not in run.facts
    assert "host.only.here" not in run.facts
    assert run.facts["run.error"] == "x"
    assert [one.run.facts["target.target.fs.type"] for one in run.members] == ["ext4", "xfs"]


def test_the_sum_holds_no_counters_of_machines() -> None:
    with_devices = Counters(process_cpu_ns=NS, devices={"vda": (1 << 30, 0)})
    runs = [
        SyntheticRun(ONE_PHASE)
        .phase([steady_stream(per_s=100, seconds=10, latency_ns=1000)], seconds=10, counters=with_devices)
        .end()
        for _ in range(2)
    ]

    run = read(MemorySet(ONE_PHASE, [Client("a", runs[0]), Client("b", runs[1])]))

    assert run.phases[0].counters.instances("diskstats") == ()
    assert run.phases[0].process_delta(run.phases[0].whole, "process_cpu_ns") == 2 * NS
    assert run.members[0].run.phases[0].counters.instances("diskstats") == ("vda",)


def test_counters_of_all_engines_begin_at_nothing_and_grow_by_what_each_grew() -> None:
    run = read(MemorySet(ONE_PHASE, [Client("h1", steady(1000)), Client("h2", steady(500))]))

    (record,) = run.phases
    times = (record.whole.begin_ns, record.whole.end_ns)
    begin, end = (record.counters.at(t_ns, "process", "", "process_cpu_ns") for t_ns in times)
    grown = [member.run.phases[0].process_delta(member.run.phases[0].whole, "process_cpu_ns") for member in run.members]
    assert (begin, end) == (0.0, sum(one or 0.0 for one in grown))
    assert end


def test_counters_that_are_missing_are_said_of_clients_that_made_load_and_not_of_observers() -> None:
    def blind() -> SyntheticRun:
        run = SyntheticRun(ONE_PHASE)
        counters = Counters(on_cpu=None, run_delay=None, block_delay=None)
        return run.phase([steady_stream(per_s=100, seconds=10, latency_ns=1000)], seconds=10, counters=counters).end()

    clients = [Client("h1", blind()), Client("srv", blind(), role=Role.OBSERVER)]

    said = [finding.text for finding in judged(MemorySet(ONE_PHASE, clients)).findings if "budgets" in finding.text]

    assert len(said) == 1
    assert "h1" in said[0]


def test_what_an_observer_saw_in_less_than_a_second_is_a_rate_too() -> None:
    run = SyntheticRun(one_plan(plan.Phase(name="p", title="p", jobs=(one_job(),)), sample_interval_s=0.25))
    counters = Counters(
        others={("net", "eth0", name): (5.0, 5.0 + sent) for name, sent in (("rx_bytes", 1e6), ("tx_bytes", 4e6))}
    )
    run.phase([steady_stream(per_s=100, seconds=1, latency_ns=1000)], seconds=1, counters=counters)
    (record,) = read(run.end()).phases
    half = Span(record.whole.begin_ns, record.whole.begin_ns + NS // 2)

    assert Observed(None, record, half).wire_bytes_per_s == pytest.approx(4e6)  # type: ignore[arg-type]


# -- who got what ------------------------------------------------------------------------------------------------------


def test_fairness_and_the_straggler_have_their_closed_forms() -> None:
    rates = {"h1": 1000, "h2": 1000, "h3": 250}
    document = judged(MemorySet(ONE_PHASE, [Client(name, steady(rate)) for name, rate in rates.items()]))

    (pieces,) = document.sums
    (sum_,) = sums(document)
    assert pieces.label == sum_.label
    assert pieces.jain == pytest.approx(2250**2 / (3 * (2 * 1000**2 + 250**2)), rel=1e-3)
    assert pieces.spread == pytest.approx(4.0, rel=1e-3)
    assert pieces.straggler is not None
    assert pieces.straggler.client == "h3"
    assert pieces.straggler.ratio == pytest.approx(0.25, rel=1e-3)
    assert sum(rate.iops for rate in pieces.rates) == pytest.approx(sum_.iops, rel=1e-9)
    assert [rate.share for rate in pieces.rates] == pytest.approx([4 / 9, 4 / 9, 1 / 9], rel=1e-3)
    assert [rate.label for rate in pieces.rates] == [of_client(document, name)[0].label for name in rates]
    assert ids(sum_, "weak") >= {"uneven-clients"}
    text = text_of(sum_, "uneven-clients")
    assert "h3 had 25 %" in text
    assert text.endswith(f" Why: {pieces.straggler.cause.removesuffix('.')}.")


def test_the_rates_of_clients_are_those_of_the_window_of_the_sum() -> None:
    ramped = one_plan(phase("p", ramp_s=4.0))

    def starting(per_s: int) -> SyntheticRun:
        start = steady_stream(per_s=4 * per_s, seconds=4, latency_ns=1000)
        rest = steady_stream(per_s=per_s, seconds=10, latency_ns=1000, begin_s=4.0)
        return SyntheticRun(ramped).phase([start.then(rest)], seconds=10, counters=QUIET).end()

    document = judged(MemorySet(ramped, [Client("h1", starting(1000)), Client("h2", starting(500), offset_ns=NS)]))

    (pieces,) = document.sums
    assert [rate.iops for rate in pieces.rates] == pytest.approx([1000, 500], rel=1e-2)
    assert sum(rate.iops for rate in pieces.rates) == pytest.approx(sums(document)[0].iops)
    assert pieces.window_s is not None
    assert pieces.window_s[0] == 4.0


@pytest.mark.parametrize("late_ns", [(60_000_000, 60_000_000), (0, 5_000_000)])
def test_a_window_from_an_edge_to_the_last_operation_is_as_long_as_what_is_counted_in_it(
    late_ns: Sequence[int],
) -> None:
    ramped = one_plan(phase("p", ramp_s=4.0))
    clients = [Client(f"h{i}", steady(1000, ramped), late_ns=late) for i, late in enumerate(late_ns)]

    (sum_,) = sums(judged(MemorySet(ramped, clients)))

    # One operation of each client lies on an edge, and the later one may end 0.05 % later than the mean.
    assert sum_.window_s is not None
    assert sum_.iops == pytest.approx(2000, abs=2 / (sum_.window_s[1] - sum_.window_s[0]) + 0.0005 * 2000)


def test_a_window_begins_when_the_clients_counted_and_not_when_they_should_have() -> None:
    ramped = one_plan(phase("p", ramp_s=4.0))
    late_ns = [0, 0, 0, 20_000_000, *[0] * 5]
    clients = [Client(name, late_ticks(steady(1000, ramped), late_ns)) for name in ("h1", "h2")]

    (sum_,) = sums(judged(MemorySet(ramped, clients)))

    # Both counted the operations of the last 6 s from 20 ms after their begin on.
    assert sum_.window_s == pytest.approx((4.02, 10.0), abs=1e-3)
    assert sum_.iops == pytest.approx(2 * 6000 / 5.98, rel=5e-4)


def test_equal_clients_are_fair_and_nobody_is_named() -> None:
    document = judged(MemorySet(ONE_PHASE, [Client(f"h{i}", steady(400)) for i in range(4)]))

    (pieces,) = document.sums
    assert (pieces.jain, pieces.spread) == pytest.approx((1.0, 1.0))
    assert pieces.straggler is None
    assert "uneven-clients" not in ids(sums(document)[0])


@pytest.mark.parametrize(("cause", "words"), [("cpu", "its own CPU"), ("pause", "it was paused")])
def test_the_straggler_is_named_with_what_its_own_machine_shows(cause: str | None, words: str) -> None:
    slow = SyntheticRun(ONE_PHASE)
    counters = Counters(on_cpu=0.99, block_delay=0.0) if cause == "cpu" else QUIET
    slow.phase([steady_stream(per_s=200, seconds=10, latency_ns=500_000)], seconds=10, counters=counters)
    if cause == "pause":
        slow.say(events.Paused(t_ns=15 * NS, phase_index=0, begun_ns=13 * NS, paused_ns=2 * NS))
    clients = [Client("h1", steady(1000)), Client("h2", steady(1000)), Client("h3", slow.end())]

    (pieces,) = judged(MemorySet(ONE_PHASE, clients)).sums

    assert pieces.straggler is not None
    assert words in pieces.straggler.cause


SAME_KIND = "CPU time: 4.95 ms per operation (median of the others: 990 µs)"


@pytest.mark.parametrize(("busy_others", "words"), [(0, "its own CPU: "), (1, "its own CPU: "), (2, SAME_KIND)])
def test_what_most_other_clients_have_as_well_is_a_cause_by_its_size_alone(busy_others: int, words: str) -> None:
    def client(name: str, per_s: int, *, is_busy: bool) -> Client:
        run = SyntheticRun(ONE_PHASE)
        counters = Counters(on_cpu=0.99, block_delay=0.0) if is_busy else QUIET
        run.phase([steady_stream(per_s=per_s, seconds=10, latency_ns=500_000)], seconds=10, counters=counters)
        return Client(name, run.end())

    others = [client(f"h{number}", 1000, is_busy=number <= busy_others) for number in (1, 2, 3)]

    (pieces,) = judged(MemorySet(ONE_PHASE, [*others, client("slow", 200, is_busy=True)])).sums

    assert pieces.straggler is not None
    assert words in pieces.straggler.cause


@pytest.mark.parametrize(
    ("usual", "slow", "cause"),
    [
        # The others' devices take 0.8 ms, its own 4 ms: a limit, or a slower device.
        (
            QUIET,
            QUIET,
            "waiting for storage, a link or a lock: 4.50 ms per operation (median of the others: 900 µs)",
        ),
        # All wait for CPUs; what limits it alone is that.
        (
            Counters(on_cpu=0.1, run_delay=0.3, block_delay=0.6),
            Counters(on_cpu=0.02, run_delay=0.86, block_delay=0.12),
            "its own CPU: its workers waited for a CPU for 86 % of their time; the load itself used 0.0 of 8 CPUs",
        ),
        (
            Counters(on_cpu=0.1, run_delay=0.55, block_delay=0.35),
            Counters(on_cpu=0.02, run_delay=0.86, block_delay=0.12),
            "waiting for a CPU: 4.30 ms per operation (median of the others: 550 µs)",
        ),
    ],
)
def test_the_straggler_is_named_with_the_kind_of_time_that_it_has_more_of(
    usual: Counters, slow: Counters, cause: str
) -> None:
    def client(name: str, per_s: int, counters: Counters) -> Client:
        run = SyntheticRun(ONE_PHASE)
        run.phase([steady_stream(per_s=per_s, seconds=10, latency_ns=500_000)], seconds=10, counters=counters)
        return Client(name, run.end())

    clients = [client("h1", 1000, usual), client("h2", 1000, usual), client("slow", 200, slow)]

    (pieces,) = judged(MemorySet(ONE_PHASE, clients)).sums

    assert pieces.straggler is not None
    assert pieces.straggler.cause == cause


def test_the_window_is_the_time_in_which_all_clients_were_at_work() -> None:
    short = SyntheticRun(ONE_PHASE)
    short.phase([steady_stream(per_s=100, seconds=6, latency_ns=500_000)], seconds=6, stopped_by=events.StoppedBy.OPS)
    clients = [Client("h1", steady(1000), offset_ns=9 * NS), Client("h2", short.end(), offset_ns=-9 * NS)]

    document = judged(MemorySet(ONE_PHASE, clients))

    (sum_,) = sums(document)
    (pieces,) = document.sums
    assert "workers-apart" in ids(sum_, "invalid")
    assert "uneven-clients" not in ids(sum_)
    assert sum_.window_s == pytest.approx((0.0, 5.0), abs=1.001)
    assert (sum_.iops, sum_.iops_interval, sum_.throughput_bytes_per_s, sum_.limiter) == (None,) * 4
    assert (pieces.window_s, pieces.jain, pieces.spread, pieces.straggler) == (None,) * 4
    assert pieces.all_at_work_s == pytest.approx((0.0, 5.0), abs=1e-2)
    # Each by itself, over all of its own time.
    assert [rate.iops for rate in pieces.rates] == pytest.approx([1000, 100], rel=1e-2)
    assert [rate.throughput_bytes_per_s for rate in pieces.rates] == pytest.approx([1000 * 4096, 0.0], rel=1e-2)
    assert [rate.share for rate in pieces.rates] == [None, None]
    assert of_client(document, "h1")[0].ops == 10_000


@pytest.mark.parametrize(("late_ms", "severity"), [(50, "warning"), (300, "invalid")])
def test_a_window_without_an_interval_has_no_sum(late_ms: int, severity: str) -> None:
    late = Client("h2", steady(1000, seconds=0.9), late_ns=late_ms * 1_000_000)

    document = judged(MemorySet(ONE_PHASE, [Client("h1", steady(1000, seconds=0.9)), late]))

    (sum_,) = sums(document)
    assert "workers-apart" in ids(sum_, severity)
    texts = [finding.text for finding in sum_.findings if (finding.id, finding.severity) == ("workers-apart", severity)]
    assert any(" sum" in text for text in texts)
    assert (sum_.iops, document.sums[0].jain) == (None, None)
    assert [rate.iops for rate in document.sums[0].rates] == pytest.approx([1000, 1000], rel=1e-2)


@pytest.mark.parametrize(("short_s", "is_sum"), [(7.9, False), (8.1, True)])
def test_there_is_a_sum_from_four_fifths_of_the_time_on(short_s: float, is_sum: bool) -> None:
    clients = [Client("h1", steady(1000)), Client("h2", steady(1000, seconds=short_s))]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, clients)))

    assert (sum_.iops is not None) is is_sum


def test_rates_of_clients_are_over_the_window_that_is_told() -> None:
    short = SyntheticRun(ONE_PHASE)
    short.phase([steady_stream(per_s=1000, seconds=9.65, latency_ns=1000)], seconds=9.65, counters=QUIET)
    clients = [Client("h1", short.end()), Client("h2", steady(1000))]

    document = judged(MemorySet(ONE_PHASE, clients))

    (pieces,) = document.sums
    (sum_,) = sums(document)
    assert pieces.window_s == pytest.approx(sum_.window_s)
    assert pieces.window_s is not None
    length_s = pieces.window_s[1] - pieces.window_s[0]
    assert [rate.iops * length_s for rate in pieces.rates] == pytest.approx([9000, 9000])
    assert pieces.all_at_work_s == pytest.approx((0.0, 9.0), abs=2e-3)


# -- the start ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("late_ms", "severity"), [(20, None), (300, "note"), (900, "warning")])
def test_clients_that_began_apart_are_told_by_the_share_of_the_phase(late_ms: int, severity: str | None) -> None:
    clients = [Client("h1", steady(1000)), Client("h2", steady(1000), late_ns=late_ms * 1_000_000)]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, clients)))

    found = [finding.severity for finding in sum_.findings if finding.id == "clients-apart"]
    assert found == ([] if severity is None else [severity])


@pytest.mark.parametrize(("bound_ms", "severity"), [(99, None), (101, "warning")])
def test_a_clock_that_is_hardly_known_makes_the_sum_uncertain(bound_ms: int, severity: str | None) -> None:
    clients = [Client("h1", steady(1000)), Client("h2", steady(1000), bound_ns=bound_ms * 1_000_000)]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, clients)))

    found = [finding.severity for finding in sum_.findings if finding.id == "clients-apart" and "clock" in finding.text]
    assert found == ([] if severity is None else [severity])


# -- lost clients ------------------------------------------------------------------------------------------------------

THREE_PHASES = one_plan(phase("a"), phase("b"), phase("c"))
STARTS_S = (0.0, 11.0, 22.0)


def lost_in_b(at_s: float) -> SyntheticRun:
    """A client whose stream ends so far into its second phase."""
    run = SyntheticRun(THREE_PHASES)
    for index, seconds in enumerate((10.0, at_s)):
        stream = steady_stream(per_s=100, seconds=seconds, latency_ns=500_000, bytes_each=4096)
        run.phase([stream], seconds=seconds, index=index, counters=QUIET, is_cut=index == 1)
    return run


def lost_at(seconds: float, *, reason: str = "its connection was closed") -> Lost:
    heard_ns = FIRST_PHASE_NS + round(seconds * NS)
    return Lost(heard_ns=heard_ns, noticed_ns=heard_ns + NS // 10, reason=reason, phase_index=1)


def with_a_lost_one() -> MemorySet:
    clients = [
        Client("h1", steady(1000, THREE_PHASES), offset_ns=50 * NS),
        Client("h2", lost_in_b(4.0), offset_ns=-NS, lost=lost_at(15.0)),
    ]
    return MemorySet(THREE_PHASES, clients, starts_s=STARTS_S, members={2: ("h1",)})


def test_a_sum_ends_where_a_client_was_lost() -> None:
    document = judged(with_a_lost_one())

    before, cut, after = sums(document)
    assert (before.ops, before.workers) == (11_000, 2)
    assert "clients-lost" not in ids(before)
    assert (cut.ops, cut.seconds, cut.workers) == (4 * 1100, 4.0, 2)
    assert cut.iops == 1100.0
    assert "clients-lost" in ids(cut, "warning")
    assert "unfinished" not in ids(cut)
    assert "h2 was lost 15.0 s into the run" in text_of(cut, "clients-lost")
    assert (after.ops, after.workers) == (10_000, 1)
    assert "clients-lost" in ids(after, "invalid")
    assert "1 of 2 clients" in text_of(after, "clients-lost")
    assert [pieces.clients for pieces in document.sums] == [2, 2, 1]
    assert document.run.exit_code == 1


def cut_at(seconds: float, per_s: int = 1000) -> SyntheticRun:
    """A client whose stream ends so far into its only phase."""
    run = SyntheticRun(ONE_PHASE)
    stream = steady_stream(per_s=per_s, seconds=seconds, latency_ns=500_000, bytes_each=4096)
    return run.phase([stream], seconds=seconds, counters=QUIET, is_cut=True)


def planned(late_s: float, seconds: float, paused_s: float = 0.0, *, is_lost: bool = False) -> tuple[Client, IntArray]:
    """A client of 1000 operations a second, and when it completed each after the agreed start; pauses begin at 1.234 s."""
    stream = steady_stream(per_s=1000, seconds=seconds, latency_ns=100_000)
    pause_ns = round(1.234 * NS)
    worked = (stream.done_ns <= pause_ns) | (stream.done_ns > pause_ns + round(paused_s * NS))
    stream = dataclasses.replace(stream, done_ns=stream.done_ns[worked], latency_ns=stream.latency_ns[worked])
    run = SyntheticRun(one_plan(phase(), sample_interval_s=0.1))
    still_s = (1.234, 1.234 + paused_s)
    run.phase([stream], seconds=seconds, counters=QUIET, is_cut=is_lost, stood_still_s=still_s)
    late_ns = round(late_s * NS)
    client = Client("", run if is_lost else run.end(), late_ns=late_ns, lost=lost_at(seconds) if is_lost else None)
    return client, stream.done_ns + late_ns


@pytest.mark.parametrize(
    ("clients", "least_s"),
    [
        ([planned(0, 3.43), planned(0, 3.43), planned(0, 3.5)], 2.4),
        ([planned(0, 3.5), planned(0.07, 3.5), planned(0.035, 3.5)], 2.4),
        ([planned(0, 3.5), planned(0.13, 3.4), planned(0.09, 3.5)], 2.4),
        ([planned(0, 3.5), planned(0, 3.42, 1.5), planned(0.03, 3.5)], 2.4),
        ([planned(0, 3.47), planned(0.02, 3.5), planned(0.05, 2.83, is_lost=True)], 2.4),
        # Paused where the window would begin, by the steady rate or by who was late, or end, by who was lost.
        ([planned(0, 3.5), planned(0, 3.5, 1.0), planned(0, 3.5)], 1.0),
        ([planned(1.3, 5.7), planned(0, 7.0, 0.7), planned(0, 7.0)], 4.5),
        ([planned(0, 3.5), planned(0, 3.5, 0.7), planned(0, 1.65, is_lost=True)], 1.1),
    ],
)
def test_a_sum_is_of_the_time_in_which_all_clients_worked_and_of_no_more(
    clients: list[tuple[Client, IntArray]], least_s: float
) -> None:
    named = [dataclasses.replace(client, name=f"h{number}") for number, (client, _) in enumerate(clients)]

    (sum_,) = sums(judged(MemorySet(named[0].run.plan, named)))

    assert sum_.window_s is not None
    begin_s, end_s = sum_.window_s
    done = np.concatenate([done_ns for _, done_ns in clients]) / NS
    by_hand = ((done > begin_s) & (done <= end_s)).sum() / (end_s - begin_s)
    assert sum_.iops == pytest.approx(by_hand, rel=1e-3)
    assert begin_s >= max(done_ns[0] / NS for _, done_ns in clients) - 0.002
    assert end_s <= min(done_ns[-1] / NS for _, done_ns in clients) + 0.003
    assert end_s - begin_s > least_s


def late_and_lost(late_s: float) -> MemorySet:
    """Three clients of 1000 operations a second: h1 begins late, h2 is lost after 8 s."""
    return MemorySet(
        ONE_PHASE,
        [
            Client("h1", steady(1000), late_ns=round(late_s * NS)),
            Client("h2", cut_at(8.0), lost=lost_at(8.0)),
            Client("h3", steady(1000)),
        ],
    )


def test_a_sum_that_a_loss_cuts_is_of_the_time_in_which_all_were_at_work() -> None:
    (sum_,) = sums(judged(late_and_lost(1.0)))

    # All three were there for 7 s of the first 8.
    assert sum_.window_s == pytest.approx((1.0, 8.0))
    assert sum_.iops == pytest.approx(3000, rel=1e-3)
    assert "workers-apart" in ids(sum_, "warning")
    assert "7.00 s before (1.00 s to 8.00 s of the phase), in which all 3 clients" in text_of(sum_, "clients-lost")


def test_a_sum_that_a_loss_cuts_is_invalid_where_clients_hardly_met() -> None:
    (sum_,) = sums(judged(late_and_lost(4.0)))

    assert "all were at work for 50 % of the time" in text_of(sum_, "workers-apart")
    assert (sum_.trust.level, sum_.iops) == (TrustLevel.NO, None)
    assert "there is no sum of the time before" in text_of(sum_, "clients-lost")


def test_what_ended_before_a_loss_ends_the_time_in_which_all_were_at_work() -> None:
    clients = [
        Client("h1", steady(1000, seconds=9.0)),
        Client("h2", cut_at(10.0), lost=lost_at(10.0)),
        Client("h3", steady(1000)),
    ]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, clients)))

    assert sum_.window_s == pytest.approx((0.0, 9.0), abs=1e-3)
    assert sum_.iops == pytest.approx(3000, rel=1e-3)


def test_the_results_of_the_others_are_as_if_nobody_had_been_lost() -> None:
    document = judged(with_a_lost_one())

    alone = judged(steady(1000, THREE_PHASES)).results
    for mine, theirs in zip(of_client(document, "h1"), alone, strict=True):
        assert msgspec.structs.replace(mine, client=None, label=theirs.label) == theirs
    assert [result.ops for result in of_client(document, "h2")] == [1000, 400]
    assert document.clients[1].lost_s == 15.0
    assert document.clients[1].lost_reason == "its connection was closed"
    assert (document.clients[0].is_complete, document.clients[1].is_complete) == (True, False)


def test_a_stream_that_was_collected_later_makes_its_phase_whole() -> None:
    lost = msgspec.structs.replace(lost_at(15.0), is_collected=True)
    clients = [
        Client("h1", steady(1000, THREE_PHASES)),
        Client("h2", steady(100, THREE_PHASES), lost=lost),
    ]

    document = judged(MemorySet(THREE_PHASES, clients, starts_s=STARTS_S))

    assert [result.ops for result in sums(document)] == [11_000] * 3
    assert all("clients-lost" not in ids(result) for result in sums(document))
    assert document.clients[1].is_complete


def test_a_sum_ends_where_a_lost_client_stopped_whose_stream_was_collected_later() -> None:
    stopped = SyntheticRun(ONE_PHASE)
    stream = steady_stream(per_s=1000, seconds=6.4, latency_ns=500_000)
    stopped.phase([stream], seconds=6.4, counters=QUIET, stopped_by=events.StoppedBy.CONTROL)
    lost = msgspec.structs.replace(lost_at(6.0), phase_index=0, is_collected=True)
    clients = [Client("h1", steady(1000)), Client("h2", stopped.end(), lost=lost), Client("h3", steady(1000))]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, clients)))

    assert sum_.window_s == pytest.approx((0.0, 6.0))
    assert sum_.iops == pytest.approx(3000, rel=1e-3)
    assert "the sum covers the 6.00 s before" in text_of(sum_, "clients-lost")


def test_a_client_that_never_began_makes_a_sum_of_fewer() -> None:
    lost = Lost(heard_ns=LEADER_NS, noticed_ns=LEADER_NS + 1, reason="it did not answer", phase_index=None)
    clients = [Client("h1", steady(1000)), Client("h2", SyntheticRun(ONE_PHASE), lost=lost, has_stream=False)]

    document = judged(MemorySet(ONE_PHASE, clients, members={0: ("h1",)}))

    (sum_,) = sums(document)
    assert (sum_.ops, sum_.workers) == (10_000, 1)
    assert "clients-lost" in ids(sum_, "invalid")
    assert document.clients[1].name == "h2"
    assert of_client(document, "h2") == []


def test_a_client_that_came_to_the_end_without_an_interval_is_said_to_be_absent() -> None:
    silent = steady(100)
    for rows in silent._rows.values():
        rows.clear()

    document = judged(MemorySet(ONE_PHASE, [Client("h1", steady(1000)), Client("h2", silent)]))

    (sum_,) = sums(document)
    assert (sum_.ops, sum_.workers, document.sums[0].clients) == (10_000, 1, 1)
    assert "clients-lost" in ids(sum_, "invalid")
    assert text_of(sum_, "clients-lost").startswith("The sum has 1 of 2 clients: h2 finished the phase, and no record")


def test_where_a_client_was_lost_all_have_begun_when_their_starts_were_ordered() -> None:
    slow = SyntheticRun(ONE_PHASE)
    slow.phase([steady_stream(per_s=1000, seconds=10, latency_ns=1000, begin_s=0.5)], seconds=10, counters=QUIET)
    cut = SyntheticRun(ONE_PHASE)
    cut.phase([steady_stream(per_s=1000, seconds=8, latency_ns=1000)], seconds=8, counters=QUIET, is_cut=True)
    clients = [
        Client("h1", slow.end(), late_ns=1_000_000),
        Client("h2", cut, late_ns=3_000_000, lost=lost_at(8.0)),
    ]

    (start,) = judged(MemorySet(ONE_PHASE, clients)).starts

    assert [one.late_ns for one in start.starts] == pytest.approx([1_000_000, 3_000_000], abs=1000)
    assert start.skew_ns == pytest.approx(2_000_000, abs=1000)


def observer_of(its_plan: plan.Plan) -> SyntheticRun:
    run = SyntheticRun(its_plan)
    for index in range(len(its_plan.phases)):
        run.phase([], seconds=10, index=index, counters=QUIET)
    return run.end()


def test_a_phase_that_only_an_observer_lived_to_see_has_no_sum() -> None:
    watched = Client("srv", observer_of(THREE_PHASES), offset_ns=-5 * NS, role=Role.OBSERVER)
    clients = [Client("h2", lost_in_b(4.0), lost=lost_at(15.0)), watched]

    document = judged(MemorySet(THREE_PHASES, clients, starts_s=STARTS_S))

    assert [result.ops for result in sums(document)] == [1000, 400]
    assert [start.phase for start in document.starts] == ["a", "b"]


def test_observers_alone_have_nothing_to_sum() -> None:
    watched = Client("srv", observer_of(ONE_PHASE), role=Role.OBSERVER)

    document = judged(MemorySet(ONE_PHASE, [watched]))

    assert not any((document.results, document.starts, document.sums))
    assert [client.role for client in document.clients] == ["observer"]


# -- the machines ------------------------------------------------------------------------------------------------------

LINK_BYTES_PER_S = 100e6 / 8


def server(
    *,
    sent_bytes: float,
    disk_bytes: float = 0.0,
    link: bool = True,
    io_ns: int = 0,
    more: Mapping[str, float] = MappingProxyType({}),
) -> SyntheticRun:
    """A server that is only looked at, for a phase of 10 s; `more` is what other interfaces sent."""
    facts = {**BLOCK_BACKED, **({LINK_FACT: LINK_BYTES_PER_S} if link else {})}
    run = SyntheticRun(ONE_PHASE, facts=facts)
    others = {
        ("net", "eth0", "tx_bytes"): (7e9, 7e9 + sent_bytes),
        ("net", "eth0", "rx_bytes"): (5e9, 5e9 + 1e6),
        ("net", "lo", "tx_bytes"): (0.0, 1e12),
        **{("net", name, "tx_bytes"): (3e9, 3e9 + moved) for name, moved in more.items()},
        ("diskstats", "sda", "weighted_io_ns"): (0.0, 8.0 * io_ns),
    }
    counters = Counters(devices={"sda": (round(disk_bytes), 0)}, device_ns=io_ns, others=others)
    return run.phase([], seconds=10, counters=counters).end()


def reads_of(per_s: int) -> SyntheticRun:
    run = SyntheticRun(ONE_PHASE)
    stream = steady_stream(per_s=per_s, seconds=10, latency_ns=500_000, bytes_each=MIB)
    return run.phase([stream], seconds=10, counters=QUIET).end()


def test_the_full_link_of_an_observed_server_limits_the_sum() -> None:
    sent = 0.97 * LINK_BYTES_PER_S * 10
    watched = Client("server1", server(sent_bytes=sent), offset_ns=77 * NS, role=Role.OBSERVER)
    clients = [Client("h1", reads_of(5)), Client("h2", reads_of(5)), watched]

    document = judged(MemorySet(ONE_PHASE, clients))

    (sum_,) = sums(document)
    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.NETWORK_BANDWIDTH, Confidence.HIGH)
    assert "server1's link" in sum_.limiter.evidence[0]
    assert "97 %" in sum_.limiter.evidence[0]
    assert sum_.limiter.headroom == pytest.approx(1 / 0.97, rel=0.001)
    assert [result.client for result in document.results] == [None, "h1", "h2"]
    assert {one.limiter.remedy for one in document.results if one.limiter} == {
        "Use a faster link to server1, or several."
    }
    assert [(one.name, one.role) for one in document.clients][-1] == ("server1", "observer")


def test_a_limit_of_one_client_alone_keeps_its_own_advice() -> None:
    of_set = Conclusion(Bottleneck.DEVICE_THROUGHPUT, Confidence.HIGH, (), remedy="Use faster disks in s1.")

    def advice(verdict: Bottleneck) -> str:
        own = Limiter(verdict=verdict, confidence=Confidence.HIGH, evidence=(), remedy="Own.")
        found = with_advice(own, of_set)
        assert found is not None
        return found.remedy

    assert advice(Bottleneck.THROTTLE_IO) == "Own."
    assert advice(Bottleneck.OPERATION_LATENCY) == advice(Bottleneck.DEVICE_THROUGHPUT) == "Use faster disks in s1."


def test_a_link_that_was_said_of_the_run_may_be_that_of_the_clients() -> None:
    watched = Client("s1", server(sent_bytes=0.97 * LINK_BYTES_PER_S * 10, link=False), role=Role.OBSERVER)
    clients = [Client("h1", reads_of(5)), Client("h2", reads_of(5)), watched]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, clients, facts={LINK_FACT: LINK_BYTES_PER_S})))

    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.NETWORK_BANDWIDTH, Confidence.MEDIUM)
    assert "if s1's link is the one that --link means" in sum_.limiter.evidence[0]


@pytest.mark.parametrize("of_run", [LINK_BYTES_PER_S, 10 * LINK_BYTES_PER_S])
def test_what_the_driver_says_of_the_busiest_link_of_a_server_is_sure(of_run: float) -> None:
    run = server(sent_bytes=0.97 * LINK_BYTES_PER_S * 10, link=False)
    speeds = {"eth0": LINK_BYTES_PER_S, "eth1": LINK_BYTES_PER_S / 1e3}
    facts = {LINK_SPEED_FACT.format(interface=name): speed for name, speed in speeds.items()}
    run.facts = (*run.facts, *facts_of(dict(facts)))
    clients = [Client("h1", reads_of(5)), Client("s1", run, role=Role.OBSERVER)]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, clients, facts={LINK_FACT: of_run})))

    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.NETWORK_BANDWIDTH, Confidence.HIGH)


@pytest.mark.parametrize(("share", "is_device"), [(0.84, False), (0.86, True), (1.09, True), (1.2, False)])
def test_disks_give_all_near_what_they_can_and_others_are_meant_far_above(share: float, is_device: bool) -> None:
    most = 50e6
    watched = Client("s1", server(sent_bytes=1e6, disk_bytes=share * most * 10, link=False), role=Role.OBSERVER)

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [Client("h1", reads_of(5)), watched], facts={DEVICE_FACT: most})))

    assert sum_.limiter is not None
    assert (sum_.limiter.verdict is Bottleneck.DEVICE_THROUGHPUT) is is_device
    if is_device:
        assert sum_.limiter.confidence is Confidence.MEDIUM
        assert "if s1's disks are those that --device means" in sum_.limiter.evidence[0]
        # A faster disk helps by what is left of this one; above it, nothing is left.
        assert sum_.limiter.headroom == pytest.approx(max(1.0, 1 / share), rel=0.01)


def test_what_the_server_moved_stands_beside_what_the_clients_asked_for() -> None:
    asked = 2 * 5 * 10 * MIB
    watched = Client("srv", server(sent_bytes=1.04 * asked, disk_bytes=0.5 * asked, link=False), role=Role.OBSERVER)

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [Client("h1", reads_of(5)), Client("h2", reads_of(5)), watched])))

    assert "second-counter" in ids(sum_, "note")
    told = text_of(sum_, "second-counter")
    assert "The clients read 100 MiB" in told
    assert "its only interface (eth0) sent 104 MiB (1.04 times that)" in told
    assert "its disks read 50.0 MiB (0.5 times that)." in told


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"eth1": 0.04, "eth2": 0.0}, "It has 2 others."),
        ({"eth1": 0.01, "eth2": 0.5}, "It has 2 others, and eth2 sent 50.0 MiB: that may be more of the data"),
        ({"eth1": 0.06}, "It has 1 other, and eth1 sent 6.00 MiB: that may be more of the data"),
    ],
)
def test_a_server_with_several_interfaces_is_not_taken_for_one_with_a_cache(more: dict[str, float], said: str) -> None:
    asked = 2 * 5 * 10 * MIB
    moved = {name: share * asked for name, share in more.items()}
    watched = Client("srv", server(sent_bytes=0.5 * asked + 1, link=False, more=moved), role=Role.OBSERVER)

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [Client("h1", reads_of(5)), Client("h2", reads_of(5)), watched])))

    told = text_of(sum_, "second-counter")
    assert "its busiest interface (eth0) sent 50.0 MiB (0.5 times that)" in told
    assert said in told


def test_of_a_server_that_is_a_client_too_nothing_is_said_of_the_wire() -> None:
    asked = 2 * 5 * 10 * MIB
    watched = Client("srv", server(sent_bytes=0.5 * asked, link=False), role=Role.OBSERVER, hostname="box")
    clients = [Client("h1", reads_of(5)), Client("h2", reads_of(5), hostname="box"), watched]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, clients)))

    told = text_of(sum_, "second-counter")
    assert "interface" not in told
    assert "of srv, its disks read 0 B (0 times that)." in told


def test_a_busy_disk_of_the_server_is_named_with_low_confidence() -> None:
    watched = Client("srv", server(sent_bytes=1e6, link=False, io_ns=10 * NS), role=Role.OBSERVER)

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [Client("h1", reads_of(5)), Client("h2", reads_of(5)), watched])))

    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.DEVICE_SATURATED, Confidence.LOW)
    assert "srv's sda" in sum_.limiter.evidence[0]


def of_cpu(share: float) -> SyntheticRun:
    """A client whose one worker was on a CPU for a share of the time."""
    counters = Counters(on_cpu=share, block_delay=0.0, process_cpu_ns=round(share * 10 * NS))
    run = SyntheticRun(ONE_PHASE)
    stream = steady_stream(per_s=1000, seconds=10, latency_ns=900_000)
    return run.phase([stream], seconds=10, counters=counters).end()


def test_a_busy_disk_of_the_server_yields_to_clients_that_are_sure_of_their_own() -> None:
    watched = Client("srv", server(sent_bytes=1e6, link=False, io_ns=10 * NS), role=Role.OBSERVER)
    clients = [Client(f"h{i}", of_cpu(0.99)) for i in range(4)]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [*clients, watched])))

    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.CLIENT_CPU_SINGLE, Confidence.HIGH)
    assert "4 of 4 clients" in sum_.limiter.evidence[0]
    assert "srv's sda" in sum_.limiter.evidence[-1]


def waiting() -> SyntheticRun:
    """A client whose one operation at a time takes all of the time, and nothing is full."""
    run = SyntheticRun(ONE_PHASE)
    stream = steady_stream(per_s=1000, seconds=10, latency_ns=1_000_000)
    return run.phase([stream], seconds=10, counters=Counters(on_cpu=0.1, block_delay=0.8)).end()


def test_a_busy_disk_of_the_server_is_what_clients_that_only_wait_may_wait_for() -> None:
    watched = Client("srv", server(sent_bytes=1e6, link=False, io_ns=10 * NS), role=Role.OBSERVER)

    document = judged(MemorySet(ONE_PHASE, [*(Client(f"h{i}", waiting()) for i in range(4)), watched]))

    own = of_client(document, "h0")[0].limiter
    assert own is not None
    assert (own.verdict, own.confidence) == (Bottleneck.OPERATION_LATENCY, Confidence.MEDIUM)
    (sum_,) = sums(document)
    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.DEVICE_SATURATED, Confidence.LOW)


@pytest.mark.parametrize("order", [("cpu", "waits"), ("waits", "cpu")])
def test_where_as_many_clients_say_one_thing_as_another_nothing_is_said_of_the_sum(order: tuple[str, str]) -> None:
    runs = {"cpu": of_cpu(0.99), "waits": waiting()}

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [Client(f"h{i}", runs[kind]) for i, kind in enumerate(order)])))

    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.UNKNOWN, Confidence.LOW)
    assert sorted(text.split(" (")[0] for text in sum_.limiter.evidence) == [
        "operation latency by 1 of 2 clients themselves",
        "single client CPU by 1 of 2 clients themselves",
    ]


def test_without_observers_the_limiter_is_what_most_clients_say() -> None:
    clients = [Client(f"h{i}", of_cpu(0.99 if i < 3 else 0.2)) for i in range(4)]

    document = judged(MemorySet(ONE_PHASE, clients))

    (sum_,) = sums(document)
    own = [of_client(document, client.name)[0].limiter for client in clients]
    assert [limiter.verdict for limiter in own if limiter] == [Bottleneck.CLIENT_CPU_SINGLE] * 3 + [
        Bottleneck.OPERATION_LATENCY
    ]
    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.CLIENT_CPU_SINGLE, Confidence.MEDIUM)
    assert "3 of 4 clients" in sum_.limiter.evidence[0]


def test_what_clients_say_of_themselves_is_said_once_beside_the_sum() -> None:
    document = judged(MemorySet(ONE_PHASE, [Client("h1", steady(100)), Client("h2", contended())]))

    (sum_,) = sums(document)
    assert "cpu-contention" in ids(sum_, "warning")
    assert text_of(sum_, "cpu-contention").startswith("h2: Worker 0 ")
    assert "cpu-contention (1 of 2 clients)".replace("-", " ") in [reason.text for reason in sum_.trust.reasons]
    assert "cpu-contention" in ids(of_client(document, "h2")[0], "warning")
    assert "cpu-contention" not in ids(of_client(document, "h1")[0])


def test_causes_of_one_finding_are_carried_each_with_its_clients() -> None:
    def slow(profile: str = "release") -> SyntheticRun:
        run = SyntheticRun(ONE_PHASE, first=hello(cpus=8, read_cost_ns=15_000.0, profile=profile))
        return run.phase([steady_stream(per_s=100, seconds=10, latency_ns=1_000_000)], seconds=10).end()

    document = judged(MemorySet(ONE_PHASE, [Client("h1", slow("debug")), Client("h2", slow())]))

    (sum_,) = sums(document)
    found = {finding.severity: finding.text for finding in sum_.findings if finding.id == "engine-cost"}
    assert found.keys() == {"warning", "note"}
    assert found["warning"].startswith("h1: The engine is a debug build.")
    assert found["note"].startswith("h1, h2: Reading the clock twice takes 3.0 % of the median latency")


def test_findings_of_many_clients_are_few_lines() -> None:
    warned = [steady(50) for _ in range(40)]
    for number, run in enumerate(warned):
        run.say(events.Warning(t_ns=1, phase_index=None, id="direct-refused", text="tmpfs"))
        run.say(events.Warning(t_ns=2, phase_index=0, id="stalled", text=f"stood still for {number} s"))

    document = judged(MemorySet(ONE_PHASE, [Client(f"h{i}", run) for i, run in enumerate(warned)]))

    (said,) = [finding for finding in document.findings if finding.id == "direct-refused"]
    assert said.text == "h0, h1, h2 and 37 more: tmpfs"
    (stalled,) = [finding for finding in sums(document)[0].findings if finding.id == "stalled"]
    assert stalled.text == "h0: stood still for 0 s (The like of h1, h2, h3 and 36 more.)"
    assert len(document.findings) < 10


def test_streams_of_two_clients_are_numbered_on_after_each_other() -> None:
    two = one_plan(phase("p", one_job(workers=2)))
    runs = [
        SyntheticRun(two)
        .phase([steady_stream(per_s=10 * (n + 1), seconds=10, latency_ns=1000, worker=w) for w in range(2)], seconds=10)
        .end()
        for n in range(3)
    ]

    (record,) = read(MemorySet(two, [Client(f"h{n}", run) for n, run in enumerate(runs)])).phases

    last = record.workers_at("job")
    assert [row["ops"] for row in last.values()] == [100, 100, 200, 200, 300, 300]
    assert record.finished is not None
    assert [window.worker for window in record.finished.workers] == list(range(6))
    assert record.phase.jobs[0].workers == 6


def test_more_workers_than_one_engine_may_have_are_still_summed() -> None:
    many_workers = one_plan(phase("p", one_job(workers=9000)))
    streams = [Stream(np.array([NS]), np.array([1000]), worker=w) for w in (0, 8999)]
    runs = [SyntheticRun(many_workers).phase(streams, seconds=2).end() for _ in range(2)]

    run = read(MemorySet(many_workers, [Client("a", runs[0]), Client("b", runs[1])]))

    assert sorted(run.phases[0].workers_of("job")) == [0, 8999, 9000, 17_999]


def test_hello_of_a_set_needs_no_client_to_have_begun() -> None:
    lost = Lost(heard_ns=LEADER_NS, noticed_ns=LEADER_NS, reason="killed", phase_index=None)
    silent = SyntheticRun(ONE_PHASE, first=hello())

    document = judged(MemorySet(ONE_PHASE, [Client("a", silent, lost=lost)], members={0: ()}))

    assert not any((document.results, document.starts, document.sums))


@pytest.mark.parametrize(("slow_per_s", "is_named"), [(790, True), (810, False)])
def test_a_straggler_has_less_than_four_fifths_of_what_is_usual(slow_per_s: int, is_named: bool) -> None:
    clients = [Client(f"h{per_s}-{i}", steady(per_s)) for i, per_s in enumerate((1000, 1000, slow_per_s))]

    document = judged(MemorySet(ONE_PHASE, clients))

    assert (document.sums[0].straggler is not None) is is_named
    # Jain's index is far above 0.9: the sum is as good as even.
    assert ("uneven-clients" in ids(sums(document)[0], "note")) is is_named


@pytest.mark.parametrize(("slow_per_s", "severity"), [(520, "note"), (480, "weak")])
def test_a_sum_of_two_clients_is_weak_where_one_did_less_than_half_of_the_other(slow_per_s: int, severity: str) -> None:
    # Jain's index of 1 and 1 / 2 is (3 / 2)^2 / (2 * 5 / 4) = 0.9.
    clients = [Client(f"h{per_s}", steady(per_s)) for per_s in (1000, slow_per_s)]

    document = judged(MemorySet(ONE_PHASE, clients))

    assert "uneven-clients" in ids(sums(document)[0], severity)


def test_a_handful_of_operations_makes_nobody_uneven() -> None:
    few = [Client(f"h{i}", steady(per_s, seconds=10)) for i, per_s in enumerate((1, 1, 10))]
    enough = [Client(f"h{i}", steady(per_s, seconds=10)) for i, per_s in enumerate((10, 10, 100))]

    assert "uneven-clients" not in ids(sums(judged(MemorySet(ONE_PHASE, few)))[0])
    assert "uneven-clients" in ids(sums(judged(MemorySet(ONE_PHASE, enough)))[0])


def test_a_straggler_whose_cache_did_not_serve_it_is_told_so() -> None:
    def reading(per_s: int, fetched: int) -> SyntheticRun:
        run = SyntheticRun(ONE_PHASE)
        stream = steady_stream(per_s=per_s, seconds=10, latency_ns=900_000, bytes_each=4096)
        counters = Counters(process_read_bytes=fetched, devices={"vda": (fetched, 0)}, block_delay=0.8)
        return run.phase([stream], seconds=10, counters=counters).end()

    cold = reading(100, 100 * 10 * 4096)
    clients = [Client("h1", reading(1000, 0)), Client("h2", reading(1000, 0)), Client("h3", cold)]

    (pieces,) = judged(MemorySet(ONE_PHASE, clients)).sums

    assert pieces.straggler is not None
    assert pieces.straggler.cause == (
        "its cache: it measured storage, and most others page cache; memory had 0 % of what it read (median of the others:"
        " 100 %)"
    )


@pytest.mark.parametrize(("share", "is_link"), [(0.84, False), (0.86, True), (1.09, True), (1.2, False)])
def test_a_link_is_full_near_what_it_carries_and_another_one_far_above(share: float, is_link: bool) -> None:
    watched = Client("srv", server(sent_bytes=share * LINK_BYTES_PER_S * 10), role=Role.OBSERVER)

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [Client("h1", reads_of(5)), watched])))

    assert sum_.limiter is not None
    assert (sum_.limiter.verdict is Bottleneck.NETWORK_BANDWIDTH) is is_link


def contended() -> SyntheticRun:
    run = SyntheticRun(ONE_PHASE)
    stream = steady_stream(per_s=100, seconds=10, latency_ns=500_000)
    return run.phase([stream], seconds=10, counters=Counters(run_delay=0.4, block_delay=0.1)).end()


@pytest.mark.parametrize(("clients", "severity"), [(20, "warning"), (21, "note")])
def test_what_spoils_one_client_of_many_is_a_note_beside_the_sum(clients: int, severity: str) -> None:
    quiet = [Client(f"c{i}", steady(100)) for i in range(clients - 1)]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [*quiet, Client("h2", contended())])))

    assert "cpu-contention" in ids(sum_, severity)


@pytest.mark.parametrize(("clients", "confidence"), [(10, Confidence.MEDIUM), (11, Confidence.HIGH)])
def test_a_sum_is_as_sure_as_its_clients_where_hardly_one_differs(clients: int, confidence: Confidence) -> None:
    full = [Client(f"c{i}", of_cpu(0.99)) for i in range(clients - 1)]

    (sum_,) = sums(judged(MemorySet(ONE_PHASE, [*full, Client("other", of_cpu(0.2))])))

    assert sum_.limiter is not None
    assert (sum_.limiter.verdict, sum_.limiter.confidence) == (Bottleneck.CLIENT_CPU_SINGLE, confidence)


# -- clients on one machine --------------------------------------------------------------------------------------------

OWN_BYTES = 400 * MIB
"""What each client of `beside` reads in 10 s."""


def beside(vda_bytes: int, *, device: str = "vda", cpus: float = 0.5, run_delay: float = 0.0) -> SyntheticRun:
    """A client that reads 400 MiB from a device, on a machine whose vda moved so much for all."""
    counters = Counters(
        process_cpu_ns=round(cpus * 10 * NS),
        process_read_bytes=OWN_BYTES,
        devices={"vda": (vda_bytes, 0), "vdb": (OWN_BYTES, 0)},
        device_ns=9 * NS,
        cpu_ns={"user_ns": 50 * NS, "idle_ns": 30 * NS},
        run_delay=run_delay,
        energy_uj={"package-0": 10**9},
    )
    run = SyntheticRun(ONE_PHASE, facts={**BLOCK_BACKED, "target.target.device.diskstats": (device,)})
    stream = steady_stream(per_s=40, seconds=10, latency_ns=500_000, bytes_each=MIB)
    return run.phase([stream], seconds=10, counters=counters).end()


def three_on(hostnames: Sequence[str], runs: Sequence[SyntheticRun]) -> list[Client]:
    return [
        Client(f"h{i}", run, hostname=name, late_ns=i * 1_000_000, offset_ns=i * NS)
        for i, (name, run) in enumerate(zip(hostnames, runs, strict=True))
    ]


def test_clients_on_one_machine_are_held_against_its_devices_together() -> None:
    clients = three_on(["big"] * 3, [beside(3 * OWN_BYTES) for _ in range(3)])

    document = judged(MemorySet(ONE_PHASE, clients))

    for name in ("h0", "h1", "h2"):
        (own,) = of_client(document, name)
        assert own.device_bytes == 3 * OWN_BYTES
        assert own.efficiency.device_bytes_per_byte == 1.0
        assert own.efficiency.joules_per_op is None
        assert not ids(own) & {"foreign-io", "second-counter"}
        assert own.cache.verdict == "storage"
        assert "machine-shared" in ids(own, "note")
    assert text_of(of_client(document, "h0")[0], "machine-shared").startswith("h1, h2 ran on the same machine")
    assert not ids(sums(document)[0]) & {"foreign-io", "second-counter"}
    assert "machine-shared" in ids(sums(document)[0], "note")


def test_what_others_moved_beside_all_clients_of_a_machine_is_told() -> None:
    clients = three_on(["big"] * 3, [beside(4 * OWN_BYTES) for _ in range(3)])

    document = judged(MemorySet(ONE_PHASE, clients))

    # A quarter of it: 400 of 1,600 MiB.
    for result in document.results:
        assert "400 MiB (25 %) were not this load's" in text_of(result, "foreign-io")


def test_clients_on_machines_of_their_own_are_held_against_these_alone() -> None:
    clients = three_on(["a", "b", "c"], [beside(3 * OWN_BYTES) for _ in range(3)])

    document = judged(MemorySet(ONE_PHASE, clients))

    (own,) = of_client(document, "h1")
    assert own.efficiency.device_bytes_per_byte == 3.0
    assert own.efficiency.joules_per_op == pytest.approx(1000 / 400)
    assert "(67 %) were not this load's" in text_of(own, "foreign-io")
    assert "machine-shared" not in ids(own)


def test_machines_of_one_hostname_are_told_apart_by_their_machine_ids() -> None:
    runs = [beside(3 * OWN_BYTES) for _ in range(3)]
    for number, run in enumerate(runs):
        run.facts = (*run.facts, *facts_of({MACHINE_ID_FACT: f"{number:016x}"}))

    document = judged(MemorySet(ONE_PHASE, three_on(["localhost"] * 3, runs)))

    assert "machine-shared" not in ids(of_client(document, "h1")[0])
    assert "foreign-io" in ids(of_client(document, "h1")[0])


def test_a_client_on_another_device_of_the_machine_has_no_part_in_this_one() -> None:
    runs = [beside(2 * OWN_BYTES), beside(2 * OWN_BYTES), beside(2 * OWN_BYTES, device="vdb")]

    document = judged(MemorySet(ONE_PHASE, three_on(["big"] * 3, runs)))

    for name in ("h0", "h1", "h2"):
        (own,) = of_client(document, name)
        assert own.efficiency.device_bytes_per_byte == 1.0
        assert "foreign-io" not in ids(own)


@pytest.mark.parametrize(("cpus", "id_"), [(2.5, "own-cpu-wait"), (1.0, "cpu-contention")])
def test_clients_of_one_machine_that_take_its_cpus_from_each_other_are_too_many(cpus: float, id_: str) -> None:
    runs = [beside(3 * OWN_BYTES, cpus=cpus, run_delay=0.4) for _ in range(3)]

    document = judged(MemorySet(ONE_PHASE, three_on(["big"] * 3, runs)))

    # The machine has 8 CPUs, and 5 of them were busy.
    (own,) = of_client(document, "h1")
    assert ids(own) & {"own-cpu-wait", "cpu-contention"} == {id_}
    assert f"{3 * cpus:.1f} of 8 CPUs" in text_of(own, id_)
    if id_ == "cpu-contention":
        assert "all else on the machine 2.0" in text_of(own, id_)


def test_nothing_is_said_of_a_machine_where_it_is_not_known_what_a_client_did() -> None:
    cut = SyntheticRun(ONE_PHASE)
    counters = Counters(process_cpu_ns=NS, process_read_bytes=OWN_BYTES // 2, devices={"vda": (3 * OWN_BYTES, 0)})
    stream = steady_stream(per_s=40, seconds=5, latency_ns=500_000, bytes_each=MIB)
    cut.phase([stream], seconds=5, counters=counters, is_cut=True)
    alone = three_on(["big"] * 2, [beside(3 * OWN_BYTES), beside(3 * OWN_BYTES)])
    clients = [*alone, Client("h2", cut, hostname="big", lost=lost_at(5.0))]

    document = judged(MemorySet(ONE_PHASE, clients))

    (own,) = of_client(document, "h0")
    assert own.device_bytes == 3 * OWN_BYTES
    assert own.efficiency.device_bytes_per_byte is None
    assert "foreign-io" not in ids(own)
    assert "what one of them did in this time is not known" in text_of(own, "machine-shared")


def test_a_backing_file_in_memory_is_seen_by_what_the_disks_gave_to_all_clients_of_the_machine() -> None:
    def on_a_loop() -> SyntheticRun:
        facts = {**BLOCK_BACKED, "target.target.device.diskstats": ("loop0",)}
        counters = Counters(process_read_bytes=OWN_BYTES, devices={"loop0": (3 * OWN_BYTES, 0), "sda": (OWN_BYTES, 0)})
        stream = steady_stream(per_s=40, seconds=10, latency_ns=500_000, bytes_each=MIB)
        return SyntheticRun(ONE_PHASE, facts=facts).phase([stream], seconds=10, counters=counters).end()

    document = judged(MemorySet(ONE_PHASE, three_on(["big"] * 3, [on_a_loop() for _ in range(3)])))

    # The disk gave a third of what the three read.
    for name in ("h0", "h1", "h2"):
        (own,) = of_client(document, name)
        assert own.cache.hit_ratio == pytest.approx(2 / 3)
        assert "from-memory" in ids(own, "warning")


# -- what happened -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "size_bytes"), [(Share.FILES, 2 << 30), (Share.ONE_SET, 1 << 30)])
def test_file_sets_add_up_but_where_all_use_one(share: Share, size_bytes: int) -> None:
    clients = [Client("a", steady(100)), Client("b", steady(100))]

    run = read(MemorySet(ONE_PHASE, clients, share=share))

    assert run.set_bytes("data") == size_bytes


def test_a_step_is_done_when_the_last_client_has_done_it() -> None:
    def stepped(at_s: float, took_s: float, detail: str = "", *, achieved: bool = True) -> SyntheticRun:
        step = events.StepDone(
            t_ns=round(at_s * NS),
            phase_index=0,
            step="sync",
            subject=None,
            achieved=achieved,
            detail=detail,
            seconds=took_s,
        )
        return steady(100).say(step)

    clients = [
        Client("a", stepped(21.0, 1.0), offset_ns=3 * NS),
        Client("b", stepped(24.0, 4.0, "no right", achieved=False), offset_ns=-NS),
    ]

    (record,) = read(MemorySet(ONE_PHASE, clients)).phases

    (step,) = record.steps
    assert (step.t_ns - record.start_ns, step.seconds) == (14 * NS, 4.0)
    assert (step.achieved, step.detail) == (False, "b: no right")


def flushed(at_s: float = 21.0, step: str = "sync") -> events.StepDone:
    return events.StepDone(
        t_ns=round(at_s * NS), phase_index=0, step=step, subject=None, achieved=True, detail="done", seconds=1.0
    )


def test_a_step_that_one_client_never_spoke_of_is_not_done() -> None:
    clients = [Client("a", steady(100).say(flushed())), Client("b", steady(100))]

    (record,) = read(MemorySet(ONE_PHASE, clients)).phases

    assert [(step.achieved, step.detail) for step in record.steps] == [
        (False, "b: it did not say that it had done this")
    ]


@pytest.mark.parametrize(("share", "is_done"), [(Share.ONE_SET, True), (Share.TOGETHER, True), (Share.OWN, False)])
def test_one_client_fills_the_storage_for_all_where_they_share_a_folder(share: Share, is_done: bool) -> None:
    clients = [Client("a", steady(100).say(flushed(5.0, "fill"))), Client("b", steady(100))]

    (record,) = read(MemorySet(ONE_PHASE, clients, share=share)).phases

    assert [step.achieved for step in record.steps] == [is_done]


def test_what_storage_had_is_not_known_of_a_sum_where_one_client_did_not_flush() -> None:
    its_plan = one_plan(phase("p", one_job(plan.Do(op=read_op("write", kind=plan.OpKind.WRITE)))))

    def writing(*, with_flush: bool) -> SyntheticRun:
        run = SyntheticRun(its_plan)
        stream = steady_stream(per_s=1000, seconds=10, latency_ns=1000, bytes_each=4096, operation="write")
        run.phase([stream], seconds=10, counters=Counters(process_write_bytes=10_000 * 4096)).end()
        return run.say(flushed()) if with_flush else run

    both = [Client("a", writing(with_flush=True)), Client("b", writing(with_flush=True))]
    one = [both[0], Client("b", writing(with_flush=False))]

    known, unknown = (sums(judged(MemorySet(its_plan, clients)))[0].committed for clients in (both, one))

    assert known is not None
    assert known.iops == pytest.approx(20_000 / 11.0, rel=1e-3)
    assert unknown is None


def test_arrivals_of_an_open_loop_are_those_of_all_clients() -> None:
    its_plan = one_plan(phase("p", one_job(arrival=plan.Open(rate_per_s=50.0))))

    def open_loop(missed: int) -> SyntheticRun:
        arrivals = events.Arrivals(scheduled=500, missed=missed, unissued=0, rate_per_s=50.0)
        run = SyntheticRun(its_plan)
        stream = steady_stream(per_s=50, seconds=10, latency_ns=1000)
        return run.phase([stream], seconds=10, counters=QUIET, arrivals=arrivals).end()

    document = judged(MemorySet(its_plan, [Client(f"h{n}", open_loop(n)) for n in range(3)]))

    schedule = sums(document)[0].schedule
    assert schedule is not None
    assert (schedule.rate_per_s, schedule.arrivals, schedule.late) == (150.0, 1500, 3)


def test_errors_are_counted_by_kind_and_corruption_names_the_client() -> None:
    def failing(errno: int) -> SyntheticRun:
        run = SyntheticRun(ONE_PHASE)
        stream = steady_stream(per_s=100, seconds=10, latency_ns=1000)
        failed = Stream(stream.done_ns, stream.latency_ns, errors_at_ns=(3 * NS, 5 * NS), errno=errno)
        return run.phase([failed], seconds=10, counters=QUIET).end()

    run = read(MemorySet(ONE_PHASE, [Client("a", failing(5)), Client("b", failing(5)), Client("c", failing(28))]))

    finished = run.phases[0].finished
    assert finished is not None
    assert {(error.errno, error.count) for error in finished.errors} == {(5, 4), (28, 2)}
    assert run.phases[0].rows("job", "read").total("errors") == 6


def test_a_pause_is_marked_with_the_client_that_had_it() -> None:
    paused = steady(100).say(events.Paused(t_ns=16 * NS, phase_index=0, begun_ns=14 * NS, paused_ns=2 * NS))

    document = judged(MemorySet(ONE_PHASE, [Client("a", steady(100)), Client("b", paused, offset_ns=9 * NS)]))

    (finding,) = [finding for finding in sums(document)[0].findings if finding.id == "client-paused"]
    assert finding.severity == "invalid"
    assert finding.text.startswith("b was paused for 2.00 s, 4.00 s into the phase: suspended")
    (mark,) = [mark for mark in document.marks if "was paused" in mark.label]
    assert mark.label == "b was paused for 2.00 s"
    assert mark.phase_s == pytest.approx(4.0, abs=1e-6)


def test_a_pause_outside_the_window_of_the_sum_is_reported_with_its_client() -> None:
    late = Client("b", steady(1000), late_ns=900_000_000)
    late.run.say(events.Paused(t_ns=10 * NS, phase_index=0, begun_ns=8_700_000_000, paused_ns=1_300_000_000))

    document = judged(MemorySet(ONE_PHASE, [Client("a", steady(1000)), late, Client("c", steady(1000))]))

    (sum_,) = sums(document)
    assert [(mark.label, mark.phase_s) for mark in document.marks] == [("b was paused for 1.30 s", 0.0)]
    # Its start was due 0.4 s after the pause began, and it ended 0.9 s after the others; to the next tick it was 0.1 s.
    assert sum_.window_s == pytest.approx((1.0 - 0.1 / 3, 10.0 - 0.1 / 3), abs=1e-3)
    assert sum_.iops == pytest.approx(3000, rel=1e-3)
    assert "client-paused" in ids(sum_, "weak")
    assert "b was paused for 1.30 s, 0 ns into the phase" in text_of(sum_, "client-paused")


def test_a_mark_of_a_set_counts_from_the_time_agreed(tmp_path: Path) -> None:
    clients = [Client("a", steady(100), offset_ns=5 * NS, late_ns=2_000_000), Client("b", steady(100))]
    bundle = kept(tmp_path, MemorySet(ONE_PHASE, clients))

    (said,) = mark_at("pulled", bundle.run_id, tmp_path, "3s", None)
    with pytest.raises(InputError, match=r"lasted 10\.00 s"):
        mark_at("too late", bundle.run_id, tmp_path, "12s", None)

    (mark,) = judged(RunBundle.open(bundle.path)).marks
    assert said == f"{bundle.run_id} at 3.00 s of phase 'p'"
    assert (mark.label, mark.phase, mark.phase_s) == ("pulled", "p", 3.0)


def test_facts_that_differ_between_clients_stand_with_their_names() -> None:
    other = SyntheticRun(ONE_PHASE, facts={**BLOCK_BACKED, "host.cpu.count": 4})
    found = MemorySet(ONE_PHASE, [Client("a", steady(1)), Client("b", other)]).client_set()

    facts = {fact.key: fact.value for fact in facts_of_set(found, facts_of({"run.note": "x"}))}

    assert facts["host.cpu.count"] == ("b: 4",)
    assert facts["target.target.fs.type"] == "ext4"
    assert facts["run.note"] == "x"


def test_a_start_of_a_phase_that_is_not_there_is_damage(tmp_path: Path) -> None:
    bundle = kept(tmp_path, MemorySet(ONE_PHASE, [Client("a", steady(100))], starts_s=(0.0, 20.0)))

    with pytest.raises(BundleError, match="a start is of a phase that the Plan of 1 does not have"):
        read(RunBundle.open(bundle.path))


# -- as a bundle -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_set_that_was_written_down_is_judged_as_it_was_in_memory(tmp_path: Path, is_sealed: bool) -> None:
    measured = with_a_lost_one()

    bundle = kept(tmp_path, measured, is_sealed=is_sealed)
    document = judged(RunBundle.open(bundle.path))

    in_memory = judged(measured)
    assert document.results == in_memory.results
    assert (document.clients, document.starts, document.sums) == (
        in_memory.clients,
        in_memory.starts,
        in_memory.sums,
    )
