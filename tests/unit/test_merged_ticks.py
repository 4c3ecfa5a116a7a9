"""Intervals of several clients made one: sums that are exact, whatever order they come in, and who is waited for."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import pytest
from inline_snapshot import snapshot

from assay import events, plan
from assay.analysis.settling import Settling
from assay.live.merged_ticks import Late, MergedTicks
from assay.live.set_words import set_words
from assay.live.tally import Tally
from unit.synthetic import one_job, one_plan

NS_PER_S = 10**9
NOTHING = events.Buckets(index=(), count=(), max_ns=0, sum_ns=0)


def did(
    counts: Mapping[int, int], *, operation: str = "read", max_ns: int = 0, response: Mapping[int, int] | None = None
) -> events.OperationInterval:
    """Make an operation of 4 KiB whose latencies are whole nanoseconds below 2048, each a bucket of its own."""
    return events.OperationInterval(
        job="job",
        operation=operation,
        ops=sum(counts.values()),
        bytes=4096 * sum(counts.values()),
        errors=1,
        latency=buckets(counts, max_ns),
        response=None if response is None else buckets(response, max_ns),
    )


def buckets(counts: Mapping[int, int], max_ns: int = 0) -> events.Buckets:
    filled = sorted(counts.items())
    return events.Buckets(
        index=tuple(value for value, _ in filled),
        count=tuple(count for _, count in filled),
        max_ns=max_ns or max(counts, default=0),
        sum_ns=sum(value * count for value, count in filled),
    )


def ends(
    t_s: float, *operations: events.OperationInterval, dt_s: float = 1.0, phase: int = 0, zero_s: float = 0.0
) -> events.Interval:
    """Make an interval that ends so long after its phase began, which was at `zero_s` of its client's clock."""
    return events.Interval(
        t_ns=round((zero_s + t_s) * NS_PER_S),
        dt_ns=round(dt_s * NS_PER_S),
        phase_index=phase,
        operations=operations,
        workers=(),
        process_cpu_ns=round(t_s * NS_PER_S / 10),
        observer_cpu_ns=1,
        process_read_bytes=100,
        process_write_bytes=None,
        host=(),
    )


def ops(merged: Iterable[events.Interval]) -> list[int]:
    return [sum(one.ops for one in each.operations) for each in merged]


def places(merged: Iterable[events.Interval]) -> list[float]:
    return [each.t_ns / NS_PER_S for each in merged]


def test_a_tick_is_told_when_all_have_said_it_with_the_sums_of_all() -> None:
    merger = MergedTicks(["a", "b"], 1.0)

    first = merger.add("a", ends(1.0, did({100: 3, 200: 1}, max_ns=205, response={300: 4})))
    told = merger.add("b", ends(1.0, did({100: 2, 500: 1}, response={300: 1, 600: 2}), zero_s=7000.0))

    assert first == []
    assert told == [
        events.Interval(
            t_ns=NS_PER_S,
            dt_ns=NS_PER_S,
            phase_index=0,
            operations=(
                events.OperationInterval(
                    job="job",
                    operation="read",
                    ops=7,
                    bytes=7 * 4096,
                    errors=2,
                    latency=events.Buckets(index=(100, 200, 500), count=(5, 1, 1), max_ns=500, sum_ns=1200),
                    response=events.Buckets(index=(300, 600), count=(5, 2), max_ns=600, sum_ns=2700),
                ),
            ),
            workers=(),
            process_cpu_ns=NS_PER_S // 5,
            observer_cpu_ns=2,
            process_read_bytes=200,
            process_write_bytes=None,
            host=(),
        )
    ]


def test_what_only_some_clients_do_is_in_it_by_its_own_name() -> None:
    merger = MergedTicks(["a", "b"], 1.0)
    merger.add("a", ends(1.0, did({1: 1}), did({2: 5}, operation="stat")))

    (told,) = merger.add("b", ends(1.0, did({1: 2})))

    assert {one.operation: one.ops for one in told.operations} == {"read": 3, "stat": 5}


def test_the_largest_value_is_that_of_the_phase_so_far_and_begins_anew_with_the_next() -> None:
    merger = MergedTicks(["a"], 1.0)

    told = [
        *merger.add("a", ends(1.0, did({50: 1}, max_ns=900))),
        *merger.add("a", ends(2.0, did({50: 1}, max_ns=50))),
        *merger.add("a", ends(1.0, did({50: 1}, max_ns=60), phase=1)),
    ]

    assert [one.latency.max_ns for each in told for one in each.operations] == [900, 900, 60]


def test_the_counters_at_the_start_are_no_tick_and_say_where_the_phase_began() -> None:
    merger = MergedTicks(["a"], 1.0)

    nothing = merger.add("a", ends(-0.01, dt_s=0.0, zero_s=50.0))
    (told,) = merger.add("a", ends(1.0, did({1: 1}), dt_s=1.01, zero_s=50.0))

    assert nothing == []
    assert told.t_ns == pytest.approx(NS_PER_S, abs=0.02 * NS_PER_S)


def test_starts_that_were_told_count_from_there_and_times_begin_where_displays_were_told() -> None:
    merger = MergedTicks(["a", "b"], 1.0)
    merger.begins(0, 500)
    for client, start_s in (("a", 20.0), ("b", 3000.0)):
        event = events.Started(t_ns=0, phase_index=0, start_ns=round(start_s * NS_PER_S))
        merger.started(client, event)
        told = merger.add(client, ends(1.0, did({1: 1}), dt_s=1.3, zero_s=start_s))

    assert [each.t_ns for each in told] == [NS_PER_S + 500]


def test_whoever_is_two_ticks_behind_is_not_waited_for_and_what_it_says_then_is_counted() -> None:
    merger = MergedTicks(["a", "slow"], 1.0)
    merger.add("slow", ends(0.0, dt_s=0.0))

    told = [each for t in (1.0, 2.0, 3.0) for each in merger.add("a", ends(t, did({1: 10})))]
    late = merger.add("slow", ends(1.0, did({1: 4})))
    after = merger.add("slow", ends(2.0, did({1: 4})))

    assert ops(told) == [10]
    assert late == []
    assert ops(after) == [14]
    assert merger.late == {"slow": Late(intervals=1, ops=4)}


def test_whoever_is_gone_is_waited_for_no_longer() -> None:
    merger = MergedTicks(["a", "b"], 1.0)
    merger.add("b", ends(1.0, did({1: 1})))
    merger.add("a", ends(1.0, did({1: 1})))

    waiting = merger.add("a", ends(2.0, did({1: 1})))
    told = merger.gone("b")
    after = merger.add("a", ends(3.0, did({1: 1})))

    assert waiting == []
    assert ops(told) == [1]
    assert ops(after) == [1]
    assert merger.lost == ("b",)


def test_whoever_has_ended_its_phase_is_waited_for_in_the_next_one_again() -> None:
    merger = MergedTicks(["a", "b"], 1.0)
    merger.add("b", ends(0.5, did({1: 7}), dt_s=0.5))

    nothing = merger.add("a", ends(1.0, did({1: 1})))
    told = merger.finished("b", 0)
    more = merger.add("a", ends(2.0, did({1: 1})))
    merger.finished("a", 0)
    next_phase = merger.add("a", ends(1.0, did({1: 3}), phase=1))

    assert (nothing, ops(told), ops(more), next_phase) == ([], [8], [1], [])
    assert ops(merger.add("b", ends(1.0, did({1: 4}), phase=1))) == [7]


def test_the_rest_of_a_phase_just_after_its_last_tick_is_told_by_itself() -> None:
    merger = MergedTicks(["a", "b"], 1.0)
    merger.add("a", ends(1.0, did({1: 10})))
    merger.add("b", ends(1.0, did({1: 10})))

    nothing = merger.add("a", ends(1.02, did({1: 2}), dt_s=0.02))
    rest = merger.flush()

    assert nothing == []
    assert ops(rest) == [2]
    assert [each.dt_ns for each in rest] == [NS_PER_S // 50]
    assert merger.late == {}


def test_ticks_that_a_busy_client_says_in_one_are_one_for_all() -> None:
    merger = MergedTicks(["a", "busy"], 1.0)
    merger.add("busy", ends(0.0, dt_s=0.0))
    merger.add("a", ends(1.0, did({1: 10})))
    merger.add("a", ends(2.0, did({1: 10})))

    told = merger.add("busy", ends(2.0, did({1: 14}), dt_s=2.0))

    assert ops(told) == [34]
    assert [(each.t_ns, each.dt_ns) for each in told] == [(2 * NS_PER_S, 2 * NS_PER_S)]


def test_intervals_shorter_than_a_tick_are_all_in_it() -> None:
    merger = MergedTicks(["a", "b"], 1.0)
    told = []
    for quarter in range(1, 9):
        for client in ("a", "b"):
            told += merger.add(client, ends(quarter / 4, did({1: 1}), dt_s=0.25))
    told += merger.flush()

    assert sum(ops(told)) == 16
    assert sum(each.dt_ns for each in told) == 2 * NS_PER_S


def test_lengths_add_up_to_the_time_that_went_by_although_ticks_come_a_little_late() -> None:
    jitter = random.Random(3)  # noqa: S311 - no secret
    merger = MergedTicks(["a", "b", "c"], 1.0)
    told, before = [], dict.fromkeys("abc", 0.0)
    for tick in range(1, 61):
        for client in "abc":
            t = tick + (jitter.uniform(0, 0.1) if tick < 60 else 0.0)
            told += merger.add(client, ends(t, did({1: 1}), dt_s=t - before[client]))
            before[client] = t

    assert len(told) == 60
    assert sum(each.dt_ns for each in told) == pytest.approx(60 * NS_PER_S, abs=5)
    assert max(abs(each.dt_ns - NS_PER_S) for each in told) <= 0.1 * NS_PER_S


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_order_nothing_is_lost_and_nothing_told_twice(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    clients = [f"h{i}" for i in range(chance.randint(1, 6))]
    said = _scrambled(clients, chance)
    merger = MergedTicks(clients, 0.5)
    for client in clients:
        for phase in range(3):
            merger.started(client, events.Started(t_ns=0, phase_index=phase, start_ns=0))

    told: list[events.Interval] = []
    for client, interval in said:
        told += merger.add(client, interval)
        if chance.random() < 0.01:
            told += merger.gone(chance.choice(clients))
    told += merger.flush()

    late = merger.late
    assert sum(ops(told)) + sum(each.ops for each in late.values()) == sum(ops(each for _, each in said))
    shown: Counter[int] = Counter()
    for one in (one for each in told for one in each.operations):
        shown.update(dict(zip(one.latency.index, one.latency.count, strict=True)))
        assert one.latency.sum_ns == sum(
            value * count for value, count in zip(one.latency.index, one.latency.count, strict=True)
        )
    # Each interval has a latency of its own: what is shown more than once is shown once too often.
    assert set(shown.values()) <= {1}
    assert len(shown) + sum(each.intervals for each in late.values()) == len(said)
    assert all(each.dt_ns > 0 for each in told)
    in_order = [(each.phase_index, each.t_ns) for each in told]
    assert in_order == sorted(in_order)


def _scrambled(clients: Sequence[str], chance: random.Random) -> list[tuple[str, events.Interval]]:
    """Give intervals with one operation each, whose latency is its number: some skip ticks, some come late."""
    coming: list[tuple[float, int, str, events.Interval]] = []
    for client in clients:
        for phase in range(3):
            before = 0.0
            for tick in range(1, 21):
                if tick < 20 and chance.random() < 0.1:
                    continue
                t = tick * 0.5 + chance.uniform(-0.05, 0.1)
                number = len(coming)
                interval = ends(t, did({number: 1}), dt_s=t - before, phase=phase)
                coming.append((phase * 11 + t + chance.choice([0.0, 0.1, 0.4, 1.5]), number, client, interval))
                before = t
    return [(client, interval) for _, _, client, interval in sorted(coming, key=lambda each: each[:2])]


def test_displays_and_the_watch_for_steadiness_take_merged_intervals_as_those_of_one_client() -> None:
    phase = plan.Phase(name="p", title="p", jobs=(one_job(),), stop=plan.Stop(seconds=10.0), extend_to_s=60.0)
    job = phase.jobs[0].name
    watch, merger, tally = Settling(one_plan(phase)), MergedTicks(["a", "b"], 1.0), Tally()
    watch.hear(events.Started(t_ns=0, phase_index=0, start_ns=0))

    orders = []
    for tick in range(1, 31):
        for client, rate in (("a", 10_000 + tick % 3), ("b", 30_000 - tick % 3)):
            one = msgspec.structs.replace(did({100: rate}), job=job)
            for merged in merger.add(client, ends(float(tick), one)):
                tally.add(merged)
                orders.append(watch.hear(merged))

    assert [each for each in orders if each is not None] == [events.EndPhase(phase_index=0)]
    assert tally.so_far().startswith("40,000 IOPS")


def test_many_short_intervals_that_come_at_once_are_waited_for_by_the_period() -> None:
    merger, told = MergedTicks(["a", "b"], 0.1), []
    for second in range(3):
        for client in ("a", "b"):
            for tick in range(1, 11):
                told += merger.add(client, ends(second + tick / 10, did({1: 5}), dt_s=0.1))

    assert ops(told) == [10] * 30
    assert merger.late == {}


def test_long_intervals_that_end_anywhere_are_told_as_they_go_and_nothing_is_lost() -> None:
    clients = [f"h{i}" for i in range(20)]
    merger, told = MergedTicks(clients, 0.1), []
    for client in clients:
        merger.started(client, events.Started(t_ns=0, phase_index=0, start_ns=0))
    for second in range(10):
        for i, client in enumerate(clients):
            t, dt_s = second + (i % 10 + 1) / 10, (i % 10 + 1) / 10 if second == 0 else 1.0
            told += merger.add(client, ends(t, did({1: round(100 * dt_s)}), dt_s=dt_s))
    meanwhile = len(told)
    told += merger.flush()

    said = sum(900 + 10 * (i % 10 + 1) for i in range(20))
    assert meanwhile >= 7
    assert sum(ops(told)) == said
    assert merger.late == {}


def test_an_interval_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="is none"):
        MergedTicks(["a"], 0.0)


def test_the_line_of_a_set_says_who_is_there_who_is_lost_and_who_is_slow() -> None:
    clients = ["a", "b", "c", "d"]
    merger = MergedTicks(clients, 1.0)
    before = set_words(merger)
    for client, count in (("a", 100), ("b", 110), ("c", 90), ("d", 45)):
        merger.add(client, ends(1.0, did({1: count})))
    slow = set_words(merger)
    merger.gone("d")
    for client in ("a", "b", "c"):
        merger.add(client, ends(2.0, did({1: 100})))
    lost = set_words(merger)
    merger.add("d", ends(2.0, did({1: 1})))

    assert before == "4 of 4 clients"
    assert slow == snapshot("4 of 4 clients  slowest: d, 47.4 % of the median")
    assert lost == snapshot("3 of 4 clients  lost: d")
    assert set_words(merger) == snapshot("3 of 4 clients  lost: d  1 interval came too late to be shown")
