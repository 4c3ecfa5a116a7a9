"""Defined loads that come with Assay: load files as data, one a suite."""

from importlib import resources

from assay.errors import InputError
from assay.input_text import read_text
from assay.loads import native

_ENDING = ".toml"


def names() -> tuple[str, ...]:
    """Names of all suites, sorted."""
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in files if name.endswith(_ENDING)))


def text(name: str) -> str:
    """Give the load file of a suite.

    Raises:
        InputError: no suite of that name.
    """
    if name not in names():
        raise InputError(f"no suite '{name}'; there are: {', '.join(names())}. A load of your own ends in .toml")
    return resources.files(__name__).joinpath(name + _ENDING).read_text(encoding="utf-8")


def read(load: str) -> tuple[str, str]:
    """Give the text of a load and its name for messages: a load file by its path, else a suite by its name.

    Raises:
        InputError: neither a readable load file nor a suite.
    """
    if load in names():
        return text(load), load + _ENDING
    if not load.endswith(_ENDING) and "/" not in load:
        return text(load), load
    try:
        return read_text(load, "load file"), load
    except FileNotFoundError as error:
        raise InputError(f"no load file '{load}'; suites have names: {', '.join(names())}") from error


def description(name: str) -> str:
    """Say what a suite is for, in one line."""
    return native.description(text(name), name)
