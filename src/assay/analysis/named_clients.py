"""Join the texts of several clients, with the clients' names."""

from collections.abc import Iterable, Mapping

from assay.units import format_names


def join_texts(by_client: Mapping[str, str]) -> str:
    """Join the clients' texts into one, with their names; where the texts differ, use that of the first client."""
    texts = dict.fromkeys(by_client.values())
    first = next(iter(by_client))
    if len(texts) == 1:
        return f"{format_names(list(by_client))}: {by_client[first]}"
    others = [name for name in by_client if name != first]
    return f"{first}: {by_client[first]} (The like of {format_names(others)}.)"


def first_of_each(by_client: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Keep the first that each client says."""
    found: dict[str, str] = {}
    for client, text in by_client:
        found.setdefault(client, text)
    return found
