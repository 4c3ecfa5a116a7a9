"""Runs are named, tagged, found again and listed, by the installed command."""

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.bundle import RunBundle
from e2e.command import Assay, on_a_terminal
from e2e.processes import load_file
from unit.bundle_streams import begun


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory to measure."""
    directory = tmp_path / "measured"
    directory.mkdir()
    return directory


def listed(assay: Assay, *words: str) -> dict[str, dict[str, object]]:
    """The list, by the ids of the runs."""
    return {run["run_id"]: run for run in json.loads(assay("ls", "--json", *words, check=0).stdout)}


def test_a_run_is_named_when_it_is_measured_and_found_by_its_name(assay: Assay, place: Path, tmp_path: Path) -> None:
    load = load_file(tmp_path, seconds="0.2s")
    words = ("--no-report", "--name", "baseline", "--tag", "a", "--tag", "b", "--note", "before the change")
    assay("run", load, place, *words)
    assay("run", load, place, "--no-report", "--name", "other")

    shown = json.loads(assay("show", "baseline", "--json").stdout)["run"]
    repeated = assay("rerun", "baseline", "--no-report", "--name", "baseline")

    assert (shown["name"], shown["tags"], shown["note"]) == ("baseline", ["a", "b"], "before the change")
    assert f"'baseline' was the name of the run {shown['id']}, and is this run's now" in repeated.stderr
    by_name = {run["name"]: run_id for run_id, run in listed(assay).items()}
    assert set(by_name) == {None, "other", "baseline"}
    assert by_name[None] == shown["id"]
    assert RunBundle.open(assay.runs / by_name["baseline"]).plan == RunBundle.open(assay.runs / shown["id"]).plan
    assert list(listed(assay, "--tag", "a")) == [shown["id"]]
    assert listed(assay, "--name", "other").keys() == {by_name["other"]}


@pytest.mark.parametrize(
    "words",
    ["iozone -s 64 -r 4 -i 0 -f {}/file", "vxbench -w write -i iosize=4k,iocount=4 {}/file", "bigdir 10 2 --dir {}"],
)
def test_the_run_of_a_tool_is_named_by_the_same_options(assay: Assay, place: Path, words: str) -> None:
    assay(*words.format(place).split(), "--name=tool", "--tag=a", "--tag", "b", "--note", "x y", "--no-report")

    (run,) = listed(assay).values()

    assert (run["name"], run["tags"], run["note"]) == ("tool", ["a", "b"], "x y")


def test_a_sealed_run_is_named_afterwards_and_stays_what_it_was(assay: Assay, tmp_path: Path) -> None:
    bundle, other = begun(assay.runs), begun(assay.runs)
    for one in (bundle, other):
        one.seal()

    assay("tag", bundle.run_id, "--name", "x", "--tag", "a", "--tag", "b", "--note", "one\ntwo", check=0)
    done = assay("tag", other.run_id, "--name", "x", check=0)
    assay("tag", bundle.run_id, "--untag", "a", check=0)
    shown = assay("tag", bundle.run_id, check=0)
    packed = assay("export", bundle.run_id, "-o", tmp_path / "run.tar.gz", check=0)

    assert f"'x' was the name of the run {bundle.run_id}, and is that of {other.run_id} now" in done.stderr
    assert shown.stdout.splitlines() == [f"run   {bundle.run_id}", "name  -", "tags  b", "note  one; two"]
    assert json.loads(assay("tag", "x", "--json", check=0).stdout)["run_id"] == other.run_id
    RunBundle.open(bundle.path).verify()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.unpack_archive(packed.stdout.strip(), elsewhere)
    told = json.loads(assay("tag", "last", "--runs", elsewhere, "--json", check=0).stdout)
    assert (told["tags"], told["note"]) == (["b"], "one\ntwo")


def test_what_cannot_be_said_of_a_run_is_bad_input(assay: Assay) -> None:
    bundle = begun(assay.runs)
    for words in (
        ("--name", "last"),
        ("--name", "last~1"),
        ("--name", bundle.run_id),
        ("--tag", "a b"),
        ("--untag", "never"),
        ("--note", "x" * 1001),
    ):
        done = assay("tag", "last", *words, check=2)
        assert len(done.stderr.splitlines()) == 1
    (bundle.path / "remarks.json").write_text("{")
    assert "Remove that file" in assay("tag", "last", "--tag", "a", check=2).stderr
    assert listed(assay)[bundle.run_id]["state"] == "unfinished"


def test_the_list_fits_and_is_cut_nowhere_in_a_pipe(assay: Assay, tmp_path: Path) -> None:
    runs = [begun(assay.runs, name="a rather long name of a load") for _ in range(3)]
    for run in runs:
        run.seal()
    assay("tag", "last~1", "--name", "baseline", "--tag", "nvme", check=0)

    piped = assay("ls", check=0).stdout.splitlines()
    on_terminal = on_a_terminal(assay, ["ls"], tmp_path, columns=80).splitlines()

    assert len(piped) == 4
    assert [line.split()[0] for line in piped[1:]] == [run.run_id for run in reversed(runs)]
    assert len(on_terminal) == 8
    assert max(map(len, on_terminal)) <= 80


def test_lines_of_json_while_a_run_goes_on_sum_up_to_its_answer(assay: Assay, place: Path, tmp_path: Path) -> None:
    load, lines = load_file(tmp_path, seconds="1s"), tmp_path / "lines"

    done = assay("run", load, place, "--no-report", "--json", "--live-json", lines)
    piped = assay("run", load, place, "--no-report", "--live-json", "-")

    of_file = [json.loads(line) for line in lines.read_text().splitlines()]
    kept = RunBundle.open(Path(json.loads(done.stdout)["run"]["bundle"])).intervals()
    assert done.returncode in {0, 1}
    for name in ("ops", "bytes", "errors"):
        assert sum(one[name] for line in of_file for one in line["operations"]) == kept[name].sum()
    assert sum(line["dt_s"] for line in of_file) == pytest.approx(of_file[-1]["t_s"], rel=0.01)
    assert {line["schema"] for line in map(json.loads, piped.stdout.splitlines())} == {"assay.live/1"}
    assert "reading" in piped.stderr
    assert "kept in" in piped.stderr


@pytest.mark.parametrize("command", ["vxbench -w write -i iosize=4k,iocount=4 {}/file", "bigdir 10 2 --dir {}"])
def test_beside_lines_on_standard_output_a_tools_text_goes_to_standard_error(
    assay: Assay, place: Path, command: str
) -> None:
    words = command.format(place).split()
    text = assay(*words, "--no-report").stdout
    for file in place.iterdir():
        if file.is_file():
            file.unlink()

    done = assay(*words, "--live-json=-", "--no-report")

    assert all(json.loads(line)["schema"] == "assay.live/1" for line in done.stdout.splitlines())
    assert text.split()[0] in done.stderr


def test_a_reader_of_lines_that_leaves_does_not_end_the_run(assay: Assay, place: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    load = load_file(tmp_path, seconds="3s")

    with subprocess.Popen(["head", "-n", "1", fifo], stdout=subprocess.PIPE, text=True) as reader:
        done = assay("run", load, place, "--no-report", "--json", "--live-json", fifo)
        assert reader.stdout is not None
        first = reader.stdout.read()

    assert done.returncode in {0, 1}
    assert json.loads(first)["schema"] == "assay.live/1"
    ends_s = RunBundle.open(Path(json.loads(done.stdout)["run"]["bundle"])).intervals()["t_s"].to_list()
    assert max(ends_s) - min(ends_s) > 0.5  # of three seconds, long after the first line


def test_what_cannot_take_lines_is_bad_input_before_anything_is_done(assay: Assay, place: Path, tmp_path: Path) -> None:
    load = load_file(tmp_path, seconds="1s")
    for words in (
        ("--live-json", "-", "--json"),
        ("--live-json", tmp_path / "absent" / "a"),
        ("--live-json", tmp_path),
    ):
        done = assay("run", load, place, "--no-report", *words, check=2)
        assert "--live-json" in done.stderr

    assert not assay.runs.exists()
    assert list(place.iterdir()) == []


def test_the_throughput_over_time_is_one_command_away(assay: Assay, tmp_path: Path) -> None:
    bundle = begun(assay.runs, ticks=4)
    bundle.seal()
    label = json.loads(assay("show", "last", "--json").stdout)["results"][0]["label"]

    done = assay("export", "last", "--csv", tmp_path / "tables", "--parquet", tmp_path / "tables", check=0)
    explained = assay("explain", "last", label, check=0)

    assert [Path(line).name for line in done.stdout.splitlines()] == [
        "results.csv",
        "over_time.csv",
        "marks.csv",
        "results.parquet",
        "over_time.parquet",
        "marks.parquet",
    ]
    with (tmp_path / "tables" / "over_time.csv").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["label"] == label]
    assert [float(row["t_s"]) for row in rows] == [0.2, 0.4, 0.6, 0.8]
    assert all(float(row["bytes_per_s"]) == pytest.approx(int(row["bytes"]) / 0.2) for row in rows)
    assert explained.stdout.startswith("row 1")
    assay("explain", "last", "no/such", check=2)
    assay("export", "last", "--csv", tmp_path / "tables.csv", check=2)
    assay("export", "last", "--parquet", bundle.path, check=2)
