"""Find defined loads by name: suites and examples that come with Assay, and those of the user.

A name means what comes with Assay wherever it is that, so that `assay run NAME` is the same load for everybody; a suite of
the user's of the same name is run by its path, with a note.
"""

import difflib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from assay.errors import InputError
from assay.input_text import read_text
from assay.loads import native, own_suites

_ENDING = ".toml"


def names() -> tuple[str, ...]:
    """Names of all suites, sorted."""
    return tuple(sorted(_in(resources.files(__name__))))


def examples() -> tuple[str, ...]:
    """Names of all examples, sorted; none is that of a suite."""
    return tuple(sorted(_in(_examples())))


def text(name: str) -> str:
    """Give the load file of a suite or an example, or of a suite of the user's.

    Raises:
        InputError: none has that name.
    """
    return _named(name)[0]


def _named(name: str) -> tuple[str, str]:
    """Give a load by its name, and what it is called in messages."""
    if name in (shipped := _shipped()):
        return shipped[name].read_text(encoding="utf-8"), name + _ENDING
    if own := own_suites.text(name):
        return own
    close = difflib.get_close_matches(name, [*shipped, *own_suites.names()], n=1)
    cure = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join((*names(), *own_suites.names()))}."
    raise InputError(
        f"no suite '{name}'; {cure} 'assay suites' lists them, with the examples. A load of your own ends in .toml, or lies"
        f" in {own_suites.folder() or 'the folder suites of the configuration folder'}"
    )


def read(load: str) -> tuple[str, str]:
    """Give the text of a load and its name for messages: by name, one that comes with Assay or the user's, else a load file.

    Raises:
        InputError: neither a readable load file nor the name of a load.
    """
    if load in _shipped() or (not load.endswith(_ENDING) and "/" not in load):
        return _named(load)
    try:
        return read_text(load, "load file"), load
    except FileNotFoundError as error:
        name = load.removesuffix(_ENDING)
        cure = f"'{name}' comes with Assay" if name in _shipped() else f"suites have names: {', '.join(names())}"
        raise InputError(f"no load file '{load}'; {cure}") from error


def choice(load: str) -> str:
    """Describe which load is taken if a load of Assay has the name of a file here; empty: no conflict."""
    if load not in _shipped():
        return ""
    here = next((f"the file here write ./{name}" for name in (load, load + _ENDING) if Path(name).is_file()), None)
    own = f"yours write {own_suites.folder()}/{load}{_ENDING}" if load in own_suites.names() else None
    found = " and for ".join(file for file in (here, own) if file)
    return f"'{load}' is the load that comes with Assay; for {found}" if found else ""


def description(name: str) -> str:
    """Describe a load in one line."""
    return native.describe(*_named(name)).description


def _examples() -> Traversable:
    return resources.files("assay.loads").joinpath("examples")


@cache
def _shipped() -> dict[str, Traversable]:
    return _in(_examples()) | _in(resources.files(__name__))


def _in(folder: Traversable) -> dict[str, Traversable]:
    return {entry.name.removesuffix(_ENDING): entry for entry in folder.iterdir() if entry.name.endswith(_ENDING)}
