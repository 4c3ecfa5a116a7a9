"""Is a planted difference found by `assay compare`, and none where none is? The kernel's throttle makes the difference."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.running.engine import find_engine
from e2e.command import COMMAND, Assay
from e2e.processes import WAIT_S
from suite.outcomes import Disturbed
from testbed.devices import MIB, filesystem, loop_device
from testbed.first import going_first
from testbed.throttle import blkio_limit

pytestmark = pytest.mark.testbed

LEAST = 3
SIDES = {"full": 400, "same": 400, "lower": 300}
# The throttle's tokens move a rate by some per cent in so short a time, and so do other programs of a busy machine.
GATE = "iops >= -5 %"
WORDS = ("--read", "--random", "--bs", "4k", "--direct", "--size", "16m", "--time", "2s", "--repeat", "5")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A device, and a directory on it."""
    with loop_device(512 * MIB, backing=tmp_path) as device, filesystem(device, "ext4") as directory:
        yield device, directory


@pytest.mark.quiet
@pytest.mark.held
def test_a_limit_that_is_a_quarter_lower_is_found_and_an_equal_one_is_no_difference(
    place: tuple[Path, Path], assay: Assay
) -> None:
    device, directory = place
    for tag, limit in SIDES.items():
        measure_side(assay, device, directory, tag, limit)

    found, exit_code = compared(assay, "tag:full", "tag:lower", "--gate", GATE)
    row = found["against"][0]["rows"][0]
    assert row["ratio"] == pytest.approx(0.75, abs=0.06), row
    assert (row["verdict"], exit_code) == ("worse", 1), row
    # How sure five runs a side make it is the machine's doing: on a busy one the gate may be undecided, but never violated.
    found, exit_code = compared(assay, "tag:full", "tag:same", "--gate", GATE, "--allow-undecided")
    row = found["against"][0]["rows"][0]
    assert row["ratio"] == pytest.approx(1.0, abs=0.06), row
    assert row["verdict"] not in {"better", "worse"}, row
    assert exit_code == 0


def measure_side(assay: Assay, device: Path, directory: Path, tag: str, limit: int) -> None:
    """Measure a side and tag its run; other programs must leave `LEAST` repeats alone."""
    with going_first(), blkio_limit(device, read_iops=limit) as group:
        done = assay("measure", directory, *WORDS, "--json", prefix=group.prefix)
    assert done.returncode in {0, 1}, done.stderr
    levels = [result["trust"]["level"] for result in json.loads(done.stdout)["results"]]
    if sum(level != "no" for level in levels) < LEAST:
        raise Disturbed(f"other programs disturbed the repeats of one side, trust: {levels}")
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


def test_sides_run_in_turns_and_each_measurement_is_kept(assay: Assay, tmp_path: Path) -> None:
    sides = [f"measure {tmp_path} --read --size 1m --time 0.3s --bs {size}" for size in ("4k", "8k")]

    done = assay("ab", *sides, "--rounds", "2", "--json", "--tag", "mine", check=0)

    found = json.loads(done.stdout)
    begun = {run["run_id"]: run for run in json.loads(assay("ls", "--tag", "mine", "--json", check=0).stdout)}
    by_side = [found["runs"][side] for side in sides]
    assert sorted(run for runs in by_side for run in runs) == sorted(begun)
    order = sorted((begun[run]["started_utc"], run, side) for side, runs in enumerate(by_side) for run in runs)
    assert len(order) == 4
    assert found["against"][0]["in_turn"]
    assert [row["verdict"] in {"indicative", "not_comparable"} for row in found["against"][0]["rows"]]
    assert {path.name for path in tmp_path.iterdir()} <= {"runs"}


def test_what_cannot_be_measured_in_turns_is_refused_in_a_line(assay: Assay, tmp_path: Path) -> None:
    side = f"measure {tmp_path} --size 1m --time 0.2s"
    for words, told in (
        ((side,), "at least two different sides"),
        ((side, side), "at least two different sides"),
        ((side, "ls"), "does not begin with a command that measures"),
        ((side, f"{side} --json"), "--json is for all sides"),
        ((side, "sequential-read"), "--on DIR"),
        ((side, "measure 'x"), "No closing quotation"),
    ):
        assert told in assay("ab", *words, check=2).stderr
    failed = assay("ab", side, f"measure {tmp_path}/nowhere", "--rounds", "1", check=3)
    assert "nowhere" in failed.stderr


def test_a_stop_ends_the_round_and_compares_what_is_whole(assay: Assay, tmp_path: Path) -> None:
    sides = [f"measure {tmp_path} --read --size 1m --time {seconds}s" for seconds in ("0.2", "0.3")]
    environment = {**os.environ, "ASSAY_RUNS": str(assay.runs)}
    with subprocess.Popen(
        [COMMAND, "ab", *sides, "--rounds", "1000", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("round 2:"):
                break
        process.terminate()
        printed, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 130
    found = json.loads(printed)
    assert len({len(runs) for runs in found["runs"].values()}) == 1
    assert len(found["runs"][sides[0]]) >= 2
    assert {path.name for path in tmp_path.iterdir()} <= {"runs"}


def test_surfaces_of_iozone_stand_on_a_map_and_in_json(assay: Assay, tmp_path: Path) -> None:
    for _ in range(3):
        for tag in ("one", "other"):
            assay("iozone", "-a", "-n", "64k", "-g", "128k", "-i", "0", "--tag", tag, cwd=tmp_path)
    (tmp_path / "sizes").write_text("64K 3\n128K 1\n")
    asked = ("--region", "sweet: file<=64K & record<=8K", "--weights", str(tmp_path / "sizes"), "--ceiling", "1000GB/s")

    found, exit_code = compared(assay, "tag:one", "tag:other", *asked)
    text = assay("compare", "tag:one", "tag:other", *asked, check=0).stdout

    write, rewrite = found["against"][0]["surfaces"]
    assert (exit_code, write["test"], rewrite["test"]) == (0, "write", "rewrite")
    assert write["files"] == [64 << 10, 128 << 10]
    assert len(write["cells"]) == 5 + 6
    rows = {row["label"]: row for row in found["against"][0]["rows"] if row["metric"] != "p99"}
    for cell in write["cells"]:
        # The rate of the map is that of the result, in bytes a second.
        row = rows[cell["label"]]
        each = 1 if row["metric"] == "throughput" else cell["record_bytes"]
        assert cell["a"] == pytest.approx(row["a"]["median"] * each)
        # A run that another program disturbed is left out.
        assert cell["runs"] == [len(row[side]["values"]) for side in ("a", "b")]
        assert [count + len(row[side]["left_out"]) for count, side in zip(cell["runs"], ("a", "b"), strict=True)] == [
            3,
            3,
        ]
    assert (write["regions"][0]["name"], write["regions"][0]["cells"]) == ("sweet", 2)
    assert write["weighted"]["covered"] == 1.0
    assert "write: B / A in per cents, file sizes down, record sizes across" in text
    map_lines = [line for line in text.splitlines() if line.strip().startswith(("64K ", "128K ", "all "))]
    assert len(map_lines) == 2 * 3
    assert max(map(len, map_lines)) <= 80
    assert "write-64-4" not in text.split("Geometric mean")[0]


def test_what_is_asked_of_surfaces_and_cannot_be_said_is_refused_in_a_line(assay: Assay, tmp_path: Path) -> None:
    for _ in range(2):
        assay("measure", tmp_path, "--read", "--size", "1m", "--time", "0.2s")

    for words, told in (
        (("--region", "sweet"), "--region 'sweet'"),
        (("--weights", "64K:x"), "no size with its share"),
        (("--weights", "nowhere"), "no file 'nowhere'"),
        (("--ceiling", "fast"), "not a rate"),
        (("--region", "sweet: file<=2M"), "these runs have none"),
    ):
        done = assay("compare", "last~1", "last", *words, check=2)

        assert told in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


DISTURBING = '''#!{python}
"""The engine, whose Plan is changed before it reads it: each record of some phases waits."""
import json, os, sys

line = b""
while not line.endswith(b"\\n"):
    piece = os.read(0, 1)
    if not piece:
        break
    line += piece
if line.startswith(b"{{"):
    plan = json.loads(line)
    others = [p for p in plan["phases"] if not p["name"].endswith("{cell}")]
    if "{side}" in json.dumps(plan["targets"]) and (others or {is_lasting}):
        def slow(actions):
            for action in actions:
                if action["kind"] == "repeat":
                    wait = {{"kind": "fixed", "value": {wait_s}}}
                    action["actions"].insert(0, {{"kind": "think", "seconds": wait, "burn": False}})
        for phase in plan["phases"]:
            if phase["name"] == "write-{cell}":
                for job in phase["jobs"]:
                    slow(job["body"]["actions"])
    line = json.dumps(plan).encode() + b"\\n"
out, into = os.pipe()
if os.fork() == 0:
    os.close(out)
    try:
        while line:
            while line:
                line = line[os.write(into, line):]
            line = os.read(0, 65536)
    except OSError:
        pass
    os._exit(0)
os.close(into)
os.dup2(out, 0)
os.close(out)
os.execv({engine!r}, [{engine!r}, *sys.argv[1:]])
'''
"""Stands for what disturbs one cell of one side, in the whole matrix alone or for good."""

RECORD_WAITS_S = 0.05

DISTURBED_AT_MOST = (128 << 10) / (7 * RECORD_WAITS_S)
"""Bytes a second of a disturbed cell, however fast the machine is: between eight records there are seven waits."""


def planted_sides(tmp_path: Path, *, is_lasting: bool) -> tuple[list[str], Path]:
    """Two sides of IOzone whose second has a cell that is disturbed, and the engine that does it."""
    engine = tmp_path / "engine"
    settings = {"cell": "128-16", "side": "/side-b", "is_lasting": is_lasting, "wait_s": RECORD_WAITS_S}
    engine.write_text(DISTURBING.format(python=sys.executable, engine=str(find_engine()), **settings))
    engine.chmod(0o755)
    for side in "ab":
        (tmp_path / f"side-{side}").mkdir()
    return [f"iozone -n 64k -g 256k -y 4k -q 32k -a -i 0 -f {tmp_path}/side-{side}/file" for side in "ab"], engine


@pytest.mark.quiet
@pytest.mark.held
@pytest.mark.parametrize(("is_lasting", "state"), [(False, "not_confirmed"), (True, "confirmed")])
def test_a_cell_that_stands_out_is_measured_again_by_itself_and_put_right_or_confirmed(
    is_lasting: bool, state: str, assay: Assay, tmp_path: Path
) -> None:
    sides, engine = planted_sides(tmp_path, is_lasting=is_lasting)

    done = assay("ab", *sides, "--rounds", "3", "--json", "--tag", "both", env={"ASSAY_ENGINE": str(engine)})

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    write = next(surface for surface in found["against"][0]["surfaces"] if surface["test"] == "write")
    again = {each["label"]: each for each in write["again"]}
    mine = again["write-128-16/write"]
    assert (mine["state"], mine["rounds"], mine["file_bytes"], mine["record_bytes"]) == (state, 4, 128 << 10, 16 << 10)
    # Records that wait are a few thousand times slower than those that go into memory at once.
    assert mine["first_ratio"] < 0.5 * mine["neighbours_ratio"]
    cell = next(cell for cell in write["cells"] if cell["label"] == "write-128-16/write")
    assert cell["runs"] == [7, 7]
    # The median of three disturbed runs and four of it alone. The waits bound it; what four short runs are by
    # themselves is the machine's matter.
    assert (cell["b"] < DISTURBED_AT_MOST) is is_lasting
    assert (cell["ratio"] < 10 * mine["first_ratio"]) is is_lasting
    # What was not confirmed is in no mean; what was, is a part of all.
    unconfirmed = sum(each["state"] == "not_confirmed" for each in write["again"])
    assert write["whole"]["cells"] == 12 - unconfirmed
    assert mine["state"] == "confirmed" or unconfirmed >= 1
    assert "128k/16k" in done.stderr
    assert "cell 128k/16k, round 4 of 4" in done.stderr
    # Nothing of it is lost: three rounds and four of each cell, by both sides.
    alone = {each for surface in found["against"][0]["surfaces"] for each in _sizes(surface["again"])}
    kept = json.loads(assay("ls", "--tag", "both", "--json", check=0).stdout)
    assert len(kept) == 2 * 3 + 2 * 4 * len(alone)
    assert sorted(run for runs in found["runs"].values() for run in runs) == sorted(run["run_id"] for run in kept)
    assert [file for side in "ab" for file in (tmp_path / f"side-{side}").iterdir()] == []


def _sizes(again: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(each["file_bytes"], each["record_bytes"]) for each in again]


def test_no_cell_is_measured_again_where_it_is_not_wanted(assay: Assay, tmp_path: Path) -> None:
    for side in "ab":
        (tmp_path / f"side-{side}").mkdir()
    sides = [f"iozone -n 64k -g 256k -y 4k -q 32k -a -i 0 -f {tmp_path}/side-{side}/file" for side in "ab"]

    found = json.loads(assay("ab", *sides, "--rounds", "1", "--no-check", "--json").stdout)

    assert [len(runs) for runs in found["runs"].values()] == [1, 1]
    assert all(surface["again"] == [] for surface in found["against"][0]["surfaces"])


def test_a_stop_while_cells_are_measured_alone_keeps_the_rounds_that_are_whole(assay: Assay, tmp_path: Path) -> None:
    sides, engine = planted_sides(tmp_path, is_lasting=True)
    environment = {**os.environ, "ASSAY_RUNS": str(assay.runs), "ASSAY_ENGINE": str(engine)}
    with (
        going_first(),  # cells that wait for a CPU would stand out as well
        subprocess.Popen(
            [COMMAND, "ab", *sides, "--rounds", "1", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        ) as process,
    ):  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("cell ") and "round 2 of 3" in line:
                break
        process.terminate()
        printed, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 130
    found = json.loads(printed)
    (write, *_) = found["against"][0]["surfaces"]
    assert len(write["cells"]) == 12
    mine = next(each for each in write["again"] if each["label"] == "write-128-16/write")
    # One round has no interval: nothing is confirmed by it.
    assert (mine["state"], mine["interval"]) == ("open", None)
    assert mine["rounds"] in {1, 2}
    assert len({len(runs) for runs in found["runs"].values()}) == 1
    assert [file for side in "ab" for file in (tmp_path / f"side-{side}").iterdir()] == []


def test_what_cannot_be_measured_again_is_named_and_the_rounds_count(assay: Assay, tmp_path: Path) -> None:
    """A side that another program's files stand in the way of, once it is measured alone."""
    sides, engine = planted_sides(tmp_path, is_lasting=True)
    text = engine.read_text()
    fails = "if b'write-128-16' in line and b'write-64-4' not in line: sys.exit(3)\n"
    engine.write_text(text.replace("if line.startswith", f"{fails}if line.startswith", 1))

    with going_first():
        done = assay("ab", *sides, "--rounds", "1", "--json", env={"ASSAY_ENGINE": str(engine)}, check=0)

    found = json.loads(done.stdout)
    (write, *_) = found["against"][0]["surfaces"]
    mine = next(each for each in write["again"] if each["label"] == "write-128-16/write")
    assert (mine["state"], mine["rounds"], mine["ratio"]) == ("not_checked", 0, None)
    assert "ended with 3" in mine["why"]
    cell = next(cell for cell in write["cells"] if cell["label"] == "write-128-16/write")
    assert cell["runs"] == [1, 1]
    assert cell["neighbours_ratio"] is not None  # to be checked as before
