"""What N clients need: by resources whose use is chosen by hand, and what is refused."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from assay import plan
from assay.analysis.case import Case
from assay.analysis.extrapolation import Extrapolation, Resource, extrapolate
from assay.analysis.phase_results import judged_alone, phase_cases
from assay.analysis.record import read
from assay.host.facts import DEVICE_FACT, LINK_FACT, FactValue
from assay.report.explain.extrapolated import extrapolated
from assay.results import Limiter, Reason, Result, Trust
from assay.verdicts import Bottleneck, Confidence, TrustLevel
from unit.synthetic import BLOCK_BACKED, NS, Counters, SyntheticRun, one_job, one_plan, steady_stream

NFS: dict[str, FactValue] = {"target.target.directory": "/data", "target.target.fs.type": "nfs4"}
HDD: dict[str, FactValue] = {
    **BLOCK_BACKED,
    "target.target.device.0.name": "sda",
    "target.target.device.0.kind": "disk",
    "target.target.device.0.carries": "file system",
    "target.target.device.0.is_rotational": True,
    "target.target.device.0.vendor": "ATA",
}
SECONDS = 5
TIMES = ("reads", "read_ns", "writes", "write_ns", "weighted_io_ns")
SURE = Limiter(verdict=Bottleneck.OPERATION_LATENCY, confidence=Confidence.HIGH, evidence=())


@pytest.fixture(autouse=True)
def _no_table_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def measured(
    facts: Mapping[str, FactValue], per_s: int, size: int, *, busy: float = 0.5, on_cpu: float = 0.1
) -> tuple[SyntheticRun, Case, Result]:
    """Five seconds of random direct reads, one at a time, of a device that is busy for a share of the time."""
    op = plan.Op(
        op=plan.OpKind.READ,
        name="read",
        file=plan.FromSet(set="data", pick=plan.Next()),
        access=plan.RandomAccess(),
        size=plan.Fixed(value=float(size)),
    )
    job = one_job(plan.Do(op=op), open=plan.OpenFlags(direct=plan.Direct.ON))
    phase = plan.Phase(name="p", title="p", jobs=(job,), cache=plan.CacheCondition.COLD)
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1), facts=dict(facts))
    moved = per_s * SECONDS * size
    counters = Counters(
        process_cpu_ns=round(on_cpu * SECONDS * NS),
        process_read_bytes=moved,
        devices={"vda": (moved, 0)},
        device_ns=round(busy * SECONDS * NS),
        on_cpu=on_cpu,
        others={("diskstats", "vda", name): (0.0, 1e9) for name in TIMES},
    )
    run.phase(
        [steady_stream(per_s=per_s, seconds=SECONDS, latency_ns=NS // per_s, bytes_each=size)],
        seconds=SECONDS,
        counters=counters,
        direct=True,
    )
    recorded = read(run.end())
    (case,) = phase_cases(recorded, recorded.phases[0])
    trusted = Trust(level=TrustLevel.YES, reasons=())
    return run, case, msgspec.structs.replace(judged_alone(case).result, limiter=SURE, trust=trusted)


def needs(case: Case, result: Result, clients: int = 10) -> Extrapolation:
    """What clients need; it is known."""
    found = extrapolate(case, result, clients)
    assert isinstance(found, Extrapolation), found
    return found


def of_name(found: Extrapolation, name: str) -> Resource:
    """One of the resources."""
    (resource,) = (resource for resource in found.resources if resource.name == name)
    return resource


def test_the_link_of_a_server_is_full_at_its_payload_by_the_rate_of_one() -> None:
    # 117.7 by 11.76 MB/s: ten clients, and no eleventh.
    _, case, result = measured({**NFS, LINK_FACT: 125e6}, 100, 117_600)

    found = needs(case, result, 20)

    link = of_name(found, "link")
    assert link.share == pytest.approx(0.1, rel=0.01)
    assert link.full_at == 10
    assert found.first is link
    assert link.share is not None
    assert found.words[-1].startswith("full first of those that are known: the link. All clients together get ")
    assert f"each {100 / 20 / link.share:.1f} % of it" in found.words[-1]


def test_an_nfs_server_spends_30_to_40_cycles_on_each_byte() -> None:
    _, case, result = measured({**NFS, LINK_FACT: 125e6}, 100, 100_000)

    cpu = of_name(needs(case, result), "server's CPU")

    assert cpu.share is None
    # 10^7 bytes a second by 30 and by 40 cycles.
    assert "0.300 to 0.400 billion cycles a second for each client" in cpu.words


def test_a_link_of_unknown_rate_is_unknown_and_its_option_is_named() -> None:
    _, case, result = measured(NFS, 100, 100_000)

    found = needs(case, result)

    assert of_name(found, "link").share is None
    assert "--link" in of_name(found, "link").words
    assert found.words[-1].startswith("unknown which is full first")


@pytest.mark.parametrize(
    ("busy", "full_at", "clients", "conclusion"),
    [
        (0.125, 8, 10, "All clients together get 8.00 times this rate at most, each 80.0 % of it"),
        (0.125, 8, 8, "none of them is full; first would be the device, beyond 8 clients"),
        (0.5, 2, 10, "get 2.00 times this rate at most, each 20.0 % of it"),
    ],
)
def test_a_hard_disk_is_full_when_it_is_never_idle(busy: float, full_at: int, clients: int, conclusion: str) -> None:
    _, case, result = measured(HDD, 100, 4096, busy=busy, on_cpu=0.01)

    found = needs(case, result, clients)

    device = of_name(found, "device")
    assert device.share == pytest.approx(busy)
    assert device.full_at == full_at
    assert found.words[-1].endswith(conclusion)


def test_other_devices_have_a_limit_only_where_somebody_names_it() -> None:
    _, case, result = measured(BLOCK_BACKED, 100, 100_000)
    _, named_case, named = measured({**BLOCK_BACKED, DEVICE_FACT: 80e6}, 100, 100_000)

    assert of_name(needs(case, result), "device").share is None
    # 10 of 80 MB/s.
    assert of_name(needs(named_case, named), "device").share == pytest.approx(0.125, rel=0.01)


@pytest.mark.parametrize("limit", [Bottleneck.DEVICE_SATURATED, Bottleneck.DEVICE_THROUGHPUT])
def test_a_device_that_limits_one_client_has_nothing_for_others(limit: Bottleneck) -> None:
    _, case, result = measured(BLOCK_BACKED, 100, 4096, on_cpu=0.01)
    limited = msgspec.structs.replace(result, limiter=msgspec.structs.replace(SURE, verdict=limit))
    with_room = msgspec.structs.replace(limited, limiter=msgspec.structs.replace(SURE, verdict=limit, headroom=1.25))

    found = needs(case, limited)

    assert of_name(found, "device").share == 1
    assert "get 1.00 times this rate at most, each 10.0 % of it" in found.words[-1]
    assert of_name(needs(case, with_room), "device").share == pytest.approx(0.8)


def test_clients_of_a_local_disk_share_its_cpus() -> None:
    _, case, result = measured(BLOCK_BACKED, 100, 4096, on_cpu=0.2)
    assert case.signals is not None
    cpus = case.signals.cpus
    assert cpus

    need = needs(case, result)

    assert "server's CPU" not in {each.name for each in need.resources}
    found = of_name(need, "CPUs of this machine")
    # One worker that is on a CPU for a fifth of its time.
    assert found.share == pytest.approx(0.2 / cpus, rel=0.02)
    assert found.full_at == 5 * cpus


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"limiter": None}, "what limits this number is not known"),
        ({"limiter": msgspec.structs.replace(SURE, verdict=Bottleneck.UNKNOWN)}, "the limiter is unknown"),
        (
            {"limiter": msgspec.structs.replace(SURE, verdict=Bottleneck.NOT_OBSERVABLE)},
            "the limiter is not observable",
        ),
        (
            {"limiter": msgspec.structs.replace(SURE, verdict=Bottleneck.CPU_CONTENTION)},
            "the limiter is cpu contention",
        ),
        ({"limiter": msgspec.structs.replace(SURE, confidence=Confidence.LOW)}, "low confidence"),
        (
            {"trust": Trust(level=TrustLevel.NO, reasons=(Reason(id="x", text="others used the device"),))},
            "not usable: others used the device",
        ),
    ],
)
def test_nothing_is_multiplied_where_the_limiter_is_not_known(changes: Mapping[str, object], why: str) -> None:
    _, case, result = measured(HDD, 100, 4096)

    found = extrapolate(case, msgspec.structs.replace(result, **changes), 10)

    assert isinstance(found, str)
    assert why in found


def test_explain_finds_the_row_again() -> None:
    run, _, result = measured(HDD, 100, 4096, busy=0.125, on_cpu=0.01)

    told = list(extrapolated(read(run), result, 10))

    # 1,000 of 4 KiB.
    assert told[0] == "10 clients at this rate: 1,000 operations a second, 3.91 MiB/s"
    assert any(
        line.startswith("device: 10 x 12.5 % busy, one request at a time = 125 %; room for 8 clients") for line in told
    )
    assert list(extrapolated(read(run), msgspec.structs.replace(result, limiter=None), 3)) == [
        "what 3 clients need is unknown: what limits this number is not known"
    ]
