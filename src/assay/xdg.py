"""Find the user's folders by the XDG base directory specification."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from assay.errors import InputError


def folder(variable: str, default: str) -> Path:
    """Give Assay's folder in the one that an environment variable names; a relative path there is to be ignored.

    Args:
        variable: Such as `XDG_DATA_HOME`.
        default: Value if it is not set, such as `~/.local/share`.

    Raises:
        InputError: the folder lies in the home of a user who has none, as in many containers, or who is not known.
    """
    named = expanded(os.environ.get(variable) or default, variable)
    return (named if named.is_absolute() else expanded(default, variable)) / "assay"


def caches() -> Path:
    """Give Assay's folder for what can be worked out again; raises InputError as `folder` does."""
    return folder("XDG_CACHE_HOME", "~/.cache")


@contextlib.contextmanager
def home_for_others() -> Iterator[None]:
    """Have a home, which is not there, for libraries that cannot be imported without one."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/nonexistent"
        try:
            yield
        finally:
            del os.environ["HOME"]
    else:
        yield


def expanded(path: str, named_by: str) -> Path:
    """Put the home in for `~`; raises InputError where there is none. `named_by` is what the user can set instead."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"'{path}' needs the home of a user, and there is none: $HOME is not set, and the user is not known here. Set "
            f"{named_by} to a folder, or HOME"
        ) from error
