"""Saying once what several clients say: who, and what."""

from collections.abc import Iterable, Mapping

from assay.units import format_names


def told_together(said: Mapping[str, str]) -> str:
    """Put into one text what each client says, by its name: where they do not say the same, the first stands for all."""
    texts = dict.fromkeys(said.values())
    first = next(iter(said))
    if len(texts) == 1:
        return f"{format_names(list(said))}: {said[first]}"
    others = [name for name in said if name != first]
    return f"{first}: {said[first]} (The like of {format_names(others)}.)"


def first_of_each(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Keep the first that each client says."""
    found: dict[str, str] = {}
    for client, text in said:
        found.setdefault(client, text)
    return found
