"""By which key does another program find a result again, in this run and in the next of the same load?

    phase/operation            the phase has one job
    phase/job/operation        it has several
    phase/operation@client     what one client of several did of it
    phase/operation#2          its second repeat, and so on; the first has no number

A key follows from the Plan alone: it is the same however early a run ended. `/`, `#`, `~`, `@` and `%` in names are written
as in URIs (`%2F`), so that no two results of a Plan with unique names have one key.
"""

from collections.abc import Iterable, Sequence

import msgspec

from assay.plan import Phase
from assay.results import Result

_ESCAPED = str.maketrans({"%": "%25", "/": "%2F", "#": "%23", "~": "%7E", "@": "%40"})


def label_of(phase: Phase, job: str, operation: str, client: str | None = None) -> str:
    """Give the key of an operation of a job of a phase; what a client of several did of it has the client's name."""
    return key_of((phase.name, *([job] if len(phase.jobs) > 1 else []), operation), phase.repeat, client)


def key_of(parts: Sequence[str], repeat: int, client: str | None = None) -> str:
    """Give the key of the parts of a result's name; repeats count from 0."""
    whose = "" if client is None else f"@{client}"
    return "/".join(part.translate(_ESCAPED) for part in parts) + whose + (f"#{repeat + 1}" if repeat else "")


def with_distinct_labels(measured: Iterable[Result]) -> tuple[Result, ...]:
    """Number the results of one key (`~2`, `~3`): a Plan that a stranger wrote may name two jobs alike."""
    seen: dict[str, int] = {}
    distinct = []
    for result in measured:
        count = seen[result.label] = seen.get(result.label, 0) + 1
        numbered = result if count == 1 else msgspec.structs.replace(result, label=f"{result.label}~{count}")
        distinct.append(numbered)
    return tuple(distinct)
