"""Does `assay quick` answer on any storage, for any user, leave nothing behind, and say what it could not do?"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from e2e.command import NOBODY, Assay
from testbed.devices import MIB, filesystem, fuse_passthrough, loop_device, overlay, tmpfs

pytestmark = pytest.mark.testbed

BRIEFLY = ("--time", "12s", "--size", "32MiB", "--json", "--no-report")
SPACE_BYTES = 1536 * MIB
"""Room for the 36,000 files in each set that the time allows: with fewer, deleting them in memory is over before four
workers on two CPUs have each had one."""
ROWS = 11


@contextmanager
def _on_loop(kind: Literal["ext4", "btrfs"]) -> Iterator[Path]:
    with (
        tmpfs(SPACE_BYTES + 16 * MIB) as memory,
        loop_device(SPACE_BYTES, backing=memory) as device,
        filesystem(device, kind) as directory,
    ):
        yield directory


@contextmanager
def _on_fuse() -> Iterator[Path]:
    with _on_loop("ext4") as behind, fuse_passthrough(behind) as directory:
        yield directory


# ext4 is below, as another user; `make prove` tries these, and ext4, xfs and btrfs in e2e/repeats.py.
PLACES: Mapping[str, Callable[[], AbstractContextManager[Path]]] = {
    "fuse": _on_fuse,
    "btrfs": lambda: _on_loop("btrfs"),
    "overlay": lambda: overlay(SPACE_BYTES),
}
SAID = {
    "btrfs": {"from-memory"},
    "overlay": {"from-memory", "cache-state"},
    "fuse": {"remote-cache", "counters-unavailable"},
}
"""What this storage does not allow, by the ids of the findings that say so. The loop devices' disk is memory."""


@pytest.mark.skipif(os.environ.get("ASSAY_QUICK") != "all", reason="make prove tries each kind of file system")
@pytest.mark.parametrize("place", PLACES)
def test_quick_answers_on(place: str, assay: Assay) -> None:
    with PLACES[place]() as directory:
        before = _content(directory)
        document = _quick(assay, directory)
        left = _content(directory) - before

    assert left == set()
    _is_answered(document)
    assert SAID[place] <= {found["id"] for found in _findings(document)}


def test_quick_answers_without_privileges_and_chooses_a_size_that_fits_a_small_file_system(unprivileged: Assay) -> None:
    with _on_loop("ext4") as mount_point:
        directory = mount_point / "own"
        directory.mkdir()
        os.chown(directory, NOBODY, NOBODY)
        document = _quick(unprivileged, directory, "--time", "12s", "--json", "--no-report")
        left = _content(directory)

    assert left == set()
    _is_answered(document)


def _quick(assay: Assay, directory: Path, *options: str) -> dict[str, Any]:
    """Run it.

    On a machine with one CPU, or a busy one, four workers may not all get theirs within a phase of 0.6 s; Assay then says
    that their sum means nothing, and exits with 1. There is no other reason to.
    """
    done = assay("quick", directory, *(options or BRIEFLY))
    assert done.returncode in {0, 1}, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    invalid = {found["id"] for found in _findings(document) if found["severity"] == "invalid"}
    assert invalid == ({"workers-apart"} if done.returncode else set())
    return document


def _content(directory: Path) -> set[Path]:
    return set(directory.rglob("*"))


def _findings(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*document["findings"], *(found for result in document["results"] for found in result["findings"])]


def _is_answered(document: Mapping[str, Any]) -> None:
    assert len(document["results"]) == ROWS
    for result in document["results"]:
        assert result["errors"] == 0, result
        assert result["iops"] > 0, result
        assert result["latency_ns"]["mean"] > 0, result
        moves_data = result["operation"] in {"read", "write", "create"}
        assert not moves_data or result["throughput_bytes_per_s"] > 0, result
        if result["cache"]["hit_ratio"] is None and result["operation"] == "read":
            assert "hit-ratio-uncertain" in {found["id"] for found in result["findings"]}
