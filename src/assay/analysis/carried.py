"""Report the findings of clients once with their sum.

A finding of a machine (its CPUs, its cache, its devices) has no place in a sum over machines, but moves it. It is carried
with the names of the clients that have it. Where those are less than `CARRIED_SHARE` of all, by number and by what they did
of the sum, it cannot move the sum by more than that: it is a note there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from assay.analysis import findings, thresholds
from assay.analysis.named_clients import first_of_each, join_texts
from assay.results import Finding

_Finding = tuple[str, Finding]


def carried(by_client: Mapping[str, Sequence[Finding]], shares: Mapping[str, float]) -> Iterator[Finding]:
    """Yield the findings of the clients of a sum, each cause once.

    Args:
        by_client: Findings of each client.
        shares: What each did of the sum.
    """
    for same in _by_id((client, finding) for client, of in by_client.items() for finding in of):
        grave = [(client, finding) for client, finding in same if finding.severity != findings.NOTE]
        if not grave:
            yield from map(_one, _by_cause(same))
            continue
        having = {client for client, _ in grave}
        share = max(len(having) / len(by_client), sum(shares.get(client, 0.0) for client in having))
        for of_cause in _by_cause(grave):
            yield _in_sum(of_cause, len(by_client), is_small=share < thresholds.SMALL_SHARE)
        known = {finding.cure for _, finding in grave} | {""}
        yield from map(_one, _by_cause([(client, finding) for client, finding in same if finding.cure not in known]))


def _in_sum(grave: Sequence[_Finding], clients: int, *, is_small: bool) -> Finding:
    """Make one finding of a cause: a note where the clients that have it hardly move the sum."""
    found, having = _one(grave), len({client for client, _ in grave})
    if is_small:
        return msgspec.structs.replace(found, severity=findings.NOTE, brief="")
    if having == clients:
        return found
    brief = f"{found.brief or found.id.replace('-', ' ')} ({having} of {clients} clients)"
    return msgspec.structs.replace(found, brief=brief)


def carried_of_run(pairs: Iterable[_Finding]) -> Iterator[Finding]:
    """Yield the findings of clients about their runs, each cause once."""
    return (_one(of_cause) for same in _by_id(pairs) for of_cause in _by_cause(same))


def _by_id(pairs: Iterable[_Finding]) -> list[list[_Finding]]:
    found: dict[str, list[_Finding]] = {}
    for client, finding in pairs:
        found.setdefault(finding.id, []).append((client, finding))
    return list(found.values())


def _by_cause(same: Sequence[_Finding]) -> list[list[_Finding]]:
    """Split findings of one id by their cause: each has a cure of its own."""
    found: dict[str, list[_Finding]] = {}
    for client, finding in same:
        found.setdefault(finding.cure, []).append((client, finding))
    return list(found.values())


def _one(same: Sequence[_Finding]) -> Finding:
    """Make one finding of those of several clients: as grave as the gravest, whose text is first."""
    by_weight = sorted(same, key=lambda one: (findings.SEVERITIES.index(one[1].severity), -(one[1].effect or 0.0)))
    gravest = by_weight[0][1]
    return msgspec.structs.replace(
        gravest, text=join_texts(first_of_each((client, finding.text) for client, finding in by_weight))
    )
