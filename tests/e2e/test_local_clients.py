"""Several clients on this machine, without root or a network: what was lost is fetched by the words that are told."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.cluster.dask_connection import EXCHANGES
from assay.cluster.echo import EXCHANGES as BY_ECHO
from assay.running.engine import find_engine
from e2e.command import COMMAND, Assay
from e2e.processes import WAIT_S, Running, is_alive, load_file, running
from testbed.host import wait_until

MEASURED = ("local-1", "local-2")
ENDLESS, SHORT = "1h", "12s"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where clients keep what they record; temporary files are the test's own, too."""
    state = tmp_path / "state"
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return state


@contextmanager
def measuring(assay: Assay, folder: Path, seconds: str) -> Iterator[Running]:
    """Two clients that read, once both have recorded something."""
    (folder / "data").mkdir()
    words = ("run", load_file(folder, seconds=seconds), folder / "data", "--hosts", "local:2", "--no-report")
    with running(*words, folder=folder, env={"ASSAY_RUNS": str(assay.runs)}) as led:
        wait_until(lambda: has_recorded(folder / "state") or led.process.poll() is not None, "intervals", WAIT_S)
        assert led.process.poll() is None, led.said()
        yield led


def has_recorded(state: Path) -> bool:
    texts = [path.read_text() for path in state.rglob("events.ndjson")]
    return len(texts) == len(MEASURED) and all(text.count('"event":"interval"') >= 2 for text in texts)


def workers(folder: Path, word: str = "worker") -> dict[str, int]:
    """Pids of the workers whose engines record here, or of other processes of theirs, by the client's name."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0") if entry.name.isdecimal() else []
            is_ours = f"XDG_STATE_HOME={folder / 'state'}" in (entry / "environ").read_bytes().decode().split("\0")
        except OSError:
            continue
        if word in words and "sh" not in Path(words[0]).name and is_ours:
            found[words[words.index("--name") + 1] if "--name" in words else entry.name] = int(entry.name)
    return found


def of_clients(assay: Assay, run: str) -> dict[str, float]:
    """The rates of single clients, by name."""
    document: dict[str, Any] = json.loads(assay("show", run, "--json").stdout)
    return {result["client"]: result["iops"] for result in document["results"] if result["client"] is not None}


def end_of_sum_s(assay: Assay, run: str) -> float:
    """Until when a run has a sum of all clients; 0 where they hardly worked together, or the leader heard of one alone."""
    document: dict[str, Any] = json.loads(assay("show", run, "--json").stdout)
    (sum_,) = (result for result in document["results"] if result["client"] is None)
    is_of_all = sum_["iops"] and document["sums"][0]["clients"] == len(MEASURED)
    return float(sum_["window_s"][1]) if is_of_all else 0.0


def test_what_a_lost_client_recorded_is_fetched_by_the_words_that_are_told(
    assay: Assay, home: Path, tmp_path: Path
) -> None:
    with measuring(assay, tmp_path, SHORT) as led:
        os.kill(workers(tmp_path)["local-2"], signal.SIGKILL)
        assert led.exit_code() in {0, 1}, led.said()

    shown = assay("show", "last").stdout
    assert "1 of 2 clients since" in shown
    told = re.search(r"'assay (collect \S+ --hosts local-2=local)'", " ".join(shown.split()))
    assert told, shown
    before = assay("ls", "--json", check=0).stdout
    until_s = end_of_sum_s(assay, "last")
    done = assay(*told[1].split(), check=0)

    assert "local-2: collected" in done.stdout
    run = re.search(r"'assay show (\S+)'", done.stdout)
    assert run
    assert "its stream was collected later" in " ".join(assay("show", run[1]).stdout.split())
    assert set(of_clients(assay, run[1])) == set(MEASURED)
    assert end_of_sum_s(assay, "last") >= until_s
    assert assay("show", "last", "--json").stdout == assay("show", run[1], "--json").stdout
    assert len(json.loads(assay("ls", "--json", check=0).stdout)) == len(json.loads(before)) + 1
    assert not list(home.rglob("events.ndjson"))


def test_what_clients_recorded_is_fetched_after_their_leader_was_killed(
    assay: Assay, home: Path, tmp_path: Path
) -> None:
    with measuring(assay, tmp_path, ENDLESS) as led:
        pids = workers(tmp_path)
        led.process.kill()
        led.exit_code()
    wait_until(lambda: not any(is_alive(pid) for pid in pids.values()), "the end of the workers", WAIT_S)
    (folder,) = (path for path in assay.runs.iterdir() if path.is_dir())
    assert not RunBundle.open(folder).is_sealed
    assert not list((tmp_path / "temporary").glob("assay-join-*")), "no folder that had the key is left"

    done = assay("collect", folder.name, "--hosts", "local-1=local,local-2=local", check=0)

    assert [f"{name}: collected" in done.stdout for name in MEASURED] == [True, True]
    assert RunBundle.open(folder).is_sealed
    rates = of_clients(assay, folder.name)
    assert set(rates) == set(MEASURED)
    assert all(rates.values())
    assert not list(home.rglob("events.ndjson"))


def test_what_was_not_fetched_with_the_first_is_lost_until_it_is_fetched(
    assay: Assay, home: Path, tmp_path: Path
) -> None:
    with measuring(assay, tmp_path, ENDLESS) as led:
        (folder,) = (path for path in assay.runs.iterdir() if path.is_dir())
        early = assay("collect", folder.name, "--hosts", "local-1=local", check=3)
        assert f"{folder.name} is under way" in early.stderr
        pids = workers(tmp_path)
        led.process.kill()
        led.exit_code()
    wait_until(lambda: not any(is_alive(pid) for pid in pids.values()), "the end of the workers", WAIT_S)

    hosts = tmp_path / "hosts.txt"
    hosts.write_text("local-1=local\nlocal-2=127.0.0.1 port=1\n")
    part = assay("collect", folder.name, "--hosts", hosts, check=1)
    assert "local-1: collected" in part.stdout
    assert "local-2: ssh: Connection refused\n" in part.stdout

    shown = " ".join(assay("show", folder.name, check=0).stdout.split())
    assert "local-2, its leader ended before its stream was fetched" in shown
    told = re.search(r"'assay (collect \S+ --hosts local-2=local)'", shown)
    assert told, shown
    done = assay(*told[1].split(), check=0)
    run = re.search(r"'assay show (\S+)'", done.stdout)
    assert run
    rates = of_clients(assay, run[1])
    assert set(rates) == set(MEASURED)
    assert all(rates.values())
    assert not list(home.rglob("events.ndjson"))
    assert "local-2: is whole in" in assay("collect", run[1], "--hosts", "local-2=local", check=0).stdout


def test_what_an_engine_still_writes_is_not_fetched(assay: Assay, home: Path, tmp_path: Path) -> None:
    with measuring(assay, tmp_path, ENDLESS) as led:
        (stream,) = home.rglob("local-2/events.ndjson")
        engine = json.loads(stream.read_text().splitlines()[0])["engine"]["pid"]
        os.kill(engine, signal.SIGSTOP)
        try:
            os.kill(workers(tmp_path)["local-2"], signal.SIGKILL)
            led.process.kill()
            led.exit_code()
            (folder,) = (path for path in assay.runs.iterdir() if path.is_dir())

            refused = assay("collect", folder.name, "--hosts", "local-2=local", check=1)
        finally:
            os.kill(engine, signal.SIGCONT)

    assert "local-2: its engine is still at work" in refused.stdout
    assert not RunBundle.open(folder).is_sealed
    wait_until(lambda: not is_alive(engine), "the end of the engine", WAIT_S)
    assert '"event":"finished"' in stream.read_text()
    assert "local-2: collected" in assay("collect", folder.name, "--hosts", "local-2=local", check=0).stdout


def test_clocks_are_read_by_the_engines_where_that_is_wanted(assay: Assay, home: Path, tmp_path: Path) -> None:
    words = ("measure", tmp_path, "--read", "--size", "1m", "--time", "0.3s", "--hosts", "local:2", "--no-report")
    for option, most in (((), EXCHANGES), (("--echo",), BY_ECHO)):
        assay(*words, *option)
        last = RunBundle.open(max(path for path in assay.runs.iterdir() if path.is_dir()))
        found = last.client_set()
        assert found is not None
        # The surer of two readings counts, which on a busy machine may be that of the worker now and then.
        assert max(reading.exchanges for member in found.members for reading in member.clock) == most
        # It is one clock: what it is found to be off has to be within the bound.
        assert all(abs(reading.offset_ns) <= reading.bound_ns for member in found.members for reading in member.clock)
    assert not workers(tmp_path, "echo")
    assert not list(home.rglob("events.ndjson"))


def test_a_run_of_clients_is_done_again_with_clients_that_are_named(assay: Assay, home: Path, tmp_path: Path) -> None:
    words = (
        "measure",
        tmp_path,
        "--read",
        "--size",
        "1m",
        "--time",
        "0.3s",
        "--hosts",
        "local:2",
        "--share",
        "together",
    )
    assay(*words, "--no-report")
    assert not list(home.rglob("events.ndjson"))

    refused = assay("rerun", "last", "--no-report", check=2)
    assay("rerun", "last", "--no-report", "--hosts", "local:2")

    assert "several clients (local-1, local-2)" in refused.stderr
    folders = sorted(path for path in assay.runs.iterdir() if path.is_dir())
    first, again = (RunBundle.open(path) for path in folders)
    assert first.plan == again.plan
    sets = [bundle.client_set() for bundle in (first, again)]
    assert [one and one.share.value for one in sets] == ["together", "together"]


LYING_ENGINE = """#!/bin/sh
# Says what the true engine says, but for a part of it.
[ $# = 0 ] || exec {engine} "$@"
{engine} | sed -u '{lie}'
"""
LIES = {"beyond": ('s/"ops":[1-9]/"ops":99999999999999999999/', "it counted")}
if os.environ.get("ASSAY_LOST") == "all":
    LIES["another"] = ('s/"monotonic_at_zero_ns":[0-9]*/"monotonic_at_zero_ns":5/', "that is of another run")
    LIES["renamed"] = ('s/"job":"[^"]*"/"job":"other"/g', "of the job 'other'")


def test_clients_whose_engines_lie_are_lost_and_the_others_are_right(assay: Assay, home: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    join, started = tmp_path / "join", []
    words = ("run", load_file(tmp_path, seconds="3s"), tmp_path / "data", "--no-report", "--json", "--join", join)
    with running(*words, "--clients", str(1 + len(LIES)), folder=tmp_path, env={"ASSAY_RUNS": str(assay.runs)}) as led:
        try:
            for name in ("a", *LIES):
                engine = tmp_path / f"engine-{name}"
                engine.write_text(LYING_ENGINE.format(engine=find_engine(), lie=LIES[name][0] if name in LIES else ""))
                engine.chmod(0o755)
                environment = {**os.environ, "ASSAY_ENGINE": str(engine)}
                words_of_worker = [str(COMMAND), "worker", "--join", str(join), "--name", name]
                started.append(subprocess.Popen(words_of_worker, env=environment, stderr=subprocess.DEVNULL))
            code = led.exit_code()
        finally:
            for process in started:
                process.terminate()
                process.wait(WAIT_S)

    said = led.said()
    assert code in {0, 1}, said
    bundle = RunBundle.open(max(path for path in assay.runs.iterdir() if path.is_dir()))
    assert bundle.is_sealed, said
    found = bundle.client_set()
    assert found is not None
    lost = {member.name: member.lost for member in found.members}
    assert lost["a"] is None
    for name, (_, reason) in LIES.items():
        assert f"{name} is lost: its data is discarded: " in said
        one = lost[name]
        assert one is not None
        assert reason in one.reason
        assert bundle.events(name) == []
    answer = document(read(bundle))
    assert {result.client for result in answer.results if result.client is not None} == {"a"}
    assert all(one.clients == 1 for one in answer.sums)
    assert {path.parent.name for path in home.rglob("events.ndjson")} == set(LIES), (
        "what liars recorded stays with them"
    )


@pytest.mark.parametrize("tool", ["vdbench", "iozone"])
def test_a_strangers_words_for_a_tool_start_no_program(assay: Assay, home: Path, tmp_path: Path, tool: str) -> None:
    evil, file = tmp_path / "evil", tmp_path / "hosts"
    evil.write_text(f"#!/bin/sh\n: >{tmp_path}/was-run\n")
    evil.chmod(0o755)
    if tool == "vdbench":
        file.write_text(
            f'hd=h1,system="h1=local python={evil}"\nsd=sd1,lun={tmp_path}/f,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n'
        )
        words = ["-f", str(file)]
    else:
        (tmp_path / "more").write_text(f"local python={evil}\n")
        file.write_text(f"{tmp_path}/more {tmp_path} /usr/bin/iozone\n")
        words = ["-+m", str(file), "-t", "1", "-s", "64", "-r", "16", "-i", "0"]

    refused = assay(tool, *words, check=2)

    assert "is not a host name or IPv4 address" in refused.stderr
    assert not (tmp_path / "was-run").exists()
    assert not home.exists()
