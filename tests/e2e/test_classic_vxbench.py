"""Does `assay vxbench` do what its command line says, and print what was measured?"""

import json
import re
import shutil
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from assay.bundle import RunBundle
from e2e.command import Assay
from e2e.processes import running
from testbed.devices import small_ext4, tmpfs

MIB = 1 << 20
LINE = re.compile(
    r"(user \d+|total): +(?P<sec>[\d.]+) sec +(?P<rate>[\d.]+) KB/s +cpu: +(?P<sys>[\d.]+) sys +(?P<user>[\d.]+) user"
)
WORKLOADS = (
    *("read", "write", "rand_read", "rand_write", "rand_mixed", "aread", "awrite", "arand_read", "arand_write"),
    *("arand_mixed", "mmap_read", "mmap_write", "read,sleep,write"),
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "storage"
    place.mkdir()
    return place


def parsed(text: str) -> list[dict[str, float]]:
    """Numbers of each line, the total last; every line must have the form."""
    found = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(found), text
    return [{name: float(value) for name, value in match.groupdict().items()} for match in found if match]


def document(assay: Assay) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(assay("show", "last", "--json").stdout)
    return shown


def events_of(assay: Assay) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = json.loads((Path(document(assay)["run"]["bundle"]) / "events/0.json").read_text())
    return kept


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_moves_the_bytes_that_it_was_asked_for(workload: str, assay: Assay, directory: Path) -> None:
    options = "iosize=4k,iocount=200,nrep=2,nthreads=2,depth=4,sleeptime=0.1"

    done = assay(
        "vxbench", "--strict", "-w", workload, "-i", options, "--no-report", directory / "one", directory / "two"
    )

    assert done.returncode in {0, 1}, done.stderr
    *users, total = parsed(done.stdout)
    entries = workload.count(",") or 1
    asked_kib = 200 * 2 * 4 * entries
    assert len(users) == 4
    for user, kib in (*((user, asked_kib) for user in users), (total, 4 * asked_kib)):
        # Seconds are printed to a thousandth, and these runs are short.
        assert user["rate"] * user["sec"] == pytest.approx(kib, abs=user["rate"] * 0.0006)
    assert total["sec"] == max(user["sec"] for user in users)
    # Each phase's finished workers, as the engine counted them.
    completed = [w for e in events_of(assay) if e["event"] == "phase_finished" for w in e["workers"]]
    assert sum(worker["completed"] for worker in completed) == 4 * 200 * 2 * entries
    assert document(assay)["run"]["exit_code"] == done.returncode


def test_the_text_is_printed_again_from_the_bundle(assay: Assay, directory: Path) -> None:
    done = assay("vxbench", "-v", "-w", "rand_read", "-i", "iocount=5000", "--no-report", directory / "one")

    assert assay("show", "last", "--classic", check=0).stdout == done.stdout
    assert f"vxbench -v -w rand_read -i iocount=5000 {directory / 'one'}" in done.stdout


def test_the_json_document_takes_the_place_of_the_text(assay: Assay, directory: Path) -> None:
    done = assay("vxbench", "-w", "read", "-i", "iosize=4k,iocount=300", "--json", "--no-report", directory / "one")

    (result,) = json.loads(done.stdout)["results"]
    assert (result["operation"], result["ops"], result["bytes"]) == ("read", 300, 300 * 4096)


def _offsets(assay: Assay, directory: Path, call: str, *arguments: str) -> list[int]:
    """Offsets of a worker's transfers of 4 KiB, in order, as the kernel was asked for them."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    strace = ("strace", "-ff", "-y", "-qq", "-e", f"trace={call}", "-o", str(directory.parent / "trace"))
    if subprocess.run([*strace, "true"], check=False, capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    for earlier in directory.parent.glob("trace.*"):
        earlier.unlink()
    assay.measured("vxbench", *arguments, "--no-report", directory / "one", prefix=strace)
    (offsets,) = filter(None, (_of_data(call, traced) for traced in directory.parent.glob("trace.*")))
    return offsets


def _of_data(call: str, traced: Path) -> list[int]:
    """Offsets of the transfers of 4 KiB of a thread on the data, in order."""
    ends = re.findall(rf"^{call}\(\d+<.*/assay-data/.*, 4096, (\d+)\) += 4096$", traced.read_text(), re.MULTILINE)
    return [int(offset) for offset in ends]


def test_a_stride_skips_what_lies_between(assay: Assay, directory: Path) -> None:
    options = "iosize=4k,iocount=50,stride=3,startoffset=8k,nrep=2"

    offsets = _offsets(assay, directory, "pread64", "-w", "read", "-i", options)

    assert offsets == [8192 + 3 * 4096 * i for i in range(50)] * 2


def test_without_a_stride_one_io_follows_the_other(assay: Assay, directory: Path) -> None:
    for stride in ("0", "1"):
        offsets = _offsets(assay, directory, "pread64", "-w", "read", "-i", f"iosize=4k,iocount=20,stride={stride}")

        assert offsets == [4096 * i for i in range(20)]


def test_a_range_is_gone_through_again_when_it_ends(assay: Assay, directory: Path) -> None:
    offsets = _offsets(assay, directory, "pread64", "-w", "read", "-i", "iosize=4k,iocount=10,maxfilesize=18k")

    assert offsets == [0, 4096, 8192, 12288] * 2 + [0, 4096]


def test_random_offsets_stay_in_the_range_and_do_not_ascend(assay: Assay, directory: Path) -> None:
    options = "iosize=4k,iocount=500,startoffset=4k,maxfilesize=1m"

    offsets = _offsets(assay, directory, "pread64", "-w", "rand_read", "-i", options)

    assert len(offsets) == 500
    assert all(offset % 4096 == 0 and 4096 <= offset <= MIB for offset in offsets)
    assert len(set(offsets)) > 150  # 500 draws from 256 places leave 14 % of them out
    assert 100 < sum(after < before for before, after in pairwise(offsets)) < 400


def test_workloads_follow_one_another_in_every_worker(assay: Assay, directory: Path) -> None:
    line = ["-w", "read,sleep", "-w", "write", "-i", "iosize=4k,iocount=100,sleeptime=0.4,nrep=3"]

    begun_s = time.monotonic()
    done = assay("vxbench", *line, "--no-report", directory / "one")
    wall_s = time.monotonic() - begun_s

    (user, _) = parsed(done.stdout)
    assert 3 * 0.4 <= user["sec"] <= wall_s
    results = {result["operation"]: result for result in document(assay)["results"] if result["operation"] != "*"}
    assert {name: result["ops"] for name, result in results.items()} == {"read": 300, "write": 300}


@pytest.mark.parametrize(("letter", "processes"), [("-t", 0), ("-P", 2), ("-p", 2)])
def test_processes_are_processes_and_threads_are_threads(
    letter: str, processes: int, assay: Assay, directory: Path
) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    prefix = ("strace", "-ff", "-y", "-qq", "-e", "trace=pread64", "-o", str(directory.parent / "trace"))

    assay("vxbench", letter, "-w", "read", "-i", "iosize=4k,iocount=30", "--no-report", directory / "one", directory / "two",
          prefix=prefix)  # fmt: skip

    kinds = {job["as"] for phase in json.loads(_resolved(assay))["phases"] for job in phase["jobs"]}
    assert kinds == {"process" if processes else "thread"}
    readers = [traced for traced in directory.parent.glob("trace.*") if _of_data("pread64", traced)]
    assert len(readers) == 2


def _resolved(assay: Assay) -> str:
    return (Path(document(assay)["run"]["bundle"]) / "resolved.json").read_text()


def test_the_cpu_time_of_the_workers_is_that_of_the_engine(assay: Assay, directory: Path) -> None:
    line = ["-w", "rand_read", "-i", "iosize=64k,iocount=8000,maxfilesize=16m", str(directory / "one")]
    assay("vxbench", *line, "--no-report")

    # The second run finds the file in place, so its engine has little to do beside the load.
    done = assay("vxbench", *line, "-i", "nrep=3", "--no-report")

    *_, total = parsed(done.stdout)
    happened = events_of(assay)
    rusage_s = (happened[-1]["user_cpu_ns"] + happened[-1]["system_cpu_ns"]) / 1e9
    assert next(event for event in happened if event["event"] == "prepared")["reused"]
    assert total["sys"] + total["user"] <= rusage_s + 0.02
    # What the engine spent in the phase, without its own threads; the kernel counts a worker's in ticks of 10 ms.
    host = RunBundle.open(Path(document(assay)["run"]["bundle"])).host().filter(source="process").sort("t_s")
    of_process, of_observers = (host.filter(name=name)["value"] for name in ("process_cpu_ns", "observer_cpu_ns"))
    workers_s = (of_process[-1] - of_process[0] - of_observers[-1] + of_observers[0]) / 1e9
    assert total["sys"] + total["user"] == pytest.approx(workers_s, rel=0.1, abs=0.05)


def test_open_modes_reach_the_kernel(assay: Assay, directory: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    traced = directory.parent / "trace"
    prefix = ("strace", "-f", "-qq", "-e", "trace=openat2,fadvise64", "-o", str(traced))

    assay("vxbench", "-w", "write", "-i", "iocount=10", "-o", "sync", "-c", "rand", "--no-report", directory / "one",
          prefix=prefix)  # fmt: skip

    text = traced.read_text()
    assert re.search(r'openat2\(.*"[^"]*f0+", \{flags=O_RDWR\|[^)]*O_SYNC', text)
    assert "POSIX_FADV_RANDOM" in text


def test_the_users_own_file_is_neither_read_nor_written(assay: Assay, directory: Path) -> None:
    mine = directory / "mine"
    mine.write_text("thesis")
    before = mine.stat()

    assay("vxbench", "-w", "write", "-i", "iocount=50,remove", "--no-report", mine)

    assert mine.read_text() == "thesis"
    assert mine.stat().st_mtime_ns == before.st_mtime_ns
    assert [path.name for path in directory.iterdir()] == ["mine"]


def test_files_stay_for_the_next_run_unless_they_are_to_be_removed(assay: Assay, directory: Path) -> None:
    line = ["vxbench", "-w", "write", "-i", "iocount=50", "--no-report", str(directory / "one")]
    assay(*line)
    assay(*line)

    assert [e["reused"] for e in events_of(assay) if e["event"] == "prepared"] == [True]
    assay(*line, "-i", "remove")
    assert list(directory.iterdir()) == []


def test_an_interrupted_run_prints_what_it_had_measured(assay: Assay, directory: Path, tmp_path: Path) -> None:
    options = "iosize=4k,iocount=100000000,maxfilesize=1m,remove"
    with running("vxbench", "-w", "rand_write", "-i", options, directory / "one", folder=tmp_path) as run:
        run.wait_for("[1/1]")
        run.wait_for_file(lambda: any(directory.glob("assay-data/*/f*")), "the file")
        run.stop()

        assert run.exit_code() == 130
        assert "The run is kept" in run.said()

    text = assay("show", "last", "--classic", check=0).stdout
    (user, _) = parsed("\n".join(text.splitlines()[:2]))
    assert user["sec"] >= 0
    assert re.search(r"^incomplete: \d+ of 100000000 I/Os were done$", text, re.MULTILINE)
    assert list(directory.iterdir()) == []


@pytest.mark.testbed
def test_a_full_disk_ends_the_run_with_its_cause(assay: Assay) -> None:
    with tmpfs(400 * MIB) as memory, small_ext4(350 * MIB, backing=memory) as mount_point:
        done = assay(
            "vxbench", "-w", "write", "-i", "iosize=1m,iocount=1000", "--no-report", mount_point / "one", check=3
        )

        assert "free" in done.stderr
        assert not (mount_point / "assay-data").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-w", "reed", "one"], "there is no such workload"),
        (["-w", "read", "absent/one"], "absent does not exist"),
        (["-w", "read", "."], "is a directory; name a file in it"),
        (["-w", "read", "/dev/null"], "is a device"),
        (["-w", "read", "one", "--runs"], "name the folder where runs are kept"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_touched(
    arguments: list[str], said: str, assay: Assay, directory: Path
) -> None:
    done = assay("vxbench", *arguments, cwd=directory, check=2)

    assert said in done.stderr
    assert done.stdout == ""
    assert list(directory.iterdir()) == []


def test_a_directory_that_may_not_be_written_is_refused_before_a_run_is_begun(unprivileged: Assay) -> None:
    done = unprivileged("vxbench", "-w", "read", "/usr/one", check=3)

    assert done.stderr == (
        "assay: /usr is not writable for this user; change its permissions or name another directory\n"
    )
    assert done.stdout == ""
    assert not Path("/usr/one").exists()
    assert not unprivileged.runs.exists()


def test_help_lists_every_workload_and_sub_option(assay: Assay) -> None:
    for word in ("--help", "-h"):
        text = assay("vxbench", word, check=0).stdout

        for known in ("arand_mixed", "mmap_write", "stride=N", "sleeptime=S", "maxfilesize=N", "unbuffered"):
            assert known in text
