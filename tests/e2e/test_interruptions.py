"""Whatever ends a run early: what was measured is kept, nothing else is left, and the exit code says how it was."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from e2e.command import Assay
from e2e.processes import is_alive, load_file, nothing_in, running
from testbed.devices import MIB, small_ext4, tmpfs

SLOW_LAYOUT = """
name = "slow-layout"
[[file_set]]
name = "many"
files = 1000000
size = "4KiB"
{keep}
layout = {{ per_directory = 1000 }}
[[phase]]
name = "stat"
seconds = "1s"
[[phase.job]]
op = {{ op = "stat", set = "many" }}
"""

PACED = 'limit = { bytes_per_s = "16MiB" }\n'
"""So slow that the reserve lasts for seconds after a look that comes late."""
FILLING = {
    "create": """
[[file_set]]
name = "data"
files = 1000000
size = "64KiB"
existing_share = 0.0
[[phase]]
name = "fill"
seconds = "1h"
[[phase.job]]
loop = [
  { op = "create", set = "data", pick = "new", slot = 0 },
  { op = "write", slot = 0, access = "whole", size = "64KiB" },
  { op = "close", slot = 0 },
]
""",
    "write": """
[[file_set]]
name = "data"
size = "200MiB"
allocate = "sparse"
[[phase]]
name = "fill"
seconds = "1h"
[[phase.job]]
op = { op = "write", set = "data", access = "sequential", size = "1MiB" }
""",
}


def shown(assay: Assay) -> dict[str, Any]:
    """The result document of the only run."""
    document: dict[str, Any] = json.loads(assay("show", "last", "--json", check=0).stdout)
    return document


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_a_phase_keeps_what_was_measured_and_removes_the_data(
    number: signal.Signals, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    with running("run", load_file(tmp_path), directory, folder=tmp_path) as run:
        run.wait_until_measured()
        run.stop(number)

        assert run.exit_code() == 130
        assert "stopping" in run.said()

    document = shown(assay)
    assert nothing_in(directory)
    assert document["run"]["sealed"]
    assert document["run"]["exit_code"] == 130
    assert document["results"][0]["ops"] > 0
    texts = [each["text"] for each in document["results"][0]["findings"] if each["id"] == "ended-early"]
    assert [text.startswith("The phase was stopped from outside.") for text in texts] == [True]


@pytest.mark.parametrize("keep", ["", "keep = true"])
def test_a_stop_while_data_is_laid_out_leaves_no_half_of_it(
    keep: str, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    load = tmp_path / "layout.toml"
    load.write_text(SLOW_LAYOUT.format(keep=keep))

    with running("run", load, directory, folder=tmp_path) as run:
        run.wait_for_file(lambda: any(directory.glob("assay-data/many/*/*")), "the first of its files")
        run.stop()

        assert run.exit_code() == 130

    assert nothing_in(directory)
    assert shown(assay)["run"]["sealed"]


@pytest.mark.parametrize("step", ['{ ceilings = "data", seconds = "1h" }', '{ sleep = "1h" }'])
def test_a_stop_in_a_step_is_heard(step: str, assay: Assay, directory: Path, tmp_path: Path) -> None:
    with running("run", load_file(tmp_path, before=step), directory, folder=tmp_path) as run:
        run.wait_for("laying out")
        run.wait_for_file(lambda: _is_laid_out(directory), "the set laid out")
        run.stop()

        assert run.exit_code() == 130

    assert nothing_in(directory)
    assert shown(assay)["results"] == []


def test_a_stop_while_quick_probes_leaves_nothing(directory: Path, tmp_path: Path) -> None:
    with running("quick", directory, folder=tmp_path, env={"TMPDIR": str(tmp_path)}) as run:
        run.wait_for_file((directory / "assay-data" / "probe").exists, "the probe's file")
        run.stop()

        assert run.exit_code() == 130
        assert "assay: stopped" in run.said()

    assert nothing_in(directory)
    assert not (tmp_path / "runs").exists()
    assert list(tmp_path.glob("assay-*")) == []


def test_a_second_ctrl_c_ends_at_once_and_says_what_is_left(assay: Assay, directory: Path, tmp_path: Path) -> None:
    load = tmp_path / "layout.toml"
    load.write_text(SLOW_LAYOUT.format(keep=""))

    with running("run", load, directory, folder=tmp_path) as run:
        run.wait_for("laying out")
        engine = run.engine()
        os.kill(engine, signal.SIGSTOP)  # so that it cannot finish in between
        run.stop()
        run.wait_for("stopping")
        run.stop()

        assert run.exit_code() == 130
        assert f"assay clean {directory}" in run.said()
    assert not is_alive(engine)
    assert (directory / "assay-data" / "many").is_dir()

    said = assay("clean", directory, check=0).stdout

    assert "files and" in said
    assert nothing_in(directory)


def test_a_terminated_engine_cleans_up_by_itself(assay: Assay, directory: Path, tmp_path: Path) -> None:
    with running("run", load_file(tmp_path), directory, folder=tmp_path) as run:
        run.wait_for("[1/1]")
        os.kill(run.engine(), signal.SIGTERM)

        assert run.exit_code() == 3
        assert "stopped from outside" in run.said()

    assert nothing_in(directory)
    assert shown(assay)["run"]["sealed"]


def test_a_second_run_in_the_same_directory_is_refused_and_disturbs_nothing(
    assay: Assay, directory: Path, tmp_path: Path
) -> None:
    with running("run", load_file(tmp_path), directory, folder=tmp_path) as first:
        first.wait_for("[1/1]")

        second = assay("run", load_file(tmp_path), directory, check=3)
        cleaning = assay("clean", directory, check=3)

        for done in (second, cleaning):
            assert f"another Assay run (process {first.engine()}) is using {directory}" in done.stderr
        assert first.process.poll() is None
        assert _is_laid_out(directory)
        first.stop()
        assert first.exit_code() == 130


def test_clean_says_what_it_leaves_and_why(assay: Assay, directory: Path, tmp_path: Path) -> None:
    assay("run", load_file(tmp_path, seconds="0.2s", keep="keep = true"), directory)
    folder = directory / "assay-data"
    (folder / "data" / "thesis.txt").write_text("mine")
    (folder / "notes").mkdir()

    done = assay("clean", directory, check=3)

    assert "1 files and 0 directories removed" in done.stdout
    assert f"{folder / 'data' / 'thesis.txt'} is not Assay's" in done.stdout
    assert f"{folder / 'notes'}: left: it has no mark" in done.stdout
    assert (folder / "data" / "thesis.txt").read_text() == "mine"
    (folder / "data" / "thesis.txt").unlink()
    (folder / "notes").rmdir()
    assert f"{folder}: removed" in assay("clean", directory, check=0).stdout
    assert nothing_in(directory)


def test_clean_takes_a_stale_lock_away(assay: Assay, directory: Path) -> None:
    (directory / "assay-data").mkdir()
    (directory / "assay-data" / ".assay-lock").write_text("assay-lock 1 made 1 nobody\n")

    assay("clean", directory, check=0)

    assert nothing_in(directory)


@pytest.mark.testbed
@pytest.mark.parametrize("kind", FILLING)
def test_a_file_system_filled_by_the_load_ends_the_run_with_its_cause(kind: str, assay: Assay, tmp_path: Path) -> None:
    load = tmp_path / "fill.toml"
    load.write_text(f'name = "fill"\nreserve = 0\n{FILLING[kind]}')

    with tmpfs(80 * MIB) as memory, small_ext4(64 * MIB, backing=memory) as mount_point:
        space = os.statvfs(mount_point)
        done = assay("run", load, mount_point, "--no-report", check=3)

        assert "no space left on the device" in done.stderr
        assert str(mount_point) in done.stderr
        assert not (mount_point / "assay-data").exists()

    document = shown(assay)
    assert (document["run"]["sealed"], document["run"]["exit_code"]) == (True, 3)
    assert "engine-error" in {finding["id"] for finding in document["findings"]}
    assert "no space left on the device" in assay("show", "last").stdout
    written = next(result for result in document["results"] if result["operation"] == "write")
    # What fitted was measured: as much as root may use, but for what the names and maps of the files take.
    assert 0.9 * space.f_bfree * space.f_frsize <= written["bytes"] <= space.f_bfree * space.f_frsize
    assert written["throughput_bytes_per_s"] > 0
    said = {finding["id"]: finding["text"] for result in document["results"] for finding in result["findings"]}
    assert "ENOSPC 1 times" in said["errors"]
    assert said["ended-early"].startswith("An error ended the phase early.")


@pytest.mark.testbed
@pytest.mark.parametrize("kind", FILLING)
def test_a_load_that_grows_is_ended_at_the_reserve(kind: str, assay: Assay, tmp_path: Path) -> None:
    load = tmp_path / "grow.toml"
    job = "[[phase.job]]\n"
    load.write_text(f'name = "grow"\nreserve = "64MiB"\n{FILLING[kind].replace(job, job + PACED)}')

    with tmpfs(180 * MIB) as memory, small_ext4(160 * MIB, backing=memory) as mount_point:
        space = os.statvfs(mount_point)
        done = assay("run", load, mount_point, "--no-report", check=3)

        assert "less than the reserve of 64 MiB" in done.stderr
        assert not (mount_point / "assay-data").exists()

    written = sum(result["bytes"] for result in shown(assay)["results"] if result["operation"] == "write")
    room = space.f_bavail * space.f_frsize - 64 * MIB
    # It is looked at four times a second: the reserve is touched, and never used up.
    assert 0.9 * room < written < room + 64 * MIB


def test_data_that_somebody_else_moved_away_in_a_run_is_said_and_left(
    assay: Assay, directory: Path, tmp_path: Path
) -> None:
    folder, aside = directory / "assay-data" / "data", tmp_path / "aside"
    with running("run", load_file(tmp_path), directory, folder=tmp_path) as run:
        run.wait_until_measured()
        folder.rename(aside)
        run.stop()

        assert run.exit_code() == 130
        assert f"{folder} is not there any more" in run.said()
    assert (aside / ".assay-set.json").exists()
    document = shown(assay)
    assert document["run"]["sealed"]
    assert "data-folder" in {finding["id"] for finding in document["findings"]}


def _is_laid_out(directory: Path) -> bool:
    mark = directory / "assay-data" / "data" / ".assay-set.json"
    return mark.exists() and '"complete"' in mark.read_text()
