"""Do loads do what they say? What is counted is held against the names, lengths and times that are there afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.bundle import RunBundle
from assay.events import PhaseFinished
from e2e.command import Assay, Measure

KEPT_SET = """
[[file_set]]
name = "files"
files = 40
size = "4KiB"
existing_share = {share}
keep = true
"""

SCRIPT = """
name = "script"
{file_set}
[[phase]]
name = "replay"
[[phase.job]]
[phase.job.script]
path = "replay.ndjson"
ops = [
    {{ op = "create", set = "files", slot = 0 }},
    {{ op = "write", slot = 0, size = "1KiB" }},
    {{ op = "close", slot = 0 }},
]
"""

GROUPS = """
name = "groups"
{file_set}
[[phase]]
name = "replay"
[[phase.job]]
timed = ["make", "look"]
[phase.job.script]
path = "replay.ndjson"
[[phase.job.script.groups]]
name = "make"
chunk = "1KiB"
ops = [
    {{ op = "create", set = "files", slot = 0 }},
    {{ op = "write", slot = 0, size = "1KiB" }},
    {{ op = "close", slot = 0 }},
]
[[phase.job.script.groups]]
name = "look"
ops = [{{ op = "open", set = "files", slot = 0 }}, {{ op = "read", slot = 0, size = "1KiB" }}]
"""

MOVES = """
name = "moves"
{file_set}
[[phase]]
name = "move"
[[phase.job]]
stop = {{ passes = 25 }}
loop = [
    {{ op = "rename", set = "files" }},
    {{ op = "link", set = "files" }},
    {{ op = "unlink", set = "files" }},
]
"""

PACED = """
name = "paced"
{file_set}
[[phase]]
name = "look"
[[phase.job]]
workers = 3
stop = {{ passes = 50 }}
loop = [{{ token = "looks", rate_per_s = 100.0, unit = "event" }}, {{ op = "stat", set = "files" }}]
"""


def test_a_line_of_a_script_does_a_group_of_operations_and_a_rerun_needs_the_bundle_alone(
    measure: Measure, assay: Assay, tmp_path: Path
) -> None:
    directory = tmp_path / "measured"
    directory.mkdir()
    listed = tmp_path / "replay.ndjson"
    listed.write_text("[0,7,0,3000,0]\n[0,9,0,1024,0]\n[1,7,1000,2000,0]\n")

    first = measure(GROUPS.format(file_set=KEPT_SET.format(share=0.0)), directory)
    listed.unlink()
    again = json.loads(assay("rerun", "last", "--json").stdout)

    for document in (first, again):
        counted = {
            result["operation"]: (result["ops"], result["bytes"])
            for result in document["results"]
            if result["operation"] != "*"
        }
        assert counted == {"make": (2, 4024), "look": (1, 2000)}
    assert first["run"]["id"] != again["run"]["id"]
    lengths = {path.name: path.stat().st_size for path in (directory / "assay-data" / "files").glob("f*")}
    assert lengths == {"f00000007": 3000, "f00000009": 1024}
    assert "script" not in assay("diff", first["run"]["id"], again["run"]["id"]).stdout


def test_a_script_makes_the_files_that_its_lines_name(measure: Measure, tmp_path: Path) -> None:
    lengths = {3: 700, 17: 5000, 38: 4096}
    lines = [
        line
        for index, length in lengths.items()
        for line in (f"[0,{index},0,0,0]", f"[1,0,{length - 100},100,0]", "[2,0,0,0,0]")
    ]
    (tmp_path / "replay.ndjson").write_text("\n".join(lines))

    document = measure(SCRIPT.format(file_set=KEPT_SET.format(share=0.0)), _directory(tmp_path))

    assert _ops(document) == {"create": 3, "write": 3, "close": 3}
    assert {int(path.name[1:]): path.stat().st_size for path in _files(tmp_path)} == lengths


def test_renames_and_links_leave_as_many_names_as_there_were(measure: Measure, tmp_path: Path) -> None:
    document = measure(MOVES.format(file_set=KEPT_SET.format(share=0.5)), _directory(tmp_path))

    assert _ops(document) == {"rename": 25, "link": 25, "unlink": 25}
    assert len(_files(tmp_path)) == 20
    assert {path.stat().st_size for path in _files(tmp_path)} == {4096}


def test_workers_that_share_tokens_keep_to_one_rate(measure: Measure, tmp_path: Path) -> None:
    document = measure(PACED.format(file_set=KEPT_SET.format(share=1.0)), _directory(tmp_path))

    assert _ops(document)["stat"] == 150
    # The last of them comes 149 times 1/100 s after the start; with a rate for each worker, a third of that.
    events = RunBundle.open(Path(document["run"]["bundle"])).events()
    (finished,) = (event for event in events if isinstance(event, PhaseFinished))
    assert max(worker.last_op_ns or 0 for worker in finished.workers) - finished.start_ns >= 1.49e9


def _directory(tmp_path: Path) -> Path:
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


def _files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "target").glob("assay-data/files/f*"))


def _ops(document: dict[str, Any]) -> dict[str, int]:
    assert all(result["errors"] == 0 for result in document["results"])
    return {result["operation"]: result["ops"] for result in document["results"] if result["operation"] != "*"}


def test_work_that_is_not_timed_is_in_no_window(measure: Measure, tmp_path: Path) -> None:
    document = measure(
        """
name = "window"
[[file_set]]
name = "data"
size = "64KiB"
[[phase]]
name = "one"
[[phase.job]]
timed = ["read"]
stop = { passes = 1 }
loop = [
  { kind = "repeat", times = 5000, actions = [{ op = "stat", set = "data" }] },
  { op = "read", set = "data", access = "sequential", size = "4KiB" },
  { kind = "repeat", times = 5000, actions = [{ op = "stat", set = "data" }] },
]
""",
        tmp_path,
    )

    [result] = document["results"]
    assert (result["operation"], result["ops"]) == ("read", 1)
    assert result["seconds"] == pytest.approx(result["latency_ns"]["mean"] / 1e9, rel=1e-6)
