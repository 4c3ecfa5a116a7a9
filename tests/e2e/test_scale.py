"""Does what the engine keeps in memory stay small when a file set grows? The kernel counts its pages."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.bundle import RunBundle
from assay.events import Finished, Prepared
from e2e.command import TIMEOUT_S, Measure
from testbed.devices import MIB, filesystem, loop_device, tmpfs

pytestmark = pytest.mark.testbed

# Looking files up, and replacing them: the engine knows which of their names are taken.
LOAD = """
name = "many-files"
reserve = 0
[[file_set]]
name = "data"
files = {files}
size = 0
layout = {{ per_directory = 1000 }}
existing_share = 0.5
[[phase]]
name = "stat"
stop = {{ ops = 2000 }}
[[phase.job]]
workers = 2
op = {{ op = "stat", set = "data", pick = "existing" }}
[[phase]]
name = "churn"
stop = {{ ops = 2000 }}
[[phase.job]]
workers = 2
loop = [
    {{ op = "create", set = "data", pick = "new", slot = 0 }},
    {{ op = "close", slot = 0 }},
    {{ op = "unlink", set = "data", pick = "existing" }},
]
"""

FEW, MANY = 20_000, int(os.environ.get("ASSAY_FILES", "200000"))
"""Files that a set has names for; half of them are there. `make endure` takes twenty million: ten are laid out."""
MOST_IN_MEMORY = 1_000_000


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Memory, where there is room: it takes a kilobyte or two a file; else a disk, with small inodes."""
    if MANY <= MOST_IN_MEMORY:
        with tmpfs(64 * MIB) as mount_point:
            yield mount_point
        return
    inodes = MANY * 11 // 20
    with (
        loop_device(inodes * 256 + 512 * MIB, backing=tmp_path) as device,
        filesystem(device, mkfs_options=("-I", "128", "-N", str(inodes))) as mount_point,
    ):
        yield mount_point


def test_ten_million_files_would_take_less_than_200_mib(
    measure: Measure, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("e2e.command.TIMEOUT_S", max(TIMEOUT_S, MANY / 1000))

    few_bytes, many_bytes = (_peak_bytes(measure, directory, files) for files in (FEW, MANY))

    # What the command held when it started the engine, some 70 MiB, is not the engine's.
    assert few_bytes < 40 * MIB
    a_file_bytes = (many_bytes - few_bytes) / (MANY - FEW)
    sys.stdout.write(f"{few_bytes} bytes with {FEW} files, {many_bytes} with {MANY}: {a_file_bytes:.2f} a file\n")
    assert few_bytes + 10_000_000 * a_file_bytes < 200 * MIB


def _peak_bytes(measure: Measure, directory: Path, files: int) -> int:
    document = measure(LOAD.format(files=files), directory, "--no-report")
    assert all(result["ops"] > 0 and result["errors"] == 0 for result in document["results"])
    happened = RunBundle.open(Path(document["run"]["bundle"])).events()
    (prepared,) = [event for event in happened if isinstance(event, Prepared)]
    (finished,) = [event for event in happened if isinstance(event, Finished)]
    assert prepared.files == files // 2
    return finished.peak_rss_bytes
