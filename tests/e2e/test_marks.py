"""Marks are set by the installed command, while runs go on and afterwards, and stand beside what a device really did."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from assay.bundle import RunBundle
from assay.events import Hello, Started
from e2e.command import COMMAND, Assay
from e2e.processes import load_file, running
from testbed.devices import filesystem
from testbed.host import need_tools
from testbed.sshd import make_key, sshd
from testbed.truth import truth_disk

MIB = 1 << 20
FREEZE_S = 1.5
LOAD = """
name = "freeze"
reserve = "16MiB"
sample_interval = "100ms"
[[file_set]]
name = "data"
size = "64MiB"
[[phase]]
name = "read"
title = "random read"
seconds = "20s"
[[phase.job]]
workers = 2
direct = true
op = { op = "read", set = "data", access = "random", size = "4KiB" }
"""


def shown(assay: Assay, *words: str) -> dict[str, Any]:
    """The result document of a run."""
    document: dict[str, Any] = json.loads(assay("show", *words, "--json", check=0).stdout)
    return document


def users_labels(document: dict[str, Any]) -> list[str]:
    """What the user said while a run went on."""
    return [mark["label"] for mark in document["marks"] if mark["source"] == "user"]


@pytest.mark.quiet
@pytest.mark.held
def test_a_freeze_with_a_mark_has_its_levels_and_is_over_when_the_device_says(assay: Assay, tmp_path: Path) -> None:
    load = tmp_path / "load.toml"
    load.write_text(LOAD)
    with (
        truth_disk(128 * MIB, most_per_s=400, stall_s=FREEZE_S) as disk,
        filesystem(disk.device, mkfs_options=("-b", "4096")) as directory,
        running("run", load, directory, "--no-report", "--live-json", tmp_path / "live", folder=tmp_path) as run,
    ):
        run.wait_until_measured(intervals=60)
        asked_ns = time.monotonic_ns()
        disk.stall()
        marked = assay("mark", "device frozen", check=0)
        run.wait_for("device frozen")
        assert run.exit_code() in {0, 1}
        log = disk.log()
    (hung,) = [request for request in log if request.seconds > 1 and request.end_ns > asked_ns]

    document = shown(assay, "last")
    (mark,) = [mark for mark in document["marks"] if mark["source"] == "user"]
    (effect,) = mark["effects"]
    recovery = effect["recovery"]
    bundle = RunBundle.open(Path(document["run"]["bundle"]))
    (hello,) = [event for event in bundle.events() if isinstance(event, Hello)]
    (started,) = [event for event in bundle.events() if isinstance(event, Started)]
    zero_s = (hello.clock.monotonic_at_zero_ns + started.start_ns) / 1e9
    assert marked.stdout.startswith(bundle.run_id)
    # The kernel keeps when a process was started to a hundredth of a second.
    assert zero_s + mark["phase_s"] >= asked_ns / 1e9 - 0.01
    begin_s, end_s = hung.begin_ns / 1e9 - zero_s, hung.end_ns / 1e9 - zero_s
    assert recovery["verdict"] == "recovered"
    assert recovery["within_s"] < 0.2
    assert mark["phase_s"] + recovery["seconds"] == pytest.approx(end_s, abs=0.2)
    # What the device served before, and after it went on, in just those stretches.
    for name in ("before", "after"):
        level = effect[name]
        served = [
            request
            for request in log
            if request.kind == "R" and level["window_s"][0] < request.end_ns / 1e9 - zero_s <= level["window_s"][1]
        ]
        assert level["iops"] == pytest.approx(len(served) / (level["window_s"][1] - level["window_s"][0]), rel=0.02)
        low, high = level["iops_interval"]
        assert low < level["iops"] < high
    assert effect["before"]["window_s"][1] <= mark["phase_s"]
    # An operation of each worker at most, and what ended between the mark and the freeze.
    late_s = max(0.0, begin_s - mark["phase_s"])
    assert effect["during"]["iops"] <= (2 + 450 * (late_s + recovery["within_s"])) / (end_s - begin_s)
    assert effect["during_changes"]["iops"]["share"] < -0.5
    lines = [json.loads(line) for line in (tmp_path / "live").read_text().splitlines()]
    (told,) = [one for line in lines for one in line["marks"] if one["source"] == "user"]
    assert (told["label"], told["t_s"]) == ("device frozen", pytest.approx(mark["phase_s"]))


def test_all_runs_under_way_are_marked_or_the_one_that_is_named(assay: Assay, tmp_path: Path) -> None:
    load = load_file(tmp_path)
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    env = {"ASSAY_RUNS": str(assay.runs)}
    clients = ("--hosts", "local:2")
    with (
        running("run", load, folders[0], "--name", "one", "--no-report", folder=folders[0], env=env) as one,
        running("run", load, folders[1], "--name", "two", "--no-report", *clients, folder=folders[1], env=env) as two,
    ):
        for run in (one, two):
            run.wait_for("reading")
        before_ns = time.monotonic_ns()
        marked = assay("mark", "both", check=0).stdout.splitlines()
        assay("mark", "--run", "two", "second", check=0)
        after_ns = time.monotonic_ns()
        one.wait_for("both")
        for run in (one, two):
            run.stop()
            run.exit_code()

    assert len(marked) == 2
    assert users_labels(shown(assay, "one")) == ["both"]
    of_clients = shown(assay, "two")
    assert users_labels(of_clients) == ["both", "second"]
    (begun,) = json.loads(Path(of_clients["run"]["bundle"], "clients.json").read_text())["starts"]
    moments_ns = [begun["at_ns"] + mark["phase_s"] * 1e9 for mark in of_clients["marks"] if mark["source"] == "user"]
    assert before_ns - 10**7 <= moments_ns[0] <= moments_ns[1] <= after_ns
    assert "is not active here" in assay("mark", "one", "late", check=2).stderr
    assert "you have no active run" in assay("mark", "late", check=2).stderr


def test_a_mark_is_where_it_was_asked_for_however_that_was(assay: Assay, tmp_path: Path) -> None:
    need_tools("bash", "ssh")
    make_key(tmp_path / "key")
    env = {"ASSAY_RUNS": str(assay.runs)}
    mark = f"{COMMAND} mark"
    then = "sleep 1; echo $EPOCHREALTIME;"
    with (
        sshd(tmp_path / "server", tmp_path / "key", {"ASSAY_RUNS": str(assay.runs)}) as server,
        running(
            "run", load_file(tmp_path), tmp_path, "--no-report", folder=tmp_path, env={"ASSAY_RUNS": str(assay.runs)}
        ) as run,
    ):
        (tmp_path / "known").write_text(server.known)
        to_host = ("-F", "none", "-i", tmp_path / "key", "-o", f"UserKnownHostsFile={tmp_path / 'known'}")
        ways: dict[str, tuple[str | os.PathLike[str], ...]] = {
            "typed": ("bash", "-c", f"echo $EPOCHREALTIME; exec {mark} typed"),
            "script": ("bash", "-c", f"{then} {mark} script"),
            "exec": ("bash", "-c", f"{then} exec {mark} exec"),
            "subshell": ("bash", "-c", f"( {then} {mark} subshell )"),
            "ssh": ("ssh", *to_host, "-p", str(server.port), "127.0.0.1", f"bash -c '{then} {mark} ssh'"),
        }
        run.wait_for("reading")
        asked = {}
        for way, words in ways.items():
            said = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, check=True).stdout
            asked[way] = (float(said.split()[0]), time.time())
        to_monotonic_s = time.monotonic() - time.time()
        run.stop()
        run.exit_code()

    document = shown(assay, "last")
    happened = list(RunBundle.open(Path(document["run"]["bundle"])).events())
    (hello,) = (event for event in happened if isinstance(event, Hello))
    (started,) = (event for event in happened if isinstance(event, Started))
    zero_s = (hello.clock.monotonic_at_zero_ns + started.start_ns) / 1e9 - to_monotonic_s
    marked = {one["label"]: zero_s + one["phase_s"] for one in document["marks"] if one["source"] == "user"}
    assert marked.keys() == asked.keys()
    for way, (before_s, after_s) in asked.items():
        # A shell that became it slept for a second before. On a busy machine its wait for a CPU counts as the program's.
        assert before_s - 0.5 <= marked[way] <= after_s, (way, marked[way] - before_s)


@pytest.mark.quiet  # a rate that changes by itself ends the level before
def test_a_mark_is_given_afterwards_and_told_everywhere(assay: Assay, tmp_path: Path) -> None:
    place = tmp_path / "measured"
    place.mkdir()
    assay("run", load_file(tmp_path, seconds="2s"), place, "--no-report")
    before = shown(assay, "last")

    done = assay("mark", "last", "--at", "1s", "snapshot <b>", check=0)

    document = shown(assay, "last")
    (mark,) = [mark for mark in document["marks"] if mark["source"] == "afterwards"]
    assert done.stdout == f"{document['run']['id']} at 1.00 s of phase 'read'\n"
    assert (mark["label"], mark["phase"], mark["phase_s"]) == ("snapshot <b>", "read", pytest.approx(1.0))
    (effect,) = mark["effects"]
    assert effect["before"]["window_s"][1] == pytest.approx(1.0, abs=2 * effect["recovery"]["within_s"])
    assert [result["iops"] for result in document["results"]] == [result["iops"] for result in before["results"]]
    assert "snapshot <b>, at 1.00 s of 'read'" in assay("show", "last", check=0).stdout
    assay("report", "last", "-o", tmp_path / "report.html", check=0)
    page = (tmp_path / "report.html").read_text()
    assert "<td>snapshot &lt;b&gt;</td>" in page
    assay("export", "last", "--csv", tmp_path / "csv", check=0)
    assert "snapshot <b>" in (tmp_path / "csv" / "marks.csv").read_text()
    for words, said in (
        (("last", "--at", "1h", "x"), "lasted 2."),
        (("last", "--at", "soon", "x"), "--at"),
        (("last", "--at", "1s", "--phase", "write", "x"), "there are: read"),
        (("--at", "1s", "x"), "name it"),
        (("last", "--at", "1s", ""), "some words"),
        (("nosuch", "--at", "1s", "x"), "no such run"),
    ):
        refused = subprocess.run(
            [COMMAND, "mark", *words, "--runs", assay.runs], capture_output=True, text=True, check=False
        )
        assert refused.returncode in {2, 3}, refused.stderr
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr


def test_nobody_else_marks_a_run(assay: Assay, unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    place = unprivileged.home / "measured"
    place.mkdir()
    place.chmod(0o777)
    unprivileged("run", load_file(unprivileged.home, seconds="0.5s"), place, "--no-report")
    (folder,) = [path for path in unprivileged.runs.iterdir() if path.is_dir()]

    refused = assay("mark", str(folder), "--at", "0.1s", "x", check=2)

    assert "is not yours alone to write" in refused.stderr
    assert not (folder / "marks.json").exists()
