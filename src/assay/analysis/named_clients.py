"""Saying once what several clients say: who, and what."""

from collections.abc import Iterable, Mapping, Sequence

_NAMED = 3
"""Clients that are named before the others are counted."""


def names_told(names: Sequence[str]) -> str:
    """Name clients: `h1, h3`; of many the first three, and how many more."""
    if len(names) <= _NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def told_together(said: Mapping[str, str]) -> str:
    """Put into one text what each client says, by its name: where they do not say the same, the first stands for all."""
    texts = dict.fromkeys(said.values())
    first = next(iter(said))
    if len(texts) == 1:
        return f"{names_told(list(said))}: {said[first]}"
    others = [name for name in said if name != first]
    return f"{first}: {said[first]} (The like of {names_told(others)}.)"


def first_of_each(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Keep the first that each client says."""
    found: dict[str, str] = {}
    for client, text in said:
        found.setdefault(client, text)
    return found
