"""Attempts to have a block device overwritten that must not be, by attackers and by administrators in a hurry.

Each is refused before anything is measured, with the documented exit code and the reason, and what is on the device is what
was there before.
"""

import contextlib
import dataclasses
import hashlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.command import COMMAND, MEASURED, NOBODY, Assay
from testbed.devices import MIB, attached_loop, mounted
from testbed.host import command, need_filesystem, need_root, need_tools, wait_until

pytestmark = [pytest.mark.testbed, pytest.mark.xdist_group("mount namespaces")]

SIZE_BYTES = 24 * MIB
CONTENT_AT = 12 * MIB
"""Where something lies that nobody wants to lose, away from what programs that make file systems write."""
SECTOR = 512
SWAP_BYTES = 40 << 10
"""Of a device that is swap: the least that mkswap takes."""
INPUT, ENVIRONMENT = 2, 3
QUICKLY = ("--time", "0.2s", "--no-report")
ALLOWED = ("--destroy-data", "{device}")
WRITE = ("measure", "block:{device}", "--write", "--size", "1m", *QUICKLY)
OVERWRITE = (*WRITE, *ALLOWED)
READ = ("measure", "block:{device}", "--random", "--size", "1m", *QUICKLY)
LOAD = """
name = "some"
{top}
[[file_set]]
name = "d"
size = "1m"
target = "disk"
[[phase]]
name = "p"
seconds = "0.2s"
[[phase.job]]
op = {{ op = "{op}", set = "d", size = "4k" }}
[[target]]
name = "disk"
uri = "block:{device}"
{more}
"""


@dataclasses.dataclass(frozen=True)
class Disk:
    """A device with content, and a folder for what an attempt needs beside it."""

    device: Path
    image: Path
    folder: Path
    assay: Assay

    def text(self, word: str) -> str:
        """A word of a command line."""
        return (
            word.replace("{device}", str(self.device))
            .replace("{folder}", str(self.folder))
            .replace("{name}", self.device.name)
        )


Scene = Callable[[Disk], contextlib.AbstractContextManager[object]]


@dataclasses.dataclass(frozen=True)
class Attempt:
    """What somebody does, and why that is refused."""

    words: tuple[str, ...]
    reason: str
    scene: Scene | None = None
    code: int = INPUT
    is_nobody: bool = False
    env: tuple[tuple[str, str], ...] = ()


@pytest.fixture(autouse=True)
def _root() -> None:
    need_root()
    need_tools("losetup", "wipefs", "mkfs.ext4")


@pytest.fixture
def disk(assay: Assay, tmp_path: Path) -> Iterator[Disk]:
    image, folder = tmp_path / "device.img", tmp_path / "beside"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(SIZE_BYTES)
        file.seek(CONTENT_AT)
        file.write(os.urandom(MIB))
    with attached_loop(image, direct_io=True) as device:
        yield Disk(device, image, folder, assay)


def digest(file: Path, since: int = 0) -> str:
    return hashlib.sha256(file.read_bytes()[since:]).hexdigest()


# -- what uses a device ---------------------------------------------------------------------------------------------------


def ext4(disk: Disk) -> None:
    """Make a file system that writes nothing by itself later."""
    command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk.device)


@contextlib.contextmanager
def is_mounted(disk: Disk) -> Iterator[None]:
    ext4(disk)
    with mounted("-o", "noatime", str(disk.device)):
        yield


@contextlib.contextmanager
def is_mounted_read_only(disk: Disk) -> Iterator[None]:
    ext4(disk)
    with mounted("-o", "ro,noload", str(disk.device)):
        yield


@contextlib.contextmanager
def is_lower_of_an_overlay(disk: Disk) -> Iterator[None]:
    need_filesystem("overlay")
    upper, work = disk.folder / "upper", disk.folder / "work"
    upper.mkdir()
    work.mkdir()
    ext4(disk)
    with (
        mounted("-o", "noatime", str(disk.device)) as lower,
        mounted("-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", "overlay"),
    ):
        yield


@contextlib.contextmanager
def is_unmounted_lazily_with_an_open_file(disk: Disk) -> Iterator[None]:
    """No namespace has the mount any more; the file system lives on behind the open file."""
    ext4(disk)
    place = disk.folder / "place"
    place.mkdir()
    command("mount", "-o", "noatime", disk.device, place)
    with (place / "open").open("w") as file:
        file.write("mine")
        file.flush()
        os.fsync(file.fileno())
        command("umount", "--lazy", place)
        yield
    wait_until(lambda: _can_be_had_alone(disk.device), "the file system to end")


def _can_be_had_alone(device: Path) -> bool:
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def is_mounted_in_another_namespace(disk: Disk) -> Iterator[None]:
    need_tools("unshare")
    ext4(disk)
    place = disk.folder / "place"
    place.mkdir()
    script = f"mount -o noatime {disk.device} {place} && echo there && read _"
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "there\n"
        yield
        process.communicate("\n")


@contextlib.contextmanager
def has_partition(disk: Disk) -> Iterator[Path]:
    need_tools("addpart", "delpart")
    command("addpart", disk.device, "1", str(MIB // SECTOR), str(8 * MIB // SECTOR))
    part = Path(f"{disk.device}p1")
    try:
        wait_until(part.exists, f"{part}")
        yield part
    finally:
        command("delpart", disk.device, "1")


@contextlib.contextmanager
def has_mounted_partition(disk: Disk) -> Iterator[None]:
    with has_partition(disk) as part:
        command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", part)
        with mounted("-o", "noatime", str(part)):
            yield


@contextlib.contextmanager
def has_partition_while_it_is_behind_a_loop(disk: Disk) -> Iterator[None]:
    with has_partition(disk), attached_loop(disk.device, direct_io=False):
        yield


@contextlib.contextmanager
def has_partition_with_ext4(disk: Disk) -> Iterator[None]:
    with has_partition(disk) as part:
        command("mkfs.ext4", "-q", "-F", part)
        yield


@contextlib.contextmanager
def is_swapped_to(disk: Disk) -> Iterator[None]:
    need_tools("mkswap", "swapon", "swapoff")
    command("mkswap", "-q", disk.device, "40")
    command("swapon", "--priority", "0", disk.device)
    try:
        yield
    finally:
        command("swapoff", disk.device)


@contextlib.contextmanager
def is_behind_a_loop(disk: Disk) -> Iterator[None]:
    with attached_loop(disk.device, direct_io=False):
        yield


@contextlib.contextmanager
def has_a_mounted_twin(disk: Disk) -> Iterator[None]:
    ext4(disk)
    with attached_loop(disk.image, direct_io=False) as twin, mounted("-o", "noatime", str(twin)):
        yield


@contextlib.contextmanager
def is_open_alone(disk: Disk) -> Iterator[None]:
    descriptor = os.open(disk.device, os.O_RDONLY | os.O_EXCL)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def is_read_only(disk: Disk) -> Iterator[None]:
    need_tools("blockdev")
    command("blockdev", "--setro", disk.device)
    try:
        yield
    finally:
        command("blockdev", "--setrw", disk.device)


@contextlib.contextmanager
def is_part_of_a_mounted_btrfs(disk: Disk) -> Iterator[None]:
    """The mount is of the other device alone, as mount(8) shows it."""
    need_filesystem("btrfs")
    need_tools("mkfs.btrfs", "btrfs")
    other = disk.folder / "other.img"
    with other.open("wb") as file:
        file.truncate(64 * MIB)
    with attached_loop(other, direct_io=True) as first:
        command("mkfs.btrfs", "-q", "-f", "-M", "-d", "single", "-m", "single", first, disk.device)
        command("btrfs", "device", "scan", first, disk.device)
        with mounted("-t", "btrfs", "-o", "noatime", str(first)):
            command("sync")
            yield


# -- what a device carries ------------------------------------------------------------------------------------------------


def holding(*pieces: tuple[int, bytes]) -> Scene:
    """Write bytes to places of a device."""

    @contextlib.contextmanager
    def scene(disk: Disk) -> Iterator[None]:
        with disk.device.open("r+b") as file:
            for offset, piece in pieces:
                file.seek(offset)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        yield

    return scene


def made_by(*words: str) -> Scene:
    """Have a program make a file system on a device."""

    @contextlib.contextmanager
    def scene(disk: Disk) -> Iterator[None]:
        need_tools(words[0])
        command(*words, disk.device)
        yield

    return scene


def gpt() -> tuple[tuple[int, bytes], ...]:
    """A partition table with one partition (UEFI specification, 5.3)."""
    entries = bytearray(128 * 128)
    entries[:16] = uuid.UUID("0FC63DAF-8483-4772-8E79-3D69D8477DE4").bytes_le
    entries[16:32] = bytes(range(16))
    struct.pack_into("<QQ", entries, 32, 2048, 10239)
    last = SIZE_BYTES // SECTOR - 1

    def header(own: int, other: int, table: int) -> bytes:
        made = bytearray(
            struct.pack(
                "<8sIIIIQQQQ16sQIII",
                b"EFI PART",
                0x10000,
                92,
                0,
                0,
                own,
                other,
                34,
                last - 33,
                bytes(range(16)),
                table,
                128,
                128,
                zlib.crc32(entries),
            )
        )
        struct.pack_into("<I", made, 16, zlib.crc32(bytes(made)))
        return bytes(made)

    return (
        (446, struct.pack("<BBBBBBBBII", 0, 0, 2, 0, 0xEE, 255, 255, 255, 1, last)),
        (510, b"\x55\xaa"),
        (SECTOR, header(1, last, 2)),
        (2 * SECTOR, bytes(entries)),
        (SECTOR * last, header(last, 1, last - 32)),
        (SECTOR * (last - 32), bytes(entries)),
    )


DOS = ((446, struct.pack("<BBBBBBBBII", 0, 0, 2, 0, 0x83, 0, 0, 0, 2048, 8192)), (510, b"\x55\xaa"))
LUKS = ((0, b"LUKS\xba\xbe\x00\x01" + bytes(584)),)
LVM = ((512, b"LABELONE" + struct.pack("<QII", 1, 0, 32) + b"LVM2 001" + b"0" * 32 + bytes(400)),)
RAID = ((4096, struct.pack("<IIII", 0xA92B4EFC, 1, 0, 0) + bytes(112) + struct.pack("<QQQ", 2048, 8192, 8)),)
CD = ((0x8000, b"\x01CD001\x01" + bytes(2040)),)


# -- names ----------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def beside_it(disk: Disk) -> Iterator[None]:
    """Have what is no block device beside it, and links that lead to it and elsewhere."""
    folder = disk.folder
    (folder / "file").write_bytes(bytes(MIB))
    (folder / "to-file").symlink_to("file")
    (folder / "circle").symlink_to("circle")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "a link").symlink_to(disk.device)
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        yield


@contextlib.contextmanager
def another(disk: Disk) -> Iterator[None]:
    """Have another device, which `{folder}/another` leads to."""
    image = disk.folder / "another.img"
    image.write_bytes(bytes(MIB))
    with attached_loop(image, direct_io=False) as other:
        (disk.folder / "another").symlink_to(other)
        yield


@contextlib.contextmanager
def node_of_others(disk: Disk) -> Iterator[None]:
    """Have a node of the device, and links to it, where other users can write."""
    theirs = disk.folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    status = disk.device.stat()
    os.mknod(theirs / "disk", mode=status.st_mode, device=status.st_rdev)
    (theirs / "link").symlink_to(disk.device)
    (disk.folder / "mine").symlink_to(theirs / "link")
    (disk.folder / "their-link").symlink_to(disk.device)
    os.chown(disk.folder / "their-link", NOBODY, NOBODY, follow_symlinks=False)
    yield


@contextlib.contextmanager
def link_that_is_exchanged(disk: Disk) -> Iterator[None]:
    """Have a link lead to another device after it was looked at and before the engine opens it."""
    image, link = disk.folder / "another.img", disk.folder / "by-id"
    image.write_bytes(bytes(MIB))
    with attached_loop(image, direct_io=False) as other:
        link.symlink_to(other)
        script = disk.folder / "engine"
        engine = Path(sys.executable).with_name("assay-engine")
        script.write_text(
            f'#!/bin/sh\ncase "$*" in *--version*) ;; *) ln -sfn {disk.device} {link} ;; esac\nexec {engine} "$@"\n'
        )
        script.chmod(0o755)
        yield


# -- documents ------------------------------------------------------------------------------------------------------------


def load_file(*, top: str = "", more: str = "", op: str = "write") -> Scene:
    """Have a load file that writes to the device, or destroys what is on it by another operation."""

    @contextlib.contextmanager
    def scene(disk: Disk) -> Iterator[None]:
        (disk.folder / "load.toml").write_text(LOAD.format(top=top, more=more, op=op, device=disk.device))
        yield

    return scene


def a_file(name: str, text: str) -> Scene:
    """Have a file beside the device."""

    @contextlib.contextmanager
    def scene(disk: Disk) -> Iterator[None]:
        (disk.folder / name).write_text(disk.text(text))
        yield

    return scene


@contextlib.contextmanager
def discards_with_another(disk: Disk) -> Iterator[None]:
    with load_file(op="discard")(disk), another(disk):
        yield


@contextlib.contextmanager
def was_written_by_a_run(disk: Disk) -> Iterator[None]:
    """Have a run that was allowed to; a copy of it is somebody else's."""
    disk.assay(*(disk.text(word) for word in OVERWRITE), check=MEASURED)
    (run,) = (each for each in disk.assay.runs.iterdir() if each.is_dir())
    shutil.copytree(run, disk.folder / run.name)
    (disk.folder / "theirs").symlink_to(run.name)
    with another(disk):
        yield


FIO = ("fio", "--name=x", "--size=1m", "--no-report")
CONFIG = (("XDG_CONFIG_HOME", "{folder}/settings"),)
VDBENCH = """\
sd=one,lun={device},size=1m
wd=w,sd=one,rdpct=0
rd=r,wd=w,elapsed=2,iorate=max
"""
FILEBENCH = """\
set $dir={device}
define file name=f,path=$dir,size=1m
define process name=p { thread name=t { flowop write name=w,filename=f } }
run 1
"""


CAMPAIGN = """\
name = "one"
[[file_system]]
kind = "ext4"
[[load]]
name = "w"
command = "measure {dir}"
"""


@contextlib.contextmanager
def is_mounted_and_has_a_campaign(disk: Disk) -> Iterator[None]:
    with is_mounted(disk), a_file("one.toml", CAMPAIGN)(disk):
        yield


@contextlib.contextmanager
def settings_that_allow_it(disk: Disk) -> Iterator[None]:
    folder = disk.folder / "settings" / "assay"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'destroy_data = ["{disk.device}"]\n')
    yield


ATTEMPTS: dict[str, Attempt] = {
    # What uses it.
    "mounted": Attempt((*OVERWRITE, "--over", "ext4"), "is mounted on", is_mounted),
    "mounted read-only": Attempt((*OVERWRITE, "--over", "ext4"), "is mounted on", is_mounted_read_only),
    "below an overlay": Attempt((*OVERWRITE, "--over", "ext4"), "is mounted on", is_lower_of_an_overlay),
    "unmounted lazily, a file still open": Attempt(
        (*OVERWRITE, "--over", "ext4"), "is in use", is_unmounted_lazily_with_an_open_file
    ),
    "mounted in another mount namespace": Attempt(
        (*OVERWRITE, "--over", "ext4"), "in a mount namespace of its own", is_mounted_in_another_namespace
    ),
    "the disk of a mounted partition": Attempt(OVERWRITE, "is mounted on", has_mounted_partition),
    "a partition of a disk behind a loop device": Attempt(
        ("measure", "block:{device}p1", "--write", *QUICKLY, "--destroy-data", "{device}p1"),
        "is behind",
        has_partition_while_it_is_behind_a_loop,
    ),
    "swap": Attempt((*OVERWRITE, "--over", "swap"), "is swap", is_swapped_to),
    "behind a loop device": Attempt(OVERWRITE, "is behind", is_behind_a_loop),
    "another loop device of the file is mounted": Attempt(
        (*OVERWRITE, "--over", "ext4"), "of the same file", has_a_mounted_twin
    ),
    "open alone in another program": Attempt(OVERWRITE, "is open in process", is_open_alone),
    "read-only": Attempt(OVERWRITE, "is read-only", is_read_only),
    "a member of a mounted btrfs": Attempt(
        (*OVERWRITE, "--over", "btrfs"), "is part of a mounted btrfs", is_part_of_a_mounted_btrfs
    ),
    # What it carries.
    "GPT": Attempt(OVERWRITE, "--over gpt", holding(*gpt())),
    "GPT, of which a part was named": Attempt((*OVERWRITE, "--over", "PMBR"), "--over gpt", holding(*gpt())),
    "MBR": Attempt(OVERWRITE, "--over dos", holding(*DOS)),
    "LUKS": Attempt(OVERWRITE, "--over crypto_LUKS", holding(*LUKS)),
    "LVM": Attempt(OVERWRITE, "--over LVM2_member", holding(*LVM)),
    "RAID": Attempt(OVERWRITE, "--over linux_raid_member", holding(*RAID)),
    "ISO 9660": Attempt(OVERWRITE, "--over iso9660", holding(*CD)),
    "swap that is not in use": Attempt(OVERWRITE, "--over swap", made_by("mkswap", "-q")),
    "ext4": Attempt(OVERWRITE, "--over ext4", made_by("mkfs.ext4", "-q", "-F")),
    "XFS": Attempt(OVERWRITE, "--over xfs", made_by("mkfs.xfs", "-q", "-f", "--unsupported")),
    "btrfs": Attempt(OVERWRITE, "--over btrfs", made_by("mkfs.btrfs", "-q", "-f", "-M")),
    "ext4 where XFS was named": Attempt((*OVERWRITE, "--over", "xfs"), "--over ext4", made_by("mkfs.ext4", "-q", "-F")),
    "a signature in capital letters": Attempt(
        (*OVERWRITE, "--over", "EXT4"), "--over ext4", made_by("mkfs.ext4", "-q", "-F")
    ),
    "two signatures of which one was named": Attempt(
        (*OVERWRITE, "--over", "dos"), "--over iso9660", holding(*DOS, *CD)
    ),
    "a file system in a partition": Attempt(OVERWRITE, "--over ext4", has_partition_with_ext4),
    "a named signature that is not there": Attempt((*OVERWRITE, "--over", "ext4"), "does not carry that"),
    # What was not allowed.
    "nothing": Attempt(WRITE, "--destroy-data {device}"),
    "a signature alone": Attempt((*WRITE, "--over", "ext4"), "--over needs --destroy-data"),
    "another device": Attempt((*WRITE, "--destroy-data", "{folder}/another"), "may be another device", another),
    "it and another device": Attempt(
        (*OVERWRITE, "--destroy-data", "{folder}/another"), "may be another device", another
    ),
    "the disk, for its partition": Attempt(
        ("measure", "block:{device}p1", "--write", *QUICKLY, *ALLOWED), "may be another device", has_partition
    ),
    "a device, where a directory is measured": Attempt(
        ("measure", "{folder}", "--write", *QUICKLY, *ALLOWED), "nothing is measured on it"
    ),
    "a directory": Attempt((*WRITE, "--destroy-data", "{folder}"), "is no block device"),
    "everything": Attempt((*WRITE, "--destroy-data", "/dev"), "is no block device"),
    "an empty name": Attempt((*WRITE, "--destroy-data", ""), "is no device"),
    "with clients": Attempt((*OVERWRITE, "--hosts", "local:2"), "another machine"),
    "by a user who may not": Attempt(OVERWRITE, "run as root", is_nobody=True),
    "by quick, which would write": Attempt(
        ("quick", "block:{device}", "--time", "3s", "--destroy-data", "{folder}/another"), "another device", another
    ),
    # Names.
    "a path without block:": Attempt(("measure", "{device}", "--write", *QUICKLY, *ALLOWED), "write block:{device}"),
    "a scheme in capital letters": Attempt(
        ("measure", "BLOCK:{device}", "--write", *QUICKLY, *ALLOWED), "BLOCK:{device}"
    ),
    "a URL": Attempt(("measure", "block://{device}", "--write", *QUICKLY), "--destroy-data"),
    "a relative path": Attempt(("measure", "block:../../{device}", "--write", *QUICKLY), "from the root on"),
    "a slash at the end": Attempt(("measure", "block:{device}/", "--write", *QUICKLY), "--destroy-data {device}"),
    "dots that lead to it": Attempt(("measure", "block:/dev/../dev/./{device}", "--write", *QUICKLY), "No such file"),
    "a line break": Attempt(("measure", "block:{device}\n", "--write", *QUICKLY), "No such file"),
    "percent codes": Attempt(("measure", "block:/dev%2F{name}", "--write", *QUICKLY), "No such file"),
    "a link with a space, which is followed": Attempt(
        ("measure", "block:{folder}/a link", "--write", *QUICKLY), "--destroy-data '{folder}/a link'", beside_it
    ),
    "a link to a file": Attempt(("measure", "block:{folder}/to-file", "--write", *QUICKLY), "no block", beside_it),
    "a link in a circle": Attempt(("measure", "block:{folder}/circle", *QUICKLY), "symbolic links", beside_it),
    "a link to nothing": Attempt(("measure", "block:{folder}/dangling", *QUICKLY), "No such file", beside_it),
    "a FIFO": Attempt(("measure", "block:{folder}/fifo", "--write", *QUICKLY), "no block device", beside_it),
    "a socket": Attempt(("measure", "block:{folder}/socket", "--write", *QUICKLY), "no block device", beside_it),
    "a character device": Attempt(("measure", "block:/dev/zero", "--write", *QUICKLY), "no block device"),
    "a missing device": Attempt(("measure", "block:/dev/nothing", "--write", *QUICKLY), "No such file"),
    "a node in a folder of others": Attempt(
        ("measure", "block:{folder}/theirs/disk", "--write", "--size", "1m", *QUICKLY, *ALLOWED),
        "could put another device",
        node_of_others,
        ENVIRONMENT,
    ),
    "a link in a folder of others": Attempt(
        ("measure", "block:{folder}/theirs/link", *WRITE[2:], "--destroy-data", "{folder}/theirs/link"),
        "other users can put another device in its place",
        node_of_others,
    ),
    "a link that others made": Attempt(
        (*WRITE, "--destroy-data", "{folder}/their-link"),
        "other users can put another device in its place",
        node_of_others,
    ),
    "a link to a link of others": Attempt(
        (*WRITE, "--destroy-data", "{folder}/mine"), "other users can put another device in its place", node_of_others
    ),
    "a link that leads elsewhere since it was looked at": Attempt(
        ("measure", "block:{folder}/by-id", "--write", "--size", "1m", *QUICKLY, "--destroy-data", "{folder}/by-id"),
        "Nothing is done to it",
        link_that_is_exchanged,
        ENVIRONMENT,
        env=(("ASSAY_ENGINE", "{folder}/engine"),),
    ),
    "more than it has": Attempt(("measure", "block:{device}", "--write", "--size", "25m", *QUICKLY, *ALLOWED), "24.0"),
    # Documents that somebody wrote.
    "a load file": Attempt(("run", "{folder}/load.toml", "{folder}"), "--destroy-data {device}", load_file()),
    "a load file that allows it": Attempt(
        ("run", "{folder}/load.toml", "{folder}"), "destroy_data", load_file(more="destroy_data = true")
    ),
    "a load file that allows it everywhere": Attempt(
        ("run", "{folder}/load.toml", "{folder}"), "destroy_data", load_file(top="destroy_data = true")
    ),
    "a load file that names its number": Attempt(
        ("run", "{folder}/load.toml", "{folder}"), "device", load_file(more='device = "7:0"')
    ),
    "settings that allow it": Attempt(WRITE, "--destroy-data {device}", settings_that_allow_it, env=CONFIG),
    "a load file that discards": Attempt(
        ("run", "{folder}/load.toml", "{folder}"), "--destroy-data {device}", load_file(op="discard")
    ),
    "a load file that punches holes": Attempt(
        ("run", "{folder}/load.toml", "{folder}"), "--destroy-data {device}", load_file(op="punch_hole")
    ),
    "a load file that writes zeroes": Attempt(
        ("run", "{folder}/load.toml", "{folder}"), "--destroy-data {device}", load_file(op="write_zeroes")
    ),
    "a load file that discards another device": Attempt(
        ("run", "{folder}/load.toml", "{folder}", "--destroy-data", "{folder}/another"),
        "may be another device",
        discards_with_another,
    ),
    "a target of the command line": Attempt(
        ("run", "{folder}/load.toml", "{folder}", "--target", "disk=block:{device}"),
        "--destroy-data {device}",
        load_file(),
    ),
    "rerun": Attempt(("rerun", "last", "--no-report"), "--destroy-data {device}", was_written_by_a_run),
    "rerun with another device": Attempt(
        ("rerun", "last", "--no-report", "--destroy-data", "{folder}/another"), "another device", was_written_by_a_run
    ),
    "rerun of somebody else's run": Attempt(
        ("rerun", "{folder}/theirs", "--no-report", "--yes"), "--destroy-data {device}", was_written_by_a_run
    ),
    "rerun of somebody else's run, unasked": Attempt(
        ("rerun", "{folder}/theirs", "--no-report", *ALLOWED), "--yes", was_written_by_a_run
    ),
    "a campaign": Attempt(
        ("matrix", "{folder}/one.toml", *ALLOWED, "--over", "ext4"), "is mounted on", is_mounted_and_has_a_campaign
    ),
    "a load of a campaign, in place of its directory": Attempt(
        ("matrix", "{folder}/one.toml", *ALLOWED),
        "{dir} is missing",
        a_file("one.toml", CAMPAIGN.replace("{dir}", "block:{device} --destroy-data {device}")),
    ),
    "a load of a campaign, beside its directory": Attempt(
        ("matrix", "{folder}/one.toml", *ALLOWED),
        "'{device}' is not in {dir}",
        a_file(
            "one.toml",
            CAMPAIGN.replace(
                "measure {dir}", "fio --name=x --size=1m --directory={dir} --filename={device} --rw=write"
            ),
        ),
    ),
    "a command that is confined to a folder": Attempt(
        OVERWRITE, "measuring what is no directory", env=(("ASSAY_ONLY_IN", "{folder}"),)
    ),
    "a load of a campaign that allows it": Attempt(
        ("matrix", "{folder}/one.toml", *ALLOWED),
        "--destroy-data: a load of a campaign measures",
        a_file("one.toml", CAMPAIGN.replace("{dir}", "{dir} --destroy-data {device}")),
    ),
    "a load of a campaign, as its target": Attempt(
        ("matrix", "{folder}/one.toml", *ALLOWED),
        "--target",
        a_file("one.toml", CAMPAIGN.replace("measure {dir}", "run x.toml {dir} --target disk=block:{device}")),
    ),
    # Classic tools.
    "fio": Attempt((*FIO, "--filename={device}", "--rw=write"), "--destroy-data {device}"),
    "fio, reads and writes": Attempt((*FIO, "--filename={device}", "--rw=randrw"), "--destroy-data {device}"),
    "fio, trims": Attempt((*FIO, "--filename={device}", "--rw=trim"), "--destroy-data {device}"),
    "fio, trims of a file": Attempt((*FIO, "--directory={folder}", "--rw=trim", *ALLOWED), "trims a block device"),
    "fio, two devices": Attempt((*FIO, "--filename={device}:/dev/zero", "--rw=write", *ALLOWED), "several devices"),
    "fio, a directory of devices": Attempt(
        (*FIO, "--directory=/dev", "--filename={name}", "--rw=write"), "/dev holds device nodes"
    ),
    "fio, dots": Attempt((*FIO, "--filename=/dev/../{device}", "--rw=write", *ALLOWED), "filename"),
    "fio, a job file that allows it": Attempt(
        ("fio", "{folder}/x.fio"),
        "destroy",
        a_file("x.fio", "[x]\nfilename={device}\nrw=write\ndestroy-data={device}\n"),
    ),
    "fio, verify": Attempt((*FIO, "--filename={device}", "--rw=write", "--verify=crc32c", *ALLOWED), "verify"),
    "vdbench": Attempt(
        ("vdbench", "-f{folder}/x.vdb", "--no-report"), "--destroy-data {device}", a_file("x.vdb", VDBENCH)
    ),
    "vdbench, more than it has": Attempt(
        ("vdbench", "-f{folder}/x.vdb", "--no-report", *ALLOWED),
        "is more than {device} has",
        a_file("x.vdb", VDBENCH.replace("size=1m", "size=25m")),
    ),
    "iozone": Attempt(("iozone", "-f", "{device}", "-i", "0", "-s", "1m"), "/dev holds device nodes"),
    "bonnie++": Attempt(("bonnie", "-d", "{device}", "-s", "1", "-r", "0", "-n", "0"), "is a block device"),
    "postmark": Attempt(
        ("postmark", "{folder}/x.pm"), "is a block device", a_file("x.pm", "set location {device}\nrun\nquit\n")
    ),
    "filebench": Attempt(("filebench", "-f", "{folder}/x.f"), "devices are not written to", a_file("x.f", FILEBENCH)),
    "bigdir": Attempt(("bigdir", "--dir", "{device}", "10"), "is a block device"),
    "vxbench": Attempt(("vxbench", "-w", "write", "-i", "iosize=4k,iocount=10", "{device}"), "device"),
}


TRIED = list(ATTEMPTS) if os.environ.get("ASSAY_ATTEMPTS") == "all" else list(ATTEMPTS)[::2]
"""Every second of them in `make test`, all in `make prove`."""


@pytest.mark.parametrize("name", TRIED)
def test_an_attempt_is_refused_and_nothing_is_changed(name: str, disk: Disk, assay: Assay, tmp_path: Path) -> None:
    attempt = ATTEMPTS[name]
    words, reason = [disk.text(word) for word in attempt.words], disk.text(attempt.reason)
    with attempt.scene(disk) if attempt.scene else contextlib.nullcontext():
        _write_back(attempt, disk)
        # The kernel may swap out what others need to what is swap.
        since = SWAP_BYTES if attempt.scene is is_swapped_to else 0
        content, kept = digest(disk.image, since), _runs(assay)
        env = {key: disk.text(value) for key, value in attempt.env}
        by = Assay(tmp_path / "nobodys", user=NOBODY, home=tmp_path) if attempt.is_nobody else assay

        done = by(*words, env=env, check=attempt.code)

        _write_back(attempt, disk)
        assert reason in " ".join(done.stderr.split())
        assert digest(disk.image, since) == content
        assert _runs(assay) == kept


def _write_back(attempt: Attempt, disk: Disk) -> None:
    """Have the device hold what is dirty; what a scene has mounted may be dirty elsewhere, too."""
    if attempt.scene:
        os.sync()
        return
    for file in (disk.device, disk.image):
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _runs(assay: Assay) -> set[Path]:
    return {each for each in assay.runs.glob("*") if each.is_dir()}


def test_there_are_forty_attempts_and_more() -> None:
    assert len(TRIED) >= 40
    assert COMMAND.exists()
