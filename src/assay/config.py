"""Read the user's defaults: `assay/config.toml` in the XDG configuration folder; a command line overrides them.

It names the folder that runs are written to. So it counts only where nobody but this user and root can have written it.
"""

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from assay import own_files, xdg
from assay.errors import InputError
from assay.input_text import read_text
from assay.units import parse_seconds

NAME = "config.toml"
_WHAT = "configuration file"


class ForeignFileError(InputError):
    """Somebody else can have written the file."""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Its keys; what is not set is None."""

    runs: str | None = None
    """Where runs are kept: an absolute folder, or one below `~`."""
    time: str | None = None
    """Measuring time of `assay quick` and `assay measure`, such as `"30s"`."""


def path() -> Path:
    """Return the path of the file; raises InputError for a user without a home."""
    return xdg.folder("XDG_CONFIG_HOME", "~/.config") / NAME


def load() -> Config:
    """Read it; where there is none, nothing is set.

    Raises:
        InputError: it is no TOML, has a key that there is none of, or an invalid value; file and key are named.
            Or somebody else can have written it.
    """
    try:
        at = path()
        text = read_text(str(at), _WHAT)
        own_files.safe_folder(at.parent)
        own_files.check_own(at.resolve())
    except own_files.NotOwnError as error:
        raise ForeignFileError(
            f"{at} is not taken: {error}. Or name a folder of your own with XDG_CONFIG_HOME"
        ) from error
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except InputError:
        if not _has_home():
            return Config()
        raise
    return read(text, str(at))


def usual_time() -> str | None:
    """Give the measuring time of the file; of one that another user can have written none: it is needed for nothing else.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return load().time
    except ForeignFileError:
        return None


def read(text: str, where: str) -> Config:
    """Read the text of the file; raises InputError as `load` does."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
        if type(table.get("time")) in {int, float}:
            table["time"] = str(table["time"])
        config = msgspec.convert(table, Config)
    except (
        ValueError,
        RecursionError,
    ) as error:  # TOMLDecodeError, ValidationError, and numbers that Python does not take
        keys = ", ".join(Config.__struct_fields__)
        raise InputError(f"{where}: {error}; its keys are {keys}") from error
    if config.runs is not None and not config.runs.startswith(("/", "~")):
        raise InputError(f"{where}: runs = '{config.runs}' is no absolute folder, and none below ~")
    if config.time is not None:
        try:
            parse_seconds(config.time)
        except InputError as error:
            raise InputError(f"{where}: time: {error}") from error
    return config


def _has_home() -> bool:
    try:
        path()
    except InputError:
        return False
    return True
