"""Rounds are repeated until a device is steady, and report what the device did (SNIA SSS PTS)."""

import json
import statistics
from pathlib import Path

import pytest

from assay.bundle import RunBundle
from assay.events import Hello, PhaseFinished
from e2e.command import MEASURED, Assay
from testbed.devices import MIB
from testbed.host import need_root
from testbed.truth import truth_disk

pytestmark = [pytest.mark.testbed, pytest.mark.quiet, pytest.mark.held]

NS = 10**9
SIZE_BYTES, BLOCK_BYTES = 4 * MIB, 4096
FRESH_PER_S, WORN_PER_S = 1000, 400
PRECONDITION_REQUESTS = 2 * SIZE_BYTES // BLOCK_BYTES
PHASE_NS = NS // 2
ROUND_S = 2 * PHASE_NS / NS
"""Reads, then writes."""
FRESH_ROUNDS = 2.5
FASTEST, SLOWEST = 0.98, 1.02


def test_a_device_with_a_write_cliff_is_measured_after_it(assay: Assay) -> None:
    """A simulated SSD: a number of requests at one rate, then fewer. Its own log is the truth."""
    need_root()
    burst = PRECONDITION_REQUESTS + int(FRESH_ROUNDS * ROUND_S * FRESH_PER_S)
    with truth_disk(SIZE_BYTES, most_per_s=FRESH_PER_S, burst=burst, later_per_s=WORN_PER_S) as disk:
        words = (
            "pts-throughput",
            f"block:{disk.device}",
            "--destroy-data",
            str(disk.device),
            "--set",
            f"phase_seconds={PHASE_NS // 10**6}ms",
        )
        found = assay("run", *words, "--set", "block=4KiB", "--set", "depth=4", "--json", "--no-report")
        log = disk.log()
    assert found.returncode in MEASURED, found.stderr
    document = json.loads(found.stdout)
    bundle, rounds = RunBundle.open(Path(document["run"]["bundle"])), document["rounds"]
    first, last = rounds["window"]
    assert rounds["is_steady"]
    assert int(FRESH_ROUNDS) <= first
    assert last + 1 == rounds["done"] < rounds["most"]
    recorded = list(bundle.events())
    zero_ns = next(event.clock.monotonic_at_zero_ns for event in recorded if isinstance(event, Hello))
    ended = {event.phase_index: event for event in recorded if isinstance(event, PhaseFinished)}
    assert len(ended) == 2 + 2 * rounds["done"]
    for one, name in zip(rounds["tracked"], ("read", "write"), strict=True):
        served = []
        for index, phase in enumerate(bundle.plan.phases):
            if phase.name == name and first <= phase.repeat <= last:
                begin_ns = zero_ns + ended[index].start_ns
                answered = (begin_ns < request.end_ns <= begin_ns + PHASE_NS for request in log if request.kind in "RW")
                served.append(sum(answered))
        truth = statistics.mean(served) * BLOCK_BYTES * NS / PHASE_NS
        assert FASTEST * truth <= one["mean"] <= SLOWEST * truth, (one, served)
        assert one["mean"] == pytest.approx(statistics.mean(one["values"][first : last + 1]))
