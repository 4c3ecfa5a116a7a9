"""Are discards and zero writes of a device those that it counts, and does nothing beside their ranges change?"""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay.bundle import RunBundle
from assay.events import PhaseFinished
from e2e.command import MEASURED, Assay
from testbed.devices import MIB, attached_loop, loop_device, loop_without_discards
from testbed.host import need_root, need_tools

pytestmark = [pytest.mark.testbed, pytest.mark.xdist_group("mount namespaces")]

SIZE_BYTES, SET_BYTES = 32 * MIB, 16 * MIB
SECTOR_BYTES, BLOCK_BYTES = 512, 64 * 1024
FROM_BYTES, LENGTH_BYTES = 4 * MIB, 2 * MIB
BLOCKS = LENGTH_BYTES // BLOCK_BYTES
ONE_PASS = f'{{ kind = "sequential", region = {{ range = {FROM_BYTES}, length = {LENGTH_BYTES} }}, wrap = false }}'
LOAD = """
name = "empties"
[[file_set]]
name = "d"
size = {set_bytes}
reuse = "{reuse}"
[[phase]]
name = "p"
seconds = "600s"
[[phase.job]]
stop = {{ {stop} }}
{more}
loop = [{ops}]
"""
EMPTIES = ("discard", "write_zeroes", "punch_hole")


@pytest.fixture(autouse=True)
def _root() -> None:
    need_root()
    need_tools("losetup", "wipefs")


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


class Counted(NamedTuple):
    """What a device counts (Documentation/admin-guide/iostats.rst)."""

    write_bytes: int
    discards: int
    discard_bytes: int


def counted(device: Path) -> Counted:
    for line in Path("/proc/diskstats").read_text().splitlines():
        fields = line.split()
        if fields[2] == device.name:
            return Counted(int(fields[9]) * SECTOR_BYTES, int(fields[14]), int(fields[16]) * SECTOR_BYTES)
    raise LookupError(device)


def since(before: Counted, device: Path) -> Counted:
    """What a device has counted since then."""
    return Counted(*(now - then for now, then in zip(counted(device), before, strict=True)))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def op(kind: str, access: str, size: int | str = BLOCK_BYTES) -> str:
    return f'{{ op = "{kind}", set = "d", access = {access}, size = {size} }}'


def load(
    folder: Path,
    *ops: str,
    stop: str = "passes = 1000000",
    reuse: str = "trust",
    more: str = "",
    set_bytes: int = SET_BYTES,
) -> Path:
    file = folder / "load.toml"
    file.write_text(LOAD.format(ops=", ".join(ops), stop=stop, reuse=reuse, more=more, set_bytes=set_bytes))
    return file


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(assay: Assay, file: Path, device: Path, *words: str) -> dict[str, Any]:
    allowed = ("--destroy-data", device)
    return document(assay("run", file, f"block:{device}", *allowed, "--no-report", "--json", *words, check=MEASURED))


def findings(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for one in found["results"] for each in one["findings"] if each["id"] == name]


# -- what a device counts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_discards_are_those_that_the_device_counts(
    workers: int, assay: Assay, device: Path, image: Path, tmp_path: Path
) -> None:
    ops, before, behind = 300, counted(device), digest(image.read_bytes()[SET_BYTES:])
    file = load(tmp_path, op("discard", '"random"'), stop=f'ops = {ops}, of = "all"', more=f"workers = {workers}")

    (result,) = run(assay, file, device)["results"]

    assert (result["ops"], result["errors"], result["bytes"]) == (ops, 0, 0)
    assert since(before, device) == Counted(0, ops, ops * BLOCK_BYTES)
    assert result["measures"] == "storage"
    assert digest(image.read_bytes()[SET_BYTES:]) == behind


@pytest.mark.parametrize("kind", EMPTIES)
def test_the_range_is_zeros_and_no_byte_beside_it_changes(
    kind: str, assay: Assay, device: Path, image: Path, tmp_path: Path
) -> None:
    before, content, blocks = counted(device), image.read_bytes(), image.stat().st_blocks

    (result,) = run(assay, load(tmp_path, op(kind, ONE_PASS)), device)["results"]

    assert (result["ops"], result["errors"]) == (BLOCKS, 0)
    expected = content[:FROM_BYTES] + bytes(LENGTH_BYTES) + content[FROM_BYTES + LENGTH_BYTES :]
    # What the page cache of the device has is what the device has.
    for file in (image, device):
        assert digest(file.read_bytes()) == digest(expected), file
    found = since(before, device)
    if kind == "discard":
        assert found == Counted(0, BLOCKS, LENGTH_BYTES)
        assert (blocks - image.stat().st_blocks) * SECTOR_BYTES == LENGTH_BYTES
    else:
        # To the kernel both are writes, and the device is told that it may free blocks by one of them.
        assert found == Counted(LENGTH_BYTES, 0, 0)
    if kind == "write_zeroes":
        assert blocks == image.stat().st_blocks


def test_the_last_of_a_pass_ends_where_the_set_ends(assay: Assay, device: Path, image: Path, tmp_path: Path) -> None:
    size, set_bytes, before = 3 * BLOCK_BYTES, 10 * BLOCK_BYTES, counted(device)
    content = image.read_bytes()
    access = '{ kind = "sequential", wrap = false }'

    run(assay, load(tmp_path, op("discard", access, size), set_bytes=set_bytes), device)

    assert since(before, device) == Counted(0, 4, set_bytes)
    assert digest(image.read_bytes()) == digest(bytes(set_bytes) + content[set_bytes:])


def test_trims_of_fio_are_discards(assay: Assay, device: Path, image: Path) -> None:
    words = (f"--filename={device}", "--bs=64k", "--size=4m", "--offset=1m", "--output-format=json", "--no-report")
    engine = ("--ioengine=libaio", "--iodepth=8", "--direct=1")
    refused = assay("fio", "--name=x", "--rw=trim", *words, check=2).stderr
    assert f"--destroy-data {device}" in refused
    for way in ("trim", "randtrim"):
        content, before = image.read_bytes(), counted(device)
        allowed = ("--destroy-data", device)

        done = assay("fio", "--name=x", f"--rw={way}", *engine, *words, *allowed, check=MEASURED)

        (job,) = json.loads(done.stdout)["jobs"]
        assert (job["trim"]["total_ios"], job["trim"]["io_bytes"]) == (64, 4 * MIB)
        assert since(before, device) == Counted(0, 64, 4 * MIB)
        expected = content[:MIB] + bytes(4 * MIB) + content[5 * MIB :]
        assert digest(image.read_bytes()) == digest(expected)
        image.write_bytes(os.urandom(SIZE_BYTES))


# -- what becomes of a run ------------------------------------------------------------------------------------------------


def test_reads_after_them_are_weak_and_a_set_is_laid_out_again_for_each_repeat(
    assay: Assay, device: Path, tmp_path: Path
) -> None:
    stop = 'ops = 400, of = "all"'
    file = load(tmp_path, op("discard", '"random"'), op("read", '"random"'), stop=stop, reuse="never")
    before = counted(device)

    found = run(assay, file, device, "--repeat", "2")

    # Each repeat writes the set, and discards 200 times.
    assert since(before, device) == Counted(2 * SET_BYTES, 2 * 200, 2 * 200 * BLOCK_BYTES)
    texts = [each["text"] for each in findings(found, "zero-blocks")]
    assert texts
    assert all("discarded or zeroed up to" in text for text in texts)
    # Where the discards took a tenth of the window, that is a note: they are the load's.
    assert all("frees blocks itself" in each["text"] for each in findings(found, "earlier-io"))
    assert "--destroy-data" in assay("rerun", "last", "--no-report", check=2).stderr
    assay("rerun", "last", "--no-report", "--destroy-data", device, check=MEASURED)
    assert since(before, device) == Counted(4 * SET_BYTES, 4 * 200, 4 * 200 * BLOCK_BYTES)
    assay("report", "last", "--output", tmp_path / "page.html", check=0)
    assert "discard" in (tmp_path / "page.html").read_text()


def test_a_device_that_takes_no_discards_fails_them_by_name(assay: Assay, image: Path, tmp_path: Path) -> None:
    content = digest(image.read_bytes())
    file = load(tmp_path, op("discard", '"random"'), stop="ops = 100")
    with loop_without_discards(image) as poor:
        done = assay("run", file, f"block:{poor}", "--destroy-data", poor, "--no-report")
        zeroed = run(assay, load(tmp_path, op("write_zeroes", ONE_PASS)), poor)["results"][0]

    assert done.returncode not in MEASURED
    assert "discard (the device takes no discards; take it out of the load)" in " ".join(done.stderr.split())
    # The kernel writes the zeros itself where a device knows no request for them.
    assert (zeroed["ops"], zeroed["errors"]) == (BLOCKS, 0)
    after = image.read_bytes()
    assert after[FROM_BYTES : FROM_BYTES + LENGTH_BYTES].count(0) == LENGTH_BYTES
    assert content != digest(after)
    ended = [
        event
        for folder in assay.runs.iterdir()
        if folder.is_dir()
        for event in RunBundle.open(folder).events()
        if isinstance(event, PhaseFinished)
    ]
    failed = [sum(worker.failed for worker in event.workers) for event in ended]
    assert sorted(failed) == [0, 1]


# -- what is refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EMPTIES)
def test_nothing_is_emptied_where_that_was_not_allowed(
    kind: str, assay: Assay, device: Path, image: Path, tmp_path: Path
) -> None:
    content = digest(image.read_bytes())
    file = load(tmp_path, op(kind, ONE_PASS))
    allowed = ("--destroy-data", device)

    refused = assay("run", file, f"block:{device}", "--no-report", check=2).stderr
    away = assay("run", file, f"block:{device}", "--no-report", *allowed, "--hosts", "local:2", check=2).stderr

    assert f"--destroy-data {device}" in refused
    assert "another machine" in away
    assert digest(image.read_bytes()) == content
    assert not [each for each in assay.runs.glob("*") if each.is_dir()]


def test_a_file_is_not_discarded_and_the_way_is_named(assay: Assay, tmp_path: Path) -> None:
    (folder := tmp_path / "here").mkdir()

    refused = assay("run", load(tmp_path, op("discard", ONE_PASS), reuse="never"), folder, check=2).stderr

    assert "punch_hole gives a range of a file back" in " ".join(refused.split())
    assert not list(folder.iterdir())


@pytest.mark.parametrize("kind", EMPTIES)
def test_what_is_no_whole_block_of_the_device_is_refused_before_it_is_touched(
    kind: str, assay: Assay, tmp_path: Path
) -> None:
    with loop_device(SIZE_BYTES, backing=tmp_path, sector_bytes=4096) as device:
        before = counted(device)
        for size, access, reason in (
            (6144, '"random"', "size is 6144 bytes, and the device takes whole blocks of 4 KiB"),
            (8192, '{ kind = "random", align = 512 }', "align is 512 bytes"),
            ('{ kind = "uniform", min = 4096, max = 65536 }', '"random"', "its size is drawn"),
        ):
            file = load(tmp_path, op(kind, access, size), stop="ops = 10")
            done = assay("run", file, f"block:{device}", "--destroy-data", device, "--no-report", check=2)
            assert reason in " ".join(done.stderr.split())
            assert re.search(r"load\.toml:\d+", done.stderr)
        assert since(before, device) == Counted(0, 0, 0)
        assert not [each for each in assay.runs.glob("*") if each.is_dir()]
