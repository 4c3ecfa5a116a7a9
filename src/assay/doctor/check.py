"""One thing that Assay can, can only partly, or cannot measure here."""

import enum

import msgspec


class State(enum.Enum):
    """How far something can be measured."""

    OK = "ok"
    LIMITED = "limited"
    """Measured, but with something missing that the reader must know."""
    CANNOT = "cannot"
    """Nothing can be measured before it is cured."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one look."""

    subject: str
    state: State
    text: str
    cure: str = ""
    """What to do about it; empty when there is nothing to do."""


def ok(subject: str, text: str) -> Check:
    """Nothing in the way."""
    return Check(subject=subject, state=State.OK, text=text)


def limited(subject: str, text: str, cure: str) -> Check:
    """Make a check that is limited."""
    return Check(subject=subject, state=State.LIMITED, text=text, cure=cure)


def cannot(subject: str, text: str, cure: str) -> Check:
    """Nothing can be measured."""
    return Check(subject=subject, state=State.CANNOT, text=text, cure=cure)


def gib(size_bytes: float) -> str:
    """Bytes in words: `12.3 GiB`, or MiB below one."""
    return f"{size_bytes / 2**30:.1f} GiB" if size_bytes >= 2**30 else f"{size_bytes / 2**20:.1f} MiB"
