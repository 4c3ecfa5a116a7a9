"""What limited a number: measured demonstrations whose limiter is known, and the facts of a run that was traced."""

import dataclasses

import pytest

from assay.analysis.cpus import HeldUpBy
from assay.analysis.limiter.rules import decide
from assay.analysis.limiter.signals import CurvePoint, DeviceSignals, Signals
from assay.verdicts import Bottleneck, Confidence

MB = 1e6


def fewer(latency_s: float | None) -> CurvePoint | None:
    """The same operation, one at a time."""
    return None if latency_s is None else CurvePoint(1.0, 1 / latency_s, latency_s)


def disk(**known: object) -> DeviceSignals:
    """A disk that does next to nothing, but for what is known of it."""
    idle = DeviceSignals(
        names=("vda",),
        utilisation=0.0,
        in_flight=0.0,
        await_s=None,
        flush_s=None,
        requests_per_s=0.0,
        bytes_per_s=0.0,
        flushes_per_s=0.0,
    )
    return dataclasses.replace(idle, **known)  # type: ignore[arg-type]


def load(**known: object) -> Signals:
    """One worker on two CPUs, one operation in flight."""
    plain = Signals(outstanding=1, ops_per_s=1000.0, cpus=2)
    return dataclasses.replace(plain, **known)  # type: ignore[arg-type]


PUTC = load(
    ops_per_s=34_400,
    latency_s=29e-6,
    on_cpu=0.88,
    run_delay=0.08,
    cpu_bound_share=1.0,
    user_share=0.72,
    own_cpus=0.88,
)
CACHED = load(
    ops_per_s=428_000,
    latency_s=2.2e-6,
    on_cpu=0.9,
    run_delay=0.09,
    cpu_bound_share=1.0,
    user_share=0.2,
    own_cpus=0.9,
)
DIRECT_1 = load(
    ops_per_s=10_300,
    latency_s=96e-6,
    on_cpu=0.27,
    run_delay=0.05,
    block_delay=0.54,
    cpu_bound_share=0.0,
    own_cpus=0.27,
    device=disk(utilisation=0.67, in_flight=0.72, await_s=70e-6, requests_per_s=10_300, bytes_per_s=42 * MB),
)
DIRECT_64 = load(
    outstanding=64,
    ops_per_s=26_100,
    latency_s=2.45e-3,
    fewer=fewer(96e-6),
    on_cpu=0.28,
    run_delay=0.05,
    cpu_bound_share=0.0,
    own_cpus=0.28,
    device=disk(utilisation=0.78, in_flight=33, await_s=1.27e-3, requests_per_s=26_100, bytes_per_s=107 * MB),
)
SEQUENTIAL = load(
    outstanding=8,
    ops_per_s=803,
    latency_s=9.9e-3,
    on_cpu=0.06,
    run_delay=0.04,
    cpu_bound_share=0.0,
    own_cpus=0.06,
    device_ceiling_bytes_per_s=880 * MB,
    device=disk(utilisation=1.0, in_flight=11, await_s=6e-3, requests_per_s=1700, bytes_per_s=842 * MB),
)
THROTTLED = load(
    ops_per_s=5000,
    latency_s=0.2e-3,
    on_cpu=0.005,
    run_delay=0.03,
    block_delay=0.96,
    cpu_bound_share=0.0,
    own_cpus=0.01,
    device=disk(
        utilisation=0.2,
        in_flight=0.9,
        await_s=20e-6,
        requests_per_s=5000,
        bytes_per_s=20.8 * MB,
        limit_share=0.99,
        limit="the 20 MiB/s that this control group may read",
    ),
)
PACED = load(
    ops_per_s=500, latency_s=60e-6, offered_per_s=500, on_cpu=0.63, run_delay=0.05, cpu_bound_share=1.0, own_cpus=0.63
)
SLOW_FLUSH = load(
    ops_per_s=24,
    latency_s=41e-3,
    on_cpu=0.01,
    run_delay=0.01,
    cpu_bound_share=0.0,
    own_cpus=0.02,
    device=disk(utilisation=0.98, in_flight=1, await_s=0.2e-3, flush_s=40e-3, requests_per_s=48, flushes_per_s=24.0),
)
DIRTY = load(
    ops_per_s=300,
    latency_s=3.3e-3,
    is_absorbed=True,
    dirty_share=0.97,
    on_cpu=0.2,
    run_delay=0.02,
    cpu_bound_share=0.0,
    own_cpus=0.3,
    device=disk(utilisation=0.99, in_flight=40, await_s=30e-3, requests_per_s=1000, bytes_per_s=290 * MB),
)
QUOTA = load(
    ops_per_s=9000,
    latency_s=110e-6,
    on_cpu=0.3,
    run_delay=0.69,
    cpu_bound_share=1.0,
    own_cpus=0.3,
    cpu_limit=0.3,
    throttled=0.69,
)
LINK = load(
    outstanding=4,
    ops_per_s=90,
    latency_s=44e-3,
    on_cpu=0.01,
    run_delay=0.01,
    cpu_bound_share=0.0,
    own_cpus=0.1,
    link_bytes_per_s=11.8 * MB,
    wire_bytes_per_s=11.7 * MB,
)
CROWD = load(
    workers=8,
    outstanding=8,
    ops_per_s=700_000,
    latency_s=11e-6,
    on_cpu=0.24,
    run_delay=0.75,
    cpu_bound_share=1.0,
    own_cpus=1.95,
)


@pytest.mark.parametrize(
    ("signals", "limit", "said"),
    [
        (PUTC, Bottleneck.CLIENT_CPU_SINGLE, "72 % of it in programs (user)"),
        (CACHED, Bottleneck.CLIENT_CPU_SINGLE, "80 % of it in the kernel"),
        (DIRECT_1, Bottleneck.OPERATION_LATENCY, "73 % of the latency is the device"),
        (DIRECT_64, Bottleneck.DEVICE_SATURATED, "25.5 times as long as with fewer in flight"),
        (SEQUENTIAL, Bottleneck.DEVICE_THROUGHPUT, "of the"),
        (THROTTLED, Bottleneck.THROTTLE_IO, "99 % of the 20 MiB/s"),
        (PACED, Bottleneck.OFFERED_LOAD, "100.0 % of the 500 arrivals"),
        (SLOW_FLUSH, Bottleneck.OPERATION_LATENCY, "98 % of the latency is flushes of the device"),
        (DIRTY, Bottleneck.WRITEBACK_DEVICE, "97 %"),
        (QUOTA, Bottleneck.THROTTLE_CPU, "69 % of the time"),
        (LINK, Bottleneck.NETWORK_BANDWIDTH, "99 %"),
        (CROWD, Bottleneck.CLIENT_CPU_ALL, "1.95 of 2 CPUs"),
    ],
)
def test_what_was_planted_is_named_with_its_evidence(signals: Signals, limit: Bottleneck, said: str) -> None:
    found = decide(signals)

    assert (found.limit, found.confidence) == (limit, Confidence.HIGH)
    assert said in "; ".join(found.evidence)
    assert found.remedy


@pytest.mark.parametrize(
    ("of_operations", "limit", "confidence"),
    [
        (1.0, Bottleneck.CLIENT_CPU_SINGLE, Confidence.HIGH),
        (0.7, Bottleneck.CLIENT_CPU_SINGLE, Confidence.MEDIUM),
        # One busy worker of 16 that did a sixteenth of the operations.
        (1 / 16, Bottleneck.OPERATION_LATENCY, Confidence.MEDIUM),
        (0.0, Bottleneck.OPERATION_LATENCY, Confidence.MEDIUM),
    ],
)
def test_busy_workers_limit_a_load_by_their_share_of_its_operations(
    of_operations: float, limit: Bottleneck, confidence: Confidence
) -> None:
    waiting = disk(utilisation=0.6, in_flight=12, await_s=1.5e-3, requests_per_s=8000)
    sixteen = load(workers=16, outstanding=16, ops_per_s=8000, latency_s=2e-3, on_cpu=0.1, cpus=16, device=waiting)

    found = decide(dataclasses.replace(sixteen, cpu_bound_share=of_operations))

    assert (found.limit, found.confidence) == (limit, confidence)


@pytest.mark.parametrize(("workers", "own_cpus"), [(1, 1.0), (2, 2.0)])
def test_workers_that_poll_a_full_device_are_not_limited_by_the_cpu(workers: int, own_cpus: float) -> None:
    full = disk(utilisation=1.0, in_flight=60.0, await_s=0.95e-3, requests_per_s=64_000)
    polling = load(
        workers=workers,
        outstanding=64,
        ops_per_s=64_000,
        latency_s=1e-3,
        is_polling=True,
        user_share=0.1,
        own_cpus=own_cpus,
        device=full,
    )

    found = decide(polling)

    assert (found.limit, found.confidence) == (Bottleneck.DEVICE_SATURATED, Confidence.LOW)
    assert not any("CPU" in text for text in found.evidence)
    busy = decide(dataclasses.replace(polling, is_polling=False, on_cpu=1.0, cpu_bound_share=1.0))
    assert busy.limit in {Bottleneck.CLIENT_CPU_SINGLE, Bottleneck.CLIENT_CPU_ALL}


DELETES = load(
    workers=4,
    outstanding=4,
    ops_per_s=900,
    latency_s=4.4e-3,
    on_cpu=0.03,
    run_delay=0.94,
    own_cpus=0.12,
    cpu_bound_share=0.0,
    cpu_users="the load itself used 0.1 of 2 CPUs, all else on the machine 1.9",
)


@pytest.mark.parametrize(
    ("known", "said", "cure"),
    [
        ({}, "all else on the machine 1.9", "Stop other programs"),
        ({"held_up_by": HeldUpBy.OWN}, "behind each other", "Use fewer workers, or let them run on more CPUs."),
        ({"held_up_by": HeldUpBy.KERNEL}, "behind threads of the kernel", "a machine with more CPUs"),
        ({"steal": 0.4}, "the hypervisor gave 40 % of the CPU time to others", "Use a quieter host"),
    ],
)
def test_deletes_that_wait_for_a_cpu_are_limited_by_who_had_it(known: dict[str, object], said: str, cure: str) -> None:
    found = decide(dataclasses.replace(DELETES, **known))  # type: ignore[arg-type]

    assert (found.limit, found.confidence) == (Bottleneck.CPU_CONTENTION, Confidence.HIGH)
    assert "its workers waited for a CPU for 94 % of their time" in found.evidence[0]
    assert said in "; ".join(found.evidence)
    assert cure in found.remedy


def test_a_wait_for_a_cpu_that_a_quota_or_the_load_itself_makes_is_no_contention() -> None:
    assert decide(dataclasses.replace(DELETES, throttled=0.9)).limit is Bottleneck.THROTTLE_CPU
    assert decide(dataclasses.replace(DELETES, own_cpus=1.9)).limit is Bottleneck.CLIENT_CPU_ALL
    pinned = decide(dataclasses.replace(DELETES, own_cpus=0.99, cpus=1, is_confined=True, cpu_bound_share=1.0))
    assert pinned.evidence[0] == "the load used 0.99 of 1 CPUs that its workers may use"


def test_a_wait_for_a_cpu_is_cured_before_more_is_kept_in_flight() -> None:
    found = decide(dataclasses.replace(DIRECT_1, run_delay=0.3))

    assert (found.limit, found.confidence) == (Bottleneck.OPERATION_LATENCY, Confidence.LOW)
    assert found.remedy.startswith("Stop other programs")


@pytest.mark.parametrize(
    ("in_flight", "utilisation"), [(3.90, 0.97), (3.99, 0.98), (4.01, 0.98), (4.10, 1.0), (3.5, 0.95), (63.0, 1.0)]
)
def test_a_device_that_is_never_idle_gets_one_verdict_whatever_was_in_it(in_flight: float, utilisation: float) -> None:
    depth = 4 if in_flight < 5 else 64
    busy = disk(utilisation=utilisation, in_flight=in_flight, await_s=0.99 * depth / 400, requests_per_s=400)

    found = decide(load(outstanding=depth, ops_per_s=400, latency_s=depth / 400, on_cpu=0.02, device=busy))

    assert (found.limit, found.confidence) == (Bottleneck.DEVICE_SATURATED, Confidence.LOW)
    assert found.remedy.startswith("Measure half and twice as many in flight")


@pytest.mark.parametrize(
    ("utilisation", "fewer_s", "advice"),
    [
        # Idle for a third of the time: one request at a time could be half as many again. Idle for less, it is not known.
        (0.60, None, "Keep more"),
        (0.66, None, "Keep more"),
        (0.68, None, "Measure twice"),
        (0.89, None, "Measure twice"),
        # An operation takes as long as with fewer, so these did not wait for each other.
        (0.89, 0.98e-3, "Keep more"),
        (0.89, 0.92e-3, "Keep more"),
        (0.89, 0.70e-3, "Measure twice"),
        (0.40, 0.70e-3, "Measure twice"),
        (None, None, "Measure twice"),
    ],
)
def test_more_in_flight_is_advised_where_the_device_was_seen_idle_or_fewer_took_as_long(
    utilisation: float | None, fewer_s: float | None, advice: str
) -> None:
    below = utilisation and disk(utilisation=utilisation, in_flight=3.7, await_s=0.92e-3, requests_per_s=4000)
    signals = load(
        outstanding=4, ops_per_s=4000, latency_s=1e-3, on_cpu=0.02, fewer=fewer(fewer_s), device=below or None
    )

    found = decide(signals)

    assert found.limit is Bottleneck.OPERATION_LATENCY
    assert found.remedy.startswith(advice)
    assert found.confidence is (Confidence.MEDIUM if advice == "Keep more" else Confidence.LOW)


def test_little_s_law_says_nothing_of_a_remote_side_that_is_not_seen() -> None:
    found = decide(load(outstanding=64, ops_per_s=32_000, latency_s=2e-3, on_cpu=0.1))

    assert (found.limit, found.confidence) == (Bottleneck.OPERATION_LATENCY, Confidence.LOW)
    assert found.remedy.startswith("Measure twice as many in flight")


@pytest.mark.parametrize(
    ("share", "await_ms", "limit", "confidence"),
    [
        # A limit 3 % above what the device gives: its own time is 99 % of the latency.
        (0.97, 0.99, Bottleneck.OPERATION_LATENCY, Confidence.HIGH),
        (1.00, 0.95, Bottleneck.OPERATION_LATENCY, Confidence.HIGH),
        # A part of each latency is spent before the device.
        (0.99, 0.70, Bottleneck.THROTTLE_IO, Confidence.MEDIUM),
        (0.99, 0.30, Bottleneck.THROTTLE_IO, Confidence.HIGH),
        (0.94, 0.30, Bottleneck.OPERATION_LATENCY, Confidence.MEDIUM),
    ],
)
def test_a_limit_holds_back_only_where_operations_wait_outside_of_the_device(
    share: float, await_ms: float, limit: Bottleneck, confidence: Confidence
) -> None:
    below = disk(
        utilisation=await_ms,
        in_flight=await_ms,
        await_s=await_ms / 1e3,
        requests_per_s=1000,
        limit_share=share,
        limit="it",
    )

    found = decide(load(ops_per_s=1000, latency_s=1e-3, on_cpu=0.01, run_delay=0.0, device=below))

    assert (found.limit, found.confidence) == (limit, confidence)


@pytest.mark.parametrize(
    ("utilisation", "confidence"), [(0.5, Confidence.HIGH), (0.89, Confidence.HIGH), (0.95, None), (1.0, None)]
)
def test_a_limit_of_writes_that_memory_takes_leaves_the_device_idle(
    utilisation: float, confidence: Confidence | None
) -> None:
    below = disk(utilisation=utilisation, in_flight=1.0, limit_share=0.99, limit="it")

    found = decide(load(is_absorbed=True, latency_s=1e-3, on_cpu=0.1, device=below))

    assert (found.limit is Bottleneck.THROTTLE_IO) is (confidence is not None)
    assert confidence in {None, found.confidence}


def test_a_client_that_reads_as_fast_as_the_page_cache_gives_is_told_so() -> None:
    cached = [decide(dataclasses.replace(CACHED, cached_read_share=share)) for share in (0.69, 0.93)]

    assert [found.limit for found in cached] == [Bottleneck.CLIENT_CPU_SINGLE] * 2
    assert ["page cache" in " ".join(found.evidence) for found in cached] == [False, True]
    assert "a worker reads 93 % of what one thread reads from the page cache" in " ".join(cached[1].evidence)


def test_a_putc_loop_that_neighbours_starve_is_limited_by_them() -> None:
    starved = dataclasses.replace(
        PUTC, on_cpu=0.33, run_delay=0.67, cpu_bound_share=1.0, own_cpus=0.33, ops_per_s=13_400, latency_s=74e-6
    )

    found = decide(starved)

    assert (found.limit, found.confidence) == (Bottleneck.CPU_CONTENTION, Confidence.MEDIUM)
    assert "waited for a CPU for 67 %" in found.evidence[0]
    # Where the wait is the smaller part, its own work limits it, for sure only without the wait.
    found = decide(dataclasses.replace(starved, on_cpu=0.6, run_delay=0.4))
    assert (found.limit, found.confidence) == (Bottleneck.CLIENT_CPU_SINGLE, Confidence.LOW)
    assert found.remedy == decide(starved).remedy


def test_durable_writes_that_wait_for_a_cpu_are_not_put_to_the_disk_for_sure() -> None:
    waiting = load(
        ops_per_s=655,
        latency_s=1.5e-3,
        on_cpu=0.05,
        run_delay=0.87,
        block_delay=0.12,
        cpu_bound_share=0.0,
        own_cpus=0.05,
        device=disk(
            utilisation=0.07, in_flight=0.1, await_s=50e-6, flush_s=40e-6, requests_per_s=1300, flushes_per_s=639.0
        ),
    )

    found = decide(waiting)

    assert (found.limit, found.confidence) == (Bottleneck.CPU_CONTENTION, Confidence.MEDIUM)
    assert not any("is the device" in text or "flushes" in text for text in found.evidence)


NEARLY_DIRTY = load(  # measured: memory of 16 MiB that may be dirty, a device of 20 MiB/s
    ops_per_s=21.2,
    latency_s=47.1e-3,
    is_absorbed=True,
    dirty_share=1.08,
    background_share=2 / 3,
    on_cpu=0.028,
    run_delay=0.001,
    cpu_bound_share=0.0,
    own_cpus=0.03,
    device=disk(utilisation=0.898, in_flight=4.7, await_s=180e-3, requests_per_s=26, bytes_per_s=19.8 * MB),
)


def test_writers_that_wait_below_the_mark_wait_for_write_back_less_surely() -> None:
    found = decide(NEARLY_DIRTY)

    assert (found.limit, found.confidence) == (Bottleneck.WRITEBACK_DEVICE, Confidence.MEDIUM)
    assert "108 %" in found.evidence[0]
    working = decide(dataclasses.replace(NEARLY_DIRTY, on_cpu=0.6))
    assert working.limit is not Bottleneck.WRITEBACK_DEVICE


@pytest.mark.parametrize(("share", "is_named"), [(0.66, False), (0.67, True)])
def test_write_back_is_on_and_its_device_busy_for_two_thirds_of_the_time(share: float, is_named: bool) -> None:
    """By default the kernel writes back from two thirds of where writers wait on: 10 % of memory, by 15 %."""
    busy = dataclasses.replace(NEARLY_DIRTY.device or disk(), utilisation=share)
    for nearly in ({"dirty_share": share}, {"device": busy}):
        found = decide(dataclasses.replace(NEARLY_DIRTY, **nearly))

        assert (found.limit is Bottleneck.WRITEBACK_DEVICE) is is_named


def test_what_the_device_does_while_the_worker_runs_is_no_part_of_its_latency() -> None:
    # Measured: blocks read from memory, changed and written, and a flush at the end, on a loop device.
    rewriting = load(
        ops_per_s=145_109,
        latency_s=6.89e-6,
        on_cpu=0.544,
        run_delay=0.042,
        block_delay=0.351,
        cpu_bound_share=0.0,
        own_cpus=0.56,
        device=disk(utilisation=0.9, in_flight=20, await_s=20e-3, requests_per_s=1133, flush_s=1e-3, flushes_per_s=8.9),
    )

    found = decide(rewriting)

    assert found.limit is Bottleneck.OPERATION_LATENCY
    assert found.evidence[1] == "54 % of the latency is this client's CPU"
    waiting = decide(dataclasses.replace(rewriting, on_cpu=0.2, run_delay=0.0))
    assert waiting.evidence[1] == "80 % of the latency is the device"


def test_the_time_of_later_requests_is_no_part_of_a_write_that_memory_takes() -> None:
    found = decide(dataclasses.replace(NEARLY_DIRTY, dirty_share=0.3))

    assert found.confidence is not Confidence.HIGH
    assert not any("of the latency is the device" in text for text in found.evidence)


@pytest.mark.parametrize(
    ("write_ms", "flush_ms", "said"),
    [
        # Of 1 ms, each write waits for its flush, whose time is in the write's, too.
        (0.9, 0.51, "51 % of the latency is flushes of the device"),
        (0.9, 0.49, "90 % of the latency is the device"),
        (0.3, 0.6, "60 % of the latency is flushes of the device"),
        # Neither is half of it, and both together are.
        (0.45, 0.4, "85 % of the latency is the device and its flushes"),
    ],
)
def test_a_flush_that_is_half_of_the_latency_is_what_takes_it(write_ms: float, flush_ms: float, said: str) -> None:
    below = disk(await_s=write_ms / 1e3, requests_per_s=1000, flush_s=flush_ms / 1e3, flushes_per_s=1000)

    found = decide(load(ops_per_s=1000, latency_s=1e-3, device=below))

    assert (found.limit, found.evidence[1]) == (Bottleneck.OPERATION_LATENCY, said)


@pytest.mark.parametrize(("others", "is_its_own"), [(0.0, True), (3000.0, False), (None, False)])
def test_requests_of_a_device_are_those_of_all_clients_of_the_machine(others: float | None, is_its_own: bool) -> None:
    below = disk(utilisation=0.8, in_flight=0.8, await_s=0.78e-3, requests_per_s=1000)
    one = load(ops_per_s=1000, latency_s=1e-3, device=below, others_ops_per_s=others)

    found = decide(one)

    # 0.78 ms of each millisecond, but where three others have three of four requests.
    named = [text for text in found.evidence if text.endswith("of the latency is the device")]
    assert named == (["78 % of the latency is the device"] if is_its_own else [])
    assert found.confidence is (Confidence.HIGH if is_its_own else Confidence.MEDIUM)


def test_an_open_loop_that_falls_behind_is_not_held_by_what_was_offered() -> None:
    behind = dataclasses.replace(
        PACED, offered_per_s=2000, ops_per_s=500, latency_s=2e-3, on_cpu=0.05, cpu_bound_share=0.0
    )

    assert decide(behind).limit is Bottleneck.OPERATION_LATENCY


@pytest.mark.parametrize(
    ("issued", "late", "idle", "said"),
    [
        (None, 0.0, 0.8, None),  # At equal times 37 of 40 a second are too few.
        (1.0, 0.0, 0.8, "100.0 % of the 40.0 arrivals a second were served on time"),
        (1.0, 0.17, 0.8, "100.0 % of the 40.0 arrivals a second were served"),
        (0.97, 0.2, 0.8, None),
        (1.0, 0.17, 0.1, None),
    ],
)
def test_arrivals_at_random_are_held_against_those_that_came(
    issued: float | None, late: float, idle: float, said: str | None
) -> None:
    found = decide(load(ops_per_s=37, offered_per_s=40, issued_share=issued, late_share=late, idle=idle))

    assert (found.limit is Bottleneck.OFFERED_LOAD) is (said is not None)
    assert said is None or found.evidence == (said,)


@pytest.mark.parametrize(
    ("share", "idle", "limit", "confidence"),
    [
        (0.998, 0.45, Bottleneck.OFFERED_LOAD, Confidence.HIGH),
        (0.995, 0.004, Bottleneck.OFFERED_LOAD, Confidence.MEDIUM),
        (0.9, 0.3, Bottleneck.UNKNOWN, Confidence.LOW),
    ],
)
def test_a_closed_loop_at_its_own_limit_is_held_by_it(
    share: float, idle: float, limit: Bottleneck, confidence: Confidence
) -> None:
    found = decide(load(ops_per_s=100, own_limit_share=share, own_limit="100 operations", idle=idle))

    assert (found.limit, found.confidence) == (limit, confidence)
    assert (
        limit is Bottleneck.UNKNOWN
        or "of the 100 operations a second that the load holds itself to" in found.evidence[0]
    )


def test_a_depth_that_brings_more_is_latency_and_one_that_does_not_is_a_full_device() -> None:
    deep = dataclasses.replace(DIRECT_64, fewer=fewer(None))
    shallow = dataclasses.replace(
        DIRECT_64,
        outstanding=4,
        ops_per_s=36_000,
        latency_s=111e-6,
        device=disk(utilisation=0.99, in_flight=3.4, await_s=90e-6, requests_per_s=36_000, bytes_per_s=147 * MB),
    )

    assert decide(shallow).limit is Bottleneck.OPERATION_LATENCY
    assert decide(deep).confidence is not Confidence.HIGH or decide(deep).limit is Bottleneck.OPERATION_LATENCY


def test_where_nothing_is_known_nothing_is_claimed() -> None:
    found = decide(load(ops_per_s=0.0))

    assert (found.limit, found.confidence) == (Bottleneck.UNKNOWN, Confidence.LOW)


# Report 003: creates and deletes of one thread over NFS, and characters, as the author traced them.
@pytest.mark.parametrize(
    ("signals", "limit"),
    [
        (
            load(ops_per_s=16384 / 19, latency_s=19 / 16384, on_cpu=1.5 / 19, cpu_bound_share=0.0, run_delay=0.0),
            Bottleneck.OPERATION_LATENCY,
        ),
        (
            load(ops_per_s=1591, latency_s=10.294 / 16384, on_cpu=0.045, cpu_bound_share=0.0, run_delay=0.0),
            Bottleneck.OPERATION_LATENCY,
        ),
        (
            load(ops_per_s=1e6 / 114, latency_s=114e-6, on_cpu=113.6 / 114, cpu_bound_share=1.0, run_delay=0.0),
            Bottleneck.CLIENT_CPU_SINGLE,
        ),
        (
            load(
                outstanding=8,
                ops_per_s=3448,
                latency_s=2.3e-3,
                link_bytes_per_s=117.7 * MB,
                wire_bytes_per_s=113 * MB,
                on_cpu=0.4,
                cpu_bound_share=0.0,
                run_delay=0.0,
            ),
            Bottleneck.NETWORK_BANDWIDTH,
        ),
    ],
)
def test_the_traced_run_has_the_limits_that_its_author_found(signals: Signals, limit: Bottleneck) -> None:
    assert decide(signals).limit is limit


# -- edges: a signal just below a threshold and just above it -----------------------------------------------------------

SINGLE, LATENCY, UNKNOWN = Bottleneck.CLIENT_CPU_SINGLE, Bottleneck.OPERATION_LATENCY, Bottleneck.UNKNOWN
CONTENTION, SATURATED = Bottleneck.CPU_CONTENTION, Bottleneck.DEVICE_SATURATED
BUSY_DISK = disk(utilisation=0.95, in_flight=5.0, await_s=0.9e-3, requests_per_s=8000, bytes_per_s=80 * MB)
QUEUED = load(outstanding=8, ops_per_s=8000, latency_s=1e-3, on_cpu=0.1, device=BUSY_DISK)
"""Of each operation, 90 % is the time of its request in a device that is busy."""


@pytest.mark.parametrize(
    ("signals", "name", "edges", "limits"),
    [
        # Workers that are busy limit a load from half of its operations on.
        (load(on_cpu=0.89), "cpu_bound_share", (0.49, 0.51), (UNKNOWN, SINGLE)),
        # Workers wait for a CPU for most of the time that their schedule leaves them: 0.41 and 0.39 of 0.8.
        (load(on_cpu=0.1, idle=0.2, cpu_bound_share=0.0), "run_delay", (0.39, 0.41), (UNKNOWN, CONTENTION)),
        (load(on_cpu=0.5, cpu_bound_share=0.0), "steal", (0.49, 0.51), (UNKNOWN, CONTENTION)),
        # The load takes all CPUs from 90 % of them on.
        (load(on_cpu=0.5, cpu_bound_share=0.0), "own_cpus", (1.78, 1.82), (UNKNOWN, Bottleneck.CLIENT_CPU_ALL)),
        # A control group is throttled from 5 % of the time on.
        (load(), "throttled", (0.04, 0.06), (UNKNOWN, Bottleneck.THROTTLE_CPU)),
        # A link is full from 85 % of what it carries on.
        (load(link_bytes_per_s=100.0), "wire_bytes_per_s", (84.0, 86.0), (UNKNOWN, Bottleneck.NETWORK_BANDWIDTH)),
        # Arrivals of an open loop are served down to 99 %, and late above 1 %.
        (load(offered_per_s=1000.0), "ops_per_s", (985.0, 995.0), (UNKNOWN, Bottleneck.OFFERED_LOAD)),
        (load(offered_per_s=1000.0), "late_share", (0.009, 0.011), (Bottleneck.OFFERED_LOAD, UNKNOWN)),
        (load(offered_per_s=1000.0, late_share=0.1), "idle", (0.49, 0.51), (UNKNOWN, Bottleneck.OFFERED_LOAD)),
        # A closed loop is held by its own schedule from half of its time on, and by its own rate from 99 % of it on.
        (load(), "idle", (0.49, 0.51), (UNKNOWN, Bottleneck.OFFERED_LOAD)),
        (load(own_limit="1 operation"), "own_limit_share", (0.985, 0.995), (UNKNOWN, Bottleneck.OFFERED_LOAD)),
        # Little's law holds to 10 %: 1,000 a second, one in flight.
        (load(), "latency_s", (0.89e-3, 0.91e-3), (UNKNOWN, LATENCY)),
        (load(), "latency_s", (1.11e-3, 1.09e-3), (UNKNOWN, LATENCY)),
        # Memory is full from 90 % of what may be dirty on, where the writers wait for less than half of their time.
        (
            dataclasses.replace(DIRTY, on_cpu=0.6, latency_s=None),
            "dirty_share",
            (0.89, 0.91),
            (UNKNOWN, Bottleneck.WRITEBACK_DEVICE),
        ),
        # Operations wait for each other where one takes 1.6 times as long as with fewer in flight: here 1 ms.
        (QUEUED, "fewer", (fewer(1e-3 / 1.55), fewer(1e-3 / 1.65)), (LATENCY, Bottleneck.DEVICE_SATURATED)),
        # Of two, one can wait for the other; one alone cannot.
        (QUEUED, "outstanding", (1, 2), (UNKNOWN, Bottleneck.DEVICE_SATURATED)),
    ],
)
def test_a_limiter_is_named_on_one_side_of_its_threshold(
    signals: Signals, name: str, edges: tuple[object, object], limits: tuple[Bottleneck, Bottleneck]
) -> None:
    found = tuple(decide(dataclasses.replace(signals, **{name: edge})).limit for edge in edges)  # type: ignore[arg-type]

    assert found == limits


@pytest.mark.parametrize(
    ("signals", "name", "edges", "limits"),
    [
        # A limit that was set is reached from 95 % of it on.
        (load(device=disk(limit="a limit")), "limit_share", (0.94, 0.96), (UNKNOWN, Bottleneck.THROTTLE_IO)),
        # A device gives what it can from 85 % of its ceiling on.
        (
            load(device=disk(), device_ceiling_bytes_per_s=100.0),
            "bytes_per_s",
            (84.0, 86.0),
            (UNKNOWN, Bottleneck.DEVICE_THROUGHPUT),
        ),
        # Where no other depth was measured, a device may be full if it is never idle, however many are in it.
        (QUEUED, "utilisation", (0.90, 0.91), (LATENCY, SATURATED)),
        (QUEUED, "in_flight", (3.9, 4.1), (SATURATED, SATURATED)),
        # It is the device that they wait for if the request takes half of the latency, which is 1 ms.
        (QUEUED, "await_s", (0.49e-3, 0.51e-3), (LATENCY, Bottleneck.DEVICE_SATURATED)),
        # Memory that is full waits for a device that is busy for 90 % of the time.
        (
            dataclasses.replace(DIRTY, on_cpu=0.6, latency_s=None),
            "utilisation",
            (0.89, 0.91),
            (UNKNOWN, Bottleneck.WRITEBACK_DEVICE),
        ),
    ],
)
def test_what_a_device_limits_is_named_on_one_side_of_its_threshold(
    signals: Signals, name: str, edges: tuple[float, float], limits: tuple[Bottleneck, Bottleneck]
) -> None:
    assert signals.device is not None
    devices = [dataclasses.replace(signals.device, **{name: edge}) for edge in edges]  # type: ignore[arg-type]

    assert tuple(decide(dataclasses.replace(signals, device=below)).limit for below in devices) == limits


@pytest.mark.parametrize(("share", "is_user"), [(0.59, False), (0.61, True)])
def test_the_program_takes_the_cpu_from_six_tenths_of_its_time_on(share: float, is_user: bool) -> None:
    text = "; ".join(decide(dataclasses.replace(PUTC, user_share=share)).evidence)

    assert ("61 % of it in programs (user)" in text) is is_user
    assert ("41 % of it in the kernel" in text) is not is_user


@pytest.mark.parametrize(
    ("signals", "times", "confidence"),
    [
        # One in flight whose time is the device's is sure; that twice as many give no more takes it back.
        (DIRECT_1, 1.09, Confidence.LOW),
        (DIRECT_1, 1.11, Confidence.HIGH),
        # Eight in flight are not sure, before twice as many give half as much again.
        (dataclasses.replace(QUEUED, device=None), 1.49, Confidence.LOW),
        (dataclasses.replace(QUEUED, device=None), 1.51, Confidence.HIGH),
        # A device that is full gives no more.
        (SEQUENTIAL, 1.49, Confidence.HIGH),
        (SEQUENTIAL, 1.51, Confidence.LOW),
        (QUEUED, 1.09, Confidence.HIGH),
        (QUEUED, 1.11, Confidence.LOW),
    ],
)
def test_twice_as_many_in_flight_confirm_a_limiter_or_refute_it(
    signals: Signals, times: float, confidence: Confidence
) -> None:
    more = CurvePoint(2 * signals.outstanding, times * signals.ops_per_s, signals.latency_s or 0.0)

    assert decide(dataclasses.replace(signals, more=more)).confidence is confidence


@pytest.mark.parametrize(
    ("name", "share", "is_sure"),
    [("run_delay", 0.09, True), ("run_delay", 0.11, False), ("steal", 0.04, True), ("steal", 0.06, False)],
)
def test_nothing_is_sure_where_others_took_a_tenth_of_the_time_or_a_twentieth_of_the_cpus(
    name: str, share: float, is_sure: bool
) -> None:
    found = decide(dataclasses.replace(PUTC, **{name: share}))  # type: ignore[arg-type]

    assert found.confidence is (Confidence.HIGH if is_sure else Confidence.LOW)
