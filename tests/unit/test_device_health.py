"""Is what disks showed before and after a run described, and is heat that slowed them a finding?"""

from typing import Any

import numpy as np
import pytest
from rich.text import Text

from assay import plan
from assay.analysis.device_health import DeviceHealth, health_of_devices
from assay.analysis.difference import diff_facts
from assay.analysis.record import read
from assay.host.nvme_log import read_health_log
from assay.report.explain.story import story
from assay.report.head import head_of
from assay.verdicts import TrustLevel
from unit.health_logs import HEALTHY, health_log
from unit.memory_run import facts_of, judged
from unit.synthetic import BLOCK_BACKED, NS, Counters, Stream, SyntheticRun, one_job, one_plan

SECONDS, PER_S = 10, 1000
WRITTEN_UNITS = 25_795
"""12.3 GiB in units of 512,000 bytes."""
HOT = {
    "composite temperature": 341,
    "data units written": 2_000_000 + WRITTEN_UNITS,
    "thermal management temperature 1 transition count": 41,
    "thermal management temperature 2 transition count": 51,
}


def fields(**changed: int) -> dict[str, Any]:
    return dict(read_health_log(health_log({**HEALTHY, **changed})))


def device(end: dict[str, int]) -> DeviceHealth:
    return DeviceHealth("nvme0n1", fields(), fields(**end))


def run(end: dict[str, int], **begin: int) -> SyntheticRun:
    """A run whose disk showed this."""
    own = "target.target.device.0"
    facts: dict[str, Any] = {**BLOCK_BACKED, f"{own}.name": "vda"}
    facts |= {f"{own}.health.begin.{key}": value for key, value in fields(**begin).items()}
    facts |= {f"{own}.health.end.{key}": value for key, value in fields(**{**begin, **end}).items()}
    made = SyntheticRun(one_plan(plan.Phase(name="p", title="p", jobs=(one_job(),))), facts=facts)
    count = PER_S * SECONDS
    done = np.linspace(NS // PER_S, SECONDS * NS, count).astype(np.int64)
    moved = count * 4096
    counters = Counters(process_read_bytes=moved, process_cpu_ns=NS, device_ns=NS, devices={"vda": (moved, 0)})
    made.phase([Stream(done, np.full(count, 900_000), 4096)], seconds=SECONDS, counters=counters, direct=True)
    return made.end()


def test_a_disk_is_described_by_what_changed() -> None:
    assert device(HOT).in_words() == (
        "nvme0n1: 41 to 68 °C, 12.3 GiB written by the host, throttled by heat 2 times, 3 % of its endurance used"
    )
    assert device({"media and data integrity errors": 1}).in_words() == (
        "nvme0n1: 41 °C, 1 media error, 3 % of its endurance used"
    )
    assert "critical warning: spare, temperature" in device({"critical warning": 3}).in_words()
    assert DeviceHealth("sda", {"temperature_celsius": 38.5}, {"temperature_celsius": 44.0}).in_words() == (
        "sda: 38.5 to 44 °C"
    )


def test_counters_that_fell_or_are_missing_have_no_difference() -> None:
    fallen = device({"data units written": 5, "thermal management temperature 1 transition count": 0})
    half = DeviceHealth("nvme0n1", fields(), {})

    assert fallen.rise("host_written_bytes") is None
    assert fallen.heat_transitions == 0
    assert "written" not in fallen.in_words()
    assert half.in_words() == "nvme0n1: 41 °C, 3 % of its endurance used"


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (HOT, "vda was throttled by heat 2 times during the run (41 to 68 °C): its rates may be too low."),
        (
            {"thermal management temperature 2 transition count": 51},
            "vda was throttled by heat once during the run (41 °C): its rates may be too low.",
        ),
        (
            {"critical warning": 2},
            "vda warns of a temperature beyond its threshold (41 °C): heat may have held it back.",
        ),
    ],
)
def test_a_disk_that_heat_slowed_makes_results_weak(end: dict[str, int], text: str) -> None:
    (result,) = judged(run(end)).results

    (found,) = (finding for finding in result.findings if finding.id == "device-throttled")
    assert (found.severity, found.text) == ("weak", text)
    assert result.trust.level is TrustLevel.WEAK
    assert "device throttled" in {reason.text for reason in result.trust.reasons}


@pytest.mark.parametrize("end", [{}, {"composite temperature": 350}, {"critical warning": 1}])
def test_a_disk_that_was_warm_alone_leaves_results_as_they_are(end: dict[str, int]) -> None:
    (result,) = judged(run(end)).results

    assert "device-throttled" not in {finding.id for finding in result.findings}
    assert "device throttled" not in {reason.text for reason in result.trust.reasons}


def test_the_difference_is_above_the_table_and_in_what_is_explained() -> None:
    made = run(HOT)
    recorded, found = read(made), judged(made)
    words = health_of_devices(recorded)[0].in_words()

    assert dict(head_of(found, recorded).pairs)["device"] == words
    for about in (None, "1"):
        lines = Text("\n").join(story(found, recorded, about, 400)).plain
        assert words in lines
    assert health_of_devices(recorded, "another") == ()


def test_the_state_of_a_disk_is_no_difference_between_runs() -> None:
    key = "target.data.device.0.health.begin.temperature_celsius"

    assert diff_facts(facts_of({key: 40}), facts_of({key: 50})) == ()
    assert diff_facts(facts_of({key: 40}), facts_of({key: 50}), with_volatile=True)
