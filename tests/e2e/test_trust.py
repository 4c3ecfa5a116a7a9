"""Numbers that were called trusted, and were not: on a real file system, each is weak at most now, with its reason."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from e2e.command import Assay, Measure
from testbed.devices import MIB, filesystem, loop_device

SPARSE_FLUSHES = """
name = "one-in-sixteen"
[[file_set]]
name = "data"
size = "64MiB"
[[phase]]
name = "mix"
seconds = "2s"
[[phase.job]]
[[phase.job.loop]]
op = "write"
set = "data"
access = "random"
size = "4KiB"
[[phase.job.loop]]
[[phase.job.loop.choice]]
weight = 15
actions = { op = "stat", set = "data" }
[[phase.job.loop.choice]]
weight = 1
actions = { op = "fdatasync", set = "data" }
"""

EACH_FLUSHED = """
name = "each-flushed"
[[file_set]]
name = "data"
size = "16MiB"
[[phase]]
name = "commit"
seconds = "2s"
[[phase.job]]
timed = ["commit"]
[[phase.job.loop]]
group = "commit"
actions = [
    { op = "write", set = "data", access = "random", size = "4KiB" },
    { op = "fdatasync", set = "data" },
]
"""


REWRITING = """
name = "rewriting"
[[file_set]]
name = "data"
size = {bytes}
keep = true
[[phase]]
name = "rewrite"
seconds = "{seconds}s"
[[phase.job]]
op = {{ op = "write", set = "data", access = "random", size = "4KiB" }}
"""


def _rows(done: str) -> list[dict[str, Any]]:
    return list(json.loads(done)["results"])


@pytest.mark.parametrize(
    ("words", "count"),
    [
        # Files of 64 KiB to 1 MiB with records from 4 KiB up to their size: 5 + 6 + 7 + 8 + 9 cells of six tests.
        (("iozone", "-a", "-n", "64k", "-g", "1M", "-i", "0", "-i", "1", "-i", "2"), 35 * 6),
        # Four tests, each of which is a data operation, a flush, and the two together.
        (("iozone", "-s", "4096", "-r", "64", "-i", "0", "-i", "1", "-e"), 4 * 3),
        (("bonnie", "-d", ".", "-s", "16", "-r", "8", "-n", "0", "-u", "0:0"), None),
    ],
    ids=str,
)
def test_a_classic_tool_on_data_that_fits_in_memory_has_no_trusted_number(
    assay: Assay, tmp_path: Path, words: tuple[str, ...], count: int | None
) -> None:
    assay(*words, cwd=tmp_path)

    rows = json.loads(assay("show", "last", "--json").stdout)["results"]
    assert count is None or len(rows) == count
    for row in rows:
        assert not row["trusted"], row["title"]
        assert row["trust"]["reasons"], row["title"]
        assert all(reason["text"] for reason in row["trust"]["reasons"])
    # Short runs are weak whatever served them: memory has to be a reason of its own, of every plain read and write.
    served = {
        direction: [
            (row["measures"], reason in {found["id"] for found in row["trust"]["reasons"]})
            for row in rows
            if row["operation"] in names
        ]
        for direction, names, reason in (("read", READS, "from-memory"), ("write", WRITES, "absorbed"))
    }
    assert set(served["read"]) == {("page_cache", True)}
    assert set(served["write"]) == {("write_back", True)}


READS = {"read", "reread", "random read"}
WRITES = {"write", "rewrite", "random write"}
"""What iozone and Bonnie call operations that do nothing else."""


def test_a_run_that_memory_served_says_so_before_all_else(assay: Assay, tmp_path: Path) -> None:
    done = assay("iozone", "-a", "-n", "64k", "-g", "256k", "-i", "0", "-i", "1", cwd=tmp_path)

    said = [line for line in done.stderr.splitlines() if line.startswith(("warning", "invalid", "findings"))]
    assert "(from-memory" in said[0] or said[0].startswith(("warning", "invalid"))
    assert sum("from-memory" in line for line in said) == 1


def test_writes_of_which_one_in_sixteen_is_flushed_are_not_flushed(measure: Measure, tmp_path: Path) -> None:
    document = measure(SPARSE_FLUSHES, tmp_path)

    (row,) = [row for row in document["results"] if row["operation"] == "write"]
    assert (row["cache"]["verdict"], row["measures"]) == ("absorbed", "write_back")
    assert not row["trusted"]
    assert "absorbed" in [reason["id"] for reason in row["trust"]["reasons"]]
    # What is a part of a mix has no CPU time of its own; the whole has.
    (whole,) = [row for row in document["results"] if row["operation"] == "*"]
    assert row["cpu_ns_per_op"] is None
    assert whole["cpu_ns_per_op"] > 0


def test_writes_that_are_each_flushed_are(measure: Measure, tmp_path: Path) -> None:
    (row,) = measure(EACH_FLUSHED, tmp_path)["results"]

    assert row["cache"]["verdict"] == "flushed"
    assert "absorbed" not in [finding["id"] for finding in row["findings"]]


@pytest.mark.quiet
@pytest.mark.held
@pytest.mark.testbed
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_storage_had_no_more_by_the_end_of_the_flush_than_its_device_counted(
    kind: Literal["ext4", "xfs", "btrfs"], assay: Assay, tmp_path: Path
) -> None:
    with loop_device(1024 * MIB, backing=tmp_path) as device, filesystem(device, kind) as directory:
        # Laid out once and kept, so that all that the device gets from then on is of the writes.
        words = ("run", _kept_load(tmp_path), directory, "--json", "--no-report")
        assay(*words)
        before = _written_bytes(device)
        (row,) = _rows(assay(*words).stdout)
        written = _written_bytes(device) - before
        assay("clean", directory)

    committed = row["committed"]
    had_bytes = committed["throughput_bytes_per_s"] * (PHASE_S + committed["flush_seconds"])
    # Blocks came again and again, and each was on storage at the end, once at least. With them come the journal and copies.
    assert committed["stored_share"] < 1
    assert 0.9 * SET_BYTES < had_bytes < 1.01 * written


SET_BYTES, PHASE_S = 32 * MIB, 3


def _kept_load(folder: Path) -> Path:
    path = folder / "rewriting.toml"
    path.write_text(REWRITING.format(bytes=SET_BYTES, seconds=PHASE_S))
    return path


def _written_bytes(device: Path) -> int:
    """What a device has counted of writes: sectors of 512 bytes, the seventh word of /sys/block/*/stat."""
    return int(Path(f"/sys/block/{device.name}/stat").read_text().split()[6]) * 512


UNSTEADY = {"drifting": "rate ", "late_shift": "rate changed late", "too_short": "too short", "no_data": "too short"}
"""How the reason of each verdict on a rate that was not steady begins."""


def test_no_trusted_number_is_without_interval_time_and_operations(assay: Assay, tmp_path: Path) -> None:
    done = assay("quick", tmp_path, "--size", "64MiB", "--time", "8s", "--json", "--no-report")

    rows = _rows(done.stdout)
    assert len(rows) == 11
    for row in rows:
        # Whatever else disturbed a row, and so whether or not it is trusted: each of these is a reason by itself.
        reasons = {reason["text"] for reason in row["trust"]["reasons"]}
        is_small = row["seconds"] < 1 or row["ops"] < 100
        assert any(text.startswith("only ") for text in reasons) is is_small, row
        verdict = row["steady"]["verdict"]
        assert any(text.startswith(("rate ", "too short")) for text in reasons) is (verdict != "steady"), row
        assert verdict == "steady" or any(text.startswith(UNSTEADY[verdict]) for text in reasons), row
        assert row["trusted"] is (not reasons) is (row["trust"]["level"] == "yes"), row
        if row["iops_interval"] is not None:
            assert row["iops_interval"]["low"] <= row["iops"] <= row["iops_interval"]["high"]
        else:
            assert "too short to judge" in reasons, row
        if row["committed"] is not None:
            assert row["committed"]["iops"] <= row["iops"]
