"""Whose I/O did the devices do? Counters of devices of which it is known what the load had, and what others did."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from assay import plan
from assay.host.facts import FactValue
from assay.results import Finding, Result
from unit.memory_run import judged
from unit.synthetic import (
    BLOCK_BACKED,
    DATA,
    MIB,
    NS,
    Counters,
    SyntheticRun,
    one_job,
    one_plan,
    read_op,
    steady_stream,
)

KIB = 1024
SECONDS = 10
PATH = "target.target.device"
QUEUE: Mapping[str, FactValue] = {
    f"{PATH}.0.name": "vda",
    f"{PATH}.0.kind": "disk",
    f"{PATH}.0.carries": "file system",
    f"{PATH}.0.max_io_bytes": 512 * KIB,
    f"{PATH}.0.max_segments": 128,
}
DIRECT = plan.OpenFlags(direct=plan.Direct.ON)
DURABLE = plan.OpenFlags(direct=plan.Direct.ON, dsync=True)
NO_FLAGS = plan.OpFlags()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Did:
    """What a device did in a second."""

    read: float = 0
    """Bytes."""
    reads: float = 0
    written: float = 0
    writes: float = 0
    flushes: float = 0
    read_s: float = 0
    """Time of its requests."""
    write_s: float = 0
    flush_s: float = 0
    in_flight: float = 0
    """Whenever it was sampled."""


def counters(
    fetched_per_s: float,
    devices: Mapping[str, Did],
    *,
    busy_share: float = 1.0,
    seconds: float = SECONDS,
    dirty_bytes: float = 0,
) -> Counters:
    """Counters of a run."""
    others = {("vmstat", "", "nr_dirty"): (dirty_bytes / 4096, 0.0), ("vmstat", "", "nr_writeback"): (0.0, 0.0)}
    for name, did in devices.items():
        grown = {
            "reads": did.reads,
            "writes": did.writes,
            "flushes": did.flushes,
            "read_ns": did.read_s * NS,
            "write_ns": did.write_s * NS,
            "flush_ns": did.flush_s * NS,
            "weighted_io_ns": (did.read_s + did.write_s + did.flush_s) * NS,
        }
        others |= {("diskstats", name, key): (7.0, 7.0 + seconds * per_s) for key, per_s in grown.items()}
        others["diskstats", name, "in_flight"] = (did.in_flight, did.in_flight)
    return Counters(
        process_read_bytes=round(seconds * fetched_per_s),
        devices={name: (round(seconds * did.read), round(seconds * did.written)) for name, did in devices.items()},
        device_ns=round(busy_share * seconds * NS),
        others=others,
    )


def measure(
    *,
    per_s: int,
    size_bytes: int,
    devices: Mapping[str, Did],
    kind: plan.OpKind = plan.OpKind.READ,
    direct: bool = True,
    open_flags: plan.OpenFlags = DIRECT,
    facts: Mapping[str, FactValue] = QUEUE,
    busy_share: float = 1.0,
    dirty_bytes: float = 0,
    allocate: plan.Allocate = plan.Allocate.WRITE,
    access: plan.Access | None = None,
    op_flags: plan.OpFlags = NO_FLAGS,
    wrote: Mapping[str, float] | None = None,
) -> Result:
    """Measure operations of a size at a rate, one after the other, for 10 s; reads come from the device.

    `wrote` is what processes wrote in all: `load`, other programs by name, and `hidden`, CPU seconds of those that may not
    be looked at, of which the load takes one.
    """
    name = kind.value
    op = read_op(name, kind=kind, size_bytes=size_bytes)
    op = msgspec.structs.replace(op, access=op.access if access is None else access, flags=op_flags)
    job = one_job(plan.Do(op=op), open=open_flags)
    phase = plan.Phase(name="p", title="p", jobs=(job,))
    data = msgspec.structs.replace(DATA, allocate=allocate)
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1, data=data), facts={**BLOCK_BACKED, **facts})
    stream = steady_stream(per_s=per_s, seconds=SECONDS, latency_ns=NS // per_s, bytes_each=size_bytes, operation=name)
    fetched = per_s * size_bytes if kind is plan.OpKind.READ else 0
    grown = counters(fetched, devices, busy_share=busy_share, dirty_bytes=dirty_bytes)
    run.phase([stream], seconds=SECONDS, direct=direct, counters=_with_programs(grown, wrote))
    (result,) = judged(run.end()).results
    return result


def _with_programs(grown: Counters, wrote: Mapping[str, float] | None) -> Counters:
    if wrote is None:
        return grown
    of_others = {name: wrote[name] for name in wrote if name not in {"load", "hidden", "looked"}}
    programs = {("programs", name, "write_bytes"): (3.0, 3.0 + each) for name, each in of_others.items()}
    programs["programs", "", "write_bytes"] = (5.0, 5.0 + sum(of_others.values()))
    programs["programs", "", "hidden_cpu_ns"] = (7.0, 7.0 + NS * wrote.get("hidden", 0.0))
    programs["programs", "", "looked_ns"] = (9.0, 9.0 + SECONDS * NS * wrote.get("looked", 1.0))
    return dataclasses.replace(
        grown, process_write_bytes=int(wrote["load"]), process_cpu_ns=NS, others={**grown.others, **programs}
    )


def company(result: Result) -> Finding | None:
    """Return what is reported of others."""
    return next((finding for finding in result.findings if finding.id in {"foreign-io", "earlier-io"}), None)


def reads(count: float, size_bytes: float, **others: float) -> Did:
    """Reads of one size a second."""
    return Did(reads=count, read=count * size_bytes, read_s=1.0, **others)


def test_small_requests_of_others_are_half_of_what_a_device_does_and_little_of_its_bytes() -> None:
    did = Did(reads=91 + 91, read=91 * 64 * KIB + 91 * 4 * KIB, read_s=2.0)

    found = company(measure(per_s=91, size_bytes=64 * KIB, devices={"vda": did}))

    assert found is not None
    assert (found.id, found.severity) == ("foreign-io", "weak")
    assert found.effect == pytest.approx(0.5, abs=0.01)
    assert "(6 %) were not this load's, and " in found.text
    assert " requests (50 %). Others used it too, which can slow this load." in found.text


@pytest.mark.parametrize(
    ("size_bytes", "direct", "did"),
    [
        # One request an operation; two, as long as the queue lets them be; many, of a file in fragments.
        (4 * KIB, True, reads(90, 4 * KIB)),
        (MIB, True, reads(180, 512 * KIB)),
        (64 * KIB, True, reads(16 * 90, 4 * KIB)),
        # Neighbours merged, and read ahead.
        (4 * KIB, True, reads(10, 36 * KIB)),
        (4 * KIB, False, reads(3, 120 * KIB)),
        # A hundredth as many bytes of others, which read-ahead hides among its requests.
        (64 * KIB, False, Did(reads=300, read=1.01 * 90 * 64 * KIB, read_s=1.0)),
        # A journal that is written now and then.
        (4 * KIB, True, reads(90, 4 * KIB, writes=1, written=8 * KIB, flushes=0.4, write_s=0.02, flush_s=0.01)),
    ],
)
def test_a_load_that_is_alone_has_no_company_however_many_requests_its_operations_are(
    size_bytes: int, direct: bool, did: Did
) -> None:
    open_flags = DIRECT if direct else plan.OpenFlags()

    result = measure(per_s=90, size_bytes=size_bytes, devices={"vda": did}, direct=direct, open_flags=open_flags)

    assert company(result) is None


def test_without_the_queues_limits_nobody_knows_how_many_requests_a_large_operation_is() -> None:
    did = Did(reads=91 + 91, read=91 * 64 * KIB + 91 * 4 * KIB, read_s=2.0)

    assert company(measure(per_s=91, size_bytes=64 * KIB, devices={"vda": did}, facts={})) is None


@pytest.mark.parametrize(
    ("write_s", "busy_share", "severity"),
    [(0.04, 1.0, None), (0.09, 1.0, None), (0.11, 1.0, "weak"), (0.9, 1.0, "weak"), (0.9, 0.09, None)],
)
def test_large_writes_of_others_count_for_the_time_that_they_take(
    write_s: float, busy_share: float, severity: str | None
) -> None:
    # Two thirds of the bytes, and 2 % of the requests.
    did = Did(reads=256, read=MIB, read_s=0.95, writes=4, written=2 * MIB, write_s=write_s)

    found = company(measure(per_s=256, size_bytes=4 * KIB, devices={"vda": did}, busy_share=busy_share))

    assert (found and found.severity) == severity


def test_others_that_have_most_of_bytes_and_requests_make_a_number_not_to_be_trusted() -> None:
    did = Did(reads=100, read=100 * 4 * KIB, read_s=1.0, writes=200, written=200 * 8 * KIB, write_s=1.0)

    found = company(measure(per_s=100, size_bytes=4 * KIB, devices={"vda": did}))

    assert found is not None
    assert found.severity == "warning"
    assert found.effect == pytest.approx(0.8, abs=0.01)


def test_flushes_of_a_load_that_only_reads_are_others_and_no_part_of_its_latency() -> None:
    # Each of 95 small writes is flushed: 6 % of the bytes.
    did = Did(
        reads=95,
        read=95 * 64 * KIB,
        read_s=0.25,
        writes=95,
        written=95 * 4 * KIB,
        write_s=0.1,
        flushes=95,
        flush_s=0.7,
    )

    result = measure(per_s=95, size_bytes=64 * KIB, devices={"vda": did})

    found = company(result)
    assert found is not None
    assert (found.id, found.severity) == ("foreign-io", "weak")
    assert " requests (67 %), " in found.text
    assert " of them flushes. Others used it too, which can slow this load." in found.text
    assert result.limiter is not None
    assert "flush" not in " ".join(result.limiter.evidence)


@pytest.mark.parametrize(("flushes", "id_"), [(5, "earlier-io"), (20, "foreign-io")])
def test_writes_that_somebody_flushes_are_not_what_was_dirty_before(flushes: float, id_: str) -> None:
    did = Did(reads=95, read=95 * 4 * KIB, read_s=0.5, writes=95, written=95 * 4 * KIB, write_s=0.5, flushes=flushes)

    found = company(measure(per_s=95, size_bytes=4 * KIB, devices={"vda": did}, dirty_bytes=64 * MIB))

    assert found is not None
    assert found.id == id_


def test_few_long_flushes_of_others_count_for_their_time() -> None:
    did = Did(reads=900, read=900 * 4 * KIB, read_s=0.4, writes=30, written=30 * 4 * KIB, flushes=30, flush_s=0.6)

    found = company(measure(per_s=900, size_bytes=4 * KIB, devices={"vda": did}))

    assert found is not None
    assert found.effect == pytest.approx(0.6, abs=0.01)


def test_flushes_that_the_load_asks_for_are_its_own() -> None:
    did = Did(writes=95, written=95 * 4 * KIB, write_s=0.9, flushes=95, flush_s=0.7)

    result = measure(
        per_s=95,
        size_bytes=4 * KIB,
        devices={"vda": did},
        kind=plan.OpKind.WRITE,
        open_flags=DURABLE,
    )

    assert company(result) is None
    assert result.limiter is not None
    assert "flushes of the device" in " ".join(result.limiter.evidence)


@pytest.mark.parametrize(
    ("times", "settings", "is_named"),
    [
        # Twice 64 KiB and three blocks of 4 KiB are 2.19 times the data, and 2.43 with a tenth of others'.
        (2.42, {}, False),
        (2.44, {}, True),
        # What is not laid out allocates blocks, and what of the metadata that changes is not known.
        (9, {"allocate": plan.Allocate.FALLOCATE}, False),
        (9, {"access": plan.Append()}, False),
    ],
)
def test_a_durable_write_in_place_is_its_data_twice_and_a_transaction(
    times: float, settings: dict[str, Any], is_named: bool
) -> None:
    did = Did(writes=95, written=95 * 64 * KIB * times, write_s=0.9, flushes=95, flush_s=0.7)

    result = measure(
        per_s=95,
        size_bytes=64 * KIB,
        devices={"vda": did},
        kind=plan.OpKind.WRITE,
        open_flags=DURABLE,
        **settings,
    )

    assert (company(result) is not None) is is_named


@pytest.mark.parametrize(
    ("wrote", "expected"),
    [
        ({"load": 90 * MIB}, None),
        ({"load": 90 * MIB, "logger": 9 * MIB}, None),
        (
            {"load": 90 * MIB, "dd": 11 * MIB, "logger": 2 * MIB},
            ("foreign-io", "Other programs (dd, logger) wrote 12.6 MiB"),
        ),
        # The window is 0.97 of the phase. 100 kB/s is what a system at rest does.
        ({"load": MIB, "logger": 0.9e6}, None),
        ({"load": MIB, "logger": 1.1e6}, ("foreign-io", "Other programs (logger) wrote 1.02 MiB")),
        # Of the load's second of CPU time a tenth, and a tick.
        ({"load": 90 * MIB, "hidden": 0.10}, None),
        ({"load": 90 * MIB, "hidden": 0.12}, ("others-unseen", "processes that took 116 ms of CPU time may not be")),
        # So many processes that a look at them takes long: none in most of the window.
        ({"load": 90 * MIB, "looked": 0.51}, None),
        ({"load": 90 * MIB, "looked": 0.49}, ("others-unseen", "not all processes of the machine were looked at.")),
        (None, ("others-unseen", "not all processes of the machine were looked at.")),
    ],
)
@pytest.mark.parametrize(
    "where",
    [
        {"access": plan.Append(), "open_flags": DURABLE},
        {"access": plan.Append(), "op_flags": plan.OpFlags(dsync=True)},
        {"facts": {**QUEUE, "target.target.fs.type": "btrfs"}, "open_flags": DURABLE},
    ],
)
def test_beside_writes_of_which_nobody_knows_what_a_file_system_makes_what_programs_wrote_decides(
    wrote: Mapping[str, float] | None, expected: tuple[str, str] | None, where: dict[str, Any]
) -> None:
    did = Did(writes=95, written=9 * 95 * 64 * KIB, write_s=0.9, flushes=95, flush_s=0.7)

    result = measure(
        per_s=95,
        size_bytes=64 * KIB,
        devices={"vda": did},
        kind=plan.OpKind.WRITE,
        wrote=wrote,
        **where,
    )

    found = next((one for one in result.findings if one.id in {"foreign-io", "others-unseen"}), None)
    assert (found and found.id) == (expected and expected[0])
    if found and expected:
        assert found.severity == "weak"
        assert expected[1] in found.text


@pytest.mark.parametrize(("of_others", "is_named"), [(0, False), (10, False), (40, True)])
def test_writes_of_others_are_known_beside_direct_reads_and_writes(of_others: int, is_named: bool) -> None:
    """70 reads and 30 writes of 4 KiB a second by one job, or by two, and small writes of somebody else."""
    of_one, of_two = ("read", "write"), (("read",), ("write",))
    for jobs in ((of_one,), of_two):
        phase = plan.Phase(name="p", title="p", jobs=tuple(_mixed(kinds, name=f"j{k}") for k, kinds in enumerate(jobs)))
        run = SyntheticRun(one_plan(phase, sample_interval_s=0.1), facts={**BLOCK_BACKED, **QUEUE})
        streams = [
            steady_stream(
                per_s=70 if kind == "read" else 30,
                seconds=SECONDS,
                latency_ns=5_000_000,
                bytes_each=4 * KIB,
                operation=kind,
                job=f"j{k}",
            )
            for k, kinds in enumerate(jobs)
            for kind in kinds
        ]
        writes = 30 + of_others
        did = reads(70, 4 * KIB, writes=writes, written=writes * 4 * KIB, write_s=0.5)
        run.phase(streams, seconds=SECONDS, direct=True, counters=counters(70 * 4 * KIB, {"vda": did}))

        results = judged(run.end()).results

        assert {company(result) is not None for result in results} == {is_named}


def _mixed(kinds: tuple[str, ...], *, name: str) -> plan.Job:
    actions = (plan.Do(op=read_op(kind, kind=plan.OpKind(kind), size_bytes=4 * KIB)) for kind in kinds)
    return one_job(*actions, name=name, open=DIRECT)


@pytest.mark.parametrize(("others", "is_named"), [(91, True), (5, False), (0, False)])
def test_small_writes_of_others_beside_large_direct_ones_are_requests_that_the_load_did_not_make(
    others: int, is_named: bool
) -> None:
    # Their bytes alone are less than a journal may add.
    did = Did(writes=91 + others, written=91 * 64 * KIB + others * 4 * KIB, write_s=1.0)

    result = measure(per_s=91, size_bytes=64 * KIB, devices={"vda": did}, kind=plan.OpKind.WRITE)

    assert (company(result) is not None) is is_named


@pytest.mark.parametrize(("workers", "in_flight", "is_named"), [(8, 8, False), (8, 0, True), (2, 8, True)])
def test_requests_that_were_in_flight_when_the_window_began_are_not_others(
    workers: int, in_flight: int, is_named: bool
) -> None:
    """12 MiB are delivered in a second, of which 4 MiB were asked for in it, and 8 MiB before."""
    job = one_job(plan.Do(op=read_op(size_bytes=MIB)), workers=workers)
    phase = plan.Phase(name="p", title="p", jobs=(job,))
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1), facts={**BLOCK_BACKED, **QUEUE})
    streams = [
        steady_stream(per_s=2, seconds=1, latency_ns=450_000_000, bytes_each=MIB, worker=worker)
        for worker in range(workers)
    ]
    delivered = Did(reads=24, read=12 * MIB, read_s=1.0, in_flight=in_flight)
    run.phase(streams, seconds=1, direct=True, counters=counters(4 * MIB, {"vda": delivered}, seconds=1))

    (result,) = judged(run.end()).results

    assert (company(result) is not None) is is_named


# -- devices below -----------------------------------------------------------------------------------------------------


def loop_over(fs: str = "ext4", *, is_direct: bool = True) -> dict[str, FactValue]:
    """A loop device over a file on vda1."""
    backing = f"{PATH}.0.backing."
    return {
        "target.target.device.diskstats": ("loop0",),
        f"{PATH}.0.name": "loop0",
        f"{PATH}.0.kind": "loop",
        f"{PATH}.0.carries": "file system",
        f"{PATH}.0.loop_direct_io": is_direct,
        f"{PATH}.0.max_io_bytes": 512 * KIB,
        f"{PATH}.0.max_segments": 128,
        f"{backing}fs.type": fs,
        f"{backing}device.diskstats": ("vda1",),
        f"{backing}device.0.name": "vda1",
        f"{backing}device.0.kind": "partition",
        f"{backing}device.0.carries": "file system",
        f"{backing}device.1.name": "vda",
        f"{backing}device.1.kind": "disk",
        f"{backing}device.1.carries": "0",
        f"{backing}device.1.max_io_bytes": 512 * KIB,
        f"{backing}device.1.max_segments": 128,
    }


def volume_on(*lower: str, kind: str, dm_name: str = "volume") -> dict[str, FactValue]:
    """A volume, dm-0, on other devices."""
    facts: dict[str, FactValue] = {
        "target.target.device.diskstats": ("dm-0",),
        f"{PATH}.0.name": "dm-0",
        f"{PATH}.0.kind": kind,
        f"{PATH}.0.carries": "file system",
        f"{PATH}.0.dm_name": dm_name,
    }
    for place, name in enumerate(lower, start=1):
        facts |= {
            f"{PATH}.{place}.name": name,
            f"{PATH}.{place}.kind": "disk",
            f"{PATH}.{place}.carries": "0",
        }
    return facts


def two_partitions(kind: str) -> dict[str, FactValue]:
    """Two partitions of vda below one file system, or one array; the facts have one of those that the disk carries."""
    is_array = kind.startswith("md")
    names = ("md0", "vda1", "vda2", "vda") if is_array else ("vda1", "vda2", "vda")
    kinds = (kind, "partition", "partition", "disk") if is_array else ("partition", "partition", "disk")
    carries = ("file system", "0", "0", "1") if is_array else ("file system", "file system", "0")
    facts: dict[str, FactValue] = {"target.target.device.diskstats": ("md0",) if is_array else ("vda1", "vda2")}
    for place, values in enumerate(zip(names, kinds, carries, strict=True)):
        facts |= dict(zip((f"{PATH}.{place}.{key}" for key in ("name", "kind", "carries")), values, strict=True))
    return facts


def thin_volume(*, kind: str) -> dict[str, FactValue]:
    """A volume on a pool: what is written for the first time is zeroed before."""
    pool = {f"{PATH}.1.kind": kind, f"{PATH}.1.dm_name": "group-pool-tpool"}
    return {**volume_on("dm-1", kind=kind, dm_name="group-volume"), **pool}


OWN = reads(100, 4 * KIB)
HALF = reads(50, 4 * KIB)
TWICE = Did(reads=200, read=200 * 4 * KIB, read_s=2.0)


@pytest.mark.parametrize(
    ("facts", "devices", "where"),
    [
        (loop_over(), {"loop0": OWN, "vda1": TWICE, "vda": TWICE}, "vda1, below loop0,"),
        (loop_over(), {"loop0": OWN, "vda1": OWN, "vda": TWICE}, "vda, below vda1,"),
        (loop_over(), {"loop0": OWN, "vda1": OWN, "vda": OWN}, None),
        # What the page cache does with the file, or a tree that is written anew, nobody can tell.
        (loop_over(is_direct=False), {"loop0": OWN, "vda1": TWICE, "vda": TWICE}, None),
        (loop_over("btrfs"), {"loop0": OWN, "vda1": TWICE, "vda": TWICE}, None),
        *(
            (volume_on("vda", kind=kind), {"dm-0": OWN, "vda": TWICE}, "vda, below dm-0,")
            for kind in ("dm", "lvm", "crypt")
        ),
        (volume_on("vda", kind="lvm", dm_name="group-with--hyphen"), {"dm-0": OWN, "vda": TWICE}, "vda, below dm-0,"),
        # A part of a volume, such as a thin pool; several devices; checksums; RAID.
        (volume_on("vda", kind="lvm", dm_name="group-pool-tpool"), {"dm-0": OWN, "vda": TWICE}, None),
        (two_partitions("md-raid0"), {"md0": OWN, "vda1": HALF, "vda2": HALF, "vda": OWN}, None),
        (two_partitions("btrfs"), {"vda1": HALF, "vda2": HALF, "vda": OWN}, None),
        (thin_volume(kind="lvm"), {"dm-0": OWN, "dm-1": TWICE}, None),
        (thin_volume(kind="dm"), {"dm-0": OWN, "dm-1": TWICE}, None),
        (volume_on("vda", "vdb", kind="dm"), {"dm-0": OWN, "vda": TWICE, "vdb": TWICE}, None),
        (volume_on("vda", kind="integrity"), {"dm-0": OWN, "vda": TWICE}, None),
        (volume_on("vda", kind="md-raid1"), {"dm-0": OWN, "vda": TWICE}, None),
    ],
)
def test_what_a_device_below_does_beyond_what_comes_through_is_others(
    facts: Mapping[str, FactValue], devices: Mapping[str, Did], where: str | None
) -> None:
    found = company(measure(per_s=100, size_bytes=4 * KIB, devices=devices, facts=facts))

    assert (found is not None) is (where is not None)
    if found and where:
        assert f"that {where} moved in the window, 3.91 MiB (50 %)" in found.text
        assert "1,000 of its 2,000 requests (50 %)" in found.text


def test_what_passes_through_to_the_device_below_is_others_once() -> None:
    # Others use the loop device; its file is on vda1, which does what the loop device does.
    found = company(
        measure(
            per_s=100, size_bytes=4 * KIB, devices=dict.fromkeys(("loop0", "vda1", "vda"), TWICE), facts=loop_over()
        )
    )

    assert found is not None
    assert "that loop0 moved" in found.text


@pytest.mark.parametrize(("below", "is_named"), [(1.1, False), (2.5, True)])
def test_a_backing_file_system_writes_a_little_besides(below: float, is_named: bool) -> None:
    own = Did(writes=100, written=100 * 4 * KIB, write_s=0.5)
    under = Did(writes=below * 100, written=below * 100 * 4 * KIB, write_s=0.5)

    result = measure(
        per_s=100,
        size_bytes=4 * KIB,
        kind=plan.OpKind.WRITE,
        devices={"loop0": own, "vda1": under, "vda": under},
        facts=loop_over(),
    )

    assert (company(result) is not None) is is_named


def test_a_phase_that_uses_a_device_and_one_on_it_has_its_own_io_in_both() -> None:
    facts = loop_over() | {"target.target.device.diskstats": ("loop0", "vda1")}
    devices = {"loop0": OWN, "vda1": OWN, "vda": OWN}

    assert company(measure(per_s=100, size_bytes=4 * KIB, devices=devices, facts=facts)) is None
