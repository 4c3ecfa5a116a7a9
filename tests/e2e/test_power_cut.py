"""The power is cut at any moment of a run: what is there is a sealed run with every number right, or says what it is.

A folder of runs lies on a disk that records what it is given. Each cut of `testbed/power_cut.py` is mounted, so that the
file system recovers, and looked at as a user would: `assay ls`, and `assay show` of every run, which compares a sealed one
with its hashes first. On each file system `ASSAY_TORN_CUTS` cuts with a part of what was not flushed are tried, and of those
at a flush `ASSAY_FLUSH_CUTS` (0: all). `make cuts` tries 200, and all.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.bundle import RunBundle
from assay.cli import app
from assay.errors import AssayError, BundleError
from assay.running.engine import find_engine
from e2e.command import COMMAND, TIMEOUT_S, Assay
from testbed.nth_call import INJECTOR
from testbed.power_cut import Cut, Kind, Recording, RecordingDisk, recorded, recording_disk, replaying

TORN_CUTS = int(os.environ.get("ASSAY_TORN_CUTS", "4"))
FLUSH_CUTS = int(os.environ.get("ASSAY_FLUSH_CUTS", "8"))
WITH_COMMAND = 20
"""One cut of so many is looked at by the installed command, too: it is started anew for each question."""

LOAD = """
name = "cut"
sample_interval = "50ms"
reserve = "1MiB"
[[file_set]]
name = "data"
size = "256KiB"
[[phase]]
name = "reading"
seconds = "0.2s"
[[phase.job]]
op = { op = "read", set = "data", access = "random", size = "4KiB" }
[[phase]]
name = "replay"
[[phase.job]]
[phase.job.script]
path = "trace.ndjson"
ops = [{ op = "write", set = "data", access = "sequential", size = "4KiB" }]
"""
SCRIPT = "".join(f"[0,0,{number % 64 * 4096},4096,0]\n" for number in range(1000))
SAYING_ENGINE = """#!/bin/sh
echo 'something that the engine says' >&2
exec '{engine}'
"""


@dataclass
class Told:
    """What the user had been told, and when."""

    run_id: str
    at_log_bytes: int
    """How long the disk's log was when the first word of the answer came."""


@dataclass
class Truth:
    """What the finished runs are, and when the user knew of them."""

    told: list[Told] = field(default_factory=list)
    documents: dict[str, Any] = field(default_factory=dict)
    reports: dict[str, bytes] = field(default_factory=dict)


def measured(runs: Path, load: Path, directory: Path, disk: RecordingDisk, engine: Path) -> Told:
    """Make a run; note when the first word of its answer came."""
    environment = {**os.environ, "ASSAY_RUNS": str(runs), "ASSAY_ENGINE": str(engine)}
    before = set(runs.glob("*-*")) if runs.exists() else set()
    with subprocess.Popen(
        [COMMAND, "run", load, directory, "--json"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        begun = process.stdout.read(1)
        at_log_bytes = disk.now_bytes()
        _, said = process.communicate(timeout=TIMEOUT_S)
    assert begun == b"{"
    assert process.returncode in {0, 1}, said.decode()
    (folder,) = [path for path in set(runs.glob("*-*")) - before if path.is_dir()]
    return Told(folder.name, at_log_bytes)


def usual_place(mount_point: Path) -> Path:
    """Where runs are kept when the disk is what has the user's data; the key that tells one's own runs is there, too."""
    os.environ["XDG_DATA_HOME"] = str(mount_point / "home")
    return mount_point / "home" / "assay" / "runs"


def record(folder: Path, disk: RecordingDisk) -> tuple[Truth, int]:
    """Make two runs, and list the runs after each, as users do; give what came of it, and where the disk's log ends."""
    load, directory, engine = folder / "load.toml", folder / "measured", folder / "engine"
    load.write_text(LOAD)
    (folder / "trace.ndjson").write_text(SCRIPT)
    directory.mkdir()
    engine.write_text(SAYING_ENGINE.format(engine=find_engine()))
    engine.chmod(0o755)
    runs, truth = usual_place(disk.mount_point), Truth()
    assay = Assay(runs=runs)
    for _ in range(2):
        truth.told.append(measured(runs, load, directory, disk, engine))
        assay("ls", check=0)
    end_bytes = disk.now_bytes()
    for told in truth.told:
        assert (runs / told.run_id / "engine.log").exists()
        truth.documents[told.run_id] = shown(runs, told.run_id)
        truth.reports[told.run_id] = (runs / f"{told.run_id}.html").read_bytes()
    return truth, end_bytes


def asked(runs: Path, *words: str) -> str:
    """Ask Assay in this process; raises what it would end with."""
    done = CliRunner(env={"ASSAY_RUNS": str(runs)}).invoke(app, [*words])
    if isinstance(done.exception, Exception):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def shown(runs: Path, run_id: str) -> Any:
    """Give the document of a run, but for the place where it lies."""
    document = json.loads(asked(runs, "show", run_id, "--json"))
    del document["run"]["bundle"]
    return document


def look(runs: Path, truth: Truth, known: set[str]) -> Counter[str]:
    """Look at every run that is there; what may not be fails here.

    Args:
        runs: The folder of runs on a disk whose power was cut.
        truth: What the runs came to.
        known: Runs that the user had been told of before.
    """
    listed = {run["run_id"]: run for run in json.loads(asked(runs, "ls", "--json"))}
    there = {path.name for path in runs.iterdir() if path.is_dir()} if runs.is_dir() else set()
    assert len(listed) <= len(there)
    found: Counter[str] = Counter()
    for run_id, finished in truth.documents.items():
        state = listed[run_id]["state"] if run_id in listed else "none"
        found[state] += 1
        if state == "none":
            with pytest.raises(AssayError, match=r"no such run|there is no"):
                shown(runs, run_id)
        elif state == "damaged":
            with pytest.raises(BundleError, match=r"damaged|was changed|is not JSON"):
                shown(runs, run_id)
        elif state == "sealed":
            assert shown(runs, run_id) == finished
            assert listed[run_id]["exit_code"] == finished["run"]["exit_code"]
        else:
            say_so(shown(runs, run_id), finished)
        if run_id in known:
            assert state == "sealed", f"{run_id} was told of, and is {state}"
            assert RunBundle.open(runs / run_id).is_own(runs)
        page = runs / f"{run_id}.html"
        assert not page.exists() or page.read_bytes() == truth.reports[run_id]
    return found


def say_so(document: Any, finished: Any) -> None:
    """A run that is not sealed says so, and so does each number that is not what it came to."""
    assert document["run"]["sealed"] is False
    if not is_unfinished(document):
        # All was recorded, and only the seal is missing.
        assert document["results"] == finished["results"]
        return
    assert document["run"]["exit_code"] == 1
    final = {(result["phase"], result["job"], result["operation"]): result for result in finished["results"]}
    for result in document["results"]:
        assert is_unfinished(result) or result == final[result["phase"], result["job"], result["operation"]]


def is_unfinished(judged: Any) -> bool:
    """Whether a run, or a result, is said not to be all."""
    return "unfinished" in [finding["id"] for finding in judged["findings"]]


def look_with_command(runs: Path) -> None:
    """Look by the installed command: it says what there is, and ends as documented."""
    assay = Assay(runs=runs)
    listed = json.loads(assay("ls", "--json", check=0).stdout)
    for run in listed:
        done = assay("show", run["run_id"])
        assert done.returncode == (2 if run["state"] == "damaged" else 0), done.stderr
        assert "Traceback" not in done.stderr
        if run["state"] == "unfinished":
            assert "not sealed: the run did not end" in done.stdout, done.stdout
    if not listed:
        assert assay("show").returncode == 2


def cuts_of(recording: Recording, truth: Truth, rng: random.Random) -> list[Cut]:
    """Choose cuts: at flushes, at the moments at which the user was told something, and torn ones."""
    flushes = recording.at_flushes()
    if FLUSH_CUTS and len(flushes) > FLUSH_CUTS:
        flushes = rng.sample(flushes, FLUSH_CUTS)
    told = [recording.moment(told.at_log_bytes) for told in truth.told]
    moments = rng.choices(recording.moments_between(), k=TORN_CUTS)
    chosen = [*flushes, *map(recording.at, told), *(recording.torn(moment, rng) for moment in (*told, *moments))]
    return sorted(chosen, key=lambda cut: cut.durable)


@pytest.mark.testbed
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_a_cut_of_the_power_leaves_sealed_runs_or_a_clear_word(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "")  # usual_place sets it; here it is put back
    with recording_disk(kind, tmp_path) as disk:
        truth, end_bytes = record(tmp_path, disk)
    recording = recorded(tmp_path, kind, until_bytes=end_bytes)
    rng = random.Random(kind)  # noqa: S311 - a choice of moments
    cuts = cuts_of(recording, truth, rng)

    found: Counter[str] = Counter()
    failed: list[str] = []
    with replaying(recording, kind) as replay:
        for number, cut in enumerate(cuts):
            known = {told.run_id for told in truth.told if recording.moment(told.at_log_bytes) <= cut.at}
            with replay.mounted(cut) as mount_point:
                runs = usual_place(mount_point)
                try:
                    found += look(runs, truth, known)
                    if number % WITH_COMMAND == 0:
                        look_with_command(runs)
                except (Exception, AssertionError) as error:  # noqa: BLE001 - all cuts are looked at, then it is said
                    failed.append(f"cut at {cut.at} of {len(recording.requests)}, {len(cut.survivors)} since"
                                  f" {cut.durable}: {type(error).__name__}: {error}")  # fmt: skip

    sys.stdout.write(
        f"{kind}: {len(cuts)} cuts, {sum(bool(cut.survivors) for cut in cuts)} of them torn, of {len(recording.requests)}"
        f" requests with {len(recording.at_flushes())} flushes: {dict(found)}\n"
    )
    assert failed == [], "\n".join(failed)
    assert found["sealed"] > 0
    assert found["unfinished"] > 0
    assert found["none"] > 0


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="needs x86-64, whose system calls nth_call.py knows")
def test_each_name_of_a_sealed_run_is_synced_and_what_it_stands_for(tmp_path: Path) -> None:
    """The journals of the file systems above make some names durable by the way; nobody promises that."""
    load, directory, report, library = (tmp_path / name for name in ("load.toml", "measured", "calls", "a/library"))
    load.write_text(LOAD)
    (tmp_path / "trace.ndjson").write_text(SCRIPT)
    directory.mkdir()
    counting = [sys.executable, str(INJECTOR), "0", "0", str(report), str(tmp_path), "--"]
    Assay(runs=library)("run", load, directory, "--no-report", "--json", prefix=counting)
    calls = [line.split() for line in report.read_text().splitlines()]

    synced = [path for call, path, *_ in calls if call == "fsync"]
    made = {path for call, path, *_ in calls if call == "mkdir" and path.startswith(str(library.parent))}
    (run,) = (path for path in library.iterdir() if path.is_dir())
    files = [path for path in run.rglob("*") if path.is_file()]

    assert {str(path) for path in (library.parent, library, run, run / "events")} == made
    assert {str(Path(path).parent) for path in made} <= set(synced)
    assert len(files) > 10
    for file in files:
        assert str(file) in synced or f"{file}.part" in synced, file
        assert str(file.parent) in synced, file
