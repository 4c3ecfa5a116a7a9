"""How many disks: the published sizing, closed forms of queues and RAID, and days of known shape."""

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from assay.analysis.arrays import FloatArray
from assay.captures.total import TotalLoad
from assay.errors import InputError
from assay.sizing.cache_need import largest_backlog
from assay.sizing.candidate import Candidate, Requirement, candidate
from assay.sizing.constrained import held_back
from assay.sizing.demand import demand_of
from assay.sizing.disks import parse_disk
from assay.sizing.kinds import kinds_of
from assay.sizing.measured_disk import MeasuredDisk, MeasuredRate, measured_disk
from assay.sizing.need import Changes, front_end
from assay.sizing.policy import HALF_HOUR, Policy, target_of
from assay.sizing.queueing import rate_at, response_s, service_time_s
from assay.sizing.raid import Requests, parse_raid
from assay.sizing.stated_share import parse_share
from assay.verdicts import ServedBy

if TYPE_CHECKING:
    from assay.results import Document

DAY_MIN = 1440
PUBLISHED = Requests(2500.0, 500.0)
"""3,000 IOPS, of which RAID 5 makes half as many again: a sixth are writes."""


def sized(raid: str, front: Requests = PUBLISHED, **asked: float) -> Candidate:
    return candidate(parse_disk("15k"), parse_raid(raid), Requirement(front, 20e-3, **asked))  # type: ignore[arg-type]


# -- the sizing of a report: 3,000 IOPS at 220 a disk ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raid", "back", "disks"), [("0", 3000, 14), ("5", 4500, 21), ("10", 3500, 16), ("6", 5500, 25)]
)
def test_a_published_sizing_comes_out(raid: str, back: float, disks: int) -> None:
    found = sized(raid)

    assert found.back.per_s == pytest.approx(back)
    assert found.disks == disks
    assert found.total == disks + 1
    assert found.is_enough


def test_what_was_offered_cannot_carry_it() -> None:
    found = sized("5", offered=11)

    assert not found.is_enough
    assert found.back.per_s / 11 == pytest.approx(409, abs=0.1)
    assert found.utilisation == pytest.approx(1.52, abs=0.005)
    assert found.response_s == math.inf
    # Of the hosts: where requests begin to pile up, and where the latency is still met.
    assert PUBLISHED.per_s / found.utilisation == pytest.approx(1980)
    assert found.most_front == pytest.approx(11 * 220 / 1.5)


def test_disks_of_a_sizing_are_as_busy_and_as_slow_as_the_formula_has_it() -> None:
    found = sized("5")

    assert found.utilisation == pytest.approx(0.794, abs=0.001)
    assert found.response_s == pytest.approx(17.9e-3, abs=0.1e-3)


# -- queues ------------------------------------------------------------------------------------------------------------


def test_the_rate_of_a_disk_at_a_latency() -> None:
    service_s = service_time_s(220, 20e-3)

    assert 1 / service_s == pytest.approx(270)
    rates = [round(rate_at(latency / 1000, service_s)) for latency in (5, 8, 10, 15, 20, 30, 50)]
    assert rates == [70, 145, 170, 203, 220, 237, 250]
    assert rate_at(service_s, service_s) == 0


def test_disks_that_share_a_queue_answer_as_erlang_has_it() -> None:
    service_s = service_time_s(220, 20e-3)

    assert response_s(4500, service_s, 21) == pytest.approx(3.9e-3, abs=0.05e-3)
    # One server: M/M/1; two: 1 / (1 - rho^2) service times.
    assert response_s(100, service_s) == pytest.approx(service_s / (1 - 100 * service_s))
    assert response_s(300, service_s, 2) == pytest.approx(service_s / (1 - (300 * service_s / 2) ** 2))
    assert response_s(600, service_s, 2) == math.inf


def test_bursts_multiply_the_waiting_part() -> None:
    service_s = 4e-3
    waiting_s = response_s(200, service_s) - service_s

    assert response_s(200, service_s, burstiness=5) == pytest.approx(service_s + 3 * waiting_s)
    assert response_s(rate_at(20e-3, service_s, 1, 5), service_s, 1, 5) == pytest.approx(20e-3)


# -- RAID --------------------------------------------------------------------------------------------------------------


def test_requests_to_disks_of_each_level() -> None:
    front = Requests(100, 60)

    assert parse_raid("1").back_end(front) == Requests(100, 120)
    assert parse_raid("5").back_end(front) == Requests(100 + 120, 120)
    assert parse_raid("6").back_end(front) == Requests(100 + 180, 180)
    # Whole stripes of 7 + 1: 8/7 of a write and no read.
    stripes = parse_raid("5:8", full_stripes=1.0).back_end(front)
    assert [stripes.reads_per_s, stripes.writes_per_s] == pytest.approx([100, 60 * 8 / 7])


def test_a_lost_disk_is_read_from_the_others_of_its_group() -> None:
    lost = parse_raid("5:8").degraded(Requests(1600, 0), 16)

    # 100 of its reads become 7 each.
    assert lost == Requests(1600 + 100 * 6, 0)
    assert parse_raid("10").degraded(Requests(1600, 0), 16) == Requests(1600, 0)
    assert parse_raid("0").degraded(Requests(1600, 0), 16) is None


@pytest.mark.parametrize(("raid", "least"), [("5:8", 24), ("10", 16), ("5", 21), ("6:12", 36)])
def test_disks_are_rounded_to_what_a_level_is_made_of(raid: str, least: int) -> None:
    assert sized(raid).disks == least


def test_capacity_can_need_more_disks_than_the_rate() -> None:
    # 40 TB on 600 GB, of which 7 of 8 hold data: 76.2.
    found = sized("5", capacity_bytes=40e12, disk_bytes=600e9)

    assert (found.disks, found.decided_by, found.for_capacity) == (77, "capacity", 77)
    assert found.spares == 3
    assert not sized("5", capacity_bytes=40e12, disk_bytes=600e9, offered=70).is_enough


@pytest.mark.parametrize("text", ["7", "10:4", "5:2", "", "5:"])
def test_what_is_no_level_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_raid(text)


# -- disks -------------------------------------------------------------------------------------------------------------


def test_a_measured_disk_does_what_was_measured_within_the_latency() -> None:
    ssd = MeasuredDisk(
        "ssd",
        "",
        (MeasuredRate("a", 10_000, 0.1e-3), MeasuredRate("b", 60_000, 0.5e-3), MeasuredRate("c", 80_000, 5e-3)),
        (MeasuredRate("w", 20_000, 0.4e-3),),
    )

    # Within 1 ms: 60,000 reads or 20,000 writes; half of each takes half of two disks.
    assert ssd.least_disks(Requests(60_000, 20_000), 1e-3) == pytest.approx(2)
    assert ssd.least_disks(Requests(80_000, 0), 10e-3) == pytest.approx(1)
    assert ssd.least_disks(Requests(1, 0), 0.05e-3) == math.inf
    assert ssd.utilisation(Requests(40_000, 0), 1) == pytest.approx(0.5)


def test_what_a_run_did_not_measure_is_not_sized_by_it() -> None:
    reads_alone = MeasuredDisk("ssd", "", (MeasuredRate("a", 10_000, 0.1e-3),), ())

    assert reads_alone.least_disks(Requests(5000, 0), 1e-3) == pytest.approx(0.5)
    with pytest.raises(InputError, match="no trusted random writes"):
        reads_alone.least_disks(Requests(5000, 1), 1e-3)


def result(
    label: str, operation: str, iops: float, *, trusted: bool = True, served: ServedBy = ServedBy.STORAGE
) -> SimpleNamespace:
    latency = SimpleNamespace(mean=1e9 / iops)
    return SimpleNamespace(
        label=label,
        operation=operation,
        iops=iops,
        ops=10,
        bytes=40960,
        trusted=trusted,
        measures=served,
        latency_ns=latency,
    )


QUICK = SimpleNamespace(
    run=SimpleNamespace(id="r"),
    results=[
        result("random-read-1/read", "read", 10_000),
        result("random-read-32/read", "read", 60_000, trusted=False),
        result("random-hot/read", "read", 900_000, served=ServedBy.PAGE_CACHE),
        result("other/read", "read", 50_000),
        result("sync-write/write", "write", 5000),
    ],
)
"""As of a quick run: one result is not trusted, one is of memory, one is perhaps not at random."""


def test_of_a_run_trusted_random_results_of_storage_count_or_those_that_are_named() -> None:
    document = cast("Document", QUICK)

    found = measured_disk("ssd", document, ())
    assert [(one.label, one.per_s) for one in (*found.reads, *found.writes)] == [
        ("random-read-1/read", 10_000),
        ("sync-write/write", 5000),
    ]
    assert [one.label for one in measured_disk("ssd", document, ("other/read",)).reads] == ["other/read"]
    for labels, said in ((("random-read-32/read",), "not to be trusted"), (("missing",), "has no result")):
        with pytest.raises(InputError, match=said):
            measured_disk("ssd", document, labels)


def kinds(
    *disks: str, sizes: tuple[str, ...] = (), prices: tuple[str, ...] = ()
) -> list[tuple[str, float | None, float | None]]:
    found = kinds_of(disks, sizes, prices, lambda _: pytest.fail("no run"), is_declustered=False, burstiness=1)
    return [(kind.name, size, price) for kind, size, price in found]


def test_kinds_have_their_sizes_and_prices() -> None:
    assert kinds("15k", sizes=("600GB",), prices=("320",)) == [("15k", 600e9, 320)]
    assert kinds("15k", "fast=200@15ms", sizes=("fast=1.92TB",)) == [("15k", None, None), ("fast", 1.92e12, None)]


@pytest.mark.parametrize(
    ("disks", "sizes"),
    [(("15k", "15k"), ()), (("15k", "10k"), ("600GB",)), (("15k",), ("10k=1TB",)), (("x=0@1ms",), ())],
)
def test_kinds_that_are_not_clear_are_refused(disks: tuple[str, ...], sizes: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        kinds(*disks, sizes=sizes)


# -- what is asked for -------------------------------------------------------------------------------------------------


def test_growth_headroom_and_caches() -> None:
    found = front_end(1000, 0.25, Changes(0.2, 3, headroom=0.5, read_hits=0.4, coalesced=0.1))

    needed = 1000 * 1.2**3 / 0.5
    assert found.reads_per_s == pytest.approx(needed * 0.75 * 0.6)
    assert found.writes_per_s == pytest.approx(needed * 0.25 * 0.9)


@pytest.mark.parametrize(("text", "share"), [("30%", 0.3), ("0.3", 0.3), ("100 %", 1.0), ("0", 0.0)])
def test_shares(text: str, share: float) -> None:
    assert parse_share(text, "--writes") == pytest.approx(share)


@pytest.mark.parametrize("text", ["30", "-1%", "101%", "half", "nan", "1e-3"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_share(text, "--writes")


def test_the_largest_backlog_of_a_burst() -> None:
    arrivals = np.array([10.0, 50.0, 50.0, np.nan, 10.0, 40.0, 0.0])

    # 30 above 20 for two steps; the gap changes nothing; 10 below; 20 above: 60, 60, 50, 70.
    assert largest_backlog(arrivals, 20.0, 2.0) == pytest.approx(2 * 70)
    assert largest_backlog(arrivals, 50.0, 2.0) == 0


# -- days --------------------------------------------------------------------------------------------------------------


def day(seed: int) -> tuple[FloatArray, FloatArray]:
    """Make a day of minutes: quiet, busy stretches at a level, spikes of up to four minutes; and the busy samples."""
    random = np.random.default_rng(seed)
    level = random.uniform(200, 5000)
    busy, spiky = np.zeros(DAY_MIN, dtype=bool), np.zeros(DAY_MIN, dtype=bool)
    for _ in range(random.integers(1, 4)):
        length = int(random.integers(45, 300))
        begin = int(random.integers(0, DAY_MIN - length))
        busy[begin : begin + length] = True
    phi, spread = random.uniform(0, 0.5), random.uniform(0.03, 0.12)
    noise = random.normal(0, 1, DAY_MIN)
    for at in range(1, DAY_MIN):
        noise[at] = phi * noise[at - 1] + math.sqrt(1 - phi**2) * noise[at]
    iops = np.where(busy, level, level * random.uniform(0.01, 0.15)) * np.exp(spread * noise - spread**2 / 2)
    for _ in range(random.integers(0, 6)):
        length = int(random.integers(1, 5))
        begin = int(random.integers(0, DAY_MIN - length))
        iops[begin : begin + length] = level * random.uniform(2, 20)
        spiky[begin : begin + length] = True
    return iops, iops[busy & ~spiky]


@pytest.mark.long
def test_what_is_sustained_is_found_in_days_of_200_shapes() -> None:
    errors = []
    for seed in range(200):
        iops, busy = day(seed)
        found = demand_of(iops, 60.0)
        assert found.steady_mean is not None
        errors.append(found.steady_mean / busy.mean() - 1)

    assert abs(np.median(errors)) <= 0.01
    assert np.quantile(np.abs(errors), 0.95) <= 0.025


def published_day() -> FloatArray:
    """A day as a report's chart shows it: quiet, a brief spike, quiet, then half of the day busy; its mean is 260."""
    random = np.random.default_rng(7)
    busy = 1 + 0.05 * random.normal(size=46)
    quiet = 30 * (1 + 0.1 * random.normal(size=52))
    iops = np.concatenate([quiet[:22], [900.0, 700.0], quiet[22:48], 500 * busy, quiet[48:]])
    return iops * (260 / float(iops.mean()))


def test_a_chart_with_a_mean_of_260_needs_about_500() -> None:
    found = demand_of(published_day(), 300.0, spike_s=900.0)

    assert found.mean == pytest.approx(260)
    assert found.steady_mean == pytest.approx(500, abs=20)
    assert [(spike.begin, spike.end) for spike in found.spikes] == [(22, 24)]
    target, is_of = target_of(found, Policy.STEADY)
    assert (target, is_of) == (found.steady_p95, Policy.STEADY.words)
    assert target_of(found, Policy.PEAK)[0] == found.peak > 800


def test_a_busy_hour_above_a_busy_day_is_not_left_out() -> None:
    iops = np.full(DAY_MIN, 400.0)
    iops[600:660] = 1500.0

    found = demand_of(iops, 60.0)

    assert found.busiest == pytest.approx({300.0: 1500, 1800.0: 1500, 14_400.0: 675, 86_400.0: iops.mean()})
    # The hour is 4 % of what is sustained: its 95th percentile passes the hour by.
    assert found.steady_p95 == pytest.approx(400)
    target, is_of = target_of(found, Policy.STEADY)
    assert target == pytest.approx(1500)
    assert is_of == HALF_HOUR


def test_short_bursts_within_a_busy_time_are_spikes_and_long_ones_are_not() -> None:
    iops = np.full(DAY_MIN, 10.0)
    iops[200:800] = 500.0
    iops[300:303] = 4000.0
    iops[500:520] = 900.0

    found = demand_of(iops, 60.0)

    assert [(spike.begin, spike.end, spike.iops) for spike in found.spikes] == [(300, 303, 4000.0)]
    assert found.core.sum() == 600 - 3


def test_one_spike_is_not_for_disks_and_bursts_that_come_again_and_again_are() -> None:
    iops = np.full(DAY_MIN, 100.0)
    iops[600:604] = 10_000.0
    once = demand_of(iops, 60.0)
    iops[900:1020:5] = iops[901:1020:5] = 10_000.0
    often = demand_of(iops, 60.0)

    assert once.busiest[1800.0] == pytest.approx(100 + 9900 * 4 / 30)
    assert target_of(once, Policy.STEADY)[0] == pytest.approx(100)
    # Two of five minutes, for two hours.
    target, is_of = target_of(often, Policy.STEADY)
    assert target == pytest.approx(100 + 9900 * 0.4)
    assert is_of == HALF_HOUR


def test_gaps_are_in_no_figure() -> None:
    iops, busy = day(3)
    torn = np.insert(iops, 700, [np.nan] * 50)

    found = demand_of(torn, 60.0)

    assert found.mean == pytest.approx(iops.mean())
    assert found.steady_mean == pytest.approx(busy.mean(), rel=0.025)
    assert not found.core[700:750].any()


def test_a_long_capture_keeps_spikes_of_five_minutes() -> None:
    # A week of ten seconds: 60,480 samples.
    iops = np.full(7 * 8640, 20.0)
    iops[10_000:30_000] = 600.0
    iops[50_000:50_027] = 5000.0

    found = demand_of(iops, 10.0)

    assert found.gathered == 7
    assert found.steady_mean == pytest.approx(600, rel=0.01)
    assert len(found.spikes) == 1
    assert found.spikes[0].iops > 3000  # of the 70 s that it begins and ends in


def test_a_capture_of_minutes_has_no_spikes() -> None:
    iops = np.array([0.0, 400.0, 0.0, 0.0])

    found = demand_of(iops, 0.5)

    assert found.core.all()
    assert found.spikes == ()


# -- was the captured system itself the limit? ------------------------------------------------------------------------


def captured(iops: float, latency_s: float | None, queue: float | None) -> TotalLoad:
    columns = {"iops": np.full(10, iops)}
    columns |= {} if latency_s is None else {"latency_s": np.full(10, latency_s)}
    columns |= {} if queue is None else {"queue_depth": np.full(10, queue)}
    return TotalLoad(0.0, 60.0, columns, ("a",), 1, ())


def test_slow_answers_or_long_queues_show_that_hosts_wanted_more() -> None:
    every = np.ones(10, dtype=np.bool_)

    # 1,000 a second within 50 ms are 50 in flight: answered within 20 ms, they could be 2,500 a second.
    slow = held_back(captured(1000, 50e-3, None), every, 20e-3, None)
    queued = held_back(captured(1000, 10e-3, 100.0), every, 20e-3, 24)

    assert slow is not None
    assert slow.by == "latency"
    assert [slow.latency_s, slow.queued, slow.most_iops] == pytest.approx([50e-3, 50, 2500])
    assert queued is not None
    assert queued.by == "queue"
    assert [queued.latency_s, queued.queued, queued.most_iops] == pytest.approx([10e-3, 100, 5000])


def test_what_answers_soon_enough_held_nothing_back() -> None:
    every = np.ones(10, dtype=np.bool_)

    assert held_back(captured(1000, 19e-3, None), every, 20e-3, None) is None
    assert held_back(captured(1000, 10e-3, 100.0), every, 20e-3, 40) is None
    # How many disks there are is not known: the queue says nothing.
    assert held_back(captured(1000, 10e-3, 100.0), every, 20e-3, None) is None
    assert held_back(captured(1000, None, None), every, 20e-3, 1) is None


def test_a_slow_quiet_night_is_not_what_is_sustained() -> None:
    load = TotalLoad(
        0.0, 60.0, {"iops": np.array([10.0, 1000, 1000]), "latency_s": np.array([0.5, 5e-3, 5e-3])}, ("a",), 1, ()
    )

    assert held_back(load, np.array([False, True, True]), 20e-3, None) is None
    assert held_back(load, np.array([True, False, False]), 20e-3, None) is not None
