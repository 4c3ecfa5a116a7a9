"""Are a filled file system and an aged set what the steps say they are? The file system itself is the witness."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay import events
from assay.bundle import RunBundle
from e2e.command import Assay
from testbed.devices import MIB, filesystem, loop_device

pytestmark = pytest.mark.testbed

LOAD = """
name = "fill-and-age"
reserve = "8MiB"

[[file_set]]
name = "files"
files = 800
size = {{ kind = "uniform", min = "4KiB", max = "256KiB" }}
keep = true

[[phase]]
name = "stat"
title = "stat"
before = [{{ fill = "target", used_share = {share} }}, {{ prepare = "files" }}, {{ age = "files", churn = 3 }}]
stop = {{ ops = 800 }}
[[phase.job]]
op = {{ op = "stat", set = "files", pick = "random" }}
"""


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """A small ext4 of its own."""
    with loop_device(400 * MIB, backing=tmp_path) as device, filesystem(device) as directory:
        yield directory


def words(tmp_path: Path, directory: Path, share: float) -> tuple[str | Path, ...]:
    load = tmp_path / "load.toml"
    load.write_text(LOAD.format(share=share))
    return ("run", load, directory, "--no-report", "--json")


def steps(assay: Assay) -> dict[str, events.StepDone]:
    (bundle,) = (folder for folder in assay.runs.iterdir() if folder.is_dir())
    return {event.step: event for event in RunBundle.open(bundle).events() if isinstance(event, events.StepDone)}


def used_share(directory: Path) -> float:
    space = os.statvfs(directory)
    return 1 - space.f_bfree / space.f_blocks


def extents(folder: Path) -> float:
    files = sorted(path for path in folder.iterdir() if path.name.startswith("f"))
    said = subprocess.run(["filefrag", *files], capture_output=True, text=True, check=True).stdout
    counts = [int(line.rsplit(":", 1)[1].split()[0]) for line in said.splitlines()]
    return sum(counts) / len(counts)


def test_a_filled_file_system_is_as_full_as_asked_and_free_again_afterwards(
    assay: Assay, tmp_path: Path, mount: Path
) -> None:
    before = used_share(mount)

    assay.measured(*words(tmp_path, mount, 0.6))

    said = float(steps(assay)["fill"].detail.split(";")[1].split("%")[0])
    assert said == pytest.approx(60.0, abs=0.5)
    kept = sum(path.stat().st_blocks * 512 for path in (mount / "assay-data" / "files").iterdir())
    space = os.statvfs(mount)
    assert used_share(mount) == pytest.approx(before + kept / (space.f_blocks * space.f_frsize), abs=0.01)


def test_an_aged_set_has_all_its_files_whole_and_more_extents(assay: Assay, tmp_path: Path, mount: Path) -> None:
    assay.measured(*words(tmp_path, mount, 0.61))

    folder = mount / "assay-data" / "files"
    assert len([path for path in folder.iterdir() if path.name.startswith("f")]) == 800
    replaced, said = steps(assay)["age"].detail.split(";")
    assert replaced == "2400 files replaced"
    after = float(said.split(",")[1].split()[0])
    assert after == pytest.approx(extents(folder), abs=0.006)  # all 800 are sampled; two decimals are said
    assert after > float(said.split(":")[1].split()[0])


def test_filling_past_the_reserve_is_refused_with_the_numbers(assay: Assay, tmp_path: Path, mount: Path) -> None:
    done = assay(*words(tmp_path, mount, 0.999), check=3)

    assert "choose a smaller share" in done.stderr
    assert not (mount / "assay-data").exists()
