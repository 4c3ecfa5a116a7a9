"""What does a finding mean, what does it look like, and what is to be done? A paragraph for each id, from one file."""

import functools
import tomllib
from importlib import resources

import msgspec


class FindingPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What there is to say of findings of one id."""

    meaning: str
    example: str
    """As it was printed."""
    cure: str
    turns_on: tuple[str, ...] = ()
    """Names of thresholds."""
    was: tuple[str, ...] = ()
    """Ids of earlier versions that this one replaces."""


@functools.cache
def finding_pages() -> dict[str, dict[str, FindingPage]]:
    """Give the paragraphs by what they are about, then by id."""
    text = resources.files("assay.analysis").joinpath("finding_pages.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, dict[str, FindingPage]])


def page_of(id_: str) -> FindingPage | None:
    """Give the paragraph of an id; None for one that only another version knows."""
    return next((pages[id_] for pages in finding_pages().values() if id_ in pages), None)
