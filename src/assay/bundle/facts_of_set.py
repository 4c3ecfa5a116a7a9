"""Merge the facts of the machines of several clients, key by key."""

from collections.abc import Sequence

from assay.bundle.client_set import ClientSet
from assay.host.facts import Fact

_DIFFERS = "clients.json"


def facts_of_set(found: ClientSet, of_run: Sequence[Fact]) -> tuple[Fact, ...]:
    """Give the facts of the run, and those of its clients: where these differ, the values with the clients' names."""
    every = [{fact.key: fact for fact in member.facts} for member in found.members]
    keys = dict.fromkeys(key for facts in every for key in facts)
    return (*(fact for fact in of_run if fact.key not in keys), *(_of_all(key, found, every) for key in keys))


def _of_all(key: str, found: ClientSet, every: Sequence[dict[str, Fact]]) -> Fact:
    having = [facts[key] for facts in every if key in facts]
    if len(having) == len(every) and all(fact.value == having[0].value for fact in having):
        return having[0]
    named = zip(found.members, every, strict=True)
    values = tuple(f"{member.name}: {_shown(facts[key])}" for member, facts in named if key in facts)
    return Fact(key=key, value=values, source=_DIFFERS)


def _shown(fact: Fact) -> str:
    return ", ".join(fact.value) if isinstance(fact.value, tuple) else str(fact.value)
