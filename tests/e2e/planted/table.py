"""All cases."""

from e2e.planted import cache, client, content, device, healthy, history, limits, neighbours, offered
from e2e.planted.case import Case

_FAMILIES = (client, limits, device, neighbours, cache, content, offered, history, healthy)

CASES: tuple[Case, ...] = tuple(case for family in _FAMILIES for case in family.CASES)
