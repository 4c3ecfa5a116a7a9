"""Read a bonnie++ command line.

The options are those of bonnie++ 2.00 in the order of getopt(3): a letter, its value attached or as the next word.
`--format 1.03|1.96|2.00` (or `--compat`) chooses the version whose load and output are wanted; 1.03 has fewer options. What
the original takes for a number by its first digits is read strictly here: "12x" is refused, not taken for 12.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

from assay.errors import InputError
from assay.input_text import check_count
from assay.plan.limits import LISTS, NUMBERS
from assay.tools.arguments import cut
from assay.units import KIB, MIB

VERSIONS = ("1.03", "1.96", "2.00")
DEFAULT_VERSION = "2.00"

DEFAULT_CHUNK_BYTES = 8192
SMALLEST_CHUNK_BYTES, LARGEST_CHUNK_BYTES = 256, MIB
DEFAULT_SEEKS = 8192
SEEKERS = {"1.03": 3, "1.96": 5, "2.00": 5}
DEFAULT_NUMBER = 16
"""Files of the file tests, in units of `FILES_PER_NUMBER`."""
FILES_PER_NUMBER = 1024
MOST_DIRECTORIES = 99_999
DEFAULT_CHARACTER_MIB = 3
"""Size of the per-character tests since 1.9x; 1.03 takes the whole file."""
SMALLEST_DEFAULT_MIB = 300
_MOST_MIB = int(NUMBERS["size"].most) // MIB
_MOST_NUMBER = int(NUMBERS["files"].most) // FILES_PER_NUMBER
_MOST_RUNS = int(LISTS["phases"].most) // 13
"""Each run has up to 13 phases."""
_MOST_WAITING = 32_767
"""A semaphore of System V counts no further (SEMVMX)."""
BYTES_PER_FILE_RECORD = 10 + 12 + 6 + 1 + 8
"""What the original keeps of each file in memory."""
HARD_LINKS, SYMBOLIC_LINKS = -1, -2
"""Values of the largest file size that ask for links instead of files."""

_WITH_VALUE = "dcsnmrxugpzZ"
_FLAGS = "qbDh"
_OPTIONS = {
    "d": "directory to work in",
    "s": "size in MiB[:chunk[:seeks[:seekers]]]",
    "n": "files / 1024[:max[:min[:directories[:chunk]]]]",
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """A whole command line. Sizes that were left to the machine are None."""

    version: str = DEFAULT_VERSION
    directory: str = "."
    size_mib: int | None = None
    """Of the I/O tests; 0 skips them, None is twice the memory."""
    chunk_bytes: int = DEFAULT_CHUNK_BYTES
    seeks: int = DEFAULT_SEEKS
    seekers: int = SEEKERS[DEFAULT_VERSION]
    number: int = DEFAULT_NUMBER
    """Files of the file tests / 1024; 0 skips them."""
    max_bytes: int = 0
    min_bytes: int = 0
    directories: int = 1
    file_chunk_bytes: int = DEFAULT_CHUNK_BYTES
    machine: str | None = None
    ram_mib: int | None = None
    """The value of the user; 0 switches the checks off."""
    concurrency: int = 1
    """A label, and a factor in the check of sizes; nothing is started by it."""
    runs: int | None = None
    user: str | None = None
    group: str | None = None
    is_quiet: bool = False
    is_fast: bool = False
    """No per-character tests."""
    character_mib: int | None = None
    has_fsync: bool = False
    is_direct: bool = False
    semaphores: int | None = None
    """`-p`: make N, or remove them (-1), and do nothing else."""
    waits_for: str = ""
    """`-y`: before each test wait for semaphores ("s") or for a line of input ("p")."""
    seed: int | None = None
    random_file: str | None = None

    @property
    def files(self) -> int:
        """Files of each file test."""
        return self.number * FILES_PER_NUMBER

    @property
    def is_old(self) -> bool:
        """Whether the load is that of 1.03."""
        return self.version == "1.03"

    @property
    def times(self) -> int:
        """How often everything is measured."""
        return self.runs or 1


def parse(arguments: Sequence[str]) -> Settings:
    """Read a command line, the words after the program's name.

    Raises:
        InputError: an option or value that is not supported.
    """
    check_count(arguments, "bonnie")
    words: dict[str, Any] = {}
    version, rest = _version(arguments)
    for option, value in _options(rest, version):
        words |= _READERS[option](value)
    settings = dataclasses.replace(Settings(version=version, seekers=SEEKERS[version]), **words)
    _check(settings)
    return settings


def _version(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Take `--format VERSION` out."""
    version, rest = DEFAULT_VERSION, []
    words = iter(arguments)
    for word in words:
        name, separator, value = word.partition("=")
        if name not in {"--format", "--compat"}:
            rest.append(word)
            continue
        version = value if separator else next(words, "")
        if version not in VERSIONS:
            raise InputError(f"bonnie {name} '{version}': the versions are {', '.join(VERSIONS)}")
    return version, rest


def _options(words: Sequence[str], version: str) -> Iterator[tuple[str, str]]:
    """Give letter and value of each option, as getopt does."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or len(word) < 2:
            raise InputError(f"bonnie '{word}': every option is a letter after a hyphen; the directory is -d {word}")
        cluster = word[1:]
        while cluster:
            option, cluster = cluster[0], cluster[1:]
            if option in _FLAGS or (option in "fy" and version == "1.03"):
                _refuse_later(option, version)
                yield option, ""
            elif option == "f":
                yield option, cluster
                cluster = ""
            elif option in _WITH_VALUE or option == "y":
                _refuse_later(option, version)
                value = cluster or next(rest, None)
                if value is None:
                    raise InputError(f"bonnie -{option}: its value is missing")
                yield option, value
                cluster = ""
            else:
                known = "d c s n m r x u g q f b p y z Z D"
                raise InputError(f"bonnie -{option}: there is no such option; there are {known}")


def _refuse_later(option: str, version: str) -> None:
    if version == "1.03" and option in "czZD":
        raise InputError(f"bonnie -{option}: 1.03 has no such option; use --format 2.00")


def choose_size(settings: Settings, ram_mib: int) -> Settings:
    """Choose the size that is left to the machine, and check sizes against its memory as the original does.

    Args:
        settings: A command line.
        ram_mib: Memory of the machine, in place of an absent `-r`.

    Raises:
        InputError: a size is too small or too large for the memory.
    """
    ram_mib = ram_mib if settings.ram_mib is None else settings.ram_mib
    size_mib = settings.size_mib
    if size_mib is None:
        size_mib = max(SMALLEST_DEFAULT_MIB, 2 * ram_mib)
        if size_mib % 1024 > 512:
            size_mib = size_mib // 1024 * 1024 + 1024
    if ram_mib > 0 and 0 < size_mib * settings.concurrency < 2 * ram_mib:
        raise InputError(
            f"bonnie -s {size_mib}: file size should be double RAM for good results, RAM is {ram_mib} MiB: the page cache "
            f"would answer. Use -s {2 * ram_mib} or more; -r 0 switches this check off"
        )
    if ram_mib > 0 and settings.number * BYTES_PER_FILE_RECORD * 2 > ram_mib * 1024:
        raise InputError(
            f"bonnie -n {settings.number}: the records of {settings.files} files take more than half of {ram_mib} MiB of "
            "RAM; use fewer files, or -r 0 to switch this check off"
        )
    return dataclasses.replace(settings, size_mib=size_mib)


def _check(settings: Settings) -> None:
    if settings.semaphores is not None and settings.waits_for:
        raise InputError("bonnie -p and -y: -p makes the semaphores, -y waits for them; use one at a time")
    if settings.is_direct and not settings.is_fast:
        raise InputError(
            "bonnie -D: a direct write of one byte is refused by every file system; add -f, as -D needs it"
        )
    if settings.seed is not None and settings.random_file is not None:
        raise InputError("bonnie -z and -Z: both set the source of random numbers; use one")
    if settings.size_mib == 0 and settings.number == 0 and settings.semaphores is None:
        raise InputError("bonnie -s 0 -n 0: both parts are skipped, so nothing is measured; leave one of them out")
    if (settings.size_mib or 0) * MIB % settings.chunk_bytes:
        raise InputError(f"bonnie -s: {settings.size_mib} MiB are not a whole number of chunks")


# -- values ------------------------------------------------------------------------------------------------------------


def _number(option: str, text: str, *, least: int, most: float = 1 << 62, factors: dict[str, int] | None = None) -> int:
    """Read a whole number with one of the suffixes allowed there."""
    factors = factors or {}
    match = re.fullmatch(r"(-?[0-9]{1,19})([A-Za-z]?)", text)
    suffix = match[2].lower() if match else ""
    if match is None or (suffix and suffix not in factors):
        with_suffix = f", or one with {', '.join(factors)} at its end" if factors else ""
        raise InputError(f"bonnie -{option} '{cut(text)}': it must be a whole number{with_suffix}")
    value = int(match[1]) * factors.get(suffix, 1)
    if value < least:
        raise InputError(f"bonnie -{option} '{text}': the minimum is {least}")
    if value > most:
        raise InputError(f"bonnie -{option} '{text}': the limit is {most:.0f}")
    return value


def _chunk(option: str, text: str) -> int:
    size = _number(option, text, least=1, factors={"k": KIB, "m": MIB})
    if not SMALLEST_CHUNK_BYTES <= size <= LARGEST_CHUNK_BYTES or size & (size - 1):
        raise InputError(
            f"bonnie -{option}: a chunk of {size} bytes; it is a power of two from {SMALLEST_CHUNK_BYTES} to "
            f"{LARGEST_CHUNK_BYTES}"
        )
    return size


def _parts(option: str, value: str, most: int) -> list[str]:
    parts = value.split(":")
    if len(parts) > most:
        raise InputError(f"bonnie -{option} '{value}': {len(parts)} parts; it has at most {most}: {_OPTIONS[option]}")
    return parts


def _read_s(value: str) -> dict[str, Any]:
    parts = _parts("s", value, 4)
    settings: dict[str, Any] = {
        "size_mib": _number("s", parts[0], least=0, most=_MOST_MIB, factors={"m": 1, "g": KIB, "t": MIB})
    }
    if len(parts) > 1 and parts[1]:
        settings["chunk_bytes"] = _chunk("s", parts[1])
    if len(parts) > 2 and parts[2]:
        settings["seeks"] = _number("s", parts[2], least=1, factors={"k": KIB})
    if len(parts) > 3 and parts[3]:
        settings["seekers"] = _number("s", parts[3], least=1, most=NUMBERS["workers"].most)
    return settings


def _read_n(value: str) -> dict[str, Any]:
    parts = _parts("n", value, 5)
    units = {"k": KIB, "m": MIB, "g": KIB * MIB}
    settings: dict[str, Any] = {"number": _number("n", parts[0], least=0, most=_MOST_NUMBER, factors={"m": MIB})}
    if len(parts) > 1 and parts[1]:
        settings["max_bytes"] = _number("n", parts[1], least=SYMBOLIC_LINKS, factors=units)
    if len(parts) > 2 and parts[2]:
        settings["min_bytes"] = _number("n", parts[2], least=0, factors=units)
    if len(parts) > 3 and parts[3]:
        settings["directories"] = max(1, _number("n", parts[3], least=0, factors={"k": KIB}))
    if len(parts) > 4 and parts[4]:
        settings["file_chunk_bytes"] = _number(
            "n", parts[4], least=1, most=NUMBERS["chunk_bytes"].most, factors={"k": KIB, "m": MIB}
        )
    if settings.get("directories", 1) > MOST_DIRECTORIES:
        raise InputError(f"bonnie -n '{value}': {settings['directories']} directories; the limit is {MOST_DIRECTORIES}")
    if settings.get("min_bytes", 0) > max(settings.get("max_bytes", 0), 0):
        raise InputError(f"bonnie -n '{value}': the smallest file is larger than the largest")
    return settings


def _read_m(value: str) -> dict[str, Any]:
    if re.search(r"[,\x00-\x1f]", value):
        raise InputError(f"bonnie -m '{value}': a comma or control character would shift the fields of the CSV line")
    return {"machine": value}


def _read_f(value: str) -> dict[str, Any]:
    if not value:
        return {"is_fast": True}
    return {"character_mib": _number("f", value, least=1, most=_MOST_MIB)}


def _read_u(value: str) -> dict[str, Any]:
    user, separator, group = value.partition(":")
    return {"user": user, "group": group} if separator else {"user": user}


def _read_y(value: str) -> dict[str, Any]:
    if value not in {"", "s", "p"}:
        raise InputError(f"bonnie -y '{value}': s waits for semaphores, p for a line of input")
    return {"waits_for": value or "s"}


def _read_p(value: str) -> dict[str, Any]:
    count = _number("p", value, least=-1, most=_MOST_WAITING)
    if not count:
        raise InputError("bonnie -p 0: name the number of processes that will wait, or -1 to remove the semaphores")
    return {"semaphores": count}


def _read_h(_value: str) -> dict[str, Any]:
    raise InputError("bonnie: 'assay bonnie --help' lists the options")


_READERS: dict[str, Any] = {
    "d": lambda value: {"directory": value},
    "c": lambda value: {"concurrency": _number("c", value, least=1, most=1 << 31)},
    "s": _read_s,
    "n": _read_n,
    "m": _read_m,
    "r": lambda value: {"ram_mib": _number("r", value, least=0, most=_MOST_MIB)},
    "x": lambda value: {"runs": _number("x", value, least=1, most=_MOST_RUNS)},
    "u": _read_u,
    "g": lambda value: {"group": value},
    "q": lambda _: {"is_quiet": True},
    "f": _read_f,
    "b": lambda _: {"has_fsync": True},
    "p": _read_p,
    "y": _read_y,
    "z": lambda value: {"seed": _number("z", value, least=0)},
    "Z": lambda value: {"random_file": value},
    "D": lambda _: {"is_direct": True},
    "h": _read_h,
}
