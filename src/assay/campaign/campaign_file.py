"""Read a campaign's file.

TOML, documented in docs/how-to/matrix.md. It is read strictly; whatever is wrong is a `FrontEndError` with file and line. A
campaign writes to devices as root, so words that could lead mkfs or mount to any other place than the campaign's own are
refused here: paths, further devices, and options that mount something else; so are loads that do more than measure.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from assay.campaign.load_words import check_words
from assay.campaign.mkfs_options import mkfs_options
from assay.errors import FrontEndError, InputError
from assay.loads.locate import Lines, Path
from assay.loads.native import read_toml
from assay.tools.registry import TOOLS
from assay.units import MIB, parse_bytes

DIRECTORY: Final = "{dir}"
"""Placeholder of the directory of a cell."""
INPUT: Final = "{input}"
"""Placeholder of the file of a load's `input`."""
MOST_MEASUREMENTS: Final = 10_000
MOST_REPEATS: Final = 100
LEAST_BYTES: Final = 512 * MIB
"""Of a loop file: mkfs.xfs(8) wants 300 MiB, and every load leaves 256 MiB of its file system free."""

_LONGEST_NAME = 40
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{_LONGEST_NAME - 1}}}", re.ASCII)
_MEASURING = frozenset({"quick", "measure", "run", *TOOLS})
_MOUNT_OPTION = re.compile(r"[A-Za-z0-9_]+(=[A-Za-z0-9_.:%-]+)?", re.ASCII)
_NO_MOUNTS_OF_ITS_OWN = frozenset(
    {
        "bind",
        "rbind",
        "move",
        "remount",
        "loop",
        "offset",
        "sizelimit",
        "user",
        "users",
        "owner",
        "group",
        "ro",
        "noauto",
    }
    | {
        "device",
        "journal_dev",
        "journal_path",
        "logdev",
        "rtdev",
        "subvol",
        "subvolid",
        "degraded",
        "uhelper",
        "helper",
    }
)
"""Options by which another thing, in another way, or nothing that can be written to, would be mounted."""

Choice = str | list[str] | dict[str, str]
"""Options: one text, several, or several by name."""


class FileSystemTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[file_system]]`: one, with the options that are tried on it."""

    kind: Literal["ext4", "xfs", "btrfs"]
    name: str = ""
    mkfs: Choice = ""
    mount: Choice = ""


class CampaignLoadTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[load]]`: the words of a command that measures."""

    name: str
    command: str
    input: str = ""


class LoopTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[loop]`: a file that the campaign makes, and measures as a device."""

    folder: str
    size: str
    direct_io: bool = True


class CampaignFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file as written."""

    name: str
    repeats: int = 3
    seed: int = 1
    scheduler: list[str] = []
    loop: LoopTable | None = None
    file_system: list[FileSystemTable]
    load: list[CampaignLoadTable]


class FileSystem(msgspec.Struct, frozen=True, kw_only=True):
    """A file system, with the options that are tried on it by their names."""

    kind: str
    name: str
    mkfs: dict[str, str]
    mount: dict[str, str]


class CampaignLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A load."""

    name: str
    words: tuple[str, ...]
    input: str


class LoopFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where the campaign makes its own device."""

    folder: str
    size_bytes: int
    direct_io: bool


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be measured."""

    name: str
    repeats: int
    seed: int
    schedulers: tuple[str, ...]
    """None: it is left as it is."""
    loop: LoopFile | None
    file_systems: tuple[FileSystem, ...]
    loads: tuple[CampaignLoad, ...]


def is_name(text: str) -> bool:
    """Whether a campaign, or a part of one, can have this name."""
    return bool(_NAME.fullmatch(text))


def parse(text: str, source: str) -> Campaign:
    """Read a campaign's file.

    Raises:
        FrontEndError: anything that cannot be executed as intended.
    """
    document, lines = read_toml(text, source)
    try:
        table = msgspec.convert(document, CampaignFile)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), source, lines) from error
    return _Reading(source, lines).campaign(table)


_AT = re.compile(r" - at `\$?(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"field `([^`]+)`")


def _misfit(text: str, source: str, lines: Lines) -> FrontEndError:
    """Give msgspec's words with the line that they are of."""
    at = _AT.search(text)
    path: Path = ()
    for name, index in _STEP.findall(at["path"] if at else ""):
        if index == "...":
            break
        path = (*path, int(index) if index else name)
    words = text[: at.start()] if at else text
    if field := _FIELD.search(words):
        path = (*path, field[1])
    label = ".".join(str(step) for step in path if isinstance(step, str))
    return FrontEndError(source, lines.line_of(path), f"{label}: {words}" if label else words)


class _Reading:
    """Reads one file."""

    def __init__(self, source: str, lines: Lines) -> None:
        self._source, self._lines = source, lines

    def refuse(self, path: Path, why: str) -> FrontEndError:
        label = ".".join(step for step in path if isinstance(step, str))
        return FrontEndError(self._source, self._lines.line_of(path), f"{label}: {why}")

    def campaign(self, table: CampaignFile) -> Campaign:
        self._name(("name",), table.name)
        self._within(("repeats",), table.repeats, 1, MOST_REPEATS)
        self._within(("seed",), table.seed, 0, (1 << 63) - 1)
        for i, scheduler in enumerate(table.scheduler):
            self._name(("scheduler", i), scheduler)
        self._distinct("scheduler", table.scheduler)
        file_systems = tuple(self._file_system(i, each) for i, each in enumerate(table.file_system))
        self._distinct("file_system", [each.name for each in file_systems])
        loads = tuple(self._load(i, each) for i, each in enumerate(table.load))
        self._distinct("load", [each.name for each in loads])
        for what, there in (("file_system", file_systems), ("load", loads)):
            if not there:
                raise self.refuse((what,), "one is the least")
        campaign = Campaign(
            name=table.name,
            repeats=table.repeats,
            seed=table.seed,
            schedulers=tuple(table.scheduler),
            loop=None if table.loop is None else self._loop(table.loop),
            file_systems=file_systems,
            loads=loads,
        )
        cells = sum(len(each.mkfs) * len(each.mount) for each in file_systems) * max(len(table.scheduler), 1)
        if (measurements := cells * len(loads) * table.repeats) > MOST_MEASUREMENTS:
            raise self.refuse(("repeats",), f"these are {measurements} measurements; {MOST_MEASUREMENTS} are the most")
        return campaign

    def _within(self, path: Path, value: int, least: int, most: int) -> None:
        if not least <= value <= most:
            raise self.refuse(path, f"{value} is not from {least} to {most}")

    def _name(self, path: Path, name: str) -> None:
        if not is_name(name):
            raise self.refuse(
                path,
                f"'{name[:_LONGEST_NAME]}' is no name: up to {_LONGEST_NAME} letters, digits, '.', '_' and '-', beginning"
                " with a letter or digit",
            )

    def _distinct(self, what: str, names: list[str]) -> None:
        for i, name in enumerate(names):
            if name in names[:i]:
                raise self.refuse((what, i), f"'{name}' is there twice; name them apart")

    def _loop(self, table: LoopTable) -> LoopFile:
        try:
            size_bytes = parse_bytes(table.size)
        except InputError as error:
            raise self.refuse(("loop", "size"), str(error)) from error
        if size_bytes < LEAST_BYTES:
            raise self.refuse(
                ("loop", "size"),
                f"{table.size} is too small: {LEAST_BYTES // MIB}MiB is the least, of which loads leave half free",
            )
        if size_bytes % MIB:
            raise self.refuse(("loop", "size"), f"{table.size} is no whole number of MiB")
        if not table.folder.startswith("/") or "\0" in table.folder:
            raise self.refuse(("loop", "folder"), f"'{table.folder}' is no absolute path")
        return LoopFile(folder=table.folder, size_bytes=size_bytes, direct_io=table.direct_io)

    # -- file systems ---------------------------------------------------------------------------------------------------

    def _file_system(self, index: int, table: FileSystemTable) -> FileSystem:
        path: Path = ("file_system", index)
        name = table.name or table.kind
        self._name((*path, "name"), name)
        mkfs = self._choices((*path, "mkfs"), table.mkfs)
        mount = self._choices((*path, "mount"), table.mount)
        for options in mkfs.values():
            try:
                mkfs_options(table.kind, options)
            except InputError as error:
                raise self.refuse((*path, "mkfs"), str(error)) from error
        for options in mount.values():
            self._check_mount((*path, "mount"), options)
        return FileSystem(kind=table.kind, name=name, mkfs=mkfs, mount=mount)

    def _choices(self, path: Path, given: Choice) -> dict[str, str]:
        """Name options without names by their texts."""
        named: Mapping[str, str]
        if isinstance(given, dict):
            named = given
        else:
            texts = [given] if isinstance(given, str) else given
            named = {_name_of(text): text for text in texts}
            if len(named) < len(texts):
                raise self.refuse(path, 'two of these read alike; name them: { plain = "...", other = "..." }')
        if not named:
            raise self.refuse(path, 'one choice is the least; "" is for the defaults')
        for name in named:
            self._name((*path, name), name)
        return dict(named)

    def _check_mount(self, path: Path, options: str) -> None:
        for option in options.split(",") if options else ():
            if not _MOUNT_OPTION.fullmatch(option):
                raise self.refuse(
                    path, f"'{option}' is no mount option that a campaign takes: NAME or NAME=VALUE without paths"
                )
            if option.partition("=")[0] in _NO_MOUNTS_OF_ITS_OWN:
                raise self.refuse(
                    path, f"'{option}' is not for a campaign, which mounts its own file system to write to it"
                )

    def _split(self, path: Path, text: str) -> list[str]:
        try:
            return shlex.split(text)
        except ValueError as error:
            raise self.refuse(path, f"'{text}': {error}") from error

    # -- loads ----------------------------------------------------------------------------------------------------------

    def _load(self, index: int, table: CampaignLoadTable) -> CampaignLoad:
        path: Path = ("load", index)
        self._name((*path, "name"), table.name)
        words = self._split((*path, "command"), table.command)
        if not words or words[0] not in _MEASURING:
            raise self.refuse(
                (*path, "command"), f"it begins with no command that measures: {', '.join(sorted(_MEASURING))}"
            )
        used = list(_places(words))
        if bool(table.input) != (INPUT in used):
            raise self.refuse(
                path, f"{INPUT} in the command is replaced by the file of its 'input': one needs the other"
            )
        if DIRECTORY not in used and DIRECTORY not in table.input:
            raise self.refuse(path, f"{DIRECTORY} is missing, which is replaced by the directory of the measured cell")
        try:
            check_words(words, DIRECTORY, table.input, INPUT)
        except InputError as error:
            raise self.refuse((*path, "command"), str(error)) from error
        return CampaignLoad(name=table.name, words=tuple(words), input=table.input)


def _places(words: list[str]) -> Iterator[str]:
    """List the placeholders in these words."""
    for word in words:
        for place in (DIRECTORY, INPUT):
            if place in word:
                yield place


def _name_of(options: str) -> str:
    """Make a name of options: what a name cannot hold is left out or a dash."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", options.replace("^", "no-")).strip("-._")
    return name[:_LONGEST_NAME] or "default"
