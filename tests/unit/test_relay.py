"""What of a client's events goes to the leader: nothing is lost of the sums, and nothing out of order."""

import itertools
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import events
from assay.cluster.relay import MERGED_ABOVE_CLIENTS, Relay, add_up, period_s
from unit.bundle_streams import interval


def ready(phase: int = 0) -> events.Ready:
    return events.Ready(t_ns=1, phase_index=phase, workers=1)


def progress(done: int) -> events.Progress:
    return events.Progress(t_ns=done, activity="laying out", done=done, total=9, unit="files")


def sums(seen: list[events.Event]) -> Counter[str]:
    """All that adds up over intervals."""
    found: Counter[str] = Counter()
    for event in seen:
        if not isinstance(event, events.Interval):
            continue
        found["dt"] += event.dt_ns
        for one in event.operations:
            key = f"{event.phase_index} {one.job} {one.operation}"
            for what, histogram in (("latency", one.latency), ("response", one.response)):
                if histogram is not None:
                    found[f"{key} {what} sum"] += histogram.sum_ns
                    for index, count in zip(histogram.index, histogram.count, strict=True):
                        found[f"{key} {what} {index}"] += count
            found.update({f"{key} ops": one.ops, f"{key} bytes": one.bytes, f"{key} errors": one.errors})
    return found


def histograms() -> st.SearchStrategy[events.Buckets]:
    counts = st.dictionaries(st.integers(0, 40), st.integers(1, 9), max_size=5)
    return counts.map(
        lambda found: events.Buckets(
            index=tuple(sorted(found)),
            count=tuple(found[i] for i in sorted(found)),
            max_ns=99,
            sum_ns=sum(found.values()),
        )
    )


@st.composite
def intervals(draw: st.DrawFn) -> events.Interval:
    names = draw(st.lists(st.sampled_from(["read", "write", "stat"]), unique=True))
    operations = tuple(
        events.OperationInterval(
            job="job",
            operation=name,
            ops=draw(st.integers(0, 99)),
            bytes=draw(st.integers(0, 99)),
            errors=draw(st.integers(0, 9)),
            latency=draw(histograms()),
            response=draw(st.none() | histograms()),
        )
        for name in names
    )
    phase = draw(st.integers(0, 1))
    return msgspec.structs.replace(interval(1), phase_index=phase, operations=operations)


@pytest.mark.long
@given(st.lists(intervals() | st.just(ready()), max_size=12), st.sampled_from([1, MERGED_ABOVE_CLIENTS + 1]))
def test_no_operation_is_lost_or_counted_twice(seen: list[events.Event], clients: int) -> None:
    relay = Relay(clients)
    relayed: list[events.Event] = []

    for event in seen:
        if relay.receive(event):
            relayed += relay.take()
    relayed += relay.take()

    assert sums(relayed) == sums(seen)
    assert [event for event in relayed if isinstance(event, events.Ready)] == [
        event for event in seen if isinstance(event, events.Ready)
    ]


def test_samples_of_host_and_workers_stay_with_the_client() -> None:
    relay = Relay(1)
    whole = interval(3, host_instances=2)
    assert whole.host
    assert whole.workers

    relay.receive(whole)

    assert relay.take() == [msgspec.structs.replace(whole, host=(), workers=())]


def test_with_few_clients_every_interval_comes_by_itself() -> None:
    relay = Relay(MERGED_ABOVE_CLIENTS)

    for tick in range(3):
        assert not relay.receive(interval(tick))

    assert [event.t_ns for event in relay.take() if isinstance(event, events.Interval)] == [
        interval(tick).t_ns for tick in range(3)
    ]


def test_with_many_clients_one_interval_comes_for_each_phase_and_ends_when_the_last_did() -> None:
    relay = Relay(MERGED_ABOVE_CLIENTS + 1)
    second = msgspec.structs.replace(interval(1), phase_index=1)

    for event in (interval(0), interval(1), interval(2), second):
        relay.receive(event)

    first, last = relay.take()
    assert isinstance(first, events.Interval)
    assert (first.t_ns, first.dt_ns) == (interval(2).t_ns, sum(interval(tick).dt_ns for tick in range(3)))
    assert isinstance(last, events.Interval)
    assert last.phase_index == 1


def test_nothing_is_merged_across_what_happened_between() -> None:
    relay = Relay(MERGED_ABOVE_CLIENTS + 1)

    for event in (interval(0), ready(), interval(1)):
        relay.receive(event)

    assert [type(event) for event in relay.take()] == [events.Interval, events.Ready, events.Interval]


def test_the_largest_latency_of_both_is_kept() -> None:
    both = add_up(interval(1), interval(2))

    assert [one.latency.max_ns for one in both.operations if one.operation == "read"] == [10**6 + 2]


def test_of_progress_the_last_word_counts() -> None:
    relay = Relay(1)

    for done in (1, 2, 3):
        assert not relay.receive(progress(done))
    relay.receive(interval(0))
    relay.receive(progress(4))

    assert [event.done for event in relay.take() if isinstance(event, events.Progress)] == [3, 4]


def test_laps_stay_with_the_client() -> None:
    relay = Relay(1)

    is_urgent = relay.receive(
        events.Laps(t_ns=1, phase_index=0, job="j", worker=0, group="g", number=(0,), end_ns=(1,), latency_ns=(1,))
    )

    assert not is_urgent
    assert relay.take() == []


def test_what_the_leader_acts_on_goes_at_once() -> None:
    relay = Relay(1)
    error = events.Error(
        t_ns=1, phase_index=None, class_=events.ErrorClass.ENVIRONMENT, text="no room", path=None, errno=28
    )
    finished = events.Finished(
        t_ns=1, outcome=events.Outcome.COMPLETE, user_cpu_ns=0, system_cpu_ns=0, peak_rss_bytes=0
    )

    assert all(relay.receive(event) for event in (ready(), error, finished))


def test_the_leader_hears_no_more_words_the_more_clients_there_are() -> None:
    assert period_s(1) == period_s(2000) == 1.0
    assert period_s(10_000) == 5.0
    assert all(clients / period_s(clients) <= 2000 for clients in (1, 100, 2000, 5000, 20_000))
    assert all(a <= b for a, b in itertools.pairwise(map(period_s, range(1, 20_000, 100))))


@pytest.mark.parametrize("clients", [1, MERGED_ABOVE_CLIENTS + 1])
def test_what_was_taken_does_not_come_again(clients: int) -> None:
    relay = Relay(clients)
    relay.receive(interval(1))

    first, second = relay.take(), relay.take()

    assert len(first) == 1
    assert second == []
