"""What becomes of an option or parameter of a tool: a row each in the tool's own table.

An option is supported, ignored because it does not change the load, or refused with the nearest alternative.
"""

import dataclasses
from collections.abc import Iterable, Mapping


@dataclasses.dataclass(frozen=True)
class Taken:
    """It is supported."""

    name: str
    """Its usual name."""


@dataclasses.dataclass(frozen=True)
class Noted:
    """It is ignored, since it does not change the load."""

    why: str
    but: frozenset[str] = frozenset()
    """Values, up to a colon, with which it is supported."""


@dataclasses.dataclass(frozen=True)
class Refused:
    """It is not supported."""

    why: str
    """And what is nearest."""
    usual: frozenset[str] = frozenset()
    """Values that ask for nothing, with which it passes."""


Meaning = Taken | Noted | Refused
Table = Mapping[str, Meaning]
"""By the option's name, as the tool writes it."""


def table(taken: Iterable[str], noted: Mapping[str, str], refused: Mapping[str, Refused]) -> Table:
    """Make a table of which each option is one of these.

    Args:
        taken: Options by their usual names.
        noted: Why each is left out.
        refused: Those without an equal.

    Raises:
        ValueError: an option is of two kinds.
    """
    kinds: tuple[Table, ...] = (
        {name: Taken(name) for name in taken},
        {name: Noted(why) for name, why in noted.items()},
        refused,
    )
    whole = {name: meaning for kind in kinds for name, meaning in kind.items()}
    if len(whole) < sum(map(len, kinds)):
        raise ValueError("an option has two meanings")
    return whole
