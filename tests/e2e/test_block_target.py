"""Is a block device without a file system measured as it is, and never written to unless that was asked for?"""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay import events
from assay.bundle import RunBundle
from assay.events import StepDone
from e2e.command import MEASURED, NOBODY, Assay, Measure
from testbed.devices import MIB, attached_loop, loop_device, loop_without_discards, mounted
from testbed.host import command, need_root, need_tools
from testbed.truth import truth_disk

pytestmark = [pytest.mark.testbed, pytest.mark.xdist_group("mount namespaces")]

SIZE_BYTES = 64 * MIB
SECTOR_BYTES = 512
SET_BYTES, BLOCK_BYTES, OPS = 16 * MIB, 8192, 2000
RANDOM_READS = ("measure", "--random", "--direct")
QUICKLY = ("--time", "0.5s", "--no-report")
MANY_FILES = """
name = "many"
[[file_set]]
name = "d"
files = 9
size = "4k"
[[phase]]
name = "p"
seconds = "1s"
[[phase.job]]
op = { op = "stat", set = "d" }
"""


@pytest.fixture(autouse=True)
def _root() -> None:
    need_root()
    need_tools("losetup", "wipefs")


@pytest.fixture
def measure(assay: Assay, tmp_path: Path) -> Measure:
    return Measure(assay, tmp_path)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A file of random bytes."""
    file = tmp_path / "device.img"
    file.write_bytes(os.urandom(SIZE_BYTES))
    return file


@pytest.fixture
def device(image: Path) -> Iterator[Path]:
    with attached_loop(image, direct_io=True) as device:
        yield device


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sectors(device: Path) -> tuple[int, int, int, int]:
    """Reads, sectors read, writes and sectors written of a device (Documentation/admin-guide/iostats.rst)."""
    for line in Path("/proc/diskstats").read_text().splitlines():
        fields = line.split()
        if fields[2] == device.name:
            return int(fields[3]), int(fields[5]), int(fields[7]), int(fields[9])
    raise LookupError(device)


def load(kind: str, how: str) -> str:
    """A load of `OPS` operations on the first part of a device."""
    return f"""
name = "some"
[[file_set]]
name = "d"
size = {SET_BYTES}
[[phase]]
name = "p"
seconds = "600s"
[[phase.job]]
stop = {{ ops = {OPS}, of = "all" }}
direct = true
{how}
op = {{ op = "{kind}", set = "d", access = "random", size = {BLOCK_BYTES} }}
"""


# -- what is measured -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how", ["queue_depth = 4\nbackend = 'io_uring'", "workers = 2", "queue_depth = 2\nbackend = 'aio'"]
)
def test_reads_are_those_that_the_device_counts(how: str, measure: Measure, device: Path, image: Path) -> None:
    before, content = sectors(device), digest(image)

    found = measure(load("read", how), Path(f"block:{device}"))

    (result,) = found["results"]
    after = sectors(device)
    # Beside the load, the kernel and udev read the first and last sectors of a device that is opened.
    assert 0 <= (after[1] - before[1]) * SECTOR_BYTES - OPS * BLOCK_BYTES <= 4 * MIB
    assert after[0] - before[0] >= OPS
    assert after[2:] == before[2:]
    assert digest(image) == content
    assert result["errors"] == 0
    assert result["cache"]["hit_ratio"] == pytest.approx(0, abs=0.01)


def test_latency_and_places_are_those_of_the_device_itself(assay: Assay) -> None:
    with truth_disk(SIZE_BYTES, fast_ms=5, slow_ms=5, slow_share=0) as disk:
        done = assay(
            "measure",
            f"block:{disk.device}",
            "--random",
            "--direct",
            "--time",
            "1s",
            "--no-report",
            "--json",
            check=MEASURED,
        )

        (result,) = document(done)["results"]
        # The last are those of the load; before it, blocks at random places were looked at.
        served = [request for request in disk.log() if request.kind == "R"][-result["ops"] :]
    assert len(served) == result["ops"] > 0
    assert max(request.offset_bytes for request in served) < SIZE_BYTES
    # Random over all of it: each quarter has its part.
    quarters = {request.offset_bytes * 4 // SIZE_BYTES for request in served}
    assert quarters == {0, 1, 2, 3}
    assert result["latency_ns"]["p50"] >= 5_000_000


def test_reads_through_the_page_cache_are_told_from_those_of_the_device(assay: Assay, device: Path) -> None:
    words = ("measure", f"block:{device}", "--bs", "64k", "--time", "0.5s", "--no-report", "--json")

    assert f"{device} can be read" in assay("doctor", f"block:{device}", check={0, 3}).stdout
    (cold,) = document(assay(*words, "--cache", "cold", check=MEASURED))["results"]
    (warm,) = document(assay(*words, "--cache", "warm", check=MEASURED))["results"]

    assert warm["measures"] == "page_cache"
    assert warm["cache"]["resident_before"] == 1.0
    assert cold["cache"]["resident_before"] == 0.0


def test_a_command_line_of_fio_reads_and_with_permission_writes_a_device(
    assay: Assay, device: Path, image: Path
) -> None:
    words = (
        f"--filename={device}",
        "--direct=1",
        "--bs=8k",
        f"--number_ios={OPS}",
        "--output-format=json",
        "--no-report",
    )
    before, content = sectors(device), digest(image)

    done = assay("fio", "--name=x", "--rw=randread", "--ioengine=libaio", "--iodepth=4", *words, check=MEASURED)

    after = sectors(device)
    assert json.loads(done.stdout)["jobs"][0]["read"]["total_ios"] == OPS
    assert 0 <= (after[1] - before[1]) * SECTOR_BYTES - OPS * BLOCK_BYTES <= 4 * MIB
    refused = assay("fio", "--name=x", "--rw=randwrite", *words, check=2).stderr
    assert f"--destroy-data {device}" in refused
    assert digest(image) == content
    before = sectors(device)
    assay("fio", "--name=x", "--rw=randwrite", *words, "--destroy-data", device, check=MEASURED)
    # Nothing is laid out: fio writes nothing else either.
    assert (sectors(device)[3] - before[3]) * SECTOR_BYTES == OPS * BLOCK_BYTES


def test_a_lun_of_vdbench_is_read_and_with_permission_written(
    assay: Assay, device: Path, image: Path, tmp_path: Path
) -> None:
    file, words = tmp_path / "load.vdb", ("vdbench", "-f", tmp_path / "load.vdb", "--no-report")
    text = (
        f"sd=one,lun={device},size=16m,openflags=o_direct\n"
        "wd=w,sd=one,xfersize=8k,rdpct={share}\nrd=r,wd=w,iorate=1000,elapsed=2\n"
    )
    file.write_text(text.format(share=100))
    before, content = sectors(device), digest(image)

    assay(*words, check=MEASURED)

    bundle = RunBundle.open(Path(document(assay("show", "last", "--json", check=0))["run"]["bundle"]))
    moved, after = int(bundle.intervals()["bytes"].sum()), sectors(device)
    assert moved > 0
    assert 0 <= (after[1] - before[1]) * SECTOR_BYTES - moved <= 4 * MIB
    assert after[2:] == before[2:]
    file.write_text(text.format(share=50))
    assert f"--destroy-data {device}" in assay(*words, check=2).stderr
    assert digest(image) == content
    before, behind = sectors(device), image.read_bytes()[SET_BYTES:]
    assay(*words, "--destroy-data", device, check=MEASURED)
    # Nothing is laid out, as with vdbench.
    assert 0 < (sectors(device)[3] - before[3]) * SECTOR_BYTES < SET_BYTES
    assert image.read_bytes()[SET_BYTES:] == behind


def test_quick_reads_all_of_it_and_names_what_it_left_out(assay: Assay, device: Path, image: Path) -> None:
    content = digest(image)

    done = assay("quick", f"block:{device}", "--time", "3s", check=MEASURED)

    found = document(assay("show", "last", "--json", check=0))
    assert [result["phase"] for result in found["results"]] == ["stream-read", "random-read-1", "random-read-32"]
    assert f"--destroy-data {device}" in done.stdout
    assert digest(image) == content


def test_a_run_is_repeated_reported_and_done_again(assay: Assay, device: Path, tmp_path: Path) -> None:
    assay("measure", f"block:{device}", "--random", "--direct", *QUICKLY, "--repeat", "2", check=MEASURED)

    first = document(assay("show", "last", "--json", check=0))
    assay("rerun", "last", "--no-report", check=MEASURED)
    again = document(assay("show", "last", "--json", check=0))
    assay("report", "last", "--output", tmp_path / "page.html", check=0)

    assert [len(found["results"]) for found in (first, again)] == [2, 2]
    assert (
        f"block:{device}" in (tmp_path / "page.html").read_text() or str(device) in (tmp_path / "page.html").read_text()
    )


def test_two_clients_read_one_device(assay: Assay, device: Path) -> None:
    done = assay(
        "measure",
        f"block:{device}",
        "--size",
        "32m",
        "--random",
        "--direct",
        *QUICKLY,
        "--hosts",
        "local:2",
        "--json",
        check=MEASURED,
    )

    found = document(done)
    assert len(found["clients"]) == 2
    assert all(result["errors"] == 0 and result["ops"] > 0 for result in found["results"])


def test_a_load_file_can_name_a_device_and_never_allow_that_it_is_destroyed(
    assay: Assay, device: Path, image: Path, tmp_path: Path
) -> None:
    file, words = tmp_path / "load.toml", ("--no-report", "--destroy-data", device)
    uri = f'uri = "block:{device}"\n'
    text = load("write", "").replace('name = "d"', 'name = "d"\ntarget = "disk"')
    content = digest(image)
    file.write_text(text + f'[[target]]\nname = "disk"\ndestroy_data = true\n{uri}')
    assert "destroy_data" in assay("run", file, tmp_path, check=2).stderr
    file.write_text(text + f'[[target]]\nname = "disk"\n{uri}')
    assert f"--destroy-data {device}" in assay("run", file, tmp_path, check=2).stderr
    assert digest(image) == content

    assay("run", file, tmp_path, *words, check=MEASURED)

    assert digest(image) != content


# -- blocks that may never have been written ------------------------------------------------------------------------------


def _of_zeros(found: dict[str, Any]) -> list[str]:
    """What results say of blocks of zeros."""
    return [each["text"] for one in found["results"] for each in one["findings"] if each["id"] == "zero-blocks"]


def test_a_device_is_discarded_where_that_was_allowed_and_it_can_be(
    assay: Assay, device: Path, image: Path, tmp_path: Path
) -> None:
    file = tmp_path / "discard.toml"
    purged = load("read", "").replace('name = "p"', 'name = "p"\nbefore = [{ discard = "d" }]')
    file.write_text(purged.replace("[[phase]]", 'reuse = "trust"\n[[phase]]'))
    content = image.read_bytes()

    refused = assay("run", file, f"block:{device}", "--no-report")
    assert refused.returncode == 2
    assert "which is not allowed" in refused.stderr
    assert digest(image) == hashlib.sha256(content).hexdigest()

    done = assay("run", file, f"block:{device}", "--destroy-data", device, "--no-report", "--json", check=MEASURED)
    assert image.read_bytes()[:SET_BYTES].count(0) == SET_BYTES
    assert digest(image) == hashlib.sha256(bytes(SET_BYTES) + content[SET_BYTES:]).hexdigest()
    assert _discards(done) == [(True, "d")]
    (result,) = document(done)["results"]
    assert "was discarded, and 100 % of it" in next(
        one["text"] for one in result["findings"] if one["id"] == "zero-blocks"
    )

    spare = tmp_path / "spare.img"
    spare.write_bytes(content)
    with loop_without_discards(spare) as poor:
        done = assay("run", file, f"block:{poor}", "--destroy-data", poor, "--no-report", "--json", check=MEASURED)
    assert _discards(done) == [(False, "d")]
    (result,) = document(done)["results"]
    (found,) = (finding for finding in result["findings"] if finding["id"] == "load-changed")
    assert f"{poor} takes no discards" in found["text"]


def _discards(done: subprocess.CompletedProcess[str]) -> list[tuple[bool, str | None]]:
    bundle = RunBundle.open(Path(document(done)["run"]["bundle"]))
    steps = (event for event in bundle.events() if isinstance(event, StepDone))
    return [(step.achieved, step.subject) for step in steps if step.step == "discard"]


@pytest.mark.parametrize(("zero_share", "is_found"), [(0.0, False), (0.5, True), (1.0, True)])
def test_blocks_of_zeros_on_a_device_that_is_only_read_are_found(
    zero_share: float, is_found: bool, assay: Assay, image: Path, device: Path
) -> None:
    with image.open("r+b") as file:
        file.seek(round(SIZE_BYTES * (1 - zero_share)))
        file.write(bytes(round(SIZE_BYTES * zero_share)))

    done = assay("measure", f"block:{device}", "--random", "--direct", *QUICKLY, "--json", check=MEASURED)

    texts = _of_zeros(document(done))
    assert bool(texts) is is_found
    for text in texts:
        share, low, high = re.fullmatch(
            rf"(\d+) % of 256 sampled blocks of {device.name} hold only zeros \((\d+) to (\d+) % of all\)\. .*", text
        ).groups()  # type: ignore[union-attr]
        # Of all samples one in 20 misses; the seed is that of the Plan, and always the same.
        assert int(low) <= 100 * zero_share <= int(high)
        assert int(low) <= int(share) <= int(high)


def test_blocks_of_zeros_are_found_by_each_client_and_by_a_command_line_of_fio(assay: Assay, tmp_path: Path) -> None:
    with loop_device(SIZE_BYTES, backing=tmp_path) as zeros:
        words = (f"--filename={zeros}", "--direct=1", "--rw=randread", "--bs=4k", "--runtime=1", "--time_based")
        assay("fio", "--name=x", *words, "--no-report", check=MEASURED)
        assert _of_zeros(document(assay("show", "last", "--json", check=0)))

        several = ("--size", "32m", "--random", "--direct", *QUICKLY, "--hosts", "local:2", "--json")
        found = document(assay("measure", f"block:{zeros}", *several, check=MEASURED))

        of_one = [one for one in found["results"] if one.get("client")]
        assert len(of_one) == 2
        assert len(_of_zeros({"results": of_one})) == 2
        (of_all,) = (one for one in found["results"] if not one.get("client"))
        assert of_all["trust"]["level"] != "yes"


def test_a_slow_device_is_looked_at_for_two_seconds_and_no_longer(assay: Assay) -> None:
    slow_ms = 20
    with truth_disk(SIZE_BYTES, fast_ms=slow_ms, slow_ms=slow_ms, slow_share=0) as disk:
        done = assay("measure", f"block:{disk.device}", "--random", "--direct", *QUICKLY, "--json", check=MEASURED)

    (prepared,) = (
        event
        for event in RunBundle.open(Path(document(done)["run"]["bundle"])).events()
        if isinstance(event, events.Prepared)
    )
    # Each read takes 20 ms or more, so that at most 100 begin in 2 s.
    assert 0 < prepared.sampled_blocks <= 2000 / slow_ms


def test_a_device_that_was_written_first_is_not_looked_at(assay: Assay, tmp_path: Path) -> None:
    with loop_device(SIZE_BYTES, backing=tmp_path) as zeros:
        words = (f"block:{zeros}", "--random", "--direct", "--size", "16m", "--destroy-data", zeros)
        done = assay("measure", *words, *QUICKLY, "--json", check=MEASURED)

    assert not _of_zeros(document(done))


# -- what is destroyed ----------------------------------------------------------------------------------------------------


def test_writes_are_those_that_the_device_counts_once_it_may_be_destroyed(
    assay: Assay, measure: Measure, device: Path, image: Path
) -> None:
    before, behind = sectors(device), image.read_bytes()[SET_BYTES:]

    measure(load("write", ""), Path(f"block:{device}"), "--destroy-data", str(device))

    assert (sectors(device)[3] - before[3]) * SECTOR_BYTES == SET_BYTES + OPS * BLOCK_BYTES
    assert image.read_bytes()[SET_BYTES:] == behind
    refused = assay("rerun", "last", "--no-report", check=2).stderr
    assert f"--destroy-data {device}" in refused
    assay("rerun", "last", "--no-report", "--destroy-data", device, check=MEASURED)


def _refused(assay: Assay, device: Path, image: Path, *words: str | os.PathLike[str]) -> str:
    """Try to write, and give why that was refused; nothing is measured and nothing is changed."""
    content = digest(image)
    done = assay("measure", f"block:{device}", "--write", "--size", "1m", *QUICKLY, *words, check=2)
    assert digest(image) == content
    assert not list(assay.runs.glob("*")) or not [each for each in assay.runs.glob("*") if each.is_dir()]
    return done.stderr


def test_nothing_is_written_where_that_was_not_asked_for(
    assay: Assay, device: Path, image: Path, tmp_path: Path
) -> None:
    assert f"--destroy-data {device}" in _refused(assay, device, image)
    assert "--destroy-data" in _refused(assay, device, image, "--over", "ext4")
    with loop_device(4 * MIB, backing=tmp_path) as other:
        assert "another device" in _refused(assay, device, image, "--destroy-data", other)
        assert f"{other}" in _refused(assay, device, image, "--destroy-data", device, "--destroy-data", other)
    assert "no block device" in _refused(assay, device, image, "--destroy-data", image)
    assert "another machine" in _refused(assay, device, image, "--destroy-data", device, "--hosts", "local:2")
    nobody = Assay(tmp_path / "nobodys", user=NOBODY, home=tmp_path)
    assert "run as root" in nobody("measure", f"block:{device}", *QUICKLY, check=2).stderr


def test_a_device_in_use_or_with_content_that_was_not_named_is_not_written_to(
    assay: Assay, device: Path, image: Path
) -> None:
    allowed = ("--destroy-data", device)
    command("mkfs.ext4", "-q", "-F", device)
    assert "--over ext4" in _refused(assay, device, image, *allowed)
    assert "does not carry" in _refused(assay, device, image, *allowed, "--over", "xfs", "--over", "ext4")
    with mounted(str(device)):
        command("sync")
        assert "is mounted on" in _refused(assay, device, image, *allowed, "--over", "ext4")
    with device.open("rb"):
        assert "is open in process" in _refused(assay, device, image, *allowed, "--over", "ext4")
    with attached_loop(image, direct_io=False) as twin, mounted(str(twin)):
        command("sync")
        assert "of the same file" in _refused(assay, device, image, *allowed, "--over", "ext4")


def test_a_name_that_leads_to_another_device_by_now_is_not_followed(assay: Assay, device: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    status = device.stat()
    os.mknod(theirs / "disk", mode=status.st_mode, device=status.st_rdev)

    done = assay("measure", f"block:{theirs / 'disk'}", "--random", *QUICKLY, check=3)

    assert "could put another device" in done.stderr


def test_what_is_no_device_or_cannot_be_done_on_one_is_refused_before_anything_is_measured(
    assay: Assay, device: Path, tmp_path: Path
) -> None:
    many = tmp_path / "many.toml"
    many.write_text(MANY_FILES)
    cases: dict[tuple[str | Path, ...], str] = {
        ("measure", device): f"block:{device}",
        ("measure", "block:relative"): "from the root on",
        ("measure", f"block:{tmp_path}"): "no block device",
        ("measure", "block:/dev/nothing-there"): "No such file",
        ("measure", f"block:{device}", "--files", "2"): "as one file",
        ("measure", f"block:{device}", "--verify"): "no place for it",
        ("measure", f"block:{device}", "--size", "65m"): "64.0 MiB",
        ("run", many, f"block:{device}"): "one file",
    }
    for words, reason in cases.items():
        assert reason in assay(*words, *QUICKLY[-1:], check=2).stderr, words
    assert not [each for each in assay.runs.glob("*") if each.is_dir()]
