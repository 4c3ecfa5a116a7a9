"""Damage done behind Assay's back: is every bad block found, named and classed, and nothing else?"""

import collections
import errno
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay import events
from assay.bundle import RunBundle
from assay.events import CorruptionKind, Verified
from e2e.command import Assay, Measure
from e2e.processes import WAIT_S, events_of, intervals_with_operations, running
from testbed.devices import MIB, filesystem, loop_device
from testbed.host import wait_until

BLOCK = 4096
BLOCKS = 16 * MIB // BLOCK
FILES = 4
DAMAGED = 1000

FILE_SET = """
[[file_set]]
name = "data"
files = 4
size = "16MiB"
content = { stamped = true }
reuse = "if_matches"
keep = true
"""

WRITE_ONCE = (
    """
name = "write"
"""
    + FILE_SET
    + """
[[phase]]
name = "write"
title = "each block once"
[[phase.job]]
workers = 2
op = { op = "write", set = "data", access = { kind = "random", region = "slice", coverage = "each_once" }, size = "4KiB" }
"""
)

READ_BACK = (
    """
name = "read"
"""
    + FILE_SET
    + """
[[phase]]
name = "read"
title = "read all of it"
before = [{ verify = "data" }]
[[phase.job]]
{depth}
op = { op = "read", set = "data", access = { kind = "sequential", wrap = false }, size = "64KiB" }
"""
)
PSYNC = ""
QUEUE = 'backend = { kind = "io_uring", fallback = "threads" }\nqueue_depth = 8'


@pytest.mark.parametrize("depth", [PSYNC, QUEUE], ids=["psync", "io_uring"])
def test_every_damaged_block_is_found_and_classed_and_no_other(
    depth: str, measure: Measure, assay: Assay, tmp_path: Path
) -> None:
    measure(WRITE_ONCE, tmp_path)
    (folder,) = tmp_path.glob("assay-data*/data")
    shutil.copytree(folder, tmp_path / "old")
    measure(WRITE_ONCE, tmp_path)
    expected = _damage(folder, tmp_path / "old")

    document = measure(READ_BACK.replace("{depth}", depth), tmp_path)

    run = RunBundle.open(Path(document["run"]["bundle"]))
    (verified,) = [event for event in run.events() if isinstance(event, Verified)]
    assert verified.blocks == FILES * BLOCKS
    assert {item.kind: item.blocks for item in verified.corruption} == collections.Counter(expected.values())
    read = {finding["text"] for result in document["results"] for finding in result["findings"]}
    for kind, blocks in collections.Counter(expected.values()).items():
        assert any(f"Reads found {blocks} blocks" in text and f"({kind.value})" in text for text in read)
    named = [event.text for event in run.events() if isinstance(event, events.Warning) and event.id == "corrupt-block"]
    assert len(named) == 2 * 100
    for text in named:
        path, rest = text.split(": the block at byte ")
        offset, what = rest.split(" is ")
        assert expected[Path(path).name, int(offset) // BLOCK].value == what
    assert assay("show", document["run"]["bundle"]).returncode == 0
    assert document["run"]["exit_code"] == 1


def test_a_block_that_the_device_lost_is_found_although_memory_has_it(measure: Measure, tmp_path: Path) -> None:
    with (
        loop_device(400 * MIB, backing=tmp_path) as device,
        filesystem(device, "ext4", mkfs_options=("-b", str(BLOCK))) as directory,
    ):
        measure(WRITE_ONCE, directory)
        file = sorted(path for path in directory.glob("assay-data*/data/*") if not path.name.startswith("."))[2]
        good = _block(file, 5)
        _overwrite_on(device, good, bytes(BLOCK))
        assert _block(file, 5) == good, "memory has it"

        document = measure(READ_BACK.replace("{depth}", PSYNC), directory)

    (verified,) = (
        event for event in RunBundle.open(Path(document["run"]["bundle"])).events() if isinstance(event, Verified)
    )
    assert verified.resident_share == 0
    (found,) = verified.corruption
    assert (found.kind, found.blocks) == (CorruptionKind.NEVER_WRITTEN, 1)
    assert (Path(found.path).name, found.offset_bytes) == (file.name, 5 * BLOCK)


READ_ON = (
    """
name = "read on"
sample_interval = "100ms"
"""
    + FILE_SET
    + """
[[file_set]]
name = "names"
files = 4
size = "0"
[[phase]]
name = "read"
title = "read it again and again, beside a process whose calls fail"
seconds = "1h"
[[phase.job]]
name = "reader"
limit = { ops_per_s = 5000 }
op = { op = "read", set = "data", access = "sequential", size = "64KiB" }
[[phase.job]]
name = "asker"
as = "process"
limit = { ops_per_s = 100 }
loop = [{ op = "getxattr", set = "names" }, { op = "stat", set = "names" }]
"""
)


def test_what_was_found_is_in_the_record_of_a_run_whose_engine_was_killed(
    measure: Measure, assay: Assay, tmp_path: Path
) -> None:
    directory = tmp_path / "target"
    directory.mkdir()
    measure(WRITE_ONCE, directory)
    (folder,) = directory.glob("assay-data*/data")
    shutil.copytree(folder, tmp_path / "old")
    measure(WRITE_ONCE, directory)
    kinds = set(_damage(folder, tmp_path / "old").values())
    load = tmp_path / "load.toml"
    load.write_text(READ_ON)

    with running("run", load, directory, "--no-report", folder=tmp_path) as run:
        engine = run.engine_of_a_run(tmp_path / "runs")
        wait_until(lambda: _found(tmp_path / "runs") == (kinds, {errno.ENODATA}), "reports of all", 60.0)
        os.kill(engine, signal.SIGKILL)
        run.exit_code()
    (bundle,) = (tmp_path / "runs").glob("20*-read-on-*")
    document = json.loads(assay("show", bundle, "--json", check=None).stdout)

    opened = RunBundle.open(bundle)
    assert not any(isinstance(event, events.PhaseFinished) for event in opened.events())
    read, asked = (
        next(row for row in document["results"] if row["operation"] == name) for name in ("read", "getxattr")
    )
    texts = [finding["text"] for finding in read["findings"] if finding["id"] == "corruption"]
    assert {kind for kind in kinds if any(f"({kind.value})" in text for text in texts)} == kinds
    assert "ENODATA" in next(finding["text"] for finding in asked["findings"] if finding["id"] == "errors")
    named = [
        event.text for event in opened.events() if isinstance(event, events.Warning) and event.id == "corrupt-block"
    ]
    assert len(named) == 100


def _found(runs: Path) -> tuple[set[CorruptionKind], set[int]]:
    """What kinds of damage, and what errors, the engine has reported so far."""
    reported = [event for event in events_of(runs) if event["event"] == "went_wrong"]
    kinds = {CorruptionKind(each["kind"]) for event in reported for each in event["corruption"]}
    return kinds, {each["errno"] for event in reported for each in event["errors"]}


def _overwrite_on(device: Path, good: bytes, bad: bytes) -> None:
    """Write over the only block of a device that has these bytes, below whatever is mounted there."""
    descriptor = os.open(device, os.O_RDWR | os.O_DIRECT)
    try:
        piece = mmap.mmap(-1, MIB)
        places = []
        for at in range(0, os.lseek(descriptor, 0, os.SEEK_END), MIB):
            os.preadv(descriptor, [piece], at)
            places += [at + block for block in range(0, MIB, BLOCK) if piece[block : block + BLOCK] == good]
        (place,) = places
        block = mmap.mmap(-1, BLOCK)
        block.write(bad)
        os.pwritev(descriptor, [block], place)
    finally:
        os.close(descriptor)


def _damage(folder: Path, old: Path) -> dict[tuple[str, int], CorruptionKind]:
    """Damage a thousand blocks in four ways; what was done to which block of which file."""
    draw = random.Random(7)  # noqa: S311 - damage, not a secret
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    assert len(names) == FILES
    places = draw.sample([(name, block) for name in names for block in range(BLOCKS)], DAMAGED)
    # Blocks that are moved come from places that stay whole.
    taken = set(places)
    expected: dict[tuple[str, int], CorruptionKind] = {}
    for turn, (name, block) in enumerate(places):
        with (folder / name).open("r+b") as file:
            good = os.pread(file.fileno(), BLOCK, block * BLOCK)
            before = _block(old / name, block)
            kind = list(CorruptionKind)[turn % 4]
            match kind:
                case CorruptionKind.WRONG_DATA:
                    at = draw.randrange(BLOCK)
                    bad = good[:at] + bytes([good[at] ^ 1 << draw.randrange(8)]) + good[at + 1 :]
                case CorruptionKind.STALE:
                    bad = before
                case CorruptionKind.TORN:
                    bad = good[: BLOCK // 2] + before[BLOCK // 2 :]
                case _:
                    other = next(b for b in iter(lambda: draw.randrange(BLOCKS), -1) if (name, b) not in taken)
                    bad = os.pread(file.fileno(), BLOCK, other * BLOCK)
            assert bad != good
            os.pwrite(file.fileno(), bad, block * BLOCK)
        expected[name, block] = kind
    return expected


def _block(path: Path, block: int) -> bytes:
    with path.open("rb") as file:
        return os.pread(file.fileno(), BLOCK, block * BLOCK)


MIXED = (
    """
name = "mixed"
"""
    + FILE_SET
    + """
[[phase]]
name = "mixed"
title = "two workers write and read the same blocks"
seconds = "{seconds}"
after = [{ verify = "data" }]
[[phase.job]]
workers = 2
{depth}
[[phase.job.loop]]
kind = "choice"
branches = [
  { weight = 0.5, actions = [{ op = "read", set = "data", pick = "random", access = {pattern}, size = "{size}" }] },
  { weight = 0.5, actions = [{ op = "write", set = "data", pick = "random", access = {pattern}, size = "{size}" }] },
]
"""
)
HOT = '{ kind = "random", distribution = { kind = "zipf", theta = 1.2, scramble = true } }'


def _mixed(seconds: str, size: str = "4KiB", pattern: str = HOT, depth: str = QUEUE) -> str:
    text = MIXED.replace("{seconds}", seconds).replace("{size}", size)
    return text.replace("{pattern}", pattern).replace("{depth}", depth)


@pytest.mark.parametrize(
    "load",
    [
        _mixed("1s"),
        _mixed("0.5s", depth=PSYNC),
        _mixed("0.5s", size="64KiB", pattern='"random"'),
        _mixed("0.5s", size="512B", depth=PSYNC),
    ],
    ids=["hot blocks in a queue", "hot blocks one by one", "64 KiB", "sectors"],
)
def test_data_that_nobody_damaged_raises_no_alarm(load: str, measure: Measure, tmp_path: Path) -> None:
    document = measure(load, tmp_path)

    run = RunBundle.open(Path(document["run"]["bundle"]))
    (verified,) = [event for event in run.events() if isinstance(event, Verified)]
    assert (verified.corruption, verified.generations_known) == ((), True)
    assert all(finding["id"] != "corruption" for result in document["results"] for finding in result["findings"])
    assert all(result["ops"] > 0 for result in document["results"])


def test_what_was_acknowledged_before_the_engine_was_killed_is_there(
    measure: Measure, assay: Assay, tmp_path: Path
) -> None:
    measure(WRITE_ONCE, tmp_path)
    load = tmp_path / "mixed.toml"
    load.write_text(_mixed("1h", depth=PSYNC))
    command = Path(sys.executable).parent / "assay"
    environment = {**os.environ, "ASSAY_RUNS": str(assay.runs)}
    started = subprocess.Popen(
        [command, "run", load, tmp_path], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: intervals_with_operations(assay.runs) >= 2, "intervals of the engine")
    (engine,) = (event["engine"]["pid"] for event in events_of(assay.runs) if event["event"] == "hello")
    os.kill(engine, signal.SIGKILL)
    started.wait(WAIT_S)

    document = measure(READ_BACK.replace("{depth}", PSYNC), tmp_path)

    assert document["run"]["exit_code"] == 0
    run = RunBundle.open(Path(document["run"]["bundle"]))
    (verified,) = [event for event in run.events() if isinstance(event, Verified)]
    assert (verified.corruption, verified.generations_known, verified.blocks) == ((), True, FILES * BLOCKS)

    # And it would have been told: a block as it was before the kill is stale by what was acknowledged since.
    (folder,) = tmp_path.glob("assay-data*/data")
    assert (folder / ".assay-generations").stat().st_size == BLOCK + 8 * FILES * BLOCKS
