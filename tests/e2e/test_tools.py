"""Every tool of the registry: its run again, and its output from the record, are what the first run gave."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assay.tools import registry
from e2e.command import NOBODY, Assay
from unit.test_worksheet import biff_cells

IS_ROOT = os.geteuid() == 0
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?|\+{3,5}|n/a|\binf\b")
UNIT = re.compile(
    r"(?<=#)[kmgMG]\b|(?<=#)[kKMGT]?i?B\b|(?<=\()[num]sec(?=\))"
    r"|(?<=# )(ns|us|µs|ms|s|min|KiB|MiB|GiB|kilobytes|megabytes|bytes)\b|(?<=#)(us|ms|s)\b"
)


@dataclass(frozen=True)
class Case:
    """A command line, run in a directory of its own."""

    tool: str
    words: str
    files: Mapping[str, str] = field(default_factory=dict)
    """What has to be there before."""
    writes: tuple[str, ...] = ()
    """Files that are written beside the text, in the current directory."""
    rerun: str = ""
    """Words of the rerun."""
    keeps: tuple[str, ...] = ()
    """What stays there, because the tool leaves its files."""


BONNIE = ("-u root " if IS_ROOT else "") + "-r 0 -s 2 -n 1 -f -m box"
FIO_JOB = "[global]\nsize=1m\n[a]\nrw=randread\nioengine=io_uring\niodepth=4\n[b]\nioengine=filestat\nnrfiles=9\n"
SHORT = "set number 20\nset transactions 60\n"
MAIL = """
set $mails=40
define fileset name=box,path=/tmp,entries=$mails,size=4k,prealloc=50
define process name=server { thread name=session,instances=2 {
  flowop createfile name=make,filesetname=box,fd=1
  flowop writewholefile name=fill,fd=1
  flowop closefile name=close,fd=1
  flowop deletefile name=drop,filesetname=box
  flowop hog name=think,value=1000
} }
"""
CASES = (
    Case(
        "iozone",
        "-s 256 -r 16 -i 0 -i 1 -f file -R -b sheet.xls -Q",
        writes=("sheet.xls", "wol.dat", "rwol.dat", "rol.dat", "rrol.dat"),
    ),
    Case("iozone", "-t 2 -s 128 -r 32 -i 0 -i 1 -R -b sheet.xlsx -C", writes=("sheet.xlsx",)),
    Case("bonnie", BONNIE),
    Case("bonnie", f"{BONNIE} -q"),
    Case("bonnie", f"{BONNIE} -x 2 --format 1.03"),
    Case("postmark", "asked", {"asked": f"{SHORT}run\nquit\n"}),
    Case("postmark", "asked", {"asked": f"{SHORT}run report\nquit\n"}, writes=("report",)),
    Case("postmark", "asked", {"asked": "set number 3\nset bias create 0\nset bias read -1\nrun\nquit\n"}),
    Case("vxbench", "-v -w write,read -i iosize=16k,iocount=16,nthreads=2,remove one two"),
    Case(
        "vdbench",
        "-f load -e 2 -i 1 -o .",
        {"load": "sd=sd1,lun=disk,size=1m,threads=2\nwd=wd1,sd=sd1,rdpct=50\nrd=rd1,wd=wd1,iorate=curve,curve=(50)\n"},
        writes=("summary.html", "flatfile.html"),
        keeps=("assay-data",),
    ),
    Case(
        "vdbench",
        "-f load",
        {
            "load": "fsd=fsd1,anchor=tree,depth=1,width=2,files=3,size=8k\nfwd=fwd1,fsd=fsd1,operations=(getattr,read)\n"
            "rd=rd1,fwd=fwd1,fwdrate=100,format=yes,elapsed=2,interval=1\n"
        },
        keeps=("assay-data",),
    ),
    Case("perfpl", "4096 2 20 10 2 --fsync"),
    Case("perfpl", "4096 2 5 10 1 --mode fork", rerun="--allow-commands"),
    Case("filebench", "-f mail.f --time 1 --set mails=20", {"mail.f": MAIL}),
    Case(
        "filebench", "-f mail.f --allow-commands", {"mail.f": f'system "true"\n{MAIL}run 1\n'}, rerun="--allow-commands"
    ),
    Case(
        "fio", "--name=a --rw=randrw --size=1m --numjobs=2 --group_reporting --name=b --stonewall --rw=write --size=1m"
    ),
    Case("fio", "job.fio --output=said.json --output-format=json", {"job.fio": FIO_JOB}, writes=("said.json",)),
    Case("bigdir", "60 5 --clients 2 --files"),
)


def masked(text: str) -> str:
    """A text without its numbers and their units, and without blanks, which follow the width of numbers."""
    text = NUMBER.sub("#", text)
    text = UNIT.sub("", text)
    return re.sub(r"(?<=[\[=]) ", "", re.sub(r"[ \t]+", " ", text))


def written(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Words of files, which are taken away."""
    found = {}
    for name in names:
        content = (folder / name).read_bytes()
        (folder / name).unlink()
        if name.endswith(".xls"):
            found[name] = masked(str(biff_cells(content)))
        elif name.endswith(".xlsx"):
            with zipfile.ZipFile(io.BytesIO(content)) as parts:
                found[name] = masked("".join(parts.read(part).decode() for part in parts.namelist()))
        else:
            found[name] = masked(content.decode())
    return found


def test_every_tool_has_a_case() -> None:
    assert {case.tool for case in CASES} == set(registry.TOOLS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.tool} {case.words}")
def test_a_rerun_and_a_second_look_give_what_the_first_run_gave(case: Case, assay: Assay, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for name, text in case.files.items():
        (place / name).write_text(text)

    first = assay(case.tool, *shlex.split(case.words), "--no-report", cwd=place)
    files = written(place, case.writes)
    shown = assay("show", "last", "--classic", cwd=place, check=0)
    again = assay("rerun", "last", "--no-report", *shlex.split(case.rerun), cwd=place)

    assert {first.returncode, again.returncode} <= {0, 1}, first.stderr + again.stderr
    # What PostMark's conversation says before `run` is no part of the run.
    text = first.stdout[first.stdout.index("Creating files") :] if case.tool == "postmark" else first.stdout
    assert shown.stdout == text
    # These two have more to say than a log of a run has room for.
    assert shown.stderr in first.stderr or case.tool in {"perfpl", "bigdir"}
    assert masked(again.stdout) == masked(text)
    # A rerun writes no file that a run names: it says where their content can be had.
    assert sorted(path.name for path in place.iterdir()) == sorted([*case.files, *case.keeps])
    for name in case.writes:
        assert f"{name}: not written" in again.stderr
    if case.writes:
        assay("export", "last", "--files", "there", cwd=place, check=0)
        assert written(place / "there", case.writes) == files
        assert list((place / "there").iterdir()) == []


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to become the user nobody")
def test_a_rerun_works_as_the_user_of_the_first_run(assay: Assay) -> None:
    # Not under tmp_path: pytest closes its folders to other users.
    with tempfile.TemporaryDirectory(prefix="assay-nobody-") as place:
        os.chown(place, NOBODY, NOBODY)
        first = assay("bonnie", "-d", place, "-r", "0", "-s", "0", "-n", "1", "-u", "nobody", "--no-report")
        again = assay("rerun", "last", "--no-report")

    assert {first.returncode, again.returncode} <= {0, 1}, first.stderr + again.stderr
    users = []
    for run in sorted(path for path in assay.runs.iterdir() if path.is_dir()):
        said = json.loads((run / "events" / "0.json").read_text())
        users.append(next(event["engine"]["uid"] for event in said if event["event"] == "hello"))
    assert users == [NOBODY, NOBODY]


def test_a_gate_is_in_the_plan_and_a_rerun_waits_at_it(assay: Assay, tmp_path: Path) -> None:
    words = shlex.split(BONNIE.replace("-s 2", "-s 0"))
    first = assay("bonnie", "-d", tmp_path, *words, "-y", "p", "--no-report")
    again = assay("rerun", "last", "--no-report")

    assert {first.returncode, again.returncode} <= {0, 1}, first.stderr + again.stderr
    for done in (first, again):
        assert [line for line in done.stdout.splitlines() if re.fullmatch(r"\d+:", line)] == [
            "6:", "7:", "8:", "9:", "10:", "11:",
        ]  # fmt: skip


def test_a_tool_prints_its_text_where_nothing_that_draws_is_installed(tmp_path: Path) -> None:
    without = "import sys; sys.modules['vl_convert'] = None; from assay.cli import main; main()"
    words = ["bigdir", "60", "5", "--files", "--runs", str(tmp_path / "runs")]

    command = [sys.executable, "-c", without, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode in {0, 1}, done.stderr
    assert done.stdout.startswith("Iterations, MkDirOpTime(ms)")
    assert "No report: report: the Python package 'vl_convert' is not installed" in done.stderr
