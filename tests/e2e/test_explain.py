"""`assay explain`, and energy from a meter's file, through the installed command."""

import json
from pathlib import Path

import pytest

from e2e.command import Assay

LOAD = """
name = "explained"
[[file_set]]
name = "data"
size = "4MiB"

[[phase]]
name = "read"
seconds = 1
[[phase.job]]
op = { op = "read", set = "data", access = "random", size = "4KiB" }
"""


@pytest.fixture(scope="module")
def assay(tmp_path_factory: pytest.TempPathFactory) -> Assay:
    """The command, with one run of one row of about a second."""
    folder = tmp_path_factory.mktemp("explained")
    (folder / "load.toml").write_text(LOAD)
    (folder / "measured").mkdir()
    made = Assay(runs=folder / "runs")
    made("run", folder / "load.toml", folder / "measured", "--no-report")
    return made


def test_a_row_is_explained_with_the_number_of_the_table(assay: Assay) -> None:
    (result,) = json.loads(assay("show", "--json", check=0).stdout)["results"]

    told = assay("explain", "last", "1", check=0).stdout

    assert told.startswith("row 1")
    assert f"{result['ops']:,} operations" in " ".join(told.split())
    assert f"trust     {result['trust']['level']}" in told


def test_every_finding_of_a_run_is_explained(assay: Assay) -> None:
    document = json.loads(assay("show", "--json", check=0).stdout)
    found = [*document["findings"], *(finding for result in document["results"] for finding in result["findings"])]

    for id_ in dict.fromkeys(finding["id"] for finding in found):
        assert assay("explain", "last", id_, check=0).stdout.startswith(f"finding   {id_}\n")
        assert id_ in assay("explain", check=0).stdout


@pytest.mark.parametrize(("about", "there"), [("2", "it has rows 1 to 1"), ("nothing", "it has: ")])
def test_what_is_not_there_is_bad_input(assay: Assay, about: str, there: str) -> None:
    assert there in assay("explain", "last", about, check=2).stderr


def test_thresholds_need_no_run(tmp_path: Path) -> None:
    assert "RUN_DELAY_SHARE = 0.1" in Assay(runs=tmp_path)("explain", "--thresholds", check=0).stdout


def test_a_meter_that_reads_the_same_all_the_time_gives_joules_by_operations(assay: Assay, tmp_path: Path) -> None:
    before = json.loads(assay("show", "--json", check=0).stdout)
    run = Path(before["run"]["bundle"])
    (hello,) = [event for event in json.loads((run / "events/0.json").read_text()) if event["event"] == "hello"]
    begun_s = hello["clock"]["realtime_at_zero_ns"] / 1e9
    readings = "".join(f"{begun_s - 5 + second / 20:.3f},200\n" for second in range(20 * 90))
    (tmp_path / "meter.csv").write_text(f"time,watts\n{readings}")

    (result,) = json.loads(assay("show", "--json", "--energy", tmp_path / "meter.csv", check=0).stdout)["results"]

    expected = 200 * result["seconds"] / result["ops"]
    assert result["efficiency"]["joules_per_op"] == pytest.approx(expected)
    assert before["results"][0]["efficiency"]["joules_per_gib"] != result["efficiency"]["joules_per_gib"]


def test_a_file_that_is_no_meters_is_bad_input(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "meter.csv").write_text("seconds;power\n")

    said = assay("report", "--energy", tmp_path / "meter.csv", "-o", tmp_path / "r.html", check=2).stderr

    assert "its columns need names" in said
    assert not (tmp_path / "r.html").exists()
