"""Defined loads that come with Assay, load files as data: suites, and beside them examples to start from."""

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from assay.errors import InputError
from assay.input_text import read_text
from assay.loads import native

_ENDING = ".toml"


def names() -> tuple[str, ...]:
    """Names of all suites, sorted."""
    return tuple(sorted(_in(resources.files(__name__))))


def examples() -> tuple[str, ...]:
    """Names of all examples, sorted; none is that of a suite."""
    return tuple(sorted(_in(_examples())))


def text(name: str) -> str:
    """Give the load file of a suite or an example.

    Raises:
        InputError: neither has that name.
    """
    shipped = _shipped()
    if name not in shipped:
        raise InputError(
            f"no suite '{name}'; there are: {', '.join(names())}, and the examples that 'assay suites' lists."
            " A load of your own ends in .toml"
        )
    return shipped[name].read_text(encoding="utf-8")


def read(load: str) -> tuple[str, str]:
    """Give the text of a load and its name for messages: one that comes with Assay by its name, else a load file.

    Raises:
        InputError: neither a readable load file nor a name of a load that comes with Assay.
    """
    if load in _shipped():
        return text(load), load + _ENDING
    if not load.endswith(_ENDING) and "/" not in load:
        return text(load), load
    try:
        return read_text(load, "load file"), load
    except FileNotFoundError as error:
        name = load.removesuffix(_ENDING)
        cure = f"'{name}' comes with Assay" if name in _shipped() else f"suites have names: {', '.join(names())}"
        raise InputError(f"no load file '{load}'; {cure}") from error


def choice(load: str) -> str:
    """Say which is taken where a load that comes with Assay has the name of a file here; empty: there is no choice."""
    if load not in _shipped():
        return ""
    found = next((name for name in (load, load + _ENDING) if Path(name).is_file()), None)
    return f"'{load}' is the load that comes with Assay; for the file here write ./{found}" if found else ""


def description(name: str) -> str:
    """Say what a suite or an example is for, in one line."""
    return native.description(text(name), name)


def _examples() -> Traversable:
    return resources.files("assay.loads").joinpath("examples")


@cache
def _shipped() -> dict[str, Traversable]:
    return _in(_examples()) | _in(resources.files(__name__))


def _in(folder: Traversable) -> dict[str, Traversable]:
    return {entry.name.removesuffix(_ENDING): entry for entry in folder.iterdir() if entry.name.endswith(_ENDING)}
