"""Can anybody have a campaign of root's touch what is not its own: by its folder, its journal, its device or its loads?"""

import contextlib
import hashlib
import json
import os
import re
import stat
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.campaign.campaign_file import parse
from assay.campaign.design import design
from assay.campaign.journal import CampaignBegun
from assay.campaign.mounted_file_system import WIPE
from assay.confinement import ONLY_IN
from assay.devices import device_uses
from assay.devices import free_device as free
from assay.devices.device_identity import block_node
from assay.devices.free_device import free_device
from assay.devices.held_device import held
from assay.errors import InputError
from e2e.command import COMMAND, NOBODY, Assay
from e2e.processes import WAIT_S
from testbed.devices import MIB, attached_loop, mounted
from testbed.host import command, need_filesystem, need_root, need_tools, wait_until
from testbed.leaks import loops_of_machine, mounts_of_machine

pytestmark = [pytest.mark.testbed, pytest.mark.xdist_group("mount namespaces")]

CAMPAIGN = """\
name = "one"
repeats = {repeats}
{loop}
[[file_system]]
kind = "ext4"
[[load]]
name = "write"
command = "{words}"
"""
WORDS = "measure {dir} --write --bs 64k --size 1m --time 0.2s"
LOVED = "thesis!\n"


RACE_S = float(os.environ.get("ASSAY_HOSTILE_S", "0"))
"""At least one start is attacked; `make hostile` gives each race minutes."""


@pytest.fixture(autouse=True)
def _root() -> None:
    need_root()
    need_tools("mkfs.ext4", "wipefs", "losetup")


def campaign(place: Path, words: str = WORDS, *, repeats: int = 1, loops: Path | None = None) -> Path:
    loop = "" if loops is None else f'[loop]\nfolder = "{loops}"\nsize = "512MiB"\n'
    file = place / "one.toml"
    file.write_text(CAMPAIGN.format(loop=loop, words=words, repeats=repeats))
    return file


# -- the folder -----------------------------------------------------------------------------------------------------------


def test_a_folder_on_whose_way_another_user_can_exchange_one_is_refused(assay: Assay, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    (theirs / "loops").mkdir()
    file = campaign(theirs, loops=theirs / "loops")

    for words in ((), ("--undo",), ("--resume",), ("--state", theirs / "a/b")):
        refused = assay("matrix", file, *words, check=2).stderr
        assert f"{theirs} belongs to user nobody" in refused or "there is no campaign" in refused
    assert f"{theirs} belongs to user nobody" in assay("matrix", file, check=2).stderr
    # Its own folder is safe, and that of its loop files is not.
    refused = assay("matrix", file, "--state", tmp_path / "mine", check=2).stderr
    assert f"{theirs} belongs to user nobody" in refused
    assert "name another in [loop]" in refused
    assert sorted(path.name for path in theirs.iterdir()) == ["loops", "one.toml"]
    assert list((theirs / "loops").iterdir()) == []


# -- the journal ----------------------------------------------------------------------------------------------------------


def forged(place: Path, file: Path, schema: str, lines: list[dict[str, Any]]) -> Path:
    """A stranger's folder of a campaign, as root's own copy of it has it."""
    made = parse(file.read_text(), "c.toml")
    begun = CampaignBegun(schema=schema, campaign=made, design=design(made), key="ab", device=None)
    texts = [json.dumps(line) for line in ({"line": "begun", **msgspec.to_builtins(begun)}, *lines)]
    if schema.endswith("/2"):
        texts = [f'{{"of":{text},"mac":"{hashlib.sha256(text.encode()).hexdigest()}"}}' for text in texts]
    folder = place / "one.campaign"
    folder.mkdir(mode=0o700)
    (folder / "journal.jsonl").write_text("".join(f"{text}\n" for text in texts))
    return folder


@pytest.mark.parametrize("schema", ["assay.campaign/1", "assay.campaign/2"])
def test_a_strangers_journal_is_shown_and_has_nothing_done(schema: str, assay: Assay, tmp_path: Path) -> None:
    loops = tmp_path / "loops"
    loops.mkdir()
    file = campaign(tmp_path, loops=loops)
    victim, empty, passwd = (tmp_path / name for name in ("victim", "empty", "passwd"))
    victim.write_text(LOVED)
    passwd.write_text(LOVED)
    empty.touch()
    queue = tmp_path / "loop0" / "queue"
    queue.mkdir(parents=True)
    (queue / "scheduler").symlink_to(passwd)
    there = victim.stat()
    image = loops / "theirs.img"
    with image.open("wb") as data:
        data.truncate(MIB)
    words = [sys.executable, "-c", "import sys; sys.stdin.read()", "a-word-of-theirs", "--no-report"]
    with (
        attached_loop(image, direct_io=False) as device,
        subprocess.Popen(words, stdin=subprocess.PIPE) as process,
    ):
        behind = image.stat()
        if schema.endswith("/1"):
            lines: list[dict[str, Any]] = [
                {"line": "image_named", "path": str(empty)},
                {"line": "image_made", "path": str(victim), "device": there.st_dev, "inode": there.st_ino},
                {"line": "image_made", "path": str(image), "device": behind.st_dev, "inode": behind.st_ino},
                {
                    "line": "scheduler_found",
                    "queue": str(queue.with_name(device.name) / "queue"),
                    "scheduler": "evil::0:0",
                },
            ]
            queue.parent.rename(queue.parent.with_name(device.name))
        else:
            ticks = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
            lines = [
                {"line": "image_named", "name": "../empty"},
                {"line": "image_made", "name": "../victim", "device": there.st_dev, "inode": there.st_ino},
                {"line": "image_made", "name": "theirs.img", "device": behind.st_dev, "inode": behind.st_ino},
                {
                    "line": "scheduler_found",
                    "disk": device.name,
                    "scheduler": "evil::0:0",
                    "diskseq": None,
                    "boot_id": boot,
                },
                {
                    "line": "measurement_started",
                    "slot": 1,
                    "process": process.pid,
                    "started_ticks": ticks,
                    "boot_id": boot,
                },
            ]
        lines.append({"line": "slot_begun", "slot": 1, "mark": "a-word-of-theirs"})
        folder = forged(tmp_path, file, schema, lines)
        before = (folder / "journal.jsonl").read_bytes()

        told = "of this version writes" if schema.endswith("/1") else "not written with your key"
        for asked in ((), ("--resume",), ("--retry",), ("--undo",)):
            assert told in assay("matrix", file, *asked, check=2).stderr
        assert told in assay("matrix", file, "--show").stderr
        assert process.poll() is None
        assert loops_of_machine()[str(device)] == image
        assert [path.read_text() for path in (victim, passwd, empty)] == [LOVED, LOVED, ""]
        assert [path.name for path in folder.iterdir()] == ["journal.jsonl"]
        assert (folder / "journal.jsonl").read_bytes() == before
        process.kill()


# -- what has the same bytes as the device --------------------------------------------------------------------------------


def make_ext4(place: Path) -> None:
    """Make a file system to which nothing is written later: lazy initialisation would, once it is mounted."""
    command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", place)


SWAP_BYTES = 40 << 10
"""The least that mkswap takes."""


class Stack:
    """Small loop devices, each undone at the end."""

    def __init__(self, place: Path, stack: contextlib.ExitStack) -> None:
        self.place = place
        self._stack = stack
        self.images: list[Path] = []
        self.kernels_bytes = 0
        """What the kernel may write to by itself, from the beginning."""

    def image(self, *, mib: int = 16, has_ext4: bool = True) -> Path:
        """Make a file, with a file system."""
        path = self.place / f"image{len(self.images)}"
        with path.open("wb") as file:
            file.truncate(mib * MIB)
        if has_ext4:
            make_ext4(path)
        self.images.append(path)
        return path

    def loop(self, file: Path, *, offset: int = 0) -> Path:
        """Attach a loop device."""
        device = Path(command("losetup", "--find", "--show", "--offset", str(offset), file).strip())
        self._stack.callback(self._detach, device, Path(os.path.realpath(file)))
        return device

    def _detach(self, device: Path, file: Path) -> None:
        command("losetup", "--detach", device)
        wait_until(lambda: loops_of_machine().get(str(device)) != file, f"{device} detached")

    def mount(self, device: Path, kind: str = "ext4") -> Path:
        """Mount a device."""
        return self._stack.enter_context(mounted("-t", kind, str(device)))

    def mount_elsewhere(self, device: Path) -> None:
        """Mount a device in a mount namespace of its own."""
        folder = self.place / "elsewhere"
        folder.mkdir()
        words = f"mount -t ext4 {device} {folder} && echo mounted && cat"
        process = self._stack.enter_context(
            subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )
        self._stack.callback(process.communicate)
        assert process.stdout is not None
        assert process.stdout.readline() == b"mounted\n"

    def mount_and_let_go(self, device: Path) -> None:
        """Mount a device, and take the mount out of sight while a file of it is open."""
        folder = self.place / "gone"
        folder.mkdir()
        command("mount", "-t", "ext4", device, folder)
        file = (folder / "held").open("wb")
        command("umount", "--lazy", folder)
        self._stack.callback(file.close)

    def swap(self, device: Path) -> None:
        """Swap to a device, or to a file without holes."""
        command("mkswap", device, "40")
        self.kernels_bytes = SWAP_BYTES
        done = subprocess.run(["swapon", device], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no swap here: {done.stderr.strip()}")
        self._stack.callback(command, "swapoff", device)

    def open(self, path: Path) -> None:
        """Have a process hold a file open."""
        held = ["sh", "-c", 'exec 3<"$0"; echo open; read -r end', str(path)]
        process = self._stack.enter_context(subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        self._stack.callback(process.communicate)
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"

    def parts(self, device: Path) -> tuple[Path, Path]:
        """Give a device two partitions of 8 MiB."""
        need_tools("partx")
        command("partx", "--add", device)
        self._stack.callback(command, "partx", "--delete", device)
        parts = (Path(f"{device}p1"), Path(f"{device}p2"))
        wait_until(lambda: all(part.exists() for part in parts), f"{parts}")
        return parts

    def disk(self) -> Path:
        """Make a file with a table of two partitions."""
        path = self.image(mib=24, has_ext4=False)
        entries = (
            struct.pack("<B3sB3sII", 0, b"\xfe\xff\xff", 0x83, b"\xfe\xff\xff", start, 16384) for start in (2048, 20480)
        )
        with path.open("r+b") as file:
            # A DOS table: entries of 16 bytes from 446 on, and 0x55AA.
            file.write(bytes(446) + b"".join(entries) + bytes(32) + b"\x55\xaa")
        return path

    def overlay(self) -> Path:
        """See the image through an overlay, where its inode is another."""
        image = self.image()
        folder = self.place / "lower"
        folder.mkdir()
        for name in ("upper", "work"):
            (self.place / name).mkdir()
        image.rename(folder / "image")
        image.symlink_to(folder / "image")
        options = f"lowerdir={self.place / 'upper'},upperdir={folder},workdir={self.place / 'work'}"
        seen = self._stack.enter_context(mounted("-t", "overlay", "-o", options, "overlay"))
        return seen / "image"


def same_file_mounted(stack: Stack) -> Path:
    image = stack.image()
    target = stack.loop(image)
    stack.mount(stack.loop(image))
    return target


def same_file_by_another_name_mounted(stack: Stack) -> Path:
    image = stack.image()
    (stack.place / "hard").hardlink_to(image)
    stack.mount(stack.loop(image))
    return stack.loop(stack.place / "hard")


def same_file_mounted_in_another_namespace(stack: Stack) -> Path:
    image = stack.image()
    target = stack.loop(image)
    stack.mount_elsewhere(stack.loop(image))
    return target


def same_file_mounted_out_of_sight(stack: Stack) -> Path:
    image = stack.image()
    target = stack.loop(image)
    stack.mount_and_let_go(stack.loop(image))
    return target


def same_file_mounted_as_btrfs(stack: Stack) -> Path:
    """Its mount has a number that is no device's."""
    need_filesystem("btrfs")
    image = stack.image(mib=128, has_ext4=False)
    command("mkfs.btrfs", "-q", image)
    target = stack.loop(image)
    stack.mount(stack.loop(image), "btrfs")
    return target


def same_file_swapped_to(stack: Stack) -> Path:
    image = stack.image()
    target = stack.loop(image)
    stack.swap(stack.loop(image))
    return target


def same_file_open_by_another_loop(stack: Stack) -> Path:
    image = stack.image()
    target = stack.loop(image)
    stack.open(stack.loop(image))
    return target


def file_swapped_to(stack: Stack) -> Path:
    image = stack.image(has_ext4=False)
    image.write_bytes(bytes(16 * MIB))
    image.chmod(0o600)
    target = stack.loop(image)
    stack.swap(image)
    return target


def file_open(stack: Stack) -> Path:
    image = stack.image()
    target = stack.loop(image)
    stack.open(image)
    return target


def same_file_behind_a_loop_over_another(stack: Stack) -> Path:
    image = stack.image()
    target = stack.loop(image)
    stack.mount(stack.loop(stack.loop(image)))
    return target


def loop_over_a_mounted_loop(stack: Stack) -> Path:
    below = stack.loop(stack.image())
    target = stack.loop(below)
    stack.mount(below)
    return target


def loop_over_a_loop_of_a_mounted_file(stack: Stack) -> Path:
    image = stack.image()
    target = stack.loop(stack.loop(stack.loop(image)))
    stack.mount(stack.loop(image))
    return target


def two_loops_over_one_loop(stack: Stack) -> Path:
    below = stack.loop(stack.image())
    target = stack.loop(below)
    stack.mount(stack.loop(below))
    return target


def by_another_node(stack: Stack) -> Path:
    """The same device by a node of another inode."""
    below = stack.loop(stack.image())
    node = stack.place / "node"
    os.mknod(node, 0o600 | stat.S_IFBLK, below.stat().st_rdev)
    stack.mount(below)
    return stack.loop(node)


def behind_a_mounted_loop(stack: Stack) -> Path:
    below = stack.loop(stack.image())
    stack.mount(stack.loop(below))
    return below


def disk_of_a_mounted_part(stack: Stack) -> Path:
    disk = stack.loop(stack.disk())
    part, _ = stack.parts(disk)
    make_ext4(part)
    stack.mount(part)
    return disk


def part_behind_a_mounted_loop(stack: Stack) -> Path:
    part, _ = stack.parts(stack.loop(stack.disk()))
    make_ext4(part)
    stack.mount(stack.loop(part))
    return part


def loop_over_a_disk_of_a_mounted_part(stack: Stack) -> Path:
    disk = stack.loop(stack.disk())
    _, part = stack.parts(disk)
    make_ext4(part)
    target = stack.loop(disk)
    stack.mount(part)
    return target


def loop_over_a_mounted_part(stack: Stack) -> Path:
    part, _ = stack.parts(stack.loop(stack.disk()))
    make_ext4(part)
    target = stack.loop(part)
    stack.mount(part)
    return target


def part_of_a_disk_of_a_mounted_file(stack: Stack) -> Path:
    """Another loop device begins where the partition does."""
    image = stack.disk()
    part, _ = stack.parts(stack.loop(image))
    make_ext4(part)
    stack.mount(stack.loop(image, offset=2048 * 512))
    return part


def overlay_over_a_mounted_file(stack: Stack) -> Path:
    seen = stack.overlay()
    target = stack.loop(seen)
    stack.mount(stack.loop(Path(os.path.realpath(stack.images[0]))))
    return target


def file_below_a_mounted_overlay(stack: Stack) -> Path:
    seen = stack.overlay()
    target = stack.loop(Path(os.path.realpath(stack.images[0])))
    stack.mount(stack.loop(seen))
    return target


def over_of(device: Path) -> list[str]:
    """Everything that a device and its partitions carry, as a user gives it up."""
    parts = Path(f"/sys/class/block/{device.name}").glob(f"{device.name}p*")
    found = [command("wipefs", "--no-act", "--noheadings", "--output", "TYPE", f"/dev/{name}").split()
             for name in (device.name, *(part.name for part in parts))]  # fmt: skip
    return [word for type_ in sorted({each for types in found for each in types}) for word in ("--over", type_)]


STACKINGS: dict[str, Callable[[Stack], Path]] = {
    made.__name__: made
    for made in (
        same_file_mounted,
        same_file_by_another_name_mounted,
        same_file_mounted_in_another_namespace,
        same_file_mounted_out_of_sight,
        same_file_mounted_as_btrfs,
        same_file_swapped_to,
        same_file_open_by_another_loop,
        file_swapped_to,
        file_open,
        same_file_behind_a_loop_over_another,
        loop_over_a_mounted_loop,
        loop_over_a_loop_of_a_mounted_file,
        two_loops_over_one_loop,
        by_another_node,
        behind_a_mounted_loop,
        disk_of_a_mounted_part,
        part_behind_a_mounted_loop,
        loop_over_a_disk_of_a_mounted_part,
        loop_over_a_mounted_part,
        part_of_a_disk_of_a_mounted_file,
        overlay_over_a_mounted_file,
        file_below_a_mounted_overlay,
    )
}


BY_COMMAND = frozenset(STACKINGS) if RACE_S else frozenset([*STACKINGS][::5])
"""Stackings of which the command is tried, too."""


@pytest.mark.parametrize("stacking", STACKINGS)
def test_a_device_whose_bytes_somebody_uses_is_refused_however_they_are_stacked(
    stacking: str, assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for patient in (device_uses, free):
        monkeypatch.setattr(patient, "_PATIENCE_S", 0.1)
    with contextlib.ExitStack() as undone:
        stack = Stack(tmp_path, undone)
        target = STACKINGS[stacking](stack)
        command("sync")
        before = [hashlib.sha256(image.read_bytes()[stack.kernels_bytes :]).hexdigest() for image in stack.images]

        node = tmp_path / "by-another-name"
        os.mknod(node, 0o600 | stat.S_IFBLK, target.stat().st_rdev)
        over = over_of(target)
        refusals = []
        for name in (target, node):
            with pytest.raises(InputError) as refused, free_device(block_node(str(name)), over=over[1::2], own=()):
                pass
            refusals.append(str(refused.value))
        if stacking in BY_COMMAND:
            done = assay("matrix", campaign(tmp_path), "--destroy-data", target, *over, check=2)
            refusals.append(done.stderr)
        for told in refusals:
            sys.stdout.write(f"{stacking}: {told}\n")
            assert "Nothing is written to it" in told
            assert not re.search("--over|carries ext4. ", told)

        command("sync")
        assert [
            hashlib.sha256(image.read_bytes()[stack.kernels_bytes :]).hexdigest() for image in stack.images
        ] == before


def test_nobody_begins_to_use_what_has_the_same_bytes_while_they_are_written(tmp_path: Path) -> None:
    with contextlib.ExitStack() as undone:
        stack = Stack(tmp_path, undone)
        image = stack.image()
        below = stack.loop(image)
        target, twin = stack.loop(below), stack.loop(image)
        folder = tmp_path / "mnt"
        folder.mkdir()

        for device in (below, twin):
            with free_device(block_node(str(target)), over=("ext4",), own=()):
                tried = subprocess.run(["mount", device, folder], capture_output=True, text=True, check=False)
                assert tried.returncode, f"{device} could be mounted"
                assert "busy" in tried.stderr or "already mounted" in tried.stderr
            command("mount", device, folder)
            command("umount", folder)


# -- the medium -----------------------------------------------------------------------------------------------------------


def test_a_node_that_leads_to_another_device_between_two_measurements_changes_nothing(
    assay: Assay, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as undone:
        stack = Stack(tmp_path, undone)
        given, other = (stack.loop(stack.image(mib=320, has_ext4=False)) for _ in range(2))
        with other.open("r+b") as device:
            device.write(LOVED.encode() * 4096)
        loved = hashlib.sha256(stack.images[1].read_bytes()).hexdigest()
        node = tmp_path / "node"
        os.mknod(node, 0o600 | stat.S_IFBLK, given.stat().st_rdev)
        file = campaign(tmp_path, repeats=2)
        journal = tmp_path / "one.campaign" / "journal.jsonl"
        words = [str(COMMAND), "matrix", str(file), "--destroy-data", str(node)]
        environment = {**os.environ, "ASSAY_RUNS": str(assay.runs)}
        with subprocess.Popen(
            words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
        ) as process:
            wait_until(
                lambda: journal.exists() and '"line":"slot_made"' in journal.read_text(),
                "the first measurement",
                WAIT_S,
            )
            node.unlink()
            os.mknod(node, 0o600 | stat.S_IFBLK, other.stat().st_rdev)
            _, told = process.communicate(timeout=WAIT_S)

        assert process.returncode in {0, 1}, told
        measured = [line for line in journal.read_text().splitlines() if '"line":"slot_measured"' in line]
        assert len(measured) == 2
        command("sync")
        assert hashlib.sha256(stack.images[1].read_bytes()).hexdigest() == loved
        assert [mount for mount in mounts_of_machine() if mount.is_relative_to(tmp_path)] == []


# -- races ----------------------------------------------------------------------------------------------------------------


class Racer:
    """Does something again and again until it is stopped, in a thread of its own."""

    def __init__(self, attack: Callable[[], object]) -> None:
        self._attack = attack
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._go_on)
        self.failed: Exception | None = None

    def _go_on(self) -> None:
        try:
            while not self._is_over.is_set():
                self._attack()
        except Exception as error:  # noqa: BLE001 - given on to the test
            self.failed = error

    def __enter__(self) -> None:
        """Begin."""
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """End, and raise what went wrong."""
        self._is_over.set()
        self._thread.join()
        if self.failed is not None:
            raise self.failed


def started_in_turns(assay: Assay, place: Path, device: Path) -> Counter[int]:
    """Start campaigns on a device until the time is over, each in a folder of its own."""
    ends: Counter[int] = Counter()
    end_s = time.monotonic() + RACE_S
    while not ends or time.monotonic() < end_s:
        state = place / f"state{sum(ends.values())}"
        words = ("matrix", campaign(place), "--state", state, "--destroy-data", device, "--over", "ext4")
        ends[assay(*words).returncode] += 1
    return ends


def test_nothing_done_outside_while_what_has_the_same_bytes_is_mounted_in_a_loop(assay: Assay, tmp_path: Path) -> None:
    uuid = "11111111-2222-3333-4444-555555555555"
    with contextlib.ExitStack() as undone:
        stack = Stack(tmp_path, undone)
        image = stack.image()
        target, twin = stack.loop(image), stack.loop(image)
        folder = tmp_path / "mnt"
        folder.mkdir()
        counts: Counter[str] = Counter()

        def is_theirs() -> bool:
            with image.open("rb") as file:
                file.seek(1024 + 0x68)  # s_uuid of the super block
                return file.read(16).hex() == uuid.replace("-", "")

        def attack() -> None:
            subprocess.run(["mkfs.ext4", "-q", "-F", "-U", uuid, twin], capture_output=True, check=False)
            os.sync()
            if subprocess.run(["mount", twin, folder], capture_output=True, check=False).returncode:
                counts["kept out"] += 1
                return
            counts["mounted"] += 1
            if is_theirs():  # else an old page of the twin's own cache was mounted
                for _ in range(20):
                    time.sleep(0.005)
                    counts["destroyed"] += not is_theirs()
            command("umount", folder)

        with Racer(attack):
            ends = started_in_turns(assay, tmp_path, target)

        sys.stdout.write(f"same bytes: {dict(counts)}; exits of runs: {dict(ends)}\n")
        assert counts["destroyed"] == 0
        assert counts["mounted"] + counts["kept out"] > 0


def test_nothing_done_outside_while_the_node_leads_to_another_device_in_a_loop(assay: Assay, tmp_path: Path) -> None:
    with contextlib.ExitStack() as undone:
        stack = Stack(tmp_path, undone)
        given, other = (stack.loop(stack.image()) for _ in range(2))
        nodes = [tmp_path / name for name in ("node", "next")]
        swaps: Counter[str] = Counter()

        def attack() -> None:
            os.mknod(nodes[1], 0o600 | stat.S_IFBLK, (given, other)[swaps["all"] % 2].stat().st_rdev)
            nodes[1].rename(nodes[0])
            swaps["all"] += 1
            time.sleep(0.001)

        attack()
        # Which of both it is at the first look is the attacker's to say: the other is refused, because it is mounted.
        stack.mount(other)
        command("sync")
        loved = hashlib.sha256(stack.images[1].read_bytes()).hexdigest()
        with Racer(attack):
            ends = started_in_turns(assay, tmp_path, nodes[0])

        sys.stdout.write(f"nodes: {swaps['all']} swaps; exits of runs: {dict(ends)}\n")
        command("sync")
        assert hashlib.sha256(stack.images[1].read_bytes()).hexdigest() == loved


# -- loads ----------------------------------------------------------------------------------------------------------------


def test_a_load_that_measures_another_folder_is_refused_before_it_writes(assay: Assay, tmp_path: Path) -> None:
    elsewhere, loops = tmp_path / "elsewhere", tmp_path / "loops"
    elsewhere.mkdir()
    loops.mkdir()
    file = campaign(tmp_path, f"measure {elsewhere} --write --size 1m --time 0.2s --note {{dir}}", loops=loops)

    refused = assay("matrix", file, check=2)

    assert f"load 'write': '{elsewhere}' is not in {{dir}}" in refused.stderr
    assert not (tmp_path / "one.campaign").exists()
    # Nor does one that looks at the storage before it is measured.
    for words in (
        ("quick", elsewhere),
        ("measure", elsewhere),
        ("bonnie", "-d", elsewhere, "-u", "root", "-r", "0", "-s", "0"),
    ):
        refused = assay(*words, env={ONLY_IN: str(loops)}, check=2)
        assert f"'{elsewhere}' is not in {loops}, which alone may be written to" in refused.stderr
    assert list(elsewhere.iterdir()) == []
    assert list(loops.iterdir()) == []


def test_a_medium_that_was_exchanged_is_seen_before_each_step(tmp_path: Path) -> None:
    with contextlib.ExitStack() as undone:
        stack = Stack(tmp_path, undone)
        first, second = stack.image(), stack.image()
        loved = hashlib.sha256(second.read_bytes()).hexdigest()

        # It has grown.
        device = stack.loop(first)
        with held(block_node(str(device))) as known:
            known.check()
            os.truncate(first, 32 * MIB)
            command("losetup", "--set-capacity", device)
            with pytest.raises(InputError, match=r"was exchanged for another .*: its size in bytes was 16777216"):
                known.carry_out(WIPE)

        # The node leads to another device, for the time of one command.
        node = tmp_path / "node"
        other = stack.loop(second)
        os.mknod(node, 0o600 | stat.S_IFBLK, device.stat().st_rdev)
        with held(msgspec.structs.replace(block_node(str(node)), path=str(node))) as known:
            node.unlink()
            os.mknod(node, 0o600 | stat.S_IFBLK, other.stat().st_rdev)
            with pytest.raises(InputError, match="the name is not that of the device"):
                known.carry_out(WIPE)

        # The number has another medium than when it was looked at: each attachment has its own sequence number.
        now = block_node(str(device))
        then = msgspec.structs.replace(now.identity, diskseq=block_node(str(other)).identity.diskseq)
        with (
            pytest.raises(InputError, match="the kernel's number of its medium was"),
            held(msgspec.structs.replace(now, identity=then)),
        ):
            pass

        # Others can exchange the node.
        (tmp_path / "open").mkdir()
        (tmp_path / "open").chmod(0o777)
        os.mknod(tmp_path / "open/node", 0o600 | stat.S_IFBLK, other.stat().st_rdev)
        with (
            pytest.raises(InputError, match="name the device by the node that the kernel made"),
            held(msgspec.structs.replace(block_node(str(other)), path=str(tmp_path / "open/node"))),
        ):
            pass

        command("sync")
        assert hashlib.sha256(second.read_bytes()).hexdigest() == loved
        assert "ext4" in command("wipefs", "--no-act", first)
