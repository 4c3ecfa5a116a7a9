"""What clients say of their own results, said once beside the sum.

A finding of a machine (its CPUs, its cache, its devices) has no place in a sum over machines, but moves it. It is carried
with the names of the clients that have it. Where those are less than `CARRIED_SHARE` of all, by number and by what they did
of the sum, it cannot move the sum by more than that: it is a note there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from assay.analysis import findings, thresholds
from assay.analysis.named_clients import first_of_each, told_together
from assay.results import Finding

_Said = tuple[str, Finding]


def carried(said: Mapping[str, Sequence[Finding]], shares: Mapping[str, float]) -> Iterator[Finding]:
    """Give what the clients of a sum say, each thing once.

    Args:
        said: Findings of each client.
        shares: What each did of the sum.
    """
    for same in _by_id((client, finding) for client, of in said.items() for finding in of):
        grave = [(client, finding) for client, finding in same if finding.severity != findings.NOTE]
        if not grave:
            yield from map(_one, _by_cause(same))
            continue
        having = {client for client, _ in grave}
        share = max(len(having) / len(said), sum(shares.get(client, 0.0) for client in having))
        for of_cause in _by_cause(grave):
            yield _in_sum(of_cause, len(said), is_small=share < thresholds.SMALL_SHARE)
        known = {finding.cure for _, finding in grave} | {""}
        yield from map(_one, _by_cause([(client, finding) for client, finding in same if finding.cure not in known]))


def _in_sum(grave: Sequence[_Said], clients: int, *, is_small: bool) -> Finding:
    """Make one finding of a cause: a note where the clients that have it hardly move the sum."""
    found, having = _one(grave), len({client for client, _ in grave})
    if is_small:
        return msgspec.structs.replace(found, severity=findings.NOTE, brief="")
    if having == clients:
        return found
    brief = f"{found.brief or found.id.replace('-', ' ')} ({having} of {clients} clients)"
    return msgspec.structs.replace(found, brief=brief)


def carried_of_run(said: Iterable[_Said]) -> Iterator[Finding]:
    """Give what clients say of their runs, each thing once."""
    return (_one(of_cause) for same in _by_id(said) for of_cause in _by_cause(same))


def _by_id(said: Iterable[_Said]) -> list[list[_Said]]:
    found: dict[str, list[_Said]] = {}
    for client, finding in said:
        found.setdefault(finding.id, []).append((client, finding))
    return list(found.values())


def _by_cause(same: Sequence[_Said]) -> list[list[_Said]]:
    """Split findings of one id by their cause: each has a cure of its own."""
    found: dict[str, list[_Said]] = {}
    for client, finding in same:
        found.setdefault(finding.cure, []).append((client, finding))
    return list(found.values())


def _one(same: Sequence[_Said]) -> Finding:
    """Make one finding of what several clients say: as grave as the gravest, which stands first."""
    by_weight = sorted(same, key=lambda one: (findings.SEVERITIES.index(one[1].severity), -(one[1].effect or 0.0)))
    gravest = by_weight[0][1]
    return msgspec.structs.replace(
        gravest, text=told_together(first_of_each((client, finding.text) for client, finding in by_weight))
    )
