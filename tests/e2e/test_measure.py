"""A load without a file: is what `assay measure` carries out the load file that it prints?"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay import events
from e2e.command import Assay

WORDS = (
    ("--random", "--bs", "4k,8k", "--depth", "1,4", "--workers", "2"),
    ("--mix", "70/30", "--random", "--rate", "300/s", "--fsync-every", "4"),
    ("--write", "--fdatasync-every", "8", "--depth", "4", "--bs", "16k"),
    ("--write", "--limit", "8MiB/s", "--verify", "--bs", "64k"),
    ("--engine", "mmap", "--cache", "warm"),
)
BRIEFLY = ("--size", "4m", "--time", "0.4s")


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_the_load_file_that_it_prints_is_the_load_that_it_carries_out(
    words: tuple[str, ...], assay: Assay, tmp_path: Path
) -> None:
    directory, load = tmp_path / "measured", tmp_path / "load.toml"
    directory.mkdir()
    # On a busy disk a flush takes longer than 0.4 s.
    briefly = ("--size", "4m", "--time", "3s") if "--fdatasync-every" in words else BRIEFLY
    load.write_text(assay("measure", directory, *words, *briefly, "--as-toml", check=0).stdout)
    assert not assay.runs.exists()

    measured = _document(assay, "measure", directory, *words, *briefly)
    carried_out = _document(assay, "run", load, directory)

    # The one difference is what the text is called.
    plans = [_plan(assay, document) for document in (measured, carried_out)]
    assert plans[0].pop("origin")["sha256"] == plans[1].pop("origin")["sha256"]
    assert plans[0] == plans[1]
    assert all(result["ops"] > 0 and not result["errors"] for result in measured["results"])
    assert list(directory.iterdir()) == []


def test_one_fsync_follows_each_so_many_writes(assay: Assay, tmp_path: Path) -> None:
    for depth, workers in ((1, 1), (4, 2)):
        words = ("--write", "--fsync-every", "16", "--depth", str(depth), "--workers", str(workers))
        document = _document(assay, "measure", tmp_path, *words, "--size", "4m", "--time", "1s")

        counts = {result["operation"]: result["ops"] for result in document["results"]}
        # At each edge of the result's window a worker may stand anywhere between two flushes, and its requests in flight
        # may be writes, or flushes of 16 writes each that have come back.
        assert abs(counts["write"] - 16 * counts["fsync"]) <= (15 + 17 * depth) * workers
        (of_writes,) = (result for result in document["results"] if result["operation"] == "write")
        assert of_writes["cache"]["verdict"] == "absorbed"
        assert of_writes["committed"]["iops"] > 0


@pytest.mark.quiet
def test_a_rate_is_that_of_the_writes_and_their_response_holds_the_flush(assay: Assay, tmp_path: Path) -> None:
    words = ("--write", "--rate", "100/s", "--fsync-every", "2")
    document = _document(assay, "measure", tmp_path, *words, "--size", "4m", "--time", "1s")

    ops = {result["operation"]: result["ops"] for result in document["results"]}
    # What comes on a schedule is no more than the schedule has.
    assert ops["request"] <= 101
    assert abs(ops["write"] - 2 * ops["fsync"]) <= 2
    (request,) = (result for result in document["results"] if result["operation"] == "request")
    assert request["response_ns"]["mean"] > 0


def _document(assay: Assay, *words: str | Path) -> dict[str, Any]:
    done = assay(*words, "--json", "--no-report")
    assert done.returncode in {0, 1}, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _plan(assay: Assay, document: dict[str, Any]) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads((assay.runs / document["run"]["id"] / "resolved.json").read_text())
    return plan


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ("{}", (1, 1)),
        ("{ submit = 3 }", (3, 1)),
        ("{ submit = 99 }", (8, 1)),
        ("{ submit = 8, complete_min = 8 }", (8, 8)),
    ],
)
def test_batches_are_those_that_the_kernel_is_asked_for(
    batch: str, expected: tuple[int, int], assay: Assay, tmp_path: Path, hello: events.Hello
) -> None:
    if not hello.capabilities.io_uring or shutil.which("strace") is None:
        pytest.skip("needs io_uring, and strace (apt-get install strace)")
    words = ("--read", "--random", "--direct", "--depth", "8", *BRIEFLY)
    load, trace = tmp_path / "load.toml", tmp_path / "trace"
    text = assay("measure", tmp_path, *words, "--as-toml", check=0).stdout
    load.write_text(text.replace("queue_depth = 8\n", f"queue_depth = 8\nbatch = {batch}\n"))

    strace = ("strace", "-f", "-qq", "-e", "trace=io_uring_enter", "-o", str(trace))
    assert assay("run", load, tmp_path, prefix=strace).returncode in {0, 1}

    calls = re.findall(r"io_uring_enter\(\d+, (\d+), (\d+),", trace.read_text())
    submitted, waited_for = ({int(number) for number in numbers} for numbers in zip(*calls, strict=True))
    # The last waits may be for fewer.
    assert (max(submitted), max(waited_for)) == expected
    most_submitted, _ = expected
    # The first eight, in full batches; the last of them goes with the first wait.
    first = [int(number) for number, _ in calls[: -(-8 // most_submitted)]]
    assert sum(first) == 8
    assert set(first[:-1]) <= {most_submitted}
