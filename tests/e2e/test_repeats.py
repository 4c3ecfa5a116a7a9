"""Do repeats come to one number that is true, and is the one that a neighbour disturbed named and left out?"""

import json
import os
import re
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from e2e.command import COMMAND, Assay
from suite.outcomes import Disturbed
from testbed.devices import MIB, filesystem, loop_device
from testbed.first import going_first
from testbed.neighbours import disk_reader
from testbed.throttle import blkio_limit

LEAST = 3
LIMIT = 400
"""Reads a second that the kernel lets through: the truth."""
TRUE_SHARE = 0.03
"""How far the number may be from the truth, as a share of it."""
DISTURBED = 2
"""The third repeat."""
BUSY_S = (1.0, 3.5)
"""Of the four seconds of that repeat, in which the neighbour reads. What is left behind it is too short to be a window
of its own: a repeat whose last 1.5 s were undisturbed has a true number, and is used."""
WORDS = (
    "--read",
    "--random",
    "--bs",
    "4k",
    "--direct",
    "--size",
    "16m",
    "--time",
    "4s",
    "--repeat",
    "5",
    "--no-report",
)


@pytest.mark.quiet
@pytest.mark.held
@pytest.mark.testbed
def test_a_repeat_that_a_neighbour_disturbed_is_named_and_left_out_and_the_number_is_true(
    assay: Assay, tmp_path: Path
) -> None:
    with loop_device(512 * MIB, backing=tmp_path) as device, filesystem(device, "ext4") as directory:
        document, by_device = disturbed_run(assay, device, directory)
    (summary,) = document["summaries"]
    others = [rate for repeat, rate in by_device.items() if repeat != DISTURBED]
    # Where other programs have the CPUs, fewer reads are asked for than the kernel would let through.
    if len(summary["counted"]) < LEAST or min(others) < (1 - TRUE_SHARE) * LIMIT:
        raise Disturbed(f"more than one repeat was disturbed; reads a second by the device's counters: {others}")

    said = {remark["repeat"]: remark for remark in summary["remarks"] if remark["kind"] == "left_out"}
    assert DISTURBED in said, summary
    assert re.search(r"others had up to \d+ % of the device|of the I/O is others'", said[DISTURBED]["text"])
    assert DISTURBED not in summary["counted"]
    assert summary["iops"]["values"][DISTURBED] is not None
    assert summary["iops"]["value"] == pytest.approx(LIMIT, rel=TRUE_SHARE)
    low, high = summary["iops"]["interval"]
    assert low <= summary["iops"]["value"] <= high
    shown = assay("show", "last", check=None).stdout
    assert f"repeat {DISTURBED + 1} (" in shown
    assert "left out: " in shown


def disturbed_run(assay: Assay, device: Path, directory: Path) -> tuple[dict[str, Any], dict[int, float]]:
    """Measure five repeats, while a neighbour reads from the same device in a part of the third.

    Give the document, and for each repeat the reads a second that the device's own counters saw.
    """
    seen: dict[int, list[tuple[float, int]]] = {}
    environment = {**os.environ, "ASSAY_RUNS": str(assay.runs)}
    with going_first(), blkio_limit(device, read_iops=LIMIT) as group, ExitStack() as neighbour:
        command: list[str | Path] = [*group.prefix, COMMAND, "measure", directory, *WORDS, "--live-json", "-"]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        ) as process:
            assert process.stdout is not None
            is_there = False
            for line in process.stdout:
                interval = json.loads(line)
                seen.setdefault(interval["repeat"], []).append((time.monotonic(), reads_of(device)))
                since_s = interval["t_s"] if interval["repeat"] == DISTURBED else -1.0
                if BUSY_S[0] <= since_s < BUSY_S[1] and not is_there:
                    neighbour.enter_context(disk_reader(directory, size_bytes=4 * MIB))
                    is_there = True
                elif is_there and not BUSY_S[0] <= since_s < BUSY_S[1]:
                    neighbour.close()
        assert process.returncode in {0, 1}
        assert is_there
    rates = {
        repeat: (looks[-1][1] - looks[0][1]) / (looks[-1][0] - looks[0][0])
        for repeat, looks in seen.items()
        if len(looks) > 1
    }
    return json.loads(assay("show", "last", "--json").stdout), rates


def reads_of(device: Path) -> int:
    """Reads that the device has completed (Linux, Documentation/block/stat.rst)."""
    return int(Path(f"/sys/block/{device.name}/stat").read_text().split()[0])


def test_repeats_are_one_row_and_each_has_its_own_when_asked_for(assay: Assay, tmp_path: Path) -> None:
    data, tables = tmp_path / "data", tmp_path / "tables"
    data.mkdir()
    words = ("--read", "--size", "1m", "--time", "0.4s", "--repeat", "3", "--no-report")

    told = assay("measure", data, *words)

    assert told.returncode in {0, 1}, told.stderr
    document = json.loads(assay("show", "last", "--json").stdout)
    (summary,) = document["summaries"]
    assert summary["repeats"] == [0, 1, 2]
    assert summary["iops"]["values"] == pytest.approx([result["iops"] for result in document["results"]])
    assert document["run"]["repeats"] == 3
    rows = [line for line in told.stdout.splitlines() if line.startswith((" 1 ", " 2 ", " 3 "))]
    assert len(rows) == 1
    assert any("3 repeats ± " in line for line in told.stderr.splitlines())
    assert assay("show", "last", "--repeats").stdout.count("(repeat ") >= 3
    assay("export", "last", "--csv", tables, check=0)
    assert {path.name for path in tables.iterdir()} == {
        "results.csv",
        "over_time.csv",
        "marks.csv",
        "summaries.csv",
    }
    assert "--repeat" in assay("measure", data, "--repeat", "0", check=2).stderr
    assert list(data.iterdir()) == []


@pytest.mark.skipif(
    os.environ.get("ASSAY_QUICK") != "all", reason="make prove repeats it; its lengths: tests/unit/test_sizing.py"
)
def test_a_quick_run_can_be_repeated_within_the_time_that_is_asked_for(assay: Assay, tmp_path: Path) -> None:
    done = assay("quick", tmp_path, "--time", "16s", "--size", "8MiB", "--repeat", "2", "--json", "--no-report")

    assert done.returncode in {0, 1}, done.stderr
    document = json.loads(done.stdout)
    labels = [summary["label"] for summary in document["summaries"]]
    assert len(labels) == len(set(labels)) == len(document["results"]) / 2
    assert "random-read-1/read" in labels
    whole = sum(result["window_s"][1] for result in document["results"])
    assert len({result["phase"] for result in document["results"]}) == len(labels)
    # Phases may take up to three times their length to come to a steady rate.
    assert whole <= 3 * 16
    assert "use --time 15s or more" in assay("quick", tmp_path, "--time", "8s", "--repeat", "2", check=2).stderr
