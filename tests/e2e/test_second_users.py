"""Another user attacks the directory that root measures: nothing outside Assay's own folder is touched.

`ASSAY_HOSTILE_S` is how long each attack goes on; `make hostile` gives each of them minutes.
"""

import collections
import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from assay.campaign.campaign_file import parse
from assay.campaign.design import design
from assay.campaign.journal import JOURNAL, SCHEMA, CampaignBegun, opened
from e2e.command import NOBODY, Assay
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.host import need_root

pytestmark = [pytest.mark.testbed, pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be attacked")]

ATTACK_S = float(os.environ.get("ASSAY_HOSTILE_S", "4"))
SOME = [
    ("tmpfs", "sticky"),
    ("tmpfs", "open"),
    ("tmpfs", "theirs"),
    ("ext4", "sticky"),
    ("xfs", "open"),
    ("btrfs", "theirs"),
]
ALL = [(kind, place) for kind in ("ext4", "xfs", "btrfs", "tmpfs") for place in ("sticky", "open", "theirs")]
ATTACKER = Path(__file__).with_name("attacker.py")
LOVED = "thesis!\n" * 1024
"""As long as a file of the load: what stands in its place may be taken for it."""
LOAD = """
name = "attacked"
reserve = 0
[[file_set]]
name = "data"
files = 400
size = "8KiB"
layout = { per_directory = 10 }
keep = true
reuse = "if_matches"
[[file_set]]
name = "other"
files = 400
size = "0"
layout = { per_directory = 10 }
existing_share = 0.5
[[phase]]
name = "write"
seconds = "0.3s"
[[phase.job]]
op = { op = "write", set = "data", access = "random", size = "4KiB" }
[[phase]]
name = "names"
seconds = "0.3s"
[[phase.job]]
loop = [
  { op = "create", set = "other", pick = "new", slot = 0 },
  { op = "write", slot = 0, access = "whole", size = "4KiB" },
  { op = "close", slot = 0 },
  { op = "chmod", set = "other", pick = "existing" },
  { op = "truncate", set = "other", pick = "existing", size = "1KiB" },
  { op = "stat", set = "data", pick = "random" },
  { op = "unlink", set = "other", pick = "existing" },
]
"""


@contextmanager
def file_system(kind: Literal["ext4", "xfs", "btrfs", "tmpfs"]) -> Iterator[Path]:
    """A file system of a kind, with backing in memory."""
    with ExitStack() as stack:
        memory = stack.enter_context(tmpfs(400 * MIB))
        if kind == "tmpfs":
            yield memory
            return
        device = stack.enter_context(loop_device(350 * MIB, backing=memory, direct_io=False))
        yield stack.enter_context(filesystem(device, kind))


@contextmanager
def attacker(directory: Path, victim: Path) -> Iterator["subprocess.Popen[str]"]:
    """Have another user attack a directory for a time."""
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    with subprocess.Popen(
        [python, "-", directory, victim, str(ATTACK_S)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
    ) as process:
        assert process.stdin is not None
        # Given as a text: the tests may lie where that user may not look.
        process.stdin.write(ATTACKER.read_text())
        process.stdin.close()
        try:
            yield process
        finally:
            process.kill()


def state_of(folder: Path) -> list[tuple[str, int, int, int, int, bytes]]:
    """Everything in a folder, and the folder itself: names, kinds, owners, sizes and bytes."""
    found = []
    for path in sorted([folder, *folder.rglob("*")]):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found.append((str(path), facts.st_mode, facts.st_uid, facts.st_ino, facts.st_size, content))
    return found


def misplaced(directory: Path) -> list[str]:
    """What root has left in folders of others."""
    return [
        str(path)
        for path in directory.rglob("*")
        if path.lstat().st_uid == 0 and path.parent != directory and path.parent.lstat().st_uid != 0
    ]


@pytest.mark.parametrize(("kind", "place"), ALL if "ASSAY_HOSTILE_S" in os.environ else SOME)
def test_another_user_gets_nothing_done_outside(
    kind: Literal["ext4", "xfs", "btrfs", "tmpfs"], place: str, assay: Assay, tmp_path: Path
) -> None:
    load = tmp_path / "attacked.toml"
    load.write_text(LOAD)
    trusting = tmp_path / "trusting.toml"
    trusting.write_text(LOAD.replace('"if_matches"', '"trust"'))
    with file_system(kind) as mount_point:
        directory, victim = mount_point / "measured", mount_point / "victim"
        directory.mkdir()
        directory.chmod({"sticky": 0o1777, "open": 0o777, "theirs": 0o755}[place])
        if place == "theirs":
            os.chown(directory, NOBODY, NOBODY)
        (victim / "folder").mkdir(parents=True)
        for name in ("file", "f00000000", "folder/f00000001"):
            (victim / name).write_text(LOVED)
            (victim / name).chmod(0o600)
        before = state_of(victim)

        ends: collections.Counter[int] = collections.Counter()
        with attacker(directory, victim) as process:
            while process.poll() is None:
                for words in (("run", load), ("clean",), ("run", trusting), ("clean",)):
                    done = assay(*words, directory, *(("--no-report",) if words[0] == "run" else ()))
                    assert "Traceback" not in done.stderr, done.stderr
                    assert done.returncode in {0, 1, 2, 3}, done.stderr
                    ends[done.returncode] += 1
            assert process.stdout is not None
            sys.stdout.write(f"{kind}, {place}: came through: {process.stdout.read()}; exits of runs: {dict(ends)}\n")

        assert state_of(victim) == before
        assert misplaced(directory) == []


SWAPPER = """
import ctypes, os, sys, time
folder, other, seconds = sys.argv[1:]
end = time.monotonic() + float(seconds)
rename = ctypes.CDLL(None, use_errno=True).renameat2
swaps = 0
while time.monotonic() < end:
    # RENAME_EXCHANGE: one of both is always there (renameat2(2)).
    swaps += rename(-100, os.fsencode(folder), -100, os.fsencode(other), 2) == 0
    time.sleep(0.0001)
print(swaps)
"""
CAMPAIGN = """
name = "c"
[loop]
folder = "{loops}"
size = "4PiB"
[[file_system]]
kind = "ext4"
[[load]]
name = "read"
command = "measure {{dir}}"
"""


def strangers_campaign(folder: Path, file: Path, victim: Path) -> None:
    """A folder whose journal would have a file removed, and whose mount point and inputs lead there."""
    campaign = parse(file.read_text(), "c.toml")
    begun = CampaignBegun(schema=SCHEMA, campaign=campaign, design=design(campaign), key="ab", device=None)
    there = (victim / "file").stat()
    line = {"line": "image_made", "name": "../victim/file", "device": there.st_dev, "inode": there.st_ino}
    folder.mkdir()
    texts = [json.dumps(each) for each in ({"line": "begun", **msgspec.to_builtins(begun)}, line)]
    (folder / JOURNAL).write_text("".join(f'{{"of":{text},"mac":"{"0" * 64}"}}\n' for text in texts))
    (folder / "mnt").symlink_to(victim)
    (folder / "read.input").symlink_to(victim / "file")
    for path in (folder, *folder.iterdir()):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


@pytest.mark.parametrize("place", ["open", "theirs"] if "ASSAY_HOSTILE_S" in os.environ else ["theirs"])
def test_nothing_done_outside_by_a_campaign_whose_folder_is_swapped(place: str, assay: Assay, tmp_path: Path) -> None:
    with tmpfs(16 * MIB) as mount_point:
        directory, victim = mount_point / "theirs", mount_point / "victim"
        directory.mkdir()
        victim.mkdir(mode=0o700)
        (victim / "file").write_text(LOVED)
        file = tmp_path / "c.toml"
        file.write_text(CAMPAIGN.format(loops=directory))
        kept, forged = directory / "kept", directory / "forged"
        with opened(kept) as journal:
            campaign = parse(file.read_text(), "c.toml")
            journal.append(
                CampaignBegun(schema=SCHEMA, campaign=campaign, design=design(campaign), key="ab", device=None)
            )
        strangers_campaign(forged, file, victim)
        directory.chmod(0o777 if place == "open" else 0o755)
        if place == "theirs":
            os.chown(directory, NOBODY, NOBODY)
        before = state_of(victim)

        ends: collections.Counter[int] = collections.Counter()
        python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
        with subprocess.Popen(
            [python, "-c", SWAPPER, kept, forged, os.environ.get("ASSAY_HOSTILE_S", "0.5")],
            stdout=subprocess.PIPE, text=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
        ) as process:  # fmt: skip
            while process.poll() is None:
                for words in (("--undo",), ()):
                    done = assay("matrix", file, "--state", kept, *words)
                    assert "Traceback" not in done.stderr, done.stderr
                    ends[done.returncode] += 1
            assert process.stdout is not None
            swaps = int(process.stdout.read())
            sys.stdout.write(f"campaign, {place}: {swaps} swaps; exits of runs: {dict(ends)}\n")

        assert swaps > 0
        assert set(ends) == {2}
        assert state_of(victim) == before
        assert sorted(path.name for path in directory.iterdir()) == ["forged", "kept"]


def test_a_data_folder_of_another_user_is_refused_before_anything_is_written(assay: Assay, tmp_path: Path) -> None:
    need_root()
    folder = tmp_path / "assay-data"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)

    done = assay("quick", tmp_path, "--size", "16MiB", "--time", "10s", check=3)

    assert f"{folder} belongs to user {NOBODY}" in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("quick", "{0}"), ("measure", "{0}"), ("bonnie", "-d", "{0}", "-n", "1"), ("iozone", "-a", "-f", "{0}/x")]
)
@pytest.mark.parametrize("user", ["4294967295", "-1", "no such user", "0:4294967295", "\x1b[2J"])
def test_users_that_would_mean_nobody_in_particular_are_refused(
    words: tuple[str, ...], user: str, assay: Assay, tmp_path: Path
) -> None:
    done = assay(*(word.format(tmp_path) for word in words), f"--user={user}", check=2)

    sys.stdout.write(f"{user!r}: {done.stderr}")
    assert "--user" in done.stderr or "bonnie -" in done.stderr
    assert "\x1b" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("run", "{load}", "{place}"),
        ("measure", "{place}", "--write", "--fsync-every", "4", "--size", "4m", "--time", "0.2s"),
        ("iozone", "-s", "64k", "-i", "0", "-f", "{place}/x"),
        ("bonnie", "-d", "{place}", "-r", "0", "-s", "0", "-n", "1"),
        ("postmark", "{commands}"),
        ("bigdir", "64", "32", "--dir", "{place}"),
    ],
    ids=lambda words: words[0],
)
def test_a_run_of_root_leaves_all_that_is_done_to_another_user(
    words: tuple[str, ...], assay: Assay, tmp_path: Path
) -> None:
    with tmpfs(400 * MIB) as place:
        os.chown(place, NOBODY, NOBODY)
        place.chmod(0o700)
        load, commands = tmp_path / "load.toml", tmp_path / "commands"
        load.write_text(LOAD.replace("keep = true", "").replace('reuse = "if_matches"', ""))
        commands.write_text(f"set location {place}\nset number 20\nset transactions 50\nrun\nquit\n")
        names = {"load": load, "place": place, "commands": commands}

        done = assay(*(word.format(**names) for word in words), "--user", "nobody", "--no-report", "--json")
        if "could not be started as user" in done.stderr:
            pytest.skip(done.stderr)

        assert done.returncode in {0, 1}, done.stderr
        run = next(assay.runs.glob("*/resolved.json"))
        assert json.loads(run.read_bytes())["user"] == {"uid": NOBODY, "gid": pwd.getpwnam("nobody").pw_gid}
        assert list(place.iterdir()) == []
        # Root could have done it anywhere; that user cannot.
        place.chmod(0o500)
        os.chown(place, 0, 0)
        refused = assay(*(word.format(**names) for word in words), "--user", "nobody", "--no-report", check=3)
        assert "not writable for this user" in refused.stderr
