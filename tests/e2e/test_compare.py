"""Is a planted difference found by `assay compare`, and none where none is? The kernel's throttle makes the difference."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.command import Assay
from testbed.devices import MIB, filesystem, loop_device
from testbed.first import going_first
from testbed.throttle import blkio_limit

pytestmark = pytest.mark.testbed

ATTEMPTS, LEAST = 3, 3
WORDS = ("--read", "--random", "--bs", "4k", "--direct", "--size", "16m", "--time", "2s", "--repeat", "5")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A device, and a directory on it."""
    with loop_device(512 * MIB, backing=tmp_path) as device, filesystem(device, "ext4") as directory:
        yield device, directory


def test_a_limit_that_is_a_tenth_lower_is_found_and_an_equal_one_is_equivalent(
    place: tuple[Path, Path], assay: Assay
) -> None:
    device, directory = place
    for tag, limit in (("full", 400), ("same", 400), ("lower", 360)):
        measure_quietly(assay, device, directory, tag, limit)

    found, exit_code = compared(assay, "tag:full", "tag:lower", "--gate", "iops >= -5 %")
    row = found["against"][0]["rows"][0]
    assert row["ratio"] == pytest.approx(0.9, abs=0.02)
    assert (row["verdict"], exit_code) == ("worse", 1)
    found, exit_code = compared(assay, "tag:full", "tag:same", "--gate", "iops >= -5 %")
    row = found["against"][0]["rows"][0]
    assert row["ratio"] == pytest.approx(1.0, abs=0.02)
    assert row["verdict"] in {"equivalent", "different_small"}
    assert exit_code == 0


def measure_quietly(assay: Assay, device: Path, directory: Path, tag: str, limit: int) -> None:
    """Measure until other programs have left the machine alone for a run; tag that one."""
    for _ in range(ATTEMPTS):
        with going_first(), blkio_limit(device, read_iops=limit) as group:
            done = assay("measure", directory, *WORDS, "--json", prefix=group.prefix)
        assert done.returncode in {0, 1}, done.stderr
        results = json.loads(done.stdout)["results"]
        if sum(result["trust"]["level"] != "no" for result in results) >= LEAST:
            break
    assay("tag", "last", "--tag", tag, check=0)


def test_sides_that_are_not_there_are_refused_in_a_line(assay: Assay, tmp_path: Path) -> None:
    assert "tag 'nobody'" in assay("compare", "tag:nobody", "last", check=2).stderr
    assert "two sides" in assay("compare", "last", check=2).stderr
    assert "there is no run" in assay("compare", "last", "last~1", check=2).stderr
    assert "--gate 'fast'" in assay("compare", "a", "b", "--gate", "fast", check=2).stderr
    assert not list(tmp_path.iterdir())


def compared(assay: Assay, *words: str) -> tuple[dict[str, Any], int]:
    done = assay("compare", *words, "--json")
    return json.loads(done.stdout), done.returncode
