"""Numbers among those of their class: by devices whose facts are known, and rates chosen by hand."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from assay import plan
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.phase_results import phase_cases
from assay.analysis.placement import fraction_words, placement_of
from assay.analysis.record import read
from assay.host.facts import LINK_FACT, LINK_SPEED_FACT, FactValue
from assay.results import Placement, Result, Trust
from assay.verdicts import Bottleneck, Confidence, ServedBy, TrustLevel
from unit.memory_run import judged
from unit.synthetic import BLOCK_BACKED, NS, Counters, SyntheticRun, one_job, one_plan, steady_stream

INTERVAL_S = 0.1
BLOCK = 4096
RANDOM, IN_ORDER = plan.RandomAccess(), plan.Sequential()
DIRECT = plan.OpenFlags(direct=plan.Direct.ON)


@pytest.fixture(autouse=True)
def _no_table_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def disk(
    name: str = "sda", *, kind: str = "disk", carries: str = "file system", at: int = 0, **facts: FactValue
) -> dict[str, FactValue]:
    """Facts of one layer of the storage path."""
    start = f"target.target.device.{at}."
    return {f"{start}{key}": value for key, value in {"name": name, "kind": kind, "carries": carries, **facts}.items()}


HDD = disk(is_rotational=True, vendor="ATA", model="ST18000NM000J")
SATA = disk(is_rotational=False, vendor="ATA", model="Samsung SSD 870")
NVME = disk("nvme0n1", is_rotational=False, model="SAMSUNG MZQL21T9")


def measured(facts: Mapping[str, FactValue], per_s: int, **load: object) -> Result:
    """The result of such a run."""
    (result,) = judged(recorded(facts, per_s, **load)).results  # type: ignore[arg-type]
    return result


def recorded(
    facts: Mapping[str, FactValue],
    per_s: int,
    *,
    access: plan.Access = RANDOM,
    size: int = BLOCK,
    in_flight: int = 1,
    latency_ns: int | None = None,
    kind: plan.OpKind = plan.OpKind.READ,
    flags: plan.OpenFlags = DIRECT,
    all_facts: Mapping[str, FactValue] = BLOCK_BACKED,
) -> SyntheticRun:
    """Five seconds of direct operations, all of which the device counted."""
    name = kind.value
    op = plan.Op(
        op=kind,
        name=name,
        file=plan.FromSet(set="data", pick=plan.Next()),
        access=access,
        size=plan.Fixed(value=float(size)),
    )
    job = one_job(plan.Do(op=op), open=flags, queue_depth=in_flight)
    phase = plan.Phase(name="p", title="p", jobs=(job,), cache=plan.CacheCondition.COLD)
    run = SyntheticRun(one_plan(phase, sample_interval_s=INTERVAL_S), facts={**all_facts, **facts})
    moved = per_s * 5 * size
    is_read = kind is plan.OpKind.READ
    counters = Counters(
        process_cpu_ns=NS // 10, process_read_bytes=moved, devices={"vda": (moved, 0) if is_read else (0, moved)}
    )
    stream = steady_stream(
        per_s=per_s,
        seconds=5,
        latency_ns=latency_ns or in_flight * NS // per_s,
        bytes_each=size,
        operation=name,
    )
    run.phase([stream], seconds=5, counters=counters, direct=True)
    return run.end()


def placed(facts: Mapping[str, FactValue], per_s: int, **load: object) -> Placement:
    """The place of such a result."""
    result = measured(facts, per_s, **load)
    assert result.placement is not None, result.trust
    return result.placement


# -- known classes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "per_s", "load", "text"),
    [
        (SATA, 10_000, {}, "typical for a SATA SSD"),
        # 5,000 are the least of one read at a time.
        (SATA, 2500, {}, "half of the least that is usual for a SATA SSD"),
        (SATA, 28_000, {}, "2.00 times the most that is usual for a SATA SSD"),
        (SATA, 10_000, {"in_flight": 32}, "a fifth of the least that is usual for a SATA SSD"),
        # 1,000 of 512 KiB are 524 MB/s, 400 are 210.
        (SATA, 1000, {"size": 512 << 10, "access": IN_ORDER}, "typical for a SATA SSD"),
        (SATA, 400, {"size": 512 << 10, "access": IN_ORDER}, "52.4 % of the least that is usual for a SATA SSD"),
        (HDD, 100, {}, "typical for a 7,200 rpm HDD"),
        (HDD, 190, {}, "typical for a 7,200 rpm HDD, a 10,000 rpm HDD or a 15,000 rpm HDD"),
        (HDD, 25, {}, "half of the least that is usual for an HDD"),
        (NVME, 13_000, {}, "typical for a consumer NVMe SSD or a data-centre NVMe SSD"),
        (NVME, 20_000, {}, "typical for a consumer NVMe SSD"),
        (
            SATA,
            1000,
            {"kind": plan.OpKind.WRITE, "flags": plan.OpenFlags(direct=plan.Direct.ON, dsync=True)},
            "typical for a SATA SSD",
        ),
    ],
)
def test_a_number_is_placed_in_the_class_of_its_device(
    facts: Mapping[str, FactValue], per_s: int, load: Mapping[str, object], text: str
) -> None:
    found = placed(facts, per_s, **load)

    assert found.text == text
    assert found.device_class is not None
    assert found.rows
    assert str(facts["target.target.device.0.model"]) in found.arithmetic[0]


def test_the_arithmetic_divides_the_number_by_both_ends_of_the_row() -> None:
    found = placed(SATA, 10_000)

    assert found.rows == ("sata-ssd-random-read-1",)
    assert found.arithmetic[1].startswith(
        "10,000 IOPS: 2.00 times 5,000, 0.714 times 14,000, the usual range of a SATA SSD ("
    )


# -- unknown classes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({**SATA, "host.virtualisation.is_virtual": True}, "sda is a disk of a virtual machine"),
        (disk("vda", is_rotational=True), "the facts do not show what vda is"),
        (disk(is_rotational=False, vendor="ATA", model="QEMU HARDDISK"), "is a virtual disk"),
        (disk("nvme0n1", is_rotational=False, model="Amazon Elastic Block Store"), "is a virtual disk"),
        (disk(is_rotational=True, vendor="DELL", model="PERC H730"), "the facts do not show what sda (PERC H730) is"),
        (disk(is_rotational=False, vendor="SEAGATE", model="XS800"), "is an SSD, not on SATA"),
        (
            {**disk("md0", kind="md-raid0"), **disk(carries="0", at=1), **disk("sdb", carries="0", at=2)},
            "a volume over sda, sdb",
        ),
        (
            {**disk("md0", kind="md-raid1"), **disk(carries="0", at=1, is_rotational=True, vendor="ATA")},
            "no plain disk (md-raid1)",
        ),
        (disk("loop0", kind="loop"), "no plain disk (loop)"),
        ({}, "no device is in the facts"),
    ],
)
def test_a_class_that_the_facts_do_not_show_is_not_claimed(facts: Mapping[str, FactValue], why: str) -> None:
    found = placed(facts, 10_000)

    assert found.device_class is None
    assert found.text == (
        "unknown class of device; the number would be typical for a SATA SSD, a consumer NVMe SSD or a data-centre NVMe SSD"
    )
    assert why in found.arithmetic[0]


def test_a_partition_and_a_volume_on_one_disk_are_of_its_class() -> None:
    layers = {
        **disk("dm-0", kind="lvm"),
        **disk("sda1", kind="partition", carries="0", at=1),
        **disk(carries="1", at=2, is_rotational=False, vendor="ATA", model="x"),
    }

    assert placed(layers, 10_000).text == "typical for a SATA SSD"


def test_a_number_of_no_class_is_compared_with_the_nearest() -> None:
    # One at a time: 2008's SSD ends at 3,100, a SATA SSD begins at 5,000; 4,500 is 0.9 of that and 1.45 of the other.
    assert (
        placed({}, 4500).text
        == "unknown class of device; the nearest class: 90.0 % of the least that is usual for a SATA SSD"
    )


def test_a_number_that_cannot_be_used_has_no_place() -> None:
    run = read(recorded(SATA, 10_000))
    (case,) = phase_cases(run, run.phases[0])
    trusts = {level: Trust(level=level, reasons=()) for level in TrustLevel}

    found = {level: placement_of(case, None, ServedBy.STORAGE, trust) for level, trust in trusts.items()}

    assert found[TrustLevel.YES] is not None
    assert found[TrustLevel.WEAK] == found[TrustLevel.YES]
    assert found[TrustLevel.NO] is None
    assert placement_of(case, None, ServedBy.PAGE_CACHE, trusts[TrustLevel.YES]) is None


def of_limit(limit: Bottleneck) -> Placement | None:
    """The place of 10,000 reads a second of a SATA SSD, with something that limits them."""
    run = read(recorded(SATA, 10_000))
    (case,) = phase_cases(run, run.phases[0])
    limiter = Conclusion(limit, Confidence.HIGH, ())
    return placement_of(case, limiter, ServedBy.STORAGE, Trust(level=TrustLevel.YES, reasons=()))


@pytest.mark.parametrize("limit", [Bottleneck.OFFERED_LOAD, Bottleneck.THROTTLE_IO, Bottleneck.THROTTLE_CPU])
def test_a_load_that_was_held_back_is_no_measure_of_the_device(limit: Bottleneck) -> None:
    assert of_limit(limit) is None


def test_a_number_that_the_client_limits_says_so() -> None:
    by_cpu, by_device = (of_limit(limit) for limit in (Bottleneck.CLIENT_CPU_SINGLE, Bottleneck.DEVICE_SATURATED))

    assert by_cpu is not None
    assert by_device is not None
    assert "client's CPUs limit this number (client cpu single)" in by_cpu.arithmetic[-1]
    assert by_cpu.arithmetic[:-1] == by_device.arithmetic


def test_operations_without_a_row_have_no_place() -> None:
    assert measured(NVME, 10_000, in_flight=4).placement is None
    assert measured(SATA, 1000, access=plan.Backward()).placement is None


# -- links -------------------------------------------------------------------------------------------------------------

NFS: dict[str, FactValue] = {"target.target.directory": "/data", "target.target.fs.type": "nfs4"}


def over(link: Mapping[str, FactValue], bytes_per_s: float) -> Placement | None:
    """The place of reads of 100,000 bytes from a server, in direct I/O."""
    return measured(link, round(bytes_per_s / 1e5), size=100_000, access=IN_ORDER, all_facts=NFS).placement


@pytest.mark.parametrize(
    ("line", "moved", "text"),
    [
        # A third of 117.7 MB/s.
        (125e6, 39.2e6, "a third of what a 1 GbE link carries"),
        (125e6, 110e6, "93.5 % of what a 1 GbE link carries"),
        (1.25e9, 117.7e6, "a tenth of what a 10 GbE link carries"),
        # Of a rate that has no row, the rate itself.
        (80e6, 40e6, "half of what the link carries"),
    ],
)
def test_data_of_a_server_are_placed_by_the_link(line: float, moved: float, text: str) -> None:
    found = over({LINK_FACT: line}, moved)

    assert found is not None
    assert found.text == text
    assert found.device_class is None


def test_the_arithmetic_of_a_link_has_the_window_and_the_cost_of_the_server() -> None:
    found = over({LINK_FACT: 125e6}, 100e6)

    assert found is not None
    said = " ".join(found.arithmetic)
    # 2^20 bytes by 100 MB/s; 30 and 40 cycles for each of 10^8 bytes.
    assert "up to a round trip of 10.5 ms" in said
    assert "3.00 to 4.00 billion cycles a second" in said
    assert found.rows == ("1gbe-payload", "tcp-window", "nfs-cycles")


def test_the_link_is_that_of_the_only_interface_whose_rate_is_known() -> None:
    one, two = (LINK_SPEED_FACT.format(interface=name) for name in ("eth0", "eth1"))

    found = over({one: 125e6}, 39.2e6)

    assert found is not None
    assert "interface eth0: 1.00 Gbit/s" in found.arithmetic[0]
    assert over({one: 125e6, two: 125e6}, 39.2e6) is None
    assert over({}, 39.2e6) is None


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1 / 3, "a third of"),
        (0.34, "a third of"),
        (0.5, "half of"),
        (0.98, "all of"),
        (0.93, "93.0 % of"),
        (0.42, "42.0 % of"),
        (1.8, "1.80 times"),
    ],
)
def test_a_share_is_written_as_people_say_it(share: float, words: str) -> None:
    assert fraction_words(share) == words


# -- broken invariants -------------------------------------------------------------------------------------------------


def named(result: Result) -> bool:
    """Whether the finding is there."""
    return any(finding.id == "faster-than-storage" for finding in result.findings)


@pytest.mark.parametrize(
    ("facts", "latency_ns", "in_flight", "is_named"),
    [
        # Half a turn of 15,000 rpm is 2 ms, whatever is in flight.
        (HDD, 1_900_000, 1, True),
        (HDD, 2_100_000, 1, False),
        (HDD, 1_900_000, 32, True),
        (SATA, 1_900_000, 1, False),
        ({**HDD, "host.virtualisation.is_virtual": True}, 1_900_000, 1, False),
    ],
)
def test_random_reads_of_a_hard_disk_below_half_a_turn_came_from_a_cache(
    facts: Mapping[str, FactValue], latency_ns: int, in_flight: int, *, is_named: bool
) -> None:
    result = measured(facts, 400, latency_ns=latency_ns, in_flight=in_flight)

    assert named(result) is is_named


def test_reads_in_order_of_a_hard_disk_may_be_faster() -> None:
    assert not named(measured(HDD, 400, latency_ns=500_000, access=IN_ORDER))


@pytest.mark.parametrize(
    ("facts", "per_s", "is_named"), [(SATA, 1210, True), (SATA, 1190, False), (NVME, 1210, False), ({}, 1210, False)]
)
def test_more_than_a_sata_cable_carries_never_passed_it(
    facts: Mapping[str, FactValue], per_s: int, *, is_named: bool
) -> None:
    # 1,200 of 500,000 bytes are 600 MB/s.
    assert named(measured(facts, per_s, size=500_000, access=IN_ORDER)) is is_named


def test_the_limits_are_those_of_the_users_table(tmp_path: Path) -> None:
    own = tmp_path / "assay" / "invariants.toml"
    own.parent.mkdir()
    own.write_text(
        '[[invariant]]\nid = "hdd-half-turn"\nabout = "hdd-15k"\nkind = "half_turn"\nlow = 1\nhigh = 1\nunit = "ms"\n'
        'is_limit = true\ncondition = "a faster disk"\nsource = "none"\n'
    )

    assert not named(measured(HDD, 400, latency_ns=1_900_000))
    assert named(measured(HDD, 400, latency_ns=900_000))
