"""Defined loads that come with Assay: load files as data, one a suite."""

from importlib import resources
from pathlib import Path

from assay.errors import InputError
from assay.frontends import native

_ENDING = ".toml"


def names() -> tuple[str, ...]:
    """Names of all suites, sorted."""
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in files if name.endswith(_ENDING)))


def text(name: str) -> str:
    """The load file of a suite.

    Raises:
        InputError: no suite of that name.
    """
    if name not in names():
        raise InputError(f"no suite '{name}'; there are: {', '.join(names())}. A load of your own ends in .toml")
    return resources.files(__name__).joinpath(name + _ENDING).read_text(encoding="utf-8")


def description(name: str) -> str:
    """What a suite is for, in one line."""
    return native.description(text(name), name)


def read(load: str) -> tuple[str, str]:
    """Text and source name of a load: a suite's name, or the path of a load file.

    Raises:
        InputError: no such suite, or the file cannot be read.
    """
    if not load.endswith(_ENDING):
        return text(load), load + _ENDING
    try:
        return Path(load).read_text(encoding="utf-8"), load
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{load}: the load file cannot be read: {error}") from error
