"""Check the mkfs options of a campaign, and read back which ones the file system took.

mkfs takes further devices, files and dry runs as options, so only what shapes the file system itself is let through:
mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8). An option is alone, with its value behind it or as the next word, and nothing else
is a word.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from assay.errors import InputError


class MkfsOption(NamedTuple):
    """`-b 4096`: an option as it is called first, and its value; None: it has none."""

    name: str
    value: str | None


class _Known(NamedTuple):
    with_value: frozenset[str]
    alone: frozenset[str]
    same: dict[str, str]
    """Long names, and what they are called first."""


_KNOWN: Final = {
    "ext4": _Known(frozenset("bCEgGIiJLmNOrT"), frozenset("jvK"), {}),
    "xfs": _Known(frozenset("bmdilnsL"), frozenset("K"), {}),
    "btrfs": _Known(
        frozenset("nsORdmLb") | {"csum"},
        frozenset("KMv"),
        {"nodesize": "n", "sectorsize": "s", "features": "O", "runtime-features": "R", "data": "d", "metadata": "m"}
        | {"label": "L", "byte-count": "b", "nodiscard": "K", "mixed": "M", "verbose": "v", "csum": "csum"}
        | {"checksum": "csum"},
    ),
}
_VALUE = re.compile(r"[A-Za-z0-9_^+:,=.%-]{1,500}", re.ASCII)
_REFUSED_KEYS = frozenset(
    {"device", "file", "name", "logdev", "rtdev", "uuid", "UUID", "LABEL", "PARTUUID", "PARTLABEL"}
)
"""Keys of values that name other devices or files, or by which the campaign recognises its own file system."""


def mkfs_options(kind: str, text: str) -> tuple[MkfsOption, ...]:
    """Read options of a kind's mkfs.

    Raises:
        InputError: one is not for a campaign, or has no value.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"'{text}': {error}") from error
    known, found = _KNOWN[kind], []
    rest = iter(words)
    for word in rest:
        name, value = _taken_apart(word, known)
        if name not in known.with_value | known.alone:
            raise InputError(f"'{word}' is no option of mkfs.{kind} that a campaign takes; {_listed(known)}")
        if name not in known.alone:
            value = next(rest, None) if value is None else value
            if value is None:
                raise InputError(f"'{word}' has no value")
            _check(value)
        elif value is not None:
            raise InputError(f"'{word}': write -{name} as a word of its own")
        found.append(MkfsOption(name, value))
    return tuple(found)


def _taken_apart(word: str, known: _Known) -> tuple[str, str | None]:
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        return known.same.get(name, ""), value if equals else None
    if word.startswith("-") and len(word) > 1:
        return word[1], word[2:] or None
    return "", None


def _listed(known: _Known) -> str:
    short = [f"-{name}" for name in sorted(known.with_value | known.alone) if len(name) == 1]
    return f"those are {' '.join([*short, *(f'--{name}' for name in sorted(known.same))])}"


def _check(value: str) -> None:
    keys = {part.partition("=")[0] for part in value.split(",")} if "=" in value or "," in value else {value}
    if not _VALUE.fullmatch(value) or value.startswith("-") or (keys & _REFUSED_KEYS):
        raise InputError(f"'{value}' may name another device or file; mkfs is given the campaign's own alone")


def words_of(options: Sequence[MkfsOption]) -> list[str]:
    """Give options as words of a command line."""
    return [
        word
        for name, value in options
        for word in ((f"--{name}", value) if len(name) > 1 else (f"-{name}", value))
        if word is not None
    ]


def with_extended(options: Sequence[MkfsOption], extended: str) -> list[MkfsOption]:
    """Put extended options of ext4 before those that are there: mke2fs obeys the last `-E` alone."""
    own = [option.value for option in options if option.name == "E" and option.value is not None]
    others = [option for option in options if option.name != "E"]
    return [*others, MkfsOption("E", ",".join([extended, *own[-1:]]))]


def not_taken(kind: str, options: Sequence[MkfsOption], super_block: dict[str, str]) -> tuple[str, ...]:
    """Name what was asked for and the super block contradicts; options that it does not record are not listed.

    Args:
        kind: Of the file system.
        options: As asked for.
        super_block: As `mounted_file_system.super_block` gives it.
    """
    return tuple(
        text for option in options if option.value for text in _wrong(kind, option.name, option.value, super_block)
    )


_SIMPLE: Final = {
    ("ext4", "b"): "block size",
    ("ext4", "I"): "inode size",
    ("btrfs", "n"): "nodesize",
    ("btrfs", "s"): "sectorsize",
    ("btrfs", "csum"): "csum_type",
}


def _wrong(kind: str, name: str, value: str, there: dict[str, str]) -> list[str]:
    if key := _SIMPLE.get((kind, name)):
        return _differs(key, value, there)
    if kind == "ext4" and name == "O" and "features" in there:
        features = set(there["features"].split())
        asked = [word for word in value.split(",") if word and word != "none"]
        return [f"feature {word}" for word in asked if (word.lstrip("^") in features) == word.startswith("^")]
    if kind == "xfs":
        section = {"b": "data.bsize", "i": "meta-data.isize", "n": "naming.bsize"}.get(name, "")
        found = []
        for pair in value.split(","):
            key, _, wanted = pair.partition("=")
            found += _differs(section if key == "size" else f"meta-data.{key}", wanted, there)
        return found
    return []


def _differs(key: str, wanted: str, there: dict[str, str]) -> list[str]:
    given = there.get(key)
    if given is None or _plain_number(wanted) == _plain_number(given):
        return []
    return [f"{key} is {given}, not {wanted}"]


def _plain_number(text: str) -> str:
    match = re.fullmatch(r"(\d+)([kKmM])i?[bB]?|(\d+)", text)
    if match is None:
        return text
    return match[3] or str(int(match[1]) * {"k": 1 << 10, "m": 1 << 20}[match[2].lower()])
