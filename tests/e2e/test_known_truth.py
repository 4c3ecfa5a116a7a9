"""Does Assay report what the storage really does? Each number is held against a truth that Assay did not make."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.command import Measure
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.nbd import nbd_delay_device
from testbed.throttle import blkio_limit

pytestmark = pytest.mark.testbed

FILE_SET = """
[[file_set]]
name = "data"
files = 1
size = "64MiB"
"""

STREAM = """
name = "known-rate"
{file_set}
[[phase]]
name = "read"
title = "streaming read, 128 KiB, direct"
seconds = "5s"
[[phase.job]]
direct = "on"
op = {{ op = "read", set = "data", access = "sequential", size = "128KiB" }}
"""

RANDOM = """
name = "known-latency"
{file_set}
[[phase]]
name = "read"
title = "4 KiB random read, direct, depth 1"
seconds = "5s"
[[phase.job]]
direct = "on"
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
"""

# Each block once, and no read-ahead: a block read before, or beside one read before, would be a hit of its own.
CACHE = """
name = "known-hit-ratio"
{file_set}
[[phase]]
name = "read"
title = "4 KiB random read, each block once, buffered"
{condition}
[[phase.job]]
backend = "{backend}"
advice = "random"
op = {{ op = "read", set = "data", access = {{ kind = "random", coverage = "each_once" }}, size = "4KiB" }}
"""

CONDITIONS = {
    0.0: 'cache = "cold"',
    0.5: 'before = [{ evict = "data" }, { warm = "data", share = 0.5 }]',
    1.0: 'cache = "warm"',
}


@pytest.fixture
def device() -> Iterator[Path]:
    """A block device in memory."""
    with tmpfs(300 * MIB) as memory, loop_device(256 * MIB, backing=memory) as made:
        yield made


def test_a_device_held_to_50_mib_a_second_is_reported_as_such(measure: Measure, device: Path) -> None:
    with filesystem(device) as directory, blkio_limit(device, read_bps=50 * MIB) as limit:
        result = _only(measure(STREAM.format(file_set=FILE_SET), directory, prefix=limit.prefix))

    assert result["throughput_bytes_per_s"] == pytest.approx(50 * MIB, rel=0.02)


def test_a_device_held_to_1000_reads_a_second_is_reported_as_such(measure: Measure, device: Path) -> None:
    with filesystem(device) as directory, blkio_limit(device, read_iops=1000) as limit:
        result = _only(measure(RANDOM.format(file_set=FILE_SET), directory, prefix=limit.prefix))

    assert result["iops"] == pytest.approx(1000, rel=0.02)
    # At depth 1 the rate is the latency's inverse.
    assert result["latency_ns"]["mean"] == pytest.approx(1e6, rel=0.05)


def test_a_read_delay_of_5_ms_is_the_median_latency(measure: Measure) -> None:
    with nbd_delay_device(5, 128 * MIB) as slow, filesystem(slow) as directory:
        result = _only(measure(RANDOM.format(file_set=FILE_SET), directory))

    assert 5.0e6 <= result["latency_ns"]["p50"] <= 6.5e6


def test_bytes_read_directly_are_the_bytes_that_the_device_delivered(measure: Measure, device: Path) -> None:
    one_pass = STREAM.replace('seconds = "5s"', "").replace('"sequential"', '{{ kind = "sequential", wrap = false }}')

    with filesystem(device) as directory:
        before = _bytes_read(device)
        result = _only(measure(one_pass.format(file_set=FILE_SET), directory))
        delivered = _bytes_read(device) - before

    assert result["bytes"] == 64 * MIB
    assert delivered == pytest.approx(result["bytes"], rel=0.01)
    assert result["device_bytes"] == pytest.approx(result["bytes"], rel=0.01)


@pytest.mark.parametrize("backend", ["psync", "io_uring"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_cached_share_of_a_file_is_the_hit_ratio(
    share: float, backend: str, measure: Measure, device: Path
) -> None:
    load = CACHE.format(file_set=FILE_SET, condition=CONDITIONS[share], backend=backend)

    with filesystem(device) as directory:
        result = _only(measure(load, directory))

    assert result["ops"] == 64 * MIB // 4096
    assert result["cache"]["hit_ratio"] == pytest.approx(share, abs=0.05)


def _only(document: dict[str, Any]) -> dict[str, Any]:
    (result,) = document["results"]
    assert result["errors"] == 0
    return dict(result)


def _bytes_read(device: Path) -> int:
    # Field 3 of /sys/block/*/stat is sectors read, always of 512 bytes.
    return int(Path(f"/sys/block/{device.name}/stat").read_text().split()[2]) * 512
