"""`assay filebench` through the installed command: what a script does against what lies on the disk."""

import re
from pathlib import Path

import pytest

from e2e.command import Assay

LOG = """
set $count=100
set mode quit firstdone
define file name=log,path=/data,size=0,prealloc,reuse
define process name=writer {
  thread name=writer {
    flowop appendfile name=add,filename=log,iosize=4k
    flowop finishoncount name=enough,value=$count,target=add
  }
}
run
"""
BOX = """
define fileset name=box,path={path},entries=20,size=4k,dirwidth=5,prealloc
define process name=reader {{
  thread name=reader,instances=2 {{
    flowop openfile name=open,filesetname=box,fd=1
    flowop readwholefile name=read,fd=1,iosize=1m
    flowop closefile name=close,fd=1
  }}
}}
run 1
"""


def operations(text: str) -> dict[str, int]:
    """Operations of each flowop, as printed."""
    return {name: int(count) for name, count in re.findall(r"^(\S+) +(\d+)ops ", text, re.MULTILINE)}


def test_what_was_appended_lies_on_the_disk(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "log.f").write_text(LOG)

    run = assay("filebench", "-f", "log.f", "--no-report", cwd=tmp_path)

    (kept,) = (tmp_path / "assay-data").glob("filebench-log-*/f*")
    # The open that the first append makes counts as one of its operations.
    counted = operations(run.stdout)["add"]
    assert kept.stat().st_size == (counted - 1) * 4096
    assert counted == 101
    assert "the count to finish on was reached" in run.stderr


def test_a_pass_does_each_of_its_flowops_as_often(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "box.f").write_text(BOX.format(path="/data"))

    counts = operations(assay("filebench", "-f", "box.f", "--no-report", cwd=tmp_path).stdout)

    # Two threads may each be within a pass at the end.
    assert list(counts) == ["close", "read", "open"]
    assert counts["read"] > 0
    assert max(counts.values()) - min(counts.values()) <= 2


def test_the_paths_of_a_script_are_touched_by_nobody(assay: Assay, tmp_path: Path) -> None:
    place, theirs = tmp_path / "place", tmp_path / "theirs"
    place.mkdir()
    (theirs / "box").mkdir(parents=True)
    (theirs / "box" / "letter").write_text("dear")
    (place / "box.f").write_text(BOX.format(path=theirs))

    assay("filebench", "-f", "box.f", "--no-report", cwd=place)

    assert [path.name for path in theirs.rglob("*")] == ["box", "letter"]
    assert (theirs / "box" / "letter").read_text() == "dear"
    assert [path.name for path in place.iterdir()] == ["box.f"]


def test_a_fault_ends_with_2_and_says_where(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "wrong.f").write_text(BOX.format(path="/data").replace("readwholefile", "readhalffile"))

    refused = assay("filebench", "-f", "wrong.f", cwd=tmp_path, check=2)

    assert "wrong.f:6: syntax error near 'flowop readhalffile'" in refused.stderr
    assert refused.stdout == ""
    assert [path.name for path in tmp_path.iterdir() if path.name == "assay-data"] == []


@pytest.mark.parametrize("command", ['system "touch {}"', "!touch {}"])
def test_commands_run_only_where_they_are_allowed(command: str, assay: Assay, tmp_path: Path) -> None:
    made = tmp_path / "made"
    (tmp_path / "box.f").write_text(f"{command.format(made)}\n{BOX.format(path='/data')}")

    refused = assay("filebench", "-f", "box.f", "--no-report", cwd=tmp_path, check=2)
    assert "box.f:1:" in refused.stderr
    assert "--allow-commands" in refused.stderr
    assert not made.exists()

    assay("filebench", "-f", "box.f", "--no-report", "--allow-commands", cwd=tmp_path)
    assert made.exists()
