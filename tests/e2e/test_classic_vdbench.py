"""Does `assay vdbench` do what its parameter file says, and print what was measured?"""

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.bundle import RunBundle
from e2e.command import Assay
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.throttle import blkio_limit

LIMIT = 1000
SIGMAS = 5


def document(assay: Assay) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(assay("show", "last", "--json").stdout)
    return shown


def flat(folder: Path) -> list[dict[str, str]]:
    """Lines of a flatfile by the names of its columns."""
    lines = [line for line in (folder / "flatfile.html").read_text().splitlines() if line and line[0] not in "*<"]
    names = lines[0].split()
    return [dict(zip(names, line.split(), strict=True)) for line in lines[1:]]


def means(folder: Path) -> dict[str, dict[str, str]]:
    return {row["Run"]: row for row in flat(folder) if row["Interval"].startswith("avg_")}


def counts(assay: Assay) -> dict[str, tuple[int, int]]:
    """Operations and bytes of the whole of the last run, by operation."""
    found: dict[str, tuple[int, int]] = {}
    for row in RunBundle.open(Path(document(assay)["run"]["bundle"])).intervals().iter_rows(named=True):
        ops, moved = found.get(row["operation"], (0, 0))
        found[row["operation"]] = (ops + row["ops"], moved + row["bytes"])
    return found


def near(part: int, whole: int, share: float) -> bool:
    """Whether a count of independent draws is what its share lets expect."""
    return abs(part - whole * share) <= SIGMAS * math.sqrt(whole * share * (1 - share))


@pytest.fixture
def slow_disk() -> Iterator[Path]:
    with tmpfs(640 * MIB) as memory, loop_device(576 * MIB, backing=memory) as device:
        yield device


@pytest.mark.quiet
@pytest.mark.held
@pytest.mark.testbed
def test_a_curve_turns_up_at_the_rate_that_the_device_is_held_to(assay: Assay, slow_disk: Path, tmp_path: Path) -> None:
    load = tmp_path / "load"
    with filesystem(slow_disk) as place, blkio_limit(slow_disk, read_iops=LIMIT) as limit:
        load.write_text(
            f"sd=sd1,lun={place}/disk,size=64m,threads=8,openflags=o_direct\nwd=wd1,sd=sd1,xfersize=4k\n"
            "rd=rd1,wd=wd1,iorate=curve,curve=(20,80,150),elapsed=6,interval=1,distribution=deterministic\n"
        )
        out = tmp_path / "out"
        done = assay("vdbench", "-f", load, "-o", out, "--no-report", prefix=limit.prefix)

    assert done.returncode in {0, 1}, done.stderr
    found = means(out)
    rate = {name: float(row["rate"]) for name, row in found.items()}
    waited = {name: float(row["resp"]) for name, row in found.items()}
    # The throttle hands its tokens out every 0.1 s: over 5 s a rate is known to 2 %.
    assert rate["rd1"] == pytest.approx(LIMIT, rel=0.04)
    # 8 threads of which each waits for its turn: Little's law.
    assert waited["rd1"] == pytest.approx(8 / rate["rd1"] * 1e3, rel=0.05)
    for share in (20, 80):
        asked = float(found[f"rd1_({share}%)"]["reqrate"])
        assert asked == pytest.approx(share / 100 * rate["rd1"], rel=0.04)
        assert rate[f"rd1_({share}%)"] == pytest.approx(asked, rel=0.03)
        assert waited[f"rd1_({share}%)"] < waited["rd1"] / 2
    assert rate["rd1_(150%)"] == pytest.approx(LIMIT, rel=0.04)
    assert waited["rd1_(150%)"] > 0.8 * waited["rd1"]


def test_skew_reads_and_sizes_come_as_often_as_their_shares_say(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "load").write_text(
        f"sd=sd1,lun={tmp_path}/one,size=8m\nsd=sd2,lun={tmp_path}/two,size=8m\n"
        "wd=a,sd=sd1,skew=30,rdpct=75,xfersize=(4k,30,8k,70)\nwd=b,sd=sd*,rdpct=0,xfersize=4k\n"
        "rd=r,wd=*,iorate=max,elapsed=2,interval=1\n"
    )

    done = assay("vdbench", "-f", tmp_path / "load", "--no-report")

    assert done.returncode in {0, 1}, done.stderr
    found = counts(assay)
    whole = sum(ops for ops, _ in found.values())
    assert whole > 1000
    of_a = found["a read"][0] + found["a write"][0]
    assert near(of_a, whole, 0.3)
    assert near(found["a read"][0], of_a, 0.75)
    ops, moved = found["a read"]
    large = (moved - 4096 * ops) // 4096
    assert near(large, ops, 0.7)
    assert found["b write"][1] == 4096 * found["b write"][0]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_threads_follow_one_stream_reads_and_writes_in_turn(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "load").write_text(
        f"sd=sd1,lun={tmp_path}/one,size=1m,threads=3\nwd=a,sd=sd1,seekpct=seq,rdpct=50,xfersize=64k\n"
        "rd=r,wd=a,iorate=400,elapsed=2,interval=1\n"
    )
    calls = tmp_path / "calls"
    calls.mkdir()

    strace = ("strace", "-ff", "-qq", "-e", "trace=pread64,pwrite64", "-o", str(calls / "of"))
    done = assay("vdbench", "-f", tmp_path / "load", "--no-report", prefix=strace)

    assert done.returncode in {0, 1}, done.stderr
    text = "".join(path.read_text() for path in calls.iterdir())
    made = re.findall(r"(pread64|pwrite64)\(\d+, .*, 65536, (\d+)\) = 65536", text)
    blocks = Counter(int(offset) // 65_536 for _, offset in made)
    assert set(blocks) == set(range(16))
    # Each round meets each block once; what laid the file out went over it in whole rounds.
    assert max(blocks.values()) - min(blocks.values()) <= 1
    found = counts(assay)
    whole = found["a read"][0] + found["a write"][0]
    assert sum(name == "pread64" for name, _ in made) == found["a read"][0]
    assert near(found["a read"][0], whole, 0.5)


def test_a_file_that_is_opened_is_read_to_its_end(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "load").write_text(
        f"fsd=fsd1,anchor={tmp_path},depth=2,width=2,files=3,size=34k\n"
        "fwd=fwd1,fsd=fsd1,operation=read,xfersize=4k,fileio=seq,fileselect=random,threads=2\n"
        "rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=2,interval=1\n"
    )
    out = tmp_path / "out"

    done = assay("vdbench", "-f", tmp_path / "load", "-o", out, "--no-report")

    assert done.returncode in {0, 1}, done.stderr
    files = [path for path in (tmp_path / "assay-data").rglob("f*") if path.is_file()]
    assert sorted(path.stat().st_size for path in files) == [34 * 1024] * 12
    found = counts(assay)
    # 8 whole pieces and one of 2 KiB; each of the two threads may be in the middle of a file at either end.
    assert abs(found["read"][0] - 9 * found["open"][0]) <= 4 * 9
    assert abs(found["read"][1] - 34 * 1024 * found["open"][0]) <= 4 * 34 * 1024
    assert "Reqstd" in done.stdout
    assert (out / "summary.html").read_text() == f"<pre>\n{done.stdout}</pre>\n"


def test_a_device_that_is_not_there_is_refused_and_a_directory_stands_for_it(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "load").write_text("sd=sd1,lun=/dev/no-sdb\nwd=w,sd=sd1\nrd=r,wd=w,iorate=50,elapsed=2,interval=1\n")

    refused = assay("vdbench", "-f", tmp_path / "load", "--size", "1m", check=2)
    done = assay("vdbench", "-f", tmp_path / "load", "--size", "1m", "--dir", tmp_path, "--no-report")

    assert "load:1: sd=sd1: lun=/dev/no-sdb: No such file" in refused.stderr
    assert done.returncode in {0, 1}, done.stderr
    assert "Starting RD=r; I/O rate: 50; elapsed=2; For loops: None" in done.stdout
