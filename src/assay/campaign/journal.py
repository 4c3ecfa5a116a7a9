"""What has a campaign done so far? A file of lines of JSON, each on storage before what it says is begun, or believed.

The folder is its owner's alone. A line that was not whole when the power went, or the program was killed, is as if it had
never been written: what it would have said is done again. What is made outside of the folder is named here first.
"""

import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from assay.bundle.durable import make_folders, sync_folder
from assay.campaign.campaign_file import Campaign
from assay.campaign.design import Design
from assay.campaign.free_device import DeviceIdentity
from assay.errors import BundleError, InputError, RunError

JOURNAL: Final = "journal.jsonl"
MOUNT_POINT: Final = "mnt"
SCHEMA: Final = "assay.campaign/1"
_MOST_BYTES: Final = 256 << 20


class JournalLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", forbid_unknown_fields=True):
    """Base of all lines."""


class CampaignBegun(JournalLine, frozen=True, kw_only=True, tag="begun"):
    """The first line: what was asked for, and the order that was drawn."""

    schema: str
    campaign: Campaign
    design: Design
    key: str
    """Letters that no other campaign has."""
    device: DeviceIdentity | None
    """Null: on a loop file."""


class ImageNamed(JournalLine, frozen=True, kw_only=True, tag="image_named"):
    """A file of a loop device is about to be made."""

    path: str


class ImageMade(JournalLine, frozen=True, kw_only=True, tag="image_made"):
    """It is there."""

    path: str
    device: int
    inode: int


class SchedulerFound(JournalLine, frozen=True, kw_only=True, tag="scheduler_found"):
    """What a queue had before the campaign."""

    queue: str
    scheduler: str


class FileSystemNamed(JournalLine, frozen=True, kw_only=True, tag="file_system_named"):
    """A file system is about to be made."""

    uuid: str


class SlotBegun(JournalLine, frozen=True, kw_only=True, tag="slot_begun"):
    """A measurement is about to begin."""

    slot: int
    mark: str
    """Tag that its run alone has."""


class Effective(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the kernel and the file system say that they are."""

    mount_options: tuple[str, ...]
    scheduler: str | None
    direct_io: bool | None
    """Of the loop device; null: there is none."""
    super_block: dict[str, str]
    not_taken: tuple[str, ...]
    """What was asked for and is otherwise, in words."""


class SlotMade(JournalLine, frozen=True, kw_only=True, tag="slot_made"):
    """Its file system is mounted."""

    slot: int
    effective: Effective


class SlotMeasured(JournalLine, frozen=True, kw_only=True, tag="slot_measured"):
    """Its run is kept."""

    slot: int
    run_id: str
    exit_code: int
    seconds: float


class SlotFailed(JournalLine, frozen=True, kw_only=True, tag="slot_failed"):
    """It could not be measured."""

    slot: int
    why: str


AnyLine = (
    CampaignBegun
    | ImageNamed
    | ImageMade
    | SchedulerFound
    | FileSystemNamed
    | SlotBegun
    | SlotMade
    | SlotMeasured
    | SlotFailed
)


class Journal:
    """The lines of a campaign, and the file that they are appended to."""

    def __init__(self, folder: Path, descriptor: int, lines: Iterable[AnyLine]) -> None:
        """Of an open, locked file."""
        self.folder = folder
        self._descriptor = descriptor
        self.lines = list(lines)

    @property
    def begun(self) -> CampaignBegun | None:
        """The first line; None: nothing was begun."""
        first = self.lines[0] if self.lines else None
        return first if isinstance(first, CampaignBegun) else None

    @property
    def mount_point(self) -> Path:
        """Where cells are mounted."""
        return self.folder / MOUNT_POINT

    def append(self, line: AnyLine) -> None:
        """Write a line, and wait until it is on storage; raises RunError."""
        data = msgspec.json.encode(line) + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise RunError(f"{self.folder / JOURNAL}: {error.strerror}; the campaign cannot go on") from error
        self.lines.append(line)

    def forget(self) -> None:
        """Take all lines away; raises OSError."""
        os.ftruncate(self._descriptor, 0)
        os.fsync(self._descriptor)
        self.lines = []

    def measured(self) -> dict[int, SlotMeasured]:
        """Give what is measured, by slot."""
        return {line.slot: line for line in self.lines if isinstance(line, SlotMeasured)}

    def failed(self) -> dict[int, SlotFailed]:
        """Give what could not be measured, by slot, and was not since."""
        measured = self.measured()
        return {line.slot: line for line in self.lines if isinstance(line, SlotFailed) and line.slot not in measured}

    def open_marks(self) -> dict[str, int]:
        """Give the marks of what was begun and did not come to an end, with their slots."""
        open_: dict[str, int] = {}
        for line in self.lines:
            if isinstance(line, SlotBegun):
                open_[line.mark] = line.slot
            elif isinstance(line, SlotMeasured | SlotFailed):
                open_ = {mark: slot for mark, slot in open_.items() if slot != line.slot}
        return open_

    def effective(self) -> dict[int, Effective]:
        """Give what was read back, by slot; the last where it was made again."""
        return {line.slot: line.effective for line in self.lines if isinstance(line, SlotMade)}


def read_only(folder: Path) -> list[AnyLine]:
    """Read the lines that are there, also while another process writes more.

    Raises:
        InputError: there is no campaign.
        BundleError: it is not what a campaign writes.
    """
    try:
        descriptor = os.open(folder / JOURNAL, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{folder}: there is no campaign that can be read: {error.strerror}") from error
    try:
        return _read(descriptor, folder / JOURNAL, is_own=False)
    finally:
        os.close(descriptor)


@contextmanager
def opened(folder: Path, *, must_be_there: bool = False) -> Iterator[Journal]:
    """Open the journal of a campaign's folder for this process alone; both are made where they are not there.

    Raises:
        InputError: another process has it, the folder is not this user's alone, or nothing is there and has to be.
        BundleError: it is not what a campaign writes.
        RunError: it cannot be read or made.
    """
    try:
        descriptor = _open(folder, must_be_there=must_be_there)
    except OSError as error:
        raise RunError(f"{folder}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"{folder}: another 'assay matrix' is at work on this campaign") from error
        yield Journal(folder, descriptor, _read(descriptor, folder / JOURNAL))
    finally:
        os.close(descriptor)


def _open(folder: Path, *, must_be_there: bool) -> int:
    if not os.path.lexists(folder):
        if must_be_there:
            raise InputError(f"{folder}: there is no campaign to go on with; without --resume it begins")
        make_folders(folder, mode=0o700)
    there = folder.lstat()
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.geteuid() or there.st_mode & 0o022:
        raise InputError(
            f"{folder} is no folder that you alone can write to; move it away, or name another with --state"
        )
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    is_new = not (folder / JOURNAL).exists()
    if is_new and any(folder.iterdir()):
        raise InputError(f"{folder} is there, and is no folder of a campaign; name another with --state")
    if is_new and must_be_there:
        raise InputError(f"{folder}: there is no campaign to go on with; without --resume it begins")
    descriptor = os.open(folder / JOURNAL, flags | (os.O_CREAT if is_new else 0), 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{folder / JOURNAL} is no file")
    sync_folder(folder)
    return descriptor


def _read(descriptor: int, path: Path, *, is_own: bool = True) -> list[AnyLine]:
    """Read whole lines, and cut off one that is not where the file is this process's own."""
    if os.fstat(descriptor).st_size > _MOST_BYTES:
        raise BundleError(f"{path} has more than {_MOST_BYTES >> 20} MiB; that is no journal of a campaign")
    with open(descriptor, "rb", closefd=False) as file:
        data = file.read(_MOST_BYTES + 1)
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data) and is_own:
        os.ftruncate(descriptor, len(whole))
        os.fsync(descriptor)
    decoder = msgspec.json.Decoder(AnyLine)
    lines: list[AnyLine] = []
    for number, text in enumerate(whole.splitlines(), start=1):
        try:
            lines.append(decoder.decode(text))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BundleError(f"{path}:{number}: this is not what 'assay matrix' writes: {error}") from error
    if lines and not (isinstance(lines[0], CampaignBegun) and lines[0].schema == SCHEMA):
        raise BundleError(f"{path}: it does not begin as a campaign does that this Assay reads ({SCHEMA})")
    return lines
