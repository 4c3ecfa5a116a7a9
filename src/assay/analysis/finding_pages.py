"""Read the page of each finding: its meaning, an example, the cure, and the ids that it had before."""

import functools
import tomllib
from importlib import resources

import msgspec


class FindingPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Description of the findings of one id."""

    meaning: str
    example: str
    """As it was printed."""
    cure: str
    turns_on: tuple[str, ...] = ()
    """Names of thresholds."""
    was: tuple[str, ...] = ()
    """Earlier ids of this finding, and ids of the engine's warnings that it comes from."""
    was_weak: tuple[str, ...] = ()
    """Those of them that were never more than weak: a load that accepts one of them accepts no warning with it."""


@functools.cache
def finding_pages() -> dict[str, dict[str, FindingPage]]:
    """Give the paragraphs by what they are about, then by id."""
    text = resources.files("assay.analysis").joinpath("finding_pages.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, dict[str, FindingPage]])


@functools.cache
def _renamed() -> dict[str, str]:
    """Map each earlier id to the id that replaced it."""
    return {old: id_ for pages in finding_pages().values() for id_, page in pages.items() for old in page.was}


def current_id(id_: str) -> str:
    """Return the id that a finding has today; an id that is current or unknown is returned as it is.

    For ids from outside: a load file, a Plan of an earlier run, a command line, a warning of the engine.
    """
    return _renamed().get(id_, id_)


@functools.cache
def is_of_weak_ones(id_: str) -> bool:
    """Whether an id is an earlier one that was never a warning."""
    return any(id_ in page.was_weak for pages in finding_pages().values() for page in pages.values())


def page_of(id_: str) -> FindingPage | None:
    """Return the page of an id, current or earlier; None for one that only another version has."""
    name = current_id(id_)
    return next((pages[name] for pages in finding_pages().values() if name in pages), None)
