"""Keep the journal of a campaign: JSON lines, each on storage before its step begins, or is believed.

The folder is its owner's alone, and so is the way to it. Each line is authenticated with the user's key, together with its
number and the line before: who does not have the key can neither write a line nor move one. A journal of which that does not
hold may be shown, and is never acted on. A line that was not whole when the power went, or the program was killed, is as if
it had never been written: its step is done again. What is made outside of the folder is named here first.
"""

import fcntl
import hashlib
import hmac
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from assay.bundle.inside import is_plain
from assay.bundle.user_key import safe_user_key, user_key
from assay.campaign.campaign_file import Campaign, is_name
from assay.campaign.design import Design
from assay.devices.device_identity import DeviceIdentity
from assay.errors import BundleError, InputError, RunError
from assay.own_files import open_own_folder

JOURNAL: Final = "journal.jsonl"
MOUNT_POINT: Final = "mnt"
SCHEMA: Final = "assay.campaign/2"
_MOST_BYTES: Final = 64 << 20
"""A campaign of 10,000 measurements has 30 MiB."""
_CURE: Final = (
    "name another with --state, such as one in /root or /var/lib: who can exchange it could have root do anything"
)


class _SignedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the file."""

    of: msgspec.Raw
    """The line itself, as it was written."""
    mac: str


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
    """A file of a loop device is about to be made, in the folder of `[loop]`."""

    name: str


class ImageMade(JournalLine, frozen=True, kw_only=True, tag="image_made"):
    """It is there."""

    name: str
    device: int
    inode: int


class SchedulerFound(JournalLine, frozen=True, kw_only=True, tag="scheduler_found"):
    """What a disk had before this start of the campaign."""

    disk: str
    """In /sys/block."""
    scheduler: str
    diskseq: int | None
    """Of the disk then, as the start of the kernel is that of then: another one has its own."""
    boot_id: str


class FileSystemNamed(JournalLine, frozen=True, kw_only=True, tag="file_system_named"):
    """A file system is about to be made."""

    uuid: str


class SlotBegun(JournalLine, frozen=True, kw_only=True, tag="slot_begun"):
    """A measurement is about to begin."""

    slot: int
    mark: str
    """Tag that its run alone has."""


class MeasurementStarted(JournalLine, frozen=True, kw_only=True, tag="measurement_started"):
    """Its process is there, and waits to be let go."""

    slot: int
    process: int
    started_ticks: int
    """Of the kernel's clock, when it began: nobody else has that number then (proc(5), /proc/PID/stat)."""
    boot_id: str


class Effective(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options as the kernel and the file system report them."""

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
    | MeasurementStarted
    | SlotMade
    | SlotMeasured
    | SlotFailed
)


class Journal:
    """The lines of a campaign, and the file that they are appended to."""

    def __init__(self, folder: Path, place: int, descriptor: int, key: bytes, signed: "_Lines") -> None:
        """Of an open, locked file in an open folder."""
        self.folder = folder
        self.place = place
        """Descriptor of the folder."""
        self._descriptor = descriptor
        self._key, self._last = key, signed.last_mac
        self.lines = list(signed.lines)

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
        text = msgspec.json.encode(line)
        mac = _mac(self._key, self._last, len(self.lines) + 1, text)
        data = msgspec.json.encode(_SignedLine(msgspec.Raw(text), mac)) + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise RunError(f"{self.folder / JOURNAL}: {error.strerror}; the campaign cannot go on") from error
        self.lines.append(line)
        self._last = mac

    def forget(self) -> None:
        """Take all lines away; raises OSError."""
        os.ftruncate(self._descriptor, 0)
        os.fsync(self._descriptor)
        self.lines, self._last = [], ""

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


class ShownJournal(msgspec.Struct, frozen=True):
    """Lines to be shown."""

    lines: list[AnyLine]
    is_own: bool
    """Whether this user's Assay wrote all of them."""


def read_only(folder: Path) -> ShownJournal:
    """Read the lines that are there, whoever wrote them, also while another process writes more.

    Raises:
        InputError: there is no campaign.
        BundleError: it is not what a campaign writes.
    """
    try:
        descriptor = os.open(folder / JOURNAL, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{folder}: there is no campaign that can be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"{folder / JOURNAL} is no file")
        read = _read(descriptor, folder / JOURNAL, user_key())
        return ShownJournal(read.lines, is_own=read.forged is None)
    finally:
        os.close(descriptor)


@contextmanager
def opened(folder: Path, *, must_be_there: bool = False) -> Iterator[Journal]:
    """Open the journal of a campaign's folder for this process alone; both are made where they are not there.

    Raises:
        InputError: another process has it, it or its folder is not this user's alone, or nothing is there and has to be.
        BundleError: it is not what a campaign writes.
        RunError: it cannot be read or made, or there is no home for the user's key.
    """
    key = safe_user_key("a campaign")
    place = descriptor = -1
    try:
        try:
            place = _open_folder(folder, must_be_there=must_be_there)
            descriptor = _open(folder, place, must_be_there=must_be_there)
        except OSError as error:
            raise RunError(f"{folder}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"{folder}: another 'assay matrix' is at work on this campaign") from error
        read = _read(descriptor, folder / JOURNAL, key)
        if read.forged is not None:
            raise InputError(
                f"{folder / JOURNAL}:{read.forged}: this line was not written with your key, so nothing is done by this"
                " journal; '--show' shows it. If it is your own, HOME or XDG_DATA_HOME was another then; else name another"
                " folder with --state"
            )
        _cut(descriptor, read)
        yield Journal(folder, place, descriptor, key, read)
    finally:
        for each in (descriptor, place):
            if each >= 0:
                os.close(each)


def _open_folder(folder: Path, *, must_be_there: bool) -> int:
    try:
        return open_own_folder(folder, cure=_CURE, makes=not must_be_there)
    except FileNotFoundError:
        raise InputError(f"{folder}: there is no campaign to go on with; without --resume it begins") from None


def _open(folder: Path, place: int, *, must_be_there: bool) -> int:
    """Open the file in its open folder."""
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    there = os.listdir(place)
    is_new = JOURNAL not in there
    if is_new and there:
        raise InputError(f"{folder} is there, and is no folder of a campaign; name another with --state")
    if is_new and must_be_there:
        raise InputError(f"{folder}: there is no campaign to go on with; without --resume it begins")
    descriptor = os.open(JOURNAL, flags | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o600, dir_fd=place)
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_nlink != 1:
        os.close(descriptor)
        raise InputError(f"{folder / JOURNAL} is no file of yours that is there once; name another folder with --state")
    # What is mounted there is root's alone to enter.
    os.fchmod(place, 0o700)
    os.fsync(place)
    return descriptor


class _Lines(msgspec.Struct, frozen=True):
    """What is in a file."""

    lines: list[AnyLine]
    last_mac: str
    forged: int | None
    """Number of the first line that was not written with the key; None: all were."""
    whole_bytes: int
    """Of whole lines."""


def _cut(descriptor: int, read: _Lines) -> None:
    """Take off what is no whole line."""
    if os.fstat(descriptor).st_size > read.whole_bytes:
        os.ftruncate(descriptor, read.whole_bytes)
        os.fsync(descriptor)


def _read(descriptor: int, path: Path, key: bytes | None) -> _Lines:
    """Read whole lines."""
    if os.fstat(descriptor).st_size > _MOST_BYTES:
        raise BundleError(f"{path} has more than {_MOST_BYTES >> 20} MiB; that is no journal of a campaign")
    with open(descriptor, "rb", closefd=False) as file:
        data = file.read(_MOST_BYTES + 1)
    whole = data[: data.rfind(b"\n") + 1]
    lines: list[AnyLine] = []
    last, forged = "", None
    for number, text in enumerate(whole.splitlines(), start=1):
        try:
            signed = _SIGNED.decode(text)
            lines.append(_LINE.decode(signed.of))
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BundleError(
                f"{path}:{number}: this is not what 'assay matrix' of this version writes ({SCHEMA}): {error}"
            ) from error
        if not _PROOF.fullmatch(signed.mac):
            raise BundleError(f"{path}:{number}: its proof is none that 'assay matrix' writes")
        is_own = key is not None and hmac.compare_digest(_mac(key, last, number, signed.of), signed.mac)
        forged = number if forged is None and not is_own else forged
        last = signed.mac
    if lines and not (isinstance(lines[0], CampaignBegun) and lines[0].schema == SCHEMA):
        raise BundleError(f"{path}: it does not begin as a campaign does that this Assay reads ({SCHEMA})")
    if (wrong := _inconsistent(lines)) is not None:
        raise BundleError(f"{path}:{wrong}: this line refers to something that is not in the campaign")
    return _Lines(lines, last, forged, len(whole))


def _inconsistent(lines: list[AnyLine]) -> int | None:
    """Give the number of the first line that refers to what is not there; None: none does."""
    slots: frozenset[int] = frozenset()
    for number, line in enumerate(lines, start=1):
        match line:
            case CampaignBegun(campaign=campaign, design=laid_out):
                slots = frozenset(slot.number for slot in laid_out.slots)
                are_there = all(
                    0 <= slot.cell < len(laid_out.cells) and 0 <= slot.load < len(campaign.loads)
                    for slot in laid_out.slots
                )
                are_whole = all(len(cell.levels) == len(laid_out.factors) for cell in laid_out.cells)
                is_named = is_name(campaign.name) and all(is_name(load.name) for load in campaign.loads)
                is_right = number == 1 and is_named and are_there and are_whole and len(slots) == len(laid_out.slots)
            case SlotMeasured(slot=slot, run_id=run_id):
                is_right = slot in slots and is_plain(run_id)
            case SlotBegun(slot=slot) | SlotMade(slot=slot) | SlotFailed(slot=slot) | MeasurementStarted(slot=slot):
                is_right = slot in slots
            case _:
                is_right = True
        if not is_right:
            return number
    return None


_PROOF: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNED: Final = msgspec.json.Decoder(_SignedLine)
_LINE: Final = msgspec.json.Decoder(AnyLine)


def _mac(key: bytes, before: str, number: int, text: bytes | msgspec.Raw) -> str:
    """Authenticate a line with its number and the one before; what it begins with is of nothing else made with the key."""
    return hmac.new(key, f"{SCHEMA}\n{before}\n{number}\n".encode() + bytes(text), hashlib.sha256).hexdigest()
