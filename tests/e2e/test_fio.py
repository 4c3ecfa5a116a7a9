"""`assay fio` against fio itself and against closed forms: bytes done, blocks drawn, files, what its JSON says."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.decode.readers import fio as reader
from e2e.command import Assay

TOTALS = (
    "--rw=write --bs=12k --size=1m",
    "--rw=randwrite --bs=12k --size=1m",
    "--rw=randrw --bs=12k --size=1m --norandommap",
    "--rw=rw --bs=12k --size=1m",
    "--rw=write --size=1m --nrfiles=3",
    "--rw=randrw --size=1m --nrfiles=3 --rwmixread=70",
    "--rw=write --size=1m --io_size=500000",
    "--rw=randwrite --size=1m --io_size=3m --bs=12k",
    "--rw=randread --size=1m --offset=256k --filesize=1m",
    "--rw=write --size=1m --loops=3 --bs=12k",
    "--rw=read:-8k --size=1m",
    "--rw=write:4k --size=1m",
    "--rw=write --size=1m --numjobs=2 --offset_increment=256k",
    "--rw=write --size=1m --number_ios=10",
    "--rw=randread --size=2m --filesize=1m --nrfiles=4 --file_service_type=random",
    "--rw=read --size=2m --nrfiles=4 --file_service_type=sequential",
    "--rw=write --size=1m --fsync=16 --end_fsync=1",
    "--rw=write --size=1m --ioengine=mmap",
    "--rw=write --ioengine=filecreate --nrfiles=20 --filesize=4k --size=80k",
    "--rw=write --ioengine=filestat --nrfiles=20 --filesize=4k --size=80k",
    "--rw=write --ioengine=filedelete --nrfiles=20 --filesize=4k --size=80k",
    "--rw=randread --size=1m --ioengine=null --iodepth=4",
    "--rw=randtrim --size=1m --ioengine=null --norandommap",
    "--rw=write --size=1m --ioengine=falloc",
    "--rw=randtrim --size=1m --ioengine=falloc --bs=8k",
    "--rw=randwrite --size=1m --ioengine=ftruncate --norandommap --number_ios=100",
    "--rw=write --size=1m --verify=crc32c --verify_backlog=16",
    "--rw=write --size=1m --bs=12k --verify=crc32c --verify_backlog=1",
    "--rw=write:12k --size=1m --io_size=128k --loops=2 --verify=crc32c --verify_backlog=4",
    "--rw=write:12k --size=1m --io_size=128k --loops=3",
)
"""Jobs of one block size: each has its number of bytes, whoever does it."""


def run(assay: Assay, words: str, folder: Path) -> list[dict[str, Any]]:
    done = assay("fio", "--name=x", *words.split(), "--output-format=json", "--no-report", cwd=folder)
    assert done.returncode in {0, 1}, done.stderr
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return jobs


def totals(jobs: list[dict[str, Any]]) -> list[tuple[int, int]]:
    ways = ("read", "write", "trim")
    return [(sum(job[way]["io_bytes"] for way in ways), sum(job[way]["total_ios"] for way in ways)) for job in jobs]


@pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")
@pytest.mark.parametrize("words", TOTALS)
def test_a_job_does_as_many_bytes_as_with_fio(words: str, assay: Assay, tmp_path: Path) -> None:
    (theirs := tmp_path / "fio").mkdir()
    command = ["fio", "--name=x", *words.split(), "--output-format=json"]
    done = subprocess.run(command, cwd=theirs, capture_output=True, text=True, check=True)

    jobs = run(assay, words, tmp_path)

    assert totals(jobs) == totals(json.loads(done.stdout[done.stdout.index("{") :])["jobs"])


CALLS = (
    ("--rw=write --size=256k --ioengine=ftruncate", "ftruncate", 64),
    ("--rw=write --size=256k --ioengine=falloc", "fallocate", 64),
    ("--rw=trim --size=256k --ioengine=falloc", "fallocate", 64),
    ("--rw=write --size=64k --verify=crc32c --verify_backlog=4", "pwrite64,pread64", 32),
    ("--rw=write:12k --size=256k --io_size=32k --loops=2 --verify=crc32c --verify_backlog=2", "pwrite64,pread64", 32),
    ("--rw=write:12k --size=256k --io_size=32k --loops=5", "pwrite64", 40),
)
"""Jobs whose I/Os go in an order that is known, the calls that they make, and how many."""
_CALL = re.compile(r" (\w+)\(\d+<[^>]*/(?:x\.0\.0|f0+)>, (.*?)\) += \d+$")
_UNFINISHED = " <unfinished ...>"
_RESUMED = re.compile(r"^\d+ +<\.\.\. \w+ resumed>")
_MOVED = re.compile(r'^".*"(\.\.\.)?, ')


def calls_on_the_file(trace: Path) -> list[tuple[str, str]]:
    """The calls on the file of a job, with their numbers: of what is moved, its size and place."""
    found = [_CALL.search(line) for line in _whole_calls(trace.read_text().splitlines())]
    return [(one[1], _MOVED.sub("", one[2])) for one in found if one]


def _whole_calls(lines: Sequence[str]) -> Iterator[str]:
    """Put the two halves of a call together that strace wrote when another thread made one meanwhile; in order of begin."""
    for number, line in enumerate(lines):
        if line.endswith(_UNFINISHED):
            process = line.split()[0]
            rest = next((other for other in lines[number + 1 :] if other.split()[0] == process), "")
            yield line.removesuffix(_UNFINISHED) + _RESUMED.sub("", rest)
        elif not _RESUMED.match(line):
            yield line


def of_the_job(calls: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """The calls of its I/Os alone: blocks of 4 KiB, or the last ones; laying out and verifying has larger ones."""
    if calls and calls[0][0] in {"pwrite64", "pread64"}:
        return [call for call in calls if call[1].startswith("4096, ")]
    return calls[-count:]


@pytest.mark.skipif(shutil.which("fio") is None or shutil.which("strace") is None, reason="needs fio and strace")
@pytest.mark.parametrize(("words", "names", "count"), CALLS)
def test_the_calls_on_the_file_are_those_of_fio_in_its_order(
    words: str, names: str, count: int, assay: Assay, tmp_path: Path
) -> None:
    (theirs := tmp_path / "fio").mkdir()
    strace = ("strace", "-f", "-qq", "-y", "-s", "0", "-e", f"trace={names}", "-o")
    subprocess.run(
        [*strace, str(tmp_path / "fio.trace"), "fio", "--name=x", *words.split()],
        cwd=theirs,
        capture_output=True,
        check=True,
    )

    done = assay(
        "fio", "--name=x", *words.split(), "--no-report", cwd=tmp_path, prefix=(*strace, str(tmp_path / "our.trace"))
    )

    assert done.returncode in {0, 1}, done.stderr
    ours = of_the_job(calls_on_the_file(tmp_path / "our.trace"), count)
    assert len(ours) == count
    assert ours == of_the_job(calls_on_the_file(tmp_path / "fio.trace"), count)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(("moves_on", "blocks"), [(0, [2, 0, 1, 2, 0, 1]), (1, [2, 0, 1, 5, 3, 4])])
def test_a_sequence_of_blocks_is_gone_through_in_turn(
    moves_on: int, blocks: list[int], assay: Assay, tmp_path: Path
) -> None:
    words = "--rw=randread --bs=4k --size=48k --io_size=24k --random_distribution=sequence:2,0,1"
    strace = ("strace", "-f", "-qq", "-y", "-s", "0", "-e", "trace=pread64", "-o", str(tmp_path / "trace"))

    assay(
        "fio",
        "--name=x",
        *words.split(),
        f"--random_sequence_stride={moves_on}",
        "--no-report",
        cwd=tmp_path,
        prefix=strace,
    )

    # A later fio than 3.33 has the option, and says in its HOWTO which blocks these are.
    read = of_the_job(calls_on_the_file(tmp_path / "trace"), 6)
    assert read == [("pread64", f"4096, {4096 * block}") for block in blocks]


def run_file(assay: Assay, text: str, folder: Path) -> list[dict[str, Any]]:
    (job := folder / "jobs.fio").write_text(text)
    done = assay("fio", job, "--output-format=json", "--no-report", cwd=folder)
    assert done.returncode in {0, 1}, done.stderr
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return jobs


def run_theirs(text: str, folder: Path) -> list[dict[str, Any]]:
    (folder / "jobs.fio").write_text(text)
    command = ["fio", "jobs.fio", "--output-format=json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    jobs: list[dict[str, Any]] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    return jobs


EXITS = """\
[global]
filename=f
filesize=1m
bs=4k
exitall=1
time_based
runtime=60
[done]
rw=read
time_based=0
number_ios=10
thinktime=100000
exit_what={what}
[beside]
rw=randread
norandommap
thinktime=1000
[group]
new_group
rw=randread
norandommap
thinktime=1000
runtime={other_s}
exit_what=stonewall
"""


@pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")
@pytest.mark.parametrize(("what", "ended"), [("group", 2), ("stonewall", 3), ("all", 3)])
def test_a_job_that_is_done_ends_those_that_fio_ends(what: str, ended: int, assay: Assay, tmp_path: Path) -> None:
    (theirs := tmp_path / "fio").mkdir()
    other_s = 5
    text = EXITS.format(what=what, other_s=other_s)

    found = [run_file(assay, text, tmp_path), run_theirs(text, theirs)]

    for jobs in found:
        assert jobs[0]["read"]["total_ios"] == 10
        # A job that nobody ends has all its time. The first is done after a second: fio ends only jobs that have begun.
        assert sum(job["job_runtime"] < 1000 * other_s for job in jobs) == ended
        assert all(job["read"]["total_ios"] < 60_000 for job in jobs)


FLOW = """\
[global]
filename=f
size=4m
bs=4k
direct=1
ioengine=libaio
iodepth=8
norandommap
time_based
runtime=1
[one]
rw=write
flow=1
[eight]
rw=randread
flow=8
"""


@pytest.mark.quiet
@pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")
def test_jobs_with_flow_do_as_much_of_one_another_as_with_fio(assay: Assay, tmp_path: Path) -> None:
    (theirs := tmp_path / "fio").mkdir()

    found = [run_file(assay, FLOW, tmp_path), run_theirs(FLOW, theirs)]

    for one, eight in found:
        # Ahead by one of the other's at most, but for what was in flight at the end.
        assert abs(eight["read"]["total_ios"] - 8 * one["write"]["total_ios"]) <= 8 + 8 * 8 + 8


STARTS = """\
[global]
size=64k
rw=read
[now]
[later]
startdelay=1
"""


@pytest.mark.quiet
@pytest.mark.held
def test_a_job_with_a_startdelay_begins_so_much_later(assay: Assay, tmp_path: Path) -> None:
    jobs = run_file(assay, STARTS, tmp_path)

    (stream,) = tmp_path.glob("runs/*/events/0.json")
    events = json.loads(stream.read_text())
    (finished,) = [event for event in events if event["event"] == "phase_finished"]
    begun = {window["job"]: window["first_op_ns"] - finished["start_ns"] for window in finished["workers"]}
    assert [job["read"]["total_ios"] for job in jobs] == [16, 16]
    assert begun["later"] >= 1_000_000_000
    assert begun["now"] < begun["later"]


STEADY = """\
[steady]
ioengine=null
rw=read
size=1m
rate_iops=2000
time_based
runtime=60
ss=iops:50%
ss_dur=3
ss_ramp=1
"""


@pytest.mark.quiet
@pytest.mark.held
@pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")
def test_a_job_ends_at_fios_steady_state(assay: Assay, tmp_path: Path) -> None:
    (theirs := tmp_path / "fio").mkdir()

    found = [run_file(assay, STEADY, tmp_path), run_theirs(STEADY, theirs)]

    for (job,) in found:
        # An even rate is even in the first window: 1 s of ramp and 3 of values, each looked at when it is there.
        assert job["job_runtime"] + 100 >= 4000
        assert job["read"]["total_ios"] < 60 * 2000 / 2


def test_numbers_of_no_storage_are_not_to_be_used(assay: Assay, tmp_path: Path) -> None:
    done = assay(
        "fio", "--name=x", "--ioengine=null", "--rw=randread", "--size=1g", "--direct=1", "--number_ios=1000",
        "--output-format=json", "--no-report", cwd=tmp_path, check=0,
    )  # fmt: skip
    assay(
        "fio",
        "--name=x",
        "--ioengine=null",
        "--size=1g",
        "--number_ios=10",
        "--no-report",
        "--strict",
        cwd=tmp_path,
        check=1,
    )

    shown = json.loads(assay("show", "last", "--json").stdout)

    assert json.loads(done.stdout)["jobs"][0]["read"]["total_ios"] == 1000
    assert ("engine-cost", "invalid") in {(one["id"], one["severity"]) for one in shown["results"][0]["findings"]}


def counted() -> dict[str, tuple[int, int]]:
    """Reads and writes of each device."""
    lines = [line.split() for line in Path("/proc/diskstats").read_text().splitlines()]
    return {line[2]: (int(line[3]), int(line[7])) for line in lines}


def test_disk_util_is_what_the_kernel_counted_meanwhile(assay: Assay, tmp_path: Path) -> None:
    before = counted()
    words = ("--rw=write", "--size=8m", "--bs=64k", "--fsync=16", "--output-format=json,terse", "--no-report")
    done = assay("fio", "--name=x", *words, cwd=tmp_path, check=0)
    after = counted()

    document, _ = json.JSONDecoder().raw_decode(done.stdout)
    for disk in document["disk_util"]:
        read, written = (high - low for high, low in zip(after[disk["name"]], before[disk["name"]], strict=True))
        assert 0 <= disk["read_ios"] <= read
        assert 0 < disk["write_ios"] <= written
        assert 0 <= disk["util"] <= 100
        assert f";{disk['name']};{disk['read_ios']};{disk['write_ios']};0;0;" in done.stdout.splitlines()[-1]


def test_what_scripts_ask_first_is_answered(assay: Assay) -> None:
    assert "Version 3." in assay("iozone", "-v", check=0).stdout
    assert assay("iozone", "-h", check=0).stdout == assay("iozone", "--help", check=0).stdout
    assert assay("fio", "--version", check=0).stdout.startswith("fio-3.33")
    assert "\tlibaio\n" in assay("fio", "--enghelp", check=0).stdout
    assert assay("fio", "--enghelp=none", check=1).stdout == "IO engine none not found\n"


def test_blocks_are_drawn_by_the_shares_of_bssplit(assay: Assay, tmp_path: Path) -> None:
    count, small, large = 20_000, 4096, 16_384

    words = f"--rw=randread --norandommap --size=4m --bssplit=4k/70:16k/30 --number_ios={count} --io_size=1g"
    ((moved, ops),) = totals(run(assay, words, tmp_path))

    # Of n blocks of two sizes the bytes say how many are large: binomial, four deviations of sqrt(n p q) = 65.
    larger = (moved - ops * small) / (large - small)
    assert ops == count
    assert larger == int(larger)
    assert abs(larger - 0.3 * count) < 4 * 65


def test_the_json_is_read_as_fios_own(assay: Assay, tmp_path: Path) -> None:
    words = "--rw=randread --size=4m --direct=1 --numjobs=2 --group_reporting --runtime=1 --time_based"
    done = assay("fio", "--name=x", *words.split(), "--output-format=json", "--no-report", cwd=tmp_path)

    claims = reader.read(done.stdout)
    (job,) = json.loads(done.stdout)["jobs"]

    assert claims is not None
    (claim,) = claims
    assert (claim.test, claim.outstanding, claim.is_direct, claim.set_bytes) == ("x: read", 2, True, 8 << 20)
    assert claim.ops_per_s == job["read"]["iops"]
    assert job["read"]["io_bytes"] == 4096 * job["read"]["total_ios"]
    percentiles = [job["read"]["clat_ns"]["percentile"][key] for key in ("1.000000", "50.000000", "99.000000")]
    assert percentiles == sorted(percentiles)
    assert job["read"]["clat_ns"]["min"] <= percentiles[0] <= percentiles[-1] <= job["read"]["clat_ns"]["max"]


def test_files_lie_in_assays_folder_and_stay_only_if_asked_for(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")

    run(assay, "--rw=write --size=64k --filename=x", tmp_path)
    left = {path.name for path in tmp_path.iterdir()} - {"runs"}
    run(assay, "--rw=write --size=64k --filename=x --unlink=0", tmp_path)
    run(assay, "--rw=write --size=128k --filename=x --unlink=0", tmp_path)

    assert left == {"x"}
    assert sorted(path.stat().st_size for path in tmp_path.glob("assay-data/fio-*/f*")) == [64 << 10, 128 << 10]
    assert (tmp_path / "x").read_text() == "mine"


def test_what_is_verified_is_read_again(assay: Assay, tmp_path: Path) -> None:
    ((moved, _),) = totals(run(assay, "--rw=randwrite --size=1m --verify=crc32c", tmp_path))

    shown = json.loads(assay("show", "last", "--json").stdout)

    assert moved == 1 << 20
    assert not [finding for finding in shown["findings"] if "corrupt" in finding["id"] or "verif" in finding["id"]]


def test_parse_only_and_showcmd_run_nothing(assay: Assay, tmp_path: Path) -> None:
    job = tmp_path / "a.fio"
    job.write_text("[global]\nsize=1m\n[a]\nrw=write\n")

    assert assay("fio", job, "--parse-only", cwd=tmp_path, check=0).stdout == ""
    assert assay("fio", job, "--showcmd", cwd=tmp_path, check=0).stdout == "fio --name=a --size=1m --rw=write\n"
    assert list(tmp_path.iterdir()) == [job]
