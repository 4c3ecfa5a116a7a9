"""What is said of a file system's past: with evidence where it was so, and nothing where it was not."""

import re
from pathlib import Path
from typing import Any

import pytest

from e2e.command import Measure
from e2e.planted.loads import RANDOM_READ, data, only
from suite.outcomes import Disturbed
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.history import come_and_go, free_inodes
from testbed.host import command, need_tools

NO_JOURNAL = ("-b", "4096", "-O", "^has_journal")
ONE_GROUP = (*NO_JOURNAL, "-N", "32768")
SMALL_GROUPS = (*NO_JOURNAL, "-g", "8192")
NO_FLEXIBLE_GROUPS = ("-b", "4096", "-O", "^has_journal,^flex_bg", "-g", "8192")
FREED = 20_000
FEW = 1000
"""Up to so many that were passed by have no finding."""
CREATE = """
[[phase]]
name = "create"
[[phase.job]]
op = { op = "create", set = "files" }
stop = { ops = 3000 }
"""
LOOK = """
[[phase]]
name = "look"
[[phase.job]]
op = {{ op = "{operation}", set = "files" }}
stop = {{ ops = 200 }}
"""
FILES = """
name = "past"
reserve = "1MiB"
[[file_set]]
name = "files"
files = {files}
size = 0
existing_share = {share}
{keys}
"""
KEPT = 'keep = true\nreuse = "never"'


def found(document: dict[str, Any], id_: str, words: str = "") -> list[dict[str, Any]]:
    """Findings of an id whose text has these words, of all rows and of the run."""
    every = [*document["findings"], *(finding for row in document["results"] for finding in row["findings"])]
    return [finding for finding in every if finding["id"] == id_ and words in finding["text"]]


def inodes_per_group(device: Path) -> int:
    told = re.search(r"Inodes per group:\s+(\d+)", command("dumpe2fs", "-h", device))
    assert told is not None
    return int(told[1])


def free_inodes_below(device: Path, inode: int, *, first: int = 1) -> int:
    """Count the free inodes of a mounted ext4 from `first` to below another, by the bitmaps on the device."""
    command("sync")
    lines = re.findall(r"^ +Free inodes: (.*)$", command("dumpe2fs", device), re.MULTILINE)
    ranges = (part.split("-") for line in lines for part in line.split(", ") if part)
    return sum(
        len(range(max(int(begin), first), min(int(end[0] if end else begin) + 1, inode))) for begin, *end in ranges
    )


def check_passed_by(document: dict[str, Any], passed_by: int, freed: int) -> None:
    """Hold the finding of a run to the number of inodes that ext4 passed by, of those that were freed.

    How many these are is its own affair, by the second in which each was freed: after a minute it gives them out again, and
    a machine that took so long has no finding.
    """
    findings = found(document, "earlier-files", "inodes that were freed")
    if passed_by <= FEW:
        assert findings == []
        raise Disturbed(f"this machine was so slow that ext4 passed by {passed_by} inodes only")
    (finding,) = findings
    said = re.search(r"at least (\d+) inodes", finding["text"])
    assert said is not None
    assert 0.95 * passed_by <= int(said[1]) <= min(passed_by, freed)
    assert (finding["severity"], finding["brief"]) == ("weak", "inodes freed a moment before")


def test_no_more_inodes_are_said_to_be_passed_by_than_were_freed_and_nearly_all(measure: Measure) -> None:
    with (
        tmpfs(144 * MIB) as memory,
        loop_device(128 * MIB, backing=memory) as device,
        filesystem(device, mkfs_options=ONE_GROUP) as directory,
    ):
        assert inodes_per_group(device) == 32_768
        free_inodes(directory, FREED)
        document = measure(FILES.format(files=3000, share=0.0, keys=KEPT) + CREATE, directory)
        last = max(path.stat().st_ino for path in (directory / "assay-data" / "files").iterdir())
        passed_by = free_inodes_below(device, last)

    check_passed_by(document, passed_by, FREED)


def test_in_any_group_no_more_are_said_to_be_passed_by_than_were_freed(measure: Measure) -> None:
    freed = 4000
    with (
        tmpfs(336 * MIB) as memory,
        loop_device(320 * MIB, backing=memory) as device,
        filesystem(device, mkfs_options=(*NO_FLEXIBLE_GROUPS, "-N", "81920")) as directory,
    ):
        sets = FILES.format(files=1100, share=0.01, keys=KEPT)
        measure(sets + LOOK.format(operation="stat"), directory)
        files = directory / "assay-data" / "files"
        of_group = inodes_per_group(device)
        groups = {(path.stat().st_ino - 1) // of_group for path in files.iterdir()}
        free_inodes(files, freed)
        document = measure(sets.replace("never", "trust") + CREATE.replace("3000", "1000"), directory)
        assert {(path.stat().st_ino - 1) // of_group for path in files.iterdir()} == groups
        last = max(path.stat().st_ino for path in files.iterdir())
        passed_by = free_inodes_below(device, last, first=(last - 1) // of_group * of_group + 1)

    check_passed_by(document, passed_by, freed)


@pytest.mark.parametrize(
    ("kind", "options", "before"),
    [
        ("ext4", ONE_GROUP, "nothing"),
        ("ext4", SMALL_GROUPS, "nothing"),
        ("ext4", NO_FLEXIBLE_GROUPS, "nothing"),
        ("ext4", ONE_GROUP, "in use"),
        ("ext4", ("-b", "4096", "-N", "32768"), "freed"),
        ("xfs", (), "freed"),
        ("btrfs", (), "freed"),
    ],
)
def test_where_no_inode_was_passed_by_nothing_is_said(measure: Measure, kind: Any, options: Any, before: str) -> None:
    size = (128 if options and "-g" not in options else 320) * MIB
    with (
        tmpfs(size + 16 * MIB) as memory,
        loop_device(size, backing=memory) as device,
        filesystem(device, kind, mkfs_options=options) as directory,
    ):
        if before == "freed":
            free_inodes(directory, FREED)
        if before == "in use":
            for number in range(FREED):
                (directory / f"stays-{number}").touch()
        # Several sets: one lies in a group by chance. None makes room for the next, which would free inodes.
        for number in range(3 if kind == "ext4" and before == "nothing" else 1):
            load = FILES.format(files=3000, share=0.0, keys="keep = true") + CREATE
            document = measure(load.replace('"files"', f'"files{number}"'), directory)
            assert found(document, "earlier-files", "inodes that were freed") == []


@pytest.mark.parametrize("options", [ONE_GROUP, SMALL_GROUPS])
def test_what_a_phase_frees_itself_is_a_part_of_it(measure: Measure, options: Any) -> None:
    churn = """
    [[phase]]
    name = "churn"
    [[phase.job]]
    stop = { passes = 20000 }
    [[phase.job.loop]]
    group = "churn"
    actions = [{ op = "create", set = "files" }, { op = "unlink", set = "files" }]
    """
    with (
        tmpfs(272 * MIB) as memory,
        loop_device(256 * MIB, backing=memory) as device,
        filesystem(device, mkfs_options=options) as directory,
    ):
        document = measure(FILES.format(files=100, share=0.5, keys="") + churn, directory)

    assert found(document, "earlier-files", "inodes that were freed") == []


@pytest.mark.parametrize("operation", ["readdir", "readdir_stat", "stat", "open"])
def test_a_directory_that_held_many_names_is_named_with_its_size(measure: Measure, operation: str) -> None:
    with (
        tmpfs(160 * MIB) as memory,
        loop_device(128 * MIB, backing=memory) as device,
        filesystem(device, mkfs_options=("-b", "4096")) as directory,
    ):
        load = FILES.format(files=100, share=1.0, keys=KEPT) + LOOK.format(operation=operation)
        fresh = measure(load, directory)
        grown = directory / "assay-data" / "files"
        come_and_go(grown, 5000)
        size = grown.stat().st_size
        (finding,) = found(measure(load.replace("never", "trust"), directory), "earlier-files", "The directory ")

    assert found(fresh, "earlier-files", "The directory ") == []
    assert finding["severity"] == "note"
    assert f"{grown} takes {size // 1024} KiB" in finding["text"]
    assert "the 100 names" in finding["text"]


@pytest.mark.parametrize(("share", "said"), [(0.6, "60 %"), (0.02, None)])
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_holes_are_said_with_their_share(measure: Measure, kind: Any, share: float, said: str | None) -> None:
    need_tools("fallocate")
    size = (128 if kind == "ext4" else 320) * MIB
    with (
        tmpfs(size + 16 * MIB) as memory,
        loop_device(size, backing=memory) as device,
        filesystem(device, kind) as directory,
    ):
        load = only(RANDOM_READ, seconds=0.2, sets=data("32MiB", KEPT))
        whole = measure(load, directory)
        (file,) = (path for path in directory.rglob("*") if path.is_file() and path.stat().st_size == 32 * MIB)
        hole = round(32 * MIB * share) // 4096 * 4096
        command("fallocate", "--punch-hole", "--offset", "8192", "--length", str(hole), file)
        findings = found(measure(load.replace("never", "trust"), directory), "holes")

    assert found(whole, "holes") == []
    if said is None:
        assert findings == []
        return
    (finding,) = findings
    assert finding["severity"] == "warning"
    assert finding["text"].startswith(f"{said} of the bytes of set 'data' are holes")


@pytest.mark.parametrize("allocate", ["sparse", "fallocate"])
def test_what_a_load_never_wrote_is_not_said_twice(measure: Measure, allocate: str) -> None:
    with tmpfs(144 * MIB) as memory, loop_device(128 * MIB, backing=memory) as device, filesystem(device) as directory:
        document = measure(only(RANDOM_READ, seconds=0.2, sets=data("32MiB", f'allocate = "{allocate}"')), directory)

    (finding,) = found(document, "holes")
    assert "never written" in finding["text"]
