"""Where a set lies on ext4: not where the one before it lay, whose inodes an ext4 without a journal gives out only later."""

import re
from pathlib import Path

from e2e.command import Assay
from testbed.devices import MIB, filesystem, loop_device
from testbed.host import command

ROUNDS = 6
LOAD = """
name = "creates"
[[file_set]]
name = "data"
files = 200
size = 0
layout = { per_directory = 50 }
keep = true
[[phase]]
name = "stat"
[[phase.job]]
op = { op = "stat", set = "data" }
stop = { ops = 1 }
"""
SMALL_GROUPS = ("-O", "^has_journal,^flex_bg", "-b", "4096", "-g", "8192")


def groups_of(directory: Path, inodes_per_group: int) -> set[int]:
    """Block groups of a set's folder, and of all in it."""
    paths = (directory, *directory.rglob("*"))
    return {(path.stat().st_ino - 1) // inodes_per_group for path in paths}


def test_a_new_set_lies_in_other_block_groups_than_those_that_were_removed(assay: Assay, tmp_path: Path) -> None:
    load = tmp_path / "creates.toml"
    load.write_text(LOAD)
    found = []

    with (
        loop_device(512 * MIB, backing=tmp_path) as device,
        filesystem(device, "ext4", mkfs_options=SMALL_GROUPS) as directory,
    ):
        told = re.search(r"Inodes per group:\s+(\d+)", command("dumpe2fs", "-h", device))
        assert told is not None
        for _ in range(ROUNDS):
            assay.measured("run", load, directory, "--no-report")
            found.append(groups_of(directory / "assay-data" / "data", int(told[1])))
            assert [path.name for path in (directory / "assay-data").glob(".assay-new-*")] == []
            assay("clean", directory, check=0)
        assert not (directory / "assay-data").exists()

    # Files lie with the folder of their set. Sixteen groups have no directory, and chance chooses one of them each time:
    # all the same in one of a million.
    assert all(len(groups) == 1 for groups in found), found
    assert len(set.union(*found)) > 1, found
