"""Loads on two targets: counters of all devices that an operation works on, and of no other."""

from typing import TYPE_CHECKING

import msgspec
import pytest

from assay import plan
from assay.results import Result
from unit.memory_run import judged
from unit.synthetic import MIB, Counters, SyntheticRun, one_job, read_op, steady_stream

if TYPE_CHECKING:
    from assay.host.facts import FactValue

SETS = {"a": "one", "b": "two"}
DEVICES = {"one": "vda", "two": "vdb"}
EACH = 500 * MIB
"""What each stream moves: a MiB a hundred times a second for five seconds."""


def op(on: str, name: str, kind: plan.OpKind = plan.OpKind.READ) -> plan.Do:
    made = read_op(name, kind=kind, size_bytes=MIB)
    return plan.Do(op=msgspec.structs.replace(made, file=plan.FromSet(set=on, pick=plan.Next())))


def run_of(*jobs: plan.Job, **phase: object) -> SyntheticRun:
    facts: dict[str, FactValue] = {
        f"target.{target}.{name}": value
        for target, device in DEVICES.items()
        for name, value in (("fs.type", "ext4"), ("fs.is_block_backed", True), ("device.diskstats", (device,)))
    }
    made = plan.Plan(
        name="two",
        origin=plan.Origin(front_end="native", source="two.toml", sha256="0"),
        seed=1,
        targets=tuple(plan.Target(name=name, uri=f"file:///{name}") for name in DEVICES),
        file_sets=tuple(
            plan.FileSet(name=name, target=target, path=name, files=1, size=plan.Fixed(value=1e9))
            for name, target in SETS.items()
        ),
        phases=(plan.Phase(name="p", title="a phase", jobs=jobs, **phase),),  # type: ignore[arg-type]
        sample_interval_s=1.0,
    )
    return SyntheticRun(made, facts=facts)


def results_of(run: SyntheticRun, counters: Counters, *streams: tuple[str, str]) -> dict[str, Result]:
    worked = [
        steady_stream(per_s=100, seconds=5, latency_ns=1_000_000, bytes_each=MIB, job=job, operation=operation)
        for job, operation in streams
    ]
    document = judged(run.phase(worked, seconds=5, counters=counters).end())
    return {f"{result.job} {result.operation}": result for result in document.results}


def ids(result: Result) -> set[str]:
    return {finding.id for finding in result.findings}


def test_an_operation_on_two_targets_has_the_counters_of_both() -> None:
    run = run_of(one_job(op("a", "read"), op("b", "read")), cache=plan.CacheCondition.COLD)
    counters = Counters(process_read_bytes=EACH, devices={"vda": (EACH // 5, 0), "vdb": (4 * EACH // 5, 0)})

    result = results_of(run, counters, ("job", "read"))["job read"]

    assert (result.targets, result.target, result.client) == (("one", "two"), "one, two", None)
    assert (result.device_bytes, result.cache.hit_ratio, result.cache.method) == (EACH, 0.0, "byte_balance")
    assert not {"counters-unavailable", "hit-ratio-uncertain", "second-counter", "cache-state"} & ids(result)


@pytest.mark.parametrize(("wrote", "is_missed"), [(1.0, False), (0.5, True)])
def test_jobs_on_two_targets_are_held_each_to_the_device_of_its_own(wrote: float, is_missed: bool) -> None:
    jobs = [one_job(op(on, "write", plan.OpKind.WRITE), name=on, open=plan.OpenFlags(dsync=True)) for on in SETS]
    counters = Counters(devices={"vda": (0, EACH), "vdb": (0, int(wrote * EACH))})

    found = results_of(run_of(*jobs), counters, ("a", "write"), ("b", "write"))

    assert [result.device_bytes for result in found.values()] == [EACH, int(wrote * EACH)]
    assert "second-counter" not in ids(found["a write"])
    assert ("second-counter" in ids(found["b write"])) is is_missed


def test_what_jobs_on_two_targets_fetched_is_compared_with_both_devices() -> None:
    jobs = [one_job(op(on, "read"), name=on) for on in SETS]
    counters = Counters(process_read_bytes=2 * EACH, devices={"vda": (EACH, 0), "vdb": (EACH, 0)})

    found = results_of(run_of(*jobs), counters, ("a", "read"), ("b", "read"))

    assert [result.device_bytes for result in found.values()] == [EACH, EACH]
    assert not any({"second-counter", "foreign-io"} & ids(result) for result in found.values())


def test_where_the_counters_of_one_target_are_not_known_none_are_told() -> None:
    run = run_of(one_job(op("a", "read"), op("b", "read")))
    run.facts = tuple(fact for fact in run.facts if fact.key != "target.two.device.diskstats")

    result = results_of(run, Counters(devices={"vda": (EACH, 0)}), ("job", "read"))["job read"]

    assert result.device_bytes is None
    assert "counters-unavailable" in ids(result)
