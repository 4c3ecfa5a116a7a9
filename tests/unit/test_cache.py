"""Cache verdicts against runs in which it is known where each byte came from."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl
import pytest

from assay import events, plan
from assay.analysis.record import read
from assay.analysis.reduction import can_be_reduced
from assay.analysis.rows import Span
from assay.bundle.tables import HOST, OF_STREAM
from assay.results import Result
from assay.verdicts import ServedBy, TrustLevel
from unit.memory_run import counters_of, judged
from unit.synthetic import (
    BLOCK_BACKED,
    DATA,
    MIB,
    Counters,
    SyntheticRun,
    one_job,
    one_plan,
    read_op,
    steady_stream,
)

if TYPE_CHECKING:
    from assay.host.facts import FactValue

READ_BYTES = 100 * 5 * MIB
"""100 reads of 1 MiB a second for 5 s."""
COLD = plan.CacheCondition.COLD


def measure(  # what a test varies
    *,
    fetched: int | None,
    delivered: int | None = None,
    cache: plan.CacheCondition = plan.CacheCondition.AS_IS,
    file_system: str = "ext4",
    block_backed: bool = True,
    device: str = "vda",
    below: int | None = None,
    resident: tuple[float, float] | None = None,
    upper: str | None = None,
    behind: str | None = None,
    direct: bool = False,
    kind: plan.OpKind = plan.OpKind.READ,
    job: plan.Job | None = None,
    set_bytes: int = 1 << 30,
    written: int = 0,
    counted: Mapping[tuple[str, str, str], tuple[float, float]] | None = None,
    cached_first: events.CachedFirst | None = None,
    data: plan.FileSet = DATA,
    more: Mapping[str, "FactValue"] | None = None,
) -> Result:
    """Measure 500 MiB of reads or writes with counters that grow by what is given."""
    name = kind.value
    facts: dict[str, FactValue] = {
        **BLOCK_BACKED,
        "target.target.fs.type": file_system,
        "target.target.fs.is_block_backed": block_backed,
        "target.target.device.diskstats": (device,),
        **(more or {}),
    }
    if upper is not None:
        facts["target.target.upper.fs.type"] = upper
    if behind is not None:
        facts["target.target.device.0.backing.fs.type"] = behind
    moved = fetched if delivered is None else delivered
    devices = {} if moved is None else {device: (moved, written if kind is plan.OpKind.READ else moved)}
    if below is not None:
        devices |= {"sda": (below, 0), "sda1": (below, 0)}
    job = job or one_job(plan.Do(op=read_op(name, kind=kind, size_bytes=MIB)))
    phase = plan.Phase(name="p", title="p", jobs=(job,), cache=cache)
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1, data=data), facts=facts, set_bytes=set_bytes)
    stream = steady_stream(per_s=100, seconds=5, latency_ns=1_000_000, bytes_each=MIB, operation=name)
    counters = Counters(process_read_bytes=fetched, devices=devices, device_ns=5 * 10**9, others=dict(counted or {}))
    run.phase([stream], seconds=5, counters=counters, resident=resident, direct=direct, cached_first=cached_first)
    (result,) = judged(run.end()).results
    return result


def ids(result: Result, severity: str | None = None) -> set[str]:
    return {finding.id for finding in result.findings if severity in (None, finding.severity)}


def briefs(result: Result, severity: str) -> set[str]:
    return {finding.brief for finding in result.findings if finding.severity == severity}


def texts(result: Result, severity: str) -> str:
    return " ".join(finding.text for finding in result.findings if finding.severity == severity)


def test_an_overlay_whose_upper_directory_is_memory_is_memory() -> None:
    result = measure(fetched=0, file_system="overlay", upper="tmpfs", block_backed=False, cache=COLD)

    assert (result.cache.hit_ratio, result.cache.verdict) == (1.0, "cache")
    assert "file system in memory" in briefs(result, "weak")
    assert "not cold" in briefs(result, "warning")


@pytest.mark.parametrize(
    ("fetched_share", "hit", "verdict"),
    [(1.0, 0.0, "storage"), (0.96, 0.04, "storage"), (0.5, 0.5, "mixed"), (0.04, 0.96, "cache"), (0.0, 1.0, "cache")],
)
def test_the_hit_ratio_is_the_share_of_bytes_that_the_process_did_not_fetch(
    fetched_share: float, hit: float, verdict: str
) -> None:
    result = measure(fetched=round(READ_BYTES * fetched_share))

    assert result.cache.hit_ratio == pytest.approx(hit, abs=1e-6)
    assert (result.cache.verdict, result.cache.method) == (verdict, "byte_balance")
    # What nobody asked memory for is true, but not of storage.
    assert result.trust.level is (TrustLevel.YES if verdict == "storage" else TrustLevel.WEAK)
    assert result.measures == {"storage": "storage", "mixed": "mixed", "cache": "page_cache"}[verdict]


def test_read_ahead_is_clipped_to_no_hit_and_noted_as_amplification() -> None:
    result = measure(fetched=READ_BYTES * 2)

    assert (result.cache.hit_ratio, result.cache.verdict) == (0.0, "storage")
    assert "read-amplification" in ids(result, "note")


def test_cold_reads_that_hit_the_cache_are_not_trusted() -> None:
    assert measure(fetched=READ_BYTES, cache=COLD).trusted
    warm = measure(fetched=READ_BYTES // 2, cache=COLD)

    assert "not cold" in briefs(warm, "warning")
    assert not warm.trusted


def test_warm_reads_that_miss_the_cache_are_not_trusted() -> None:
    assert measure(fetched=0, cache=plan.CacheCondition.WARM).trusted
    assert "not warm" in briefs(measure(fetched=READ_BYTES // 2, cache=plan.CacheCondition.WARM), "warning")


def test_a_file_system_that_ignores_o_direct_is_found_out() -> None:
    honest = measure(fetched=READ_BYTES, direct=True)
    liar = measure(fetched=0, direct=True)

    assert (honest.cache.condition, honest.cache.verdict, honest.trusted) == ("direct", "storage", True)
    assert "O_DIRECT ignored" in briefs(liar, "warning")


def test_a_memory_file_system_is_memory_even_with_o_direct() -> None:
    result = measure(fetched=0, file_system="tmpfs", block_backed=False, direct=True, cache=COLD)

    assert (result.cache.condition, result.cache.hit_ratio, result.cache.verdict) == ("cold", 1.0, "cache")
    assert result.cache.method == "residency"
    assert "not cold" in briefs(result, "warning")


def test_one_pass_over_a_file_system_without_counters_goes_by_residency() -> None:
    result = measure(
        fetched=0,
        delivered=0,
        file_system="fuse.x",
        block_backed=False,
        resident=(0.25, 1.0),
        cache=COLD,
        set_bytes=READ_BYTES,
    )

    assert (result.cache.hit_ratio, result.cache.method) == (0.25, "residency")
    assert (result.cache.resident_before, result.cache.resident_after) == (0.25, 1.0)
    assert "not cold" in briefs(result, "warning")


def test_repeated_reads_on_a_file_system_without_counters_have_no_hit_ratio() -> None:
    result = measure(fetched=0, file_system="fuse.x", block_backed=False, resident=(0.0, 1.0), set_bytes=50 * MIB)

    # 500 MiB read from a set of 50 MiB that was empty of pages before: residency says nothing of the last nine passes.
    assert (result.cache.hit_ratio, result.cache.verdict) == (None, "unknown")
    assert "hit ratio unknown" in briefs(result, "weak")


def test_a_cold_start_that_nothing_can_verify_is_not_trusted() -> None:
    result = measure(fetched=None, delivered=READ_BYTES, file_system="fuse.x", block_backed=False, cache=COLD)

    assert "cache state not verified" in briefs(result, "warning")


def test_reads_beside_writes_have_no_byte_balance() -> None:
    job = one_job(plan.Do(op=read_op("read")), plan.Do(op=read_op("write", kind=plan.OpKind.WRITE)), timed=("read",))

    result = measure(fetched=READ_BYTES // 2, job=job)

    assert (result.cache.hit_ratio, result.cache.verdict) == (None, "unknown")


@pytest.mark.parametrize("hit_bytes", [0, 30, 100])
def test_reads_beside_writes_that_asked_the_page_cache_first_know_what_it_had(hit_bytes: int) -> None:
    read = read_op("read")
    asking = msgspec.structs.replace(read, access=plan.RandomAccess(), flags=plan.OpFlags(cached_first=True))
    write = plan.Do(op=read_op("write", kind=plan.OpKind.WRITE))
    found = events.CachedFirst(hit_bytes=hit_bytes, missed_bytes=100 - hit_bytes)

    def hit(op: plan.Op) -> tuple[float | None, str | None]:
        job = one_job(plan.Do(op=op), write, timed=("read",))
        cache = measure(fetched=READ_BYTES // 2, job=job, cached_first=found).cache
        return cache.hit_ratio, cache.method

    assert hit(asking) == (hit_bytes / 100, "cached_first")
    # What read-ahead fetched is at hand as well.
    assert hit(msgspec.structs.replace(asking, access=plan.Sequential())) == (None, None)


def test_what_was_fetched_again_is_said_of_reads_through_the_page_cache() -> None:
    def refaulted(share: float) -> dict[tuple[str, str, str], tuple[float, float]]:
        return {("vmstat", "", "workingset_refault_file"): (7.0, 7.0 + share * READ_BYTES / 4096)}

    assert "pushed out" in texts(measure(fetched=READ_BYTES, counted=refaulted(0.06)), "note")
    assert "pushed out" not in texts(measure(fetched=READ_BYTES, counted=refaulted(0.04)), "note")
    assert "pushed out" not in texts(measure(fetched=READ_BYTES, counted=refaulted(0.06), direct=True), "note")


def test_bytes_and_residency_that_disagree_over_one_pass_are_named() -> None:
    def apart(resident: float, fetched_share: float, set_bytes: int = READ_BYTES) -> tuple[str | None, str]:
        fetched = round(fetched_share * READ_BYTES)
        result = measure(fetched=fetched, resident=(resident, 1.0), set_bytes=set_bytes)
        found = [finding.severity for finding in result.findings if finding.text.startswith("By the bytes")]
        return (found[0] if found else None), result.measures.value

    # Nothing was in memory and a part was not fetched: something below made it less, and the ratio is none.
    assert apart(resident=0.0, fetched_share=0.84) == ("weak", "unknown")
    assert apart(resident=0.0, fetched_share=0.86) == (None, "mixed")
    assert apart(resident=0.5, fetched_share=0.5) == (None, "mixed")
    # More was fetched than was absent: it was pushed out before its turn.
    assert apart(resident=0.5, fetched_share=1.0) == ("note", "storage")
    # Read twice, the second time from memory.
    assert apart(resident=0.0, fetched_share=0.5, set_bytes=READ_BYTES // 2) == (None, "mixed")
    # Half of the set was read: all that was resident may lie in it, or nothing of that.
    assert apart(resident=0.4, fetched_share=0.2, set_bytes=READ_BYTES * 2) == (None, "mixed")
    assert apart(resident=0.4, fetched_share=1.0, set_bytes=READ_BYTES * 2) == (None, "storage")


def test_what_was_dirty_before_and_goes_to_storage_is_told_from_what_others_do() -> None:
    def said(dirty_bytes: float, written: int) -> set[str]:
        pages = {("vmstat", "", "nr_dirty"): (dirty_bytes / 4096, 0.0), ("vmstat", "", "nr_writeback"): (0.0, 0.0)}
        return ids(measure(fetched=READ_BYTES, written=written, counted=pages)) & {"foreign-io", "earlier-io"}

    assert said(READ_BYTES, READ_BYTES) == {"earlier-io"}
    assert said(0.4 * READ_BYTES, READ_BYTES) == {"foreign-io"}
    assert said(READ_BYTES, 0) == set()


def test_discards_that_take_a_tenth_of_the_time_are_named() -> None:
    def discarding(seconds: float) -> dict[tuple[str, str, str], tuple[float, float]]:
        of_vda = ("diskstats", "vda")
        return {(*of_vda, "discard_ns"): (0.0, seconds * 1e9), (*of_vda, "discard_bytes"): (0.0, 1e9)}

    assert "earlier-io" in ids(measure(fetched=READ_BYTES, counted=discarding(0.6)), "weak")
    assert "earlier-io" not in ids(measure(fetched=READ_BYTES, counted=discarding(0.4)))
    for kind in (plan.OpKind.UNLINK, plan.OpKind.PUNCH_HOLE, plan.OpKind.DISCARD):
        job = one_job(plan.Do(op=read_op(kind.value, kind=kind)))
        own = measure(fetched=0, kind=kind, job=job, counted=discarding(0.6))
        assert "earlier-io" in ids(own, "note")
        assert "earlier-io" not in ids(own, "weak")


def test_a_loop_device_whose_backing_file_is_cached_is_found_by_the_disks_below() -> None:
    cached = measure(fetched=READ_BYTES, device="loop0", below=READ_BYTES // 10)
    honest = measure(fetched=READ_BYTES, device="loop0", below=READ_BYTES)

    # sda1 is part of sda and not counted again.
    assert cached.cache.hit_ratio == pytest.approx(0.9)
    assert "backing file in memory" in briefs(cached, "warning")
    assert (honest.cache.hit_ratio, honest.trusted) == (0.0, True)


@pytest.mark.parametrize(
    ("behind", "hit"), [("ext4", 0.9), ("fuseblk", 0.9), ("nfs4", 0.9), ("fuse", 0.0), ("fuse.sshfs", 0.0)]
)
def test_a_loop_device_over_a_fuse_process_needs_no_disk(behind: str, hit: float) -> None:
    result = measure(fetched=READ_BYTES, device="loop0", below=READ_BYTES // 10, direct=True, behind=behind)

    assert result.cache.hit_ratio == pytest.approx(hit)
    assert ("O_DIRECT ignored" in briefs(result, "warning")) == (hit > 0)


def test_what_others_read_from_the_device_is_told_apart() -> None:
    # Half as much again is a third of all.
    assert "foreign-io" not in ids(measure(fetched=READ_BYTES, delivered=round(1.1 * READ_BYTES), written=0))
    assert "foreign-io" in ids(measure(fetched=READ_BYTES, delivered=round(1.5 * READ_BYTES), written=0), "weak")
    assert "foreign-io" in ids(measure(fetched=READ_BYTES, delivered=round(2.1 * READ_BYTES), written=0), "warning")
    assert "foreign-io" in ids(measure(fetched=READ_BYTES, written=round(1.5 * READ_BYTES)), "warning")
    assert "second-counter" in ids(measure(fetched=READ_BYTES, delivered=READ_BYTES // 2), "note")


def test_device_bytes_are_those_of_the_operations_direction() -> None:
    assert measure(fetched=READ_BYTES, delivered=123_000_000).device_bytes == 123_000_000


def test_buffered_writes_are_absorbed_and_say_what_the_device_wrote() -> None:
    result = measure(fetched=0, delivered=READ_BYTES // 4, kind=plan.OpKind.WRITE)

    assert (result.cache.verdict, result.cache.hit_ratio) == ("absorbed", None)
    (finding,) = (finding for finding in result.findings if finding.id == "absorbed")
    assert "the device wrote 25 % of the bytes" in finding.text
    # What memory still has is no disagreement of two counters.
    assert "second-counter" not in ids(result)


WRITE = plan.Do(op=read_op("write", kind=plan.OpKind.WRITE))
FSYNC = plan.Do(op=read_op("fsync", kind=plan.OpKind.FSYNC))


@pytest.mark.parametrize(
    "job",
    [
        one_job(WRITE, open=plan.OpenFlags(dsync=True)),
        one_job(WRITE, open=plan.OpenFlags(sync=True)),
        one_job(WRITE, FSYNC, timed=("write",)),
        one_job(plan.Repeat(times=4, actions=(WRITE,)), plan.Group(name="g", actions=(FSYNC,)), timed=("write",)),
    ],
)
def test_writes_that_the_job_forces_out_are_flushed(job: plan.Job) -> None:
    assert measure(fetched=0, delivered=READ_BYTES, kind=plan.OpKind.WRITE, job=job).cache.verdict == "flushed"


def test_writes_of_which_each_sixteenth_is_flushed_are_absorbed() -> None:
    job = one_job(WRITE, plan.Every(times=16, actions=(FSYNC,)), timed=("write",))

    assert measure(fetched=0, delivered=READ_BYTES, kind=plan.OpKind.WRITE, job=job).cache.verdict == "absorbed"


def test_direct_writes_are_flushed_where_no_cache_below_is_volatile_but_those_to_memory_are_absorbed() -> None:
    write = plan.OpKind.WRITE
    assert measure(fetched=0, delivered=READ_BYTES, kind=write, direct=True).cache.verdict == "flushed"
    memory = measure(fetched=0, kind=write, direct=True, file_system="tmpfs", block_backed=False)
    assert memory.cache.verdict == "absorbed"


def test_a_small_set_is_noted_for_buffered_reads_only() -> None:
    assert "times this machine's RAM" in texts(measure(fetched=READ_BYTES), "note")
    assert "RAM" not in texts(measure(fetched=READ_BYTES, set_bytes=64 << 30), "note")
    assert "RAM" not in texts(measure(fetched=READ_BYTES, direct=True), "note")


def random_reads(shares: tuple[float, float], *, ceiling: float | None = 200_000.0) -> Result:
    """Random 4 KiB reads through a FUSE file system: as fast as the page cache (5 us), and from a server (800 us)."""
    rng = np.random.default_rng(1)
    stream = steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000, bytes_each=4096)
    fast = rng.random(len(stream.latency_ns)) < shares[0]
    latency = np.where(fast, 5_000, 800_000) * np.exp(rng.normal(0, 0.2, len(fast)))
    stream = dataclasses.replace(stream, latency_ns=latency.astype(np.int64))
    op = msgspec.structs.replace(read_op(), access=plan.RandomAccess())
    facts: dict[str, FactValue] = {**BLOCK_BACKED, "target.target.fs.type": "fuse.sshfs"}
    facts["target.target.fs.is_block_backed"] = False
    if ceiling is not None:
        facts["host.ceilings.cached_pread.4096_bytes.ops_per_s"] = ceiling
    phase = plan.Phase(name="p", title="p", jobs=(one_job(plan.Do(op=op)),))
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1), facts=facts)
    run.phase([stream], seconds=5, counters=Counters(process_read_bytes=0))
    (result,) = judged(run.end()).results
    return result


def test_where_no_counter_tells_the_share_of_the_fast_mode_is_the_hit_ratio() -> None:
    mixed = random_reads((0.3, 0.7))

    assert mixed.cache.method == "latency"
    assert mixed.cache.hit_ratio == pytest.approx(0.3, abs=0.03)
    assert (mixed.cache.verdict, mixed.measures) == ("mixed", "mixed")
    assert "No counter shows what memory delivered. Latencies have" in texts(mixed, "note")
    assert "from-memory" in ids(mixed, "weak")


@pytest.mark.parametrize(
    ("shares", "ceiling"),
    [((0.0, 1.0), 200_000.0), ((1.0, 0.0), 200_000.0), ((0.3, 0.7), 5_000_000.0), ((0.3, 0.7), None)],
)
def test_without_two_modes_or_one_as_fast_as_the_page_cache_nothing_is_said(
    shares: tuple[float, float], ceiling: float
) -> None:
    unknown = random_reads(shares, ceiling=ceiling)

    assert (unknown.cache.hit_ratio, unknown.cache.method) == (None, None)
    assert "hit ratio unknown" in briefs(unknown, "weak")


# -- edges: what is measured lies just below a threshold and just above it ------------------------------------------------


@pytest.mark.parametrize(("hit", "verdict"), [(0.049, "storage"), (0.051, "mixed"), (0.949, "mixed"), (0.951, "cache")])
def test_storage_served_up_to_5_percent_of_hits_and_memory_from_95_percent_on(hit: float, verdict: str) -> None:
    assert measure(fetched=round(READ_BYTES * (1 - hit))).cache.verdict == verdict


@pytest.mark.parametrize(("times", "is_named"), [(1.09, False), (1.11, True)])
def test_read_amplification_is_named_above_a_tenth(times: float, is_named: bool) -> None:
    assert ("read-amplification" in ids(measure(fetched=round(times * READ_BYTES)), "note")) is is_named


@pytest.mark.parametrize(("share", "severity"), [(0.095, None), (0.105, "weak"), (0.495, "weak"), (0.505, "warning")])
def test_others_make_a_number_weak_above_a_tenth_of_the_bytes_and_unusable_above_half(
    share: float, severity: str | None
) -> None:
    # Of all that the device read, a share was not fetched for this load.
    result = measure(fetched=READ_BYTES, delivered=round(READ_BYTES / (1 - share)), written=0)

    found = [finding for finding in result.findings if finding.id == "foreign-io"]
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert [finding.effect for finding in found] == pytest.approx([share] if severity else [], abs=1e-6)


def few_reads(others_bytes: float, busy_share: float) -> Result:
    """Return the result of 200 KiB read in 5 s, from a device that others read from as well."""
    run = SyntheticRun(one_plan(plan.Phase(name="p", title="p", jobs=(one_job(),)), sample_interval_s=0.1))
    stream = steady_stream(per_s=10, seconds=5, latency_ns=1_000_000, bytes_each=4096)
    own = 50 * 4096
    counters = Counters(
        process_read_bytes=own,
        devices={"vda": (own + round(others_bytes), 0)},
        device_ns=round(busy_share * 5e9),
    )
    (result,) = judged(run.phase([stream], seconds=5, counters=counters, direct=True).end()).results
    return result


@pytest.mark.parametrize(
    ("others_per_s", "busy_share", "is_named"),
    [(0.95e5, 0.5, False), (1.05e5, 0.5, True), (1e7, 0.095, False), (1e7, 0.105, True)],
)
def test_others_matter_from_100_kb_a_second_on_where_the_device_is_used_for_a_tenth_of_the_time(
    others_per_s: float, busy_share: float, is_named: bool
) -> None:
    # Of each device's bytes, others have most: 500 kB in 5 s, and 50 MB, beside 205 kB of this load.
    assert ("foreign-io" in ids(few_reads(5 * others_per_s, busy_share))) is is_named


@pytest.mark.parametrize(
    ("fetched", "delivered", "is_named"),
    [
        # The device delivered less than was fetched, by 14 and 16 % of it.
        (1.0, 0.86, False),
        (1.0, 0.84, True),
        # A fifth less, which is 4.8 and 5.2 % of the bytes read.
        (0.24, 0.192, False),
        (0.26, 0.208, True),
    ],
)
def test_a_device_that_delivers_less_is_named_where_15_percent_and_5_percent_of_the_bytes_read_are_missing(
    fetched: float, delivered: float, is_named: bool
) -> None:
    result = measure(fetched=round(fetched * READ_BYTES), delivered=round(delivered * READ_BYTES))

    assert ("second-counter" in ids(result, "note")) is is_named


@pytest.mark.parametrize(
    ("times", "found"),
    [
        (0.84, ["vda wrote 0.84 bytes for each byte that the load wrote through. A layer between kept the rest."]),
        (0.86, []),
        (1.14, []),
        (1.16, ["vda wrote 1.16 bytes for each byte written (journal, copy on write, or other programs)."]),
    ],
)
def test_a_device_that_writes_15_percent_more_or_less_than_was_written_through_is_named(
    times: float, found: list[str]
) -> None:
    result = measure(fetched=0, delivered=round(times * READ_BYTES), kind=plan.OpKind.WRITE, direct=True)

    assert [each.text for each in result.findings if each.id == "second-counter"] == found


@pytest.mark.parametrize(
    ("access", "passes", "is_one_pass"),
    [
        # Random reads of a tenth of the set hardly meet a block twice.
        (plan.RandomAccess(), 0.099, True),
        (plan.RandomAccess(), 0.101, False),
        # Reads in order do not up to its end, give or take 1 %.
        (plan.Sequential(), 1.009, True),
        (plan.Sequential(), 1.011, False),
    ],
)
def test_residency_is_the_hit_ratio_where_hardly_a_byte_was_read_twice(
    access: plan.Access, passes: float, is_one_pass: bool
) -> None:
    read = msgspec.structs.replace(read_op(size_bytes=MIB), access=access)

    result = measure(
        fetched=0,
        file_system="fuse.x",
        block_backed=False,
        resident=(0.25, 1.0),
        job=one_job(plan.Do(op=read)),
        set_bytes=round(READ_BYTES / passes),
    )

    assert (result.cache.hit_ratio, result.cache.method) == ((0.25, "residency") if is_one_pass else (None, None))


@pytest.mark.parametrize(("times", "is_cached"), [(4.4, True), (5.6, False)])
def test_a_mode_below_five_times_a_read_from_the_page_cache_is_that_of_the_page_cache(
    times: float, is_cached: bool
) -> None:
    # The lower mode lies at 5 us, in a class that is 9 % wide.
    result = random_reads((0.3, 0.7), ceiling=times / 5e-6)

    assert (result.cache.method == "latency") is is_cached


@pytest.mark.parametrize(("times", "is_small"), [(1.99, True), (2.01, False)])
def test_a_set_is_small_below_twice_the_memory(times: float, is_small: bool) -> None:
    # The machine of these runs has 16 GiB.
    assert ("RAM" in texts(measure(fetched=READ_BYTES, set_bytes=round(times * (16 << 30))), "note")) is is_small


@pytest.mark.parametrize(("writes", "verdict"), [(24, "flushed"), (26, "absorbed")])
def test_writes_are_flushed_where_twenty_flushes_are_in_their_rate(writes: int, verdict: str) -> None:
    # 500 writes are 20.8 times 24, and 19.2 times 26.
    job = one_job(plan.Repeat(times=writes, actions=(WRITE,)), FSYNC, timed=("write",))

    assert measure(fetched=0, delivered=READ_BYTES, kind=plan.OpKind.WRITE, job=job).cache.verdict == verdict


@pytest.mark.parametrize(("of_storage", "is_named"), [(1, True), (2, False)])
def test_a_run_is_one_of_memory_where_nine_tenths_of_its_numbers_are(of_storage: int, is_named: bool) -> None:
    fetched = [0] * 10 + [100 * 4096] * of_storage
    phases = [plan.Phase(name=f"p{index}", title="p", jobs=(one_job(),)) for index in range(len(fetched))]
    run = SyntheticRun(one_plan(*phases, sample_interval_s=0.1))
    stream = steady_stream(per_s=100, seconds=1, latency_ns=1_000_000, bytes_each=4096)
    for index, bytes_read in enumerate(fetched):
        counters = Counters(process_read_bytes=bytes_read, devices={"vda": (bytes_read, 0)})
        run.phase([stream], seconds=1, index=index, counters=counters)

    document = judged(run.end())

    # 10 of 11 are 91 %, 10 of 12 are 83 %.
    assert sum(result.measures is ServedBy.PAGE_CACHE for result in document.results) == 10
    assert ("from-memory" in {finding.id for finding in document.findings}) is is_named


# -- the window: what was read before it is in none of its figures ---------------------------------------------------------


def half_from_memory(
    *, ramp_s: float = 3.0, access: plan.Access | None = None, resident: float | None = None, block_backed: bool = True
) -> Result:
    """6 s of 100 reads of 1 MiB a second: those of the first half were in memory, those of the second were fetched."""
    read = read_op(size_bytes=MIB)
    job = one_job(plan.Do(op=read if access is None else msgspec.structs.replace(read, access=access)))
    phase = plan.Phase(name="p", title="p", jobs=(job,), ramp_s=ramp_s)
    facts = {**BLOCK_BACKED, "target.target.fs.is_block_backed": block_backed}
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1), facts=facts, set_bytes=600 * MIB)
    stream = steady_stream(per_s=100, seconds=6, latency_ns=1_000_000, bytes_each=MIB)
    counters = Counters(process_read_bytes=300 * MIB, fetched_from=0.5, devices={"vda": (600 * MIB, 0)})
    shares = None if resident is None else (resident, 1.0)
    run.phase([stream], seconds=6, counters=counters, resident=shares)
    (result,) = judged(run.end()).results
    return result


@pytest.mark.parametrize(
    ("ramp_s", "hit", "measures"), [(3.0, 0.0, "storage"), (2.0, 0.25, "mixed"), (0.0, 0.5, "mixed")]
)
def test_the_hit_ratio_is_that_of_the_window_as_the_rate_is(ramp_s: float, hit: float, measures: str) -> None:
    result = half_from_memory(ramp_s=ramp_s, access=plan.RandomAccess())

    assert result.window_s is not None
    assert result.window_s[0] == pytest.approx(ramp_s, abs=0.01)
    assert result.cache.hit_ratio == pytest.approx(hit, abs=0.01)
    assert (result.cache.hit_ratio_of, result.measures) == ("window", measures)
    assert ("from-memory" in ids(result, "weak")) is (hit > 0)


def test_a_window_in_which_read_ahead_is_most_of_the_bytes_has_no_verdict_but_what_the_phase_leaves_it() -> None:
    # Read-ahead is not known here and taken to be 4 MiB, twice: 2.7 % of 300 MiB leaves 0 +- 2.7 % below 5 %.
    resolved = half_from_memory(access=plan.Sequential())
    # Of the 10 MiB of the last interval it is most.
    tiny = half_from_memory(ramp_s=5.9, access=plan.Sequential())

    assert (resolved.cache.hit_ratio_of, resolved.cache.verdict) == ("window", "storage")
    assert (tiny.cache.verdict, tiny.measures) == ("unknown", "unknown")
    assert "hit ratio unknown" in briefs(tiny, "weak")


@pytest.mark.parametrize(("access", "verdict"), [(plan.RandomAccess(), "storage"), (plan.Sequential(), "unknown")])
def test_random_reads_have_no_read_ahead_to_be_unsure_about(access: plan.Access, verdict: str) -> None:
    # 50 MiB are read in the window: the 1 MiB in flight is 2 % of them, 8 MiB of read-ahead would be 16 % more.
    assert half_from_memory(ramp_s=5.5, access=access).cache.verdict == verdict


def test_what_is_known_of_the_whole_phase_alone_is_called_so_and_bounds_the_window() -> None:
    def known_of_phase(resident: float) -> Result:
        return half_from_memory(resident=resident, block_backed=False)

    assert [known_of_phase(share).cache.hit_ratio_of for share in (0.0, 0.3, 1.0)] == ["phase"] * 3
    # 30 % of the bytes of the phase may be none of its second half, or 60 %.
    assert [known_of_phase(share).cache.verdict for share in (0.0, 0.02, 0.03, 0.3)] == [
        "storage",
        "storage",
        "unknown",
        "unknown",
    ]
    assert known_of_phase(1.0).cache.verdict == "cache"


def test_a_counter_between_two_samples_has_its_part_of_what_it_grew_by() -> None:
    samples = pl.DataFrame(
        [(0, t_s, "diskstats", "vda", "read_bytes", value) for t_s, value in ((1.0, 7.0), (1.1, 107.0), (1.2, 107.0))],
        schema=OF_STREAM[HOST],
        orient="row",
    )
    counters = counters_of(samples)

    def grown(begin_ms: int, end_ms: int) -> float | None:
        return counters.delta(Span(begin_ms * 1_000_000, end_ms * 1_000_000), "diskstats", "vda", "read_bytes")

    assert [grown(1000, 1100), grown(1050, 1100), grown(1000, 1025), grown(1000, 1300)] == pytest.approx(
        [100, 50, 25, 100]
    )
    assert grown(999, 1100) is None


# -- fewer bytes in storage than there are ----------------------------------------------------------------------------------

SMALLER = msgspec.structs.replace(DATA, content=plan.Content(compress_ratio=4.0))
ANYTHING = msgspec.structs.replace(DATA, reuse=plan.Reuse.TRUST)


@pytest.mark.parametrize(
    ("file_system", "data"),
    [
        ("btrfs", SMALLER),
        ("f2fs", SMALLER),
        ("btrfs", msgspec.structs.replace(DATA, content=plan.Content(zeros=True))),
        ("squashfs", ANYTHING),
        ("erofs", ANYTHING),
    ],
)
@pytest.mark.parametrize("direct", [False, True])
def test_compressed_bytes_of_a_cold_pass_are_no_hits(file_system: str, data: plan.FileSet, direct: bool) -> None:
    cold = measure(
        fetched=READ_BYTES // 4,
        file_system=file_system,
        data=data,
        cache=COLD,
        resident=(0.0, 1.0),
        set_bytes=READ_BYTES,
        direct=direct,
    )

    assert (cold.cache.hit_ratio, cold.cache.method, cold.measures) == (0.0, "residency", ServedBy.STORAGE)
    assert cold.trust.level is TrustLevel.YES
    assert "may compress this content" in next(f.text for f in cold.findings if f.id == "hit-ratio-uncertain")


def test_compressed_content_that_was_in_memory_is_of_memory_and_of_what_was_read_again_nothing_is_known() -> None:
    warm = measure(fetched=0, file_system="btrfs", data=SMALLER, resident=(1.0, 1.0))
    again = measure(
        fetched=READ_BYTES // 4,
        file_system="btrfs",
        data=SMALLER,
        resident=(0.0, 1.0),
        set_bytes=READ_BYTES // 2,
        cache=COLD,
    )

    assert (warm.cache.hit_ratio, warm.measures) == (1.0, ServedBy.PAGE_CACHE)
    assert (again.cache.hit_ratio, again.measures) == (None, ServedBy.UNKNOWN)
    assert "cache-state" not in ids(again)


@pytest.mark.parametrize("keeps", [False, True])
def test_writes_that_repeat_their_buffer_are_content_that_storage_may_reduce(*, keeps: bool) -> None:
    op = read_op("write", kind=plan.OpKind.WRITE, size_bytes=MIB)
    job = one_job(plan.Do(op=msgspec.structs.replace(op, flags=plan.OpFlags(keeps_buffer=keeps))))

    written = measure(fetched=0, kind=plan.OpKind.WRITE, job=job)

    assert ("reducible-content" in ids(written)) is keeps
    phases = (plan.Phase(name="w", title="w", jobs=(job,)), plan.Phase(name="r", title="r", jobs=(one_job(),)))
    assert can_be_reduced(read(SyntheticRun(one_plan(*phases)).end()), ("data",)) is keeps


def test_content_that_cannot_be_made_smaller_has_its_hit_ratio_by_bytes_on_any_file_system() -> None:
    result = measure(fetched=READ_BYTES // 2, file_system="btrfs", resident=(0.5, 1.0), set_bytes=READ_BYTES)

    assert (result.cache.hit_ratio, result.cache.method, result.measures) == (0.5, "byte_balance", ServedBy.MIXED)


@pytest.mark.parametrize(
    ("more", "data", "measures"),
    [
        ({"backing.fs.type": "btrfs"}, SMALLER, "unknown"),
        ({"backing.fs.type": "xfs", "backing.device.0.kind": "lvm"}, SMALLER, "unknown"),
        ({"backing.fs.type": "btrfs"}, DATA, "mixed"),
        ({"backing.fs.type": "xfs", "backing.device.0.kind": "disk"}, SMALLER, "mixed"),
    ],
)
def test_a_backing_file_that_may_be_compressed_is_not_called_cached(
    more: Mapping[str, "FactValue"], data: plan.FileSet, measures: str
) -> None:
    facts = {f"target.target.device.0.{key}": value for key, value in more.items()}
    result = measure(
        fetched=READ_BYTES,
        device="loop0",
        below=READ_BYTES // 4,
        direct=True,
        data=data,
        more=facts,
        file_system="ext4",
    )

    assert result.measures == measures
    assert ("backing file in memory" in briefs(result, "warning")) is (measures == "mixed")


# -- caches of hosts and servers -------------------------------------------------------------------------------------------

VIRTUAL: "Mapping[str, FactValue]" = {
    "host.virtualisation.is_virtual": True,
    "target.target.device.0.kind": "partition",
    "target.target.device.0.carries": "file system",
    "target.target.device.1.kind": "disk",
    "target.target.device.1.carries": "0",
}
LOOP: "Mapping[str, FactValue]" = {
    "host.virtualisation.is_virtual": True,
    "target.target.device.0.kind": "loop",
    "target.target.device.0.carries": "file system",
}


@pytest.mark.parametrize(("direct", "cache"), [(True, plan.CacheCondition.AS_IS), (False, COLD)])
def test_reads_of_a_virtual_disk_are_of_the_disk_as_the_guest_sees_it(direct: bool, cache: plan.CacheCondition) -> None:
    guest = measure(fetched=READ_BYTES, direct=direct, cache=cache, more=VIRTUAL)
    metal = measure(
        fetched=READ_BYTES, direct=direct, cache=cache, more={**VIRTUAL, "host.virtualisation.is_virtual": False}
    )

    assert (guest.measures, guest.trust.level) == (ServedBy.VIRTUAL_DISK, TrustLevel.YES)
    assert "remote-cache" in ids(guest, "note")
    assert (metal.measures, metal.trust.level) == (ServedBy.STORAGE, TrustLevel.YES)
    assert "remote-cache" not in ids(metal)


@pytest.mark.parametrize(
    ("below", "measures"),
    [
        ({"backing.fs.type": "tmpfs"}, ServedBy.STORAGE),
        ({"backing.fs.type": "fuse.nbdfuse"}, ServedBy.STORAGE),
        ({"backing.fs.type": "nfs4"}, ServedBy.SERVER),
        ({"backing.fs.type": "ext4", "backing.device.0.kind": "disk"}, ServedBy.VIRTUAL_DISK),
        ({"backing.fs.type": "ext4", "backing.device.0.kind": "zram"}, ServedBy.STORAGE),
        ({"kind": "nbd"}, ServedBy.SERVER),
        ({"kind": "zram"}, ServedBy.STORAGE),
    ],
)
def test_the_lowest_device_says_whose_memory_is_behind_it(below: Mapping[str, "FactValue"], measures: ServedBy) -> None:
    facts = {**LOOP, **{f"target.target.device.0.{key}": value for key, value in below.items()}}

    assert measure(fetched=READ_BYTES, direct=True, more=facts).measures is measures


@pytest.mark.parametrize("file_system", ["nfs4", "cifs", "fuse.sshfs", "virtiofs"])
def test_reads_through_a_server_are_of_the_server_and_what_nobody_knows_is_never_trusted(file_system: str) -> None:
    def through_server(resident: tuple[float, float] | None, *, direct: bool = True) -> Result:
        return measure(
            fetched=READ_BYTES if file_system == "nfs4" else 0,
            file_system=file_system,
            block_backed=False,
            more={"target.target.device.diskstats": ()},
            resident=resident,
            set_bytes=READ_BYTES,
            direct=direct,
        )

    # Direct I/O that leaves nothing in the page cache, and a first read of what was not in it.
    for known in (through_server((0.0, 0.0)), through_server((0.0, 1.0), direct=False)):
        assert (known.measures, known.trust.level) == (ServedBy.SERVER, TrustLevel.YES)
        assert "remote-cache" in ids(known, "note")
    if file_system != "nfs4":
        unknown = through_server(None)
        assert (unknown.measures, unknown.trust.level) == (ServedBy.UNKNOWN, TrustLevel.WEAK)


def read_twice(first_ns: int, again_ns: int, *, is_virtual: bool = True, set_bytes: int = 300 * MIB) -> Result:
    """600 direct reads of 1 MiB in 6 s, of which the second half takes another time than the first."""
    facts: dict[str, FactValue] = {**BLOCK_BACKED, **VIRTUAL, "host.virtualisation.is_virtual": is_virtual}
    phase = plan.Phase(name="p", title="p", jobs=(one_job(plan.Do(op=read_op(size_bytes=MIB))),))
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1), facts=facts, set_bytes=set_bytes)
    stream = steady_stream(per_s=100, seconds=6, latency_ns=first_ns, bytes_each=MIB)
    took = np.where(np.arange(600) < 300, first_ns, again_ns) * np.random.default_rng(1).normal(1, 0.05, 600)
    stream = dataclasses.replace(stream, latency_ns=took.astype(np.int64))
    counters = Counters(process_read_bytes=600 * MIB, devices={"vda": (600 * MIB, 0)})
    run.phase([stream], seconds=6, counters=counters, direct=True)
    (result,) = judged(run.end()).results
    return result


@pytest.mark.parametrize(("times", "is_sign"), [(1.0, False), (1.2, False), (1.3, True), (5.0, True), (0.5, False)])
def test_reads_that_are_faster_once_the_set_was_read_are_a_sign_of_a_cache_behind_the_disk(
    times: float, is_sign: bool
) -> None:
    guest = read_twice(round(times * 1e6), 1_000_000)

    assert guest.measures is ServedBy.VIRTUAL_DISK
    assert ("remote-cache" in ids(guest, "weak")) is is_sign
    # A disk of this machine has no host, and a set that is not read to its end no second time.
    assert "remote-cache" not in ids(read_twice(round(times * 1e6), 1_000_000, is_virtual=False))
    assert "remote-cache" not in ids(read_twice(round(times * 1e6), 1_000_000, set_bytes=900 * MIB), "weak")


@pytest.mark.parametrize(
    ("fast_share", "is_sign"), [(0.0, False), (0.02, False), (0.3, True), (0.98, False), (1.0, False)]
)
def test_random_reads_of_two_modes_are_a_sign_of_a_cache_behind_the_disk(fast_share: float, is_sign: bool) -> None:
    rng = np.random.default_rng(1)
    stream = steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000, bytes_each=4096)
    fast = rng.random(len(stream.latency_ns)) < fast_share
    latency = np.where(fast, 60_000, 900_000) * np.exp(rng.normal(0, 0.2, len(fast)))
    stream = dataclasses.replace(stream, latency_ns=latency.astype(np.int64))
    op = msgspec.structs.replace(read_op(), access=plan.RandomAccess())
    phase = plan.Phase(name="p", title="p", jobs=(one_job(plan.Do(op=op)),))
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1), facts={**BLOCK_BACKED, **VIRTUAL})
    read = 5000 * 4096
    run.phase([stream], seconds=5, counters=Counters(process_read_bytes=read, devices={"vda": (read, 0)}), direct=True)
    (result,) = judged(run.end()).results

    assert result.measures is ServedBy.VIRTUAL_DISK
    assert ("remote-cache" in ids(result, "weak")) is is_sign
