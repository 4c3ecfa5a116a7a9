"""Does written content compress and deduplicate by the ratios that were asked for? zstd and hashes say so, not Assay."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.command import Measure

BLOCK = 4096

LOAD = """
name = "content"
[[file_set]]
name = "data"
files = {files}
size = "{size}"
content = {content}
keep = true
create_workers = 4
[[phase]]
name = "write"
title = "all of it once"
[[phase.job]]
workers = 2
op = {op}
"""
# Both workers write the one file, each its part; of many files each is written by one of them.
_WRITE = '{ op = "write", set = "data", pick = "PICK", access = ACCESS, size = "256KiB" }'
PARTS = _WRITE.replace("PICK", "own").replace("ACCESS", '{ kind = "sequential", region = "slice", wrap = false }')
SHARED = _WRITE.replace("PICK", "next").replace("ACCESS", '{ kind = "sequential", wrap = false }')
READ = '{ op = "read", set = "data", access = { kind = "sequential", wrap = false }, size = "256KiB" }'


def _files(measure: Measure, directory: Path, text: str = LOAD, **values: str) -> list[Path]:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    measure(text, directory)
    (folder,) = directory.glob("assay-data*/data")
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize(
    ("ratio", "op"),
    [(1.0, READ), (1.5, READ), (2.0, READ), (3.0, PARTS), (5.0, READ)],
    ids=["1 laid out", "1.5 laid out", "2 laid out", "3 overwritten", "5 laid out"],
)
def test_content_compresses_by_its_ratio_at_every_block_size(
    ratio: float, op: str, measure: Measure, tmp_path: Path
) -> None:
    if shutil.which("zstd") is None:
        pytest.skip("needs zstd")
    content = f"{{ compress_ratio = {ratio} }}"

    (file,) = _files(measure, tmp_path, files="1", size="4MiB", content=content, op=op)

    data = file.read_bytes()
    for block_bytes in (4096, 65536, 1 << 20):
        blocks = [data[at : at + block_bytes] for at in range(0, len(data), len(data) // 4)]
        whole = sum(map(len, blocks))
        packed = sum(len(_zstd(block)) for block in blocks)
        assert whole / packed == pytest.approx(ratio, rel=0.1), f"{block_bytes} bytes"


def _zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-3", "-c", "-q"], input=data, capture_output=True, check=True).stdout


@pytest.mark.parametrize(
    ("ratio", "case"),
    [
        (1.5, ("64", "1MiB", READ)),
        (2.0, ("64", "1MiB", SHARED)),
        (4.0, ("1", "64MiB", READ)),
        (1.0, ("1", "64MiB", PARTS)),
        (2.5, ("1", "64MiB", PARTS)),
    ],
    ids=["1.5 many laid out", "2 many overwritten", "4 one laid out", "1 one overwritten", "2.5 one overwritten"],
)
def test_one_block_in_so_many_is_distinct_over_files_and_workers(
    ratio: float, case: tuple[str, str, str], measure: Measure, tmp_path: Path
) -> None:
    files, size, op = case
    content = f"{{ dedupe_ratio = {ratio} }}"

    written = _files(measure, tmp_path, files=files, size=size, content=content, op=op)

    hashes = [
        hashlib.blake2b(data[at : at + BLOCK], digest_size=16).digest()
        for data in (path.read_bytes() for path in written)
        for at in range(0, len(data), BLOCK)
    ]
    assert len(hashes) == 64 << 20 >> 12
    assert len(hashes) / len(set(hashes)) == pytest.approx(ratio, rel=0.02)


# Four requests in flight, each from a buffer of its own.
KEPT = """{ op = "write", set = "data", access = { kind = "sequential", wrap = false }, size = "4KiB", keeps_buffer = true }
backend = "BACKEND"
queue_depth = DEPTH"""


@pytest.mark.parametrize(
    ("backend", "depth", "is_random"),
    [("io_uring", 4, True), ("aio", 4, True), ("psync", 1, True), ("io_uring", 4, False)],
    ids=["io_uring", "aio", "psync", "zeroes"],
)
def test_writes_that_keep_their_buffer_repeat_its_first_content_but_for_a_byte_each(
    backend: str, depth: int, *, is_random: bool, measure: Measure, tmp_path: Path
) -> None:
    blocks = 64
    op = KEPT.replace("BACKEND", backend).replace("DEPTH", str(depth))
    content = "{}" if is_random else "{ zeros = true }"
    load = LOAD.replace("workers = 2", "workers = 1")

    (file,) = _files(measure, tmp_path, load, files="1", size=f"{blocks * 4}KiB", content=content, op=op)

    data = file.read_bytes()
    written = [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]
    assert len(set(written)) == blocks == len(written)
    begun: list[bytes] = [] if is_random else [bytes(BLOCK)]
    for block in written:
        if not any(_differing(block, first) <= blocks for first in begun):
            begun.append(block)
            # As little alike as random bytes are: one in 256 by chance.
            assert all(_differing(block, first) > 0.95 * BLOCK for first in begun[:-1])
            assert len(_zstd(block)) > 0.95 * BLOCK
    assert 1 <= len(begun) <= (depth if is_random else 1)


def _differing(one: bytes, other: bytes) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))
